"""Random graphs with motifs, of which it is known what an explanation should find."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ...tensor import Tensor
from ..data._values import to_array
from ..data.in_memory_dataset import InMemoryDataset
from ..explain.explanation import Explanation
from ..utils import k_hop_subgraph
from .fake import random_source
from .graph_generator import GraphGenerator
from .motif_generator import MotifGenerator


def attach(base: Any, motifs: list[Any], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A graph with motifs, each joined by an edge between a random node of the graph (of each at most one motif) and one of the motif:
    edge_index, roles y, and the masks of the nodes and edges of motifs."""
    count = int(base.num_nodes)
    edges = [to_array(base.edge_index).astype(np.int64)]
    y, node_mask, edge_mask = [np.zeros(count, np.int64)], [np.zeros(count)], [np.zeros(edges[0].shape[1])]
    for hook, motif in zip(rng.permutation(count)[: len(motifs)], motifs):
        n, own = int(motif.num_nodes), to_array(motif.edge_index).astype(np.int64)
        corner = count + int(rng.integers(n))
        edges += [own + count, np.array([[hook, corner], [corner, hook]])]
        edge_mask += [np.ones(own.shape[1]), np.zeros(2)]
        node_mask.append(np.ones(n))
        roles = to_array(motif.y).astype(np.int64) if motif.y is not None else np.ones(n, np.int64)
        y.append(roles + 1 if roles.min() == 0 else roles)
        count += n
    return {
        "edge_index": np.concatenate(edges, axis=1), "y": np.concatenate(y), "edge_mask": np.concatenate(edge_mask).astype(np.float32),
        "node_mask": np.concatenate(node_mask).astype(np.float32),
    }  # fmt: skip


class ExplainerDataset(InMemoryDataset):
    """Graphs with motifs ("Evaluating Explainability for Graph Neural Networks", 2022): a generated graph, num_motifs motifs of which hang on random
    nodes. Each graph is an Explanation with the true `node_mask` [V] and `edge_mask` [E]; `y` is 0 outside of motifs and else the role.

    graph_generator, motif_generator: generators, or their names with arguments in graph_generator_kwargs and motif_generator_kwargs.

    >>> from polygrad.geometric.datasets import ExplainerDataset
    >>> from polygrad.geometric.datasets.graph_generator import BAGraph
    >>> data = ExplainerDataset(BAGraph(300, 5), "house", num_motifs=80)[0]
    >>> data.num_nodes, int(data.edge_mask.sum().item())
    (700, 960)
    """

    def __init__(
        self, graph_generator: Any, motif_generator: Any, num_motifs: int, num_graphs: int = 1, graph_generator_kwargs: dict[str, Any] | None = None,
        motif_generator_kwargs: dict[str, Any] | None = None, transform: Callable[..., Any] | None = None,
    ):  # fmt: skip
        super().__init__(None, transform)
        if num_motifs <= 0:
            raise ValueError(f"num_motifs must be positive, not {num_motifs}")
        self.graph_generator = GraphGenerator.resolve(graph_generator, **(graph_generator_kwargs or {}))
        self.motif_generator = MotifGenerator.resolve(motif_generator, **(motif_generator_kwargs or {}))
        self.num_motifs = num_motifs
        self._set(*self.collate([self.get_graph() for _ in range(num_graphs)]))

    def get_graph(self) -> Explanation:
        """One more graph."""
        made = attach(self.graph_generator(), [self.motif_generator() for _ in range(self.num_motifs)], random_source())
        return Explanation(**{name: Tensor(value) for name, value in made.items()})

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)}, graph_generator={self.graph_generator}, motif_generator={self.motif_generator}, "
            f"num_motifs={self.num_motifs})"
        )


class InfectionDataset(InMemoryDataset):
    """How far nodes are from the next infected one ("On the Faithfulness of GNN explanations", 2021): `x` [V, 2] marks the infected, `y` is the
    distance, at most max_path_length + 1, and `edge_mask` has the edges on paths of at most max_path_length steps from infected nodes.

    num_infected_nodes, max_path_length: numbers, or one for each of num_graphs graphs.

    >>> from polygrad.geometric.datasets import InfectionDataset
    >>> data = InfectionDataset("ba", num_infected_nodes=10, max_path_length=2, graph_generator_kwargs=dict(num_nodes=100, num_edges=2))[0]
    >>> data.x.shape, int((data.y == 0).sum().item())
    ((100, 2), 10)
    """

    def __init__(
        self, graph_generator: Any, num_infected_nodes: Any, max_path_length: Any, num_graphs: int | None = None,
        graph_generator_kwargs: dict[str, Any] | None = None, transform: Callable[..., Any] | None = None,
    ):  # fmt: skip
        super().__init__(None, transform)
        lists = {"num_infected_nodes": num_infected_nodes, "max_path_length": max_path_length}
        if num_graphs is None:
            num_graphs = next((len(v) for v in lists.values() if isinstance(v, (list, tuple))), 1)
        self.graph_generator = GraphGenerator.resolve(graph_generator, **(graph_generator_kwargs or {}))
        self.num_infected_nodes, self.max_path_length, self.num_graphs = num_infected_nodes, max_path_length, num_graphs
        each = {}
        for name, value in lists.items():
            each[name] = list(value) if isinstance(value, (list, tuple)) else [value] * num_graphs
            if len(each[name]) != num_graphs:
                raise ValueError(f"{name!r} has {len(each[name])} entries for {num_graphs} graphs")
            if min(each[name]) <= 0:
                raise ValueError(f"{name!r} must be positive, not {min(each[name])}")
        self._set(*self.collate([self.get_graph(n, length) for n, length in zip(*each.values())]))

    def get_graph(self, num_infected_nodes: int, max_path_length: int) -> Explanation:
        """One more graph."""
        data = self.graph_generator()
        count = int(data.num_nodes)
        if num_infected_nodes >= count:
            raise ValueError(f"the number of nodes ({count}) must exceed that of infected ones ({num_infected_nodes})")
        ill = random_source().permutation(count)[:num_infected_nodes]
        x = np.zeros((count, 2), np.float32)
        x[:, 0] = 1
        x[ill] = (0, 1)
        y = np.full(count, max_path_length + 1, np.int64)
        y[ill] = 0
        mask = np.zeros(int(data.num_edges), np.bool_)
        for hops in range(1, max_path_length + 1):
            nodes, _, _, edges = k_hop_subgraph(ill, hops, data.edge_index, num_nodes=count, flow="target_to_source", directed=True)
            reached = nodes.numpy()
            y[reached] = np.minimum(y[reached], hops)
            mask |= edges.numpy()
        return Explanation(x=Tensor(x), edge_index=data.edge_index, y=Tensor(y), edge_mask=Tensor(mask.astype(np.float32)))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)}, graph_generator={self.graph_generator}, num_infected_nodes={self.num_infected_nodes}, "
            f"max_path_length={self.max_path_length})"
        )


__all__ = ["ExplainerDataset", "InfectionDataset", "attach"]
