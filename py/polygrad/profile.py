"""Profile: what ran, how long, and what was stored; GlobalCounters: how much ran."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ._ffi import C, PolyKernelStat, PolyStoredStat
from .autograd import AutogradGraph, current
from .dtypes import BY_CODE, DType


class Kernel(NamedTuple):
    """A kernel of the profile: all its runs together."""

    name: str
    device: str
    count: int  # type: ignore[assignment]
    ms: float
    bytes: int
    flops: int


class Stored(NamedTuple):
    """A buffer that a plan allocated."""

    shape: tuple[int, ...]
    dtype: DType
    bytes: int
    why: str


class Profile:
    """Records every plan that runs inside.

    >>> from polygrad import Profile, Tensor
    >>> with Profile() as p:
    ...     _ = (Tensor([1.0, 2.0]) + 1).realize()
    >>> len(p.kernels)
    1
    """

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []
        self.stored: list[Stored] = []
        self.peak_bytes = 0
        self._g: AutogradGraph | None = None

    def __enter__(self) -> Profile:
        self._g = current()
        self._g.check(C.poly_profile_begin(self._g.ptr))
        return self

    def __exit__(self, *exc: Any) -> None:
        g = self._g
        assert g is not None
        g.check(C.poly_profile_end(g.ptr))
        self.kernels = [self._kernel(g, k) for k in range(C.poly_profile_kernels(g.ptr))]
        self.stored = [self._stored(g, k) for k in range(C.poly_profile_stored(g.ptr))]
        self.peak_bytes = C.poly_profile_peak_bytes(g.ptr)

    @staticmethod
    def _kernel(g: AutogradGraph, k: int) -> Kernel:
        s = PolyKernelStat()
        g.check(C.poly_profile_kernel(g.ptr, k, _address(s)))
        return Kernel(s.name.decode(), s.device.decode(), s.count, s.ms, s.bytes, s.flops)

    @staticmethod
    def _stored(g: AutogradGraph, k: int) -> Stored:
        s = PolyStoredStat()
        g.check(C.poly_profile_stored_at(g.ptr, k, _address(s)))
        return Stored(tuple(s.shape[: s.ndim]), BY_CODE[s.dtype], s.bytes, (s.why or b"").decode())

    def __str__(self) -> str:
        lines = [f"{'kernel':<40} {'device':<8} {'runs':>6} {'ms':>10} {'GB/s':>8} {'GFLOP/s':>9}"]
        for k in sorted(self.kernels, key=lambda k: -k.ms):
            seconds = k.ms * 1e-3 or float("inf")
            lines.append(
                f"{k.name[:40]:<40} {k.device:<8} {k.count:>6} {k.ms:>10.3f} {k.bytes / seconds / 1e9:>8.2f} {k.flops / seconds / 1e9:>9.2f}"
            )  # noqa: E501
        lines.append(f"total {sum(k.ms for k in self.kernels):.3f} ms, peak memory {self.peak_bytes:,} bytes")
        if self.stored:
            lines.append(f"{'stored':<24} {'dtype':<16} {'bytes':>14}  why")
            lines += [f"{s.shape!s:<24} {s.dtype!s:<16} {s.bytes:>14,}  {s.why}" for s in self.stored]
        return "\n".join(lines)


class _Counters:
    """tinygrad's GlobalCounters, of the current graph: what ran since the last reset.

    >>> from polygrad import GlobalCounters, Tensor
    >>> x = Tensor([1.0, 2.0, 3.0]).realize()
    >>> GlobalCounters.reset()
    >>> _ = (x + 1).realize()
    >>> GlobalCounters.kernel_count, GlobalCounters.global_mem
    (1, 24)
    """

    def __init__(self) -> None:
        self._before: WeakKeyDictionary[AutogradGraph, tuple[int, int, int, float]] = WeakKeyDictionary()

    def _now(self) -> tuple[int, int, int, float]:
        g, s = current(), PolyKernelStat()
        g.check(C.poly_counters(g.ptr, _address(s)))
        return s.count, s.flops, s.bytes, s.ms

    def _since(self, k: int) -> Any:
        return self._now()[k] - self._before.get(current(), (0, 0, 0, 0.0))[k]

    @property
    def kernel_count(self) -> int:
        """Kernels, matrix products and calls of library routines that ran."""
        return int(self._since(0))

    @property
    def global_ops(self) -> int:
        """Their operations."""
        return int(self._since(1))

    @property
    def global_mem(self) -> int:
        """Bytes that they read and wrote."""
        return int(self._since(2))

    @property
    def time_sum_s(self) -> float:
        """Seconds of those that were timed: in a Profile, or with DEBUG of 2."""
        return float(self._since(3)) * 1e-3

    @property
    def mem_used(self) -> int:
        """Bytes in use now."""
        return int(current().live_bytes)

    @property
    def mem_used_per_device(self) -> dict[str, int]:
        """Bytes in use now on the device of the graph."""
        g = current()
        return {g.device: int(g.live_bytes_on(g.device))}

    def reset(self) -> None:
        """Counts from here on. Memory in use is not changed by it."""
        self._before[current()] = self._now()


GlobalCounters = _Counters()


def _address(s: Any) -> Any:
    import ctypes

    return ctypes.addressof(s)
