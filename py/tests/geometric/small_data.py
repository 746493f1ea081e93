"""Small data sets in the file formats of the known ones, so that tests run where those are not to be had.

`cases` gives the data sets that a test runs on: the written one always, the known ones where POLYGRAD_DATA or the user's cache has them.
Each writer returns the counts that a reader must find, derived from what was written and not by reading it.
"""

from __future__ import annotations

import gzip
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from polygrad.geometric.datasets._files import data_folders


def find(path: str) -> Path | None:
    """A file or folder of a known data set, or None if it is not on this machine."""
    return next((Path(f) / path for f in data_folders(None) if os.path.exists(os.path.join(f, path))), None)


def cases(*known: tuple) -> list[tuple]:
    """Arguments for `parametrize`: (name, counts). Of the known ones, (path, name, counts), those whose path is on this machine; first (None, None)."""
    return [(None, None), *((name, counts) for path, name, counts in known if find(path))]


def csr(shape=(2, 3), data=(1.0, 2.0), indices=(0, 2), indptr=(0, 1, 2)) -> bytes:
    """The pickle of a scipy csr_matrix, made without scipy."""
    out = io.BytesIO()
    out.write(b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81")
    state = {"_shape": shape, "data": np.array(data, np.float32), "indices": np.array(indices, np.int32), "indptr": np.array(indptr, np.int32)}
    out.write(pickle.dumps(state, 2)[2:-1] + b"b.")
    return out.getvalue()


def _csr_of(dense: np.ndarray) -> bytes:
    rows, columns = np.nonzero(dense)
    return csr(dense.shape, dense[rows, columns], columns, np.r_[0, np.cumsum(np.bincount(rows, minlength=len(dense)))])


def _pairs(adjacent: np.ndarray) -> np.ndarray:
    """The pairs of a random symmetric graph without loops, each once, given the probability of each pair."""
    rng = np.random.default_rng(5)
    return np.argwhere(np.triu(rng.random(adjacent.shape) < adjacent, 1))


def write_planetoid(data: Path, name: str = "cora", classes: int = 5, tests: int = 200, words: int = 60) -> dict[str, int]:
    """A planted partition: nodes of a class are joined 12 times as often as others, and each class has words that it uses more often.

    Neither the words alone nor the neighbours' labels alone give the class away: a network has to put both together.
    """
    folder = data / "planetoid"
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    train, n = 20 * classes, 20 * classes + 500 + tests
    y = np.r_[np.repeat(np.arange(classes), 20), rng.integers(0, classes, n - train)]
    pairs = _pairs(np.where(y[:, None] == y, 0.024, 0.002))
    likely = np.where(np.arange(words) % classes == y[:, None], 0.14, 0.06)
    x = (rng.random((n, words)) < likely).astype(np.float32)
    one_hot = np.eye(classes, dtype=np.int32)[y]
    graph: dict[int, list[int]] = {k: [] for k in range(n)}
    for a, b in pairs.tolist():
        graph[a].append(b)
        graph[b].append(a)
    first, order = n - tests, rng.permutation(tests)  # the rows of tx are in the order of test.index
    parts = {
        "x": _csr_of(x[:train]), "y": pickle.dumps(one_hot[:train], 2), "allx": _csr_of(x[:first]), "ally": pickle.dumps(one_hot[:first], 2),
        "tx": _csr_of(x[first:][order]), "ty": pickle.dumps(one_hot[first:][order], 2), "graph": pickle.dumps(graph, 2),
        "test.index": "".join(f"{first + k}\n" for k in order).encode(),
    }  # fmt: skip
    for part, content in parts.items():
        (folder / f"ind.{name}.{part}").write_bytes(content)
    return {"nodes": n, "edges": 2 * len(pairs), "features": words, "classes": classes, "test": tests}


def write_npz(data: Path, name: str) -> dict[str, int]:
    """A random directed graph, of which a reader makes an undirected one, with weights and a loop, and counts of words."""
    (data / "npz").mkdir(parents=True, exist_ok=True)
    n, words, classes = 90, 12, 4
    rng = np.random.default_rng(8)
    pairs = _pairs(np.full((n, n), 0.1))
    rows = np.r_[pairs[:, 0], 3]
    columns = np.r_[pairs[:, 1], 3]
    order = np.lexsort((columns, rows))
    x = rng.integers(0, 3, (n, words)).astype(np.float32)
    at = np.argwhere(x)
    arrays: dict[str, Any] = {"labels": np.r_[np.arange(classes), rng.integers(0, classes, n - classes)]}
    for prefix, values, i, j, shape in (
        ("adj", np.full(len(rows), 2.0), rows[order], columns[order], (n, n)),
        ("attr", x[x > 0], at[:, 0], at[:, 1], (n, words)),
    ):
        arrays |= {f"{prefix}_data": values.astype(np.float32), f"{prefix}_indices": j.astype(np.int32), f"{prefix}_shape": np.array(shape)}
        arrays[f"{prefix}_indptr"] = np.r_[0, np.cumsum(np.bincount(i, minlength=n))].astype(np.int32)
    np.savez_compressed(data / "npz" / f"{name}.npz", **arrays)
    return {"nodes": n, "edges": 2 * len(pairs), "features": words, "classes": classes}


def write_tu(data: Path, name: str, graphs: int = 240) -> dict[str, int]:
    """Rings (class 1) and stars (class -1) of 7 to 11 nodes of four sorts, which say nothing about the class, with an attribute each."""
    folder = data / "tu" / name
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(9)
    edges, owner, nodes = [], [], 0
    for k in range(graphs):
        n = int(rng.integers(7, 12))
        star = [(0, i) for i in range(1, n)]
        bonds = star if k % 2 else [(i, (i + 1) % n) for i in range(n)]
        edges += [(nodes + a, nodes + b) for a, b in bonds]
        owner += [k] * n
        nodes += n
    kinds = rng.integers(0, 3, len(edges))
    both = [(a, b, t) for (a, b), t in zip(edges, kinds)] + [(b, a, t) for (a, b), t in zip(edges, kinds)]
    sorts = np.r_[np.arange(4), rng.integers(0, 4, nodes - 4)]
    texts = {
        "A": [f"{a + 1}, {b + 1}" for a, b, _ in both], "edge_labels": [str(t) for _, _, t in both],
        "graph_indicator": [str(g + 1) for g in owner], "graph_labels": ["-1" if k % 2 else "1" for k in range(graphs)],
        "node_labels": [str(s) for s in sorts], "node_attributes": [f"{a:.3f}" for a in rng.standard_normal(nodes)],
    }  # fmt: skip
    for part, lines in texts.items():
        (folder / f"{name}_{part}.txt").write_text("\n".join(lines) + "\n")
    first = owner.count(0)
    return {"graphs": graphs, "features": 4, "wide": 5, "classes": 2, "nodes": nodes, "edges": len(both), "first": first, "edge_labels": 3}


def write_rdf(data: Path, name: str = "aifb") -> dict[str, int]:
    """People, papers and topics: who wrote what, what is about what; a person's group is to be found."""
    folder = data / "rdf" / name
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(10)
    people, papers, topics = 30, 60, 7
    triples = {("wrote", f"person{p}", f"paper{q}") for q in range(papers) for p in {q % people, *rng.integers(0, people, 2).tolist()}}
    triples |= {("about", f"paper{q}", f"topic{q % topics}") for q in range(papers)}
    triples |= {("knows", f"person{p}", f"person{(p + 1) % people}") for p in range(0, people, 2)}
    lines = [f"<http://x/{s}> <http://r/{r}> <http://x/{o}> .\n" for r, s, o in sorted(triples, key=lambda t: t[1:])]
    (folder / f"{name}_stripped.nt.gz").write_bytes(gzip.compress("".join(lines).encode()))
    rows = [f"http://x/person{p}\t{p}\tgroup{p % 3}\n" for p in range(people)]
    for part, some in (("complete", rows), ("training", rows[:20]), ("test", rows[20:])):
        suffix = "Dataset" if part == "complete" else "Set"
        (folder / f"{part}{suffix}.tsv").write_text("person\tid\tlabel_affiliation\n" + "".join(some))
    return {"nodes": people + papers + topics, "edges": 2 * len(triples), "relations": 6, "classes": 3, "train": 20, "test": 10}
