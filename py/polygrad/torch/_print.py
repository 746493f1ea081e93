"""How a tensor prints: the layout of PyTorch's, with its options.

Whole floats as `1.`, others with four decimals, all with exponents where they differ by more than a factor of 1000; columns of one width, lines of 80
characters, and of more than 1000 elements the first and the last three along each axis.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .settings import PRINT


def _shown(values: np.ndarray) -> np.ndarray:
    """The elements that are printed of a large tensor."""
    edge = PRINT["edgeitems"]
    for axis, n in enumerate(values.shape):
        if n > 2 * edge:
            values = values.take([*range(edge), *range(n - edge, n)], axis)
    return values


def _float_format(values: np.ndarray) -> Callable[[Any], str]:
    finite = np.abs(values[np.isfinite(values) & (values != 0)].astype(np.float64))
    digits = PRINT["precision"]
    if not finite.size:
        return "{:.0f}.".format
    whole = bool((finite == np.ceil(finite)).all())
    top, bottom = finite.max(), finite.min()
    apart = top / bottom > 1000 or top > 1e8
    scientific = PRINT["sci_mode"] if PRINT["sci_mode"] is not None else apart or (not whole and bottom < 1e-4)
    if scientific:
        return f"{{:.{digits}e}}".format
    return "{:.0f}.".format if whole else f"{{:.{digits}f}}".format


def _formatted(values: np.ndarray) -> Callable[[Any], str]:
    """Text of one element, all of one width."""
    if values.dtype.kind == "f":
        number = _float_format(values)
        one = lambda v: number(v) if np.isfinite(v) else f"{v:f}"  # noqa: E731
    else:
        one = str
    width = max((len(one(v)) for v in values.reshape(-1)), default=0)
    return lambda v: one(v).rjust(width)


def _row(values: np.ndarray, indent: int, one: Callable[[Any], str], cut: bool) -> str:
    edge = PRINT["edgeitems"]
    if cut and len(values) > 2 * edge:
        parts = [one(v) for v in values[:edge]] + [" ..."] + [one(v) for v in values[-edge:]]
    else:
        parts = [one(v) for v in values]
    width = len(parts[0]) + 2 if parts else 2
    per_line = max(1, (PRINT["linewidth"] - indent) // width)
    lines = [", ".join(parts[k : k + per_line]) for k in range(0, len(parts), per_line)]
    return "[" + f",\n{' ' * (indent + 1)}".join(lines) + "]"


def _nested(values: np.ndarray, indent: int, one: Callable[[Any], str], cut: bool) -> str:
    if values.ndim == 0:
        return one(values[()])
    if values.ndim == 1:
        return _row(values, indent, one, cut)
    edge = PRINT["edgeitems"]
    if cut and len(values) > 2 * edge:
        parts = [_nested(v, indent + 1, one, cut) for v in values[:edge]] + ["..."] + [_nested(v, indent + 1, one, cut) for v in values[-edge:]]
    else:
        parts = [_nested(v, indent + 1, one, cut) for v in values]
    return "[" + f",{chr(10) * (values.ndim - 1)}{' ' * (indent + 1)}".join(parts) + "]"


def text(values: np.ndarray, suffixes: list[str], prefix: str = "tensor(") -> str:
    """tensor(VALUES, SUFFIXES)."""
    indent = len(prefix)
    if values.size == 0:
        body = "[]"
        if values.ndim != 1:
            suffixes = [f"size={tuple(values.shape)}", *suffixes]
    else:
        cut = values.size > PRINT["threshold"]
        body = _nested(values, indent, _formatted(_shown(values) if cut else values), cut)
    out, column = prefix + body, len((prefix + body).rpartition("\n")[2])
    for suffix in suffixes:
        if column + len(suffix) + 2 > PRINT["linewidth"]:
            out, column = f"{out},\n{' ' * indent}{suffix}", indent + len(suffix)
        else:
            out, column = f"{out}, {suffix}", column + len(suffix) + 2
    return out + ")"


__all__ = ["text"]
