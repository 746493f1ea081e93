"""Modules: what a model holds and how it is changed; layers, losses and functionals against plain formulas."""

import copy
import math
from collections import OrderedDict

import numpy as np
import pytest

import polygrad.nn.functional as F
from polygrad import Tensor, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.scale = nn.Parameter(Tensor([2.0]))
        self.layers = [nn.Linear(4, 2)]
        self.register_buffer("seen", Tensor([0.0]))
        self.register_buffer("cache", Tensor([1.0]), persistent=False)

    def forward(self, x):
        return self.layers[0](self.body(x)) * self.scale


def numeric(f, x, eps=1e-6):
    """Gradient of a scalar function by central differences, in float64."""
    g = np.zeros_like(x)
    for k in np.ndindex(*x.shape):
        a, b = x.copy(), x.copy()
        a[k] += eps
        b[k] -= eps
        g[k] = (f(a) - f(b)) / (2 * eps)
    return g


def test_what_a_module_holds():
    m = Net()
    names = [n for n, _ in m.named_parameters()]
    assert names == ["scale", "body.0.weight", "body.0.bias", "layers.0.weight", "layers.0.bias"]
    assert [n for n, _ in m.named_buffers()] == ["seen", "cache"]
    assert sorted(m.state_dict()) == sorted([*names, "seen"])
    assert [n for n, _ in m.named_modules()] == ["", "body", "body.0", "body.1", "layers.0"]
    assert [n for n, _ in m.named_children()] == ["body", "layers.0"] and len(m.children()) == 2
    assert next(m.parameters()) is m.scale
    assert m.get_submodule("body.0") is m.body[0] and m.get_parameter("body.0.weight") is m.body[0].weight
    with pytest.raises(AttributeError, match="nothing"):
        m.get_submodule("nothing")


def test_frozen_parameters_stay_parameters():
    m = Net().requires_grad_(False)
    assert len(m.parameters()) == 5 and not any(p.requires_grad for p in m.parameters())
    assert len(copy.deepcopy(m).parameters()) == 5
    assert isinstance(m.scale, nn.Parameter) and not isinstance(m.seen, nn.Parameter)
    assert all(p.requires_grad for p in m.requires_grad_(True).parameters())


def test_registering_is_checked():
    m = Net()
    with pytest.raises(KeyError, match="already exists"):
        m.register_buffer("body", Tensor([1.0]))
    with pytest.raises(KeyError, match="contain"):
        m.register_parameter("a.b", None)
    with pytest.raises(TypeError, match="Parameter or None"):
        m.register_parameter("w", Tensor([1.0]))
    with pytest.raises(TypeError, match="not a Module"):
        m.add_module("x", 3)
    m.add_module("more", nn.ReLU())
    m.register_parameter("nothing", None)
    assert m.more is dict(m.named_children())["more"] and m.nothing is None


def test_hooks_see_and_change():
    m, seen = nn.Linear(2, 1, bias=False), []
    m.weight.assign(Tensor([[1.0, 1.0]]))
    with (
        m.register_forward_pre_hook(lambda mod, args: (args[0] * 2,)),
        m.register_forward_hook(lambda mod, args, out: seen.append(out.item()) or out + 1),
    ):
        assert m(Tensor([[1.0, 2.0]])).item() == 7.0
    assert seen == [6.0] and m(Tensor([[1.0, 2.0]])).item() == 3.0
    h = m.register_forward_hook(lambda mod, args, kwargs, out: out * 10, with_kwargs=True)
    assert m(x=Tensor([[1.0, 2.0]])).item() == 30.0
    h.remove()


def test_loading_is_strict():
    m = nn.Linear(2, 3)
    with pytest.raises(RuntimeError) as e:
        m.load_state_dict({"weight": Tensor.zeros(4, 2), "other": Tensor.zeros(1)})
    assert str(e.value) == (
        'Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: "bias". \n\tUnexpected key(s) in state_dict: "other". '
        "\n\tsize mismatch for weight: copying a param with shape torch.Size([4, 2]) from checkpoint, "
        "the shape in current model is torch.Size([3, 2])."
    )
    keys = m.load_state_dict({"bias": Tensor.ones(3), "other": Tensor.zeros(1)}, strict=False)
    assert keys.missing_keys == ["weight"] and keys.unexpected_keys == ["other"] and m.bias.tolist() == [1.0] * 3


