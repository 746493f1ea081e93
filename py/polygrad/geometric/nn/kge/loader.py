"""Batches of triples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....tensor import Tensor
from .._index_loader import IndexLoader


class KGTripletLoader(IndexLoader):
    """Batches (head_index, rel_type, tail_index); batch_size, shuffle and drop_last as in PyTorch's DataLoader.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.kge import KGTripletLoader
    >>> h, r, t = next(iter(KGTripletLoader(Tensor([0, 1, 2]), Tensor([0, 0, 1]), Tensor([3, 4, 5]), batch_size=2)))
    >>> t.tolist()
    [3, 4]
    """

    def __init__(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor, **kwargs: Any):
        self.head_index, self.rel_type, self.tail_index = head_index, rel_type, tail_index
        self._triples = [t.numpy() for t in (head_index, rel_type, tail_index)]
        super().__init__(head_index.numel(), self.sample, **kwargs)

    def sample(self, index: Any) -> tuple[Tensor, Tensor, Tensor]:
        """The triples with these numbers."""
        h, r, t = (Tensor(a[np.asarray(index)]) for a in self._triples)
        return h, r, t


__all__ = ["KGTripletLoader"]
