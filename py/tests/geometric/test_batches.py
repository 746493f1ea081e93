"""Operations on batches of a loader, whose numbers of nodes and edges are symbolic, give what they give on the same batch with plain sizes."""

from types import SimpleNamespace

import numpy as np
import pytest

from polygrad import Graph, Tensor, nn
from polygrad.geometric import nn as gnn
from polygrad.geometric import seed_everything
from polygrad.geometric import transforms as T
from polygrad.geometric import utils as U
from polygrad.geometric.data import Data
from polygrad.geometric.loader import DataLoader

FIELDS = ("x", "edge_index", "edge_attr", "edge_weight", "pos", "y", "batch", "ptr")


def random_data(rng):
    n, e = int(rng.integers(4, 9)), int(rng.integers(6, 14))
    ends = rng.integers(0, n, (2, e))
    ends = np.unique(np.concatenate([ends, ends[::-1]], 1), axis=1)
    return Data(
        x=Tensor(rng.standard_normal((n, 8)).astype(np.float32)),
        edge_index=Tensor(ends),
        edge_attr=Tensor(rng.random((ends.shape[1], 3)).astype(np.float32)),
        edge_weight=Tensor(rng.random(ends.shape[1]).astype(np.float32)),
        pos=Tensor(rng.random((n, 3)).astype(np.float32)),
        y=Tensor(np.array([n % 3])),
    )


def plain(b):
    """The same batch with sizes that are numbers."""
    out = SimpleNamespace(**{k: Tensor(getattr(b, k).numpy()) for k in FIELDS})
    out.num_nodes, out.num_edges, out.num_graphs = int(b.num_nodes), int(b.num_edges), int(b.num_graphs)
    return out


def ones(*shape):
    return Tensor(np.ones([int(n) for n in shape], np.float32))


def dense(b):
    x, mask = U.to_dense_batch(b.x, b.batch)
    return x, U.to_dense_adj(b.edge_index, b.batch), mask


