"""Sizes that change from run to run: Variable, and Dim, a size that depends on one.

>>> from polygrad import Tensor, Variable
>>> n = Variable("n", 1, 10).bind(3)
>>> Tensor.ones(n, 2).sum().item()
6.0
"""

from __future__ import annotations

import ctypes
import operator
import re
import weakref
from typing import Any

from ._ffi import C, describe
from .autograd import AutogradGraph, current

DIM_LIMIT = -(1 << 40)  # codes of symbolic sizes are below
KNOWN = 256  # sizes that a graph keeps at most
# Arithmetic of sizes whose graph is gone.
_PLAIN = {b"+": operator.add, b"-": operator.sub, b"*": operator.mul, b"/": operator.floordiv, b"%": operator.mod}


class Dim(int):
    """A symbolic size: a whole number, the value of this run, that knows what it depends on. Arithmetic with numbers and other sizes gives
    sizes; compared or printed, it is the value of this run.

    >>> from polygrad import Variable
    >>> n = Variable("n", 1, 10).bind(3)
    >>> m = n * 4 + 1
    >>> m.val, m.min, m.max, m, m == 13
    (13, 5, 41, n*4+1, True)
    """

    code: int
    _graph: Any  # a weak reference: the graph keeps its sizes for a while

    def __new__(cls, graph: AutogradGraph, code: int) -> Dim:
        known = graph.sizes
        self = known.get(code)
        if self is None:
            if len(known) >= KNOWN:
                known.clear()
            self = int.__new__(cls, C.poly_dim_value(graph.ptr, code))
            self.code, self._graph = code, weakref.ref(graph)
            C.poly_dim_hold(graph.ptr, code, True)  # the core does not forget the code while there is a Dim of it
            known[code] = self
        return self

    def __del__(self, hold: Any = C.poly_dim_hold) -> None:
        graph = self._graph()
        if graph is not None and graph.ptr:
            hold(graph.ptr, self.code, False)

    @property
    def graph(self) -> Any:
        """The graph whose size it is; None once that is gone: then the size is a plain number."""
        return self._graph()

    @property
    def val(self) -> int:
        """Today's value."""
        return int(self)

    @property
    def min(self) -> int:
        graph = self.graph
        return int(self) if graph is None else C.poly_dim_min(graph.ptr, self.code)

    @property
    def max(self) -> int:
        graph = self.graph
        return int(self) if graph is None else C.poly_dim_max(graph.ptr, self.code)

    vmin, vmax = min, max

    def __repr__(self) -> str:
        graph, buf = self.graph, ctypes.create_string_buffer(256)
        if graph is None:
            return str(int(self))
        text = C.poly_dim_text(graph.ptr, self.code, buf, 256).decode()
        return re.sub(r"=-?\d+", "", text)  # the core adds the values of this run

    def __str__(self) -> str:
        return str(int(self))

    def __reduce__(self) -> Any:
        return int, (int(self),)

    def _op(self, op: bytes, a: Any, b: Any) -> Any:
        if not isinstance(a, int) or not isinstance(b, int):
            return NotImplemented
        graph = self.graph
        if graph is None:
            return _PLAIN[op](int(a), int(b))
        code = C.poly_dim_op(graph.ptr, op, dim_code(a, graph), dim_code(b, graph))
        if C.poly_error_code(graph.ptr):
            graph.fail()
        return dim(graph, code)

    def __add__(self, other: Any) -> Any:
        return self._op(b"+", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._op(b"+", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._op(b"-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._op(b"-", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._op(b"*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._op(b"*", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._op(b"/", self, other)

    def __mod__(self, other: Any) -> Any:
        return self._op(b"%", self, other)

    def __neg__(self) -> Any:
        return self._op(b"-", 0, self)

    def render(self, simplify: bool = True) -> str:
        """The formula as tinygrad writes it: in parentheses unless it is a name."""
        return _rendered(repr(self))

    def unbind(self) -> tuple[Any, int]:
        """The size and the value of this run, as in tinygrad."""
        return self, self.val


class _Arithmetic:
    """Sums, products, quotients and comparisons of sizes that have no value yet."""

    __slots__ = ()

    def _with(self, other: Any, op: Any, flipped: bool = False) -> Any:
        if not isinstance(other, (int, _Arithmetic)):
            return NotImplemented
        return Formula(op, other, self) if flipped else Formula(op, self, other)

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, operator.add, True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, operator.mul, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, operator.floordiv)

    def __mod__(self, other: Any) -> Any:
        return self._with(other, operator.mod)

    def __neg__(self) -> Any:
        return Formula(operator.mul, self, -1)

    def __lt__(self, other: Any) -> Any:
        return Comparison(operator.lt, self - other)

    def __le__(self, other: Any) -> Any:
        return Comparison(operator.le, self - other)

    def __gt__(self, other: Any) -> Any:
        return Comparison(operator.gt, self - other)

    def __ge__(self, other: Any) -> Any:
        return Comparison(operator.ge, self - other)


class Formula(_Arithmetic):
    """A size computed from variables without values: it has bounds, and with values for its variables it is a size.

    >>> from polygrad import Variable
    >>> n = Variable("n", 1, 10)
    >>> f = (n * 4 + 2) // 2
    >>> f, f.vmin, f.vmax, int(f.substitute({n: 3}))
    (n*2+1, 3, 21, 7)
    """

    __slots__ = ("_op", "_a", "_b")

    def __init__(self, op: Any, a: Any, b: Any):
        self._op, self._a, self._b = op, a, b

    def variables(self) -> list[Variable]:
        """The variables in it, each once."""
        found: list[Variable] = []
        for part in (self._a, self._b):
            found += [part] if isinstance(part, Variable) else part.variables() if isinstance(part, Formula) else []
        return list(dict.fromkeys(found))

    def substitute(self, values: dict[Any, int]) -> Any:
        """The size with these values of its variables, which are given by themselves or by name."""
        return self._op(_valued(self._a, values), _valued(self._b, values))

    def _lowest(self) -> Any:
        return self.substitute({v: v.vmin for v in self.variables()})

    @property
    def vmin(self) -> int:
        d = self._lowest()
        return d.vmin if isinstance(d, Dim) else int(d)

    @property
    def vmax(self) -> int:
        d = self._lowest()
        return d.vmax if isinstance(d, Dim) else int(d)

    min, max = vmin, vmax

    def render(self, simplify: bool = True) -> str:
        """The formula as tinygrad writes it: in parentheses unless it is a name.

        >>> from polygrad import Variable
        >>> (Variable("n", 1, 10) * 4).render(), Variable("n", 1, 10).render()
        ('(n*4)', 'n')
        """
        return _rendered(repr(self))

    def __repr__(self) -> str:
        return repr(self._lowest())


class Comparison:
    """Whether a size without a value is below, or above, another: vmin and vmax are equal where that is known.

    >>> from polygrad import Variable
    >>> n = Variable("n", 1, 10)
    >>> (n < 11).vmin, (n < 5).vmin, (n < 5).vmax
    (True, False, True)
    """

    __slots__ = ("_op", "_difference")

    def __init__(self, op: Any, difference: Any):
        self._op, self._difference = op, difference

    @property
    def vmin(self) -> bool:
        return all(self._op(v, 0) for v in (self._difference.vmin, self._difference.vmax))

    @property
    def vmax(self) -> bool:
        return any(self._op(v, 0) for v in (self._difference.vmin, self._difference.vmax))

    def __bool__(self) -> bool:
        if self.vmin != self.vmax:
            raise ValueError("whether this holds depends on the value of a variable: bind it, or ask for vmin and vmax")
        return self.vmin


class SizeError(TypeError, ValueError):
    """What was given is no size. A TypeError; a ValueError as well, because tinygrad raises that for sizes that are given twice."""


class Variable(_Arithmetic):
    """A named size between two bounds. `bind` gives it the value of this run; until then sums and products of it have bounds alone.

    >>> from polygrad import Variable
    >>> Variable("batch", 1, 64).bind(32)
    batch
    """

    __slots__ = ("name", "vmin", "vmax")

    @property
    def expr(self) -> str:
        """The name, under tinygrad's name of it."""
        return self.name

    def __init__(self, name: str, min_val: int, max_val: int, dtype: Any = None):
        if min_val > max_val:
            raise ValueError(f"variable {name!r}: the lower bound {min_val} is above the upper bound {max_val}")
        self.name, self.vmin, self.vmax = name, min_val, max_val

    @property
    def min(self) -> int:
        return self.vmin

    @property
    def max(self) -> int:
        return self.vmax

    def bind(self, val: int) -> Any:
        """The size with the value of this run; ValueError if it is out of bounds."""
        graph = current()
        code = C.poly_var_bind(graph.ptr, self.name.encode(), self.vmin, self.vmax, int(val))
        if C.poly_error_code(graph.ptr):
            graph.fail()
        return dim(graph, code)

    def render(self, simplify: bool = True) -> str:
        """The name."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and (self.name, self.vmin, self.vmax) == (other.name, other.vmin, other.vmax)

    def __hash__(self) -> int:
        return hash((self.name, self.vmin, self.vmax))

    def __repr__(self) -> str:
        return f"Variable({self.name!r}, {self.vmin}, {self.vmax})"


def _rendered(text: str) -> str:
    return text if text.isidentifier() or text.lstrip("-").isdigit() else f"({text})"


def _valued(part: Any, values: dict[Any, int]) -> Any:
    if isinstance(part, Formula):
        return part.substitute(values)
    if not isinstance(part, Variable):
        return part
    for key in (part, part.name):
        if key in values:
            value = values[key]
            return value if isinstance(value, Dim) else part.bind(value)
    raise ValueError(f"{part} has no value among {list(values)}")


def sym_infer(formula: Any, values: dict[str, int]) -> int:
    """The value of a formula, with values of its variables by name.

    >>> from polygrad import Variable
    >>> sym_infer(Variable("n", 1, 10) * 3, {"n": 4})
    12
    """
    return int(_valued(formula, values))


Size = int  # a Dim is one


def dim(graph: AutogradGraph, code: int) -> Any:
    """A size as Python sees it: an int, or a Dim."""
    return code if code >= DIM_LIMIT else graph.sizes.get(code) or Dim(graph, code)


def dim_code(x: Any, graph: AutogradGraph) -> int:
    """A size as the C API takes it."""
    if x.__class__ is int:
        if not DIM_LIMIT <= x < 1 << 63:  # below are codes, which a number must not be taken for
            raise ValueError(f"a size of {x} is out of range")
        return x
    if isinstance(x, Dim):
        if x.graph is not graph:
            raise RuntimeError(f"the size {x} belongs to another graph")
        return x.code
    if isinstance(x, Variable):
        raise ValueError(f"{x} has no value: use {x.name}.bind(value)")
    if hasattr(x, "__index__"):
        return dim_code(int(x.__index__()), graph)
    raise SizeError(f"a size must be a whole number, not {describe(x)}")
