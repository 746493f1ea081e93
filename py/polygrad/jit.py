"""Trace once, run many times: TinyJit, and the tracing that compiled training steps use too.

While a trace is open nothing that the function computes runs: realize() is put off, optimizers leave their updates lazy, and reading a
value that differs from run to run is an error. What was there before and is assigned during the trace is the state that each run updates.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import marshal
import math
import types
import weakref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from . import _core
from ._core import like, scalar, wrap
from ._ffi import C, ShapeError, handle_array
from .autograd import AutogradGraph, current, making
from .context import VARIABLES
from .dtypes import dtypes
from .symbolic import Dim, dim_code

if TYPE_CHECKING:
    from .tensor import Tensor


class Trace:
    """The graphs that a traced function made of its inputs, and the gradients that it realized; what it assigned to, the C core knows."""

    def __init__(self, inputs: list[Any]) -> None:
        self.inputs = {t._h: k for k, t in enumerate(inputs)}
        self.graphs: dict[int, GraphInput] = {}
        self.realized: dict[int, Any] = {}  # the tensors whose gradients the function realized, by their identity
        self._own = {id(t) for t in inputs}

    def realizes(self, tensors: tuple[Any, ...]) -> None:
        """The function realizes tensors: a gradient that is among them is a result of each run, as in tinygrad."""
        for t in tensors:
            leaf = getattr(t, "_leaf", None)
            if leaf is not None and id(leaf) not in self._own:
                self.realized[id(leaf)] = leaf

    def check_graph(self, edge_index: Tensor) -> None:
        """An edge_index that the function computes of what no run changes is as good as one from before."""
        if edge_index.is_realized:
            return
        try:
            edge_index.numpy()
        except RuntimeError as e:
            raise RuntimeError(
                f"a graph of an edge_index {edge_index.shape} that the compiled function computes itself: make it before, and pass it as an argument"
            ) from e

    def made_graph(self, edge_index: Tensor, counts: tuple[int, int], graph: Any) -> None:
        """The function looks at an edge_index as a graph: if that is an input, each run looks at its own."""
        k = self.inputs.get(edge_index._h)
        if k is None:
            edge_index._g.check(C.poly_trace_reads(edge_index._h))
        elif graph._p not in self.graphs:
            self.graphs[graph._p] = GraphInput(k, counts, graph)


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

    def of(self, inputs: list[Any], traced: list[tuple[Any, ...]]) -> list[int]:
        """Handles of the arrays of the graph of a new input; traced: the shapes in the trace."""
        g, sizes = self.graph._g, {}
        for new, old in zip(inputs, traced):
            sizes.update({o.code: n for n, o in zip(new.shape, old) if isinstance(o, Dim)})
        counts = [sizes.get(c.code, c) if isinstance(c, Dim) else c for c in self.counts]
        p = C.poly_graph_of(inputs[self.which]._h, *(dim_code(c, g) for c in counts))
        if p is None:
            g.fail()
        try:
            return self._list(p)
        finally:
            C.poly_graph_free(p)


class Launch(NamedTuple):
    """One kernel of a compiled function."""

    prg: Any  # the compiled function
    number: int


class Replay:
    """A compiled function of some tensors: run it with new ones. traced: what the function knew the inputs by."""

    def __init__(self, g: AutogradGraph, inputs: list[Any], traced: list[Any], outputs: list[Any], trace: Trace):
        self._g = g
        self.n_outputs = len(outputs)
        leaves = [t for t in trace.realized.values() if t.grad is not None]
        self._leaves = [weakref.ref(t) for t in leaves]  # their gradients are the last outputs
        outputs = [*outputs, *(t.grad for t in leaves)]
        self.graphs = list(trace.graphs.values())
        for graph in self.graphs:
            graph.settle()
        given = [t._h for t in traced] + [h for graph in self.graphs for h in graph.handles]
        self._h = C.poly_step_new(handle_array(given), len(given), handle_array([t._h for t in outputs]), len(outputs), None, 0)
        if self._h is None:
            g.fail()
        self.inputs, self._own = inputs, handle_array([t._h for t in inputs])
        self.shapes = [t.shape for t in traced]
        self.dtypes = [t.dtype for t in traced]
        self.counts = [getattr(t, "_count", None) for t in traced]
        self.counted = any(n is not None for n in self.counts)
        self._kinds = [t._kind for t in outputs]

    def __del__(self, free: Any = C.poly_step_free) -> None:
        if getattr(self, "_h", None) and self._g.ptr:
            free(self._h)
            self._h = None
            for graph in self.graphs:
                graph.free(graph.handles)

    def __deepcopy__(self, memo: Any) -> Replay:
        return self

    def __copy__(self) -> Replay:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a compiled step cannot be pickled: pickle what it was made of")

    def run(self, inputs: list[Any] | None = None) -> None:
        """Runs all kernels, with the inputs of the trace or with others of the same dtype and, but for symbolic sizes, the same shape."""
        if inputs is None and not self.graphs:
            status = C.poly_step_run(self._h, self._own, len(self.inputs))
        else:
            inputs = self.inputs if inputs is None else inputs
            if self.counted:
                _check_counts(self.counts, inputs)
            arrays = [h for graph in self.graphs for h in graph.of(inputs, self.shapes)]
            given = [t._h for t in inputs] + arrays
            status = C.poly_step_run(self._h, handle_array(given), len(given))
            GraphInput.free(arrays)
        if status:
            self._g.fail()
        for k, leaf in enumerate(self._leaves, self.n_outputs):
            t = leaf()
            if t is not None:
                t.grad = self.output(k)

    def bind(self, traced: Dim, now: Dim) -> None:
        """A size of the trace has another value from now on."""
        self._g.check(C.poly_step_bind(self._h, dim_code(traced, self._g), dim_code(now, self._g)))

    def output(self, k: int) -> Tensor:
        """The k-th output of the last run."""
        with making(self._kinds[k]):
            return wrap(self._g, C.poly_step_output(self._h, k))

    @property
    def n_kernels(self) -> int:
        return C.poly_step_kernels(self._h)

    @property
    def jit_cache(self) -> list[Launch]:
        """The kernels of a run, in order, under tinygrad's name of the list."""
        return [Launch(self, k) for k in range(self.n_kernels)]

    def free_intermediates(self) -> None:
        """Gives back the memory of temporary values until the next run."""
        C.poly_step_trim(self._h)

    @property
    def n_intermediates(self) -> int:
        return C.poly_step_intermediates(self._h)

    @property
    def peak_bytes(self) -> int:
        n: int = C.poly_step_peak_bytes(self._h)
        if n < 0:
            self._g.fail()
        return n


