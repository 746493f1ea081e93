"""Distributions of classes and counts, and their relaxed forms."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import math
from typing import Any

from ...dtypes import dtypes
from .. import functions as torch
from ..autograd import no_grad
from ..info import finfo
from . import constraints as c
from .base import Distribution, parameters


def _clamped(probs: Any) -> Any:
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def _bce(logits: Any, value: Any) -> Any:
    """-log of the probability of a truth value."""
    from ..nn.functional import binary_cross_entropy_with_logits

    logits, value = torch.broadcast_tensors(logits, value)
    return binary_cross_entropy_with_logits(logits, value.cast(logits.dtype), reduction="none")


class _ProbsOrLogits(Distribution):
    """Given by probs, or by logits; the other is computed when it is asked for."""

    _binary = True

    def _take(self, probs: Any, logits: Any) -> Any:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name = "probs" if probs is not None else "logits"
        value = probs if probs is not None else logits
        if self._binary:
            (value,) = parameters(value)
        elif value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        else:
            value = value / value.sum(-1, keepdim=True) if name == "probs" else value - value.logsumexp(-1, keepdim=True)
        self.__dict__[name] = value
        self._given = (name,)
        return value

    def __getattr__(self, name: str) -> Any:
        if name == "logits" and "probs" in self.__dict__:
            p = _clamped(self.probs)
            return p.log() - (-p).log1p() if self._binary else p.log()
        if name == "probs" and "logits" in self.__dict__:
            return self.logits.sigmoid() if self._binary else self.logits.softmax(-1)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def param_shape(self) -> Any:
        return self.__dict__[self._given[0]].shape


class Bernoulli(_ProbsOrLogits):
    """1 with probability probs, else 0."""

    arg_constraints = {"probs": c.unit_interval, "logits": c.real}
    support = c.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(self._take(probs, logits).shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            p = self.probs.expand(self._extended(sample_shape))
            return (torch.rand(tuple(p.shape), dtype=p.dtype) < p).cast(p.dtype)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        p = self.probs
        return torch.where(p == 0.5, math.nan, (p >= 0.5).cast(p.dtype))

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def log_prob(self, value: Any) -> Any:
        return -_bce(self.logits, value)

    def entropy(self) -> Any:
        return _bce(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = torch.arange(2, dtype=self.probs.dtype).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class Geometric(_ProbsOrLogits):
    """How many failures come before the first success."""

    arg_constraints = {"probs": c.unit_interval, "logits": c.real}
    support = c.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(self._take(probs, logits).shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            p = self.probs.expand(self._extended(sample_shape))
            return ((1 - torch.rand(tuple(p.shape), dtype=p.dtype)).log() / (-p).log1p()).floor()

    @property
    def mean(self) -> Any:
        return 1 / self.probs - 1

    @property
    def variance(self) -> Any:
        return (1 / self.probs - 1) / self.probs

    def log_prob(self, value: Any) -> Any:
        return value * (-self.probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return _bce(self.logits, self.probs) / self.probs


class Binomial(_ProbsOrLogits):
    """How many of total_count trials succeed."""

    arg_constraints = {"probs": c.unit_interval, "logits": c.real}

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        value = self._take(probs, logits)
        self.total_count, value = parameters(total_count if hasattr(total_count, "shape") else float(total_count), value)
        self.total_count, self.__dict__[self._given[0]] = self.total_count.cast(value.dtype), value
        super().__init__(value.shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return binomial(self.total_count.expand(self._extended(sample_shape)), self.probs)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def log_prob(self, value: Any) -> Any:
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * logits - n * (logits.clamp(min=0) + (-logits.abs()).exp().log1p())


class Poisson(Distribution):
    """rate^k exp(-rate) / k!."""

    arg_constraints = {"rate": c.nonnegative}
    support = c.nonnegative_integer
    _given = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = parameters(rate)
        super().__init__(self.rate.shape, (), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return poisson(self.rate.expand(self._extended(sample_shape)))

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def mode(self) -> Any:
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        return self.rate

    def log_prob(self, value: Any) -> Any:
        value = value if hasattr(value, "xlogy") else self.rate.new_tensor(value)
        return value.xlogy(self.rate) - self.rate - (value + 1).lgamma()


class Categorical(_ProbsOrLogits):
    """One of the classes of the last axis, by number."""

    arg_constraints = {"probs": c.simplex, "logits": c.real_vector}
    has_enumerate_support = True
    _binary = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        value = self._take(probs, logits)
        self._num_events = int(value.shape[-1])
        super().__init__(value.shape[:-1], (), validate_args)

    @property
    def support(self) -> Any:
        return c.integer_interval(0, self._num_events - 1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            count = math.prod(sample_shape)
            drawn = rows.multinomial(count, True).t()
            return drawn.reshape((*tuple(sample_shape), *self._batch_shape))

    @property
    def mean(self) -> Any:
        return torch.full(tuple(self._batch_shape), math.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Any:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Any:
        return self.mean

    def log_prob(self, value: Any) -> Any:
        value = value.long().unsqueeze(-1)
        shape = torch.broadcast_shapes(value.shape[:-1], self.logits.shape[:-1])
        logits = self.logits.expand(*shape, self._num_events)
        return logits.gather(-1, value.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Any:
        return -(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = torch.arange(self._num_events).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class OneHotCategorical(Categorical):
    """One of the classes of the last axis, as a vector with a single 1."""

    support = c.one_hot

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        value = self._take(probs, logits)
        self._num_events = int(value.shape[-1])
        Distribution.__init__(self, value.shape[:-1], value.shape[-1:], validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        from ..nn.functional import one_hot

        return one_hot(Categorical.sample(self, sample_shape), self._num_events).cast(self.probs.dtype)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        from ..nn.functional import one_hot

        return one_hot(self.probs.argmax(-1), self._num_events).cast(self.probs.dtype)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def log_prob(self, value: Any) -> Any:
        return Categorical.log_prob(self, value.argmax(-1))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Its samples have the gradient of probs."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_ProbsOrLogits):
    """How often each class comes in total_count draws."""

    arg_constraints = {"probs": c.simplex, "logits": c.real_vector}
    _binary = False

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self.total_count = int(total_count)
        value = self._take(probs, logits)
        super().__init__(value.shape[:-1], value.shape[-1:], validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            drawn = OneHotCategorical(probs=self.probs, validate_args=False).sample((self.total_count, *tuple(sample_shape)))
            return drawn.sum(0)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def log_prob(self, value: Any) -> Any:
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + torch.where(value == 0, 0.0, self.logits * value).sum(-1)


class RelaxedBernoulli(_ProbsOrLogits):
    """A number near 0 or 1, the nearer the lower the temperature, whose samples have gradients."""

    has_rsample = True
    support = c.unit_interval

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self.temperature = temperature
        super().__init__(self._take(probs, logits).shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        logits = self.logits
        u = _clamped(torch.rand(self._extended(sample_shape), dtype=logits.dtype))
        return ((u.log() - (-u).log1p() + logits) / self.temperature).sigmoid()

    def log_prob(self, value: Any) -> Any:
        y = _clamped(value)
        y = y.log() - (-y).log1p()
        away = self.logits - y * self.temperature
        return self.temperature_log() + away - 2 * away.exp().log1p() - (-value * (value - 1)).clamp(min=1e-38).log()

    def temperature_log(self) -> Any:
        """log(temperature)."""
        return self.temperature.log() if hasattr(self.temperature, "log") else math.log(self.temperature)


class RelaxedOneHotCategorical(_ProbsOrLogits):
    """A vector near one of a single 1 (the Gumbel-softmax distribution), whose samples have gradients."""

    has_rsample = True
    support = c.simplex
    _binary = False

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self.temperature = temperature
        value = self._take(probs, logits)
        super().__init__(value.shape[:-1], value.shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = _clamped(torch.rand(self._extended(sample_shape), dtype=self.logits.dtype))
        return ((self.logits - (-u.log()).log()) / self.temperature).softmax(-1)

    def log_prob(self, value: Any) -> Any:
        n, t = self.logits.shape[-1], self.temperature
        scale = math.lgamma(n) + (n - 1) * (t.log() if hasattr(t, "log") else math.log(t))
        score = self.logits - value.log() * t
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + scale - value.log().sum(-1)


def poisson(input: Any, generator: Any = None) -> Any:  # noqa: A002
    """Counts drawn from Poisson distributions of these rates. O(numbers * (rate + 12 sqrt(rate) + 20)) of the largest rate: the sums of the
    probabilities up to each count are compared with a uniform number."""
    rate = input.detach().double()
    most = float(rate.max()) if rate.numel() else 0.0
    counts = torch.arange(int(most + 12 * math.sqrt(most) + 20), dtype=dtypes.float64)
    at = rate.unsqueeze(-1)
    below = (counts.xlogy(at) - at - (counts + 1).lgamma()).exp().cumsum(-1)
    return (torch.rand(*input.shape, 1, dtype=dtypes.float64, generator=generator) > below).sum(-1).cast(input.dtype)


def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """How many of `count` trials succeed. O(numbers * the largest count)."""
    count, prob = torch.broadcast_tensors(count, prob)
    most = int(count.max()) if count.numel() else 0
    tried = torch.arange(most) < count.unsqueeze(-1)
    drawn = torch.rand(*prob.shape, most, dtype=prob.dtype, generator=generator) < prob.unsqueeze(-1)
    return (tried & drawn).sum(-1).cast(count.dtype)


__all__ = [
    "Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "binomial", "poisson",
]  # fmt: skip
