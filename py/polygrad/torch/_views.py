"""Views: what x[0], x.view(-1), x.t(), x.detach() and their like give knows what it was taken from, and the whole knows its views: a change of either
in place is a change of the other as well.

A tensor here is a value and shares no memory. A view therefore holds a weak reference to the tensor it was taken from and the step that took it.
A change of the view is carried to that tensor, which carries it on to what it is itself a view of; a tensor in between that nobody holds any more is
passed over, by taking all the steps at once. In the other direction a tensor keeps weak references to the views taken from it, of any depth,
and takes those that are still held anew when it changes.
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from weakref import ref

from .._core import C, like
from ..autograd import making
from ..dtypes import dtypes
from ..tensor import Tensor as Plain


def GRADIENT(x: Any) -> Any:
    """The step from a tensor to its gradient: a change of what x.grad gave is a change of x.grad."""
    return x.grad


class View(NamedTuple):
    """How a tensor was taken from another."""

    whole: Any  # a weak reference
    take: Callable[[Any], Any]  # the view of a whole
    give: Callable[[Any, Any], Any] | None  # the whole that has a view; None: found from the places that `take` keeps
    above: View | None  # what the whole is a view of
    detached: bool = False  # the change is one of values alone


_view = partial(tuple.__new__, View)  # without the function in Python that a named tuple is made by: steps of a training loop take many views


def view_of(whole: Any, out: Any, take: Any, give: Any = None, detached: bool = False) -> Any:
    """out, which is take(whole), as a view of whole."""
    if out is not whole:
        above = getattr(whole, "_base", None)
        out._base = _view((ref(whole), take, give, above, detached))
        if above is None:
            _enter(whole, [ref(out)])
        else:
            _enter_all(whole, [ref(out)])
    return out


def _enter_all(whole: Any, views: list[Any]) -> None:
    """whole, and what it is a view of, know these views."""
    _enter(whole, views)
    above = getattr(whole, "_base", None)
    while above is not None:
        further = above.whole()
        if further is not None:
            _enter(further, views)
        above = above.above


_KEPT = 32  # from this many references to views on, those of views that are gone are dropped


def _enter(whole: Any, more: list[Any]) -> None:
    views = getattr(whole, "_views", None)
    if views is None:
        whole._views = list(more)
        return
    if len(views) >= _KEPT and len(views).bit_length() != (len(views) + len(more)).bit_length():  # at powers of two: the cost is spread
        views[:] = [v for v in views if v() is not None]
    views += more


def follow(whole: Any) -> None:
    """whole has changed: its views are taken again."""
    views = getattr(whole, "_views", None)
    for held in tuple(views) if views else ():
        view = held()
        if view is None:
            continue
        steps, step = [], getattr(view, "_base", None)
        while step is not None:
            steps.append(step.take)
            if step.whole() is whole:
                break
            step = step.above
        if step is None:
            continue  # it was made a tensor of its own
        value = whole
        for take in reversed(steps):
            value = take(value)
        Plain.replace(view, value)


def _detached(x: Any) -> Any:
    return like(x, C.poly_detach(x._h))


def _other(whole: Any, value: Any) -> Any:
    return value


def alias(whole: Any, out: Any) -> Any:
    """out, which has the values of whole and no history, as a view of all of it."""
    if "_strides" in whole.__dict__:
        out._strides = whole._strides
    return view_of(whole, out, _detached, _other, True)


def _shape_back(whole: Any, value: Any) -> Any:
    return Plain.reshape(value, whole.shape)


def basic(key: Any) -> bool:
    """Is x[key] a view? An index of numbers, slices, None and `...` gives one; lists and tensors copy."""
    if key.__class__ is int or key.__class__ is slice:
        return True
    keys = key if key.__class__ is tuple else (key,)
    return all(k is None or k is Ellipsis or (isinstance(k, (int, slice)) and not isinstance(k, bool)) for k in keys)


def entry_of(whole: Any, key: Any, out: Any) -> Any:
    """out, which is whole[key], as a view where PyTorch gives one."""
    if not basic(key):
        return out
    # Rows of what lies one after another, and runs of them, do so too.
    if key.__class__ is tuple or (key.__class__ is slice and key.step not in (None, 1)) or "_strides" in whole.__dict__:
        out._strides = _entry_strides(whole, key if key.__class__ is tuple else (key,))
    return view_of(whole, out, lambda x: Plain.__getitem__(x, key))


# ---- strides ----
#
# Values have no place in memory before they are computed, and then lie row by row. What a view's strides would be in PyTorch is counted along, for
# scripts that ask for them or whether a tensor is contiguous. `_strides` of a tensor are a tuple or what they are made of once they are asked for;
# a tensor without lies row by row.


class Turned(NamedTuple):
    """Strides of a tensor that has the axes `order` of another, whose strides are `source`."""

    order: tuple[int, ...]
    source: Any

    def of(self, shape: Any) -> tuple[int, ...]:
        whole = [1] * len(shape)
        for n, axis in zip(shape, self.order):
            whole[axis] = n
        old = _found(self.source, whole)
        return tuple(old[axis] for axis in self.order)


class Expanded(NamedTuple):
    """Strides of a tensor that was expanded from one of the shape `mine` and the strides `source`."""

    mine: Any
    source: Any

    def of(self, shape: Any) -> tuple[int, ...]:
        new = len(shape) - len(self.mine)
        old = _found(self.source, self.mine)
        return (0,) * new + tuple(0 if m != n else s for m, n, s in zip(self.mine, shape[new:], old))


def _found(source: Any, shape: Any) -> tuple[int, ...]:
    """The strides of a tensor of this shape, out of its `_strides`; None: it has none."""
    if source is not None:
        return source.of(shape) if isinstance(source, (Turned, Expanded)) else source  # type: ignore[no-any-return]
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= max(int(n), 1)
    return tuple(out[::-1])


def strides(x: Any) -> tuple[int, ...]:
    """The strides that a tensor has in PyTorch."""
    found = x.__dict__.get("_strides")
    return found if found.__class__ is tuple else _found(found, x.shape)


def row_by_row(shape: Any, steps: tuple[int, ...]) -> bool:
    """Are they the strides of values that lie one after another?"""
    expected = 1
    for n, s in zip(reversed(shape), reversed(steps)):
        if n == 0:
            return True
        if n != 1 and s != expected:
            return False
        expected *= int(n)
    return True


def _entry_strides(whole: Any, keys: tuple[Any, ...]) -> tuple[int, ...]:
    old = list(strides(whole))
    given = sum(k is not None and k is not Ellipsis for k in keys)
    out: list[int] = []
    for k in keys:
        if k is None:
            out.append(1)
        elif k is Ellipsis:
            out += old[: len(old) - given]
            del old[: len(old) - given]
        else:
            step = old.pop(0)
            given -= 1
            if isinstance(k, slice):
                out.append(step * (k.step or 1))
    return tuple(out + old)


def carry(view: View | None, value: Any) -> None:
    """The view's whole, and what that is a view of, hold value where the view lies."""
    steps: list[Any] = []
    detached, give = False, None
    while view is not None:
        if view.take is GRADIENT:
            owner = view.whole()
            if owner is not None and not steps:
                owner.grad = value.detach()
            return
        steps.insert(0, view.take)
        detached, give = detached or view.detached, view.give if len(steps) == 1 else None
        whole = view.whole()
        if whole is not None:
            _change(whole, give(whole, value) if give is not None else _placed(whole, steps, value), detached)
            return
        view = view.above


