"""Pictures as SVG: curves, points in the plane, a node and who it listens to."""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

import numpy as np

COLOURS = (
    "#4878b0", "#e08434", "#5a9e57", "#c9504c", "#8a6bb8", "#8b6a57", "#d477a8", "#6f7780", "#b3a62f", "#3aa6ac", "#274b7a", "#f0b27a",
    "#2e6b3a", "#8e2f3c", "#b79be0",
)  # fmt: skip
INK, FAINT, PAPER = "#2b2f38", "#8a909c", "#ffffff"
_FONT = "font-family='system-ui,-apple-system,Segoe UI,Roboto,sans-serif'"


def colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def _svg(wide: float, high: float, title: str, parts: list[str]) -> str:
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide:.0f} {high:.0f}' width='{wide:.0f}' height='{high:.0f}' {_FONT} "
        f"font-size='12' role='img'><title>{escape(title)}</title>"
    )
    return "\n".join([head, f"<rect width='{wide:.0f}' height='{high:.0f}' fill='{PAPER}'/>", *parts, "</svg>"])


def _text(x: float, y: float, text: str, anchor: str = "start", fill: str = INK, extra: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{fill}' {extra}>{escape(text)}</text>"


# ---- curves ----


class Curve(NamedTuple):
    """A name, a colour, and a row of values for each run, the first of them drawn thick."""

    name: str
    colour: str
    values: list[list[float]]


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between low and high.

    >>> from polygrad.cli.charts import ticks
    >>> ticks(0, 1), ticks(3, 212)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [50, 100, 150, 200])
    """
    rough = max(high - low, 1e-12) / about
    step = 10 ** math.floor(math.log10(rough))
    step *= next(m for m in (1, 2, 5, 10) if m * step >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, int(math.floor(high / step + 1e-9)) + 1)]


def curves(title: str, lines: list[Curve], mark: int | None = None, percent: bool = False, wide: float = 520, high: float = 300) -> str:
    """Lines over epochs. mark: the epoch (from 0) to point out."""
    left, right, top, bottom = 52, 96, 34, 40
    lines = [c._replace(values=[r for r in c.values if np.isfinite(r).any()]) for c in lines]
    lines = [c for c in lines if c.values]
    every = np.array([v for c in lines for r in c.values for v in r if np.isfinite(v)] or [0.0, 1.0])
    count = max((len(r) for c in lines for r in c.values), default=1)
    low, high_value = (min(float(every.min()), 0.0), max(float(every.max()), 1e-9)) if not percent else (float(np.floor(10 * every.min()) / 10), 1.0)
    high_value = high_value * 1.04 if not percent else high_value
    low = min(low, high_value - 1e-9)

    def px(k: float) -> float:
        return left + (wide - left - right) * (k / max(1, count - 1))

    def py(v: float) -> float:
        return top + (high - top - bottom) * (1 - (v - low) / (high_value - low))

    out = [_text(left, 20, title, extra="font-size='14' font-weight='600'")]
    for v in ticks(low, high_value):
        out.append(f"<line x1='{left}' x2='{wide - right}' y1='{py(v):.1f}' y2='{py(v):.1f}' stroke='#e6e8ec'/>")
        out.append(_text(left - 8, py(v) + 4, f"{100 * v:.0f} %" if percent else f"{v:g}", "end", FAINT))
    for k in ticks(1, count, 6):
        out.append(_text(px(k - 1), high - bottom + 18, f"{k:.0f}", "middle", FAINT))
    out.append(_text(px((count - 1) / 2), high - 6, "epoch", "middle", FAINT))
    if mark is not None and count > 1:
        out.append(f"<line x1='{px(mark):.1f}' x2='{px(mark):.1f}' y1='{top}' y2='{high - bottom}' stroke='{FAINT}' stroke-dasharray='3 3'/>")
        out.append(_text(px(mark), top - 4, "best", "end" if mark > count / 2 else "start", FAINT, "font-size='10'"))
    for c in lines:
        for n, row in reversed(list(enumerate(c.values))):
            points = " ".join(f"{px(k):.1f},{py(v):.1f}" for k, v in _thin(row))
            strong = "stroke-width='2'" if n == 0 else "stroke-width='0.8' stroke-opacity='0.35'"
            out.append(f"<polyline points='{points}' fill='none' stroke='{c.colour}' stroke-linejoin='round' {strong}/>")
            if len(row) == 1:
                out.append(f"<circle cx='{px(0):.1f}' cy='{py(row[0]):.1f}' r='3' fill='{c.colour}'/>")
    ends = sorted((py(next(v for v in reversed(c.values[0]) if np.isfinite(v))), c) for c in lines)
    at = -1e9
    for y, c in ends:  # names at the ends of the lines, none upon another
        at = max(y + 4, at + 14)
        out.append(_text(wide - right + 6, at, c.name, fill=c.colour, extra="font-weight='600'"))
    return _svg(wide, high, title, out)


def _thin(row: list[float], most: int = 600) -> list[tuple[int, float]]:
    step = max(1, len(row) // most)
    return [(k, v) for k, v in enumerate(row) if np.isfinite(v) and (k % step == 0 or k == len(row) - 1)]


# ---- the plane ----


def points(
    title: str, at: np.ndarray, y: np.ndarray, found: np.ndarray, names: list[str], numbers: np.ndarray, what: str, edges: Any = None,
    side: float = 560,
) -> str:  # fmt: skip
    """A dot each: filled with its class; those that are found wrongly have a dark frame. edges: pairs of dots to join by lines."""
    margin, top = 18, 34
    radius = 5.0 if y.size < 100 else 3.6 if y.size < 800 else 2.6
    legend_wide = 40 + 6.6 * max(len(n) for n in names)
    out = [_text(margin, 20, title, extra="font-size='14' font-weight='600'")]
    wrong = found != y
    spot = np.array([margin, top + margin / 2]) + at * (side - 2 * margin)
    for a, b in edges if edges is not None else []:
        (x0, y0), (x1, y1) = spot[a], spot[b]
        out.append(f"<line x1='{x0:.1f}' y1='{y0:.1f}' x2='{x1:.1f}' y2='{y1:.1f}' stroke='#dfe2e7' stroke-width='0.8'/>")
    for k in sorted(range(y.size), key=lambda k: bool(wrong[k])):
        x, v = spot[k]
        tip = f"{what} {int(numbers[k])}: {names[y[k]]}" + (f", taken for {names[found[k]]}" if wrong[k] else "")
        frame = f"stroke='{INK}' stroke-width='0.9'" if wrong[k] else "stroke='#fff' stroke-width='0.4'"
        out.append(f"<circle cx='{x:.1f}' cy='{v:.1f}' r='{radius}' fill='{colour(int(y[k]))}' {frame}><title>{escape(tip)}</title></circle>")
    for n, name in enumerate(names):
        out.append(f"<circle cx='{side + 12}' cy='{top + 14 + 20 * n}' r='5' fill='{colour(n)}'/>")
        out.append(_text(side + 24, top + 18 + 20 * n, name))
    last = top + 14 + 20 * len(names)
    out.append(f"<circle cx='{side + 12}' cy='{last}' r='5' fill='#fff' stroke='{INK}' stroke-width='1.2'/>")
    out.append(_text(side + 24, last + 4, "taken for another", fill=FAINT))
    return _svg(side + max(legend_wide, 150), max(side + 18, last + 24), title, out)


# ---- a neighbourhood ----


class Neighbourhood(NamedTuple):
    """A node, its neighbours, and theirs. parent: for each of them through whom the node hears it; weight: how much counts what it says there."""

    centre: int
    nodes: list[int]  # the centre, then hop after hop
    parent: list[int]  # places in nodes; -1 for the centre
    weight: list[float]  # nan: not known
    own: float  # the centre's weight of itself
    other: list[tuple[int, int]]  # further edges between them, places in nodes


def neighbourhood(edge_index: np.ndarray, centre: int, weights: Any = None, most: int = 44) -> Neighbourhood:
    """Two hops around a node. weights: None, or [(edge_index, weight of each edge)] of the layers, of which the last two count."""
    src, dst = edge_index
    nodes, parent = [centre], [-1]
    start = 0
    for hop in (1, 2):
        end = len(nodes)
        for k in range(start, end):
            for j in np.unique(src[dst == nodes[k]]):
                if int(j) not in nodes and len(nodes) < (most if hop == 2 else most // 2):
                    nodes.append(int(j))
                    parent.append(k)
        start = end
    place = {v: k for k, v in enumerate(nodes)}
    weight, own = [float("nan")] * len(nodes), float("nan")
    if weights is not None:
        for k in range(1, len(nodes)):
            layer = weights[-1] if parent[k] == 0 else weights[max(0, len(weights) - 2)]
            weight[k] = _between(layer, nodes[k], nodes[parent[k]])
        own = _between(weights[-1], centre, centre)
    chosen = np.isin(src, nodes) & np.isin(dst, nodes) & (src < dst)
    inside = [(place[a], place[b]) for a, b in zip(src[chosen].tolist(), dst[chosen].tolist())]
    other = [(a, b) for a, b in inside if parent[a] != b and parent[b] != a]
    return Neighbourhood(centre, nodes, parent, weight, own, other)


def _between(layer: Any, a: int, b: int) -> float:
    (src, dst), alpha = layer
    return float(alpha[(src == a) & (dst == b)].sum())


def attention(title: str, n: Neighbourhood, y: np.ndarray, found: np.ndarray, names: list[str], side: float = 560) -> str:
    """The node in the middle; the thicker a line, the more counts what is said along it."""
    top, middle = 34.0, side / 2
    place = _ring(n)
    out = [_text(18, 20, title, extra="font-size='14' font-weight='600'")]

    def at(k: int) -> tuple[float, float]:
        radius, angle = place[k]
        far = (side / 2 - 30) * radius
        return middle + far * math.cos(angle), top + middle + far * math.sin(angle)

    for a, b in n.other:
        (x0, y0), (x1, y1) = at(a), at(b)
        out.append(f"<line x1='{x0:.1f}' y1='{y0:.1f}' x2='{x1:.1f}' y2='{y1:.1f}' stroke='#d9dce2' stroke-width='1'/>")
    for k in range(len(n.nodes) - 1, 0, -1):
        (x0, y0), (x1, y1), w = at(k), at(n.parent[k]), n.weight[k]
        known = math.isfinite(w)
        wide, dark = (0.8 + 11 * min(w, 1.0), 0.35 + 0.6 * min(w, 1.0)) if known else (1.6, 0.6)
        out.append(
            f"<line x1='{x0:.1f}' y1='{y0:.1f}' x2='{x1:.1f}' y2='{y1:.1f}' stroke='#39424f' stroke-width='{wide:.2f}' stroke-opacity='{dark:.2f}'/>"
        )
        if known and n.parent[k] == 0:
            lx, ly = x1 + 0.55 * (x0 - x1), y1 + 0.55 * (y0 - y1)
            halo = "font-size='11' font-weight='600' paint-order='stroke' stroke='#fff' stroke-width='3.5'"
            out.append(_text(lx, ly + 4, f"{100 * w:.0f} %", "middle", INK, halo))
    for k, v in enumerate(n.nodes):
        x, z = at(k)
        r = 15 if k == 0 else 9 if n.parent[k] == 0 else 6
        wrong = found[v] != y[v]
        tip = f"node {v}: {names[y[v]]}" + (f", taken for {names[found[v]]}" if wrong else "")
        frame = colour(int(found[v])) if wrong else "#fff"
        out.append(
            f"<circle cx='{x:.1f}' cy='{z:.1f}' r='{r}' fill='{colour(int(y[v]))}' stroke='{frame}' stroke-width='{3 if wrong else 1.5}'>"
            f"<title>{escape(tip)}</title></circle>"
        )
    if math.isfinite(n.own):
        out.append(
            _text(middle, top + middle + 3.5, f"{100 * n.own:.0f} %", "middle", "#fff", "font-size='10' font-weight='600' pointer-events='none'")
        )
    shown = sorted({int(y[v]) for v in n.nodes} | {int(found[v]) for v in n.nodes})
    for row, c in enumerate(shown):
        out.append(f"<circle cx='{side + 12:.0f}' cy='{top + 14 + 20 * row:.0f}' r='5' fill='{colour(c)}'/>")
        out.append(_text(side + 24, top + 18 + 20 * row, names[c]))
    wide = side + max(150, 40 + 6.6 * max(len(names[c]) for c in shown))
    return _svg(wide, side + top, title, out)


def _ring(n: Neighbourhood) -> list[tuple[float, float]]:
    """Radius and angle of each node: every node has a sector as wide as its branch."""
    children: list[list[int]] = [[] for _ in n.nodes]
    for k in range(1, len(n.nodes)):
        children[n.parent[k]].append(k)
    leaves = [max(1, len(children[k])) for k in range(len(n.nodes))]
    total = sum(leaves[k] + 0.6 for k in children[0]) or 1.0
    place = [(0.0, 0.0)] * len(n.nodes)
    angle = -math.pi / 2
    for k in children[0]:
        sector = 2 * math.pi * (leaves[k] + 0.6) / total
        place[k] = (0.5 if any(children[j] for j in children[0]) else 0.8, angle + sector / 2)
        for m, j in enumerate(children[k]):
            place[j] = (0.82 + 0.13 * (m % 2) * (len(children[k]) > 6), angle + sector * (m + 0.8) / (len(children[k]) + 0.6))
        angle += sector
    return place


__all__ = ["COLOURS", "Curve", "Neighbourhood", "attention", "colour", "curves", "neighbourhood", "points", "ticks"]
