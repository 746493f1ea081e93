"""torch.backends: the switches that scripts ask about. Kernels are compiled for the machine: there is nothing to switch."""

from __future__ import annotations

from typing import Any


class _Backend:
    """A backend of PyTorch's that is not there: it accepts settings, which have no effect."""

    deterministic, benchmark, enabled, allow_tf32 = True, False, False, False

    def is_available(self) -> bool:
        """No."""
        return False

    def is_built(self) -> bool:
        """No."""
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _Backend()


cudnn, cuda, mps, mkl, mkldnn, openmp = (_Backend() for _ in range(6))

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
