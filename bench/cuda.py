"""Whole training steps on a GPU beside PyTorch Geometric, on one machine in one run.

Two layers, Adam, cross entropy on all nodes, full batch, float32 without TF32. Both sides run the same layers with the same options on the same
R-MAT graph: ours from polygrad.geometric in a compiled step, PyG's in each of its modes (eager with an edge_index, a torch.sparse CSR matrix as
adjacency, torch.compile). Each of our measurements is a process of its own, and so is each mode of PyG, so that neither side holds the other's memory. Time is the
median over blocks of steps, each block ended by waiting for the card; memory is the most that the device's allocator handed out, inputs included.
A line is printed, and the file written, after each measurement, so that a run that is stopped has what it has measured.

Usage: cuda.py [-k gcn,gat] [--sizes cora,arxiv64,arxiv256,reddit,products] [--modes eager,csr,compile] [--seconds 1.0] [--jobs 8] [--kernels] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HEADS, EDGE_FEATURES, RELATIONS = 8, 8, 8
# nodes, edges, features, hidden, classes
SIZES = {
    "cora": (2708, 10556, 1433, 16, 7),
    "arxiv64": (169_343, 2_315_598, 128, 64, 40),
    "arxiv256": (169_343, 2_315_598, 128, 256, 40),
    "reddit": (232_965, 114_615_892, 602, 128, 41),
    "products": (2_449_029, 123_718_280, 100, 128, 47),
}
BASIC = ("gcn", "sage", "gin", "gat")
MODELS = {
    "cora": BASIC,
    "arxiv64": (*BASIC, "sage-max", "transformer", "gatv2", "edge", "pna", "gine", "gat-edge", "edge-mlp", "rgcn", "cg"),
    "arxiv256": ("gat", "gcn", "sage", "gin"),
    "reddit": BASIC,
    "products": BASIC,
}
HAS_CSR = ("gcn", "sage", "gin")  # the other layers need an edge_index


# ---- the work, the same for both sides ----


def layer(gnn, nn, model, i, o, last, degrees):
    """A layer, and what it takes after the features: edge_index and, maybe, edge features or types."""
    heads, wide = (1, o) if last else (HEADS, o // HEADS)
    mlp = lambda n: nn.Sequential(nn.Linear(n, o), nn.ReLU(), nn.Linear(o, o))  # noqa: E731
    make = {
        "gcn": lambda: gnn.GCNConv(i, o, cached=True),
        "sage": lambda: gnn.SAGEConv(i, o),
        "sage-max": lambda: gnn.SAGEConv(i, o, aggr="max"),
        "gin": lambda: gnn.GINConv(mlp(i)),
        "gat": lambda: gnn.GATConv(i, wide, heads=heads),
        "gatv2": lambda: gnn.GATv2Conv(i, wide, heads=heads),
        "transformer": lambda: gnn.TransformerConv(i, wide, heads=heads),
        "edge": lambda: gnn.EdgeConv(nn.Linear(2 * i, o)),
        "edge-mlp": lambda: gnn.EdgeConv(mlp(2 * i)),
        "pna": lambda: gnn.PNAConv(i, o, ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"], degrees),
        "gine": lambda: gnn.GINEConv(mlp(i), edge_dim=EDGE_FEATURES),
        "gat-edge": lambda: gnn.GATConv(i, wide, heads=heads, edge_dim=EDGE_FEATURES),
        "rgcn": lambda: gnn.RGCNConv(i, o, RELATIONS),
        "cg": lambda: gnn.CGConv(i, dim=EDGE_FEATURES),
    }
    return make[model]()


def extra_of(model):
    return "edge_attr" if model in ("gine", "gat-edge", "cg") else "edge_type" if model == "rgcn" else None


def network(gnn, nn, model, size, degrees):
    _, _, features, hidden, classes = SIZES[size]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            if model == "cg":  # as wide as its input, one layer
                self.one, self.two = layer(gnn, nn, model, features, features, False, degrees), nn.Linear(features, classes)
            else:
                self.one = layer(gnn, nn, model, features, hidden, False, degrees)
                self.two = layer(gnn, nn, model, hidden, classes, True, degrees)

        def forward(self, x, *graph):
            h = self.one(x, *graph).relu()
            return self.two(h) if model == "cg" else self.two(h, *graph)

    return Net()


def rmat(nodes, edges, at):
    """R-MAT edges (a=.57, b=c=.19) between nodes in a random order, [2, edges], made on a device of torch's."""
    import torch

    names, parts, left = torch.randperm(nodes, device=at), [], edges
    while left > 0:
        n = min(1 << 24, left + left // 2 + 1024)
        src = torch.zeros(n, dtype=torch.int64, device=at)
        dst = src.clone()
        for _ in range(max(1, (nodes - 1).bit_length())):
            r = torch.rand(n, device=at)
            src = 2 * src + (r >= 0.76)
            dst = 2 * dst + (((r >= 0.57) & (r < 0.76)) | (r >= 0.95))
        keep = (src < nodes) & (dst < nodes)
        parts.append(torch.stack([names[src[keep]], names[dst[keep]]])[:, :left])
        left -= parts[-1].shape[1]
    return torch.cat(parts, 1)


def make_data(folder, sizes, scale):
    """Arrays of each size as files: R-MAT edges, features, labels. Made on the GPU where torch has one."""
    import numpy as np
    import torch

    at = "cuda" if torch.cuda.is_available() else "cpu"
    graphs = {}
    for size in sizes:
        v, e, f, _, c = SIZES[size]
        v, e = max(64, int(v * scale)), max(256, int(e * scale))
        torch.manual_seed(0)
        if (v, e) not in graphs:
            graphs[v, e] = size
            np.save(f"{folder}/{size}.edge_index.npy", rmat(v, e, at).to(torch.int32).cpu().numpy())
        else:
            os.symlink(f"{folder}/{graphs[v, e]}.edge_index.npy", f"{folder}/{size}.edge_index.npy")
        np.save(f"{folder}/{size}.x.npy", torch.randn(v, f, device=at).cpu().numpy())
        np.save(f"{folder}/{size}.y.npy", torch.randint(0, c, (v,), device=at).cpu().numpy())
        if any(extra_of(m) for m in MODELS[size]):
            np.save(f"{folder}/{size}.edge_attr.npy", torch.randn(e, EDGE_FEATURES, device=at).cpu().numpy())
            np.save(f"{folder}/{size}.edge_type.npy", torch.randint(0, RELATIONS, (e,), device=at).cpu().numpy())


def load(folder, size, *names):
    import numpy as np

    return tuple(np.load(f"{folder}/{size}.{name}.npy") for name in names)


def degrees_of(edge_index, nodes):
    """How many nodes have 0, 1, 2 .. in-edges."""
    import numpy as np

    return np.bincount(np.bincount(edge_index[1], minlength=nodes))


def timed(run, wait, seconds):
    """Median ms of a step, from blocks that end with waiting for the card."""
    for _ in range(5):
        run()
    wait()
    start = time.perf_counter()
    run()
    wait()
    block = max(1, min(50, int(0.02 / max(time.perf_counter() - start, 1e-6))))
    times, start = [], time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - start < seconds and len(times) < 40):
        t = time.perf_counter()
        for _ in range(block):
            run()
        wait()
        times.append((time.perf_counter() - t) * 1e3 / block)
    return statistics.median(times)


