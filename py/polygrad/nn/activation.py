"""Activations as modules, with PyTorch's arguments in PyTorch's order."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F
from .functional import implicit_dim, into
from .module import Module, named_arguments


class _Activation(Module):
    """Calls a function of nn.functional with the arguments of the constructor, which are attributes under PyTorch's names."""

    function: Any = None
    defaults: dict[str, Any] = {}  # PyTorch's arguments in its order, with its defaults
    changes = False  # whether it has PyTorch's argument inplace, behind the others: the input holds the result from then on
    fixed: dict[str, Any] = {}  # arguments that are no settings

    def __init__(self, *args: Any, **kwargs: Any):
        names = [*self.defaults, *(["inplace"] if self.changes else [])]
        given = named_arguments(self, names, args, kwargs)
        self._arguments = {**self.defaults, **given}
        self._inplace = bool(self._arguments.pop("inplace", False))

    def __getattr__(self, name: str) -> Any:
        arguments = self.__dict__.get("_arguments", {})
        if name in arguments:
            return arguments[name]
        if name == "inplace" and self.changes:
            return self.__dict__["_inplace"]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _state_items(self) -> dict[str, Any]:
        return {}

    def forward(self, x: Tensor) -> Tensor:
        return into(x, type(self).function(x, **self._arguments), self._inplace)

    def extra_repr(self) -> str:
        texts = [f"{name}={value!r}" for name, value in self._arguments.items()]
        return ", ".join(texts + (["inplace=True"] if self._inplace else []))


def _activation(name: str, function: str, changes: bool = False, **defaults: Any) -> type[_Activation]:
    def call(x: Tensor, **arguments: Any) -> Tensor:
        return getattr(F, function)(x, **arguments)

    members = {"function": staticmethod(call), "defaults": defaults, "changes": changes}
    return type(name, (_Activation,), {**members, "__doc__": f"functional.{function} as a module.", "__module__": __name__})


ReLU = _activation("ReLU", "relu", True)
ReLU6 = _activation("ReLU6", "relu6", True)
LeakyReLU = _activation("LeakyReLU", "leaky_relu", True, negative_slope=0.01)
ELU = _activation("ELU", "elu", True, alpha=1.0)
CELU = _activation("CELU", "celu", True, alpha=1.0)
SELU = _activation("SELU", "selu", True)
GELU = _activation("GELU", "gelu", approximate="none")
SiLU = _activation("SiLU", "silu", True)
Mish = _activation("Mish", "mish", True)
Sigmoid = _activation("Sigmoid", "sigmoid")
LogSigmoid = _activation("LogSigmoid", "logsigmoid")
Hardsigmoid = _activation("Hardsigmoid", "hardsigmoid", True)
Hardswish = _activation("Hardswish", "hardswish", True)
Hardtanh = _activation("Hardtanh", "hardtanh", True, min_val=-1.0, max_val=1.0)
Hardshrink = _activation("Hardshrink", "hardshrink", lambd=0.5)
Softshrink = _activation("Softshrink", "softshrink", lambd=0.5)
Tanhshrink = _activation("Tanhshrink", "tanhshrink")
Softsign = _activation("Softsign", "softsign")
Softplus = _activation("Softplus", "softplus", beta=1.0, threshold=20.0)
Tanh = _activation("Tanh", "tanh")
GLU = _activation("GLU", "glu", dim=-1)


class Threshold(_Activation):
    """x where it is above threshold, else value."""

    changes = True

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        self._arguments, self._inplace = {"threshold": threshold, "value": value}, inplace

    @staticmethod
    def function(x: Tensor, threshold: float, value: float) -> Tensor:
        return F.threshold(x, threshold, value)


class RReLU(_Activation):
    """A leaky ReLU whose slope is drawn between lower and upper while training, and their mean otherwise."""

    defaults = {"lower": 1.0 / 8, "upper": 1.0 / 3}
    changes = True

    @staticmethod
    def function(x: Tensor, lower: float, upper: float) -> Tensor:
        return F.rrelu(x, lower, upper, bool(Tensor.training))


class PReLU(Module):
    """x where it is positive, else weight * x, with a weight for all channels or one for each.

    >>> from polygrad import Tensor, nn
    >>> nn.PReLU()(Tensor([-4.0, 4.0])).tolist()
    [-1.0, 4.0]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        self.num_parameters, self.init = num_parameters, init
        self.weight = Tensor.full((num_parameters,), float(init), dtype=dtype, requires_grad=True)

    def reset_parameters(self) -> None:
        """The first value again."""
        self.weight.assign(self.weight.full_like(self.init))

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _Along(Module):
    """An activation along one axis."""

    def __init__(self, dim: int | None = None):
        self.dim = dim

    def _axis(self, x: Tensor) -> int:
        return implicit_dim(type(self).__name__, x.ndim, 6) if self.dim is None else self.dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_Along):
    """Tensor.softmax along dim as a module."""

    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(self._axis(x))


class LogSoftmax(_Along):
    """Tensor.log_softmax along dim as a module."""

    def forward(self, x: Tensor) -> Tensor:
        return x.log_softmax(self._axis(x))


class Softmin(_Along):
    """Tensor.softmin along dim as a module."""

    def forward(self, x: Tensor) -> Tensor:
        return x.softmin(self._axis(x))


class Softmax2d(Module):
    """Softmax over the channels of images [batch, channels, height, width] or [channels, height, width]."""

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (3, 4):
            raise ValueError(f"Softmax2d takes 3 or 4 axes, not the shape {x.shape}")
        return x.softmax(-3)


__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU",
    "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink",
    "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip
