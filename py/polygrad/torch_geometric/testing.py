"""What tests of graph networks use: decorators that skip a test where something is missing, random graphs, stores, and a check of layers.

A test that is marked here needs pytest.
"""

# mypy: disable-error-code="no-untyped-call, attr-defined"

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from .. import torch
from ..geometric.data.stores import MemoryFeatureStore, MemoryGraphStore
from ..torch.types import device as _device


def _skip(condition: bool, reason: str) -> Callable[[Any], Any]:
    import pytest

    return pytest.mark.skipif(condition, reason=reason)


def is_full_test() -> bool:
    """Does the environment ask for all tests, by FULL_TEST=1?"""
    return os.getenv("FULL_TEST", "0") == "1"


def is_distributed_test() -> bool:
    """No: one process computes."""
    return False


def has_package(package: str) -> bool:
    """Is a package installed? A version behind it ('numpy>=2') is not looked at. torch is: polygrad.torch is in its place."""
    name = package.split("|")[0]
    for sign in ("<", ">", "=", "!", "~"):
        name = name.split(sign)[0]
    if name.strip() == "torch":
        return True
    return name.strip() not in ("torch_sparse", "torch_scatter", "pyg_lib") and find_spec(name.strip()) is not None


def onlyFullTest(func: Any) -> Any:
    """Skips unless FULL_TEST=1."""
    return _skip(not is_full_test(), "Fast test run")(func)


def onlyDistributedTest(func: Any) -> Any:
    """Skips."""
    return _skip(True, "Fast test run")(func)


def onlyLinux(func: Any) -> Any:
    """Skips on other systems."""
    return _skip(sys.platform != "linux", "No linux system")(func)


def noWindows(func: Any) -> Any:
    """Skips on Windows."""
    return _skip(os.name == "nt", "Windows system")(func)


def noMac(func: Any) -> Any:
    """Skips on macOS."""
    return _skip(sys.platform == "darwin", "macOS system")(func)


def minPython(version: str) -> Callable[[Any], Any]:
    """Skips on an older Python."""
    return _skip(sys.version_info < tuple(int(v) for v in version.split(".")), f"Python {version} required")


def onlyCUDA(func: Any) -> Any:
    """Skips where tensors are not computed on a GPU."""
    return _skip(not torch.cuda.is_available(), "CUDA not available")(func)


def onlyXPU(func: Any) -> Any:
    """Skips."""
    return _skip(True, "XPU not available")(func)


def onlyOnline(func: Any) -> Any:
    """Skips unless ONLINE_TEST=1: the network is not asked whether it is there."""
    return _skip(os.getenv("ONLINE_TEST", "0") != "1", "No internet connection")(func)


def onlyGraphviz(func: Any) -> Any:
    """Skips where Graphviz is not installed."""
    import shutil

    return _skip(shutil.which("dot") is None, "Graphviz not installed")(func)


def onlyNeighborSampler(func: Any) -> Any:
    """The test as it is: sampling is built in."""
    return func


def onlyRAG(func: Any) -> Any:
    """Skips."""
    return _skip(True, "No RAG")(func)


def withPackage(*args: str) -> Callable[[Any], Any]:
    """Skips where one of these packages is missing."""
    missing = [name for name in args if not has_package(name)]
    return _skip(bool(missing), f"Package(s) {missing} not found")


def withDevice(func: Any) -> Any:
    """Runs a test with device= the one that tensors are computed on."""
    import pytest

    return pytest.mark.parametrize("device", [_device(torch.zeros(1).device)])(func)


withCUDA = withDevice


def withMETIS(func: Any) -> Any:
    """The test as it is, with use_metis=False: partitioning is built in."""
    import pytest

    return pytest.mark.parametrize("use_metis", [False])(func)


def withHashTensor(func: Any) -> Any:
    """Skips: there is no HashTensor."""
    return _skip(True, "HashTensor dependencies not available")(func)


def disableExtensions(func: Any) -> Any:
    """The test as it is: there are no extensions."""
    return func


