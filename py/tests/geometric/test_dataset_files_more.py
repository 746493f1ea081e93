"""More datasets on small files of their formats: what is read is what was written, and what is damaged is refused."""

import gzip
import shutil
from pathlib import Path

import dataset_files as old
import dataset_files_more as files
import numpy as np
import pytest
from test_dataset_files import GraphObject, edges, make, saved  # noqa: F401 - make is a fixture

from polygrad import Tensor
from polygrad.geometric import datasets
from polygrad.geometric.data import Data
from polygrad.geometric.datasets import _columns
from polygrad.geometric.datasets._hdf5 import File
from polygrad.geometric.loader import DataLoader

F32 = np.float32


# ---- sets of graphs ----


def test_airfrans(make):  # noqa: F811
    def write(folder):
        graphs = [{"pos": np.full((2, 2), k, F32), "x": np.zeros((2, 5), F32), "y": np.ones((2, 4), F32)} for k in range(3)]
        saved(folder, "AirfRANS.pt", graphs)
        files.text(folder, **{"manifest.json": '{"full_train": ["a", "b"], "full_test": ["c"], "scarce_train": ["b"]}'})

    assert make(write, "AirfRANS", "scarce")[0].pos.tolist() == [[1, 1], [1, 1]]
    assert make(write, "AirfRANS", "scarce", False)[0].pos.tolist() == [[2, 2], [2, 2]]  # the test is that of the full task


def test_genes(make):  # noqa: F811
    def write(folder):
        files.text(folder, **{"graph_idx.csv": ",g1,g2,g3\n0,1,2,3\n1,4,5,6\n", "graph_labels.csv": "10.5\n3\n"})
        saved(folder, "edge_index.pt", np.array([[0, 2], [1, 0]]))

    dataset = make(write, "BrcaTcga")
    assert dataset[1].x.tolist() == [[4], [5], [6]] and dataset[0].y.tolist() == [10.5] and edges(dataset[1]) == [[0, 2], [1, 0]]


def test_malnet(make):  # noqa: F811
    assert [int(g.y.item()) for g in make(files.malnet, "MalNetTiny")] == [0, 1, 0, 2]
    some = make(files.malnet, "MalNetTiny", "trainval")
    assert [g.num_nodes for g in some] == [3, 4, 3]
    assert [int(g.y.item()) for g in make(files.malnet, "MalNetTiny", "test")] == [2]


def test_brains(make):  # noqa: F811
    joined = GraphObject(x=np.arange(10, dtype=F32).reshape(5, 2), edge_index=np.array([[0, 1, 0], [1, 0, 2]]), y=np.array([1, 0]))
    slices = {"x": np.array([0, 2, 5]), "edge_index": np.array([0, 2, 3]), "y": np.array([0, 1, 2])}
    dataset = make(lambda f: saved(f, "HCPAge.pt", (joined, slices)), "NeuroGraphDataset", "HCPAge", place="HCPAge")
    assert (
        len(dataset) == 2 and dataset[1].x.tolist() == [[4, 5], [6, 7], [8, 9]] and edges(dataset[1]) == [[0], [2]] and dataset[0].y.tolist() == [1]
    )


def test_upfd(make):  # noqa: F811
    data = make(files.upfd, "UPFD", "politifact", "profile", place="politifact")[0]
    assert edges(data) == [[0, 0], [1, 2]] and data.x.tolist() == [[4, 5], [6, 7], [8, 9]] and data.y.tolist() == [0]
    assert len(make(files.upfd, "UPFD", "politifact", "profile", "test", place="politifact")) == 2


def test_ged(make):  # noqa: F811
    dataset = make(files.ged, "GEDDataset", "AIDS700nef", place="AIDS700nef")
    assert [g.num_nodes for g in dataset] == [2, 3] and edges(dataset[1]) == [[0, 1, 1, 2], [1, 0, 2, 1]] and dataset[1].i == 1
    assert dataset[0].x.numpy().argmax(axis=1).tolist() == [2, 0]
    np.testing.assert_array_equal(dataset.ged.numpy(), [[0, 2, np.inf], [2, np.inf, 4], [np.inf, 4, np.inf]])
    assert dataset.norm_ged.numpy()[0, 1] == F32(0.8)
    test = make(files.ged, "GEDDataset", "AIDS700nef", False, place="AIDS700nef")
    assert test[0].num_edges == 0 and test[0].i == 2 and test.ged.shape == (3, 3)


