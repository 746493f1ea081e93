"""Further names of PyTorch: values against those that PyTorch gives, written down or from numpy."""

import itertools

import numpy as np
import pytest

import polygrad
import polygrad.torch as torch
from polygrad.torch_geometric.nn import GATConv, GCNConv
from polygrad.torch_geometric.utils import is_torch_sparse_tensor, to_edge_index, to_torch_csc_tensor


@pytest.fixture
def a():
    return torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -6.0]])


def test_parts(a):
    assert a.rot90().tolist() == [[3, -6], [-2, 4], [1, 0.5]] and a.rot90(-1).tolist() == np.rot90(a.numpy(), -1).tolist()
    assert a.as_strided((2, 2), (3, 1), 1).tolist() == [[-2, 3], [4, -6]] and a.sum_to_size(1, 3).tolist() == [[1.5, 2, -3]]
    assert torch.repeat_interleave(torch.tensor([1, 0, 2])).tolist() == [0, 2, 2]
    assert a.index_reduce(0, torch.tensor([0, 0]), a * 2, "amax").tolist() == [[2, 8, 6], [0.5, 4, -6]]
    assert a.select_scatter(torch.zeros(3), 0, 1).tolist() == [[1, -2, 3], [0, 0, 0]]
    assert [t.tolist() for t in torch.unravel_index(torch.tensor([5]), (2, 3))] == [[1], [2]]
    a.as_strided((2,), (4,)).zero_()
    assert a.tolist() == [[0, -2, 3], [0.5, 0, -6]]


def test_arithmetic(a):
    assert np.allclose(a.cov().numpy(), np.cov(a.numpy()), atol=1e-5) and np.allclose(a.corrcoef().numpy(), np.corrcoef(a.numpy()), atol=1e-6)
    assert np.allclose(torch.kron(a, a).numpy(), np.kron(a.numpy(), a.numpy())) and a.signbit().tolist()[0] == [False, True, False]
    assert np.allclose(torch.tensordot(a, a, ([0, 1], [0, 1])).item(), (a.numpy() ** 2).sum()) and torch.inner(a, a).shape == (2, 2)
    assert torch.quantile(a, torch.tensor([0.0, 1.0])).tolist() == [-6, 4] and torch.tensor(1.25).round(decimals=1).item() == pytest.approx(1.2)
    assert torch.tensor([1.0, float("nan"), 3.0]).nanmedian().item() == 1 and torch.special.expit(torch.tensor(0.0)).item() == 0.5


def test_linalg(a):
    n = a.numpy()
    for order in (None, "fro", "nuc", 1, -1, 2, float("inf")):
        assert np.allclose(torch.linalg.norm(a, order).item(), np.linalg.norm(n, order), atol=1e-5)
    assert np.allclose(torch.linalg.pinv(a).numpy(), np.linalg.pinv(n), atol=1e-5) and torch.linalg.matrix_rank(a).item() == 2
    q, r = torch.linalg.qr(a)
    assert q.shape == (2, 2) and np.allclose((q @ r).numpy(), n, atol=1e-5)
    with pytest.raises(AttributeError, match="no complex numbers"):
        torch.linalg.eig(a)


def test_text():
    assert repr(torch.tensor([[1.5, 2.25], [3.0, 4.0]])) == "tensor([[1.5000, 2.2500],\n        [3.0000, 4.0000]])"
    assert repr(torch.tensor([1.0, -2.0])) == "tensor([ 1., -2.])" and repr(torch.tensor([True])) == "tensor([True])"
    assert repr(torch.tensor([1e-5, 1.0])) == "tensor([1.0000e-05, 1.0000e+00])" and f"{torch.tensor(3)}" == "3"


