"""Random explanations."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..config import MaskType
from ..explanation import Explanation, HeteroExplanation
from .base import ExplainerAlgorithm


class DummyExplainer(ExplainerAlgorithm):
    """Masks drawn from [0, 1): what any explainer has to beat.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import DummyExplainer, Explainer
    >>> from polygrad.geometric.nn import GCNConv
    >>> explainer = Explainer(GCNConv(3, 2), DummyExplainer(), "model", dict(mode="multiclass_classification", task_level="node",
    ...     return_type="raw"), node_mask_type="attributes", edge_mask_type="object")
    >>> found = explainer(Tensor.ones(4, 3), Tensor([[0, 1, 2], [1, 2, 3]]))
    >>> found.node_mask.shape, found.edge_mask.shape
    ((4, 3), (3,))
    """

    def forward(self, model: Any, x: Any, edge_index: Any, edge_attr: Any = None, **kwargs: Any) -> Any:
        if isinstance(x, dict):
            out = HeteroExplanation()
            out.set_value_dict("node_mask", {k: m for k, v in x.items() if (m := self._of_nodes(v)) is not None})
            out.set_value_dict("edge_mask", {k: m for k, v in edge_index.items() if (m := self._of_edges(v)) is not None})
            return out
        return Explanation(node_mask=self._of_nodes(x), edge_mask=self._of_edges(edge_index))

    def _of_nodes(self, x: Tensor) -> Tensor | None:
        shape = mask_shape(self.explainer_config.node_mask_type, x)
        return None if shape is None else Tensor.rand(*shape).realize()

    def _of_edges(self, edge_index: Tensor) -> Tensor | None:
        return None if self.explainer_config.edge_mask_type is None else Tensor.rand(edge_index.shape[1]).realize()

    def supports(self) -> bool:
        return True


def mask_shape(kind: MaskType | None, x: Tensor) -> tuple[int, int] | None:
    """The shape of a node mask for features x [V, F]."""
    if kind is None:
        return None
    nodes, features = x.shape[0], x.shape[-1]
    return {MaskType.object: (nodes, 1), MaskType.attributes: (nodes, features), MaskType.common_attributes: (1, features)}[kind]


__all__ = ["DummyExplainer", "mask_shape"]
