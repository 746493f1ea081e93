"""AutogradGraph: a context of the C core, which owns tensors, plans, random state and the error text.

Every thread has a default graph; `with with_autograd_graph() as graph:` opens another one. Tensors belong to the graph in
which they were made, and keep it alive.
"""

from __future__ import annotations

import atexit
import contextlib
import glob
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

from ._ffi import ERRORS, C

_local = threading.local()
raised: list[BaseException] = []  # by a Python function that the core called: see custom.py
_alive: weakref.WeakSet[AutogradGraph] = weakref.WeakSet()
HOST = ("CPU", "INTERP")  # devices that work in the memory of this process
# Devices on which a tensor may be made on an array's own memory. TEST copies it at each use, to test that; a GPU would pay for that in each step.
BORROWING = (*HOST, "TEST")
default_device: str | None = None  # what Device.DEFAULT was set to
default_float: int | None = None  # the code of what dtypes.default_float was set to
tensor_class: Any = None  # polygrad.Tensor; set by tensor.py


@atexit.register
def _abandon() -> None:
    """While the interpreter takes itself down, freeing would call back into what is gone. The process ends: nothing is freed."""
    for graph in list(_alive):
        graph.ptr = 0


def find_cuda() -> None:
    """Tells the library where packages of Python have NVRTC and cuBLASLt: pip install nvidia-cuda-nvrtc, or those that PyTorch brings."""
    if "POLY_CUDA_PATH" in os.environ:
        return
    folders = [f for place in sys.path if place for f in sorted(glob.glob(os.path.join(place, "nvidia", "*", "lib")))]
    if folders:
        os.environ["POLY_CUDA_PATH"] = ":".join(folders)


def set_default_float(code: int) -> None:
    """What integers become in all graphs, where a result is floating point."""
    global default_float
    for graph in list(_alive):
        if graph.ptr:
            graph.check(C.poly_set_default_float(graph.ptr, code))
    default_float = code


