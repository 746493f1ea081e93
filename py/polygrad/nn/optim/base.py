"""Optimizers: groups of parameters with settings, each group one optimizer of the C core."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

from ..._core import wrap
from ..._ffi import C, PolyOptimOptions, handle_array
from ...dtypes import dtypes
from ...tensor import Tensor

# Settings under PyTorch's or tinygrad's names, and the field of PolyOptimOptions that each sets.
_FIELDS = {
    "momentum": "momentum", "dampening": "dampening", "eps": "eps", "weight_decay": "weight_decay", "nesterov": "nesterov", "classic": "classic",
    "amsgrad": "amsgrad", "centered": "centered", "maximize": "maximize", "lr_decay": "lr_decay", "initial_accumulator_value": "initial",
    "momentum_decay": "momentum_decay", "lambd": "lambd", "t0": "t0", "b1": "beta1", "b2": "beta2", "rho": "beta2", "tcoef": "trust",
    "ns_steps": "ns_steps", "decoupled_weight_decay": "decoupled",
}  # fmt: skip


class ParamGroup:
    """Parameters that share settings; like a dict of them, in which 'lr' and the settings can be changed."""

    def __init__(self, kind: str, params: list[Tensor], options: dict[str, Any], fixed: dict[str, Any]):
        if not params:
            raise EmptyError("optimizer got an empty parameter list: it needs at least one parameter that can have a gradient")
        self.params, self.options = params, options
        self._kind, self._fixed = kind, fixed
        self._g = params[0]._g
        for p in params:
            if p._g is not self._g:
                raise RuntimeError("the parameters of an optimizer must belong to one graph")
        lr = _number(options["lr"])
        self._h = C.poly_optim_new(kind.encode(), handle_array([p._h for p in params]), len(params), lr, ctypes.byref(self._packed()))
        if self._h is None:
            self._g.fail()

    def __del__(self, free: Any = C.poly_optim_free) -> None:
        if getattr(self, "_h", None) and self._g.ptr:
            free(self._h)
            self._h = None

    # A copy has a state of its own, which the C core holds.

    def _copied(self, params: list[Tensor]) -> ParamGroup:
        out = ParamGroup(self._kind, params, {**self.options, "lr": self.lr}, self._fixed)
        for mine, theirs in zip(self.state(), out.state()):
            self._g.check(C.poly_assign(theirs, mine))
            self._g.check(C.poly_realize(theirs))
        return out

    def __copy__(self) -> ParamGroup:
        return self._copied(list(self.params))

    def __deepcopy__(self, memo: Any) -> ParamGroup:
        return self._copied(copy.deepcopy(self.params, memo))

    def __reduce__(self) -> Any:
        state = [wrap(self._g, C.poly_retain_copy(h)) for h in self.state()]
        return _unpickled, (self._kind, self.params, {**self.options, "lr": self.lr}, self._fixed, state)

    def _packed(self) -> Any:
        """The settings as the C core has them."""
        out = PolyOptimOptions()
        for name, value in {**self.options, **self._fixed}.items():
            if name == "betas":
                out.beta1, out.beta2 = value
            elif name == "alpha":  # ASGD's power, RMSprop's memory of squares
                setattr(out, "alpha" if self._kind == "asgd" else "beta2", value)
            elif name == "etas":
                out.shrink, out.grow = value
            elif name == "step_sizes":
                out.low, out.high = value
            elif name == "ns_coefficients":
                for k, v in enumerate(value or ()):
                    out.ns[k] = v
            elif name in _FIELDS:
                setattr(out, _FIELDS[name], value)
        return out

    # ---- like a dict ----

    def __getitem__(self, key: str) -> Any:
        return self.params if key == "params" else self.lr if key == "lr" else self.options[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if key == "lr":
            self.lr = _number(value)
        elif key == "params":
            raise KeyError("the parameters of a group cannot be changed: make a new optimizer")
        else:
            known = key in self.options
            self.options[key] = value
            if known and (key in _FIELDS or key in ("betas", "alpha", "etas", "step_sizes")):
                self._g.check(C.poly_optim_set(self._h, ctypes.byref(self._packed())))

    def __contains__(self, key: object) -> bool:
        return key in ("params", "lr") or key in self.options

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """Names of the settings."""
        return ["params", "lr", *[k for k in self.options if k != "lr"]]

    def items(self) -> list[tuple[str, Any]]:
        """Settings by name."""
        return [(k, self[k]) for k in self.keys()]

    def get(self, key: str, default: Any = None) -> Any:
        """A setting, or default."""
        return self[key] if key in self else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """A setting, which is put there if there is none."""
        if key not in self:
            self.options[key] = default
        return self[key]

    # ---- steps ----

    def state(self) -> list[int]:
        """Handles of the moments and step counts; the core's."""
        out = handle_array([None] * C.poly_optim_state(self._h, None, 0))
        C.poly_optim_state(self._h, out, len(out))
        return list(out)

    def step(self) -> None:
        if self._g.tracing:
            self.schedule()
        else:
            self._g.check(C.poly_optim_step(self._h))

    def step_if(self, condition: Tensor) -> None:
        make = C.poly_optim_schedule_if if self._g.tracing else C.poly_optim_step_if
        self._g.check(make(self._h, condition._h))

    def schedule(self) -> None:
        self._g.check(C.poly_optim_schedule(self._h))

    @property
    def lr(self) -> float:
        return C.poly_optim_lr(self._h)

    @lr.setter
    def lr(self, value: float) -> None:
        self._g.check(C.poly_optim_set_lr(self._h, float(value)))


