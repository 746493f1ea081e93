"""Whole training steps of graph networks beside PyTorch Geometric, in one run on one machine.

An R-MAT graph of ogbn-arxiv's size, two layers 128 -> 64 -> 40, cross entropy on all nodes, Adam, full batch, float32. Both sides run the
same layers with the same options: ours from polygrad.geometric, in a compiled step; PyG's in each of its modes: eager with an edge_index,
torch.compile of the network, and a torch.sparse CSR matrix as adjacency. A mode that does not run is noted with its error.

Every measurement is a process of its own. Time is the median of the steps after two that do not count. Memory is how much the resident
memory of the process grows at most over what it is when the libraries and the data (features, labels, edge_index) are there and nothing else:
graph, layers, optimizer and steps are in it. "memory" compares with the mode of PyG that needs the least.

Usage: graph_train.py [-k MODEL] [--modes eager,compile,csr] [--threads 2] [--scale 1.0] [--seconds 15] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile

from graph_common import ARXIV, Growth, child, machine, median_ms, rmat, write_json

FEATURES, HIDDEN, CLASSES, HEADS = 128, 64, 40, 8
# model: speed over PyG's best mode, memory beside its least
MODELS = {
    "gcn": (5, 1 / 4), "sage": (3, 1 / 3), "gin": (3, 1 / 3), "gat": (8, 1 / 10), "sage-max": (5, 1 / 10), "gatv2": (5, 1 / 10),
    "transformer": (5, 1 / 10), "edge": (5, 1 / 10),
}  # fmt: skip


def make_layer(gnn, nn, model, i, o, last):
    """A layer of either library: they have the same names and options."""
    heads, wide = (1, o) if last else (HEADS, o // HEADS)
    if model == "gcn":
        return gnn.GCNConv(i, o, cached=True)
    if model == "sage":
        return gnn.SAGEConv(i, o)
    if model == "sage-max":
        return gnn.SAGEConv(i, o, aggr="max")
    if model == "gin":
        return gnn.GINConv(nn.Sequential(nn.Linear(i, o), nn.ReLU(), nn.Linear(o, o)))
    if model == "gat":
        return gnn.GATConv(i, wide, heads=heads)
    if model == "gatv2":
        return gnn.GATv2Conv(i, wide, heads=heads)
    if model == "transformer":
        return gnn.TransformerConv(i, wide, heads=heads)
    return gnn.EdgeConv(nn.Linear(2 * i, o))


def load(folder):
    import numpy as np

    return (np.load(os.path.join(folder, f"{name}.npy")) for name in ("edge_index", "x", "y"))


def save(folder, scale):
    import numpy as np

    v, e = (max(64, int(n * scale)) for n in ARXIV)
    rng = np.random.default_rng(1)
    np.save(os.path.join(folder, "edge_index.npy"), rmat(v, e).astype(np.int64))
    np.save(os.path.join(folder, "x.npy"), rng.standard_normal((v, FEATURES), dtype=np.float32))
    np.save(os.path.join(folder, "y.npy"), rng.integers(0, CLASSES, v))


def make_step(model, edge_index, x, y):
    """A compiled training step of two layers."""
    import polygrad.geometric.nn as gnn
    from polygrad import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = make_layer(gnn, nn, model, FEATURES, HIDDEN, False)
            self.two = make_layer(gnn, nn, model, HIDDEN, CLASSES, True)

        def forward(self, h):
            return self.two(self.one(h, edge_index).relu(), edge_index)

    def train(net, opt, a, b):
        loss = net(a).cross_entropy(b)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    net = Net()
    return nn.compile_step(train, net, nn.Adam(nn.get_parameters(net), lr=0.01), x, y)


def ours(model, folder, seconds):
    from polygrad import Tensor

    data = [Tensor(a).realize() for a in load(folder)]
    (Tensor.rand(256, 256) @ Tensor.rand(256, 256)).realize()  # the library of matrix products is loaded when it is first used
    growth = Growth()
    step = make_step(model, *data)
    ms = median_ms(step.run, seconds)
    print(json.dumps({"ms": ms, "mib": growth.mib(), "loss": step.loss_value()}))


def pyg(model, mode, folder, threads, seconds):
    import torch
    import torch_geometric.nn as gnn
    from torch_geometric.utils import to_torch_csr_tensor

    torch.set_num_threads(threads)
    edge_index, x, y = (torch.from_numpy(a) for a in load(folder))
    if mode == "compile":  # the compiler itself is a library, too
        torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()))(torch.randn(4, 8)).sum().backward()
    torch.rand(256, 256) @ torch.rand(256, 256)
    growth = Growth()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = make_layer(gnn, torch.nn, model, FEATURES, HIDDEN, False)
            self.two = make_layer(gnn, torch.nn, model, HIDDEN, CLASSES, True)

        def forward(self, h, adj):
            return self.two(self.one(h, adj).relu(), adj)

    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    adj = to_torch_csr_tensor(edge_index.flip(0), size=(len(x), len(x))) if mode == "csr" else edge_index
    run = torch.compile(net) if mode == "compile" else net
    last = [0.0]

    def step():
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(run(x, adj), y)
        loss.backward()
        opt.step()
        last[0] = loss.item()

    ms = median_ms(step, seconds)
    print(json.dumps({"ms": ms, "mib": growth.mib(), "loss": last[0]}))


def report(model, mine, peers):
    """A row of the table, printed and returned."""
    bar, share = MODELS[model]
    good = {m: r for m, r in peers.items() if "ms" in r}
    for mode, r in {"ours": mine, **peers}.items():
        print(f"  {model:12} {mode:8} " + (f"{r['ms']:8.1f} ms {r['mib']:8.0f} MiB" if "ms" in r else f"does not run: {r['error']}"))
    row = {"model": model, "ours": mine, "peers": peers, "bar": bar, "memory_bar": share}
    if "ms" in mine and good:
        best = min(good, key=lambda m: good[m]["ms"])
        row |= {"best": best, "ratio": good[best]["ms"] / mine["ms"], "memory": mine["mib"] / min(r["mib"] for r in good.values())}
        row["memory_of_best"] = mine["mib"] / good[best]["mib"]
        met = row["ratio"] >= bar and row["memory"] <= share
        print(
            f"{model:14} {row['ratio']:5.1f}x PyG's best ({best}; bar {bar}x)   memory {row['memory']:.2f} of its least (bar {share:.2f})"
            f"   {'met' if met else 'MISSED'}"
        )
    print(flush=True)
    return row


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="")
    ap.add_argument("--modes", default="eager,compile,csr")
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--scale", type=float, default=1.0)
    ap.add_argument("--seconds", type=float, default=15.0, help="for the steps of a measurement")
    ap.add_argument("--json")
    ap.add_argument("--child", nargs="*")
    args = ap.parse_args()
    if args.child:
        model, mode, folder, threads, seconds = args.child
        return ours(model, folder, float(seconds)) if mode == "ours" else pyg(model, mode, folder, int(threads), float(seconds))
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        save(folder, args.scale)
        for model in MODELS:
            if args.k in (model, ""):
                modes = ("ours", *filter(None, args.modes.split(",")))
                results = {m: child(__file__, model, m, folder, args.threads, args.seconds) for m in modes}
                rows.append(report(model, results.pop("ours"), results))
    write_json(args.json, **machine(args.threads), scale=args.scale, rows=rows)


if __name__ == "__main__":
    main()
