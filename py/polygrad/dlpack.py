"""DLPack for memory of a GPU: tensors of PyTorch, CuPy and others on the same card become tensors here, and the other way round, without a copy."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ._core import wrap
from ._ffi import C, int64_array
from .autograd import AutogradGraph
from .dtypes import BY_CODE, DType

if TYPE_CHECKING:
    from .tensor import Tensor

CPU, CUDA = 1, 2  # kinds of devices
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}
_FLOATS = {"bfloat16": 4, "fp8e4m3": 10, "fp8e5m2": 12}


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

# The same for a capsule that is being freed: it must not be held as an object.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))

_NEW, _USED = b"dltensor", b"used_dltensor"  # capsules hold these addresses
_given: dict[int, Any] = {}  # what other libraries hold of ours
_taken: dict[int, Any] = {}  # what we hold of theirs
_count = 0


def number_of(device: str) -> int:
    """1 of "CUDA:1"."""
    return int(device.partition(":")[2] or 0)


def on_cuda(t: Tensor) -> bool:
    """Is the tensor computed on a GPU of CUDA?"""
    return t.device.partition(":")[0] == "CUDA"


def device_of(t: Tensor) -> tuple[int, int]:
    """Kind and number of the device, as DLPack has them."""
    return (CUDA, number_of(t.device)) if on_cuda(t) else (CPU, 0)


# ---- ours to others ----


@_Deleter
def _let_go(managed: int) -> None:
    _given.pop(managed, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _unused(capsule: int) -> None:
    """A capsule that nobody has taken goes with what it holds."""
    if _is_valid(capsule, _NEW):
        _let_go(_pointer_of(capsule, _NEW))


def give(t: Tensor) -> Any:
    """A capsule on the tensor's memory on the GPU."""
    address = C.poly_device_data(t._h)
    if address is None:
        t._g.fail()
    d, shape = t.dtype, tuple(int(s) for s in t.shape)
    dims = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    code = _FLOATS.get(d.name, _KINDS[d.kind])
    m = _Managed(_DLTensor(address, CUDA, number_of(t.device), len(shape), code, 8 * d.itemsize, 1, dims, None, 0), None, _let_go)
    at = ctypes.addressof(m)
    _given[at] = (m, dims, t)
    return _api.PyCapsule_New(at, _NEW, ctypes.cast(_unused, ctypes.c_void_p))


# ---- others' to us ----


@_Release
def _release(key: int | None) -> None:
    held = _taken.pop(key or 0, None)
    if held is not None and held.deleter:
        held.deleter(ctypes.addressof(held))


_ALIGNMENT = 16


def _dtype(t: _DLTensor) -> DType:
    for d in BY_CODE.values() if isinstance(BY_CODE, dict) else BY_CODE:
        if d.itemsize * 8 == t.bits and t.lanes == 1 and t.code == _FLOATS.get(d.name, _KINDS[d.kind]):
            return d
    raise TypeError(f"a DLPack tensor with elements of kind {t.code} and {t.bits} bits has no dtype here")


def _check_layout(t: _DLTensor, shape: tuple[int, ...]) -> None:
    step = 1
    for k in reversed(range(len(shape))):
        if t.strides and shape[k] > 1 and t.strides[k] != step:
            raise ValueError(f"a DLPack tensor of shape {shape} must be contiguous")
        step *= shape[k]
    if (int(t.data or 0) + t.byte_offset) % _ALIGNMENT:
        raise ValueError(f"a DLPack tensor on a GPU must begin at a multiple of {_ALIGNMENT} bytes, which kernels load at once: pass a copy of it")


def take(g: AutogradGraph, x: Any) -> Tensor:
    """A tensor on the memory of another library's tensor on the GPU that the graph runs on."""
    global _count
    number = int(x.__dlpack_device__()[1])
    here = g.device
    if here.partition(":")[0] != "CUDA" or number_of(here) != number:
        raise RuntimeError(f"a tensor on CUDA:{number} cannot be used in place by a graph on {here}: set Device.DEFAULT, or copy it to the host")
    capsule = x.__dlpack__()
    managed = _Managed.from_address(_api.PyCapsule_GetPointer(capsule, _NEW))
    t = managed.tensor
    shape = tuple(t.shape[k] for k in range(t.ndim))
    d = _dtype(t)
    _check_layout(t, shape)
    g.check(C.poly_synchronize(g.ptr))  # what the other library has started on its streams
    _api.PyCapsule_SetName(capsule, _USED)
    _count += 1
    _taken[_count] = managed
    h = C.poly_from_device(g.ptr, (t.data or 0) + t.byte_offset, d.code, t.ndim, int64_array(shape), _release, _count)
    if h is None:
        _release(_count)
    return wrap(g, h)


__all__ = ["CPU", "CUDA", "device_of", "give", "number_of", "on_cuda", "take"]
