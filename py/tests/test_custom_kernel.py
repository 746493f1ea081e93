"""Tensor.custom_kernel: kernels of loops, loads and stores, against numpy, with their gradients and with what cannot be said."""

import numpy as np
import pytest

from polygrad import Tensor, UOp, dtypes
from polygrad.dtype import AddrSpace
from polygrad.uop.ops import AxisType, KernelInfo, Ops

X = np.random.default_rng(0).uniform(-1, 1, (6, 5)).astype(np.float32)


def run(fxn, out, *inputs):
    return Tensor.empty(*out).custom_kernel(*(Tensor(x) for x in inputs), fxn=fxn)[0].numpy()


def test_elements_one_after_the_other():
    def saxpy(out, x, y):
        out, x, y = out.flatten(), x.flatten(), y.flatten()
        i = UOp.range(out.size, 0, AxisType.GLOBAL)
        return out[i].store(2.5 * x[i] - y[i] / 2).end(i).sink(arg=KernelInfo(name="saxpy"))

    np.testing.assert_allclose(run(saxpy, X.shape, X, X[::-1].copy()), 2.5 * X - X[::-1] / 2, rtol=1e-6)


def test_the_loop_variable_is_a_value():
    def squares(out):
        i = UOp.range(out.numel(), 3)
        return out[i].store((i * i).cast(out.dtype.base)).end(i).sink()

    assert Tensor.empty(6, dtype=dtypes.int64).custom_kernel(fxn=squares)[0].tolist() == [0, 1, 4, 9, 16, 25]


def test_two_results():
    def both(low, high, x):
        i, j = UOp.range(x.shape[0], 0), UOp.range(x.shape[1], 1)
        return UOp.group(low[i, j].store(x[i, j].minimum(0.0)), high[j, i].store(x[i, j].maximum(0.0))).end(i, j).sink()

    low, high, same = Tensor.custom_kernel(Tensor.empty(6, 5), Tensor.empty(5, 6), Tensor(X), fxn=both)
    np.testing.assert_array_equal(low.numpy(), np.minimum(X, 0))
    np.testing.assert_array_equal(high.numpy(), np.maximum(X, 0).T)
    np.testing.assert_array_equal(same.numpy(), X)


def test_indices_are_values():
    def gathered(out, x, at):
        i, j = UOp.range(out.shape[0], 0), UOp.range(out.shape[1], 1)
        return out[i, j].store(x[at[i], (j + 2) % x.shape[1]]).end(i, j).sink()

    at = np.array([5, 0, 0, 3], np.int32)
    np.testing.assert_array_equal(run(gathered, (4, 5), X, at), np.roll(X[at], -2, 1))


def test_stores_through_indices():
    def put(out, x):
        i, j = UOp.range(x.shape[0], 0), UOp.range(x.shape[1], 1)
        return out[x.shape[0] - 1 - i, j].store((x[i, j] > 0).where(x[i, j], -1.0)).end(i, j).sink()

    np.testing.assert_array_equal(run(put, X.shape, X), np.where(X > 0, X, -1)[::-1])


def test_what_is_not_stored_stays():
    def first_row(out, x):
        j = UOp.range(x.shape[1], 0)
        return out[0, j].store(x[2, j]).end(j).sink()

    got = Tensor.full((3, 5), 7.0).custom_kernel(Tensor(X), fxn=first_row)[0].numpy()
    np.testing.assert_array_equal(got, np.stack([X[2], np.full(5, 7), np.full(5, 7)]))


def product(c, a, b):
    i, j, k = UOp.range(c.shape[0], 0), UOp.range(c.shape[1], 1), UOp.range(a.shape[1], 2, AxisType.REDUCE)
    c = c[i, j].set(0.0)
    c = c[i, j].set(c.after(k)[i, j] + a[i, k] * b[k, j], end=k)
    return c.end(i, j).sink(arg=KernelInfo(name="product", opts_to_apply=()))


def test_sums_in_place_and_their_gradients():
    a, b = Tensor(X, requires_grad=True), Tensor(X.T.copy(), requires_grad=True)
    c = Tensor.empty(6, 6).custom_kernel(a, b, fxn=product)[0]
    np.testing.assert_allclose(c.numpy(), X @ X.T, rtol=1e-5, atol=1e-6)
    (c * c).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), 2 * (X @ X.T) @ X, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_the_users_own():
    seen = []

    def backward(gradient, kernel):
        _, a, b = kernel.src
        seen.append(gradient.shape)
        return None, (Tensor(gradient) @ Tensor(b).T).uop, (2 * Tensor(a).T @ Tensor(gradient)).uop

    a, b = Tensor(X, requires_grad=True), Tensor(X.T.copy(), requires_grad=True)
    Tensor.empty(6, 6).custom_kernel(a, b, fxn=product, grad_fxn=backward)[0].sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.ones((6, 6)) @ X, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), 2 * X.T @ np.ones((6, 6)), rtol=1e-5, atol=1e-5)
    assert seen


def test_registers_have_a_value_for_each_iteration():
    def norms(out, x):
        i = UOp.range(x.shape[0], 0)
        row = x[i, :]
        total = UOp.placeholder((1,), out.dtype.base, 0, addrspace=AddrSpace.REG).after(i)[0].set(0)
        j = UOp.range(x.shape[1], 1, AxisType.REDUCE)
        total = total[0].set(total.after(j)[0] + row[j] * row[j], end=j)
        return out[i].set(total[0].sqrt(), end=i).sink()

    np.testing.assert_allclose(run(norms, (6,), X), np.linalg.norm(X, axis=1), rtol=1e-6)


@pytest.mark.parametrize(("op", "reference"), [(Ops.ADD, np.sum), (Ops.MUL, np.prod), (Ops.MAX, np.max)])
def test_reductions(op, reference):
    def reduced(out, x):
        i, j = UOp.range(x.shape[0], 0), UOp.range(x.shape[1], 1)
        return out[i].store(x[i, j].reduce(j, arg=op)).end(i).sink()

    def accumulated(out, x):
        i, j = UOp.range(x.shape[0], 0), UOp.range(x.shape[1], 1)
        out = out[i].set(x[i, 0])
        rest = j.alu(Ops.CMPEQ, 0).where({Ops.ADD: 0.0, Ops.MUL: 1.0, Ops.MAX: -9.0}[op], x[i, j])
        return out[i].set(out.after(j)[i].alu(op, rest), end=j).end(i).sink()

    np.testing.assert_allclose(run(reduced, (6,), X), reference(X, 1), rtol=1e-5)
    np.testing.assert_allclose(run(accumulated, (6,), X), reference(X, 1), rtol=1e-5)


def test_is_fused_with_what_is_around():
    def doubled(out, x):
        i = UOp.range(x.size, 0)
        return out[i].store(x[i] * 2).end(i).sink()

    y = Tensor.empty(8).custom_kernel(Tensor(np.arange(8.0, dtype=np.float32)) + 1, fxn=doubled)[0] + 3
    assert y.explain().count("kernel") <= 3  # one kernel, named twice in the text
    assert y.tolist() == [2.0 * (k + 1) + 3 for k in range(8)]


def test_what_cannot_be_said():
    def several(out, x):
        i, j = UOp.range(x.shape[0], 0), UOp.range(x.shape[1], 1)
        return out[i].store(x[i, j]).end(i, j).sink()

    def two_sizes(out, x):
        i, j = UOp.range(3, 0), UOp.range(4, 0)
        return out[i].store(x[i, j]).end(i, j).sink()

    with pytest.raises(NotImplementedError, match="again and again"):
        run(several, (6,), X)
    with pytest.raises(ValueError, match="two ranges"):
        run(two_sizes, (6,), X)
    with pytest.raises(TypeError, match="at an index"):
        run(lambda out, x: out.store(x).sink(), (6,), X)
