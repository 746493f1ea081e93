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
    "datasets.snap_dataset": "datasets.networks", "datasets.last_fm": "datasets", "datasets.geometry": "datasets",
    **{f"datasets.graph_generator.{n}": "datasets.graph_generator" for n in ("ba_graph", "er_graph", "grid_graph", "tree_graph")},
    **{f"datasets.motif_generator.{n}": "datasets.motif_generator" for n in ("custom", "cycle", "grid", "house")},
    "debug": "_debug", "device": "place", "resolver": "nn.resolver",
}  # fmt: skip

# Files of datasets, each of which has the sets of one source; here several are in one file, and all names are in the package.
DATASETS = (
    "airfrans airports amazon_book amazon_products aminer aqsol attributed_graph_dataset ba_multi_shapes bitcoin_otc brca_tgca city coma "
    "cornell dblp dbp15k deezer_europe dgraph dynamic_faust elliptic elliptic_temporal email_eu_core facebook faust flickr freebase gdelt "
    "gdelt_lite ged_dataset gemsec github gnn_benchmark_dataset heterophilous_graph_dataset hgb_dataset hm hydro_net icews igmc_dataset imdb "
    "infection_dataset jodie lastfm_asia lrgb malnet_tiny md17 medshapenet mixhop_synthetic_dataset mnist_superpixels modelnet molecule_net "
    "movie_lens movie_lens_100k movie_lens_1m myket nell neurograph ogb_mag omdb opf ose_gvcs pascal_pf pcpnet_dataset pcqm4m polblogs ppi "
    "qm7 qm9 rcdd reddit reddit2 rel_link_pred_dataset s3dis shapenet shrec2016 suite_sparse taobao teeth3ds tosca twitch upfd webkb wikics "
    "wikidata wikipedia_network word_net yelp zinc actor"
).split()
PATHS |= {f"datasets.{name}": "datasets" for name in DATASETS}


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
