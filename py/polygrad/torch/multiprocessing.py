"""Processes, as `torch.multiprocessing` has them: Python's own, and `spawn`.

The arguments of `spawn` are shared with the processes: changes of a tensor in place are seen by all. Elsewhere tensors that were shared by
`share_memory_()` travel as the name of their memory, and others by their values.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403
from typing import Any, Callable

from ._shared import sending


class ProcessRaisedException(Exception):
    """A process of `spawn` ended with an error."""


class SpawnContext:
    """The processes that `spawn` started; join() waits for them, and raises if one of them failed."""

    def __init__(self, processes: list[Any]):
        self.processes = processes

    def pids(self) -> list[int | None]:
        return [p.pid for p in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        for process in self.processes:
            process.join(timeout)
        failed = next((k for k, p in enumerate(self.processes) if p.exitcode not in (None, 0)), None)
        if failed is not None:
            raise ProcessRaisedException(f"process {failed} terminated with exit code {self.processes[failed].exitcode}")
        return all(p.exitcode == 0 for p in self.processes)


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> SpawnContext | None:
    """Runs fn(k, *args) in nprocs processes, k = 0 ... nprocs - 1; with join, until all have ended."""
    context = multiprocessing.get_context(start_method)
    processes = [context.Process(target=fn, args=(k, *args), daemon=daemon) for k in range(nprocs)]  # type: ignore[attr-defined]
    with sending():
        for process in processes:
            process.start()
    out = SpawnContext(processes)
    if not join:
        return out
    out.join()
    return None


def get_all_sharing_strategies() -> set[str]:
    """Ways to share memory: by the names of its segments."""
    return {"file_system"}


def get_sharing_strategy() -> str:
    """By the names of segments."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted; there is one way."""


__all__ = [  # noqa: PLE0604
    *multiprocessing.__all__, "ProcessRaisedException", "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy",
    "spawn",
]  # fmt: skip
