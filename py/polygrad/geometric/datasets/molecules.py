"""Molecules: QM7b, QM9, MD17, ZINC, AQSOL and MoleculeNet."""

from __future__ import annotations

import os
import warnings
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._arrays import numbers, read_csv, read_lines, same_rows, tensor
from ._bases import Archived, Graphs, SplitGraphs, many, one_of
from ._mat import load_mat
from ._nested import load_nested
from ._pickles import load_npz
from .torch_graphs import graphs_of_dicts

DEEPCHEM = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"


def of_matrices(matrices: np.ndarray, y: np.ndarray, path: str) -> list[Data]:
    """A graph of each matrix: its entries that are not 0 are edges, with their values."""
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or y.ndim != 2 or len(y) != len(matrices):
        raise ValueError(f"{path}: matrices {matrices.shape} and targets {y.shape} do not fit")
    out = []
    for a, t in zip(matrices, y):
        row, col = np.nonzero(a)
        n = int(max(row.max(initial=-1), col.max(initial=-1))) + 1
        out.append(
            Data(edge_index=Tensor(np.stack([row, col]).astype(np.int64)), edge_attr=tensor(a[row, col]), y=tensor(t[None], np.float32), num_nodes=n)
        )
    return out


class QM7b(Graphs):
    """7,211 molecules of up to 23 atoms with 14 properties ("MoleculeNet", 2018); edges have the entries of the Coulomb matrix.

    >>> from polygrad.geometric.datasets import QM7b
    >>> dataset = QM7b("data/QM7b")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "qm7b"

    @property
    def raw_file_names(self) -> list[str]:
        return ["qm7b.mat"]

    def urls(self) -> list[str]:
        return [f"{DEEPCHEM}/qm7b.mat"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        found = load_mat(self.raw_paths[0], ["X", "T"])
        x, y = found["X"], found["T"]
        if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
            raise ValueError(f"{self.raw_paths[0]}: dense matrices X and T are needed")
        return many(of_matrices(x, y, self.raw_paths[0]), self)


class QM9(Graphs):
    """130,831 molecules of up to 29 atoms with 19 properties in eV, Debye and so on ("MoleculeNet", 2018): atoms `z`, positions `pos`, 11 features,
    bonds with 4 features. Read from the processed file of PyTorch Geometric.

    >>> from polygrad.geometric.datasets import QM9
    >>> dataset = QM9("data/QM9")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "qm9"

    @property
    def raw_file_names(self) -> list[str]:
        return ["qm9_v3.pt"]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://data.pyg.org/datasets/qm9_v3.zip", "qm9_v3.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return many(graphs_of_dicts(self.raw_paths[0]), self)

    def _column(self, target: int) -> np.ndarray:
        return self._data.y.numpy()[:, target]

    def mean(self, target: int) -> float:
        """Mean of a property over all molecules."""
        return float(self._column(target).mean(dtype=np.float64))

    def std(self, target: int) -> float:
        """Standard deviation of a property over all molecules."""
        return float(self._column(target).std(ddof=1, dtype=np.float64))

    def atomref(self, target: int) -> Tensor | None:
        """What a single atom has of the property, by its number [100, 1]; None where that is not known."""
        if target not in _ATOMREFS:
            return None
        out = np.zeros((100, 1), np.float32)
        out[[1, 6, 7, 8, 9], 0] = _ATOMREFS[target]
        return Tensor(out)


_ATOMREFS = {
    6: [0.0, 0.0, 0.0, 0.0, 0.0],
    7: [-13.61312172, -1029.86312267, -1485.30251237, -2042.61123593, -2713.48485589],
    8: [-13.5745904, -1029.82456413, -1485.26398105, -2042.5727046, -2713.44632457],
    9: [-13.54887564, -1029.79887659, -1485.2382935, -2042.54701705, -2713.42063702],
    10: [-13.90303183, -1030.25891228, -1485.71166277, -2043.01812778, -2713.88796536],
    11: [0.0, 0.0, 0.0, 0.0, 0.0],
}


