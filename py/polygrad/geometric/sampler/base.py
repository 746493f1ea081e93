"""What samplers take and give, and how negative edges are drawn.

Inside a loader everything is arrays on the host, which threads may work on; a sampler that is called directly gives tensors.
"""

from __future__ import annotations

import copy
import math
import warnings
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np

from ...tensor import Tensor
from .._moved import like
from ..data._values import apply, to_array
from ..data._values import like as kept_as
from ..typing import EdgeTypeStr
from ..utils.mixin import CastMixin
from ._draw import draw_seed, generator


class SubgraphType(Enum):
    """Which edges a sample has: those drawn, those and their opposites, or all between the nodes.

    >>> from polygrad.geometric.sampler import SubgraphType
    >>> [kind.value for kind in SubgraphType]
    ['directional', 'bidirectional', 'induced']
    """

    directional = "directional"
    bidirectional = "bidirectional"
    induced = "induced"


def _rows(x: Any, index: np.ndarray) -> Any:
    if x is None:
        return None
    return like(x.numpy()[index], x) if isinstance(x, Tensor) else to_array(x)[index]


class _Fields:
    """A dataclass whose fields are tensors or arrays."""

    def to_arrays(self) -> Any:
        """The same with numpy arrays in the place of tensors."""
        return type(self)(**{f.name: _arrays(getattr(self, f.name)) for f in fields(self)})  # type: ignore[arg-type]

    def to_tensors(self) -> Any:
        """The same with tensors in the place of numpy arrays."""
        return type(self)(**{f.name: _tensors(getattr(self, f.name)) for f in fields(self)})  # type: ignore[arg-type]


def _arrays(x: Any) -> Any:
    return apply(x, lambda t: t.numpy())


