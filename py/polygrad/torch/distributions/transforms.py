"""torch.distributions.transforms: maps of values whose change of volume is known, for TransformedDistribution.

>>> import polygrad.torch as torch
>>> from polygrad.torch.distributions import Normal, TransformedDistribution
>>> from polygrad.torch.distributions.transforms import ExpTransform
>>> TransformedDistribution(Normal(torch.zeros(2), torch.ones(2)), [ExpTransform()]).log_prob(torch.ones(2)).size()
torch.Size([2])
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import math
from typing import Any

from .. import functions as torch
from ..tensor import Tensor
from . import constraints as c


def _summed(x: Any, axes: int) -> Any:
    return x.sum(dim=tuple(range(-axes, 0))) if axes else x


class Transform:
    """A map of values: t(x) forwards, t.inv(y) back, t.log_abs_det_jacobian(x, y) the logarithm of the change of volume.

    cache_size=1 keeps the last pair, so that going back gives exactly the value that was mapped.
    """

    bijective = False
    domain: Any = c.real
    codomain: Any = c.real
    sign = 1

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._last = cache_size, (None, None)

    def __call__(self, x: Any) -> Any:
        if self._cache_size and self._last[0] is x:
            return self._last[1]
        y = self._call(x)
        if self._cache_size:
            self._last = (x, y)
        return y

    def _back(self, y: Any) -> Any:
        if self._cache_size and self._last[1] is y:
            return self._last[0]
        x = self._inverse(y)
        if self._cache_size:
            self._last = (x, y)
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |dy / dx|, for each value or each vector of the domain."""
        raise NotImplementedError

    @property
    def inv(self) -> Any:
        """The map back."""
        return _Inverse(self)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The map with a cache."""
        if self._cache_size != cache_size:
            self._cache_size, self._last = cache_size, (None, None)
        return self

    def forward_shape(self, shape: Any) -> Any:
        """The shape of what a value of this shape becomes."""
        return tuple(shape)

    inverse_shape = forward_shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    """A map the other way round."""

    def __init__(self, transform: Transform):
        super().__init__()
        self._inv = transform

    bijective = property(lambda self: self._inv.bijective)
    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def _call(self, x: Any) -> Any:
        return self._inv._back(x)

    def _inverse(self, y: Any) -> Any:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class ExpTransform(Transform):
    """y = exp(x)."""

    bijective, codomain = True, c.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """y = x ** exponent of positive numbers."""

    bijective, domain, codomain = True, c.positive, c.positive

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent if isinstance(exponent, Tensor) else torch.tensor(float(exponent))

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x))."""

    bijective, codomain = True, c.unit_interval

    def _call(self, x: Any) -> Any:
        return x.sigmoid().clamp(min=1.1754943508222875e-38, max=1 - 1.1920928955078125e-07)

    def _inverse(self, y: Any) -> Any:
        y = y.clamp(min=1.1754943508222875e-38, max=1 - 1.1920928955078125e-07)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -_softplus(-x) - _softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x))."""

    bijective, codomain = True, c.positive

    def _call(self, x: Any) -> Any:
        return _softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -_softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x)."""

    bijective, codomain = True, c.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - _softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|."""

    codomain = c.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x; event_dim axes are one value."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim
        if event_dim:
            self.domain = self.codomain = c.Constraint("Independent(Real)", lambda x: x == x, event_dim=event_dim)

    @property
    def sign(self) -> Any:
        return self.scale.sign() if isinstance(self.scale, Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        size = self.scale.abs().log() if isinstance(self.scale, Tensor) else x.new_tensor(math.log(abs(self.scale)))
        return _summed(size.expand(x.shape), self.event_dim)

    def forward_shape(self, shape: Any) -> Any:
        return tuple(torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())))

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """Numbers to a vector that adds up to 1."""

    domain, codomain = c.real_vector, c.simplex

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(Transform):
    """n numbers to n + 1 parts of 1: each takes a share of what is left."""

    bijective, domain, codomain = True, c.real_vector, c.simplex

    def _offset(self, x: Any) -> Any:
        n = int(x.shape[-1])
        return torch.arange(n, 0, -1, dtype=x.dtype).log()

    def _call(self, x: Any) -> Any:
        share = (x - self._offset(x)).sigmoid()
        left = (1 - share).cumprod(-1)
        one = torch.ones(*x.shape[:-1], 1, dtype=x.dtype)
        return torch.cat([share, one], -1) * torch.cat([one, left], -1)

    def _inverse(self, y: Any) -> Any:
        first = y[..., :-1]
        left = (1 - first.cumsum(-1)).clamp(min=1.1754943508222875e-38)
        return first.log() - left.log() + self._offset(first)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        z = x - self._offset(x)
        return (-z - _softplus(-z) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] - 1)


class ComposeTransform(Transform):
    """Several maps one after another."""

    def __init__(self, parts: list[Transform], cache_size: int = 0):
        super().__init__(cache_size)
        self.parts = list(parts)

    @property
    def bijective(self) -> bool:
        return all(p.bijective for p in self.parts)

    @property
    def domain(self) -> Any:
        return self.parts[0].domain if self.parts else c.real

    @property
    def codomain(self) -> Any:
        return self.parts[-1].codomain if self.parts else c.real

    @property
    def sign(self) -> Any:
        return math.prod(p.sign for p in self.parts)

    def _call(self, x: Any) -> Any:
        for p in self.parts:
            x = p(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for p in reversed(self.parts):
            y = p._back(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return x.zeros_like()
        axes = max(p.domain.event_dim for p in self.parts)
        total: Any = 0
        for p in self.parts:
            after = p(x)
            total = total + _summed(p.log_abs_det_jacobian(x, after), axes - p.domain.event_dim)
            x = after
        return total

    def forward_shape(self, shape: Any) -> Any:
        for p in self.parts:
            shape = p.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for p in reversed(self.parts):
            shape = p.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(repr(p) for p in self.parts) + "\n)"


class IndependentTransform(Transform):
    """A map of which the last axes are parts of one value: their changes of volume are added."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _wider(self, constraint: Any) -> Any:
        return c.Constraint(f"Independent({constraint})", constraint.check, event_dim=constraint.event_dim + self.reinterpreted_batch_ndims)

    domain = property(lambda self: self._wider(self.base_transform.domain))
    codomain = property(lambda self: self._wider(self.base_transform.codomain))

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform._back(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return _summed(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)


def _softplus(x: Any) -> Any:
    return x.clamp(min=0) + (-x.abs()).exp().log1p()


identity_transform = ComposeTransform([])

__all__ = [
    "AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "IndependentTransform", "PowerTransform", "SigmoidTransform",
    "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip
