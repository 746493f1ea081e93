"""torch.optim: the optimizers of polygrad.nn with PyTorch's order of arguments."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import sys
from typing import Any

from ...nn import optim as _optim
from .._modules import same as _same
from .._surface import lift
from . import lr_scheduler
from .own import Optimizer
from .state import in_its_form


class SGD(in_its_form(_optim.SGD, __name__)):  # type: ignore[misc]
    """Stochastic gradient descent with momentum, Nesterov momentum and weight decay."""

    def __init__(
        self, params: Any, lr: float = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False,
        **others: Any,
    ):  # fmt: skip
        if dampening:
            others["dampening"] = dampening
        super().__init__(params, lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov, **_known(others))


def _adam(name: str, decay: float) -> Any:
    origin = in_its_form(getattr(_optim, name), __name__)

    def __init__(
        self: Any, params: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = decay, amsgrad: bool = False,
        **others: Any,
    ) -> None:  # fmt: skip
        if amsgrad:
            others["amsgrad"] = True
        origin.__init__(self, params, lr, betas=betas, eps=eps, weight_decay=weight_decay, **_known(others))

    return type(origin)(name, (origin,), {"__init__": __init__, "__module__": __name__, "__doc__": getattr(_optim, name).__doc__})


def _known(others: dict[str, Any]) -> dict[str, Any]:
    """Without what says how PyTorch computes, not what."""
    return {k: v for k, v in others.items() if k not in ("foreach", "fused", "capturable", "differentiable") and v not in (None, False)}


Adam = _adam("Adam", 0.0)
AdamW = _adam("AdamW", 1e-2)


class RMSprop(in_its_form(_optim.RMSprop, __name__)):  # type: ignore[misc]
    """RMSprop: steps divided by a running root mean square of the gradients."""

    def __init__(
        self, params: Any, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0,
        centered: bool = False, **others: Any,
    ):  # fmt: skip
        if centered:
            others["centered"] = True
        super().__init__(params, lr, alpha, eps, weight_decay, momentum, **_known(others))


def __getattr__(name: str) -> Any:
    if name == "swa_utils":
        from importlib import import_module

        return import_module(f"{__name__}.swa_utils")
    if name.startswith("_") or not hasattr(_optim, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_optim, name)
    value = in_its_form(value, __name__) if isinstance(value, type) else lift(value, __name__)
    setattr(sys.modules[__name__], name, value)
    return value


# PyTorch has a file for each: torch.optim.adam and so on.
_FILES = "adadelta adagrad adam adamax adamw asgd lbfgs nadam optimizer radam rmsprop rprop sgd sparse_adam".split()
globals().update(dict.fromkeys(_FILES, _same(__name__, *_FILES)))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LARS", "LBFGS", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD",
    "SparseAdam", "lr_scheduler", "swa_utils",
]  # fmt: skip
