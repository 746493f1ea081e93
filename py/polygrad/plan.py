"""What the C core says about a program, as Python objects: the UOps of a tensor and the plan that computes it.

`nodes(tensor)` reads the text of its UOps, `Plan.of(tensor)` that of its schedule; `Plan.place` finds out which UOp each buffer of
the plan holds, and `Plan.kernels_of` which kernels compute a UOp. `str(plan)` is the plan in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ._ffi import C
from .dtypes import to_dtype

_NODE = re.compile(r"%(\d+) = (\w+) (\w+)(?: \[([^\]]*)\])?((?: (?:%\d+|-?\d+))*)(?: \{(.*)\})?( # stored)?$")
_SLOT = re.compile(r"  slot (\d+): (\w+) (\w+) \((.*?)\), (.*)$")
_ITEM = re.compile(r"  (  (?:at the end, )?)?(kernel|matrix product|library|loop|tiles of [^:]*):([ \d]*)(?:<-([ \d]*))?$")
_BODY, _BODY_END = re.compile(r"  (each step of .*):$"), "  end of the loop"


@dataclass
class Node:
    """A UOp. shape: as text, symbolic sizes by their value's text; src: the numbers of its sources."""

    id: int
    op: str
    dtype: str
    shape: tuple[str, ...]
    src: list[int]
    arg: str
    stored: bool
    numbers: list[int] = field(default_factory=list)  # integer operands

    @property
    def is_leaf(self) -> bool:
        return self.op in ("BUFFER", "CONST", "VARIABLE", "BIND", "IOTA", "RANDOM", "PARAM")


def nodes(tensor: Any) -> tuple[dict[int, Node], int]:
    """The UOps of a tensor by number, sources first, and the number of the last one, which is the tensor's own."""
    return parse_nodes(tensor.uops())


def parse_nodes(text: str) -> tuple[dict[int, Node], int]:
    table: dict[int, Node] = {}
    root = -1
    for line in text.splitlines():
        if line.startswith("return %"):
            root = int(line[len("return %") :].split()[0])
        m = _NODE.match(line)
        if m is None:
            continue
        number, op, dtype, shape, sources, arg, stored = m.groups()
        refs = sources.split()
        node = Node(int(number), op, dtype, (), [int(r[1:]) for r in refs if r[0] == "%"], arg or "", stored is not None)
        node.numbers = [int(r) for r in refs if r[0] != "%"]
        node.shape = tuple(_size_text(s, table) for s in (shape or "").split(", ") if s)
        table[node.id] = node
    return table, root


def _size_text(s: str, table: dict[int, Node]) -> str:
    """A number, or the text of a symbolic size: `n*2`."""
    if not s.startswith("%"):
        return s
    node = table[int(s[1:])]
    if node.op == "VARIABLE":
        m = re.search(r'name="(.*)"', node.arg)
        return m.group(1) if m else "?"
    if node.op == "BIND":
        return _size_text(f"%{node.src[0]}", table)
    sign = {"ADD": "+", "MUL": "*", "SUB": "-", "IDIV": "//", "MOD": "%"}.get(node.op)
    parts = [_size_text(f"%{k}", table) for k in node.src] + [str(k) for k in node.numbers]
    return sign.join(parts) if sign else "?"


# ---- plans ----


@dataclass
class Slot:
    """A buffer of a plan. kind: input, output, temporary or scratch, which holds one tile at a time."""

    id: int
    kind: str
    dtype: str
    shape: tuple[str, ...]
    why: str
    node: int | None = None  # the UOp that it holds

    @property
    def bytes(self) -> int | None:
        """None if the size is symbolic."""
        total = to_dtype(self.dtype).itemsize
        for n in self.shape:
            if not n.isdigit():
                return None
            total *= int(n)
        return total

    def __str__(self) -> str:
        return f"{self.dtype} ({', '.join(self.shape)}{',' if len(self.shape) == 1 else ''})"


@dataclass
class Item:
    """A kernel, a matrix product, a call of a library routine, or what runs several of them: tiles of edges, and a loop over steps."""

    kind: str
    outputs: list[int]
    inputs: list[int]
    name: str = ""
    parts: list[Item] = field(default_factory=list)  # of each tile
    body: Plan | None = None  # of each step, with buffers of its own

    def kernels(self) -> Iterator[Item]:
        """This kernel, or those that it runs."""
        if self.kind.endswith("kernel"):
            yield self
        for part in [*self.parts, *(self.body.items if self.body else [])]:
            yield from part.kernels()


