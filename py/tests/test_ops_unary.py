"""Every unary function: values and dtypes on every dtype, shape, view and device."""

import math

import numpy as np
import pytest
from helpers import ALL, FLOATS, SHAPES, VIEWS, Batch, exact, tensor, values

from polygrad import Tensor, dtypes

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x, beta=1.0):
    return np.logaddexp(0, beta * x) / beta


def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


# name, reference in float64, domain, result: 'same', 'float' (integers give float32), 'bool', 'number' (bool gives int32)
UNARY = [
    ("neg", lambda x: ~x if x.dtype == bool else -x, "real", "same"),
    ("abs", np.abs, "real", "same"),
    ("sign", lambda x: x if x.dtype == bool else np.sign(x), "real", "same"),
    ("square", lambda x: x if x.dtype == bool else x * x, "real", "same"),
    ("trunc", lambda x: np.trunc(x) if x.dtype.kind == "f" else x, "wide", "same"),
    ("ceil", lambda x: np.ceil(x) if x.dtype.kind == "f" else x, "wide", "same"),
    ("floor", lambda x: np.floor(x) if x.dtype.kind == "f" else x, "wide", "same"),
    ("round", lambda x: np.round(x) if x.dtype.kind == "f" else x, "wide", "float"),
    ("logical_not", lambda x: x == 0, "real", "bool"),
    ("isnan", lambda x: np.isnan(x), "real", "bool"),
    ("isinf", lambda x: np.isinf(x), "real", "bool"),
    ("isfinite", lambda x: np.isfinite(x), "real", "bool"),
    ("relu", lambda x: np.maximum(x, 0), "real", "number"),
    ("relu6", lambda x: np.clip(x, 0, 6), "wide", "number"),
    ("sqrt", np.sqrt, "positive", "float"),
    ("rsqrt", lambda x: 1 / np.sqrt(x), "positive", "float"),
    ("reciprocal", lambda x: 1 / x, "nonzero", "float"),
    ("exp", np.exp, "real", "float"),
    ("exp2", np.exp2, "real", "float"),
    ("expm1", np.expm1, "real", "float"),
    ("log", np.log, "positive", "float"),
    ("log2", np.log2, "positive", "float"),
    ("log10", np.log10, "positive", "float"),
    ("log1p", np.log1p, "positive", "float"),
    ("sin", np.sin, "wide", "float"),
    ("cos", np.cos, "wide", "float"),
    ("tan", np.tan, "unit", "float"),
    ("asin", np.arcsin, "unit", "float"),
    ("acos", np.arccos, "unit", "float"),
    ("atan", np.arctan, "wide", "float"),
    ("sinh", np.sinh, "real", "float"),
    ("cosh", np.cosh, "real", "float"),
    ("tanh", np.tanh, "real", "float"),
    ("asinh", np.arcsinh, "wide", "float"),
    ("acosh", np.arccosh, "above1", "float"),
    ("atanh", np.arctanh, "unit", "float"),
    ("erf", erf, "real", "float"),
    ("sigmoid", sigmoid, "wide", "float"),
    ("logsigmoid", lambda x: -softplus(-x), "wide", "float"),
    ("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1), "wide", "float"),
    ("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6, "wide", "float"),
    ("gelu", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "real", "float"),
    ("quick_gelu", lambda x: x * sigmoid(1.702 * x), "real", "float"),
    ("silu", lambda x: x * sigmoid(x), "wide", "float"),
    ("mish", lambda x: x * np.tanh(softplus(x)), "wide", "float"),
    ("selu", lambda x: 1.0507 * elu(x, 1.67326), "real", "float"),
    ("softsign", lambda x: x / (1 + np.abs(x)), "wide", "float"),
    ("leaky_relu", lambda x: np.where(x > 0, x, 0.01 * x), "real", "float"),
    ("elu", lambda x: elu(x, 1.0), "real", "float"),
    ("celu", lambda x: elu(x, 1.0), "real", "float"),
    ("softplus", softplus, "wide", "float"),
    ("hardtanh", lambda x: np.minimum(x, 1) if x.dtype.kind == "u" else np.clip(x, -1, 1), "real", "number"),
]
WITH_PARAMETER = [
    ("leaky_relu", (0.3,), lambda x: np.where(x > 0, x, 0.3 * x)),
    ("elu", (0.7,), lambda x: elu(x, 0.7)),
    ("celu", (0.7,), lambda x: np.maximum(x, 0) + np.minimum(0, 0.7 * np.expm1(x / 0.7))),
    ("hardtanh", (-0.5, 1.5), lambda x: np.clip(x, -0.5, 1.5)),
    ("softplus", (2.0,), lambda x: softplus(x, 2.0)),
    ("hardsigmoid", (0.2, 0.4), lambda x: np.clip(0.2 * x + 0.4, 0, 1)),
    ("gelu", ("none",), lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))),
    ("selu", (1.0, 2.0), lambda x: 2.0 * elu(x, 1.0)),
]


def result_dtype(rule, d):
    if rule == "bool":
        return dtypes.bool
    if rule == "float":
        return d if d.kind == "f" else dtypes.float32
    if rule == "number":
        return dtypes.int32 if d.kind == "b" else d
    return d


