"""The next batch is made, and copied to the device, before the last one is handed out: a GPU copies it while it computes on the last one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._core import C, current
from ...tensor import Tensor
from ._columns import Column


def copied_ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches, each of which is made before the one in front of it is handed out, if the device copies beside its work."""
    if not C.poly_can_copy_ahead(current().ptr):
        yield from batches
        return
    last: list[Any] = []
    while True:
        try:
            made = [_next(batches)]
        except StopIteration:
            break
        except Exception:
            yield from map(_given, last)  # what was made before comes first
            raise
        yield from map(_given, last)
        last = made
    yield from map(_given, last)


def holds_tensors(x: Any) -> bool:
    """Is an attribute that batches are made of a tensor? It may have another value after the next step. x: columns, by type, of several loaders."""
    if isinstance(x, Column):
        return isinstance(x.values, Tensor)
    if isinstance(x, dict):
        return any(map(holds_tensors, x.values()))
    return isinstance(x, (list, tuple)) and any(map(holds_tensors, x))


def _next(batches: Iterator[Any]) -> Any:
    g = current()
    C.poly_set_copy_ahead(g.ptr, True)
    try:
        return next(batches)
    finally:
        C.poly_set_copy_ahead(g.ptr, False)


def _given(batch: Any) -> Any:
    """What is known of the batch's own index vectors still holds: nobody else has had them."""
    for store in getattr(batch, "stores", ()):
        for value in store.values():
            bounds = getattr(value, "_bounds", None)
            if bounds is not None:
                value._bounds = (*bounds[:2], value._g.changes)
    return batch


__all__ = ["copied_ahead", "holds_tensors"]
