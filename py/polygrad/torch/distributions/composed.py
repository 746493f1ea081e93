"""Distributions that are made of others: transformed ones, mixtures, and those that are such a thing by another name."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import math
from typing import Any

from .. import functions as torch
from ..autograd import no_grad
from . import constraints as c
from .base import Distribution, Independent, parameters
from .continuous import Cauchy, Gamma, Normal
from .discrete import Categorical, poisson
from .transforms import ComposeTransform, StickBreakingTransform, Transform, _summed


class TransformedDistribution(Distribution):
    """What values of a distribution become by a map, or by several one after another."""

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None):
        self.transforms: list[Transform] = [transforms] if isinstance(transforms, Transform) else list(transforms)
        whole = ComposeTransform(self.transforms)
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        forward = tuple(whole.forward_shape(shape))
        base_distribution = (
            base_distribution.expand(forward[: len(base_distribution.batch_shape)]) if len(forward) > len(shape) else base_distribution
        )
        axes = max([len(base_distribution.event_shape), *(t.codomain.event_dim for t in self.transforms)])
        needed = axes - len(base_distribution.event_shape)
        self.base_dist: Any = Independent(base_distribution, needed) if needed > 0 else base_distribution
        cut = len(forward) - axes
        super().__init__(forward[:cut], forward[cut:], False)

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:
        return self.transforms[-1].codomain if self.transforms else self.base_dist.support

    def _mapped(self, x: Any) -> Any:
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return self._mapped(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._mapped(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        axes, total, y = len(self.event_shape), 0.0, value
        for t in reversed(self.transforms):
            x = t._back(y)
            axes += t.domain.event_dim - t.codomain.event_dim
            total = total - _summed(t.log_abs_det_jacobian(x, y), axes - t.domain.event_dim)
            y = x
        return total + _summed(self.base_dist.log_prob(y), axes - len(self.base_dist.event_shape))

    def _turned(self) -> Any:
        return math.prod(t.sign for t in self.transforms)

    def cdf(self, value: Any) -> Any:
        for t in reversed(self.transforms):
            value = t._back(value)
        p, sign = self.base_dist.cdf(value), self._turned()
        return p if isinstance(sign, int) and sign == 1 else sign * (p - 0.5) + 0.5

    def icdf(self, value: Any) -> Any:
        sign = self._turned()
        return self._mapped(self.base_dist.icdf(value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MixtureSameFamily(Distribution):
    """One of several distributions, which lie along the last axis of the batch, chosen by a Categorical."""

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The mixture distribution must be an instance of Categorical")
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        shape = tuple(component_distribution.batch_shape)
        if int(mixture_distribution.logits.shape[-1]) != shape[-1]:
            raise ValueError(f"{mixture_distribution.logits.shape[-1]} weights do not fit {shape[-1]} components")
        self._n = len(component_distribution.event_shape)
        super().__init__(shape[:-1], component_distribution.event_shape, False)

    @property
    def support(self) -> Any:
        return self.component_distribution.support

    def _weights(self) -> Any:
        p = self.mixture_distribution.probs
        return p.reshape(*p.shape, *[1] * self._n)

    @property
    def mean(self) -> Any:
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._n)

    @property
    def variance(self) -> Any:
        p, part = self._weights(), self.component_distribution
        between = (p * (part.mean - self.mean.unsqueeze(-1 - self._n)) ** 2).sum(-1 - self._n)
        return (p * part.variance).sum(-1 - self._n) + between

    def _spread(self, value: Any) -> Any:
        return value.unsqueeze(-1 - self._n)

    def log_prob(self, value: Any) -> Any:
        each = self.component_distribution.log_prob(self._spread(value))
        return (each + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, value: Any) -> Any:
        return (self.component_distribution.cdf(self._spread(value)) * self.mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            values = self.component_distribution.sample(sample_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            axis = len(tuple(sample_shape)) + len(self.batch_shape)
            place = chosen.reshape(*chosen.shape, *[1] * (1 + self._n)).expand(*chosen.shape, 1, *self.event_shape)
            return values.gather(axis, place).squeeze(axis)


class NegativeBinomial(Distribution):
    """Successes of probability probs before total_count failures."""

    arg_constraints = {"total_count": c.nonnegative, "probs": c.unit_interval}
    support = c.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is None:
            self.total_count, self.logits = parameters(total_count, logits)
            self.probs = self.logits.sigmoid()
        else:
            self.total_count, self.probs = parameters(total_count, probs)
            self.logits = self.probs.log() - (-self.probs).log1p()
        super().__init__(self.probs.shape, (), validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return poisson(Gamma(self.total_count, (-self.logits).exp()).sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        n, x = self.total_count, self.logits
        log = lambda v: v.clamp(max=0) - (-v.abs()).exp().log1p()  # noqa: E731
        return n * log(-x) + value * log(x) + (n + value).lgamma() - (1 + value).lgamma() - n.lgamma()


class HalfCauchy(Distribution):
    """The size of a Cauchy number of scale `scale`."""

    arg_constraints = {"scale": c.positive}
    support = c.nonnegative
    has_rsample = True
    _given = ("scale",)

    def __init__(self, scale: Any, validate_args: bool | None = None):
        (self.scale,) = parameters(scale)
        super().__init__(self.scale.shape, (), validate_args)

    def _whole(self) -> Any:
        return Cauchy(self.scale.zeros_like(), self.scale)

    @property
    def mean(self) -> Any:
        return torch.full(tuple(self.batch_shape), math.inf)

    @property
    def mode(self) -> Any:
        return self.scale.zeros_like()

    variance = mean

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._whole().rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Any:
        value = value if hasattr(value, "dtype") else self.scale.new_tensor(value)
        return torch.where(value >= 0, self._whole().log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Any:
        return 2 * self._whole().cdf(value) - 1

    def icdf(self, prob: Any) -> Any:
        return self._whole().icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self._whole().entropy() - math.log(2)


class InverseGamma(Distribution):
    """1 / x of a Gamma number."""

    arg_constraints = {"concentration": c.positive, "rate": c.positive}
    support = c.positive
    _given = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = parameters(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        return 1 / Gamma(self.concentration, self.rate).sample(sample_shape)

    @property
    def mean(self) -> Any:
        return torch.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        k = self.concentration
        return torch.where(k > 2, self.rate**2 / ((k - 1) ** 2 * (k - 2)), math.inf)

    def log_prob(self, value: Any) -> Any:
        k = self.concentration
        return k * self.rate.log() - (k + 1) * value.log() - self.rate / value - k.lgamma()

    def entropy(self) -> Any:
        k = self.concentration
        return k + self.rate.log() + k.lgamma() - (1 + k) * k.digamma()


class LogisticNormal(TransformedDistribution):
    """Parts of 1 that normal numbers become by breaking a stick."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        super().__init__(Independent(Normal(loc, scale), 1), StickBreakingTransform())

    @property
    def loc(self) -> Any:
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        return self.base_dist.base_dist.scale


__all__ = ["HalfCauchy", "InverseGamma", "LogisticNormal", "MixtureSameFamily", "NegativeBinomial", "TransformedDistribution"]
