"""The Laplacian of a triangle mesh."""

from __future__ import annotations

import numpy as np

from ...graphs import Graph
from ...tensor import Tensor
from . import _host
from .laplacian import inverse_or_zero
from .loop import add_self_loops
from .undirected import to_undirected

_CORNERS = ((0, 2, 1), (1, 0, 2), (0, 1, 2))  # left, centre, right: the corner opposite to the edge left - right


def get_mesh_laplacian(pos: Tensor, face: Tensor, normalization: str | None = None) -> tuple[Tensor, Tensor]:
    r"""The cotangent Laplacian of a mesh, as edges with weights; the diagonal follows the edges.

    :math:`L_{ij} = \frac{1}{2}(\cot\alpha_{ij} + \cot\beta_{ij})` with the angles opposite to the edge, :math:`L_{ii} = -\sum_j L_{ij}`.
    normalization 'sym': :math:`M^{-1/2} L M^{-1/2}`, 'rw': :math:`M^{-1} L`, with the areas M of the nodes' cells.

    pos: [N, 3], face: [3, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import get_mesh_laplacian
    >>> pos = Tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> get_mesh_laplacian(pos, Tensor([[0], [1], [2]]))[1].tolist()
    [0.5, 0.5, 0.5, 0.0, 0.5, 0.0, -1.0, -0.5, -0.5]
    """
    if int(pos.shape[1]) != 3 or int(face.shape[0]) != 3:
        raise ValueError(f"a mesh has positions [N, 3] and faces [3, F], not {pos.shape} and {face.shape}")
    f = _host.read(face)
    n = pos.shape[0]
    edges = _host.tensor(np.concatenate([f[:2], f[1:], f[::2]], axis=1))
    dots, crosses = [], []
    for left, centre, right in _CORNERS:
        a, b = (pos[face[k]] - pos[face[centre]] for k in (left, right))
        dots.append((a * b).sum(1))
        crosses.append(_cross(a, b).square().sum(1).sqrt())
    dot, cross = Tensor.cat(*dots), Tensor.cat(*crosses)
    edge_index, weight = to_undirected(edges, dot / cross / 2.0, num_nodes=n)
    diagonal = -Graph(edge_index, n).sum(weight, "out")
    full, _ = add_self_loops(edge_index, num_nodes=n)
    weight = _host.join(weight, diagonal)
    if normalization is None:
        return full, weight
    _, area = to_undirected(edges, cross / 12.0, num_nodes=n)
    cell = Graph(edge_index, n).sum(area, "out")
    graph = Graph(full, n)
    if normalization == "sym":
        root = inverse_or_zero(cell, -0.5)
        return full, graph.src(root) * weight * graph.dst(root)
    if normalization == "rw":
        return full, graph.src(inverse_or_zero(cell)) * weight
    raise ValueError(f"normalization must be None, 'sym' or 'rw', not {normalization!r}")


def _cross(a: Tensor, b: Tensor) -> Tensor:
    return a.roll(-1, 1) * b.roll(-2, 1) - a.roll(-2, 1) * b.roll(-1, 1)


__all__ = ["get_mesh_laplacian"]
