"""The peak of a compiled step is known before it runs."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from polygrad import Tensor, nn
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
