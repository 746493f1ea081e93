"""GraphMask (Schlichtkrull et al., "Interpreting graph neural networks for NLP with differentiable edge masking", ICLR 2021)."""

from __future__ import annotations

import math
import types
from typing import Any

from .... import nn
from ....nn import functional as F
from ....nn.optim import Adam, RMSprop
from ....tensor import Tensor
from ..config import ModelTaskLevel
from ..explanation import Explanation
from .base import ExplainerAlgorithm, index_of, repeat
from .dummy_explainer import mask_shape
from .masks import clear_masks, layers_of

BETA, GAMMA, ZETA, BIAS = 1 / 3, -0.2, 1.2, 2.0  # of the hard concrete distribution


def _explain_message(self: Any, out: Tensor, x_i: Tensor, x_j: Tensor) -> Tensor:
    """Normalised messages, those of closed gates replaced by the baseline."""
    basis = F.layer_norm(out, (out.shape[-1],)).relu()
    if self._gate is not None:
        gate = self._gate.unsqueeze(-1)
        basis = basis * gate + (1 - gate) * self._baseline
    self._latest = (x_j, basis, x_i)
    return basis


class _Gate(nn.Module):
    """Tells from the ends and the message of an edge whether it is needed: linear maps and layer norms of the three, added, and one number."""

    def __init__(self, widths: tuple[int, int, int], channels: int):
        bound = math.sqrt(3.0) * math.sqrt(2.0 / (sum(widths) + channels))
        self.transforms = [nn.Linear(w, channels, bias=False) for w in widths]
        for lin in self.transforms:
            lin.weight.assign(Tensor.uniform(*lin.weight.shape, low=-bound, high=bound))
        self.norms = [nn.LayerNorm(channels) for _ in widths]
        self.output = nn.Linear(channels, 1)
        self.full_bias = Tensor.zeros(1, requires_grad=True)
        self.baseline = Tensor.uniform(1, low=-1 / math.sqrt(channels), high=1 / math.sqrt(channels)).requires_grad_()

    def forward(self, values: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        parts = [norm(lin(v)) for v, lin, norm in zip(values, self.transforms, self.norms)]
        total = parts[0] + parts[1] + parts[2] + self.full_bias
        return self.output((total / 3).relu()).squeeze(-1)


def _hard_concrete(scores: Tensor, training: bool) -> tuple[Tensor, Tensor]:
    """0 or 1 for each edge, with the gradient of a distribution that is stretched beyond both and clipped; and the chance of being open."""
    scores = scores + BIAS
    if training:
        u = Tensor.uniform(*scores.shape, low=1e-6, high=1.0 - 1e-6)
        s = ((u.log() - (1 - u).log() + scores) / BETA).sigmoid()
        penalty = (scores - BETA * math.log(-GAMMA / ZETA)).sigmoid().mean()
    else:
        s, penalty = scores.sigmoid(), Tensor(0.0)
    soft = (s * (ZETA - GAMMA) + GAMMA).clamp(0.0, 1.0)
    hard = (soft > (soft.min() + soft.max()) / 2).cast(soft.dtype)
    return soft + (hard - soft).detach(), penalty


class GraphMaskExplainer(ExplainerAlgorithm):
    r"""Learns, layer after layer from the last, gates z that leave out as many messages as possible while the prediction stays within a tolerance:

        m'_ij = z_ij m_ij + (1 - z_ij) b,   min over gates, max over l of  a mean(z > 0) + softplus(l) relu(loss - allowance)

    num_layers: layers of the model. epochs, lr: for each layer. penalty_scaling: a, 0 to 10. init_lambda: 0 to 1. lambda_optimizer_lr,
    allowance: 0 to 1. log is accepted and has no effect. kwargs: coefficients node_feat_size, node_feat_reduction, node_feat_ent, EPS.

    Shapes: node_mask by its type ([1, F] if none is asked for), edge_mask [E]: the mean over the layers, and over their heads, of 0 or 1.

    >>> from polygrad.geometric.explain import GraphMaskExplainer
    >>> GraphMaskExplainer(num_layers=2, epochs=10)
    GraphMaskExplainer()
    """

    default_coeffs = {"node_feat_size": 1.0, "node_feat_reduction": "mean", "node_feat_ent": 0.1, "EPS": 1e-15}

    def __init__(
        self, num_layers: int, epochs: int = 100, lr: float = 0.01, penalty_scaling: float = 5, lambda_optimizer_lr: float = 1e-2,
        init_lambda: float = 0.55, allowance: float = 0.03, allow_multiple_explanations: bool = False, log: bool = True, **kwargs: Any,
    ):  # fmt: skip
        for name, value, most in (("penalty_scaling", penalty_scaling, 10), ("init_lambda", init_lambda, 1), ("allowance", allowance, 1)):
            if not 0 <= value <= most:
                raise ValueError(f"{name} must lie between 0 and {most}, not at {value}")
        self.num_layers, self.epochs, self.lr = num_layers, epochs, lr
        self.penalty_scaling, self.allowance = penalty_scaling, allowance
        self.lambda_optimizer_lr, self.init_lambda = lambda_optimizer_lr, init_lambda
        self.allow_multiple_explanations = allow_multiple_explanations
        self.coeffs = {**self.default_coeffs, **kwargs}

    def supports(self) -> bool:
        return True

    def forward(self, model: Any, x: Tensor, edge_index: Tensor, *, target: Any, index: Any = None, **kwargs: Any) -> Explanation:
        if isinstance(x, dict):
            raise ValueError("GraphMaskExplainer explains models on graphs with one type of nodes and edges")
        layers = layers_of(model)[: self.num_layers]
        hard = None
        if self.model_config.task_level == ModelTaskLevel.node:
            hard, _ = self._get_hard_masks(model, index, edge_index, x.shape[0])
        try:
            for layer in layers_of(model):
                layer.__dict__["explain_message"] = types.MethodType(_explain_message, layer)
                layer.explain = True
                layer._gate = layer._baseline = layer._latest = None
            features, gates = self._learn(model, layers, x, edge_index, target, index_of(index), kwargs)
            latest = self._latest(model, layers, x, edge_index, kwargs)
            with Tensor.no_grad():
                open_ = [_hard_concrete(gate(values), training=False)[0][: edge_index.shape[1]] for gate, values in zip(gates, latest)]
                # a layer with several heads has a gate for each of them
                edge_mask = Tensor.stack(*[o if o.ndim == 1 else o.reshape(o.shape[0], -1).mean(1) for o in open_]).mean(0).realize()
        finally:
            for layer in layers_of(model):
                layer.__dict__.pop("explain_message", None)
                layer.explain = None
                for name in ("_gate", "_baseline", "_latest"):
                    layer.__dict__.pop(name, None)
            clear_masks(model)
        return Explanation(node_mask=self._post_process_mask(features, hard), edge_mask=edge_mask)

    def _latest(self, model: Any, layers: list[Any], x: Tensor, edge_index: Tensor, kwargs: Any) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Sender, message and receiver of every edge in every layer, with all gates open."""
        with Tensor.no_grad():
            model(x, edge_index, **kwargs)
        return [tuple(v.detach() for v in layer._latest) for layer in layers]  # type: ignore[misc]

    def _learn(self, model: Any, layers: list[Any], x: Tensor, edge_index: Tensor, target: Tensor, at: Any, kwargs: Any) -> Any:
        shape = mask_shape(self.explainer_config.node_mask_type, x) or (1, x.shape[-1])
        features = (Tensor.randn(*shape) * 0.1).contiguous().requires_grad_().realize()
        latest = self._latest(model, layers, x, edge_index, kwargs)
        gates = [_Gate((v[0].shape[-1], v[1].shape[-1], v[2].shape[-1]), v[1].shape[-1]) for v in latest]
        price = Tensor([self.init_lambda], requires_grad=True).realize()
        for v in (*latest[0], *[t for values in latest[1:] for t in values]):
            v.realize()
        for k in range(len(layers) - 1, -1, -1):  # gates of layers from k on are learnt
            self._learn_from(k, model, layers, gates, latest, (x, edge_index, target, at, kwargs), features, price)
        return features, gates

    def _learn_from(
        self, k: int, model: Any, layers: list[Any], gates: list[Any], latest: Any, given: Any, features: Tensor, price: Tensor
    ) -> None:  # fmt: skip
        x, edge_index, target, at, kwargs = given
        own = [features, *[p for gate in gates[k:] for p in gate.parameters()]]
        optimizer, multiplier = Adam(own, lr=self.lr), RMSprop([price], lr=self.lambda_optimizer_lr)
        for t in own:
            t.realize()

        def step() -> list[Tensor]:
            penalty: Any = 0.0
            for layer, gate, values in zip(layers, gates, latest):
                layer._gate, cost = _hard_concrete(gate(values), training=True)
                layer._baseline, penalty = gate.baseline, penalty + cost
            y_hat, y = model(x * features.sigmoid(), edge_index, **kwargs), target
            for layer in layers:
                layer._gate = layer._baseline = None
            if at is not None and self.model_config.task_level != ModelTaskLevel.graph:
                y_hat, y = y_hat[at], y[at]
            loss = self._cost(self._output_loss(y_hat, y), penalty, features, price)
            *slopes, rise = loss.gradient(*own, price, materialize_grads=True)
            for p, g in zip(own, slopes):
                p.grad = g
            price.grad = -rise  # the multiplier goes up the slope
            optimizer.step()
            multiplier.step()
            optimizer.zero_grad()
            multiplier.zero_grad()
            return [loss]

        for _ in repeat(step, [x], self.epochs):
            pass
        price.assign(price.clamp(-2.0, 30.0)).realize()

    def _cost(self, loss: Tensor, penalty: Tensor, features: Tensor, price: Tensor) -> Tensor:
        loss = penalty * self.penalty_scaling + price.softplus().sum() * (loss - self.allowance).relu()
        m, eps = features.sigmoid(), self.coeffs["EPS"]
        loss = loss + self.coeffs["node_feat_size"] * getattr(m, self.coeffs["node_feat_reduction"])()
        entropy = -m * (m + eps).log() - (1 - m) * (1 - m + eps).log()
        return loss + self.coeffs["node_feat_ent"] * entropy.mean()


__all__ = ["GraphMaskExplainer"]
