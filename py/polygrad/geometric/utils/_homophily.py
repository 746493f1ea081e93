"""Do neighbours have the same label?"""

from __future__ import annotations

from typing import Any

from ...dtypes import dtypes
from ...graphs import Graph
from ...tensor import Tensor
from .._rows import count_of, rows_of
from . import _host


def homophily(edge_index: Any, y: Tensor, batch: Tensor | None = None, method: str = "edge") -> Any:
    r"""How often nodes with the same label are neighbours, between 0 and 1.

    method 'edge': the share of edges that join equal labels, :math:`|\{(v,w) : y_v = y_w\}| / |E|`. 'node': the mean over the nodes of the
    share of their in-neighbours with their label. 'edge_insensitive': :math:`\frac{1}{C-1} \sum_c \max(0, h_c - |C_c|/|V|)` with the
    share :math:`h_c` of class c, which does not favour many or unequal classes.

    A number; with batch, a tensor with a value a graph.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import homophily
    >>> e, y = Tensor([[0, 1, 2, 3], [1, 2, 0, 4]]), Tensor([0, 0, 0, 0, 1])
    >>> homophily(e, y, method="edge"), round(homophily(e, y, method="node"), 4)
    (0.75, 0.6)
    """
    if method not in ("edge", "node", "edge_insensitive"):
        raise ValueError(f"method must be 'edge', 'node' or 'edge_insensitive', not {method!r}")
    y = y.squeeze(-1) if y.ndim > 1 else y
    if hasattr(edge_index, "sparse_sizes"):
        edge_index = _host.edges(edge_index)
    graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, y.shape[0])
    same = (graph.src(y) == graph.dst(y)).cast(dtypes.float32)
    if method == "edge":
        return float(same.mean().item()) if batch is None else _edge_mean(graph, same, batch, count_of(batch))
    if method == "node":
        share = graph.mean(same)
        return float(share.mean().item()) if batch is None else rows_of(batch).reduce(share, "mean")
    if y.ndim != 1:
        raise ValueError(f"y must have one axis, not the shape {y.shape}")
    classes = int(y.max().item()) + 1
    if classes < 2:
        raise ValueError("homophily with method='edge_insensitive' needs at least two classes")
    graphs = 1 if batch is None else count_of(batch)
    kind = y if batch is None else batch.cast(y.dtype) * classes + y
    share = _edge_mean(graph, same, kind, graphs * classes).reshape(graphs, classes)
    counts = rows_of(kind, graphs * classes).count.reshape(graphs, classes).cast(dtypes.float32)
    out = (share - counts / counts.sum(1, keepdim=True)).relu().sum(1) / (classes - 1)
    return out if graphs > 1 else float(out.item())


def _edge_mean(graph: Graph, values: Tensor, kind: Tensor, size: Any) -> Tensor:
    """The mean of edge values by the kind of their destination."""
    return rows_of(graph.dst(kind), size).reduce(values, "mean")


__all__ = ["homophily"]
