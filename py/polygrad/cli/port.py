"""polygrad port: rewrites the imports of a PyTorch or PyTorch Geometric script, and lists what it uses that is not there.

Only import statements change: `import torch` becomes `import polygrad.torch as torch`, `from torch_geometric.nn import GCNConv` becomes
`from polygrad.torch_geometric.nn import GCNConv`. Then every name that the script takes from these modules is looked up.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from . import UserError

# Packages that scripts import, and the modules that take their place.
HOMES = {
    "torch": "polygrad.torch", "torch_geometric": "polygrad.torch_geometric",
    **{name: f"polygrad.companions.{name}" for name in ("torch_scatter", "torch_sparse", "torch_cluster", "torchmetrics", "ogb")},
}  # fmt: skip
# Companions of PyTorch and PyTorch Geometric that nothing takes the place of.
COMPANIONS = {
    "torch_spline_conv": "SplineConv needs no package: see torch_geometric.nn",
    "pyg_lib": "sampling is built in: nothing has to be installed",
    "torchvision": "not there", "pytorch_lightning": "not there", "lightning": "not there", "torchtext": "not there", "torch_frame": "not there",
}  # fmt: skip


class Finding(NamedTuple):
    """Something that a script uses and that is not there."""

    line: int
    what: str
    why: str


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", help="a Python file written for PyTorch or PyTorch Geometric")
    parser.add_argument("-o", "--output", metavar="FILE", help="writes the result there ('-' is the standard output); without it nothing is written")
    parser.add_argument("-q", "--quiet", action="store_true", help="shows no diff")


def run(args: argparse.Namespace) -> int:
    """0: all names are there; 1: some are not."""
    try:
        with open(args.script, encoding="utf-8") as f:
            before = f.read()
    except OSError as e:
        raise UserError(f"{args.script}: {e.strerror}") from None
    try:
        after = rewritten(before)
    except SyntaxError as e:
        raise UserError(f"{args.script}, line {e.lineno}: {e.msg}") from None
    if args.output == "-":
        sys.stdout.write(after)
    elif args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            f.write(after)
    messages = sys.stderr if args.output == "-" else sys.stdout
    if not args.quiet:
        diff = difflib.unified_diff(before.splitlines(True), after.splitlines(True), args.script, args.output or args.script)
        messages.writelines(diff)
    found = missing(before)
    for line, what, why in found:
        print(f"{args.script}:{line}: {what}: {why}", file=messages)
    if not found:
        print(f"{args.script}: all names are there", file=messages)
    return int(bool(found))


# ---- imports ----


def _home(module: str | None) -> str | None:
    """The module of ours that takes the place of one of PyTorch's."""
    first, _, rest = (module or "").partition(".")
    return None if first not in HOMES else HOMES[first] + (f".{rest}" if rest else "")


def rewritten(text: str) -> str:
    """The script with its imports changed; all else, comments and layout stay as they are."""
    lines = text.splitlines(True)
    changes: list[tuple[int, int, int, str]] = []  # line, first and last column in bytes, new text
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and not node.level and _home(node.module):
            changes.append(_module_of_from(lines, node))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                home = _home(alias.name)
                if home is not None:
                    changes.append(_module_of_import(lines, node, alias, home))
    for line, start, stop, new in sorted(changes, reverse=True):
        raw = lines[line].encode()
        lines[line] = (raw[:start] + new.encode() + raw[stop:]).decode()
    return "".join(lines)


def _module_of_from(lines: list[str], node: ast.ImportFrom) -> tuple[int, int, int, str]:
    module = node.module or ""
    pattern = re.compile(r"\s*\.\s*".join(re.escape(part) for part in module.split(".")).encode() + rb"(?=[\s(\\;]|$)")
    for line in range(node.lineno - 1, node.end_lineno or node.lineno):
        start = node.col_offset + len("from") if line == node.lineno - 1 else 0
        found = pattern.search(lines[line].encode(), start)
        if found:
            return line, found.start(), found.end(), _home(module) or module
    raise SyntaxError(f"the name {module} of an import is broken over lines", ("", node.lineno, 0, None))


