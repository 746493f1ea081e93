"""Loops over steps: scan runs one step again and again, as a loop of the compiled program rather than as copies of it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ._core import C, like
from ._ffi import handle_array
from .autograd import AutogradGraph, current, raised
from .symbolic import dim_code
from .tensor import Tensor

_RESULTS, _REVERSE, _RECOMPUTE = 256, 1, 2  # POLY_SCAN_...
building = 0  # bodies of loops that are being built: their values cannot be read
_Handles: Any = ctypes.POINTER(ctypes.c_void_p)
_Step: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _Handles, ctypes.c_int, _Handles, ctypes.c_int, _Handles, _Handles)


class _PolyScanBody(ctypes.Structure):
    _fields_ = [("step", _Step), ("user", ctypes.c_void_p)]


# ---- trees of tensors ----


def _flatten(tree: Any, out: list[Any]) -> Any:
    """Appends the leaves of a tree of tuples, lists and dicts to out, and gives its form: what _build takes."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {k: _flatten(v, out) for k, v in tree.items()}
    if isinstance(tree, (tuple, list)):
        parts = [_flatten(v, out) for v in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    out.append(tree)
    return _Leaf


class _Leaf:
    """Stands for a tensor in the form of a tree."""


def _build(form: Any, leaves: list[Any]) -> Any:
    if form is None:
        return None
    if form is _Leaf:
        return leaves.pop(0)
    if isinstance(form, dict):
        return {k: _build(v, leaves) for k, v in form.items()}
    parts = [_build(v, leaves) for v in form]
    return type(form)(*parts) if hasattr(form, "_fields") else type(form)(parts)


def _tensors(values: list[Any]) -> list[Tensor]:
    return [v if isinstance(v, Tensor) else Tensor(v) for v in values]


# ---- scan ----


class _Body:
    """The step of one scan, for the time in which the core builds it."""

    def __init__(self, f: Callable[[Any, Any], Any], model: Any, carry: Any, x: Any):
        self.f, self.model, self.carry, self.x, self.y = f, model, carry, x, None

    def __call__(self, user: int, carry: Any, ncarry: int, x: Any, nx: int, new: Any, y: Any) -> int:
        global building
        building += 1
        try:
            args = [like(self.model, C.poly_retain_copy(h)) for h in [*carry[:ncarry], *x[:nx]]]
            given = self.f(_build(self.carry, args), _build(self.x, args))
            if not isinstance(given, (tuple, list)) or len(given) != 2:
                raise TypeError("scan: the body returns the new carried values and the result of the step, (carry, y)")
            states: list[Any] = []
            results: list[Any] = []
            form = _flatten(given[0], states)
            if form != self.carry:
                raise ValueError(f"scan: the carried values begin as {_words(self.carry)} and become {_words(form)}")
            self.y = _flatten(given[1], results)
            if len(results) > _RESULTS:
                raise ValueError(f"scan: the body gives {len(results)} results, at most {_RESULTS} are possible")
            kept = _tensors(states), _tensors(results)
            for into, tensors in zip((new, y), kept):
                for k, t in enumerate(tensors):
                    into[k] = C.poly_retain_copy(t._h)
            return len(results)
        except BaseException as error:  # comes out of the call of scan
            raised.append(error)
            return -1
        finally:
            building -= 1


def _words(form: Any) -> str:
    """The form of a tree in words."""
    if form is _Leaf:
        return "a tensor"
    if isinstance(form, dict):
        return "{" + ", ".join(f"{k!r}: {_words(v)}" for k, v in form.items()) + "}"
    return "None" if form is None else "(" + ", ".join(_words(v) for v in form) + ")"


def _run(f: Callable[[Any, Any], Any], init: Any, xs: Any, length: Any, flags: int) -> tuple[Any, Any]:
    first: list[Any] = []
    rows: list[Any] = []
    carry_form, x_form = _flatten(init, first), _flatten(xs, rows)
    first, rows = _tensors(first), _tensors(rows)
    g: AutogradGraph = (first + rows)[0]._g if first or rows else current()
    body = _Body(f, (first + rows)[0] if first or rows else Tensor(0.0), carry_form, x_form)
    last, stacked = (ctypes.c_void_p * (len(first) + 1))(), (ctypes.c_void_p * _RESULTS)()
    step = _Step(body)
    n = C.poly_scan(
        g.ptr, ctypes.byref(_PolyScanBody(step, None)), handle_array([t._h for t in first]), len(first), handle_array([t._h for t in rows]),
        len(rows), -1 if length is None else dim_code(length, g), flags, last, stacked,
    )  # fmt: skip
    if n < 0:
        g.fail()
    final = [like(body.model, last[k]) for k in range(len(first))]
    return _build(carry_form, final), _build(body.y, [like(body.model, stacked[k]) for k in range(n)])


def _map(tree: Any, f: Callable[[Tensor], Tensor]) -> Any:
    leaves: list[Any] = []
    form = _flatten(tree, leaves)
    return _build(form, [f(t) for t in _tensors(leaves)])


def _chunked(f: Callable[[Any, Any], Any], init: Any, xs: Any, length: Any, reverse: bool, chunk: int) -> tuple[Any, Any]:
    """A loop over chunks, each of which is a loop of its own that the gradient runs again. What is left over is a shorter chunk at the end."""
    rows: list[Any] = []
    _flatten(xs, rows)
    n = length if length is not None else _tensors(rows[:1])[0].shape[0] if rows else None
    if not isinstance(n, int):
        raise ValueError(f"scan: checkpoint={chunk} needs a number of steps that is known, not {n}; checkpoint=True works with any")
    whole = n // chunk * chunk

    def inside(carry: Any, x: Any) -> tuple[Any, Any]:
        return scan(f, carry, x, length=chunk, reverse=reverse)

    def chunks(carry: Any) -> tuple[Any, Any]:
        parts = _map(xs, lambda t: t[:whole].reshape(whole // chunk, chunk, *t.shape[1:]))
        carry, y = scan(inside, carry, parts, length=whole // chunk, reverse=reverse, checkpoint=True)
        return carry, _map(y, lambda t: t.reshape(whole, *t.shape[2:]))

    def rest(carry: Any) -> tuple[Any, Any]:
        return scan(f, carry, _map(xs, lambda t: t[whole:]), length=n - whole, reverse=reverse, checkpoint=True)

    if whole == n or not whole:
        return chunks(init) if whole else rest(init)
    carry, y = rest(init) if reverse else chunks(init)
    carry, z = chunks(carry) if reverse else rest(carry)
    parts: list[Any] = []
    form = _flatten(z if reverse else y, parts)
    ends: list[Any] = []
    _flatten(y if reverse else z, ends)
    return carry, _build(form, [a.cat(b, dim=0) for a, b in zip(parts, ends)])


def scan(
    f: Callable[[Any, Any], Any], init: Any, xs: Any = None, *, length: Any = None, reverse: bool = False, checkpoint: bool | int = False
) -> tuple[Any, Any]:
    """Runs carry, y = f(carry, x) for each row x of xs, from the carry init on, and gives the last carry and all y stacked.

    init, xs, carry and y are tensors or tuples, lists and dicts of them; xs may be None, if length says how many steps there are. The carry keeps
    its form, shapes and dtypes. f is called once: it builds one step, which is compiled once and run as a loop, and so is its gradient.
    f may use any tensors from outside, but must not draw random numbers: give them as xs.

    reverse: from the last row to the first. checkpoint=True: for gradients only the carries are kept, and each step is computed again;
    checkpoint=k: only every k-th, and k steps are computed again at a time, so that memory for n steps is that of n/k + k.

    >>> from polygrad import Tensor, scan
    >>> total, sums = scan(lambda c, x: (c + x, c + x), Tensor(0.0), Tensor([1.0, 2.0, 3.0]))
    >>> total.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    if checkpoint is not True and checkpoint is not False:
        if checkpoint < 1:
            raise ValueError(f"scan: checkpoint={checkpoint} steps")
        return _chunked(f, init, xs, length, reverse, int(checkpoint))
    return _run(f, init, xs, length, (_REVERSE if reverse else 0) | (_RECOMPUTE if checkpoint else 0))


_LEAST = 3  # steps: two copies of a small body may become one kernel, and a loop costs as much to plan as its body


def repeated(f: Callable[[Any], Any], x: Any, n: int) -> Any:
    """f(f(... f(x))), n times: a loop, unless the steps are few. f draws no random numbers and reads no values."""
    if n < _LEAST:
        for _ in range(n):
            x = f(x)
        return x
    return scan(lambda c, _: (f(c), None), x, length=n)[0]


__all__ = ["repeated", "scan"]