def _unpickled(kind: str, params: list[Tensor], options: dict[str, Any], fixed: dict[str, Any], state: list[Tensor]) -> ParamGroup:
    out = ParamGroup(kind, params, options, fixed)
    for h, value in zip(out.state(), state):
        out._g.check(C.poly_assign(h, value._h))
        out._g.check(C.poly_realize(h))
    return out


def _number(x: Any) -> float:
    return float(x.item()) if isinstance(x, Tensor) else float(x)


class EmptyError(ValueError, AssertionError):
    """An optimizer of nothing. tinygrad asserts that it has something."""


class OptimizerState(dict):
    """Tensors by name, and the settings of the groups beside them."""

    def __init__(self, tensors: dict[str, Tensor], param_groups: list[dict[str, Any]]):
        super().__init__(tensors)
        self.param_groups = param_groups

    def __missing__(self, key: str) -> Any:
        if key == "param_groups":
            return self.param_groups
        if key == "state":
            return dict(self)
        raise KeyError(key)

    def __reduce__(self) -> Any:
        return OptimizerState, (dict(self), self.param_groups)


class Rate(float):
    """A learning rate, with what scripts for tinygrad ask of it, where it is a tensor."""

    _owner: Any
    _tensor: Any
    dtype, shape = dtypes.float32, ()

    def __new__(cls, owner: Any) -> Rate:
        self = super().__new__(cls, owner.groups[0].lr)
        self._owner = owner
        return self

    def assign(self, x: Any) -> Rate:
        """Sets the learning rate of the optimizer."""
        self._owner.lr = x
        return Rate(self._owner)

    def realize(self, *others: Any) -> Rate:
        """The rate itself."""
        return self

    def __getattr__(self, name: str) -> Any:
        """It may stand among tensors: Tensor.realize(opt.lr.assign(0.1), *opt.schedule_step())."""
        if name not in ("_h", "_g"):
            raise AttributeError(f"a learning rate has no {name!r}")
        self._tensor = self.__dict__["_tensor"] if "_tensor" in self.__dict__ else Tensor(float(self))
        return getattr(self._tensor, name)

    def item(self) -> float:
        """The number."""
        return float(self)

    tolist = item

    def numpy(self) -> Any:
        """The number as an array."""
        return np.array(float(self), np.float32)

    def __reduce__(self) -> Any:
        return float, (float(self),)


