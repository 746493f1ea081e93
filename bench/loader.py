"""Whole epochs of GraphSAGE on sampled neighbourhoods beside PyTorch Geometric, in one run on one machine.

An R-MAT graph of ogbn-arxiv's size, NeighborLoader with [10, 10] neighbours and 1024 seeds a batch over all nodes, shuffled; two SAGE layers
128 -> 64 -> 40, cross entropy on the seeds, Adam, float32. Both sides run the same script. PyG samples by pyg-lib or torch-sparse, whichever
it finds (it needs one), without worker processes and with two. Times are medians of epochs after one that does not count; "loader" is
an epoch that only fetches the batches.

Usage: loader.py [--threads 2] [--scale 1.0] [--hidden 64] [--epochs 3] [--workers 0,2] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time

from graph_common import ARXIV, child, machine, rmat, write_json

FEATURES, CLASSES, BATCH, NEIGHBOURS, BAR = 128, 40, 1024, [10, 10], 3


def save(folder, scale):
    import numpy as np

    v, e = (max(64, int(n * scale)) for n in ARXIV)
    rng = np.random.default_rng(1)
    np.save(os.path.join(folder, "edge_index.npy"), rmat(v, e).astype(np.int64))
    np.save(os.path.join(folder, "x.npy"), rng.standard_normal((v, FEATURES), dtype=np.float32))
    np.save(os.path.join(folder, "y.npy"), rng.integers(0, CLASSES, v))


def load(folder):
    import numpy as np

    return (np.load(os.path.join(folder, f"{name}.npy")) for name in ("edge_index", "x", "y"))


def epochs_of(run, fetch, count):
    """Medians of whole epochs and of epochs that only fetch, in seconds; the first epoch does not count."""
    loss, times, bare = run(), [], []
    for _ in range(count):
        start = time.perf_counter()
        loss = run()
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
        fetch()
        bare.append(time.perf_counter() - start)
    return {"s": statistics.median(times), "loader_s": statistics.median(bare), "loss": loss}


def ours(folder, hidden, epochs):
    import polygrad.geometric.nn as gnn
    from polygrad import Tensor, nn
    from polygrad.geometric.data import Data
    from polygrad.geometric.loader import NeighborLoader

    edge_index, x, y = (Tensor(a).realize() for a in load(folder))
    start = time.perf_counter()
    loader = NeighborLoader(Data(x=x, edge_index=edge_index, y=y), NEIGHBOURS, batch_size=BATCH, shuffle=True)
    setup = time.perf_counter() - start
    one, two = gnn.SAGEConv(FEATURES, hidden), gnn.SAGEConv(hidden, CLASSES)
    opt = nn.Adam([*nn.get_parameters(one), *nn.get_parameters(two)], lr=0.01)
    Tensor.training = True

    def run():
        total = 0.0
        for batch in loader:
            opt.zero_grad()
            out = two(one(batch.x, batch.edge_index).relu(), batch.edge_index)[: batch.batch_size]
            loss = out.cross_entropy(batch.y[: batch.batch_size])
            loss.backward()
            opt.step()
            total += loss.item()
        return total / len(loader)

    result = epochs_of(run, lambda: [None for _ in loader], epochs)
    print(json.dumps({**result, "setup_s": setup, "batches": len(loader)}))


def pyg(folder, hidden, epochs, workers, threads):
    import torch
    import torch_geometric.nn as gnn
    import torch_geometric.typing as has
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

    torch.set_num_threads(threads)
    edge_index, x, y = (torch.from_numpy(a) for a in load(folder))
    start = time.perf_counter()
    loader = NeighborLoader(
        Data(x=x, edge_index=edge_index, y=y), NEIGHBOURS, batch_size=BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    setup = time.perf_counter() - start
    one, two = gnn.SAGEConv(FEATURES, hidden), gnn.SAGEConv(hidden, CLASSES)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)

    def run():
        total = 0.0
        for batch in loader:
            opt.zero_grad()
            out = two(one(batch.x, batch.edge_index).relu(), batch.edge_index)[: batch.batch_size]
            loss = torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size])
            loss.backward()
            opt.step()
            total += loss.item()
        return total / len(loader)

    result = epochs_of(run, lambda: [None for _ in loader], epochs)
    by = "pyg-lib" if has.WITH_PYG_LIB else "torch-sparse" if has.WITH_TORCH_SPARSE else "nothing"
    print(json.dumps({**result, "setup_s": setup, "batches": len(loader), "sampler": by}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", default="0,2", help="numbers of PyG's worker processes")
    parser.add_argument("--json")
    parser.add_argument("--child", nargs="+")
    args = parser.parse_args()
    if args.child:
        side, folder, hidden, epochs, *more = args.child
        ours(folder, int(hidden), int(epochs)) if side == "ours" else pyg(folder, int(hidden), int(epochs), *map(int, more))
        return
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        save(folder, args.scale)
        rows = {"ours": child(__file__, "ours", folder, args.hidden, args.epochs)}
        for workers in map(int, args.workers.split(",")):
            rows[f"PyG, {workers} workers"] = child(__file__, "pyg", folder, args.hidden, args.epochs, workers, args.threads)
    for name, r in rows.items():
        said = (
            f"{r['s']:7.2f} s an epoch of {r['batches']} batches, loader alone {r['loader_s']:6.2f} s" if "s" in r else f"does not run: {r['error']}"
        )
        print(f"  {name:16} {said}" + (f", samples by {r['sampler']}" if r.get("sampler") else ""))
    good = [r for name, r in rows.items() if name != "ours" and "s" in r]
    ratio = min(r["s"] for r in good) / rows["ours"]["s"] if good and "s" in rows["ours"] else None
    if ratio is None:
        print("no ratio: PyG's NeighborLoader needs pyg-lib or torch-sparse" if not good else "no ratio")
    else:
        print(
            f"  {ratio:.1f} times as fast as PyG at its best here (wanted: {BAR}), loader {min(r['loader_s'] for r in good) / rows['ours']['loader_s']:.1f} times"
        )
    write_json(args.json, machine=machine(args.threads), rows=rows, ratio=ratio, bar=BAR)


if __name__ == "__main__":
    main()
