"""tinygrad's place of symbolic variables (polygrad.uop.symbolic.Variable) and of the UOps that custom kernels are written in (polygrad.uop.ops)."""

from . import ops, symbolic
from .ops import UOp

__all__ = ["UOp", "ops", "symbolic"]
