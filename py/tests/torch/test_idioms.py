"""What scripts for PyTorch do beside training: read the state of optimizers and modules, take named results apart."""

import io
import pickle

import pytest

import polygrad.torch as torch
from polygrad.torch import nn


def test_named_results():
    x = torch.tensor([[1.0, 2.0, 2.0], [5.0, 3.0, 5.0]])
    for name in ("max", "min", "sort", "median", "mode", "cummax", "cummin"):
        out = getattr(x, name)(dim=1)
        assert type(out) is getattr(torch.return_types, name) and out._fields == ("values", "indices"), name
    assert repr(torch.tensor([1, 3]).max(0)) == "torch.return_types.max(\nvalues=tensor(3),\nindices=tensor(1))"
    low, high = x.aminmax(dim=1)
    assert low.tolist() == [1, 3] and x.aminmax(dim=1).max.tolist() == high.tolist() == [2, 5]
    assert pickle.loads(pickle.dumps(x.topk(2))).values.tolist() == [[2, 2], [5, 5]]


def test_running_extremes_name_the_last_of_equal_values():
    x = torch.tensor([[1.0, 2.0, 2.0, 0.0, 3.0], [5.0, 5.0, 1.0, 5.0, 2.0]], requires_grad=True)
    values, places = x.cummax(1)
    assert places.tolist() == [[0, 1, 2, 2, 4], [0, 1, 1, 3, 3]]
    values.sum().backward()
    assert x.grad.tolist() == [[1, 1, 2, 0, 1], [1, 2, 0, 2, 0]]  # as the places say
    assert x.cummin(-1).indices.tolist() == [[0, 0, 0, 3, 3], [0, 1, 2, 2, 2]]
    assert torch.tensor([1.0, float("nan"), 3.0]).cummax(0).indices.tolist() == [0, 1, 1]


KINDS = [
    ("SGD", {"momentum": 0.9}, {"momentum_buffer"}), ("Adam", {"betas": (0.8, 0.9)}, {"exp_avg", "exp_avg_sq", "step"}),
    ("AdamW", {"amsgrad": True}, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"}),
    ("RMSprop", {"momentum": 0.5, "centered": True}, {"grad_avg", "momentum_buffer", "square_avg"}), ("Adagrad", {}, {"sum"}),
    ("Adadelta", {}, {"acc_delta", "square_avg"}), ("Adamax", {}, {"exp_avg", "exp_inf", "step"}),
    ("NAdam", {}, {"exp_avg", "exp_avg_sq", "mu_product", "step"}), ("RAdam", {}, {"exp_avg", "exp_avg_sq", "step"}),
    ("Rprop", {}, {"prev", "step_size"}), ("ASGD", {}, {"ax", "eta", "step"}),
]  # fmt: skip


def _steps(optimizer, params, n):
    for _ in range(n):
        optimizer.zero_grad()
        ((params[0] @ torch.tensor([1.0, -2.0, 0.5])).square().sum() + (params[1] * 3).sin().sum()).backward()
        optimizer.step()


@pytest.mark.parametrize("name,settings,names", KINDS)
def test_optimizer_state_by_parameter(name, settings, names):
    params = [nn.Parameter(torch.linspace(-1, 1, 6).view(2, 3)), nn.Parameter(torch.tensor([0.5, -0.5]))]
    optimizer = getattr(torch.optim, name)(params, lr=0.1, **settings)
    _steps(optimizer, params, 3)
    state = optimizer.state_dict()
    assert sorted(state["state"]) == [0, 1] and set(state["state"][1]) == names and state["param_groups"][0]["params"] == [0, 1]
    assert set(optimizer.state[params[0]]) == names and optimizer.state[params[1]].get("step", torch.tensor(3.0)).item() == 3
    file = io.BytesIO()
    torch.save({"optimizer": state}, file)
    file.seek(0)
    others = [nn.Parameter(p.detach().clone()) for p in params]
    second = getattr(torch.optim, name)(others, lr=7.0, **settings)
    second.load_state_dict(torch.load(file)["optimizer"])
    assert second.param_groups[0]["lr"] == pytest.approx(0.1)
    _steps(optimizer, params, 2)
    _steps(second, others, 2)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(params, others)), name


