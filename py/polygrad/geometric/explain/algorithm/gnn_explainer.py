"""GNNExplainer (Ying et al., "GNNExplainer: generating explanations for graph neural networks", NeurIPS 2019)."""

from __future__ import annotations

import math
from typing import Any

from ...._ffi import C
from ....nn.optim import Adam
from ....tensor import Tensor
from ..config import MaskType
from ..explanation import Explanation, HeteroExplanation
from .base import ExplainerAlgorithm, index_of, repeat
from .dummy_explainer import mask_shape
from .masks import clear_masks, set_hetero_masks, set_masks


class _Mask:
    """A mask that is learnt, and which of its entries the output depends on: none before the first step has shown it."""

    def __init__(self, start: Tensor, prefix: str):
        self.value = start.contiguous().requires_grad_().realize()
        self.hard = Tensor.zeros(*start.shape).contiguous().realize()
        self.prefix = prefix  # of the coefficients: 'node_feat' or 'edge'

    def cost(self, coeffs: dict[str, Any]) -> Tensor:
        """size * reduce(m) + ent * mean entropy(m) over the entries that matter, m = sigmoid(mask)."""
        m, eps = self.value.sigmoid(), coeffs["EPS"]
        count = self.hard.sum().maximum(1.0)
        size = (m * self.hard).sum()
        if coeffs[f"{self.prefix}_reduction"] == "mean":
            size = size / count
        entropy = -m * (m + eps).log() - (1 - m) * (1 - m + eps).log()
        return coeffs[f"{self.prefix}_size"] * size + coeffs[f"{self.prefix}_ent"] * (entropy * self.hard).sum() / count


class GNNExplainer(ExplainerAlgorithm):
    r"""Learns masks with which the model still predicts the same:

        min over M of  loss(model(x * s(M_x), A * s(M_A)), target) + a |s(M)| + b H(s(M)),   s = sigmoid

    where |.| keeps masks small and the entropy H makes them decide. Only entries that the output depends on take part; the others are 0.

    epochs, lr: steps of Adam and their size. kwargs: coefficients edge_size, edge_reduction, edge_ent, node_feat_size, node_feat_reduction,
    node_feat_ent, EPS.

    All steps are one compiled program, in which the edge mask is one more factor of each message; explaining another node or another graph of
    the same shape runs it again.

    Shapes: x [V, F], edge_index [2, E]; node_mask by its type, edge_mask [E].

    >>> from polygrad.geometric.explain import GNNExplainer
    >>> GNNExplainer(epochs=200, edge_size=0.01).coeffs["edge_size"]
    0.01
    """

    default_coeffs = {
        "edge_size": 0.005, "edge_reduction": "sum", "node_feat_size": 1.0, "node_feat_reduction": "mean", "edge_ent": 1.0, "node_feat_ent": 0.1,
        "EPS": 1e-15,
    }  # fmt: skip

    def __init__(self, epochs: int = 100, lr: float = 0.01, **kwargs: Any):
        self.epochs, self.lr = epochs, lr
        unknown = sorted(set(kwargs) - set(self.default_coeffs))
        if unknown:
            raise TypeError(f"GNNExplainer has no coefficients {unknown}; there are {sorted(self.default_coeffs)}")
        self.coeffs = {**self.default_coeffs, **kwargs}

    def supports(self) -> bool:
        return True

    def forward(self, model: Any, x: Any, edge_index: Any, *, target: Any, index: Any = None, **kwargs: Any) -> Any:
        hetero = isinstance(x, dict)
        xs, edges = (x, edge_index) if hetero else ({None: x}, {None: edge_index})
        most = max(v.shape[0] for v in xs.values())
        nodes = {kind: self._node_mask(v) for kind, v in xs.items()}
        links = {kind: self._edge_mask(v, most) for kind, v in edges.items()}

        def call() -> Tensor:
            seen = {kind: v if (m := nodes[kind]) is None else v * m.value.sigmoid() for kind, v in xs.items()}
            return model(seen if hetero else seen[None], edge_index, **kwargs)

        try:
            values = {kind: m.value for kind, m in links.items() if m is not None}
            if values and hetero:
                set_hetero_masks(model, values, edge_index)
            elif values:
                set_masks(model, values[None], edge_index)
            masks = [m for m in (*nodes.values(), *links.values()) if m is not None]
            self._learn(call, masks, target, index)
        finally:
            clear_masks(model)
        found = [{kind: self._result(m) for kind, m in some.items() if m is not None} for some in (nodes, links)]
        if not hetero:
            return Explanation(node_mask=found[0].get(None), edge_mask=found[1].get(None))
        out = HeteroExplanation()
        out.set_value_dict("node_mask", found[0])
        out.set_value_dict("edge_mask", found[1])
        return out

    def _node_mask(self, x: Tensor) -> _Mask | None:
        shape = mask_shape(self.explainer_config.node_mask_type, x)
        return None if shape is None else _Mask(Tensor.randn(*shape) * 0.1, "node_feat")

    def _edge_mask(self, edge_index: Tensor, nodes: int) -> _Mask | None:
        if self.explainer_config.edge_mask_type != MaskType.object:
            return None
        return _Mask(Tensor.randn(edge_index.shape[1]) * (math.sqrt(2.0) * math.sqrt(2.0 / (2 * nodes))), "edge")

    def _learn(self, call: Any, masks: list[_Mask], target: Tensor, index: Any) -> None:
        optimizer = Adam([m.value for m in masks], lr=self.lr)
        at = index_of(index)
        reads = [target] if at is None or isinstance(at, slice) else [target, at]

        def step() -> list[Tensor]:
            y_hat, y = call(), target
            if at is not None:
                y_hat, y = y_hat[at], y[at]
            loss = self._output_loss(y_hat, y)
            for m in masks:
                if not C.poly_depends_on(loss._h, m.value._h):
                    raise ValueError(_UNUSED[m.prefix])
            for m in masks:
                loss = loss + m.cost(self.coeffs)
            values = [m.value for m in masks]
            slopes = loss.gradient(*values)  # of the masks alone: the parameters of the model get none
            for value, slope in zip(values, slopes):
                value.grad = slope
            optimizer.step()
            optimizer.zero_grad()
            return slopes

        for epoch, found in enumerate(repeat(step, reads, self.epochs)):
            if epoch == 0:
                for m, slope in zip(masks, found):
                    m.hard.assign((slope != 0).cast(m.hard.dtype)).realize()

    def _result(self, m: _Mask) -> Tensor:
        return (m.value.detach().sigmoid() * (m.hard != 0)).realize()


_UNUSED = {
    "node_feat": "the output does not depend on the node features: use them in the model, or explain with node_mask_type=None",
    "edge": "Could not compute gradients for edges: use message passing layers, on which the output depends, or explain with edge_mask_type=None",
}

__all__ = ["GNNExplainer"]
