"""A penalty that makes the features of a graph's nodes orthonormal."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..._length import norm
from ..._rows import rows_of
from ..aggr.dense import dense_rows


def bro(x: Tensor, batch: Tensor, p: Any = 2) -> Tensor:
    """The mean over graphs of |H H^T - I|_p, H being the features of the graph's nodes (Henderson et al., "Improving molecular graph neural
    network explainability with orthonormalization and induced sparsity", 2021). p: order of the norm of all entries, or 'fro', which is 2.

    Shapes: x [V, F], batch [V]; out a scalar.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.functional import bro
    >>> bro(Tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]), Tensor([0, 0, 1])).item()
    1.5
    """
    dense, mask = dense_rows(x, rows_of(batch))
    own = (Tensor.eye(dense.shape[1], dtype=x.dtype) * mask.unsqueeze(-1)).cast(x.dtype)
    return norm(dense @ dense.transpose(1, 2) - own, 2.0 if p == "fro" else float(p), (1, 2)).mean()


__all__ = ["bro"]
