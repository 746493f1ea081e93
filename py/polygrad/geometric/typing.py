"""Names of types that layers are annotated with."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple, Union  # noqa: UP035  (Python 3.9: these are evaluated)

from ..graphs import Graph
from ..tensor import Tensor

Adj = Union[Tensor, Graph]
OptTensor = Optional[Tensor]
PairTensor = Tuple[Tensor, Tensor]
OptPairTensor = Tuple[Tensor, Optional[Tensor]]
PairOptTensor = Tuple[Optional[Tensor], Optional[Tensor]]
Size = Optional[Tuple[int, int]]
NoneType = Optional[Tensor]

NodeType = str
EdgeType = Tuple[str, str, str]
NodeOrEdgeType = Union[NodeType, EdgeType]
Metadata = Tuple[List[NodeType], List[EdgeType]]


class SparseTensor:
    """A type that nothing has: a sparse adjacency is a Graph here."""


InputNodes = Union[OptTensor, NodeType, Tuple[NodeType, Optional[Tensor]]]
InputEdges = Union[OptTensor, EdgeType, Tuple[EdgeType, Optional[Tensor]]]
NumNeighbors = Union[List[int], Dict[EdgeType, List[int]]]
