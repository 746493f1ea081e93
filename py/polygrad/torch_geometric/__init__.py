"""PyTorch Geometric's names with PyTorch's tensors: `polygrad.geometric` whose data, parameters and batches are tensors of `polygrad.torch`.

Each module here mirrors the one of `polygrad.geometric` with the same path, down to single files such as `torch_geometric.nn.conv.gcn_conv`.

>>> import polygrad.torch as torch
>>> from polygrad.torch_geometric.nn import GCNConv
>>> out = GCNConv(2, 3)(torch.ones(4, 2), torch.tensor([[0, 1], [1, 2]]))
>>> isinstance(out, torch.Tensor), out.size()
(True, torch.Size([4, 3]))
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
from typing import Any

from .. import geometric as _geometric
from ..geometric._paths import install as install_paths
from ..geometric._paths import stand_in
from ..torch._surface import as_it_is, lift, lift_as, lift_class, mirror, own
from ._deprecated import names_of

_HERE, _THERE = __name__ + ".", "polygrad.geometric."


# Names that are about PyTorch's own classes.
_SPARSE = dict.fromkeys(
    "is_torch_sparse_tensor set_sparse_value to_torch_coo_tensor to_torch_csc_tensor to_torch_csr_tensor to_torch_sparse_tensor".split(),
    "polygrad.torch.sparse",
)
_RESOLVERS = dict.fromkeys(("lr_scheduler_resolver", "optimizer_resolver"), "polygrad.torch_geometric._resolvers")
_EDGES = dict.fromkeys(("SUPPORTED_DTYPES", "_TorchSPMM", "_torch_sparse_spmm"), "polygrad.torch_geometric._edge_index")
_TYPING = {
    **dict.fromkeys(("INDEX_DTYPES", "MAYBE_INDEX_DTYPES"), "polygrad.torch_geometric._edge_index"),
    **dict.fromkeys(
        "Adj EdgeTensorType FeatureTensorType MaybeHeteroAdjTensor MaybeHeteroEdgeTensor MaybeHeteroNodeTensor OptPairTensor OptTensor PairOptTensor"
        " PairTensor".split(),
        "polygrad.torch_geometric._types",
    ),
}
_WRAPPING = dict.fromkeys(("DataParallel", "PyGModelHubMixin", "to_fixed_size"), "polygrad.torch_geometric._modules")
_PROFILE = dict.fromkeys(
    "get_gpu_memory_from_gc get_gpu_memory_from_nvidia_smi nvtxit rename_profile_file torch_profile trace_handler".split(),
    "polygrad.torch_geometric._profile",
)
_MEGABYTES = dict.fromkeys(("byte_to_megabyte", "medibyte_to_megabyte"), "polygrad.torch_geometric._profile")
_POINTERS = dict.fromkeys(("index2ptr", "ptr2index"), "polygrad.torch_geometric.index")
_NESTED = dict.fromkeys(("from_nested_tensor", "to_nested_tensor"), "polygrad.torch_geometric._nested")
_OLD_POOLS = dict.fromkeys(("GlobalAttention", "global_sort_pool"), "polygrad.torch_geometric._old_pools")
_ALSO = {
    "data": names_of("data"),
    "data.collate": dict.fromkeys(("collate", "separate"), "polygrad.torch_geometric._collate"),
    "data.data": dict.fromkeys(("DataEdgeAttr", "DataTensorAttr"), "polygrad.geometric.data._as_stores"),
    "loader": names_of("loader"),
    "sampler.neighbor_sampler": {"BidirectionalNeighborSampler": "polygrad.geometric.sampler.bidirectional"},
    "transforms": names_of("transforms"),
    "nn.glob": _OLD_POOLS,
    "utils": {**_SPARSE, **_NESTED},
    "utils.convert": dict.fromkeys(
        "from_cugraph from_dgl from_networkit from_trimesh to_cugraph to_dgl to_networkit to_trimesh".split(),
        "polygrad.geometric.utils.other_libraries",
    ),
    "utils.sparse": {**_SPARSE, **dict.fromkeys(("cat", "get_sparse_diag"), "polygrad.torch.sparse"), **_POINTERS},
    "nn": {**_WRAPPING, **_OLD_POOLS},
    "profile": _PROFILE,
    "profile.timer": _PROFILE,
    "profile.utils": {**_PROFILE, **_MEGABYTES},
    "nn.resolver": _RESOLVERS,
    "edge_index": _EDGES,
    "typing": _TYPING,
    "place": dict.fromkeys(("device", "is_mps_available", "is_xpu_available"), "polygrad.torch_geometric._about"),
}
own("polygrad.geometric.edge_index", "polygrad.torch_geometric._edge_index")
_EXPERIMENTAL = ("experimental_mode", "is_experimental_mode_enabled", "set_experimental_mode")
# Names of this package that are in files of their own here.
_FILES = {
    **dict.fromkeys(_EXPERIMENTAL, "experimental"), "HashTensor": "hash_tensor", "is_torch_instance": "_isinstance",
    **dict.fromkeys(("compile", "device", "is_compiling", "is_in_onnx_export", "is_mps_available", "is_xpu_available", "safe_onnx_export"), "_about"),
}  # fmt: skip
# Files of PyTorch Geometric that are here in another one.
_STAND_INS = {
    "data.datapipes": "_datapipes",
    "nn.to_hetero_module": "_modules", "nn.to_fixed_size_transformer": "_modules", "nn.parameter_dict": "_modules", "nn.model_hub": "_modules",
    "nn.data_parallel": "_modules", "utils.nested": "_nested", "io.fs": "_fs", "profile.nvtx": "_profile", "profile.profiler": "_profiler",
    "visualization.graph": "visualization", "visualization.influence": "visualization", "_compile": "_about",
    "isinstance": "_isinstance", "_onnx": "_about",
}  # fmt: skip


# What `from torch_geometric.nn import *` gives: layers are imported by name, or they would hide those of torch.nn.
_STARRED = "DataParallel PositionalEncoding Reshape Sequential TemporalEncoding summary to_fixed_size to_hetero to_hetero_with_bases".split()

# Parts of PyTorch Geometric that are not here, and why (docs/pyg-names.md has their names).
_LEFT_OUT = {
    "contrib.explain": "it needs pgmpy",
    "data.lightning": "it needs PyTorch Lightning",
    "distributed": "there is no training in several processes on parts of a graph",
    **{
        f"graphgym.{part}": "it belongs to a program for running experiments with PyTorch Lightning and yacs; graphgym.models.encoder is here"
        for part in "benchmark checkpoint cmd_args config imports init loader logger loss optim register train utils".split()
    },
    "llm": "it is tied to language models of other libraries",
    "nn.conv.cugraph": "it needs cuGraph",
    "nn.fx": "modules are not rewritten as graphs of torch.fx; to_hetero takes them as they are",
}


class _Mirrors(MetaPathFinder, Loader):
    """Finds `polygrad.torch_geometric.X` where there is `polygrad.geometric.X`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(_HERE):
            return None
        part = name[len(_HERE) :]
        if part in _LEFT_OUT:
            raise ModuleNotFoundError(f"torch_geometric.{part} is left out of {__name__}: {_LEFT_OUT[part]}", name=name)
        try:
            there = find_spec(_THERE + name[len(_HERE) :])
        except ModuleNotFoundError:
            return None
        return None if there is None else spec_from_loader(name, self, is_package=there.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        _data_classes()
        path = spec.name[len(_HERE) :]
        module = mirror(spec.name, _THERE + path, _ALSO.get(path, {}))
        if path == "nn":
            module.__all__ = list(_STARRED)  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def _data_classes() -> None:
    """Containers are the library's own: they hold tensors of any class, and what their methods make has the class of what they hold."""
    from ..geometric import data

    as_it_is(data.Data, data.HeteroData, data.TemporalData)
    # A batch of graphs without tensors makes the first ones. Batch(...) is a DataBatch, which is no subclass of the name's class.
    lift_as(data.Batch, lift_class(data.Batch, "polygrad.torch_geometric.data", __new__=lambda cls, *args, **kwargs: data.Batch(*args, **kwargs)))


if not any(isinstance(f, _Mirrors) for f in sys.meta_path):
    sys.meta_path.insert(0, _Mirrors())  # before the folders here, which hold stubs alone
    install_paths(__name__)
    for _part in ("asserts", "data", "decorators", "feature_store", "graph_store"):
        stand_in(f"{__name__}.testing.{_part}", f"{__name__}.testing", import_module)
    for _path, _real in _STAND_INS.items():
        stand_in(_HERE + _path, _HERE + _real, import_module)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from .. import __version__

        return __version__
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _FILES:
        return getattr(import_module(_HERE + _FILES[name]), name)
    if name in ("backend", "config_mixin", "config_store", "inspector", "visualization", "warnings"):
        return import_module(_HERE + name)
    try:
        value = getattr(_geometric, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = import_module(_HERE + name) if isinstance(value, ModuleType) else lift(value, __name__)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted([*dir(_geometric), *_OWN])


_OWN: list[str] = sorted(_FILES)
__all__ = [*_geometric.__all__]