def test_sparse_matrices():
    edges, weight = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 2]]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    adj = to_torch_csc_tensor(edges, weight, size=(3, 3))
    dense = torch.zeros(3, 3).index_put((edges[0], edges[1]), weight)
    assert is_torch_sparse_tensor(adj) and adj.layout == torch.sparse_csc and adj.t().layout == torch.sparse_csr
    assert adj.to_dense().tolist() == dense.tolist() and adj.values().tolist() == [3, 1, 4, 2] and adj.ccol_indices().tolist() == [0, 1, 2, 4]
    assert (adj.t() @ torch.eye(3)).tolist() == dense.t().tolist() and torch.mm(adj, torch.eye(3)).tolist() == dense.tolist()
    assert type(adj.values()) is torch.Tensor and type(adj.t() @ torch.eye(3)) is torch.Tensor
    twice = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    assert not twice.is_coalesced() and twice.coalesce().values().tolist() == [3] and twice.to_dense().tolist() == [[0, 3], [0, 0]]
    assert dense.to_sparse().indices().tolist() == [[0, 0, 1, 2], [1, 2, 2, 0]] and to_edge_index(adj)[0].tolist() == [[2, 0, 0, 1], [0, 1, 2, 2]]
    x = torch.randn(3, 4)
    for layer in (GCNConv(4, 2), GATConv(4, 2)):
        with_weight = (weight,) if isinstance(layer, GCNConv) else ()
        assert torch.allclose(layer(x, adj.t()), layer(x, edges, *with_weight), atol=1e-6)


def test_settings():
    assert torch.get_default_dtype() == torch.float32 and torch.compile(torch.nn.ReLU())(torch.tensor([-1.0])).item() == 0
    state = torch.get_rng_state()
    first = torch.rand(3).tolist()
    torch.set_rng_state(state)
    assert torch.rand(3).tolist() == first
    torch.testing.assert_close(torch.ones(2), torch.ones(2))
    with pytest.raises(AssertionError):
        torch.testing.assert_close(torch.ones(2), torch.zeros(2))
    with pytest.raises(AttributeError, match="complex"):
        torch.fft  # noqa: B018


# ---- at the edge of what floats can tell, with PyTorch's results ----

