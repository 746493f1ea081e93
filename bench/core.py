"""Core benchmarks: Polygrad beside numpy, PyTorch and tinygrad in one run.

Each row runs ours and the peer's in turn, several times, and prints the medians and the ratio to PyTorch's (above 1: we are
faster), with the bar that the row must meet. Usage: core.py [-k SUBSTRING] [--threads 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROWS = []


def row(name, bar):
    """Registers a function that returns (ours, {peer: function})."""

    def register(make):
        ROWS.append((name, bar, make))
        return make

    return register


def median_ms(functions, rounds=5, block=0.25):
    """Medians of the functions. They take turns in blocks, so that noise falls on all alike, but not run by run: for a moment after
    each parallel region the threads of one library wait actively, and the other's would be timed with a core less."""
    times = {k: [] for k in functions}
    for f in functions.values():
        f()
    for _ in range(rounds):
        for k, f in functions.items():
            time.sleep(0.02)
            f()
            start = time.perf_counter()
            while True:
                t = time.perf_counter()
                f()
                now = time.perf_counter()
                times[k].append((now - t) * 1e3)
                if now - start > block and len(times[k]) >= 5:
                    break
    return {k: statistics.median(v) for k, v in times.items()}


def randn(*shape):
    import numpy as np

    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


@row("elementwise chain of 10 ops, 10M", 4.0)
def chain():
    import torch
    from polygrad import Tensor

    a = randn(10_000_000)

    def f(x):
        return ((((x * 2 + 1).relu() * x - 3).abs() + x) * 0.5 - x * 0.25).tanh() + 1

    p, t = Tensor(a), torch.from_numpy(a)
    return lambda: f(p).realize(), {"torch": lambda: f(t)}


def normalise(ours, torchs):
    import torch
    from polygrad import Tensor

    a, g = randn(16384, 512), randn(16384, 512)
    p, pg = Tensor(a), Tensor(g)
    p.requires_grad = True
    t, tg = torch.from_numpy(a).requires_grad_(), torch.from_numpy(g)

    def mine():
        p.grad = None
        y = ours(p)
        y.backward(pg)
        Tensor.realize(y, p.grad)

    def peer():
        t.grad = None
        torchs(t).backward(tg)

    return mine, {"torch": peer}


@row("softmax forward and backward, 16384x512", 1.5)
def softmax():
    return normalise(lambda x: x.softmax(-1), lambda x: x.softmax(-1))


@row("layer norm forward and backward, 16384x512", 1.5)
def layernorm():
    import torch

    return normalise(lambda x: x.layernorm(-1), lambda x: torch.nn.functional.layer_norm(x, (512,)))


def product(m, k, n, ta=False, tb=False):
    def make():
        import torch
        from polygrad import Tensor

        a = randn(k, m) if ta else randn(m, k)
        b = randn(n, k) if tb else randn(k, n)
        pa, pb, xa, xb = Tensor(a), Tensor(b), torch.from_numpy(a), torch.from_numpy(b)
        if ta:
            pa, xa = pa.transpose(0, 1), xa.T
        if tb:
            pb, xb = pb.transpose(0, 1), xb.T
        return lambda: (pa @ pb).realize(), {"torch": lambda: xa @ xb}

    return make


for size in (256, 512, 1024, 2048):
    row(f"matmul {size}", 0.95)(product(size, size, size))
row("matmul 169343x128 . 128x64", 0.95)(product(169343, 128, 64))
row("its gradient to x: 169343x64 . 64x128", 0.95)(product(169343, 64, 128, tb=True))
row("its gradient to w: 128x169343 . 169343x64", 0.95)(product(128, 169343, 64, ta=True))


def reduction(name, axis):
    def make():
        import torch
        from polygrad import Tensor

        a = randn(8192, 4096)
        p, t = Tensor(a), torch.from_numpy(a)
        peer = (lambda: t.sum(axis)) if name == "sum" else (lambda: t.amax(axis))
        return lambda: getattr(p, name)(axis).realize(), {"torch": peer, "numpy": lambda: getattr(a, name)(axis)}

    return make


for op in ("sum", "max"):
    for ax in (0, 1):
        row(f"{op} over axis {ax} of 8192x4096", 1.0)(reduction(op, ax))


@row("scatter_add of 1M rows x 64 into 100k", 1.5)
def scatter():
    import numpy as np
    import torch
    from polygrad import Tensor

    src = randn(1_000_000, 64)
    index = np.random.default_rng(1).integers(0, 100_000, 1_000_000)
    z, p, i = Tensor.zeros(100_000, 64), Tensor(src), Tensor(index.astype(np.int32))
    tz, t, ti = torch.zeros(100_000, 64), torch.from_numpy(src), torch.from_numpy(index)
    wide = ti[:, None].expand(-1, 64)
    peers = {
        "torch": lambda: tz.index_add(0, ti, t),
        "torch.scatter_add": lambda: tz.scatter_add(0, wide, t),
    }
    return lambda: z.index_add(0, i, p).realize(), peers


