"""torch.special: the functions of it that tensors have as methods."""

from __future__ import annotations

import math
from typing import Any

from .methods import function_of
from .tensor import Tensor

# The name here and the method.
_NAMES = {
    "erf": "erf", "erfc": "erfc", "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1", "log1p": "log1p", "log_softmax": "log_softmax",
    "digamma": "digamma", "erfinv": "erfinv", "gammaln": "lgamma", "multigammaln": "mvlgamma", "polygamma": "polygamma", "psi": "digamma",
    "logit": "logit", "logsumexp": "logsumexp", "round": "round", "sinc": "sinc", "softmax": "softmax", "xlogy": "xlogy",
}  # fmt: skip


def _function(name: str) -> Any:
    function = function_of(_NAMES[name])
    function.__name__ = function.__qualname__ = name
    return function


for _name in _NAMES:
    globals()[_name] = _function(_name)


def xlog1py(input: Any, other: Any) -> Any:  # noqa: A002
    """input * log(1 + other), 0 where input is 0."""
    other = other if isinstance(other, Tensor) else input.const_like(other)
    none = (input == 0) & ((other <= -1) | (other == math.inf))
    return input * other.masked_fill(none, 0.0).log1p()


def entr(input: Any) -> Any:  # noqa: A002
    """-x log(x), 0 at zero and -inf below."""
    return (-input.xlogy(input)).masked_fill(input < 0, -math.inf)


def ndtr(input: Any) -> Any:  # noqa: A002
    """The share of a normal distribution that is below x."""
    return 0.5 * (input * -(0.5**0.5)).erfc()


def ndtri(input: Any) -> Any:  # noqa: A002
    """The inverse of ndtr."""
    return (2**0.5 * (2 * input.double() - 1).erfinv()).to(input.dtype)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch.special.{name} is not here: use scipy.special on x.numpy(), which has no gradient")


__all__ = [*sorted(_NAMES), "entr", "ndtr", "ndtri", "xlog1py"]
