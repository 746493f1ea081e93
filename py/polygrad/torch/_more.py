"""Further methods of PyTorch's tensors, each made of a few others: other names, parts of tensors, statistics."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from .._core import C
from ..autograd import making
from ..dtypes import dtypes
from ..tensor import Tensor as Plain
from ._axes import axis_of
from ._erfc import erfc
from ._views import view_of

if TYPE_CHECKING:
    from .tensor import Tensor

# Other names of the same methods.
NAMES = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh", "fix": "trunc",
    "unsafe_chunk": "chunk", "unsafe_split": "split", "unsafe_split_with_sizes": "split", "bitwise_left_shift": "lshift",
    "bitwise_right_shift": "rshift",
}  # fmt: skip
# Those that change nothing, since there are no complex numbers and no lazily negated ones.
SAME = "conj conj_physical resolve_conj resolve_neg positive dequantize to_dense"


class HISTOGRAM(tuple):
    """(hist, bin_edges)"""

    hist, bin_edges = property(lambda self: self[0]), property(lambda self: self[1])


class FREXP(tuple):
    """(mantissa, exponent)"""

    mantissa, exponent = property(lambda self: self[0]), property(lambda self: self[1])


def _other(name: str, of: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, of)(*args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"{of} under another name."
    return method


def _same(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "The tensor itself: its numbers are real and lie densely."
    return method


class More:
    """PyTorch's names."""

    __slots__ = ()

    for _name, _of in NAMES.items():
        locals()[_name] = _other(_name, _of)
    for _name in SAME.split():
        locals()[_name] = _same(_name)
    del _name, _of

    # ---- what it is ----

    is_cpu = property(lambda self: self.device.type == "cpu", doc="Is it computed on the host?")
    is_sparse_csr = is_nested = is_xla = is_mps = is_xpu = is_vulkan = False
    itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of one element.")
    real = property(lambda self: self, doc="The tensor itself.")
    retains_grad = property(lambda self: "_kept" in self.__dict__, doc="Was retain_grad called on a tensor that is not a leaf?")
    name = property(lambda self: None, doc="No tensor has a name.")
    H = property(lambda self: self.transpose(0, 1), doc="A matrix with its axes swapped.")
    mH = property(lambda self: self.transpose(-1, -2), doc="The last two axes swapped.")

    def adjoint(self: Any) -> Tensor:
        """The last two axes swapped."""
        return self.transpose(-1, -2)

    def get_device(self: Any) -> int:
        """The number of the GPU, -1 on the host."""
        return (self.device.index or 0) if self.is_cuda else -1

    def is_nonzero(self: Any) -> bool:
        """Is the single number not zero?"""
        return bool(self)

    def is_same_size(self: Any, other: Any) -> bool:
        """Have both the same shape?"""
        return tuple(self.shape) == tuple(other.shape)

    def is_conj(self: Any) -> bool:
        """No tensor is conjugated."""
        return False

    is_neg = is_inference = is_distributed = is_conj

    def is_set_to(self: Any, other: Any) -> bool:
        """Are both the same value?"""
        return self is other or self.data_ptr() == other.data_ptr()

    def data_ptr(self: Any) -> int:
        """The address of the values in memory, which are computed first."""
        return int(C.poly_data(self.realize()._h) or 0)

    def storage_offset(self: Any) -> int:
        """0: every tensor has memory of its own."""
        return 0

    # ---- parts ----

    def argwhere(self: Any) -> Tensor:
        """Places of the elements that are not zero, one row each."""
        return self.nonzero()

    def hsplit(self: Any, indices: Any) -> Any:
        """tensor_split of the columns, or of a vector."""
        return self.tensor_split(indices, 0 if self.ndim == 1 else 1)

    def vsplit(self: Any, indices: Any) -> Any:
        """tensor_split of the rows."""
        return self.tensor_split(indices, 0)

    def dsplit(self: Any, indices: Any) -> Any:
        """tensor_split of the third axis."""
        return self.tensor_split(indices, 2)

    def narrow_copy(self: Any, dim: int, start: int, length: int) -> Tensor:
        """narrow, copied."""
        return self.narrow(dim, start, length).clone()

    def rot90(self: Any, k: int = 1, dims: Any = (0, 1)) -> Tensor:
        """Turned by k quarters in the plane of two axes."""
        a, b = dims
        k %= 4
        if k == 2:
            return self.flip(a, b)
        return self if k == 0 else self.flip(b).transpose(a, b) if k == 1 else self.transpose(a, b).flip(b)

    def diagflat(self: Any, offset: int = 0) -> Tensor:
        """The matrix with all elements on its diagonal."""
        return self.reshape(-1).diag_embed(offset)

    def as_strided(self: Any, size: Any, stride: Any, storage_offset: int = 0) -> Tensor:
        """Elements at storage_offset + sum of index * stride, counted row by row."""

        def take(x: Any) -> Any:
            place: Any = x.new_zeros(tuple(size), dtype=dtypes.int64) + storage_offset
            for k, (n, s) in enumerate(zip(size, stride)):
                with making(x._kind):
                    steps: Any = Plain.arange(int(n), dtype=dtypes.int64) * int(s)
                place = place + steps.reshape(*[-1 if j == k else 1 for j in range(len(size))])
            return Plain.reshape(x, (-1,))[place]

        return view_of(self, take(self), take)

    def select_scatter(self: Any, src: Any, dim: int, index: int) -> Tensor:
        """With one slice of an axis replaced."""
        out = self.clone()
        out[(*[slice(None)] * axis_of(self, dim), operator.index(index))] = src
        return out

    def slice_scatter(self: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
        """With slices of an axis replaced."""
        out = self.clone()
        out[(*[slice(None)] * axis_of(self, dim), slice(start, end, step))] = src
        return out

    def diagonal_scatter(self: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        """With a diagonal replaced."""
        out = self.clone()
        out.diagonal(offset, dim1, dim2).copy_(src)
        return out

    def put(self: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
        """Elements replaced, or added to, by their number in the flat tensor."""
        flat, at, new = self.reshape(-1), index.reshape(-1), source.reshape(-1)
        at = Plain.where(at < 0, at + self.numel(), at)
        return (flat.scatter_add(0, at, new) if accumulate else flat.scatter(0, at, new)).reshape(self.shape)

    def index_reduce(self: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Tensor:
        """Slices of source combined at index along an axis: 'prod', 'mean', 'amax' or 'amin'."""
        shape = [1] * self.ndim
        shape[dim] = -1
        return self.scatter_reduce(dim, index.reshape(*shape).expand(source.shape), source, reduce, include_self)

    def sum_to_size(self: Any, *size: Any) -> Tensor:
        """Added up over the axes that were broadcast from this shape."""
        want = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        lead = self.ndim - len(want)
        over = [*range(lead), *(lead + k for k, n in enumerate(want) if int(n) == 1 != int(self.shape[lead + k]))]
        return (self.sum(tuple(over), keepdim=True) if over else self).reshape(want)

    def msort(self: Any) -> Tensor:
        """Sorted along the first axis."""
        return self.sort(0).values

    def resize_(self: Any, *size: Any, memory_format: Any = None) -> Tensor:
        """Is of another shape from now on; elements that are new are zero."""
        want = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        n, flat = math.prod(want), self.reshape(-1)
        flat = flat[:n] if n <= self.numel() else flat.pad((0, n - self.numel()))
        return self.replace(flat.reshape(want).contiguous())

    def resize_as_(self: Any, other: Any, memory_format: Any = None) -> Tensor:
        """Is of another tensor's shape from now on."""
        return self.resize_(*other.shape)

    def apply_(self: Any, function: Any) -> Tensor:
        """Calls a Python function with every element. Slow."""
        import numpy as np

        with making(self._kind):
            return self.copy_(type(self)._kind(np.vectorize(function)(self.detach().numpy())))

    def new(self: Any, *args: Any) -> Tensor:
        """A tensor of this dtype, of sizes or of values."""
        if len(args) == 1 and not isinstance(args[0], int):
            return self.new_tensor(args[0])
        return self.new_empty(*(args or (0,)))

    # ---- arithmetic ----

    def isposinf(self: Any) -> Tensor:
        """Is it infinity?"""
        return self == math.inf

    def isneginf(self: Any) -> Tensor:
        """Is it minus infinity?"""
        return self == -math.inf

    def isreal(self: Any) -> Tensor:
        """True everywhere."""
        return self.ones_like(dtype=dtypes.bool)

    def sign(self: Any) -> Tensor:
        """-1, 0 or 1; of NaN 0."""
        return Plain.sign(self.masked_fill(self.isnan(), 0.0) if self.dtype.kind == "f" else self)

    def signbit(self: Any) -> Tensor:
        """Is the sign negative? -0.0 has it too."""
        return self.ones_like().copysign(self) < 0 if self.dtype.kind == "f" else self < 0

    def heaviside(self: Any, values: Any) -> Tensor:
        """0 below zero, 1 above, values at zero."""
        return Plain.where(self == 0, values, (self > 0).cast(self.dtype))

    def erfc(self: Any) -> Tensor:
        """1 - erf(x), with all its digits for large x."""
        return erfc(self)

    def polygamma(self: Any, n: Any) -> Tensor:
        """The nth derivative of digamma. As a function, torch.polygamma(n, x), the number comes first."""
        return Plain.polygamma(self, n) if not isinstance(n, Plain) else Plain.polygamma(n, int(self))

    def mvlgamma(self: Any, p: int) -> Tensor:
        """The logarithm of the gamma function of p dimensions."""
        parts = [(self - 0.5 * k).lgamma() for k in range(p)]
        return sum(parts[1:], parts[0]) + 0.25 * p * (p - 1) * math.log(math.pi)

    def nextafter(self: Any, other: Any) -> Tensor:
        """The next number of the dtype towards other."""
        whole = {4: dtypes.int32, 8: dtypes.int64}.get(self.dtype.itemsize)
        if whole is None or self.dtype.kind != "f":
            raise NotImplementedError(f"nextafter takes float32 and float64, not {self.dtype}")
        x, y = self.detach(), other.detach().cast(self.dtype)
        bits = x.bitcast(whole)
        step = Plain.where((y > x) == (x > 0), bits + 1, bits - 1).bitcast(self.dtype)
        tiny = (bits.zeros_like() + 1).bitcast(self.dtype).copysign(y)
        out = Plain.where(x == 0, tiny, step)
        return Plain.where(x == y, y, Plain.where(x.isnan() | y.isnan(), x + y, out))

    def frexp(self: Any) -> Any:
        """(mantissa from 1/2 to 1, exponent as int32): mantissa * 2 ** exponent is x."""
        size = self.detach().abs().double()
        plain = (size > 0) & size.isfinite()
        exponent = Plain.where(plain, size, size.ones_like()).log2().floor().int() + 1
        mantissa = Plain.where(plain, self.double() * (-exponent.double()).exp2(), self.double())
        over = mantissa.abs() >= 1  # the logarithm was rounded up to a whole number, or down
        under = plain & (mantissa.abs() < 0.5)
        exponent = Plain.where(plain, exponent + (over & plain).int() - under.int(), exponent.zeros_like())
        mantissa = Plain.where(over & plain, mantissa / 2, Plain.where(under, mantissa * 2, mantissa))
        return FREXP((mantissa.cast(self.dtype), exponent))

    def nanquantile(self: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
        """quantile of the numbers that are not NaN."""
        x, axis = (self.flatten(), 0) if dim is None else (self, dim)
        single = not isinstance(q, Plain) or q.ndim == 0
        q = (q if isinstance(q, Plain) else self.new_tensor(float(q))).reshape(-1)
        x = x.movedim(axis, -1)
        values, many = x.sort(-1).values, (~x.isnan()).sum(-1, keepdim=True)
        place = q.reshape(-1, *[1] * x.ndim) * (many - 1).cast(x.dtype).unsqueeze(0)
        low, high = place.floor().clamp(min=0), place.ceil().clamp(min=0)
        if interpolation in ("lower", "higher", "nearest"):
            low = high = {"lower": low, "higher": high, "nearest": place.round()}[interpolation]
        values = values.unsqueeze(0).expand(q.shape[0], *x.shape)
        part = 0.5 if interpolation == "midpoint" else place - low
        below, above = values.gather(-1, low.long()), values.gather(-1, high.long())
        out = (below + (above - below) * part).squeeze(-1)
        out = out.unsqueeze(axis + 1 if axis >= 0 else axis) if keepdim and dim is not None else out
        return out.squeeze(0) if single else out

    def nonzero_static(self: Any, *, size: int, fill_value: int = -1) -> Tensor:
        """nonzero() cut, or filled up, to `size` rows."""
        x = self.reshape(1) if self.ndim == 0 else self
        found = x.nonzero()[:size]
        if self.ndim == 0:
            return found[:, :0].new_empty((size, 0))
        rest = found.new_full((size - int(found.shape[0]), max(1, self.ndim)), fill_value)
        return Plain.cat(found, rest.cast(found.dtype), dim=0)

    def histogram(self: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:  # noqa: A002
        """(how many numbers lie in each bin, the edges of the bins). bins: their number, or the edges."""
        x = self.flatten()
        if isinstance(bins, Plain):
            edges = bins
        else:
            low, high = (float(x.min()), float(x.max())) if range is None else map(float, range)
            low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
            with making(type(self)._kind):
                edges = Plain.linspace(low, high, int(bins) + 1, dtype=self.dtype)
        count = int(edges.shape[0]) - 1
        place = (edges.searchsorted(x, right=True) - 1).clamp(0, count - 1)  # the last bin has its end too
        inside = (x >= edges[0]) & (x <= edges[-1])
        weights = x.ones_like() if weight is None else weight.flatten().cast(x.dtype)
        hist = x.new_zeros(count).scatter_add(0, place, Plain.where(inside, weights, 0.0))
        hist = hist / (hist.sum() * (edges[1:] - edges[:-1])) if density else hist
        return HISTOGRAM((hist, edges))

    def sinc(self: Any) -> Tensor:
        """sin(pi x) / (pi x), 1 at zero."""
        x = self * math.pi
        zero = self == 0
        return Plain.where(zero, self.ones_like(), x.sin() / Plain.where(zero, self.ones_like(), x))

    def ldexp(self: Any, other: Any) -> Tensor:
        """self * 2 ** other."""
        return self * (other.float() if other.dtype.kind != "f" else other).exp2()

    def logaddexp2(self: Any, other: Any) -> Tensor:
        """log2(2 ** self + 2 ** other) without overflow."""
        c = math.log(2)
        return (self * c).logaddexp(other * c) / c

    def prelu(self: Any, weight: Any) -> Tensor:
        """x where it is positive, else weight * x, with one weight or one for each channel."""
        from ..nn.functional import prelu

        return prelu(self, weight)

    def hardshrink(self: Any, lambd: float = 0.5) -> Tensor:
        """x outside [-lambd, lambd], else 0."""
        from ..nn.functional import hardshrink

        return hardshrink(self, lambd)

    def addr(self: Any, vec1: Any, vec2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
        """beta * self + alpha * outer(vec1, vec2)."""
        product = vec1.outer(vec2) * alpha
        return self * beta + product if beta else product

    def kron(self: Any, other: Any) -> Tensor:
        """Every element times the other tensor."""
        n = max(self.ndim, other.ndim)
        a = self.reshape(*(1,) * (n - self.ndim), *self.shape)
        b = other.reshape(*(1,) * (n - other.ndim), *other.shape)
        left, right = [s for d in a.shape for s in (d, 1)], [s for d in b.shape for s in (1, d)]
        return (a.reshape(*left) * b.reshape(*right)).reshape(*(int(p) * int(q) for p, q in zip(a.shape, b.shape)))

    def cross(self: Any, other: Any, dim: int | None = None) -> Tensor:
        """The vector product along an axis of size 3, the first one by default."""
        d = next(k for k, n in enumerate(self.shape) if int(n) == 3) if dim is None else dim
        (a, b, c), (x, y, z) = self.unbind(d), other.unbind(d)
        return (b * z - c * y).stack(c * x - a * z, a * y - b * x, dim=d)

    def cov(self: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
        """Covariances of the rows."""
        x = self.reshape(1, -1) if self.ndim < 2 else self
        w = 1 if fweights is None and aweights is None else (1 if fweights is None else fweights) * (1 if aweights is None else aweights)
        if isinstance(w, int):
            centered = x - x.mean(1, keepdim=True)
            out = centered @ centered.T / (int(x.shape[1]) - correction)
        else:
            total = w.sum()
            centered = x - (x * w).sum(1, keepdim=True) / total
            less = correction if aweights is None else correction * (w * aweights).sum() / total
            out = (centered * w) @ centered.T / (total - less)
        return out.reshape(()) if int(x.shape[0]) == 1 else out

    def corrcoef(self: Any) -> Tensor:
        """Correlations of the rows."""
        c = self.cov()
        if c.ndim == 0:
            return c / c
        d = c.diagonal().sqrt()
        return (c / d.unsqueeze(1) / d).clamp(-1, 1)

    def dist(self: Any, other: Any, p: float = 2) -> Tensor:
        """The p-norm of the difference."""
        return (self - other).norm(p)

    def renorm(self: Any, p: float, dim: int, maxnorm: float) -> Tensor:
        """Slices along an axis scaled down to a p-norm of maxnorm at most."""
        over = tuple(k for k in range(self.ndim) if k != axis_of(self, dim))
        size = self.norm(p, over, keepdim=True)
        return Plain.where(size > maxnorm, self * (maxnorm / (size + 1e-7)), self)

    def nanmean(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        """Mean of what is not NaN."""
        return self.nansum(dim, keepdim, dtype=dtype) / (~self.isnan()).sum(dim, keepdim)

    def nanmedian(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        """The lower median of what is not NaN."""
        from ._results import _median
        from .return_types import nanmedian

        x, d = (self.reshape(-1), 0) if dim is None else (self, dim)
        if self._g.borrows and self.ndim:  # on a host
            found = _median(x, d, keepdim and dim is not None, True, nanmedian)
            return found.values if dim is None else found
        values, places = x.masked_fill(x.isnan(), math.inf).sort(d)
        at = (((~x.isnan()).sum(d, keepdim=True) - 1) // 2).clamp(min=0)
        pair = (values.gather(d, at), places.gather(d, at))
        value, place = pair if keepdim and dim is not None else (t.squeeze(d) for t in pair)
        return value if dim is None else nanmedian(value, place)

    # ---- matrices ----

    def _linalg(self: Any, name: str, *args: Any) -> Any:
        from . import linalg

        return getattr(linalg, name)(self, *args)

    def svd(self: Any, some: bool = True, compute_uv: bool = True) -> Any:  # type: ignore[override]
        """U, the singular values and V, which is not transposed: torch.svd. torch.linalg.svd gives V transposed."""
        from .linalg import old_svd

        return old_svd(self, some, compute_uv)

    def qr(self: Any, some: bool = True) -> Any:  # type: ignore[override]
        """Q with orthogonal columns and an upper triangle R; with some=False, a square Q."""
        from .linalg import qr

        return qr(self, "reduced" if some else "complete")

    def as_strided_scatter(self: Any, src: Any, size: Any, stride: Any, storage_offset: Any = 0) -> Tensor:
        """self with src written where as_strided(size, stride, storage_offset) looks."""
        with making(type(self)._kind):
            places: Any = Plain.arange(self.numel())
        at = places.as_strided(size, stride, storage_offset or 0)
        return Plain.scatter(self.reshape(-1), 0, at.reshape(-1), src.reshape(-1)).reshape(self.shape)

    def pinverse(self: Any, rcond: float = 1e-15) -> Tensor:
        """The pseudo-inverse of Moore and Penrose."""
        return self._linalg("pinv")

    def matrix_power(self: Any, n: int) -> Tensor:
        """The product of n times the matrix."""
        return self._linalg("matrix_power", n)

    def inverse(self: Any) -> Tensor:
        """The inverse of matrices."""
        return self._linalg("inv")

    def det(self: Any) -> Tensor:
        """The determinant of matrices."""
        return self._linalg("det")

    def logdet(self: Any) -> Tensor:
        """The logarithm of the determinant."""
        return self._linalg("logdet")

    def slogdet(self: Any) -> Any:
        """The sign of the determinant and the logarithm of its size."""
        return self._linalg("slogdet")

    def cholesky(self: Any, upper: bool = False) -> Tensor:
        """The lower triangle L with L L^T = self."""
        return self._linalg("old_cholesky", upper)

    def cholesky_solve(self: Any, input2: Any, upper: bool = False) -> Tensor:
        """X with A X = self, of which the factor is given."""
        return self._linalg("cholesky_solve", input2, upper)

    def cholesky_inverse(self: Any, upper: bool = False) -> Tensor:
        """The inverse of the matrix of which this is the factor."""
        return self._linalg("cholesky_inverse", upper)

    def matrix_exp(self: Any) -> Tensor:
        """The exponential of matrices."""
        return self._linalg("matrix_exp")

    def lu_solve(self: Any, LU_data: Any, LU_pivots: Any) -> Tensor:
        """X with A X = self, of which the factors are given."""
        return self._linalg("old_lu_solve", LU_data, LU_pivots)

    def triangular_solve(self: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
        """X with A X = self, of which only a triangle of A is read; and A."""
        return self._linalg("old_triangular_solve", A, upper, transpose, unitriangular)

    # ---- sparse, in place, random ----

    def to_sparse(self: Any, *args: Any, layout: Any = None) -> Any:
        """The sparse matrix of the elements that are not zero."""
        from .sparse import COO, dense_to

        return dense_to(self, COO if layout is None else layout)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self: Any, dense_dim: int | None = None) -> Any:
        """The sparse matrix in the layout of compressed rows."""
        return self.to_sparse(layout="torch.sparse_csr")

    def to_sparse_csc(self: Any, dense_dim: int | None = None) -> Any:
        """The sparse matrix in the layout of compressed columns."""
        return self.to_sparse(layout="torch.sparse_csc")

    def put_(self: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
        """put, whose result the tensor itself holds."""
        return self.copy_(self.put(index, source, accumulate))

    def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
        """exp of normal random numbers."""
        return self.normal_(mean, std).exp_()

    def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
        """Random numbers of Cauchy's distribution."""
        return self.uniform_().sub_(0.5).mul_(math.pi).tan_().mul_(sigma).add_(median)

    def geometric_(self: Any, p: float, *, generator: Any = None) -> Tensor:
        """Numbers of trials up to the first success."""
        return self.copy_(((1 - self.detach().float().rand_like()).log() / math.log1p(-p)).ceil().clamp(min=1))

    def register_post_accumulate_grad_hook(self: Any, hook: Any) -> Any:
        """Calls hook(tensor) after each backward has filled .grad."""
        return self.register_hook(lambda gradient: hook(self))


__all__ = ["More"]
