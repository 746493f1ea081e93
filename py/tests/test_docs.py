"""The pages say what is true: every Python block runs, prints what its comments promise, and whole C programs compile and run."""

import ast
import importlib.util
import inspect
import io
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from polygrad import library_path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    """(line, text) of the fenced blocks of a language."""
    text = page.read_text(encoding="utf-8")
    for m in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S):
        yield text.count("\n", 0, m.start(1)), m.group(1)


def promises(source):
    """{line: comment} of the lines that print something and say what in a comment."""
    out = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            comment = re.search(r"  # (.*)$", source.splitlines()[node.end_lineno - 1])
            if comment:
                out[node.lineno] = comment.group(1)
    return out


def with_python(pages):
    return [p for p in pages if any(blocks(p, "python"))]


@pytest.mark.parametrize("page", with_python(PAGES), ids=lambda p: p.name)
def test_python_blocks_run(page, cpu, tmp_path, monkeypatch):
    """The blocks of a page are one program. A comment after a print begins with what it prints, or describes it in words."""
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__main__"}
    for line, source in blocks(page, "python"):
        printed = {}

        def record(*values, printed=printed, file=None, **kwargs):
            import sys

            out = io.StringIO()
            print(*values, file=out, **kwargs)
            printed.setdefault(sys._getframe(1).f_lineno - line, out.getvalue().rstrip("\n"))

        space["print"] = record
        exec(compile("\n" * line + source, str(page), "exec"), space)
        for at, comment in promises(source).items():
            if at in printed and looks_like_output(comment):
                assert comment.startswith(printed[at]), f"{page.name}:{line + at} prints {printed[at]!r}"


def looks_like_output(comment):
    """Values begin with a bracket, a digit, a quote, True, False or <; words do not. Error texts are promised in full."""
    return bool(re.match(r"[\[({<'\"\d-]|True|False|None|dtypes|[a-z0-9. ]+: not|cannot|argument|tensors of", comment))


def test_promises_are_found():
    """The checker itself: a wrong promise must be seen."""
    page = ROOT / "docs" / "python.md"
    found = [c for _, s in blocks(page, "python") for c in promises(s).values() if looks_like_output(c)]
    assert len(found) > 20


@pytest.mark.parametrize("page", [p for p in PAGES if any("int main" in s for _, s in blocks(p, "c"))], ids=lambda p: p.name)
def test_c_programs_run(page, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "these tests need a C compiler"
    for k, (line, source) in enumerate(blocks(page, "c")):
        if "int main" not in source:
            continue
        program, text = tmp_path / f"p{k}", tmp_path / f"p{k}.c"
        text.write_text(source)
        command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "-o", str(program), str(text), library_path, "-lm"]
        built = subprocess.run(command, capture_output=True, text=True)
        assert built.returncode == 0, f"{page.name}:{line}: {built.stderr}"
        env = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(library_path)}
        run = subprocess.run([str(program)], capture_output=True, text=True, env=env, timeout=120)
        assert run.returncode == 0, f"{page.name}:{line}: {run.stderr}"


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.fixture(scope="module")
def reference():
    path = ROOT / "py" / "tools" / "gen_reference.py"
    spec = importlib.util.spec_from_file_location("gen_reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_says_what_it_is(reference):
    """A text of its own for each class and function that a package offers, not that of its base; and for each package."""
    missing, count = [], 0
    for package in reference.PACKAGES:
        if not inspect.getdoc(importlib.import_module(package)):
            missing.append(package)
        names = reference.public(package)
        count += len(names)
        missing += [f"{package}.{name}" for name, o in names.items() if len(reference.doc_of(o)) < 10]
    assert not missing and count > 500


def test_the_reference_is_built(reference, tmp_path):
    """One page a package, a place for every name, no link into nothing, no block left open."""
    reference.main(tmp_path)
    pages = {p.stem: p.read_text(encoding="utf-8") for p in tmp_path.glob("*.md")}
    assert set(pages) == {*reference.PACKAGES, "index"}
    for stem, text in pages.items():
        assert text.count("```") % 2 == 0, stem
        for target, name in re.findall(r"\]\(([\w.]+\.md)?#?(\w*)\)", text):
            there = pages[target[:-3] if target else stem]
            assert not name or re.search(rf"^## {name}$", there, re.M | re.I), f"{stem} links to {target}#{name}"
    assert "GATConv(in_channels" in pages["polygrad.geometric.nn.conv"] and "heads: int = 1" in pages["polygrad.geometric.nn.conv"]
