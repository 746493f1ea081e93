"""Models whose first arguments are masks, as the library Captum calls them, and its inputs and outputs in this library's terms.

Each mask has a first axis of size 1. A mask of nodes stands for the features; a mask of edges weighs the messages.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from ....nn import Module
from ....tensor import Tensor
from ..config import ModelMode, ModelReturnType
from .masks import clear_masks, set_hetero_masks, set_masks


class MaskLevelType(Enum):
    """What is masked."""

    node = "node"
    edge = "edge"
    node_and_edge = "node_and_edge"

    @property
    def with_edge(self) -> bool:
        return self is not MaskLevelType.node

    @property
    def with_node(self) -> bool:
        return self is not MaskLevelType.edge


class CaptumModel(Module):
    """model with masks as first arguments: (features,) of nodes, (mask, features) of edges, (features, mask) of both; then edge_index and the
    rest. output_idx: the rows that are returned.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GCNConv
    >>> from polygrad.geometric.nn.models import to_captum_model
    >>> model = to_captum_model(GCNConv(2, 3), "edge", output_idx=0)
    >>> model(Tensor.ones(1, 2), Tensor.ones(4, 2), Tensor([[0, 1], [1, 2]])).shape
    (1, 3)
    """

    def __init__(self, model: Any, mask_type: str | MaskLevelType, output_idx: Any = None, model_config: Any = None):
        super().__init__()
        self.mask_type, self.model, self.output_idx, self.model_config = MaskLevelType(mask_type), model, output_idx, model_config

    def forward(self, mask: Tensor, *args: Any) -> Tensor:
        if mask.shape[0] != 1 or (self.mask_type is MaskLevelType.node_and_edge and args[0].shape[0] != 1):
            raise AssertionError("Dimension 0 of input should be 1")
        if self.mask_type is MaskLevelType.edge:
            set_masks(self.model, mask.squeeze(0), args[1], apply_sigmoid=False)
        elif self.mask_type is MaskLevelType.node_and_edge:
            set_masks(self.model, args[0].squeeze(0), args[1], apply_sigmoid=False)
            args = args[1:]
        return self.postprocess(self.model(*args) if self.mask_type is MaskLevelType.edge else self.model(mask.squeeze(0), *args))

    def postprocess(self, x: Tensor) -> Tensor:
        """The chosen rows; a probability of one class becomes those of two."""
        if self.mask_type.with_edge:
            clear_masks(self.model)
        if self.output_idx is not None:
            single = isinstance(self.output_idx, int) or self.output_idx.ndim == 0
            x = x[self.output_idx]
            x = x.unsqueeze(0) if single else x
        if self.model_config is not None and self.model_config.mode == ModelMode.binary_classification:
            if self.model_config.return_type != ModelReturnType.probs:
                raise AssertionError("a binary classification must return probabilities")
            x = x.reshape(-1, 1)
            x = Tensor.cat(1 - x, x, dim=-1)
        return x


class CaptumHeteroModel(CaptumModel):
    """The same for a graph of several types: a mask for each type of nodes, then one for each type of edges, in the order of metadata."""

    def __init__(self, model: Any, mask_type: str | MaskLevelType, output_idx: Any, metadata: Any, model_config: Any = None):
        super().__init__(model, mask_type, output_idx, model_config)
        self.node_types, self.edge_types = metadata

    def forward(self, *args: Any) -> Tensor:  # type: ignore[override]
        nodes = len(self.node_types) if self.mask_type.with_node else 0
        edges = len(self.edge_types) if self.mask_type.with_edge else 0
        if len(args) < nodes + edges + (1 if nodes else 2):
            raise AssertionError(f"{nodes + edges} masks are needed, and the graph behind them")
        masks = [m.squeeze(0) for m in args[: nodes + edges]]
        rest = args[nodes + edges :]
        x_dict, rest = (dict(zip(self.node_types, masks)), rest) if nodes else (rest[0], rest[1:])
        if edges:
            set_hetero_masks(self.model, dict(zip(self.edge_types, masks[nodes:])), rest[0])
        return self.postprocess(self.model(x_dict, *rest))


def to_captum_model(
    model: Any, mask_type: str | MaskLevelType = MaskLevelType.edge, output_idx: Any = None, metadata: Any = None
) -> CaptumModel | CaptumHeteroModel:
    """model as Captum calls it; with metadata (node types, edge types) one of several types.

    Shapes: the model takes a mask of the edges [1, E] ("edge"), x [1, V, F] ("node"), or both, and gives [V, classes], or the row of
    output_idx [1, classes].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GCN, to_captum_model
    >>> model = to_captum_model(GCN(4, 8, num_layers=2, out_channels=3), mask_type="node", output_idx=1)
    >>> model(Tensor.ones(1, 3, 4), Tensor([[0, 1, 2], [1, 2, 0]])).shape
    (1, 3)
    """
    return CaptumModel(model, mask_type, output_idx) if metadata is None else CaptumHeteroModel(model, mask_type, output_idx, metadata)


def to_captum_input(x: Any, edge_index: Any, mask_type: str | MaskLevelType, *args: Any) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
    """The masks, and the further arguments, of a call of such a model.

    Shapes: x [V, F] and edge_index [2, E], or dictionaries of them by type; out with a first axis of size 1.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import to_captum_input
    >>> inputs, further = to_captum_input(Tensor.ones(3, 4), Tensor([[0, 1, 2], [1, 2, 0]]), "node_and_edge")
    >>> [t.shape for t in inputs], [t.shape for t in further]
    ([(1, 3, 4), (1, 3)], [(2, 3)])
    """
    kind = MaskLevelType(mask_type)
    several = isinstance(x, dict) and isinstance(edge_index, dict)
    if not several and not (isinstance(x, Tensor) and isinstance(edge_index, Tensor)):
        raise ValueError(f"'x' and 'edge_index' need to be either 'Dict' or 'Tensor', got ({type(x)}, {type(edge_index)})")
    features, pairs = (list(x.values()), list(edge_index.values())) if several else ([x], [edge_index])
    masks = [f.unsqueeze(0) for f in features] if kind.with_node else []
    if kind.with_edge:
        masks += [type(features[0])(Tensor.ones(1, p.shape[1]).numpy(), requires_grad=True) for p in pairs]
    return tuple(masks), (*(() if kind.with_node else (x,)), edge_index, *args)


def captum_output_to_dicts(captum_attrs: Any, mask_type: str | MaskLevelType, metadata: Any) -> tuple[Any, Any]:
    """Attributions by type of nodes and by type of edges; None for what was not masked.

    Shapes: attributions [1, V_type, F] and [1, E_type] in the order of the metadata; out dictionaries by type, without the first axis.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import captum_output_to_dicts
    >>> nodes, edges = captum_output_to_dicts((Tensor.ones(1, 3, 4), Tensor.ones(1, 2, 4)), "node", (["a", "b"], [("a", "to", "b")]))
    >>> nodes["a"].shape, nodes["b"].shape, edges
    ((3, 4), (2, 4), None)
    """
    kind, (node_types, edge_types) = MaskLevelType(mask_type), metadata
    values = [a.squeeze(0) for a in captum_attrs]
    nodes = len(node_types) if kind.with_node else 0
    if len(values) != nodes + (len(edge_types) if kind.with_edge else 0):
        raise AssertionError(f"{len(values)} attributions do not fit the types {metadata}")
    return dict(zip(node_types, values)) if nodes else None, dict(zip(edge_types, values[nodes:])) if kind.with_edge else None


def convert_captum_output(captum_attrs: Any, mask_type: str | MaskLevelType, metadata: Any = None) -> tuple[Any, Any]:
    """Attributions of nodes and of edges; by type if metadata is given."""
    if metadata is not None:
        return captum_output_to_dicts(captum_attrs, mask_type, metadata)
    kind = MaskLevelType(mask_type)
    values = [a.squeeze(0) for a in captum_attrs]
    return values[0] if kind.with_node else None, values[-1] if kind.with_edge else None


__all__ = [
    "CaptumHeteroModel", "CaptumModel", "MaskLevelType", "captum_output_to_dicts", "convert_captum_output", "to_captum_input", "to_captum_model",
]  # fmt: skip
