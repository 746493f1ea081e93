"""Dense operations of many shapes beside PyTorch in one run, worst ratio last: products, convolutions, attention, recurrent layers, norms, pooling, losses.

Both sides run the same text, ours by the namespace polygrad.torch inside a compiled step, and their results are compared. A case in `CASES` has a name, a
function of that namespace and the operands, and the shapes of these; with gradients, all float operands get theirs. Sides take turns, and the least time by the
clock of the process counts. A call of ours costs about 10 us, which is most of what the smallest cases take.

Usage: dense.py [-k SUBSTRING] [--threads 1] [--seconds 0.3] [--below RATIO] [--json FILE]; -k may be given several times, --below prints slower ones alone
"""

from __future__ import annotations

import argparse
import json
import os
import time

from contractions import least

CASES = []
TOLERANCE = {"float32": 2e-3, "float64": 1e-9, "bfloat16": 5e-2, "float16": 1e-2}


class Whole:
    """An operand of whole numbers below `high`."""

    def __init__(self, high, *shape):
        self.high, self.shape = high, shape


def case(name, make, *operands, grad=True, dtype="float32"):
    """make(torch, *operands) is the result, or, with `grad`, what gradients are taken of as well, in a case of its own."""
    CASES.append((name, make, operands, dtype, False))
    if grad:
        CASES.append((name + ", gradients", make, operands, dtype, True))


def layer(name, build, *operands, grad=True):
    """A module, whose parameters get gradients too."""
    CASES.append((name, build, operands, "float32", None))
    if grad:
        CASES.append((name + ", gradients", build, operands, "float32", "parameters"))


# ---- products ----

SIZES = [
    (1, 512, 512), (4, 1024, 1024), (7, 63, 33), (17, 17, 17), (31, 31, 31), (33, 100, 65), (100, 100, 100), (127, 127, 127), (129, 129, 129), (200, 300, 10),
    (255, 255, 255), (257, 513, 129), (333, 777, 555), (1000, 1000, 1), (1000, 1000, 3), (1000, 1000, 10), (1000, 3, 1000), (1000, 1, 1000), (4096, 16, 16),
    (100000, 8, 8), (100000, 64, 7), (20000, 100, 47), (64, 10000, 64), (10, 50000, 10), (16, 4096, 2048), (2048, 2048, 31), (3000, 17, 3000), (513, 8, 513),
]  # fmt: skip

for m, k, n in SIZES:
    case(f"product {m}x{k} {k}x{n}", lambda t, x, y: x @ y, (m, k), (k, n), grad=m * k * n > 10**5)
for m, k, n in ((256, 256, 256), (1000, 64, 300), (333, 777, 555), (50000, 40, 24)):
    case(f"product, first transposed {m}x{k} {k}x{n}", lambda t, x, y: x.T @ y, (k, m), (k, n), grad=False)
    case(f"product, second transposed {m}x{k} {k}x{n}", lambda t, x, y: x @ y.T, (m, k), (n, k), grad=False)
    case(f"product, both transposed {m}x{k} {k}x{n}", lambda t, x, y: x.T @ y.T, (k, m), (n, k), grad=False)
for b, m, k, n in ((64, 64, 64, 64), (512, 17, 33, 9), (2000, 8, 8, 8), (8, 300, 300, 300), (32, 1, 128, 500), (32, 500, 128, 1), (10000, 4, 4, 4)):
    case(f"batch of {b} products {m}x{k} {k}x{n}", lambda t, x, y: x @ y, (b, m, k), (b, k, n))
