"""GNNExplainer beside PyTorch Geometric's, on the same trained weights, in one run: CPU time of an explanation, and how much of the motif is found.

BA-Shapes: a GCN of three layers tells the place of a node in a house; for some nodes of houses, the 12 edges with the largest masks are
compared with those of houses. BA-2motifs (generated): a GCN of three layers and a mean tells which motif a graph has; as many edges as the motif has are
compared with it. There the two motifs differ in their number of edges, which is enough to tell the classes: what is explained need not be the motif, on
either side. Both sides have the same models with the same weights, the same graphs, and begin with the same masks, so that their results can be
compared mask by mask; what is left of a difference is rounding.

Usage: explain.py [--nodes 20] [--graphs 20] [--epochs 100] [--threads 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import namedtuple
from unittest import mock

import numpy as np
from graph_common import machine, write_json

BAR = 5


def parser():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--nodes", type=int, default=20)
    p.add_argument("--graphs", type=int, default=20)
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--json")
    return p


# ---- models, the same in both libraries ----


def graph_net(nn, gnn, cat):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = nn.ModuleList([gnn.GraphConv(10, 20), gnn.GraphConv(20, 20), gnn.GraphConv(20, 20)])
            self.lin = nn.Linear(40, 2)

        def forward(self, x, edge_index, batch, batch_size):
            for conv in self.convs:
                x = conv(x, edge_index).relu()
            return self.lin(cat([gnn.global_max_pool(x, batch, batch_size), gnn.global_mean_pool(x, batch, batch_size)]))

    return Net()


def to_torch(net, model):
    import torch

    model.load_state_dict({k: torch.tensor(v.numpy()) for k, v in net.state_dict().items()})
    return model.eval()


# ---- training, here ----


def fit(net, data, epochs, lr, mask=None):
    from polygrad import Tensor, nn

    opt = nn.Adam(net.parameters(), lr=lr, weight_decay=5e-4)

    def train_step(model, opt, x):
        out = model(x, *data[1:-1])
        loss = (out if mask is None else out[mask]).cross_entropy(data[-1] if mask is None else data[-1][mask])
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    step = nn.compile_step(train_step, net, opt, data[0])
    for _ in range(epochs):
        step.run()
    with Tensor.no_grad():
        return float((net(*data[:-1]).argmax(-1) == data[-1]).cast("float32").mean().item())


# ---- explaining ----


def precision(mask, truth, count):
    return float(truth[(-mask).argsort()[:count]].mean())


# On BA-2motifs all features are equal, and edges alone are explained; masks are made small rather than decided.
COEFFS = {"node": {}, "graph": {"edge_size": 0.05, "edge_ent": 0.1}}
TIMES = {"node": 1, "graph": 3}  # how many times the epochs


def settings(level):
    return {
        "explanation_type": "model", "edge_mask_type": "object", "node_mask_type": "attributes" if level == "node" else None,
        "model_config": {"mode": "multiclass_classification", "task_level": level, "return_type": "raw"},
    }  # fmt: skip


def same_masks(kind, job):
    """While it is open, masks are drawn alike for both libraries."""
    rng = np.random.default_rng(job)
    return mock.patch.object(kind.place, "randn", lambda *shape, **_: kind.of(rng.standard_normal(shape).astype(np.float32)))


def explain_all(explainer, jobs, kind):
    """jobs: [(x, edge_index, keywords, truth, count)]. Seconds of CPU time of each, the precisions, and the masks; the first is run twice and timed
    once."""
    explainer(jobs[0][0], jobs[0][1], **jobs[0][2])
    times, found, masks = [], [], []
    for k, (x, edge_index, keywords, truth, count) in enumerate(jobs):
        with same_masks(kind, k):
            start = time.process_time()
            masks.append(explainer(x, edge_index, **keywords).edge_mask.numpy())
            times.append(time.process_time() - start)
        found.append(precision(masks[-1], truth, count))
    return times, found, masks


def shapes(args):
    """Jobs for both sides, and both models, on BA-Shapes."""
    import torch
    import torch_geometric.nn as tnn
    from polygrad.geometric.datasets import BAShapes
    from polygrad.geometric.nn import GCN

    data = BAShapes()[0]
    net = GCN(10, 20, num_layers=3, out_channels=4)
    accuracy = fit(net, (data.x, data.edge_index, data.y), 2000, 1e-3)
    model = to_torch(net, tnn.GCN(10, 20, num_layers=3, out_channels=4))
    truth = data.edge_label.numpy() > 0
    nodes = np.random.default_rng(0).choice(np.arange(300, 700), args.nodes, replace=False)
    x, edges = torch.tensor(data.x.numpy()), torch.tensor(data.edge_index.numpy())
    ours = [(data.x, data.edge_index, {"index": int(v)}, truth, 12) for v in nodes]
    theirs = [(x, edges, {"index": int(v)}, truth, 12) for v in nodes]
    return "BA-Shapes", "node", net, model, ours, theirs, accuracy


def motifs(args):
    """The same on generated BA-2motifs."""
    import polygrad.geometric.nn as pnn
    import torch
    import torch_geometric.nn as tnn
    from polygrad import Tensor, nn
    from polygrad.geometric.data import Batch
    from polygrad.geometric.datasets import BA2MotifDataset

    dataset = BA2MotifDataset(num_graphs=400)
    batch = Batch.from_data_list([dataset[k] for k in range(400)])
    net = graph_net(nn, pnn, lambda parts: Tensor.cat(*parts, dim=-1))
    accuracy = fit(net, (batch.x, batch.edge_index, batch.batch, 400, batch.y), 400, 5e-3)
    model = to_torch(net, graph_net(torch.nn, tnn, lambda parts: torch.cat(parts, dim=-1)))
    ours, theirs = [], []
    for k in range(args.graphs):
        graph = dataset[k]
        truth = graph.edge_mask.numpy() > 0
        zeros = np.zeros(graph.num_nodes, np.int64)
        ours.append((graph.x, graph.edge_index, {"batch": Tensor(zeros), "batch_size": 1}, truth, int(truth.sum())))
        x, edges = torch.tensor(graph.x.numpy()), torch.tensor(graph.edge_index.numpy())
        theirs.append((x, edges, {"batch": torch.tensor(zeros), "batch_size": 1}, truth, int(truth.sum())))
    return "BA-2motifs", "graph", net, model, ours, theirs, accuracy


Kind = namedtuple("Kind", "place of")  # where a library draws, and how it makes a tensor of an array


def measure(case, args):
    import torch
    import torch_geometric.explain as tex
    from polygrad import Tensor
    from polygrad.geometric.explain import Explainer, GNNExplainer

    name, level, net, model, ours, theirs, accuracy = case(args)
    row, options = {"case": name, "accuracy": accuracy}, {"epochs": TIMES[level] * args.epochs, **COEFFS[level]}
    found = {}
    for who, jobs, explainer, kind in (
        ("ours", ours, Explainer(net, GNNExplainer(**options), **settings(level)), Kind(Tensor, Tensor)),
        ("pyg", theirs, tex.Explainer(model, tex.GNNExplainer(**options), **settings(level)), Kind(torch, torch.from_numpy)),
    ):
        times, each, found[who] = explain_all(explainer, jobs, kind)
        row[f"{who}_precision"], row[f"{who}_ms"] = statistics.mean(each), 1000 * statistics.median(times)
    row["ratio"] = row["pyg_ms"] / row["ours_ms"]
    row["masks_differ"] = max(float(abs(a - b).max()) for a, b in zip(found["ours"], found["pyg"]))
    print(
        f"{name:12s} accuracy {accuracy:.3f}  ours {row['ours_ms']:8.1f} ms, precision {row['ours_precision']:.3f}   "
        f"PyG {row['pyg_ms']:8.1f} ms, precision {row['pyg_precision']:.3f}   masks differ by {row['masks_differ']:.1e}   "
        f"ratio {row['ratio']:.1f} (bar {BAR})"
    )
    return row


def main():
    args = parser().parse_args()
    os.environ.setdefault("POLY_THREADS", str(args.threads))
    import torch
    from polygrad import Tensor

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    Tensor.manual_seed(0)
    rows = [measure(case, args) for case in (shapes, motifs)]
    if args.json:
        write_json(args.json, {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
