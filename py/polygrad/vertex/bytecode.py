"""Where a comprehension stands in the code that runs it: inside the call that is being made, or stored under a name.

A list such as `[1 for n in v.innbs]` has one entry, and nothing in it tells that it stands for all neighbours. The code tells: the position of
each instruction where Python keeps it (since 3.11), else what lies on the stack.
"""

from __future__ import annotations

import dis
import functools
from typing import Any

from .originals import len, max

_STORES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")


def encloses(code: Any, inner: int, outer: int) -> bool:
    """Is the comprehension that the instruction at `inner` runs written inside the call at `outer`?"""
    spots = _positions(code)
    if spots is None:
        return _stack_encloses(code, inner, outer)
    o, i = spots[outer // 2], spots[inner // 2]
    if None in o or None in i:
        return False
    return (o[0], o[2]) <= (i[0], i[2]) and (i[1], i[3]) <= (o[1], o[3])


@functools.lru_cache(maxsize=64)
def _positions(code: Any) -> Any:
    """(line, end line, column, end column) of each instruction."""
    return list(code.co_positions()) if hasattr(code, "co_positions") else None


@functools.lru_cache(maxsize=256)
def _stack_encloses(code: Any, inner: int, outer: int) -> bool:
    """Inside, the function that is called was put on the stack before the comprehension's result."""
    height = None  # of the stack, over the place of that result
    for i in dis.get_instructions(code):
        if i.offset == inner:
            if not i.opname.startswith("CALL"):
                return False  # a loop of its own
            height = 1
        elif height is not None:
            if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
                raise RuntimeError(
                    "a list of numbers from a comprehension over neighbours is chosen by a condition inside a call, which cannot be followed "
                    "before Python 3.11: count with len(v.innbs), or choose with `where`"
                )
            height += dis.stack_effect(i.opcode, i.arg)
            if i.offset == outer:
                return height <= 0
            if height <= 0 and (i.opname.startswith("STORE_") or i.opname in ("POP_TOP", "RETURN_VALUE")):
                return False  # the result was used up before
    return False


@functools.lru_cache(maxsize=256)
def stored_name(code: Any, inner: int) -> str | None:
    """The variable that the comprehension's list, and nothing else, is assigned to; None: there is none."""
    all_ = list(dis.get_instructions(code))
    place = {i.offset: k for k, i in enumerate(all_)}
    k = max(k for k, i in enumerate(all_) if i.offset <= inner)  # a frame may stand at the cache behind an instruction
    if all_[k].opname == "FOR_ITER":  # since 3.12 the comprehension is a loop in the same code
        k = place.get(all_[k].argval, len(all_))
        while k < len(all_) and all_[k].opname in ("END_FOR", "POP_TOP", "POP_ITER"):
            k += 1
    else:
        k += 1
    if k >= len(all_) or not all_[k].opname.startswith(_STORES):
        return None
    name = _first(all_[k].argval)
    stores = [i for i in all_ if i.opname.startswith(_STORES) and name in (i.argval if isinstance(i.argval, tuple) else (i.argval,))]
    return name if len(stores) == 1 else None


def _first(argval: Any) -> Any:
    """Of an instruction that stores two variables, the one that is stored first."""
    return argval[0] if isinstance(argval, tuple) else argval
