"""kl_divergence(p, q): the expectation of log p(x) - log q(x) under p."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import math
from typing import Any, Callable

from .. import functions as torch
from .base import Distribution, Independent
from .continuous import Beta, Dirichlet, Exponential, Gamma, Laplace, MultivariateNormal, Normal, Uniform
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson, _clamped

_KL: dict[tuple[type, type], Callable[..., Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: this function is the divergence of distributions of these classes."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        _KL[type_p, type_q] = function
        return function

    return keep


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The divergence of p from q."""
    found = [(p_at, q_at) for p_at in type(p).__mro__ for q_at in type(q).__mro__ if (p_at, q_at) in _KL]
    if not found:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return _KL[found[0]](p, q)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    a, b = p.probs, _clamped(q.probs)
    return a.xlogy(a / b) + (1 - a).xlogy((1 - a) / (1 - b))


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    return p.total_count * _bernoulli(p, q)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    t = p.probs * (p.logits - q.logits)
    return torch.where(p.probs == 0, 0.0, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p, q)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    away, ratio = (p.loc - q.loc).abs(), p.scale / q.scale
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b, total = p.concentration, q.concentration, p.concentration.sum(-1)
    sizes = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return sizes + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet(), q._dirichlet())


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    inside = (q.low <= p.low) & (q.high >= p.high)
    return torch.where(inside, ((q.high - q.low) / (p.high - p.low)).log(), math.inf)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Any:
    from .. import linalg

    n = p.event_shape[0]
    mixed = linalg.solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    away = linalg.solve_triangular(q.scale_tril, (q.loc - p.loc).unsqueeze(-1), upper=False)
    return q._half_log_det() - p._half_log_det() + 0.5 * ((mixed**2).sum((-2, -1)) + (away**2).sum((-2, -1)) - n)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the two take different numbers of axes as parts of a sample")
    return p._summed(kl_divergence(p.base_dist, q.base_dist))


__all__ = ["kl_divergence", "register_kl"]
