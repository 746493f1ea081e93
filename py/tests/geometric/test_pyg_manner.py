"""What scripts of PyTorch Geometric rely on: how names of attributes are joined, rows on disk, sparse matrices in utilities, names of schedulers."""

import os
import threading

import pytest
from polygrad.torch_geometric.nn.resolver import lr_scheduler_resolver, optimizer_resolver
from polygrad.torch_geometric.sampler.base import NumNeighbors
from polygrad.torch_geometric.utils.cross_entropy import sparse_cross_entropy

import polygrad.torch as torch
from polygrad import Tensor
from polygrad.geometric import data as plain
from polygrad.torch_geometric import EdgeIndex, Index, utils
from polygrad.torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset, OnDiskDataset, SQLiteDatabase
from polygrad.torch_geometric.loader import DataLoader, NeighborLoader
from polygrad.torch_geometric.nn import FAConv, GCNConv, SumAggregation

EDGES = [[0, 1, 2], [1, 2, 0]]


class InMemory(InMemoryDataset):
    def __init__(self, graphs, root=None):
        super().__init__(root)
        self.data, self.slices = self.collate(graphs)


# ---- joining by names ----


def _graph():
    return Data(x=torch.ones(3, 2), my_index=torch.tensor([[0, 2]]), my_batch=torch.tensor([0, 0, 1]), other=torch.tensor([5]))


def test_names_say_how_torch_tensors_are_joined():
    batch = Batch.from_data_list([_graph(), _graph()])
    assert batch.my_index.tolist() == [[0, 2, 3, 5]] and batch.my_batch.tolist() == [0, 0, 1, 2, 2, 3] and batch.other.tolist() == [5, 5]
    assert batch[1].my_index.tolist() == [[0, 2]] and batch[1].my_batch.tolist() == [0, 0, 1]
    in_memory = InMemory([_graph(), _graph()])
    assert in_memory.my_index.tolist() == [[0, 2, 3, 5]] and in_memory[1].my_index.tolist() == [[0, 2]]
    assert next(iter(DataLoader(in_memory, batch_size=2))).my_index.tolist() == [[0, 2, 3, 5]]


def test_names_of_edge_types():
    data = HeteroData()
    data["a"].x, data["b"].x = torch.ones(2, 1), torch.ones(3, 1)
    data["a", "b"].edge_index = data["a", "b"].my_index = torch.tensor([[0, 1], [2, 0]])
    data["a"].my_index = torch.tensor([[1]])
    batch = Batch.from_data_list([data, data])
    assert batch["a", "b"].my_index.tolist() == [[0, 1, 2, 3], [2, 0, 5, 3]] and batch["a"].my_index.tolist() == [[1], [1]]


def test_plain_tensors_are_joined_as_the_class_says():
    graph = plain.Data(x=Tensor.ones(3, 2), some_index=Tensor([[0, 2]]))
    with pytest.warns(UserWarning, match="'some_index' is joined along the first axis"):
        assert plain.Batch.from_data_list([graph, graph]).some_index.tolist() == [[0, 2], [0, 2]]


# ---- on disk ----


def test_rows_have_the_class_of_the_database(tmp_path):
    db = SQLiteDatabase(os.path.join(tmp_path, "a.db"), "rows")
    db[0] = torch.arange(3)
    db[1] = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))
    db[2] = EdgeIndex(EDGES, sparse_size=(3, 4), sort_order="row")
    db[3] = (Index([0, 1, 1], dim_size=3, is_sorted=True), "a")
    assert isinstance(db.get(0), torch.Tensor) and db.get(0).tolist() == [0, 1, 2]
    graph, edges, (index, name) = db.multi_get([1, 2, 3])
    assert isinstance(graph.x, torch.Tensor) and graph.edge_index.tolist() == [[0], [1]]
    assert isinstance(edges, EdgeIndex) and edges.sparse_size() == (3, 4) and edges.sort_order == "row" and edges.tolist() == EDGES
    assert isinstance(index, Index) and index.dim_size == 3 and index.is_sorted and name == "a"
    db.close()
    with pytest.raises(RuntimeError, match="No open database connection"):
        db.cursor.fetchone()


def test_a_part_of_a_dataset_on_disk(tmp_path):
    dataset = OnDiskDataset(str(tmp_path))
    dataset.extend([Data(x=torch.tensor([k])) for k in range(6)])
    part = dataset.index_select([3, 4, 5])
    assert isinstance(dataset.get(0).x, torch.Tensor)
    assert [int(g.x) for g in part.multi_get([0, 2])] == [3, 5] and [int(g.x) for g in part.multi_get(slice(1, None))] == [4, 5]
    assert [int(g.x) for g in part.__getitems__([1])] == [4]
    dataset.close()


def test_from_memory_to_disk(tmp_path):
    with pytest.raises(ValueError, match="root"):
        InMemory([_graph(), _graph()]).to_on_disk_dataset()
    made = InMemory([_graph(), _graph()], str(tmp_path)).to_on_disk_dataset()
    assert str(made) == "OnDiskInMemory(2)" and isinstance(made[1].x, torch.Tensor) and made[1].my_index.tolist() == [[0, 2]]
    made.close()


def test_summaries_are_tables():
    table = str(InMemory([_graph(), _graph()]).get_summary(per_type=False))
    assert table.startswith("InMemory (#graphs=2):\n+--") and "| median     |    3.0 |" in table and len(table.splitlines()) == 12


# ---- sparse matrices and utilities ----


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_self_loops_of_matrices(layout):
    matrix = utils.to_torch_sparse_tensor(torch.tensor([[0, 1, 0], [1, 0, 0]]), torch.tensor([2.0, 3.0, 4.0]), size=2, layout=layout)
    without, _ = utils.remove_self_loops(matrix)
    more, _ = utils.add_self_loops(matrix, fill_value=0.5)
    assert without.layout == more.layout == layout
    assert without.to_dense().tolist() == [[0, 2], [3, 0]] and more.to_dense().tolist() == [[4.5, 2], [3, 0.5]]


def test_layers_scale_the_values_of_a_matrix():
    x, edges = torch.randn(3, 4), torch.tensor(EDGES)
    conv = FAConv(4, dropout=0.0)
    want = conv(x, x, edges)
    assert torch.allclose(conv(x, x, utils.to_torch_csc_tensor(edges, size=(3, 3)).t()), want, atol=1e-6)
    with pytest.raises(ValueError, match="normalize"):
        conv(x, x, edges, torch.ones(3))


def test_cross_entropy_of_pairs():
    x = torch.randn(3, 4, requires_grad=True)
    loss = sparse_cross_entropy(x, torch.tensor([[0, 2], [1, 3]]))
    want = torch.nn.functional.cross_entropy(x[torch.tensor([0, 2])], torch.tensor([1, 3]), reduction="sum") / 3
    assert torch.allclose(loss, want)
    loss.backward()
    assert x.grad is not None and x.grad[1].abs().sum() == 0


