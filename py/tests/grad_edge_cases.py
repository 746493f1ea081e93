"""The table of test_grad_edges.py: functions whose gradients are compared at the edge of what floats can tell.

Each case is a name, an expression of the tensors x (and y) with this package's methods, and the same in PyTorch's where it is written in another way.
Expressions are text, so that the tool that stores PyTorch's results (tools/grad_edges.py) and the test read one table. Kinds:

- point: x is a vector of the points, y = f(x) elementwise; the gradient of sum(f), and that of the sum of the gradient.
- pair: the same for x and y, all pairs of points.
- share: the same for probabilities x and targets y.
- row: x is [rows, 3]; f maps rows. Results are weighted before they are summed, or sums of a softmax would hide every error.
- rows: the same for x and y, [rows, 3] each.
"""

from __future__ import annotations

import itertools

import numpy as np

inf, nan = float("inf"), float("nan")

POINTS = [
    0.0,
    1e-30,
    -1e-30,
    1e-4,
    -1e-4,
    0.5,
    -0.5,
    1.0,
    -1.0,
    3.0,
    -3.0,
    6.0,
    17.0,
    -17.0,
    18.0,
    20.0,
    -20.0,
    25.0,
    50.0,
    -50.0,
    100.0,
    -100.0,
    1e30,
    -1e30,
    inf,
    -inf,
    nan,
]
PAIR_POINTS = [0.0, 1e-30, -1e-30, 0.5, 1.0, -1.0, 2.0, 17.0, -20.0, 100.0, -100.0, inf, -inf, nan]
SHARES = [0.0, 1e-40, 1e-30, 1e-12, 1e-7, 0.25, 0.5, 1 - 1e-6, 1 - 2.0**-24, 1.0]
SHARE_TARGETS = [0.0, 0.3, 1.0]
ROWS = [
    [0, 0, 0], [1, 1, 1], [1e-30, -1e-30, 1e-30], [1e-30, 0, 0], [1, 2, 3], [-1, 0.5, 2], [0, 0, 2], [0, 3, 2], [17, 0, -17], [20, 20, -20], [100, -100, 0],
    [100, 100, 100], [-100, -100, -100], [17, 17.5, 18], [1e10, 0, 1], [-inf, 0, 1], [-inf, -inf, 2], [-inf, -inf, -inf], [inf, 0, 1], [inf, inf, 1],
    [inf, -inf, 0], [nan, 0, 1], [1e30, 1e30, 1e30], [1e30, -1e30, 0], [-1e30, 2e30, -1e30], [1e-30, 2e-30, 3e-30], [0, nan, 1], [2, nan, nan],
]  # fmt: skip
OTHER_ROWS = [
    [1, 2, 3], [1, 1, 1], [1e-30, 1e-30, 1e-30], [0, 0, 0], [1, 2, 3], [0.5, 0.25, 0.25], [0, 0, 2], [1, 0, 0], [0, 1, 0], [20, 20, -20], [0, 0, 1],
    [1, 0, 0], [-100, 100, 0], [17, 17.5, 18], [0, 1, 0], [0, 1, 0], [1, 1, 2], [0.5, 0.5, 0], [1, 0, 0], [1, 2, 3], [0, 0, 0], [1, 2, 3], [1e30, 1e30, 1e30],
    [0, 1, 0], [1, 1, 1], [1e-30, 2e-30, 3e-30], [1, 0, 0], [0, 1, 0],
]  # fmt: skip
WEIGHT, WEIGHT2 = [1.0, -0.5, 2.0], [0.75, 1.0, -1.5]

SAME = None  # PyTorch's method has the same name

