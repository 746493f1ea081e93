"""Pictures of graphs, and the influence of nodes on each other."""

# mypy: disable-error-code="no-untyped-call, import-untyped, import-not-found"

from __future__ import annotations

import shutil
from typing import Any

from .. import torch

BACKENDS = {"graphviz", "networkx"}


def has_graphviz() -> bool:
    """Are the program Graphviz and its Python package installed?"""
    from importlib.util import find_spec

    return find_spec("graphviz") is not None and shutil.which("dot") is not None


def _edges(edge_index: Any, edge_weight: Any) -> list[tuple[int, int, float]]:
    """The edges with weights from 0 to 1, without those of the least weight."""
    pairs = edge_index.t().tolist()
    if edge_weight is None:
        return [(a, b, 1.0) for a, b in pairs]
    w = edge_weight - edge_weight.min()
    w = (w / w.max()).tolist()
    return [(a, b, x) for (a, b), x in zip(pairs, w) if x > 1e-7]


def visualize_graph(edge_index: Any, edge_weight: Any = None, path: str | None = None, backend: str | None = None, node_labels: Any = None) -> Any:
    """Draws a graph into a file, or on the screen; edges of more weight are darker. backend: "graphviz" or "networkx" (with matplotlib)."""
    backend = backend or ("graphviz" if has_graphviz() else "networkx")
    if backend.lower() not in BACKENDS:
        raise ValueError(f"Expected graph drawing backend to be in {BACKENDS} (got '{backend}')")
    edges = _edges(edge_index, edge_weight)
    label = (lambda k: str(k)) if node_labels is None else (lambda k: str(node_labels[k]))
    return (_graphviz if backend.lower() == "graphviz" else _networkx)(edges, label, path)


def _graphviz(edges: list[tuple[int, int, float]], label: Any, path: str | None) -> Any:
    import graphviz

    name, _, kind = (path or "graph.pdf").rpartition(".")
    g = graphviz.Digraph("graph", format=kind)
    g.attr("node", shape="circle", fontsize="11pt")
    for node in sorted({k for a, b, _ in edges for k in (a, b)}):
        g.node(label(node))
    for a, b, w in edges:
        grey = f"{255 - round(255 * w):02x}"
        g.edge(label(a), label(b), color=f"#{grey}{grey}{grey}")
    if path is None:
        g.view()
    else:
        g.render(name, cleanup=True)
    return g


def _networkx(edges: list[tuple[int, int, float]], label: Any, path: str | None) -> Any:
    import matplotlib.pyplot as plt
    import networkx as nx

    g = nx.DiGraph()
    g.add_nodes_from(label(k) for k in sorted({k for a, b, _ in edges for k in (a, b)}))
    g.add_weighted_edges_from([(label(a), label(b), w) for a, b, w in edges])
    pos = nx.spring_layout(g, seed=0)
    fig, axes = plt.subplots()
    nx.draw_networkx_nodes(g, pos, ax=axes, node_size=800, node_color="white", edgecolors="black", margins=0.1)
    nx.draw_networkx_labels(g, pos, ax=axes, font_size=10)
    shades = [max(d["weight"], 0.1) for _, _, d in g.edges(data=True)]
    nx.draw_networkx_edges(g, pos, ax=axes, node_size=800, alpha=shades, connectionstyle="arc3,rad=0.1")
    if path is None:
        plt.show()
    else:
        fig.savefig(path)
    plt.close(fig)
    return g


def visualize_hetero_graph(*args: Any, **kwargs: Any) -> Any:
    """Pictures of graphs with several types are drawn by explanations: HeteroExplanation.visualize_graph."""
    raise NotImplementedError("graphs with several types are drawn by HeteroExplanation.visualize_graph")


def influence(model: Any, src: Any, *args: Any) -> Any:
    """The share that each node's features have in the output of each node: [N, N], rows that sum to one.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.nn import GCNConv
    >>> from polygrad.torch_geometric.visualization import influence
    >>> influence(GCNConv(2, 2), torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]])).sum(dim=1).round().tolist()
    [1.0, 1.0, 1.0]
    """
    x = src.clone().requires_grad_()
    out = model(x, *args).sum(dim=-1)
    rows = [torch.autograd.grad([out[j]], [x], retain_graph=True)[0].abs().sum(dim=-1) for j in range(src.size(0))]
    return torch.stack([row / row.sum() for row in rows], dim=0)


__all__ = ["influence", "visualize_graph", "visualize_hetero_graph"]
