"""tinygrad's place of symbolic variables: polygrad.uop.symbolic.Variable."""

from . import symbolic

__all__ = ["symbolic"]