def _fits(shape: tuple[Any, ...], traced: tuple[Any, ...]) -> bool:
    """Symbolic sizes may be others; within which bounds, the core checks."""
    return len(shape) == len(traced) and all(isinstance(b, Dim) or a == b for a, b in zip(shape, traced))


class Resized:
    """A compiled function for inputs of several sizes: it is traced for each, the steps used last are kept."""

    KEPT = 4

    def __init__(self, traced: Callable[[list[Any]], Replay], inputs: list[Any]):
        self._traced = traced
        self.first = traced(inputs)
        self._steps = [self.first]  # the latest last

    def of(self, inputs: list[Any]) -> Replay:
        """The step for inputs of these sizes. Other dtypes and numbers of axes are left to the first step, which refuses them."""
        for step in reversed(self._steps):
            if all(_fits(t.shape, shape) for t, shape in zip(inputs, step.shapes)):
                return step
        if any(len(t.shape) != len(shape) or t.dtype != d for t, shape, d in zip(inputs, self.first.shapes, self.first.dtypes)):
            return self.first
        self._steps.append(self._traced(inputs))
        if len(self._steps) > self.KEPT:
            del self._steps[1]
        return self._steps[-1]


def _flatten(x: Any, out: list[Any]) -> Any:
    """Takes the tensors out of nested lists, tuples and dicts; what is left is the structure, with numbers in their place."""
    if isinstance(x, _core.Tensor):
        out.append(x)
        return ("tensor", len(out) - 1)
    if isinstance(x, (list, tuple)):
        return ("list" if isinstance(x, list) else "tuple", tuple(_flatten(v, out) for v in x))
    if isinstance(x, dict):
        return ("dict", tuple((k, _flatten(x[k], out)) for k in x))
    return ("size" if isinstance(x, Dim) else "value", x)


