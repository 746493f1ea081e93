"""Layers whose arguments or first values are other in PyTorch than in tinygrad, whose meaning polygrad.nn has."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import functools
from typing import Any

from ... import nn as _nn
from .. import functions as torch
from .._surface import lift, lift_as, lift_class

_BatchNorm, _Embedding = lift(_nn.BatchNorm, __name__), lift(_nn.Embedding, __name__)


class _Norm(_BatchNorm):  # type: ignore[valid-type, misc]
    """BatchNorm with PyTorch's order of arguments."""

    axes: tuple[int, ...] = ()

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(num_features, eps, affine, track_running_stats, momentum)
        self.num_features = num_features

    def forward(self, x: Any) -> Any:
        if x.ndim not in self.axes:
            raise ValueError(f"{type(self).__name__} takes {' or '.join(str(n) for n in self.axes)} axes, not the shape {tuple(x.shape)}")
        return super().forward(x)


class BatchNorm1d(_Norm):
    """Normalises each channel over the batch: [batch, channels] or [batch, channels, length]."""

    axes = (2, 3)


class BatchNorm2d(_Norm):
    """Normalises each channel over the batch: [batch, channels, height, width]."""

    axes = (4,)


class BatchNorm3d(_Norm):
    """Normalises each channel over the batch: [batch, channels, depth, height, width]."""

    axes = (5,)


class Embedding(_Embedding):  # type: ignore[valid-type, misc]
    """Rows of a table by number, drawn from the normal distribution; the row padding_idx is zero and does not learn."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(num_embeddings, embedding_dim)
        self.num_embeddings, self.embedding_dim, self.sparse = num_embeddings, embedding_dim, sparse
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type = max_norm, norm_type
        if _weight is not None:
            self.weight = torch.tensor(_weight).requires_grad_()
        else:
            self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, **kwargs: Any) -> Embedding:
        """A table of given rows, which do not learn unless freeze=False."""
        made = cls(*(int(n) for n in embeddings.shape), padding_idx=padding_idx, _weight=embeddings)
        made.weight.requires_grad_(not freeze)
        return made

    def reset_parameters(self) -> None:
        """Draws new rows."""
        rows = self.weight.randn_like()
        if self.padding_idx is not None:
            rows = rows.index_fill(0, torch.tensor([self.padding_idx]), 0.0)
        self.weight.assign(rows).realize()

    def forward(self, input: Any) -> Any:  # noqa: A002
        table = self.weight
        if self.padding_idx is not None:
            row = torch.arange(self.num_embeddings).unsqueeze(1) == self.padding_idx
            table = torch.where(row, table.detach(), table)
        rows = table[input]
        if self.max_norm is not None:
            length = rows.detach().norm(self.norm_type, -1, keepdim=True)
            rows = torch.where(length > self.max_norm, rows * (self.max_norm / (length + 1e-7)), rows)
        return rows

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + ("" if self.padding_idx is None else f", padding_idx={self.padding_idx}")


def _convolution(name: str) -> Any:
    """A convolution whose stride, padding and dilation are tuples, one number for each axis."""
    origin = getattr(_nn, name)

    @functools.wraps(origin.__init__)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        origin.__init__(self, *args, **kwargs)
        for setting in ("stride", "dilation", "padding", "output_padding"):
            value = self.__dict__.get(setting)
            if isinstance(value, int):
                setattr(self, setting, (value,) * self.spatial)

    lift_as(origin, lift_class(origin, "polygrad.torch.nn", __init__=__init__))
    return lift(origin, "polygrad.torch.nn")


Conv1d, Conv2d, Conv3d = (_convolution(f"Conv{n}d") for n in (1, 2, 3))
_ConvTranspose1d, _ConvTranspose2d, ConvTranspose3d = (_convolution(f"ConvTranspose{n}d") for n in (1, 2, 3))


class _Transposed:
    """The order of arguments of PyTorch's transposed convolutions: groups, bias and dilation behind output_padding."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
        bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(  # type: ignore[call-arg]
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, output_padding=output_padding, groups=groups, bias=bias,
            dilation=dilation,
        )  # fmt: skip


class ConvTranspose1d(_Transposed, _ConvTranspose1d):  # type: ignore[misc]
    """Transposed convolution over one axis."""


class ConvTranspose2d(_Transposed, _ConvTranspose2d):  # type: ignore[misc]
    """Transposed convolution over two axes."""


class RMSNorm(lift(_nn.RMSNorm, __name__)):  # type: ignore[misc]
    """x / rms(x) * weight over the last axis; eps=None is the smallest step of float32."""

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None, dtype: Any = None):
        if isinstance(normalized_shape, (tuple, list)):
            if len(normalized_shape) != 1:
                raise NotImplementedError(f"RMSNorm is over the last axis, not over the axes of {tuple(normalized_shape)}")
            (normalized_shape,) = normalized_shape
        super().__init__(int(normalized_shape), 1.1920928955078125e-07 if eps is None else eps, elementwise_affine)


InstanceNorm = lift(_nn.InstanceNorm, __name__)

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Embedding",
    "InstanceNorm", "RMSNorm",
]  # fmt: skip
