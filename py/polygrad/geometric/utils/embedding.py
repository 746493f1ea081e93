"""What the layers of a model give."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

from ...nn.module import evaluation
from ...tensor import Tensor


def modules_of(model: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """model and the modules in it, each once, in the order of their attributes."""
    from ...nn import Module

    seen = set() if seen is None else seen
    if id(model) in seen:
        return
    seen.add(id(model))
    if isinstance(model, Module):
        yield model
    if isinstance(model, (list, tuple)):
        parts: Any = model
    elif isinstance(model, dict):
        parts = model.values()
    elif isinstance(model, Tensor) or not hasattr(model, "__dict__") or isinstance(model, type) or callable(getattr(model, "__code__", None)):
        return
    else:
        parts = list(vars(model).values())
    for part in parts:
        if isinstance(part, (Module, list, tuple, dict)):
            yield from modules_of(part, seen)


@contextmanager
def _watched(layers: list[Any], hook: Callable[[Any, Any], None]) -> Iterator[None]:
    """While open, hook(layer, output) is called after each layer's forward."""

    def watch(layer: Any) -> Callable[..., Any]:
        forward = layer.forward

        def watched(*args: Any, **kwargs: Any) -> Any:
            out = forward(*args, **kwargs)
            hook(layer, out)
            return out

        return watched

    for layer in layers:
        layer.__dict__["forward"] = watch(layer)
    try:
        yield
    finally:
        for layer in layers:
            layer.__dict__.pop("forward", None)


def _run(model: Any, args: Any, kwargs: Any) -> None:
    with evaluation(model), Tensor.no_grad():
        model(*args, **kwargs)


def get_embeddings(model: Any, *args: Any, **kwargs: Any) -> list[Tensor]:
    """Calls model(*args, **kwargs) in evaluation mode and gives the output of every message passing layer, in order.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GCN
    >>> from polygrad.geometric.utils import get_embeddings
    >>> outs = get_embeddings(GCN(4, 8, num_layers=2), Tensor.ones(3, 4), Tensor([[0, 1, 2], [1, 2, 0]]))
    >>> [t.shape for t in outs]
    [(3, 8), (3, 8)]
    """
    from ..nn.conv.message_passing import MessagePassing

    found: list[Tensor] = []
    layers = [m for m in modules_of(model) if isinstance(m, MessagePassing)]
    if not layers:
        warnings.warn("the model does not have any 'MessagePassing' layers", stacklevel=2)
    with _watched(layers, lambda layer, out: found.append(out[0] if isinstance(out, tuple) else out)):
        _run(model, args, kwargs)
    return found


def get_embeddings_hetero(model: Any, supported_models: Any = None, *args: Any, **kwargs: Any) -> dict[str, list[Tensor]]:
    """As get_embeddings, for layers that give a dict by node type: HGTConv, HANConv, HeteroConv (or those in supported_models), models that
    to_hetero has made, and modules with a ModuleDict, of layers by type.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HGTConv
    >>> from polygrad.geometric.utils import get_embeddings_hetero
    >>> metadata = ["a", "b"], [("a", "to", "b"), ("b", "to", "a")]
    >>> x = {"a": Tensor.ones(2, 4), "b": Tensor.ones(3, 4)}
    >>> edges = {k: Tensor([[0, 1], [1, 0]]) for k in metadata[1]}
    >>> outs = get_embeddings_hetero(HGTConv(4, 8, metadata), None, x, edges)
    >>> {k: [t.shape for t in v] for k, v in outs.items()}
    {'a': [(2, 8)], 'b': [(3, 8)]}
    """
    from ...nn import ModuleDict
    from ..nn import HANConv, HeteroConv, HGTConv
    from ..nn.to_hetero_transformer import HeteroModule

    kinds = (*(supported_models or (HGTConv, HANConv, HeteroConv)), HeteroModule)
    found: dict[str, list[Tensor]] = {}

    def hook(layer: Any, out: Any) -> None:
        for kind, value in out.items() if isinstance(out, dict) else ():
            found.setdefault(kind, []).append(value)

    layers = [m for m in modules_of(model) if isinstance(m, kinds) or any(isinstance(part, ModuleDict) for part in m.__dict__.values())]
    if not layers:
        warnings.warn("the model does not have any heterogenous 'MessagePassing' layers", stacklevel=2)
    with _watched(layers, hook):
        _run(model, args, kwargs)
    return found


__all__ = ["get_embeddings", "get_embeddings_hetero", "modules_of"]