class _Held(Tensor):
    """A tensor of an optimizer's own: what is assigned to it, its next step uses. The core frees it, with its group."""

    _kind = Tensor

    def __init__(self, group: ParamGroup, h: int):
        self._h, self._g, self._group = h, group._g, group

    def __new__(cls, *args: Any) -> Any:
        return object.__new__(cls)

    def __del__(self, free: Any = None) -> None:
        self._h = 0


class _HeldRate(Tensor):
    """The learning rate as a tensor of a state dict."""

    _kind = Tensor
    _owner: Any

    def assign(self, x: Any) -> Tensor:
        self._owner.lr = _number(x)
        return self


# tinygrad's names of the scalars and of the tensors for each parameter that the core's optimizers hold
_HELD = {kind: (("b1_t", "b2_t"), ("m", "v")) for kind in ("adam", "adamw", "lamb")} | {kind: ((), ("b",)) for kind in ("sgd", "lars", "muon")}


class Optimizer:
    """Holds parameters; step() updates those that have gradients, zero_grad() forgets the gradients.

    params: tensors, pairs of a name and a tensor, or dicts {"params": [...], "lr": ..., ...} for groups with settings of their own.
    """

    kind: str  # of the C core
    fixed: dict[str, Any] = {}  # settings that are part of the kind

    def __init__(self, params: Any, **settings: Any):
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got a Tensor")
        params = list(params)
        if not params:
            raise EmptyError("optimizer got an empty parameter list")
        self.defaults = settings
        self.params: list[Tensor] = []
        self.groups: list[ParamGroup] = []
        self.param_groups = self.groups
        for group in params if isinstance(params[0], dict) else [{"params": params}]:
            self.add_param_group(group)

    def _check(self, options: dict[str, Any]) -> dict[str, Any]:
        """The settings of a group, which may come under other names than those of the constructor."""
        return options

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """One more group of parameters; settings that it does not have are those of the optimizer."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        given = param_group["params"]
        given = [given] if isinstance(given, Tensor) else list(given)
        seen = {id(p) for p in self.params}
        chosen = _trainable(given)
        if any(id(p) in seen for p in chosen):
            raise ValueError("some parameters appear in more than one parameter group")
        options = self._check({**self.defaults, **{k: v for k, v in param_group.items() if k != "params"}})
        self.groups.append(ParamGroup(self.kind, chosen, options, self.fixed))
        self.params += chosen

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters. closure, if given, computes the loss and its gradients first."""
        loss = None if closure is None else closure()
        for g in self.groups:
            g.step()
        return loss

    def step_if(self, condition: Tensor) -> None:
        """The same where the condition, one truth value, holds; else parameters and state stay as they are."""
        for g in self.groups:
            g.step_if(condition)

    def schedule_step(self) -> list[Tensor]:
        """Makes the updates without running them; gives the tensors to realize."""
        for g in self.groups:
            g.schedule()
        return list(self.params)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients, or zeroes them."""
        for g in self.groups:
            if set_to_none:
                C.poly_optim_zero_grad(g._h)
            else:
                for p in g.params:
                    p.grad = None if p.grad is None else p.grad.zeros_like()

    def state_dict(self) -> OptimizerState:
        """Moments and step counts, by the number of their group and their own: with the parameters, all that is needed to go on later. Under
        ["param_groups"] are the settings of the groups, as PyTorch has them; a file of tensors does not hold them."""
        tensors = {f"{k}.{n}": wrap(g._g, C.poly_retain_copy(h)) for k, g in enumerate(self.groups) for n, h in enumerate(g.state())}
        return OptimizerState(tensors, [{name: v for name, v in g.items() if name != "params"} for g in self.groups])

    def load_state_dict(self, state_dict: Any) -> None:
        """Takes over what state_dict gave, of an optimizer of the same kind for parameters of the same shapes.

        >>> from polygrad import Tensor
        >>> from polygrad.nn import Adam
        >>> w = Tensor([1.0, 2.0]); a = Adam([w], lr=0.1)
        >>> _ = (w * w).sum().backward(); a.step()
        >>> b = Adam([w], lr=0.1); b.load_state_dict(a.state_dict())
        >>> [t.tolist() for t in a.state_dict().values()] == [t.tolist() for t in b.state_dict().values()]
        True
        """
        own = self.state_dict()
        if own.keys() != state_dict.keys() or any(own[k].shape != state_dict[k].shape for k in own):
            raise ValueError(f"the state of an optimizer with {len(state_dict)} tensors does not fit this one, which has {len(own)}")
        for k, g in enumerate(self.groups):
            for n, h in enumerate(g.state()):
                value = state_dict[f"{k}.{n}"].cast(own[f"{k}.{n}"].dtype)
                g._g.check(C.poly_assign(h, value._h))
                g._g.check(C.poly_realize(h))
        for g, settings in zip(self.groups, getattr(state_dict, "param_groups", ())):
            for name, value in settings.items():
                if g.get(name) != value:
                    g[name] = value

    def _state_items(self) -> dict[str, Any]:
        """What get_state_dict finds in an optimizer, by tinygrad's names: load_state_dict puts it back."""
        groups = [{"params": g.params, **_held(g)} for g in self.groups]
        return groups[0] if len(groups) == 1 else {"groups": groups}

    @property
    def lr(self) -> Rate:
        """Learning rate (of the first group): a number that knows tinygrad's `opt.lr.assign(0.1)`."""
        return Rate(self)

    @lr.setter
    def lr(self, value: float) -> None:
        for g in self.groups:
            g.lr = _number(value)

    @property
    def device(self) -> str:
        """Where the parameters are."""
        return self.params[0].device

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for k, g in enumerate(self.groups):
            lines.append(f"Parameter Group {k}")
            lines += [f"    {name}: {value}" for name, value in sorted((n, v) for n, v in g.items() if n != "params")]
        return "\n".join([*lines, ")"])


