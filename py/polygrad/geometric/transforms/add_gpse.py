"""Encodings of positions and structure by a model that was trained for them."""

from __future__ import annotations

from typing import Any

from .base_transform import BaseTransform
from .virtual_node import VirtualNode


class AddGPSE(BaseTransform):
    """Adds `pestat_GPSE` [V, F], the encodings of the nodes by a GPSE model of random features.

    model: a GPSE, such as GPSE.from_pretrained gives. use_vn: with a virtual node, which is left out of the result. rand_type: 'NormalSE',
    'UniformSE' or 'BernoulliSE'.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.nn import GPSE
    >>> from polygrad.geometric.nn.models.gpse import IdentityHead
    >>> from polygrad.geometric.transforms import AddGPSE
    >>> model = GPSE(dim_in=4, dim_inner=8, layers_mp=2)
    >>> model.post_mp = IdentityHead()
    >>> AddGPSE(model)(Data(x=Tensor.ones(3, 1), edge_index=Tensor([[0, 1, 2], [1, 2, 0]]))).pestat_GPSE.shape
    (3, 8)
    """

    def __init__(self, model: Any, use_vn: bool = True, rand_type: str = "NormalSE"):
        self.model, self.use_vn, self.rand_type, self.vn = model, use_vn, rand_type, VirtualNode()

    def forward(self, data: Any) -> Any:
        from ..nn.models.gpse import gpse_process

        whole = self.vn(data.clone()) if self.use_vn else data.clone()
        out = gpse_process(self.model, whole, self.rand_type, self.use_vn)
        data.pestat_GPSE = out[:-1] if self.use_vn else out
        return data


__all__ = ["AddGPSE"]