case("batch of 32 products with one factor", lambda t, x, y: x @ y, (32, 50, 128), (128, 200))
case("linear 512 to 1000, bias, GELU", lambda t, x, w, b: t.nn.functional.gelu(t.nn.functional.linear(x, w, b)), (128, 512), (1000, 512), (1000,))
case("linear 333 to 77, bias, ReLU", lambda t, x, w, b: t.nn.functional.linear(x, w, b).relu(), (1000, 333), (77, 333), (77,))
case("bilinear 40, 50 to 30", lambda t, x, y, w: t.nn.functional.bilinear(x, y, w), (256, 40), (256, 50), (30, 40, 50))
case("einsum bhid,bhjd->bhij", lambda t, x, y: t.einsum("bhid,bhjd->bhij", x, y), (4, 8, 100, 40), (4, 8, 100, 40))
case("einsum bthd,bshd->bhts", lambda t, x, y: t.einsum("bthd,bshd->bhts", x, y), (4, 100, 8, 40), (4, 100, 8, 40))
case("outer product 1000 1000", lambda t, x, y: t.outer(x, y), (1000,), (1000,), grad=False)
case("matrix and vector 4000x3000", lambda t, x, y: x @ y, (4000, 3000), (3000,))
case("vector and matrix 3000x4000", lambda t, x, y: x @ y, (3000,), (3000, 4000), grad=False)
case("distances 1000 to 800 in 3", lambda t, x, y: t.cdist(x, y), (1000, 3), (800, 3), grad=False)
case("distances 1000 to 800 in 64", lambda t, x, y: t.cdist(x, y), (1000, 64), (800, 64), grad=False)
for m, k, n in ((64, 64, 64), (256, 256, 256), (1000, 333, 77), (20000, 64, 32)):
    case(f"float64 product {m}x{k} {k}x{n}", lambda t, x, y: x @ y, (m, k), (k, n), dtype="float64")
for m, k, n in ((64, 64, 64), (256, 256, 256), (1024, 1024, 1024), (2000, 100, 70), (16, 4096, 2048), (8, 512, 512)):
    case(f"bfloat16 product {m}x{k} {k}x{n}", lambda t, x, y: x @ y, (m, k), (k, n), dtype="bfloat16", grad=m == 256)
case("float16 product 256x256 256x256", lambda t, x, y: x @ y, (256, 256), (256, 256), dtype="float16")

# ---- convolutions ----


def convolution(x, w, dims=2, dtype="float32", **options):
    words = " ".join(f"{k} {v}" for k, v in options.items())
    kernel = "x".join(map(str, w[2:]))
    name = f"convolution {kernel} {x[1]} to {w[0]}, {'x'.join(map(str, x[2:]))}, batch {x[0]}{', ' + words if words else ''}"
    case(name, lambda t, x, w: getattr(t.nn.functional, f"conv{dims}d")(x, w, **options), x, w, dtype=dtype)


