"""Files from addresses, kept in a folder: POLYGRAD_CACHE, or the user's cache folder. Knows nothing of tensors."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tempfile
import urllib.request
from pathlib import Path


def cache_folder() -> Path:
    """Where downloads are kept."""
    given = os.environ.get("POLYGRAD_CACHE")
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "polygrad"
    return base / "downloads"


def fetch(url: str, name: str | None = None, gunzip: bool = False) -> Path:
    """The path of a local copy, which is made unless there is one. A path without a scheme, or file://, is read where it is."""
    plain = url[len("file://") :] if url.startswith("file://") else url if "://" not in url else None
    if plain is not None and not gunzip:
        return Path(plain)
    folder = cache_folder()
    stamp = f"{os.stat(plain).st_mtime_ns}" if plain is not None else ""
    path = folder / (name or hashlib.sha256(f"{url} {gunzip} {stamp}".encode()).hexdigest()[:32])
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as out, open(plain, "rb") if plain is not None else urllib.request.urlopen(url, timeout=60) as source:
            shutil.copyfileobj(gzip.GzipFile(fileobj=source) if gunzip else source, out)
        os.replace(temporary, path)  # readers see all of it or nothing
    except BaseException:
        os.unlink(temporary)
        raise
    return path


__all__ = ["cache_folder", "fetch"]
