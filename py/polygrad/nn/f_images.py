"""Convolutions, pooling, resizing and rearranging of images, under the names and with the arguments of torch.nn.functional."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from .._core import make_tuple
from ..mixin.images import resized, windows
from ..tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "fractional_max_pool2d", "fractional_max_pool3d",
    "affine_grid", "avg_pool1d", "avg_pool2d", "avg_pool3d", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "fold", "grid_sample", "interpolate", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
]  # fmt: skip


def _batched(x: Tensor, n: int, what: str) -> tuple[Tensor, bool]:
    """x with a batch axis, and whether it had one."""
    if x.ndim not in (n + 1, n + 2):
        raise ValueError(f"{what} takes {n + 1} or {n + 2} axes, not the shape {x.shape}")
    return (x, True) if x.ndim == n + 2 else (x.unsqueeze(0), False)


def _same(kernel: Any, dilation: Any, stride: Any, n: int) -> list[int]:
    """The padding that keeps sizes, in PyTorch's flat order from the last axis."""
    if any(s != 1 for s in make_tuple(stride, n)):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(make_tuple(dilation, n), kernel)]
    return [v for t in reversed(total) for v in (t // 2, t - t // 2)]


def _conv(n: int, x: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Tensor:
    if weight.ndim != n + 2:
        raise ValueError(f"conv{n}d takes a weight with {n + 2} axes, not the shape {weight.shape}")
    x, batched = _batched(x, n, f"conv{n}d")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"padding must be a number, 'same' or 'valid', not {padding!r}")
        padding = _same(weight.shape[2:], dilation, stride, n) if padding == "same" else 0
    y = x.conv2d(weight, bias, groups, _each(stride, n), _each(dilation, n), _each(padding, n))
    return y if batched else y.squeeze(0)


def _each(v: Any, n: int) -> Any:
    """PyTorch takes (v,) for v of every axis."""
    return v[0] if isinstance(v, (tuple, list)) and len(v) == 1 and n != 1 else v


def conv1d(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Convolution of [batch, channels, length] with a weight [out, in / groups, kernel]."""
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Convolution of [batch, channels, height, width] with a weight [out, in / groups, height, width]."""
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Convolution over three spatial axes."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(n: int, x: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, more: Any, groups: int, dilation: Any) -> Tensor:
    x, batched = _batched(x, n, f"conv_transpose{n}d")
    y = x.conv_transpose2d(weight, bias, groups, _each(stride, n), _each(dilation, n), _each(padding, n), _each(more, n))
    return y if batched else y.squeeze(0)


def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1
) -> Tensor:
    """Transposed convolution over one spatial axis, weight [in, out / groups, kernel]."""
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1
) -> Tensor:
    """Transposed convolution over two spatial axes."""
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1
) -> Tensor:
    """Transposed convolution over three spatial axes."""
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# ---- pooling ----


def _kernel(kernel: Any, stride: Any, n: int) -> tuple[tuple[int, ...], Any]:
    k = make_tuple(_each(kernel, n), n)
    empty = stride is None or (isinstance(stride, (tuple, list)) and len(stride) == 0)
    return k, k if empty else _each(stride, n)


def _max_pool(n: int, x: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, return_indices: bool) -> Any:
    k, s = _kernel(kernel, stride, n)
    for p, size in zip(make_tuple(_each(padding, n), n), k):
        if not 0 <= p <= size // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p} and kernel_size={size}")
    x, batched = _batched(x, n, f"max_pool{n}d")
    out = x.max_pool2d(k, s, _each(dilation, n), _each(padding, n), ceil_mode, return_indices)
    if batched:
        return out
    return tuple(t.squeeze(0) for t in out) if return_indices else out.squeeze(0)


def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> Any:
    """Largest in each window; with return_indices, and its place."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> Any:
    """Largest in each window; with return_indices, and its place in the flattened image."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> Any:
    """Largest in each window; with return_indices, and its place in the flattened volume."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _max_unpool(n: int, x: Tensor, indices: Tensor, kernel: Any, stride: Any, padding: Any, output_size: Any) -> Tensor:
    k, s = _kernel(kernel, stride, n)
    return x.max_unpool2d(indices, k, s, 1, _each(padding, n), output_size)


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """The reverse of max_pool1d: values at their places, zero elsewhere."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """The reverse of max_pool2d."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """The reverse of max_pool3d."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def _avg_pool(n: int, x: Tensor, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: int | None) -> Tensor:
    k, s = _kernel(kernel, stride, n)
    x, batched = _batched(x, n, f"avg_pool{n}d")
    if divisor is not None:
        w, _ = windows(x, k, s, 1, _each(padding, n), ceil_mode, 0.0)
        y = w.sum(tuple(range(-n, 0))) / divisor
    else:
        y = x.avg_pool2d(k, s, 1, _each(padding, n), ceil_mode, include)
    return y if batched else y.squeeze(0)


def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """Mean of each window."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """Mean of each window, or its sum divided by divisor_override."""
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """Mean of each window, or its sum divided by divisor_override."""
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _lp_pool(n: int, x: Tensor, p: float, kernel: Any, stride: Any, ceil_mode: bool) -> Tensor:
    k, s = _kernel(kernel, stride, n)
    w, _ = windows(x.pow(p), k, s, 1, 0, ceil_mode, 0.0)
    total = w.sum(tuple(range(-n, 0)))
    return (total.sign() * total.abs().relu()).pow(1.0 / p)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x^p)^(1/p) of each window."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x^p)^(1/p) of each window."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x^p)^(1/p) of each window."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _sizes(x: Tensor, output_size: Any, n: int) -> tuple[int, ...]:
    """The sizes asked for; None keeps that of the input."""
    given = (output_size,) * n if isinstance(output_size, Integral) or output_size is None else tuple(output_size)
    given = given * n if len(given) == 1 else given
    return tuple(int(x.shape[x.ndim - n + k]) if v is None else int(v) for k, v in enumerate(given))


def _bounds(size: int, out: int) -> tuple[Tensor, Tensor]:
    """Where the windows of an adaptive pooling begin and end."""
    k = Tensor.arange(out)
    return (k * size) // out, -((-(k + 1) * size) // out)


def _adaptive_avg(n: int, x: Tensor, output_size: Any) -> Tensor:
    sizes = _sizes(x, output_size, n)
    old = [int(v) for v in x.shape[-n:]]
    if all(a % b == 0 for a, b in zip(old, sizes)):
        k = tuple(a // b for a, b in zip(old, sizes))
        x, batched = _batched(x, n, f"adaptive_avg_pool{n}d")
        y = x.avg_pool2d(k, k)
        return y if batched else y.squeeze(0)
    for at_axis, (size, out) in enumerate(zip(old, sizes)):  # an infinity or NaN stays in its own windows: no product with a matrix of means
        start, end = _bounds(size, out)
        at = Tensor.arange(size).unsqueeze(1)
        inside = (at >= start) & (at < end)
        axis = x.ndim - n + at_axis
        total = inside.where(x.transpose(axis, -1).unsqueeze(-1), 0.0).sum(-2)
        x = (total / (end - start).cast(x.dtype)).transpose(axis, -1)
    return x


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of output_size windows that cover the axis."""
    return _adaptive_avg(1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows that cover the image."""
    return _adaptive_avg(2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows that cover the volume."""
    return _adaptive_avg(3, input, output_size)


def _adaptive_max(n: int, x: Tensor, output_size: Any, return_indices: bool) -> Any:
    """Windows of the largest size; a shorter one repeats its last element, which leaves the maximum and its first place as they are."""
    sizes = _sizes(x, output_size, n)
    old = [int(v) for v in x.shape[-n:]]
    place: Any = None
    grids, first = [], x.ndim - n
    for k, (size, out) in enumerate(zip(old, sizes)):
        start, end = _bounds(size, out)
        longest = max(-(-(j + 1) * size // out) - j * size // out for j in range(out)) if size % out else size // out
        grid = (start.unsqueeze(1) + Tensor.arange(longest)).minimum(end.unsqueeze(1) - 1)  # [out, window]
        x = x.index_select(first + k, grid.reshape(-1)).unflatten(first + k, (out, longest))
        x = x.permute(*[a for a in range(x.ndim) if a != first + k + 1], first + k + 1)
        grids.append(grid.reshape([out if j == k else 1 for j in range(n)] + [longest if j == k else 1 for j in range(n)]))
    flat = x.flatten(x.ndim - n)
    if not return_indices:
        return flat.max(dim=-1)[0]
    local = flat.argmax(-1, keepdim=True)
    for k, grid in enumerate(grids):
        place = grid if place is None else place * old[k] + grid
    place = place.expand(x.shape[-2 * n :]).flatten(n)
    place = place.reshape([1] * (flat.ndim - n - 1) + list(place.shape)).expand(flat.shape)
    return flat.gather(-1, local).squeeze(-1), place.gather(-1, local).squeeze(-1)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of output_size windows that cover the axis."""
    return _adaptive_max(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows that cover the image."""
    return _adaptive_max(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows that cover the volume."""
    return _adaptive_max(3, input, output_size, return_indices)


def _starts(n: int, size: int, out: int, kernel: int, u: Tensor) -> Tensor:
    """Where the windows begin along an axis, [batch, channels, out]: steps of one of two lengths that add up to the axis."""
    if out == 1:
        return (u * 0).unsqueeze(-1).cast("int64") + (size - kernel)
    alpha = (size - kernel) / (out - 1)
    place = u.arange(out, dtype=u.dtype)
    begin = ((place + u.unsqueeze(-1)) * alpha).floor() - (u.unsqueeze(-1) * alpha).floor()
    return (place == out - 1).where(size - kernel, begin).cast("int64")


def _fractional(n: int, x: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any) -> Any:
    if (output_size is None) == (output_ratio is None):
        raise ValueError("fractional_max_pool needs output_size or output_ratio, and not both")
    single = x.ndim == n + 1
    x = x.unsqueeze(0) if single else x
    old = [int(v) for v in x.shape[2:]]
    kernel = list(kernel_size) if isinstance(kernel_size, (tuple, list)) else [kernel_size] * n
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else [output_ratio] * n
        output_size = [int(s * r) for s, r in zip(old, ratios)]
    sizes = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * n
    batch, channels = int(x.shape[0]), int(x.shape[1])
    u = x.rand(batch, channels, n, dtype=x.dtype) if samples is None else samples
    axes = [1, 0] if n == 2 else [0, 1, 2]  # PyTorch draws for columns first in images
    grids = []
    for k in range(n):
        begin = _starts(n, old[k], sizes[k], kernel[k], u[..., axes[k]])
        grid = (begin.unsqueeze(-1) + x.arange(kernel[k], dtype="int64")).reshape(batch, channels, -1)
        grids.append(grid)
        shape = [batch, channels] + [int(v) for v in x.shape[2:]]
        shape[2 + k] = sizes[k] * kernel[k]
        x = x.gather(2 + k, grid.reshape(batch, channels, *[-1 if j == k else 1 for j in range(n)]).expand(*shape))
    order = [0, 1, *(2 + 2 * k for k in range(n)), *(3 + 2 * k for k in range(n))]
    flat = x.reshape(batch, channels, *[v for pair in zip(sizes, kernel) for v in pair]).permute(*order).flatten(2 + n)
    if not return_indices:
        out = flat.max(dim=-1)[0]
        return out.squeeze(0) if single else out
    local = flat.argmax(-1, keepdim=True)
    place: Any = 0
    for k, grid in enumerate(grids):
        g = grid.reshape(batch, channels, *[v for j in range(n) for v in ((sizes[k], kernel[k]) if j == k else (1, 1))]).permute(*order)
        place = place * old[k] + g
    places = place.expand(batch, channels, *sizes, *kernel).flatten(2 + n).gather(-1, local).squeeze(-1)
    values = flat.gather(-1, local).squeeze(-1)
    return (values.squeeze(0), places.squeeze(0)) if single else (values, places)


def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Any = None
) -> Any:
    """Maxima of windows whose steps are drawn so that there are output_size of them."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Any = None
) -> Any:
    """Maxima of windows of a volume whose steps are drawn so that there are output_size of them."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


# ---- resizing ----

_MODES = {"linear": (1, "linear"), "bilinear": (2, "linear"), "trilinear": (3, "linear"), "bicubic": (2, "cubic")}


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """The spatial axes of [batch, channels, ...] in other sizes."""
    n = input.ndim - 2
    if antialias:
        raise NotImplementedError("interpolate has no antialias")
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "only one of size or scale_factor should be defined" if size is not None else "either size or scale_factor should be defined"
        )
    if mode in ("nearest", "nearest-exact", "area"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
        how = mode
    elif mode not in _MODES or _MODES[mode][0] != n:
        raise NotImplementedError(f"interpolate: mode {mode!r} does not fit an input of shape {input.shape}")
    else:
        how = _MODES[mode][1]
    old = [int(v) for v in input.shape[2:]]
    factors = None
    if size is not None:
        sizes = [int(v) for v in ((size,) * n if isinstance(size, Integral) else size)]
    else:
        factors = [float(v) for v in ((scale_factor,) * n if isinstance(scale_factor, Real) else scale_factor)]
        sizes = [math.floor(a * f) for a, f in zip(old, factors)]
    if len(sizes) != n:
        raise ValueError(f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of {old} and "
                         f"output size of {sizes}.")  # fmt: skip
    if how == "area":
        return _adaptive_avg(n, input, tuple(sizes))
    x = input
    for k in reversed(range(n)):
        scale = 1 / factors[k] if factors is not None and not recompute_scale_factor else old[k] / sizes[k]
        x = resized(x, 2 + k, sizes[k], how, scale, bool(align_corners))
    return x


upsample = interpolate


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Where each pixel of an output of `size` [batch, channels, ...] comes from, by the matrices theta [batch, n, n + 1]."""
    spatial = [int(v) for v in size[2:]]
    axes = []
    for n in spatial:
        at = Tensor.linspace(-1, 1, n) if n > 1 else Tensor.zeros(1)
        axes.append(at if align_corners else at * ((n - 1) / n))
    grids = axes[0].meshgrid(*axes[1:])
    base = Tensor.stack(*reversed(grids), grids[0].ones_like(), dim=-1).cast(theta.dtype)
    flat = base.reshape(1, -1, len(spatial) + 1) @ theta.transpose(1, 2)
    return flat.reshape(int(size[0]), *spatial, len(spatial))


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None) -> Tensor:
    """The values of input [batch, channels, ...] at the places grid [batch, ..., n], which go from -1 to 1."""
    n = input.ndim - 2
    if mode not in ("bilinear", "nearest") or padding_mode not in ("zeros", "border", "reflection"):
        raise NotImplementedError(f"grid_sample with mode {mode!r} and padding_mode {padding_mode!r}")
    sizes = [int(v) for v in input.shape[2:]]
    places = []
    for k, size in enumerate(sizes):  # the last entry of grid belongs to the first spatial axis
        at = grid[..., n - 1 - k]
        at = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
        if padding_mode == "reflection":
            low, span = (0.0, 2.0 * (size - 1)) if align_corners else (-0.5, 2.0 * size)
            turn = (at - low).abs().fmod(span) if span else at * 0
            at = turn.minimum(span - turn) + low
        places.append(at if padding_mode == "zeros" else at.clamp(0, size - 1))
    out: Any = None
    for corner in range(1 if mode == "nearest" else 2**n):
        weight: Any = None
        inside: Any = None
        flat: Any = None
        for k, at in enumerate(places):
            bit = corner >> k & 1
            low = at.round() if mode == "nearest" else at.floor()
            cell = low + bit
            part = None if mode == "nearest" else (at - low if bit else 1 - (at - low))
            weight = part if weight is None else weight * part
            ok = (cell >= 0) & (cell <= sizes[k] - 1)
            inside = ok if inside is None else inside & ok
            whole = cell.detach().clamp(0, sizes[k] - 1).cast("int32")
            flat = whole if flat is None else flat * sizes[k] + whole
        value = input.flatten(2).gather(2, flat.flatten(1).unsqueeze(1).expand(input.shape[0], input.shape[1], -1))
        value = value.reshape(*input.shape[:2], *grid.shape[1:-1])
        value = inside.unsqueeze(1).where(value if weight is None else value * weight.unsqueeze(1), 0.0)
        out = value if out is None else out + value
    return out


# ---- rearranging ----


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., c r^2, h, w] as [..., c, h r, w r]."""
    r, lead = upscale_factor, tuple(input.shape[:-3])
    c, h, w = (int(v) for v in input.shape[-3:])
    if c % (r * r):
        raise RuntimeError(f"pixel_shuffle: {c} channels are not divisible by the square of upscale_factor {r}")
    x, k = input.reshape(*lead, c // (r * r), r, r, h, w), len(lead)
    return x.permute(*range(k + 1), k + 3, k + 1, k + 4, k + 2).reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., c, h r, w r] as [..., c r^2, h, w]."""
    r, lead = downscale_factor, tuple(input.shape[:-3])
    c, h, w = (int(v) for v in input.shape[-3:])
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle: height {h} and width {w} must be divisible by downscale_factor {r}")
    x, k = input.reshape(*lead, c, h // r, r, w // r, r), len(lead)
    return x.permute(*range(k + 1), k + 2, k + 4, k + 1, k + 3).reshape(*lead, c * r * r, h // r, w // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels [groups, rest] in the order [rest, groups]."""
    return input.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images [batch, channels, height, width] as columns [batch, channels * kernel, windows]."""
    x, batched = _batched(input, 2, "unfold")
    w, _ = windows(x, make_tuple(kernel_size, 2), make_tuple(stride, 2), make_tuple(dilation, 2), make_tuple(padding, 2), False, 0.0)
    y = w.permute(0, 1, 4, 5, 2, 3).flatten(4).flatten(1, 3)
    return y if batched else y.squeeze(0)


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The sum of columns [batch, channels * kernel, windows] at the places of their windows."""
    k, s, d, p = (make_tuple(v, 2) for v in (kernel_size, stride, dilation, padding))
    sizes = make_tuple(output_size, 2)
    x = input if input.ndim == 3 else input.unsqueeze(0)
    batch, rows, count = (int(v) for v in x.shape)
    area = k[0] * k[1]
    out = [(sizes[j] + 2 * p[j] - d[j] * (k[j] - 1) - 1) // s[j] + 1 for j in range(2)]
    if rows % area or count != out[0] * out[1]:
        raise RuntimeError(f"fold: columns {x.shape} do not fit windows {k} of an output {sizes}: {out[0]} x {out[1]} windows")
    one = Tensor.eye(area, dtype=x.dtype).reshape(area, 1, *k)
    more = [sizes[j] - ((out[j] - 1) * s[j] - 2 * p[j] + d[j] * (k[j] - 1) + 1) for j in range(2)]
    y = x.reshape(batch * (rows // area), area, *out).conv_transpose2d(one, None, 1, s, d, p, more)
    y = y.reshape(batch, rows // area, *sizes)
    return y if input.ndim == 3 else y.squeeze(0)
