"""Symbolic sizes under tinygrad's name of their module."""

from ..symbolic import Dim, Variable

__all__ = ["Dim", "Variable"]
