"""Molecules of RDKit, and SMILES texts, as graphs and back. RDKit is needed when these functions are called, and only then."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor

# What each column of `x` and `edge_attr` may be, in the order of their numbers; names are RDKit's.
x_map: dict[str, list[Any]] = {
    "atomic_num": list(range(119)),
    "chirality": [
        "CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER", "CHI_TETRAHEDRAL", "CHI_ALLENE", "CHI_SQUAREPLANAR",
        "CHI_TRIGONALBIPYRAMIDAL", "CHI_OCTAHEDRAL",
    ],
    "degree": list(range(11)),
    "formal_charge": list(range(-5, 7)),
    "num_hs": list(range(9)),
    "num_radical_electrons": list(range(5)),
    "hybridization": ["UNSPECIFIED", "S", "SP", "SP2", "SP3", "SP3D", "SP3D2", "OTHER"],
    "is_aromatic": [False, True],
    "is_in_ring": [False, True],
}  # fmt: skip
e_map: dict[str, list[Any]] = {
    "bond_type": [
        "UNSPECIFIED", "SINGLE", "DOUBLE", "TRIPLE", "QUADRUPLE", "QUINTUPLE", "HEXTUPLE", "ONEANDAHALF", "TWOANDAHALF", "THREEANDAHALF",
        "FOURANDAHALF", "FIVEANDAHALF", "AROMATIC", "IONIC", "HYDROGEN", "THREECENTER", "DATIVEONE", "DATIVE", "DATIVEL", "DATIVER", "OTHER", "ZERO",
    ],
    "stereo": ["STEREONONE", "STEREOANY", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS"],
    "is_conjugated": [False, True],
}  # fmt: skip


def _rdkit() -> Any:
    try:
        from rdkit import Chem  # type: ignore[import-not-found]
    except ImportError:
        raise ImportError("molecules need RDKit: pip install rdkit") from None
    return Chem


def from_rdmol(mol: Any) -> Any:
    """A graph of an RDKit molecule: `x` [atoms, 9] and `edge_attr` [bonds in both directions, 3] are numbers in `x_map` and `e_map`.

    >>> from rdkit import Chem  # doctest: +SKIP
    >>> from polygrad.geometric.utils import from_rdmol
    >>> from_rdmol(Chem.MolFromSmiles("CCO")).x.shape  # doctest: +SKIP
    (3, 9)
    """
    from ..data import Data

    atoms = [
        (
            a.GetAtomicNum(), str(a.GetChiralTag()), a.GetTotalDegree(), a.GetFormalCharge(), a.GetTotalNumHs(), a.GetNumRadicalElectrons(),
            str(a.GetHybridization()), a.GetIsAromatic(), a.IsInRing(),
        )
        for a in mol.GetAtoms()
    ]  # fmt: skip
    bonds = [
        (b.GetBeginAtomIdx(), b.GetEndAtomIdx(), str(b.GetBondType()), str(b.GetStereo()), b.GetIsConjugated())
        for b in mol.GetBonds()
    ]  # fmt: skip
    x = np.array([[names.index(v) for names, v in zip(x_map.values(), a)] for a in atoms], np.int64).reshape(-1, len(x_map))
    ends = np.array([b[:2] for b in bonds], np.int64).reshape(-1, 2)
    kind = np.array([[names.index(v) for names, v in zip(e_map.values(), b[2:])] for b in bonds], np.int64).reshape(-1, len(e_map))
    pairs, kind = np.concatenate([ends, ends[:, ::-1]]).T, np.concatenate([kind, kind])
    order = np.lexsort((pairs[1], pairs[0]))
    return Data(x=Tensor(x), edge_index=Tensor(np.ascontiguousarray(pairs[:, order])), edge_attr=Tensor(np.ascontiguousarray(kind[order])))


def from_smiles(smiles: str, with_hydrogen: bool = False, kekulize: bool = False) -> Any:
    """A graph of a SMILES text, which is kept in `smiles`; a text that is no molecule gives a graph without atoms.

    >>> from polygrad.geometric.utils import from_smiles
    >>> data = from_smiles("CCO")  # doctest: +SKIP
    >>> data.x.shape, data.edge_index.shape  # doctest: +SKIP
    ((3, 9), (2, 4))
    """
    chem = _rdkit()
    mol = chem.MolFromSmiles(smiles)
    if mol is None:
        mol = chem.MolFromSmiles("")
    if with_hydrogen:
        mol = chem.AddHs(mol)
    if kekulize:
        chem.Kekulize(mol)
    data = from_rdmol(mol)
    data.smiles = smiles
    return data


def to_rdmol(data: Any, kekulize: bool = False) -> Any:
    """The RDKit molecule of a graph whose features are those of `from_rdmol`.

    >>> from polygrad.geometric.utils import from_smiles, to_rdmol
    >>> to_rdmol(from_smiles("CCO")).GetNumAtoms()  # doctest: +SKIP
    3
    """
    chem = _rdkit()
    mol = chem.RWMol()
    x, edge_attr, pairs = (data[key].numpy().tolist() for key in ("x", "edge_attr", "edge_index"))
    for row in x:
        value = {name: names[k] for (name, names), k in zip(x_map.items(), row)}
        atom = chem.Atom(value["atomic_num"])
        atom.SetChiralTag(chem.rdchem.ChiralType.names[value["chirality"]])
        atom.SetFormalCharge(value["formal_charge"])
        atom.SetNumExplicitHs(value["num_hs"])
        atom.SetNumRadicalElectrons(value["num_radical_electrons"])
        atom.SetHybridization(chem.rdchem.HybridizationType.names[value["hybridization"]])
        atom.SetIsAromatic(value["is_aromatic"])
        mol.AddAtom(atom)
    for (a, b), row in zip(zip(*pairs), edge_attr):
        if a < b:
            value = {name: names[k] for (name, names), k in zip(e_map.items(), row)}
            mol.AddBond(a, b, chem.BondType.names[value["bond_type"]])
            bond = mol.GetBondBetweenAtoms(a, b)
            stereo = chem.rdchem.BondStereo.names[value["stereo"]]
            if value["stereo"] != "STEREONONE":
                neighbours = [[n.GetIdx() for n in mol.GetAtomWithIdx(end).GetNeighbors() if n.GetIdx() not in (a, b)] for end in (a, b)]
                if all(neighbours):
                    bond.SetStereoAtoms(neighbours[0][0], neighbours[1][0])
                    bond.SetStereo(stereo)
            bond.SetIsConjugated(value["is_conjugated"])
    out = mol.GetMol()
    if kekulize:
        chem.Kekulize(out)
    chem.SanitizeMol(out)
    chem.AssignStereochemistry(out)
    return out


def to_smiles(data: Any, kekulize: bool = False) -> str:
    """The SMILES text of a graph whose features are those of `from_smiles`.

    >>> from polygrad.geometric.utils import from_smiles, to_smiles
    >>> to_smiles(from_smiles("CCO"))  # doctest: +SKIP
    'CCO'
    """
    return _rdkit().MolToSmiles(to_rdmol(data, kekulize), isomericSmiles=True)


__all__ = ["from_rdmol", "from_smiles", "to_rdmol", "to_smiles"]
