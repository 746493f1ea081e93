"""EdgeIndex and Index over PyTorch's tensors: those of polygrad.geometric, with conversions to PyTorch's sparse tensors."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type"

from __future__ import annotations

from typing import Any

from ..autograd import making
from ..geometric import edge_index as _plain
from ..torch.sparse import COO, CSC, CSR, SparseMatrix, sparse_coo_tensor, sparse_csc_tensor, sparse_csr_tensor
from ..torch.tensor import Tensor
from ..torch.types import named

SUPPORTED_DTYPES = INDEX_DTYPES = {named("int32"), named("int64")}
MAYBE_INDEX_DTYPES = {None, *INDEX_DTYPES}


class Index(_plain.Index, Tensor):
    """A vector of indices into dim_size things, which may be known to be sorted.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric import Index
    >>> index = torch.cat([Index([0, 1], dim_size=3), Index([1, 2], dim_size=3)])
    >>> index.dim_size, isinstance(index, torch.Tensor)
    (3, True)
    """

    _kind = Tensor


class EdgeIndex(_plain.EdgeIndex, Tensor):
    """Edges [2, E] with the sizes of their matrix, their order, and whether all opposites are there.

    >>> from polygrad.torch_geometric import EdgeIndex
    >>> edges = EdgeIndex([[0, 1, 1, 2], [1, 0, 2, 1]], sparse_size=(3, 3), sort_order="row")
    >>> edges[:, 1:].sort_order, edges.to_sparse_csr().crow_indices().tolist()
    ('row', [0, 1, 3, 4])
    """

    _kind = Tensor
    _index = Index

    def matmul(self, other: Any, input_value: Any = None, other_value: Any = None, reduce: str = "sum", transpose: bool = False) -> Any:
        """The product of the matrix (transposed if asked for), whose edges must lie in its order, with a dense matrix or that of other edges."""
        wanted = "col" if transpose else "row"
        if not isinstance(other, _plain.EdgeIndex) and self.sort_order != wanted:
            raise ValueError(f"matmul(transpose={transpose}) requires 'EdgeIndex' to be sorted by {'columns' if transpose else 'rows'}: see sort_by")
        return super().matmul(other, input_value, other_value, reduce, transpose)

    __matmul__ = matmul

    def _in_order(self, value: Any, order: Any) -> Any:
        if value is None:
            with making(Tensor):
                return Tensor.ones(int(self.shape[1]))
        return value if order is None else value[order.long()]

    def to_sparse_coo(self, value: Any = None) -> SparseMatrix:
        """The matrix in the layout of coordinates."""
        value = self._in_order(value, None)
        return sparse_coo_tensor(self._data, value, self.get_sparse_size(), is_coalesced=self.is_sorted_by_row)

    def to_sparse_csr(self, value: Any = None) -> SparseMatrix:
        """The matrix in the layout of compressed rows; the edges must be sorted."""
        self.get_indptr()
        (ptr, col), order = self.get_csr()
        return sparse_csr_tensor(ptr, col, self._in_order(value, order), self.get_sparse_size())

    def to_sparse_csc(self, value: Any = None) -> SparseMatrix:
        """The matrix in the layout of compressed columns; the edges must be sorted."""
        self.get_indptr()
        (ptr, row), order = self.get_csc()
        return sparse_csc_tensor(ptr, row, self._in_order(value, order), self.get_sparse_size())

    def to_sparse(self, *, layout: Any = COO, value: Any = None) -> SparseMatrix:
        """The matrix in one of PyTorch's layouts."""
        made = {COO: self.to_sparse_coo, CSR: self.to_sparse_csr, CSC: self.to_sparse_csc}.get(layout)
        if made is None:
            raise ValueError(f"Unexpected tensor layout {layout!r}: sparse_coo, sparse_csr and sparse_csc are known")
        return made(value)


class _TorchSPMM:
    """The product with a dense matrix, as PyTorch's own has it: with gradients of sums, for the dense matrix alone. `matmul` has all."""

    @staticmethod
    def apply(input: EdgeIndex, other: Any, value: Any = None, reduce: str = "sum", transpose: bool = False) -> Any:  # noqa: A002
        out = input.matmul(other, value, reduce=reduce, transpose=transpose)
        if getattr(value, "requires_grad", False):
            out.register_hook(_refuse(NotImplementedError("the gradient of values")))
        elif other.requires_grad and reduce not in ("sum", "add"):
            out.register_hook(_refuse(AssertionError(f"the gradient of reduce={reduce!r}")))
        return out


def _refuse(error: Exception) -> Any:
    def hook(grad: Any) -> Any:
        raise error

    return hook


def _torch_sparse_spmm(input: EdgeIndex, other: Any, value: Any = None, reduce: str = "sum", transpose: bool = False) -> Any:  # noqa: A002
    """The product with a dense matrix."""
    return input.matmul(other, value, reduce=reduce, transpose=transpose)


__all__ = ["EdgeIndex", "Index"]
