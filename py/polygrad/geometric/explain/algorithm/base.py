"""What explanation algorithms have in common: their settings, the loss on the model's output, and which nodes and edges an output can see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

from .... import nn
from ....jit import trace
from ....tensor import Tensor
from ...utils._subgraph import get_num_hops, k_hop_subgraph
from ..config import ExplainerConfig, ModelConfig, ModelMode, ModelReturnType
from .masks import layers_of


def index_of(index: Any) -> Any:
    """An index of outputs as a tensor, so that explaining another output runs the same compiled program; a number takes the axis away."""
    if index is None or isinstance(index, Tensor):
        return index
    if isinstance(index, slice):
        return index
    return Tensor(np.asarray(index, np.int64))


def repeat(step: Callable[[], list[Tensor]], reads: list[Tensor], times: int) -> Iterator[list[Tensor]]:
    """Runs a step of training again and again; gives its results after each run. It is compiled once, if the model allows: one that reads values, or
    makes graphs of its own, is called anew for each step. reads: tensors that the step reads, which are computed once, before it."""
    if times < 1:
        return
    for t in reads:
        t.realize()
    try:
        replay, _ = trace(reads[0]._g, lambda _: step(), [])
    except RuntimeError:
        for _ in range(times):
            out = step()
            out[0].realize(*out[1:])
            yield out
        return
    for _ in range(times):
        replay.run()
        yield [replay.output(k) for k in range(replay.n_outputs)]


class ExplainerAlgorithm(nn.Module):
    """Base of the algorithms. Subclasses have `forward(model, x, edge_index, *, target, index=None, **kwargs)`, which gives an Explanation (or a
    HeteroExplanation if x and edge_index are dicts), and `supports()`, which says whether the settings fit.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import Explainer, ExplainerAlgorithm, Explanation
    >>> from polygrad.geometric.nn import GCN
    >>> class Ones(ExplainerAlgorithm):
    ...     def forward(self, model, x, edge_index, *, target, index=None, **kwargs):
    ...         return Explanation(edge_mask=Tensor.ones(edge_index.shape[1]))
    ...
    ...     def supports(self):
    ...         return True
    >>> explainer = Explainer(
    ...     GCN(4, 8, num_layers=2, out_channels=3), Ones(), explanation_type="model", edge_mask_type="object",
    ...     model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    ... )
    >>> explainer(Tensor.ones(3, 4), Tensor([[0, 1, 2], [1, 2, 0]])).edge_mask.tolist()
    [1.0, 1.0, 1.0]
    """

    _explainer_config: ExplainerConfig | None = None
    _model_config: ModelConfig | None = None

    def forward(self, model: Any, x: Any, edge_index: Any, *, target: Any, index: Any = None, **kwargs: Any) -> Any:
        """Computes the explanation of model(x, edge_index, **kwargs) at the given index of its outputs."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def supports(self) -> bool:
        """Do the settings in explainer_config and model_config fit? May say why not by raising a ValueError."""
        raise NotImplementedError(f"{type(self).__name__} has no supports")

    @property
    def explainer_config(self) -> ExplainerConfig:
        if self._explainer_config is None:
            raise ValueError(f"{type(self).__name__} is not yet connected to any settings: give it to an Explainer, or call connect()")
        return self._explainer_config

    @property
    def model_config(self) -> ModelConfig:
        if self._model_config is None:
            raise ValueError(f"{type(self).__name__} is not yet connected to any settings: give it to an Explainer, or call connect()")
        return self._model_config

    def connect(self, explainer_config: Any, model_config: Any) -> None:
        """Takes over the settings, and checks that they are supported."""
        self._explainer_config = ExplainerConfig.cast(explainer_config)
        self._model_config = ModelConfig.cast(model_config)
        if not self.supports():
            raise ValueError(
                f"{type(self).__name__} does not support the given explanation settings: {self._explainer_config}, {self._model_config}"
            )  # fmt: skip

    def _refuse(self, why: str) -> bool:
        raise ValueError(f"{type(self).__name__} does not support the given explanation settings: {why}")

    # ---- helpers ----

    @staticmethod
    def _post_process_mask(mask: Tensor | None, hard_mask: Tensor | None = None, apply_sigmoid: bool = True) -> Tensor | None:
        """The values of a mask, 0 where the hard mask says that nothing flows."""
        if mask is None:
            return None
        mask = mask.detach()
        mask = mask.sigmoid() if apply_sigmoid else mask
        if hard_mask is not None and mask.shape[0] == hard_mask.shape[0]:
            mask = hard_mask.reshape(*hard_mask.shape, *[1] * (mask.ndim - hard_mask.ndim)).where(mask, 0.0)
        return mask.realize()

    @staticmethod
    def _get_hard_masks(model: Any, node_index: Any, edge_index: Tensor, num_nodes: int) -> tuple[Tensor | None, Tensor | None]:
        """Masks [V] and [E] of what the model can see from the given nodes; None for all."""
        if node_index is None:
            return None, None
        index = node_index.reshape(-1) if isinstance(node_index, Tensor) else node_index
        nodes, _, _, edge_mask = k_hop_subgraph(
            index, get_num_hops(model), edge_index, num_nodes=num_nodes, flow=ExplainerAlgorithm._flow(model)
        )  # fmt: skip
        seen = np.zeros(num_nodes, np.bool_)
        seen[nodes.numpy()] = True
        return Tensor(seen), edge_mask

    @staticmethod
    def _num_hops(model: Any) -> int:
        return get_num_hops(model)

    @staticmethod
    def _flow(model: Any) -> str:
        return next((layer.flow for layer in layers_of(model)), "source_to_target")

    def _output_loss(self, y_hat: Tensor, y: Tensor) -> Tensor:
        """How far the model's output is from the target, by the mode of the model."""
        mode, returns = self.model_config.mode, self.model_config.return_type
        if mode == ModelMode.regression:
            return y_hat.mse_loss(y)
        if mode == ModelMode.binary_classification:
            y_hat, y = y_hat.reshape(y.shape), y.cast(y_hat.dtype)
            return y_hat.binary_crossentropy_logits(y) if returns == ModelReturnType.raw else y_hat.binary_crossentropy(y)
        if y_hat.ndim == 1:  # of one output
            y_hat, y = y_hat.unsqueeze(0), y.reshape(1)
        if returns == ModelReturnType.raw:
            return y_hat.cross_entropy(y)
        return (y_hat.log() if returns == ModelReturnType.probs else y_hat).nll_loss(y)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


__all__ = ["ExplainerAlgorithm", "index_of", "repeat"]
