"""Molecules and crystals by the places of their atoms (OMDB, HydroNet), and four million molecules on disk (PCQM4Mv2)."""

from __future__ import annotations

import gzip
import os
import shutil
import zipfile
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.database import OnDiskDataset
from ..data.download import download_url
from ..data.extract import allowed, extract_tar, extract_zip
from ._arrays import numbers, read_csv, tensor
from ._bases import Archived, many, one_of
from ._nested import arrays, load_torch
from ._pickles import load_npz
from ._tables import read_table

SYMBOLS = (
    "X H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb "
    "Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm "
    "Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
).split()
NUMBER = {s: k for k, s in enumerate(SYMBOLS)}


def parse_xyz(text: str, path: str) -> list[tuple[np.ndarray, np.ndarray, str]]:
    """The structures of an XYZ file: numbers of the atoms, positions [N, 3], and the line of remarks."""
    lines = text.splitlines()
    out, at = [], 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        if not lines[at].strip().isdigit() or at + 2 + int(lines[at]) > len(lines):
            raise ValueError(f"{path}: line {at + 1}: a number of atoms is needed, and as many lines")
        n = int(lines[at])
        rows = [line.split() for line in lines[at + 2 : at + 2 + n]]
        bad = next((r for r in rows if len(r) < 4 or (r[0] not in NUMBER and not r[0].isdigit())), None)
        if bad is not None:
            raise ValueError(f"{path}: {' '.join(bad)[:60]!r} is not an atom with its position")
        z = np.array([NUMBER[r[0]] if r[0] in NUMBER else int(r[0]) for r in rows], np.int64)
        out.append((z, numbers([r[1:4] for r in rows], np.float64, path).reshape(-1, 3), lines[at + 1]))
        at += 2 + n
    return out


