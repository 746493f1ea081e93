"""polygrad.torch_geometric.testing, and what else tests and scripts import beside layers."""

from polygrad.torch_geometric.nn.resolver import optimizer_resolver

import polygrad
import polygrad.torch as torch
import polygrad.torch_geometric as pyg
from polygrad.torch_geometric.nn import GCNConv, SAGEConv
from polygrad.torch_geometric.testing import MyFeatureStore, assert_module, get_random_edge_index, has_package, is_full_test, withCUDA, withPackage


@withCUDA
def test_layers_are_checked(device):
    x, edges = torch.randn(5, 4, device=device), get_random_edge_index(5, 5, 12, coalesce=True)
    assert_module(SAGEConv(4, 3), x, edges, expected_size=(5, 3))
    assert_module(GCNConv(4, 3), x, edges, expected_size=(5, 3), edge_weight=torch.rand(edges.size(1)))


@withPackage("a_package_that_is_not_there")
def test_skipped():
    raise AssertionError("has no such package")


def test_stores_and_switches():
    store = MyFeatureStore()
    store.put_tensor(torch.ones(2, 3), group_name="paper", attr_name="x", index=None)
    assert tuple(store.get_tensor(group_name="paper", attr_name="x", index=None).shape) == (2, 3)
    assert has_package("numpy") and not is_full_test() and pyg.__version__ == polygrad.__version__ and not pyg.is_experimental_mode_enabled()
    assert type(optimizer_resolver("adam", [torch.ones(1, requires_grad=True)], lr=0.1)).__name__ == "Adam"


def test_names_of_tinygrad():
    from polygrad import Device, GlobalCounters, Tensor, TinyJit, getenv, nn
    from polygrad.helpers import dedup, prod

    GlobalCounters.reset()
    assert GlobalCounters.mem_used >= 0 and getenv("NOT_SET_ANYWHERE", 3) == 3 and prod([2, 3]) == 6 and dedup([1, 1, 2]) == [1, 2]
    assert Device.DEFAULT in Device.get_available_devices() and TinyJit(lambda x: (x + 1).realize(), prune=True)(Tensor([1.0])).item() == 2
    state = nn.state.get_state_dict(nn.Linear(2, 2))
    assert len(nn.state.load_state_dict(nn.Linear(2, 2), state, consume=True)) == 2 and not state
