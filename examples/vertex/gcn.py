"""GCN, graph convolution (Kipf and Welling 2017).

    h'_v = sum_n  W h_n / sqrt(d_n d_v)      over in-neighbours n and v itself

Everything in the loop is one multiply-add for each edge and feature: one kernel, nothing of edges x features stored.
"""

from polygrad.vertex import vertex_program


@vertex_program
def gcn(v, weight):
    return sum([n.h @ weight * n.norm for n in v.innbs]) * v.norm


def gcn_layer(graph, h, weight):
    """h [V, in], weight [in, out]; self loops are added where they are missing."""
    graph = graph.with_self_loops(only_missing=True)
    return gcn(graph, h=h, norm=graph.in_degree.cast(h.dtype).rsqrt().unsqueeze(-1), weight=weight)
