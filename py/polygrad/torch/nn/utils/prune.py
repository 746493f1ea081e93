"""torch.nn.utils.prune: polygrad.nn.utils.prune with PyTorch's tensors."""

from __future__ import annotations

from ....nn.utils import prune as _here
from ..._surface import lifted_names

__getattr__ = lifted_names(__name__, _here)
__all__ = list(_here.__all__)
