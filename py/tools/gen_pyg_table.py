"""Writes docs/pyg-names.md: every public name of PyTorch Geometric 2.8, and what there is of it here. python py/tools/gen_pyg_table.py [--check]

The names and their arguments are in py/tests/geometric/pyg_names.json (written by gen_pyg_names.py). What is here is found by importing it: a name
that imports and takes the same arguments is had; one that lacks some differs, as do those of DIFFER. A name that does not import is left out, for the
reason that LEFT_OUT gives.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "py"))
NAMES = ROOT / "py" / "tests" / "geometric" / "pyg_names.json"
TABLE = ROOT / "docs" / "pyg-names.md"

_CUDA = "tied to CUDA libraries of a vendor"
_TEXT = "tied to language models"
_TORCH = "about PyTorch itself: devices, its compiler, its export"
_FEW = "not written"

DIFFER = {
    "datasets.QM9": "reads PyTorch Geometric's processed file, not the SDF file",
    "datasets.MovieLens": "titles are encoded by a function that is given, not by a language model that is fetched",
    "datasets.NELL": "features are dense",
    "datasets.BA2MotifDataset": "without a root the graphs are generated",
    "datasets.ICEWS18": "the split is that of the files",
    "datasets.GDELT": "the split is that of the files",
    "datasets.TOSCA": "categories that can be chosen are in `kinds`",
    "datasets.DynamicFAUST": "subjects and categories that can be chosen are in `people` and `motions`",
    "datasets.MedShapeNet": "reads the files that MedShapeNet's own package fetched; does not start it",
    "datasets.Teeth3DS": "points are chosen by this library's farthest point sampling; of small meshes always the same ones",
    "datasets.PCQM4Mv2": "SQLite only",
    "data.OnDiskDataset": "SQLite only; rows are JSON and arrays, not pickles",
    "loader.PrefetchLoader": "one batch ahead; there is no transfer to a device to hide",
    "utils.geodesic_distance": "along the edges of the mesh, not across its faces",
    "transforms.ToSparseTensor": "a SparseTensor of this library, or with a layout a matrix of `polygrad.torch`",
    "transforms.TwoHop": "edge_attr stays with its edge where edges are not sorted; there PyTorch Geometric gives it to another edge",
    "transforms.LineGraph": "features of a directed graph are those of its edges once they are sorted and merged, one for each node",
    "torch_geometric.EdgeIndex": "a tensor with what is known of the edges, kept by copies, parts and shifts; else a plain tensor",
    **{
        f"nn.pool.{n}": "exact; arguments that tune an approximation have no effect"
        for n in ("KNNIndex", "ApproxL2KNNIndex", "ApproxMIPSKNNIndex", "approx_knn", "approx_knn_graph")
    },
    "nn.models.GroupAddRev": "what is stored for the backward pass is up to the compiler",
    "nn.models.TGNMemory": "gradients stay in the batch",
    "nn.DataParallel": "all graphs on the one device",
    "profile.nvtxit": "makes no marks",
    "profile.torch_profile": "kernels of this library, as text",
    "profile.trace_handler": "kernels of this library, as text",
    "torch_geometric.safe_onnx_export": "raises: models are not exported",
    "torch_geometric.HashTensor": "keys are searched for on the host",
    **{f"utils.{way}_{n}": f"not tried: {n} is not installed for the tests" for n in ("cugraph", "dgl") for way in ("from", "to")},
    "torch_geometric.Index": "a tensor with what is known of the indices, kept by copies, parts and shifts; else a plain tensor",
}

LEFT_OUT = {
    **dict.fromkeys(("nn.conv.CuGraphGATConv", "nn.conv.CuGraphRGCNConv", "nn.conv.CuGraphSAGEConv", "nn.conv.FusedGATConv"), _CUDA),
    "loader.AffinityMixin": _TORCH,
    **dict.fromkeys(("profile.get_gpu_memory_from_ipex", "profile.xpu_profile"), _TORCH),
    **{
        f"datasets.{n}": _TEXT
        for n in (
            "CWQDataset", "GitMolDataset", "InstructMolDataset", "MoleculeGPTDataset", "ProteinMPNNDataset", "TAGDataset", "WebQSPDataset",
        )
    },
    **dict.fromkeys(("datasets.PascalVOCKeypoints", "datasets.WILLOWObjectClass"), "needs images and a network of torchvision"),
}  # fmt: skip
REASONS = {
    **dict.fromkeys(("llm", "llm.models", "llm.utils"), _TEXT),
    "graphgym": "a framework of configurations around PyTorch Lightning",
    "data.lightning": "tied to PyTorch Lightning",
    "distributed": "distributed training of PyTorch",
    "contrib.explain": "experimental there; tied to pgmpy",
    "contrib.utils": "experimental there; tied to relbench",
}


def find(module: str, name: str) -> Any:
    """The object of that name here, or None."""
    return in_package("polygrad.geometric", module, name) or in_package("polygrad.torch_geometric", module, name)


def in_package(package: str, module: str, name: str) -> Any:
    """The object of that name in one of the packages, or None."""
    importlib.import_module(package)  # an error here is not a name that is missing
    try:
        return getattr(importlib.import_module(package + ("" if module == "torch_geometric" else f".{module}")), name, None)
    except ImportError:
        return None


def lacks(found: Any, wanted: list[str] | None) -> list[str]:
    """Arguments of PyTorch Geometric's that ours does not take."""
    if wanted is None or not callable(found):
        return []
    try:
        mine = inspect.signature(found.__init__ if inspect.isclass(found) else found).parameters
    except (TypeError, ValueError):
        return []
    if any(p.kind is p.VAR_KEYWORD for p in mine.values()):
        return []
    return [n for n in wanted if n not in mine]


