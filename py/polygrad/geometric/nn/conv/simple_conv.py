"""SimpleConv: propagation without parameters."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ._loops import graph_of
from ._pairs import pair
from .message_passing import MessagePassing


class SimpleConv(MessagePassing):
    """x'_i = aggr over j of e_ji x_j, with nothing to learn.

    combine_root: how the node's own value joins: 'sum', 'cat', 'self_loop' (as a neighbour, weight 1) or None (not at all).

    Shapes: x [V, F] or ([V_s, F], [V_t, F]), edge_index [2, E], edge_weight [E]; out [V_t, F], or wider with combine_root="cat".

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SimpleConv
    >>> SimpleConv(combine_root="sum")(Tensor([[1.0], [10.0]]), Tensor([[0], [1]])).tolist()
    [[1.0], [11.0]]
    """

    def __init__(self, aggr: Any = "sum", combine_root: str | None = None, **kwargs: Any):
        if combine_root not in ("sum", "cat", "self_loop", None):
            raise ValueError(f"invalid value for 'combine_root': it is 'sum', 'cat', 'self_loop' or None, not {combine_root!r}")
        super().__init__(aggr, **kwargs)
        self.combine_root = combine_root

    def forward(self, x: Any, edge_index: Any, edge_weight: Tensor | None = None, size: Any = None) -> Tensor:
        if self.combine_root == "self_loop":
            if not isinstance(x, Tensor) or (size is not None and size[0] != size[1]):
                raise ValueError("Cannot use 'self_loop' as combine_root for bipartite message passing: it needs one set of nodes")
            edge_index = graph_of(edge_index, x.shape[-2]).with_self_loops()
            edge_weight = None if edge_weight is None else edge_index.carry(edge_weight, 1.0)
        x_l, x_r = pair(x)
        out = self.propagate(edge_index, x=(x_l, x_r), edge_weight=edge_weight, size=size)
        if x_r is not None and self.combine_root == "sum":
            return out + x_r
        if x_r is not None and self.combine_root == "cat":
            return Tensor.cat(x_r, out, dim=-1)
        return out

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j