def _sizes(structure: Any, out: list[Any]) -> list[Any]:
    """The symbolic sizes in a structure, in order."""
    kind, value = structure
    if kind == "size":
        out.append(value)
    elif kind in ("list", "tuple"):
        for v in value:
            _sizes(v, out)
    elif kind == "dict":
        for _, v in value:
            _sizes(v, out)
    return out


def _same(a: Any, b: Any) -> bool:
    """Equal structures. Values of which == is no plain answer (arrays) must be the same object."""
    if a[0] != b[0]:
        return False
    if a[0] == "value":
        x, y = a[1], b[1]
        if x is y:
            return True
        try:
            return type(x) is type(y) and bool(x == y)
        except (TypeError, ValueError):
            return False
    if a[0] == "tensor":
        return a[1] == b[1]
    if a[0] == "size":
        return True  # its value may be another one: the core checks the rest
    if len(a[1]) != len(b[1]):
        return False
    if a[0] == "dict":
        return all(k == m and _same(v, w) for (k, v), (m, w) in zip(a[1], b[1]))
    return all(_same(v, w) for v, w in zip(a[1], b[1]))


def _build(structure: Any, tensors: Callable[[int], Any]) -> Any:
    kind, value = structure
    if kind == "tensor":
        return tensors(value)
    if kind == "dict":
        return {k: _build(v, tensors) for k, v in value}
    if kind in ("value", "size"):
        return value
    parts = [_build(v, tensors) for v in value]
    return parts if kind == "list" else tuple(parts)


def _traced_input(t: Tensor) -> Tensor:
    """What the traced function knows an input by: equal in everything but its identity and its history."""
    own = like(t, C.poly_trace_input(t._h))
    if hasattr(t, "_wanted"):
        own._wanted = t._wanted
    if hasattr(t, "_count"):
        own._count = t._count
    return own


def _check_counts(traced: list[Any], given: list[Any]) -> None:
    """The number of rows that an index vector speaks of is a part of the program, unless it is symbolic."""
    for k, (old, t) in enumerate(zip(traced, given)):
        new = getattr(t, "_count", old)
        if old is not None and not isinstance(old, Dim) and new != old:
            raise ValueError(f"argument {k} of a compiled function numbers {new} rows; it was compiled for {old}")


def trace(g: AutogradGraph, function: Callable[..., Any], inputs: list[Any]) -> tuple[Replay, Any]:
    """Traces function(inputs). Gives the compiled step and the structure of what function returned."""
    for t in inputs:
        t.realize()
    g.check(C.poly_trace_begin(g.ptr))
    try:
        traced = [_traced_input(t) for t in inputs]
        record = Trace(traced)
        g.tracing.append(record)
        try:
            result = function(traced)
        finally:
            g.tracing.pop()
        outputs: list[Any] = []
        structure = _flatten(result, outputs)
        if not inputs and not outputs:
            outputs.append(scalar(g, 0, dtypes.int32))  # a step is made of a tensor at least, also where the function only assigns to its own
        return Replay(g, list(inputs), traced, outputs, record), structure
    finally:
        C.poly_trace_end(g.ptr)


_ENABLED = VARIABLES["JIT"]


class JitError(ValueError, AssertionError):
    """A compiled function was called with arguments that it was not compiled for. tinygrad asserts that it is not."""


