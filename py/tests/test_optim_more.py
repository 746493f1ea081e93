"""Optimizers against their formulas written with numpy, in float64; groups, settings that change, closures and state."""

import numpy as np
import pytest

from polygrad import Tensor, nn
from polygrad.nn import optim

START = np.array([[1.0, -2.0, 0.5], [0.3, 0.0, -1.0]])
PULL = np.array([[1.0, 2.0, 0.5], [-1.0, 0.3, 4.0]])


def gradient(p):
    return 2 * PULL * p + np.cos(p)


def run(make, steps=7):
    p = Tensor(START.copy(), requires_grad=True)
    opt = make([p])
    for _ in range(steps):
        opt.zero_grad()
        (Tensor(PULL) * p * p + p.sin()).sum().backward()
        opt.step()
    return p.numpy()


def reference(rule, steps=7, **s):
    p, state = START.copy(), {}
    for t in range(1, steps + 1):
        p = rule(p, gradient(p), state, t, **s)
    return p


def sgd(p, g, s, t, lr, mu, damp, wd):
    g = g + wd * p
    s["m"] = g if t == 1 else mu * s["m"] + (1 - damp) * g
    return p - lr * s["m"]


def moments(s, g, b1=0.9, b2=0.999):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    return s["m"], s["v"]


def amsgrad(p, g, s, t, lr, wd, decoupled):
    if decoupled:
        p = p * (1 - lr * wd)
    else:
        g = g + wd * p
    m, v = moments(s, g)
    s["most"] = np.maximum(s.get("most", 0), v)
    return p - lr / (1 - 0.9**t) * m / (np.sqrt(s["most"]) / np.sqrt(1 - 0.999**t) + 1e-8)


def adamax(p, g, s, t, lr):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0), abs(g) + 1e-8)
    return p - lr / (1 - 0.9**t) * s["m"] / s["u"]


def nadam(p, g, s, t, lr):
    m, v = moments(s, g)
    mu, after = (0.9 * (1 - 0.5 * 0.96 ** (k * 4e-3)) for k in (t, t + 1))
    s["product"] = s.get("product", 1.0) * mu
    below = np.sqrt(v / (1 - 0.999**t)) + 1e-8
    return p - lr * ((1 - mu) / (1 - s["product"]) * g + after / (1 - s["product"] * after) * m) / below


def radam(p, g, s, t, lr):
    m, v = moments(s, g)
    last = 2 / (1 - 0.999) - 1
    rho = last - 2 * t * 0.999**t / (1 - 0.999**t)
    m = m / (1 - 0.9**t)
    if rho <= 5:
        return p - lr * m
    r = np.sqrt((rho - 4) * (rho - 2) * last / ((last - 4) * (last - 2) * rho))
    return p - lr * m * r * np.sqrt(1 - 0.999**t) / (np.sqrt(v) + 1e-8)


def rmsprop(p, g, s, t, lr):
    s["v"] = 0.99 * s.get("v", 0) + 0.01 * g * g
    s["a"] = 0.99 * s.get("a", 0) + 0.01 * g
    s["m"] = 0.9 * s.get("m", 0) + g / (np.sqrt(s["v"] - s["a"] ** 2) + 1e-8)
    return p - lr * s["m"]


def adagrad(p, g, s, t, lr, decay, first):
    s["sum"] = s.get("sum", first) + g * g
    return p - lr / (1 + (t - 1) * decay) * g / (np.sqrt(s["sum"]) + 1e-10)


def adadelta(p, g, s, t, lr):
    s["v"] = 0.9 * s.get("v", 0) + 0.1 * g * g
    d = np.sqrt(s.get("a", 0) + 1e-6) / np.sqrt(s["v"] + 1e-6) * g
    s["a"] = 0.9 * s.get("a", 0) + 0.1 * d * d
    return p - lr * d


def rprop(p, g, s, t, lr):
    turn = g * s.get("g", 0)
    s["size"] = np.clip(s.get("size", lr) * np.where(turn > 0, 1.2, np.where(turn < 0, 0.5, 1.0)), 1e-6, 50)
    s["g"] = np.where(turn < 0, 0.0, g)
    return p - np.sign(s["g"]) * s["size"]


def asgd(p, g, s, t, lr, lambd):
    eta = s.get("eta", lr)
    s["eta"] = lr / (1 + lambd * lr * t) ** 0.75
    return p * (1 - lambd * eta) - eta * g


def lars(p, g, s, t, lr):
    a, b = np.linalg.norm(p), np.linalg.norm(g)
    g = (g + 0.1 * p) * (0.01 * a / (b + 0.1 * a)) * lr
    s["m"] = 0.9 * s.get("m", 0) + g
    return p - s["m"]


