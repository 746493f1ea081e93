"""DGMG's message (Li et al. 2018): source value, edge value and destination value joined on each edge, then a linear map.

    a_v = sum_e W [h_src(e) | x_e | h_dst(e)] + b

The map is split: the parts of the two ends are computed once a node.
"""

from polygrad import Tensor
from polygrad.vertex import vertex_program


@vertex_program
def dgmg(v, weight, bias):
    """weight [in + edge + in, out]."""
    return sum([Tensor.cat(e.src.h, e.x, e.dst.h, dim=-1) @ weight + bias for e in v.inedges])


@vertex_program
def dgmg_gated(v, weight, bias):
    """The same with a function of each message before the sum."""
    return sum([(Tensor.cat(e.src.h, e.x, e.dst.h, dim=-1) @ weight + bias).tanh() for e in v.inedges])