class TinyJit:
    """Compiles a function of tensors at its second call; later calls replay the kernels.

    Dtypes and all other arguments must be those of the second call, but for sizes and the values of a Variable; values that depend on the
    arguments must not be read inside. The function is traced again for tensors of other sizes, whose kernels are compiled once for all.
    captured and prune are tinygrad's, and have no effect: parts that depend on no argument are computed at each call. Without a function,
    TinyJit(prune=True) is a decorator.
    A method is compiled for each object that it is called on, a function for each setting of Tensor.training, Tensor.no_grad and device.

    >>> from polygrad import Tensor, TinyJit
    >>> f = TinyJit(lambda x: (x * 2).realize())
    >>> [f(Tensor([float(k)])).item() for k in range(4)]
    [0.0, 2.0, 4.0, 6.0]
    """

    def __new__(cls, fxn: Callable[..., Any] | None = None, *args: Any, **kwargs: Any) -> Any:
        return functools.partial(cls, **kwargs) if fxn is None else super().__new__(cls)

    def __init__(self, fxn: Callable[..., Any], captured: Any = None, prune: bool = False, **others: Any):
        function = self.function = fxn
        self._parameters = _Parameters(function)
        self._steps: dict[Any, _Step] = {}
        self._called = False  # it was called where it was pickled: the next call compiles it
        self._methods: weakref.WeakKeyDictionary[Any, TinyJit] = weakref.WeakKeyDictionary()
        functools.update_wrapper(self, function, updated=())

    def __get__(self, obj: Any, owner: Any) -> Any:
        """The method of an object: a TinyJit of its own, which lives as long as the object."""
        if obj is None:
            return self
        own = self._methods.get(obj)
        if own is None:
            own = self._methods[obj] = _Method(self.function, obj)
        return own

    @property
    def fxn(self) -> Any:
        """The function, under tinygrad's name."""
        return self.function

    @property
    def captured(self) -> Any:
        """What was compiled; None before."""
        return next((s.replay for s in self._steps.values() if s.replay is not None), None)

    @property
    def jit_cache(self) -> list[Launch]:
        """The kernels of a compiled call; none before it is compiled."""
        return [] if self.captured is None else self.captured.jit_cache

    @property
    def cnt(self) -> int:
        """0 before the first call, 1 after it, 2 once the function is compiled."""
        return max((2 if s.replay is not None else min(s.calls, 1) for s in self._steps.values()), default=0)

    def reset(self) -> None:
        """Forgets the compiled steps."""
        self._steps.clear()

    def __reduce__(self) -> Any:
        """A pickled TinyJit is its function and what the function holds on to; it is traced again, by the cache without compiling, once it is
        called. Of what was captured, the state (tensors that the function assigns to) is thus a part where the function refers to it."""
        return _unpickled, (self.__class__, *_function_parts(self.function), self.cnt)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) < self._parameters.places:
            args, kwargs = self._parameters.in_place(args, kwargs)
        tensors: list[Any] = []
        structure = _flatten((args, kwargs), tensors)
        g = tensors[0]._g if tensors else current()
        if g.tracing or not _ENABLED.value:  # inside the trace of another function: a part of it
            return self.function(*args, **kwargs)
        mode = (C.poly_training(g.ptr), C.poly_no_grad(g.ptr), C.poly_device(g.ptr), id(g))
        step = self._steps.get(mode)
        if step is None:
            step = self._steps[mode] = _Step()
            step.calls = int(self._called)
        if step.replay is None:
            step.calls += 1
            if step.calls == 1:
                return self.function(*args, **kwargs)
            step.compile(g, self.function, structure, tensors)
        else:
            step.check(structure, tensors)
            step = step.resized(g, self.function, structure, tensors)
            if step.sizes:
                step.bind(structure)
            for t in tensors:
                if not t.is_realized:
                    t.realize()
        return step.run(tensors)


def _function_parts(function: Any) -> tuple[Any, ...]:
    """What a function can be made of again, wherever it was defined: code, module, defaults and the values that it has closed over. Another
    callable is pickled as it is."""
    if not isinstance(function, types.FunctionType):
        return function, "", "", None, None, None
    cells = None if function.__closure__ is None else tuple(c.cell_contents for c in function.__closure__)
    return marshal.dumps(function.__code__), function.__module__, function.__name__, function.__defaults__, function.__kwdefaults__, cells


def _unpickled(kind: Any, code: Any, module: str, name: str, defaults: Any, named: Any, cells: Any, cnt: int) -> Any:
    out = kind(_function_of(code, module, name, defaults, named, cells))
    out._called = cnt > 0
    return out


def _unpickled_method(code: Any, module: str, name: str, defaults: Any, named: Any, cells: Any, obj: Any) -> Any:
    out = _Method(_function_of(code, module, name, defaults, named, cells), obj)
    out.kept = obj  # nobody else has it yet
    return out


def _function_of(code: Any, module: str, name: str, defaults: Any, named: Any, cells: Any) -> Any:
    """The function that _function_parts took apart."""
    if not isinstance(code, bytes):
        return code
    closed = None if cells is None else tuple(types.CellType(v) for v in cells)
    function = types.FunctionType(marshal.loads(code), importlib.import_module(module).__dict__, name, defaults, closed)
    function.__kwdefaults__, function.__module__ = named, module
    return function