def _tensors(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return Tensor(np.ascontiguousarray(x))
    if isinstance(x, dict):
        return {k: _tensors(v) for k, v in x.items()}
    return tuple(_tensors(v) for v in x) if isinstance(x, tuple) else x


@dataclass
class NodeSamplerInput(_Fields):
    """Nodes to sample around. input_id: their numbers among the loader's input; time: their times; input_type: their type.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.sampler import NodeSamplerInput
    >>> NodeSamplerInput(None, Tensor([0, 1, 2])).node.tolist()
    [0, 1, 2]
    """

    input_id: Any
    node: Any
    time: Any = None
    input_type: str | None = None

    def __getitem__(self, index: Any) -> NodeSamplerInput:
        at = to_array(index).astype(np.int64, copy=False)
        ids = kept_as(at, self.node) if self.input_id is None else _rows(self.input_id, at)
        return NodeSamplerInput(ids, _rows(self.node, at), _rows(self.time, at), self.input_type)


@dataclass
class EdgeSamplerInput(_Fields):
    """Edges to sample around: sources, destinations, labels, times, and their type.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.sampler import EdgeSamplerInput
    >>> EdgeSamplerInput(None, Tensor([0, 1]), Tensor([1, 2])).row.tolist()
    [0, 1]
    """

    input_id: Any
    row: Any
    col: Any
    label: Any = None
    time: Any = None
    input_type: Any = None

    def __getitem__(self, index: Any) -> EdgeSamplerInput:
        at = to_array(index).astype(np.int64, copy=False)
        ids = kept_as(at, self.row) if self.input_id is None else _rows(self.input_id, at)
        row, col, label, time = (_rows(x, at) for x in (self.row, self.col, self.label, self.time))
        return EdgeSamplerInput(ids, row, col, label, time, self.input_type)


# ---- outputs ----


def _bidirectional(row: Any, col: Any, rev_row: Any, rev_col: Any, edge: Any = None, rev_edge: Any = None) -> tuple[Any, Any, Any]:
    """The edges and the opposites of the others, each once, by destination."""
    a, b = np.concatenate([row, rev_col]), np.concatenate([col, rev_row])
    order = np.lexsort((a, b))
    a, b = a[order], b[order]
    first = np.ones(a.size, bool)
    first[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    return a[first], b[first], None if edge is None else np.concatenate([edge, rev_edge])[order[first]]


@dataclass
class SamplerOutput(_Fields):
    """A sample of a graph. node: its nodes; row, col: sources and destinations of its edges by their places in node; edge: numbers of the
    edges; batch: the seed that each node belongs to; num_sampled_nodes, num_sampled_edges: for each hop.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.sampler import SamplerOutput
    >>> SamplerOutput(node=Tensor([4, 1]), row=Tensor([1]), col=Tensor([0]), edge=Tensor([7])).node.tolist()
    [4, 1]
    """

    node: Any
    row: Any
    col: Any
    edge: Any
    batch: Any = None
    num_sampled_nodes: Any = None
    num_sampled_edges: Any = None
    orig_row: Any = None
    orig_col: Any = None
    metadata: Any = None
    _seed_node: Any = field(repr=False, default=None)

    @property
    def global_row(self) -> Any:
        """Sources of the edges by their numbers in the graph."""
        return self.node[self.row]

    @property
    def global_col(self) -> Any:
        """Destinations of the edges by their numbers in the graph."""
        return self.node[self.col]

    def to_bidirectional(self, keep_orig_edges: bool = False) -> SamplerOutput:
        """With the opposite of every edge."""
        tensors = isinstance(self.row, Tensor)
        out = self.to_arrays() if tensors else copy.copy(self)
        if keep_orig_edges:
            out.orig_row, out.orig_col = out.row, out.col
        else:
            out.num_sampled_nodes = out.num_sampled_edges = None
        out.row, out.col, out.edge = _bidirectional(out.row, out.col, out.row, out.col, out.edge, out.edge)
        return out.to_tensors() if tensors else out

    @property
    def seed_node(self) -> Any:
        """The number of the seed that each node belongs to; None for samples that are not disjoint. It may be set where the sample does not have the
        seeds."""
        if self._seed_node is not None:
            return self._seed_node
        return None if self.batch is None else self.node[self.batch]

    @seed_node.setter
    def seed_node(self, value: Any) -> None:
        if len(value) != len(self.node):
            raise ValueError(f"{len(value)} seeds for {len(self.node)} nodes")
        self._seed_node = value

    @property
    def global_orig_row(self) -> Any:
        return None if self.orig_row is None else self.node[self.orig_row]

    @property
    def global_orig_col(self) -> Any:
        return None if self.orig_col is None else self.node[self.orig_col]

    def merge_with(self, other: SamplerOutput, replace: bool = True) -> SamplerOutput:
        """This sample and another. replace: what both have is there once; else the nodes of the other come after these."""
        from ._merge import after, merged

        tensors = isinstance(self.row, Tensor)
        a, b = (s.to_arrays() if isinstance(s.row, Tensor) else s for s in (self, other))
        fields = merged(a, b) if replace else after(a, b)
        both_ways = fields.pop("both_ways", False)
        out = SamplerOutput(**fields)
        if both_ways:
            out = out.to_bidirectional(keep_orig_edges=True)
        return out.to_tensors() if tensors else out

    @classmethod
    def collate(cls, outputs: list[SamplerOutput], replace: bool = True) -> SamplerOutput:
        """All of the samples merged, one after the other."""
        from ._merge import FIELDS

        if not outputs:
            raise ValueError("an empty list of samples cannot be joined")
        for k, out in enumerate(outputs):
            differ = [f for f in FIELDS if (getattr(out, f) is None) != (getattr(outputs[0], f) is None)]
            if differ:
                raise ValueError(f"sample {k} and the first one differ in the field {differ[0]!r}")
        result = outputs[0]
        for out in outputs[1:]:
            result = result.merge_with(out, replace)
        return result


@dataclass
class HeteroSamplerOutput(_Fields):
    """A sample of a graph with several types: the same by type of nodes or edges.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.sampler import HeteroSamplerOutput
    >>> key = ("a", "to", "b")
    >>> out = HeteroSamplerOutput(node={"a": Tensor([0]), "b": Tensor([3])}, row={key: Tensor([0])}, col={key: Tensor([0])}, edge={key: Tensor([7])})
    >>> out.edge[key].tolist()
    [7]
    """

    node: Any
    row: Any
    col: Any
    edge: Any
    batch: Any = None
    num_sampled_nodes: Any = None
    num_sampled_edges: Any = None
    orig_row: Any = None
    orig_col: Any = None
    metadata: Any = None

    @property
    def global_row(self) -> dict[Any, Any]:
        """Sources of the edges by their numbers in the graph."""
        return {key: self.node[key[0]][row] for key, row in self.row.items()}

    @property
    def global_col(self) -> dict[Any, Any]:
        """Destinations of the edges by their numbers in the graph."""
        return {key: self.node[key[2]][col] for key, col in self.col.items()}

    def to_bidirectional(self, keep_orig_edges: bool = False) -> HeteroSamplerOutput:
        """With the opposite of every edge, in the type of opposites if there is one: `rev_<name>`, or the only one the other way."""
        tensors = any(isinstance(v, Tensor) for v in self.row.values())
        out = self.to_arrays() if tensors else copy.copy(self)
        before_row, before_col = out.row, out.col
        out.row, out.col, out.edge = dict(out.row), dict(out.col), dict(out.edge or {})
        if keep_orig_edges:
            out.orig_row, out.orig_col = before_row, before_col
        else:
            out.num_sampled_nodes = out.num_sampled_edges = None
        between = defaultdict(list)
        for key in before_row:
            between[key[0], key[-1]].append(key)
        for key in before_row:
            src, name, dst = key
            if name.startswith("rev_"):
                continue
            back: Any = (dst, f"rev_{name}", src)
            alone = src == dst and back not in before_row
            if alone:
                back = key
            elif back not in before_row:
                if len(between[dst, src]) != 1:
                    warnings.warn(f"edges of type {key} have no type of opposites, and stay as they are", stacklevel=2)
                    continue
                back = between[dst, src][0]
            row, col, _ = _bidirectional(before_row[key], before_col[key], before_row[back], before_col[back])
            out.row[key], out.col[key], out.edge[key] = row, col, None
            if not alone and back[1] == f"rev_{name}":
                out.row[back], out.col[back], out.edge[back] = col, row, None
        return out.to_tensors() if tensors else out


# ---- counts ----


class NumNeighbors(CastMixin):
    """How many neighbours are drawn at each hop: a list, or {edge type: list} with a default for types that are not there.

    >>> from polygrad.geometric.sampler import NumNeighbors
    >>> NumNeighbors([10, 5]).num_hops
    2
    """

    def __init__(self, values: Any, default: Any = None):
        if isinstance(values, (list, tuple)) and default is not None:
            raise ValueError(f"'default' must be set to 'None' where one list is given for all edge types, got {default!r}")
        self.values = {EdgeTypeStr(k): list(v) for k, v in values.items()} if isinstance(values, dict) else list(values)
        self.default = default

    def _by_type(self, edge_types: Any) -> Any:
        """The list, or with edge types a list for the text of each."""
        if edge_types is None:
            out = copy.copy(self.values)
        elif isinstance(self.values, list):
            out = {EdgeTypeStr(t): self.values for t in edge_types}
        else:
            known = [EdgeTypeStr(t) for t in edge_types]
            unknown = set(self.values) - set(known)
            if unknown:
                raise ValueError(f"Not all edge types in 'num_neighbors' exist in the graph: it has no {sorted(unknown)}; it has {sorted(known)}")
            missing = next((t for t in known if t not in self.values), None)
            if missing is not None and self.default is None:
                raise ValueError(f"Missing number of neighbors for edge type {missing.to_tuple()}")
            out = {t: self.values.get(t, self.default) for t in known}
        lengths = {len(v) for v in out.values()} if isinstance(out, dict) else set()
        if len(lengths) > 1:
            raise ValueError(f"the number of hops must be the same across all edge types in num_neighbors, got {sorted(lengths)}")
        return out

    def get_values(self, edge_types: Any = None) -> Any:
        """The list, or with edge types a list for each."""
        found = self._by_type(edge_types)
        if edge_types is not None:
            found = {tuple(t): v for t, v in zip(edge_types, found.values())}
        elif isinstance(found, dict):
            found = {t.to_tuple(): v for t, v in found.items()}
        self._values = found
        return found

    def get_mapped_values(self, edge_types: Any = None) -> Any:
        """As get_values, by the names 'a__to__b' of edge types."""
        self._mapped_values = self._by_type(edge_types)
        return self._mapped_values

    @property
    def num_hops(self) -> int:
        lists = [self.values] if isinstance(self.values, list) else list(self.values.values())
        self._num_hops = max([0, *map(len, lists), len(self.default or [])])
        return self._num_hops

    def __len__(self) -> int:
        return self.num_hops

    def __repr__(self) -> str:
        return f"NumNeighbors(values={self.values}, default={self.default})"


# ---- negative edges ----


class NegativeSampling:
    """How negative edges are drawn. mode: 'binary', pairs of nodes, or 'triplet', other destinations for each source. amount: how many for
    each positive edge. src_weight, dst_weight: how likely nodes are to be drawn.

    >>> from polygrad.geometric.sampler import NegativeSampling
    >>> NegativeSampling("binary", amount=2).sample(3, "src", num_nodes=1).tolist()
    [0, 0, 0]
    """

    def __init__(self, mode: Any, amount: float = 1, src_weight: Any = None, dst_weight: Any = None):
        self.mode = getattr(mode, "value", mode)
        if self.mode not in ("binary", "triplet"):
            raise ValueError(f"the mode of negative sampling is 'binary' or 'triplet', not {mode!r}")
        if amount <= 0:
            raise ValueError(f"the amount of negative sampling needs to be positive, got {amount}")
        if self.is_triplet() and amount != math.ceil(amount):
            raise ValueError(f"the amount of negative sampling needs to be an integer for triplets, got {amount}")
        self.amount = math.ceil(amount) if self.is_triplet() else amount
        self.src_weight, self.dst_weight = src_weight, dst_weight

    @classmethod
    def cast(cls, given: Any) -> NegativeSampling | None:
        """None, a NegativeSampling, or one out of a name, a tuple or a dictionary of its arguments."""
        if given is None or isinstance(given, cls):
            return given
        if isinstance(given, dict):
            return cls(**given)
        return cls(*given) if isinstance(given, (tuple, list)) else cls(given)

    def is_binary(self) -> bool:
        return self.mode == "binary"

    def is_triplet(self) -> bool:
        return self.mode == "triplet"

    def draw(self, random: np.random.Generator, n: int, endpoint: str, num_nodes: int | None = None) -> np.ndarray:
        """n nodes for one end of negative edges."""
        weight = self.src_weight if endpoint == "src" else self.dst_weight
        if weight is None:
            if num_nodes is None:
                raise ValueError("Cannot sample negatives without 'num_nodes'")
            return random.integers(0, num_nodes, n, dtype=np.int64)
        w = to_array(weight).astype(np.float64).reshape(-1)
        if num_nodes is not None and w.size != num_nodes:
            raise ValueError(f"{endpoint}_weight has {w.size} entries for {num_nodes} nodes")
        total = np.cumsum(w)
        return np.searchsorted(total, random.random(n) * total[-1], side="right").astype(np.int64)

    def sample(self, num_samples: int, endpoint: str, num_nodes: int | None = None) -> Tensor:
        """Nodes for the 'src' or 'dst' end of num_samples negative edges."""
        return Tensor(self.draw(generator(draw_seed()), num_samples, endpoint, num_nodes))

    def __repr__(self) -> str:
        return f"NegativeSampling(mode={self.mode!r}, amount={self.amount})"


class BaseSampler(ABC):
    """A sampler of one's own: what NodeLoader and LinkLoader need of it.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.sampler import BaseSampler, SamplerOutput
    >>> class Alone(BaseSampler):
    ...     def sample_from_nodes(self, index, **kwargs):
    ...         none = Tensor.zeros(0, dtype="int64")
    ...         return SamplerOutput(node=index.node, row=none, col=none, edge=none, metadata=(index.input_id, index.time))
    ...
    ...     def sample_from_edges(self, index, **kwargs):
    ...         raise NotImplementedError
    >>> from polygrad.geometric.loader import NodeLoader
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> next(iter(NodeLoader(data, Alone(), batch_size=3))).n_id.tolist()
    [0, 1, 2]
    """

    @abstractmethod
    def sample_from_nodes(self, inputs: NodeSamplerInput, **kwargs: Any) -> Any:
        """A sample around nodes: SamplerOutput or HeteroSamplerOutput, with metadata (input_id, time)."""
        raise NotImplementedError

    @abstractmethod
    def sample_from_edges(self, inputs: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None) -> Any:
        """A sample around edges."""
        raise NotImplementedError

    @property
    def edge_permutation(self) -> Any:
        """For a sampler that numbers edges otherwise: the number in the graph of each of its edges."""
        return None


__all__ = [
    "BaseSampler", "EdgeSamplerInput", "HeteroSamplerOutput", "NegativeSampling", "NodeSamplerInput", "NumNeighbors", "SamplerOutput",
    "SubgraphType",
]  # fmt: skip
