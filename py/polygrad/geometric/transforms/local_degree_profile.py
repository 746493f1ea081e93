"""The degrees of a node and of its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import beside, edges_of, nodes_of
from .base_transform import BaseTransform


class LocalDegreeProfile(BaseTransform):
    r"""Appends five columns to x: the degree, and the smallest, largest, mean and standard deviation of the neighbours' degrees.

    From "A Simple Yet Effective Baseline for Non-Attributed Graph Classification", Cai and Wang, 2018.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import LocalDegreeProfile
    >>> LocalDegreeProfile()(Data(edge_index=Tensor([[0, 1, 0, 2], [1, 0, 2, 0]]), num_nodes=3)).x.tolist()[0]
    [2.0, 1.0, 1.0, 1.0, 0.0]
    """

    def forward(self, data: Any) -> Any:
        row, col = edges_of(data, self)
        n = nodes_of(data, self)
        degree = _host.count(row, n)
        order = np.argsort(row, kind="stable")
        values = degree[col[order]].astype(np.float64)
        out = np.zeros((n, 5))
        out[:, 0] = degree
        there = np.flatnonzero(degree)
        if there.size:
            begin, counts = _host.starts(degree)[:-1][there], degree[there]
            out[there, 1] = np.minimum.reduceat(values, begin)
            out[there, 2] = np.maximum.reduceat(values, begin)
            out[there, 3] = mean = np.add.reduceat(values, begin) / counts
            var = np.add.reduceat(values * values, begin) / counts - mean * mean
            out[there, 4] = np.where(var > 1e-5, np.sqrt(np.maximum(var, 0.0)), 0.0)
        data.x = beside(data.x, out.astype(np.float32))
        return data


__all__ = ["LocalDegreeProfile"]
