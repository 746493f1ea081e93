"""The functions of `torch`: what makes tensors, and the methods of Tensor as functions."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterator
from numbers import Integral as _Integral
from typing import Any

import numpy as np

from .._core import C, current
from .._core import from_numpy as _borrow
from ..autograd import making
from ..dtypes import DType, dtypes, to_dtype
from ..tensor import Tensor as Plain
from ._algebra import together
from ._axes import axes_of
from ._inplace import into
from .tensor import Tensor
from .types import device_name, named


class Generator:
    """A source of random numbers of its own: `torch.Generator().manual_seed(1)`, given as generator= to what draws."""

    def __init__(self, device: Any = None):
        self._seed, self._drawn = 0, 0

    def manual_seed(self, seed: int) -> Generator:
        """Starts again from a seed."""
        self._seed, self._drawn = int(seed), 0
        return self

    def seed(self) -> int:
        """Starts from a seed that the library draws, and gives it."""
        self.manual_seed(int(C.poly_draw_seed(current().ptr)))
        return self._seed

    def initial_seed(self) -> int:
        return self._seed

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """The library draws from this source inside."""
        g = current()
        after = C.poly_draw_seed(g.ptr)
        self._drawn += 1
        C.poly_manual_seed(g.ptr, (self._seed * 0x9E3779B97F4A7C15 + self._drawn) & 0xFFFFFFFFFFFFFFFF)
        try:
            yield
        finally:
            C.poly_manual_seed(g.ptr, after)


default_generator = Generator()


def _size(size: tuple[Any, ...], named: Any = None) -> tuple[Any, ...]:
    if named is not None:
        size = (named,)
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def _make(function: Callable[..., Any], *args: Any, generator: Any = None, device: Any = None, **kwargs: Any) -> Any:
    """Calls one of polygrad.Tensor's constructors; the result is of PyTorch's class."""
    with making(Tensor):
        if device is not None:
            kwargs["device"] = device_name(device)
        if generator is None:
            return function(*args, **kwargs)
        with generator.drawing():
            return function(*args, **kwargs).realize()


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of a copy of data: a number, a nested list, an array or a tensor. Whole numbers give int64.

    >>> import polygrad.torch as torch
    >>> torch.tensor([1, 2]).dtype == torch.int64, torch.tensor([1.0, 2.0]).sum().item()
    (True, 3.0)
    """
    if isinstance(data, Plain):
        data = data.detach().numpy()
    if isinstance(data, np.ndarray):
        data = data.copy()
    return _make(Plain, data, dtype=dtype, device=device, requires_grad=requires_grad or None)


class _Typed(type):
    """torch.LongTensor and its like: called, they make a tensor of that dtype; a tensor of that dtype is an instance of them."""

    dtype: DType

    def __call__(cls, *data: Any) -> Any:
        return Tensor(*data).cast(cls.dtype)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype == cls.dtype


def _typed(name: str, dtype: DType) -> Any:
    return _Typed(name, (), {"dtype": dtype, "__doc__": f"A tensor of {dtype.name}, of values or of sizes.", "__module__": "polygrad.torch"})


FloatTensor, DoubleTensor = _typed("FloatTensor", dtypes.float32), _typed("DoubleTensor", dtypes.float64)
LongTensor, IntTensor = _typed("LongTensor", dtypes.int64), _typed("IntTensor", dtypes.int32)
BoolTensor, ByteTensor = _typed("BoolTensor", dtypes.bool), _typed("ByteTensor", dtypes.uint8)
HalfTensor, BFloat16Tensor = _typed("HalfTensor", dtypes.float16), _typed("BFloat16Tensor", dtypes.bfloat16)
ShortTensor, CharTensor = _typed("ShortTensor", dtypes.int16), _typed("CharTensor", dtypes.int8)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """data itself if it is a tensor of that dtype, else a tensor of it; an array's memory is used in place."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return _make(Plain, data, dtype=dtype, device=device)


asarray = as_tensor


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor on the array's own memory, where it is contiguous.

    >>> import numpy as np, polygrad.torch as torch
    >>> torch.from_numpy(np.array([1.5, 2.5])).dtype == torch.float64
    True
    """
    with making(Tensor):
        return _borrow(current(), array)  # type: ignore[return-value]


def from_dlpack(x: Any) -> Tensor:
    """A tensor on the memory of another library's tensor (host memory)."""
    return _make(Plain.from_dlpack, x)


