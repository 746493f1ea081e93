"""Module for those who want one, and containers. Plain objects with tensors as attributes work as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..tensor import Tensor
from .functional import SELU_ALPHA, SELU_SCALE, implicit_dim, into, softplus
from .state import get_parameters, get_state_dict, load_state_dict


class Module:
    """`model(x)` calls `forward(x)`; parameters and state by name.

    >>> from polygrad import Tensor, nn
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         self.l1 = nn.Linear(2, 3)
    ...     def forward(self, x):
    ...         return self.l1(x).relu()
    >>> Net()(Tensor.ones(1, 2)).shape, sorted(Net().state_dict())
    ((1, 3), ['l1.bias', 'l1.weight'])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def parameters(self) -> list[Tensor]:
        """The tensors that require gradients."""
        return [t for t in get_parameters(self) if t.requires_grad]

    def named_parameters(self) -> list[tuple[str, Tensor]]:
        return [(n, t) for n, t in get_state_dict(self).items() if t.requires_grad]

    def _state_items(self) -> dict[str, Any]:
        """What the state dict walks over; attributes whose names begin with an underscore are the module's own business."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def state_dict(self) -> dict[str, Tensor]:
        return get_state_dict(self)

    def load_state_dict(self, state_dict: dict[str, Tensor], strict: bool = True) -> list[str]:
        return load_state_dict(self, state_dict, strict)

    def train(self, mode: bool = True) -> Module:
        """Sets Tensor.training."""
        Tensor.training = mode
        return self

    def eval(self) -> Module:
        """Clears Tensor.training."""
        return self.train(False)

    @property
    def training(self) -> bool:
        """What train() and eval() set: Tensor.training."""
        return bool(Tensor.training)

    def to(self, device: Any) -> Module:
        """Moves the state to a device, or casts what is floating point of it to a dtype."""
        for t in get_state_dict(self).values():
            moved = t.to(device)
            if moved is not t and t.is_floating_point():
                t.replace(moved.realize())
        return self

    def zero_grad(self) -> None:
        for t in get_parameters(self):
            t.grad = None

    def extra_repr(self) -> str:
        """What __repr__ shows between the parentheses."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"


class ModuleList(Module):
    """A list of modules.

    >>> from polygrad import nn
    >>> len(nn.ModuleList([nn.ReLU(), nn.ReLU()]))
    2
    """

    def __init__(self, modules: Any = ()):
        self.modules = list(modules)

    def _state_items(self) -> dict[str, Any]:
        return {str(k): m for k, m in enumerate(self.modules)}

    def append(self, module: Any) -> ModuleList:
        self.modules.append(module)
        return self

    def __len__(self) -> int:
        return len(self.modules)

    def __getitem__(self, k: Any) -> Any:
        return type(self)(self.modules[k]) if isinstance(k, slice) else self.modules[k]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.modules)

    def extra_repr(self) -> str:
        return ", ".join(repr(m) for m in self.modules)


class Sequential(ModuleList):
    """Applies modules one after the other.

    >>> from polygrad import Tensor, nn
    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())(Tensor.ones(1, 2)).shape
    (1, 3)
    """

    def __init__(self, *modules: Any):
        super().__init__(modules[0] if len(modules) == 1 and isinstance(modules[0], (list, tuple)) else modules)

    def forward(self, x: Any) -> Any:
        for m in self.modules:
            x = m(x)
        return x


class Identity(Module):
    """Gives what it gets."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Flatten(Module):
    """Joins the axes from start_dim to end_dim."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start_dim, self.end_dim)


class _Activation(Module):
    """Calls a method of Tensor with the arguments of the constructor."""

    method = ""
    names: dict[str, str] = {}  # arguments in PyTorch's order under PyTorch's names, and the method's names for them
    defaults: dict[str, Any] = {}  # where PyTorch has others than the method
    changes = False  # whether it has PyTorch's argument inplace, behind the others: the input holds the result from then on

    def __init__(self, *args: Any, inplace: bool = False, **kwargs: Any):
        if self.changes and len(args) == len(self.names) + 1:
            args, inplace = args[:-1], args[-1]
        if len(args) > len(self.names):
            raise TypeError(f"{type(self).__name__} takes {len(self.names) + self.changes} arguments at most, got {len(args)}")
        if inplace and not self.changes:
            raise TypeError(f"{type(self).__name__} has no argument inplace")
        given = {**dict(zip(self.names, args)), **kwargs}
        self._inplace = bool(inplace)
        self._arguments = {**self.defaults, **{self.names.get(name, name): value for name, value in given.items()}}

    def _state_items(self) -> dict[str, Any]:
        return {}

    def forward(self, x: Tensor) -> Tensor:
        return into(x, getattr(x, self.method)(**self._arguments), self._inplace)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self._arguments.items())


def _activation(name: str, method: str, *same: str, names: dict[str, str] | None = None, changes: bool = True, **defaults: Any) -> type[_Activation]:
    members = {"method": method, "names": {**{n: n for n in same}, **(names or {})}, "defaults": defaults, "changes": changes}
    return type(name, (_Activation,), {**members, "__doc__": f"Tensor.{method} as a module.", "__module__": __name__})


ReLU = _activation("ReLU", "relu")
ReLU6 = _activation("ReLU6", "relu6")
LeakyReLU = _activation("LeakyReLU", "leaky_relu", names={"negative_slope": "neg_slope"})
ELU = _activation("ELU", "elu", "alpha")
CELU = _activation("CELU", "celu", "alpha")
SELU = _activation("SELU", "selu", alpha=SELU_ALPHA, gamma=SELU_SCALE)
GELU = _activation("GELU", "gelu", "approximate", changes=False, approximate="none")
SiLU = _activation("SiLU", "silu")
Mish = _activation("Mish", "mish")
Sigmoid = _activation("Sigmoid", "sigmoid", changes=False)
LogSigmoid = _activation("LogSigmoid", "logsigmoid", changes=False)
Hardsigmoid = _activation("Hardsigmoid", "hardsigmoid")
Hardswish = _activation("Hardswish", "hardswish")
Hardtanh = _activation("Hardtanh", "hardtanh", "min_val", "max_val")
Softsign = _activation("Softsign", "softsign", changes=False)
Tanh = _activation("Tanh", "tanh", changes=False)


class Softplus(Module):
    """functional.softplus as a module."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        return softplus(x, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Module):
    """Tensor.softmax along dim as a module."""

    def __init__(self, dim: int | None = None):
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(implicit_dim("Softmax", x.ndim) if self.dim is None else self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """Tensor.log_softmax along dim as a module."""

    def forward(self, x: Tensor) -> Tensor:
        return x.log_softmax(implicit_dim("LogSoftmax", x.ndim) if self.dim is None else self.dim)


class Dropout(Module):
    """Zeroes with probability p while Tensor.training is set, and scales the rest.

    >>> from polygrad import Tensor, nn
    >>> nn.Dropout(0.5)(Tensor.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, p: float = 0.5, inplace: bool = False):
        self.p, self._inplace = p, inplace

    def forward(self, x: Tensor) -> Tensor:
        return into(x, x.dropout(self.p), self._inplace)
