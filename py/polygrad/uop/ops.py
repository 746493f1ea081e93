"""tinygrad's UOps as far as `Tensor.custom_kernel` needs them: a kernel that a user writes as loops over ranges, with loads, arithmetic and stores.

The function is called once, with a UOp for each tensor. What it gives is not compiled as it stands: each range becomes an axis, a load an index,
a loop that adds to what it stores a reduction, and so the kernel is an expression of tensors like any other, which the compiler fuses, tiles and
differentiates. How ranges are run (AxisType, KernelInfo) is left to the compiler.
"""

from __future__ import annotations

import enum
from typing import Any

from ..dtypes import DType, dtypes
from ..helpers import argfix
from ..node import plain
from ..symbolic import Variable, sym_infer
from ..tensor import Tensor


class AxisType(enum.Enum):
    """What tinygrad runs a range as. Taken and not used: the compiler decides it."""

    GLOBAL, WARP, LOCAL, LOOP, GROUP_REDUCE, REDUCE, UPCAST, UNROLL, THREAD, WEAK, OUTER = range(11)


class AddrSpace(enum.Enum):
    """Where a placeholder lies. One in LOCAL or REG has a value for each iteration of the loops around it."""

    GLOBAL, LOCAL, REG = range(3)


class KernelInfo:
    """tinygrad's name and options of a kernel. Taken and not used."""

    def __init__(self, name: str = "", axis_types: Any = (), dont_use_locals: bool = False, opts_to_apply: Any = None, **others: Any):
        self.name, self.opts_to_apply = name, opts_to_apply


class Ops(enum.Enum):
    """The operations that alu and reduce take, with the methods of tensors that they are; and names by which scripts tell nodes apart."""

    ADD, MUL, MAX, SUB, FDIV, IDIV, MOD, POW = "add", "mul", "maximum", "sub", "div", "idiv", "mod", "pow"
    CMPLT, CMPNE, CMPEQ, WHERE, MULACC = "lt", "ne", "eq", "where", "mulacc"
    AND, OR, XOR, SHL, SHR = "bitwise_and", "bitwise_or", "bitwise_xor", "lshift", "rshift"
    EXP2, LOG2, SIN, SQRT, RECIPROCAL, NEG, TRUNC = "exp2", "log2", "sin", "sqrt", "reciprocal", "neg", "trunc"
    SINK, COPY, BUFFER, CONST, LOAD, STORE, RANGE = "a kernel", "a copy", "memory", "a number", "a load", "a store", "a loop"
    INDEX, CAST, BITCAST, REDUCE, NOOP = "a place", "a cast", "a bitcast", "a reduction", "nothing"


_REDUCE = {"add": "sum", "mul": "prod", "maximum": "max"}


