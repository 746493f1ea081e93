"""Explanations: a graph with masks that say how much its nodes, features and edges matter."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.hetero_data import HeteroData
from .config import ThresholdConfig, ThresholdType


class ExplanationMixin:
    """What explanations of graphs with one and with several types have in common."""

    @property
    def available_explanations(self) -> list[str]:
        """Names of the masks that there are."""
        return [key for key in self.keys() if key.endswith("_mask")]  # type: ignore[attr-defined]

    def validate_masks(self, raise_on_error: bool = True) -> bool:
        """Do the masks fit the graph? What does not is an error, or a warning and the answer False."""
        wrong = []
        for store in self.node_stores:  # type: ignore[attr-defined]
            mask = store.get("node_mask")
            if mask is None:
                continue
            features = store["x"].shape[-1] if "x" in store else mask.shape[-1]
            if mask.ndim != 2:
                wrong.append(f"a 'node_mask' with two dimensions is needed, not one of the shape {mask.shape}")
            elif mask.shape[0] not in (1, store.num_nodes) or mask.shape[1] not in (1, features):
                sizes = f"with {store.num_nodes} nodes and with {features} features"
                wrong.append(f"a 'node_mask' of shape {tuple(mask.shape)} does not fit a graph {sizes}")
        for store in self.edge_stores:  # type: ignore[attr-defined]
            mask = store.get("edge_mask")
            if mask is not None and mask.ndim != 1:
                wrong.append(f"an 'edge_mask' with one dimension is needed, not one of the shape {mask.shape}")
            elif mask is not None and mask.shape[0] != store.num_edges:
                wrong.append(f"an 'edge_mask' of shape {tuple(mask.shape)} does not fit a graph with {store.num_edges} edges")
        for text in wrong:
            if raise_on_error:
                raise ValueError(text)
            warnings.warn(text, stacklevel=2)
        return not wrong

    def threshold(self, *args: Any, **kwargs: Any) -> Any:
        """A copy with the masks cut off; takes a ThresholdConfig or its arguments. None changes nothing.

        >>> from polygrad import Tensor
        >>> from polygrad.geometric.explain import Explanation
        >>> found = Explanation(edge_mask=Tensor([0.1, 0.9, 0.4]), edge_index=Tensor([[0, 1, 2], [1, 2, 0]]))
        >>> found.threshold("topk_hard", 2).edge_mask.tolist(), found.threshold("hard", 0.5).edge_mask.tolist()
        ([0.0, 1.0, 1.0], [0.0, 1.0, 0.0])
        """
        config = ThresholdConfig.cast(*args, **kwargs)
        if config is None:
            return self
        out: Any = copy.copy(self)
        for stores, name in ((out.node_stores, "node_mask"), (out.edge_stores, "edge_mask")):
            for store in stores:
                if name in store:
                    store[name] = _cut(store[name], config)
        return out

    def validate(self, raise_on_error: bool = True) -> bool:
        """Do the attributes fit each other, the masks among them?"""
        masks = self.validate_masks(raise_on_error)
        return super().validate(raise_on_error) and masks  # type: ignore[misc]


def _cut(mask: Tensor, config: ThresholdConfig) -> Tensor:
    if config.type == ThresholdType.hard:
        return (mask > config.value).cast("float32").realize()
    hard = config.type == ThresholdType.topk_hard
    if config.value >= int(np.prod(mask.shape)):
        return mask.ones_like().realize() if hard else mask
    values, index = mask.flatten().topk(config.value)
    kept = values.ones_like() if hard else values
    return mask.flatten().zeros_like().contiguous().scatter(0, index, kept).reshape(*mask.shape).realize()


class Explanation(ExplanationMixin, Data):
    """The explanation of a prediction on a graph: a Data with `node_mask` ([V, F], [V, 1] or [1, F]) and `edge_mask` ([E]), as far as they were
    asked for, `prediction`, `target`, `index`, and what the model was given.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import Explanation
    >>> found = Explanation(x=Tensor.ones(3, 1), edge_index=Tensor([[0, 1, 2], [1, 2, 0]]), edge_mask=Tensor([0.5, 0.0, 0.2]))
    >>> found.get_explanation_subgraph().edge_index.tolist(), found.get_complement_subgraph().edge_index.tolist()
    ([[0, 2], [1, 0]], [[1], [2]])
    """

    def get_explanation_subgraph(self) -> Explanation:
        """The part with masks that are not zero."""
        return self._part(lambda mask: mask > 0)

    def get_complement_subgraph(self) -> Explanation:
        """The part with masks that are zero."""
        return self._part(lambda mask: mask == 0)

    def _part(self, keep: Any) -> Explanation:
        nodes, edges = self.get("node_mask"), self.get("edge_mask")
        out = self if edges is None else self.edge_subgraph(keep(edges))
        if nodes is None:
            return copy.copy(out)
        chosen = keep(nodes.sum(-1))
        if nodes.shape[0] == 1 and out.num_nodes != 1:  # a mask of features alone: all nodes or none
            chosen = chosen.expand(out.num_nodes)
        return out.subgraph(chosen)

    def visualize_feature_importance(self, path: Any = None, feat_labels: Sequence[Any] | None = None, top_k: int | None = None) -> str:
        """Bars for the features, by the sum of the mask over the nodes. Gives the SVG, and writes it to path if one is given."""
        from .picture import bars

        mask = self.get("node_mask")
        if mask is None:
            raise ValueError(f"The attribute 'node_mask' is not available in this {type(self).__name__}, only {self.available_explanations}")
        if mask.ndim != 2 or mask.shape[1] <= 1:
            raise ValueError(f"Cannot compute feature importance: a node mask of shape {mask.shape} says nothing about single features")
        labels = range(mask.shape[1]) if feat_labels is None else feat_labels
        return bars(mask.sum(0).numpy(), [str(label) for label in labels], top_k, path)

    def visualize_graph(self, path: Any = None, backend: str | None = None, node_labels: Sequence[str] | None = None) -> str:
        """Draws the edges with a mask above zero, the darker the larger it is, and the nodes at their ends. Gives the SVG, and writes it to path
        if one is given: an .html file becomes a page around it. backend: None or 'svg'; 'graphviz' and 'networkx' give the same picture."""
        from .picture import draw_explanation

        if self.get("edge_mask") is None:
            raise ValueError(f"The attribute 'edge_mask' is not available in this {type(self).__name__}, only {self.available_explanations}")
        if backend not in (None, "svg", "graphviz", "networkx"):
            raise ValueError(f"Expected graph drawing backend to be None, 'svg', 'graphviz' or 'networkx' (got {backend!r})")
        return draw_explanation(self, path, node_labels)


class HeteroExplanation(ExplanationMixin, HeteroData):
    """As Explanation, for a graph of several types: node_mask of types of nodes, edge_mask of types of edges.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import HeteroExplanation
    >>> found = HeteroExplanation()
    >>> found["user"].node_mask, found["item"].node_mask = Tensor([[1.0], [0.0]]), Tensor([[0.3], [0.2]])
    >>> found["user", "buys", "item"].edge_index = Tensor([[0, 1], [0, 1]])
    >>> found.get_explanation_subgraph()["buys"].edge_index.tolist()
    [[0], [0]]
    """

    def get_explanation_subgraph(self) -> HeteroExplanation:
        """The part with masks that are not zero."""
        return self._part(lambda mask: mask > 0)

    def get_complement_subgraph(self) -> HeteroExplanation:
        """The part with masks that are zero."""
        return self._part(lambda mask: mask == 0)

    def _part(self, keep: Any) -> HeteroExplanation:
        out = self.edge_subgraph({kind: keep(mask) for kind, mask in self.collect("edge_mask", True).items()})
        nodes = {}
        for kind, mask in self.collect("node_mask", True).items():
            chosen = keep(mask.sum(-1))
            count = self[kind].num_nodes
            nodes[kind] = chosen.expand(count) if mask.shape[0] == 1 and count not in (None, 1) else chosen
        return out.subgraph(nodes)

    def visualize_feature_importance(self, path: Any = None, feat_labels: Mapping[str, Sequence[Any]] | None = None, top_k: int | None = None) -> str:
        """Bars for the features of all types, by the sum of the mask over the nodes. Gives the SVG, and writes it to path if one is given."""
        from .picture import bars

        masks = self.collect("node_mask")
        for kind, mask in masks.items():
            if mask.ndim != 2 or mask.shape[1] < 1:
                raise ValueError(f"the node mask of {kind!r} of shape {mask.shape} says nothing about single features")
        labels = [f"{kind}#{label}" for kind, mask in masks.items() for label in (feat_labels[kind] if feat_labels else range(mask.shape[1]))]
        return bars(np.concatenate([mask.sum(0).numpy() for mask in masks.values()]), labels, top_k, path)

    def visualize_graph(
        self, path: Any = None, node_labels: Mapping[str, Sequence[str]] | None = None, node_size_range: tuple[float, float] = (50, 500),
        node_opacity_range: tuple[float, float] = (0.2, 1.0), edge_width_range: tuple[float, float] = (0.1, 2.0),
        edge_opacity_range: tuple[float, float] = (0.2, 1.0),
    ) -> str:  # fmt: skip
        """Draws the part with masks above zero, a colour for each type of nodes. Gives the SVG, and writes it to path if one is given."""
        from .picture import draw_hetero_explanation

        for kind, labels in (node_labels or {}).items():
            if kind not in self.node_types:
                raise ValueError(f"Node type {kind!r} has labels, but there are only the types {self.node_types}")
            if len(labels) != self[kind].num_nodes:
                raise ValueError(f"Number of labels ({len(labels)}) must match the number of nodes of type {kind!r}, {self[kind].num_nodes}")
        ranges = (node_size_range, node_opacity_range, edge_width_range, edge_opacity_range)
        return draw_hetero_explanation(self, path, node_labels, *ranges)


__all__ = ["Explanation", "ExplanationMixin", "HeteroExplanation"]
