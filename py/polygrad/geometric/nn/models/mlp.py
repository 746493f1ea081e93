"""Multi-layer perceptron."""

from __future__ import annotations

import inspect
from typing import Any

from .... import nn
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import reset
from ..resolver import activation_resolver, normalization_resolver


def takes_batch(norm: Any) -> bool:
    """Does a normalisation ask which graph each node belongs to?"""
    forward = getattr(norm, "forward", None)
    return forward is not None and "batch" in inspect.signature(forward).parameters


class MLP(nn.Module):
    """Linear layers with normalisation, activation and dropout between them.

    Its sizes are a list, MLP([16, 32, 64]), or in_channels, hidden_channels, out_channels and num_layers by keyword. dropout and bias: one
    value, or one for each layer. act, norm: names or modules, or None. act_first: activation before normalisation. plain_last: the last
    layer has neither.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MLP
    >>> mlp = MLP([16, 32, 8])
    >>> mlp, mlp(Tensor.ones(5, 16)).shape
    (MLP(16, 32, 8), (5, 8))
    """

    def __init__(
        self, channel_list: Any = None, *, in_channels: int | None = None, hidden_channels: int | None = None, out_channels: int | None = None,
        num_layers: int | None = None, dropout: Any = 0.0, act: Any = "relu", act_first: bool = False, act_kwargs: dict[str, Any] | None = None,
        norm: Any = "batch_norm", norm_kwargs: dict[str, Any] | None = None, plain_last: bool = True, bias: Any = True, **kwargs: Any,
    ):  # fmt: skip
        act_first = act_first or kwargs.get("relu_first", False)
        if isinstance(kwargs.get("batch_norm"), bool):  # PyG's older argument
            norm, norm_kwargs = ("batch_norm" if kwargs["batch_norm"] else None), kwargs.get("batch_norm_kwargs")
        in_channels = channel_list if isinstance(channel_list, int) else in_channels
        if in_channels is not None:
            channel_list = _sizes(in_channels, hidden_channels, out_channels, num_layers)
        if not isinstance(channel_list, (list, tuple)) or len(channel_list) < 2:
            raise ValueError(f"an MLP needs the sizes of at least its input and output, not {channel_list!r}")
        layers = len(channel_list) - 1
        self.channel_list = channel_list
        self.act = activation_resolver(act, **(act_kwargs or {}))
        self.act_first, self.plain_last = act_first, plain_last
        if isinstance(dropout, (int, float)):
            dropout = [float(dropout)] * layers
            dropout[-1] = 0.0 if plain_last else dropout[-1]
        bias = [bias] * layers if isinstance(bias, bool) else bias
        for name, values in (("dropout", dropout), ("bias", bias)):
            if len(values) != layers:
                raise ValueError(f"Number of {name} values provided ({len(values)}) does not match the number of layers specified ({layers})")
        self.dropout = dropout
        self.lins = nn.ModuleList([Linear(a, b, bias=c) for a, b, c in zip(channel_list[:-1], channel_list[1:], bias)])
        hidden = channel_list[1:-1] if plain_last else channel_list[1:]
        self.norms = nn.ModuleList([nn.Identity() if norm is None else normalization_resolver(norm, h, **(norm_kwargs or {})) for h in hidden])
        self.supports_norm_batch = len(self.norms) > 0 and takes_batch(self.norms[0])

    @property
    def in_channels(self) -> int:
        return self.channel_list[0]

    @property
    def out_channels(self) -> int:
        return self.channel_list[-1]

    @property
    def num_layers(self) -> int:
        return len(self.channel_list) - 1

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (*self.lins, *self.norms):
            reset(part)

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None, return_emb: Any = None) -> Any:
        """batch, batch_size: for normalisations that need them. return_emb=True gives the values before the last layer, too."""
        emb = None
        for lin, norm, p in zip(self.lins, self.norms, self.dropout):
            x = lin(x)
            if self.act is not None and self.act_first:
                x = self.act(x)
            x = norm(x, batch, batch_size) if self.supports_norm_batch else norm(x)
            if self.act is not None and not self.act_first:
                x = self.act(x)
            x = x.dropout(p) if p else x
            emb = x if return_emb is True else None
        if self.plain_last:
            x = self.lins[-1](x)
            x = x.dropout(self.dropout[-1]) if self.dropout[-1] else x
        return (x, emb) if isinstance(return_emb, bool) else x

    def extra_repr(self) -> str:
        return str(list(self.channel_list))[1:-1]


def _sizes(in_channels: int, hidden_channels: int | None, out_channels: int | None, num_layers: int | None) -> list[Any]:
    if num_layers is None:
        raise ValueError("Argument `num_layers` must be given")
    if num_layers > 1 and hidden_channels is None:
        raise ValueError(f"Argument `hidden_channels` must be given for `num_layers={num_layers}`")
    if out_channels is None:
        raise ValueError("Argument `out_channels` must be given")
    return [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]


__all__ = ["MLP", "takes_batch"]