POINT = {
    "neg": ("-x", SAME),
    "abs": ("x.abs()", SAME),
    "sign": ("x.sign()", SAME),
    "square": ("x.square()", SAME),
    "sqrt": ("x.sqrt()", SAME),
    "rsqrt": ("x.rsqrt()", SAME),
    "reciprocal": ("x.reciprocal()", SAME),
    "one over x": ("1 / x", SAME),
    "exp": ("x.exp()", SAME),
    "exp2": ("x.exp2()", SAME),
    "expm1": ("x.expm1()", SAME),
    "log": ("x.log()", SAME),
    "log2": ("x.log2()", SAME),
    "log10": ("x.log10()", SAME),
    "log1p": ("x.log1p()", SAME),
    "sin": ("x.sin()", SAME),
    "cos": ("x.cos()", SAME),
    "tan": ("x.tan()", SAME),
    "asin": ("x.asin()", SAME),
    "acos": ("x.acos()", SAME),
    "atan": ("x.atan()", SAME),
    "sinh": ("x.sinh()", SAME),
    "cosh": ("x.cosh()", SAME),
    "tanh": ("x.tanh()", SAME),
    "asinh": ("x.asinh()", SAME),
    "acosh": ("x.acosh()", SAME),
    "atanh": ("x.atanh()", SAME),
    "erf": ("x.erf()", SAME),
    "floor": ("x.floor()", SAME),
    "ceil": ("x.ceil()", SAME),
    "round": ("x.round()", SAME),
    "trunc": ("x.trunc()", SAME),
    "relu": ("x.relu()", SAME),
    "relu6": ("x.relu6()", "F.relu6(x)"),
    "leaky_relu": ("x.leaky_relu(0.25)", "F.leaky_relu(x, 0.25)"),
    "sigmoid": ("x.sigmoid()", SAME),
    "logsigmoid": ("x.logsigmoid()", "F.logsigmoid(x)"),
    "hardsigmoid": ("x.hardsigmoid()", "F.hardsigmoid(x)"),
    "hardswish": ("x.hardswish()", "F.hardswish(x)"),
    "hardtanh": ("x.hardtanh()", "F.hardtanh(x)"),
    "gelu tanh": ("x.gelu()", "F.gelu(x, approximate='tanh')"),
    "gelu erf": ("x.gelu('none')", "F.gelu(x)"),
    "quick_gelu": ("x.quick_gelu()", "x * (1.702 * x).sigmoid()"),
    "silu": ("x.silu()", "F.silu(x)"),
    "mish": ("x.mish()", "F.mish(x)"),
    "elu": ("x.elu()", "F.elu(x)"),
    "elu 0.5": ("x.elu(0.5)", "F.elu(x, 0.5)"),
    "celu": ("x.celu(0.5)", "F.celu(x, 0.5)"),
    "selu": ("x.elu(1.6732632423543772) * 1.0507009873554805", "F.selu(x)"),
    "softsign": ("x.softsign()", "F.softsign(x)"),
    "softplus": ("x.softplus()", "F.softplus(x)"),
    "softplus beta": ("x.softplus(3.0)", "F.softplus(x, 3.0)"),
    "clamp": ("x.clamp(-1, 1)", SAME),
    "clamp above": ("x.clamp(0.5)", SAME),
    "clamp equal": ("x.clamp(1, 1)", SAME),
    "pow 0": ("x ** 0", SAME),
    "pow 0.0": ("x ** 0.0", SAME),
    "pow 1": ("x ** 1", SAME),
    "pow 2": ("x ** 2", SAME),
    "pow 3": ("x ** 3", SAME),
    "pow 4": ("x ** 4", SAME),
    "pow -1": ("x ** -1", SAME),
    "pow -2": ("x ** -2", SAME),
    "pow 0.5": ("x ** 0.5", SAME),
    "pow -0.5": ("x ** -0.5", SAME),
    "pow 1.5": ("x ** 1.5", SAME),
    "pow 2.5": ("x ** 2.5", SAME),
    "2 pow": ("2 ** x", SAME),
    "0.5 pow": ("0.5 ** x", SAME),
    "0 pow": ("0.0 ** x", SAME),
    "1 pow": ("1.0 ** x", SAME),
    "minus 2 pow": ("(-2.0) ** x", SAME),
    "maximum with itself": ("x.maximum(x)", SAME),
    "x minus x": ("x - x", SAME),
    "x over x": ("x / x", SAME),
    "x times x": ("x * x", SAME),
    # what losses of embeddings are made of: a saturated sigmoid must give 0, not 1e15 times its true slope
    "negative edges": ("-(1 - x.sigmoid() + 1e-15).log()", SAME),
    "positive edges": ("-(x.sigmoid() + 1e-15).log()", SAME),
    "saturated tanh": ("(1 - x.tanh() + 1e-15).log()", SAME),
    "log of 1 - sigmoid": ("(1 - x.sigmoid()).log()", SAME),
    "log of sigmoid": ("x.sigmoid().log()", SAME),
    "1 / (1 - sigmoid + eps)": ("1 / (1 - x.sigmoid() + 1e-15)", SAME),
    "atanh of tanh": ("(x.tanh() * 0.999).atanh()", SAME),
    "root of 1 - tanh^2": ("(1 - x.tanh().square() + 1e-15).sqrt()", SAME),
    "entropy of sigmoid": ("-(x.sigmoid() * (x.sigmoid() + 1e-15).log())", SAME),
    "1 - erf": ("(1 - x.erf() + 1e-15).log()", SAME),
    "log exp": ("x.exp().log()", SAME),
    "log1p exp": ("x.exp().log1p()", SAME),
    "sigmoid by hand": ("1 / (1 + (-x).exp())", SAME),
    "silu by hand": ("x * x.sigmoid()", SAME),
    "root of square": ("(x * x).sqrt()", SAME),
    "root of square and eps": ("(x * x + 1e-12).sqrt()", SAME),
    "abs of abs": ("x.abs().abs()", SAME),
    "where nan": ("(x > 0).where(x.log(), x)", "torch.where(x > 0, x.log(), x)"),
    "where inf": ("(x != 0).where(1 / x, 0.0)", "torch.where(x != 0, 1 / x, 0.0)"),
    "masked_fill": ("x.masked_fill(x < 0, 0.0).sqrt()", SAME),
    "steps": ("x.floor() + x.ceil() + x.round() + x.trunc() + x.sign()", SAME),
    "comparison": ("x * (x > 0).float()", "x * (x > 0).to(x.dtype)"),
    "fmod": ("x.fmod(3.0)", SAME),
    "remainder": ("x % 3.0", SAME),
    "lerp": ("x.lerp(x * x, 0.25)", "torch.lerp(x, x * x, 0.25)"),
    "lerp 0.75": ("x.lerp(x * x, 0.75)", "torch.lerp(x, x * x, 0.75)"),
    "softshrink": ("F.softshrink(x)", SAME),
    "hardshrink": ("F.hardshrink(x)", SAME),
    "tanhshrink": ("F.tanhshrink(x)", SAME),
    "threshold": ("F.threshold(x, 0.5, 2.0)", SAME),
    "softplus, threshold": ("F.softplus(x, 2.0, 5.0)", SAME),
    "angle to itself": ("x.atan2(x)", SAME),
    "angle to 0": ("x.atan2(x * 0 + 2)", SAME),
    "log of abs": ("x.abs().log()", SAME),
    "root of abs": ("x.abs().sqrt()", SAME),
    "power of abs": ("x.abs() ** 0.3", SAME),
    "soft margin": ("(-x).softplus()", "F.soft_margin_loss(x, torch.ones_like(x), reduction='none')"),
    "smooth l1": ("F.smooth_l1_loss(x, Tensor.zeros_like(x), reduction='none')", "F.smooth_l1_loss(x, torch.zeros_like(x), reduction='none')"),
    "huber 3": ("F.huber_loss(x, Tensor.zeros_like(x), 'none', 3.0)", "F.huber_loss(x, torch.zeros_like(x), 'none', 3.0)"),
    "poisson": ("F.poisson_nll_loss(x, Tensor.ones_like(x), reduction='none')", "F.poisson_nll_loss(x, torch.ones_like(x), reduction='none')"),
    # a function that is 0 at 0 with a slope there, under a root whose slope is infinite
    "root of silu": ("x.silu().sqrt()", "F.silu(x).sqrt()"),
    "root of gelu": ("x.gelu('none').sqrt()", "F.gelu(x).sqrt()"),
    "root of gelu tanh": ("x.gelu().sqrt()", "F.gelu(x, approximate='tanh').sqrt()"),
    "root of mish": ("x.mish().sqrt()", "F.mish(x).sqrt()"),
    "root of hardswish": ("x.hardswish().sqrt()", "F.hardswish(x).sqrt()"),
    "root of tanh": ("x.tanh().sqrt()", SAME),
    "root of relu": ("x.relu().sqrt()", SAME),
    "root of elu": ("x.elu().sqrt()", "F.elu(x).sqrt()"),
    "root of softsign": ("x.softsign().sqrt()", "F.softsign(x).sqrt()"),
    "root of expm1": ("x.expm1().sqrt()", SAME),
    "root of log1p": ("x.log1p().sqrt()", SAME),
    "root of asinh": ("x.asinh().sqrt()", SAME),
    "root of sinh": ("x.sinh().sqrt()", SAME),
    "root of atan": ("x.atan().sqrt()", SAME),
    "root of erf": ("x.erf().sqrt()", SAME),
    "root of softshrink": ("F.softshrink(x).sqrt()", SAME),
    "root of hardshrink": ("F.hardshrink(x).sqrt()", SAME),
    "root of threshold": ("F.threshold(x, 0.5, 0.0).sqrt()", SAME),
    "root of leaky relu": ("x.leaky_relu(0.25).sqrt()", "F.leaky_relu(x, 0.25).sqrt()"),
    "root of sigmoid": ("x.sigmoid().sqrt()", SAME),
    "root of softplus": ("x.softplus().sqrt()", "F.softplus(x).sqrt()"),
    "log of silu": ("x.silu().log()", "F.silu(x).log()"),
    "over silu": ("1 / x.silu()", "1 / F.silu(x)"),
    "copysign 1": ("x.copysign(-1.0)", "x.copysign(torch.tensor(-1.0))"),
    "bce of sigmoid": ("F.binary_cross_entropy_with_logits(x, Tensor.ones_like(x), reduction='none')", "F.binary_cross_entropy_with_logits(x, torch.ones_like(x), reduction='none')"),
}  # fmt: skip

