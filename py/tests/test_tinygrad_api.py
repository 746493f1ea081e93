"""What scripts for tinygrad ask of it beside tensors: counters, state dicts, devices, files, compiled functions, helpers."""

import pickle
import types

import numpy as np
import pytest

import polygrad.torch as torch
from polygrad import Device, GlobalCounters, Profile, Tensor, TinyJit, Variable, dtypes, helpers, nn, scan


def test_counters_of_what_ran():
    x = Tensor.rand(16, 16).realize()
    GlobalCounters.reset()
    assert (GlobalCounters.kernel_count, GlobalCounters.global_ops, GlobalCounters.global_mem) == (0, 0, 0)
    (x @ x).realize()
    assert GlobalCounters.kernel_count == 1 and GlobalCounters.global_ops == 2 * 16**3 and GlobalCounters.global_mem >= 2 * 4 * 256
    GlobalCounters.reset()
    with Profile() as p:
        (x.relu().sum(0) + 1).realize()
    assert GlobalCounters.kernel_count == sum(k.count for k in p.kernels) and GlobalCounters.time_sum_s > 0
    assert GlobalCounters.global_mem == sum(k.bytes for k in p.kernels) and GlobalCounters.global_ops == sum(k.flops for k in p.kernels)
    assert GlobalCounters.mem_used >= 4 * 256 and max(GlobalCounters.mem_used_per_device.values()) >= 4 * 256


def test_counters_of_compiled_functions_and_loops():
    x = Tensor.rand(8).realize()
    f = TinyJit(lambda a: (a + 1).realize())
    for _ in range(3):
        f(x)
    GlobalCounters.reset()
    f(x)
    assert GlobalCounters.kernel_count == 1 and GlobalCounters.global_mem == 64

    def steps(n):
        last, _ = scan(lambda h, v: ((h * v).tanh(), None), x, Tensor.rand(n, 8).realize())
        GlobalCounters.reset()
        last.realize()
        return GlobalCounters.kernel_count

    assert steps(30) - steps(10) >= 20  # each step counts


def test_state_dict_of_a_tensor_of_bytes(tmp_path):
    path = tmp_path / "w.safetensors"
    state = {"a": Tensor([[1.0, 2.0], [3.0, 4.0]]), "b": Tensor([1, 2, 3], dtype="int64"), "half": Tensor([0.5]).half(), "none": Tensor([])}
    nn.safe_save(state, str(path))
    for source in (Tensor(path), Tensor(path.read_bytes())):
        read = nn.safe_load(source)
        assert set(read) == set(state)
        for name, t in state.items():
            assert read[name].dtype == t.dtype and read[name].shape == t.shape
            np.testing.assert_array_equal(read[name].numpy(), t.numpy())
    damaged = path.read_bytes().replace(b'"data_offsets":[', b'"data_offsets":[9')
    with pytest.raises(ValueError, match="does not fit"):
        nn.safe_load(Tensor(damaged))


def test_loading_scalars_kept_as_vectors():
    norm = nn.BatchNorm2d(2)
    state = nn.get_state_dict(norm)
    state = {k: t.numpy().copy() for k, t in state.items()}
    given = {k: Tensor(v).reshape(1) if v.shape == () else Tensor(v) + 1 for k, v in state.items()}
    nn.load_state_dict(norm, given)
    np.testing.assert_array_equal(norm.weight.numpy(), state["weight"] + 1)
    with pytest.raises(ValueError, match=r"Shape mismatch in layer `weight`: Expected shape \(2,\), but found \(3,\)"):
        nn.load_state_dict(norm, given | {"weight": Tensor.ones(3)})


