"""The peak of a compiled step is known before it runs."""

from __future__ import annotations

import gc
import re

import numpy as np
import pytest

from polygrad import Context, Device, Graph, Profile, Tensor, nn
from polygrad.autograd import current
from polygrad.geometric import nn as gnn

LAYERS = {
    "GCN": lambda: gnn.GCNConv(16, 16),
    "GAT": lambda: gnn.GATConv(16, 4, heads=4),
    "tiles": lambda: gnn.GINEConv(nn.Sequential(nn.Linear(16, 16)), edge_dim=8),
    "loop": lambda: gnn.GatedGraphConv(16, 3),
}


@pytest.mark.parametrize("name", LAYERS)
def test_peak_is_known_before_the_run(name):
    """A number that is off would let a program start that cannot end, or keep one from starting."""
    rng = np.random.default_rng(0)
    layer, x = LAYERS[name](), Tensor.rand(500, 16).realize()
    rest = [Tensor(rng.integers(0, 500, (2, 4000)))]
    if name == "tiles":
        rest.append(Tensor(rng.random((4000, 8), dtype=np.float32)))

    def train(layer, opt, x):
        opt.zero_grad()
        loss = (layer(x, *rest) ** 2).mean()
        loss.backward()
        opt.step()
        return loss

    step = nn.compile_step(train, layer, nn.Adam(layer.parameters(), lr=0.01), x)
    for _ in range(2):
        gc.collect()
        expected = step.peak_bytes
        current().reset_peak()
        step.run(x)
        assert current().peak_bytes == pytest.approx(expected, rel=0.05)


def test_what_all_readers_make_of_a_value_is_stored():
    """Two GCN layers: logits rather than the sums that they are made of, and gradients behind the mask of their activation, over its memory."""
    rng, nodes = np.random.default_rng(0), 4096
    net = nn.Linear(64, 40)
    edges, y = Tensor(rng.integers(0, nodes, (2, 20000))), Tensor(rng.integers(0, 40, nodes))
    convs = gnn.GCNConv(64, 64), gnn.GCNConv(64, 40)

    def train(net, opt, x):
        opt.zero_grad()
        loss = convs[1](convs[0](x, edges).relu(), edges).cross_entropy(y)
        loss.backward()
        opt.step()
        return loss

    parameters = [p for c in convs for p in c.parameters()]
    step = nn.compile_step(train, net, nn.SGD(parameters, lr=0.01), Tensor.rand(nodes, 64).realize())
    gc.collect()
    wide = step.peak_bytes - current().live_bytes
    assert wide < 1.1 * 4 * nodes * (64 + 40 + 40), wide


@pytest.mark.parametrize("conv, most", [(gnn.GATv2Conv, 2.5), (gnn.TransformerConv, 0.5)])
def test_gradients_of_scores_are_not_stored_beside_what_they_are_made_of(conv, most):
    """Of each edge and head a weight and a dot product are stored; the gradient of the score follows from these two. Where a score is a dot product
    of both ends of the edge, nothing is: each loop over edges has one end at hand and forms it again."""
    rng, nodes, edges = np.random.default_rng(0), 100, 20000
    layer, edge_index = conv(16, 4, heads=8), Tensor(rng.integers(0, nodes, (2, edges)))

    def train(layer, opt, x):
        opt.zero_grad()
        loss = (layer(x, edge_index) ** 2).mean()
        loss.backward()
        opt.step()
        return loss

    step = nn.compile_step(train, layer, nn.SGD(layer.parameters(), lr=0.01), Tensor.rand(nodes, 16).realize())
    gc.collect()
    values = (step.peak_bytes - current().live_bytes) / (4 * 8 * edges)
    assert values < most, values


def test_terms_of_a_sum_of_products_share_memory():
    """Each product is added to the sum so far, in its memory; before, all but one were stored."""
    rows, terms = 4096, 6
    x, w = Tensor.rand(rows, 64).realize(), [Tensor.rand(64, 64).realize() for _ in range(terms)]
    total = (x + 1) @ w[0]
    for k in range(1, terms):
        total = total + (x + (k + 1)) @ w[k]
    gc.collect()
    live = current().live_bytes
    current().reset_peak()
    total.realize()
    values = (current().peak_bytes - live) / (4 * 64 * rows)
    assert values < 3.1, values  # two sums, and the last one
    want = sum((x.numpy() + k + 1).astype(np.float64) @ w[k].numpy() for k in range(terms))
    np.testing.assert_allclose(total.numpy(), want, rtol=1e-4)


