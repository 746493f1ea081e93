"""Models that are not one large graph, on a GPU beside PyTorch in one run: whole training steps (forward, backward, Adam), float32 without TF32.

An MLP 784-256-10 of batch 512, a transformer encoder layer (512 wide, 8 heads, 2048) on 16 x 512 tokens, two 3x3 convolutions of 64 with batch norm on
128x3x32x32, and batches of 128 small graphs through five GIN layers of 64 with batch norm and a sum over the nodes of each graph. Both sides build the same
text; ours is a compiled step, PyTorch runs eagerly and compiled, the better counts. Time is the median over blocks of steps that end with waiting
for the card.

Usage: cuda_models.py [-k NAME] [--modes eager,compile] [--seconds 1.0] [--small] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

import numpy as np
from cuda import timed
from graph_common import write_json

BARS = {"MLP": 3.0, "transformer layer": 1.0, "CNN": 1.0, "GIN, 128 graphs": 8.0}


def mlp(nn, gnn, rng, small):
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    return net, [rng.standard_normal((512, 784), dtype="f")], rng.integers(0, 10, 512)


def transformer(nn, gnn, rng, small):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)

        def forward(self, x):
            return self.layer(x).reshape(-1, 512)[:, :16]

    batch, tokens = (2, 16) if small else (16, 512)
    return Net(), [rng.standard_normal((batch, tokens, 512), dtype="f")], rng.integers(0, 16, batch * tokens)


def cnn(nn, gnn, rng, small):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1)
            self.c, self.d, self.out = nn.BatchNorm2d(64), nn.BatchNorm2d(64), nn.Linear(64, 10)

        def forward(self, x):
            x = self.c(self.a(x)).relu()
            return self.out(self.d(self.b(x)).relu().mean((2, 3)))

    n = 4 if small else 128
    return Net(), [rng.standard_normal((n, 3, 32, 32), dtype="f")], rng.integers(0, 10, n)


def gin(nn, gnn, rng, small):
    graphs = 128
    nodes = rng.integers(20, 58, graphs)
    start = np.concatenate([[0], np.cumsum(nodes)])
    of = np.repeat(np.arange(graphs), nodes)
    edges = np.repeat(np.arange(start[-1]), 4)
    others = start[of[edges]] + rng.integers(0, 1 << 30, len(edges)) % nodes[of[edges]]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            wide = [(16 if k == 0 else 64, 64) for k in range(5)]
            maps = [nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU(), nn.Linear(o, o), nn.ReLU()) for i, o in wide]
            self.convs, self.out = nn.ModuleList([gnn.GINConv(m) for m in maps]), nn.Linear(64, 2)

        def forward(self, x, edge_index, batch):
            for conv in self.convs:
                x = conv(x, edge_index)
            return self.out(gnn.global_add_pool(x, batch, graphs))

    return Net(), [rng.standard_normal((start[-1], 16), dtype="f"), np.stack([others, edges]), of], rng.integers(0, 2, graphs)


WORK = {"MLP": mlp, "transformer layer": transformer, "CNN": cnn, "GIN, 128 graphs": gin}


def ours(name, seconds, small):
    import polygrad.geometric.nn as gnn
    from polygrad import Device, Tensor, nn

    Device.DEFAULT = os.environ.get("POLY_DEVICE", "CUDA")
    Tensor.training = True
    net, inputs, labels = WORK[name](nn, gnn, np.random.default_rng(0), small)
    inputs, labels = [Tensor(a).realize() for a in inputs], Tensor(labels).realize()

    def train(net, opt, x, y):
        loss = net(x, *inputs[1:]).cross_entropy(y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    step = nn.compile_step(train, net, nn.Adam(nn.get_parameters(net), lr=0.001), inputs[0], labels)
    return timed(step.run, step.loss_value, seconds)


def peer(name, seconds, small, mode):
    import torch
    import torch_geometric.nn as gnn

    at = "cuda" if torch.cuda.is_available() else "cpu"
    wait = torch.cuda.synchronize if at == "cuda" else (lambda: None)
    net, inputs, labels = WORK[name](torch.nn, gnn, np.random.default_rng(0), small)
    net, inputs, labels = net.to(at), [torch.from_numpy(a).to(at) for a in inputs], torch.from_numpy(labels).to(at)
    opt, run = torch.optim.Adam(net.parameters(), lr=0.001), torch.compile(net) if mode == "compile" else net

    def step():
        opt.zero_grad()
        torch.nn.functional.cross_entropy(run(*inputs), labels).backward()
        opt.step()

    return timed(step, wait, seconds)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="")
    ap.add_argument("--modes", default="eager,compile")
    ap.add_argument("--seconds", type=float, default=1.0)
    ap.add_argument("--limit", type=float, default=90.0, help="seconds that a measurement may take")
    ap.add_argument("--small", action="store_true", help="sizes for a try on a CPU")
    ap.add_argument("--json")
    ap.add_argument("--child", nargs=2)
    args = ap.parse_args()
    if args.child:
        side, name = args.child
        print(json.dumps(ours(name, args.seconds, args.small) if side == "ours" else peer(name, args.seconds, args.small, side)))
        return
    rows = []
    for name in WORK:
        if args.k not in name:
            continue
        ms = {}
        for side in ("ours", *filter(None, args.modes.split(","))):
            command = [sys.executable, __file__, "--seconds", str(args.seconds), *(["--small"] if args.small else []), "--child", side, name]
            try:
                ms[side] = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=args.limit, check=True).stdout.splitlines()[-1])
            except (subprocess.SubprocessError, IndexError) as e:
                print(f"{name:20} {side} does not run: {(getattr(e, 'stderr', '') or str(e)).strip().splitlines()[-1][:200]}", flush=True)
        rows.append({"name": name, "ms": ms, "bar": BARS[name]})
        write_json(args.json, small=args.small, rows=rows)
        best = min((v for k, v in ms.items() if k != "ours"), default=None)
        if "ours" in ms and best:
            ratio = best / ms["ours"]
            print(f"{name:20} ours {ms['ours']:8.3f} ms   PyTorch's best {best:8.3f} ms   {ratio:.2f} (bar {BARS[name]})", flush=True)


if __name__ == "__main__":
    main()
