"""First and second derivatives of every differentiable operation, by finite differences in float64."""

import math

import numpy as np
import pytest
from helpers import gradcheck, gradgradcheck, values

from polygrad import Tensor, dtypes
from polygrad._ffi import C
from polygrad.autograd import current

F = dtypes.float64


def v(*shape, domain="real", seed=0):
    """Values that keep away from the corners of relu, abs, round and of ties."""
    a = values(shape, F, domain, seed)
    return np.where(np.abs(a - np.round(a)) < 0.06, a + 0.12, a) if domain in ("real", "nonzero", "wide") else a


SMOOTH = [  # name, domain
    ("neg", "real"), ("square", "real"), ("sqrt", "positive"), ("rsqrt", "positive"), ("reciprocal", "nonzero"), ("exp", "real"), ("exp2", "real"),
    ("expm1", "real"), ("log", "positive"), ("log2", "positive"), ("log10", "positive"), ("log1p", "positive"), ("sin", "real"), ("cos", "real"),
    ("tan", "unit"), ("asin", "unit"), ("acos", "unit"), ("atan", "real"), ("sinh", "real"), ("cosh", "real"), ("tanh", "real"), ("asinh", "real"),
    ("acosh", "above1"), ("atanh", "unit"), ("erf", "real"), ("sigmoid", "real"), ("logsigmoid", "real"), ("gelu", "real"), ("quick_gelu", "real"),
    ("silu", "real"), ("mish", "real"), ("softplus", "real"), ("softsign", "nonzero"), ("elu", "nonzero"), ("celu", "nonzero"), ("selu", "nonzero"),
]  # fmt: skip
CORNERS = ["abs", "relu", "relu6", "leaky_relu", "hardsigmoid", "hardswish", "hardtanh", "sign", "trunc", "floor", "ceil", "round"]


@pytest.mark.parametrize("name, domain", SMOOTH, ids=[s[0] for s in SMOOTH])
def test_smooth(name, domain):
    x = v(2, 3, domain=domain)
    gradcheck(lambda t: getattr(t, name)(), x)
    gradgradcheck(lambda t: getattr(t, name)(), x)


@pytest.mark.parametrize("name", CORNERS)
def test_corners(name):
    gradcheck(lambda t: getattr(t, name)(), v(3, 4))
    gradcheck(lambda t: getattr(t * 2, name)() * t, v(3, 4, seed=1))


