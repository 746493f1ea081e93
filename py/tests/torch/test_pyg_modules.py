"""Modules of PyTorch Geometric beside its layers: shared memory, nested tensors, keys, settings, signatures, files, wrapping modules."""

import dataclasses
import inspect
import os
import zipfile
from typing import Any, Optional, Tuple, Union  # noqa: UP035

import pytest
from polygrad.torch_geometric.nn.parameter_dict import ParameterDict
from polygrad.torch_geometric.nn.pool.decimation import decimation_indices
from polygrad.torch_geometric.nn.to_hetero_module import ToHeteroLinear, ToHeteroMessagePassing

import polygrad.torch as torch
import polygrad.torch.multiprocessing as mp
import polygrad.torch_geometric as pyg
from polygrad.torch_geometric import EdgeIndex, HashTensor, Index
from polygrad.torch_geometric.config_mixin import ConfigMixin
from polygrad.torch_geometric.config_store import (
    clear_config_store,
    dataclass_from_class,
    fill_config_store,
    get_config_store,
    map_annotation,
    register,
)
from polygrad.torch_geometric.data import Batch, Data, HeteroData
from polygrad.torch_geometric.inspector import Inspector
from polygrad.torch_geometric.io import fs
from polygrad.torch_geometric.nn import DataParallel, GCNConv, Linear, MessagePassing, SAGEConv, SumAggregation, to_fixed_size
from polygrad.torch_geometric.profile import nvtxit
from polygrad.torch_geometric.utils import from_nested_tensor, to_nested_tensor
from polygrad.torch_geometric.visualization import influence


def add_rank(rank, data, weight):
    assert data.x.is_shared() and weight.is_shared()
    data.x.add_(rank + 1)
    with torch.no_grad():
        weight[rank] = 5.0


def test_changes_of_shared_memory_are_seen_by_the_parent():
    data, weight = Data(x=torch.zeros(4)), torch.zeros(3).share_memory_()
    assert not data.is_shared() and weight.is_shared()
    mp.spawn(add_rank, (data, weight), nprocs=2)
    assert data.is_shared() and data.x.tolist() == [3.0] * 4
    assert weight.tolist() == [5.0, 5.0, 0.0]


def test_share_memory_keeps_values_and_identity():
    x = torch.arange(6).view(2, 3)
    assert x.share_memory_() is x and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    x += 1
    assert x.is_shared() and x.tolist() == [[1, 2, 3], [4, 5, 6]]
    edges = EdgeIndex([[0, 1], [1, 0]], sort_order="row").fill_cache_().share_memory_()
    assert edges.is_shared() and edges._indptr.is_shared() and edges.as_tensor().is_shared()


def test_graphs_and_matrices_load_as_plain_values(tmp_path):
    path = tmp_path / "a.pt"
    hetero = HeteroData()
    hetero["a"].x = torch.ones(2, 1)
    data = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), name="g")
    for value in (data, hetero, Batch.from_data_list([data, data]), Index([0, 1], dim_size=3), torch.eye(2).to_sparse()):
        torch.save(value, path)
        assert type(torch.load(path)) is type(value)
    assert torch.load(path).is_coalesced()


def test_parts_of_an_index_behind_an_ellipsis():
    index = Index([0, 1, 1, 2], dim_size=3, is_sorted=True)
    assert isinstance(index[..., 1:3], Index) and index[..., 1:3].is_sorted
    assert not isinstance(index[..., None], Index)


def test_narrow_across_the_order():
    edges = EdgeIndex([[0, 1, 1, 2], [1, 0, 2, 1]], sort_order="row")
    part = edges.sparse_narrow(1, 1, 1)
    assert part.sort_order == "col" and part.sparse_size() == (3, 1) and sorted(part[0].tolist()) == [0, 2]


def test_nested_tensors():
    x = torch.randn(5, 2, requires_grad=True)
    nested = to_nested_tensor(x, torch.tensor([0, 0, 1, 1, 1]))
    padded = nested.to_padded_tensor(-1.0)
    assert padded.size() == (2, 3, 2) and padded[0, 2].tolist() == [-1.0, -1.0] and torch.equal(padded[1], x[2:])
    out, batch = from_nested_tensor(nested, return_batch=True)
    out.sum().backward()
    assert batch.tolist() == [0, 0, 1, 1, 1] and x.grad.tolist() == [[1.0, 1.0]] * 5
    uneven = torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(2, 3)])
    assert [t.numel() for t in uneven.unbind()] == [2, 6] and uneven.to_padded_tensor(0).sum() == 8
    with pytest.raises(ValueError, match="same size in dimension 1"):
        from_nested_tensor(uneven)
    with pytest.raises(ValueError, match="not nested"):
        from_nested_tensor(x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int64, torch.float16, torch.float32, torch.float64])
def test_keys_of_any_dtype(dtype):
    key = torch.tensor([7, 3, 5], dtype=dtype)
    h = HashTensor(key, torch.tensor([[1.0], [2.0], [3.0]]))
    assert h[torch.tensor([5, 7], dtype=dtype)].tolist() == [[3.0], [1.0]]
    assert h.index_select(0, torch.tensor([4], dtype=dtype)).isnan().all()
    assert isinstance(h.double(), HashTensor) and h.to("cpu") is h


def test_keys_that_are_texts():
    h = HashTensor(["a", "b", "c"])
    assert h[["c", "x", "a"]].tolist() == [2, -1, 0] and h["b"].item() == 1
    with pytest.raises(ValueError, match="same size in the first dimension"):
        HashTensor([1, 2], torch.ones(3))


class Scaled(torch.nn.Module, ConfigMixin):
    def __init__(self, by: int = 2, names: list = None):  # noqa: RUF013
        super().__init__()
        self.by, self.names = by, names


def test_settings_of_an_object():
    register(Scaled, with_target=True)
    try:
        settings = Scaled(3, ["a"]).config()
        assert dataclasses.is_dataclass(settings) and settings.by == 3 and settings.names == ["a"]
        assert Scaled.from_config(settings).by == 3 and Scaled.from_config(settings, 4).by == 4
        assert dataclass_from_class("Scaled") is dataclass_from_class(Scaled)
        with pytest.raises(ValueError, match="already registered"):
            register(Scaled)
    finally:
        clear_config_store()
    with pytest.raises(ValueError, match="Please register it"):
        Scaled().config()


def test_settings_of_the_library():
    fill_config_store()
    store = get_config_store().repo
    assert {"transform", "dataset", "model", "optimizer", "lr_scheduler"} <= set(store) and "GCN" in store["model"]
    assert store["optimizer"]["Adam"].node().lr == 0.001
    clear_config_store()


def test_types_in_settings():
    assert map_annotation(dict[str, Optional[int]], {int: Any}) == dict[str, Optional[Any]]
    assert map_annotation(Union[int, str], {int: Any, str: Any}) == Any


def test_signatures():
    assert list(inspect.signature(GCNConv).parameters)[:2] == ["in_channels", "out_channels"]

    class Layer:
        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x, size=None)

        def message(self, x_j, scale: Optional[float] = None) -> torch.Tensor:
            return x_j

    read = Inspector(Layer)
    out = read.inspect_signature("message")
    assert out.return_type is torch.Tensor and out.param_dict["scale"].type_repr == "Optional[float]"
    assert read.collect_param_data("message", {"x_j": 1, "x_i": 2}) == {"x_j": 1, "scale": None}
    assert list(read.get_params_from_method_call("propagate", [0, "size"])) == ["x"]
    assert read.type_repr(Tuple[int, ...]) == "Tuple[int, ...]"  # noqa: UP006
    with pytest.raises(IndexError, match="Did you forget to inspect it"):
        read.get_signature("forward")
    with pytest.raises(TypeError, match="'x_j' is required"):
        read.collect_param_data("message", {})


def test_files(tmp_path):
    folder, archive = str(tmp_path / "a" / "b"), str(tmp_path / "x.zip")
    fs.makedirs(folder)
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("c/d.txt", "1")
    fs.cp(archive, folder, extract=True)
    fs.cp(os.path.join(folder, "c"), folder + "2")
    assert fs.isfile(os.path.join(folder + "2", "d.txt")) and [os.path.basename(p) for p in fs.ls(folder)] == ["c"]
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("../d.txt", "1")
    with pytest.raises(ValueError, match="outside"):
        fs.cp(archive, folder, extract=True)
    with pytest.raises(NotImplementedError, match="not an archive"):
        fs.cp(os.path.join(folder, "c", "d.txt"), folder, extract=True)
    fs.torch_save(torch.ones(2), os.path.join(folder, "w.pt"))
    assert fs.torch_load(os.path.join(folder, "w.pt")).tolist() == [1.0, 1.0]
    fs.rm(folder)
    assert not fs.exists(folder) and fs.normpath("//a//b") in ("/a/b", "//a/b") and not fs.isdisk("memory://a")


