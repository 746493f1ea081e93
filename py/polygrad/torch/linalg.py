"""torch.linalg: norms, products, QR, singular values and what is made of them."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from typing import Any, NamedTuple

from .. import loops
from .._core import C, like, operand
from .._ffi import handle_array
from ..tensor import Tensor as Plain
from ._axes import axes_of

_COMPLEX = "eig eigvals".split()


class LinAlgError(RuntimeError):
    """A matrix has no such factor: it is singular, or not positive definite."""


class QR(NamedTuple):
    """What qr gives."""

    Q: Any
    R: Any


class SVD(NamedTuple):
    """What svd gives."""

    U: Any
    S: Any
    Vh: Any


def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """The norm of the elements along axes, or of all."""
    return x.norm(ord, tuple(dim) if isinstance(dim, list) else dim, keepdim, dtype)


def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """The norm of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
    x = A if dtype is None else A.cast(dtype)
    row, col = axes_of(x, dim)
    if ord == "fro":
        return x.norm(2, (row, col), keepdim)
    if ord in ("nuc", 2, -2):
        s = svdvals(x.movedim((row, col), (-2, -1)))
        out = s.sum(-1) if ord == "nuc" else s[..., 0] if ord == 2 else s[..., -1]
        return out.unsqueeze(min(row, col)).unsqueeze(max(row, col)) if keepdim else out
    over, along = (row, col) if abs(ord) == 1 else (col, row)
    sums = x.abs().sum(over, keepdim=True)
    out = sums.amax(along, True) if ord > 0 else sums.amin(along, True)
    return out if keepdim else out.squeeze((row, col))


def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """vector_norm along one axis or of all elements, matrix_norm along two.

    >>> import polygrad.torch as torch
    >>> torch.linalg.norm(torch.tensor([[3.0, 4.0]]), dim=1).tolist()
    [5.0]
    """
    if ord is None or isinstance(dim, int) or (dim is None and A.ndim == 1):
        return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


def cross(input: Any, other: Any, *, dim: int = -1) -> Any:  # noqa: A002
    """The vector product along an axis of size 3."""
    return input.cross(other, dim)


def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Sums of products along an axis."""
    return (x * y).sum(dim)


def matmul(input: Any, other: Any) -> Any:  # noqa: A002
    """The product of matrices."""
    return input.matmul(other)


def multi_dot(tensors: Any) -> Any:
    """The product of several matrices, in the order that needs the fewest operations."""
    ts = list(tensors)
    while len(ts) > 1:
        # The largest inner size is summed over first.
        k = max(range(len(ts) - 1), key=lambda j: int(ts[j].shape[-1]))
        ts[k : k + 2] = [ts[k].matmul(ts[k + 1])]
    return ts[0]


def matrix_power(A: Any, n: int) -> Any:
    """The product of n times the matrix."""
    if n < 0:
        A, n = inv(A), -n
    out = None
    while n:
        if n & 1:
            out = A if out is None else out.matmul(A)
        A, n = (A.matmul(A), n >> 1) if n > 1 else (A, 0)
    if out is not None:
        return out
    size = int(A.shape[-1])
    place = A.arange_of(-1)
    return (place.unsqueeze(1) == place).cast(A.dtype).expand(*A.shape[:-2], size, size)


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices."""
    return A.diagonal(offset, dim1 % A.ndim, dim2 % A.ndim)


def vander(x: Any, *, N: int | None = None) -> Any:
    """Powers 0 .. N - 1 of each element."""
    n = int(x.shape[-1]) if N is None else N
    x = x.reshape(1) if x.ndim == 0 else x
    return x.unsqueeze(-1).pow(x.new_tensor(list(range(n))))


def qr(A: Any, mode: str = "reduced") -> QR:
    """Q with orthogonal columns and an upper triangle R with Q R = A; mode 'reduced', 'complete' or 'r'."""
    q, r = Plain.qr(A)
    k = min(int(A.shape[-2]), int(A.shape[-1]))
    if mode == "complete":
        return QR(q, r)
    return QR(q[..., :k] if mode == "reduced" else q.new_zeros(0), r[..., :k, :])


def svd(A: Any, full_matrices: bool = True) -> SVD:
    """U, the singular values from the largest down, and V transposed.

    >>> import polygrad.torch as torch
    >>> [round(v, 4) for v in torch.linalg.svd(torch.tensor([[3.0, 0.0], [4.0, 5.0]])).S.tolist()]
    [6.7082, 2.2361]
    """
    return SVD(*Plain.svd(A, full_matrices))


