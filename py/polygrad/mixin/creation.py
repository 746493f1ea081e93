"""Tensors out of nothing: constants, ranges, random numbers, initialisers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import files
from .._core import AutogradGraph, C, argfix, current, dtypes, handles, int_value, like, past_double, scalar, sizes, to_dtype, wrap
from .._ffi import ShapeError, handle_array, integer, whole
from ..device import check_device
from ..symbolic import Dim, Variable, dim_code

if TYPE_CHECKING:
    from ..dtypes import DTypeLike
    from ..tensor import Tensor


def _finish(t: Tensor, requires_grad: bool | None, model: Any = None) -> Tensor:
    """model: what t is to be like, also in the devices that it lies on."""
    if requires_grad is not None:
        t.requires_grad = requires_grad
    if model is not None and hasattr(model, "_shard"):
        t._shard = model._shard
    return t


def _begin(shape: tuple[Any, ...], device: str | None, dtype: Any, default: Any = None) -> tuple[AutogradGraph, int, int, Any]:
    """AutogradGraph, dtype code, number of axes and C array of the sizes."""
    g = current()
    if device is not None:
        check_device(g, device)
    shape = argfix(shape)
    code = (dtypes.default_float if default is None else default).code if dtype is None else to_dtype(dtype).code
    return g, code, len(shape), sizes(g, shape)


def _shaped(function: str, shape: tuple[Any, ...], device: Any, dtype: Any, requires_grad: Any, *rest: Any) -> Tensor:
    g, code, n, dims = _begin(shape, device, dtype)
    return _finish(wrap(g, getattr(C, function)(g.ptr, code, n, dims, *rest)), requires_grad)


def _long_range(g: AutogradGraph, d: Any, start: int, stop: int, step: int) -> Tensor:
    """A range of integers that a double does not hold."""
    if step == 0:
        raise ValueError(f"arange from {start} to {stop} in steps of 0 has no end")
    count = max(0, -((start - stop) // step))
    if count:
        int_value(start, d), int_value(start + (count - 1) * step, d)
    return wrap(g, C.poly_arange(g.ptr, d.code, 0.0, float(count), 1.0)) * step + start


def _holding(start: Any, stop: Any, step: Any) -> Any:
    """The default dtype of whole numbers, or int64 where it does not hold a range of them."""
    d = dtypes.default_int
    if start.__class__ is not int or stop.__class__ is not int or step.__class__ is not int:
        return d
    return d if d.min <= start <= d.max and d.min <= stop - (step > 0) + (step < 0) <= d.max else dtypes.int64


class Creation:
    """Static constructors and `..._like`."""

    __slots__ = ()

    @staticmethod
    def empty(*shape: Any, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None) -> Tensor:
        """A tensor whose values are not set.

        >>> Tensor.empty(2, 3).shape
        (2, 3)
        """
        path = files.path_of(device)
        if path is not None:
            return _finish(files.file_tensor(current(), path, argfix(shape), to_dtype(dtype or dtypes.default_float)), requires_grad)
        return _shaped("poly_empty", shape, device, dtype, requires_grad)

    @staticmethod
    def from_uop(y: Any, **kwargs: Any) -> Tensor:
        """A symbolic size as a tensor: the value of this run.

        >>> from polygrad import Variable
        >>> Tensor.from_uop(Variable("n", 1, 10).bind(3) * 2).item()
        6
        """
        from ..tensor import Tensor

        if isinstance(y, Variable):
            raise RuntimeError(f"{y!r} has no value: bind it first")
        return Tensor(y, **kwargs)

    @staticmethod
    def const(b: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A number as a tensor.

        >>> Tensor.const(2).shape
        ()
        """
        from ..tensor import Tensor

        return Tensor(b, dtype=dtype)

    @staticmethod
    def zeros(*shape: Any, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None) -> Tensor:
        """A tensor of zeros.

        >>> Tensor.zeros(2, 2).tolist()
        [[0.0, 0.0], [0.0, 0.0]]
        """
        return _shaped("poly_zeros", shape, device, dtype, requires_grad)

    @staticmethod
    def ones(*shape: Any, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None) -> Tensor:
        """A tensor of ones.

        >>> Tensor.ones(3, dtype=dtypes.int32).tolist()
        [1, 1, 1]
        """
        return _shaped("poly_ones", shape, device, dtype, requires_grad)

    @staticmethod
    def full(
        shape: Any, fill_value: Any, dtype: DTypeLike | None = None, device: str | None = None, requires_grad: bool | None = None, buffer: bool = True
    ) -> Tensor:
        """A tensor with one value everywhere; its dtype is the value's unless one is given. buffer is tinygrad's and has no effect.

        >>> Tensor.full((2, 2), 7).tolist()
        [[7, 7], [7, 7]]
        """
        if not isinstance(shape, (tuple, list)):
            shape = (shape,)
        fill_value = fill_value.item() if hasattr(fill_value, "item") else fill_value
        d = dtypes.from_py(fill_value) if dtype is None else to_dtype(dtype)
        g, code, n, dims = _begin((shape,), device, d)
        if isinstance(fill_value, int) and d.kind != "f":
            return _finish(wrap(g, C.poly_full_int(g.ptr, code, n, dims, int_value(fill_value, d))), requires_grad)
        return _finish(wrap(g, C.poly_full(g.ptr, code, n, dims, float(fill_value))), requires_grad)

    @staticmethod
    def arange(
        *args: Any,
        start: Any = None,
        stop: Any = None,
        step: Any = 1,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Tensor:
        """start, start+step ... below stop: arange(stop), arange(start, stop) or arange(start, stop, step).

        >>> Tensor.arange(5).tolist()
        [0, 1, 2, 3, 4]
        >>> Tensor.arange(5, 10, 2).tolist()
        [5, 7, 9]
        """
        if len(args) > 3:
            raise TypeError(f"arange takes at most 3 numbers, got {len(args)}")
        if len(args) == 1 and stop is None:
            (stop,) = args
        elif len(args) == 1:
            (start,) = args
        elif len(args) == 2:
            start, stop = args
        elif len(args) == 3:
            start, stop, step = args
        if stop is None:
            raise TypeError("arange needs a stop")
        start = 0 if start is None else start
        g = current()
        if device is not None:
            check_device(g, device)
        floats = any(isinstance(v, float) for v in (start, stop, step))
        d = to_dtype(dtype) if dtype is not None else dtypes.default_float if floats else _holding(start, stop, step)
        if isinstance(stop, (Dim, Variable)) and not isinstance(start, Dim) and step == 1:  # a symbolic size
            count = wrap(g, C.poly_iota(g.ptr, d.code, dim_code(stop - start, g)))
            return _finish(count + start if start else count, requires_grad)
        if past_double(start, d) or past_double(stop, d):
            return _finish(_long_range(g, d, integer(start, "start"), integer(stop, "stop"), integer(step, "step")), requires_grad)
        return _finish(wrap(g, C.poly_arange(g.ptr, d.code, float(start), float(stop), float(step))), requires_grad)

    @staticmethod
    def linspace(
        start: float, stop: float, steps: int, dtype: DTypeLike | None = None, device: str | None = None, requires_grad: bool | None = None
    ) -> Tensor:
        """steps numbers from start to stop, both included.

        >>> Tensor.linspace(0, 10, 5).tolist()
        [0.0, 2.5, 5.0, 7.5, 10.0]
        """
        g, code, _, _ = _begin((), device, dtype)
        return _finish(wrap(g, C.poly_linspace(g.ptr, code, float(start), float(stop), steps)), requires_grad)

    @staticmethod
    def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None, device: str | None = None, requires_grad: bool | None = None) -> Tensor:
        """The identity matrix, n by n or n by m.

        >>> Tensor.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        g, code, _, _ = _begin((), device, dtype)
        return _finish(wrap(g, C.poly_eye(g.ptr, code, n, n if m is None else m)), requires_grad)

    def full_like(
        self: Any, fill_value: Any, dtype: DTypeLike | None = None, device: str | None = None, requires_grad: bool | None = None, buffer: bool = True
    ) -> Tensor:
        """A tensor of the same shape and dtype with one value everywhere.

        >>> Tensor([1.0, 2.0]).full_like(4).tolist()
        [4.0, 4.0]
        """
        if device is not None and hasattr(self, "_shard"):
            raise RuntimeError("full_like of a tensor on several devices lies on the same ones")
        d = self.dtype if dtype is None else to_dtype(dtype)
        fill_value = fill_value.item() if isinstance(fill_value, np.generic) else fill_value
        if isinstance(fill_value, int) and d.kind in "iu":
            zeros = like(self, C.poly_zeros_like(self._h)).cast(d)
            return _finish(zeros + scalar(self._g, fill_value, d), requires_grad, self)
        made = self.cast(d) if d != self.dtype else self
        return _finish(like(self, C.poly_full_like(made._h, float(fill_value))), requires_grad, self)

    def zeros_like(self: Any, dtype: DTypeLike | None = None, device: str | None = None, requires_grad: bool | None = None) -> Tensor:
        """Zeros of the same shape and dtype.

        >>> Tensor([1, 2]).zeros_like().tolist()
        [0, 0]
        """
        t = like(self, C.poly_zeros_like(self._h))
        return _finish(t if dtype is None else t.cast(dtype), requires_grad, self)

    def ones_like(self: Any, dtype: DTypeLike | None = None, device: str | None = None, requires_grad: bool | None = None) -> Tensor:
        """Ones of the same shape and dtype.

        >>> Tensor([1, 2]).ones_like().tolist()
        [1, 1]
        """
        t = like(self, C.poly_ones_like(self._h))
        return _finish(t if dtype is None else t.cast(dtype), requires_grad, self)

    def empty_like(self: Any, dtype: DTypeLike | None = None, device: str | None = None, requires_grad: bool | None = None) -> Tensor:
        """A tensor of the same shape and dtype whose values are not set.

        >>> Tensor([[1, 2]]).empty_like().shape
        (1, 2)
        """
        if dtype is not None:
            return _finish(Creation.empty(*self.shape, device=device, dtype=dtype), requires_grad, self)
        return _finish(like(self, C.poly_empty_like(self._h)), requires_grad, self)

    def rand_like(self: Any, dtype: DTypeLike | None = None, device: str | None = None, requires_grad: bool | None = None) -> Tensor:
        """Uniform random numbers of the same shape and dtype.

        >>> Tensor.ones(2, 3).rand_like().shape
        (2, 3)
        """
        if device is not None and hasattr(self, "_shard"):
            raise RuntimeError("rand_like of a tensor on several devices lies on the same ones")
        if dtype is not None:
            return _finish(Creation.rand(*self.shape, device=device, dtype=dtype), requires_grad, self)
        return _finish(like(self, C.poly_rand_like(self._h)), requires_grad, self)

    def randn_like(self: Any, dtype: DTypeLike | None = None, device: str | None = None, requires_grad: bool | None = None) -> Tensor:
        """Normal random numbers of the same shape and dtype.

        >>> Tensor.ones(2, 3).randn_like().shape
        (2, 3)
        """
        if dtype is not None:
            return _finish(Creation.randn(*self.shape, device=device, dtype=dtype), requires_grad, self)
        return _finish(like(self, C.poly_randn_like(self._h)), requires_grad, self)

    # ---- random ----

    @staticmethod
    def manual_seed(seed: int = 0) -> None:
        """Sets the seed; the same seed gives the same numbers on every device.

        >>> Tensor.manual_seed(7); a = Tensor.rand(3).tolist()
        >>> Tensor.manual_seed(7); a == Tensor.rand(3).tolist()
        True
        """
        if current().tracing:
            raise RuntimeError("manual_seed inside a compiled function: set the seed before it is called")
        seed = integer(seed, "seed")
        C.poly_manual_seed(current().ptr, whole(seed, "L" if seed >= 0 else "l", "seed") & 0xFFFFFFFFFFFFFFFF)

    @staticmethod
    def rand(
        *shape: Any, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None, contiguous: bool = True
    ) -> Tensor:
        """Uniform random numbers in [0, 1).

        >>> Tensor.rand(2, 3).shape
        (2, 3)
        """
        if isinstance(device, (tuple, list)) and len(device) > 1:
            raise ValueError(f"rand is drawn on one device, not on {device}: shard the result")
        return _shaped("poly_rand", shape, device, dtype, requires_grad)

    @staticmethod
    def randn(*shape: Any, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None) -> Tensor:
        """Standard normal random numbers; those of an integer dtype are rounded towards zero.

        >>> Tensor.randn(2, 3).shape
        (2, 3)
        """
        d = None if dtype is None else to_dtype(dtype)
        if d is not None and d.kind != "f":
            return _finish(_shaped("poly_randn", shape, device, None, None).cast(d), requires_grad)
        return _shaped("poly_randn", shape, device, d, requires_grad)

    @staticmethod
    def randint(
        *args: Any, low: int = 0, high: int = 10, shape: Any = None, device: str | None = None, dtype: DTypeLike | None = None,
        requires_grad: bool | None = None,
    ) -> Tensor:  # fmt: skip
        """Random integers in [low, high): randint(*shape, low=0, high=10), or randint(low, high, shape), or any of them by name.

        >>> t = Tensor.randint(2, 3, low=5, high=10)
        >>> t.shape, bool((t >= 5).all().item())
        ((2, 3), True)
        """
        if shape is None and len(args) == 3 and isinstance(args[2], (tuple, list)):
            *args, shape = args  # type: ignore[assignment]
        if shape is not None:
            if len(args) > 2:
                raise TypeError(f"randint(low, high, shape) takes two numbers before the shape, got {args}")
            low, high = (*args, *(low, high)[len(args) :]) if len(args) != 1 else (0, args[0])
            args = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        if isinstance(low, float) or isinstance(high, float):
            raise TypeError(f"randint takes whole limits, not {low} and {high}")
        d = dtypes.int32 if dtype is None else to_dtype(dtype)
        if d.kind not in "iu":
            raise TypeError(f"randint gives integers, not {d}")
        return _shaped("poly_randint", args, device, d, requires_grad, int(low), int(high))

    @staticmethod
    def uniform(
        *shape: Any, low: float = 0.0, high: float = 1.0, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None
    ) -> Tensor:
        """Uniform random numbers in [low, high).

        >>> Tensor.uniform(2, 3, low=2, high=10).shape
        (2, 3)
        """
        return _shaped("poly_uniform", shape, device, dtype, requires_grad, float(low), float(high))

    @staticmethod
    def normal(
        *shape: Any, mean: float = 0.0, std: float = 1.0, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None
    ) -> Tensor:
        """Normal random numbers with a mean and a standard deviation.

        >>> Tensor.normal(2, 3, mean=10, std=2).shape
        (2, 3)
        """
        return _shaped("poly_normal", shape, device, dtype, requires_grad, float(mean), float(std))

    @staticmethod
    def randperm(n: int, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None) -> Tensor:
        """A random order of 0 .. n-1.

        >>> sorted(Tensor.randperm(4).tolist())
        [0, 1, 2, 3]
        """
        g, _, _, _ = _begin((), device, None)
        t = wrap(g, C.poly_randperm(g.ptr, n))
        return _finish(t if dtype is None else t.cast(dtype), requires_grad)

    @staticmethod
    def scaled_uniform(*shape: Any, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None) -> Tensor:
        """Uniform in [-1, 1), divided by the square root of the number of elements.

        >>> Tensor.scaled_uniform(2, 3).shape
        (2, 3)
        """
        return _shaped("poly_scaled_uniform", shape, device, dtype, requires_grad)

    @staticmethod
    def glorot_uniform(*shape: Any, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None) -> Tensor:
        """Uniform with bound sqrt(6 / (fan_in + fan_out)).

        >>> Tensor.glorot_uniform(2, 3).shape
        (2, 3)
        """
        return _shaped("poly_glorot_uniform", shape, device, dtype, requires_grad)

    @staticmethod
    def glorot_normal(*shape: Any, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None) -> Tensor:
        """Normal with variance 2 / (fan_in + fan_out).

        >>> Tensor.glorot_normal(2, 3).shape
        (2, 3)
        """
        return _shaped("poly_glorot_normal", shape, device, dtype, requires_grad)

    @staticmethod
    def kaiming_uniform(
        *shape: Any, a: float = 0.01, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None
    ) -> Tensor:
        """Uniform with bound sqrt(6 / ((1 + a^2) fan_in)).

        >>> Tensor.kaiming_uniform(2, 3).shape
        (2, 3)
        """
        return _shaped("poly_kaiming_uniform", shape, device, dtype, requires_grad, float(a))

    @staticmethod
    def kaiming_normal(
        *shape: Any, a: float = 0.01, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None
    ) -> Tensor:
        """Normal with variance 2 / ((1 + a^2) fan_in).

        >>> Tensor.kaiming_normal(2, 3).shape
        (2, 3)
        """
        return _shaped("poly_kaiming_normal", shape, device, dtype, requires_grad, float(a))

    def multinomial(self: Any, num_samples: int = 1, replacement: bool = False) -> Tensor:
        """Draws class indices by weight, with or without putting them back. A class of weight 0 is never drawn. Weights that are
        negative, not finite or all 0, or fewer positive ones than draws without replacement, are an IndexError when the result is
        computed: they name a class past the last.

        >>> Tensor([0.0, 0.0, 1.0]).multinomial(4, replacement=True).tolist()
        [2, 2, 2, 2]
        """
        return like(self, C.poly_multinomial(self._h, num_samples, replacement))

    def meshgrid(self: Any, *tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
        """Grids of coordinates out of vectors.

        >>> x, y = Tensor([1, 2]).meshgrid(Tensor([3, 4]))
        >>> x.tolist(), y.tolist()
        ([[1, 1], [2, 2]], [[3, 4], [3, 4]])
        """
        if indexing not in ("ij", "xy"):
            raise ShapeError(f"indexing must be 'ij' or 'xy', not {indexing!r}")
        ts = argfix((self, *tensors))
        g, out = ts[0]._g, handle_array([None] * len(ts))
        g.check(C.poly_meshgrid(handles(ts), len(ts), indexing[:1].encode(), out))
        return tuple(like(ts[0], h, *ts) for h in out)
