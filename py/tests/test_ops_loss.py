"""Losses against their formulas."""

import numpy as np
import pytest
from helpers import FLOATS, Batch, exact, tensor, values

from polygrad import Tensor, dtypes

MODES = {"mean": np.mean, "sum": np.sum, "none": lambda x: x}


def log_softmax(x, axis):
    m = x.max(axis, keepdims=True)
    return x - m - np.log(np.exp(x - m).sum(axis, keepdims=True))


def cross_entropy(x, y, smoothing=0.0, ignore=-100, mode="mean"):
    """Class indices; classes on axis 1."""
    log = log_softmax(x.astype(np.float64), 1)
    n = x.shape[1]
    keep = y != ignore
    safe = np.where(keep, y, 0)
    picked = np.take_along_axis(log, np.expand_dims(safe, 1), 1).squeeze(1)
    each = -((1 - smoothing) * picked + smoothing * log.mean(1)) * keep
    assert n > 0
    return each.sum() / keep.sum() if mode == "mean" else MODES[mode](each)


def test_cross_entropy(device):
    batch = Batch()
    for shape in ((6, 4), (3, 4, 5), (2, 4, 3, 2)):
        x = values(shape)
        y = np.random.default_rng(0).integers(0, 4, (shape[0], *shape[2:]))
        for mode in MODES:
            for smoothing in (0.0, 0.2):
                want = cross_entropy(x, y, smoothing, mode=mode)
                batch.add(
                    f"{shape} {mode} {smoothing}",
                    lambda x=x, y=y, m=mode, s=smoothing: Tensor(x).cross_entropy(Tensor(y), m, s),
                    want,
                    dtypes.float32,
                    2e-5,
                    1e-5,
                )
        y2 = y.copy()
        y2.flat[0] = -100
        batch.add(f"{shape} ignored", lambda x=x, y=y2: Tensor(x).cross_entropy(Tensor(y)), cross_entropy(x, y2), dtypes.float32, 2e-5, 1e-5)
        y3 = np.where(y == 1, 1, y)
        batch.add(
            f"{shape} ignored 1",
            lambda x=x, y=y3: Tensor(x).cross_entropy(Tensor(y), ignore_index=1),
            cross_entropy(x, y3, ignore=1),
            dtypes.float32,
            2e-5,
            1e-5,
        )
    x, p = values((5, 4)), values((5, 4), domain="positive", seed=1)
    p = (p / p.sum(1, keepdims=True)).astype(np.float32)
    for mode, f in MODES.items():
        each = -(exact(p) * log_softmax(exact(x), 1)).sum(1)
        batch.add(f"probabilities {mode}", lambda m=mode: Tensor(x).cross_entropy(Tensor(p), m), f(each), dtypes.float32, 2e-5, 1e-5)
        soft = 0.9 * exact(p) + 0.1 / 4
        each = -(soft * log_softmax(exact(x), 1)).sum(1)
        batch.add(f"smooth probabilities {mode}", lambda m=mode: Tensor(x).cross_entropy(Tensor(p), m, 0.1), f(each), dtypes.float32, 2e-5, 1e-5)
    v = values((4,))
    batch.add("vector", lambda: Tensor(v).cross_entropy(Tensor(2)), -log_softmax(exact(v), 0)[2], dtypes.float32, 2e-5, 1e-5)
    z = values((3, 5, 4))
    y = np.random.default_rng(0).integers(0, 4, (3, 5))
    want = cross_entropy(z.transpose(0, 2, 1), y)
    batch.add("sparse", lambda: Tensor(z).sparse_categorical_crossentropy(Tensor(y)), want, dtypes.float32, 2e-5, 1e-5)
    batch.check()


