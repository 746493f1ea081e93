"""GAT, graph attention (Velickovic et al. 2018), and GATv2 (Brody et al. 2022).

    GAT     e_vn = leaky_relu(a_l . W h_n + a_r . W h_v)           GATv2   e_vn = a . leaky_relu(W_l h_n + W_r h_v)
    alpha_vn = softmax over n of e_vn,  h'_v = sum_n alpha_vn W h_n

Maximum, sum and weighted sum run beside each other in one kernel.
"""

from polygrad import Tensor, nn
from polygrad.vertex import softmax, vertex_program, zoomIn, zoomOut


class GAT(nn.Module):
    """As a layer with parameters of its own; `self.fc(n.x)` costs one product a node, not one an edge."""

    def __init__(self, in_features, out_features, heads=1, slope=0.2):
        self.heads, self.out_features, self.slope = heads, out_features, slope
        self.fc = nn.Linear(in_features, heads * out_features, bias=False)
        self.attn_l = Tensor.glorot_uniform(heads, out_features, requires_grad=True)
        self.attn_r = Tensor.glorot_uniform(heads, out_features, requires_grad=True)

    def forward(self, graph, x):
        with zoomIn(graph=graph, node_feat=[x]) as v:
            feat = [self.fc(n.x).view(self.heads, self.out_features) for n in v.innbs]
            el = [(f * self.attn_l).sum(-1) for f in feat]
            er = (self.fc(v.x).view(self.heads, self.out_features) * self.attn_r).sum(-1)
            coeff = softmax([(l + er).leaky_relu(self.slope) for l in el])
            rst = sum([a.unsqueeze(-1) * f for a, f in zip(coeff, feat)])
        return zoomOut(rst)


def gat_by_hand(graph, h, el, er, slope=0.2):
    """With the softmax written out. h [V, heads, out], el and er [V, heads]."""
    with zoomIn(graph=graph, node_feat=[h, el, er]) as v:
        score = [(n.el + v.er).leaky_relu(slope) for n in v.innbs]
        top = max(score)
        coeff = [(s - top).exp() for s in score]
        total = sum(coeff)
        alpha = [c / total for c in coeff]
        rst = sum([a.unsqueeze(-1) * n.h for a, n in zip(alpha, v.innbs)])
    return zoomOut(rst)


@vertex_program
def gatv2(v, attn, slope=0.2):
    """l and r are W_l h and W_r h, [V, heads, out]; attn [heads, out]."""
    score = [(attn * (n.l + v.r).leaky_relu(slope)).sum(-1) for n in v.innbs]
    return sum([a.unsqueeze(-1) * n.l for a, n in zip(softmax(score), v.innbs)])


def gatv2_layer(graph, h, weight_l, weight_r, attn):
    heads, out = attn.shape
    return gatv2(graph, l=(h @ weight_l).reshape(-1, heads, out), r=(h @ weight_r).reshape(-1, heads, out), attn=attn)
