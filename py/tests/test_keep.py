"""Work that does not change from step to step is done once, and again when the data it came from were written."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from polygrad import Graph, Profile, Tensor
from polygrad.autograd import current

N, E, F, O = 1000, 8000, 40, 64  # the sum over edges comes before the wider product, and is large enough to be kept
RNG = np.random.default_rng(0)
EDGES = RNG.integers(0, N, (2, E))
X = RNG.standard_normal((N, F)).astype(np.float32)
W = RNG.standard_normal((F, O)).astype(np.float32)


def own(values):
    """A tensor in memory that nobody outside knows."""
    return (Tensor(values) * 1).realize()


A = np.zeros((N, N))
np.add.at(A, (EDGES[1], EDGES[0]), 1)


def summed(x):
    return (A @ x).astype(x.dtype)


SUMS = {}  # by the array's id: the array, and its sums


def loss_of(x, w):
    if id(x) not in SUMS:
        SUMS[id(x)] = x, A @ x
    return float(((SUMS[id(x)][1] @ w) ** 2).mean())


class Loop:
    """A plain loop, whose weight halves at each step."""

    def __init__(self):
        self.g, self.x, self.w = Graph(EDGES, N), own(X), own(W)
        self.expected = W.astype(np.float64)

    def step(self, values=X):
        loss = (self.g.sum(self.g.src(self.x)) @ self.w).square().mean()
        self.w.assign(self.w * 0.5)
        got = loss.item()
        np.testing.assert_allclose(got, loss_of(values, self.expected), rtol=1e-4)
        self.w.realize()
        self.expected *= 0.5

    def kernels(self):
        with Profile() as p:
            self.step()
        return [k.name for k in p.kernels]


def edge_sums(names):
    return [n for n in names if n.startswith("sum_1000_40")]


def warm(loop, steps=20):
    for _ in range(steps):
        loop.step()


def test_a_sum_of_constant_features_is_computed_once():
    loop = Loop()
    assert edge_sums(loop.kernels())
    warm(loop)
    assert not edge_sums(loop.kernels())


def test_writing_the_features_computes_it_again():
    loop = Loop()
    warm(loop)
    for k in range(3):
        other = X + k
        loop.x.assign(Tensor(other)).realize()
        for _ in range(5):
            loop.step(other)


def test_pending_writes_and_parts_are_seen():
    loop = Loop()
    warm(loop)
    changed = X.copy()
    loop.x[3] = 7.0
    changed[3] = 7.0
    for _ in range(5):
        loop.step(changed)
    loop.x.assign(loop.x + 1)  # not computed before it is needed
    changed = changed + 1
    for _ in range(5):
        loop.step(changed)


def test_a_tensor_from_before_keeps_its_value():
    """Somebody holds the kept expression itself: overwriting its data does not change it."""
    loop = Loop()
    warm(loop)
    held = loop.g.sum(loop.g.src(loop.x))
    loop.x.assign(loop.x * 0).realize()
    zeros = X * 0
    for _ in range(12):
        loop.step(zeros)
    np.testing.assert_allclose(held.numpy(), summed(X), rtol=1e-4, atol=1e-4)


def test_writing_to_the_kept_value_itself():
    loop = Loop()
    warm(loop)
    held = loop.g.sum(loop.g.src(loop.x))
    held.assign(held * 0).realize()
    assert not held.numpy().any()
    warm(loop, 5)


def test_new_features_and_failures_in_between():
    loop = Loop()
    warm(loop, 10)
    for k in range(4):
        values = X * k
        loop.x = own(values)
        with pytest.raises(IndexError):
            (loop.x @ loop.w)[Tensor([N + 1])].numpy()
        for _ in range(5):
            loop.step(values)


def test_memory_is_given_back():
    before = current().live_bytes
    loop = Loop()
    warm(loop)
    del loop
    gc.collect()
    for k in range(300):  # any other work
        (own(np.ones(4, np.float32)) + k).realize()
    gc.collect()
    assert current().live_bytes <= before + 4096


def test_random_numbers_are_drawn_anew():
    g, x, w = Graph(EDGES, N), own(X), own(W)
    with Tensor.train():
        seen = {round((g.sum(g.src(x.dropout(0.5))) @ w).square().mean().item(), 3) for _ in range(12)}
    assert len(seen) == 12


def test_gradients_pass_a_kept_value():
    g, x, w = Graph(EDGES, N), own(X), own(W)
    grads = []
    for _ in range(16):
        w = own(W)
        w.requires_grad = True
        (g.sum(g.src(x)) @ w).square().sum().backward()
        grads.append(w.grad.numpy())
    a = summed(X.astype(np.float64))
    np.testing.assert_allclose(grads[0], 2 * a.T @ (a @ W), rtol=1e-3, atol=1.0)
    assert all((v == grads[0]).all() for v in grads)
    x.requires_grad = True  # the data themselves are asked for
    (g.sum(g.src(x)) @ w).sum().backward()
    assert x.grad.numpy().shape == (N, F) and np.isfinite(x.grad.numpy()).all()
