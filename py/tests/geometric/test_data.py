"""Graphs as objects: attributes, sizes, parts, batches, files, loaders."""

import copy
import pickle
import threading

import networkx as nx
import numpy as np
import pytest

from polygrad import Tensor
from polygrad.geometric.data import NODE_INDEX, Batch, Data, HeteroData, InMemoryDataset, Join, TemporalData
from polygrad.geometric.data.collate import Pile
from polygrad.geometric.loader import DataLoader

rng = np.random.default_rng(0)


def graph(nodes, edges, **more):
    return Data(
        x=Tensor(rng.random((nodes, 3), np.float32)),
        edge_index=Tensor(rng.integers(0, nodes, (2, edges))),
        edge_attr=Tensor(rng.random((edges, 2), np.float32)),
        y=Tensor([nodes % 2]),
        **more,
    )


def typed(authors, papers):
    data = HeteroData()
    data["author"].x = Tensor(rng.random((authors, 2), np.float32))
    data["paper"].x = Tensor(rng.random((papers, 3), np.float32))
    data["paper"].y = Tensor(np.arange(papers))
    data["author", "writes", "paper"].edge_index = Tensor(np.stack([rng.integers(0, authors, 6), rng.integers(0, papers, 6)]))
    data["author", "writes", "paper"].edge_attr = Tensor(rng.random((6, 2), np.float32))
    data["paper", "cites", "paper"].edge_index = Tensor(rng.integers(0, papers, (2, 5)))
    data.name = "library"
    return data


def values(value):
    """Anything as plain arrays and values, for comparisons."""
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {k: values(v) for k, v in value.items()}
    return [values(v) for v in value] if isinstance(value, (list, tuple)) else value


def same(a, b):
    np.testing.assert_equal(values(a.to_dict()), values(b.to_dict()))


# ---- one graph ----


def test_attributes_are_read_and_written_by_name():
    data = graph(4, 7, note="here")
    assert data.keys() == ["x", "edge_index", "edge_attr", "y", "note"] and len(data) == 5
    assert data["note"] == data.note == "here" and "note" in data and "pos" not in data
    assert data.pos is None
    data.extra = Tensor([1.0])
    data["other"] = 3
    del data.note
    data.extra = None
    assert data.keys() == ["x", "edge_index", "edge_attr", "y", "other"]
    with pytest.raises(AttributeError, match="nothing"):
        _ = data.nothing
    with pytest.raises(AttributeError, match="num_edges"):
        data.num_edges = 5
    assert dict(data("x", "other", "none")).keys() == {"x", "other"}
    assert Data.from_dict(data.to_dict()).keys() == data.keys()
    assert data.to_namedtuple().other == 3


def test_sizes():
    data = graph(4, 7)
    assert (data.num_nodes, data.num_edges, data.num_features, data.num_edge_features) == (4, 7, 3, 2)
    assert data.size() == (4, 4)
    assert data.node_attrs() == ["x"] and data.edge_attrs() == ["edge_index", "edge_attr"]
    assert Data().num_nodes is None and Data().num_edges == 0
    with pytest.warns(UserWarning, match="num_nodes"):
        assert Data(edge_index=Tensor([[0], [3]])).num_nodes == 4
    assert Data(edge_index=Tensor([[0], [3]]), num_nodes=9).num_nodes == 9
    square = Data(x=Tensor.ones(2, 1), edge_index=Tensor([[0, 1], [1, 0]]), edge_attr=Tensor.ones(2, 1), y=Tensor([0, 1]))
    assert square.node_attrs() == ["x", "y"] and square.edge_attrs() == ["edge_index", "edge_attr"]


def test_text_shows_sizes():
    data = graph(4, 7, note="a", number=3, scalar=Tensor(2.0), parts=[1, 2])
    assert repr(data) == "Data(x=[4, 3], edge_index=[2, 7], edge_attr=[7, 2], y=[1], note='a', number=3, scalar=2.0, parts=[2])"
    assert repr(Data()) == "Data()" and repr(HeteroData()) == "HeteroData()"
    assert "d={\n    a=[2],\n    b=[3],\n  }" in repr(Data(d={"a": Tensor([1, 2]), "b": Tensor([1, 2, 3])}))


