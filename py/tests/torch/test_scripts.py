"""Scripts in the manner of PyTorch Geometric's examples run after `polygrad port` alone: two epochs each, on small graphs made here.

scripts/ holds them as they are written for PyTorch. The last line that they print has their figures; a script that stops on the way prints none.
"""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import polygrad.torch as torch
import polygrad.torch_geometric.datasets as datasets
from polygrad import Tensor
from polygrad.cli.port import missing, rewritten
from polygrad.geometric.data import Data, HeteroData, InMemoryDataset
from polygrad.torch._surface import lift

SCRIPTS = Path(__file__).parent / "scripts"
NAMES = sorted(str(p.relative_to(SCRIPTS))[:-3] for p in SCRIPTS.rglob("*.py"))
# Fewer epochs, layers and nodes to hold back.
SMALLER = {
    r"range\(1, \d\d+\)": "range(1, 3)",
    "num_layers=64": "num_layers=4",
    "num_layers=5": "num_layers=2",
    "hidden_channels=128": "hidden_channels=16",
    "groups=16": "groups=4",
    r"range\(4\)": "range(1)",
    "- 1000": "- 30",
    "- 500": "- 15",
    "max_nodes = 150": "max_nodes = 12",
}
NEEDS_SKLEARN = {"argva_node_clustering", "autoencoder", "dna", "graph_sage_unsup", "infomax_transductive", "link_pred", "node2vec"}


def edges(rng, sources, count, targets):
    return np.stack([rng.integers(0, sources, count), rng.integers(0, targets, count)])


def undirected(rng, n, m):
    pairs = rng.integers(0, n, (2, m))
    pairs = pairs[:, pairs[0] != pairs[1]]
    return np.unique(np.concatenate([pairs, pairs[::-1]], axis=1), axis=1)


class Small(InMemoryDataset):
    """What a script asks for, with few nodes."""

    def __init__(self, root=None, name=None, transform=None, pre_filter=None, subset=None, split=None, model_name=None):
        super().__init__(None, transform)
        graphs = self.make(np.random.default_rng(0))
        self._set(*self.collate([g for g in graphs if pre_filter is None or pre_filter(g)]))


class Planetoid(Small):
    def make(self, rng):
        y = rng.permutation(np.arange(70) % 7)
        masks = np.zeros((3, 70), bool)
        masks[0, :28], masks[1, 28:45], masks[2, 45:] = True, True, True
        x = (rng.random((70, 20)) < 0.2).astype(np.float32)
        x[:, 0] = 1
        edge_index = undirected(rng, 70, 200)
        return [
            Data(
                x=Tensor(x),
                edge_index=Tensor(edge_index),
                y=Tensor(y),
                **{n: Tensor(m) for n, m in zip(("train_mask", "val_mask", "test_mask"), masks)},
            )
        ]


class TUDataset(Small):
    def make(self, rng):
        sizes = rng.integers(5, 9, 30)
        return [
            Data(x=Tensor(rng.random((n, 3), np.float32)), edge_index=Tensor(undirected(rng, n, 12)), y=Tensor(np.array([k % 2])))
            for k, n in enumerate(sizes)
        ]


class ZINC(Small):
    def make(self, rng):
        out = []
        for n in rng.integers(5, 9, 12):
            pairs = undirected(rng, n, 10)
            kinds = rng.integers(1, 4, pairs.shape[1])
            out.append(
                Data(x=Tensor(rng.integers(0, 21, (n, 1))), edge_index=Tensor(pairs), edge_attr=Tensor(kinds), y=Tensor(rng.random(1, np.float32)))
            )
        return out


class Entities(Small):
    num_relations = 4
    num_classes = 3

    def make(self, rng):
        pairs = undirected(rng, 40, 120)
        index = rng.permutation(40)[:24]
        y = rng.permutation(np.arange(24) % 3)
        kinds = rng.integers(0, 4, pairs.shape[1])
        parts = {"train_idx": index[:16], "test_idx": index[16:], "train_y": y[:16], "test_y": y[16:]}
        return [Data(edge_index=Tensor(pairs), edge_type=Tensor(kinds), num_nodes=40, **{n: Tensor(v) for n, v in parts.items()})]


class DBLP(Small):
    def make(self, rng):
        data, sizes = HeteroData(), {"author": 20, "paper": 30, "term": 10, "conference": 4}
        for name, width in (("author", 6), ("paper", 5), ("term", 4)):
            data[name].x = Tensor(rng.random((sizes[name], width), np.float32))
        data["conference"].num_nodes = 4
        data["author"].y = Tensor(rng.integers(0, 4, 20))
        for k, part in enumerate(("train_mask", "val_mask", "test_mask")):
            data["author"][part] = Tensor(np.arange(20) % 3 == k)
        for a, b in (("author", "paper"), ("paper", "term"), ("paper", "conference")):
            pairs = edges(rng, sizes[a], 60, sizes[b])
            data[a, "to", b].edge_index = Tensor(pairs)
            data[b, "to", a].edge_index = Tensor(np.ascontiguousarray(pairs[::-1]))
        return [data]


class MovieLens(Small):
    def make(self, rng):
        data = HeteroData()
        data["movie"].x = Tensor(rng.random((25, 6), np.float32))
        data["user"].num_nodes = 12
        pairs = np.unique(edges(rng, 12, 120, 25), axis=1)
        data["user", "rates", "movie"].edge_index = Tensor(pairs)
        data["user", "rates", "movie"].edge_label = Tensor(rng.integers(0, 6, pairs.shape[1]))
        return [data]


@pytest.fixture
def small(monkeypatch):
    for cls in (Planetoid, TUDataset, ZINC, Entities, DBLP, MovieLens):
        cls.__module__ = "polygrad.geometric.datasets"  # it stands in for the library's own
        monkeypatch.setattr(datasets, cls.__name__, lift(cls, datasets.__name__))


@pytest.mark.parametrize("name", NAMES)
def test_runs_after_port(name, small, tmp_path, monkeypatch, capsys):
    """Values are checked where the layers are; here nothing but imports may have to change."""
    text = (SCRIPTS / f"{name}.py").read_text()
    absent = missing(text)
    assert not absent, absent
    ported = rewritten(text)
    changed = [(a, b) for a, b in zip(text.splitlines(), ported.splitlines()) if a != b]
    assert changed and all(a.startswith(("import ", "from ")) for a, _ in changed)
    for a, b in SMALLER.items():
        ported = re.sub(a, b, ported)
    path = tmp_path / f"{Path(name).name}.py"
    path.write_text(ported)
    monkeypatch.setattr(sys, "argv", [str(path), *(["--epochs", "2"] if "--epochs" in ported else [])])
    runpy.run_path(str(path), run_name="__main__")
    assert re.search(r"(Epoch|Accuracy|Test|Median).*\d\.\d", capsys.readouterr().out)


def test_batches_of_arrays_and_numbers_are_of_the_namespace():
    """What a dataset gives need not be tensors: a loader's batches are, of PyTorch's class and dtypes, in whatever they are nested."""
    entry = {"x": np.zeros(3, np.float32), "n": (1, 0.5), "name": "a", "raw": b"b"}
    batch = next(iter(torch.utils.data.DataLoader([entry, entry], batch_size=2)))
    assert [type(t) for t in (batch["x"], *batch["n"])] == [torch.Tensor] * 3
    assert [t.dtype for t in (batch["x"], *batch["n"])] == [torch.float32, torch.int64, torch.float64]
    assert batch["name"] == ["a", "a"] and batch["raw"] == [b"b", b"b"]
    with pytest.raises(RuntimeError, match="equal size"):
        torch.utils.data.default_collate([[1, 2], [1]])


class Held(torch.nn.Module):
    """One attribute of each kind."""

    def __init__(self):
        super().__init__()
        self.plain = torch.ones(2)
        self.register_buffer("buffer", torch.ones(1))
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.aside = [torch.nn.Linear(1, 1)]
        self.layers = torch.nn.ModuleList([torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)])
        self.more = torch.nn.ParameterList([torch.ones(2, 3)])


def test_state_of_a_module_is_what_was_registered():
    """Tensors and lists of modules that are plain attributes are none of a module's state, and parameters stand before buffers."""
    held = Held()
    layers = [f"layers.{k}.{name}" for k in (0, 1) for name in ("weight", "bias")]
    assert list(held.state_dict()) == ["weight", "buffer", *layers, "more.0"]
    assert [name for name, _ in held.named_parameters()] == ["weight", *layers, "more.0"]
    assert [name for name, _ in held.named_parameters(recurse=False)] == ["weight"]
    assert [name for name, _ in held.named_buffers()] == ["buffer"]
    assert [name for name, _ in held.named_children()] == ["layers", "more"] and len(held.modules()) == 5
    assert "(0-1): 2 x Linear(in_features=1" in repr(held) and "(0): Parameter containing: [torch.float32 of size 2x3]" in repr(held)
