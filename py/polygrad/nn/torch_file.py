"""Reads PyTorch's .pt and .pth files without PyTorch and without executing anything that is in them.

Such a file is a pickle that describes objects, and the raw memory of the tensors' storages: in a zip archive (data.pkl, data/0,
data/1 ...), or one after another (files from before 2020). A pickle is a program that may call any function, so it is not given
to Python's unpickler: the small machine below knows the instructions that build plain values, and calls nothing but the few
constructors of _GLOBALS. All sizes that a file declares are checked against its own size before memory is taken.
"""

from __future__ import annotations

import math
import os
import pickletools
import struct
import zipfile
import zlib
from typing import Any, BinaryIO, Callable, NamedTuple

import numpy as np

from .._core import from_numpy
from ..autograd import current
from ..dtypes import DType, dtypes

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_MAX_PICKLE = 256 << 20  # bytes of data.pkl; that of a model with 100 000 tensors has 20 MB


def torch_load(fn: Any, max_extra_bytes: int = 1 << 30) -> Any:
    """The content of a file that torch.save wrote: a state dict as a dict of tensors by name; nested dicts, lists, numbers and
    texts of a checkpoint as they are; a Data object of PyTorch Geometric as a dict of its attributes. fn: a path or an open binary file.

    Nothing in the file is executed. What is damaged, or holds more than tensors and plain values, gives a ValueError that says
    why. Tensors may take at most max_extra_bytes more than the file has (views of one storage are copied).

    >>> import io
    >>> from polygrad.nn import torch_load
    >>> try:  # a pickle that would run a command
    ...     torch_load(io.BytesIO(b"cos\\nsystem\\n(S'echo'\\ntR."))
    ... except ValueError as e:
    ...     print(e)
    file: not a file of torch.save: neither a zip archive nor PyTorch's older format
    """
    if hasattr(fn, "read"):
        return _load(fn, getattr(fn, "name", "file"), max_extra_bytes)
    with open(fn, "rb") as f:
        return _load(f, os.fspath(fn), max_extra_bytes)


def _load(f: BinaryIO, name: Any, extra: int) -> Any:
    try:
        size = f.seek(0, os.SEEK_END)
        f.seek(0)
        head = f.read(4)
        f.seek(0)
        if head == b"PK\x03\x04":
            return _load_zip(f, size, extra)
        return _load_legacy(f, size, extra)
    except _Refused as e:
        raise ValueError(f"{name}: {e}") from None
    except (  # what zipfile and pickletools raise on damaged files
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, OverflowError, ValueError, OSError,
    ) as e:  # fmt: skip
        raise ValueError(f"{name}: damaged: {e}") from e
    except (MemoryError, RecursionError) as e:
        raise ValueError(f"{name}: damaged, or too large for the memory of this machine ({type(e).__name__})") from e


class _Refused(Exception):
    """The reason why a file is not read."""


# ---- storages and tensors ----


class _StorageType(NamedTuple):
    """torch.FloatStorage and its like; dtype None: bytes."""

    name: str
    dtype: DType | None


class _Storage(NamedTuple):
    key: str
    type: _StorageType
    bytes: int
    base: int  # byte at which it begins inside the stored one (legacy views)


class _View(NamedTuple):
    """Where the elements of an array are in a storage."""

    array: np.ndarray
    base: int
    strides: tuple[int, ...]


