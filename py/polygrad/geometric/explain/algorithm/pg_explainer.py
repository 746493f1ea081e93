"""PGExplainer (Luo et al., "Parameterized explainer for graph neural network", NeurIPS 2020)."""

from __future__ import annotations

from typing import Any

from ....nn import ReLU, Sequential
from ....nn.optim import Adam
from ....tensor import Tensor
from ...nn.dense.linear import Linear
from ...nn.inits import reset
from ...utils.embedding import get_embeddings, get_embeddings_hetero
from ..config import ExplanationType, ModelTaskLevel
from ..explanation import Explanation, HeteroExplanation
from .base import ExplainerAlgorithm, index_of
from .masks import clear_masks, set_hetero_masks, set_masks


class PGExplainer(ExplainerAlgorithm):
    r"""Learns a network that tells the mask of an edge from the embeddings z of its ends (and of the explained node v, for tasks on nodes):

        m_ij = MLP([z_i, z_j, z_v]),   mask = sigmoid((log e - log(1 - e) + m_ij) / t),  e uniform

    It is trained over epochs with a temperature t that falls, and then explains without further training.

    epochs, lr: of the training, which the caller runs: `explainer.algorithm.train(epoch, model, x, edge_index, target=..., index=...)`.
    kwargs: coefficients edge_size, edge_ent, temp (first and last temperature), bias.

    Shapes: edge_mask [E]. Only phenomena, on nodes (one index at a time) or graphs, without node masks.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import Explainer, PGExplainer
    >>> from polygrad.geometric.nn import GCN
    >>> x, edge_index, y = Tensor.rand(4, 3), Tensor([[0, 1, 2], [1, 2, 3]]), Tensor([0, 1, 0, 1])
    >>> model = GCN(3, 8, num_layers=2, out_channels=2)
    >>> explainer = Explainer(model, PGExplainer(epochs=2), "phenomenon", dict(mode="multiclass_classification", task_level="node",
    ...     return_type="raw"), edge_mask_type="object")
    >>> for epoch in range(2):
    ...     loss = explainer.algorithm.train(epoch, model, x, edge_index, target=y, index=2)
    >>> explainer(x, edge_index, target=y, index=2).edge_mask.shape
    (3,)
    """

    default_coeffs = {"edge_size": 0.05, "edge_ent": 1.0, "temp": [5.0, 2.0], "bias": 0.01}

    def __init__(self, epochs: int, lr: float = 0.003, **kwargs: Any):
        self.epochs, self.lr = epochs, lr
        self.coeffs = {**self.default_coeffs, **kwargs}
        self.mlp = Sequential(Linear(-1, 64), ReLU(), Linear(64, 1))
        self._optimizer: Adam | None = None
        self._curr_epoch = -1

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        reset(self.mlp)
        self._optimizer = None

    def supports(self) -> bool:
        if self.explainer_config.explanation_type != ExplanationType.phenomenon:
            return self._refuse("it explains a phenomenon: explanation_type must be 'phenomenon'")
        if self.model_config.task_level not in (ModelTaskLevel.node, ModelTaskLevel.graph):
            return self._refuse("task_level must be 'node' or 'graph'")
        if self.explainer_config.node_mask_type is not None:
            return self._refuse("it has no masks of nodes: node_mask_type must be None")
        return True

    def train(  # type: ignore[override]
        self, epoch: int, model: Any, x: Any, edge_index: Any, *, target: Any, index: Any = None, **kwargs: Any
    ) -> float:
        """One step of training; gives the loss. epoch: counts from 0 to epochs - 1."""
        hetero = isinstance(x, dict)
        self._check(index)
        at = index_of(index)
        z = self._embeddings(model, x, edge_index, kwargs)
        logits = self._logits(z, edge_index, at)
        if self._optimizer is None:
            self._optimizer = Adam(self.mlp.parameters(), lr=self.lr)
        self._optimizer.zero_grad()
        temperature = self._temperature(epoch)
        masks = {kind: self._concrete(value, temperature) for kind, value in logits.items()}
        try:
            if hetero:
                set_hetero_masks(model, masks, edge_index, apply_sigmoid=True)
            else:
                set_masks(model, masks[None], edge_index, apply_sigmoid=True)
            y_hat, y = model(x, edge_index, **kwargs), target
            if at is not None:
                y_hat, y = y_hat[at], y[at]
            loss = self._output_loss(y_hat, y)
            for kind, mask in masks.items():
                loss = loss + self._cost(mask, self._seen(model, x, edge_index, kind, index))
            own = self.mlp.parameters()
            for p, g in zip(own, loss.gradient(*own)):  # of the network alone: the model stays as it is
                p.grad = g
            self._optimizer.step()
        finally:
            clear_masks(model)
        self._curr_epoch = epoch
        return float(loss.item())

    def forward(self, model: Any, x: Any, edge_index: Any, *, target: Any, index: Any = None, **kwargs: Any) -> Any:
        if self._curr_epoch < self.epochs - 1:
            raise ValueError(
                f"PGExplainer is not yet fully trained, but for {self._curr_epoch + 1} of {self.epochs} epochs: call algorithm.train(...)"
            )
        self._check(index)
        hetero = isinstance(x, dict)
        with Tensor.no_grad():
            logits = self._logits(self._embeddings(model, x, edge_index, kwargs), edge_index, index_of(index))
        masks = {kind: self._post_process_mask(value, self._seen(model, x, edge_index, kind, index)) for kind, value in logits.items()}
        if not hetero:
            return Explanation(edge_mask=masks[None])
        out = HeteroExplanation()
        out.set_value_dict("edge_mask", masks)
        return out

    def _check(self, index: Any) -> None:
        if self.model_config.task_level != ModelTaskLevel.node:
            return
        if index is None:
            raise ValueError("PGExplainer needs the 'index' of the node to explain")
        if isinstance(index, Tensor) and index.numel() > 1:
            raise ValueError(f"Only scalars are supported for the 'index' of PGExplainer, not one of shape {tuple(index.shape)}")

    def _seen(self, model: Any, x: Any, edge_index: Any, kind: Any, index: Any) -> Tensor | None:
        """The edges that the explained node can see; None for all."""
        if self.model_config.task_level != ModelTaskLevel.node:
            return None
        if kind is None:
            return self._get_hard_masks(model, index, edge_index, x.shape[0])[1]
        return self._get_hard_masks(model, index, edge_index[kind], max(x[kind[0]].shape[0], x[kind[-1]].shape[0]))[1]

    def _embeddings(self, model: Any, x: Any, edge_index: Any, kwargs: dict[str, Any]) -> Any:
        """The last embeddings of the nodes."""
        if not isinstance(x, dict):
            return get_embeddings(model, x, edge_index, **kwargs)[-1].detach()
        found = {kind: values[-1].detach() for kind, values in get_embeddings_hetero(model, None, x, edge_index, **kwargs).items() if values}
        if not found:
            raise ValueError("no layer of the model gives embeddings by node type: use HeteroConv, HGTConv or HANConv")
        return found

    def _logits(self, z: Any, edge_index: Any, at: Any) -> dict[Any, Tensor]:
        """m_ij of each edge type."""
        one = self.model_config.task_level == ModelTaskLevel.node
        out: dict[Any, Tensor] = {}
        for kind, edges in edge_index.items() if isinstance(edge_index, dict) else [(None, edge_index)]:
            src, dst = (z, z) if kind is None else (z[kind[0]], z[kind[-1]])
            parts = [src[edges[0]], dst[edges[1]]]
            if one:
                parts.append(src[at].reshape(1, -1).expand(edges.shape[1], src.shape[-1]))
            out[kind] = self.mlp(Tensor.cat(*parts, dim=-1)).reshape(-1)
        return out

    def _temperature(self, epoch: int) -> float:
        first, last = self.coeffs["temp"]
        return first * (last / first) ** (epoch / self.epochs)

    def _concrete(self, logits: Tensor, temperature: float) -> Tensor:
        bias = self.coeffs["bias"]
        e = (1 - 2 * bias) * Tensor.rand(*logits.shape) + bias
        # A tensor, not a number: the temperature is another one in every epoch, and the plan should stay the same.
        return (e.log() - (1 - e).log() + logits) * Tensor([1.0 / temperature])

    def _cost(self, mask: Tensor, seen: Tensor | None) -> Tensor:
        """Size and entropy of a mask, over the edges that are seen."""
        m = mask.sigmoid()
        inner = 0.99 * m + 0.005
        entropy = -inner * inner.log() - (1 - inner) * (1 - inner).log()
        if seen is None:
            return m.sum() * self.coeffs["edge_size"] + entropy.mean() * self.coeffs["edge_ent"]
        weight = seen.cast(m.dtype)
        return (m * weight).sum() * self.coeffs["edge_size"] + (entropy * weight).sum() / weight.sum() * self.coeffs["edge_ent"]


__all__ = ["PGExplainer"]
