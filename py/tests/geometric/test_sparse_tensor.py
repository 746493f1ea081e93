"""SparseTensor, EdgeIndex and Index: their parts, their arithmetic, and layers that take them in the place of edge_index."""

import inspect

import numpy as np
import pytest

from polygrad import Tensor
from polygrad.geometric import EdgeIndex, Index, SparseTensor
from polygrad.geometric.data import Data, HeteroData
from polygrad.geometric.loader import HGTLoader, LinkNeighborLoader, NeighborLoader
from polygrad.geometric.nn import conv
from polygrad.geometric.transforms import ToSparseTensor
from polygrad.geometric.utils import is_sparse, spmm, to_edge_index

RNG = np.random.default_rng(0)
DENSE = (RNG.random((4, 5)) < 0.5) * RNG.normal(size=(4, 5)).astype(np.float32)


def matrix(dense=DENSE):
    return SparseTensor.from_dense(Tensor(np.asarray(dense, np.float32)))


def close(a, b):
    np.testing.assert_allclose(a.numpy() if isinstance(a, Tensor) else a, b, rtol=1e-5, atol=1e-6)


def test_parts():
    a = matrix()
    row, col = np.nonzero(DENSE)
    assert (
        a.sparse_sizes() == (4, 5) and a.nnz() == row.size and a.storage.row().tolist() == row.tolist() and a.storage.col().tolist() == col.tolist()
    )
    assert a.storage.rowptr().tolist() == np.concatenate([[0], np.cumsum((DENSE != 0).sum(1))]).tolist()
    colptr, rows, values = a.csc()
    close(values, DENSE.T[np.nonzero(DENSE.T)])
    assert rows.tolist() == np.nonzero(DENSE.T)[1].tolist() and colptr.shape == (6,)
    close(a.to_dense(), DENSE)
    close(a.t().to_dense(), DENSE.T)
    close(a[1:3, Tensor([4, 0])].to_dense(), DENSE[1:3][:, [4, 0]])
    close(a.sum(1), DENSE.sum(1))
    close(a.sum(0), DENSE.sum(0))
    assert is_sparse(a) and to_edge_index(a)[0].tolist() == [row.tolist(), col.tolist()]


def test_unsorted_entries_are_sorted_with_their_values():
    a = SparseTensor(row=Tensor([2, 0, 2]), col=Tensor([1, 0, 0]), value=Tensor([1.0, 2.0, 3.0]))
    assert [v.tolist() for v in a.coo()] == [[0, 2, 2], [0, 0, 1], [2.0, 3.0, 1.0]] and a.sparse_sizes() == (3, 2)
    with pytest.raises(ValueError, match="beyond"):
        SparseTensor(row=Tensor([3]), col=Tensor([0]), sparse_sizes=(2, 2))


def test_products():
    x = RNG.normal(size=(5, 3)).astype(np.float32)
    a = matrix()
    close(a @ Tensor(x), DENSE @ x)
    close(spmm(a, Tensor(x)), DENSE @ x)
    counts = np.maximum((DENSE != 0).sum(1), 1)[:, None]
    close(a.matmul(Tensor(x), "mean"), DENSE @ x / counts)
    close((a @ a.t()).to_dense(), DENSE @ DENSE.T)
    close((a * 2.0).to_dense(), DENSE * 2)
    close(a.mul(Tensor(np.arange(4.0, dtype=np.float32).reshape(4, 1))).to_dense(), DENSE * np.arange(4)[:, None])


def test_gradients_of_a_product():
    x, value = Tensor(RNG.normal(size=(5, 2)).astype(np.float32), requires_grad=True), matrix().storage.value().detach().requires_grad_()
    a = matrix().set_value(value)
    (a @ x).sum().backward()
    close(x.grad, np.repeat(DENSE.sum(0)[:, None], 2, 1))
    close(value.grad, x.numpy().sum(1)[np.nonzero(DENSE)[1]])


def test_diagonals_and_symmetry():
    d = RNG.normal(size=(4, 4)).astype(np.float32)
    a = matrix(d)
    close(a.remove_diag().to_dense(), d - np.diag(np.diag(d)))
    close(a.fill_diag(3.0).to_dense(), d - np.diag(np.diag(d)) + 3 * np.eye(4))
    close(a.get_diag(), np.diag(d))
    close(a.to_symmetric().to_dense(), d + d.T)
    assert a.to_symmetric().is_symmetric() and not a.is_symmetric()
    close(SparseTensor.eye(3).to_dense(), np.eye(3))


