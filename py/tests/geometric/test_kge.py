"""Embeddings of knowledge graphs: scores against numpy, ranks against sorting, losses that training lowers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import gradcheck

import polygrad.geometric.nn as gnn
from polygrad import Tensor, nn
from polygrad.geometric.nn.kge import KGEModel, KGTripletLoader

HEAD, REL, TAIL = np.array([0, 1, 2, 3, 4, 4]), np.array([0, 1, 1, 2, 0, 2]), np.array([5, 6, 7, 8, 9, 0])
TRIPLES = [Tensor(v) for v in (HEAD, REL, TAIL)]


def weights(model):
    return {name: t.numpy() for name, t in model.state_dict().items()}


def transe(w, p=1.0):
    def unit(v):
        return v / np.linalg.norm(v, p, 1, keepdims=True)

    node, rel = w["node_emb.weight"], w["rel_emb.weight"]
    return -np.linalg.norm(unit(node[HEAD]) + rel[REL] - unit(node[TAIL]), p, 1)


def distmult(w):
    return (w["node_emb.weight"][HEAD] * w["rel_emb.weight"][REL] * w["node_emb.weight"][TAIL]).sum(1)


def complex_(w):
    node = w["node_emb.weight"] + 1j * w["node_emb_im.weight"]
    rel = w["rel_emb.weight"] + 1j * w["rel_emb_im.weight"]
    return (node[HEAD] * rel[REL] * node[TAIL].conj()).sum(1).real


def rotate(w):
    node = w["node_emb.weight"] + 1j * w["node_emb_im.weight"]
    return 1.0 - np.linalg.norm(node[HEAD] * np.exp(1j * w["rel_emb.weight"][REL]) - node[TAIL], axis=1)


MODELS = {
    "TransE": (lambda: gnn.TransE(10, 3, 8), transe),
    "TransE 2": (lambda: gnn.TransE(10, 3, 8, p_norm=2.0), lambda w: transe(w, 2.0)),
    "DistMult": (lambda: gnn.DistMult(10, 3, 8), distmult),
    "ComplEx": (lambda: gnn.ComplEx(10, 3, 8), complex_),
    "RotatE": (lambda: gnn.RotatE(10, 3, 8), rotate),
}


@pytest.mark.parametrize("name", MODELS)
def test_scores(name):
    make, f = MODELS[name]
    model = make()
    assert np.allclose(model(*TRIPLES).numpy(), f(weights(model)), atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_ranks(name):
    """Ranks are places in the order of falling scores, however the scores are cut into batches."""
    model = MODELS[name][0]()
    ranks = []
    for h, r, t in zip(HEAD, REL, TAIL):
        scores = model(Tensor([h] * 10), Tensor([r] * 10), Tensor.arange(10)).numpy()
        ranks.append(int(np.flatnonzero(np.argsort(-scores, kind="stable") == t)[0]))
    expect = (np.mean(ranks), np.mean([1 / (k + 1) for k in ranks]), np.mean([k < 3 for k in ranks]))
    for batch_size in (4, 25, 1000):
        assert np.allclose(model.test(*TRIPLES, batch_size=batch_size, k=3, log=False), expect)


def test_equal_scores():
    model = gnn.DistMult(10, 3, 8)
    model.rel_emb.weight.assign(model.rel_emb.weight.zeros_like())
    assert model.test(*TRIPLES, batch_size=100, log=False)[0] == TAIL.mean()


def test_random_sample():
    """One of head and tail is drawn anew, never both; relations stay."""
    Tensor.manual_seed(3)
    model = gnn.DistMult(1000, 3, 8)
    head, rel, tail = (t.numpy() for t in model.random_sample(*TRIPLES))
    assert (rel == REL).all() and (head[3:] == HEAD[3:]).all() and (tail[:3] == TAIL[:3]).all()
    assert (head[:3] != HEAD[:3]).any() and (tail[3:] != TAIL[3:]).any() and head.dtype == HEAD.dtype


def test_gradient():
    h, r, t = TRIPLES
    model = gnn.RotatE(10, 3, 2)

    def f(node, rel, im):
        model.node_emb.weight, model.rel_emb.weight, model.node_emb_im.weight = node, rel, im
        return model(h, r, t)

    rng = np.random.default_rng(0)
    gradcheck(f, rng.standard_normal((10, 2)), rng.standard_normal((3, 2)), rng.standard_normal((10, 2)))


@pytest.mark.parametrize("name", MODELS)
def test_training(name):
    Tensor.manual_seed(1)
    model = MODELS[name][0]()
    opt = nn.Adam(nn.get_parameters(model), lr=0.05)
    before = model.test(*TRIPLES, batch_size=1000, log=False)[1]
    for _ in range(30):
        opt.zero_grad()
        model.loss(*TRIPLES).backward()
        opt.step()
    assert model.test(*TRIPLES, batch_size=1000, log=False)[1] > before


def test_loader():
    loader = gnn.DistMult(10, 3, 8).loader(*TRIPLES, batch_size=4, shuffle=True, num_workers=2)
    assert isinstance(loader, KGTripletLoader) and len(loader) == 2
    seen = [tuple(v) for batch in loader for v in np.stack([t.numpy() for t in batch], 1).tolist()]
    assert sorted(seen) == sorted(zip(HEAD.tolist(), REL.tolist(), TAIL.tolist()))
    assert len(list(KGTripletLoader(*TRIPLES, batch_size=4, drop_last=True))) == 1


def test_names_and_errors():
    assert sorted(gnn.ComplEx(4, 2, 3).state_dict()) == ["node_emb.weight", "node_emb_im.weight", "rel_emb.weight", "rel_emb_im.weight"]
    assert repr(gnn.TransE(4, 2, 3)) == "TransE(4, num_relations=2, hidden_channels=3)"
    with pytest.raises(NotImplementedError):
        KGEModel(4, 2, 3)(*TRIPLES)
    with pytest.raises(ValueError, match="no triples"):
        gnn.TransE(4, 2, 3).test(*[Tensor(np.zeros(0, np.int64))] * 3, batch_size=4, log=False)
