"""Writes py/tests/geometric/pyg_names.json, the public names of an installed PyTorch Geometric and their arguments; --check compares instead.

    python py/tools/gen_pyg_names.py [--check]      (where torch_geometric is installed; nothing else needs it)

`gen_pyg_table.py` makes docs/pyg-names.md of that list. Names are those of `__all__`; of a module without one, what is defined in it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any

NAMES = Path(__file__).resolve().parents[1] / "tests" / "geometric" / "pyg_names.json"
MODULES = (
    "torch_geometric data datasets datasets.graph_generator datasets.motif_generator loader sampler transforms utils io nn nn.conv nn.aggr nn.pool"
    " nn.pool.select nn.pool.connect nn.models nn.norm nn.dense nn.kge nn.attention nn.encoding nn.functional nn.unpool nn.lr_scheduler explain"
    " explain.algorithm explain.metric metrics profile visualization testing contrib.explain contrib.nn.models contrib.utils data.lightning"
    " distributed graphgym llm llm.models llm.utils"
).split()


def arguments(o: Any) -> list[str] | None:
    """Names of the arguments of a class or function; None where they cannot be found."""
    try:
        found = inspect.signature(o.__init__ if inspect.isclass(o) else o).parameters.values()
    except (TypeError, ValueError):
        return None
    return [p.name for p in found if p.name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def names_of(module: str) -> dict[str, list[str] | None]:
    found = importlib.import_module("torch_geometric" + ("" if module == "torch_geometric" else f".{module}"))
    names = getattr(found, "__all__", None) or [n for n, o in vars(found).items() if getattr(o, "__module__", "") == found.__name__]
    public = {n: getattr(found, n) for n in sorted(names) if not n.startswith("__")}
    return {n: arguments(o) if callable(o) else [] for n, o in public.items() if not inspect.ismodule(o)}


def main() -> None:
    warnings.simplefilter("ignore")
    made = {m: names_of(m) for m in MODULES}
    if "--check" in sys.argv:
        kept = json.loads(NAMES.read_text())
        sys.exit(0 if kept == made else f"{NAMES} is not up to date: {sorted(m for m in {*kept, *made} if kept.get(m) != made.get(m))}")
    NAMES.write_text(json.dumps(made, separators=(",", ":")).replace("},", "},\n") + "\n")  # a line for each module


if __name__ == "__main__":
    main()
