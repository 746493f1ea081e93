"""One seed for everything that draws random numbers."""

from __future__ import annotations

import random

import numpy as np

from ..tensor import Tensor


def seed_everything(seed: int) -> None:
    """Seeds Python's, numpy's and Polygrad's generators.

    >>> from polygrad.geometric import seed_everything
    >>> seed_everything(1)
    """
    random.seed(seed)
    np.random.seed(seed)
    Tensor.manual_seed(seed)


__all__ = ["seed_everything"]
