"""How unequal weights are."""

from __future__ import annotations

from ....tensor import Tensor

_EPS = 1.1920928955078125e-07  # of float32


def gini(w: Tensor) -> Tensor:
    """The mean Gini coefficient of the rows of w, sum_jk |w_j - w_k| / (2 (n^2 - n) mean |w|): 0 for equal entries, 1 for a single one that is
    not 0 (Henderson et al., "Improving molecular graph neural network explainability", 2021).

    Shapes: w [N, n]; out a scalar.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.functional import gini
    >>> round(gini(Tensor([[1.0, 1.0], [0.0, 3.0]])).item(), 4)
    0.5
    """
    n = w.shape[-1]
    apart = (w.unsqueeze(-1) - w.unsqueeze(-2)).abs().sum((1, 2))
    return (apart / (2 * (n * n - n) * w.abs().mean(-1) + _EPS)).mean()


__all__ = ["gini"]