TENSORS = {
    "add an array": lambda b: b.x + ones(b.num_nodes, 8),
    "an array times it": lambda b: ones(b.num_edges) * b.edge_weight,
    "where of an array": lambda b: (b.x > 0).where(b.x, ones(b.num_nodes, 8)),
    "classes of an array": lambda b: b.x.sparse_categorical_crossentropy(Tensor(np.zeros(int(b.num_nodes), np.int64))),
    "mask": lambda b: b.x[b.x[:, 0] > 0],
    "rows": lambda b: b.x[b.edge_index[0]],
    "rows of a list": lambda b: b.x[Tensor(np.array([0, 2, 1]))],
    "last row": lambda b: b.x[-1],
    "cat": lambda b: Tensor.cat(b.x, b.pos, dim=1),
    "cat rows": lambda b: Tensor.cat(b.x, b.x, dim=0),
    "stack": lambda b: Tensor.stack(b.x, b.x * 2),
    "flat": lambda b: b.x.reshape(-1),
    "heads": lambda b: b.x.reshape(-1, 2, 4).sum(1),
    "gram": lambda b: b.x.transpose() @ b.x,
    "product": lambda b: b.x @ b.x.transpose(),
    "topk": lambda b: b.x[:, 0].topk(3),
    "sort": lambda b: b.x[:, 0].sort(),
    "argmax": lambda b: b.x.argmax(0),
    "cumsum": lambda b: b.x.cumsum(0),
    "slice": lambda b: b.x[1:4],
    "all but one": lambda b: b.x[:-1],
    "flip": lambda b: b.x.flip(0),
    "every other": lambda b: b.x[::2],
    "pad": lambda b: b.x.pad(((0, 2), (0, 0))),
    "std": lambda b: b.x.std(0),
    "normalised": lambda b: (b.x - b.x.mean(0)) / (b.x.var(0) + 1),
    "ones": lambda b: Tensor.ones(b.num_nodes, 8) * b.x,
    "eye": lambda b: Tensor.eye(b.num_nodes),
    "arange": lambda b: Tensor.arange(b.num_nodes) + b.batch,
    "split": lambda b: b.x.split(3, dim=1),
    "chunk": lambda b: b.x.chunk(2),
    "outer": lambda b: b.x[:, 0].reshape(-1, 1) * b.x[:, 1].reshape(1, -1),
    "distances": lambda b: ((b.pos.unsqueeze(0) - b.pos.unsqueeze(1)) ** 2).sum(-1),
    "repeat": lambda b: b.x.repeat(2, 1),
    "sum by source": lambda b: Tensor.zeros(b.num_nodes, 8).scatter_reduce(
        0, b.edge_index[0].reshape(-1, 1).expand(-1, 8), b.x[b.edge_index[1]], "sum"
    ),
    "item": lambda b: b.x.sum().item(),
}
UTILS = {
    "degree": lambda b: U.degree(b.edge_index[1], b.num_nodes),
    "to_dense_adj": lambda b: U.to_dense_adj(b.edge_index, b.batch),
    "to_dense_adj of attributes": lambda b: U.to_dense_adj(b.edge_index, b.batch, b.edge_attr),
    "to_dense_batch": lambda b: U.to_dense_batch(b.x, b.batch),
    "get_laplacian": lambda b: U.get_laplacian(b.edge_index, num_nodes=b.num_nodes),
    "get_laplacian sym": lambda b: U.get_laplacian(b.edge_index, b.edge_weight, "sym", num_nodes=b.num_nodes),
    "get_laplacian rw": lambda b: U.get_laplacian(b.edge_index, b.edge_weight, "rw", num_nodes=b.num_nodes),
    "scatter": lambda b: U.scatter(b.x, b.batch, 0, b.num_graphs, reduce="mean"),
    "scatter max": lambda b: U.scatter(b.x, b.batch, 0, reduce="max"),
    "softmax": lambda b: U.softmax(b.edge_weight, b.edge_index[1], num_nodes=b.num_nodes),
    "segment": lambda b: U.segment(b.x, b.ptr),
    "add_self_loops": lambda b: U.add_self_loops(b.edge_index, b.edge_weight, num_nodes=b.num_nodes),
    "add_remaining_self_loops": lambda b: U.add_remaining_self_loops(b.edge_index, b.edge_weight, num_nodes=b.num_nodes),
    "remove_self_loops": lambda b: U.remove_self_loops(b.edge_index, b.edge_attr),
    "coalesce": lambda b: U.coalesce(b.edge_index, b.edge_attr, num_nodes=b.num_nodes),
    "to_undirected": lambda b: U.to_undirected(b.edge_index, b.edge_attr, num_nodes=b.num_nodes),
    "is_undirected": lambda b: U.is_undirected(b.edge_index, num_nodes=b.num_nodes),
    "sort_edge_index": lambda b: U.sort_edge_index(b.edge_index, b.edge_attr, num_nodes=b.num_nodes),
    "subgraph": lambda b: U.subgraph(Tensor(np.arange(5)), b.edge_index, b.edge_attr, num_nodes=b.num_nodes, relabel_nodes=True),
    "k_hop_subgraph": lambda b: U.k_hop_subgraph(0, 2, b.edge_index, num_nodes=b.num_nodes),
    "dropout_edge": lambda b: U.dropout_edge(b.edge_index, 0.0),
    "negative_sampling": lambda b: U.negative_sampling(b.edge_index, b.num_nodes, 10).shape[0],
    "batched_negative_sampling": lambda b: U.batched_negative_sampling(b.edge_index, b.batch).shape[0],
    "structured_negative_sampling": lambda b: U.structured_negative_sampling(b.edge_index, b.num_nodes)[0],
    "unbatch": lambda b: U.unbatch(b.x, b.batch),
    "unbatch_edge_index": lambda b: U.unbatch_edge_index(b.edge_index, b.batch),
    "contains_isolated_nodes": lambda b: U.contains_isolated_nodes(b.edge_index, b.num_nodes),
    "remove_isolated_nodes": lambda b: U.remove_isolated_nodes(b.edge_index, b.edge_attr, b.num_nodes),
    "one_hot": lambda b: U.one_hot(b.batch),
    "normalized_cut": lambda b: U.normalized_cut(b.edge_index, b.edge_weight, b.num_nodes),
    "homophily": lambda b: U.homophily(b.edge_index, b.batch),
    "assortativity": lambda b: U.assortativity(b.edge_index),
    "get_ppr": lambda b: U.get_ppr(b.edge_index, num_nodes=b.num_nodes)[1],
    "group_argsort": lambda b: U.group_argsort(b.edge_weight, b.edge_index[1]),
    "index_sort": lambda b: U.index_sort(b.edge_index[0]),
    "cumsum": lambda b: U.cumsum(b.batch),
    "mask_select": lambda b: U.mask_select(b.x, 0, b.x[:, 0] > 0),
    "index_to_mask": lambda b: U.index_to_mask(b.edge_index[0], b.num_nodes),
    "mask_to_index": lambda b: U.mask_to_index(b.x[:, 0] > 0),
    "select": lambda b: U.select(b.x, b.x[:, 0] > 0, 0),
    "lexsort": lambda b: U.lexsort([b.edge_index[0], b.edge_index[1]]),
    "contains_self_loops": lambda b: U.contains_self_loops(b.edge_index),
    "segregate_self_loops": lambda b: U.segregate_self_loops(b.edge_index, b.edge_attr),
    "get_self_loop_attr": lambda b: U.get_self_loop_attr(b.edge_index, b.edge_weight, b.num_nodes),
    "dropout_node": lambda b: U.dropout_node(b.edge_index, 0.0, b.num_nodes)[0],
    "dropout_path": lambda b: U.dropout_path(b.edge_index, 0.0, num_nodes=b.num_nodes)[0],
    "add_random_edge": lambda b: U.add_random_edge(b.edge_index, 0.0, num_nodes=b.num_nodes)[0],
    "mask_feature": lambda b: U.mask_feature(b.x, 0.0)[0],
    "shuffle_node": lambda b: U.shuffle_node(b.x, b.batch, training=False)[0],
    "bipartite_subgraph": lambda b: U.bipartite_subgraph(
        (Tensor(np.arange(4)), Tensor(np.arange(5))), b.edge_index, b.edge_attr, size=(b.num_nodes, b.num_nodes)
    ),
    "spmm": lambda b: U.spmm((Graph(b.edge_index, b.num_nodes), b.edge_weight), b.x),
    "map_index": lambda b: U.map_index(b.edge_index[0], Tensor(np.arange(40)[::-1].copy()), inclusive=True)[0],
    "scatter_argmax": lambda b: U.scatter_argmax(b.edge_weight, b.edge_index[1], dim_size=b.num_nodes),
    "segment_logsumexp": lambda b: U.segment_logsumexp(b.x, b.ptr, 0),
    "group_cat": lambda b: U.group_cat([b.x, b.x], [b.batch, b.batch], dim=0),
    "dense_to_sparse": lambda b: U.dense_to_sparse(U.to_dense_adj(b.edge_index, b.batch)),
    "to_scipy_sparse_matrix": lambda b: Tensor(U.to_scipy_sparse_matrix(b.edge_index, b.edge_weight, b.num_nodes).toarray().astype(np.float32)),
    "maybe_num_nodes": lambda b: U.maybe_num_nodes(b.edge_index, b.num_nodes),
    "narrow": lambda b: U.narrow(b.x, 0, 1, 3),
    "hyper_subgraph": lambda b: U.hyper_subgraph(Tensor(np.arange(5)), b.edge_index, num_nodes=b.num_nodes)[0],
    "to_networkx": lambda b: U.to_networkx(Data(edge_index=b.edge_index, num_nodes=b.num_nodes)).number_of_edges(),
    "structured_negative_sampling_feasible": lambda b: U.structured_negative_sampling_feasible(b.edge_index, b.num_nodes),
    "softmax of pieces": lambda b: U.softmax(b.x, ptr=b.ptr),
    "scatter sum": lambda b: U.scatter(b.x, b.batch, 0, reduce="sum"),
    "scatter mul": lambda b: U.scatter(b.x, b.batch, 0, reduce="mul"),
    "coalesce mean": lambda b: U.coalesce(b.edge_index, b.edge_attr, reduce="mean"),
    "to_undirected mean": lambda b: U.to_undirected(b.edge_index, b.edge_attr, reduce="mean"),
    "subgraph of a mask": lambda b: U.subgraph(b.x[:, 0] > 0, b.edge_index, b.edge_attr),
    "degree of sources": lambda b: U.degree(b.edge_index[0]),
}


