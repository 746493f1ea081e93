"""Methods whose results differ from tinygrad's: reductions with their places, sorting, what depends on values. Places are int64."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import C, handle_array, like
from ..dtypes import dtypes, to_dtype
from ..tensor import Tensor as Plain
from . import return_types as kinds
from .return_types import Sorted

if TYPE_CHECKING:
    from .tensor import Tensor


def _axis(dim: Any, axis: Any) -> Any:
    return axis if dim is None else dim


def _wide(x: Any, dtype: Any) -> Any:
    """The dtype that whole numbers and bools are added in."""
    return dtype if dtype is not None or x.dtype.kind == "f" else dtypes.int64


class Results:
    """PyTorch's order of arguments and kinds of results."""

    __slots__ = ()

    # ---- reductions ----

    def max(self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None) -> Any:
        """The largest value; along dim, the named pair (values, indices); of two tensors, the larger of each pair of elements.

        >>> import polygrad.torch as torch
        >>> torch.tensor([[1, 4], [3, 2]]).max(dim=1).indices.tolist()
        [1, 0]
        """
        return _extreme(self, "max", _axis(dim, axis), keepdim)

    def min(self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None) -> Any:
        """The smallest value; along dim, the named pair (values, indices); of two tensors, the smaller of each pair of elements."""
        return _extreme(self, "min", _axis(dim, axis), keepdim)

    def argmax(self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None) -> Tensor:
        """Places of the largest values, int64."""
        return Plain.argmax(self, _axis(dim, axis), keepdim).cast(dtypes.int64)

    def argmin(self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None) -> Tensor:
        """Places of the smallest values, int64."""
        return Plain.argmin(self, _axis(dim, axis), keepdim).cast(dtypes.int64)

    def aminmax(self: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        """The smallest and the largest value, by the names min and max."""
        return kinds.aminmax(self.amin(dim, keepdim), self.amax(dim, keepdim))

    def sum(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, *, axis: Any = None) -> Tensor:
        """Sum; whole numbers and bools are added as int64."""
        return Plain.sum(self, _axis(dim, axis), keepdim, _wide(self, dtype))

    def nansum(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        """Sum of what is not NaN."""
        return (self.masked_fill(self.isnan(), 0.0) if self.dtype.kind == "f" else self).sum(dim, keepdim, dtype)

    def prod(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        """Product; of whole numbers as int64."""
        return Plain.prod(self, dim, keepdim, _wide(self, dtype))

    def mean(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, *, axis: Any = None) -> Tensor:
        """Mean; of whole numbers, which PyTorch refuses, in float32."""
        return Plain.mean(self if dtype is None else self.cast(dtype), _axis(dim, axis), keepdim)

    def var(self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float = 1, axis: Any = None) -> Tensor:
        """Variance; unbiased=False is correction=0."""
        dim, correction = _correction(_axis(dim, axis), unbiased, correction)
        return Plain.var(self, dim, keepdim=keepdim, correction=correction)

    def std(self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float = 1, axis: Any = None) -> Tensor:
        """Standard deviation; unbiased=False is correction=0."""
        dim, correction = _correction(_axis(dim, axis), unbiased, correction)
        return Plain.std(self, dim, keepdim=keepdim, correction=correction)

    def std_mean(self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float = 1) -> Any:
        """Standard deviation and mean."""
        return self.std(dim, unbiased, keepdim, correction=correction), Plain.mean(self, None if isinstance(dim, bool) else dim, keepdim)

    def var_mean(self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: float = 1) -> Any:
        """Variance and mean."""
        return self.var(dim, unbiased, keepdim, correction=correction), Plain.mean(self, None if isinstance(dim, bool) else dim, keepdim)

    def norm(self: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        """The p-norm over dim, or of all elements; 'fro' is 2."""
        from ..geometric._length import norm

        x = self if dtype is None else self.cast(dtype)
        if p == "nuc":
            from .linalg import matrix_norm

            return matrix_norm(x, "nuc", (-2, -1) if dim is None else dim, keepdim)
        return norm(x, 2.0 if p in (None, "fro") else float(p), dim, keepdim)

    def count_nonzero(self: Any, dim: Any = None) -> Tensor:
        """How many elements are not zero."""
        return (self != 0).sum(dim)

    def logsumexp(self: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
        """log(sum(exp(x))) without overflow."""
        return Plain.logsumexp(self, dim, keepdim)

    def all(self: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
        """Are all elements true?"""
        return Plain.all(self, dim, keepdim)

    def any(self: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
        """Is any element true?"""
        return Plain.any(self, dim, keepdim)

    def equal(self: Any, other: Any) -> bool:
        """Have both the same shape and the same elements? A Python bool."""
        return tuple(self.shape) == tuple(other.shape) and bool(Plain.all(self == other).item())

    def allclose(self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:  # type: ignore[override]
        """Are all elements close? A Python bool."""
        return bool(Plain.allclose(self, other, rtol, atol, equal_nan).item())

    # ---- running ----

    def cumsum(self: Any, dim: int = 0, dtype: Any = None) -> Tensor:
        """Running sums; of whole numbers as int64."""
        wide = _wide(self, dtype)
        return Plain.cumsum(self if wide is None else self.cast(wide), dim)

    def cumprod(self: Any, dim: int = 0, dtype: Any = None) -> Tensor:
        """Running products; of whole numbers as int64."""
        wide = _wide(self, dtype)
        return Plain.cumprod(self if wide is None else self.cast(wide), dim)

    def cummax(self: Any, dim: int) -> Sorted:
        """Running maxima and their places; of equal values the last."""
        return _running(self, Plain.cummax(self, dim)[0], dim, kinds.cummax)

    def cummin(self: Any, dim: int) -> Sorted:
        """Running minima and their places; of equal values the last."""
        return _running(self, Plain.cummin(self, dim)[0], dim, kinds.cummin)

    # ---- order ----

    def sort(self: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Sorted:
        """Sorted values and their places; equal values keep their order."""
        values, places = Plain.sort(self, dim, descending)
        return kinds.sort(values, places.cast(dtypes.int64))

    def argsort(self: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
        """The places that sort, int64."""
        return Plain.argsort(self, dim, descending).cast(dtypes.int64)

    def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Sorted:  # noqa: A002
        """The k largest (or smallest) values and their places."""
        values, places = Plain.topk(self, int(k), dim, largest, sorted)
        return kinds.topk(values, places.cast(dtypes.int64))

    def kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Sorted:
        """The k-th smallest value and its place."""
        values, places = handle_array([None]), handle_array([None])
        self._g.check(C.poly_kthvalue(self._h, int(k), dim, values, places))
        out = kinds.kthvalue(like(self, values[0]), like(self, places[0]).cast(dtypes.int64))
        return out if keepdim else kinds.kthvalue(*(t.squeeze(dim) for t in out))

    def median(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        """The lower median; along dim, with its place."""
        if dim is None:
            return self.reshape(-1).median(0).values
        if self.ndim == 0:
            return kinds.median(self, self.zeros_like(dtype=dtypes.int64))
        if self._g.borrows:  # on a host
            return _median(self, dim, keepdim, False, kinds.median)
        out = kinds.median(*self.kthvalue((int(self.shape[dim]) + 1) // 2, dim, True))
        if self.dtype.kind == "f":  # the first NaN of a row that has one
            nan = self.isnan()
            places = Plain.where(nan.any(dim, True), nan.cast(dtypes.int32).argmax(dim, True), out.indices)
            out = kinds.median(self.gather(dim, places), places)
        return out if keepdim else kinds.median(*(t.squeeze(dim) for t in out))

    def mode(self: Any, dim: int = -1, keepdim: bool = False) -> Sorted:
        """The most frequent value along dim, the smallest of several, and its last place."""
        if self.ndim == 0:
            return kinds.mode(self, self.zeros_like(dtype=dtypes.int64))
        x = self.movedim(dim, -1)
        values, places = x.sort(-1)
        counts = values.searchsorted(values, right=True) - values.searchsorted(values)
        first = counts.argmax(-1, keepdim=True)
        most = counts.amax(-1, keepdim=True)
        out = kinds.mode(values.gather(-1, first), places.gather(-1, first + most - 1))
        return kinds.mode(*(t.movedim(-1, dim) if keepdim else t.squeeze(-1) for t in out))

    def quantile(self: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
        """The q-quantile, or those of a vector q as a new first axis; between two values by 'linear', 'lower', 'higher', 'nearest' or 'midpoint'."""
        if isinstance(q, Plain) and q.ndim == 1:
            found = [self.quantile(float(v), dim, keepdim, interpolation=interpolation) for v in q.tolist()]
            return found[0].stack(*found[1:])
        x = self.reshape(-1) if dim is None else self.movedim(dim, -1)
        values = x.sort(-1).values
        place = float(q) * (int(x.shape[-1]) - 1)
        low = int(place)
        part = place - low
        part = {"linear": part, "lower": 0.0, "higher": float(part > 0), "nearest": float(round(place)) - low, "midpoint": 0.5 * (part > 0)}[
            interpolation
        ]
        out = values[..., low]
        if part:
            out = out.lerp(values[..., low + 1], part)
        out = out.masked_fill(x.isnan().any(-1), math.nan)
        if not keepdim:
            return out
        return out.reshape((1,) * self.ndim) if dim is None else out.unsqueeze(dim)

    def unique(self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:  # noqa: A002
        """The distinct values, sorted; with the number of each element's value and with counts, if asked for."""
        if dim is not None:
            return _unique_rows(self, dim, return_inverse, return_counts)
        values, places = self.reshape(-1).sort(0)
        if return_inverse:
            values.realize(places)  # once: how many distinct ones there are is read before the rest is computed
        else:
            values.realize()
        return _runs(self, values, places, _new_run(values), return_inverse, return_counts)

    def unique_consecutive(self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
        """The first of each run of equal values, or of equal slices along dim."""
        if dim is not None and self.ndim > 1:
            rows = self.movedim(dim, 0)
            flat = rows.reshape(int(rows.shape[0]), -1)
            new = Plain.cat(flat.new_ones(1, dtype=dtypes.bool), (flat[1:] != flat[:-1]).any(1), dim=0)
            number = _runs(new, new, None, new, True, True)
            kept = rows[new.nonzero().reshape(-1)].movedim(0, dim)
            out = [kept, *([number[1]] if return_inverse else []), *([number[2]] if return_counts else [])]
            return out[0] if len(out) == 1 else tuple(out)
        if not (return_inverse or return_counts) and self.numel() > 1 and _lies_on_host(self):
            a = self._data.reshape(-1)  # one pass: the size of the result is read in any case
            return self._kind(np.concatenate((a[:1], a[1:][a[1:] != a[:-1]])))
        flat = self.reshape(-1)
        return _runs(self, flat, None, _new_run(flat), return_inverse, return_counts)

    def bincount(self: Any, weights: Any = None, minlength: int = 0) -> Tensor:
        """How often each whole number occurs, or the sum of its weights."""
        if weights is None and minlength > 0:  # mostly minlength is enough: numbers that are larger are noticed while counting
            try:
                return like(self, C.poly_bincount(self._h, int(minlength))).realize()
            except IndexError:
                pass
        n = int(self.amax().item()) + 1 if self.numel() else 0
        size = max(n, int(minlength))
        if weights is None:
            return like(self, C.poly_bincount(self._h, size))
        kind = weights.dtype if weights.dtype == dtypes.float32 else dtypes.float64
        return self.new_zeros(size, dtype=kind).scatter_add(0, self, weights.cast(kind))

    def histc(self: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:  # noqa: A002
        """How many elements lie in each of `bins` equal parts of [min, max]."""
        low, high = (float(self.amin().item()), float(self.amax().item())) if min == max else (float(min), float(max))
        low, high = (low - 1, high + 1) if low == high else (low, high)
        inside = self.masked_select((self >= low) & (self <= high))
        place = ((inside - low) * (bins / ((high - low) or 1.0))).floor().long().clamp(0, bins - 1)
        return place.bincount(minlength=bins).cast(self.dtype)

    def nonzero(self: Any, *, as_tuple: bool = False) -> Any:
        """Places of the elements that are not zero, one row each; with as_tuple, one vector for each axis."""
        places = Plain.nonzero(self).cast(dtypes.int64)
        if as_tuple and self.ndim == 0:  # as a vector of one element
            return (Plain.nonzero(self.reshape(1)).cast(dtypes.int64).reshape(-1),)
        return tuple(places.unbind(1)) if as_tuple else places

    def isin(self: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
        """True where an element is among test_elements."""
        test = test_elements if isinstance(test_elements, Plain) else self.new_tensor(test_elements)
        if not test.numel():
            return self.ones_like(dtype=dtypes.bool) if invert else self.zeros_like(dtype=dtypes.bool)
        values: Any = test.reshape(-1).sort(0)[0]
        found = values[values.searchsorted(self).clamp(max=test.numel() - 1)] == self
        return ~found if invert else found

    def multinomial(self: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
        """Draws class indices by weight, int64."""
        return Plain.multinomial(self, num_samples, replacement).cast(dtypes.int64)


def _median(x: Any, dim: int, keepdim: bool, numbers: bool, kind: Any) -> Sorted:
    values, places = handle_array([None]), handle_array([None])
    x._g.check(C.poly_median(x._h, dim, numbers, values, places))
    out = kind(like(x, values[0]), like(x, places[0]).cast(dtypes.int64))
    return out if keepdim else kind(*(t.squeeze(dim) for t in out))


def _extreme(x: Any, name: str, dim: Any, keepdim: bool) -> Any:
    if isinstance(dim, Plain):
        return x.maximum(dim) if name == "max" else x.minimum(dim)
    if dim is None:
        return x.amax() if name == "max" else x.amin()
    values, places = (Plain.max if name == "max" else Plain.min)(x, dim=int(dim), keepdim=keepdim)
    return (kinds.max if name == "max" else kinds.min)(values, places)


def _running(x: Any, values: Any, dim: int, kind: Any) -> Any:
    """The running extremes of x with the last place of each, from which alone a gradient comes back."""
    if x.ndim == 0:
        return kind(values, x.zeros_like(dtype=dtypes.int64))
    hit = x == values
    if x.is_floating_point():
        hit = hit | (x.isnan() & values.isnan())
    shape = [1] * x.ndim
    shape[dim] = int(x.shape[dim])
    places = Plain.cummax(hit.where(x.arange(shape[dim]).reshape(*shape), 0), dim)[0].cast(dtypes.int64)
    return kind(x.gather(dim, places) if x.requires_grad else values, places)


def _correction(dim: Any, unbiased: Any, correction: float) -> tuple[Any, float]:
    """x.var(False) means unbiased=False."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return dim, (1 if correction is None else correction) if unbiased is None else int(unbiased)


def _lies_on_host(x: Any) -> bool:
    """Are x's values there, in memory that Python reads, and is no gradient asked for?"""
    return x._g.borrows and x.is_realized and not x.requires_grad and not x._g.tracing and x.dtype.np is not None


def _new_run(values: Any) -> Any:
    """True where a vector differs from the element before."""
    n = values.numel()
    if not n:
        return values.cast(dtypes.bool)
    later, earlier = Plain.shrink(values, ((1, n),)), Plain.shrink(values, ((0, n - 1),))  # not slices, which would be noted as views
    return Plain.cat(values.new_ones(1, dtype=dtypes.bool), later != earlier)


def _runs(x: Any, values: Any, places: Any, first: Any, inverse: bool, counts: bool) -> Any:
    if not (inverse or counts):
        return values.masked_select(first)
    begin = Plain.nonzero(first).reshape(-1)  # of each run
    out = [values[begin]]
    if inverse:
        run = first.cumsum(0) - 1
        number = run if places is None else run.zeros_like().scatter(0, places, run)
        out.append(number.reshape(x.shape))
    if counts:
        n, runs = first.numel(), begin.numel()
        begin = begin.cast(dtypes.int64)
        end = Plain.cat(Plain.shrink(begin, ((min(1, runs), runs),)), begin.full_like(n)[: min(1, runs)])
        out.append(end - begin)
    return tuple(out)


def _unique_rows(x: Any, dim: int, inverse: bool, counts: bool) -> Any:
    unique: Any = np.unique
    found = unique(x.numpy(), axis=dim, return_inverse=inverse, return_counts=counts)
    if not (inverse or counts):
        return x.new_tensor(found)
    return (x.new_tensor(found[0]), *(x.new_tensor(np.asarray(a).reshape(-1), dtype=dtypes.int64) for a in found[1:]))


__all__ = ["Results", "Sorted", "to_dtype"]
