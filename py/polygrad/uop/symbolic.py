"""Symbolic sizes under tinygrad's name of their module."""

from ..symbolic import Dim, Variable, sym_infer

__all__ = ["Dim", "Variable", "sym_infer"]
