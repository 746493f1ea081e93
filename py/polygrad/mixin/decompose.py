"""Factors of matrices: QR, singular values, and Newton and Schulz's iteration. All batches [..., m, n] at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..tensor import Tensor


def _step(*tensors: Any) -> None:
    """Computes what a step of an iteration gave, so that every step is the same small plan; a gradient keeps the steps."""
    if not tensors[0]._g.tracing:
        tensors[0].realize(*tensors[1:])


def _rounds(n: int) -> list[int]:
    """Columns in the order of the next round of a tournament: column k plays column k + n/2, the first stays, the others go around."""
    h = n // 2
    ring = [*range(1, h), *range(n - 1, h - 1, -1)]  # the places in the order in which columns go around
    order = list(range(n))
    for k, place in enumerate(ring):
        order[place] = ring[k - 1]
    return order


class Decompose:
    """Functions of matrices."""

    __slots__ = ()

    def qr(self: Any) -> tuple[Tensor, Tensor]:
        """Q with orthogonal columns [..., m, m] and an upper triangle R [..., m, n] with Q R = self, by Householder's reflections.

        >>> q, r = Tensor([[3.0, 1.0], [4.0, 2.0]]).qr()
        >>> [[round(v, 4) + 0.0 for v in row] for row in (q @ r).tolist()]
        [[3.0, 1.0], [4.0, 2.0]]
        """
        if self.ndim < 2:
            raise ValueError(f"qr takes matrices, not the shape {self.shape}")
        m, n = int(self.shape[-2]), int(self.shape[-1])
        place = self.arange(m).unsqueeze(-1)
        r = self
        q = self.eye(m, dtype=self.dtype).expand(*self.shape[:-2], m, m).contiguous()
        for k in range(min(m, n) if m > n else min(m, n) - 1):
            x = (place >= k).where(r[..., k : k + 1], 0.0)
            size = x.square().sum(-2, keepdim=True).sqrt()
            first = r[..., k : k + 1, k : k + 1]
            sign = (first < 0).where(-1.0, 1.0)
            v = x + (place == k).where(sign * size, 0.0)
            length = v.square().sum(-2, keepdim=True)
            w = v * (length == 0).where(0.0, 2.0 / (length == 0).where(1.0, length))
            r = (r - w @ (v.transpose(-2, -1) @ r)).contiguous()
            q = (q - (q @ v) @ w.transpose(-2, -1)).contiguous()
            _step(r, q)
        return q, r.triu()

    def svd(self: Any, full_matrices: bool = True) -> tuple[Tensor, Tensor, Tensor]:
        """U, the singular values from the largest down, and V transposed, with U diag(S) V^T = self: rotations of pairs of columns until all
        are orthogonal (Jacobi's method, one-sided).

        >>> [round(v, 4) for v in Tensor([[3.0, 0.0], [4.0, 5.0]]).svd()[1].tolist()]
        [6.7082, 2.2361]
        """
        if self.ndim < 2:
            raise ValueError(f"svd takes matrices, not the shape {self.shape}")
        m, n = int(self.shape[-2]), int(self.shape[-1])
        if m < n:
            u, s, vt = self.transpose(-2, -1).svd(full_matrices)
            return vt.transpose(-2, -1), s, u.transpose(-2, -1)
        even = n + n % 2
        lead = tuple(self.shape[:-2])
        a = self.pad((*[(0, 0)] * (self.ndim - 1), (0, even - n))).contiguous()
        v = self.eye(even, dtype=self.dtype).expand(*lead, even, even).contiguous()
        if even > 1:
            a, v = _rotated(a, v, even, 12 if self.dtype.itemsize < 8 else 16)
        sizes = a.square().sum(-2).sqrt()
        order = sizes.argsort(-1, descending=True)[..., :n]
        s = sizes.gather(-1, order)
        columns = a.gather(-1, order.unsqueeze(-2).expand(*lead, m, n))
        vt = v.gather(-1, order.unsqueeze(-2).expand(*lead, even, n)).transpose(-2, -1)[..., :n]
        q, r = columns.qr()  # the columns are orthogonal already: q is they, up to signs, and what they lack
        sign = _diagonal_sign(r, n)
        sign = sign.cast(self.dtype).pad((*[(0, 0)] * len(lead), (0, m - n)), value=1.0)
        u = q * sign.unsqueeze(-2)
        return (u if full_matrices else u[..., :n]), s, vt

    def newton_schulz(self: Any, steps: int, params: tuple[float, ...], eps: float = 1.0e-7) -> Tensor:
        """Odd polynomials p0 X + p1 (X X^T) X + p2 (X X^T)^2 X ... of a matrix divided by its norm, again and again.

        >>> x = Tensor([[2.0, 0.0], [0.0, 1.0]]).newton_schulz(steps=8, params=(2, -1.5, 0.5))
        >>> [[round(v, 2) + 0.0 for v in row] for row in x.tolist()]
        [[1.0, 0.0], [0.0, 1.0]]
        """
        if self.ndim < 2:
            raise ValueError(f"newton_schulz takes matrices, not the shape {self.shape}")
        if int(self.shape[-2]) > int(self.shape[-1]):
            return self.transpose(-2, -1).newton_schulz(steps, params, eps).transpose(-2, -1)
        x = self / (self.square().sum((-2, -1), keepdim=True).sqrt() + eps)
        for _ in range(steps):
            square = x @ x.transpose(-2, -1)
            term, total = x, x * params[0]
            for p in params[1:]:
                term = square @ term
                total = total + term * p
            x = total
        return x


def _diagonal_sign(r: Any, n: int) -> Any:
    """Signs of the diagonals of matrices."""
    eye = r.eye(n, dtype="bool")
    return (eye.where(r[..., :n, :n], 0.0).sum(-1) < 0).where(-1.0, 1.0)


def _rotated(a: Any, v: Any, n: int, sweeps: int) -> tuple[Any, Any]:
    """Sweeps over all pairs of columns; in each round all columns are in one pair, k and k + n/2."""
    h = n // 2
    order = a.__class__(np.array(_rounds(n)))
    for _ in range(sweeps * max(1, n - 1)):
        left, right = a[..., :h], a[..., h:]
        alpha, beta = left.square().sum(-2, keepdim=True), right.square().sum(-2, keepdim=True)
        gamma = (left * right).sum(-2, keepdim=True)
        flat = gamma == 0
        zeta = (beta - alpha) / (flat.where(1.0, gamma) * 2)
        t = flat.where(0.0, (zeta < 0).where(-1.0, 1.0) / (zeta.abs() + (zeta.square() + 1).sqrt()))
        c = (t.square() + 1).rsqrt()
        s = c * t
        a = left.__class__.cat(left * c - right * s, left * s + right * c, dim=-1).index_select(-1, order)
        vl, vr = v[..., :h], v[..., h:]
        v = left.__class__.cat(vl * c - vr * s, vl * s + vr * c, dim=-1).index_select(-1, order)
        _step(a, v)
    return a, v


__all__ = ["Decompose"]
