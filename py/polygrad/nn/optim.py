"""Optimizers of the C core, learning-rate schedules and gradient clipping."""

from __future__ import annotations

import math
from typing import Any

from .._ffi import C, handle_array
from .._meaning import flag, warn_once
from ..tensor import Tensor


class Optimizer:
    """Holds parameters; step() updates those that have gradients, zero_grad() forgets the gradients.

    params: tensors, or dicts {"params": [...], "lr": ..., ...} for groups with settings of their own.
    """

    _make: str
    _defaults: dict[str, Any] = {}

    def __init__(self, params: Any, **settings: Any):
        params = list(params)
        groups = params if params and isinstance(params[0], dict) else [{"params": params}]
        self.params: list[Tensor] = []
        self.groups: list[_Group] = []
        for group in groups:
            chosen = _trainable(group["params"])
            options = {**settings, **{k: v for k, v in group.items() if k != "params"}}
            self.groups.append(_Group(self._make, chosen, self._arguments(**options), options))
            self.params += chosen
        self.param_groups = self.groups

    def _arguments(self, **settings: Any) -> list[Any]:
        raise NotImplementedError

    def step(self) -> None:
        """Updates the parameters."""
        for g in self.groups:
            g.step()

    def schedule_step(self) -> list[Tensor]:
        """Makes the updates without running them; gives the tensors to realize."""
        for g in self.groups:
            g.schedule()
        return list(self.params)

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for g in self.groups:
            C.poly_optim_zero_grad(g._h)

    def state_dict(self) -> dict[str, Tensor]:
        """Moments and step counts, by the number of their group and their own: with the parameters, all that is needed to go on later."""
        from .._core import wrap

        return {f"{k}.{n}": wrap(g._g, C.poly_retain_copy(h)) for k, g in enumerate(self.groups) for n, h in enumerate(g.state())}

    def load_state_dict(self, state_dict: dict[str, Tensor]) -> None:
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

    @property
    def lr(self) -> float:
        """Learning rate (of the first group)."""
        return self.groups[0].lr

    @lr.setter
    def lr(self, value: float) -> None:
        for g in self.groups:
            g.lr = value


