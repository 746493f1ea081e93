"""Graphs that are drawn and joined on a device with memory of its own: the arrays of the host, bit for bit, and nothing long copied to it."""

from __future__ import annotations

import os
from contextlib import contextmanager

import numpy as np
import pytest

from polygrad import Device
from polygrad._core import current
from polygrad.geometric.datasets import RMAT
from polygrad.geometric.datasets.rmat import rmat_edges, rmat_graph

HERE = os.environ.get("POLY_TEST_DEVICE", "TEST")
SMALL = HERE == "TEST" and "POLY_TEST_TARGET" not in os.environ
EDGES = 64 if SMALL else 1 << 18  # R-MAT graphs of so many edges are drawn there (rmat_edges of the Target)


@pytest.fixture(autouse=True)
def on_device():
    before, Device.DEFAULT = Device.DEFAULT, HERE
    yield
    Device.DEFAULT = before


@contextmanager
def little_is_read(most):
    """At most so many bytes come from the device to the host."""
    before = current().read_bytes_of(HERE)
    yield
    assert current().read_bytes_of(HERE) - before <= most


# ---- R-MAT ----


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("nodes", [1, 2, 64, 65, 777])
def test_rmat_edges_are_those_of_the_host(nodes, shuffle):
    with little_is_read(1000):
        got = rmat_edges(nodes, EDGES, seed=nodes, shuffle=shuffle)
    assert got.dtype.np == np.int64 and np.array_equal(got.numpy(), rmat_graph(nodes, EDGES, seed=nodes, shuffle=shuffle))


def test_rmat_of_other_chances():
    for chances in [(0.1, 0.2, 0.3), (0.25, 0.25, 0.25), (1, 0, 0)]:
        assert np.array_equal(rmat_edges(100, EDGES, *chances, seed=3).numpy(), rmat_graph(100, EDGES, *chances, seed=3))


def test_rmat_of_chances_that_lead_out_of_range():
    """All are drawn again for ever: the host gives up after a while, and does it in place of the device."""
    edges = EDGES if SMALL else 8
    assert np.array_equal(rmat_edges(100, edges, 0, 0, 0).numpy(), rmat_graph(100, edges, 0, 0, 0))


def test_small_rmat():
    assert rmat_edges(0, 0).shape == (2, 0)
    assert np.array_equal(rmat_edges(9, 5, seed=2).numpy(), rmat_graph(9, 5, seed=2))


def test_rmat_dataset():
    sizes = {"num_nodes": 99, "num_edges": EDGES, "num_channels": 0, "num_classes": 0, "is_undirected": True}
    got = RMAT(**sizes)[0].edge_index
    Device.DEFAULT = "CPU"
    assert np.array_equal(got.numpy(), RMAT(**sizes)[0].edge_index.numpy())
