"""zoomIn, zoomOut and vertex_program."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable

from ..tensor import Tensor
from .collect import everywhere
from .originals import len
from .patch import put_in, take_out
from .places import STATE, Loop, Place, Trace, Vertex
from .value import Value


class zoomIn:
    """Inside `with zoomIn(graph, h=h) as v:` a program for one vertex v is written; zoomOut gives its results for all vertices.

    graph: a Graph, a HeteroGraph or an edge_index. Values of nodes are given by name (h=h), or as a list, node_feat=[h, el], which
    takes the names of the caller's variables. Values of edges: edge=dict(w=w), or edge_feat=[w]. With several types of nodes a value is
    a dict by type (a pair for the two sides of a bipartite graph), an edge value a dict by relation, and vertex= says of which type v is.

    >>> from polygrad import Graph, Tensor
    >>> from polygrad.vertex import zoomIn, zoomOut
    >>> g, h = Graph([[0, 1, 2], [2, 2, 0]]), Tensor([[1.0], [10.0], [100.0]])
    >>> with zoomIn(g, h=h) as v:
    ...     s = v.h + sum([n.h for n in v.innbs])
    >>> zoomOut(s).tolist()
    [[101.0], [10.0], [111.0]]
    """

    def __init__(
        self, graph: Any, node_feat: Any = None, edge_feat: Any = None, *, edge: dict[str, Any] | None = None, vertex: str | None = None,
        **values: Any,
    ):  # fmt: skip
        frame = sys._getframe(1)
        nodes = _named(node_feat, frame, "node_feat")
        edges = _named(edge_feat, frame, "edge_feat")
        del frame
        for found, more in ((nodes, values), (edges, edge or {})):
            twice = [name for name in more if name in found]
            if twice:
                raise ValueError(f"{', '.join(twice)} is given twice")
            found.update(more)
        self._trace = Trace(graph, vertex, nodes, edges)

    def __enter__(self) -> Vertex:
        if self._trace.active:
            raise RuntimeError("this zoomIn is open already")
        put_in()
        self._trace.active = True
        STATE.traces.append(self._trace)
        return Vertex(self._trace.root)

    def __exit__(self, *exc: Any) -> None:
        self._trace.active = False
        if self._trace in STATE.traces:
            STATE.traces.remove(self._trace)
        take_out()


def _named(features: Any, frame: Any, what: str) -> dict[str, Any]:
    """Values by name: a dict as it is, a list with the names that the caller has for its entries."""
    if features is None:
        return {}
    if isinstance(features, dict):
        return dict(features)
    if isinstance(features, Tensor):
        features = [features]
    found: dict[str, Any] = {}
    for k, value in enumerate(features):
        names = [n for n, x in frame.f_locals.items() if x is value] or [n for n, x in frame.f_globals.items() if x is value]
        names = [n for n in names if not n.startswith("_")]
        if not names:
            raise ValueError(f"{what}[{k}] has no name: the caller has no variable that holds it; give it by keyword, as in zoomIn(graph, h=...)")
        for name in names:  # every name of the same tensor is a name of the value
            found[name] = value
    return found


def zoomOut(*results: Any) -> Any:
    """Results of a vertex program for all vertices: a Tensor [nodes, ...] for each, several as a tuple.

    A list of neighbour values, such as the weights that softmax gives, becomes a Tensor [edges, ...] in the graph's edge order.
    """
    if not results:
        raise TypeError("zoomOut needs a result of a vertex program")
    trace = _trace_of(results)
    out = [_out(x, trace) for x in results]
    return out[0] if len(out) == 1 else tuple(out)


def _trace_of(x: Any) -> Trace | None:
    if isinstance(x, Value):
        return x._at.trace
    if isinstance(x, dict):
        x = tuple(x.values())
    if isinstance(x, (list, tuple)):
        return next((t for t in (_trace_of(v) for v in x) if t is not None), None)
    return None


def _out(x: Any, trace: Trace | None) -> Any:
    if isinstance(x, dict):
        return {k: _out(v, trace) for k, v in x.items()}
    if isinstance(x, list) and len(x) == 1 and isinstance(x[0], Value) and x[0]._at.trace.root is not x[0]._at:
        return _edges(x)
    if isinstance(x, (list, tuple)):
        return type(x)(_out(v, trace) for v in x) if not hasattr(x, "_fields") else type(x)(*[_out(v, trace) for v in x])
    if isinstance(x, Value):
        if isinstance(x._at, Place) and x._at.loop is None:
            return x._t
        raise ValueError(
            "zoomOut got a value of neighbours or edges that was not reduced: use sum, max, min or mean over a comprehension, or give the "
            "list itself for a tensor of all edges"
        )
    if trace is None:
        raise TypeError(f"zoomOut needs values of a vertex program, not {type(x).__name__}")
    if not isinstance(x, (Tensor, int, float)):
        raise TypeError(f"zoomOut cannot make a tensor out of a {type(x).__name__}")
    return everywhere(x, trace.root, None)._t


def _edges(x: list[Any]) -> Tensor:
    v = x[0]
    loop = v._at if isinstance(v._at, Loop) else v._at.loop
    if loop.center.loop is not None:
        raise ValueError("zoomOut cannot give the edges of a neighbour's neighbourhood: reduce them first")
    return v._t if v._at is loop else loop.lift(v._t, v._at)


class vertex_program:
    """A function of a vertex v as a function of a graph: `program(graph, h=h, edge=dict(w=w))`.

    Further parameters of the function are given by keyword. Works on methods as well.

    >>> from polygrad import Graph, Tensor
    >>> from polygrad.vertex import vertex_program
    >>> @vertex_program
    ... def spread(v, scale):
    ...     return sum([n.h * scale for n in v.innbs])
    >>> spread(Graph([[0, 1], [1, 0]]), h=Tensor([1.0, 2.0]), scale=10.0).tolist()
    [20.0, 10.0]
    """

    def __init__(self, function: Callable[..., Any], owner: Any = None):
        functools.update_wrapper(self, function)
        self._function, self._owner = function, owner
        names = list(inspect.signature(function).parameters)
        self._parameters = set(names[1:])

    def __get__(self, owner: Any, kind: Any = None) -> vertex_program:
        return self if owner is None else vertex_program(self._function, owner)

    def __call__(
        self, graph: Any, node_feat: Any = None, edge_feat: Any = None, *, edge: dict[str, Any] | None = None, vertex: str | None = None,
        **values: Any,
    ) -> Any:  # fmt: skip
        frame = sys._getframe(1)
        nodes, edges = _named(node_feat, frame, "node_feat"), _named(edge_feat, frame, "edge_feat")
        own = {k: v for k, v in values.items() if k in self._parameters}
        nodes.update({k: v for k, v in values.items() if k not in own})
        edges.update(edge or {})
        zoom = zoomIn(graph, nodes, edges, vertex=vertex)
        with zoom as v:
            results = self._function(v, **own) if self._owner is None else self._function(self._owner, v, **own)
        return _out(results, zoom._trace)
