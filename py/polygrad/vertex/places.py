"""Where a value of a vertex program lives, and the objects that a program sees: vertices, edges and neighbourhoods.

A program is run once, with one symbolic vertex v. A neighbourhood such as v.innbs is run through once as well: a comprehension over
it gives a list of one entry, which stands for all. So every value has a place:

    Place   a vertex: v itself, or the far end of the edges of a loop; its tensor is [nodes, ...]
    Loop    the edges of one neighbourhood; its tensor is [edges, ...]

Values of one place are computed there: `layer(n.h)` is node-sized, once for each node. Only where values of different places meet are
they lifted to the edges that join them. A Pass is one run through a loop: it tells a list of neighbour values (its pass has ended:
`sum` reduces it) from the value of this neighbour (its pass is open), and values that were zipped from those that were not.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

from ..graphs import Graph, HeteroGraph
from ..tensor import Tensor
from .originals import any, len, zip

OWN_NAMES = ("innbs", "outnbs", "inedges", "outedges", "src", "dst", "edge")


class _State(threading.local):
    """The traces of this thread, innermost last."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []


STATE = _State()


class Pass:
    """One run through a loop. `outer` is the pass that its centre came from."""

    __slots__ = ("loop", "outer", "open", "joined", "serial", "where")

    def __init__(self, loop: Loop, outer: Pass | None):
        self.loop, self.outer, self.open = loop, outer, 0
        self.joined: Pass = self
        self.serial = loop.trace.tick()
        self.where: Any = None  # code and position of the loop that ran through it

    def group(self) -> Pass:
        p = self
        while p.joined is not p:
            p = p.joined
        return p

    def join(self, other: Pass) -> None:
        """The two were run through side by side, by zip."""
        a, b = self.group(), other.group()
        if a is not b:
            b.joined = a
            a.open += b.open

    @property
    def is_open(self) -> bool:
        return self.group().open > 0


class Place:
    """A vertex: the centre of a program (loop None) or the far end of a loop's edges."""

    __slots__ = ("trace", "kind", "loop", "loops")

    def __init__(self, trace: Trace, kind: str, loop: Loop | None):
        self.trace, self.kind, self.loop = trace, kind, loop
        self.loops: dict[Any, Loop] = {}

    def count(self) -> int:
        return self.trace.counts[self.kind]

    def around(self, side: str, relation: Any) -> Loop:
        """The loop over the edges of a relation on one side of this vertex."""
        key = (side, relation)
        if key not in self.loops:
            self.loops[key] = Loop(self, side, relation)
        return self.loops[key]

    def __str__(self) -> str:
        return "the vertex" if self.loop is None else f"the neighbours in {self.loop}"


class Loop:
    """The edges of a relation into (side 'in') or out of ('out') a vertex."""

    __slots__ = ("trace", "center", "far", "side", "relation", "graph")

    def __init__(self, center: Place, side: str, relation: Any):
        self.trace, self.center, self.side, self.relation = center.trace, center, side, relation
        self.graph: Graph = self.trace.relations[relation]
        self.far = Place(self.trace, relation[0] if side == "in" else relation[2], self)

    def count(self) -> int:
        return self.graph.num_edges

    def lift(self, t: Tensor, place: Place) -> Tensor:
        """Values of one of the loop's ends, seen from its edges."""
        to_dst = (place is self.center) == (self.side == "in")
        return self.graph.dst(t) if to_dst else self.graph.src(t)

    def __str__(self) -> str:
        name = f"v.{self.side}nbs" if self.center.loop is None else f"n.{self.side}nbs"
        return name if self.relation[1] is None else f"{name}({self.relation[1]!r})"


