"""Movement: the same values in another order or shape. Nothing is copied until something needs it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._core import C, Variable, argfix, handles, like, number_dtype, operand, past_double, same_graph, sig, sizes
from .._ffi import ShapeError, handle_array, int64_array, int_array, integer
from .._meaning import warn_once
from ..symbolic import Dim, dim_code

if TYPE_CHECKING:
    from ..tensor import Tensor

_PAD_MODES = {
    "constant": sig.POLY_PAD_CONSTANT,
    "reflect": sig.POLY_PAD_REFLECT,
    "replicate": sig.POLY_PAD_REPLICATE,
    "circular": sig.POLY_PAD_CIRCULAR,
}


EACH = "each axis of the ellipsis"  # '...' outside parentheses, where axes are not joined


def _pairs(x: Any, arg: Any, what: str) -> list[Any]:
    """(before, after) for every axis; None where an axis is left alone."""
    if len(arg) != x.ndim:
        raise ValueError(f"{what} needs a pair for each of the {x.ndim} axes of shape {x.shape}, got {len(arg)}: {tuple(arg)}")
    return list(arg)


def _repeat_each(x: Any, counts: Any, dim: int) -> Any:
    """Slice k of x counts[k] times: each place of the result counts the slices that have ended before it."""
    if counts.dtype.kind not in "iu" or counts.ndim != 1:
        raise TypeError(f"repeats must be whole numbers, one for each slice, not {counts.dtype} of shape {counts.shape}")
    size = x.shape[dim] if x.ndim else 1
    if counts.shape[0] == 1:
        counts = counts.expand(size)
    if counts.shape[0] != size:
        raise ValueError(f"repeats has {counts.shape[0]} entries for an axis of size {size}")
    if not size:
        return x
    ends = counts.cast("int64").cumsum(0).realize(lowest := counts.min())
    if lowest.item() < 0:
        raise ValueError(f"repeats cannot be negative: {lowest.item()}")
    total = ends[-1].item()
    ended = ends[:1].zeros_like().expand(total + 1).index_add(0, ends, ends.ones_like())
    return x.index_select(dim, ended.cumsum(0)[:total])


class Movement:
    """Shapes may be given as numbers or as one tuple."""

    __slots__ = ()

    def reshape(self: Any, shape: Any, *args: Any) -> Tensor:
        """The same values in another shape; one size may be -1, None keeps a size.

        >>> Tensor.arange(6).reshape(2, -1).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        new = argfix((shape, *args))
        if any(s is None or s.__class__ is Variable for s in new):
            new = tuple(_kept_size(self, k, s) for k, s in enumerate(new))
        return like(self, C.poly_reshape(self._h, len(new), sizes(self._g, new)))

    view = reshape

    def sized(self: Any, *shape: Any) -> Tensor:
        """The same memory under symbolic sizes that have the values of this run: programs over it are compiled once for all of them.

        >>> from polygrad import Variable
        >>> Tensor([1.0, 2.0, 3.0]).sized(Variable("n", 0, 100).bind(3)).sum().item()
        6.0
        """
        new = argfix(shape)
        return like(self, C.poly_sized(self._h, len(new), sizes(self._g, new)))

    def permute(self: Any, order: Any, *args: Any) -> Tensor:
        """Axes in another order.

        >>> Tensor.ones(2, 3, 5).permute(2, 0, 1).shape
        (5, 2, 3)
        """
        order = argfix((order, *args))
        return like(self, C.poly_permute(self._h, len(order), int_array(order)))

    def transpose(self: Any, dim0: int = -2, dim1: int = -1) -> Tensor:
        """Swaps two axes, the last two by default.

        >>> Tensor([[1, 2], [3, 4]]).transpose().tolist()
        [[1, 3], [2, 4]]
        """
        return like(self, C.poly_transpose(self._h, dim0, dim1))

    def expand(self: Any, shape: Any, *args: Any) -> Tensor:
        """Stretches axes of size 1; -1 or None keeps a size, missing leading axes are added.

        >>> Tensor([[1], [2]]).expand(2, 3).tolist()
        [[1, 1, 1], [2, 2, 2]]
        """
        new = tuple(-1 if s is None else s for s in argfix((shape, *args)))
        return like(self, C.poly_expand(self._h, len(new), sizes(self._g, new)))

    def shrink(self: Any, arg: Any) -> Tensor:
        """Cuts out begin:end of each axis; None keeps an axis.

        >>> Tensor.arange(9).reshape(3, 3).shrink(((0, 2), None)).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        shape, out = self.shape, []
        for pair, size in zip(_pairs(self, arg, "shrink"), shape):
            begin, end = (0, size) if pair is None else pair
            if begin.__class__ is int and begin < 0 and size.__class__ is int:
                begin += size
            if end.__class__ is int and end < 0 and size.__class__ is int:
                end += size
            out += [dim_code(begin, self._g), dim_code(end, self._g)]
        return like(self, C.poly_shrink(self._h, int64_array(out)))

    def pad(self: Any, padding: Any = None, mode: str = "constant", value: float = 0.0, *, arg: Any = None) -> Tensor:
        """Adds elements around the tensor: ((before, after), ...) for each axis, or PyTorch's flat list from the last axis.

        mode is 'constant', 'reflect', 'replicate' or 'circular'. Negative padding crops. arg is another name of padding.

        >>> Tensor([1, 2, 3]).pad(((1, 2),)).tolist()
        [0, 1, 2, 3, 0, 0]
        >>> Tensor([1, 2, 3]).pad((2, 1), mode="reflect").tolist()
        [3, 2, 1, 2, 3, 2]
        """
        if (padding is None) == (arg is None):
            raise TypeError("pad needs its padding, once")
        padding = arg if padding is None else padding
        if mode not in _PAD_MODES:
            raise NotImplementedError(f"mode must be one of {', '.join(_PAD_MODES)}, not {mode!r}")
        padding = tuple(padding)
        if padding and all(p is None or isinstance(p, (tuple, list)) for p in padding):
            pairs = _pairs(self, padding, "pad")
        else:
            if len(padding) % 2 or len(padding) > 2 * self.ndim:
                raise ValueError(f"flat padding needs two numbers an axis, got {padding} for shape {self.shape}")
            pairs = [None] * (self.ndim - len(padding) // 2)
            pairs += list(zip(padding[-2::-2], padding[::-2]))
        flat = [v for p in pairs for v in ((0, 0) if p is None else p)]
        if value and number_dtype(self.dtype, value) is not self.dtype:  # 2.5 around integers: all become floats
            return self.cast(number_dtype(self.dtype, value)).pad(padding, mode, value)
        if mode == "constant" and past_double(value, self.dtype):
            return (self - value).pad(padding) + value
        return like(self, C.poly_pad(self._h, sizes(self._g, flat), _PAD_MODES[mode], float(value)))

    def pad_to(self: Any, shape: Any, *args: Any, value: float = 0.0) -> Tensor:
        """Pads at the end up to a shape; None keeps an axis.

        >>> Tensor([1, 2]).pad_to(4).tolist()
        [1, 2, 0, 0]
        """
        new = argfix((shape, *args))
        if len(new) != self.ndim:
            raise ValueError(f"pad_to needs {self.ndim} sizes for shape {self.shape}, got {new}")
        return self.pad(tuple((0, 0 if n is None else n - s) for s, n in zip(self.shape, new)), value=value)

    def shrink_to(self: Any, shape: Any, *args: Any) -> Tensor:
        """Cuts the end off down to a shape; None keeps an axis.

        >>> Tensor([1, 2, 3]).shrink_to(2).tolist()
        [1, 2]
        """
        return self.shrink(tuple(None if n is None else (0, n) for n in argfix((shape, *args))))

    def flip(self: Any, axis: Any, *args: Any) -> Tensor:
        """Turns axes around.

        >>> Tensor([[1, 2], [3, 4]]).flip(0).tolist()
        [[3, 4], [1, 2]]
        """
        axes = argfix((axis, *args))
        return like(self, C.poly_flip(self._h, len(axes), int_array(axes)))

    def squeeze(self: Any, dim: int | None = None) -> Tensor:
        """Removes an axis of size 1, or all of them. An axis of another size stays.

        >>> Tensor.ones(2, 1, 3, 1).squeeze().shape
        (2, 3)
        """
        return like(self, C.poly_squeeze(self._h, sig.POLY_ALL_AXES if dim is None else dim))

    def unsqueeze(self: Any, dim: int) -> Tensor:
        """Adds an axis of size 1.

        >>> Tensor([1, 2]).unsqueeze(1).tolist()
        [[1], [2]]
        """
        return like(self, C.poly_unsqueeze(self._h, dim))

    def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Joins the axes from start_dim to end_dim.

        >>> Tensor.ones(2, 3, 4).flatten(1).shape
        (2, 12)
        """
        return like(self, C.poly_flatten(self._h, start_dim, end_dim))

    def unflatten(self: Any, dim: int, sizes: Any) -> Tensor:
        """Splits an axis into several; one size may be -1.

        >>> Tensor.ones(3, 4).unflatten(1, (2, -1)).shape
        (3, 2, 2)
        """
        values = [s if s.__class__ is int else dim_code(s, self._g) for s in sizes]
        return like(self, C.poly_unflatten(self._h, dim, len(values), int64_array(values)))

    def repeat(self: Any, repeats: Any, *args: Any) -> Tensor:
        """Tiles the tensor.

        >>> Tensor([1, 2]).repeat(2, 2).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
        """
        values = argfix((repeats, *args))
        return like(self, C.poly_repeat(self._h, len(values), sizes(self._g, values)))

    def repeat_interleave(self: Any, repeats: Any, dim: int | None = None) -> Tensor:
        """Repeats each element; of the flattened tensor if dim is None. A tensor of counts, one for each element, is computed to know
        the size of the result.

        >>> Tensor([1, 2]).repeat_interleave(2).tolist()
        [1, 1, 2, 2]
        >>> Tensor([1, 2]).repeat_interleave(Tensor([3, 1])).tolist()
        [1, 1, 1, 2]
        """
        x = self.flatten() if dim is None else self
        if isinstance(repeats, (list, tuple)) or (hasattr(repeats, "shape") and repeats.shape != ()):
            return _repeat_each(x, operand(self, repeats), 0 if dim is None else dim)
        return like(self, C.poly_repeat_interleave(x._h, repeats, 0 if dim is None else dim))

    def roll(self: Any, shifts: Any, dims: Any = None) -> Tensor:
        """Shifts elements along axes; what falls off one end comes back at the other.

        >>> Tensor([1, 2, 3]).roll(1).tolist()
        [3, 1, 2]
        """
        if dims is None:
            return self.flatten().roll(shifts, 0).reshape(self.shape)
        shifts, dims = (tuple(v) if isinstance(v, (tuple, list)) else (v,) for v in (shifts, dims))
        if len(shifts) != len(dims):
            raise RuntimeError(f"roll needs as many shifts as axes, got {shifts} and {dims}")
        return like(self, C.poly_roll(self._h, len(dims), int64_array(shifts, "shift"), int_array(dims)))

    def cat(self: Any, *args: Any, dim: int = 0) -> Tensor:
        """Joins tensors along an axis: a.cat(b) or Tensor.cat(a, b).

        >>> Tensor.cat(Tensor([1]), Tensor([2, 3])).tolist()
        [1, 2, 3]
        """
        if self.__class__.__module__ != _HERE and (each := _each(self)):  # values by type, see geometric.nn.to_hetero
            return each(lambda *ts: ts[0].cat(*ts[1:], dim=dim), *argfix((self, *args)))
        ts = _tensors(self, args)
        return like(ts[0], C.poly_cat(handles(ts), len(ts), dim), *ts)

    def stack(self: Any, *args: Any, dim: int = 0) -> Tensor:
        """Joins tensors along a new axis.

        >>> Tensor.stack(Tensor([1, 2]), Tensor([3, 4])).tolist()
        [[1, 2], [3, 4]]
        """
        if self.__class__.__module__ != _HERE and (each := _each(self)):
            return each(lambda *ts: ts[0].stack(*ts[1:], dim=dim), *argfix((self, *args)))
        ts = _tensors(self, args)
        return like(ts[0], C.poly_stack(handles(ts), len(ts), dim), *ts)

    def split(self: Any, sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
        """Parts of one size (the last may be smaller) or of the given sizes.

        >>> [t.tolist() for t in Tensor.arange(5).split(2)]
        [[0, 1], [2, 3], [4]]
        >>> [t.tolist() for t in Tensor.arange(5).split([1, 4])]
        [[0], [1, 2, 3, 4]]
        """
        n = self.size(dim)
        if not hasattr(sizes, "__len__") or getattr(sizes, "ndim", 1) == 0:
            sizes, total = integer(sizes, "the size of the parts"), int(n)
            if sizes < 0 or (sizes == 0 and total):
                raise ShapeError(f"split needs a positive size, got {sizes}")
            sizes = [min(sizes, total - k) for k in range(0, max(1, total), max(1, sizes))]
        values = [s if s.__class__ is int else dim_code(s, self._g) for s in sizes]
        out = handle_array([None] * len(values))
        self._g.check(C.poly_split(self._h, len(values), int64_array(values), dim, out))
        return tuple(like(self, h) for h in out)

    def chunk(self: Any, chunks: int, dim: int = 0) -> list[Tensor]:
        """At most that many parts of equal size, but for the last.

        >>> [t.tolist() for t in Tensor.arange(5).chunk(3)]
        [[0, 1], [2, 3], [4]]
        """
        chunks = integer(chunks, "chunks")
        if chunks <= 0:
            raise ShapeError(f"chunk needs a positive count, got {chunks}")
        chunks = min(chunks, max((1, *self.shape)))  # more parts than elements come to nothing
        out = handle_array([None] * chunks)
        n = C.poly_chunk(self._h, chunks, dim, out)
        if n < 0:
            self._g.fail()
        return [like(self, h) for h in out[:n]]

    def tril(self: Any, diagonal: int = 0) -> Tensor:
        """Zero above a diagonal.

        >>> Tensor.ones(2, 2).tril().tolist()
        [[1.0, 0.0], [1.0, 1.0]]
        """
        return like(self, C.poly_tril(self._h, diagonal))

    def triu(self: Any, diagonal: int = 0) -> Tensor:
        """Zero below a diagonal.

        >>> Tensor.ones(2, 2).triu().tolist()
        [[1.0, 1.0], [0.0, 1.0]]
        """
        return like(self, C.poly_triu(self._h, diagonal))

    def diag(self: Any) -> Tensor:
        """A vector as a diagonal matrix.

        >>> Tensor([1, 2]).diag().tolist()
        [[1, 0], [0, 2]]
        """
        return like(self, C.poly_diag(self._h))

    def diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        """The diagonal of two axes, as a new last axis.

        >>> Tensor([[1, 2], [3, 4]]).diagonal().tolist()
        [1, 4]
        """
        n = self.ndim
        for d in (dim1, dim2):
            if not -n <= d < n:
                raise IndexError(f"axis {d} is out of range for shape {self.shape}")
        dim1, dim2 = dim1 % n, dim2 % n
        if dim1 == dim2:
            raise RuntimeError("dim1 and dim2 cannot be the same dimension")
        x = self.permute(*(k for k in range(n) if k not in (dim1, dim2)), dim1, dim2)
        rows, cols = x.shape[-2:]
        top, left = max(0, -offset), max(0, offset)
        d = max(0, min(rows - top, cols - left))
        if (rows, cols) != (d, d):
            keep = [None] * (n - 2)
            top, left = min(top, rows - d), min(left, cols - d)
            x = x.shrink((*keep, (top, top + d), (left, left + d)))
        return like(self, C.poly_diagonal(x._h))

    def unfold(self: Any, dim: int, size: int, step: int) -> Tensor:
        """Windows along an axis, as a new last axis.

        >>> Tensor.arange(5).unfold(0, 3, 1).tolist()
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        """
        return like(self, C.poly_unfold(self._h, dim, size, step))

    def one_hot(self: Any, num_classes: int = -1) -> Tensor:
        """Whole numbers to rows with one 1.

        >>> Tensor([0, 2]).one_hot(3).tolist()
        [[1, 0, 0], [0, 0, 1]]
        """
        return like(self, C.poly_one_hot(self._h, num_classes))

    def rearrange(self: Any, formula: str, **lengths: Any) -> Tensor:
        """Reshapes and permutes by names, as einops does.

        >>> Tensor.ones(2, 6).rearrange("b (h w) -> b w h", h=2).shape
        (2, 3, 2)
        """
        return _rearrange(self, formula, lengths)

    @property
    def T(self: Any) -> Tensor:
        """The last two axes swapped.

        >>> Tensor([[1, 2], [3, 4]]).T.tolist()
        [[1, 3], [2, 4]]
        """
        if self.ndim > 2:
            warn_once("T", "x.T swaps the last two axes; PyTorch turns all of them around: write transpose or permute")
        return self.transpose()

    @property
    def max_shape(self: Any) -> tuple[int, ...]:
        """The shape with the largest value of each symbolic size.

        >>> from polygrad import Variable
        >>> Tensor.ones(8, 3)[: Variable("n", 1, 5).bind(2)].max_shape
        (5, 3)
        """
        return tuple(n.vmax if isinstance(n, Dim) else n for n in self.shape)

    def max_numel(self: Any) -> int:
        """The number of elements in max_shape.

        >>> Tensor.ones(2, 3).max_numel()
        6
        """
        return math.prod(self.max_shape)

    def size(self: Any, dim: int | None = None) -> Any:
        """The shape, or the size of one axis.

        >>> Tensor.ones(2, 3).size(), Tensor.ones(2, 3).size(-1)
        ((2, 3), 3)
        """
        if dim.__class__ is int:
            size = C.poly_dim(self._h, dim)
            if size >= 0:
                return size
            if size == -1:
                C.poly_clear_error(self._g.ptr)
        shape = self.shape
        if dim is None:
            return shape
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"axis {dim} is out of range for a tensor of {len(shape)} dimensions")
        return shape[dim]