@pytest.mark.parametrize("d", FLOATS, ids=repr)
def test_elementwise_losses(d, device):
    batch = Batch()
    a, b = values((4, 5), d), values((4, 5), d, seed=1)
    x, y = exact(a), exact(b)
    tol = {"float16": 5e-3, "bfloat16": 4e-2, "float32": 1e-5, "float64": 1e-12}[d.name]
    for mode, f in MODES.items():
        e = x - y
        huber = np.where(np.abs(e) <= 0.8, 0.5 * e * e, 0.8 * (np.abs(e) - 0.4))
        batch.add(f"mse {mode}", lambda m=mode: tensor(a, d).mse_loss(tensor(b, d), m), f(e * e), d, 2 * tol, tol)
        batch.add(f"l1 {mode}", lambda m=mode: tensor(a, d).l1_loss(tensor(b, d), m), f(np.abs(e)), d, tol, tol)
        batch.add(f"huber {mode}", lambda m=mode: tensor(a, d).huber_loss(tensor(b, d), 0.8, m), f(huber), d, tol, 2 * tol)
        p, t = values((4, 5), d, "positive") / 5, values((4, 5), d, "positive", seed=2) / 5
        p, t = exact(tensor(p, d).numpy()), exact(tensor(t, d).numpy())
        bce = -(t * np.log(p) + (1 - t) * np.log(1 - p))
        batch.add(
            f"bce {mode}",
            lambda m=mode, p=p, t=t: tensor(p.astype(d.np or np.float32), d).binary_crossentropy(tensor(t.astype(d.np or np.float32), d), m),
            f(bce),
            d,
            4 * tol,
            2 * tol,
        )
        logits = np.logaddexp(0, x) - x * t
        batch.add(
            f"bce logits {mode}",
            lambda m=mode, t=t: tensor(a, d).binary_crossentropy_logits(tensor(t.astype(d.np or np.float32), d), m),
            f(logits),
            d,
            4 * tol,
            2 * tol,
        )
    batch.check()


def test_more_losses(device):
    batch = Batch()
    x = log_softmax(exact(values((6, 4))), 1).astype(np.float32)
    y = np.random.default_rng(0).integers(0, 4, 6)
    w = values((4,), domain="positive")
    picked = -x[np.arange(6), y].astype(np.float64)
    for mode, f in MODES.items():
        batch.add(f"nll {mode}", lambda m=mode: Tensor(x).nll_loss(Tensor(y), reduction=m), f(picked), dtypes.float32, 1e-5, 1e-6)
        weighted = picked * w[y]
        want = weighted.sum() / w[y].sum() if mode == "mean" else f(weighted)
        batch.add(f"nll weights {mode}", lambda m=mode: Tensor(x).nll_loss(Tensor(y), Tensor(w), reduction=m), want, dtypes.float32, 1e-5, 1e-6)
        kept = picked * (y != 2)
        want = kept.sum() / (y != 2).sum() if mode == "mean" else f(kept)
        batch.add(f"nll ignore {mode}", lambda m=mode: Tensor(x).nll_loss(Tensor(y), ignore_index=2, reduction=m), want, dtypes.float32, 1e-5, 1e-6)
    a, t, pw = exact(values((5, 3))), exact(values((5, 3), domain="positive", seed=1)) / 5, exact(values((3,), domain="positive"))
    want = (-(pw * t * -np.logaddexp(0, -a) + (1 - t) * -np.logaddexp(0, a))).mean()
    batch.add("bce pos_weight", lambda: Tensor(a).binary_crossentropy_logits(Tensor(t), pos_weight=Tensor(pw)), want, dtypes.float64, 1e-10)
    far = np.float64([1e3, -1e3])
    batch.add("bce far", lambda: Tensor(far).binary_crossentropy_logits(Tensor([0.0, 1.0]), reduction="none"), [1e3, 1e3], None, 1e-6)
    batch.check()


def test_errors():
    with pytest.raises(ValueError) as e:
        Tensor.ones(3, 4).cross_entropy(Tensor([0, 1]))
    assert "(3, 4)" in str(e.value) and "(2,)" in str(e.value)
    with pytest.raises(ValueError):
        Tensor.ones(3, 4).mse_loss(Tensor.ones(3, 4), reduction="median")
    with pytest.raises(IndexError):
        Tensor.ones(3, 4).cross_entropy(Tensor([0, 4, 1])).item()