def test_copies_are_apart():
    data = graph(4, 7)
    shallow, deep = copy.copy(data), data.clone()
    shallow.x = None
    assert data.x is not None and shallow.y is data.y
    deep.y.assign(Tensor([5])).realize()
    assert data.y.tolist() == [0]
    same(pickle.loads(pickle.dumps(data)), data)
    assert data.to("INTERP").x.shape == (4, 3)


def test_validate_names_what_is_wrong():
    assert graph(4, 7).validate()
    cases = [
        (Data(edge_index=Tensor([[0, 5], [1, 1]]), num_nodes=4), "5, but there are 4"),
        (Data(edge_index=Tensor([[0, -2], [1, 1]]), num_nodes=4), "negative indices, such as -2"),
        (Data(edge_index=Tensor([0, 1]), num_nodes=4), "shape"),
        (Data(edge_index=Tensor([[0.5], [1.0]]), num_nodes=4), "whole numbers"),
        (Data(edge_index=[[0], [1]], num_nodes=4), "list"),
        (Data(x=Tensor.ones(4, 1), edge_index=Tensor([[0], [1]]), edge_attr=Tensor.ones(3, 1)), "3 rows, but there are 1 edges"),
        (Data(y=Tensor([1])), "num_nodes"),
    ]
    for data, text in cases:
        with pytest.raises(ValueError, match=text):
            data.validate()
        with pytest.warns(UserWarning, match=text):
            assert not data.validate(raise_on_error=False)
    typed_data = typed(3, 4)
    assert typed_data.validate()
    typed_data["writes"].edge_index = Tensor([[3], [0]])
    with pytest.raises(ValueError, match="3 source nodes"):
        typed_data.validate()


def test_questions_about_edges():
    there = Data(edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=4)
    assert there.is_undirected() and not there.has_self_loops() and there.has_isolated_nodes()
    assert not Data(edge_index=Tensor([[0, 1], [1, 2]]), num_nodes=3).is_undirected()
    loop = Data(edge_index=Tensor([[0, 1], [0, 1]]), num_nodes=2)
    assert loop.has_self_loops() and loop.has_isolated_nodes() and loop.is_undirected()
    weighted = Data(edge_index=Tensor([[0, 1], [1, 0]]), edge_attr=Tensor([1.0, 2.0]), num_nodes=2)
    assert weighted.is_directed()


def test_coalesce_and_sort():
    data = Data(edge_index=Tensor([[2, 0, 2, 1], [0, 1, 0, 2]]), edge_attr=Tensor([[1.0], [2.0], [4.0], [8.0]]), num_nodes=3)
    assert not data.is_coalesced() and not data.is_sorted()
    out = data.coalesce()
    assert out.edge_index.tolist() == [[0, 1, 2], [1, 2, 0]] and out.edge_attr.tolist() == [[2.0], [8.0], [5.0]]
    assert out.is_coalesced() and data.num_edges == 4
    by_target = data.sort(sort_by_row=False)
    assert by_target.edge_index.tolist() == [[2, 2, 0, 1], [0, 0, 1, 2]] and by_target.is_sorted(sort_by_row=False)
    assert by_target.edge_attr.tolist() == [[1.0], [4.0], [2.0], [8.0]]


def test_parts():
    data = Data(
        x=Tensor([[0.0], [1.0], [2.0], [3.0]]),
        edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]),
        edge_weight=Tensor([10.0, 11.0, 12.0, 13.0]),
        train_mask=Tensor([True, False, True, False]),
        mark="m",
    )
    part = data.subgraph(Tensor([2, 1]))
    assert part.x.tolist() == [[2.0], [1.0]] and part.edge_index.tolist() == [[1], [0]] and part.edge_weight.tolist() == [11.0]
    assert part.train_mask.tolist() == [True, False] and part.mark == "m"
    same(data.subgraph(Tensor([False, True, True, False])), data.subgraph([1, 2]))
    assert data.edge_subgraph(Tensor([3, 0])).edge_weight.tolist() == [13.0, 10.0]
    with pytest.raises(IndexError, match="7"):
        data.subgraph([7])
    two = Data(x=Tensor.ones(5, 1), edge_index=Tensor([[0, 3], [4, 1]]))
    assert [c.num_nodes for c in two.connected_components()] == [2, 2, 1]


def test_time():
    data = Data(x=Tensor([[0.0], [1.0], [2.0]]), time=Tensor([5, 1, 3]), edge_index=Tensor([[0], [1]]))
    assert data.sort_by_time().x.tolist() == [[1.0], [2.0], [0.0]]
    assert data.snapshot(2, 5).time.tolist() == [5, 3] and data.up_to(3).time.tolist() == [1, 3]


