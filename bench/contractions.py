"""Sums of products beside PyTorch in one run: matrix products inside a plan, with bias and ReLU fused, convolutions with their gradients, batches of
small products, attention, and training steps (forward, backward, SGD) of a ResNet-18 and a small GPT.

A product is timed in a chain, so that what a call costs is not in it. Both sides take turns; the least time counts, by the clock of the process, which
other programs disturb least. Usage: contractions.py [-k SUBSTRING] [--threads 1] [--seconds 0.3] [--json FILE]; POLY_ONEDNN=0 leaves oneDNN out.
--wall takes the clock on the wall: with several threads, PyTorch's wait busily and count as work.
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


def least(functions, seconds, clock):
    """The least time of each, in turns."""
    best = dict.fromkeys(functions, float("inf"))
    for f in functions.values():
        f()
        f()
    end = time.perf_counter() + seconds * len(functions)
    while True:
        for k, f in functions.items():
            start = clock()
            f()
            best[k] = min(best[k], clock() - start)
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


def resnet18(nn):
    """ResNet-18 for 1000 classes; the same text for both sides."""

    class Block(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.c1, self.b1 = nn.Conv2d(i, o, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(o)
            self.c2, self.b2 = nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o)
            self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride=stride, bias=False), nn.BatchNorm2d(o)) if stride > 1 or i != o else None

        def forward(self, x):
            y = self.b2(self.c2(self.b1(self.c1(x)).relu()))
            return (y + (self.down(x) if self.down is not None else x)).relu()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.c, self.b, self.pool = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.MaxPool2d(3, 2, 1)
            widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
            self.blocks, self.out = nn.ModuleList([Block(*w) for w in widths]), nn.Linear(512, 1000)

        def forward(self, x):
            x = self.pool(self.b(self.c(x)).relu())
            for block in self.blocks:
                x = block(x)
            return self.out(x.mean((2, 3)))

    return Net()


def gpt(nn, layers=4, width=128, heads=4, tokens=64, words=256):
    """A decoder of characters; the same text for both sides."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, attention, gelu):
            b, t, c = x.shape
            q, k, v = (z.reshape(b, t, heads, c // heads).transpose(1, 2) for z in self.qkv(self.n1(x)).split(width, 2))
            x = x + self.o(attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
            return x + self.down(gelu(self.up(self.n2(x))))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.word, self.place = nn.Embedding(words, width), nn.Embedding(tokens, width)
            self.blocks, self.norm, self.out = nn.ModuleList([Block() for _ in range(layers)]), nn.LayerNorm(width), nn.Linear(width, words)

        def forward(self, x, places):
            f = nn.functional
            x = self.word(x) + self.place(places)
            for block in self.blocks:
                x = block(x, f.scaled_dot_product_attention, f.gelu)
            return self.out(self.norm(x)).reshape(-1, words)

    return Net()


def training(make, inputs, labels):
    """A step of each side from the same weights; compiled as one program on ours."""
    import torch
    from polygrad import Tensor, nn

    torch.manual_seed(0)
    theirs, own = make(torch.nn), make(nn)
    Tensor.training = True
    nn.state.load_state_dict(
        own, {k: Tensor(v.numpy()) for k, v in theirs.state_dict().items() if "num_batches" not in k}, strict=False, verbose=False
    )
    xs, y = [Tensor(a).realize() for a in inputs], Tensor(labels).realize()
    zs, z = [torch.from_numpy(a) for a in inputs], torch.from_numpy(labels)
    sgd = torch.optim.SGD(theirs.parameters(), lr=0.01)

    def train(net, opt, *args):
        loss = net(*args[:-1]).cross_entropy(args[-1])
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    def peer():
        sgd.zero_grad()
        loss = torch.nn.functional.cross_entropy(theirs(*zs), z)
        loss.backward()
        sgd.step()
        return float(loss)

    start = time.perf_counter()
    compiled = nn.compile_step(train, own, nn.SGD(nn.get_parameters(own), lr=0.01), *xs, y)
    compiled.run()
    first = compiled.loss_value()
    print(f"first step, compiled or from the cache: {time.perf_counter() - start:.1f} s", flush=True)
    for mine, want in ((first, peer()), ((compiled.run(), compiled.loss_value())[1], peer())):
        if abs(mine - want) > 1e-3 * abs(want):
            raise SystemExit(f"losses differ: {mine} and {want}")
    return lambda: (compiled.run(), compiled.loss_value()), peer


@row("ResNet-18 step, 224x224, batch 8", 1)
def resnet_step():
    import numpy as np

    rng = np.random.default_rng(0)
    return training(resnet18, [rng.standard_normal((8, 3, 224, 224), dtype=np.float32)], rng.integers(0, 1000, 8))


@row("GPT step, 4 layers, width 128, 64 tokens, batch 8", 2.5)
def gpt_step():
    import numpy as np

    rng = np.random.default_rng(0)
    return training(gpt, [rng.integers(0, 256, (8, 64)), np.arange(64)], rng.integers(0, 256, 8 * 64))


@row("topk(10) of 64x1000", 1)
def topk_rows():
    (x,), (a,) = both((64, 1000))
    return step(lambda x: tuple(x.topk(10)), x), lambda: a.topk(10)


@row("topk(10) of 10^7", 1)
def topk_long():
    (x,), (a,) = both((10**7,))
    return step(lambda x: tuple(x.topk(10)), x), lambda: a.topk(10)


@row("sort of 10^7", 1.5)
def sort_long():
    (x,), (a,) = both((10**7,))
    return step(lambda x: tuple(x.sort()), x), lambda: a.sort()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("-k", default="")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--seconds", type=float, default=0.3)
    ap.add_argument("--wall", action="store_true")
    ap.add_argument("--json")
    args = ap.parse_args()
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    os.environ.setdefault("POLY_EXACT", "1")
    os.environ.setdefault("POLY_TIER", "1")
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
        seconds = least({"ours": ours, "torch": peer}, args.seconds, time.perf_counter if args.wall else time.process_time)
        ratio = seconds["torch"] / seconds["ours"]
        missed = "" if ratio >= bar else "  MISSED"
        print(f"{name:64} {seconds['ours'] * 1e3:9.3f} ms   torch {seconds['torch'] * 1e3:9.3f} ms   {ratio:5.2f}x (bar {bar}x){missed}", flush=True)
        results.append({"name": name, "ours_s": seconds["ours"], "torch_s": seconds["torch"], "ratio": ratio, "bar": bar})
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"threads": args.threads, "torch": torch.__version__, "library": library, "rows": results}, f, indent=1)


if __name__ == "__main__":
    main()
