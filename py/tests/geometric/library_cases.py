"""Layers, aggregations and models whose values are stored (golden_library/layer_*.npz): how to make each, its inputs, and how to call it.

The same lines make the layer of PyTorch Geometric, from which tools/make_golden_library.py stores parameters, outputs and gradients, and ours,
which test_library.py compares with them. `g` is the package of graph layers, `nn` that of plain ones.
"""

from __future__ import annotations

import numpy as np

F, O, D, H, R, V, E = 8, 6, 2, 2, 3, 9, 24  # features in, out, of edges; heads; relations; nodes; edges


def rng(seed=0):
    return np.random.default_rng(seed)


def reals(*shape, seed=1, low=-1.0, high=1.0):
    return rng(seed).uniform(low, high, shape).astype(np.float32)


def whole(high, *shape, seed=2):
    return rng(seed).integers(0, high, shape)


def edges(nodes=V, count=E, seed=3):
    """Each edge once, none of them a loop."""
    pairs = rng(seed).permutation(nodes * nodes)
    e = np.stack([pairs // nodes, pairs % nodes])
    return np.ascontiguousarray(e[:, e[0] != e[1]][:, :count])


def mlp(nn, *sizes):
    layers = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def molecules():
    """Atoms, positions and the molecule of each: two molecules whose atoms do not come too near to each other."""
    grid = np.stack(np.meshgrid(*[np.arange(2.0)] * 3), -1).reshape(-1, 3)
    pos = np.concatenate([grid[:6], grid[:5]]) * 1.3 + rng(4).uniform(-0.25, 0.25, (11, 3))
    return {"z": whole(8, 11, seed=5) + 1, "pos": pos.astype(np.float32), "batch": np.repeat([0, 1], [6, 5])}


X, EI = reals(V, F), edges()
GRAPH = {"x": X, "edge_index": EI}
BATCH = np.repeat([0, 1, 2], [4, 2, 3])
SET = {"x": X, "index": BATCH}
DENSE = {"x": reals(2, 5, F, seed=8), "mask": np.arange(5)[None] < np.array([[5], [3]])}
MESH = np.stack([np.repeat(np.arange(V), 4), whole(V, 4 * V, seed=9)])


LABELS = {"x": X, "y": whole(R, V), "mask": whole(2, V, seed=10).astype(bool)}
SHUFFLED = rng(12).permutation(BATCH)
EVENTS = {
    "sub": whole(V, 3, seed=13), "obj": whole(V, 3, seed=14), "rel": whole(R, 3, seed=15), "h_sub": whole(V, 7, seed=16), "h_sub_t": whole(4, 7, seed=17),
    "h_sub_batch": np.sort(whole(3, 7, seed=18)), "h_obj": whole(V, 5, seed=19), "h_obj_t": whole(4, 5, seed=20),
    "h_obj_batch": np.sort(whole(3, 5, seed=21)),
}  # fmt: skip
ENCODED = {**GRAPH, "batch": BATCH, "y": reals(V, 2, seed=23), "y_graph": reals(3, 3, seed=24)}


class Events:
    """A batch of events or nodes, in the manner of Data."""

    def __init__(self, values):
        self.__dict__.update(values)

    def __contains__(self, name):
        return name in self.__dict__

    def clone(self):
        return Events(self.__dict__)


BOTH = np.concatenate([EI, EI[::-1]], axis=1)
LINKS = {"x": X, "edge_index": np.ascontiguousarray(np.unique(BOTH, axis=1)), "pairs": np.array([[0, 1, 2, 5, 3], [3, 4, 7, 8, 3]])}


def linked(model, i):
    """Scores of pairs of nodes, with the PageRanks of the graph."""
    return model(i["pairs"], i["x"], i["edge_index"], model.calc_sparse_ppr(i["edge_index"], V))


def everywhere(model):
    """Polynormer with its attention among all nodes."""
    model._global = True
    return model


def xe(layer, i):
    return layer(i["x"], i["edge_index"])


def xea(layer, i):
    return layer(i["x"], i["edge_index"], i["edge_attr"])


def rows(layer, i):
    return layer(i["x"], i["index"])


def dense(layer, i):
    return layer(i["x"], i["mask"])


def attributes(dim=D, low=0.0):
    return {**GRAPH, "edge_attr": reals(E, dim, seed=6, low=low)}


# name: (constructor, inputs, call)
CASES = {
    "spline": (lambda g, nn: g.SplineConv(F, O, dim=D, kernel_size=[3, 4]), attributes(), xea),
    "spline_closed": (lambda g, nn: g.SplineConv(F, O, D, 5, is_open_spline=[True, False], degree=2, aggr="add", root_weight=False), attributes(), xea),
    "spline_cubic": (lambda g, nn: g.SplineConv((F, F), O, 1, 6, degree=3, aggr="max", bias=False), attributes(1), xea),
    "heat": (
        lambda g, nn: g.HEATConv(F, O, 2, R, edge_type_emb_dim=3, edge_dim=D, edge_attr_emb_dim=5, heads=H),
        {**attributes(), "node_type": whole(2, V), "edge_type": whole(R, E)},
        lambda l, i: l(i["x"], i["edge_index"], i["node_type"], i["edge_type"], i["edge_attr"]),
    ),
    "heat_mean": (
        lambda g, nn: g.HEATConv(F, O, 2, R, 3, D, 5, heads=H, concat=False, root_weight=False, bias=False, aggr="max"),
        {**attributes(), "node_type": whole(2, V), "edge_type": whole(R, E)},
        lambda l, i: l(i["x"], i["edge_index"], i["node_type"], i["edge_type"], i["edge_attr"]),
    ),
    "gravnet": (lambda g, nn: g.GravNetConv(F, O, 3, 5, k=3), {"x": X}, lambda l, i: l(i["x"])),
    "gravnet_batch": (lambda g, nn: g.GravNetConv(F, O, 3, 5, k=2), {"x": X, "batch": BATCH}, lambda l, i: l(i["x"], i["batch"])),
    "x_conv": (
        lambda g, nn: g.XConv(F, O, dim=3, kernel_size=3, dilation=2), {"x": X, "pos": reals(V, 3, seed=7)}, lambda l, i: l(i["x"], i["pos"]),
    ),
    "point_gnn": (
        lambda g, nn: g.PointGNNConv(mlp(nn, F, 3), mlp(nn, F + 3, O, O), mlp(nn, O, F)), {**GRAPH, "pos": reals(V, 3, seed=7)},
        lambda l, i: l(i["x"], i["pos"], i["edge_index"]),
    ),
    "ppf": (
        lambda g, nn: g.PPFConv(mlp(nn, F + 4, O), mlp(nn, O, O), add_self_loops=False),
        {**GRAPH, "pos": reals(V, 3, seed=7), "normal": reals(V, 3, seed=8)}, lambda l, i: l(i["x"], i["pos"], i["normal"], i["edge_index"]),
    ),
    "meshcnn": (lambda g, nn: g.MeshCNNConv(F, O), {"x": X, "edge_index": MESH}, xe),
    "aggr_gmt": (lambda g, nn: g.GraphMultisetTransformer(F, k=3, num_encoder_blocks=2, heads=H, layer_norm=True), SET, rows),
    "aggr_equilibrium": (lambda g, nn: g.EquilibriumAggregation(F, O, [5, 4], grad_iter=3), SET, rows),
    "aggr_lcm": (lambda g, nn: g.LCMAggregation(F, O), SET, rows),
    "aggr_lcm_plain": (lambda g, nn: g.LCMAggregation(F, F, project=False), SET, rows),
    "aggr_patch": (lambda g, nn: g.PatchTransformerAggregation(F, O, 2, 4, 2, heads=H, aggr=["mean", "max", "std"]), SET, rows),
    "attention_sgformer": (lambda g, nn: g.SGFormerAttention(F, heads=H, head_channels=5), DENSE, dense),
    "attention_polynormer": (lambda g, nn: g.PolynormerAttention(F, heads=H, head_channels=3), DENSE, dense),
    "attention_polynormer_apart": (lambda g, nn: g.PolynormerAttention(F, H, 3, 0.5, qkv_bias=True, qk_shared=False), DENSE, dense),
    "attention_qformer": (lambda g, nn: g.QFormer(F, 12, O, num_heads=H, num_layers=2), {"x": DENSE["x"]}, lambda l, i: l(i["x"])),
    "encoding_position": (lambda g, nn: g.PositionalEncoding(F, granularity=0.3), {"x": reals(5, high=9.0)}, lambda l, i: l(i["x"])),
    "encoding_time": (lambda g, nn: g.TemporalEncoding(F), {"x": reals(5, high=9.0)}, lambda l, i: l(i["x"])),
    "functional_bro": (lambda g, nn: lambda x, b: g.functional.bro(x, b), {"x": X, "batch": BATCH}, lambda l, i: l(i["x"], i["batch"])),
    "functional_gini": (lambda g, nn: lambda x: g.functional.gini(x), {"x": X}, lambda l, i: l(i["x"])),
    "dimenet": (
        lambda g, nn: g.DimeNet(10, 2, num_blocks=2, num_bilinear=3, num_spherical=4, num_radial=3, output_initializer="glorot_orthogonal"),
        molecules(), lambda l, i: l(i["z"], i["pos"], i["batch"]),
    ),
    "dimenet_pp": (
        lambda g, nn: g.DimeNetPlusPlus(10, 2, 2, 6, 3, 8, num_spherical=4, num_radial=3, output_initializer="glorot_orthogonal", cutoff=2.5),
        molecules(), lambda l, i: l(i["z"], i["pos"]),
    ),
    "attentive_fp": (
        lambda g, nn: g.AttentiveFP(F, 7, O, edge_dim=D, num_layers=3, num_timesteps=2), {**attributes(), "batch": BATCH},
        lambda l, i: l(i["x"], i["edge_index"], i["edge_attr"], i["batch"]),
    ),
    "mask_label": (lambda g, nn: g.MaskLabel(R, F), LABELS, lambda l, i: l(i["x"], i["y"], i["mask"])),
    "mask_label_concat": (lambda g, nn: g.MaskLabel(R, 3, method="concat"), LABELS, lambda l, i: l(i["x"], i["y"], i["mask"])),
    "rect": (lambda g, nn: g.RECT_L(F, O), GRAPH, xe),
    "rect_labels": (lambda g, nn: g.RECT_L(F, O), LABELS, lambda l, i: l.get_semantic_labels(i["x"], i["y"], i["mask"])),
    "group_add_rev": (
        lambda g, nn: g.GroupAddRev(nn.ModuleList([g.SAGEConv(2, 2) for _ in range(4)]), disable=True), GRAPH, xe,
    ),
    "pmlp": (lambda g, nn: g.PMLP(F, 7, O, num_layers=3), GRAPH, xe),
    "neural_fingerprint": (
        lambda g, nn: g.NeuralFingerprint(F, 7, O, num_layers=2), {**GRAPH, "batch": BATCH}, lambda l, i: l(i["x"], i["edge_index"], i["batch"]),
    ),
    "attract_repel": (lambda g, nn: g.ARLinkPredictor(F, 7, O, num_layers=3, attract_ratio=0.4), GRAPH, xe),
    "signed_gcn": (
        lambda g, nn: g.SignedGCN(F, O, num_layers=3), {**GRAPH, "negative": edges(seed=11)}, lambda l, i: l(i["x"], i["edge_index"], i["negative"]),
    ),
    "signed_gcn_links": (lambda g, nn: g.SignedGCN(F, F, num_layers=2), GRAPH, lambda l, i: l.discriminate(i["x"], i["edge_index"])),
    "sgformer": (
        lambda g, nn: g.SGFormer(F, 7, O, trans_num_heads=7), {**GRAPH, "batch": SHUFFLED}, lambda l, i: l(i["x"], i["edge_index"], i["batch"]),
    ),
    "sgformer_cat": (
        lambda g, nn: g.SGFormer(F, 7, O, gnn_num_layers=1, aggregate="cat"), {**GRAPH, "batch": BATCH},
        lambda l, i: l(i["x"], i["edge_index"], i["batch"]),
    ),
    "polynormer": (
        lambda g, nn: g.Polynormer(F, 7, O, local_layers=3, heads=H), {**GRAPH, "batch": BATCH}, lambda l, i: l(i["x"], i["edge_index"], i["batch"]),
    ),
    "polynormer_global": (
        lambda g, nn: everywhere(g.Polynormer(F, 7, O, local_layers=2, local_attn=True, pre_ln=True, post_bn=False)), {**GRAPH, "batch": SHUFFLED},
        lambda l, i: l(i["x"], i["edge_index"], i["batch"]),
    ),
    "gnnff": (lambda g, nn: g.GNNFF(7, 6, 2, cutoff=2.5), molecules(), lambda l, i: l(i["z"], i["pos"], i["batch"])),
    "re_net": (lambda g, nn: g.RENet(V, R, 6, seq_len=4), EVENTS, lambda l, i: l(Events(i))),
    "gpse": (
        lambda g, nn: g.GPSE(F, 4, 6, layers_mp=2, num_node_targets=2, num_graph_targets=3, head_bn=True), ENCODED,
        lambda l, i: l(Events(i)),
    ),
    "gpse_concat": (
        lambda g, nn: g.GPSE(F, 4, 6, layers_mp=3, num_node_targets=2, num_graph_targets=3, stage_type="skipconcat", has_bn=False, virtual_node=False),
        ENCODED, lambda l, i: l(Events(i)),
    ),
    "gpse_encoder": (
        lambda g, nn: g.GPSENodeEncoder(9, 5, 4, dim_in=F, expand_x=True, n_layers=3), {"x": X, "pe": reals(V, 5, seed=22)},
        lambda l, i: l(i["x"], i["pe"]),
    ),
    "schnet": (lambda g, nn: g.SchNet(10, 8, 2, 6, cutoff=3.0), molecules(), lambda l, i: l(i["z"], i["pos"], i["batch"])),
    "visnet": (
        lambda g, nn: g.ViSNet(1, None, False, 2, 2, 8, 6, max_z=9, cutoff=3.0, reduce_op="mean", mean=0.5, std=2.0), molecules(),
        lambda l, i: l(i["z"], i["pos"], i["batch"]),
    ),
    "visnet_vertex": (
        lambda g, nn: g.ViSNet(2, "max_min", True, 2, 3, 8, 6, True, 9, 3.0, vertex=True), molecules(),
        lambda l, i: l(i["z"], i["pos"], i["batch"]),
    ),
    "lpformer": (lambda g, nn: g.LPFormer(F, 6, 2, ppr_thresholds=[0, 1e-3, 1e-2]), LINKS, linked),
}  # fmt: skip

# Models whose energies are differentiated twice, in the sizes that are published but for the hidden ones.
FORCES = {
    "dimenet": lambda g: g.DimeNet(8, 1, 1, num_bilinear=4, num_spherical=7, num_radial=6, output_initializer="glorot_orthogonal"),
    "dimenet_pp": lambda g: g.DimeNetPlusPlus(8, 1, 1, 6, 4, 8, num_spherical=7, num_radial=6, output_initializer="glorot_orthogonal"),
    "schnet": lambda g: g.SchNet(8, 8, 2, 10, cutoff=4.0),
    "visnet": lambda g: g.ViSNet(2, None, False, 2, 2, 8, 6, max_z=9, cutoff=3.0, vertex=True),
}

TGN = ("last", "mean")  # the aggregators of messages


def tgn_model(modules, memory, name):
    """Memory, last neighbours, and batches of events (nodes, nodes, times, messages) whose times are all different."""
    aggregator = modules.LastAggregator() if name == "last" else modules.MeanAggregator()
    events = [(whole(6, 7, seed=40 + k), 6 + whole(5, 7, seed=50 + k), np.arange(7) * 3 + 30 * k + 5, reals(7, 4, seed=60 + k)) for k in range(5)]
    return memory(11, 4, 6, 3, modules.IdentityMessage(4, 6, 3), aggregator), modules.LastNeighborLoader(11, 3), events
