"""The example of graph classification, on files of the TU layout and on graphs made here."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from small_data import cases, write_tu

from polygrad import Tensor, nn
from polygrad.geometric.data import Data, InMemoryDataset
from polygrad.geometric.datasets import TUDataset
from polygrad.geometric.loader import DataLoader

PATH = Path(__file__).resolve().parents[3] / "examples" / "geometric" / "graph_classification.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("graph_classification", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_folds_are_even(example):
    y = np.array([0] * 63 + [1] * 125)
    folds = example.folds_of(y, 10, 0)
    assert sorted(np.concatenate(folds).tolist()) == list(range(188)) and {len(f) for f in folds} == {18, 19}
    assert {int((y[f] == 0).sum()) for f in folds} == {6, 7}
    assert not np.array_equal(folds[0], example.folds_of(y, 10, 1)[0])


def settings(**other):
    return SimpleNamespace(seed=0, batch_size=16, hidden=16, layers=2, dropout=0.0, lr=0.01, **other)


def test_rings_and_stars_are_told_apart(example, cpu):
    """A network that sees neighbours must tell a ring from a star of the same size, whose features are all alike (7, as in MUTAG: one program)."""
    graphs = []
    for k in range(60):
        n, ring = 4 + k % 5, k % 2
        a, b = (np.arange(n), (np.arange(n) + 1) % n) if ring else (np.zeros(n - 1, np.int64), np.arange(1, n))
        graphs.append(Data(x=Tensor(np.ones((n, 7), np.float32)), edge_index=Tensor(np.stack([np.r_[a, b], np.r_[b, a]])), y=Tensor([ring])))
    dataset = InMemoryDataset()
    dataset.data, dataset.slices = dataset.collate(graphs)
    folds = example.folds_of(dataset.data.y.numpy(), 10, 0)
    accuracy, loss = example.run_fold(dataset, folds, 0, 20, "sum", settings())
    assert accuracy == 1.0 and loss < 0.2


@pytest.mark.parametrize("name, _", cases(("tu/MUTAG", "MUTAG", None)))
def test_a_fold_of_tu_files(example, cpu, name, _, tmp_path):
    if name is None:
        write_tu(tmp_path, "RINGS")
    dataset = TUDataset(None, name) if name else TUDataset(tmp_path, "RINGS")
    folds = example.folds_of(dataset.data.y.numpy(), 10, 0)
    model = example.GIN(dataset.num_features, 16, 2, 2, 0.0, example.global_add_pool)
    loader = DataLoader(dataset[np.concatenate(folds[1:])], 64, shuffle=True, seed=0)
    optimizer = nn.Adam(model.parameters(), lr=0.01)
    losses = [example.train_epoch(model, optimizer, loader) for _ in range(15)]
    assert losses[-1] < 0.5 * losses[0] or losses[-1] < 0.4
    assert example.accuracy(model, loader) > 0.8  # two thirds of MUTAG and half of what is written are of one class