def rows(m, b):
    return m(b.x, b.batch)


def edges(m, b):
    return m(b.x, b.edge_index)


def attributes(m, b):
    return m(b.x, b.edge_index, b.edge_attr)


def places(m, b):
    return m(b.x, b.pos, b.edge_index)


def molecules(m, b):
    return m(b.batch, b.pos, b.batch)


# name: (how it is made, how it is called); made once, so that both batches see the same parameters
LAYERS = {name: (lambda name=name, a=a, k=k: getattr(gnn, name)(*a, **k), lambda m, b: m(b.x, b.edge_index)) for name, a, k in [
    ("GCNConv", (8, 4), {}), ("SAGEConv", (8, 4), {}), ("GATConv", (8, 4), {"heads": 2}), ("GATv2Conv", (8, 4), {}), ("GraphConv", (8, 4), {}),
    ("ChebConv", (8, 4, 3), {}), ("TAGConv", (8, 4), {}), ("SGConv", (8, 4), {"K": 2}), ("ARMAConv", (8, 4), {}), ("APPNP", (3, 0.1), {}),
    ("TransformerConv", (8, 4), {}), ("LEConv", (8, 4), {}), ("ClusterGCNConv", (8, 4), {}), ("FeaStConv", (8, 4), {}), ("SuperGATConv", (8, 4), {}),
    ("EGConv", (8, 8), {}), ("ResGatedGraphConv", (8, 4), {}), ("GatedGraphConv", (8, 2), {}), ("MFConv", (8, 4), {}), ("GENConv", (8, 4), {}),
    ("SSGConv", (8, 4, 0.1), {}), ("AntiSymmetricConv", (8,), {}),
]} | {
    "PANConv": (lambda: gnn.PANConv(8, 4, 2), lambda m, b: m(b.x, b.edge_index)[0]),
    "EdgeConv": (lambda: gnn.EdgeConv(nn.Linear(16, 4)), lambda m, b: m(b.x, b.edge_index)),
    "GINEConv": (lambda: gnn.GINEConv(nn.Linear(8, 4), edge_dim=3), lambda m, b: m(b.x, b.edge_index, b.edge_attr)),
    "NNConv": (lambda: gnn.NNConv(8, 4, nn.Linear(3, 32)), lambda m, b: m(b.x, b.edge_index, b.edge_attr)),
    "DynamicEdgeConv": (lambda: gnn.DynamicEdgeConv(nn.Linear(16, 4), 3), lambda m, b: m(b.x, b.batch)),
    "PNAConv": (lambda: gnn.PNAConv(8, 4, ["mean", "max"], ["identity"], Tensor(np.array([1, 2, 3]))), lambda m, b: m(b.x, b.edge_index)),
    "BatchNorm": (lambda: gnn.BatchNorm(8), lambda m, b: m(b.x)),
    "InstanceNorm": (lambda: gnn.InstanceNorm(8), lambda m, b: m(b.x, b.batch)),
    "GraphNorm": (lambda: gnn.GraphNorm(8), lambda m, b: m(b.x, b.batch)),
    "PairNorm": (lambda: gnn.PairNorm(), lambda m, b: m(b.x, b.batch)),
    "TopKPooling": (lambda: gnn.TopKPooling(8), lambda m, b: m(b.x, b.edge_index, batch=b.batch)[0]),
    "SAGPooling": (lambda: gnn.SAGPooling(8), lambda m, b: m(b.x, b.edge_index, batch=b.batch)[0]),
    "ASAPooling": (lambda: gnn.ASAPooling(8), lambda m, b: m(b.x, b.edge_index, batch=b.batch)[0]),
    "EdgePooling": (lambda: gnn.EdgePooling(8), lambda m, b: m(b.x, b.edge_index, b.batch)[0]),
    "ClusterPooling": (lambda: gnn.ClusterPooling(8), lambda m, b: m(b.x, b.edge_index, b.batch)[0]),
    "knn_graph": (lambda: gnn.knn_graph, lambda m, b: m(b.pos, 2, b.batch)),
    "radius_graph": (lambda: gnn.radius_graph, lambda m, b: m(b.pos, 0.5, b.batch)),
    "voxel_grid": (lambda: gnn.voxel_grid, lambda m, b: m(b.pos, 0.5, b.batch)),
    "SortAggregation": (lambda: gnn.SortAggregation(3), lambda m, b: m(b.x, b.batch)),
    "MedianAggregation": (lambda: gnn.MedianAggregation(), lambda m, b: m(b.x, b.batch)),
    "Set2Set": (lambda: gnn.Set2Set(8, 2), lambda m, b: m(b.x, b.batch)),
    "LSTMAggregation": (lambda: gnn.LSTMAggregation(8, 4), lambda m, b: m(b.x, b.batch)),
    "DenseGCNConv": (lambda: gnn.DenseGCNConv(8, 4), lambda m, b: m(*dense(b))),
    "dense_diff_pool": (lambda: gnn.dense_diff_pool, lambda m, b: (lambda x, adj, mask: m(x, adj, x[:, :, :3], mask)[0])(*dense(b))),
    "GraphUNet": (lambda: gnn.GraphUNet(8, 8, 4, 2), lambda m, b: m(b.x, b.edge_index, b.batch)),
} | {name: (lambda name=name, a=a: getattr(gnn, name)(*a), call) for name, a, call in [
    ("AGNNConv", (), edges), ("CGConv", (8, 3), attributes), ("FAConv", (8,), lambda m, b: m(b.x, b.x, b.edge_index)), ("FiLMConv", (8, 4), edges),
    ("GCN2Conv", (8, 0.1), lambda m, b: m(b.x, b.x, b.edge_index)), ("GMMConv", (8, 4, 3, 2), attributes), ("GeneralConv", (8, 4), edges),
    ("GravNetConv", (8, 4, 3, 4, 2), rows), ("HypergraphConv", (8, 4), edges), ("LGConv", (), edges), ("MixHopConv", (8, 4), edges),
    ("HEATConv", (8, 4, 2, 2, 3, 3, 4), lambda m, b: m(b.x, b.edge_index, b.batch * 0, b.edge_index[0] * 0, b.edge_attr)),
    ("PDNConv", (8, 4, 3, 4), attributes), ("PointTransformerConv", (8, 4), places), ("SimpleConv", (), edges), ("SplineConv", (8, 4, 3, 3), attributes),
    ("RGATConv", (8, 4, 2), lambda m, b: m(b.x, b.edge_index, b.edge_index[0] * 0)),
    ("RGCNConv", (8, 4, 2), lambda m, b: m(b.x, b.edge_index, b.edge_index[0] % 2)),
    ("FastRGCNConv", (8, 4, 2), lambda m, b: m(b.x, b.edge_index, b.edge_index[0] % 2)),
    ("SignedConv", (8, 4, True), lambda m, b: m(b.x, b.edge_index, b.edge_index)), ("WLConv", (), lambda m, b: m(b.batch, b.edge_index)),
    ("WLConvContinuous", (), edges), ("DNAConv", (8, 2), lambda m, b: m(b.x.unsqueeze(1).expand(-1, 2, 8), b.edge_index)),
    ("MetaLayer", (None, None, None), lambda m, b: m(b.x, b.edge_index, b.edge_attr, None, b.batch)[0]),
    *[(f"{kind}Aggregation", (), rows) for kind in ("Sum", "Mean", "Max", "Min", "Mul", "Var", "Std", "Softmax", "PowerMean", "VariancePreserving")],
    ("QuantileAggregation", (0.3,), rows), ("MultiAggregation", (["mean", "max", "std"],), rows), ("EquilibriumAggregation", (8, 4, [8], 1), rows),
    ("GRUAggregation", (8, 4), rows), ("LCMAggregation", (8, 4), rows),
    ("PatchTransformerAggregation", (8, 4, 2, 8), rows), ("DiffGroupNorm", (8, 2), lambda m, b: m(b.x)), ("GraphSizeNorm", (), rows),
    ("LayerNorm", (8,), rows), ("MeanSubtractionNorm", (), rows), ("MessageNorm", (), lambda m, b: m(b.x, b.x)),
    *[(name, (8, 8, 2, 4), edges) for name in ("GCN", "GAT", "GIN", "GraphSAGE", "EdgeCNN")], ("MLP", ([8, 8, 4],), rows), ("PMLP", (8, 8, 4, 2), edges),
    ("JumpingKnowledge", ("lstm", 8, 2), lambda m, b: m([b.x, b.x * 2])), ("NeuralFingerprint", (8, 8, 4, 2), lambda m, b: m(b.x, b.edge_index, b.batch)),
    ("AttentiveFP", (8, 8, 4, 3, 2, 2), lambda m, b: m(b.x, b.edge_index, b.edge_attr, b.batch)), ("SchNet", (8, 8, 2, 8, 2.0), molecules),
    ("DimeNetPlusPlus", (8, 1, 1, 4, 4, 4, 3, 3, 2.0), molecules), ("LabelPropagation", (2, 0.5), lambda m, b: m(b.x.softmax(-1), b.edge_index)),
    ("InnerProductDecoder", (), lambda m, b: (m(b.x, b.edge_index), m.forward_all(b.x))),
    ("SGFormer", (8, 8, 4), lambda m, b: m(b.x, b.edge_index, b.batch)), ("Polynormer", (8, 8, 4, 1, 1), lambda m, b: m(b.x, b.edge_index, b.batch)),
    ("MemPooling", (8, 4, 2, 3), lambda m, b: m(b.x, b.batch)[0]), ("DenseSAGEConv", (8, 4), lambda m, b: m(*dense(b))),
    ("DenseGATConv", (8, 4), lambda m, b: m(*dense(b))), ("DenseGraphConv", (8, 4), lambda m, b: m(*dense(b))),
    ("DMoNPooling", (8, 3), lambda m, b: m(*dense(b))[1]), ("PositionalEncoding", (8,), lambda m, b: m(b.x[:, 0])),
]} | {name: (lambda name=name: getattr(gnn, name), call) for name, call in [
    ("global_add_pool", rows), ("global_mean_pool", rows), ("global_max_pool", rows), ("fps", lambda m, b: m(b.pos, b.batch, 0.5, random_start=False)),
    ("knn", lambda m, b: m(b.pos, b.pos, 2, b.batch, b.batch)), ("radius", lambda m, b: m(b.pos, b.pos, 0.5, b.batch, b.batch)),
    ("nearest", lambda m, b: m(b.pos, b.pos, b.batch, b.batch)), ("knn_interpolate", lambda m, b: m(b.x, b.pos, b.pos * 0.9, b.batch, b.batch, 2)),
    ("graclus", lambda m, b: m(b.edge_index, num_nodes=b.num_nodes).shape[0]), ("max_pool_x", lambda m, b: m(b.batch, b.x, b.batch)[0]),
    ("avg_pool_x", lambda m, b: m(b.batch, b.x, b.batch)[0]),
    ("dense_mincut_pool", lambda m, b: (lambda x, adj, mask: m(x, adj, x[:, :, :3], mask)[:2])(*dense(b))),
]} | {
    "GINConv": (lambda: gnn.GINConv(nn.Linear(8, 4)), edges),
    "DirGNNConv": (lambda: gnn.DirGNNConv(gnn.SAGEConv(8, 4)), edges),
    "GPSConv": (lambda: gnn.GPSConv(8, gnn.SAGEConv(8, 8), heads=2), lambda m, b: m(b.x, b.edge_index, b.batch)),
    "PPFConv": (lambda: gnn.PPFConv(nn.Linear(12, 4)), lambda m, b: m(b.x, b.pos, b.pos, b.edge_index)),
    "PointGNNConv": (lambda: gnn.PointGNNConv(nn.Linear(8, 3), nn.Linear(11, 8), nn.Linear(8, 8)), places),
    "PointNetConv": (lambda: gnn.PointNetConv(nn.Linear(11, 4)), places),
    "XConv": (lambda: gnn.XConv(8, 4, 3, 2, hidden_channels=4), lambda m, b: m(b.x, b.pos, b.batch)),
    "DeepGCNLayer": (lambda: gnn.DeepGCNLayer(gnn.SAGEConv(8, 8), gnn.LayerNorm(8)), edges),
    "AttentionalAggregation": (lambda: gnn.AttentionalAggregation(nn.Linear(8, 1)), rows),
    "DeepSetsAggregation": (lambda: gnn.DeepSetsAggregation(nn.Linear(8, 4), nn.Linear(4, 4)), rows),
    "DegreeScalerAggregation": (
        lambda: gnn.DegreeScalerAggregation("mean", ["identity", "amplification"], Tensor(np.array([0, 1, 4, 3]))), rows),
    "MLPAggregation": (lambda: gnn.MLPAggregation(8, 4, 12, num_layers=1), rows),
    "GraphMultisetTransformer": (lambda: gnn.GraphMultisetTransformer(8, 3, heads=2), rows),
    "SetTransformerAggregation": (lambda: gnn.SetTransformerAggregation(8, heads=2), rows),
    "ViSNet": (lambda: gnn.ViSNet(hidden_channels=8, num_heads=2, num_layers=1, num_rbf=4, lmax=1, cutoff=2.0), lambda m, b: molecules(m, b)[0]),
    "GAE": (lambda: gnn.GAE(gnn.GCNConv(8, 4)), lambda m, b: m.recon_loss(m.encode(b.x, b.edge_index), b.edge_index, b.edge_index)),
    "PANPooling": (lambda: (gnn.PANPooling(8), gnn.PANConv(8, 4, 1)), lambda m, b: m[0](b.x, m[1](b.x, b.edge_index)[1], b.batch)[0]),
    "DenseGINConv": (lambda: gnn.DenseGINConv(nn.Linear(8, 4)), lambda m, b: m(*dense(b))),
}  # fmt: skip
# name: (arguments, fields of the data)
TRANSFORMS = {name: ((), "x edge_index pos batch") for name in (
    "AddSelfLoops", "GCNNorm", "ToUndirected", "NormalizeFeatures", "Distance", "Cartesian", "LocalDegreeProfile", "VirtualNode", "Constant",
    "LocalCartesian", "Spherical", "TargetIndegree", "TwoHop", "LineGraph", "HalfHop", "GDC",
)} | {name: ((), "x edge_index edge_attr pos batch") for name in (
    "AddRemainingSelfLoops", "Center", "NormalizeScale", "NormalizeRotation", "RemoveSelfLoops", "RemoveIsolatedNodes", "RemoveDuplicatedEdges",
    "LargestConnectedComponents", "ToSparseTensor", "LaplacianLambdaMax", "RandomNodeSplit",
)} | {
    "OneHotDegree": ((40,), "edge_index"), "KNNGraph": ((2,), "pos batch"), "RadiusGraph": ((0.5,), "pos batch"), "FixedPoints": ((6, False), "x pos"),
    "AddRandomWalkPE": ((3,), "x edge_index"), "AddLaplacianEigenvectorPE": ((2,), "x edge_index"), "SIGN": ((2,), "x edge_index"),
    "RandomFlip": ((0,), "pos"), "RandomScale": (((1.0, 1.0),), "pos"), "RandomRotate": ((0.0,), "pos"), "RandomShear": ((0.0,), "pos"),
    "RandomJitter": ((0.1,), "pos"), "SVDFeatureReduction": ((4,), "x"), "GridSampling": ((0.5,), "x pos batch"), "RootedEgoNets": ((1,), "x edge_index"),
}  # fmt: skip