def _shaped(method: str, text: str) -> Callable[..., Any]:
    def function(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, generator: Any = None, **others: Any) -> Any:
        shape = _size(size, others.get("size"))
        return _make(getattr(Plain, method), *shape, dtype=dtype, device=device, requires_grad=requires_grad or None, generator=generator)

    function.__name__ = function.__qualname__ = method
    function.__doc__ = text
    return function


zeros = _shaped("zeros", "Zeros of a shape.")
ones = _shaped("ones", "Ones of a shape.")
empty = _shaped("empty", "A tensor of a shape whose values are not set.")
rand = _shaped("rand", "Uniform random numbers in [0, 1).")
randn = _shaped("randn", "Standard normal random numbers.")


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **others: Any) -> Any:
    """One value everywhere; whole numbers give int64."""
    value = fill_value.item() if isinstance(fill_value, Plain) else fill_value
    return _make(Plain.full, _size((size,)), value, dtype=dtype, device=device, requires_grad=requires_grad or None)


def arange(
    *args: Any, start: Any = None, end: Any = None, step: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """arange(end), arange(start, end) or arange(start, end, step); whole numbers give int64."""
    given = [a.item() if isinstance(a, Plain) else a for a in args]
    if len(given) == 1:
        low, high = (start, given[0]) if end is None else (given[0], end)
    else:
        low, high = (given + [start, end])[:2] if given else (start, end)
    by = given[2] if len(given) > 2 else 1 if step is None else step
    return _make(Plain.arange, low or 0, high, by, dtype=dtype, device=device, requires_grad=requires_grad or None)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """steps numbers from start to end, both included."""
    return _make(Plain.linspace, float(start), float(end), steps, dtype=dtype, device=device, requires_grad=requires_grad or None)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, **kwargs: Any) -> Any:
    """base to the powers of linspace."""
    return base ** linspace(start, end, steps, **kwargs)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """The identity matrix."""
    return _make(Plain.eye, n, m, dtype=dtype, device=device, requires_grad=requires_grad or None)


def randint(
    *args: Any, low: Any = None, high: Any = None, size: Any = None, dtype: Any = None, device: Any = None, generator: Any = None, **others: Any
) -> Any:
    """Whole numbers: randint(high, size) or randint(low, high, size), int64; as dtype says, which may be bool or a float too."""
    given = list(args)
    if given and isinstance(given[-1], (tuple, list)):
        size = given.pop()
    if len(given) == 2:
        low, high = given
    elif given:
        low, high = (low or 0, given[0]) if high is None else (given[0], high)
    d = dtypes.int64 if dtype is None else dtype
    whole = getattr(d, "kind", "i") in "iu"
    out = _make(Plain.randint, *size, low=int(low or 0), high=int(high), dtype=d if whole else dtypes.int64, device=device, generator=generator)
    return out if whole else out.to(d)


