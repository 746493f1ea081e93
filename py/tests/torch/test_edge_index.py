"""EdgeIndex and Index over PyTorch's tensors: what is known of the edges stays with copies and parts of them, and follows shifts."""

import pytest
from polygrad.torch_geometric.edge_index import SUPPORTED_DTYPES, SortReturnType, _scatter_spmm, set_tuple_item

import polygrad.torch as torch
from polygrad.torch import tensor
from polygrad.torch_geometric import EdgeIndex, Index
from polygrad.torch_geometric.nn import GCNConv

ROWS = [[0, 0, 1, 3], [1, 2, 0, 2]]


def edges(**kwargs):
    return EdgeIndex(ROWS, sort_order="row", sparse_size=(4, 4), **kwargs)


@pytest.mark.parametrize("dtype", sorted(SUPPORTED_DTYPES, key=str))
def test_copies_keep_what_is_known(dtype):
    e = edges(dtype=dtype).fill_cache_()
    assert isinstance(e, torch.Tensor) and e.dtype == dtype
    for out in (e.clone(), torch.clone(e), e.cpu(), e.to("cpu"), e.contiguous(), e.long(), e.int(), EdgeIndex(e)):
        assert type(out) is EdgeIndex and out.is_sorted_by_row and out.sparse_size() == (4, 4)
    assert e.int()._indptr.dtype == torch.int32 and e.int()._indptr.tolist() == [0, 2, 3, 3, 4]
    assert type(e.float()) is torch.Tensor and type(e * 1) is torch.Tensor and type(e.as_tensor()) is torch.Tensor


def test_parts():
    e = edges()
    assert e[:, 1:].is_sorted_by_row and e[:, tensor([True, False, True, True])].sparse_size() == (4, 4)
    assert not e[:, tensor([3, 0])].is_sorted and type(e[:, tensor([3, 0])]) is EdgeIndex
    row, col = e
    assert type(row) is Index and row.is_sorted and row.dim_size == 4 and not col.is_sorted
    assert type(e[:, 0]) is torch.Tensor and type(e[tensor([0])]) is torch.Tensor
    assert e.narrow(1, 2, 2).tolist() == [[1, 3], [0, 2]] and e.index_select(1, tensor([3])).tolist() == [[3], [2]]
    out = torch.cat([e, EdgeIndex([[4], [5]], sparse_size=(5, 6))], dim=1)
    assert out.sparse_size() == (5, 6) and out._cat_metadata.nnz == [4, 1] and not out.is_sorted
    assert type(torch.cat([e, tensor([[4], [5]])], dim=1)) is torch.Tensor
    target = torch.empty(2, 1, dtype=torch.long)
    assert torch.index_select(e, 1, tensor([3]), out=target) is target and target.tolist() == [[3], [2]]


def test_shifts_move_the_sizes():
    e = edges()
    assert (e + 2).sparse_size() == (6, 6) and (e + 2).is_sorted_by_row
    assert (e + tensor([[1], [3]])).sparse_size() == (5, 7) and torch.add(e, 1, alpha=3).sparse_size() == (7, 7)
    e += 1
    assert type(e) is EdgeIndex and e.sparse_size() == (5, 5) and e.tolist() == [[1, 1, 2, 4], [2, 3, 1, 3]]
    with pytest.raises(RuntimeError, match="can't be cast"):
        e += 0.5


def test_orders():
    e = edges()
    out = e.sort_by("col")
    assert isinstance(out, SortReturnType) and out.values.tolist() == [[1, 0, 0, 3], [0, 1, 2, 2]] and out.indices.tolist() == [2, 0, 1, 3]
    assert e._T_perm is not None and e.sort_by("row").indices is None
    assert e.flip(0).is_sorted_by_col and not e.flip(1).is_sorted
    e.fill_cache_().sparse_resize_(5, 6)
    assert e._indptr.tolist() == [0, 2, 3, 3, 4, 4] and e._T_indptr.tolist() == [0, 1, 2, 4, 4, 4, 4]
    assert set_tuple_item((1, 2), -1, 5) == (1, 5)
    with pytest.raises(IndexError):
        set_tuple_item((1, 2), 2, 5)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amin", "max"])
