"""PPFConv: pairs of points by features that no rotation changes (Deng et al., "PPFNet: global context aware local features", 2018)."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..._angle import angle
from ..._length import norm
from ..inits import reset
from ._loops import graph_of, with_loops
from ._pairs import pair
from .message_passing import MessagePassing


class PPFConv(MessagePassing):
    r"""x'_i = global_nn(max over j of local_nn([x_j, |d|, angle(n_i, d), angle(n_j, d), angle(n_i, n_j)])),   d = p_j - p_i

    with j over the neighbours and i itself, positions p and normals n. Both networks may be None, and so may x. Where an angle is not
    defined, as at the loop of i, it is 0 and has no gradient.

    local_nn: maps [E, F_in + 4] to messages. global_nn: maps their maximum to [V, F_out]. add_self_loops: whether j = i is among the edges.

    Shapes: x [V, F_in] or ([V_s, F_in], None), pos and normal [V, 3] or pairs of them, edge_index [2, E]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PPFConv
    >>> pos, normal = Tensor([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]), Tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> [round(v, 2) for v in PPFConv()(None, pos, normal, Tensor([[1], [0]]))[0].tolist()]
    [2.0, 0.0, 1.57, 1.57]
    """

    def __init__(self, local_nn: Any = None, global_nn: Any = None, add_self_loops: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "max")
        super().__init__(**kwargs)
        self.local_nn, self.global_nn, self.add_self_loops = local_nn, global_nn, add_self_loops
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.local_nn)
        reset(self.global_nn)

    def forward(self, x: Any, pos: Any, normal: Any, edge_index: Any) -> Tensor:
        x = tuple(x) if isinstance(x, (tuple, list)) else (x, None)
        pos, normal = pair(pos), pair(normal)
        if self.add_self_loops:
            edge_index, _ = with_loops(graph_of(edge_index, pos[0].shape[0], pos[1].shape[0]))
        out = self.propagate(edge_index, x=x, pos=pos, normal=normal)
        return out if self.global_nn is None else self.global_nn(out)

    def message(self, x_j: Tensor | None, pos_i: Tensor, pos_j: Tensor, normal_i: Tensor, normal_j: Tensor) -> Tensor:  # type: ignore[override]
        d = pos_j - pos_i
        out = Tensor.stack(norm(d, 2.0, -1), angle(normal_i, d), angle(normal_j, d), angle(normal_i, normal_j), dim=1)
        if x_j is not None:
            out = Tensor.cat(x_j, out, dim=1)
        return out if self.local_nn is None else self.local_nn(out)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(local_nn={self.local_nn}, global_nn={self.global_nn})"


__all__ = ["PPFConv"]
