"""Cross entropy with labels that are given as pairs of row and class."""

from __future__ import annotations

from ...tensor import Tensor


def sparse_cross_entropy(inputs: Tensor, edge_label_index: Tensor, edge_label_weight: Tensor | None = None) -> Tensor:
    r"""The mean over rows of :math:`\sum_{(i, c)} w_{ic} (\log \sum_k \exp x_{ik} - x_{ic})`.

    inputs: logits [B, C]. edge_label_index: [2, L], the pairs (row, class) that are true. edge_label_weight: [L]; a negative weight makes its pair no
    label, but raises its logit in the sum over classes by log |w|.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils.cross_entropy import sparse_cross_entropy
    >>> round(sparse_cross_entropy(Tensor([[0.0, 0.0], [0.0, 0.0]]), Tensor([[0, 1], [1, 0]])).item(), 4)
    0.6931
    """
    if inputs.ndim != 2:
        raise ValueError(f"logits have two axes, not the shape {inputs.shape}")
    row, col = edge_label_index[0], edge_label_index[1]
    rows, classes = inputs.shape
    weight = edge_label_weight
    if weight is not None:
        from . import scatter

        raised = (weight < 0).where((weight < 0).where(weight.abs(), 1.0).log().maximum(1e-12), 0.0)
        inputs = inputs + scatter(raised, row * classes + col, 0, rows * classes).reshape(rows, classes)
        weight = weight.relu()
    loss = inputs.logsumexp(-1)[row] - inputs[row, col]
    return (loss if weight is None else loss * weight).sum() / rows


__all__ = ["sparse_cross_entropy"]
