"""Profile: what ran, how long, and what was stored."""

from __future__ import annotations

from typing import Any, NamedTuple

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


def _address(s: Any) -> Any:
    import ctypes

    return ctypes.addressof(s)
