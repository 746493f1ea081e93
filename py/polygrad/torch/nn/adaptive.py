"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes, in clusters of rarer and rarer ones."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from typing import Any, NamedTuple

from ... import nn as _nn
from .. import functions as torch
from .._surface import lift
from .module import Module, ModuleList, Sequential

Linear = lift(_nn.Linear, "polygrad.torch.nn")


class ASMoutput(NamedTuple):
    """What AdaptiveLogSoftmaxWithLoss gives: the log probability of each target, and the mean of their negatives."""

    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):  # type: ignore[valid-type, misc]
    """The head has the classes up to cutoffs[0] and one entry for each cluster; cluster i, whose classes lie between cutoffs[i] and cutoffs[i + 1],
    is computed from in_features / div_value ** (i + 1) features, for the rows whose target is in it.

    in_features: width of the rows. n_classes: number of classes, sorted by frequency. cutoffs: ends of clusters but the last. head_bias: adds
    one to the head.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Any, div_value: float = 4.0, head_bias: bool = False, device: Any = None, dtype: Any = None
    ):  # fmt: skip
        super().__init__()
        ends = [int(c) for c in cutoffs]
        if not ends or ends != sorted(set(ends)) or ends[0] <= 0 or ends[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, each between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs, self.div_value, self.head_bias = (
            in_features,
            n_classes,
            [*ends, n_classes],
            div_value,
            head_bias,
        )
        self.shortlist_size, self.n_clusters = ends[0], len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, width, bias=False), Linear(width, size, bias=False)))

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input: Any, target: Any) -> ASMoutput:  # noqa: A002
        rows, wanted = (input.unsqueeze(0), target.reshape(1)) if input.ndim == 1 else (input, target)
        head = self.head(rows).log_softmax(1)
        place = wanted
        for i in range(self.n_clusters):
            place = torch.where(wanted >= self.cutoffs[i], self.shortlist_size + i, place)
        out = head.gather(1, place.unsqueeze(1)).squeeze(1)
        for i, cluster in enumerate(self.tail):
            inside = ((wanted >= self.cutoffs[i]) & (wanted < self.cutoffs[i + 1])).nonzero().reshape(-1)
            if inside.numel():
                local = cluster(rows[inside]).log_softmax(1)
                out = out.index_add(0, inside, local.gather(1, (wanted[inside] - self.cutoffs[i]).unsqueeze(1)).squeeze(1))
        return ASMoutput(out.squeeze(0) if input.ndim == 1 else out, -out.mean())

    def log_prob(self, input: Any) -> Any:  # noqa: A002
        """The log probabilities of all classes."""
        head = self.head(input).log_softmax(1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(cluster(input).log_softmax(1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return torch.cat(parts, 1)

    def predict(self, input: Any) -> Any:  # noqa: A002
        """The most likely class of each row."""
        return self.log_prob(input).argmax(1)


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