def test_what_cannot_be_gathered():
    x, index = torch.ones(3, 2), torch.tensor([0, 0, 2])
    with pytest.raises(ValueError, match="invalid 'dim_size'"):
        SumAggregation()(x, index, dim_size=2)
    with pytest.raises(ValueError, match="invalid `reduce` argument 'std'"):
        utils.scatter(x, index, reduce="std")
    with pytest.raises(ValueError, match="sparse tensor layout"):
        utils.to_torch_sparse_tensor(torch.tensor(EDGES), layout=torch.strided)
    with pytest.raises(IndexError, match="negative indices"):
        GCNConv(2, 2, normalize=False)(x, torch.tensor([[0, -1], [1, 0]]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max", "min", "logsumexp", "std", "var"])
def test_aggregations_over_aggregations(mode):
    from polygrad.torch_geometric.nn import MultiAggregation

    x, index = torch.tensor([[1.0, 4.0], [3.0, 2.0], [5.0, 0.0]]), torch.tensor([0, 0, 1])
    out = MultiAggregation(["mean", "max"], mode=mode)(x, index)
    parts = torch.tensor([[[2.0, 3.0], [5.0, 0.0]], [[3.0, 4.0], [5.0, 0.0]]])
    want = getattr(parts, f"a{mode}" if mode in ("max", "min") else mode)(0)
    assert isinstance(out, torch.Tensor) and torch.allclose(out, want)


def test_random_masks():
    mask = torch.randint(0, 2, (50,), dtype=torch.bool)
    assert mask.dtype == torch.bool and 0 < int(mask.sum()) < 50
    numbers = torch.randint(3, (50,), dtype=torch.float)
    assert numbers.dtype == torch.float and set(numbers.tolist()) <= {0.0, 1.0, 2.0}


# ---- schedulers and loaders ----


def test_schedulers_that_warm_up_by_name():
    optimizer = optimizer_resolver("adagrad", [torch.nn.Parameter(torch.ones(1))], lr=0.1)
    assert isinstance(optimizer, torch.optim.Adagrad)
    for name, want in (("constant_with_warmup", "ConstantWithWarmupLR"), ("PolynomialWithWarmupLR", "PolynomialWithWarmupLR"), ("step", "StepLR")):
        more = {"step_size": 2} if name == "step" else {}
        assert type(lr_scheduler_resolver(name, optimizer, num_training_steps=10, **more)).__name__ == want
    scheduler = lr_scheduler_resolver("linear_with_warmup", optimizer, warmup_ratio_or_steps=0.2, num_training_steps=10)
    rates = []
    for _ in range(3):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    assert rates == pytest.approx([0.0, 0.05, 0.1])
    for wrong in (-0.5, -1, "a"):
        with pytest.raises(ValueError, match="warmup_ratio_or_steps"):
            lr_scheduler_resolver("constant_with_warmup", optimizer, warmup_ratio_or_steps=wrong)


def test_threads_of_a_loader():
    started = []
    graph = Data(x=torch.ones(8, 1), edge_index=torch.tensor(EDGES))
    loader = NeighborLoader(graph, [1], batch_size=1, num_workers=2, worker_init_fn=lambda k: started.append((k, threading.get_native_id())))
    cores = sorted(os.sched_getaffinity(0))[:1]
    with loader.enable_cpu_affinity(cores * 2), loader.enable_multithreading(2):
        assert loader.num_threads == 2 and len(list(loader)) == 8
    assert {k for k, _ in started} <= {0, 1} and started and loader.loader_cores is None and loader.num_threads is None
    assert len(os.sched_getaffinity(0)) >= len(cores)
    for wrong in (lambda: loader.enable_cpu_affinity([0]), lambda: NeighborLoader(graph, [1], batch_size=1).enable_multithreading(2)):
        with pytest.raises(ValueError), wrong():
            pass


def test_neighbours_by_names_of_edge_types():
    counts = NumNeighbors({("a", "to", "b"): [1, 2]}, default=[3, 4])
    assert counts.get_mapped_values([("a", "to", "b"), ("b", "to", "a")]) == {"a__to__b": [1, 2], "b__to__a": [3, 4]}
    with pytest.raises(ValueError, match="same across all edge types"):
        NumNeighbors({("a", "to", "b"): [1], ("b", "to", "a"): [1, 2]}).get_values([("a", "to", "b"), ("b", "to", "a")])


# ---- chains, switches, modules by key, attacks ----


def test_chains_of_steps():
    from polygrad.torch_geometric.data.datapipes import DatasetAdapter

    graph = Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))
    chain = DatasetAdapter([graph] * 5)
    assert isinstance(chain, torch.utils.data.IterDataPipe) and len(InMemory([graph, graph]).to_datapipe()) == 2
    batches = chain.to_undirected().batch_graphs(batch_size=2, drop_last=True)
    assert len(batches) == 2 and [b.num_edges for b in batches] == [8, 8] and graph.num_edges == 2
    loader = DataLoader(chain, batch_size=2, drop_last=True)
    assert len(loader) == 2 and [b.num_graphs for b in loader] == [2, 2]
    chain.apply_sharding(2, 1)
    assert len(list(chain)) == 2
    with pytest.raises(AttributeError, match="no attribute 'unheard_of'"):
        chain.unheard_of()


def test_modules_by_key():
    from polygrad.torch_geometric.nn.module_dict import ModuleDict

    modules = ModuleDict({("a", "to", "b"): torch.nn.Linear(1, 2)})
    modules.update({"x.y": torch.nn.Linear(2, 3)})
    assert str(modules).splitlines()[1:3] == [
        "  (<a___to___b>): Linear(in_features=1, out_features=2, bias=True)", "  (x#y): Linear(in_features=2, out_features=3, bias=True)",
    ]  # fmt: skip
    assert modules.pop("x.y").out_features == 3 and list(modules) == [("a", "to", "b")]


