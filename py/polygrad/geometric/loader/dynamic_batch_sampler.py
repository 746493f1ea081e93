"""DynamicBatchSampler: as many graphs in a batch as fit a number of nodes or edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...tensor import Tensor


class NoLength(ValueError, TypeError):
    """A length is not known. A TypeError too, so that `list(sampler)`, which only asks for a hint, goes on."""


class DynamicBatchSampler:
    """Numbers of the graphs of each batch, with at most max_num nodes (mode 'node') or edges ('edge') together; for DataLoader's batch_sampler.

    shuffle: in random order. skip_too_big: leaves out a graph that is too large by itself; else it makes a batch of its own. num_steps: how many
    batches at most; without it there is no length.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import DynamicBatchSampler
    >>> list(DynamicBatchSampler([Data(num_nodes=k) for k in (2, 3, 4, 9)], max_num=5))
    [[0, 1], [2], [3]]
    """

    def __init__(
        self, dataset: Any, max_num: int, mode: str = "node", shuffle: bool = False, skip_too_big: bool = False, num_steps: int | None = None
    ):  # fmt: skip
        if max_num <= 0:
            raise ValueError(f"`max_num` should be a positive integer value (got {max_num})")
        if mode not in ("node", "edge"):
            raise ValueError(f"`mode` choice should be either 'node' or 'edge' (got {mode!r})")
        self.dataset, self.max_num, self.mode, self.shuffle = dataset, max_num, mode, shuffle
        self.skip_too_big, self.num_steps = skip_too_big, num_steps

    def __iter__(self) -> Iterator[list[int]]:
        n = len(self.dataset)
        order = Tensor.randperm(n).tolist() if self.shuffle else range(n)
        chosen: list[int] = []
        total = steps = 0
        limit = n if self.num_steps is None else self.num_steps
        for k in order:
            if steps >= limit:
                return
            data = self.dataset[int(k)]
            size = int(data.num_nodes if self.mode == "node" else data.num_edges)
            if size > self.max_num and self.skip_too_big:
                continue
            if chosen and total + size > self.max_num:
                yield chosen
                chosen, total, steps = [], 0, steps + 1
            chosen.append(int(k))
            total += size
        if chosen and steps < limit:
            yield chosen

    def __len__(self) -> int:
        if self.num_steps is None:
            raise NoLength(
                "The length of 'DynamicBatchSampler' is undefined: the number of batches is not known. Give num_steps, or use a fixed size"
            )
        return self.num_steps


__all__ = ["DynamicBatchSampler"]