PAIR = {
    "add": ("x + y", SAME),
    "sub": ("x - y", SAME),
    "mul": ("x * y", SAME),
    "div": ("x / y", SAME),
    "maximum": ("x.maximum(y)", SAME),
    "minimum": ("x.minimum(y)", SAME),
    "pow": ("x.pow(y)", SAME),
    "logaddexp": ("x.logaddexp(y)", SAME),
    "fmod": ("x.fmod(y)", SAME),
    "remainder": ("x % y", SAME),
    "where": ("(x < y).where(x, y)", "torch.where(x < y, x, y)"),
    "copysign": ("x.copysign(y)", SAME),
    "clamp between": ("x.clamp(y, y + 1)", SAME),
    "hypot": ("(x * x + y * y).sqrt()", SAME),
    "bce with logits": ("x.binary_crossentropy_logits(y, 'none')", "F.binary_cross_entropy_with_logits(x, y, reduction='none')"),
    "mse": ("x.mse_loss(y, 'none')", "F.mse_loss(x, y, reduction='none')"),
    "l1": ("x.l1_loss(y, 'none')", "F.l1_loss(x, y, reduction='none')"),
    "huber": ("x.huber_loss(y, 1.0, 'none')", "F.huber_loss(x, y, delta=1.0, reduction='none')"),
    "huber 0.5": ("x.huber_loss(y, 0.5, 'none')", "F.huber_loss(x, y, delta=0.5, reduction='none')"),
    "atan2": ("x.atan2(y)", SAME),
    "hypot of two": ("x.hypot(y)", SAME),
    "power of a distance": ("(x - y).abs() ** 1.5", SAME),
    "smooth l1": ("F.smooth_l1_loss(x, y, reduction='none')", SAME),
    "kl of logarithms": ("F.kl_div(x, y, reduction='none', log_target=True)", SAME),
    "margin": ("F.margin_ranking_loss(x, y, Tensor.ones_like(x), 0.3, reduction='none')", "F.margin_ranking_loss(x, y, torch.ones_like(x), 0.3, reduction='none')"),
}  # fmt: skip

