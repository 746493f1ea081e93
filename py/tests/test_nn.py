"""Layers, optimizers, state and compiled steps, against formulas in numpy."""

import os

import numpy as np
import pytest
from helpers import values

from polygrad import Tensor, TinyJit, dtypes, nn
from polygrad.nn import compile_step, get_parameters, get_state_dict, load_state_dict, safe_load, safe_save


def numpy_of(model):
    return {k: t.numpy().astype(np.float64) for k, t in get_state_dict(model).items()}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# ---- layers ----


def test_linear():
    m = nn.Linear(3, 4)
    x = values((2, 3))
    s = numpy_of(m)
    assert s["weight"].shape == (4, 3) and s["bias"].shape == (4,)
    np.testing.assert_allclose(m(Tensor(x)).numpy(), x @ s["weight"].T + s["bias"], rtol=1e-5, atol=1e-5)
    assert np.abs(s["weight"]).max() <= 3**-0.5
    assert nn.Linear(3, 4, bias=False).bias is None
    assert all(p.requires_grad for p in get_parameters(m))


def test_dot_with_a_layer():
    m = nn.Linear(3, 4)
    x = Tensor(values((2, 3)))
    np.testing.assert_allclose(x.dot(m).numpy(), (x @ m.weight.T).numpy(), rtol=1e-6)


def test_convolutions():
    x = Tensor(values((2, 3, 8, 8)))
    assert nn.Conv2d(3, 5, 3)(x).shape == (2, 5, 6, 6)
    assert nn.Conv2d(3, 6, (3, 2), stride=2, padding=1, groups=3)(x).shape == (2, 6, 4, 5)
    assert nn.Conv2d(3, 5, 4, padding="same")(x).shape == (2, 5, 8, 8)
    assert nn.Conv1d(3, 5, 3, padding=1)(Tensor(values((2, 3, 8)))).shape == (2, 5, 8)
    assert nn.ConvTranspose2d(3, 5, 3, stride=2, padding=1, output_padding=1)(x).shape == (2, 5, 16, 16)
    assert nn.ConvTranspose1d(3, 5, 2, stride=2)(Tensor(values((2, 3, 8)))).shape == (2, 5, 16)
    m = nn.Conv2d(3, 5, 3)
    s = numpy_of(m)
    want = np.zeros((2, 5, 6, 6))
    for i in range(6):
        for j in range(6):
            want[:, :, i, j] = np.einsum("bcxy,ocxy->bo", x.numpy()[:, :, i : i + 3, j : j + 3], s["weight"]) + s["bias"]
    np.testing.assert_allclose(m(x).numpy(), want, rtol=1e-4, atol=1e-4)


