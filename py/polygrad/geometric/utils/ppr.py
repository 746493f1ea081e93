"""Personalised PageRank."""

from __future__ import annotations

import numpy as np

from ..._core import C, wrap
from ..._ffi import handle_array
from ...graphs import Graph
from ...tensor import Tensor
from . import _host
from .num_nodes import maybe_num_nodes


def push_ppr(edge_index: Tensor, alpha: float, eps: float, target: Tensor | None, num_nodes: int | None) -> tuple[np.ndarray, ...]:
    """Where each target's entries begin, and nodes and weights of the entries."""
    graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, maybe_num_nodes(edge_index, num_nodes))
    out = handle_array([None, None, None])
    wanted = None if target is None else _host.vector(target, "target").astype(np.int64)
    address = None if wanted is None else np.ascontiguousarray(wanted).ctypes.data
    graph._g.check(C.poly_graph_ppr(graph._p, address, 0 if wanted is None else wanted.size, float(alpha), float(eps), out))
    ptr, col, weight = (wrap(graph._g, h).numpy() for h in out)
    return ptr, col, weight


def get_ppr(
    edge_index: Tensor, alpha: float = 0.2, eps: float = 1e-5, target: Tensor | None = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor]:
    r"""Personalised PageRank :math:`\alpha (I - (1 - \alpha) D^{-1} A)^{-1}` of all nodes, or of those in target, approximated by pushing.

    Gives the pairs (target, node) with a weight that is not 0, and the weights. alpha: the probability to return to the target. eps: rank
    below alpha * eps * degree is not passed on.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import get_ppr
    >>> e, w = get_ppr(Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), alpha=0.5, eps=1e-6, target=Tensor([0]))
    >>> e.tolist(), [round(v, 3) for v in w.tolist()]
    ([[0, 0, 0], [0, 1, 2]], [0.583, 0.333, 0.083])
    """
    ptr, col, weight = push_ppr(edge_index, alpha, eps, target, num_nodes)
    nodes = np.arange(ptr.size - 1) if target is None else _host.vector(target, "target")
    row = np.repeat(nodes.astype(np.int64), np.diff(ptr))
    return _host.tensor(np.stack([row, col])), _host.tensor(weight)


__all__ = ["get_ppr", "push_ppr"]
