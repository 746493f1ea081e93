"""The scripts of examples/geometric on events, molecules and knowledge graphs learn something, in sizes that take seconds."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "geometric"


def main_of(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]


def test_events():
    assert 0.3 < main_of("temporal")(events=300, epochs=1) < 0.7


def test_molecules():
    main = main_of("molecules")
    assert main(16, 4) < main(16, 1)


def test_knowledge_graph():
    assert np.isfinite(main_of("knowledge_graph")("TransE", 2))