def svdvals(A: Any) -> Any:
    """The singular values from the largest down."""
    return Plain.svd(A, False)[1]


def _small(A: Any, s: Any, tol: Any) -> Any:
    eps = 1.1920928955078125e-07 if A.dtype.itemsize < 8 else 2.220446049250313e-16
    return s[..., :1] * (max(int(A.shape[-2]), int(A.shape[-1])) * eps) if tol is None else tol


def _symmetric(A: Any) -> Any:
    """The matrix of which A has the lower triangle."""
    return A.tril() + _T(A.tril(-1))


def _least(A: Any, s: Any, atol: Any, rtol: Any) -> Any:
    """What counts as zero among singular values: the larger of atol and rtol times the largest of them."""
    if atol is None and rtol is None:
        return _small(A, s, None)
    parts = [t for t in (atol, None if rtol is None else s[..., :1] * rtol) if t is not None]
    return parts[0] if len(parts) == 1 else parts[1].maximum(parts[0])


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """How many singular values are not close to zero."""
    if not A.numel():
        return A.new_zeros(A.shape[:-2], dtype="int64")
    s = svdvals(_symmetric(A) if hermitian else A)
    return (s > (_least(A, s, atol, rtol) if tol is None else tol)).sum(-1)


def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """The pseudo-inverse of Moore and Penrose."""
    if not A.numel():
        return A.new_zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]))
    u, s, vh = Plain.svd(_symmetric(A) if hermitian else A, False)
    keep = s > _least(A, s, atol, rcond if rtol is None else rtol)
    inverse = Plain.where(keep, 1 / Plain.where(keep, s, s.ones_like()), s.zeros_like())
    return (vh.transpose(-2, -1) * inverse.unsqueeze(-2)) @ u.transpose(-2, -1)


# ---- equations ----


class OldSVD(NamedTuple):
    """What torch.svd gives."""

    U: Any
    S: Any
    V: Any


class Eigen(NamedTuple):
    """What eigh gives."""

    eigenvalues: Any
    eigenvectors: Any


class SLogDet(NamedTuple):
    """What slogdet gives."""

    sign: Any
    logabsdet: Any


class LU(NamedTuple):
    """What lu_factor gives: both factors in one matrix, and the rows exchanged, counted from 1."""

    LU: Any
    pivots: Any


class PLU(NamedTuple):
    """What lu gives."""

    P: Any
    L: Any
    U: Any


class Checked(NamedTuple):
    """What the functions with _ex give: info is 0 where it went well."""

    result: Any
    info: Any


class LeastSquares(NamedTuple):
    """What lstsq gives."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


def _now(x: Any) -> Any:
    """x, computed: a matrix without such a factor is an error here, not where a value is read."""
    if not x._g.tracing and not loops.building:
        try:
            x.realize()
        except RuntimeError as e:
            raise LinAlgError(str(e)) from None
    return x


def _several(x: Any, function: Any, n: int) -> list[Any]:
    out = [handle_array([None]) for _ in range(n)]
    x._g.check(function(x._h, *out))
    return [like(x, h[0]) for h in out]


def _T(x: Any) -> Any:
    return Plain.transpose(x, -2, -1)


def _eye(A: Any) -> Any:
    n = int(A.shape[-1])
    place = A.arange_of(-1)
    return (place.unsqueeze(1) == place).cast(A.dtype).expand(*A.shape[:-2], n, n)


def _columns(A: Any, B: Any) -> bool:
    """Is B a batch of vectors rather than of matrices?"""
    return bool(B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(A.shape[:-1]) == tuple(B.shape)))


def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A X = B, or X A = B without `left`. B may hold vectors.

    >>> import polygrad.torch as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    if _columns(A, B):
        return solve(A, B.unsqueeze(-1), left=left).squeeze(-1)
    if not left:
        return _T(solve(_T(A), _T(B)))
    return _now(like(A, C.poly_solve(A._h, operand(A, B)), B))


def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """X with A X = B, or X A = B, of which only a triangle of A is read."""
    if not left:
        return _T(solve_triangular(_T(A), _T(B), upper=not upper, unitriangular=unitriangular))
    return like(A, C.poly_solve_triangular(A._h, operand(A, B), upper, unitriangular), B)


def inv(A: Any) -> Any:
    """The inverse.

    >>> import polygrad.torch as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return solve(A, _eye(A))