def test_gexf_without_entities(tmp_path):
    from polygrad.geometric.datasets.graph_sets import read_gexf

    path = tmp_path / "a.gexf"
    path.write_text('<!DOCTYPE x [<!ENTITY a "b">]><gexf>&a;</gexf>')
    with pytest.raises(ValueError, match="entities"):
        read_gexf(str(path))


# ---- knowledge ----


def test_dbp15k(make):  # noqa: F811
    data = make(files.dbp15k, "DBP15K", "en_fr", valid=False)[0]
    assert data.x1.tolist() == [[[1, 0], [0, 1]], [[0.5, 0.5], [0, 0]]] and data.x2.tolist() == [[[0, 1]], [[0.5, 0.5]]]
    assert data.edge_index1.tolist() == [[0, 1], [1, 0]] and data.rel1.tolist() == [1, 0] and data.edge_index2.tolist() == [[1], [0]]
    assert data.train_y.tolist() == [[0], [1]] and data.test_y.tolist() == [[1], [0]]


def test_wikidata(make):  # noqa: F811
    def write(folder):
        (folder / "wikidata5m_text.txt.gz").write_bytes(gzip.compress(b"Q1\ta text\nQ2\tanother\nQ3\tc\n"))
        saved(folder, "download", np.eye(3, dtype=F32))
        for part, triples in (("train", "Q3\tP7\tQ1\nQ1\tP9\tQ2\n"), ("valid", "Q1\tP7\tQ3\n"), ("test", "")):
            files.text(folder, **{f"wikidata5m_inductive_{part}.txt": triples})

    data = make(write, "Wikidata5M", "inductive")[0]
    assert edges(data) == [[2, 0, 0], [0, 1, 2]] and data.edge_type.tolist() == [0, 1, 0] and data.val_mask.tolist() == [False, False, True]


# ---- networks ----


def test_snap(make):  # noqa: F811
    dataset = make(files.ego, "SNAPDataset", "ego-facebook", place="ego-facebook")
    data = dataset[0]
    assert len(dataset) == 1 and data.x.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]  # features of all people, in their order
    assert edges(data) == [[0, 0, 1, 2, 2], [1, 2, 2, 0, 1]] and data.circle.tolist() == [0, 2] and data.circle_batch.tolist() == [0, 0]
    batch = next(iter(DataLoader([data, data], batch_size=2)))
    assert batch.circle.tolist() == [0, 2, 3, 5] and batch.circle_batch.tolist() == [0, 0, 1, 1]
    lines = "# a\n# b\n# c\n# d\n5\t2\n2\t9\n2\t9\n"
    data = make(lambda f: files.text(f, **{"wiki-Vote.txt": lines}), "SNAPDataset", "wiki-vote", place="wiki-vote")[0]
    assert edges(data) == [[0, 1], [2, 0]] and data.num_nodes == 3
    data = make(lambda f: files.text(f, **{"ca-GrQc.txt": lines}), "SNAPDataset", "soc-ca-grqc", place="soc-ca-grqc")[0]
    assert edges(data) == [[2, 5], [9, 2]] and data.num_nodes == 10


def test_suite_sparse(make):  # noqa: F811
    data = make(files.suite_sparse, "SuiteSparseMatrixCollection", "Group", "small", place="Group/small")[0]
    assert edges(data) == [[0, 1, 2], [1, 2, 0]] and data.edge_attr.tolist() == [2, 1, 4] and data.num_nodes == 3


def test_city(make):  # noqa: F811
    def write(folder):
        names = {"node_features": np.eye(2, dtype=F32), "edge_indices": np.array([[0, 1], [1, 0]]), "10-chunk_16-hop_node_labels": np.array([3, 4])}
        names |= {f"{p}_mask": np.array([p == "train", p == "test"]) for p in ("train", "valid", "test")}
        for name, value in names.items():
            saved(folder, f"{name}.pt", value)

    data = make(write, "CityNetwork", "Paris", False, place="paris")[0]
    assert data.y.tolist() == [3, 4] and data.test_mask.tolist() == [False, True] and not data.val_mask.numpy().any()


def test_gdelt_lite(make):  # noqa: F811
    def write(folder):
        saved(folder, "node_features.pt", np.eye(3, dtype=F32))
        saved(folder, "edge_features.pt", np.ones((2, 4), F32))
        files.text(folder, **{"edges.csv": ",src,dst,time\n0,0,2,5\n1,1,0,7\n"})

    data = make(write, "GDELTLite")[0]
    assert edges(data) == [[0, 1], [2, 0]] and data.time.tolist() == [5, 7] and data.edge_attr.shape == (2, 4)


