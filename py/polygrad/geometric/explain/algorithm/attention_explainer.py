"""Attention weights as explanations."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ...nn.module_dict import ModuleDict
from ...utils.embedding import modules_of
from ..config import ExplanationType, ModelTaskLevel
from ..explanation import Explanation, HeteroExplanation
from .base import ExplainerAlgorithm
from .masks import layers_of


class AttentionExplainer(ExplainerAlgorithm):
    """Takes the attention of layers that have it (GATConv, GATv2Conv, TransformerConv, ...) as the mask of the edges: over heads and layers, the
    largest, or what `reduce` says ('max', 'mean', 'sum', 'min').

    Shapes: edge_mask [E]. Only explanations of the model, without node masks.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import AttentionExplainer, Explainer
    >>> from polygrad.geometric.nn import GATConv
    >>> explainer = Explainer(GATConv(3, 2, heads=4), AttentionExplainer(), "model",
    ...     dict(mode="multiclass_classification", task_level="graph", return_type="raw"), edge_mask_type="object")
    >>> explainer(Tensor.ones(4, 3), Tensor([[0, 1, 2], [1, 2, 3]])).edge_mask.tolist()  # a node listens to its neighbour and itself
    [0.5, 0.5, 0.5]
    """

    def __init__(self, reduce: str = "max"):
        if reduce not in ("max", "min", "mean", "sum"):
            raise ValueError(f"reduce must be 'max', 'min', 'mean' or 'sum', not {reduce!r}")
        self.reduce = reduce

    def supports(self) -> bool:
        if self.explainer_config.explanation_type != ExplanationType.model:
            return self._refuse("it explains what the model predicts, not a phenomenon")
        if self.explainer_config.node_mask_type is not None:
            return self._refuse("it has no masks of nodes: node_mask_type must be None")
        return True

    def forward(self, model: Any, x: Any, edge_index: Any, *, target: Any, index: Any = None, **kwargs: Any) -> Any:
        hetero = isinstance(x, dict)
        types = _types_of_layers(model, edge_index) if hetero else {}
        found = self._collect(model, types, hetero, x, edge_index, kwargs)
        masks = {}
        for kind, alphas in found.items():
            edges = edge_index[kind] if hetero else edge_index
            count = max(x[kind[0]].shape[0], x[kind[-1]].shape[0]) if hetero else x.shape[0]
            hard = self._get_hard_masks(model, index, edges, count)[1] if self.model_config.task_level == ModelTaskLevel.node else None
            masks[kind] = self._post_process_mask(self._joined(alphas, edges.shape[1]), hard, apply_sigmoid=False)
        if not hetero:
            return Explanation(edge_mask=masks[None])
        out = HeteroExplanation()
        out.set_value_dict("edge_mask", masks)
        return out

    def _collect(self, model: Any, types: dict[int, Any], hetero: bool, x: Any, edge_index: Any, kwargs: Any) -> dict[Any, list[Tensor]]:
        """The attention of every layer, by edge type."""
        found: dict[Any, list[Tensor]] = {}

        def hook(layer: Any, inputs: Any, out: Any) -> None:
            alpha = inputs[0].get("alpha")
            alpha = getattr(layer, "_alpha", None) if alpha is None else alpha
            kind = types.get(id(layer)) if hetero else None
            if alpha is not None and (kind is not None or not hetero):
                found.setdefault(kind, []).append(alpha.detach())

        handles = [layer.register_message_forward_hook(hook) for layer in layers_of(model) if layer.explain is not False]
        try:
            with Tensor.no_grad():
                model(x, edge_index, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
        if not found:
            raise ValueError("Could not collect any attention coefficients: use layers such as GATConv, GATv2Conv or TransformerConv")
        return found

    def _joined(self, alphas: list[Tensor], edges: int) -> Tensor:
        parts = []
        over = {"max": "amax", "min": "amin"}.get(self.reduce, self.reduce)  # PyTorch's max(axis) is a pair
        for alpha in alphas:
            if alpha.ndim > 2:
                raise ValueError(f"attention of shape {alpha.shape} is not one number for each edge and head")
            alpha = alpha[:edges]  # self loops that layers add come last
            parts.append(getattr(alpha, over)(-1) if alpha.ndim == 2 else alpha)
        return parts[0] if len(parts) == 1 else getattr(Tensor.stack(*parts, dim=-1), over)(-1)


def _types_of_layers(model: Any, edge_index: dict[Any, Any]) -> dict[int, Any]:
    """The edge type of each layer that is kept by edge type."""
    out = {}
    for module in modules_of(model):
        if isinstance(module, ModuleDict):
            for kind in edge_index:
                for key in (kind, "__".join(kind)):
                    if key in module:
                        out.update({id(layer): kind for layer in layers_of(module[key])})
    return out


__all__ = ["AttentionExplainer"]