def _checked(function: Any, A: Any, *args: Any, **kwargs: Any) -> Checked:
    lead = A.shape[:-2]
    try:
        return Checked(function(A, *args, **kwargs), A.new_zeros(lead, dtype="int32"))
    except LinAlgError:
        return Checked(A.new_full(args[0].shape if args else A.shape, float("nan")), A.new_ones(lead, dtype="int32"))


def inv_ex(A: Any, *, check_errors: bool = False) -> Checked:
    """The inverse, and whether there is one."""
    return Checked(inv(A), A.new_zeros(A.shape[:-2], dtype="int32")) if check_errors else _checked(inv, A)


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Checked:
    """solve, and whether A can be solved for."""
    return _checked(solve, A, B, left=left)


def cholesky(A: Any, *, upper: bool = False) -> Any:
    """The lower triangle L with L L^T = A, or its transposed."""
    out = _now(like(A, C.poly_cholesky(A._h)))
    return _T(out) if upper else out


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Checked:
    """The factor, and whether there is one."""
    return _checked(cholesky, A, upper=upper)


def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Any:
    """X with A X = B, of which the factor L is given."""
    half = solve_triangular(_T(L) if upper else L, B, upper=False)
    return solve_triangular(L if upper else _T(L), half, upper=True)


def cholesky_inverse(L: Any, upper: bool = False) -> Any:
    """The inverse of the matrix whose factor is L."""
    return cholesky_solve(_eye(L), L, upper)


def det(A: Any) -> Any:
    """The determinant.

    >>> import polygrad.torch as torch
    >>> torch.linalg.det(torch.tensor([[2.0, 1.0], [1.0, 4.0]])).item()
    7.0
    """
    return _several(A, C.poly_slogdet, 3)[0]


def slogdet(A: Any) -> SLogDet:
    """The sign of the determinant and the logarithm of its size."""
    return SLogDet(*_several(A, C.poly_slogdet, 3)[1:])


def logdet(A: Any) -> Any:
    """The logarithm of the determinant; NaN where that is negative."""
    sign, size = slogdet(A)
    return Plain.where(sign < 0, size.full_like(float("nan")), size)


def eigh(A: Any, UPLO: str = "L") -> Eigen:
    """Eigenvalues of symmetric matrices, ascending, and eigenvectors as columns."""
    values, vectors = _several(A if UPLO.upper() == "L" else _T(A), C.poly_eigh, 2)
    return Eigen(_now(values), vectors)