@dataclass
class Plan:
    """The schedule of a tensor: what runs, and what is stored."""

    head: list[str]
    slots: dict[int, Slot]
    items: list[Item]

    @staticmethod
    def of(tensor: Any) -> Plan:
        from .tensor import _text

        plan = Plan.parse(_text(tensor, C.poly_explain))
        plan.name_kernels(tensor)
        return plan

    @staticmethod
    def parse(text: str) -> Plan:
        return Plan._read(iter(text.splitlines()))

    @staticmethod
    def _read(lines: Iterator[str]) -> Plan:
        """The lines of a plan, or of the body of a loop."""
        plan = Plan([], {}, [])
        for line in lines:
            slot, item, body = _SLOT.match(line), _ITEM.match(line), _BODY.match(line)
            if slot:
                number, kind, dtype, shape, why = slot.groups()
                plan.slots[int(number)] = Slot(int(number), kind, dtype, tuple(s for s in re.split(r",\s*", shape) if s), why)
            elif item:
                inner, kind, outputs, inputs = item.groups()
                found = Item(f"{(inner or '').strip()} {kind}".strip(), _numbers(outputs), _numbers(inputs))
                (plan.items[-1].parts if inner else plan.items).append(found)
            elif body:
                plan.items[-1].name, plan.items[-1].body = body[1], Plan._read(lines)
            elif line == _BODY_END:
                break
            elif line.strip():
                plan.head.append(line.strip())
        return plan

    def name_kernels(self, tensor: Any) -> None:
        """Gives kernels the names that they have in the source, where each is used once."""
        kernels = [k for item in self.items for k in item.kernels()]
        if not kernels:
            return
        table = re.search(r"poly_kernels\[\d+\].*?= \{(.*?)\}", tensor.source(), re.S)
        names = [n.strip() for n in table.group(1).split(",") if n.strip()] if table else []
        if len(names) == len(kernels):
            for item, name in zip(kernels, names):
                item.name = name

    # ---- in words ----

    def _item_lines(self, item: Item, before: str, label: dict[int, str]) -> list[str]:
        outputs = ", ".join(f"{label[o]} = {self.slots[o]}" for o in item.outputs)
        inputs = ", ".join(label[i] if self.slots[i].kind != "input" else f"{label[i]} {self.slots[i]}" for i in item.inputs)
        name = f"{item.kind} {item.name}".strip()
        lines = [f"{before}{name}: {outputs}" + (f"  from {inputs}" if inputs else "")]
        for slot in () if item.parts else (self.slots[o] for o in item.outputs):  # the parts of tiles say it for themselves
            size = f"{slot.bytes:,} bytes, " if slot.bytes is not None and slot.kind != "scratch" else ""
            verb = "written in place" if slot.kind == "input" else f"{'held' if slot.kind == 'scratch' else 'stored'}: {size}{slot.why}"
            lines.append(" " * len(before) + f"  {label[slot.id]} {verb}")
        return lines

    def __str__(self) -> str:
        if not self.items:
            return "\n".join(self.head)
        label = {s.id: f"{_LETTER[s.kind]}{s.id}" for s in self.slots.values()}
        lines = [_plurals(h) for h in self.head]
        for k, item in enumerate(self.items, 1):
            lines += self._item_lines(item, f"{k:3}. ", label)
            for part in item.parts:
                lines += self._item_lines(part, "       ", label)
            if item.body is not None:
                lines += ["     " + line for line in str(item.body).splitlines()]
        return "\n".join(lines)

    # ---- which UOps the buffers hold ----

    def place(self, table: dict[int, Node], root: int) -> None:
        """Sets slot.node of what is computed. The texts do not say it, so it is found out: a buffer holds a node of its shape and dtype that
        can be computed from just the buffers that its kernel reads. A buffer that holds no node (a piece of a long sum) keeps None."""
        reads: dict[int, _Reads] = {}  # of buffers without a node: what they were computed from
        for item in self.items:
            known, inputs = set(), []
            for i in item.inputs:
                slot = self.slots[i]
                if slot.node is not None:
                    known.add(slot.node)
                elif slot.kind == "input":
                    inputs.append(_kind(slot))
                elif i in reads:
                    known |= reads[i].known
                    inputs += reads[i].inputs
            for o in item.outputs:
                slot = self.slots[o]
                if slot.kind == "input":
                    inputs.append(_kind(slot))  # written in place, so perhaps read
                slot.node = self._find(slot, item, _Reads(known, inputs), table, root)
                if slot.node is None:
                    reads[o] = _Reads(known, inputs)

    def _find(self, slot: Slot, item: Item, reads: _Reads, table: dict[int, Node], root: int) -> int | None:
        taken = {s.node for s in self.slots.values()}
        if slot.kind == "output" or (slot.kind == "input" and table[root].op == "ASSIGN"):
            k = root  # what was asked for, or what it is a view of
            while not _same(slot, table[k]) and table[k].op in ("RESHAPE", "DETACH"):
                k = table[k].src[0]
            return k if _same(slot, table[k]) and k not in taken else None
        wanted = _wanted_ops(slot, item)
        free = [n for n in table.values() if n.id not in taken and not n.stored and (n.op in wanted or not (wanted or n.is_leaf))]
        exact = [n for n in free if _same(slot, n)]
        loose = [n for n in free if slot.why.startswith("operand") and n.dtype == slot.dtype and _loosely(slot) == _loosely(n)]
        reached = cuts(table, reads.known)
        for fits, whole in ((exact, True), (loose, True), (exact, False)):
            found = [n.id for n in fits if reads.match(reached[n.id], table, whole)]
            if found:
                return max(found)
        return None

    def kernels_of(self, table: dict[int, Node]) -> dict[int, list[int]]:
        """For each node the items that compute it."""
        out: dict[int, list[int]] = {}
        stored = {s.node for s in self.slots.values() if s.node is not None} | {n.id for n in table.values() if n.stored}
        for k, item in enumerate(self.items):
            stack = [n for n in (self.slots[o].node for o in item.outputs) if n is not None]
            seen: set[int] = set()
            while stack:
                n = stack.pop()
                if n in seen:
                    continue
                seen.add(n)
                out.setdefault(n, []).append(k)
                stack += [s for s in table[n].src if s not in stored and table[s].op != "CONST"]
        return out


