"""torch.distributions against formulas, torch.func and nn.utils.prune against what they are made of."""

import math

import numpy as np
import pytest

import polygrad.torch as torch
import polygrad.torch.distributions as D
import polygrad.torch.nn.utils.prune as prune

P = torch.tensor([0.2, 0.5, 0.8])


def grid(low, high, n=4001):
    return torch.linspace(low, high, n, dtype=torch.float64)


@pytest.mark.parametrize(
    "made, low, high",
    [
        (lambda: D.Normal(torch.tensor(0.3, dtype=torch.float64), 0.7), -8, 8), (lambda: D.LogNormal(torch.tensor(0.1, dtype=torch.float64), 0.4), 1e-9, 12),
        (lambda: D.Laplace(torch.tensor(0.3, dtype=torch.float64), 0.5), -14, 14), (lambda: D.Gumbel(torch.tensor(0.3, dtype=torch.float64), 0.7), -6, 20),
        (lambda: D.Gamma(torch.tensor(2.5, dtype=torch.float64), 1.5), 1e-9, 30), (lambda: D.Beta(torch.tensor(2.5, dtype=torch.float64), 3.5), 1e-9, 1 - 1e-9),
        (lambda: D.Exponential(torch.tensor(1.5, dtype=torch.float64)), 0, 20), (lambda: D.Uniform(torch.tensor(-1.0, dtype=torch.float64), 2.0), -1, 2 - 1e-9),
        (lambda: D.StudentT(torch.tensor(9.0, dtype=torch.float64), 0.2, 0.5), -15, 15), (lambda: D.Weibull(torch.tensor(1.2, dtype=torch.float64), 2.0), 1e-9, 9),
        (lambda: D.HalfNormal(torch.tensor(0.7, dtype=torch.float64)), 0, 7),
    ],
)  # fmt: skip
def test_densities(made, low, high):
    """They integrate to 1, and their moments and entropies are those that the classes state."""
    d, x = made(), grid(low, high)
    p = d.log_prob(x).exp().numpy()
    x = x.numpy()
    assert np.trapezoid(p, x) == pytest.approx(1, abs=2e-3)
    mean = np.trapezoid(x * p, x)
    assert mean == pytest.approx(float(d.mean), abs=4e-3)
    assert np.trapezoid((x - mean) ** 2 * p, x) == pytest.approx(float(d.variance), rel=1e-2)
    if type(d).entropy is not D.Distribution.entropy:
        assert -np.trapezoid(p * np.log(np.maximum(p, 1e-300)), x) == pytest.approx(float(d.entropy()), abs=4e-3)


def test_classes_and_counts():
    c = D.Categorical(logits=P.log())
    assert np.allclose(c.probs, P / 1.5) and np.allclose(c.log_prob(torch.tensor([0, 2])), np.log([0.2 / 1.5, 0.8 / 1.5]))
    assert c.sample((5,)).shape == (5,) and c.sample().dtype == torch.long
    assert np.allclose(D.Bernoulli(P).log_prob(torch.tensor([1.0, 0.0, 1.0])), np.log([0.2, 0.5, 0.8]), atol=1e-6)
    k = torch.arange(60, dtype=torch.float64)
    for d in (
        D.Poisson(torch.tensor(4.0, dtype=torch.float64)),
        D.Binomial(7, torch.tensor(0.3, dtype=torch.float64)),
        D.Geometric(torch.tensor(0.4, dtype=torch.float64)),
    ):
        values = k[:8] if isinstance(d, D.Binomial) else k
        p = d.log_prob(values).exp()
        assert float(p.sum()) == pytest.approx(1, abs=1e-9) and float((p * values).sum()) == pytest.approx(float(d.mean), abs=1e-6)
    with pytest.raises(ValueError, match="not both"):
        D.Bernoulli(P, P)
    with pytest.raises(ValueError, match="scale of Normal"):
        D.Normal(0.0, -1.0)


