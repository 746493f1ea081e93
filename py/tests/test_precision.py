"""Mixed precision: products in float16 and bfloat16, float32 parameters, scaled losses."""

import numpy as np
import pytest

from polygrad import Device, Tensor, dtypes, nn


def net_and_data():
    Tensor.manual_seed(3)
    rng = np.random.default_rng(3)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    return net, Tensor(rng.standard_normal((20, 6)).astype(np.float32)).realize(), Tensor(rng.integers(0, 3, 20)).realize()


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16])
def test_products_are_taken_in_lower_precision(dtype, device):
    """Factors and result are rounded, sums are not; parameters have float32 gradients."""
    rng = np.random.default_rng(1)
    a, w = (rng.standard_normal(s).astype(np.float32) for s in ((4, 300), (5, 300)))
    x, weight = Tensor(a, requires_grad=True), Tensor(w, requires_grad=True)
    with nn.autocast(dtype=dtype):
        y = x.linear(weight.transpose())
        z = x @ weight.transpose()
    assert y.dtype == z.dtype == dtype and (x @ weight.transpose()).dtype == dtypes.float32
    rounded = lambda v: Tensor(v).cast(dtype).cast(dtypes.float32).numpy().astype(np.float64)  # noqa: E731
    want = rounded(a) @ rounded(w).T
    np.testing.assert_allclose(z.cast(dtypes.float32).numpy(), want, rtol=2**-7 if dtype == dtypes.bfloat16 else 2**-10, atol=1e-3)
    y.cast(dtypes.float32).sum().backward()
    assert weight.grad.dtype == dtypes.float32
    np.testing.assert_allclose(weight.grad.numpy(), np.tile(rounded(a).sum(0), (5, 1)), rtol=2e-2, atol=2e-2)


def test_autocast_ends_and_refuses_other_dtypes():
    with nn.autocast(enabled=False):
        assert (Tensor.ones(2, 2) @ Tensor.ones(2, 2)).dtype == dtypes.float32
    with pytest.raises(ZeroDivisionError), nn.autocast(dtype=dtypes.float16):
        raise ZeroDivisionError
    assert (Tensor.ones(2, 2) @ Tensor.ones(2, 2)).dtype == dtypes.float32
    with pytest.raises(TypeError, match="autocast"), nn.autocast(dtype=dtypes.int32):
        pass


@pytest.mark.parametrize("compiled", [False, True])
def test_scaled_losses_train_like_plain_ones(compiled):
    losses = []
    for mixed in (False, True):
        net, x, y = net_and_data()
        opt, scaler = nn.Adam(nn.get_parameters(net), lr=0.05), nn.GradScaler(init_scale=1024.0, growth_interval=4, enabled=mixed)

        def train(net, opt, x, y, scaler=scaler, mixed=mixed):
            with nn.autocast("cuda", enabled=mixed):
                out = net(x)
            loss = out.cast(dtypes.float32).cross_entropy(y)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
            return loss

        if compiled:
            step = nn.compile_step(train, net, opt, x, y)
            for _ in range(10):
                step.run()
            losses.append(step.loss_value())
        else:
            for _ in range(10):
                loss = train(net, opt, x, y).item()
            losses.append(loss)
        if mixed:
            assert scaler.get_scale() == 4096.0  # doubled after steps 4 and 8
            assert all(p.dtype == dtypes.float32 for p in nn.get_parameters(net))
    np.testing.assert_allclose(losses[1], losses[0], rtol=2e-2)


def test_a_step_with_infinite_gradients_is_left_out():
    net, x, y = net_and_data()
    opt, scaler = nn.Adam(nn.get_parameters(net), lr=0.05), nn.GradScaler(init_scale=2.0**120)
    before = [p.numpy() for p in nn.get_parameters(net)]
    (scaler.scale(net(x * 1e6).cross_entropy(y)) * 1e6).backward()
    scaler.step(opt)
    scaler.update()
    for p, b in zip(nn.get_parameters(net), before):
        np.testing.assert_array_equal(p.numpy(), b)
    assert scaler.get_scale() == 2.0**119
    opt.zero_grad()
    again = nn.GradScaler()
    again.load_state_dict({**scaler.state_dict(), "scale": 8.0})
    again.scale(net(x).cross_entropy(y)).backward()
    again.step(opt)
    again.update()
    plain, px, py = net_and_data()
    other = nn.Adam(nn.get_parameters(plain), lr=0.05)
    plain(px).cross_entropy(py).backward()
    other.step()
    for p, q in zip(nn.get_parameters(net), nn.get_parameters(plain)):  # as if the step that was left out had not been
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-4, atol=1e-5)


def test_names_of_torch():
    from polygrad import torch

    assert torch.amp.GradScaler is nn.GradScaler and not torch.is_autocast_enabled()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled()
    assert Device.DEFAULT