def test_batchnorm():
    m = nn.BatchNorm(3)
    x = values((4, 3, 5), domain="positive")
    with Tensor.train():
        y = m(Tensor(x)).numpy()
    mean, var = x.mean((0, 2)), x.var((0, 2))
    np.testing.assert_allclose(y, (x - mean[:, None]) / np.sqrt(var + 1e-5)[:, None], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(m.running_mean.numpy(), 0.1 * mean, rtol=1e-5)
    np.testing.assert_allclose(m.running_var.numpy(), 0.9 + 0.1 * x.var((0, 2), ddof=1), rtol=1e-5)
    assert m.num_batches_tracked.item() == 1
    rm, rv = m.running_mean.numpy(), m.running_var.numpy()
    np.testing.assert_allclose(m(Tensor(x)).numpy(), (x - rm[:, None]) / np.sqrt(rv + 1e-5)[:, None], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(m.running_mean.numpy(), rm)
    assert not m.running_mean.requires_grad and m.weight.requires_grad


def test_norms():
    x = values((2, 4, 6), domain="wide")
    y = nn.LayerNorm(6)(Tensor(x)).numpy()
    np.testing.assert_allclose(y, (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6), rtol=1e-4, atol=1e-4)
    g = x.reshape(2, 2, 12)
    want = ((g - g.mean(-1, keepdims=True)) / np.sqrt(g.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    np.testing.assert_allclose(nn.GroupNorm(2, 4)(Tensor(x)).numpy(), want, rtol=1e-4, atol=1e-4)
    want = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.InstanceNorm(4)(Tensor(x)).numpy(), want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(nn.RMSNorm(6)(Tensor(x)).numpy(), x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError):
        nn.LayerNorm(5)(Tensor(x))


def test_embedding():
    m = nn.Embedding(10, 4)
    i = np.array([[1, 2], [9, 1]])
    np.testing.assert_array_equal(m(Tensor(i)).numpy(), m.weight.numpy()[i])
    m(Tensor(i)).sum().backward()
    np.testing.assert_array_equal(m.weight.grad.numpy().sum(1), np.bincount(i.ravel(), minlength=10) * 4)


def lstm_step(x, h, c, w_ih, w_hh, b_ih, b_hh):
    i, f, g, o = np.split(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x, h, w_ih, w_hh, b_ih, b_hh):
    (ir, iz, inn), (hr, hz, hn) = np.split(x @ w_ih.T + b_ih, 3, 1), np.split(h @ w_hh.T + b_hh, 3, 1)
    r, z = sigmoid(ir + hr), sigmoid(iz + hz)
    n = np.tanh(inn + r * hn)
    return (1 - z) * n + z * h


def test_recurrent():
    x = values((4, 2, 3))
    m = nn.LSTM(3, 5, num_layers=2)
    s = numpy_of(m)
    y, (h, c) = m(Tensor(x))
    seq = x.astype(np.float64)
    for k in range(2):
        hk, ck, out = np.zeros((2, 5)), np.zeros((2, 5)), []
        w = [s[f"{n}_l{k}"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        for t in range(4):
            hk, ck = lstm_step(seq[t], hk, ck, *w)
            out.append(hk)
        seq = np.stack(out)
        np.testing.assert_allclose(h[k].numpy(), hk, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(c[k].numpy(), ck, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(y.numpy(), seq, rtol=1e-4, atol=1e-5)
    m = nn.GRU(3, 5, batch_first=True)
    s = numpy_of(m)
    y, h = m(Tensor(x.transpose(1, 0, 2).copy()))
    hk = np.zeros((2, 5))
    for t in range(4):
        hk = gru_step(x[t], hk, *[s[f"{n}_l0"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")])
    np.testing.assert_allclose(y[:, -1].numpy(), hk, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(h[0].numpy(), hk, rtol=1e-4, atol=1e-5)
    cell = nn.LSTMCell(3, 5)
    s = numpy_of(cell)
    h, c = cell(Tensor(x[0]))
    want = lstm_step(x[0], np.zeros((2, 5)), np.zeros((2, 5)), s["weight_ih"], s["weight_hh"], s["bias_ih"], s["bias_hh"])
    np.testing.assert_allclose(h.numpy(), want[0], rtol=1e-4, atol=1e-5)


def test_multihead_attention():
    m = nn.MultiheadAttention(8, 2, batch_first=True)
    x = values((2, 5, 8))
    y, w = m(Tensor(x), Tensor(x), Tensor(x), need_weights=True)
    s = numpy_of(m)
    q, k, v = np.split(x @ s["in_proj_weight"].T + s["in_proj_bias"], 3, -1)
    heads = [t.reshape(2, 5, 2, 4).transpose(0, 2, 1, 3) for t in (q, k, v)]
    scores = heads[0] @ heads[1].swapaxes(-1, -2) / 2
    p = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    out = (p @ heads[2]).transpose(0, 2, 1, 3).reshape(2, 5, 8) @ s["out_proj.weight"].T + s["out_proj.bias"]
    np.testing.assert_allclose(y.numpy(), out, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(w.numpy(), p.mean(1), rtol=1e-4, atol=1e-5)


def test_containers_and_state():
    class Net(nn.Module):
        def __init__(self):
            self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
            self.heads = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
            self.extra = {"scale": Tensor([1.0])}

        def forward(self, x):
            return sum(h(self.body(x)) for h in self.heads) * self.extra["scale"]

    m = Net()
    assert sorted(m.state_dict()) == [
        "body.0.bias",
        "body.0.weight",
        "body.2.bias",
        "body.2.weight",
        "extra.scale",
        "heads.0.bias",
        "heads.0.weight",
        "heads.1.bias",
        "heads.1.weight",
    ]
    x = Tensor(values((5, 3)))
    other = Net()
    assert (other(x).numpy() != m(x).numpy()).any()
    assert len(load_state_dict(other, m.state_dict())) == len(m.state_dict())
    np.testing.assert_array_equal(other(x).numpy(), m(x).numpy())
    state = m.state_dict()
    del state["body.0.bias"]
    state["nonsense"] = Tensor([1.0])
    with pytest.raises(KeyError) as e:
        load_state_dict(other, state)
    assert "body.0.bias" in str(e.value) and "nonsense" in str(e.value)
    with pytest.raises(RuntimeError, match="nonsense"):
        other.load_state_dict(state)
    assert len(load_state_dict(other, state, strict=False)) == len(m.state_dict()) - 1
    state["body.0.bias"] = m.state_dict()["body.0.bias"]
    loaded = load_state_dict(other, state)  # what the model does not have is passed over
    assert {id(t) for t in loaded} == {id(t) for t in get_state_dict(other).values()}
    state = m.state_dict()
    state["body.0.bias"] = Tensor.ones(7)
    with pytest.raises(ValueError):
        load_state_dict(other, state)


def test_activation_modules():
    x = Tensor(values((3, 4)))
    for name, method in (
        ("ReLU", "relu"),
        ("SiLU", "silu"),
        ("Tanh", "tanh"),
        ("Softplus", "softplus"),
        ("ELU", "elu"),
        ("LeakyReLU", "leaky_relu"),
    ):
        np.testing.assert_array_equal(getattr(nn, name)()(x).numpy(), getattr(x, method)().numpy())
    for leaky in (nn.LeakyReLU(0.3), nn.LeakyReLU(negative_slope=0.3, inplace=True), nn.LeakyReLU(0.3, True)):
        np.testing.assert_array_equal(leaky(x + 0).numpy(), x.leaky_relu(0.3).numpy())
    y = x + 0
    np.testing.assert_array_equal(nn.ReLU(inplace=True)(y).numpy(), x.relu().numpy())
    np.testing.assert_array_equal(y.numpy(), x.relu().numpy())  # y itself holds the result
    np.testing.assert_array_equal(nn.GELU()(x).numpy(), x.gelu(approximate="none").numpy())  # PyTorch's default, not that of the method
    with pytest.raises(TypeError, match="LeakyReLU takes 2"):
        nn.LeakyReLU(0.3, True, 5)
    np.testing.assert_array_equal(nn.Softmax(0)(x).numpy(), x.softmax(0).numpy())


# ---- optimizers ----


def run_sgd(p, grads, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
    m = None
    for g in grads:
        g = g + weight_decay * p
        if momentum:
            m = g if m is None else momentum * m + g
            g = g + momentum * m if nesterov else m
        p = p - lr * g
    return p


def run_adam(p, grads, lr, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.0, decoupled=False):
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        p = p - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
    return p


def run_rmsprop(p, grads, lr, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0):
    v, m = np.zeros_like(p), np.zeros_like(p)
    for g in grads:
        g = g + weight_decay * p
        v = alpha * v + (1 - alpha) * g * g
        d = g / (np.sqrt(v) + eps)
        m = momentum * m + d if momentum else d
        p = p - lr * m
    return p


def run_lamb(p, grads, lr, b1=0.9, b2=0.999, eps=1e-6, weight_decay=0.0):
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        up = (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps) + weight_decay * p
        r1, r2 = np.linalg.norm(p), np.linalg.norm(up)
        p = p - lr * (r1 / r2 if r1 > 0 and r2 > 0 else 1.0) * up
    return p


OPTIMIZERS = {
    "sgd": (lambda ps: nn.SGD(ps, lr=0.1), lambda p, g: run_sgd(p, g, 0.1)),
    "sgd momentum": (lambda ps: nn.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.05), lambda p, g: run_sgd(p, g, 0.1, 0.9, 0.05)),
    "sgd nesterov": (lambda ps: nn.SGD(ps, lr=0.1, momentum=0.8, nesterov=True), lambda p, g: run_sgd(p, g, 0.1, 0.8, 0, True)),
    "adam": (lambda ps: nn.Adam(ps, lr=0.05), lambda p, g: run_adam(p, g, 0.05)),
    "adam betas": (lambda ps: nn.Adam(ps, lr=0.05, betas=(0.8, 0.9), weight_decay=0.1), lambda p, g: run_adam(p, g, 0.05, 0.8, 0.9, 1e-8, 0.1)),
    "adamw": (lambda ps: nn.AdamW(ps, lr=0.05), lambda p, g: run_adam(p, g, 0.05, weight_decay=0.01, decoupled=True)),
    "rmsprop": (lambda ps: nn.RMSprop(ps, lr=0.05, momentum=0.5), lambda p, g: run_rmsprop(p, g, 0.05, momentum=0.5)),
    "lamb": (lambda ps: nn.optim.LAMB(ps, lr=0.05, weight_decay=0.1), lambda p, g: run_lamb(p, g, 0.05, weight_decay=0.1)),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, device):
    make, reference = OPTIMIZERS[name]
    p0 = values((3, 4), dtypes.float64)
    grads = [values((3, 4), dtypes.float64, seed=k + 1) for k in range(5)]
    p = Tensor(p0.copy())
    opt = make([p])
    for g in grads:
        opt.zero_grad()
        (p * Tensor(g)).sum().backward()
        opt.step()
    np.testing.assert_allclose(p.numpy(), reference(p0, grads), rtol=1e-6)


def test_optimizer_interface():
    a, frozen, unused = Tensor([1.0]), Tensor([2.0], requires_grad=False), Tensor([3.0])
    opt = nn.SGD([a, frozen, unused, a], lr=0.5)
    assert a.requires_grad and len(opt.params) == 2
    (a * 2 + frozen).sum().backward()
    opt.step()
    assert a.item() == 0.0 and frozen.item() == 2.0 and unused.item() == 3.0
    assert opt.lr == 0.5
    opt.lr = 0.1
    opt.zero_grad()
    assert a.grad is None
    (a * 2).sum().backward()
    opt.step()
    assert a.item() == pytest.approx(-0.2)
    groups = nn.SGD([{"params": [Tensor([1.0])], "lr": 0.5}, {"params": [Tensor([1.0])]}], lr=0.1)
    assert [g.lr for g in groups.param_groups] == [0.5, 0.1]
    with pytest.raises((TypeError, ValueError)):
        nn.SGD([], lr=0.1)


def test_schedules():
    def rates(make, n):
        opt = nn.SGD([Tensor([1.0])], lr=1.0)
        s = make(opt)
        out = [opt.lr]
        for _ in range(n):
            s.step()
            out.append(opt.lr)
        return out

    np.testing.assert_allclose(rates(lambda o: nn.StepLR(o, 2, 0.5), 5), [1, 1, 0.5, 0.5, 0.25, 0.25])
    np.testing.assert_allclose(rates(lambda o: nn.CosineAnnealingLR(o, 4), 4), [1, 0.5 + 0.5 * 2**-0.5, 0.5, 0.5 - 0.5 * 2**-0.5, 0], atol=1e-12)
    r = rates(lambda o: nn.OneCycleLR(o, 1.0, 10, cycle_momentum=False), 9)
    assert r[0] == pytest.approx(0.04) and max(r) == pytest.approx(1.0) and r[-1] == pytest.approx(4e-6)
    opt = nn.SGD([Tensor([1.0])], lr=1.0)
    s = nn.ReduceLROnPlateau(opt, patience=1, factor=0.5)
    for v in (1.0, 0.9, 0.95, 0.95, 0.95):
        s.step(v)
    assert opt.lr == 0.5


def test_clipping():
    a, b = Tensor([3.0], requires_grad=True), Tensor([4.0], requires_grad=True)
    (a * 3 + b * 4).sum().backward()
    norm = nn.clip_grad_norm_([a, b], 1.0)
    assert norm.item() == pytest.approx(5.0)
    assert a.grad.item() == pytest.approx(0.6, rel=1e-5) and b.grad.item() == pytest.approx(0.8, rel=1e-5)
    nn.clip_grad_value_([a, b], 0.7)
    assert b.grad.item() == pytest.approx(0.7)


# ---- files ----


def test_safetensors(tmp_path):
    state = {f"t.{d.name}": Tensor(np.arange(6).reshape(2, 3) % 2).cast(d) for d in dtypes.all}
    state["empty"] = Tensor(np.zeros((0, 3), np.float32))
    state["scalar"] = Tensor(2.5)
    path = tmp_path / "x.safetensors"
    safe_save(state, path)
    back = safe_load(path)
    assert set(back) == set(state)
    for k, t in state.items():
        assert back[k].dtype is t.dtype and back[k].shape == t.shape
        np.testing.assert_array_equal(back[k].numpy(), t.numpy())
    with pytest.raises(OSError):
        safe_load(tmp_path / "missing")
    (tmp_path / "bad").write_bytes(b"\xff" * 40)
    with pytest.raises((OSError, ValueError)):
        safe_load(tmp_path / "bad")
    assert os.listdir(tmp_path).count("x.safetensors") == 1


# ---- compiled steps ----


def make_problem(seed=0):
    Tensor.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    return model, nn.Adam(get_parameters(model), lr=0.05)


def train_step(model, opt, x, y):
    loss = (model(x) - y).square().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss


def test_compiled_step_is_the_eager_step(device):
    data = [(values((6, 4), seed=k), values((6, 1), seed=k + 50)) for k in range(6)]
    model, opt = make_problem()
    eager = [train_step(model, opt, Tensor(x), Tensor(y)).item() for x, y in data]
    want = {k: t.numpy() for k, t in get_state_dict(model).items()}
    model, opt = make_problem()
    x, y = Tensor(data[0][0].copy()), Tensor(data[0][1].copy())
    step = compile_step(train_step, model, opt, x, y)
    compiled = []
    for k, (a, b) in enumerate(data):
        if k % 2:
            step.run(Tensor(a), Tensor(b))
        else:
            x._data[:] = a
            y._data[:] = b
            step.run()
        compiled.append(step.loss_value())
    np.testing.assert_allclose(compiled, eager, rtol=1e-5)
    for k, t in get_state_dict(model).items():
        np.testing.assert_allclose(t.numpy(), want[k], rtol=1e-4, atol=1e-6)
    assert step.n_kernels > 0 and step.n_intermediates >= 0


def test_compiled_step_refuses_what_it_cannot_replay():
    model, opt = make_problem()
    x, y = Tensor(values((6, 4))), Tensor(values((6, 1)))
    step = compile_step(train_step, model, opt, x, y)
    with pytest.raises((ValueError, TypeError)):
        step.run(Tensor(values((5, 4))), y)
    with pytest.raises((ValueError, TypeError)):
        step.run(Tensor(values((6, 4), dtypes.float64)), y)

    def reads(model, opt, x, y):
        loss = (model(x) - y).square().mean()
        if loss.item() > 0:
            pass
        return loss

    with pytest.raises(RuntimeError):
        compile_step(reads, model, opt, x, y)


def test_compiled_step_updates_equal_buffers_each():
    """Zeros of the same shape are one value until they are changed: every batch norm still gets statistics of its own."""

    class Net(nn.Module):
        def __init__(self):
            self.a, self.b, self.c = nn.BatchNorm(3), nn.BatchNorm(3), nn.Linear(3, 1)

        def forward(self, x):
            return self.c(self.b(self.a(x).tanh() * 2 + 1))

    def train(net, opt, x):
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    def run(compiled):
        Tensor.manual_seed(0)
        Tensor.training = True
        net, x = Net(), Tensor(values((8, 3)).astype(np.float32))
        opt = nn.SGD(get_parameters(net.c), lr=0.1)
        step = compile_step(train, net, opt, x) if compiled else None
        for _ in range(3):
            step.run() if step else train(net, opt, x).realize()
        Tensor.training = False
        return numpy_of(net)

    eager, compiled = run(False), run(True)
    assert compiled["b.num_batches_tracked"] == 3
    for k in eager:
        np.testing.assert_allclose(compiled[k], eager[k], rtol=1e-4, atol=1e-6, err_msg=k)


def test_optimizer_goes_on_with_its_state(tmp_path):
    """With parameters and state in a file, the next steps are those of the first optimizer; another kind's state is refused."""

    def step(w, opt, n):
        for _ in range(n):
            (w * w * Tensor([1.0, 3.0])).sum().backward()
            opt.step()
            opt.zero_grad()

    w = Tensor([1.0, 2.0])
    opt = nn.Adam([w], lr=0.1)
    step(w, opt, 2)
    safe_save({"w": w, **opt.state_dict()}, tmp_path / "s")
    step(w, opt, 3)
    saved = safe_load(tmp_path / "s")
    v = Tensor(saved.pop("w").numpy())
    other = nn.Adam([v], lr=0.1)
    other.load_state_dict(saved)
    step(v, other, 3)
    np.testing.assert_allclose(v.numpy(), w.numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="does not fit"):
        nn.SGD([v], lr=0.1).load_state_dict(saved)


def test_learning_rate_and_dropout_in_a_compiled_step():
    p = Tensor([1.0, 1.0])
    opt = nn.SGD([p], lr=0.5)

    def f(model, opt, x):
        loss = (p * x).sum()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    step = compile_step(f, [p], opt, Tensor([1.0, 1.0]))
    assert p.tolist() == [1.0, 1.0]  # compiling changes nothing
    step.run()
    assert p.tolist() == [0.5, 0.5]
    opt.lr = 0.25
    step.run()
    assert p.tolist() == [0.25, 0.25]
    with Tensor.train():
        step = compile_step(lambda m, o, x: x.dropout(0.5).sum(), [p], opt, Tensor.ones(1000))
    seen = set()
    for _ in range(4):
        step.run()
        seen.add(step.loss_value())
    assert len(seen) > 1


def test_jit():
    calls = []

    @TinyJit
    def f(x, k=2):
        calls.append(1)
        return {"y": (x * k).realize(), "s": x.sum()}

    for n in range(5):
        out = f(Tensor([float(n), 1.0]))
        assert out["y"].tolist() == [2.0 * n, 2.0] and out["s"].item() == n + 1
    assert len(calls) == 2
    for _ in range(2):  # another size is traced once
        assert f(Tensor([1.0, 2.0, 3.0]))["y"].tolist() == [2.0, 4.0, 6.0]
    assert f(Tensor([1.0, 2.0]))["s"].item() == 3.0
    assert len(calls) == 3
    with pytest.raises(ValueError):
        f(Tensor([[1.0, 2.0]]))
    with pytest.raises(ValueError):
        f(Tensor([1, 2]))
    with pytest.raises(ValueError):
        f(Tensor([1.0, 2.0]), k=3)


def test_jit_with_state():
    total = Tensor([0.0]).realize()

    @TinyJit
    def add(x):
        return total.assign(total + x).realize()

    for n in range(1, 6):
        assert add(Tensor([1.0])).item() == n
    assert total.item() == 5.0


# ---- training ----


def test_training_lowers_the_loss(device):
    Tensor.manual_seed(0)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 2)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int32)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = nn.Adam(get_parameters(model), lr=0.05)
    xt, yt = Tensor(x), Tensor(y)

    def step(model, opt, x, y):
        loss = model(x).cross_entropy(y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    compiled = compile_step(step, model, opt, xt, yt)
    for _ in range(200):
        compiled.run()
    assert compiled.loss_value() < 0.1
    assert (model(xt).argmax(1).numpy() == y).mean() > 0.95


def test_a_compiled_function_draws_the_parameters_once():
    layer = nn.Linear(4, 4)  # its values have not been computed when the function is traced
    run = TinyJit(lambda x: layer(x).realize())
    for seed in range(4):
        x = Tensor(np.random.default_rng(seed).standard_normal((6, 4)).astype(np.float32))
        np.testing.assert_allclose(run(x).numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-6)
