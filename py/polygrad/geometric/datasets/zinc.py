"""ZINC: molecules and their constrained solubility."""

from __future__ import annotations

import io
import os
import pickle
import struct
from collections import OrderedDict
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.download import download_url
from ..data.extract import extract_zip
from ._files import FileDataset

URL = "https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1"
SPLIT_URL = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/molecules/{}.index"
SPLITS = ("train", "val", "test")


class ZINC(FileDataset):
    """Molecules of ZINC ("Automatic Chemical Design", 2018): about 250,000, or with subset=True 12,000, with 28 kinds of atoms in x, 4 kinds of bonds
    in edge_attr and the constrained solubility in y. split: "train", "val" or "test"."""

    group: ClassVar[str] = "zinc"

    def __init__(
        self, root: str | None = None, subset: bool = False, split: str = "train", transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None, pre_filter: Callable[..., Any] | None = None, force_reload: bool = False,
    ):  # fmt: skip
        if split not in SPLITS:
            raise ValueError(f"split must be 'train', 'val' or 'test', not {split!r}")
        self.subset, self.split = subset, split
        super().__init__(root, transform, pre_transform, pre_filter, force_reload=force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{s}.pickle" for s in SPLITS] + [f"{s}.index" for s in SPLITS]

    @property
    def processed_file_names(self) -> str:
        return f"{'subset' if self.subset else 'full'}_{self.split}.safetensors"

    def download(self) -> None:
        folder = self._download_dir()
        path = download_url(URL, folder, filename="molecules.zip")
        extract_zip(path, folder)
        os.remove(path)
        inner = os.path.join(folder, "molecules")
        for name in os.listdir(inner):
            os.replace(os.path.join(inner, name), os.path.join(folder, name))
        for s in SPLITS:
            download_url(SPLIT_URL.format(s), folder, filename=f"{s}.index")

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        molecules = load_molecules(os.path.join(self.raw_dir, f"{self.split}.pickle"))
        chosen = range(len(molecules))
        if self.subset:
            with open(os.path.join(self.raw_dir, f"{self.split}.index"), encoding="utf-8") as f:
                chosen = [int(n) for n in f.read().replace("\n", ",").split(",") if n.strip()]  # type: ignore[assignment]
        graphs = [_graph(molecules[k]) for k in chosen]
        return *self.collate(graphs), {}

    def __repr__(self) -> str:
        return f"ZINC({len(self)})" if self._data is not None else "ZINC()"


def _graph(molecule: dict[str, np.ndarray]) -> Data:
    bonds = molecule["bond_type"]
    pairs = np.stack(np.nonzero(bonds)).astype(np.int64)
    return Data(
        x=Tensor(molecule["atom_type"].astype(np.int64).reshape(-1, 1)),
        edge_index=Tensor(pairs),
        edge_attr=Tensor(bonds[pairs[0], pairs[1]].astype(np.int64)),
        y=Tensor(molecule["logP_SA_cycle_normalized"].astype(np.float32).reshape(-1)),
    )


# ---- pickles of PyTorch's tensors, as arrays, without running what is in them ----

_TYPES = {"Double": "<f8", "Float": "<f4", "Half": "<f2", "Long": "<i8", "Int": "<i4", "Short": "<i2", "Char": "i1", "Byte": "u1", "Bool": "?"}
_KINDS = {f"{name}Storage": np.dtype(code) for name, code in _TYPES.items()}


class _Storage(pickle.Unpickler):
    """The memory of one tensor: a few pickles, then the number of elements and their bytes."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("torch", "torch.storage") and name in _KINDS:
            return _KINDS[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not the type of a storage")

    def persistent_load(self, pid: Any) -> Any:
        return pid[1]


def _storage(content: bytes) -> np.ndarray:
    f = io.BytesIO(content)
    parts = [_Storage(f).load() for _ in range(5)]  # a mark, a version, a description, the storage, its name
    (count,) = struct.unpack("<q", f.read(8))
    kind = parts[3]
    if not isinstance(kind, np.dtype) or not 0 <= count * kind.itemsize <= len(content):
        raise pickle.UnpicklingError("a storage that its file does not hold")
    return np.frombuffer(f.read(count * kind.itemsize), kind)


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *others: Any) -> np.ndarray:
    shape, step = tuple(int(n) for n in size), tuple(int(n) for n in stride)
    last = int(offset) + sum((n - 1) * s for n, s in zip(shape, step))
    if min((int(offset), *shape, *step), default=0) < 0 or (0 not in shape and last >= storage.size):
        raise pickle.UnpicklingError("a tensor outside of its storage")
    view = np.lib.stride_tricks.as_strided(storage[int(offset) :], shape, tuple(s * storage.itemsize for s in step))
    return np.array(view)


class _Molecules(pickle.Unpickler):
    NAMES: ClassVar[dict[tuple[str, str], Any]] = {
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch._utils", "_rebuild_tensor"): _tensor,
        ("torch.storage", "_load_from_bytes"): _storage,
        ("collections", "OrderedDict"): OrderedDict,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.NAMES:
            raise pickle.UnpicklingError(f"{module}.{name} is not among what a file of molecules needs")
        return self.NAMES[module, name]


def load_molecules(path: str) -> list[dict[str, np.ndarray]]:
    """The molecules of a file: dicts of arrays."""
    with open(path, "rb") as f:
        try:
            found = _Molecules(f).load()
        except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, TypeError, struct.error) as e:
            raise ValueError(f"{path}: {e}") from None
    needed = ("atom_type", "bond_type", "logP_SA_cycle_normalized")
    for molecule in found:
        if not isinstance(molecule, dict) or not all(isinstance(molecule.get(k), np.ndarray) for k in needed):
            raise ValueError(f"{path}: a molecule needs {', '.join(needed)}")
    return list(found)


__all__ = ["ZINC", "load_molecules"]
