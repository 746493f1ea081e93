"""torch_scatter's functions: sums, means, products, minima and maxima of the values that share an index or a segment."""

from __future__ import annotations

from typing import Any

from .. import torch
from ..torch_geometric import utils as _utils

_REDUCE = {"sum": "sum", "add": "sum", "mean": "mean", "mul": "prod", "min": "amin", "max": "amax"}


def _index_of(src: Any, index: Any, dim: int) -> Any:
    """The index of each value: one vector along dim, or a shape that is broadcast to that of src."""
    if index.dim() == 1:
        index = index.view([-1 if k == dim else 1 for k in range(src.dim())])
    return index.expand(src.size()) if index.dim() == src.dim() else index.view(*index.size(), *[1] * (src.dim() - index.dim())).expand(src.size())


def _rows(index: Any, dim: int, out: Any, dim_size: int | None) -> int:
    if out is not None:
        return int(out.size(dim))
    if dim_size is not None:
        return int(dim_size)
    return int(index.max()) + 1 if index.numel() else 0


def scatter(src: Any, index: Any, dim: int = -1, out: Any = None, dim_size: int | None = None, reduce: str = "sum") -> Any:
    """Reduces the values of src with the same index along dim. reduce: sum (or add), mul, mean, min or max; rows without values are 0 (mul: 1).
    out: is changed, and its values take part.

    >>> import polygrad.torch as torch
    >>> from polygrad.companions.torch_scatter import scatter
    >>> scatter(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 0, 2])).tolist()
    [3.0, 0.0, 4.0]
    """
    if reduce not in _REDUCE:
        raise ValueError(f"reduce must be one of {', '.join(_REDUCE)}, not {reduce!r}")
    dim = dim + src.dim() if dim < 0 else dim
    size = _rows(index, dim, out, dim_size)
    if out is None and index.dim() == 1:
        return _utils.scatter(src, index, dim, size, reduce)
    whole = _index_of(src, index, dim)
    if out is None:
        shape = [size if k == dim else s for k, s in enumerate(src.size())]
        return torch.zeros(shape, dtype=src.dtype).scatter_reduce(dim, whole, src, _REDUCE[reduce], include_self=False)
    if reduce == "mean":  # the values are added, and the sum is divided by the number of values
        count = torch.zeros_like(out).scatter_add_(dim, whole, torch.ones_like(src)).clamp(min=1)
        return out.copy_(out.scatter_add(dim, whole, src) / count)
    return out.copy_(out.scatter_reduce(dim, whole, src, _REDUCE[reduce], include_self=True))


def scatter_sum(src: Any, index: Any, dim: int = -1, out: Any = None, dim_size: int | None = None) -> Any:
    """Sums of the values with the same index."""
    return scatter(src, index, dim, out, dim_size, "sum")


scatter_add = scatter_sum


def scatter_mul(src: Any, index: Any, dim: int = -1, out: Any = None, dim_size: int | None = None) -> Any:
    """Products of the values with the same index."""
    return scatter(src, index, dim, out, dim_size, "mul")


def scatter_mean(src: Any, index: Any, dim: int = -1, out: Any = None, dim_size: int | None = None) -> Any:
    """Means of the values with the same index."""
    return scatter(src, index, dim, out, dim_size, "mean")


def _with_places(src: Any, index: Any, dim: int, out: Any, dim_size: int | None, reduce: str) -> tuple[Any, Any]:
    """The extreme values, and where in src each one is: the first place, and the length of src where none is."""
    dim = dim + src.dim() if dim < 0 else dim
    best = scatter(src, index, dim, out, dim_size, reduce)
    whole, n = _index_of(src, index, dim), int(src.size(dim))
    place = torch.arange(n).view([-1 if k == dim else 1 for k in range(src.dim())]).expand(src.size())
    hit = torch.where(src == best.gather(dim, whole), place, torch.full_like(place, n))
    where = torch.full(best.size(), n, dtype=torch.long).scatter_reduce(dim, whole, hit, "amin", include_self=True)
    return best, where


def scatter_max(src: Any, index: Any, dim: int = -1, out: Any = None, dim_size: int | None = None) -> tuple[Any, Any]:
    """Maxima of the values with the same index, and where they are.

    >>> import polygrad.torch as torch
    >>> from polygrad.companions.torch_scatter import scatter_max
    >>> [t.tolist() for t in scatter_max(torch.tensor([1.0, 5.0, 4.0]), torch.tensor([0, 0, 2]))]
    [[5.0, 0.0, 4.0], [1, 3, 2]]
    """
    return _with_places(src, index, dim, out, dim_size, "max")