class OMDB(Archived):
    """12,500 organic crystals with their band gaps ("Organic Materials Database: An Open-Access Online Database for Data Mining", 2017): 10,000 for
    training, the others for the test. `OMDB-GAP1_v1.1.tar.gz` must be fetched by hand.

    >>> from polygrad.geometric.datasets import OMDB
    >>> dataset = OMDB("data/OMDB", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "omdb"
    name = "OMDB"

    def __init__(
        self,
        root: str | None = None,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.train = train
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["OMDB-GAP1_v1.1.tar.gz"]

    @property
    def processed_file_names(self) -> str:
        return "train_data.safetensors" if self.train else "test_data.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        raise ValueError("https://omdb.mathub.io/dataset asks for a registration before the archive can be fetched")

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        folder = os.path.dirname(path)
        if not os.path.isfile(os.path.join(folder, "structures.xyz")):
            extract_tar(path, folder)
        with open(os.path.join(folder, "structures.xyz"), encoding="utf-8", errors="replace") as f:
            found = parse_xyz(f.read(), path)
        gaps = read_table(os.path.join(folder, "bandgaps.csv"), np.float64, 1)
        if len(gaps) != len(found):
            raise ValueError(f"{path}: {len(found)} structures and {len(gaps)} band gaps do not fit")
        some = slice(0, 10000) if self.train else slice(10000, None)
        graphs = [Data(z=Tensor(z), pos=tensor(p, np.float32), y=tensor(g, np.float32)) for (z, p, _), g in zip(found[some], gaps[some])]
        return many(graphs, self)


class HydroNet(Archived):
    """Clusters of 3 to 30 molecules of water with their energies ("HydroNet: Benchmark Tasks for Preserving Intermolecular Interactions and
    Structural
    Motifs in Predictive and Generative Models for Molecular Data", 2020).

    name: "small" (500,000 of up to 25 molecules), "medium" (all of up to 25), or None. clusters: one or some of the sizes. use_processed: arrays
    that were
    made of the geometries are fetched, instead of these.

    >>> from polygrad.geometric.datasets import HydroNet
    >>> dataset = HydroNet("data/HydroNet", name="small")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "hydronet"
    sizes: ClassVar[range] = range(3, 31)

    def __init__(
        self,
        root: str | None = None,
        name: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
        num_workers: int = 8,
        clusters: int | list[int] | None = None,
        use_processed: bool = True,
    ):
        if name is not None and clusters is not None:
            raise ValueError("give a name or clusters, not both")
        self.subset = None if name is None else one_of("name", name, ("small", "medium"))
        given = [clusters] if isinstance(clusters, int) else list(range(3, 26) if name is not None else self.sizes) if clusters is None else clusters
        if not given or any(c not in self.sizes for c in given):
            raise ValueError(f"clusters must be numbers from 3 to 30, not {clusters}")
        self.clusters, self.use_processed, self.num_workers, self.name = given, use_processed, num_workers, "HydroNet"
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        files = [f"W{c}_geoms_all.{'npz' if self.use_processed else 'zip'}" for c in self.clusters]
        return [*files, "split_00_small.npz"] if self.subset == "small" else files

    @property
    def processed_file_names(self) -> str:
        which = self.subset or "_".join(str(c) for c in self.clusters)
        return f"{which}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        address = "https://figshare.com/ndownloader/files"
        data = (f"{address}/38075781", "W3-W30_pyg_processed.zip") if self.use_processed else (f"{address}/38063847", "W3-W30_all_geoms_TTM2.1-F.zip")
        return [data, (f"{address}/38075904", "hydronet_splits.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        graphs = []
        for path, c in zip(self.raw_paths, self.clusters):
            z, pos, y = self._arrays(path, 3 * c) if self.use_processed else self._geometries(path, 3 * c)
            if z.shape[1:] != (3 * c,) or pos.shape != (*z.shape, 3) or y.shape != z.shape[:1]:
                raise ValueError(f"{path}: atoms {z.shape}, positions {pos.shape} and energies {y.shape} do not fit")
            graphs += [Data(z=tensor(a), pos=tensor(p), y=tensor(e.reshape(1))) for a, p, e in zip(z, pos, y)]
        if self.subset == "small":
            path = self.raw_paths[-1]
            parts = load_npz(path, ["train_idx", "val_idx"])
            some = np.concatenate([parts["train_idx"], parts["val_idx"]]).astype(np.int64)
            if some.size and (some.min() < 0 or some.max() >= len(graphs)):
                raise ValueError(f"{path}: it names a cluster beyond the {len(graphs)} that there are")
            graphs = [graphs[k] for k in some]
        return many(graphs, self)

    @staticmethod
    def _arrays(path: str, atoms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = load_npz(path, ["z", "pos", "y"])
        return found["z"], found["pos"], found["y"]

    @staticmethod
    def _geometries(path: str, atoms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        try:
            with zipfile.ZipFile(path) as z:
                entry = next((i for i in z.infolist() if i.filename.endswith(".xyz")), None)
                if entry is None or entry.file_size > allowed(os.path.getsize(path)):
                    raise ValueError(f"{path}: geometries that are not much larger than their archive are needed")
                found = parse_xyz(z.read(entry).decode("utf-8", "replace"), path)
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as e:
            raise ValueError(f"{path}: cannot be read: {e}") from None
        if any(len(a) != atoms for a, _, _ in found):
            raise ValueError(f"{path}: clusters of {atoms} atoms are needed")
        energy = numbers(((line.split() or ["?"])[-1] for _, _, line in found), np.float32, path)
        kind = np.array([a for a, _, _ in found], np.int8).reshape(-1, atoms)
        return kind, np.array([p for _, p, _ in found], np.float16).reshape(-1, atoms, 3), energy


class PCQM4Mv2(OnDiskDataset):
    """3,746,619 molecules with the gap between two energies of their electrons as `y`, in an SQLite file ("OGB-LSC: A Large-Scale Challenge for
    Machine
    Learning on Graphs", 2021).

    split: "train", "val", "test" or "holdout". from_smiles: makes a graph of a text; by default `utils.from_smiles`, which needs rdkit.

    >>> from polygrad.geometric.datasets import PCQM4Mv2
    >>> dataset = PCQM4Mv2("data/PCQM4Mv2", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    url: ClassVar[str] = "https://dgl-data.s3-accelerate.amazonaws.com/dataset/OGB-LSC/pcqm4m-v2.zip"
    split_mapping: ClassVar[dict[str, str]] = {"train": "train", "val": "valid", "test": "test-dev", "holdout": "test-challenge"}

    def __init__(
        self,
        root: str,
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        backend: str = "sqlite",
        from_smiles: Callable[..., Any] | None = None,
    ):
        from ..utils import from_smiles as usual

        self.split, self.from_smiles = one_of("split", split, list(self.split_mapping)), from_smiles or usual
        super().__init__(root, transform, backend=backend)
        parts = arrays(load_torch(self.raw_paths[1]))
        own = parts.get(self.split_mapping[self.split]) if isinstance(parts, dict) else None
        if own is None or any(not 0 <= int(k) < self.len() for k in own):
            raise ValueError(f"{self.raw_paths[1]}: the numbers of the molecules of each part are needed")
        self._indices = [int(k) for k in own]

    @property
    def raw_file_names(self) -> list[str]:
        return [os.path.join("pcqm4m-v2", "raw", "data.csv.gz"), os.path.join("pcqm4m-v2", "split_dict.pt")]

    def download(self) -> None:
        path = download_url(self.url, self.raw_dir)
        extract_zip(path, self.raw_dir)
        os.unlink(path)

    def process(self) -> None:
        packed = self.raw_paths[0]
        plain = packed[: -len(".gz")]
        with gzip.open(packed, "rb") as source, open(plain, "wb") as target:
            shutil.copyfileobj(source, target)
        head, rows = read_csv(plain, ("smiles", "homolumogap"))
        os.unlink(plain)
        smiles, gap = head.index("smiles"), numbers((r[head.index("homolumogap")] or "nan" for r in rows), np.float64, packed)
        for start in range(0, len(rows), 1000):
            graphs = []
            for row, y in zip(rows[start : start + 1000], gap[start : start + 1000]):
                data = self.from_smiles(row[smiles])
                data.y = float(y)
                graphs.append(data)
            self.extend(graphs)


__all__ = ["HydroNet", "OMDB", "PCQM4Mv2", "parse_xyz"]
