"""Dataset: graphs that are downloaded, processed, and handed out one by one."""

from __future__ import annotations

import copy
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import numpy as np

from ...tensor import Tensor
from ._values import positions, to_array


class Dataset:
    """The base of datasets. A subclass says which files it needs (`raw_file_names`, `processed_file_names`), how it gets and processes them
    (`download`, `process`), how many graphs there are (`len`) and what the idx-th is (`get`).

    root: the folder of the dataset, with `raw` and `processed` in it. transform: applied to a graph each time it is asked for. pre_transform,
    pre_filter: applied once, before graphs are stored. force_reload: process again.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data, Dataset
    >>> class Two(Dataset):
    ...     def len(self):
    ...         return 2
    ...
    ...     def get(self, idx):
    ...         return Data(x=Tensor.full((3, 1), float(idx)))
    >>> dataset = Two()
    >>> len(dataset), dataset[1].x.tolist()
    (2, [[1.0], [1.0], [1.0]])
    """

    def __init__(
        self,
        root: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        log: bool = True,
        force_reload: bool = False,
    ):
        self.root = os.path.expanduser(os.path.normpath(os.fspath(root))) if root is not None else None
        self.transform, self.pre_transform, self.pre_filter = transform, pre_transform, pre_filter
        self.log, self.force_reload = log, force_reload
        self._indices: Sequence[int] | None = None
        if self.has_download:
            self._download()
        if self.has_process:
            self._process()

    # ---- what a subclass says ----

    @property
    def raw_file_names(self) -> Any:
        """Files in `raw_dir` that must be there, or `download` is called."""
        raise NotImplementedError(f"{type(self).__name__} does not say its raw_file_names")

    @property
    def processed_file_names(self) -> Any:
        """Files in `processed_dir` that must be there, or `process` is called."""
        raise NotImplementedError(f"{type(self).__name__} does not say its processed_file_names")

    def download(self) -> None:
        """Puts the raw files into `raw_dir`."""
        raise NotImplementedError

    def process(self) -> None:
        """Makes the processed files out of the raw ones."""
        raise NotImplementedError

    def len(self) -> int:
        """Number of graphs."""
        raise NotImplementedError(f"{type(self).__name__} has no len")

    def get(self, idx: int) -> Any:
        """Graph number idx."""
        raise NotImplementedError(f"{type(self).__name__} has no get")

    # ---- files ----

    def _folder(self, name: str) -> str:
        if self.root is None:
            raise ValueError(f"{type(self).__name__} was made without a root folder, so it has no folder {name!r}")
        return os.path.join(self.root, name)

    @property
    def raw_dir(self) -> str:
        return self._folder("raw")

    @property
    def processed_dir(self) -> str:
        return self._folder("processed")

    @property
    def raw_paths(self) -> list[str]:
        return [os.path.join(self.raw_dir, f) for f in _names(self.raw_file_names)]

    @property
    def processed_paths(self) -> list[str]:
        return [os.path.join(self.processed_dir, f) for f in _names(self.processed_file_names)]

    @property
    def has_download(self) -> bool:
        return _overrides(type(self), "download")

    @property
    def has_process(self) -> bool:
        return _overrides(type(self), "process")

    def _download(self) -> None:
        if not _exist(self.raw_paths):
            os.makedirs(self.raw_dir, exist_ok=True)
            self.download()

    def _process(self) -> None:
        notes = os.path.join(self.processed_dir, "transforms.txt")
        now = f"{text_of(self.pre_transform)}\n{text_of(self.pre_filter)}\n"
        if not self.force_reload and _exist(self.processed_paths):
            before = _read(notes)
            if before is None or before == now:
                return
            warnings.warn(f"{type(self).__name__} was processed with another pre_transform or pre_filter, and is processed again", stacklevel=3)
        if self.log and sys.stderr.isatty():
            print(f"processing {type(self).__name__} ...", file=sys.stderr)
        os.makedirs(self.processed_dir, exist_ok=True)
        self.process()
        with open(notes, "w") as f:
            f.write(now)

    # ---- graphs ----

    def indices(self) -> Sequence[int]:
        """Numbers of the graphs that this dataset, or a part of one, hands out."""
        return range(self.len()) if self._indices is None else self._indices

    def __len__(self) -> int:
        return len(self.indices())

    def __getitem__(self, idx: Any) -> Any:
        """A graph by number; a part of the dataset by a slice, a mask or a list. `dataset[:0.8]` is the first 80 %."""
        if isinstance(idx, (int, np.integer)) or (isinstance(idx, (Tensor, np.ndarray)) and idx.ndim == 0):
            numbers = self.indices()
            k = int(idx)
            if not -len(numbers) <= k < len(numbers):
                raise IndexError(f"graph {k} of a dataset of {len(numbers)}")
            data = self.get(numbers[k])
            return data if self.transform is None else self.transform(data)
        return self.index_select(idx)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def index_select(self, idx: Any) -> Any:
        """A part of the dataset."""
        numbers = self.indices()
        if isinstance(idx, slice):
            start, stop = (round(p * len(self)) if isinstance(p, float) else p for p in (idx.start, idx.stop))
            chosen: Sequence[int] = numbers[start : stop : idx.step]
        elif isinstance(idx, str):
            raise IndexError(f"Only slices (':'), lists, tuples and tensors or arrays of whole numbers or of bool are valid indices (got {idx!r})")
        else:
            chosen = [numbers[k] for k in positions(idx, len(numbers), short=True).tolist()]
        out = copy.copy(self)
        out._indices = chosen
        return out

    def shuffle(self, return_perm: bool = False) -> Any:
        """The graphs in random order; with return_perm also the order."""
        perm = Tensor.randperm(len(self))
        out = self.index_select(perm)
        return (out, perm) if return_perm else out

    # ---- sizes ----

    def _first(self) -> Any:
        data = self[0]
        return data[0] if isinstance(data, tuple) else data

    @property
    def num_node_features(self) -> Any:
        return self._first().num_node_features

    @property
    def num_features(self) -> Any:
        return self.num_node_features

    @property
    def num_edge_features(self) -> Any:
        return self._first().num_edge_features

    @property
    def num_classes(self) -> int:
        """Number of classes of the targets `y`."""
        found = [to_array(d.y).reshape(-1) if np.ndim(to_array(d.y)) < 2 else to_array(d.y) for d in _flat(list(self)) if "y" in d]
        return count_classes(np.concatenate(found)) if found else 0

    def get_summary(self, per_type: bool = True) -> Any:
        """Mean, deviation, minimum, quartiles and maximum of the numbers of nodes and edges; per_type: of each type of them too."""
        from .summary import Summary

        return Summary.from_dataset(self, per_type=per_type)

    def to_datapipe(self) -> Any:
        """The graphs as the first step of a chain of `torch_geometric.data.datapipes`."""
        from ...torch_geometric._datapipes import DatasetAdapter

        return DatasetAdapter(self)

    def print_summary(self, fmt: str = "psql") -> None:
        """Prints get_summary() as a table."""
        print(self.get_summary())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self) if len(self) > 1 else ''})"


def count_classes(y: Any) -> int:
    """Classes of targets: the largest number + 1, the different values of floats, or the width of a table."""
    if y is None:
        return 0
    y = to_array(y)
    if y.ndim > 1 and y.shape[-1] != 1 and y.size != y.shape[0]:
        return int(y.shape[-1])
    if not y.size:
        return 0
    return int(np.unique(y).size) if y.dtype.kind == "f" else int(y.max()) + 1


def text_of(obj: Any) -> str:
    """A transform as text, without addresses."""
    return "None" if obj is None else re.sub(r"(<.*?)\s.*(>)", r"\1\2", str(obj))


def _flat(items: Any) -> list[Any]:
    return [d for item in items for d in (_flat(item) if isinstance(item, (tuple, list)) else [item])]


def _names(names: Any) -> list[str]:
    names = names() if callable(names) else names
    return [names] if isinstance(names, str) else list(names)


def _exist(paths: list[str]) -> bool:
    return bool(paths) and all(os.path.exists(p) for p in paths)


def _read(path: str) -> str | None:
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return None


def _overrides(cls: type, method: str) -> bool:
    return getattr(cls, method) is not getattr(Dataset, method)


__all__ = ["Dataset", "count_classes", "text_of"]