# ---- ours ----


def ours(folder, work, seconds, kernels):
    import polygrad.geometric.nn as gnn
    from polygrad import Device, Profile, Tensor, nn
    from polygrad.autograd import current

    Device.DEFAULT = os.environ.get("POLY_DEVICE", "CUDA")
    where = Device.DEFAULT

    def train(net, opt, x, y, *graph):
        loss = net(x, *graph).cross_entropy(y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    def measure(size, model):
        edge_index, x, y = load(folder, size, "edge_index", "x", "y")
        degrees = Tensor(degrees_of(edge_index, len(x))) if model == "pna" else None
        graph = [Tensor(edge_index).realize()]
        if extra_of(model):
            graph.append(Tensor(load(folder, size, extra_of(model))[0]).realize())
        x, y = Tensor(x).realize(), Tensor(y).realize()
        current().reset_peak()
        net = network(gnn, nn, model, size, degrees)
        first = time.perf_counter()
        step = nn.compile_step(lambda n, o, a, b: train(n, o, a, b, *graph), net, nn.Adam(nn.get_parameters(net), lr=0.01), x, y)
        step.run()
        begin = step.loss_value()
        first = time.perf_counter() - first
        ms = timed(step.run, step.loss_value, seconds)
        result = {"ms": ms, "mib": current().peak_bytes_on(where) / 2**20, "first_s": first, "losses": [begin, step.loss_value()]}
        if kernels:
            with Profile() as p:
                step.run()
                step.loss_value()
            result["kernels"] = [k._asdict() for k in sorted(p.kernels, key=lambda k: -k.ms)]
        return result

    go_through(work, measure, "ours")


# ---- PyG ----


def pyg(folder, work, seconds, mode):
    import gc

    import torch
    import torch_geometric.nn as gnn
    from torch_geometric.utils import to_torch_csr_tensor

    at = "cuda" if torch.cuda.is_available() else "cpu"
    wait = torch.cuda.synchronize if at == "cuda" else (lambda: None)

    def measure(size, model):
        if mode == "csr" and model not in HAS_CSR:
            raise NotImplementedError("this layer takes no CSR matrix")
        gc.collect()
        if at == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        torch._dynamo.reset()
        edge_index, x, y = load(folder, size, "edge_index", "x", "y")
        degrees = torch.from_numpy(degrees_of(edge_index, len(x))) if model == "pna" else None
        edges = torch.from_numpy(edge_index).to(at, torch.int64)
        graph = [to_torch_csr_tensor(edges.flip(0), size=(len(x), len(x))) if mode == "csr" else edges]
        del edges
        if extra_of(model):
            graph.append(torch.from_numpy(load(folder, size, extra_of(model))[0]).to(at))
        x, y = torch.from_numpy(x).to(at), torch.from_numpy(y).to(at)
        net = network(gnn, torch.nn, model, size, degrees).to(at)
        opt = torch.optim.Adam(net.parameters(), lr=0.01)
        run = torch.compile(net) if mode == "compile" else net
        last = [None]

        def step():
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(run(x, *graph), y)
            loss.backward()
            opt.step()
            last[0] = loss.detach()

        first = time.perf_counter()
        step()
        begin = last[0].item()
        first = time.perf_counter() - first
        ms = timed(step, wait, seconds)
        mib = torch.cuda.max_memory_allocated() / 2**20 if at == "cuda" else 0.0
        return {"ms": ms, "mib": mib, "first_s": first, "losses": [begin, last[0].item()]}

    go_through(work, measure, mode)


def go_through(work, measure, side):
    """Prints a line of JSON for each measurement; what fails is noted."""
    for size, model in work:
        try:
            result = measure(size, model)
        except Exception as e:  # out of memory, a layer that does not run: the next one may
            result = {"error": f"{type(e).__name__}: {str(e).strip().splitlines()[0][:300] if str(e).strip() else ''}"}
        print(json.dumps({"size": size, "model": model, "side": side, **result}), flush=True)


# ---- the table ----


def versions():
    out = {"python": sys.version.split()[0]}
    for name in ("torch", "torch_geometric", "polygrad"):
        try:
            out[name] = __import__(name).__version__
        except Exception as e:
            out[name] = f"not there ({e})"
    try:
        out["card"] = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True
        ).stdout.strip()
    except OSError:
        out["card"] = "nvidia-smi is not there"
    return out


