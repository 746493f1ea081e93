"""tinygrad's place of TinyJit: polygrad.engine.jit.TinyJit."""

from . import jit

__all__ = ["jit"]
