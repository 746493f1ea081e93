"""Downloads: with a progress bar, a time limit and a checksum; a file is whole or not there."""

from __future__ import annotations

import os
import sys
from typing import Any

TIMEOUT = 20.0  # seconds without an answer
CHUNK = 1 << 16


class _Bar:
    """A line on a terminal; silent elsewhere."""

    def __init__(self, name: str, total: int | None, show: bool):
        self.name, self.total, self.show = name, total, show and sys.stderr.isatty()

    def to(self, done: int) -> None:
        if not self.show:
            return
        size = f"{done / 1e6:.1f} MB"
        if self.total:
            filled = min(30, 30 * done // self.total)
            size = f"[{'#' * filled}{' ' * (30 - filled)}] {size} of {self.total / 1e6:.1f}"
        print(f"\r{self.name} {size}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.show:
            print(file=sys.stderr)


def download_url(
    url: str,
    folder: str,
    log: bool = True,
    filename: str | None = None,
    checksum: str | None = None,
    limit: int = 64 << 30,
    timeout: float = TIMEOUT,
) -> str:
    """Downloads a file into a folder, unless it is there, and returns its path.

    checksum: the SHA-256 that it must have, in hex. limit: bytes after which it is given up. Only https is used.

    >>> from polygrad.geometric.data import download_url
    >>> download_url("https://data.pyg.org/datasets/karate.zip", "/tmp")  # doctest: +SKIP
    '/tmp/karate.zip'
    """
    if not url.startswith("https://"):
        raise ValueError(f"only https addresses are downloaded, not {url}")
    name = filename or url.rsplit("/", 1)[-1].split("?")[0]
    path = os.path.join(folder, name)
    if os.path.exists(path):
        return path
    os.makedirs(folder, exist_ok=True)
    part = f"{path}.part"
    try:
        found = _fetch(url, part, name, log, limit, timeout)
        if checksum is not None and found != checksum:
            raise ConnectionError(f"{url}: the file that came has the checksum {found}, not {checksum}")
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)
    return path


def download_google_url(id: str, folder: str, filename: str, log: bool = True) -> str:
    """Downloads a file of Google Drive by its id, unless it is there, and returns its path.

    >>> from polygrad.geometric.data import download_google_url
    >>> download_google_url("1a2b3c", "/tmp", "graphs.zip")  # doctest: +SKIP
    '/tmp/graphs.zip'
    """
    return download_url(f"https://drive.usercontent.google.com/download?id={id}&confirm=t", folder, log, filename)


def _fetch(url: str, part: str, name: str, log: bool, limit: int, timeout: float) -> str:
    import hashlib  # here, because these take longer to load than all the rest, and most programs download nothing
    import urllib.error
    import urllib.request

    request = urllib.request.Request(url, headers={"User-Agent": "polygrad"})
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer, open(part, "wb") as out:
            total = _length(answer)
            bar = _Bar(name, total, log)
            done = 0
            while chunk := answer.read(CHUNK):
                done += len(chunk)
                if done > limit:
                    raise ConnectionError(f"{url}: more than {limit} bytes came")
                digest.update(chunk)
                out.write(chunk)
                bar.to(done)
            bar.end()
    except (urllib.error.URLError, OSError, ValueError) as e:
        if isinstance(e, ConnectionError) and str(e).startswith(url):
            raise
        raise ConnectionError(f"{url}: {getattr(e, 'reason', None) or e}") from None
    if total is not None and done != total:
        raise ConnectionError(f"{url}: {done} of {total} bytes came")
    return digest.hexdigest()


def _length(answer: Any) -> int | None:
    text = answer.headers.get("Content-Length", "")
    return int(text) if text.isdigit() else None


__all__ = ["download_google_url", "download_url"]