def scatter_min(src: Any, index: Any, dim: int = -1, out: Any = None, dim_size: int | None = None) -> tuple[Any, Any]:
    """Minima of the values with the same index, and where they are."""
    return _with_places(src, index, dim, out, dim_size, "min")


# ---- made of the above ----


def scatter_std(src: Any, index: Any, dim: int = -1, out: Any = None, dim_size: int | None = None, unbiased: bool = True) -> Any:
    """Standard deviations of the values with the same index."""
    dim = dim + src.dim() if dim < 0 else dim
    size = _rows(index, dim, out, dim_size)
    whole = _index_of(src, index, dim)
    count = scatter(torch.ones_like(src), index, dim, None, size)
    mean = scatter(src, index, dim, None, size) / count.clamp(min=1)
    squares = scatter((src - mean.gather(dim, whole)) ** 2, index, dim, None, size)
    found = (squares / ((count - 1 if unbiased else count).clamp(min=1) + 1e-6)).sqrt()
    return found if out is None else out.copy_(found)


def scatter_logsumexp(src: Any, index: Any, dim: int = -1, out: Any = None, dim_size: int | None = None, eps: float = 1e-12) -> Any:
    """Logarithms of the sums of exponentials of the values with the same index."""
    dim = dim + src.dim() if dim < 0 else dim
    size = _rows(index, dim, out, dim_size)
    top = scatter(src, index, dim, None, size, "max").detach()
    total = scatter((src - top.gather(dim, _index_of(src, index, dim))).exp(), index, dim, None, size)
    found = (total + eps).log() + top
    return found if out is None else out.copy_(found)


def scatter_softmax(src: Any, index: Any, dim: int = -1, dim_size: int | None = None) -> Any:
    """Softmax of the values with the same index.

    >>> import polygrad.torch as torch
    >>> from polygrad.companions.torch_scatter import scatter_softmax
    >>> scatter_softmax(torch.tensor([1.0, 1.0, 9.0]), torch.tensor([0, 0, 1])).tolist()
    [0.5, 0.5, 1.0]
    """
    return scatter_log_softmax(src, index, dim, 0.0, dim_size).exp()


def scatter_log_softmax(src: Any, index: Any, dim: int = -1, eps: float = 1e-12, dim_size: int | None = None) -> Any:
    """Logarithms of the softmax of the values with the same index."""
    dim = dim + src.dim() if dim < 0 else dim
    total = scatter_logsumexp(src, index, dim, None, dim_size, eps)
    return src - total.gather(dim, _index_of(src, index, dim))


# ---- segments ----


def _indices(indptr: Any) -> Any:
    counts = indptr[1:] - indptr[:-1]
    return torch.arange(counts.size(0)).repeat_interleave(counts)


def segment_csr(src: Any, indptr: Any, out: Any = None, reduce: str = "sum") -> Any:
    """Reduces src from indptr[k] to indptr[k + 1], along the last axis of indptr, which is a vector.

    >>> import polygrad.torch as torch
    >>> from polygrad.companions.torch_scatter import segment_csr
    >>> segment_csr(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 2, 2, 3])).tolist()
    [3.0, 0.0, 4.0]
    """
    if indptr.dim() != 1:
        raise NotImplementedError("segment_csr takes a vector of pointers")
    found = scatter(src, _indices(indptr), 0, None, int(indptr.size(0)) - 1, reduce)
    return found if out is None else out.copy_(found)


def segment_coo(src: Any, index: Any, out: Any = None, dim_size: int | None = None, reduce: str = "sum") -> Any:
    """As scatter, along the last axis of a sorted index."""
    return scatter(src, index, index.dim() - 1, out, dim_size, reduce)


def gather_csr(src: Any, indptr: Any, out: Any = None) -> Any:
    """The value of its segment for each place from indptr[0] to the last of indptr."""
    return gather_coo(src, _indices(indptr), out)


def gather_coo(src: Any, index: Any, out: Any = None) -> Any:
    """The rows of src that index names."""
    if index.dim() != 1:
        raise NotImplementedError("gather_coo takes a vector")
    return src[index] if out is None else out.copy_(src[index])


__all__ = [
    "gather_coo", "gather_csr", "scatter", "scatter_add", "scatter_log_softmax", "scatter_logsumexp", "scatter_max", "scatter_mean", "scatter_min",
    "scatter_mul", "scatter_softmax", "scatter_std", "scatter_sum", "segment_coo", "segment_csr",
]  # fmt: skip
