"""torch_geometric.contrib.nn: attacks on graph networks."""

from .models import GRBCDAttack, PRBCDAttack

__all__ = ["GRBCDAttack", "PRBCDAttack"]
