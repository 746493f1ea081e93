"""Labels as features (Shi et al., "Masked label prediction: unified message passing model for semi-supervised classification", 2020)."""

from __future__ import annotations

from .... import nn
from ....tensor import Tensor
from ..inits import reset


class MaskLabel(nn.Module):
    """Adds an embedding of its label to the features of each node of a mask, or puts it beside them.

    num_classes: number of labels. out_channels: size of an embedding; with method 'add' that of the features. method: 'add' or 'concat'; nodes
    outside the mask get zeros. Shapes: x [V, F], y [V], mask [V]; out [V, F] or [V, F + out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MaskLabel
    >>> MaskLabel(3, 5, method="concat")(Tensor.ones(2, 4), Tensor([0, 2]), Tensor([True, False])).shape
    (2, 9)
    """

    def __init__(self, num_classes: int, out_channels: int, method: str = "add"):
        if method not in ("add", "concat"):
            raise ValueError(f"'method' must be either 'add' or 'concat', not {method!r}")
        self.method = method
        self.emb = nn.Embedding(num_classes, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        reset(self.emb)

    def forward(self, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        label = mask.reshape(-1, 1).where(self.emb(mask.where(y, 0)), 0.0)
        return Tensor.cat(x, label.cast(x.dtype), dim=-1) if self.method == "concat" else x + label

    @staticmethod
    def ratio_mask(mask: Tensor, ratio: float) -> Tensor:
        """A mask in which each entry that is set stays so with the probability ratio."""
        return mask & (Tensor.rand(*mask.shape) < ratio)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


__all__ = ["MaskLabel"]
