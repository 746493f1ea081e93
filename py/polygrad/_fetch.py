"""Files from addresses, kept in a folder: POLYGRAD_CACHE, or the user's cache folder. Knows nothing of tensors."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import urllib.request
from pathlib import Path
from typing import Any


def cache_folder() -> Path:
    """Where downloads are kept."""
    given = os.environ.get("POLYGRAD_CACHE")
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "polygrad"
    return base / "downloads"


def fetch(
    url: str, name: Any = None, gunzip: bool = False, subdir: str | None = None, again: bool = False, headers: Any = None, sha256: str | None = None
) -> Path:
    """The path of a local copy, which is made unless there is one. A path without a scheme, or file://, is read where it is. name: of the copy; one
    with a slash, or a Path, is a path. again: even if there is one. sha256: what a copy must have, in hexadecimal digits."""
    plain = url[len("file://") :] if url.startswith("file://") else url if "://" not in url else None
    if plain is not None and not gunzip:
        return Path(plain)
    stamp = f"{os.stat(plain).st_mtime_ns}" if plain is not None else ""
    asked = sorted(headers.items()) if headers else ""
    if isinstance(name, Path) or (name and "/" in name):
        path = Path(name)
    else:
        path = cache_folder() / (subdir or "") / (name or hashlib.sha256(f"{url} {gunzip} {stamp}{asked}".encode()).hexdigest()[:32])
    if path.is_file() and not again and (sha256 is None or _sha256(path) == sha256):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out, open(plain, "rb") if plain is not None else _open(url, headers) as source:
            shutil.copyfileobj(gzip.GzipFile(fileobj=source) if gunzip else source, out)
        if sha256 is not None and _sha256(Path(temporary)) != sha256:
            raise RuntimeError(f"{url} has the SHA-256 {_sha256(Path(temporary))}, not {sha256}")
        os.replace(temporary, path)  # readers see all of it or nothing
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def _open(url: str, headers: Any) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers or {})), timeout=60)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as source:
        while part := source.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def unpacked(path: Path) -> Path:
    """The folder beside a tar archive that holds what is in it, which is made unless there is one."""
    folder = path.with_name(path.name + ".extract")
    if not folder.is_dir():
        temporary = tempfile.mkdtemp(dir=path.parent)
        try:
            with tarfile.open(path) as archive:
                archive.extractall(temporary, filter="data")
            os.rename(temporary, folder)  # readers see all of it or nothing
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


__all__ = ["cache_folder", "fetch", "unpacked"]
