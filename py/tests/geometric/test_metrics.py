"""polygrad.geometric.metrics: values against PyTorch Geometric, batches, collections and limits."""

from __future__ import annotations

import numpy as np
import pytest
from golden import Case, close

from polygrad import Tensor
from polygrad.geometric import metrics as m

CASE = Case("link_metrics")
MAKE = {
    "precision": lambda k: m.LinkPredPrecision(k), "recall": lambda k: m.LinkPredRecall(k), "recall_w": lambda k: m.LinkPredRecall(k, weighted=True),
    "f1": lambda k: m.LinkPredF1(k), "map": lambda k: m.LinkPredMAP(k), "ndcg": lambda k: m.LinkPredNDCG(k),
    "ndcg_w": lambda k: m.LinkPredNDCG(k, weighted=True), "mrr": lambda k: m.LinkPredMRR(k), "hit": lambda k: m.LinkPredHitRatio(k),
    "coverage": lambda k: m.LinkPredCoverage(k, 20), "personalization": lambda k: m.LinkPredPersonalization(k),
    "popularity": lambda k: m.LinkPredAveragePopularity(k, CASE.t("popularity")), "diversity": lambda k: m.LinkPredDiversity(k, CASE.t("category")),
}  # fmt: skip


def batches():
    return [(CASE.t(f"pred{b}"), CASE.t(f"label{b}"), CASE.t(f"weight{b}")) for b in (0, 1)]


@pytest.mark.parametrize("name", [n for n in CASE.arrays if "@" in n])
def test_as_pyg(name):
    kind, k = name.split("@")
    metric = MAKE[kind](int(k))
    for batch in batches():
        metric.update(*batch)
    close(metric.compute(), CASE[name])
    assert metric.compute().shape == ()
    metric.reset()
    metric.update(*batches()[0])
    first = metric.compute().item()
    metric.reset()
    metric.update(*batches()[0])
    assert metric.compute().item() == first


def test_collection():
    """All together give what each gives alone, weighted ones beside others."""
    kinds = ["precision", "recall_w", "ndcg", "ndcg_w", "coverage", "mrr"]
    collection = m.LinkPredMetricCollection([MAKE[kind](3) for kind in kinds])
    assert list(collection)[1] == "WeightedLinkPredRecall@3" and collection.max_k == 3 and collection.weighted and len(collection) == 6
    alone = m.LinkPredMetricCollection({kind: MAKE[kind](3) for kind in kinds})
    for batch in batches():
        collection.update(*batch)
        for kind in kinds:
            positive = batch[2].numpy() > 0
            given = batch if kind.endswith("_w") else (batch[0], Tensor(batch[1].numpy()[:, positive]))
            alone[kind].update(*given)
    for a, b in zip(collection.compute().values(), alone.compute().values()):
        close(a, b.numpy())
    assert "LinkPredMRR@3: LinkPredMRR(k=3)" in repr(collection)
    collection.reset()
    assert collection.compute()["LinkPredPrecision@3"].item() == 0
    with pytest.raises(ValueError, match="edge_label_weight"):
        collection.update(*batches()[0][:2])
    with pytest.raises(TypeError, match="not a measure"):
        m.LinkPredMetricCollection({"a": 3})


def test_pairs_and_arrays():
    """Labels may be a pair of vectors, and everything may be arrays."""
    a, b = m.LinkPredRecall(2), m.LinkPredRecall(2)
    pred, label = np.array([[1, 2, 3], [0, 1, 2]]), np.array([[0, 0, 1], [1, 3, 2]])
    a.update(Tensor(pred), (Tensor(label[0]), Tensor(label[1])))
    b.update(pred, label)
    assert a.compute().item() == b.compute().item() == 0.25
    assert a(pred, label).item() == 0.25 and a.compute().item() == 0.25


def test_limits():
    metric = m.LinkPredPrecision(5)
    assert metric.compute().item() == 0
    metric.update(Tensor([[0, 1]]), Tensor(np.zeros((2, 0), np.int64)))
    assert metric.compute().item() == 0
    with pytest.raises(ValueError, match="positive"):
        m.LinkPredMAP(0)
    with pytest.raises(ValueError, match="edge_label_weight"):
        m.LinkPredNDCG(2, weighted=True).update(Tensor([[0]]), Tensor([[0], [0]]))
    with pytest.raises(ValueError, match="predictions for 1"):
        metric.update(Tensor([[0]]), Tensor([[3], [0]]))
    with pytest.raises(ValueError, match="two axes"):
        metric.update(Tensor([0, 1]), Tensor([[0], [0]]))
    few = m.LinkPredPersonalization(2, max_src_nodes=3)
    few.update(Tensor([[0, 1], [0, 2], [3, 4], [0, 1]]), None)
    close(few.compute(), (0.5 + 1 + 1) / 3)
    many = m.LinkPredPersonalization(2, batch_size=1)
    many.update(Tensor([[0, 1], [0, 2], [3, 4], [0, 1]]), None)
    close(many.compute(), 1 - (0.5 + 0 + 1 + 0 + 0.5 + 0) / 6)
