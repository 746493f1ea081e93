"""torch.nn.init: fills tensors in place, whether or not they require a gradient."""

from __future__ import annotations

import math
from typing import Any

from .._inplace import write


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps variances through an activation."""
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else float(param)) ** 2))
    return gains.get(nonlinearity, 1.0)


def _fans(t: Any) -> tuple[int, int]:
    if t.ndim < 2:
        raise ValueError(f"fan in and fan out need two axes at least, not the shape {tuple(t.shape)}")
    field = math.prod(int(n) for n in t.shape[2:])
    return int(t.shape[1]) * field, int(t.shape[0]) * field


_calculate_fan_in_and_fan_out = _fans


def _put(t: Any, value: Any) -> Any:
    write(t, value.detach().cast(t.dtype))
    return t


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Uniform in [a, b)."""
    return _put(tensor, tensor.detach().rand_like() * (b - a) + a)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normal with a mean and a standard deviation."""
    return _put(tensor, tensor.detach().randn_like() * std + mean)


def trunc_normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None) -> Any:
    """Normal, limited to [a, b]: values outside are drawn again, in effect, by the inverse of the distribution at uniform places."""
    low, high = (math.erf((v - mean) / (std * math.sqrt(2))) for v in (a, b))
    u = tensor.detach().rand_like() * (high - low) + low
    return _put(tensor, (_erfinv(u) * (std * math.sqrt(2)) + mean).clamp(a, b))


def _erfinv(u: Any) -> Any:
    """The inverse of erf: a first guess and two steps of Newton's method."""
    c = 2 / (math.pi * 0.147)
    log = (1 - u * u).clamp(min=1e-30).log()
    half = log * 0.5 + c
    x = u.sign() * ((half * half - log / 0.147).sqrt() - half).clamp(min=0).sqrt()
    for _ in range(2):
        x = x - (x.erf() - u) * (x * x).clamp(max=80).exp() * (math.sqrt(math.pi) / 2)
    return x


def constant_(tensor: Any, val: float) -> Any:
    """One value."""
    return _put(tensor, tensor.detach().full_like(val))


def ones_(tensor: Any) -> Any:
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Any) -> Any:
    """The identity matrix."""
    rows, columns = tensor.arange_of(0), tensor.arange_of(1)
    return _put(tensor, rows.unsqueeze(1) == columns)


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Glorot's uniform: bound gain * sqrt(6 / (fan_in + fan_out))."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Glorot's normal: standard deviation gain * sqrt(2 / (fan_in + fan_out))."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))))


def _fan(tensor: Any, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', not {mode!r}")
    return _fans(tensor)[mode == "fan_out"]


def kaiming_uniform_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Any:
    """He's uniform: bound gain * sqrt(3 / fan)."""
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / _fan(tensor, mode))
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Any:
    """He's normal: standard deviation gain / sqrt(fan)."""
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)))


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Orthogonal rows or columns: Q of a random matrix, with the signs that make it unique."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows = int(tensor.shape[0])
    columns = tensor.numel() // max(rows, 1)
    tall = tensor.detach().float().randn_like().reshape(max(rows, columns), min(rows, columns))
    q, r = tall.qr()
    n = min(rows, columns)
    q = q[:, :n] * r.diagonal().sign()[:n]
    return _put(tensor, (q.t() if rows < columns else q).reshape(tensor.shape) * gain)


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """A convolution that hands on its inputs: 1 in the middle of the window of each channel."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    per = int(tensor.shape[0]) // groups
    out, into = tensor.arange_of(0).unsqueeze(1), tensor.arange_of(1)
    hit = ((out % per) == into) & ((out % per) < int(tensor.shape[1]))
    hit = hit.reshape(*hit.shape, *(1,) * (tensor.ndim - 2))
    for d in range(2, tensor.ndim):
        middle = tensor.arange_of(d) == int(tensor.shape[d]) // 2
        hit = hit & middle.reshape(*(-1 if k == d else 1 for k in range(tensor.ndim)))
    return _put(tensor, hit)


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal numbers, with a share of each column zero."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    zeros = math.ceil(sparsity * int(tensor.shape[0]))
    order = tensor.detach().float().rand_like().argsort(0).argsort(0)
    return _put(tensor, (tensor.detach().randn_like() * std).masked_fill(order < zeros, 0.0))


def __getattr__(name: str) -> Any:
    """The names without an underscore, which PyTorch keeps for old scripts."""
    if not name.startswith("_") and f"{name}_" in globals():
        return globals()[f"{name}_"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "calculate_gain", "constant_", "dirac_", "orthogonal_", "sparse_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_",
    "ones_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
]  # fmt: skip
