"""Graph diffusion convolution: edges by how far things diffuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..utils import _host, add_self_loops, coalesce, is_undirected
from ..utils.ppr import push_ppr
from ._attributes import edges_of, nodes_of, to_array
from .base_transform import BaseTransform


class GDC(BaseTransform):
    r"""Replaces the edges by those of a sparsified diffusion :math:`S = \sum_k \theta_k T^k`, with weights in edge_attr.

    From "Diffusion Improves Graph Learning", Klicpera et al., 2019.

    self_loop_weight: weight of the self loops added first (0 or None: none). normalization_in, normalization_out: of the transition matrix
    T and of the result: 'sym', 'col', 'row' or None.
    diffusion_kwargs: dict(method='ppr', alpha=0.15): personalised PageRank (with eps=..., for exact=False); dict(method='heat', t=...): heat
    kernel; dict(method='coeff', coeffs=[...]): any weights.
    sparsification_kwargs: dict(method='threshold', avg_degree=64) or (method='threshold', eps=...); dict(method='topk', k=..., dim=0 or 1).
    exact: with dense matrices, O(N^3) time and O(N^2) memory. Else PageRank by pushing, which suits large graphs.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import GDC
    >>> data = Data(edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> GDC(sparsification_kwargs=dict(method="topk", k=2, dim=0))(data).edge_index.shape
    (2, 6)
    """

    def __init__(
        self,
        self_loop_weight: float | None = 1.0,
        normalization_in: str | None = "sym",
        normalization_out: str | None = "col",
        diffusion_kwargs: dict[str, Any] | None = None,
        sparsification_kwargs: dict[str, Any] | None = None,
        exact: bool = True,
    ):
        self.self_loop_weight, self.normalization_in, self.normalization_out = self_loop_weight, normalization_in, normalization_out
        self.diffusion_kwargs = diffusion_kwargs or dict(method="ppr", alpha=0.15)
        self.sparsification_kwargs = sparsification_kwargs or dict(method="threshold", avg_degree=64)
        self.exact = exact
        if self_loop_weight and not exact and self_loop_weight != 1:
            raise ValueError(f"GDC with exact=False takes self_loop_weight=1, not {self_loop_weight}")

    def forward(self, data: Any) -> Any:
        e, n = edges_of(data, self), nodes_of(data, self)
        weight = np.ones(e.shape[1], np.float32)
        if data.edge_attr is not None:
            weight = to_array(data.edge_attr)
            if not self.exact or weight.ndim != 1:
                raise ValueError(f"GDC takes edge weights with one axis, and exact=True with them; edge_attr has the shape {list(weight.shape)}")
        e, weight = self._coalesce(e, weight, n, self.self_loop_weight)
        if self.exact:
            weight = self.transition_matrix(e, weight, n, self.normalization_in)
            e, weight = self._sparsify_dense(self._diffusion(e, weight, n, **self.diffusion_kwargs), **self.sparsification_kwargs)
        else:
            e, weight = self._approximate(e, weight, n, self.normalization_in, **self.diffusion_kwargs)
            e, weight = self._sparsify_sparse(e, weight, n, **self.sparsification_kwargs)
        e, weight = self._coalesce(e, weight, n)
        weight = self.transition_matrix(e, weight, n, self.normalization_out)
        data.edge_index, data.edge_attr = _host.tensor(e), _host.tensor(weight)
        return data

    @staticmethod
    def _coalesce(e: np.ndarray, weight: np.ndarray, n: int, loops: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        index, values = _host.tensor(e), _host.tensor(weight)
        if loops:
            index, values = add_self_loops(index, values, fill_value=loops, num_nodes=n)  # type: ignore[assignment]
        index, values = coalesce(index, values, n)
        return index.numpy(), values.numpy()

    def transition_matrix(self, e: np.ndarray, weight: np.ndarray, n: int, normalization: str | None) -> np.ndarray:
        """The weights, normalised by the degrees of one end of the edges, or of both."""
        if normalization is None:
            return weight
        if normalization not in ("sym", "col", "row"):
            raise ValueError(f"Transition matrix normalization {normalization!r} unknown: use 'sym', 'col', 'row' or None")
        end = e[0] if normalization == "row" else e[1]
        degree = np.bincount(end, weights=weight, minlength=n)
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = degree ** (-0.5 if normalization == "sym" else -1.0)
        inverse[np.isinf(inverse)] = 0.0
        scale = inverse[e[0]] * inverse[e[1]] if normalization == "sym" else inverse[end]
        return (weight * scale).astype(weight.dtype)

    def _diffusion(self, e: np.ndarray, weight: np.ndarray, n: int, method: str, **kwargs: Any) -> np.ndarray:
        matrix = np.zeros((n, n), np.float64)
        np.add.at(matrix, (e[0], e[1]), weight)
        if method == "ppr":
            alpha = kwargs["alpha"]
            out = alpha * np.linalg.inv(np.eye(n) + (alpha - 1) * matrix)
        elif method == "heat":
            scaled = kwargs["t"] * (matrix - np.eye(n))
            symmetric = is_undirected(_host.tensor(e), _host.tensor(weight), n)
            if symmetric:
                values, vectors = np.linalg.eigh(scaled, UPLO="U")
                out = (vectors * np.exp(values)) @ vectors.T
            else:
                out = expm(scaled)
        elif method == "coeff":
            coeffs = list(kwargs["coeffs"])
            power = np.eye(n)
            out = coeffs[0] * power
            for c in coeffs[1:]:
                power = power @ matrix
                out = out + c * power
        else:
            raise ValueError(f"Exact GDC diffusion {method!r} unknown: use 'ppr', 'heat' or 'coeff'")
        return out.astype(weight.dtype)

    def _approximate(
        self, e: np.ndarray, weight: np.ndarray, n: int, normalization: str | None, method: str, **kwargs: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        if method == "heat":
            raise NotImplementedError("Currently no fast heat kernel is implemented: use exact=True")
        if method != "ppr":
            raise ValueError(f"Approximate GDC diffusion {method!r} unknown: use 'ppr', or exact=True")
        if normalization not in ("sym", "col", "row"):
            raise ValueError(f"Transition matrix normalization {normalization!r} unknown with exact=False: use 'sym', 'col' or 'row'")
        degree = np.bincount(e[1], weights=weight, minlength=n)
        ptr, col, share = push_ppr(_host.tensor(e), kwargs["alpha"], kwargs["eps"], None, n)
        row = np.repeat(np.arange(n), np.diff(ptr))
        if normalization == "sym":
            with np.errstate(divide="ignore"):
                inverse = degree**-0.5
            inverse[np.isinf(inverse)] = 0.0
            share = (np.sqrt(degree)[row] * share * inverse[col]).astype(np.float32)
        return np.stack([col, row] if normalization == "col" else [row, col]), share

    def _sparsify_dense(self, matrix: np.ndarray, method: str, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
        n = matrix.shape[0]
        if method == "threshold":
            eps = kwargs["eps"] if "eps" in kwargs else _threshold(matrix.reshape(-1), n * kwargs["avg_degree"])
            e = np.stack(np.nonzero(matrix >= eps))
        elif method == "topk":
            k, dim = min(n, kwargs["k"]), kwargs["dim"]
            if dim not in (0, 1):
                raise ValueError(f"dim must be 0 or 1, not {dim}")
            order = np.argsort(-matrix, axis=dim, kind="stable")
            if dim == 0:
                e = np.stack([order[:k].reshape(-1), np.tile(np.arange(n), k)])
            else:
                e = np.stack([np.repeat(np.arange(n), k), order[:, :k].reshape(-1)])
        else:
            raise ValueError(f"GDC sparsification {method!r} unknown: use 'threshold' or 'topk'")
        return e, matrix[e[0], e[1]]

    def _sparsify_sparse(self, e: np.ndarray, weight: np.ndarray, n: int, method: str, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
        if method == "topk":
            raise NotImplementedError("Sparse topk sparsification not implemented: use exact=True")
        if method != "threshold":
            raise ValueError(f"GDC sparsification {method!r} unknown: use 'threshold' or 'topk'")
        keep = weight >= (kwargs["eps"] if "eps" in kwargs else _threshold(weight, n * kwargs["avg_degree"]))
        return e[:, keep], weight[keep]


def _threshold(values: np.ndarray, wanted: int) -> float:
    """Between the value number `wanted` and the next, from the largest."""
    if wanted >= values.size:
        return -math.inf
    ordered = np.sort(values)[::-1]
    return float(ordered[wanted - 1] + ordered[wanted]) / 2.0


def expm(a: np.ndarray) -> np.ndarray:
    """The exponential of a matrix: a Taylor series of a / 2^k, squared k times."""
    norm = float(np.abs(a).sum(0).max(initial=0.0))
    squarings = max(0, math.ceil(math.log2(norm)) + 2) if norm > 0 else 0
    a = a / 2**squarings
    out = term = np.eye(a.shape[0])
    for k in range(1, 19):
        term = term @ a / k
        out = out + term
    for _ in range(squarings):
        out = out @ out
    return out


__all__ = ["GDC"]
