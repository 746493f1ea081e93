"""`polygrad port`: which lines change, and what is said to be missing."""

import pytest

from polygrad.cli import main
from polygrad.cli.port import missing, rewritten


def test_only_imports_change():
    text = '''"""import torch"""
import os, torch
import torch.nn as nn  # a comment
import torch.nn.functional
from torch_geometric.nn import (
    GCNConv,  # import torch
)
import numpy as np
try:
    from torch import Tensor
except ImportError:
    pass
x = "import torch"
'''
    wanted = (
        text.replace("import os, torch\n", "import os, polygrad.torch as torch\n")
        .replace("import torch.nn as nn", "import polygrad.torch.nn as nn")
        .replace("import torch.nn.functional\n", "import polygrad.torch as torch\n")
        .replace("from torch_geometric.nn", "from polygrad.torch_geometric.nn")
        .replace("from torch import Tensor", "from polygrad.torch import Tensor")
    )
    assert rewritten(text) == wanted
    assert rewritten(wanted) == wanted


def test_names_that_are_not_there_are_listed_by_line():
    text = """import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv, NoSuchConv
from torchvision import datasets
import torch_geometric.transforms as T
a = torch.zeros(3).untyped_storage()
b = torch.no_such_function(a)
c = F.relu(torch.nn.Linear(2, 3)(a)) + F.no_such(a)
d = T.NoTransform()
e = torch.cuda.is_available() and torch.utils.data.DataLoader
"""
    found = [(f.line, f.what) for f in missing(text)]
    assert found == [
        (3, "torch_geometric.nn.NoSuchConv"), (4, "torchvision"), (6, ".untyped_storage()"), (7, "torch.no_such_function"), (8, "F.no_such"),
        (9, "T.NoTransform"),
    ]  # fmt: skip


def test_methods_said_to_be_missing_are_missing():
    import polygrad.torch as torch
    from polygrad.cli.port import unsupported_methods

    assert not [n for n in unsupported_methods() if hasattr(torch.Tensor, n)]


def test_command(tmp_path, capsys):
    script, out = tmp_path / "a.py", tmp_path / "b.py"
    script.write_text("import torch\nprint(torch.ones(2).sum())\n")
    assert main(["port", str(script), "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "-import torch\n+import polygrad.torch as torch\n" in shown and "all names are there" in shown
    assert out.read_text().startswith("import polygrad.torch as torch\n") and script.read_text().startswith("import torch\n")
    script.write_text("import torch\ntorch.nothing()\n")
    assert main(["port", str(script), "-q"]) == 1 and f"{script}:2: torch.nothing" in capsys.readouterr().out
    script.write_text("def (:\n")
    assert main(["port", str(script)]) == 2


@pytest.mark.integration
def test_import_needs_no_torch_and_little_time():
    import subprocess
    import sys

    code = """
import sys, time
import polygrad
start = time.process_time()
import polygrad.torch
spent = time.process_time() - start
import polygrad.torch_geometric.nn
assert not [m for m in sys.modules if m == 'torch' or m.startswith('torch.') or m.startswith('torch_geometric')]
print(spent)
"""
    # Time of the processor: what else the machine does must not count.
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(3)]
    assert min(times) < 0.1
