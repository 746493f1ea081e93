"""Methods that PyTorch has and tinygrad does not, or has with other arguments: shapes, products, selection, arithmetic."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import math
import operator
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import C, argfix, like
from ..autograd import making
from ..dtypes import DType, dtypes
from ..tensor import Tensor as Plain
from ._axes import axes_of, axis_of, check_span
from ._views import Views, parts

if TYPE_CHECKING:
    from .tensor import Tensor


def _numbers(x: Any, n: Any) -> Any:
    """0, 1 .. n - 1 of x's class and graph."""
    with making(x._kind):
        return Plain.arange(n, dtype=dtypes.int64)


_CLASSES = {"b": 0, "u": 1, "i": 1, "f": 2}


def together(a: Any, b: Any) -> tuple[Any, Any]:
    """Two operands in the dtype that PyTorch computes them in, as far as that is not numpy's: a tensor without axes takes the dtype of one
    with axes, unless only its own is a float, or a number at all."""
    if isinstance(a, Plain) and isinstance(b, Plain) and a.dtype is not b.dtype and bool(a.ndim) != bool(b.ndim):
        weak, strong = (b, a) if a.ndim else (a, b)
        if _CLASSES[weak.dtype.kind] <= _CLASSES[strong.dtype.kind]:
            weak = weak.cast(strong.dtype)
            return (strong, weak) if a.ndim else (weak, strong)
    return a, b


def kept(x: Any, value: Any) -> Any:
    """A number that is to stand among integers or bools is converted to one."""
    if isinstance(value, Plain):
        return value.cast(x.dtype) if value.ndim == 0 else value
    return {"b": bool, "i": int, "u": int}.get(x.dtype.kind, lambda v: v)(value)


def _scaled(x: Any, alpha: Any) -> Any:
    return x if alpha is None or alpha == 1 else x * alpha


