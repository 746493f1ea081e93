"""Graphs in files: safetensors with one entry a tensor, and a description of everything else as JSON in the entry `__graph__`.

Nothing in such a file is ever executed. A file that does not hold what it says is an error.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from ...nn.state import safe_load, safe_save
from ...tensor import Tensor
from ..sparse_tensor import SparseTensor
from .data import BaseData, Data

DESCRIPTION = "__graph__"
VERSION = 1


class _Writer:
    """Values to JSON, with the tensors beside it."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def value(self, name: str, value: Any) -> Any:
        if isinstance(value, Tensor):
            return {"tensor": self.add(name, value)}
        if isinstance(value, np.ndarray):
            return {"array": self.add(name, Tensor(np.ascontiguousarray(value)))}
        if isinstance(value, (bool, int, float, str)) or value is None:
            return {"value": value if isinstance(value, (bool, float, str)) or value is None else int(value)}
        if isinstance(value, np.generic):
            return {"value": value.item()}
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.value(f"{name}.{k}", v) for k, v in enumerate(value)]}
        if isinstance(value, dict):
            return {"dict": [[self.value("", k), self.value(f"{name}.{k}", v)] for k, v in value.items()]}
        if isinstance(value, SparseTensor):
            return {"matrix": self.value(name, [value._row, value._col, value._value, list(value.sparse_sizes())])}
        raise TypeError(f"{name!r} is a {type(value).__name__}, which cannot be saved: only tensors, arrays, plain values, lists and dicts can")

    def add(self, name: str, t: Tensor) -> str:
        if name == DESCRIPTION or name in self.tensors:
            raise ValueError(f"two tensors would be saved under the name {name!r}")
        self.tensors[name] = t.contiguous()
        return name

    def write(self, description: dict[str, Any], path: Any) -> None:
        text = json.dumps({"version": VERSION, **description}, allow_nan=True).encode()
        self.tensors[DESCRIPTION] = Tensor(np.frombuffer(text, np.uint8).copy())
        part = f"{os.fspath(path)}.part"  # a file is whole or not there
        safe_save(self.tensors, part)
        os.replace(part, os.fspath(path))


class _Reader:
    def __init__(self, path: Any):
        self.path = os.fspath(path)
        self.tensors = safe_load(path)
        if DESCRIPTION not in self.tensors:
            raise ValueError(f"{self.path}: not a file of a graph, it has no entry {DESCRIPTION!r}")
        try:
            self.description = json.loads(self.tensors.pop(DESCRIPTION).numpy().tobytes())
            if not isinstance(self.description, dict) or self.description["version"] != VERSION:
                raise ValueError("its version is not known")
        except (ValueError, KeyError, UnicodeDecodeError, RecursionError) as e:
            raise ValueError(f"{self.path}: the description of the graph cannot be read: {e}") from None

    def value(self, entry: Any, depth: int = 0) -> Any:
        if not isinstance(entry, dict) or len(entry) != 1 or depth > 50:
            raise ValueError(f"{self.path}: the description of the graph is damaged")
        ((kind, content),) = entry.items()
        if kind in ("tensor", "array"):
            if not isinstance(content, str) or content not in self.tensors:
                raise ValueError(f"{self.path}: the tensor {content!r} is missing")
            return self.tensors[content] if kind == "tensor" else self.tensors[content].numpy()
        if kind == "value":
            return content
        if kind in ("list", "tuple") and isinstance(content, list):
            items = [self.value(v, depth + 1) for v in content]
            return items if kind == "list" else tuple(items)
        if kind == "dict" and isinstance(content, list) and all(isinstance(p, list) and len(p) == 2 for p in content):
            return {self.value(k, depth + 1): self.value(v, depth + 1) for k, v in content}
        if kind == "matrix":
            parts = self.value(content, depth + 1)
            if not isinstance(parts, list) or len(parts) != 4 or not isinstance(parts[3], list) or len(parts[3]) != 2:
                raise ValueError(f"{self.path}: a matrix is damaged")
            return SparseTensor(row=parts[0], col=parts[1], value=parts[2], sparse_sizes=(parts[3][0], parts[3][1]))
        raise ValueError(f"{self.path}: the description of the graph has an entry {kind!r}, which is not known")


