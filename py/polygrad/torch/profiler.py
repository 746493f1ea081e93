"""torch.profiler: what ran inside a block.

Kernels are those of `polygrad.Profile`, each with all its runs together; blocks are named by record_function. What a block computes is measured where
it is computed: a result that nobody has read inside the block has not run there.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import functools
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from ..profile import Profile


class ProfilerActivity(Enum):
    """What is to be measured. All of it is: the device that tensors are computed on."""

    CPU = 0
    XPU = 1
    CUDA = 2


class ProfilerAction(Enum):
    """What a step of a schedule does."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """Those that there are a device for."""
    from . import cuda

    return {ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda.is_available() else [])}


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Callable[[int], ProfilerAction]:
    """Of the steps after skip_first, cycles of `wait` that are left out, `warmup` and `active` that are recorded; repeat: how many, 0 without end.

    >>> from polygrad.torch.profiler import schedule
    >>> [schedule(wait=1, warmup=0, active=2, repeat=1)(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments: wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first}"
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0 or (repeat and step >= repeat * length):
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


class Event:
    """All runs of a kernel or of a named block. Times are in microseconds."""

    def __init__(self, key: str, count: int, us: float, device: str, flops: int = 0, nbytes: int = 0, start: float | None = None):
        self.key = self.name = key
        self.count, self.device, self.flops, self.bytes, self.start = count, device, flops, nbytes, start
        on_host = not device.startswith("CUDA")
        self.cpu_time_total = self.self_cpu_time_total = us if on_host else 0.0
        self.cuda_time_total = self.self_cuda_time_total = self.device_time_total = self.self_device_time_total = 0.0 if on_host else us
        self.cpu_memory_usage = self.cuda_memory_usage = self.device_memory_usage = 0
        self._us = us

    cpu_time = property(lambda self: self.cpu_time_total / max(self.count, 1), doc="Of one run.")
    cuda_time = device_time = property(lambda self: self.cuda_time_total / max(self.count, 1), doc="Of one run.")

    def __repr__(self) -> str:
        return f"<Event {self.key} count={self.count} {self._us:.3f}us {self.device}>"


class EventList(list[Event]):
    """Events, as a table."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **others: Any) -> str:
        """One line for each event, the largest of sort_by first."""
        rows = sorted(self, key=lambda e: -getattr(e, sort_by)) if sort_by is not None else list(self)
        lines = [("Name", "Device", "Time total", "Time avg", "# of Calls")]
        lines += [
            (e.key, e.device, f"{e._us:.3f}us", f"{e._us / max(e.count, 1):.3f}us", str(e.count))
            for e in rows[: None if row_limit < 0 else row_limit]
        ]
        widths = [max(len(line[k]) for line in lines) for k in range(5)]
        rule = "  ".join("-" * w for w in widths)
        text = ["  ".join(part.rjust(w) if k > 1 else part.ljust(w) for k, (part, w) in enumerate(zip(line, widths))) for line in lines]
        total = sum(e._us for e in self if e.start is None)
        return "\n".join([rule, text[0], rule, *text[1:], rule, f"Kernels time total: {total:.3f}us"])

    def total_average(self) -> Event:
        """All kernels together."""
        kernels = [e for e in self if e.start is None]
        return Event("Total", sum(e.count for e in kernels), sum(e._us for e in kernels), kernels[0].device if kernels else "CPU")

    __str__ = table


_open: list[Any] = []  # the profiles that record now


class profile:  # noqa: N801
    """Records the kernels that run inside a `with` block, or from start() to stop().

    schedule: which steps are recorded, where step() is called after each; on_trace_ready: is called with the profile when they are, and at the end
    without a schedule. Other arguments are PyTorch's and change nothing.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch.profiler import ProfilerActivity, profile, record_function
    >>> x = torch.rand(64, 64)
    >>> with profile(activities=[ProfilerActivity.CPU]) as prof:
    ...     with record_function("sum"):
    ...         _ = float((x + 1).sum())
    >>> "sum" in [event.key for event in prof.key_averages()], prof.key_averages().table(row_limit=5).count("# of Calls")
    (True, 1)
    """

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None, record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False,
        with_flops: bool = False, with_modules: bool = False, **others: Any,
    ):  # fmt: skip
        self.activities = set(activities) if activities else supported_activities()
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.step_num, self.current_action = 0, schedule(0) if schedule else ProfilerAction.RECORD_AND_SAVE
        self.profiler: Profile | None = None
        self._kernels: list[Any] = []
        self._blocks: list[tuple[str, float, float]] = []

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()

    def _records(self) -> bool:
        return self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def _begin(self) -> None:
        if self.profiler is None and self._records():
            self._blocks, self._kernels = [], []
            self.profiler = Profile().__enter__()
            _open.append(self)

    def _end(self) -> None:
        if self.profiler is not None:
            self.profiler.__exit__()
            self._kernels, self.profiler = self.profiler.kernels, None
            _open.remove(self)

    def start(self) -> None:
        """Begins to record, if the first step of the schedule does."""
        self._begin()

    def stop(self) -> None:
        """Ends the recording, and hands it to on_trace_ready."""
        recorded = self.profiler is not None
        self._end()
        if recorded and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """The next step of the schedule begins."""
        self.step_num += 1
        if self.schedule is None:
            return
        before, self.current_action = self.current_action, self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE or (self.profiler is not None and not self._records()):
            self.stop()
        self._begin()

    # ---- what was found ----

    def events(self) -> EventList:
        """The kernels, each with all its runs, and the named blocks."""
        kernels = [Event(k.name, k.count, k.ms * 1e3, k.device, k.flops, k.bytes) for k in self._kernels]
        return EventList([*kernels, *(Event(name, 1, (end - start) * 1e6, "CPU", start=start) for name, start, end in self._blocks)])

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **others: Any) -> EventList:
        """The events, those of one name together."""
        found: dict[tuple[str, bool], Event] = {}
        for e in self.events():
            key = (e.key, e.start is None)
            other = found.get(key)
            found[key] = e if other is None else Event(e.key, other.count + e.count, other._us + e._us, e.device, start=e.start)
        return EventList(found.values())

    def export_chrome_trace(self, path: str) -> None:
        """Writes a file for chrome://tracing: named blocks where they were, and kernels one after the other, each with the time of all its runs."""
        origin, at, rows = min((start for _, start, _ in self._blocks), default=0.0), 0.0, []
        for e in self.events():
            start = at if e.start is None else (e.start - origin) * 1e6
            at += e._us if e.start is None else 0.0
            thread = "kernels" if e.start is None else "blocks"
            rows.append({"ph": "X", "name": e.key, "pid": e.device, "tid": thread, "ts": start, "dur": e._us, "args": {"count": e.count}})
        with open(path, "w") as out:
            json.dump({"traceEvents": rows}, out)

    def __str__(self) -> str:
        return self.key_averages().table()


class record_function:  # noqa: N801
    """Gives a block, or a function that it decorates, a name in the profiles that are open."""

    def __init__(self, name: str, args: str | None = None):
        self.name = name
        self._starts: list[float] = []

    def __enter__(self) -> record_function:
        self._starts.append(time.perf_counter())
        return self

    def __exit__(self, *exc: Any) -> None:
        start = self._starts.pop()
        for prof in _open:
            prof._blocks.append((self.name, start, time.perf_counter()))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return call


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[Any], None]:
    """An on_trace_ready that writes each recording into a file of a folder."""

    def handler(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handler


__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