_inf, _nan = float("inf"), float("nan")
EDGES = {
    "logit": (lambda: torch.tensor([0.0, 0.5, 1.0]).logit(), [-_inf, 0.0, _inf]),
    "xlogy": (lambda: torch.xlogy(torch.tensor([0.0, 0.0, 0.0, 2.0]), torch.tensor([0.0, -1.0, _nan, 1.0])), [0.0, 0.0, _nan, 0.0]),
    "xlog1py": (lambda: torch.special.xlog1py(torch.tensor([1.0, 0.0]), torch.tensor([1e-30, -1.0])), [1e-30, 0.0]),
    "entr": (lambda: torch.special.entr(torch.tensor([0.0, 1.0, -1.0])), [0.0, 0.0, -_inf]),
    "hypot": (lambda: torch.hypot(torch.tensor([3e-30, _inf]), torch.tensor([4e-30, _nan])), [5e-30, _inf]),
    "atan2": (lambda: torch.atan2(torch.tensor([0.0, -0.0, _inf]), torch.tensor([-1.0, -1.0, -_inf])), [3.1415927, -3.1415927, 2.3561945]),
    "median": (lambda: torch.tensor([[0.0, _nan, 1.0], [3.0, 1.0, 2.0]]).median(1).values, [_nan, 2.0]),
    "median's place": (lambda: torch.tensor([[0.0, _nan, 1.0], [3.0, 1.0, 2.0]]).median(1).indices, [1, 2]),
    "quantile": (lambda: torch.tensor([[0.0, _nan, 1.0], [_inf, 0.0, 1.0]]).quantile(0.5, dim=1), [_nan, 1.0]),
    "lerp": (lambda: torch.lerp(torch.tensor([_inf, 0.1]), torch.tensor([1.0, 0.7]), torch.tensor([0.5, 1.0])), [_inf, 0.7]),
    "nansum": (lambda: torch.tensor([1.0, _nan, _inf]).nansum().reshape(1), [_inf]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    made, want = EDGES[name]
    np.testing.assert_allclose(made().numpy(), np.array(want, "f" if isinstance(want[0], float) else "i8"), rtol=1e-6)


def test_gradients_at_edges():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    x.logit().sum().backward()
    assert x.grad.tolist() == [_inf, _inf]
    x = torch.tensor([2.0, _nan, -_inf], requires_grad=True)
    x.nansum().backward()
    assert x.grad.tolist() == [1, 0, 1]
    x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    torch.fmax(x, y).sum().backward()  # the first of two that are equal
    assert x.grad.tolist() == [1, 1] and y.grad.tolist() == [0, 0]
    x, y = torch.tensor([0.0, 0.0], requires_grad=True), torch.tensor([2.0, 0.0], requires_grad=True)
    torch.xlogy(x, y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [np.log(2.0), 0], rtol=1e-6)


def test_axes_and_spans_beyond_the_end_are_refused():
    """They were taken modulo the number of axes, and spans were cut off."""
    x = torch.arange(12.0).reshape(3, 4)
    for call in (
        lambda d: x.select(d, 0), lambda d: x.narrow(d, 0, 1), lambda d: x.movedim(d, 0), lambda d: x.movedim(0, d), lambda d: x.mode(d),
        lambda d: x.unbind(d), lambda d: x.select_scatter(x[0], d, 0), lambda d: x.slice_scatter(x, d), lambda d: x.renorm(2, d, 1.0),
        lambda d: x.take_along_dim(torch.zeros(1, 4, dtype=torch.int64), d), lambda d: x.squeeze((d,)), lambda d: torch.tensordot(x, x, ([d], [0])),
    ):  # fmt: skip
        for d in (2, -3, 2**40, 2**64 + 1, -(2**70)):
            with pytest.raises((IndexError, ValueError)):
                call(d)
        with pytest.raises(TypeError):
            call(1.5)
    for start, length in ((2, 2), (0, 4), (4, 0), (-4, 1), (2**63, 1), (0, -1), (0, 2**64 + 1)):
        with pytest.raises((IndexError, RuntimeError, ValueError)):
            x.narrow(0, start, length)
    assert x.narrow(0, -2, 1).tolist() == [[4, 5, 6, 7]] and x.narrow(0, 3, 0).shape == (0, 4) and x.narrow(-1, 1, 3).shape == (3, 3)
    assert x.movedim(np.int64(0), 1).shape == (4, 3) and x.select(np.int64(1), np.int32(2)).tolist() == [2, 6, 10]
    with pytest.raises((RuntimeError, ValueError)):
        torch.tril_indices(2**63, 2)


def test_whole_numbers_of_numpy_are_sizes():
    """np.int64(2), as a size comes out of an array, means 2 wherever a number or several of them may stand."""
    two, x, image = np.int64(2), torch.arange(24.0).reshape(4, 6), torch.rand(1, 2, 8, 8)
    weight = torch.rand(2, 2, 3, 3)
    F = torch.nn.functional
    assert [len(x.split(two)), len(x.tensor_split(two)), *x.repeat_interleave(two, dim=0).shape] == [2, 2, 8, 6]
    assert F.interpolate(image, size=two).shape == F.adaptive_avg_pool2d(image, two).shape == (1, 2, 2, 2)
    assert F.interpolate(image, scale_factor=np.float32(2)).shape == (1, 2, 16, 16)
    assert F.conv2d(image, weight, padding=two).shape == polygrad.Tensor.rand(1, 2, 8, 8).conv2d(polygrad.Tensor(weight.numpy()), padding=two).shape
    assert F.conv_transpose2d(image, weight, padding=np.int64(1), stride=two).shape == (1, 2, 15, 15)
    assert torch.nn.LayerNorm(np.int64(6))(x).shape == x.shape


def test_dtypes_of_numbers_and_of_tensors_without_axes():
    """Filling keeps the dtype; a tensor without axes does not widen one that has some, where other operations than + meet it too."""
    whole, flags, x, y = torch.tensor([1, 2]), torch.tensor([True, False]), torch.tensor([1.0, -2.0]), torch.tensor(0.5, dtype=torch.float64)
    assert whole.masked_fill(flags, -1.5).tolist() == [-1, 2] and whole.masked_fill(flags, -1.5).dtype == torch.int64
    assert (~flags).masked_fill(flags, 2.5).tolist() == [True, True] and x.masked_fill(flags, y).dtype == torch.float32
    assert torch.nn.functional.pad(whole, (1, 0), value=1.5).tolist() == [1, 1, 2] and torch.nn.functional.pad(flags, (0, 1)).dtype == torch.bool
    assert flags.clamp_min(0).dtype == torch.int64 and x.clamp(min=y).tolist() == [1.0, 0.5] and x.clamp(min=y).dtype == torch.float32
    for f in (
        torch.logaddexp,
        torch.logaddexp2,
        torch.fmin,
        torch.fmax,
        torch.xlogy,
        lambda a, b: torch.where(flags, a, b),
        lambda a, b: a.where(flags, b),
    ):
        assert f(x, y).dtype == f(y, x).dtype == torch.float32 and f(x, y.reshape(1)).dtype == torch.float64
    assert torch.where(flags, whole, y).dtype == torch.float64  # a float among integers stays one


def test_batches_of_rows_are_what_collating_entries_gives():
    """A loader over tensors selects rows at once; a dataset that gives many entries at once is asked for them at once."""
    from polygrad.torch.utils.data import DataLoader, Subset, TensorDataset, default_collate

    x, y = torch.randn(7, 3, requires_grad=True), torch.arange(7)
    rows = TensorDataset(x, y)
    for dataset in (rows, Subset(Subset(rows, [6, 2, 4, 0]), [3, 1, 0])):
        for got, start in zip(DataLoader(dataset, batch_size=2), range(0, len(dataset), 2)):
            want = default_collate([dataset[k] for k in range(start, min(start + 2, len(dataset)))])
            assert [g.tolist() for g in got] == [w.tolist() for w in want] and [g.dtype for g in got] == [w.dtype for w in want]
            got[0].sum().backward()
    assert x.grad.tolist() == [[2.0] * 3 if k in (6, 2, 0) else [1.0] * 3 for k in range(7)]

    class Many:
        asked = []

        def __len__(self):
            return 5

        def __getitems__(self, batch):
            self.asked.append(list(batch))
            return [k * 10 for k in batch]

    assert [b.tolist() for b in DataLoader(Many(), batch_size=2)] == [[0, 10], [20, 30], [40]] and Many.asked == [[0, 1], [2, 3], [4]]


def test_padding_of_known_sequences():
    from polygrad.torch.nn.utils.rnn import pad_sequence

    parts = [torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])]
    for batch_first in (False, True):
        for side in ("right", "left"):
            known = pad_sequence(parts, batch_first, -1.0, side)
            leaves = [p.clone().requires_grad_() for p in parts]
            lazy = pad_sequence(leaves, batch_first, -1.0, side)
            assert known.tolist() == lazy.tolist() and type(known) is type(lazy) and known.shape == ((2, 3, 2) if batch_first else (3, 2, 2))
            lazy.sum().backward()
            assert [leaf.grad.tolist() for leaf in leaves] == [[[1.0, 1.0]], [[1.0, 1.0]] * 3]
    whole = pad_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    assert whole.dtype is torch.int64 and whole.tolist() == [[1, 3], [2, 0]]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("again", [False, True])
def test_combinations_in_order(n, again):
    pick = itertools.combinations_with_replacement if again else itertools.combinations
    for r in (1, 2, 3):
        want = [list(c) for c in pick(range(n), r)]
        got = torch.combinations(torch.arange(n), r, again)
        assert got.tolist() == want and tuple(got.shape) == (len(want), r)
