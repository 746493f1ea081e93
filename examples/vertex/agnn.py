"""AGNN, attention by cosine similarity (Thekumparampil et al. 2018).

alpha_vn = softmax over n of beta cos(h_v, h_n),   h'_v = sum_n alpha_vn h_n      over in-neighbours and v itself
"""

from polygrad.vertex import softmax, vertex_program


@vertex_program
def agnn(v, beta):
    unit = v.h / (v.h * v.h).sum(-1, keepdim=True).sqrt().maximum(1e-12)
    v.unit = unit
    alpha = softmax([beta * (n.unit * unit).sum(-1) for n in v.innbs])
    return sum([a * n.h for a, n in zip(alpha, v.innbs)])


def agnn_layer(graph, h, beta):
    return agnn(graph.with_self_loops(only_missing=True), h=h, beta=beta)
