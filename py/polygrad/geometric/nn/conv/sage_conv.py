"""GraphSAGE (Hamilton et al., "Inductive representation learning on large graphs", NIPS 2017)."""

from __future__ import annotations

from typing import Any

from ....nn.functional import linear
from ....tensor import Tensor
from ..aggr import MultiAggregation
from ..dense.linear import Linear
from ._loops import is_linear, unit, weight_of
from .message_passing import MessagePassing


class SAGEConv(MessagePassing):
    r"""x'_i = W_1 x_i + W_2 mean over j in N(i) of x_j.

    aggr: what stands for the mean; a name, a list of names, or an Aggregation. project: the neighbours' x_j are relu(W_3 x_j + b).
    normalize: x'_i is divided by its length. root_weight: False leaves W_1 x_i out.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SAGEConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> SAGEConv(4, 8)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    >>> SAGEConv((4, 2), 8, aggr=["mean", "max"])((Tensor.ones(3, 4), Tensor.ones(3, 2)), edge_index).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, aggr: Any = "mean", normalize: bool = False, root_weight: bool = True,
        project: bool = False, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        left, right = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        if aggr == "lstm":
            kwargs.setdefault("aggr_kwargs", {})
            kwargs["aggr_kwargs"].setdefault("in_channels", left)
            kwargs["aggr_kwargs"].setdefault("out_channels", left)
        super().__init__(aggr, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.normalize, self.root_weight, self.project = normalize, root_weight, project
        if project:
            if left <= 0:
                raise ValueError("SAGEConv with project=True needs the number of input features: in_channels must not be -1")
            self.lin = Linear(left, left, bias=True)
        gathered = self.aggr_module.get_out_channels(left) if isinstance(self.aggr_module, MultiAggregation) else left
        self.lin_l = Linear(gathered, out_channels, bias=bias)
        if root_weight:
            self.lin_r = Linear(right, out_channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.project:
            self.lin.reset_parameters()
        self.lin_l.reset_parameters()
        if self.root_weight:
            self.lin_r.reset_parameters()

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> Tensor:
        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        if self.project:
            left = self.lin(left).relu()
        # Sums and linear maps change places where that leaves fewer features to carry around.
        if is_linear(self) and self.out_channels < left.shape[-1] and self.flow == "source_to_target":
            near = linear(left, weight_of(self.lin_l, left))
            out = self.propagate(edge_index, x=(near, right), size=size)
            out = out if self.lin_l.bias is None else out + self.lin_l.bias
        else:
            out = self.lin_l(self.propagate(edge_index, x=(left, right), size=size))
        out = out if right is None or not self.root_weight else out + self.lin_r(right)
        return unit(out) if self.normalize else out

    def message(self, x_j: Tensor) -> Tensor:
        return x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggr={self.aggr})"


__all__ = ["SAGEConv"]