class Trace:
    """One vertex program while it is run: the graph, the values by name, the passes so far."""

    def __init__(self, graph: Any, kind: str | None, nodes: dict[str, Any], edges: dict[str, Any]):
        self.serial = 0
        self.open: list[Pass] = []
        self.ended: list[Pass] = []
        self.active = False
        self.zipping = 0  # is a zip taking its next entries?
        self.relations, self.counts = _relations(graph, next(iter(nodes.values()), None))
        self.root = Place(self, _centre_kind(self, graph, kind), None)
        self.nodes = {name: self._node_values(name, value) for name, value in nodes.items()}
        self.edges = {name: self._edge_values(name, value, name in nodes) for name, value in edges.items()}

    def tick(self) -> int:
        self.serial += 1
        return self.serial

    # ---- values by name ----

    def _node_values(self, name: str, value: Any) -> dict[str, Tensor]:
        """{node type: tensor} out of a tensor, a pair for a bipartite graph, or a dict by type."""
        _check_name(name)
        kinds = list(self.counts)
        if isinstance(value, tuple) and kinds == ["src", "dst"] and len(value) == 2:
            value = {k: v for k, v in zip(kinds, value) if v is not None}
        if isinstance(value, dict):
            for kind in value:
                if kind not in self.counts:
                    raise KeyError(f"{name}: there are no nodes of type {kind!r}; types: {', '.join(kinds)}")
            return {kind: self._checked(name, _tensor(name, v), self.counts[kind], f"{kind} nodes") for kind, v in value.items()}
        t = _tensor(name, value)
        fitting = [k for k in kinds if t.ndim and t.shape[0] == self.counts[k]]
        if len(kinds) == 1 or not fitting:
            sizes = " or ".join(f"{self.counts[k]} nodes" if len(kinds) == 1 else f"{self.counts[k]} {k} nodes" for k in kinds)
            return {kinds[0]: self._checked(name, t, self.counts[kinds[0]] if len(kinds) == 1 else -1, sizes)}
        if len(fitting) > 1:
            form = "a pair (of sources, of destinations)" if kinds == ["src", "dst"] else "a dict by node type"
            raise ValueError(f"{name} of shape {t.shape} fits several types of nodes ({', '.join(fitting)}): give {form}")
        return {fitting[0]: t}

    def _edge_values(self, name: str, value: Any, taken: bool) -> dict[Any, Tensor]:
        _check_name(name)
        if taken:
            raise ValueError(f"{name} names a node value and an edge value: give one of them another name")
        if isinstance(value, dict):
            by_relation = {self.find(key): _tensor(name, v) for key, v in value.items()}
        elif len(self.relations) == 1:
            by_relation = {next(iter(self.relations)): _tensor(name, value)}
        else:
            raise ValueError(f"edge value {name}: the graph has several relations; give a dict by relation")
        for relation, t in by_relation.items():
            self._checked(name, t, self.relations[relation].num_edges, f"{self.relations[relation].num_edges} edges")
        return by_relation

    @staticmethod
    def _checked(name: str, t: Tensor, count: int, what: str) -> Tensor:
        if not t.ndim or t.shape[0] != count:
            raise ValueError(f"{name} has the shape {t.shape}, which does not fit {what}")
        return t

    def find(self, key: Any) -> Any:
        """The relation of a name or triple."""
        if key in self.relations:
            return key
        found = [r for r in self.relations if r[1] == key]
        if len(found) == 1:
            return found[0]
        known = ", ".join(repr(r[1]) for r in self.relations if r[1] is not None) or "none with a name"
        raise KeyError(f"{'several relations have' if found else 'there is no relation with'} the name {key!r}; relations: {known}")

    def name_value(self, name: str, value: Any) -> None:
        from .collect import everywhere
        from .value import Value

        _check_name(name)
        if name in self.edges:
            raise ValueError(f"{name} names an edge value already")
        if isinstance(value, (Tensor, int, float)):
            value = everywhere(value, self.root, None)
        if not isinstance(value, Value) or value._at is not self.root:
            raise TypeError(f"v.{name} needs a value of the vertex: reduce values of neighbours with sum, max, min or mean first")
        self.nodes[name] = {**self.nodes.get(name, {}), self.root.kind: value._t}

    # ---- passes ----

    def enter(self, p: Pass) -> None:
        if not self.zipping and any(q.loop is p.loop for q in self.open):
            raise RuntimeError(
                f"a loop over {p.loop} inside another one runs over pairs of neighbours, which a vertex program cannot do; to go "
                "through two lists side by side use zip, and take what does not depend on the outer loop out of it"
            )
        p.group().open += 1
        self.open.append(p)

    def leave(self, p: Pass) -> None:
        p.group().open -= 1
        if p in self.open:
            self.open.remove(p)
        if p in self.ended:
            self.ended.remove(p)
        self.ended.append(p)
        del self.ended[:-64]


