"""torch_geometric.graphgym.models.encoder: embeddings of categorical features of nodes and edges, as modules from batch to batch.

>>> import polygrad.torch as torch
>>> from polygrad.torch_geometric.data import Data
>>> from polygrad.torch_geometric.graphgym.models.encoder import AtomEncoder
>>> AtomEncoder(8)(Data(x=torch.zeros(3, 9, dtype=torch.long))).x.size()
torch.Size([3, 8])
"""

from __future__ import annotations

from typing import Any

from ....companions.ogb.graphproppred import mol_encoder as _mol
from ....torch import nn

_Module: Any = nn.Module


class IntegerFeatureEncoder(_Module):
    """batch.x becomes an embedding of its first column, of num_classes values."""

    def __init__(self, emb_dim: int, num_classes: int | None = None):
        super().__init__()
        if num_classes is None:
            raise ValueError("num_classes is needed")
        self.encoder = nn.Embedding(num_classes, emb_dim)
        nn.init.xavier_uniform_(self.encoder.weight.data)

    def forward(self, batch: Any) -> Any:
        batch.x = self.encoder(batch.x[:, 0])
        return batch


class AtomEncoder(_mol.AtomEncoder):
    """batch.x becomes the sum of embeddings of the nine features of OGB's atoms."""

    def __init__(self, emb_dim: int, *args: Any, **kwargs: Any):
        super().__init__(emb_dim)

    def forward(self, batch: Any) -> Any:
        batch.x = super().forward(batch.x)
        return batch


class BondEncoder(_mol.BondEncoder):
    """batch.edge_attr becomes the sum of embeddings of the three features of OGB's bonds."""

    def __init__(self, emb_dim: int):
        super().__init__(emb_dim)

    def forward(self, batch: Any) -> Any:
        batch.edge_attr = super().forward(batch.edge_attr)
        return batch


__all__ = ["AtomEncoder", "BondEncoder", "IntegerFeatureEncoder"]
