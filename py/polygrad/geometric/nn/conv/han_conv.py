"""HANConv: attention among neighbours, then among types of edges."""

from __future__ import annotations

from typing import Any

from ....nn import Linear as Dense
from ....tensor import Tensor
from ...utils import softmax
from ..dense.linear import Linear
from ..inits import glorot, reset
from ..module_dict import ModuleDict
from .message_passing import MessagePassing


def group(xs: list[Tensor], q: Tensor, k_lin: Any) -> tuple[Tensor | None, Tensor | None]:
    """The results of several edge types, weighted by one attention for all nodes; and the weights."""
    if not xs:
        return None, None
    out = Tensor.stack(*xs)
    if not out.numel():
        return out[0], None
    score = (q * k_lin(out).tanh().mean(1)).sum(-1)
    weight = score.softmax(0)
    return (weight.reshape(-1, 1, 1) * out).sum(0), weight


class HANConv(MessagePassing):
    """Heterogeneous graph attention (Wang et al. 2019).

        z_r,i = relu(sum_j alpha_r,ij h_j),  alpha_r,ij = softmax over j of leaky_relu(a_r . h_j + b_r . h_i),   h = W_type x
        x'_i = sum_r beta_r z_r,i,           beta = softmax over r of q . mean_i tanh(K z_r,i + k)

    metadata: (node types, edge types); in_channels: a number, or {node type: number}, -1 for what the first input has.

    Shapes: x_dict {type: [V_type, F_type]}, edge_index_dict {(type, relation, type): [2, E]}; out {type: [V_type, F_out]}, None for a type
    that no edges lead to.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HANConv
    >>> metadata = ["author", "paper"], [("author", "writes", "paper"), ("paper", "by", "author")]
    >>> x = {"author": Tensor.ones(2, 4), "paper": Tensor.ones(3, 6)}
    >>> edges = {("author", "writes", "paper"): Tensor([[0, 1], [2, 0]]), ("paper", "by", "author"): Tensor([[2, 0], [0, 1]])}
    >>> out = HANConv({"author": 4, "paper": 6}, 8, metadata, heads=2)(x, edges)
    >>> out["author"].shape, out["paper"].shape
    ((2, 8), (3, 8))
    """

    def __init__(
        self, in_channels: Any, out_channels: int, metadata: Any, heads: int = 1, negative_slope: float = 0.2, dropout: float = 0.0, **kwargs: Any
    ):
        super().__init__(aggr="add", node_dim=0, **kwargs)
        if not isinstance(in_channels, dict):
            in_channels = dict.fromkeys(metadata[0], in_channels)
        self.heads, self.out_channels, self.negative_slope, self.dropout = heads, out_channels, negative_slope, dropout
        self._in_channels, self._metadata = in_channels, metadata
        self.k_lin = Dense(out_channels, out_channels)
        self.q = Tensor.zeros(1, out_channels, requires_grad=True)
        self.proj = ModuleDict({kind: Linear(size, out_channels) for kind, size in in_channels.items()})
        names = ["__".join(edge_type) for edge_type in metadata[1]]
        shape = (1, heads, out_channels // heads)
        self.lin_src = {name: Tensor.zeros(*shape, requires_grad=True) for name in names}
        self.lin_dst = {name: Tensor.zeros(*shape, requires_grad=True) for name in names}
        self.reset_parameters()

    @property
    def in_channels(self) -> dict[str, int]:
        """Features of each type of nodes."""
        return self._in_channels

    @property
    def metadata(self) -> Any:
        """(node types, edge types)."""
        return self._metadata

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (*self.proj.values(), self.k_lin):
            reset(lin)
        for p in (*self.lin_src.values(), *self.lin_dst.values(), self.q):
            glorot(p)

    def forward(self, x_dict: dict[str, Tensor], edge_index_dict: dict[Any, Any], return_semantic_attention_weights: bool = False) -> Any:
        """Values by node type; None for a type to which no edges lead. return_semantic_attention_weights: also the beta of each type."""
        shape = (self.heads, self.out_channels // self.heads)
        h = {kind: self.proj[kind](x).unflatten(-1, shape) for kind, x in x_dict.items()}
        outs: dict[str, list[Tensor]] = {kind: [] for kind in x_dict}
        for edge_type, edge_index in edge_index_dict.items():
            name, x_src, x_dst = "__".join(edge_type), h[edge_type[0]], h[edge_type[-1]]
            alpha = ((x_src * self.lin_src[name]).sum(-1), (x_dst * self.lin_dst[name]).sum(-1))
            outs[edge_type[-1]].append(self.propagate(edge_index, x=(x_src, x_dst), alpha=alpha).flatten(1).relu())
        joined = {kind: group(xs, self.q, self.k_lin) for kind, xs in outs.items()}
        out = {kind: x for kind, (x, _) in joined.items()}
        return (out, {kind: weight for kind, (_, weight) in joined.items()}) if return_semantic_attention_weights else out

    def message(self, x_j: Tensor, alpha_i: Tensor, alpha_j: Tensor, index: Tensor, ptr: Any, size_i: Any) -> Tensor:  # type: ignore[override]
        alpha = softmax((alpha_j + alpha_i).leaky_relu(self.negative_slope), index, ptr, size_i)
        return x_j * alpha.dropout(self.dropout).unsqueeze(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.out_channels}, heads={self.heads})"


__all__ = ["HANConv", "group"]
