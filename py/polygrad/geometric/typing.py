"""Names of types that layers are annotated with."""

from __future__ import annotations

from typing import Optional, Union

from ..dtypes import dtypes
from ..graphs import Graph
from ..tensor import Tensor

Adj = Union[Tensor, Graph]
OptTensor = Optional[Tensor]
PairTensor = tuple[Tensor, Tensor]
OptPairTensor = tuple[Tensor, Optional[Tensor]]
PairOptTensor = tuple[Optional[Tensor], Optional[Tensor]]
Size = Optional[tuple[int, int]]
NoneType = Optional[Tensor]

# What PyTorch Geometric takes from further packages is part of this library; what is tied to one of them by name is not.
WITH_TORCH_SPARSE = WITH_TORCH_CLUSTER = WITH_TORCH_SPLINE_CONV = WITH_TORCH_SCATTER = True
WITH_PYG_LIB = WITH_SAMPLED_OP = WITH_INDEX_SORT = WITH_WEIGHTED_NEIGHBOR_SAMPLE = WITH_EDGE_TIME_NEIGHBOR_SAMPLE = WITH_METIS = True
WITH_SEGMM = WITH_GMM = WITH_SOFTMAX = WITH_CUDA_HASH_MAP = WITH_CPU_HASH_MAP = WITH_IPEX = WITH_WINDOWS = False

WITH_PT20 = WITH_PT21 = WITH_PT22 = WITH_PT23 = WITH_PT24 = WITH_PT25 = WITH_PT26 = WITH_PT27 = WITH_PT28 = WITH_PT112 = True
WITH_PT111 = WITH_GRAPHBOLT = WITH_TORCH_FRAME = NO_MKL = False
INDEX_DTYPES = {dtypes.int32, dtypes.int64}
MAYBE_INDEX_DTYPES = {None, *INDEX_DTYPES}

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
