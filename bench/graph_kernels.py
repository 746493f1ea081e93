"""Kernels over the edges of a graph beside the same ones written by hand in C (bench/hand), in one run, on an R-MAT graph of ogbn-arxiv's size.

The sum over in-edges of 16, 64 and 256 features, and a GAT layer's softmax and aggregation (8 heads of 8 features), forward, and forward and
backward together. Both sides run in this process with the same threads and take turns; results are compared first. The ratio is the time by
hand over ours: 1 is as fast, the bar is 0.8. Usage: graph_kernels.py [-k NAME] [--threads 2] [--scale 1.0] [--json FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile

from graph_common import ARXIV, in_turns, machine, rmat, write_json

HEADS, DEEP, BAR = 8, 8, 0.8
HAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hand")


class Rows(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_int32), ("begin", ctypes.c_void_p), ("other", ctypes.c_void_p), ("edge", ctypes.c_void_p)]

    def __init__(self, g, side):
        self.arrays = [t.numpy() for t in (g.rowptr(side), g.other(side), g.order(side))]
        super().__init__(len(self.arrays[0]) - 1, *(a.ctypes.data for a in self.arrays))


def by_hand(folder):
    """The kernels of bench/hand as a library."""
    path = os.path.join(folder, "hand.so")
    sources = [os.path.join(HAND, name) for name in ("sum.c", "gat.c")]
    subprocess.run([os.environ.get("CC", "gcc"), "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-o", path, *sources, "-lm"], check=True)
    return ctypes.CDLL(path)


def at(*arrays):
    """Pointers that keep their arrays."""
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    for p, a in zip(pointers, arrays):
        p.array = a
    return pointers


def check(name, got, want):
    import numpy as np

    for g, w in zip(got, want):
        off = np.abs(g.numpy().reshape(-1) - w.reshape(-1)) / (1 + np.abs(w.reshape(-1)))
        if not off.max() < 1e-3:
            raise SystemExit(f"{name}: results differ by {off.max():.1e}")


def sum_case(lib, g, features):
    import numpy as np
    from polygrad import Tensor, TinyJit

    nodes = g.num_nodes
    x = np.random.default_rng(0).standard_normal((nodes, features), dtype=np.float32)
    out, rows, t = np.empty_like(x), Rows(g, "in"), Tensor(x).realize()
    kernel, args = getattr(lib, f"sum_{features}"), at(x, out)
    f = TinyJit(lambda a: g.sum(g.src(a)).realize())
    return lambda: f(t), lambda: kernel(ctypes.byref(rows), *args), lambda: check(f"sum {features}", [f(t)], [out])


def gat_case(lib, g, backward):
    import numpy as np
    from polygrad import Tensor, TinyJit

    nodes, edges = g.num_nodes, g.num_edges
    rng = np.random.default_rng(0)
    x, dy = (rng.standard_normal((nodes, HEADS, DEEP), dtype=np.float32) for _ in range(2))
    el, er = (rng.standard_normal((nodes, HEADS), dtype=np.float32) for _ in range(2))
    m, s, t, der, d_el = (np.empty_like(el) for _ in range(5))
    out, dx, da = np.empty_like(x), np.empty_like(x), np.empty((edges, HEADS), np.float32)
    into, outof = Rows(g, "in"), Rows(g, "out")
    forward, by_dst, by_src = at(x, el, er, m, s, out), at(x, el, er, m, s, dy, da, t, der), at(el, er, m, s, dy, da, t, dx, d_el)

    def hand():
        lib.gat_forward(ctypes.byref(into), *forward)
        if backward:
            lib.gat_by_dst(ctypes.byref(into), *by_dst)
            lib.gat_by_src(ctypes.byref(outof), *by_src)

    def layer(h, left, right, grad):
        alpha = g.softmax((g.src(left) + g.dst(right)).leaky_relu(0.2))
        y = g.sum(alpha.unsqueeze(-1) * g.src(h))
        results = [y, *y.gradient(h, left, right, gradient=grad)] if backward else [y]
        Tensor.realize(*results)
        return results

    f, tensors = TinyJit(layer), [Tensor(a).realize() for a in (x, el, er, dy)]
    want = [out, dx, d_el, der] if backward else [out]
    return lambda: f(*tensors), hand, lambda: check("gat", f(*tensors), want)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-k", default="")
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--scale", type=float, default=1.0)
    ap.add_argument("--json")
    args = ap.parse_args()
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    from polygrad import Graph

    nodes, edges = (max(64, int(n * args.scale)) for n in ARXIV)
    g = Graph(rmat(nodes, edges), num_nodes=nodes)
    cases = {f"sum over in-edges, F = {f}": (lambda lib, f=f: sum_case(lib, g, f)) for f in (16, 64, 256)}
    cases["GAT 8x8 forward"] = lambda lib: gat_case(lib, g, False)
    cases["GAT 8x8 forward and backward"] = lambda lib: gat_case(lib, g, True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        lib = by_hand(folder)
        for name, make in cases.items():
            if args.k not in name:
                continue
            ours, hand, compare = make(lib)
            ours(), ours(), hand(), compare()
            ms = in_turns({"ours": ours, "hand": hand})
            ratio = ms["hand"] / ms["ours"]
            print(
                f"{name:30} ours {ms['ours']:8.2f} ms   by hand {ms['hand']:8.2f} ms   {ratio:.2f} (bar {BAR}) {'met' if ratio >= BAR else 'MISSED'}",
                flush=True,
            )
            rows.append({"name": name, "ours_ms": ms["ours"], "hand_ms": ms["hand"], "ratio": ratio, "bar": BAR})
    write_json(args.json, **machine(args.threads), nodes=nodes, edges=edges, rows=rows)


if __name__ == "__main__":
    main()
