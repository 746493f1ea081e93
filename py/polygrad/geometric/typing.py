"""Names of types that layers are annotated with."""

from __future__ import annotations

from typing import Optional, Union

from ..graphs import Graph
from ..tensor import Tensor

Adj = Union[Tensor, Graph]
OptTensor = Optional[Tensor]
PairTensor = tuple[Tensor, Tensor]
OptPairTensor = tuple[Tensor, Optional[Tensor]]
PairOptTensor = tuple[Optional[Tensor], Optional[Tensor]]
Size = Optional[tuple[int, int]]
NoneType = Optional[Tensor]

NodeType = str
EdgeType = tuple[str, str, str]
NodeOrEdgeType = Union[NodeType, EdgeType]
Metadata = tuple[list[NodeType], list[EdgeType]]


def __getattr__(name: str) -> type:
    if name == "SparseTensor":
        from .sparse_tensor import SparseTensor

        return SparseTensor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


InputNodes = Union[OptTensor, NodeType, tuple[NodeType, Optional[Tensor]]]
InputEdges = Union[OptTensor, EdgeType, tuple[EdgeType, Optional[Tensor]]]
NumNeighbors = Union[list[int], dict[EdgeType, list[int]]]
