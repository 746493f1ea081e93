"""Images as graphs of superpixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from .base_transform import BaseTransform


class ToSLIC(BaseTransform):
    """An image [C, H, W] as a Data of its superpixels, found by `skimage.segmentation.slic`: x [S, C] their mean colours, pos [S, 2] their centres
    (x, y).

    add_seg: also `seg` [1, H, W], the superpixel of each pixel. add_img: also `img` [1, C, H, W]. kwargs: arguments of slic. Needs scikit-image.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.transforms import ToSLIC
    >>> ToSLIC(n_segments=75)(Tensor.rand(3, 32, 32)).pos.shape[1]  # doctest: +SKIP
    2
    """

    def __init__(self, add_seg: bool = False, add_img: bool = False, **kwargs: Any):
        self.add_seg, self.add_img, self.kwargs = add_seg, add_img, kwargs

    def forward(self, img: Any) -> Any:
        from skimage.segmentation import slic  # type: ignore[import-not-found, unused-ignore]

        from ..data import Data
        from ..utils import scatter

        channels, h, w = (int(s) for s in img.shape)
        pixels = img.permute(1, 2, 0)
        seg = np.asarray(slic(pixels.numpy().astype(np.float64), start_label=0, **self.kwargs)).astype(np.int64)
        of = Tensor(np.ascontiguousarray(seg.reshape(-1)))
        places = np.stack(np.meshgrid(np.arange(w), np.arange(h)), -1).reshape(-1, 2).astype(np.float32)
        count = int(seg.max()) + 1
        data = Data(x=scatter(pixels.reshape(-1, channels), of, 0, count, "mean"), pos=scatter(Tensor(places), of, 0, count, "mean"))
        if self.add_seg:
            data.seg = Tensor(np.ascontiguousarray(seg.reshape(1, h, w)))
        if self.add_img:
            data.img = img.reshape(1, channels, h, w)
        return data


__all__ = ["ToSLIC"]
