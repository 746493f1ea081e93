"""Random programs: what fusion, scheduling and index arithmetic make of them must be what numpy computes step by step."""

import numpy as np
import pytest

from polygrad import Tensor


class Program:
    """A pool of (tensor, array) pairs that random operations extend. Values stay small, so float64 compares well."""

    def __init__(self, seed, wide=False):
        self.rng = np.random.default_rng(seed)
        self.wide = wide  # last axes that are long enough for vectors
        self.pool = []
        self.log = []
        for _ in range(3):
            self.leaf()

    def leaf(self):
        shape = tuple(int(v) for v in self.rng.integers(1, 5, self.rng.integers(1, 4)))
        if self.wide:
            shape = (*shape[:-1], int(self.rng.choice([8, 16, 33, 67])))
        a = self.rng.uniform(-2, 2, shape)
        self.push(Tensor(a.copy()), a, f"leaf{shape}")

    def push(self, t, a, label):
        assert t.shape == a.shape, (label, t.shape, a.shape, self.log)
        if a.size <= (20000 if self.wide else 3000) and a.ndim <= 5:
            self.pool.append((t, a))
            self.log.append(f"{len(self.pool) - 1}: {label} {a.shape}")

    def pick(self):
        k = int(self.rng.integers(max(0, len(self.pool) - 8), len(self.pool)))
        return (k, *self.pool[k])

    def step(self):
        names = ["unary", "unary", "binary", "binary", "reduce", "reduce", "permute", "reshape", "shrink", "pad", "flip", "expand", "cat", "softmax", "matmul", "gather",
                 "where", "index_add", "cumsum", "norm", "contiguous", "slice"]  # fmt: skip
        getattr(self, "op_" + str(self.rng.choice(names)))()

    def op_unary(self):
        k, t, a = self.pick()
        name = str(self.rng.choice(["sin", "tanh", "abs", "relu", "neg", "sigmoid", "square1", "exp1"]))
        table = {
            "square1": (lambda x: (x * 0.5).square(), lambda x: (x * 0.5) ** 2), "exp1": (lambda x: x.clamp(-3, 1).exp(), lambda x: np.exp(np.clip(x, -3, 1))),
            "sigmoid": (lambda x: x.sigmoid(), lambda x: 1 / (1 + np.exp(-x))), "relu": (lambda x: x.relu(), lambda x: np.maximum(x, 0)), "neg": (lambda x: -x, lambda x: -x),
        }  # fmt: skip
        f, g = table.get(name, (lambda x: getattr(x, name)(), getattr(np, name, None)))
        self.push(f(t), g(a), f"{name}({k})")

    def op_binary(self):
        k, t, a = self.pick()
        j, u, b = self.pick()
        try:
            np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            u, b = u.sum(), b.sum()
        name = str(self.rng.choice(["add", "sub", "mul", "max"]))
        f = {
            "add": (lambda x, y: x + y, np.add),
            "sub": (lambda x, y: x - y, np.subtract),
            "mul": (lambda x, y: x * y * 0.5, lambda x, y: x * y * 0.5),
            "max": (lambda x, y: x.maximum(y), np.maximum),
        }[name]
        self.push(f[0](t, u), f[1](a, b), f"{name}({k}, {j})")

    def op_reduce(self):
        k, t, a = self.pick()
        axes = tuple(int(v) for v in np.flatnonzero(self.rng.random(a.ndim) < 0.5)) or None
        keep = bool(self.rng.random() < 0.5)
        name = str(self.rng.choice(["mean", "max", "min", "sum"]))
        if a.size == 0:
            return
        self.push(getattr(t, name)(axes, keep), np.asarray(getattr(np, name)(a, axes, keepdims=keep)), f"{name}({k}, {axes}, {keep})")

    def op_permute(self):
        k, t, a = self.pick()
        order = [int(v) for v in self.rng.permutation(a.ndim)]
        self.push(t.permute(*order) if order else t, a.transpose(order), f"permute({k}, {order})")

    def op_reshape(self):
        k, t, a = self.pick()
        if a.size == 0:
            return
        divisors = [d for d in range(1, a.size + 1) if a.size % d == 0]
        d = int(self.rng.choice(divisors))
        e = int(self.rng.choice([x for x in divisors if (a.size // d) % x == 0]))
        self.push(t.reshape(d, e, -1), a.reshape(d, e, -1), f"reshape({k}, {d}, {e}, -1)")

    def op_shrink(self):
        k, t, a = self.pick()
        r = []
        for n in a.shape:
            lo = int(self.rng.integers(0, n)) if n else 0
            r.append((lo, int(self.rng.integers(lo + 1, n + 1)) if n else 0))
        self.push(t.shrink(tuple(r)) if r else t, a[tuple(slice(*p) for p in r)], f"shrink({k}, {r})")

    def op_slice(self):
        k, t, a = self.pick()
        key = tuple(slice(None, None, int(self.rng.choice([1, 2, -1, -2]))) for _ in a.shape)
        self.push(t[key], a[key], f"slice({k}, {key})")

    def op_pad(self):
        k, t, a = self.pick()
        p = [tuple(int(v) for v in self.rng.integers(0, 3, 2)) for _ in a.shape]
        value = float(self.rng.choice([0.0, 1.5]))
        self.push(t.pad(tuple(p), value=value) if p else t, np.pad(a, p, constant_values=value) if p else a, f"pad({k}, {p}, {value})")

    def op_flip(self):
        k, t, a = self.pick()
        if a.ndim:
            axis = int(self.rng.integers(a.ndim))
            self.push(t.flip(axis), np.flip(a, axis), f"flip({k}, {axis})")

    def op_expand(self):
        k, t, a = self.pick()
        n = int(self.rng.integers(1, 4))
        self.push(t.unsqueeze(0).expand(n, *a.shape), np.broadcast_to(a, (n, *a.shape)), f"expand({k}, {n})")

    def op_cat(self):
        k, t, a = self.pick()
        if a.ndim:
            axis = int(self.rng.integers(a.ndim))
            self.push(t.cat(t.flip(axis) * 2, dim=axis), np.concatenate([a, np.flip(a, axis) * 2], axis), f"cat({k}, {axis})")

    def op_softmax(self):
        k, t, a = self.pick()
        if a.ndim and a.size:
            axis = int(self.rng.integers(a.ndim))
            e = np.exp(a - a.max(axis, keepdims=True))
            self.push(t.softmax(axis), e / e.sum(axis, keepdims=True), f"softmax({k}, {axis})")

    def op_norm(self):
        k, t, a = self.pick()
        if a.ndim and a.size:
            self.push(t.layernorm(eps=0.1), (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 0.1), f"layernorm({k})")

    def op_matmul(self):
        k, t, a = self.pick()
        if a.ndim >= 2 and a.size:
            w = self.rng.uniform(-1, 1, (a.shape[-1], int(self.rng.integers(1, 4))))
            if self.rng.random() < 0.5:
                self.push(t @ Tensor(w.copy()) * 0.3, a @ w * 0.3, f"matmul({k})")
            else:
                self.push(t @ t.transpose(-1, -2) * 0.3, a @ a.swapaxes(-1, -2) * 0.3, f"matmul({k}, {k}.T)")

    def op_gather(self):
        k, t, a = self.pick()
        if a.ndim and a.size:
            axis = int(self.rng.integers(a.ndim))
            i = self.rng.integers(0, a.shape[axis], int(self.rng.integers(1, 6)))
            self.push(t.index_select(axis, Tensor(i)), np.take(a, i, axis), f"index_select({k}, {axis}, {i.tolist()})")

    def op_index_add(self):
        k, t, a = self.pick()
        if a.ndim and a.size:
            i = self.rng.integers(0, a.shape[0], 3)
            src = self.rng.uniform(-1, 1, (3, *a.shape[1:]))
            want = a.copy()
            np.add.at(want, i, src)
            self.push(t.index_add(0, Tensor(i), Tensor(src.copy())), want, f"index_add({k}, {i.tolist()})")

    def op_where(self):
        k, t, a = self.pick()
        j, u, b = self.pick()
        if a.shape == b.shape:
            self.push((t > u).where(t, u * 2), np.where(a > b, a, b * 2), f"where({k}, {j})")

    def op_cumsum(self):
        k, t, a = self.pick()
        if a.ndim:
            axis = int(self.rng.integers(a.ndim))
            self.push(t.cumsum(axis) * 0.5, np.cumsum(a, axis) * 0.5, f"cumsum({k}, {axis})")

    def op_contiguous(self):
        k, t, a = self.pick()
        self.push(t.contiguous(), a, f"contiguous({k})")

    def check(self, count=3):
        picks = {int(v) for v in self.rng.integers(0, len(self.pool), count)} | {len(self.pool) - 1}
        ts = [self.pool[k][0] for k in picks]
        try:
            ts[0].realize(*ts[1:])
        except Exception as e:
            raise AssertionError(f"{e}\noutputs {sorted(picks)}\n" + "\n".join(self.log)) from e
        for k in picks:
            t, a = self.pool[k]
            np.testing.assert_allclose(t.numpy(), a, rtol=1e-9, atol=1e-9, err_msg=f"output {k} of {sorted(picks)}\n" + "\n".join(self.log))


def run(seed, steps, wide=False):
    p = Program(seed, wide)
    for _ in range(steps):
        p.step()
    p.check()
    return p


@pytest.mark.parametrize("block", range(20))
def test_programs(block):
    for seed in range(block * 10, block * 10 + 10):
        run(seed, 4 + seed % 12)


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_programs_compiled(seed, cpu):
    run(seed, 6 + seed % 10, wide=seed % 2 == 1)


@pytest.mark.parametrize("block", range(10))
def test_gradients_of_programs(block):
    """The gradient of a sum of outputs, along a random direction, is a difference quotient."""
    for seed in range(block * 4, block * 4 + 4):
        p = Program(seed + 5000)
        leaves = list(p.pool)
        for _ in range(6 + seed % 6):
            p.step()
        root = p.pool[-1][0]
        loss = (root * root).mean()
        grads = loss.gradient(*[t for t, _ in leaves], materialize_grads=True)
        loss.realize(*grads)
        for (_, a), g in zip(leaves, grads):
            assert g.shape == a.shape and np.isfinite(g.numpy()).all(), "\n".join(p.log)
