"""Several transforms or filters, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from .base_transform import BaseTransform


class Compose(BaseTransform):
    """Applies transforms one after the other; a list of graphs goes through each of them graph by graph.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import AddSelfLoops, Compose, ToUndirected
    >>> data = Data(edge_index=Tensor([[0], [1]]), num_nodes=2)
    >>> Compose([ToUndirected(), AddSelfLoops()])(data).edge_index.tolist()
    [[0, 1, 0, 1], [1, 0, 0, 1]]
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]):
        self.transforms = transforms

    def forward(self, data: Any) -> Any:
        for transform in self.transforms:
            data = [transform(d) for d in data] if isinstance(data, (list, tuple)) else transform(data)
        return data

    def __repr__(self) -> str:
        lines = ",\n".join(f"  {transform}" for transform in self.transforms)
        return f"{type(self).__name__}([\n{lines}\n])"


class ComposeFilters:
    """True for a graph (or a list of them) for which all filters are true.

    >>> from polygrad.geometric.transforms import ComposeFilters
    >>> ComposeFilters([lambda n: n > 1, lambda n: n < 5])(3)
    True
    """

    def __init__(self, filters: Sequence[Callable[[Any], bool]]):
        self.filters = filters

    def __call__(self, data: Any) -> bool:
        graphs = data if isinstance(data, (list, tuple)) else [data]
        return all(keep(d) for keep in self.filters for d in graphs)

    def __repr__(self) -> str:
        lines = ",\n".join(f"  {keep}" for keep in self.filters)
        return f"{type(self).__name__}([\n{lines}\n])"


__all__ = ["Compose", "ComposeFilters"]