def test_optimizer_state_of_pytorch_and_of_the_library():
    w, v = (nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = torch.optim.Adam([{"params": [w]}, {"params": [v], "lr": 0.5}], lr=0.1)
    assert optimizer.state_dict()["state"] == {} and len(optimizer.state) == 0
    moments = {"step": torch.tensor(2.0), "exp_avg": torch.full((2,), 0.3), "exp_avg_sq": torch.full((2,), 0.2)}
    group = {"lr": 0.01, "betas": (0.5, 0.5), "eps": 1e-8, "weight_decay": 0, "foreach": None, "fused": None}
    optimizer.load_state_dict({"state": {0: moments}, "param_groups": [{**group, "params": [0]}, {**group, "lr": 0.02, "params": [1]}]})
    assert [g["lr"] for g in optimizer.param_groups] == [0.01, 0.02] and optimizer.state[w]["step"].item() == 2
    w.grad = torch.zeros(2)
    optimizer.step()
    # m = 0.15 / (1 - 1/8), v = 0.1 / (1 - 1/8)
    assert w.tolist() == pytest.approx([1 - 0.01 * (0.15 / 0.875) / (0.1 / 0.875) ** 0.5] * 2, rel=1e-6)
    with pytest.raises(ValueError, match="number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{**group, "params": [0]}]})
    with pytest.raises(ValueError, match="doesn't match the size"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{**group, "params": [0, 1]}, {**group, "params": [1]}]})


def test_what_a_module_holds():
    m = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert list(m._modules) == ["0", "1"] and list(m[0]._parameters) == ["weight", "bias"] and m._get_name() == "Sequential"
    assert list(m[1]._buffers) == ["running_mean", "running_var", "num_batches_tracked"]
    fast = m[0].weight * 2  # as learning to learn does: a tensor with a history in the place of a parameter
    m[0]._parameters["weight"] = fast
    m(torch.ones(4, 2)).sum().backward()
    assert m[0].weight is fast
    del m[0]._parameters["bias"]
    assert "bias" not in m[0]._parameters and len(m[0]._parameters) <= 1


def test_convolutions_have_a_number_for_each_axis():
    m = nn.Conv2d(3, 4, 3, stride=2, padding=1)
    assert (m.kernel_size, m.stride, m.padding, m.dilation) == ((3, 3), (2, 2), (1, 1), (1, 1))
    assert m(torch.ones(1, 3, 8, 8)).shape == (1, 4, 4, 4) and str(m) == "Conv2d(3, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))"
    t = nn.ConvTranspose1d(2, 2, 3, stride=2)
    assert t.stride == (2,) and t.output_padding == (0,) and t(torch.ones(1, 2, 4), output_size=[10]).shape == (1, 2, 10)


def test_a_script_for_several_processes_runs_as_the_only_one():
    import polygrad.torch.distributed as dist
    from polygrad.torch.nn.parallel import DistributedDataParallel

    with pytest.raises(ValueError, match="not been initialized"):
        DistributedDataParallel(nn.Linear(2, 1))
    with pytest.raises(RuntimeError, match="one process"):
        dist.init_process_group("nccl", rank=0, world_size=2)
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        model = DistributedDataParallel(nn.Linear(2, 1), device_ids=[0])
        x = torch.ones(3, 2)
        with model.no_sync():
            model(x).sum().backward()
        assert model.module.weight.grad.tolist() == [[3, 3]] and sorted(model.state_dict()) == ["module.bias", "module.weight"]
        y, others = torch.tensor([2.0]), [torch.zeros(1)]
        dist.all_reduce(y, op=dist.ReduceOp.SUM)
        dist.all_gather(others, y)
        dist.barrier()
        assert y.item() == others[0].item() == 2 and dist.get_rank() == 0 and dist.get_world_size() == 1 and dist.is_initialized()
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_files_of_pytorch():
    """Names by the files that PyTorch has them in."""
    from polygrad.torch.nn.modules.batchnorm import _BatchNorm
    from polygrad.torch.nn.modules.conv import Conv2d, _ConvNd
    from polygrad.torch.nn.modules.loss import _Loss
    from polygrad.torch.nn.modules.module import Module
    from polygrad.torch.nn.modules.utils import _pair
    from polygrad.torch.optim.adam import Adam
    from polygrad.torch.optim.optimizer import Optimizer

    from polygrad.torch.optim.lr_scheduler import LRScheduler, _LRScheduler
    from polygrad.torch.types import Number

    assert Module is nn.Module and Conv2d is nn.Conv2d and Adam is torch.optim.Adam and _LRScheduler is LRScheduler
    assert isinstance(nn.BatchNorm2d(2), _BatchNorm) and isinstance(nn.Conv1d(1, 1, 1), _ConvNd) and not isinstance(nn.Linear(1, 1), _ConvNd)
    assert isinstance(nn.MSELoss(), _Loss) and issubclass(Adam, Optimizer) and isinstance(2.5, Number)
    assert _pair(3) == (3, 3) and _pair([1, 2]) == (1, 2)
    assert nn.DataParallel(nn.Linear(2, 3)).module.out_features == 3


