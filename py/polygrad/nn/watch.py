"""Hooks on the gradients that pass through a module: inputs and outputs go through functions that change no value and look at gradients."""

from __future__ import annotations

from typing import Any

from ..custom import Function
from ..tensor import Tensor


class _Seen(Function):
    """x itself; its gradient is what look(gradient) gives."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, look: Any) -> Tensor:  # type: ignore[override]
        ctx.look = look
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        return ctx.look(gradient), None


def _has_gradient(t: Any) -> bool:
    return isinstance(t, Tensor) and t.is_floating_point() and bool(t.requires_grad)


class Watch:
    """One call of a module. The gradients of outputs come first; when those of all inputs are there too, the hooks are called."""

    def __init__(self, module: Any):
        self.module = module
        self.gradients: list[Any] = []
        self.places: list[int] = []
        self.results: list[Any] = []

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.gradients = [None] * len(args)
        self.places = [k for k, a in enumerate(args) if _has_gradient(a)]
        return tuple(_Seen.apply(a, self._input(k)) if k in self.places else a for k, a in enumerate(args))

    def outputs(self, out: Any) -> Any:
        several = list(out) if isinstance(out, (tuple, list)) else [out]
        self.results = [None] * len(several)
        seen = [_Seen.apply(t, self._output(k)) if _has_gradient(t) else t for k, t in enumerate(several)]
        if not isinstance(out, (tuple, list)):
            return seen[0]
        return type(out)(*seen) if hasattr(out, "_fields") else type(out)(seen)

    def _output(self, k: int) -> Any:
        def look(gradient: Tensor) -> Tensor:
            for hook in list(self.module.__dict__.get("_backward_pre_hooks", {}).values()):
                given = hook(self.module, tuple(gradient if j == k else g for j, g in enumerate(self.results)))
                gradient = gradient if given is None else (given[k] if isinstance(given, tuple) else given)
            self.results[k] = gradient
            if not self.places:
                self._call()
            return gradient

        return look

    def _input(self, k: int) -> Any:
        def look(gradient: Tensor) -> Tensor:
            self.gradients[k] = gradient
            if any(self.gradients[j] is None for j in self.places):
                return gradient
            given = self._call()
            return gradient if given is None else (given[k] if isinstance(given, tuple) else given)

        return look

    def _call(self) -> Any:
        out = None
        for hook in list(self.module.__dict__.get("_backward_hooks", {}).values()):
            given = hook(self.module, tuple(self.gradients), tuple(self.results))
            if given is None:
                continue
            if len(self.places) != 1:
                raise RuntimeError("a backward hook can replace the gradient of a module with one input that has one")
            out = given
            self.gradients = list(given) if isinstance(given, tuple) else [given]
        return out


__all__ = ["Watch"]
