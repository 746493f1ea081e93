"""The nodes with the highest scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....tensor import Tensor
from ...._length import norm
from ...._rows import rows_of
from ....data._sizes import like_batch
from ....utils import _host
from ...inits import uniform
from ...resolver import activation_resolver
from .base import Select, SelectOutput


def topk(x: Tensor, ratio: float | int | None, batch: Tensor, min_score: float | None = None, tol: float = 1e-7) -> Tensor:
    """The nodes with the highest scores x of each graph: int64.

    ratio: this part of the nodes of each graph, rounded up, or this number of them if it is 1 or more; graph after graph, highest first.
    min_score: the nodes with a higher score instead, in their order, but at least one of each graph.
    """
    graph = _host.vector(batch, "batch")
    if min_score is not None:
        score = x.detach().reshape(-1).numpy()
        most = np.full(int(graph.max()) + 1 if graph.size else 0, -np.inf, score.dtype)
        np.maximum.at(most, graph, score)
        return _host.tensor(np.flatnonzero(score > np.minimum(most[graph] - score.dtype.type(tol), score.dtype.type(min_score))))
    if ratio is None:
        raise ValueError("At least one of the 'ratio' and 'min_score' parameters must be specified")
    counts = np.bincount(graph)
    if ratio >= 1:
        keep = np.full(counts.size, int(ratio))
    else:
        kind = np.float32 if x.dtype.np is None else x.dtype.np.type
        keep = np.ceil(kind(float(ratio)) * counts.astype(kind)).astype(np.int64)
    return _host.highest(x.detach().reshape(-1), batch, keep)


class SelectTopK(Select):
    """The nodes with the highest scores: act(x p / |p|), or softmax(x p) over each graph where min_score is given.

    Shapes: x [V, F], batch [V]; out a SelectOutput of N nodes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.pool.select import SelectTopK
    >>> SelectTopK(4, ratio=0.5)(Tensor.rand(6, 4)).num_clusters
    3
    """

    def __init__(self, in_channels: int, ratio: float | int = 0.5, min_score: float | None = None, act: Any = "tanh"):
        if ratio is None and min_score is None:
            raise ValueError("At least one of the 'ratio' and 'min_score' parameters must be specified in 'SelectTopK'")
        self.in_channels, self.ratio, self.min_score = in_channels, ratio, min_score
        self.act = activation_resolver(act)
        self.weight = Tensor.empty(1, in_channels, requires_grad=True)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        uniform(self.in_channels, self.weight)

    def forward(self, x: Tensor, batch: Tensor | None = None) -> SelectOutput:
        if batch is None:
            batch = _host.tensor(np.zeros(int(x.shape[0]), np.int64))
            batch._count = 1
        x = x.reshape(-1, 1) if x.ndim == 1 else x
        score = (x * self.weight).sum(-1)
        score = self.act(score / norm(self.weight, 2.0, -1)) if self.min_score is None else rows_of(batch).softmax(score)
        _host.compute(score, x)
        chosen = topk(score, self.ratio, batch, self.min_score)
        chosen = like_batch(chosen, x.shape[0], "kept_nodes")
        count = chosen.shape[0]
        place = _host.tensor(np.arange(int(count)))
        return SelectOutput(chosen, x.shape[0], place if count.__class__ is int else place.sized(count), count, score[chosen] if count else score[:0])

    def extra_repr(self) -> str:
        return f"{self.in_channels}, " + (f"ratio={self.ratio}" if self.min_score is None else f"min_score={self.min_score}")


__all__ = ["SelectTopK", "topk"]
