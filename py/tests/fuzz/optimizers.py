"""Optimizers of compiled steps: how each is made, and what it does to a parameter, written out of Refs.

Half of the programs have plain gradient descent. Constants are powers of 2, and eps is large: a quotient of two gradients that are nothing but
rounding errors says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import functions as F
from . import reference as R

RATE = 0.25


class Rule(NamedTuple):
    text: str  # how it is made, of a list `params`
    update: Callable[[R.Ref, R.Ref, dict[str, R.Ref], int], R.Ref]  # parameter, gradient, state, number of the step from 1


def _plain(p, g, state, t):
    return p - g * RATE


def _momentum(nesterov, decay):
    def update(p, g, state, t):
        g = g + p * decay if decay else g
        state["m"] = state["m"] * 0.5 + g if "m" in state else g
        return p - (g + state["m"] * 0.5 if nesterov else state["m"]) * RATE

    return update


def _moments(g, state, t):
    """The corrected moments of Adam with factors 0.5 and 0.75."""
    zero = g * 0.0
    state["m"] = state.get("m", zero) * 0.5 + g * 0.5
    state["v"] = state.get("v", zero) * 0.75 + g * g * 0.25
    return state["m"] / (1 - 0.5**t), state["v"] / (1 - 0.75**t)


def _adam(coupled, decoupled):
    def update(p, g, state, t):
        m, v = _moments(g + p * coupled if coupled else g, state, t)
        p = p * (1 - RATE * decoupled) if decoupled else p
        return p - m * RATE / (F.sqrt(v) + 0.125)

    return update


def _rmsprop(p, g, state, t):
    state["v"] = state.get("v", g * 0.0) * 0.75 + g * g * 0.25
    state["m"] = state.get("m", g * 0.0) * 0.5 + g / (F.sqrt(state["v"]) + 0.125)
    return p - state["m"] * RATE


def _adagrad(p, g, state, t):
    state["s"] = state.get("s", g * 0.0) + g * g
    return p - g * RATE / (F.sqrt(state["s"]) + 0.125)


RULES = {
    "sgd": Rule(f"SGD(params, lr={RATE})", _plain),
    "momentum": Rule(f"SGD(params, lr={RATE}, momentum=0.5)", _momentum(False, 0.0)),
    "nesterov": Rule(f"SGD(params, lr={RATE}, momentum=0.5, weight_decay=0.25, nesterov=True)", _momentum(True, 0.25)),
    "adam": Rule(f"Adam(params, lr={RATE}, betas=(0.5, 0.75), eps=0.125, weight_decay=0.25)", _adam(0.25, 0.0)),
    "adamw": Rule(f"AdamW(params, lr={RATE}, betas=(0.5, 0.75), eps=0.125, weight_decay=0.25)", _adam(0.0, 0.25)),
    "rmsprop": Rule(f"RMSprop(params, lr={RATE}, alpha=0.75, eps=0.125, momentum=0.5)", _rmsprop),
    "adagrad": Rule(f"Adagrad(params, lr={RATE}, eps=0.125)", _adagrad),
}


def rule_of(seed: int, all_reached: bool) -> Rule:
    """The optimizer of a program. A parameter without a gradient is left alone, and one whose gradient is zero may decay: where a gradient may be either,
    plain descent cannot tell."""
    rng = np.random.default_rng([seed, 6])
    return RULES["sgd" if not all_reached or rng.random() < 0.5 else str(rng.choice(list(RULES)[1:]))]


def make(rule: Rule, params: list[Any]) -> Any:
    from polygrad import nn

    return eval(rule.text, {k: getattr(nn.optim, k) for k in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad")} | {"params": params})
