"""Loaders around other loaders: several at once, kept batches, and batches made ahead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

from ._loop import SamplingLoader


class ZipLoader(SamplingLoader):
    """Tuples of the batches that several NodeLoaders or LinkLoaders make of the same entries of their inputs, as many as the shortest has.

    Further arguments are those of SamplingLoader: batch_size, shuffle, drop_last, seed, ...

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import NeighborLoader, ZipLoader
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> loaders = [NeighborLoader(data, [1], input_nodes=nodes) for nodes in (Tensor([0, 1]), Tensor([2, 3]))]
    >>> [(a.n_id[0].item(), b.n_id[0].item()) for a, b in ZipLoader(loaders, batch_size=1)]
    [(0, 2), (1, 3)]
    """

    _in_background = False

    def __init__(self, loaders: list[Any], filter_per_worker: bool | None = None, **kwargs: Any):
        for loader in loaders:
            if not isinstance(loader, SamplingLoader):
                raise ValueError(f"{type(loader).__name__} is not a loader of samples")
        if not loaders:
            raise ValueError("at least one loader is needed")
        self.loaders = list(loaders)
        super().__init__(min(len(loader.dataset) for loader in loaders), **kwargs)

    def _prepare(self) -> Any:
        for loader in self.loaders:
            loader._threads = self._threads
        return [loader._prepare() for loader in self.loaders]

    def _work(self, prepared: Any, seed: int, number: int, index: Any) -> Any:
        return [loader._work(p, seed, number, index) for loader, p in zip(self.loaders, prepared)]

    def _make_batch(self, prepared: Any, work: Any) -> tuple[Any, ...]:
        return tuple(loader._make_batch(p, w) for loader, p, w in zip(self.loaders, prepared, work))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(loaders={self.loaders})"


def _moved(x: Any, device: Any) -> Any:
    if device is None:
        return x
    if isinstance(x, dict):
        return {k: _moved(v, device) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(_moved(v, device) for v in x)
    return x.to(device) if hasattr(x, "to") else x


class CachedLoader:
    """Keeps the batches of a loader: they are made once, transformed and moved to a device, and then given again. `clear` forgets them.

    >>> from polygrad.geometric.loader import CachedLoader
    >>> loader = CachedLoader([1, 2], transform=lambda batch: batch + 1)
    >>> list(loader), list(loader)
    ([2, 3], [2, 3])
    """

    def __init__(self, loader: Any, device: Any = None, transform: Callable[[Any], Any] | None = None):
        self.loader, self.device, self.transform = loader, device, transform
        self.clear()

    def clear(self) -> None:
        """Forgets the batches."""
        self._cache: list[Any] = []
        self._whole = False  # a loop that was left early has not seen all batches

    def __iter__(self) -> Iterator[Any]:
        if self._whole:
            yield from self._cache
            return
        made = self._cache = []
        for batch in self.loader:
            batch = _moved(batch if self.transform is None else self.transform(batch), self.device)
            made.append(batch)
            yield batch
        self._whole = made is self._cache

    def __len__(self) -> int:
        return len(self.loader)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loader})"


class PrefetchLoader:
    """Gives the batches of a loader with one made in advance, moved to a device. Loaders of this library work ahead by themselves.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import DataLoader, PrefetchLoader
    >>> graphs = [Data(x=Tensor.ones(k, 1)) for k in (1, 2, 3)]
    >>> [batch.num_graphs for batch in PrefetchLoader(DataLoader(graphs, batch_size=2))]
    [2, 1]
    """

    def __init__(self, loader: Any, device: Any = None):
        self.loader, self.device = loader, device

    def __iter__(self) -> Iterator[Any]:
        waiting: list[Any] = []
        for batch in self.loader:
            waiting.append(_moved(batch, self.device))
            if len(waiting) > 1:
                yield waiting.pop(0)
        yield from waiting

    def __len__(self) -> int:
        return len(self.loader)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loader})"


__all__ = ["CachedLoader", "PrefetchLoader", "ZipLoader"]