# ---- several types ----


def test_types_are_found_by_what_names_them():
    data = typed(3, 4)
    assert data.metadata() == (["author", "paper"], [("author", "writes", "paper"), ("paper", "cites", "paper")])
    assert data["writes"] is data["author", "paper"] is data["author", "writes", "paper"]
    assert data["new", "paper"]._key == ("new", "to", "paper")
    del data["new", "paper"]
    assert set(data.x_dict) == {"author", "paper"} and set(data.edge_index_dict) == set(data.edge_types)
    assert data.name == "library" and data.num_nodes == 7 and data.num_edges == 11
    assert data["author"].num_features == 2 and data.num_node_features == {"author": 2, "paper": 3}
    with pytest.raises(KeyError, match="zzz"):
        _ = data.zzz_dict
    with pytest.raises(AttributeError):
        data.author = 3
    with pytest.raises(TypeError, match="edge type"):
        data["a", "b", "c", "d"]
    same(HeteroData.from_dict(data.to_dict()), data)
    same(HeteroData({"author": {"x": data["author"].x}, ("author", "writes", "paper"): {"edge_index": data["writes"].edge_index}}),
         HeteroData(author={"x": data["author"].x}, author__writes__paper={"edge_index": data["writes"].edge_index}))  # fmt: skip


def test_one_type_and_back():
    data = typed(3, 4)
    one = data.to_homogeneous()
    assert one.num_nodes == 7 and one.num_edges == 11 and one.node_type.tolist() == [0] * 3 + [1] * 4
    assert one.x.shape == (7, 3) and np.allclose(one.x.numpy()[:3, 2], 0)  # narrower features are filled with zeros
    assert np.isnan(one.edge_attr.numpy()[6:]).all() and one.y.tolist()[:3] == [-1, -1, -1]
    pairs = data["writes"].edge_index.numpy() + [[0], [3]]
    assert np.array_equal(one.edge_index.numpy()[:, :6], pairs)
    back = one.to_heterogeneous()
    assert back.metadata() == data.metadata()
    for kind in data.edge_types:
        assert np.array_equal(back[kind].edge_index.numpy(), data[kind].edge_index.numpy())


def test_parts_of_types():
    data = typed(3, 4)
    part = data.subgraph({"paper": Tensor([2, 0])})
    assert part["paper"].y.tolist() == [2, 0] and part["author"].num_nodes == 3
    src, dst = data["writes"].edge_index.numpy()
    expect = [(a, {2: 0, 0: 1}[b]) for a, b in zip(src, dst) if b in (0, 2)]
    assert part["writes"].edge_index.numpy().T.tolist() == [list(e) for e in expect]
    assert part["writes"].edge_attr.shape[0] == len(expect)
    assert data.node_type_subgraph(["paper"]).metadata() == (["paper"], [("paper", "cites", "paper")])
    assert data.edge_type_subgraph(["cites"]).node_types == ["paper"]
    assert data.rename("paper", "text")["text"].num_nodes == 4 and ("text", "cites", "text") in data.edge_types


# ---- batches ----


@pytest.mark.parametrize("symbolic", [False, True])
def test_a_batch_and_back(symbolic):
    graphs = [graph(4, 7, name="a", k=1), graph(5, 0, name="b", k=2), graph(1, 3, name="c", k=3)]
    batch = Batch._of(Pile.of(graphs), symbolic=symbolic)
    assert isinstance(batch, Batch) and isinstance(batch, Data) and type(batch).__name__ == "DataBatch"
    assert batch.batch.tolist() == [0] * 4 + [1] * 5 + [2] and batch.ptr.tolist() == [0, 4, 9, 10]
    assert batch.clone().batch._count == batch.clone().detach().batch._count == 3
    assert batch.num_graphs == len(batch) == batch.batch._count == 3 and batch.num_nodes == 10
    joined = np.concatenate([g.edge_index.numpy() + start for g, start in zip(graphs, (0, 4, 9))], axis=1)
    assert np.array_equal(batch.edge_index.numpy(), joined)
    assert batch.name == ["a", "b", "c"] and batch.k.tolist() == [1, 2, 3] and batch.y.tolist() == [0, 1, 1]
    for a, b in zip(batch.to_data_list(), graphs):
        same(a, Data(**{**b.to_dict(), "k": Tensor([b.k])}))
    assert [g.name for g in batch[[2, 0]]] == ["c", "a"] and batch[-1].name == "c"
    with pytest.raises(IndexError, match="3"):
        batch[3]
    if not symbolic:
        same(pickle.loads(pickle.dumps(batch)), batch)