def _relations(graph: Any, value: Any) -> tuple[dict[Any, Graph], dict[str, int]]:
    """Every kind of graph as {(source type, name, destination type): Graph} and {type: nodes}. A node value says how many nodes a bare
    edge_index has."""
    if isinstance(graph, HeteroGraph):
        return dict(graph.relations), dict(graph.num_nodes)
    if not isinstance(graph, Graph):
        shape = getattr(value, "shape", ())
        graph = Graph(graph, int(shape[0]) if shape else None)
    if graph.is_bipartite:
        return {("src", None, "dst"): graph}, {"src": graph.num_src, "dst": graph.num_dst}
    return {("node", None, "node"): graph}, {"node": graph.num_nodes}


def _centre_kind(trace: Trace, graph: Any, kind: str | None) -> str:
    """The type of v: the one asked for, the only one, or where the edges of a bipartite graph go."""
    if kind is not None:
        if kind not in trace.counts:
            raise KeyError(f"there are no nodes of type {kind!r}; types: {', '.join(trace.counts)}")
        return kind
    if len(trace.counts) == 1:
        return next(iter(trace.counts))
    targets = {r[2] for r in trace.relations}
    if len(targets) == 1:
        return targets.pop()
    raise ValueError(f"the graph has several types of nodes ({', '.join(trace.counts)}): say with vertex= which the program is for")


def _check_name(name: str) -> None:
    if name in OWN_NAMES or name.startswith("_"):
        raise ValueError(f"a value cannot be named {name}: vertices and edges have that attribute themselves")


def _tensor(name: str, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, int, float)) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return Tensor(value)
    raise TypeError(f"{name} must be a Tensor, not {type(value).__name__}")


# ---- what a program sees ----


class Vertex:
    """A symbolic vertex: its values by name, its neighbourhoods."""

    __slots__ = ("_place", "_pass")

    def __init__(self, place: Place, pass_: Pass | None = None):
        object.__setattr__(self, "_place", place)
        object.__setattr__(self, "_pass", pass_)

    def __setattr__(self, name: str, value: Any) -> None:
        """v.z = ... names a new value, which neighbours then have as n.z: the next step of a program of several."""
        trace = self._place.trace
        if self._place.loop is not None:
            raise TypeError(f"only the vertex of the program can be given values, not its neighbours: v.{name} = ... after the loop")
        if any(p.loop.center is self._place for p in trace.open):
            raise TypeError(f"v.{name} cannot be set inside a loop over neighbours: reduce the loop's values first")
        trace.name_value(name, value)

    @property
    def innbs(self) -> Neighbourhood:
        """The vertices with an edge to this one; innbs(name) those of one relation."""
        return Neighbourhood(self, "in", False)

    @property
    def outnbs(self) -> Neighbourhood:
        """The vertices that this one has an edge to."""
        return Neighbourhood(self, "out", False)

    @property
    def inedges(self) -> Neighbourhood:
        """The edges to this vertex."""
        return Neighbourhood(self, "in", True)

    @property
    def outedges(self) -> Neighbourhood:
        """The edges from this vertex."""
        return Neighbourhood(self, "out", True)

    @property
    def edge(self) -> Edge:
        """Of a neighbour: the edge that leads to it."""
        if self._pass is None:
            raise AttributeError("the vertex of a program has no edge of its own: use v.inedges or v.outedges")
        return Edge(self._pass)

    def __getattr__(self, name: str) -> Any:
        from .value import Value

        if name.startswith("__"):
            raise AttributeError(name)
        trace, place = self._place.trace, self._place
        by_kind = trace.nodes.get(name)
        if by_kind is not None and place.kind in by_kind:
            return Value(by_kind[place.kind], place, self._pass)
        if by_kind is None and name in trace.edges and self._pass is not None:
            return getattr(Edge(self._pass), name)
        if by_kind is not None:
            raise AttributeError(f"{name} has no values for nodes of type {place.kind!r}, only for {', '.join(by_kind)}")
        if name in trace.edges:
            raise AttributeError(f"{name} is an edge value: use [e.{name} for e in v.inedges]")
        raise AttributeError(f"the vertex has no value {name!r}; values: {', '.join(trace.nodes) or 'none'}")

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self._place}>"


