"""The interpreter goes down quietly whatever is still alive: tensors on borrowed memory, graphs, optimizers, in cycles."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import builtins
import numpy as np
from polygrad import Graph, Tensor
from polygrad.nn import Adam, Linear, get_parameters

class Holder: pass

holder = Holder()
holder.self = holder
holder.borrowed = Tensor(np.ones(4, np.float32))
holder.lazy = holder.borrowed + 1
holder.layer = Linear(2, 2)
holder.opt = Adam(get_parameters(holder.layer))
holder.graph = Graph([[0], [0]], num_nodes=1)
holder.lazy.realize()
builtins.holder = holder
print("done")
"""


def test_exit_with_everything_alive():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "done\n", "")
