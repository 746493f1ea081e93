"""HDF5 files: arrays of numbers by name, as the library writes them by default (superblock 0 to 1, old groups), and MATLAB's files of version 7.3.

    superblock -> group: B-tree of names in a heap -> object: messages that say shape, type, where the content is -> content, or a B-tree of its
    chunks

Chunks may be packed by deflate and shuffle. What a file declares is checked against its size before memory is taken. Anything else (objects in the
format of 1.8 on, references, texts) is an error where it is asked for.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from typing import Any

import numpy as np

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DATASPACE, _DATATYPE, _LAYOUT, _FILTERS, _CONTINUATION, _GROUP = 0x01, 0x03, 0x08, 0x0B, 0x10, 0x11
_DEFLATE, _SHUFFLE, _CHECKSUM = 1, 2, 3
_LIMIT = 4 << 30  # bytes of an array
_NODES = 1 << 20  # of a B-tree, so that one which refers to itself ends


class _Reader:
    """Numbers at places of the file, which count from the superblock."""

    def __init__(self, content: bytes, base: int, offset: int, length: int):
        self.content, self.base, self.offset, self.length = content, base, offset, length

    def bytes(self, at: int, size: int) -> bytes:
        start = self.base + at
        if at < 0 or size < 0 or start + size > len(self.content):
            raise ValueError(f"{size} bytes at {at} lie beyond its end")
        return self.content[start : start + size]

    def number(self, at: int, size: int) -> int:
        return int.from_bytes(self.bytes(at, size), "little")

    def address(self, at: int) -> int:
        return self.number(at, self.offset)


class File:
    """An HDF5 file. `keys()` are the names of its arrays and groups, `array(name)` is an array; groups inside are reached by a/b."""

    def __init__(self, path: str):
        self.path = os.fspath(path)
        with open(path, "rb") as f:
            content = f.read()
        try:
            base = next((b for b in (0, *(512 << k for k in range(12))) if content[b : b + 8] == SIGNATURE), None)  # a block of the user may precede
            if base is None:
                raise ValueError("it is none")
            version, offset, length = content[base + 8], content[base + 13], content[base + 14]
            if version > 1 or offset not in (4, 8) or length not in (4, 8):
                raise ValueError(f"a superblock of version {version} is not read")
            self.file = _Reader(content, base, offset, length)
            root = 24 + (4 if version else 0) + 4 * offset  # behind sizes, flags and four addresses
            self.entries = self._group(self.file.address(root + offset))
        except (ValueError, struct.error, IndexError, OverflowError, MemoryError, RecursionError) as e:
            raise ValueError(f"{self.path}: not an HDF5 file that can be read: {e}") from None

    def keys(self) -> list[str]:
        return list(self.entries)

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def array(self, name: str) -> np.ndarray:
        """The array of that name, in the order of the file (MATLAB's are transposed)."""
        try:
            entries = self.entries
            *groups, last = name.strip("/").split("/")
            for part in groups:
                entries = self._group(entries[part])
            return self._array(self._messages(entries[last]))
        except KeyError:
            raise ValueError(f"{self.path}: there is no array {name!r}") from None
        except (ValueError, struct.error, zlib.error, IndexError, OverflowError, MemoryError, RecursionError) as e:
            raise ValueError(f"{self.path}: {name!r} cannot be read: {e}") from None

    # ---- objects ----

    def _messages(self, at: int) -> dict[int, bytes]:
        """The messages of an object's header by type."""
        f = self.file
        if f.number(at, 1) != 1:
            raise ValueError("an object in the format of HDF5 1.8 is not read")
        blocks = [(at + 16, f.number(at + 8, 4))]
        out: dict[int, bytes] = {}
        for start, size in blocks:  # continuations are added to the list
            place, end = start, start + size
            while place + 8 <= end:
                kind, length = f.number(place, 2), f.number(place + 2, 2)
                body = f.bytes(place + 8, length)
                place += 8 + length
                if kind == _CONTINUATION:
                    if len(blocks) > 1000:
                        raise ValueError("an object without an end")
                    more = int.from_bytes(body[: f.offset], "little"), int.from_bytes(body[f.offset : f.offset + f.length], "little")
                    blocks.append(more)
                else:
                    out.setdefault(kind, body)
        return out

    def _group(self, at: int) -> dict[str, int]:
        """Addresses of a group's objects by name."""
        f = self.file
        message = self._messages(at).get(_GROUP)
        if message is None:
            raise ValueError("a group of another format is not read")
        tree, heap = (int.from_bytes(message[k * f.offset : (k + 1) * f.offset], "little") for k in (0, 1))
        if f.bytes(heap, 4) != b"HEAP":
            raise ValueError("the names of a group are damaged")
        names, size = f.address(heap + 8 + 2 * f.length), f.number(heap + 8, f.length)
        text = f.bytes(names, size)
        out = {}
        for _, node in self._leaves(tree, 0, f.length):
            if f.bytes(node, 4) != b"SNOD":
                raise ValueError("a group is damaged")
            step = 2 * f.offset + 24
            for k in range(f.number(node + 6, 2)):
                entry = node + 8 + k * step
                start = f.address(entry)
                out[text[start : text.find(b"\0", start)].decode("utf-8", "replace")] = f.address(entry + f.offset)
        return out

    def _leaves(self, root: int, kind: int, key: int) -> list[tuple[int, int]]:
        """Places of the keys of a B-tree's lowest level, and their children."""
        f = self.file
        out, todo, seen = [], [root], 0
        while todo:
            node = todo.pop()
            seen += 1
            if seen > _NODES or f.bytes(node, 4) != b"TREE" or f.number(node + 4, 1) != kind:
                raise ValueError("a B-tree is damaged")
            level, count = f.number(node + 5, 1), f.number(node + 6, 2)
            first = node + 8 + 2 * f.offset
            found = [(first + k * (key + f.offset), f.address(first + k * (key + f.offset) + key)) for k in range(count)]
            if level:
                todo += [child for _, child in reversed(found)]
            else:
                out += found
        return out

    # ---- arrays ----

    def _array(self, messages: dict[int, bytes]) -> np.ndarray:
        if not {_DATASPACE, _DATATYPE, _LAYOUT} <= messages.keys():
            raise ValueError("it is not an array")
        shape, dtype = self._shape(messages[_DATASPACE]), self._dtype(messages[_DATATYPE])
        size = math.prod(shape) * dtype.itemsize
        if size > _LIMIT:
            raise ValueError(f"an array of {size} bytes is too large")
        layout, f = messages[_LAYOUT], self.file
        if layout[0] in (1, 2):  # the older form: rank, class, five bytes, the address, sizes
            where = layout[8 : 8 + f.offset] if layout[2] else b""
            sizes = layout[8 + len(where) :]
            layout = bytes([3, layout[2]]) + (
                bytes([layout[1]]) + where + sizes if layout[2] == 2 else where if layout[2] else sizes[4 * layout[1] :]
            )
            layout = layout if layout[1] else layout[:4] + layout[6:]  # the size of what follows has four bytes there, and two here
        if layout[0] != 3:
            raise ValueError(f"a layout of version {layout[0]} is not read")
        if layout[1] == 0:  # the content follows
            content = layout[4 : 4 + size]
        elif layout[1] == 1:
            content = f.bytes(int.from_bytes(layout[2 : 2 + f.offset], "little"), size)
        elif layout[1] == 2:
            return self._chunks(layout, messages.get(_FILTERS), shape, dtype)
        else:
            raise ValueError(f"a layout of the class {layout[1]} is not read")
        if len(content) != size:
            raise ValueError(f"{len(content)} bytes, where {size} are needed")
        return np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="))

    def _shape(self, body: bytes) -> tuple[int, ...]:
        version, rank, length = body[0], body[1], self.file.length
        start = 8 if version == 1 else 4
        if version not in (1, 2) or len(body) < start + rank * length:
            raise ValueError("its shape is damaged")
        return tuple(int.from_bytes(body[start + k * length : start + (k + 1) * length], "little") for k in range(rank))

    @staticmethod
    def _dtype(body: bytes) -> Any:
        kind, size = body[0] & 15, int.from_bytes(body[4:8], "little")
        if kind not in (0, 1) or size not in (1, 2, 4, 8) or (kind == 1 and size == 1):
            raise ValueError("only arrays of whole numbers and floats are read")
        return np.dtype(f"{'>' if body[1] & 1 else '<'}{'f' if kind else 'i' if body[1] & 8 else 'u'}{size}")

    @staticmethod
    def _filters(body: bytes | None) -> list[int]:
        """The filters that content went through, in the order of writing."""
        if body is None:
            return []
        version, count = body[0], body[1]
        at, out = 8 if version == 1 else 2, []
        for _ in range(count):
            kind = int.from_bytes(body[at : at + 2], "little")
            named = version == 1 or kind >= 256
            length = int.from_bytes(body[at + 2 : at + 4], "little") if named else 0
            at += 2 if named else 0
            values = int.from_bytes(body[at + 4 : at + 6], "little")
            at += 6 + (-(-length // 8) * 8 if version == 1 else length) + 4 * (values + (values % 2 if version == 1 else 0))
            if kind not in (_DEFLATE, _SHUFFLE, _CHECKSUM):
                raise ValueError(f"content that is packed by the filter {kind} is not read")
            out.append(kind)
        return out

    def _chunks(self, layout: bytes, pipeline: bytes | None, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        f, rank = self.file, layout[2] - 1
        tree = int.from_bytes(layout[3 : 3 + f.offset], "little")
        start = 3 + f.offset
        chunk = tuple(int.from_bytes(layout[start + 4 * k : start + 4 * k + 4], "little") for k in range(rank))
        size = math.prod(chunk) * dtype.itemsize
        if rank != len(shape) or min(chunk, default=1) < 1 or size > _LIMIT:
            raise ValueError("its chunks do not fit its shape")
        out = np.zeros(shape, dtype.newbyteorder("="))
        filters = self._filters(pipeline)
        if tree == (1 << 8 * f.offset) - 1:  # nothing was written
            return out
        for key, child in self._leaves(tree, 1, 8 + 8 * (rank + 1)):
            packed, skipped = f.number(key, 4), f.number(key + 4, 4)
            content = f.bytes(child, packed)
            for k, kind in reversed(list(enumerate(filters))):
                if not skipped >> k & 1:
                    content = self._unpacked(content, kind, size, dtype.itemsize)
            if len(content) != size:
                raise ValueError(f"a chunk of {len(content)} bytes, where {size} are needed")
            place = [f.number(key + 8 + 8 * k, 8) for k in range(rank)]
            if any(p >= s for p, s in zip(place, shape)):
                raise ValueError("a chunk lies outside of the array")
            target = tuple(slice(p, min(p + c, s)) for p, c, s in zip(place, chunk, shape))
            part = np.frombuffer(content, dtype).reshape(chunk)
            out[target] = part[tuple(slice(0, t.stop - t.start) for t in target)]
        return out

    @staticmethod
    def _unpacked(content: bytes, kind: int, size: int, width: int) -> bytes:
        if kind == _CHECKSUM:
            return content[:-4]
        if kind == _SHUFFLE:
            whole = len(content) // width * width
            return np.frombuffer(content[:whole], np.uint8).reshape(width, -1).T.tobytes() + content[whole:]
        packer = zlib.decompressobj()
        return packer.decompress(content, size + 4)


__all__ = ["File"]
