"""tinygrad's place of schedules: what a tensor needs to be computed, as a list that can be run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._ffi import C
from ..plan import Item, Plan


@dataclass
class ExecItem:
    """A kernel or a call of a library routine that is to run for some tensors. Kernels of one program run together: the first that is asked to
    runs them all."""

    kind: str
    tensors: Sequence[Any]
    item: Item

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Computes the tensors, unless that was done."""
        self.tensors[0].realize(*self.tensors[1:])

    def lower(self) -> ExecItem:
        """The item itself: code is made when it runs."""
        return self


def schedule_of(tensors: Sequence[Any]) -> list[ExecItem]:
    """What runs when the tensors are realized, of each by itself."""
    from ..tensor import _text

    found = []
    for t in tensors:
        if not t.is_realized:
            found += [ExecItem(item.kind, tensors, item) for item in Plan.parse(_text(t, C.poly_explain)).items]
    return found


def run_schedule(schedule: list[ExecItem], var_vals: Any = None, do_update_stats: bool = True) -> None:
    """Runs what is in a schedule and takes it out."""
    while schedule:
        schedule.pop(0).run()


__all__ = ["ExecItem", "run_schedule", "schedule_of"]
