"""Copies and pickles of what holds memory of the C core: each owner frees its own, and what was copied goes on working."""

import copy
import gc
import pickle

import pytest

from polygrad import Tensor, TinyJit
from polygrad.geometric.data import Data
from polygrad.geometric.loader import NeighborLoader
from polygrad.geometric.nn import Node2Vec
from polygrad.nn import Adam, Linear, StepLR

EDGES = [[0, 1, 2, 3], [1, 2, 3, 0]]


def _works():
    gc.collect()
    return (Tensor([1.0, 2.0]) * 3).tolist() == [3, 6]


def _step(optimizer, w):
    optimizer.zero_grad()
    with Tensor.train():
        (w * w).sum().backward()
        optimizer.step()


def test_optimizers():
    w = Tensor([1.0, 2.0], requires_grad=True)
    optimizer = Adam([w], lr=0.1)
    for _ in range(3):
        _step(optimizer, w)
    optimizer.param_groups[0]["lr"] = 0.05
    for copied in (copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))):
        pair = copied((w, optimizer))
        v, other = pair
        assert v is not w and other.params[0] is v and other.lr == pytest.approx(0.05) and v.tolist() == w.tolist()
        same = copy.deepcopy((w, optimizer))
        _step(other, v)
        _step(same[1], same[0])
        assert v.tolist() == same[0].tolist() != w.tolist()  # with the moments of the original, which stays as it is
        del pair, v, other, same
        assert _works()
    before = w.tolist()
    group = copy.copy(optimizer.param_groups[0])
    assert group.params[0] is w and group["lr"] == pytest.approx(0.05)
    del group
    _step(optimizer, w)
    assert w.tolist() != before and _works()


def test_schedules_and_steps():
    w = Tensor([1.0], requires_grad=True)
    optimizer = Adam([w], lr=0.1)
    schedule = StepLR(optimizer, 1, gamma=0.5)
    other = copy.deepcopy(schedule)
    other.step()
    assert other.optimizer.lr == pytest.approx(0.05) and optimizer.lr == pytest.approx(0.1)
    step = TinyJit(lambda x: (x * 2).realize())
    for _ in range(3):
        step(Tensor([1.0]))
    again = copy.deepcopy(step)
    assert again(Tensor([4.0])).tolist() == [8] == step(Tensor([4.0])).tolist()
    model = copy.deepcopy({"model": Linear(2, 2), "optimizer": optimizer})
    del model, other, again
    assert _works()


def test_samplers():
    data = Data(x=Tensor.ones(4, 2), edge_index=Tensor(EDGES))
    loader = NeighborLoader(data, [2], batch_size=2)
    other = copy.deepcopy(loader)
    assert next(iter(other)).num_nodes > 0
    del other
    assert next(iter(loader)).num_nodes > 0 and _works()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(loader)
    model = Node2Vec(Tensor(EDGES), 8, 3, 2)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert next(iter(again.loader(batch_size=2)))[0].shape == next(iter(model.loader(batch_size=2)))[0].shape
        assert again.embedding.weight.tolist() == model.embedding.weight.tolist()
    assert _works()
