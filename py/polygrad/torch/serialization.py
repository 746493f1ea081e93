"""torch.save and torch.load.

What is saved is a pickle of the objects with their tensors as arrays; loading builds tensors and plain values alone, unless weights_only=False. Files
that PyTorch wrote are read as well, without executing anything in them.
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import contextlib
import os
import pickle
from typing import Any, BinaryIO

from ..autograd import making
from .tensor import Tensor

_MAGIC = b"polygrad.torch 1\n"
# What a file of tensors and plain values may name.
_ALLOWED = {
    ("polygrad.torch.tensor", "_rebuild"), ("polygrad.torch.tensor", "Tensor"), ("polygrad.torch.tensor", "Parameter"),
    ("polygrad.tensor", "_rebuild"), ("polygrad.nn.optim.base", "OptimizerState"),
    ("polygrad.dtypes", "to_dtype"), ("polygrad.torch.types", "Size"), ("polygrad.torch.types", "device"), ("collections", "OrderedDict"),
    ("collections", "defaultdict"), ("numpy", "dtype"), ("numpy", "ndarray"), ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "scalar"), ("numpy.core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"), ("numpy.core.numeric", "_frombuffer"), ("builtins", "set"),
    ("builtins", "complex"), ("builtins", "slice"), ("polygrad.torch.sparse", "SparseMatrix"),
    ("polygrad.geometric.edge_index", "_again"), ("polygrad.torch_geometric._edge_index", "EdgeIndex"),
    ("polygrad.torch_geometric._edge_index", "Index"), ("polygrad.geometric.data.batch", "_rebuild"), ("polygrad.geometric.data.data", "Data"),
    ("polygrad.geometric.data.hetero_data", "HeteroData"), ("polygrad.geometric.data.temporal", "TemporalData"),
    *(("polygrad.geometric.data.storage", _name) for _name in ("BaseStorage", "EdgeStorage", "GlobalStorage", "NodeStorage")),
}  # fmt: skip


def add_safe_globals(safe_globals: Any) -> None:
    """Classes and functions that a file which is loaded with weights_only may name."""
    for x in safe_globals:
        x = x[0] if isinstance(x, tuple) else x
        _ALLOWED.add((x.__module__, x.__qualname__))


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not a tensor or a plain value: load it with weights_only=False if you trust the file")
        return super().find_class(module, name)


@contextlib.contextmanager
def _opened(f: Any, mode: str) -> Any:
    if hasattr(f, "read") or hasattr(f, "write"):
        yield f
    else:
        with open(os.fspath(f), mode) as opened:
            yield opened


def save(obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 4, **others: Any) -> None:
    """Writes an object with tensors in it: a state dict, a checkpoint, a graph. f: a path or an open binary file.

    >>> import os, tempfile
    >>> import polygrad.torch as torch
    >>> path = os.path.join(tempfile.mkdtemp(), "w.pt")
    >>> torch.save({"w": torch.tensor([1, 2])}, path)
    >>> torch.load(path)["w"].tolist()
    [1, 2]
    """
    with _opened(f, "wb") as out:
        out.write(_MAGIC)
        pickle.dump(obj, out, protocol=pickle_protocol)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = True, **others: Any) -> Any:
    """What save wrote, or a state dict or checkpoint that PyTorch wrote. weights_only=False builds any object that is named in a file of save: for
    files that you trust."""
    with making(Tensor), _opened(f, "rb") as source:
        start = source.tell()
        if source.read(len(_MAGIC)) == _MAGIC:
            return (_Plain(source) if weights_only else pickle.Unpickler(source)).load()
        source.seek(start)
        return _foreign(source)


def _foreign(source: BinaryIO) -> Any:
    from ..nn.state import torch_load

    return torch_load(source)


__all__ = ["add_safe_globals", "load", "save"]
