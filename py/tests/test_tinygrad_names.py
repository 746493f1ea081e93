"""Names of tinygrad's: factors of matrices, bytes and hashes, files as tensors, small datasets, the keywords of its constructors."""

import gzip
import hashlib
import io
import json
import struct
import tarfile

import numpy as np
import pytest

import polygrad
from polygrad import Tensor, dtypes, nn


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 5), (2, 4, 3), (1, 3), (3, 1)])
def test_qr_and_svd(shape):
    a = np.random.default_rng(0).standard_normal(shape)
    m, n = shape[-2:]
    q, r = (t.numpy() for t in Tensor(a).qr())
    assert q.shape == (*shape[:-2], m, m) and r.shape == shape
    np.testing.assert_allclose(q @ r, a, atol=1e-12)
    np.testing.assert_allclose(np.swapaxes(q, -1, -2) @ q, np.broadcast_to(np.eye(m), q.shape), atol=1e-12)
    assert np.abs(np.tril(r, -1)).max() == 0
    u, s, vt = (t.numpy() for t in Tensor(a).svd())
    assert u.shape == (*shape[:-2], m, m) and vt.shape == (*shape[:-2], n, n)
    k = min(m, n)
    np.testing.assert_allclose(s, np.linalg.svd(a)[1], rtol=1e-10)
    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vt[..., :k, :], a, atol=1e-11)
    np.testing.assert_allclose(np.swapaxes(u, -1, -2) @ u, np.broadcast_to(np.eye(m), u.shape), atol=1e-10)
    assert Tensor(a).svd(full_matrices=False)[0].shape == (*shape[:-2], m, k)


