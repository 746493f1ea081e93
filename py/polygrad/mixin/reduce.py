"""Reductions over axes, and running reductions along one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import C, axes, dtypes, like, sig, to_dtype
from .._meaning import Extremes, number, positional

if TYPE_CHECKING:
    from ..dtypes import DTypeLike
    from ..tensor import Tensor

Axis = Any  # int, a tuple of them, or None for all


def _one(axis: Axis, dim: Axis) -> Axis:
    """The axis, which is given under one of its two names."""
    if dim is None:
        return axis
    if axis is not None:
        raise TypeError(f"axis and dim are two names of one argument: give one of them, not axis={axis!r} and dim={dim!r}")
    return dim


def _reduce(function: Any, x: Any, axis: Axis, keepdim: bool, *rest: Any) -> Tensor:
    if axis is True or axis is False:
        raise TypeError(f"axis must be a number, not {axis!r}")
    n, array = axes(axis)
    if n == 0 and axis is not None:  # no axis at all: a new one of size 1 keeps the dtype rules of the reduction
        return like(x, function(x.unsqueeze(0), *axes(0), False, *rest))
    return like(x, function(x._h, n, array, keepdim, *rest))


def _extreme(x: Any, name: str, axis: Axis, keepdim: bool, dim: int | None) -> Any:
    """max and min: the values along axis, of which equal ones share the gradient; along dim, by PyTorch's name, the values and their places, of which
    the first has it."""
    if dim is not None:
        dim = _one(axis, dim)
        places = x.argmax(dim, keepdim) if name == "max" else x.argmin(dim, keepdim)
        return Extremes(_reduce(C.poly_extremum_first, x, dim, keepdim, name == "min"), places)
    if isinstance(axis, type(x)):
        raise TypeError(f"x.{name}(y) of two tensors is x.{name}imum(y)")
    if x._empty_extremes and 0 in x.shape:
        counts = _reduce(C.poly_sum, x, axis, keepdim)  # its shape is that of the result
        if counts.numel():
            return counts.full_like(dtypes.min(x.dtype) if name == "max" else dtypes.max(x.dtype), dtype=x.dtype)
    out = _reduce(C.poly_max if name == "max" else C.poly_min, x, axis, keepdim)
    out._pair = name if axis.__class__ is int else None
    return out


def _over(function: Any, x: Any, axis: int | None, dtype: DTypeLike | None) -> Tensor:
    """function(x, axis), over all elements if axis is None."""
    x = x if dtype is None else x.cast(dtype)
    if axis is None:
        return like(x, function(x.reshape(-1), 0)).reshape(x.shape)
    return like(x, function(x, axis))


class Reduce:
    """axis=None reduces over all axes; keepdim keeps them with size 1. dim is PyTorch's name for axis."""

    __slots__ = ()

    def sum(self: Any, axis: Axis = None, keepdim: bool = False, dtype: DTypeLike | None = None, *, dim: Axis = None) -> Tensor:
        """Sum. Small integers and bools are added as int32, or as uint32 if they are unsigned.

        >>> Tensor([[1, 2], [3, 4]]).sum(axis=0).tolist()
        [4, 6]
        """
        axis = _one(axis, dim)
        if dtype is not None:
            return _reduce(C.poly_sum_dtype, self, axis, keepdim, to_dtype(dtype).code)
        return _reduce(C.poly_sum, self, axis, keepdim)

    def prod(self: Any, axis: Axis = None, keepdim: bool = False, dtype: DTypeLike | None = None, *, dim: Axis = None) -> Tensor:
        """Product.

        >>> Tensor([[1, 2], [3, 4]]).prod().item()
        24
        """
        axis = _one(axis, dim)
        return _reduce(C.poly_prod, self if dtype is None else self.cast(dtype), axis, keepdim)

    def max(self: Any, axis: Axis = None, keepdim: bool = False, *, dim: int | None = None) -> Any:
        """Largest; NaN if there is one; the least value of the dtype where there is none. With dim, PyTorch's name, the
        values and their first places, as PyTorch gives them.

        >>> Tensor([[1, 2], [3, 4]]).max(axis=1).tolist()
        [2, 4]
        >>> values, indices = Tensor([[1, 2], [3, 4]]).max(dim=1)
        >>> values.tolist(), indices.tolist()
        ([2, 4], [1, 1])
        """
        return _extreme(self, "max", axis, keepdim, dim)

    def min(self: Any, axis: Axis = None, keepdim: bool = False, *, dim: int | None = None) -> Any:
        """Smallest; NaN if there is one; the largest value of the dtype where there is none. With dim, PyTorch's name, the
        values and their first places, as PyTorch gives them.

        >>> Tensor([[1, 2], [3, 4]]).min(axis=1).tolist()
        [1, 3]
        >>> values, indices = Tensor([[1, 2], [3, 4]]).min(dim=1)
        >>> values.tolist(), indices.tolist()
        ([1, 3], [0, 0])
        """
        return _extreme(self, "min", axis, keepdim, dim)

    def amax(self: Any, dim: Axis = None, keepdim: bool = False) -> Tensor:
        """Largest values, never with their places: what PyTorch calls so.

        >>> Tensor([[1, 2], [3, 4]]).amax(1).tolist()
        [2, 4]
        """
        return _reduce(C.poly_max, self, dim, keepdim)

    def amin(self: Any, dim: Axis = None, keepdim: bool = False) -> Tensor:
        """Smallest values, never with their places: what PyTorch calls so.

        >>> Tensor([[1, 2], [3, 4]]).amin(1).tolist()
        [1, 3]
        """
        return _reduce(C.poly_min, self, dim, keepdim)

    def mean(self: Any, axis: Axis = None, keepdim: bool = False, *, dim: Axis = None) -> Tensor:
        """Mean; of integers in float32.

        >>> Tensor([[1.0, 2.0], [3.0, 4.0]]).mean().item()
        2.5
        """
        axis = _one(axis, dim)
        return _reduce(C.poly_mean, self, axis, keepdim)

    @positional(2, "keepdim", "unbiased")
    def var(self: Any, axis: Axis = None, keepdim: bool = False, correction: float = 1, *, dim: Axis = None) -> Tensor:
        """Variance, divided by the count less correction.

        >>> Tensor([1.0, 2.0, 3.0]).var().item()
        1.0
        """
        axis = _one(axis, dim)
        return _reduce(C.poly_var, self, axis, keepdim, float(number("var", "correction", correction, "keepdim")))

    @positional(2, "keepdim", "unbiased")
    def std(self: Any, axis: Axis = None, keepdim: bool = False, correction: float = 1, *, dim: Axis = None) -> Tensor:
        """Standard deviation.

        >>> Tensor([1.0, 2.0, 3.0]).std().item()
        1.0
        """
        axis = _one(axis, dim)
        return _reduce(C.poly_std, self, axis, keepdim, float(number("std", "correction", correction, "keepdim")))

    @positional(2, "keepdim", "unbiased")
    def var_mean(self: Any, axis: Axis = None, keepdim: bool = False, correction: float = 1, *, dim: Axis = None) -> tuple[Tensor, Tensor]:
        """Variance and mean.

        >>> [t.item() for t in Tensor([1.0, 2.0, 3.0]).var_mean()]
        [1.0, 2.0]
        """
        axis = _one(axis, dim)
        return self.var(axis, keepdim=keepdim, correction=correction), self.mean(axis, keepdim)

    @positional(2, "keepdim", "unbiased")
    def std_mean(self: Any, axis: Axis = None, keepdim: bool = False, correction: float = 1, *, dim: Axis = None) -> tuple[Tensor, Tensor]:
        """Standard deviation and mean.

        >>> [t.item() for t in Tensor([1.0, 2.0, 3.0]).std_mean()]
        [1.0, 2.0]
        """
        axis = _one(axis, dim)
        return self.std(axis, keepdim=keepdim, correction=correction), self.mean(axis, keepdim)

    def any(self: Any, axis: Axis = None, keepdim: bool = False, *, dim: Axis = None) -> Tensor:
        """Is any element not zero?

        >>> Tensor([[True, False], [False, False]]).any(axis=1).tolist()
        [True, False]
        """
        axis = _one(axis, dim)
        return _reduce(C.poly_any, self, axis, keepdim)

    def all(self: Any, axis: Axis = None, keepdim: bool = False, *, dim: Axis = None) -> Tensor:
        """Are all elements not zero?

        >>> Tensor([[True, False], [True, True]]).all(axis=1).tolist()
        [False, True]
        """
        axis = _one(axis, dim)
        return _reduce(C.poly_all, self, axis, keepdim)

    def logsumexp(self: Any, axis: Axis = None, keepdim: bool = False, *, dim: Axis = None) -> Tensor:
        """log(sum(exp(x))), without overflow.

        >>> round(Tensor([0.0, 0.0]).logsumexp().item(), 4)
        0.6931
        """
        axis = _one(axis, dim)
        return _reduce(C.poly_logsumexp, self, axis, keepdim)

    def argmax(self: Any, axis: int | None = None, keepdim: bool = False, *, dim: int | None = None) -> Tensor:
        """Index of the first largest, int32; of the flattened tensor if axis is None.

        >>> Tensor([[1, 9], [7, 4]]).argmax(axis=1).tolist()
        [1, 0]
        """
        axis = _one(axis, dim)
        return like(self, C.poly_argmax(self._h, sig.POLY_ALL_AXES if axis is None else axis, keepdim))

    def argmin(self: Any, axis: int | None = None, keepdim: bool = False, *, dim: int | None = None) -> Tensor:
        """Index of the first smallest, int32; of the flattened tensor if axis is None.

        >>> Tensor([[1, 9], [7, 4]]).argmin(axis=1).tolist()
        [0, 1]
        """
        axis = _one(axis, dim)
        return like(self, C.poly_argmin(self._h, sig.POLY_ALL_AXES if axis is None else axis, keepdim))

    def softmax(self: Any, axis: int | None = -1, dtype: DTypeLike | None = None, *, dim: int | None = None) -> Tensor:
        """exp(x) / sum(exp(x)) along axis; axis=None: over all elements.

        >>> Tensor([0.0, 0.0]).softmax().tolist()
        [0.5, 0.5]
        """
        return _over(C.poly_softmax, self, axis if dim is None else dim, dtype)

    def log_softmax(self: Any, axis: int | None = -1, dtype: DTypeLike | None = None, *, dim: int | None = None) -> Tensor:
        """log(softmax(x)) along axis; axis=None: over all elements.

        >>> [round(v, 4) for v in Tensor([0.0, 0.0]).log_softmax().tolist()]
        [-0.6931, -0.6931]
        """
        return _over(C.poly_log_softmax, self, axis if dim is None else dim, dtype)

    def softmin(self: Any, axis: int | None = -1, dtype: DTypeLike | None = None, *, dim: int | None = None) -> Tensor:
        """softmax(-x) along axis; axis=None: over all elements.

        >>> Tensor([0.0, 0.0]).softmin().tolist()
        [0.5, 0.5]
        """
        axis = axis if dim is None else dim
        return (-self).softmax(axis, dtype)

    def normalize(self: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
        """x divided by its p-norm along dim, which is at least eps.

        >>> Tensor([[3.0, 4.0]]).normalize().tolist()
        [[0.6000000238418579, 0.800000011920929]]
        """
        return self / self._norm(p, dim, True).maximum(eps)

    def _norm(self: Any, p: float, axis: Axis, keepdim: bool) -> Tensor:
        """(sum |x|^p)^(1/p). A vector of zeros gets a gradient of 0: a root has no slope there."""
        return _reduce(C.poly_norm, self, axis, keepdim, float(p))

    def cumsum(self: Any, axis: int = 0, *, dim: int | None = None) -> Tensor:
        """Running sum.

        >>> Tensor([1, 2, 3]).cumsum().tolist()
        [1, 3, 6]
        """
        axis = axis if dim is None else dim
        return like(self, C.poly_cumsum(self._h, axis))

    def cumprod(self: Any, axis: int = 0, *, dim: int | None = None) -> Tensor:
        """Running product.

        >>> Tensor([1, 2, 3]).cumprod(0).tolist()
        [1, 2, 6]
        """
        axis = axis if dim is None else dim
        return like(self, C.poly_cumprod(self._h, axis))

    def cummax(self: Any, axis: int = 0) -> tuple[Tensor, Tensor]:
        """Running maximum and the index of its first place.

        >>> [t.tolist() for t in Tensor([1, 3, 2]).cummax()]
        [[1, 3, 3], [0, 1, 1]]
        """
        values = like(self, C.poly_cummax(self._h, axis))
        return values, _first_places(self, values, axis)

    def cummin(self: Any, axis: int = 0) -> tuple[Tensor, Tensor]:
        """Running minimum and the index of its first place.

        >>> [t.tolist() for t in Tensor([3, 1, 2]).cummin()]
        [[3, 1, 1], [0, 1, 1]]
        """
        values = like(self, C.poly_cummin(self._h, axis))
        return values, _first_places(self, values, axis)

    def logcumsumexp(self: Any, axis: int = 0, *, dim: int | None = None) -> Tensor:
        """Running log-sum-exp.

        >>> [round(v, 4) for v in Tensor([0.0, 0.0]).logcumsumexp().tolist()]
        [0.0, 0.6931]
        """
        axis = axis if dim is None else dim
        return like(self, C.poly_logcumsumexp(self._h, axis))


def _first_places(x: Any, running: Any, axis: int) -> Tensor:
    """Where each running extreme was first reached: the last place at which it changed, a running maximum of places."""
    if x.ndim == 0:
        return x.zeros_like(dtype="int32")
    axis = axis + x.ndim if axis < 0 else axis
    n = x.shape[axis]
    shape = [1] * x.ndim
    shape[axis] = n
    places = x.arange(n).reshape(*shape)
    first = [(0, 1) if k == axis else None for k in range(x.ndim)]
    before = [(0, int(n) - 1) if k == axis else None for k in range(x.ndim)]
    if int(n) < 2:
        return running.zeros_like(dtype="int32")
    shifted = running.shrink(first).cat(running.shrink(before), dim=axis)
    changed = (running != shifted) & ~(running.isnan() & shifted.isnan()) if x.is_floating_point() else running != shifted
    return like(x, C.poly_cummax(changed.where(places, 0), axis))
