"""torch_geometric.contrib.nn.models: attacks on graph networks."""

from .rbcd_attack import GRBCDAttack, PRBCDAttack

__all__ = ["GRBCDAttack", "PRBCDAttack"]
