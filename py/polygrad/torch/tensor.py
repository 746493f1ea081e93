"""PyTorch's Tensor: a subclass of polygrad.Tensor with PyTorch's names, arguments and kinds of results. What it computes, it computes with
the methods of polygrad.Tensor.

What is different from polygrad.Tensor: max, min, sort and their like give named pairs (_results.py); whole numbers are int64; methods that end
in an underscore change the tensor (_inplace.py); x.where(condition, y) is PyTorch's.
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import math
from typing import Any
from weakref import ref

import numpy as np

from .._core import C, current, like, to_dtype
from .._ffi import raw
from .._meaning import row_by_row as loops_over_rows
from ..autograd import making
from ..dtypes import DType, dtypes
from ..tensor import Tensor as Plain
from ..tensor import TensorType
from ._algebra import Algebra
from ._inplace import InPlace
from ._more import More
from ._print import text
from ._results import Results
from ._views import GRADIENT, LEAF_IN_PLACE, View, Views, alias, carry, entry_of, follow, is_of_leaf, row_by_row, strides
from .types import DTYPES, Size, device, device_name

_shape: Any = Plain.shape.fget  # type: ignore[attr-defined]

_DTYPE_NAMES = {
    "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16, "BFloat16Tensor": dtypes.bfloat16,
    "LongTensor": dtypes.int64, "IntTensor": dtypes.int32, "ShortTensor": dtypes.int16, "CharTensor": dtypes.int8, "ByteTensor": dtypes.uint8,
    "BoolTensor": dtypes.bool,
}  # fmt: skip


class TorchType(TensorType):
    """torch.Tensor(2, 3) takes sizes, torch.Tensor([2, 3]) values."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        with making(cls._kind):
            if cls.__init__ is Plain.__init__ and args and isinstance(args[0], (list, tuple)) and "dtype" not in kwargs:
                kwargs["dtype"] = dtypes.default_float
            elif cls.__init__ is Plain.__init__ and all(isinstance(a, int) for a in args):
                args = (np.zeros(args or 0, np.float32),)
            if kwargs.get("device") is not None:
                kwargs["device"] = device_name(kwargs["device"])
            return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, x: Any) -> bool:
        return type.__instancecheck__(cls, x) or (cls is Tensor and getattr(x, "_is_tensor", False) is True)


