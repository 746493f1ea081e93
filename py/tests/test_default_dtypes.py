"""dtypes.default_float and default_int: what numbers in Python become, and integers where a result is floating point."""

import os
import subprocess
import sys

import numpy as np
import pytest

from polygrad import Context, Tensor, dtypes, with_autograd_graph
from polygrad.helpers import DEFAULT_FLOAT, DEFAULT_INT


@pytest.fixture(autouse=True)
def restored():
    before = dtypes.default_float, dtypes.default_int
    yield
    dtypes.default_float, dtypes.default_int = before


FROM_INTEGERS = {
    "quotient": lambda t: t / 2, "quotient of two": lambda t: t / t, "reflected": lambda t: 7 / t, "exp": Tensor.exp, "mean": Tensor.mean,
    "number": lambda t: t + 1.5, "softmax": Tensor.softmax, "log_softmax": Tensor.log_softmax, "logsumexp": Tensor.logsumexp,
    "var": Tensor.var, "std": Tensor.std, "sigmoid": Tensor.sigmoid, "gelu": Tensor.gelu, "elu": Tensor.elu, "power": lambda t: t**0.5,
    "clamp": lambda t: t.clamp(-0.5, 1.5), "pad": lambda t: t.pad((1, 1), value=0.5), "layernorm": Tensor.layernorm, "hypot": lambda t: t.hypot(t),
    "masked_fill": lambda t: t.masked_fill(t > 1, 0.5), "pool": lambda t: t.reshape(1, 1, 3).avg_pool2d((2,)), "lerp": lambda t: t.lerp(t, 0.5),
    "logaddexp": lambda t: t.logaddexp(t), "logcumsumexp": Tensor.logcumsumexp, "where": lambda t: (t > 1).where(t, 2.5),
}  # fmt: skip


@pytest.mark.parametrize("name", FROM_INTEGERS)
@pytest.mark.parametrize("d", ["float64", "float16", "bfloat16"])
def test_integers_become_the_default_float(name, d):
    t = Tensor([1, 2, 3])
    f = FROM_INTEGERS[name]
    want = f(t.float()).numpy()
    assert f(t).dtype == dtypes.float32
    dtypes.default_float = d
    out = f(t)
    assert out.dtype == d
    np.testing.assert_allclose(out.numpy(), want, rtol=2e-2)


def test_what_is_floating_point_stays():
    dtypes.default_float = dtypes.float64
    for d in ("float16", "float32"):
        t = Tensor([1.0, 2.0], dtype=d)
        assert (t / 2).dtype == (t + 1.5).dtype == t.exp().dtype == t.mean().dtype == d
    assert (Tensor([1, 2]) + 1).dtype == Tensor([1, 2]).sum().dtype == "int32"


def test_precision_of_the_default_float():
    dtypes.default_float = dtypes.float64
    assert (Tensor([1]) / 3).item() == 1 / 3


def test_every_graph_has_it():
    with with_autograd_graph():
        dtypes.default_float = dtypes.float64
        assert (Tensor([1]) / 2).dtype == dtypes.float64
    assert (Tensor([1]) / 2).dtype == dtypes.float64
    with with_autograd_graph():
        assert (Tensor([1]) / 2).dtype == dtypes.float64


def test_as_switches():
    with Context(DEFAULT_FLOAT="HALF", DEFAULT_INT="int64"):
        assert Tensor([1.5]).dtype == (Tensor([1]) / 2).dtype == "float16" and Tensor([1]).dtype == "int64"
        assert (DEFAULT_FLOAT.value, DEFAULT_INT.value) == ("float16", "int64")
    assert Tensor([1.5]).dtype == (Tensor([1]) / 2).dtype == "float32" and Tensor([1]).dtype == "int32"


@pytest.mark.parametrize(("name", "d"), [("default_float", "int32"), ("default_float", "bool"), ("default_int", "float32")])
def test_dtypes_of_the_wrong_kind(name, d):
    with pytest.raises(TypeError, match=name):
        setattr(dtypes, name, d)
    with pytest.raises(AttributeError):
        setattr(dtypes, name, "nonsense")
    assert (dtypes.default_float, dtypes.default_int) == ("float32", "int32")


@pytest.mark.integration
def test_environment():
    text = "from polygrad import Tensor; print(Tensor([1.5]).dtype.name, (Tensor([1]) / 2).dtype.name, Tensor([1]).dtype.name)"
    env = {**os.environ, "DEFAULT_FLOAT": "HALF", "DEFAULT_INT": "INT64"}
    out = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["float16", "float16", "int64"]
    assert subprocess.run([sys.executable, "-c", text], env={**env, "DEFAULT_FLOAT": "INT32"}, capture_output=True).returncode != 0