def arrays(r):
    """All numbers of a result."""
    if isinstance(r, Tensor):
        return [r.numpy()]
    if isinstance(r, (list, tuple)):
        return [a for v in r for a in arrays(v)]
    return [] if r is None else [np.array(int(r) if isinstance(r, (bool, int)) else float(r))]


def compare(f):
    rng = np.random.default_rng(0)
    for b in DataLoader([random_data(rng) for _ in range(6)], batch_size=3):
        results = []
        for batch in (plain(b), b):
            seed_everything(7)
            results.append(arrays(f(batch)))
        assert len(results[0]) == len(results[1]) > 0
        for want, got in zip(*results):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(name):
    compare(TENSORS[name])


@pytest.mark.parametrize("name", UTILS)
def test_utils(name):
    compare(UTILS[name])


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, call = LAYERS[name]
    layer = make()
    compare(lambda b: call(layer, b))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    args, fields = TRANSFORMS[name]

    def f(b):
        data = Data(**{k: getattr(b, k) for k in fields.split()})
        data.num_nodes = b.num_nodes
        return [v for _, v in sorted(getattr(T, name)(*args)(data).to_dict().items()) if isinstance(v, Tensor)]

    compare(f)


@pytest.mark.parametrize("change", ["assign", "replace", "setitem", "view"])
def test_a_batch_vector_that_was_changed(change):
    """What the loader knows of the graphs' sizes no longer holds once the vector has other values."""
    data = [Data(x=Tensor.ones(n, 1), edge_index=Tensor([[0], [1]]), num_nodes=n) for n in (3, 2)]
    b = next(iter(DataLoader(data, batch_size=2)))
    assert U.to_dense_batch(b.x, b.batch)[1].numpy().sum(1).tolist() == [3, 2]
    other = Tensor(np.array([0, 0, 1, 1, 1])).sized(*b.batch.shape)
    if change == "setitem":
        b.batch[2] = 1
    elif change == "view":
        b.batch[2:3].assign(Tensor(np.array([1])))
    else:
        getattr(b.batch, change)(other)
    x, mask = U.to_dense_batch(b.x, b.batch)
    assert mask.numpy().sum(1).tolist() == [2, 3] and x.numpy().sum() == 5
    assert U.to_dense_adj(b.edge_index, b.batch).numpy().sum((1, 2)).tolist() == [1, 1]


