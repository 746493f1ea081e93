"""`polygrad datasets`: what can be trained on, and where it is."""

from __future__ import annotations

import argparse

from .progress import size, table
from .sources import SOURCES


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", help="a folder to look in before the others")


def run(args: argparse.Namespace) -> int:
    from ..geometric.datasets._files import data_folders

    rows = []
    for s in SOURCES.values():
        where, how_large = "embedded", ""
        if not s.embedded:
            found = s.where(args.root)
            where = found or "not here, will be downloaded"
            how_large = size(s.bytes(found)) if found else ""
        n, e, f, c = s.sizes
        counts = [f"{n:,}", f"{e:,}"] if s.task == "nodes" else [f"{n:,} graphs", ""]
        rows.append([s.name, s.task, *counts, f"{f:,}", str(c), how_large, where])
    lines = table(["name", "classes of", "nodes", "edges", "features", "classes", "files", "where"], rows, left=2).split("\n")
    at = lines[0].index("files") + len("files") + 2  # the last column is read from the left
    for line in lines:
        print(line[:at] + line[at:].strip())
    print("\nTU:NAME is any set of TU's collection of graphs. Folders that are looked in, in this order:")
    for folder in data_folders(args.root):
        print(f"  {folder}")
    return 0


__all__ = ["arguments", "run"]
