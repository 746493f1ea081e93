"""Normalisation over the channels of each node, or over all that belongs to a graph."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..._rows import ptr_to_index, rows_of


class LayerNorm(nn.Module):
    """y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias (Ba et al., 2016).

    mode: 'graph' takes mean and variance over all nodes and channels of each graph, 'node' over the channels of each node. Without a batch
    vector the mode 'graph' divides by std + eps, as PyG does.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import LayerNorm
    >>> LayerNorm(2, eps=0.0, mode="node")(Tensor([[1.0, 3.0], [2.0, 6.0]])).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    def __init__(self, in_channels: int, eps: float = 1e-5, affine: bool = True, mode: str = "graph", device: Any = None):
        self.in_channels, self.eps, self.affine, self.mode = in_channels, eps, affine, mode
        self.weight = Tensor.ones(in_channels, requires_grad=True) if affine else None
        self.bias = Tensor.zeros(in_channels, requires_grad=True) if affine else None

    def reset_parameters(self) -> None:
        """Forgets all that was learnt."""
        if self.weight is not None and self.bias is not None:
            self.weight.assign(self.weight.ones_like())
            self.bias.assign(self.bias.zeros_like())

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        if self.mode == "node":
            out = x.layernorm(-1, self.eps)
        elif self.mode != "graph":
            raise ValueError(f"Unknown normalization mode {self.mode!r}: 'graph' and 'node' are known")
        elif batch is None:
            out = x - x.mean()
            out = out / (x.std(correction=0) + self.eps)
        else:
            rows = rows_of(batch, batch_size)
            count = rows.count.maximum(1).cast(x.dtype).reshape(-1, 1) * x.shape[-1]
            mean = rows.reduce(x.sum(-1, keepdim=True), "sum") / count
            out = x - rows.spread(mean)
            var = rows.reduce(out.square().sum(-1, keepdim=True), "sum") / count
            out = out / rows.spread((var + self.eps).sqrt())
        return out if self.weight is None else out * self.weight + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_channels}, affine={self.affine}, mode={self.mode}"


class HeteroLayerNorm(nn.Module):
    """LayerNorm over the channels of each node, with weight and bias of their own for each of num_types types of nodes.

    The types are given by type_vec, one for each node, or by type_ptr if nodes of the same type lie beside each other.

    Shapes: x [V, F], type_vec [V]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HeteroLayerNorm
    >>> HeteroLayerNorm(4, num_types=2)(Tensor.ones(3, 4), type_ptr=[0, 1, 3]).shape
    (3, 4)
    """

    def __init__(self, in_channels: int, num_types: int, eps: float = 1e-5, affine: bool = True, mode: str = "node", device: Any = None):
        if mode != "node":
            raise ValueError(f"mode must be 'node', not {mode!r}")
        self.in_channels, self.num_types, self.eps, self.affine = in_channels, num_types, eps, affine
        self.weight = Tensor.ones(num_types, in_channels, requires_grad=True) if affine else None
        self.bias = Tensor.zeros(num_types, in_channels, requires_grad=True) if affine else None

    def reset_parameters(self) -> None:
        """Forgets all that was learnt."""
        if self.weight is not None and self.bias is not None:
            self.weight.assign(self.weight.ones_like())
            self.bias.assign(self.bias.zeros_like())

    def forward(self, x: Tensor, type_vec: Tensor | None = None, type_ptr: Any = None) -> Tensor:
        if type_vec is None and type_ptr is None:
            raise ValueError("Either 'type_vec' or 'type_ptr' must be given")
        out = x.layernorm(-1, self.eps)
        if self.weight is None or self.bias is None:
            return out
        if type_ptr is not None:
            type_vec = ptr_to_index(type_ptr if isinstance(type_ptr, Tensor) else Tensor(list(type_ptr)), x.shape[0])
        rows = rows_of(type_vec, self.num_types)
        return out * rows.spread(self.weight) + rows.spread(self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, num_types={self.num_types}"


__all__ = ["HeteroLayerNorm", "LayerNorm"]
