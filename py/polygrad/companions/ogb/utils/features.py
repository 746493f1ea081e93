"""ogb.utils.features: how many values each categorical feature of atoms and bonds has."""

from __future__ import annotations


def get_atom_feature_dims() -> list[int]:
    """Atomic number, chirality, degree, charge, hydrogens, radical electrons, hybridization, aromatic, in a ring.

    >>> from polygrad.companions.ogb.utils.features import get_atom_feature_dims
    >>> len(get_atom_feature_dims())
    9
    """
    return [119, 5, 12, 12, 10, 6, 6, 2, 2]


def get_bond_feature_dims() -> list[int]:
    """Type, stereo configuration, conjugated.

    >>> from polygrad.companions.ogb.utils.features import get_bond_feature_dims
    >>> len(get_bond_feature_dims())
    3
    """
    return [5, 6, 2]


__all__ = ["get_atom_feature_dims", "get_bond_feature_dims"]
