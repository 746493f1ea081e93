"""Edge masks in a model: one more factor of every message, in the loop that computes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....tensor import Tensor
from ...nn.conv.message_passing import MessagePassing
from ...nn.module_dict import ModuleDict
from ...utils.embedding import modules_of


def layers_of(model: Any) -> list[Any]:
    """The message passing layers of a model, in the order of its attributes."""
    return [m for m in modules_of(model) if isinstance(m, MessagePassing)]


def set_masks(model: Any, mask: Tensor, edge_index: Tensor, apply_sigmoid: bool = True) -> None:
    """Multiplies the messages of every layer of a model with a mask [E], or with its sigmoid. Layers with `explain = False` are left out.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import clear_masks, set_masks
    >>> from polygrad.geometric.nn import SimpleConv
    >>> conv, x, edge_index = SimpleConv(), Tensor([[1.0], [2.0]]), Tensor([[0, 1], [1, 0]])
    >>> set_masks(conv, Tensor([0.5, 0.0]), edge_index, apply_sigmoid=False)
    >>> masked = conv(x, edge_index).tolist()
    >>> clear_masks(conv)
    >>> masked, conv(x, edge_index).tolist()
    ([[0.0], [0.5]], [[2.0], [1.0]])
    """
    kept = edge_index[0] != edge_index[1] if isinstance(edge_index, Tensor) else None
    for layer in layers_of(model):
        if layer.explain is not False:
            layer.explain = True
            layer._edge_mask, layer._loop_mask, layer._apply_sigmoid = mask, kept, apply_sigmoid


def set_hetero_masks(model: Any, mask_dict: Mapping[Any, Any], edge_index_dict: Mapping[Any, Any], apply_sigmoid: bool = True) -> None:
    """As set_masks, for layers that are kept by edge type (HeteroConv, and what to_hetero made).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import clear_masks, set_hetero_masks
    >>> from polygrad.geometric.nn import HeteroConv, SAGEConv
    >>> key, edge_index = ("a", "to", "b"), Tensor([[0, 1], [1, 0]])
    >>> model = HeteroConv({key: SAGEConv(4, 8)})
    >>> set_hetero_masks(model, {key: Tensor.zeros(2)}, {key: edge_index})
    >>> model.convs[key]._explain
    True
    >>> clear_masks(model)
    """
    for module in modules_of(model):
        if not isinstance(module, ModuleDict):
            continue
        for edge_type, mask in mask_dict.items():
            for key in (edge_type, "__".join(edge_type)):
                if key in module and mask is not None:
                    set_masks(module[key], mask, edge_index_dict[edge_type], apply_sigmoid)
                    break


def clear_masks(model: Any) -> None:
    """Takes all masks off again.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import clear_masks, set_masks
    >>> from polygrad.geometric.nn import GCN
    >>> model, edge_index = GCN(4, 8, num_layers=2), Tensor([[0, 1, 2], [1, 2, 0]])
    >>> set_masks(model, Tensor.zeros(3), edge_index)
    >>> clear_masks(model)
    >>> model.convs[0]._explain is None
    True
    """
    for layer in layers_of(model):
        if layer.explain is True:
            layer.explain = None
        layer._edge_mask, layer._loop_mask, layer._explained, layer._apply_sigmoid = None, None, None, True


__all__ = ["clear_masks", "layers_of", "set_hetero_masks", "set_masks"]
