"""Devices: `Device.DEFAULT` names the one that kernels run on."""

from __future__ import annotations

from typing import Any, ClassVar

from . import autograd as _graph
from ._ffi import describe
from .autograd import HOST, AutogradGraph, current
from .dtypes import BY_CODE, DType


class DeviceName(str):
    """What Device["CPU"] gives: the name, with what tinygrad's tests and scripts ask of a device."""

    __slots__ = ()
    graph = None
    # of a renderer: what tinygrad's kernels could use there, which is left to the compiler here
    has_local = has_shared = has_threads = has_aux = supports_float4 = False
    tensor_cores: ClassVar[list[object]] = []

    @property
    def renderer(self) -> DeviceName:
        """The device itself: see supported_dtypes."""
        return self

    def supported_dtypes(self) -> tuple[DType, ...]:
        """All dtypes: those that a device lacks are computed in a wider one."""
        return tuple(BY_CODE)

    def synchronize(self) -> None:
        """Nothing to wait for: what is read is waited for when it is read."""


def is_dtype_supported(dtype: DType, device: str | None = None) -> bool:
    """Every dtype is computed on every device."""
    return True


class _Device:
    """`Device.DEFAULT` is the device of the current graph; setting it also sets that of graphs made later.

    >>> from polygrad import Device
    >>> Device.DEFAULT in ("CPU", "INTERP")
    True
    """

    @property
    def DEFAULT(self) -> str:
        return current().device

    @DEFAULT.setter
    def DEFAULT(self, name: str) -> None:
        current().device = name
        _graph.default_device = name.upper()

    @staticmethod
    def canonicalize(name: str | None) -> str:
        """Upper case, with the number unless that is 0: "cpu:0" is "CPU", "cuda:1" is "CUDA:1"."""
        if name is None:
            return current().device
        if name[:5].upper() == "DISK:":  # a file, see files.py
            return "DISK:" + name[5:]
        kind, _, number = name.upper().partition(":")
        return f"{kind}:{int(number)}" if number.isdigit() and int(number) else kind

    @property
    def default(self) -> DeviceName:
        """The device that DEFAULT names."""
        return DeviceName(current().device)

    def get_available_devices(self) -> list[str]:
        """The names of devices that compute here."""
        return [*HOST, *([self.DEFAULT] if is_gpu(self.DEFAULT) else [])]

    def __getitem__(self, name: str) -> DeviceName:
        return DeviceName(computing(name))


GPUS = ("CUDA", "OPENCL")
Device = _Device()


def check_device(g: AutogradGraph, name: Any) -> None:
    """A graph computes on one device; of several names each is checked. Naming a GPU moves it there, and then the host may be named too: what is
    read is read there anyway. Naming any other device is an error, but for the two that share the host's memory."""
    if isinstance(name, (tuple, list)):
        for one in name:
            check_device(g, one)
        return
    if not isinstance(name, str):
        raise TypeError(f"a device is named by a text such as 'CPU', not {describe(name)}")
    name = computing(name)
    now = g.device
    if name == now or (name in HOST and (now in HOST or is_gpu(now))):
        return
    try:
        g.device = name
    except ValueError as e:  # there is no such device; it says which there are
        raise RuntimeError(str(e)) from None
    if is_gpu(name):
        return
    g.device = now
    raise RuntimeError(f"this graph runs on {now}, not on {name}: set Device.DEFAULT = {name!r} before its tensors are made")


def computing(name: str | None) -> str:
    """The device that computes under a name: all numbers of the host are one."""
    name = Device.canonicalize(name)
    kind = name.partition(":")[0]
    return name if kind in GPUS or kind == "DISK" else kind


def is_gpu(name: str) -> bool:
    """Is this the name of a GPU?"""
    return name.partition(":")[0] in GPUS