def test_hypergraphs(make):  # noqa: F811
    def write(folder):
        for part in ("train", "val", "test"):
            files.text(folder, **{f"{part}_df.csv": f'nodes,timestamp\n"[3, 1]",{len(part)}\n"[0]",9\n'})

    dataset = make(write, "CornellTemporalHyperGraphDataset", "email-Eu", "val", place="email-Eu/transductive", valid=False)
    assert len(dataset) == 2 and edges(dataset[0]) == [[3, 1], [0, 0]] and dataset[0].x.tolist() == [[3]] and edges(dataset[1]) == [[0], [1]]
    assert type(dataset[0]).__name__ == "HyperGraphData"


# ---- several types ----


def test_fashion(make):  # noqa: F811
    data = make(files.customers, "HM")[0]
    assert data["customer"].x.tolist() == [[0, 1, 1, 0, 1, 0, 1], [1, 0, 0, 1, 0, 1, 1]]  # a missing age is the mean
    edge = data["customer", "to", "article"]
    assert edge.edge_index.tolist() == [[1, 0, 1], [0, 1, 1]] and edge.time.tolist() == [2, 3, 3] and edge.edge_attr.tolist()[1] == [1, 0, 0.25]
    assert data["article"].x.shape == (2, 38) and data["article"].x.tolist()[0][:2] == [1, 0]  # 2 before 10
    data = make(files.customers, "HM", True)[0]
    assert data["transaction", "rev_to", "article"].edge_index.tolist() == [[0, 1, 2], [0, 1, 1]] and data["transaction"].x.shape == (3, 3)


def test_rcdd(make):  # noqa: F811
    data = make(files.rcdd, "RCDD")[0]
    assert data["item"].x.tolist() == [[1, 2], [3, 4]] and data["item", "A", "b"].edge_index.tolist() == [[1], [0]]
    assert data["item"].y.tolist() == [0, 1] and data["item"].train_mask.tolist() == [False, True] and data["b", "A_1", "item"].num_edges == 1


def test_machines(make):  # noqa: F811
    data = make(files.machines, "OSE_GVCS")[0]
    assert data["machine"].num_nodes == 50 and data["machine", "uses", "machine"].edge_index.tolist() == [[0, 1], [1, 1]]


def test_power(make):  # noqa: F811
    place = "dataset_release_1/pglib_opf_case14_ieee"
    dataset = make(files.opf, "OPFDataset", num_groups=1, place=place)
    data = dataset[1]
    assert (
        len(dataset) == 2
        and data["bus"].x.tolist() == [[1, 13499], [2, 13499]]
        and data["bus", "load_link", "load"].edge_index.tolist() == [[1], [0]]
    )
    assert data.x.tolist() == [100] and data["bus", "ac_line", "bus"].edge_label.tolist() == [[1], [2]]
    assert [len(make(files.opf, "OPFDataset", s, num_groups=1, place=place)) for s in ("val", "test")] == [1, 1]


# ---- points ----


def test_pcpnet(make):  # noqa: F811
    dataset = make(files.pcpnet, "PCPNetDataset", "Noisy")
    assert len(dataset) == 2 and dataset[0].x.tolist() == [[0, 0, 1, 0.5, 1], [0, 1, 0, 2, 3]] and dataset[0].test_idx.tolist() == [1]
    assert len(make(files.pcpnet, "PCPNetDataset", "All", "test")) == 1


def test_pascal(make):  # noqa: F811
    dataset = make(files.pascal, "PascalPF", "Bird")
    assert [g.name for g in dataset] == ["a2", "b1"] and dataset.pairs == [(1, 0), (0, 0)]
    assert dataset[1].y.tolist() == [0, 2] and dataset[1].pos.tolist() == [[-1, 0], [1, 0]]


def test_shrec(make):  # noqa: F811
    dataset = make(files.shrec, "SHREC2016", "cuts", "cat")
    assert [g.y.tolist() for g in dataset] == [[1, 0], [9, 0]] and dataset[0].y_baryc.tolist()[0] == [0.5, 0.5, 0]  # by number, not by text
    assert dataset.ref.face.shape[0] == 3 and dataset.ref.pos.shape[1] == 3
    assert len(make(files.shrec, "SHREC2016", "cuts", "cat", False)) == 1


