"""polygrad.geometric.profile: sizes, times, and names that are left out."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad.geometric.nn as gnn
from polygrad import Tensor, nn
from polygrad.geometric import profile
from polygrad.geometric.data import Data, HeteroData


def test_sizes():
    model = nn.Sequential(nn.Linear(10, 4), gnn.GCNConv(4, 3))
    assert profile.count_parameters(model) == 44 + 15
    assert 59 * 4 < profile.get_model_size(model) < 59 * 4 + 1000
    x = Tensor.ones(10, 8).contiguous().realize()
    data = Data(x=x, same=x, edge_index=Tensor(np.zeros((2, 5), np.int64)), name="graph", others=[Tensor([1.0, 2.0]).realize()])
    assert profile.get_data_size(data) == 320 + 80 + 8
    hetero = HeteroData()
    hetero["a"].x, hetero["a", "to", "a"].edge_index = x, Tensor(np.zeros((2, 5), np.int64))
    assert profile.get_data_size(hetero) == 400


def test_memory():
    before = profile.get_cpu_memory_from_gc()
    x = Tensor.rand(1000, 10).realize()
    assert profile.get_cpu_memory_from_gc() - before >= 40000
    del x
    assert profile.get_cpu_memory_from_gc() - before < 40000


def test_timeit(capsys):
    with profile.timeit(log=False) as t:
        pass
    assert 0 <= t.duration < 1
    with profile.timeit(avg_time_divisor=10) as t:
        t.reset()
    assert capsys.readouterr().out.count("Time: ") == 2
    with pytest.raises(RuntimeError, match="not started"):
        profile.timeit().reset()

    @profile.timeit(log=False)
    def f():
        return 3

    assert f() == 3


def test_profileit():
    @profile.profileit("cpu")
    def run(model, x):
        return model(x).realize()

    stats = []
    for _ in range(2):
        out, found = run(nn.Linear(4, 2), Tensor.ones(3, 4))
        assert out.shape == (3, 2) and found.time > 0 and found.kernels > 0
        stats.append(found)
    summary = profile.get_stats_summary(stats)
    assert summary.kernels == max(s.kernels for s in stats) and summary.time_mean > 0
    with pytest.raises(AttributeError, match="first argument"):
        run(3)
    with pytest.raises(AttributeError, match="'cuda'"):
        profile.profileit("cuda")


def test_benchmark(capsys):
    conv, other = gnn.GCNConv(4, 4), gnn.SAGEConv(4, 4)
    args = (Tensor.ones(5, 4), Tensor([[0, 1], [1, 2]]))
    profile.benchmark([conv, other], args, num_steps=2, func_names=["gcn", "sage"], num_warmups=1, backward=True, per_step=True)
    out = capsys.readouterr().out
    assert "gcn" in out and "Backward" in out and "Total" in out
    profile.benchmark([lambda x: x * 2], lambda: (Tensor.ones(3),), num_steps=1, num_warmups=1)
    with pytest.raises(ValueError, match="positive"):
        profile.benchmark([conv], args, num_steps=0)
    with pytest.raises(ValueError, match="2 names for 1"):
        profile.benchmark([conv], args, 1, ["a", "b"])


def test_left_out():
    """Names of tools of others say why they are not here."""
    with pytest.raises(AttributeError, match="NVIDIA"):
        _ = profile.nvtxit
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = profile.nothing
    assert not set(profile.LEFT_OUT) & set(profile.__all__)