def test_batches_of_types():
    graphs = [typed(3, 4), typed(1, 2)]
    batch = Batch.from_data_list(graphs)
    assert isinstance(batch, HeteroData) and batch.num_graphs == 2 and batch.name == ["library", "library"]
    assert batch["author"].batch.tolist() == [0, 0, 0, 1] and batch["paper"].ptr.tolist() == [0, 4, 6]
    want = np.concatenate([graphs[0]["writes"].edge_index.numpy(), graphs[1]["writes"].edge_index.numpy() + [[3], [4]]], axis=1)
    assert np.array_equal(batch["writes"].edge_index.numpy(), want)
    for a, b in zip(batch.to_data_list(), graphs):
        same(a, b)


def test_increments_are_declared_by_the_class_not_guessed():
    class Pair(Data):
        joins = {"edge_index_t": Join(-1, lambda data, value, store: data.x_t.shape[0]), "whole": Join(None), "anchor": NODE_INDEX}

    pairs = [
        Pair(x=Tensor.ones(n, 1), x_t=Tensor.ones(n + 1, 1), edge_index=Tensor([[0], [1]]), edge_index_t=Tensor([[0], [n]]), whole=Tensor.ones(2, 2), anchor=Tensor([n - 1]))
        for n in (2, 3)
    ]  # fmt: skip
    batch = Batch.from_data_list(pairs)
    assert batch.edge_index.tolist() == [[0, 2], [1, 3]] and batch.edge_index_t.tolist() == [[0, 3], [2, 6]]
    assert batch.whole.shape == (2, 2, 2) and batch.anchor.tolist() == [1, 4]
    for a, b in zip(batch.to_data_list(), pairs):
        same(a, b)
        assert type(a) is Pair

    class Method(Data):
        def __inc__(self, key, value, *args):
            return 10 if key == "ids" else super().__inc__(key, value, *args)

        def __cat_dim__(self, key, value, *args):
            return 1 if key == "wide" else super().__cat_dim__(key, value, *args)

    batch = Batch.from_data_list([Method(ids=Tensor([1]), wide=Tensor.ones(2, k), num_nodes=1) for k in (1, 2)])
    assert batch.ids.tolist() == [1, 11] and batch.wide.shape == (2, 3)

    # a name that looks like an index is no index: it is joined as it is, and said so once
    with pytest.warns(UserWarning, match="my_index"):
        batch = Batch.from_data_list([Data(my_index=Tensor([0, 1]), num_nodes=2) for _ in range(2)])
    assert batch.my_index.tolist() == [0, 1, 0, 1]


def test_follow_and_exclude():
    graphs = [graph(4, 7), graph(5, 2)]
    batch = Batch.from_data_list(graphs, follow_batch=["edge_attr"], exclude_keys=["y"])
    assert batch.edge_attr_batch.tolist() == [0] * 7 + [1] * 2 and batch.edge_attr_ptr.tolist() == [0, 7, 9] and "y" not in batch


def test_nested_values_are_joined():
    graphs = [Data(d={"a": Tensor.ones(n, 1), "b": Tensor([n])}, l=[Tensor.ones(n), Tensor.zeros(1)], num_nodes=n) for n in (2, 3)]
    batch = Batch.from_data_list(graphs)
    assert batch.d["a"].shape == (5, 1) and batch.d["b"].tolist() == [2, 3] and batch.l[0].shape == (5,)
    for a, b in zip(batch.to_data_list(), graphs):
        same(a, b)


def test_values_of_a_batch_that_were_replaced_are_taken_apart():
    batch = Batch.from_data_list([graph(4, 7), graph(5, 2)])
    batch.x = batch.x * 2
    assert batch.get_example(1).x.shape == (5, 3)


def test_gradients_go_through_a_batch():
    graphs = [Data(x=Tensor([[float(k)]], requires_grad=True)) for k in (1, 2)]
    (Batch.from_data_list(graphs).x ** 2).sum().backward()
    assert [g.x.grad.tolist() for g in graphs] == [[[2.0]], [[4.0]]]