def show(r):
    text = f"{r['ms']:10.3f} ms {r['mib']:9.0f} MiB   first {r['first_s']:6.2f} s" if "ms" in r else f"  {r['error']}"
    print(f"{r['size']:10} {r['model']:12} {r['side']:8} {text}", flush=True)


def table(rows):
    by = {}
    for r in rows:
        by.setdefault((r["size"], r["model"]), {})[r["side"]] = r
    for (size, model), sides in by.items():
        mine = sides.get("ours", {})
        peers = {k: r for k, r in sides.items() if k != "ours" and "ms" in r}
        if "ms" not in mine:
            print(f"{size:10} {model:12} ours does not run: {mine.get('error', 'not measured')}")
        elif not peers:
            print(f"{size:10} {model:12} {mine['ms']:9.3f} ms {mine['mib']:8.0f} MiB; PyG does not run")
        else:
            best = min(peers, key=lambda k: peers[k]["ms"])
            least = min(r["mib"] for r in peers.values())
            print(
                f"{size:10} {model:12} {mine['ms']:9.3f} ms {mine['mib']:8.0f} MiB   {peers[best]['ms'] / mine['ms']:6.2f}x PyG's best ({best})"
                f"   memory {mine['mib'] / max(least, 1e-9):.2f} of its least"
            )


