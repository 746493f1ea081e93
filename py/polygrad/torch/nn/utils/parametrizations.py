"""torch.nn.utils.parametrizations: polygrad.nn.utils.parametrizations with PyTorch's tensors."""

from __future__ import annotations

from ....nn.utils import parametrizations as _here
from ..._surface import lifted_names

__getattr__ = lifted_names(__name__, _here)
__all__ = list(_here.__all__)
