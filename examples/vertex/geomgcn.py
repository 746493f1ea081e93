"""Geom-GCN (Pei et al. 2020): neighbours sorted by where they lie in a latent space.

Each relation of the graph is one pair of a neighbourhood (in the graph or in the latent space) and a direction (upper left, lower
right ...). Each is summed on its own, with GCN's weights; the sums are joined and mapped.

    z_v,r = sum over n in N_r(v) of norm_n norm_v h_n,     h'_v = relu([z_v,1 | z_v,2 | ...] W)
"""

from polygrad import Tensor
from polygrad.vertex import vertex_program


@vertex_program
def geomgcn(v, relations, weight):
    """weight [relations * in, out]."""
    sums = [v.norm * sum([n.norm * n.h for n in v.innbs(r)]) for r in relations]
    return (Tensor.cat(*sums, dim=-1) @ weight).relu()