def _describe(writer: _Writer, data: Any) -> dict[str, Any]:
    stores = []
    for store in data.stores:
        key = store._key
        prefix = "" if key is None else f"{'__'.join(key) if isinstance(key, tuple) else key}/"
        entries = [[name, writer.value(prefix + name, value)] for name, value in store.items()]
        hidden = {n: store.__dict__[n] for n in ("_num_nodes", "_node_type_names", "_edge_type_names") if n in store.__dict__}
        stores.append({"key": writer.value("", key), "entries": entries, "hidden": writer.value(f"{prefix}hidden", hidden)})
    return {"class": kind_of(type(data)), "stores": stores}


def kind_of(cls: type) -> str:
    """The class of this package that a class of graphs is or derives from."""
    for base in cls.__mro__:
        if base.__name__ in ("Data", "HeteroData", "TemporalData") and base.__module__.startswith(__name__.rpartition(".")[0] + "."):
            return base.__name__
    raise TypeError(f"{cls.__name__} is not a class of graphs")


def _classes() -> dict[str, type]:
    from .hetero_data import HeteroData
    from .temporal import TemporalData

    return {"Data": Data, "HeteroData": HeteroData, "TemporalData": TemporalData}


def _build(reader: _Reader, cls: type | None) -> Any:
    d = reader.description
    classes = _classes()
    try:
        base = classes[d["class"]]
        made = cls if cls is not None and issubclass(cls, base) else base
        out = made()
        for entry in d["stores"]:
            key = reader.value(entry["key"])
            store = out.stores[0] if key is None else out[key]
            for name, value in entry["entries"]:
                store[str(name)] = reader.value(value)
            for name, value in reader.value(entry["hidden"]).items():
                if name in ("_num_nodes", "_node_type_names", "_edge_type_names"):
                    store.__dict__[name] = value
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"{reader.path}: the description of the graph is damaged: {e}") from None
    return out


def save(data: BaseData, path: Any) -> None:
    """Writes a graph to a file."""
    writer = _Writer()
    writer.write(_describe(writer, data), path)


def load(path: Any, cls: type | None = None) -> Any:
    """Reads a graph; as an object of class `cls` if the file holds one of its kind."""
    return _build(_Reader(path), None if cls is BaseData else cls)


def save_collated(data: BaseData, slices: Any, path: Any, notes: dict[str, Any] | None = None) -> None:
    """Writes the joined graphs of a dataset, and notes: plain values and tensors by name."""
    writer = _Writer()
    description = _describe(writer, data)
    description["slices"] = writer.value("slices", _plain(slices))
    tensors = {k: v for k, v in (notes or {}).items() if isinstance(v, Tensor)}
    description["tensors"] = writer.value("notes", tensors)
    writer.write({**description, "notes": {k: v for k, v in (notes or {}).items() if k not in tensors}}, path)


def load_collated(path: Any, cls: type | None = None) -> tuple[Any, Any, dict[str, Any]]:
    """Joined graphs, their slices, and the notes that were written with them."""
    reader = _Reader(path)
    data = _build(reader, cls)
    slices = reader.value(reader.description.get("slices", {"value": None}))
    notes = reader.description.get("notes", {})
    tensors = reader.value(reader.description.get("tensors", {"dict": []}))
    return data, slices, {**(notes if isinstance(notes, dict) else {}), **(tensors if isinstance(tensors, dict) else {})}


def _plain(slices: Any) -> Any:
    """Slices as arrays, nested as they are."""
    if isinstance(slices, dict):
        return {k: _plain(v) for k, v in slices.items()}
    if isinstance(slices, (list, tuple)):
        return [_plain(v) for v in slices]
    return None if slices is None else np.asarray(slices.numpy() if isinstance(slices, Tensor) else slices, np.int64)


__all__ = ["load", "load_collated", "save", "save_collated"]