class UOp:
    """A node of a kernel: a range, a placeholder of memory, a value, or a store. See Tensor.custom_kernel."""

    def __init__(self, kind: str, src: tuple[Any, ...] = (), arg: Any = None, dtype: DType | None = None, shape: Any = None):
        self.kind, self.src, self.arg, self.shape = kind, src, arg, shape
        self.dtype: Any = dtype
        self.op: Any = None

    # ---- what a kernel begins with ----

    @staticmethod
    def range(end: int, axis_id: int = 0, axis_type: Any = None, *, dtype: Any = None, **others: Any) -> UOp:
        """A loop from 0 to end. Ranges are told apart by axis_id."""
        return UOp("range", (), (int(axis_id), int(end)), dtypes.int32, ())

    @staticmethod
    def placeholder(shape: Any, dtype: Any, slot: int, addrspace: Any = AddrSpace.GLOBAL, **others: Any) -> UOp:
        """Memory of the kernel's own, by default zero."""
        return UOp("memory", (), ("own", slot, addrspace), dtype, tuple(shape))

    @staticmethod
    def const(dtype: Any, value: Any) -> UOp:
        """A number."""
        return UOp("const", (), value, dtype, ())

    @staticmethod
    def variable(name: str, min_val: int, max_val: int, dtype: Any = None, **others: Any) -> Variable:
        """A symbolic size: polygrad.Variable."""
        return Variable(name, min_val, max_val)

    # ---- memory ----

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for s in self.shape or ():
            n *= s
        return n

    def numel(self) -> int:
        """The number of elements."""
        return self.size

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape or ())

    def reshape(self, *shape: Any) -> UOp:
        """The memory in another shape."""
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        known = 1
        for s in given:
            known *= s if s != -1 else 1
        return UOp("reshape", (self,), None, self.dtype, tuple(self.size // known if s == -1 else s for s in given))

    def flatten(self) -> UOp:
        """The memory with one axis."""
        return self.reshape(self.size)

    def __getitem__(self, key: Any) -> UOp:
        key = key if isinstance(key, tuple) else (key,)
        shape = self.shape or ()
        key += (slice(None),) * (len(shape) - len(key))
        if any(isinstance(k, slice) and k != slice(None) for k in key):
            raise NotImplementedError("in a kernel an axis is indexed by a value or taken whole by [:]")
        left = tuple(s for s, k in zip(shape, key) if isinstance(k, slice))
        if self.kind == "index":  # the axes that were taken whole
            rest = iter(key)
            key = tuple(next(rest) if isinstance(k, slice) else k for k in self.arg)
            return UOp("index", self.src, key, self.dtype, left)
        return UOp("index", (self,), key, self.dtype, left)

    def index(self, *key: Any) -> UOp:
        """memory[key]"""
        return self[key]

    def load(self, *others: Any) -> UOp:
        """The value at an index: the index stands for it already."""
        return self

    def store(self, value: Any, *others: Any) -> UOp:
        """Stores a value where this index points."""
        if self.kind != "index":
            raise TypeError("a value is stored at an index: memory[i].store(value)")
        return UOp("store", (self, _value(value, self.dtype)))

    def set(self, value: Any, end: Any = ()) -> UOp:
        """The memory after a value was stored where this index points, and the ranges `end` were run."""
        ranges = end if isinstance(end, (tuple, list)) else (end,)
        return self.src[0].after(self.store(value).end(*ranges))

    def after(self, *others: UOp) -> UOp:
        """The memory after stores. A range says that the value is that of the iteration before."""
        return UOp("after", (self, *others), None, self.dtype, self.shape)

    def end(self, *ranges: UOp) -> UOp:
        """The end of loops."""
        return UOp("end", (self, *ranges)) if ranges else self

    @staticmethod
    def group(*stores: UOp) -> UOp:
        """Several stores."""
        return UOp("group", stores)

    def sink(*stores: UOp, arg: Any = None, **more: Any) -> UOp:  # of a UOp, or of none: UOp.sink()
        """The end of a kernel."""
        return UOp("group", stores, arg)

    def simplify(self) -> UOp:
        """The UOp itself."""
        return self

    # ---- arithmetic ----

    def alu(self, op: Any, *others: Any) -> UOp:
        """An operation of Ops."""
        if op is Ops.MULACC:
            return self * others[0] + others[1]
        return _alu(op.value, self, *others)

    def reduce(self, *ranges: UOp, arg: Any = Ops.ADD, **others: Any) -> UOp:
        """Reduced over ranges."""
        return UOp("reduce", (self, *ranges), (arg[0] if isinstance(arg, tuple) else arg).value, self.dtype, ())

    def where(self, yes: Any, no: Any) -> UOp:
        """yes where this is true, else no."""
        dtype = next((v.dtype for v in (yes, no) if isinstance(v, UOp)), None)
        return _alu("where", self, _value(yes, dtype), _value(no, dtype))

    def cast(self, dtype: Any) -> UOp:
        """The value in another dtype."""
        return UOp("cast", (self,), None, dtype, ())

    def bitcast(self, dtype: Any) -> UOp:
        """The same bits in another dtype."""
        return UOp("bitcast", (self,), None, dtype, ())

    def __neg__(self) -> UOp:
        return _alu("neg", self)

    def __invert__(self) -> UOp:
        return _alu("bitwise_not", self)

    def clip(self, least: Any, most: Any) -> UOp:
        """Between two values."""
        return self.maximum(least).minimum(most)

    def __getattr__(self, name: str) -> Any:
        if name in _NAMES:
            return lambda *others: _alu(name, self, *others)
        raise AttributeError(f"a UOp of a kernel has no {name!r}")


_NAMES = frozenset(
    "maximum minimum exp2 log2 exp log sin cos sqrt rsqrt reciprocal trunc floor ceil round abs sign neg sigmoid tanh relu pow erf square add sub mul"
    " div idiv mod eq ne logical_not".split()
)


def _alu(name: str, *src: Any) -> UOp:
    dtype = next((s.dtype for s in src if isinstance(s, UOp) and s.kind != "range"), src[0].dtype if isinstance(src[0], UOp) else None)
    return UOp("alu", tuple(s if isinstance(s, UOp) else UOp("const", (), s, None, ()) for s in src), name, dtype, ())


def _value(value: Any, dtype: Any) -> UOp:
    return value if isinstance(value, UOp) else UOp.const(dtype, value)


def _operators() -> None:
    for python, name in {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod", "pow": "pow", "lt": "lt", "le": "le",
        "gt": "gt", "ge": "ge", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "lshift", "rshift": "rshift",
    }.items():  # fmt: skip
        setattr(UOp, f"__{python}__", lambda self, other, name=name: _alu(name, self, other))
        setattr(UOp, f"__r{python}__", lambda self, other, name=name: _alu(name, other, self))


_operators()
_INFIX = {"lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__", "lshift": "__lshift__", "rshift": "__rshift__", "floordiv": "__floordiv__"}


# ---- a kernel as tensors ----


class _Kernel:
    """Evaluates a kernel. A value has one axis for each range, of size 1 where it does not depend on it; memory has those axes before its own."""

    def __init__(self, root: UOp, inputs: list[Tensor]):
        self.inputs = inputs
        self.ranges: dict[int, int] = {}
        self.known: dict[int, Any] = {}
        self.find(root)
        self.place = {key: k for k, key in enumerate(sorted(self.ranges))}

    def find(self, root: UOp) -> None:
        seen, todo = set(), [root]
        while todo:
            u = todo.pop()
            if not isinstance(u, UOp) or id(u) in seen:
                continue
            seen.add(id(u))
            if u.kind == "range":
                if self.ranges.setdefault(u.arg[0], u.arg[1]) != u.arg[1]:
                    raise ValueError(f"two ranges with the number {u.arg[0]} have the sizes {self.ranges[u.arg[0]]} and {u.arg[1]}")
            todo += u.src + (u.arg if u.kind == "index" else ())

    # -- values --

    def value(self, u: UOp) -> Any:
        """The tensor of a value, or a number."""
        if u.kind == "const":
            return u.arg
        found = self.known.get(id(u))
        if found is None:
            found = self.known[id(u)] = (getattr(self, u.kind)(u), u)
        return found[0]

    def range(self, u: UOp) -> Tensor:
        shape = [1] * len(self.place)
        shape[self.place[u.arg[0]]] = u.arg[1]
        return Tensor.arange(u.arg[1]).reshape(shape)

    def alu(self, u: UOp) -> Any:
        src = [self.value(s) for s in u.src]
        if not isinstance(src[0], Tensor):  # a number takes the dtype of the other operand, where that can hold it
            other = next((s.dtype for s in src if isinstance(s, Tensor)), None)
            src[0] = Tensor(src[0], dtype=None if other is None or isinstance(src[0], float) and not dtypes.is_float(other) else other)
        if u.arg == "bitwise_not":
            return ~src[0]
        return getattr(src[0], _INFIX.get(u.arg, u.arg))(*src[1:])

    def cast(self, u: UOp) -> Tensor:
        x = self.value(u.src[0])
        return (x if isinstance(x, Tensor) else Tensor(x)).cast(u.dtype)

    def bitcast(self, u: UOp) -> Tensor:
        return self.value(u.src[0]).bitcast(u.dtype)

    def reduce(self, u: UOp) -> Tensor:
        return self.reduced(self.value(u.src[0]), u.src[1:], u.arg)

    def reduced(self, x: Any, ranges: Any, op: str) -> Tensor:
        """x over ranges. What does not depend on a range counts as often as it is run."""
        x = x if isinstance(x, Tensor) else Tensor(x).reshape([1] * len(self.place))
        axes = tuple(self.place[r.arg[0]] for r in ranges)
        sizes = list(x.shape)
        for r in ranges:
            sizes[self.place[r.arg[0]]] = r.arg[1]
        out = getattr(x.expand(sizes), _REDUCE[op])(axes, keepdim=True)
        return out.cast(x.dtype)

    def index(self, u: UOp) -> Tensor:
        """What memory holds where an index points."""
        held, n = self.value(u.src[0]), len(self.place)
        places = [self.value(k) if isinstance(k, UOp) else k for k in u.arg]
        if u.shape:
            raise NotImplementedError("an axis of memory that is taken whole must be indexed before its values are used")
        bare = [self.place[k.arg[0]] if isinstance(k, UOp) and k.kind == "range" else None for k in u.arg]
        whole = (
            len(set(bare)) == len(bare)
            and None not in bare
            and all(self.ranges[k.arg[0]] == s and held.shape[b] == 1 for k, s, b in zip(u.arg, u.src[0].shape, bare))
        )
        if whole:  # each axis of the memory is one of the loops
            order = [n + bare.index(b) if b in bare else b for b in range(n)]
            return held.permute(order + bare).reshape([held.shape[b] for b in order])
        loops = [p if isinstance(p, Tensor) else Tensor(int(p)).reshape([1] * n) for p in places]
        own = [self.axis(b, held.shape[b]) for b in range(n)]
        return held[tuple(own + loops)] if own else held[tuple(loops)]

    def axis(self, b: int, size: int) -> Tensor:
        shape = [1] * len(self.place)
        shape[b] = size
        return Tensor.arange(size).reshape(shape)

    # -- memory --

    def memory(self, u: UOp) -> Tensor:
        ones = (1,) * len(self.place)
        if u.arg[0] == "own":
            return Tensor.zeros(*ones, *u.shape, dtype=u.dtype)
        return self.inputs[u.arg[1]].reshape(ones + tuple(u.shape))

    def reshape(self, u: UOp) -> Tensor:
        held, n = self.value(u.src[0]), len(self.place)
        return held.reshape(tuple(held.shape[:n]) + tuple(u.shape))

    def after(self, u: UOp) -> Tensor:
        held = self.value(u.src[0])
        for s in u.src[1:]:
            if s.kind != "range":
                for target, store, ended in stores(s):
                    if memory_of(target) is memory_of(u):
                        held = self.stored(held, target.src[0], target, store, ended)
        return held

    def stored(self, held: Tensor, memory: UOp, target: UOp, value: UOp, ended: list[UOp]) -> Tensor:
        """Memory after a store in loops."""
        n = len(self.place)
        dependent = self.loops_of(target.arg)
        summed = [r for r in ended if r.arg[0] not in dependent]
        op, rest = self.accumulated(target, value) if summed else ("", value)
        if op:
            before = self.index(UOp("index", (memory,), target.arg, target.dtype, ()))
            new = getattr(before, op)(self.reduced(self.value(rest), summed, op))
        else:
            new = self.value(value)
        new = new if isinstance(new, Tensor) else Tensor(new, dtype=memory.dtype).reshape([1] * n)
        new = new.cast(memory.dtype)
        own = memory_of(memory).arg
        inside = own[0] == "own" and own[2] is not AddrSpace.GLOBAL
        if not inside and any(new.shape[self.place[r]] > 1 for r in self.place if r not in dependent):
            raise NotImplementedError("a loop stores several values in one place: only sums, products and maxima over a loop can be stored so")
        return self.put(held, memory, target, new, dependent)

    def put(self, held: Tensor, memory: UOp, target: UOp, new: Tensor, dependent: set[int]) -> Tensor:
        n = len(self.place)
        if tuple(held.shape[n:]) != tuple(memory.shape):  # stored through a reshape
            flat = self.put(held.reshape(tuple(held.shape[:n]) + tuple(memory.shape)), memory, target, new, dependent)
            return flat.reshape(tuple(flat.shape[:n]) + tuple(held.shape[n:]))
        sizes = [self.ranges[key] if key in dependent else new.shape[b] for key, b in sorted(self.place.items(), key=lambda kb: kb[1])]
        outer = [1 if key in dependent else sizes[b] for key, b in self.place.items()]
        new = new.expand(sizes)
        bare: list[Any] = [k.arg[0] if isinstance(k, UOp) and k.kind == "range" else None for k in target.arg]
        if None not in bare and len(set(bare)) == len(bare) and all(self.ranges[k] == s for k, s in zip(bare, memory.shape)):
            order = [self.place[k] for k in bare]
            rest = [b for b in range(n) if b not in order]
            return new.permute(rest + order).reshape(tuple(outer) + tuple(memory.shape))
        held = held.expand(tuple(outer) + tuple(memory.shape))
        at: Any = 0
        for k, s in zip(target.arg, memory.shape):
            at = at * s + (self.value(k) if isinstance(k, UOp) else k)
        at = (at if isinstance(at, Tensor) else Tensor(at).reshape([1] * n)).expand(
            [s if self.key(b) in dependent else 1 for b, s in enumerate(sizes)]
        )
        inner = [b for b in range(n) if self.key(b) in dependent]
        rows = [b for b in range(n) if b not in inner]
        total = 1
        for b in rows:
            total *= sizes[b]
        many = new.permute(rows + inner).reshape(total, -1)
        places = at.permute(rows + inner).reshape(1, -1).expand(total, many.shape[1])
        width = 1
        for s in memory.shape:
            width *= s
        return held.reshape(total, width).scatter(1, places, many).reshape(tuple(outer) + tuple(memory.shape))

    def key(self, b: int) -> int:
        return sorted(self.ranges)[b]

    def loops_of(self, places: Any) -> set[int]:
        """The numbers of the ranges that an index depends on."""
        inner = _Kernel.__new__(_Kernel)
        inner.ranges = {}
        for p in places:
            if isinstance(p, UOp):
                inner.find(p)
        return set(inner.ranges)

    def accumulated(self, target: UOp, value: UOp) -> tuple[str, UOp]:
        """(op, rest) of a value that is op(what the place held before, rest)."""
        if value.kind == "alu" and value.arg in _REDUCE:
            for a, b in ((0, 1), (1, 0)):
                old = value.src[a]
                if old.kind == "index" and memory_of(old) is memory_of(target) and same(old.arg, target.arg):
                    return value.arg, value.src[b]
        raise NotImplementedError("what a loop stores again and again must be the old value plus, times or the larger of another: m.after(k)[i] + x")


def same(a: Any, b: Any) -> bool:
    """Are two indices the same?"""
    return len(a) == len(b) and all(
        x is y or (isinstance(x, UOp) and isinstance(y, UOp) and x.kind == y.kind and same_node(x, y)) or (not isinstance(x, UOp) and x == y)
        for x, y in zip(a, b)
    )


def same_node(x: UOp, y: UOp) -> bool:
    """Do two UOps say the same?"""
    return x.arg == y.arg and len(x.src) == len(y.src) and all(same_node(p, q) for p, q in zip(x.src, y.src)) if x.kind == y.kind else False


def memory_of(u: UOp) -> UOp:
    """The placeholder under an index, a shape or an after."""
    while u.kind != "memory":
        u = u.src[0]
    return u


def stores(u: UOp, ended: Any = ()) -> list[tuple[UOp, UOp, list[UOp]]]:
    """(index, value, ranges that end) of each store under u."""
    if u.kind == "store":
        return [(u.src[0], u.src[1], list(ended))]
    if u.kind == "end":
        return stores(u.src[0], [*ended, *u.src[1:]])
    if u.kind == "group":
        return [s for x in u.src for s in stores(x, ended)]
    raise TypeError(f"a kernel ends with stores, not with {u.kind}")


def _final(kernel: _Kernel, u: UOp, ended: Any, held: dict[int, Any]) -> None:
    """The memory that a sink reaches, with what it holds at the end."""
    if u.kind == "end":
        _final(kernel, u.src[0], [*ended, *u.src[1:]], held)
    elif u.kind == "group":
        for s in u.src:
            _final(kernel, s, ended, held)
    elif u.kind == "after":
        held[id(memory_of(u))] = kernel.value(u)
    else:
        target, value = u.src
        memory = memory_of(target)
        before = held.get(id(memory))
        base = target.src[0]
        if before is None:
            before = kernel.value(base if base.kind != "reshape" else base.src[0])
        held[id(memory)] = kernel.stored(before, base, target, value, list(ended))


def run_kernel(tensors: list[Tensor], fxn: Any) -> list[Tensor]:
    """The tensors after the kernel."""
    slots = [UOp("memory", (), ("input", k), t.dtype, tuple(int(s) for s in t.shape)) for k, t in enumerate(tensors)]
    root = fxn(*slots)
    kernel = _Kernel(root, tensors)
    held: dict[int, Any] = {}
    _final(kernel, root, (), held)
    return [held[id(s)].reshape(t.shape) if id(s) in held else t for s, t in zip(slots, tensors)]


def run_with_gradient(tensors: list[Tensor], fxn: Any, grad_fxn: Any) -> list[Tensor]:
    """run_kernel with a gradient of the user's own."""
    from ..custom import Function

    class Kernel(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Tensor) -> Any:  # type: ignore[override]
            ctx.src = [t.detach() for t in inputs]
            return tuple(run_kernel([t.detach() for t in inputs], fxn))

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            kernel = UOp("kernel", tuple(ctx.src))
            return tuple(plain(g) for g in grad_fxn(gradients[0], kernel))

    found = Kernel.apply(*tensors)
    return list(found) if isinstance(found, tuple) else [found]


def resolve(x: Any, default: bool = True) -> bool:
    """A condition on sizes: what it is for all values of its variables, or the default if it depends on them."""
    try:
        return bool(x)
    except (TypeError, ValueError):
        return default


def smax(*values: Any) -> Any:
    """The largest of some sizes."""
    return max(argfix(*values))


def smin(*values: Any) -> Any:
    """The smallest of some sizes."""
    return min(argfix(*values))


__all__ = [
    "AddrSpace", "AxisType", "KernelInfo", "Ops", "UOp", "Variable", "resolve", "run_kernel", "run_with_gradient", "smax", "smin", "sym_infer",
]  # fmt: skip
