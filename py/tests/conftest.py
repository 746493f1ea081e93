"""Fixtures. Most tests run on the interpreter, which needs no compiler; `device` runs on every device."""

import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("POLY_VERIFY", "1")  # read when a context is made: by this process and by those that tests start

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(params=["INTERP", "CPU", "TEST"])
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


ALSO_TEST = ("test_grad", "test_graphs", "test_golden", "test_trace")  # modules that run on the device with memory of its own as well


def pytest_generate_tests(metafunc):
    if metafunc.module.__name__.rpartition(".")[2] in ALSO_TEST and not {"device", "cpu"} & set(metafunc.fixturenames):
        metafunc.parametrize("defaults", ["INTERP", "TEST"], indirect=True)


@pytest.fixture(autouse=True)
def defaults(request):
    """Every test starts on the interpreter, with a known seed and switches, and leaves no error behind."""
    from polygrad import Device, Tensor
    from polygrad._ffi import C
    from polygrad.graph import current

    Device.DEFAULT = getattr(request, "param", "INTERP")
    Tensor.training = False
    Tensor.no_grad = False
    Tensor.manual_seed(1234)
    yield
    assert C.poly_error_code(current().ptr) == 0, C.poly_error_text(current().ptr)
