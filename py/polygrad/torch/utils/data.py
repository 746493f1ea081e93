"""torch.utils.data: datasets and loaders of tensors, numbers, texts and nested lists of them."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import functions as torch
from .._modules import same as _same
from .._surface import made_here


class Dataset:
    """Something with `__getitem__` and `__len__`."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Something with `__iter__`."""

    _in_order = True  # for loaders: entries have no numbers


class IterDataPipe(IterableDataset):
    """A step of a chain of iterables: classes that functional_datapipe names are methods of every step.

    >>> from polygrad.torch.utils.data import IterDataPipe, functional_datapipe
    >>> class Numbers(IterDataPipe):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> @functional_datapipe("doubled")
    ... class Doubled(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         return (2 * k for k in self.source)
    >>> list(Numbers().doubled())
    [0, 2, 4]
    """

    functions: dict[str, Any] = {}

    @classmethod
    def register_function(cls, name: str, function: Any) -> None:
        """function(step, ...) as a method of every step."""
        cls.functions[name] = function

    def __getattr__(self, name: str) -> Any:
        function = IterDataPipe.functions.get(name)
        if function is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return functools.partial(function, self)


def functional_datapipe(name: str) -> Any:
    """Makes a class of steps a method of all of them."""

    def enter(cls: Any) -> Any:
        IterDataPipe.register_function(name, cls)
        return cls

    return enter


