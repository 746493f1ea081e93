"""Factors of matrices: QR, singular values, and Newton and Schulz's iteration. All batches [..., m, n] at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import C, like
from .._ffi import handle_array

if TYPE_CHECKING:
    from ..tensor import Tensor


class Decompose:
    """Functions of matrices."""

    __slots__ = ()

    def qr(self: Any) -> tuple[Tensor, Tensor]:
        """Q with orthogonal columns [..., m, m] and an upper triangle R [..., m, n] with Q R = self, by Householder's reflections.

        >>> q, r = Tensor([[3.0, 1.0], [4.0, 2.0]]).qr()
        >>> [[round(v, 4) + 0.0 for v in row] for row in (q @ r).tolist()]
        [[3.0, 1.0], [4.0, 2.0]]
        """
        q, r = handle_array([None]), handle_array([None])
        self._g.check(C.poly_qr(self._h, q, r))
        return like(self, q[0]), like(self, r[0])

    def svd(self: Any, full_matrices: bool = True) -> tuple[Tensor, Tensor, Tensor]:
        """U, the singular values from the largest down, and V transposed, with U diag(S) V^T = self.

        >>> [round(v, 4) for v in Tensor([[3.0, 0.0], [4.0, 5.0]]).svd()[1].tolist()]
        [6.7082, 2.2361]
        """
        u, values, vt = handle_array([None]), handle_array([None]), handle_array([None])
        self._g.check(C.poly_svd(self._h, u, values, vt))
        k = min(int(self.shape[-2]), int(self.shape[-1]))
        left, right = like(self, u[0]), like(self, vt[0])
        return (left, like(self, values[0]), right) if full_matrices else (left[..., :k], like(self, values[0]), right[..., :k, :])

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


__all__ = ["Decompose"]
