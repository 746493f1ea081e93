"""Embeddings by mutual information with a summary of the graph."""

from __future__ import annotations

from typing import Any, Callable

from .... import nn
from ....tensor import Tensor
from ..inits import reset, uniform

EPS = 1e-15


def classify(train_z: Tensor, train_y: Tensor, test_z: Tensor, test_y: Tensor, solver: str, *args: Any, **kwargs: Any) -> float:
    """Accuracy of a logistic regression on embeddings (with scikit-learn)."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped, import-not-found, unused-ignore]

    model = LogisticRegression(*args, solver=solver, **kwargs).fit(train_z.detach().numpy(), train_y.numpy())
    return model.score(test_z.detach().numpy(), test_y.numpy())


class DeepGraphInfomax(nn.Module):
    """Trains an encoder to tell nodes of a graph from those of a corrupted one, given a summary of the graph (Velickovic et al., 2018).

    D(z, s) = sigmoid(z^T W s)

    encoder, corruption: called with the arguments of the model. summary: called with the embeddings and these arguments.

    Shapes: the encoder gives [V, F]; out two of these, positive and negative, and a summary [F].

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import DeepGraphInfomax
    >>> model = DeepGraphInfomax(8, nn.Linear(4, 8), lambda z, x: z.mean(0).sigmoid(), lambda x: x[Tensor([2, 0, 1])])
    >>> pos_z, neg_z, summary = model(Tensor.ones(3, 4))
    >>> model.loss(pos_z, neg_z, summary).shape
    ()
    """

    def __init__(self, hidden_channels: int, encoder: Any, summary: Callable[..., Tensor], corruption: Callable[..., Any]):
        self.hidden_channels, self.encoder, self.summary, self.corruption = hidden_channels, encoder, summary, corruption
        self.weight = Tensor.empty(hidden_channels, hidden_channels, requires_grad=True)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        reset(self.encoder)
        if hasattr(self.summary, "reset_parameters"):
            reset(self.summary)
        uniform(self.hidden_channels, self.weight)

    def forward(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Embeddings of the nodes, of the corrupted ones, and the summary."""
        pos_z = self.encoder(*args, **kwargs)
        corrupted = self.corruption(*args, **kwargs)
        corrupted = corrupted if isinstance(corrupted, tuple) else (corrupted,)
        cor_kwargs = {**kwargs, **dict(zip(kwargs, corrupted[len(args) :]))}
        neg_z = self.encoder(*corrupted[: len(args)], **cor_kwargs)
        return pos_z, neg_z, self.summary(pos_z, *args, **kwargs)

    def discriminate(self, z: Tensor, summary: Tensor, sigmoid: bool = True) -> Tensor:
        """The probability that each row of z belongs to the graph of the summary, or its logit."""
        value = z @ (self.weight @ (summary.T if summary.ndim > 1 else summary))
        return value.sigmoid() if sigmoid else value

    def loss(self, pos_z: Tensor, neg_z: Tensor, summary: Tensor) -> Tensor:
        """Cross entropy of telling the nodes from the corrupted ones."""
        pos_loss = -(self.discriminate(pos_z, summary) + EPS).log().mean()
        return pos_loss - (1 - self.discriminate(neg_z, summary) + EPS).log().mean()

    def test(self, train_z: Tensor, train_y: Tensor, test_z: Tensor, test_y: Tensor, solver: str = "lbfgs", *args: Any, **kwargs: Any) -> float:
        """Accuracy of a logistic regression on the embeddings (with scikit-learn)."""
        return classify(train_z, train_y, test_z, test_y, solver, *args, **kwargs)

    def extra_repr(self) -> str:
        return str(self.hidden_channels)


__all__ = ["DeepGraphInfomax", "classify"]
