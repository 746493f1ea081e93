"""The Tensor class: a handle on a lazy tensor of the C core. Its methods are in polygrad/mixin, one file a subject."""

from __future__ import annotations

import ctypes
import math
import os
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from . import _core, dlpack, files
from . import autograd as _graph
from ._core import C, current, from_numpy, from_values, handles, like, operand, same_graph, to_dtype
from ._ffi import INT64, ShapeError, handle_array, raw
from ._meaning import pair_warning, row_by_row
from .context import Context, NoGrad
from .device import check_device, is_gpu
from .dtypes import BY_CODE, DType, dtypes
from .mixin.creation import Creation
from .mixin.decompose import Decompose
from .mixin.elementwise import Elementwise
from .mixin.images import Images
from .mixin.indexing import Indexing
from .mixin.linalg import Linalg
from .mixin.losses import Losses
from .mixin.movement import Movement
from .mixin.reduce import Reduce
from .mixin.storage import Storage
from .node import TensorUOp, plain
from .symbolic import DIM_LIMIT, Dim, dim

if TYPE_CHECKING:
    from .dtypes import DTypeLike

_NO_GRAD = NoGrad()
_new = object.__new__


class TensorType(type):
    """Makes Tensor.training and Tensor.no_grad switches of the current graph."""

    @property
    def training(cls) -> bool:
        return current().training

    @training.setter
    def training(cls, on: bool) -> None:
        current().training = on

    @property
    def no_grad(cls) -> NoGrad:
        return _NO_GRAD

    @no_grad.setter
    def no_grad(cls, on: bool) -> None:
        current().no_grad = bool(on)


