"""Module for those who want one, and containers. Plain objects with tensors as attributes work as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..tensor import Tensor
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

    def __init__(self, *args: Any, inplace: bool = False, **kwargs: Any):
        # inplace, by name or behind the other arguments, changes nothing here: values are never overwritten
        if len(args) > len(self.names) + 1:
            raise TypeError(f"{type(self).__name__} takes {len(self.names) + 1} arguments at most, got {len(args)}")
        given = {**dict(zip(self.names, args)), **kwargs}
        self._arguments = {**self.defaults, **{self.names.get(name, name): value for name, value in given.items()}}

    def _state_items(self) -> dict[str, Any]:
        return {}

    def forward(self, x: Tensor) -> Tensor:
        return getattr(x, self.method)(**self._arguments)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self._arguments.items())


def _activation(name: str, method: str, *same: str, names: dict[str, str] | None = None, **defaults: Any) -> type[_Activation]:
    doc = f"Tensor.{method} as a module."
    members = {"method": method, "names": {**{n: n for n in same}, **(names or {})}, "defaults": defaults, "__doc__": doc, "__module__": __name__}
    return type(name, (_Activation,), members)


ReLU = _activation("ReLU", "relu")
ReLU6 = _activation("ReLU6", "relu6")
LeakyReLU = _activation("LeakyReLU", "leaky_relu", names={"negative_slope": "neg_slope"})
ELU = _activation("ELU", "elu", "alpha")
CELU = _activation("CELU", "celu", "alpha")
SELU = _activation("SELU", "selu", alpha=1.6732632423543772, gamma=1.0507009873554805)
GELU = _activation("GELU", "gelu", "approximate", approximate="none")
SiLU = _activation("SiLU", "silu")
Mish = _activation("Mish", "mish")
Sigmoid = _activation("Sigmoid", "sigmoid")
LogSigmoid = _activation("LogSigmoid", "logsigmoid")
Hardsigmoid = _activation("Hardsigmoid", "hardsigmoid")
Hardswish = _activation("Hardswish", "hardswish")
Hardtanh = _activation("Hardtanh", "hardtanh", "min_val", "max_val")
Softplus = _activation("Softplus", "softplus", "beta")
Softsign = _activation("Softsign", "softsign")
Tanh = _activation("Tanh", "tanh")


class _AlongAxis(_Activation):
    names = {"dim": "axis"}

    def __init__(self, dim: int | None = -1):
        super().__init__(-1 if dim is None else dim)


class Softmax(_AlongAxis):
    """Tensor.softmax as a module."""

    method = "softmax"


class LogSoftmax(_AlongAxis):
    """Tensor.log_softmax as a module."""

    method = "log_softmax"


class Dropout(Module):
    """Zeroes with probability p while Tensor.training is set, and scales the rest.

    >>> from polygrad import Tensor, nn
    >>> nn.Dropout(0.5)(Tensor.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, p: float = 0.5, inplace: bool = False):
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return x.dropout(self.p)