def test_modules_for_all_types():
    x = {"a": torch.randn(3, 4), "b": torch.randn(2, 4)}
    both, kinds = torch.cat(list(x.values())), torch.tensor([0, 0, 0, 1, 1])
    linear = ToHeteroLinear(Linear(4, 5), ["a", "b"])
    assert torch.allclose(torch.cat(list(linear(x).values())), linear(both, kinds), atol=1e-6)
    with pytest.raises(ValueError, match="x by type"):
        linear(both)
    edges = {("a", "to", "a"): torch.tensor([[0, 1], [1, 2]]), ("a", "to", "b"): torch.tensor([[2], [0]]), ("b", "to", "a"): torch.tensor([[1], [0]])}
    layer = ToHeteroMessagePassing(SAGEConv(4, 5), ["a", "b"], list(edges))
    one = torch.tensor([[0, 1, 2, 4], [1, 2, 3, 0]])
    apart = layer(x, edges)
    assert torch.allclose(torch.cat([apart["a"], apart["b"]]), layer(both, one, kinds, torch.tensor([0, 0, 1, 2])), atol=1e-5)
    with pytest.raises(ValueError, match="MessagePassing"):
        ToHeteroMessagePassing(Linear(4, 5), [], [])


def test_a_fixed_number_of_graphs():
    model = to_fixed_size(torch.nn.Sequential(SumAggregation()), 3)
    assert model[0](torch.ones(2, 1), torch.tensor([0, 0])).tolist() == [[2.0], [0.0], [0.0]]


def test_parameters_by_any_key():
    held = ParameterDict({("a", "b"): torch.nn.Parameter(torch.ones(1)), "c.d": torch.nn.Parameter(torch.ones(2))})
    assert held.keys() == [("a", "b"), "c.d"] and sorted(dict(held.named_parameters())) == ["<a___b>", "c#d"]
    del held["c.d"]
    assert "c.d" not in held and ("a", "b") in held
    held.update({"type": torch.nn.Parameter(torch.ones(3))})
    assert held["type"].numel() == 3 and held.keys() == [("a", "b"), "type"]


def test_small_ones():
    chosen, ptr = decimation_indices(torch.tensor([0, 6, 7]), 3)
    assert ptr.tolist() == [0, 2, 3] and chosen[2].item() == 6 and set(chosen[:2].tolist()) < set(range(6))
    with pytest.raises(ValueError, match="decimation_factor"):
        decimation_indices(torch.tensor([0, 6]), 0.5)
    assert torch.allclose(influence(GCNConv(2, 3), torch.randn(3, 2), torch.tensor([[0, 1], [1, 2]])).sum(1), torch.ones(3), atol=1e-5)
    assert nvtxit()(len)("ab") == 2 and not pyg.is_compiling() and pyg.is_torch_instance(GCNConv(1, 1), torch.nn.Module)
    out = DataParallel(lambda batch: batch.x)([Data(x=torch.ones(2, 1)), Data(x=torch.ones(1, 1))])
    assert out.size() == (3, 1)
    with pytest.raises(ValueError, match="Could not resolve"):
        pyg.nn.resolver.activation_resolver("nothing")


def test_names_from_before_things_moved():
    """Loaders were in `data`, attention over graphs in `nn.glob`: each warns, and does what stands elsewhere now."""
    from polygrad.torch_geometric import data, loader, nn, transforms

    entries = [data.Data(x=torch.ones(2, 3), edge_index=torch.tensor([[0, 1], [1, 0]])) for _ in range(4)]
    with pytest.warns(UserWarning, match="'data.DataLoader' is deprecated, use 'loader.DataLoader'"):
        old = data.DataLoader(entries, batch_size=2)
    assert isinstance(old, loader.DataLoader) and [batch.num_graphs for batch in old] == [2, 2]
    with pytest.warns(UserWarning, match="RandomNodeLoader"):
        assert len(loader.RandomNodeSampler(entries[0], num_parts=2)) == 2
    with pytest.warns(UserWarning, match="AttentionalAggregation"):
        pool = nn.GlobalAttention(torch.nn.Linear(3, 1))
    found = pool(torch.ones(3, 3), torch.tensor([0, 0, 1]), 3)
    assert repr(pool).startswith("GlobalAttention") and found.tolist() == [[1.0] * 3, [1.0] * 3, [0.0] * 3]
    with pytest.warns(UserWarning, match="SortAggregation"):
        assert nn.global_sort_pool(torch.ones(3, 2), torch.tensor([0, 0, 1]), 2).size() == (2, 4)
    with pytest.warns(UserWarning, match="RandomJitter"):
        assert transforms.RandomTranslate(0.0)(data.Data(pos=torch.ones(2, 3))).pos.tolist() == [[1.0] * 3] * 2


def test_patches_are_reduced_to_values():
    """`min` and `max` of PyTorch's tensor are pairs; an aggregation of several reductions takes the values of each."""
    from polygrad.torch_geometric.nn import PatchTransformerAggregation

    x, index = torch.randn(6, 4), torch.tensor([0, 0, 1, 1, 1, 2])
    layer = PatchTransformerAggregation(4, 3, 2, 4, 1, heads=2, aggr=["sum", "mean", "min", "max", "var", "std"])
    assert layer(x, index).size() == (3, 3)


def test_matrices_by_type():
    """A layer that is called with a matrix for each type of edges sends along their entries."""
    from polygrad.torch_geometric.typing import SparseTensor

    from polygrad.torch_geometric.nn import HANConv

    x = {"a": torch.randn(4, 3), "b": torch.randn(5, 2)}
    edges = {("a", "to", "b"): torch.tensor([[0, 1, 3], [4, 0, 2]]), ("b", "to", "a"): torch.tensor([[0, 4], [1, 1]])}
    adj = {k: SparseTensor.from_edge_index(e, sparse_sizes=(x[k[0]].size(0), x[k[2]].size(0))).t() for k, e in edges.items()}
    layer = HANConv({"a": 3, "b": 2}, 4, (list(x), list(edges)), heads=2)
    found, expected = layer(x, adj), layer(x, edges)
    for kind in x:
        assert torch.allclose(found[kind], expected[kind], atol=1e-6)


class Weighing(MessagePassing):
    """Messages times a value of their edge."""

    def forward(self, x, edges, weight=None):
        return self.propagate(edges[0], x=x, edge_weight=weight)

    def message(self, x_j, edge_weight):
        return x_j * edge_weight.view(-1, 1)


def test_values_of_a_matrix_that_propagate_is_given():
    """The values of a matrix are the weights of its edges, where no weights are given."""
    from polygrad.torch_geometric.typing import SparseTensor

    x, edges, weight = torch.randn(4, 3), torch.tensor([[0, 1, 3], [2, 0, 2]]), torch.tensor([2.0, 3.0, 4.0])
    adj = SparseTensor.from_edge_index(edges, weight, (4, 4)).t()
    layer = Weighing()
    assert torch.allclose(layer(x, [adj]), layer(x, [edges], weight)) and torch.equal(layer(x, [adj], 0 * weight), 0 * x)


def test_a_width_that_is_not_known_is_loaded():
    """The state of a linear map that has seen no input makes another one wait for its input."""
    from polygrad.torch_geometric.nn import HeteroLinear, Linear

    made, x = Linear(3, 2), torch.ones(4, 5)
    made.load_state_dict(Linear(-1, 2).state_dict())
    assert made.in_channels == -1 and made(x).size() == (4, 2) and made.in_channels == 5
    typed = HeteroLinear(3, 2, num_types=2)
    typed.load_state_dict(HeteroLinear(-1, 2, num_types=2).state_dict())
    assert typed.in_channels == -1 and typed(x, torch.tensor([0, 1, 1, 0])).size() == (4, 2)


def test_parameters_of_relations_come_in_pygs_order():
    """An optimizer's state is by the number of the parameter: files of PyTorch Geometric fit."""
    from polygrad.torch_geometric.nn import FastRGCNConv, RGCNConv

    for layer in (RGCNConv(4, 3, 2, num_bases=2), FastRGCNConv(4, 3, 2, num_bases=2)):
        assert [name for name, _ in layer.named_parameters()] == ["weight", "comp", "root", "bias"]
