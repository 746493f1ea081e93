"""Losses as modules, with PyTorch's arguments in PyTorch's order."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import f_losses as F
from .module import Module, named_arguments


class _Loss(Module):
    """Calls a function of nn.functional; settings are attributes under PyTorch's names."""

    function = ""
    names: tuple[str, ...] = ()  # arguments in PyTorch's order
    defaults: dict[str, Any] = {}
    inputs = 2

    def __init__(self, *args: Any, **kwargs: Any):
        given = named_arguments(self, self.names, args, kwargs)
        settings = {n: given.get(n, self.defaults.get(n)) for n in self.names}
        settings["reduction"] = F._reduction(settings.pop("size_average", None), settings.pop("reduce", None), settings["reduction"] or "mean")
        if settings["reduction"] not in ("none", "mean", "sum", "batchmean"):
            raise ValueError(f"{settings['reduction']} is not a valid value for reduction")
        for n in ("weight", "pos_weight"):
            if settings.get(n) is not None:
                self.register_buffer(n, settings[n])
        self._settings = tuple(settings)
        self.__dict__.update({n: v for n, v in settings.items() if n not in self.__dict__})

    def forward(self, *args: Any) -> Tensor:
        if len(args) != self.inputs:
            raise TypeError(f"{type(self).__name__} takes {self.inputs} tensors, got {len(args)}")
        return getattr(F, self.function)(*args, **{n: getattr(self, n) for n in self._settings})


_OLD = ("size_average", "reduce", "reduction")


def _loss(name: str, function: str, *names: str, inputs: int = 2, **defaults: Any) -> type[_Loss]:
    members = {"function": function, "names": names, "defaults": defaults, "inputs": inputs}
    return type(name, (_Loss,), {**members, "__doc__": f"functional.{function} as a module.", "__module__": __name__})


L1Loss = _loss("L1Loss", "l1_loss", *_OLD)
MSELoss = _loss("MSELoss", "mse_loss", *_OLD)
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", *_OLD, "beta", beta=1.0)
HuberLoss = _loss("HuberLoss", "huber_loss", "reduction", "delta", delta=1.0)
NLLLoss = _loss("NLLLoss", "nll_loss", "weight", "size_average", "ignore_index", "reduce", "reduction", ignore_index=-100)
CrossEntropyLoss = _loss(
    "CrossEntropyLoss", "cross_entropy", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing",
    ignore_index=-100, label_smoothing=0.0,
)  # fmt: skip
BCELoss = _loss("BCELoss", "binary_cross_entropy", "weight", *_OLD)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "weight", *_OLD, "pos_weight")
KLDivLoss = _loss("KLDivLoss", "kl_div", *_OLD, "log_target", log_target=False)
PoissonNLLLoss = _loss(
    "PoissonNLLLoss", "poisson_nll_loss", "log_input", "full", "size_average", "eps", "reduce", "reduction",
    log_input=True, full=False, eps=1e-8,
)  # fmt: skip
GaussianNLLLoss = _loss("GaussianNLLLoss", "gaussian_nll_loss", "full", "eps", "reduction", inputs=3, full=False, eps=1e-6)
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", "margin", *_OLD, inputs=3, margin=0.0)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", "margin", *_OLD, margin=1.0)
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss", *_OLD)
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", "weight", *_OLD)
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", "multilabel_margin_loss", *_OLD)
MultiMarginLoss = _loss("MultiMarginLoss", "multi_margin_loss", "p", "margin", "weight", *_OLD, p=1, margin=1.0)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", "margin", *_OLD, inputs=3, margin=0.0)
TripletMarginLoss = _loss(
    "TripletMarginLoss", "triplet_margin_loss", "margin", "p", "eps", "swap", *_OLD, inputs=3, margin=1.0, p=2.0, eps=1e-6, swap=False
)
CTCLoss = _loss("CTCLoss", "ctc_loss", "blank", "reduction", "zero_infinity", inputs=4, blank=0, zero_infinity=False)


class TripletMarginWithDistanceLoss(Module):
    """functional.triplet_margin_with_distance_loss as a module."""

    def __init__(self, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"):
        self._distance, self.margin, self.swap, self.reduction = distance_function, margin, swap, reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self._distance, margin=self.margin, swap=self.swap, reduction=self.reduction
        )


class CosineSimilarity(Module):
    """functional.cosine_similarity as a module."""

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """functional.pairwise_distance as a module."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PairwiseDistance", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip
