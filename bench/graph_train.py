"""Whole training steps of graph networks beside PyTorch Geometric, in one run on one machine.

An R-MAT graph (a=.57, b=c=.19) of ogbn-arxiv's size, two layers 128 -> 64 -> 40, cross entropy on all nodes, Adam. PyG runs in each of
its modes that apply (eager edge_index, CSR adjacency); the ratio is to its best. Memory is the peak of the process above what it held
before the first step, each in a process of its own. Usage: graph_train.py [-k MODEL] [--threads 2] [--scale 1.0] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

NODES, EDGES, FEATURES, HIDDEN, CLASSES = 169_343, 2_315_598, 128, 64, 40
MODELS = {"gcn": (5.0, 1 / 4), "sage": (3.0, 1 / 3), "gin": (3.0, 1 / 3), "gat": (8.0, 1 / 10)}


def rmat(nodes, edges, seed=0):
    """Edge list of an R-MAT graph with shuffled node names."""
    import numpy as np

    rng = np.random.default_rng(seed)
    levels = (nodes - 1).bit_length()
    out = np.zeros((2, 0), np.int64)
    while out.shape[1] < edges:
        n = edges - out.shape[1] + 1024
        src, dst = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for _ in range(levels):
            r = rng.random(n)
            src = 2 * src + (r >= 0.76)
            dst = 2 * dst + (((r >= 0.57) & (r < 0.76)) | (r >= 0.95))
        keep = (src < nodes) & (dst < nodes)
        out = np.concatenate([out, np.stack([src[keep], dst[keep]])], 1)
    return rng.permutation(nodes)[out[:, :edges]]


def data(scale):
    import numpy as np

    v, e = int(NODES * scale), int(EDGES * scale)
    rng = np.random.default_rng(1)
    return rmat(v, e), rng.standard_normal((v, FEATURES), dtype=np.float32), rng.integers(0, CLASSES, v)


def timed(step, budget=20.0, least=3):
    step()
    times = []
    start = time.perf_counter()
    while len(times) < least or (time.perf_counter() - start < budget and len(times) < 15):
        t = time.perf_counter()
        step()
        times.append((time.perf_counter() - t) * 1e3)
    return statistics.median(times)


# ---- ours: the layers as moves on a graph ----


def ours(model, scale):
    import numpy as np
    from polygrad import Graph, Tensor
    from polygrad.nn import Adam, Linear, ReLU, Sequential, compile_step, get_parameters

    edge_index, x, y = data(scale)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    g = Graph(edge_index, num_nodes=len(x))

    class GCN:
        def __init__(self, i, o):
            self.lin, self.bias = Linear(i, o, bias=False), Tensor.zeros(o, requires_grad=True)
            self.g = g.with_self_loops(only_missing=True)
            self.norm = self.g.in_degree.cast("float32").rsqrt().realize()

        def __call__(self, h):
            n = self.norm.unsqueeze(-1)
            return self.g.sum(self.g.src(self.lin(h) * n)) * n + self.bias

    class SAGE:
        def __init__(self, i, o):
            self.l, self.r = Linear(i, o), Linear(i, o, bias=False)

        def __call__(self, h):
            return self.l(g.mean(g.src(h))) + self.r(h)

    class GIN:
        def __init__(self, i, o):
            self.nn = Sequential(Linear(i, o), ReLU(), Linear(o, o))

        def __call__(self, h):
            return self.nn(h + g.sum(g.src(h)))

    class GAT:
        def __init__(self, i, o, heads=8):
            self.heads, self.d = (heads, o // heads) if o % heads == 0 else (1, o)
            self.g = g.without_self_loops().with_self_loops()
            self.lin = Linear(i, self.heads * self.d, bias=False)
            self.a, self.b = (Tensor.glorot_uniform(self.heads, self.d).requires_grad_() for _ in range(2))
            self.bias = Tensor.zeros(self.heads * self.d, requires_grad=True)

        def __call__(self, x):
            h = self.lin(x).reshape(-1, self.heads, self.d)
            el, er = (h * self.a).sum(-1), (h * self.b).sum(-1)
            alpha = self.g.softmax((self.g.src(el) + self.g.dst(er)).leaky_relu(0.2))
            return self.g.sum(alpha.unsqueeze(-1) * self.g.src(h)).reshape(-1, self.heads * self.d) + self.bias

    layer = {"gcn": GCN, "sage": SAGE, "gin": GIN, "gat": GAT}[model]

    class Net:
        def __init__(self):
            self.one = layer(FEATURES, HIDDEN)
            self.two = GAT(HIDDEN, CLASSES, 1) if model == "gat" else layer(HIDDEN, CLASSES)

        def __call__(self, h):
            return self.two(self.one(h).relu())

    net = Net()
    opt = Adam(get_parameters(net), lr=0.01)

    def train(m, o, a, b):
        loss = m(a).cross_entropy(b)
        loss.backward()
        o.step()
        o.zero_grad()
        return loss

    step = compile_step(train, net, opt, Tensor(x), Tensor(y.astype(np.int32)))
    ms = timed(step.run)
    print(json.dumps({"ms": ms, "mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024, "loss": step.loss_value()}))


# ---- PyG ----


def pyg(model, mode, scale, threads):
    import torch
    import torch_geometric.nn as gnn

    torch.set_num_threads(threads)
    edge_index, x, y = data(scale)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    x, y, ei = torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(edge_index)

    def mlp(i, o):
        return torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.ReLU(), torch.nn.Linear(o, o))

    make = {
        "gcn": lambda i, o, last: gnn.GCNConv(i, o, cached=True),
        "sage": lambda i, o, last: gnn.SAGEConv(i, o),
        "gin": lambda i, o, last: gnn.GINConv(mlp(i, o)),
        "gat": lambda i, o, last: gnn.GATConv(i, o, 1) if last else gnn.GATConv(i, o // 8, 8),
    }[model]
    one, two = make(FEATURES, HIDDEN, False), make(HIDDEN, CLASSES, True)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)
    adj = ei
    if mode == "csr":
        from torch_geometric.utils import to_torch_csr_tensor

        adj = to_torch_csr_tensor(ei.flip(0), size=(len(x), len(x)))

    def step():
        opt.zero_grad()
        torch.nn.functional.cross_entropy(two(one(x, adj).relu(), adj), y).backward()
        opt.step()

    ms = timed(step)
    print(json.dumps({"ms": ms, "mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024}))


def child(*args):
    out = subprocess.run([sys.executable, __file__, "--child", *map(str, args)], capture_output=True, text=True)
    if out.returncode:
        return {"error": (out.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(out.stdout.strip().splitlines()[-1])


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("-k", default="")
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--scale", type=float, default=1.0)
    ap.add_argument("--json")
    ap.add_argument("--child", nargs="*")
    args = ap.parse_args()
    if args.child:
        model, mode, scale, threads = args.child[0], args.child[1], float(args.child[2]), int(args.child[3])
        return ours(model, scale) if mode == "ours" else pyg(model, mode, scale, threads)
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    rows = []
    for model, (bar, memory) in MODELS.items():
        if args.k not in model:
            continue
        mine = child(model, "ours", args.scale, args.threads)
        peers = {m: child(model, m, args.scale, args.threads) for m in ("eager", "csr")}
        good = {m: r for m, r in peers.items() if "ms" in r}
        if "ms" not in mine or not good:
            print(model, mine, peers)
            continue
        ratio, share = min(r["ms"] for r in good.values()) / mine["ms"], mine["mib"] / min(r["mib"] for r in good.values())
        shown = "  ".join(f"pyg {m} {r['ms']:.0f} ms {r['mib']:.0f} MiB" for m, r in good.items())
        print(f"{model:5} {mine['ms']:7.1f} ms {mine['mib']:6.0f} MiB   {shown}   {ratio:.1f}x (bar {bar}x)   memory {share:.2f} (bar {memory:.2f})", flush=True)
        rows.append({"model": model, "ours": mine, "peers": peers, "ratio": ratio, "bar": bar, "memory": share})
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"threads": args.threads, "scale": args.scale, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