class _Group:
    """Parameters that share settings: one optimizer of the C core."""

    def __init__(self, make: str, params: list[Tensor], arguments: list[Any], options: dict[str, Any]):
        if not params:
            raise ValueError("an optimizer needs at least one parameter that can have a gradient")
        self.params, self.options = params, options
        self._g = params[0]._g
        for p in params:
            if p._g is not self._g:
                raise RuntimeError("the parameters of an optimizer must belong to one graph")
        self._h = getattr(C, make)(handle_array([p._h for p in params]), len(params), *arguments)
        if self._h is None:
            self._g.fail()

    def __del__(self, free: Any = C.poly_optim_free) -> None:
        if getattr(self, "_h", None) and self._g.ptr:
            free(self._h)
            self._h = None

    def __getitem__(self, key: str) -> Any:
        return self.params if key == "params" else self.lr if key == "lr" else self.options[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if key != "lr":
            raise KeyError(f"only 'lr' of a parameter group can be changed, not {key!r}")
        self.lr = value

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

    def schedule(self) -> None:
        self._g.check(C.poly_optim_schedule(self._h))

    @property
    def lr(self) -> float:
        return C.poly_optim_lr(self._h)

    @lr.setter
    def lr(self, value: float) -> None:
        self._g.check(C.poly_optim_set_lr(self._h, float(value)))


def _trainable(params: Any) -> list[Tensor]:
    """Each parameter once, marked as one; without those whose requires_grad was set to False."""
    chosen, seen = [], set()
    for p in params:
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


class SGD(Optimizer):
    """Stochastic gradient descent with momentum, Nesterov momentum and weight decay.

    >>> from polygrad import Tensor
    >>> from polygrad.nn import SGD
    >>> w = Tensor([1.0]); opt = SGD([w], lr=0.1)
    >>> _ = (w * w).sum().backward(); opt.step()
    >>> round(w.item(), 4)
    0.8
    """

    _make = "poly_sgd"

    def __init__(
        self, params: Any, lr: float = 0.001, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False, classic: bool = False
    ):
        flag("SGD", "nesterov", nesterov, "weight_decay")
        if flag("SGD", "classic", classic, "nesterov"):
            raise NotImplementedError("SGD with classic=True, a momentum that holds the learning rate, is not there")
        super().__init__(params, lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)

    def _arguments(self, lr: float, momentum: float, weight_decay: float, nesterov: bool) -> list[Any]:  # type: ignore[override]
        return [lr, momentum, weight_decay, nesterov]


class _AdamLike(Optimizer):
    def __init__(
        self, params: Any, lr: float = 0.001, b1: Any = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.0,
        *, betas: tuple[float, float] | None = None,
    ):  # fmt: skip
        if isinstance(b1, (tuple, list)):  # PyTorch's place of betas
            if b2 != 0.999 or betas is not None:
                raise TypeError(f"{type(self).__name__}: with betas in PyTorch's place, give eps and weight_decay by name")
            betas, b1 = tuple(b1), 0.9
        b1, b2 = betas if betas is not None else (b1, b2)
        super().__init__(params, lr=lr, b1=b1, b2=b2, eps=eps, weight_decay=weight_decay)

    def _arguments(self, lr: float, b1: float, b2: float, eps: float, weight_decay: float, betas: Any = None) -> list[Any]:  # type: ignore[override]
        b1, b2 = betas if betas is not None else (b1, b2)
        return [lr, b1, b2, eps, weight_decay]


class Adam(_AdamLike):
    """Adam; weight decay is added to the gradient."""

    _make = "poly_adam"


class AdamW(_AdamLike):
    """Adam with decoupled weight decay."""

    _make = "poly_adamw"

    def __init__(
        self, params: Any, lr: float = 0.001, b1: Any = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.01,
        *, betas: tuple[float, float] | None = None,
    ):  # fmt: skip
        super().__init__(params, lr, b1, b2, eps, weight_decay, betas=betas)


class LAMB(_AdamLike):
    """Adam with a trust ratio for each parameter."""

    _make = "poly_lamb"

    def __init__(
        self, params: Any, lr: float = 0.001, b1: Any = 0.9, b2: float = 0.999, eps: float = 1e-6, weight_decay: float = 0.0,
        *, betas: tuple[float, float] | None = None,
    ):  # fmt: skip
        super().__init__(params, lr, b1, b2, eps, weight_decay, betas=betas)


class RMSprop(Optimizer):
    """RMSprop with optional momentum."""

    _make = "poly_rmsprop"

    def __init__(self, params: Any, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0, momentum: float = 0.0):
        super().__init__(params, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum)

    def _arguments(self, lr: float, alpha: float, eps: float, weight_decay: float, momentum: float) -> list[Any]:  # type: ignore[override]
        return [lr, alpha, eps, weight_decay, momentum]


class OptimizerGroup(Optimizer):
    """Several optimizers as one."""

    def __init__(self, *optimizers: Optimizer):
        self.optimizers = optimizers
        self.groups = self.param_groups = [g for o in optimizers for g in o.groups]
        self.params = [p for o in optimizers for p in o.params]

    def __getitem__(self, k: int) -> Optimizer:
        return self.optimizers[k]


# ---- learning-rate schedules ----


class LRScheduler:
    """Sets the learning rates of an optimizer; step() goes one further."""

    def __init__(self, optimizer: Optimizer):
        self.optimizer = optimizer
        self.base = [g.lr for g in optimizer.groups]
        self.epoch = 0

    def factor(self, epoch: int) -> float:
        """What the base rate is multiplied with."""
        raise NotImplementedError

    def step(self, *args: Any) -> None:
        """One step further."""
        self.epoch += 1
        for g, base in zip(self.optimizer.groups, self.base):
            g.lr = base * self.factor(self.epoch)

    def get_lr(self) -> float:
        """The rate of the first group."""
        return self.optimizer.lr


class StepLR(LRScheduler):
    """Multiplies the rate by gamma every step_size steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1):
        super().__init__(optimizer)
        self.step_size, self.gamma = step_size, gamma

    def factor(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the rate down to eta_min in T_max steps."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0):
        super().__init__(optimizer)
        self.T_max, self.eta_min = T_max, eta_min

    def step(self, *args: Any) -> None:
        self.epoch += 1
        for g, base in zip(self.optimizer.groups, self.base):
            g.lr = self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.epoch / self.T_max)) / 2


class OneCycleLR(LRScheduler):
    """Up to max_lr in a fraction of the steps, then down to almost nothing, along cosines."""

    def __init__(
        self, optimizer: Optimizer, max_lr: float, total_steps: int | None = None, epochs: int | None = None, steps_per_epoch: int | None = None,
        pct_start: float = 0.3, anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: float = 0.85, max_momentum: float = 0.95,
        div_factor: float = 25.0, final_div_factor: float = 1e4,
    ):  # fmt: skip
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR needs total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if anneal_strategy != "cos":
            raise NotImplementedError(f"OneCycleLR anneals along cosines ('cos'), not {anneal_strategy!r}")
        if cycle_momentum:
            warn_once("OneCycleLR", "OneCycleLR leaves the momentum alone, which PyTorch cycles too: give cycle_momentum=False")
        super().__init__(optimizer)
        self.max_lr, self.total, self.pct = max_lr, total_steps, pct_start
        self.first, self.last = max_lr / div_factor, max_lr / div_factor / final_div_factor
        optimizer.lr = self.first

    def step(self, *args: Any) -> None:
        self.epoch += 1
        if self.epoch >= self.total:
            raise ValueError(f"a schedule of {self.total} steps was stepped {self.epoch + 1} times")
        peak = self.pct * self.total - 1
        if self.epoch <= peak:
            a, b, t = self.first, self.max_lr, self.epoch / peak
        else:
            a, b, t = self.max_lr, self.last, (self.epoch - peak) / (self.total - 1 - peak)
        self.optimizer.lr = b + (a - b) * (1 + math.cos(math.pi * t)) / 2


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by factor when a value has not improved for `patience` steps."""

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: float = 0.0, eps: float = 1e-8,
    ):  # fmt: skip
        super().__init__(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold_mode must be 'rel' or 'abs', not {threshold_mode!r}")
        if factor >= 1:
            raise ValueError(f"factor must be below 1, not {factor}")
        self.mode, self.scale, self.patience, self.cooldown = mode, factor, patience, cooldown
        self.threshold, self.threshold_mode, self.min_lr, self.eps = threshold, threshold_mode, min_lr, eps
        self.best, self.bad, self.resting = math.inf if mode == "min" else -math.inf, 0, 0

    def _better(self, value: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * value > sign * self.best + self.threshold
        return sign * value > sign * (self.best * (1 + sign * self.threshold))

    def step(self, *args: Any) -> None:
        value = float(args[0])
        if self._better(value):
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        if self.resting:
            self.resting, self.bad = self.resting - 1, 0
        if self.bad > self.patience:
            self.resting, self.bad = self.cooldown, 0
            for g in self.optimizer.groups:
                new = max(self.min_lr, g.lr * self.scale)
                g.lr = new if g.lr - new > self.eps else g.lr


# ---- clipping ----


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scales all gradients so that their common norm is at most max_norm; gives the norm before."""
    everything = [(p, p.grad) for p in ([parameters] if isinstance(parameters, Tensor) else parameters)]
    params = [(p, g) for p, g in everything if g is not None]
    if not params:
        return Tensor(0.0)
    grads = [g for _, g in params]
    if norm_type == math.inf:
        total = Tensor.stack(*[g.abs().max() for g in grads]).max()
    else:
        total = Tensor.stack(*[g.abs().pow(norm_type).sum() for g in grads]).sum().pow(1 / norm_type)
    scale = (max_norm / (total + 1e-6)).minimum(1.0)
    for p, g in params:
        p.grad = g * scale
    return total


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Limits every gradient element to [-clip_value, clip_value]."""
    for p in [parameters] if isinstance(parameters, Tensor) else parameters:
        if p.grad is not None:
            p.grad = p.grad.clamp(-clip_value, clip_value)
