"""tinygrad's helpers that scripts import: environment variables, counters, downloads, timings."""

from __future__ import annotations

import contextlib
import copyreg
import ctypes
import decimal
import functools
import getpass
import marshal
import math
import os
import re
import sys
import tempfile
import time
import types
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from .bars import tqdm, trange
from .context import VARIABLES, Context, ContextVar
from .profile import GlobalCounters

T = TypeVar("T")


def _pickled_code(code: types.CodeType) -> Any:
    return marshal.loads, (marshal.dumps(code),)


copyreg.pickle(types.CodeType, _pickled_code)  # as with tinygrad, functions can be sent as their code
CI, OSX, WIN = bool(os.getenv("CI")), os.uname().sysname == "Darwin" if hasattr(os, "uname") else False, os.name == "nt"


@functools.cache
def getenv(key: str, default: Any = 0) -> Any:
    """An environment variable, in the type of the default.

    >>> from polygrad.helpers import getenv
    >>> getenv("NOT_SET_ANYWHERE", 3)
    3
    """
    return type(default)(os.getenv(key, default))


def prod(x: Iterable[Any]) -> Any:
    """The product of numbers."""
    return math.prod(x)


def dedup(x: Iterable[T]) -> list[T]:
    """Each once, in the order of first appearance."""
    return list(dict.fromkeys(x))


def flatten(x: Iterable[Iterable[T]]) -> list[T]:
    """One list out of several."""
    return [v for inner in x for v in inner]


def argsort(x: Any) -> Any:
    """The places that sort a sequence."""
    return type(x)(sorted(range(len(x)), key=x.__getitem__))


def all_same(items: Any) -> bool:
    """Are all equal?"""
    return all(v == items[0] for v in items)


def round_up(num: int, amt: int) -> int:
    """The next multiple of amt."""
    return (num + amt - 1) // amt * amt