SHARE = {
    "bce": ("x.binary_crossentropy(y, 'none')", "F.binary_cross_entropy(x, y, reduction='none')"),
    "xlogy": ("y * (x + 1e-15).log()", SAME),
    "logit": ("y * (x / (1 - x)).log()", SAME),
}

ROW = {
    "sum": ("x.sum(1)", SAME),
    "mean": ("x.mean(1)", SAME),
    "max": ("x.max(1)", "x.amax(1)"),
    "min": ("x.min(1)", "x.amin(1)"),
    "prod": ("x.prod(1)", SAME),
    "var": ("x.var(1)", SAME),
    "var 0": ("x.var(1, correction=0)", SAME),
    "std": ("x.std(1)", SAME),
    "std 0": ("x.std(1, correction=0)", SAME),
    "softmax": ("x.softmax(1)", SAME),
    "softmin": ("x.softmin(1)", "F.softmin(x, 1)"),
    "log_softmax": ("x.log_softmax(1)", SAME),
    "log of softmax": ("(x.softmax(1) + 1e-15).log()", SAME),
    "log of 1 - softmax": ("(1 - x.softmax(1) + 1e-15).log()", SAME),
    "logsumexp": ("x.logsumexp(1)", SAME),
    "entropy": ("-(x.softmax(1) * x.log_softmax(1)).sum(1)", SAME),
    "cross entropy": ("x.cross_entropy(Tensor([0, 1, 2] * 12)[:x.shape[0]], 'none')", "F.cross_entropy(x, torch.tensor([0, 1, 2] * 12)[:len(x)], reduction='none')"),
    "cross entropy, smooth": ("x.cross_entropy(Tensor([0, 1, 2] * 12)[:x.shape[0]], 'none', 0.1)", "F.cross_entropy(x, torch.tensor([0, 1, 2] * 12)[:len(x)], reduction='none', label_smoothing=0.1)"),
    "nll": ("x.log_softmax(1).nll_loss(Tensor([0, 1, 2] * 12)[:x.shape[0]], reduction='none')", "F.nll_loss(x.log_softmax(1), torch.tensor([0, 1, 2] * 12)[:len(x)], reduction='none')"),
    "normalize": ("x.normalize()", "F.normalize(x)"),
    "normalize 1": ("x.normalize(1.0)", "F.normalize(x, 1.0)"),
    "normalize 3": ("x.normalize(3.0)", "F.normalize(x, 3.0)"),
    "root of sum": ("x.square().sum(1).sqrt()", SAME),
    "norm": ("norm(x, dim=1)", "x.norm(dim=1)"),
    "layer norm": ("x.layernorm()", "F.layer_norm(x, (3,))"),
    "rms norm": ("x.rmsnorm(1e-6)", "F.rms_norm(x, (3,), eps=1e-6)"),
    "cumsum": ("x.cumsum(1)", SAME),
    "cumprod": ("x.cumprod(1)", SAME),
    "cummax": ("x.cummax(1)[0]", SAME),
    "cummin": ("x.cummin(1)[0]", SAME),
    "logcumsumexp": ("x.logcumsumexp(1)", SAME),
    "sort": ("x.sort(1)[0]", SAME),
    "attention weights": ("(x.unsqueeze(2) * x.unsqueeze(1)).softmax(2).sum(1)", SAME),
    "masked softmax": ("x.masked_fill(Tensor([True, False, True]), float('-inf')).softmax(1)", "x.masked_fill(torch.tensor([True, False, True]), float('-inf')).softmax(1)"),
    "centre": ("x - x.mean(1, keepdim=True)", SAME),
    "over the largest": ("x / x.max(1, keepdim=True)", "x / x.amax(1, keepdim=True)"),
    "over the sum": ("x / x.sum(1, keepdim=True)", SAME),
    "norm 0.5": ("norm(x, 0.5, 1)", "x.norm(0.5, 1)"),
    "norm 1": ("norm(x, 1.0, 1)", "x.norm(1, 1)"),
    "norm 1.5": ("norm(x, 1.5, 1)", "x.norm(1.5, 1)"),
    "norm 3": ("norm(x, 3.0, 1)", "x.norm(3, 1)"),
    "norm inf": ("norm(x, float('inf'), 1)", "x.norm(float('inf'), 1)"),
    "norm -inf": ("norm(x, float('-inf'), 1)", "x.norm(float('-inf'), 1)"),
    "root of norm": ("norm(x, dim=1).sqrt()", "x.norm(dim=1).sqrt()"),
    "root of norm 3": ("norm(x, 3.0, 1).sqrt()", "x.norm(3, 1).sqrt()"),
    "root of std": ("x.std(1).sqrt()", SAME),
    "normalize 0.5": ("x.normalize(0.5)", "F.normalize(x, 0.5)"),
    "normalize inf": ("x.normalize(float('inf'))", "F.normalize(x, float('inf'))"),
    "distances": ("norm(x.unsqueeze(2) - x.unsqueeze(1), 2.0, 2)", "(x.unsqueeze(2) - x.unsqueeze(1)).norm(dim=2)"),
    "distances of points": ("F.cdist(x.unsqueeze(2), x.unsqueeze(2)).sum(2)", "torch.cdist(x.unsqueeze(2), x.unsqueeze(2)).sum(2)"),
    "standard score": ("(x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-6)", SAME),
    "softmax of squares": ("(x * x).softmax(1)", SAME),
    "largest of a softmax": ("x.softmax(1).square().sum(1)", SAME),
    "glu": ("F.glu(x.cat(x, dim=1), 1)", "F.glu(torch.cat([x, x], 1), 1)"),
    "max with places": ("x.max(dim=1)[0]", "x.max(1)[0]"),
    "min with places": ("x.min(dim=1)[0]", "x.min(1)[0]"),
    "max of a softmax": ("(x * 2).softmax(1).max(dim=1)[0]", "(x * 2).softmax(1).max(1)[0]"),
    "max pool": ("F.max_pool1d(x.unsqueeze(1), 2, 1).squeeze(1).sum(1)", SAME),
    "adaptive max pool": ("F.adaptive_max_pool1d(x.unsqueeze(1), 2).squeeze(1).sum(1)", SAME),
    "adaptive mean pool": ("F.adaptive_avg_pool1d(x.unsqueeze(1), 2).squeeze(1)[:, 1]", SAME),
    "multi label": ("F.multilabel_soft_margin_loss(x, Tensor.ones_like(x), reduction='none')", "F.multilabel_soft_margin_loss(x, torch.ones_like(x), reduction='none')"),
}  # fmt: skip

