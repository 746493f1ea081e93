"""Tensors and memory: bytes of files and addresses, hashes of bytes, devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import C, current, dtypes, like, to_dtype, wrap
from .._ffi import Release, int64_array
from ..device import HOST, Device, check_device, computing

if TYPE_CHECKING:
    from ..tensor import Tensor

# Bytes that Keccak takes in at a time, and the end that it adds.
_KECCAK = {"sha3_224": (144, 6), "sha3_256": (136, 6), "sha3_384": (104, 6), "sha3_512": (72, 6), "shake_128": (168, 31), "shake_256": (136, 31)}
_MEGABYTE = 1 << 20


def rebits(x: Any, d: Any) -> Tensor:
    """The bytes of x read as dtype d of another size: the last axis grows or shrinks by the ratio. Little-endian."""
    old, new = x.dtype.itemsize, d.itemsize
    whole = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}
    u = x.bitcast(whole[old]) if x.dtype.kind != "b" else x.cast(dtypes.uint8)
    if not x.ndim or (int(x.shape[-1]) * old) % new:
        raise RuntimeError(f"bitcast of {x.dtype} {x.shape} to {d}: the bytes of the last axis are not divisible by {new}")
    if old > new:
        pieces = [(u >> (8 * new * k)).cast(whole[new]) for k in range(old // new)]
        out = pieces[0].stack(*pieces[1:], dim=-1).flatten(-2)
    else:
        parts = u.reshape(*x.shape[:-1], -1, new // old).cast(whole[new])
        out = parts[..., 0]
        for k in range(1, new // old):
            out = out | (parts[..., k] << (8 * old * k))
    return out if d is whole[new] else out.bitcast(d)


class Storage:
    """Files, addresses, hashes and devices."""

    __slots__ = ()

    @staticmethod
    def from_blob(ptr: int, shape: Any, dtype: Any = None, device: str | None = None) -> Tensor:
        """A tensor on memory at an address, which must stay valid as long as the tensor.

        >>> import numpy as np
        >>> a = np.array([1.0, 2.0], np.float32)
        >>> Tensor.from_blob(a.ctypes.data, (2,)).tolist()
        [1.0, 2.0]
        """
        g = current()
        if device is not None:
            check_device(g, device)
        d = dtypes.default_float if dtype is None else to_dtype(dtype)
        return wrap(g, C.poly_from_borrowed(g.ptr, ptr, d.code, len(shape), int64_array(shape), Release(0), None))

    @staticmethod
    def from_url(url: str, gunzip: bool = False, **kwargs: Any) -> Tensor:
        """The bytes of a file at an address, which is fetched once and kept; gunzip unpacks it.

        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as f:
        ...     _ = f.write(b"ab"); f.flush()
        ...     Tensor.from_url("file://" + f.name).tolist()
        [97, 98]
        """
        from .._fetch import fetch
        from ..tensor import Tensor

        return Tensor(fetch(url, gunzip=gunzip), **kwargs)

    def const_like(self: Any, b: Any, dtype: Any = None) -> Tensor:
        """tinygrad's name of full_like.

        >>> Tensor([1.0, 2.0]).const_like(3).tolist()
        [3.0, 3.0]
        """
        return self.full_like(b, dtype=dtype)

    def contiguous_backward(self: Any) -> Tensor:
        """self, whose gradient is stored.

        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> _ = x.contiguous_backward().sum().backward()
        >>> x.grad.tolist()
        [1.0, 1.0]
        """
        from ..custom import StoredGradient

        return StoredGradient.apply(self)

    def keccak(self: Any, cfg: Any = "sha3_256") -> Tensor:
        """Keccak's hash of the bytes of the last axis: 'sha3_224', 'sha3_256', 'sha3_384', 'sha3_512', 'shake_128', 'shake_256', or (rate, suffix).

        >>> bytes(Tensor(b"abc").keccak().tolist()).hex()[:16]
        '3a985da74fe225b2'
        """
        if isinstance(cfg, str) and cfg not in _KECCAK:
            raise ValueError(f"keccak: {cfg!r} is none of {', '.join(_KECCAK)}")
        rate, suffix = _KECCAK[cfg] if isinstance(cfg, str) else cfg
        rows = self if self.dtype == dtypes.uint8 else self.bitcast(dtypes.uint8)
        return like(self, C.poly_keccak(rows._h, rate, suffix, (200 - rate) // 2))

    def hash(self: Any) -> Tensor:
        """16 bytes that depend on all bytes of the tensor.

        >>> Tensor(b"abc").hash().shape
        (16,)
        """
        data = self.flatten()
        data = data if data.dtype == dtypes.uint8 else data.bitcast(dtypes.uint8)
        chunks = -(-int(data.shape[0]) // _MEGABYTE)
        while chunks > 1:
            data = _megabytes(data.pad((0, chunks * _MEGABYTE - int(data.shape[0]))).reshape(chunks, _MEGABYTE)).flatten()
            chunks = -(-chunks // 65536)
        return _megabytes(data.pad((0, _MEGABYTE - int(data.shape[0]))).unsqueeze(0)).flatten()[:16]

    def shard(self: Any, devices: Any, axis: int | None = None) -> Tensor:
        """The tensor on several devices. All devices of one machine that share its memory are one here: its values stay where they are, and it
        carries the names of the devices and the axis.

        >>> Tensor([1, 2]).shard(("CPU:0", "CPU:1"), axis=0).tolist()
        [1, 2]
        """
        if hasattr(self, "_shard"):
            raise RuntimeError("a tensor that lies on several devices cannot be put on others: bring it to one first")
        names = [computing(d) for d in (devices if isinstance(devices, (tuple, list)) else (devices,))]
        if axis is not None:
            size = int(self.shape[axis])
            if size % len(names):
                raise RuntimeError(f"axis {axis} of shape {self.shape} cannot be divided among {len(names)} devices")
        for name in names:
            if name != self.device and not (name in HOST and self.device in HOST):
                check_device(self._g, name)
        out = like(self, C.poly_retain_copy(self._h))
        if len(names) > 1:
            out._shard = (tuple(Device.canonicalize(d) for d in devices), axis if axis is None or axis >= 0 else axis + self.ndim)
        return out

    def shard_(self: Any, devices: Any, axis: int | None = None) -> Tensor:
        """Like shard, in place.

        >>> Tensor([1, 2]).shard_(("CPU",)).tolist()
        [1, 2]
        """
        out = self.shard(devices, axis)
        if hasattr(out, "_shard"):
            self._shard = out._shard
        return self

    def shard_like(self: Any, y: Tensor) -> Tensor:
        """On the devices of another tensor.

        >>> Tensor([1, 2]).shard_like(Tensor([3])).tolist()
        [1, 2]
        """
        wanted, have = getattr(y, "_shard", None), getattr(self, "_shard", None)
        if wanted is None or wanted == have:
            return self.to(y.device) if wanted is None else self
        return self.shard(*wanted)

    def scatter_add_(self: Any, dim: int, index: Any, src: Any) -> Tensor:
        """scatter_add into self.

        >>> Tensor([1, 1]).scatter_add_(0, Tensor([0, 0]), Tensor([5, 6])).tolist()
        [12, 1]
        """
        return self.assign(self.scatter_add(dim, index, src))


def _megabytes(rows: Any) -> Any:
    """16 bytes for each row of a megabyte: of the hashes of its pages of 4096 bytes."""
    return rows.reshape(-1, 4096).keccak("shake_128").reshape(int(rows.shape[0]), -1).keccak("shake_128")


__all__ = ["Storage", "rebits"]
