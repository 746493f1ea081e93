"""The first step of pooling: from nodes to clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..... import nn
from .....tensor import Tensor


@dataclass
class SelectOutput:
    """Node node_index[k] goes into cluster cluster_index[k], with the weight weight[k]."""

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
    """Base class: forward gives a SelectOutput."""

    def reset_parameters(self) -> None:
        """Draws new parameters, if there are any."""

    def forward(self, *args: Any, **kwargs: Any) -> SelectOutput:
        raise NotImplementedError


__all__ = ["Select", "SelectOutput"]
