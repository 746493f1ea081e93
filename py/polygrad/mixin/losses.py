"""Losses; reduction is 'mean', 'sum' or 'none'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import C, like, operand, reduction_code

if TYPE_CHECKING:
    from ..tensor import Tensor


class Losses:
    """self is the prediction."""

    __slots__ = ()

    def cross_entropy(
        self: Any, Y: Tensor, reduction: str = "mean", label_smoothing: float = 0.0, axis: int | None = None, ignore_index: int = -100
    ) -> Tensor:
        """Cross entropy of logits with class indices or probabilities; classes on axis 1 (axis 0 of a vector).

        >>> round(Tensor([[0.0, 0.0]]).cross_entropy(Tensor([1])).item(), 4)
        0.6931
        """
        x = self
        if axis is not None and x.ndim > 2 and axis % x.ndim != 1:
            Y = Y.transpose(axis, 1) if Y.ndim == x.ndim else Y
            x = x.permute(_class_first(x.ndim, axis % x.ndim)) if Y.ndim != x.ndim else x.transpose(axis, 1)
        h = C.poly_cross_entropy(x._h, operand(self, Y), label_smoothing, ignore_index, reduction_code(reduction))
        return like(self, h, Y)

    def sparse_categorical_crossentropy(
        self: Any, Y: Tensor, ignore_index: int = -1, label_smoothing: float = 0.0, reduction: str = "mean"
    ) -> Tensor:
        """Cross entropy of logits with class indices; classes on the last axis.

        >>> round(Tensor([[0.0, 0.0]]).sparse_categorical_crossentropy(Tensor([1])).item(), 4)
        0.6931
        """
        x = self if self.ndim < 3 else self.permute(_class_first(self.ndim, self.ndim - 1))
        h = C.poly_cross_entropy(x._h, operand(self, Y), label_smoothing, ignore_index, reduction_code(reduction))
        return like(self, h, Y)

    def nll_loss(self: Any, Y: Tensor, weight: Tensor | None = None, ignore_index: int | None = None, reduction: str = "mean") -> Tensor:
        """Negative log likelihood of log-probabilities with class indices.

        >>> Tensor([[-1.0, -2.0]]).nll_loss(Tensor([1])).item()
        2.0
        """
        w = None if weight is None else operand(self, weight)
        ignore = -100 if ignore_index is None else ignore_index
        return like(self, C.poly_nll_loss(self._h, operand(self, Y), w, ignore, reduction_code(reduction)), Y, weight)

    def binary_crossentropy(self: Any, Y: Any, reduction: str = "mean") -> Tensor:
        """Binary cross entropy of probabilities.

        >>> round(Tensor([0.5]).binary_crossentropy(Tensor([1.0])).item(), 4)
        0.6931
        """
        return like(self, C.poly_binary_cross_entropy(self._h, operand(self, Y), reduction_code(reduction)), Y)

    def binary_crossentropy_logits(self: Any, Y: Any, reduction: str = "mean", pos_weight: Tensor | None = None) -> Tensor:
        """Binary cross entropy of logits.

        >>> round(Tensor([0.0]).binary_crossentropy_logits(Tensor([1.0])).item(), 4)
        0.6931
        """
        w = None if pos_weight is None else operand(self, pos_weight)
        return like(self, C.poly_binary_cross_entropy_logits(self._h, operand(self, Y), w, reduction_code(reduction)), Y)

    def mse_loss(self: Any, target: Any, reduction: str = "mean") -> Tensor:
        """Mean squared error.

        >>> Tensor([1.0, 3.0]).mse_loss(Tensor([1.0, 1.0])).item()
        2.0
        """
        return like(self, C.poly_mse_loss(self._h, operand(self, target), reduction_code(reduction)), target)

    def l1_loss(self: Any, target: Any, reduction: str = "mean") -> Tensor:
        """Mean absolute error.

        >>> Tensor([1.0, 3.0]).l1_loss(Tensor([1.0, 1.0])).item()
        1.0
        """
        return like(self, C.poly_l1_loss(self._h, operand(self, target), reduction_code(reduction)), target)

    def huber_loss(self: Any, target: Any, delta: float = 1.0, reduction: str = "mean") -> Tensor:
        """Squared error near zero, absolute error beyond delta.

        >>> Tensor([3.0]).huber_loss(Tensor([1.0])).item()
        1.5
        """
        return like(self, C.poly_huber_loss(self._h, operand(self, target), delta, reduction_code(reduction)), target)

    def smooth_l1_loss(self: Any, target: Any, beta: float = 1.0, reduction: str = "mean") -> Tensor:
        """Squared error divided by 2 beta near zero, absolute error less beta / 2 beyond beta.

        >>> Tensor([3.0]).smooth_l1_loss(Tensor([1.0])).item()
        1.5
        """
        if beta < 0:
            raise RuntimeError(f"smooth_l1_loss: beta must not be negative, but is {beta}")
        if beta == 0:
            return self.l1_loss(target, reduction)
        return self.huber_loss(target, beta, reduction) / beta

    def kl_div(self: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
        """target * (log target - self), where self holds logarithms and, with log_target, target too; 'batchmean' divides the sum by the
        first size.

        >>> round(Tensor([0.5, 0.5]).log().kl_div(Tensor([0.25, 0.75]), "sum").item(), 4)
        0.1308
        """
        y = operand(self, target)
        if log_target:
            each = y.exp() * (y - self)
        else:  # 0 log 0 is 0
            positive = y > 0
            each = y.isnan().where(y * y, positive.where(y * positive.where(y, 1.0).log(), 0.0)) - y * self
        if reduction == "batchmean":
            return each.sum() / int(self.shape[0]) if self.ndim else each
        reduction_code(reduction)
        return each.mean() if reduction == "mean" else each.sum() if reduction == "sum" else each


def _class_first(ndim: int, axis: int) -> tuple[int, ...]:
    """The order that moves the class axis to place 1 and keeps the others in order."""
    rest = [k for k in range(ndim) if k != axis]
    return (rest[0], axis, *rest[1:])
