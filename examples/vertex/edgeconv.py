"""EdgeConv with a linear message (Wang et al. 2019).

    h'_v = max_n relu(W [h_v, h_n - h_v] + b)

The map of joined values is split: W_1 h_v + W_2 h_n - W_2 h_v, each computed once a node.
"""

from polygrad import Tensor
from polygrad.vertex import vertex_program


@vertex_program
def edgeconv(v, weight, bias):
    """weight [2 in, out]."""
    return max([(Tensor.cat(v.h, n.h - v.h, dim=-1) @ weight + bias).relu() for n in v.innbs])
