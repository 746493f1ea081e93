"""Reading views of tensors that are there: single elements, slices, transposes. They are copied, not planned: a new index is not a new program."""

import numpy as np
import pytest

from polygrad import Tensor
from polygrad.autograd import current


def random_view(rng, a, x):
    """The same chain of moves on an array and on a tensor."""
    for _ in range(rng.integers(1, 6)):
        kind = rng.integers(0, 6)
        axis = int(rng.integers(0, a.ndim)) if a.ndim else 0
        if kind == 0 and a.ndim and a.shape[0]:
            i = int(rng.integers(-a.shape[0], a.shape[0]))
            a, x = a[i], x[i]
        elif kind == 1 and a.ndim:
            begin = int(rng.integers(0, a.shape[axis] + 1))
            part = (slice(None),) * axis + (slice(begin, int(rng.integers(begin, a.shape[axis] + 1))),)
            a, x = a[part], x[part]
        elif kind == 2 and a.ndim:
            a, x = np.flip(a, axis), x.flip(axis)
        elif kind == 3 and a.ndim:
            order = [int(k) for k in rng.permutation(a.ndim)]
            a, x = a.transpose(order), x.permute(*order)
        elif kind == 4:
            a, x = a[None], x.unsqueeze(0)
        elif a.size and a.size % 2 == 0:
            a, x = a.reshape(2, -1), x.reshape(2, -1)
    return a, x


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.uint8, np.bool_, np.float16])
def test_views_are_those_of_numpy(dtype):
    rng = np.random.default_rng(3)
    base = (rng.standard_normal((4, 6, 5)) * 100).astype(dtype)
    tensor = Tensor(base).realize()
    for _ in range(150):
        want, view = random_view(rng, base, tensor)
        np.testing.assert_array_equal(view.numpy(), want)


def test_no_plan_is_made():
    x = Tensor(np.arange(24, dtype=np.float32).reshape(4, 6)).realize()
    before = current().plans_built
    assert [x[i, j].item() for i in range(4) for j in range(6)] == list(range(24))
    assert x[1:3].tolist() == [list(range(6, 12)), list(range(12, 18))]
    assert x.expand(2, 4, 6)[1, 3].tolist() == list(range(18, 24))
    assert x.T[2].tolist() == [2, 8, 14, 20]
    assert current().plans_built == before


def test_what_a_view_sees():
    """A view has the values of the time when it was made, whatever is assigned afterwards."""
    x = Tensor([1.0, 2.0, 3.0]).realize()
    view = x[1:]
    x += 10
    assert view.tolist() == [2.0, 3.0]
    x.realize()
    assert view.tolist() == [2.0, 3.0] and x[1:].tolist() == [12.0, 13.0]


def test_other_sources_are_computed():
    x = Tensor([1.0, 2.0, 3.0]).realize()
    assert (x * 2)[1].item() == 4.0
    assert x.pad(((1, 1),))[0].item() == 0.0
    assert x.cast("int32")[2].item() == 3
