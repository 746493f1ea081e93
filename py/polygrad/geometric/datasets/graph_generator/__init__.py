"""Graphs to hang motifs on, made anew by each call."""

from .base import BAGraph, ERGraph, GraphGenerator, GridGraph, TreeGraph, tree

__all__ = ["BAGraph", "ERGraph", "GraphGenerator", "GridGraph", "TreeGraph", "tree"]
