"""ChebConv, Chebyshev polynomials of the scaled Laplacian (Defferrard et al. 2016), largest eigenvalue taken as 2.

T_0 = h,  T_1 = L h,  T_k = 2 L T_{k-1} - T_{k-2},   (L x)_v = - sum_n x_n / sqrt(d_n d_v),   h' = sum_k T_k W_k
"""

from polygrad.vertex import vertex_program, where


@vertex_program
def cheb(v, weights):
    v.norm = where(v.degree > 0, v.degree.maximum(1).rsqrt(), 0.0).unsqueeze(-1)
    v.t = v.h
    before, out = None, v.h @ weights[0]
    for w in weights[1:]:
        moved = -v.norm * sum([n.norm * n.t for n in v.innbs])
        before, v.t = v.t, moved if before is None else 2 * moved - before
        out = out + v.t @ w
    return out


def cheb_layer(graph, h, weights):
    """weights: K matrices [in, out]."""
    return cheb(graph, h=h, degree=graph.in_degree.cast(h.dtype), weights=weights)
