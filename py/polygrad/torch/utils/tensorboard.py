"""torch.utils.tensorboard: a log of numbers, texts and the modules of a model, in the files that TensorBoard reads.

A file is a sequence of records: the length of a message, its check sum, the message (a protocol buffer `Event`), its check sum.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from datetime import datetime
from functools import cache
from typing import Any

# ---- protocol buffers ----


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: Any) -> bytes:
    """A field of a message: an int is a varint, a float a double, bytes and texts have a length."""
    if isinstance(value, float):
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


@cache
def _table() -> list[int]:
    out = []
    for k in range(256):
        for _ in range(8):
            k = k >> 1 ^ (0x82F63B78 if k & 1 else 0)
        out.append(k)
    return out


def _sum_of(data: bytes) -> bytes:
    """CRC-32C, rotated and shifted by a constant as the record format asks for."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


class SummaryWriter:
    """Writes a log that TensorBoard shows.

    log_dir: the folder; by default `runs/<date>_<host><comment>`. purge_step, max_queue and flush_secs are accepted: every event is written at
    once. filename_suffix: the end of the file's name.

    >>> import tempfile
    >>> from polygrad.torch.utils.tensorboard import SummaryWriter
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     writer.add_scalar("Loss/train", 0.5, 1)
    """

    def __init__(
        self, log_dir: str | None = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10, flush_secs: int = 120,
        filename_suffix: str = "",
    ):  # fmt: skip
        host = socket.gethostname()
        self.log_dir = str(log_dir) if log_dir else os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{host}{comment}")
        os.makedirs(self.log_dir, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{host}.{os.getpid()}.{id(self) % 1000}{filename_suffix}"
        self._file: Any = open(os.path.join(self.log_dir, name), "ab")  # noqa: SIM115
        self._event(_field(3, "brain.Event:2"))

    def _event(self, content: bytes, step: int | None = None, walltime: float | None = None) -> None:
        if self._file is None:
            raise ValueError("the writer is closed")
        data = _field(1, float(time.time() if walltime is None else walltime)) + (_field(2, int(step)) if step else b"") + content
        size = struct.pack("<Q", len(data))
        self._file.write(size + _sum_of(size) + data + _sum_of(data))
        self._file.flush()

    def get_logdir(self) -> str:
        """The folder of the log."""
        return self.log_dir

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Logs a number."""
        number = _varint(2 << 3 | 5) + struct.pack("<f", float(scalar_value))
        self._event(_field(5, _field(1, _field(1, str(tag)) + number)), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None, walltime: float | None = None) -> None:
        """Logs several numbers under main_tag."""
        for tag, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{tag}", value, global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None) -> None:
        """Logs a text."""
        about = _field(1, _field(1, "text"))
        tensor = _field(1, 7) + _field(2, _field(2, _field(1, 1))) + _field(8, text_string)
        self._event(_field(5, _field(1, _field(1, f"{tag}/text_summary") + _field(8, tensor) + _field(9, about))), global_step, walltime)

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], **kwargs: Any) -> None:
        """Logs settings as a text and what was reached with them as numbers."""
        self.add_text("hparams", "\n".join(f"{k}: {v}" for k, v in hparam_dict.items()))
        for tag, value in metric_dict.items():
            self.add_scalar(tag, value)

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """Logs the modules of a model, each after the one before it in the same module. The model is called once if an input is given."""
        if input_to_model is not None:
            model(*input_to_model) if isinstance(input_to_model, (list, tuple)) else model(input_to_model)
        nodes = b""
        last: dict[str, str] = {}
        for path, module in model.named_modules():
            name = "/".join([type(model).__name__, *path.split(".")]) if path else type(model).__name__
            parent = name.rpartition("/")[0]
            before = last.get(parent, parent)
            last[parent] = name
            nodes += _field(1, _field(1, name) + _field(2, type(module).__name__) + (_field(3, before) if before else b""))
        self._event(_field(4, nodes + _field(4, _field(1, 22))))

    def flush(self) -> None:
        """Writes what is not written yet."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *args: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


__all__ = ["SummaryWriter"]