def test_samples_have_the_moments():
    torch.manual_seed(0)
    for d in (
        D.Gamma(torch.full((3000,), 0.6), 2.0),
        D.Gamma(torch.full((3000,), 3.0), 2.0),
        D.Poisson(torch.full((3000,), 2.5)),
        D.Beta(torch.full((3000,), 2.0), 3.0),
    ):
        x = d.sample()
        mean, variance = float(d.mean[0]), float(d.variance[0])
        assert float(x.mean()) == pytest.approx(mean, abs=5 * math.sqrt(variance / 3000))
        assert float(x.var()) == pytest.approx(variance, rel=0.25)


def test_samples_and_divergences_have_gradients():
    loc, scale = torch.zeros(4, requires_grad=True), torch.ones(4, requires_grad=True)
    p, q = D.Normal(loc, scale), D.Normal(torch.ones(4), 2 * torch.ones(4))
    p.rsample((100,)).mean().backward()
    assert np.allclose(loc.grad, 0.25)
    kl = D.kl_divergence(D.Independent(p, 1), D.Independent(q, 1))
    assert float(kl) == pytest.approx(4 * (math.log(2) + 2 / 8 - 0.5), rel=1e-6)
    with pytest.raises(NotImplementedError, match="KL"):
        D.kl_divergence(p, D.Cauchy(0.0, 1.0))


def test_func():
    x = torch.tensor([1.0, 2.0])
    assert torch.func.grad(lambda t: (t**3).sum())(x).tolist() == [3.0, 12.0]
    assert torch.func.grad(torch.func.grad(lambda t: t**3))(torch.tensor(2.0)).item() == 12.0
    assert torch.func.hessian(lambda t: (t**3).sum())(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    value, slope = torch.func.jvp(lambda t: t**2, (x,), (torch.tensor([1.0, 10.0]),))
    assert value.tolist() == [1.0, 4.0] and slope.tolist() == [2.0, 40.0]
    layer = torch.nn.Linear(2, 1)
    out = torch.func.functional_call(layer, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, (x,))
    assert out.tolist() == [3.0] and layer.weight.requires_grad


def test_prune():
    layer = torch.nn.Linear(2, 2, bias=False)
    layer.weight.data.copy_(torch.tensor([[1.0, -2.0], [3.0, -4.0]]))
    prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    assert layer.weight.tolist() == [[0.0, 0.0], [3.0, -4.0]] and [n for n, _ in layer.named_parameters()] == ["weight_orig"]
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert layer(torch.ones(1, 2)).tolist() == [[0.0, -2.0]]  # a pruned weight does not learn
    prune.remove(layer, "weight")
    assert layer.weight.tolist() == [[0.0, 0.0], [2.5, -4.5]] and not prune.is_pruned(layer)


def test_a_loop_over_many_rows_warns():
    from polygrad import SlowWarning, Tensor, _meaning

    _meaning._warned.discard("rows")
    with pytest.warns(SlowWarning, match="rows of a tensor"):
        next(iter(Tensor.zeros(2000)))


def test_transformed():
    """Densities of transformed distributions are those of the values mapped back, times the change of volume."""
    from polygrad.torch.distributions import transforms as t

    x = torch.tensor([0.1, 0.3, 0.7])
    base = torch.distributions.Normal(torch.zeros(3), torch.full((3,), 2.0))
    maps = (t.ExpTransform(), t.SigmoidTransform(), t.TanhTransform(), t.AffineTransform(1.0, -2.0), t.SoftplusTransform(), t.PowerTransform(2.0))
    for f in maps:
        z = x.clone().requires_grad_()
        y = f(z)
        y.sum().backward()
        np.testing.assert_allclose(f.inv(y.detach()).numpy(), x.numpy(), rtol=1e-5, err_msg=str(f))
        np.testing.assert_allclose(f.log_abs_det_jacobian(x, y.detach()).numpy(), np.log(np.abs(z.grad.numpy())), atol=1e-5, err_msg=str(f))
        d = torch.distributions.TransformedDistribution(base, [f])
        want = base.log_prob(x) - z.grad.abs().log()
        np.testing.assert_allclose(d.log_prob(y.detach()).numpy(), want.numpy(), atol=1e-5, err_msg=str(f))
    whole = torch.distributions.TransformedDistribution(
        torch.distributions.Independent(base, 1), [t.TanhTransform(cache_size=1), t.AffineTransform(0.0, 2.0)]
    )
    drawn = whole.rsample()
    assert whole.event_shape == (3,) and torch.isfinite(whole.log_prob(drawn)).all() and bool((drawn.abs() < 2).all())
    assert whole.log_prob(drawn).shape == ()


def test_parts_of_one():
    f = torch.distributions.StickBreakingTransform()
    x = torch.tensor([0.2, -0.4], requires_grad=True)
    y = f(x)
    assert y.sum().item() == pytest.approx(1) and f.inv(y).tolist() == pytest.approx([0.2, -0.4], abs=1e-5)
    rows = np.stack([torch.autograd.grad(y[k], x, retain_graph=True)[0].numpy() for k in range(2)])
    assert f.log_abs_det_jacobian(x, y).item() == pytest.approx(np.log(abs(np.linalg.det(rows))), abs=1e-5)
    d = torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2))
    assert d.event_shape == (3,) and d.sample((4,)).sum(-1).tolist() == pytest.approx([1] * 4, abs=1e-5)


