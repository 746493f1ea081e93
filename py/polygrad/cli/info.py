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
    parser.add_argument("--clear-cache", action="store_true", help="deletes the compiled kernels that are kept")


def run(args: argparse.Namespace) -> int:
    import numpy

    from .. import C, __version__, library_path
    from ..autograd import current

    folder = cache_folder()
    if args.clear_cache and folder and os.path.isdir(folder):
        for name in _kernels(folder):
            os.remove(os.path.join(folder, name))
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
        ("cache", _cache(folder)),
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


def cache_folder() -> str | None:
    """Where compiled kernels are kept, as the core finds it."""
    if os.environ.get("POLY_CACHE_DIR"):
        return os.environ["POLY_CACHE_DIR"]
    if os.environ.get("XDG_CACHE_HOME"):
        return os.path.join(os.environ["XDG_CACHE_HOME"], "polygrad")
    home = os.environ.get("HOME")
    return os.path.join(home, ".cache", "polygrad") if home else None


def _kernels(folder: str) -> list[str]:
    """Only files of the cache itself: data that was downloaded may be beside them, in folders."""
    return [e.name for e in os.scandir(folder) if e.is_file(follow_symlinks=False) and e.name.endswith(".so")]


def _cache(folder: str | None) -> str:
    if folder is None or not os.path.isdir(folder):
        return f"{folder or 'none'}, empty"
    names = _kernels(folder)
    return f"{folder}, {len(names):,} kernels, {size(sum(os.path.getsize(os.path.join(folder, n)) for n in names))}"


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


__all__ = ["arguments", "cache_folder", "compiler", "devices", "run"]
