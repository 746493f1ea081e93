"""R-GCN, relations with weights of their own (Schlichtkrull et al. 2018).

    h'_v = W_0 h_v + sum over relations r of mean over n in N_r(v) of W_r h_n

The graph is a HeteroGraph; v.innbs(name) are the neighbours of one relation.
"""

from polygrad.vertex import mean, vertex_program


@vertex_program
def rgcn(v, w_self, w_relation):
    """w_relation: {name of the relation: [in, out]}."""
    out = v.h @ w_self
    for name, w in w_relation.items():
        out = out + mean([n.h @ w for n in v.innbs(name)])
    return out
