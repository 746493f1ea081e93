"""Sums of products beside PyTorch in one run: matrix products inside a plan, with bias and ReLU fused, convolutions with their gradients, batches of
small products and attention.

A product is timed in a chain, so that what a call costs is not in it. Both sides take turns; the least time counts, by the clock of the process, which
other programs disturb least. Usage: contractions.py [-k SUBSTRING] [--threads 1] [--seconds 0.3] [--json FILE]; POLY_ONEDNN=0 leaves oneDNN out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time

ROWS = []
SQUARES = (64, 128, 256, 512, 1024, 2048)
TALL = (169343, 128, 64)


def row(name, bar):
    def register(make):
        ROWS.append((name, bar, make))
        return make

    return register


def least(functions, seconds):
    """The least time of each, in turns."""
    best = dict.fromkeys(functions, float("inf"))
    for f in functions.values():
        f()
        f()
    end = time.perf_counter() + seconds * len(functions)
    while True:
        for k, f in functions.items():
            start = time.process_time()
            f()
            best[k] = min(best[k], time.process_time() - start)
        if time.perf_counter() > end:
            return best


def arrays(*shapes):
    import numpy as np

    rng = np.random.default_rng(0)
    return [rng.standard_normal(s, dtype=np.float32) for s in shapes]


def both(*shapes):
    import torch
    from polygrad import Tensor

    found = arrays(*shapes)
    return [Tensor(a).realize() for a in found], [torch.from_numpy(a) for a in found]


def step(f, *tensors):
    from polygrad import Tensor, TinyJit

    def run(*args):
        out = f(*args)
        out = out if isinstance(out, tuple) else (out,)
        Tensor.realize(*out)
        return out

    jit = TinyJit(run)
    return lambda: jit(*tensors)


def chain(n, count=16):
    """Products in a row; the result is scaled by a factor that keeps it finite."""
    (x, w), (a, b) = both((n, n), (n, n))
    w, b = (w * n**-0.5).realize(), b * n**-0.5

    def ours(x, w):
        for _ in range(count):
            x = x @ w
        return x

    def peer():
        y = a
        for _ in range(count):
            y = y @ b

    return step(ours, x, w), peer


for size in SQUARES:
    row(f"product {size}^3", 0.9)(lambda n=size: chain(n, 16 if n < 1024 else 2))


@row("tall product 169343x128 128x64", 0.9)
def tall():
    (x, w), (a, b) = both(TALL[:2], TALL[1:])
    return step(lambda x, w: x @ w, x, w), lambda: a @ b


@row("its gradients", 0.9)
def tall_gradients():
    (x, w, g), (a, b, c) = both(TALL[:2], TALL[1:], (TALL[0], TALL[2]))
    return step(lambda x, w, g: (g @ w.transpose(), x.transpose() @ g), x, w, g), lambda: (c @ b.T, a.T @ c)


def fused(m, k, n):
    """Of a square product, layers in a row."""
    import torch

    (x, w, v), (a, b, c) = both((m, k), (k, n), (n,))
    count = 16 if m == n == k and n < 1024 else 1
    w, b = (w * k**-0.5).realize(), b * k**-0.5

    def ours(x, w, v):
        for _ in range(count):
            x = (x @ w + v).relu()
        return x

    def peer():
        y = a
        for _ in range(count):
            y = torch.relu(torch.addmm(c, y, b))

    return step(ours, x, w, v), peer


for sizes, bar in (((128, 128, 128), 1.1), ((256, 256, 256), 1.1), ((2048, 256, 1024), 1.1), (TALL, 1.1), ((1024, 1024, 1024), 0.95)):
    row("bias and ReLU {}x{} {}".format(*sizes), bar)(lambda s=sizes: fused(*s))


def convolution(gradients, batch=32):
    import torch

    (x, w), (a, b) = both((batch, 64, 32, 32), (64, 64, 3, 3))

    def ours(x, w):
        x, w = x.detach(), w.detach()
        x.requires_grad = w.requires_grad = True
        return (x.conv2d(w, padding=1) ** 2).sum().gradient(x, w)

    def peer():
        p, q = a.detach().requires_grad_(), b.detach().requires_grad_()
        torch.autograd.grad((torch.nn.functional.conv2d(p, q, padding=1) ** 2).sum(), (p, q))

    if gradients:
        return step(lambda x, w: tuple(ours(x, w)), x, w), peer
    return step(lambda x, w: x.conv2d(w, padding=1), x, w), lambda: torch.nn.functional.conv2d(a, b, padding=1)


row("3x3 convolution 64 to 64, 32x32, batch 32", 1)(lambda: convolution(False))
row("3x3 convolution 64 to 64, 32x32, batch 8, with both gradients", 1)(lambda: convolution(True, 8))


@row("256 products of 64x32 32x64", 1)
def batches():
    (x, w), (a, b) = both((256, 64, 32), (256, 32, 64))
    return step(lambda x, w: x @ w, x, w), lambda: a @ b


def attention(tokens, causal, gradients):
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    (q, k, v, g), (a, b, c, d) = both(*[(1, 8, tokens, 64)] * 4)

    def ours(q, k, v, g):
        q, k, v = q.detach(), k.detach(), v.detach()
        q.requires_grad = k.requires_grad = v.requires_grad = True
        out = q.scaled_dot_product_attention(k, v, is_causal=causal)
        return (out, *(out * g).sum().gradient(q, k, v))

    def peer():
        x, y, z = (t.detach().requires_grad_() for t in (a, b, c))
        out = scaled_dot_product_attention(x, y, z, is_causal=causal)
        torch.autograd.grad((out * d).sum(), (x, y, z))

    if gradients:
        return step(ours, q, k, v, g), peer
    return step(lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=causal), q, k, v), lambda: scaled_dot_product_attention(
        a, b, c, is_causal=causal
    )


for tokens in (512, 4096):
    for causal in (False, True):
        for gradients in (False, True):
            words = f"attention, 8 heads, {tokens} tokens{', causal' if causal else ''}, {'with gradients' if gradients else 'forward'}"
            row(words, 1)(lambda t=tokens, c=causal, g=gradients: attention(t, c, g))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("-k", default="")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--seconds", type=float, default=0.3)
    ap.add_argument("--json")
    args = ap.parse_args()
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    os.environ.setdefault("POLY_EXACT", "1")
    import numpy
    import torch

    torch.set_num_threads(args.threads)
    library = "without oneDNN" if os.environ.get("POLY_ONEDNN") == "0" else "oneDNN where it is installed"
    print(f"{platform.machine()}, {args.threads} threads, torch {torch.__version__}, numpy {numpy.__version__}, {library}")
    results = []
    for name, bar, make in ROWS:
        if args.k not in name:
            continue
        ours, peer = make()
        seconds = least({"ours": ours, "torch": peer}, args.seconds)
        ratio = seconds["torch"] / seconds["ours"]
        missed = "" if ratio >= bar else "  MISSED"
        print(f"{name:64} {seconds['ours'] * 1e3:9.3f} ms   torch {seconds['torch'] * 1e3:9.3f} ms   {ratio:5.2f}x (bar {bar}x){missed}", flush=True)
        results.append({"name": name, "ours_s": seconds["ours"], "torch_s": seconds["torch"], "ratio": ratio, "bar": bar})
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"threads": args.threads, "torch": torch.__version__, "library": library, "rows": results}, f, indent=1)


if __name__ == "__main__":
    main()