def row(module: str, name: str, wanted: list[str] | None) -> tuple[str, str]:
    """("have" | "differ" | "left out", how or why)."""
    key = f"{module}.{name}"
    found = find(module, name)
    if found is None:
        return "left out", LEFT_OUT.get(key) or REASONS.get(module) or _FEW
    missing = lacks(found, wanted)
    notes = [DIFFER[key]] if key in DIFFER else []
    notes += ["in `polygrad.torch_geometric`"] if in_package("polygrad.geometric", module, name) is None else []
    notes += [f"without the argument{'s' if len(missing) > 1 else ''} {', '.join(f'`{m}`' for m in missing)}"] if missing else []
    return ("differ" if notes else "have"), "; ".join(notes)


def table() -> str:
    names = json.loads(NAMES.read_text())
    rows = {module: {n: row(module, n, p) for n, p in of.items()} for module, of in names.items()}
    out = ["# Every public name of PyTorch Geometric 2.8", ""]
    out += [
        "Written by `py/tools/gen_pyg_table.py` from the list of names and arguments in `py/tests/geometric/pyg_names.json`; a test imports every"
    ]
    out += ['name that is said to be here. "Have" says that the name is here and takes the same arguments; values are compared where']
    out += ["[testing.md](testing.md) says so. `nn.functional`, `nn.encoding` and so on are modules of `polygrad.geometric` too.", ""]
    out += ["| module | names | have | differ | left out |", "|---|---|---|---|---|"]
    for module, of in rows.items():
        kinds = [k for k, _ in of.values()]
        out += [f"| `{module}` | {len(of)} | {kinds.count('have')} | {kinds.count('differ')} | {kinds.count('left out')} |"]
    for module, of in rows.items():
        out += ["", f"## {module}", ""]
        have = [n for n, (k, _) in of.items() if k == "have"]
        if have:
            out += ["Have: " + ", ".join(f"`{n}`" for n in have) + "."]
        rest = [(n, k, why) for n, (k, why) in of.items() if k != "have"]
        if rest:
            out += ["", "| name | | how, or why |", "|---|---|---|"]
            out += [f"| `{n}` | {k} | {why} |" for n, k, why in rest]
    return "\n".join(out) + "\n"


def main() -> None:
    made = table()
    if "--check" in sys.argv:
        sys.exit(0 if TABLE.is_file() and TABLE.read_text() == made else f"{TABLE} is not up to date: run {Path(__file__).name}")
    TABLE.write_text(made)


if __name__ == "__main__":
    main()
