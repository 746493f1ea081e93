"""Another device."""

from __future__ import annotations

from typing import Any

from .base_transform import BaseTransform


class ToDevice(BaseTransform):
    """Moves the tensors of a graph, or those named in attrs, to a device.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import ToDevice
    >>> ToDevice("CPU")(Data(x=Tensor([[1.0]]))).x.tolist()
    [[1.0]]
    """

    def __init__(self, device: Any, attrs: list[str] | None = None, non_blocking: bool = False):
        self.device, self.attrs, self.non_blocking = device, attrs or [], non_blocking

    def forward(self, data: Any) -> Any:
        return data.to(self.device, *self.attrs, non_blocking=self.non_blocking)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.device})"


__all__ = ["ToDevice"]