def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of symmetric matrices, ascending."""
    return eigh(A, UPLO).eigenvalues


def lu_factor(A: Any, *, pivot: bool = True) -> LU:
    """The factors of A with exchanged rows, in one matrix."""
    factors, rows = _several(A, C.poly_lu, 2)
    return LU(factors, rows + 1)


def lu_unpack(data: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> PLU:
    """P, L and U out of what lu_factor gives."""
    m, n = int(data.shape[-2]), int(data.shape[-1])
    k = min(m, n)
    lower = data[..., :k].tril(-1)
    place = lower.arange_of(-2).unsqueeze(1) == lower.arange_of(-1)
    order = data.arange_of(-2).expand(*data.shape[:-2], m).clone()
    swaps = pivots.reshape(-1, k).tolist()
    rows = order.reshape(-1, m).numpy()
    for row, exchanged in zip(rows, swaps):
        for i, j in enumerate(exchanged):
            row[[i, int(j) - 1]] = row[[int(j) - 1, i]]
    order = data.new_tensor(rows, dtype="int64").reshape(*data.shape[:-1])
    P = _T((order.unsqueeze(-1) == data.arange_of(-2)).cast(data.dtype))
    return PLU(P, lower + place.cast(data.dtype), data[..., :k, :].triu())


def lu(A: Any, *, pivot: bool = True) -> PLU:
    """P, L and U with P L U = A."""
    return lu_unpack(*lu_factor(A))


def lu_solve(factors: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """X with A X = B, of which lu_factor has given the factors."""
    if not left:  # X A = B is A^T X^T = B^T
        return _T(lu_solve(factors, pivots, _T(B), adjoint=not adjoint))
    P, L, U = lu_unpack(factors, pivots)
    if adjoint:
        return P @ solve_triangular(_T(L), solve_triangular(_T(U), B, upper=False), upper=True, unitriangular=True)
    return solve_triangular(U, solve_triangular(L, _T(P) @ B, upper=False, unitriangular=True), upper=True)


def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: str | None = None) -> LeastSquares:
    """X for which A X is closest to B, the smallest such X where there are several; A has full rank."""
    m, n = int(A.shape[-2]), int(A.shape[-1])
    vector = _columns(A, B)
    b = B.unsqueeze(-1) if vector else B
    if m >= n:
        q, r = qr(A)
        x = solve_triangular(r, _T(q) @ b, upper=True)
    else:
        q, r = qr(_T(A))
        x = q @ solve_triangular(_T(r), b, upper=False)
    left = (A @ x - b).square().sum(-2) if m > n else x.new_zeros(0)
    return LeastSquares(x.squeeze(-1) if vector else x, left, matrix_rank(A), x.new_zeros(0))


def cond(A: Any, p: Any = None) -> Any:
    """The norm of a matrix times that of its inverse."""
    if p in (None, 2, -2):
        s = svdvals(A)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


def matrix_exp(A: Any) -> Any:
    """The exponential of a matrix: a sum of powers of A / 2^k, squared k times."""
    size = float(matrix_norm(A.detach(), 1).max()) if A.numel() else 0.0
    k = max(0, int(size).bit_length() + 1)
    x = A * (0.5**k)
    term = total = _eye(A)
    for n in range(1, 13 if A.dtype.itemsize < 8 else 19):
        term = term @ x * (1.0 / n)
        total = total + term
    for _ in range(k):
        total = total @ total
    return total


def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of A as a map from its axes after the first `ind` to those."""
    rows, columns = A.shape[:ind], A.shape[ind:]
    return inv(A.reshape(rows.numel(), -1)).reshape(*columns, *rows)


def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """X with tensordot(A, X) = B."""
    if dims:
        A = A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    shape = A.shape[B.ndim :]
    return solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(shape)


# ---- torch.cholesky and others with arguments of their own ----


def old_cholesky(input: Any, upper: bool = False) -> Any:  # noqa: A002
    """torch.cholesky."""
    return cholesky(input, upper=upper)


def old_svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:  # noqa: A002
    """torch.svd: U, the singular values, and V as it is."""
    u, s, vh = svd(input, not some)
    if not compute_uv:
        m, n = int(input.shape[-2]), int(input.shape[-1])
        return OldSVD(input.new_zeros((*input.shape[:-2], m, m)), s, input.new_zeros((*input.shape[:-2], n, n)))
    return OldSVD(u, s, _T(vh))


def svd_lowrank(A: Any, q: int = 6, niter: int = 2, M: Any = None) -> Any:
    """The q largest singular values of A - M with their vectors: U, S and V. Exact here: niter is not needed."""
    u, s, v = old_svd(A if M is None else A - M)
    k = min(q, int(s.shape[-1]))
    return OldSVD(u[..., :k], s[..., :k], v[..., :k])


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """svd_lowrank of A less the mean of its rows: the principal components are the columns of V."""
    k = min(6, *(int(n) for n in A.shape[-2:])) if q is None else q
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, k)


def old_lu_solve(b: Any, factors: Any, pivots: Any) -> Any:
    """torch.lu_solve."""
    return lu_solve(factors, pivots, b)


def old_triangular_solve(b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """torch.triangular_solve: the solution and A."""
    A = _T(A) if transpose else A
    return solve_triangular(A, b, upper=upper != transpose, unitriangular=unitriangular), A


def __getattr__(name: str) -> Any:
    if name in _COMPLEX:
        raise AttributeError(f"torch.linalg.{name} is not here: there are no complex numbers; eigh is for symmetric matrices")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "LU", "OldSVD", "PLU", "QR", "SVD", "Checked", "Eigen", "LeastSquares", "LinAlgError", "SLogDet", "cholesky", "cholesky_ex", "cholesky_inverse",
    "cholesky_solve", "cond", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "inv_ex", "logdet", "lstsq", "lu", "lu_factor", "lu_solve",
    "lu_unpack", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm",
    "old_svd", "pca_lowrank", "pinv", "qr", "slogdet", "solve",
    "solve_ex", "solve_triangular", "svd", "svd_lowrank", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip
