"""Recurrent layers and cells with PyTorch's arguments: RNN, LSTM and GRU over sequences, padded or packed."""

from __future__ import annotations

import math
from typing import Any

from ..loops import scan
from ..tensor import Tensor
from .functional import linear
from .layers import redraw, uniform_parameter
from .module import Module
from .packed import PackedSequence, repacked, unpacked


class _Cell(Module):
    gates = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None):
        bound = 1 / math.sqrt(hidden_size) if hidden_size else 0.0
        self.input_size, self.hidden_size = input_size, hidden_size
        self.weight_ih = uniform_parameter(bound, self.gates * hidden_size, input_size, dtype=dtype)
        self.weight_hh = uniform_parameter(bound, self.gates * hidden_size, hidden_size, dtype=dtype)
        self.bias_ih = uniform_parameter(bound, self.gates * hidden_size, dtype=dtype) if bias else None
        self.bias_hh = uniform_parameter(bound, self.gates * hidden_size, dtype=dtype) if bias else None

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        redraw(1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def _rows(self, x: Tensor, *states: Tensor | None) -> tuple[Any, ...]:
        """Input and states with a batch axis; zeros for what was not given."""
        if x.ndim not in (1, 2):
            raise ValueError(f"{type(self).__name__}: expected input to be 1D or 2D, got shape {x.shape}")
        if int(x.shape[-1]) != self.input_size:
            raise RuntimeError(f"{type(self).__name__}: input has {x.shape[-1]} features, expected {self.input_size}")
        alone = x.ndim == 1
        rows = x.unsqueeze(0) if alone else x
        given = [None if s is None else s.unsqueeze(0) if alone else s for s in states]
        return (rows, *[Tensor.zeros(rows.shape[0], self.hidden_size, dtype=x.dtype) if s is None else s for s in given])

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias_ih is not None else ", bias=False")


def _lstm_step(gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = gates.chunk(4, dim=1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru_step(gi: Tensor, gh: Tensor, h: Tensor) -> Tensor:
    (ir, iz, in_), (hr, hz, hn) = gi.chunk(3, dim=1), gh.chunk(3, dim=1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (in_ + r * hn).tanh()
    return n + z * (h - n)


class LSTMCell(_Cell):
    """One step of an LSTM: (h, c) out of x and (h, c).

    >>> from polygrad import Tensor, nn
    >>> h, c = nn.LSTMCell(3, 5)(Tensor.ones(2, 3))
    >>> h.shape, c.shape
    ((2, 5), (2, 5))
    """

    gates = 4

    def forward(self, x: Tensor, hc: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        rows, h, c = self._rows(x, *(hc if hc is not None else (None, None)))
        h, c = _lstm_step(linear(rows, self.weight_ih, self.bias_ih) + linear(h, self.weight_hh, self.bias_hh), c)
        return (h.squeeze(0), c.squeeze(0)) if x.ndim == 1 else (h, c)


class GRUCell(_Cell):
    """One step of a GRU: h out of x and h.

    >>> from polygrad import Tensor, nn
    >>> nn.GRUCell(3, 5)(Tensor.ones(2, 3)).shape
    (2, 5)
    """

    gates = 3

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        rows, h0 = self._rows(x, h)
        y = _gru_step(linear(rows, self.weight_ih, self.bias_ih), linear(h0, self.weight_hh, self.bias_hh), h0)
        return y.squeeze(0) if x.ndim == 1 else y


class RNNCell(_Cell):
    """One step of a plain recurrent network: tanh or relu of W x + b + U h + c.

    >>> from polygrad import Tensor, nn
    >>> nn.RNNCell(3, 5)(Tensor.ones(2, 3)).shape
    (2, 5)
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None, dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = _checked(nonlinearity)

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        rows, h0 = self._rows(x, h)
        y = getattr(linear(rows, self.weight_ih, self.bias_ih) + linear(h0, self.weight_hh, self.bias_hh), self.nonlinearity)()
        return y.squeeze(0) if x.ndim == 1 else y


def _checked(nonlinearity: str) -> str:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
    return nonlinearity


class _Recurrent(Module):
    """Layers of cells over a sequence [time, batch, features], or [batch, time, features] if batch_first, or [time, features]; in both
    directions, if bidirectional, with the outputs beside each other. A PackedSequence gives a PackedSequence."""

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout should be a number in range [0, 1], not {dropout}")
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueError(f"hidden_size {hidden_size} and num_layers {num_layers} must be greater than zero")
        if proj_size < 0 or proj_size >= hidden_size or (proj_size and self.gates != 4):
            raise ValueError(f"proj_size {proj_size} must be smaller than hidden_size {hidden_size}, and is for LSTM only")
        self.input_size, self.hidden_size, self.num_layers, self.batch_first = input_size, hidden_size, num_layers, batch_first
        self.bias = self.has_bias = bias
        self.dropout, self.bidirectional, self.proj_size = dropout, bidirectional, proj_size
        self._ways = ("", "_reverse") if bidirectional else ("",)
        bound, rows, out = 1 / math.sqrt(hidden_size), self.gates * hidden_size, proj_size or hidden_size

        def weight(name: str, k: int, way: str, *shape: int) -> None:
            setattr(self, f"{name}_l{k}{way}", uniform_parameter(bound, *shape, dtype=dtype))

        for k in range(num_layers):
            for way in self._ways:
                weight("weight_ih", k, way, rows, input_size if k == 0 else out * len(self._ways))
                weight("weight_hh", k, way, rows, out)
                if bias:
                    weight("bias_ih", k, way, rows)
                    weight("bias_hh", k, way, rows)
                if proj_size:
                    weight("weight_hr", k, way, proj_size, hidden_size)

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        redraw(1 / math.sqrt(self.hidden_size), *self.parameters())

    def flatten_parameters(self) -> None:
        """Nothing: how parameters lie in memory is the compiler's business."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of each layer and direction."""
        return [[w for w in self._weights(k, way) if w is not None] for k in range(self.num_layers) for way in self._ways]

    def _weights(self, k: int, way: str) -> tuple[Any, ...]:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        return tuple(getattr(self, f"{n}_l{k}{way}", None) for n in names)

    def _step(self, gates: Tensor, state: tuple[Tensor, ...], w: Tensor, b: Tensor | None, r: Tensor | None) -> tuple[Tensor, ...]:
        """The next state, whose first entry is the output, out of the input's part of the gates and the state."""
        raise NotImplementedError

    def _along(self, x: Tensor, first: list[tuple[Tensor, ...]], lengths: Tensor | None) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
        """Runs all layers over x [time, batch, features]; past its length a sequence keeps its state and gives zeros."""
        last: list[tuple[Tensor, ...]] = []
        for k in range(self.num_layers):
            ways = []
            for way in self._ways:
                w_ih, w_hh, b_ih, b_hh, w_hr = self._weights(k, way)
                gates = linear(x, w_ih, b_ih)

                def step(state: tuple[Tensor, ...], row: Any, w: Any = (w_hh, b_hh, w_hr)) -> tuple[tuple[Tensor, ...], Tensor]:
                    if lengths is None:
                        new = self._step(row, state, *w)
                        return new, new[0]
                    new, live = self._step(row[0], state, *w), (lengths > row[1]).unsqueeze(1)
                    return tuple(live.where(a, b) for a, b in zip(new, state)), live.where(new[0], 0.0)

                rows = gates if lengths is None else (gates, Tensor.arange(x.shape[0]))
                state, out = scan(step, first[len(last)], rows, reverse=bool(way))
                ways.append(out)
                last.append(state)
            x = Tensor.cat(*ways, dim=-1) if len(ways) > 1 else ways[0]
            if self.dropout and k + 1 < self.num_layers:
                x = x.dropout(self.dropout)
        return x, last

    def _run(self, x: Any, states: tuple[Tensor | None, ...]) -> tuple[Any, list[Tensor]]:
        """Output, and the last state of every layer and direction."""
        packed = isinstance(x, PackedSequence)
        padded, lengths = unpacked(x) if packed else (x, None)
        if padded.ndim not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got shape {padded.shape}")
        alone = padded.ndim == 2
        seq = padded.unsqueeze(1) if alone else padded.transpose(0, 1) if self.batch_first and not packed else padded
        if int(seq.shape[-1]) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {seq.shape[-1]}")
        layers, batch = self.num_layers * len(self._ways), seq.shape[1]
        sizes = [self.proj_size or self.hidden_size, self.hidden_size][: len(states)]
        full = []
        for s, size in zip(states, sizes):
            s = s.unsqueeze(1) if s is not None and alone and s.ndim == 2 else s
            if s is not None and packed and x.sorted_indices is not None:
                s = s.index_select(1, x.sorted_indices)
            if s is not None and tuple(s.shape) != (layers, batch, size):
                raise RuntimeError(f"Expected hidden size ({layers}, {batch}, {size}), got {list(s.shape)}")
            full.append(Tensor.zeros(layers, batch, size, dtype=seq.dtype) if s is None else s)
        y, last = self._along(seq, [tuple(s[k] for s in full) for k in range(layers)], lengths)
        ends = [Tensor.stack(*[state[j] for state in last]) for j in range(len(states))]
        if packed:
            order = x.unsorted_indices
            return repacked(y, x), [e if order is None else e.index_select(1, order) for e in ends]
        if alone:
            return y.squeeze(1), [e.squeeze(1) for e in ends]
        return (y.transpose(0, 1) if self.batch_first else y), ends

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", proj_size={self.proj_size}" if self.proj_size else ""
        text += f", num_layers={self.num_layers}" if self.num_layers != 1 else ""
        text += "" if self.has_bias else ", bias=False"
        text += ", batch_first=True" if self.batch_first else ""
        text += f", dropout={self.dropout}" if self.dropout else ""
        return text + (", bidirectional=True" if self.bidirectional else "")


class LSTM(_Recurrent):
    """LSTM over a sequence: output and (h, c).

    >>> from polygrad import Tensor, nn
    >>> y, (h, c) = nn.LSTM(3, 5)(Tensor.ones(4, 2, 3))
    >>> y.shape, h.shape
    ((4, 2, 5), (1, 2, 5))
    """

    gates = 4

    def _step(self, gates: Tensor, state: tuple[Tensor, ...], w: Tensor, b: Tensor | None, r: Tensor | None) -> tuple[Tensor, ...]:
        h, c = _lstm_step(gates + linear(state[0], w, b), state[1])
        return (h if r is None else linear(h, r)), c

    def forward(self, x: Any, hc: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        y, (h, c) = self._run(x, (None, None) if hc is None else tuple(hc))
        return y, (h, c)


class GRU(_Recurrent):
    """GRU over a sequence: output and h.

    >>> from polygrad import Tensor, nn
    >>> y, h = nn.GRU(3, 5)(Tensor.ones(4, 2, 3))
    >>> y.shape, h.shape
    ((4, 2, 5), (1, 2, 5))
    """

    gates = 3

    def _step(self, gates: Tensor, state: tuple[Tensor, ...], w: Tensor, b: Tensor | None, r: Tensor | None) -> tuple[Tensor, ...]:
        return (_gru_step(gates, linear(state[0], w, b), state[0]),)

    def forward(self, x: Any, h: Tensor | None = None) -> tuple[Any, Tensor]:
        y, (last,) = self._run(x, (h,))
        return y, last


class RNN(_Recurrent):
    """A plain recurrent network over a sequence: output and h. nonlinearity: 'tanh' or 'relu'.

    >>> from polygrad import Tensor, nn
    >>> y, h = nn.RNN(3, 5)(Tensor.ones(4, 2, 3))
    >>> y.shape, h.shape
    ((4, 2, 5), (1, 2, 5))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype=dtype)
        self.nonlinearity = _checked(nonlinearity)

    def _step(self, gates: Tensor, state: tuple[Tensor, ...], w: Tensor, b: Tensor | None, r: Tensor | None) -> tuple[Tensor, ...]:
        return (getattr(gates + linear(state[0], w, b), self.nonlinearity)(),)

    def forward(self, x: Any, h: Tensor | None = None) -> tuple[Any, Tensor]:
        y, (last,) = self._run(x, (h,))
        return y, last


__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]