BINARY = {
    "add": (lambda a, b: a + b, "real", "real"),
    "sub": (lambda a, b: a - b, "real", "real"),
    "mul": (lambda a, b: a * b, "real", "real"),
    "div": (lambda a, b: a / b, "real", "nonzero"),
    "pow": (lambda a, b: a**b, "positive", "real"),
    "mod": (lambda a, b: a % b, "wide", "nonzero"),
    "fmod": (lambda a, b: a.fmod(b), "wide", "nonzero"),
    "maximum": (lambda a, b: a.maximum(b), "real", "real"),
    "minimum": (lambda a, b: a.minimum(b), "real", "real"),
    "where": (lambda a, b: (a > 0).where(a * b, b), "real", "real"),
    "logaddexp": (lambda a, b: a.logaddexp(b), "real", "real"),
    "copysign": (lambda a, b: a.copysign(b), "real", "nonzero"),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    f, left, right = BINARY[name]
    gradcheck(f, v(2, 3, domain=left), v(2, 3, domain=right, seed=1))
    gradcheck(f, v(2, 1, 3, domain=left), v(4, 1, domain=right, seed=1))  # broadcast axes are summed
    gradcheck(f, v(domain=left), v(2, 2, domain=right, seed=1))
    if name not in ("mod", "fmod", "copysign"):
        gradgradcheck(f, v(2, 2, domain=left), v(2, 2, domain=right, seed=1))


# Everything else: name, function, inputs, has a second derivative worth checking
OPS = {
    "scalar pow": (lambda x: x**3, [v(2, 3)], True),
    "scalar pow half": (lambda x: x**0.5, [v(2, 3, domain="positive")], True),
    "scalar pow zero": (lambda x: x**0, [v(2, 3)], False),
    "scalar pow negative": (lambda x: x**-2, [v(2, 3, domain="nonzero")], True),
    "reflected pow": (lambda x: 2.5**x, [v(2, 3)], True),
    "reflected sub": (lambda x: 2 - x, [v(2, 3)], False),
    "reflected div": (lambda x: 2 / x, [v(2, 3, domain="nonzero")], True),
    "clamp": (lambda x: x.clamp(-1.05, 1.05), [v(3, 4)], False),
    "clamp tensor": (lambda x, y: x.clamp(y - 1, y + 1), [v(3, 4), v(4, seed=1)], False),
    "lerp": (lambda a, b, w: a.lerp(b, w), [v(2, 3), v(2, 3, seed=1), v(3, domain="unit", seed=2)], True),
    "leaky_relu 0.3": (lambda x: x.leaky_relu(0.3), [v(3, 4)], False),
    "elu 0.7": (lambda x: x.elu(0.7), [v(3, 4, domain="nonzero")], True),
    "celu 0.7": (lambda x: x.celu(0.7), [v(3, 4, domain="nonzero")], True),
    "softplus 2": (lambda x: x.softplus(2.0), [v(3, 4)], True),
    "gelu erf": (lambda x: x.gelu("none"), [v(3, 4)], True),
    "cast": (lambda x: x.cast(dtypes.float32).cast(dtypes.float64) * 2, [np.round(v(3, 4) * 8) / 8], None),
    "detach": (lambda x: x * 3, [v(3)], False),
    # reductions
    "sum": (lambda x: x.sum(), [v(2, 3)], False),
    "sum axis": (lambda x: x.sum(1).square(), [v(2, 3)], True),
    "sum axes keepdim": (lambda x: x.sum((0, 2), keepdim=True) * x, [v(2, 3, 2)], True),
    "mean": (lambda x: x.mean(0).exp(), [v(2, 3)], True),
    "prod": (lambda x: x.prod(1), [v(2, 4)], True),
    "prod with zero": (lambda x: x.prod(), [np.array([1.5, 0.0, -2.5])], False),
    "max": (lambda x: x.max(1), [v(3, 4)], False),
    "max all": (lambda x: x.max() * x.sum(), [v(3, 4)], True),
    "min": (lambda x: x.min((0, 1)), [v(3, 4)], False),
    "var": (lambda x: x.var(1), [v(2, 4)], True),
    "var 0": (lambda x: x.var(0, correction=0), [v(4, 2)], True),
    "std": (lambda x: x.std(1), [v(2, 4)], True),
    "logsumexp": (lambda x: x.logsumexp(1), [v(2, 3)], True),
    "softmax": (lambda x: x.softmax(-1), [v(2, 3)], True),
    "softmax 0": (lambda x: x.softmax(0), [v(3, 2)], True),
    "log_softmax": (lambda x: x.log_softmax(1), [v(2, 3)], True),
    "normalize": (lambda x: x.normalize(), [v(2, 3)], True),
    "cumsum": (lambda x: x.cumsum(1).square(), [v(2, 4)], True),
    "cumprod": (lambda x: x.cumprod(1), [v(2, 4, domain="nonzero")], True),
    "cummax": (lambda x: x.cummax(1)[0], [v(2, 5)], False),
    "cummin": (lambda x: x.cummin(0)[0], [v(4, 2)], False),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), [v(2, 4)], True),
    # movement
    "reshape": (lambda x: x.reshape(3, 2) * x.reshape(6).flip(0).reshape(3, 2), [v(2, 3)], True),
    "permute": (lambda x: x.permute(2, 0, 1).square(), [v(2, 3, 2)], True),
    "expand": (lambda x: x.expand(4, 2, 3).square(), [v(2, 3)], True),
    "shrink": (lambda x: x.shrink(((0, 2), (1, 3))).square(), [v(3, 3)], True),
    "pad": (lambda x: x.pad(((1, 0), (0, 2)), value=3.0).square(), [v(2, 2)], True),
    "pad reflect": (lambda x: x.pad(((1, 1), (2, 0)), mode="reflect").square(), [v(3, 3)], True),
    "pad replicate": (lambda x: x.pad(((1, 1), (2, 0)), mode="replicate"), [v(3, 3)], False),
    "pad circular": (lambda x: x.pad(((1, 1), (2, 0)), mode="circular"), [v(3, 3)], False),
    "flip": (lambda x: x.flip(0, 1) * x, [v(2, 3)], True),
    "repeat": (lambda x: x.repeat(2, 3).square(), [v(2, 2)], True),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, 1).square(), [v(2, 2)], True),
    "roll": (lambda x: x.roll(1, 0) * x, [v(3, 2)], True),
    "cat": (lambda a, b: a.cat(b, dim=1).square(), [v(2, 2), v(2, 3, seed=1)], True),
    "stack": (lambda a, b: Tensor.stack(a, b, dim=1).square(), [v(2, 2), v(2, 2, seed=1)], True),
    "split": (lambda x: x.split([1, 2], dim=1)[1] * x.chunk(3, dim=1)[0], [v(2, 3)], True),
    "tril": (lambda x: x.tril(1).square(), [v(3, 3)], True),
    "triu": (lambda x: x.triu().square(), [v(3, 3)], True),
    "diag": (lambda x: x.diag().square(), [v(3)], True),
    "diagonal": (lambda x: x.diagonal().square(), [v(3, 3)], True),
    "unfold": (lambda x: x.unfold(0, 3, 1).square(), [v(5)], True),
    "rearrange": (lambda x: x.rearrange("a (b c) -> c b a", b=2).square(), [v(2, 4)], True),
    "contiguous": (lambda x: x.permute(1, 0).contiguous().square(), [v(2, 3)], True),
    "clone": (lambda x: x.clone().square(), [v(2, 3)], True),
    # indexing
    "slice": (lambda x: x[1:, ::-2].square(), [v(3, 4)], True),
    "int index": (lambda x: x[1] * x[:, 0].sum(), [v(3, 3)], True),
    "tensor index": (lambda x: x[Tensor([2, 0, 2, 1])].square(), [v(3, 2)], True),
    "two tensor indices": (lambda x: x[Tensor([2, 0, 2]), Tensor([1, 1, 1])].square(), [v(3, 2)], True),
    "bool index": (lambda x: x[Tensor([True, False, True])].square(), [v(3, 2)], True),
    "gather": (lambda x: x.gather(1, Tensor([[0, 0, 2], [1, 1, 1]])).square(), [v(2, 3)], True),
    "index_select": (lambda x: x.index_select(1, Tensor([2, 2, 0])).square(), [v(2, 3)], True),
    "scatter": (lambda x, s: x.scatter(0, Tensor([[0, 1, 0]]), s).square(), [v(2, 3), v(1, 3, seed=1)], True),
    "scatter sum": (lambda x, s: x.scatter_reduce(0, Tensor([0, 2, 0]), s, "sum").square(), [v(3), v(3, seed=1)], True),
    "scatter mean": (lambda x, s: x.scatter_reduce(0, Tensor([0, 2, 0]), s, "mean").square(), [v(3), v(3, seed=1)], True),
    "scatter mean without": (lambda x, s: x.scatter_reduce(0, Tensor([0, 2, 0]), s, "mean", False).square(), [v(3), v(3, seed=1)], True),
    "scatter prod": (lambda x, s: x.scatter_reduce(0, Tensor([0, 2, 0]), s, "prod"), [v(3, domain="nonzero"), v(3, domain="nonzero", seed=1)], True),
    "scatter amax": (lambda x, s: x.scatter_reduce(0, Tensor([0, 2, 0]), s, "amax"), [v(3), v(3, seed=1)], False),
    "scatter amin without": (lambda x, s: x.scatter_reduce(0, Tensor([0, 2, 0]), s, "amin", False), [v(3), v(3, seed=1)], False),
    "index_add": (lambda x, s: x.index_add(0, Tensor([1, 1, 0]), s).square(), [v(2, 2), v(3, 2, seed=1)], True),
    "sort": (lambda x: x.sort(1)[0] * Tensor([[1.0, 2.0, 3.0, 4.0]]).double(), [v(2, 4)], False),
    "topk": (lambda x: x.topk(2)[0].square(), [v(2, 4)], True),
    "masked_fill": (lambda x: x.masked_fill(Tensor([True, False, True]), 5.0).square(), [v(2, 3)], True),
    "masked_select": (lambda x: x.masked_select(Tensor([True, False, True])).square(), [v(3)], True),
    # linear algebra
    "matmul": (lambda a, b: a @ b, [v(2, 3), v(3, 2, seed=1)], True),
    "matmul batch": (lambda a, b: a @ b, [v(2, 2, 3), v(3, 2, seed=1)], True),
    "matmul vector": (lambda a, b: (a @ b).square(), [v(2, 3), v(3, seed=1)], True),
    "dot": (lambda a, b: a @ b, [v(3), v(3, seed=1)], True),
    "einsum": (lambda a, b: Tensor.einsum("bij,bkj->bik", a, b), [v(2, 2, 3), v(2, 2, 3, seed=1)], True),
    "einsum diagonal": (lambda a: Tensor.einsum("ii->i", a).square(), [v(3, 3)], True),
    "linear": (lambda x, w, b: x.linear(w, b).square(), [v(2, 3), v(3, 2, seed=1), v(2, seed=2)], True),
    "conv1d": (lambda x, w, b: x.conv2d(w, b, padding=1), [v(1, 2, 4), v(2, 2, 3, seed=1), v(2, seed=2)], True),
    "conv2d": (lambda x, w: x.conv2d(w, stride=2, padding=1, dilation=1), [v(1, 2, 4, 3), v(2, 2, 2, 2, seed=1)], True),
    "conv2d groups": (lambda x, w: x.conv2d(w, groups=2, dilation=2, padding=(1, 0)), [v(1, 2, 3, 3), v(4, 1, 2, 2, seed=1)], True),
    "conv_transpose": (lambda x, w: x.conv_transpose2d(w, stride=2, padding=1, output_padding=1), [v(1, 2, 2, 2), v(2, 1, 2, 2, seed=1)], True),
    "max_pool": (lambda x: x.max_pool2d((2, 2), 1), [v(1, 1, 3, 3)], False),
    "max_pool overlapping": (lambda x: x.max_pool2d((3, 2), (2, 1), padding=1), [v(1, 1, 6, 4)], False),
    "avg_pool dilated": (lambda x: x.avg_pool2d((2, 2), 2, dilation=2, padding=1).square(), [v(1, 1, 6, 5)], True),
    "avg_pool": (lambda x: x.avg_pool2d((2, 2), 1, padding=1, count_include_pad=False).square(), [v(1, 1, 3, 3)], True),
    "attention": (lambda q, k, w: q.scaled_dot_product_attention(k, w), [v(1, 2, 3), v(1, 3, 3, seed=1), v(1, 3, 2, seed=2)], True),
    "attention causal": (lambda q, k, w: q.scaled_dot_product_attention(k, w, is_causal=True), [v(1, 2, 3), v(1, 2, 3, seed=1), v(1, 2, 2, seed=2)], False),
    "layernorm": (lambda x: x.layernorm(), [v(2, 4)], True),
    "rmsnorm": (lambda x: x.rmsnorm(), [v(2, 4)], True),
    "groupnorm": (lambda x: x.groupnorm(2), [v(1, 4, 2)], True),
    "batchnorm": (lambda x, w, b, m, s: x.batchnorm(w, b, m, s), [v(2, 2, 2), v(2, seed=1), v(2, seed=2), v(2, seed=3), v(2, seed=4)], True),
    # losses
    "cross_entropy": (lambda x: x.cross_entropy(Tensor([0, 2]), label_smoothing=0.1), [v(2, 3)], True),
    "cross_entropy none": (lambda x: x.cross_entropy(Tensor([0, 2]), reduction="none"), [v(2, 3)], True),
    "cross_entropy ignore": (lambda x: x.cross_entropy(Tensor([0, -100])), [v(2, 3)], True),
    "cross_entropy probabilities": (lambda x, p: x.cross_entropy(p), [v(2, 3), v(2, 3, domain="positive")], True),
    "nll": (lambda x: x.log_softmax(1).nll_loss(Tensor([0, 2])), [v(2, 3)], True),
    "bce": (lambda x: x.sigmoid().binary_crossentropy(Tensor([0.2, 0.9]).double()), [v(2)], True),
    "bce logits": (lambda x, y: x.binary_crossentropy_logits(y), [v(4), v(4, domain="unit")], True),
    "mse": (lambda x, y: x.mse_loss(y), [v(4), v(4, seed=1)], True),
    "l1": (lambda x, y: x.l1_loss(y), [v(4), v(4, seed=1)], False),
    "huber": (lambda x, y: x.huber_loss(y, 0.9), [v(4), v(4, seed=1)], True),
    # compositions
    "diamond": (lambda x: (x.exp() * x + x.sin() * x).sum(0), [v(2, 2)], True),
    "mlp": (lambda x, a, b: ((x @ a).tanh() @ b).logsumexp(1), [v(2, 2), v(2, 3, seed=1), v(3, 2, seed=2)], True),
}  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_first(name):
    f, inputs, second = OPS[name]
    eps = 2**-6 if second is None else 1e-6  # through float32 only large steps are exact
    gradcheck(f, *inputs, eps=eps)


