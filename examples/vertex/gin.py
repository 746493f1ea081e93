"""GIN, graph isomorphism network (Xu et al. 2019).

h'_v = MLP((1 + eps) h_v + sum_n h_n)
"""

from polygrad.vertex import vertex_program


@vertex_program
def gin(v, eps, w1, w2):
    total = v.h * (1 + eps) + sum([n.h for n in v.innbs])
    return (total @ w1).relu() @ w2
