"""Nested tensors: tensors of different sizes one after another, with `torch.nested`'s names, and torch_geometric.utils' conversions from and to
batches."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

from .. import torch
from ..torch.nested import NestedTensor


def to_nested_tensor(x: Any, batch: Any = None, ptr: Any = None, batch_size: int | None = None) -> NestedTensor:
    """The rows of each graph as one part of a nested tensor.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.utils import to_nested_tensor
    >>> to_nested_tensor(torch.ones(5, 2), torch.tensor([0, 0, 1, 1, 1])).to_padded_tensor(0).size()
    torch.Size([2, 3, 2])
    """
    if ptr is not None:
        sizes = (ptr[1:] - ptr[:-1]).tolist()
    elif batch is not None:
        sizes = torch.bincount(batch, minlength=batch_size or 0).tolist()
    else:
        sizes = [x.size(0)]
    return NestedTensor(x, [(n, *x.size()[1:]) for n in sizes])


def from_nested_tensor(x: Any, return_batch: bool = False) -> Any:
    """The rows of all parts in one tensor; with return_batch also the part of each."""
    if not getattr(x, "is_nested", False):
        raise ValueError("Input tensor in 'from_nested_tensor' is not nested")
    for dim in range(1, len(x.shapes[0])):
        expected = x.shapes[0][dim]
        if any(shape[dim] != expected for shape in x.shapes):
            raise ValueError(f"Not all nested tensors have the same size in dimension {dim} (expected size {expected} for all tensors)")
    out = x.values()
    if not return_batch:
        return out
    sizes = torch.tensor([shape[0] for shape in x.shapes])
    return out, torch.arange(len(x.shapes)).repeat_interleave(sizes)


__all__ = ["from_nested_tensor", "to_nested_tensor"]