class _Reader:
    """Makes tensors whose memory is filled when all of the pickle has been read: then each storage is read once."""

    def __init__(self, size: int, extra: int):
        self.size, self.left = size, size + extra
        self.graph = current()
        self.views: dict[str, list[_View]] = {}
        self.itemsizes: dict[str, int] = {}  # of the storages that were named
        self.to_realize: list[Any] = []

    def storage_bytes(self, key: str, declared: int) -> None:
        """Raises unless the file can hold a storage of that size."""
        if declared > self.size:
            raise _Refused(f"storage {key!r} would have {declared} bytes, the whole file has {self.size}")

    def persistent(self, pid: Any) -> _Storage:
        """A reference from the pickle to a storage."""
        if not (isinstance(pid, tuple) and len(pid) in (5, 6) and pid[0] == "storage"):
            raise _Refused(f"unknown kind of reference {_short(pid)}")
        kind, key, count = pid[1], pid[2], pid[4]
        if not (isinstance(kind, _StorageType) and isinstance(key, str) and _is_size(count)):
            raise _Refused(f"malformed reference to a storage {_short(pid)}")
        if kind.dtype is None and not kind.name.endswith("UntypedStorage"):
            raise _Refused(f"tensors of {kind.name} are not supported")
        itemsize = kind.dtype.itemsize if kind.dtype is not None else 1
        self.storage_bytes(key, count * itemsize)
        if self.itemsizes.setdefault(key, itemsize) != itemsize:
            raise _Refused(f"storage {key!r} has elements of two sizes")
        base = 0
        if len(pid) == 6 and pid[5] is not None:  # (key, first element, elements) of a view of the storage
            view = pid[5]
            if not (isinstance(view, tuple) and len(view) == 3 and _is_size(view[1]) and _is_size(view[2]) and view[1] + view[2] <= count):
                raise _Refused(f"view of storage {key!r} out of bounds: {_short(view)}")
            base, count = view[1] * itemsize, view[2]
        return _Storage(key, kind, count * itemsize, base)

    def tensor(self, storage: Any, offset: Any, shape: Any, strides: Any, dtype: DType | None = None) -> Any:
        """A tensor on part of a storage; offset and strides are counted in elements."""
        if not isinstance(storage, _Storage):
            raise _Refused(f"a tensor on {_short(storage)}, which is no storage")
        d = dtype or storage.type.dtype
        if d is None:
            raise _Refused(f"tensors of {storage.type.name} are not supported")
        if not (isinstance(shape, tuple) and isinstance(strides, tuple) and len(shape) == len(strides) and len(shape) <= 16):
            raise _Refused(f"malformed shape {_short(shape)} or strides {_short(strides)} of a tensor")
        if not all(map(_is_size, (offset, *shape, *strides))):
            raise _Refused(f"negative or malformed offset {_short(offset)}, shape {_short(shape)} or strides {_short(strides)} of a tensor")
        count = math.prod(shape)
        last = offset + sum((n - 1) * s for n, s in zip(shape, strides)) if count else 0
        if count and (last + 1) * d.itemsize > storage.bytes:
            raise _Refused(
                f"a tensor of shape {shape} and strides {strides} at {offset} reads element {last} "
                f"of storage {storage.key!r}, which has {storage.bytes // d.itemsize}"
            )
        return self._make(storage, offset, shape, strides, d)

    def _make(self, storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], d: DType) -> Any:
        self.left -= math.prod(shape) * d.itemsize
        if self.left < 0:
            raise _Refused(f"the tensors take more memory than the {self.size} bytes of the file account for (see max_extra_bytes)")
        array = np.empty(shape, d.np if d.np is not None else np.uint16 if d.itemsize == 2 else np.uint8)
        step = tuple(s * d.itemsize for s in strides)
        self.views.setdefault(storage.key, []).append(_View(array, storage.base + offset * d.itemsize, step))
        t = from_numpy(self.graph, array)
        if d.np is None:
            t = t.bitcast(d)
            self.to_realize.append(t)
        return t

    def fill(self, key: str, raw: bytes, swapped: bool) -> None:
        """Copies a storage's bytes into the tensors on it."""
        for array, base, strides in self.views.get(key, ()):
            if array.size == 0:
                continue
            d = np.dtype(np.uint8) if array.dtype == np.bool_ else array.dtype
            end = base + sum((n - 1) * s for n, s in zip(array.shape, strides)) + d.itemsize
            if end > len(raw):
                raise _Refused(f"storage {key!r} has {len(raw)} bytes, a tensor needs {end}")
            view: np.ndarray = np.ndarray(array.shape, d.newbyteorder("S") if swapped else d, raw, base, strides)
            array[...] = view != 0 if array.dtype == np.bool_ else view

    def finish(self) -> None:
        if self.to_realize:
            self.to_realize[0].realize(*self.to_realize[1:])


