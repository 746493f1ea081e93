"""Layers and models beside PyTorch Geometric, in one run on one machine: forward and backward pass on a graph of 40,000 nodes and 500,000 edges.

A pass computes the output and the gradients of the input and of all parameters. Layers that PyTorch Geometric runs only with pyg-lib are measured
alone where that is not installed. "tgn" is an epoch over a stream of 20,000 events between users and items, in batches of 200: memory, one layer of
attention to the last ten neighbours, a predictor of links, Adam.

Usage: library.py [-k NAME] [--threads 2] [--seconds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import os

import numpy as np
from graph_common import machine, median_ms, rmat, write_json

NODES, EDGES, F, D = 40_000, 500_000, 64, 8
RNG = np.random.default_rng(0)
X = RNG.standard_normal((NODES, F)).astype(np.float32)
POS, NORMAL = (RNG.standard_normal((NODES, 3)).astype(np.float32) for _ in range(2))
EI = rmat(NODES, EDGES).astype(np.int64)
ATTR, KIND, TYPE = RNG.random((EDGES, D)).astype(np.float32), RNG.integers(0, 4, EDGES), RNG.integers(0, 3, NODES)
MESH = np.stack([np.repeat(np.arange(NODES), 4), RNG.integers(0, NODES, 4 * NODES)])
BATCH = np.sort(RNG.integers(0, 2000, NODES))


def mlp(nn, *sizes):
    layers = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


# name: (constructor, further inputs, call)
LAYERS = {
    "SplineConv": (lambda g, nn: g.SplineConv(F, F, dim=2, kernel_size=3), {"e": EI, "a": ATTR[:, :2].copy()}, lambda l, x, i: l(x, i["e"], i["a"])),
    "HEATConv": (
        lambda g, nn: g.HEATConv(F, F, 3, 4, 8, D, 8, heads=2), {"e": EI, "t": TYPE, "k": KIND, "a": ATTR},
        lambda l, x, i: l(x, i["e"], i["t"], i["k"], i["a"]),
    ),
    "GravNetConv": (lambda g, nn: g.GravNetConv(F, F, 3, 32, k=12), {}, lambda l, x, i: l(x)),
    "XConv": (lambda g, nn: g.XConv(F, F, 3, 8), {"p": POS}, lambda l, x, i: l(x, i["p"])),
    "PointGNNConv": (
        lambda g, nn: g.PointGNNConv(mlp(nn, F, 3), mlp(nn, F + 3, F), mlp(nn, F, F)), {"e": EI, "p": POS}, lambda l, x, i: l(x, i["p"], i["e"]),
    ),
    "PPFConv": (
        lambda g, nn: g.PPFConv(mlp(nn, F + 4, F), mlp(nn, F, F)), {"e": EI, "p": POS, "n": NORMAL}, lambda l, x, i: l(x, i["p"], i["n"], i["e"]),
    ),
    "MeshCNNConv": (lambda g, nn: g.MeshCNNConv(F, F), {"e": MESH}, lambda l, x, i: l(x, i["e"])),
    "GraphMultisetTransformer": (lambda g, nn: g.GraphMultisetTransformer(F, k=4, heads=4), {"b": BATCH}, lambda l, x, i: l(x, i["b"])),
    "EquilibriumAggregation": (lambda g, nn: g.EquilibriumAggregation(F, F, [32]), {"b": BATCH}, lambda l, x, i: l(x, i["b"])),
    "LCMAggregation": (lambda g, nn: g.LCMAggregation(F, F), {"b": BATCH}, lambda l, x, i: l(x, i["b"])),
    "PatchTransformerAggregation": (
        lambda g, nn: g.PatchTransformerAggregation(F, F, 4, 32, heads=4), {"b": BATCH}, lambda l, x, i: l(x, i["b"]),
    ),
    "AttentiveFP": (
        lambda g, nn: g.AttentiveFP(F, F, 8, D, num_layers=2, num_timesteps=2), {"e": EI, "a": ATTR, "b": BATCH},
        lambda l, x, i: l(x, i["e"], i["a"], i["b"]),
    ),
    "SignedGCN": (lambda g, nn: g.SignedGCN(F, F, 2), {"e": EI, "n": EI[::-1].copy()}, lambda l, x, i: l(x, i["e"], i["n"])),
    "NeuralFingerprint": (lambda g, nn: g.NeuralFingerprint(F, F, F, 2), {"e": EI, "b": BATCH}, lambda l, x, i: l(x, i["e"], i["b"])),
    "SGFormer": (lambda g, nn: g.SGFormer(F, F, 8, trans_dropout=0.0, gnn_dropout=0.0), {"e": EI, "b": BATCH * 0}, lambda l, x, i: l(x, i["e"], i["b"])),
}  # fmt: skip


def ours(name, seconds):
    import polygrad.geometric.nn as gnn
    from polygrad import Tensor, nn

    make, inputs, call = LAYERS[name]
    layer, x = make(gnn, nn), Tensor(X, requires_grad=True)
    i = {k: Tensor(v).realize() for k, v in inputs.items()}
    leaves = [x, *layer.parameters()]

    def step():
        y = call(layer, x, i)
        grads = (y * y).sum().gradient(*leaves, materialize_grads=True)
        grads[0].realize(*grads[1:])

    return median_ms(step, seconds)


def peer(name, seconds):
    import torch
    import torch_geometric.nn as gnn

    make, inputs, call = LAYERS[name]
    torch.manual_seed(0)
    try:
        layer = make(gnn, torch.nn)
    except ImportError:
        return None
    x = torch.tensor(X, requires_grad=True)
    i = {k: torch.tensor(v) for k, v in inputs.items()}
    leaves = [x, *layer.parameters()]

    def step():
        torch.autograd.grad(call(layer, x, i).square().sum(), leaves, allow_unused=True)

    return median_ms(step, seconds)


# ---- TGN ----

USERS, ITEMS, EVENTS, SIZE = 800, 200, 20_000, 200


def stream():
    """Events in which users come back to what they liked: (user, item, time, message)."""
    rng = np.random.default_rng(1)
    liked = rng.integers(0, ITEMS, (USERS, 3))
    user = rng.integers(0, USERS, EVENTS)
    item = np.where(rng.random(EVENTS) < 0.8, liked[user, rng.integers(0, 3, EVENTS)], rng.integers(0, ITEMS, EVENTS)) + USERS
    return user, item, np.cumsum(rng.integers(1, 50, EVENTS)), rng.standard_normal((EVENTS, 16)).astype(np.float32)


def negatives(epoch):
    """Items that are drawn in an epoch, the same ones on both sides."""
    return np.random.default_rng(100 + epoch).integers(USERS, USERS + ITEMS, EVENTS)


def precision(positive, negative):
    """Average precision of scores."""
    score = np.concatenate([positive, negative])
    order = np.argsort(-score, kind="stable")
    hit = (order < positive.size).astype(float)
    return float((np.cumsum(hit) / np.arange(1, hit.size + 1) * hit).sum() / max(hit.sum(), 1))


def tgn_parts(gnn, modules, nn):
    nodes, dim = USERS + ITEMS, 32
    memory = gnn.TGNMemory(nodes, 16, dim, dim, modules.IdentityMessage(16, dim, dim), modules.LastAggregator())
    conv = gnn.TransformerConv(dim, dim // 2, heads=2, dropout=0.0, edge_dim=16 + dim)
    return memory, conv, nn.Linear(2 * dim, dim), nn.Linear(dim, 1), modules.LastNeighborLoader(nodes, size=10)


def ours_tgn(epochs):
    """Seconds of each epoch, and the average precision of predictions of the last one, all made before their events are taken in."""
    import time

    import polygrad.geometric.nn as gnn
    from polygrad import Tensor, nn
    from polygrad.geometric.data._sizes import size, sized
    from polygrad.geometric.nn.models import tgn

    Tensor.manual_seed(0)
    memory, conv, lin1, lin2, loader = tgn_parts(gnn, tgn, nn)
    opt = nn.Adam([*memory.parameters(), *conv.parameters(), *lin1.parameters(), *lin2.parameters()], lr=1e-3)
    user, item, t, msg = stream()
    all_t, all_msg = Tensor(t.astype(np.float32)).realize(), Tensor(msg).realize()
    local = np.zeros(USERS + ITEMS, np.int64)
    times, found = [], []
    for epoch in range(epochs):
        start, found = time.perf_counter(), []
        memory.train()
        memory.reset_state()
        loader.reset_state()
        other = negatives(epoch)
        for k in range(0, EVENTS, SIZE):
            src, dst, neg = user[k : k + SIZE], item[k : k + SIZE], other[k : k + SIZE]
            seeds = np.unique(np.concatenate([src, dst, neg]))
            n_id, edge_index, e_id = loader(sized(seeds, 0, size("seeds", seeds.size)))
            ids = n_id.numpy()
            local[ids] = np.arange(ids.size)
            z, last = memory(n_id)
            since = last.cast("float32")[edge_index[0]] - all_t[e_id]
            z = conv(z, edge_index, Tensor.cat(memory.time_enc(since), all_msg[e_id], dim=-1))
            a, b, c = (z[Tensor(local[v])] for v in (src, dst, neg))
            pos, no = (lin2(lin1(Tensor.cat(a, v, dim=-1)).relu()) for v in (b, c))
            opt.zero_grad()
            loss = pos.binary_crossentropy_logits(pos.ones_like()) + no.binary_crossentropy_logits(no.zeros_like())
            loss.backward()
            memory.update_state(Tensor(src), Tensor(dst), Tensor(t[k : k + SIZE]), Tensor(msg[k : k + SIZE]))
            loader.insert(Tensor(src), Tensor(dst))
            opt.step()  # one plan: the forward pass, of which pos and no are read below, gradients and the step
            found.append(precision(pos.numpy()[:, 0], no.numpy()[:, 0]))
        times.append(time.perf_counter() - start)
    Tensor.training = False
    return times, float(np.mean(found))


def peer_tgn(epochs):
    import time

    import torch
    import torch_geometric.nn as gnn
    from torch_geometric.nn.models import tgn

    torch.manual_seed(0)
    memory, conv, lin1, lin2, loader = tgn_parts(gnn, tgn, torch.nn)
    parameters = [p for m in (memory, conv, lin1, lin2) for p in m.parameters()]
    opt = torch.optim.Adam(parameters, lr=1e-3)
    user, item, t, msg = (torch.tensor(v) for v in stream())
    local = torch.zeros(USERS + ITEMS, dtype=torch.long)
    lossf = torch.nn.functional.binary_cross_entropy_with_logits
    times, found = [], []
    for epoch in range(epochs):
        start, found = time.perf_counter(), []
        memory.train()
        memory.reset_state()
        loader.reset_state()
        other = torch.tensor(negatives(epoch))
        for k in range(0, EVENTS, SIZE):
            src, dst, neg = user[k : k + SIZE], item[k : k + SIZE], other[k : k + SIZE]
            opt.zero_grad()
            n_id, edge_index, e_id = loader(torch.cat([src, dst, neg]).unique())
            local[n_id] = torch.arange(n_id.numel())
            z, last = memory(n_id)
            since = (last[edge_index[0]] - t[e_id]).float()
            z = conv(z, edge_index, torch.cat([memory.time_enc(since), msg[e_id]], dim=-1))
            a, b, c = z[local[src]], z[local[dst]], z[local[neg]]
            pos, no = (lin2(lin1(torch.cat([a, v], dim=-1)).relu()) for v in (b, c))
            loss = lossf(pos, torch.ones_like(pos)) + lossf(no, torch.zeros_like(no))
            memory.update_state(src, dst, t[k : k + SIZE], msg[k : k + SIZE])
            loader.insert(src, dst)
            loss.backward()
            opt.step()
            memory.detach()
            found.append(precision(pos.detach().numpy()[:, 0], no.detach().numpy()[:, 0]))
        times.append(time.perf_counter() - start)
    return times, float(np.mean(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    import torch

    torch.set_num_threads(args.threads)
    rows = {}
    print(machine(args.threads))
    for name in LAYERS:
        if args.k.lower() not in name.lower():
            continue
        a, b = ours(name, args.seconds), peer(name, args.seconds)
        rows[name] = {"ours_ms": a, "pyg_ms": b, "ratio": None if b is None else b / a}
        print(f"{name:30} ours {a:9.1f} ms   PyG {'needs pyg-lib' if b is None else f'{b:9.1f} ms   {b / a:6.2f}x'}", flush=True)
    if args.k.lower() in "tgn":
        (a, ap), (b, bp) = ours_tgn(args.epochs), peer_tgn(args.epochs)
        rows["tgn"] = {"ours_s": min(a), "pyg_s": min(b), "ratio": min(b) / min(a), "ours_ap": ap, "pyg_ap": bp}
        print(f"{'TGN epoch':30} ours {min(a):9.2f} s    PyG {min(b):9.2f} s    {min(b) / min(a):6.2f}x   average precision {ap:.4f} and {bp:.4f}")
    if args.json:
        write_json(args.json, rows)


if __name__ == "__main__":
    main()