convolution((32, 64, 32, 32), (64, 64, 3, 3), padding=1)
convolution((8, 128, 28, 28), (128, 128, 3, 3), padding=1)
convolution((8, 256, 14, 14), (256, 256, 3, 3), padding=1)
convolution((8, 512, 7, 7), (512, 512, 3, 3), padding=1)
convolution((8, 64, 56, 56), (128, 64, 3, 3), padding=1, stride=2)
convolution((8, 256, 14, 14), (512, 256, 3, 3), padding=1, stride=2)
convolution((8, 64, 56, 56), (128, 64, 1, 1), stride=2)
convolution((8, 64, 56, 56), (256, 64, 1, 1))
convolution((8, 1024, 14, 14), (256, 1024, 1, 1))
convolution((8, 3, 224, 224), (64, 3, 7, 7), padding=3, stride=2)
convolution((8, 3, 224, 224), (768, 3, 16, 16), stride=16)
convolution((8, 3, 64, 64), (32, 3, 3, 3), padding=1)
convolution((64, 1, 28, 28), (32, 1, 3, 3))
convolution((64, 32, 26, 26), (64, 32, 3, 3))
convolution((16, 32, 32, 32), (48, 32, 5, 5), padding=2)
convolution((4, 30, 33, 35), (50, 30, 3, 3))
convolution((8, 96, 56, 56), (96, 1, 3, 3), padding=1, groups=96)
convolution((8, 96, 56, 56), (96, 1, 7, 7), padding=3, groups=96)
convolution((8, 96, 56, 56), (96, 1, 3, 3), padding=1, groups=96, stride=2)
convolution((8, 128, 28, 28), (128, 4, 3, 3), padding=1, groups=32)
convolution((8, 64, 28, 28), (64, 32, 3, 3), padding=1, groups=2)
convolution((8, 64, 32, 32), (64, 64, 3, 3), padding=2, dilation=2)
convolution((16, 64, 1000), (64, 64, 5), dims=1, padding=2)
convolution((16, 1, 16000), (32, 1, 80), dims=1, stride=4)
convolution((16, 128, 500), (128, 1, 9), dims=1, padding=4, groups=128)
convolution((2, 16, 16, 32, 32), (32, 16, 3, 3, 3), dims=3, padding=1)
convolution((2, 3, 16, 56, 56), (24, 3, 3, 7, 7), dims=3, stride=(1, 2, 2), padding=(1, 3, 3))
convolution((4, 32, 32, 32), (32, 32, 3, 3), padding=1, dtype="float64")
case("transposed convolution 4x4 64 to 32, 16x16, stride 2", lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, stride=2, padding=1), (16, 64, 16, 16), (64, 32, 4, 4))  # fmt: skip
case("transposed convolution 2x2 128 to 64, 28x28, stride 2", lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, stride=2), (4, 128, 28, 28), (128, 64, 2, 2))  # fmt: skip
case("transposed convolution 3x3 32 to 32, 32x32", lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, padding=1), (8, 32, 32, 32), (32, 32, 3, 3))
case("transposed convolution 1d 8 64 to 32, 500, stride 4", lambda t, x, w: t.nn.functional.conv_transpose1d(x, w, stride=4, padding=2), (8, 64, 500), (64, 32, 8))  # fmt: skip
case("convolution 3x3, bias, ReLU, 64 to 64, 28x28", lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, padding=1).relu(), (8, 64, 28, 28), (64, 64, 3, 3), (64,))  # fmt: skip
layer("convolution 3x3, batch norm, ReLU, 64, 28x28", lambda t: t.nn.Sequential(t.nn.Conv2d(64, 64, 3, padding=1, bias=False), t.nn.BatchNorm2d(64), t.nn.ReLU()), (8, 64, 28, 28))  # fmt: skip
case("unfold 3x3, 16 channels, 64x64", lambda t, x: t.nn.functional.unfold(x, 3, padding=1), (8, 16, 64, 64))

# ---- norms, pooling, activations ----

layer("batch norm 2d 64, 56x56, batch 8", lambda t: t.nn.BatchNorm2d(64), (8, 64, 56, 56))
layer("batch norm 2d 512, 7x7, batch 8", lambda t: t.nn.BatchNorm2d(512), (8, 512, 7, 7))
layer("batch norm 1d 256, batch 4096", lambda t: t.nn.BatchNorm1d(256), (4096, 256))
layer("group norm 8 of 64, 32x32", lambda t: t.nn.GroupNorm(8, 64), (8, 64, 32, 32))
layer("instance norm 64, 32x32", lambda t: t.nn.InstanceNorm2d(64), (8, 64, 32, 32))
for rows, width in ((512, 128), (4096, 768), (100, 4097), (100000, 16)):
    layer(f"layer norm {rows}x{width}", lambda t, w=width: t.nn.LayerNorm(w), (rows, width))
layer("RMS norm 4096x768", lambda t: t.nn.RMSNorm(768), (4096, 768))
for rows, width in ((512, 64), (4096, 777), (64, 50000), (100000, 10)):
    case(f"softmax {rows}x{width}", lambda t, x: x.softmax(-1), (rows, width))