def _kept_size(x: Any, k: int, s: Any) -> Any:
    """None means the size that the axis has; so does a Variable without a value, if its bounds allow it."""
    shape = x.shape
    if s is not None and s.__class__ is not Variable:
        return s
    if k >= len(shape):
        raise ValueError(f"reshape of shape {shape}: there is no axis {k} to take a size from")
    if s is not None and not s.vmin <= int(shape[k]) <= s.vmax:
        raise ValueError(f"size {shape[k]} of axis {k} is outside the bounds of {s}")
    return shape[k]


_HERE = "polygrad.tensor"  # where Tensor is from


def _each(first: Any) -> Any:
    """The function that does something for each type, of a value by type or a list of such; None for tensors."""
    return getattr(first[0] if isinstance(first, (list, tuple)) and first else first, "for_each", None)


def _tensors(first: Any, rest: tuple[Any, ...]) -> list[Any]:
    ts = list(argfix((first, *rest)))
    if not ts:
        raise ValueError("at least one tensor is needed")
    if isinstance(ts[0], (list, tuple)):
        raise ValueError("tensors are given one by one, or as one list: not a list and further ones")
    for t in ts[1:]:
        if isinstance(t, type(ts[0])):
            same_graph(ts[0], t)
    return [ts[0]] + [operand(ts[0], t) for t in ts[1:]]


