"""PyTorch's names and meanings over Polygrad's compiler: `import polygrad.torch as torch`.

>>> import polygrad.torch as torch
>>> x = torch.tensor([[1.0, 5.0], [7.0, 2.0]], requires_grad=True)
>>> x.max(dim=1).indices.tolist(), torch.tensor([1, 2]).dtype == torch.long
([1, 0], True)
>>> loss = (x * x).mean(); loss.backward()
>>> f"{loss:.2f}", x.grad.tolist()
('19.75', [[0.5, 2.5], [3.5, 1.0]])

Its Tensor is a subclass of polygrad.Tensor, and what is computed from it is of its class, through every layer, loader and transform. No PyTorch is
needed. docs/porting.md tells how a script moves over, and what is different.
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from .. import __version__ as __version__
from ..dtypes import DType as dtype
from ..dtypes import dtypes as _dtypes
from . import autograd, backends, cuda, functions
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .functions import *  # noqa: F403
from .functions import __all__ as _functions
from .info import finfo, iinfo
from .methods import *  # noqa: F403
from .methods import __all__ as _methods
from .serialization import load, save
from .tensor import Tensor
from .types import Size, device

if TYPE_CHECKING:
    from . import nn, optim, utils

bool = _dtypes.bool  # noqa: A001
int8, uint8, int16, int32, int64 = _dtypes.int8, _dtypes.uint8, _dtypes.int16, _dtypes.int32, _dtypes.int64
uint16, uint32, uint64 = _dtypes.uint16, _dtypes.uint32, _dtypes.uint64
float16, bfloat16, float32, float64 = _dtypes.float16, _dtypes.bfloat16, _dtypes.float32, _dtypes.float64
short, int, long, half, float, double = int16, int32, int64, float16, float32, float64  # noqa: A001
strided = "torch.strided"
preserve_format = contiguous_format = channels_last = None

__all__ = [
    "Size", "Tensor", "autograd", "backends", "bfloat16", "bool", "cuda", "device", "double", "dtype", "e",
    "enable_grad", "finfo", "float", "float16",
    "float32", "float64", "half", "iinfo", "inf", "inference_mode", "int", "int16", "int32", "int64", "int8", "is_grad_enabled",
    "load", "long", "nan",
    "nn", "no_grad", "optim", "pi", "save", "set_grad_enabled", "short", "uint8", "utils", *_functions, *_methods,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Loads the larger parts when they are first used."""
    if name in ("nn", "optim", "utils"):
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