def test_organs(make):  # noqa: F811
    dataset = make(files.organs, "MedShapeNet", 1)
    assert [int(g.y.item()) for g in dataset] == list(range(8)) and dataset[0].face.tolist() == [[0], [1], [2]]


def test_teeth(make):  # noqa: F811
    data = make(files.teeth, "Teeth3DS", "sample", num_samples=3)[0]
    assert data.pos.shape == (3, 3) and data.x.tolist() == [[0, 0, 1]] * 3 and data.jaw == "lower" and data.cusp.tolist() == [[1, 2, 3], [4, 5, 6]]
    at = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert data.y.tolist() == [[0, 11, 12, 13][at.index(p)] for p in data.pos.tolist()] and data.mesial.shape == (0, 3)
    assert make(files.teeth, "Teeth3DS", "sample", num_samples=9)[0].num_nodes == 9


# ---- molecules ----


def test_crystals(make):  # noqa: F811
    dataset = make(files.omdb, "OMDB")
    assert dataset[1].z.tolist() == [8, 1, 1] and dataset[1].pos.tolist()[0] == [0, 0, 0.5] and dataset[1].y.tolist() == [2.5]


def test_water(make):  # noqa: F811
    dataset = make(files.water, "HydroNet", clusters=3, use_processed=False)
    assert len(dataset) == 2 and dataset[1].y.tolist() == [-2.5] and dataset[0].z.tolist() == [8, 1, 1] * 3
    dataset = make(files.water, "HydroNet", clusters=[4])
    assert len(dataset) == 2 and dataset[0].pos.shape == (12, 3)


def test_molecules_on_disk(tmp_path):
    raw = tmp_path / "raw" / "pcqm4m-v2"
    (raw / "raw").mkdir(parents=True)
    (raw / "raw" / "data.csv.gz").write_bytes(gzip.compress(b"idx,smiles,homolumogap\n0,CC,1.5\n1,O,2.5\n2,CCO,\n"))
    saved(raw, "split_dict.pt", {"train": np.array([1, 0]), "valid": np.array([0]), "test-dev": np.array([2]), "test-challenge": np.array([2])})

    def chain(smiles):
        return Data(x=Tensor(np.full((len(smiles), 9), len(smiles))), edge_index=Tensor(np.zeros((2, 0), np.int64)), smiles=smiles)

    train = datasets.PCQM4Mv2(str(tmp_path), from_smiles=chain)
    assert [g.y for g in train] == [2.5, 1.5] and train[1].smiles == "CC" and len(train) == 2
    assert np.isnan(datasets.PCQM4Mv2(str(tmp_path), "test", from_smiles=chain)[0].y)
    train.close()


# ---- tables ----


@pytest.mark.parametrize("kind", ["standard_scaler", "min_max_scaler", "quantile_transform_normal", "quantile_transform_uniform"])
def test_scalers(kind):
    from sklearn import preprocessing as sk

    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal((300, 4)), 1)
    x[:, 2] = 3.0
    x[5, 0] = np.nan
    theirs = {
        "standard_scaler": sk.StandardScaler(), "min_max_scaler": sk.MinMaxScaler(),
        "quantile_transform_normal": sk.QuantileTransformer(n_quantiles=200, output_distribution="normal", subsample=None),
        "quantile_transform_uniform": sk.QuantileTransformer(n_quantiles=200, subsample=None),
    }[kind]  # fmt: skip
    np.testing.assert_allclose(_columns.SCALERS[kind](x[:200])(x), theirs.fit(x[:200]).transform(x), rtol=1e-6, atol=1e-7)


def test_missing_and_categories():
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    x = np.array([[1, np.nan], [2, 5], [2, 5], [1, 7], [np.nan, 7]])
    for how in ("most_frequent", "mean", "median"):
        np.testing.assert_array_equal(_columns.filled(x, how)(x), SimpleImputer(strategy=how).fit_transform(x))
    kinds = np.array([[0, 3], [1, 4], [2, 3], [1, 9]])
    theirs = OneHotEncoder(drop="if_binary", sparse_output=False, handle_unknown="ignore").fit(kinds[:3]).transform(kinds)
    np.testing.assert_array_equal(_columns.one_hot_encoding(kinds[:3])(kinds), theirs)


