"""Makes py/tests/golden_library: small cases with the values that PyTorch Geometric gives for them. The tests read these files and need no PyG.

Usage: python py/tests/tools/make_golden_library.py [folder [layer ...]]     (needs torch and torch_geometric; with names, these layers alone)
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import torch_geometric.explain as tex
import torch_geometric.metrics as tm
import torch_geometric.nn as tnn
from golden_layers import layers
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

warnings.simplefilter("ignore")
FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "golden_library")
NODES, EDGES, FEATURES, CLASSES = 12, 30, 5, 3
CONFIG = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}


def save(name, **arrays):
    out = {k: v.detach().numpy() if isinstance(v, torch.Tensor) else np.asarray(v) for k, v in arrays.items()}
    np.savez_compressed(FOLDER / f"{name}.npz", **out)


def params(model):
    return {f"param/{k}": v for k, v in model.state_dict().items()}


def graph(seed, loops=True):
    """Each edge once, so that a mask of an edge is one number; some of them are loops."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(NODES * NODES)[: EDGES * 2]
    edges = np.stack([pairs // NODES, pairs % NODES])
    edges = edges[:, edges[0] != edges[1]][:, :EDGES]
    if loops:
        edges[1, :2] = edges[0, :2]
    return torch.tensor(rng.standard_normal((NODES, FEATURES)).astype(np.float32)), torch.tensor(edges)


def masks():
    """Messages times a mask, with and without loops among the edges."""
    layers = {
        "gcn": lambda: tnn.GCNConv(FEATURES, 4), "gat": lambda: tnn.GATConv(FEATURES, 4, heads=2), "sage": lambda: tnn.SAGEConv(FEATURES, 4),
        "transformer": lambda: tnn.TransformerConv(FEATURES, 4, heads=2), "cheb": lambda: tnn.ChebConv(FEATURES, 4, K=3),
        "sg": lambda: tnn.SGConv(FEATURES, 4, K=2), "arma": lambda: tnn.ARMAConv(FEATURES, 4), "gatv2": lambda: tnn.GATv2Conv(FEATURES, 4),
    }  # fmt: skip
    for name, make in layers.items():
        for loops in (True, False):
            torch.manual_seed(1)
            layer = make()
            x, edge_index = graph(2, loops)
            mask = torch.nn.Parameter(torch.randn(edge_index.size(1)))
            set_masks(layer, mask, edge_index, apply_sigmoid=True)
            out = layer(x, edge_index)
            out.square().sum().backward()
            slope = mask.grad.clone()
            clear_masks(layer)
            state = {k: v for k, v in params(layer).items() if "mask" not in k}
            save(f"mask_{name}_{'loops' if loops else 'plain'}", x=x, edge_index=edge_index, mask=mask, out=out, slope=slope, **state)


class Fixed(tex.GNNExplainer):
    """GNNExplainer with given first masks."""

    def __init__(self, node, edge, **kwargs):
        super().__init__(**kwargs)
        self.first = node, edge

    def _initialize_masks(self, x, edge_index):
        node, edge = self.first
        self.node_mask = None if node is None else torch.nn.Parameter(node.clone())
        self.edge_mask = None if edge is None else torch.nn.Parameter(edge.clone())


def gnn_explainer():
    """All steps of GNNExplainer from the same first masks; fidelity and unfaithfulness of what it found."""
    for name, index in (("one", 3), ("some", torch.tensor([1, 4])), ("all", None)):
        for kind, shape in (("object", (NODES, 1)), ("attributes", (NODES, FEATURES)), ("common_attributes", (1, FEATURES))):
            torch.manual_seed(3)
            model = tnn.GCN(FEATURES, 8, num_layers=2, out_channels=CLASSES).eval()
            x, edge_index = graph(4)
            node, edge = torch.randn(shape) * 0.1, torch.randn(edge_index.size(1)) * 0.3
            explainer = tex.Explainer(
                model, Fixed(node, edge, epochs=60), explanation_type="model", model_config=CONFIG, node_mask_type=kind, edge_mask_type="object"
            )  # fmt: skip
            found = explainer(x, edge_index, index=index)
            save(
                f"gnn_explainer_{name}_{kind}", x=x, edge_index=edge_index, node=node, edge=edge, node_mask=found.node_mask,
                edge_mask=found.edge_mask, prediction=found.prediction, fidelity=tex.fidelity(explainer, found),
                unfaithfulness=tex.unfaithfulness(explainer, found), index=np.array([-1]) if index is None else np.atleast_1d(index),
                **{k: v for k, v in params(model).items() if "mask" not in k},
            )  # fmt: skip


def attention():
    torch.manual_seed(5)
    model = tnn.GAT(FEATURES, 8, num_layers=2, out_channels=CLASSES, heads=2).eval()
    x, edge_index = graph(6, loops=False)
    found = {}
    for reduce in ("max", "mean"):
        explainer = tex.Explainer(
            model, tex.AttentionExplainer(reduce), explanation_type="model", model_config=CONFIG, edge_mask_type="object"
        )  # fmt: skip
        found[reduce] = explainer(x, edge_index, index=3).edge_mask
    save("attention", x=x, edge_index=edge_index, **found, **params(model))


def pg_explainer():
    """The mask that a trained PGExplainer gives, by its parameters."""
    torch.manual_seed(7)
    model = tnn.GCN(FEATURES, 8, num_layers=2, out_channels=CLASSES).eval()
    x, edge_index = graph(8)
    target = torch.randint(CLASSES, (NODES,))
    explainer = tex.Explainer(
        model, tex.PGExplainer(epochs=3), explanation_type="phenomenon", model_config=CONFIG, edge_mask_type="object"
    )  # fmt: skip
    for epoch in range(3):
        explainer.algorithm.train(epoch, model, x, edge_index, target=target, index=3)
    found = explainer(x, edge_index, target=target, index=3)
    state = {k: v for k, v in params(model).items() if "mask" not in k}
    mlp = {f"mlp/{k}": v for k, v in explainer.algorithm.mlp.state_dict().items()}
    save("pg_explainer", x=x, edge_index=edge_index, target=target, edge_mask=found.edge_mask, **mlp, **state)


def gradients():
    """Attributions by gradients, by their formulas: Captum is not asked."""
    torch.manual_seed(9)
    model = tnn.GCN(FEATURES, 8, num_layers=2, out_channels=CLASSES).eval()
    x, edge_index = graph(10)
    with torch.no_grad():
        target = model(x, edge_index).argmax(-1)[3]

    def slopes(at, mask):
        at, mask = at.clone().requires_grad_(), mask.clone().requires_grad_()
        set_masks(model, mask, edge_index, apply_sigmoid=False)
        out = model(at, edge_index)[3, target]
        clear_masks(model)
        return torch.autograd.grad(out, [at, mask])

    ones = torch.ones(edge_index.size(1))
    gx, gm = slopes(x, ones)
    places, weights = np.polynomial.legendre.leggauss(20)
    ix, im = torch.zeros_like(x), torch.zeros_like(ones)
    for place, weight in zip((places + 1) / 2, weights / 2):
        a, b = slopes(x * place, ones * place)
        ix, im = ix + weight * a * x, im + weight * b
    state = {k: v for k, v in params(model).items() if "mask" not in k}
    save(
        "gradients", x=x, edge_index=edge_index, saliency_x=gx.abs(), saliency_edge=gm.abs(), input_x=gx * x, input_edge=gm, integrated_x=ix,
        integrated_edge=im, **state,
    )  # fmt: skip


def link_metrics():
    rng = np.random.default_rng(11)
    batches = []
    for n in (7, 4):
        pred = np.stack([rng.permutation(20)[:8] for _ in range(n)])
        row, col = rng.integers(0, n - 1, 25), rng.integers(0, 20, 25)  # the last source has no labels
        pair = np.unique(np.stack([row, col]), axis=1)
        batches.append((pred, pair, rng.integers(0, 4, pair.shape[1]).astype(np.float32)))
    category, popularity = rng.integers(0, 3, 20), rng.integers(1, 9, 20)
    arrays = {"category": category, "popularity": popularity}
    for b, (pred, pair, weight) in enumerate(batches):
        arrays.update({f"pred{b}": pred, f"label{b}": pair, f"weight{b}": weight})
    for k in (1, 3, 8, 10):
        metrics = {
            "precision": tm.LinkPredPrecision(k), "recall": tm.LinkPredRecall(k), "recall_w": tm.LinkPredRecall(k, weighted=True), "f1": tm.LinkPredF1(k),
            "map": tm.LinkPredMAP(k), "ndcg": tm.LinkPredNDCG(k), "ndcg_w": tm.LinkPredNDCG(k, weighted=True), "mrr": tm.LinkPredMRR(k),
            "hit": tm.LinkPredHitRatio(k), "coverage": tm.LinkPredCoverage(k, 20), "personalization": tm.LinkPredPersonalization(k),
            "popularity": tm.LinkPredAveragePopularity(k, torch.tensor(popularity)),
        }  # fmt: skip
        if k > 1:
            metrics["diversity"] = tm.LinkPredDiversity(k, torch.tensor(category))
        for name, metric in metrics.items():
            for pred, pair, weight in batches:
                metric.update(torch.tensor(pred), torch.tensor(pair), torch.tensor(weight))
            arrays[f"{name}@{k}"] = metric.compute()
    save("link_metrics", **arrays)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = tnn.SAGEConv((-1, -1), 6), tnn.SAGEConv((-1, -1), 6)
        self.skip, self.lin = tnn.Linear(-1, 6), tnn.Linear(-1, 2)

    def forward(self, x, edge_index):
        h = self.conv1(x, edge_index).relu() + self.skip(x)
        return self.lin(torch.cat([h, self.conv2(h, edge_index)], dim=-1))


class Pooled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.elin = tnn.Linear(-1, 6), tnn.Linear(4, 6)
        self.conv = tnn.GATConv((-1, -1), 6, add_self_loops=False, edge_dim=6)
        self.pool, self.out = tnn.MeanAggregation(), tnn.Linear(6, 2)

    def forward(self, x, edge_index, edge_attr, batch):
        x = self.conv(self.lin(x), edge_index, self.elin(edge_attr)).tanh()
        return self.out(self.pool(x, batch))


class Narrow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.lin = tnn.SAGEConv((8, 8), 6), tnn.Linear(6, 2)

    def forward(self, x, edge_index):
        return self.lin(self.conv(x, edge_index).relu())


TYPES = (["paper", "author"], [("paper", "cites", "paper"), ("author", "writes", "paper"), ("paper", "by", "author")])


def hetero():
    rng = np.random.default_rng(12)
    counts, widths = {"paper": 6, "author": 4}, {"paper": 5, "author": 3}
    x = {k: torch.tensor(rng.standard_normal((counts[k], widths[k])).astype(np.float32)) for k in counts}
    edges = {t: torch.tensor(np.stack([rng.integers(0, counts[t[0]], 9), rng.integers(0, counts[t[2]], 9)])) for t in TYPES[1]}
    attr = {t: torch.tensor(rng.standard_normal((9, 4)).astype(np.float32)) for t in TYPES[1]}
    batch = {k: torch.tensor(np.sort(rng.integers(0, 2, counts[k]))) for k in counts}
    given = {f"x/{k}": v for k, v in x.items()} | {f"batch/{k}": v for k, v in batch.items()}
    given |= {f"edge_index/{'__'.join(k)}": v for k, v in edges.items()} | {f"edge_attr/{'__'.join(k)}": v for k, v in attr.items()}
    for aggr in ("sum", "mean", "max", "min", "mul"):
        torch.manual_seed(13)
        model = tnn.to_hetero(Net(), TYPES, aggr)
        out = model(x, edges)
        save(f"to_hetero_{aggr}", **given, **{f"out/{k}": v for k, v in out.items()}, **params(model))
    torch.manual_seed(14)
    model = tnn.to_hetero(Pooled(), TYPES)
    save("to_hetero_pooled", **given, out=model(x, edges, attr, batch), **params(model))
    torch.manual_seed(15)
    model = tnn.to_hetero_with_bases(Narrow(), TYPES, num_bases=3, in_channels={"x": 8})
    save("to_hetero_bases", **given, **{f"out/{k}": v for k, v in model(x, edges).items()}, **params(model))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    if not sys.argv[2:]:
        for make in (masks, gnn_explainer, attention, pg_explainer, gradients, link_metrics, hetero):
            make()
    layers(save, sys.argv[2:])
    print(f"{len(list(FOLDER.glob('*.npz')))} files in {FOLDER}, {sum(p.stat().st_size for p in FOLDER.glob('*.npz')):,} bytes")
