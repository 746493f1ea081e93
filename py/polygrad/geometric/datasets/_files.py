"""Where the files of datasets are, and datasets that are read from such files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from ..data.data import Data
from ..data.dataset import _names, text_of
from ..data.download import download_url
from ..data.files import load_collated, save_collated
from ..data.in_memory_dataset import InMemoryDataset, check_slices


def data_folders(root: str | None) -> list[str]:
    """The folders in which raw files are looked for, in this order."""
    found = [root, os.environ.get("POLYGRAD_DATA"), os.path.join(os.path.expanduser("~"), ".cache", "polygrad", "data")]
    return list(dict.fromkeys(os.path.abspath(os.path.expanduser(f)) for f in found if f))


class FileDataset(InMemoryDataset):
    """A dataset of files that others made. A subclass says its files, its group and its name, where they are on the net, and how they are read.

    With a root, what was read is kept in `root/<name>/processed` as safetensors; without, it is read anew each time.
    """

    group: ClassVar[str] = ""  # folder under a data folder: planetoid, npz, tu, rdf, ogb
    checksums: ClassVar[dict[str, str]] = {}  # SHA-256 of raw files, where it is known

    name = ""
    _raw: str | None = None

    def __init__(
        self,
        root: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
        data_cls: type = Data,
    ):
        self._data_cls = data_cls
        super().__init__(root, transform, pre_transform, pre_filter, force_reload=force_reload)

    # ---- what a subclass says ----

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        """The joined graphs, their slices, and notes, from the raw files."""
        raise NotImplementedError

    def urls(self) -> list[str]:
        """Addresses of the raw files, in their order."""
        raise NotImplementedError

    @property
    def processed_file_names(self) -> Any:
        return "data.safetensors"

    @property
    def has_process(self) -> bool:
        return True

    # ---- finding ----

    def _places(self, folder: str) -> list[str]:
        """Folders under a data folder where the raw files may be."""
        inner = [os.path.join(self.name, "raw"), "raw", os.path.join(self.group, self.name), self.group, self.name, ""]
        return [os.path.join(folder, i) if i else folder for i in inner]

    def _find(self) -> str | None:
        needed = _names(self.raw_file_names)
        for folder in data_folders(self.root):
            for place in self._places(folder):
                if all(os.path.exists(os.path.join(place, name)) for name in needed):
                    return place
        return None

    def _packaged(self) -> str | None:
        """The file of the package that takes the place of raw files that are nowhere else."""
        return None

    @property
    def raw_dir(self) -> str:
        if self._raw is None:
            self._raw = self._find()
        return self._raw if self._raw is not None else self._download_dir()

    def _download_dir(self) -> str:
        home = self.root or os.environ.get("POLYGRAD_DATA") or data_folders(None)[-1]
        return os.path.join(home, self.name, "raw") if self.root else os.path.join(home, self.group, self.name)

    @property
    def processed_dir(self) -> str:
        return os.path.join(self.root, self.name, "processed") if self.root else self._folder("processed")

    def _download(self) -> None:
        """Raw files are fetched when they are needed: not if the processed ones are there."""

    def _fetch(self) -> None:
        if self._find() is not None or self._packaged() is not None:
            return
        try:
            self.download()
        except (OSError, ValueError) as e:
            raise FileNotFoundError(self._help(str(e))) from None
        self._raw = None
        if self._find() is None:
            raise FileNotFoundError(self._help("what was downloaded does not have these files"))

    def _help(self, why: str) -> str:
        names = "\n  ".join(_names(self.raw_file_names))
        places = "\n  ".join(self._places(f)[2 if f != self.root else 0] for f in data_folders(self.root))
        return f"{self!r} needs the files\n  {names}\nwhich could not be downloaded ({why}). Put them into one of\n  {places}"

    def download(self) -> None:
        """Fetches the raw files one by one."""
        for name, url in zip(_names(self.raw_file_names), self.urls()):
            download_url(url, self._download_dir(), filename=name, checksum=self.checksums.get(name))

    # ---- reading ----

    def _process(self) -> None:
        keep = {"pre_transform": text_of(self.pre_transform), "pre_filter": text_of(self.pre_filter)}
        path = self.processed_paths[0] if self.root else None
        if path is not None and os.path.isfile(path) and not self.force_reload and self._reload(path, keep):
            return
        self._fetch()
        data, slices, notes = self.read()
        self._set(data, slices)
        self._notes(notes)
        if self.pre_filter is not None or self.pre_transform is not None:
            graphs = [self.get(k) for k in range(self.len())]
            graphs = [g for g in graphs if self.pre_filter is None or self.pre_filter(g)]
            graphs = [g if self.pre_transform is None else self.pre_transform(g) for g in graphs]
            self._set(*self.collate(graphs))
        if path is not None:
            try:
                os.makedirs(self.processed_dir, exist_ok=True)
                save_collated(self._data, self._slices, path, {**notes, **keep})
            except OSError as e:
                warnings.warn(f"{self!r} could not be kept in {path}: {e}", stacklevel=4)

    def _reload(self, path: str, keep: dict[str, str]) -> bool:
        """Takes what is in a processed file, if it is whole and was made with the same transforms."""
        try:
            data, slices, notes = load_collated(path, self._data_cls)
            check_slices(data, slices, path)
        except (ValueError, RuntimeError, OSError, KeyError) as e:
            warnings.warn(f"{path} is damaged and is made anew: {e}", stacklevel=5)
            return False
        if any(notes.get(k) != v for k, v in keep.items()):
            return False
        self._set(data, slices)
        self._notes(notes)
        return True

    def _notes(self, notes: dict[str, Any]) -> None:
        """What was noted beside the graphs."""


def one(data: Any) -> tuple[Any, None, dict[str, Any]]:
    """What `read` returns for a single graph."""
    return data, None, {}


__all__ = ["FileDataset", "data_folders", "one"]
