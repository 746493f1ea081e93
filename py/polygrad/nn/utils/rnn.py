"""Sequences of several lengths: see polygrad.nn.packed."""

from ..packed import *  # noqa: F403
from ..packed import __all__  # noqa: F401
