"""torch.nested: a list of tensors that differ in their sizes, as one.

The parts lie one after another in one buffer; where they differ in their first size alone, that buffer is a matrix of all their rows.
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, no-untyped-call"

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from .functions import cat, stack, tensor
from .tensor import Tensor


class NestedTensor:
    """Tensors of sizes `shapes`, one after another in `buffer`.

    >>> import polygrad.torch as torch
    >>> x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    >>> x.is_nested, x.size(0), x.to_padded_tensor(0.0).size(), [tuple(t.size()) for t in x.unbind()]
    (True, 2, torch.Size([2, 2, 3]), [(2, 3), (1, 3)])
    """

    _is_tensor = True  # isinstance(x, torch.Tensor) holds
    is_nested = True

    def __init__(self, buffer: Any, shapes: Sequence[tuple[int, ...]]):
        self.buffer, self.shapes = buffer, [tuple(int(n) for n in shape) for shape in shapes]

    dtype = property(lambda self: self.buffer.dtype, doc="Dtype of the values.")
    device = property(lambda self: self.buffer.device, doc="Where the values are.")
    requires_grad = property(lambda self: self.buffer.requires_grad, doc="Do the values require a gradient?")
    ndim = property(lambda self: 1 + len(self.shapes[0]), doc="Number of axes, the list being one.")

    def dim(self) -> int:
        """Number of axes."""
        return int(self.ndim)

    def size(self, dim: int) -> int:
        """The size along an axis in which the parts agree; along the first, their number."""
        if dim == 0:
            return len(self.shapes)
        sizes = {shape[dim - 1 if dim > 0 else dim] for shape in self.shapes}
        if len(sizes) != 1:
            raise RuntimeError(f"the parts of a nested tensor have different sizes along dimension {dim}: {sorted(sizes)}")
        return sizes.pop()

    def __len__(self) -> int:
        return len(self.shapes)

    def values(self) -> Any:
        """The values of all parts: their rows if they differ in the first size alone, else one vector."""
        return self.buffer

    def contiguous(self) -> NestedTensor:
        """The same: parts lie one after another."""
        return self

    def numel(self) -> int:
        """Number of values."""
        return sum(map(prod, self.shapes))

    def _nested_tensor_size(self) -> Any:
        return tensor([list(shape) for shape in self.shapes])

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:
        """The parts."""
        flat, out, at = self.buffer.reshape(-1), [], 0
        for shape in self.shapes:
            out.append(flat[at : at + prod(shape)].reshape(shape))
            at += prod(shape)
        return tuple(out)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.unbind())

    def __getitem__(self, k: int) -> Any:
        return self.unbind()[k]

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """All parts in one tensor, filled with padding up to the largest sizes, or to output_size."""
        sizes = [max(shape[d] for shape in self.shapes) for d in range(len(self.shapes[0]))] if output_size is None else list(output_size)[1:]
        parts = []
        for part, shape in zip(self.unbind(), self.shapes):
            around = tuple((0, n - have) for n, have in zip(sizes, shape))
            parts.append(Tensor.pad(part, around, value=padding) if any(b for _, b in around) else part)
        return stack(parts, dim=0)

    def detach(self) -> NestedTensor:
        """The same values without their history."""
        return NestedTensor(self.buffer.detach(), self.shapes)

    def to(self, *args: Any, **kwargs: Any) -> NestedTensor:
        """In another dtype, or on a device."""
        return NestedTensor(self.buffer.to(*args, **kwargs), self.shapes)

    def __repr__(self) -> str:
        return "nested_tensor([\n" + ",\n".join(f"  {part!r}" for part in self.unbind()) + "\n])"


def as_nested_tensor(ts: Sequence[Any], dtype: Any = None, device: Any = None, layout: Any = None) -> NestedTensor:
    """A nested tensor of these, whose gradients reach them."""
    parts = [t if isinstance(t, Tensor) else tensor(t) for t in ts]
    parts = parts if dtype is None else [t.to(dtype) for t in parts]
    rows = all(tuple(t.shape[1:]) == tuple(parts[0].shape[1:]) for t in parts) and parts[0].ndim > 0
    return NestedTensor(cat([t if rows else t.reshape(-1) for t in parts], dim=0), [tuple(t.shape) for t in parts])


def nested_tensor(tensor_list: Sequence[Any], *, dtype: Any = None, requires_grad: bool = False, **others: Any) -> NestedTensor:
    """A nested tensor with the values of these."""
    out = as_nested_tensor([t.detach() if isinstance(t, Tensor) else t for t in tensor_list], dtype)
    if requires_grad:
        out.buffer.requires_grad_()
    return out


def to_padded_tensor(input: NestedTensor, padding: float, output_size: Any = None) -> Any:  # noqa: A002
    """All parts in one tensor, filled with padding."""
    return input.to_padded_tensor(padding, output_size)


__all__ = ["NestedTensor", "as_nested_tensor", "nested_tensor", "to_padded_tensor"]
