"""Switches of PyTorch Geometric's: maps of many types at once are always compiled as one loop here, whatever these say."""

from __future__ import annotations

use_segment_matmul: bool | None = None


def use_segment_matmul_heuristic(num_segments: int, max_segment_size: int, in_channels: int, out_channels: int) -> bool:
    """Yes: rows of one type lie together, and one loop goes over all types."""
    return True


__all__ = ["use_segment_matmul", "use_segment_matmul_heuristic"]
