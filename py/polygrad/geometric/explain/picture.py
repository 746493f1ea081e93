"""Pictures of explanations as SVG: bars of features, and the part of the graph that matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ...cli.charts import FAINT, INK, _svg, _text, colour
from ..data._values import to_array

MOST = 400  # edges that are drawn
ROUNDS = 150  # of the layout


def write(path: Any, svg: str, title: str) -> str:
    """Writes a picture, as it is or as a page if the name ends with .html; gives the picture."""
    if path is not None:
        text = svg
        if str(path).lower().endswith((".html", ".htm")):
            from .page import wrap

            text = wrap(title, [svg])
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return svg


# ---- features ----


def bars(score: np.ndarray, labels: Sequence[str], top_k: int | None = None, path: Any = None) -> str:
    """Horizontal bars, the longest first."""
    if len(labels) != score.size:
        raise ValueError(f"the number of labels must match the number of scores: there are {len(labels)} labels for {score.size} scores")
    order = np.argsort(-score, kind="stable")[: score.size if top_k is None else top_k]
    title = f"Feature importance for {'top ' if top_k is not None else ''}{order.size} features"
    left = 24 + 7 * max((len(labels[k]) for k in order), default=1)
    wide, row = left + 420, 20
    most = max(float(score.max(initial=0.0)), 1e-12)
    parts = [_text(12, 22, title, extra="font-size='14' font-weight='600'")]
    for place, k in enumerate(order):
        y = 38 + row * place
        long = 330 * max(float(score[k]), 0.0) / most
        parts.append(_text(left - 8, y + 13, labels[k], "end"))
        parts.append(f"<rect x='{left}' y='{y + 3}' width='{long:.1f}' height='{row - 6}' fill='{colour(0)}'/>")
        parts.append(_text(left + long + 6, y + 13, f"{float(score[k]):.3f}", fill=FAINT))
    return write(path, _svg(wide, 50 + row * order.size, title, parts), title)


# ---- graphs ----


class Drawing(NamedTuple):
    """What is drawn: edges [2, E] with weights in [0, 1], and for each node a label, a group (its colour), a weight, and whether it is marked."""

    edges: np.ndarray
    weight: np.ndarray
    labels: list[str]
    group: np.ndarray
    node_weight: np.ndarray
    marked: np.ndarray
    groups: list[str]


def layout(edges: np.ndarray, count: int) -> np.ndarray:
    """[count, 2] in [0, 1]: nodes push each other away and edges pull their ends together (Fruchterman and Reingold, 1991). O(rounds count^2)."""
    if count < 2:
        return np.full((count, 2), 0.5)
    at = np.random.default_rng(0).random((count, 2))
    length = math.sqrt(1.0 / count)
    heat = 0.1
    for _ in range(ROUNDS):
        apart = at[:, None] - at[None]
        far = np.maximum(np.sqrt((apart**2).sum(-1)), 1e-3)
        move = (apart * (length**2 / far**2)[..., None]).sum(1)
        along = at[edges[0]] - at[edges[1]]
        pull = along * (np.sqrt((along**2).sum(-1, keepdims=True)) / length)
        np.add.at(move, edges[0], -pull)
        np.add.at(move, edges[1], pull)
        move -= 0.05 * (at - 0.5)  # parts of a graph that hang together with nothing stay in the picture
        step = np.maximum(np.sqrt((move**2).sum(-1, keepdims=True)), 1e-9)
        at += move / step * np.minimum(step, heat)
        heat *= 0.975
    low, high = at.min(0), at.max(0)
    return (at - low) / np.maximum(high - low, 1e-9)


def draw(
    title: str, d: Drawing, sizes: tuple[float, float] = (80, 220), opacities: tuple[float, float] = (0.9, 1.0),
    widths: tuple[float, float] = (0.6, 4.0), dark: tuple[float, float] = (0.15, 1.0), side: float = 620,
) -> str:  # fmt: skip
    """Edges as arrows, the darker and wider the more they weigh; nodes as circles whose area goes by their weight."""
    margin, top = 40.0, 36.0
    place = layout(d.edges, len(d.labels)) * (side - 2 * margin) + margin + np.array([0.0, top])
    radius = np.sqrt(_between(sizes, d.node_weight) / math.pi)
    parts = [_text(12, 24, title, extra="font-size='14' font-weight='600'")]
    parts.append(
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' markerUnits='userSpaceOnUse' orient='auto'>"
        f"<path d='M0,0 L8,4 L0,8 z' fill='{INK}'/></marker></defs>"
    )
    for k in np.argsort(d.weight, kind="stable"):
        parts.append(_arrow(d, place, radius, int(k), widths, dark))
    for k, label in enumerate(d.labels):
        x, y = place[k]
        tip = f"{d.groups[d.group[k]]} {label}" if d.groups else f"node {label}"
        frame = f"stroke='{INK}' stroke-width='2.5'" if d.marked[k] else "stroke='#fff' stroke-width='1.2'"
        shade = _between(opacities, d.node_weight[k : k + 1])[0]
        parts.append(
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius[k]:.1f}' fill='{colour(int(d.group[k]))}' fill-opacity='{shade:.2f}' {frame}>"
            f"<title>{escape(tip)}</title></circle>"
        )
        halo = "font-size='10' pointer-events='none' paint-order='stroke' stroke='#fff' stroke-width='2.5'"
        parts.append(_text(x, y + 3.5, label, "middle", INK, halo))
    for row, name in enumerate(d.groups):
        parts.append(f"<circle cx='{side + 12:.0f}' cy='{top + 14 + 20 * row:.0f}' r='5' fill='{colour(row)}'/>")
        parts.append(_text(side + 24, top + 18 + 20 * row, name))
    wide = side + (40 + 7 * max(len(name) for name in d.groups) if d.groups else 0)
    return _svg(wide, side + top, title, parts)


def _between(bounds: tuple[float, float], weight: np.ndarray) -> np.ndarray:
    return bounds[0] + (bounds[1] - bounds[0]) * np.clip(weight, 0, 1)


def _arrow(d: Drawing, place: np.ndarray, radius: np.ndarray, k: int, widths: tuple[float, float], dark: tuple[float, float]) -> str:
    a, b = (int(v) for v in d.edges[:, k])
    w = d.weight[k : k + 1]
    look = f"stroke='{INK}' stroke-width='{_between(widths, w)[0]:.2f}' stroke-opacity='{_between(dark, w)[0]:.2f}' fill='none'"
    tip = f"<title>{escape(f'{d.labels[a]} to {d.labels[b]}: {float(w[0]):.3f}')}</title>"
    (x0, y0), (x1, y1) = place[a], place[b]
    if a == b:
        r = float(radius[a]) + 4
        return f"<path d='M{x0:.1f},{y0:.1f} c{-2 * r:.1f},{-3 * r:.1f} {2 * r:.1f},{-3 * r:.1f} 0,0' {look}>{tip}</path>"
    far = max(math.hypot(x1 - x0, y1 - y0), 1e-6)
    dx, dy = (x1 - x0) / far, (y1 - y0) / far
    x0, y0, x1, y1 = x0 + dx * radius[a], y0 + dy * radius[a], x1 - dx * (radius[b] + 1), y1 - dy * (radius[b] + 1)
    bend = 0.06 * far  # so that an edge and its opposite are two lines
    mx, my = (x0 + x1) / 2 - dy * bend, (y0 + y1) / 2 + dx * bend
    return f"<path d='M{x0:.1f},{y0:.1f} Q{mx:.1f},{my:.1f} {x1:.1f},{y1:.1f}' marker-end='url(#tip)' {look}>{tip}</path>"


def _scaled(weight: np.ndarray) -> np.ndarray:
    most = float(weight.max(initial=0.0))
    return weight / most if most > 0 else weight


def _marked(index: Any, count: int) -> np.ndarray:
    out = np.zeros(count, bool)
    if index is not None:
        chosen = np.asarray(to_array(index)).reshape(-1).astype(np.int64)
        out[chosen[(chosen >= 0) & (chosen < count)]] = True
    return out


def draw_explanation(explanation: Any, path: Any = None, node_labels: Sequence[str] | None = None) -> str:
    """The edges of an explanation with a mask above zero (at most MOST of them, the largest), and the nodes at their ends."""
    weight, edges = to_array(explanation.edge_mask).astype(np.float64), to_array(explanation.edge_index).astype(np.int64)
    count = int(explanation.num_nodes)
    if node_labels is not None and len(node_labels) != count:
        raise ValueError(f"there are {len(node_labels)} labels for {count} nodes")
    chosen = np.argsort(-weight, kind="stable")[:MOST]
    chosen = chosen[weight[chosen] > 0]
    config = explanation._store.__dict__.get("_model_config")
    index = explanation.get("index") if config is None or config.task_level.value == "node" else None
    marked = _marked(index, count)
    nodes = np.union1d(edges[:, chosen].reshape(-1), np.flatnonzero(marked))
    number = np.zeros(count, np.int64)
    number[nodes] = np.arange(nodes.size)
    target = explanation.get("target")
    classes = to_array(target) if target is not None else np.zeros(0)
    known = classes.ndim == 1 and classes.shape[0] == count and classes.dtype.kind in "iu" and count > 1
    group = classes[nodes].astype(np.int64) if known else np.zeros(nodes.size, np.int64)
    names = [f"class {k}" for k in range(int(group.max(initial=0)) + 1)] if known else []
    labels = [str(node_labels[v]) if node_labels is not None else str(v) for v in nodes]
    drawing = Drawing(number[edges[:, chosen]], _scaled(weight[chosen]), labels, group, np.ones(nodes.size), marked[nodes], names)
    title = f"{chosen.size} of {weight.size} edges"
    return write(path, draw(title, drawing), title)


def draw_hetero_explanation(
    explanation: Any, path: Any, node_labels: Any, sizes: tuple[float, float], opacities: tuple[float, float], widths: tuple[float, float],
    dark: tuple[float, float],
) -> str:  # fmt: skip
    """The same for a graph of several types, whose nodes are numbered one type after the other."""
    kinds = [k for k in explanation.node_types if explanation[k].num_nodes]
    counts = [int(explanation[k].num_nodes) for k in kinds]
    first = dict(zip(kinds, np.cumsum([0, *counts[:-1]])))
    pairs, weights = [np.zeros((2, 0), np.int64)], [np.zeros(0)]
    for kind in explanation.edge_types:
        store = explanation[kind]
        edges = to_array(store["edge_index"]).astype(np.int64)
        pairs.append(edges + np.array([[first[kind[0]]], [first[kind[-1]]]]))
        weights.append(to_array(store["edge_mask"]).astype(np.float64) if "edge_mask" in store else np.ones(edges.shape[1]))
    edges, weight = np.concatenate(pairs, axis=1), np.concatenate(weights)
    masks = [to_array(explanation[k]["node_mask"]).mean(-1) if "node_mask" in explanation[k] else np.ones(n) for k, n in zip(kinds, counts)]
    node_weight = np.concatenate([np.broadcast_to(m, (n,)) for m, n in zip(masks, counts)])
    ends_matter = (node_weight[edges[0]] > 0) & (node_weight[edges[1]] > 0)
    chosen = np.argsort(-weight, kind="stable")[:MOST]
    chosen = chosen[(weight[chosen] > 0) & ends_matter[chosen]]
    nodes = np.unique(edges[:, chosen])
    number = np.zeros(sum(counts), np.int64)
    number[nodes] = np.arange(nodes.size)
    group = np.repeat(np.arange(len(kinds)), counts)
    labels = [(node_labels or {}).get(k) or [str(v) for v in range(n)] for k, n in zip(kinds, counts)]
    flat = [str(label) for part in labels for label in part]
    drawing = Drawing(
        number[edges[:, chosen]], _scaled(weight[chosen]), [flat[v] for v in nodes], group[nodes], _scaled(node_weight[nodes]),
        np.zeros(nodes.size, bool), kinds,
    )  # fmt: skip
    title = f"{chosen.size} of {weight.size} edges"
    return write(path, draw(title, drawing, sizes, opacities, widths, dark), title)


__all__ = ["Drawing", "bars", "draw", "draw_explanation", "draw_hetero_explanation", "layout", "write"]
