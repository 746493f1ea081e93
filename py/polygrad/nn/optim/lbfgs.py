"""LBFGS: a quasi-Newton method whose steps call a closure several times. Vectors are tensors; numbers decide what is done next, so it cannot be
part of a compiled step."""

from __future__ import annotations

from typing import Any, Callable

from ...tensor import Tensor
from .base import _trainable


class LBFGS:
    """Limited-memory BFGS with PyTorch's arguments. step(closure): the closure clears the gradients, computes the loss, and its gradients.

    >>> from polygrad import Tensor, nn
    >>> w = Tensor([3.0, -2.0], requires_grad=True)
    >>> opt = nn.LBFGS([w], lr=1, line_search_fn="strong_wolfe")
    >>> def closure():
    ...     opt.zero_grad()
    ...     loss = ((w - Tensor([1.0, 2.0])) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = opt.step(closure)
    >>> [round(v, 3) for v in w.tolist()]
    [1.0, 2.0]
    """

    def __init__(
        self, params: Any, lr: float = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None,
    ):  # fmt: skip
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        params = list(params)
        if params and isinstance(params[0], dict):
            if len(params) > 1:
                raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
            params = list(params[0]["params"])
        self.params = _trainable(params)
        if not self.params:
            raise ValueError("optimizer got an empty parameter list")
        group: dict[str, Any] = {
            "params": self.params, "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        self.param_groups = self.groups = [group]
        self._state: dict[str, Any] = {"n_iter": 0, "func_evals": 0}

    @property
    def lr(self) -> float:
        """The learning rate."""
        return self.groups[0]["lr"]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients."""
        for p in self.params:
            p.grad = None

    def _gradient(self) -> Tensor:
        parts = [(p.detach() * 0 if p.grad is None else p.grad.detach()).reshape(-1) for p in self.params]
        return Tensor.cat(*parts).realize()

    def _place(self) -> Tensor:
        return Tensor.cat(*[p.detach().reshape(-1) for p in self.params]).contiguous().realize()

    def _move_to(self, x: Tensor) -> None:
        at = 0
        for p in self.params:
            p.assign(x[at : at + p.numel()].reshape(p.shape).cast(p.dtype))
            at += p.numel()
        self.params[0].realize(*self.params[1:])

    def _at(self, closure: Callable[[], Any], x: Tensor) -> tuple[float, Tensor]:
        """Loss and gradient at x."""
        self._move_to(x)
        return float(closure()), self._gradient()

    def step(self, closure: Callable[[], Any]) -> Any:
        """Up to max_iter iterations. Returns the first loss."""
        group, state = self.groups[0], self._state
        lr, most = group["lr"], group["max_eval"]
        first = closure()
        loss, evaluations = float(first), 1
        state["func_evals"] += 1
        g = self._gradient()
        if float(g.abs().max()) <= group["tolerance_grad"]:
            return first
        d: Any = state.get("d")
        t: Any = state.get("t")
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = -g if state["n_iter"] == 1 else self._direction(g, d, t)
            state["previous"], before = g, loss
            t = min(1.0, 1.0 / float(g.abs().sum())) * lr if state["n_iter"] == 1 else lr
            slope = float((g * d).sum())
            if slope > -group["tolerance_change"]:
                break
            d, x, used = d.realize(), self._place(), 1
            if group["line_search_fn"] == "strong_wolfe":
                loss, g, t, used = _strong_wolfe(lambda a: self._at(closure, x + d * a), t, d, loss, g, slope)  # noqa: B023
                self._move_to(x + d * t)
            elif n != group["max_iter"]:
                loss, g = self._at(closure, x + d * t)
            else:
                self._move_to(x + d * t)
                used = 0
            evaluations += used
            state["func_evals"] += used
            if n == group["max_iter"] or evaluations >= most or float(g.abs().max()) <= group["tolerance_grad"]:
                break
            if float((d * t).abs().max()) <= group["tolerance_change"] or abs(loss - before) < group["tolerance_change"]:
                break
        state["d"], state["t"] = d, t
        return first

    def _direction(self, g: Tensor, d: Tensor, t: float) -> Tensor:
        """Minus the inverse Hessian, as the last steps show it, times the gradient."""
        state = self._state
        y, s = (g - state["previous"]).realize(), (d * t).realize()
        ys = float((y * s).sum())
        steps: list[tuple[Tensor, Tensor, float]] = state.setdefault("steps", [])
        if ys > 1e-10:
            if len(steps) == self.groups[0]["history_size"]:
                steps.pop(0)
            steps.append((y, s, 1.0 / ys))
            state["scale"] = ys / float((y * y).sum())
        q, alphas = -g, []
        for y, s, rho in reversed(steps):
            a = (s * q).sum() * rho
            alphas.append(a)
            q = q - y * a
        r = q * state.get("scale", 1.0)
        for (y, s, rho), a in zip(steps, reversed(alphas)):
            r = r + s * (a - (y * r).sum() * rho)
        return r.realize()

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on later."""
        return {"state": dict(self._state), "param_groups": [{k: v for k, v in self.groups[0].items() if k != "params"}]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict gave."""
        self._state = dict(state_dict["state"])
        self.groups[0].update(state_dict["param_groups"][0])


def _cubic(x1: float, f1: float, g1: float, x2: float, f2: float, g2: float, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with slopes has its minimum, within bounds."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2
    root = square**0.5
    at = x2 - (x2 - x1) * ((g2 + root - d1) / (g2 - g1 + 2 * root)) if x1 <= x2 else x1 - (x1 - x2) * ((g1 + root - d1) / (g1 - g2 + 2 * root))
    return min(max(at, low), high)


def _strong_wolfe(
    at: Callable[[float], tuple[float, Tensor]], t: float, d: Tensor, f: float, g: Tensor, slope: float,
    c1: float = 1e-4, c2: float = 0.9, tolerance: float = 1e-9, most: int = 25,
) -> tuple[float, Tensor, float, int]:  # fmt: skip
    """A step length with enough descent and a small enough slope: first a bracket, then points inside it."""
    size = float(d.abs().max())
    new_f, new_g = at(t)
    used, new_slope = 1, float((new_g * d).sum())
    old = (0.0, f, g, slope)
    done, bracket = False, []
    for k in range(most):
        now = (t, new_f, new_g, new_slope)
        if new_f > f + c1 * t * slope or (k > 1 and new_f >= old[1]):
            bracket = [old, now]
            break
        if abs(new_slope) <= -c2 * slope:
            bracket, done = [now], True
            break
        if new_slope >= 0:
            bracket = [old, now]
            break
        low, high = t + 0.01 * (t - old[0]), t * 10
        after = _cubic(old[0], old[1], old[3], t, new_f, new_slope, (low, high))
        old, t = now, after
        new_f, new_g = at(t)
        used, new_slope = used + 1, float((new_g * d).sum())
    else:
        bracket = [(0.0, f, g, slope), (t, new_f, new_g, new_slope)]
    stuck = False
    bracket.sort(key=lambda p: p[1])
    rounds = 0
    while not done and rounds < most and len(bracket) == 2:
        rounds += 1
        a, b = bracket
        if abs(a[0] - b[0]) * size < tolerance:
            break
        t = _cubic(a[0], a[1], a[3], b[0], b[1], b[3])
        low, high = min(a[0], b[0]), max(a[0], b[0])
        near = 0.1 * (high - low)
        if min(high - t, t - low) < near:
            if stuck or t >= high or t <= low:
                t = high - near if abs(t - high) < abs(t - low) else low + near
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new_f, new_g = at(t)
        used, new_slope = used + 1, float((new_g * d).sum())
        now = (t, new_f, new_g, new_slope)
        if new_f > f + c1 * t * slope or new_f >= a[1]:
            bracket = sorted([a, now], key=lambda p: p[1])
        else:
            if abs(new_slope) <= -c2 * slope:
                done = True
            elif new_slope * (b[0] - a[0]) >= 0:
                b = a
            bracket = [now, b]
    best = bracket[0]
    return best[1], best[2], best[0], used


__all__ = ["LBFGS"]
