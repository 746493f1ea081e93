"""Distribution, from which the others are derived, and Independent."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from typing import Any

from .. import functions as torch
from ..autograd import no_grad
from ..tensor import Tensor
from ..types import Size
from .constraints import Constraint


def parameters(*values: Any) -> list[Any]:
    """Parameters as tensors of one shape."""
    like = next((v for v in values if isinstance(v, Tensor)), None)
    made = [v if isinstance(v, Tensor) else torch.tensor(float(v), dtype=None if like is None else like.dtype) for v in values]
    return list(torch.broadcast_tensors(*made))


class Distribution:
    """The base: batch_shape is the shape of independent distributions, event_shape that of one sample."""

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: dict[str, Constraint] = {}
    support: Any = None
    _validate_args = True

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                value = self.__dict__.get(name)
                if isinstance(value, Tensor) and not value._g.tracing and not bool(constraint.check(value.detach()).all()):
                    raise ValueError(f"the parameter {name} of {type(self).__name__} does not satisfy the constraint {constraint}: {value}")

    @classmethod
    def set_default_validate_args(cls, value: bool) -> None:
        """Are parameters checked from now on?"""
        Distribution._validate_args = bool(value)

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    def _extended(self, sample_shape: Any = ()) -> tuple[int, ...]:
        return (*tuple(sample_shape), *self._batch_shape, *self._event_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws without a gradient."""
        with no_grad():
            return self.rsample(sample_shape).detach()

    def sample_n(self, n: int) -> Any:
        """Draws n times."""
        return self.sample((n,))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws so that the parameters have gradients."""
        raise NotImplementedError(f"{type(self).__name__} has no samples with gradients: use sample()")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of at most this value."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The value that has this probability below it."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The expectation of -log_prob."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values that can be drawn."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """exp(entropy)."""
        return self.entropy().exp()

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution for a larger batch."""
        made = {n: self.__dict__[n].expand(*batch_shape, *self.__dict__[n].shape[len(self._batch_shape) :]) for n in self._given}
        return type(self)(**made)

    _given: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = [n for n in self.arg_constraints if isinstance(self.__dict__.get(n), Tensor)]
        return f"{type(self).__name__}({', '.join(f'{n}: {v if (v := self.__dict__[n]).numel() == 1 else v.size()}' for n in shown)})"


class Independent(Distribution):
    """The last axes of a batch as parts of one sample: their log_probs are added."""

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None):
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        shape, n = base_distribution.batch_shape, len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        if n < 0:
            raise ValueError(f"a batch of {len(shape)} axes has no {reinterpreted_batch_ndims} to take as parts of a sample")
        super().__init__(shape[:n], (*shape[n:], *base_distribution.event_shape), False)

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    @property
    def mode(self) -> Any:
        return self.base_dist.mode

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def _summed(self, x: Any) -> Any:
        n = self.reinterpreted_batch_ndims
        return x.sum(dim=tuple(range(-n, 0))) if n else x

    def log_prob(self, value: Any) -> Any:
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self) -> Any:
        return self._summed(self.base_dist.entropy())

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


__all__ = ["Distribution", "Independent", "parameters"]
