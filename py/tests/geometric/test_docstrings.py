"""Every public class and function of polygrad.geometric says what it is, shows an example, and names the shapes that it takes and gives.

That examples give what they say is checked for all modules at once (test_package.py). Those that need files from a network, or packages that are not
installed for the tests, are marked to be skipped there; here it is checked that the signature takes their arguments."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import json
from pathlib import Path

import pytest

from polygrad import nn

NAMES = json.loads((Path(__file__).parent / "pyg_names.json").read_text())


def path(module):
    return "polygrad.geometric" + ("" if module == "torch_geometric" else f".{module}")


def is_here(module):
    try:
        return importlib.util.find_spec(path(module)) is not None
    except ModuleNotFoundError:  # nor is the one around it
        return False


MODULES = [m for m in (*NAMES, "nn.resolver") if is_here(m)]


def public(module):
    """{name: object} of the classes and functions that a module offers."""
    found = importlib.import_module(path(module))
    names = {*(getattr(found, "__all__", None) or (n for n in dir(found) if not n.startswith("_"))), *NAMES.get(module, ())}
    objects = {n: getattr(found, n, None) for n in sorted(names)}
    return {n: o for n, o in objects.items() if callable(o) and getattr(o, "__module__", "").startswith("polygrad")}


def text_of(o):
    """The text of an object itself, not one that it inherits."""
    return (o.__dict__.get("__doc__") if inspect.isclass(o) else o.__doc__) or ""


@pytest.mark.parametrize("module", MODULES)
def test_every_name_has_an_example(module):
    assert [n for n, o in public(module).items() if ">>>" not in text_of(o)] == []


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith("nn.")])
def test_every_layer_names_its_shapes(module):
    layers = {n: o for n, o in public(module).items() if inspect.isclass(o) and issubclass(o, nn.Module)}
    assert [n for n, o in layers.items() if "[" not in text_of(o).split(">>>")[0]] == []


def skipped_calls(text):
    """Calls of names, with their arguments, in the examples that are not run."""
    for example in doctest.DocTestParser().get_examples(text):
        if example.options.get(doctest.SKIP):
            for node in ast.walk(ast.parse(example.source)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    yield node.func.id, [None] * len(node.args), {k.arg: None for k in node.keywords}


@pytest.mark.parametrize("module", MODULES)
def test_examples_that_are_not_run_have_the_arguments_that_there_are(module):
    names = public(module)
    for o in names.values():
        for name, args, kwargs in skipped_calls(text_of(o)):
            if name in names:
                inspect.signature(names[name]).bind(*args, **kwargs)
