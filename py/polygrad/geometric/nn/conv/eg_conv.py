"""EGConv: a few bases, mixed by every node for itself."""

from __future__ import annotations

import math
from typing import Any

from ....graphs import Graph
from ....tensor import Tensor
from ...utils import scatter
from ..dense.linear import Linear
from ..inits import zeros
from ._loops import edge_weights, graph_of, kept, scaled, with_loops
from .message_passing import MessagePassing

_AGGREGATORS = ("sum", "mean", "symnorm", "min", "max", "var", "std")


class EGConv(MessagePassing):
    """Efficient graph convolution (Tailor et al. 2022).

        x'_i = concat over heads h of  sum_a sum_b w_i,h,a,b  aggr_a over j of  W_b x_j,     w_i = U x_i + c

    with aggregators a, bases b and j over the neighbours and i itself. aggregators: any of 'sum', 'mean', 'symnorm' (GCN's weights),
    'min', 'max', 'var', 'std'; one kernel serves them all. out_channels must be divisible by num_heads.

    Shapes: x [V, F_in], edge_index [2, E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import EGConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> EGConv(4, 8, aggregators=["sum", "max"], num_heads=2, num_bases=3)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, aggregators: list[str] | None = None, num_heads: int = 8, num_bases: int = 4,
        cached: bool = False, add_self_loops: bool = True, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(node_dim=0, **kwargs)
        if out_channels % num_heads:
            raise ValueError(f"'out_channels' (got {out_channels}) must be divisible by the number of heads (got {num_heads})")
        self.in_channels, self.out_channels, self.num_heads, self.num_bases = in_channels, out_channels, num_heads, num_bases
        self.cached, self.add_self_loops, self.aggregators = cached, add_self_loops, list(aggregators or ["symnorm"])
        for a in self.aggregators:
            if a not in _AGGREGATORS:
                raise ValueError(f"Unsupported aggregator {a!r}: use any of {', '.join(_AGGREGATORS)}")
        self.bases_lin = Linear(in_channels, out_channels // num_heads * num_bases, bias=False, weight_initializer="glorot")
        self.comb_lin = Linear(in_channels, num_heads * num_bases * len(self.aggregators))
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.bases_lin.reset_parameters()
        self.comb_lin.reset_parameters()
        zeros(self.bias)
        self._cached_edge_index: Any = None

    def _edges(self, x: Tensor, edge_index: Any) -> tuple[Any, Tensor | None]:
        if self._cached_edge_index is not None:
            return self._cached_edge_index
        found: tuple[Any, Tensor | None] = (edge_index, None)
        if "symnorm" in self.aggregators:
            s = scaled(graph_of(edge_index, x.shape[0]), None, False, self.add_self_loops, self.flow, x.dtype)
            found = (s.graph, edge_weights(s, x.dtype))
        elif self.add_self_loops:
            found = (with_loops(graph_of(edge_index, x.shape[0]))[0], None)
        if self.cached:
            self._cached_edge_index = (found[0], kept(found[1]))
        return found

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        linked = _linked(edge_index, x) if self.add_self_loops and "symnorm" not in self.aggregators else None
        edge_index, symnorm_weight = self._edges(x, edge_index)
        mix = self.comb_lin(x).reshape(-1, self.num_heads, len(self.aggregators) * self.num_bases)
        gathered = self.propagate(edge_index, x=self.bases_lin(x), symnorm_weight=symnorm_weight)
        if linked is not None:
            gathered = gathered.reshape(-1, len(self.aggregators), int(gathered.shape[-1]))
            gathered = linked.unsqueeze(-1).where(gathered, self._nothing(x.dtype))
        gathered = gathered.reshape(-1, len(self.aggregators) * self.num_bases, self.out_channels // self.num_heads)
        out = (mix @ gathered).reshape(-1, self.out_channels)
        return out if self.bias is None else out + self.bias

    def _nothing(self, dtype: Any) -> Tensor:
        """What a node without any edge gathers, [aggregators, 1]."""
        return Tensor([[math.sqrt(1e-5) if a == "std" else 0.0] for a in self.aggregators], dtype=dtype)

    def message(self, x_j: Tensor) -> Tensor:
        return x_j

    def aggregate(self, inputs: Tensor, index: Tensor, dim_size: Any = None, symnorm_weight: Tensor | None = None) -> Tensor:  # type: ignore[override]
        def gather(values: Tensor, how: str) -> Tensor:
            return scatter(values, index, 0, dim_size, reduce=how)

        outs = []
        for a in self.aggregators:
            if a == "symnorm":
                assert symnorm_weight is not None
                outs.append(gather(inputs * symnorm_weight.reshape(-1, 1), "sum"))
            elif a in ("var", "std"):
                mean = gather(inputs, "mean")
                var = gather(inputs * inputs, "mean") - mean * mean
                outs.append(var.clamp(1e-5).sqrt() if a == "std" else var)
            else:
                outs.append(gather(inputs, a))
        return Tensor.stack(*outs, dim=1) if len(outs) > 1 else outs[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggregators={self.aggregators})"


def _linked(edge_index: Any, x: Tensor) -> Tensor | None:
    """Nodes up to the last one that has an edge, bool [V, 1]: PyG stops there when it adds self loops here. None: all."""
    if isinstance(edge_index, Graph):
        return None
    if not edge_index.shape[1]:
        return Tensor.zeros(x.shape[0], 1, dtype="bool")
    return (Tensor.arange(x.shape[0]) <= edge_index.max().cast("int32")).unsqueeze(-1)