ROWS2 = {
    "dot": ("(x * y).sum(1)", SAME),
    "cosine similarity": ("F.cosine_similarity(x, y)", SAME),
    "distance": ("norm(x - y, dim=1)", "(x - y).norm(dim=1)"),
    "soft cross entropy": ("x.cross_entropy(y, 'none')", "F.cross_entropy(x, y, reduction='none')"),
    "kl": ("(y.softmax(1) * (y.log_softmax(1) - x.log_softmax(1))).sum(1)", SAME),
    "pairwise distance": ("F.pairwise_distance(x, y)", SAME),
    "distance of points": ("F.cdist(x.unsqueeze(1), y.unsqueeze(1)).reshape(-1)", "torch.cdist(x.unsqueeze(1), y.unsqueeze(1)).reshape(-1)"),
    "kl_div": ("F.kl_div(x.log_softmax(1), y.softmax(1), reduction='none')", SAME),
    "triplet": ("F.triplet_margin_loss(x, y, x * 0, reduction='none')", SAME),
    "cosine embedding": ("F.cosine_embedding_loss(x, y, Tensor.ones(x.shape[0], dtype=x.dtype), reduction='none')", "F.cosine_embedding_loss(x, y, torch.ones(len(x), dtype=x.dtype), reduction='none')"),
    "cosine embedding, apart": ("F.cosine_embedding_loss(x, y, -Tensor.ones(x.shape[0], dtype=x.dtype), reduction='none')", "F.cosine_embedding_loss(x, y, -torch.ones(len(x), dtype=x.dtype), reduction='none')"),
    "bilinear attention": ("((x.unsqueeze(2) * y.unsqueeze(1)).softmax(2) * y.unsqueeze(1)).sum(2)", SAME),
}  # fmt: skip

