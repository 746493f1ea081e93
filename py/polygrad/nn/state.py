"""The tensors of a model by name, and files of them."""

from __future__ import annotations

import io
import json
import os
import pathlib
from typing import Any

from .._core import wrap
from .._ffi import C, handle_array
from ..autograd import current
from ..tensor import Tensor
from .later import is_lazy


def get_state_dict(obj: Any, prefix: str = "", tensor_type: Any = Tensor) -> dict[str, Tensor]:
    """All tensors of an object, its attributes, lists and dicts, by dotted name; tensor_type: all objects of other classes.

    >>> from polygrad.nn import Linear, get_state_dict
    >>> sorted(get_state_dict(Linear(2, 3)))
    ['bias', 'weight']
    """
    out: dict[str, Tensor] = {}
    _collect(obj, prefix, out, set(), tensor_type)
    return out


def _collect(obj: Any, prefix: str, out: dict[str, Tensor], path: set[int], wanted: Any) -> None:
    if isinstance(obj, wanted):
        out[prefix.strip(".")] = obj
        return
    if id(obj) in path or isinstance(obj, type):
        return
    path = path | {id(obj)}
    for name, value in _fields(obj).items():
        _collect(value, f"{prefix}{name}.", out, path, wanted)


def _fields(obj: Any) -> dict[str, Any]:
    """What an object holds, by name."""
    if isinstance(obj, (list, tuple)):
        return obj._asdict() if hasattr(obj, "_asdict") else {str(k): v for k, v in enumerate(obj)}
    if isinstance(obj, dict):
        return {str(k): v for k, v in obj.items()}
    if hasattr(obj, "_state_items"):
        return obj._state_items()
    if hasattr(obj, "__dict__") and not isinstance(obj, type) and not callable(getattr(obj, "__code__", None)):
        return obj.__dict__
    return {}


def _prepare(obj: Any, prefix: str, state_dict: dict[str, Tensor], path: set[int]) -> None:
    """Lets modules that make their parameters when they first see an input make them for what is about to be loaded."""
    if isinstance(obj, Tensor) or id(obj) in path:
        return
    if hasattr(obj, "_before_load"):
        obj._before_load(state_dict, prefix)
    for name, value in _fields(obj).items():
        _prepare(value, f"{prefix}{name}.", state_dict, path | {id(obj)})


def get_parameters(obj: Any) -> list[Tensor]:
    """All tensors of an object that can have a gradient, those of floating point, each once.

    >>> from polygrad.nn import Linear, get_parameters
    >>> len(get_parameters(Linear(2, 3)))
    2
    """
    return list({id(t): t for t in get_state_dict(obj).values() if t.is_floating_point()}.values())


def load_state_dict(
    model: Any, state_dict: dict[str, Tensor], strict: bool = True, verbose: bool = False, consume: bool = False, realize: bool = True
) -> list[Tensor]:
    """Copies tensors into the model's by name and returns those of the model that were loaded. strict: a name that is missing is an error; names
    that the model does not have are passed over, as in tinygrad (Module.load_state_dict is PyTorch's and refuses them). consume: tensors that were
    loaded are taken out of state_dict. realize=False: they are copied when they are needed.

    >>> from polygrad.nn import Linear, get_state_dict, load_state_dict
    >>> a, b = Linear(2, 3), Linear(2, 3)
    >>> len(load_state_dict(a, get_state_dict(b)))
    2
    >>> a.weight.tolist() == b.weight.tolist()
    True
    """
    own, missing, unexpected = match(model, state_dict)
    if strict and missing:
        raise KeyError(f"state dict does not fit the model: missing {missing}, unexpected {unexpected}")
    given = {name: state_dict[name] for name in own if name in state_dict}
    for name, value in given.items():
        if value.shape != own[name].shape and {value.shape, own[name].shape} == {(), (1,)}:
            given[name] = value.reshape(own[name].shape)
        elif value.shape != own[name].shape:
            raise ValueError(f"Shape mismatch in layer `{name}`: Expected shape {own[name].shape}, but found {value.shape} in state dict.")
    loaded = load_into(own, given, realize)
    if consume:
        for name in given:
            del state_dict[name]
    return loaded


def match(model: Any, state_dict: Any) -> tuple[dict[str, Tensor], list[str], list[str]]:
    """The model's tensors by name, the names that state_dict lacks, and those that the model lacks."""
    own = get_state_dict(model)
    if not own.keys() >= state_dict.keys() or any(is_lazy(t) for t in (*own.values(), *state_dict.values())):
        _prepare(model, "", state_dict, set())
        own = get_state_dict(model)
    return own, [n for n in own if n not in state_dict], [n for n in state_dict if n not in own]


def load_into(own: dict[str, Tensor], state_dict: Any, realize: bool = True) -> list[Tensor]:
    """Assigns the tensors of state_dict to those of the same name, in one plan; gives those that were assigned to."""
    loaded = []
    for name, t in own.items():
        if name in state_dict:
            value = state_dict[name]
            t.assign(value.detach() if isinstance(value, Tensor) and value._g is t._g else Tensor(value.numpy()))
            loaded.append(t)
    if loaded and realize:
        loaded[0].realize(*loaded[1:])
    return loaded


def safe_save(tensors: dict[str, Tensor], fn: Any, metadata: dict[str, str] | None = None) -> None:
    """Writes a safetensors file. metadata: texts by name that are kept in its header.

    >>> import os, tempfile
    >>> from polygrad import Tensor
    >>> from polygrad.nn import safe_load, safe_save
    >>> path = os.path.join(tempfile.mkdtemp(), "w.safetensors")
    >>> safe_save({"w": Tensor([1.0, 2.0])}, path)
    >>> safe_load(path)["w"].tolist()
    [1.0, 2.0]
    """
    g = next(iter(tensors.values()))._g if tensors else current()
    import ctypes

    names = (ctypes.c_char_p * max(1, len(tensors)))(*[n.encode() for n in tensors])
    hs = handle_array([t._h for t in tensors.values()])
    texts = [text for pair in (metadata or {}).items() for text in pair]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"metadata of a safetensors file are texts by name, not {metadata}")
    meta = (ctypes.c_char_p * max(1, len(texts)))(*[text.encode() for text in texts])
    g.check(C.poly_safe_save_with(g.ptr, os.fsencode(fn), names, hs, len(tensors), meta, len(texts) // 2))


def safe_load(fn: Any) -> dict[str, Tensor]:
    """Reads a safetensors file into tensors by name. Of a tensor of bytes, such as Tensor(path), each is a piece of it and nothing is copied.

    >>> import os, tempfile
    >>> from polygrad import Tensor
    >>> from polygrad.nn import safe_load, safe_save
    >>> path = os.path.join(tempfile.mkdtemp(), "w.safetensors")
    >>> safe_save({"w": Tensor([[1.0, 2.0]])}, path)
    >>> safe_load(Tensor(open(path, "rb").read()))["w"].tolist()
    [[1.0, 2.0]]
    """
    if isinstance(fn, Tensor):
        return _pieces(*safe_load_metadata(fn))
    g = current()
    f = C.poly_safe_open(g.ptr, os.fsencode(fn))
    if f is None:
        g.fail()
    try:
        return {C.poly_safe_name(f, k).decode(): wrap(g, C.poly_safe_get(f, k)) for k in range(C.poly_safe_count(f))}
    finally:
        C.poly_safe_close(f)


def torch_load(fn: Any, max_extra_bytes: int = 1 << 30) -> Any:
    """Reads a state dict or checkpoint that torch.save wrote, without PyTorch and without executing anything in the file.

    See polygrad.nn.torch_file.torch_load.
    """
    from . import torch_file  # here, because most programs read no such file

    return torch_file.torch_load(fn, max_extra_bytes)


class TensorIO(io.RawIOBase):
    """A tensor of bytes as a file to read from."""

    def __init__(self, t: Tensor):
        if t.ndim != 1 or t.dtype.name != "uint8":
            raise ValueError(f"a file is a vector of bytes, not {t.shape} {t.dtype}")
        self._tensor, self._at = t, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes."""
        n = int(self._tensor.shape[0])
        end = n if size is None or size < 0 else min(n, self._at + size)
        data = self._tensor[self._at : end].numpy().tobytes() if end > self._at else b""
        self._at = max(self._at, end)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Moves to a place."""
        base = (0, self._at, int(self._tensor.shape[0]))[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at


def _bytes_of(fn: Any) -> Tensor:
    """A tensor of bytes out of one, or of the name of a file."""
    return fn if isinstance(fn, Tensor) else Tensor(pathlib.Path(fn))


def tar_extract(fn: Any) -> dict[str, Tensor]:
    """The files of a tar archive, which is a tensor of bytes or the name of a file, as tensors of bytes by name. Nothing is unpacked: each is a
    piece of the archive."""
    import tarfile

    t = _bytes_of(fn)
    with tarfile.open(fileobj=io.BufferedReader(TensorIO(t), 1 << 16), mode="r:") as tar:
        return {m.name: t[m.offset_data : m.offset_data + m.size] for m in tar if m.isreg()}


def zip_extract(fn: Any) -> dict[str, Tensor]:
    """The files of a zip archive as tensors of bytes by name."""
    import zipfile

    with zipfile.ZipFile(io.BufferedReader(TensorIO(_bytes_of(fn)), 1 << 16)) as archive:
        return {i.filename: Tensor(archive.read(i)) for i in archive.infolist() if not i.is_dir()}


def safe_load_metadata(fn: Any) -> tuple[Tensor, int, dict[str, Any]]:
    """The bytes of a safetensors file, where the data begin, and the header."""
    t = _bytes_of(fn)
    n = int.from_bytes(bytes(t[:8].tolist()), "little")
    if n > int(t.shape[0]) - 8:
        raise ValueError(f"a header of {n} bytes does not fit a file of {t.shape[0]}: this is not a safetensors file")
    return t, 8 + n, json.loads(bytes(t[8 : 8 + n].tolist()))


_SAFE = {
    "BOOL": "bool", "I8": "int8", "U8": "uint8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32", "I64": "int64", "U64": "uint64",
    "F8_E4M3": "fp8e4m3", "F8_E5M2": "fp8e5m2", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
}  # fmt: skip


def _pieces(data: Tensor, start: int, header: dict[str, Any]) -> dict[str, Tensor]:
    """The tensors of a safetensors file out of its bytes."""
    size, out = int(data.shape[0]), {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = (start + int(k) for k in entry["data_offsets"])
        if entry["dtype"] not in _SAFE or not start <= first <= last <= size:
            raise ValueError(f"{name} of type {entry['dtype']} at bytes {first} to {last} does not fit a file of {size} bytes")
        out[name] = data[first:last].bitcast(_SAFE[entry["dtype"]]).reshape(tuple(entry["shape"]))
    return out
