"""The same program on leaves of other sizes: what one general plan has to serve. Sizes are mapped by value, so that axes which had to agree still
do; a program whose parameters speak of the old sizes does not fit the new ones and is left out."""

from __future__ import annotations

import numpy as np

from .generate import Program, generate

MAPS = ({2: 5, 3: 7, 4: 6, 6: 9}, {2: 3, 3: 8, 4: 9, 6: 4}, {2: 11, 3: 5, 4: 4, 6: 12}, {2: 7, 3: 7, 4: 7, 6: 6})
MOST = 20000  # elements of an output


def eager(seed: int) -> Program:
    """The program of a seed, to be run in one realize: values, first or second gradients."""
    p = generate(seed)
    if p.kind not in ("values", "first", "second"):
        p.kind = "values" if p.kind == "large" else "first"
    return p


def resized(seed: int, run: int) -> Program | None:
    """The program of a seed with the sizes of MAPS[run]; None if it does not fit them."""
    p = eager(seed)
    rng = np.random.default_rng([seed, 11, run])
    for name, leaf in p.leaves.items():
        shape = [MAPS[run].get(n, n + (run if n > 6 else 0)) for n in leaf.values.shape]
        if leaf.fill[0] == "int" and len(shape) == 2 and leaf.values.shape[0] == 2:
            shape[0] = 2  # an edge_index
        if int(np.prod(shape)) > MOST:
            return None
        p.leaves[name] = leaf.drawn(rng, tuple(shape))
    try:
        refs = p.evaluate()
    except Exception:  # the reference says that operands do not fit
        return None
    return p if all(refs[n].size <= MOST for n in p.outputs) else None