# Functions of functions, which both packages write in the same way.
COMPOSED = {
    "point": [
        "F.rrelu(x, 0.25, 0.25)", "F.gaussian_nll_loss(x, x * 0, x * 0 + 1, reduction='none')",
        "F.poisson_nll_loss(x, x * 0 + 2, log_input=False, reduction='none')", "F.poisson_nll_loss(x, x * 0 + 2, full=True, reduction='none')",
        "F.smooth_l1_loss(x, x * 0, beta=0.0, reduction='none')", "F.relu(x).log()", "F.relu6(x).sqrt()", "F.elu(x, 2.0)", "F.celu(x, 2.0)",
        "F.leaky_relu(x, 0.0)", "F.leaky_relu(x, -0.5)", "F.softplus(x, 0.5, 2.0)", "F.softshrink(x, 0.0)", "F.hardshrink(x, 0.0)",
        "F.hardtanh(x, -1.0, 0.0)", "F.hardtanh(x, 0.0, 6.0)", "F.threshold(x, 0.0, 0.0)", "F.threshold(x, 0.0, float('nan'))", "x.acosh().sqrt()",
        "F.gelu(x).log()", "F.gelu(x, approximate='tanh').log()", "F.mish(x).log()", "F.hardswish(x).log()", "x.tanh().log()", "x.sigmoid().log().sqrt()",
        "x.expm1().log()", "x.log1p().log()", "x.asinh().log()", "x.atan().log()", "x.erf().log()", "x.sin().log()", "x.sin().sqrt()", "x.tan().sqrt()",
        "x.sinh().log()", "x.asin().sqrt()", "x.atanh().sqrt()", "x.acos().sqrt()", "x.exp().sqrt()", "x.exp().reciprocal()", "x.square().log()",
        "x.square().rsqrt()", "x.abs().rsqrt()", "x.abs().pow(-0.5)", "x.log().square()", "x.log().abs()", "x.sqrt().square()",
        "x.sqrt().log()", "x.rsqrt().log()", "x.reciprocal().log()", "x.reciprocal().sqrt()", "x.reciprocal().exp()", "x.reciprocal().tanh()",
        "x.reciprocal().sigmoid()", "(-x.square()).exp()", "(-x.abs()).exp()", "(-x.abs()).exp().log1p()", "F.softplus(x).log()",
        "F.softplus(x).reciprocal()", "F.logsigmoid(x).exp()", "F.logsigmoid(x).sqrt()", "F.silu(x).reciprocal()", "F.gelu(x).reciprocal()",
        "x.sigmoid().reciprocal()", "x.tanh().reciprocal()", "x.abs().tanh()", "x.tanh().abs()", "x.relu().tanh().sqrt()", "x.sign() * x.abs().sqrt()",
        "x.clamp(0, 1).log()", "x.clamp(-1, 1).acos()", "x.clamp(-1, 1).asin()", "x.clamp(-1, 1).atanh()", "x.pow(0.0)", "x.pow(1.0)", "x.pow(2.0)",
        "x.pow(-3)", "x.pow(1/3)", "x.pow(5)", "x ** 6", "3.0 ** x", "1e-30 ** x", "(x * x) ** 0.5", "(x * x) ** 0.25", "(x * x) ** -1", "x.abs() ** 0",
        "x.abs() ** 1", "x.abs() ** 2", "x.abs() ** 3", "x.abs() ** -1", "x.abs() ** x", "x ** x", "x.sigmoid() ** 2",
        "(1 - x.sigmoid()) ** 2 * x.sigmoid().log()", "(1 - x.sigmoid()) ** 0.5", "x.tanh() ** 2", "x.tanh() ** 0.5", "x.cumsum(0)[:0].sum() + x", "x * 0",
        "0 * x + 1", "x * float('inf')", "x / 0", "x / float('inf')", "x + float('inf')", "1 - x", "x.exp() - 1", "(x.exp() - 1).log()",
        "1 / (1 + x.exp())", "x / (1 + x.abs())", "x / (1 + x * x)", "x / (1 + x * x).sqrt()", "(1 + x * x).log()",
        "(x * x + 1).sqrt() - 1", "x * x.tanh()", "x * x.exp()", "x * (-x).exp()", "x * x.log()", "x.sin() / x",
        "x.tanh() / x",
    ],
    "pair": [
        "F.gaussian_nll_loss(x, y, x * 0 + 1, reduction='none')", "F.smooth_l1_loss(x, y, beta=0.5, reduction='none')",
        "F.poisson_nll_loss(x, y, reduction='none')", "F.poisson_nll_loss(x, y, log_input=False, reduction='none')", "x * y.exp()",
        "x * y.log()", "(x / y).tanh()", "(x / y).sigmoid()", "(x * y).sqrt()", "(x - y).square()", "(x - y).abs().sqrt()", "((x - y) ** 2).sqrt()",
        "((x - y) ** 2 + 1e-12).sqrt()", "x.sigmoid() * y.tanh()", "x.relu() * y", "x.relu() / y.relu()", "x.exp().pow(y)",
    ],
    "share": [
        "F.kl_div((x + 1e-15).log(), y, reduction='none')", "(1 - x) ** 2 * (x + 1e-12).log() * y", "x.asin() * y", "x.acos() * y", "x.atanh() * y",
        "(x * (1 - x)).sqrt() * y",
    ],
    "row": [
        "F.normalize(x, 4.0)", "F.normalize(x, eps=1e-3)", "F.rms_norm(x, (3,))", "F.group_norm(x.reshape(-1, 3, 1), 1).reshape(-1, 3)",
        "F.local_response_norm(x.reshape(-1, 3, 1), 2).reshape(-1, 3)", "F.softmax(x, 1).sqrt()", "F.log_softmax(x, 1).exp()",
        "F.softmax(-x, 1)", "x.softmax(1).prod(1)", "x.sigmoid().prod(1)", "x.exp().sum(1).log()", "x.exp().mean(1).log()",
        "(x.softmax(1) ** 2).sum(1).sqrt()", "x.softmax(1).cumsum(1)", "F.gumbel_softmax(x * 0, hard=True).sum(1) * 0 + x.sum(1)",
        "F.scaled_dot_product_attention(x.unsqueeze(1), x.unsqueeze(1), x.unsqueeze(1)).squeeze(1)", "x.sort(1, descending=True)[0]",
        "x.argsort(1).to(x.dtype) * x", "F.interpolate(x.unsqueeze(1), scale_factor=2, mode='linear').squeeze(1)[:, :3]",
        "x.masked_fill(x.isnan(), 0).sum(1)", "x.prod(1).sqrt()", "x.sum(1).abs().sqrt()", "x.mean(1).sqrt()", "x / x.abs().sum(1, keepdim=True)",
        "x / x.std(1, keepdim=True)", "x.exp() / x.exp().sum(1, keepdim=True)",
    ],
    "rows": [
        "F.pairwise_distance(x, y, 1.0)", "F.pairwise_distance(x, y, 3.0)", "F.pairwise_distance(x, y, eps=0.0)", "(x * y).softmax(1)",
        "(x - y).square().sum(1).sqrt()", "(x - y).square().mean(1).sqrt()", "x.maximum(y).sum(1)",
        "F.cross_entropy(x, y.softmax(1), label_smoothing=0.2, reduction='none')", "F.multilabel_soft_margin_loss(x, y, reduction='none')",
    ],
}  # fmt: skip