def test_dtype_apply_and_gradients():
    m = Net().double()
    assert {str(t.dtype) for t in m.state_dict().values()} == {"dtypes.double"}
    assert m.half().scale.dtype == "float16" and m.float().to("float32").scale.dtype == "float32" and m.cpu() is m
    kinds = []
    assert m.apply(lambda x: kinds.append(type(x).__name__)) is m
    assert kinds == ["Linear", "ReLU", "Sequential", "Linear", "Net"]
    m(Tensor.ones(1, 3)).sum().backward()
    assert m.scale.grad is not None
    m.zero_grad(set_to_none=False)
    assert m.scale.grad.tolist() == [0.0]
    m.zero_grad()
    assert m.scale.grad is None


def test_repr_is_nested():
    assert repr(Net()).splitlines()[-1] == ")  # 27 parameters"
    assert repr(nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.LeakyReLU(0.2))) == (
        "Sequential(\n  (0): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n  (1): LeakyReLU(negative_slope=0.2)\n)"
    )
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"


def test_containers():
    s = nn.Sequential({"a": nn.ReLU(), "b": nn.Tanh()})
    assert s.a is s[0] and len(s[1:]) == 1 and [n for n, _ in s.named_children()] == ["a", "b"]
    m = nn.ModuleList([nn.ReLU()])
    m += [nn.Tanh(), nn.GELU()]
    m.insert(0, nn.Identity())
    del m[1]
    assert [type(x).__name__ for x in m] == ["Identity", "Tanh", "GELU"] and isinstance(m.pop(), nn.GELU) and len(m) == 2
    with pytest.raises(IndexError, match="out of range"):
        m[5]
    d = nn.ModuleDict({"x": nn.Linear(1, 1)})
    d["y"] = nn.ReLU()
    assert list(d) == ["x", "y"] and "x" in d and list(d.keys()) == ["x", "y"] and isinstance(d.pop("y"), nn.ReLU)
    p = nn.ParameterDict({"w": Tensor.ones(2)})
    assert p["w"].requires_grad and [n for n, _ in p.named_parameters()] == ["w"]
    two = {"b": Tensor.ones(1), "a": Tensor.ones(1)}  # the names of a plain dict are sorted, others keep their order
    assert list(nn.ParameterDict(two)) == ["a", "b"] and list(nn.ParameterDict(OrderedDict(two))) == ["b", "a"] == list(
        nn.ParameterDict(list(two.items()))
    )
    p.update(two)
    assert list(p.copy()) == ["w", "a", "b"]
    assert [n for n, _ in nn.ParameterList([Tensor.ones(1)] * 2).named_parameters(remove_duplicate=False)] == ["0", "1"]


