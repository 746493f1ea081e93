"""Transformers with PyTorch's arguments and meanings: PyTorch alone has these names."""

from __future__ import annotations

import copy
import math
from typing import Any, Callable

from ..tensor import Tensor
from . import functional as F
from .attention import MultiheadAttention
from .containers import ModuleList
from .layers import LayerNorm, Linear
from .misc import Dropout
from .module import Module


def _function(activation: Any) -> Callable[[Tensor], Tensor]:
    if activation in ("relu", "gelu"):
        return F.relu if activation == "relu" else F.gelu
    if not callable(activation):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return activation


class _Layer(Module):
    """What the layers of encoder and decoder share: feed forward, and the order of normalisation."""

    norm_first: bool
    _activation: Callable[[Tensor], Tensor]
    dropout: Dropout
    linear1: Linear
    linear2: Linear

    def _feed(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self._activation(self.linear1(x))))

    def _with(self, x: Tensor, norm: LayerNorm, drop: Dropout, block: Callable[[Tensor], Tensor]) -> Tensor:
        """x plus a block of it, normalised before or after."""
        return x + drop(block(norm(x))) if self.norm_first else norm(x + drop(block(x)))


class TransformerEncoderLayer(_Layer):
    """Self attention and a feed forward network, each added to its input.

    >>> from polygrad import Tensor, nn
    >>> nn.TransformerEncoderLayer(8, 2, 16)(Tensor.ones(5, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu", layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1, self.dropout, self.linear2 = Linear(d_model, dim_feedforward, bias), Dropout(dropout), Linear(dim_feedforward, d_model, bias)
        self.norm_first = norm_first
        self.norm1, self.norm2 = (LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(2))
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self._activation = _function(activation)

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]

        x = self._with(src, self.norm1, self.dropout1, attend)
        return self._with(x, self.norm2, self.dropout2, self._feed)


class TransformerDecoderLayer(_Layer):
    """Self attention, attention to the encoder's output, and a feed forward network, each added to its input.

    >>> from polygrad import Tensor, nn
    >>> nn.TransformerDecoderLayer(8, 2, 16)(Tensor.ones(4, 3, 8), Tensor.ones(5, 3, 8)).shape
    (4, 3, 8)
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu", layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1, self.dropout, self.linear2 = Linear(d_model, dim_feedforward, bias), Dropout(dropout), Linear(dim_feedforward, d_model, bias)
        self.norm_first = norm_first
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self._activation = _function(activation)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def look(x: Tensor) -> Tensor:
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal)[0]

        x = self._with(tgt, self.norm1, self.dropout1, attend)
        x = self._with(x, self.norm2, self.dropout2, look)
        return self._with(x, self.norm3, self.dropout3, self._feed)


class TransformerEncoder(Module):
    """Layers one after the other: num_layers copies of one."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Any = None, enable_nested_tensor: bool = True, mask_check: bool = True):
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Layers one after the other: num_layers copies of one."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Any = None):
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, bool(tgt_is_causal), memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that looks at its output.

    >>> from polygrad import Tensor, nn
    >>> model = nn.Transformer(8, 2, 1, 1, 16)
    >>> model(Tensor.ones(5, 3, 8), Tensor.ones(4, 3, 8)).shape
    (4, 3, 8)
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048,
        dropout: float = 0.1, activation: Any = "relu", custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norms = [LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(2)]
        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers, norms[0])
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers, norms[1])
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for p in self.parameters():
            if p.ndim > 1:
                p.assign(Tensor.glorot_uniform(*p.shape, dtype=p.dtype))

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        if int(src.shape[-1]) != self.d_model or int(tgt.shape[-1]) != self.d_model:
            raise RuntimeError(f"the feature number of src {src.shape} and tgt {tgt.shape} must be equal to d_model {self.d_model}")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """What is added to scores so that no query sees a later key: minus infinity above the diagonal."""
        return Tensor.full((sz, sz), -math.inf, dtype=dtype).triu(1)


__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]