def test_mixtures():
    part = torch.distributions.Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
    m = torch.distributions.MixtureSameFamily(torch.distributions.Categorical(torch.tensor([0.2, 0.8])), part)
    p = lambda x: 0.2 * np.exp(-x * x / 2) / np.sqrt(2 * np.pi) + 0.8 * np.exp(-((x - 1) ** 2) / 8) / np.sqrt(8 * np.pi)  # noqa: E731
    assert m.log_prob(torch.tensor(0.3)).item() == pytest.approx(np.log(p(0.3)), rel=1e-5)
    assert m.mean.item() == pytest.approx(0.8) and m.variance.item() == pytest.approx(0.2 + 0.8 * 4 + 0.2 * 0.64 + 0.8 * 0.04)
    assert m.sample((7,)).shape == (7,)
    wide = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(3, 2, 4), torch.ones(3, 2, 4)), 1)
    m = torch.distributions.MixtureSameFamily(torch.distributions.Categorical(torch.ones(3, 2)), wide)
    assert m.sample((5,)).shape == (5, 3, 4) and m.log_prob(torch.zeros(3, 4)).shape == (3,) and m.event_shape == (4,)


def test_counts_and_sizes():
    n = torch.distributions.NegativeBinomial(torch.tensor(3.0), torch.tensor(0.4))
    ks = torch.arange(200).float()
    p = n.log_prob(ks).exp().numpy()
    assert p.sum() == pytest.approx(1, abs=1e-5) and (p * ks.numpy()).sum() == pytest.approx(n.mean.item(), rel=1e-4)
    h = torch.distributions.HalfCauchy(torch.tensor(2.0))
    assert h.cdf(torch.tensor(2.0)).item() == pytest.approx(0.5) and h.icdf(torch.tensor(0.5)).item() == pytest.approx(2, rel=1e-5)
    assert h.log_prob(torch.tensor(1.0)).item() == pytest.approx(np.log(2 / (np.pi * 2 * 1.25)), rel=1e-5)
    g = torch.distributions.InverseGamma(torch.tensor(3.0), torch.tensor(2.0))
    assert g.mean.item() == pytest.approx(1) and g.log_prob(torch.tensor(0.5)).item() == pytest.approx(np.log(8 / 2 * 16) - 4, rel=1e-5)
