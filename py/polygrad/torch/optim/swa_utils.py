"""torch.optim.swa_utils: averages of a model's parameters over training, and what belongs to them."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment, no-untyped-call"

from __future__ import annotations

import copy
import math
from typing import Any, Callable

from ...nn import optim as _optim
from .. import functions as torch
from .._inplace import write
from .._surface import lift
from ..autograd import no_grad
from ..nn import Module


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """The average that forgets: decay * average + (1 - decay) * new."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"decay must lie between 0 and 1, not {decay}")
    return lambda average, new, number: average * decay + new * (1 - decay)


def get_swa_avg_fn() -> Callable[..., Any]:
    """The mean of all that was seen."""
    return lambda average, new, number: average + (new - average) / (number + 1)


def _many(one: Callable[..., Any]) -> Callable[..., None]:
    def update(averages: Any, new: Any, number: Any) -> None:
        for a, n in zip(averages, new):
            write(a, one(a.detach(), n.detach(), number))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """get_ema_avg_fn for lists of parameters, which are changed."""
    return _many(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """get_swa_avg_fn for lists of parameters, which are changed."""
    return _many(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are an average: the mean by default, or what avg_fn(average, new, number of averaged) gives.

    use_buffers: buffers are averaged too, and else copied.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch.optim.swa_utils import AveragedModel
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> average = AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average.module.weight.item(), int(average.n_averaged)
    (2.0, 2)
    """

    def __init__(self, model: Any, device: Any = None, avg_fn: Any = None, multi_avg_fn: Any = None, use_buffers: bool = False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("only one of avg_fn and multi_avg_fn can be given")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", torch.tensor(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Any) -> None:
        """Takes the parameters of the model into the average."""
        mine, its = list(self.module.parameters()), list(model.parameters())
        buffers = list(zip(self.module.buffers(), model.buffers()))
        if self.use_buffers:
            floats = [(a, b) for a, b in buffers if a.is_floating_point()]
            mine, its = [*mine, *(a for a, _ in floats)], [*its, *(b for _, b in floats)]
            buffers = [(a, b) for a, b in buffers if not a.is_floating_point()]
        number = int(self.n_averaged)
        if number == 0:
            for a, b in zip(mine, its):
                write(a, b.detach())
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(mine, its, number)
        else:
            _many(self.avg_fn or get_swa_avg_fn())(mine, its, number)
        for a, b in buffers:
            write(a, b.detach())
        self.n_averaged.add_(1)


class SWALR(lift(_optim.LRScheduler, __name__)):  # type: ignore[misc]
    """Brings the rates to swa_lr within anneal_epochs steps, along a cosine ("cos") or a line ("linear"), and keeps them there."""

    def __init__(self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1):
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be a whole number from 0 on, not {anneal_epochs}")
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(optimizer.param_groups)
        if len(rates) != len(optimizer.param_groups):
            raise ValueError(f"swa_lr has {len(rates)} rates for {len(optimizer.param_groups)} groups of parameters")
        for group, rate in zip(optimizer.param_groups, rates):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        t = min(1.0, max(0.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self.anneal_strategy == "cos" else t

    def get_lr(self) -> list[float]:
        """The rates of this step: a share of swa_lr, and the rest of what the rate was before the way began."""
        step = max(1, self._step_count - 1) if self.anneal_epochs == 0 else self._step_count - 1
        before, now = self._share(step - 1), self._share(step)
        out = []
        for group in self.optimizer.param_groups:
            lr, end = group["lr"], group["swa_lr"]
            start = lr if before == 1 else (lr - end * before) / (1 - before)
            out.append(end * now + start * (1 - now))
        return out


@no_grad()
def update_bn(loader: Any, model: Any, device: Any = None) -> None:
    """Finds the means and variances of batch norms anew, as plain means over the batches of a loader."""
    norms = [m for m in model.modules() if hasattr(m, "running_mean") and hasattr(m, "momentum") and m.running_mean is not None]
    if not norms:
        return
    momenta, mode = [m.momentum for m in norms], model.training
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    model.train()
    for number, batch in enumerate(loader):
        for m in norms:
            m.momentum = 1.0 / (number + 1)
        first = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(first if device is None else first.to(device))
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum
    model.train(mode)


__all__ = [
    "AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip
