"""Coauthor CS and Physics."""

from __future__ import annotations

from typing import Any, Callable, ClassVar

from ._files import FileDataset, one
from ._npz import read_npz
from .amazon import URL


class Coauthor(FileDataset):
    """Authors who wrote papers together ("Pitfalls of Graph Neural Network Evaluation", 2018): keywords, fields of study.

    name: "CS" (18,333 nodes, 163,788 edges, 6,805 features, 15 classes) or "Physics" (34,493, 495,924, 8,415, 5).

    >>> from polygrad.geometric.datasets import Coauthor
    >>> dataset = Coauthor("data/Coauthor", name="CS")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "npz"

    def __init__(
        self,
        root: str | None = None,
        name: str = "CS",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        if name.lower() not in ("cs", "physics"):
            raise ValueError(f"name must be 'CS' or 'Physics', not {name!r}")
        self.name = "CS" if name.lower() == "cs" else "Physics"
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> str:
        return f"ms_academic_{self.name[:3].lower()}.npz"

    def urls(self) -> list[str]:
        return [f"{URL}/{self.raw_file_names}"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_npz(self.raw_paths[0]))

    def __repr__(self) -> str:
        return f"Coauthor{self.name}()"


__all__ = ["Coauthor"]
