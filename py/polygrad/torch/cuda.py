"""torch.cuda: whether tensors are computed on a GPU. They are where polygrad.Device.DEFAULT names one."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from ..autograd import current
from ..device import Device, is_gpu
from ._modules import regrouped as _regrouped
from .settings import amp as _amp


def is_available() -> bool:
    """Are tensors computed on a GPU here?"""
    return is_gpu(Device.DEFAULT)


def device_count() -> int:
    """1 where tensors are computed on a GPU, else 0."""
    return int(is_available())


def current_device() -> int:
    """The number of the GPU in use."""
    return int(Device.DEFAULT.partition(":")[2] or 0)


def get_device_name(device: Any = None) -> str:
    """The name of the device in use."""
    return current().card(Device.DEFAULT)


def synchronize(device: Any = None) -> None:
    """Waits until everything that was started has ended."""
    current().synchronize()


def empty_cache() -> None:
    """Gives the card what is kept of its memory for later tensors."""
    current().trim(Device.DEFAULT)


def manual_seed(seed: int) -> None:
    """Sets the seed of the library."""
    from .functions import manual_seed

    manual_seed(seed)


manual_seed_all = manual_seed


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of the device that were in use."""
    return current().peak_bytes_on(Device.DEFAULT)


def memory_allocated(device: Any = None) -> int:
    """Bytes of the device in use."""
    return current().live_bytes_on(Device.DEFAULT)


def memory_reserved(device: Any = None) -> int:
    """Bytes taken of the device's memory, those kept for later tensors included: what nvidia-smi shows besides the driver's own."""
    return current().held_bytes_on(Device.DEFAULT)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Makes max_memory_allocated start again."""
    current().reset_peak()


@contextlib.contextmanager
def device(device: Any) -> Any:
    """There is one device: nothing changes."""
    yield


def set_device(device: Any) -> None:
    """There is one device: nothing changes."""


max_memory_reserved = max_memory_cached = memory_reserved
memory_cached = memory_reserved
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def memory_stats(device: Any = None) -> dict[str, int]:
    """Bytes in use and at most, under PyTorch's names."""
    return {
        "allocated_bytes.all.current": memory_allocated(), "allocated_bytes.all.peak": max_memory_allocated(),
        "reserved_bytes.all.current": memory_reserved(), "reserved_bytes.all.peak": memory_reserved(),
    }  # fmt: skip


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """memory_stats, one line each."""
    return "\n".join(f"{name}: {value}" for name, value in memory_stats().items())


def is_initialized() -> bool:
    """Is a GPU in use?"""
    return is_available()


def init() -> None:
    """Nothing: the device is opened when it is first used."""


def ipc_collect() -> None:
    """Nothing: no memory is shared with other processes."""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """bfloat16 works on every device."""
    return True


def get_rng_state(device: Any = "cuda") -> Any:
    """Where the source of random numbers is, which is one for all devices."""
    from .settings import get_rng_state

    return get_rng_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Goes back to what get_rng_state gave."""
    from .settings import set_rng_state

    set_rng_state(new_state)


def get_rng_state_all() -> list[Any]:
    """get_rng_state of each device."""
    return [get_rng_state()] if is_available() else []


def set_rng_state_all(new_states: Any) -> None:
    """set_rng_state of each device."""
    for state in new_states:
        set_rng_state(state)


class Event:
    """A moment: record() waits until what was started has ended, so that elapsed_time is the time it took."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False):
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        """Now."""
        synchronize()
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing: record has waited."""

    wait = synchronize

    def query(self) -> bool:
        """Has everything before ended?"""
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another."""
        return 1000 * (end_event._at - self._at)


class Stream(contextlib.nullcontext):
    """The one order in which everything is computed."""

    def __init__(self, device: Any = None, priority: int = 0, **others: Any):
        super().__init__(self)

    def synchronize(self) -> None:
        """Waits until everything that was started has ended."""
        synchronize()

    def wait_stream(self, stream: Any) -> None:
        """Nothing: there is one order."""

    wait_event = wait_stream

    def record_event(self, event: Any = None) -> Event:
        """An event now."""
        event = Event() if event is None else event
        event.record()
        return event


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return Stream()


default_stream = current_stream


def stream(stream: Any) -> Any:
    """A context in which that stream is used: there is one."""
    return contextlib.nullcontext(stream)


class OutOfMemoryError(RuntimeError):
    """No memory is left. What runs out of memory here raises MemoryError; the name is for `except` clauses."""


def _unmarked(*args: Any, **kwargs: Any) -> Any:
    """Marks nothing: `polygrad.profile` and torch.profiler measure."""
    return contextlib.nullcontext()


nvtx = _regrouped(
    __name__, "nvtx", "torch.cuda.nvtx: marks for NVIDIA's profilers, which are not made.",
    range_push=_unmarked, range_pop=_unmarked, mark=_unmarked, range=_unmarked, range_start=_unmarked, range_end=_unmarked,
)  # fmt: skip
amp = _regrouped(
    __name__, "amp", "torch.cuda.amp: torch.amp for a GPU.", GradScaler=_amp.GradScaler, custom_bwd=_amp.custom_bwd, custom_fwd=_amp.custom_fwd,
    autocast=lambda enabled=True, dtype=None, cache_enabled=None: _amp.autocast("cuda", dtype, enabled),
)  # fmt: skip

__all__ = [
    "Event", "OutOfMemoryError", "Stream", "amp", "current_stream", "default_stream", "get_rng_state", "get_rng_state_all", "init", "ipc_collect",
    "is_bf16_supported", "is_initialized", "max_memory_cached", "max_memory_reserved", "memory_cached", "memory_stats", "memory_summary",
    "reset_max_memory_allocated", "reset_max_memory_cached", "set_rng_state", "set_rng_state_all", "stream",
    "current_device", "device", "device_count", "empty_cache", "get_device_name", "is_available", "manual_seed", "manual_seed_all",
    "max_memory_allocated", "memory_allocated", "memory_reserved", "nvtx", "reset_peak_memory_stats", "set_device", "synchronize",
]  # fmt: skip