def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None, **others: Any) -> Any:
    """A random order of 0 .. n - 1, int64."""
    return _make(Plain.randperm, int(n), dtype=dtypes.int64 if dtype is None else dtype, device=device, generator=generator)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Normal random numbers: one for each mean and std, or of a shape."""
    if size is None:
        size = np.broadcast_shapes(*(tuple(v.shape) for v in (mean, std) if isinstance(v, Plain)))
    return randn(*size, dtype=dtype, device=device, generator=generator) * std + mean


def _side(n: Any) -> int:
    n = operator.index(n)
    if not 0 <= n < 1 << 31:
        raise RuntimeError(f"a number of rows or columns from 0 to 2^31 - 1 is needed, not {n}")
    return n


def tril_indices(row: int, col: int, offset: int = 0, **kwargs: Any) -> Any:
    """Places of the lower triangle, [2, n]."""
    return tensor(np.stack(np.tril_indices(_side(row), offset, _side(col))), dtype=kwargs.get("dtype"))


def triu_indices(row: int, col: int, offset: int = 0, **kwargs: Any) -> Any:
    """Places of the upper triangle, [2, n]."""
    return tensor(np.stack(np.triu_indices(_side(row), offset, _side(col))), dtype=kwargs.get("dtype"))


# ---- of several tensors ----


def _several(tensors: Any) -> list[Any]:
    found = list(tensors)
    if not found:
        raise RuntimeError("at least one tensor is needed")
    return found


def cat(tensors: Any, dim: int = 0, *, axis: int | None = None, out: Any = None) -> Any:
    """Tensors one after another along an axis; tensors of shape (0,) are left out.

    >>> import polygrad.torch as torch
    >>> torch.cat([torch.tensor([1]), torch.tensor([2, 3])]).tolist()
    [1, 2, 3]
    """
    ts = _several(tensors)
    if hasattr(ts[0], "for_each"):  # values by type, inside a model that to_hetero has made
        return ts[0].for_each(cat, ts, dim)
    some = [t for t in ts if t.ndim != 1 or any(u.ndim == 1 for u in ts if u.shape != (0,)) or tuple(t.shape) != (0,)] or ts
    made = some[0].cat(*some[1:], dim=dim if axis is None else axis)
    return made if out is None else into(out, made)


concat = concatenate = cat


def stack(tensors: Any, dim: int = 0, *, axis: int | None = None, out: Any = None) -> Any:
    """Tensors beside each other along a new axis."""
    ts = _several(tensors)
    made = ts[0].stack(*ts[1:], dim=dim if axis is None else axis)
    return made if out is None else into(out, made)


def vstack(tensors: Any) -> Any:
    """Rows one below the other."""
    return cat([atleast_2d(t) for t in tensors], 0)


def hstack(tensors: Any) -> Any:
    """Columns beside each other; vectors one after another."""
    ts = _several(tensors)
    return cat(ts, 0 if ts[0].ndim == 1 else 1)


def column_stack(tensors: Any) -> Any:
    """Vectors as the columns of a matrix."""
    return cat([t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors], 1)


def _each(f: Any, tensors: Any) -> Any:
    """f of one tensor, or of each of several."""
    ts = tensors[0] if len(tensors) == 1 else tensors
    return tuple(f(t) for t in ts) if isinstance(ts, (tuple, list)) else f(ts)


def atleast_1d(*tensors: Any) -> Any:
    """With one axis at least."""
    return _each(lambda t: t.reshape(1) if t.ndim == 0 else t, tensors)


def atleast_2d(*tensors: Any) -> Any:
    """With two axes at least."""
    return _each(lambda t: t.reshape(1, -1) if t.ndim < 2 else t, tensors)


def atleast_3d(*tensors: Any) -> Any:
    """With three axes at least."""
    return _each(lambda t: t.reshape(1, -1, 1) if t.ndim < 2 else t.unsqueeze(-1) if t.ndim == 2 else t, tensors)


def dstack(tensors: Any) -> Any:
    """Beside each other along the third axis."""
    return cat([atleast_3d(t) for t in tensors], 2)


row_stack = vstack


def where(condition: Any, input: Any = None, other: Any = None) -> Any:  # noqa: A002
    """input where condition is true, else other; with the condition alone, the places where it is true."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if not isinstance(input, Plain) and not isinstance(other, Plain):
        input, other = tensor(input), tensor(other)  # noqa: A001
    return Plain.where(condition, *together(input, other))


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Grids of coordinates out of vectors."""
    ts = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)
    return ts[0].meshgrid(*ts[1:], indexing=indexing)


def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of elements, one row each."""
    return stack([g.reshape(-1) for g in meshgrid(*tensors)], 1) if len(tensors) > 1 else tensors[0]


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:  # noqa: A002
    """All combinations of r elements of a vector."""
    import itertools

    n = int(input.shape[0])
    if r == 2:
        return input[tensor(np.stack(np.triu_indices(n, 0 if with_replacement else 1), 1))]
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return input[tensor(np.array(list(pick(range(n), r)), np.int64).reshape(-1, r))]


def einsum(equation: Any, *operands: Any) -> Any:
    """Sum of products by Einstein's notation: an equation and tensors, or tensors, each followed by the numbers of its axes, and the result's."""
    if isinstance(equation, Plain):
        given = [equation, *operands]
        letters = ["".join("..." if k is Ellipsis else chr((ord("a") if k < 26 else ord("A") - 26) + k) for k in axes) for axes in given[1::2]]
        inputs = len(given) // 2
        if len(given) % 2:  # the axes of the result stand alone at the end
            last = "".join("..." if k is Ellipsis else chr((ord("a") if k < 26 else ord("A") - 26) + k) for k in given[-1])
        equation = ",".join(letters[:inputs]) + ("->" + last if len(given) % 2 else "")
        operands = tuple(given[: 2 * inputs : 2])
    return Plain.einsum(equation, *operands)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors in their common shape."""
    shape = np.broadcast_shapes(*(tuple(int(n) for n in t.shape) for t in tensors))
    return tuple(t.expand(shape) for t in tensors)


def broadcast_shapes(*shapes: Any) -> Any:
    """The common shape."""
    from .types import Size

    return Size(np.broadcast_shapes(*shapes))


def block_diag(*tensors: Any) -> Any:
    """Matrices on the diagonal of one matrix."""
    matrices = [atleast_2d(t) for t in tensors]
    width = sum(int(t.shape[1]) for t in matrices)
    rows, at = [], 0
    for t in matrices:
        rows.append(t.pad((at, width - at - int(t.shape[1]), 0, 0)))
        at += int(t.shape[1])
    return cat(rows)


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "") -> Any:
    """Distances between the rows of two matrices."""
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


# ---- with other arguments than the methods ----


def permute(input: Any, dims: Any) -> Any:  # noqa: A002
    """Axes in another order."""
    return input.permute(tuple(dims))


def reshape(input: Any, shape: Any) -> Any:  # noqa: A002
    """The same values in another shape."""
    return input.reshape(tuple(shape))


def flip(input: Any, dims: Any) -> Any:  # noqa: A002
    """In reverse order along axes."""
    return input.flip(dims)


def full_like(input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **others: Any) -> Any:  # noqa: A002
    """One value everywhere, in the shape of another tensor."""
    return Plain.full_like(input, fill_value, dtype=dtype, requires_grad=requires_grad or None)


def randint_like(input: Any, low: Any, high: Any = None, **kwargs: Any) -> Any:  # noqa: A002
    """Whole numbers in the shape of another tensor."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), **kwargs)


