"""Meshes: OFF, PLY and OBJ files as Data with positions `pos` [V, 3] and triangles `face` [3, N]. Quadrangles become two triangles."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data.data import Data

_PLY = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip


def mesh(pos: np.ndarray, faces: np.ndarray, path: str) -> Data:
    """A mesh of positions [V, 3] and triangles [N, 3], checked."""
    if faces.size and (faces.min() < 0 or faces.max() >= len(pos)):
        raise ValueError(f"{path}: a face has the vertex {int(faces.max() if faces.max() >= len(pos) else faces.min())}, there are {len(pos)}")
    return Data(pos=Tensor(np.ascontiguousarray(pos, np.float32)), face=Tensor(np.ascontiguousarray(faces.reshape(-1, 3).T, np.int64)))


def triangles(words: np.ndarray, counts: np.ndarray, path: str) -> np.ndarray:
    """Triangles of faces, whose vertices lie one after the other in words: first those with three corners, then both halves of those with four."""
    if ((counts != 3) & (counts != 4)).any():
        raise ValueError(f"{path}: a face with {int(counts[(counts != 3) & (counts != 4)][0])} corners, 3 or 4 are needed")
    start = np.cumsum(counts) - counts
    three, four = start[counts == 3], start[counts == 4]
    parts = [words[three[:, None] + [0, 1, 2]], words[four[:, None] + [0, 1, 2]], words[four[:, None] + [0, 2, 3]]]
    return np.concatenate(parts).astype(np.int64)


def _numbers(words: list[str], path: str, dtype: Any) -> np.ndarray:
    try:
        return np.array(words, np.float64).astype(dtype) if dtype != np.int64 else np.array([int(w) for w in words], np.int64)
    except (ValueError, OverflowError) as e:
        raise ValueError(f"{path}: numbers are needed: {e}") from None


def _faces(lines: list[str], path: str) -> np.ndarray:
    rows = [line.split() for line in lines]
    counts = _numbers([r[0] for r in rows], path, np.int64)
    if any(len(r) - 1 < c or c < 0 for r, c in zip(rows, counts)):
        raise ValueError(f"{path}: a face is cut off")
    words = _numbers([w for r, c in zip(rows, counts) for w in r[1 : int(c) + 1]], path, np.int64)
    return triangles(words, counts, path)


def read_off(path: str) -> Data:
    """Reads a mesh in the Object File Format.

    >>> import tempfile
    >>> from polygrad.geometric.io import read_off
    >>> with tempfile.NamedTemporaryFile("w", suffix=".off") as file:
    ...     _ = file.write('OFF\\n3 1 0\\n0 0 0\\n1 0 0\\n0 1 0\\n3 0 1 2\\n')
    ...     file.flush()
    ...     print(read_off(file.name).face.tolist())
    [[0], [1], [2]]
    """
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = [line for line in (raw.split("#")[0].strip() for raw in f) if line]
    if not lines or not lines[0].startswith("OFF"):
        raise ValueError(f"{path}: not an OFF file")
    lines = lines[1:] if lines[0] == "OFF" else [lines[0][3:], *lines[1:]]  # in some files the counts follow without a new line
    sizes = _numbers(lines[0].split()[:2] if lines else [], path, np.int64)
    if sizes.size != 2 or sizes.min() < 0 or len(lines) < 1 + int(sizes.sum()):
        raise ValueError(f"{path}: {len(lines) - 1} lines where {sizes.tolist()} vertices and faces are announced")
    n, m = (int(s) for s in sizes)
    rows = [line.split()[:3] for line in lines[1 : 1 + n]]
    if any(len(r) != 3 for r in rows):
        raise ValueError(f"{path}: a vertex needs three coordinates")
    pos = _numbers([w for r in rows for w in r], path, np.float32).reshape(-1, 3)
    return mesh(pos, _faces(lines[1 + n : 1 + n + m], path), path)


def write_off(data: Any, path: str) -> None:
    """Writes the mesh of a Data with `pos` and `face` in the Object File Format.

    >>> import tempfile
    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.io import read_off, write_off
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_off(Data(pos=Tensor.eye(3), face=Tensor([[0], [1], [2]])), folder + "/a.off")
    ...     print(read_off(folder + "/a.off").pos.tolist())
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if data.pos is None or data.face is None:
        raise ValueError("a mesh needs 'pos' and 'face'")
    pos, face = data.pos.numpy(), data.face.numpy().T
    with open(path, "w", encoding="ascii") as f:
        f.write(f"OFF\n{len(pos)} {len(face)} 0\n")
        np.savetxt(f, pos, "%.9g")
        np.savetxt(f, np.concatenate([np.full((len(face), 1), face.shape[1]), face], axis=1), "%d")


def read_obj(in_file: Any) -> Data | None:
    """Reads a mesh in Wavefront's format; None if there is no vertex or no face in it.

    >>> import tempfile
    >>> from polygrad.geometric.io import read_obj
    >>> with tempfile.NamedTemporaryFile("w", suffix=".obj") as file:
    ...     _ = file.write('v 0 0 0\\nv 1 0 0\\nv 0 1 0\\nf 1 2 3\\n')
    ...     file.flush()
    ...     print(read_obj(file.name).face.tolist())
    [[0], [1], [2]]
    """
    path = os.fspath(in_file)
    vertices: list[list[str]] = []
    corners: list[list[str]] = []
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            words = line.split()
            if words[:1] == ["v"]:
                vertices.append(words[1:4])
            elif words[:1] == ["f"]:
                corners.append([w.split("/")[0] for w in words[1:]])
    if not vertices or not corners:
        return None
    if any(len(v) != 3 for v in vertices):
        raise ValueError(f"{path}: a vertex needs three coordinates")
    pos = _numbers([w for v in vertices for w in v], path, np.float32).reshape(-1, 3)
    index = _numbers([w for c in corners for w in c], path, np.int64)
    index = np.where(index < 0, index + len(pos), index - 1)  # counted from 1, or from the end
    return mesh(pos, triangles(index, np.array([len(c) for c in corners]), path), path)