def test_graphs_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="at least one"):
        Batch.from_data_list([])
    with pytest.raises(TypeError, match="several classes"):
        Batch.from_data_list([graph(2, 1), typed(1, 1)])
    with pytest.raises(KeyError, match="graph 1 has no attribute 'extra'"):
        Batch.from_data_list([graph(2, 1, extra=1), graph(2, 1)])
    with pytest.raises(ValueError, match=r"'z'.*\[2\] and \[3\]"):
        Batch.from_data_list([Data(z=Tensor.ones(1, 2)), Data(z=Tensor.ones(1, 3))])
    with pytest.raises(RuntimeError, match="from_data_list"):
        Batch(x=Tensor.ones(2, 1), batch=Tensor([0, 1])).get_example(0)


# ---- events ----


def test_events():
    events = TemporalData(src=Tensor([0, 1, 2, 3]), dst=Tensor([1, 2, 3, 4]), t=Tensor([1, 2, 3, 4]), msg=Tensor.ones(4, 2), tag="t")
    assert len(events) == events.num_edges == 4 and events.num_nodes == 5
    assert events[1].src.tolist() == [1] and events[Tensor([True, False, True, False])].t.tolist() == [1, 3]
    assert events.edge_index.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]
    train, val, test = events.train_val_test_split(0.25, 0.25)
    assert [len(p) for p in (train, val, test)] == [2, 1, 1]
    assert len(list(events)) == 4 and events[2:].tag == "t"
    with pytest.raises(IndexError):
        events[9]


# ---- files ----


@pytest.mark.parametrize(
    "make", [lambda: graph(3, 4, note="n", k=2, f=0.5, none_of=[1, "a"], d={"q": Tensor([1])}, raw=np.arange(3)), lambda: typed(2, 3)]
)
def test_files(tmp_path, make):
    data = make()
    path = tmp_path / "g.safetensors"
    data.save(path)
    back = type(data).load(path)
    same(back, data)
    assert back.validate() and back.keys() == data.keys()
    assert not list(tmp_path.glob("*.part"))


