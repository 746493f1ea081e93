"""Houses, cycles, grids and motifs of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....tensor import Tensor
from ...data.data import Data
from .._edge_lists import both_ways
from .._resolve import resolve
from ..ba_shapes import HOUSE, HOUSE_LABELS


class MotifGenerator:
    """Called without arguments, gives a Data with `edge_index` and the number of nodes; `y`, if there is one, has the roles of the nodes.

    >>> from polygrad.geometric.datasets.motif_generator import HouseMotif, MotifGenerator
    >>> isinstance(HouseMotif(), MotifGenerator), HouseMotif()().num_nodes
    (True, 5)
    """

    def __call__(self) -> Data:
        raise NotImplementedError(f"{type(self).__name__} has no __call__")

    @staticmethod
    def resolve(query: Any, *args: Any, **kwargs: Any) -> Any:
        """A motif by name, with or without 'Motif' ('house', 'CycleMotif', ...); anything but a string is given back.

        >>> from polygrad.geometric.datasets.motif_generator import MotifGenerator
        >>> MotifGenerator.resolve("cycle", 5)
        CycleMotif(5)
        """
        return resolve(query, (CustomMotif, HouseMotif, CycleMotif, GridMotif), "Motif", *args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class CustomMotif(MotifGenerator):
    """The same graph each time: a Data or a networkx graph.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.datasets.motif_generator import CustomMotif
    >>> CustomMotif(Data(edge_index=Tensor([[0, 1], [1, 0]]), num_nodes=2))().num_edges
    2
    """

    def __init__(self, structure: Any):
        if not isinstance(structure, Data):
            if not hasattr(structure, "nodes") or not hasattr(structure, "edges"):
                raise ValueError(f"Expected a motif structure that is a Data or a networkx graph, not a {type(structure).__name__}")
            from ...utils import from_networkx

            structure = from_networkx(structure)
        self.structure: Data = structure

    def __call__(self) -> Data:
        return self.structure


class HouseMotif(CustomMotif):
    """Five nodes: two below, two above them, and the roof.

    >>> from polygrad.geometric.datasets.motif_generator import HouseMotif
    >>> HouseMotif()()
    Data(edge_index=[2, 12], y=[5], num_nodes=5)
    """

    def __init__(self) -> None:
        super().__init__(Data(num_nodes=5, edge_index=Tensor(HOUSE.copy()), y=Tensor(HOUSE_LABELS - 1)))


class CycleMotif(CustomMotif):
    """num_nodes nodes in a ring.

    >>> from polygrad.geometric.datasets.motif_generator import CycleMotif
    >>> CycleMotif(num_nodes=4)().num_edges
    8
    """

    def __init__(self, num_nodes: int):
        self.num_nodes = num_nodes
        ring = np.stack([np.arange(num_nodes), (np.arange(num_nodes) + 1) % num_nodes])
        super().__init__(Data(num_nodes=num_nodes, edge_index=Tensor(both_ways(ring))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_nodes})"


class GridMotif(CustomMotif):
    """Three rows of three; roles are corner, side and middle.

    >>> from polygrad.geometric.datasets.motif_generator import GridMotif
    >>> GridMotif()().y.tolist()
    [0, 1, 0, 1, 2, 1, 0, 1, 0]
    """

    def __init__(self) -> None:
        there = np.array([[0, 0, 1, 3, 1, 2, 4, 3, 6, 4, 5, 7], [1, 3, 4, 4, 2, 5, 5, 6, 7, 7, 8, 8]])
        edges = np.concatenate([there, there[::-1]], axis=1)
        super().__init__(Data(num_nodes=9, edge_index=Tensor(edges), y=Tensor(np.array([0, 1, 0, 1, 2, 1, 0, 1, 0]))))


__all__ = ["CustomMotif", "CycleMotif", "GridMotif", "HouseMotif", "MotifGenerator"]
