"""Products with rows that hold a value several times, scaled by numbers of the row: the value is multiplied once, and what is joined is not stored."""

from __future__ import annotations

import re

import numpy as np
import pytest

from polygrad import Context, Tensor, nn

RNG = np.random.default_rng(5)
ROWS, WIDE, OUT = 50, 12, 5


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def tensor(array):
    t = Tensor(array)
    t.requires_grad = True
    return t


class Net:
    """y = [x | a | s*a | a*t | -x] @ w, in float64 and as a program, with what a gradient may be asked for."""

    def __init__(self, out=OUT):
        self.array = {"x": normal(ROWS, 3), "h": normal(ROWS, WIDE), "s": normal(ROWS, 1), "t": normal(ROWS, 1), "w": normal(6 + 3 * WIDE, out)}
        self.g = normal(ROWS, out)

    def exact(self):
        v = {k: a.astype(np.float64) for k, a in self.array.items()}
        a, g = np.tanh(v["h"]), self.g.astype(np.float64)
        join = np.concatenate([v["x"], a, v["s"] * a, a * v["t"], -v["x"]], 1)
        d = g @ v["w"].T
        d0, d1, d2 = (d[:, 3 + k * WIDE : 3 + (k + 1) * WIDE] for k in range(3))
        da = d0 + v["s"] * d1 + v["t"] * d2
        return {
            "y": join @ v["w"],
            "w": join.T @ g,
            "a": da,
            "h": da * (1 - a * a),
            "s": (a * d1).sum(1, keepdims=True),
            "t": (a * d2).sum(1, keepdims=True),
            "x": d[:, :3] - d[:, -3:],
            "join": d,
            "scaled": d1,
            "y2": (join @ v["w"]) ** 2,
        }

    def program(self, shape=lambda t: t):
        v = {k: tensor(a) for k, a in self.array.items()}
        v["a"] = v["h"].tanh()
        v["scaled"] = v["s"] * v["a"]
        inner = Tensor.cat(v["a"], v["scaled"], v["a"] * v["t"], dim=-1)
        v["join"] = Tensor.cat(shape(v["x"]), shape(inner), shape(-v["x"]), dim=-1)
        v["y"] = v["join"].reshape(ROWS, -1) @ v["w"]
        return v


def close(got, want):
    assert got.shape == want.shape
    assert np.abs(got.numpy() - want).max() <= 2e-6 * np.abs(want).max()


@pytest.mark.parametrize("out", [1, OUT, WIDE, 2 * WIDE])
@pytest.mark.parametrize("shape", [lambda t: t, lambda t: t.unsqueeze(1)])
def test_value_and_gradients(device, shape, out):
    net = Net(out)
    v, want = net.program(shape), net.exact()
    close(v["y"], want["y"])
    names = ["w", "h", "s", "t", "x", "a"]
    for name, got in zip(names, (v["y"] * Tensor(net.g)).sum().gradient(*(v[k] for k in names)), strict=True):
        close(got, want[name])


@pytest.mark.parametrize("name", ["join", "scaled"])
def test_gradients_of_what_is_not_computed(device, name):
    """The joined value and a scaled part are no step on the way to the result, but have gradients, alone or beside others."""
    net = Net()
    v, want = net.program(), net.exact()
    got = (v["y"] * Tensor(net.g)).sum().gradient(v[name], v["w"], v["h"])
    for k, g in zip((name, "w", "h"), got, strict=True):
        close(g, want[k])
    v = net.program()
    v[name].realize()
    close((v["y"] * Tensor(net.g)).sum().gradient(v[name])[0], want[name])


def test_a_detached_part(device):
    """It is computed, but nothing flows back through it."""
    net = Net()
    v, d = {k: tensor(a) for k, a in net.array.items()}, net.exact()["join"]
    a = v["h"].tanh()
    join = Tensor.cat(v["x"], a, (v["s"] * a).detach(), a * v["t"], -v["x"], dim=-1)
    got = ((join @ v["w"]) * Tensor(net.g)).sum().gradient(v["s"], a, materialize_grads=True)
    close(got[0], np.zeros((ROWS, 1)))
    close(got[1], d[:, 3 : 3 + WIDE] + net.array["t"] * d[:, 3 + 2 * WIDE : 3 + 3 * WIDE])


def test_retained_gradients(device):
    import polygrad.torch as torch

    net = Net()
    v, want = {k: torch.tensor(a, requires_grad=True) for k, a in net.array.items()}, net.exact()
    a = v["h"].tanh()
    join = torch.cat([v["x"], a, v["s"] * a, a * v["t"], -v["x"]], dim=1)
    join.retain_grad()
    ((join @ v["w"]) * torch.tensor(net.g)).sum().backward()
    close(join.grad, want["join"])
    close(v["h"].grad, want["h"])


def test_second_derivative(device):
    net = Net()
    v = net.program()
    loss = (v["y"] * v["y"] * v["y"]).sum()
    first = loss.gradient(v["h"])[0]
    second = (first * first).sum().gradient(v["s"])[0]
    plain = net.program()
    wide = Tensor.stack(*(Tensor.stack(*(plain["join"][:, k] * plain["w"][k, j] for k in range(6 + 3 * WIDE))).sum(0) for j in range(OUT))).T
    first = (wide * wide * wide).sum().gradient(plain["h"])[0]
    close(second, (first * first).sum().gradient(plain["s"])[0].numpy().astype(np.float64))


