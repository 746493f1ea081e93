"""Files of torch.save: read without PyTorch, and nothing in them is executed. The files are built here, byte by byte."""

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest

from polygrad import Tensor, dtypes
from polygrad.nn import Linear, get_state_dict, load_state_dict, torch_load
from polygrad.nn.state import torch_load as state_torch_load

# ---- writing such files ----


class Op:
    """Bytes of a pickle: the instructions that torch.save uses."""

    @staticmethod
    def value(x):
        if isinstance(x, bytes):
            return x  # instructions already
        if x is None or isinstance(x, bool):
            return {None: b"N", True: b"\x88", False: b"\x89"}[x]
        if isinstance(x, int):
            if 0 <= x < 256:
                return b"K" + bytes([x])
            if -(2**31) <= x < 2**31:
                return b"J" + struct.pack("<i", x)
            raw = x.to_bytes(x.bit_length() // 8 + 1, "little", signed=True)
            return b"\x8a" + bytes([len(raw)]) + raw
        if isinstance(x, float):
            return b"G" + struct.pack(">d", x)
        if isinstance(x, str):
            return b"X" + struct.pack("<I", len(x.encode())) + x.encode()
        if isinstance(x, tuple):
            return b"(" + b"".join(map(Op.value, x)) + b"t"
        if isinstance(x, list):
            return b"](" + b"".join(map(Op.value, x)) + b"e"
        if isinstance(x, dict):
            return b"}(" + b"".join(Op.value(k) + Op.value(v) for k, v in x.items()) + b"u"
        raise TypeError(x)

    @staticmethod
    def call(name, *args):
        module, _, last = name.rpartition(".")
        return f"c{module}\n{last}\n".encode() + Op.value(args) + b"R"

    @staticmethod
    def name(full):
        module, _, last = full.rpartition(".")
        return f"c{module}\n{last}\n".encode()

    @staticmethod
    def storage(kind, key, count, *view):
        return Op.value(("storage", Op.name(kind), key, "cpu", count, *view)) + b"Q"

    @staticmethod
    def tensor(kind, key, count, shape, strides, offset=0, *view):
        hooks = Op.call("collections.OrderedDict")
        return Op.call("torch._utils._rebuild_tensor_v2", Op.storage(kind, key, count, *view), offset, shape, strides, False, hooks)


def program(x):
    return b"\x80\x02" + Op.value(x) + b"."


def archive(content, data, order=None, root="archive", compress=zipfile.ZIP_STORED):
    """A zip file: data.pkl with this content, and storages."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compress) as z:
        z.writestr(f"{root}/data.pkl", content if isinstance(content, bytes) and content[:1] == b"\x80" else program(content))
        if order:
            z.writestr(f"{root}/byteorder", order)
        for key, raw in data.items():
            z.writestr(f"{root}/data/{key}", raw)
        z.writestr(f"{root}/version", "3\n")
    return out.getvalue()


def legacy(content, data, little=True):
    """The older format: pickles one after another, then storages {key: (count, bytes)}."""
    head = program(0x1950A86A20F9469CFC6C) + program(1001) + program({"protocol_version": 1001, "little_endian": little, "type_sizes": {"int": 4}})
    body = head + program(content) + program(list(data))
    return body + b"".join(struct.pack("<q", count) + raw for count, raw in data.values())


def load(raw, **kwargs):
    return torch_load(io.BytesIO(raw), **kwargs)


def floats(*values):
    return np.array(values, np.float32).tobytes()


SIX = np.arange(6, dtype=np.float32)


def one(shape=(2, 3), strides=(3, 1), offset=0, count=6, raw=None, kind="torch.FloatStorage"):
    return archive({"w": Op.tensor(kind, "0", count, shape, strides, offset)}, {"0": SIX.tobytes() if raw is None else raw})


# ---- what is read ----


def test_state_dict(tmp_path):
    weight, bias = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([7, 8], np.float32)
    content = (
        Op.call("collections.OrderedDict")
        + b"("
        + Op.value("weight") + Op.tensor("torch.FloatStorage", "0", 6, (2, 3), (3, 1))
        + Op.value("bias") + Op.call("torch._utils._rebuild_parameter", Op.tensor("torch.FloatStorage", "1", 2, (2,), (1,)), True, Op.call("collections.OrderedDict"))
        + b"u"
        + Op.value({"_metadata": {"": {"version": 1}}})
        + b"b"
    )  # fmt: skip
    path = tmp_path / "model.pt"
    path.write_bytes(archive(content, {"0": weight.tobytes(), "1": bias.tobytes()}, root="model"))
    state = torch_load(path)
    assert list(state) == ["weight", "bias"] and all(isinstance(t, Tensor) and t.is_realized for t in state.values())
    np.testing.assert_array_equal(state["weight"].numpy(), weight)
    model = Linear(3, 2)
    load_state_dict(model, state)
    np.testing.assert_array_equal(get_state_dict(model)["bias"].numpy(), bias)
    np.testing.assert_allclose(model(Tensor([[1.0, 2.0, 3.0]])).numpy(), [[15.0, 34.0]])
    assert state_torch_load(str(path))["bias"].tolist() == [7.0, 8.0]


KINDS = {
    "torch.DoubleStorage": np.float64, "torch.FloatStorage": np.float32, "torch.HalfStorage": np.float16, "torch.LongStorage": np.int64,
    "torch.IntStorage": np.int32, "torch.ShortStorage": np.int16, "torch.CharStorage": np.int8, "torch.ByteStorage": np.uint8,
    "torch.BoolStorage": np.bool_,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["little", "big"])
def test_dtypes(kind, order):
    a = np.array([[0, 1, 0], [1, 1, 100]]).astype(KINDS[kind])
    raw = a.astype(a.dtype.newbyteorder(">" if order == "big" else "<")).tobytes()
    content = {"x": Op.tensor(kind, "0", 6, (2, 3), (3, 1))}
    t = load(archive(content, {"0": raw}, order))["x"]
    u = load(legacy(content, {"0": (6, raw)}, order == "little"))["x"]
    for v in (t, u):
        assert v.dtype.np == a.dtype
        np.testing.assert_array_equal(v.numpy(), a)


def test_bfloat16():
    values = np.array([1.0, -2.5, 3e38, np.inf], np.float32)
    raw = (values.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    t = load(archive({"x": Op.tensor("torch.BFloat16Storage", "0", 4, (2, 2), (1, 2))}, {"0": raw}))["x"]
    assert t.dtype is dtypes.bfloat16 and t.is_realized
    kept = (values.view(np.uint32) >> 16 << 16).view(np.float32)
    np.testing.assert_array_equal(t.numpy(), kept.reshape(2, 2).T)


def test_newer_dtypes():
    """uint16 and its like have no storage type: the tensor names its dtype."""
    for name, d in (("uint16", np.uint16), ("uint32", np.uint32), ("uint64", np.uint64), ("float32", np.float32)):
        a = np.array([1, 2, 3], d)
        s = Op.storage("torch.storage.UntypedStorage", "0", a.nbytes)
        x = Op.call("torch._utils._rebuild_tensor_v3", s, 1, (2,), (1,), False, Op.call("collections.OrderedDict"), Op.name(f"torch.{name}"))
        t = load(archive([x], {"0": a.tobytes()}))[0]
        assert t.numpy().dtype == d and t.tolist() == [2, 3]


def test_strides():
    cases = [((3, 2), (1, 3), 0), ((2, 2), (3, 2), 0), ((2,), (3,), 1), ((), (), 5), ((4, 2), (0, 1), 2), ((0, 3), (3, 1), 0), ((1, 6), (99, 1), 0)]
    for shape, strides, offset in cases:
        expected = np.lib.stride_tricks.as_strided(SIX[offset:], shape, [4 * s for s in strides])
        t = load(one(shape, strides, offset))["w"]
        assert t.shape == shape and t.is_realized
        np.testing.assert_array_equal(t.numpy(), expected)


def test_shared_storage():
    """Tied weights are equal, and tensors of their own here: changing one leaves the other."""
    content = {"a": Op.tensor("torch.FloatStorage", "0", 6, (6,), (1,)), "b": Op.tensor("torch.FloatStorage", "0", 6, (2,), (1,), 4)}
    state = load(archive(content, {"0": SIX.tobytes()}))
    state["a"].assign(Tensor.zeros(6)).realize()
    assert state["b"].tolist() == [4.0, 5.0]


def test_legacy_views():
    content = {
        "a": Op.tensor("torch.FloatStorage", "9", 6, (2,), (1,), 1, ("9v", 2, 4)),
        "b": Op.tensor("torch.FloatStorage", "9", 6, (6,), (1,), 0, None),
    }
    state = load(legacy(content, {"9": (6, SIX.tobytes())}))
    assert state["a"].tolist() == [3.0, 4.0] and state["b"].tolist() == SIX.tolist()


def test_checkpoint_values():
    content = {
        "epoch": 12, "lr": 0.25, "name": "run", "best": None, "done": True, "big": 2**70, "negative": -5, 3: [1, (2, "x")],
        "size": Op.call("torch.Size", (1, 2)), "device": Op.call("torch.device", "cuda", 1), "dtype": Op.name("torch.float16"),
        "bytes": Op.call("_codecs.encode", "a\xff", "latin1"), "set": Op.call("builtins.set", [1, 2]),
        "state": {0: {"step": Op.tensor("torch.FloatStorage", "0", 1, (), ())}},
    }  # fmt: skip
    out = load(archive(content, {"0": floats(4)}))
    assert out["state"][0]["step"].item() == 4.0
    del out["state"]
    assert out == {
        "epoch": 12, "lr": 0.25, "name": "run", "best": None, "done": True, "big": 2**70, "negative": -5, 3: [1, (2, "x")], "size": (1, 2),
        "device": "cuda:1", "dtype": dtypes.float16, "bytes": b"a\xff", "set": {1, 2},
    }  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_pickles(protocol):
    """Instructions of Python's own pickler, of each protocol."""
    x = {"a": [1, 2.5, "text" * 100, None, True, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], "b": {"c": -1, "d": 2**40}, "e": {1, 2}}
    assert load(archive(pickle.dumps(x, protocol), {})) == x


def test_file_object_at_its_end_and_missing_file(tmp_path):
    path = tmp_path / "w.pt"
    path.write_bytes(one())
    with open(path, "rb") as f:
        f.seek(0, 2)
        assert torch_load(f)["w"].shape == (2, 3)
    with pytest.raises(FileNotFoundError):
        torch_load(tmp_path / "none.pt")


# ---- what is refused ----


def refused(raw, reason, **kwargs):
    with pytest.raises(ValueError, match=reason):
        load(raw, **kwargs)


@pytest.mark.parametrize(
    "name", ["os.system", "builtins.eval", "builtins.exec", "builtins.getattr", "subprocess.Popen", "torch.load", "__main__.Net"]
)
def test_other_functions_are_refused(name, tmp_path):
    target = tmp_path / "touched"
    call = Op.call(name, f"touch {target}")
    refused(archive({"w": call}, {}), f"the file wants '{name}'")
    refused(legacy({"w": call}, {}), f"the file wants '{name}'")
    module, last = name.rsplit(".", 1)
    refused(archive(b"\x80\x04" + Op.value(module) + Op.value(last) + b"\x93" + Op.value(("x",)) + b"R.", {}), "the file wants")
    assert not target.exists()


def test_python_pickles_are_refused():
    class Attack:
        def __reduce__(self):
            return eval, ("1/0",)

    refused(pickle.dumps(Attack()), "not a file of torch.save")
    refused(archive(pickle.dumps(Attack(), 2), {}), "the file wants")


def test_instructions_that_state_dicts_do_not_need():
    refused(archive(b"\x80\x02(ios\nsystem\n.", {}), "instruction INST")
    refused(archive(b"\x80\x02" + Op.name("torch.Size") + b"(K\x01oK\x01.", {}), "instruction OBJ")
    refused(archive(b"\x80\x02\x82\x01.", {}), "instruction EXT1")
    refused(archive(b"\x80\x02" + Op.value("f") + Op.value(()) + b"R.", {}), "the file calls 'f'")
    refused(archive(b"\x80\x02" + Op.name("torch.float32") + Op.value(()) + b"R.", {}), "the file calls")


def test_malformed_pickles():
    for body in (
        b"R.",
        b"t.",
        b"h\x05.",
        b"}K\x01u.",
        b"}(K\x01u.",
        b"]K\x01s.",
        b"K\x01K\x02s.",
        b"(K\x01.",
        b"q\x00.",
        b"",
        b"K\x01",
        b"}(}K\x01u.",
    ):
        refused(archive(b"\x80\x02" + body, {}), "malformed pickle|damaged|as the key")
    deep = b"\x80\x02)" + b"\x85" * 100_000 + b"q\x00}h\x00K\x01s."
    refused(archive(deep, {}), "as the key of a dictionary")


def test_tensors_outside_their_storage():
    refused(one((2, 4), (3, 1)), "reads element 6")
    refused(one((6,), (1,), 1), "reads element 6")
    refused(one((2,), (2**61,)), "reads element")
    refused(one((2, 3), (-3, 1), 3), "negative or malformed")
    refused(one((2, 3), (3, 1), -1), "negative or malformed")
    refused(one((2, 3), (3,)), "malformed shape")
    refused(one((2, 1.5), (3, 1)), "malformed")
    refused(one((True, 3), (3, 1)), "malformed")
    refused(one((2**62, 3), (0, 1)), "malformed")
    refused(one((1,) * 17, (1,) * 17), "malformed")


def test_sizes_that_the_file_does_not_have():
    refused(one(count=7), "declared with 28 bytes, data/0 has 24")
    refused(one(count=2**50), "data/0 has 24")
    refused(one(raw=b"12345"), "data/0 has 5")
    refused(archive({"w": Op.tensor("torch.FloatStorage", "7", 6, (6,), (1,))}, {"0": SIX.tobytes()}), "no data/7")
    content = {"w": Op.tensor("torch.FloatStorage", "0", 6, (6,), (1,))}
    refused(legacy(content, {"0": (2**40, SIX.tobytes())}), "cut off")
    refused(legacy(content, {"0": (-1, SIX.tobytes())}), "cut off")
    refused(legacy(content, {"0": (5, SIX.tobytes())}), "has 20 bytes, a tensor needs 24")
    refused(legacy(content, {}), "not in the file")
    refused(legacy(content, {"1": (1, b"1234")}), "belongs to no tensor")
    refused(legacy({"w": Op.tensor("torch.FloatStorage", "0", 2**40, (1,), (1,))}, {"0": (6, SIX.tobytes())}), "the whole file has")


def test_bombs():
    refused(one((10**12,), (0,)), "more memory than")
    refused(one((2**20, 2**20), (0, 0)), "more memory than")
    many = [Op.tensor("torch.FloatStorage", "0", 6, (2**20,), (0,)) for _ in range(8)]
    refused(archive(many, {"0": SIX.tobytes()}), "more memory than", max_extra_bytes=16 << 20)
    assert len(load(archive(many, {"0": SIX.tobytes()}))) == 8  # 32 MB are within the default
    zeros = bytes(1 << 20)
    refused(archive({"w": Op.tensor("torch.FloatStorage", "0", 1 << 18, (1,), (1,))}, {"0": zeros}, compress=zipfile.ZIP_DEFLATED), "compressed")
    raw = bytearray(one())
    at = raw.index(b"PK\x01\x02", raw.index(b"archive/data/0", raw.index(b"PK\x01\x02")) - 60)
    assert raw[at + 46 : at + 60] == b"archive/data/0"
    raw[at + 20 : at + 28] = struct.pack("<II", 2**30, 2**30)  # the directory lies about its sizes
    refused(bytes(raw), "overlap")


def test_cut_off_and_changed():
    for whole in (one(), legacy({"w": Op.tensor("torch.FloatStorage", "0", 6, (6,), (1,))}, {"0": (6, SIX.tobytes())})):
        for n in range(len(whole)):
            with pytest.raises(ValueError):
                load(whole[:n])
    raw = bytearray(one())
    raw[raw.index(SIX.tobytes())] ^= 1
    refused(bytes(raw), "CRC")


def test_unsupported():
    refused(archive({"w": Op.tensor("torch.ComplexFloatStorage", "0", 1, (1,), (1,))}, {"0": bytes(8)}), "ComplexFloatStorage are not supported")
    s = Op.storage("torch.storage.UntypedStorage", "0", 2)
    x = Op.call("torch._utils._rebuild_tensor_v3", s, 0, (2,), (1,), False, Op.call("collections.OrderedDict"), Op.name("torch.float8_e5m2fnuz"))
    refused(archive([x], {"0": b"12"}), "float8_e5m2fnuz are not supported")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("m/data.pkl", program({}))
        z.writestr("m/constants.pkl", program(()))
    refused(out.getvalue(), "TorchScript")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("readme.txt", "hello")
    refused(out.getvalue(), "without data.pkl")
    refused(b"", "not a file of torch.save")
    refused(b"hello world", "not a file of torch.save")
