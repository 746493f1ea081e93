"""The device that a script asks for by name."""

from __future__ import annotations

from typing import Any

from ..device import Device


def device(device: Any) -> Any:
    """The name of a device; 'auto' is the one that tensors are computed on.

    >>> from polygrad import Device
    >>> from polygrad.geometric import device
    >>> device("auto") == Device.DEFAULT
    True
    """
    return Device.DEFAULT if device == "auto" else device


__all__ = ["device"]