class Algebra:
    """PyTorch's order of arguments."""

    __slots__ = ()

    def arange_of(self: Any, dim: int) -> Tensor:
        """0, 1 ... along an axis."""
        return _numbers(self, self.shape[dim])

    # ---- shapes ----

    def t(self: Any) -> Tensor:
        """A matrix with its axes swapped; a vector as it is."""
        if self.ndim > 2:
            raise RuntimeError(f"t() takes at most two axes, not the shape {self.shape}")
        return self if self.ndim < 2 else self.transpose(0, 1)

    def view(self: Any, *shape: Any) -> Tensor:
        """The same values in another shape; view(dtype) is the same memory in another dtype."""
        return self.bitcast(shape[0]) if len(shape) == 1 and isinstance(shape[0], DType) else self.reshape(*shape)

    def view_as(self: Any, other: Any) -> Tensor:
        """In the shape of another tensor."""
        return self.reshape(other.shape)

    reshape_as = view_as

    def expand_as(self: Any, other: Any) -> Tensor:
        """Broadcast to the shape of another tensor."""
        return self.expand(other.shape)

    def broadcast_to(self: Any, *shape: Any) -> Tensor:
        """Broadcast to a shape."""
        return self.expand(*shape)

    def swapaxes(self: Any, a: int, b: int) -> Tensor:
        """Two axes swapped."""
        return self.transpose(a, b)

    swapdims = swapaxes

    def movedim(self: Any, source: Any, destination: Any) -> Tensor:
        """Axes moved to other places."""
        src, dst = axes_of(self, source), axes_of(self, destination)
        order = [k for k in range(self.ndim) if k not in src]
        for d, s in sorted(zip(dst, src)):
            order.insert(d, s)
        return self.permute(tuple(order))

    moveaxis = movedim

    def squeeze(self: Any, dim: Any = None) -> Tensor:
        """Without the axes of size 1."""
        if not isinstance(dim, (tuple, list)):
            return Views.squeeze(self, dim)
        out = self
        for d in sorted(axes_of(self, dim), reverse=True) if self.ndim else ():
            out = Views.squeeze(out, d)
        return out

    def unbind(self: Any, dim: int = 0) -> tuple[Tensor, ...]:
        """The slices along an axis."""
        return tuple(self.select(dim, k) for k in range(int(self.shape[dim])))

    def select(self: Any, dim: int, index: int) -> Tensor:
        """One slice along an axis, without the axis."""
        return self[(*[slice(None)] * axis_of(self, dim), operator.index(index))]

    def narrow(self: Any, dim: int, start: int, length: int) -> Tensor:
        """`length` slices along an axis from `start`."""
        axis, start, length = axis_of(self, dim), operator.index(start), operator.index(length)
        check_span(self.shape[axis], start, length)
        start += int(self.shape[axis]) if start < 0 else 0
        return self[(*[slice(None)] * axis, slice(start, start + length))]

    def tile(self: Any, *dims: Any) -> Tensor:
        """Repeated along each axis; missing ones are 1."""
        dims = argfix(dims)
        return self.repeat((1,) * (self.ndim - len(dims)) + tuple(dims))

    def split(self: Any, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
        """Parts of a size, or of these sizes, along an axis."""
        if isinstance(split_size, Integral):
            return parts(self, Plain.split(self, split_size, dim), dim)
        sizes = [int(s) for s in split_size]
        return parts(self, Plain.split(self, sizes, dim), dim, sizes)

    split_with_sizes = split

    def chunk(self: Any, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` parts along an axis."""
        return parts(self, Plain.chunk(self, chunks, dim), dim)

    def tensor_split(self: Any, indices: Any, dim: int = 0) -> tuple[Tensor, ...]:
        """Nearly equal parts, or parts between indices, along an axis."""
        n = int(self.shape[dim])
        if isinstance(indices, Plain):
            indices = indices.tolist()
        if isinstance(indices, Integral):
            count = int(indices)
            q, r = divmod(n, count)
            sizes = [q + 1] * r + [q] * (count - r)
        else:
            ends = [0, *(min(max(int(i) if i >= 0 else n + int(i), 0), n) for i in indices), n]
            sizes = [max(b - a, 0) for a, b in zip(ends, ends[1:])]
        return self.split(sizes, dim)

    def flip(self: Any, *dims: Any) -> Tensor:
        """In reverse order along axes."""
        return Plain.flip(self, argfix(dims))

    def fliplr(self: Any) -> Tensor:
        """Columns in reverse order."""
        return self.flip(1)

    def flipud(self: Any) -> Tensor:
        """Rows in reverse order."""
        return self.flip(0)

    def ravel(self: Any) -> Tensor:
        """As a vector."""
        return self.reshape(-1)

    def repeat_interleave(self: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
        """Each slice repeated: all as often, or each by its own number."""
        if isinstance(repeats, Integral):
            return Plain.repeat_interleave(self, repeats, dim)
        x, axis = (self.reshape(-1), 0) if dim is None else (self, dim)
        counts: Any = repeats.reshape(-1).long() if isinstance(repeats, Plain) else x.new_tensor(repeats, dtype=dtypes.int64)
        if int(counts.shape[0]) == 1:
            return Plain.repeat_interleave(x, int(counts.item()), axis)
        ends = counts.cumsum(0)
        total = int(ends[-1].item()) if output_size is None else int(output_size)
        # Each slice adds 1 at its first place; the running sum is then the number of the slice.
        first = counts.new_zeros(total + 1).scatter_add(0, ends - counts, counts.ones_like())
        return x.index_select(axis, first.cumsum(0)[:total] - 1)

    def diag(self: Any, diagonal: int = 0) -> Tensor:
        """The matrix with this vector on its diagonal, or the diagonal of a matrix."""
        if self.ndim == 1:
            return self.diag_embed(diagonal)
        return self.diagonal(diagonal)

    def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
        """Matrices, along dim1 and dim2, with the last axis on their diagonals."""
        n = int(self.shape[-1])
        place = _numbers(self, n)
        full = (place.unsqueeze(1) == place).where(self.unsqueeze(-1), 0)
        pad = (max(offset, 0), max(-offset, 0))
        full = full.pad((pad[0], pad[1], pad[1], pad[0])) if offset else full
        return full if (dim1 % full.ndim, dim2 % full.ndim) == (full.ndim - 2, full.ndim - 1) else full.movedim((-2, -1), (dim1, dim2))

    def trace(self: Any) -> Tensor:
        """Sum of the diagonal of a matrix."""
        return self.diagonal().sum()

    def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
        """Differences of neighbours along an axis, with other values put before and behind."""
        parts = [t for t in (prepend, self, append) if t is not None]
        out: Any = self if len(parts) == 1 else Plain.cat(*parts, dim=dim)
        for _ in range(n):
            size = int(out.shape[dim])
            if size < 1:
                break
            out = out.narrow(dim, 1, size - 1) - out.narrow(dim, 0, size - 1)
        return out

    # ---- products ----

    def mm(self: Any, other: Any) -> Tensor:
        """Product of two matrices."""
        if self.ndim != 2 or other.ndim != 2:
            raise RuntimeError(f"mm takes two matrices, not {self.shape} and {other.shape}")
        return self.matmul(other)

    def bmm(self: Any, other: Any) -> Tensor:
        """Products of two batches of matrices."""
        if self.ndim != 3 or other.ndim != 3:
            raise RuntimeError(f"bmm takes two batches of matrices, not {self.shape} and {other.shape}")
        return self.matmul(other)

    def mv(self: Any, vec: Any) -> Tensor:
        """Product of a matrix and a vector."""
        return self.matmul(vec)

    def dot(self: Any, other: Any) -> Tensor:  # type: ignore[override]
        """Sum of products of two vectors."""
        if self.ndim != 1 or other.ndim != 1:
            raise RuntimeError(f"dot takes two vectors, not {self.shape} and {other.shape}")
        return self.matmul(other)

    vdot = dot

    def inner(self: Any, other: Any) -> Tensor:
        """Sums of products along the last axes."""
        if self.ndim == 0 or other.ndim == 0:
            return self * other
        rows, columns = tuple(self.shape[:-1]), tuple(other.shape[:-1])
        n = int(self.shape[-1])
        return self.reshape(-1, n).matmul(other.reshape(-1, n).transpose(0, 1)).reshape(rows + columns)

    def round(self: Any, *, decimals: int = 0) -> Tensor:
        """Rounded to a number of decimals, halves to even."""
        return Plain.round(self * 10.0**decimals) / 10.0**decimals if decimals else Plain.round(self)

    def outer(self: Any, other: Any) -> Tensor:
        """All products of the elements of two vectors."""
        return self.unsqueeze(1) * other.unsqueeze(0)

    ger = outer

    def addmm(self: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
        """beta * self + alpha * (a @ b)."""
        return _scaled(self, beta) + _scaled(a.matmul(b), alpha)

    addmv = baddbmm = addmm

    def addbmm(self: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
        """beta * self + alpha * (the sum of the products of a batch)."""
        return _scaled(self, beta) + _scaled(a.matmul(b).sum(0), alpha)

    # ---- arithmetic ----

    def add(self: Any, other: Any, *, alpha: Any = None) -> Tensor:  # type: ignore[override]
        """self + alpha * other."""
        return self + _scaled(other, alpha)

    def sub(self: Any, other: Any, *, alpha: Any = None) -> Tensor:  # type: ignore[override]
        """self - alpha * other."""
        return self - _scaled(other, alpha)

    subtract = sub

    def rsub(self: Any, other: Any, *, alpha: Any = None) -> Tensor:
        """other - alpha * self."""
        return _scaled(self, alpha) * -1 + other

    def multiply(self: Any, other: Any) -> Tensor:
        """self * other."""
        return self * other

    def div(self: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:  # type: ignore[override]
        """self / other, rounded by 'floor' or 'trunc' if asked for."""
        return Plain.div(self, other, rounding_mode=rounding_mode)

    divide = div

    def true_divide(self: Any, other: Any) -> Tensor:
        """self / other."""
        return self / other

    def floor_divide(self: Any, other: Any) -> Tensor:
        """self // other."""
        return self // other

    def remainder(self: Any, other: Any) -> Tensor:
        """Remainder with the sign of the divisor."""
        return self % other

    def float_power(self: Any, exponent: Any) -> Tensor:
        """self to a power, in float64."""
        return self.double().pow(exponent)

    def addcmul(self: Any, a: Any, b: Any, *, value: float = 1) -> Tensor:
        """self + value * a * b."""
        return self + _scaled(a * b, value)

    def addcdiv(self: Any, a: Any, b: Any, *, value: float = 1) -> Tensor:
        """self + value * a / b."""
        return self + _scaled(a / b, value)

    def xlogy(self: Any, other: Any) -> Tensor:
        """self * log(other), 0 where self is 0."""
        other = self.const_like(other) if not isinstance(other, Plain) else other
        self, other = together(self, other)
        none = (self == 0) & ((other <= 0) | (other == math.inf))
        return self * Plain.where(none, other.ones_like(), other).log()

    def absolute(self: Any) -> Tensor:
        """Absolute value."""
        return self.abs()

    def negative(self: Any) -> Tensor:
        """-self."""
        return -self

    def frac(self: Any) -> Tensor:
        """What is behind the point."""
        return self - self.trunc()

    def sgn(self: Any) -> Tensor:
        """-1, 0 or 1."""
        return self.sign()

    def deg2rad(self: Any) -> Tensor:
        """Degrees to radians."""
        return self * (math.pi / 180)

    def rad2deg(self: Any) -> Tensor:
        """Radians to degrees."""
        return self * (180 / math.pi)

    def logit(self: Any, eps: float | None = None) -> Tensor:
        """log(x / (1 - x))."""
        x = self if eps is None else self.clamp(eps, 1 - eps)
        return x.log() - (-x).log1p()

    def arctan2(self: Any, other: Any) -> Tensor:
        """The angle of the point (other, self)."""
        return Plain.atan2(self, other)

    atan2 = arctan2

    def clamp(self: Any, min: Any = None, max: Any = None, *, min_: Any = None, max_: Any = None) -> Tensor:  # noqa: A002
        """Limited to [min, max]; either may be open, a number or a tensor."""
        low, high = min_ if min is None else min, max_ if max is None else max
        if self.dtype.kind == "b":
            self = self.cast(dtypes.int64)
        return Plain.clamp(self, together(self, low)[1], together(self, high)[1])

    clip = clamp

    def clamp_min(self: Any, min: Any) -> Tensor:  # noqa: A002
        """At least min."""
        return self.clamp(min=min)

    def clamp_max(self: Any, max: Any) -> Tensor:  # noqa: A002
        """At most max."""
        return self.clamp(max=max)

    def fmax(self: Any, other: Any) -> Tensor:
        """The larger of two; the other if one is NaN."""
        self, other = together(self, other)
        return Plain.where((self >= other) | other.isnan(), self, other)

    def fmin(self: Any, other: Any) -> Tensor:
        """The smaller of two; the other if one is NaN."""
        self, other = together(self, other)
        return Plain.where((self <= other) | other.isnan(), self, other)

    def logaddexp(self: Any, other: Any) -> Tensor:
        """log(exp(self) + exp(other)) without overflow."""
        return Plain.logaddexp(*together(self, other))

    def masked_fill(self: Any, mask: Any, value: Any) -> Tensor:
        """value, in the tensor's dtype, where mask is true."""
        return Plain.masked_fill(self, mask, kept(self, value))

    def nan_to_num(self: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
        """Without NaN and infinities: 0 and the limits of the dtype, or the numbers given."""
        if self.dtype.kind != "f":
            return self
        from .info import finfo

        limit = finfo(self.dtype).max
        out = self.masked_fill(self.isnan(), float(nan)) if nan is not None else self
        out = out.masked_fill(self == math.inf, limit if posinf is None else float(posinf))
        return out.masked_fill(self == -math.inf, -limit if neginf is None else float(neginf))

    # ---- comparison, logic ----

    def where(self: Any, condition: Any, other: Any = None) -> Tensor:  # type: ignore[override]
        """self where condition is true, else other. `condition.where(a, b)`, tinygrad's form, is taken where it is the only sensible reading."""
        if isinstance(condition, Plain) and condition.dtype == dtypes.bool:
            return Plain.where(condition, *together(self, other))
        if self.dtype == dtypes.bool:
            return Plain.where(self, *together(condition, other))
        raise TypeError(f"where: the condition must be a tensor of bools, not {getattr(condition, 'dtype', type(condition).__name__)}")

    def logical_and(self: Any, other: Any) -> Tensor:
        """Are both true?"""
        return self.bool() & _truth(self, other)

    def logical_or(self: Any, other: Any) -> Tensor:
        """Is one true?"""
        return self.bool() | _truth(self, other)

    def logical_xor(self: Any, other: Any) -> Tensor:
        """Is just one true?"""
        return self.bool() ^ _truth(self, other)

    def greater(self: Any, other: Any) -> Tensor:
        """self > other."""
        return self > other

    def greater_equal(self: Any, other: Any) -> Tensor:
        """self >= other."""
        return self >= other

    def less(self: Any, other: Any) -> Tensor:
        """self < other."""
        return self < other

    def less_equal(self: Any, other: Any) -> Tensor:
        """self <= other."""
        return self <= other

    def not_equal(self: Any, other: Any) -> Tensor:
        """self != other."""
        return self != other

    # ---- by index ----

    def index_fill(self: Any, dim: int, index: Any, value: Any) -> Tensor:
        """One value in the slices of an axis that index names."""
        at = index.reshape(-1)
        hit = self.new_zeros(int(self.shape[dim]), dtype=dtypes.int32).scatter_add(0, at, at.ones_like(dtype=dtypes.int32)) > 0
        shape = [1] * self.ndim
        shape[dim] = -1
        return self.masked_fill(hit.reshape(*shape), value)

    def index_copy(self: Any, dim: int, index: Any, source: Any) -> Tensor:
        """The slices of an axis that index names replaced."""
        shape = [1] * self.ndim
        shape[dim] = -1
        return self.scatter(dim, index.reshape(*shape).expand(source.shape), source)

    def index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = None) -> Tensor:  # type: ignore[override]
        """Slices of source added at index along an axis."""
        return Plain.index_add(self, dim, index, _scaled(source, alpha))

    def index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
        """Elements at indices replaced, or added to."""
        out = self.clone()
        key = tuple(indices)
        if not accumulate:
            out[key] = values
            return out
        whole: list[Any] = []
        for i in key:  # a mask stands for the places where it is true
            whole += i.nonzero(as_tuple=True) if i.dtype == dtypes.bool else [i]
        key = tuple(whole)
        if not all(i.numel() for i in key):
            return out
        sizes = [int(s) for s in self.shape]
        places = [Plain.where(i < 0, i + sizes[k], i).long() * math.prod(sizes[k + 1 : len(key)]) for k, i in enumerate(key)]
        flat = sum(places[1:], places[0])
        rest = tuple(self.shape[len(key) :])
        rows = self.reshape(-1, *rest)
        values = values if isinstance(values, Plain) else self.new_tensor(values)
        return rows.index_add(0, flat.reshape(-1), values.expand(*flat.shape, *rest).reshape(-1, *rest)).reshape(self.shape)

    def take(self: Any, index: Any) -> Tensor:
        """Elements by their number in the flat tensor."""
        return self.reshape(-1)[index]

    def take_along_dim(self: Any, indices: Any, dim: int | None = None) -> Tensor:
        """gather, with the other axes broadcast; indices below zero count from the end. Without dim: of the elements one after another."""
        if dim is None:
            return self.take(indices.reshape(-1))
        d = axis_of(self, dim)
        others = [max(int(a), int(b)) if a != 0 and b != 0 else 0 for a, b in zip(self.shape, indices.shape)]
        x = self.expand(tuple(self.shape[k] if k == d else s for k, s in enumerate(others)))
        at = indices.expand(tuple(indices.shape[k] if k == d else s for k, s in enumerate(others)))
        return x.gather(d, Plain.where(at < 0, at + int(self.shape[d]), at))

    def gather(self: Any, dim: int, index: Any, *, sparse_grad: bool = False, out: Any = None) -> Tensor:  # type: ignore[override]
        """out[i][j] = self[index[i][j]][j] for dim 0, and so on."""
        if not index.numel():
            return self.new_empty(tuple(index.shape))
        if self.ndim == 0:
            return Plain.gather(self.reshape(1), 0, index.reshape(1)).reshape(index.shape)
        return Plain.gather(self, dim, index)

    def masked_scatter(self: Any, mask: Any, source: Any) -> Tensor:
        """The elements where mask is true replaced by the first ones of source."""
        shape = tuple(np.broadcast_shapes(tuple(int(s) for s in self.shape), tuple(int(s) for s in mask.shape)))
        where = mask.expand(shape).reshape(-1)
        place = (where.cumsum(0) - 1).clamp(min=0)
        return Plain.where(where, source.reshape(-1)[place], self.expand(shape).reshape(-1)).reshape(shape)

    def scatter(self: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:  # type: ignore[override]
        """self with src, or one value, written at index."""
        return Plain.scatter(self, dim, index, value if src is None else src, reduce)

    def bucketize(self: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Tensor:
        """How many boundaries lie below each element."""
        return boundaries.searchsorted(self, out_int32=out_int32, right=right)

    def searchsorted(self: Any, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None) -> Tensor:
        """Where values go into this sorted vector, or into the sorted row that they are in. sorter: the order that sorts this tensor."""
        v = values if isinstance(values, Plain) else self.new_tensor(values)
        x = self if sorter is None else self.gather(-1, sorter)
        right = right if side is None else side == "right"
        return like(self, C.poly_searchsorted(x._h, v._h, right)).cast(dtypes.int32 if out_int32 else dtypes.int64)

    def bernoulli(self: Any, p: Any = None, *, generator: Any = None) -> Tensor:
        """1 with the probability that each element says, else 0."""
        return (self.detach().rand_like() < (self if p is None else p)).cast(self.dtype)

    def softmax(self: Any, dim: int = -1, dtype: Any = None) -> Tensor:
        """exp(x) divided by its sum along an axis."""
        return Plain.softmax(self, dim, dtype)

    def log_softmax(self: Any, dim: int = -1, dtype: Any = None) -> Tensor:
        """log(softmax(x))."""
        return Plain.log_softmax(self, dim, dtype)

    def cosine_similarity(self: Any, other: Any, dim: int = 1, eps: float = 1e-8) -> Tensor:
        """The cosine of the angle between vectors."""
        from ..nn.functional import cosine_similarity

        return cosine_similarity(self, other, dim, eps)


def _truth(x: Any, other: Any) -> Any:
    return other.bool() if isinstance(other, Plain) else bool(other)


__all__ = ["Algebra"]
