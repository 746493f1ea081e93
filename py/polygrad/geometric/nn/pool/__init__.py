"""Pooling: whole graphs to vectors, graphs to smaller ones, and neighbours among points."""

from ..._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "asap": ["ASAPooling"],
        "_avg_pool": ["avg_pool", "avg_pool_neighbor_x", "avg_pool_x"],
        "cluster_pool": ["ClusterPooling"],
        "edge_pool": ["EdgePooling"],
        "glob": ["global_add_pool", "global_max_pool", "global_mean_pool"],
        "_graclus": ["graclus"],
        "_max_pool": ["max_pool", "max_pool_neighbor_x", "max_pool_x"],
        "knn_index": [
            "ApproxL2KNNIndex",
            "ApproxMIPSKNNIndex",
            "KNNIndex",
            "L2KNNIndex",
            "MIPSKNNIndex",
            "approx_knn",
            "approx_knn_graph",
        ],
        "mem_pool": ["MemPooling"],
        "pan_pool": ["PANPooling"],
        "points": ["fps", "knn", "knn_graph", "nearest", "radius", "radius_graph"],
        "sag_pool": ["SAGPooling"],
        "topk_pool": ["TopKPooling"],
        "_voxel_grid": ["voxel_grid"],
    },
)
