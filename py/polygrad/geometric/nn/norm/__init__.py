"""Normalisation: over all nodes, over the nodes of each graph of a batch, or over the channels of each node."""

from ..._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "batch_norm": ["BatchNorm", "HeteroBatchNorm"],
        "diff_group_norm": ["DiffGroupNorm"],
        "graph_norm": ["GraphNorm"],
        "graph_size_norm": ["GraphSizeNorm"],
        "instance_norm": ["InstanceNorm"],
        "layer_norm": ["HeteroLayerNorm", "LayerNorm"],
        "mean_subtraction_norm": ["MeanSubtractionNorm"],
        "msg_norm": ["MessageNorm"],
        "pair_norm": ["PairNorm"],
    },
)
