"""Networks that really learn: a convolutional one reads digits, a transformer learns a paragraph by heart."""

import time

import numpy as np
import pytest
import sklearn.datasets

from polygrad import Context, Tensor
from polygrad.nn import AdamW, Conv2d, CosineAnnealingLR, Embedding, LayerNorm, Linear, compile_step, get_parameters

pytestmark = pytest.mark.usefixtures("cpu", "one_thread")


@pytest.fixture
def one_thread():
    """Kernels this small are done before a second thread has woken up."""
    with Context(THREADS=1):
        yield


class LeNet:
    """Two convolutions with pooling, three linear layers: LeNet-5's widths, for pictures of 8x8."""

    def __init__(self):
        self.c1, self.c2 = Conv2d(1, 6, 3, padding=1), Conv2d(6, 16, 3, padding=1)
        self.l1, self.l2, self.l3 = Linear(16 * 4 * 4, 120), Linear(120, 84), Linear(84, 10)

    def __call__(self, x):
        x = self.c2(self.c1(x).relu()).relu().max_pool2d((2, 2)).flatten(1)
        return self.l3(self.l2(self.l1(x).relu()).relu())


def train_step(model, opt, x, y):
    loss = model(x).cross_entropy(y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss


def digits():
    data = sklearn.datasets.load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    x, y = (data.images[order, None] / 16).astype(np.float32), data.target[order].astype(np.int32)
    return x[:1437], y[:1437], x[1437:], y[1437:]


def train_lenet(epochs):
    x, y, test_x, test_y = digits()
    Tensor.manual_seed(1)
    model = LeNet()
    opt = AdamW(get_parameters(model), lr=3e-3)
    schedule = CosineAnnealingLR(opt, epochs)
    batch = 64
    step = compile_step(train_step, model, opt, Tensor(x[:batch].copy()), Tensor(y[:batch].copy()))
    rng, losses = np.random.default_rng(2), []
    for _ in range(epochs):
        order = rng.permutation(len(y))
        for k in range(0, len(y) - batch + 1, batch):
            rows = order[k : k + batch]
            step.run(x[rows], y[rows])
        losses.append(step.loss_value())
        schedule.step()
    with Tensor.test():
        right = (model(Tensor(test_x)).argmax(1).numpy() == test_y).mean()
    return right, losses


def test_lenet_reads_digits():
    start = time.perf_counter()
    right, losses = train_lenet(25)
    seconds = time.perf_counter() - start
    assert right >= 0.97, right
    assert losses[-1] < 0.05 < losses[0]
    assert seconds < 30, seconds


def test_lenet_is_deterministic():
    """The same seed gives the same losses, bit by bit."""
    assert train_lenet(2) == train_lenet(2)


PARAGRAPH = (
    "The sea was calm that night, and the lamps of the harbour stood in it like nails. Nobody spoke. A dog barked twice, "
    "thought better of it, and lay down again; far out, the buoy rang, and rang, and then was still. "
)


class Block:
    """Attention and a small network of two layers, both after a layer norm and beside the way straight through."""

    def __init__(self, width, heads):
        self.heads = heads
        self.n1, self.n2 = LayerNorm(width), LayerNorm(width)
        self.qkv, self.out = Linear(width, 3 * width), Linear(width, width)
        self.up, self.down = Linear(width, 4 * width), Linear(4 * width, width)

    def __call__(self, x):
        b, t, c = x.shape
        parts = self.qkv(self.n1(x)).reshape(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        a = parts[0].scaled_dot_product_attention(parts[1], parts[2], is_causal=True)
        x = x + self.out(a.permute(0, 2, 1, 3).reshape(b, t, c))
        return x + self.down(self.up(self.n2(x)).gelu())


class CharTransformer:
    def __init__(self, letters, context, width=48, heads=4, layers=2):
        self.letter, self.place = Embedding(letters, width), Embedding(context, width)
        self.blocks = [Block(width, heads) for _ in range(layers)]
        self.norm, self.head = LayerNorm(width), Linear(width, letters)

    def __call__(self, x):
        h = self.letter(x) + self.place(Tensor.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


def sequence_step(model, opt, x, y):
    logits = model(x)
    loss = logits.reshape(-1, logits.shape[-1]).cross_entropy(y.reshape(-1))
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss


def train_transformer(steps):
    letters = sorted(set(PARAGRAPH))
    codes = np.array([letters.index(c) for c in PARAGRAPH], np.int32)
    context = 48
    starts = np.arange(0, len(codes) - context - 1, 8)
    x, y = (np.stack([codes[s + d : s + d + context] for s in starts]) for d in (0, 1))
    Tensor.manual_seed(7)
    model = CharTransformer(len(letters), context)
    opt = AdamW(get_parameters(model), lr=3e-3, weight_decay=0.0)
    step = compile_step(sequence_step, model, opt, Tensor(x), Tensor(y))
    losses = []
    for _ in range(steps):
        step.run()
        losses.append(step.loss_value())
    return losses, model, letters, codes


def test_transformer_learns_a_paragraph():
    losses, model, letters, codes = train_transformer(300)
    assert losses[-1] < 0.1, losses[-1]
    text = list(codes[:24])
    with Tensor.test():
        for _ in range(24):  # it goes on from the first letters
            padded = np.zeros((1, 48), np.int32)
            padded[0, : len(text)] = text
            text.append(int(model(Tensor(padded))[0, len(text) - 1].argmax().item()))
    assert "".join(letters[c] for c in text) == PARAGRAPH[:48]


def test_transformer_is_deterministic():
    assert train_transformer(5)[0] == train_transformer(5)[0]
