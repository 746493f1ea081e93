"""Rows that are selected are computed alone: values, gradients and errors are those of selecting from the whole."""

from __future__ import annotations

import numpy as np
import pytest

from polygrad import Profile, Tensor

N, K, F = 600, 64, 64  # products of this size are worth it
PICK = np.random.default_rng(1).permutation(N)[:50]


def arrays():
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s).astype(np.float32) / 8 for s in [(N, K), (K, F), (F,)]]


def head(x, w, b, kind):
    h = x @ w + b
    return {"plain": lambda: h, "log_softmax": lambda: h.log_softmax(1), "softmax": lambda: (h * 2).softmax(-1), "norm": lambda: h.layernorm(),
            "relu": lambda: h.relu() @ w, "cat": lambda: Tensor.cat(h, x, dim=1), "var": lambda: h.var(1, keepdim=True) + h}[kind]()  # fmt: skip


KINDS = ["plain", "log_softmax", "softmax", "norm", "relu", "cat", "var"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["index", "mask", "take"])
def test_values_and_gradients(kind, by):
    x, w, b = arrays()
    order = np.sort(PICK) if by == "mask" else PICK
    mask = np.zeros(N, bool)
    mask[PICK] = True

    def select(y):
        return y[Tensor(mask)] if by == "mask" else y[Tensor(PICK)] if by == "index" else y.index_select(0, Tensor(PICK))

    results = []
    for whole in (False, True):
        tensors = [Tensor(v, requires_grad=True) for v in (x, w, b)]
        y = head(*tensors, kind)
        if whole:  # a stored value is gathered as it is
            rows = y.realize()[Tensor(order)]
        else:
            rows = select(y)
        loss = (rows * rows * Tensor(np.arange(rows.shape[1], dtype=np.float32))).sum()
        loss.backward()
        results.append([rows.numpy(), *[t.grad.numpy() for t in tensors]])
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)


def test_fewer_rows_are_computed():
    x, w, b = (Tensor(v).realize() for v in arrays())
    with Profile() as p:
        head(x, w, b, "plain")[Tensor(PICK)].realize()
    assert sum(k.flops for k in p.kernels) < 2 * N * K * F


def test_index_is_checked():
    x, w, b = (Tensor(v) for v in arrays())
    with pytest.raises(IndexError):
        head(x, w, b, "log_softmax")[Tensor([0, N])].numpy()


def test_random_rows_are_those_of_the_whole():
    """A dropout below the selection has the values that the whole tensor would have."""
    x, w, b = (Tensor(v).realize() for v in arrays())
    rows = []
    for whole in (False, True):
        Tensor.manual_seed(3)
        with Tensor.train():
            y = head(x.dropout(0.5), w, b, "plain")
        rows.append((y.realize() if whole else y)[Tensor(PICK)].numpy())
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-4, atol=1e-5)


def test_a_product_that_is_needed_whole_is_computed_once():
    x, w, b = (Tensor(v).realize() for v in arrays())
    h = head(x, w, b, "plain")
    with Profile() as p:
        rows = (h + h.flip(0))[Tensor(PICK)].realize()
    assert sum(k.flops for k in p.kernels) < 1.05 * 2 * N * K * F
    whole = h.numpy()
    np.testing.assert_allclose(rows.numpy(), (whole + whole[::-1])[PICK], rtol=1e-4, atol=1e-5)
