"""The largest eigenvalue of the Laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import edges_of, nodes_of, to_array
from .base_transform import BaseTransform


class LaplacianLambdaMax(BaseTransform):
    """Sets lambda_max to the largest eigenvalue of the Laplacian (see get_laplacian for normalization), as ChebConv wants it.

    edge_attr is used as weights if there is one number an edge. is_undirected: the graph is undirected, which is faster.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import LaplacianLambdaMax
    >>> data = Data(edge_index=Tensor([[0, 1], [1, 0]]), num_nodes=2)
    >>> round(LaplacianLambdaMax()(data).lambda_max, 4)
    2.0
    """

    def __init__(self, normalization: str | None = None, is_undirected: bool = False):
        if normalization not in (None, "sym", "rw"):
            raise ValueError(f"normalization must be None, 'sym' or 'rw', not {normalization!r}")
        self.normalization, self.is_undirected = normalization, is_undirected

    def forward(self, data: Any) -> Any:
        e, n = edges_of(data, self), nodes_of(data, self)
        weight = None if data.edge_attr is None else to_array(data.edge_attr).reshape(-1)
        if weight is None or weight.size != e.shape[1]:
            weight = np.ones(e.shape[1])
        index, values = self._laplacian(e, weight.astype(np.float64), n)
        symmetric = self.is_undirected and self.normalization != "rw"
        if n <= 256:
            dense = np.zeros((n, n))
            np.add.at(dense, (index[0], index[1]), values)
            found = np.linalg.eigvalsh(dense) if symmetric else np.linalg.eigvals(dense)
            data.lambda_max = float(np.real(found[np.argmax(np.abs(found))]))
            return data
        sparse, linalg = _host.library("scipy.sparse", "LaplacianLambdaMax"), _host.library("scipy.sparse.linalg", "LaplacianLambdaMax")
        matrix = sparse.coo_matrix((values, (index[0], index[1])), (n, n)).tocsr()
        find = linalg.eigsh if symmetric else linalg.eigs
        start = _host.generator().random(n)
        data.lambda_max = float(np.real(find(matrix, k=1, which="LM", return_eigenvectors=False, v0=start)[0]))
        return data

    def _laplacian(self, e: np.ndarray, weight: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        keep = e[0] != e[1]
        e, weight = e[:, keep], weight[keep]
        degree = np.bincount(e[0], weights=weight, minlength=n)
        diagonal: np.ndarray = degree
        if self.normalization is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                inverse = degree ** (-0.5 if self.normalization == "sym" else -1.0)
            inverse[np.isinf(inverse)] = 0.0
            weight = inverse[e[0]] * weight * (inverse[e[1]] if self.normalization == "sym" else 1.0)
            diagonal = np.ones(n)
        nodes = np.arange(n, dtype=e.dtype)
        return np.concatenate([e, np.stack([nodes, nodes])], axis=1), np.concatenate([-weight, diagonal])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(normalization={self.normalization})"


__all__ = ["LaplacianLambdaMax"]
