"""Tables of numbers as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import DType
from ...tensor import Tensor


def parse_txt_array(
    src: list[str], sep: str | None = None, start: int = 0, end: int | None = None, dtype: Any = None, device: Any = None, path: str = "text"
) -> Tensor:  # fmt: skip
    """Columns start to end of the rows of text, with sep (blanks by default) between the numbers; a table of one row or column loses that axis.

    >>> from polygrad.geometric.io import parse_txt_array
    >>> parse_txt_array(["1 2 3", "4 5 6"], start=1).tolist()
    [[2.0, 3.0], [5.0, 6.0]]
    """
    kind = np.dtype(np.float32 if dtype is None else dtype.np if isinstance(dtype, DType) else dtype)
    rows = [line.split(sep)[start:end] for line in src if line.strip()]
    if len({len(r) for r in rows}) > 1:
        raise ValueError(f"{path}: rows of different lengths, {sorted({len(r) for r in rows})}")
    try:
        table = np.array(rows, np.float64).reshape(len(rows), -1)
    except ValueError as e:
        raise ValueError(f"{path}: numbers are needed: {e}") from None
    if kind.kind in "iu" and (not np.isfinite(table).all() or (np.abs(table) >= 2.0**63).any()):
        raise ValueError(f"{path}: whole numbers are needed")
    return Tensor(np.ascontiguousarray(table.astype(kind).squeeze()))


def read_txt_array(path: str, sep: str | None = None, start: int = 0, end: int | None = None, dtype: Any = None, device: Any = None) -> Tensor:
    """The table in a file of text.

    >>> import tempfile
    >>> from polygrad.geometric.io import read_txt_array
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     _ = file.write('1,2\\n3,4\\n')
    ...     file.flush()
    ...     print(read_txt_array(file.name, sep=",").tolist())
    [[1.0, 2.0], [3.0, 4.0]]
    """
    with open(path, encoding="utf-8", errors="replace") as f:
        return parse_txt_array(f.read().splitlines(), sep, start, end, dtype, device, path)


__all__ = ["parse_txt_array", "read_txt_array"]
