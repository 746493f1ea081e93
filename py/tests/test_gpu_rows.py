"""How GPUs walk rows of edges, on the test device with CUDA's Target, beside the interpreter: rows of few and of many results, of widths that four does
not divide, short rows, long ones and the longest, edges whose order nobody sees, and maps of each edge. A process of its own, since the Target is read when the library starts."""

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


ENDS = """
import numpy as np
from polygrad import Device, Graph, Profile, Tensor

Device.DEFAULT = "TEST"
nodes, edges, heads, width = 60, 900, 4, 8
rng = np.random.default_rng(0)
g = Graph(rng.integers(0, nodes, (2, edges)), num_nodes=nodes)
x, a, b = (Tensor(rng.standard_normal(s).astype(np.float32)).realize() for s in ((nodes, heads, width), (heads, width), (heads, width)))
with Profile() as p:
    w = g.softmax((g.src((x * a).sum(-1)) + g.dst((x * b).sum(-1))).leaky_relu(0.2))
    g.sum(g.src(x) * w.reshape(edges, heads, 1)).realize()
print(*[k.name for k in p.kernels])
"""


@pytest.mark.integration
def test_scores_of_both_ends_are_one_kernel():
    """In the kernel of the softmax, threads side by side would read the features of a row one by one."""
    env = {**os.environ, "POLY_TEST_TARGET": "CUDA"}
    done = subprocess.run([sys.executable, "-c", ENDS], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "reduce_60_4_r_8" in done.stdout.split()


GRADIENT = """
import numpy as np
from polygrad import Device, Graph, Profile, Tensor

Device.DEFAULT = "TEST"
nodes, edges, heads, width = 60, 3000, 4, 8
rng = np.random.default_rng(0)
g = Graph(rng.integers(0, nodes, (2, edges)), num_nodes=nodes)
x, a, b = (Tensor(rng.standard_normal(s).astype(np.float32), requires_grad=True).realize() for s in ((nodes, heads, width), (heads, width), (heads, width)))
w = g.softmax((g.src((x * a).sum(-1)) + g.dst((x * b).sum(-1))).leaky_relu(0.2))
g.sum(g.src(x) * w.reshape(edges, heads, 1)).square().mean().backward()
with Profile() as p:
    x.grad.realize(a.grad, b.grad)
print(sum(np.prod(s.shape) == edges * heads for s in p.stored))
"""


@pytest.mark.integration
def test_gradients_of_scores_are_stored_once():
    """Beside the weights: what a row sums up of them is a dot product of the row's results, so that no other value of the edges waits for it."""
    env = {**os.environ, "POLY_TEST_TARGET": "CUDA"}
    done = subprocess.run([sys.executable, "-c", GRADIENT], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "2"


DOTS = """
import sys
import numpy as np
from polygrad import Device, Graph, Profile, Tensor

Device.DEFAULT = "TEST"
heads, width = [int(a) for a in sys.argv[1:3]]
nodes, edges = 60, 3000
rng = np.random.default_rng(0)
g = Graph(rng.integers(0, nodes, (2, edges)), num_nodes=nodes)
x, q = (Tensor(rng.standard_normal((nodes, heads, width)).astype(np.float32), requires_grad=True).realize() for _ in range(2))
k, v = x.sin() + 0.5, x.exp()
w = g.softmax((g.src(k) * g.dst(q)).sum(-1))
g.sum(g.src(v) * w.reshape(edges, heads, 1)).square().mean().backward()
with Profile() as p:
    x.grad.realize(q.grad)
print(*[f"{k.name}*{k.count}" for k in p.kernels])
"""


@pytest.mark.integration
@pytest.mark.parametrize("heads, width, threads", [(16, 8, 2), (8, 18, 8), (4, 41, 16), (1, 128, 32), (1, 132, 0), (4, 8, 0)])
def test_dot_products_of_gradients_are_formed_beside_sums(heads, width, threads):
    """The loop that sums up the gradient of a node's features forms that of each edge's weight, as far as a warp has the features of a head. One kernel
    for each edge remains, of the scores."""
    env = {**os.environ, "POLY_TEST_TARGET": "CUDA", "DEBUG": "4"}
    done = subprocess.run([sys.executable, "-c", DOTS, str(heads), str(width)], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    shape = f"3000_{heads}" if heads > 1 else "3000"
    dots = [k for k in done.stdout.split() if k.startswith(f"sum_{shape}_r_{width}*")]
    assert dots == [f"sum_{shape}_r_{width}*{1 if threads else 2}"], done.stdout
    assert not threads or f", {threads});" in done.stderr and "= near_add_f32(acc" in done.stderr


GIVEN = """
import numpy as np
from polygrad import Device, Graph, Profile, Tensor

nodes, edges, heads, width = 60, 1500, 8, 16
rng = np.random.default_rng(0)
ends = rng.integers(0, nodes, (2, edges))
arrays = [rng.standard_normal(s).astype(np.float32) for s in ((nodes, heads, width), (nodes, heads), (nodes, heads), (nodes, heads, width))]


def run(device):
    Device.DEFAULT = device
    g = Graph(ends, num_nodes=nodes)
    h, left, right, grad = (Tensor(a).realize() for a in arrays)
    alpha = g.softmax((g.src(left) + g.dst(right)).leaky_relu(0.2))
    y = g.sum(alpha.unsqueeze(-1) * g.src(h))
    results = [y, *y.gradient(h, left, right, gradient=grad)]
    with Profile() as p:
        Tensor.realize(*results)
    return [r.numpy() for r in results], [k.name for k in p.kernels]


(ours, names), (want, _) = run("TEST"), run("INTERP")
for a, b in zip(ours, want):
    assert np.abs(a - b).max() < 2e-5 * (np.abs(b).max() + 1e-6)
print(*names)
"""


@pytest.mark.integration
def test_dot_products_of_a_given_gradient():
    """The sum of the forward pass reads the same rows, but what is made of the dot products needs its result: the loop of the other one forms them."""
    env = {**os.environ, "POLY_TEST_TARGET": "CUDA", "DEBUG": "4"}
    done = subprocess.run([sys.executable, "-c", GIVEN], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "sum_1500_8_r_16" not in done.stdout.split() and "reduce_60_8_16_r_16" in done.stdout.split(), done.stdout
    # the loads of four edges stand before the first exchange
    text = done.stderr.split("reduce_60_8_16_r_16(", 1)[1]
    assert text.index("_e3 = ") < text.index("= near_add_f32(acc"), text


ODD = """
import numpy as np
from polygrad import Device, Graph, Tensor

Device.DEFAULT = "TEST"
rng = np.random.default_rng(0)
g = Graph(rng.integers(0, 60, (2, 3000)), num_nodes=60)
x, y = (Tensor(rng.standard_normal((60, 41)).astype(np.float32)).realize() for _ in range(2))
h = (x.sin() + y).exp()
(g.src(h) * g.dst(g.sum(g.src(h)))).sum(-1).realize()
"""


@pytest.mark.integration
def test_rows_of_odd_width_lie_at_whole_vectors():
    """Four neighbours of a row of 41 are loaded at once, by sums over edges and by dot products of both ends, whose threads leave out what is not there."""
    env = {**os.environ, "POLY_TEST_TARGET": "CUDA", "DEBUG": "4"}
    done = subprocess.run([sys.executable, "-c", ODD], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "temporary float32 (60, 41) in rows of 44" in done.stderr
    kernels = done.stderr.split("__global__")
    (dot,) = [k for k in kernels if "sum_3000_r_41(" in k]
    assert dot.count("float4 *") == 2 and "_3 < 41)" in dot
    assert all("float4 *" in k for k in kernels if " sum_60_41_r_x" in k)


MAPS = """
import sys
import numpy as np
from polygrad import Device, Graph, Tensor

width, nodes, edges, kind = [int(a) for a in sys.argv[1:4]] + [sys.argv[4]]
rng = np.random.default_rng(width)
dst = (rng.random(edges) ** 4 * nodes).astype(np.int64)
src = (rng.random(edges) ** 2 * nodes).astype(np.int64)
draw = lambda *shape: (rng.standard_normal(shape) * 0.3).astype(np.float32)
x0, e0, a0, b0, u0, c0 = draw(nodes, width), draw(edges, 8), draw(8, width), draw(width), draw(8, width), draw(width, width)


def run(device):
    Device.DEFAULT = device
    g = Graph(np.stack([src, dst]), num_nodes=nodes)
    x, e, a, b, u, c = (Tensor(v, requires_grad=True) for v in (x0, e0, a0, b0, u0, c0))
    if kind == "short":  # a map that is computed where it is read
        message = (e @ a + b + g.src(x)).relu()
    elif kind == "gated":  # two of them, and functions
        message = (e @ a + b + g.src(x) + g.dst(x)).sigmoid() * (e @ u + g.src(x) - g.dst(x)).softplus()
    else:  # a product of each edge, whose gradient the rows of both ends need
        message = (g.src(x) + g.dst(x) + b).relu() @ c
    out = g.max(message) if kind == "largest" else g.sum(message)
    loss = (out * out).mean() + out.sum() * 0.01
    loss.backward()
    wanted = {"short": [x, e, a, b], "gated": [x, e, a, b, u]}.get(kind, [x, b, c])
    return [out.numpy(), loss.numpy()] + [t.grad.numpy() for t in wanted]


for k, (ours, want) in enumerate(zip(run("TEST"), run("INTERP"))):
    scale = np.abs(want).max() + 1e-6
    assert np.abs(ours - want).max() / scale < 2e-5, (k, np.abs(ours - want).max(), scale)
"""


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["short", "gated", "product", "largest"])
@pytest.mark.parametrize("width, nodes, edges", [(32, 60, 3000), (41, 50, 1500)])
def test_maps(width, nodes, edges, kind):
    env = {**os.environ, "POLY_TEST_TARGET": "CUDA"}
    done = subprocess.run([sys.executable, "-c", MAPS, *map(str, (width, nodes, edges)), kind], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


COLUMNS = """
import sys
import numpy as np
from polygrad import Device, Tensor

rows, width, sums, kind, pieces = [int(a) for a in sys.argv[1:4]] + [sys.argv[4], int(sys.argv[5])]
rng = np.random.default_rng(width)
x0, y0 = (rng.standard_normal((rows, width)).astype(np.float32) + 1 for _ in range(2))
at0 = rng.integers(0, rows // 8, rows)


def run(device):
    Device.DEFAULT = device
    x, y, at = Tensor(x0).realize(), Tensor(y0).realize(), Tensor(at0).realize()
    if kind == "gathered":  # what is summed is read through an index
        terms = (x + y[at]).relu()
    else:
        terms = (x <= 0).where(0.0, y)
    results = [(terms.reshape(pieces, rows // pieces, width) * (0.5 + k)).sum(1) for k in range(sums)]
    results[0].realize(*results[1:])
    return [r.numpy().astype(np.float64) for r in results]


for k, (ours, near) in enumerate(zip(run("TEST"), run("INTERP"))):
    terms = np.maximum(x0 + y0[at0], 0) if kind == "gathered" else np.where(x0 <= 0, 0, y0)
    terms = terms.reshape(pieces, rows // pieces, width)
    want = (terms * np.float32(0.5 + k)).astype(np.float32).sum(1, dtype=np.float64)
    scale = np.abs(want).max()
    assert np.abs(ours - want).max() / scale < 1e-6, (k, np.abs(ours - want).max() / scale)
    assert np.abs(near - want).max() / scale < 1e-6, (k, np.abs(near - want).max() / scale)
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    "pieces, each, width, sums, kind",
    [
        (512, 128, 32, 1, "masked"),
        (512, 150, 36, 2, "gathered"),
        (512, 65, 41, 1, "masked"),
        (516, 64, 36, 1, "gathered"),
        (1, 80000, 16, 3, "masked"),
    ],
)
def test_columns(pieces, each, width, sums, kind):
    """Sums along memory that neighbouring results share: threads share each of them."""
    env = {**os.environ, "POLY_TEST_TARGET": "CUDA"}
    sizes = [str(a) for a in (pieces * each, width, sums, kind, pieces)]
    done = subprocess.run([sys.executable, "-c", COLUMNS, *sizes], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def run_maps(kind, **more):
    env = {**os.environ, "POLY_TEST_TARGET": "CUDA", "DEBUG": "4", **more}
    done = subprocess.run([sys.executable, "-c", MAPS, "32", "60", "3000", kind], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.integration
def test_maps_with_functions_are_computed_where_rows_sum_them_up():
    """Nothing of edges times features is stored but in scratch memory of products, and sigmoids divide without branches."""
    text = run_maps("gated")
    assert "temporary float32 (3000, 32" not in text
    assert "near_quotient(" in text


@pytest.mark.integration
def test_turns_of_a_product_load_together():
    """A factor that is gathered and computed: the loads of several turns stand before what is computed of them."""
    text = run_maps("product", POLY_PRODUCT_WORK="1")
    assert "LOADED;" in text and "= load_now(" in text
    stage = text.split("LOADED;")[-1]
    assert stage.index("[k") < stage.index("float4 *)(p")


PLACES = """
import sys
import numpy as np
from polygrad import Device, Graph, Tensor

Device.DEFAULT = "TEST"
side, nodes, edges, width = sys.argv[1], 40, 700, 8
rng = np.random.default_rng(1)
src, dst = rng.integers(0, nodes, edges), rng.integers(0, nodes, edges)
x0, w0 = rng.integers(-2, 3, (nodes, width)).astype("f"), rng.integers(-2, 3, (width, 6)).astype("f")
up = rng.standard_normal((nodes, 6)).astype("f")
g = Graph(np.stack([src, dst]), num_nodes=nodes)
x, w = Tensor(x0, requires_grad=True), Tensor(w0, requires_grad=True)
out = g.max((g.src(x) - g.dst(x)).relu() @ w, side=side)
(out * Tensor(up)).sum().backward()
x.grad.realize(w.grad)
d = x0[src] - x0[dst]
h, row = np.maximum(d, 0), dst if side == "in" else src
m = h @ w0
gm = np.zeros_like(m)
for v in range(nodes):
    e = np.flatnonzero(row == v)
    if len(e):
        gm[e[np.argmax(m[e], axis=0)], np.arange(6)] += up[v]
gh, gx = (gm @ w0.T) * (d > 0), np.zeros_like(x0)
np.add.at(gx, src, gh)
np.add.at(gx, dst, -gh)
assert np.abs(x.grad.numpy() - gx).max() < 1e-5 and np.abs(w.grad.numpy() - h.T @ gm).max() < 2e-5
"""


@pytest.mark.integration
@pytest.mark.parametrize("side", ["in", "out"])
def test_the_first_of_equal_edges_is_found_where_edges_lie_row_by_row(side):
    """The gradient of a maximum finds its edge by place: in the order of these rows, by which edges are numbered then, the first stays the first."""
    done = subprocess.run([sys.executable, "-c", PLACES, side], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