def test_star_imports_hide_nothing():
    names: dict[str, object] = {}
    exec("from polygrad.torch.nn import *\nfrom polygrad.torch_geometric.nn import *", names)
    assert names["Linear"] is nn.Linear and names["LayerNorm"] is nn.LayerNorm and "Adam" not in names and "GCNConv" not in names
    assert callable(names["to_hetero"])


def test_activations_by_name_are_those_of_torch():
    from polygrad.torch_geometric.nn.resolver import activation_resolver

    for name in ("PReLU", "ELU", "Softshrink", "RReLU"):
        assert isinstance(activation_resolver(name), getattr(nn, name)), name


class Heavy(torch.optim.Optimizer):
    """Momentum, as a script writes it."""

    def __init__(self, params, lr=0.1, beta=0.5):
        super().__init__(params, {"lr": lr, "beta": beta})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                own = self.state[p]
                if not own:
                    own["step"], own["moment"] = 0, torch.zeros_like(p)
                own["step"] += 1
                own["moment"].mul_(group["beta"]).add_(p.grad)
                p.add_(own["moment"], alpha=-group["lr"])


def test_optimizers_of_a_scripts_own():
    w, v = nn.Parameter(torch.tensor([1.0, 2.0])), nn.Parameter(torch.tensor([1.0, 2.0]))
    mine, other = Heavy([{"params": [w]}], lr=0.1), torch.optim.SGD([v], lr=0.1, momentum=0.5)
    assert (
        isinstance(mine, torch.optim.Optimizer) and isinstance(other, torch.optim.Optimizer) and issubclass(torch.optim.Adam, torch.optim.Optimizer)
    )
    schedules = [torch.optim.lr_scheduler.StepLR(o, 1, gamma=0.5) for o in (mine, other)]
    for _ in range(4):
        for p, o in ((w, mine), (v, other)):
            o.zero_grad()
            (p * p).sum().backward()
            o.step()
        for s in schedules:
            s.step()
    assert torch.allclose(w, v) and mine.param_groups[0]["lr"] == pytest.approx(0.1 / 16) and "lr: " in repr(mine)
    file = io.BytesIO()
    torch.save(mine.state_dict(), file)
    file.seek(0)
    again = Heavy([nn.Parameter(w.detach().clone())])
    again.load_state_dict(torch.load(file, weights_only=False))
    p = again.param_groups[0]["params"][0]
    assert again.state[p]["step"] == 4 and torch.equal(again.state[p]["moment"], mine.state[w]["moment"])
    mine.zero_grad()
    assert w.grad is None
    with pytest.raises(ValueError, match="empty parameter list"):
        Heavy([])
    with pytest.raises(ValueError, match="more than one parameter group"):
        mine.add_param_group({"params": [w]})


def test_gradient_penalty():
    """Arguments of grad by the names that scripts of PyTorch give, and a second derivative through the first."""
    x = torch.tensor([[0.3, -0.2]], requires_grad=True)
    layer = nn.Linear(2, 1)
    out = layer(x).tanh()
    (g,) = torch.autograd.grad(outputs=out, inputs=x, grad_outputs=torch.ones_like(out), create_graph=True, retain_graph=True, only_inputs=True)
    ((g.norm(2, dim=1) - 1) ** 2).mean().backward()
    assert layer.weight.grad is not None and bool(layer.weight.grad.isfinite().all())
    assert torch.tensor([1.0, float("nan"), -2.0, 0.0]).sign().tolist() == [1, 0, -1, 0]


def test_layers_are_replaced_by_name():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    model.heads = nn.ModuleDict({"a": nn.Linear(3, 1)})
    for parent, name in ((model, "1"), (model.heads, "a")):
        setattr(parent, name, nn.Tanh())
        assert isinstance(getattr(parent, name), nn.Tanh)
    assert isinstance(model[1], nn.Tanh) and sorted(model.state_dict()) == ["0.bias", "0.weight"]
    model._modules["0"] = nn.Identity()
    assert model(torch.tensor([0.0])).tolist() == [0] and len(model) == 2
    del model._modules["1"]
    assert list(model._modules) == ["0", "heads"]


def test_backward_after_the_parameters_are_gone():
    """A layer that nobody holds any more: its gradients are nobody's, and backward has nothing to do."""
    x = torch.ones(3, 2)
    loss = nn.Linear(2, 1)(x).square().mean()
    loss.backward()
    assert loss.item() >= 0
    with pytest.raises(RuntimeError, match="does not require grad"):
        (x * 2).sum().backward()
    with torch.no_grad():
        loss = nn.Linear(2, 1)(x).sum()
    with pytest.raises(RuntimeError, match="does not require grad"):
        loss.backward()
