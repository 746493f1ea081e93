"""Loaders: batches of graphs, and parts of large graphs."""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "dataloader": ["DataLoader"],
        "dense_data_loader": ["DenseDataLoader"],
        "node_loader": ["NodeLoader"],
        "link_loader": ["LinkLoader"],
        "neighbor_loader": ["NeighborLoader"],
        "link_neighbor_loader": ["LinkNeighborLoader"],
        "hgt_loader": ["HGTLoader"],
        "cluster": ["ClusterData", "ClusterLoader"],
        "random_node_loader": ["RandomNodeLoader"],
        "graph_saint": ["GraphSAINTEdgeSampler", "GraphSAINTNodeSampler", "GraphSAINTRandomWalkSampler", "GraphSAINTSampler"],
        "imbalanced_sampler": ["ImbalancedSampler"],
        "temporal_dataloader": ["TemporalDataLoader"],
        "simple": ["DataListLoader", "DenseDataLoader"],
        "dynamic_batch_sampler": ["DynamicBatchSampler"],
        "around": ["CachedLoader", "PrefetchLoader", "ZipLoader"],
        "shadow": ["ShaDowKHopSampler"],
        "neighbor_sampler": ["NeighborSampler"],
    },
)