@pytest.mark.parametrize("name", [n for n, row in OPS.items() if row[2]])
def test_second(name):
    f, inputs, _ = OPS[name]
    gradgradcheck(f, *inputs)


@pytest.mark.parametrize(
    "name",
    [
        "mlp",
        "softmax",
        "conv2d",
        "layernorm",
        "attention",
        "scatter sum",
        "tensor index",
        "cumsum",
        "prod",
        "max_pool",
        "cross_entropy",
        "matmul batch",
    ],
)
def test_compiled(name, cpu):
    """The same on compiled kernels."""
    f, inputs, _ = OPS[name]
    xs = [Tensor(a) for a in inputs]
    y = f(*xs)
    w = Tensor(np.random.default_rng(3).standard_normal(y.shape))
    grads = y.gradient(*xs, gradient=w)
    y.realize(*grads)
    got = [g.numpy() for g in grads]
    from polygrad import Device

    Device.DEFAULT = "INTERP"
    xs = [Tensor(a) for a in inputs]
    for g, want in zip(got, f(*xs).gradient(*xs, gradient=Tensor(w.numpy()))):
        np.testing.assert_allclose(g, want.numpy(), rtol=1e-10, atol=1e-12)


# ---- the interface ----


def test_backward_accumulates():
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    x.grad = None
    assert x.grad is None
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_roots_and_targets():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with pytest.raises((RuntimeError, ValueError)) as e:
        y.backward()
    assert "gradient" in str(e.value) and "(2,)" in str(e.value)
    y.backward(gradient=Tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 20.0]
    z = Tensor([3.0])
    with pytest.raises(RuntimeError):
        (x * x).sum().gradient(z)  # not connected
    (dz,) = (x * x).sum().gradient(z, materialize_grads=True)
    assert dz.tolist() == [0.0]
    mid = x * 3
    (dmid,) = (mid * mid).sum().gradient(mid)  # not a leaf
    assert dmid.tolist() == [6.0, 12.0]
    with pytest.raises((RuntimeError, ValueError)):
        y.backward(gradient=Tensor([1.0, 2.0, 3.0]))


