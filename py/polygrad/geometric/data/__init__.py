"""Graphs as objects: Data, HeteroData, Batch, TemporalData, and datasets of them."""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "data": ["BaseData", "Data", "Join", "NODE_INDEX", "by_groups", "by_nodes"],
        "hetero_data": ["HeteroData"],
        "batch": ["Batch"],
        "temporal": ["TemporalData"],
        "dataset": ["Dataset"],
        "in_memory_dataset": ["InMemoryDataset"],
        "stores": ["AttrView", "EdgeAttr", "EdgeLayout", "FeatureStore", "GraphStore", "MemoryFeatureStore", "MemoryGraphStore", "TensorAttr"],
        "database": ["Database", "OnDiskDataset", "SQLiteDatabase"],
        "summary": ["Summary"],
        "download": ["download_google_url", "download_url"],
        "extract": ["extract_bz2", "extract_gz", "extract_tar", "extract_zip", "makedirs"],
        "convert": ["from_numpy", "from_pyg", "from_scipy", "to_numpy", "to_pyg", "to_scipy"],
        "files": [],
        "storage": [],
    },
)