case("softmax over axis 1 of 64x100x300", lambda t, x: x.softmax(1), (64, 100, 300))
case("log-sum-exp 4096x777", lambda t, x: x.logsumexp(-1), (4096, 777))
case("max pool 2x2, 64, 56x56", lambda t, x: t.nn.functional.max_pool2d(x, 2), (8, 64, 56, 56))
case("max pool 3x3, stride 2, 64, 112x112", lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1), (8, 64, 112, 112))
case("max pool 3x3, stride 1, 32, 28x28", lambda t, x: t.nn.functional.max_pool2d(x, 3, 1, 1), (8, 32, 28, 28))
case("average pool 3x3, stride 2, 64, 56x56", lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1), (8, 64, 56, 56))
case("average pool 2x2, 64, 56x56", lambda t, x: t.nn.functional.avg_pool2d(x, 2), (8, 64, 56, 56))
case("global average pool, 512, 7x7", lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1), (8, 512, 7, 7))
case("adaptive average pool to 3x3, 64, 56x56", lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 3), (8, 64, 56, 56))
case("interpolate nearest 2, 64, 28x28", lambda t, x: t.nn.functional.interpolate(x, scale_factor=2), (8, 64, 28, 28))
case("interpolate bilinear 2, 64, 28x28", lambda t, x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), (8, 64, 28, 28))
case("GELU 1e6", lambda t, x: t.nn.functional.gelu(x), (1000, 1000))
case("SiLU 1e6", lambda t, x: t.nn.functional.silu(x), (1000, 1000))
case("transpose of 2000x3000", lambda t, x: x.T.contiguous(), (2000, 3000), grad=False)
case("permute 8x64x56x56 to channels last", lambda t, x: x.permute(0, 2, 3, 1).contiguous(), (8, 64, 56, 56), grad=False)
case("sum over rows of 10000x300", lambda t, x: x.sum(0), (10000, 300))
case("sum over columns of 10000x300", lambda t, x: x.sum(1), (10000, 300))
case("sum over the middle of 64x500x64", lambda t, x: x.sum(1), (64, 500, 64))
case("standard deviation over columns of 10000x300", lambda t, x: x.std(1), (10000, 300))
case("largest and its place, columns of 10000x300", lambda t, x: x.max(1).values, (10000, 300))
case("argmax, columns of 4096x777", lambda t, x: x.argmax(1), (4096, 777), grad=False)
case("running sum over columns of 4096x777", lambda t, x: x.cumsum(1), (4096, 777))
case("running sum over rows of 4096x777", lambda t, x: x.cumsum(0), (4096, 777))

# ---- losses, embeddings ----

for rows, classes in ((512, 256), (4096, 10), (256, 1000), (512, 50257)):
    case(f"cross entropy {rows}x{classes}", lambda t, x, y: t.nn.functional.cross_entropy(x, y), (rows, classes), Whole(classes, rows))
case("cross entropy 8x21x64x64", lambda t, x, y: t.nn.functional.cross_entropy(x, y), (8, 21, 64, 64), Whole(21, 8, 64, 64))
case("linear and cross entropy 512x128, 20000 classes", lambda t, x, w, y: t.nn.functional.cross_entropy(x @ w.T, y), (512, 128), (20000, 128), Whole(20000, 512))  # fmt: skip
case("mean squared error 1e6", lambda t, x, y: t.nn.functional.mse_loss(x, y), (1000, 1000), (1000, 1000))
case("binary cross entropy with logits 1e6", lambda t, x, y: t.nn.functional.binary_cross_entropy_with_logits(x, y.abs().clamp(0, 1)), (1000, 1000), (1000, 1000))  # fmt: skip
case("embedding 10000x128, 512 rows", lambda t, w, i: t.nn.functional.embedding(i, w), (10000, 128), Whole(10000, 8, 64))
case("embedding 1000x64, 20000 rows", lambda t, w, i: t.nn.functional.embedding(i, w), (1000, 64), Whole(1000, 20000))
case("embedding bag 10000x64, 1000 of 20", lambda t, w, i: t.nn.functional.embedding(i, w).mean(1), (10000, 64), Whole(10000, 1000, 20))
case("index add 20000x64 into 1000", lambda t, x, i: t.zeros(1000, 64).index_add(0, i, x), (20000, 64), Whole(1000, 20000))
case("gather columns 4096x777 by 4096x10", lambda t, x, i: x.gather(1, i), (4096, 777), Whole(777, 4096, 10))