def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    """Rows of a table by number."""
    return weight[indices]


def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Any:  # noqa: A002
    """Each slice repeated; repeat_interleave(counts) is 0 counts[0] times, 1 counts[1] times and so on."""
    if repeats is None:
        return input.arange_of(0).repeat_interleave(input, 0, output_size=output_size)
    return input.repeat_interleave(repeats, dim, output_size=output_size)


def is_tensor(obj: Any) -> bool:
    """Is it a tensor?"""
    return isinstance(obj, Plain)


def numel(input: Any) -> int:  # noqa: A002
    """Number of elements."""
    return input.numel()


def is_nonzero(input: Any) -> bool:  # noqa: A002
    """Is the single number not zero?"""
    return bool(input)


def result_type(a: Any, b: Any) -> DType:
    """The dtype of what is computed from two operands."""
    x, y = (v if isinstance(v, Plain) else tensor(v) for v in (a, b))
    return (x[:0].reshape(-1) + y[:0].reshape(-1)).dtype if x.ndim and y.ndim else (x + y).dtype


def promote_types(a: Any, b: Any) -> DType:
    """The smallest dtype that both convert to."""
    from ..dtypes import least_upper_dtype

    return named(least_upper_dtype(to_dtype(a), to_dtype(b)))


def scalar_tensor(s: Any, **kwargs: Any) -> Any:
    """A tensor of one number, float32 unless a dtype is given."""
    return tensor(s, dtype=kwargs.pop("dtype", None) or dtypes.default_float, **kwargs)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A tensor of the bytes of a buffer."""
    d = to_dtype(dtype)
    return tensor(np.frombuffer(buffer, d.np, count, offset), dtype=d, requires_grad=requires_grad)


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Sum of products over the last axes of a and the first ones of b, or over pairs of axes."""
    if isinstance(dims, _Integral):
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = ([d] if isinstance(d, _Integral) else list(d) for d in dims)
    left, right = axes_of(a, left), axes_of(b, right)
    for p, q in zip(left, right):  # of size 1 on one side: broadcast, so the other one can be summed before
        if a.shape[p] != b.shape[q] and 1 in (int(a.shape[p]), int(b.shape[q])):
            a, b = (a, b.sum(q, keepdim=True)) if int(a.shape[p]) == 1 else (a.sum(p, keepdim=True), b)
    rows, columns = [d for d in range(a.ndim) if d not in left], [d for d in range(b.ndim) if d not in right]
    shape = [a.shape[d] for d in rows] + [b.shape[d] for d in columns]
    inner = math.prod(int(a.shape[d]) for d in left)
    return (a.permute((*rows, *left)).reshape(-1, inner) @ b.permute((*right, *columns)).reshape(inner, -1)).reshape(tuple(shape))


def chain_matmul(*matrices: Any) -> Any:
    """The product of several matrices."""
    from .linalg import multi_dot

    return multi_dot(matrices)


def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integral by trapezoids along an axis."""
    n = int(y.shape[dim])
    middle = (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)) / 2
    return (middle * (dx if x is None else x.diff(dim=dim))).sum(dim)


trapz = trapezoid


def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integral by trapezoids up to each place."""
    n = int(y.shape[dim])
    middle = (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)) / 2
    return (middle * (dx if x is None else x.diff(dim=dim))).cumsum(dim)


