"""Names that scripts import from places of PyTorch's own, older functions with other results than torch.linalg's, and their corner cases."""

import numpy as np
import pytest

import polygrad.torch as torch
import polygrad.torch.nn.functional as F

A = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


def test_modules_that_regroup_names():
    from polygrad.torch.autograd.function import Function, once_differentiable
    from polygrad.torch.cuda.amp import GradScaler, autocast
    from polygrad.torch.utils.data.dataloader import default_collate
    from polygrad.torch.utils.data.dataset import Dataset
    from polygrad.torch.utils.data.distributed import DistributedSampler
    from polygrad.torch.utils.data.sampler import SubsetRandomSampler

    assert Function is torch.autograd.Function and once_differentiable(len) is len
    assert Dataset is torch.utils.data.Dataset and SubsetRandomSampler is torch.utils.data.SubsetRandomSampler
    assert default_collate([1, 2]).tolist() == [1, 2] and isinstance(GradScaler(), torch.amp.GradScaler)
    with autocast(dtype=torch.bfloat16):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    parts = [list(DistributedSampler(range(7), 2, k)) for k in (0, 1)]
    assert set(parts[0]) | set(parts[1]) == set(range(7)) and len(parts[0]) == len(parts[1]) == 4
    one = DistributedSampler(range(50))
    first = list(one)
    one.set_epoch(1)
    assert list(one) != first and sorted(one) == list(range(50))


def test_events_and_streams():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.ones(3).sum().item()
    end.record()
    assert start.elapsed_time(end) > 0 and torch.cuda.current_stream().record_event().query()
    assert set(torch.cuda.memory_stats()) >= {"allocated_bytes.all.peak"} and issubclass(torch.cuda.OutOfMemoryError, RuntimeError)


def test_svd_and_qr_of_old():
    x = torch.from_numpy(A)
    u, s, v = torch.svd(x)
    assert u.shape == (5, 3) and v.shape == (3, 3)
    np.testing.assert_allclose((u @ torch.diag(s) @ v.T).numpy(), A, atol=1e-5)
    np.testing.assert_allclose(x.svd(some=False).S.numpy(), np.linalg.svd(A)[1], rtol=1e-5)
    assert torch.svd(x, some=False).U.shape == (5, 5) and torch.svd(x, compute_uv=False).S.shape == (3,)
    q, r = torch.qr(x)
    assert q.shape == (5, 3) and r.shape == (3, 3) and torch.qr(x, some=False)[0].shape == (5, 5)
    low = torch.svd_lowrank(x, 2)
    np.testing.assert_allclose(low.S.numpy(), s.numpy()[:2], rtol=1e-5)
    parts = torch.pca_lowrank(x, 2)
    np.testing.assert_allclose(parts.S.numpy(), np.linalg.svd(A - A.mean(0))[1][:2], rtol=1e-5)


def test_linear_algebra():
    square = torch.from_numpy(A[:3] + 3 * np.eye(3, dtype=np.float32))
    factors, pivots = torch.linalg.lu_factor(square)
    b = torch.from_numpy(A)
    np.testing.assert_allclose(torch.linalg.lu_solve(factors, pivots, b, left=False).numpy(), A @ np.linalg.inv(square.numpy()), rtol=1e-3, atol=1e-5)
    assert torch.linalg.matrix_rank(torch.diag(torch.tensor([3.0, 1.0, 0.01])), atol=0.1).item() == 2
    assert torch.linalg.matrix_rank(torch.zeros(0, 3)).item() == 0
    lower = torch.tensor([[2.0, 9.0], [1.0, 3.0]])  # the upper triangle is not looked at
    np.testing.assert_allclose(torch.linalg.pinv(lower, hermitian=True).numpy(), np.linalg.inv([[2.0, 1.0], [1.0, 3.0]]), rtol=1e-5)
    assert torch.linalg.pinv(torch.zeros(2, 0)).shape == (0, 2)
    np.testing.assert_allclose(torch.norm(b, "nuc").item(), np.linalg.svd(A)[1].sum(), rtol=1e-5)


