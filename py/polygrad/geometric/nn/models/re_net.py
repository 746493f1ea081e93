"""RE-Net: events between entities that depend on earlier ones (Jin et al., "Recurrent event network for temporal knowledge graphs", 2020)."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from .... import nn
from ....tensor import Tensor
from ..._rows import rows_of
from ..inits import reset


class PreTransform:
    """Gives each event (data.sub, data.rel, data.obj, data.t), which come in the order of time, what its subject and its object had to do with
    under the same relation in the seq_len steps of time before: nodes h_sub, h_obj, and their steps h_sub_t, h_obj_t."""

    def __init__(self, seq_len: int):
        self.seq_len, self.t_last = seq_len, 0
        # (node, relation): the last events as (number of the step, other node)
        self._sub: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._obj: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._step = 0

    def _history(self, table: dict[tuple[int, int], list[tuple[int, int]]], key: tuple[int, int]) -> tuple[Tensor, Tensor]:
        first = self._step - self.seq_len
        events = [e for e in table.get(key, ()) if e[0] >= first]
        table[key] = events
        past = np.array([e for e in events if e[0] < self._step], np.int64).reshape(-1, 2)
        return Tensor(np.ascontiguousarray(past[:, 1])), Tensor(past[:, 0] - first)

    def __call__(self, data: Any) -> Any:
        sub, rel, obj, t = (int(v) for v in (data.sub, data.rel, data.obj, data.t))
        if t > self.t_last:
            self._step, self.t_last = self._step + 1, t
        data.h_sub, data.h_sub_t = self._history(self._sub, (sub, rel))
        data.h_obj, data.h_obj_t = self._history(self._obj, (obj, rel))
        self._sub[sub, rel].append((self._step, obj))
        self._obj[obj, rel].append((self._step, sub))
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seq_len={self.seq_len})"


class RENet(nn.Module):
    """Probabilities of the object of an event, given subject and relation, and of the subject, given object and relation:

        log_softmax(W [e_s, h, e_r]),     h = GRU over the last seq_len steps of [e_s, mean of the embeddings of what s had to do with, e_r]

    num_nodes, num_rels: numbers of entities and relations. hidden_channels: size of an embedding. seq_len: steps of history. num_layers: of the
    GRUs. dropout: before W. bias: of GRUs and W. Input is a batch of events with their history: sub, rel, obj [B], and h_sub, h_sub_t,
    h_sub_batch, h_obj, h_obj_t, h_obj_batch, which pre_transform and follow_batch=['h_sub', 'h_obj'] make.
    Shapes: out two times [B, num_nodes], of objects and of subjects.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.nn import RENet
    >>> none = Tensor([0])
    >>> data = Data(sub=none, rel=none, obj=none, h_sub=none, h_sub_t=none, h_sub_batch=none, h_obj=none, h_obj_t=none, h_obj_batch=none)
    >>> [t.shape for t in RENet(num_nodes=5, num_rels=2, hidden_channels=4, seq_len=3)(data)]
    [(1, 5), (1, 5)]
    """

    def __init__(
        self, num_nodes: int, num_rels: int, hidden_channels: int, seq_len: int, num_layers: int = 1, dropout: float = 0.0, bias: bool = True
    ):
        self.num_nodes, self.num_rels, self.hidden_channels = num_nodes, num_rels, hidden_channels
        self.seq_len, self.dropout = seq_len, dropout
        self.ent = Tensor.zeros(num_nodes, hidden_channels, requires_grad=True)
        self.rel = Tensor.zeros(num_rels, hidden_channels, requires_grad=True)
        self.sub_gru = nn.GRU(3 * hidden_channels, hidden_channels, num_layers, batch_first=True, bias=bias)
        self.obj_gru = nn.GRU(3 * hidden_channels, hidden_channels, num_layers, batch_first=True, bias=bias)
        self.sub_lin = nn.Linear(3 * hidden_channels, num_nodes, bias=bias)
        self.obj_lin = nn.Linear(3 * hidden_channels, num_nodes, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for table in (self.ent, self.rel):
            bound = math.sqrt(12.0 / sum(int(s) for s in table.shape))
            table.assign(Tensor.uniform(*table.shape, low=-bound, high=bound).cast(table.dtype))
        for part in (self.sub_gru, self.obj_gru, self.sub_lin, self.obj_lin):
            reset(part)

    @staticmethod
    def pre_transform(seq_len: int) -> Callable[..., Any]:
        """A transform that adds the history of seq_len steps to each event of a dataset."""
        return PreTransform(seq_len)

    def _predict(self, gru: Any, lin: Any, e: Tensor, r: Tensor, nodes: Tensor, step: Tensor, of: Tensor) -> Tensor:
        count = e.shape[0]
        seen = rows_of(step + of * self.seq_len, count * self.seq_len).reduce(self.ent[nodes], "mean").reshape(count, self.seq_len, -1)
        each, rel = (t.unsqueeze(1).expand(count, self.seq_len, self.hidden_channels) for t in (e, r))
        h = gru(Tensor.cat(each, seen, rel, dim=-1))[1].squeeze(0)
        return lin(Tensor.cat(e, h, r, dim=-1).dropout(self.dropout)).log_softmax(1)

    def forward(self, data: Any) -> tuple[Tensor, Tensor]:
        if "h_sub_batch" not in data or "h_obj_batch" not in data:
            raise ValueError("RENet needs h_sub_batch and h_obj_batch: use follow_batch=['h_sub', 'h_obj'] in the loader")
        sub, obj, rel = self.ent[data.sub], self.ent[data.obj], self.rel[data.rel]
        objects = self._predict(self.sub_gru, self.sub_lin, sub, rel, data.h_sub, data.h_sub_t, data.h_sub_batch)
        subjects = self._predict(self.obj_gru, self.obj_lin, obj, rel, data.h_obj, data.h_obj_t, data.h_obj_batch)
        return objects, subjects

    def test(self, logits: Tensor, y: Tensor) -> Tensor:
        """Mean reciprocal rank of y, and how often it is among the first 1, 3 and 10: [4]."""
        rank = (logits > logits.gather(1, y.reshape(-1, 1))).sum(1) + 1
        return Tensor.stack((1.0 / rank).mean(), *[(rank <= k).cast(logits.dtype).mean() for k in (1, 3, 10)])


__all__ = ["RENet"]
