"""torch.utils: datasets and loaders of tensors, checkpoints."""

from ...nn.module import RemovableHandle
from .._modules import regrouped
from . import checkpoint, data

hooks = regrouped(__name__, "hooks", "torch.utils.hooks: what registering a hook gives.", RemovableHandle=RemovableHandle)

__all__ = ["checkpoint", "data", "hooks"]
