"""Rows of different lengths and types without filling: the same numbers as where rows are filled up, or all types are computed."""

from __future__ import annotations

import numpy as np
import pytest

from polygrad import Tensor
from polygrad.geometric.nn import GraphMultisetTransformer, HeteroLinear, LCMAggregation, MFConv
from polygrad.geometric.nn.dense._by_type import TILE, Types, worth_sorting
from polygrad.nn import MultiheadAttention

RNG = np.random.default_rng(3)


def close(a, b):
    for u, v in zip(a, b):
        np.testing.assert_allclose(u.numpy(), v.numpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("index", [[0, 0, 0, 0, 0, 1, 3, 3, 3], [0], [0, 1, 2], [2, 0, 2, 2, 0, 2, 2, 2, 0]])
@pytest.mark.parametrize(
    "make", [lambda: LCMAggregation(6, 4), lambda: LCMAggregation(6, 6, project=False), lambda: GraphMultisetTransformer(6, 3, heads=2)]
)
def test_rows_are_joined_as_if_they_were_filled_up(index, make):
    aggr, x = make(), Tensor(RNG.standard_normal((len(index), 6)).astype(np.float32), requires_grad=True)
    rows, longest = max(index) + 2, int(np.bincount(index).max())
    found = []
    for most in (None, longest):  # a length that is given is the one that rows are filled up to
        y = aggr(x, Tensor(index), dim_size=rows, max_num_elements=most)
        found.append([y, *(y * y).sum().gradient(x, *aggr.parameters(), materialize_grads=True)])
    close(*found)


@pytest.mark.parametrize("n, types", [(0, 3), (1, 4), (TILE, 1), (3 * TILE + 7, 5)])
def test_products_by_type(n, types):
    x, w, kind = RNG.standard_normal((n, 6)), RNG.standard_normal((types, 6, 3)), RNG.integers(0, types, n) // 2 * 2
    tx, tw = Tensor(x, requires_grad=True), Tensor(w, requires_grad=True)
    y = Types(Tensor(kind), types).product(tx, tw)
    want = np.einsum("nf,nfo->no", x, w[kind])
    np.testing.assert_allclose(y.numpy(), want, atol=1e-12)
    gx, gw = (y * y).sum().gradient(tx, tw)
    np.testing.assert_allclose(gx.numpy(), np.einsum("no,nfo->nf", 2 * want, w[kind]), atol=1e-11)
    by_type = np.zeros_like(w)
    np.add.at(by_type, kind, np.einsum("nf,no->nfo", x, 2 * want))
    np.testing.assert_allclose(gw.numpy(), by_type, atol=1e-10)


def test_layers_that_sort_by_type_when_there_are_many_rows():
    """A part of the rows is too small to be sorted; it must give what all rows gave."""
    assert worth_sorting(200, 5) and not worth_sorting(20, 5)
    lin, x, kind = HeteroLinear(6, 3, num_types=5), Tensor(RNG.standard_normal((200, 6)).astype(np.float32)), Tensor(RNG.integers(0, 5, 200))
    np.testing.assert_allclose(lin(x, kind)[:20].numpy(), lin(x[:20], kind[:20]).numpy(), rtol=1e-5, atol=1e-6)
    edges = RNG.integers(0, 20, (2, 60))
    many = np.concatenate([edges, edges + 20, edges + 40, edges + 60, edges + 80], 1)
    for conv in (MFConv(6, 4, max_degree=4), MFConv((6, 6), 4, max_degree=4, bias=False)):
        a, b = conv(x[:100], Tensor(many)), conv(x[:20], Tensor(edges))
        np.testing.assert_allclose(a[:20].numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("keys", [1, 5, 40])
def test_attention_to_few_keys_is_attention(keys):
    """Few keys have their scores stored; with weights asked for, everything is written out. Both must be the same function."""
    attn = MultiheadAttention(8, 2, batch_first=True)
    q, k = (Tensor(RNG.standard_normal((3, n, 8)).astype(np.float32), requires_grad=True) for n in (4, keys))
    found = []
    for weights in (False, True):
        y = attn(q, k, k, need_weights=weights)[0]
        found.append([y, *(y * y).sum().gradient(q, k, *attn.parameters())])
    close(*found)
