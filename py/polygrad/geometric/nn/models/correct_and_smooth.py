"""Predictions corrected by what is known of other nodes."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from .label_prop import LabelPropagation, is_labels


class CorrectAndSmooth(nn.Module):
    """Spreads the errors of predictions at labeled nodes, then the corrected predictions, along the edges (Huang et al., 2020).

    correct: E' = LabelPropagation(E), E the errors, 0 where no label is known; Y' = Y + scale * E'. autoscale sets the scale at each node so
    that errors are as large as they are at labeled nodes. smooth: LabelPropagation of Y' with the labels put in.

    Shapes: y_soft [V, C], y_true [M] or [M, C], mask [V] or places [M], edge_index [2, E], edge_weight [E]; out [V, C].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import CorrectAndSmooth
    >>> model = CorrectAndSmooth(5, 0.5, 5, 0.5)
    >>> y, mask, edges = Tensor([[0.6, 0.4], [0.5, 0.5], [0.3, 0.7]]), Tensor([True, False, False]), Tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> model.smooth(model.correct(y, Tensor([0]), mask, edges), Tensor([0]), mask, edges).shape
    (3, 2)
    """

    def __init__(
        self, num_correction_layers: int, correction_alpha: float, num_smoothing_layers: int, smoothing_alpha: float, autoscale: bool = True,
        scale: float = 1.0,
    ):  # fmt: skip
        self.autoscale, self.scale = autoscale, scale
        self.prop1 = LabelPropagation(num_correction_layers, correction_alpha)
        self.prop2 = LabelPropagation(num_smoothing_layers, smoothing_alpha)

    def forward(self, y_soft: Tensor, *args: Any) -> Tensor:
        """correct, then smooth."""
        return self.smooth(self.correct(y_soft, *args), *args)

    def _known(self, y_soft: Tensor, y_true: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """For all nodes the labels of those in the mask (or in the list of nodes), as rows, and which they are, [N, 1]."""
        import numpy as np

        where = np.flatnonzero(mask.numpy()) if mask.dtype.kind == "b" else mask.numpy()
        if int(y_true.shape[0]) != where.size:
            raise ValueError(f"{y_true.shape[0]} labels for {where.size} labeled nodes")
        if is_labels(y_true):
            y_true = y_true.reshape(-1).one_hot(int(y_soft.shape[-1]))
        place, known = np.zeros(int(y_soft.shape[0]), np.int64), np.zeros((int(y_soft.shape[0]), 1), bool)
        place[where], known[where] = np.arange(where.size), True
        return y_true.cast(y_soft.dtype)[Tensor(place)], Tensor(known)

    def correct(self, y_soft: Tensor, y_true: Tensor, mask: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """y_soft: predictions [N, C]; y_true: labels (or rows) of the nodes in mask."""
        labels, known = self._known(y_soft, y_true, mask)
        error = known.where(labels - y_soft, 0.0)
        if not self.autoscale:
            smoothed = self.prop1(error, edge_index, edge_weight=edge_weight, post_step=lambda x: known.where(error, x))
            return y_soft + self.scale * smoothed
        smoothed = self.prop1(error, edge_index, edge_weight=edge_weight, post_step=lambda x: x.clamp(-1.0, 1.0))
        scale = error.abs().sum() / int(y_true.shape[0]) / smoothed.abs().sum(1, keepdim=True)
        return y_soft + (scale.isinf() | (scale > 1000)).where(1.0, scale) * smoothed

    def smooth(self, y_soft: Tensor, y_true: Tensor, mask: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """y_soft: predictions [N, C]; y_true: labels (or rows) of the nodes in mask."""
        labels, known = self._known(y_soft, y_true, mask)
        return self.prop2(known.where(labels, y_soft), edge_index, edge_weight=edge_weight)

    def __repr__(self) -> str:
        a, b = self.prop1, self.prop2
        lines = [f"  correct: num_layers={a.num_layers}, alpha={a.alpha}", f"  smooth:  num_layers={b.num_layers}, alpha={b.alpha}"]
        return "\n".join([f"{type(self).__name__}(", *lines, f"  autoscale={self.autoscale}, scale={self.scale}", ")"])


__all__ = ["CorrectAndSmooth"]
