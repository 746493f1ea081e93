"""viz(tensor, "out.svg"): the UOps of a tensor and the kernels that they became, as a picture.

Data flows from the top to the bottom. A node has its kernel's colour, and small squares for the further kernels that compute it again;
a thick frame marks what is stored; leaves (tensors in memory, constants, sizes) are white. The layout is the usual one for layered
graphs: layers by longest path, long edges cut into steps, order by barycentres, places by pulling neighbours together.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape
from typing import Any

from .plan import Node, Plan, nodes

_COLOURS = (
    "#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6", "#fb9a99", "#ffe07a", "#8dd3c7", "#e5c494", "#bebada", "#fccde5", "#80b1d3", "#b3de69",
    "#ffb07c", "#d9d9d9",
)  # fmt: skip
_FONT = "font-family='ui-monospace,Menlo,Consolas,monospace'"
_CHAR, _LINE, _GAP, _STEP = 6.7, 13, 18, 34  # width of a character, height of a line, space between nodes and between layers
_MOVES = frozenset(("RESHAPE", "EXPAND", "PERMUTE", "SHRINK", "PAD", "FLIP"))
_PANEL = 430
_LEGEND = ("thick frame: stored", "rounded: a leaf", "dashed: a view, or computed before", "small squares: computed again by these kernels")


def viz(tensor: Any, path: str | os.PathLike[str] | None = None, max_nodes: int = 300) -> str:
    """Draws the UOps of a tensor and the kernels that compute it. Returns the SVG, and writes it to path if one is given.

    Of a graph with more than max_nodes nodes, those nearest to the result are drawn.

    >>> from polygrad import Tensor, viz
    >>> svg = viz(Tensor([[1.0, 2.0]]).softmax(-1))
    >>> "EXP" in svg and "REDUCE" in svg
    True
    """
    table, root = nodes(tensor)
    plan = Plan.of(tensor)
    if plan.items:
        plan.place(table, root)
    svg = _Picture(table, root, plan, max_nodes).draw()
    if path is not None:
        with open(path, "w", encoding="utf-8") as f:
            f.write(svg)
    return svg


@dataclass
class _Box:
    """A node of the picture, or a bend of a long edge (node None)."""

    node: Node | None
    lines: list[str] = field(default_factory=list)
    wide: float = 8
    layer: int = 0
    x: float = 0  # of the middle
    up: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    cut: bool = False  # stands for nodes that are not drawn
    y: float = 0  # of the upper edge
    several: bool = False  # a chain of movement ops, a line each

    @property
    def high(self) -> float:
        return len(self.lines) * _LINE + 8 if self.lines else 0


class _Picture:
    def __init__(self, table: dict[int, Node], root: int, plan: Plan, max_nodes: int):
        self.table, self.root, self.plan = table, root, plan
        self.kernels = plan.kernels_of(table)
        self.slot_of = {s.node: s for s in plan.slots.values() if s.node is not None}
        self.boxes: list[_Box] = []
        self.edges: list[list[int]] = []  # boxes from top to bottom
        self.tall: list[float] = []  # height of each row
        self.shown = self._nearest(max_nodes)
        self._make_boxes()
        self._layers()
        self._bends()
        self._order()
        self._places()

    # ---- what is drawn ----

    def _nearest(self, limit: int) -> set[int]:
        """The nodes nearest to the root, breadth first."""
        shown, queue = {self.root}, [self.root]
        for n in queue:
            for s in self.table[n].src:
                if s not in shown and len(shown) < limit:
                    shown.add(s)
                    queue.append(s)
        return shown

    def _make_boxes(self) -> None:
        place: dict[int, int] = {}
        into = self._chains()
        for n in self.table.values():  # sources first
            if n.id not in self.shown or (n.op == "CONST" and n.id != self.root):
                continue
            if n.id in into:  # the view of a view: another line in its box
                at = place[n.id] = place[into[n.id]]
                self._add_line(self.boxes[at], n)
                continue
            at = place[n.id] = self._box(n)
            missing = False
            for s in n.src:
                if s not in self.shown:
                    missing = missing or self.table[s].op != "CONST"
                elif self.table[s].op == "CONST":  # one of its own for each reader, beside it
                    self._edge(self._box(self.table[s]), at)
                else:
                    self._edge(place[s], at)
            if missing:
                self.boxes.append(_Box(None, ["..."], 30, cut=True))
                self._edge(len(self.boxes) - 1, at)

    def _chains(self) -> dict[int, int]:
        """Movement ops that are the only readers of another one and belong to the same kernels: one box shows them all."""
        readers: dict[int, int] = {}
        for k in self.shown:
            for source in set(self.table[k].src):
                readers[source] = readers.get(source, 0) + 1
        return {k: self.table[k].src[0] for k in self.shown if self._continues(self.table[k], readers)}

    def _continues(self, n: Node, readers: dict[int, int]) -> bool:
        if not self._is_view(n) or n.src[0] not in self.shown:
            return False
        s = self.table[n.src[0]]
        return self._is_view(s) and readers[s.id] == 1 and s.id != self.root and self.kernels.get(n.id) == self.kernels.get(s.id)

    def _is_view(self, n: Node) -> bool:
        return n.op in _MOVES and len(n.src) == 1 and not n.stored and n.id not in self.slot_of

    def _add_line(self, box: _Box, n: Node) -> None:
        assert box.node is not None
        if len(box.lines) == 2 and not box.several:
            box.lines = [f"{_label(box.node)}  {'×'.join(box.node.shape)}"]
            box.several = True
        box.lines.append(f"{_label(n)}  {'×'.join(n.shape)}")
        box.wide = max(box.wide, len(box.lines[0]) * _CHAR + 14, len(box.lines[-1]) * _CHAR + 14)

    def _box(self, n: Node) -> int:
        lines = [_label(n), f"{n.dtype} {'×'.join(n.shape)}".strip() if n.op != "CONST" else n.dtype]
        slot = self.slot_of.get(n.id)
        if slot is not None:
            lines.append("stored" + (f" {slot.bytes:,} B" if slot.bytes is not None else ""))
        elif n.stored:
            lines.append("in memory")
        self.boxes.append(_Box(n, lines, max(len(t) for t in lines) * _CHAR + 14))
        return len(self.boxes) - 1

    def _edge(self, a: int, b: int) -> None:
        self.boxes[a].down.append(b)
        self.boxes[b].up.append(a)

    # ---- layout ----

    def _layers(self) -> None:
        """Longest path from the top; then leaves go down to just above their first reader."""
        waiting = [len(b.up) for b in self.boxes]
        queue = [k for k, n in enumerate(waiting) if n == 0]
        for k in queue:
            for d in self.boxes[k].down:
                self.boxes[d].layer = max(self.boxes[d].layer, self.boxes[k].layer + 1)
                waiting[d] -= 1
                if waiting[d] == 0:
                    queue.append(d)
        for k in reversed(queue):
            box = self.boxes[k]
            if box.down:
                box.layer = min(self.boxes[d].layer for d in box.down) - 1
        first = min((b.layer for b in self.boxes), default=0)
        for b in self.boxes:
            b.layer -= first

    def _bends(self) -> None:
        """Edges over several layers get a bend in each, so that they have a place there."""
        for k in range(len(self.boxes)):
            targets, self.boxes[k].down = self.boxes[k].down, []
            for d in targets:
                chain = [k]
                self.boxes[d].up.remove(k)
                for layer in range(self.boxes[k].layer + 1, self.boxes[d].layer):
                    self.boxes.append(_Box(None, layer=layer))
                    self._edge(chain[-1], len(self.boxes) - 1)
                    chain.append(len(self.boxes) - 1)
                self._edge(chain[-1], d)
                self.edges.append([*chain, d])
        self.rows: list[list[int]] = [[] for _ in range(1 + max((b.layer for b in self.boxes), default=0))]
        for k, b in enumerate(self.boxes):
            self.rows[b.layer].append(k)

    def _order(self) -> None:
        """Sweeps up and down: each row is sorted by the mean place of its neighbours in the row before. The best order is kept."""
        best, fewest = [list(r) for r in self.rows], self._crossings()
        for sweep in range(24):
            rows = self.rows if sweep % 2 else self.rows[::-1]
            for row, other in zip(rows[1:], rows):
                at = {k: i for i, k in enumerate(other)}
                keys = {}
                for i, k in enumerate(row):
                    near = self.boxes[k].up if sweep % 2 else self.boxes[k].down
                    keys[k] = sum(at[n] for n in near) / len(near) if near else i
                row.sort(key=keys.__getitem__)
            n = self._crossings()
            if n < fewest:
                best, fewest = [list(r) for r in self.rows], n
        self.rows = best

    def _crossings(self) -> int:
        total = 0
        for upper, lower in zip(self.rows, self.rows[1:]):
            at = {k: i for i, k in enumerate(lower)}
            ends = [at[d] for k in upper for d in sorted(self.boxes[k].down, key=at.__getitem__)]
            total += sum(1 for i, a in enumerate(ends) for b in ends[i + 1 :] if a > b)
        return total

    def _places(self) -> None:
        self.high = 0.0
        for row in self.rows:
            tall = max(self.boxes[k].high for k in row)
            for k in row:
                box = self.boxes[k]
                box.y = self.high + (tall - box.high) / 2 if box.lines else self.high
            self.tall.append(tall)
            self.high += tall + _STEP
        for row in self.rows:
            x = 0.0
            for k in row:
                self.boxes[k].x = x + self.boxes[k].wide / 2
                x += self.boxes[k].wide + _GAP
        for sweep in range(40):
            rows = self.rows if sweep % 2 == 0 else self.rows[::-1]
            for row in rows:
                self._pull(row, sweep)
        left = min((b.x - b.wide / 2 for b in self.boxes), default=0)
        for b in self.boxes:
            b.x -= left

    def _pull(self, row: list[int], sweep: int) -> None:
        """Moves a row's boxes to the middle of their neighbours; boxes that would overlap move as one block (to their mean wish)."""
        blocks: list[tuple[list[int], float, float, float]] = []  # boxes, wish of the first one's left edge * weight, weight, width
        for k in row:
            box = self.boxes[k]
            both = box.up + box.down
            near = both if sweep > 20 else (box.up or both) if sweep % 2 == 0 else (box.down or both)
            wish = sum(self.boxes[n].x for n in near) / len(near) if near else box.x
            weight = 4.0 if box.node is None else 1.0  # long edges like to be straight
            block = ([k], (wish - box.wide / 2) * weight, weight, box.wide + _GAP)
            while blocks and blocks[-1][1] / blocks[-1][2] + blocks[-1][3] > block[1] / block[2]:
                members, total, heavy, wide = blocks.pop()
                block = (members + block[0], total + block[1] - wide * block[2], heavy + block[2], wide + block[3])
            blocks.append(block)
        for members, total, heavy, _ in blocks:
            x = total / heavy
            for k in members:
                self.boxes[k].x = x + self.boxes[k].wide / 2
                x += self.boxes[k].wide + _GAP

    # ---- drawing ----

    def draw(self) -> str:
        left, top = 24, 56
        wide = max((b.x + b.wide / 2 for b in self.boxes), default=0)
        high = self.high
        panel, panel_high = self._panel(left + wide + 40, top)
        title = self._title()
        total_wide, total_high = left + max(wide + 40 + _PANEL, len(title) * _CHAR), max(top + high, panel_high) + 24
        out = [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {total_wide:.0f} {total_high:.0f}' width='{total_wide:.0f}' "
            f"height='{total_high:.0f}' {_FONT} font-size='11'>",
            "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
            "<path d='M0,0.5 L8,4 L0,7.5 z' fill='#667'/></marker></defs>",
            f"<rect width='{total_wide:.0f}' height='{total_high:.0f}' fill='#fcfcfa'/>",
            f"<text x='{left}' y='28' font-size='13' font-weight='bold' fill='#223'>{escape(title)}</text>",
            f"<g transform='translate({left},{top})'>",
        ]
        out += [self._draw_edge(e) for e in self.edges]
        out += [self._draw_box(b) for b in self.boxes if b.node is not None or b.cut]
        out += ["</g>", *panel, "</svg>"]
        return "\n".join(out) + "\n"

    def _title(self) -> str:
        n, shown = len(self.table), len(self.shown)
        calls = len(self.plan.items)
        text = f"{n} UOp{'s' if n != 1 else ''}" + (f" in {calls} kernel{'s' if calls != 1 else ''}" if calls else ", nothing to compute")
        return text if n == shown else f"{text}: the {shown} nodes nearest to the result are drawn, {n - shown} are not"

    def _draw_edge(self, chain: list[int]) -> str:
        points = []
        for k in chain:
            b = self.boxes[k]
            if k == chain[0]:
                points.append((b.x, b.y + b.high))
            elif k == chain[-1]:
                points.append((b.x + self._entry(k, chain[-2]), b.y - 1))
            else:
                points += [(b.x, b.y), (b.x, b.y + self.tall[b.layer])]
        path = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
        for i, ((x0, y0), (x1, y1)) in enumerate(zip(points, points[1:])):
            if i % 2 and x0 == x1:
                path.append(f"L{x1:.1f},{y1:.1f}")
            else:
                bend = (y1 - y0) / 2
                path.append(f"C{x0:.1f},{y0 + bend:.1f} {x1:.1f},{y1 - bend:.1f} {x1:.1f},{y1:.1f}")
        return f"<path d='{' '.join(path)}' fill='none' stroke='#667' stroke-width='1.1' marker-end='url(#tip)'/>"

    def _entry(self, k: int, above: int) -> float:
        """Edges that come from different places end beside each other."""
        b = self.boxes[k]
        order = sorted(b.up, key=lambda u: self.boxes[u].x)
        if len(order) < 2:
            return 0
        space = min(22.0, (b.wide - 20) / (len(order) - 1))
        return (order.index(above) - (len(order) - 1) / 2) * space

    def _draw_box(self, b: _Box) -> str:
        x, y = b.x - b.wide / 2, b.y
        if b.node is None:
            return f"<text x='{b.x:.1f}' y='{y + 13:.1f}' text-anchor='middle' fill='#667'>...</text>"
        of = self.kernels.get(b.node.id, [])
        stored = b.node.id in self.slot_of
        fill = _COLOURS[of[0] % len(_COLOURS)] if of else "#ffffff"
        stroke, width = ("#223", 2.4) if stored else ("#99a", 1.0)
        dash = " stroke-dasharray='4 3'" if not of and not b.node.is_leaf else ""  # computed before
        where = ", ".join(f"kernel {k + 1}" for k in of)
        tip = f"%{b.node.id} = {b.node.op} {b.node.dtype} [{', '.join(b.node.shape)}] {b.node.arg}" + (f" · {where}" if where else "")
        out = [
            f"<g><title>{escape(tip)}</title><rect x='{x:.1f}' y='{y:.1f}' width='{b.wide:.1f}' height='{b.high:.0f}' "
            f"rx='{9 if b.node.is_leaf else 3}' fill='{fill}' stroke='{stroke}' stroke-width='{width}'{dash}/>"
        ]
        for i, line in enumerate(b.lines):
            weight = " font-weight='bold'" if i == 0 and not b.several else ""
            colour = "#445" if i == 1 and not b.several else "#112"
            out.append(f"<text x='{b.x:.1f}' y='{y + 14 + i * _LINE:.1f}' text-anchor='middle' fill='{colour}'{weight}>{escape(line)}</text>")
        for i, k in enumerate(of[1:6]):
            at = f"x='{x + b.wide - 9 - 9 * i:.1f}' y='{y - 4:.1f}'"
            out.append(f"<rect {at} width='7' height='7' fill='{_COLOURS[k % len(_COLOURS)]}' stroke='#556' stroke-width='0.7'/>")
        return "".join(out) + "</g>"

    def _panel(self, x: float, y: float) -> tuple[list[str], float]:
        """The list of kernels beside the picture."""
        out = []

        def text(s: str, dx: float = 0, bold: bool = False, colour: str = "#223") -> None:
            nonlocal y
            weight = " font-weight='bold'" if bold else ""
            out.append(f"<text x='{x + dx:.1f}' y='{y:.1f}' fill='{colour}'{weight}>{escape(s)}</text>")
            y += _LINE

        for line in str(self.plan).splitlines()[: len(self.plan.head)]:
            for part in _wrap(line, 60):
                text(part, bold=True)
        y += 8
        for k, item in enumerate(self.plan.items[:60]):
            out.append(f"<rect x='{x:.1f}' y='{y - 10:.1f}' width='12' height='12' fill='{_COLOURS[k % len(_COLOURS)]}' stroke='#556'/>")
            text(f"{k + 1}. {item.kind} {item.name}".strip(), 18, bold=True)
            for o in item.outputs:
                slot = self.plan.slots[o]
                size = f", {slot.bytes:,} B" if slot.bytes is not None else ""
                text(f"{slot}{size}", 18)
                text("written in place" if slot.kind == "input" else slot.why, 18, colour="#557")
            y += 6
        if len(self.plan.items) > 60:
            text(f"and {len(self.plan.items) - 60} more")
        y += 6
        for line in _LEGEND:
            text(line, colour="#778")
        return out, y


def _label(n: Node) -> str:
    """The op and what matters of its argument."""
    arg = dict(p.split("=", 1) for p in n.arg.split(", ") if "=" in p)
    name = arg.get("name", "").strip('"')
    if n.op == "CONST":
        return f"CONST {n.arg}"
    if n.op in ("REDUCE", "FLIP"):
        mask = int(arg.get("axes", "0"))
        over = ",".join(str(k) for k in range(32) if mask >> k & 1)
        return f"REDUCE {arg.get('op', '')} over {over}" if n.op == "REDUCE" else f"FLIP {over}"
    if n.op == "PERMUTE":
        order = int(arg.get("order", "0"), 16)
        return "PERMUTE " + ",".join(str(order >> 4 * k & 15) for k in range(len(n.shape)))
    if n.op == "SEGMENT":
        return f"SEGMENT {arg.get('op', '')}"
    if n.op == "BIND" and n.numbers:
        return f"BIND = {n.numbers[0]}"
    return f"{n.op} {name}" if name else n.op


def _wrap(text: str, width: int) -> list[str]:
    out, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) >= width:
            out.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*out, line]