def _held(group: ParamGroup) -> dict[str, Any]:
    """What an optimizer of the core holds for a group, as tensors."""
    rate = _HeldRate([group.lr])
    rate._owner = group
    found: dict[str, Any] = {"lr": rate}
    own = [_Held(group, h) for h in group.state()]
    scalars, slots = _HELD.get(group._kind, ((), ()))
    if len(own) != len(scalars) + len(slots) * len(group.params):
        return found | ({"state": own} if own else {})
    n = len(group.params)
    found |= dict(zip(scalars, own))
    return found | {name: own[len(scalars) + k * n : len(scalars) + (k + 1) * n] for k, name in enumerate(slots)}


def _trainable(params: Any) -> list[Tensor]:
    """Each parameter once, marked as one; without those whose requires_grad was set to False."""
    chosen, seen = [], set()
    for p in params:
        if isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str):  # of named_parameters()
            p = p[1]
        if not isinstance(p, Tensor):
            raise TypeError(f"a parameter must be a Tensor, not {type(p).__name__}")
        wanted = getattr(p, "_wanted", None)
        if wanted is False or id(p) in seen or not p.is_floating_point():
            continue
        seen.add(id(p))
        if wanted is None and not p.requires_grad:
            p.realize()
            p.requires_grad = True
        chosen.append(p)
    return chosen


class OptimizerGroup(Optimizer):
    """Several optimizers as one."""

    def __init__(self, *optimizers: Optimizer):
        self.optimizers = optimizers
        self.groups = self.param_groups = [g for o in optimizers for g in o.groups]
        self.params = [p for o in optimizers for p in o.params]

    def __getitem__(self, k: int) -> Optimizer:
        return self.optimizers[k]

    def _state_items(self) -> dict[str, Any]:
        return {"optimizers": self.optimizers}


__all__ = ["Optimizer", "OptimizerGroup", "ParamGroup"]
