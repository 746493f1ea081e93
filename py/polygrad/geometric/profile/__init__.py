"""How large, how fast: sizes of models and data, times, and what ran.

Names of PyTorch Geometric that belong to devices and tools of others are not here; asking for one says why.
"""

from __future__ import annotations

from typing import Any

from .._lazy import lazy

_TABLE = {
    "utils": ["count_parameters", "get_model_size", "get_data_size", "get_cpu_memory_from_gc"],
    "timer": ["timeit", "profileit", "CPUStats", "CPUStatsSummary", "get_stats_summary", "print_time_total"],
    "_benchmark": ["benchmark"],
}

LEFT_OUT = {
    "torch_profile": "it wraps PyTorch's profiler; polygrad.Profile records kernels, times and memory",
    "xpu_profile": "it belongs to Intel's XPU build of PyTorch",
    "trace_handler": "it exports what PyTorch's profiler recorded; print a polygrad.Profile instead",
    "rename_profile_file": "it renames a file that PyTorch's profiler wrote",
    "nvtxit": "it marks ranges for NVIDIA's Nsight",
    "get_gpu_memory_from_gc": "it counts CUDA memory; get_cpu_memory_from_gc counts what tensors hold here",
    "get_gpu_memory_from_nvidia_smi": "it asks NVIDIA's nvidia-smi",
    "get_gpu_memory_from_ipex": "it asks Intel's extension of PyTorch",
}

_load, __dir__, __all__ = lazy(__name__, _TABLE)


def __getattr__(name: str) -> Any:
    if name in LEFT_OUT:
        raise AttributeError(f"polygrad.geometric.profile has no {name}: {LEFT_OUT[name]}")
    return _load(name)
