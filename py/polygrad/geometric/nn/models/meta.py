"""A layer for edges, nodes and the whole graph."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..inits import reset


class MetaLayer(nn.Module):
    """Updates edges, then nodes, then the graph, by three models, each of which may be None (Battaglia et al., 2018).

    edge_model(src, dst, edge_attr, u, batch) gets the features of both ends [E, F] and the graph of each edge; node_model and
    global_model(x, edge_index, edge_attr, u, batch) what there is then.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MetaLayer
    >>> layer = MetaLayer(edge_model=lambda src, dst, edge_attr, u, batch: src - dst)
    >>> layer(Tensor([[1.0], [3.0]]), Tensor([[0], [1]]))[1].tolist()
    [[-2.0]]
    """

    def __init__(self, edge_model: Any = None, node_model: Any = None, global_model: Any = None):
        self.edge_model, self.node_model, self.global_model = edge_model, node_model, global_model
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for model in (self.node_model, self.edge_model, self.global_model):
            if hasattr(model, "reset_parameters"):
                reset(model)

    def forward(
        self, x: Tensor, edge_index: Any, edge_attr: Tensor | None = None, u: Tensor | None = None, batch: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Gives new x, edge_attr and u."""
        if self.edge_model is not None:
            graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, num_nodes=x.shape[0])
            edge_attr = self.edge_model(graph.src(x), graph.dst(x), edge_attr, u, batch if batch is None else graph.src(batch))
        if self.node_model is not None:
            x = self.node_model(x, edge_index, edge_attr, u, batch)
        if self.global_model is not None:
            u = self.global_model(x, edge_index, edge_attr, u, batch)
        return x, edge_attr, u

    def __repr__(self) -> str:
        lines = [f"  {name}={getattr(self, name)}" for name in ("edge_model", "node_model", "global_model")]
        return f"{type(self).__name__}(\n" + ",\n".join(lines) + "\n)"


__all__ = ["MetaLayer"]
