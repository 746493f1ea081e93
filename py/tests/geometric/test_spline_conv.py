"""SplineConv against its formula."""

import numpy as np
import pytest

from polygrad import Tensor
from polygrad.geometric.nn import SplineConv


def basis(u, k, degree, closed):
    """Values of the k B-splines of one axis at u, by the recursion over degrees on knots with distance 1."""
    v = u * (k if closed else k - degree)
    first, t = int(np.floor(v)), v - np.floor(v)
    values = {1: [1 - t, t], 2: [(1 - t) ** 2 / 2, 0.5 + t - t * t, t * t / 2]}
    values[3] = [(1 - t) ** 3 / 6, (3 * t**3 - 6 * t * t + 4) / 6, (-3 * t**3 + 3 * t * t + 3 * t + 1) / 6, t**3 / 6]
    out = np.zeros(k)
    for s, b in enumerate(values[degree]):
        out[(first + s) % k] += b
    return out


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("is_open", [True, False])
def test_spline_conv(degree, is_open):
    rng = np.random.default_rng(0)
    x, pairs, place = rng.standard_normal((5, 3)), np.array([[0, 1, 2, 3, 4], [1, 1, 0, 4, 4]]), rng.random((5, 2))
    sizes = [4, 5]
    conv = SplineConv(3, 2, dim=2, kernel_size=sizes, is_open_spline=is_open, degree=degree)
    out = conv(Tensor(x.astype(np.float32)), Tensor(pairs), Tensor(place.astype(np.float32))).numpy()
    weight, root = conv.weight.numpy(), conv.lin.weight.numpy()
    wanted, count = np.zeros((5, 2)), np.zeros(5)
    for (s, d), u in zip(pairs.T, place):
        first, second = (basis(u[k], sizes[k], degree, not is_open) for k in (0, 1))
        kernel = np.einsum("a,b,baio->io", first, second, weight.reshape(5, 4, 3, 2))
        wanted[d] += x[s] @ kernel
        count[d] += 1
    wanted = wanted / np.maximum(count, 1)[:, None] + x @ root.T
    assert np.allclose(out, wanted, atol=1e-4)


def sparse(path, matrix):
    rows, cols = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=matrix.shape[0]))])
    np.savez(
        path, data=matrix[rows, cols], indices=cols.astype(np.int32), indptr=indptr.astype(np.int32), shape=np.array(matrix.shape), format=b"csr"
    )