@pytest.mark.parametrize("dtype", ["float32", "uint8", "bfloat16", "bool"])
def test_tensors_in_files(tmp_path, dtype):
    path = tmp_path / "Data"
    x = Tensor.arange(12).reshape(3, 4).cast(dtype)
    t = x.to(f"disk:{path}")
    assert t.device == f"DISK:{path}" and t.dtype == dtype and path.stat().st_size == 12 * x.dtype.itemsize
    np.testing.assert_array_equal(t.numpy(), x.numpy())
    want = np.array(x.numpy())
    t[1, 2:].assign(Tensor.zeros(2, dtype=dtype))  # written at once
    want[1, 2:] = 0
    np.testing.assert_array_equal(Tensor.empty(3, 4, dtype=dtype, device=f"DISK:{path}").numpy(), want)
    row = t.flatten().realize()  # may share the memory
    t[2] = 1
    want[2] = 1
    assert row.shape == (12,)
    t.reshape(4, 3)[0].assign(Tensor.ones(3, dtype=dtype))
    want.reshape(4, 3)[0] = 1
    again = Tensor(path, dtype=dtype)
    np.testing.assert_array_equal(again.reshape(3, 4).numpy(), want)
    assert again.device == f"DISK:{path}"
    copy = t.to(Device.DEFAULT)
    copy.realize()
    t.assign(Tensor.zeros(3, 4, dtype=dtype))
    np.testing.assert_array_equal(copy.numpy(), want)
    assert not copy.device.startswith("DISK") and not np.any(t.numpy())


def test_files_are_made_grown_and_replaced(tmp_path):
    path = tmp_path / "f"
    t = Tensor.empty(5, device=f"disk:{path}").assign(Tensor.ones(5))
    assert path.stat().st_size == 20 and t.tolist() == [1.0] * 5
    more = Tensor.empty(2, 4, device=f"disk:{path}")
    assert path.stat().st_size == 32 and more.sum().item() == 5
    Tensor([7.0, 8.0], device=f"disk:{path}")
    assert path.stat().st_size == 8 and Tensor(path, dtype="float32").tolist() == [7.0, 8.0]
    assert Tensor(path, device=Device.DEFAULT).shape == (8,) and not Tensor(path, device=Device.DEFAULT).device.startswith("DISK")
    with pytest.raises(FileNotFoundError):
        Tensor(tmp_path / "none")
    with pytest.raises(OSError):
        Tensor.empty(3, device=f"disk:{tmp_path}")


def test_several_devices_of_one_machine():
    devices = (Device.DEFAULT, Device.DEFAULT)
    assert Tensor.ones(4, device=devices).sum().item() == 4
    assert (Tensor([1.0, 2.0]).to(devices) + Tensor([1.0, 2.0]).shard(devices, 0)).tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError):
        Tensor.ones(4, device=(Device.DEFAULT, "NONE"))


