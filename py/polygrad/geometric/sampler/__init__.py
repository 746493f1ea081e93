"""Samplers: parts of a graph around nodes or edges, drawn at random."""

from .._lazy import lazy

_TABLE = {
    "base": [
        "BaseSampler", "EdgeSamplerInput", "HeteroSamplerOutput", "NegativeSampling", "NodeSamplerInput", "NumNeighbors", "SamplerOutput",
        "SubgraphType",
    ],
    "neighbor_sampler": ["NeighborSampler"],
    "bidirectional": ["BidirectionalNeighborSampler"],
    "hgt_sampler": ["HGTSampler"],
    "walk": ["random_walk"],
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy(__name__, _TABLE)
