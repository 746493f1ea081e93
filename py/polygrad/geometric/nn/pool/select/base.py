"""The first step of pooling: from nodes to clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..... import nn
from .....tensor import Tensor


@dataclass
class SelectOutput:
    """Node node_index[k] goes into cluster cluster_index[k], with the weight weight[k].

    Shapes: node_index, cluster_index and weight [N].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.pool.select import SelectOutput
    >>> SelectOutput(Tensor([0, 2]), 3, Tensor([0, 1]), 2).num_clusters
    2
    """

    node_index: Tensor
    num_nodes: int
    cluster_index: Tensor
    num_clusters: int
    weight: Tensor | None = None

    def __post_init__(self) -> None:
        for name in ("node_index", "cluster_index", "weight"):
            value = getattr(self, name)
            if value is not None and value.ndim != 1:
                raise ValueError(f"Expected '{name}' to be one-dimensional (got {value.ndim} dimensions)")
            if value is not None and value.shape[0] != self.node_index.shape[0]:
                raise ValueError(f"Expected '{name}' to hold {self.node_index.shape[0]} values (got {value.shape[0]} values)")


class Select(nn.Module):
    """Base class: forward gives a SelectOutput.

    Shapes: what forward takes is up to the subclass, such as x [V, F] and batch [V].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.pool.select import Select, SelectOutput
    >>> class EveryOther(Select):
    ...     def forward(self, x):
    ...         kept = Tensor.arange(0, x.shape[0], 2)
    ...         return SelectOutput(kept, x.shape[0], Tensor.arange(kept.shape[0]), kept.shape[0])
    >>> EveryOther()(Tensor.ones(5, 4)).node_index.tolist()
    [0, 2, 4]
    """

    def reset_parameters(self) -> None:
        """Draws new parameters, if there are any."""

    def forward(self, *args: Any, **kwargs: Any) -> SelectOutput:
        raise NotImplementedError


__all__ = ["Select", "SelectOutput"]
