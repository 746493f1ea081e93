"""The junction tree of a molecule (Jin et al., "Junction tree variational autoencoder for molecular graph generation", 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor

RING, BOND, BRIDGED, SINGLE = 0, 1, 2, 3


def _of_atoms(cliques: list[list[int]], atoms: int) -> list[list[int]]:
    """The cliques that each atom is in."""
    out: list[list[int]] = [[] for _ in range(atoms)]
    for c, members in enumerate(cliques):
        for atom in members:
            out[atom].append(c)
    return out


def _merge_bridged(cliques: list[list[int]], kinds: list[int], atoms: int) -> tuple[list[list[int]], list[int]]:
    """Rings that share more than two atoms are one bridged compound."""
    of = _of_atoms(cliques, atoms)
    for a in range(len(cliques)):
        for atom in list(cliques[a]):
            for b in of[atom]:
                if a < b and min(len(cliques[a]), len(cliques[b])) > 2 and len({*cliques[a]} & {*cliques[b]}) > 2:
                    cliques[a] = list({*cliques[a]} | {*cliques[b]})
                    kinds[a], kinds[b], cliques[b] = BRIDGED, -1, []
    return [c for c in cliques if c], [k for k in kinds if k >= 0]


def _joined(cliques: list[list[int]], kinds: list[int], atoms: int) -> dict[tuple[int, int], int]:
    """Pairs of cliques that share atoms, and how many; an atom in which many meet becomes a clique of its own, which is added."""
    edges: dict[tuple[int, int], int] = {}
    for atom, of in enumerate(_of_atoms(cliques, atoms)):
        if len(of) <= 1:
            continue
        bonds, rings = sum(len(cliques[c]) == 2 for c in of), sum(len(cliques[c]) > 4 for c in of)
        many = bonds > 2 or (bonds == 2 and len(of) > 2)
        if many or rings > 2:
            cliques.append([atom])
            kinds.append(SINGLE)
            edges |= {(c, len(cliques) - 1): 1 if many else 99 for c in of}
        else:
            for k, a in enumerate(of):
                for b in of[k + 1 :]:
                    edges[a, b] = min(len({*cliques[a]} & {*cliques[b]}), edges.get((a, b), 99))
    return edges


def tree_decomposition(mol: Any, return_vocab: bool = False) -> Any:
    """The junction tree of an RDKit molecule: (edge_index between cliques [2, E], pairs (atom, clique) [2, P], number of cliques), and with
    return_vocab what each clique is: 0 a ring, 1 a bond, 2 a bridged compound, 3 a single atom.

    Cliques are rings and the bonds outside of them; the tree is a spanning tree of those that share atoms, as many as possible. Needs RDKit and
    scipy.

    >>> from rdkit import Chem  # doctest: +SKIP
    >>> from polygrad.geometric.utils import tree_decomposition
    >>> tree_decomposition(Chem.MolFromSmiles("CCO"))[2]  # doctest: +SKIP
    2
    """
    import rdkit.Chem as Chem  # type: ignore[import-not-found, unused-ignore]
    from scipy.sparse import coo_matrix  # type: ignore[import-untyped, unused-ignore]
    from scipy.sparse.csgraph import minimum_spanning_tree  # type: ignore[import-untyped, unused-ignore]

    atoms = mol.GetNumAtoms()
    cliques = [list(ring) for ring in Chem.GetSymmSSSR(mol)]
    kinds = [RING] * len(cliques)
    bonds = [[b.GetBeginAtomIdx(), b.GetEndAtomIdx()] for b in mol.GetBonds() if not b.IsInRing()]
    cliques, kinds = _merge_bridged(cliques + bonds, kinds + [BOND] * len(bonds), atoms)
    edges = _joined(cliques, kinds, atoms)
    pairs = np.zeros((2, 0), np.int64)
    if edges:
        ends, weight = np.array(list(edges)).T, 100.0 - np.array(list(edges.values()))
        tree = minimum_spanning_tree(coo_matrix((weight, (ends[0], ends[1])), (len(cliques), len(cliques)))).tocoo()
        both = np.stack([np.concatenate([tree.row, tree.col]), np.concatenate([tree.col, tree.row])]).astype(np.int64)
        pairs = both[:, np.lexsort((both[1], both[0]))]
    of = _of_atoms(cliques, atoms)
    members = np.array([(atom, c) for atom, mine in enumerate(of) for c in mine], np.int64).reshape(-1, 2).T
    out = (Tensor(np.ascontiguousarray(pairs)), Tensor(np.ascontiguousarray(members)), len(cliques))
    return (*out, Tensor(np.array(kinds, np.int64))) if return_vocab else out


__all__ = ["tree_decomposition"]
