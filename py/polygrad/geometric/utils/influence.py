"""How much the features of nodes further and further away change a model's output at a node (Liang et al., "Towards quantifying long-range
interactions in graph machine learning", 2025)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ..sampler._draw import draw_seed
from . import _host
from ._subgraph import k_hop_subgraph


def k_hop_subsets_rough(node_idx: int, num_hops: int, edge_index: Tensor, num_nodes: int) -> list[Tensor]:
    """Nodes within 0, 1 ... num_hops steps against the edges: of hop k the senders to those of hop k - 1, which may have been there before."""
    row, col = _host.read(edge_index)
    subsets = [np.array([node_idx], np.int64)]
    inside = np.zeros(num_nodes, bool)
    for _ in range(num_hops):
        inside[:] = False
        inside[subsets[-1]] = True
        subsets.append(row[inside[col]])
    return [Tensor(s) for s in subsets]


def k_hop_subsets_exact(node_idx: int, num_hops: int, edge_index: Tensor, num_nodes: int, device: Any = None) -> list[Tensor]:
    """Nodes at exactly 0, 1 ... num_hops steps against the edges."""
    seen = np.zeros(0, np.int64)
    out = []
    for subset in k_hop_subsets_rough(node_idx, num_hops, edge_index, num_nodes):
        fresh = np.setdiff1d(subset.numpy(), seen)
        seen = np.union1d(seen, fresh)
        out.append(Tensor(fresh))
    return out


def jacobian_l1(model: Any, data: Any, max_hops: int, node_idx: int, device: Any = None, *, vectorize: bool = True) -> Tensor:
    """The sum over outputs at node_idx and over features of |d output / d x_v| for every node v, [V]; computed on the nodes within max_hops."""
    nodes, edges, mapping, _ = k_hop_subgraph(node_idx, max_hops, data.edge_index, relabel_nodes=True, num_nodes=data.num_nodes)
    x = data.x[nodes].detach().realize()
    x.requires_grad = True
    out = model(x, edges)[int(mapping.numpy()[0])]
    slopes = [out[k].gradient(x)[0].abs().sum(-1) for k in range(int(out.shape[0]))]
    total = np.zeros(int(data.num_nodes), np.float32)
    total[nodes.numpy()] = sum(slopes[1:], slopes[0]).numpy()
    return Tensor(total)


def jacobian_l1_agg_per_hop(model: Any, data: Any, max_hops: int, node_idx: int, device: Any = None, vectorize: bool = True) -> Tensor:
    """jacobian_l1 added up over the nodes at 0, 1 ... max_hops steps, [max_hops + 1]."""
    influence = jacobian_l1(model, data, max_hops, node_idx).numpy()
    subsets = k_hop_subsets_exact(node_idx, max_hops, data.edge_index, int(data.num_nodes))
    return Tensor(np.array([influence[s.numpy()].sum() for s in subsets], np.float32))


def avg_total_influence(influence_all_nodes: Tensor, normalize: bool = True) -> Tensor:
    """The mean over nodes of their influences by hops; divided by that of hop 0 if normalize is set."""
    mean = influence_all_nodes.mean(0)
    return mean / mean[0] if normalize else mean


def influence_weighted_receptive_field(T: Tensor) -> float:
    """The mean over nodes of the number of hops that influence comes from."""
    shares = T / T.sum(1, keepdim=True)
    return float((shares * Tensor.arange(int(T.shape[1]))).sum(1).mean().item())


def total_influence(
    model: Any, data: Any, max_hops: int, num_samples: int | None = None, normalize: bool = True, average: bool = True, device: Any = "cpu",
    vectorize: bool = True,
) -> tuple[Tensor, float]:  # fmt: skip
    """Influence by hops, I_k = mean over nodes v of the sum over u at k steps of |d model(x)_v / d x_u|, and the mean hop that it comes from.

    model: (x, edge_index) -> values of nodes [V, C]. num_samples: how many nodes are drawn; None for all. normalize: I_0 is 1. average: False gives
    the influences of each node, [nodes, max_hops + 1]. Cost: C gradients of the model on the surroundings of each node.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.nn import SimpleConv
    >>> from polygrad.geometric.utils import total_influence
    >>> data = Data(x=Tensor.ones(3, 1), edge_index=Tensor([[0, 1, 2], [1, 2, 0]]))
    >>> I, R = total_influence(SimpleConv(combine_root="sum"), data, max_hops=1)
    >>> I.tolist(), R
    ([1.0, 1.0], 0.5)
    """
    count = int(data.num_nodes)
    nodes = np.random.default_rng(draw_seed()).permutation(count)[: count if num_samples is None else num_samples]
    every = Tensor(np.stack([jacobian_l1_agg_per_hop(model, data, max_hops, int(n)).numpy() for n in nodes]))
    return (avg_total_influence(every, normalize) if average else every), influence_weighted_receptive_field(every)


__all__ = [
    "avg_total_influence", "influence_weighted_receptive_field", "jacobian_l1", "jacobian_l1_agg_per_hop", "k_hop_subsets_exact",
    "k_hop_subsets_rough", "total_influence",
]  # fmt: skip