def test_requires_grad_spreads():
    x, c = Tensor([1.0], requires_grad=True), Tensor([2.0])
    assert (x * c).requires_grad and not (c * c).requires_grad and not x.detach().requires_grad
    with Tensor.no_grad():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        Tensor([1, 2], requires_grad=True)
    y = x.detach() * x
    y.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_no_grad_forms():
    x = Tensor([1.0], requires_grad=True)

    @Tensor.no_grad()
    def f():
        return x * 2

    assert not f().requires_grad
    Tensor.no_grad = True
    assert Tensor.no_grad and not (x * 2).requires_grad
    Tensor.no_grad = False
    assert not Tensor.no_grad


def test_shared_and_repeated_use():
    x = Tensor([2.0], requires_grad=True)
    y = x
    for _ in range(10):
        y = y * y / 2 + x
    y.sum().backward()
    f = lambda a: _repeat(a)  # noqa: E731
    eps = 1e-3
    numeric = (f(2.0 + eps) - f(2.0 - eps)) / (2 * eps)
    assert math.isinf(numeric) or x.grad.item() == pytest.approx(numeric, rel=1e-2) or not math.isfinite(x.grad.item())


def _repeat(a):
    y = a
    for _ in range(10):
        y = y * y / 2 + a
    return y


def test_long_chain_does_not_recurse():
    x = Tensor([1.0], requires_grad=True)
    y = x
    for _ in range(20000):
        y = y + 1.0
    y.sum().backward()
    assert x.grad.item() == 1.0


