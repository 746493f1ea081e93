"""Linear layers, and layers on dense adjacency matrices."""

from ..._lazy import lazy

TABLE = {
    "linear": ["Linear", "HeteroLinear", "HeteroDictLinear"],
    "dense_gcn_conv": ["DenseGCNConv"],
    "dense_sage_conv": ["DenseSAGEConv"],
    "dense_gin_conv": ["DenseGINConv"],
    "dense_graph_conv": ["DenseGraphConv"],
    "dense_gat_conv": ["DenseGATConv"],
    "diff_pool": ["dense_diff_pool"],
    "mincut_pool": ["dense_mincut_pool"],
    "dmon_pool": ["DMoNPooling"],
}

__getattr__, __dir__, __all__ = lazy(__name__, TABLE)
