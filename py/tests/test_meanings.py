"""What names mean: every row of docs/from-pytorch.md is run, so that the page and the library cannot part; layers that PyTorch alone has follow its formulas."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import polygrad.nn.functional as F
from polygrad import MeaningWarning, Tensor, _meaning, nn

PAGE = Path(__file__).resolve().parents[2] / "docs" / "from-pytorch.md"
A = np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]], np.float32)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Each test sees the warnings that a new process would."""
    monkeypatch.setattr(_meaning, "_warned", set())


def same(t, want, tol=1e-5):
    np.testing.assert_allclose(t.numpy(), want, rtol=tol, atol=tol)


def warned(f):
    """What f gives; it must warn the first time, and only then."""
    with pytest.warns(MeaningWarning):
        out = f()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f()
    return out


def raises(f, match):
    with pytest.raises(TypeError, match=match):
        f()


def max_pair():
    same(warned(lambda: Tensor(A).max(1)[1]), 6.0)
    _meaning._warned.clear()
    with pytest.warns(MeaningWarning):
        a, b = Tensor(A).min(1)
    assert (a.item(), b.item()) == (1.0, 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _meaning._warned.clear()
        assert [v.item() for v in Tensor(A).max(0)] == [4.0, 5.0, 6.0]  # three rows: nobody takes them for a pair
        assert Tensor(A).max(1, keepdim=True)[:, 0].tolist() == [5.0, 6.0] and Tensor(A).max().item() == 6.0
    pair = Tensor(A).max(dim=1, keepdim=True)
    assert pair.values.tolist() == [[5.0], [6.0]] and pair.indices.tolist() == [[1], [2]]
    values, indices = Tensor(A).min(dim=0)
    assert values.tolist() == [1.0, 3.0, 2.0] and indices.tolist() == [0, 1, 0]


def max_of_two():
    raises(lambda: Tensor(A).max(Tensor(A)), "maximum")


def where():
    raises(lambda: Tensor(A).where(Tensor(A > 2), 0.0), "condition comes first")
    same(Tensor(A > 2).where(Tensor(A), 0.0), np.where(A > 2, A, 0))
    assert Tensor([1, 0]).where(Tensor([True, True]), False).tolist() == [True, False]


def add_alpha():
    for name in ("add", "sub", "mul", "div"):
        raises(lambda name=name: getattr(Tensor(A), name)(Tensor(A), 2), "reverse")
    same(Tensor(A).sub(1, True), 1 - A)


def var_keepdim():
    for name in ("var", "std"):
        assert warned(lambda name=name: getattr(Tensor(A), name)(0, True)).shape == (1, 3)
        raises(lambda name=name: getattr(Tensor(A), name)(0, False, True), "correction")
    same(Tensor(A).var(0, keepdim=True), A.var(0, ddof=1, keepdims=True))
    same(Tensor(A).var(0, False, 0), A.var(0))


def var_bool():
    for name in ("var", "sum", "max"):
        raises(lambda name=name: getattr(Tensor(A), name)(False), "axis must be a number")


def big_t():
    x = np.arange(24).reshape(2, 3, 4)
    same(warned(lambda: Tensor(x).T), x.swapaxes(-2, -1))
    same(Tensor(A).T, A.T)


def transpose():
    x = np.arange(24).reshape(2, 3, 4)
    same(Tensor(x).transpose(), x.swapaxes(-2, -1))


def max_gradient():
    x = Tensor([2.0, 2.0, 1.0])
    assert x.max(0).sum().gradient(x)[0].tolist() == [0.5, 0.5, 0]
    assert x.max(dim=0)[0].gradient(x)[0].tolist() == [1, 0, 0]
    assert x.amax(0).gradient(x)[0].tolist() == [0.5, 0.5, 0]


def cummax():
    assert Tensor([1, 1, 0]).cummax(0)[1].tolist() == [0, 0, 0]


def linear():
    w = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    same(Tensor(A).linear(Tensor(w)), A @ w)
    same(F.linear(Tensor(A), Tensor(w)), A @ w.T)
    same(Tensor(A).linear(Tensor(w[1])), A * w[1])
    same(Tensor(A).dot(Tensor(w), "float64"), A.astype(np.float64) @ w)


def gelu():
    x = np.array([-1.0, 0.5], np.float32)
    tanh = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    exact = np.array([-0.15865525, 0.34573123])
    same(Tensor(x).gelu(), tanh, 1e-6)
    same(F.gelu(Tensor(x)), exact, 1e-6)
    same(nn.GELU()(Tensor(x)), exact, 1e-6)


def selu():
    one = np.ones(1, np.float64)
    assert Tensor(one).selu().item() == 1.0507
    assert F.selu(Tensor(one)).item() == nn.SELU()(Tensor(one)).item() == 1.0507009873554805


def dropout():
    assert Tensor.ones(50).dropout(1.0).sum().item() == 50
    assert F.dropout(Tensor.ones(50), 1.0).sum().item() == 0


def batch_norm():
    raises(lambda: nn.BatchNorm2d(8, 1e-5, 0.1), "affine")
    raises(lambda: nn.BatchNorm(8, 1e-5, True, True, True), "momentum")
    raises(lambda: nn.BatchNorm1d(8, 1e-5, True), "momentum")
    one = nn.BatchNorm1d(8, 1e-3, 0.2, False)
    assert (one.eps, one.momentum, one.weight, one.track_running_stats) == (1e-3, 0.2, None, True)
    two = nn.BatchNorm2d(8, 1e-3, False, False, 0.2)
    assert (two.eps, two.momentum, two.weight, two.running_mean) == (1e-3, 0.2, None, None)


def instance_norm():
    raises(lambda: nn.InstanceNorm(8, 1e-5, 0.1), "affine")
    assert nn.InstanceNorm(3).weight is not None and nn.InstanceNorm1d(3).weight is None
    x = np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32)
    want = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    same(nn.InstanceNorm1d(3)(Tensor(x)), want)
    same(nn.InstanceNorm1d(3)(Tensor(x[0])), want[0])
    m = nn.InstanceNorm1d(3, 1e-5, 0.25, True, True)
    with Tensor.train():
        same(m(Tensor(x)), want)
    mean, var = 0.25 * x.mean(2).mean(0), 0.75 + 0.25 * x.var(2, ddof=1).mean(0)
    same(m.running_mean, mean)
    same(m.running_var, var)
    same(m(Tensor(x)), (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5))


