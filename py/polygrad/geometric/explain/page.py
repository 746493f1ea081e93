"""A page with the picture of an explanation: one file, without scripts."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..data._values import to_array

EDGES = 12  # in the table


def wrap(title: str, parts: list[str]) -> str:
    """A page around pictures and paragraphs."""
    from ...cli.page import _STYLE

    return (
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'/>\n<meta name='viewport' content='width=device-width, initial-scale=1'/>\n"
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n" + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"
    )


def write_page(
    explanation: Any, path: Any, title: str = "Explanation", text: str = "", feat_labels: Any = None, node_labels: Any = None, top_k: int = 10
) -> str:
    """Writes a page with the graph, the features and the edges that matter most; gives its text.

    >>> import os, tempfile
    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import Explanation, write_page
    >>> found = Explanation(x=Tensor.ones(3, 2), edge_index=Tensor([[0, 1, 2], [1, 2, 0]]), edge_mask=Tensor([0.5, 0.0, 0.2]))
    >>> page = write_page(found, os.path.join(tempfile.mkdtemp(), "page.html"), "Three nodes")
    >>> "<svg" in page, "Three nodes" in page
    (True, True)
    """
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(text)}</p>" if text else ""]
    cards = []
    hetero = hasattr(explanation, "node_types")
    has_edges = bool(explanation.collect("edge_mask", True)) if hetero else explanation.get("edge_mask") is not None
    if has_edges:
        cards.append(explanation.visualize_graph(node_labels=node_labels))
    node_masks = explanation.collect("node_mask", True).values() if hetero else [m for m in [explanation.get("node_mask")] if m is not None]
    if node_masks and all(m.ndim == 2 and m.shape[1] > 1 for m in node_masks):
        cards.append(explanation.visualize_feature_importance(feat_labels=feat_labels, top_k=top_k))
    parts.append("<div class='row'>" + "".join(f"<div class='card'>{svg}</div>" for svg in cards) + "</div>")
    if has_edges and not hetero:
        parts += ["<h2>The edges that matter most</h2>", _edges(explanation, node_labels)]
    page = wrap(title, parts)
    with open(path, "w", encoding="utf-8") as f:
        f.write(page)
    return page


def _edges(explanation: Any, labels: Any) -> str:
    weight, edges = to_array(explanation.edge_mask), to_array(explanation.edge_index)
    rows = []
    for k in np.argsort(-weight, kind="stable")[:EDGES]:
        if weight[k] > 0:
            a, b = (str(labels[v]) if labels is not None else str(int(v)) for v in edges[:, k])
            rows.append(f"<tr><td>{escape(a)} → {escape(b)}</td><td>{float(weight[k]):.3f}</td></tr>")
    return "<table><tr><th>edge</th><th>mask</th></tr>" + "".join(rows) + "</table>"


__all__ = ["wrap", "write_page"]
