"""Datasets: the usual benchmarks, small embedded graphs, and generators.

Files are looked for in `root`, in the folder of the environment variable POLYGRAD_DATA and in `~/.cache/polygrad/data`, and else downloaded.
Cora is part of the package.
"""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "planetoid": ["Planetoid"],
        "amazon": ["Amazon"],
        "coauthor": ["Coauthor"],
        "citation_full": ["CitationFull", "CoraFull"],
        "tu_dataset": ["TUDataset"],
        "entities": ["Entities"],
        "karate": ["KarateClub"],
        "fake": ["FakeDataset", "FakeHeteroDataset"],
        "sbm_dataset": ["RandomPartitionGraphDataset", "StochasticBlockModelDataset"],
        "ba_shapes": ["BAShapes"],
        "explainer_dataset": ["ExplainerDataset", "InfectionDataset"],
        "ba2motif_dataset": ["BA2MotifDataset"],
        "graph_generator": [],
        "motif_generator": [],
        "rmat": ["RMAT"],
        "ogb": ["OGBNodeDataset", "PygNodePropPredDataset"],
    },
)