# ---- recurrent layers and attention ----


def recurrent(kind, inputs, hidden, steps, batch, **options):
    words = "".join(f", {k} {v}" for k, v in options.items())
    layer(f"{kind} {inputs} to {hidden}, {steps} steps, batch {batch}{words}", lambda t: Last(t, getattr(t.nn, kind)(inputs, hidden, **options)), (steps, batch, inputs))  # fmt: skip


def Last(t, net):  # noqa: N802
    class First(t.nn.Module):
        """The outputs of a recurrent layer alone."""

        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            return self.net(x)[0]

    return First()


for kind in ("LSTM", "GRU", "RNN"):
    recurrent(kind, 32, 32, 32, 16)
    recurrent(kind, 100, 100, 20, 10)
    recurrent(kind, 128, 256, 50, 32)
recurrent("LSTM", 512, 512, 16, 8)
recurrent("LSTM", 64, 64, 32, 16, bidirectional=True)
recurrent("GRU", 64, 64, 32, 16, num_layers=2)


def attention(batch, heads, tokens, width, keys=None, **options):
    keys = keys or tokens
    words = "".join(f", {k}" for k in options)
    shapes = (batch, heads, tokens, width), (batch, heads, keys, width), (batch, heads, keys, width)
    case(f"attention {batch}x{heads} heads of {width}, {tokens} to {keys} tokens{words}", lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v, **options), *shapes)  # fmt: skip


attention(8, 4, 64, 32, is_causal=True)
attention(8, 12, 197, 64)
attention(4, 8, 100, 40)
attention(2, 8, 300, 48, is_causal=True)
attention(2, 4, 1000, 33)
attention(1, 8, 1, 64, keys=1000)
attention(64, 4, 16, 16)
attention(1, 16, 2048, 128, is_causal=True)
case("attention 4x8 heads of 64, 200 tokens, mask added", lambda t, q, k, v, m: t.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=m), *[(4, 8, 200, 64)] * 3, (4, 1, 200, 200))  # fmt: skip
case("attention 4x8 heads of 64, 200 tokens, mask of truths", lambda t, q, k, v, m: t.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=m < 80), *[(4, 8, 200, 64)] * 3, Whole(100, 4, 1, 200, 200))  # fmt: skip
layer(
    "transformer layer 128, 4 heads, 64 tokens, batch 8",
    lambda t: t.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True),
    (8, 64, 128),
)
layer("transformer layer 256, 8 heads, 200 tokens, batch 4", lambda t: t.nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True), (4, 200, 256))  # fmt: skip


# ---- running ----


def numbers(spec, dtype, rng):
    import numpy as np

    if isinstance(spec, Whole):
        return rng.integers(0, spec.high, spec.shape)
    a = rng.standard_normal(spec, dtype=np.float32)
    return a.astype(np.float64) if dtype == "float64" else a


def program(torch, f, operands, kind, out):
    """A function of the operands: the result of f, or with it the gradients of its product with `out`."""
    if not kind:
        return f

    def run(*args):
        floats = [a for a in args if a.is_floating_point()]
        # copies of the operands that ask for gradients, by the same memory
        with_grad = iter([a.detach().requires_grad_() for a in floats])
        own = [next(with_grad) if a.is_floating_point() else a for a in args]
        weights = list(f.parameters()) if kind == "parameters" else []
        targets = [a for a in own if a.is_floating_point()] + weights
        y = f(*own)
        return (y, *torch.autograd.grad(y, targets, out if y.ndim else None, allow_unused=True))

    return run


