"""Do nodes of many edges have neighbours of many edges?"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _host


def assortativity(edge_index: Any) -> float:
    """The correlation, over the edges, of the source's out-degree and the destination's in-degree (NaN where one of them does not vary).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import assortativity
    >>> round(assortativity(Tensor([[0, 1, 2, 3, 2], [1, 2, 0, 1, 3]])), 4)
    -0.6667
    """
    row, col = _host.edges(edge_index)
    a = _host.count(row)[row].astype(np.float64)
    b = _host.count(col)[col].astype(np.float64)
    if not a.size:
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a * a).mean() * (b * b).mean()))
    return float((a * b).mean() / scale) if scale else float("nan")


__all__ = ["assortativity"]
