"""A tensor whose first axis is addressed by keys: numbers of any kind, or texts."""

# mypy: disable-error-code="misc, override, attr-defined, no-untyped-call"

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .. import torch
from ..autograd import making
from ..torch.tensor import Tensor

_SAME_BITS = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}


def as_key_tensor(key: Any, *, device: Any = None) -> Any:
    """Keys as whole numbers: numbers by their bits, others by a hash of 63 bits."""
    if not isinstance(key, Tensor):
        values = np.asarray(key)
        if values.dtype.kind not in "biuf":
            values = np.array([_hash(k) for k in key], dtype=np.int64)
        key = torch.from_numpy(np.ascontiguousarray(values))
    if key.dtype.itemsize not in _SAME_BITS:
        raise ValueError(f"Received invalid dtype '{key.dtype}' with {key.dtype.itemsize} bytes")
    if key.dtype.kind == "f":
        return key.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[key.dtype.itemsize])
    return key.to(torch.uint8) if key.dtype.itemsize == 1 else key


def _hash(key: Any) -> int:
    data = key if isinstance(key, bytes) else str(key).encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") & 0x7FFFFFFFFFFFFFFF


class HashTensor(Tensor):
    """Rows by key. h[keys] gives the row of each key, NaN or -1 where there is none; without values, the place of the key.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric import HashTensor
    >>> h = HashTensor(torch.tensor([1000, 100, 10000]), torch.tensor([[1.0], [2.0], [3.0]]))
    >>> h[torch.tensor([10000, 1000])].tolist(), HashTensor(["a", "b"])[["b", "c"]].tolist()
    ([[3.0], [1.0]], [1, -1])
    """

    _value: Any

    def __init__(self, key: Any, value: Any = None, *, dtype: Any = None, device: Any = None):
        key = as_key_tensor(key, device=device)
        name = type(self).__name__
        if key.dim() != 1:
            raise ValueError(f"'key' data in '{name}' needs to be one-dimensional (got {key.dim()} dimensions)")
        if not key.is_contiguous():
            raise ValueError(f"'key' data in '{name}' needs to be contiguous")
        if value is not None:
            value = torch.as_tensor(value) if dtype is None else torch.as_tensor(value).to(dtype)
            if value.size(0) != key.numel():
                raise ValueError(
                    f"'key' and 'value' data in '{name}' are expected to have the same size in the first dimension "
                    f"(got {key.size(0)} and {value.size(0)})"
                )
        n = key.numel()
        with making(Tensor):
            super().__init__(torch.arange(n).to(dtype or torch.int64) if value is None else value)
        numbers = key.numpy().astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        # Of equal keys the last one counts.
        self._order, self._sorted, self._key, self._value = order, numbers[order], key, value
        self._min_key, self._max_key = (key.min(), key.max()) if n else (key.new_zeros(()), key.new_zeros(()))

    def _again(self, value: Any) -> HashTensor:
        out = type(self)(self._key, value)
        return out

    def as_tensor(self) -> Any:
        """The rows in the order of their keys, without the keys."""
        return self._value if self._value is not None else torch.arange(self._key.numel()).to(self.dtype)

    def _get(self, query: Any) -> Any:
        wanted = as_key_tensor(query).numpy().astype(np.int64)
        at = np.searchsorted(self._sorted, wanted, side="right") - 1
        found = (at >= 0) & (self._sorted[np.maximum(at, 0)] == wanted) if self._sorted.size else np.zeros(wanted.shape, bool)
        places = np.where(found, self._order[np.maximum(at, 0)] if self._sorted.size else 0, -1)
        if self._value is None:
            return torch.from_numpy(places).to(self.dtype)
        out = self._value[torch.from_numpy(np.maximum(places, 0))]
        mask = torch.from_numpy(found).view(-1, *[1] * (out.dim() - 1))
        return out.where(mask, torch.full_like(out, float("nan") if out.is_floating_point() else -1))

    def __getitem__(self, key: Any) -> Any:
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is None or first is Ellipsis or isinstance(first, slice):
            return self.as_tensor()[key]
        single = np.ndim(first) == 0 and not isinstance(first, (list, Tensor))
        out = self._get([first] if single else first.view(-1) if isinstance(first, Tensor) else first)
        if isinstance(first, Tensor) and first.dim() != 1:
            out = out.view(*first.size(), *out.size()[1:])
        out = out[0] if single else out
        return out[(slice(None), *rest)] if rest else out

    def index_select(self, dim: int, index: Any) -> Any:
        """The rows of keys, or entries along another axis."""
        return self._get(index) if dim % self.dim() == 0 else self._again(self.as_tensor().index_select(dim, index))

    def select(self, dim: int, index: Any) -> Any:
        """The row of one key, or one entry along another axis."""
        return self._get([index])[0] if dim % self.dim() == 0 else self._again(self.as_tensor().select(dim, index))

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """In another dtype or on a device; the same where nothing changes."""
        out = super().to(*args, **kwargs)
        return self if out is self else self._again(self.as_tensor().to(*args, **kwargs))

    def cast(self, dtype: Any) -> Any:
        """The rows in another dtype."""
        return self._again(self.as_tensor().cast(dtype))

    def clone(self, *, memory_format: Any = None) -> Any:
        """A copy with keys of its own."""
        return self._again(self.as_tensor().clone())

    def contiguous(self, memory_format: Any = None) -> Any:
        """The same."""
        return self._again(self.as_tensor().contiguous())

    def detach(self) -> Any:
        """Without the history of the values."""
        return self if self._value is None else self._again(self._value.detach())

    def tolist(self) -> list[Any]:
        """The rows as lists."""
        return list(self.as_tensor().tolist())

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        """The rows as an array."""
        return self.as_tensor().numpy()

    def __reduce__(self) -> Any:
        return type(self), (self._key, self._value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.as_tensor()!r}, keys={self._key.tolist()})"


__all__ = ["HashTensor"]