def sides(make, operands, dtype, kind):
    import numpy as np
    import polygrad.torch as poly
    import torch
    from polygrad import Tensor, TinyJit

    rng = np.random.default_rng(0)
    arrays = [numbers(s, dtype, rng) for s in operands]
    xs, zs = [poly.from_numpy(a) for a in arrays], [torch.from_numpy(a) for a in arrays]
    if dtype in ("bfloat16", "float16"):
        xs, zs = [x.to(getattr(poly, dtype)) for x in xs], [z.to(getattr(torch, dtype)) for z in zs]
    Tensor.realize(*xs)
    if kind is None or kind == "parameters":
        f, g = make(poly), make(torch)
        f.load_state_dict({k: poly.from_numpy(v.numpy().copy()) for k, v in g.state_dict().items()})
    else:
        f, g = (lambda *a: make(poly, *a)), (lambda *a: make(torch, *a))
    out = g(*zs).detach()
    like = torch.from_numpy(rng.standard_normal(tuple(out.shape), dtype=np.float32)).to(out.dtype)
    own_like = poly.from_numpy(like.float().numpy()).to(xs[0].dtype).realize() if out.ndim and kind else None
    ours, theirs = program(poly, f, xs, kind, own_like), program(torch, g, zs, kind, like)

    def compiled(*args):
        y = ours(*args)
        y = [v for v in (y if isinstance(y, tuple) else (y,)) if v is not None]
        Tensor.realize(*y)
        return tuple(y)

    jit = TinyJit(compiled)
    return lambda: jit(*xs), lambda: theirs(*zs)


def compare(ours, theirs, dtype):
    """The largest difference, in parts of the largest value."""
    theirs = [v for v in (theirs if isinstance(theirs, tuple) else (theirs,)) if v is not None]
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        a, b = a.float().numpy() if dtype != "float64" else a.numpy(), (b.detach().float() if dtype != "float64" else b.detach()).numpy()
        if a.shape != b.shape:
            return float("inf")
        if a.size:
            worst = max(worst, float(abs(a - b).max()) / max(float(abs(b).max()), 1e-30))
    return worst


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("-k", action="append", default=[])
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--seconds", type=float, default=0.3)
    ap.add_argument("--below", type=float, default=float("inf"))
    ap.add_argument("--json")
    args = ap.parse_args()
    os.environ["POLY_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(args.threads)
    os.environ.setdefault("POLY_EXACT", "1")
    os.environ.setdefault("POLY_TIER", "1")
    import torch

    torch.set_num_threads(args.threads)
    rows = []
    for name, make, operands, dtype, kind in CASES:
        if args.k and not any(k in name for k in args.k):
            continue
        try:
            ours, theirs = sides(make, operands, dtype, kind)
            wrong = compare(ours(), theirs(), dtype)
            seconds = least({"ours": ours, "torch": theirs}, args.seconds, time.process_time)
        except Exception as error:  # noqa: BLE001
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            continue
        note = f"  DIFFERS by {wrong:.1e}" if not wrong <= TOLERANCE[dtype] else ""
        ratio = seconds["torch"] / seconds["ours"]
        rows.append({"name": name, "ours_s": seconds["ours"], "torch_s": seconds["torch"], "ratio": ratio, "note": note})
        if ratio < args.below or note:
            print(f"{ratio:6.2f}  {seconds['ours'] * 1e3:9.3f} ms  torch {seconds['torch'] * 1e3:9.3f} ms  {name}{note}", flush=True)
    rows.sort(key=lambda r: -r["ratio"])
    print(f"\n{len(rows)} cases; below 1, by ratio:")
    for r in rows:
        if r["ratio"] < 1:
            print(f"{r['ratio']:6.2f}  {r['ours_s'] * 1e3:9.3f} ms  torch {r['torch_s'] * 1e3:9.3f} ms  {r['name']}{r['note']}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"threads": args.threads, "torch": torch.__version__, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
