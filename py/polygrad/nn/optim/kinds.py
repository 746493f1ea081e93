"""The kinds of optimizers. Arguments are tinygrad's where tinygrad has the optimizer, else PyTorch's; what PyTorch has beyond tinygrad's goes by
name. The formulas are in the C core, src/nn/optim_rules.c. foreach, fused, capturable and differentiable are accepted: a step is one program of
fused kernels in any case."""

from __future__ import annotations

from typing import Any

from ..._core import C, wrap
from ..._meaning import flag
from ...tensor import Tensor
from .base import Optimizer


class SGD(Optimizer):
    """Stochastic gradient descent with momentum, Nesterov momentum and weight decay. classic: the momentum holds lr times the gradient.

    >>> from polygrad import Tensor
    >>> from polygrad.nn import SGD
    >>> w = Tensor([1.0]); opt = SGD([w], lr=0.1)
    >>> _ = (w * w).sum().backward(); opt.step()
    >>> round(w.item(), 4)
    0.8
    """

    kind = "sgd"

    def __init__(
        self, params: Any, lr: Any = 0.01, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False, classic: bool = False,
        *, dampening: float = 0.0, maximize: bool = False, foreach: Any = None, fused: Any = None, differentiable: bool = False,
        device: Any = None,
    ):  # fmt: skip
        flag("SGD", "nesterov", nesterov, "weight_decay")
        flag("SGD", "classic", classic, "nesterov")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, classic=classic, maximize=maximize
        )


class LARS(Optimizer):
    """SGD whose rate is, for each parameter, scaled by tcoef |p| / (|g| + weight_decay |p|), as in tinygrad."""

    kind = "lars"

    def __init__(
        self, params: Any, lr: Any = 0.001, momentum: float = 0.9, weight_decay: float = 1e-4, ns_steps: int = 0, ns_coefficients: Any = None,
        nesterov: bool = False, classic: bool = True, pre_wd: bool = True, tcoef: float = 0.001, *, device: Any = None, fused: Any = None,
    ):  # fmt: skip
        super().__init__(
            params, lr=lr, momentum=momentum, weight_decay=weight_decay, ns_steps=ns_steps if ns_coefficients else 0,
            ns_coefficients=ns_coefficients, nesterov=nesterov, classic=classic, decoupled_weight_decay=not pre_wd, tcoef=tcoef, eps=1e-7,
        )  # fmt: skip


class Muon(LARS):
    """SGD with momentum, whose update is made nearly orthogonal by Newton and Schulz's iteration; weight decay is decoupled."""

    def __init__(
        self, params: Any, lr: Any = 0.001, momentum: float = 0.95, weight_decay: float = 0.1, ns_steps: int = 5,
        ns_coefficients: Any = (3.4445, -4.775, 2.0315), nesterov: bool = True, *, ns_params: Any = None, device: Any = None, fused: Any = None,
    ):  # fmt: skip
        ns_coefficients = ns_coefficients if ns_params is None else ns_params  # tinygrad's older name
        super().__init__(params, lr, momentum, weight_decay, ns_steps, ns_coefficients, nesterov, classic=False, pre_wd=False, tcoef=0.0)


class _Betas(Optimizer):
    """Kinds with tinygrad's b1 and b2, which PyTorch has as betas."""

    def _begin(self, params: Any, lr: Any, b1: Any, b2: float, betas: Any, **settings: Any) -> None:
        if isinstance(b1, (tuple, list)):  # PyTorch's place of betas
            if b2 != 0.999 or betas is not None:
                raise TypeError(f"{type(self).__name__}: with betas in PyTorch's place, give eps and weight_decay by name")
            betas, b1 = tuple(b1), 0.9
        b1, b2 = betas if betas is not None else (b1, b2)
        Optimizer.__init__(self, params, lr=lr, b1=b1, b2=b2, **settings)

    def _check(self, options: dict[str, Any]) -> dict[str, Any]:
        if "betas" in options:  # of a group
            b1, b2 = options["betas"]
            options = {**options, "b1": b1, "b2": b2}
        return {**options, "betas": (options["b1"], options["b2"])}

    def _state(self, first: int, each: bool) -> list[Tensor]:
        """Of each group the state after the powers of b1 and b2: the first or the second moments of its parameters; or a power."""
        out = []
        for g in self.groups:
            state, n = g.state(), len(g.params)
            out += state[2 + first * n : 2 + (first + 1) * n] if each else state[first : first + 1]
        return [wrap(self.groups[0]._g, C.poly_retain_copy(h)) for h in out]

    m = property(lambda self: self._state(0, True), doc="The first moments, one for each parameter, under tinygrad's name.")
    v = property(lambda self: self._state(1, True), doc="The second moments.")
    b1_t = property(lambda self: self._state(0, False)[0], doc="b1 to the power of the number of steps.")
    b2_t = property(lambda self: self._state(1, False)[0], doc="b2 to the power of the number of steps.")


