"""tinygrad's place of schedules: what a tensor needs to be computed, as a list that can be run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._ffi import C
from ..plan import Item, Plan

if TYPE_CHECKING:
    from ..uop.ops import UOp


class Runner:
    """What an item runs: a routine of a library, or a kernel."""

    def __init__(self, item: Item):
        self.item = item

    @property
    def display_name(self) -> str:
        """Its name."""
        return self.item.name or self.item.kind


class CompiledRunner(Runner):
    """A kernel, also one that computes a matrix product. Scripts count them in a schedule."""


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

    @property
    def ast(self) -> UOp:
        """What runs, as a node: a SINK, by which scripts count kernels. There is nothing below it."""
        from ..uop.ops import Ops, UOp

        node = UOp("program", (), self.item)
        node.op = Ops.SINK
        return node

    @property
    def prg(self) -> Runner:
        """What it runs."""
        return (Runner if self.item.kind == "library" else CompiledRunner)(self.item)

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


def lower_schedule(schedule: list[ExecItem]) -> Iterator[tuple[ExecItem, ExecItem]]:
    """Takes the items out of a schedule: each, and what runs it, which is the same here."""
    while schedule:
        item = schedule.pop(0)
        yield item, item.lower()


def run_schedule(schedule: list[ExecItem], var_vals: Any = None, do_update_stats: bool = True) -> None:
    """Runs what is in a schedule and takes it out."""
    while schedule:
        schedule.pop(0).run()


__all__ = ["CompiledRunner", "ExecItem", "Runner", "lower_schedule", "run_schedule", "schedule_of"]
