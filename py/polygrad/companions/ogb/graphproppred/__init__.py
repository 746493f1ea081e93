"""ogb.graphproppred: properties of graphs.

>>> import polygrad.torch as torch
>>> from polygrad.companions.ogb.graphproppred import Evaluator
>>> Evaluator("ogbg-molesol").eval({"y_true": torch.tensor([[1.0], [2.0]]), "y_pred": torch.tensor([[1.0], [4.0]])})
{'rmse': 1.4142135381698608}
"""

from __future__ import annotations

from ....torch_geometric.datasets import PygGraphPropPredDataset
from .._evaluate import Evaluator as _Evaluator


class Evaluator(_Evaluator):
    """Measures predictions of properties of graphs."""

    metrics = {
        **{f"ogbg-mol{k}": "rocauc" for k in ("hiv", "bace", "bbbp", "clintox", "sider", "tox21", "toxcast")},
        **{f"ogbg-mol{k}": "rmse" for k in ("esol", "freesolv", "lipo")}, **{f"ogbg-mol{k}": "ap" for k in ("pcba", "muv")}, "ogbg-ppa": "acc",
    }  # fmt: skip


__all__ = ["Evaluator", "PygGraphPropPredDataset"]
