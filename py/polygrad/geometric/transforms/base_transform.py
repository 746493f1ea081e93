"""What a transform is."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any


class BaseTransform(ABC):
    """A function of a graph. Calling it works on a shallow copy: the graph that was given stays as it is.

    Transforms prepare values on the host: they run once for a data set, or for each graph that is loaded, and graphs differ in size, so
    nothing is compiled for them. Those that are random follow Tensor.manual_seed.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import BaseTransform
    >>> class Double(BaseTransform):
    ...     def forward(self, data):
    ...         data.x = data.x * 2
    ...         return data
    >>> data = Data(x=Tensor([[1.0]]))
    >>> Double()(data).x.tolist(), data.x.tolist()
    ([[2.0]], [[1.0]])
    """

    def __call__(self, data: Any) -> Any:
        return self.forward(copy.copy(data))

    @abstractmethod
    def forward(self, data: Any) -> Any:
        """data, which belongs to the transform, with the changes made."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


__all__ = ["BaseTransform"]
