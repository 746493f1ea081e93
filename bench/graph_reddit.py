"""One training step of a GCN and of a GAT on a graph of Reddit's size: 232965 nodes, 114615892 edges (R-MAT), 64 -> 32 -> 41.

Each network runs in a process of its own. Memory is all of that process at its peak, the libraries, the edge list and the graph included. The
edge list is made beforehand, in another process. Usage: graph_reddit.py [-k gcn|gat] [--threads 2] [--scale 1.0] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time

from graph_common import REDDIT, child, machine, median_ms, rmat, status_mib, write_json

FEATURES, HIDDEN, CLASSES, HEADS = 64, 32, 41, 8
LIMIT_MIB = {"gcn": None, "gat": 8 * 1024}


def step_of(model, path, nodes):
    import numpy as np
    import polygrad.geometric.nn as gnn
    from polygrad import Graph, Tensor, nn

    start = time.perf_counter()
    graph = Graph(np.load(path), num_nodes=nodes)
    used = graph if model == "gcn" else graph.with_own_loops()  # the graph that the layers look at, with both of its row orders
    used.rowptr("in").realize(), used.rowptr("out").realize()
    built = time.perf_counter() - start

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            if model == "gcn":
                self.one, self.two = gnn.GCNConv(FEATURES, HIDDEN, cached=True), gnn.GCNConv(HIDDEN, CLASSES, cached=True)
            else:
                self.one, self.two = gnn.GATConv(FEATURES, HIDDEN // HEADS, heads=HEADS), gnn.GATConv(HIDDEN, CLASSES)

        def forward(self, h):
            return self.two(self.one(h, graph).relu(), graph)

    def train(net, opt, a, b):
        loss = net(a).cross_entropy(b)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    rng = np.random.default_rng(1)
    x = Tensor(rng.standard_normal((nodes, FEATURES), dtype=np.float32))
    y = Tensor(rng.integers(0, CLASSES, nodes).astype(np.int32))
    net = Net()
    start = time.perf_counter()
    step = nn.compile_step(train, net, nn.Adam(nn.get_parameters(net), lr=0.01), x, y)
    step.run()
    first, loss = time.perf_counter() - start, step.loss_value()
    ms = median_ms(step.run, budget=30, least=2, warm=0)
    print(json.dumps({"build_s": built, "first_step_s": first, "ms": ms, "peak_mib": status_mib("VmHWM"), "loss": loss}))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="")
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--scale", type=float, default=1.0)
    ap.add_argument("--json")
    ap.add_argument("--child", nargs="*")
    args = ap.parse_args()
    nodes, edges = (max(64, int(n * args.scale)) for n in REDDIT)
    if args.child and args.child[0] == "graph":
        import numpy as np

        np.save(args.child[1], rmat(int(args.child[2]), int(args.child[3])))
        print("{}")
        return
    if args.child:
        step_of(args.child[0], args.child[1], int(args.child[2]))
        return
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "edges.npy")
        made = child(__file__, "graph", path, nodes, edges)
        if "error" in made:
            raise SystemExit(made["error"])
        for model, limit in LIMIT_MIB.items():
            if args.k not in model:
                continue
            r = rows[model] = child(__file__, model, path, nodes)
            if "error" in r:
                print(f"{model}  does not run: {r['error']}", flush=True)
                continue
            bar = "" if limit is None else f" (bar {limit} MiB: {'met' if r['peak_mib'] <= limit else 'MISSED'})"
            print(
                f"{model}  {r['ms'] / 1e3:7.2f} s a step, the first {r['first_step_s']:.2f} s, graph {r['build_s']:.2f} s, "
                f"peak {r['peak_mib']:.0f} MiB in all{bar}",
                flush=True,
            )
    write_json(args.json, **machine(args.threads), nodes=nodes, edges=edges, rows=rows)


if __name__ == "__main__":
    main()
