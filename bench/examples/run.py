"""PyTorch Geometric's examples as plain training loops, both libraries, the same text and the same data: seconds an epoch, and the first epoch cold.

Each measurement is a process of its own. The first epoch of Polygrad runs with an empty kernel cache; then the median of the later half of the epochs
that follow, which last five seconds at least. With --cpu, for machines that others use as well: both libraries in one process and on one thread, an epoch of each in turn,
and the processor's time rather than the clock's; epochs go on until none of the later half had a kernel compiled beside it, since a busy machine is slow at that.

PyTorch Geometric's walks (Node2Vec) are a package of compiled code beside it. Where that is not installed, its model walks by PyTorch's operations on all
walks of a batch at once.

Usage: run.py [-k NAME] [--threads 2] [--epochs 8] [--cpu] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from graph_common import child, machine, write_json  # noqa: E402

EXAMPLES = {  # name: (file, how many times faster it is to be)
    "gcn": ("citation", 4), "gat": ("citation", 4), "agnn": ("citation", 4), "arma": ("citation", 4), "sgc": ("citation", 4), "tagcn": ("citation", 4),
    "gcn2": ("citation", 4), "dna": ("citation", 4), "link_pred": ("links", 4), "autoencoder": ("links", 4), "mutag_gin": ("graphs", 4),
    "proteins_gin": ("graphs", 4), "infomax": ("links", 2), "super_gat": ("citation", 2), "graph_unet": ("graphs", 2),
    "proteins_topk_pool": ("graphs", 2), "mincut": ("graphs", 2), "diff_pool": ("graphs", 2), "ppi": ("graphs", 2), "node2vec": ("links", 2),
}  # fmt: skip


def library(ours, threads):
    """The modules that an example is written with."""
    if ours:
        import polygrad.torch as torch
        import polygrad.torch.nn.functional as F
        from polygrad.context import Context
        from polygrad.torch_geometric import nn as g
        from polygrad.torch_geometric import utils
        from polygrad.torch_geometric.data import Data
        from polygrad.torch_geometric.loader import DataLoader

        Context(THREADS=threads).__enter__()
        tensor = torch.tensor
    else:
        import torch
        import torch.nn.functional as F
        from torch_geometric import nn as g
        from torch_geometric import utils
        from torch_geometric.data import Data
        from torch_geometric.loader import DataLoader

        torch.set_num_threads(threads)
        tensor = torch.from_numpy
        walks()
    import data

    torch.manual_seed(0)

    def citation():
        d = data.citation()
        return Data(x=tensor(d["x"]), edge_index=tensor(d["edge_index"]), y=tensor(d["y"]), train_mask=tensor(d["train"]))

    def graphs(*args, **kwargs):
        return [Data(x=tensor(x), edge_index=tensor(e), y=tensor(y)) for x, e, y in data.graphs(*args, **kwargs)]

    def loader(items, batch_size):
        return DataLoader(items, batch_size=batch_size, shuffle=True)

    return SimpleNamespace(torch=torch, F=F, g=g, utils=utils, citation=citation, graphs=graphs, loader=loader)


def walks():
    """The walks that PyTorch Geometric's Node2Vec asks for, if no package of its own has them."""
    import torch
    import torch_geometric.typing as flags
    from torch_geometric.nn.models import node2vec

    if flags.WITH_PYG_LIB:
        return

    def random_walk(rowptr, col, start, length, p, q):
        assert p == q == 1, "only walks that forget where they came from"
        at, places = start, [start]
        for _ in range(length):
            first, degree = rowptr[at], rowptr[at + 1] - rowptr[at]
            step = torch.minimum((torch.rand(at.numel()) * degree).long(), degree - 1)
            at = torch.where(degree > 0, col[(first + step).clamp_(0, col.numel() - 1)], at)
            places.append(at)
        return torch.stack(places, 1)

    node2vec.WITH_PYG_LIB = True
    walks.library = torch.library.Library("pyg", "FRAGMENT")  # what it defines is gone with its object
    walks.library.define("random_walk(Tensor rowptr, Tensor col, Tensor start, int length, float p, float q) -> Tensor")
    walks.library.impl("random_walk", random_walk, "CPU")


WARM = 5  # seconds that epochs go on at least


