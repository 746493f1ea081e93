"""Chains of steps over graphs: torch_geometric.data.datapipes."""

# mypy: disable-error-code="misc, override, no-untyped-call, attr-defined"

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

from .. import torch
from ..torch.utils.data import IterDataPipe, functional_datapipe


@functional_datapipe("batch_graphs")
class Batcher(IterDataPipe):
    """Batches of the graphs of a chain."""

    def __init__(self, dp: Any, batch_size: int, drop_last: bool = False):
        self.dp, self.batch_size, self.drop_last = dp, batch_size, drop_last

    def __iter__(self) -> Iterator[Any]:
        from .data import Batch

        waiting: list[Any] = []
        for graph in self.dp:
            waiting.append(graph)
            if len(waiting) == self.batch_size:
                yield Batch.from_data_list(waiting)
                waiting = []
        if waiting and not self.drop_last:
            yield Batch.from_data_list(waiting)

    def __len__(self) -> int:
        n = len(self.dp)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("parse_smiles")
class SMILESParser(IterDataPipe):
    """Molecules of SMILES texts, or of dictionaries with such a text and perhaps a target; the package rdkit reads them."""

    def __init__(self, dp: Any, smiles_key: str = "smiles", target_key: str | None = None):
        self.dp, self.smiles_key, self.target_key = dp, smiles_key, target_key

    def __iter__(self) -> Iterator[Any]:
        from .utils import from_smiles

        for entry in self.dp:
            if not isinstance(entry, (str, dict)):
                raise ValueError(f"SMILESParser expected either a string or a dict, not a {type(entry).__name__}")
            graph = from_smiles(entry if isinstance(entry, str) else entry[self.smiles_key])
            target = entry.get(self.target_key) if isinstance(entry, dict) and self.target_key is not None else None
            if target is not None:
                graph.y = torch.tensor([float(target) if str(target) else float("nan")])
            yield graph


class DatasetAdapter(IterDataPipe):
    """The entries of a dataset as the first step of a chain; apply_sharding leaves every n-th of them.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.data import Data
    >>> from polygrad.torch_geometric.data.datapipes import DatasetAdapter
    >>> chain = DatasetAdapter([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))] * 3)
    >>> [b.num_edges for b in chain.to_undirected().batch_graphs(batch_size=2)]
    [4, 2]
    """

    def __init__(self, dataset: Any):
        self.dataset, self.range = dataset, range(len(dataset))

    def is_shardable(self) -> bool:
        """Yes."""
        return True

    def apply_sharding(self, num_shards: int, shard_idx: int) -> None:
        """Leaves the entries shard_idx, shard_idx + num_shards, ..."""
        self.range = range(shard_idx, len(self.dataset), num_shards)

    def __iter__(self) -> Iterator[Any]:
        return (self.dataset[k] for k in self.range)

    def __len__(self) -> int:
        return len(self.range)


class _Mapped(IterDataPipe):
    """The graphs of a chain, each changed by a transform."""

    def __init__(self, dp: Any, transform: Any):
        self.dp, self.transform = dp, transform

    def __iter__(self) -> Iterator[Any]:
        return (self.transform(copy.copy(graph)) for graph in self.dp)

    def __len__(self) -> int:
        return len(self.dp)


def functional_transform(name: str) -> Any:
    """Makes a class of transforms a method of every step of a chain."""

    def enter(cls: Any) -> Any:
        IterDataPipe.register_function(name, lambda dp, *args, **kwargs: _Mapped(dp, cls(*args, **kwargs)))
        return cls

    return enter


def _enter_transforms() -> None:
    from . import transforms

    for name in transforms.__all__:
        cls = getattr(transforms, name)
        if isinstance(cls, type) and name not in ("BaseTransform", "Compose", "ComposeFilters"):
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
            functional_transform(words.replace("meta_paths", "metapaths"))(cls)


_enter_transforms()

__all__ = ["Batcher", "DatasetAdapter", "SMILESParser", "functional_transform"]