def test_division_towards_zero():
    x, y = Tensor([-7, 7, -1, 8]), Tensor([2, -2, 4, 3])
    assert x.idiv(y).tolist() == [-3, -3, 0, 2] and (x // y).tolist() == [-4, -4, -1, 2]
    assert x.idiv(100, reverse=True).tolist() == [-14, 14, -100, 12]


def test_whole_quotients_in_custom_kernels():
    from polygrad.uop.ops import UOp

    def halves(out, x):
        i = UOp.range(8, 0)
        return out[i].store(x[i // 2] + i % 2).end(i).sink()

    out = Tensor.custom_kernel(Tensor.empty(8, dtype="int32"), Tensor([10, 20, 30, 40]), fxn=halves)[0]
    assert out.tolist() == [10, 11, 20, 21, 30, 31, 40, 41]
    kept = Tensor([1.0, 2.0]).realize()
    assert Tensor.custom_kernel(kept, fxn=lambda _: UOp.sink())[0].tolist() == [1.0, 2.0]  # a kernel that stores nothing


def test_dtypes_by_name_and_numbers_in_them():
    assert dtypes.fields()["float16"] is dtypes.fields()["half"] is dtypes.half and set(dtypes.fields().values()) == set(dtypes.all)
    assert dtypes.as_const(-2.7, dtypes.int8) == -2 and dtypes.as_const((0, 2), dtypes.bool) == (False, True)
    assert type(dtypes.as_const(1, dtypes.half)) is float
    n = Variable("n", 1, 10, dtype=dtypes.int32).bind(3)
    assert Tensor.from_uop(n * 4).item() == 12 and Tensor.const(2.5).item() == 2.5
    assert Tensor.ones(10, 2)[:n].max_shape == (10, 2) and Tensor.ones(10, 2)[:n].max_numel() == 20


def test_the_learning_rate_as_tinygrad_sets_it():
    w = Tensor([1.0, 2.0], requires_grad=True)
    opt = nn.SGD([w], lr=0.1)
    opt.lr.assign(opt.lr * 0.5).realize()
    assert opt.lr == 0.05 and opt.lr.item() == 0.05 and opt.param_groups[0]["lr"] == 0.05 and opt.device == w.device
    w.sum().backward()
    Tensor.realize(opt.lr.assign(Tensor([0.25])), *opt.schedule_step())  # as schedulers for tinygrad do
    assert not hasattr(opt.lr, "nonsense")
    assert w.tolist() == [0.75, 1.75]


def test_lamb_without_its_ratio():
    def trained(kind, **kwargs):
        w = Tensor([1.0, -2.0, 3.0], requires_grad=True)
        opt = kind([w], lr=0.1, eps=1e-6, weight_decay=0.1, **kwargs)
        for _ in range(3):
            opt.zero_grad()
            (w * w * w).sum().backward()
            opt.step()
        return w.numpy()

    np.testing.assert_array_equal(trained(nn.optim.LAMB, adam=True), trained(nn.AdamW))
    assert np.any(trained(nn.optim.LAMB) != trained(nn.AdamW))


def test_a_compiled_function_by_a_decorator_with_settings():
    @TinyJit(prune=True)
    def double(x):
        return (x * 2).realize()

    assert [double(Tensor([float(k)])).item() for k in range(4)] == [0.0, 2.0, 4.0, 6.0] and double.captured is not None


def test_more_helpers(capsys):
    assert (helpers.floordiv(-7, 2), helpers.floormod(-7, 2), helpers.floordiv(3, 0), helpers.floormod(3, 0)) == (-4, 1, 0, 3)
    assert helpers.pad_bytes(b"abc", 4) == b"abc\0" and helpers.pad_bytes(b"abcd", 4) == b"abcd"
    assert helpers.pluralize("kernel", 1) == "1 kernel" and helpers.pluralize("kernel", 0) == "0 kernels"
    assert helpers.to_function_name(helpers.colored("a+b_1", "red")) == "a2Bb_1" and helpers.to_tuple(3) == (3,)
    model = {"a": [nn.Linear(2, 3)]}
    assert helpers.get_child(model, "a.0.weight") is model["a"][0].weight
    assert helpers.get_contraction((2, 3, 4), (6, 4)) == [[0, 1], [2]] and helpers.get_contraction((4,), (2, 2)) is None
    assert helpers.get_contraction((1, 2, 1), (2,)) == [[0, 1, 2]] and helpers.get_contraction((2,), (1, 2)) == [[], [0]]
    assert helpers.strip_parens("(a)+(b)") == "(a)+(b)" and helpers.strip_parens("(a+(b))") == "a+(b)"
    assert helpers.fromimport("math", "pi") > 3 and "1.00x" in helpers.colorize_float(1.0)
    with helpers.Profiling():
        sum(range(10))
    assert "function calls" in capsys.readouterr().out


def test_progress_bars(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert list(helpers.trange(4, desc="steps", rate=10**9)) == [0, 1, 2, 3]
    printed = capsys.readouterr().err
    lines = printed.strip("\n").split("\r")[1:]
    assert lines[0].startswith("steps:   0%|") and "0/4 [00:00<?, ?it/s]" in lines[0] and printed.endswith("\n")
    assert lines[2].startswith("steps:  50%|") and " 2/4 [" in lines[2] and lines[-1].startswith("steps: 100%|") and "█| 4/4 [" in lines[-1]
    assert {len(line) for line in lines} == {60}
    with helpers.tqdm(unit="B", unit_scale=True, rate=10**9) as bar:
        bar.update(12345)
    assert "12.3kB [00:00, " in capsys.readouterr().err
    assert list(helpers.tqdm([1], disable=True)) == [1] and capsys.readouterr().err == ""
    helpers.tqdm.write("done")
    assert capsys.readouterr().err.endswith("done\n")


def test_what_a_compiled_function_holds():
    class Model:
        def __init__(self):
            self.w = Tensor.rand(64, 64).realize()

        @TinyJit
        def __call__(self, x):
            h = (x @ self.w).contiguous().softmax().contiguous()
            return (h @ self.w).sum(0).realize()

    model = Model()
    first = [model(Tensor.ones(64, 64)).numpy() for _ in range(3)][-1]
    call = model.__call__.func.__self__
    assert call is model.__call__ and len(call.jit_cache) == call.captured.n_kernels > 1
    before = GlobalCounters.mem_used
    call.captured.free_intermediates()
    call.captured.free_intermediates()
    assert GlobalCounters.mem_used < before
    np.testing.assert_array_equal(model(Tensor.ones(64, 64)).numpy(), first)
    assert GlobalCounters.mem_used >= before
    assert TinyJit(lambda x: x).jit_cache == []


def test_metadata_of_a_file_of_tensors(tmp_path):
    path = str(tmp_path / "w.safetensors")
    about = {"made by": 'a "test"', "ä": "line\n"}
    for state in ({"w": Tensor([1.0, 2.0])}, {}):
        nn.safe_save(state, path, metadata=about)
        _, _, header = nn.state.safe_load_metadata(path)
        assert header["__metadata__"] == about and nn.safe_load(path).keys() == state.keys()
    nn.safe_save({"w": Tensor([1.0])}, path, {})
    assert "__metadata__" not in nn.state.safe_load_metadata(path)[2]
    with pytest.raises(TypeError, match="texts"):
        nn.safe_save({}, path, {"n": 3})


def test_the_module_of_the_decorator():
    import importlib

    import polygrad

    module = importlib.import_module("polygrad.function")
    assert module.function is polygrad.function and polygrad.function(lambda x: x + 1)(Tensor([1])).item() == 2


def test_what_a_uop_tells_of_a_tensor():
    x = Tensor([1.0, 2.0, 3.0]).realize()
    y, z, lazy = x * 2, x * 2, x + 1
    y.realize()
    z.realize()
    assert y.uop.is_realized and y.uop.buffer is z.uop.buffer and y.uop.buffer is not x.uop.buffer and lazy.uop.base.realized is None
    assert x.uop.base.realized.size == 3 and x.uop.base.realized.nbytes == 12 and x.uop.shape == (3,) and x.uop.axis is None
    assert pickle.loads(pickle.dumps(y.uop)).base.realized.as_buffer().cast("f").tolist() == [2.0, 4.0, 6.0]
    assert Tensor(lazy.uop).tolist() == [2.0, 3.0, 4.0]


def test_names_of_several_devices():
    devices = ("CPU:1", "CPU:2")
    x = Tensor.arange(8).reshape(4, 2).float().shard(devices, axis=0)
    assert x.device == devices and x.uop.axis == 0 and x.uop.bounds == ((0, 2), (2, 4)) and [p.shape for p in x.uop.src] == [(2, 2)] * 2
    assert x.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    for y in (x.zeros_like(), x.rand_like(), x.clone(), Tensor.ones(4, 2).shard_like(x), Tensor.ones(4, 2).replace(x)):
        assert y.device == devices and y.uop.axis == 0
    assert x.to("CPU").device == Device.DEFAULT and x.to("CPU").uop.axis is None and Tensor([1.0]).to(devices).device == devices
    layer = nn.Linear(2, 4)
    layer.weight.shard_(devices, axis=-1)
    nn.load_state_dict(layer, nn.get_state_dict(nn.Linear(2, 4)))
    assert layer.weight.device == devices and layer.weight.uop.axis == 1 and layer(x).shape == (4, 4)
    with pytest.raises(RuntimeError, match="several devices"):
        x.shard(devices)
    with pytest.raises(ValueError, match="one device"):
        Tensor.rand(4, device=devices)
    with pytest.raises(RuntimeError):
        Tensor.ones(3).shard(devices, axis=0)


def test_schedules():
    from polygrad.engine.realize import run_schedule

    x = Tensor([1.0, 2.0]).realize()
    y = (x.exp() + 1).sum()
    items = y.schedule()
    assert len(items) == 1 and not y.is_realized and x.schedule() == []
    run_schedule(items)
    assert y.is_realized and items == [] and y.fuse() is y
    z = x + 5
    z.schedule()[0].run()
    assert z.is_realized


def test_compiled_functions_in_pickles():
    scale = 3.0

    def make():
        total = Tensor.zeros(2).contiguous().realize()

        @TinyJit
        def add(a, *, more=1):
            total.assign(total + a).realize()
            return (a.sum() * scale + more).realize(), total + 0

        return add

    f = make()
    for _ in range(3):
        f(Tensor([1.0, 2.0]))
    g = pickle.loads(pickle.dumps(f))
    for t in (f, g):  # each with a total of its own
        value, total = t(Tensor([2.0, 2.0]))
        assert value.item() == 13.0 and total.tolist() == [5.0, 8.0]
    assert g.cnt == 2
    code = pickle.loads(pickle.dumps((lambda v: v * 2).__code__))
    assert types.FunctionType(code, {})(4) == 8


class Counter:
    def __init__(self):
        self.n = Tensor([0.0]).realize()

    @TinyJit
    def up(self, by):
        self.n.assign(self.n + by).realize()
        return self.n + 0


def test_methods_in_pickles():
    counter = Counter()
    for _ in range(3):
        counter.up(Tensor([1.0]))
    again = pickle.loads(pickle.dumps(counter.up))
    assert again(Tensor([2.0])).item() == 5.0 and counter.n.item() == 3.0


def test_state_of_optimizers_by_name():
    w = Tensor([1.0, 2.0], requires_grad=True)
    for kind in (nn.LAMB, nn.Adam, nn.AdamW):
        opt = kind([w], lr=0.01)
        opt.zero_grad()
        (w * Tensor([1.0, 3.0])).sum().backward()
        opt.step()
        np.testing.assert_allclose(opt.m[0].numpy(), [0.1, 0.3], rtol=1e-6)
        np.testing.assert_allclose(opt.v[0].numpy(), [0.001, 0.009], rtol=1e-6)
        np.testing.assert_allclose([opt.b1_t.item(), opt.b2_t.item()], [0.9, 0.999], rtol=1e-6)
        for t in [*opt.m, *opt.v, opt.b1_t, opt.b2_t]:
            t.to_(Device.DEFAULT)


def test_names_and_forms_of_sizes():
    n = Variable("n", 1, 10)
    assert n == Variable("n", 1, 10) and n != Variable("n", 1, 9) and {n: 1}[Variable("n", 1, 10)] == 1
    assert helpers.prod((3, n, 4)).render() == "(n*12)" and n.render() == "n" and n.bind(3).render() == "n"
    assert helpers.ceildiv(n, 6).render() == "((n+5)//6)" and helpers.ceildiv(10, 3) == 4
    assert helpers.fully_flatten([1, (2, np.array([[3], [4]]))]) == [1, 2, 3, 4]


def test_values_of_nothing():
    for dtype, low, high in (("float32", -np.inf, np.inf), ("int8", -128, 127), ("uint8", 0, 255), ("bool", False, True)):
        x = Tensor.empty(2, 0, 3, dtype=dtype)
        assert x.max(axis=1).numpy().tolist() == [[low] * 3] * 2 and x.min(axis=1, keepdim=True).shape == (2, 1, 3)
        assert x.min().item() == high and x.max(axis=0).shape == (0, 3) and x.max().dtype == x.dtype
    with pytest.raises((RuntimeError, ValueError)):
        torch.empty(0).max()


def test_smaller_differences_to_tinygrad():
    assert Tensor.randn(3, dtype="int32").dtype == dtypes.int32
    x = Tensor([-1.0, 0.2, 3.0])
    np.testing.assert_allclose(x.softplus(2.0, threshold=1.0).numpy(), [np.log1p(np.exp(-2)) / 2, np.log1p(np.exp(0.4)) / 2, 3.0], rtol=1e-6)
    assert x.sum().gradient(x, gradient=Tensor([2.0]))[0].tolist() == [2.0] * 3
    w = Tensor.arange(12).reshape(4, 3).float()
    np.testing.assert_allclose(x.linear(w).numpy(), x.numpy() @ w.numpy().T, rtol=1e-6)
    np.testing.assert_allclose(x.linear(w.T).numpy(), x.numpy() @ w.numpy().T, rtol=1e-6)
    assert nn.Muon([Tensor.eye(2).contiguous()], ns_params=(2.0, -1.5, 0.5)).groups[0]["ns_coefficients"] == (2.0, -1.5, 0.5)


def test_full_like_keeps_a_fraction_in_another_dtype():
    t = Tensor([1, 2])
    assert t.full_like(7.5, dtype="float16").tolist() == [7.5, 7.5]  # not by way of int32
    assert t.full_like(7.5).tolist() == [7, 7] and t.float().full_like(2.7, dtype="int32").tolist() == [2, 2]


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_over_all_elements(name):
    a = np.random.default_rng(0).standard_normal((2, 3, 4))
    t = Tensor(a, requires_grad=True)
    out = getattr(t, name)(axis=None)
    np.testing.assert_allclose(out.numpy(), getattr(Tensor(a.reshape(-1)), name)().numpy().reshape(a.shape), rtol=1e-6)
    assert getattr(t, name)(None).shape == t.shape
    out.square().sum().backward()
    assert t.grad.shape == t.shape
    assert getattr(Tensor(2.0), name)(axis=None).shape == ()


def test_ranges_beyond_the_default_int():
    assert Tensor.arange(2**33, 2**33 + 2).tolist() == [2**33, 2**33 + 1]
    assert Tensor.arange(2**31 - 2, 2**31).dtype == Tensor.arange(3, -(2**31), -(2**30)).dtype == dtypes.int32
    assert Tensor.arange(-(2**31) - 1, -(2**31)).dtype == dtypes.int64
    with pytest.raises(ValueError):
        Tensor.arange(2**33, 2**33 + 2, dtype="int32")


def test_in_place_does_not_round():
    x = Tensor([1, 2, 3])
    for change in ("x /= 2", "x += 1.5", "x *= Tensor([0.5, 0.5, 0.5])", "b += 1", "b /= 2"):
        with pytest.raises(RuntimeError, match="in place"):
            exec(change, {"x": x, "b": Tensor([True]), "Tensor": Tensor})
    assert x.tolist() == [1, 2, 3]
    x += 2
    x *= Tensor([2, 2, 2], dtype="int64")
    x //= 3
    assert x.tolist() == [2, 2, 3] and x.dtype == dtypes.int32
    y = Tensor([1.0], dtype="float16")
    y += Tensor([1.0])
    assert y.dtype == dtypes.float16 and y.tolist() == [2.0]


def test_errors_of_what_is_no_number():
    for call in (lambda: Tensor([1.0]).add(None), lambda: Tensor([1.0]).mul("a"), lambda: dtypes.from_py("a"), lambda: dtypes.from_py(None)):
        with pytest.raises(RuntimeError):
            call()
        with pytest.raises(TypeError):
            call()
    emb = nn.Embedding(5, 3)
    for index in (Tensor([0.0, 1.0]), Tensor([True, False, True, False, True])):  # a mask would select rows
        with pytest.raises(TypeError):
            emb(index)
    with pytest.raises(AssertionError, match="LayerNorm"):
        nn.LayerNorm(5)(Tensor.ones(2, 4))
    assert nn.LayerNorm((3, 4)).axis == (-1, -2)


OPTIMIZERS = {
    "sgd": (lambda p: nn.SGD(p, lr=0.1), {"lr"}), "momentum": (lambda p: nn.SGD(p, lr=0.1, momentum=0.9), {"lr", "b"}),
    "adam": (lambda p: nn.Adam(p, lr=0.1), {"lr", "b1_t", "b2_t", "m", "v"}), "adamw": (lambda p: nn.AdamW(p), {"lr", "b1_t", "b2_t", "m", "v"}),
    "amsgrad": (lambda p: nn.Adam(p, amsgrad=True), {"lr", "state"}), "lamb": (lambda p: nn.LAMB(p), {"lr", "b1_t", "b2_t", "m", "v"}),
    "muon": (lambda p: nn.Muon(p), {"lr", "b"}), "rmsprop": (lambda p: nn.RMSprop(p), {"lr", "state"}),
    "groups": (lambda p: nn.Adam([{"params": p[:1], "lr": 0.1}, {"params": p[1:], "lr": 0.01}]), None),
    "two": (lambda p: nn.optim.OptimizerGroup(nn.Adam(p[:1]), nn.SGD(p[1:], momentum=0.5)), None),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_state_dict_of_an_optimizer(name, tmp_path):
    make, names = OPTIMIZERS[name]

    def new():
        w = [Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])]
        return w, make(w)

    def train(w, opt, steps):
        for _ in range(steps):
            opt.zero_grad()
            (w[0] @ w[1]).square().mean().backward()
            opt.step()
        return [t.tolist() for t in w]

    w, opt = new()
    train(w, opt, 3)
    path = str(tmp_path / "opt.safetensors")
    nn.state.safe_save(nn.state.get_state_dict(opt), path)
    found = nn.state.get_state_dict(opt)
    if names is not None:
        assert {n.partition(".")[0] for n in found} == names | {"params"}
    want = train(w, opt, 2)
    again, opt = new()
    nn.state.load_state_dict(opt, nn.state.safe_load(path))
    assert train(again, opt, 2) == want


def test_state_of_an_optimizer_is_its_own():
    w = [Tensor([1.0, 2.0])]
    opt = nn.SGD(w, lr=0.5, momentum=0.9)
    held = nn.state.get_state_dict(opt)
    held["b.0"].assign(Tensor([10.0, 20.0])).realize()
    held["lr"].assign(Tensor(0.25))
    assert opt.lr == 0.25
    del held
    w[0].sum().backward()
    opt.step()
    np.testing.assert_allclose(w[0].numpy(), [1 - 0.25 * 10.0, 2 - 0.25 * 19.0])
    kept = nn.state.get_state_dict(opt)["b.0"]
    del opt
    assert isinstance(kept + 1, Tensor)  # the group lives as long as what it holds


def test_small_helpers(capsys, tmp_path):
    from polygrad import helpers as h

    assert h.ansipad(h.colored("ab", "red"), 4).endswith("  ") and h.ansilen(h.ansipad(h.colored("ab", "red"), 4)) == 4
    assert h.flat_to_grouped((1, 2, 3, 4)) == ((3, 4), (1, 2))
    assert h.resolve_pool_pads(1, 2) == [1, 1, 1, 1] and h.resolve_pool_pads((1, 2, 3, 4), 2) == (1, 2, 3, 4)
    with pytest.raises(ValueError):
        h.resolve_pool_pads((1, 2, 3), 2)
    with pytest.raises(RuntimeError):
        h.panic()
    with pytest.raises(KeyError):
        h.panic(KeyError, "x")
    h.stderr_log("text")
    assert capsys.readouterr().err == "text"
    assert h.perf_counter_us() < h.perf_counter_us() and h.suppress_finalizing(lambda: 3)() == 3
    with pytest.raises(TypeError):
        h.suppress_finalizing(lambda: int(None))()


def test_fetch(tmp_path, monkeypatch):
    import hashlib
    import tarfile

    from polygrad.helpers import fetch

    monkeypatch.setenv("POLYGRAD_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "a.txt"
    source.write_text("one")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(source, "a.txt")
    import gzip
    import http.server
    import threading

    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"packed"))
    handler = lambda *a: http.server.SimpleHTTPRequestHandler(*a, directory=str(tmp_path))  # noqa: E731
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        path = fetch(f"{at}/a.txt")
        source.write_text("two")
        assert fetch(f"{at}/a.txt").read_text() == "one"  # it is kept
        assert fetch(f"{at}/a.txt", allow_caching=False) == path and path.read_text() == "two"
        assert fetch(f"{at}/a.txt", name="n", subdir="s").parts[-2:] == ("s", "n")
        assert fetch(f"{at}/a.txt", name=tmp_path / "here").read_text() == "two"
        assert fetch(f"{at}/a.txt.gz", gunzip=True).read_text() == "packed"
        assert fetch(f"{at}/a.txt", headers={"X": "y"}) != path
        good = hashlib.sha256(b"two").hexdigest()
        source.write_text("three")
        assert fetch(f"{at}/a.txt", sha256=good).read_text() == "two"
        with pytest.raises(RuntimeError, match="SHA-256"):
            fetch(f"{at}/a.txt", name="other", sha256=good)
        assert (fetch(f"{at}/a.tar.gz", extract=True) / "a.txt").read_text() == "one"
        server.shutdown()


@pytest.mark.parametrize("whole", [False, True])
def test_gradients_that_a_compiled_function_realizes(whole):
    w, b = Tensor([1.0, 2.0, 3.0], requires_grad=True), Tensor([0.0], requires_grad=True)
    opt = nn.SGD([w, b], lr=0.0)

    @TinyJit
    def step(x):
        opt.zero_grad()
        loss = ((w * x).sum() + b * x.max()).sum()
        loss.backward()
        if whole:
            loss.realize(w.grad, b.grad)
        else:
            w.grad.realize()
        return loss

    for k in range(5):
        step(Tensor([1.0 * k, 2.0, 3.0]).realize())
        assert w.grad.tolist() == [1.0 * k, 2.0, 3.0]
        if whole:
            assert b.grad.tolist() == [max(3.0, k)]
    w.grad = None
    step(Tensor([7.0, 2.0, 3.0]).realize())
    assert w.grad.tolist() == [7.0, 2.0, 3.0] and w.requires_grad


def test_a_gradient_that_is_forgotten_again_is_no_result():
    w = Tensor([1.0, 2.0], requires_grad=True)

    @TinyJit
    def step(x):
        (w * x).sum().backward()
        out = w.grad.realize() * 2
        w.grad = None
        Tensor([1.0], requires_grad=True).sum().backward()
        return out.realize()

    for k in range(4):
        assert step(Tensor([1.0, k]).realize()).tolist() == [2.0, 2.0 * k] and w.grad is None


def test_kernels_of_a_schedule_are_counted():
    from polygrad.engine.realize import CompiledRunner, lower_schedule
    from polygrad.uop.ops import Ops

    x = Tensor([1.0, 2.0]).realize()
    y = (x + 1).sum()
    items = y.schedule()
    assert [item.ast.op for item in items] == [Ops.SINK] and all(isinstance(item.prg, CompiledRunner) for item in items)
    assert items[0].prg.display_name and x.lazydata.realized is x.uop.realized
    for item, runner in lower_schedule(items):
        assert item is runner
        runner.run()
    assert items == [] and y.item() == 5.0 and y.schedule() == []
    values, places = x.sort()
    assert not all(isinstance(item.prg, CompiledRunner) for item in places.schedule())  # a routine of a library
