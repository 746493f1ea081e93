"""Looking inside: pictures of graphs, plans in words, profiles."""

import re
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from polygrad import Graph, Profile, Tensor, Variable, explain, scan, viz
from polygrad.nn import Conv2d, Linear, get_parameters
from polygrad.plan import Plan, nodes

SVG = "{http://www.w3.org/2000/svg}"


def realized(*shape):
    return Tensor.rand(*shape).realize()


def softmax_layer():
    layer = Linear(8, 4)
    for p in get_parameters(layer):
        p.realize()
    return layer(realized(16, 8)).relu().softmax(-1)


def conv_gradient():
    layer = Conv2d(1, 2, 3)
    for p in get_parameters(layer):
        p.realize()
    layer(realized(2, 1, 6, 6)).relu().square().mean().backward()
    return layer.weight.grad


def symbolic():
    n = Variable("n", 1, 10).bind(3)
    return Tensor.ones(n, 2) + realized(10, 2)[:n]


def assigned():
    t = realized(5)
    return t.assign(t + 1)


GRAPHS = {f.__name__: f for f in (softmax_layer, conv_gradient, symbolic, assigned)}
GRAPHS["long_sum"] = lambda: (realized(3000, 300) * 2).sum()
GRAPHS["sort"] = lambda: realized(7).sort()[0] + 1
GRAPHS["random"] = lambda: Tensor.randn(100)
GRAPHS["in_memory"] = lambda: realized(3)
GRAPHS["constant"] = lambda: Tensor(2.0) + 1


def texts(root):
    return [t.text or "" for t in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("device", ["CPU", "INTERP"], indirect=True)
def test_picture_holds_every_op(name, device, tmp_path):
    t = GRAPHS[name]()
    table, _ = nodes(t)
    assert len(table) == len(re.findall(r"^%\d+ = ", t.uops(), re.M))  # every line was understood
    path = tmp_path / "out.svg"
    svg = viz(t, path)
    assert path.read_text(encoding="utf-8") == svg
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg" and "href" not in svg  # nothing from elsewhere
    words = texts(root)
    shown = {n.id for n in table.values()}
    for n in table.values():
        assert any(w.startswith(n.op) for w in words), n.op
    assert sum(bool(re.match(r"CONST", w)) for w in words) >= sum(n.op == "CONST" for n in table.values() if n.id in shown)
    for k, item in enumerate(Plan.of(t).items, 1):
        assert any(w.startswith(f"{k}. {item.kind}") for w in words)
    assert "nan" not in svg.lower().replace("const nan", "")


def test_boxes_do_not_overlap():
    root = ET.fromstring(viz(conv_gradient()))
    boxes = [r for g in root.iter(f"{SVG}g") for r in g.findall(f"{SVG}rect")[:1] if g.find(f"{SVG}title") is not None]
    places = [(float(r.get("x")), float(r.get("y")), float(r.get("width")), float(r.get("height"))) for r in boxes]
    assert len(places) > 20
    for i, (x, y, w, h) in enumerate(places):
        for a, b, c, d in places[i + 1 :]:
            assert x + w <= a or a + c <= x or y + h <= b or b + d <= y


def test_large_graphs_get_a_note():
    x = realized(4)
    for _ in range(800):
        x = (x + 1.5).sin()
    start = time.perf_counter()
    svg = viz(x, max_nodes=200)
    assert time.perf_counter() - start < 5
    assert "the 200 nodes nearest to the result are drawn" in svg and len(ET.fromstring(svg).findall(f".//{SVG}title")) <= 800


def test_buffers_are_found(cpu):
    """Which UOp a buffer holds is worked out from texts: check it on a plan that is known."""
    t = softmax_layer()
    table, root = nodes(t)
    plan = Plan.of(t)
    plan.place(table, root)
    held = {s.kind: table[s.node] for s in plan.slots.values() if s.node is not None}
    assert held["output"].id == root
    assert held["temporary"].op == "REDUCE" and held["temporary"].shape == ("16", "4", "1")
    kernels = plan.kernels_of(table)
    assert kernels[held["temporary"].id] == [0] and kernels[root] == [1]
    assert all(len(kernels[n.id]) == 1 for n in table.values() if n.op in ("EXP", "SUB"))


def test_sizes_in_words():
    table, root = nodes(symbolic())
    assert table[root].shape == ("n", "2")


def test_explain(cpu):
    text = explain(softmax_layer())
    lines = text.splitlines()
    assert lines[0].startswith("on CPU: ") and "reads 3 tensors (656 bytes)" in lines[1]
    assert re.search(r"1\. .*: t\d+ = float32 \(16, 4, 1\)  from in\d+ float32 \(16, 8\), in\d+ float32 \(4, 8\)", text)
    assert re.search(r"t\d+ stored: 256 bytes, \w+", text) and re.search(r"out0 stored: 256 bytes, asked for", text)
    assert explain(realized(3)) == "in memory already: nothing is computed"
    assert "written in place" in explain(assigned())


def test_explain_of_tiles_and_loops(cpu, tmp_path):
    """What runs several kernels is shown with them: tiles of edges, and a loop with buffers of its own."""
    rng = np.random.default_rng(0)
    x, w, u = (Tensor(rng.standard_normal(s, dtype="f")).realize() for s in ((100, 64), (128, 64), (64, 64)))
    g = Graph(rng.integers(0, 100, (2, 3000)), 100)
    edges = g.sum((Tensor.cat(g.src(x), g.dst(x), dim=1) @ w).relu() @ u)
    steps = scan(lambda h, y: ((h @ u + y).tanh(), h), Tensor.zeros(100, 64), x.reshape(1, 100, 64).expand(5, 100, 64))[0]
    text = explain(edges)
    assert re.search(r"\. tiles of \d+ edges by rows: out0", text) and "s10 held: value of a tile of edges" in text
    text = explain(steps)
    assert "1 loop over steps" in text and "loop each step of 5: out0" in text and re.search(r"\n       1\. ", text)
    for t in edges, steps:
        assert ET.fromstring(viz(t, tmp_path / "page.svg")) is not None


def test_profile_prints(cpu):
    with Profile() as p:
        softmax_layer().realize()
    text = str(p)
    assert all(k.name in text and k.device in text for k in p.kernels) and "peak memory" in text and "asked for" in text
    assert all(isinstance(s.shape, tuple) and s.bytes == int(np.prod(s.shape)) * s.dtype.itemsize and s.why for s in p.stored)
    assert p.peak_bytes > 0 and sum(k.count for k in p.kernels) >= 2 and all(k.ms >= 0 for k in p.kernels)


def test_source_is_c(cpu):
    source = softmax_layer().source()
    assert "void " in source and "exp_f32" in source and source.count("{") == source.count("}")