class Adam(_Betas):
    """Adam; weight decay is added to the gradient."""

    kind = "adam"

    def __init__(
        self, params: Any, lr: Any = 0.001, b1: Any = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.0,
        *, betas: Any = None, amsgrad: bool = False, maximize: bool = False, decoupled_weight_decay: bool = False, foreach: Any = None,
        capturable: bool = False, differentiable: bool = False, fused: Any = None, device: Any = None,
    ):  # fmt: skip
        self._begin(
            params, lr, b1, b2, betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
            decoupled_weight_decay=decoupled_weight_decay,
        )  # fmt: skip


class AdamW(_Betas):
    """Adam with decoupled weight decay."""

    kind = "adam"
    fixed = {"decoupled_weight_decay": True}

    def __init__(
        self, params: Any, lr: Any = 0.001, b1: Any = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.01,
        *, betas: Any = None, amsgrad: bool = False, maximize: bool = False, foreach: Any = None, capturable: bool = False,
        differentiable: bool = False, fused: Any = None, device: Any = None,
    ):  # fmt: skip
        self._begin(params, lr, b1, b2, betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize)


class LAMB(_Betas):
    """Adam with a trust ratio for each parameter; adam=True leaves the ratio out, which is AdamW."""

    kind = "lamb"

    def __init__(
        self, params: Any, lr: Any = 0.001, b1: Any = 0.9, b2: float = 0.999, eps: float = 1e-6, weight_decay: float = 0.0, adam: bool = False,
        *, betas: Any = None, maximize: bool = False, device: Any = None, fused: Any = None,
    ):  # fmt: skip
        if not isinstance(adam, bool):
            raise TypeError(f"LAMB: the positional argument adam must be True or False, not {adam!r}: give betas by name")
        if adam:
            self.kind, self.fixed = AdamW.kind, AdamW.fixed
        self._begin(params, lr, b1, b2, betas, eps=eps, weight_decay=weight_decay, maximize=maximize)


class SparseAdam(Optimizer):
    """Adam of which rows without a gradient see nothing: neither they nor their moments change."""

    kind = "sparseadam"

    def __init__(self, params: Any, lr: Any = 0.001, betas: Any = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False):
        super().__init__(params, lr=lr, betas=tuple(betas), eps=eps, maximize=maximize)


class Adamax(Optimizer):
    """Adam whose second moment is a running maximum."""

    kind = "adamax"

    def __init__(
        self, params: Any, lr: Any = 0.002, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, foreach: Any = None,
        *, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ):  # fmt: skip
        super().__init__(params, lr=lr, betas=tuple(betas), eps=eps, weight_decay=weight_decay, maximize=maximize)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum."""

    kind = "nadam"

    def __init__(
        self, params: Any, lr: Any = 0.002, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False, *, foreach: Any = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ):  # fmt: skip
        super().__init__(
            params, lr=lr, betas=tuple(betas), eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize,
        )  # fmt: skip


class RAdam(Optimizer):
    """Adam whose second moment is used once its variance is finite."""

    kind = "radam"

    def __init__(
        self, params: Any, lr: Any = 0.001, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        decoupled_weight_decay: bool = False, *, foreach: Any = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ):  # fmt: skip
        super().__init__(
            params, lr=lr, betas=tuple(betas), eps=eps, weight_decay=weight_decay, decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
        )  # fmt: skip


class RMSprop(Optimizer):
    """RMSprop with optional momentum. centered: the square of a running mean of the gradient is taken away."""

    kind = "rmsprop"

    def __init__(
        self, params: Any, lr: Any = 0.01, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0, momentum: float = 0.0,
        centered: bool = False, capturable: bool = False, foreach: Any = None, maximize: bool = False, differentiable: bool = False,
    ):  # fmt: skip
        super().__init__(
            params, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=bool(centered), maximize=maximize
        )


class Adagrad(Optimizer):
    """The gradient divided by the root of the sum of its squares."""

    kind = "adagrad"

    def __init__(
        self, params: Any, lr: Any = 0.01, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0,
        eps: float = 1e-10, foreach: Any = None, *, maximize: bool = False, differentiable: bool = False, fused: Any = None,
    ):  # fmt: skip
        super().__init__(
            params, lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
            maximize=maximize,
        )  # fmt: skip


class Adadelta(Optimizer):
    """The gradient times the ratio of the roots of running squares: of the updates, and of itself."""

    kind = "adadelta"

    def __init__(
        self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, foreach: Any = None,
        *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ):  # fmt: skip
        super().__init__(params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)


class Rprop(Optimizer):
    """A step size for each element, by the sign of its gradient."""

    kind = "rprop"

    def __init__(
        self, params: Any, lr: Any = 0.01, etas: Any = (0.5, 1.2), step_sizes: Any = (1e-6, 50), *, capturable: bool = False,
        foreach: Any = None, maximize: bool = False, differentiable: bool = False,
    ):  # fmt: skip
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, lr=lr, etas=tuple(etas), step_sizes=tuple(step_sizes), maximize=maximize)


class ASGD(Optimizer):
    """Averaged stochastic gradient descent."""

    kind = "asgd"

    def __init__(
        self, params: Any, lr: Any = 0.01, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0,
        foreach: Any = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ):  # fmt: skip
        super().__init__(params, lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, maximize=maximize)


__all__ = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LAMB", "LARS", "Muon", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam",
]  # fmt: skip
