"""docs/pyg-names.md, the table of PyTorch Geometric's names: it lists all of them, and what it says to be here is here."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "py" / "tools" / "gen_pyg_table.py"
NAMES = json.loads((Path(__file__).parent / "pyg_names.json").read_text())

pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="a checkout is needed")


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("gen_pyg_table", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sections():
    """{module: {name: (kind, note)}} of the page."""
    out = {}
    for part in (ROOT / "docs" / "pyg-names.md").read_text().split("\n## ")[1:]:
        module, _, body = part.partition("\n")
        have = re.search(r"^Have: (.*)\.$", body, re.M)
        rows = {n: ("have", "") for n in re.findall(r"`(\w+)`", have.group(1))} if have else {}
        rows |= {n: (k, why) for n, k, why in re.findall(r"^\| `(\w+)` \| (differ|left out) \| (.*) \|$", body, re.M)}
        out[module] = rows
    return out


@pytest.mark.parametrize("module", list(NAMES))
def test_every_name_is_listed(module):
    assert sorted(sections()[module]) == sorted(NAMES[module])


@pytest.mark.parametrize("module", list(NAMES))
def test_what_is_said_to_be_here_is_here(tool, module):
    for name, (kind, note) in sections()[module].items():
        if kind == "left out":
            assert note, name
            continue
        found = tool.row(module, name, NAMES[module][name])
        assert found[0] == kind or kind == "differ", f"{module}.{name} is said to be {kind!r}: {found}"
        assert tool.find(module, name) is not None, f"{module}.{name}"


@pytest.mark.parametrize("module", [m for m in NAMES if not m.startswith("nn")])
def test_the_table_is_up_to_date(tool, module):
    made = {n: tool.row(module, n, p) for n, p in NAMES[module].items()}
    assert {n: (k, w) for n, (k, w) in sections()[module].items()} == made, "run py/tools/gen_pyg_table.py"


def test_reasons_are_of_names_that_there_are(tool):
    known = {f"{m}.{n}" for m, names in NAMES.items() for n in names}
    assert set(tool.DIFFER) <= known and set(tool.LEFT_OUT) <= known
