"""Names of types that layers are annotated with."""

from __future__ import annotations

import functools
import types
from typing import Any, Optional, Union

import numpy as np

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

WITH_PT20 = WITH_PT21 = WITH_PT22 = WITH_PT23 = WITH_PT24 = WITH_PT25 = WITH_PT26 = WITH_PT27 = WITH_PT28 = WITH_PT29 = WITH_PT210 = True
WITH_PT112 = WITH_PT113 = WITH_PT211 = WITH_PT212 = True
MAX_INT64 = 2**63 - 1
DEFAULT_REL, EDGE_TYPE_STR_SPLIT = "to", "__"
WITH_PT111 = WITH_GRAPHBOLT = WITH_TORCH_FRAME = NO_MKL = False
INDEX_DTYPES = {dtypes.int32, dtypes.int64}
MAYBE_INDEX_DTYPES = {None, *INDEX_DTYPES}

NodeType = str
EdgeType = tuple[str, str, str]
NodeOrEdgeType = Union[NodeType, EdgeType]
Metadata = tuple[list[NodeType], list[EdgeType]]


def __getattr__(name: str) -> Any:
    if name == "SparseTensor":
        from .sparse_tensor import SparseTensor

        return SparseTensor
    if name == "torch_sparse":
        return _sparse_functions()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _sparse_functions() -> types.ModuleType:
    """The methods of SparseTensor as functions, under torch-sparse's names."""
    from .sparse_tensor import SparseTensor

    module = types.ModuleType("torch_sparse", "Sparse matrices: the methods of SparseTensor as functions.")

    def function(method: str) -> Any:
        def call(src: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(src, method)(*args, **kwargs)

        call.__name__ = method
        return call

    names = "remove_diag set_diag fill_diag get_diag matmul mul sum mean max min t coalesce index_select masked_select to_symmetric".split()
    module.__dict__.update({n: function(n) for n in names}, SparseTensor=SparseTensor, transpose=function("t"))
    return module


class EdgeTypeStr(str):
    """A type of edges as one text, "source__relation__destination", made of such a text, a triple, or the two ends.

    >>> from polygrad.geometric.typing import EdgeTypeStr
    >>> EdgeTypeStr("a", "b"), EdgeTypeStr("a__writes__b").to_tuple()
    ('a__to__b', ('a', 'writes', 'b'))
    """

    edge_type: EdgeType

    def __new__(cls, *args: Any) -> EdgeTypeStr:
        parts = tuple(args[0]) if isinstance(args[0], (list, tuple)) else args
        if not parts or not all(isinstance(p, str) for p in parts) or len(parts) > 3:
            raise ValueError(f"Encountered invalid edge type '{parts}'")
        if len(parts) == 1:
            parts = tuple(parts[0].split("__"))
            if len(parts) != 3:
                raise ValueError(f"Cannot convert the edge type '{args[0]}' to a tuple: it is not source__relation__destination")
        elif len(parts) == 2:
            parts = (parts[0], "to", parts[1])
        out = str.__new__(cls, "__".join(parts))
        out.edge_type = parts
        return out

    def to_tuple(self) -> EdgeType:
        """The triple."""
        return self.edge_type

    def __reduce__(self) -> Any:
        return type(self), (self.edge_type,)


class TensorFrame:
    """PyTorch Frame's table of columns: there is none here, and nothing is an instance of it."""


QueryType = Union[NodeType, EdgeType, str, tuple[str, str]]
MaybeHeteroNodeTensor = Union[Tensor, dict[NodeType, Tensor]]
MaybeHeteroEdgeTensor = Union[Tensor, dict[EdgeType, Tensor]]
MaybeHeteroAdjTensor = Union[Tensor, dict[EdgeType, Adj]]
EdgeTensorType = tuple[Tensor, Tensor]
FeatureTensorType = Union[Tensor, np.ndarray]
InputNodes = Union[OptTensor, NodeType, tuple[NodeType, Optional[Tensor]]]
InputEdges = Union[OptTensor, EdgeType, tuple[EdgeType, Optional[Tensor]]]
NumNeighbors = Union[list[int], dict[EdgeType, list[int]]]
