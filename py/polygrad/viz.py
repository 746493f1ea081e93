"""viz: a picture of a tensor's program and of the kernels that it becomes, as an SVG file."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .tensor import Tensor

_COLOURS = {  # fill by kind of operation
    "leaf": "#dbe9ff", "move": "#eeeeee", "reduce": "#ffd9c2", "index": "#e4d7ff", "memory": "#d6f5d6", "value": "#fff4c2",
}  # fmt: skip
_KINDS = {
    "leaf": ("BUFFER", "CONST", "VARIABLE", "IOTA", "BIND"),
    "move": ("RESHAPE", "EXPAND", "PERMUTE", "PAD", "SHRINK", "FLIP", "CAT"),
    "reduce": ("REDUCE",),
    "index": ("GATHER", "SEGMENT", "LIBRARY", "ENDPOINT"),
    "memory": ("CONTIGUOUS", "ASSIGN", "COPY", "DETACH"),
}
_KIND_OF = {op: kind for kind, ops in _KINDS.items() for op in ops}
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 150, 36, 18, 34


class _Node(NamedTuple):
    name: str
    op: str
    title: str
    detail: str
    sources: list[str]


def _parse(text: str) -> list[_Node]:
    """The nodes of Tensor.uops(), sources before users."""
    nodes = []
    for line in text.splitlines():
        m = re.match(r"%(\d+) = (\w+) (\S+)(?: \[(.*?)\])?(.*)$", line)
        if not m:
            continue
        number, op, dtype, shape, rest = m.groups()
        argument = re.search(r"\{(.*)\}", rest)
        title = op + (f" {argument.group(1)}" if argument else "")
        nodes.append(_Node(number, op, title, f"{dtype} ({shape or ''})", re.findall(r"%(\d+)", rest.split("{")[0])))
    return nodes


def _layers(nodes: list[_Node]) -> list[list[str]]:
    """A row each for the nodes at the same distance from the leaves, ordered so that edges cross less."""
    depth: dict[str, int] = {}
    for n in nodes:
        depth[n.name] = 1 + max((depth[s] for s in n.sources if s in depth), default=-1)
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    by_name = {n.name: n for n in nodes}
    for n in nodes:
        rows[depth[n.name]].append(n.name)
    place: dict[str, float] = {}
    for row in rows:
        row.sort(key=lambda v: sum(place.get(s, 0.0) for s in by_name[v].sources) / max(1, len(by_name[v].sources)))
        place.update({v: k - len(row) / 2 for k, v in enumerate(row)})
    return rows


def viz(tensor: Tensor, path: str) -> str:
    """Draws the UOps of a tensor, and beside them the plan in words. Writes an SVG file and returns its path.

    >>> import os, tempfile
    >>> from polygrad import Tensor
    >>> path = viz((Tensor([1.0, 2.0]) + 1).sum(), os.path.join(tempfile.mkdtemp(), "out.svg"))
    >>> open(path).read(4)
    '<svg'
    """
    nodes = _parse(tensor.uops())
    rows = _layers(nodes)
    plan = tensor.explain().splitlines()
    wide = max((len(r) for r in rows), default=1) * (_WIDTH + _GAP_X) + _GAP_X
    high = max(len(rows) * (_HEIGHT + _GAP_Y) + _GAP_Y, 18 * len(plan) + 40)
    beside = 20 + 7 * max((len(x) for x in plan), default=0)
    at = {}
    for y, row in enumerate(rows):
        left = (wide - len(row) * (_WIDTH + _GAP_X)) / 2 + _GAP_X / 2
        at.update({v: (left + x * (_WIDTH + _GAP_X), _GAP_Y / 2 + y * (_HEIGHT + _GAP_Y)) for x, v in enumerate(row)})
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide + beside:.0f}" height="{high:.0f}" font-family="monospace" font-size="11">']
    for n in nodes:
        x, y = at[n.name]
        for s in n.sources:
            if s in at:
                a, b = at[s]
                out.append(f'<path d="M{a + _WIDTH / 2:.0f},{b + _HEIGHT:.0f} L{x + _WIDTH / 2:.0f},{y:.0f}" stroke="#888" fill="none"/>')
    for n in nodes:
        x, y = at[n.name]
        fill = _COLOURS[_KIND_OF.get(n.op, "value")]
        out.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="{fill}" stroke="#555"/>')
        out.append(f'<text x="{x + 6:.0f}" y="{y + 15:.0f}">{escape(n.title[:22])}</text>')
        out.append(f'<text x="{x + 6:.0f}" y="{y + 29:.0f}" fill="#555">{escape(n.detail[:22])}</text>')
    for k, line in enumerate(plan):
        out.append(f'<text x="{wide + 10:.0f}" y="{24 + 18 * k}" xml:space="preserve">{escape(line)}</text>')
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out))
    return path
