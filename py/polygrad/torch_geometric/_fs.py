"""torch_geometric.io.fs: files by path or address. Paths of the disk are Python's own business; others ("memory://...", "s3://...") are opened by
fsspec, if it is installed."""

# mypy: disable-error-code="no-untyped-call, import-untyped, import-not-found"

from __future__ import annotations

import glob as _glob
import gzip
import io
import os
import shutil
import tarfile
import zipfile
from typing import Any

from .. import torch

_CHUNK = 1 << 20


class LocalFileSystem:
    """The disk, where fsspec is not installed."""

    protocol = ("file", "local")


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise ImportError("addresses that are not paths of the disk need the package fsspec") from None
    return fsspec


def _local(path: str) -> str | None:
    """The path on the disk that an address stands for, or None."""
    path = os.fspath(path)
    if path.startswith("file://"):
        return path[len("file://") :]
    return None if "://" in path or "::" in path else path


def get_fs(path: str) -> Any:
    """The file system of an address."""
    try:
        return _fsspec().core.url_to_fs(path)[0]
    except ImportError:
        if _local(path) is None:
            raise
        return LocalFileSystem()


def isdisk(path: str) -> bool:
    """Is it a path of the disk?"""
    return _local(path) is not None


def islocal(path: str) -> bool:
    """Is it on this machine: on the disk or in memory?"""
    return isdisk(path) or str(path).startswith("memory://")


def normpath(path: str) -> str:
    """A path of the disk without doubled separators; other addresses as they are."""
    return os.path.normpath(path) if isdisk(path) else path


def exists(path: str) -> bool:
    """Is there a file or a folder?"""
    local = _local(path)
    return os.path.exists(local) if local is not None else bool(get_fs(path).exists(path))


def isdir(path: str) -> bool:
    """Is there a folder?"""
    local = _local(path)
    return os.path.isdir(local) if local is not None else bool(get_fs(path).isdir(path))


def isfile(path: str) -> bool:
    """Is there a file?"""
    local = _local(path)
    return os.path.isfile(local) if local is not None else bool(get_fs(path).isfile(path))


def makedirs(path: str, exist_ok: bool = True) -> None:
    """Makes a folder, with those above it."""
    local = _local(path)
    if local is not None:
        os.makedirs(local, exist_ok=exist_ok)
    else:
        get_fs(path).makedirs(path, exist_ok)


def ls(path: str, detail: bool = False) -> list[Any]:
    """What is in a folder, as addresses; with detail, a dict for each with name, size and type."""
    local = _local(path)
    if local is None:
        fs = get_fs(path)
        found = fs.ls(path, detail=detail)
        return [{**o, "name": fs.unstrip_protocol(o["name"])} if detail else fs.unstrip_protocol(o) for o in found]
    paths = [os.path.join(os.path.abspath(local), name) for name in sorted(os.listdir(local))] if os.path.isdir(local) else [os.path.abspath(local)]
    if not detail:
        return paths
    return [{"name": p, "size": os.path.getsize(p), "type": "directory" if os.path.isdir(p) else "file"} for p in paths]


def glob(path: str) -> list[str]:
    """The addresses that a pattern stands for."""
    local = _local(path)
    if local is not None:
        return sorted(_glob.glob(local, recursive=True))
    fs = get_fs(path)
    return [fs.unstrip_protocol(p) for p in fs.glob(path)]


def rm(path: str, recursive: bool = True) -> None:
    """Removes a file, or a folder with all in it."""
    local = _local(path)
    if local is None:
        get_fs(path).rm(path, recursive)
    elif os.path.isdir(local) and recursive:
        shutil.rmtree(local)
    else:
        os.remove(local)


def mv(path1: str, path2: str) -> None:
    """Moves a file or a folder within one file system."""
    one, two = _local(path1), _local(path2)
    if (one is None) != (two is None):
        raise ValueError(f"{path1} and {path2} are of different file systems")
    if one is not None and two is not None:
        shutil.move(one, two)
    else:
        get_fs(path1).mv(path1, path2)


def open_file(path: str, mode: str = "rb") -> Any:
    """An open file; folders above one that is written are made."""
    local = _local(path)
    if local is None:
        return _fsspec().open(path, mode).open()
    if "w" in mode and os.path.dirname(local):
        os.makedirs(os.path.dirname(local), exist_ok=True)
    return open(local, mode)


def _copy(source: Any, path: str) -> None:
    with open_file(path, "wb") as out:
        shutil.copyfileobj(source, out, _CHUNK)


def _unpack(path1: str, path2: str) -> None:
    """The files of an archive, below path2; a member that would lie outside is left."""
    with open_file(path1) as source:
        if path1.endswith(".zip"):
            with zipfile.ZipFile(source) as archive:
                for info in archive.infolist():
                    if not info.is_dir():
                        with archive.open(info) as member:
                            _copy(member, _below(path2, info.filename))
        elif path1.endswith((".tar.gz", ".tgz", ".tar")):
            with tarfile.open(fileobj=source) as tar:
                for entry in tar:
                    if entry.isfile() and (file := tar.extractfile(entry)) is not None:
                        _copy(file, _below(path2, entry.name))
        elif path1.endswith(".gz"):
            name = os.path.basename(path1)[: -len(".gz")]
            with gzip.open(source) as plain:
                _copy(plain, os.path.join(path2, name) if isdir(path2) else path2)
        else:
            raise NotImplementedError(f"{path1} is not an archive that can be unpacked: .zip, .tar, .tar.gz and .gz are known")


def _below(folder: str, name: str) -> str:
    name = os.path.normpath(name)
    if name.startswith("..") or os.path.isabs(name):
        raise ValueError(f"{name} would lie outside of {folder}")
    return os.path.join(folder, name)


def cp(path1: str, path2: str, extract: bool = False, log: bool = True, use_cache: bool = True, clear_cache: bool = True) -> None:
    """Copies a file, the files of a pattern, or a folder; with extract, what is in an archive."""
    if extract:
        _unpack(path1, path2)
        return
    if isdir(path1):
        target = os.path.join(path2, os.path.basename(path1)) if exists(path2) else path2
        for path in ls(path1):
            cp(path, os.path.join(target, os.path.basename(path)))
        return
    several = any(sign in path1 for sign in "*?[")
    for path in glob(path1) if several else [path1]:
        if several and isdir(path):
            continue
        target = os.path.join(path2, os.path.basename(path)) if several or isdir(path2) else path2
        with open_file(path) as source:
            _copy(source, target)


def torch_save(data: Any, path: str) -> None:
    """torch.save to an address."""
    buffer = io.BytesIO()
    torch.save(data, buffer)
    with open_file(path, "wb") as out:
        out.write(buffer.getvalue())


def torch_load(path: str, map_location: Any = None) -> Any:
    """torch.load from an address."""
    with open_file(path) as source:
        return torch.load(source, map_location)


__all__ = [
    "cp", "exists", "get_fs", "glob", "isdir", "isdisk", "isfile", "islocal", "ls", "makedirs", "mv", "normpath", "rm", "torch_load", "torch_save",
]  # fmt: skip