class Tensor(Creation, Elementwise, Reduce, Movement, Indexing, Linalg, Decompose, Images, Losses, Storage, metaclass=TensorType):
    """A lazy tensor. Operations build a program; values are computed when they are asked for.

    data: a number, a nested list, a numpy array (its memory is used in place where it is contiguous), bytes, a Tensor, or a path: the
    bytes of the file, of which only those that are used are read.
    Whole numbers give int32, floats float32, bools bool; arrays keep their dtype.

    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> _ = (x * x).sum().backward()
    >>> x.grad.tolist()
    [[2.0, 4.0], [6.0, 8.0]]
    """

    __slots__ = (
        "_h",
        "_g",
        "_wanted",
        "_param",
        "_rows",
        "_count",
        "_bounds",
        "_pair",
        "_freed",
        "_later",
        "_file",
        "_shard",
        "_leaf",
        "__weakref__",
    )
    _h: int  # the handle
    _g: _core.AutogradGraph
    _wanted: bool | None  # what requires_grad was set to, if it was
    _param: bool  # set once a leaf was made to require a gradient: it stays a parameter of its module when that is turned off again
    _rows: tuple[Any, str]  # set on an index vector: the Graph whose edges it numbers, and the side
    _count: int  # set on an index vector: how many values it may have
    _bounds: tuple[Any, int, int]  # set on an ascending index vector: where each value begins and the last one ends; items of the most frequent one;
    # and the graph's `changes` at that time, since an assignment may have changed the vector
    _pair: str | None  # set on the result of max(axis) and min(axis), which PyTorch gives as a pair: the method's name
    _freed: bool  # backward(retain_graph=False) has run
    _later: bool  # set on a parameter that has no shape yet (nn/later.py)
    _file: tuple[Any, ...]  # set on a tensor that is a file: its path first (files.py)
    _leaf: Tensor  # set on a gradient that was asked for while a step is traced: of which tensor it is
    _shard: tuple[tuple[str, ...], int | None]  # set on a tensor that was put on several devices: their names, and the axis that they share
    __array_priority__ = 1000
    _as_parameter_ = property(lambda self: self._h)  # a temporary given to a C function lives through the call
    __array_ufunc__ = None  # numpy_array + tensor comes to __radd__

    _kind: Any  # the class of what is computed from this one: the class itself, unless it names another
    _binary = staticmethod(raw("poly_binary"))  # the core's function of two tensors, by which dtypes are promoted
    _backward = staticmethod(C.poly_backward_all)  # the core's backward pass: which tensors get a gradient
    _empty_extremes = True  # max and min over an axis of size 0 have a value
    _whole = b"i"  # the kind of a whole number beside a tensor, as the core names it
    _default_int: DType | None = None  # the dtype of whole numbers where this class is made, if it is not dtypes.default_int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_kind" not in cls.__dict__:
            cls._kind = cls

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return _new(current().made if cls is Tensor else cls)

    def __init__(self, data: Any = None, device: str | None = None, dtype: DTypeLike | None = None, requires_grad: bool | None = None):
        g = current()
        path = files.path_of(device)
        if device is not None and path is None:
            check_device(g, device)
        d = None if dtype is None else to_dtype(dtype)
        data = plain(data)
        if d is None and data.__class__ is np.ndarray:  # the shortest way for what loaders make of each batch
            t = _core.from_numpy(g, data)
        elif isinstance(data, Tensor):
            g = data._g
            t = like(data, C.poly_retain_copy(data._h))
            t = t if d is None else t.cast(d)
        elif isinstance(data, os.PathLike):
            t = _file(g, data, d)
        elif data is None:
            t = _core.scalar(g, 0.0, d or dtypes.default_float)
        elif hasattr(data, "__dlpack__") and not isinstance(data, np.ndarray):
            t = Tensor.from_dlpack(data)
            t = t if d is None else t.cast(d)
        else:
            t = from_values(g, _as_memory(data, d), d)
        if path is not None and not (isinstance(data, os.PathLike) and os.path.realpath(data) == os.path.realpath(path)):
            t = files.copy_to_file(t, path)
        elif isinstance(data, os.PathLike) and (device is None or path is not None):
            t._file = (os.path.realpath(data),)
        self._h, self._g = t._h, g
        if hasattr(t, "_file"):
            files.is_file(self, t._file)
        t._h = 0  # the handle has moved
        if requires_grad is not None:
            self.requires_grad = requires_grad

    def __del__(self, free: Any = C.poly_free) -> None:
        try:
            if self._h and self._g.ptr:
                free(self._h)
        except AttributeError:  # never got as far as a handle
            pass

    # ---- what it is ----

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes of the axes: whole numbers, or Dim where a size is symbolic.

        >>> Tensor.ones(2, 3).shape
        (2, 3)
        """
        n = C.poly_ndim(self._h)
        out = INT64[n]()
        C.poly_shape(self._h, out)
        g = self._g
        return tuple([v if v >= DIM_LIMIT else g.sizes.get(v) or Dim(g, v) for v in out[:]])

    @property
    def ndim(self) -> int:
        """Number of axes.

        >>> Tensor.ones(2, 3).ndim
        2
        """
        return C.poly_ndim(self._h)

    def dim(self) -> int:
        """Number of axes, as in PyTorch.

        >>> Tensor.ones(2, 3).dim()
        2
        """
        return C.poly_ndim(self._h)

    @property
    def dtype(self) -> DType:
        """Element type.

        >>> Tensor([1, 2]).dtype
        dtypes.int
        """
        return BY_CODE[C.poly_dtype(self._h)]

    @property
    def device(self) -> Any:
        """Name of the device that it is computed on, or of the file that it is; names where it was put on several (see shard).

        >>> Tensor([1]).device == Device.DEFAULT
        True
        """
        if hasattr(self, "_file"):
            return f"DISK:{self._file[0]}"
        return self._shard[0] if hasattr(self, "_shard") else self._g.device

    @property
    def graph(self) -> _core.AutogradGraph:
        """The graph that owns the tensor.

        >>> x = Tensor([1])
        >>> x.graph.live_tensors > 0
        True
        """
        return self._g

    def numel(self) -> int:
        """Number of elements.

        >>> Tensor.ones(2, 3).numel()
        6
        """
        n: int = C.poly_numel_size(self._h)
        return n if n >= DIM_LIMIT else dim(self._g, n)

    def element_size(self) -> int:
        """Bytes an element.

        >>> Tensor([1.0]).element_size()
        4
        """
        return self.dtype.itemsize

    def nbytes(self) -> int:
        """Bytes of all elements.

        >>> Tensor([1.0, 2.0]).nbytes()
        8
        """
        return self.numel() * self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Is the dtype one of the floats?

        >>> Tensor([1.0]).is_floating_point()
        True
        """
        return self.dtype.kind == "f"

    @property
    def is_realized(self) -> bool:
        """Have the values been computed?

        >>> (Tensor([1.0]) + 1).is_realized
        False
        """
        return C.poly_is_realized(self._h)

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of a tensor without axes")
        return int(shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("a tensor without axes cannot be iterated")
        if getattr(self, "_pair", None) is not None:
            pair_warning(self) if len(self) == 2 else setattr(self, "_pair", None)
        row_by_row(self)
        return (self[k] for k in range(len(self)))

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise TypeError(f"the truth value of a tensor of shape {self.shape} is ambiguous: use .any() or .all()")
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iub" or self.numel() != 1:
            raise TypeError("only a tensor of one whole number can be used as an index")
        return int(self.item())

    def __repr__(self) -> str:
        head = f"<Tensor {self.shape} {self.dtype} on {self.device}"
        if self.is_realized and self.numel() <= 1000:
            values = np.array2string(self.numpy(), precision=4, separator=", ", threshold=20, prefix=" ")
            return f"{head}\n {values}>"
        return head + ">"

    # ---- values ----

    def realize(self, *others: Tensor, do_update_stats: bool = True) -> Tensor:
        """Computes this tensor, and others with it in one plan. Returns self. do_update_stats is tinygrad's: everything that runs is counted.

        >>> (Tensor([1.0]) + 1).realize().is_realized
        True
        """
        if self._g.tracing:
            self._g.tracing[-1].realizes((self, *others))
            return self  # a traced step computes all that it returns or assigns, and gradients that it realizes
        if not others:
            status = C.poly_realize(self._h)
        else:
            for t in others:
                same_graph(self, t)
            status = C.poly_realize_many(handles((self, *others)), 1 + len(others))
        if status:
            self._g.fail()
        return self

    def numpy(self) -> np.ndarray:
        """The values as a numpy array (a copy); bfloat16 and floats of 8 bits as float32. Their bits: `bitcast(dtypes.uint8).numpy()`.

        >>> Tensor([1, 2]).numpy()
        array([1, 2], dtype=int32)
        """
        d = self.dtype
        if d.np is None:
            return self.cast(dtypes.float32).numpy()
        out = np.empty(tuple(int(s) for s in self.shape), d.np)
        self._g.check(C.poly_read(self._h, out.ctypes.data, out.nbytes))
        return out

    @property
    def _data(self) -> np.ndarray:
        """The tensor's own memory as a numpy array: writing into it changes the tensor."""
        address = C.poly_data(self._h)
        d = self.dtype
        n = self.numel() * d.itemsize
        if address is None:
            if C.poly_error_code(self._g.ptr):
                self._g.fail()
            return np.empty(self.shape, d.np)  # no elements, no memory
        memory: Any = (ctypes.c_char * n).from_address(address)
        memory.owner = self  # the array keeps the memory, and the memory keeps the tensor
        return np.frombuffer(memory, d.np or (np.uint16 if d.itemsize == 2 else np.uint8)).reshape(tuple(int(s) for s in self.shape))

    def data(self) -> memoryview:
        """The values as a memoryview.

        >>> Tensor([1, 2]).data().tolist()
        [1, 2]
        """
        values = self.numpy()
        return values.data if values.size else values.reshape(0).data  # Python does not list an empty view of several axes

    def item(self) -> Any:
        """The value of a tensor of one element.

        >>> Tensor([[5]]).item()
        5
        """
        kind = self.dtype.kind
        if kind == "f":
            value: Any = C.poly_item(self._h)
            if math.isnan(value) and C.poly_error_code(self._g.ptr):
                self._g.fail()
            return value
        value = C.poly_item_int(self._h)
        if value == 0 and C.poly_error_code(self._g.ptr):
            self._g.fail()
        return bool(value) if kind == "b" else value & 0xFFFFFFFFFFFFFFFF if kind == "u" else value

    def tolist(self) -> Any:
        """The values as a nested list, or a number.

        >>> Tensor([[1, 2]]).tolist()
        [[1, 2]]
        """
        return self.numpy().tolist()

    @staticmethod
    def from_dlpack(x: Any) -> Tensor:
        """A tensor on the memory of another library's tensor: the host's, or that of the GPU which the graph runs on.

        >>> Tensor.from_dlpack(np.array([1, 2])).tolist()
        [1, 2]
        """
        if hasattr(x, "__dlpack_device__") and int(x.__dlpack_device__()[0]) == dlpack.CUDA:
            return dlpack.take(current(), x)
        return from_numpy(current(), np.from_dlpack(x))

    def __dlpack__(self, **kwargs: Any) -> Any:
        if dlpack.on_cuda(self):
            return dlpack.give(self)
        return self._data.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.device_of(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        a = self.numpy()
        return a if dtype is None else a.astype(dtype)

    def __reduce__(self) -> Any:
        return _rebuild, (self.numpy(), self.dtype.name, *[getattr(self, n, None) for n in ("_wanted", "_param", "_later")])

    def __deepcopy__(self, memo: Any) -> Tensor:
        t = self.detach().clone().realize()
        if getattr(self, "_wanted", None) is not None:
            t.requires_grad = self._wanted
        if getattr(self, "_param", False):
            t._param = True
        if getattr(self, "_later", False):
            t._later = True
        memo[id(self)] = t
        return t

    # ---- memory ----

    def contiguous(self, **kwargs: Any) -> Tensor:
        """The same values, stored.

        >>> Tensor([[1, 2], [3, 4]]).T.contiguous().tolist()
        [[1, 3], [2, 4]]
        """
        return like(self, C.poly_contiguous(self._h))

    def clone(self, device: str | None = None) -> Tensor:
        """A copy of its own, with the same history and, as in tinygrad, a copy of the gradient.

        >>> Tensor([1, 2]).clone().tolist()
        [1, 2]
        """
        out, grad = like(self, C.poly_clone(self._h)), self.grad
        if grad is not None:
            out.grad = grad.clone()
        if hasattr(self, "_shard") and device is None:
            out._shard = self._shard
        return out

    def detach(self) -> Tensor:
        """The same values without history.

        >>> Tensor([1.0], requires_grad=True).detach().requires_grad
        False
        """
        out = like(self, C.poly_detach(self._h))
        if out.__class__ is Tensor:
            out._wanted = False
        return out

    def assign(self, x: Any) -> Tensor:
        """Holds other values from now on, in its own memory. The shape must agree.

        >>> Tensor([1, 2]).assign(Tensor([3, 4])).tolist()
        [3, 4]
        """
        x = operand(self, x)
        if x.ndim == 0 and self.ndim:
            x = x.cast(self.dtype).reshape((1,) * self.ndim).expand(self.shape)
        self._g.check(C.poly_assign(self._h, x._h))
        self._changed()
        if files.opened:
            files.write_out(self)
        return self

    def _changed(self) -> None:
        """It was assigned to: what was known of its values is known no longer."""
        self._g.changes += 1
        for name in ("_rows", "_count", "_bounds"):
            if hasattr(self, name):
                delattr(self, name)

    def replace(self, x: Tensor) -> Tensor:
        """Points at another tensor's value, without a copy.

        >>> Tensor([1, 2]).replace(Tensor([3, 4])).tolist()
        [3, 4]
        """
        same_graph(self, x)
        self._g.check(C.poly_replace(self._h, x._h))
        self._changed()
        if hasattr(x, "_shard"):
            self._shard = x._shard
        elif hasattr(self, "_shard"):
            del self._shard
        return self

    def to(self, device: Any) -> Tensor:
        """The tensor on a device, in a file ("DISK:path"), or in a dtype if one is given, as in PyTorch.

        >>> Tensor([1, 2]).to("CPU").tolist()
        [1, 2]
        """
        path = files.path_of(device)
        if path is not None:
            return files.copy_to_file(self, path)
        if isinstance(device, DType) or (isinstance(device, str) and device.lower() in _core.dtypes.__dict__):
            return self.cast(device)
        if device is not None:
            check_device(self._g, device)
            if is_gpu(self._g.device):
                self._g.check(C.poly_move_here(self._h))
            if hasattr(self, "_file"):
                return self.clone()
            if device.__class__ in (tuple, list) and len(device) > 1:
                return self.shard(device)
            if hasattr(self, "_shard"):
                return like(self, C.poly_retain_copy(self._h))
        return self

    def to_(self, device: Any) -> Tensor:
        """Like to, in place.

        >>> Tensor([1]).to_("CPU").tolist()
        [1]
        """
        moved = self.to(device)
        if hasattr(moved, "_shard"):
            self._shard = moved._shard
        elif hasattr(self, "_shard"):
            del self._shard
        return self

    # ---- gradients ----

    @property
    def requires_grad(self) -> bool:
        """Does backward accumulate a gradient here, or further down? Can be set on leaves; an optimizer sets it where nobody has.

        >>> x = Tensor([1.0]); x.requires_grad = True
        >>> (x * 2).requires_grad, Tensor([1.0]).requires_grad
        (True, False)
        """
        return C.poly_requires_grad(self._h)

    @requires_grad.setter
    def requires_grad(self, on: bool | None) -> None:
        self._wanted = on
        if on is not None:
            self._g.check(C.poly_set_requires_grad(self._h, bool(on)))
            if on:
                self._param = True

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Sets requires_grad and returns self.

        >>> Tensor([1.0]).requires_grad_().requires_grad
        True
        """
        self.requires_grad = requires_grad
        return self

    def is_param_(self, is_param: bool = True) -> Tensor:
        """tinygrad's newer name of requires_grad_.

        >>> Tensor([1.0]).is_param_().requires_grad
        True
        """
        return self.requires_grad_(is_param)

    @property
    def is_param(self) -> bool:
        """tinygrad's newer mark of what an optimizer trains: everything but what is_param_(False) was called on.

        >>> Tensor([1.0]).is_param, Tensor([1.0]).is_param_(False).is_param
        (True, False)
        """
        return self.requires_grad or getattr(self, "_wanted", None) is not False

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, or None.

        >>> x = Tensor([3.0], requires_grad=True)
        >>> (x * x).sum().backward().item(), x.grad.item()
        (9.0, 6.0)
        """
        h = C.poly_get_grad(self._h)
        if h is None:
            return None
        found = like(self, h)
        if self._g.tracing:
            found._leaf = self
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        self._g.check(C.poly_set_grad(self._h, None if value is None else operand(self, value)))

    def zero_grad(self) -> None:
        """Forgets the gradient.

        >>> x = Tensor([3.0], requires_grad=True); (x * x).sum().backward().item()
        9.0
        >>> x.zero_grad(); x.grad is None
        True
        """
        self.grad = None

    def backward(self, gradient: Tensor | None = None, retain_graph: bool = True) -> Tensor:
        """Adds d(self)/d(tensor) into .grad of every leaf that requires a gradient and, as in tinygrad, of every other floating-point tensor in
        scope that self is computed from, unless its requires_grad is False. Returns self. What did not require its gradient loses it at the
        next step of an optimizer if nobody has read it. With retain_graph=False a second backward of this tensor is an error, as in PyTorch.

        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).backward(gradient=Tensor([1.0, 10.0])).tolist()
        [1.0, 4.0]
        >>> x.grad.tolist()
        [2.0, 40.0]
        """
        if getattr(self, "_freed", False):
            raise RuntimeError("backward a second time through a graph that was given up by backward(retain_graph=False)")
        if gradient is not None:
            gradient = _seed(self, gradient)
        hooked = _hooked(self) if self._g.hooks else []
        if hooked:
            _backward_with_hooks(self, gradient, hooked)
        elif self._backward(self._h, gradient):
            self._g.fail()
        if not retain_graph:
            self._freed = True
        return self

    def gradient(self, *targets: Tensor, gradient: Tensor | None = None, materialize_grads: bool = False) -> list[Tensor]:
        """d(self)/d(target) for each target; can be differentiated again. Where the derivative is zero everywhere (sign, floor, comparisons,
        casts to integers) it is zeros. A target that self is not computed from, or only through detach, is an error, or gets zeros with
        materialize_grads. A tensor whose value was read keeps its history only for targets that require a gradient;
        it stays a target of what was built of it.

        >>> x = Tensor([1.0, 2.0])
        >>> [g.tolist() for g in (x * x * x).sum().gradient(x)]
        [[3.0, 12.0]]
        """
        if gradient is None and self.numel() != 1:
            raise ShapeError(f"grad needs a gradient for a tensor of shape {self.shape}")
        for k, t in enumerate(targets):
            same_graph(self, t)
            if not materialize_grads and not C.poly_depends_on(self._h, t._h):
                raise RuntimeError(f"target {k} of shape {t.shape} has no influence on this tensor, or its history was dropped when it was realized")
        out = handle_array([None] * len(targets))
        seed = None if gradient is None else _seed(self, gradient)
        self._g.check(C.poly_grad(self._h, seed, handles(targets), len(targets), out))
        return [like(self, h) for h in out]

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Callable[[], None]:
        """Calls hook(gradient) at each backward that reaches this tensor, a leaf or an intermediate; what it returns takes the gradient's place,
        here and for what the tensor is computed from. Returns a remover.

        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> remove = x.register_hook(lambda g: g * 10)
        >>> _ = (x * x).sum().backward()
        >>> x.grad.tolist()
        [20.0, 40.0]
        >>> remove()
        """
        if not self.requires_grad:
            raise RuntimeError("a hook needs a tensor that requires a gradient")
        table = self._g.hooks
        key = id(self)
        entry = table.setdefault(key, (weakref.ref(self, lambda _: table.pop(key, None)), []))
        entry[1].append(hook)

        def remove() -> None:
            if hook in entry[1]:
                entry[1].remove(hook)
            if not entry[1]:
                table.pop(key, None)

        return remove

    class train(Context):
        """`with Tensor.train():` sets Tensor.training for a while. Also a decorator.

        >>> with Tensor.train():
        ...     Tensor.training
        True
        """

        def __init__(self, mode: bool = True):
            super().__init__(TRAINING=mode)

    class test(Context):
        """`with Tensor.test():` turns training and gradients off for a while.

        >>> with Tensor.test():
        ...     Tensor.training
        False
        """

        def __init__(self, mode: bool = True):
            super().__init__(NO_GRAD=mode, TRAINING=not mode)

    # ---- looking inside ----

    def source(self) -> str:
        """The generated source of the plan that computes the tensor.

        >>> isinstance((Tensor([1.0]) + 1).source(), str)
        True
        """
        return _text(self, C.poly_source)

    def custom_kernel(self, *lst: Tensor, fxn: Any, grad_fxn: Any = None) -> list[Tensor]:
        """The tensors after a kernel that is written in UOps: fxn gets a UOp for each tensor and gives what is stored, over ranges.

        The kernel becomes an expression of tensors, which is fused with what is around it and has a gradient; with
        grad_fxn(gradient of the first result, kernel), where kernel.src are the tensors, the gradients are what that gives. The tensors
        themselves stay as they are: use what is returned.

        >>> from polygrad import UOp
        >>> def double(out, x):
        ...     i = UOp.range(x.size, 0)
        ...     return out[i].store(x[i] * 2).end(i).sink()
        >>> Tensor.empty(3).custom_kernel(Tensor([1.0, 2.0, 3.0]), fxn=double)[0].tolist()
        [2.0, 4.0, 6.0]
        """
        from .uop.ops import run_kernel, run_with_gradient

        tensors = [self, *lst]
        return run_kernel(tensors, fxn) if grad_fxn is None else run_with_gradient(tensors, fxn, grad_fxn)

    @property
    def uop(self) -> Any:
        """The tensor as scripts for tinygrad look at its UOp; Tensor(t.uop) is a tensor again.

        >>> Tensor(Tensor([1.0]).uop).tolist(), Tensor([1.0]).uop.is_realized
        ([1.0], True)
        """
        return TensorUOp(self)

    @property
    def lazydata(self) -> Any:
        """tinygrad's older name of uop.

        >>> Tensor([1.0, 2.0]).lazydata.shape
        (2,)
        """
        return TensorUOp(self)

    def schedule(self, *others: Tensor) -> list[Any]:
        """What runs when the tensors are realized: a list for polygrad.engine.realize.run_schedule.

        >>> x = Tensor([1.0, 2.0]).exp()
        >>> len(x.schedule()), x.is_realized
        (1, False)
        """
        from .engine.realize import schedule_of

        return schedule_of([self, *others])

    def schedule_with_vars(self, *others: Tensor) -> tuple[list[Any], dict[str, int]]:
        """The schedule, and tinygrad's values of variables, which tensors carry themselves here.

        >>> Tensor([1.0]).schedule_with_vars()
        ([], {})
        """
        return self.schedule(*others), {}

    def fuse(self) -> Tensor:
        """The tensor itself: what can be fused is, without being told.

        >>> Tensor([1.0]).fuse().tolist()
        [1.0]
        """
        return self

    def uops(self) -> str:
        """The UOps of the tensor as text.

        >>> "ADD" in (Tensor([1.0, 2.0]) + Tensor([1.0, 2.0])).uops()
        True
        """
        return _text(self, C.poly_dump)

    def explain(self) -> str:
        """The plan in words: kernels, what is stored and why.

        >>> print(Tensor.ones(3).contiguous().explain().replace(Device.DEFAULT, "CPU"))
        on CPU: 1 kernel
        reads 0 tensors (0 bytes), stores 1 result (12 bytes)
          1. kernel elementwise_3: out0 = float32 (3,)
               out0 stored: 12 bytes, asked for
        """
        from .plan import Plan

        return str(Plan.of(self))


def _as_memory(data: Any, d: DType | None) -> Any:
    """A float as an array of its own: constants are one node wherever they stand, so the gradient for Tensor(2.0) would count the 2 of `x**2` too."""
    if not isinstance(data, (bool, int, float, np.generic)):
        return data
    kind = d or (to_dtype(data.dtype) if isinstance(data, np.generic) else dtypes.from_py(data))
    return np.array(data, dtype=kind.np or np.float32) if kind.kind == "f" else data


def _file(g: Any, path: os.PathLike[Any], d: DType | None) -> Tensor:
    """The elements of a file, mapped into memory: pages are read when they are used. Changes stay in memory."""
    d = d or dtypes.uint8
    if d.np is None:
        return from_numpy(g, np.memmap(path, np.uint16 if d.itemsize == 2 else np.uint8, "c")).bitcast(d)
    if os.path.getsize(path) == 0:
        return from_numpy(g, np.empty(0, d.np))
    return from_numpy(g, np.memmap(path, d.np, "c"))


def _seed(t: Tensor, gradient: Any) -> Tensor:
    """The gradient that a pass over t begins with. That of a single number may have axes of size 1."""
    g = operand(t, gradient)
    return g.reshape(t.shape) if t.ndim == 0 and g.ndim and g.numel() == 1 else g


def _text(t: Tensor, function: Any) -> str:
    p = function(t._h)
    if p is None:
        t._g.fail()
    try:
        return ctypes.string_at(p).decode()
    finally:
        C.poly_text_free(t._g.ptr, p)


def _rebuild(values: np.ndarray, dtype: str, wanted: bool | None, param: bool | None = False, later: bool | None = False) -> Tensor:
    t = Tensor(values, dtype=dtype, requires_grad=wanted)
    if param:
        t._param = True
    if later:
        t._later = True
    return t


def _hooked(root: Tensor) -> list[tuple[Tensor, list[Any]]]:
    """The tensors with hooks that gradients of root reach, each before those that it is computed from. Two handles on one node are one."""
    found: list[tuple[Tensor, list[Any]]] = []
    for ref, hooks in root._g.hooks.values():
        t = ref()
        if t is None or not C.poly_depends_on(root._h, t._h):
            continue
        place = len(found)
        for k, (other, own) in enumerate(found):
            if C.poly_depends_on(t._h, other._h):
                if C.poly_depends_on(other._h, t._h):
                    found[k] = (other, own + hooks)
                    break
                place = min(place, k)
        else:
            found.insert(place, (t, hooks))
    return found


def _backward_with_hooks(root: Tensor, gradient: Tensor | None, hooked: list[tuple[Tensor, list[Any]]]) -> None:
    """Gradients stop at tensors with hooks and go on from there as what the hooks return. Only tensors that require a gradient get one."""
    stops = handles(t for t, _ in hooked)
    arrived: list[Tensor | None] = [None] * len(hooked)

    def go(t: Tensor, g: Tensor | None) -> None:
        out = handle_array([None] * len(hooked))
        t._g.check(C.poly_backward_until(t._h, None if g is None else g._h, stops, len(hooked), out))
        for k, h in enumerate(out):
            if h is not None:
                new, old = like(t, h), arrived[k]
                arrived[k] = new if old is None else old + new

    if hooked and C.poly_depends_on(hooked[0][0]._h, root._h):  # the root has hooks itself
        arrived[0] = root.ones_like() if gradient is None else gradient
    else:
        go(root, gradient)
    for k, (t, hooks) in enumerate(hooked):
        g = arrived[k]
        if g is None:
            continue
        for hook in hooks[:]:
            result = hook(g)
            g = g if result is None else operand(t, result)
        go(t, g)


def explain(tensor: Tensor) -> str:
    """The plan that computes a tensor, in words."""
    return tensor.explain()


_core.Tensor = Tensor  # type: ignore[misc]
Tensor._kind = _graph.tensor_class = Tensor


_ELSEWHERE = {"Device": "device", "_to_np_dtype": "dtype", "get_shape": "helpers", "Variable": "symbolic", "UOp": "uop.ops"}


def __getattr__(name: str) -> Any:
    """Names that scripts for tinygrad take from its module of this name."""
    if name in _ELSEWHERE:
        from importlib import import_module

        return getattr(import_module(f"polygrad.{_ELSEWHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
