"""Masks and indices."""

from __future__ import annotations

from typing import Any

from ..utils import index_to_mask, mask_to_index
from .base_transform import BaseTransform


class IndexToMask(BaseTransform):
    """Makes `..._mask` of each `..._index` (or of those in attrs). sizes: of the masks, a number or one for each; else the number of nodes or
    edges. replace: the index goes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import IndexToMask
    >>> IndexToMask()(Data(train_index=Tensor([0, 2]), num_nodes=3)).train_mask.tolist()
    [True, False, True]
    """

    def __init__(self, attrs: str | list[str] | None = None, sizes: int | list[int] | None = None, replace: bool = False):
        self.attrs = [attrs] if isinstance(attrs, str) else attrs
        self.sizes, self.replace = sizes, replace

    def forward(self, data: Any) -> Any:
        for store in data.stores:
            attrs = self.attrs if self.attrs is not None else [key for key in store.keys() if key.endswith("_index")]
            sizes = list(self.sizes) if isinstance(self.sizes, (list, tuple)) else [self.sizes] * len(attrs)
            if len(sizes) != len(attrs):
                raise ValueError(f"The number of attributes (got {len(attrs)}) must match the number of sizes (got {len(sizes)})")
            for attr, size in zip(attrs, sizes):
                if "edge_index" in attr or attr not in store:
                    continue
                if size is None:
                    size = store.num_edges if store.is_edge_attr(attr) else store.num_nodes
                store[f"{attr[:-6]}_mask"] = index_to_mask(store[attr], size)
                if self.replace:
                    del store[attr]
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(attrs={self.attrs}, sizes={self.sizes}, replace={self.replace})"


class MaskToIndex(BaseTransform):
    """Makes `..._index` of each `..._mask` (or of those in attrs). replace: the mask goes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import MaskToIndex
    >>> MaskToIndex()(Data(train_mask=Tensor([True, False, True]), num_nodes=3)).train_index.tolist()
    [0, 2]
    """

    def __init__(self, attrs: str | list[str] | None = None, replace: bool = False):
        self.attrs = [attrs] if isinstance(attrs, str) else attrs
        self.replace = replace

    def forward(self, data: Any) -> Any:
        for store in data.stores:
            for attr in self.attrs if self.attrs is not None else [key for key in store.keys() if key.endswith("_mask")]:
                if attr in store:
                    store[f"{attr[:-5]}_index"] = mask_to_index(store[attr])
                    if self.replace:
                        del store[attr]
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(attrs={self.attrs}, replace={self.replace})"


__all__ = ["IndexToMask", "MaskToIndex"]
