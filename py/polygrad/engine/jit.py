"""TinyJit under tinygrad's name of its module."""

from ..jit import TinyJit

__all__ = ["TinyJit"]
