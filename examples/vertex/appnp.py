"""APPNP, personalised propagation of predictions (Gasteiger et al. 2019).

    z_0 = h,   z_{k+1,v} = (1 - alpha) sum_n norm_n norm_v z_k,n + alpha h_v

`v.z = ...` gives every vertex a new value, which its neighbours see in the next round.
"""

from polygrad.vertex import vertex_program


@vertex_program
def appnp(v, rounds, alpha):
    v.z = v.h
    for _ in range(rounds):
        v.z = (1 - alpha) * v.norm * sum([n.norm * n.z for n in v.innbs]) + alpha * v.h
    return v.z


def appnp_layer(graph, h, rounds=3, alpha=0.1):
    graph = graph.with_self_loops(only_missing=True)
    return appnp(graph, h=h, norm=graph.in_degree.cast(h.dtype).rsqrt().unsqueeze(-1), rounds=rounds, alpha=alpha)