CASES = {
    "SGD": (lambda p: optim.SGD(p, 0.05, 0.9, 0.1, dampening=0.3), sgd, {"lr": 0.05, "mu": 0.9, "damp": 0.3, "wd": 0.1}),
    "Adam": (lambda p: optim.Adam(p, 0.1, weight_decay=0.1, amsgrad=True), amsgrad, {"lr": 0.1, "wd": 0.1, "decoupled": False}),
    "AdamW": (lambda p: optim.AdamW(p, 0.1, weight_decay=0.1, amsgrad=True), amsgrad, {"lr": 0.1, "wd": 0.1, "decoupled": True}),
    "Adamax": (lambda p: optim.Adamax(p, 0.1), adamax, {"lr": 0.1}),
    "NAdam": (lambda p: optim.NAdam(p, 0.1), nadam, {"lr": 0.1}),
    "RAdam": (lambda p: optim.RAdam(p, 0.1), radam, {"lr": 0.1}),
    "RMSprop": (lambda p: optim.RMSprop(p, 0.01, momentum=0.9, centered=True), rmsprop, {"lr": 0.01}),
    "Adagrad": (lambda p: optim.Adagrad(p, 0.1, 0.2, initial_accumulator_value=0.5), adagrad, {"lr": 0.1, "decay": 0.2, "first": 0.5}),
    "Adadelta": (lambda p: optim.Adadelta(p), adadelta, {"lr": 1.0}),
    "Rprop": (lambda p: optim.Rprop(p, 0.05), rprop, {"lr": 0.05}),
    "ASGD": (lambda p: optim.ASGD(p, 0.05, 0.01), asgd, {"lr": 0.05, "lambd": 0.01}),
    "LARS": (lambda p: optim.LARS(p, 0.1, weight_decay=0.1, tcoef=0.01), lars, {"lr": 0.1}),
}


@pytest.mark.parametrize("name", CASES)
def test_formula(name):
    make, rule, settings = CASES[name]
    np.testing.assert_allclose(run(make), reference(rule, **settings), rtol=1e-9, atol=1e-12)


def test_maximize_goes_up():
    up = run(lambda p: optim.Adam(p, 0.01, maximize=True), 3)
    p, s = START.copy(), {}
    for t in range(1, 4):
        p = amsgrad(p, -gradient(p), s, t, 0.01, 0.0, False)
    np.testing.assert_allclose(up, p, rtol=1e-9)


def test_muon_is_orthogonal():
    w = Tensor(np.random.default_rng(0).standard_normal((6, 4)), requires_grad=True)
    before = w.numpy()
    opt = optim.Muon([w], lr=1.0, momentum=0.0, nesterov=False, weight_decay=0.0, ns_steps=30, ns_coefficients=(1.5, -0.5, 0.0))
    (w * w).sum().backward()
    opt.step()
    step = before - w.numpy()
    np.testing.assert_allclose(step.T @ step, np.eye(4), atol=1e-6)


def test_sparse_adam_leaves_other_rows_alone():
    table = Tensor(np.ones((4, 2)), requires_grad=True)
    opt = optim.SparseAdam([table], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        (table[Tensor([1, 3])] * 2).sum().backward()
        opt.step()
    out = table.numpy()
    assert out[[0, 2]].tolist() == [[1.0, 1.0]] * 2 and (out[[1, 3]] < 0.81).all()


def test_lbfgs_finds_the_minimum():
    for search in (None, "strong_wolfe"):
        w = Tensor(np.array([-1.5, 2.0]), requires_grad=True)
        opt = optim.LBFGS([w], lr=1.0 if search else 0.1, max_iter=60, line_search_fn=search)

        def closure():
            opt.zero_grad()
            loss = ((w[0] - 1) ** 2 + 3 * (w[1] + w[0] ** 2) ** 2).sum()
            loss.backward()
            return loss

        first = opt.step(closure).item()
        for _ in range(0 if search else 4):
            opt.step(closure)
        assert first > 1 and float(closure()) < 1e-6, search


def test_groups_settings_and_closures():
    a, b = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    opt = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5, "momentum": 0.9}], lr=0.1)
    assert [g["momentum"] for g in opt.param_groups] == [0.0, 0.9]

    def closure():
        opt.zero_grad()
        loss = (a + b).sum()
        loss.backward()
        return loss

    assert opt.step(closure).item() == 2.0
    np.testing.assert_allclose([a.item(), b.item()], [0.9, 0.5], rtol=1e-6)
    opt.param_groups[0]["weight_decay"] = 1.0
    opt.param_groups[0]["momentum"] = 0.5  # there was none: the state for it is made
    opt.step(closure)
    np.testing.assert_allclose(a.item(), 0.9 - 0.1 * 1.9, rtol=1e-6)
    opt.step(closure)
    np.testing.assert_allclose(a.item(), 0.71 - 0.1 * (0.5 * 1.9 + 1.71), rtol=1e-6)
    with pytest.raises(ValueError, match="more than one"):
        opt.add_param_group({"params": [a]})
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.Adam([])
    with pytest.raises(TypeError, match="iterable"):
        optim.Adam(a)
    assert optim.SGD(nn.Linear(1, 1).named_parameters(), lr=0.1).lr == 0.1


def test_state_dict_keeps_settings():
    w = Tensor([1.0], requires_grad=True)
    a = optim.Adam([w], lr=0.1)
    (w * w).sum().backward()
    a.step()
    a.param_groups[0]["lr"] = 0.025
    b = optim.Adam([w], lr=0.1)
    b.load_state_dict(a.state_dict())
    assert b.lr == 0.025 and a.state_dict()["param_groups"][0]["eps"] == 1e-8
    assert [t.tolist() for t in a.state_dict().values()] == [t.tolist() for t in b.state_dict().values()]


def test_zero_grad_to_zeros():
    w = Tensor([1.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1)
    (w * w).sum().backward()
    opt.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0]
    opt.zero_grad()
    assert w.grad is None