KINDS = {"point": POINT, "pair": PAIR, "share": SHARE, "row": ROW, "rows": ROWS2}
for _kind, _texts in COMPOSED.items():
    KINDS[_kind] |= {text: (text, SAME) for text in _texts}


def inputs(kind: str) -> list[np.ndarray]:
    """The values of x, or of x and y."""
    if kind == "point":
        return [np.float32(POINTS)]
    if kind in ("pair", "share"):
        a, b = (PAIR_POINTS, PAIR_POINTS) if kind == "pair" else (SHARES, SHARE_TARGETS)
        grid = np.float32(list(itertools.product(a, b)))
        return [np.ascontiguousarray(grid[:, 0]), np.ascontiguousarray(grid[:, 1])]
    return [np.float32(ROWS)] if kind == "row" else [np.float32(ROWS), np.float32(OTHER_ROWS)]


def weighted(kind: str, y, weight):
    """A scalar of f's result."""
    return (y * weight).sum() if kind in ("row", "rows") and y.ndim > 1 else y.sum()


def _any(test):
    return lambda at: test(at).any(1)


_infinite, _nan = _any(np.isinf), _any(np.isnan)
_tiny = _any(lambda at: (np.abs(at) > 0) & (np.abs(at) < 1e-20))
_huge = _any(lambda at: np.abs(at) >= 1e10)
_vast = _any(lambda at: np.abs(at) >= 1e30)
_always = _any(lambda at: np.ones_like(at, bool))

