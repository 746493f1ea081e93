"""Angles, with a gradient of 0 where they are not defined: at vectors of zeros."""

from __future__ import annotations

from ..tensor import Tensor
from ._length import norm


def atan2(y: Tensor, x: Tensor) -> Tensor:
    """The angle of the point (x, y), between -pi and pi.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric._angle import atan2
    >>> [round(v, 4) for v in atan2(Tensor([1.0, 0.0, -1.0, 0.0]), Tensor([0.0, -1.0, -1.0, 0.0])).tolist()]
    [1.5708, 3.1416, -2.3562, 0.0]
    """
    return y.atan2(x)


def cross(a: Tensor, b: Tensor) -> Tensor:
    """The vector product of vectors [..., 3].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric._angle import cross
    >>> cross(Tensor([[1.0, 0.0, 0.0]]), Tensor([[0.0, 1.0, 0.0]])).tolist()
    [[0.0, 0.0, 1.0]]
    """
    (ax, ay, az), (bx, by, bz) = ([v[..., k] for k in range(3)] for v in (a, b))
    return Tensor.stack(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx, dim=-1)


def angle(a: Tensor, b: Tensor) -> Tensor:
    """The angle between vectors [..., 3], from 0 to pi: exact also for those that are nearly parallel.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric._angle import angle
    >>> [round(v, 4) for v in angle(Tensor([[1.0, 0.0, 0.0]]), Tensor([[1.0, 1.0, 0.0]])).tolist()]
    [0.7854]
    """
    return atan2(norm(cross(a, b), 2.0, -1), (a * b).sum(-1))


__all__ = ["angle", "atan2", "cross"]
