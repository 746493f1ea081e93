"""Vertex programs: what happens at one vertex, written in Python, compiled for all.

    with zoomIn(graph=g, node_feat=[h, el, er]) as v:
        coeff = [(n.el + v.er).leaky_relu(0.2).exp() for n in v.innbs]
        s = sum(coeff)
        alpha = [c / s for c in coeff]
        rst = sum([a * n.h for a, n in zip(alpha, v.innbs)])
    out = zoomOut(rst)

The program is run once, with symbolic vertices (places.py), on values that look like those of one vertex (value.py, methods.py).
Reductions over lists of neighbour values are in collect.py, what stands in for Python's sum, max and the like meanwhile in patch.py.
"""

from .collect import TracedList, logsumexp, mean, prod, softmax, std, var, where
from .zoom import vertex_program, zoomIn, zoomOut

__all__ = ["TracedList", "logsumexp", "mean", "prod", "softmax", "std", "var", "vertex_program", "where", "zoomIn", "zoomOut"]