class MD17(Archived):
    """Trajectories of molecules with energies and forces ("Machine Learning of Accurate Energy-conserving Molecular Force Fields", 2017).

    name: such as "aspirin", "revised aspirin" or "aspirin CCSD". train: the part of those with CCSD in the name, which come divided; None for others.

    >>> from polygrad.geometric.datasets import MD17
    >>> dataset = MD17("data/MD17", name="aspirin CCSD", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "md17"
    plain: ClassVar[dict[str, str]] = {
        "benzene": "md17_benzene2017", "uracil": "md17_uracil", "naphthalene": "md17_naphthalene", "aspirin": "md17_aspirin",
        "salicylic acid": "md17_salicylic", "malonaldehyde": "md17_malonaldehyde", "ethanol": "md17_ethanol", "toluene": "md17_toluene",
        "paracetamol": "paracetamol_dft", "azobenzene": "azobenzene_dft", "benzene CCSD(T)": "benzene_ccsd_t", "aspirin CCSD": "aspirin_ccsd",
        "malonaldehyde CCSD(T)": "malonaldehyde_ccsd_t", "ethanol CCSD(T)": "ethanol_ccsd_t", "toluene CCSD(T)": "toluene_ccsd_t",
        "benzene FHI-aims": "benzene2018_dft",
    }  # fmt: skip
    revised_names: ClassVar[tuple[str, ...]] = (
        "benzene", "uracil", "naphthalene", "aspirin", "salicylic acid", "malonaldehyde", "ethanol", "toluene", "paracetamol", "azobenzene",
    )  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        train: bool | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name = one_of("name", name, [*self.plain, *(f"revised {n}" for n in self.revised_names)])
        self.revised, self.ccsd, self.train = self.name.startswith("revised"), "CCSD" in self.name, train
        if self.ccsd == (train is None):
            raise ValueError(f"{self.name!r} {'comes divided: say train=True or False' if self.ccsd else 'is not divided: train must be None'}")
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    def mean(self) -> float:
        """Mean of the energies."""
        return float(self._data.energy.numpy().mean(dtype=np.float64))

    @property
    def raw_file_names(self) -> list[str]:
        if self.revised:
            return [os.path.join("rmd17", "npz_data", f"rmd17_{self.name[8:].split()[0]}.npz")]
        stem = self.plain[self.name]
        return [f"{stem}-train.npz", f"{stem}-test.npz"] if self.ccsd else [f"{stem}.npz"]

    @property
    def processed_file_names(self) -> str:
        return "data.safetensors" if self.train is None else "train.safetensors" if self.train else "test.safetensors"

    def archives(self) -> list[tuple[str, str]] | None:
        if self.revised:
            return [("https://archive.materialscloud.org/record/file?filename=rmd17.tar.bz2&record_id=466", "rmd17.tar.bz2")]
        return [(f"https://quantum-machine.org/gdml/data/npz/{self.plain[self.name]}.zip", "ccsd.zip")] if self.ccsd else None

    def urls(self) -> list[str]:
        return [f"https://quantum-machine.org/gdml/data/npz/{self.plain[self.name]}.npz"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0 if self.train in (None, True) else 1]
        names = ["nuclear_charges", "coords", "energies", "forces"] if self.revised else ["z", "R", "E", "F"]
        z, pos, energy, force = load_npz(path, names).values()
        if z.ndim != 1 or pos.ndim != 3 or pos.shape[1:] != (z.size, 3) or force.shape != pos.shape:
            raise ValueError(f"{path}: {names[0]} {z.shape}, {names[1]} {pos.shape} and {names[3]} {force.shape} do not fit")
        same_rows(path, len(pos), **{names[2]: energy})
        if not len(pos):
            raise ValueError(f"{path}: there is no molecule in the file")
        count, size = len(pos), z.size
        data = Data(
            z=tensor(np.tile(z, count), np.int64),
            pos=tensor(pos.reshape(-1, 3), np.float32),
            energy=tensor(energy.reshape(count, -1)[:, 0], np.float32),
            force=tensor(force.reshape(-1, 3), np.float32),
        )
        ptr = np.arange(count + 1) * size
        return data, {"z": ptr, "pos": ptr, "energy": np.arange(count + 1), "force": ptr}, {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self) if self._data is not None else ''}, name={self.name!r})"


class ZINC(SplitGraphs):
    """Molecules with their constrained solubility ("Automatic Chemical Design Using a Data-Driven Continuous Representation of Molecules", 2018):
    249,456 graphs, or with subset the 12,000 of "Benchmarking Graph Neural Networks". 28 kinds of atoms, 4 of bonds.

    >>> from polygrad.geometric.datasets import ZINC
    >>> dataset = ZINC("data/ZINC", subset=True, split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "zinc"

    def __init__(
        self,
        root: str | None = None,
        subset: bool = False,
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.subset = subset
        super().__init__(root, split, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{p}.{end}" for end in ("pickle", "index") for p in self.parts]

    @property
    def processed_file_names(self) -> str:
        return f"{'subset' if self.subset else 'full'}_{self.split}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        index = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/molecules"
        return [
            ("https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1", "molecules.zip"),
            *((f"{index}/{p}.index", f"{p}.index") for p in self.parts),
        ]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        k = self.parts.index(self.split)
        path = self.raw_paths[k]
        molecules = load_nested(path)
        keys = ("atom_type", "bond_type", "logP_SA_cycle_normalized")
        if not isinstance(molecules, list) or not all(isinstance(m, dict) and all(isinstance(m.get(c), np.ndarray) for c in keys) for m in molecules):
            raise ValueError(f"{path}: a list of molecules with {', '.join(keys)} is needed")
        chosen = range(len(molecules))
        if self.subset:
            words = ",".join(read_lines(self.raw_paths[3 + k])).split(",")
            index = numbers((w for w in words if w.strip()), np.int64, self.raw_paths[3 + k])
            if index.size and (index.min() < 0 or index.max() >= len(molecules)):
                raise ValueError(f"{self.raw_paths[3 + k]}: it names a molecule beyond the {len(molecules)} that there are")
            chosen = index.tolist()
        return many([_zinc(molecules[m], path) for m in chosen], self)


def _zinc(m: dict[str, np.ndarray], path: str) -> Data:
    atoms, bonds = m["atom_type"].reshape(-1), m["bond_type"]
    if bonds.shape != (atoms.size, atoms.size):
        raise ValueError(f"{path}: bonds {bonds.shape} of {atoms.size} atoms")
    row, col = np.nonzero(bonds)
    return Data(
        x=tensor(atoms.reshape(-1, 1), np.int64),
        edge_index=Tensor(np.stack([row, col]).astype(np.int64)),
        edge_attr=tensor(bonds[row, col], np.int64),
        y=tensor(m["logP_SA_cycle_normalized"].reshape(-1), np.float32),
    )


class AQSOL(SplitGraphs):
    """9,823 molecules with their solubility in water ("Benchmarking Graph Neural Networks", 2020): 65 kinds of atoms, 5 of bonds.

    >>> from polygrad.geometric.datasets import AQSOL
    >>> dataset = AQSOL("data/AQSOL", split="val")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "aqsol"

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{p}.pickle" for p in self.parts]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://www.dropbox.com/s/lzu9lmukwov12kt/aqsol_graph_raw.zip?dl=1", "aqsol.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[self.parts.index(self.split)]
        graphs = load_nested(path)
        if not isinstance(graphs, list) or not all(isinstance(g, (tuple, list)) and len(g) == 4 for g in graphs):
            raise ValueError(f"{path}: a list of atoms, bonds, edges and targets is needed")
        out = []
        for x, edge_attr, edge_index, y in graphs:
            x, edge_attr, edge_index = (np.asarray(v) for v in (x, edge_attr, edge_index))
            good = edge_index.ndim == 2 and len(edge_index) == 2 and edge_index.dtype.kind in "iu" and edge_attr.shape[:1] == edge_index.shape[1:]
            if not edge_index.size:
                continue
            if not good or not isinstance(y, (int, float, np.number)) or edge_index.min() < 0 or edge_index.max() >= len(x):
                raise ValueError(f"{path}: a molecule of {x.shape} atoms, {edge_attr.shape} bonds and edges {edge_index.shape} is damaged")
            target = Tensor(np.array([float(y)], np.float32))
            out.append(Data(x=tensor(x), edge_index=tensor(edge_index, np.int64), edge_attr=tensor(edge_attr), y=target))
        return many(out, self)


class MoleculeNet(Archived):
    """Molecules as SMILES with their properties ("MoleculeNet", 2018).

    name: "ESOL", "FreeSolv", "Lipo", "PCBA", "MUV", "HIV", "BACE", "BBBP", "Tox21", "ToxCast", "SIDER" or "ClinTox".

    from_smiles: makes a Data of a SMILES text; without it `utils.from_smiles`, which needs rdkit. Targets that are not known are NaN.

    >>> from polygrad.geometric.datasets import MoleculeNet
    >>> dataset = MoleculeNet("data/MoleculeNet", name="ESOL")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "moleculenet"
    # file of the archive, its name in the folder, column of the SMILES, columns of the targets
    tables: ClassVar[dict[str, tuple[str, str, int, slice]]] = {
        "esol": ("delaney-processed.csv", "delaney-processed", -1, slice(-2, -1)),
        "freesolv": ("SAMPL.csv", "SAMPL", 1, slice(2, 3)),
        "lipo": ("Lipophilicity.csv", "Lipophilicity", 2, slice(1, 2)),
        "pcba": ("pcba.csv.gz", "pcba", -1, slice(0, 128)),
        "muv": ("muv.csv.gz", "muv", -1, slice(0, 17)),
        "hiv": ("HIV.csv", "HIV", 0, slice(-1, None)),
        "bace": ("bace.csv", "bace", 0, slice(2, 3)),
        "bbbp": ("BBBP.csv", "BBBP", -1, slice(-2, -1)),
        "tox21": ("tox21.csv.gz", "tox21", -1, slice(0, 12)),
        "toxcast": ("toxcast_data.csv.gz", "toxcast_data", 0, slice(1, 618)),
        "sider": ("sider.csv.gz", "sider", 0, slice(1, 28)),
        "clintox": ("clintox.csv.gz", "clintox", 0, slice(1, 3)),
    }

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
        from_smiles: Callable[[str], Any] | None = None,
    ):
        self.name, self.from_smiles = one_of("name", name, list(self.tables)), from_smiles
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.tables[self.name][1]}.csv"]

    def archives(self) -> list[tuple[str, str]]:
        file = self.tables[self.name][0]
        return [(f"{DEEPCHEM}/{file}", file)]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        from ..utils import from_smiles

        make = self.from_smiles or from_smiles
        path = self.raw_paths[0]
        head, rows = read_csv(path)
        _, _, at, columns = self.tables[self.name]
        if len(head[columns]) < 1 or not -len(head) <= at < len(head):
            raise ValueError(f"{path}: {len(head)} columns are too few")
        words = [[w or "nan" for w in row[columns]] for row in rows]
        y = numbers(words, np.float32, path)
        graphs = []
        for k, row in enumerate(rows):
            data = make(row[at])
            if not data.num_nodes:
                warnings.warn(f"{row[at]!r} has no atoms and is left out", stacklevel=2)
                continue
            data.y = tensor(y[k : k + 1])
            graphs.append(data)
        return many(graphs, self)

    def __repr__(self) -> str:
        return f"{self.name}({len(self) if self._data is not None else ''})"


__all__ = ["AQSOL", "MD17", "MoleculeNet", "QM7b", "QM9", "ZINC"]
