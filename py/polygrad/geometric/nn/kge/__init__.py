"""Embeddings of knowledge graphs: a score for triples of head, relation and tail."""

from ..._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "base": ["KGEModel"],
        "transe": ["TransE"],
        "complex": ["ComplEx"],
        "distmult": ["DistMult"],
        "rotate": ["RotatE"],
        "loader": ["KGTripletLoader"],
    },
)
