"""Modules of PyTorch Geometric that have another path here: `import polygrad.geometric.data.feature_store` gives the module that has its names.

Scripts import single names from the files that define them. Where such a file is here under another path, the module of that path is handed out, so
nothing is loaded before it is asked for, and there is one object of each class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PATHS = {
    "index": "edge_index", "data.feature_store": "data.stores", "data.graph_store": "data.stores", "data.on_disk_dataset": "data.database",
    "data.separate": "data.collate", "explain.algorithm.utils": "explain.algorithm.masks", "explain.metric.basic": "explain.metric",
    "explain.metric.faithfulness": "explain.metric", "explain.metric.fidelity": "explain.metric", "io.npz": "io.sets", "io.obj": "io.meshes",
    "io.off": "io.meshes", "io.ply": "io.meshes", "io.planetoid": "io.sets", "io.tu": "io.sets", "loader.cache": "loader.around",
    "loader.prefetch": "loader.around", "loader.zip_loader": "loader.around", "loader.data_list_loader": "loader.simple",
    "nn.summary": "nn.model_summary", "nn.functional.bro": "nn.functional", "nn.functional.gini": "nn.functional", "nn.glob": "nn",
    "nn.pool.approx_knn": "nn.pool.knn_index", "nn.pool.knn": "nn.pool.knn_index", "nn.pool.avg_pool": "nn.pool._avg_pool",
    "nn.pool.max_pool": "nn.pool._max_pool", "nn.pool.graclus": "nn.pool._graclus", "nn.pool.voxel_grid": "nn.pool._voxel_grid",
    "nn.unpool.knn_interpolate": "nn.unpool", "profile.benchmark": "profile._benchmark", "profile.profile": "profile.timer",
}  # fmt: skip


def stand_in(name: str, source: str, load: Callable[[str], Any]) -> None:
    """Enters a module under `name` that takes its names from the module `source`, which is loaded when the first one is asked for.

    It is entered before anybody imports it, so that the import does not set it as an attribute of its package, which may be a function of the
    same name.
    """
    module = ModuleType(name, f"The names of {source}.")
    module.__spec__ = ModuleSpec(name, None)
    module.__getattr__ = lambda attribute: getattr(load(source), attribute)  # type: ignore[method-assign]
    sys.modules.setdefault(name, module)


def install(package: str, load: Callable[[str], Any] = import_module) -> None:
    """Enters all of them under a package."""
    for path, real in PATHS.items():
        stand_in(f"{package}.{path}", f"{package}.{real}", load)


__all__ = ["PATHS", "install"]
