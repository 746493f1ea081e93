"""How long a program takes before it first runs: planning, and planning with the C compiler, nothing cached; first gradients of each network.

Each case runs in two processes of its own with one kernel cache that begins empty. In the first, everything is compiled: its first run less its second
run is "plan + compile". In the second, the compiled kernels are found in the cache: the same difference is "plan" (canonical form, schedule, codegen,
rendering and loading). Building the graph and its gradients in Python is "build". The last table says by what factor doubling the steps or layers multiplies "plan".

Usage: planning.py [-k NAME] [--json FILE]        NAME as in "LSTM", "GAT". Exit status 1 if a limit is not kept.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time

PLAN_LIMIT, COMPILE_LIMIT, DOUBLING_LIMIT = 1.0, 4.0, 2.2
NOISE = 0.02  # seconds of planning that one run differs from the next by
LIMITED = ("LSTM 32 steps", "transformer 24 layers")  # these have both limits; all have that of doubling


# ---- networks: a function that builds a loss, and its parameters ----


def mlp(_):
    from polygrad import Tensor, nn

    layers = [nn.Linear(784, 256), nn.Linear(256, 128), nn.Linear(128, 10)]
    x, y = Tensor.rand(64, 784).realize(), Tensor.zeros(64, dtype="int32").realize()
    return layers, lambda: layers[2](layers[1](layers[0](x).relu()).relu()).cross_entropy(y)


def random_graph(nodes, edges):
    import numpy as np
    from polygrad import Graph

    rng = np.random.default_rng(0)
    return Graph(rng.integers(0, nodes, (2, edges)), nodes)


def gat(_):
    from polygrad import Tensor
    from polygrad.geometric.nn import GATConv

    graph, x = random_graph(1000, 5000), Tensor.rand(1000, 64).realize()
    layers = [GATConv(64, 8, heads=8), GATConv(64, 7)]
    return layers, lambda: layers[1](layers[0](x, graph).elu(), graph).log_softmax(-1).mean()


def gin(depth):
    from polygrad import Tensor
    from polygrad.geometric.nn import GIN

    graph, x = random_graph(1000, 5000), Tensor.rand(1000, 64).realize()
    model = GIN(64, 64, depth, 7)
    return model, lambda: model(x, graph).log_softmax(-1).mean()


def lstm(steps):
    from polygrad import Tensor, nn

    cell, x = nn.LSTMCell(64, 64), Tensor.rand(steps, 32, 64).realize()

    def loss():
        state = None
        for t in range(steps):
            state = cell(x[t], state)
        return state[0].square().mean()

    return cell, loss


def rnn(steps):
    """A cell of 128 units over the rows of a sequence, written as a Python loop."""
    from polygrad import Tensor

    x, h0 = Tensor.rand(steps, 32, 128).realize(), Tensor.zeros(32, 128).contiguous().realize()
    w, u = Tensor.randn(128, 128) * 0.1, Tensor.randn(128, 128) * 0.1

    def loss():
        h = h0
        for t in range(steps):
            h = (x[t] @ w + h @ u).tanh()
        return h.square().mean()

    return [w, u], loss


def propagation(steps):
    """A graph convolution with shared weights, again and again."""
    from polygrad import Tensor
    from polygrad.geometric.nn import GCNConv

    graph, x, layer = random_graph(1000, 5000), Tensor.rand(1000, 64).realize(), GCNConv(64, 64)

    def loss():
        h = x
        for _ in range(steps):
            h = layer(h, graph).tanh() * 0.5 + x * 0.5
        return h.square().mean()

    return layer, loss


def power(steps):
    from polygrad import Tensor

    a, v0 = Tensor.rand(256, 256), Tensor.rand(256).realize()

    def loss():
        v = v0
        for _ in range(steps):
            v = a @ v
            v = v / v.square().sum().sqrt()
        return (v * (a @ v)).sum()

    return [a], loss


def diffusion(steps):
    from polygrad import Tensor

    x = Tensor.rand(256, 256)

    def loss():
        h = x
        for _ in range(steps):
            q = h.pad(((1, 1), (1, 1)))
            h = h + 0.1 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] - 4 * h)
        return h.square().mean()

    return [x], loss


def transformer(depth, width=64, heads=4):
    from polygrad import Tensor, nn

    x = Tensor.rand(2, 32, width).realize()
    blocks = [
        [
            nn.LayerNorm(width),
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        ]
        for _ in range(depth)
    ]

    def attend(h, qkv, out):
        q, k, v = (t.reshape(2, 32, heads, width // heads).transpose(1, 2) for t in qkv(h).chunk(3, dim=-1))
        return out(q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2).reshape(2, 32, width))

    def loss():
        h = x
        for norm1, qkv, out, norm2, wide, narrow in blocks:
            h = h + attend(norm1(h), qkv, out)
            h = h + narrow(wide(norm2(h)).gelu())
        return h.square().mean()

    return blocks, loss


CASES = {
    "MLP": (mlp, 1), "GAT": (gat, 1), "GIN 5 layers": (gin, 5),
    **{f"LSTM {n} steps": (lstm, n) for n in (8, 16, 32, 64, 128, 256, 512)},
    **{f"RNN cell {n} steps": (rnn, n) for n in (8, 32, 128)},
    **{f"propagation {n} steps": (propagation, n) for n in (8, 16)},
    **{f"power iteration {n} steps": (power, n) for n in (16, 32)},
    **{f"diffusion {n} steps": (diffusion, n) for n in (8, 16)},
    **{f"transformer {n} layers": (transformer, n) for n in (6, 12, 24)},
}  # fmt: skip


# ---- measuring ----


def measure(name):
    """One process: seconds to build the graph with its gradients, of the first run, and of the second."""
    from polygrad import Device, Tensor, nn

    Device.DEFAULT = "CPU"
    Tensor.manual_seed(0)
    make, size = CASES[name]
    model, loss = make(size)
    parameters = nn.get_parameters(model)
    for p in parameters:
        p.requires_grad = True
    Tensor.realize(*parameters)
    times = []
    for _ in range(2):
        for p in parameters:
            p.grad = None
        start = time.perf_counter()
        out = loss()
        out.backward()
        built = time.perf_counter()
        Tensor.realize(out, *(p.grad for p in parameters if p.grad is not None))
        times.append((built - start, time.perf_counter() - built))
    return {"build": times[1][0], "first": times[0][1], "second": times[1][1]}


def run(name):
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "POLY_CACHE_DIR": cache}
        got = []
        for _ in range(2):
            out = subprocess.run([sys.executable, __file__, "--measure", name], env=env, capture_output=True, text=True)
            if out.returncode:
                raise SystemExit(f"{name}: {out.stderr}")
            got.append(json.loads(out.stdout.splitlines()[-1]))
    cold, warm = got
    return {
        "name": name,
        "build": warm["build"],
        "plan": warm["first"] - warm["second"],
        "plan_and_compile": cold["first"] - cold["second"],
        "run": warm["second"],
    }


def doublings(rows):
    """(from, to, factor of planning for each doubling) of cases that differ in size alone."""
    groups = {}
    for row in rows:
        make, size = CASES[row["name"]]
        groups.setdefault(make, []).append((size, row))
    for cases in groups.values():
        for (a, first), (b, second) in zip(cases, cases[1:]):
            yield first["name"], second["name"], (max(second["plan"], NOISE) / max(first["plan"], NOISE)) ** (1 / math.log2(b / a))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", metavar="NAME")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--measure", metavar="CASE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return 0
    kept, rows = True, []
    print(f"{'':24}{'build':>10}{'plan':>10}{'plan + compile':>16}{'run':>10}   seconds")
    for name in CASES:
        if options.k not in name:
            continue
        row = run(name)
        late = name in LIMITED and (row["plan"] > PLAN_LIMIT or row["plan_and_compile"] > COMPILE_LIMIT)
        kept &= not late
        rows.append(row)
        note = f"   limits {PLAN_LIMIT:g} and {COMPILE_LIMIT:g}{', NOT KEPT' if late else ''}" if name in LIMITED else ""
        print(f"{name:24}{row['build']:10.3f}{row['plan']:10.3f}{row['plan_and_compile']:16.3f}{row['run']:10.4f}{note}", flush=True)
    factors = list(doublings(rows))
    for first, second, factor in factors:
        kept &= factor <= DOUBLING_LIMIT
        print(
            f"{first} to {second}: planning x {factor:.2f} for each doubling, limit {DOUBLING_LIMIT}{'' if factor <= DOUBLING_LIMIT else ', NOT KEPT'}"
        )
    if options.json:
        with open(options.json, "w") as f:
            found = {
                "machine": platform.processor() or platform.machine(),
                "rows": rows,
                "doublings": [{"from": a, "to": b, "factor": x} for a, b, x in factors],
            }
            json.dump(found, f, indent=1)
            f.write("\n")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