def test_an_index_that_was_changed_is_looked_at_again(device):
    """What an index vector says of itself, how many rows there are and where they begin, holds no longer once it was assigned to."""
    graphs = [Data(x=Tensor.ones(n, 1), edge_index=Tensor.zeros(2, 0, dtype="int64")) for n in (2, 3)]
    for change in (
        lambda b: b.__setitem__(0, 2),
        lambda b: b.assign(Tensor([2, 0, 1, 1, 1], dtype=b.dtype)),
        lambda b: b.replace(Tensor([2, 0, 1, 1, 1], dtype=b.dtype)),
    ):
        batch = next(iter(DataLoader(graphs, batch_size=2)))
        change(batch.batch)
        assert gnn.global_add_pool(batch.x, batch.batch).reshape(-1).tolist() == [1, 3, 1]


def test_a_loader_sees_what_is_assigned_to_its_graphs(device):
    """Graphs of a list are joined once, and again when one of their tensors was changed, itself or through a view of it."""
    graphs = [Data(x=Tensor(np.ones((2, 1), np.float32)), edge_index=Tensor.zeros(2, 0, dtype="int64")) for _ in range(2)]
    loader = DataLoader(graphs, batch_size=2)

    def seen():
        return next(iter(loader)).x.reshape(-1).tolist()

    assert seen() == [1, 1, 1, 1]
    graphs[0].x[0] = 5.0
    assert seen() == [5, 1, 1, 1]
    graphs[1].x.assign(graphs[1].x * 3).realize()
    assert seen() == [5, 1, 3, 3]
    part = graphs[0].x[1]
    part.assign(part + 6)
    assert seen() == [5, 7, 3, 3] and loader._joined() is loader._joined()
