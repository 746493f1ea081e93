"""What `t.uop` is: a tensor as scripts for tinygrad look at its UOp, to ask where it lies and whether it was computed."""

from __future__ import annotations

import weakref
from typing import Any

from ._ffi import C

_known: weakref.WeakValueDictionary[tuple[int, int], Buffer] = weakref.WeakValueDictionary()


class Buffer:
    """The memory of a tensor. Tensors on the same memory have the same one."""

    def __init__(self, tensor: Any):
        self.tensor = tensor
        self.dtype, self.device, self.size = tensor.dtype, tensor.device, tensor.max_numel()

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def base(self) -> Buffer:
        """The buffer itself: none is a part of another."""
        return self

    def is_allocated(self) -> bool:
        """Has it values?"""
        return self.tensor.is_realized

    def as_buffer(self) -> memoryview:
        """The values as bytes."""
        return self.tensor.data().cast("B")

    def numpy(self) -> Any:
        """The values as an array."""
        return self.tensor.numpy()

    def __repr__(self) -> str:
        return f"<buf device:{self.device} size:{self.size} dtype:{self.dtype}>"


class TensorUOp:
    """A tensor as tinygrad's UOp of it. What is not here is the tensor's: shape, dtype, device, and what computes."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any):
        self.tensor = tensor

    @property
    def base(self) -> TensorUOp:
        """What it is a view of: the core does not tell, so it is the UOp itself."""
        return self

    @property
    def buffer(self) -> Buffer:
        """Its memory."""
        t = self.tensor
        if not t.is_realized or t.numel() == 0 or t.device.__class__ is not str:
            return Buffer(t)
        key = (t._g.ptr, C.poly_data(t._h) or 0)
        found = _known.get(key) if key[1] else None
        if found is None or found.dtype != t.dtype or found.size != t.max_numel():
            found = _known[key] = Buffer(t)
        return found

    @property
    def realized(self) -> Buffer | None:
        """Its memory, once it has values."""
        return self.buffer if self.tensor.is_realized else None

    @property
    def axis(self) -> int | None:
        """The axis along which it lies on several devices."""
        return self._parts()[1]

    @property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Where the part of each device begins and ends along that axis."""
        devices, axis = self._parts()
        if axis is None:
            raise RuntimeError("bounds of a tensor that does not lie on several devices in parts")
        n = int(self.tensor.shape[axis]) // len(devices)
        return tuple((k * n, (k + 1) * n) for k in range(len(devices)))

    @property
    def src(self) -> tuple[TensorUOp, ...]:
        """The parts of a tensor on several devices; of others none is told."""
        devices, axis = self._parts()
        if axis is None:
            return tuple(self for _ in devices)
        whole: list[Any] = [None] * self.tensor.ndim
        return tuple(TensorUOp(self.tensor.shrink(tuple(whole[:axis] + [b] + whole[axis + 1 :]))) for b in self.bounds)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.tensor.numel()

    def _parts(self) -> tuple[tuple[str, ...], int | None]:
        return getattr(self.tensor, "_shard", ((), None))

    def __reduce__(self) -> Any:
        return TensorUOp, (self.tensor,)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "tensor":
            raise AttributeError(name)
        return getattr(self.tensor, name)

    def __hash__(self) -> int:
        return hash((self.tensor._g.ptr, self.tensor._h))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorUOp) and other.tensor is self.tensor

    def __repr__(self) -> str:
        return f"<UOp {self.tensor.device} {self.tensor.shape} {str(self.tensor.dtype)[7:]}>"


def plain(x: Any) -> Any:
    """The tensor of a UOp; anything else as it is."""
    return x.tensor if isinstance(x, TensorUOp) else x
