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
from ..torch._surface import as_it_is, lift, mirror, own

_HERE, _THERE = __name__ + ".", "polygrad.geometric."


# Names that are about PyTorch's own classes.
_SPARSE = dict.fromkeys(
    "is_torch_sparse_tensor set_sparse_value to_torch_coo_tensor to_torch_csc_tensor to_torch_csr_tensor to_torch_sparse_tensor".split(),
    "polygrad.torch.sparse",
)
_RESOLVERS = dict.fromkeys(("lr_scheduler_resolver", "optimizer_resolver"), "polygrad.torch_geometric._resolvers")
_EDGES = dict.fromkeys(("SUPPORTED_DTYPES", "_TorchSPMM", "_torch_sparse_spmm"), "polygrad.torch_geometric._edge_index")
_TYPING = dict.fromkeys(("INDEX_DTYPES", "MAYBE_INDEX_DTYPES"), "polygrad.torch_geometric._edge_index")
_ALSO = {
    "utils": _SPARSE,
    "utils.sparse": {**_SPARSE, "cat": "polygrad.torch.sparse"},
    "nn.resolver": _RESOLVERS,
    "edge_index": _EDGES,
    "typing": _TYPING,
}
own("polygrad.geometric.edge_index", "polygrad.torch_geometric._edge_index")
_EXPERIMENTAL = ("experimental_mode", "is_experimental_mode_enabled", "set_experimental_mode")


class _Mirrors(MetaPathFinder, Loader):
    """Finds `polygrad.torch_geometric.X` where there is `polygrad.geometric.X`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(_HERE):
            return None
        try:
            there = find_spec(_THERE + name[len(_HERE) :])
        except ModuleNotFoundError:
            return None
        return None if there is None else spec_from_loader(name, self, is_package=there.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        _data_classes()
        path = spec.name[len(_HERE) :]
        return mirror(spec.name, _THERE + path, _ALSO.get(path, {}))

    def exec_module(self, module: ModuleType) -> None:
        pass


def _data_classes() -> None:
    """Containers are the library's own: they hold tensors of any class, and what their methods make has the class of what they hold."""
    from ..geometric import data

    as_it_is(data.Data, data.HeteroData, data.Batch, data.TemporalData)


if not any(isinstance(f, _Mirrors) for f in sys.meta_path):
    sys.meta_path.insert(0, _Mirrors())  # before the folders here, which hold stubs alone
    install_paths(__name__)
    for _part in ("asserts", "data", "decorators", "feature_store", "graph_store"):
        stand_in(f"{__name__}.testing.{_part}", f"{__name__}.testing", import_module)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from .. import __version__

        return __version__
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _EXPERIMENTAL:
        return getattr(import_module(_HERE + "experimental"), name)
    try:
        value = getattr(_geometric, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = import_module(_HERE + name) if isinstance(value, ModuleType) else lift(value, __name__)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted([*dir(_geometric), *_OWN])


_OWN: list[str] = []
__all__ = [*_geometric.__all__]
