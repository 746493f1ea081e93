"""What the text of a program calls besides polygrad's own functions: assignments, which are statements, and vertex programs, which are blocks."""

from polygrad.vertex import zoomIn, zoomOut


def fuzz_assign(x, y):
    """A reader of the old contents, an assignment, and a reader of the new ones."""
    held = x.clone()
    before = held * 2
    held.assign(y)
    return before + held


def fuzz_setitem(x, y, lo, hi):
    held = x.clone()
    held[lo:hi] = y
    return held


def fuzz_in_place(x):
    held = x.clone()
    held *= 2
    held += 1
    return held


def fuzz_attention(g, h, el, er):
    """The vertex program of graph attention."""
    with zoomIn(graph=g, node_feat=[h, el, er]) as v:
        coeff = [(n.el + v.er).leaky_relu(0.25).exp() for n in v.innbs]
        s = sum(coeff)
        out = sum([c / s * n.h for c, n in zip(coeff, v.innbs)])
    return zoomOut(out)


def fuzz_mean_difference(g, h):
    """The mean of the differences to the neighbours."""
    with zoomIn(graph=g, node_feat=[h]) as v:
        out = sum([(n.h - v.h).tanh() for n in v.innbs])
    return zoomOut(out)
