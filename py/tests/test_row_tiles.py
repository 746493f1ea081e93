"""Wide values by tiles of rows: attention and a loss over many classes beside numpy, with their gradients, and the memory that they take."""

import numpy as np
import pytest

from polygrad import Tensor

RNG = np.random.default_rng(3)
HEADS, TOKENS, WIDTH = 4, 512, 16  # scores of 4 MB, from which on they are wide


def arrays(*shapes):
    return [RNG.standard_normal(s).astype(np.float32) for s in shapes]


def softmax(s):
    seen = np.isfinite(s).any(-1, keepdims=True)
    top = np.where(seen, s.max(-1, keepdims=True), 0)
    e = np.exp(s - top)
    return e / np.where(seen, e.sum(-1, keepdims=True), 1)


def reference(q, k, v, g, bias):
    """The result and the gradients of sum(result * g), in float64."""
    q, k, v, g = (a.astype(np.float64) for a in (q, k, v, g))
    scale = q.shape[-1] ** -0.5
    p = softmax(q @ k.swapaxes(-1, -2) * scale + bias)
    dp = g @ v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    return p @ v, ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g


def attention(options, tensors):
    q, k, v, g, *mask = tensors
    for t in (q, k, v):
        t.requires_grad = True
    out = q.scaled_dot_product_attention(k, v, *mask, **options)
    grads = (out * g).sum().gradient(q, k, v)
    graph = q._g
    graph.reset_peak()
    before = graph.live_bytes
    Tensor.realize(out, *grads)
    return [t.numpy() for t in (out, *grads)], graph.peak_bytes - before


@pytest.mark.parametrize("kind", ["causal", "bool", "batch"])
def test_attention_and_its_gradients(kind):
    lead = (2, 2) if kind == "batch" else (1, HEADS)
    q, k, v, g = arrays(*[(*lead, TOKENS, WIDTH)] * 4)
    mask, bias, options = [], 0.0, {}
    if kind == "causal":
        options, bias = {"is_causal": True}, np.where(np.tri(TOKENS, dtype=bool), 0.0, -np.inf)
    elif kind == "bool":
        seen = RNG.random((TOKENS, TOKENS)) < 0.7
        seen[5] = False  # a query that sees nothing
        mask, bias = [seen], np.where(seen, 0.0, -np.inf)
    else:
        bias = arrays((TOKENS, TOKENS))[0]
        mask = [bias]
    got, peak = attention(options, [Tensor(a).realize() for a in (q, k, v, g, *mask)])
    for a, b in zip(got, reference(q, k, v, g, bias)):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
    # of one head at a time, not of all: scores, weights, and their gradients
    assert peak < 4 * TOKENS * TOKENS * 4 + 16 * q.nbytes


@pytest.mark.parametrize("kind", ["window", "ahead", "behind a step"])
def test_rows_that_see_some_of_the_columns(kind):
    """A mask computed from positions: whole bands of it are left out, where that is known to change nothing."""
    q, k, v, g = arrays(*[(HEADS, TOKENS, WIDTH)] * 2, *[(HEADS, TOKENS, WIDTH)] * 2)
    at, to = np.arange(TOKENS)[:, None], np.arange(TOKENS)[None, :]
    i, j = Tensor.arange(TOKENS).reshape(TOKENS, 1), Tensor.arange(TOKENS).reshape(1, TOKENS)
    seen = {"window": (to <= at) & (to > at - 100), "ahead": at <= to, "behind a step": to + 50 < at}[kind]
    mask = {"window": lambda: (j <= i) & (i - 100 < j), "ahead": lambda: i <= j, "behind a step": lambda: j + 50 < i}[kind]()
    got, peak = attention({"attn_mask": mask}, [Tensor(a).realize() for a in (q, k, v, g)])
    for a, b in zip(got, reference(q, k, v, g, np.where(seen, 0.0, -np.inf))):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
    assert peak < 4 * TOKENS * TOKENS * 4 + 16 * q.nbytes


def test_queries_and_keys_of_different_number():
    q, k, v, g = arrays((3, 700, 16), (3, 600, 16), (3, 600, 8), (3, 700, 8))
    got, _ = attention({}, [Tensor(a).realize() for a in (q, k, v, g)])
    for a, b in zip(got, reference(q, k, v, g, 0.0)):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def test_a_loss_over_many_classes_stores_no_logits():
    """Two results of one loop: a value of each row, and sums over all rows that are carried along."""
    rows, width, classes = 512, 24, 6000
    x, w = arrays((rows, width), (width, classes))
    y = RNG.integers(0, classes, rows)
    tx, tw, ty = (Tensor(a).realize() for a in (x, w, y))
    tx.requires_grad = tw.requires_grad = True
    loss = ((tx @ tw).logsumexp(1) - (tx * tw.transpose()[ty]).sum(1)).mean()
    grads = loss.gradient(tx, tw)
    tx._g.reset_peak()
    before = tx._g.live_bytes
    Tensor.realize(loss, *grads)
    assert tx._g.peak_bytes - before < 7 * 2**20 + 6 * (x.nbytes + w.nbytes) < rows * classes * 4
    loss, dx, dw = (t.numpy() for t in (loss, *grads))
    s = x.astype(np.float64) @ w
    p = softmax(s)
    np.testing.assert_allclose(loss, (np.log(np.exp(s - s.max(1, keepdims=True)).sum(1)) + s.max(1) - s[np.arange(rows), y]).mean(), rtol=1e-5)
    p[np.arange(rows), y] -= 1
    np.testing.assert_allclose(dx, p @ w.T / rows, rtol=2e-4, atol=2e-6)
    np.testing.assert_allclose(dw, x.T @ p / rows, rtol=2e-4, atol=2e-6)


def test_weights_that_are_asked_for_are_stored():
    q, k, v = arrays(*[(HEADS, TOKENS, WIDTH)] * 3)

    tq, tk, tv = (Tensor(a).realize() for a in (q, k, v))
    weights = (tq @ tk.transpose(-1, -2)).softmax(-1)
    result = weights @ tv
    Tensor.realize(weights, result)
    p, out = weights.numpy(), result.numpy()
    want = softmax(q.astype(np.float64) @ k.swapaxes(-1, -2))
    np.testing.assert_allclose(p, want, rtol=2e-4, atol=2e-6)
    np.testing.assert_allclose(out, want @ v, rtol=2e-4, atol=2e-5)
