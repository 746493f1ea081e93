"""Encoders of a node's last events (Cong et al., "Do we really need complicated model architectures for temporal networks?", ICLR 2023)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....tensor import Tensor
from ...utils import _host, scatter, to_dense_batch
from ..encoding import TemporalEncoding


class NodeEncoder(nn.Module):
    """x_v' = x_v + the mean of x_w over edges (w, v) whose time is in (t_v - time_window, t_v], where t_v is the seed time of v.

    Shapes: x [V, F], edge_index [2, E], edge_time [E], seed_time [V]; out [V, F].
    """

    def __init__(self, time_window: int):
        self.time_window = time_window

    def reset_parameters(self) -> None:
        """Nothing is learned."""

    def forward(self, x: Tensor, edge_index: Tensor, edge_time: Tensor, seed_time: Tensor) -> Tensor:
        now = seed_time[edge_index[1]]
        inside = ((edge_time <= now) & (edge_time > now - self.time_window)).cast(x.dtype)
        total = scatter(x[edge_index[0]] * inside.reshape(-1, 1), edge_index[1], 0, x.shape[0])
        return x + total / scatter(inside, edge_index[1], 0, x.shape[0]).maximum(1.0).reshape(-1, 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(time_window={self.time_window})"


class _MLPMixer(nn.Module):
    """[N, tokens, F] to [N, F_out]: an MLP over the tokens, one over the features, each added to its input, then the mean over tokens."""

    def __init__(self, num_tokens: int, in_channels: int, out_channels: int, dropout: float = 0.0):
        self.dropout = dropout
        self.token_norm = nn.LayerNorm(in_channels)
        self.token_lin1, self.token_lin2 = nn.Linear(num_tokens, num_tokens // 2), nn.Linear(num_tokens // 2, num_tokens)
        self.channel_norm = nn.LayerNorm(in_channels)
        self.channel_lin1, self.channel_lin2 = nn.Linear(in_channels, 4 * in_channels), nn.Linear(4 * in_channels, in_channels)
        self.head_norm = nn.LayerNorm(in_channels)
        self.head_lin = nn.Linear(in_channels, out_channels)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.token_norm, self.token_lin1, self.token_lin2, self.channel_norm, self.channel_lin1, self.channel_lin2, self.head_norm):
            part.reset_parameters()
        self.head_lin.reset_parameters()

    def _mlp(self, first: Any, second: Any, x: Tensor) -> Tensor:
        return second(first(x).gelu().dropout(self.dropout)).dropout(self.dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self._mlp(self.token_lin1, self.token_lin2, self.token_norm(x).transpose(-1, -2)).transpose(-1, -2) + x
        x = self._mlp(self.channel_lin1, self.channel_lin2, self.channel_norm(x)) + x
        return self.head_lin(self.head_norm(x).mean(1))


def get_latest_k_edge_attr(k: int, edge_index: Tensor, edge_attr: Tensor, edge_time: Tensor, num_nodes: int, is_sorted: bool = False) -> Tensor:
    """Attributes of the latest k edges into each node, the latest first, [num_nodes, k, F]; zeros where there are fewer. is_sorted: the edges lie
    so."""
    col = edge_index[1]
    if not is_sorted:
        order = Tensor(np.lexsort([-_host.read(edge_time), _host.read(col)]))
        col, edge_attr = col[order], edge_attr[order]
    return to_dense_batch(edge_attr, col, max_num_nodes=k, batch_size=num_nodes)[0]


class LinkEncoder(nn.Module):
    """Values of nodes out of their latest k edges: an MLP-Mixer over [TemporalEncoding(t_v - t_e), edge_attr] of the edges not later than the seed
    time.

    Shapes: edge_index [2, E], edge_attr [E, in_channels], edge_time [E], seed_time [V]; out [V, out_channels].
    """

    def __init__(
        self, k: int, in_channels: int, hidden_channels: int, out_channels: int, time_channels: int, is_sorted: bool = False, dropout: float = 0.0
    ):
        self.k, self.in_channels, self.hidden_channels, self.out_channels = k, in_channels, hidden_channels, out_channels
        self.time_channels, self.is_sorted, self.dropout = time_channels, is_sorted, dropout
        self.temporal_encoder = TemporalEncoding(time_channels)
        self.temporal_head = nn.Linear(time_channels + in_channels, hidden_channels)
        self.mlp_mixer = _MLPMixer(k, hidden_channels, out_channels, dropout)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.temporal_encoder, self.temporal_head, self.mlp_mixer):
            part.reset_parameters()

    def forward(self, edge_index: Tensor, edge_attr: Tensor, edge_time: Tensor, seed_time: Tensor) -> Tensor:
        kept = Tensor(np.flatnonzero(_host.read(edge_time) <= _host.read(seed_time)[_host.read(edge_index)[1]]))
        edge_index, edge_attr, edge_time = edge_index[:, kept], edge_attr[kept], edge_time[kept]
        since = self.temporal_encoder((seed_time[edge_index[1]] - edge_time).cast(edge_attr.dtype))
        edge_attr = self.temporal_head(since.cat(edge_attr, dim=-1))
        return self.mlp_mixer(get_latest_k_edge_attr(self.k, edge_index, edge_attr, edge_time, int(seed_time.shape[0]), self.is_sorted))

    def __repr__(self) -> str:
        sizes = f"in_channels={self.in_channels}, hidden_channels={self.hidden_channels}, out_channels={self.out_channels}"
        return f"{type(self).__name__}(k={self.k}, {sizes}, time_channels={self.time_channels}, dropout={self.dropout})"


__all__ = ["LinkEncoder", "NodeEncoder", "get_latest_k_edge_attr"]
