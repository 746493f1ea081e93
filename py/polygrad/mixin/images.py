"""Windows of spatial axes: places of maxima, the reverse of pooling, resizing. Shapes are PyTorch's: [batch, channels, spatial...]."""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any

from .._core import make_tuple
from ..dtypes import dtypes

if TYPE_CHECKING:
    from ..tensor import Tensor


def pairs_of(padding: Any, n: int) -> list[tuple[int, int]]:
    """(before, after) for each of n spatial axes, out of one number, one for each axis, or PyTorch's flat list from the last axis."""
    if isinstance(padding, Integral):
        return [(int(padding), int(padding))] * n
    padding = tuple(padding)
    if len(padding) == n:
        return [(p, p) for p in padding]
    if len(padding) == 2 * n:
        return [(padding[2 * (n - 1 - k)], padding[2 * (n - 1 - k) + 1]) for k in range(n)]
    raise ValueError(f"padding needs 1, {n} or {2 * n} numbers for {n} spatial axes, got {padding}")


def windows(x: Any, kernel: Any, stride: Any, dilation: Any, padding: Any, ceil_mode: bool, value: Any) -> tuple[Tensor, list[tuple[int, int]]]:
    """The windows of the last axes of x as [..., outputs..., kernel...], with `value` outside, and the padding that they needed."""
    n = len(kernel)
    strides, dilations, pads = make_tuple(stride, n), make_tuple(dilation, n), pairs_of(padding, n)
    needed = []
    for size, k, s, d, (a, b) in zip(x.shape[-n:], kernel, strides, dilations, pads):
        extent, total = d * (k - 1) + 1, int(size) + a + b
        if total < extent:
            raise ValueError(f"a window of {extent} does not fit a padded axis of {total}: input {x.shape}, kernel {tuple(kernel)}")
        out = (total - extent + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (out - 1) * s >= int(size) + a:  # the last window must begin inside
            out -= 1
        needed.append((a, b + max(0, (out - 1) * s + extent - total)))
    if any(a or b for a, b in needed):
        x = x.pad((*[(0, 0)] * (x.ndim - n), *needed), value=value)
    first = x.ndim - n
    for k in range(n):  # unfold puts the windows last
        x = x.unfold(first + k, dilations[k] * (kernel[k] - 1) + 1, strides[k])
        if dilations[k] > 1:
            x = x[..., :: dilations[k]]
    return x, needed


def flat_places(local: Any, sizes: Any, kernel: Any, strides: Any, dilations: Any, pads: Any) -> Tensor:
    """Places in the flattened spatial axes out of the places in each window."""
    n = len(kernel)
    place: Any = None
    for k in range(n):
        inner = math.prod(kernel[k + 1 :])
        inside = (local // inner) % kernel[k]
        outputs = local.arange(int(local.shape[local.ndim - n + k])).reshape([-1] + [1] * (n - 1 - k))
        at = outputs * strides[k] - pads[k][0] + inside * dilations[k]
        place = at if place is None else place * int(sizes[k]) + at
    return place


def resized(x: Any, axis: int, size: int, mode: str, scale: float, align_corners: bool) -> Tensor:
    """x with `size` entries along axis; scale is how many of the old lie in one of the new. Whole numbers are rounded, so after each axis: take the
    last one first, as PyTorch does. Weights of bytes have 14 or 15 bits, as there."""
    out = _resized(x, axis, size, mode, scale, align_corners)
    if x.dtype.kind in "iu" and out.dtype.kind == "f":
        out = (out + 0.5).floor().clamp(x.dtype.min, x.dtype.max).cast(x.dtype)
    return out


MOST_TIMES = 16  # as which float32 rounds the place of each entry to the same one


def _resized(x: Any, axis: int, size: int, mode: str, scale: float, align_corners: bool) -> Any:
    old = int(x.shape[axis])
    if mode in ("nearest", "nearest-exact") and old and size % old == 0 and scale * size == old and size // old <= MOST_TIMES:
        return x.repeat_interleave(size // old, axis)  # its gradient is a sum of neighbours
    if mode == "nearest":
        return x.index_select(axis, (x.arange(size).cast("float32") * scale).floor().clamp(0, old - 1).cast("int32"))
    if mode == "nearest-exact":
        return x.index_select(axis, ((x.arange(size).cast("float32") + 0.5) * scale).floor().clamp(0, old - 1).cast("int32"))
    number = x.arange(size).cast("float64" if x.dtype in (dtypes.float64, dtypes.uint8) else "float32")
    if align_corners:
        at = number * ((old - 1) / (size - 1) if size > 1 else 0.0)
    else:
        at = (number + 0.5) * scale - 0.5
    weight = x.dtype if x.dtype.kind == "f" else number.dtype
    shape = [-1 if k == axis % x.ndim else 1 for k in range(x.ndim)]

    def taken(index: Any) -> Any:
        return x.index_select(axis, index.clamp(0, old - 1).cast("int32"))

    if mode == "linear":
        at = at.clamp(0, None)
    low = at.floor()
    t = (at - low).cast(weight).reshape(shape)
    parts = {0: 1 - t, 1: t} if mode == "linear" else {-1: _far(t + 1), 0: _near(t), 1: _near(1 - t), 2: _far(2 - t)}
    if x.dtype == dtypes.uint8:
        parts = _of_few_bits(parts)
    return sum(taken(low + k) * w for k, w in parts.items())


_A = -0.75  # of the cubic kernel, as in PyTorch


def _near(d: Any) -> Any:
    return ((_A + 2) * d - (_A + 3)) * d * d + 1


def _far(d: Any) -> Any:
    return ((_A * d - 5 * _A) * d + 8 * _A) * d - 4 * _A


def _of_few_bits(parts: dict[int, Any]) -> dict[int, Any]:
    """Weights rounded to as many bits behind the point as 16-bit numbers have room for."""
    largest = list(parts.values())[0]
    for w in list(parts.values())[1:]:
        largest = largest.maximum(w)
    unit = ((largest.max() * (1 << 15) + 0.5).floor() < 1 << 15).where(float(1 << 15), float(1 << 14))
    return {k: ((w * unit + 0.5).floor() / unit).cast("float32") for k, w in parts.items()}


class Images:
    """Resizing, and pooling with places."""

    __slots__ = ()

    def interpolate(self: Any, size: Any, mode: str = "linear", align_corners: bool = False) -> Tensor:
        """The last axes in other sizes. mode: 'linear', 'nearest', 'nearest-exact' or 'cubic'.

        >>> Tensor([[1.0, 3.0]]).interpolate((4,)).tolist()
        [[1.0, 1.5, 2.5, 3.0]]
        """
        if not isinstance(size, (tuple, list)) or not 0 < len(size) <= self.ndim:
            raise ValueError(f"interpolate: size must have 1 to {self.ndim} numbers for shape {self.shape}, not {size!r}")
        if mode not in ("linear", "nearest", "nearest-exact", "cubic"):
            raise ValueError(f"interpolate: mode must be 'linear', 'nearest', 'nearest-exact' or 'cubic', not {mode!r}")
        x = self
        for k in reversed(range(len(size))):
            axis = self.ndim - len(size) + k
            x = resized(x, axis, int(size[k]), mode, int(self.shape[axis]) / int(size[k]), align_corners)
        return x

    def _max_pool_places(self: Any, kernel: Any, stride: Any, dilation: Any, padding: Any, ceil_mode: bool) -> tuple[Tensor, Tensor]:
        """The largest of each window and their places in the flattened spatial axes."""
        n = len(kernel)
        lowest = -math.inf if self.dtype.kind == "f" else self.dtype.min
        w, pads = windows(self, kernel, stride, dilation, padding, ceil_mode, lowest)
        flat = w.flatten(w.ndim - n)
        local = flat.argmax(-1)
        places = flat_places(local, self.shape[-n:], kernel, make_tuple(stride, n), make_tuple(dilation, n), pads)
        return flat.gather(-1, local.unsqueeze(-1)).squeeze(-1), places

    def max_unpool2d(
        self: Any, indices: Tensor, kernel_size: Any = (2, 2), stride: Any = None, dilation: Any = 1, padding: Any = 0, output_size: Any = None
    ) -> Tensor:
        """Puts the results of max_pool2d(return_indices=True) back in their places; zero elsewhere.

        >>> largest, places = Tensor([[[[1.0, 5.0], [2.0, 3.0]]]]).max_pool2d(return_indices=True)
        >>> largest.max_unpool2d(places).tolist()
        [[[[0.0, 5.0], [0.0, 0.0]]]]
        """
        kernel = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
        n = len(kernel)
        if tuple(indices.shape) != tuple(self.shape):
            raise ValueError(f"max_unpool: indices {indices.shape} must have the shape of the input, {self.shape}")
        if output_size is None:
            s, d, p = make_tuple(kernel if stride is None else stride, n), make_tuple(dilation, n), pairs_of(padding, n)
            sizes = [(int(v) - 1) * s[k] - sum(p[k]) + d[k] * (kernel[k] - 1) + 1 for k, v in enumerate(self.shape[-n:])]
        else:
            sizes = [int(v) for v in tuple(output_size)[-n:]]
        lead = self.shape[: self.ndim - n]
        empty = self.zeros_like().reshape(*lead, -1)[..., :1].expand(*lead, math.prod(sizes))
        filled = empty.scatter(self.ndim - n, indices.reshape(*lead, -1), self.reshape(*lead, -1))
        return filled.reshape(*lead, *sizes)


__all__ = ["Images", "flat_places", "pairs_of", "resized", "windows"]
