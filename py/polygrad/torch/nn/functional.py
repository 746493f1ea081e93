"""torch.nn.functional: the functions of polygrad.nn.functional, which have PyTorch's names and arguments."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import sys
from typing import Any

from ...nn import functional as _functional
from .._algebra import kept
from .._surface import lift
from ..tensor import Tensor


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """1 at the class, else 0, int64."""
    return _functional.one_hot(tensor, num_classes).cast("int64")


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:  # noqa: A002
    """More at the edges, in the tensor's dtype: pairs of how much before and after, the last axis first."""
    return _functional.pad(input, pad, mode, None if value is None else kept(input, value))


def upsample(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None) -> Any:  # noqa: A002
    """The old name of interpolate."""
    return __getattr__("interpolate")(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:  # noqa: A002
    """interpolate by the nearest value."""
    return upsample(input, size, scale_factor)


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:  # noqa: A002
    """interpolate between four values, with the corners in their places."""
    return upsample(input, size, scale_factor, "bilinear", True)


def _with_indices(name: str) -> Any:
    def pool(*args: Any, **kwargs: Any) -> Any:
        return __getattr__(name)(*args, **{**kwargs, "return_indices": True})

    pool.__name__, pool.__doc__ = f"{name}_with_indices", f"{name}, and where the values were."
    return pool


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = (_with_indices(f"max_pool{k}d") for k in (1, 2, 3))
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = (
    _with_indices(f"adaptive_max_pool{k}d") for k in (1, 2, 3)
)


def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any,
    add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any, training: bool = True, key_padding_mask: Any = None,
    need_weights: bool = True, attn_mask: Any = None, use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
    v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> Any:  # fmt: skip
    """MultiheadAttention with these weights, time before batch."""
    from . import MultiheadAttention

    kdim, vdim = (int(k_proj_weight.shape[1]), int(v_proj_weight.shape[1])) if use_separate_proj_weight else (None, None)
    layer = MultiheadAttention(embed_dim_to_check, num_heads, dropout=dropout_p, bias=False, add_zero_attn=add_zero_attn, kdim=kdim, vdim=vdim)
    if use_separate_proj_weight:
        layer.in_proj_weight, layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight = None, q_proj_weight, k_proj_weight, v_proj_weight
    else:
        layer.in_proj_weight = in_proj_weight
    layer.in_proj_bias, layer.bias_k, layer.bias_v = in_proj_bias, bias_k, bias_v
    layer.out_proj.weight, layer.out_proj.bias = out_proj_weight, out_proj_bias
    layer.train(training)
    return layer(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal and attn_mask is None)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if hasattr(_functional, name):
        value = lift(getattr(_functional, name), __name__)
    elif hasattr(Tensor, name):  # such as F.softsign, which is a method
        from ..methods import function_of

        value = function_of(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return __all__


__all__ = sorted(
    {*_functional.__all__, "one_hot", "multi_head_attention_forward", "upsample", "upsample_bilinear", "upsample_nearest"}
    | {f"{kind}max_pool{k}d_with_indices" for kind in ("", "adaptive_") for k in (1, 2, 3)}
)
