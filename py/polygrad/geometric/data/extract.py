"""Archives: unpacked without leaving their folder, and without swelling beyond measure."""

from __future__ import annotations

import gzip
import os
import zlib
from typing import Any

CHUNK = 1 << 20


def allowed(packed: int) -> int:
    """How large the content of a packed file of that many bytes may be: text shrinks to a tenth, zeros to a thousandth."""
    return (32 << 20) + 100 * packed


def _target(folder: str, name: str, archive: str) -> str:
    """Where an entry goes; an error if that is outside the folder."""
    top = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(top, name))
    if os.path.isabs(name) or "\\" in name or not (path == top or path.startswith(top + os.sep)):
        raise ValueError(f"{archive}: the entry {name!r} would be written outside of the folder")
    return path


def _copy(source: Any, path: str, left: int, archive: str) -> int:
    """Copies a stream to a file and returns how many bytes may still come."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        while chunk := source.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise ValueError(f"{archive}: its content is much larger than such a file should hold")
            out.write(chunk)
    return left


def extract_zip(path: str, folder: str, log: bool = True) -> None:
    """Unpacks a zip archive into a folder.

    >>> import os, tempfile, zipfile
    >>> from polygrad.geometric.data import extract_zip
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(folder + "/a.zip", "w") as archive:
    ...         archive.writestr("edges.txt", "0 1")
    ...     extract_zip(folder + "/a.zip", folder, log=False)
    ...     print(sorted(os.listdir(folder)))
    ['a.zip', 'edges.txt']
    """
    import zipfile

    left = allowed(os.path.getsize(path))
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                target = _target(folder, entry.filename, path)
                if entry.is_dir():
                    os.makedirs(target, exist_ok=True)
                    continue
                with archive.open(entry) as source:
                    left = _copy(source, target, left, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as e:
        raise ValueError(f"{path}: not a zip archive that can be read: {e}") from None


def extract_tar(path: str, folder: str, mode: str = "r:gz", log: bool = True) -> None:
    """Unpacks the plain files of a tar archive into a folder.

    >>> from polygrad.geometric.data import extract_tar
    >>> extract_tar("graphs.tar.gz", "raw")  # doctest: +SKIP
    """
    import tarfile

    left = allowed(os.path.getsize(path))
    try:
        with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
            for entry in archive:
                target = _target(folder, entry.name, path)
                if entry.isdir():
                    os.makedirs(target, exist_ok=True)
                elif entry.isfile():
                    source = archive.extractfile(entry)
                    left = _copy(source, target, left, path)
                else:
                    raise ValueError(f"{path}: the entry {entry.name!r} is neither a file nor a folder")
    except (tarfile.TarError, zlib.error, EOFError, OSError) as e:
        raise ValueError(f"{path}: not a tar archive that can be read: {e}") from None


def read_gz(path: str) -> bytes:
    """The content of a gzip file."""
    left = allowed(os.path.getsize(path))
    parts = []
    try:
        with gzip.open(path, "rb") as f:
            while chunk := f.read(CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise ValueError(f"{path}: its content is much larger than such a file should hold")
                parts.append(chunk)
    except (gzip.BadGzipFile, zlib.error, EOFError) as e:
        raise ValueError(f"{path}: not a gzip file that can be read, or cut off: {e}") from None
    return b"".join(parts)


def extract_gz(path: str, folder: str, log: bool = True) -> None:
    """Unpacks a gzip file into a folder, without its ending.

    >>> import gzip, os, tempfile
    >>> from polygrad.geometric.data import extract_gz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = open(folder + "/a.txt.gz", "wb").write(gzip.compress(b"1 2"))
    ...     extract_gz(folder + "/a.txt.gz", folder, log=False)
    ...     print(sorted(os.listdir(folder)))
    ['a.txt', 'a.txt.gz']
    """
    name = os.path.basename(path)
    target = _target(folder, name[:-3] if name.endswith(".gz") else f"{name}.out", path)
    os.makedirs(folder, exist_ok=True)
    with open(target, "wb") as f:
        f.write(read_gz(path))


def extract_bz2(path: str, folder: str, log: bool = True) -> None:
    """Unpacks a bzip2 file into a folder, without its ending.

    >>> import bz2, os, tempfile
    >>> from polygrad.geometric.data import extract_bz2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = open(folder + "/a.txt.bz2", "wb").write(bz2.compress(b"1 2"))
    ...     extract_bz2(folder + "/a.txt.bz2", folder, log=False)
    ...     print(sorted(os.listdir(folder)))
    ['a.txt', 'a.txt.bz2']
    """
    import bz2

    name = os.path.basename(path)
    target = _target(folder, name[:-4] if name.endswith(".bz2") else f"{name}.out", path)
    try:
        with bz2.open(path, "rb") as source:
            _copy(source, target, allowed(os.path.getsize(path)), path)
    except (OSError, EOFError) as e:
        raise ValueError(f"{path}: not a bzip2 file that can be read: {e}") from None


def makedirs(path: str) -> None:
    """Makes a folder and those above it, unless they are there.

    >>> import os, tempfile
    >>> from polygrad.geometric.data import makedirs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     makedirs(folder + "/a/b")
    ...     print(os.path.isdir(folder + "/a/b"))
    True
    """
    os.makedirs(os.path.expanduser(os.path.normpath(path)), exist_ok=True)


__all__ = ["allowed", "extract_bz2", "makedirs", "extract_gz", "extract_tar", "extract_zip", "read_gz"]
