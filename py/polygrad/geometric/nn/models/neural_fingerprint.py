"""Neural fingerprints of molecules (Duvenaud et al., "Convolutional networks on graphs for learning molecular fingerprints", 2015)."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..conv.mf_conv import MFConv
from ..dense.linear import Linear
from ..inits import reset
from ..pool.glob import global_add_pool


class NeuralFingerprint(nn.Module):
    """The sum over layers and atoms of softmax(W_l x_l), with x_l = sigmoid(MFConv(x_{l-1})).

    in_channels, hidden_channels, out_channels: features of an atom, hidden ones, and size of a fingerprint. num_layers: number of convolutions.
    kwargs: those of MFConv. Shapes: x [V, in_channels], edge_index [2, E], batch [V]; out [molecules, out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import NeuralFingerprint
    >>> NeuralFingerprint(8, 16, 4, num_layers=2)(Tensor.ones(3, 8), Tensor([[0, 1], [1, 2]]), Tensor([0, 0, 0])).shape
    (1, 4)
    """

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int, **kwargs: Any):
        self.in_channels, self.hidden_channels, self.out_channels, self.num_layers = in_channels, hidden_channels, out_channels, num_layers
        sizes = [in_channels, *[hidden_channels] * (num_layers - 1)]
        self.convs = nn.ModuleList([MFConv(size, hidden_channels, **kwargs) for size in sizes])
        self.lins = nn.ModuleList([Linear(hidden_channels, out_channels, bias=False) for _ in range(num_layers)])

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (*self.convs, *self.lins):
            reset(part)

    def forward(self, x: Tensor, edge_index: Any, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        out: Any = None
        for conv, lin in zip(self.convs, self.lins):
            x = conv(x, edge_index).sigmoid()
            part = global_add_pool(lin(x).softmax(-1), batch, batch_size)
            out = part if out is None else out + part
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_layers={self.num_layers})"


__all__ = ["NeuralFingerprint"]
