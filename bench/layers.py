"""Every convolution layer beside PyTorch Geometric, in one run on one machine: whole training steps, time and memory.

A step computes the output, the mean of its squares, the gradients of all parameters and of the input, and an update of all of them by SGD. So features
change from step to step; our steps are compiled, PyG runs eagerly. Widths are 64 in and 32 out, edge features 16, relations 4. Memory is
how much the resident memory of the process grows during steps; each layer of each side runs in a process of its own.

Layers with a dense map of each edge (marked *) are to be 4 times as fast as PyG in a fifth of its memory, no layer below 2 times, the median at 10.
Layers that search neighbours by their features (DynamicEdgeConv, GravNetConv) cannot do so inside a step and are left out; library.py has GravNetConv.

Usage: layers.py [-k NAME,NAME] [--nodes 4000] [--edges 50000] [--full] [--threads 2] [--seconds 1] [--cpu] [--json FILE]
  --full: 40,000 nodes and 500,000 edges
  --cpu: CPU time, for one thread on a busy machine
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time

import numpy as np
from graph_common import Growth, child, machine, median_ms, rmat, write_json

F, O, D, R, DENSE, LEAST, MEDIAN, MEMORY = 64, 32, 16, 4, 4.0, 2.0, 10.0, 0.2


def mlp(nn, *sizes):
    layers = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def plain(name, *args, **kwargs):
    """A layer that takes features and edges."""
    return lambda g, nn: getattr(g, name)(*args, **kwargs), "e", lambda l, x, i: l(x, i["e"])


def attributed(make, what="a"):
    return make, "e" + what, lambda l, x, i: l(x, i["e"], i[what])


META = (["a", "b"], [("a", "x", "b"), ("b", "y", "a"), ("a", "z", "a")])


def typed(l, x, i):
    out = l({"a": x, "b": x}, {META[1][0]: i["e"], META[1][1]: i["n"], META[1][2]: i["e"]})
    return out["a"].sum(0) + out["b"].sum(0)


def schnet(g, nn):
    m = __import__(g.__name__ + ".models.schnet", fromlist=["CFConv"])
    return m.CFConv(F, O, F, mlp(nn, D, F, F), 10.0)


# name: (constructor, inputs that it needs, call); * has a dense map of each edge
LAYERS = {
    "AGNNConv": plain("AGNNConv"),
    "APPNP": plain("APPNP", 5, 0.1),
    "ARMAConv": plain("ARMAConv", F, O, num_stacks=2, num_layers=2),
    "AntiSymmetricConv": plain("AntiSymmetricConv", F),
    "CGConv*": attributed(lambda g, nn: g.CGConv(F, D)),
    "ChebConv": plain("ChebConv", F, O, 3),
    "ClusterGCNConv": plain("ClusterGCNConv", F, O),
    "DNAConv": (lambda g, nn: g.DNAConv(O, heads=2), "e", lambda l, x, i: l(x.reshape(-1, 2, O), i["e"])),
    "DirGNNConv": (lambda g, nn: g.DirGNNConv(g.SAGEConv(F, O)), "e", lambda l, x, i: l(x, i["e"])),
    "EGConv": plain("EGConv", F, O, num_heads=4),
    "EdgeConv mlp*": (lambda g, nn: g.EdgeConv(mlp(nn, 2 * F, O, O), aggr="max"), "e", lambda l, x, i: l(x, i["e"])),
    "EdgeConv mean*": (lambda g, nn: g.EdgeConv(mlp(nn, 2 * F, O, O), aggr="mean"), "e", lambda l, x, i: l(x, i["e"])),
    "FAConv": (lambda g, nn: g.FAConv(F), "e", lambda l, x, i: l(x, x, i["e"])),
    "FastRGCNConv*": (lambda g, nn: g.FastRGCNConv(F, O, R), "ek", lambda l, x, i: l(x, i["e"], i["k"])),
    "FeaStConv": plain("FeaStConv", F, O, heads=4),
    "FiLMConv": plain("FiLMConv", F, O),
    "GATConv": plain("GATConv", F, 8, heads=4),
    "GATConv edges*": attributed(lambda g, nn: g.GATConv(F, 8, heads=4, edge_dim=D)),
    "GATv2Conv": plain("GATv2Conv", F, 8, heads=4),
    "GATv2Conv edges*": attributed(lambda g, nn: g.GATv2Conv(F, 8, heads=4, edge_dim=D)),
    "GCN2Conv": (lambda g, nn: g.GCN2Conv(F, 0.1, 0.5, 1), "e", lambda l, x, i: l(x, x, i["e"])),
    "GCNConv": plain("GCNConv", F, O),
    "GENConv": plain("GENConv", F, O),
    "GINConv": (lambda g, nn: g.GINConv(mlp(nn, F, O, O)), "e", lambda l, x, i: l(x, i["e"])),
    "GINEConv*": attributed(lambda g, nn: g.GINEConv(mlp(nn, F, O, O), edge_dim=D)),
    "GMMConv": attributed(lambda g, nn: g.GMMConv(F, O, 2, 3), "q"),
    "GPSConv": (lambda g, nn: g.GPSConv(F, g.GCNConv(F, F), heads=4, attn_type="performer"), "e", lambda l, x, i: l(x, i["e"])),
    "GatedGraphConv*": plain("GatedGraphConv", F, 2),
    "GeneralConv": plain("GeneralConv", F, O),
    "GraphConv": plain("GraphConv", F, O),
    "HANConv": (lambda g, nn: g.HANConv(F, O, META, heads=2), "en", typed),
    "HEATConv*": (lambda g, nn: g.HEATConv(F, O, 3, R, 8, D, 8, heads=2), "etka", lambda l, x, i: l(x, i["e"], i["t"], i["k"], i["a"])),
    "HGTConv*": (lambda g, nn: g.HGTConv(F, O, META, heads=2), "en", typed),
    "HeteroConv": (lambda g, nn: g.HeteroConv({r: g.SAGEConv((F, F), O) for r in META[1]}), "en", typed),
    "HypergraphConv": plain("HypergraphConv", F, O),
    "LEConv": plain("LEConv", F, O),
    "LGConv": plain("LGConv"),
    "MFConv": plain("MFConv", F, O, max_degree=4),
    "MeshCNNConv": (lambda g, nn: g.MeshCNNConv(F, O), "c", lambda l, x, i: l(x, i["c"])),
    "MixHopConv": plain("MixHopConv", F, O),
    "NNConv*": attributed(lambda g, nn: g.NNConv(F, O, mlp(nn, D, 16, F * O))),
    "PANConv": (lambda g, nn: g.PANConv(F, O, 2), "c", lambda l, x, i: l(x, i["c"])[0]),
    "PDNConv": attributed(lambda g, nn: g.PDNConv(F, O, D, 16)),
    "PNAConv": (
        lambda g, nn: g.PNAConv(F, O, ["mean", "max", "std"], ["identity", "amplification"], HISTOGRAM[g.__name__.split(".")[0]]), "e",
        lambda l, x, i: l(x, i["e"]),
    ),
    "PointGNNConv*": (
        lambda g, nn: g.PointGNNConv(mlp(nn, F, 3), mlp(nn, F + 3, F), mlp(nn, F, F)), "ep", lambda l, x, i: l(x, i["p"], i["e"]),
    ),
    "PointNetConv*": (lambda g, nn: g.PointNetConv(mlp(nn, F + 3, O, O)), "ep", lambda l, x, i: l(x, i["p"], i["e"])),
    "PointTransformerConv*": (
        lambda g, nn: g.PointTransformerConv(F, O, mlp(nn, 3, 16, O), mlp(nn, O, 16, O)), "ep", lambda l, x, i: l(x, i["p"], i["e"]),
    ),
    "PPFConv*": (lambda g, nn: g.PPFConv(mlp(nn, F + 4, O, O)), "epm", lambda l, x, i: l(x, i["p"], i["m"], i["e"])),
    "RGATConv*": (lambda g, nn: g.RGATConv(F, 8, R, heads=2), "ek", lambda l, x, i: l(x, i["e"], i["k"])),
    "RGCNConv*": (lambda g, nn: g.RGCNConv(F, O, R), "ek", lambda l, x, i: l(x, i["e"], i["k"])),
    "ResGatedGraphConv": plain("ResGatedGraphConv", F, O),
    "ResGatedGraphConv edges*": attributed(lambda g, nn: g.ResGatedGraphConv(F, O, edge_dim=D)),
    "SAGEConv": plain("SAGEConv", F, O),
    "SAGEConv max": plain("SAGEConv", F, O, aggr="max"),
    "SGConv": plain("SGConv", F, O, K=2),
    "SSGConv": plain("SSGConv", F, O, 0.1, K=2),
    "SchNet filter*": (schnet, "ewa", lambda l, x, i: l(x, i["e"], i["w"], i["a"])),
    "SignedConv": (lambda g, nn: g.SignedConv(F, O, True), "en", lambda l, x, i: l(x, i["e"], i["n"])),
    "SimpleConv": plain("SimpleConv"),
    "SplineConv": attributed(lambda g, nn: g.SplineConv(F, O, 2, 3), "q"),
    "SuperGATConv": plain("SuperGATConv", F, 8, heads=4),
    "TAGConv": plain("TAGConv", F, O),
    "TransformerConv": plain("TransformerConv", F, 8, heads=4),
    "TransformerConv edges*": attributed(lambda g, nn: g.TransformerConv(F, 8, heads=4, edge_dim=D)),
    "WLConvContinuous": plain("WLConvContinuous"),
    "XConv": (lambda g, nn: g.XConv(F, O, 3, 8), "p", lambda l, x, i: l(x, i["p"])),
}  # fmt: skip
HISTOGRAM = {}


def inputs(nodes, edges):
    rng = np.random.default_rng(0)
    e = rmat(nodes, edges).astype(np.int64)
    normal = rng.standard_normal((nodes, 3)).astype(np.float32)
    return {
        "x": rng.standard_normal((nodes, F)).astype(np.float32),
        "e": e,
        "n": e[::-1].copy(),
        "c": np.stack([np.repeat(np.arange(nodes), 4), rng.integers(0, nodes, 4 * nodes)]),
        "a": rng.random((edges, D), np.float32),
        "q": rng.random((edges, 2), np.float32),
        "w": rng.random(edges, np.float32) * 10,
        "k": rng.integers(0, R, edges),
        "t": rng.integers(0, 3, nodes),
        "p": rng.standard_normal((nodes, 3)).astype(np.float32),
        "m": normal / np.linalg.norm(normal, axis=1, keepdims=True),
        "h": np.bincount(np.bincount(e[1], minlength=nodes)),
    }


def ours(name, arrays, seconds, clock):
    import polygrad.geometric.nn as gnn
    from polygrad import Tensor, nn

    make, needs, call = LAYERS[name]
    HISTOGRAM["polygrad"] = Tensor(arrays["h"])
    layer = make(gnn, nn)
    i = {k: Tensor(arrays[k]).realize() for k in needs}
    x = Tensor(arrays["x"].copy(), requires_grad=True)  # steps change it
    opt = nn.SGD([*layer.parameters(), x], lr=1e-6)

    def train(layer, opt):
        opt.zero_grad()
        y = call(layer, x, i)
        loss = (y * y).mean()
        loss.backward()
        opt.step()
        return loss

    grow = Growth()
    step = nn.compile_step(train, layer, opt)
    ms = median_ms(lambda: (step.run(), step.loss_value()), seconds, most=200, clock=clock)
    return {"ms": ms, "mib": grow.mib()}


def peer(name, arrays, seconds, clock):
    import torch
    import torch_geometric.nn as gnn

    make, needs, call = LAYERS[name]
    torch.manual_seed(0)
    HISTOGRAM["torch_geometric"] = torch.tensor(arrays["h"])
    layer = make(gnn, torch.nn)
    i = {k: torch.tensor(arrays[k]) for k in needs}
    x = torch.tensor(arrays["x"], requires_grad=True)
    opt = torch.optim.SGD([*layer.parameters(), x], lr=1e-6)

    def step():
        opt.zero_grad()
        loss = call(layer, x, i).square().mean()
        loss.backward()
        opt.step()
        return loss.item()

    step()
    opt.zero_grad(set_to_none=True)
    grow = Growth()
    ms = median_ms(step, seconds, most=200, clock=clock)
    return {"ms": ms, "mib": grow.mib()}


def measure(side, names, nodes, edges, threads, cpu, seconds):
    """Libraries and data are there before a process branches off for each layer."""
    if side == "pyg":
        import torch
        import torch_geometric.nn  # noqa: F401

        torch.set_num_threads(threads)
    else:
        import polygrad.geometric.nn  # noqa: F401
    arrays, found, fork = inputs(nodes, edges), {}, multiprocessing.get_context("fork")
    for name in names:
        here, there = fork.Pipe(False)
        child = fork.Process(target=one_layer, args=(there, side, name, arrays, seconds, time.process_time if cpu else time.perf_counter))
        child.start()
        there.close()
        try:
            found[name] = here.recv()
        except EOFError:
            found[name] = {"error": "the process ended without a result"}
        child.join()
        print(side, name, found[name], file=sys.stderr, flush=True)
    print(json.dumps(found))


def one_layer(out, side, name, arrays, seconds, clock):
    try:
        out.send((ours if side == "ours" else peer)(name, arrays, seconds, clock))
    except Exception as e:  # noqa: BLE001  a layer that one side cannot run is a row of its own
        out.send({"error": f"{type(e).__name__}: {e}".splitlines()[0][:200]})


def show(name, a, b):
    row = {"layer": name, "dense": name.endswith("*"), "ours": a, "pyg": b}
    if "error" in a or "error" in b:
        said = [
            f"{side} {r['ms']:9.2f} ms {r['mib']:8.1f} MiB" if "ms" in r else f"{side} does not run: {r['error']}"
            for side, r in (("ours", a), ("PyG", b))
        ]
        print(f"{name:26} " + "   ".join(said))
        return row
    row["ratio"], row["memory"] = b["ms"] / a["ms"], a["mib"] / max(b["mib"], 0.1)
    met = row["ratio"] >= (DENSE if row["dense"] else LEAST) and (not row["dense"] or row["memory"] <= MEMORY)
    print(
        f"{name:26} ours {a['ms']:9.2f} ms {a['mib']:8.1f} MiB   PyG {b['ms']:9.2f} ms {b['mib']:8.1f} MiB   "
        f"{row['ratio']:6.2f}x  memory {row['memory']:5.2f}   {'met' if met else 'MISSED'}",
        flush=True,
    )
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="layers whose names contain one of these")
    parser.add_argument("--nodes", type=int, default=4000)
    parser.add_argument("--edges", type=int, default=50000)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--child", nargs="+")
    args = parser.parse_args()
    if args.child:
        side, names, *numbers, seconds = args.child
        return measure(side, names.split(","), *map(int, numbers), float(seconds))
    if args.full:
        args.nodes, args.edges = 40_000, 500_000
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    wanted = [k.lower() for k in args.k.split(",")]
    names = [n for n in LAYERS if any(k in n.lower() for k in wanted)]
    print(machine(args.threads), f"{args.nodes} nodes, {args.edges} edges")
    sides = [child(__file__, s, ",".join(names), args.nodes, args.edges, args.threads, int(args.cpu), args.seconds) for s in ("ours", "pyg")]
    for side in sides:
        if "error" in side:
            sys.exit(side["error"])
    rows = [show(n, sides[0][n], sides[1][n]) for n in names]
    ratios = [r["ratio"] for r in rows if "ratio" in r]
    if ratios:
        print(f"median {statistics.median(ratios):.1f}x (wanted {MEDIAN}), least {min(ratios):.2f}x (wanted {LEAST})")
    write_json(args.json, machine=machine(args.threads), nodes=args.nodes, edges=args.edges, rows=rows)


if __name__ == "__main__":
    main()
