"""DataLoader: batches of graphs."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from inspect import unwrap
from itertools import chain
from operator import is_
from typing import Any, Callable

import numpy as np

from ..._ffi import C, handle_array
from ...autograd import current
from ...tensor import Tensor
from .._moved import plain
from ..data.batch import Batch
from ..data.collate import Part, Pile
from ..data.data import BaseData
from ..data.dataset import Dataset
from ..data.in_memory_dataset import InMemoryDataset
from ..data.temporal import TemporalData
from ._ahead import copied_ahead

# Seconds of work on a batch from which on a thread makes the next ones. It takes the interpreter from the program in between: batches of 20 to 128
# small graphs, 30 to 140 us of work each, took 2 to 3 times as long with it.
_WORTH_A_THREAD = 1e-3


class DataLoader:
    """Batches of `batch_size` graphs of a dataset, or of any sequence of graphs.

    shuffle: a new order in each epoch, which follows `seed` (or Tensor.manual_seed, if none is given). drop_last: leaves out a last batch that is
    not full. follow_batch: attributes that get a batch vector of their own. exclude_keys: attributes that are left out. sampler, batch_sampler:
    numbers of graphs, or lists of them, instead of an order.

    The graphs are joined once; a batch is then a few gathers. Where these take long they are made by a thread that works ahead
    (`prefetch` batches) while the last one is in use. Sizes of batches are variables: all batches share one compiled program.
    static_sizes=True makes them plain numbers.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import DataLoader
    >>> graphs = [Data(x=Tensor.ones(k, 1), edge_index=Tensor([[0], [k - 1]])) for k in (1, 2, 3)]
    >>> [(b.num_graphs, b.edge_index.tolist()) for b in DataLoader(graphs, batch_size=2)]
    [(2, [[0, 1], [0, 2]]), (1, [[0], [2]])]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        follow_batch: Sequence[str] | None = None,
        exclude_keys: Sequence[str] | None = None,
        *,
        sampler: Any = None,
        batch_sampler: Any = None,
        drop_last: bool = False,
        seed: int | None = None,
        generator: Any = None,
        prefetch: int = 2,
        static_sizes: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        **kwargs: Any,
    ):
        if batch_size is None or int(batch_size) < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if batch_sampler is not None and (sampler is not None or shuffle or drop_last):
            raise ValueError("batch_sampler takes the place of shuffle, sampler and drop_last")
        if sampler is not None and shuffle:
            raise ValueError("sampler takes the place of shuffle")
        unknown = set(kwargs) - {"pin_memory", "persistent_workers", "worker_init_fn", "timeout", "prefetch_factor", "multiprocessing_context"}
        if unknown:
            raise TypeError(f"DataLoader has no argument {sorted(unknown)[0]!r}")
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, int(batch_size), shuffle, drop_last
        self.follow_batch, self.exclude_keys = list(follow_batch or ()), list(exclude_keys or ())
        self.sampler, self.batch_sampler, self.collate_fn = sampler, batch_sampler, collate_fn
        self.prefetch, self.static_sizes, self.num_workers = prefetch, static_sizes, num_workers
        if generator is not None and not isinstance(generator, (np.random.Generator, int, np.integer)):
            raise TypeError(f"generator must be numpy's, or a seed, not {type(generator).__name__}")
        chosen = generator if seed is None else seed
        self._random = None if chosen is None else np.random.default_rng(chosen)  # a generator is taken as it is
        self._pile: Pile | None = None
        self._copy: tuple[Pile, Pile] | None = None  # a pile on a device, and the same on the host
        self._piled: list[Any] = []  # what the pile was made of: all values, for lists of graphs also these and their storages
        self._graphs: list[Any] = []
        self._stores: list[dict[str, Any]] = []
        self._values = _Values([])

    def __len__(self) -> int:
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        n = len(self.sampler) if self.sampler is not None else len(self.dataset)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        if not hasattr(self.dataset, "__getitem__") or getattr(self.dataset, "_in_order", False):
            return self._sequence()
        choices = self._choices()
        pile = self._near(self._joined())
        if pile is None:
            return (self._collate([self.dataset[int(k)] for k in choice]) for choice in choices)
        batches = self._batches(pile, choices)
        return batches if pile.on_device() or not self.prefetch else copied_ahead(batches)

    def _sequence(self) -> Iterator[Any]:
        """Batches of a dataset that is gone through from its beginning."""
        entries = iter(self.dataset)
        while some := list(itertools.islice(entries, self.batch_size)):
            if len(some) == self.batch_size or not self.drop_last:
                yield self._collate(some)

    # ---- which graphs ----

    def _choices(self) -> Iterator[np.ndarray]:
        """The numbers of the graphs of each batch."""
        if self.batch_sampler is not None:
            return (np.asarray(_numbers(b), np.int64) for b in self.batch_sampler)
        n = len(self.dataset)
        if self.sampler is not None:
            order = np.asarray(_numbers(self.sampler), np.int64)
        elif self.shuffle:
            order = self._random.permutation(n) if self._random is not None else Tensor.randperm(n).numpy().astype(np.int64)
        else:
            order = np.arange(n)
        stop = len(order) - len(order) % self.batch_size if self.drop_last else len(order)
        return (order[k : min(k + self.batch_size, stop)] for k in range(0, stop, self.batch_size))

    # ---- the graphs, joined ----

    def _joined(self) -> Pile | None:
        """All graphs joined, if they may be: they are plain graphs, and nothing is done to them when they are asked for."""
        if self.collate_fn is not None:
            return None
        d = self.dataset
        if isinstance(d, InMemoryDataset):
            own = type(d)
            if d.transform is not None or unwrap(own.get) is not InMemoryDataset.get or unwrap(own.__getitem__) is not Dataset.__getitem__:
                return None
            pile = d._pile()
            if d._indices is None:
                return _without(pile, self.exclude_keys)
            if self._pile is None or self._piled != [pile, d._indices]:
                self._pile, self._piled = pile.take(np.asarray(d._indices, np.int64)), [pile, d._indices]
            return _without(self._pile, self.exclude_keys)
        if not isinstance(d, (list, tuple)) or not d:
            return None
        kept = self._pile is not None and self._values.stayed()
        if kept and _same(self._graphs, d) and _same(self._piled, chain.from_iterable(map(dict.values, self._stores))):
            return self._pile
        if not all(isinstance(g, BaseData) and not isinstance(g, (Batch, TemporalData)) for g in d):
            return None
        values = [v for g in d for store in g.stores for v in store.values()]
        if kept and _same(self._piled, values):
            return self._pile
        if not all(plain(v) for v in values if isinstance(v, Tensor)):
            return None
        self._pile, self._piled, self._values = Pile.of(d, exclude=self.exclude_keys), values, _Values(values)
        # A graph of several storages may get another one, so all are listed anew each time.
        one = all(len(g.stores) == 1 for g in d)
        self._graphs, self._stores = (list(d), [g.stores[0]._mapping for g in d]) if one else ([], [])
        return self._pile

    def _near(self, pile: Pile | None) -> Pile | None:
        """The pile, with arrays of the host where batches are too small to be made on the device that the graphs lie on."""
        if pile is None or not pile.on_device():
            return pile
        if C.poly_worth_device(current().ptr, pile.bytes_on_device() * self.batch_size // pile.count):
            return pile
        if self._copy is None or self._copy[0] is not pile:
            self._copy = pile, pile.on_host()
        return self._copy[1]

    def _batch(self, pile: Pile) -> Any:
        return Batch._of(pile, self.follow_batch, symbolic=not self.static_sizes)

    def _batches(self, pile: Pile, choices: Iterator[np.ndarray]) -> Iterator[Any]:
        if pile.on_device():  # its batches are programs that are queued, not work of the host
            for choice in choices:
                yield self._batch(pile.take(choice))
            return
        parts = (pile.take(choice).raised() for choice in choices)
        start = time.thread_time()
        for part in parts:
            slow = time.thread_time() - start > _WORTH_A_THREAD
            yield self._batch(part)
            if slow and self.prefetch >= 1:
                break
            start = time.thread_time()
        else:
            return
        ahead = Ahead(parts, self.prefetch)
        try:
            for part in ahead:
                yield self._batch(part)
        finally:
            ahead.stop()

    def _collate(self, graphs: list[Any]) -> Any:
        if self.collate_fn is not None:
            return self.collate_fn(graphs)
        return collate(graphs, self.follow_batch, self.exclude_keys)


class _Values:
    """What the tensors among some objects hold now, to be told later whether they still do."""

    def __init__(self, objects: list[Any]):
        tensors = [v for v in objects if isinstance(v, Tensor)]
        self._g = tensors[0]._g if tensors and all(t._g is tensors[0]._g for t in tensors) else None
        self._handles: Any = handle_array([t._h for t in tensors]) if self._g is not None else None
        self._ids = self._read()

    def _read(self) -> Any:
        if self._g is None:
            return None
        ids = np.zeros(len(self._handles), np.int64)
        self._g.check(C.poly_value_ids(self._handles, len(ids), ids.ctypes.data))
        return ids

    def stayed(self) -> bool:
        """Was nothing assigned to any of them? The objects must still be there."""
        return np.array_equal(self._ids, self._read()) if self._g is not None else True


def _same(a: list[Any], b: Any) -> bool:
    """Are they the same objects in the same order? An epoch asks for all values of a data set: without a loop in Python."""
    end = (object(),)
    return all(map(is_, chain(a, end), chain(b, end)))


def collate(items: list[Any], follow_batch: Sequence[str] = (), exclude_keys: Sequence[str] = ()) -> Any:
    """A batch of whatever a dataset gives: graphs, tensors, numbers, texts, and tuples, lists and dicts of them."""
    first = items[0]
    if isinstance(first, BaseData):
        return Batch.from_data_list(items, follow_batch, exclude_keys)
    if isinstance(first, Tensor):
        return Tensor.stack(*items)
    if isinstance(first, np.ndarray):
        return Tensor(np.stack(items))
    if isinstance(first, (bool, int, float, np.generic)):
        return Tensor(list(items))
    if isinstance(first, str):
        return items
    if isinstance(first, dict):
        return {k: collate([i[k] for i in items], follow_batch, exclude_keys) for k in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(collate(list(part), follow_batch, exclude_keys) for part in zip(*items)))
    if isinstance(first, (tuple, list)):
        return [collate(list(part), follow_batch, exclude_keys) for part in zip(*items)]
    raise TypeError(f"DataLoader found invalid type {type(first).__name__}: a batch cannot be made of it")


class Collater:
    """What DataLoader makes a batch with, to be called on a list. dataset: is kept, and not read.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader.dataloader import Collater
    >>> Collater(None)([(Data(x=Tensor.ones(2, 1)), 1), (Data(x=Tensor.ones(3, 1)), 2)])[0]
    DataBatch(x=[5, 1], batch=[5], ptr=[3])
    """

    def __init__(self, dataset: Any, follow_batch: Sequence[str] | None = None, exclude_keys: Sequence[str] | None = None):
        self.dataset, self.follow_batch, self.exclude_keys = dataset, follow_batch, exclude_keys

    def __call__(self, batch: list[Any]) -> Any:
        return collate(batch, self.follow_batch or (), self.exclude_keys or ())


class Ahead:
    """Runs an iterator in a thread of its own, a few items ahead. What it raises is raised where its items are taken."""

    _END = object()

    def __init__(self, items: Iterator[Any], depth: int):
        self._queue: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(max(1, depth))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(items,), daemon=True, name="polygrad-loader")
        self._thread.start()

    def _run(self, items: Iterator[Any]) -> None:
        try:
            for item in items:
                if not self._put(item, None):
                    return
            self._put(self._END, None)
        except BaseException as e:  # noqa: B036 - it is raised again in the other thread
            self._put(self._END, e)

    def _put(self, item: Any, error: BaseException | None) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put((item, error), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def __iter__(self) -> Iterator[Any]:
        while True:
            item, error = self._queue.get()
            if error is not None:
                raise error
            if item is self._END:
                return
            yield item

    def stop(self) -> None:
        """Ends the thread, whatever it is doing."""
        self._stopped.set()
        while not self._queue.empty():
            self._queue.get_nowait()
        self._thread.join()


def _numbers(indices: Any) -> Any:
    return indices.numpy() if isinstance(indices, Tensor) else [int(k) for k in indices]


def _without(pile: Pile, exclude: Sequence[str]) -> Pile:
    """The pile without some attributes."""
    if not exclude:
        return pile
    parts = [Part(p.key, {k: c for k, c in p.columns.items() if k not in exclude}, p.counts, p.given) for p in pile.parts]
    return Pile(pile.cls, pile.count, parts, pile.arrays, pile.kind)


__all__ = ["Collater", "DataLoader", "collate"]
