"""Whole trainings: a convolutional network on the digits, a character transformer that learns a paragraph by heart."""

import math
import time

import numpy as np
import pytest

from polygrad import Context, Tensor, nn
from polygrad.nn import compile_step, get_parameters

TEXT = (
    "A tensor program is a graph of small operations. The compiler decides what is stored and what is computed again, "
    "joins loops that run over the same indices, and writes one kernel for each of them."
)


class Block(nn.Module):
    def __init__(self, dim, heads):
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, is_causal=True)[0]
        return x + self.down(self.up(self.norm2(x)).gelu())


class CharModel(nn.Module):
    def __init__(self, vocabulary, length, dim=32, heads=4, layers=2):
        self.tokens, self.places = nn.Embedding(vocabulary, dim), nn.Embedding(length, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(layers)])
        self.norm, self.out = nn.LayerNorm(dim), nn.Linear(dim, vocabulary)

    def forward(self, x):
        h = self.tokens(x) + self.places(Tensor.arange(x.shape[1]))
        for b in self.blocks:
            h = b(h)
        return self.out(self.norm(h))


def step(model, opt, x, y):
    loss = model(x).sparse_categorical_crossentropy(y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss


@Context(THREADS=1)  # kernels this small gain nothing from a second thread, and lose much on a busy machine
def test_transformer_learns_a_paragraph(cpu):
    Tensor.manual_seed(0)
    chars = sorted(set(TEXT))
    data = np.array([chars.index(c) for c in TEXT], np.int32)
    length = 32
    windows = np.stack([data[k : k + length + 1] for k in range(0, len(data) - length - 1, 8)])
    x, y = Tensor(windows[:, :-1].copy()), Tensor(windows[:, 1:].copy())
    model = CharModel(len(chars), length)
    compiled = compile_step(step, model, nn.Adam(get_parameters(model), lr=0.01), x, y)
    start = time.perf_counter()
    first = None
    for _ in range(250):
        compiled.run()
        first = compiled.loss_value() if first is None else first
    assert first == pytest.approx(math.log(len(chars)), rel=0.3)
    assert compiled.loss_value() < 0.1
    predicted = model(x).argmax(-1).numpy()
    assert (predicted[:, 8:] == windows[:, 9:]).mean() > 0.98
    assert time.perf_counter() - start < 60


class LeNet(nn.Module):
    def __init__(self):
        self.c1, self.c2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.l1, self.l2 = nn.Linear(32 * 4, 64), nn.Linear(64, 10)

    def forward(self, x):
        x = self.c1(x).relu().max_pool2d(2)
        x = self.c2(x).relu().max_pool2d(2)
        return self.l2(self.l1(x.flatten(1)).relu().dropout(0.2))


@Context(THREADS=1)
def test_digits(cpu):
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    Tensor.manual_seed(0)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(digits.target))
    images = (digits.images[order] / 16.0).astype(np.float32)[:, None]
    labels = digits.target[order].astype(np.int32)
    n = 1437
    model = LeNet()
    opt = nn.Adam(get_parameters(model), lr=2e-3)
    start = time.perf_counter()
    x, y = Tensor(images[:64].copy()), Tensor(labels[:64].copy())
    with Tensor.train():
        compiled = compile_step(step, model, opt, x, y)
        for _ in range(40):
            shuffled = rng.permutation(n)
            for k in range(0, n - 63, 64):
                x._data[:] = images[shuffled[k : k + 64]]
                y._data[:] = labels[shuffled[k : k + 64]]
                compiled.run()
    accuracy = (model(Tensor(images[n:].copy())).argmax(1).numpy() == labels[n:]).mean()
    assert accuracy >= 0.97
    assert time.perf_counter() - start < 30