def compile_first(commands, jobs, limit):
    """Runs our steps once, several at a time: their kernels are on disk afterwards."""
    running, end = [], time.monotonic() + limit
    for command in commands:
        while len([p for p in running if p.poll() is None]) >= jobs and time.monotonic() < end:
            time.sleep(0.05)
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for p in running:
        try:
            p.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            p.kill()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="", help="models of these names")
    ap.add_argument("--sizes", default="cora,arxiv64,arxiv256")
    ap.add_argument("--modes", default="eager,csr")
    ap.add_argument("--seconds", type=float, default=1.0)
    ap.add_argument("--limit", type=float, default=240.0, help="seconds that a side may take")
    ap.add_argument("--jobs", type=int, default=0, help="compile the kernels of our steps beforehand, in this many processes")
    ap.add_argument("--scale", type=float, default=1.0)
    ap.add_argument("--kernels", action="store_true", help="the kernels of our steps, with bytes and times, into the file")
    ap.add_argument("--json")
    ap.add_argument("--child", nargs="*")
    args = ap.parse_args()
    if args.child:
        side, folder, work = args.child
        work = [tuple(w) for w in json.loads(work)]
        return ours(folder, work, args.seconds, args.kernels) if side == "ours" else pyg(folder, work, args.seconds, side)
    sizes = args.sizes.split(",")
    work = [(s, m) for s in sizes for m in MODELS[s] if not args.k or m in args.k.split(",")]
    rows, about = [], versions()
    print(about, flush=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        make_data(folder, sizes, args.scale)
        command = [sys.executable, __file__, *(["--kernels"] if args.kernels else []), "--seconds"]
        if args.jobs:
            start = time.monotonic()
            compile_first([[*command, "0", "--child", "ours", folder, json.dumps([w])] for w in work], args.jobs, args.limit)
            print(f"-- kernels compiled in {time.monotonic() - start:.0f} s", flush=True)
        for side, part in [("ours", [w]) for w in work] + [(mode, work) for mode in filter(None, args.modes.split(","))]:
            start = time.monotonic()
            with subprocess.Popen(
                [*command, str(args.seconds), "--child", side, folder, json.dumps(part)], stdout=subprocess.PIPE, text=True, bufsize=1
            ) as p:
                timer = threading.Timer(args.limit, p.kill)
                timer.start()
                for line in p.stdout:
                    if not line.startswith("{"):
                        continue
                    rows.append(json.loads(line))
                    show(rows[-1])
                    if args.json:
                        with open(args.json, "w") as f:
                            json.dump({**about, "scale": args.scale, "rows": rows}, f, indent=1)
                timer.cancel()
            if side != "ours" or p.returncode:
                print(f"-- {side} {part[0] if side == 'ours' else ''}: {time.monotonic() - start:.0f} s, exit status {p.returncode}", flush=True)
    table(rows)


if __name__ == "__main__":
    main()
