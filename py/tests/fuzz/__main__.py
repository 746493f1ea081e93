"""python -m fuzz: a campaign with a fresh seed; --replay runs one program again.

--seconds S      how long (per device)
--programs N     how many instead (0: until the time is over)
--seed K         the first seed; fresh if not given
--device A,B     INTERP, CPU, ... ; "all": every one that is there
--processes P    workers
--out FOLDER     where failing programs go
--replay SEED    one program: its text, and whether it holds; shrunk if it does not
--files          damaged files instead of programs
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from pathlib import Path

os.environ.setdefault("POLY_POISON", "1")
os.environ.setdefault("POLY_TIER", "1")  # the CPU runs compiled kernels, however little work they are
os.environ.setdefault("POLY_UNIT", "3000")  # the kernels of many programs are one file
if "--files" not in sys.argv:
    os.environ.setdefault("POLY_CACHE_SIZE", "0")  # no program comes twice


def replay(seed: int, devices: list[str], folder: Path) -> int:
    from .generate import generate
    from .run import run
    from .shrink import shrink
    from .source import save

    program = generate(seed)
    print(f"# {program.kind}, outputs {program.outputs}")
    print("\n".join(program.text()))
    bad = 0
    for d in devices:
        f = run(program, d)
        print(f"{d}: {'holds' if f is None else f.text}")
        if f is not None:
            bad = 1
            small = shrink(f)
            print(f"{save(small, folder)}: {small.text}")
    return bad


def main() -> int:
    p = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=0.0)
    p.add_argument("--programs", type=int, default=0)
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--device", default="all")
    p.add_argument("--processes", type=int, default=2)
    p.add_argument("--out", type=Path, default=Path("build/fuzz"))
    p.add_argument("--replay", type=int, default=None)
    p.add_argument("--files", action="store_true")
    p.add_argument("--worker", type=int, nargs=2, default=None, help=argparse.SUPPRESS)
    a = p.parse_args()
    from .campaign import Campaign, Job, work
    from .run import devices

    if a.worker is not None:
        work(Job(a.seed, *a.worker, a.programs, a.seconds, a.device, a.out))
        return 0
    wanted = devices() if a.device == "all" else a.device.upper().split(",")
    if a.replay is not None:
        return replay(a.replay, wanted, a.out)
    if not a.seconds and not a.programs:
        a.seconds = 60.0
    seed = secrets.randbelow(1 << 40) if a.seed is None else a.seed
    if a.files:
        from .files import campaign as damage

        return damage(seed, a.programs, a.seconds, a.out)
    failures = []
    for d in wanted:
        start = time.monotonic()
        print(f"fuzz: {d}, seed {seed}, {a.processes} processes", flush=True)
        c = Campaign(seed, a.programs, a.seconds, d, a.processes, a.out)
        found = c.run()
        failures += found
        took = time.monotonic() - start
        print(f"fuzz: {d}: {c.programs} programs in {took:.0f} s ({c.programs / max(took, 1e-9):.0f} per second), {len(found)} failures", flush=True)
    return 1 if failures else 0


sys.exit(main())
