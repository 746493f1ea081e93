"""Writes the archive of a citation network that travels with the package: python py/tools/pack_planetoid.py FOLDER [NAME] [OUTPUT].

FOLDER has the files `ind.<name>.*` of the Planetoid paper, whose checksums are compared. Without OUTPUT the archive of the package is replaced.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from polygrad.geometric.datasets._packaged import __file__ as here
from polygrad.geometric.datasets._packaged import pack
from polygrad.geometric.datasets.planetoid import CHECKSUMS, read_planetoid


def main(folder: str, name: str = "cora", output: str | None = None) -> None:
    for file, checksum in CHECKSUMS.items():
        if file.startswith(f"ind.{name.lower()}.") and hashlib.sha256((Path(folder) / file).read_bytes()).hexdigest() != checksum:
            sys.exit(f"{file} in {folder} is not the file that was published")
    target = output or str(Path(here).parent / "files" / f"{name.lower()}.npz")
    pack(read_planetoid(folder, name), target)
    print(f"{target}: {Path(target).stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