def measure(name, side, threads, epochs):
    start = time.perf_counter()
    sys.path.insert(0, str(HERE))
    lib = library(side == "ours", threads)
    imported = time.perf_counter()
    module = __import__(EXAMPLES[name][0])
    epoch = getattr(module, name)(lib)
    made = time.perf_counter()
    results = [epoch()]
    first = time.perf_counter() - made
    times, begin = [], time.perf_counter()
    while len(times) < epochs or time.perf_counter() - begin < WARM:
        t = time.perf_counter()
        results.append(epoch())
        times.append(time.perf_counter() - t)
        if time.perf_counter() - begin > 25 and len(times) >= 3:
            break
    later = times[len(times) // 2 :]  # by then kernels have been compiled beside the program
    return {
        "import_s": imported - start, "first_s": first, "epoch_s": statistics.median(later), "first_loss": results[0][0], "last_loss": results[-1][0],
        "accuracy": results[-1][1], "epochs": len(results),
    }  # fmt: skip


def alternate(name, epochs):
    """CPU seconds an epoch of both libraries, the median of the later half of the epochs, and how far its quartiles are apart."""
    sys.path.insert(0, str(HERE))
    module = __import__(EXAMPLES[name][0])
    sides = [getattr(module, name)(library(ours, 1)) for ours in (True, False)]
    from polygrad.autograd import current

    compiled = [current().compilations]
    times, begin = ([], []), time.perf_counter()
    while len(times[0]) < epochs or time.perf_counter() - begin < 2 * WARM or compiled[len(compiled) // 2] < compiled[-1]:
        for epoch, spent in zip(sides, times):
            t = time.process_time()
            epoch()
            spent.append(time.process_time() - t)
        compiled.append(current().compilations)
        if time.perf_counter() - begin > 120 and len(times[0]) >= 3:
            break
    row = {}
    for side, spent in zip(("ours", "theirs"), times):
        quarters = statistics.quantiles(spent[len(spent) // 2 :], n=4)
        row[side] = {"cpu_s": quarters[1], "spread": (quarters[2] - quarters[0]) / quarters[1], "epochs": len(spent)}
    return row


def beside(names, epochs):
    """The table of CPU times."""
    rows = []
    print(f"{'example':20} {'ours ms':>9} {'PyG ms':>9} {'ratio':>7}  spread of each")
    for name in names:
        row = child(__file__, name, "both", 1, epochs, timeout=600)
        rows.append({"name": name, "bar": EXAMPLES[name][1], **row})
        if "error" in row:
            print(f"{name:20} {row['error']}"[:200], flush=True)
            continue
        ours, theirs = row["ours"], row["theirs"]
        print(
            f"{name:20} {ours['cpu_s'] * 1e3:9.2f} {theirs['cpu_s'] * 1e3:9.2f} {theirs['cpu_s'] / ours['cpu_s']:7.2f}"
            f"  {ours['spread']:.2f} {theirs['spread']:.2f}", flush=True,
        )  # fmt: skip
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("-k", default="", help="names, separated by commas")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--cpu", action="store_true")
    p.add_argument("--json")
    p.add_argument("--child", nargs=4, metavar=("NAME", "SIDE", "THREADS", "EPOCHS"))
    args = p.parse_args()
    if args.child:
        name, side, threads, epochs = args.child
        print(json.dumps(alternate(name, int(epochs)) if side == "both" else measure(name, side, int(threads), int(epochs))))
        return
    names = [n for n in EXAMPLES if not args.k or n in args.k.split(",")]
    if args.cpu:
        os.environ["OMP_NUM_THREADS"] = "1"
        write_json(args.json, machine=machine(1), rows=beside(names, args.epochs))
        return
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    rows = []
    print(f"{'example':20} {'ours ms':>9} {'PyG ms':>9} {'ratio':>7} {'first, cold s':>14}  last loss of each")
    for name in names:
        bar = EXAMPLES[name][1]
        with tempfile.TemporaryDirectory() as cache:
            os.environ["POLY_CACHE_DIR"] = os.environ["XDG_CACHE_HOME"] = cache
            ours = child(__file__, name, "ours", args.threads, args.epochs, timeout=300)
        theirs = child(__file__, name, "theirs", args.threads, args.epochs, timeout=300)
        row = {"name": name, "bar": bar, "ours": ours, "theirs": theirs}
        rows.append(row)
        if "error" in ours or "error" in theirs:
            print(f"{name:20} ours: {ours.get('error', 'runs')}; PyG: {theirs.get('error', 'runs')}"[:200], flush=True)
            continue
        row["ratio"] = theirs["epoch_s"] / ours["epoch_s"]
        below = "" if row["ratio"] >= bar else f"below {bar}"
        print(
            f"{name:20} {ours['epoch_s'] * 1e3:9.2f} {theirs['epoch_s'] * 1e3:9.2f} {row['ratio']:7.2f} {ours['first_s']:14.2f}"
            f"  {ours['last_loss']:.4f} {theirs['last_loss']:.4f} {below}", flush=True,
        )  # fmt: skip
    write_json(args.json, machine=machine(args.threads), rows=rows)


if __name__ == "__main__":
    main()
