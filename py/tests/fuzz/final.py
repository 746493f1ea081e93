"""python -m fuzz.final: the campaign before a release, on a machine with many cores and nothing but Python, numpy and a C compiler.

    make
    PYTHONPATH=py:py/tests python3 -m fuzz.final --processes 16

100,000 programs on the interpreter and 10,000 compiled, with seeds that follow the first one, so that a run can be repeated. Failures are printed
and saved as they come; the last line says how many programs ran, of how many, how many failed, and how long it took.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = {
    "POLYGRAD_LIB": str(ROOT / "build" / "libpolygrad.so"), "POLY_POISON": "1", "POLY_VERIFY": "1", "POLY_TIER": "1", "POLY_UNIT": "3000",
    "POLY_CACHE_SIZE": "0", "OMP_WAIT_POLICY": "passive", "PYTHONPATH": os.pathsep.join(str(ROOT / p) for p in ("py", "py/tests")),
}  # fmt: skip


def main() -> int:
    p = argparse.ArgumentParser(prog="fuzz.final", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    p.add_argument("--seed", type=int, default=7_000_000_000)
    p.add_argument("--interp", type=int, default=100_000)
    p.add_argument("--compiled", type=int, default=10_000)
    p.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz")
    a = p.parse_args()
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    from .campaign import Campaign

    summary, good = [], True
    for device, programs, seed in (("INTERP", a.interp, a.seed), ("CPU", a.compiled, a.seed + a.interp)):
        if not programs:
            continue
        start = time.monotonic()
        c = Campaign(seed, programs, 0.0, device, a.processes, a.out)
        failures = c.run()
        good &= not failures and c.programs == programs
        summary.append(f"{device} {c.programs} of {programs} programs from seed {seed}, {len(failures)} failures, {time.monotonic() - start:.0f} s")
    print("fuzz:", "; ".join(summary), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
