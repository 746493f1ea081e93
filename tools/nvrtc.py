#!/usr/bin/env python3
"""Compiles CUDA texts with NVRTC, to see whether they are CUDA. Needs no GPU.

Usage: nvrtc.py [--arch compute_80] [--ptx DIR] FILE_OR_DIR...
Prints what the compiler has to say of each file that it refuses; exit status 1 if there is one. The library is the one of the package
nvidia-cuda-nvrtc-cu12 (or -cu13) of the Python that runs this, else the system's libnvrtc.so.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from pathlib import Path


def find_library() -> ctypes.CDLL:
    places = [str(p) for folder in sys.path for p in Path(folder).glob("nvidia/*/lib/libnvrtc.so*")]
    for name in [*sorted(places, reverse=True), "libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    sys.exit("no libnvrtc: pip install nvidia-cuda-nvrtc-cu12")


def compile_text(nvrtc: ctypes.CDLL, text: bytes, name: str, arch: str) -> tuple[bool, str, bytes]:
    """Success, the log, and the PTX."""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name.encode(), 0, None, None)
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={arch}".encode(), b"--fmad=false")
    ok = nvrtc.nvrtcCompileProgram(program, len(options), options) == 0
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    ptx = ctypes.create_string_buffer(1)
    if ok:
        nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
        ptx = ctypes.create_string_buffer(size.value + 1)
        nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ok, log.value.decode(errors="replace"), ptx.value


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--arch", default="compute_80")
    args.add_argument("--ptx", type=Path)
    args.add_argument("paths", nargs="+", type=Path)
    given = args.parse_args()
    files = [f for p in given.paths for f in (sorted(p.glob("*.cu")) if p.is_dir() else [p])]
    nvrtc = find_library()
    bad = 0
    for f in files:
        ok, log, ptx = compile_text(nvrtc, f.read_bytes(), f.name, given.arch)
        bad += not ok
        if not ok:
            print(f"{f}:\n{log}")
        elif given.ptx:
            (given.ptx / (f.stem + ".ptx")).write_bytes(ptx)
    print(f"nvrtc: {len(files) - bad} of {len(files)} programs compiled for {given.arch}")
    return bad > 0 or not files


if __name__ == "__main__":
    sys.exit(main())
