"""PyTorch's newer place of weight_norm and spectral_norm; the names in the state dict are those of nn.utils."""

from .reparam import spectral_norm, weight_norm

__all__ = ["spectral_norm", "weight_norm"]