@pytest.mark.parametrize(
    "layer",
    [
        nn.Linear(3, 4), nn.Bilinear(2, 3, 4), nn.Conv1d(2, 3, 3), nn.Conv3d(2, 3, 2), nn.ConvTranspose2d(2, 3, 2), nn.Embedding(5, 3),
        nn.EmbeddingBag(5, 3), nn.LSTM(2, 3), nn.GRUCell(2, 3), nn.RNN(2, 3),
    ],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_reset_parameters_draws_anew(layer):
    before = {n: p.numpy() for n, p in layer.named_parameters()}
    layer.reset_parameters()
    assert all(not np.array_equal(p.numpy(), before[n]) for n, p in layer.named_parameters())


def test_norms_reset_to_ones():
    for layer in (nn.BatchNorm1d(3), nn.LayerNorm(3), nn.GroupNorm(1, 3), nn.RMSNorm(3)):
        layer.weight.assign(Tensor.zeros(3))
        layer.reset_parameters()
        assert layer.weight.tolist() == [1.0] * 3


LOSSES = {
    "smooth_l1_loss": (lambda x, y: np.where(abs(x - y) < 1, (x - y) ** 2 / 2, abs(x - y) - 0.5)),
    "soft_margin_loss": (lambda x, y: np.log(1 + np.exp(-y * x))),
    "hinge_embedding_loss": (lambda x, y: np.where(y == 1, x, np.maximum(0, 1 - x))),
    "poisson_nll_loss": (lambda x, y: np.exp(x) - y * x),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_against_formulas(name):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((3, 4)), np.sign(rng.standard_normal((3, 4)))
    each = LOSSES[name](x, y)
    for how, value in (("none", each), ("sum", each.sum()), ("mean", each.mean())):
        np.testing.assert_allclose(getattr(F, name)(Tensor(x), Tensor(y), reduction=how).numpy(), value, rtol=1e-12)
    t = Tensor(x, requires_grad=True)
    getattr(F, name)(t, Tensor(y)).backward()
    np.testing.assert_allclose(t.grad.numpy(), numeric(lambda v: LOSSES[name](v, y).mean(), x), atol=1e-8)
    module = {"smooth_l1_loss": nn.SmoothL1Loss, "soft_margin_loss": nn.SoftMarginLoss, "hinge_embedding_loss": nn.HingeEmbeddingLoss}
    if name in module:
        np.testing.assert_allclose(module[name](reduction="sum")(Tensor(x), Tensor(y)).item(), each.sum(), rtol=1e-12)


def test_kl_div_of_zero_probabilities():
    p, q = np.array([[0.0, 0.25, 0.75]]), np.array([[0.2, 0.3, 0.5]])
    expected = (0.25 * np.log(0.25 / 0.3) + 0.75 * np.log(0.75 / 0.5),)
    np.testing.assert_allclose(F.kl_div(Tensor(np.log(q)), Tensor(p), reduction="batchmean").item(), expected[0], rtol=1e-12)
    logs = Tensor(np.log(q))
    np.testing.assert_allclose(nn.KLDivLoss(reduction="sum", log_target=True)(logs, logs).item(), 0.0, atol=1e-15)


def test_ctc_loss_sums_all_alignments():
    rng = np.random.default_rng(2)
    logits = rng.standard_normal((4, 1, 3))
    logp = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    target, total = [1, 2], 0.0
    for path in np.ndindex(3, 3, 3, 3):
        short = [c for k, c in enumerate(path) if k == 0 or c != path[k - 1]]
        if [c for c in short if c] == target:
            total += math.exp(sum(logp[t, 0, c] for t, c in enumerate(path)))
    loss = F.ctc_loss(Tensor(logp), Tensor([target]), [4], [2], reduction="sum")
    np.testing.assert_allclose(loss.item(), -math.log(total), rtol=1e-10)
    assert F.ctc_loss(Tensor(logp[:1]), Tensor([target]), [1], [2], reduction="sum").item() == math.inf
    assert nn.CTCLoss(zero_infinity=True)(Tensor(logp[:1]), Tensor([target]), [1], [2]).item() == 0.0


def test_activations_with_parameters():
    x = Tensor([[-2.0, -0.3, 0.3, 2.0]])
    np.testing.assert_allclose(nn.PReLU(4, 0.5)(x).tolist(), [[-1.0, -0.15, 0.3, 2.0]], rtol=1e-6)
    np.testing.assert_allclose(nn.Hardshrink()(x).tolist(), [[-2.0, 0.0, 0.0, 2.0]])
    np.testing.assert_allclose(nn.Softshrink()(x).tolist(), [[-1.5, 0.0, 0.0, 1.5]])
    np.testing.assert_allclose(nn.Threshold(0.1, 9.0)(x).tolist(), [[9.0, 9.0, 0.3, 2.0]], rtol=1e-6)
    np.testing.assert_allclose(nn.GLU()(x).numpy(), [[-2 / (1 + np.exp(-0.3)), -0.3 / (1 + np.exp(-2.0))]], rtol=1e-5)
    assert nn.LeakyReLU(0.2).negative_slope == 0.2
    with pytest.raises(TypeError, match="slope"):
        nn.ELU(slope=1)


def recurrent(layer, x, way="", k=0):
    """A plain loop over one direction of a GRU."""
    w, u = (getattr(layer, f"weight_{n}_l{k}{way}").numpy() for n in ("ih", "hh"))
    b, c = (getattr(layer, f"bias_{n}_l{k}{way}").numpy() for n in ("ih", "hh"))
    h, out = np.zeros((x.shape[1], u.shape[1])), []
    for t in range(len(x)) if not way else reversed(range(len(x))):
        gi, gh = np.split(x[t] @ w.T + b, 3, 1), np.split(h @ u.T + c, 3, 1)
        r, z = (1 / (1 + np.exp(-(gi[j] + gh[j]))) for j in (0, 1))
        h = (1 - z) * np.tanh(gi[2] + r * gh[2]) + z * h
        out.append(h)
    return np.stack(out if not way else out[::-1]), h


def test_gru_layers_directions_and_packing():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4, 2, 3)).astype(np.float32)
    layer = nn.GRU(3, 5, bidirectional=True)
    y, h = layer(Tensor(x))
    there, back = recurrent(layer, x), recurrent(layer, x, "_reverse")
    np.testing.assert_allclose(y.numpy(), np.concatenate([there[0], back[0]], -1), atol=1e-5)
    np.testing.assert_allclose(h.numpy(), np.stack([there[1], back[1]]), atol=1e-5)
    packed = nn.utils.rnn.pack_padded_sequence(Tensor(x), [2, 4], enforce_sorted=False)
    z, last = layer(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(z)
    assert lengths.tolist() == [2, 4]
    short = x[:2, :1]
    np.testing.assert_allclose(
        padded.numpy()[:2, 0], np.concatenate([recurrent(layer, short)[0], recurrent(layer, short, "_reverse")[0]], -1)[:, 0], atol=1e-5
    )
    np.testing.assert_allclose(padded.numpy()[2:, 0], 0.0)
    np.testing.assert_allclose(padded.numpy()[:, 1], y.numpy()[:, 1], atol=1e-5)
    np.testing.assert_allclose(last.numpy()[1, 0], recurrent(layer, short, "_reverse")[1][0], atol=1e-5)


def test_transformer_layers():
    x = Tensor.randn(5, 2, 8)
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    encoder = nn.TransformerEncoder(layer, 2)
    assert len(encoder.parameters()) == 2 * len(layer.parameters())
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    causal = layer(x, mask).numpy()
    np.testing.assert_allclose(layer(x, is_causal=True).numpy(), causal, atol=1e-6)
    np.testing.assert_allclose(layer(x[:3], mask[:3, :3]).numpy(), causal[:3], atol=1e-5)  # no query sees a later key
    assert nn.Transformer(8, 2, 1, 1, 16)(x, x[:3]).shape == (3, 2, 8)


def test_pooling_with_places_and_back():
    x = np.random.default_rng(4).standard_normal((1, 2, 5, 6)).astype(np.float32)
    y, places = F.max_pool2d(Tensor(x), 3, 2, 1, return_indices=True)
    flat = x.reshape(1, 2, -1)
    np.testing.assert_array_equal(np.take_along_axis(flat, places.numpy().reshape(1, 2, -1), 2).reshape(y.shape), y.numpy())
    back = F.max_unpool2d(y, places, 3, 2, 1, output_size=(5, 6)).numpy().reshape(1, 2, -1)
    np.testing.assert_array_equal(np.take_along_axis(back, places.numpy().reshape(1, 2, -1), 2).reshape(y.shape), y.numpy())
    a, at = F.adaptive_max_pool2d(Tensor(x), (2, 4), return_indices=True)
    bounds = lambda n, out: [(k * n // out, -(-(k + 1) * n // out)) for k in range(out)]  # noqa: E731
    windows = [[x[0, :, r0:r1, c0:c1] for c0, c1 in bounds(6, 4)] for r0, r1 in bounds(5, 2)]
    np.testing.assert_array_equal(a.numpy()[0], np.array([[w.max((1, 2)) for w in row] for row in windows]).transpose(2, 0, 1))
    np.testing.assert_array_equal(np.take_along_axis(flat, at.numpy().reshape(1, 2, -1), 2).reshape(a.shape), a.numpy())
    mean = F.adaptive_avg_pool2d(Tensor(x), (2, 4)).numpy()[0]
    np.testing.assert_allclose(mean, np.array([[w.mean((1, 2)) for w in row] for row in windows]).transpose(2, 0, 1), atol=1e-6)


def test_fold_adds_what_unfold_took():
    x = np.random.default_rng(5).standard_normal((2, 3, 6, 5)).astype(np.float32)
    columns = F.unfold(Tensor(x), (2, 3), padding=1, stride=2)
    count = F.fold(F.unfold(Tensor(np.ones_like(x)), (2, 3), padding=1, stride=2), (6, 5), (2, 3), padding=1, stride=2)
    np.testing.assert_allclose(F.fold(columns, (6, 5), (2, 3), padding=1, stride=2).numpy(), x * count.numpy(), atol=1e-5)


def test_interpolate_lines_are_lines():
    ramp = Tensor(np.arange(4.0).reshape(1, 1, 4))
    np.testing.assert_allclose(F.interpolate(ramp, 7, mode="linear", align_corners=True).numpy()[0, 0], np.arange(7) / 2, atol=1e-6)
    np.testing.assert_allclose(nn.Upsample(scale_factor=2)(ramp).numpy()[0, 0], np.arange(8) // 2)
    with pytest.raises(ValueError, match="either size or scale_factor"):
        F.interpolate(ramp)


def test_embedding_bag_and_padding():
    w = np.random.default_rng(6).standard_normal((5, 3)).astype(np.float32)
    bag = nn.EmbeddingBag(5, 3, mode="sum", _weight=Tensor(w))
    np.testing.assert_allclose(bag(Tensor([1, 2, 4]), Tensor([0, 2])).numpy(), [w[1] + w[2], w[4]], rtol=1e-6)
    table = nn.Embedding(4, 2, padding_idx=0)
    table(Tensor([0, 1])).sum().backward()
    assert table.weight.numpy()[0].tolist() == [0.0, 0.0] and table.weight.grad.tolist()[:2] == [[0.0, 0.0], [1.0, 1.0]]
    assert not nn.Embedding.from_pretrained(Tensor(w)).weight.requires_grad


def test_init_fills():
    t = Tensor.zeros(64, 32, requires_grad=True)
    q = nn.init.orthogonal_(t).numpy()
    np.testing.assert_allclose(q.T @ q, np.eye(32), atol=1e-5)
    assert abs(nn.init.kaiming_normal_(t, nonlinearity="relu").numpy().std() - math.sqrt(2 / 32)) < 0.02
    assert np.abs(nn.init.xavier_uniform_(t).numpy()).max() <= math.sqrt(6 / 96)
    assert np.abs(nn.init.trunc_normal_(t, std=1.0, a=-0.5, b=0.5).numpy()).max() <= 0.5
    assert t.requires_grad and nn.init.eye_(Tensor.zeros(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert ((nn.init.sparse_(Tensor.zeros(10, 4), 0.3).numpy() == 0).sum(0) == 3).all()
    with pytest.raises(ValueError, match="fewer than 2"):
        nn.init.xavier_uniform_(Tensor.zeros(3))


def test_utils():
    a, b = Tensor([3.0], requires_grad=True), Tensor([4.0], requires_grad=True)
    (a * 3 + b * 4).sum().backward()
    assert nn.utils.clip_grad_norm_([a, b], 1.0).item() == 5.0
    np.testing.assert_allclose([a.grad.item(), b.grad.item()], [0.6, 0.8], rtol=1e-5)
    nn.utils.vector_to_parameters(nn.utils.parameters_to_vector([a, b]) * 2, [a, b])
    assert a.item() == 6.0 and b.item() == 8.0
    m = nn.utils.weight_norm(nn.Linear(3, 2))
    v, g = m.weight_v.numpy(), m.weight_g.numpy()
    x = np.ones((1, 3), np.float32)
    np.testing.assert_allclose(m(Tensor(x)).numpy(), x @ (g * v / np.linalg.norm(v, axis=1, keepdims=True)).T + m.bias.numpy(), rtol=1e-5)
    assert sorted(n for n, _ in nn.utils.remove_weight_norm(m).named_parameters()) == ["bias", "weight"]
    with Tensor.train():
        s = nn.utils.spectral_norm(nn.Linear(6, 4), n_power_iterations=30)
        s(Tensor.ones(1, 6)).realize()
    assert abs(np.linalg.svd(s.weight.numpy())[1][0] - 1) < 1e-3


def test_atan2_and_cdist_with_gradients():
    rng = np.random.default_rng(7)
    y, x = rng.standard_normal(6), rng.standard_normal(6)
    t = Tensor(y, requires_grad=True)
    t.atan2(Tensor(x)).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), x / (x * x + y * y), rtol=1e-9)
    edges = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf])
    a, b = (v.ravel().copy() for v in np.meshgrid(edges, edges))
    np.testing.assert_allclose(Tensor(a).atan2(Tensor(b)).numpy(), np.arctan2(a, b), atol=1e-15)
    p, q = rng.standard_normal((4, 3)), rng.standard_normal((5, 3))
    np.testing.assert_allclose(Tensor(p).cdist(Tensor(q)).numpy(), np.linalg.norm(p[:, None] - q, axis=-1), rtol=1e-12)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("times", [1, 2, 3, 16])
def test_nearest_by_whole_numbers_repeats(mode, times):
    """Each entry as often as the axis grows; the gradient of one is the sum over its copies."""
    rng = np.random.default_rng(times)
    a, g = rng.standard_normal((2, 5, 7)).astype(np.float32), rng.standard_normal((2, 5 * times, 7 * times)).astype(np.float32)
    x = Tensor(a, requires_grad=True)
    y = x.interpolate((5 * times, 7 * times), mode=mode)
    np.testing.assert_array_equal(y.numpy(), a.repeat(times, 1).repeat(times, 2))
    (y * Tensor(g)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), g.reshape(2, 5, times, 7, times).sum((2, 4)), rtol=1e-4, atol=1e-5)
