"""Aggregations scaled by the number of items."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....tensor import Tensor
from ..resolver import aggregation_resolver
from .base import Aggregation

SCALERS = ("identity", "amplification", "attenuation", "linear", "inverse_linear")


class DegreeScalerAggregation(Aggregation):
    """One or several aggregations, each times one or several functions of the number d of items, put beside each other.

    scaler: of 'identity' (1), 'amplification' (log(d + 1) / D), 'attenuation' (D / log(d + 1)), 'linear' (d / M) and 'inverse_linear'
    (M / d), M being the mean degree of the training set and D the mean of log(degree + 1). aggr: an aggregation, its name, or a list.
    deg: histogram of the degrees in the training set. train_norm: M and D are learned. aggr_kwargs: arguments of the aggregations.

    Shapes: x [N, F], index [N] of rows; out [R, aggregations * scalers * F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DegreeScalerAggregation
    >>> aggr = DegreeScalerAggregation(["mean", "max"], ["identity", "linear", "attenuation"], deg=Tensor([0, 3, 2]))
    >>> aggr(Tensor.ones(3, 4), Tensor([0, 0, 1])).shape
    (2, 24)
    """

    def __init__(self, aggr: Any, scaler: Any, deg: Tensor, train_norm: bool = False, aggr_kwargs: Any = None):
        if isinstance(aggr, (str, Aggregation)):
            self.aggr = aggregation_resolver(aggr, **(aggr_kwargs or {}))
        elif isinstance(aggr, (tuple, list)):
            from .multi import MultiAggregation

            self.aggr = MultiAggregation(list(aggr), aggr_kwargs)
        else:
            raise ValueError(f"aggr must be a name, a list or an Aggregation, not {type(aggr).__name__}")
        self.scaler = [scaler] if isinstance(scaler, str) else list(scaler)
        for name in self.scaler:
            if name not in SCALERS:
                raise ValueError(f"unknown scaler {name!r}: use {', '.join(SCALERS)}")
        histogram = np.asarray(deg.numpy() if isinstance(deg, Tensor) else deg, np.float64)
        nodes, degrees = histogram.sum(), np.arange(histogram.size)
        self.init_avg_deg_lin = float((degrees * histogram).sum() / nodes)
        self.init_avg_deg_log = float((np.log(degrees + 1) * histogram).sum() / nodes)
        self.avg_deg_lin = Tensor([self.init_avg_deg_lin], requires_grad=train_norm)
        self.avg_deg_log = Tensor([self.init_avg_deg_log], requires_grad=train_norm)

    def reset_parameters(self) -> None:
        self.aggr.reset_parameters()
        self.avg_deg_lin.assign(Tensor([self.init_avg_deg_lin]))
        self.avg_deg_log.assign(Tensor([self.init_avg_deg_log]))

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        out = self.aggr(x, index, ptr, dim_size, dim)
        shape = [1] * out.ndim
        shape[dim] = -1
        deg = self.rows(x, index, ptr, dim_size, dim).count.cast(out.dtype).reshape(*shape)
        outs = [self._scale(name, out, deg) for name in self.scaler]
        return Tensor.cat(*outs, dim=-1) if len(outs) > 1 else outs[0]

    def _scale(self, name: str, out: Tensor, deg: Tensor) -> Tensor:
        if name == "identity":
            return out
        if name == "amplification":
            return out * ((deg + 1).log() / self.avg_deg_log)
        if name == "attenuation":
            return out * (self.avg_deg_log / (deg.maximum(1) + 1).log())
        if name == "linear":
            return out * (deg / self.avg_deg_lin)
        return out * (self.avg_deg_lin / deg.maximum(1))


__all__ = ["DegreeScalerAggregation"]