def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:  # noqa: A002
    """Slopes along each axis by differences: central ones inside, one-sided ones at the ends."""
    if edge_order != 1:
        raise NotImplementedError("gradient: edge_order=1 is what there is")
    axes = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, _Integral) else list(dim)
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(axes)
    found = []
    for axis, step in zip(axes, steps):
        if isinstance(step, Plain):
            raise NotImplementedError("gradient: spacing is a number for each axis")
        n = int(input.shape[axis])
        ends = [input.narrow(axis, k + 1, 1) - input.narrow(axis, k, 1) for k in (0, n - 2)]
        inside = [(input.narrow(axis, 2, n - 2) - input.narrow(axis, 0, n - 2)) / 2] if n > 2 else []
        found.append(cat([ends[0], *inside, ends[1]], axis) / step)
    return tuple(found)


def segment_reduce(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0, unsafe: bool = False, initial: Any = None
) -> Any:
    """Reductions over runs of rows, which are given by their lengths or by where they begin and end: 'sum', 'mean', 'max', 'min' or 'prod'."""
    if axis != 0 or (lengths is None) == (offsets is None):
        raise NotImplementedError("segment_reduce: runs along axis 0, given by lengths or by offsets")
    counts = lengths if lengths is not None else offsets[1:] - offsets[:-1]
    runs = int(counts.shape[0])
    row = repeat_interleave(counts.new_tensor(list(range(runs))), counts).long()
    names = {"max": "amax", "min": "amin"}
    first = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}[reduce] if initial is None else float(initial)
    out = data.new_full((runs, *data.shape[1:]), first)
    index = row.reshape(-1, *[1] * (data.ndim - 1)).expand(*data.shape)
    return out.scatter_reduce(0, index, data, names.get(reduce, reduce), include_self=reduce != "mean")


def fill(input: Any, value: Any) -> Any:  # noqa: A002
    """A tensor like input, filled with a value."""
    return input.full_like(value)


def constant_pad_nd(input: Any, pad: Any, value: Any = 0) -> Any:  # noqa: A002
    """nn.functional.pad with a constant."""
    from .nn.functional import pad as padded

    return padded(input, pad, "constant", value)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Places along each axis of numbers in the flat tensor."""
    sizes = [int(n) for n in ((shape,) if isinstance(shape, _Integral) else shape)]
    return tuple(indices // math.prod(sizes[k + 1 :]) % n for k, n in enumerate(sizes))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of each element, the highest first unless increasing."""
    from .linalg import vander as powers

    out = powers(x, N=N)
    return out if increasing else out.flip(-1)


def can_cast(from_: Any, to: Any) -> bool:
    """Can one dtype become the other without losing its kind?"""
    kinds = "buif"
    return kinds.index(to_dtype(from_).kind.replace("u", "i")) <= kinds.index(to_dtype(to).kind.replace("u", "i"))


def _window(window_length: int, periodic: bool, parts: tuple[float, ...], kwargs: dict[str, Any]) -> Any:
    n = window_length if periodic else max(window_length - 1, 1)
    place = arange(window_length, dtype=kwargs.get("dtype") or dtypes.default_float) * (2 * math.pi / n)
    out = place.zeros_like() + parts[0]
    for k, part in enumerate(parts[1:], 1):
        out = out + (place * k).cos() * part
    return out


def hann_window(window_length: int, periodic: bool = True, **kwargs: Any) -> Any:
    """Hann's window."""
    return _window(window_length, periodic, (0.5, -0.5), kwargs)


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **kwargs: Any) -> Any:
    """Hamming's window."""
    return _window(window_length, periodic, (alpha, -beta), kwargs)


def blackman_window(window_length: int, periodic: bool = True, **kwargs: Any) -> Any:
    """Blackman's window."""
    return _window(window_length, periodic, (0.42, -0.5, 0.08), kwargs)


def typename(obj: Any) -> str:
    """The name of the class of tensors by dtype, or of any class."""
    return obj.type() if isinstance(obj, Tensor) else type(obj).__qualname__


def manual_seed(seed: int) -> Generator:
    """Sets the seed of the library."""
    Plain.manual_seed(int(seed))
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Draws a new seed, sets and gives it."""
    value = int(np.random.SeedSequence().entropy) & 0xFFFFFFFFFFFF  # type: ignore[arg-type]
    Plain.manual_seed(value)
    return value


def initial_seed() -> int:
    """The seed that manual_seed was last given."""
    return default_generator.initial_seed()


__all__ = [n for n, v in list(globals().items()) if not n.startswith("_") and callable(v) and n not in (
    "Any", "Callable", "Iterator", "DType", "Plain", "Tensor", "device_name", "making", "current", "dtypes", "to_dtype",
)] + ["default_generator"]  # fmt: skip
