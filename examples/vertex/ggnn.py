"""A gated graph unit (Li et al. 2016): messages drive a GRU at every vertex.

m_v = sum_n W h_n,   h_v = GRU(m_v, h_v)      for a fixed number of rounds
"""

from polygrad.vertex import vertex_program


def gru(m, h, w_ih, w_hh, b_ih, b_hh):
    """One step of a GRU on values of one vertex: m and h [F], w_ih and w_hh [F, 3 F]."""
    (ir, iz, i_n), (hr, hz, hn) = (m @ w_ih + b_ih).chunk(3), (h @ w_hh + b_hh).chunk(3)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    new = (i_n + r * hn).tanh()
    return new + z * (h - new)


@vertex_program
def ggnn(v, rounds, weight, cell):
    """weight [F, F]; cell: the four weights of the GRU."""
    for _ in range(rounds):
        v.h = gru(sum([n.h @ weight for n in v.innbs]), v.h, *cell)
    return v.h
