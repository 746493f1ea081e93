"""Learning-rate schedules with PyTorch's names, arguments and rates: step() after each step or epoch of the optimizer."""

from __future__ import annotations

import bisect
import math
from typing import Any, Callable

from ...tensor import Tensor


def _each(value: Any, optimizer: Any, what: str) -> list[Any]:
    """One value for each parameter group."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise ValueError(f"expected {n} values for {what}, got {len(value)}")
    return list(value)


class LRScheduler:
    """Sets the learning rates of an optimizer; step() goes one further. A subclass has get_lr(), the rates at self.last_epoch, from those before
    it, or rate(base, epoch), the rate at any epoch."""

    def __init__(self, optimizer: Any, last_epoch: int = -1):
        if not hasattr(optimizer, "param_groups"):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        if last_epoch == -1:
            for g in optimizer.param_groups:
                g.setdefault("initial_lr", g["lr"])
        elif any("initial_lr" not in g for g in optimizer.param_groups):
            raise KeyError("param 'initial_lr' is not specified in param_groups[0] when resuming an optimizer")
        self.base_lrs = [g["initial_lr"] for g in optimizer.param_groups]
        self._step_count = 0
        self._begin()

    def _begin(self) -> None:
        self.step()

    def rate(self, base: float, epoch: int) -> float:
        """The rate at an epoch, if it can be told without those before."""
        raise NotImplementedError

    def get_lr(self) -> Any:
        """The rates at the epoch that was just begun."""
        return [self.rate(base, self.last_epoch) for base in self.base_lrs]

    def get_last_lr(self) -> list[float]:
        """The rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """One step further, or to an epoch."""
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            self._set(self.get_lr())
        else:
            self.last_epoch = epoch
            known = type(self).rate is not LRScheduler.rate
            self._set([self.rate(base, epoch) for base in self.base_lrs] if known else self.get_lr())

    def _set(self, rates: Any) -> None:
        for g, lr in zip(self.optimizer.param_groups, rates):
            g["lr"] = lr
        self._last_lr = [g["lr"] for g in self.optimizer.param_groups]

    def _now(self) -> list[float]:
        return [g["lr"] for g in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on later."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer" and not callable(v)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict gave."""
        self.__dict__.update(state_dict)


class StepLR(LRScheduler):
    """Multiplies the rate by gamma every step_size steps."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return base * self.gamma ** (epoch // self.step_size)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._now()
        return [lr * self.gamma for lr in self._now()]


class MultiStepLR(LRScheduler):
    """Multiplies the rate by gamma at each of some epochs."""

    def __init__(self, optimizer: Any, milestones: Any, gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return base * self.gamma ** bisect.bisect_right(self.milestones, epoch)

    def get_lr(self) -> list[float]:
        return [lr * self.gamma ** self.milestones.count(self.last_epoch) for lr in self._now()]


class ExponentialLR(LRScheduler):
    """Multiplies the rate by gamma at each step."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return base * self.gamma**epoch

    def get_lr(self) -> list[float]:
        return self._now() if self.last_epoch == 0 else [lr * self.gamma for lr in self._now()]


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1):
        self.lr_lambdas: list[Callable[[int], float]] = _each(lr_lambda, optimizer, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs)]

    def state_dict(self) -> dict[str, Any]:
        return {k: v for k, v in super().state_dict().items() if k != "lr_lambdas"}


class MultiplicativeLR(LambdaLR):
    """The rate times a function of the epoch, at each step."""

    def get_lr(self) -> list[float]:
        return [lr * (f(self.last_epoch) if self.last_epoch > 0 else 1.0) for f, lr in zip(self.lr_lambdas, self._now())]


class ConstantLR(LRScheduler):
    """The rate times factor for the first total_iters steps."""

    def __init__(self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return base * (self.factor if epoch < self.total_iters else 1.0)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._now()]
        return [lr / self.factor if self.last_epoch == self.total_iters else lr for lr in self._now()]


class LinearLR(LRScheduler):
    """The rate times a factor that goes from start_factor to end_factor in total_iters steps."""

    def __init__(self, optimizer: Any, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1):
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.start_factor + (self.end_factor - self.start_factor) * min(self.total_iters, epoch) / self.total_iters

    def rate(self, base: float, epoch: int) -> float:
        return base * self._factor(epoch)

    def get_lr(self) -> list[float]:
        t = self.last_epoch
        if t == 0:
            return [lr * self.start_factor for lr in self._now()]
        return self._now() if t > self.total_iters else [lr * self._factor(t) / self._factor(t - 1) for lr in self._now()]


class PolynomialLR(LRScheduler):
    """The rate times (1 - step / total_iters)^power."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return base * (1.0 - min(self.total_iters, epoch) / self.total_iters) ** self.power

    def get_lr(self) -> list[float]:
        t, n = self.last_epoch, self.total_iters
        if t == 0 or t > n:
            return self._now()
        return [lr * ((1.0 - t / n) / (1.0 - (t - 1) / n)) ** self.power for lr in self._now()]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the rate down to eta_min in T_max steps, and up again."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def get_lr(self) -> list[float]:
        t, n, low = self.last_epoch, self.T_max, self.eta_min
        if t == 0:
            return self._now()
        if self._step_count == 1 and t > 0:
            return [low + (base - low) * (1 + math.cos(t * math.pi / n)) / 2 for base in self.base_lrs]
        if (t - 1 - n) % (2 * n) == 0:
            return [lr + (base - low) * (1 - math.cos(math.pi / n)) / 2 for base, lr in zip(self.base_lrs, self._now())]
        ratio = (1 + math.cos(math.pi * t / n)) / (1 + math.cos(math.pi * (t - 1) / n))
        return [ratio * (lr - low) + low for lr in self._now()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to eta_min in T_0 steps, then from the top again with a period that is T_mult times as long."""

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2 for base in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        """One step further, or to an epoch, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        self._step_count += 1
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())


def _momentum(group: Any) -> float:
    return group["betas"][0] if "betas" in group else group["momentum"]


def _set_momentum(group: Any, value: float) -> None:
    if "betas" in group:
        if "b1" in group:
            group["b1"] = value
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def _check_momentum(optimizer: Any, name: str) -> None:
    if any("momentum" not in g and "betas" not in g for g in optimizer.param_groups):
        raise ValueError(f"optimizer must support momentum or beta1 with `cycle_momentum` option enabled: {name}")


class CyclicLR(LRScheduler):
    """Up and down between base_lr and max_lr, while the momentum goes down and up."""

    def __init__(
        self, optimizer: Any, base_lr: Any, max_lr: Any, step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular",
        gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
        base_momentum: Any = 0.8, max_momentum: Any = 0.9, last_epoch: int = -1,
    ):  # fmt: skip
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        lows, self.max_lrs = _each(base_lr, optimizer, "base_lr"), _each(max_lr, optimizer, "max_lr")
        if last_epoch == -1:
            for g, lr in zip(optimizer.param_groups, lows):
                g["lr"] = lr
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self.cycle_momentum = mode, gamma, cycle_momentum
        self._scale = scale_fn
        self._by_cycle = scale_mode == "cycle" if scale_fn is not None else mode != "exp_range"
        if cycle_momentum:
            _check_momentum(optimizer, "CyclicLR")
            self.base_momentums = _each(base_momentum, optimizer, "base_momentum")
            self.max_momentums = _each(max_momentum, optimizer, "max_momentum")
            if last_epoch == -1:
                for g, m in zip(optimizer.param_groups, self.max_momentums):
                    _set_momentum(g, m)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def _scaled(self, x: float) -> float:
        if self._scale is not None:
            return self._scale(x)
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = part * self._scaled(cycle if self._by_cycle else self.last_epoch)
        if self.cycle_momentum:
            for g, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(g, high - (high - low) * scale)
        return [low + (high - low) * scale for low, high in zip(self.base_lrs, self.max_lrs)]


class OneCycleLR(LRScheduler):
    """Up to max_lr in a share of the steps, then down to almost nothing, while the momentum goes down and up."""

    def __init__(
        self, optimizer: Any, max_lr: Any, total_steps: int | None = None, epochs: int | None = None, steps_per_epoch: int | None = None,
        pct_start: float = 0.3, anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95,
        div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1,
    ):  # fmt: skip
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0:
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps, self.anneal, self.cycle_momentum = total_steps, anneal_strategy, cycle_momentum
        tops = _each(max_lr, optimizer, "max_lr")
        self.rates = [(top / div_factor, top, top / div_factor / final_div_factor) for top in tops]
        up = pct_start * total_steps
        if three_phase:
            self.phases = [(up - 1, 0, 1), (2 * up - 2, 1, 0), (total_steps - 1, 0, 2)]
        else:
            self.phases = [(up - 1, 0, 1), (total_steps - 1, 1, 2)]
        if cycle_momentum:
            _check_momentum(optimizer, "OneCycleLR")
            low, high = _each(base_momentum, optimizer, "base_momentum"), _each(max_momentum, optimizer, "max_momentum")
            self.momenta = [(h, low_, h) for low_, h in zip(low, high)]
            self.middle = [1, 0]
        if last_epoch == -1:
            for g, (first, _, _) in zip(optimizer.param_groups, self.rates):
                g["lr"] = g["initial_lr"] = first
        super().__init__(optimizer, last_epoch)

    def _between(self, a: float, b: float, t: float) -> float:
        return b + (a - b) / 2.0 * (math.cos(math.pi * t) + 1) if self.anneal == "cos" else (b - a) * t + a

    def get_lr(self) -> list[float]:
        if self.last_epoch > self.total_steps:
            raise ValueError(f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}")
        k = next((k for k, p in enumerate(self.phases) if self.last_epoch <= p[0]), len(self.phases) - 1)
        (end, a, b), start = self.phases[k], self.phases[k - 1][0] if k else 0.0
        t = (self.last_epoch - start) / (end - start)
        if self.cycle_momentum:
            for g, m in zip(self.optimizer.param_groups, self.momenta):
                _set_momentum(g, self._between(m[a], m[b], t))
        return [self._between(r[a], r[b], t) for r in self.rates]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by factor when a value has not improved for `patience` steps."""

    def __init__(
        self, optimizer: Any, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8,
    ):  # fmt: skip
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold_mode must be 'rel' or 'abs', not {threshold_mode!r}")
        if factor >= 1:
            raise ValueError("Factor should be < 1.0.")
        self.mode, self.factor, self.patience, self.cooldown = mode, factor, patience, cooldown
        self.threshold, self.threshold_mode, self.eps = threshold, threshold_mode, eps
        self.min_lrs = _each(min_lr, optimizer, "min_lr")
        super().__init__(optimizer)
        self.last_epoch = 0
        self._reset()

    def _begin(self) -> None:
        self._last_lr = self._now()

    def _reset(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0

    @property
    def in_cooldown(self) -> bool:
        """Is it waiting after a reduction?"""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Is a better than best by more than the threshold?"""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * (best * (1 + sign * self.threshold))

    def step(self, metrics: Any = None, epoch: int | None = None) -> None:  # type: ignore[override]
        """One step further, with the value that should improve."""
        if metrics is None:
            raise TypeError("ReduceLROnPlateau.step() missing 1 required positional argument: 'metrics'")
        value = float(metrics.item() if isinstance(metrics, Tensor) else metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for g, low in zip(self.optimizer.param_groups, self.min_lrs):
                new = max(g["lr"] * self.factor, low)
                if g["lr"] - new > self.eps:
                    g["lr"] = new
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._now()


class SequentialLR(LRScheduler):
    """One schedule after the other, from milestone to milestone."""

    def __init__(self, optimizer: Any, schedulers: Any, milestones: Any, last_epoch: int = -1):
        schedulers = list(schedulers)
        if not schedulers:
            raise ValueError("SequentialLR expects at least one scheduler to be chained, but got no scheduler.")
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ValueError("SequentialLR expects all schedulers to belong to the same optimizer")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but got "
                f"number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, list(milestones)
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for g in optimizer.param_groups:
            g["lr"] = g["initial_lr"]
        for s in schedulers:  # what their first step did is undone; the first takes it again
            s.last_epoch -= 1
            s._step_count -= 1
        schedulers[0].step() if not isinstance(schedulers[0], ReduceLROnPlateau) else None
        self._last_lr = schedulers[0].get_last_lr()

    def step(self, *args: Any) -> None:  # type: ignore[override]
        """One step further."""
        self.last_epoch += 1
        k = bisect.bisect_right(self._milestones, self.last_epoch)
        s = self._schedulers[k]
        if k > 0 and self._milestones[k - 1] == self.last_epoch:
            s.step(0)
        else:
            s.step(*args)
        self._last_lr = s.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        own = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        return {**own, "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for s, own in zip(self._schedulers, state_dict["_schedulers"]):
            s.load_state_dict(own)


class ChainedScheduler(LRScheduler):
    """Several schedules at once: each changes the rate that the one before left."""

    def __init__(self, schedulers: Any, optimizer: Any = None):
        schedulers = list(schedulers)
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ValueError("ChainedScheduler expects all schedulers to belong to the same optimizer")
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = self._now()

    def step(self) -> None:  # type: ignore[override]
        """One step further."""
        for s in self._schedulers:
            s.step()
        self._last_lr = self._now()

    state_dict, load_state_dict = SequentialLR.state_dict, SequentialLR.load_state_dict


_LRScheduler = LRScheduler

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
