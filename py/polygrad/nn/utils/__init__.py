"""Gradients and parameters of a model taken together, and other forms of a weight; PyTorch has these in torch.nn.utils."""

from . import parametrizations, prune, rnn
from .clip import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm, parameters_to_vector, vector_to_parameters
from .reparam import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
    "parametrizations", "prune", "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "vector_to_parameters", "weight_norm",
]  # fmt: skip