# Where the comparison does not hold: (kind, case, results, arguments, why). Everything else in the table does.
EXCUSED = [
    ("point", "sign", {0}, _nan, "the sign of NaN is NaN, as numpy and tinygrad have it; PyTorch has 0"),
    ("point", "pow 0.5", {2}, _infinite, "outside the domain: PyTorch takes (-inf)^-1.5 for 0, but the root of -inf for NaN"),
    ("point", "pow -0.5", {1, 2}, _infinite, "the same"),
    ("point", "softplus", {2}, lambda at: at[:, 0] >= 20, "PyTorch's is 0 beyond a threshold of 20, in float64 too"),
    ("point", "x over x", {2}, _always, "nothing but rounding errors: it is 0"),
    ("point", "smooth l1", {2}, _nan, "NaN is within no limit, but its first derivative is that of what is within"),
    ("point", "huber 3", {2}, _nan, "the same"),
    ("pair", "clamp between", {2}, _infinite, "PyTorch gives nothing to two limits that are equal"),
    ("pair", "hypot of two", {3, 4}, _tiny, "terms of size 1e30 cancel"),
    ("share", "bce", {3}, lambda at: (np.minimum(at[:, 0], 1 - at[:, 0]) < 1e-5) | (at[:, 0] == 0.5), "PyTorch adds 1e-12 to what it divides by"),
    ("row", "max pool", {1}, _nan, "of several NaNs PyTorch takes the last"),
    ("row", "adaptive max pool", {1}, _nan, "the same"),
    ("row", "prod", {2}, _nan, "PyTorch multiplies by a NaN that is no factor of the second derivative"),
    ("row", "cumprod", {2}, _nan, "the same"),
    ("row", "std", {2}, _tiny, "terms of size 1e30 cancel"),
    ("row", "std 0", {2}, _tiny, "the same"),
    ("row", "distances", {2}, _tiny, "the same"),
    ("rows", "triplet", {0}, _vast, "the same"),
    ("row", "norm", {2}, _tiny, "the square of 1e-30 in float64 is what the second derivative cancels by"),
    ("row", "norm 0.5", {2}, _tiny, "it is 0; terms of size 1e30 cancel in PyTorch's"),
    ("row", "logsumexp", {1, 2}, _vast, "PyTorch subtracts the result, in which log 3 is lost: three equal shares of 1"),
    ("row", "logcumsumexp", {1, 2}, lambda at: _huge(at) | (np.ptp(at, 1) > 100), "PyTorch's float64 has lost all digits"),
    ("row", "log of 1 - softmax", {2}, lambda at: np.ptp(at, 1) > 15, "terms of size 1e8 cancel"),
    ("rows", "soft cross entropy", {0}, lambda at: np.ptp(at, 1) > 100, "terms of size 200 cancel"),
    ("rows", "soft cross entropy", {1}, _vast, "PyTorch's is a rounding error of 1e30"),
]  # fmt: skip


def excused(kind: str, name: str, result: int, at: np.ndarray) -> np.ndarray:
    """Elements of a result whose arguments (rows of `at`) are listed above."""
    out = np.zeros(len(at), bool)
    with np.errstate(all="ignore"):
        for k, n, results, where, _ in EXCUSED:
            if (k, n) == (kind, name) and result in results:
                out |= where(at)
    return out
