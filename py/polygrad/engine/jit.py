"""TinyJit under tinygrad's name of its module."""

from ..jit import JitError, TinyJit
from ..jit import Replay as CapturedJit

__all__ = ["CapturedJit", "JitError", "TinyJit"]