def test_dot_products_of_both_ends_are_computed_where_they_are_read():
    """The gradient of an attention weight is a dot product for each edge and head. The sums over the edges of both ends need it, and each has one factor at hand and
    gathers the other anyway: nothing as large as edges times heads is stored."""
    rng, nodes, edges = np.random.default_rng(0), 200, 3000
    layer, edge_index = gnn.GATConv(16, 8, heads=8, add_self_loops=False), rng.integers(0, nodes, (2, edges))
    parameters, x = nn.get_parameters(layer), Tensor.rand(nodes, 16).realize()
    with Profile() as p:
        loss = (layer(x, Tensor(edge_index)).relu() ** 2).mean()
        loss.backward()
        loss.realize(*(w.grad for w in parameters))
    assert not [s for s in p.stored if s.shape[:1] == (edges,)], p.stored


def test_exponentials_of_one_head_are_computed_along_the_edges():
    """They are stored by the sum of each row, whose lanes go along its edges; a loop whose lanes go along the features would compute them one by one, and so would
    the backward pass. The largest score of each row is found by the same kernel."""
    rng, nodes, edges = np.random.default_rng(0), 200, 3000
    layer, edge_index = gnn.GATConv(16, 40, add_self_loops=False), Tensor(rng.integers(0, nodes, (2, edges)))
    x = Tensor.rand(nodes, 16, requires_grad=True).realize()
    with Profile() as p:
        loss = (layer(x, edge_index) ** 2).mean()
        loss.backward()
        loss.realize(x.grad)
    why = [s.why for s in p.stored if s.shape[:1] == (edges,)]
    assert "function of an edge, summed along the edges as well" in why, why
    with Profile() as p:  # a forward pass alone stores nothing of the edges
        layer(x.detach() + 1, edge_index).realize()
    assert not [s for s in p.stored if s.shape[:1] == (edges,)]


def test_loops_keep_what_their_gradient_needs_and_no_more():
    """Two steps of a gated graph network. Of each step the backward loop gets the sum over neighbours, both gates, the candidate, and that third of a product that
    it reads: before, what it makes of the candidate, and all of the product. Gradients of weights are sums over all nodes, taken step by step: before, what they
    are products of was kept for all steps."""
    rng, nodes, width = np.random.default_rng(0), 8192, 32
    layer, edges = gnn.GatedGraphConv(width, 2), Tensor(rng.integers(0, nodes, (2, 20000)))

    def train(layer, opt, x):
        opt.zero_grad()
        loss = (layer(x, edges) ** 2).mean()
        loss.backward()
        opt.step()
        return loss

    x = Tensor.rand(nodes, width).realize()
    step = nn.compile_step(train, layer, nn.SGD(layer.parameters(), lr=0.01), x)
    gc.collect()
    values = (step.peak_bytes - current().live_bytes) / (4 * nodes * width)
    assert values < 24, values  # 37 before


