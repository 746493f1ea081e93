"""Graphs to and from other libraries: PyTorch Geometric, networkx, scipy, numpy. Each is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ...tensor import Tensor
from ._values import apply, to_array
from .data import BaseData, Data
from .files import kind_of
from .hetero_data import HeteroData
from .temporal import TemporalData

_CLASSES = {"Data": Data, "HeteroData": HeteroData, "TemporalData": TemporalData}


# ---- PyTorch Geometric ----


def _from_torch(value: Any) -> Any:
    """torch tensors, however deep, as tensors of their own."""
    if hasattr(value, "detach") and hasattr(value, "numpy") and not isinstance(value, Tensor):
        wanted = bool(value.requires_grad) and value.is_leaf
        plain = value.detach().cpu()
        if str(plain.dtype) == "torch.bfloat16":
            return Tensor(plain.float().numpy().copy(), dtype="bfloat16", requires_grad=wanted or None)
        return Tensor(plain.numpy().copy(), requires_grad=wanted or None)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_from_torch(v) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_from_torch(v) for v in value)
    if isinstance(value, Mapping):
        return {k: _from_torch(v) for k, v in value.items()}
    return value


def _pyg_kind(data: Any) -> str:
    for base in type(data).__mro__:
        if base.__name__ in _CLASSES and base.__module__.startswith("torch_geometric"):
            return base.__name__
    raise TypeError(f"a Data, HeteroData or TemporalData of torch_geometric is needed, not {type(data).__module__}.{type(data).__name__}")


def from_pyg(data: Any) -> Any:
    """Data, HeteroData, TemporalData or a Batch out of an object of PyTorch Geometric; the tensors are copied.

    >>> from polygrad.geometric.data import from_pyg
    >>> data = from_pyg(torch_geometric.data.Data(x=torch.ones(3, 2)))  # doctest: +SKIP
    """
    kind = _pyg_kind(data)
    if hasattr(data, "to_data_list") and "_slice_dict" in getattr(data.stores[0], "__dict__", {}):
        from .batch import Batch

        return Batch.from_data_list([from_pyg(g) for g in data.to_data_list()])
    return _CLASSES[kind].from_dict(_from_torch(data.to_dict()))  # type: ignore[attr-defined]


def to_pyg(data: BaseData) -> Any:
    """The same as an object of PyTorch Geometric; the tensors are copied.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data, to_pyg
    >>> data = to_pyg(Data(x=Tensor.ones(3, 2)))  # doctest: +SKIP
    """
    try:
        torch, pyg = import_module("torch"), import_module("torch_geometric.data")
    except ImportError as e:
        raise ImportError(f"to_pyg needs PyTorch Geometric, which cannot be imported: {e}") from None
    from .batch import Batch

    if isinstance(data, Batch) and "_slice_dict" in data._hidden():
        return pyg.Batch.from_data_list([to_pyg(g) for g in data.to_data_list()])

    def convert(t: Tensor) -> Any:
        out = torch.from_numpy(np.array(t.numpy()))
        out = out.to(torch.bfloat16) if t.dtype.name == "bfloat16" else out
        return out.requires_grad_() if t.requires_grad else out

    def plain(value: Any) -> Any:
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else apply(value, convert)

    def store(entries: Mapping[str, Any]) -> dict[str, Any]:
        return {k: plain(v) for k, v in entries.items()}

    made = getattr(pyg, kind_of(type(data)))
    if isinstance(data, HeteroData):
        return made.from_dict({k: store(v) for k, v in data.to_dict().items()})
    return made.from_dict(store(data.to_dict()))  # type: ignore[attr-defined]


# ---- numpy ----


def to_numpy(data: BaseData) -> dict[Any, Any]:
    """All attributes in a dictionary, tensors as arrays: of a Data by name, of a HeteroData by type and name.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data, to_numpy
    >>> to_numpy(Data(edge_index=Tensor([[0, 1], [1, 2]])))["edge_index"].tolist()
    [[0, 1], [1, 2]]
    """
    return apply(data.to_dict(), to_array)  # type: ignore[attr-defined]


def from_numpy(mapping: Mapping[Any, Any]) -> Any:
    """Data (or HeteroData, if the entries are dictionaries) out of arrays.

    >>> import numpy as np
    >>> from polygrad.geometric.data import from_numpy
    >>> from_numpy({"x": np.ones((3, 2)), "edge_index": np.array([[0, 1], [1, 2]])}).num_edges
    2
    """

    def tensor(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            return Tensor(np.array(value, order="C"))
        return {k: tensor(v) for k, v in value.items()} if isinstance(value, Mapping) else value

    made = tensor(dict(mapping))
    typed = "_global_store" in made or any(isinstance(k, tuple) for k in made)
    return HeteroData.from_dict(made) if typed else Data.from_dict(made)


# ---- scipy, networkx ----


def to_scipy(data: Data, weight: str | None = None) -> Any:
    """The adjacency matrix as scipy's csr_matrix: an edge from i to j is the entry (i, j), 1 or the value of an edge attribute.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data, to_scipy
    >>> to_scipy(Data(edge_index=Tensor([[0, 1], [1, 0]]), num_nodes=2)).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    row, col = to_array(data.edge_index)
    values = np.ones(row.size, np.float32) if weight is None else to_array(data[weight]).reshape(-1)
    return import_module("scipy.sparse").coo_matrix((values, (row, col)), (int(data.num_nodes), int(data.num_nodes))).tocsr()


def from_scipy(matrix: Any, weight: str | None = "edge_weight") -> Data:
    """A graph with an edge from i to j for each entry (i, j) of a square matrix, and the entries as an edge attribute; None leaves them out.

    >>> import scipy.sparse
    >>> from polygrad.geometric.data import from_scipy
    >>> from_scipy(scipy.sparse.coo_matrix([[0.0, 2.0], [3.0, 0.0]])).edge_weight.tolist()
    [2.0, 3.0]
    """
    a = matrix.tocoo()
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"an adjacency matrix is square, not {a.shape}")
    data = Data(edge_index=Tensor(np.stack([a.row, a.col]).astype(np.int64)), num_nodes=int(a.shape[0]))
    if weight is not None:
        data[weight] = Tensor(np.array(a.data))
    return data


__all__ = ["from_numpy", "from_pyg", "from_scipy", "to_numpy", "to_pyg", "to_scipy"]
