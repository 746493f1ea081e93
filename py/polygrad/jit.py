"""Trace once, run many times: TinyJit, and the tracing that compiled training steps use too.

While a trace is open nothing runs: realize() is put off, optimizers leave their updates lazy, and reading a value is an error,
because a replay could not read it again. What was assigned during the trace is the state that each run updates.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

from ._ffi import C, handle_array
from .graph import AutogradGraph
from .symbolic import Dim, dim_code

if TYPE_CHECKING:
    from .tensor import Tensor


class Trace:
    """What a traced function changed."""

    def __init__(self, inputs: list[Any]) -> None:
        self.inputs = {t._h: k for k, t in enumerate(inputs)}
        self.graphs: dict[int, GraphInput] = {}
        self.state: dict[int, Any] = {}  # handle: what keeps it alive
        self.wanted: list[Any] = []  # tensors that the function wanted to have realized

    def assigned(self, t: Tensor) -> None:
        self.state.setdefault(t._h, t)

    def optimizer(self, o: Any) -> None:
        for p in o.params:
            self.state.setdefault(p._h, p)
        n = C.poly_optim_state(o._h, None, 0)
        out = handle_array([None] * n)
        C.poly_optim_state(o._h, out, n)
        for h in out:
            self.state.setdefault(h, o)

    def check_graph(self, edge_index: Tensor) -> None:
        if not edge_index.is_realized:
            raise RuntimeError(
                f"a graph of an edge_index {edge_index.shape} that the compiled function computes itself: make it before, and pass it as an argument"
            )

    def made_graph(self, edge_index: Tensor, counts: tuple[int, int], graph: Any) -> None:
        """The function looks at an edge_index as a graph: if that is an input, each run looks at its own."""
        k = self.inputs.get(edge_index._h)
        if k is not None:
            self.graphs.setdefault(graph._p, GraphInput(k, counts, graph))


class GraphInput:
    """The graph of an input: which input, the numbers of nodes that were asked for, and the graph at the time of the trace."""

    def __init__(self, which: int, counts: tuple[int, int], graph: Any):
        self.which, self.counts, self.graph = which, counts, graph
        self.handles = self._list(graph._p)

    def settle(self) -> None:
        """Once everything that the function needs of the graph has been built."""
        self.free(self.handles)
        self.handles = self._list(self.graph._p)

    def _list(self, p: int) -> list[int]:
        most = C.poly_graph_arrays(p, self.graph._p, None, 0)
        out = handle_array([None] * max(most, 0))
        n = C.poly_graph_arrays(p, self.graph._p, out, most) if most >= 0 else -1
        if n < 0:
            self.graph._g.fail()
        return list(out[:n])

    @staticmethod
    def free(handles: list[int]) -> None:
        for h in handles:
            C.poly_free(h)

    def of(self, inputs: list[Any], traced: list[Any]) -> list[int]:
        """Handles of the arrays of the graph of a new input."""
        g, sizes = self.graph._g, {}
        for new, old in zip(inputs, traced):
            sizes.update({o.code: n for n, o in zip(new.shape, old.shape) if isinstance(o, Dim)})
        counts = [sizes.get(c.code, c) if isinstance(c, Dim) else c for c in self.counts]
        p = C.poly_graph_of(inputs[self.which]._h, *(dim_code(c, g) for c in counts))
        if p is None:
            g.fail()
        try:
            return self._list(p)
        finally:
            C.poly_graph_free(p)


def refuse_reading(g: AutogradGraph, what: str) -> None:
    if g.tracing:
        raise RuntimeError(f"{what} inside a compiled step: the value is not known while the step is traced, and a replay could not read it")


class Replay:
    """A compiled function of some tensors: run it with new ones."""

    def __init__(self, g: AutogradGraph, inputs: list[Any], outputs: list[Any], trace: Trace):
        self._g, self._keep = g, (list(trace.state.values()), list(inputs))
        state = list(trace.state)
        self.graphs = list(trace.graphs.values())
        for graph in self.graphs:
            graph.settle()
        given = [t._h for t in inputs] + [h for graph in self.graphs for h in graph.handles]
        self._h = C.poly_step_new(
            handle_array(given), len(given), handle_array([t._h for t in outputs]), len(outputs), handle_array(state), len(state)
        )
        if self._h is None:
            g.fail()
        self.inputs = inputs
        self.n_outputs = len(outputs)

    def __del__(self, free: Any = C.poly_step_free) -> None:
        if getattr(self, "_h", None) and self._g.ptr:
            free(self._h)
            self._h = None
            for graph in self.graphs:
                graph.free(graph.handles)

    def run(self, inputs: list[Any] | None = None) -> None:
        """Runs all kernels, with the inputs of the trace or with others of the same dtype and, but for symbolic sizes, the same shape."""
        if inputs is None:
            status = C.poly_step_run(self._h, None, 0)
        elif not self.graphs:
            status = C.poly_step_run(self._h, handle_array([t._h for t in inputs]), len(inputs))
        else:
            arrays = [h for graph in self.graphs for h in graph.of(inputs, self.inputs)]
            given = [t._h for t in inputs] + arrays
            status = C.poly_step_run(self._h, handle_array(given), len(given))
            GraphInput.free(arrays)
        if status:
            self._g.fail()

    def output(self, k: int) -> Tensor:
        """The k-th output of the last run; the next run overwrites its memory."""
        from ._core import wrap

        return wrap(self._g, C.poly_step_output(self._h, k))

    @property
    def n_kernels(self) -> int:
        return C.poly_step_kernels(self._h)

    @property
    def n_intermediates(self) -> int:
        return C.poly_step_intermediates(self._h)


def _fits(shape: tuple[Any, ...], traced: tuple[Any, ...]) -> bool:
    """Symbolic sizes may be others; within which bounds, the core checks."""
    return len(shape) == len(traced) and all(isinstance(b, Dim) or a == b for a, b in zip(shape, traced))


def _flatten(x: Any, out: list[Any]) -> Any:
    """Takes the tensors out of nested lists, tuples and dicts; what is left is the structure, with numbers in their place."""
    from .tensor import Tensor

    if isinstance(x, Tensor):
        out.append(x)
        return ("tensor", len(out) - 1)
    if isinstance(x, (list, tuple)):
        return ("list" if isinstance(x, list) else "tuple", tuple(_flatten(v, out) for v in x))
    if isinstance(x, dict):
        return ("dict", tuple((k, _flatten(x[k], out)) for k in x))
    return ("value", x)


def _build(structure: Any, tensors: Callable[[int], Any]) -> Any:
    kind, value = structure
    if kind == "tensor":
        return tensors(value)
    if kind == "dict":
        return {k: _build(v, tensors) for k, v in value}
    if kind == "value":
        return value
    parts = [_build(v, tensors) for v in value]
    return parts if kind == "list" else tuple(parts)


def trace(g: AutogradGraph, function: Callable[[], Any], inputs: list[Any]) -> tuple[Replay, Any]:
    """Traces function, which reads inputs. Gives the compiled step and the structure of what function returned."""
    for t in inputs:
        t.realize()
    if C.poly_settle(g.ptr):  # what is still to be drawn or assigned would be so in every run
        g.fail()
    record = Trace(inputs)
    g.tracing.append(record)
    try:
        result = function()
    finally:
        g.tracing.pop()
    outputs: list[Any] = []
    structure = _flatten(result, outputs)
    return Replay(g, inputs, outputs, record), structure


class TinyJit:
    """Compiles a function of tensors at its second call; later calls replay the kernels.

    Shapes, dtypes and all other arguments must be those of the second call; values must not be read inside.

    >>> from polygrad import Tensor, TinyJit
    >>> f = TinyJit(lambda x: (x * 2).realize())
    >>> [f(Tensor([float(k)])).item() for k in range(4)]
    [0.0, 2.0, 4.0, 6.0]
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.replay: Replay | None = None
        self.result: Any = None  # structure of what the function returned
        self.calls = 0
        functools.update_wrapper(self, function, updated=())

    def __get__(self, obj: Any, owner: Any) -> Any:
        return functools.partial(self.__call__, obj)

    def reset(self) -> None:
        """Forgets the compiled step."""
        self.replay, self.calls = None, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors: list[Any] = []
        structure = _flatten((args, kwargs), tensors)
        if len({t._h for t in tensors}) != len(tensors):
            raise ValueError("the same tensor was passed twice to a compiled function")
        if self.replay is not None:
            self._check(structure, tensors)
            for t in tensors:
                if not t.is_realized:
                    t.realize()
            self.replay.run(tensors)
            return _build(self.result, self.replay.output)
        self.calls += 1
        if self.calls == 1 or (tensors and tensors[0]._g.tracing):
            return self.function(*args, **kwargs)
        from .graph import current

        g = tensors[0]._g if tensors else current()
        self.replay, self.result = trace(g, lambda: self.function(*args, **kwargs), tensors)
        self.structure, self.signature = structure, [(t.shape, t.dtype) for t in tensors]
        self.replay.run(None)
        return _build(self.result, self.replay.output)

    def _check(self, structure: Any, tensors: list[Any]) -> None:
        if structure != self.structure:
            raise ValueError("a compiled function was called with other arguments than those that it was compiled with")
        for k, (t, (shape, dtype)) in enumerate(zip(tensors, self.signature)):
            if t.dtype is not dtype or not _fits(t.shape, shape):
                raise ValueError(f"argument {k} of a compiled function is {t.shape} {t.dtype}; it was compiled with {shape} {dtype}")