@pytest.mark.parametrize("width", [64, 40, 24])
def test_a_product_in_tiles_takes_the_sum_over_edges_with_it(width):
    """(y @ w + sum of x over in-edges), masked: one kernel, and the product is not stored. The same bits on any number of threads and on the interpreter; a row of
    very many edges and rows without any among them."""
    rng, nodes, edges = np.random.default_rng(0), 700, 9000
    index = np.stack([rng.integers(0, nodes, edges), rng.integers(0, nodes // 2, edges)])
    index[1, :3000] = 7
    x, y, w = (rng.standard_normal(s).astype(np.float32) for s in ((nodes, width), (nodes, 20), (20, width)))
    sums = np.zeros((nodes, width))
    np.add.at(sums, index[1], x[index[0]].astype(np.float64))
    want = np.maximum(y.astype(np.float64) @ w + sums, 0)
    found, old = [], Device.DEFAULT
    try:
        for device, threads in (("CPU", 1), ("CPU", 2), ("INTERP", 1)):
            Device.DEFAULT = device
            g, t = Graph(index, num_nodes=nodes), [Tensor(a).realize() for a in (x, y, w)]
            with Context(THREADS=threads), Profile() as p:
                out = (g.sum(g.src(t[0])) + t[1] @ t[2]).relu().realize()
            assert [s.why for s in p.stored] == ["asked for"], p.stored
            found.append(out.numpy())
    finally:
        Device.DEFAULT = old
    np.testing.assert_allclose(found[0], want, rtol=1e-4, atol=1e-3)
    assert all((f == found[0]).all() for f in found)


def test_threads_take_few_tiles_of_unequal_work_at_a_time(cpu):
    """Rows of a sum over edges 64 at a time; tiles of a product that sums over edges, of which there are few, one or two, or one thread would wait for the other."""
    rng, nodes = np.random.default_rng(0), 40000
    g = Graph(rng.integers(0, nodes, (2, 10 * nodes)), num_nodes=nodes)
    x, y, w = (Tensor(rng.standard_normal(s).astype(np.float32)).realize() for s in ((nodes, 64), (nodes, 128), (128, 64)))
    chunks = [int(n) for out in (g.sum(g.src(x)), g.sum(g.src(x)) + y @ w) for n in re.findall(r"schedule\(dynamic, (\d+)\)", out.source())]
    assert len(chunks) == 2 and chunks[0] == 64 and chunks[1] <= 2, chunks


def test_a_softmax_is_written_over_what_it_is_made_of():
    """Sums of a row come before its elements, so what they read may be overwritten row by row. Not so a product, which reads the row for each of its columns."""
    rows, columns = 3000, 200
    rng = np.random.default_rng(0)
    a, w = (Tensor(rng.standard_normal(s).astype(np.float32)).realize() for s in ((rows, columns), (columns, columns)))
    want = np.exp(np.float64(a.numpy()) * 2 @ w.numpy() - 1)
    want = np.exp(np.log(want) - np.log(want).max(1, keepdims=True))
    want /= want.sum(1, keepdims=True)
    gc.collect()
    live = current().live_bytes
    current().reset_peak()
    weights = ((a * 2) @ w - 1).softmax(1)
    out = (weights + 1) @ w
    out.realize()
    values = (current().peak_bytes - live) / (4 * rows * columns)
    np.testing.assert_allclose(out.numpy(), (want + 1) @ np.float64(w.numpy()), rtol=1e-3, atol=1e-3)
    assert values < 2.2, values


def test_a_product_leaves_values_of_edges_to_the_sum_that_reads_them():
    """Weights of edges are computed and stored by the weighted sum. Its kernel cannot take the product of the root with it then: they would be computed by a
    kernel of their own, which needs both ends of each edge."""
    rng, nodes, edges = np.random.default_rng(0), 300, 4000
    layer, index = gnn.TransformerConv(16, 8, heads=8), Tensor(rng.integers(0, nodes, (2, edges)))
    parameters, x = nn.get_parameters(layer), Tensor.rand(nodes, 16).realize()
    with Profile() as p:
        loss = (layer(x, index).relu() ** 2).mean()
        loss.backward()
        loss.realize(*(w.grad for w in parameters))
    assert not [k.name for k in p.kernels if k.name.startswith(f"elementwise_{edges}")], p


def test_of_two_products_the_one_of_larger_factors_comes_first():
    """Its factors are given back before the other one is computed."""
    rows = 4096
    x, u, w = (Tensor.rand(*s).realize() for s in ((rows, 64), (64, 192), (192, 64)))
    gc.collect()
    live = current().live_bytes
    peaks = []
    for first in (True, False):
        current().reset_peak()
        wide, narrow = (x @ u).sin() @ w, (((x * 2) @ u).cos() @ w).sin() @ w[:64]
        out = (wide + narrow if first else narrow + wide).relu().realize()
        peaks.append((current().peak_bytes - live) / (4 * 64 * rows))
        del out, wide, narrow
        gc.collect()
    assert max(peaks) < 6.3, peaks  # 8 where the wide factor waits for the other product
