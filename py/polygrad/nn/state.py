"""The tensors of a model by name, and files of them."""

from __future__ import annotations

import os
from typing import Any

from .._core import wrap
from .._ffi import C, handle_array
from ..graph import current
from ..tensor import Tensor


def get_state_dict(obj: Any, prefix: str = "") -> dict[str, Tensor]:
    """All tensors of an object, its attributes, lists and dicts, by dotted name.

    >>> from polygrad.nn import Linear, get_state_dict
    >>> sorted(get_state_dict(Linear(2, 3)))
    ['bias', 'weight']
    """
    out: dict[str, Tensor] = {}
    _collect(obj, prefix, out, set())
    return out


def _collect(obj: Any, prefix: str, out: dict[str, Tensor], path: set[int]) -> None:
    if isinstance(obj, Tensor):
        out[prefix.strip(".")] = obj
        return
    if id(obj) in path or isinstance(obj, type):
        return
    path = path | {id(obj)}
    for name, value in _fields(obj).items():
        _collect(value, f"{prefix}{name}.", out, path)


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


def load_state_dict(model: Any, state_dict: dict[str, Tensor], strict: bool = True, verbose: bool = False) -> list[str]:
    """Copies tensors into the model's by name. strict: names that are missing or unexpected are an error.

    Returns the names that were not loaded.

    >>> from polygrad.nn import Linear, get_state_dict, load_state_dict
    >>> a, b = Linear(2, 3), Linear(2, 3)
    >>> load_state_dict(a, get_state_dict(b))
    []
    >>> a.weight.tolist() == b.weight.tolist()
    True
    """
    own = get_state_dict(model)
    if not own.keys() >= state_dict.keys():
        _prepare(model, "", state_dict, set())
        own = get_state_dict(model)
    missing = [n for n in own if n not in state_dict]
    unexpected = [n for n in state_dict if n not in own]
    if strict and (missing or unexpected):
        raise KeyError(f"state dict does not fit the model: missing {missing}, unexpected {unexpected}")
    for name, t in own.items():
        if name not in state_dict:
            continue
        value = state_dict[name]
        if value.shape != t.shape:
            raise ValueError(f"shape of {name} is {t.shape} in the model and {value.shape} in the state dict")
        t.assign(value.detach() if value._g is t._g else Tensor(value.numpy()))
    loaded = [own[n] for n in own if n in state_dict]
    if loaded:
        loaded[0].realize(*loaded[1:])
    return missing + unexpected


def safe_save(tensors: dict[str, Tensor], fn: Any) -> None:
    """Writes a safetensors file.

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
    g.check(C.poly_safe_save(g.ptr, os.fsencode(fn), names, hs, len(tensors)))


def safe_load(fn: Any) -> dict[str, Tensor]:
    """Reads a safetensors file into tensors by name."""
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
