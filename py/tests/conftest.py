"""Fixtures. Most tests run on the interpreter, which needs no compiler; `device` runs on every device."""

import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

# Read when a context is made: by this process and by those that tests start.
os.environ.setdefault("POLY_VERIFY", "1")
os.environ.setdefault("POLY_TIER", "1")  # what a test runs on the CPU is compiled; test_tiers.py has the choice between tiers

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it, and their children with them

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))


# ---- kinds: every test has one of these marks, `pytest -m unit` runs those of a kind ----

KINDS = {
    "unit": "one function or class in this process, against a formula or a stored value",
    "integration": "real files, processes, data sets, whole training runs, the command line and the pages",
    "property": "properties, and comparisons with a second implementation on many or random inputs",
}
OF_MODULE = {
    "integration": "test_accuracy test_cli test_datasets test_docs test_exit test_graph_classification test_networks test_package test_packaging "
    "test_threads_processes test_torch_file",
    "property": "test_bits test_conv_properties test_fuzz test_golden test_grad test_grad_edges test_matmul_zeros test_schedule_programs test_sums",
}


def pytest_configure(config):
    for name, what in KINDS.items():
        config.addinivalue_line("markers", f"{name}: {what}")


def kind_of(item):
    for kind, modules in OF_MODULE.items():
        if item.path.stem in modules.split():
            return kind
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return "property"
    return "integration" if {"tmp_path", "tmp_path_factory"} & set(item.fixturenames) else "unit"


# POLY_TEST_SHARE=8 runs one test in eight, always the same ones, on a device that compiles slowly: make opencl-tests.
SHARE = int(os.environ.get("POLY_TEST_SHARE", "1"))
# POLY_TEST_PART=2/16 runs the third of sixteen parts, neighbours in different ones: processes that share the tests of all files evenly (make test-cuda).
PART, PARTS = (int(n) for n in os.environ.get("POLY_TEST_PART", "0/1").split("/"))


@pytest.hookimpl(tryfirst=True)  # before -m chooses among them
def pytest_collection_modifyitems(config, items):
    if SHARE > 1:
        kept = [item for item in items if zlib.crc32(item.nodeid.rpartition("/")[2].encode()) % SHARE == 0]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept
    if PARTS > 1:
        config.hook.pytest_deselected(items=[item for i, item in enumerate(items) if i % PARTS != PART])
        items[:] = items[PART::PARTS]
    for item in items:
        if not any(item.get_closest_marker(kind) for kind in KINDS):
            item.add_marker(kind_of(item))


@pytest.fixture(autouse=True)
def no_processes(request, monkeypatch):
    """A unit test starts no process: one that does is in the wrong list."""

    def refuse(*args, **kwargs):
        raise AssertionError("a unit test starts a process: mark it pytest.mark.integration")

    if request.node.get_closest_marker("unit"):
        monkeypatch.setattr(subprocess, "Popen", refuse)


# POLY_TEST_DEVICE names a device that tests run on instead of those that every machine has: make test-cuda.
ONLY_DEVICE = os.environ.get("POLY_TEST_DEVICE", "")


@pytest.fixture(params=[ONLY_DEVICE] if ONLY_DEVICE else ["INTERP", "CPU", "TEST"])
def device(request):
    """The test runs once on each device."""
    from polygrad import Device

    old = Device.DEFAULT
    Device.DEFAULT = request.param
    yield request.param
    Device.DEFAULT = old


@pytest.fixture
def cpu():
    from polygrad import Device

    old = Device.DEFAULT
    Device.DEFAULT = "CPU"
    yield
    Device.DEFAULT = old


ALSO_TEST = (
    "test_grad",
    "test_graphs",
    "test_golden",
    "test_group_products",
    "test_trace",
)  # modules that run on the device with memory of its own as well


def pytest_generate_tests(metafunc):
    if not ONLY_DEVICE and metafunc.module.__name__.rpartition(".")[2] in ALSO_TEST and not {"device", "cpu"} & set(metafunc.fixturenames):
        metafunc.parametrize("defaults", ["INTERP", "TEST"], indirect=True)


@pytest.fixture(autouse=True)
def defaults(request):
    """Every test starts on the interpreter, with a known seed and switches, and leaves no error behind."""
    from polygrad import Device, Tensor
    from polygrad._ffi import C
    from polygrad.autograd import current

    Device.DEFAULT = getattr(request, "param", ONLY_DEVICE or "INTERP")
    Tensor.training = False
    Tensor.no_grad = False
    Tensor.manual_seed(1234)
    yield
    assert C.poly_error_code(current().ptr) == 0, C.poly_error_text(current().ptr)
