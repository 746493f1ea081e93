"""Learning rates that rise from 0 to the optimizer's rate in a number of steps, and then follow a curve."""

from __future__ import annotations

import math
from typing import Any

from ...nn.optim.lr_scheduler import LambdaLR


class _WithWarmup(LambdaLR):
    """The first rate times step / num_warmup_steps while that is below 1, and then times `after(share of the remaining steps that are done)`."""

    def __init__(self, optimizer: Any, num_warmup_steps: int, num_training_steps: int, last_epoch: int = -1):
        self.num_warmup_steps, self.num_training_steps = num_warmup_steps, num_training_steps
        super().__init__(optimizer, self._factor, last_epoch)

    def _factor(self, step: int) -> float:
        warm = self.num_warmup_steps
        return step / max(1, warm) if step < warm else self.after((step - warm) / max(1, self.num_training_steps - warm))

    def after(self, progress: float) -> float:
        raise NotImplementedError


class ConstantWithWarmupLR(_WithWarmup):
    """A linear rise, and then the rate of the optimizer.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn.lr_scheduler import ConstantWithWarmupLR
    >>> optimizer = nn.SGD([Tensor.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = ConstantWithWarmupLR(optimizer, num_warmup_steps=2)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates.append(round(schedule.get_last_lr()[0], 3))
    ...     schedule.step()
    >>> rates
    [0.0, 0.5, 1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, optimizer: Any, num_warmup_steps: int, last_epoch: int = -1):
        super().__init__(optimizer, num_warmup_steps, num_warmup_steps, last_epoch)

    def after(self, progress: float) -> float:
        return 1.0


class LinearWithWarmupLR(_WithWarmup):
    """A linear rise, and then a linear fall to 0 at num_training_steps.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn.lr_scheduler import LinearWithWarmupLR
    >>> optimizer = nn.SGD([Tensor.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule, rates = LinearWithWarmupLR(optimizer, 2, 4), []
    >>> for _ in range(5):
    ...     rates.append(schedule.get_last_lr()[0])
    ...     schedule.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def after(self, progress: float) -> float:
        return max(0.0, 1.0 - progress)


class CosineWithWarmupLR(_WithWarmup):
    """A linear rise, and then (1 + cos(2 pi num_cycles p)) / 2, where p goes from 0 to 1 at num_training_steps.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn.lr_scheduler import CosineWithWarmupLR
    >>> optimizer = nn.SGD([Tensor.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = CosineWithWarmupLR(optimizer, num_warmup_steps=2, num_training_steps=6)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates.append(round(schedule.get_last_lr()[0], 3))
    ...     schedule.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.854, 0.5, 0.146]
    """

    def __init__(self, optimizer: Any, num_warmup_steps: int, num_training_steps: int, num_cycles: float = 0.5, last_epoch: int = -1):
        self.num_cycles = num_cycles
        super().__init__(optimizer, num_warmup_steps, num_training_steps, last_epoch)

    def after(self, progress: float) -> float:
        return max(0.0, 0.5 * (1.0 + math.cos(math.pi * self.num_cycles * 2.0 * progress)))


class CosineWithWarmupRestartsLR(_WithWarmup):
    """A linear rise, and then num_cycles half waves of the cosine from 1 to 0, each beginning anew.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn.lr_scheduler import CosineWithWarmupRestartsLR
    >>> optimizer = nn.SGD([Tensor.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = CosineWithWarmupRestartsLR(optimizer, num_warmup_steps=2, num_training_steps=6, num_cycles=2)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates.append(round(schedule.get_last_lr()[0], 3))
    ...     schedule.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer: Any, num_warmup_steps: int, num_training_steps: int, num_cycles: int = 3, last_epoch: int = -1):
        self.num_cycles = num_cycles
        super().__init__(optimizer, num_warmup_steps, num_training_steps, last_epoch)

    def after(self, progress: float) -> float:
        return 0.0 if progress >= 1.0 else max(0.0, 0.5 * (1.0 + math.cos(math.pi * ((self.num_cycles * progress) % 1.0))))


class PolynomialWithWarmupLR(_WithWarmup):
    """A linear rise, and then lr_end + (lr - lr_end) (1 - p)^power, and lr_end after num_training_steps.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn.lr_scheduler import PolynomialWithWarmupLR
    >>> optimizer = nn.SGD([Tensor.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = PolynomialWithWarmupLR(optimizer, num_warmup_steps=2, num_training_steps=6)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates.append(round(schedule.get_last_lr()[0], 3))
    ...     schedule.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.75, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Any, num_warmup_steps: int, num_training_steps: int, lr_end: float = 1e-7, power: float = 1.0, last_epoch: int = -1
    ):
        self.lr_init, self.lr_end, self.power = float(optimizer.defaults["lr"]), lr_end, power
        if not self.lr_init > lr_end:
            raise ValueError(f"`lr_end` ({lr_end}) must be smaller than the initial lr ({self.lr_init})")
        super().__init__(optimizer, num_warmup_steps, num_training_steps, last_epoch)

    def after(self, progress: float) -> float:
        if progress > 1.0:
            return self.lr_end / self.lr_init
        return ((self.lr_init - self.lr_end) * (1.0 - progress) ** self.power + self.lr_end) / self.lr_init


__all__ = ["ConstantWithWarmupLR", "CosineWithWarmupLR", "CosineWithWarmupRestartsLR", "LinearWithWarmupLR", "PolynomialWithWarmupLR"]
