"""Layers against numbers of PyTorch Geometric: outputs, gradients of inputs and parameters, parameters under its names.

The fixtures lie beside the checkout (shared/golden), or where POLYGRAD_GOLDEN says.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from polygrad import Device

ROOT = Path(__file__).resolve().parents[3].parent / "shared"
FOLDER = Path(os.environ.get("POLYGRAD_GOLDEN", ROOT / "golden"))
TOOL = Path(os.environ.get("POLYGRAD_GOLDEN_TOOL", ROOT / "tools" / "check_golden.py"))
FILES = sorted(FOLDER.glob("*.npz")) if TOOL.exists() else []
COMPILED = ("gcn_weighted", "gat_edge", "sage_max", "aggr_multi", "rgcn_bases", "pna", "transformer", "topk", "model_gin")  # also on the CPU


def check(path: Path) -> list[str]:
    spec = importlib.util.spec_from_file_location("check_golden", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.check(str(path), 1e-3, 1e-4)


@pytest.mark.skipif(not FILES, reason=f"no fixtures in {FOLDER}, or no {TOOL}")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_fixture(path):
    assert not check(path)


@pytest.mark.skipif(not FILES, reason=f"no fixtures in {FOLDER}, or no {TOOL}")
@pytest.mark.parametrize("path", [p for p in FILES if p.stem in COMPILED], ids=lambda p: p.stem)
def test_compiled(path, cpu):
    """Kernels of the compiler: the interpreter, which the others run on, shares all but the last step with it."""
    assert Device.DEFAULT == "CPU"
    assert not check(path)
