"""Datasets on small files of their formats, which `dataset_files` writes: what is read is what was written, and what is damaged is refused."""

import pickle
from pathlib import Path

import dataset_files as files
import numpy as np
import pytest

from polygrad import Tensor
from polygrad.geometric import datasets
from polygrad.geometric.data import Data, TemporalData


def opened(tmp_path, monkeypatch, writer, kind, *args, place="", valid=True, **kwargs):
    """The dataset on files in root/<name>/raw, read; then read again from what was kept. valid: its graphs pass `validate`."""
    from polygrad.geometric.datasets import _files

    def no(*args, **kwargs):
        raise ConnectionError("no network in tests")

    monkeypatch.setattr(_files, "download_url", no)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("POLYGRAD_DATA", raising=False)
    folder = tmp_path / "root" / place / "raw" if place is not None else tmp_path / "root"
    folder.mkdir(parents=True, exist_ok=True)
    writer(folder)
    first = getattr(datasets, kind)(tmp_path / "root", *args, **kwargs)
    again = getattr(datasets, kind)(tmp_path / "root", *args, **kwargs)
    assert len(first) == len(again)
    a, b = first[0], again[0]
    assert type(a) is type(b) and len(a.stores) == len(b.stores)
    for s, t in zip(a.stores, b.stores):
        assert sorted(s.keys()) == sorted(t.keys())
        for key in s.keys():
            if isinstance(s[key], Tensor):
                np.testing.assert_array_equal(s[key].numpy(), t[key].numpy(), strict=True, err_msg=key)
    if valid and not isinstance(a, TemporalData):
        assert a.validate()
    return first


@pytest.fixture
def make(tmp_path, monkeypatch):
    return lambda *args, **kwargs: opened(tmp_path, monkeypatch, *args, **kwargs)


def edges(data):
    return data.edge_index.tolist()


# ---- one graph ----


def test_geom_gcn(make):
    data = make(files.geom_gcn, "WebKB", "Texas", place="texas")[0]
    assert edges(data) == [[0, 2], [1, 0]]  # each edge once, sorted
    assert data.x.tolist() == [[1, 1], [0, 1], [0, 0]] and data.y.tolist() == [0, 2, 1]  # by number, not by line
    assert data.train_mask.shape == (3, 10) and data.train_mask.numpy()[:, 1].tolist() == [False, True, False]


def test_actor(make):
    data = make(files.actor, "Actor")[0]
    assert data.x.tolist() == [[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1]] and data.y.tolist() == [0, 1, 1]


def test_a_feature_number_that_is_too_large_asks_for_no_memory():
    from polygrad.geometric.datasets.geom_gcn import _columns

    with pytest.raises(ValueError, match="3 nodes have features numbered from 0 on, at most .*; the largest number is 123456789"):
        _columns([["0", "5"], ["1", "123456789"], ["2", "1,2"]], np.arange(3), "nodes.txt")


def test_wikipedia(make, tmp_path):
    data = make(lambda f: files.geom_gcn(f, "squirrel"), "WikipediaNetwork", "Squirrel", place="squirrel/geom_gcn")[0]
    assert edges(data) == [[0, 2], [1, 0]]
    data = make(lambda f: files.musae(f, "crocodile.npz"), "WikipediaNetwork", "crocodile", False, place="crocodile")[0]
    assert data.y.dtype.name == "float32" and data.num_nodes == 3
    with pytest.raises(AttributeError, match="geom_gcn_preprocess=False"):
        datasets.WikipediaNetwork(tmp_path, "crocodile")


@pytest.mark.parametrize(
    "kind, args, file", [("Twitch", ("DE",), "DE.npz"), ("GitHub", (), "github.npz"), ("FacebookPagePage", (), "facebook.npz"),
                         ("DeezerEurope", (), "deezer_europe.npz"), ("LastFMAsia", (), "lastfm_asia.npz"), ("GemsecDeezer", ("HU",), "HU.npz")]
)  # fmt: skip
def test_musae(make, kind, args, file):
    data = make(lambda f: files.musae(f, file), kind, *args)[0]
    assert edges(data) == [[0, 1, 2], [1, 2, 0]] and data.y.tolist() == [0, 1, 1]
    assert data.x is None and data.num_nodes == 3 if kind == "GemsecDeezer" else data.x.shape == (3, 4)


