"""First values of parameters, with PyTorch's names: each function writes into the tensor that it is given and returns it."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..tensor import Tensor


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps the variance through an activation.

    >>> from polygrad.nn import init
    >>> init.calculate_gain("relu") == 2**0.5
    True
    """
    if nonlinearity in ("linear", "identity", "sigmoid") or nonlinearity.startswith("conv"):
        return 1.0
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    table = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in table:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return table[nonlinearity]


def _fans(tensor: Tensor) -> tuple[int, int]:
    """Numbers of inputs and outputs of one unit."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(int(v) for v in tensor.shape[2:])
    return int(tensor.shape[1]) * field, int(tensor.shape[0]) * field


def _fill(tensor: Tensor, values: Tensor) -> Tensor:
    """Writes values into tensor; no gradient sees it."""
    return tensor.assign(values.detach().cast(tensor.dtype))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform between a and b."""
    return _fill(tensor, Tensor.uniform(*tensor.shape, low=a, high=b, dtype=tensor.dtype))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with a mean and a standard deviation."""
    return _fill(tensor, Tensor.normal(*tensor.shape, mean=mean, std=std, dtype=tensor.dtype))


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None) -> Tensor:
    """Normal, but between a and b: the inverse of the distribution at uniform numbers."""
    low, high = ((1 + math.erf((v - mean) / std / math.sqrt(2))) / 2 for v in (a, b))
    u = Tensor.uniform(*tensor.shape, low=2 * low - 1, high=2 * high - 1, dtype="float32")
    return _fill(tensor, (_erfinv(u) * (std * math.sqrt(2)) + mean).clamp(a, b))


def _erfinv(y: Tensor) -> Tensor:
    """The inverse of erf: Winitzki's approximation, and two steps of Newton's method."""
    y = y.clamp(-1 + 1e-7, 1 - 1e-7)
    log = (1 - y.square()).log()
    half = 2 / (math.pi * 0.147) + log / 2
    x = ((half.square() - log / 0.147).sqrt() - half).sqrt().copysign(y)
    for _ in range(2):
        x = x - (x.erf() - y) * (math.sqrt(math.pi) / 2) * x.square().exp()
    return x


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere.

    >>> from polygrad import Tensor
    >>> from polygrad.nn import init
    >>> init.constant_(Tensor.zeros(2, requires_grad=True), 3.0).tolist()
    [3.0, 3.0]
    """
    return _fill(tensor, tensor.detach().full_like(val))


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(tensor, Tensor.eye(int(tensor.shape[0]), int(tensor.shape[1]), dtype=tensor.dtype))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution that passes as many channels as it can through."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out, inside = int(tensor.shape[0]), int(tensor.shape[1])
    if out % groups:
        raise ValueError("dim 0 must be divisible by groups")
    one = Tensor.eye(out // groups, inside, dtype=tensor.dtype).repeat(groups, 1).reshape(out, inside, *[1] * (tensor.ndim - 2))
    for axis in range(2, tensor.ndim):
        n = int(tensor.shape[axis])
        one = one * (Tensor.arange(n) == n // 2).cast(tensor.dtype).reshape([-1 if k == axis else 1 for k in range(tensor.ndim)])
    return _fill(tensor, one)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform with bound gain * sqrt(6 / (fan_in + fan_out))."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out))."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))))


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _fans(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Tensor:
    """Uniform with bound gain * sqrt(3 / fan)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Tensor:
    """Normal with standard deviation gain / sqrt(fan)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Rows, or columns if there are fewer, of length gain that are orthogonal."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows = int(tensor.shape[0])
    columns = tensor.numel() // max(rows, 1)
    q, r = Tensor.randn(max(rows, columns), min(rows, columns)).qr()
    q = q[:, : min(rows, columns)] * r.diagonal().sign()
    q = q if rows >= columns else q.transpose(0, 1)
    return _fill(tensor, (q * gain).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal, with a share of each column that is zero."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows = int(tensor.shape[0])
    rank = Tensor.rand(*tensor.shape).argsort(0).argsort(0)
    return _fill(tensor, (rank < math.ceil(sparsity * rows)).where(0.0, Tensor.normal(*tensor.shape, std=std, dtype=tensor.dtype)))


xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal = xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_
uniform, normal, constant, eye, dirac, orthogonal, sparse = uniform_, normal_, constant_, eye_, dirac_, orthogonal_, sparse_

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_", "sparse_",
    "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip
