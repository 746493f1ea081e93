"""What the benchmarks of graphs share: the graphs, the clock, the memory of a process, and processes of their own for each measurement."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time

ARXIV = (169_343, 2_315_598)  # nodes, edges
REDDIT = (232_965, 114_615_892)


# ---- graphs ----


def rmat(nodes, edges, seed=0, chunk=1 << 22):
    """Edge list [2, E], int32, of an R-MAT graph (a=.57, b=c=.19) with shuffled node names. Made in pieces, so that it fits anywhere."""
    import numpy as np

    rng = np.random.default_rng(seed)
    names = rng.permutation(nodes).astype(np.int32)
    levels = max(1, (nodes - 1).bit_length())
    out, done = np.empty((2, edges), np.int32), 0
    while done < edges:
        n = min(chunk, edges - done + 1024)
        src, dst = np.zeros(n, np.int32), np.zeros(n, np.int32)
        for _ in range(levels):
            r = rng.random(n, dtype=np.float32)
            src = 2 * src + (r >= 0.76)
            dst = 2 * dst + (((r >= 0.57) & (r < 0.76)) | (r >= 0.95))
        keep = np.flatnonzero((src < nodes) & (dst < nodes))[: edges - done]
        out[0, done : done + len(keep)] = names[src[keep]]
        out[1, done : done + len(keep)] = names[dst[keep]]
        done += len(keep)
    return out


# ---- memory ----


def status_mib(key):
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(key):
                return int(line.split()[1]) / 1024
    return float("nan")


class Growth:
    """How much the resident memory of this process grows at most, from now on, over what it is now."""

    def __init__(self):
        gc.collect()
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except AttributeError:
            pass
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")  # the high-water mark starts anew
        self.base = status_mib("VmRSS")

    def mib(self):
        return status_mib("VmHWM") - self.base


# ---- time ----


def median_ms(step, budget=15.0, least=3, most=30, warm=2, clock=time.perf_counter):
    """Median in ms, by a clock as for in_turns. The budget is of that clock too."""
    for _ in range(warm):
        step()
    times, start = [], clock()
    while len(times) < least or (clock() - start < budget and len(times) < most):
        t = clock()
        step()
        times.append((clock() - t) * 1e3)
    return statistics.median(times)


def in_turns(functions, rounds=5, block=0.3, least=3, clock=time.perf_counter):
    """Medians in ms. The functions take turns in blocks, so that noise falls on all alike. With time.process_time for a clock other programs disturb
    it least, but the time of all threads is added up."""
    times = {k: [] for k in functions}
    for f in functions.values():
        f()
    for _ in range(rounds):
        for k, f in functions.items():
            time.sleep(0.02)
            f()
            start, n = time.perf_counter(), 0
            while n < least or time.perf_counter() - start < block:
                t = clock()
                f()
                times[k].append((clock() - t) * 1e3)
                n += 1
    return {k: statistics.median(v) for k, v in times.items()}


# ---- processes ----


def child(script, *args, timeout=1800):
    """Runs script --child ARGS in a process of its own; the last line that it prints is JSON. A failure is {"error": last line}."""
    command = [sys.executable, script, "--child", *map(str, args)]
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"no result in {timeout} s"}
    lines = out.stdout.strip().splitlines()
    if out.returncode or not lines:
        said = [x for x in out.stderr.strip().splitlines() if x.strip()]
        errors = [x for x in said if "Error" in x or "error" in x]
        return {"error": (errors or said or [f"exit status {out.returncode}"])[-1].strip()[:300]}
    return json.loads(lines[-1])


def machine(threads):
    """What a result was measured on."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            name = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), name)
    except OSError:
        pass
    return {"cpu": name, "threads": threads, "load": os.getloadavg()[0]}


def write_json(path, **values):
    if path:
        with open(path, "w") as f:
            json.dump(values, f, indent=1)
            f.write("\n")
