"""Floats of 8 bits: what each byte means, how values are rounded to them, and that they are stored, moved, saved and computed with."""

import numpy as np
import pytest

import polygrad.torch as torch
from polygrad import Tensor, dtypes
from polygrad.dtype import can_lossless_cast, float_to_fp8, fp8_to_float, least_upper_dtype
from polygrad.nn.state import safe_load, safe_save

KINDS = {"fp8e4m3": (4, 3), "fp8e5m2": (5, 2)}


def table(name):
    """The value of each of the 256 bytes, by the definition of the format."""
    exponents, mantissas = KINDS[name]
    bias, out = 2 ** (exponents - 1) - 1, []
    for byte in range(256):
        sign, exponent, mantissa = -1.0 if byte & 128 else 1.0, byte >> mantissas & 2**exponents - 1, byte & 2**mantissas - 1
        value = mantissa * 2.0 ** (1 - bias - mantissas) if exponent == 0 else (1 + mantissa / 2**mantissas) * 2.0 ** (exponent - bias)
        if name == "fp8e4m3" and byte & 127 == 127 or name == "fp8e5m2" and byte & 127 > 124:
            value = np.nan
        elif name == "fp8e5m2" and byte & 127 == 124:
            value = np.inf
        out.append(sign * value)
    return np.array(out)


def nearest(name, values):
    """The byte whose value is nearest, the even one of two; the largest finite one for what is larger."""
    finite = table(name)[:128]
    finite = finite[np.isfinite(finite)]
    size = np.minimum(np.abs(values), finite[-1])
    at = np.clip(np.searchsorted(finite, size), 1, len(finite) - 1)
    low, high = size - finite[at - 1], finite[at] - size
    return (np.where((low < high) | ((low == high) & (at % 2 == 1)), at - 1, at) | np.where(np.signbit(values), 128, 0)).astype(np.uint8)


def values():
    rng = np.random.default_rng(0)
    ends = [0.0, -0.0, 448, 463.9, 464, 480, 1e9, -1e9, 57344, 61440, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 2.0**-16, 2.0**-17, -(2.0**-17) * 1.01]
    return np.concatenate([rng.normal(size=1500) * 10.0 ** rng.integers(-7, 6, 1500), ends]).astype(np.float32)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("length", [1, 7, 256])
def test_what_bytes_mean(name, length):
    x = Tensor(np.arange(256, dtype=np.uint8)[-length:]).bitcast(name)
    assert x.dtype == name and x.element_size() == 1
    np.testing.assert_array_equal(x.numpy(), table(name)[-length:].astype(np.float32))
    np.testing.assert_array_equal((x.float() * 1).numpy(), table(name)[-length:].astype(np.float32))


@pytest.mark.parametrize("name", KINDS)
def test_rounding(name):
    v = values()
    want = nearest(name, v.astype(np.float64))
    for x in (Tensor(v), Tensor(v.astype(np.float64))):
        np.testing.assert_array_equal(x.cast(name).bitcast(dtypes.uint8).numpy(), want)
        np.testing.assert_array_equal(x.cast(name).realize().bitcast(dtypes.uint8).numpy(), want)
    np.testing.assert_array_equal(Tensor(v)[:9].cast(name).bitcast(dtypes.uint8).numpy(), want[:9])
    special = Tensor([np.inf, -np.inf, np.nan]).cast(name).numpy()
    np.testing.assert_array_equal(special, [np.nan] * 3 if name == "fp8e4m3" else [np.inf, -np.inf, np.nan])
    # a double just above the middle of two values goes up, although float32 would round it to the middle
    assert Tensor([1 + 2.0 ** -(KINDS[name][1] + 1) + 2.0**-40], dtype=dtypes.float64).cast(name).item() == 1 + 2.0 ** -KINDS[name][1]
    assert Tensor([300, -3, 17], dtype=dtypes.int32).cast(name).tolist() == table(name)[nearest(name, np.array([300.0, -3, 17]))].tolist()