_LETTER = {"input": "in", "output": "out", "temporary": "t", "scratch": "s"}


def _numbers(text: str | None) -> list[int]:
    return [int(k) for k in (text or "").split()]


def _plurals(text: str) -> str:
    """ "1 kernels" reads badly, and so do things of which there are none."""
    text = re.sub(r", 0 (matrix products|library calls)", "", text)
    text = re.sub(r" \((\d+) distinct\)", "", text) if re.search(r": (\d+) kernels \(\1 distinct\)", text) else text
    text = re.sub(r" and 0 intermediates \(0 bytes\)", "", text)
    text = re.sub(r"\b1 (kernel|matrix product|library call|tensor|result|intermediate)s\b", r"1 \1", text)
    text = text.replace(" 1 loops over", " 1 loop over")
    return re.sub(r"\((\d+) bytes\)", lambda m: f"({int(m.group(1)):,} bytes)", text)


def _wanted_ops(slot: Slot, item: Item) -> tuple[str, ...]:
    """The ops that a buffer with this reason can hold; () if any."""
    if slot.why == "matrix product" or item.kind == "matrix product" or slot.why.startswith("reduction"):
        return ("REDUCE", "SEGMENT")
    if item.kind == "library":
        return ("LIBRARY",)
    if "contiguous" in slot.why:
        return ("CONTIGUOUS",)
    return ()


def _same(slot: Slot, node: Node) -> bool:
    if slot.dtype != node.dtype or len(slot.shape) != len(node.shape):
        return False
    return all(a == b or not (a.isdigit() and b.isdigit()) for a, b in zip(slot.shape, node.shape))


def _loosely(x: Slot | Node) -> list[str]:
    """The sizes in any order: operands of a matrix product are stored with their axes sorted."""
    return sorted(n for n in x.shape if n != "1")


def _kind(x: Slot | Node) -> tuple[str, tuple[str, ...]]:
    """dtype and shape; symbolic sizes are named differently in nodes and slots, so they count as the same."""
    return x.dtype, tuple(n if n.isdigit() else "?" for n in x.shape)


@dataclass
class _Reads:
    """What a kernel reads: nodes that are known to be stored, and inputs by dtype and shape."""

    known: set[int]
    inputs: list[tuple[str, tuple[str, ...]]]

    def match(self, reached: frozenset[int], table: dict[int, Node], whole: bool) -> bool:
        """Are these the nodes that are read, all of them if whole?"""
        kinds = sorted(_kind(table[n]) for n in reached - self.known)
        if whole:
            return self.known <= reached and kinds == sorted(self.inputs)
        left = list(self.inputs)
        for k in kinds:
            if k not in left:
                return False
            left.remove(k)
        return True


def cuts(table: dict[int, Node], stop: set[int]) -> dict[int, frozenset[int]]:
    """For each node the stored ones that it is computed from, without going past those of `stop`. O(nodes * what they read)."""
    out: dict[int, frozenset[int]] = {}
    for n in table.values():  # sources come first
        parts = {frozenset((s,)) if s in stop or table[s].stored else out[s] for s in n.src}
        out[n.id] = next(iter(parts)) if len(parts) == 1 else frozenset().union(*parts)
    return out
