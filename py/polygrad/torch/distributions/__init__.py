"""torch.distributions: distributions with densities, samples and divergences, made of tensor operations.

>>> import polygrad.torch as torch
>>> from polygrad.torch.distributions import Normal, kl_divergence
>>> p, q = Normal(torch.zeros(2), torch.ones(2)), Normal(torch.ones(2), torch.ones(2))
>>> p.rsample().shape, kl_divergence(p, q).tolist()
(torch.Size([2]), [0.5, 0.5])
"""

from __future__ import annotations

from .._modules import same as _same
from . import constraints, transforms
from .base import Distribution, Independent
from .composed import HalfCauchy, InverseGamma, LogisticNormal, MixtureSameFamily, NegativeBinomial, TransformedDistribution
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
from .transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    IndependentTransform,
    PowerTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

# PyTorch has a file for each distribution, torch.distributions.normal and so on: each is this package, under that name too.
_FILES = [
    "bernoulli", "beta", "binomial", "categorical", "cauchy", "chi2", "dirichlet", "distribution", "exponential", "gamma", "geometric", "gumbel",
    "half_cauchy", "half_normal", "independent", "inverse_gamma", "kl", "laplace", "log_normal", "logistic_normal", "mixture_same_family",
    "multinomial", "negative_binomial", "transformed_distribution", "multivariate_normal", "normal", "one_hot_categorical", "pareto",
    "poisson", "relaxed_bernoulli", "relaxed_categorical", "studentT", "uniform", "weibull",
]  # fmt: skip
globals().update(dict.fromkeys(_FILES, _same(__name__, *_FILES)))

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ComposeTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "Gamma", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "IndependentTransform", "InverseGamma", "Laplace", "LogNormal", "LogisticNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PowerTransform",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform",
    "StudentT", "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "Weibull", "constraints", "identity_transform",
    "kl_divergence", "register_kl", "transforms",
]  # fmt: skip