def test_files_that_are_damaged(tmp_path):
    path = tmp_path / "g.safetensors"
    graph(3, 4).save(path)
    whole = path.read_bytes()
    for content in (b"", b"x" * 100, whole[:40], whole[: len(whole) // 2], whole[:-3]):
        path.write_bytes(content)
        with pytest.raises((ValueError, RuntimeError, OSError)):
            Data.load(path)
    for old, new in (
        (b'"version": 1', b'"version": 9'),
        (b'"class": "Data"', b'"class": "Dtaa"'),
        (b'"tensor": "x"', b'"tensor": "q"'),
        (b'"entries"', b'"entriez"'),
    ):
        assert old in whole
        path.write_bytes(whole.replace(old, new))
        with pytest.raises(ValueError, match="g.safetensors"):
            Data.load(path)
    with pytest.raises(TypeError, match="'f'"):
        Data(f=lambda: 0).save(path)


# ---- datasets ----


class Small(InMemoryDataset):
    @property
    def raw_file_names(self):
        return ["numbers.txt"]

    @property
    def processed_file_names(self):
        return "data.safetensors"

    def __init__(self, root, **kwargs):
        self.calls = []
        super().__init__(root, **kwargs)
        self.load(self.processed_paths[0])

    def download(self):
        self.calls.append("download")
        with open(self.raw_paths[0], "w") as f:
            f.write("2 3 4")

    def process(self):
        self.calls.append("process")
        with open(self.raw_paths[0]) as f:
            sizes = [int(n) for n in f.read().split()]
        graphs = [graph(n, n + 1) for n in sizes]
        graphs = [g for g in graphs if self.pre_filter is None or self.pre_filter(g)]
        self.save([g if self.pre_transform is None else self.pre_transform(g) for g in graphs], self.processed_paths[0])


def half(data):
    data.x = data.x / 2
    return data


def test_a_dataset_downloads_and_processes_once(tmp_path):
    first = Small(tmp_path)
    again = Small(tmp_path)
    assert first.calls == ["download", "process"] and again.calls == [] and len(again) == 3
    for a, b in zip(first, again):
        same(a, b)
    assert Small(tmp_path, force_reload=True).calls == ["process"]
    with pytest.warns(UserWarning, match="pre_transform"):
        assert Small(tmp_path, pre_transform=half).calls == ["process"]
    assert (again.num_classes, again.num_features, again.num_edge_features) == (2, 3, 2)
    assert repr(again) == "Small(3)"


def test_parts_of_a_dataset(tmp_path):
    data = Small(tmp_path)
    sizes = [g.num_nodes for g in data]
    assert sizes == [2, 3, 4] and [g.num_nodes for g in data[1:]] == [3, 4] and [g.num_nodes for g in data[:0.67]] == [2, 3]
    assert [g.num_nodes for g in data[[2, 0]][Tensor([1])]] == [2] and data[-1].num_nodes == 4
    assert [g.num_nodes for g in data[Tensor([True, False, True])]] == [2, 4]
    shuffled, order = data.shuffle(return_perm=True)
    assert [g.num_nodes for g in shuffled] == [sizes[k] for k in order.tolist()]
    with pytest.raises(IndexError, match="3"):
        data[3]
    part = data[1:].copy()
    assert len(part) == 2 and part[0].num_nodes == 3
    assert data[1:].edge_index.shape[1] == 9 and data.x.shape == (9, 3)
    data.transform = half
    assert np.allclose(data[0].x.numpy() * 2, data.get(0).x.numpy())
    same(data.get(0), data.get(0))


# ---- loader ----


_WORTH = "polygrad.geometric.loader.dataloader._WORTH_A_THREAD"


def test_loader_gives_the_batches_of_from_data_list(tmp_path, monkeypatch):
    monkeypatch.setattr(_WORTH, -1)
    graphs = [graph(n, 2 * n, name=str(n)) for n in range(1, 8)]
    small = Small(tmp_path)
    for source in (graphs, small, small[1:], [typed(k, k + 1) for k in (1, 2, 3)]):
        items = list(source)
        for prefetch in (0, 2):
            got = list(DataLoader(source, batch_size=2, follow_batch=["edge_attr"], prefetch=prefetch))
            want = [Batch.from_data_list(items[k : k + 2], follow_batch=["edge_attr"]) for k in range(0, len(items), 2)]
            assert len(got) == len(want) == len(DataLoader(source, batch_size=2))
            for a, b in zip(got, want):
                same(a, b)
                for x, y in zip(a.to_data_list(), b.to_data_list()):
                    same(x, y)


def test_orders_of_a_loader():
    graphs = [Data(k=Tensor([n]), num_nodes=1) for n in range(10)]

    def numbers(loader):
        return [b.k.tolist() for b in loader]

    def flat(lists):
        return [k for part in lists for k in part]

    assert numbers(DataLoader(graphs, 4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [len(b) for b in numbers(DataLoader(graphs, 4, drop_last=True))] == [4, 4]
    a, b = DataLoader(graphs, 4, shuffle=True, seed=3), DataLoader(graphs, 4, shuffle=True, seed=3)
    first, second = numbers(a), numbers(a)
    assert first == numbers(b) and first != second and sorted(flat(first)) == sorted(flat(second)) == list(range(10))
    Tensor.manual_seed(5)
    first = numbers(DataLoader(graphs, 4, shuffle=True))
    Tensor.manual_seed(5)
    assert first == numbers(DataLoader(graphs, 4, shuffle=True)) != [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert numbers(DataLoader(graphs, 2, sampler=[3, 1, 1])) == [[3, 1], [1]]
    assert numbers(DataLoader(graphs, batch_sampler=[[3, 1], [5]])) == [[3, 1], [5]]
    graphs[0].k = Tensor([100])  # a list of graphs may change between epochs
    loader = DataLoader(graphs, 10)
    assert numbers(loader)[0][0] == 100
    graphs[0].k = Tensor([200])
    assert numbers(loader)[0][0] == 200
    assert numbers(DataLoader(graphs, 5, exclude_keys=[]))[1] == [5, 6, 7, 8, 9]
    with pytest.raises(ValueError, match="batch_size"):
        DataLoader(graphs, 0)
    assert numbers(DataLoader(graphs, 4, shuffle=True, generator=np.random.default_rng(3))) == numbers(DataLoader(graphs, 4, shuffle=True, seed=3))
    with pytest.raises(TypeError, match="generator"):
        DataLoader(graphs, generator="x")
    with pytest.raises(TypeError, match="nonsense"):
        DataLoader(graphs, nonsense=1)


def test_loader_applies_the_transform_each_time(tmp_path):
    data = Small(tmp_path)
    seen = []
    data.transform = lambda g: seen.append(1) or half(g)
    batches = list(DataLoader(data, batch_size=2)), list(DataLoader(data, batch_size=2))
    assert len(seen) == 6
    data.transform = None
    assert np.allclose(2 * batches[1][0].x.numpy(), next(iter(DataLoader(data, batch_size=2))).x.numpy())


@pytest.mark.parametrize("threads", [0, 1])
def test_loader_stops_its_thread_and_passes_errors_on(monkeypatch, threads):
    monkeypatch.setattr(_WORTH, -1 if threads else 1e9)  # a thread works ahead only where a batch is much work
    graphs = [Data(k=Tensor([n]), num_nodes=1) for n in range(50)]
    before = threading.active_count()
    for k, batch in enumerate(DataLoader(graphs, 1)):
        assert batch.k.tolist() == [k] and threading.active_count() == before + (threads if k else 0)
        if k == 3:
            break
    del batch
    assert threading.active_count() == before
    with pytest.raises(IndexError):
        list(DataLoader(graphs, 2, sampler=[0, 99]))
    assert threading.active_count() == before


def test_batches_of_other_things():
    pairs = [(graph(2, 1), 1.0, "a", Tensor([1, 2]), {"k": 3}) for _ in range(3)]
    batch, numbers, texts, tensors, table = next(iter(DataLoader(pairs, batch_size=3)))
    assert batch.num_graphs == 3 and numbers.tolist() == [1.0] * 3 and texts == ["a"] * 3
    assert tensors.shape == (3, 2) and table["k"].tolist() == [3, 3, 3]


def test_batches_of_any_size_share_a_plan(cpu):
    from polygrad import with_autograd_graph
    from polygrad.graphs import Graph

    with with_autograd_graph() as scope:
        graphs = [Data(x=Tensor.ones(n, 3).contiguous().realize(), edge_index=Tensor(rng.integers(0, n, (2, 2 * n)))) for n in range(2, 12)]
        counts = []
        for batch in DataLoader(graphs, batch_size=3):
            g = Graph(batch.edge_index, batch.num_nodes)
            assert g.sum(g.src(batch.x)).sum().item() == 3 * batch.num_edges
            counts.append(scope.compilations)
        assert counts[-1] == counts[1]  # batches of 3, 3, 3 and 1 graphs


def test_training_steps_on_batches_of_any_size_share_a_plan(cpu):
    """Running statistics divide by the number of rows, which must not become a number of the program."""
    from polygrad import nn, with_autograd_graph
    from polygrad.geometric.nn import global_add_pool

    with with_autograd_graph() as scope, Tensor.train():
        graphs = [Data(x=Tensor(rng.random((n, 3), np.float32)), y=Tensor([n % 2])) for n in range(2, 17)]
        linear, norm = nn.Linear(3, 2), nn.BatchNorm(2)
        optimizer = nn.SGD([*nn.get_parameters(linear), norm.weight, norm.bias], lr=0.1)
        counts = []
        for batch in DataLoader(graphs, batch_size=4):
            optimizer.zero_grad()
            global_add_pool(norm(linear(batch.x)), batch.batch).cross_entropy(batch.y).backward()
            optimizer.step()
            counts.append(scope.compilations)
        assert counts[-1] == counts[1]


# ---- other libraries ----


def test_networkx_and_scipy():
    data = Data(x=Tensor([[1.0], [2.0], [3.0]]), edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    g = data.to_networkx(node_attrs=["x"], to_undirected=True)
    assert isinstance(g, nx.Graph) and sorted(g.edges) == [(0, 1), (1, 2)]
    back = Data.from_networkx(g)
    assert back.num_nodes == 3 and sorted(back.edge_index.numpy().T.tolist()) == [[0, 1], [1, 0], [1, 2], [2, 1]]


def test_scipy():
    data = Data(edge_index=Tensor([[0, 1], [1, 2]]), edge_weight=Tensor([2.0, 3.0]), num_nodes=3)
    matrix = data.to_scipy("edge_weight")
    assert matrix.toarray().tolist() == [[0, 2, 0], [0, 0, 3], [0, 0, 0]]
    same(Data.from_scipy(matrix), data)


def test_numpy():
    for data in (graph(3, 4), typed(2, 3)):
        same(Data.from_numpy(data.to_numpy()), data)


class Fake(dict):
    """Stands in for an object of PyTorch Geometric."""


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="torch_geometric"):
        Data.from_pyg(Fake())
