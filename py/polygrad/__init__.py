"""Polygrad: tinygrad's Tensor over a deep-learning compiler in C.

>>> from polygrad import Tensor
>>> (Tensor([1.0, 2.0]) * 2).sum().item()
6.0
"""

from __future__ import annotations

from ._ffi import C, library_path
from ._meaning import MeaningWarning, SlowWarning
from .autograd import AutogradGraph, with_autograd_graph
from .context import Context
from .device import Device
from .dtypes import DType, dtypes
from .function import function  # here, so that the function and not its module has the name
from .jit import TinyJit
from .profile import Profile
from .symbolic import Dim, Variable
from .tensor import Tensor, explain

__version__ = C.poly_version().decode()

__all__ = [
    "AutogradGraph", "Context", "DType", "Device", "Dim", "Function", "Graph", "HeteroGraph", "MeaningWarning", "Profile", "SlowWarning", "Tensor",
    "TinyJit", "Variable", "dtypes", "explain", "function", "library_path", "nn", "scan", "viz", "with_autograd_graph",
]  # fmt: skip


_LAZY = {
    "nn": "nn", "vertex": "vertex", "geometric": "geometric", "uop": "uop", "Graph": "graphs", "HeteroGraph": "graphs", "viz": "picture",
    "Function": "custom", "scan": "loops", "helpers": "helpers", "GlobalCounters": "helpers", "getenv": "helpers",
    "fetch": "helpers", "UOp": "uop",
}  # fmt: skip


def __getattr__(name: str) -> object:
    """Loads the larger parts when they are first used."""
    if name in _LAZY:
        import importlib

        module = importlib.import_module("." + _LAZY[name], __name__)
        return module if name == _LAZY[name] else getattr(module, name)
    raise AttributeError(f"module 'polygrad' has no attribute {name!r}")