class Weighted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = GCNConv(2, 2)

    def forward(self, x, edge_index, edge_weight):
        return self.conv(x, edge_index, edge_weight)


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("kind", ["PRBCDAttack", "GRBCDAttack"])
def test_attacks_flip_edges(kind, undirected):
    from polygrad.torch_geometric.contrib import nn

    torch.manual_seed(1)
    edges = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    edges = utils.to_undirected(edges) if undirected else edges
    x, y = torch.randn(6, 2), torch.tensor([0, 1, 0, 1, 0, 1])
    attack = getattr(nn, kind)(Weighted(), block_size=200, epochs=6, loss="margin", is_undirected=undirected, log=False)
    changed, flipped = attack.attack(x, edges, y, budget=2)
    before, after = ({tuple(e) for e in pairs.t().tolist()} for pairs in (edges, changed))
    pairs = {tuple(e) for e in flipped.t().tolist()}
    pairs |= {(b, a) for a, b in pairs} if undirected else set()
    assert before ^ after == pairs and 0 < flipped.size(1) <= 2
    loss = [float(attack.loss(attack.model(x, e, None), y)) for e in (edges, changed)]
    assert loss[1] > loss[0]


def test_blocks_and_budgets():
    import numpy as np

    from polygrad.torch_geometric.contrib.nn.models.rbcd_attack import pairs_of, project

    assert pairs_of(np.arange(6), 4, True).T.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert pairs_of(np.arange(4), 2, False).T.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    values = np.array([3.0, 0.4, -1.0, 0.9], np.float32)
    assert project(values, 1.5, 1e-7).sum() == pytest.approx(1.5, abs=1e-3) and project(values, 10, 1e-7)[2] == pytest.approx(1e-7)


# ---- what examples do ----


class FromAnother(InMemoryDataset):
    """A dataset that is made of another one's graph, which is set before the constructor runs."""

    def __init__(self, graph, root):
        self._data = graph
        super().__init__(root)
        self.load(self.processed_paths[0])

    @property
    def processed_file_names(self):
        return "all.pt"

    def process(self):
        self.save([Data(x=self._data.x[k : k + 1]) for k in range(self._data.num_nodes)], self.processed_paths[0])


def test_a_dataset_of_the_graph_of_another(tmp_path):
    dataset = FromAnother(Data(x=torch.arange(3.0).view(3, 1)), str(tmp_path))
    assert len(dataset) == 3 and dataset[2].x.item() == 2


def test_distributions_by_the_names_of_their_files():
    from polygrad.torch.distributions.gamma import Gamma

    assert torch.distributions.normal.Normal is torch.distributions.Normal and torch.distributions.gamma.Gamma is Gamma


# ---- modes ----


def test_sizes_that_must_be_given():
    from polygrad.torch_geometric.experimental import disable_dynamic_shapes

    from polygrad.torch_geometric import experimental_mode, is_experimental_mode_enabled, set_experimental_mode

    @disable_dynamic_shapes(required_args=["size"])
    def sized(x, size=None):
        return x

    x, batch = torch.ones(3, 2), torch.tensor([0, 0, 1])
    assert sized(1) == 1 and not is_experimental_mode_enabled("disable_dynamic_shapes")
    with experimental_mode("disable_dynamic_shapes"):
        assert is_experimental_mode_enabled() and sized(1, 2) == 1
        with pytest.raises(ValueError, match="'size' needs to be set"):
            sized(1)
        with pytest.raises(ValueError, match="'max_num_nodes' needs to be set"):
            utils.to_dense_batch(x, batch, batch_size=2)
        with pytest.raises(ValueError, match="'dim_size' needs to be set"):
            SumAggregation()(x, batch)
        assert utils.to_dense_batch(x, batch, batch_size=2, max_num_nodes=2)[0].size() == (2, 2, 2)
    with set_experimental_mode(True):
        assert is_experimental_mode_enabled()
    assert not is_experimental_mode_enabled() and SumAggregation()(x, batch).size() == (2, 2)
    with pytest.raises(ValueError, match="does not have a 'none' argument"):
        disable_dynamic_shapes(["none"])(sized)
    with pytest.raises(KeyError, match="unheard"):
        experimental_mode("unheard")


def test_devices_by_name():
    from polygrad.torch_geometric.device import device, is_mps_available

    import polygrad.torch_geometric as torch_geometric

    assert torch_geometric.device("cpu") == torch.device("cpu") == device("cpu") and not is_mps_available()
    assert torch_geometric.device("auto") == torch.ones(1).device and torch.ones(1).to(device("auto")).item() == 1


def test_deprecated():
    from polygrad.torch_geometric.deprecation import deprecated

    @deprecated("use 'New' instead", func_name="Old")
    class Thing:
        def __init__(self, value):
            self.value = value

    with pytest.warns(UserWarning, match="'Old' is deprecated, use 'New' instead"):
        assert Thing(3).value == 3
