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
        "ogb_graphs": ["OGBGraphDataset", "OGBLinkDataset", "PygGraphPropPredDataset", "PygLinkPropPredDataset"],
        "geom_gcn": ["Actor", "WebKB", "WikipediaNetwork"],
        "musae": ["DeezerEurope", "FacebookPagePage", "GemsecDeezer", "GitHub", "LastFMAsia", "Twitch"],
        "node_graphs": [
            "Airports",
            "AttributedGraphDataset",
            "DGraphFin",
            "EmailEUCore",
            "HeterophilousGraphDataset",
            "MixHopSyntheticDataset",
            "NELL",
            "PolBlogs",
            "WikiCS",
        ],
        "saint_graphs": ["AmazonProducts", "Flickr", "PPI", "Reddit", "Reddit2", "Yelp"],
        "linkx_dataset": ["LINKXDataset"],
        "magnn": ["DBLP", "IMDB", "LastFM"],
        "scholars": ["AMiner", "HGBDataset", "OGB_MAG"],
        "recommend": ["AmazonBook", "MovieLens", "MovieLens100K", "MovieLens1M", "Taobao"],
        "knowledge": ["FB15k_237", "RelLinkPredDataset", "WordNet18", "WordNet18RR"],
        "events": [
            "BitcoinOTC",
            "EllipticBitcoinDataset",
            "EllipticBitcoinTemporalDataset",
            "GDELT",
            "ICEWS18",
            "JODIEDataset",
            "MyketDataset",
        ],
        "molecules": ["AQSOL", "MD17", "MoleculeNet", "QM7b", "QM9", "ZINC"],
        "torch_graphs": ["BAMultiShapesDataset", "GNNBenchmarkDataset", "LRGBDataset", "MNISTSuperpixels"],
        "shapes": ["CoMA", "FAUST", "GeometricShapes", "ModelNet", "ShapeNet", "TOSCA"],
        "graph_sets": ["AirfRANS", "BrcaTcga", "GEDDataset", "MalNetTiny", "NeuroGraphDataset", "UPFD"],
        "networks": ["CityNetwork", "CornellTemporalHyperGraphDataset", "GDELTLite", "SNAPDataset", "SuiteSparseMatrixCollection"],
        "aligned": ["DBP15K", "Wikidata5M"],
        "industry": ["HM", "OPFDataset", "OSE_GVCS", "RCDD"],
        "point_sets": ["MedShapeNet", "PCPNetDataset", "PascalPF", "SHREC2016", "Teeth3DS"],
        "structures": ["HydroNet", "OMDB", "PCQM4Mv2"],
        "graphland": ["GraphLandDataset"],
        "hdf5_sets": ["DynamicFAUST", "IGMCDataset", "S3DIS"],
    },  # fmt: skip
)