class AutogradGraph:
    """Owner of tensors. `live_nodes`, `live_tensors` and `live_bytes` say what it holds.

    >>> from polygrad import Tensor, with_autograd_graph
    >>> with with_autograd_graph() as graph:
    ...     x = Tensor([1.0, 2.0], requires_grad=True)
    ...     _ = (x * x).sum().backward()
    ...     x.grad.tolist()
    [2.0, 4.0]
    """

    __slots__ = ("ptr", "hooks", "tracing", "made", "borrows", "changes", "sizes", "_training", "__weakref__")

    def __init__(self) -> None:
        if os.environ.get("POLY_DEVICE", "").upper().startswith("CUDA"):
            find_cuda()
        self.ptr: int = C.poly_context_new()
        if not self.ptr:
            raise MemoryError("no memory for a context")
        _alive.add(self)
        self.hooks: dict[int, Any] = {}  # of gradients: see Tensor.register_hook
        self.sizes: dict[int, Any] = {}  # what keeps symbolic sizes, by their codes: see symbolic.py
        self.tracing: list[Any] = []  # compiled steps being traced, innermost last
        self._training = C.poly_training(self.ptr)  # what the core knows, too: every module that is called asks for it
        self.changes = 0  # assignments to tensors that Python has asked for
        self.made: Any = tensor_class  # the class of tensors that are made out of nothing: see making()
        if default_device is not None:
            self.device = default_device
        if default_float is not None:
            C.poly_set_default_float(self.ptr, default_float)
        self.borrows: bool = self.device in BORROWING
        debug = os.environ.get("DEBUG")
        if debug and debug.isdigit():
            C.poly_set_debug(self.ptr, int(debug))

    def __del__(self, free: Any = C.poly_context_free) -> None:
        if getattr(self, "ptr", None):
            free(self.ptr)
            self.ptr = 0

    # What belongs to a graph goes on belonging to it when it is copied; what comes out of a file belongs to the graph of the reader.

    def __copy__(self) -> AutogradGraph:
        return self

    def __deepcopy__(self, memo: Any) -> AutogradGraph:
        return self

    def __reduce__(self) -> Any:
        return current, ()

    def fail(self) -> NoReturn:
        """Raises the error that the C core has reported."""
        code, text = C.poly_error_code(self.ptr), C.poly_error_text(self.ptr)
        C.poly_clear_error(self.ptr)
        if raised:
            error = raised[0]
            raised.clear()
            raise error
        raise ERRORS.get(code, RuntimeError)((text or b"unknown error").decode(errors="replace"))

    def check(self, status: int) -> None:
        """Raises if status is not POLY_OK."""
        if status:
            self.fail()

    def draw_seed(self) -> int:
        """A seed for random numbers that are not drawn by tensors, out of the generator that Tensor.manual_seed sets."""
        if self.tracing:
            raise RuntimeError("numbers are drawn at random inside a compiled step, outside of its kernels: every run would use the same ones")
        return C.poly_draw_seed(self.ptr)

    @property
    def device(self) -> str:
        return C.poly_device(self.ptr).decode()

    @device.setter
    def device(self, name: str) -> None:
        if name.upper().startswith("CUDA"):
            find_cuda()
        self.check(C.poly_set_device(self.ptr, name.upper().encode()))
        self.borrows = self.device in BORROWING

    @property
    def training(self) -> bool:
        return self._training

    @training.setter
    def training(self, on: bool) -> None:
        on = bool(on)
        C.poly_set_training(self.ptr, on)
        self._training = on

    @property
    def no_grad(self) -> bool:
        return C.poly_no_grad(self.ptr)

    @no_grad.setter
    def no_grad(self, on: bool) -> None:
        C.poly_set_no_grad(self.ptr, bool(on))

    @property
    def live_nodes(self) -> int:
        """UOp nodes alive."""
        return C.poly_live_nodes(self.ptr)

    @property
    def live_tensors(self) -> int:
        """Tensor handles alive."""
        return C.poly_live_tensors(self.ptr)

    @property
    def live_bytes(self) -> int:
        """Bytes of tensor memory in use."""
        return C.poly_live_bytes(self.ptr)

    @property
    def peak_bytes(self) -> int:
        """The most bytes that were in use since the graph began or reset_peak was called."""
        return C.poly_peak_bytes(self.ptr)

    def live_bytes_on(self, device: str) -> int:
        """Bytes in use in the memory of one device. Devices that work in the same memory, such as CPU and INTERP, count together."""
        return self._bytes_on(C.poly_device_live_bytes, device)

    def peak_bytes_on(self, device: str) -> int:
        """The most bytes that were in use in the memory of one device."""
        return self._bytes_on(C.poly_device_peak_bytes, device)

    def held_bytes_on(self, device: str) -> int:
        """Bytes taken of a device's memory, those kept for later tensors included: what nvidia-smi shows besides the driver's own."""
        return self._bytes_on(C.poly_device_held_bytes, device)

    def read_bytes_of(self, device: str) -> int:
        """Bytes that were copied from the memory of one device to the host's."""
        return self._bytes_on(C.poly_device_read_bytes, device)

    def trim(self, device: str) -> None:
        """Gives back what a device keeps for later tensors."""
        C.poly_device_trim(self.ptr, device.encode())
        if C.poly_error_code(self.ptr):
            self.fail()

    def synchronize(self) -> None:
        """Waits until everything that was started on the device has ended."""
        self.check(C.poly_synchronize(self.ptr))

    def card(self, device: str) -> str:
        """What the hardware of a device calls itself."""
        if device.upper().startswith("CUDA"):
            find_cuda()
        name = C.poly_device_card(self.ptr, device.encode())
        if name is None:
            self.fail()
        return name.decode()

    def _bytes_on(self, count: Any, device: str) -> int:
        n: int = count(self.ptr, device.encode())
        if C.poly_error_code(self.ptr):
            self.fail()
        return n

    def reset_peak(self) -> None:
        """Makes peak_bytes start again."""
        C.poly_reset_peak(self.ptr)

    @property
    def compilations(self) -> int:
        """Kernels compiled so far."""
        return C.poly_compilations(self.ptr)

    @property
    def plans_built(self) -> int:
        return C.poly_plans_built(self.ptr)

    @property
    def plans_reused(self) -> int:
        return C.poly_plans_reused(self.ptr)

    @property
    def steps_recalled(self) -> int:
        """Training steps that ran the plan of an earlier one without being built."""
        return C.poly_steps_recalled(self.ptr)

    def check_cycles(self) -> bool:
        """Has the graph a cycle? Never: a node is made from nodes that are there already, and is never changed.

        >>> from polygrad import Tensor, with_autograd_graph
        >>> with with_autograd_graph() as graph:
        ...     y = Tensor([1.0]) * 2
        ...     graph.check_cycles()
        False
        """
        return bool(C.poly_check_cycles(self.ptr))

    def __repr__(self) -> str:
        return f"<AutogradGraph on {self.device}: {self.live_tensors} tensors, {self.live_nodes} nodes, {self.live_bytes} bytes>"


def current() -> AutogradGraph:
    """The graph that new tensors of this thread belong to."""
    try:
        return _local.graph
    except AttributeError:
        _local.graph = AutogradGraph()
        return _local.graph


@contextlib.contextmanager
def with_autograd_graph(graph: AutogradGraph | None = None) -> Iterator[AutogradGraph]:
    """Tensors made inside belong to a graph of their own, which is freed with the last of them.

    >>> from polygrad import Tensor, with_autograd_graph
    >>> with with_autograd_graph() as graph:
    ...     y = Tensor([1, 2, 3]) + 1
    ...     graph.live_tensors
    1
    """
    outer = current()
    _local.graph = graph or AutogradGraph()
    try:
        yield _local.graph
    finally:
        _local.graph = outer


class making(contextlib.ContextDecorator):
    """Tensors that are made out of nothing inside, by whatever part of the library, are of class `kind`. What is computed from tensors has
    their class without it."""

    __slots__ = ("kind", "_outer")

    def __init__(self, kind: Any):
        self.kind = kind

    def __enter__(self) -> None:
        g = current()
        self._outer = (g, g.made)
        g.made = self.kind

    def __exit__(self, *exc: Any) -> None:
        g, kind = self._outer
        g.made = kind
