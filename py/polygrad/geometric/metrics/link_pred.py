"""Measures of ranked predictions: for each source node the k destinations that are predicted first, against its true ones.

All of them are collected batch by batch: `update(pred_index_mat, edge_label_index, edge_label_weight=None)`, `compute()`, `reset()`.
pred_index_mat [N, K]: destinations by rank. edge_label_index: [2, L], or a pair of vectors, (row of pred_index_mat, true destination).
edge_label_weight [L]: how relevant these are, for weighted measures; those of weight 0 or less do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...nn import Module
from ...tensor import Tensor
from ..data._values import to_array


class LinkPredMetricData:
    """One batch of predictions and truth; what several measures need of it is computed once.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredMetricData
    >>> data = LinkPredMetricData(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> data.pred_rel_mat.tolist(), data.label_count.tolist()
    ([[False, True], [False, False]], [2, 1])
    """

    def __init__(self, pred_index_mat: Any, edge_label_index: Any, edge_label_weight: Any = None):
        self.pred_index_mat = pred_index_mat if isinstance(pred_index_mat, Tensor) else Tensor(np.asarray(pred_index_mat))
        if self.pred_index_mat.ndim != 2:
            raise ValueError(f"pred_index_mat has two axes, sources and ranks, not the shape {self.pred_index_mat.shape}")
        row, col = (to_array(edge_label_index[k]).reshape(-1).astype(np.int64) for k in (0, 1))
        weight = None if edge_label_weight is None else to_array(edge_label_weight).reshape(-1).astype(np.float32)
        if weight is not None:
            if weight.shape != row.shape:
                raise ValueError(f"edge_label_weight has {weight.size} entries for {row.size} labels")
            row, col, weight = row[weight > 0], col[weight > 0], weight[weight > 0]
        rows = int(self.pred_index_mat.shape[0])
        if row.size and (row.min() < 0 or row.max() >= rows):
            raise ValueError(f"edge_label_index names the sources {row.min()} to {row.max()}, but there are predictions for {rows}")
        self._row, self._col, self._weight = row, col, weight
        self._found: dict[str, Any] = {}

    def _once(self, name: str, make: Any) -> Any:
        if name not in self._found:
            self._found[name] = make()
        return self._found[name]

    @property
    def edge_label_index(self) -> tuple[Tensor, Tensor]:
        return Tensor(self._row), Tensor(self._col)

    @property
    def edge_label_weight(self) -> Tensor | None:
        return None if self._weight is None else Tensor(self._weight)

    def unweighted(self) -> LinkPredMetricData:
        """The same without weights: what has one counts as relevant."""
        if self._weight is None:
            return self
        out = LinkPredMetricData(self.pred_index_mat, (self._row, self._col))
        return out

    def _relevance(self) -> np.ndarray:
        pred = to_array(self.pred_index_mat).astype(np.int64)
        kind = np.bool_ if self._weight is None else np.float32
        if not self._col.size or not pred.size:
            return np.zeros(pred.shape, kind)
        span = max(int(pred.max()), int(self._col.max())) + 1
        labels = self._row * span + self._col
        order = np.argsort(labels, kind="stable")
        labels = labels[order]
        wanted = pred + np.arange(pred.shape[0])[:, None] * span
        place = np.minimum(np.searchsorted(labels, wanted), labels.size - 1)
        hit = labels[place] == wanted
        return hit if self._weight is None else np.where(hit, self._weight[order][place], np.float32(0))

    @property
    def pred_rel_mat(self) -> Tensor:
        """[N, K]: is each prediction true, or how relevant is it?"""
        return self._once("relevance", lambda: Tensor(self._relevance()))

    @property
    def label_count(self) -> Tensor:
        """[N]: how many true destinations each source has."""
        return self._once("count", lambda: Tensor(np.bincount(self._row, minlength=int(self.pred_index_mat.shape[0]))))

    @property
    def label_weight_sum(self) -> Tensor:
        """[N]: the sum of their weights."""
        if self._weight is None:
            return self.label_count
        sums = np.bincount(self._row, self._weight, minlength=int(self.pred_index_mat.shape[0])).astype(np.float32)
        return self._once("sum", lambda: Tensor(sums))

    @property
    def best_gains(self) -> tuple[np.ndarray, np.ndarray]:
        """For each label its row, and at which rank it would stand if the labels of its row were sorted by weight."""
        weight = np.ones(self._row.size, np.float32) if self._weight is None else self._weight
        order = np.lexsort((-weight, self._row))
        first = np.concatenate([[0], np.cumsum(np.bincount(self._row, minlength=int(self.pred_index_mat.shape[0])))])
        rank = np.empty(order.size, np.int64)
        rank[order] = np.arange(order.size) - first[self._row[order]]
        return self._row, rank


class _LinkPredMetric(Module):
    """Base of all measures. k: how many predictions count."""

    is_differentiable = False
    full_state_update = False
    higher_is_better: bool | None = None

    def __init__(self, k: int):
        if k <= 0:
            raise ValueError(f"'k' needs to be a positive integer in {type(self).__name__}, not {k}")
        self.k = k

    def _state_items(self) -> dict[str, Any]:
        return {}  # what is collected is no parameter

    def update(self, pred_index_mat: Any, edge_label_index: Any, edge_label_weight: Any = None) -> None:
        """Adds a batch."""
        raise NotImplementedError(f"{type(self).__name__} has no update")

    def compute(self) -> Tensor:
        """The measure over all batches since the last reset."""
        raise NotImplementedError(f"{type(self).__name__} has no compute")

    def reset(self) -> None:
        """Forgets all batches."""
        self._reset()

    def _reset(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _reset")

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """The measure of one batch, which is added as well."""
        one = type(self).__new__(type(self))
        one.__dict__.update(self.__dict__)
        one._reset()
        one.update(*args, **kwargs)
        self.update(*args, **kwargs)
        return one.compute()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k})"


class _Mean(_LinkPredMetric):
    """A measure that is the mean of a number for each source."""

    def __init__(self, k: int):
        super().__init__(k)
        self._reset()

    def _reset(self) -> None:
        self._accum, self._total = 0.0, 0

    @property
    def accum(self) -> Tensor:
        return Tensor(np.float32(self._accum).reshape(()))

    @property
    def total(self) -> Tensor:
        return Tensor(np.array(self._total))

    def compute(self) -> Tensor:
        return Tensor(np.array(self._accum / self._total if self._total else 0.0, np.float32))


class LinkPredMetric(_Mean):
    """Base of measures against true destinations: the mean over the sources that have some. A subclass has `_compute(data)`, which gives a number for
    each source.

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination); compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredMetric, LinkPredPrecision
    >>> metric = LinkPredPrecision(k=2)
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> isinstance(metric, LinkPredMetric), float(metric.compute())
    (True, 0.25)
    """

    weighted = False

    def update(self, pred_index_mat: Any, edge_label_index: Any, edge_label_weight: Any = None) -> None:
        if self.weighted and edge_label_weight is None:
            raise ValueError(f"'edge_label_weight' is a required argument for {self!r}")
        self._update(LinkPredMetricData(pred_index_mat, edge_label_index, edge_label_weight if self.weighted else None))

    def _update(self, data: LinkPredMetricData) -> None:
        self._accum += float(self._compute(data).sum().item())
        self._total += int((data.label_count > 0).sum().item())

    def _compute(self, data: LinkPredMetricData) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _compute")

    def _first(self, data: LinkPredMetricData) -> Tensor:
        """The relevance of the first k predictions, as numbers."""
        # Stored, so that sums are taken in one order however many predictions the matrix has.
        return data.pred_rel_mat[:, : self.k].cast("float32").contiguous()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k}{', weighted=True' if self.weighted else ''})"


class LinkPredPrecision(LinkPredMetric):
    """How many of the first k predictions are true: |P_k and T| / k.

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination); compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredPrecision
    >>> metric = LinkPredPrecision(k=2)
    >>> metric.update(Tensor([[1, 0], [1, 2]]), Tensor([[0, 0, 1, 1], [0, 1, 2, 3]]))
    >>> metric.compute().item()
    0.75
    """

    higher_is_better = True

    def _compute(self, data: LinkPredMetricData) -> Tensor:
        return self._first(data).sum(-1) / self.k


class LinkPredRecall(LinkPredMetric):
    """How many of the true destinations are among the first k predictions: |P_k and T| / |T|, or their weights.

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination); compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredRecall
    >>> metric = LinkPredRecall(k=2)
    >>> metric.update(Tensor([[1, 0], [1, 2]]), Tensor([[0, 0, 1, 1], [0, 1, 2, 3]]))
    >>> metric.compute().item()
    0.75
    """

    higher_is_better = True

    def __init__(self, k: int, weighted: bool = False):
        super().__init__(k)
        self.weighted = weighted

    def _compute(self, data: LinkPredMetricData) -> Tensor:
        return self._first(data).sum(-1) / data.label_weight_sum.cast("float32").maximum(1e-7)


class LinkPredF1(LinkPredMetric):
    """The harmonic mean of precision and recall, for each source: 2 P R / (P + R).

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination); compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredF1
    >>> metric = LinkPredF1(k=2)
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> round(float(metric.compute()), 4)
    0.25
    """

    higher_is_better = True

    def _compute(self, data: LinkPredMetricData) -> Tensor:
        hits = self._first(data).sum(-1)
        precision, recall = hits / self.k, hits / data.label_count.cast("float32").maximum(1e-7)
        return 2 * precision * recall / (precision + recall).maximum(1e-7)


class LinkPredMAP(LinkPredMetric):
    """Mean average precision: the sum over true predictions at rank r <= k of the precision at r, divided by min(|T|, k).

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination); compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredMAP
    >>> metric = LinkPredMAP(k=2)
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> round(float(metric.compute()), 4)
    0.125
    """

    higher_is_better = True

    def _compute(self, data: LinkPredMetricData) -> Tensor:
        first = self._first(data)
        precision = first.cumsum(1) / Tensor.arange(1, first.shape[1] + 1)
        return (precision * first).sum(-1) / data.label_count.cast("float32").clamp(1e-7, float(self.k))


class LinkPredNDCG(LinkPredMetric):
    """Normalised discounted cumulative gain: the sum of relevance / log2(rank + 1) over the first k predictions, divided by the largest that
    the labels allow.

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination), edge_label_weight [N]; compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredNDCG
    >>> metric = LinkPredNDCG(k=2)
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> round(float(metric.compute()), 4)
    0.1934
    """

    higher_is_better = True

    def __init__(self, k: int, weighted: bool = False):
        super().__init__(k)
        self.weighted = weighted

    def _compute(self, data: LinkPredMetricData) -> Tensor:
        first = self._first(data)
        discount = np.log2(np.arange(2, self.k + 2)).astype(np.float32)
        gained = (first / Tensor(discount[: first.shape[1]])).sum(-1)
        row, rank = data.best_gains
        weight = np.ones(row.size, np.float32) if data._weight is None else data._weight
        inside = rank < self.k
        best = np.bincount(row[inside], weight[inside] / discount[rank[inside]], minlength=int(first.shape[0])).astype(np.float32)
        return gained * Tensor(np.divide(1.0, best, out=np.zeros_like(best), where=best > 0))


class LinkPredMRR(LinkPredMetric):
    """Mean reciprocal rank: 1 / the rank of the first true prediction, 0 if there is none among the first k.

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination); compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredMRR
    >>> metric = LinkPredMRR(k=2)
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> round(float(metric.compute()), 4)
    0.25
    """

    higher_is_better = True

    def _compute(self, data: LinkPredMetricData) -> Tensor:
        first = self._first(data)
        if not first.shape[1]:
            return first.sum(-1)
        return (first / Tensor.arange(1, first.shape[1] + 1)).amax(-1)


class LinkPredHitRatio(LinkPredMetric):
    """1 for sources of which at least one of the first k predictions is true, else 0.

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination); compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredHitRatio
    >>> metric = LinkPredHitRatio(k=2)
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> round(float(metric.compute()), 4)
    0.5
    """

    higher_is_better = True

    def _compute(self, data: LinkPredMetricData) -> Tensor:
        first = self._first(data)
        return first.amax(-1) if first.shape[1] else first.sum(-1)


class LinkPredCoverage(_LinkPredMetric):
    """How many of num_dst_nodes destinations are predicted for any source.

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination); compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredCoverage
    >>> metric = LinkPredCoverage(k=2, num_dst_nodes=8)
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> round(float(metric.compute()), 4)
    0.5
    """

    higher_is_better = True

    def __init__(self, k: int, num_dst_nodes: int):
        super().__init__(k)
        self.num_dst_nodes = num_dst_nodes
        self._reset()

    def _reset(self) -> None:
        self._mask = np.zeros(self.num_dst_nodes, np.bool_)

    @property
    def mask(self) -> Tensor:
        return Tensor(self._mask)

    def update(self, pred_index_mat: Any, edge_label_index: Any = None, edge_label_weight: Any = None) -> None:
        self._mask[to_array(pred_index_mat)[:, : self.k].reshape(-1)] = True

    def compute(self) -> Tensor:
        return Tensor(np.array(self._mask.mean(), np.float32))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k}, num_dst_nodes={self.num_dst_nodes})"


class LinkPredDiversity(_Mean):
    """How different the categories of a source's predictions are: 1 - (pairs of the first k of the same category) / (k (k - 1)).

    category [destinations].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredDiversity
    >>> metric = LinkPredDiversity(k=2, category=Tensor([0, 1, 1, 2]))
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> round(float(metric.compute()), 4)
    0.5
    """

    higher_is_better = True

    def __init__(self, k: int, category: Any):
        super().__init__(k)
        self._category = category if isinstance(category, Tensor) else Tensor(np.asarray(category))

    def update(self, pred_index_mat: Any, edge_label_index: Any = None, edge_label_weight: Any = None) -> None:
        pred = pred_index_mat if isinstance(pred_index_mat, Tensor) else Tensor(np.asarray(pred_index_mat))
        kind = self._category[pred[:, : self.k]]
        same = (kind.unsqueeze(-2) == kind.unsqueeze(-1)).cast("float32").sum(-1)
        spread = 1 - (same - 1).sum(-1) / (self.k * (self.k - 1)) if self.k > 1 else (same - 1).sum(-1) * float("nan")
        self._accum += float(spread.sum().item())
        self._total += int(pred.shape[0])


class LinkPredPersonalization(_LinkPredMetric):
    """How different the predictions of two sources are: 1 - |P and Q| / k, the mean over all pairs.

    max_src_nodes: only the first max_src_nodes sources are compared; None for all. batch_size: how many pairs at a time.

    Shapes: pred_index_mat [S, k], edge_label_index [2, N] of (source, destination); compute() gives a number.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredPersonalization
    >>> metric = LinkPredPersonalization(k=2)
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> round(float(metric.compute()), 4)
    1.0
    """

    higher_is_better = True

    def __init__(self, k: int, max_src_nodes: int | None = 2**12, batch_size: int = 2**16):
        super().__init__(k)
        self.max_src_nodes, self.batch_size = max_src_nodes, batch_size
        self._reset()

    def _reset(self) -> None:
        self.preds: list[np.ndarray] = []
        self._total = 0

    def update(self, pred_index_mat: Any, edge_label_index: Any = None, edge_label_weight: Any = None) -> None:
        pred = to_array(pred_index_mat)[:, : self.k]
        if self.max_src_nodes is not None:
            pred = pred[: max(0, self.max_src_nodes - self._total)]
        if pred.shape[0]:
            self.preds.append(pred.astype(np.int64))
            self._total += pred.shape[0]

    def compute(self) -> Tensor:
        if self._total < 2:
            return Tensor(np.array(0.0 if not self._total else np.nan, np.float32))
        pred = np.concatenate(self.preds)
        n, k = pred.shape
        span = int(pred.max()) + 1
        # Which (source, destination) occur, sorted: whether a pair of sources shares one is a search.
        keys = np.unique(pred + np.arange(n)[:, None] * span)
        shared, lines = 0, max(1, self.batch_size // max(n, 1))
        for start in range(0, n, lines):  # lines of sources against all that come later
            left = pred[start : start + lines]
            for other in range(start + 1, n, lines):
                rows = np.arange(other, min(other + lines, n))
                wanted = left[:, None, :] + (rows * span)[None, :, None]
                place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
                later = rows[None, :] > (start + np.arange(left.shape[0]))[:, None]
                shared += int(((keys[place] == wanted).sum(-1) * later).sum())
        pairs = n * (n - 1) // 2
        return Tensor(np.array(1 - shared / (k * pairs), np.float32))


class LinkPredAveragePopularity(_Mean):
    """The mean popularity of the first k predictions; low is better for what is rare.

    popularity [destinations], such as how often each occurs in the training data.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredAveragePopularity
    >>> metric = LinkPredAveragePopularity(k=2, popularity=Tensor([1, 2, 3, 6]))
    >>> metric.update(Tensor([[1, 2], [0, 3]]), Tensor([[0, 0, 1], [2, 3, 1]]))
    >>> round(float(metric.compute()), 4)
    3.0
    """

    higher_is_better = False

    def __init__(self, k: int, popularity: Any):
        super().__init__(k)
        self._popularity = popularity if isinstance(popularity, Tensor) else Tensor(np.asarray(popularity))

    def update(self, pred_index_mat: Any, edge_label_index: Any = None, edge_label_weight: Any = None) -> None:
        pred = pred_index_mat if isinstance(pred_index_mat, Tensor) else Tensor(np.asarray(pred_index_mat))
        self._accum += float(self._popularity[pred[:, : self.k]].cast("float32").mean(-1).sum().item())
        self._total += int(pred.shape[0])


class LinkPredMetricCollection(Module):
    """Several measures, updated together: what they share is computed once.

    metrics: a list, whose names are then like 'LinkPredRecall@10', or a dict by names.

    Shapes: those of the measures; compute() gives {name: number}.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.metrics import LinkPredMetricCollection, LinkPredMRR, LinkPredPrecision
    >>> metrics = LinkPredMetricCollection([LinkPredPrecision(k=1), LinkPredMRR(k=2)])
    >>> metrics.update(Tensor([[1, 0], [1, 2]]), Tensor([[0, 0, 1], [0, 1, 2]]))
    >>> {name: value.item() for name, value in metrics.compute().items()}
    {'LinkPredPrecision@1': 0.5, 'LinkPredMRR@2': 0.75}
    """

    def __init__(self, metrics: Any):
        if isinstance(metrics, (list, tuple)):
            metrics = {f"{'Weighted' if getattr(m, 'weighted', False) else ''}{type(m).__name__}@{m.k}": m for m in metrics}
        if not metrics:
            raise ValueError("a collection needs at least one measure")
        for name, metric in metrics.items():
            if not isinstance(metric, _LinkPredMetric):
                raise TypeError(f"{name!r} is a {type(metric).__name__}, not a measure of links")
        self._metrics = dict(metrics)

    def __getitem__(self, name: str) -> Any:
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def keys(self) -> Any:
        return self._metrics.keys()

    def values(self) -> Any:
        return self._metrics.values()

    def items(self) -> Any:
        return self._metrics.items()

    @property
    def max_k(self) -> int:
        """How many predictions are needed."""
        return max(metric.k for metric in self.values())

    @property
    def weighted(self) -> bool:
        """Does one of the measures need weights?"""
        return any(getattr(metric, "weighted", False) for metric in self.values())

    def update(self, pred_index_mat: Any, edge_label_index: Any, edge_label_weight: Any = None) -> None:
        """Adds a batch to all measures."""
        if self.weighted and edge_label_weight is None:
            raise ValueError("'edge_label_weight' is needed for weighted measures")
        data = LinkPredMetricData(pred_index_mat, edge_label_index, edge_label_weight)
        plain = data.unweighted()
        for metric in self.values():
            if isinstance(metric, LinkPredMetric):
                metric._update(data if metric.weighted else plain)
            else:
                metric.update(pred_index_mat, edge_label_index, edge_label_weight)

    def compute(self) -> dict[str, Tensor]:
        """All measures by name."""
        return {name: metric.compute() for name, metric in self.items()}

    def reset(self) -> None:
        """Forgets all batches."""
        for metric in self.values():
            metric.reset()

    def __repr__(self) -> str:
        return f"{type(self).__name__}([\n" + "".join(f"  {name}: {metric},\n" for name, metric in self.items()) + "])"


__all__ = [
    "LinkPredAveragePopularity", "LinkPredCoverage", "LinkPredDiversity", "LinkPredF1", "LinkPredHitRatio", "LinkPredMAP", "LinkPredMRR",
    "LinkPredMetric", "LinkPredMetricCollection", "LinkPredMetricData", "LinkPredNDCG", "LinkPredPersonalization", "LinkPredPrecision",
    "LinkPredRecall",
]  # fmt: skip
