"""The state of an optimizer in PyTorch's form: by parameter, {"state": {0: {"step": ..., "exp_avg": ...}, ...}, "param_groups": [...]}."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..._core import wrap
from ..._ffi import C
from ...nn.optim.base import Optimizer as Plain
from ...nn.optim.base import OptimizerState, ParamGroup
from .. import functions as torch
from .._surface import lift_as, lift_class

# The moments that the C core keeps for each parameter, by PyTorch's names, in the core's order; and what makes the core keep one.
_MOMENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "sgd": (("momentum_buffer", "momentum"),), "lars": (("momentum_buffer", "momentum"),),
    "adam": (("exp_avg", ""), ("exp_avg_sq", ""), ("max_exp_avg_sq", "amsgrad")), "sparseadam": (("exp_avg", ""), ("exp_avg_sq", "")),
    "nadam": (("exp_avg", ""), ("exp_avg_sq", "")), "radam": (("exp_avg", ""), ("exp_avg_sq", "")), "lamb": (("exp_avg", ""), ("exp_avg_sq", "")),
    "adamax": (("exp_avg", ""), ("exp_inf", "")), "rmsprop": (("momentum_buffer", "momentum"), ("square_avg", ""), ("grad_avg", "centered")),
    "adagrad": (("sum", ""),), "adadelta": (("acc_delta", ""), ("square_avg", "")), "rprop": (("prev", ""), ("step_size", "")), "asgd": (("ax", ""),),
}  # fmt: skip
# What it keeps for a whole group: the betas to the power of the step, the number of steps, and a value of its kind.
_SCALARS: dict[str, tuple[str, ...]] = {
    "adam": ("power1", "power2"), "sparseadam": ("power1", "power2"), "lamb": ("power1", "power2"), "adamax": ("power1",),
    "nadam": ("power1", "power2", "step", "mu_product"), "radam": ("power1", "power2", "step"), "asgd": ("step", "eta"),
}  # fmt: skip


class _Layout:
    """Where things lie in the list of a group's state."""

    def __init__(self, group: ParamGroup):
        kind, n = group._kind, len(group.params)
        self.moments = [name for name, setting in _MOMENTS[kind] if not setting or group.get(setting, group._fixed.get(setting))]
        self.handles = group.state()
        first = len(self.handles) - len(self.moments) * n
        names = _SCALARS.get(kind, ("step",))[:first]
        self.scalars = {name: self.handles[k] for k, name in enumerate(names)}
        self._first, self._n, self._group = first, n, group

    def moment(self, name: str, k: int) -> int:
        """The handle of a moment of parameter k."""
        return self.handles[self._first + self.moments.index(name) * self._n + k]

    def steps(self) -> float | None:
        """How many steps were made, where the core knows it."""
        if "step" in self.scalars:
            return float(round(_read(self._group, self.scalars["step"]).item()))
        beta = self._betas()[0]
        if "power1" in self.scalars and 0 < beta < 1:
            power = float(_read(self._group, self.scalars["power1"]).item())
            return float(round(math.log(power) / math.log(beta))) if power > 0 else None
        return None

    def set_steps(self, steps: float) -> None:
        """The scalars after that many steps."""
        for name, value in zip(("power1", "power2"), self._betas()):
            if name in self.scalars:
                _write(self._group, self.scalars[name], value**steps)
        if "step" in self.scalars:
            _write(self._group, self.scalars["step"], steps)

    def _betas(self) -> tuple[float, float]:
        return self._group.get("betas") or (self._group.get("b1", 0.0), self._group.get("b2", 0.0))


def _read(group: ParamGroup, handle: int) -> Any:
    return wrap(group._g, C.poly_retain_copy(handle))


def _write(group: ParamGroup, handle: int, value: Any) -> None:
    own = _read(group, handle)
    if not hasattr(value, "_h"):
        value = torch.tensor(float(value), dtype=own.dtype)
    if tuple(value.shape) != tuple(own.shape):
        raise ValueError(f"loaded state dict has a state of the shape {tuple(value.shape)} for a parameter of the shape {tuple(own.shape)}")
    value = value.cast(own.dtype)
    group._g.check(C.poly_assign(handle, value._h))
    group._g.check(C.poly_realize(handle))


