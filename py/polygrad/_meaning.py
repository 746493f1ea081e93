"""Calls that PyTorch and tinygrad read differently. polygrad.Tensor and polygrad.nn bear tinygrad's names and mean what tinygrad means; a call
that can be recognised as PyTorch's and would silently do something else raises, or warns once where it may be tinygrad's as well.

docs/from-pytorch.md has the list.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .tensor import Tensor


class MeaningWarning(UserWarning):
    """A call means something else in PyTorch than here. Given once for each kind of call in a process."""


class SlowWarning(UserWarning):
    """Something works, but takes much longer than what the text names. Given once for each kind of call in a process; warnings.simplefilter("ignore",
    polygrad.SlowWarning) turns it off."""


class Extremes(NamedTuple):
    """What PyTorch's max(dim=...) and min(dim=...) give."""

    values: Tensor
    indices: Tensor


_warned: set[str] = set()


def warn_once(what: str, text: str, stacklevel: int = 3, category: type[Warning] = MeaningWarning) -> None:
    """Warns, the first time that `what` occurs."""
    if what not in _warned:
        _warned.add(what)
        warnings.warn(text, category, stacklevel=stacklevel)


_MANY_ROWS = 1000  # a row as a tensor of its own takes some microseconds to make and some more to read


def row_by_row(t: Tensor) -> None:
    """A loop over the rows of t begins."""
    if len(t) >= _MANY_ROWS:
        text = f"a loop over the {len(t)} rows of a tensor makes a tensor of each, and a program of what is done with it: "
        warn_once("rows", text + "use operations on the whole tensor, x.tolist() for numbers, or polygrad.scan for a recurrence", 4, SlowWarning)


def pair_warning(t: Tensor) -> None:
    """t is the result of max(axis) or min(axis), and was indexed or unpacked like PyTorch's pair of values and indices."""
    name = t._pair
    if name is not None:
        t._pair = None
        text = f"x.{name}(axis) is the tensor of values, as in tinygrad: [0] and [1] are its first rows. "
        text += f"PyTorch's pair (values, indices) is x.{name}(dim=axis), the places alone are x.arg{name}(axis)"
        warn_once(f"{name} pair", text, 4)


def flag(what: str, name: str, value: Any, torch: str) -> bool:
    """value, which must be True or False: anything else was meant for the argument that PyTorch has in this place."""
    if value is True or value is False:
        return value
    raise TypeError(f"{what}: {name} must be True or False, not {value!r}. In PyTorch this place belongs to {torch}: give it by name")


def number(what: str, name: str, value: Any, torch: str) -> Any:
    """value, which must not be a bool: that was meant for the argument that PyTorch has in this place."""
    if value is True or value is False:
        raise TypeError(f"{what}: {name} must be a number, not {value!r}. In PyTorch this place belongs to {torch}: give it by name")
    return value


def positional(place: int, name: str, torch: str) -> Callable[[Any], Any]:
    """A decorator: warns once when the argument at `place` (self is 0) is given by position, because in PyTorch that is another one."""

    def decorate(f: Any) -> Any:
        @functools.wraps(f)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if len(args) == place + 1:  # with more, the types of the others tell
                what = f"{type(args[0]).__name__}" if f.__name__ == "__init__" else f"x.{f.__name__}"
                text = f"{what}: argument {place} by position is {name}, as in tinygrad; in PyTorch it is {torch}. Give it by name"
                warn_once(f"{f.__qualname__} {name}", text)
            return f(*args, **kwargs)

        return checked

    return decorate


__all__ = ["Extremes", "MeaningWarning", "SlowWarning", "flag", "number", "pair_warning", "positional", "row_by_row", "warn_once"]