class _Parameters:
    """The parameters of a function: an argument is the same whether it is given by position, by name or by default."""

    def __init__(self, function: Callable[..., Any], own: int = 0):
        """own: how many parameters the wrapper of a method fills in itself."""
        try:
            parameters = list(inspect.signature(function).parameters.values())[own:]
        except (TypeError, ValueError):  # written in C
            parameters = [inspect.Parameter(n, k) for n, k in (("args", inspect.Parameter.VAR_POSITIONAL), ("kwargs", inspect.Parameter.VAR_KEYWORD))]
        self.signature = inspect.Signature(parameters)
        named = any(p.kind is p.KEYWORD_ONLY for p in parameters)
        # A call with this many arguments by position, and none by name, is in place.
        self.places = math.inf if named else sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)

    def in_place(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call with all that have a place there, and the others in the order of their names."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, dict(sorted(bound.kwargs.items()))


class _Step:
    """What a TinyJit has compiled for one setting of Tensor.training, Tensor.no_grad and device: these are a part of the program."""

    def __init__(self) -> None:
        self.calls = 0
        self.replay: Replay | None = None
        self.result: Any = None  # structure of what the function returned
        self.others: list[_Step] = []  # the same for other sizes, the latest last

    def compile(self, g: AutogradGraph, call: Callable[..., Any], structure: Any, tensors: list[Any]) -> None:
        def function(traced: list[Any]) -> Any:
            args, kwargs = _build(structure, traced.__getitem__)
            return call(*args, **kwargs)

        self.replay, self.result = trace(g, function, tensors)
        self.replay.inputs = []  # each call brings its own
        self.structure, self.signature = structure, [(t.shape, t.dtype) for t in tensors]
        self.sizes = _sizes(structure, [])

    def fits(self, tensors: list[Any]) -> bool:
        return all(_fits(t.shape, shape) for t, (shape, _) in zip(tensors, self.signature))

    def resized(self, g: AutogradGraph, call: Callable[..., Any], structure: Any, tensors: list[Any]) -> _Step:
        """The step for tensors of these sizes: the function is traced for each, the steps used last are kept."""
        for step in (self, *reversed(self.others)):
            if step.fits(tensors):
                return step
        step = _Step()
        try:
            step.compile(g, call, structure, tensors)
        except ShapeError as e:
            raise JitError(f"a compiled function does not fit tensors of these shapes: {e}") from e
        self.others = [*self.others[1 - Resized.KEPT :], step]
        return step

    def bind(self, structure: Any) -> None:
        """Symbolic sizes among the arguments have the values of this call."""
        for old, new in zip(self.sizes, _sizes(structure, [])):
            assert self.replay is not None
            self.replay.bind(old, new)

    def run(self, tensors: list[Any]) -> Any:
        assert self.replay is not None
        self.replay.run(tensors)
        return _build(self.result, self.replay.output)

    def check(self, structure: Any, tensors: list[Any]) -> None:
        try:
            same = structure == self.structure
        except ValueError:  # arrays
            same = False
        if not same and not _same(structure, self.structure):
            raise JitError("a compiled function was called with other arguments than those that it was compiled with")
        for k, (t, (shape, dtype)) in enumerate(zip(tensors, self.signature)):
            if t.dtype != dtype or len(t.shape) != len(shape):
                raise JitError(f"argument {k} of a compiled function is {t.shape} {t.dtype}; it was compiled with {shape} {dtype}")


class _Method(TinyJit):
    """A TinyJit of one object's method."""

    kept: Any  # the object, where it came out of a pickle

    def __init__(self, function: Callable[..., Any], obj: Any):
        owner = self.owner = weakref.ref(obj)
        self.plain = function

        def method(*args: Any, **kwargs: Any) -> Any:
            return function(owner(), *args, **kwargs)

        functools.update_wrapper(method, function)
        super().__init__(method)
        self._parameters = _Parameters(function, own=1)

    def __reduce__(self) -> Any:
        return _unpickled_method, (*_function_parts(self.plain), self.owner())

    @property
    def func(self) -> Any:
        """The call, of which __self__ is the compiled function: tinygrad's methods are functools.partial."""
        return self.__call__