def test_heterophilous(make):
    data = make(files.heterophilous, "HeterophilousGraphDataset", "Minesweeper")[0]
    assert edges(data) == [[0, 1, 1, 2], [1, 0, 2, 1]] and data.val_mask.shape == (3, 2) and data.y.tolist() == [0, 1, 0]


def test_wikics(make):
    assert edges(make(files.wikics, "WikiCS")[0]) == [[0, 1, 1, 2], [1, 0, 2, 1]]
    data = make(files.wikics, "WikiCS", is_undirected=False)[0]
    assert edges(data) == [[0, 1, 1], [1, 2, 0]] and data.train_mask.shape == (3, 2) and data.test_mask.tolist() == [False, False, True]


def test_airports(make):
    data = make(files.airports, "Airports", "Brazil")[0]
    assert edges(data) == [[0, 1], [2, 0]] and data.y.tolist() == [0, 1, 3] and data.x.tolist() == np.eye(3).tolist()


def test_edge_lists(make):
    assert edges(make(files.polblogs, "PolBlogs")[0]) == [[0, 2], [1, 1]]
    data = make(files.email, "EmailEUCore")[0]
    assert edges(data) == [[0, 2], [1, 2]] and data.y.tolist() == [4, 0, 4]


def test_mixhop(make):
    data = make(files.mixhop, "MixHopSyntheticDataset", 0.3)[0]
    assert edges(data) == [[0, 0, 1, 5], [1, 2, 0, 4]] and data.val_mask.tolist() == [False, False, True, True, False, False]
    assert data.y.tolist() == [0, 1, 2, 0, 0, 0]


def test_attributed(make):
    data = make(files.attributed, "AttributedGraphDataset", "Wiki")[0]
    assert data.x.tolist() == [[0, 2.5], [1, 0], [0, 0]] and data.y.tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 0]]


def test_dgraph(make):
    data = make(files.dgraph, "DGraphFin")[0]
    assert edges(data) == [[0, 1], [1, 2]] and data.edge_time.tolist() == [5, 9] and data.val_mask.tolist() == [False, True, False]


@pytest.mark.parametrize("kind", ["Flickr", "Yelp", "AmazonProducts", "Reddit2"])
def test_saint(make, kind):
    data = make(files.saint, kind)[0]
    assert edges(data) == [[0, 1, 1, 2], [1, 0, 2, 1]] and data.y.tolist() == [1, -1, 0] and data.test_mask.tolist() == [False, False, True]


def test_reddit(make):
    data = make(files.reddit, "Reddit")[0]
    assert edges(data) == [[0, 1, 1, 2], [1, 0, 2, 1]] and data.val_mask.tolist() == [False, False, True] and data.y.tolist() == [0, 4, 1]


def test_linkx(make):
    data = make(files.facebook, "LINKXDataset", "Reed98", place="reed98")[0]
    assert edges(data) == [[0, 1, 1, 3], [1, 0, 3, 1]] and data.y.tolist() == [1, 0, -1, 1]
    assert data.x.tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 0, 1, 1, 0]]
    data = make(files.penn, "LINKXDataset", "penn94", place="penn94")[0]
    assert data.train_mask.tolist() == [[True, False], [True, False], [False, False], [False, True]]
    data = make(files.genius, "LINKXDataset", "genius", place="genius")[0]
    assert edges(data) == [[0, 1], [1, 2]] and data.y.tolist() == [0, 1, 0]


def test_elliptic(make):
    data = make(files.elliptic, "EllipticBitcoinDataset")[0]
    assert edges(data) == [[0], [1]] and data.y.tolist() == [2, 0, 1] and data.train_mask.tolist() == [False, True, False]
    assert data.test_mask.tolist() == [False, False, True] and data.x.shape == (3, 2)
    data = make(files.elliptic, "EllipticBitcoinTemporalDataset", 36)[0]
    assert data.num_nodes == 1 and data.y.tolist() == [1] and data.num_edges == 0


# ---- graphs of several types ----


def test_magnn(make):
    data = make(files.magnn, "IMDB")[0]
    assert data.node_types == ["movie", "director", "actor"] and data["movie"].y.tolist() == [1, 0]
    assert data["movie", "director"].edge_index.tolist() == [[0, 1], [0, 1]] and data["actor", "movie"].edge_index.tolist() == [[0, 1], [0, 1]]
    assert data["actor"].x.tolist() == [[3, 0, 0], [0, 3, 0]]


def test_dblp(make):
    data = make(files.dblp, "DBLP")[0]
    assert data["conference"].num_nodes == 1 and data["paper", "conference"].edge_index.tolist() == [[0], [0]]


def test_lastfm(make):
    data = make(files.lastfm, "LastFM")[0]
    assert data["user", "artist"].edge_index.tolist() == [[0, 1], [0, 1]] and data["user", "artist"].val_pos_edge_index.tolist() == [[0, 1], [1, 0]]
    assert data["user", "user"].edge_index.tolist() == [[0, 1], [1, 0]] and "train_pos_edge_index" not in data["user", "artist"]


def test_aminer(make):
    data = make(files.aminer, "AMiner")[0]
    assert data["author"].y.tolist() == [2] and data["author"].y_index.tolist() == [1] and data["venue"].y_index.tolist() == [1, 0]
    assert data["paper", "written_by", "author"].edge_index.tolist() == [[0, 1], [0, 1]]


def test_ogb_mag(make):
    dataset = make(files.ogb_mag, "OGB_MAG")
    data = dataset[0]
    assert data["paper"].year.tolist() == [2010, 2011] and data["author"].num_nodes == 2 and dataset.num_classes == 6
    assert data["author", "writes", "paper"].edge_index.tolist() == [[0, 1], [1, 0]] and data["paper"].val_mask.tolist() == [False, True]


def test_hgb(make):
    data = make(files.hgb, "HGBDataset", "ACM")[0]
    assert data["paper", "to", "author"].edge_index.tolist() == [[0, 1], [0, 0]] and data["paper", "cite", "paper"].edge_weight.tolist() == [2.5]
    assert data["paper"].y.tolist() == [1, 0] and data["paper"].train_mask.tolist() == [True, False] and data["author"].num_nodes == 1


def test_movielens(make):
    data = make(files.ml100k, "MovieLens100K")[0]
    rates = data["user", "rates", "movie"]
    assert rates.edge_index.tolist() == [[0, 1], [1, 0]] and rates.rating.tolist() == [5, 3] and rates.edge_label_index.tolist() == [[1], [1]]
    assert data["movie"].x.shape == (2, 18) and data["user"].x.tolist() == [[0.5, 0, 1, 0, 1], [1, 1, 0, 1, 0]]
    data = make(files.ml1m, "MovieLens1M")[0]
    assert data["movie"].x.tolist() == [[0, 1, 1], [1, 0, 0]] and data["movie", "rated_by", "user"].edge_index.tolist() == [[1, 0], [0, 1]]
    data = make(files.movielens, "MovieLens")[0]
    assert data["user"].num_nodes == 2 and data["user", "rates", "movie"].edge_index.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert data["user", "rates", "movie"].edge_label.tolist() == [4, 2, 1]
    data = make(files.movielens, "MovieLens", encoder=lambda titles: [[len(t)] for t in titles])[0]
    assert data["movie"].x.numpy()[:, 0].tolist() == [10, 4]


def test_titles_by_a_language_model(make, monkeypatch):
    """model_name is that of the package sentence-transformers, which is asked when the files are read; they may be in the folder of their archive."""
    import sys
    import types

    class Model:
        def __init__(self, name):
            self.name = name

        def encode(self, titles):
            return np.array([[len(self.name), len(t)] for t in titles])

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match="sentence-transformers"):
        make(files.movielens, "MovieLens", model_name="some")
    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=Model))

    def inside(folder):
        (folder / "ml-latest-small").mkdir(exist_ok=True)
        files.movielens(folder / "ml-latest-small")

    data = make(inside, "MovieLens", model_name="some")[0]
    assert data["movie"].x.numpy()[:, :2].tolist() == [[4, 10], [4, 4]]


def test_books_and_taobao(make):
    data = make(files.amazon_book, "AmazonBook")[0]
    assert data["user", "rates", "book"].edge_index.tolist() == [[0, 0, 1], [1, 2, 0]] and data["book"].num_nodes == 3
    data = make(files.taobao, "Taobao")[0]
    assert data["user", "item"].edge_index.tolist() == [[0, 0, 1], [0, 0, 1]] and data["user", "item"].behavior.tolist() == [0, 2, 3]
    assert data["item", "category"].edge_index.tolist() == [[0, 1], [0, 0]]


# ---- knowledge and events ----


def test_knowledge(make):
    data = make(files.wordnet, "WordNet18")[0]
    assert (
        edges(data) == [[0, 0, 3, 3], [1, 2, 0, 1]]
        and data.edge_type.tolist() == [2, 5, 1, 0]
        and data.val_mask.tolist() == [False, True, False, False]
    )


def test_knowledge_by_names(make):
    data = make(files.wordnet_rr, "WordNet18RR")[0]
    assert data.num_nodes == 3
    names = {"a": 0, "c": 1, "b": 2}
    wanted = sorted([(names["a"], names["b"], 3), (names["c"], names["a"], 0), (names["b"], names["c"], 2), (names["a"], names["c"], 10)])
    assert sorted(zip(*edges(data), data.edge_type.tolist())) == wanted


def test_freebase(make):
    data = make(files.freebase, "FB15k_237", "val")[0]
    assert edges(data) == [[1], [3]] and data.edge_type.tolist() == [0] and data.num_nodes == 4


def test_relations(make):
    dataset = make(files.rel_link, "RelLinkPredDataset", "FB15k-237", place="FB15k-237")
    data = dataset[0]
    assert edges(data) == [[0, 2, 1, 0], [1, 0, 0, 2]] and data.edge_type.tolist() == [0, 1, 2, 3] and dataset.num_relations == 4


def test_jodie(make):
    data = make(files.jodie, "JODIEDataset", "Wikipedia")[0]
    assert isinstance(data, TemporalData) and data.src.tolist() == [0, 1, 0] and data.dst.tolist() == [2, 2, 3] and data.t.tolist() == [0, 36, 40]
    assert data.msg.tolist() == [[0.5, 1.5], [2.5, 3.5], [-1, 0]] and data.y.tolist() == [0, 1, 0]
    data = make(files.myket, "MyketDataset")[0]
    assert data.dst.tolist() == [3, 2] and data.msg.tolist() == [[3, 4, 5], [0, 1, 2]]


def test_icews(make):
    dataset = make(files.icews, "ICEWS18", "train")
    assert len(dataset) == 2 and [int(dataset[1][k].item()) for k in ("sub", "rel", "obj", "t")] == [3, 0, 0, 2] and dataset.num_nodes == 23033
    assert [int(make(files.icews, "GDELT", "test")[0][k].item()) for k in ("sub", "t")] == [4, 7]


def test_a_transform_of_events_sees_all_parts_in_order(make):
    """RENet's history of a test event begins in the training events; the dataset of the other parts is opened without the transform."""

    class Seen:
        def __init__(self):
            self.times = []

        def __call__(self, data):
            data.before = Tensor([len(self.times)])
            self.times.append(int(data.t.item()))
            return data

        def __repr__(self):
            return "Seen()"

    seen = Seen()
    train = make(files.icews, "ICEWS18", "train", pre_transform=seen)
    assert seen.times == [0, 2, 3, 4] and [int(g.before.item()) for g in train] == [0, 1]
    for split, before in (("val", 2), ("test", 3)):
        assert [int(g.before.item()) for g in make(files.icews, "ICEWS18", split)] == [before]


def test_bitcoin(make):
    dataset = make(files.bitcoin, "BitcoinOTC", 1)
    # 13.8 days a window; the event after the pause opens one window only, and the next one another
    assert len(dataset) == 3 and [g.num_edges for g in dataset] == [2, 1, 1] and edges(dataset[0]) == [[5, 5], [1, 4]]


# ---- molecules ----


def test_qm7b(make):
    dataset = make(files.qm7b, "QM7b")
    assert len(dataset) == 2 and dataset[0].num_nodes == 2 and dataset[0].edge_attr.tolist() == [1, 2, 2, 3] and dataset[1].y.shape == (1, 14)
    assert dataset[1].y.numpy()[0, 0] == 14


def test_md17(make):
    dataset = make(files.md17, "MD17", "ethanol")
    assert len(dataset) == 3 and dataset[1].z.tolist() == [6, 8] and dataset[2].energy.tolist() == [2] and dataset[1].pos.tolist()[0] == [6, 7, 8]
    assert dataset.mean() == 1.0
    with pytest.raises(ValueError, match="train"):
        datasets.MD17(name="ethanol", train=True)


def test_zinc(make):
    dataset = make(files.zinc, "ZINC", split="val")
    assert (
        len(dataset) == 2
        and dataset[0].edge_attr.tolist() == [1, 1, 2, 2]
        and dataset[0].x.tolist() == [[0], [3], [1]]
        and dataset[1].y.tolist() == [-1.5]
    )
    assert len(make(files.zinc, "ZINC", True, "train")) == 1


def test_aqsol(make):
    dataset = make(files.aqsol, "AQSOL")
    assert len(dataset) == 1 and dataset[0].y.tolist() == [-2.5]


def test_molecule_net(make):
    def line(smiles):
        return Data(x=Tensor.ones(len(smiles), 1), edge_index=Tensor(np.zeros((2, 0), np.int64)))

    dataset = make(files.tox21, "MoleculeNet", "Tox21", from_smiles=line)
    assert len(dataset) == 2 and dataset[0].num_nodes == 3 and np.isnan(dataset[0].y.numpy()).nonzero()[1].tolist() == [3]


def test_multi_shapes(make):
    dataset = make(files.multi_shapes, "BAMultiShapesDataset")
    assert [g.num_edges for g in dataset] == [2, 4] and [int(g.y.item()) for g in dataset] == [0, 1]


@pytest.mark.parametrize(
    "write, name, args, file, change",
    [
        (files.multi_shapes, "BAMultiShapesDataset", (), "BAMultiShapes.pkl", lambda raw: pickle.dumps((*pickle.loads(raw)[:2], 7))),
        (files.bitcoin, "BitcoinOTC", (1,), "soc-sign-bitcoinotc.csv", lambda raw: raw.replace(b",4,", b",1e300,")),
    ],
)
def test_damaged_values_are_errors_that_name_the_file(make, write, name, args, file, change):
    def damaged(folder):
        write(folder)
        path = Path(folder) / file
        path.write_bytes(change(path.read_bytes()))

    with pytest.raises(ValueError, match=file):
        make(damaged, name, *args)


# ---- files of torch.save ----


class GraphObject(dict):
    """A Data object of PyTorch Geometric, with its attributes in a store."""


def saved(folder, name, content):
    """A file as torch.save writes it: tensors are (array)."""
    from test_torch_file import Op, archive

    def instance(kind, state):
        return Op.name(f"torch_geometric.data.{kind}") + b")\x81" + Op.value(state) + b"b"

    raw, table = {}, {np.dtype(np.int64): "Long", np.dtype(np.float32): "Float", np.dtype(bool): "Bool"}

    def convert(x):
        if isinstance(x, np.ndarray):
            key = str(len(raw))
            raw[key] = x.tobytes()
            strides = tuple(s // x.itemsize for s in x.strides)
            return Op.tensor(f"torch.{table[x.dtype]}Storage", key, x.size, x.shape, strides)
        if isinstance(x, GraphObject):
            return instance("data.Data", {"_store": instance("storage.GlobalStorage", {"_mapping": convert(dict(x))}), "other": None})
        if isinstance(x, dict):
            return {k: convert(v) for k, v in x.items()}
        return type(x)(convert(v) for v in x) if isinstance(x, (list, tuple)) else x

    converted = convert(content)
    (folder / name).write_bytes(archive(converted, raw))


def graph(n):
    return {"x": np.ones((n, 2), np.float32), "edge_index": np.array([[0, 1], [1, 0]]), "y": np.array([n])}


def test_superpixels(make):
    dataset = make(lambda f: saved(f, "MNISTSuperpixels.pt", [[graph(2), graph(3)], [graph(4)]]), "MNISTSuperpixels", False)
    assert len(dataset) == 1 and dataset[0].num_nodes == 4


def test_benchmarks(make):
    dataset = make(lambda f: saved(f, "CLUSTER_v2.pt", [[graph(2)], [graph(3)], [graph(4), graph(5)]]), "GNNBenchmarkDataset", "CLUSTER", "test")
    assert [g.num_nodes for g in dataset] == [4, 5]


def test_qm9(make):
    dataset = make(lambda f: saved(f, "qm9_v3.pt", [{**graph(2), "y": np.full((1, 19), k, np.float32)} for k in range(3)]), "QM9")
    assert (
        len(dataset) == 3 and dataset.mean(4) == 1.0 and dataset.std(4) == 1.0 and dataset.atomref(7).shape == (100, 1) and dataset.atomref(0) is None
    )


def test_long_range(make):
    def write(folder):
        one = (np.ones((2, 9), np.int64), np.ones((2, 3), np.int64), np.array([[0, 1], [1, 0]]), np.ones((1, 10), np.float32))
        for part in ("train", "val", "test"):
            saved(folder, f"{part}.pt", [one, one])

    dataset = make(write, "LRGBDataset", "Peptides-func", "val", place="peptides-func")
    assert len(dataset) == 2 and dataset[0].y.shape == (1, 10)


def pickled_tensor(array, shape=None, strides=None, offset=0):
    """A tensor of PyTorch in a pickle that torch.save did not write: its storage is a file of torch.save in it."""
    import struct

    from test_torch_file import Op, legacy

    kind = {"i": "torch.LongStorage", "f": "torch.FloatStorage"}[array.dtype.kind]
    content = legacy(Op.storage(kind, "0", array.size, None), {"0": (array.size, array.tobytes())})
    storage = Op.call("torch.storage._load_from_bytes", b"B" + struct.pack("<I", len(content)) + content)
    strides = tuple(s // array.itemsize for s in array.strides) if strides is None else strides
    hooks = Op.call("collections.OrderedDict")
    return Op.call("torch._utils._rebuild_tensor_v2", storage, offset, array.shape if shape is None else shape, strides, False, hooks)


def molecules(folder, **how):
    from test_torch_file import program

    bonds = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    one = {"atom_type": pickled_tensor(np.array([0, 3, 1])), "bond_type": pickled_tensor(bonds, **how)}
    one["logP_SA_cycle_normalized"] = pickled_tensor(np.array([0.25], np.float32))
    for part in ("train", "val", "test"):
        (folder / f"{part}.pickle").write_bytes(program([one]))
        (folder / f"{part}.index").write_text("0\n")


def test_tensors_in_pickles(make):
    """As the files of ZINC hold them; a view is read by its strides."""
    data = make(molecules, "ZINC")[0]
    assert edges(data) == [[0, 1, 1, 2], [1, 0, 2, 1]] and data.edge_attr.tolist() == [1, 1, 2, 2] and data.y.tolist() == [0.25]


@pytest.mark.parametrize("how", [{"shape": (3, 4)}, {"offset": 1}, {"strides": (4, 1)}, {"shape": (-1, 3)}, {"shape": (3,)}])
def test_tensors_beyond_their_storage(make, how):
    with pytest.raises(ValueError, match="train.pickle"):
        make(lambda folder: molecules(folder, **how), "ZINC")


def test_superpixels_of_images(make):
    import pickle

    def write(folder):
        one = (np.ones((2, 14)), np.ones((2, 2)), np.array([[0, 1], [1, 0]]), [13, 90])
        for part in ("train", "val", "test"):
            (folder / f"{part}.pickle").write_bytes(pickle.dumps([one]))

    assert make(write, "LRGBDataset", "coco-sp", place="coco-sp")[0].y.tolist() == [12, 80]


# ---- shapes ----


def test_modelnet(make):
    dataset = make(files.modelnet, "ModelNet", "10", place="ModelNet10")
    assert len(dataset) == 10 and dataset[3].y.tolist() == [3] and dataset[0].face.tolist() == [[0], [1], [2]] and dataset[0].pos.shape == (4, 3)


def test_quadrangles(tmp_path):
    from polygrad.geometric.io import read_obj, read_off, read_ply, write_off

    files.off(tmp_path / "a.off", quad=True)
    data = read_off(str(tmp_path / "a.off"))
    assert data.face.tolist() == [[0, 0, 0], [1, 1, 2], [2, 2, 3]] and data.pos.tolist()[3] == [0, 0, 1.5]
    write_off(data, str(tmp_path / "b.off"))
    again = read_off(str(tmp_path / "b.off"))
    assert again.face.tolist() == data.face.tolist() and again.pos.tolist() == data.pos.tolist()
    files.ply(tmp_path / "a.ply", binary=True)
    assert read_ply(str(tmp_path / "a.ply")).face.tolist() == [[0, 0, 0], [1, 1, 2], [2, 2, 3]]
    files.ply(tmp_path / "a.ply")
    assert read_ply(str(tmp_path / "a.ply")).face.tolist() == [[0, 0], [1, 2], [2, 3]]
    (tmp_path / "a.obj").write_text("# a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1/1 2/2 3/3\nf -4 -3 -2 -1\n")
    assert read_obj(str(tmp_path / "a.obj")).face.tolist() == [[0, 0, 0], [1, 1, 2], [2, 2, 3]]


def test_text_and_molecules(tmp_path):
    from polygrad import dtypes
    from polygrad.geometric.io import read_sdf, read_txt_array

    (tmp_path / "a.txt").write_text("1,2,3\n4,5,6\n")
    assert read_txt_array(str(tmp_path / "a.txt"), ",", end=2, dtype=dtypes.int64).tolist() == [[1, 2], [4, 5]]
    files.sdf(tmp_path / "a.sdf")
    data = read_sdf(str(tmp_path / "a.sdf"))
    assert edges(data) == [[0, 0, 1, 2], [1, 2, 0, 0]] and data.x.numpy().argmax(1).tolist() == [3, 0, 0] and data.edge_attr.tolist() == [0] * 4


def test_shapes(make):
    data = make(files.shapes, "GeometricShapes")[1]
    assert data.y.tolist() == [1] and np.allclose(data.pos.numpy().mean(0), 0, atol=1e-7)


def test_faust(make):
    dataset = make(files.faust, "FAUST", False)
    assert len(dataset) == 20 and dataset[3].y.tolist() == [3] and dataset[0].face.shape[1] == 3 and dataset[1].face.shape[1] == 2


def test_coma(make):
    dataset = make(files.coma, "CoMA")
    assert len(dataset) == 4 and dataset[3].y.tolist() == [11]


def test_tosca(make):
    assert len(make(files.tosca, "TOSCA")) == 4 and len(make(files.tosca, "TOSCA", ["cat"])) == 3


def test_shapenet(make):
    dataset = make(files.shapenet, "ShapeNet", ["Bag", "Mug"])
    assert len(dataset) == 4 and dataset[1].category.tolist() == [1] and dataset[0].y.tolist() == [4, 5] and dataset.y_mask.shape == (16, 50)
    dataset = make(files.shapenet, "ShapeNet", "Bag", False, "test")
    assert len(dataset) == 1 and dataset[0].x is None and dataset.num_classes == 50


# ---- OGB ----


def test_ogb_sets(tmp_path):
    files.ogb_graphs(tmp_path / "ogbg_molhiv")
    dataset = datasets.OGBGraphDataset("ogbg-molhiv", tmp_path)
    assert len(dataset) == 2 and edges(dataset[1]) == [[0, 1, 2, 1], [1, 0, 1, 2]] and dataset[1].edge_attr.tolist() == [[2], [2], [3], [3]]
    assert dataset[1].num_nodes == 3 and np.isnan(dataset[1].y.numpy()).all() and dataset[0].x.tolist() == [[1, 0], [2, 0]]
    assert {k: v.tolist() for k, v in dataset.get_idx_split().items()} == {"train": [0], "valid": [1], "test": [0]} and dataset.num_tasks == 1


def test_ogb_links(tmp_path):
    raw = {"num-node-list": "3\n", "num-edge-list": "2\n", "edge": "0,1\n1,2\n", "node-feat": "1,0\n2,0\n3,0\n", "edge_weight": "1\n4\n"}
    files.text(tmp_path / "ogbl_collab", **{f"raw/{k}.csv.gz": v for k, v in raw.items()})
    (tmp_path / "ogbl_collab" / "split" / "time").mkdir(parents=True)
    for part in ("train", "valid", "test"):
        saved(tmp_path / "ogbl_collab" / "split" / "time", f"{part}.pt", {"edge": np.array([[0, 1]]), "weight": np.array([3])})
    dataset = datasets.OGBLinkDataset("ogbl-collab", tmp_path)
    assert edges(dataset[0]) == [[0, 1, 1, 2], [1, 0, 2, 1]] and dataset[0].edge_weight.tolist() == [[1], [1], [4], [4]]
    assert dataset.get_edge_split()["valid"]["edge"].tolist() == [[0, 1]]


# ---- damage ----


@pytest.mark.parametrize(
    "writer, kind, args, place, name, content",
    [
        (files.geom_gcn, "WebKB", ("texas",), "texas", "out1_graph_edges.txt", "a\tb\n0\t9\n"),
        (files.actor, "Actor", (), "", "out1_node_feature_label.txt", "h\n0\t1,-3\t0\n1\t0\t1\n2\t3\t1\n"),
        (files.wikics, "WikiCS", (), "", "data.json", "{"),
        (files.airports, "Airports", ("brazil",), "", "brazil-airports.edgelist", "10 99\n"),
        (files.saint, "Flickr", (), "", "role.json", '{"tr": [7], "va": [], "te": []}'),
        (files.ppi, "PPI", (), "", "train_graph.json", '{"links": [{"source": 0, "target": 4}]}'),
        (files.hgb, "HGBDataset", ("acm",), "", "link.dat", "0\t1\t0\t1\n"),
        (files.ml1m, "MovieLens1M", (), "", "ratings.dat", "1::77::5::1\n"),
        (files.wordnet_rr, "WordNet18RR", (), "", "test.txt", "a\t_none\tb\n"),
        (files.jodie, "JODIEDataset", ("wikipedia",), "", "wikipedia.csv", "head\n0,-1,5,0\n"),
        (files.elliptic, "EllipticBitcoinDataset", (), "", "elliptic_txs_classes.csv", "txId,class\n230,3\n"),
        (files.zinc, "ZINC", (True,), "", "train.index", "5\n"),
        (files.tosca, "TOSCA", (), "", "cat0.tri", "1 2 9\n"),
        (files.modelnet, "ModelNet", ("10",), "ModelNet10", "bed/train/bed_0001.off", "OFF\n3 1 0\n0 0 0\n"),
        (files.ml100k, "MovieLens100K", (), "", "u.user", "1|x|M|writer|1\n"),
    ],
)
def test_damage(make, writer, kind, args, place, name, content):
    def write(folder):
        writer(folder)
        (folder / name).write_text(content)

    with pytest.raises(ValueError, match=name.rsplit("/", 1)[-1].split(".")[0]):
        make(write, kind, *args, place=place)


def test_pickles_do_not_run(tmp_path, make):
    import os
    import pickle

    class Bomb:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/boom",)

    def write(folder):
        files.zinc(folder)
        (folder / "train.pickle").write_bytes(pickle.dumps([Bomb()]))

    with pytest.raises(ValueError, match="train.pickle"):
        make(write, "ZINC")
    assert not (tmp_path / "boom").exists()


def test_missing_files(tmp_path, monkeypatch, make):
    with pytest.raises(FileNotFoundError, match="adjM.npz"):
        make(lambda f: None, "IMDB")
    with pytest.raises(ValueError, match="cornell, texas, wisconsin"):
        datasets.WebKB(tmp_path, "Harvard")


def test_ppi(make):
    dataset = make(files.ppi, "PPI", "val")
    assert len(dataset) == 2 and edges(dataset[0]) == [[0, 1, 1, 2], [1, 0, 2, 1]] and edges(dataset[1]) == [[0, 1], [1, 0]]
    assert dataset[1].x.tolist() == [[6, 7], [8, 9]]


def test_sparse_matrices_of_graphs_are_kept(make):
    """A transform before saving that makes sparse matrices: what is read again are the same matrices, one of each graph."""
    from polygrad.geometric.loader import DataLoader
    from polygrad.geometric.transforms import ToSparseTensor

    plain = make(files.zinc, "ZINC", place="ZINC")
    for _ in range(2):
        kept = make(files.zinc, "ZINC", place="ZINC", pre_transform=ToSparseTensor(attr="edge_attr"))
        assert len(kept) == len(plain)
        for a, b in zip(plain, kept):
            want = np.zeros((a.num_nodes, a.num_nodes))
            want[tuple(a.edge_index.numpy()[::-1])] = a.edge_attr.numpy()
            assert b.adj_t.sparse_sizes() == want.shape
            np.testing.assert_array_equal(b.adj_t.to_dense().numpy(), want)
        batch = next(iter(DataLoader(kept, batch_size=len(kept))))
        assert batch.adj_t.nnz() == sum(g.num_edges for g in plain)


def test_a_sparse_matrix_ends():
    from polygrad.geometric import SparseTensor

    assert len(list(SparseTensor.eye(3))) == 3
    with pytest.raises(IndexError, match="out of range"):
        SparseTensor.eye(3)[3]
