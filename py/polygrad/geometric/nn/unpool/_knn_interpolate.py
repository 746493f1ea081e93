"""Interpolation between points."""

from __future__ import annotations

from ....graphs import Graph
from ....tensor import Tensor
from ..pool.points import knn


def knn_interpolate(
    x: Tensor, pos_x: Tensor, pos_y: Tensor, batch_x: Tensor | None = None, batch_y: Tensor | None = None, k: int = 3, num_workers: int = 1
) -> Tensor:
    """Features at pos_y out of those at the k nearest points of pos_x, weighted by 1 / d^2 (Qi et al., 2017).

    f(y) = sum_i w_i f(x_i) / sum_i w_i,   w_i = 1 / d(y, x_i)^2

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import knn_interpolate
    >>> knn_interpolate(Tensor([[0.0], [4.0]]), Tensor([[0.0], [2.0]]), Tensor([[1.0]]), k=2).tolist()
    [[2.0]]
    """
    pairs = knn(pos_x, pos_y, k, batch_x, batch_y).numpy()
    graph = Graph.from_coo(pairs[1], pairs[0], num_src=int(x.shape[0]), num_dst=int(pos_y.shape[0]))
    offset = graph.src(pos_x.detach()) - graph.dst(pos_y.detach())
    weight = 1.0 / offset.square().sum(-1, keepdim=True).maximum(1e-16)
    return graph.sum(graph.src(x) * weight) / graph.sum(weight)


__all__ = ["knn_interpolate"]