def test_products(reduce):
    e, x, w = edges(), torch.randn(4, 3, requires_grad=True), torch.rand(4)
    assert torch.allclose(e.matmul(x, w, reduce=reduce), _scatter_spmm(e, x, w, reduce))
    with pytest.raises(ValueError, match="sorted by"):
        e.matmul(x, transpose=True)
    assert torch.allclose(torch.sparse.mm(e, x, reduce="sum"), e.to_dense() @ x) and torch.allclose(e @ x, torch.mm(e, x))
    assert EdgeIndex(e.to_sparse_csr()).equal(e) and EdgeIndex(e.to_sparse_csc()).is_sorted_by_col
    assert isinstance(e.to_sparse_coo(), torch.Tensor) and e.to_sparse_coo().is_coalesced()


def test_layers_and_files(tmp_path):
    e, x = edges(), torch.randn(4, 3)
    layer = GCNConv(3, 2)
    assert torch.allclose(layer(x, e), layer(x, e.as_tensor()))
    torch.save(e, tmp_path / "edges.pt")
    back = torch.load(tmp_path / "edges.pt", weights_only=False)
    assert type(back) is EdgeIndex and back.equal(e) and back.sort_order == "row"
    assert str(e).startswith("EdgeIndex([[0, 0, 1, 3],\n           [1, 2, 0, 2]], sparse_size=(4, 4), nnz=4")


def test_wrong_ones():
    for text, call in {
        "unsupported data type": lambda: EdgeIndex([[0.0], [1.0]]),
        "two-dimensional": lambda: EdgeIndex([0, 1]),
        "non-symmetric": lambda: EdgeIndex([[0], [1]], is_undirected=True, sparse_size=(2, 3)),
        "negative": lambda: EdgeIndex([[0], [-1]]).validate(),
        "number of columns": lambda: EdgeIndex([[0], [9]], sparse_size=(2, 2)).validate(),
        "not undirected": lambda: EdgeIndex([[0], [1]], is_undirected=True).validate(),
        "contiguous": lambda: EdgeIndex(tensor([[0, 1], [1, 0], [1, 1]]).t()),
        "registered size": lambda: Index([0, 4], dim_size=2).validate(),
        "one-dimensional": lambda: Index([[0]]),
    }.items():
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="keyword arguments"):
        Index(tensor([0]), dtype=torch.long)


def test_index():
    i = Index([0, 1, 1, 2], dim_size=3, is_sorted=True).fill_cache_()
    assert i._indptr.tolist() == [0, 1, 3, 4] and i.dim_resize_(4)._indptr.tolist() == [0, 1, 3, 4, 4]
    values, order = Index([1, 0, 2, 1], dim_size=3).sort(stable=True)
    assert values.is_sorted and values.tolist() == [0, 1, 1, 2] and order.tolist() == [1, 0, 3, 2]
    assert i[1:].is_sorted and not i.flip(0).is_sorted and (i + 2).dim_size == 6 and i.add(i).dim_size == 8
    assert torch.cat([i, i]).dim_size == 4 and type(torch.cat([i, i.as_tensor()])) is torch.Tensor
    assert str(i) == "Index([0, 1, 1, 2], dim_size=4, is_sorted=True)"


def test_select_knows_what_it_is():
    edges = EdgeIndex([[0, 1, 1], [1, 0, 2]], sparse_size=(3, 3), sort_order="row")
    rows, one = edges.select(0, 0), edges.select(1, 2)
    assert isinstance(rows, Index) and rows.dim_size == 3 and rows.is_sorted and rows.tolist() == [0, 1, 1]
    assert not isinstance(one, Index) and one.tolist() == [1, 2]


def test_layers_take_the_sizes_that_edges_know():
    """Messages to more nodes than the largest number among the edges: the sizes are those of the matrix."""
    from polygrad.torch_geometric.nn import MessagePassing

    class Sum(MessagePassing):
        def forward(self, x, edge_index, size=None):
            return self.propagate(edge_index, x=x, size=size)

    edges = EdgeIndex([[0, 1, 2], [0, 0, 1]], sparse_size=(3, 4), sort_order="col")
    x = torch.tensor([[1.0], [2.0], [4.0]])
    assert Sum()((x, None), edges).tolist() == [[3], [4], [0], [0]]
    half = EdgeIndex([[0, 1, 2], [0, 0, 1]], sparse_size=(3, None))
    assert Sum()((x, None), half, (3, 2)).tolist() == [[3], [4]]
    assert Sum().inspector.get_param_names("message") == ["x_j"]