class Edge:
    """A symbolic edge of a loop: its values by name, and its two ends."""

    __slots__ = ("_pass",)

    def __init__(self, pass_: Pass):
        self._pass = pass_

    def _end(self, dst: bool) -> Vertex:
        loop = self._pass.loop
        return Vertex(loop.center, self._pass.outer) if dst == (loop.side == "in") else Vertex(loop.far, self._pass)

    @property
    def src(self) -> Vertex:
        return self._end(False)

    @property
    def dst(self) -> Vertex:
        return self._end(True)

    def __getattr__(self, name: str) -> Any:
        from .value import Value

        if name.startswith("__"):
            raise AttributeError(name)
        loop = self._pass.loop
        by_relation = loop.trace.edges.get(name)
        if by_relation is not None and loop.relation in by_relation:
            return Value(by_relation[loop.relation], loop, self._pass)
        if by_relation is not None:
            raise AttributeError(f"{name} has no values for the edges of {loop}")
        if name in loop.trace.nodes:
            raise AttributeError(f"{name} is a node value: use e.src.{name} or e.dst.{name}")
        raise AttributeError(f"the edge has no value {name!r}; values: {', '.join(loop.trace.edges) or 'none'}")

    def __repr__(self) -> str:
        return f"<an edge of {self._pass.loop}>"


class Neighbourhood:
    """The neighbours of a vertex, or its edges: something to run through, once. Its length is the vertex's degree."""

    __slots__ = ("_vertex", "_side", "_edges", "_relation")

    def __init__(self, vertex: Vertex, side: str, edges: bool, relation: Any = None):
        self._vertex, self._side, self._edges, self._relation = vertex, side, edges, relation

    def __call__(self, relation: Any) -> Neighbourhood:
        trace, kind = self._vertex._place.trace, self._vertex._place.kind
        found = trace.find(relation)
        if found[2 if self._side == "in" else 0] != kind:
            raise KeyError(f"{found} has no edges {'to' if self._side == 'in' else 'from'} nodes of type {kind!r}")
        return Neighbourhood(self._vertex, self._side, self._edges, found)

    def _loop(self) -> Loop:
        place = self._vertex._place
        if self._relation is not None:
            return place.around(self._side, self._relation)
        at = 2 if self._side == "in" else 0
        found = [r for r in place.trace.relations if r[at] == place.kind]
        if len(found) == 1:
            return place.around(self._side, found[0])
        what = f"v.{self._side}{'edges' if self._edges else 'nbs'}"
        if not found:
            raise ValueError(f"nodes of type {place.kind!r} have no {self._side}-edges")
        raise ValueError(f"{what} needs a relation here, as in {what}({found[0][1]!r}); there are {', '.join(repr(r[1]) for r in found)}")

    def _new_pass(self) -> Pass:
        return Pass(self._loop(), self._vertex._pass)

    def _entry(self, p: Pass) -> Any:
        return Edge(p) if self._edges else Vertex(p.loop.far, p)

    def __iter__(self) -> Iterator[Any]:
        p = self._new_pass()
        trace = p.loop.trace
        if not trace.active:
            raise RuntimeError("the vertex program has ended: its neighbourhoods cannot be used any more")
        trace.enter(p)
        try:
            yield self._entry(p)
            p.where = _caller(sys._getframe(1))
        finally:
            trace.leave(p)

    def __getattr__(self, name: str) -> Any:
        from .collect import TracedList

        if name.startswith("__"):
            raise AttributeError(name)
        return TracedList([getattr(self._entry(self._new_pass()), name)])

    def __len__(self) -> int:
        raise TypeError("the length of a neighbourhood is a value of the vertex: it is known inside the `with zoomIn` block only")

    def __bool__(self) -> bool:
        raise TypeError("whether a vertex has neighbours differs from vertex to vertex: use `(len(v.innbs) > 0).where(a, b)`")

    def __repr__(self) -> str:
        return f"<v.{self._side}{'edges' if self._edges else 'nbs'}>"


def _caller(frame: Any) -> Any:
    """Code and offset of the statement that runs a comprehension."""
    while frame is not None and frame.f_code.co_name in ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>"):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)
