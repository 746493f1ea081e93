"""All layers' outputs together."""

from __future__ import annotations

from .... import nn
from ....tensor import Tensor
from ..inits import uniform


class JumpingKnowledge(nn.Module):
    """One value for each node out of those after every layer (Xu et al., 2018).

    mode: 'cat' joins them, 'max' takes the largest, 'lstm' weighs them by scores of a bidirectional LSTM over the layers.

    Shapes: a list of [V, F]; out [V, F], or [V, sum of F] for "cat".

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import JumpingKnowledge
    >>> JumpingKnowledge("cat")([Tensor.ones(4, 2), Tensor.ones(4, 3)]).shape
    (4, 5)
    """

    def __init__(self, mode: str, channels: int | None = None, num_layers: int | None = None):
        self.mode = mode.lower()
        if self.mode not in ("cat", "max", "lstm"):
            raise ValueError(f"mode must be 'cat', 'max' or 'lstm', not {mode!r}")
        self.channels = self.num_layers = None
        self.lstm, self.att = None, None
        if self.mode == "lstm":
            if channels is None or num_layers is None:
                raise ValueError("the mode 'lstm' needs channels and num_layers")
            hidden = (num_layers * channels) // 2
            self.lstm = nn.LSTM(channels, hidden, bidirectional=True, batch_first=True)
            self.att = nn.Linear(2 * hidden, 1)
            self.channels, self.num_layers = channels, num_layers

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        if self.lstm is not None and self.att is not None:
            uniform(self.lstm.hidden_size, self.lstm)
            uniform(int(self.att.weight.shape[1]), self.att)

    def forward(self, xs: list[Tensor]) -> Tensor:
        if self.mode == "cat":
            return Tensor.cat(*xs, dim=-1)
        if self.mode == "max":
            return Tensor.stack(*xs, dim=-1).amax(-1)
        assert self.lstm is not None and self.att is not None
        x = Tensor.stack(*xs, dim=1)  # [nodes, layers, channels]
        alpha = self.att(self.lstm(x)[0]).squeeze(-1).softmax(-1)
        return (x * alpha.unsqueeze(-1)).sum(1)

    def extra_repr(self) -> str:
        return self.mode + (f", channels={self.channels}, layers={self.num_layers}" if self.mode == "lstm" else "")


class HeteroJumpingKnowledge(nn.Module):
    """A JumpingKnowledge for each type of nodes.

    Shapes: {type: list of [V_type, F]}; out {type: [V_type, F]}, or [V_type, sum of F] for "cat".

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HeteroJumpingKnowledge
    >>> HeteroJumpingKnowledge(["a"], "max")({"a": [Tensor.ones(4, 2), Tensor.ones(4, 2)]})["a"].shape
    (4, 2)
    """

    def __init__(self, types: list[str], mode: str, channels: int | None = None, num_layers: int | None = None):
        self.mode = mode.lower()
        self.jk_dict = {key: JumpingKnowledge(mode, channels, num_layers) for key in types}

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for jk in self.jk_dict.values():
            jk.reset_parameters()

    def forward(self, xs_dict: dict[str, list[Tensor]]) -> dict[str, Tensor]:
        return {key: jk(xs_dict[key]) for key, jk in self.jk_dict.items()}

    def extra_repr(self) -> str:
        jk = next(iter(self.jk_dict.values()), None)
        more = f", channels={jk.channels}, layers={jk.num_layers}" if jk is not None and self.mode == "lstm" else ""
        return f"num_types={len(self.jk_dict)}, mode={self.mode}{more}"


__all__ = ["HeteroJumpingKnowledge", "JumpingKnowledge"]