LEAF_IN_PLACE = "a leaf that requires a gradient, or a view of one, cannot be changed in place: use torch.no_grad()"


def is_of_leaf(t: Any) -> bool:
    """Is t a leaf that requires a gradient, or a view of one?"""
    while t is not None:
        if t.requires_grad and getattr(t, "_wanted", None):
            return True
        view, t = getattr(t, "_base", None), None
        while view is not None and t is None and view.take is not GRADIENT and not view.detached:
            t, view = view.whole(), view.above
    return False


def _placed(whole: Any, steps: list[Any], value: Any) -> Any:
    """whole with value at the elements that the steps take."""
    with making(whole._kind):
        places = Plain.arange(whole.numel(), dtype=dtypes.int64)
    places = Plain.reshape(places, whole.shape)
    for take in steps:
        places = take(places)
    flat = Plain.scatter(Plain.reshape(whole, (-1,)), 0, Plain.reshape(places, (-1,)), Plain.reshape(value.cast(whole.dtype), (-1,)))
    return Plain.reshape(flat, whole.shape)


def _change(whole: Any, value: Any, detached: bool) -> None:
    from ._inplace import put, write

    if detached:
        write(whole, value.detach())
    else:
        put(whole, value)


def _reshaping(name: str) -> Any:
    method = getattr(Plain, name)
    of_size_one = name in ("squeeze", "unsqueeze")

    def take(self: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple([tuple(a) if a.__class__ is list else a for a in args])  # the step below outlives the call
        out = method(self, *args, **kwargs)
        if of_size_one and "_strides" in self.__dict__ and out is not self:
            kept = iter(s for n, s in zip(self.shape, strides(self)) if n != 1)
            out._strides = tuple(1 if n == 1 else next(kept) for n in out.shape)
        return view_of(self, out, lambda x: method(x, *args, **kwargs), _shape_back)

    take.__name__, take.__qualname__, take.__doc__ = name, name, method.__doc__
    return take


class Views:
    """The methods that give views. Those that are made of them, such as t() and ravel(), give views too."""

    __slots__ = ()

    for _name in ("reshape", "squeeze", "unsqueeze", "flatten", "unflatten"):
        locals()[_name] = _reshaping(_name)
    del _name

    def permute(self: Any, *order: Any, dims: Any = None) -> Any:
        """Axes in another order."""
        order = order if dims is None else (tuple(dims),)
        out = Plain.permute(self, *order)
        axes = [int(d) % self.ndim for d in (order[0] if len(order) == 1 and isinstance(order[0], (tuple, list)) else order)]
        back = tuple(sorted(range(len(axes)), key=axes.__getitem__))
        if out is not self:
            out._strides = Turned(tuple(axes), self.__dict__.get("_strides"))
        return view_of(self, out, lambda x: Plain.permute(x, tuple(axes)), lambda whole, value: Plain.permute(value, back))

    def transpose(self: Any, dim0: int = 1, dim1: int = 0) -> Any:
        """Two axes swapped."""
        out = Plain.transpose(self, dim0, dim1)
        if out is not self:
            order = list(range(self.ndim))
            order[dim0], order[dim1] = order[dim1], order[dim0]
            out._strides = Turned(tuple(order), self.__dict__.get("_strides"))
        return view_of(self, out, lambda x: Plain.transpose(x, dim0, dim1), lambda whole, value: Plain.transpose(value, dim0, dim1))

    def expand(self: Any, *size: Any, implicit: bool = False) -> Any:
        """Axes of size 1 repeated; -1 keeps a size."""
        size = tuple([tuple(s) if s.__class__ is list else s for s in size])  # the step below outlives the call
        out = Plain.expand(self, *size)
        if out is not self:
            out._strides = Expanded(self.shape, self.__dict__.get("_strides"))
        return view_of(self, out, lambda x: Plain.expand(x, *size))

    def bitcast(self: Any, dtype: Any) -> Any:
        """The same bits read as another dtype: what view(dtype) gives."""
        return view_of(self, Plain.bitcast(self, dtype), lambda x: Plain.bitcast(x, dtype), lambda whole, value: Plain.bitcast(value, whole.dtype))

    def diagonal(self: Any, *args: Any, **kwargs: Any) -> Any:
        """The diagonal of the last two axes, or of those named."""
        return view_of(self, Plain.diagonal(self, *args, **kwargs), lambda x: Plain.diagonal(x, *args, **kwargs))

    def unfold(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Windows along an axis: unfold(dimension, size, step)."""
        return view_of(self, Plain.unfold(self, *args, **kwargs), lambda x: Plain.unfold(x, *args, **kwargs))


def parts(whole: Any, pieces: Any, dim: int, sizes: Any = None) -> tuple[Any, ...]:
    """What split and chunk give, as views: pieces one after another along an axis, of these sizes if they are known."""
    at, dim = 0, dim % whole.ndim
    held, above = ref(whole), getattr(whole, "_base", None)
    for piece, n in zip(pieces, sizes or [piece.size(dim) for piece in pieces]):
        piece._base = _view((held, partial(_part, dim, at, n), None, above, False))
        at += n
    _enter_all(whole, [ref(piece) for piece in pieces])
    return tuple(pieces)


def _part(dim: int, at: int, n: Any, x: Any) -> Any:
    return Plain.shrink(x, (None,) * dim + ((at, at + n),) + (None,) * (x.ndim - dim - 1))


__all__ = ["GRADIENT", "View", "Views", "alias", "basic", "carry", "entry_of", "follow", "parts", "row_by_row", "strides", "view_of"]