def read_ply(path: str) -> Data:
    """Reads a mesh in the Polygon File Format, as text or binary: the properties x, y, z of its vertices and the lists of its faces.

    >>> from polygrad.geometric.io import read_ply
    >>> read_ply("bunny.ply").pos.shape  # doctest: +SKIP
    (35947, 3)
    """
    with open(path, "rb") as f:
        order, elements = _ply_head(f, path)
        body = f.read()
    values = _ply_text(body, elements, path) if order == "" else _ply_binary(body, elements, order, path)
    if "vertex" not in values:
        raise ValueError(f"{path}: there are no vertices")
    pos, faces = values["vertex"], values.get("face", np.zeros((0, 3), np.int64))
    return mesh(pos, faces, path)


def _ply_head(f: Any, path: str) -> tuple[str, list[tuple[str, int, list[tuple[str, ...]]]]]:
    if f.readline(64).strip() != b"ply":
        raise ValueError(f"{path}: not a PLY file")
    order: str | None = None
    elements: list[tuple[str, int, list[tuple[str, ...]]]] = []
    for _ in range(1000):
        words = f.readline(4096).decode("ascii", "replace").split()
        if words[:1] == ["format"] and len(words) > 1:
            order = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}.get(words[1])
        elif words[:1] == ["element"] and len(words) == 3 and words[2].isdigit():
            elements.append((words[1], int(words[2]), []))
        elif words[:1] == ["property"] and elements and len(words) in (3, 5):
            elements[-1][2].append(tuple(words[1:]))
        elif words == ["end_header"]:
            break
        elif not words or words[0] not in ("comment", "obj_info"):
            raise ValueError(f"{path}: a line of the header is not known: {' '.join(words)[:60]!r}")
    known = all(t in _PLY for _, _, ps in elements for p in ps for t in (p[1:3] if p[0] == "list" and len(p) == 4 else p[:1]))
    if order is None or not known or any((len(p) == 4) != (p[0] == "list") for _, _, ps in elements for p in ps):
        raise ValueError(f"{path}: the header is damaged")
    return order, elements


def _columns(properties: list[tuple[str, ...]], path: str) -> list[int]:
    names = [p[-1] for p in properties]
    if not {"x", "y", "z"} <= set(names):
        raise ValueError(f"{path}: vertices without x, y and z")
    return [names.index(c) for c in "xyz"]


def _ply_text(body: bytes, elements: list[Any], path: str) -> dict[str, np.ndarray]:
    lines = [line for line in body.decode("ascii", "replace").splitlines() if line.strip()]
    out, at = {}, 0
    for name, count, properties in elements:
        if at + count > len(lines):
            raise ValueError(f"{path}: {len(lines) - at} lines where {count} of {name!r} are announced")
        some, at = lines[at : at + count], at + count
        if name == "vertex":
            rows = [line.split() for line in some]
            if any(len(r) != len(properties) for r in rows):
                raise ValueError(f"{path}: a vertex needs {len(properties)} numbers")
            columns = _columns(properties, path)
            out[name] = _numbers([r[c] for r in rows for c in columns], path, np.float32).reshape(-1, 3)
        elif name == "face":
            out[name] = _faces(some, path)
    return out


def _ply_binary(body: bytes, elements: list[Any], order: str, path: str) -> dict[str, np.ndarray]:
    out, at = {}, 0
    for name, count, properties in elements:
        lists = [p for p in properties if p[0] == "list"]
        if not lists:
            dtype = np.dtype([(f"p{k}", order + _PLY[p[0]]) for k, p in enumerate(properties)])
            if at + count * dtype.itemsize > len(body):
                raise ValueError(f"{path}: it is cut off in {name!r}")
            table = np.frombuffer(body, dtype, count, at)
            at += count * dtype.itemsize
            if name == "vertex":
                out[name] = np.stack([table[f"p{c}"].astype(np.float32) for c in _columns(properties, path)], axis=1)
        elif len(properties) == 1:
            out[name], at = _ply_faces(body, at, count, order, lists[0], path)
        else:
            raise ValueError(f"{path}: {name!r} has values beside its list")
    return out


def _ply_faces(body: bytes, at: int, count: int, order: str, kind: tuple[str, ...], path: str) -> tuple[np.ndarray, int]:
    """Triangles of a list of faces: all of three corners at once, else one after the other."""
    size, item = np.dtype(order + _PLY[kind[1]]), np.dtype(order + _PLY[kind[2]])
    whole = np.dtype([("n", size), ("v", item, 3)])
    if at + count * whole.itemsize <= len(body):
        table = np.frombuffer(body, whole, count, at)
        if (table["n"] == 3).all():
            return table["v"].astype(np.int64), at + count * whole.itemsize
    counts, parts = np.zeros(count, np.int64), []
    for k in range(count):
        if at + size.itemsize > len(body):
            raise ValueError(f"{path}: it is cut off after {k} of {count} faces")
        n = int(np.frombuffer(body, size, 1, at)[0])
        at += size.itemsize
        if n not in (3, 4) or at + n * item.itemsize > len(body):
            raise ValueError(f"{path}: face {k} with {n} corners is damaged")
        parts.append(np.frombuffer(body, item, n, at).astype(np.int64))
        counts[k] = n
        at += n * item.itemsize
    return triangles(np.concatenate(parts) if parts else np.zeros(0, np.int64), counts, path), at


__all__ = ["mesh", "read_obj", "read_off", "read_ply", "write_off"]
