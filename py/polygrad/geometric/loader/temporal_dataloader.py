"""TemporalDataLoader: a stream of events in batches, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data.temporal import TemporalData
from ..sampler._draw import draw_seed, generator
from ._loop import IGNORED


class TemporalDataLoader:
    """Batches of batch_size successive events.

    neg_sampling_ratio: this many times as many negative destinations `neg_dst`, drawn between the smallest and the largest destination of the
    data.
    A batch also has `n_id`, the nodes that occur in it, sorted. drop_last: leaves out a last batch that is not full. seed: of what is drawn;
    without it that follows Tensor.manual_seed.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import TemporalData
    >>> from polygrad.geometric.loader import TemporalDataLoader
    >>> events = TemporalData(src=Tensor([0, 1, 0]), dst=Tensor([2, 2, 3]), t=Tensor([1, 2, 3]), msg=Tensor.ones(3, 1))
    >>> [(batch.t.tolist(), batch.n_id.tolist()) for batch in TemporalDataLoader(events, batch_size=2)]
    [([1, 2], [0, 1, 2]), ([3], [0, 3])]
    """

    def __init__(
        self,
        data: TemporalData,
        batch_size: int = 1,
        neg_sampling_ratio: float = 0.0,
        drop_last: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ):
        unknown = sorted(set(kwargs) - IGNORED - {"shuffle", "num_workers", "prefetch_factor"})
        if unknown:
            raise TypeError(f"TemporalDataLoader does not know the argument {unknown[0]!r}")
        if batch_size < 1 or neg_sampling_ratio < 0:
            raise ValueError(f"batch_size must be at least 1 and neg_sampling_ratio not negative, got {batch_size} and {neg_sampling_ratio}")
        self.data, self.events_per_batch, self.neg_sampling_ratio, self.drop_last = data, int(batch_size), neg_sampling_ratio, drop_last
        self._random = None if seed is None else generator(seed)
        if neg_sampling_ratio > 0:
            self.min_dst, self.max_dst = int(data.dst.min().item()), int(data.dst.max().item())

    def __len__(self) -> int:
        n = len(self.data)
        return n // self.events_per_batch if self.drop_last else -(-n // self.events_per_batch)

    def __iter__(self) -> Iterator[TemporalData]:
        return (self([k * self.events_per_batch]) for k in range(len(self)))

    def __call__(self, arange: Any) -> TemporalData:
        """The batch that begins with the event arange[0]."""
        first = int(arange[0])
        batch = self.data[first : first + self.events_per_batch]
        nodes = [batch.src.numpy(), batch.dst.numpy()]
        if self.neg_sampling_ratio > 0:
            random = self._random or generator(draw_seed())
            count = round(self.neg_sampling_ratio * nodes[1].size)
            drawn = random.integers(self.min_dst, self.max_dst + 1, count).astype(nodes[1].dtype)
            batch.neg_dst = Tensor(drawn)
            nodes.append(drawn)
        batch.n_id = Tensor(np.unique(np.concatenate(nodes)))
        return batch


__all__ = ["TemporalDataLoader"]
