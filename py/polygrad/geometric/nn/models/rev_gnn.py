"""Layers that can be run backwards (Li et al., "Training graph neural networks with 1000 layers", 2021)."""

from __future__ import annotations

import copy
from typing import Any

from .... import nn
from ....tensor import Tensor
from ..inits import reset


class GroupAddRev(nn.Module):
    """Features in C groups, each of which gets what a layer makes of the one before:

        y_0 = sum_{i > 1} x_i,     y_i = x_i + conv_i(y_{i-1}, A)     (i = 1 .. C)

    so that inverse finds x from y. conv: a layer with as many features in as out, which num_groups copies are made of, or a ModuleList of layers.
    split_dim: the axis of the groups. Further arguments of the layers are split where they are as wide as x. disable, num_bwd_passes: accepted
    and without effect: which values are stored for the backward pass is up to the compiler.

    Shapes: x [V, groups * F], edge_index [2, E]; out like x.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GroupAddRev, SAGEConv
    >>> layer, x, edges = GroupAddRev(SAGEConv(4, 4), num_groups=2), Tensor.rand(3, 8), Tensor([[0, 1], [1, 2]])
    >>> layer.inverse(layer(x, edges), edges).allclose(x, atol=1e-5).item()
    True
    """

    def __init__(self, conv: Any, split_dim: int = -1, num_groups: int | None = None, disable: bool = False, num_bwd_passes: int = 1):
        self.split_dim, self.disable, self.num_bwd_passes = split_dim, disable, num_bwd_passes
        if isinstance(conv, nn.ModuleList):
            self.convs = conv
        else:
            if num_groups is None:
                raise ValueError("num_groups is needed where conv is one layer")
            self.convs = nn.ModuleList([conv])
            for _ in range(num_groups - 1):
                other = copy.deepcopy(conv)
                reset(other)
                self.convs.append(other)
        if len(self.convs) < 2:
            raise ValueError(f"the number of groups should not be smaller than '2', got {len(self.convs)}")

    @property
    def num_groups(self) -> int:
        """Number of groups."""
        return len(self.convs)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for conv in self.convs:
            reset(conv)

    def _chunk(self, x: Any, channels: Any) -> list[Any]:
        """The part of an argument that each layer gets."""
        fits = isinstance(x, Tensor) and -x.ndim <= self.split_dim < x.ndim and x.shape[self.split_dim] == channels
        return list(x.chunk(self.num_groups, self.split_dim)) if fits else [x] * self.num_groups

    def _parts(self, x: Tensor, args: tuple[Any, ...]) -> tuple[list[Any], list[tuple[Any, ...]]]:
        channels = x.shape[self.split_dim]
        return self._chunk(x, channels), list(zip(*[self._chunk(a, channels) for a in args])) or [()] * self.num_groups

    def forward(self, x: Tensor, edge_index: Any, *args: Any) -> Tensor:
        xs, rest = self._parts(x, args)
        y: Any = sum(xs[2:], xs[1])
        ys = []
        for conv, part, more in zip(self.convs, xs, rest):
            y = part + conv(y, edge_index, *more)
            ys.append(y)
        return Tensor.cat(*ys, dim=self.split_dim)

    def inverse(self, y: Tensor, edge_index: Any, *args: Any) -> Tensor:
        """The input that gave the output y."""
        ys, rest = self._parts(y, args)
        xs: list[Tensor] = []
        for k in range(self.num_groups - 1, -1, -1):
            given = ys[k - 1] if k else sum(xs[1:], xs[0])
            xs.append(ys[k] - self.convs[k](given, edge_index, *rest[k]))
        return Tensor.cat(*xs[::-1], dim=self.split_dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.convs[0]}, num_groups={self.num_groups})"


__all__ = ["GroupAddRev"]
