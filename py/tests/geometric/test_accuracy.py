"""What is learned, not only how: a network on a known data set reaches what others have measured. All networks and ten seeds: bench/accuracy.py."""

import importlib.util
from pathlib import Path

import pytest

from polygrad import Tensor

PATH = Path(__file__).resolve().parents[3] / "examples" / "geometric" / "node_classification.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("node_classification", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gcn_on_cora(example, cpu):
    """PyG reaches 81.5 % with this network and these settings: less than 79 % means that initialisation, dropout, decay or a gradient is wrong."""
    training = Tensor.training
    try:
        dataset, data, parts = example.load("Cora")
        loss, right, _ = example.run(dataset, data, parts, example.GCN, 120, seed=0)
    finally:
        Tensor.training = training
    assert right >= 0.79 and loss < 1.2
