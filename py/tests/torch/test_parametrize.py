"""Parameters that are computed from others, averages of parameters over training, and modules that scripts ask whether they are used."""

import numpy as np
import pytest

import polygrad.torch as torch
from polygrad.torch import nn
from polygrad.torch.nn.utils import parametrize
from polygrad.torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(0, 1)

    def right_inverse(self, x):
        return x.triu()


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x


def test_a_parameter_that_is_computed():
    layer = nn.Linear(3, 3)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert isinstance(layer, nn.Linear) and parametrize.type_before_parametrizations(layer) is nn.Linear
    assert sorted(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert layer.weight.tolist() == (before.triu() + before.triu(1).t()).tolist()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.randn(2, 3)).pow(2).sum().backward()
    optimizer.step()
    assert torch.equal(layer.weight, layer.weight.t()) and not torch.equal(layer.parametrizations.weight.original.detach(), before.triu())
    layer.weight = torch.eye(3)
    assert layer.weight.tolist() == torch.eye(3).tolist()
    with parametrize.cached():
        assert layer.weight is layer.weight
    parametrize.register_parametrization(layer, "weight", Twice())
    assert layer.weight.tolist() == (2 * torch.eye(3)).tolist()
    with pytest.raises(RuntimeError, match="right_inverse"):
        layer.weight = torch.eye(3)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter) and not parametrize.is_parametrized(layer)
    for wrong in ("missing", "in_features"):
        with pytest.raises(ValueError):
            parametrize.register_parametrization(layer, wrong, Twice())


def test_averages():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    mean, ema = AveragedModel(model), AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.5))
    for value in (1.0, 2.0, 6.0):
        nn.init.constant_(model[0].weight, value)
        mean.update_parameters(model)
        ema.update_parameters(model)
    assert mean.module[0].weight.flatten().tolist() == [3.0] * 4 and ema.module[0].weight.flatten().tolist() == [3.75] * 4
    assert int(mean.n_averaged) == 3 and "module.0.weight" in mean.state_dict()
    batches = [torch.randn(8, 2) for _ in range(3)]
    update_bn(batches, mean)
    seen = np.mean([mean.module[0](b).detach().numpy().mean(0) for b in batches], axis=0)
    np.testing.assert_allclose(mean.module[1].running_mean.numpy(), seen, atol=1e-5)


def test_rates_go_to_the_last_one():
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    scheduler, rates = SWALR(optimizer, swa_lr=0.05, anneal_epochs=5, anneal_strategy="linear"), []
    for _ in range(6):
        scheduler.step()
        rates.append(round(optimizer.param_groups[0]["lr"], 6))
    assert rates == [0.09, 0.08, 0.07, 0.06, 0.05, 0.05]


def test_what_is_not_used():
    assert not torch.distributed.is_initialized() and not torch.onnx.is_in_onnx_export() and not torch.xpu.is_available()
    with pytest.raises(AttributeError, match="state dict"):
        torch.onnx.export(None, (), "x.onnx")
    assert isinstance(torch.strided, torch.layout) and isinstance(torch.contiguous_format, torch.memory_format)
