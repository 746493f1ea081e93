"""The full citation networks."""

from __future__ import annotations

from typing import Any, Callable, ClassVar

from ._files import FileDataset, one
from ._npz import read_npz

URL = "https://github.com/abojchevski/graph2gauss/raw/master/data"


class CitationFull(FileDataset):
    """Citation networks without the usual selection ("Deep Gaussian Embedding of Graphs", 2018).

    name: "Cora" (19,793 nodes, 70 classes), "Cora_ML", "CiteSeer", "DBLP" or "PubMed". to_undirected: adds the opposite of every edge.

    >>> from polygrad.geometric.datasets import CitationFull
    >>> dataset = CitationFull("data/CitationFull", name="DBLP")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "npz"

    def __init__(
        self,
        root: str | None = None,
        name: str = "Cora",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        to_undirected: bool = True,
        force_reload: bool = False,
    ):
        self.name, self.to_undirected = name.lower(), to_undirected
        if self.name not in ("cora", "cora_ml", "citeseer", "dblp", "pubmed"):
            raise ValueError(f"name must be 'Cora', 'Cora_ML', 'CiteSeer', 'DBLP' or 'PubMed', not {name!r}")
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> str:
        return f"{self.name}.npz"

    @property
    def processed_file_names(self) -> str:
        return f"data_{'undirected' if self.to_undirected else 'directed'}.safetensors"

    def urls(self) -> list[str]:
        return [f"{URL}/{self.raw_file_names}"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_npz(self.raw_paths[0], self.to_undirected))

    def __repr__(self) -> str:
        return f"{self.name.capitalize()}Full()"


class CoraFull(CitationFull):
    """CitationFull with the name "Cora".

    >>> from polygrad.geometric.datasets import CoraFull
    >>> dataset = CoraFull("data/CoraFull")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    def __init__(self, root: str | None = None, transform: Callable[..., Any] | None = None, pre_transform: Callable[..., Any] | None = None):
        super().__init__(root, "cora", transform, pre_transform)


__all__ = ["CitationFull", "CoraFull"]