@row("MLP 784-256-10, batch 512, Adam step, over torch", 1.5)
def mlp():
    import numpy as np
    import torch
    from polygrad import Tensor
    from polygrad.nn import Adam, Linear, compile_step, get_parameters

    x, y = randn(512, 784), np.random.default_rng(2).integers(0, 10, 512)

    class Net:
        def __init__(self):
            self.a, self.b = Linear(784, 256), Linear(256, 10)

        def __call__(self, v):
            return self.b(self.a(v).relu())

    net = Net()
    opt = Adam(get_parameters(net), lr=1e-3)

    def train(model, o, v, w):
        loss = model(v).cross_entropy(w)
        loss.backward()
        o.step()
        o.zero_grad()
        return loss

    step = compile_step(train, net, opt, Tensor(x), Tensor(y.astype(np.int32)))
    tnet = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    topt = torch.optim.Adam(tnet.parameters(), lr=1e-3)
    tx, ty = torch.from_numpy(x), torch.from_numpy(y)

    def peer():
        topt.zero_grad()
        torch.nn.functional.cross_entropy(tnet(tx), ty).backward()
        topt.step()

    return step.run, {"torch": peer}


TINY = """
import time, numpy as np
from tinygrad import Context, Tensor, TinyJit, nn
rng = np.random.default_rng(0)
x, y = Tensor(rng.standard_normal((512, 784), dtype=np.float32)), Tensor(rng.integers(0, 10, 512).astype(np.int32))
class Net:
    def __init__(self): self.a, self.b = nn.Linear(784, 256), nn.Linear(256, 10)
    def __call__(self, v): return self.b(self.a(v).relu())
net = Net(); opt = nn.optim.Adam(nn.state.get_parameters(net), lr=1e-3)
@TinyJit
def step():
    opt.zero_grad()
    return net(x).sparse_categorical_crossentropy(y).backward().realize(*opt.schedule_step())
with Context(TRAINING=1):
    for _ in range(4): step().item()
    times = []
    for _ in range(20):
        t = time.perf_counter(); step().item(); times.append(time.perf_counter() - t)
print(sorted(times)[10] * 1e3)
"""

COLD = """
import time
start = time.perf_counter()
import numpy as np
from polygrad import Tensor
from polygrad.nn import Adam, Linear, compile_step, get_parameters
class Net:
    def __init__(self): self.a, self.b = Linear(784, 256), Linear(256, 10)
    def __call__(self, v): return self.b(self.a(v).relu())
net = Net(); opt = Adam(get_parameters(net), lr=1e-3)
rng = np.random.default_rng(0)
x, y = Tensor(rng.standard_normal((512, 784), dtype=np.float32)), Tensor(rng.integers(0, 10, 512).astype(np.int32))
def train(model, o, v, w):
    loss = model(v).cross_entropy(w); loss.backward(); o.step(); o.zero_grad(); return loss
step = compile_step(train, net, opt, x, y)
step.run(); step.loss_value()
print(time.perf_counter() - start)
"""


def child(code, **env):
    out = subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, check=True)
    return float(out.stdout.split()[-1])


def start_up(results):
    """The MLP from import to first loss, with nothing cached and with everything cached."""
    cold, warm = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(child(COLD, POLY_CACHE_DIR=folder))
            warm.append(child(COLD, POLY_CACHE_DIR=folder))
    for name, values, limit in (("cold start, import to first loss", cold, 1.5), ("warm start", warm, 0.3)):
        s = statistics.median(values)
        print(f"{name:48} {s * 1e3:9.1f} ms   limit {limit * 1e3:.0f} ms {'' if s <= limit else '  MISSED'}")
        results.append({"name": name, "ours_ms": s * 1e3, "limit_ms": limit * 1e3})


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("-k", default="")
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--json")
    args = ap.parse_args()
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    import numpy
    import torch

    torch.set_num_threads(args.threads)
    print(f"{platform.processor() or platform.machine()}, {args.threads} threads, torch {torch.__version__}, numpy {numpy.__version__}")
    results = []
    for name, bar, make in ROWS:
        if args.k not in name:
            continue
        ours, peers = make()
        ms = median_ms({"ours": ours, **peers})
        best = min(ms[k] for k in peers if k.startswith("torch"))
        ratio = best / ms["ours"]
        shown = "  ".join(f"{k} {ms[k]:.2f}" for k in peers)
        missed = "" if ratio >= bar else "  MISSED"
        print(f"{name:48} {ms['ours']:9.2f} ms   {shown} ms   {ratio:5.2f}x (bar {bar}x){missed}", flush=True)
        results.append({"name": name, "ours_ms": ms["ours"], "peers_ms": {k: ms[k] for k in peers}, "ratio": ratio, "bar": bar})
        if name.startswith("MLP"):
            try:
                tiny = child(TINY)
            except subprocess.CalledProcessError as e:
                print("tinygrad did not run:", e.stderr.strip().splitlines()[-1])
            else:
                print(f"{'  the same over tinygrad':48} {ms['ours']:9.2f} ms   tinygrad {tiny:.2f} ms   {tiny / ms['ours']:5.2f}x (bar 10x)")
                results.append(
                    {"name": name + " (tinygrad)", "ours_ms": ms["ours"], "peers_ms": {"tinygrad": tiny}, "ratio": tiny / ms["ours"], "bar": 10}
                )
    if args.k in "start":
        start_up(results)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"threads": args.threads, "torch": torch.__version__, "numpy": numpy.__version__, "rows": results}, f, indent=1)


if __name__ == "__main__":
    main()
