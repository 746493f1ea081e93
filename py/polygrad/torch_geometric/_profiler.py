"""torch_geometric.profile.profiler: the times of a model's parts."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import time
from typing import Any


class Profiler:
    """Measures each module of a model while it is called inside; str() gives a table. What a module computes is realized when it has run.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.profile.profiler import Profiler
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> with Profiler(model) as prof:
    ...     out = model(torch.ones(1, 2))
    >>> [name for name, _, _ in prof.records]
    ['0', '1']
    """

    def __init__(self, model: Any, enabled: bool = True, use_cuda: bool = False, profile_memory: bool = False, paths: Any = None):
        self._model, self.enabled, self.paths = model, enabled, paths
        self.records: list[tuple[str, str, float]] = []
        self._handles: list[Any] = []

    def __enter__(self) -> Profiler:
        if not self.enabled:
            return self
        for name, module in self._model.named_modules():
            if name and (self.paths is None or name in self.paths):
                begun: list[float] = []
                self._handles.append(module.register_forward_pre_hook(lambda m, args, begun=begun: begun.append(time.perf_counter())))
                self._handles.append(module.register_forward_hook(self._end(name, begun)))
        return self

    def _end(self, name: str, begun: list[float]) -> Any:
        def hook(module: Any, args: Any, out: Any) -> None:
            for t in out if isinstance(out, (tuple, list)) else (out,):
                getattr(t, "realize", bool)()
            self.records.append((name, type(module).__name__, time.perf_counter() - begun.pop()))

        return hook

    def __exit__(self, *exc: Any) -> None:
        for handle in self._handles:
            handle.remove()

    def __str__(self) -> str:
        rows = [("Module", "Class", "Time"), *((name, kind, f"{seconds * 1000:.3f} ms") for name, kind, seconds in self.records)]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        return "\n".join("  ".join(text.ljust(w) for text, w in zip(row, widths)).rstrip() for row in rows)


__all__ = ["Profiler"]
