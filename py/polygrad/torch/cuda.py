"""torch.cuda: whether tensors are computed on a GPU. They are where polygrad.Device.DEFAULT names one."""

from __future__ import annotations

import contextlib
from typing import Any

from ..autograd import current
from ..device import Device, is_gpu


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


__all__ = [
    "current_device", "device", "device_count", "empty_cache", "get_device_name", "is_available", "manual_seed", "manual_seed_all",
    "max_memory_allocated", "memory_allocated", "memory_reserved", "reset_peak_memory_stats", "set_device", "synchronize",
]  # fmt: skip
