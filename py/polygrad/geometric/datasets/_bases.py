"""Datasets by the arguments that their constructors take, and downloads that are archives."""

from __future__ import annotations

import os
import shutil
from typing import Any, Callable, ClassVar

from ..data.data import Data
from ..data.dataset import _names
from ..data.download import download_url
from ..data.extract import extract_gz, extract_tar, extract_zip
from ._files import FileDataset, data_folders


def drive(file: str) -> str:
    """The address of a file on Google Drive by its id."""
    return f"https://drive.usercontent.google.com/download?id={file}&confirm=t"


class Archived(FileDataset):
    """Raw files that may come in archives: `archives` are their addresses and the names they are stored under; None for plain files at `urls`.

    by_hand: names of archives that nobody may fetch but the user; where one was put into a folder of the set, it is unpacked there.
    """

    by_hand: ClassVar[tuple[str, ...]] = ()

    def _find(self) -> str | None:
        found = super()._find()
        if found is None and any([self._unpack(folder) for folder in data_folders(self.root)]):
            found = super()._find()
        return found

    def _unpack(self, folder: str) -> bool:
        paths = [os.path.join(place, name) for place in self._places(folder) for name in self.by_hand]
        paths = [p for p in dict.fromkeys(paths) if os.path.isfile(p)]
        for path in paths:
            extract_zip(path, os.path.dirname(path))
        return bool(paths)

    def archives(self) -> list[tuple[str, str]] | None:
        return None

    def download(self) -> None:
        archives = self.archives()
        if archives is None:
            return super().download()
        folder = self._download_dir()
        for url, name in archives:
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            path = download_url(url, folder, filename=name, checksum=self.checksums.get(name))
            if name.endswith(".zip"):
                extract_zip(path, folder)
            elif name.endswith((".tar.gz", ".tgz")):
                extract_tar(path, folder)
            elif name.endswith(".tar.bz2"):
                extract_tar(path, folder, mode="r:bz2")
            elif name.endswith(".gz"):
                extract_gz(path, folder)
            else:
                continue
            os.remove(path)
        self._lift(folder)

    def _lift(self, folder: str) -> None:
        """Moves the raw files out of folders that the archive put around them."""
        wanted = _names(self.raw_file_names)
        for place, _, _ in list(os.walk(folder)):
            for name in wanted:
                inner = os.path.join(place, name)
                if place != folder and os.path.exists(inner) and not os.path.exists(os.path.join(folder, name)):
                    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                    shutil.move(inner, os.path.join(folder, name))


class OneGraph(Archived):
    """A dataset of one graph, without a choice."""

    data_class: ClassVar[type] = Data

    def __init__(
        self,
        root: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name = self.name or type(self).__name__
        super().__init__(root, transform, pre_transform, force_reload=force_reload, data_cls=self.data_class)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class NamedGraph(Archived):
    """A dataset of one graph out of several, by name."""

    names: ClassVar[tuple[str, ...]] = ()
    data_class: ClassVar[type] = Data

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name = self._known(name)
        super().__init__(root, transform, pre_transform, force_reload=force_reload, data_cls=self.data_class)

    def _known(self, name: str) -> str:
        return one_of("name", name, self.names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


class SplitGraphs(Archived):
    """A dataset of graphs in three parts."""

    parts: ClassVar[tuple[str, ...]] = ("train", "val", "test")

    def __init__(
        self,
        root: str | None = None,
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.split = one_of("split", split, self.parts)
        self.name = self.name or type(self).__name__
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def processed_file_names(self) -> str:
        return f"{self.split}.safetensors"


class Graphs(Archived):
    """A dataset of graphs, without a choice."""

    def __init__(
        self,
        root: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name = self.name or type(self).__name__
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)


def one_of(what: str, given: str, known: tuple[str, ...] | list[str]) -> str:
    """The known one that is given, in any case; an error lists them."""
    found = next((k for k in known if k.lower() == str(given).lower()), None)
    if found is None:
        raise ValueError(f"{what} must be one of {', '.join(known)}, not {given!r}")
    return found


def many(graphs: list[Any], what: Any) -> tuple[Any, Any, dict[str, Any]]:
    """What `read` returns for a list of graphs."""
    if not graphs:
        raise ValueError(f"{what}: there is no graph in the files")
    return (*FileDataset.collate(graphs), {})


__all__ = ["Archived", "Graphs", "NamedGraph", "OneGraph", "SplitGraphs", "drive", "many", "one_of"]
