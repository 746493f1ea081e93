#!/usr/bin/env python3
"""Checks that the folders of src/ depend on each other in one direction only, by includes and by symbols.

Usage: check_layers.py BUILD_DIR   (after `make`: it reads the object files)
Each folder may use itself and the folders that LAYERS lists for it. Prints every violation; exit status 1 if there is one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

# folder -> folders that it may use. No cycle is possible: a folder may list only those above it.
LAYERS: dict[str, list[str]] = {
    "base": [],
    "ir": ["base"],
    "schedule": ["base", "ir"],
    "codegen": ["base", "ir"],
    "render": ["base", "ir"],
    "runtime": ["base", "ir"],
    "engine": ["base", "ir", "schedule", "codegen", "render", "runtime"],
    "tensor": ["base", "ir", "engine"],
    "grad": ["base", "ir", "engine", "tensor"],
    "graph": ["base", "ir", "runtime", "engine", "tensor"],
    "algorithms": ["base", "ir", "runtime", "engine", "tensor", "graph"],
    "nn": ["base", "ir", "engine", "tensor", "grad"],
    "api": ["base", "ir", "engine", "tensor", "grad", "graph", "algorithms", "nn"],
}


def check_order() -> list[str]:
    seen: list[str] = []
    wrong = []
    for folder, uses in LAYERS.items():
        wrong += [f"LAYERS: {folder} uses {u}, which is listed below it" for u in uses if u not in seen]
        seen.append(folder)
    return wrong


def check_includes(src: Path) -> list[str]:
    wrong = []
    for path in sorted(src.glob("*/*.[ch]")):
        folder = path.parent.name
        if folder not in LAYERS:
            wrong.append(f"{path}: the folder {folder} is not in LAYERS")
            continue
        for line, text in enumerate(path.read_text().splitlines(), 1):
            m = re.match(r'\s*#include "([^"]+)"', text)
            if not m:
                continue
            if folder == "base" and m[1] == "polygrad.h":
                wrong.append(f"{path}:{line}: base must not see the public API")
            other = m[1].split("/")[0] if "/" in m[1] else folder
            if other != folder and other not in LAYERS[folder]:
                wrong.append(f"{path}:{line}: {folder} must not include {m[1]}")
    return wrong


def symbols(path: Path) -> tuple[set[str], set[str]]:
    """Defined and undefined names of an object file."""
    defined, undefined = set(), set()
    out = subprocess.run(["nm", "--format=posix", str(path)], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        name, kind = line.split()[:2]
        if kind == "U":
            undefined.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, undefined


def check_symbols(src: Path, objects: Path) -> list[str]:
    sources = sorted(src.glob("*/*.c"))  # objects of files that were moved may still lie in the build folder
    found = {p: symbols(p) for p in (objects / s.parent.name / f"{s.stem}.o" for s in sources) if p.exists()}
    home = {name: p.parent.name for p, (defined, _) in found.items() for name in defined}
    wrong = []
    for path, (_, undefined) in found.items():
        folder = path.parent.name
        for name in sorted(undefined):
            other = home.get(name)
            if other and other != folder and other not in LAYERS.get(folder, []):
                wrong.append(f"{folder}/{path.stem}.c: {folder} must not use {name} of {other}")
    return wrong


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    objects = Path(sys.argv[1]) / "obj"
    if not any(objects.glob("*/*.o")):
        print(f"check_layers: no object files in {objects}: run make first", file=sys.stderr)
        return 1
    wrong = check_order() + check_includes(root / "src") + check_symbols(root / "src", objects)
    print("\n".join(wrong) if wrong else "layers: every folder uses only what is below it")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
