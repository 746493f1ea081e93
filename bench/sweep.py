"""Operations and shapes one by one, beside PyTorch and PyTorch Geometric in one process: what falls off the fast path?

The cases are data (bench/sweep_cases.py): expressions written once for both libraries, over shapes, layouts and dtypes, forward and backward. Results
are compared. Times are CPU time of one thread, the least of several blocks in turns, so that a busy machine disturbs them little. "rate" is the memory
read and written at the least, over the time, as a share of what a copy of that size reaches. The table ends with the slowest: cases below PyTorch, and
those below a tenth of the machine's rate. --general measures the plans that hold for any size; --sizes runs programs whose sizes differ in each call and
counts compilations.

Usage: sweep.py [-k TEXT] [-g GROUP] [--general] [--sizes] [--worst 60] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np
from graph_common import machine, write_json
from sweep_cases import CHANGING, GROUPS, RANDOM, TIES

FLOATS = {"f": "float32", "p": "float32", "d": "float64", "h": "float16", "w": "bfloat16"}
INTS = {"i": np.int64, "s": np.int64, "n": np.int32, "u": np.uint8}


def array(spec, rng):
    """(numpy array, name of a dtype that numpy lacks, layout) of an input."""
    kind, _, rest = spec.partition(":")
    rest, _, layout = rest.partition(".")
    shape, _, bound = rest.partition("<")
    shape = tuple(int(n) for n in shape.split("x"))
    if kind == "b":
        return rng.random(shape) < 0.5, None, layout
    if kind in INTS:
        made = rng.integers(0, int(bound), shape).astype(INTS[kind])
        return np.sort(made) if kind == "s" else made, None, layout
    made = rng.uniform(0.1, 0.9, shape) if kind == "p" else rng.standard_normal(shape)
    return made.astype(np.float64 if kind == "d" else np.float32), FLOATS[kind], layout


LAYOUTS = {
    "": lambda x: x, "t": lambda x: x.transpose(-1, -2), "s": lambda x: x[..., ::2], "o": lambda x: x[(slice(1, None),) * x.ndim],
    "e": lambda x: x.expand(64, *x.shape[1:]),
}  # fmt: skip


class Side:
    """One of the two libraries: makes inputs, calls a case, finishes what it gave."""

    def __init__(self, t, functional, geometric, ours):
        self.t, self.ours, self.names = t, ours, {"t": t, "F": functional, "g": geometric}

    def inputs(self, arrays, grad):
        out = []
        for a, dtype, _ in arrays:
            x = self.t.tensor(a) if self.ours else self.t.from_numpy(a.copy())
            if dtype:
                x = x.to(getattr(self.t, dtype))
            if self.ours:
                x.realize()
            out.append(x.requires_grad_() if grad and dtype else x)
        return out

    def call(self, code, inputs, layouts, grad):
        f = eval(f"lambda a, b=None, c=None, d=None: {code}", self.names)
        views = [LAYOUTS[k] for k in layouts]
        leaves = [x for x in inputs if x.requires_grad]
        seed = []

        def run():
            result = f(*[view(x) for view, x in zip(views, inputs)])
            if not grad:
                return self.finish(result)
            y = tensors(result)[0]
            if not seed:
                noise = np.random.default_rng(3).standard_normal(tuple(y.shape)).astype(np.float32)
                seed.append(self.finish(self.t.tensor(noise).to(y.dtype)))
            return self.finish((y, self.t.autograd.grad(y, leaves, seed[0], allow_unused=True)))

        return run

    def finish(self, result):
        if self.ours:
            parts = tensors(result)
            if parts:
                parts[0].realize(*parts[1:])
        return result


def tensors(result):
    if isinstance(result, dict):
        result = result.values()
    if isinstance(result, (tuple, list)) or type(result).__name__ == "dict_values":
        return [x for part in result for x in tensors(part)]
    return [result] if hasattr(result, "requires_grad") else []


def sides(general=False):
    os.environ["OMP_NUM_THREADS"] = os.environ["POLY_THREADS"] = "1"
    os.environ.setdefault("POLY_EXACT", "0" if general else "1")  # else all but the first shape of an expression run the plan for any size
    os.environ.setdefault("POLY_TIER", "1")  # as after many calls: kernels are compiled rather than interpreted at first
    import warnings

    import torch
    import torch_geometric
    import torch_geometric.nn
    import torch_geometric.utils

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    import polygrad.geometric as geometric
    import polygrad.torch as pt
    import polygrad.torch.nn.functional as pf

    return Side(pt, pf, geometric, True), Side(torch, torch.nn.functional, torch_geometric, False)


def in_turns(functions, rounds, block):
    """Least CPU time in ms of a call, from blocks in turns."""
    best, count = [float("inf")] * len(functions), []
    for f in functions:
        f()
        start = time.process_time()
        f()
        count.append(max(1, int(block / max(time.process_time() - start, 1e-7))))
    for _ in range(rounds):
        for k, f in enumerate(functions):
            n = min(count[k], 2000)
            start = time.process_time()
            for _ in range(n):
                f()
            best[k] = min(best[k], (time.process_time() - start) / n * 1e3)
    return best


def numbers(x):
    x = x.detach()
    if str(x.dtype) in ("torch.bfloat16", "torch.float16", "bfloat16", "float16") or "bfloat16" in str(x.dtype):
        x = x.float()
    return np.asarray(x.numpy())


def difference(ours, theirs):
    """In words, or an empty text where both are the same up to rounding."""
    a, b = tensors(ours), tensors(theirs)
    if len(a) != len(b):
        return f"{len(a)} results rather than {len(b)}"
    for k, (x, y) in enumerate(zip(a, b)):
        if tuple(x.shape) != tuple(y.shape):
            return f"result {k}: shape {tuple(x.shape)} rather than {tuple(y.shape)}"
        small = any(name in str(y.dtype) for name in ("float16", "half"))
        x, y = numbers(x).astype(np.float64), numbers(y).astype(np.float64)
        if x.size == 0:
            continue
        scale = np.abs(y[np.isfinite(y)]).mean() if np.isfinite(y).any() else 1.0
        rtol = 2e-2 if small else 1e-3
        close = np.isclose(x, y, rtol=rtol, atol=rtol * max(scale, 1e-6), equal_nan=True)
        if not close.all():
            return f"result {k}: {int((~close).sum())} of {close.size} numbers differ, {x[~close][0]:.6g} rather than {y[~close][0]:.6g}"
    return ""


class Rate:
    """ms that a copy of so many bytes takes, read and written counted."""

    def __init__(self):
        self.known = {}

    def __call__(self, size):
        half = 1 << max(12, int(size // 2).bit_length())
        if half not in self.known:
            a = np.ones(half, np.uint8)
            b = a.copy()
            self.known[half] = in_turns([lambda: np.copyto(b, a)], 3, 0.01)[0] / (2 * half)
        return self.known[half] * size


def cases(args):
    for group, (codes, forward, backward) in GROUPS.items():
        if not any(text in group for text in args.group.split(",")):
            continue
        for code in codes:
            for grad, lists in ((False, forward), (True, backward)):
                for specs in lists:
                    name = f"{code:44} {' '.join(specs)}{' grad' if grad else ''}"
                    if args.k in name:
                        yield group, name, code, specs, grad


def sweep(args, ours, theirs):
    rate, rows, known = Rate(), [], {}
    for group, name, code, specs, grad in cases(args):
        row = {"group": group, "name": name}
        rows.append(row)
        arrays = known.setdefault(tuple(specs), [array(spec, np.random.default_rng(k)) for k, spec in enumerate(specs)])
        if len(known) > 4:
            known.pop(next(iter(known)))
        layouts = [layout for _, _, layout in arrays]
        made = [(side, side.inputs(arrays, grad)) for side in (ours, theirs)]
        try:
            peer = made[1][0].call(code, made[1][1], layouts, grad)
            theirs_gave = peer()
        except Exception as e:
            row["skipped"] = f"PyTorch: {type(e).__name__}: {e}"[:120]
            continue
        try:
            own = made[0][0].call(code, made[0][1], layouts, grad)
            ours_gave = own()
            if not any(x in code for x in RANDOM):
                first = any(x in code for x in TIES)
                row["differs"] = difference(*(tensors(x)[:1] if first else x for x in (ours_gave, theirs_gave)))
        except Exception as e:
            row["error"] = f"{type(e).__name__}: {e}"[:160]
            print(f"{name}: {row['error']}", flush=True)
            continue
        touched = sum(a.nbytes for a, _, _ in arrays) + sum(x.numel() * x.element_size() for x in tensors(theirs_gave))
        a, b = in_turns([own, peer], args.rounds, args.block)
        row.update(ours_ms=a, theirs_ms=b, ratio=b / a, rate=rate(touched) / a)
        if row.get("differs"):
            print(f"{name}: {row['differs']}", flush=True)
        if args.verbose:
            print(line(row), flush=True)
    return rows


def line(row):
    flags = (" below 1" if row["ratio"] < 1 else "") + (" off the rate" if row["rate"] < 0.1 else "")
    return f"{row['ratio']:8.2f} {row['ours_ms']:10.4f} {row['theirs_ms']:10.4f} {100 * row['rate']:6.1f} %  {row['name']}{flags}"


def changing(args, ours, theirs):
    """Sizes that differ in each call: compilations after the second size, and the time of a call beside PyTorch's."""
    from polygrad.autograd import current

    rows, rng = [], np.random.default_rng(0)
    sizes = [int(n) for n in rng.permutation(np.arange(40, 400, 2))[: args.calls + 2]]
    for code, specs in CHANGING.items():
        if args.k not in code:
            continue
        arrays = [[array(spec.format(n=n), np.random.default_rng(n)) for spec in specs] for n in sizes]
        row = {"name": code}
        rows.append(row)
        try:
            times = []
            for side in (ours, theirs):
                inputs = [side.inputs(a, False) for a in arrays]
                runs = [side.call(code, i, [""] * len(specs), False) for i in inputs]
                for r in runs[:2]:
                    r()
                before = current().compilations if side.ours else 0
                first = time.process_time()
                for r in runs[2:]:
                    r()
                once = (time.process_time() - first) / args.calls * 1e3
                if side.ours:
                    row["compilations"], row["first_ms"] = current().compilations - before, once
                best = once
                for _ in range(3):
                    first = time.process_time()
                    for r in runs[2:]:
                        r()
                    best = min(best, (time.process_time() - first) / args.calls * 1e3)
                times.append(best)
            row.update(ours_ms=times[0], theirs_ms=times[1], ratio=times[1] / times[0])
        except Exception as e:
            row["error"] = f"{type(e).__name__}: {e}"[:160]
        print(
            f"{code:44} {row}"
            if "error" in row
            else f"{code:44} {row['ours_ms']:8.4f} {row['theirs_ms']:8.4f} {row['ratio']:6.2f}  first {row['first_ms']:8.3f}, compiled {row['compilations']}",
            flush=True,
        )
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("-k", default="", help="only cases with this text")
    p.add_argument("-g", "--group", default="", help="only groups with one of these texts in their name, commas between them")
    p.add_argument("--sizes", action="store_true", help="sizes that differ from call to call")
    p.add_argument("--general", action="store_true", help="by the plans that hold for any size, as after other shapes of an expression")
    p.add_argument("--calls", type=int, default=40)
    p.add_argument("--worst", type=int, default=60)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--block", type=float, default=0.01, help="seconds of a block")
    p.add_argument("-v", "--verbose", action="store_true")
    p.add_argument("--json")
    args = p.parse_args()
    ours, theirs = sides(args.general or args.sizes)
    if args.sizes:
        return write_json(args.json, machine=machine(1), rows=changing(args, ours, theirs))
    rows = sweep(args, ours, theirs)
    timed = sorted((r for r in rows if "ratio" in r), key=lambda r: r["ratio"])
    print(f"\n{'ratio':>8} {'ours ms':>10} {'peer ms':>10} {'rate':>8}")
    for row in timed[: args.worst]:
        print(line(row))
    off = [r for r in timed if r["rate"] < 0.1 and r not in timed[: args.worst]]
    print("\nfurther cases below a tenth of the machine's rate:")
    for row in sorted(off, key=lambda r: r["rate"])[: args.worst]:
        print(line(row))
    ratios = [r["ratio"] for r in timed] or [0]
    print(
        f"\n{len(timed)} cases, median {ratios[len(ratios) // 2]:.2f}, below 1: {sum(r < 1 for r in ratios)}, below a tenth of the rate: "
        f"{sum(r['rate'] < 0.1 for r in timed)}, other results: {sum(bool(r.get('differs')) for r in rows)}, failed: {sum('error' in r for r in rows)}, "
        f"not in PyTorch: {sum('skipped' in r for r in rows)}"
    )
    write_json(args.json, machine=machine(1), rows=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
