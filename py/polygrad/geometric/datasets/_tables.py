"""Tables of numbers in text files, with commas or blanks between them."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from ..data.extract import read_gz


def read_table(path: str, dtype: Any = np.float64, columns: int | None = None) -> np.ndarray:
    """[rows, columns] of a text file, which may be packed with gzip. Whole numbers must be written as such."""
    if str(path).endswith(".gz"):
        text = read_gz(path)
    else:
        with open(path, "rb") as f:
            text = f.read()
    return parse_table(text, dtype, columns, os.fspath(path))


def parse_table(text: bytes, dtype: Any, columns: int | None, path: str) -> np.ndarray:
    """The numbers of a text, checked: as many in every row, nothing else between them."""
    dtype = np.dtype(dtype)
    lines = text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
    head = text[: text.find(b"\n") if b"\n" in text else len(text)].replace(b",", b" ").split()
    width = len(head)
    if not text.strip():
        return np.zeros((0, columns or 1), dtype)
    if columns is not None and width != columns:
        raise ValueError(f"{path}: {columns} numbers a row are needed, the first row has {width}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values = np.fromstring(text.replace(b",", b" ").decode("ascii"), dtype, sep=" ")
    except (ValueError, DeprecationWarning, UnicodeDecodeError, OverflowError):
        raise ValueError(f"{path}: {_culprit(text, dtype)}") from None
    if values.size != width * lines:
        blank = len([1 for line in text.splitlines() if not line.strip()]) if values.size < width * lines else 0
        if values.size != width * (lines - blank):
            raise ValueError(f"{path}: its rows differ in length: {values.size} numbers in {lines - blank} rows, {width} in the first")
    return values.reshape(-1, width)


def _culprit(text: bytes, dtype: np.dtype) -> str:
    kind = "whole numbers" if dtype.kind in "iu" else "numbers"
    for k, line in enumerate(text.splitlines()):
        for word in line.replace(b",", b" ").split():
            try:
                int(word) if dtype.kind in "iu" else float(word)
            except ValueError:
                return f"row {k + 1} holds {word[:40].decode('latin1')!r}, where {kind} are needed"
    return f"it does not hold {kind}"


__all__ = ["parse_table", "read_table"]
