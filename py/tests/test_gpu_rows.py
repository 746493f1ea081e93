"""How GPUs walk rows of edges, on the test device with CUDA's Target, beside the interpreter: rows of few and of many results, of widths that four does
not divide, short rows, long ones and the longest, and edges whose order nobody sees. A process of its own, since the Target is read when the library starts."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from polygrad import Device, Graph, Tensor

heads, width, nodes, edges, kind = [int(a) for a in sys.argv[1:5]] + [sys.argv[5]]
rng = np.random.default_rng(heads * 1000 + width)
dst = (rng.random(edges) ** 4 * nodes).astype(np.int64)
src = (rng.random(edges) ** 2 * nodes).astype(np.int64)
order = rng.permutation(edges)
src, dst = src[order], dst[order]
x0 = rng.standard_normal((nodes, heads, width)).astype(np.float32)
a0, b0 = (rng.standard_normal((heads, width)).astype(np.float32) for _ in range(2))
e0 = rng.standard_normal((edges, heads)).astype(np.float32)


def run(device):
    Device.DEFAULT = device
    g = Graph(np.stack([src, dst]), num_nodes=nodes)
    x, a, b, e = (Tensor(v, requires_grad=True) for v in (x0, a0, b0, e0))
    if kind == "dot":  # scores of both ends
        score = (g.src(x) * g.dst(x)).sum(-1) * 0.3
    else:
        score = (g.src((x * a).sum(-1)) + g.dst((x * b).sum(-1))).leaky_relu(0.2)
    if kind == "edges":  # values that the user gave: their order shows
        score = score + e
    w = g.softmax(score)
    out = g.sum(g.src(x) * w.reshape(edges, heads, 1))
    loss = (out * out).mean() + g.sum(w * w, side="out").sum() * 0.1
    if kind == "seen":
        loss = loss + (w * Tensor(e0)).sum() * 0.01
    loss.backward()
    results = [out, loss, x.grad] + ([a.grad, b.grad] if kind != "dot" else []) + ([e.grad] if kind == "edges" else [])
    return [r.numpy() for r in results]


for ours, want in zip(run("TEST"), run("INTERP")):
    scale = np.abs(want).max() + 1e-6
    assert np.abs(ours - want).max() / scale < 2e-5, (np.abs(ours - want).max(), scale)
"""


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["plain", "dot", "edges", "seen"])
@pytest.mark.parametrize("heads, width, nodes, edges", [(8, 16, 60, 3000), (1, 41, 40, 2500), (8, 1, 200, 3000), (1, 1, 50, 4000), (2, 6, 300, 1500)])
def test_attention(heads, width, nodes, edges, kind):
    env = {**os.environ, "POLY_TEST_TARGET": "CUDA"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, (heads, width, nodes, edges)), kind], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
