"""Tensors in memory that several processes see: `share_memory_()`, and what `torch.multiprocessing.spawn` sends.

A tensor that is shared lies in a segment of the system's shared memory, which it borrows. Sent to another process by way of Python's
multiprocessing, it travels as the name of its segment; a change in place in one process is seen in all. The process that made a segment
removes it when the last tensor on it is gone, or, once it was sent, when the process ends: nobody knows when a receiver opens it.
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment, no-untyped-call"

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from .._core import C
from .._core import from_numpy as _borrow
from ..autograd import current, making
from ..tensor import Tensor as Plain
from .tensor import Parameter, Tensor

_segments: weakref.WeakValueDictionary[int, Segment] = weakref.WeakValueDictionary()  # by the number of the memory of a tensor
_sent: list[Segment] = []
_sending = threading.local()


class Segment:
    """A segment of shared memory. `mine`: this process made it and removes it."""

    def __init__(self, memory: SharedMemory, mine: bool):
        self.memory, self.maker = memory, os.getpid() if mine else 0

    def remove(self) -> None:
        """Takes the name away; the memory is there until the last process has let it go."""
        if self.maker == os.getpid():
            self.maker = 0
            with contextlib.suppress(FileNotFoundError):
                self.memory.unlink()

    def __del__(self) -> None:
        self.remove()
        # Arrays on it may still be held: the mapping goes with the last of them, and is not closed here.
        self.memory._buf = self.memory._mmap = None  # type: ignore[attr-defined]


class _Part(np.ndarray):
    """An array that keeps its segment."""

    segment: Segment


def _on(segment: Segment, shape: tuple[int, ...], dtype: Any) -> Any:
    """A tensor on a segment."""
    array = np.ndarray.__new__(_Part, shape, dtype, buffer=segment.memory.buf)
    array.segment = segment
    with making(Tensor):
        out = _borrow(current(), array)
    _segments[int(C.poly_memory_id(out._h))] = segment
    out._shared = True  # changes in place are written at once
    return out


def segment_of(t: Any) -> Segment | None:
    """The segment that a tensor lies in."""
    return _segments.get(int(C.poly_memory_id(t._h))) if _segments and C.poly_is_realized(t._h) else None


def share(t: Any) -> Any:
    """Moves the values of a tensor into shared memory; the tensor stays the same object."""
    values = np.ascontiguousarray(Plain.numpy(t.detach()))
    if values.size == 0 or segment_of(t) is not None:
        return t
    segment = Segment(SharedMemory(create=True, size=values.nbytes), True)
    there = _on(segment, values.shape, values.dtype)
    np.copyto(np.ndarray(values.shape, values.dtype, buffer=segment.memory.buf), values)
    t.replace(there)
    t._base, t._shared = None, True  # it has memory of its own now, and is no view
    return t


@contextlib.contextmanager
def sending() -> Iterator[None]:
    """While this is open, tensors that are pickled for another process are shared with it."""
    _sending.on = True
    try:
        yield
    finally:
        _sending.on = False


def _again(name: str, cls: type, shape: tuple[int, ...], dtype: str, wanted: Any, param: Any) -> Any:
    segment = Segment(SharedMemory(name=name), False)
    out = _on(segment, shape, np.dtype(dtype))
    if cls is Parameter or param:
        out = Parameter(out, requires_grad=bool(wanted))
    elif wanted:
        out.requires_grad_()
    return out


def _reduce(t: Any) -> Any:
    if getattr(_sending, "on", False):
        share(t)
    segment = segment_of(t)
    if segment is None:
        return t.__reduce__()
    _sent.append(segment)
    values = Plain.numpy(t.detach())
    return _again, (segment.memory.name, type(t), values.shape, values.dtype.str, *[getattr(t, n, None) for n in ("_wanted", "_param")])


@atexit.register
def _end() -> None:
    for segment in list(_segments.values()):
        segment.remove()


ForkingPickler.register(Tensor, _reduce)
ForkingPickler.register(Parameter, _reduce)

__all__ = ["segment_of", "sending", "share"]
