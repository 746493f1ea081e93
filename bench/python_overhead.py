"""What Python costs: building a + b on two realized tensors, what a compiled step adds to its kernels, and a plain training loop to a compiled step.

Prints medians with their limits; the lines that have no limit show where the time goes. Usage: python_overhead.py [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time


def median_us(function, number, repeats=60):
    """Median over repeats of the mean time of `number` calls in a row. The thread's own time: others may want the machine too."""
    times = []
    clock = time.thread_time
    for _ in range(repeats):
        start = clock()
        for _ in range(number):
            function()
        times.append((clock() - start) / number * 1e6)
    return statistics.median(times)


def empty_call():
    pass


def building():
    """Rows (name, microseconds, limit) of building programs; the empty call of the loop is taken off."""
    from polygrad import Tensor

    a, b = Tensor.rand(4, 4).realize(), Tensor.rand(4, 4).realize()
    row, grown = Tensor.rand(4).realize(), Tensor.rand(4, 4).realize()
    grown.requires_grad = True
    from polygrad import _signatures as sig
    from polygrad._ffi import C

    ha, hb, add, free = a._h, b._h, C.poly_binary, C.poly_free
    rows = [
        ("a + b, two realized tensors", lambda: a + b, 4.0),
        ("  of that, the C core (called through ctypes)", lambda: free(add(sig.POLY_ADD, ha, hb)), None),
        ("a + 2.0", lambda: a + 2.0, None),
        ("a + row (broadcast)", lambda: a + row, None),
        ("w + b, w requires a gradient", lambda: grown + b, None),
        ("a.exp()", lambda: a.exp(), None),
        ("a.sum(1)", lambda: a.sum(1), None),
        ("a.reshape(16)", lambda: a.reshape(16), None),
        ("a.shape", lambda: a.shape, None),
    ]
    base = median_us(empty_call, 20000)
    return [(name, max(0.0, median_us(f, 3000) - base), limit) for name, f, limit in rows]


def stepping():
    """A compiled training step whose kernels do next to nothing, so that its time is an upper bound of what it adds to them."""
    from polygrad import Tensor
    from polygrad.nn import SGD, Linear, compile_step, get_parameters

    model = Linear(4, 1)
    opt = SGD(get_parameters(model), lr=0.01)

    def train(model, opt, x, y):
        loss = (model(x) - y).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    x, y = Tensor.rand(8, 4), Tensor.rand(8, 1)
    step = compile_step(train, model, opt, x, y)
    for _ in range(100):
        step.run()
    return [
        (f"a compiled step with {step.n_kernels} tiny kernels, run()", median_us(step.run, 500), 20.0),
        ("the same with inputs, run(x, y)", median_us(lambda: step.run(x, y), 500), 20.0),
        ("loss_value()", median_us(step.loss_value, 500), None),
    ]


def networks():
    """Two layers each, so small that their kernels take next to no time."""
    import numpy as np
    from polygrad import Tensor, nn
    from polygrad.geometric.nn import GCNConv

    dense = nn.Linear(4, 8), nn.Linear(8, 3)
    x, y = Tensor.rand(8, 4).realize(), Tensor.zeros(8, dtype="int32").realize()
    yield "MLP", dense, lambda: dense[1](dense[0](x).relu()).cross_entropy(y)
    convs = GCNConv(4, 8), GCNConv(8, 3)
    edges = Tensor(np.unique(np.random.default_rng(0).integers(0, 30, (2, 100)), axis=1)).realize()
    nodes, labels = Tensor.rand(30, 4).realize(), Tensor.zeros(30, dtype="int32").realize()
    yield "GCN", convs, lambda: convs[1](convs[0](nodes, edges).relu(), edges).cross_entropy(labels)


def looping():
    """A plain loop: what building a program and finding its plan costs is its step less a compiled step of the same kernels."""
    from polygrad.nn import SGD, compile_step, get_parameters

    for name, layers, loss_of in networks():
        opt = SGD(get_parameters(layers), lr=0.01)

        def train(layers, opt, loss_of=loss_of):
            opt.zero_grad()
            loss = loss_of()
            loss.backward()
            opt.step()
            return loss

        for _ in range(300):
            train(layers, opt).realize()
        compiled = compile_step(train, layers, opt)
        for _ in range(300):
            compiled.run()
        plain, kernels = [], []
        for _ in range(30):  # in turns: the machine may have become slower or faster
            plain.append(median_us(lambda train=train, layers=layers, opt=opt: train(layers, opt).realize(), 20, 3))
            kernels.append(median_us(compiled.run, 20, 3))
        whole, rest = statistics.median(plain), statistics.median(kernels)
        yield f"{name} of two layers, a step of a plain loop", whole, None
        yield "  of that, building it and finding its plan", whole - rest, 100.0


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--json")
    args = ap.parse_args()
    os.environ.setdefault("POLY_THREADS", "1")
    import numpy

    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, numpy {numpy.__version__}")
    results = []
    for name, us, limit in [*building(), *stepping(), *looping()]:
        bar = "" if limit is None else f"   limit {limit:.0f} us{'' if us <= limit else '  MISSED'}"
        print(f"{name:48} {us:9.2f} us{bar}", flush=True)
        results.append({"name": name, "us": us, "limit_us": limit})
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"python": platform.python_version(), "rows": results}, f, indent=1)


if __name__ == "__main__":
    main()
