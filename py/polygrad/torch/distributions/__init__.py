"""torch.distributions: distributions with densities, samples and divergences, made of tensor operations.

>>> import polygrad.torch as torch
>>> from polygrad.torch.distributions import Normal, kl_divergence
>>> p, q = Normal(torch.zeros(2), torch.ones(2)), Normal(torch.ones(2), torch.ones(2))
>>> p.rsample().shape, kl_divergence(p, q).tolist()
(torch.Size([2]), [0.5, 0.5])
"""

from __future__ import annotations

from .._modules import same as _same
from . import constraints
from .base import Distribution, Independent
from .continuous import (
    Beta,
    Cauchy,
    Chi2,
    Dirichlet,
    Exponential,
    Gamma,
    Gumbel,
    HalfNormal,
    Laplace,
    LogNormal,
    MultivariateNormal,
    Normal,
    Pareto,
    StudentT,
    Uniform,
    Weibull,
)
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from .divergence import kl_divergence, register_kl

# PyTorch has a file for each distribution, torch.distributions.normal and so on: each is this package, under that name too.
_FILES = [
    "bernoulli", "beta", "binomial", "categorical", "cauchy", "chi2", "dirichlet", "distribution", "exponential", "gamma", "geometric", "gumbel",
    "half_normal", "independent", "kl", "laplace", "log_normal", "multinomial", "multivariate_normal", "normal", "one_hot_categorical", "pareto",
    "poisson", "relaxed_bernoulli", "relaxed_categorical", "studentT", "uniform", "weibull",
]  # fmt: skip
globals().update(dict.fromkeys(_FILES, _same(__name__, *_FILES)))

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential", "Gamma", "Geometric", "Gumbel",
    "HalfNormal", "Independent", "Laplace", "LogNormal", "Multinomial", "MultivariateNormal", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "Uniform", "Weibull",
    "constraints", "kl_divergence", "register_kl",
]  # fmt: skip
