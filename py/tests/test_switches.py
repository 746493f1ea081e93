"""Switches by name, and small helpers that scripts for tinygrad import."""

import ctypes
import pickle

import numpy as np
import pytest

from polygrad import Context, Device, Tensor, TinyJit, Variable, dtypes, helpers
from polygrad.dtype import _to_np_dtype, truncate
from polygrad.engine.jit import JitError
from polygrad.helpers import DEBUG, JIT, ContextVar
from polygrad.uop.ops import resolve, smax, sym_infer

LEVEL = ContextVar("A_LEVEL_OF_A_TEST", 3)


def test_switches():
    assert LEVEL.value == 3 and LEVEL >= 3 and not LEVEL > 3 and JIT and DEBUG == 0
    with Context(A_LEVEL_OF_A_TEST=5, DEBUG=1, WINO=1):
        assert LEVEL == 5 and DEBUG.value == 1 and helpers.WINO == 1
        with Context(A_LEVEL_OF_A_TEST=7):
            assert LEVEL == 7
        assert LEVEL == 5
    assert LEVEL == 3 and DEBUG == 0 and helpers.WINO == 0
    with pytest.raises(RuntimeError, match="already"):
        ContextVar("A_LEVEL_OF_A_TEST", 0)
    with pytest.raises(KeyError):
        Context(NO_SUCH_SWITCH=1)


def test_a_compiled_function_can_be_switched_off():
    calls = []

    @TinyJit
    def f(x):
        calls.append(1)
        return (x + 1).realize()

    with Context(JIT=0):
        assert [f(Tensor([k])).item() for k in range(4)] == [1, 2, 3, 4]
    assert len(calls) == 4 and f.captured is None


def test_calls_that_do_not_fit():
    add = TinyJit(lambda a, b: (a + b).realize())
    for _ in range(3):
        add(Tensor.ones(3), Tensor.ones(3))
    for bad in (Tensor.ones(4), Tensor.ones(3, dtype=dtypes.int32)):
        with pytest.raises(JitError):
            add(Tensor.ones(3), bad)


def test_helpers(tmp_path):
    memory = memoryview(bytearray(b"\x01\x02\x03"))
    helpers.to_mv(ctypes.addressof(helpers.from_mv(memory)), 3)[0] = 9
    assert memory[0] == 9 and helpers.to_mv(helpers.mv_address(memory), 3)[1] == 2
    assert helpers.time_to_str(10.01) == "   10.01s " and helpers.time_to_str(0.5) == "  500.00ms" and helpers.time_to_str(0) == "    0.00us"
    numbers = helpers.count(1, 2)
    assert next(numbers) == 1 and next(pickle.loads(pickle.dumps(numbers))) == 3
    assert helpers.word_wrap("x" * 25, 10).splitlines() == ["x" * 10, "x" * 10, "x" * 5]
    assert len(helpers.word_wrap(helpers.colored("x" * 20, "red"), 10).splitlines()) == 2
    assert list(helpers.trange(3)) == [0, 1, 2] and helpers.temp("a").endswith("/a") and helpers.is_numpy_ndarray(np.zeros(1))
    assert helpers.strides_for_shape((2, 1, 3)) == (3, 0, 1)


def test_dtypes_and_devices():
    assert _to_np_dtype(dtypes.int16) is np.int16 and _to_np_dtype(dtypes.bfloat16) is np.float32
    assert truncate[dtypes.int8](200) == -56 and truncate[dtypes.uint8](-1) == 255 and truncate[dtypes.bfloat16](1.003) == 1.0
    for wrong in ("no_such_dtype", ""):
        with pytest.raises(AttributeError):
            Tensor([1], dtype=wrong)
    assert Tensor([-1, 300], dtype=dtypes.uint8).tolist() == [255, 44]
    assert dtypes.float16 in Device[Device.DEFAULT].renderer.supported_dtypes() and Device[Device.DEFAULT] == Device.DEFAULT
    with pytest.raises(ValueError):
        Tensor.zeros((2, 2), 2)


def test_sizes():
    n = Variable("n", 2, 9)
    assert n.expr == "n" and sym_infer(n * 2, {n.expr: 4}) == 8 and smax(1, 5, 3) == 5 and resolve(n.bind(3) > 0) in (True, False)
