"""Attacks on a model by flipping edges: randomized block coordinate descent, of "Robustness of Graph Neural Networks at Scale".

Of all pairs of nodes a random block is looked at. A pair's weight w, between 0 and 1, says how far its edge is flipped: an edge that is there
has the weight 1 - w, one that is not has w. The gradient of the loss by these weights says which flips hurt the model most.
"""

# mypy: disable-error-code="misc, assignment, no-untyped-call, attr-defined, no-any-return"

from __future__ import annotations

from collections import defaultdict
from typing import Any, ClassVar

import numpy as np

from ..... import torch
from ._margins import LOSSES, margins


def pairs_of(numbers: np.ndarray, n: int, undirected: bool) -> np.ndarray:
    """The pairs [2, K] of nodes with these numbers: those above the diagonal row by row, or all of them."""
    if not undirected:
        return np.stack([numbers // n, numbers % n])
    starts = np.cumsum([0, *range(n - 1, 0, -1)])  # where the pairs of each row begin
    row = np.searchsorted(starts, numbers, side="right") - 1
    return np.stack([row, numbers - starts[row] + row + 1])


def project(values: np.ndarray, budget: float, eps: float) -> np.ndarray:
    """values, lowered by one number so that what lies between 0 and 1 adds up to budget at most."""
    if np.clip(values, 0, 1).sum() > budget:
        low, high = float(values.min()) - 1, float(values.max())
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.clip(values - middle, 0, 1).sum() > budget else (low, middle)
            if high - low <= 1e-5:
                break
        values = values - high
    return np.clip(values, eps, 1 - eps).astype(np.float32)


class PRBCDAttack(torch.nn.Module):
    """Flips at most `budget` edges so that predictions get worse, by steps along the gradient that are projected to the budget (PRBCD).

    model: called with (x, edge_index, edge_weight, ...). block_size: pairs of nodes that are looked at. epochs: steps, of which the first
    epochs_resampling draw the less useful half of the block anew. loss: 'masked', 'margin', 'prob_margin', 'tanh_margin', or a function of
    (predictions, labels, chosen ones). metric: what the best step is chosen by, the loss if it is not given. Further settings:
    max_final_samples, max_trials_sampling, with_early_stopping, eps.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.contrib.nn import PRBCDAttack
    >>> from polygrad.torch_geometric.nn import GCNConv
    >>> attack = PRBCDAttack(GCNConv(3, 2), block_size=50, epochs=3, epochs_resampling=2, log=False)
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> changed, flipped = attack.attack(torch.randn(4, 3), edges, torch.tensor([0, 1, 0, 1]), budget=1)
    >>> flipped.size(1) <= 1
    True
    """

    settings: ClassVar[dict[str, Any]] = {"max_final_samples": 20, "max_trials_sampling": 20, "with_early_stopping": True, "eps": 1e-7}

    # Under the names by which scripts measure what an attack did.
    _margin_loss = staticmethod(margins)
    _probability_margin_loss = staticmethod(LOSSES["prob_margin"])
    _tanh_margin_loss = staticmethod(LOSSES["tanh_margin"])
    _masked_cross_entropy = staticmethod(LOSSES["masked"])

    def __init__(
        self, model: Any, block_size: int, epochs: int = 125, epochs_resampling: int = 100, loss: Any = "prob_margin", metric: Any = None,
        lr: float = 1_000, is_undirected: bool = True, log: bool = True, **kwargs: Any,
    ):  # fmt: skip
        super().__init__()
        if isinstance(loss, str) and loss not in LOSSES:
            raise ValueError(f"Unknown loss {loss!r}: use one of {', '.join(LOSSES)}")
        self.model, self.block_size, self.epochs, self.epochs_resampling, self.lr = model, block_size, epochs, epochs_resampling, lr
        self.loss = LOSSES[loss] if isinstance(loss, str) else loss
        self.metric = metric or self.loss
        self.is_undirected, self.log, self.coeffs = is_undirected, log, {**self.settings, **kwargs}

    def attack(self, x: Any, edge_index: Any, labels: Any, budget: int, idx_attack: Any = None, **kwargs: Any) -> tuple[Any, Any]:
        """The edges after the attack and the pairs [2, K] that were flipped, K <= budget. idx_attack: the predictions that count."""
        self.model.eval()
        self.edge_index, self.edge_weight = edge_index.clone(), torch.ones(edge_index.size(1))
        self.num_nodes = int(x.size(0))
        self.attack_statistics: dict[str, list[float]] = defaultdict(list)
        for step in self._prepare(budget):
            loss, gradient = self._forward_and_gradient(x, labels, idx_attack, **kwargs)
            found = self._update(step, gradient, x, labels, budget, idx_attack, **kwargs)
            for name, value in {**found, "loss": loss.item()}.items():
                self.attack_statistics[name].append(value)
        return self._close(x, labels, budget, idx_attack, **kwargs)

    # ---- the block ----

    def _draw(self, kept: np.ndarray, weights: np.ndarray, at_least: int) -> None:
        """A block of random pairs, with those that are kept and their weights."""
        n = self.num_nodes
        count = n * (n - 1) // 2 if self.is_undirected else n * n
        for _ in range(self.coeffs["max_trials_sampling"]):
            drawn = torch.randint(0, max(count, 1), (self.block_size - kept.size,)).numpy() if count else kept
            numbers = np.unique(np.concatenate([kept, drawn]))
            filled = np.full(numbers.size, self.coeffs["eps"], np.float32)
            filled[np.searchsorted(numbers, kept)] = weights
            pairs = pairs_of(numbers, n, self.is_undirected)
            proper = pairs[0] != pairs[1]
            if proper.sum() >= at_least:
                self.current_block = numbers[proper]
                self.block_edge_index = torch.tensor(np.ascontiguousarray(pairs[:, proper]))
                self.block_edge_weight = torch.tensor(filled[proper])
                return
        raise RuntimeError(f"no block of {at_least} pairs was found among {n} nodes: decrease the budget")

    def _sample_random_block(self, budget: int = 0) -> None:
        self._draw(np.zeros(0, np.int64), np.zeros(0, np.float32), budget)

    def _resample_random_block(self, budget: int) -> None:
        """Keeps the pairs of the largest weights, half of the block at most."""
        weights = self.block_edge_weight.numpy()
        order = np.argsort(weights, kind="stable")
        kept = order[max(int((weights <= self.coeffs["eps"]).sum()), order.size // 2) :]
        kept = kept[np.argsort(self.current_block[kept])]
        self._draw(self.current_block[kept], weights[kept], budget + 1)

    def _get_modified_adj(self, edge_index: Any, edge_weight: Any, block_edge_index: Any, block_edge_weight: Any) -> tuple[Any, Any]:
        """The edges with the pairs of the block: an edge that is there and in the block has 1 - its weight there."""
        n, pairs, weight = self.num_nodes, block_edge_index.numpy(), block_edge_weight
        if self.is_undirected:
            pairs, weight = np.concatenate([pairs, pairs[::-1]], axis=1), torch.cat([weight, weight])
        there = edge_index.numpy()
        known, order = np.unique(there[0] * n + there[1], return_index=True)
        own = pairs[0] * n + pairs[1]
        place = np.searchsorted(known, own)
        inside = np.append(known, -1)[place] == own
        old = edge_weight[torch.tensor(order)]
        if inside.any():
            old = old.index_add(0, torch.tensor(place[inside]), -weight[torch.tensor(np.flatnonzero(inside))])
        edges = np.concatenate([there[:, order], pairs[:, ~inside]], axis=1)
        return torch.tensor(edges), torch.cat([old, weight[torch.tensor(np.flatnonzero(~inside))]])

    # ---- the model ----

    def _forward(self, x: Any, edge_index: Any, edge_weight: Any, **kwargs: Any) -> Any:
        return self.model(x, edge_index, edge_weight, **kwargs)

    def _forward_and_gradient(self, x: Any, labels: Any, idx_attack: Any = None, **kwargs: Any) -> tuple[Any, Any]:
        self.block_edge_weight = self.block_edge_weight.detach().requires_grad_()
        edges = self._get_modified_adj(self.edge_index, self.edge_weight, self.block_edge_index, self.block_edge_weight)
        loss = self.loss(self._forward(x, *edges, **kwargs), labels, idx_attack)
        return loss, torch.autograd.grad(loss, self.block_edge_weight)[0]

    def _metric_of(self, flips: np.ndarray, x: Any, labels: Any, idx_attack: Any, **kwargs: Any) -> float:
        """The metric if the pairs with 1 in flips are flipped."""
        with torch.no_grad():
            edges = self._get_modified_adj(self.edge_index, self.edge_weight, self.block_edge_index, torch.tensor(flips))
            return float(self.metric(self._forward(x, *edges, **kwargs), labels, idx_attack))

    # ---- the steps ----

    def _prepare(self, budget: int) -> Any:
        if self.block_size <= budget:
            raise ValueError(f"the block of {self.block_size} pairs must be larger than the budget of {budget}")
        self.best_metric, self._best = float("-inf"), None
        self._sample_random_block(budget)
        return range(self.epochs)

    def _update(self, step: int, gradient: Any, x: Any, labels: Any, budget: int, idx_attack: Any = None, **kwargs: Any) -> dict[str, float]:
        rate = budget / self.num_nodes * self.lr / np.sqrt(max(0, step - self.epochs_resampling) + 1)
        moved = self.block_edge_weight.detach().numpy() + rate * gradient.numpy()
        weights = project(moved, budget, self.coeffs["eps"])
        self.block_edge_weight = torch.tensor(weights)
        found = {"prob_mass_after_update": float(np.clip(moved, 0, 1).sum()), "prob_mass_after_projection": float(weights.sum())}
        if not self.coeffs["with_early_stopping"]:
            return found
        found["metric"] = self._metric_of(_largest(weights, budget), x, labels, idx_attack, **kwargs)
        if found["metric"] > self.best_metric or self._best is None:
            self.best_metric = found["metric"]
            self._best = (self.current_block, self.block_edge_index, self.block_edge_weight)
        if step < self.epochs_resampling - 1:
            self._resample_random_block(budget)
        elif step == self.epochs_resampling - 1:
            self.current_block, self.block_edge_index, self.block_edge_weight = self._best
        return found

    def _close(self, x: Any, labels: Any, budget: int, idx_attack: Any = None, **kwargs: Any) -> tuple[Any, Any]:
        """The best of some random choices of flips, drawn by their weights; the first is that of the largest weights."""
        if self.coeffs["with_early_stopping"] and self._best is not None:
            self.current_block, self.block_edge_index, self.block_edge_weight = self._best
        weights = self.block_edge_weight.detach().numpy()
        weights = np.where(weights <= self.coeffs["eps"], 0, weights).astype(np.float32)
        best, chosen = float("-inf"), np.zeros_like(weights)
        for k in range(self.coeffs["max_final_samples"]):
            flips = _largest(weights, budget) if k == 0 else torch.bernoulli(torch.tensor(weights)).numpy()
            if flips.sum() > budget:
                continue
            metric = self._metric_of(flips, x, labels, idx_attack, **kwargs)
            if metric > best:
                best, chosen = metric, flips
        edges, values = self._get_modified_adj(self.edge_index, self.edge_weight, self.block_edge_index, torch.tensor(chosen))
        return _sorted(edges.numpy()[:, values.numpy() == 1]), torch.tensor(self.block_edge_index.numpy()[:, chosen > 0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class GRBCDAttack(PRBCDAttack):
    """As PRBCDAttack, but flips the pairs with the largest gradients right away, some in each step (GRBCD)."""

    def __init__(
        self, model: Any, block_size: int, epochs: int = 125, loss: Any = "masked", is_undirected: bool = True, log: bool = True, **kwargs: Any
    ):
        super().__init__(model, block_size, epochs, loss=loss, is_undirected=is_undirected, log=log, **kwargs)

    def _prepare(self, budget: int) -> Any:
        self.flipped_edges = torch.zeros(2, 0, dtype=torch.long)
        each, more = divmod(budget, self.epochs)
        steps = [each + (k < more) for k in range(self.epochs if each else budget)]
        self._sample_random_block(max(steps, default=0))
        return steps

    def _update(self, step: int, gradient: Any, *args: Any, **kwargs: Any) -> dict[str, float]:
        flips = _largest(gradient.numpy(), step)
        self.flipped_edges = torch.cat([self.flipped_edges, torch.tensor(self.block_edge_index.numpy()[:, flips > 0])], dim=1)
        edges, values = self._get_modified_adj(self.edge_index, self.edge_weight, self.block_edge_index, torch.tensor(flips))
        self.edge_index = _sorted(edges.numpy()[:, values.numpy() == 1])
        self.edge_weight = torch.ones(self.edge_index.size(1))
        self._sample_random_block(step)
        return {"number_positive_entries_in_gradient": float((gradient > 0).sum())}

    def _close(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return self.edge_index, self.flipped_edges


def _largest(values: np.ndarray, k: int) -> np.ndarray:
    """1 at the k largest values, 0 elsewhere."""
    out = np.zeros(values.size, np.float32)
    out[np.argsort(-values, kind="stable")[:k]] = 1
    return out


def _sorted(edges: np.ndarray) -> Any:
    return torch.tensor(np.ascontiguousarray(edges[:, np.lexsort((edges[1], edges[0]))]))


__all__ = ["GRBCDAttack", "PRBCDAttack"]