@pytest.mark.parametrize("name", KINDS)
def test_arithmetic_is_that_of_float32_rounded(name):
    rng = np.random.default_rng(1)
    a, b = (Tensor((rng.uniform(0.5, 3, (9, 33)) * rng.choice([-1, 1], (9, 33))).astype(np.float32)).cast(name).realize() for _ in range(2))
    x, y = a.numpy(), b.numpy()
    for op in (lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q):
        got = op(a, b)
        assert got.dtype == name
        np.testing.assert_array_equal(got.numpy(), table(name)[nearest(name, op(x, y))].astype(np.float32))
    assert (a + 1).dtype == name and (a + b.half()).dtype == dtypes.float16 and (a < b).dtype == dtypes.bool
    np.testing.assert_array_equal((a @ b.T).numpy(), table(name)[nearest(name, x @ y.T)].astype(np.float32))
    np.testing.assert_array_equal(a.sum(1).numpy(), table(name)[nearest(name, x.sum(1))].astype(np.float32))
    assert a.max().item() == x.max() and a.min().item() == x.min() and a.argmax().item() == x.argmax()
    assert a.isfinite().all().item() and not a.isinf().any().item()


@pytest.mark.parametrize("name", KINDS)
def test_stored_and_moved(name, tmp_path):
    a = Tensor(np.random.default_rng(2).normal(size=(12, 21)).astype(np.float32)).cast(name).realize()
    x = a.numpy()
    np.testing.assert_array_equal(a.T.contiguous().numpy(), x.T)
    np.testing.assert_array_equal(a[::2, ::3].contiguous().numpy(), x[::2, ::3])
    np.testing.assert_array_equal(a[Tensor([3, 0, 3])].contiguous().numpy(), x[[3, 0, 3]])
    np.testing.assert_array_equal(a.pad(((1, 0), (0, 2))).numpy(), np.pad(x, ((1, 0), (0, 2))))
    np.testing.assert_array_equal(a.sort(1)[0].numpy(), np.sort(x, 1))
    np.testing.assert_array_equal(a.cat(a).contiguous().numpy(), np.concatenate([x, x]))
    pooled = a.reshape(1, 1, 12, 21).max_pool2d(2, padding=1).numpy()
    assert pooled.shape == (1, 1, 7, 11) and pooled[0, 0, 0, 0] == x[0, 0]
    safe_save({"a": a}, str(tmp_path / "a.safetensors"))
    back = safe_load(str(tmp_path / "a.safetensors"))["a"]
    assert back.dtype == name
    np.testing.assert_array_equal(back.bitcast(dtypes.uint8).numpy(), a.bitcast(dtypes.uint8).numpy())
    (tmp_path / "raw").write_bytes(a.bitcast(dtypes.uint8).numpy().tobytes())
    np.testing.assert_array_equal(Tensor(tmp_path / "raw", dtype=name).numpy(), x.ravel())


def test_gradients_pass_through_the_storage():
    x = Tensor([1.0, 2.0, 300.0], requires_grad=True)
    (x.cast(dtypes.fp8e4m3).float() * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_dtypes():
    assert dtypes.fp8s == (dtypes.fp8e4m3, dtypes.fp8e5m2) and all(dtypes.is_float(d) for d in dtypes.fp8s)
    assert least_upper_dtype(dtypes.fp8e4m3, dtypes.fp8e5m2) == dtypes.float16
    assert least_upper_dtype(dtypes.int64, dtypes.fp8e5m2) == dtypes.fp8e5m2
    assert can_lossless_cast(dtypes.fp8e4m3, dtypes.float16) and not can_lossless_cast(dtypes.int8, dtypes.fp8e4m3)
    assert dtypes.finfo(dtypes.fp8e4m3) == (4, 3)
    for byte in (0, 1, 0x7E, 0x85, 0xBC):
        assert all(float_to_fp8(fp8_to_float(byte, d), d) == byte for d in dtypes.fp8s[: 1 if byte == 0x7E else 2])


def test_pytorch_names(tmp_path):
    x = torch.tensor([0.3, 449.0, 1e9, -1e9, float("inf")])
    a, b = x.to(torch.float8_e4m3fn), x.to(torch.float8_e5m2)
    assert repr(a.dtype) == "torch.float8_e4m3fn" and repr(b.dtype) == "torch.float8_e5m2"
    assert a.float().tolist() == [0.3125, 448.0, 448.0, -448.0, 448.0]  # which has no infinity
    assert b.float().tolist() == [0.3125, 448.0, float("inf"), -float("inf"), float("inf")]
    assert a.view(torch.uint8).tolist()[1] == 0x7E
    assert torch.finfo(torch.float8_e4m3fn).max == 448.0 and torch.finfo(torch.float8_e5m2).max == 57344.0
    torch.save({"a": a}, tmp_path / "a.pt")
    assert torch.load(tmp_path / "a.pt")["a"].dtype == torch.float8_e4m3fn
