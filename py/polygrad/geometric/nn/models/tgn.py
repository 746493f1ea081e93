"""Temporal graph networks: nodes that remember what happened to them (Rossi et al., "Temporal graph networks for deep learning on dynamic
graphs", 2020).

Which events wait for which node is kept in arrays of whole numbers and looked up for all nodes of a batch at once. What is computed with them, the
messages and the memory, is lazy, in sizes that may change from batch to batch, so that one compiled program serves all batches.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .... import dtypes, nn
from ....tensor import Tensor
from ..._rows import rows_of
from ...data._sizes import size, sized
from ...utils import _host
from ..inits import reset, zeros


def _runs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of sorted values: the distinct ones, where each begins, and how often it comes."""
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])) if values.size else np.zeros(0, np.int64)
    return values[first], first, np.diff(first, append=values.size)


class _Store:
    """The events of the last batch in which each node occurred."""

    def __init__(self, num_nodes: int, raw_msg_dim: int):
        self.start, self.count = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)
        self.ids = np.zeros((3, 0), np.int64)  # node, other node and time
        self.raw = np.zeros((0, raw_msg_dim), np.float32)

    def put(self, node: np.ndarray, other: np.ndarray, t: np.ndarray, raw: np.ndarray) -> None:
        """Events of a batch, in the place of all that their nodes had."""
        order = _host.stable_order(node, self.start.size)
        found, first, count = _runs(node[order])
        self.count[found] = count
        live = int(self.count.sum())
        kept = self.count.copy()
        kept[found] = 0
        if 2 * live < self.ids.shape[1] + node.size:  # more than half of what is kept would be of no use
            nodes = np.flatnonzero(kept)
            at = self._at(nodes, kept[nodes])
            self.start[nodes] = _host.starts(kept[nodes])[:-1]
            self.ids, self.raw = self.ids[:, at], self.raw[at]
        self.start[found] = self.ids.shape[1] + first
        self.ids = np.concatenate([self.ids, np.stack([node, other, t])[:, order]], 1)
        self.raw = np.concatenate([self.raw, raw[order]])

    def _at(self, nodes: np.ndarray, count: np.ndarray) -> np.ndarray:
        before = _host.starts(count)[:-1]
        return np.repeat(self.start[nodes] - before, count) + np.arange(int(count.sum()))

    def take(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(node, other, time) [3, n] and raw messages of all events that wait for some nodes."""
        at = self._at(nodes, self.count[nodes])
        return self.ids[:, at], self.raw[at]


class TGNMemory(nn.Module):
    """The memory of every node, updated by the events that it takes part in:

        s_i' = GRU(aggregate of messages [s_i, s_j, raw message, time since i was updated], s_i)

    An event changes memory when one of its nodes is next needed, so that the modules for messages learn from what follows.

    num_nodes, raw_msg_dim, memory_dim, time_dim: number of nodes, and sizes of the messages of events, of a memory, and of an encoded time.
    message_module: (memory of the node, memory of the other, raw message, time) -> message, with out_channels; see IdentityMessage.
    aggregator_module: (messages, index, times, nodes) -> one message a node; see LastAggregator and MeanAggregator.

    forward(n_id) gives memory [n, memory_dim] and time of the last update [n] of some nodes; update_state(src, dst, t, raw_msg) takes events in.
    With eval(), what waits is taken into memory.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import TGNMemory
    >>> from polygrad.geometric.nn.models.tgn import IdentityMessage, LastAggregator
    >>> memory = TGNMemory(4, 2, 5, 3, IdentityMessage(2, 5, 3), LastAggregator())
    >>> memory.train().update_state(Tensor([0, 1]), Tensor([2, 2]), Tensor([10, 11]), Tensor.ones(2, 2))
    >>> z, last = memory(Tensor([0, 2, 3]))
    >>> z.shape, last.tolist()
    ((3, 5), [10, 11, 0])
    >>> _ = memory.eval()
    """

    def __init__(self, num_nodes: int, raw_msg_dim: int, memory_dim: int, time_dim: int, message_module: Any, aggregator_module: Any):
        self.num_nodes, self.raw_msg_dim, self.memory_dim, self.time_dim = num_nodes, raw_msg_dim, memory_dim, time_dim
        self.msg_s_module, self.msg_d_module = message_module, copy.deepcopy(message_module)
        self.aggr_module = aggregator_module
        self.time_enc = TimeEncoder(time_dim)
        self.gru = nn.GRUCell(message_module.out_channels, memory_dim)
        self.memory = Tensor.zeros(num_nodes, memory_dim, requires_grad=False).contiguous().realize()
        self.last_update = Tensor.zeros(num_nodes, dtype=dtypes.int64, requires_grad=False).contiguous().realize()
        self._assoc = Tensor.zeros(num_nodes, dtype=dtypes.int64, requires_grad=False).contiguous().realize()
        self._local = np.zeros(num_nodes, np.int64)
        self._learned = True  # whether memory was last used in training: then events wait
        self.reset_state()

    def _state_items(self) -> dict[str, Any]:
        return {**super()._state_items(), "_assoc": self._assoc}

    def reset_state(self) -> None:
        """Forgets everything."""
        zeros(self.memory)
        self.last_update.assign(self.last_update.zeros_like())
        self.memory.realize(self.last_update)
        self._updated = np.zeros(self.num_nodes, np.int64)  # last_update, for looking up
        self._reset_message_store()

    def reset_parameters(self) -> None:
        """Draws new parameters, and forgets everything."""
        for part in (self.msg_s_module, self.msg_d_module, self.time_enc, self.gru):
            reset(part)
        self.reset_state()

    def _reset_message_store(self) -> None:
        self.msg_s_store, self.msg_d_store = (_Store(self.num_nodes, self.raw_msg_dim) for _ in range(2))

    def detach(self) -> None:
        """Nothing: gradients never flow into earlier batches."""

    def train(self, mode: bool = True) -> TGNMemory:
        """As of every module; what waits is taken into memory when training ends."""
        if self._learned and not mode:
            self._flush()
        self._learned = mode
        super().train(mode)
        return self

    def _flush(self) -> None:
        self._update_memory(np.arange(self.num_nodes))
        self._reset_message_store()

    def forward(self, n_id: Tensor) -> tuple[Tensor, Tensor]:
        if self.training:
            self._learned = True
            memory, last = self._get_updated_memory(_host.vector(n_id, "n_id"), n_id)
            return memory, sized(last, 0, n_id.shape[0])
        return self.memory[n_id], self.last_update[n_id]

    def update_state(self, src: Tensor, dst: Tensor, t: Tensor, raw_msg: Tensor) -> None:
        """Takes in events: nodes, times and messages."""
        a, b = _host.vector(src, "src").astype(np.int64), _host.vector(dst, "dst").astype(np.int64)
        times, raw = _host.vector(t, "t").astype(np.int64), _host.read(raw_msg)
        nodes = _host.distinct(np.concatenate([a, b]))
        if nodes.size and (nodes[0] < 0 or nodes[-1] >= self.num_nodes):
            raise IndexError(f"an event has node {int(nodes[-1] if nodes[0] >= 0 else nodes[0])}, but there are {self.num_nodes} nodes")
        if self.training:
            self._learned = True
            self._update_memory(nodes)
        self.msg_s_store.put(a, b, times, raw)
        self.msg_d_store.put(b, a, times, raw)
        if not self.training:
            self._update_memory(nodes)

    def _update_memory(self, nodes: np.ndarray) -> None:
        n_id = sized(nodes, 0, size("memory_nodes", nodes.size))
        memory, last = self._get_updated_memory(nodes, n_id)
        new = self.memory.scatter(0, n_id.reshape(-1, 1).expand(n_id.shape[0], self.memory_dim), memory.detach())
        self._updated[nodes] = last
        times = self.last_update.assign(Tensor(self._updated))
        if self.training:  # a loss of the old memory may still wait for its backward: it keeps the old values
            self.memory.replace(new.realize(times))
        else:
            self.memory.assign(new).realize(times)

    def _messages(self, name: str, nodes: np.ndarray, store: _Store, module: Any) -> tuple[Tensor, np.ndarray]:
        """Messages of the events that wait for some nodes, and (node, other, time) of these."""
        ids, raw = store.take(nodes)
        many = size(name, ids.shape[1])
        src, dst, since = (sized(v, 0, many) for v in (ids[0], ids[1], (ids[2] - self._updated[ids[0]]).astype(raw.dtype)))
        memory = (self.memory.index_select(0, v) for v in (src, dst))
        return module(*memory, sized(raw, 0, many), self.time_enc(since)), ids

    def _get_updated_memory(self, nodes: np.ndarray, n_id: Tensor) -> tuple[Tensor, np.ndarray]:
        """Memory of some nodes after the events that wait for them, and the times of their last events (0 without any)."""
        self._local[nodes] = np.arange(nodes.size)
        messages_s, ids_s = self._messages("source_events", nodes, self.msg_s_store, self.msg_s_module)
        messages_d, ids_d = self._messages("target_events", nodes, self.msg_d_store, self.msg_d_module)
        ids = np.concatenate([ids_s, ids_d], 1)
        messages = Tensor.cat(messages_s, messages_d)
        index = sized(self._local[ids[0]], 0, messages.shape[0])
        gathered = self.aggr_module(messages, index, sized(ids[2], 0, messages.shape[0]), n_id.shape[0])
        last = np.zeros(nodes.size, np.int64)
        np.maximum.at(last, self._local[ids[0]], ids[2])
        return self.gru(gathered, self.memory.index_select(0, n_id)), last


class IdentityMessage(nn.Module):
    """[memory of the node, memory of the other, raw message, time]"""

    def __init__(self, raw_msg_dim: int, memory_dim: int, time_dim: int):
        self.out_channels = raw_msg_dim + 2 * memory_dim + time_dim

    def forward(self, z_src: Tensor, z_dst: Tensor, raw_msg: Tensor, t_enc: Tensor) -> Tensor:
        return Tensor.cat(z_src, z_dst, raw_msg, t_enc, dim=-1)


class LastAggregator(nn.Module):
    """The latest message of each node; the last of those at the same time."""

    def forward(self, msg: Tensor, index: Tensor, t: Tensor, dim_size: Any) -> Tensor:
        rows = rows_of(index, dim_size)
        newest = t == rows.spread(rows.reduce(t, "max"))
        last = rows.reduce(newest.where(Tensor.arange(1, msg.shape[0] + 1, dtype=dtypes.int32), 0), "max")
        padded = Tensor.cat(Tensor.zeros(1, msg.shape[1], dtype=msg.dtype), msg)  # 0: no message
        return padded.index_select(0, last)


class MeanAggregator(nn.Module):
    """The mean of the messages of each node."""

    def forward(self, msg: Tensor, index: Tensor, t: Tensor, dim_size: Any) -> Tensor:
        return rows_of(index, dim_size).reduce(msg, "mean")


class TimeEncoder(nn.Module):
    """cos(w t + b)"""

    def __init__(self, out_channels: int):
        self.out_channels = out_channels
        self.lin = nn.Linear(1, out_channels)

    def reset_parameters(self) -> None:
        reset(self.lin)

    def forward(self, t: Tensor) -> Tensor:
        return (t.reshape(-1, 1) * self.lin.weight.reshape(1, -1) + self.lin.bias).cos()


class LastNeighborLoader:
    """The last `size` events of every node, and whom they were with.

    insert(src, dst) takes in events, which are numbered in the order they come; loader(n_id) gives the nodes n_id with their last neighbours, sorted,
    the edges from neighbours to nodes in their numbering, and the numbers of the events of the edges. device is accepted and has no effect.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.models.tgn import LastNeighborLoader
    >>> loader = LastNeighborLoader(5, size=2)
    >>> loader.insert(Tensor([0, 1, 2]), Tensor([3, 3, 3]))
    >>> [t.tolist() for t in loader(Tensor([3]))]
    [[1, 2, 3], [[1, 0], [2, 2]], [2, 1]]
    """

    def __init__(self, num_nodes: int, size: int, device: Any = None):
        self.size = size
        self._neighbors, self._e_id = np.zeros((num_nodes, size), np.int64), np.zeros((num_nodes, size), np.int64)
        self._local = np.zeros(num_nodes, np.int64)
        self.reset_state()

    @property
    def e_id(self) -> Tensor:
        """The numbers of the last events of each node [num_nodes, size], the newest first; -1 where there are less."""
        return Tensor(self._e_id.copy())

    @property
    def neighbors(self) -> Tensor:
        """Whom these events were with [num_nodes, size]."""
        return Tensor(self._neighbors.copy())

    def reset_state(self) -> None:
        """Forgets all events."""
        self.cur_e_id = 0
        self._e_id.fill(-1)

    def __call__(self, n_id: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        nodes = _host.vector(n_id, "n_id")
        e_id = self._e_id[nodes]
        there = e_id >= 0
        neighbors, of, e_id = self._neighbors[nodes][there], np.repeat(nodes, there.sum(1)), e_id[there]
        found = _host.distinct(np.concatenate([nodes, neighbors]).astype(np.int64))
        self._local[found] = np.arange(found.size)
        many, edges = size("last_nodes", found.size), size("last_edges", e_id.size)
        return sized(found, 0, many), sized(np.stack([self._local[neighbors], self._local[of]]), 1, edges), sized(e_id, 0, edges)

    def insert(self, src: Tensor, dst: Tensor) -> None:
        """Takes in events between src and dst."""
        a, b = _host.vector(src, "src").astype(np.int64), _host.vector(dst, "dst").astype(np.int64)
        nodes, others = np.stack([b, a], 1).reshape(-1), np.stack([a, b], 1).reshape(-1)
        e_id = np.repeat(np.arange(self.cur_e_id, self.cur_e_id + a.size), 2)
        self.cur_e_id += a.size
        order = _host.stable_order(nodes, self._local.size)  # by node, and by event within
        nodes, others, e_id = nodes[order], others[order], e_id[order]
        found, first, count = _runs(nodes)
        row = np.repeat(np.arange(found.size), count)
        back = np.repeat(first + count, count) - 1 - np.arange(nodes.size)  # 0 for the newest event of a node
        new = back < self.size
        new_id, new_other = self._e_id[found], self._neighbors[found]
        # The events that a node had move behind the new ones, as far as there is room.
        place = np.arange(self.size) - count[:, None]
        old = place >= 0
        place = np.where(old, place, 0)
        new_id = np.where(old, np.take_along_axis(new_id, place, 1), -1)
        new_other = np.where(old, np.take_along_axis(new_other, place, 1), 0)
        new_id[row[new], back[new]], new_other[row[new], back[new]] = e_id[new], others[new]
        self._e_id[found], self._neighbors[found] = new_id, new_other


__all__ = ["IdentityMessage", "LastAggregator", "LastNeighborLoader", "MeanAggregator", "TGNMemory", "TimeEncoder"]
