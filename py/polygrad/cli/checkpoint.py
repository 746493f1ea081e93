"""A training as a safetensors file: the run that is under way, the results of those before it, and the settings, which must be the same to go on.

Names: `model.*` the parameters, `best.*` those of the best epoch so far, `optimizer.*`, `rows` an epoch each, and `notes`, text in JSON as bytes.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from ..nn import safe_load, safe_save
from ..tensor import Tensor
from . import UserError
from .learn import Row, Run

FREE = ("epochs", "patience", "runs")  # may be others when the training goes on


def save(path: str, settings: dict[str, Any], finished: list[dict[str, Any]], number: int, run: Run) -> None:
    """Writes a whole file or leaves the old one."""
    notes = {"settings": settings, "finished": finished, "number": number, "best": run.best, "seconds": run.seconds}
    state = {**run.state(), "notes": Tensor(np.frombuffer(json.dumps(notes).encode(), np.uint8).copy())}
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    part = f"{path}.part"
    safe_save(state, part)
    os.replace(part, path)


def load(path: str, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """(notes, tensors) of a file that was saved with these settings."""
    try:
        state = safe_load(path)
        notes = json.loads(state.pop("notes").numpy().tobytes())
        theirs = notes["settings"]
        rows = state["rows"]
        if rows.ndim != 2 or rows.shape[1] != len(Row._fields) or not -1 <= int(notes["best"]) < max(1, rows.shape[0]):
            raise ValueError("the rows do not fit")
    except (RuntimeError, ValueError, KeyError, TypeError, OSError) as e:
        raise UserError(f"{path} is no checkpoint of a training: {e}") from None
    other = [f"{k} is {theirs.get(k)!r} there, {v!r} here" for k, v in settings.items() if k not in FREE and theirs.get(k) != v]
    if other:
        raise UserError(f"{path} is the checkpoint of another training: {'; '.join(other)}")
    return notes, state


__all__ = ["load", "save"]
