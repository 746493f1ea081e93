"""What share of the machine's arithmetic or memory rate each kernel of a training step reaches, and how a step grows with the graph.

The steps are those of graph_train.py: two layers 128 -> 64 -> 40 on an R-MAT graph of ogbn-arxiv's size. Rates of the machine are measured first, on as many
threads: fused multiply-adds in registers, and bytes read from memory (bench/hand/rates.c). For each kernel that takes a hundredth of the step or more, flops
are those of its matrix product; bytes are its arrays, each counted once, and for a kernel over edges one row of its width for each edge, which is the least that
it has to read. The share is the larger of both. Times are the processor's, so that other programs disturb them least. Caches may serve gathered rows faster than
memory: shares above 1 are possible.

--growth runs GCN and GAT steps on a quarter and on four times the graph, one after the other in turns: 16 times the edges may take 18 times as long.

Usage: shares.py [-k MODEL] [--threads 1] [--runs 20] [--scale 1.0] [--growth] [--json FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import re
import statistics
import subprocess
import tempfile
import time

from graph_common import ARXIV, machine, write_json
from graph_train import load, make_step, save

HAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hand")
MODELS = ("gcn", "sage", "gin", "gat")
MEDIAN, LEAST, GROWTH = 0.6, 0.3, 18
# kernels of GAT that reduce the features of each edge inside their loop over edges, which the name does not show: how many
DOTS = {r"reduce_\d+_8_r_(8|x)": 64, r"reduce_\d+_r_(40|x)": 40}


def rates(folder, threads):
    """Flops and bytes in a second."""
    import numpy as np

    path = os.path.join(folder, "rates.so")
    compiler = os.environ.get("CC", "gcc")
    subprocess.run([compiler, "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-o", path, os.path.join(HAND, "rates.c")], check=True)
    lib = ctypes.CDLL(path)
    lib.hand_arithmetic.restype = lib.hand_read.restype = ctypes.c_double
    turns, sink, data = 2_000_000, np.full(64, 0.5, np.float32), np.ones(1 << 26, np.float32)
    at = lambda a: ctypes.c_void_p(a.ctypes.data)  # noqa: E731
    arithmetic = min(lib.hand_arithmetic(ctypes.c_int64(turns), threads, at(sink)) for _ in range(10))
    read = min(lib.hand_read(at(data), ctypes.c_int64(data.size), threads, at(sink)) for _ in range(10))
    return 2 * 12 * 16 * turns * threads / arithmetic, data.nbytes / read


def step_of(model, folder):
    from polygrad import Tensor

    return make_step(model, *(Tensor(a).realize() for a in load(folder)))


def profile(step, runs, threads):
    """Kernels by name, each with its share of the processor's time of a step, in ms: the clock of the profile goes on while other programs run."""
    from polygrad import Profile

    found, cpu = {}, []
    for _ in range(2):
        step.run()
    for _ in range(runs):
        start = time.process_time()
        with Profile() as p:
            step.run()
        cpu.append((time.process_time() - start) * 1e3 / threads)
        for k in p.kernels:
            found.setdefault(k.name, []).append(k)
    wall = sum(k.ms for ks in found.values() for k in ks)
    scale = statistics.median(cpu) / wall
    return [ks[0]._replace(ms=scale * sum(k.ms for k in ks)) for ks in found.values()]


def row_width(name):
    """Features that a kernel reads of each edge; 0: it is none over edges."""
    for pattern, width in DOTS.items():
        if re.fullmatch(pattern, name):
            return width
    sizes = re.fullmatch(r"[a-z]+_\d+((?:_\d+)*)_r_x.*", name)
    return math.prod(int(n) for n in sizes[1].split("_")[1:]) if sizes else 0


def counted(kernel, edges):
    """Flops and bytes of one run of a kernel."""
    width = row_width(kernel.name)
    return (0 if width else kernel.flops), kernel.bytes + 4 * edges * width * kernel.count


def report(model, kernels, edges, arithmetic, memory):
    total, rows = sum(k.ms for k in kernels), []
    for k in sorted(kernels, key=lambda k: -k.ms):
        if k.ms < 0.01 * total:
            continue
        flops, nbytes = counted(k, edges)
        seconds = k.ms * 1e-3
        share = max(flops / seconds / arithmetic, nbytes / seconds / memory)
        rows.append({"kernel": k.name, "runs": k.count, "ms": k.ms, "flops": flops, "bytes": nbytes, "share": share})
        print(f"  {k.name[:34]:34} x{k.count} {k.ms:8.2f} ms {flops * 1e-9:7.2f} GFLOP {nbytes * 1e-6:8.0f} MB   share {share:.2f}")
    median, least = statistics.median(r["share"] for r in rows), min(r["share"] for r in rows)
    met = median >= MEDIAN and least >= LEAST
    print(
        f"{model:6} {total:8.1f} ms   median {median:.2f} (bar {MEDIAN}), least {least:.2f} (bar {LEAST})   {'met' if met else 'MISSED'}\n",
        flush=True,
    )
    return {"model": model, "ms": total, "kernels": rows, "median": median, "least": least}


def growth(model, folders, runs):
    """CPU time of a step on the large graph over that on the small one; both run in turns."""
    steps, times = [step_of(model, f) for f in folders], ([], [])
    for k in range(runs + 1):
        for step, kept in zip(steps, times):
            start = time.process_time()
            step.run()
            if k:
                kept.append((time.process_time() - start) * 1e3)
    small, large = (statistics.median(t) for t in times)
    met = large / small <= GROWTH
    print(f"{model:6} {small:8.1f} ms -> {large:8.1f} ms   {large / small:.1f}x (bar {GROWTH}x)   {'met' if met else 'MISSED'}", flush=True)
    return {"model": model, "small_ms": small, "large_ms": large, "ratio": large / small}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--runs", type=int, default=20)
    ap.add_argument("--scale", type=float, default=1.0)
    ap.add_argument("--growth", action="store_true")
    ap.add_argument("--json")
    args = ap.parse_args()
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        if args.growth:
            folders = [os.path.join(folder, name) for name in ("small", "large")]
            for f, scale in zip(folders, (args.scale / 4, args.scale * 4)):
                os.mkdir(f)
                save(f, scale)
            rows = [growth(m, folders, args.runs) for m in ("gcn", "gat") if args.k in (m, "")]
        else:
            save(folder, args.scale)
            arithmetic, memory = rates(folder, args.threads)
            print(f"{arithmetic * 1e-9:.0f} GFLOP/s, {memory * 1e-9:.1f} GB/s on {args.threads} threads\n", flush=True)
            edges = int(ARXIV[1] * args.scale)
            for m in MODELS:
                if args.k in (m, ""):
                    rows.append(report(m, profile(step_of(m, folder), args.runs, args.threads), edges, arithmetic, memory))
    write_json(args.json, **machine(args.threads), rows=rows)


if __name__ == "__main__":
    main()
