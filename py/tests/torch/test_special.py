"""The gamma function and its relatives, the inverse of erf, common divisors, and statistics made of them, against known values."""

import math

import numpy as np
import pytest

import polygrad.torch as torch


def test_lgamma_and_its_derivatives():
    x = torch.tensor([0.1, 0.5, 1.0, 2.0, 3.7, 12.0, 1e6, -0.5, -3.2], dtype=torch.float64)
    assert np.allclose(x.lgamma(), [math.lgamma(v) for v in x.tolist()], rtol=1e-13, atol=1e-14)
    assert torch.lgamma(torch.tensor([0.0, -2.0, math.inf])).tolist() == [math.inf] * 3
    psi = torch.digamma(torch.tensor([1.0, 0.5, -0.5], dtype=torch.float64))
    assert np.allclose(psi, [-0.5772156649015329, -1.9635100260214235, 0.03648997397857652], rtol=1e-13)
    assert torch.polygamma(1, torch.tensor([1.0], dtype=torch.float64)).item() == pytest.approx(math.pi**2 / 6, rel=1e-13)
    assert torch.polygamma(2, torch.tensor([1.0], dtype=torch.float64)).item() == pytest.approx(-2.4041138063191886, rel=1e-13)


def test_gradients_are_of_the_family():
    x = torch.tensor([0.3, 1.5, 4.0], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(x.lgamma().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert np.allclose(first.detach(), x.detach().digamma()) and np.allclose(second, x.detach().polygamma(1))


def test_erfinv():
    x = torch.tensor([-0.999, -0.3, 0.0, 1e-12, 0.7, 0.9999999], dtype=torch.float64, requires_grad=True)
    y = x.erfinv()
    assert np.allclose([math.erf(v) for v in y.tolist()], x.tolist(), rtol=1e-14, atol=1e-16)
    y.sum().backward()
    assert np.allclose(x.grad, math.sqrt(math.pi) / 2 * np.exp(y.detach().numpy() ** 2))
    assert torch.erfinv(torch.tensor([1.0, -1.0])).tolist() == [math.inf, -math.inf] and torch.tensor(1.5).erfinv().isnan()


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64])
def test_common_divisors(dtype):
    rng = np.random.default_rng(0)
    low, high = (0, 255) if dtype == torch.uint8 else (-100, 127)
    a, b = rng.integers(low, high, 50), rng.integers(low, high, 50)
    x, y = torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=dtype)
    assert torch.gcd(x, y).tolist() == np.gcd(a, b).tolist()
    assert x.gcd(torch.tensor(6, dtype=dtype)).tolist() == np.gcd(a, 6).tolist()
    if dtype == torch.int64:
        assert torch.lcm(x, y).tolist() == np.lcm(a, b).tolist()
        assert torch.gcd(torch.tensor([2**62, 1134903170]), torch.tensor([2**40, 701408733])).tolist() == [2**40, 1]  # the most steps
    with pytest.raises(RuntimeError, match="integers"):
        torch.gcd(x.float(), y)


def test_histogram_frexp_nextafter():
    x = torch.tensor([0.0, 0.5, 1.0, 3.0, 4.0])
    counts, edges = torch.histogram(x, 4)
    assert counts.tolist() == [2, 1, 0, 2] and edges.tolist() == [0, 1, 2, 3, 4]
    assert torch.histogram(x, bins=torch.tensor([0.0, 1.0, 2.0])).hist.tolist() == [2, 1]
    mantissa, exponent = torch.frexp(torch.tensor([8.0, -0.75, 0.0]))
    assert mantissa.tolist() == [0.5, -0.75, 0.0] and exponent.tolist() == [4, 0, 0]
    near = torch.nextafter(torch.tensor([1.0, 0.0, -1.0]), torch.tensor([2.0, -1.0, 0.0]))
    assert near.numpy().tolist() == np.nextafter(np.float32([1, 0, -1]), np.float32([2, -1, 0])).tolist()
    assert torch.nanquantile(torch.tensor([1.0, math.nan, 3.0]), 0.5).item() == 2.0


def test_slopes_integrals_and_runs():
    x = torch.tensor([0.0, 1.0, 4.0, 9.0])
    assert torch.gradient(x)[0].tolist() == np.gradient(x.numpy()).tolist()
    grid = torch.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]])
    assert all(np.allclose(a, b) for a, b in zip(torch.gradient(grid, spacing=2.0), np.gradient(grid.numpy(), 2.0), strict=True))
    assert torch.cumulative_trapezoid(x).tolist() == [0.5, 3.0, 9.5]
    runs = torch.tensor([1, 3])
    assert torch.segment_reduce(x, "sum", lengths=runs).tolist() == [0.0, 14.0]
    assert torch.segment_reduce(x, "max", offsets=torch.tensor([0, 1, 4])).tolist() == [0.0, 9.0]
    assert torch.constant_pad_nd(x, (1, 0), 7.0).tolist() == [7.0, 0.0, 1.0, 4.0, 9.0] and torch.fill(x, 2.0).tolist() == [2.0] * 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_erfc_keeps_its_digits(dtype):
    """1 - erf(x) has none left beyond 4 in float32, and few at 3."""
    at = [-6.0, -0.5, 0.5, 0.6, 1.0, 2.0, 3.0, 5.0, 9.0, 13.0, 30.0, math.inf, -math.inf, math.nan]
    x = torch.tensor(at, dtype=dtype, requires_grad=True)
    want = torch.tensor([math.erfc(v) for v in at], dtype=dtype)
    assert torch.allclose(torch.erfc(x), want, rtol=1e-6 if dtype is torch.float32 else 1e-13, atol=0.0, equal_nan=True)
    slope = torch.autograd.grad(torch.erfc(x)[:10].sum(), x)[0][:10]
    slopes = torch.tensor([-2 / math.sqrt(math.pi) * math.exp(-v * v) for v in at[:10]], dtype=dtype)
    assert torch.allclose(slope, slopes, rtol=1e-5, atol=0.0)
    assert torch.special.ndtr(torch.tensor(-6.0, dtype=dtype)).item() == pytest.approx(9.865876450376946e-10, rel=1e-5)


def test_ndtri_of_small_shares():
    found = torch.special.ndtri(torch.tensor([1e-6, 1e-5, 1e-4, 0.5]))
    assert found.tolist() == pytest.approx([-4.753424, -4.264891, -3.719016, 0.0], rel=1e-6)


def test_xlogy_with_numbers():
    x = torch.tensor([0.0, 1.5])
    assert torch.xlogy(x, 2.0).tolist() == pytest.approx([0.0, 1.5 * math.log(2)])
    assert torch.xlogy(x, 0.0).tolist() == [0.0, -math.inf]
    assert torch.special.xlog1py(x, 1.0).tolist() == pytest.approx([0.0, 1.5 * math.log(2)])
