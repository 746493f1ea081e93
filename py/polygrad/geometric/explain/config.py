"""What is to be explained, of which model, and how masks are cut off: settings that are checked when they are made."""

from __future__ import annotations

from enum import Enum
from typing import Any


class ExplanationType(Enum):
    """model: what the model predicts. phenomenon: the true target.

    >>> from polygrad.geometric.explain import ExplanationType
    >>> ExplanationType("model") is ExplanationType.model, [t.value for t in ExplanationType]
    (True, ['model', 'phenomenon'])
    """

    model = "model"
    phenomenon = "phenomenon"


class MaskType(Enum):
    """object: a number for each node (or edge). attributes: one for each feature of each node. common_attributes: one for each feature.

    >>> from polygrad.geometric.explain import MaskType
    >>> [t.value for t in MaskType]
    ['object', 'common_attributes', 'attributes']
    """

    object = "object"
    common_attributes = "common_attributes"
    attributes = "attributes"


class ModelMode(Enum):
    """What the model predicts.

    >>> from polygrad.geometric.explain import ModelMode
    >>> [t.value for t in ModelMode]
    ['binary_classification', 'multiclass_classification', 'regression']
    """

    binary_classification = "binary_classification"
    multiclass_classification = "multiclass_classification"
    regression = "regression"


class ModelTaskLevel(Enum):
    """What the model predicts it for.

    >>> from polygrad.geometric.explain import ModelTaskLevel
    >>> [t.value for t in ModelTaskLevel]
    ['node', 'edge', 'graph']
    """

    node = "node"
    edge = "edge"
    graph = "graph"


class ModelReturnType(Enum):
    """What the numbers that the model gives are.

    >>> from polygrad.geometric.explain import ModelReturnType
    >>> [t.value for t in ModelReturnType]
    ['raw', 'probs', 'log_probs']
    """

    raw = "raw"
    probs = "probs"
    log_probs = "log_probs"


class ThresholdType(Enum):
    """hard: 1 above the value, else 0. topk: the largest values are kept, the others are 0. topk_hard: 1 for the largest, 0 for the others.

    >>> from polygrad.geometric.explain import ThresholdType
    >>> [t.value for t in ThresholdType]
    ['hard', 'topk', 'topk_hard']
    """

    hard = "hard"
    topk = "topk"
    topk_hard = "topk_hard"


class _Config:
    """Settings that can be given as an object, a dict of its arguments, or a tuple of them."""

    @classmethod
    def cast(cls, *args: Any, **kwargs: Any) -> Any:
        """An object of the class out of one, a dict, a tuple, or the arguments; None stays None.

        >>> from polygrad.geometric.explain import ThresholdConfig
        >>> ThresholdConfig.cast(("topk", 3)).value, ThresholdConfig.cast(None)
        (3, None)
        """
        if len(args) == 1 and not kwargs:
            (only,) = args
            if only is None or isinstance(only, cls):
                return only
            if isinstance(only, (tuple, list)):
                return cls(*only)
            if isinstance(only, dict):
                return cls(**only)
        return cls(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={(value.value if isinstance(value, Enum) else value)!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({inside})"


class ExplainerConfig(_Config):
    """What is to be explained.

    explanation_type: 'model' explains what the model predicts, 'phenomenon' the true target. node_mask_type: None, 'object', 'attributes' or
    'common_attributes'. edge_mask_type: None or 'object'. One of the two masks is needed.

    >>> from polygrad.geometric.explain import ExplainerConfig
    >>> ExplainerConfig("model", edge_mask_type="object")
    ExplainerConfig(explanation_type='model', node_mask_type=None, edge_mask_type='object')
    """

    def __init__(self, explanation_type: Any, node_mask_type: Any = None, edge_mask_type: Any = None):
        node = None if node_mask_type is None else MaskType(node_mask_type)
        edge = None if edge_mask_type is None else MaskType(edge_mask_type)
        if edge not in (None, MaskType.object):
            raise ValueError(f"'edge_mask_type' needs be None or of type 'object' (got {edge.value!r})")
        if node is None and edge is None:
            raise ValueError("Either 'node_mask_type' or 'edge_mask_type' must be provided")
        self.explanation_type = ExplanationType(explanation_type)
        self.node_mask_type, self.edge_mask_type = node, edge


class ModelConfig(_Config):
    """What the model does.

    mode: 'binary_classification', 'multiclass_classification' or 'regression'. task_level: 'node', 'edge' or 'graph'. return_type: 'raw', 'probs'
    or 'log_probs'; regression gives 'raw', binary classification 'raw' or 'probs'.

    >>> from polygrad.geometric.explain import ModelConfig
    >>> ModelConfig("regression", "graph")
    ModelConfig(mode='regression', task_level='graph', return_type='raw')
    """

    def __init__(self, mode: Any, task_level: Any, return_type: Any = None):
        self.mode, self.task_level = ModelMode(mode), ModelTaskLevel(task_level)
        if return_type is None and self.mode == ModelMode.regression:
            return_type = ModelReturnType.raw
        self.return_type = ModelReturnType(return_type)
        if self.mode == ModelMode.regression and self.return_type != ModelReturnType.raw:
            raise ValueError(f"A model for regression needs to return raw outputs (got {self.return_type.value!r})")
        if self.mode == ModelMode.binary_classification and self.return_type == ModelReturnType.log_probs:
            raise ValueError("A model for binary classification needs to return raw outputs or probabilities (got 'log_probs')")


class ThresholdConfig(_Config):
    """How masks are cut off.

    threshold_type: 'hard' with a value between 0 and 1, 'topk' or 'topk_hard' with a number of entries; see ThresholdType.

    >>> from polygrad.geometric.explain import ThresholdConfig
    >>> ThresholdConfig("hard", 0.5)
    ThresholdConfig(type='hard', value=0.5)
    """

    def __init__(self, threshold_type: Any, value: Any):
        self.type, self.value = ThresholdType(threshold_type), value
        if not isinstance(value, (int, float)):
            raise ValueError(f"Threshold value must be a float or int, not a {type(value).__name__}")
        if self.type == ThresholdType.hard:
            if not 0 <= value <= 1:
                raise ValueError(f"Threshold value must be between 0 and 1 for a hard threshold (got {value})")
        elif not isinstance(value, int):
            raise ValueError(f"Threshold value needs to be an integer for {self.type.value!r}, a number of entries (got {value})")
        elif value <= 0:
            raise ValueError(f"Threshold value needs to be positive for {self.type.value!r} (got {value})")


__all__ = [
    "ExplainerConfig", "ExplanationType", "MaskType", "ModelConfig", "ModelMode", "ModelReturnType", "ModelTaskLevel", "ThresholdConfig",
    "ThresholdType",
]  # fmt: skip
