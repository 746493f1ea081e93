"""Activations, aggregations and normalisations by name."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...tensor import Tensor


def normalize_string(s: str) -> str:
    """Lower case, without dashes, underscores and spaces."""
    return s.lower().replace("-", "").replace("_", "").replace(" ", "")


def _resolve(query: str, names: Any, suffix: str) -> str | None:
    """The one of names that query means, with or without the suffix."""
    wanted, suffix = normalize_string(query), normalize_string(suffix)
    for name in names:
        plain = normalize_string(name)
        if wanted in (plain, plain.replace(suffix, "")):
            return name
    return None


def _unknown(query: str, names: Any) -> ValueError:
    return ValueError(f"Could not resolve {query!r} among choices {', '.join(sorted(names))}")


def resolver(classes: list[Any], class_dict: dict[str, Any], query: Any, base_cls: Any, base_cls_repr: str | None, *args: Any, **kwargs: Any) -> Any:
    """An object of the class that query names, of class_dict by its keys or of classes by their names, which may be written without that of the
    base; functions and what is not a name are given back.

    >>> from polygrad.geometric.nn.resolver import resolver
    >>> resolver([dict, list], {}, "List", None, None, "ab")
    ['a', 'b']
    """
    if not isinstance(query, str):
        return query
    suffix = base_cls_repr if base_cls_repr is not None else getattr(base_cls, "__name__", "")
    names = {c.__name__: c for c in classes}
    found = class_dict.get(normalize_string(query))
    if found is None:
        name = _resolve(query, names, suffix)
        if name is None:
            raise _unknown(query, [*names, *class_dict])
        found = names[name]
    return found(*args, **kwargs) if isinstance(found, type) else found


def swish(x: Tensor) -> Tensor:
    """x * sigmoid(x).

    Shapes: any.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.resolver import swish
    >>> swish(Tensor([0.0])).tolist()
    [0.0]
    """
    return x * x.sigmoid()


_ACTIVATIONS = (
    "ReLU", "ReLU6", "LeakyReLU", "PReLU", "RReLU", "ELU", "CELU", "SELU", "GELU", "SiLU", "Mish", "Sigmoid", "LogSigmoid", "Hardsigmoid",
    "Hardswish", "Hardtanh", "Hardshrink", "Softshrink", "Tanhshrink", "Threshold", "Softplus", "Softsign", "Tanh", "GLU", "Softmax", "Softmin",
    "LogSoftmax",
)  # fmt: skip


def activation_resolver(query: Any = "relu", *args: Any, **kwargs: Any) -> Any:
    """An activation by name ('relu', 'leaky_relu', 'LeakyReLU', ...); anything but a string is given back.

    >>> from polygrad.geometric.nn.resolver import activation_resolver
    >>> type(activation_resolver("leaky_relu", 0.1)).__name__
    'LeakyReLU'
    """
    if not isinstance(query, str):
        return query
    if normalize_string(query) == "swish":
        return swish
    name = _resolve(query, _ACTIVATIONS, "Act")
    if name is None:
        raise _unknown(query, [*_ACTIVATIONS, "swish"])
    return getattr(nn, name)(*args, **kwargs)


def aggregation_resolver(query: Any, *args: Any, **kwargs: Any) -> Any:
    """An aggregation by name ('mean', 'MeanAggregation', ...), or several by a list; anything else is given back.

    >>> from polygrad.geometric.nn.resolver import aggregation_resolver
    >>> aggregation_resolver("mean")
    MeanAggregation()
    """
    from . import aggr

    if isinstance(query, (list, tuple)):
        return aggr.MultiAggregation(query, *args, **kwargs)
    if not isinstance(query, str):
        return query
    name = "SumAggregation" if normalize_string(query) == "add" else _resolve(query, aggr.__all__, "Aggregation")
    if name is None:
        raise _unknown(query, aggr.__all__)
    return getattr(aggr, name)(*args, **kwargs)


def normalization_resolver(query: Any, *args: Any, **kwargs: Any) -> Any:
    """A normalisation by name ('batch_norm', 'BatchNorm', ...); anything but a string is given back.

    >>> from polygrad.geometric.nn.resolver import normalization_resolver
    >>> type(normalization_resolver("layer_norm", 8)).__name__
    'LayerNorm'
    """
    if not isinstance(query, str):
        return query
    from . import norm

    name = _resolve(query, norm.__all__, "Norm")
    if name is None:
        raise _unknown(query, norm.__all__)
    return getattr(norm, name)(*args, **kwargs)


__all__ = ["activation_resolver", "aggregation_resolver", "normalization_resolver", "swish"]