def test_indices():
    x = torch.arange(10).reshape(2, 5)
    assert torch.take_along_dim(x, torch.tensor([[-1], [0]]), 1).tolist() == [[4], [5]]
    assert torch.take_along_dim(x, torch.tensor([[1, 2]]), 1).tolist() == [[1, 2], [6, 7]]
    assert torch.take_along_dim(x, torch.tensor([[9], [0]])).tolist() == [9, 0]
    assert x.gather(1, torch.zeros(2, 0, dtype=torch.long)).shape == (2, 0) and torch.tensor(7).gather(0, torch.tensor([0])).tolist() == [7]
    assert torch.nonzero(torch.tensor(3.0), as_tuple=True)[0].tolist() == [0]
    assert torch.tensor([1, 3, 5]).searchsorted(torch.tensor([3]), side="right", out_int32=True).dtype == torch.int32
    assert torch.searchsorted(torch.tensor([5, 1, 3]), torch.tensor([4]), sorter=torch.tensor([1, 2, 0])).tolist() == [2]
    assert [t.tolist() for t in torch.arange(4).tensor_split(torch.tensor([1, 3]))] == [[0], [1, 2], [3]]
    assert torch.bincount(torch.tensor([0, 2, 2]), torch.tensor([1, 2, 3])).dtype == torch.float64
    written = torch.as_strided_scatter(torch.zeros(3, 3), torch.ones(2, 2), (2, 2), (1, 2))
    assert written.tolist() == [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_shapes_at_the_ends():
    assert [t.shape for t in torch.atleast_2d(torch.tensor(1.0), torch.ones(2))] == [(1, 1), (1, 2)]
    assert torch.block_diag(torch.ones(2), torch.ones(2, 2), torch.tensor(3.0)).shape == (4, 5)
    assert torch.column_stack([torch.tensor(1.0), torch.tensor(2.0)]).tolist() == [[1.0, 2.0]]
    assert torch.cov(torch.ones(1, 3)).shape == () and torch.tensor(2.0).median(0).values.item() == 2.0 and torch.tensor(2).mode().indices.item() == 0
    assert torch.tensor(1.0).squeeze((0,)).shape == () and torch.arange(4.0).std(correction=None) == torch.arange(4.0).std()
    a, b = torch.ones(1, 1, 1), torch.arange(4.0).reshape(2, 1, 2)
    assert torch.tensordot(a, b, dims=([0, 1], [2, 0])).tolist() == [[6.0]]  # of size 1: broadcast
    assert torch.addr(torch.full((2, 2), float("nan")), torch.ones(2), torch.ones(2), beta=0).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    x, y = torch.from_numpy(A[None, :2]), torch.from_numpy(A[:2, None])
    c = np.broadcast_to(A[None, :2], (2, 2, 3)), np.broadcast_to(A[:2, None], (2, 2, 3))
    want = (c[0] * c[1]).sum(1) / np.linalg.norm(c[0], axis=1) / np.linalg.norm(c[1], axis=1)
    np.testing.assert_allclose(F.cosine_similarity(x, y, dim=-2).numpy(), want, rtol=1e-5)


@pytest.mark.parametrize("separate", [False, True])
def test_attention_with_weights_from_outside(separate):
    layer = torch.nn.MultiheadAttention(4, 2, kdim=3 if separate else None, vdim=3 if separate else None)
    q, k = torch.randn(3, 2, 4), torch.randn(5, 2, 3 if separate else 4)
    weights = {"q_proj_weight": layer.q_proj_weight, "k_proj_weight": layer.k_proj_weight, "v_proj_weight": layer.v_proj_weight} if separate else {}
    got = F.multi_head_attention_forward(
        q, k, k, 4, 2, layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0, layer.out_proj.weight, layer.out_proj.bias,
        use_separate_proj_weight=separate, **weights,
    )  # fmt: skip
    for a, b in zip(got, layer(q, k, k)):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_functionals_of_old():
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    np.testing.assert_array_equal(F.upsample_nearest(x, scale_factor=2).numpy(), F.interpolate(x, scale_factor=2).numpy())
    np.testing.assert_array_equal(F.upsample_bilinear(x, (7, 7)).numpy(), F.interpolate(x, (7, 7), mode="bilinear", align_corners=True).numpy())
    assert F.max_pool2d_with_indices(x, 2)[1].tolist() == [[[[5, 7], [13, 15]]]]
    assert torch.autograd.gradgradcheck(lambda t: (t**3).sum(), torch.randn(3, dtype=torch.float64, requires_grad=True))


def test_more_arguments():
    x = torch.arange(4.0).reshape(2, 2)
    none, some = torch.tensor([False, False]), torch.tensor([False, True])
    assert x.index_put((none,), torch.ones(2), accumulate=True).tolist() == x.tolist()
    assert x.index_put((some,), torch.ones(2), accumulate=True).tolist() == [[0.0, 1.0], [3.0, 4.0]]
    assert x.index_put((torch.tensor([-1, -1]), torch.tensor([0, 0])), torch.tensor(1.0), accumulate=True).tolist() == [[0.0, 1.0], [4.0, 3.0]]
    assert x.put(torch.tensor([-1]), torch.tensor([9.0])).tolist() == [[0.0, 1.0], [2.0, 9.0]]
    assert torch.diff(torch.tensor([1, 4, 9]), prepend=torch.tensor([0]), append=torch.tensor([10])).tolist() == [1, 3, 5, 1]
    assert torch.diag_embed(x, dim1=0, dim2=2).tolist() == [[[0.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [0.0, 3.0]]]
    assert torch.ones(2).masked_scatter(torch.tensor([[True, False], [False, True]]), torch.tensor([5.0, 6.0])).tolist() == [[5.0, 1.0], [1.0, 6.0]]
    rows, inverse, counts = torch.tensor([[1, 2], [1, 2], [3, 4]]).unique_consecutive(True, True, dim=0)
    assert rows.tolist() == [[1, 2], [3, 4]] and inverse.tolist() == [0, 0, 1] and counts.tolist() == [2, 1]


def test_what_containers_hold_besides_their_entries():
    m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    m.register_buffer("scale", torch.ones(1))
    assert sorted(m.state_dict()) == ["0.bias", "0.weight", "scale"] and [n for n, _ in m.named_buffers()] == ["scale"]
    assert len(m) == 2 and [n for n, _ in m.named_children()] == ["0", "1"]


def test_checkpoints_of_optimizers(tmp_path):
    p = torch.nn.Parameter(torch.ones(2))
    first = torch.optim.Adam([p], lr=0.1)
    p.sum().backward()
    first.step()
    torch.save({"optimizer": first.state_dict(), "epoch": 3}, tmp_path / "c.pt")
    found = torch.load(tmp_path / "c.pt")
    q = torch.nn.Parameter(p.detach().clone())
    second = torch.optim.Adam([q], lr=0.5)
    second.load_state_dict(found["optimizer"])
    assert found["epoch"] == 3 and second.param_groups[0]["lr"] == 0.1
    for w, o in ((p, first), (q, second)):
        w.grad = torch.tensor([1.0, -2.0])
        o.step()
    np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-6)


def test_einsum_with_numbers():
    a, b = torch.from_numpy(A), torch.from_numpy(A.T.copy())
    np.testing.assert_allclose(torch.einsum(a, [0, 1], b, [1, 2], [0, 2]).numpy(), A @ A.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(torch.einsum(a, [..., 0], [...]).numpy(), A.sum(1), rtol=1e-5)


def test_a_view_of_a_reshaped_value_changes_it():
    x = torch.arange(6.0).reshape(2, 3)
    y, z = x.view(-1), x.view(3, 2)
    y[2] = 100
    z[0] += 1
    assert x.tolist() == [[1.0, 2.0, 100.0], [3.0, 4.0, 5.0]] and y.tolist() == [1.0, 2.0, 100.0, 3.0, 4.0, 5.0]
    x[0] = x[1]
    assert z.tolist() == [[3.0, 4.0], [5.0, 3.0], [4.0, 5.0]]