def _parse_side(text: str) -> list[list[str]]:
    """'b (h w) ...' to [['b'], ['h', 'w'], [EACH]]; '1' and '()' give empty groups, '(...)' gives ['...']."""
    groups: list[list[str]] = []
    inside: list[str] | None = None
    for token in text.replace("(", " ( ").replace(")", " ) ").replace("…", "...").replace("...", " ... ").split():
        if token == "(":
            if inside is not None:
                raise ShapeError(f"nested parentheses in {text!r}")
            inside = []
        elif token == ")":
            if inside is None:
                raise ShapeError(f"unbalanced parentheses in {text!r}")
            groups.append(inside)
            inside = None
        else:
            if token not in ("1", "...") and (not token.isidentifier() or "_" in (token[0], token[-1])):
                raise ShapeError(f"{token!r} in {text!r} is no name of an axis")
            names = [] if token == "1" else [token]
            if inside is not None:
                inside += names
            else:
                groups.append([EACH] if token == "..." else names)
    if inside is not None:
        raise ShapeError(f"unbalanced parentheses in {text!r}")
    return groups


def _rearrange(x: Any, formula: str, lengths: dict[str, Any]) -> Tensor:
    left, arrow, right = formula.partition("->")
    if not arrow:
        raise ShapeError(f"rearrange needs 'from -> to', got {formula!r}")
    lhs, rhs = _parse_side(left), _parse_side(right)
    shape = x.shape
    if ["..."] in lhs:
        raise ShapeError(f"an ellipsis on the left of {formula!r} stands for whole axes: it cannot be in parentheses")
    if [EACH] in lhs:  # names for the axes that the ellipsis stands for
        k = lhs.index([EACH])
        extra = len(shape) - len(lhs) + 1
        if extra < 0:
            raise ShapeError(f"{formula!r} does not fit shape {shape}")
        names = [f"...{i}" for i in range(extra)]
        lhs[k : k + 1] = [[n] for n in names]
        rhs = [g2 for g in rhs for g2 in ([[n] for n in names] if g == [EACH] else [[m for n in g for m in (names if n == "..." else [n])]])]
    if len(lhs) != len(shape):
        raise ShapeError(f"{formula!r} names {len(lhs)} axes, the shape is {shape}")
    flat, to = [n for g in lhs for n in g], [n for g in rhs for n in g]
    if len(set(flat)) != len(flat) or sorted(flat) != sorted(to):
        raise ShapeError(f"both sides of {formula!r} must have the same names, each once")
    unknown = set(lengths) - set(flat)
    if unknown:
        raise ShapeError(f"{', '.join(sorted(unknown))} not in {formula!r}")
    known: dict[str, Any] = dict(lengths)
    for group, size in zip(lhs, shape):
        if not group and size != 1:
            raise ShapeError(f"{formula!r} expects an axis of size 1 in shape {shape}")
        missing = [n for n in group if n not in known]
        if len(missing) > 1:
            raise ShapeError(f"the sizes of {' and '.join(missing)} in {formula!r} cannot both be derived")
        product = 1
        for n in group:
            product = product * known[n] if n in known else product
        if missing:
            known[missing[0]] = size if product.__class__ is int and product == 1 else size // product
            product = product * known[missing[0]]
        if group and product.__class__ is int and size.__class__ is int and product != size:
            raise ShapeError(f"group ({' '.join(group)}) of {formula!r} does not divide size {size} of shape {shape}")
    x = x.reshape(tuple(known[n] for n in flat))
    if flat != to:
        x = x.permute(tuple(flat.index(n) for n in to))
    out = []
    for group in rhs:
        product = 1
        for n in group:
            product = product * known[n]
        out.append(product)
    return x.reshape(tuple(out))
