"""Distributions of real numbers."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import math
from typing import Any

from ...dtypes import dtypes
from .. import functions as torch
from ..autograd import no_grad
from . import constraints as c
from .base import Distribution, parameters

_TRIES = 12  # of which a sample takes the first that is accepted; each is with probability 0.95 or more, so all fail once in 10^15


def _open_uniform(shape: Any, like: Any) -> Any:
    """Between 0 and 1, without 0."""
    return 1 - torch.rand(tuple(shape), dtype=like.dtype)


class _Scaled(Distribution):
    """loc + scale times a draw from the standard distribution."""

    arg_constraints = {"loc": c.real, "scale": c.positive}
    support = c.real
    has_rsample = True
    _given = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = parameters(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    def _standard(self, shape: Any) -> Any:
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.loc + self.scale * self._standard(self._extended(sample_shape))

    def _z(self, value: Any) -> Any:
        return (value - self.loc) / self.scale

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc


class Normal(_Scaled):
    """The normal distribution of mean loc and standard deviation scale."""

    def _standard(self, shape: Any) -> Any:
        return torch.randn(tuple(shape), dtype=self.loc.dtype)

    @property
    def stddev(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self.scale**2

    def log_prob(self, value: Any) -> Any:
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + (self._z(value) / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class LogNormal(Normal):
    """exp of a normal number."""

    support = c.positive

    def rsample(self, sample_shape: Any = ()) -> Any:
        return super().rsample(sample_shape).exp()

    @property
    def mean(self) -> Any:
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Any:
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Any:
        return (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp()

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def log_prob(self, value: Any) -> Any:
        z = (value.log() - self.loc) / self.scale
        return -0.5 * z**2 - self.scale.log() - 0.5 * math.log(2 * math.pi) - value.log()

    def cdf(self, value: Any) -> Any:
        return super().cdf(value.log())

    def icdf(self, value: Any) -> Any:
        return super().icdf(value).exp()

    def entropy(self) -> Any:
        return super().entropy() + self.loc


class HalfNormal(Distribution):
    """The size of a normal number of mean 0."""

    arg_constraints = {"scale": c.positive}
    support = c.nonnegative
    has_rsample = True
    _given = ("scale",)

    def __init__(self, scale: Any, validate_args: bool | None = None):
        (self.scale,) = parameters(scale)
        super().__init__(self.scale.shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return (self.scale * torch.randn(self._extended(sample_shape), dtype=self.scale.dtype)).abs()

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Any:
        return self.scale * 0

    @property
    def variance(self) -> Any:
        return self.scale**2 * (1 - 2 / math.pi)

    def log_prob(self, value: Any) -> Any:
        inside = 0.5 * math.log(2 / math.pi) - self.scale.log() - (value / self.scale) ** 2 / 2
        return torch.where(value >= 0, inside, -math.inf)

    def cdf(self, value: Any) -> Any:
        return (value / self.scale / math.sqrt(2)).erf()

    def icdf(self, value: Any) -> Any:
        return self.scale * math.sqrt(2) * value.erfinv()

    def entropy(self) -> Any:
        return 0.5 * math.log(math.pi / 2) + 0.5 + self.scale.log()


class Laplace(_Scaled):
    """exp(-|x - loc| / scale) / (2 scale)."""

    def _standard(self, shape: Any) -> Any:
        u = torch.rand(tuple(shape), dtype=self.loc.dtype) - 0.5
        return -u.sign() * (-2 * u.abs()).clamp(min=-1 + 1e-7).log1p()

    @property
    def variance(self) -> Any:
        return 2 * self.scale**2

    @property
    def stddev(self) -> Any:
        return math.sqrt(2) * self.scale

    def log_prob(self, value: Any) -> Any:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        z = self._z(value)
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value: Any) -> Any:
        u = value - 0.5
        return self.loc - self.scale * u.sign() * (-2 * u.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()


class Gumbel(_Scaled):
    """exp(-(z + exp(-z))) / scale, z = (x - loc) / scale."""

    def _standard(self, shape: Any) -> Any:
        return -(-_open_uniform(shape, self.loc).clamp(1e-7, 1 - 1e-7).log()).log()

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * 0.57721566490153286061

    @property
    def variance(self) -> Any:
        return math.pi**2 / 6 * self.scale**2

    def log_prob(self, value: Any) -> Any:
        z = self._z(value)
        return -(z + (-z).exp()) - self.scale.log()

    def cdf(self, value: Any) -> Any:
        return (-(-self._z(value)).exp()).exp()

    def icdf(self, value: Any) -> Any:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Any:
        return self.scale.log() + (1 + 0.57721566490153286061)


class Cauchy(_Scaled):
    """1 / (pi scale (1 + z^2)), z = (x - loc) / scale."""

    def _standard(self, shape: Any) -> Any:
        return ((_open_uniform(shape, self.loc) - 0.5) * math.pi).tan()

    @property
    def mean(self) -> Any:
        return self.loc * math.nan

    @property
    def variance(self) -> Any:
        return self.loc.ones_like() * math.inf

    def log_prob(self, value: Any) -> Any:
        return -math.log(math.pi) - self.scale.log() - (self._z(value) ** 2).log1p()

    def cdf(self, value: Any) -> Any:
        return self._z(value).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * (math.pi * (value - 0.5)).tan()

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """Between low and high."""

    arg_constraints = {"low": c.real, "high": c.real}
    has_rsample = True
    _given = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None):
        self.low, self.high = parameters(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._validate_args and not self.low._g.tracing and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low >= high")

    @property
    def support(self) -> Any:
        return c.interval(self.low, self.high)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.low + torch.rand(self._extended(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    @property
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        return self.high * math.nan

    @property
    def variance(self) -> Any:
        return (self.high - self.low) ** 2 / 12

    def log_prob(self, value: Any) -> Any:
        return torch.where((value >= self.low) & (value < self.high), -(self.high - self.low).log(), -math.inf)

    def cdf(self, value: Any) -> Any:
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()


class Exponential(Distribution):
    """rate exp(-rate x)."""

    arg_constraints = {"rate": c.positive}
    support = c.nonnegative
    has_rsample = True
    _given = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = parameters(rate)
        super().__init__(self.rate.shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return -_open_uniform(self._extended(sample_shape), self.rate).log() / self.rate

    @property
    def mean(self) -> Any:
        return 1 / self.rate

    @property
    def mode(self) -> Any:
        return self.rate * 0

    @property
    def variance(self) -> Any:
        return self.rate**-2

    @property
    def stddev(self) -> Any:
        return 1 / self.rate

    def log_prob(self, value: Any) -> Any:
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        return 1 - self.rate.log()


class Weibull(Distribution):
    """scale times the root 1/concentration of an exponential number."""

    arg_constraints = {"scale": c.positive, "concentration": c.positive}
    support = c.positive
    has_rsample = True
    _given = ("scale", "concentration")

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.scale, self.concentration = parameters(scale, concentration)
        super().__init__(self.scale.shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.scale * (-_open_uniform(self._extended(sample_shape), self.scale).log()) ** (1 / self.concentration)

    def _moment(self, k: int) -> Any:
        return self.scale**k * (1 + k / self.concentration).lgamma().exp()

    @property
    def mean(self) -> Any:
        return self._moment(1)

    @property
    def variance(self) -> Any:
        return self._moment(2) - self._moment(1) ** 2

    def log_prob(self, value: Any) -> Any:
        z = value / self.scale
        return (self.concentration / self.scale).log() + (self.concentration - 1) * z.log() - z**self.concentration


class Pareto(Distribution):
    """alpha scale^alpha / x^(alpha + 1) above scale."""

    arg_constraints = {"scale": c.positive, "alpha": c.positive}
    has_rsample = True
    _given = ("scale", "alpha")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None):
        self.scale, self.alpha = parameters(scale, alpha)
        super().__init__(self.scale.shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.scale * _open_uniform(self._extended(sample_shape), self.scale) ** (-1 / self.alpha)

    @property
    def mean(self) -> Any:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Any:
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def log_prob(self, value: Any) -> Any:
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha


def standard_gamma(concentration: Any, shape: Any) -> Any:
    """Draws of the gamma distribution of rate 1: Marsaglia and Tsang's method, several candidates at a time. Below 1 the concentration is raised by 1
    and the draw multiplied by u^(1/concentration)."""
    with no_grad():
        a = concentration.detach().double().expand(tuple(shape))
        d = torch.where(a < 1, a + 1, a) - 1 / 3
        x = torch.randn(_TRIES, *shape, dtype=dtypes.float64)
        v = (1 + x / (9 * d).sqrt()) ** 3
        u = _open_uniform((_TRIES, *shape), d)
        good = (v > 0) & (u.log() < 0.5 * x**2 + d * (1 - v + v.clamp(min=1e-300).log()))
        first = good.int().argmax(0).unsqueeze(0)
        out = d * v.gather(0, first).squeeze(0)
        low = _open_uniform(tuple(shape), d) ** (1 / a)
        out = torch.where(a < 1, out * low, out).cast(concentration.dtype)
        return out.clamp(min=torch_tiny(concentration.dtype))


def torch_tiny(dtype: Any) -> float:
    """The smallest normal number."""
    from ..info import finfo

    return finfo(dtype).tiny


class Gamma(Distribution):
    """rate^k x^(k-1) exp(-rate x) / Gamma(k), k the concentration. Samples have no gradient."""

    arg_constraints = {"concentration": c.positive, "rate": c.positive}
    support = c.nonnegative
    _given = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = parameters(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        return standard_gamma(self.concentration, self._extended(sample_shape)) / self.rate.detach()

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate**2

    def log_prob(self, value: Any) -> Any:
        value = value if hasattr(value, "xlogy") else self.rate.new_tensor(value)
        k = self.concentration
        return k.xlogy(self.rate) + (k - 1).xlogy(value) - self.rate * value - k.lgamma()

    def entropy(self) -> Any:
        k = self.concentration
        return k - self.rate.log() + k.lgamma() + (1 - k) * k.digamma()


class Chi2(Gamma):
    """The sum of df squared normal numbers."""

    def __init__(self, df: Any, validate_args: bool | None = None):
        (self.df,) = parameters(df)
        super().__init__(0.5 * self.df, self.df.ones_like() * 0.5, validate_args)

    _given = ("df",)


class Dirichlet(Distribution):
    """Shares that add up to 1. Samples have no gradient."""

    arg_constraints = {
        "concentration": c.Constraint("IndependentConstraint(GreaterThan(lower_bound=0.0), 1)", lambda x: (x > 0).all(-1), event_dim=1)
    }
    support = c.simplex
    _given = ("concentration",)

    def __init__(self, concentration: Any, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        x = standard_gamma(self.concentration, self._extended(sample_shape))
        return x / x.sum(-1, keepdim=True)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def log_prob(self, value: Any) -> Any:
        k = self.concentration
        return (k - 1).xlogy(value).sum(-1) + k.sum(-1).lgamma() - k.lgamma().sum(-1)

    def entropy(self) -> Any:
        k, total = self.concentration, self.concentration.sum(-1)
        n = k.shape[-1]
        return k.lgamma().sum(-1) - total.lgamma() - (n - total) * total.digamma() - ((k - 1) * k.digamma()).sum(-1)


class Beta(Distribution):
    """x^(a-1) (1-x)^(b-1) / B(a, b), a = concentration1, b = concentration0. Samples have no gradient."""

    arg_constraints = {"concentration1": c.positive, "concentration0": c.positive}
    support = c.unit_interval
    _given = ("concentration1", "concentration0")

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = parameters(concentration1, concentration0)
        super().__init__(self.concentration1.shape, (), validate_args)

    def _dirichlet(self) -> Dirichlet:
        return Dirichlet(torch.stack([self.concentration1, self.concentration0], -1), False)

    def sample(self, sample_shape: Any = ()) -> Any:
        return self._dirichlet().sample(sample_shape).select(-1, 0)

    @property
    def mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        return self._dirichlet().concentration.select(-1, 0).sub(1) / (self.concentration1 + self.concentration0 - 2)

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total**2 * (total + 1))

    def log_prob(self, value: Any) -> Any:
        value = value if hasattr(value, "xlogy") else self.concentration1.new_tensor(value)
        return self._dirichlet().log_prob(torch.stack([value, 1 - value], -1))

    def entropy(self) -> Any:
        return self._dirichlet().entropy()


class StudentT(Distribution):
    """A normal number divided by the root of a chi-squared one. Samples have no gradient."""

    arg_constraints = {"df": c.positive, "loc": c.real, "scale": c.positive}
    support = c.real
    _given = ("df", "loc", "scale")

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None):
        self.df, self.loc, self.scale = parameters(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended(sample_shape)
        with no_grad():
            wide = 2 * standard_gamma(0.5 * self.df, shape) / self.df
            return (self.loc + self.scale * torch.randn(tuple(shape), dtype=self.loc.dtype) * wide.rsqrt()).detach()

    @property
    def mean(self) -> Any:
        return torch.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        safe = torch.where(self.df > 2, self.df, 3.0)
        large = self.scale**2 * safe / (safe - 2)
        return torch.where(self.df > 2, large, torch.where(self.df > 1, math.inf, math.nan))

    def log_prob(self, value: Any) -> Any:
        y, df = (value - self.loc) / self.scale, self.df
        z = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (0.5 * df).lgamma() - (0.5 * (df + 1)).lgamma()
        return -0.5 * (df + 1) * (y**2 / df).log1p() - z


class MultivariateNormal(Distribution):
    """Normal vectors of mean loc, with a covariance matrix, its inverse, or its factor scale_tril."""

    arg_constraints = {"loc": c.real_vector}
    support = c.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None, validate_args: bool | None = None
    ):
        from .. import linalg

        if (covariance_matrix is not None) + (precision_matrix is not None) + (scale_tril is not None) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if precision_matrix is not None:
            covariance_matrix = linalg.inv(precision_matrix)
        factor = linalg.cholesky(covariance_matrix) if scale_tril is None else scale_tril
        batch = torch.broadcast_shapes(factor.shape[:-2], loc.shape[:-1])
        self.loc, self.scale_tril = loc.expand(*batch, loc.shape[-1]), factor.expand(*batch, *factor.shape[-2:])
        super().__init__(batch, loc.shape[-1:], validate_args)

    @property
    def covariance_matrix(self) -> Any:
        return self.scale_tril @ self.scale_tril.transpose(-1, -2)

    @property
    def precision_matrix(self) -> Any:
        from .. import linalg

        return linalg.inv(self.covariance_matrix)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return (self.scale_tril**2).sum(-1)

    def rsample(self, sample_shape: Any = ()) -> Any:
        x = torch.randn(self._extended(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self.scale_tril @ x.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Any:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        from .. import linalg

        away = (value - self.loc).unsqueeze(-1)
        factor = self.scale_tril.expand(*away.shape[:-2], *self.scale_tril.shape[-2:])
        z = linalg.solve_triangular(factor, away, upper=False).squeeze(-1)
        return -0.5 * (self.loc.shape[-1] * math.log(2 * math.pi) + (z**2).sum(-1)) - self._half_log_det()

    def entropy(self) -> Any:
        return 0.5 * self.loc.shape[-1] * (1 + math.log(2 * math.pi)) + self._half_log_det()


__all__ = [
    "Beta", "Cauchy", "Chi2", "Dirichlet", "Exponential", "Gamma", "Gumbel", "HalfNormal", "Laplace", "LogNormal", "MultivariateNormal", "Normal",
    "Pareto", "StudentT", "Uniform", "Weibull", "standard_gamma",
]  # fmt: skip
