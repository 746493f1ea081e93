"""Measures two costs that have a bar of 3 %: exact sums beside plain ones, and the lock of a context beside the calls that take it.

Sums. A maximum is the same kernel, with the same loops and loads, but has no rounding errors to take care of: both run in turn on one thread, over
the same memory, and what counts is the median of the ratios of neighbouring runs.

Lock. A C program links the static library and times building and freeing an operation, and the same number of locks and unlocks: one exchange
and one store of a word, as src/api/guard.c has them.

    make && python bench/bars.py [rounds]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["POLY_THREADS"] = "1"
os.environ["POLY_TIER"] = "1"

import numpy as np  # noqa: E402
from polygrad import Device, Graph, Tensor, TinyJit  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
CC = os.environ.get("CC", "gcc")

LOCK = """
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "polygrad.h"
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
int main(int argc, char **argv) {
  int rounds = atoi(argv[1]), n = 200000;
  PolyContext *c = poly_context_new();
  int64_t shape[2] = {64, 64};
  PolyTensor *x = poly_ones(c, POLY_FLOAT32, 2, shape), *y = poly_add_scalar(x, 2.0);
  static atomic_uint word;
  (void)argc;
  for (int r = 0; r < rounds; r++) {
    double t0 = now();
    for (int k = 0; k < n; k++) poly_free(poly_add(x, y));
    double t1 = now();
    for (int k = 0; k < 2 * n; k++) { /* poly_add and poly_free each lock once */
      while (atomic_exchange_explicit(&word, 1, memory_order_acquire)) {}
      atomic_store_explicit(&word, 0, memory_order_release);
    }
    double t2 = now();
    printf("%.17g %.17g\\n", (t1 - t0) / n, (t2 - t1) / n);
  }
  return 0;
}
"""


def compiled(folder: Path, name: str, text: str, *flags: str) -> Path:
    source, out = folder / f"{name}.c", folder / name
    source.write_text(text)
    subprocess.run([CC, "-O2", flags[0], str(source), "-o", str(out), *flags[1:]], check=True)
    return out


def cpu_seconds(f: Callable[[], object]) -> float:
    start = time.process_time()
    f()
    return time.process_time() - start


def compare(name: str, x: Tensor, total: Callable[[Tensor], Tensor], largest: Callable[[Tensor], Tensor], rounds: int) -> None:
    ours, plain = (TinyJit(lambda v, f=f: f(v).realize()) for f in (total, largest))
    for _ in range(4):
        ours(x), plain(x)
    pairs = [(cpu_seconds(lambda: ours(x)), cpu_seconds(lambda: plain(x))) for _ in range(rounds)]
    a, b = (statistics.median(p[k] for p in pairs) * 1e3 for k in range(2))
    print(f"{name:34} sum {a:8.3f} ms, maximum {b:8.3f} ms, ratio {statistics.median(a / b for a, b in pairs):.3f}")


def sums(rounds: int) -> None:
    rng = np.random.default_rng(0)
    for n, m in ((1, 10_000_000), (1000, 10_000), (100_000, 100)):
        x = Tensor(rng.random((n, m), np.float32)).realize()
        compare(f"rows of {m}, {n} of them", x, lambda v: v.sum(1), lambda v: v.max(1), rounds)
    x = Tensor(rng.random((100_000, 128), np.float32)).realize()
    compare("columns of 100000, 128 of them", x, lambda v: v.sum(0), lambda v: v.max(0), rounds)
    for nodes, edges in ((20_000, 400_000), (10, 400_000)):
        g = Graph(rng.integers(0, nodes, (2, edges)), nodes)
        x = Tensor(rng.random((nodes, 64), np.float32)).realize()
        compare(f"segments, {edges // nodes} edges a row", x, lambda v, g=g: g.sum(g.src(v)), lambda v, g=g: g.max(g.src(v)), rounds)


def lock(folder: Path, rounds: int) -> None:
    libs = [f"-I{ROOT / 'include'}", str(ROOT / "build" / "libpolygrad.a"), "-fopenmp", "-ldl", "-lm", "-lpthread"]
    program = compiled(folder, "lock", LOCK, *libs)
    lines = subprocess.run([str(program), str(rounds)], check=True, capture_output=True, text=True).stdout.split("\n")
    pairs = [tuple(map(float, line.split())) for line in lines if line]
    share = statistics.median(b / a for a, b in pairs)
    print(f"an operation built and freed {statistics.median(a for a, _ in pairs) * 1e9:.1f} ns, of which two locks {statistics.median(b for _, b in pairs) * 1e9:.1f} ns: {share:.1%}")  # fmt: skip


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    Device.DEFAULT = "CPU"
    with tempfile.TemporaryDirectory() as d:
        lock(Path(d), rounds)
    sums(rounds)


main()
