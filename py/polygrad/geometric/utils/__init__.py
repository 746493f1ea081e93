"""Functions on edge lists, masks, batches and graphs."""

from .._lazy import lazy

_TABLE = {
    "_scatter": ["scatter", "scatter_argmax", "group_argsort", "group_cat"],
    "_segment": ["segment", "segment_logsumexp"],
    "_softmax": ["softmax"],
    "_index_sort": ["index_sort"],
    "functions": ["cumsum"],
    "_degree": ["degree"],
    "_lexsort": ["lexsort"],
    "_sort_edge_index": ["sort_edge_index"],
    "_coalesce": ["coalesce"],
    "undirected": ["is_undirected", "to_undirected"],
    "loop": [
        "contains_self_loops", "remove_self_loops", "segregate_self_loops", "add_self_loops", "add_remaining_self_loops", "get_self_loop_attr",
    ],
    "isolated": ["contains_isolated_nodes", "remove_isolated_nodes"],
    "num_nodes": ["maybe_num_nodes", "maybe_num_nodes_dict"],
    "_subgraph": ["get_num_hops", "subgraph", "k_hop_subgraph", "bipartite_subgraph", "hyper_subgraph"],
    "map": ["map_index"],
    "hetero": ["check_add_self_loops", "construct_bipartite_edge_index", "get_unused_node_types", "group_hetero_graph"],
    "dropout": ["dropout_adj", "dropout_node", "dropout_edge", "dropout_path"],
    "_homophily": ["homophily"],
    "_assortativity": ["assortativity"],
    "_normalize_edge_index": ["normalize_edge_index"],
    "laplacian": ["get_laplacian"],
    "mesh_laplacian": ["get_mesh_laplacian"],
    "mask": ["mask_select", "index_to_mask", "mask_to_index"],
    "_select": ["select", "narrow"],
    "_to_dense_batch": ["to_dense_batch"],
    "_to_dense_adj": ["to_dense_adj"],
    "sparse": ["dense_to_sparse", "is_sparse", "to_edge_index"],
    "_spmm": ["spmm"],
    "_unbatch": ["unbatch", "unbatch_edge_index"],
    "_one_hot": ["one_hot"],
    "_normalized_cut": ["normalized_cut"],
    "_grid": ["grid"],
    "convert": ["to_scipy_sparse_matrix", "from_scipy_sparse_matrix", "to_networkx", "from_networkx"],
    "other_libraries": [
        "from_cugraph", "from_dgl", "from_networkit", "from_trimesh", "to_cugraph", "to_dgl", "to_networkit", "to_trimesh",
    ],
    "random": ["erdos_renyi_graph", "stochastic_blockmodel_graph", "barabasi_albert_graph"],
    "_negative_sampling": [
        "negative_sampling", "batched_negative_sampling", "structured_negative_sampling", "structured_negative_sampling_feasible",
    ],
    "augmentation": ["shuffle_node", "mask_feature", "add_random_edge"],
    "embedding": ["get_embeddings", "get_embeddings_hetero"],
    "_trim_to_layer": ["trim_to_layer", "TrimToLayer"],
    "ppr": ["get_ppr"],
    "geodesic": ["geodesic_distance"],
    "smiles": ["from_rdmol", "from_smiles", "to_rdmol", "to_smiles"],
    "influence": ["total_influence"],
    "_tree_decomposition": ["tree_decomposition"],
    "_train_test_split_edges": ["train_test_split_edges"],
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy(__name__, _TABLE)
