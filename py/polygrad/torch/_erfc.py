"""erfc(x) = 1 - erf(x), also where that difference has no digits left."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtypes

# (1 + 2 x) exp(x^2) erfc(x) for x >= 0 as Chebyshev polynomials of t = (x - 3.75) / (x + 3.75): within 3e-15 of it. Interpolated at the zeros of the
# 22nd polynomial.
_SERIES = [
    1.1775789345674015, -0.0045900545806467413, -0.084249133366518056, 0.059209939998191734, -0.02665866843530592, 0.0090749976707053207,
    -0.0024131635404177616, 0.00049077583652564979, -6.9169733025088479e-05, 4.1390279859366387e-06, 7.7403830662442481e-07, -2.188640106293094e-07,
    1.0764999379511491e-08, 4.5219596733017311e-09, -7.754400580166578e-10, -6.3180908312194949e-11, 2.8687893206812044e-11, 1.945421923733887e-13,
    -9.6533716075581433e-13, 3.2384993857127401e-14, 3.3603151240289554e-14, -1.9655798393831209e-15,

]  # fmt: skip


def erfc(x: Any) -> Any:
    """The value is that of the series where x > 0.5, the derivative that of 1 - erf."""
    rough = 1 - x.erf()
    if x.dtype.kind != "f":
        return rough
    at = x.detach().cast(dtypes.float64).clamp(0.5, 30.0)  # beyond 30 it is 0
    exact = _tail(at).cast(x.dtype)
    return rough + (x.detach() > 0.5).where(exact - rough.detach(), 0.0)


def _tail(x: Any) -> Any:
    twice = 2 * (x - 3.75) / (x + 3.75)
    before: Any = 0.0
    last: Any = 0.0
    for c in reversed(_SERIES[1:]):  # Clenshaw's recurrence
        before, last = last, twice * last - before + c
    series = 0.5 * twice * last - before + _SERIES[0]
    near = x.cast(dtypes.float32).cast(dtypes.float64)  # its square is exact, or x^2 would cost digits of exp(-x^2)
    return series / (1 + 2 * x) * (-near * near).exp() * (-(x - near) * (x + near)).exp()