def test_grad_dtype_and_half():
    for d in (dtypes.float16, dtypes.bfloat16, dtypes.float64):
        x = Tensor([1.0, 2.0], dtype=d, requires_grad=True)
        (x * x).sum().backward()
        assert x.grad.dtype is d and x.grad.tolist() == [2.0, 4.0]
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x.half() * 3).sum().backward()
    assert x.grad.dtype is dtypes.float32 and x.grad.tolist() == [3.0, 3.0]


def test_ties_share_or_choose():
    """The gradients of equal maxima add up to the incoming one."""
    x = Tensor([[3.0, 3.0, 1.0]], requires_grad=True)
    x.max().backward()
    assert x.grad.numpy().sum() == pytest.approx(1.0)
    a, b = Tensor([2.0], requires_grad=True), Tensor([2.0], requires_grad=True)
    a.maximum(b).sum().backward()
    assert a.grad.item() + b.grad.item() == pytest.approx(1.0)


def test_third_derivative():
    x = Tensor(np.array([0.7, -1.2]), requires_grad=True)
    y = x.sin().sum()
    for want in (np.cos, lambda a: -np.sin(a), lambda a: -np.cos(a)):
        (g,) = y.gradient(x)
        np.testing.assert_allclose(g.numpy(), want(x.numpy()), rtol=1e-10)
        y = g.sum()


