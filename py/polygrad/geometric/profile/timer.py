"""Times and memory of calls."""

from __future__ import annotations

import functools
import statistics
import time
from contextlib import ContextDecorator
from dataclasses import dataclass
from typing import Any, Callable

from ...nn import Module
from ...profile import Profile

MIB = 1024 * 1024


class timeit(ContextDecorator):
    """Measures the time of a block or a function; `duration` has it in seconds. Lazy tensors take their time where they are realized.

    log: prints it. avg_time_divisor: what it is divided by, such as the number of repetitions inside.

    >>> from polygrad.geometric.profile import timeit
    >>> with timeit(log=False) as t:
    ...     pass
    >>> t.duration < 1
    True
    """

    t_start: float | None = None

    def __init__(self, log: bool = True, avg_time_divisor: int = 0):
        self.log, self.avg_time_divisor = log, avg_time_divisor

    def __enter__(self) -> timeit:
        self.t_start = time.perf_counter()
        return self

    def __exit__(self, *args: Any) -> None:
        assert self.t_start is not None
        self.t_end = time.perf_counter()
        self.duration = (self.t_end - self.t_start) / max(1, self.avg_time_divisor)
        if self.log:
            print(f"Time: {self.duration:.8f}s", flush=True)

    def reset(self) -> None:
        """Ends the measurement, shows it, and begins another."""
        if self.t_start is None:
            raise RuntimeError("the timer was not started")
        self.__exit__()
        self.__enter__()


@dataclass
class CPUStats:
    """Of one call: seconds, kernels and their runs, and the most that plans held in memory, in MiB.

    >>> from polygrad.geometric.profile import CPUStats
    >>> CPUStats(time=0.25, kernels=3, max_allocated_cpu=1.5).kernels
    3
    """

    time: float
    kernels: int
    max_allocated_cpu: float


@dataclass
class CPUStatsSummary:
    """Of several calls: mean and standard deviation of the seconds, and the largest of the others.

    >>> from polygrad.geometric.profile import CPUStats, get_stats_summary
    >>> get_stats_summary([CPUStats(0.2, 3, 1.5), CPUStats(0.4, 3, 2.0)]).max_allocated_cpu
    2.0
    """

    time_mean: float
    time_std: float
    kernels: int
    max_allocated_cpu: float


def profileit(device: str = "cpu") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions whose first argument is a model: they give their result and CPUStats of the call. The function has to realize what
    is to be measured.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.profile import profileit
    >>> @profileit("cpu")
    ... def run(model, x):
    ...     return model(x).realize()
    >>> out, stats = run(nn.Linear(4, 2), Tensor.ones(3, 4))
    >>> out.shape, stats.time > 0
    ((3, 2), True)
    """
    if device.lower() != "cpu":
        raise AttributeError(f"kernels run on the CPU: device must be 'cpu', not {device!r}")

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> tuple[Any, CPUStats]:
            if not args or not (isinstance(args[0], Module) or callable(args[0])):
                raise AttributeError("the first argument of a profiled function must be the model")
            start = time.perf_counter()
            with Profile() as p:
                out = function(*args, **kwargs)
            seconds = time.perf_counter() - start
            return out, CPUStats(seconds, sum(k.count for k in p.kernels), round(p.peak_bytes / MIB, 2))  # type: ignore[misc]

        return wrapper

    return decorator


def get_stats_summary(stats_list: list[CPUStats]) -> CPUStatsSummary:
    """Several calls together.

    >>> from polygrad.geometric.profile import CPUStats, get_stats_summary
    >>> get_stats_summary([CPUStats(1.0, 3, 0.5), CPUStats(3.0, 4, 0.25)])
    CPUStatsSummary(time_mean=2.0, time_std=1.4142135623730951, kernels=4, max_allocated_cpu=0.5)
    """
    times = [s.time for s in stats_list]
    return CPUStatsSummary(
        time_mean=statistics.fmean(times),
        time_std=statistics.stdev(times) if len(times) > 1 else float("nan"),
        kernels=max(s.kernels for s in stats_list),
        max_allocated_cpu=max(s.max_allocated_cpu for s in stats_list),
    )


def print_time_total(p: Profile) -> None:
    """Prints the kernels of a Profile with their times.

    >>> from polygrad import Profile, Tensor
    >>> from polygrad.geometric.profile import print_time_total
    >>> with Profile() as p:
    ...     _ = (Tensor([1.0]) + 1).realize()
    >>> print_time_total(p)  # doctest: +SKIP
    """
    print(p)


__all__ = ["CPUStats", "CPUStatsSummary", "get_stats_summary", "print_time_total", "profileit", "timeit"]
