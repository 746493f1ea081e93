"""Writes the API reference from the docstrings: a page for each package, and an index.

    python py/tools/gen_reference.py [FOLDER]        (docs/reference; `make docs` runs it)

A page has a table of its names, then for each name its signature, its text, and the public methods that say what they do. Lines of `>>>` become
blocks. Nothing here is written by hand: what is wrong on a page is wrong in a docstring.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path

PACKAGES = [
    "polygrad", "polygrad.nn", "polygrad.nn.functional", "polygrad.vertex", "polygrad.geometric", "polygrad.geometric.data",
    "polygrad.geometric.datasets", "polygrad.geometric.loader", "polygrad.geometric.sampler", "polygrad.geometric.nn",
    "polygrad.geometric.nn.conv", "polygrad.geometric.nn.aggr", "polygrad.geometric.nn.pool", "polygrad.geometric.nn.norm",
    "polygrad.geometric.nn.models", "polygrad.geometric.nn.dense", "polygrad.geometric.nn.kge", "polygrad.geometric.utils",
    "polygrad.geometric.transforms",
]  # fmt: skip


def public(package):
    """{name: object} of what a package offers and documents itself: classes and functions, no modules."""
    module = importlib.import_module(package)
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    found = {n: getattr(module, n) for n in sorted(names)}
    return {n: o for n, o in found.items() if callable(o) and getattr(o, "__module__", "polygrad").startswith("polygrad")}


def doc_of(o):
    """The text of an object itself, not one that it inherits."""
    text = o.__dict__.get("__doc__") if inspect.isclass(o) else getattr(o, "__doc__", None)
    return inspect.cleandoc(text) if text else ""


class Bare(str):
    """An annotation that shows without quotes."""

    __repr__ = str.__str__


def signature(name, o):
    try:
        found = inspect.signature(o)
    except (TypeError, ValueError):
        return name + "(...)"
    kept = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    bare = [p.replace(annotation=Bare(p.annotation)) if isinstance(p.annotation, str) else p for p in kept]
    back = found.return_annotation
    back = inspect.Signature.empty if back in ("None", None) else Bare(back) if isinstance(back, str) else back
    return name + str(found.replace(parameters=bare, return_annotation=back))


def members(o, listed):
    """Public methods and properties of a class, and of bases that have no place of their own, that say something; and forward."""
    seen = set()
    for owner in o.__mro__:
        if owner is not o and (id(owner) in listed or not owner.__module__.startswith("polygrad")):
            continue
        for name, member in vars(owner).items():
            function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            if name.startswith("_") or name in seen or not (inspect.isfunction(function) or isinstance(member, property)):
                continue
            if doc_of(function) or (name == "forward" and owner is o):
                seen.add(name)
                yield name, function, isinstance(member, property)


def markdown(text):
    """A docstring as Markdown: examples and indented lines become blocks, everything else stays as it is."""
    out, block = [], None
    for line in text.splitlines():
        kind = "python" if line.startswith(">>>") or (block == "python" and line.strip()) else "" if line.startswith("    ") else None
        if block is not None and kind is None and not line.strip() and block == "":
            kind = ""
        if kind != block:
            if block is not None:
                out.append("```")
            if kind is not None:
                out += [*([""] if out and out[-1] else []), f"```{kind}"]
            block = kind
        out.append(line[4:] if block == "" else escaped(line) if block is None else line)
    if block is not None:
        out.append("```")
    return "\n".join(out)


def escaped(line):
    """Markdown reads * and _ and < in a formula as its own marks."""
    parts = line.split("`")
    return "`".join(re.sub(r"([*_<|])", r"\\\1", p) if k % 2 == 0 else p for k, p in enumerate(parts))


def first_line(o):
    return escaped(doc_of(o).split("\n", 1)[0].strip())


def base_of(o, listed):
    bases = [b.__name__ for b in o.__bases__ if id(b) in listed]
    return f"Bases: {', '.join(f'`{b}`' for b in bases)}." if bases else ""


def section(name, o, listed):
    lines = [f"## {name}", "", f"```python\n{signature(name, o)}\n```", ""]
    if inspect.isclass(o) and base_of(o, listed):
        lines += [base_of(o, listed), ""]
    lines += [markdown(doc_of(o)), ""]
    if inspect.isclass(o):
        for member, function, is_property in members(o, listed):
            lines += [
                f"**`{member if is_property else signature(member, function)}`**",
                "",
                *([markdown(doc_of(function)), ""] if doc_of(function) else []),
            ]
    return "\n".join(lines)


def page(package, elsewhere):
    """The text of a package's page. Names that have their place on another page are only linked."""
    module, names = importlib.import_module(package), public(package)
    lines = [f"# {package}", "", markdown(inspect.cleandoc(module.__doc__ or "")), "", "| name | |", "|---|---|"]
    for name, o in names.items():
        at = elsewhere.get(id(o))
        target = f"{at}.md#{name.lower()}" if at and at != package else f"#{name.lower()}"
        lines.append(f"| [`{name}`]({target}) | {first_line(o)} |")
    lines.append("")
    lines += [section(name, o, elsewhere) for name, o in names.items() if elsewhere.get(id(o), package) == package]
    return "\n".join(lines).rstrip() + "\n"


def places(packages):
    """{id of an object: its page}: the innermost package that offers it."""
    out = {}
    for package in sorted(packages, key=lambda p: -p.count(".")):
        for o in public(package).values():
            out.setdefault(id(o), package)
    return out


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    elsewhere, index = places(PACKAGES), ["# API reference", "", "Built from the docstrings by `make docs`.", "", "| package | |", "|---|---|"]
    count = 0
    for package in PACKAGES:
        text = (importlib.import_module(package).__doc__ or "").strip().split("\n")[0]
        names = public(package)
        count += len(names)
        (folder / f"{package}.md").write_text(page(package, elsewhere), encoding="utf-8")
        index.append(f"| [`{package}`]({package}.md) | {text} ({len(names)} names) |")
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")
    return count


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "docs" / "reference"
    print(f"{main(target)} names in {target}")
