"""Summary: how large the graphs of a dataset are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tensor import Tensor


@dataclass
class Stats:
    """Mean, deviation, minimum, quartiles and maximum of some numbers."""

    mean: float
    std: float
    min: float
    quantile25: float
    median: float
    quantile75: float
    max: float

    @classmethod
    def from_data(cls, data: Any) -> Stats:
        a = np.sort(np.asarray(data.numpy() if isinstance(data, Tensor) else data, np.float32))
        if not a.size:
            return cls(*[float("nan")] * 7)
        t = Tensor(a)
        std = float(t.std().item()) if a.size > 1 else float("nan")
        low, high = (float(q) for q in np.quantile(a, [0.25, 0.75]))
        return cls(float(t.mean().item()), std, float(a[0]), low, float(a[(a.size - 1) // 2]), high, float(a[-1]))


@dataclass(repr=False)
class Summary:
    """The numbers of nodes and edges of the graphs of a dataset; of graphs with several types also by type.

    >>> from polygrad.geometric.data.summary import Summary
    >>> from polygrad.geometric.datasets import KarateClub
    >>> Summary.from_dataset(KarateClub()).num_nodes.mean
    34.0
    """

    name: str
    num_graphs: int
    num_nodes: Stats
    num_edges: Stats
    num_nodes_per_type: dict[str, Stats] | None = None
    num_edges_per_type: dict[Any, Stats] | None = None

    @classmethod
    def from_dataset(cls, dataset: Any, progress_bar: bool | None = None, per_type: bool = True) -> Summary:
        nodes: list[int] = []
        edges: list[int] = []
        by_node: dict[Any, list[int]] = {}
        by_edge: dict[Any, list[int]] = {}
        for data in dataset:
            nodes.append(int(data.num_nodes))
            edges.append(int(data.num_edges))
            if per_type and hasattr(data, "node_types"):
                for t in data.node_types:
                    by_node.setdefault(t, []).append(int(data[t].num_nodes))
                for e in data.edge_types:
                    by_edge.setdefault(e, []).append(int(data[e].num_edges))
        per_node = {k: Stats.from_data(v) for k, v in by_node.items()} or None
        per_edge = {k: Stats.from_data(v) for k, v in by_edge.items()} or None
        return cls(type(dataset).__name__, len(nodes), Stats.from_data(nodes), Stats.from_data(edges), per_node, per_edge)

    def format(self, fmt: str = "psql") -> str:
        """The numbers as tables: of all graphs, and by type where there are several. fmt: one kind of table is drawn, whatever is asked for."""
        parts = [f"{self.name} (#graphs={self.num_graphs}):", *_table({"#nodes": self.num_nodes, "#edges": self.num_edges})]
        if self.num_nodes_per_type is not None:
            parts += ["Number of nodes by node type:", *_table(self.num_nodes_per_type)]
        if self.num_edges_per_type is not None:
            parts += ["Number of edges by edge type:", *_table({f"({', '.join(k)})": v for k, v in self.num_edges_per_type.items()})]
        return "\n".join(parts)

    def __repr__(self) -> str:
        return self.format()


def _table(columns: dict[str, Stats]) -> list[str]:
    """Lines of a table with a row for each of the numbers."""
    rows = [["", *columns]] + [[key, *(f"{getattr(s, key):.1f}" for s in columns.values())] for key in Stats.__dataclass_fields__]
    widths = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
    lines = ["| " + " | ".join(c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(r, widths))) + " |" for r in rows]
    bar = "+".join("-" * (w + 2) for w in widths)
    return [f"+{bar}+", lines[0], f"|{bar}|", *lines[1:], f"+{bar}+"]


__all__ = ["Stats", "Summary"]
