"""tinygrad's place of TinyJit (polygrad.engine.jit.TinyJit) and of schedules (polygrad.engine.realize)."""

from . import jit, realize

__all__ = ["jit", "realize"]