def conv_transpose():
    assert warned(lambda: nn.ConvTranspose2d(4, 4, 3, 1, 0, 0, 2)).dilation == 2
    raises(lambda: nn.ConvTranspose2d(4, 4, 3, 1, 0, 0, 2, True), "groups")
    assert nn.ConvTranspose2d(4, 4, 3, 1, 0, 0, dilation=2, groups=2).weight.shape == (4, 2, 3, 3)


def rms_norm():
    assert nn.RMSNorm(8).eps == 1e-6
    raises(lambda: nn.RMSNorm((4, 8)), "last axis")
    raises(lambda: nn.RMSNorm(8, None), "eps")


def embedding():
    w = nn.Embedding(8, 4).weight.numpy()
    assert np.abs(w).max() <= np.sqrt(6 / 12) and np.abs(w).max() > 0.1
    assert nn.Embedding(8, 4, 0).weight.numpy()[0].tolist() == [0.0] * 4  # PyTorch's third argument, which tinygrad does not have


def sgd():
    w = [Tensor([1.0])]
    raises(lambda: nn.SGD(w, 0.1, 0.9, 0, 1e-4), "weight_decay")
    raises(lambda: nn.SGD(w, 0.1, 0.9, 0, 1e-4, True), "weight_decay")
    assert nn.SGD(w, 0.1, 0.9, 1e-4, True).param_groups[0]["weight_decay"] == 1e-4


def adam():
    w = [Tensor([1.0])]
    for kind in (nn.Adam, nn.AdamW, nn.LAMB):
        raises(lambda kind=kind: kind(w, 1e-3, (0.9, 0.99), 1e-8), "by name")
        raises(lambda kind=kind: kind(w, 1e-3, 0.9, 0.99, 1e-8, 0.0, (0.9, 0.99)), "positional")
        assert kind(w, 1e-3, (0.8, 0.99), eps=1e-3).param_groups[0]["b1"] == 0.8


ROWS = {
    "x.max(1)[1]": max_pair, "x.max(y)": max_of_two, "x.where(condition, y)": where, "x.add(y, 2)": add_alpha, "x.var(0, True)": var_keepdim,
    "x.var(False)": var_bool, "x.T": big_t, "x.transpose()": transpose, "x.cummax(0)": cummax, "x.max(0).sum().gradient(x)": max_gradient, "x.linear(w)": linear, "x.gelu()": gelu,
    "x.selu()": selu, "x.dropout()": dropout, "nn.BatchNorm2d(8, 1e-5, 0.1)": batch_norm, "nn.InstanceNorm(8, 1e-5, 0.1)": instance_norm,
    "nn.ConvTranspose2d(4, 4, 3, 1, 0, 0, 2)": conv_transpose, "nn.RMSNorm(8)": rms_norm, "nn.Embedding(8, 4)": embedding,
    "nn.SGD(params, 0.1, 0.9, 0, 1e-4)": sgd, "nn.Adam(params, 1e-3, (0.9, 0.99), 1e-8)": adam,
}  # fmt: skip


def listed():
    """The first call of every row of the first table of the page."""
    table = PAGE.read_text(encoding="utf-8").split("## One name, two meanings")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]*)`", table, re.M)


@pytest.mark.parametrize("call", listed())
def test_row(call):
    ROWS[call]()


def test_every_meaning_is_listed():
    assert sorted(listed()) == sorted(ROWS)


# ---- attention ----


def attend(m, q, k, v, mask=None):
    """softmax(q k^T / sqrt(d) + mask) v by heads [batch, heads, queries, keys], in float64: output and weights."""
    s = {n: t.numpy().astype(np.float64) for n, t in m.state_dict().items()}
    e, h = m.embed_dim, m.num_heads
    ws = np.split(s["in_proj_weight"], 3) if "in_proj_weight" in s else [s[f"{n}_proj_weight"] for n in "qkv"]
    bs = np.split(s["in_proj_bias"], 3) if "in_proj_bias" in s else [0.0] * 3
    q, k, v = (t @ w.T + b for t, w, b in zip((q, k, v), ws, bs))
    if "bias_k" in s:
        k, v = (np.concatenate([t, np.broadcast_to(s[n], (len(t), 1, e))], 1) for t, n in ((k, "bias_k"), (v, "bias_v")))
    if m.add_zero_attn:
        k, v = (np.concatenate([t, np.zeros((len(t), 1, e))], 1) for t in (k, v))
    q, k, v = (t.reshape(len(t), -1, h, e // h).swapaxes(1, 2) for t in (q, k, v))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(e // h)
    if mask is not None:
        scores[..., : mask.shape[-1]] += mask
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    y = (p @ v).swapaxes(1, 2).reshape(len(q), -1, e)
    return y @ s["out_proj.weight"].T + s.get("out_proj.bias", 0.0), p


@pytest.mark.parametrize("kwargs", [{}, {"kdim": 3, "vdim": 5}, {"add_bias_kv": True, "add_zero_attn": True}, {"bias": False}], ids=str)
def test_attention_is_pytorchs(kwargs):
    rng = np.random.default_rng(1)
    m = nn.MultiheadAttention(8, 2, batch_first=True, **kwargs)
    q = rng.normal(size=(2, 4, 8))
    k, v = rng.normal(size=(2, 5, m.kdim)), rng.normal(size=(2, 5, m.vdim))
    padding, hidden = np.arange(5) >= np.array([[5], [3]]), np.triu(np.ones((4, 5), bool), 2)
    minus = np.where(padding[:, None, None], -np.inf, 0) + np.where(hidden, -np.inf, 0)
    args = [Tensor(t.astype(np.float32)) for t in (q, k, v)]
    want, weights = attend(m, q, k, v, minus)
    y, mean = m(*args, Tensor(padding), True, Tensor(hidden))
    same(y, want, 1e-4)
    same(mean, weights.mean(1), 1e-4)
    y, each = m(*args, key_padding_mask=Tensor(padding), attn_mask=Tensor(np.repeat(hidden[None], 4, 0)), average_attn_weights=False)
    same(y, want, 1e-4)
    same(each, weights, 1e-4)
    y, none = m(*args, Tensor(padding), False, Tensor(np.where(hidden, -np.inf, 0).astype(np.float32)))
    same(y, want, 1e-4)
    assert none is None
    one = [Tensor(t[0].astype(np.float32)) for t in (q, k, v)]
    y, mean = m(*one)
    want, weights = attend(m, q[:1], k[:1], v[:1])
    same(y, want[0], 1e-4)
    same(mean, weights[0].mean(0), 1e-4)


def test_causal_attention():
    m = nn.MultiheadAttention(4, 1)
    x = Tensor.randn(3, 2, 4)
    for need in (True, False):
        y, _ = m(x, x, x, need_weights=need, is_causal=True)
        assert y.shape == (3, 2, 4)
    assert m(x, x, x, is_causal=True)[1][0, 0].tolist() == [1.0, 0.0, 0.0]


# ---- functions of torch.nn.functional ----


def test_inplace_changes_the_input():
    for f in (F.relu, F.relu6, F.silu, F.mish, F.selu, F.elu, F.celu, F.leaky_relu, F.hardtanh, F.hardsigmoid, F.hardswish):
        w = Tensor(A - 3, requires_grad=True)
        x = w * 2
        y = f(x, inplace=True)
        same(x, f(w * 2).numpy())
        same(y, x.numpy())
        (x * x).sum().backward()
        again = Tensor(A - 3, requires_grad=True)
        (f(again * 2) ** 2).sum().backward()
        same(w.grad, again.grad.numpy())
    x = Tensor(A - 3)
    nn.ELU(0.5, True)(x)
    same(x, np.where(A > 3, A - 3, 0.5 * np.expm1(A - 3)))
    for make in (lambda: nn.Sigmoid(inplace=True), lambda: nn.Tanh(True), lambda: F.tanh(Tensor(A), True)):
        with pytest.raises(TypeError):
            make()
    with pytest.raises(RuntimeError, match="in place"):
        F.relu(Tensor(A, requires_grad=True), inplace=True)


def test_older_arguments_of_losses():
    x, y = Tensor(A), Tensor(A * 2)
    for f in (F.mse_loss, F.l1_loss):
        same(f(x, y, False), f(x, y, reduction="sum").numpy())
        same(f(x, y, None, False), f(x, y, reduction="none").numpy())
        same(f(x, y, True), f(x, y).numpy())
    c = Tensor([0, 2])
    same(F.cross_entropy(x, c, None, False), F.cross_entropy(x, c, reduction="sum").numpy())
    same(F.nll_loss(x, c, reduce=False), F.nll_loss(x, c, reduction="none").numpy())
    p, t = Tensor(A / 7), Tensor((A > 2).astype(np.float32))
    same(F.binary_cross_entropy(p, t, None, False), F.binary_cross_entropy(p, t, reduction="sum").numpy())
    same(F.binary_cross_entropy_with_logits(x, t, size_average=False), F.binary_cross_entropy_with_logits(x, t, reduction="sum").numpy())


def test_softmax_without_dim():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    for shape, axis in (((24,), 0), ((6, 4), 1), ((2, 3, 4), 0), ((2, 3, 2, 2), 1)):
        t = Tensor(x.reshape(shape))
        for f, g in (
            (F.softmax, "softmax"),
            (F.log_softmax, "log_softmax"),
            (lambda v: nn.Softmax()(v), "softmax"),
            (lambda v: nn.LogSoftmax()(v), "log_softmax"),
        ):
            _meaning._warned.clear()
            with pytest.warns(MeaningWarning):
                same(f(t), getattr(t, g)(axis).numpy())


def test_softplus_threshold():
    x = np.array([-1.0, 0.5, 3.0], np.float32)
    want = np.where(2 * x > 1.5, x, np.log1p(np.exp(2 * x)) / 2)
    same(F.softplus(Tensor(x), 2, 1.5), want)
    same(nn.Softplus(2, 1.5)(Tensor(x)), want)


def test_plateau_takes_pytorchs_arguments():
    opt = nn.SGD([Tensor([1.0])], lr=1.0)
    s = nn.ReduceLROnPlateau(opt, "max", 0.5, 1, 0.1, "abs", 2, 0.2)
    rates = []
    for value in (1.0, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05):
        s.step(value)
        rates.append(opt.lr)
    assert rates == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.2]


def test_rearrange_merges_an_ellipsis():
    x = np.arange(120).reshape(2, 3, 4, 5)
    for formula, want in (
        ("a ... b -> (...) b a", x.transpose(1, 2, 3, 0).reshape(12, 5, 2)),
        ("a ... b -> ... b a", x.transpose(1, 2, 3, 0)),
        ("... -> (...)", x.reshape(-1)),
        ("a ... -> a (...)", x.reshape(2, -1)),
        ("a ... b -> (a ...) b", x.reshape(-1, 5)),
        ("... a b -> ... (b a)", x.swapaxes(2, 3).reshape(2, 3, 20)),
        ("a b c d ... -> (...) a (b c d)", x.reshape(1, 2, 60)),
    ):
        got = Tensor(x).rearrange(formula)
        assert got.shape == want.shape and np.array_equal(got.numpy(), want), formula
    with pytest.raises(ValueError, match="whole axes"):
        Tensor(x).rearrange("(...) b -> b")
