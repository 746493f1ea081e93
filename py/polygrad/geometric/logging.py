"""Lines of a training run: `log(Epoch=1, Loss=0.5)`; with `--wandb` on the command line also to Weights & Biases, if that is installed."""

from __future__ import annotations

import sys
from typing import Any

_run: Any = None


def init_wandb(name: str, **kwargs: Any) -> None:
    """Begins a run of Weights & Biases if `--wandb` was given on the command line."""
    global _run
    if "--wandb" in sys.argv:
        import wandb  # type: ignore[import-not-found]

        _run = wandb.init(project=name, config=kwargs)


def log(**kwargs: Any) -> None:
    """Prints names and values: whole numbers with three digits, floats with four behind the point.

    >>> from polygrad.geometric.logging import log
    >>> log(Epoch=7, Loss=0.5)
    Epoch: 007, Loss: 0.5000
    """
    print(", ".join(f"{name}: {_text(value)}" for name, value in kwargs.items()))
    if _run is not None:
        _run.log(kwargs)


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:03d}"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


__all__ = ["init_wandb", "log"]