def test_svd_of_a_matrix_without_full_rank():
    a = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])
    u, s, vt = (t.numpy() for t in Tensor(a).svd())
    np.testing.assert_allclose(s, [np.sqrt(28), 0], atol=1e-12)
    np.testing.assert_allclose(u.T @ u, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(u[:, :2] * s @ vt, a, atol=1e-12)


def test_gradient_through_qr():
    a = np.random.default_rng(1).standard_normal((3, 3))
    t = Tensor(a, requires_grad=True)
    t.qr()[1].diagonal().abs().log().sum().backward()  # log |det|
    np.testing.assert_allclose(t.grad.numpy(), np.linalg.inv(a).T, rtol=1e-8)


@pytest.mark.parametrize("n", [1, 3, 135, 136, 137, 500])
def test_keccak(n):
    data = bytes(k % 251 for k in range(n))
    for name, rows in (("sha3_256", hashlib.sha3_256), ("sha3_224", hashlib.sha3_224), ("sha3_512", hashlib.sha3_512)):
        assert bytes(Tensor(data).keccak(name).tolist()) == rows(data).digest()
    assert bytes(Tensor(data).keccak("shake_128").tolist()) == hashlib.shake_128(data).digest(16)
    both = Tensor(list(data) * 2, dtype=dtypes.uint8).reshape(2, n).keccak()
    assert [bytes(r) for r in both.tolist()] == [hashlib.sha3_256(data).digest()] * 2


def test_hash_is_of_pages():
    data = b"Hello World!"
    pages = data.ljust(1 << 20, b"\0")
    parts = b"".join(hashlib.shake_128(pages[k : k + 4096]).digest(16) for k in range(0, 1 << 20, 4096))
    assert bytes(Tensor(data).hash().tolist()) == hashlib.shake_128(parts).digest(16)


@pytest.mark.parametrize("pair", [("int32", "uint8"), ("uint8", "float32"), ("int64", "int16"), ("float16", "float64"), ("float64", "int8")])
def test_bitcast_between_sizes(pair):
    a, b = (dtypes.__dict__[n] for n in pair)
    x = np.random.default_rng(2).integers(0, 255, (3, 16)).astype(np.uint8).view(a.np)
    out = Tensor(x.copy()).bitcast(b)
    assert out.dtype is b
    np.testing.assert_array_equal(out.numpy().view(np.uint8), x.view(b.np).view(np.uint8))
    with pytest.raises(RuntimeError, match="divisible"):
        Tensor([1, 2, 3], dtype="uint8").bitcast("int32")


def test_a_file_is_a_tensor(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(bytes(range(100)))
    t = Tensor(path)
    assert t.shape == (100,) and t.dtype == "uint8" and t[10:13].tolist() == [10, 11, 12]
    assert t[4:8].bitcast(dtypes.uint32).tolist() == [0x07060504]
    assert Tensor(path, dtype="int16").shape == (50,)
    t[0:1].assign(Tensor([9], dtype="uint8"))
    assert path.read_bytes()[0] == 0  # the file is not changed
    assert Tensor.from_url(f"file://{path}")[:2].tolist() == [0, 1]


def test_from_blob_uses_the_memory():
    a = np.arange(6, dtype=np.int32)
    t = Tensor.from_blob(a.ctypes.data, (2, 3), dtype="int32")
    a[0] = 7
    assert t.tolist() == [[7, 1, 2], [3, 4, 5]]


def test_archives_and_headers(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for name, data in (("x/one", b"abc"), ("two", b"\x01\x02")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    files = nn.state.tar_extract(path)
    assert {k: bytes(v.tolist()) for k, v in files.items()} == {"x/one": b"abc", "two": b"\x01\x02"}
    nn.safe_save({"w": Tensor([1.0, 2.0])}, tmp_path / "s")
    t, start, header = nn.state.safe_load_metadata(tmp_path / "s")
    a, b = header["w"]["data_offsets"]
    assert t[start + a : start + b].bitcast(dtypes.float32).tolist() == [1.0, 2.0] and json.dumps(header["w"]["shape"]) == "[2]"


def test_mnist_from_small_files(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYGRAD_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(3)
    images = {"train": rng.integers(0, 255, (4, 28, 28), np.uint8), "t10k": rng.integers(0, 255, (2, 28, 28), np.uint8)}
    for part, pixels in images.items():
        head = struct.pack(">IIII", 0x803, *pixels.shape)
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + pixels.tobytes()))
        labels = np.arange(len(pixels), dtype=np.uint8)
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(struct.pack(">II", 0x801, len(labels)) + labels.tobytes()))
    x, y, xt, yt = nn.datasets.mnist(base_url=f"file://{tmp_path}/")
    assert x.shape == (4, 1, 28, 28) and y.tolist() == [0, 1, 2, 3] and yt.tolist() == [0, 1]
    np.testing.assert_array_equal(xt.numpy()[:, 0], images["t10k"])
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"nonsense" * 4))
    with pytest.raises(ValueError, match="not an IDX file"):
        nn.datasets.mnist(base_url=f"file://{tmp_path}/")