def reference(f, a, rule, d):
    if d.kind != "f" and rule == "float":
        a = a.astype(np.float64)
    x = exact(a)
    if rule == "number" and d.kind == "b":
        x = x.astype(np.int64)
    with np.errstate(all="ignore"):
        return f(x)


def domain_of(domain, d):
    """Whole numbers need domains that hold some."""
    return {"unit": "real"}.get(domain, domain) if d.kind in "iu" and domain != "unit" else domain


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_values_and_dtypes(d, device):
    batch = Batch()
    shape = (3, 5) if device == "INTERP" else (3, 67)  # long enough for vectors and what is left over
    for name, f, domain, rule in UNARY:
        if d.kind == "b" and name in ("ceil", "floor"):
            continue  # rounding a bool is nobody's business
        a = values(shape, d, domain)
        # tan, sinh, ... of half floats lose a little in the conversions around them
        rtol = 6e-6 if d is dtypes.float32 else None
        atol = (
            {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-14}[result_dtype(rule, d).name]
            if result_dtype(rule, d).kind == "f"
            else 0
        )
        batch.add(name, lambda n=name, x=a: getattr(tensor(x, d), n)(), reference(f, a, rule, d), result_dtype(rule, d), rtol, atol)
    batch.check()


@pytest.mark.parametrize("d", [d for d in ALL if d.kind in "iub"], ids=repr)
def test_bitwise_not(d, device):
    a = values((3, 5), d, "bits")
    batch = Batch()
    batch.add("bitwise_not", lambda: tensor(a, d).bitwise_not(), ~a, d)
    batch.add("~", lambda: ~tensor(a, d), ~a, d)
    batch.check()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape):
    batch = Batch()
    for name, f, domain, rule in UNARY:
        a = values(shape, dtypes.float64, domain)
        batch.add(name, lambda n=name, x=a: getattr(tensor(x, dtypes.float64), n)(), reference(f, a, rule, dtypes.float64), atol=1e-14)
    batch.check()


@pytest.mark.parametrize("view", VIEWS, ids=lambda v: v[0])
def test_views(view, device):
    _, on_tensor, on_array = view
    batch = Batch()
    for name, f, domain, rule in UNARY[:: 1 if device == "INTERP" else 5]:
        a = values((4, 6), dtypes.float32, domain)
        want = reference(f, on_array(a), rule, dtypes.float32)
        batch.add(name, lambda n=name, x=a: getattr(on_tensor(tensor(x, dtypes.float32)), n)(), want, rtol=6e-6, atol=1e-6)
    batch.check()


@pytest.mark.parametrize("d", FLOATS, ids=repr)
def test_parameters(d, device):
    batch = Batch()
    a = values((4, 6) if device == "INTERP" else (2, 70), d, "real")
    for name, args, f in WITH_PARAMETER:
        atol = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "float64": 1e-14}[d.name]
        batch.add(name, lambda n=name, p=args: getattr(tensor(a, d), n)(*p), f(exact(a)), d, 1e-5 if d is dtypes.float32 else None, atol)
    batch.check()


def ulp_error(got, want):
    """Distance in units of the last place of float32; want is float64."""
    spacing = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    return np.abs(got.astype(np.float64) - want) / spacing


@pytest.mark.parametrize(
    "name, low, high", [("exp", -87, 88), ("log", 1e-30, 1e30), ("sin", -1e4, 1e4), ("cos", -1e4, 1e4), ("exp2", -120, 120), ("log2", 1e-6, 1e6)]
)
def test_two_ulp(name, low, high, device):
    rng = np.random.default_rng(7)
    if low > 0:
        x = np.exp(rng.uniform(math.log(low), math.log(high), 20000))
    else:
        x = rng.uniform(low, high, 20000)
    x = x.astype(np.float32)
    got = getattr(Tensor(x), name)().numpy()
    want = getattr(np, name)(x.astype(np.longdouble)).astype(np.float64)
    assert ulp_error(got, want).max() <= 2.0, name


def test_sine_of_large_arguments(device):
    """sin is exact for every finite argument, where a naive reduction modulo 2 pi has no correct digit left."""
    x = np.float32([1e5, 3.3e6, 1e8, 1e10, 2.0**60, 1e20, 1e30, 3.4e38, -1e15, 355.0, 710.0])
    want = np.array([float(_exact_sin(v)) for v in x])
    assert ulp_error(Tensor(x).sin().numpy(), want).max() <= 2.0


def _exact_sin(v):
    """sin by reduction modulo pi with 150 digits (Machin's formula)."""
    from fractions import Fraction

    def arctan_inverse(n, one):
        total = term = one // n
        k, sign = 3, -1
        while term:
            term //= n * n
            total += sign * (term // k)
            k, sign = k + 2, -sign
        return total

    one = 10**150
    pi = Fraction(4 * (4 * arctan_inverse(5, one) - arctan_inverse(239, one)), one)
    x = Fraction(float(v))
    k = round(x / pi)
    return math.sin(float(x - k * pi)) * (-1) ** k