def graph(n=7, e=20, weight=True):
    pairs = np.unique(RNG.integers(0, n, (2, e)), axis=1)
    data = Data(x=Tensor(RNG.normal(size=(n, 4)).astype(np.float32)), edge_index=Tensor(pairs))
    if weight:
        data.edge_weight = Tensor(RNG.random(pairs.shape[1]).astype(np.float32))
    return data


LAYERS = {
    "GCNConv": (4, 3), "SAGEConv": (4, 3), "GATConv": (4, 3), "GATv2Conv": (4, 3), "GraphConv": (4, 3), "TransformerConv": (4, 3), "TAGConv": (4, 3),
    "SGConv": (4, 3), "ChebConv": (4, 3, 2), "ARMAConv": (4, 3), "LEConv": (4, 3), "ClusterGCNConv": (4, 3), "MFConv": (4, 3), "FeaStConv": (4, 3),
    "GatedGraphConv": (4, 2), "APPNP": (3, 0.1), "FiLMConv": (4, 3), "GeneralConv": (4, 3), "ResGatedGraphConv": (4, 3), "SuperGATConv": (4, 3),
    "EGConv": (4, 8), "GENConv": (4, 3), "AntiSymmetricConv": (4,), "SimpleConv": (), "LGConv": (), "SSGConv": (4, 3, 0.1),
}  # fmt: skip


def takes_weights(name):
    return "edge_weight" in inspect.signature(getattr(conv, name).forward).parameters


@pytest.mark.parametrize("name, weight", [(n, w) for n in sorted(LAYERS) for w in (False, True) if not w or takes_weights(n)])
def test_layers_take_adj_t(name, weight):
    """With a sparse adjacency a layer gives what it gives with edge_index (and the weights, where it takes some)."""
    layer = getattr(conv, name)(*LAYERS[name])
    data = graph(weight=weight)
    adj = ToSparseTensor()(graph_copy(data)).adj_t
    weighted = {"edge_weight": data.edge_weight} if weight else {}
    Tensor.manual_seed(0)
    want = layer(data.x, data.edge_index, **weighted)
    Tensor.manual_seed(0)
    close(layer(data.x, adj), want.numpy())


@pytest.mark.parametrize("name", ["GCN", "GraphSAGE", "GAT", "GIN", "EdgeCNN"])
def test_models_take_adj_t(name):
    from polygrad.geometric.nn import models

    data = graph(weight=False)
    model = getattr(models, name)(4, 8, 2, 3).eval()
    close(model(data.x, ToSparseTensor()(graph_copy(data)).adj_t), model(data.x, data.edge_index).numpy())