def test_cifar_from_small_files(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYGRAD_CACHE", str(tmp_path / "cache"))
    rows = np.random.default_rng(4).integers(0, 10, (2, 3073), np.uint8)
    path = tmp_path / "c.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name in [f"data_batch_{k}" for k in range(1, 6)] + ["test_batch"]:
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            info.size = rows.nbytes
            tar.addfile(info, io.BytesIO(rows.tobytes()))
    x, y, xt, yt = nn.datasets.cifar(url=f"file://{path}")
    assert x.shape == (10, 3, 32, 32) and xt.shape == (2, 3, 32, 32) and yt.tolist() == rows[:, 0].tolist()
    np.testing.assert_array_equal(x.numpy()[:2].reshape(2, -1), rows[:, 1:])


def test_keywords_of_constructors():
    t = Tensor.randint(low=3, high=5, shape=(4, 2))
    assert t.shape == (4, 2) and set(t.flatten().tolist()) <= {3, 4}
    assert Tensor.randint(3, 5, shape=(7,)).shape == (7,) and Tensor.randint(3, 5, (7,)).shape == (7,)
    assert Tensor.randint(2, 3, low=8, high=9).tolist() == [[8] * 3] * 2
    assert Tensor.arange(stop=7, start=1, step=2).tolist() == [1, 3, 5]
    assert Tensor([1, 2]).pad(arg=[(1, 0)]).tolist() == [0, 1, 2] and Tensor([1, 2]).shrink(arg=[(1, 2)]).tolist() == [2]
    with pytest.raises(TypeError, match="once"):
        Tensor([1]).pad()
    assert Tensor([1.0]).dtype == "float32" and Tensor([1.0], requires_grad=True).clone().requires_grad


def test_small_names():
    x = Tensor([-1.0, 1.0], requires_grad=True)
    assert x.leakyrelu(0.5).tolist() == [-0.5, 1.0] and x.const_like(3).tolist() == [3.0, 3.0]
    (x.contiguous_backward() * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert Tensor([1, 2]).shard(("CPU", "CPU"), axis=0).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="divided"):
        Tensor([1, 2, 3]).shard(("CPU", "CPU"), axis=0)
    assert polygrad.uop.symbolic.Variable is polygrad.Variable
    assert nn.LayerNorm2d(3)(Tensor.rand(2, 3, 4, 4)).mean(1).abs().max().item() < 1e-5


def test_interpolate_and_unpool():
    np.testing.assert_allclose(Tensor([[1.0, 3.0]]).interpolate((4,)).tolist(), [[1.0, 1.5, 2.5, 3.0]])
    x = Tensor.arange(16).reshape(1, 1, 4, 4).float()
    y, places = x.max_pool2d(return_indices=True)
    assert places.flatten().tolist() == [5, 7, 13, 15]
    out = y.max_unpool2d(places).flatten().tolist()
    assert [k for k, v in enumerate(out) if v] == [5, 7, 13, 15]


def test_modules_under_their_names_in_tinygrad():
    from polygrad import TinyJit
    from polygrad.dtype import DTYPES_DICT, can_lossless_cast, dtypes, least_upper_dtype, least_upper_float, sum_acc_dtype
    from polygrad.engine.jit import TinyJit as same

    assert same is TinyJit and DTYPES_DICT["float32"] == dtypes.float32
    assert least_upper_dtype(dtypes.int8, dtypes.float16) == dtypes.float16 and least_upper_float(dtypes.int64) == dtypes.float32
    assert sum_acc_dtype(dtypes.uint8) == dtypes.uint32 and sum_acc_dtype(dtypes.float64) == dtypes.float64
    for a in DTYPES_DICT.values():
        for b in DTYPES_DICT.values():
            if a.kind in "biu" and b.kind in "biu" and a != b and b != dtypes.bool and a != dtypes.bool:
                assert can_lossless_cast(a, b) == (a.min >= b.min and a.max <= b.max), (a, b)
    assert can_lossless_cast(dtypes.int16, dtypes.float32) and not can_lossless_cast(dtypes.int64, dtypes.float64)
    assert not can_lossless_cast(dtypes.float16, dtypes.bfloat16) and not can_lossless_cast(dtypes.float32, dtypes.int64)


def test_gradient_of_a_number_is_its_own():
    x = Tensor(3.0)
    assert (x**3).gradient(x)[0].item() == 27  # the 3 of the exponent is another one
    assert (x**3).gradient(x)[0].gradient(x)[0].item() == 18
    y = Tensor(3.0)
    assert [g.item() for g in (x * x * y).gradient(x, y)] == [18, 9]


def test_lists_of_indices():
    a = np.arange(24).reshape(2, 3, 4)
    t, i = Tensor(a), Tensor([0, 1])
    np.testing.assert_array_equal(t[[[0, 1], [1, 2]]].numpy(), a[[0, 1], [1, 2]])
    np.testing.assert_array_equal(t[[i]].numpy(), a[[0, 1]])
    np.testing.assert_array_equal(t[[i, 1]].numpy(), a[[0, 1], 1])
    np.testing.assert_array_equal(t[[1, 0]].numpy(), a[[1, 0]])
    with pytest.raises(IndexError, match="out of bounds"):
        t[1, 3]
    with pytest.raises(IndexError, match="single ellipsis"):
        t[..., ...]


def test_types_of_errors():
    with pytest.raises(AssertionError, match="einsum"):
        Tensor.einsum("ij,jk->ij", Tensor.ones(2, 2))
    with pytest.raises(RuntimeError, match="indexing"):
        Tensor([1.0]).meshgrid(indexing="bad")
    with pytest.raises(AttributeError, match="not a dtype"):
        Tensor([3], dtype=(dtypes.int32,))
    with pytest.raises(AssertionError, match="no name of an axis"):
        Tensor.ones(2, 3).rearrange("_a b -> b _a")
    for name in ("scatter", "scatter_reduce"):
        with pytest.raises(RuntimeError, match="dtype"):
            getattr(Tensor.ones(3).half(), name)(0, Tensor([1]), Tensor([2.0]), *(["sum"] if name == "scatter_reduce" else []))


def test_rearrange_with_an_ellipsis_of_one_character():
    assert Tensor.ones(2, 3, 4, 5).rearrange("a b … -> (a b) …").shape == (6, 4, 5)


def test_empty_windows_parts_and_views():
    x = Tensor.ones(3, 5, requires_grad=True)
    y = x.unfold(1, 0, 2)
    assert y.shape == (3, 3, 0)
    y.sum().backward()
    assert x.grad.tolist() == [[0.0] * 5] * 3
    assert [t.shape for t in Tensor([]).split(0)] == [(0,)]
    with pytest.raises(ValueError, match="positive"):
        Tensor([1]).split(0)
    assert list(Tensor([], dtype="int32").reshape(0, 2).data()) == []


def test_clone_copies_the_gradient():
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    y = x.clone()
    x.grad = None
    assert y.grad.tolist() == [2.0, 4.0]


def test_batchnorm_over_several_axes():
    rng = np.random.default_rng(5)
    x, (w, b, m, s) = rng.standard_normal((2, 4, 3, 5)), rng.standard_normal((4, 2, 3))
    out = Tensor(x).batchnorm(*(Tensor(v) for v in (w, b, m, s)), axis=(0, 2)).numpy()
    one = [v.reshape(2, 1, 3, 1) for v in (w, b, m, s)]
    np.testing.assert_allclose(out, (x - one[2]) * one[3] * one[0] + one[1], rtol=1e-12)


def test_interpolation_of_whole_numbers_and_doubles():
    x = np.array([[[[0, 10, 3], [7, 255, 1]]]], np.uint8)
    for t in (Tensor(x).interpolate((2, 2)), nn.functional.interpolate(Tensor(x), (2, 2), mode="bilinear")):
        assert t.dtype == "uint8" and t.tolist() == [[[[3, 5], [69, 65]]]]  # half of 10 and 3 * 1/4 is rounded before rows are
    v = Tensor([[0.0, 1.0, 5.0]], dtype="float64").interpolate((7,)).numpy()[0]
    np.testing.assert_allclose(v, np.interp((np.arange(7) + 0.5) * 3 / 7 - 0.5, [0, 1, 2], [0, 1, 5]), rtol=1e-14)


def test_a_compiled_function_without_arguments():
    x, out = Tensor([0]), Tensor([0])

    @polygrad.TinyJit
    def f():
        out.assign(x * 2).realize()

    for i in range(5):
        x.assign(Tensor([i])).realize()
        f()
        assert out.item() == 2 * i


def test_switches_of_older_versions():
    with polygrad.Context(IGNORE_OOB=1, FUSE_ARANGE=1, TRACK_MATCH_STATS=0, CPU_LLVM=1, EMULATE="AMD"):
        assert polygrad.helpers.FUSE_ARANGE.value == 1


def test_weights_of_resized_bytes_have_few_bits():
    # As PyTorch resizes images of bytes: with exact weights the first of the second row would be 205 (204.5), and the third of the last 86.
    x = Tensor([[[[130, 69, 78, 10, 19, 4, 44], [208, 166, 233, 128, 155, 248, 186]]]], dtype="uint8")
    assert x.interpolate((2, 6)).tolist() == [[[[125, 71, 50, 15, 8, 41], [204, 183, 189, 144, 225, 191]]]]
    x = Tensor([[[[107, 135, 58, 201, 19, 106]]]], dtype="uint8")
    assert x.interpolate((1, 7)).tolist() == [[[[107, 129, 85, 130, 136, 38, 106]]]]