class TensorDataset(Dataset):
    """Rows of tensors of the same length.

    >>> import polygrad.torch as torch
    >>> data = torch.utils.data.TensorDataset(torch.arange(4), torch.arange(4) * 2)
    >>> [int(v) for v in data[3]], len(data)
    ([3, 6], 4)
    """

    def __init__(self, *tensors: Any):
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise ValueError(f"the tensors of a TensorDataset must have the same length, not {[int(t.shape[0]) for t in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class Subset(Dataset):
    """Some entries of a dataset."""

    def __init__(self, dataset: Any, indices: Any):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[[self.indices[i] for i in index]] if isinstance(index, list) else self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Datasets one after another."""

    def __init__(self, datasets: Any):
        self.datasets = list(datasets)
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> Any:
        index = index + len(self) if index < 0 else index
        k = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[k][index - (self.cumulative_sizes[k - 1] if k else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1] if self.cumulative_sizes else 0


def random_split(dataset: Any, lengths: Any, generator: Any = None) -> list[Subset]:
    """A dataset in random parts of these sizes, or fractions of it."""
    n = len(dataset)
    if sum(lengths) <= 1.0 + 1e-9 and n != sum(lengths):
        sizes = [int(n * part) for part in lengths]
        for k in range(n - sum(sizes)):
            sizes[k % len(sizes)] += 1
    else:
        sizes = [int(s) for s in lengths]
    if sum(sizes) != n:
        raise ValueError(f"the parts {sizes} do not add up to the {n} entries of the dataset")
    order = torch.randperm(n, generator=generator).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[e - s : e]) for s, e in zip(sizes, ends)]


# ---- the order of entries ----


class Sampler:
    """An order of entries: something with `__iter__` and `__len__`."""

    def __init__(self, data_source: Any = None):
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")


class SequentialSampler(Sampler):
    """All entries in order."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """Entries in random order; with replacement, num_samples draws."""

    def __init__(self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None):
        super().__init__(data_source)
        self.replacement, self._count, self.generator = replacement, num_samples, generator

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        if self.replacement:
            return iter(torch.randint(0, n, (len(self),), generator=self.generator).tolist())
        order = torch.randperm(n, generator=self.generator).tolist()
        return iter((order * -(-len(self) // max(n, 1)))[: len(self)])

    def __len__(self) -> int:
        return len(self.data_source) if self._count is None else self._count


class SubsetRandomSampler(Sampler):
    """Given entries in random order."""

    def __init__(self, indices: Any, generator: Any = None):
        super().__init__()
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[Any]:
        return (self.indices[k] for k in torch.randperm(len(self.indices), generator=self.generator).tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """num_samples draws by weight."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None):
        super().__init__()
        self.weights, self.num_samples, self.replacement = torch.as_tensor(weights).float(), num_samples, replacement

    def __iter__(self) -> Iterator[int]:
        return iter(self.weights.multinomial(self.num_samples, self.replacement).tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of entries of another sampler."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool = False):
        super().__init__()
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        entries = iter(self.sampler)
        while batch := list(itertools.islice(entries, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


# ---- batches ----


@made_here
class ChainDataset(IterableDataset):
    """The entries of several datasets, one after another."""

    def __init__(self, datasets: Any):
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


class StackDataset(Dataset):
    """Entries of several datasets beside each other: tuples, or dicts of those that have names."""

    def __init__(self, *args: Any, **kwargs: Any):
        self.datasets: Any = kwargs or args
        lengths = {len(d) for d in (kwargs.values() if kwargs else args)}
        if len(lengths) != 1:
            raise ValueError("Size mismatch between datasets")
        (self._length,) = lengths

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self) -> int:
        return self._length


def get_worker_info() -> None:
    """None: entries are collected in the caller's thread."""


def default_convert(data: Any) -> Any:
    """Arrays as tensors, in lists and dicts too."""
    if type(data).__module__ == "numpy" and getattr(data, "ndim", 0):
        return torch.as_tensor(data)
    if isinstance(data, dict):
        return {k: default_convert(v) for k, v in data.items()}
    if isinstance(data, (list, tuple)) and not hasattr(data, "_fields"):
        return type(data)(default_convert(v) for v in data)
    return data


@made_here
def default_collate(batch: list[Any]) -> Any:
    """A batch of entries: tensors, arrays and numbers are stacked, tuples, lists and dicts entry by entry. Numbers of Python are int64 and float64.

    >>> from polygrad.torch.utils.data import default_collate
    >>> default_collate([(1, {"x": 0.5}), (2, {"x": 1.5})])
    [tensor([1, 2]), {'x': tensor([0.5000, 1.5000], dtype=torch.float64)}]
    """
    from ...geometric.loader.dataloader import collate

    first = batch[0]
    if isinstance(first, dict):
        return {k: default_collate([entry[k] for entry in batch]) for k in first}
    if isinstance(first, (tuple, list)):
        if any(len(entry) != len(first) for entry in batch):
            raise RuntimeError(f"each element in list of batch should be of equal size, not {[len(entry) for entry in batch]}")
        parts = [default_collate(list(part)) for part in zip(*batch)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    if isinstance(first, (float, np.generic)):
        return torch.as_tensor(np.array(batch))
    return batch if isinstance(first, bytes) else collate(batch)


def _entries(dataset: Any, batch: Any) -> Any:
    """The entries of a batch, all at once where the dataset can."""
    many = getattr(dataset, "__getitems__", None)
    return many(batch) if many else [dataset[k] for k in batch]


def _has_rows(dataset: Any) -> bool:
    """Are entries rows of tensors, so that a batch is a selection of rows?"""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return type(dataset) is TensorDataset


def _rows(dataset: Any, batch: Any) -> list[Any]:
    """What default_collate makes of these entries, without taking them one by one."""
    while type(dataset) is Subset:
        dataset, batch = dataset.dataset, [dataset.indices[k] for k in batch]
    index = torch.tensor([int(k) for k in batch])
    return [t[index] for t in dataset.tensors]


class DataLoader:
    """Batches of a dataset: `for x, y in DataLoader(dataset, batch_size=32, shuffle=True)`. Entries are collected in the caller's thread:
    num_workers and its like are accepted and have no effect.

    >>> import polygrad.torch as torch
    >>> [b.tolist() for b in torch.utils.data.DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None, batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None, pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
        multiprocessing_context: Any = None, generator: Any = None, **others: Any,
    ):  # fmt: skip
        if sampler is not None and shuffle:
            raise ValueError("sampler takes the place of shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError("batch_sampler takes the place of batch_size, shuffle, sampler and drop_last")
        self.dataset, self.batch_size, self.drop_last, self.num_workers = dataset, batch_size, drop_last, num_workers
        self.collate_fn = default_collate if collate_fn is None else collate_fn
        if sampler is None and not isinstance(dataset, IterableDataset):
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if batch_sampler is None and batch_size is not None and sampler is not None:
            self.batch_sampler = BatchSampler(sampler, batch_size, drop_last)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            batches = BatchSampler(self.dataset, self.batch_size or 1, self.drop_last)  # the entries themselves
            return (self.collate_fn(batch) for batch in batches)
        if self.batch_sampler is None:
            return (self.dataset[k] for k in self.sampler)
        if self.collate_fn is default_collate and _has_rows(self.dataset):
            return (_rows(self.dataset, batch) for batch in self.batch_sampler)
        return (self.collate_fn(_entries(self.dataset, batch)) for batch in self.batch_sampler)

    def __len__(self) -> int:
        return len(self.batch_sampler if self.batch_sampler is not None else self.sampler)


class DistributedSampler(Sampler):
    """Every place of a dataset, in a random order that set_epoch changes; of several processes (num_replicas), each gets its own share."""

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0, drop_last: bool = False
    ):
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas or 1, rank or 0
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        n = len(dataset)
        self.num_samples = n // self.num_replicas if drop_last else -(-n // self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def set_epoch(self, epoch: int) -> None:
        """The number of the epoch, which the order depends on."""
        self.epoch = epoch

    def __iter__(self) -> Any:
        n = len(self.dataset)
        order = np.random.default_rng(self.seed + self.epoch).permutation(n) if self.shuffle else np.arange(n)
        order = np.resize(order, self.total_size) if n else order
        return iter(order[self.rank :: self.num_replicas].tolist())

    def __len__(self) -> int:
        return self.num_samples


dataset = dataloader = sampler = distributed = _same(__name__, "dataset", "dataloader", "sampler", "distributed")

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler",
    "IterDataPipe", "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler",
    "Subset", "SubsetRandomSampler", "StackDataset", "TensorDataset", "WeightedRandomSampler", "default_collate", "default_convert",
    "functional_datapipe", "get_worker_info", "random_split",
]  # fmt: skip