def test_adj_t_in_hetero_layers_and_compiled_steps():
    from polygrad import nn

    data = graph(weight=False)
    adj, kind = ToSparseTensor()(graph_copy(data)).adj_t, ("a", "to", "a")
    layer = conv.HeteroConv({kind: conv.SAGEConv(4, 3)})
    close(layer({"a": data.x}, {kind: adj})["a"], layer({"a": data.x}, {kind: data.edge_index})["a"].numpy())
    layer = conv.GCNConv(4, 2)
    optimizer = nn.Adam(layer.parameters(), lr=0.05)

    def train(layer, optimizer):
        optimizer.zero_grad()
        loss = (layer(data.x, adj) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    step = nn.compile_step(train, layer, optimizer)
    step.run()
    first = step.loss_value()
    for _ in range(5):
        step.run()
    assert step.loss_value() < first


def graph_copy(data):
    import copy

    return copy.copy(data)


def test_to_sparse_tensor():
    data = graph()
    data.edge_attr = Tensor(np.arange(data.num_edges, dtype=np.float32))
    out = ToSparseTensor(attr="edge_weight")(graph_copy(data))
    assert "edge_index" not in out and "edge_weight" not in out and out.num_edges == data.num_edges and out.num_nodes == 7
    order = np.lexsort((data.edge_index.numpy()[0], data.edge_index.numpy()[1]))
    assert out.edge_attr.tolist() == order.tolist()
    close(out.adj_t.storage.value(), data.edge_weight.numpy()[order])
    row, col, _ = out.adj_t.t().coo()
    pairs = data.edge_index.numpy()
    assert sorted(zip(row.tolist(), col.tolist())) == sorted(zip(*pairs.tolist()))
    assert repr(ToSparseTensor()) == "ToSparseTensor(attr=edge_weight, layout=None)"


def test_edge_index():
    e = EdgeIndex([[0, 1, 1, 2], [1, 0, 2, 1]], sparse_size=(3, None), sort_order="row", is_undirected=True).validate()
    assert e.sparse_size() == (3, 3) and e.is_sorted_by_row and not e.is_sorted_by_col and e.num_rows == 3
    (colptr, row), perm = e.get_csc()
    assert colptr.tolist() == [0, 1, 3, 4] and row.tolist() == [1, 0, 2, 1] and perm.tolist() == [1, 0, 3, 2]
    assert e.flip(0).sort_order == "col" and e.flip(0).tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    x = Tensor(np.eye(3, dtype=np.float32))
    close(e @ x, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    close(e.to_dense(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    edges, value = e.matmul(e)
    close(edges.to_dense(value), np.array([[1, 0, 1], [0, 2, 0], [1, 0, 1]]))
    assert e.sparse_narrow(0, 1, 2).tolist() == [[0, 0, 1], [0, 2, 1]] and e.to_vector().tolist() == [1, 3, 5, 7]
    layer = conv.GCNConv(3, 2)
    close(layer(x, e), layer(x, Tensor(e)).numpy())
    for bad in ({"sparse_size": (2, 2)}, {"sort_order": "col"}, {"is_undirected": True}):
        with pytest.raises(ValueError):
            EdgeIndex([[0, 1, 1], [1, 0, 2]], **bad).validate()
    with pytest.raises(ValueError, match="2, E"):
        EdgeIndex([0, 1])


def test_index():
    i = Index([0, 1, 1, 2], is_sorted=True).validate()
    assert i.get_dim_size() == 3 and i.get_indptr().tolist() == [0, 1, 3, 4] and (i + 1).tolist() == [1, 2, 2, 3]
    with pytest.raises(ValueError, match="not sorted"):
        Index([1, 0], is_sorted=True).validate()
    with pytest.raises(ValueError, match="sorted"):
        Index([1, 0]).get_indptr()


@pytest.mark.parametrize("key", ["adj_t", "adj"])
def test_samples_of_a_matrix(key):
    """A loader draws the entries of a graph's matrix, and a batch has a matrix of them with their values: layers give what they give on all edges."""
    edges = np.stack([RNG.integers(0, 20, 60), RNG.integers(0, 20, 60)])
    edges = np.unique(edges, axis=1)
    weight = np.arange(edges.shape[1], dtype=np.float32)
    x = Tensor(RNG.normal(size=(20, 3)).astype(np.float32))
    whole = SparseTensor.from_edge_index(Tensor(edges if key == "adj" else edges[::-1].copy()), Tensor(weight), (20, 20))
    data = Data(x=x, **{key: whole})
    layer = conv.GraphConv(3, 2)
    expected = layer(x, Tensor(edges), Tensor(weight)).numpy()
    for batch in NeighborLoader(data, num_neighbors=[-1], batch_size=6):
        assert "edge_index" not in batch
        part = batch[key]
        assert part.sparse_sizes() == (batch.x.shape[0],) * 2
        np.testing.assert_array_equal(np.sort(part.storage.value().numpy()), np.sort(whole.storage.value().numpy()[batch.e_id.numpy()]))
        n = batch.batch_size
        close(layer(batch.x, part if key == "adj_t" else part.t())[:n], expected[batch.n_id.numpy()[:n]])
    links = next(iter(LinkNeighborLoader(data, num_neighbors=[2], edge_label_index=Tensor(edges[:, :4]), batch_size=4)))
    assert links[key].nnz() > 0 and "edge_index" not in links


def test_samples_of_matrices_by_type():
    """By type as well, without values and with a gradient through them."""
    data = HeteroData()
    data["a"].x, data["b"].x = Tensor.ones(6, 2), Tensor.ones(5, 3)
    row, col = RNG.integers(0, 6, 12), RNG.integers(0, 5, 12)
    data["a", "to", "b"].adj_t = SparseTensor(row=Tensor(col), col=Tensor(row), sparse_sizes=(5, 6))
    value = Tensor(RNG.random(12).astype(np.float32), requires_grad=True)
    data["b", "to", "a"].adj_t = SparseTensor(row=Tensor(row), col=Tensor(col), value=value, sparse_sizes=(6, 5))
    for loader in (NeighborLoader(data, [-1, -1], ("a", None), batch_size=3), HGTLoader(data, [4, 4], ("a", None), batch_size=3)):
        batch = next(iter(loader))
        forth, back = batch["a", "to", "b"].adj_t, batch["b", "to", "a"].adj_t
        assert back.nnz() > 0 and forth.storage.value() is None
        assert forth.sparse_sizes()[::-1] == back.sparse_sizes() == (batch["a"].x.shape[0], batch["b"].x.shape[0])
        (slope,) = back.storage.value().sum().gradient(value)
        assert slope.numpy().sum() == back.nnz()