def _is_size(x: Any) -> bool:
    return x.__class__ is int and 0 <= x < 1 << 62


def _short(x: Any) -> str:
    """Text of a value out of the file, not too long (and not recursing far)."""
    if isinstance(x, (tuple, list)):
        inner = ", ".join("..." if isinstance(v, (tuple, list, dict, set)) else _short(v) for v in x[:6])
        return f"({inner}{', ...' if len(x) > 6 else ''})"
    if isinstance(x, (int, float, str, bytes, type(None))) and not (isinstance(x, int) and x.bit_length() > 200):
        text = repr(x)
        return text if len(text) < 60 else text[:57] + "..."
    return f"a {type(x).__name__.strip('_')}"


# ---- what a pickle may name ----


class _Function(NamedTuple):
    """A constructor that a pickle may call: ours, called with the reader and the pickle's arguments."""

    name: str
    call: Callable[..., Any]


def _ordered_dict(reader: _Reader, items: Any = ()) -> dict[Any, Any]:
    if not (isinstance(items, (list, tuple)) and all(isinstance(p, (list, tuple)) and len(p) == 2 for p in items)):
        raise _Refused("malformed OrderedDict")
    return {_key(k): v for k, v in items}


def _tensor_v2(reader: _Reader, storage: Any, offset: Any, shape: Any, strides: Any, grad: Any = None, hooks: Any = None, meta: Any = None) -> Any:
    return reader.tensor(storage, offset, shape, strides)


def _tensor_v3(
    reader: _Reader, storage: Any, offset: Any, shape: Any, strides: Any, grad: Any, hooks: Any, dtype: Any, meta: Any = None
) -> Any:  # fmt: skip
    if not isinstance(dtype, DType):
        raise _Refused(f"tensors of {dtype.name if isinstance(dtype, _Unsupported) else _short(dtype)} are not supported")
    return reader.tensor(storage, offset, shape, strides, dtype)


def _parameter(reader: _Reader, data: Any, *rest: Any) -> Any:
    return data


def _from_type(reader: _Reader, function: Any, kind: Any, args: Any, state: Any) -> Any:
    if not (isinstance(function, _Function) and isinstance(args, tuple)):
        raise _Refused("malformed tensor subclass")
    return _call(reader, function, args)


def _size(reader: _Reader, sizes: Any = ()) -> tuple[Any, ...]:
    if not isinstance(sizes, (tuple, list)):
        raise _Refused("malformed torch.Size")
    return tuple(sizes)


def _device(reader: _Reader, kind: Any, index: Any = None) -> str:
    if not (isinstance(kind, str) and (index is None or _is_size(index))):
        raise _Refused("malformed torch.device")
    return kind if index is None else f"{kind}:{index}"


def _encode(reader: _Reader, text: Any, codec: Any = "latin1") -> bytes:
    if not isinstance(text, str) or codec != "latin1":
        raise _Refused("malformed bytes")
    return text.encode("latin1")


def _set(reader: _Reader, items: Any = ()) -> set[Any]:
    if not isinstance(items, (list, tuple, set)):
        raise _Refused("malformed set")
    return {_key(x) for x in items}


class _Record(dict):  # type: ignore[type-arg]
    """The attributes of an object of a class that only holds data: a graph of PyTorch Geometric, or the store inside it."""

    def build(self, state: Any) -> None:
        """Takes the object's state. A graph's attributes are those of its store; of its store the mapping alone is kept."""
        if not isinstance(state, dict) or not all(isinstance(k, str) for k in state):
            raise _Refused("malformed graph")
        inner = state.get("_store", state.get("_mapping", state))
        self.update(inner if isinstance(inner, dict) else {})


def _record(reader: _Reader, *ignored: Any) -> _Record:
    return _Record()


class _Unsupported(NamedTuple):
    """A dtype of PyTorch that tensors here do not have: an error only where it is used."""

    name: str