def test_hooks():
    x = Tensor([1.0, 2.0], requires_grad=True)
    seen = []
    remove = x.register_hook(lambda g: seen.append(g.tolist()))
    (x * x).sum().backward()
    assert seen == [[2.0, 4.0]] and x.grad.tolist() == [2.0, 4.0]
    x.register_hook(lambda g: g * 0)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    remove()


def test_zero_size():
    x = Tensor(np.zeros((0, 3)), requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.shape == (0, 3)


# ---- hooks, freed graphs ----


def test_hooks_on_intermediates():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    z = y * 3
    seen = []
    remove = [y.register_hook(lambda g: (seen.append(g.tolist()), g * 10)[1]), z.register_hook(lambda g: g + 1)]
    (z.sum() + y.sum()).backward()  # z gets 1 + 1, y gets 2 * 3 + 1, and hands on ten times that
    assert seen == [[7.0, 7.0]] and x.grad.tolist() == [140.0, 280.0]
    for r in remove:
        r()
    x.grad = None
    (z.sum() + y.sum()).backward()
    assert x.grad.tolist() == [8.0, 16.0]


def test_hooks_on_leaf_root_and_elsewhere():
    x, other = Tensor([1.0, 2.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    called = []
    x.register_hook(lambda g: g * 2)
    (other * 2).register_hook(lambda g: called.append(g))
    loss = (x * x).sum()
    loss.register_hook(lambda g: g * 5)
    loss.backward()
    assert x.grad.tolist() == [20.0, 40.0]
    (x * x * 1.5).sum().backward()  # hooks see the new part alone
    assert x.grad.tolist() == [26.0, 52.0] and not called


def test_a_freed_graph():
    x = Tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    loss.backward(retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    (x * x).sum().backward()  # built again
    assert x.grad.tolist() == [6.0, 12.0]


def test_second_gradients_of_normalize_at_zeros():
    """Some elements of a row are 0, the row is not."""
    gradgradcheck(lambda x: x.normalize(dim=1), np.array([[0.0, -2.0, 0.5], [1.0, 0.0, 0.0]]))


def test_a_weight_used_twice_gets_two_matrix_products(cpu, capfd):
    """Its gradient is the sum of two products, not one sum of two products, of which only a plain loop could be made."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((400, 300)).astype("f4") / 20 for _ in range(2))
    w = rng.standard_normal((300, 20)).astype("f4")
    weight = Tensor(w, requires_grad=True)
    ((Tensor(x) @ weight).square().sum() + (Tensor(y) @ weight).square().sum()).backward()
    C.poly_set_debug(current().ptr, 3)
    try:
        got = weight.grad.numpy()
    finally:
        C.poly_set_debug(current().ptr, 0)
    np.testing.assert_allclose(got, 2 * x.T @ (x @ w) + 2 * y.T @ (y @ w), rtol=1e-4, atol=1e-4)
    assert capfd.readouterr().err.count("matrix product:") == 4
