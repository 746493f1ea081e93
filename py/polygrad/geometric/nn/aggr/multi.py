"""Several aggregations at once."""

from __future__ import annotations

from typing import Any

from ....nn import Linear
from ....nn.attention import MultiheadAttention
from ....nn.containers import ModuleList
from ....tensor import Tensor
from ..dense.linear import HeteroDictLinear
from ..inits import reset
from ..resolver import aggregation_resolver
from .base import Aggregation
from .utils import reset_attention

_DENSE = ("sum", "mean", "max", "min", "logsumexp", "std", "var")


class MultiAggregation(Aggregation):
    """Several aggregations, combined.

    aggrs: names or Aggregations. aggrs_kwargs: arguments of each that is given by name. mode: 'cat' (beside each other), 'proj' (and
    through a linear layer), 'sum', 'mean', 'max', 'min', 'logsumexp', 'std', 'var' (over the aggregations), or 'attn' (attention among
    them). mode_kwargs: for 'proj' and 'attn' in_channels and out_channels, for 'attn' num_heads.

    Shapes: x [N, F], index [N] of rows; out [R, aggregations * F] (cat), [R, F_out] (proj, attn), else [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MultiAggregation
    >>> MultiAggregation(["mean", "max"])(Tensor([[1.0], [3.0]]), Tensor([0, 0])).tolist()
    [[2.0, 3.0]]
    """

    def __init__(
        self, aggrs: Any, aggrs_kwargs: list[dict[str, Any]] | None = None, mode: str | None = "cat", mode_kwargs: dict[str, Any] | None = None
    ):
        if not isinstance(aggrs, (list, tuple)):
            raise ValueError(f"'aggrs' should be a list or tuple, not {type(aggrs).__name__}")
        if not aggrs:
            raise ValueError("'aggrs' should not be empty")
        if aggrs_kwargs is None:
            aggrs_kwargs = [{}] * len(aggrs)
        elif len(aggrs) != len(aggrs_kwargs):
            raise ValueError(f"'aggrs_kwargs' has {len(aggrs_kwargs)} entries for {len(aggrs)} aggregations")
        self.aggrs = ModuleList([aggregation_resolver(a, **kwargs) for a, kwargs in zip(aggrs, aggrs_kwargs)])
        self.mode = mode
        rest = dict(mode_kwargs or {})
        self.in_channels, self.out_channels = rest.pop("in_channels", None), rest.pop("out_channels", None)
        if mode in ("proj", "attn"):
            self._make(mode, rest)
        elif mode != "cat" and mode not in _DENSE:
            raise ValueError(f"mode must be 'cat', 'proj', 'attn' or one of {', '.join(_DENSE)}, not {mode!r}")

    def _make(self, mode: str, rest: dict[str, Any]) -> None:
        if len(self.aggrs) == 1:
            raise ValueError(f"mode {mode!r} needs several aggregations")
        if self.in_channels is None or self.out_channels is None:
            raise ValueError(f"mode {mode!r} needs 'in_channels' and 'out_channels' in mode_kwargs")
        if isinstance(self.in_channels, int):
            self.in_channels = [self.in_channels] * len(self.aggrs)
        if mode == "proj":
            self.lin = Linear(sum(self.in_channels), self.out_channels, **rest)
        else:
            self.lin_heads = HeteroDictLinear({str(k): v for k, v in enumerate(self.in_channels)}, self.out_channels)
            self.multihead_attn = MultiheadAttention(self.out_channels, rest.pop("num_heads", 1), **rest)

    def reset_parameters(self) -> None:
        for aggr in self.aggrs:
            aggr.reset_parameters()
        if self.mode == "proj":
            reset(self.lin)
        if self.mode == "attn":
            self.lin_heads.reset_parameters()
            reset_attention(self.multihead_attn)

    def get_out_channels(self, in_channels: int) -> int:
        """The number of output features for a number of input features."""
        if self.out_channels is not None:
            return self.out_channels
        return in_channels * len(self.aggrs) if self.mode == "cat" else in_channels

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        return self.combine([aggr(x, index, ptr, dim_size, dim) for aggr in self.aggrs])

    def combine(self, inputs: list[Tensor]) -> Tensor:
        """One value out of those of the aggregations."""
        if len(inputs) == 1:
            return inputs[0]
        if self.mode == "cat":
            return Tensor.cat(*inputs, dim=-1)
        if self.mode == "proj":
            return self.lin(Tensor.cat(*inputs, dim=-1))
        if self.mode == "attn":
            heads = self.lin_heads({str(k): v for k, v in enumerate(inputs)})
            x = Tensor.stack(*[heads[str(k)] for k in range(len(inputs))])
            return self.multihead_attn(x, x, x)[0].mean(0)
        mode = str(self.mode)
        return getattr(Tensor.stack(*inputs), f"a{mode}" if mode in ("max", "min") else mode)(0)

    def __repr__(self) -> str:
        aggrs = "".join(f"  {aggr},\n" for aggr in self.aggrs)
        return f"{type(self).__name__}([\n{aggrs}], mode={self.mode})"


__all__ = ["MultiAggregation"]
