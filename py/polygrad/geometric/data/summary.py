"""Summary: how large the graphs of a dataset are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


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
        a = np.asarray(data, np.float64)
        if not a.size:
            return cls(*[float("nan")] * 7)
        std = float(a.std(ddof=1)) if a.size > 1 else float("nan")
        low, middle, high = (float(q) for q in np.quantile(a, [0.25, 0.5, 0.75]))
        return cls(float(a.mean()), std, float(a.min()), low, middle, high, float(a.max()))


@dataclass
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

    def __str__(self) -> str:
        columns = {"#nodes": self.num_nodes, "#edges": self.num_edges}
        columns |= {f"#nodes of {k}": v for k, v in (self.num_nodes_per_type or {}).items()}
        columns |= {f"#edges of {k}": v for k, v in (self.num_edges_per_type or {}).items()}
        rows = [["", *columns]] + [[key, *(f"{getattr(s, key):.1f}" for s in columns.values())] for key in Stats.__dataclass_fields__]
        widths = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
        lines = [" | ".join(c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(r, widths))) for r in rows]
        return "\n".join([f"{self.name} (#graphs={self.num_graphs}):", lines[0], "-" * len(lines[0]), *lines[1:]])


__all__ = ["Stats", "Summary"]
