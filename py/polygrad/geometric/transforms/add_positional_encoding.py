"""Where a node is, as features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graphs import Graph
from ...tensor import Tensor
from .._product import product
from ..utils import _host
from ._attributes import edges_of, node_features, nodes_of, to_array
from .base_transform import BaseTransform


def sym_laplacian(e: np.ndarray, weight: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The entries of I - D^-1/2 A D^-1/2, on the host."""
    keep = e[0] != e[1]
    e, weight = e[:, keep], weight[keep]
    degree = np.bincount(e[0], weights=weight, minlength=n)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = degree**-0.5
    root[np.isinf(root)] = 0.0
    nodes = np.arange(n, dtype=e.dtype)
    index = np.concatenate([e, np.stack([nodes, nodes])], axis=1)
    return index, np.concatenate([-root[e[0]] * weight * root[e[1]], np.ones(n)])


class AddLaplacianEigenvectorPE(BaseTransform):
    """Adds the eigenvectors of the symmetrically normalised Laplacian that belong to its k smallest eigenvalues but the first, with
    random signs.

    attr_name: the attribute that they become, or None to append them to x. is_undirected: the graph is undirected, which is faster.
    Further arguments go to scipy's eigs or eigsh, which graphs of 100 nodes and more use.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import AddLaplacianEigenvectorPE
    >>> data = Data(edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> AddLaplacianEigenvectorPE(k=2, is_undirected=True)(data).laplacian_eigenvector_pe.shape
    (3, 2)
    """

    SPARSE_THRESHOLD = 100  # from here on scipy, if it is there
    DENSE_LIMIT = 4096  # up to here without it

    def __init__(self, k: int, attr_name: str | None = "laplacian_eigenvector_pe", is_undirected: bool = False, **kwargs: Any):
        self.k, self.attr_name, self.is_undirected, self.kwargs = k, attr_name, is_undirected, kwargs

    def forward(self, data: Any) -> Any:
        e, n = edges_of(data, self), nodes_of(data, self)
        weight = np.ones(e.shape[1]) if data.edge_weight is None else to_array(data.edge_weight).astype(np.float64)
        index, values = sym_laplacian(e, weight, n)
        eigenvalues, vectors = self._eigenvectors(index, values, n)
        vectors = np.real(vectors[:, np.argsort(eigenvalues.real, kind="stable")])
        sign = -1.0 + 2.0 * _host.generator().integers(0, 2, self.k)
        pe = vectors[:, 1 : self.k + 1]
        return node_features(data, (pe * sign[: pe.shape[1]]).astype(np.float32), self.attr_name)

    def _eigenvectors(self, index: np.ndarray, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        if n >= self.SPARSE_THRESHOLD:
            try:
                sparse, linalg = _host.library("scipy.sparse", "eigenvectors"), _host.library("scipy.sparse.linalg", "eigenvectors")
            except ImportError:
                if n > self.DENSE_LIMIT:
                    raise ImportError(f"the eigenvectors of a graph of {n} nodes need scipy, which is not installed") from None
            else:
                matrix = sparse.coo_matrix((values, (index[0], index[1])), (n, n)).tocsr()
                find, which = (linalg.eigsh, "SA") if self.is_undirected else (linalg.eigs, "SR")
                start = {"v0": _host.generator().random(n), **self.kwargs}  # scipy's own start would not follow the seed
                return find(matrix, k=self.k + 1, which=which, return_eigenvectors=True, **start)
        dense = np.zeros((n, n))
        np.add.at(dense, (index[0], index[1]), values)
        out = np.linalg.eigh(dense) if self.is_undirected else np.linalg.eig(dense)
        return out[0], out[1]


class AddRandomWalkPE(BaseTransform):
    r"""Adds the probabilities that a random walk is back at its node after 1, 2 ... walk_length steps: the diagonals of :math:`(D^{-1} A)^k`.

    attr_name: the attribute that they become, or None to append them to x.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import AddRandomWalkPE
    >>> AddRandomWalkPE(2)(Data(edge_index=Tensor([[0, 1], [1, 0]]), num_nodes=2)).random_walk_pe.tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    DENSE_LIMIT = 2000
    COLUMNS = 256

    def __init__(self, walk_length: int, attr_name: str | None = "random_walk_pe"):
        self.walk_length, self.attr_name = walk_length, attr_name

    def forward(self, data: Any) -> Any:
        e, n = edges_of(data, self), nodes_of(data, self)
        weight = np.ones(e.shape[1], np.float32) if data.edge_weight is None else to_array(data.edge_weight)
        degree = np.maximum(np.bincount(e[0], weights=weight, minlength=n), 1.0)
        value = (1.0 / degree)[e[0]].astype(np.float32)
        walk = self._dense if n <= self.DENSE_LIMIT else self._sparse
        return node_features(data, walk(e, value, n), self.attr_name)

    def _dense(self, e: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
        adj = np.zeros((n, n), np.float32)
        adj[e[0], e[1]] = value
        out, columns = adj, [np.diagonal(adj)]
        for _ in range(self.walk_length - 1):
            out = out @ adj
            columns.append(np.diagonal(out))
        return np.stack(columns, axis=-1)

    def _sparse(self, e: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
        """Powers of the sparse matrix, as long as they are no more than some of its columns would be: powers fill up."""
        step, weight = Graph(_host.tensor(e), n), _host.tensor(value)
        ways = np.bincount(e[0], minlength=n)
        power, x, pe = step, weight, np.zeros((n, self.walk_length), np.float32)
        for k in range(self.walk_length):
            if k:
                if ways[e[1]].sum() > self.COLUMNS * n:
                    return self._columns(step, weight)
                power, values = product(power, x, step, weight)
                assert values is not None  # both factors have values
                x = values
                e, value = _host.edges(power), x.numpy()
            back = np.flatnonzero(e[0] == e[1])
            pe[:, k] = np.bincount(e[0][back], weights=value[back], minlength=n)
        return pe

    def _columns(self, step: Graph, weight: Tensor) -> np.ndarray:
        """Some columns of the powers at a time: memory O(N), where powers of the matrix itself would fill up."""
        n = int(step.num_src)
        graph = step.reversed()  # row i of the matrix gathers from its out-neighbours
        weight = weight.reshape(-1, 1)
        pe = np.zeros((n, self.walk_length), np.float32)
        for begin in range(0, n, self.COLUMNS):
            end = min(begin + self.COLUMNS, n)
            block = np.zeros((n, self.COLUMNS), np.float32)
            block[np.arange(begin, end), np.arange(end - begin)] = 1.0
            x = Tensor(block)
            for k in range(self.walk_length):
                x = graph.sum(weight * graph.src(x)).realize()
                pe[begin:end, k] = np.diagonal(x[begin:end].numpy())
        return pe


__all__ = ["AddLaplacianEigenvectorPE", "AddRandomWalkPE"]