def withoutExtensions(func: Any) -> Any:
    """The test as it is, with without_extensions=True."""
    import pytest

    return pytest.mark.parametrize("without_extensions", [True])(func)


def get_random_edge_index(
    num_src_nodes: int, num_dst_nodes: int, num_edges: int, dtype: Any = None, device: Any = None, coalesce: bool = False
) -> Any:  # fmt: skip
    """Random edges, [2, num_edges]; with coalesce sorted and each once."""
    row, col = torch.randint(num_src_nodes, (num_edges,)), torch.randint(num_dst_nodes, (num_edges,))
    edges = torch.stack([row, col], dim=0).to(dtype or torch.int64)
    if not coalesce:
        return edges
    from .utils import coalesce as once

    return once(edges)


class FakeHeteroDataset:
    """A dataset of one graph with random nodes of types v0 and v1 and edges e0."""

    def __new__(cls, num_nodes: int = 1000, transform: Any = None) -> Any:
        from .datasets import FakeHeteroDataset as Fake

        return Fake(num_graphs=1, avg_num_nodes=num_nodes, transform=transform)


class MyFeatureStore(MemoryFeatureStore):
    """A FeatureStore in memory."""


class MyGraphStore(MemoryGraphStore):
    """A GraphStore in memory."""


def assert_module(
    module: Any, x: Any, edge_index: Any, *, expected_size: tuple[int, ...], test_edge_permutation: bool = True, test_node_permutation: bool = True,
    test_sparse_tensor: bool = True, atol: float = 1e-08, rtol: float = 1e-05, equal_nan: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Calls a layer and checks the size of what it gives, and that it depends neither on the order of edges nor on the numbers of nodes, nor on
    whether edges come as a sparse matrix. Gives what the layer gave."""
    near = functools.partial(torch.allclose, rtol=rtol, atol=max(atol, 1e-6), equal_nan=equal_nan)
    out = module(x, edge_index, **kwargs)
    assert tuple(out.size()) == tuple(expected_size)
    if test_edge_permutation:
        order = torch.from_numpy(np.random.permutation(int(edge_index.size(1))))
        moved = {k: v[order] if torch.is_tensor(v) and v.size(0) == edge_index.size(1) else v for k, v in kwargs.items()}
        assert near(module(x, edge_index[:, order], **moved), out)
    if test_node_permutation:
        order = torch.from_numpy(np.random.permutation(int(x.size(-2))))
        place = torch.zeros_like(order).scatter(0, order, torch.arange(order.numel()))
        moved = {k: v[order] if torch.is_tensor(v) and v.size(0) == x.size(-2) != edge_index.size(1) else v for k, v in kwargs.items()}
        assert near(module(x.index_select(-2, order), place[edge_index], **moved), out.index_select(-2, order))
    if test_sparse_tensor:
        from ..torch.sparse import to_torch_csc_tensor

        n = int(x.size(-2))
        rest = {k: v for k, v in kwargs.items() if k not in ("edge_weight", "edge_attr", "edge_type")}
        weight = kwargs.get("edge_weight", kwargs.get("edge_attr"))
        assert near(module(x, to_torch_csc_tensor(edge_index, weight, size=(n, n)).t(), **rest), out)
    return out


def get_random_tensor_frame(num_rows: int, device: Any = None) -> Any:
    """A random TensorFrame of PyTorch Frame, which holds tensors of PyTorch: there is none here."""
    raise ImportError("tables of PyTorch Frame hold tensors of PyTorch, which are not read here")


__all__ = [
    "FakeHeteroDataset", "MyFeatureStore", "MyGraphStore", "assert_module", "disableExtensions", "get_random_edge_index", "get_random_tensor_frame",
    "has_package",
    "is_distributed_test", "is_full_test", "minPython", "noMac", "noWindows", "onlyCUDA", "onlyDistributedTest", "onlyFullTest", "onlyGraphviz",
    "onlyLinux", "onlyNeighborSampler", "onlyOnline", "onlyRAG", "onlyXPU", "withCUDA", "withDevice", "withHashTensor", "withMETIS", "withPackage",
    "withoutExtensions",
]  # fmt: skip
