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

import sys as _sys
from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from .. import __version__ as __version__
from . import autograd, backends, cuda, functions
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .functions import *  # noqa: F403
from .functions import __all__ as _functions
from .info import finfo, iinfo
from .methods import *  # noqa: F403
from .methods import __all__ as _methods
from .serialization import load, save
from .settings import *  # noqa: F403
from .settings import MODULES as _MODULES
from .settings import __all__ as _settings
from .settings import _dynamo, amp, compiler, fx, hub, jit, onnx, random, version, xpu
from .tensor import Tensor
from .types import Size, device, dtype
from .types import named as _named

if TYPE_CHECKING:
    from . import (
        distributed,
        distributions,
        func,
        linalg,
        multiprocessing,
        nested,
        nn,
        optim,
        profiler,
        return_types,
        sparse,
        special,
        testing,
        utils,
    )
    from .func import vmap

bool = _named("bool")  # noqa: A001
int8, uint8, int16, int32, int64 = (_named(_n) for _n in ("int8", "uint8", "int16", "int32", "int64"))
uint16, uint32, uint64 = (_named(_n) for _n in ("uint16", "uint32", "uint64"))
float8_e4m3fn, float8_e5m2 = _named("fp8e4m3"), _named("fp8e5m2")
float16, bfloat16, float32, float64 = (_named(_n) for _n in ("float16", "bfloat16", "float32", "float64"))
short, int, long, half, float, double = int16, int32, int64, float16, float32, float64  # noqa: A001
strided, sparse_coo, sparse_csr, sparse_csc = "torch.strided", "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc"
layout, memory_format = str, type(None)  # what the names above and below are instances of
preserve_format = contiguous_format = channels_last = channels_last_3d = None
newaxis = None
uint = uint32
# Functions of torch.nn.functional that torch has as well.
_FUNCTIONAL = frozenset(
    "adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout avg_pool1d batch_norm bilinear binary_cross_entropy_with_logits celu_ channel_shuffle"
    " conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss ctc_loss dropout embedding_bag"
    " feature_alpha_dropout group_norm hinge_embedding_loss instance_norm kl_div layer_norm margin_ranking_loss max_pool1d max_pool2d max_pool3d"
    " pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss rms_norm rrelu threshold triplet_margin_loss".split()
)
# Functions of torch.linalg that torch has as well, some by another name.
_LINALG = {
    "inverse": "inv", "pinverse": "pinv",
    **{_n: _n for _n in "cholesky_inverse cholesky_solve det logdet lu_unpack matrix_exp slogdet".split()},
}  # fmt: skip
_SPARSE = frozenset(("sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor"))
_LEFT_OUT = {
    "fft": "there are no complex numbers", "complex": "there are no complex numbers", "complex64": "there are no complex numbers",
    "view_as_complex": "there are no complex numbers", "quantization": "there are no quantised tensors",
}  # fmt: skip

__all__ = [
    "Size", "Tensor", "autograd", "backends", "bfloat16", "bool", "cuda", "device", "double", "dtype", "e",
    "enable_grad", "finfo", "float", "float16", "float8_e4m3fn", "float8_e5m2",
    "float32", "float64", "half", "iinfo", "inf", "inference_mode", "int", "int16", "int32", "int64", "int8", "is_grad_enabled",
    "load", "long", "nan",
    "nn", "no_grad", "optim", "pi", "save", "set_grad_enabled", "short", "uint8", "utils", *_functions, *_methods, *_settings, *_SPARSE,
    "distributed", "distributions", "func", "linalg", "multiprocessing", "nested", "profiler", "return_types", "sparse", "special", "testing", "vmap",
]  # fmt: skip

_PARTS = frozenset("distributed distributions func linalg multiprocessing nested nn optim profiler return_types sparse special testing utils".split())

for _module in _MODULES:  # so that `from polygrad.torch.jit import script` works
    _sys.modules[f"{__name__}.{_module}"] = globals()[_module]
_sys.modules[f"{__name__}._tensor"] = _sys.modules[Tensor.__module__]


def __getattr__(name: str) -> Any:
    """Loads the larger parts when they are first used."""
    import importlib

    if name in _PARTS:
        return importlib.import_module("." + name, __name__)
    if name in _FUNCTIONAL:
        return getattr(importlib.import_module(".nn.functional", __name__), name)
    if name in _LINALG:
        return getattr(importlib.import_module(".linalg", __name__), _LINALG[name])
    if name in ("svd_lowrank", "pca_lowrank"):
        return getattr(importlib.import_module(".linalg", __name__), name)
    if name in ("cholesky", "lu_solve", "triangular_solve"):
        return getattr(importlib.import_module(".linalg", __name__), f"old_{name}")
    if name in _SPARSE:
        return getattr(importlib.import_module(".sparse", __name__), name)
    if name in ("poisson", "binomial"):
        return getattr(importlib.import_module(".distributions.discrete", __name__), name)
    if name == "vmap":
        return importlib.import_module(".func", __name__).vmap
    if name == "spmm":
        return importlib.import_module(".sparse", __name__).mm
    if name == "torch":  # a module has itself as an attribute in PyTorch
        return _sys.modules[__name__]
    if name in _LEFT_OUT:
        raise AttributeError(f"torch.{name} is not here: {_LEFT_OUT[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