@pytest.mark.parametrize("parts", [2, 4, 5])
def test_a_value_that_is_joined_itself(device, parts):
    """Several aggregations side by side: each is multiplied by itself, if they are few."""
    part, s, w, g = [normal(ROWS, 2 + k) for k in range(parts)], normal(ROWS, 1), normal(2 * sum(range(2, 2 + parts)), 4), normal(ROWS, 4)
    p, ts, tw = [tensor(a) for a in part], tensor(s), tensor(w)
    a = Tensor.cat(*(t * 2 for t in p), dim=1)
    y = Tensor.cat(a, a * ts, dim=1) @ tw
    wide = 2 * np.concatenate(part, 1).astype(np.float64)
    join = np.concatenate([wide, s * wide], 1)
    close(y, join @ w.astype(np.float64))
    got = (y * Tensor(g)).sum().gradient(tw, ts, *p)
    d = g.astype(np.float64) @ w.T
    n = wide.shape[1]
    close(got[0], join.T @ g)
    close(got[1], (wide * d[:, n:]).sum(1, keepdims=True))
    at = 0
    for k, one in enumerate(got[2:]):
        close(one, 2 * (d[:, at : at + 2 + k] + s * d[:, n + at : n + at + 2 + k]))
        at += 2 + k


def test_a_number_of_the_row_alone(device):
    """Spread over the columns, times a constant: there is no value that it scales."""
    s, a, w = normal(ROWS, 1), normal(ROWS, 3), normal(9, 2)
    wide = Tensor(s).expand(ROWS, 3)
    close(
        Tensor.cat(wide * 2.0, wide * 2.0 * Tensor(a), Tensor(a), dim=1) @ Tensor(w),
        np.concatenate([2 * s + 0 * a, 2 * s * a, a], 1).astype(np.float64) @ w,
    )


def test_zeros_and_infinities(device):
    """A number of 0 leaves a finite row 0; what is not finite stays in its row."""
    a, s, w = normal(4, 6), np.array([[0], [1], [np.inf], [2]], np.float32), normal(12, 3)
    a[3, 2] = np.nan
    got = (Tensor.cat(Tensor(a), Tensor(s) * Tensor(a), dim=1) @ Tensor(w)).numpy()
    np.testing.assert_allclose(got[:2], np.concatenate([a, s * a], 1)[:2] @ w, rtol=1e-5, atol=1e-5)
    assert not np.isfinite(got[2:]).any()


def test_what_is_joined_is_not_stored(capfd):
    """Rows of 12 copies of a value would be most of the memory of a step of training, and so would their gradient."""
    rows, copies, wide = 2048, 12, 32
    x, s = Tensor(normal(rows, wide)).realize(), [Tensor(normal(rows, 1)).realize() for _ in range(copies)]
    first, second = nn.Linear(wide, wide), nn.Linear(copies * wide, 8)
    net = nn.Sequential(first, second)

    def train(net, opt):
        opt.zero_grad()
        h = first(x).relu()
        loss = second(Tensor.cat(*(h * k for k in s), dim=-1)).square().mean()
        loss.backward()
        opt.step()
        return loss

    step = nn.compile_step(train, net, nn.SGD(nn.get_parameters(net), lr=0.01))
    with Context(DEBUG=3):
        step.run()
    found = re.search(r"memory: ([\d.]+) kB", capfd.readouterr().err)
    assert found and float(found[1]) * 1e3 < rows * copies * wide * 4 / 2


@pytest.mark.parametrize("seed", range(8))
def test_joins_of_joins(device, seed):
    """Random nestings of joins, numbers of rows and moves: the value beside numpy, gradients beside those of a join that is stored."""
    rng = np.random.default_rng(seed)
    lead = [(7,), (3, 5), (4, 1), (1, 6)][rng.integers(4)]
    given: list[np.ndarray] = []
    leaves: list[Tensor] = []

    def leaf(*shape):
        given.append(rng.standard_normal(shape).astype(np.float32))
        leaves.append(tensor(given[-1]))
        return leaves[-1], given[-1].astype(np.float64)

    values = [leaf(*lead, int(rng.integers(2, 7))) for _ in range(2)]

    def piece(depth):
        kind = rng.integers(5 if depth else 4)
        if kind == 4:
            parts = [piece(depth - 1) for _ in range(rng.integers(2, 4))]
            return Tensor.cat(*(p for p, _ in parts), dim=-1), np.concatenate([p for _, p in parts], -1)
        v, w = values[rng.integers(2)]
        for _ in range(rng.integers(3)):
            s, t = leaf(*lead, 1)
            v, w = (v * s, w * t) if rng.integers(2) else (s * v, t * w)
        return v, w

    parts = [piece(2) for _ in range(rng.integers(2, 5))]
    x, want = Tensor.cat(*(p for p, _ in parts), dim=-1), np.concatenate([p for _, p in parts], -1)
    if len(lead) == 2 and rng.integers(2):
        k = int(rng.integers(lead[1]))
        x, want = x[:, k], want[:, k]
    elif rng.integers(2):
        x, want = x.unsqueeze(-2).squeeze(-2), want
    w, w64 = leaf(x.shape[-1], int(rng.integers(1, 5)))
    y, plain = x @ w, x.contiguous() @ w
    np.testing.assert_allclose(y.numpy(), want @ w64, rtol=1e-4, atol=1e-4)
    g = Tensor(rng.standard_normal(y.shape).astype(np.float32))
    got, wanted = ((p * g).sum().gradient(*leaves, materialize_grads=True) for p in (y, plain))
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)
