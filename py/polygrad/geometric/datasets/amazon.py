"""Amazon Computers and Photo."""

from __future__ import annotations

from typing import Any, Callable, ClassVar

from ._files import FileDataset, one
from ._npz import read_npz

URL = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"


class Amazon(FileDataset):
    """Goods that are often bought together ("Pitfalls of Graph Neural Network Evaluation", 2018): words of reviews, product categories.

    name: "Computers" (13,752 nodes, 491,722 edges, 767 features, 10 classes) or "Photo" (7,650, 238,162, 745, 8).

    >>> from polygrad.geometric.datasets import Amazon
    >>> dataset = Amazon("data/Amazon", name="Photo")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "npz"

    def __init__(
        self,
        root: str | None = None,
        name: str = "Photo",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        if name.lower() not in ("computers", "photo"):
            raise ValueError(f"name must be 'Computers' or 'Photo', not {name!r}")
        self.name = name.capitalize()
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> str:
        return f"amazon_electronics_{self.name.lower()}.npz"

    def urls(self) -> list[str]:
        return [f"{URL}/{self.raw_file_names}"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_npz(self.raw_paths[0]))

    def __repr__(self) -> str:
        return f"Amazon{self.name}()"


__all__ = ["Amazon"]