def _make_globals() -> dict[str, Any]:
    table: dict[str, Any] = {
        f.name: f
        for f in (
            _Function("collections.OrderedDict", _ordered_dict),
            _Function("torch._utils._rebuild_tensor", _tensor_v2),
            _Function("torch._utils._rebuild_tensor_v2", _tensor_v2),
            _Function("torch._utils._rebuild_tensor_v3", _tensor_v3),
            _Function("torch._utils._rebuild_parameter", _parameter),
            _Function("torch._utils._rebuild_parameter_with_state", _parameter),
            _Function("torch._tensor._rebuild_from_type_v2", _from_type),
            _Function("torch.Size", _size),
            _Function("torch.device", _device),
            _Function("_codecs.encode", _encode),
            _Function("builtins.set", _set),
            _Function("__builtin__.set", _set),
            _Function("torch_geometric.data.data.Data", _record),
            _Function("torch_geometric.data.storage.GlobalStorage", _record),
        )
    }
    storages = {
        "Double": dtypes.float64, "Float": dtypes.float32, "Half": dtypes.float16, "BFloat16": dtypes.bfloat16, "Long": dtypes.int64,
        "Int": dtypes.int32, "Short": dtypes.int16, "Char": dtypes.int8, "Byte": dtypes.uint8, "Bool": dtypes.bool,
    }  # fmt: skip
    for name, d in storages.items():
        table[f"torch.{name}Storage"] = table[f"torch.storage.{name}Storage"] = _StorageType(f"torch.{name}Storage", d)
        table[f"torch.cuda.{name}Storage"] = table[f"torch.{name}Storage"]
    for name in ("ComplexDouble", "ComplexFloat", "QUInt8", "QInt8", "QInt32", "QUInt4x2", "QUInt2x4"):
        table[f"torch.{name}Storage"] = _StorageType(f"torch.{name}Storage", None)
    for name in ("torch.storage.UntypedStorage", "torch.UntypedStorage", "torch.storage._UntypedStorage"):
        table[name] = _StorageType(name, None)
    table.update({f"torch.{n}": d for d in dtypes.all for n in (d.name, d.alias) if n not in ("char", "uchar", "ushort", "uint", "ulong")})
    table |= {"torch.float8_e4m3fn": dtypes.fp8e4m3, "torch.float8_e5m2": dtypes.fp8e5m2}
    for name in (
        "complex32", "complex64", "complex128", "float8_e4m3fnuz", "float8_e5m2fnuz", "quint8", "qint8", "qint32",
    ):  # fmt: skip
        table[f"torch.{name}"] = _Unsupported(f"torch.{name}")
    for name in ("torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"):
        table[name] = _Unsupported(name)  # the type argument of _rebuild_from_type_v2
    for name in ("torch_geometric.data.data.DataEdgeAttr", "torch_geometric.data.data.DataTensorAttr"):
        table[name] = _Unsupported(name)  # graphs name these classes, and hold no object of them
    return table


_GLOBALS = _make_globals()


def _global(module: str, name: str) -> Any:
    full = f"{module}.{name}"
    found = _GLOBALS.get(full)
    if found is None:
        raise _Refused(
            f"the file wants {_short(full)}, which no state dict needs: only tensors and plain values are read (model.state_dict(), not the model)"
        )
    return found


def _call(reader: _Reader, function: Any, args: Any) -> Any:
    if not isinstance(function, _Function) or not isinstance(args, tuple):
        raise _Refused(f"the file calls {_short(function)}")
    try:
        return function.call(reader, *args)
    except TypeError:
        raise _Refused(f"malformed arguments of {function.name}") from None


# ---- the machine ----

_KEYS = (str, int, float, bool, bytes, type(None))


def _key(k: Any) -> Any:
    """Dictionary keys are plain: hashing a deeply nested one could exhaust the stack."""
    if isinstance(k, _KEYS) or (isinstance(k, tuple) and all(isinstance(v, _KEYS) for v in k)):
        return k
    raise _Refused(f"{_short(k)} as the key of a dictionary")


_PUSH = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 STRING BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8 UNICODE "
    "SHORT_BINUNICODE BINUNICODE BINUNICODE8 FLOAT BINFLOAT".split()
)
_VALUES: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NEW: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set, "EMPTY_TUPLE": tuple}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Machine:
    """Runs one pickle, as the comments of pickletools describe it."""

    def __init__(self, reader: _Reader):
        self.reader = reader
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def pop(self, kind: Any = object) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise _Refused("malformed pickle: the stack is empty")
        x = self.stack.pop()
        if not isinstance(x, kind):
            raise _Refused(f"malformed pickle: {_short(x)} in a place where it does not fit")
        return x

    def pop_mark(self) -> list[Any]:
        if not self.marks:
            raise _Refused("malformed pickle: no mark")
        at = self.marks.pop()
        out = self.stack[at:]
        del self.stack[at:]
        return out

    def top(self, kind: Any) -> Any:
        x = self.pop(kind)
        self.stack.append(x)
        return x

    def pairs(self, flat: list[Any]) -> None:
        if len(flat) % 2:
            raise _Refused("malformed pickle: a key without a value")
        target = self.top(dict)
        for k in range(0, len(flat), 2):
            target[_key(flat[k])] = flat[k + 1]

    def run(self, f: Any) -> Any:
        push, stack, memo = self.stack.append, self.stack, self.memo
        for code, arg, _ in pickletools.genops(f):
            name = code.name
            if name in _PUSH:
                push(arg)
            elif name in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"):
                memo[len(memo) if name == "MEMOIZE" or arg is None else arg] = self.top(object)
            elif name in ("BINGET", "LONG_BINGET", "GET"):
                if arg not in memo:
                    raise _Refused(f"malformed pickle: nothing is remembered under {arg}")
                push(memo[arg])
            elif name == "MARK":
                self.marks.append(len(stack))
            elif name in _VALUES:
                push(_VALUES[name])
            elif name in _NEW:
                push(_NEW[name]())
            elif name in _TUPLES:
                parts = [self.pop() for _ in range(_TUPLES[name])]
                push(tuple(reversed(parts)))
            elif name == "STOP":
                if self.marks or len(stack) != 1:
                    raise _Refused("malformed pickle: it ends in the middle")
                return stack[0]
            elif name not in ("PROTO", "FRAME"):
                self.rest(name, arg)
        raise _Refused("malformed pickle: it has no end")

    def rest(self, name: str, arg: Any) -> None:
        push = self.stack.append
        if name == "TUPLE":
            push(tuple(self.pop_mark()))
        elif name in ("LIST", "FROZENSET"):
            items = self.pop_mark()
            push(items if name == "LIST" else frozenset(_key(x) for x in items))
        elif name == "DICT":
            items = self.pop_mark()
            push({})
            self.pairs(items)
        elif name in ("SETITEM", "SETITEMS"):
            self.pairs(self.pop_mark() if name == "SETITEMS" else [self.pop(), self.pop()][::-1])
        elif name in ("APPEND", "APPENDS"):
            items = self.pop_mark() if name == "APPENDS" else [self.pop()]
            self.top(list).extend(items)
        elif name == "ADDITEMS":
            items = self.pop_mark()
            self.top(set).update(_key(x) for x in items)
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            last = self.pop(str) if name == "STACK_GLOBAL" else ""
            module, found = (self.pop(str), last) if last else arg.split(" ", 1)
            push(_global(module, found))
        elif name in ("REDUCE", "NEWOBJ"):
            args = self.pop(tuple)
            push(_call(self.reader, self.pop(), args))
        elif name == "BINPERSID":
            push(self.reader.persistent(self.pop()))
        elif name == "BUILD":  # attributes of an OrderedDict or of a tensor: nothing that we keep
            state = self.pop()
            if self.stack and isinstance(self.stack[-1], _Record):
                self.stack[-1].build(state)
        elif name in ("POP", "POP_MARK"):
            self.pop() if name == "POP" else self.pop_mark()
        else:
            raise _Refused(f"the pickle instruction {name}, which no state dict needs")


# ---- the two kinds of files ----


