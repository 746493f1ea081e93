"""torch.utils: datasets and loaders of tensors."""

from . import data

__all__ = ["data"]
