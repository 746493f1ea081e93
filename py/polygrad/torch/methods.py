"""Tensor's methods as functions of `torch`: torch.sum(x, 0) is x.sum(0). Here and nowhere else, because they have the names of Python's own."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor as Plain
from ._inplace import into
from .functions import as_tensor
from .tensor import Tensor
from .types import device_name

NAMES = """
    abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv all allclose amax amin aminmax any argmax argmin argsort asin asinh atan
    atan2 arctan2 atanh baddbmm bernoulli bincount bitwise_and bitwise_not bitwise_or bitwise_xor bmm broadcast_to bucketize ceil celu chunk
    clamp clamp_max clamp_min clip clone copysign cos cosh cosine_similarity count_nonzero cummax cummin cumprod cumsum deg2rad detach diag
    diag_embed diagonal diff div divide dot eq equal erf exp exp2 expm1 fliplr flipud float_power floor floor_divide fmax fmin fmod frac
    gather ge ger greater greater_equal gt histc hypot index_add index_copy index_fill index_put index_select inner isclose isfinite isin
    isinf isnan kthvalue le lerp less less_equal log log10 log1p log2 log_softmax logaddexp logcumsumexp logical_and logical_not logical_or
    logical_xor logit logsumexp lt masked_fill masked_scatter masked_select matmul max maximum mean median min minimum mm mode moveaxis
    movedim mul multinomial multiply mv nan_to_num nansum narrow ne neg negative nonzero norm not_equal numel outer pow prod quantile
    rad2deg ravel reciprocal relu remainder roll round rsqrt rsub scatter scatter_add scatter_reduce searchsorted select
    selu sgn sigmoid sign sin sinh softmax sort split sqrt square squeeze std std_mean sub subtract sum swapaxes swapdims t take
    take_along_dim tan tanh tensor_split tile topk trace transpose tril triu true_divide trunc unbind unflatten unique unique_consecutive
    unsqueeze var var_mean vdot view_as xlogy flatten is_floating_point is_complex zeros_like ones_like empty_like rand_like randn_like
    argwhere nanmean addr adjoint arccos arccosh arcsin arcsinh arctan arctanh as_strided bitwise_left_shift bitwise_right_shift conj
    conj_physical corrcoef cov cross diagflat diagonal_scatter dist dsplit erfc fix hardshrink heaviside hsplit index_reduce is_conj
    is_inference is_neg is_nonzero is_same_size is_signed isneginf isposinf isreal kron ldexp logaddexp2 matrix_power msort nanmedian
    narrow_copy pinverse positive prelu put renorm resolve_conj resolve_neg rot90 select_scatter signbit sinc slice_scatter unsafe_chunk
    unsafe_split unsafe_split_with_sizes split_with_sizes vsplit svd qr as_strided_scatter
    detach_ abs_ acos_ asin_ atan_ ceil_ clamp_ clamp_max_ clamp_min_
    clip_ cos_ cosh_ erf_ exp_ exp2_ expm1_ fill_ floor_ frac_ index_put_ log_ log10_ log1p_ log2_ nan_to_num_ neg_ negative_ reciprocal_
    digamma erfinv frexp gcd histogram lcm lgamma mvlgamma nanquantile nextafter nonzero_static polygamma digamma_ erfinv_ gcd_ lcm_ lgamma_
    acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asinh_ atanh_ deg2rad_ erfc_ fix_ ldexp_ logit_ rad2deg_ sinc_
    relu_ round_ rsqrt_ selu_ sigmoid_ sin_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ zero_ xlogy_
""".split()


def function_of(name: str) -> Callable[..., Any]:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        out = kwargs.pop("out", None)
        if out is not None:
            return into(out, function(input, *args, **kwargs))
        if not isinstance(input, Plain) and hasattr(input, "sparse_sizes"):
            return getattr(input, name)(*args, **kwargs)
        if not isinstance(input, Plain):
            input = args[0].new_tensor(input) if args and isinstance(args[0], Tensor) else as_tensor(input)
        if kwargs.get("device") is not None:
            kwargs["device"] = device_name(kwargs["device"])
        return getattr(input, name)(*args, **kwargs)

    method = getattr(Tensor, name, None)
    function.__name__ = function.__qualname__ = name
    text = (getattr(method, "__doc__", None) or "").strip().partition("\n")[0]
    function.__doc__ = f"Tensor.{name} as a function. {text}".strip()
    function.__module__ = "polygrad.torch"
    return function


for _name in NAMES:
    if hasattr(Tensor, _name):
        globals()[_name] = function_of(_name)

__all__ = [n for n in NAMES if n in globals()]
