"""Explainer: a model, an algorithm, and what is asked of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...nn.module import evaluation
from ...tensor import Tensor
from .algorithm.base import ExplainerAlgorithm
from .algorithm.masks import clear_masks, set_hetero_masks, set_masks
from .config import ExplainerConfig, ExplanationType, ModelConfig, ModelMode, ModelReturnType, ThresholdConfig


class Explainer:
    """Explains single predictions of a graph network.

    model: called as model(x, edge_index, **kwargs). algorithm: see polygrad.geometric.explain.algorithm. explanation_type: 'model' explains what
    the model predicts, 'phenomenon' a target that is given. model_config: a ModelConfig or a dict of its arguments. node_mask_type,
    edge_mask_type: see ExplainerConfig. threshold_config: how masks are cut off, see ThresholdConfig.

    Shapes: x [V, F], edge_index [2, E]; node_mask [V, F], [V, 1] or [1, F], edge_mask [E]. For a graph of several types x and edge_index are
    dicts, and the result is a HeteroExplanation.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import Explainer, GNNExplainer
    >>> from polygrad.geometric.nn import GCN
    >>> explainer = Explainer(GCN(3, 8, num_layers=2, out_channels=2), GNNExplainer(epochs=20), explanation_type="model",
    ...     model_config=dict(mode="multiclass_classification", task_level="node", return_type="raw"),
    ...     node_mask_type="attributes", edge_mask_type="object")
    >>> found = explainer(Tensor.rand(4, 3), Tensor([[0, 1, 2], [1, 2, 3]]), index=2)
    >>> found.available_explanations, found.edge_mask.tolist()[2]  # the last edge leads away from node 2
    (['node_mask', 'edge_mask'], 0.0)
    """

    def __init__(
        self, model: Any, algorithm: ExplainerAlgorithm, explanation_type: Any, model_config: Any, node_mask_type: Any = None,
        edge_mask_type: Any = None, threshold_config: Any = None,
    ):  # fmt: skip
        config = ExplainerConfig(explanation_type, node_mask_type, edge_mask_type)
        self.model, self.algorithm = model, algorithm
        self.explanation_type = config.explanation_type
        self.model_config: ModelConfig = ModelConfig.cast(model_config)
        self.node_mask_type, self.edge_mask_type = config.node_mask_type, config.edge_mask_type
        self.threshold_config: ThresholdConfig | None = ThresholdConfig.cast(threshold_config)
        algorithm.connect(config, self.model_config)

    def get_prediction(self, *args: Any, **kwargs: Any) -> Tensor:
        """What the model gives in evaluation mode, without gradients."""
        with evaluation(self.model), Tensor.no_grad():
            return self.model(*args, **kwargs).realize()

    def get_masked_prediction(self, x: Any, edge_index: Any, node_mask: Any = None, edge_mask: Any = None, **kwargs: Any) -> Tensor:
        """What the model gives for features and messages that are multiplied with masks."""
        if isinstance(x, dict):
            x = {key: value * node_mask[key] if node_mask and node_mask.get(key) is not None else value for key, value in x.items()}
        elif node_mask is not None:
            x = node_mask * x
        try:
            if isinstance(edge_mask, Tensor):
                set_masks(self.model, edge_mask, edge_index, apply_sigmoid=False)
            elif isinstance(edge_mask, dict):
                set_hetero_masks(self.model, edge_mask, edge_index, apply_sigmoid=False)
            return self.get_prediction(x, edge_index, **kwargs)
        finally:
            clear_masks(self.model)

    def get_target(self, prediction: Tensor) -> Tensor:
        """Classes out of what a model for classification gives; the prediction of a model for regression as it is."""
        if self.model_config.mode == ModelMode.binary_classification:
            bound = 0.0 if self.model_config.return_type == ModelReturnType.raw else 0.5
            return (prediction > bound).cast("int64").reshape(-1)
        if self.model_config.mode == ModelMode.multiclass_classification:
            return prediction.argmax(-1)
        return prediction

    def __call__(self, x: Any, edge_index: Any, *, target: Tensor | None = None, index: Any = None, **kwargs: Any) -> Any:
        """The explanation of model(x, edge_index, **kwargs).

        target: needed for explanation_type 'phenomenon', classes or values; else what the model predicts. index: the outputs to explain, a number
        or a tensor of them; None for all. kwargs: further arguments of the model.
        """
        prediction = None
        if self.explanation_type == ExplanationType.phenomenon:
            if target is None:
                raise ValueError("the 'target' has to be provided for explanations of type 'phenomenon'")
        else:
            if target is not None:
                warnings.warn("the 'target' is not used for explanations of type 'model', which explain what the model predicts", stacklevel=2)
            prediction = self.get_prediction(x, edge_index, **kwargs)
            target = self.get_target(prediction).realize()
        if isinstance(index, (int, np.integer)):
            index = Tensor(np.array([index]))
        with evaluation(self.model):
            found = self.algorithm(self.model, x, edge_index, target=target, index=index, **kwargs)
        found._model_config = self.model_config
        found.prediction, found.target, found.index = prediction, target, index
        if isinstance(x, dict):
            _fill_hetero(found, x, edge_index, kwargs)
        else:
            found._model_args = list(kwargs)
            found.x, found.edge_index = x, edge_index
            for key, value in kwargs.items():
                found[key] = value
        found.validate_masks()
        return found.threshold(self.threshold_config)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(algorithm={self.algorithm}, explanation_type={self.explanation_type.value})"


def _fill_hetero(found: Any, x: Any, edge_index: Any, kwargs: dict[str, Any]) -> None:
    found._model_args = list(kwargs)
    found.set_value_dict("x", x)
    found.set_value_dict("edge_index", edge_index)
    for key, value in kwargs.items():
        if isinstance(value, dict):
            found.set_value_dict(key[:-5] if key.endswith("_dict") else key, value)
        else:
            found[key] = value


__all__ = ["Explainer"]
