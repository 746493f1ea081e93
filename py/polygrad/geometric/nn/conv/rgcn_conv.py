"""Relational graph convolution (Schlichtkrull et al., "Modeling relational data with graph convolutional networks", ESWC 2018)."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..._rows import rows_of
from ..inits import glorot, zeros
from .message_passing import MessagePassing

SUMS = ("add", "sum", "mean")
FEW = 4  # relations: where sizes change from run to run, nodes are taken to have about as many edges as this


def few_relations(nodes: Any, relations: int, edge_type: Tensor) -> bool:
    """Is a product for each node and relation less work than one for each edge?"""
    edges = edge_type.shape[0]
    return nodes * relations <= edges if type(nodes) is int and type(edges) is int else relations <= FEW


def relation_maps(x: Tensor, weight: Tensor) -> Tensor:
    """x_v W_r for every node v and relation r: [V, F_in] and [R, F_in, F_out] give [V R, F_out]."""
    return (x @ weight.permute(1, 0, 2).reshape(weight.shape[1], -1)).reshape(-1, weight.shape[2])


class RGCNConv(MessagePassing):
    r"""x'_i = W_root x_i + sum over relations r of mean over j in N_r(i) of W_r x_j.

    num_relations: R. num_bases: W_r = sum over b of comp[r, b] weight[b]. num_blocks: W_r is block diagonal. aggr: what stands for the
    mean. is_sorted: kept for its name; the order of the edges does not matter here.

    x may be None, or whole numbers: then every node (or number) has a row of each W_r of its own.

    Shapes: x [V, F_in] or [V] or None, or a pair of them, edge_index [2, E], edge_type [E]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import RGCNConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> RGCNConv(4, 8, num_relations=2, num_bases=2)(Tensor.ones(3, 4), edge_index, Tensor([0, 1, 1])).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, num_relations: int, num_bases: int | None = None, num_blocks: int | None = None,
        aggr: Any = "mean", root_weight: bool = True, is_sorted: bool = False, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", aggr)
        super().__init__(node_dim=0, **kwargs)
        if num_bases is not None and num_blocks is not None:
            raise ValueError("Can not apply both basis-decomposition and block-diagonal-decomposition: give num_bases or num_blocks")
        self.in_channels, self.out_channels, self.num_relations = in_channels, out_channels, num_relations
        self.num_bases, self.num_blocks, self.is_sorted = num_bases, num_blocks, is_sorted
        left, right = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        self.in_channels_l = left
        comp: Tensor | None = None
        if num_bases is not None:
            self.weight = Tensor.zeros(num_bases, left, out_channels, requires_grad=True)
            comp = Tensor.zeros(num_relations, num_bases, requires_grad=True)
        elif num_blocks is not None:
            if left % num_blocks or out_channels % num_blocks:
                raise ValueError(f"{num_blocks} blocks divide neither or only one of {left} input and {out_channels} output features")
            self.weight = Tensor.zeros(num_relations, num_blocks, left // num_blocks, out_channels // num_blocks, requires_grad=True)
        else:
            self.weight = Tensor.zeros(num_relations, left, out_channels, requires_grad=True)
        self.comp = comp
        self.root = Tensor.zeros(right, out_channels, requires_grad=True) if root_weight else None
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        glorot(self.weight)
        glorot(self.comp)
        glorot(self.root)
        zeros(self.bias)

    def _rows_by_value(self, x: Tensor | None) -> Tensor | None:
        """Whole numbers that say which row of the weights a node has; None: its own."""
        return x

    def forward(self, x: Any, edge_index: Any, edge_type: Tensor | None = None) -> Tensor:
        left, right = (x[0], x[1]) if isinstance(x, (tuple, list)) else (x, x)
        if edge_type is None:
            raise ValueError(f"{type(self).__name__} needs edge_type, the relation of each edge")
        if not isinstance(self.aggr, str) or (self.aggr not in SUMS and isinstance(self, FastRGCNConv)):
            raise ValueError(f"{type(self).__name__} cannot aggregate by {self.aggr!r}")
        features = left is not None and left.is_floating_point()
        if not features and self.num_blocks is not None:
            raise ValueError("num_blocks needs features: x must hold floating point numbers")
        nodes = self.in_channels_l if left is None else left.shape[0]
        size = (nodes, nodes if right is None else right.shape[0])
        if features:
            maps = self._maps(left, nodes, edge_type)
            out = self.propagate(edge_index, x=left, maps=maps, edge_type=edge_type, size=size)
        else:
            rows = self._rows_by_value(left)
            if self.num_bases is not None:  # a node's row of every basis; the relation of an edge mixes them
                table = self.weight.transpose(0, 1)
                table = table if rows is None else table.index_select(0, rows)
            else:
                table = Tensor.arange(nodes) if rows is None else rows
            out = self.propagate(edge_index, x=table, maps=None, edge_type=edge_type, size=size)
        if self.root is not None:
            if right is None:
                out = out + self.root
            else:
                out = out + (right @ self.root if right.is_floating_point() else self.root.index_select(0, right))
        return out if self.bias is None else out + self.bias

    def _weight(self) -> Tensor:
        if self.comp is None:
            return self.weight
        return (self.comp @ self.weight.flatten(1)).reshape(self.num_relations, self.in_channels_l, self.out_channels)

    def _maps(self, x: Tensor, nodes: Any, edge_type: Tensor) -> Tensor | None:
        """W_r x_j for every node and relation, [V R, F_out], where that is less work than one product an edge."""
        if self.num_blocks is not None or self.aggr not in SUMS or not few_relations(nodes, self.num_relations, edge_type):
            return None
        return relation_maps(x, self._weight())

    def _transform(self, x: Tensor, weight: Tensor) -> Tensor:
        """Rows of features times a matrix each, or the blocks of it."""
        if self.num_blocks is None:
            return (x.unsqueeze(-1) * weight).sum(-2)
        x = x.unflatten(-1, (self.num_blocks, self.in_channels_l // self.num_blocks)).unsqueeze(-1)
        return (x * weight).sum(-2).flatten(-2)

    def message(self, x_j: Tensor, maps: Tensor | None, edge_type: Tensor, edge_index_j: Tensor) -> Tensor:  # type: ignore[override]
        if maps is not None:
            return maps.index_select(0, edge_index_j * self.num_relations + edge_type)
        if x_j.ndim == 3:
            assert self.comp is not None
            return (x_j * self.comp.index_select(0, edge_type).unsqueeze(-1)).sum(1)
        if x_j.ndim == 1:
            return self.weight.flatten(0, 1).index_select(0, edge_type * self.weight.shape[1] + x_j)
        return self._transform(x_j, self._weight().index_select(0, edge_type)) if self.aggr in SUMS else x_j

    def aggregate(self, inputs: Tensor, x_j: Tensor, edge_type: Tensor, index: Tensor, dim_size: Any) -> Tensor:
        r = self.num_relations
        if self.aggr in SUMS:
            rows = rows_of(index, dim_size)
            if self.aggr == "mean":  # over the edges of one relation
                count = rows.reduce(edge_type.one_hot(r).cast(inputs.dtype), "sum").clamp(1)
                # a division for each node and relation rather than for each edge and feature
                inputs = inputs * count.reciprocal().reshape(-1).index_select(0, index * r + edge_type).unsqueeze(-1)
            return rows.reduce(inputs, "sum")
        h = self.aggr_module(inputs, index * r + edge_type, dim_size=dim_size * r, dim=0)
        h = h.unflatten(0, (dim_size, r))
        return h.sum(1) if inputs is not x_j else self._transform(h, self._weight()).sum(1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_relations={self.num_relations})"


class FastRGCNConv(RGCNConv):
    r"""RGCNConv; the two differ in other libraries, where one loops over relations and the other over edges. Here both loop over edges.

    aggr must be a sum or a mean. Where x holds whole numbers, every node has its own row, whatever its number.

    Shapes: x [V, F_in] or [V] or None, or a pair of them, edge_index [2, E], edge_type [E]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import FastRGCNConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> FastRGCNConv(4, 8, num_relations=2)(Tensor.ones(3, 4), edge_index, Tensor([0, 1, 1])).shape
    (3, 8)
    """

    def _rows_by_value(self, x: Tensor | None) -> Tensor | None:
        return None


__all__ = ["FastRGCNConv", "RGCNConv"]