class Tensor(InPlace, Results, Algebra, More, Views, Plain, metaclass=TorchType):
    """A tensor that behaves as PyTorch's. torch.tensor, torch.zeros and their like make one; what is computed from it is of its class.

    >>> import polygrad.torch as torch
    >>> x = torch.tensor([[1, 5], [7, 2]])
    >>> x.dtype == torch.long, x.max(dim=1).values.tolist()
    (True, [5, 7])
    """

    __slots__ = ("_base", "_views", "__dict__")
    _base: View | None  # of a view: what it was taken from
    _views: list[Any]  # weak references to the views that were taken from it
    _default_int = dtypes.int64
    _binary = staticmethod(raw("poly_binary_weak"))
    _backward = staticmethod(C.poly_backward)  # leaves that require a gradient alone
    _empty_extremes = False
    _whole = b"l"
    _higher = False  # gradients keep their history, once backward was called with create_graph

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return object.__new__(cls)

    # ---- what it is ----

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """Element type."""
        return DTYPES[C.poly_dtype(self._h)]

    @property
    def shape(self) -> Any:  # type: ignore[override]
        """Sizes of the axes."""
        return Size(_shape(self))

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or that of one axis."""
        return self.shape if dim is None else self.shape[dim]

    @property
    def device(self) -> Any:
        """Where it is computed: device("cpu") for compiled code and for the interpreter."""
        name = self._g.device.lower()
        return device("cpu" if name == "interp" else name)

    @property
    def is_cuda(self) -> bool:
        """Is it computed on a GPU?"""
        return self.device.type == "cuda"

    is_sparse = is_quantized = is_mkldnn = is_meta = False
    layout = "torch.strided"

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        """Does backward accumulate a gradient here, or further down? Can be set on leaves."""
        return C.poly_requires_grad(self._h)

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        Plain.requires_grad.fset(self, on)  # type: ignore[attr-defined]

    @property
    def is_leaf(self) -> bool:
        """Was it not computed from a tensor that requires a gradient?"""
        return not self.requires_grad or bool(getattr(self, "_wanted", None))

    @property
    def grad_fn(self) -> Any:
        """Something that is not None for what was computed from a tensor that requires a gradient."""
        return None if self.is_leaf else "<Backward>"

    def nelement(self) -> int:
        """Number of elements."""
        return self.numel()

    def ndimension(self) -> int:
        """Number of axes."""
        return self.ndim

    def is_complex(self) -> bool:
        """No tensor holds complex numbers."""
        return False

    def is_signed(self) -> bool:
        """Can it hold negative numbers?"""
        return self.dtype.kind in "if"

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Would its values lie one after another in PyTorch? Those of x.t() and x[:, 1] do not, before contiguous()."""
        return "_strides" not in self.__dict__ or row_by_row(self.shape, strides(self))

    def is_pinned(self) -> bool:
        """No memory is pinned."""
        return False

    def stride(self, dim: int | None = None) -> Any:
        """The strides that it has in PyTorch, also as a view."""
        out = strides(self)
        return out if dim is None else out[dim]

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        """Bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""
        return self.transpose(-1, -2)

    @property
    def T(self) -> Tensor:  # type: ignore[override]
        """All axes in reverse order."""
        return self.permute(tuple(range(self.ndim))[::-1])

    # ---- values ----

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec) if spec else str(self)

    def __repr__(self) -> str:
        values = self.detach().numpy() if self.dtype.np is not None else self.detach().float().numpy()
        usual = (dtypes.float32, dtypes.int64, dtypes.bool) if values.size else (dtypes.float32,)
        suffixes = [] if self.dtype in usual else [f"dtype={self.dtype}"]
        if self.requires_grad:
            suffixes.append("requires_grad=True" if self.is_leaf else f"grad_fn={self.grad_fn}")
        return text(values, suffixes)

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise RuntimeError(f"the truth value of a tensor of shape {self.shape} is ambiguous: use .any() or .all()")
        return bool(self.item())

    def __neg__(self) -> Any:
        if self.dtype == dtypes.bool:
            raise RuntimeError("a bool tensor has no negative: use ~ for the opposite")
        return Plain.__neg__(self)

    def __rtruediv__(self, other: Any) -> Any:
        """other / self, rounded as PyTorch does: the reciprocal times other."""
        return self.reciprocal() * other

    def __contains__(self, x: Any) -> bool:
        return bool(Plain.any(self == x).item())

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The values as a numpy array (a copy)."""
        return Plain.numpy(self)

    @property
    def data(self) -> Any:  # type: ignore[override]
        """The same values without history; what changes it in place changes this tensor."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        self.replace(value.detach())

    def detach(self) -> Tensor:
        """The same values without history; what changes it in place changes this tensor."""
        return alias(self, like(self, C.poly_detach(self._h)))

    def __getitem__(self, key: Any) -> Tensor:
        return entry_of(self, key, Plain.__getitem__(self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if "_shared" in self.__dict__ and not self.requires_grad:  # other processes see the memory, which is written at once
            new = Plain.clone(self.detach())
            Plain.__setitem__(new, key, value)
            self.copy_(new.detach())
            return
        if not self._g.no_grad and is_of_leaf(self):  # before anything is changed
            raise RuntimeError(LEAF_IN_PLACE)
        Plain.__setitem__(self, key, value)
        view = getattr(self, "_base", None)
        if view is not None:
            carry(view, self)
        follow(self)

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        loops_over_rows(self)
        return iter([self[k] for k in range(len(self))])

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), Plain.numpy(self.detach()), self.dtype.name, *[getattr(self, n, None) for n in ("_wanted", "_param", "_later")])

    def clone(self, *, memory_format: Any = None) -> Tensor:  # type: ignore[override]
        """A copy of its own, with the same history."""
        out = like(self, C.poly_clone(self._h))
        if "_strides" in self.__dict__ and memory_format is None:
            steps = strides(self)
            if 0 not in steps:
                out._strides = steps  # type: ignore[attr-defined]
        return out  # type: ignore[return-value]

    def contiguous(self, memory_format: Any = None) -> Tensor:  # type: ignore[override]
        """The same values, stored one after another."""
        return self if self.is_contiguous() and "_strides" in self.__dict__ else Plain.contiguous(self)  # type: ignore[return-value]

    # ---- other dtypes and devices ----

    def cast(self, dtype: Any) -> Any:
        """The values in another dtype. What is too large for a float of 8 bits is infinite in PyTorch if the dtype has an infinity, which
        tinygrad's cast, the plain Tensor's, keeps for infinities alone; float8_e4m3fn has none, and 448 is as far as it goes."""
        d = to_dtype(dtype)
        if d.itemsize == 1 and d.kind == "f" and self.is_floating_point() and self.dtype != d:
            if d == dtypes.fp8e4m3:
                return Plain.cast(self.clamp(-448.0, 448.0), d)
            return Plain.cast(Plain.where(self.abs() >= 61440.0, self.sign() * math.inf, self), d)
        return Plain.cast(self, d)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor on a device, in a dtype, or in both as another tensor is: to(device), to(dtype), to(device, dtype), to(other)."""
        dtype, place = kwargs.get("dtype"), kwargs.get("device")
        for a in args:
            if isinstance(a, Plain):
                dtype = a.dtype
            elif isinstance(a, DType):
                dtype = a
            elif isinstance(a, str):
                place = a
        out: Any = self if place is None else Plain.to(self, device_name(place))
        return out if dtype is None or to_dtype(dtype) == self.dtype else out.cast(dtype)

    def cpu(self, *args: Any, **kwargs: Any) -> Tensor:
        """The tensor itself: its values can be read from the host wherever they are."""
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        """The tensor on a GPU, if this is what tensors are computed on."""
        return self.to("cuda")

    def pin_memory(self, *args: Any) -> Tensor:
        """The tensor itself."""
        return self

    def share_memory_(self) -> Tensor:
        """Moves the values into memory that processes share: a process that is given the tensor sees changes in place, and makes them.

        >>> import polygrad.torch as torch
        >>> torch.zeros(3).share_memory_().is_shared()
        True
        """
        from ._shared import share

        return share(self)

    def is_shared(self) -> bool:
        """Do the values lie in memory that processes share?"""
        from ._shared import segment_of

        return segment_of(self) is not None

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Another dtype, also by names such as 'torch.LongTensor'; without an argument the name."""
        if dtype is None:
            return next(f"torch.{n}" for n, d in _DTYPE_NAMES.items() if d == self.dtype)
        if isinstance(getattr(dtype, "dtype", None), DType):
            dtype = dtype.dtype  # of torch.LongTensor
        if isinstance(dtype, str):
            dtype = _DTYPE_NAMES.get(dtype.rpartition(".")[2], dtype.removeprefix("torch."))
        return self.cast(dtype)

    def type_as(self, other: Any) -> Any:
        """In the dtype of another tensor."""
        return self.cast(other.dtype)

    def byte(self) -> Any:
        """As uint8."""
        return self.cast(dtypes.uint8)

    def char(self) -> Any:
        """As int8."""
        return self.cast(dtypes.int8)

    # ---- new ones like this ----

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        """A tensor of data; whole numbers and floats in this tensor's dtype."""
        plain = not hasattr(data, "dtype")
        return type(self)._kind(data if not plain else np.asarray(data), dtype=dtype or (self.dtype if plain else None), requires_grad=requires_grad)

    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        """A tensor with one value everywhere, in this tensor's dtype."""
        with making(type(self)._kind):
            return Plain.full(_sizes((size,)), fill_value, dtype=dtype or self.dtype, requires_grad=requires_grad)

    def new_zeros(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        """Zeros in this tensor's dtype."""
        return self.new_full(_sizes(size), 0, dtype=dtype, requires_grad=requires_grad)

    def new_ones(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        """Ones in this tensor's dtype."""
        return self.new_full(_sizes(size), 1, dtype=dtype, requires_grad=requires_grad)

    def new_empty(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        """A tensor to be filled, in this tensor's dtype."""
        return self.new_zeros(*size, dtype=dtype, requires_grad=requires_grad)

    # ---- gradients ----

    def backward(self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None) -> None:  # type: ignore[override]
        """Adds d(self)/d(leaf) into every leaf that requires a gradient."""
        if gradient is None and self.numel() != 1:
            raise RuntimeError(f"backward of a tensor of shape {self.shape} needs a gradient: only a single number has one of its own")
        if getattr(self, "_freed", False):
            raise RuntimeError("Trying to backward through the graph a second time: use backward(retain_graph=True) for all but the last time")
        if not C.poly_depends_on_leaves(self._h):
            raise RuntimeError(
                "element 0 of tensors does not require grad and does not have a grad_fn: it was computed from no tensor that requires a gradient, or "
                "those that it was computed from have been changed in place since"
            )
        if create_graph:
            Tensor._higher = True
        if inputs is not None:
            targets = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
            for t, g in zip(targets, self.gradient(*targets, gradient=gradient)):
                t.grad = g.detach() if t.grad is None else t.grad + g.detach()
        else:
            Plain.backward(self, gradient)
        # It is computed from a leaf, so it is one itself only if it was marked as one. Asking the library would be one more call between this
        # pass and the optimizer's step, which would build the gradients of a step that is known.
        if not (create_graph if retain_graph is None else retain_graph) and not getattr(self, "_wanted", None):
            self._freed = True

    @property
    def grad(self) -> Any:  # type: ignore[override]
        """The accumulated gradient, or None. What changes it in place changes the gradient."""
        if "_kept" in self.__dict__:
            return self._kept
        h = C.poly_get_grad(self._h)
        if h is None:
            return None
        out = like(self, h)
        if C.poly_requires_grad(h) and not Tensor._higher:
            out = like(self, C.poly_detach(h))
        out._base = View(ref(self), GRADIENT, None, None, True)
        return out

    @grad.setter
    def grad(self, value: Any) -> None:
        Plain.grad.fset(self, value)  # type: ignore[attr-defined]

    def register_hook(self, hook: Any) -> Any:
        """Calls hook(gradient) at each backward; the result has a method remove()."""
        return _Handle(Plain.register_hook(self, hook))

    def retain_grad(self) -> None:
        """A tensor that is not a leaf gets its gradient in .grad, as leaves do."""
        if self.is_leaf or self.retains_grad:
            return
        me = ref(self)

        def keep(gradient: Any) -> None:
            t = me()
            if t is not None:
                t._kept = gradient.detach() if t._kept is None else t._kept + gradient.detach()

        self._kept = None
        Plain.register_hook(self, keep)

    def detach_(self) -> Tensor:
        """Forgets the history."""
        self.replace(like(self, C.poly_detach(self._h)))
        self._wanted = None
        return self


class _Handle:
    """What register_hook gives."""

    def __init__(self, remove: Any):
        self.remove = remove

    def __enter__(self) -> _Handle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def _sizes(size: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def _rebuild(cls: Any, values: np.ndarray, dtype: str, wanted: bool | None, param: bool | None = None, later: bool | None = None) -> Any:
    t = cls.__new__(cls)
    with making(Tensor):
        Plain.__init__(t, values, None, dtype, wanted)
    for name, on in (("_param", param), ("_later", later)):
        if on:
            setattr(t, name, True)
    return t


class Parameter(Tensor):
    """A tensor that is a parameter of the module that it is an attribute of: it requires a gradient. What is computed from it is a Tensor.

    >>> import polygrad.torch as torch
    >>> p = torch.nn.Parameter(torch.ones(2)); p.requires_grad, type(p * 2).__name__
    (True, 'Tensor')
    """

    __slots__ = ()
    _kind = Tensor

    def __init__(self, data: Any = None, requires_grad: bool = True):
        value = np.zeros(0, np.float32) if data is None else data
        Plain.__init__(self, value.detach().clone() if isinstance(value, Plain) else value)
        self.requires_grad = requires_grad

    def __repr__(self) -> str:
        return f"Parameter containing:\n{Tensor.__repr__(self)}"


__all__ = ["Parameter", "Tensor", "current"]
