"""torch.utils: datasets and loaders of tensors, checkpoints."""

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
