"""Points kept for searching, and the search names that promise no more than approximate results. All searches are exact here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....tensor import Tensor
from ...utils import _host
from .points import knn, knn_graph


class KNNOutput(NamedTuple):
    """What a search found: scores [queries, k] and indices [queries, k], best first."""

    score: Tensor
    index: Tensor  # type: ignore[assignment]


def _two_axes(emb: Tensor) -> Tensor:
    if emb.ndim != 2:
        raise ValueError(f"'emb' must have the shape [points, features], not {emb.shape}")
    return emb.detach()


class KNNIndex:
    """Points, in which the k nearest of others are found; see L2KNNIndex and MIPSKNNIndex for what is near.

    index_factory, reserve: accepted and without effect: there is one kind of search, which is exact and keeps no structure beside the points.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import L2KNNIndex
    >>> L2KNNIndex(Tensor([[0.0], [1.0], [5.0]])).search(Tensor([[4.0]]), k=2).index.tolist()
    [[2, 1]]
    """

    def __init__(self, index_factory: str | None = None, emb: Tensor | None = None, reserve: int | None = None):
        self.index_factory, self.reserve = index_factory, reserve
        self._emb: Tensor | None = None
        if emb is not None:
            self.add(emb)

    @property
    def numel(self) -> int:
        """Number of points."""
        return 0 if self._emb is None else int(self._emb.shape[0])

    def add(self, emb: Tensor) -> None:
        """Adds points [N, F] to those that are searched."""
        emb = _two_axes(emb)
        if self._emb is not None and emb.shape[1] != self._emb.shape[1]:
            raise ValueError(f"points of {emb.shape[1]} features cannot be added to points of {self._emb.shape[1]}")
        self._emb = (emb if self._emb is None else Tensor.cat(self._emb, emb)).contiguous().realize()

    def get_emb(self) -> Tensor:
        """All points."""
        if self._emb is None:
            raise RuntimeError(f"{type(self).__name__} has no points yet: call add() first")
        return self._emb

    def _nearest(self, points: Tensor, emb: Tensor, k: int) -> Tensor:
        """Indices of the k best points of each query, int64 [queries, k]."""
        return knn(points, emb, k)[1].reshape(emb.shape[0], k)

    def _score(self, found: Tensor, emb: Tensor) -> Tensor:
        """Scores of points [queries, k, F]: here the squared distances."""
        return (found - emb.unsqueeze(1)).square().sum(-1)

    def search(self, emb: Tensor, k: int, exclude_links: Tensor | None = None) -> KNNOutput:
        """The k best points for each query of emb [Q, F]. exclude_links [2, L]: pairs (query, point) that are not to be found; where fewer than k
        are left, indices are -1 and scores -inf."""
        points, emb = self.get_emb(), _two_axes(emb)
        wide = k
        if exclude_links is not None:
            links = _host.edges(exclude_links)
            wide += int(np.bincount(links[0], minlength=1).max()) if links.size else 0
        wide = min(wide, self.numel)
        index = self._nearest(points, emb, wide)
        score = self._score(points[index], emb)
        if exclude_links is None:
            return KNNOutput(score, index)
        at = _host.read(index)
        out = np.isin(at + np.arange(at.shape[0])[:, None] * self.numel, links[0] * self.numel + links[1])
        first = np.argsort(out, axis=1, kind="stable")[:, :k]  # those that stay, in their order, and then the others
        lost = np.take_along_axis(out, first, 1)
        lost = np.pad(lost, ((0, 0), (0, k - lost.shape[1])), constant_values=True)
        pick, gone = Tensor(np.pad(first, ((0, 0), (0, k - first.shape[1])))), Tensor(lost)
        return KNNOutput(gone.where(float("-inf"), score.gather(1, pick)), gone.where(-1, index.gather(1, pick)))


class L2KNNIndex(KNNIndex):
    """The points at the least distance; scores are squared distances.

    Shapes: emb [N, F], of search [M, F]; out scores and indices [M, k].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import L2KNNIndex
    >>> found = L2KNNIndex(Tensor([[0.0], [1.0], [5.0]])).search(Tensor([[0.5], [4.0]]), k=1)
    >>> found.score.tolist(), found.index.tolist()
    ([[0.25], [1.0]], [[0], [2]])
    """

    def __init__(self, emb: Tensor | None = None):
        super().__init__(None, emb)


class MIPSKNNIndex(KNNIndex):
    """The points with the largest inner product, which is the score.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MIPSKNNIndex
    >>> MIPSKNNIndex(Tensor([[1.0, 0.0], [0.0, 3.0]])).search(Tensor([[1.0, 1.0]]), k=1).score.tolist()
    [[3.0]]
    """

    def __init__(self, emb: Tensor | None = None):
        super().__init__(None, emb)

    def _nearest(self, points: Tensor, emb: Tensor, k: int) -> Tensor:
        # With one more coordinate that gives all points the same length, |p - q|^2 = const - 2 p q: the nearest are those of the largest product.
        length = points.square().sum(-1, keepdim=True)
        points = Tensor.cat(points, (length.max() - length).maximum(0.0).sqrt(), dim=1)
        near = super()._nearest(points, Tensor.cat(emb, Tensor.zeros(emb.shape[0], 1, dtype=emb.dtype), dim=1), k)
        order = self._score(self.get_emb()[near], emb).argsort(1, descending=True)
        return near.gather(1, order)

    def _score(self, found: Tensor, emb: Tensor) -> Tensor:
        return (found * emb.unsqueeze(1)).sum(-1)


class _Cells:
    """Arguments of an index that is divided into cells; they have no effect."""

    def __init__(self, num_cells: int, num_cells_to_visit: int, bits_per_vector: int, emb: Tensor | None = None, reserve: int | None = None):
        self.num_cells, self.num_cells_to_visit, self.bits_per_vector = num_cells, num_cells_to_visit, bits_per_vector
        KNNIndex.__init__(self, None, emb, reserve)  # type: ignore[arg-type]


class ApproxL2KNNIndex(_Cells, L2KNNIndex):
    """L2KNNIndex under the arguments of an approximate index, which have no effect: results are exact.

    Shapes: emb [N, F], of search [M, F]; out scores and indices [M, k].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ApproxL2KNNIndex
    >>> index = ApproxL2KNNIndex(num_cells=2, num_cells_to_visit=2, bits_per_vector=4, emb=Tensor([[0.0], [1.0], [5.0]]))
    >>> index.search(Tensor([[4.0]]), k=2).index.tolist()
    [[2, 1]]
    """


class ApproxMIPSKNNIndex(_Cells, MIPSKNNIndex):
    """MIPSKNNIndex under the arguments of an approximate index, which have no effect: results are exact.

    Shapes: emb [N, F], of search [M, F]; out scores and indices [M, k].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ApproxMIPSKNNIndex
    >>> index = ApproxMIPSKNNIndex(num_cells=2, num_cells_to_visit=2, bits_per_vector=4, emb=Tensor([[0.0], [1.0], [5.0]]))
    >>> index.search(Tensor([[4.0]]), k=2).index.tolist()
    [[2, 1]]
    """


def approx_knn(x: Tensor, y: Tensor, k: int, batch_x: Tensor | None = None, batch_y: Tensor | None = None) -> Tensor:
    """For each point of y k near points of x in the same graph: int64 [2, pairs]. They are the nearest: see knn.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import approx_knn
    >>> approx_knn(Tensor([[0.0], [1.0], [5.0]]), Tensor([[0.9]]), 2).tolist()
    [[0, 0], [1, 0]]
    """
    return knn(x, y, k, batch_x, batch_y)


def approx_knn_graph(x: Tensor, k: int, batch: Tensor | None = None, loop: bool = False, flow: str = "source_to_target") -> Tensor:
    """Edges to each point from k near ones of the same graph. They are the nearest: see knn_graph.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import approx_knn_graph
    >>> approx_knn_graph(Tensor([[0.0], [1.0], [5.0]]), k=1).tolist()
    [[1, 0, 1], [0, 1, 2]]
    """
    return knn_graph(x, k, batch, loop, flow)


__all__: list[Any] = [
    "ApproxL2KNNIndex", "ApproxMIPSKNNIndex", "KNNIndex", "KNNOutput", "L2KNNIndex", "MIPSKNNIndex", "approx_knn", "approx_knn_graph",
]  # fmt: skip
