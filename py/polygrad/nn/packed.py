"""Sequences of several lengths: padded to the longest, or packed without the padding. PyTorch has these in torch.nn.utils.rnn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..tensor import Tensor


class PackedSequence(NamedTuple):
    """data: the entries of all sequences, time by time; batch_sizes: how many sequences are that long; the order of the sequences by length,
    and the way back."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None


def _table(batch_sizes: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Where the entries of packed data lie in [time, batch], flattened; and the lengths of the sequences."""
    sizes = batch_sizes.numpy().astype(np.int64)
    batch = int(sizes[0]) if len(sizes) else 0
    live = np.arange(batch) < sizes[:, None]
    return np.flatnonzero(live).astype(np.int32), live.sum(0).astype(np.int32)


def unpacked(p: PackedSequence) -> tuple[Tensor, Tensor]:
    """Padded data [time, batch, ...] in the order of lengths, and the lengths."""
    places, lengths = _table(p.batch_sizes)
    times, batch = int(p.batch_sizes.shape[0]), len(lengths)
    source = np.zeros(times * batch, np.int32)
    source[places] = np.arange(len(places))
    filled = np.zeros(times * batch, bool)
    filled[places] = True
    mask = Tensor(filled).reshape([-1] + [1] * (p.data.ndim - 1))
    return mask.where(p.data[Tensor(source)], 0.0).reshape(times, batch, *p.data.shape[1:]), Tensor(lengths)


def repacked(x: Tensor, like: PackedSequence) -> PackedSequence:
    """x [time, batch, ...] packed like another."""
    places, _ = _table(like.batch_sizes)
    return PackedSequence(x.flatten(0, 1)[Tensor(places)], *like[1:])


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Packs padded sequences [time, batch, ...].

    >>> from polygrad import Tensor
    >>> from polygrad.nn.utils import rnn
    >>> p = rnn.pack_padded_sequence(Tensor([[1, 2, 3], [4, 0, 0]]), [3, 1], batch_first=True)
    >>> p.data.tolist(), p.batch_sizes.tolist()
    ([1, 4, 2, 3], [2, 1, 1])
    """
    n = np.asarray(lengths.numpy() if isinstance(lengths, Tensor) else lengths, np.int64)
    x = input.transpose(0, 1) if batch_first else input
    if n.shape != (int(x.shape[1]),):
        raise ValueError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(n)} lengths for a batch of {x.shape[1]}")
    if (n <= 0).any():
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    order = back = None
    if enforce_sorted:
        if (np.diff(n) > 0).any():
            raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                               "`enforce_sorted=False` to sort them.")  # fmt: skip
    else:
        index = np.argsort(-n, kind="stable")
        n = n[index]
        order, back = Tensor(index.astype(np.int64)), Tensor(np.argsort(index).astype(np.int64))
        x = x.index_select(1, order)
    sizes = (n[None, :] > np.arange(int(n[0]))[:, None]).sum(1)
    packed = PackedSequence(x, Tensor(sizes.astype(np.int64)), order, back)
    return repacked(x[: int(n[0])], packed)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Padded sequences [time, batch, ...] in their first order, and their lengths."""
    x, lengths = unpacked(sequence)
    if padding_value:
        live = Tensor.arange(int(x.shape[0])).unsqueeze(1) < lengths
        x = live.reshape([*live.shape] + [1] * (x.ndim - 2)).where(x, padding_value)
    if total_length is not None:
        if total_length < int(x.shape[0]):
            raise ValueError(f"Expected total_length to be at least the length of the longest sequence in input, but got {total_length} and "
                             f"{x.shape[0]}")  # fmt: skip
        x = x.pad(((0, total_length - int(x.shape[0])), *[(0, 0)] * (x.ndim - 1)), value=padding_value)
    if sequence.unsorted_indices is not None:
        x, lengths = x.index_select(1, sequence.unsorted_indices), lengths[sequence.unsorted_indices]
    return (x.transpose(0, 1) if batch_first else x), lengths.cast("int64")


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    """Sequences [length, ...] as one tensor [longest, batch, ...].

    >>> from polygrad import Tensor
    >>> from polygrad.nn.utils import rnn
    >>> rnn.pad_sequence([Tensor([1, 2]), Tensor([3])], batch_first=True).tolist()
    [[1, 2], [3, 0]]
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"padding_side must be 'left' or 'right', not {padding_side!r}")
    from ..geometric._moved import plain

    longest = max(int(s.shape[0]) for s in sequences)
    if all(plain(s) and s.dtype is sequences[0].dtype and s.shape[1:] == sequences[0].shape[1:] for s in sequences):
        return _joined(sequences, longest, batch_first, padding_value, padding_side == "left")
    padded = []
    for s in sequences:
        more = longest - int(s.shape[0])
        pair = (0, more) if padding_side == "right" else (more, 0)
        padded.append(s.pad((pair, *[(0, 0)] * (s.ndim - 1)), value=padding_value))
    return Tensor.stack(*padded, dim=0 if batch_first else 1)


def _joined(sequences: Any, longest: int, batch_first: bool, value: float, left: bool) -> Tensor:
    """Known values are moved at once. As a program they would be another one for each batch, since another sequence is the longest."""
    from ..geometric._moved import array, like

    first = sequences[0]
    out = np.full((len(sequences), longest, *first.shape[1:]), value, first.dtype.np)
    for row, s in zip(out, sequences):
        n = int(s.shape[0])
        row[longest - n if left else 0 : longest if left else n] = array(s)
    return like(out if batch_first else out.swapaxes(0, 1), *sequences)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences without their padding."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    n = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    return [x[k, : int(size)] for k, size in enumerate(n)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences."""
    return pack_padded_sequence(pad_sequence(sequences), [int(s.shape[0]) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)


__all__ = [
    "PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip
