"""The same program on leaves of other sizes: what one general plan has to serve. Sizes are mapped by value, so that axes which had to agree still
do; a program whose parameters speak of the old sizes does not fit the new ones and is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .generate import Program, Step, generate
from .ops import OPS

MAPS = ({2: 5, 3: 7, 4: 6, 6: 9}, {2: 3, 3: 8, 4: 9, 6: 4}, {2: 11, 3: 5, 4: 4, 6: 12}, {2: 7, 3: 7, 4: 7, 6: 6})
SCALARS = ("c", "d")  # parameters that are numbers of any size
MOST = 20000  # elements of an output


def eager(seed: int) -> Program:
    """The program of a seed, to be run in one realize: values, first or second gradients."""
    p = generate(seed)
    if p.kind not in ("values", "first", "second"):
        p.kind = "values" if p.kind == "large" else "first"
    return p


def _other(n: int, run: int) -> int:
    return MAPS[run].get(n, n + (run if n > 6 else 0))


def _other_numbers(s: Step, run: int) -> Step:
    """Other scalars, and the number of nodes of a graph as sizes of that value become."""
    change = {k: v + 0.25 * (run + 1) if k in SCALARS else v for k, v in s.params.items()}
    if "Graph(" in OPS[s.op].text or s.op.startswith("pyg_"):
        change["n"] = _other(s.params["n"], run)
    return replace(s, params=change)


def resized(seed: int, run: int) -> Program | None:
    """The program of a seed with the sizes of MAPS[run]; None if it does not fit them."""
    return other_sizes(eager(seed), run)


def other_sizes(program: Program, run: int) -> Program | None:
    """The program with the sizes of MAPS[run] and other scalars; None if it does not fit them."""
    p = replace(program, leaves=dict(program.leaves), steps=[_other_numbers(s, run) for s in program.steps])
    rng = np.random.default_rng([p.seed, 11, run])
    for name, leaf in p.leaves.items():
        shape = [_other(n, run) for n in leaf.values.shape]
        if leaf.fill[0] == "int" and len(shape) == 2 and leaf.values.shape[0] == 2:
            shape[0] = 2  # an edge_index
        if int(np.prod(shape)) > MOST:
            return None
        if leaf.fill[0] == "int" and leaf.fill[1] == 0 and leaf.dt in ("int32", "int64"):
            leaf = replace(leaf, fill=("int", 0, _other(leaf.fill[2], run)))  # indices into an axis of that size
        p.leaves[name] = leaf.drawn(rng, tuple(shape))
    try:
        refs = p.evaluate()
    except Exception:  # the reference says that operands do not fit
        return None
    return p if all(refs[n].size <= MOST for n in p.outputs) else None
