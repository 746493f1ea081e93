"""Classes under names that PyTorch Geometric still has, but warns of: torch_geometric.data.DataLoader and its like."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .deprecation import deprecated

_LOADERS = (
    "ClusterData ClusterLoader DataListLoader DataLoader DenseDataLoader GraphSAINTEdgeSampler GraphSAINTNodeSampler GraphSAINTRandomWalkSampler"
    " GraphSAINTSampler NeighborSampler ShaDowKHopSampler"
).split()
# The old name, and the package and the name that take its place.
MOVED = {
    **{f"data.{name}": ("loader", name) for name in _LOADERS},
    "data.RandomNodeSampler": ("loader", "RandomNodeLoader"),
    "loader.RandomNodeSampler": ("loader", "RandomNodeLoader"),
    "transforms.RandomTranslate": ("transforms", "RandomJitter"),
}


def names_of(package: str) -> dict[str, str]:
    """The old names of a package, and where they are found."""
    return {old.partition(".")[2]: __name__ for old in MOVED if old.partition(".")[0] == package}


def take(package: str, name: str) -> Any:
    """The class that an old name of a package stands for, which warns when an object of it is made."""
    home, new = MOVED[f"{package}.{name}"]
    return deprecated(f"use '{home}.{new}' instead", f"{package}.{name}")(getattr(import_module(f"polygrad.torch_geometric.{home}"), new))


__all__ = ["MOVED", "names_of", "take"]
