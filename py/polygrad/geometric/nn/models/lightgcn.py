"""Recommendation by propagated embeddings."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..conv.lg_conv import LGConv
from ..inits import reset


class LightGCN(nn.Module):
    """Embeddings of nodes, spread along edges by LGConv and averaged over the layers with weights alpha (He et al., 2020).

    x = sum_k alpha_k (D^-1/2 A D^-1/2)^k E;   the rank of an edge i -> j is x_i . x_j

    Shapes: edge_index [2, E], edge_label_index [2, N], edge_weight [E]; out [N].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import LightGCN
    >>> model, edges = LightGCN(num_nodes=4, embedding_dim=8, num_layers=2), Tensor([[0, 1, 2, 3], [2, 3, 0, 1]])
    >>> model(edges).shape, model.recommend(edges, k=2).shape
    ((4,), (4, 2))
    """

    def __init__(self, num_nodes: int, embedding_dim: int, num_layers: int, alpha: Any = None, **kwargs: Any):
        self.num_nodes, self.embedding_dim, self.num_layers = num_nodes, embedding_dim, num_layers
        alpha = 1.0 / (num_layers + 1) if alpha is None else alpha
        if not isinstance(alpha, Tensor):
            alpha = Tensor([float(alpha)] * (num_layers + 1))
        elif alpha.shape[0] != num_layers + 1:
            raise ValueError(f"{alpha.shape[0]} weights alpha for {num_layers} layers: one more than layers is needed")
        self.alpha = alpha
        self.alpha.requires_grad = False
        self.embedding = nn.Embedding(num_nodes, embedding_dim)
        self.convs = nn.ModuleList([LGConv(**kwargs) for _ in range(num_layers)])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new embeddings."""
        self.embedding.weight.assign(Tensor.glorot_uniform(*self.embedding.weight.shape))
        for conv in self.convs:
            reset(conv)

    def get_embedding(self, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """The embeddings of all nodes, after propagation."""
        x = self.embedding.weight
        out = x * self.alpha[0]
        for k, conv in enumerate(self.convs):
            x = conv(x, edge_index, edge_weight)
            out = out + x * self.alpha[k + 1]
        return out

    def forward(self, edge_index: Any, edge_label_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        """The rank of each edge of edge_label_index (by default edge_index)."""
        wanted = edge_index if edge_label_index is None else edge_label_index
        graph = wanted if isinstance(wanted, Graph) else Graph(wanted, num_nodes=self.num_nodes)
        out = self.get_embedding(edge_index, edge_weight)
        return (graph.src(out) * graph.dst(out)).sum(-1)

    def predict_link(self, edge_index: Any, edge_label_index: Any = None, edge_weight: Tensor | None = None, prob: bool = False) -> Tensor:
        """Whether there are the edges of edge_label_index, 0 or 1, or how probable it is."""
        pred = self(edge_index, edge_label_index, edge_weight).sigmoid()
        return pred if prob else pred.round()

    def recommend(
        self, edge_index: Any, edge_weight: Tensor | None = None, src_index: Tensor | None = None, dst_index: Tensor | None = None, k: int = 1,
        sorted: bool = True,
    ) -> Tensor:  # fmt: skip
        """The k best destinations for each source, among those given."""
        out = self.get_embedding(edge_index, edge_weight)
        src = out if src_index is None else out[src_index]
        dst = out if dst_index is None else out[dst_index]
        best = (src @ dst.T).topk(k, -1)[1]
        return best if dst_index is None else dst_index[best]

    def link_pred_loss(self, pred: Tensor, edge_label: Tensor, **kwargs: Any) -> Tensor:
        """Binary cross entropy with logits; keywords: reduction, pos_weight."""
        return pred.binary_crossentropy_logits(edge_label.cast(pred.dtype), **kwargs)

    def recommendation_loss(
        self, pos_edge_rank: Tensor, neg_edge_rank: Tensor, node_id: Tensor | None = None, lambda_reg: float = 1e-4, **kwargs: Any
    ) -> Tensor:
        """Bayesian personalised ranking: edges that there are should rank higher than others. lambda_reg: weight of |E|^2."""
        emb = self.embedding.weight
        return BPRLoss(lambda_reg, **kwargs)(pos_edge_rank, neg_edge_rank, emb if node_id is None else emb[node_id])

    def extra_repr(self) -> str:
        return f"{self.num_nodes}, {self.embedding_dim}, num_layers={self.num_layers}"


class BPRLoss(nn.Module):
    """-mean(log sigmoid(positives - negatives)) + lambda_reg |parameters|^2 / number of pairs (Rendle et al., 2009)."""

    def __init__(self, lambda_reg: float = 0.0, **kwargs: Any):
        self.lambda_reg = lambda_reg

    def forward(self, positives: Tensor, negatives: Tensor, parameters: Tensor | None = None) -> Tensor:
        loss = -(positives - negatives).logsigmoid().mean()
        if self.lambda_reg and parameters is not None:
            loss = loss + self.lambda_reg * parameters.square().sum() / positives.shape[0]
        return loss


__all__ = ["BPRLoss", "LightGCN"]
