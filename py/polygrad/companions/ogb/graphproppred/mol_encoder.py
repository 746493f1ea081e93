"""ogb.graphproppred.mol_encoder: embeddings of the categorical features of atoms and bonds.

>>> import polygrad.torch as torch
>>> from polygrad.companions.ogb.graphproppred.mol_encoder import AtomEncoder
>>> AtomEncoder(8)(torch.zeros(3, 9, dtype=torch.long)).size()
torch.Size([3, 8])
"""

from __future__ import annotations

from typing import Any

from ....torch import nn
from ..utils.features import get_atom_feature_dims, get_bond_feature_dims

_Module: Any = nn.Module


class _Sum(_Module):
    """The sum of an embedding of each column; the embeddings are in the list of the given name."""

    def __init__(self, emb_dim: int, dims: list[int], name: str):
        super().__init__()
        setattr(self, name, nn.ModuleList([nn.Embedding(d, emb_dim) for d in dims]))
        self._name = name
        for table in getattr(self, name):
            nn.init.xavier_uniform_(table.weight.data)

    def forward(self, x: Any) -> Any:
        tables = getattr(self, self._name)
        return sum(tables[k](x[:, k]) for k in range(int(x.size(1))))


class AtomEncoder(_Sum):
    """The sum of embeddings of the features of each atom: [N, 9] whole numbers to [N, emb_dim]."""

    def __init__(self, emb_dim: int):
        super().__init__(emb_dim, get_atom_feature_dims(), "atom_embedding_list")


class BondEncoder(_Sum):
    """The sum of embeddings of the features of each bond: [E, 3] whole numbers to [E, emb_dim]."""

    def __init__(self, emb_dim: int):
        super().__init__(emb_dim, get_bond_feature_dims(), "bond_embedding_list")


__all__ = ["AtomEncoder", "BondEncoder"]
