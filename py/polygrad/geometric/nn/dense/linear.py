"""Linear layers that can wait for their first input to know its size."""

from __future__ import annotations

import math
from typing import Any

from ....nn.functional import linear
from ....nn.later import is_lazy, materialize, zeros_or_later
from ....nn.module import Module
from ....tensor import Tensor
from .. import inits
from ._by_type import Types, worth_sorting


def reset_weight_(weight: Tensor | None, in_channels: int, initializer: str | None = None) -> Tensor | None:
    """First values of a weight: 'glorot', 'uniform', 'kaiming_uniform', or as torch.nn.Linear has them."""
    if weight is None or in_channels <= 0:
        return weight
    if initializer == "glorot":
        inits.glorot(weight)
    elif initializer == "uniform":
        inits.uniform(in_channels, weight)
    elif initializer in ("kaiming_uniform", None):
        inits.kaiming_uniform(weight, fan=in_channels, a=math.sqrt(5))
    else:
        raise RuntimeError(f"Weight initializer {initializer!r} not supported: use 'glorot', 'uniform', 'kaiming_uniform' or None")
    return weight


def reset_bias_(bias: Tensor | None, in_channels: int, initializer: str | None = None) -> Tensor | None:
    """First values of a bias: 'zeros', or as torch.nn.Linear has them."""
    if bias is None or in_channels <= 0:
        return bias
    if initializer == "zeros":
        inits.zeros(bias)
    elif initializer is None:
        inits.uniform(in_channels, bias)
    else:
        raise RuntimeError(f"Bias initializer {initializer!r} not supported: use 'zeros' or None")
    return bias


class Linear(Module):
    """x' = x W^T + b, weight [out_channels, in_channels].

    in_channels: -1: found from the first input (or from a state dict). weight_initializer: 'glorot', 'uniform', 'kaiming_uniform' or None
    (as torch.nn.Linear). bias_initializer: 'zeros' or None.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import Linear
    >>> Linear(-1, 3)(Tensor.ones(2, 5)).shape
    (2, 3)
    """

    def __init__(
        self, in_channels: int, out_channels: int, bias: bool = True, weight_initializer: str | None = None, bias_initializer: str | None = None
    ):
        self.in_channels, self.out_channels = in_channels, out_channels
        self.weight_initializer, self.bias_initializer = weight_initializer, bias_initializer
        self.weight = zeros_or_later(out_channels, in_channels)
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def __getattr__(self, name: str) -> Any:
        if name == "_hook" and is_lazy(self.__dict__.get("weight")):  # scripts ask for it to see whether the size is still unknown
            return self.initialize_parameters
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        reset_weight_(self.weight, self.in_channels, self.weight_initializer)
        reset_bias_(self.bias, self.in_channels, self.bias_initializer)

    def initialize_parameters(self, in_channels: int) -> None:
        """Makes the weight, now that the size of the input is known."""
        self.in_channels = int(in_channels)
        materialize(self.weight, (self.out_channels, self.in_channels))
        self.reset_parameters()

    def _before_load(self, state_dict: dict[str, Tensor], prefix: str) -> None:
        given = state_dict.get(f"{prefix}weight", self.weight)
        if is_lazy(self.weight) and not is_lazy(given):
            self.initialize_parameters(given.shape[-1])
        elif is_lazy(given) and not is_lazy(self.weight):  # the size is unknown again
            self.in_channels, self.weight = -1, zeros_or_later(self.out_channels, -1)

    def forward(self, x: Tensor) -> Tensor:
        if is_lazy(self.weight):
            self.initialize_parameters(x.shape[-1])
        return linear(x, self.weight, self.bias)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, bias={self.bias is not None})"


_FEW_TYPES = 16  # beyond, products for types that a row does not have cost more than they save


class HeteroLinear(Module):
    """x'_n = x_n W_t + b_t, t being the type of row n; weight [num_types, in_channels, out_channels].

    in_channels: -1: found from the first input. is_sorted: the types come in order (nothing depends on it here). kwargs: those of Linear.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HeteroLinear
    >>> HeteroLinear(5, 3, num_types=2)(Tensor.ones(4, 5), Tensor([0, 1, 0, 1])).shape
    (4, 3)
    """

    def __init__(self, in_channels: int, out_channels: int, num_types: int, is_sorted: bool = False, **kwargs: Any):
        self.in_channels, self.out_channels, self.num_types, self.is_sorted, self.kwargs = in_channels, out_channels, num_types, is_sorted, kwargs
        self.weight = zeros_or_later(num_types, in_channels, out_channels)
        self.bias = Tensor.zeros(num_types, out_channels, requires_grad=True) if kwargs.get("bias", True) else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        reset_weight_(self.weight, self.in_channels, self.kwargs.get("weight_initializer"))
        reset_bias_(self.bias, self.in_channels, self.kwargs.get("bias_initializer"))

    def initialize_parameters(self, in_channels: int) -> None:
        """Makes the weight, now that the size of the input is known."""
        self.in_channels = int(in_channels)
        materialize(self.weight, (self.num_types, self.in_channels, self.out_channels))
        self.reset_parameters()

    def _before_load(self, state_dict: dict[str, Tensor], prefix: str) -> None:
        given = state_dict.get(f"{prefix}weight", self.weight)
        if is_lazy(self.weight) and not is_lazy(given):
            self.initialize_parameters(given.shape[1])
        elif is_lazy(given) and not is_lazy(self.weight):
            self.in_channels, self.weight = -1, zeros_or_later(self.num_types, -1, self.out_channels)

    def forward(self, x: Tensor, type_vec: Tensor) -> Tensor:
        if is_lazy(self.weight):
            self.initialize_parameters(x.shape[-1])
        if x.ndim == 2 and worth_sorting(x.shape[0], self.num_types):
            out = Types(type_vec, self.num_types).product(x, self.weight)
        elif x.ndim == 2 and self.num_types <= _FEW_TYPES:
            # One dense product for all types, of which each row keeps its own: the gradient of the weight is a dense product too.
            every = (x @ self.weight.transpose(0, 1).flatten(1)).unflatten(-1, (self.num_types, self.out_channels))
            own = type_vec.reshape(-1, 1) == Tensor.arange(self.num_types, dtype=type_vec.dtype)
            out = own.unsqueeze(-1).where(every, 0.0).sum(1)
        else:  # few rows of many types: each reads its own matrix, inside the loop of the product
            out = (x.unsqueeze(-1) * self.weight.index_select(0, type_vec)).sum(-2)
        return out if self.bias is None else out + self.bias.index_select(0, type_vec)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_types={self.num_types}, bias={self.kwargs.get('bias', True)})"


class HeteroDictLinear(Module):
    """A Linear for each key of a dict of inputs.

    in_channels: {key: size}, or one size for all `types`; -1: found from the first input. kwargs: those of Linear.

    Shapes: {type: [N_type, F_type]}; out {type: [N_type, F_out]}.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HeteroDictLinear
    >>> {k: v.shape for k, v in HeteroDictLinear({"a": 2, "b": 3}, 4)({"a": Tensor.ones(5, 2), "b": Tensor.ones(6, 3)}).items()}
    {'a': (5, 4), 'b': (6, 4)}
    """

    def __init__(self, in_channels: Any, out_channels: int, types: Any = None, **kwargs: Any):
        if isinstance(in_channels, dict):
            if types is not None and set(in_channels) != set(types):
                raise ValueError(f"the types {list(types)} are not the keys of in_channels, {list(in_channels)}")
        elif types is None:
            raise ValueError("'types' are needed where 'in_channels' is one number")
        else:
            in_channels = dict.fromkeys(types, in_channels)
        self._types = list(in_channels)
        self._sizes, self.out_channels, self.kwargs = dict(in_channels), out_channels, kwargs
        self.lins = {key: Linear(size, out_channels, **kwargs) for key, size in in_channels.items()}

    @property
    def types(self) -> list[Any]:
        """The keys."""
        return self._types

    @property
    def in_channels(self) -> dict[Any, int]:
        """Size of the input of each key."""
        return {key: lin.in_channels for key, lin in self.lins.items()}

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        for lin in self.lins.values():
            lin.reset_parameters()

    def forward(self, x_dict: dict[Any, Tensor]) -> dict[Any, Tensor]:
        return {key: lin(x_dict[key]) for key, lin in self.lins.items() if key in x_dict}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, bias={self.kwargs.get('bias', True)})"


__all__ = ["HeteroDictLinear", "HeteroLinear", "Linear", "reset_bias_", "reset_weight_"]