def test_graphland(make):  # noqa: F811
    table, kinds = {}, {}

    def write(folder):
        table[0], kinds[0] = files.graphland(folder)

    data = make(write, "GraphLandDataset", "artnet-views", "RL", "standard_scaler", None, place="artnet-views")[0]
    a = table[0][:, 0]
    np.testing.assert_allclose(data.x.numpy()[:, 0], (a - a.mean()) / a.std(), rtol=1e-5)
    np.testing.assert_allclose(data.x.numpy()[:, 2], table[0][:, 2], rtol=1e-6)
    width = np.unique(kinds[0][:, 0]).size
    np.testing.assert_array_equal(data.x.numpy()[:, 3 : 3 + width].argmax(axis=1), kinds[0][:, 0])
    assert data.x_numerical_mask.numpy().sum() == 2 and data.x_fraction_mask.tolist()[2] and data.x_categorical_mask.numpy().sum() == width + 1
    assert edges(data) == [[0, 1, 1, 2, 3, 3, 5, 11], [3, 2, 3, 1, 0, 1, 11, 5]]
    assert not data.test_mask.tolist()[5] and np.isnan(data.y.numpy()[5]) and data.train_mask.tolist()[:4] == [True, False, False, True]
    parts = make(write, "GraphLandDataset", "artnet-views", "THI", place="artnet-views")
    assert [g.num_nodes for g in parts] == [4, 8, 12] and [g["snapshot"] for g in parts] == ["train", "val", "test"]
    assert edges(parts[0]) == [[0, 1], [1, 0]] and parts[1].cross_snapshot_node_id.tolist() == [0, 1, 3, 4, 6, 7, 9, 10]


# ---- HDF5 ----


def test_hdf5_of_the_library():
    """A file that the HDF5 library wrote: chunks with shuffle, deflate and checksums, big-endian numbers, a group."""
    file = File(str(Path(__file__).parents[1] / "data" / "library.h5"))
    want = np.arange(350).reshape(50, 7) * 0.5
    assert sorted(file.keys()) == ["chunked", "inner", "plain"]
    np.testing.assert_array_equal(file.array("chunked"), want)
    np.testing.assert_array_equal(file.array("plain"), want)
    np.testing.assert_array_equal(file.array("inner/ints"), want.astype(int))
    with pytest.raises(ValueError, match="no array 'other'"):
        file.array("other")


def test_ratings_in_hdf5(make):  # noqa: F811
    data = make(files.igmc, "IGMCDataset", "Douban", place="douban")[0]
    rates = data["user", "rates", "item"]
    assert rates.edge_index.tolist() == [[0, 1], [0, 1]] and rates.rating.tolist() == [5, 4] and rates.edge_label_index.tolist() == [[0], [2]]
    assert rates.edge_label.tolist() == [3] and data["item"].x.shape == (3, 3)


def test_rooms(make):  # noqa: F811
    dataset = make(files.rooms, "S3DIS", 6)
    assert [g.y.tolist()[0] for g in dataset] == [0, 8] and dataset[1].pos.tolist()[0] == [72, 73, 74] and dataset[0].x.shape == (4, 6)
    assert [g.y.tolist()[0] for g in make(files.rooms, "S3DIS", 6, False)] == [4]


def test_people_in_motion(make):  # noqa: F811
    dataset = make(files.people, "DynamicFAUST", valid=False)
    assert len(dataset) == 2 and dataset[0].pos.shape == (2, 4, 3) and dataset[0].pos.tolist()[1][0] == [1, 3, 5] and dataset[1].num_nodes == 4
    assert dataset[0].face.tolist() == [[0, 1], [1, 2], [2, 3]]


@pytest.mark.parametrize("kind, archive", [("FAUST", "MPI-FAUST.zip"), ("CoMA", "COMA_data.zip"), ("DGraphFin", "DGraphFin.zip")])
def test_archives_put_there_by_hand(make, tmp_path, kind, archive):  # noqa: F811
    """Those that ask for a registration are read from the archive that a user put into the folder."""

    def write(folder):
        inner = tmp_path / "inner" / ("MPI-FAUST/training/registrations" if kind == "FAUST" else ".")
        inner.mkdir(parents=True)
        {"FAUST": old.faust, "CoMA": old.coma, "DGraphFin": old.dgraph}[kind](inner)
        shutil.make_archive(str(folder / archive[:-4]), "zip", tmp_path / "inner")

    assert len(make(write, kind)) == {"FAUST": 80, "CoMA": 4, "DGraphFin": 1}[kind]
