"""The one table of tolerances. Every operation of the reference adds what it may be off by; a comparison allows SLACK times the sum.

A result v of a dtype with unit roundoff u may be off by `roundings * u * |v| + tiny` on top of what the errors of its operands amount to
(reference.py carries these through each operation as intervals). A sum of n values may be off by (n - 1) * u times the sum of their sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Unit(NamedTuple):
    u: float  # unit roundoff: half the distance from 1 to the next number
    tiny: float  # smallest normal number: below it, results may be flushed to zero
    largest: float


FLOATS = {
    "float64": Unit(2.0**-53, 2.0**-1022, float(np.finfo(np.float64).max)),
    "float32": Unit(2.0**-24, 2.0**-126, float(np.finfo(np.float32).max)),
    "float16": Unit(2.0**-11, 2.0**-14, 65504.0),
    "bfloat16": Unit(2.0**-8, 2.0**-126, 3.3895313892515355e38),
}

ROUNDINGS = {
    "exact": 0,  # movement, selection, comparison
    "arithmetic": 1,  # + - * / sqrt: correctly rounded
    "function": 4,  # exp, log, sin and their like: within 2 units in the last place
}

# A program may be computed in another order than the reference's, by other formulas of the same value, and the reference rounds as well.
SLACK = 16.0
