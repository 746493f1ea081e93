"""ogb.linkproppred: links.

>>> import polygrad.torch as torch
>>> from polygrad.companions.ogb.linkproppred import Evaluator
>>> Evaluator(name="ogbl-ddi").eval({"y_pred_pos": torch.tensor([0.9, 0.4]), "y_pred_neg": torch.linspace(0, 0.5, 21)})
{'hits@20': 1.0}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...torch_geometric.datasets import PygLinkPropPredDataset
from ._evaluate import Evaluator as _Evaluator
from ._evaluate import array, hits, ranks, rocauc


class Evaluator(_Evaluator):
    """Measures scores of links: hits@K, reciprocal ranks, or the area under the ROC curve."""

    metrics = {
        "ogbl-ppa": "hits@100", "ogbl-collab": "hits@50", "ogbl-ddi": "hits@20", "ogbl-citation2": "mrr", "ogbl-wikikg2": "mrr", "ogbl-biokg": "mrr",
        "ogbl-vessel": "rocauc",
    }  # fmt: skip

    def __init__(self, name: str):
        super().__init__(name)
        if "hits@" in self.eval_metric:
            self.K = int(self.eval_metric.split("@")[1])

    def eval(self, input_dict: dict[str, Any]) -> dict[str, Any]:
        """{"y_pred_pos": [N], "y_pred_neg": [M], or [N, M] for reciprocal ranks} to {measure: value}; those of ranks are lists, one of each link."""
        for key in ("y_pred_pos", "y_pred_neg"):
            if key not in input_dict:
                raise RuntimeError(f"Missing key of {key}")
        from ... import torch

        positive, negative = (array(input_dict[key]) for key in ("y_pred_pos", "y_pred_neg"))
        if self.eval_metric == "mrr":
            if negative.ndim != 2 or len(negative) != len(positive):
                raise RuntimeError("y_pred_neg must be a matrix with a row for each positive link")
            rank = ranks(positive, negative)
            out = {f"hits@{k}_list": (rank <= k).astype(np.float32) for k in (1, 3, 10)}
            return {k: torch.from_numpy(v) for k, v in {**out, "mrr_list": (1.0 / rank).astype(np.float32)}.items()}
        if positive.ndim != 1 or negative.ndim != 1:
            raise RuntimeError("y_pred_pos and y_pred_neg must be vectors")
        if self.eval_metric == "rocauc":
            true = np.concatenate([np.ones(len(positive)), np.zeros(len(negative))])
            return {"rocauc": rocauc(true[:, None], np.concatenate([positive, negative])[:, None])}
        return {f"hits@{self.K}": hits(positive, negative, self.K)}

    @property
    def expected_input_format(self) -> str:
        """What eval takes."""
        return '{"y_pred_pos": [N], "y_pred_neg": [N, M]}' if self.eval_metric == "mrr" else '{"y_pred_pos": [N], "y_pred_neg": [M]}'


__all__ = ["Evaluator", "PygLinkPropPredDataset"]
