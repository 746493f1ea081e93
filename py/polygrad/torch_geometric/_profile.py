"""Names of torch_geometric.profile that are about a GPU or about PyTorch's profiler."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..geometric.profile.utils import _bytes, _tensors
from ..profile import Profile


def byte_to_megabyte(value: float, digits: int = 2) -> float:
    """Bytes as mebibytes."""
    return round(value / (1024 * 1024), digits)


def medibyte_to_megabyte(value: float, digits: int = 2) -> float:
    """Mebibytes as megabytes."""
    return round(1.0485 * value, digits)


def get_gpu_memory_from_gc(device: int = 0, digits: int = 2) -> int:
    """Bytes of all tensors on a GPU that are alive."""
    seen: set[int] = set()
    return sum(_bytes(t, seen) for t in _tensors() if t._h and t._g.ptr and t.is_realized and getattr(t, "is_cuda", False))


def get_gpu_memory_from_nvidia_smi(device: int = 0, digits: int = 2) -> tuple[float, float]:
    """(free, used) memory of a GPU in megabytes, as nvidia-smi tells it."""

    def ask(what: str) -> float:
        out = subprocess.check_output(["nvidia-smi", f"--query-gpu=memory.{what}", "--format=csv,nounits,noheader"], text=True)
        return medibyte_to_megabyte(float(out.strip().splitlines()[device]), digits)

    return ask("free"), ask("used")


def nvtxit(name: str | None = None, n_warmups: int = 0, n_iters: int | None = None) -> Any:
    """The function as it is: NVIDIA's marks are not made.

    >>> from polygrad.torch_geometric.profile import nvtxit
    >>> nvtxit("sum")(sum)([1, 2])
    3
    """

    def mark(function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return call

    return mark


@contextmanager
def torch_profile(export_chrome_trace: Any = True, csv_data: Any = None, write_csv: Any = None) -> Iterator[Any]:
    """Measures the kernels of a block and shows them; with export_chrome_trace, its table is written too (to timeline.json, or that name)."""
    with Profile() as found:
        yield found
    print(found)
    if export_chrome_trace:
        path = export_chrome_trace if isinstance(export_chrome_trace, str) else "timeline.json"
        with open(path, "w") as out:
            out.write(str(found))


def trace_handler(p: Any) -> None:
    """Shows a profile and writes it into timeline.json."""
    print(p)
    if hasattr(p, "export_chrome_trace"):  # one of torch.profiler
        p.export_chrome_trace("timeline.json")
        return
    with open("timeline.json", "w") as out:
        out.write(str(p))


def rename_profile_file(*args: str) -> None:
    """Gives timeline.json a name: profile-a-b.json."""
    os.rename("timeline.json", "-".join(("profile", *args)) + ".json")


__all__ = [
    "byte_to_megabyte", "get_gpu_memory_from_gc", "get_gpu_memory_from_nvidia_smi", "medibyte_to_megabyte", "nvtxit", "rename_profile_file",
    "torch_profile", "trace_handler",
]  # fmt: skip