def _module_of_import(lines: list[str], node: ast.Import, alias: ast.alias, home: str) -> tuple[int, int, int, str]:
    """`import torch.nn as nn` names a module; without `as`, the first part alone is bound, so that takes the whole's place."""
    if alias.asname is None:
        top = alias.name.partition(".")[0]
        home = f"{HOMES[top]} as {top}"
    pattern = re.compile(rb"(?<![\w.])" + re.escape(alias.name).encode() + rb"(?![\w.])")
    for line in range(node.lineno - 1, node.end_lineno or node.lineno):
        found = pattern.search(lines[line].encode(), node.col_offset + len("import") if line == node.lineno - 1 else 0)
        if found:
            return line, found.start(), found.end(), home
    raise SyntaxError(f"the name {alias.name} of an import is broken over lines", ("", node.lineno, 0, None))


# ---- names ----


def missing(text: str) -> list[Finding]:
    """What the script takes from PyTorch's modules, or calls on tensors, and is not there, by line."""
    tree = ast.parse(text)
    bound: dict[str, str] = {}  # names in the script, and the modules of ours that they stand for
    found = [*_imports(tree, bound), *_uses(tree, bound)]
    return sorted(dict.fromkeys(found))


def _imports(tree: ast.AST, bound: dict[str, str]) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _companion(node.lineno, alias.name)
                home = _home(alias.name)
                if home is None:
                    continue
                if _module(home) is None:
                    yield Finding(node.lineno, alias.name, "there is no such module")
                bound[alias.asname or alias.name.partition(".")[0]] = home if alias.asname else HOMES[alias.name.partition(".")[0]]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from _companion(node.lineno, node.module or "")
            home = _home(node.module)
            if home is None:
                continue
            if _module(home) is None:
                yield Finding(node.lineno, node.module or "", "there is no such module")
                continue
            for alias in node.names:
                if alias.name != "*" and not _has(home, alias.name):
                    yield Finding(node.lineno, f"{node.module}.{alias.name}", "there is no such name")
                elif _module(f"{home}.{alias.name}") is not None:
                    bound[alias.asname or alias.name] = f"{home}.{alias.name}"


def _companion(line: int, module: str) -> Iterator[Finding]:
    first = module.partition(".")[0]
    if first in COMPANIONS:
        yield Finding(line, module, COMPANIONS[first])


def _uses(tree: ast.AST, bound: dict[str, str]) -> Iterator[Finding]:
    inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            chain = _chain(node)
            if chain and chain[0] in bound:
                yield from _lookup(node.lineno, bound[chain[0]], chain)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            chain = _chain(node.func)
            if node.func.attr in unsupported_methods() and not (chain and chain[0] in bound):
                yield Finding(node.lineno, f".{node.func.attr}()", "a tensor has no such method")


def _chain(node: ast.AST) -> list[str]:
    """['torch', 'nn', 'Linear'] of torch.nn.Linear; empty for anything else than names and dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *parts[::-1]] if isinstance(node, ast.Name) else []


def _lookup(line: int, home: str, chain: list[str]) -> Iterator[Finding]:
    for k, name in enumerate(chain[1:], 1):
        if not _has(home, name):
            yield Finding(line, ".".join(chain[: k + 1]), "there is no such name")
            return
        home = f"{home}.{name}"
        if _module(home) is None:
            return  # a class or a function: what follows is its own


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _has(module: str, name: str) -> bool:
    return hasattr(_module(module), name) or _module(f"{module}.{name}") is not None


def unsupported_methods() -> frozenset[str]:
    """Methods of PyTorch's Tensor that are not there. Names that other objects have too are left out."""
    return _UNSUPPORTED


_UNSUPPORTED = frozenset(
    """
    angle coalesce_ geqrf i0 igamma igammac imag istft
    lu map_ orgqr ormqr smm sparse_mask sparse_resize_ sspaddmm
    stft to_mkldnn untyped_storage
    """.split()
)

__all__ = ["Finding", "arguments", "missing", "rewritten", "run"]
