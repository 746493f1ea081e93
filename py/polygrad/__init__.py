"""Polygrad: tinygrad's Tensor over a deep-learning compiler in C.

>>> from polygrad import Tensor
>>> (Tensor([1.0, 2.0]) * 2).sum().item()
6.0
"""

from __future__ import annotations

from ._ffi import C, library_path
from .context import Context
from .device import Device
from .dtypes import DType, dtypes
from .graph import Graph, with_autograd_graph
from .jit import TinyJit
from .profile import Profile
from .symbolic import Dim, Variable
from .tensor import Tensor, explain

__version__ = C.poly_version().decode()

__all__ = [
    "Context", "DType", "Device", "Dim", "Graph", "Profile", "Tensor", "TinyJit", "Variable", "dtypes", "explain",
    "library_path", "nn", "with_autograd_graph",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "nn":
        import importlib

        return importlib.import_module(".nn", __name__)
    raise AttributeError(f"module 'polygrad' has no attribute {name!r}")
