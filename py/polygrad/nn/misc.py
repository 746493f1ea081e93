"""Modules without parameters: dropout, pooling, padding, resizing and rearranging, with PyTorch's arguments in PyTorch's order."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from .._core import make_tuple
from ..tensor import Tensor
from . import functional as F
from .functional import into
from .module import Module, named_arguments


class Identity(Module):
    """Gives what it gets; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def forward(self, x: Tensor) -> Tensor:
        return x


class Flatten(Module):
    """Joins the axes from start_dim to end_dim."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one axis into several."""

    def __init__(self, dim: int, unflattened_size: Any):
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


# ---- dropout ----


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zeroes with probability p while Tensor.training is set, and scales the rest.

    >>> from polygrad import Tensor, nn
    >>> nn.Dropout(0.5)(Tensor.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return into(x, x.dropout(self.p), self.inplace)


def _dropout(name: str, function: str) -> type[_Dropout]:
    def forward(self: Any, x: Tensor) -> Tensor:
        return getattr(F, function)(x, self.p, bool(Tensor.training), self.inplace)

    return type(name, (_Dropout,), {"forward": forward, "__doc__": f"functional.{function} while Tensor.training is set.", "__module__": __name__})


Dropout1d, Dropout2d, Dropout3d = (_dropout(f"Dropout{n}d", f"dropout{n}d") for n in (1, 2, 3))
AlphaDropout, FeatureAlphaDropout = _dropout("AlphaDropout", "alpha_dropout"), _dropout("FeatureAlphaDropout", "feature_alpha_dropout")


# ---- functions of nn.functional as modules ----


class _Applied(Module):
    """Calls a function of nn.functional with the settings of the constructor, which are attributes."""

    function = ""
    names: tuple[str, ...] = ()  # settings in PyTorch's order
    defaults: dict[str, Any] = {}
    shown: tuple[str, ...] = ()
    kernel_size: Any
    stride: Any
    padding: Any

    def __init__(self, *args: Any, **kwargs: Any):
        given = named_arguments(self, self.names, args, kwargs)
        missing = [n for n in self.names if n not in given and n not in self.defaults]
        if missing:
            raise TypeError(f"{type(self).__name__} needs {' and '.join(missing)}")
        self.__dict__.update({n: given.get(n, self.defaults.get(n)) for n in self.names})
        if "stride" in self.names and "kernel_size" in self.names and self.stride is None:
            self.stride = self.kernel_size

    def _settings(self) -> dict[str, Any]:
        return {n: getattr(self, n) for n in self.names}

    def _state_items(self) -> dict[str, Any]:
        return {}

    def forward(self, *args: Any) -> Any:
        return getattr(F, self.function)(*args, **self._settings())

    def extra_repr(self) -> str:
        return ", ".join(f"{n}={getattr(self, n)}" for n in (self.shown or self.names))


def _applied(name: str, function: str, *names: str, shown: tuple[str, ...] = (), **defaults: Any) -> Any:
    members = {"function": function, "names": names, "defaults": defaults, "shown": shown}
    return type(name, (_Applied,), {**members, "__doc__": f"functional.{function} as a module.", "__module__": __name__})


_MAX = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")
_MAX_DEFAULTS: dict[str, Any] = {"stride": None, "padding": 0, "dilation": 1, "return_indices": False, "ceil_mode": False}
_AVG = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
_AVG_DEFAULTS: dict[str, Any] = {"stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}
_UP = ("kernel_size", "stride", "padding")


def _max_pool(n: int) -> Any:
    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
    return _applied(f"MaxPool{n}d", f"max_pool{n}d", *_MAX, shown=shown, **_MAX_DEFAULTS)


MaxPool1d, MaxPool2d, MaxPool3d = _max_pool(1), _max_pool(2), _max_pool(3)
AvgPool1d = _applied("AvgPool1d", "avg_pool1d", *_AVG, shown=_UP, **_AVG_DEFAULTS)
AvgPool2d = _applied("AvgPool2d", "avg_pool2d", *_AVG, "divisor_override", shown=_UP, **_AVG_DEFAULTS, divisor_override=None)
AvgPool3d = _applied("AvgPool3d", "avg_pool3d", *_AVG, "divisor_override", shown=_UP, **_AVG_DEFAULTS, divisor_override=None)
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = (
    _applied(f"AdaptiveAvgPool{n}d", f"adaptive_avg_pool{n}d", "output_size") for n in (1, 2, 3)
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = (
    _applied(f"AdaptiveMaxPool{n}d", f"adaptive_max_pool{n}d", "output_size", "return_indices", shown=("output_size",), return_indices=False)
    for n in (1, 2, 3)
)
_FRACTIONAL = ("kernel_size", "output_size", "output_ratio", "return_indices", "_random_samples")
FractionalMaxPool2d, FractionalMaxPool3d = (
    _applied(
        f"FractionalMaxPool{n}d", f"fractional_max_pool{n}d", *_FRACTIONAL, shown=("kernel_size", "output_size"), output_size=None, output_ratio=None,
        return_indices=False, _random_samples=None,
    )
    for n in (2, 3)
)  # fmt: skip
LPPool1d, LPPool2d, LPPool3d = (
    _applied(f"LPPool{n}d", f"lp_pool{n}d", "norm_type", "kernel_size", "stride", "ceil_mode", stride=None, ceil_mode=False) for n in (1, 2, 3)
)


class _MaxUnpool(_Applied):
    names = _UP
    defaults = {"stride": None, "padding": 0}

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return getattr(F, self.function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)


def _unpool(n: int) -> Any:
    name = f"max_unpool{n}d"
    return type(f"MaxUnpool{n}d", (_MaxUnpool,), {"function": name, "__doc__": f"functional.{name} as a module.", "__module__": __name__})


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = _unpool(1), _unpool(2), _unpool(3)
Fold = _applied("Fold", "fold", "output_size", "kernel_size", "dilation", "padding", "stride", dilation=1, padding=0, stride=1)
Unfold = _applied("Unfold", "unfold", "kernel_size", "dilation", "padding", "stride", dilation=1, padding=0, stride=1)
PixelShuffle = _applied("PixelShuffle", "pixel_shuffle", "upscale_factor")
PixelUnshuffle = _applied("PixelUnshuffle", "pixel_unshuffle", "downscale_factor")
ChannelShuffle = _applied("ChannelShuffle", "channel_shuffle", "groups")


class Upsample(Module):
    """functional.interpolate as a module.

    >>> from polygrad import Tensor, nn
    >>> nn.Upsample(scale_factor=2)(Tensor([[[1.0, 2.0]]])).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):  # fmt: skip
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self) -> str:
        what = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample of images by the nearest pixel."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Upsample of images by lines between pixels, with their corners in place."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", True)


# ---- padding ----


class _Pad(Module):
    spatial, mode = 1, "constant"
    value: float = 0.0

    def __init__(self, padding: Any):
        self.padding = make_tuple(padding, 2 * self.spatial) if isinstance(padding, Integral) else tuple(padding)

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _pad(name: str, n: int, mode: str, base: type = _Pad) -> Any:
    return type(f"{name}{n}d", (base,), {"spatial": n, "mode": mode, "__doc__": f"functional.pad of {n} axes as a module.", "__module__": __name__})


ZeroPad1d, ZeroPad2d, ZeroPad3d = (_pad("ZeroPad", n, "constant") for n in (1, 2, 3))
ConstantPad1d, ConstantPad2d, ConstantPad3d = (_pad("ConstantPad", n, "constant", _ConstantPad) for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_pad("ReflectionPad", n, "reflect") for n in (1, 2, 3))
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (_pad("ReplicationPad", n, "replicate") for n in (1, 2, 3))
CircularPad1d, CircularPad2d, CircularPad3d = (_pad("CircularPad", n, "circular") for n in (1, 2, 3))

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d", "ChannelShuffle", "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d",
    "ConstantPad2d", "ConstantPad3d", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "FractionalMaxPool2d",
    "FractionalMaxPool3d", "Flatten", "Fold", "Identity",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "PixelShuffle",
    "PixelUnshuffle", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "Unflatten", "Unfold", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip
