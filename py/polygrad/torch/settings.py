"""Switches and wrappers that scripts set: default dtypes, threads, deterministic algorithms, torch.compile, autocast, torch.jit."""

from __future__ import annotations

import contextlib
import math
import types
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from .._core import C
from ..autograd import current
from ..dtypes import dtypes, to_dtype
from ..precision import GradScaler, autocast, is_autocast_enabled
from .types import named


def set_default_dtype(d: Any) -> None:
    """The dtype of floats that are made without one."""
    dtypes.default_float = to_dtype(d)


def get_default_dtype() -> Any:
    """The dtype of floats that are made without one."""
    return named(dtypes.default_float)


def set_default_tensor_type(t: Any) -> None:
    """set_default_dtype by the name of a class, such as torch.DoubleTensor."""
    name = t if isinstance(t, str) else getattr(t, "__name__", str(t))
    kinds = {"FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16, "BFloat16Tensor": dtypes.bfloat16}
    set_default_dtype(kinds[name.rpartition(".")[2]])


def set_default_device(device: Any) -> None:
    """Accepted where it is the device that tensors are computed on; another is an error."""
    from .functions import zeros

    zeros(1).to(str(device))


def get_default_device() -> Any:
    """The device that tensors are computed on."""
    from .functions import zeros

    return zeros(1).device


def set_num_threads(n: int) -> None:
    """How many threads compute."""
    C.poly_set_threads(current().ptr, int(n))


def get_num_threads() -> int:
    """How many threads compute."""
    return int(C.poly_threads(current().ptr))


set_num_interop_threads = set_num_threads
get_num_interop_threads = get_num_threads


PRINT: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}  # how tensors are printed
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors are printed."""
    if profile is not None:
        PRINT.update(_PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    PRINT.update({k: v for k, v in given.items() if v is not None})
    PRINT["sci_mode"] = sci_mode


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted: sums have one order in any case."""


def are_deterministic_algorithms_enabled() -> bool:
    """Yes."""
    return True


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted: products are in float32."""


def get_float32_matmul_precision() -> str:
    """Products are in float32."""
    return "highest"


def set_flush_denormal(mode: bool) -> bool:
    """Not supported, as the result says."""
    return False


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """No: the same program gives the same numbers in any case."""
    return False


def set_warn_always(on: bool) -> None:
    """Accepted."""


def compile(model: Any = None, **options: Any) -> Any:  # noqa: A001
    """The model itself: everything is compiled in any case. Also a decorator with options."""
    return model if model is not None else lambda function: function


def is_inference_mode_enabled() -> bool:
    """Is nothing recorded for gradients?"""
    return bool(current().no_grad)


@contextlib.contextmanager
def fork_rng(*args: Any, **kwargs: Any) -> Iterator[None]:
    """Numbers that are drawn inside do not change those that are drawn afterwards."""
    g = current()
    after = C.poly_draw_seed(g.ptr)
    try:
        yield
    finally:
        C.poly_manual_seed(g.ptr, after)


def get_rng_state() -> Any:
    """Where the source of random numbers is; drawing starts anew from there, so that set_rng_state(get_rng_state()) repeats what follows."""
    from .functions import tensor

    seed = C.poly_draw_seed(current().ptr)
    C.poly_manual_seed(current().ptr, seed)
    return tensor(np.frombuffer(np.uint64(seed).tobytes(), np.uint8).copy())


def set_rng_state(new_state: Any) -> None:
    """Goes back to what get_rng_state gave."""
    C.poly_manual_seed(current().ptr, int(np.frombuffer(new_state.numpy().tobytes(), np.uint64)[0]))


def _no(*args: Any) -> bool:
    """No."""
    return False


def _as_it_is(obj: Any = None, *args: Any, **kwargs: Any) -> Any:
    """What it is given: everything is compiled in any case."""
    return obj if obj is not None else lambda function: function


def _module(name: str, text: str, **members: Any) -> types.ModuleType:
    module = types.ModuleType(f"polygrad.torch.{name}", text)
    module.__dict__.update(members, __all__=sorted(members))
    return module


def _stored(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        from . import serialization

        if name == "load":
            kwargs.setdefault("weights_only", False)
        return getattr(serialization, name)(*args, **kwargs)

    call.__name__ = name
    return call


def _home() -> str:
    import os

    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")))


jit = _module(
    "jit", "torch.jit: functions and modules as they are.", script=_as_it_is, export=_as_it_is, ignore=_as_it_is, unused=_as_it_is,
    _overload=_as_it_is, is_scripting=_no, is_tracing=_no,
    ScriptModule=type("ScriptModule", (), {"__doc__": "No module is one."}),
    trace=lambda func, example_inputs=None, **kwargs: func, freeze=_as_it_is, optimize_for_inference=_as_it_is,
    annotate=lambda the_type, the_value: the_value, isinstance=isinstance, save=_stored("save"), load=_stored("load"), Final=Final,
)  # fmt: skip


def is_autocast_available(device_type: str) -> bool:
    """Products can be taken in lower precision on every device."""
    return True


def _in_full(fwd: Any = None, *, device_type: Any = None, cast_inputs: Any = None) -> Any:
    """custom_fwd and custom_bwd: the function itself. autocast is about products, and a function that is called in it keeps its dtypes."""
    return fwd if fwd is not None else lambda function: function


amp = _module(
    "amp", "torch.amp: products in lower precision, scaled losses.", autocast=autocast, GradScaler=GradScaler, custom_fwd=_in_full,
    custom_bwd=_in_full,    is_autocast_available=is_autocast_available,
)  # fmt: skip


def _drawing(name: str) -> Any:
    def call(*args: Any) -> Any:
        from . import functions

        return getattr(functions, name)(*args)

    call.__name__ = name
    return call


random = _module(
    "random", "torch.random.", manual_seed=_drawing("manual_seed"), seed=_drawing("seed"), initial_seed=_drawing("initial_seed"),
    fork_rng=fork_rng, get_rng_state=get_rng_state, set_rng_state=set_rng_state
)  # fmt: skip
compiler = _module("compiler", "torch.compiler.", disable=_as_it_is, is_compiling=_no, reset=lambda: None)


class Tracer:
    """torch.fx.Tracer: there is no graph of a module's calls to be changed, so a trace is the module."""

    def is_leaf_module(self, module: Any, qualname: str = "") -> bool:
        """Is it a layer of torch.nn, which is not looked into?"""
        return type(module).__module__.startswith("polygrad.torch.nn")

    def trace(self, root: Any, concrete_args: Any = None) -> Any:
        """The module itself."""
        return root


fx = _module(
    "fx", "torch.fx: functions and modules as they are.", wrap=_as_it_is, symbolic_trace=lambda root, concrete_args=None: root, Tracer=Tracer,
    GraphModule=lambda root, graph=None, class_name="GraphModule": root,
)  # fmt: skip
hub = _module("hub", "torch.hub: where downloaded files are kept.", get_dir=lambda: _home() + "/hub", _get_torch_home=_home)


def _only(name: str, hint: str, **members: Any) -> types.ModuleType:
    """A module of which scripts ask whether it is used: it is not, and its other names say what to do instead."""
    module = _module(name, f"torch.{name}: not used. {hint[0].upper() + hint[1:]}.", **members)

    def missing(attribute: str) -> Any:
        raise AttributeError(f"torch.{name}.{attribute} is not here: {hint}")

    module.__getattr__ = missing  # type: ignore[method-assign]
    return module


onnx = _only("onnx", "save the state dict", is_in_onnx_export=_no)
xpu = _only("xpu", "tensors are computed on the CPU or with CUDA", is_available=_no, device_count=lambda: 0)
_dynamo = _only(
    "_dynamo", "everything is compiled in any case", reset=lambda: None, is_compiling=_no, disable=_as_it_is, optimize=lambda *a, **k: _as_it_is,
    config=types.SimpleNamespace(suppress_errors=False, cache_size_limit=8, verbose=False),  # read by nothing
)  # fmt: skip
version = _module("version", "torch.version: no CUDA of PyTorch's own.", cuda=None, hip=None)
MODULES = ("_dynamo", "amp", "compiler", "fx", "hub", "jit", "onnx", "random", "version", "xpu")

__all__ = [
    "GradScaler", "are_deterministic_algorithms_enabled", "autocast", "compile", "get_default_device", "get_default_dtype",
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "get_rng_state", "is_autocast_available",
    "is_autocast_enabled", "is_deterministic_algorithms_warn_only_enabled", "is_inference_mode_enabled",
    "set_default_device", "set_default_dtype", "set_default_tensor_type", "set_float32_matmul_precision", "set_flush_denormal",
    "set_num_interop_threads", "set_num_threads", "set_printoptions", "set_rng_state", "set_warn_always", "use_deterministic_algorithms",
]  # fmt: skip
