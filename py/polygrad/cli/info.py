"""`polygrad info`: what there is to compute with."""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import shlex
import shutil
import subprocess
import sys

from .progress import size


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cache", action="store_true", help="only the compiled kernels that are kept: where, how many, how large")
    parser.add_argument("--clear-cache", action="store_true", help="deletes them first, as `polygrad cache clear` does")


def run(args: argparse.Namespace) -> int:
    if args.clear_cache:
        clear_cache()
    if args.cache:
        show_cache()
        return 0
    import numpy

    from .. import C, __version__, library_path
    from ..autograd import current

    g = current()
    lines = [
        ("version", __version__),
        ("library", library_path),
        ("Python", f"{platform.python_version()} ({sys.executable}), numpy {numpy.__version__}"),
        ("machine", f"{platform.system()} {platform.machine()}, {_processor()}, {_cores()} cores"),
        ("devices", ", ".join(f"{name}{_card(name)}{' (default)' if name == g.device else ''}" for name in devices())),
        ("compiler", compiler()),
        ("products", _onednn()),
        ("threads", f"{C.poly_threads(g.ptr)}" + (" (POLY_THREADS)" if os.environ.get("POLY_THREADS") else "")),
        ("cache", cache_line()),
    ]  # fmt: skip
    for name, text in lines:
        print(f"{name:10s} {text}")
    return 0


def devices() -> list[str]:
    """Names of the devices that can be used here."""
    from ..autograd import AutogradGraph

    found, probe = [], AutogradGraph()
    names = ["CPU", "INTERP", "OPENCL", *(f"CUDA:{k}" if k else "CUDA" for k in range(16))]
    for name in names:
        try:
            probe.device = name
            found.append(name)
        except (RuntimeError, ValueError):
            if name.startswith("CUDA"):
                break  # there are no more of them
    return found


def _card(name: str) -> str:
    """What a GPU calls itself, in brackets."""
    from ..autograd import AutogradGraph
    from ..device import is_gpu

    return f" ({AutogradGraph().card(name)})" if is_gpu(name) else ""


def compiler() -> str:
    """The C compiler for kernels, as the core chooses it, and what it says of itself."""
    given = os.environ.get("CC")
    commands = [shlex.split(given)] if given and given.strip() else [["gcc"], ["clang"], ["cc"]]
    command = next((c for c in commands if shutil.which(c[0])), None)
    if command is None:
        return "none found: kernels are interpreted, which is slow (install gcc or clang)"
    try:
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=10).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        said = []
    return f"{shutil.which(command[0])}" + (f", {said[0]}" if said else "") + (" (CC)" if given else "")


def cache_line() -> str:
    """Where compiled kernels are kept, and how many; a program of the compiler has several kernels."""
    from .. import C
    from ..autograd import current

    g = current().ptr
    folder = C.poly_cache_dir(g)
    if not folder:
        return "none: compiled kernels are not kept"
    count, used, limit = C.poly_cache_entries(g), C.poly_cache_bytes(g), C.poly_cache_limit(g)
    return f"{folder.decode() if isinstance(folder, bytes) else folder}, {count:,} programs, {size(used)} of at most {size(limit)}"


def show_cache() -> None:
    print(f"{'cache':10s} {cache_line()}")


def clear_cache() -> None:
    """Removes the kernels that are kept, and nothing else: data that was downloaded may lie beside them."""
    from .. import C
    from ..autograd import current

    C.poly_cache_clear(current().ptr)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown processor")
    except OSError:
        return platform.processor() or "unknown processor"


def _onednn() -> str:
    for name in ("libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"):
        try:
            ctypes.CDLL(name)
            return f"oneDNN ({name})"
        except OSError:
            continue
    return "own kernels (oneDNN was not found; Debian: apt install libdnnl2)"


__all__ = ["arguments", "cache_line", "clear_cache", "compiler", "devices", "run", "show_cache"]