def _of_parameter(group: ParamGroup, layout: _Layout, k: int, steps: float | None) -> dict[str, Any]:
    own = {} if steps is None else {"step": torch.tensor(steps)}
    return {**own, **{name: _read(group, layout.moment(name, k)) for name in layout.moments}, **{
        name: _read(group, layout.scalars[name]) for name in ("mu_product", "eta") if name in layout.scalars
    }}  # fmt: skip


def _by_parameter(optimizer: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Parameters with their state; none before the first step, and none where the kind has no state."""
    for group in optimizer.groups:
        layout = _Layout(group)
        steps = layout.steps() if layout.handles else None
        for k, p in enumerate(group.params):
            if steps != 0 and layout.handles:
                yield p, _of_parameter(group, layout, k, steps)


class State(Mapping[Any, Any]):
    """optimizer.state: what is kept for each parameter, to be read."""

    def __init__(self, optimizer: Any):
        self._all = [(p, own) for p, own in _by_parameter(optimizer)]

    def __getitem__(self, parameter: Any) -> dict[str, Any]:
        return next((own for p, own in self._all if p is parameter), {})

    def __contains__(self, parameter: object) -> bool:
        return any(p is parameter for p, _ in self._all)

    def __iter__(self) -> Iterator[Any]:
        return iter(p for p, _ in self._all)

    def __len__(self) -> int:
        return len(self._all)


def state_dict(self: Any) -> dict[str, Any]:
    """Moments and step counts by the number of the parameter, and the settings of the groups.

    >>> import polygrad.torch as torch
    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> w.sum().backward(); optimizer.step()
    >>> state = optimizer.state_dict()
    >>> sorted(state["state"][0]), state["param_groups"][0]["params"], state["param_groups"][0]["lr"]
    (['exp_avg', 'exp_avg_sq', 'step'], [0], 0.1)
    """
    number = {id(p): k for k, p in enumerate(self.params)}
    groups = [{**{n: v for n, v in g.items() if n != "params"}, "params": [number[id(p)] for p in g.params]} for g in self.groups]
    return {"state": {number[id(p)]: own for p, own in _by_parameter(self)}, "param_groups": groups}


def load_state_dict(self: Any, state_dict: Any) -> None:
    """Takes over what state_dict gave, also that of PyTorch's optimizer of the same name."""
    if isinstance(state_dict, OptimizerState) or "param_groups" not in state_dict:  # of an optimizer of polygrad.nn
        Plain.load_state_dict(self, state_dict)
        return
    saved = state_dict["param_groups"]
    if len(saved) != len(self.groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(g.params) != len(s["params"]) for g, s in zip(self.groups, saved)):
        raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    for group, settings in zip(self.groups, saved):
        for name, value in settings.items():
            if name != "params" and (name in group or not isinstance(value, bool)) and value is not None and group.get(name) != value:
                group[name] = value
    for group, settings in zip(self.groups, saved):
        layout = _Layout(group)
        states = [state_dict["state"].get(number, {}) for number in settings["params"]]
        steps = max((float(s["step"]) for s in states if "step" in s), default=0.0)
        layout.set_steps(steps)
        for k, own in enumerate(states):
            for name in layout.moments:
                if own.get(name) is not None:
                    _write(group, layout.moment(name, k), own[name])
            for name in ("mu_product", "eta"):
                if name in own and name in layout.scalars:
                    _write(group, layout.scalars[name], own[name])


def in_its_form(origin: Any, module: str) -> Any:
    """The optimizer of this namespace for one of the library's, with PyTorch's form of the state."""
    if origin is not Plain and issubclass(origin, Plain):
        lift_as(origin, lift_class(origin, module, state_dict=state_dict, load_state_dict=load_state_dict, state=property(State)))
    from .._surface import lift

    return lift(origin, module)


__all__ = ["State", "in_its_form", "load_state_dict", "state_dict"]
