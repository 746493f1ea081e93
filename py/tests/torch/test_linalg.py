"""torch.linalg against numpy, and its gradients against finite differences."""

import numpy as np
import pytest

import polygrad.torch as torch

L = torch.linalg
rng = np.random.default_rng(0)


def positive(x):
    return x @ x.transpose(-1, -2) + 3 * torch.eye(x.shape[-1], dtype=x.dtype)


CASES = {
    "solve": (lambda a, b: L.solve(a, b), [(2, 4, 4), (2, 4, 3)]),
    "solve_broadcast": (lambda a, b: L.solve(a, b), [(4, 4), (2, 4, 1)]),
    "solve_right": (lambda a, b: L.solve(a, b, left=False), [(3, 3), (2, 3)]),
    "inv": (L.inv, [(4, 4)]),
    "det": (L.det, [(2, 3, 3)]),
    "slogdet": (lambda x: L.slogdet(x).logabsdet, [(4, 4)]),
    "cholesky": (lambda x: L.cholesky(positive(x)), [(4, 4)]),
    "triangular": (lambda a, b: L.solve_triangular(a + 4 * torch.eye(4, dtype=a.dtype), b, upper=True), [(4, 4), (4, 2)]),
    "unit": (lambda a, b: L.solve_triangular(a, b, upper=False, unitriangular=True), [(4, 4), (4, 2)]),
    "eigvalsh": (lambda x: L.eigvalsh(positive(x)), [(4, 4)]),
    "eigh": (lambda x: L.eigh(positive(x)).eigenvectors.abs(), [(4, 4)]),
    "svd": (lambda x: torch.cat([v.abs().reshape(-1) for v in L.svd(x, full_matrices=False)]), [(5, 3)]),
    "svd_wide": (lambda x: torch.cat([v.abs().reshape(-1) for v in L.svd(x, full_matrices=False)]), [(3, 4)]),
    "qr": (lambda x: torch.cat([v.reshape(-1) for v in L.qr(x)]), [(5, 3)]),
    "qr_wide": (lambda x: torch.cat([v.reshape(-1) for v in L.qr(x)]), [(3, 5)]),
    "matrix_exp": (L.matrix_exp, [(3, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    function, shapes = CASES[name]
    arrays = [rng.normal(size=s) for s in shapes]
    inputs = [torch.tensor(a, requires_grad=True) for a in arrays]
    out = function(*inputs)
    weight = rng.normal(size=tuple(out.shape))
    (out * torch.tensor(weight)).sum().backward()
    for k, a in enumerate(arrays):
        along = rng.normal(size=a.shape)
        sides = []
        for step in (1e-6, -1e-6):
            moved = [torch.tensor(x + step * along if j == k else x) for j, x in enumerate(arrays)]
            sides.append(float((function(*moved) * torch.tensor(weight)).sum()))
        found = float((inputs[k].grad * torch.tensor(along)).sum())
        assert found == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-4, abs=1e-5)


def test_values():
    a, b = rng.normal(size=(3, 6, 6)), rng.normal(size=(3, 6, 2))
    np.testing.assert_allclose(L.solve(torch.tensor(a), torch.tensor(b)).numpy(), np.linalg.solve(a, b), rtol=1e-9)
    np.testing.assert_allclose(L.det(torch.tensor(a)).numpy(), np.linalg.det(a), rtol=1e-9)
    s = a @ a.transpose(0, 2, 1)
    values, vectors = L.eigh(torch.tensor(s))
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(s), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose((vectors * values.unsqueeze(-2) @ vectors.mT).numpy(), s, atol=1e-10)
    for shape in ((7, 4), (4, 7), (5, 5), (1, 3), (3, 1)):
        x = rng.normal(size=shape)
        u, sv, vt = L.svd(torch.tensor(x))
        assert u.shape == (shape[0], shape[0]) and vt.shape == (shape[1], shape[1])
        k = min(shape)
        np.testing.assert_allclose((u[:, :k] * sv @ vt[:k]).numpy(), x, atol=1e-12)
        np.testing.assert_allclose((u.T @ u).numpy(), np.eye(shape[0]), atol=1e-12)
        p, low, up = L.lu(torch.tensor(x))
        np.testing.assert_allclose((p @ low @ up).numpy(), x, atol=1e-12)


def test_rank_deficient():
    """The columns that belong to singular values of zero are still orthogonal."""
    x = torch.tensor(np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 0.0]))
    u, s, vt = L.svd(x)
    np.testing.assert_allclose((u.T @ u).numpy(), np.eye(3), atol=1e-12)
    np.testing.assert_allclose((vt @ vt.T).numpy(), np.eye(3), atol=1e-12)
    assert int(L.matrix_rank(x)) == 1 and float(s[1]) < 1e-12


def test_errors():
    for wrong in (lambda: L.inv(torch.zeros(2, 2)), lambda: L.cholesky(-torch.eye(2))):
        with pytest.raises(L.LinAlgError, match="matrix 0"):
            wrong()
    with pytest.raises(RuntimeError):
        L.solve(torch.zeros(2, 3), torch.zeros(2, 1))
    assert L.inv_ex(torch.zeros(2, 2)).info.tolist() == 1
    with pytest.raises(AttributeError, match="complex"):
        L.eig(torch.eye(2))
