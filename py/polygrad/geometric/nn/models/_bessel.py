"""Spherical Bessel functions and Legendre polynomials, the bases in which DimeNet writes distances and angles."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ....tensor import Tensor

_TERMS = 18  # of the series: float64 is exact to its last digits where it is used, x <= order + 1/2


@cache
def _closed(order: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Coefficients of p and q in j_n(x) = p(1/x) sin x + q(1/x) cos x, by j_{n+1} = (2n+1)/x j_n - j_{n-1}."""
    before: tuple[tuple[int, ...], tuple[int, ...]] = ((0,), (0, 1))  # j_{-1} = cos x / x
    now: tuple[tuple[int, ...], tuple[int, ...]] = ((0, 1), (0,))  # j_0 = sin x / x
    for n in range(order):
        after = []
        for old, new in zip(before, now):
            out = [0] * (len(new) + 1)
            for k, c in enumerate(new):
                out[k + 1] += (2 * n + 1) * c
            for k, c in enumerate(old):
                out[k] -= c
            after.append(tuple(out))
        before, now = now, (after[0], after[1])
    return now


def _at(order: int, x: float) -> float:
    """j_n(x) of a number x > n."""
    p, q = _closed(order)
    return sum(c * x**-k for k, c in enumerate(p)) * math.sin(x) + sum(c * x**-k for k, c in enumerate(q)) * math.cos(x)


@cache
def zeros(orders: int, count: int) -> np.ndarray:
    """The first zeros of j_0, j_1, ...: float32 [orders, count]. Those of j_n lie one by one between those of j_{n-1}."""
    found = [np.arange(1, count + orders) * math.pi]
    for n in range(1, orders):
        ends = found[-1]
        row = []
        for low, high in zip(ends, ends[1:]):
            sign = _at(n, low) > 0
            for _ in range(60):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if (_at(n, middle) > 0) == sign else (low, middle)
            row.append(0.5 * (low + high))
        found.append(np.array(row))
    return np.stack([row[:count] for row in found]).astype(np.float32)


@cache
def scales(orders: int, count: int) -> np.ndarray:
    """Factors that make j_n(z_nk x) orthonormal on [0, 1] with the weight x^2: [orders, count]."""
    z = zeros(orders, count)
    return np.array([[math.sqrt(2) / abs(_at(n + 1, float(v))) for v in row] for n, row in enumerate(z)])


def _polynomial(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    out: Tensor = x * coefficients[-1]
    for c in coefficients[-2:0:-1]:
        out = (out + c) * x if c else out * x
    return out + coefficients[0] if coefficients[0] else out


def bessel(order: int, x: Tensor) -> Tensor:
    """j_n(x) for x > 0. Its closed form loses all digits where x is small against n, so a series takes its place there.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.models._bessel import bessel
    >>> [round(v, 5) for v in bessel(2, Tensor([0.1, 3.0])).tolist()]
    [0.00067, 0.29864]
    """
    small = x < order + 0.5
    far, near = small.where(order + 0.5, x), small.where(x, 1.0)
    p, q = _closed(order)
    inverse = far.reciprocal()
    closed = _polynomial(p, inverse) * far.sin()
    if order:
        closed = closed + _polynomial(q, inverse) * far.cos()
    series = [1.0 / math.prod(range(1, 2 * order + 2, 2))]
    for m in range(1, _TERMS):
        series.append(series[-1] * -0.5 / (m * (2 * order + 2 * m + 1)))
    value = _polynomial(tuple(series), near.square())
    return small.where(value * near**order if order else value, closed)


def legendre(count: int, z: Tensor) -> list[Tensor]:
    """sqrt((2 l + 1) / 4 pi) P_l(z), the spherical harmonics Y_l0 at an angle of cosine z, for l = 0 .. count - 1.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.models._bessel import legendre
    >>> [round(v.item(), 4) for v in legendre(3, Tensor([1.0]))]
    [0.2821, 0.4886, 0.6308]
    """
    values = [z.ones_like(), z]
    for n in range(1, count - 1):
        values.append(((2 * n + 1) * z * values[n] - n * values[n - 1]) / (n + 1))
    return [math.sqrt((2 * n + 1) / (4 * math.pi)) * v for n, v in enumerate(values[:count])]


__all__ = ["bessel", "legendre", "scales", "zeros"]
