"""Products with an operand that is nearly all zeros take another way: it must give what the dense way gives, on every layout."""

import numpy as np
import pytest

import polygrad.nn.functional as F
from polygrad import Context, Tensor

RNG = np.random.default_rng(0)


def features(rows, columns, share=0.01):
    x = np.where(RNG.random((rows, columns)) < share, RNG.normal(size=(rows, columns)), 0).astype(np.float32)
    x[rows // 2] = 0
    x[:, columns - 1] = RNG.normal(size=rows)  # the last column is no whole vector
    return x


def close(a, b):
    return np.allclose(a.numpy(), b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("width", [4, 7, 16, 65])
def test_every_layout(cpu, width):
    """x W, W^T x^T's gradient forms: the zeros on the left by rows and by columns, on the right; the other operand either way round."""
    x = features(701, 523)
    w, g = RNG.normal(size=(523, width)).astype(np.float32), RNG.normal(size=(701, width)).astype(np.float32)
    X, W, G, WT, GT = (Tensor(np.ascontiguousarray(a)).realize() for a in (x, w, g, w.T, g.T))
    assert close(X @ W, x @ w) and close(X @ WT.transpose(), x @ w)
    assert close(X.transpose() @ G, x.T @ g) and close(X.transpose() @ GT.transpose(), x.T @ g)
    assert close(G.transpose() @ X, g.T @ x) and close(GT @ X, g.T @ x)


def test_a_guess_may_be_wrong(cpu):
    """Rows that were not looked at may be full."""
    x = features(701, 523)
    x[1:40] = RNG.normal(size=(39, 523))
    w = RNG.normal(size=(523, 8)).astype(np.float32)
    assert close(Tensor(x) @ Tensor(w), x @ w)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_zero_times_infinity_is_still_seen(cpu, bad):
    x, w = features(701, 523), RNG.normal(size=(523, 8)).astype(np.float32)
    w[3, 2] = bad
    out = (Tensor(x) @ Tensor(w)).numpy()
    assert not np.isfinite(out[:, 2]).any() and np.isfinite(out[:, [0, 1, 3, 4, 5, 6, 7]]).all()
    y = x.copy()
    y[5, 7] = bad  # among the zeros themselves
    out = (Tensor(y) @ Tensor(np.ones((523, 8), np.float32))).numpy()
    assert not np.isfinite(out[5]).any() and np.isfinite(np.delete(out, 5, 0)).all()


def test_threads_change_no_bit(cpu):
    x, w, g = features(701, 523), RNG.normal(size=(523, 16)).astype(np.float32), RNG.normal(size=(701, 16)).astype(np.float32)
    found = []
    for threads in (1, 2, 3):
        with Context(THREADS=threads):
            found.append(((Tensor(x) @ Tensor(w)).numpy(), (Tensor(g).transpose() @ Tensor(x)).numpy()))
    for out, grad in found[1:]:
        assert np.array_equal(out, found[0][0]) and np.array_equal(grad, found[0][1])


def test_gradients(cpu):
    x, w = features(701, 523), RNG.normal(size=(9, 523)).astype(np.float32)
    X, W = Tensor(x), Tensor(w, requires_grad=True)
    (F.linear(X, W).square() * 0.5).sum().backward()
    assert np.allclose(W.grad.numpy(), (x @ w.T).T @ x, rtol=1e-3, atol=1e-2)