def ceildiv(num: int, amt: int) -> int:
    """The quotient rounded up; of a symbolic size by adding before it is divided."""
    return -(num // -amt) if num.__class__ is int and amt.__class__ is int else (num + amt - 1) // amt


def make_tuple(x: Any, cnt: int) -> tuple[Any, ...]:
    """x as often as needed, or the sequence as a tuple."""
    return (x,) * cnt if isinstance(x, int) else tuple(x)


def colored(st: str, color: str | None, background: bool = False) -> str:
    """The text in a colour of the terminal."""
    names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
    if color is None:
        return st
    return f"\u001b[{10 * background + 60 * (color.upper() == color) + 30 + names.index(color.lower())}m{st}\u001b[0m"


def floordiv(x: int, y: int) -> int:
    """Quotient rounded down; 0 for a divisor of 0."""
    return x // y if y != 0 else 0


def floormod(x: int, y: int) -> int:
    """Remainder with the sign of y; x for a divisor of 0."""
    return x - floordiv(x, y) * y


def to_tuple(x: Any) -> tuple[Any, ...]:
    """A tuple as it is, anything else as a tuple of one."""
    return x if isinstance(x, tuple) else (x,)


def pad_bytes(b: bytes, align: int) -> bytes:
    """Bytes with zeros behind up to a multiple of align."""
    return b + bytes(-len(b) % align)


def pluralize(st: str, cnt: int) -> str:
    """'1 kernel', '2 kernels'."""
    return f"{cnt} {st}" + ("" if cnt == 1 else "s")


def colorize_float(x: float) -> str:
    """A ratio, green where it is below 0.75 and red where it is above 1.15."""
    return colored(f"{x:7.2f}x", "green" if x < 0.75 else "red" if x > 1.15 else "yellow")


def to_function_name(s: str) -> str:
    """A text as a name: other characters than letters, digits and _ by their numbers."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"{ord(c):02X}" for c in ansistrip(s))


def get_child(obj: Any, key: str) -> Any:
    """What obj has under a name with dots, as in a state dict: attributes, entries of dicts and of lists."""
    for k in key.split("."):
        obj = obj[int(k)] if k.isnumeric() and isinstance(obj, (list, tuple)) else obj[k] if isinstance(obj, dict) else getattr(obj, k)
    return obj


def fromimport(mod: str, frm: str) -> Any:
    """A name of a module."""
    return getattr(__import__(mod, fromlist=[frm]), frm)


def get_contraction(old_shape: tuple[Any, ...], new_shape: tuple[Any, ...]) -> list[list[int]] | None:
    """Which axes of old_shape each axis of new_shape is made of; None if a reshape splits one.

    >>> get_contraction((2, 3, 4), (6, 4)), get_contraction((6, 4), (2, 3, 4))
    ([[0, 1], [2]], None)
    """
    after = [math.prod(old_shape[: k + 1]) for k in range(len(old_shape))]
    ends = []
    for k in range(len(new_shape)):
        size = math.prod(new_shape[: k + 1])
        if size != 1 and size not in after:
            return None
        ends.append(0 if size == 1 else after.index(size) + 1)
    return [list(range(a, b)) for a, b in zip([0, *ends[:-1]], [*ends[:-1], len(old_shape)])]


def round_down(num: int, amt: int) -> int:
    """num rounded down to a multiple of amt."""
    return num // amt * amt


def cdiv(x: int, y: int) -> int:
    """Quotient rounded towards zero, as in C; 0 for a divisor of 0."""
    return abs(x) // abs(y) * (1 if x * y > 0 else -1) if y != 0 else 0


def cmod(x: int, y: int) -> int:
    """Remainder with the sign of x, as in C."""
    return x - cdiv(x, y) * y


def all_int(t: Any) -> bool:
    """Are all of them ints?"""
    return all(isinstance(s, int) for s in t)


def argfix(*x: Any) -> Any:
    """f(1, 2) and f((1, 2)) are the same."""
    if x and x[0].__class__ in (tuple, list):
        if len(x) != 1:
            raise ValueError(f"bad arg {x}")
        return tuple(x[0])
    return x


def fully_flatten(x: Any) -> list[Any]:
    """A nested list as one list."""
    if isinstance(x, np.ndarray):
        return x.reshape(-1).tolist()
    if isinstance(x, (list, tuple)):
        return [v for part in x for v in fully_flatten(part)]
    return [x]


def get_shape(x: Any) -> tuple[int, ...]:
    """The shape of a nested list."""
    if not isinstance(x, (list, tuple)):
        return ()
    shapes = [get_shape(v) for v in x]
    if any(s != shapes[0] for s in shapes):
        raise ValueError(f"inhomogeneous shape from {x}")
    return (len(shapes), *(shapes[0] if shapes else ()))


def merge_dicts(ds: Iterable[dict[Any, Any]]) -> dict[Any, Any]:
    """One dict of several that do not disagree."""
    out: dict[Any, Any] = {}
    for d in ds:
        for k, v in d.items():
            if out.setdefault(k, v) != v:
                raise RuntimeError(f"{k} has two values: {out[k]} and {v}")
    return out


def partition(itr: Iterable[T], fxn: Any) -> tuple[list[T], list[T]]:
    """Those of which fxn is true, and the others."""
    yes: list[T] = []
    no: list[T] = []
    for x in itr:
        (yes if fxn(x) else no).append(x)
    return yes, no


def unwrap(x: T | None) -> T:
    """x, which is not None."""
    assert x is not None
    return x


def get_single_element(x: Any) -> Any:
    """The only element."""
    assert len(x) == 1, f"list must only have 1 element, not {len(x)}"
    return x[0]


def next_power2(x: int) -> int:
    """The least power of two that is not below x."""
    return 1 if x == 0 else 1 << (x - 1).bit_length()


def hi32(x: int) -> int:
    """The upper 32 bits."""
    return x >> 32


def lo32(x: int) -> int:
    """The lower 32 bits."""
    return x & 0xFFFFFFFF


def data64(x: int) -> tuple[int, int]:
    """Upper and lower 32 bits."""
    return hi32(x), lo32(x)


def data64_le(x: int) -> tuple[int, int]:
    """Lower and upper 32 bits."""
    return lo32(x), hi32(x)


def getbits(value: int, start: int, end: int) -> int:
    """The bits start .. end."""
    return (value >> start) & ((1 << (end - start + 1)) - 1)


def i2u(bits: int, value: int) -> int:
    """An integer as the unsigned one of the same bits."""
    return value if value >= 0 else (1 << bits) + value


def polyN(x: Any, p: Iterable[Any]) -> Any:
    """A polynomial with coefficients from the highest power down."""
    out: Any = 0.0
    for c in p:
        out = out * x + c
    return out


def strip_parens(fst: str) -> str:
    """Without the parentheses that enclose all of it."""
    inner, depth = fst[1:-1], 0
    for c in inner:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return fst
    return inner if fst[:1] == "(" and fst[-1:] == ")" and depth == 0 else fst


def ansistrip(s: str) -> str:
    """A text without its colours."""
    return re.sub("\x1b\\[(K|.*?m)", "", s)


def ansilen(s: str) -> int:
    """How long a text is to the eye."""
    return len(ansistrip(s))


def ansipad(s: str, w: int) -> str:
    """The text with blanks behind up to w characters, colours not counted."""
    return s + " " * max(w - ansilen(s), 0)


def panic(e: type[BaseException] | None = None, *arg: Any) -> NoReturn:
    """Raises, where an expression is needed."""
    raise RuntimeError("PANIC!") if e is None else e(*arg)


def stderr_log(msg: str) -> None:
    """Writes to the error output, without a new line."""
    print(msg, end="", file=sys.stderr, flush=True)


def perf_counter_us() -> decimal.Decimal:
    """A clock in microseconds."""
    return decimal.Decimal(time.perf_counter_ns()) / 1000


def flat_to_grouped(padding: Sequence[T]) -> tuple[tuple[T, T], ...]:
    """Padding as PyTorch lists it, last axis first, as pairs in the order of the axes.

    >>> flat_to_grouped((1, 2, 3, 4))
    ((3, 4), (1, 2))
    """
    return tuple((padding[k], padding[k + 1]) for k in range(len(padding) - 2, -1, -2))


def resolve_pool_pads(padding: int | Sequence[int], dims: int) -> Sequence[int]:
    """Padding of one number, one an axis or two an axis, as two an axis, last axis first.

    >>> resolve_pool_pads((1, 2), 2)
    [2, 2, 1, 1]
    """
    if isinstance(padding, int):
        return [padding] * (2 * dims)
    if len(padding) not in (dims, 2 * dims):
        raise ValueError(f"padding of {dims} axes is one number, {dims} or {2 * dims}, not {padding}")
    return padding if len(padding) == 2 * dims else [p for p in reversed(padding) for _ in (0, 1)]


def suppress_finalizing(func: Any) -> Any:
    """func, whose errors are passed over while the interpreter takes itself down."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except (RuntimeError, AttributeError, TypeError, ImportError, OSError):
            if not sys.is_finalizing():
                raise

    return call


class Timing(contextlib.ContextDecorator):
    """Prints how long a block took."""

    def __init__(self, prefix: str = "", on_exit: Any = None, enabled: bool = True):
        self.prefix, self.on_exit, self.enabled = prefix, on_exit, enabled

    def __enter__(self) -> None:
        self.st = time.perf_counter_ns()

    def __exit__(self, *exc: Any) -> None:
        self.et = time.perf_counter_ns() - self.st
        if self.enabled:
            print(f"{self.prefix}{self.et * 1e-6:6.2f} ms" + (self.on_exit(self.et) if self.on_exit else ""))


class Profiling(contextlib.ContextDecorator):
    """Prints in which Python functions a block spent its time."""

    def __init__(self, enabled: bool = True, sort: str = "cumtime", frac: float = 0.2, fn: str | None = None, ts: float = 1):
        self.enabled, self.sort, self.frac, self.fn, self.time_scale = enabled, sort, frac, fn, 1e3 / ts

    def __enter__(self) -> None:
        import cProfile

        self.pr = cProfile.Profile()
        if self.enabled:
            self.pr.enable()

    def __exit__(self, *exc: Any) -> None:
        if not self.enabled:
            return
        import pstats

        self.pr.disable()
        if self.fn:
            self.pr.dump_stats(self.fn)
        pstats.Stats(self.pr).strip_dirs().sort_stats(self.sort).print_stats(self.frac)


def fetch(
    url: str, name: Any = None, subdir: str | None = None, gunzip: bool = False, allow_caching: bool = True, headers: Any = None,
    sha256: str | None = None, extract: bool = False,
) -> Any:  # fmt: skip
    """The path of a local copy of a file, which is kept: under a name, which may be a path, and in a subfolder. allow_caching=False: it is fetched
    again. headers: of the request. sha256: what the copy must have. extract: the folder that the archive is unpacked to."""
    from ._fetch import fetch as local_copy
    from ._fetch import unpacked

    path = local_copy(url, name, gunzip, subdir=subdir, again=not allow_caching, headers=headers, sha256=sha256)
    return unpacked(path) if extract else path


def temp(name: str, append_user: bool = False) -> str:
    """A path for a file of this name among the temporary ones."""
    return os.path.join(tempfile.gettempdir(), f"{name}.{getpass.getuser()}" if append_user else name)


def is_numpy_ndarray(x: Any) -> bool:
    """Is it an array of numpy's?"""
    return isinstance(x, np.ndarray)


def from_mv(mv: memoryview, to_type: Any = ctypes.c_char) -> Any:
    """An array of ctypes over the same memory."""
    return (to_type * (len(mv) * mv.itemsize // ctypes.sizeof(to_type))).from_buffer(mv)


def to_mv(ptr: int, sz: int) -> memoryview:
    """The memory at an address."""
    return memoryview((ctypes.c_uint8 * sz).from_address(ptr)).cast("B")


def mv_address(mv: memoryview) -> int:
    """Where the memory of a memoryview begins."""
    return int(np.frombuffer(mv, np.uint8).ctypes.data)


def flat_mv(mv: memoryview) -> memoryview:
    """A memoryview as bytes."""
    return mv if len(mv) == 0 else mv.cast("B", shape=(mv.nbytes,))


def time_to_str(t: float, w: int = 8) -> str:
    """A time in seconds, milliseconds or microseconds."""
    return next(f"{t * d:{w}.2f}{unit}" for d, unit in ((1, "s "), (1e3, "ms"), (1e6, "us")) if t > 10 / d or unit == "us")


def size_to_str(s: int) -> str:
    """A number of bytes in its unit."""
    return next(f"{s / d:.2f} {unit}" for d, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"), (1, "B")) if s > d or unit == "B")


def word_wrap(x: str, wrap: int = 80) -> str:
    """Lines of at most `wrap` characters to the eye; colours count for none."""
    out = []
    for line in x.split("\n"):
        seen, start = 0, 0
        for place in re.finditer("\x1b\\[(?:K|.*?m)|.", line):
            if len(place.group()) == 1:
                if seen == wrap:
                    out.append(line[start : place.start()])
                    seen, start = 0, place.start()
                seen += 1
        out.append(line[start:])
    return "\n".join(out)


class count:
    """0, 1, 2 and so on, or from another start in other steps; it can be pickled."""

    def __init__(self, start: int = 0, step: int = 1):
        self.n, self.step = start, step

    def __iter__(self) -> count:
        return self

    def __next__(self) -> int:
        self.n += self.step
        return self.n - self.step


def canonicalize_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Strides with 0 for axes of one element."""
    return tuple(0 if n == 1 else s for n, s in zip(shape, strides))


def strides_for_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of elements that lie row by row."""
    return canonicalize_strides(shape, tuple(math.prod(shape[k + 1 :]) for k in range(len(shape))))


def cpu_time_execution(cb: Any, enable: bool = True) -> float | None:
    """Seconds that a call takes, if it is to be timed."""
    start = time.perf_counter()
    cb()
    return time.perf_counter() - start if enable else None


def __getattr__(name: str) -> Any:
    if name in VARIABLES:
        return VARIABLES[name]
    raise AttributeError(f"module 'polygrad.helpers' has no attribute {name!r}")


__all__ = [
    "CI", "Context", "ContextVar", "GlobalCounters", "OSX", "Profiling", "Timing", "WIN", "all_int", "all_same", "ansilen", "ansipad", "ansistrip",
    "argfix", "argsort", "canonicalize_strides", "cdiv", "ceildiv", "cmod", "colored", "colorize_float", "count", "cpu_time_execution", "data64",
    "data64_le", "dedup", "fetch", "flat_mv", "flat_to_grouped", "flatten", "floordiv", "floormod", "from_mv", "fromimport", "fully_flatten",
    "get_child", "get_contraction", "get_shape", "get_single_element", "getbits", "getenv", "hi32", "i2u", "is_numpy_ndarray", "lo32", "make_tuple",
    "merge_dicts", "mv_address", "next_power2", "pad_bytes", "panic", "partition", "perf_counter_us", "pluralize", "polyN", "prod",
    "resolve_pool_pads", "round_down", "round_up", "size_to_str", "stderr_log", "strides_for_shape", "strip_parens", "suppress_finalizing", "temp",
    "time_to_str", "to_function_name", "to_mv", "to_tuple", "tqdm", "trange", "unwrap", "word_wrap",
]  # fmt: skip
