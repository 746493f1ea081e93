"""torch.linalg: norms, products, QR, singular values and what is made of them."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from typing import Any, NamedTuple

from ..tensor import Tensor as Plain

_LEFT_OUT = (
    "cholesky cond det eig eigh eigvals eigvalsh inv lstsq lu lu_factor matrix_exp slogdet solve solve_triangular tensorinv tensorsolve".split()
)


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
    row, col = (d % x.ndim for d in dim)
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
        raise NotImplementedError("matrix_power of a negative number needs an inverse, which is not here")
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


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False) -> Any:
    """How many singular values are not close to zero."""
    s = svdvals(A)
    return (s > _small(A, s, tol)).sum(-1)


def pinv(A: Any, *, rtol: Any = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse of Moore and Penrose."""
    u, s, vh = Plain.svd(A, False)
    keep = s > (_small(A, s, None) if rtol is None else s[..., :1] * rtol)
    inverse = Plain.where(keep, 1 / Plain.where(keep, s, s.ones_like()), s.zeros_like())
    return (vh.transpose(-2, -1) * inverse.unsqueeze(-2)) @ u.transpose(-2, -1)


def __getattr__(name: str) -> Any:
    if name in _LEFT_OUT:
        raise AttributeError(f"torch.linalg.{name} is not here: use numpy.linalg or scipy.linalg on x.numpy(), which has no gradient")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "QR", "SVD", "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "svd", "svdvals",
    "vander", "vecdot", "vector_norm",
]  # fmt: skip
