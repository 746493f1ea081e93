"""Datasets: what their files hold, where they are looked for, and what happens to files that were made to do harm."""

import gzip
import io
import os
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from small_data import cases, csr, find, write_npz, write_planetoid, write_rdf, write_tu

from polygrad import Tensor
from polygrad.geometric import datasets
from polygrad.geometric.data import Data
from polygrad.geometric.data.download import download_url
from polygrad.geometric.data.extract import extract_gz, extract_tar, extract_zip, read_gz
from polygrad.geometric.datasets import (
    RMAT,
    Amazon,
    BAShapes,
    CitationFull,
    Coauthor,
    Entities,
    FakeDataset,
    FakeHeteroDataset,
    KarateClub,
    OGBNodeDataset,
    Planetoid,
    StochasticBlockModelDataset,
    TUDataset,
)
from polygrad.geometric.datasets._npz import read_npz
from polygrad.geometric.datasets._pickles import load_npz, load_pickle
from polygrad.geometric.datasets._tables import read_table
from polygrad.geometric.datasets.entities import parse_triples
from polygrad.geometric.datasets.planetoid import read_planetoid
from polygrad.geometric.datasets.rmat import rmat_graph
from polygrad.geometric.datasets.tu_dataset import read_tu


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A folder for written data sets, where datasets look first."""
    monkeypatch.setenv("POLYGRAD_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """No data but what the test makes, and no net."""
    import urllib.error
    import urllib.request

    def refuse(*args, **kwargs):
        raise urllib.error.URLError("no network in tests")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.delenv("POLYGRAD_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


# ---- whole data sets: written ones, and the known ones that are on this machine ----


@pytest.mark.parametrize("name, counts", cases(
    ("planetoid/ind.cora.x", "Cora", {"nodes": 2708, "edges": 10556, "features": 1433, "classes": 7, "test": 1000}),
    ("planetoid/ind.citeseer.x", "CiteSeer", {"nodes": 3327, "edges": 9104, "features": 3703, "classes": 6, "test": 1000}),
))  # fmt: skip
def test_planetoid(request, name, counts):
    if name is None:
        name, counts = "Cora", write_planetoid(request.getfixturevalue("written"))
    dataset = Planetoid(None, name)
    data, classes = dataset[0], counts["classes"]
    assert repr(dataset) == f"{name}()" and len(dataset) == 1
    found = {"nodes": data.num_nodes, "edges": data.num_edges, "features": dataset.num_features, "classes": dataset.num_classes}
    assert {**found, "test": int(data.test_mask.sum().item())} == counts
    assert data.validate() and data.is_undirected() and not data.has_self_loops()
    assert [int(data[m].sum().item()) for m in ("train_mask", "val_mask")] == [20 * classes, 500]
    y, train = data.y.numpy(), data.train_mask.numpy()
    assert (np.bincount(y[train]) == 20).all()
    assert data.is_sorted(sort_by_row=False)
    full = Planetoid(None, name, split="full")[0]
    assert int(full.train_mask.sum().item()) == counts["nodes"] - 500 - counts["test"]
    Tensor.manual_seed(1)
    random = Planetoid(None, name, split="random", num_train_per_class=5, num_val=30, num_test=40)[0]
    masks = [random[m].numpy() for m in ("train_mask", "val_mask", "test_mask")]
    assert [m.sum() for m in masks] == [5 * classes, 30, 40] and not (masks[0] & masks[1] | masks[1] & masks[2] | masks[0] & masks[2]).any()
    assert (np.bincount(y[masks[0]]) == 5).all()


def test_cora_of_the_package(alone):
    """Without files and without a network Cora is there, the graph of the paper: these sums change with any bit, edge, class or mask."""
    dataset = Planetoid(name="Cora")
    data = dataset[0]
    assert (data.num_nodes, data.num_edges, dataset.num_features, dataset.num_classes) == (2708, 10556, 1433, 7)
    assert data.validate() and data.is_undirected() and not data.has_self_loops() and data.is_sorted(sort_by_row=False)
    assert [digest(data[key].numpy()) for key in data.keys()] == CORA
    assert [int(data[m].sum().item()) for m in ("train_mask", "val_mask", "test_mask")] == [140, 500, 1000]
    assert int(Planetoid(name="Cora", split="full")[0].train_mask.sum().item()) == 1208
    kept = Planetoid(alone / "root", "Cora")[0]  # and is kept in a root like any other
    assert digest(kept.x.numpy()) == CORA[0] and digest(Planetoid(alone / "root", "Cora")[0].edge_index.numpy()) == CORA[1]
    with pytest.raises(FileNotFoundError, match="ind.citeseer.x"):
        Planetoid(name="CiteSeer")


def digest(array):
    import hashlib

    return hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).hexdigest()[:16]


CORA = ["b546ba4bd53a367d", "c17a379b31145080", "f6deb822fb169205", "87eb1dbb0a1f6b1f", "27636c7a04d4fc63", "cac4570ec49173ac"]


def test_cora_of_the_package_is_that_of_the_files():
    """And it is small, since it travels with every copy."""
    from polygrad.geometric.datasets._packaged import packaged, unpack

    path = packaged("Cora")
    assert os.path.getsize(path) < 300_000 and "Revisiting" in (Path(path).parent / "README.md").read_text()
    ours, files = unpack(path), find("planetoid/ind.cora.x")
    theirs = read_planetoid(str(files.parent), "Cora") if files else {}
    for key in theirs.keys():
        np.testing.assert_array_equal(ours[key].numpy(), theirs[key].numpy(), strict=True)
    assert [digest(ours[key].numpy()) for key in ours.keys()] == CORA


@pytest.mark.parametrize(
    "other",
    [
        {"words": np.zeros((3, 2), np.uint8)},
        {"num_words": np.array(17)},
        {"edges": np.array([[0], [9]], np.uint16)},
        {"edges": np.array([[0], [-1]])},
        {"part": np.full(4, 9, np.uint8)},
        {"y": np.zeros(5, np.uint8)},
    ],
)
def test_damaged_package(tmp_path, other):
    from polygrad.geometric.datasets._packaged import pack, unpack

    data = Data(x=Tensor(np.eye(4, 9, dtype=np.float32)), edge_index=Tensor([[1, 0], [0, 1]]), y=Tensor([0, 1, 2, 1]))
    for k, key in enumerate(("train_mask", "val_mask", "test_mask")):
        data[key] = Tensor(np.arange(4) == k)
    path = str(tmp_path / "a.npz")
    pack(data, path)
    back = unpack(path)
    assert all((back[key].numpy() == data[key].numpy()).all() for key in data.keys())
    np.savez(path, **{**dict(np.load(path)), **other})
    with pytest.raises(ValueError, match="a.npz"):
        unpack(path)


def test_checksums_of_planetoid(tmp_path, monkeypatch):
    """A download whose content is not the known one is refused; the checksums are those of the files that are on this machine."""
    import hashlib
    import urllib.request

    from polygrad.geometric.datasets.planetoid import PARTS

    assert set(Planetoid.checksums) == {f"ind.{n}.{part}" for n in ("cora", "citeseer", "pubmed") for part in PARTS}
    here = find("planetoid/ind.cora.x")
    for path in here.parent.glob("ind.*") if here else []:
        assert Planetoid.checksums[path.name] == hashlib.sha256(path.read_bytes()).hexdigest()
    write_planetoid(tmp_path / "net", "pubmed")

    class Answer(io.BytesIO):
        headers: dict = {}

    def answer(request, timeout):
        return Answer((tmp_path / "net" / "planetoid" / request.full_url.rsplit("/", 1)[1]).read_bytes())

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("POLYGRAD_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="checksum"):
        Planetoid(tmp_path / "root", "PubMed")
    monkeypatch.setattr(Planetoid, "checksums", {})
    assert Planetoid(tmp_path / "root", "PubMed").num_classes == 5


def test_geom_gcn_splits(tmp_path):
    nodes = write_planetoid(tmp_path)["nodes"]
    for k in range(10):
        masks = np.zeros((3, nodes), bool)
        masks[:, k] = True
        np.savez(tmp_path / "planetoid" / f"cora_split_0.6_0.2_{k}.npz", train_mask=masks[0], val_mask=masks[1], test_mask=masks[2])
    data = Planetoid(tmp_path, "Cora", split="geom-gcn")[0]
    assert data.train_mask.shape == (nodes, 10) and data.train_mask.numpy()[:10].tolist() == np.eye(10, dtype=bool).tolist()


@pytest.mark.parametrize("name, counts", cases(
    ("npz/amazon_electronics_photo.npz", "Photo", {"nodes": 7650, "edges": 238162, "features": 745, "classes": 8}),
    ("npz/ms_academic_cs.npz", "CS", {"nodes": 18333, "edges": 163788, "features": 6805, "classes": 15}),
))  # fmt: skip
def test_npz_datasets(request, name, counts):
    if name is None:
        name, counts = "Photo", write_npz(request.getfixturevalue("written"), "amazon_electronics_photo")
    dataset = Amazon(None, name) if name == "Photo" else Coauthor(None, name)
    data = dataset[0]
    assert counts == {"nodes": data.num_nodes, "edges": data.num_edges, "features": dataset.num_features, "classes": dataset.num_classes}
    assert data.is_coalesced() and not data.has_self_loops() and data.is_undirected()
    assert np.isin(data.x.numpy(), (0.0, 1.0)).all()


@pytest.mark.parametrize("kind, name, file", [("CitationFull", "DBLP", "dblp"), ("CitationFull", "Cora_ML", "cora_ml"), ("CoraFull", None, "cora")])
def test_full_citation_networks(written, kind, name, file):
    counts = write_npz(written, file)
    dataset = getattr(datasets, kind)(None, *([name] if name else []))
    data = dataset[0]
    assert counts == {"nodes": data.num_nodes, "edges": data.num_edges, "features": dataset.num_features, "classes": dataset.num_classes}
    assert data.is_undirected()
    if name:
        assert CitationFull(None, name, to_undirected=False)[0].num_edges <= counts["edges"]
        with pytest.raises(ValueError, match="Cite"):
            CitationFull(None, "Cite")


def test_relations_of_nell_have_features_of_their_own(tmp_path):
    """Nodes of the graph that are among neither the labelled nor the test nodes: each has one more feature, and no label."""
    counts = write_planetoid(tmp_path, "nell.0.001")
    folder = tmp_path / "NELL" / "raw"
    folder.parent.mkdir()
    (tmp_path / "planetoid").rename(folder)
    path, n = folder / "ind.nell.0.001.graph", counts["nodes"]
    graph = pickle.loads(path.read_bytes())
    for k in range(3):
        graph[n + k] = [k]
        graph[k].append(n + k)
    path.write_bytes(pickle.dumps(graph, 2))
    data = datasets.NELL(tmp_path / "NELL")[0]
    assert (data.num_nodes, data.num_edges, data.num_features) == (n + 3, counts["edges"] + 6, counts["features"] + 3)
    assert data.x.numpy()[n:].tolist() == np.eye(counts["features"] + 3)[-3:].tolist() and not data.x.numpy()[:n, -3:].any()
    assert int(data.test_mask.sum().item()) == counts["test"] and not data.test_mask.numpy()[n:].any()


def test_random_partition_graphs(tmp_path):
    dataset = datasets.RandomPartitionGraphDataset(tmp_path, 3, 40, node_homophily_ratio=0.8, average_degree=6, num_graphs=2, num_channels=5)
    again = datasets.RandomPartitionGraphDataset(tmp_path, 3, 40, node_homophily_ratio=0.8, average_degree=6, num_graphs=2, num_channels=5)
    data = dataset[0]
    assert len(dataset) == 2 and data.x.shape == (120, 5) and np.bincount(data.y.numpy()).tolist() == [40] * 3 and data.is_undirected()
    a, b = data.y.numpy()[data.edge_index.numpy()]
    assert 0.6 < (a == b).mean() < 0.95 and 3 < data.num_edges / 120 < 9
    np.testing.assert_array_equal(again[0].edge_index.numpy(), data.edge_index.numpy())


def test_names_of_npz_datasets(written):
    counts = write_npz(written, "ms_academic_cs")
    assert Coauthor(None, "CS")[0].num_edges == counts["edges"]
    with pytest.raises(ValueError, match="Books"):
        Amazon(None, "Books")


@pytest.mark.parametrize("name, counts", cases(
    ("tu/MUTAG", "MUTAG", {"graphs": 188, "features": 7, "wide": 7, "classes": 2, "nodes": 3371, "edges": 7442, "first": 17, "edge_labels": 4}),
    ("tu/PROTEINS", "PROTEINS", {"graphs": 1113, "features": 3, "wide": 4, "classes": 2, "nodes": 43471, "edges": 162088, "first": 42, "edge_labels": 0}),
    ("tu/ENZYMES", "ENZYMES", {"graphs": 600, "features": 3, "wide": 21, "classes": 6, "nodes": 19580, "edges": 74564, "first": 37, "edge_labels": 0}),
))  # fmt: skip
def test_tu(request, name, counts):
    if name is None:
        name, counts = "WRITTEN", write_tu(request.getfixturevalue("written"), "WRITTEN")
    dataset = TUDataset(None, name)
    graphs, features = counts["graphs"], counts["features"]
    assert repr(dataset) == f"{name}({graphs})" and len(dataset) == graphs
    assert (dataset.num_features, dataset.num_classes) == (features, counts["classes"])
    assert TUDataset(None, name, use_node_attr=True).num_features == counts["wide"]
    assert dataset.data.x.shape == (counts["nodes"], features) and dataset.data.edge_index.shape == (2, counts["edges"])
    for k in (0, graphs // 2, graphs - 1):
        assert dataset[k].validate() and dataset[k].is_coalesced() and (dataset[k].x.numpy().sum(axis=1) == 1).all()
    assert dataset[0].num_nodes == counts["first"]
    assert (dataset.num_node_labels, dataset.num_edge_labels, dataset.num_edge_attributes) == (features, counts["edge_labels"], 0)
    if name == "MUTAG":
        assert repr(dataset[0]) == "Data(edge_index=[2, 38], x=[17, 7], edge_attr=[38, 4], y=[1])"


@pytest.mark.parametrize("name, counts", cases(
    ("rdf/aifb/aifb_stripped.nt.gz", "AIFB", {"nodes": 8285, "edges": 58086, "relations": 90, "classes": 4, "train": 140, "test": 36}),
))  # fmt: skip
def test_entities(request, name, counts):
    if name is None:
        name, counts = "AIFB", write_rdf(request.getfixturevalue("written"))
    aifb = Entities(None, name)
    data = aifb[0]
    found = {"nodes": data.num_nodes, "edges": data.num_edges, "relations": aifb.num_relations, "classes": aifb.num_classes}
    assert {**found, "train": data.train_idx.shape[0], "test": data.test_idx.shape[0]} == counts and data.validate()
    edges, kinds = data.edge_index.numpy(), data.edge_type.numpy()
    there = {tuple(e) for e in np.concatenate([edges, kinds[None]])[:, kinds % 2 == 0].T.tolist()}
    back = {(b, a, r - 1) for a, b, r in np.concatenate([edges, kinds[None]])[:, kinds % 2 == 1].T.tolist()}
    assert there == back
    of_kind = np.bincount(kinds)[::2]
    assert (np.diff(of_kind) <= 0).all()  # the most frequent relation comes first
    assert not set(data.train_idx.tolist()) & set(data.test_idx.tolist())
    hetero = Entities(None, name, hetero=True)
    assert hetero[0].num_nodes == counts["nodes"] and hetero[0].num_edges == counts["edges"]
    assert len(hetero[0].edge_types) == counts["relations"] and hetero.num_classes == counts["classes"]


def test_what_was_read_is_kept(tmp_path):
    write_tu(tmp_path, "WRITTEN")
    first = TUDataset(tmp_path, "WRITTEN")
    path = tmp_path / "WRITTEN" / "processed" / "data.safetensors"
    assert path.is_file()
    again = TUDataset(tmp_path, "WRITTEN")
    assert again.num_edge_labels == 3
    for k in (0, 239):
        for key in ("x", "edge_index", "edge_attr", "y"):
            assert np.array_equal(first[k][key].numpy(), again[k][key].numpy())

    # transforms that are done once are part of what is kept
    def doubled(data):
        data.x = data.x * 2
        return data

    assert TUDataset(tmp_path, "WRITTEN", pre_transform=doubled)[0].x.max().item() == 2
    assert TUDataset(tmp_path, "WRITTEN")[0].x.max().item() == 1
    assert len(TUDataset(tmp_path, "WRITTEN", pre_filter=lambda d: d.num_nodes > 8)) < 240
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.warns(UserWarning, match="damaged"):
        assert len(TUDataset(tmp_path, "WRITTEN")) == 240


# ---- where files are looked for ----


def tiny_tu(folder, name="TINY"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}_A.txt").write_text("1, 2\n2, 1\n3, 3\n4, 3\n3, 4\n3, 4\n")
    (folder / f"{name}_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n")
    (folder / f"{name}_graph_labels.txt").write_text("-1\n1\n")
    (folder / f"{name}_node_labels.txt").write_text("3\n4\n3\n3\n5\n")
    (folder / f"{name}_node_attributes.txt").write_text(" 0.5, 1.5\n1,2\n3,4\n5e-1,6\n7,8\n")
    (folder / f"{name}_edge_labels.txt").write_text("0\n1\n0\n1\n2\n2\n")
    return folder


def test_places(alone, monkeypatch):
    tiny_tu(alone / "root" / "TINY" / "raw")
    assert len(TUDataset(alone / "root", "TINY")) == 2
    tiny_tu(alone / "env" / "tu" / "ENVIRONMENT", "ENVIRONMENT")
    monkeypatch.setenv("POLYGRAD_DATA", str(alone / "env"))
    assert len(TUDataset(None, "ENVIRONMENT")) == 2 and len(TUDataset(alone / "root", "ENVIRONMENT")) == 2
    tiny_tu(alone / "home" / ".cache" / "polygrad" / "data" / "tu" / "CACHED", "CACHED")
    assert len(TUDataset(None, "CACHED")) == 2
    tiny_tu(alone / "shared" / "data" / "tu" / "BESIDE", "BESIDE")  # the folder that we are in says nothing about data
    with pytest.raises(FileNotFoundError):
        TUDataset(None, "BESIDE")


def test_what_cannot_be_had_says_where_to_put_it(alone, monkeypatch):
    monkeypatch.setenv("POLYGRAD_DATA", str(alone / "env"))
    for make, names in (
        (lambda: Planetoid(alone / "root", "PubMed"), ["ind.pubmed.allx", "ind.pubmed.test.index"]),
        (lambda: TUDataset(None, "NONE"), ["NONE_A.txt", "NONE_graph_indicator.txt"]),
        (lambda: Amazon(None, "Computers"), ["amazon_electronics_computers.npz"]),
        (lambda: Entities(None, "AM"), ["am_stripped.nt.gz", "testSet.tsv"]),
        (lambda: OGBNodeDataset("ogbn-arxiv"), ["edge.csv.gz"]),
        (lambda: OGBNodeDataset("mine"), ["edge.csv.gz"]),
    ):
        with pytest.raises(FileNotFoundError) as e:
            make()
        text = str(e.value)
        assert all(n in text for n in names) and str(alone / "env") in text and ("no network in tests" in text or "no address" in text), text
        assert not list(alone.rglob("*.part"))


def test_downloads(tmp_path, monkeypatch):
    import urllib.request

    class Answer(io.BytesIO):
        headers = {"Content-Length": "5"}

        def __enter__(self):
            return self

        def __exit__(self, *a):
            pass

    asked = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda request, timeout: asked.append((request.full_url, timeout)) or Answer(b"hello"))
    checksum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    path = download_url("https://example.org/a/file.txt?x=1", str(tmp_path), checksum=checksum)
    assert Path(path).read_text() == "hello" and Path(path).name == "file.txt" and asked[0][1] > 0
    download_url("https://example.org/a/file.txt", str(tmp_path))
    assert len(asked) == 1
    with pytest.raises(ConnectionError, match="checksum"):
        download_url("https://example.org/b.txt", str(tmp_path), checksum="0" * 64)
    with pytest.raises(ConnectionError, match="more than 3"):
        download_url("https://example.org/b.txt", str(tmp_path), limit=3)
    monkeypatch.setattr(Answer, "headers", {"Content-Length": "50"})
    with pytest.raises(ConnectionError, match="5 of 50"):
        download_url("https://example.org/b.txt", str(tmp_path))
    with pytest.raises(ValueError, match="https"):
        download_url("http://example.org/b.txt", str(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file.txt"]


# ---- text ----


def test_tu_text(tmp_path):
    data, slices, sizes = read_tu(str(tiny_tu(tmp_path)), "TINY")
    assert data.edge_index.tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]  # sorted, without the loop, equal edges once
    assert data.edge_attr.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 2], [0, 1, 0]]  # labels of equal edges are added
    assert data.x.tolist() == [[0.5, 1.5, 1, 0, 0], [1, 2, 0, 1, 0], [3, 4, 1, 0, 0], [0.5, 6, 1, 0, 0], [7, 8, 0, 0, 1]]
    assert data.y.tolist() == [0, 1] and slices["x"].tolist() == [0, 2, 5] and slices["edge_index"].tolist() == [0, 2, 4]
    assert sizes == {"num_node_attributes": 2, "num_node_labels": 3, "num_edge_attributes": 0, "num_edge_labels": 3}


def test_tu_without_features(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "BARE_A.txt").write_text("1, 2\n2, 1\n")
    (tmp_path / "raw" / "BARE_graph_indicator.txt").write_text("1\n1\n1\n2\n")
    (tmp_path / "raw" / "BARE_graph_labels.txt").write_text("0\n1\n")
    graphs = TUDataset(tmp_path, "BARE")
    assert [g.num_nodes for g in graphs] == [3, 1] and [g.num_edges for g in graphs] == [2, 0]
    again = TUDataset(tmp_path, "BARE")
    assert [g.num_nodes for g in again] == [3, 1] and again.num_features == 0


@pytest.mark.parametrize("name, text, error", [
    ("A", "1, 2\n2, 9\n", "edge 1 joins 1 and 8"),
    ("A", "1, 2\n0, 1\n", "edge 1 joins -1"),
    ("A", "1, 2\n2, 3\n", "two graphs"),
    ("A", "1, 2\n2\n", "differ in length"),
    ("A", "1, 2, 3\n", "2 numbers a row"),
    ("A", "1, 2\nx, 1\n", "row 2 holds 'x'"),
    ("A", "1, 2.5\n", "'2.5'"),
    ("A", "1, 2\n\x00\xff\n", "row 2"),
    ("A", "1, 99999999999999999999999\n", "TINY_A"),
    ("graph_indicator", "1\n1\n2\n1\n2\n", "one after the other"),
    ("graph_indicator", "1\n1\n2\n2\n99999999\n", "one after the other"),
    ("graph_indicator", "0\n1\n2\n2\n2\n", "numbered from 1"),
    ("node_labels", "1\n2\n", "2 rows for 5 nodes"),
    ("node_labels", "1\n2\n3\n4\n4000000000\n", "one-hot"),
    ("node_attributes", "1\n2\n3\n4\nfive\n", "'five'"),
    ("edge_labels", "1\n", "1 rows for 6 edges"),
    ("graph_labels", "1\n2\n3\n", "3 targets for 2 graphs"),
])  # fmt: skip
def test_tu_text_that_is_wrong(tmp_path, name, text, error):
    folder = tiny_tu(tmp_path)
    (folder / f"TINY_{name}.txt").write_bytes(text.encode("latin1"))
    with pytest.raises(ValueError, match=error):
        read_tu(str(folder), "TINY")


def test_tables(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("1,2\n\n3, 4\n\n")
    assert read_table(str(path), np.int64).tolist() == [[1, 2], [3, 4]]
    path.write_text("")
    assert read_table(str(path), np.int64, 2).shape == (0, 2)
    path.write_text("1e400 nan\n-inf 2\n")
    assert str(read_table(str(path)).tolist()) == "[[inf, nan], [-inf, 2.0]]"
    with gzip.open(tmp_path / "t.csv.gz", "wt") as f:
        f.write("1,2\n3,4")
    assert read_table(str(tmp_path / "t.csv.gz"), np.int64).tolist() == [[1, 2], [3, 4]]


# ---- pickles ----


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/polygrad-was-here",)


class Named:
    """A pickle that names anything."""

    def __init__(self, function, *args):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


def test_pickles_of_arrays_matrices_and_graphs(tmp_path):
    path = tmp_path / "p"
    for protocol in (0, 1, 2, 3, 4):
        for array in (
            np.arange(6.0).reshape(2, 3),
            np.asfortranarray(np.arange(6).reshape(2, 3)),
            np.array([1, 2], ">i4"),
            np.zeros((0, 3), np.float32),
        ):
            path.write_bytes(pickle.dumps(array, protocol))
            got = load_pickle(str(path))
            assert np.array_equal(got, array) and got.dtype.isnative
    path.write_bytes(csr())
    assert load_pickle(str(path)).tolist() == [[1, 0, 0], [0, 0, 2]]
    path.write_bytes(csr(data=(1.0, 5.0), indices=(2, 2), indptr=(0, 2, 2)))
    assert load_pickle(str(path)).tolist() == [[0, 0, 6], [0, 0, 0]]
    from collections import defaultdict

    graph = defaultdict(list, {0: [1, 2], 1: [0]})
    path.write_bytes(pickle.dumps(graph, 2))
    assert load_pickle(str(path)) == {0: [1, 2], 1: [0]}


def hostile_pickles():
    import builtins
    import subprocess

    array = pickle.dumps(np.arange(10.0), 2)
    yield "runs a command", pickle.dumps(Evil()), "posix.system|nt.system"
    yield "eval", pickle.dumps(Named(eval, "1")), "eval"
    yield "getattr", pickle.dumps(Named(getattr, "a", "b")), "getattr"
    yield "popen", pickle.dumps(Named(subprocess.Popen, ["true"])), "Popen"
    yield "numpy, but another name", pickle.dumps(Named(np.load, "x")), "numpy"
    yield "numpy's own eval", b"\x80\x02cnumpy.testing._private.utils\nrunstring\nX\x01\x00\x00\x001\x85R.", "runstring"
    yield "a dotted name", b"\x80\x04\x8c\x05numpy\x8c\x0fndarray.tobytes\x93.", "tobytes"
    yield "collections, but another name", b"\x80\x02ccollections\n_sys\n.", "_sys"
    yield "something outside", b"\x80\x02X\x01\x00\x00\x00aQ.", "outside"
    yield "cut off", array[: len(array) // 2], "cannot|not a file"
    yield "nothing", b"", "not a file"
    yield "noise", b"\x00\x01\x02 this is no pickle", "not a file"
    yield "objects", pickle.dumps(np.array([Evil, 1], object), 2), "not a file"
    yield "an array with less bytes than it says", array.replace(struct.pack("<B", 10) + b"\x85", b"\x0b\x85"), "needs 88 bytes"
    yield "a text", pickle.dumps("hello"), "str"
    yield "a dict of something else", pickle.dumps({0: ["a"]}), "node numbers"
    yield "a dict of dicts", pickle.dumps({0: {1: 2}}), "node numbers"
    yield "a column out of range", csr(indices=(0, 7)), "column 7"
    yield "a negative column", csr(indices=(0, -1)), "column -1"
    yield "rows that go back", csr(indptr=(0, 5, 2)), "do not fit"
    yield "rows beyond the end", csr(indptr=(0, 1, 9)), "do not fit"
    yield "a huge matrix", csr(shape=(2, 1 << 40)), "too large"
    yield "a huge number of rows", csr(shape=(1 << 40, 3)), "do not fit"
    yield "a negative size", csr(shape=(-2, 3)), "two sizes"
    yield "sizes that are no numbers", csr(shape=("a", "b")), "not a file"
    yield "a deep nest", b"\x80\x02" + b"]" * 100000 + b"a" * 99999 + b".", "not a file"
    yield "a class of the interpreter", pickle.dumps(Named(builtins.bytearray, 1 << 40)), "bytearray"


@pytest.mark.parametrize("content, error", [pytest.param(c, e, id=name) for name, c, e in hostile_pickles()])
def test_hostile_pickles(tmp_path, content, error):
    mark = Path("/tmp/polygrad-was-here")
    mark.unlink(missing_ok=True)
    path = tmp_path / "ind.cora.x"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=error) as e:
        load_pickle(str(path))
    assert "ind.cora.x" in str(e.value) and not mark.exists()


def planetoid(folder, **other):
    """Three training nodes, 497 others, three of the test; parts can be replaced."""
    n = 600
    parts = {
        "x": np.eye(3, dtype=np.float32), "y": np.eye(3, dtype=np.int32), "allx": np.ones((n, 3), np.float32), "ally": np.eye(3, dtype=np.int32)[np.arange(n) % 3],
        "tx": np.full((3, 3), 7, np.float32), "ty": np.eye(3, dtype=np.int32), "graph": {0: [1, 2, 2], 1: [0], 2: [0, 2], n: [0]},
        "test.index": f"{n + 3}\n{n}\n{n + 1}\n",
    }  # fmt: skip
    parts.update(other)
    for name, value in parts.items():
        path = folder / f"ind.cora.{name}"
        if isinstance(value, str):
            path.write_text(value)
        else:
            path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, 2))
    return str(folder)


def test_planetoid_files(tmp_path):
    data = read_planetoid(planetoid(tmp_path), "Cora")
    assert data.num_nodes == 604 and data.edge_index.tolist() == [[1, 2, 600, 0, 0], [0, 0, 0, 1, 2]]  # once each, no loops, by destination
    assert data.x.tolist()[602] == [0, 0, 0] and data.x.tolist()[603] == [7, 7, 7] and data.y.tolist()[600:] == [1, 2, 0, 0]
    assert np.flatnonzero(data.test_mask.numpy()).tolist() == [600, 601, 603] and data.train_mask.numpy().sum() == 3


@pytest.mark.parametrize("other, error", [
    ({"graph": {0: [1, 99999]}}, "0 and 99999"),
    ({"graph": {-1: [1]}}, "-1 and 1"),
    ({"graph": np.ones(3)}, "dict of lists"),
    ({"tx": {0: [1]}}, "matrix"),
    ({"y": np.ones(3)}, "matrix"),
    ({"tx": np.ones((3, 4), np.float32)}, "do not fit"),
    ({"ty": np.ones((2, 3), np.int32)}, "do not fit"),
    ({"test.index": "600\n601\n99999999999\n"}, "test nodes"),
    ({"test.index": "600\n601\n5\n"}, "test nodes"),
    ({"test.index": "600\n600\n601\n"}, "different"),
    ({"test.index": "600\n601\nsix\n"}, "'six'"),
    ({"allx": b"\x80\x02."}, "ind.cora.allx"),
])  # fmt: skip
def test_planetoid_files_that_are_wrong(tmp_path, other, error):
    with pytest.raises(ValueError, match=error):
        read_planetoid(planetoid(tmp_path, **other), "Cora")


# ---- archives ----


def npz(path, **other):
    parts = {
        "adj_data": np.ones(3, np.float32), "adj_indices": np.array([1, 0, 2], np.int32), "adj_indptr": np.array([0, 1, 2, 3], np.int32), "adj_shape": np.array([3, 3]),
        "attr_data": np.array([2.0, 5.0], np.float32), "attr_indices": np.array([0, 1], np.int32), "attr_indptr": np.array([0, 1, 1, 2], np.int32),
        "attr_shape": np.array([3, 2]), "labels": np.array([0, 1, 1]),
    }  # fmt: skip
    parts.update(other)
    np.savez_compressed(path, **{k: v for k, v in parts.items() if v is not None})
    return str(path)


def test_npz(tmp_path):
    data = read_npz(npz(tmp_path / "a.npz", adj_indices=np.array([1, 2, 2], np.int32)))
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]] and data.x.tolist() == [[1, 0], [0, 0], [0, 1]]
    directed = read_npz(npz(tmp_path / "a.npz", adj_indices=np.array([1, 2, 2], np.int32)), to_undirected=False)
    assert directed.edge_index.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("other, error", [
    ({"labels": None}, "labels"),
    ({"labels": np.array([Data, 1, 2], object)}, "is not read"),
    ({"labels": np.array([0, 1])}, "do not fit"),
    ({"labels": np.array([0, -1, 1])}, "do not fit"),
    ({"labels": np.array(["a", "b", "c"])}, "is not read"),
    ({"adj_indices": np.array([1, 0, 9], np.int32)}, "column 9"),
    ({"adj_indices": np.array([1, 0, -9], np.int32)}, "column -9"),
    ({"adj_indptr": np.array([0, 3, 2, 3], np.int32)}, "do not fit"),
    ({"adj_shape": np.array([3, 4])}, "do not fit"),
    ({"attr_shape": np.array([3, 1 << 45])}, "too large"),
    ({"attr_shape": np.array([1 << 45, 2])}, "do not fit"),
    ({"attr_indices": np.array([0.5, 1.5])}, "vector of numbers"),
])  # fmt: skip
def test_npz_that_is_wrong(tmp_path, other, error):
    with pytest.raises(ValueError, match=error) as e:
        read_npz(npz(tmp_path / "a.npz", **other))
    assert "a.npz" in str(e.value)


def raw_npy(shape, content=b"", descr="<f4"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content


def test_npz_headers_and_bombs(tmp_path):
    path = tmp_path / "a.npz"

    def write(content, compress=zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(path, "w", compress) as z:
            z.writestr("labels.npy", content)

    for content, error in (
        (raw_npy((1 << 50,)), "needs"),
        (raw_npy((10,), b"12"), "cut off"),
        (raw_npy((-1,), b"12"), "cannot be read"),
        (raw_npy((1,), b"1234" * 8, "|O"), "is not read"),
        (b"\x93NUMPY\x01\x00\xff\xff{" + b"(" * 60000, "cannot be read"),
        (b"no array", "cannot be read"),
    ):
        write(content)
        with pytest.raises(ValueError, match=error):
            load_npz(str(path), ["labels"])
    write(b"\0" * (80 << 20))  # 80 MB of nothing in 80 kB
    assert path.stat().st_size < 200_000
    with pytest.raises(ValueError, match="more than such a file"):
        load_npz(str(path), ["labels"])
    whole = Path(npz(tmp_path / "b.npz")).read_bytes()
    for content in (b"", b"PK\x03\x04", whole[:200], whole[: len(whole) // 2], whole[:60] + b"\xff" * 40 + whole[100:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="a.npz"):
            load_npz(str(path), ["adj_data", "adj_indices"])


def test_archives_stay_in_their_folder(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out.txt"
    path = tmp_path / "a.zip"
    for name in ("../out.txt", "/tmp/polygrad-out.txt", "x/../../out.txt", "..\\out.txt"):
        with zipfile.ZipFile(path, "w") as z:
            z.writestr(name, "bad")
        with pytest.raises(ValueError, match="outside"):
            extract_zip(str(path), str(inside))
    assert not outside.exists()
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("X/a.txt", "good")
    extract_zip(str(path), str(inside))
    assert (inside / "X" / "a.txt").read_text() == "good"
    archive = tmp_path / "a.tgz"
    for make in ("name", "link"):
        with tarfile.open(archive, "w:gz") as t:
            info = tarfile.TarInfo("../out.txt" if make == "name" else "l")
            if make == "link":
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            t.addfile(info, io.BytesIO(b""))
        with pytest.raises(ValueError, match="outside|neither"):
            extract_tar(str(archive), str(inside))
    with tarfile.open(archive, "w:gz") as t:
        info = tarfile.TarInfo("t/b.txt")
        info.size = 4
        t.addfile(info, io.BytesIO(b"good"))
    extract_tar(str(archive), str(inside))
    assert (inside / "t" / "b.txt").read_text() == "good" and not outside.exists()


def test_archives_that_swell_or_are_cut_off(tmp_path):
    nothing = b"\0" * (80 << 20)
    packed = tmp_path / "a.gz"
    with gzip.open(packed, "wb", 1) as f:
        f.write(nothing)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a", nothing)
    for read in (
        lambda: read_gz(str(packed)),
        lambda: extract_gz(str(packed), str(tmp_path / "o")),
        lambda: extract_zip(str(tmp_path / "a.zip"), str(tmp_path / "o")),
    ):
        with pytest.raises(ValueError, match="much larger"):
            read()
    for content in (b"no gzip", gzip.compress(b"hello" * 1000)[:-20], gzip.compress(b"hello" * 1000)[:30]):
        packed.write_bytes(content)
        with pytest.raises(ValueError, match="a.gz"):
            read_gz(str(packed))
        with pytest.raises(ValueError, match="a.gz"):
            extract_tar(str(packed), str(tmp_path / "o"))
        with pytest.raises(ValueError, match="a.gz"):
            extract_zip(str(packed), str(tmp_path / "o"))


# ---- triples ----


def test_triples(tmp_path):
    text = rb"""<http://a> <http://p> <http://b> .
<http://a> <http://q> "a \"word\" \u00e9"@en .
# a comment
_:x <http://p> "5"^^<http://www.w3.org/int> .   # another
<http://a> <http://p> <http://b> .

<http://b> <http://p> _:x .
"""
    triples, nodes, relations = parse_triples(text, "t.nt")
    assert triples.tolist() == [[0, 0, 1], [0, 1, 2], [3, 0, 4], [1, 0, 3]] and len(nodes) == 5 and relations == [b"<http://p>", b"<http://q>"]
    for bad in (b"<a> <p> .\n", b"<a> <p> <b>\n", b"a p b .\n", b'<a> "p" <b> .\n', b'<a> <p> "open .\n', b"\xff\xfe\n"):
        with pytest.raises(ValueError, match="1 of 2 lines"):
            parse_triples(b"<a> <p> <b> .\n" + bad, "t.nt")


def entities(folder, nt=None, train="person\tlabel_affiliation\nhttp://a\tx\n", test="person\tlabel_affiliation\nhttp://b\ty\n"):
    folder.mkdir(parents=True, exist_ok=True)
    text = nt or "<http://a> <http://p> <http://b> .\n<http://b> <http://p> <http://a> .\n<http://a> <http://q> <http://b> .\n"
    (folder / "aifb_stripped.nt.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "completeDataset.tsv").write_text("person\tlabel_affiliation\nhttp://a\tx\nhttp://b\ty\n")
    (folder / "trainingSet.tsv").write_text(train)
    (folder / "testSet.tsv").write_text(test)
    return folder.parent.parent


def test_entities_files(tmp_path):
    root = entities(tmp_path / "aifb" / "raw")
    data = Entities(root, "AIFB")[0]
    edges = sorted(zip(*data.edge_index.tolist(), data.edge_type.tolist()))
    assert edges == [(0, 1, 0), (0, 1, 1), (0, 1, 2), (1, 0, 0), (1, 0, 1), (1, 0, 3)]
    assert data.train_idx.tolist() == [0] and data.test_y.tolist() == [1]
    for other, error in (
        ({"train": "person\tlabel_affiliation\nhttp://zzz\tx\n"}, "zzz"),
        ({"train": "person\tlabel_affiliation\nhttp://a\tzzz\n"}, "zzz"),
        ({"test": "who\twhat\nhttp://a\tx\n"}, "no column 'person'"),
        ({"test": "person\tlabel_affiliation\nhttp://a\n"}, "line 2"),
        ({"nt": "nothing of the kind\n"}, "1 of 1 lines"),
    ):
        entities(tmp_path / "aifb" / "raw", **other)
        with pytest.raises(ValueError, match=error):
            Entities(root, "AIFB", force_reload=True)


# ---- OGB ----


def ogb(folder, **other):
    raw = folder / "ogbn_mini" / "raw"
    split = folder / "ogbn_mini" / "split" / "time"
    for place in (raw, split):
        place.mkdir(parents=True, exist_ok=True)
    files = {
        "edge": "0,1\n1,2\n3,0\n", "num-node-list": "4\n", "num-edge-list": "3\n", "node-feat": "0.5,1\n1,2\n3,4\n5,6\n", "node-label": "0\n1\n2\n1\n",
        "node_year": "2001\n2002\n2003\n2004\n", "edge-feat": "1.0\n2.0\n3.0\n",
    }  # fmt: skip
    files.update(other)
    for name, text in files.items():
        with gzip.open(raw / f"{name}.csv.gz", "wt") as f:
            f.write(text)
    for part, text in (("train", "0\n1\n"), ("valid", "2\n"), ("test", other.get("test", "3\n"))):
        with gzip.open(split / f"{part}.csv.gz", "wt") as f:
            f.write(text)
    return folder


def test_ogb_layout(tmp_path):
    dataset = OGBNodeDataset("ogbn-mini", ogb(tmp_path))
    data = dataset[0]
    assert data.edge_index.tolist() == [[0, 1, 3], [1, 2, 0]] and data.num_nodes == 4 and data.x.tolist()[0] == [0.5, 1.0]
    assert data.y.tolist() == [[0], [1], [2], [1]] and data.node_year.tolist()[3] == [2004] and data.edge_attr.shape == (3, 1)
    assert dataset.num_classes == 3 and {k: v.tolist() for k, v in dataset.get_idx_split().items()} == {"train": [0, 1], "valid": [2], "test": [3]}
    both = OGBNodeDataset("ogbn-mini", tmp_path, add_inverse_edge=True)[0]
    assert both.edge_index.tolist() == [[0, 1, 1, 2, 3, 0], [1, 0, 2, 1, 0, 3]] and both.edge_attr.tolist() == [[1], [1], [2], [2], [3], [3]]


@pytest.mark.parametrize("other, error", [
    ({"edge": "0,1\n1,9\n3,0\n"}, "edge 1 joins 1 and 9"), ({"edge": "0,1\n"}, "1 edges, where 3"), ({"node-feat": "1,2\n"}, "1 rows for 4 nodes"),
    ({"num-node-list": "4\n5\n"}, "one number"), ({"node-feat": "a\nb\nc\nd\n"}, "'a'"),
])  # fmt: skip
def test_ogb_files_that_are_wrong(tmp_path, other, error):
    with pytest.raises(ValueError, match=error):
        OGBNodeDataset("ogbn-mini", ogb(tmp_path, **other))


def test_ogb_split_out_of_range(tmp_path):
    with pytest.raises(ValueError, match="node 7"):
        OGBNodeDataset("ogbn-mini", ogb(tmp_path, test="7\n")).get_idx_split()


# ---- made here ----


def test_karate():
    data = KarateClub()[0]
    assert repr(data) == "Data(x=[34, 34], edge_index=[2, 156], y=[34], train_mask=[34])"
    assert data.is_undirected() and data.is_coalesced() and np.bincount(data.y.numpy()).tolist() == [13, 12, 4, 5]
    assert np.flatnonzero(data.train_mask.numpy()).tolist() == [0, 4, 8, 24]


def test_fake():
    graphs = FakeDataset(num_graphs=4, avg_num_nodes=30, avg_degree=3, num_channels=5, edge_dim=2, seed=1, extra=(2, 3))
    assert len(graphs) == 4 and graphs.num_features == 5 and graphs.num_edge_features == 2
    for g in graphs:
        assert Data(edge_index=g.edge_index, num_nodes=g.num_nodes).is_undirected()
        assert g.validate() and not g.has_self_loops() and g.y.shape == (1,) and g.extra.shape == (2, 3)
    again = FakeDataset(num_graphs=4, avg_num_nodes=30, avg_degree=3, num_channels=5, edge_dim=2, seed=1, extra=(2, 3))
    assert np.array_equal(graphs.data.x.numpy(), again.data.x.numpy())
    one = FakeDataset(avg_num_nodes=30, num_channels=0, edge_dim=1, is_undirected=False)[0]
    assert one.y.shape == (one.num_nodes,) and one.edge_weight.shape == (one.num_edges,)
    hetero = FakeHeteroDataset(num_graphs=2, avg_num_nodes=20, avg_degree=3, edge_dim=2, num_edge_types=12)
    assert len(hetero) == 2 and len(hetero[0].edge_types) == 12 and all(g.validate() and "y" in g for g in hetero)


def test_blocks(tmp_path):
    probs = [[0.5, 0.01], [0.01, 0.4]]
    data = StochasticBlockModelDataset(tmp_path, [40, 60], probs, num_graphs=2, num_channels=4)
    assert len(data) == 2 and data[0].x.shape == (100, 4) and data[0].y.tolist() == [0] * 40 + [1] * 60
    src, dst = data[0].edge_index.numpy() >= 40
    assert (src == dst).mean() > 0.85 and data[0].is_undirected()
    again = StochasticBlockModelDataset(tmp_path, [40, 60], probs, num_graphs=2, num_channels=4)
    assert np.array_equal(again[1].x.numpy(), data[1].x.numpy())
    with pytest.raises(ValueError, match="2 x 2"):
        StochasticBlockModelDataset(None, [1, 2], [[0.5]])


def test_houses():
    for kind in ("random", "uniform"):
        data = BAShapes(kind)[0]
        assert data.num_nodes == 700 and np.bincount(data.y.numpy()).tolist() == [300, 160, 160, 80] and data.is_undirected()
        assert data.edge_label.shape == (data.num_edges,) and int(data.edge_label.sum().item()) == 80 * 12


def test_rmat():
    nodes, edges = 1000, 20000
    plain = rmat_graph(nodes, edges, seed=3, shuffle=False)
    assert plain.min() >= 0 and plain.max() < nodes
    assert abs((plain[0] < 512).mean() - 0.76) < 0.02 and abs((plain[1] < 512).mean() - 0.76) < 0.02  # a + b and a + c of the first bit
    named = rmat_graph(nodes, edges, seed=3)
    degree = [np.sort(np.bincount(e[1], minlength=nodes)) for e in (plain, named)]
    assert np.array_equal(*degree)  # the same graph under other names
    assert degree[0][-1] > 20 * edges / nodes and not np.array_equal(plain, named)
    assert np.array_equal(named, rmat_graph(nodes, edges, seed=3)) and not np.array_equal(named, rmat_graph(nodes, edges, seed=4))
    assert (rmat_graph(1, 5) == 0).all() and rmat_graph(0, 0).shape == (2, 0)
    flat = rmat_graph(64, 64000, 0.25, 0.25, 0.25, shuffle=False)
    assert np.bincount(flat[0], minlength=64).std() < 60
    data = RMAT(300, 2000, num_channels=4, is_undirected=True, coalesce=True)[0]
    assert data.is_undirected() and data.is_coalesced() and not data.has_self_loops() and data.x.shape == (300, 4)
    for bad in (lambda: rmat_graph(0, 1), lambda: rmat_graph(-1, 1), lambda: rmat_graph(4, 4, 0.9, 0.2), lambda: rmat_graph(4, 4, -0.1)):
        with pytest.raises(ValueError):
            bad()


def test_rmat_does_not_depend_on_threads():
    from polygrad._ffi import C

    out = [np.empty((2, 10000), np.int64) for _ in range(2)]
    for threads, a in zip((1, 4), out):
        assert C.poly_rmat(777, 10000, 0.57, 0.19, 0.19, 9, True, threads, a.ctypes.data) == 0
    assert np.array_equal(*out)
