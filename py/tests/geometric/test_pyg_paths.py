"""Names that scripts and tests of PyTorch Geometric import from single files, and conversions to other libraries."""

import importlib
import sys
import types

import numpy as np
import pytest

from polygrad import Tensor, nn
from polygrad.geometric import utils
from polygrad.geometric._paths import DATASETS
from polygrad.geometric.data import Data, HeteroData
from polygrad.geometric.data.remote_backend_utils import num_nodes, size
from polygrad.geometric.data.storage import AttrType
from polygrad.geometric.explain.algorithm.captum import captum_output_to_dicts, convert_captum_output, to_captum_input, to_captum_model
from polygrad.geometric.loader.utils import index_select
from polygrad.geometric.nn import GCN, HeteroConv, MessagePassing, SAGEConv
from polygrad.geometric.nn.aggr.fused import FusedAggregation
from polygrad.geometric.sparse_tensor import SparseTensor
from polygrad.geometric.utils import spmm
from polygrad.geometric.utils._negative_sampling import edge_index_to_vector, vector_to_edge_index

EDGES = [[0, 1, 1, 2], [1, 0, 2, 1]]


@pytest.mark.parametrize("name", ["ppi", "qm9", "movie_lens_1m", "snap_dataset"])
def test_files_of_datasets(name):
    kind = {"ppi": "PPI", "qm9": "QM9", "movie_lens_1m": "MovieLens1M", "snap_dataset": "SNAPDataset"}[name]
    module = importlib.import_module(f"polygrad.geometric.datasets.{name}")
    assert getattr(module, kind) is getattr(importlib.import_module("polygrad.geometric.datasets"), kind)
    assert name in DATASETS or name == "snap_dataset"


def test_kinds_of_attributes():
    data = Data(x=Tensor.ones(3, 2), edge_index=Tensor(EDGES), edge_attr=Tensor.ones(4, 1), y=Tensor([0]))
    kinds = data._store._cached_attr
    assert kinds == {AttrType.NODE: {"x"}, AttrType.EDGE: {"edge_index", "edge_attr"}, AttrType.OTHER: {"y"}}


def test_sizes_of_stores():
    """The size of edges that are put into a graph says how many nodes it has, where nothing else does."""
    data = HeteroData()
    data.put_edge_index(Tensor([[0, 1], [4, 0]]), edge_type=("a", "to", "b"), layout="coo", size=(7, 5))
    assert size(data, data, ("a", "to", "b")) == (7, 5) and data["b"].num_nodes == 5
    data["c"].x = Tensor.ones(3, 1)
    assert num_nodes(data, data, "c") == 3
    with pytest.raises(ValueError, match="Unable to accurately infer"):
        num_nodes(data, data, "d")


def test_rows_by_number():
    x = Tensor([[1, 2, 3], [4, 5, 6]])
    assert index_select(x, Tensor([1, 0]), dim=-1).tolist() == [[2, 1], [5, 4]]
    assert index_select(x.numpy(), Tensor([1])).tolist() == [[4, 5, 6]]
    with pytest.raises(IndexError, match="out of range"):
        index_select(x, Tensor([0, 2]))


@pytest.mark.parametrize("kind", [{"bipartite": True}, {"bipartite": False}, {"bipartite": False, "force_undirected": True}])
def test_numbers_of_pairs(kind):
    n = 5
    pairs = Tensor(np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij")).reshape(2, -1))
    number, population = edge_index_to_vector(pairs, (n, n), **kind)
    assert number.tolist() == list(range(population))
    back = vector_to_edge_index(number, (n, n), **kind).numpy()
    want = pairs.numpy() if kind["bipartite"] else pairs.numpy()[:, pairs.numpy()[0] != pairs.numpy()[1]]
    assert sorted(map(tuple, back.T.tolist())) == sorted(map(tuple, want.T.tolist()))


def test_fused_aggregation():
    x, index = Tensor([[1.0], [2.0], [5.0]]), Tensor([0, 0, 2])
    found = FusedAggregation(["mean", "std", "mul"])(x, index)
    assert [y.tolist() for y in found] == [[[1.5], [0], [5]], [[0.5], [0], [0]], [[2], [1], [5]]]
    with pytest.raises(ValueError, match="not fusable"):
        FusedAggregation(["median"])


class Weighted(MessagePassing):
    def __init__(self):
        super().__init__(aggr="sum")
        self.matrix = None

    def forward(self, x, edge_index, edge_weight=None):
        return self.propagate(edge_index, x=x, edge_weight=edge_weight)

    def message(self, x_j, edge_weight):
        return edge_weight.reshape(-1, 1) * x_j

    def message_and_aggregate(self, adj_t, x):
        self.matrix = adj_t
        return spmm(adj_t, x, reduce=self.aggr)


def test_matrix_in_one_step():
    """A layer with message_and_aggregate gets the sparse matrix with its values; with other values than the matrix has, messages are made."""
    x, weight = Tensor([[1.0], [10.0], [100.0]]), Tensor([2.0, 3.0, 4.0, 5.0])
    layer = Weighted()
    want = layer(x, Tensor(EDGES), weight).tolist()
    assert layer.matrix is None
    adj = SparseTensor(row=Tensor(EDGES[1]), col=Tensor(EDGES[0]), value=weight, sparse_sizes=(3, 3))
    assert layer(x, adj).tolist() == want and layer.matrix is adj
    layer.matrix, layer.fuse = None, False
    assert layer(x, adj).tolist() == want and layer.matrix is None
    assert layer.jittable("(Tensor, Tensor, OptTensor) -> Tensor") is layer

    class Doubled(Weighted):
        def forward(self, x, edge_index, edge_weight=None):
            return self.propagate(edge_index, x=x, edge_weight=edge_weight * 2)

    assert Doubled()(x, adj).tolist() == [[2 * v for v in row] for row in want]


def test_edges_out_of_range():
    with pytest.raises(IndexError, match=r"valid indices in the interval \[0, 3\)"):
        SAGEConv(1, 1)(Tensor.ones(3, 1), Tensor([[0, 3], [1, 0]]))


@pytest.mark.parametrize("kind", ["edge", "node_and_edge", "node"])
def test_models_of_captum(kind):
    Tensor.manual_seed(0)
    model, x, pairs = GCN(2, 4, 2, 3), Tensor.ones(3, 2), Tensor(EDGES)
    masks, more = to_captum_input(x, pairs, kind)
    wrapped = to_captum_model(model, kind, output_idx=1)
    np.testing.assert_allclose(wrapped(*masks, *more).numpy(), model(x, pairs).numpy()[1:2], rtol=1e-5, atol=1e-6)
    half = wrapped(*(m * 0.5 for m in masks), *more)
    assert half.shape == (1, 3) and not np.allclose(half.numpy(), model(x, pairs).numpy()[1:2])
    node, edge = convert_captum_output(masks, kind)
    assert (node is None) == (kind == "edge") and (edge is None) == (kind == "node")


@pytest.mark.parametrize("kind", ["edge", "node_and_edge", "node"])
def test_models_of_captum_with_types(kind):
    metadata = (["a", "b"], [("a", "to", "b"), ("b", "to", "a")])

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = HeteroConv({t: SAGEConv((2, 2), 3) for t in metadata[1]})

        def forward(self, x_dict, edge_index_dict):
            return self.conv(x_dict, edge_index_dict)["a"]

    Tensor.manual_seed(0)
    model, x = Net(), {"a": Tensor.ones(3, 2), "b": Tensor.ones(3, 2) * 2}
    pairs = {t: Tensor(EDGES) for t in metadata[1]}
    masks, more = to_captum_input(x, pairs, kind)
    assert len(masks) == {"edge": 2, "node": 2, "node_and_edge": 4}[kind]
    out = to_captum_model(model, kind, 0, metadata)(*masks, *more)
    assert out.shape == (1, 3)
    nodes, edges = captum_output_to_dicts(masks, kind, metadata)
    assert (nodes is None) == (kind == "edge") and (edges is None or list(edges) == metadata[1])


def test_meshes_of_trimesh(monkeypatch):
    """A stand-in for trimesh, which is not installed: what the conversions give it, and take from it."""
    fake = types.ModuleType("trimesh")
    fake.Trimesh = lambda vertices, faces, process: types.SimpleNamespace(vertices=vertices, faces=faces, process=process)
    monkeypatch.setitem(sys.modules, "trimesh", fake)
    data = Data(pos=Tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), face=Tensor([[0], [1], [2]]))
    mesh = utils.to_trimesh(data)
    assert mesh.faces.tolist() == [[0, 1, 2]] and mesh.process is False
    back = utils.from_trimesh(mesh)
    assert back.pos.tolist() == data.pos.tolist() and back.face.tolist() == data.face.tolist()


class FakeGraph:
    """What the conversions use of networkit.Graph."""

    def __init__(self, n, weighted=False, directed=False):
        self.n, self.weighted, self.directed, self.edges = n, weighted, directed, []

    def addEdge(self, u, v, w):
        self.edges.append((u, v, w))

    def isDirected(self):
        return self.directed

    def isWeighted(self):
        return self.weighted

    def iterEdgesWeights(self):
        return iter(self.edges)


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_of_networkit(monkeypatch, directed):
    fake = types.ModuleType("networkit")
    fake.graph = types.SimpleNamespace(Graph=FakeGraph)
    monkeypatch.setitem(sys.modules, "networkit", fake)
    graph = utils.to_networkit(Tensor(EDGES), Tensor([1.0, 1.0, 2.0, 2.0]), directed=directed)
    assert graph.n == 3 and len(graph.edges) == (4 if directed else 2)
    pairs, weight = utils.from_networkit(graph)
    assert sorted(zip(*pairs.tolist(), weight.tolist())) == [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 2.0), (2, 1, 2.0)]


def test_missing_libraries(monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(ImportError, match="trimesh"):
        utils.to_trimesh(Data(pos=Tensor.ones(3, 3), face=Tensor([[0], [1], [2]])))


def test_views_of_a_store():
    """A view of a feature store names its parts one by one; equal names are equal views."""
    from polygrad.geometric.data import TensorAttr
    from polygrad.geometric.data.stores import AttrView, MemoryFeatureStore

    store, rows = MemoryFeatureStore(), Tensor([0, 1, 2])
    x = Tensor([[0.0], [1.0], [2.0]])
    assert store.put_tensor(x, TensorAttr("a", "x", rows))  # rows of a tensor that is not there yet
    assert store.get_tensor("a", "x", None).tolist() == x.tolist()
    view = store.view(group_name="a")
    view.attr_name = "x"
    view["index"] = rows
    assert (
        view == AttrView(store, TensorAttr("a", "x", Tensor([0, 1, 2]))) and view != AttrView(store, TensorAttr("a", "x", Tensor([0]))) and view != 0
    )
    assert view().tolist() == x.tolist()
    with pytest.raises(AttributeError, match="named in full"):
        _ = view.more
    with pytest.raises(ValueError, match="no part 'other'"):
        view.other = 1


def test_last_events_are_tensors():
    from polygrad.geometric.nn.models.tgn import LastNeighborLoader

    loader = LastNeighborLoader(3, size=2)
    loader.insert(Tensor([0, 1]), Tensor([2, 2]))
    assert loader.e_id.tolist() == [[0, -1], [1, -1], [1, 0]] and loader.neighbors.tolist()[2] == [1, 0]


@pytest.mark.integration
def test_processes():
    """torch.multiprocessing is Python's, with spawn."""
    import polygrad.torch as torch

    assert torch.multiprocessing.get_context is importlib.import_module("multiprocessing").get_context
    with pytest.raises(torch.multiprocessing.ProcessRaisedException, match="process 0"):
        torch.multiprocessing.spawn(_fails, nprocs=1, start_method="fork")


def _fails(rank):
    sys.exit(3)
