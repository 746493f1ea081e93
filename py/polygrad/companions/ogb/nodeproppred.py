"""ogb.nodeproppred: properties of nodes.

>>> import polygrad.torch as torch
>>> from polygrad.companions.ogb.nodeproppred import Evaluator
>>> Evaluator(name="ogbn-arxiv").eval({"y_true": torch.tensor([[1], [2]]), "y_pred": torch.tensor([[1], [0]])})
{'acc': 0.5}
"""

from __future__ import annotations

from ...torch_geometric.datasets import PygNodePropPredDataset
from ._evaluate import Evaluator as _Evaluator


class Evaluator(_Evaluator):
    """Measures predictions of properties of nodes."""

    metrics = {"ogbn-arxiv": "acc", "ogbn-products": "acc", "ogbn-mag": "acc", "ogbn-papers100M": "acc", "ogbn-proteins": "rocauc"}


__all__ = ["Evaluator", "PygNodePropPredDataset"]