def _load_zip(f: BinaryIO, size: int, extra: int) -> Any:
    with zipfile.ZipFile(f) as z:
        entries = {i.filename: i for i in z.infolist()}
        if sum(i.compress_size for i in entries.values()) > size:
            raise _Refused("the entries of the archive overlap")
        found = [n for n in entries if n == "data.pkl" or (n.endswith("/data.pkl") and n.count("/") == 1)]
        if len(found) != 1:
            raise _Refused("a zip archive without data.pkl: not a file of torch.save")
        root = found[0][: -len("data.pkl")]
        if f"{root}constants.pkl" in entries:
            raise _Refused("a TorchScript archive, which holds code: save model.state_dict() instead")

        def read(name: str, limit: int) -> bytes:
            info = entries.get(root + name)
            if info is None:
                raise _Refused(f"the archive has no {name}")
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise _Refused(f"{name} is compressed, which torch.save never does")
            if info.file_size > limit:
                raise _Refused(f"{name} has {info.file_size} bytes, at most {limit} are read")
            return z.read(info)

        swapped = "byteorder" in {n[len(root) :] for n in entries} and read("byteorder", 16) == b"big"
        reader = _ZipReader(size, extra, {n[len(root) + 5 :]: i.file_size for n, i in entries.items() if n.startswith(f"{root}data/")})
        result = _Machine(reader).run(read("data.pkl", _MAX_PICKLE))
        for key in reader.views:
            reader.fill(key, read(f"data/{key}", size), swapped)
    reader.finish()
    return result


class _ZipReader(_Reader):
    def __init__(self, size: int, extra: int, stored: dict[str, int]):
        super().__init__(size, extra)
        self.stored = stored

    def storage_bytes(self, key: str, declared: int) -> None:
        has = self.stored.get(key)
        if has is None:
            raise _Refused(f"the archive has no data/{_short(key)[1:-1]}")
        if has != declared:
            raise _Refused(f"storage {key!r} is declared with {declared} bytes, data/{key} has {has}")


class _Bounded:
    """A file from which no more is asked than it has left: a damaged length would make Python take that much memory first."""

    def __init__(self, f: BinaryIO, size: int):
        self.f, self.size = f, size
        self.readline, self.tell = f.readline, f.tell

    def read(self, n: int = -1) -> bytes:
        left = max(0, self.size - self.tell())
        return self.f.read(left if n < 0 else min(n, left))


def _load_legacy(file: BinaryIO, size: int, extra: int) -> Any:
    f: Any = _Bounded(file, size)
    reader = _Reader(size, extra)
    try:
        first = _Machine(reader).run(f)
    except (_Refused, ValueError):
        first = None
    if first != _LEGACY_MAGIC:
        raise _Refused("not a file of torch.save: neither a zip archive nor PyTorch's older format")
    protocol = _Machine(reader).run(f)
    system = _Machine(reader).run(f)
    if protocol != _LEGACY_PROTOCOL or not isinstance(system, dict):
        raise _Refused(f"version {_short(protocol)} of PyTorch's older format is not known")
    result = _Machine(reader).run(f)
    keys = _Machine(reader).run(f)
    if not (isinstance(keys, list) and all(isinstance(k, str) for k in keys)):
        raise _Refused("malformed list of storages")
    swapped = system.get("little_endian") is False
    for key in keys:
        _legacy_storage(f, size, reader, key, swapped)
    missing = [k for k in reader.views if k not in keys]
    if missing:
        raise _Refused(f"the storages {_short(missing)} are not in the file")
    reader.finish()
    return result


def _legacy_storage(f: Any, size: int, reader: _Reader, key: str, swapped: bool) -> None:
    """A count of elements and as many elements; how large they are is known from the tensors."""
    head = f.read(8)
    if len(head) < 8:
        raise _Refused("the file is cut off")
    count = struct.unpack("<q", head)[0]
    itemsize = reader.itemsizes.get(key)
    if itemsize is None:
        raise _Refused(f"storage {key!r} belongs to no tensor")
    if count < 0 or count * itemsize > size - f.tell():
        raise _Refused(f"storage {key!r} would have {count * itemsize} bytes, {size - f.tell()} are left: the file is cut off")
    reader.fill(key, f.read(count * itemsize), swapped)
