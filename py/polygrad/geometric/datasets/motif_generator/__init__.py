"""Motifs: small graphs that an explanation should find."""

from .base import CustomMotif, CycleMotif, GridMotif, HouseMotif, MotifGenerator

__all__ = ["CustomMotif", "CycleMotif", "GridMotif", "HouseMotif", "MotifGenerator"]
