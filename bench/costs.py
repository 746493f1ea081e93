"""Measures what the cost table of ``src/runtime/targets.c`` holds, on one thread of this machine.

Everything is given in operations: the time of one addition of one float32 element in a loop over memory that the cache
holds. Each kind of operation is repeated in a chain inside one kernel, and the chain without it is taken off.

    python bench/costs.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ["POLY_THREADS"] = "1"

import numpy as np  # noqa: E402
from polygrad import Tensor, TinyJit  # noqa: E402

CHAIN = 8
CACHED = 1 << 16  # elements: 256 KB
STREAMED = 1 << 25  # elements: 128 MB


def seconds(fn: Callable[[Tensor], Tensor], x: Tensor, runs: int = 200) -> float:
    """The least time of one run of fn, compiled."""
    step = TinyJit(lambda v: fn(v).realize())
    best = float("inf")
    for _ in range(runs + 3):
        start = time.perf_counter()
        step(x)
        best = min(best, time.perf_counter() - start)
    return best


def chain(op: Callable[[Tensor], Tensor] | None, n: int = CHAIN) -> Callable[[Tensor], Tensor]:
    """Values stay near 1, where every function is ordinary."""

    def fn(x: Tensor) -> Tensor:
        for _ in range(n):
            x = (op(x) if op else x) * 0.125 + 0.75
        return x

    return fn


def main() -> None:
    rng = np.random.default_rng(0)
    x = Tensor(rng.uniform(0.5, 1.5, CACHED).astype(np.float32)).realize()
    empty = seconds(chain(None), x)
    one = (seconds(chain(None, 4 * CHAIN), x) - empty) / (2 * 3 * CHAIN * CACHED)
    print(f"{'one operation':24} {one * 1e12:8.1f} ps an element")
    kinds: dict[str, Callable[[Tensor], Tensor]] = {
        "SIMPLE: maximum": lambda v: v.maximum(0.5),
        "SIMPLE: where": lambda v: (v > 1.0).where(v, 0.5),
        "DIVIDE: quotient": lambda v: 1.0 / v,
        "DIVIDE: sqrt": lambda v: v.sqrt(),
        "FUNCTION: exp": lambda v: v.exp(),
        "FUNCTION: log": lambda v: v.log(),
        "FUNCTION: sin": lambda v: v.sin(),
        "FUNCTION: tanh": lambda v: v.tanh(),
        "FUNCTION: erf": lambda v: v.erf(),
        "POWER: pow": lambda v: v**1.37,
        "ROUNDING: floor": lambda v: v.floor(),
    }
    for name, op in kinds.items():
        cost = (seconds(chain(op), x) - empty) / (CHAIN * CACHED) / one
        print(f"{name:24} {cost:8.1f}")
    big = Tensor(rng.uniform(0.5, 1.5, STREAMED).astype(np.float32)).realize()
    load = seconds(lambda v: v.max(), big, 7) / STREAMED
    both = seconds(lambda v: v + 1.0, big, 7) / STREAMED
    print(f"{'load from memory':24} {load / one:8.1f}")
    print(f"{'store to memory':24} {(both - load) / one:8.1f}")
    tiny = Tensor(np.ones(16, np.float32)).realize()
    launch = seconds(lambda v: chain(None, 1)(v), tiny)
    several = seconds(lambda v: chain(None, 1)(chain(None, 1)(v).contiguous()).contiguous(), tiny)
    print(f"{'launch of a kernel':24} {(several - launch) / one:8.0f}")


if __name__ == "__main__":
    main()
