"""Graph autoencoders."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..inits import reset

EPS = 1e-15
MAX_LOGSTD = 10


class InnerProductDecoder(nn.Module):
    """p(edge i -> j) = sigmoid(z_i . z_j) (Kipf and Welling, 2016).

    Shapes: z [V, F], edge_index [2, E]; out [E].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import InnerProductDecoder
    >>> InnerProductDecoder()(Tensor([[1.0, 2.0], [3.0, 0.0]]), Tensor([[0], [1]]), sigmoid=False).tolist()
    [3.0]
    """

    def forward(self, z: Tensor, edge_index: Any, sigmoid: bool = True) -> Tensor:
        """A value for each of the edges."""
        graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, num_nodes=z.shape[0])
        value = (graph.src(z) * graph.dst(z)).sum(1)
        return value.sigmoid() if sigmoid else value

    def forward_all(self, z: Tensor, sigmoid: bool = True) -> Tensor:
        """A value for each pair of nodes."""
        adj = z @ z.T
        return adj.sigmoid() if sigmoid else adj

    def reset_parameters(self) -> None:
        """Nothing was learnt."""


class GAE(nn.Module):
    """An encoder to node embeddings, and a decoder from them to edges (Kipf and Welling, 2016).

    Shapes: z [V, F] as the encoder gives it; decode(z, edge_index [2, E]) [E].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GAE, GCNConv
    >>> model, edges = GAE(GCNConv(4, 8)), Tensor([[0, 1], [1, 2]])
    >>> z = model.encode(Tensor.ones(3, 4), edges)
    >>> model.recon_loss(z, edges, Tensor([[0], [2]])).shape
    ()
    """

    def __init__(self, encoder: Any, decoder: Any = None):
        self.encoder = encoder
        self.decoder = InnerProductDecoder() if decoder is None else decoder
        GAE.reset_parameters(self)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        reset(self.encoder)
        reset(self.decoder)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The same as encode."""
        return self.encoder(*args, **kwargs)

    def encode(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the encoder."""
        return self.encoder(*args, **kwargs)

    def decode(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the decoder."""
        return self.decoder(*args, **kwargs)

    def recon_loss(self, z: Tensor, pos_edge_index: Tensor, neg_edge_index: Tensor | None = None) -> Tensor:
        """Cross entropy of edges that there are and of others, which are drawn at random if they are not given."""
        if neg_edge_index is None:
            from ...utils import negative_sampling

            neg_edge_index = negative_sampling(pos_edge_index, z.shape[0])
        positive = self.decoder(z, pos_edge_index, sigmoid=True)
        negative = self.decoder(z, neg_edge_index, sigmoid=True)
        return -(positive + EPS).log().mean() - (1 - negative + EPS).log().mean()

    def test(self, z: Tensor, pos_edge_index: Tensor, neg_edge_index: Tensor) -> tuple[float, float]:
        """Area under the ROC curve, and average precision (with scikit-learn)."""
        from sklearn.metrics import average_precision_score, roc_auc_score  # type: ignore[import-untyped, import-not-found, unused-ignore]

        parts = [self.decoder(z, e, sigmoid=True).detach().numpy() for e in (pos_edge_index, neg_edge_index)]
        y = np.concatenate([np.ones(parts[0].size), np.zeros(parts[1].size)])
        return roc_auc_score(y, np.concatenate(parts)), average_precision_score(y, np.concatenate(parts))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n  (encoder): {self.encoder}\n  (decoder): {self.decoder}\n)"


class VGAE(GAE):
    """GAE whose encoder gives mean and logarithm of the deviation of each embedding; in training embeddings are drawn from them.

    Shapes: the encoder gives mu and logstd [V, F]; z [V, F]; decode(z, edge_index [2, E]) [E].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import VGAE
    >>> model = VGAE(lambda x: (x, x))
    >>> model.encode(Tensor.ones(3, 4)).shape, model.kl_loss().shape
    ((3, 4), ())
    """

    def __init__(self, encoder: Any, decoder: Any = None):
        super().__init__(encoder, decoder)

    def reparametrize(self, mu: Tensor, logstd: Tensor) -> Tensor:
        """Draws from the distribution in training; its mean otherwise."""
        return mu + logstd.randn_like() * logstd.exp() if Tensor.training else mu

    def encode(self, *args: Any, **kwargs: Any) -> Tensor:
        """Runs the encoder, and draws."""
        self.__mu__, logstd = self.encoder(*args, **kwargs)
        self.__logstd__ = logstd.minimum(MAX_LOGSTD)
        return self.reparametrize(self.__mu__, self.__logstd__)

    def kl_loss(self, mu: Tensor | None = None, logstd: Tensor | None = None) -> Tensor:
        """KL divergence from the standard normal distribution; of the last encoding by default."""
        mu = self.__mu__ if mu is None else mu
        logstd = self.__logstd__ if logstd is None else logstd.minimum(MAX_LOGSTD)
        return -0.5 * (1 + 2 * logstd - mu.square() - logstd.exp().square()).sum(1).mean()


class ARGA(GAE):
    """GAE with a discriminator that pushes embeddings towards the standard normal distribution (Pan et al., 2018).

    Shapes: what the encoder gives is z [V, F]; the discriminator maps [V, F] to [V, 1].

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import ARGA
    >>> ARGA(nn.Linear(4, 8), nn.Linear(8, 1)).reg_loss(Tensor.ones(3, 8)).shape
    ()
    """

    def __init__(self, encoder: Any, discriminator: Any, decoder: Any = None):
        super().__init__(encoder, decoder)
        self.discriminator = discriminator
        reset(self.discriminator)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.discriminator)

    def reg_loss(self, z: Tensor) -> Tensor:
        """The encoder's loss: how surely the discriminator tells its embeddings apart."""
        return -(self.discriminator(z).sigmoid() + EPS).log().mean()

    def discriminator_loss(self, z: Tensor) -> Tensor:
        """The discriminator's loss."""
        real = self.discriminator(z.randn_like()).sigmoid()
        fake = self.discriminator(z.detach()).sigmoid()
        return -(real + EPS).log().mean() - (1 - fake + EPS).log().mean()


class ARGVA(ARGA):
    """ARGA with the encoder of a VGAE.

    Shapes: the encoder gives mu and logstd [V, F]; z [V, F].

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import ARGVA
    >>> ARGVA(lambda x: (x, x), nn.Linear(4, 1)).encode(Tensor.ones(3, 4)).shape
    (3, 4)
    """

    def __init__(self, encoder: Any, discriminator: Any, decoder: Any = None):
        super().__init__(encoder, discriminator, decoder)
        self.VGAE = VGAE(encoder, decoder)

    @property
    def __mu__(self) -> Tensor:
        return self.VGAE.__mu__

    @property
    def __logstd__(self) -> Tensor:
        return self.VGAE.__logstd__

    def reparametrize(self, mu: Tensor, logstd: Tensor) -> Tensor:
        return self.VGAE.reparametrize(mu, logstd)

    def encode(self, *args: Any, **kwargs: Any) -> Tensor:
        return self.VGAE.encode(*args, **kwargs)

    def kl_loss(self, mu: Tensor | None = None, logstd: Tensor | None = None) -> Tensor:
        return self.VGAE.kl_loss(mu, logstd)


__all__ = ["ARGA", "ARGVA", "GAE", "VGAE", "InnerProductDecoder"]
