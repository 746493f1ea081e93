"""Random changes of graphs. They follow Tensor.manual_seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import dtypes
from ...tensor import Tensor
from . import _host
from ._negative_sampling import negative_sampling


def shuffle_node(x: Tensor, batch: Tensor | None = None, training: bool = True) -> tuple[Tensor, Tensor]:
    """The rows of x in random order, within each graph if batch is given; and that order.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import shuffle_node
    >>> x, order = shuffle_node(Tensor([[1.0], [2.0]]), training=False)
    >>> order.tolist()
    [0, 1]
    """
    n = int(x.shape[0])
    if not training:
        return x, _host.tensor(np.arange(n))
    rng = _host.generator()
    order = rng.permutation(n) if batch is None else np.lexsort((rng.random(n), _host.vector(batch, "batch")))
    return _host.rows(x, order), _host.tensor(order)


def mask_feature(x: Tensor, p: float = 0.5, mode: str = "col", fill_value: float = 0.0, training: bool = True) -> tuple[Tensor, Tensor]:
    """Sets columns (mode 'col'), rows ('row') or single values ('all') of x to fill_value with probability p.

    Gives the new x and the mask of what stayed.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import mask_feature
    >>> mask_feature(Tensor([[1.0, 2.0]]), p=1.0)[0].tolist()
    [[0.0, 0.0]]
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"Masking ratio has to be between 0 and 1 (got {p})")
    if not training or p == 0.0:
        return x, x.ones_like(dtype=dtypes.bool)
    if mode not in ("row", "col", "all"):
        raise ValueError(f"mode must be 'row', 'col' or 'all', not {mode!r}")
    shape = {"row": (x.shape[0], 1), "col": (1, x.shape[1]), "all": x.shape}[mode]
    mask = Tensor.rand(*shape) >= p
    return Tensor.where(mask, x, fill_value), mask


def add_random_edge(
    edge_index: Tensor, p: float = 0.5, force_undirected: bool = False, num_nodes: Any = None, training: bool = True
) -> tuple[Tensor, Tensor]:
    """Adds random edges, p times as many as there are; gives all edges, and the new ones.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import add_random_edge
    >>> Tensor.manual_seed(0)
    >>> e, added = add_random_edge(Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), p=0.5)
    >>> e.shape, added.shape
    ((2, 6), (2, 2))
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"Ratio of added edges has to be between 0 and 1 (got {p})")
    if force_undirected and isinstance(num_nodes, (tuple, list)):
        raise RuntimeError("'force_undirected' is not supported for bipartite graphs")
    if not training or p == 0.0:
        return edge_index, _host.tensor(np.zeros((2, 0), np.int64))
    e = _host.edges(edge_index)
    new = negative_sampling(edge_index, num_nodes, round(e.shape[1] * p), force_undirected=force_undirected)
    return _host.tensor(np.concatenate([e, new.numpy()], axis=1)), new


__all__ = ["add_random_edge", "mask_feature", "shuffle_node"]
