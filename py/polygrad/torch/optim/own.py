"""torch.optim.Optimizer, from which scripts derive optimizers of their own: groups of parameters as dicts, and what is kept for each parameter.

The optimizers of this package are instances of it too, but keep their state in the C core (state.py).

>>> import polygrad.torch as torch
>>> class Plain(torch.optim.Optimizer):
...     def __init__(self, params, lr=0.1):
...         super().__init__(params, {"lr": lr})
...     @torch.no_grad()
...     def step(self, closure=None):
...         for group in self.param_groups:
...             for p in group["params"]:
...                 p.add_(p.grad, alpha=-group["lr"])
>>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
>>> optimizer = Plain([w]); (w * w).sum().backward(); optimizer.step(); w.tolist()
[0.800000011920929, 1.600000023841858]
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, no-untyped-call, name-defined, valid-type"

from __future__ import annotations

import copy
from collections import defaultdict
from typing import Any

from ...nn.optim.base import Optimizer as Plain
from .._surface import lift_as, lift_class
from ..tensor import Tensor


def _init(self: Any, params: Any, defaults: dict[str, Any]) -> None:
    if isinstance(params, Tensor):
        raise TypeError(f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {type(params).__name__}")
    self.defaults, self.param_groups, self.state = defaults, [], defaultdict(dict)
    groups = list(params)
    if not groups:
        raise ValueError("optimizer got an empty parameter list")
    for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
        self.add_param_group(group)


def add_param_group(self: Any, param_group: dict[str, Any]) -> None:
    """One more group of parameters; settings that it does not have are the defaults."""
    if not isinstance(param_group, dict):
        raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
    given = param_group["params"]
    param_group["params"] = [given] if isinstance(given, Tensor) else [p[1] if isinstance(p, tuple) else p for p in given]
    for p in param_group["params"]:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
    if {id(p) for p in self.params} & {id(p) for p in param_group["params"]}:
        raise ValueError("some parameters appear in more than one parameter group")
    for name, value in self.defaults.items():
        param_group.setdefault(name, value)
    self.param_groups.append(param_group)


def step(self: Any, closure: Any = None) -> Any:
    """Updates the parameters; a class of a script's own has it."""
    raise NotImplementedError(f"{type(self).__name__} has no step of its own")


def step_if(self: Any, condition: Any) -> None:
    """A step where the condition holds."""
    if bool(condition):
        self.step()


def zero_grad(self: Any, set_to_none: bool = True) -> None:
    """Forgets the gradients, or zeroes them."""
    for p in self.params:
        p.grad = None if set_to_none or p.grad is None else p.grad.zeros_like()


def state_dict(self: Any) -> dict[str, Any]:
    """What is kept, by the number of the parameter, and the settings of the groups."""
    number = {id(p): k for k, p in enumerate(self.params)}
    groups = [{**{n: v for n, v in g.items() if n != "params"}, "params": [number[id(p)] for p in g["params"]]} for g in self.param_groups]
    return {"state": {number.get(id(p), p): own for p, own in self.state.items()}, "param_groups": groups}


def load_state_dict(self: Any, state_dict: dict[str, Any]) -> None:
    """Takes over what state_dict gave."""
    saved = copy.deepcopy(state_dict)
    if [len(g["params"]) for g in saved["param_groups"]] != [len(g["params"]) for g in self.param_groups]:
        raise ValueError("loaded state dict has other parameter groups than the optimizer")
    for group, settings in zip(self.param_groups, saved["param_groups"]):
        group.update({n: v for n, v in settings.items() if n != "params"})
    params = self.params
    self.state = defaultdict(dict, {params[k] if isinstance(k, int) else k: own for k, own in saved["state"].items()})


def _repr(self: Any) -> str:
    lines = [f"{type(self).__name__} ("]
    for k, g in enumerate(self.param_groups):
        lines.append(f"Parameter Group {k}")
        lines += [f"    {name}: {value}" for name, value in sorted((n, v) for n, v in g.items() if n != "params")]
    return "\n".join([*lines, ")"])


def _params(self: Any) -> list[Any]:
    return [p for g in self.param_groups for p in g["params"]]


_MEMBERS: dict[str, Any] = {
    "__init__": _init, "__repr__": _repr, "__doc__": __doc__, "add_param_group": add_param_group, "step": step, "step_if": step_if,
    "zero_grad": zero_grad, "state_dict": state_dict, "load_state_dict": load_state_dict, "schedule_step": None,
    "groups": property(lambda self: self.param_groups), "params": property(_params),
}  # fmt: skip
Optimizer = lift_class(Plain, "polygrad.torch.optim", **_MEMBERS)
lift_as(Plain, Optimizer)

__all__ = ["Optimizer"]
