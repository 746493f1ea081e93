"""Whole epochs beside PyTorch Geometric, in one run on one machine, and the time that importing the package takes.

Full batch on Cora: GCN (16 hidden, cached), SAGE (64 hidden), GAT (8 heads of 8, dropout .6): an epoch is forward pass with dropout, loss on the training
nodes, backward pass and Adam; "plain" is the same without any dropout, where nearly all time goes into two dense products on both sides. GIN on PROTEINS: DataLoader with 128 graphs a batch, shuffled, four layers of 32 with batch norm, sum over nodes, and
reading the loss of each batch. Both sides run the same script with the same layers; ours once as a loop like PyG's ("loop") and once with a
compiled step ("step"), which is what the ratio is about. PyG runs eagerly and through torch.compile; the better one counts.

Every measurement is a process of its own, and the sides take turns. Times are medians of epochs after some that do not count.

Usage: geometric.py [-k NAME] [--threads 2] [--seconds 8] [--turns 3] [--modes eager,compile] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from graph_common import child, machine, median_ms, write_json

BARS = {"gcn": 4, "sage": 4, "gat": 5, "gin": 4, "gcn-plain": None, "sage-plain": None, "gat-plain": None}
IMPORT = 0.3  # seconds
HIDDEN, LAYERS, BATCH = 32, 4, 128


# ---- Cora ----


def make_net(gnn, nn, model, features, classes):
    """Two layers of either library and the dropout ahead of each: they have the same names and options."""
    p = 0.0 if model.endswith("-plain") else 0.6 if model == "gat" else 0.5
    if model.startswith("gcn"):
        return gnn.GCNConv(features, 16, cached=True), gnn.GCNConv(16, classes, cached=True), p
    if model.startswith("sage"):
        return gnn.SAGEConv(features, 64), gnn.SAGEConv(64, classes), p
    return gnn.GATConv(features, 8, heads=8, dropout=p), gnn.GATConv(64, classes, heads=1, concat=False, dropout=p), p


def cora():
    """x, edge_index, y and the training nodes, as arrays: the data set, or noise of its size where there is none."""
    import numpy as np
    from polygrad.geometric.datasets import Planetoid
    from polygrad.geometric.transforms import NormalizeFeatures

    try:
        data = Planetoid(None, "Cora", transform=NormalizeFeatures())[0]
        return data.x.numpy(), data.edge_index.numpy(), data.y.numpy(), np.flatnonzero(data.train_mask.numpy())
    except OSError:
        rng = np.random.default_rng(0)
        x = (rng.random((2708, 1433)) < 0.0127).astype(np.float32)
        return x, rng.integers(0, 2708, (2, 10556)), rng.integers(0, 7, 2708), np.arange(140)


def ours_cora(model, mode, seconds):
    import polygrad.geometric.nn as gnn
    from polygrad import Tensor, nn

    x, edge_index, y, train = (Tensor(a).realize() for a in cora())

    class Net(nn.Module):
        def __init__(self):
            self.one, self.two, self.p = make_net(gnn, nn, model, x.shape[1], 7)

        def forward(self, h):
            h = self.one(h.dropout(self.p), edge_index)
            h = h.elu() if model.startswith("gat") else h.relu()
            return self.two(h.dropout(self.p), edge_index)

    net = Net().train()
    opt = nn.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)

    def epoch(net, opt):
        opt.zero_grad()
        loss = net(x)[train].cross_entropy(y[train])
        loss.backward()
        opt.step()
        return loss

    if mode == "loop":
        return median_ms(lambda: epoch(net, opt).item(), seconds, most=10000, warm=5)
    step = nn.compile_step(epoch, net, opt)

    def run():
        step.run()
        step.loss_value()

    return median_ms(run, seconds, most=10000, warm=5)


def pyg_cora(model, mode, seconds):
    import torch
    import torch_geometric.nn as gnn

    x, edge_index, y, train = (torch.from_numpy(a) for a in cora())

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two, self.p = make_net(gnn, torch.nn, model, x.shape[1], 7)

        def forward(self, h):
            f = torch.nn.functional
            h = self.one(f.dropout(h, self.p, self.training), edge_index)
            h = f.elu(h) if model.startswith("gat") else h.relu()
            return self.two(f.dropout(h, self.p, self.training), edge_index)

    net = Net().train()
    opt = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    run = torch.compile(net) if mode == "compile" else net

    def epoch():
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(run(x)[train], y[train])
        loss.backward()
        opt.step()
        loss.item()

    return median_ms(epoch, seconds, most=10000, warm=5)


# ---- PROTEINS ----


def gin_layers(gnn, nn, features):
    widths = [features] + [HIDDEN] * LAYERS
    return [gnn.GINConv(gnn.MLP([a, b, b], norm="batch_norm"), train_eps=True) for a, b in zip(widths, widths[1:])]


def ours_gin(mode, seconds):
    import polygrad.geometric.nn as gnn
    from polygrad import nn
    from polygrad.geometric.datasets import TUDataset
    from polygrad.geometric.loader import DataLoader

    dataset = TUDataset(None, "PROTEINS")
    loader = DataLoader(dataset, BATCH, shuffle=True)

    class Net(nn.Module):
        def __init__(self):
            self.convs = nn.ModuleList(gin_layers(gnn, nn, dataset.num_features))
            self.lin = nn.Linear(HIDDEN, 2)

        def forward(self, x, edge_index, batch):
            for conv in self.convs:
                x = conv(x, edge_index).relu()
            return self.lin(gnn.global_add_pool(x, batch).dropout(0.5))

    net = Net().train()
    opt = nn.Adam(net.parameters(), lr=0.01)

    def train(net, opt, x, edge_index, batch, y):
        opt.zero_grad()
        loss = net(x, edge_index, batch).cross_entropy(y)
        loss.backward()
        opt.step()
        return loss

    if mode == "loop":

        def epoch():
            for data in loader:
                train(net, opt, data.x, data.edge_index, data.batch, data.y).item()

    else:
        first = next(iter(loader))
        step = nn.compile_step(train, net, opt, first.x, first.edge_index, first.batch, first.y)

        def epoch():
            for data in loader:
                step.run(data.x, data.edge_index, data.batch, data.y)
                step.loss_value()

    return median_ms(epoch, seconds, most=1000, warm=2)


def pyg_gin(mode, seconds):
    import torch
    import torch_geometric.nn as gnn
    from polygrad.geometric.datasets import TUDataset
    from torch_geometric.loader import DataLoader

    ours = TUDataset(None, "PROTEINS")
    dataset = [ours[k].to_pyg() for k in range(len(ours))]
    loader = DataLoader(dataset, BATCH, shuffle=True)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = torch.nn.ModuleList(gin_layers(gnn, torch.nn, ours.num_features))
            self.lin = torch.nn.Linear(HIDDEN, 2)

        def forward(self, x, edge_index, batch, size):
            for conv in self.convs:
                x = conv(x, edge_index).relu()
            return self.lin(torch.nn.functional.dropout(gnn.global_add_pool(x, batch, size), 0.5, self.training))

    net = Net().train()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    run = torch.compile(net, dynamic=True) if mode == "compile" else net

    def epoch():
        for data in loader:
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(run(data.x, data.edge_index, data.batch, data.num_graphs), data.y)
            loss.backward()
            opt.step()
            loss.item()

    return median_ms(epoch, seconds, most=1000, warm=2)


# ---- the run ----


def measure(side, mode, model, threads, seconds):
    if side == "pyg":
        import torch

        torch.set_num_threads(threads)
    cpu = time.process_time()
    ms = (
        (ours_gin if side == "ours" else pyg_gin)(mode, seconds)
        if model == "gin"
        else (ours_cora if side == "ours" else pyg_cora)(model, mode, seconds)
    )
    print(json.dumps({"ms": ms, "cpu_s": time.process_time() - cpu}))


def import_seconds(what, times=5):
    """How much longer Python takes with the import than without, at best."""

    def clock(statement):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return time.perf_counter() - start

    bare = min(clock("pass") for _ in range(times))
    return min(clock(f"import {what}") for _ in range(times)) - bare


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="gcn, sage, gat, gin or import")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--modes", default="eager,compile", help="of PyG")
    parser.add_argument("--json")
    parser.add_argument("--child", nargs="+")
    args = parser.parse_args()
    if args.child:
        side, mode, model, threads, seconds = args.child
        return measure(side, mode, model, int(threads), float(seconds))
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    kinds = [("ours", "step"), ("ours", "loop"), *(("pyg", m) for m in args.modes.split(",") if m)]
    rows = []
    for model, bar in BARS.items():
        if args.k and args.k not in model:
            continue
        found = {k: [] for k in kinds}
        for _ in range(args.turns):
            for side, mode in kinds:
                found[side, mode].append(child(__file__, side, mode, model, args.threads, args.seconds))
        row = {"model": model, "bar": bar}
        for (side, mode), runs in found.items():
            good = [r["ms"] for r in runs if "ms" in r]
            row[f"{side} {mode}"] = statistics.median(good) if good else runs[0]["error"]
            said = f"{row[f'{side} {mode}']:8.2f} ms an epoch" if good else f"does not run: {runs[0]['error']}"
            print(f"  {model:5} {side} {mode:8} {said}")
        peers = [v for k, v in row.items() if k.startswith("pyg") and isinstance(v, float)]
        if peers and isinstance(row["ours step"], float):
            row["ratio"], row["ratio_loop"] = min(peers) / row["ours step"], min(peers) / row["ours loop"]
            print(
                f"{model:7} {row['ratio']:5.1f}x PyG at its best, {row['ratio_loop']:.1f}x as a loop "
                + (f"(wanted {bar}x)   {'met' if row['ratio'] >= bar else 'MISSED'}" if bar else ""),
                flush=True,
            )
        rows.append(row)
    seconds = {}
    if not args.k or args.k == "import":
        seconds = {
            what: import_seconds(what)
            for what in ("polygrad.geometric", "polygrad.geometric.nn", "torch_geometric")
            if what != "torch_geometric" or args.modes
        }
        for what, s in seconds.items():
            print(
                f"import {what:24} {s:6.3f} s"
                + (f"   (wanted {IMPORT})   {'met' if s <= IMPORT else 'MISSED'}" if what == "polygrad.geometric" else "")
            )
    write_json(args.json, machine=machine(args.threads), rows=rows, import_s=seconds, import_bar=IMPORT)


if __name__ == "__main__":
    main()
