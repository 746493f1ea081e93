"""The types of torch_geometric.typing, of PyTorch's tensors, in the spelling that annotations are compared with."""

# ruff: noqa: UP006, UP035

from __future__ import annotations

from typing import Dict, Optional, Tuple, Union

import numpy as np

from ..geometric.sparse_tensor import SparseTensor
from ..torch.tensor import Tensor

_Edge = Tuple[str, str, str]
Adj = Union[Tensor, SparseTensor]
OptTensor = Optional[Tensor]
PairTensor = Tuple[Tensor, Tensor]
OptPairTensor = Tuple[Tensor, Optional[Tensor]]
PairOptTensor = Tuple[Optional[Tensor], Optional[Tensor]]
EdgeTensorType = Tuple[Tensor, Tensor]
FeatureTensorType = Union[Tensor, np.ndarray]
MaybeHeteroNodeTensor = Union[Tensor, Dict[str, Tensor]]
MaybeHeteroEdgeTensor = Union[Tensor, Dict[_Edge, Tensor]]
MaybeHeteroAdjTensor = Union[Tensor, Dict[_Edge, Adj]]

__all__ = [
    "Adj", "EdgeTensorType", "FeatureTensorType", "MaybeHeteroAdjTensor", "MaybeHeteroEdgeTensor", "MaybeHeteroNodeTensor", "OptPairTensor",
    "OptTensor",
    "PairOptTensor", "PairTensor",
]  # fmt: skip
