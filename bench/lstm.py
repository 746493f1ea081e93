"""LSTM over a sequence, forward and backward, beside PyTorch in the same process.

Run: python bench/lstm.py [--steps 128] [--hidden 128] [--batch 32]   (an environment with torch; POLYGRAD_LIB may name the library)
The first gradient is timed with an empty kernel cache, at 8 and at 512 steps, in processes of their own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

COLD = """
import time
start = time.perf_counter()
from polygrad import Tensor, nn
begin = time.perf_counter()
net = nn.LSTM({hidden}, {hidden})
x = Tensor.randn({steps}, {batch}, {hidden}).realize()
y, _ = net(x)
loss = (y * y).mean()
loss.backward()
Tensor.realize(loss, *[p.grad for p in nn.state.get_parameters(net)])
print(time.perf_counter() - begin, begin - start)
"""


def cold(steps: int, hidden: int, batch: int) -> float:
    """Seconds from a network to its first gradient, nothing cached."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, POLY_CACHE_DIR=folder, XDG_CACHE_HOME=folder)
        out = subprocess.run(
            [sys.executable, "-c", COLD.format(steps=steps, hidden=hidden, batch=batch)], env=env, capture_output=True, text=True, check=True
        )
    return float(out.stdout.split()[0])


def best(f: object, seconds: float) -> float:
    """The shortest of the runs that fit into some seconds, in ms; at least three."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        f()  # type: ignore[operator]
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3


def warm(threads: int, steps: int, hidden: int, batch: int, seconds: float) -> tuple[float, float]:
    """ms for forward and backward: ours, PyTorch's; both from the same weights, whose gradients are compared."""
    import numpy as np
    import torch
    from polygrad import Tensor, nn
    from polygrad._ffi import C
    from polygrad.autograd import current

    torch.set_num_threads(threads)
    C.poly_set_threads(current().ptr, threads)
    theirs = torch.nn.LSTM(hidden, hidden)
    ours = nn.LSTM(hidden, hidden)
    for name, p in theirs.named_parameters():
        getattr(ours, name).assign(Tensor(p.detach().numpy())).realize()
    data = np.random.default_rng(0).normal(size=(steps, batch, hidden)).astype(np.float32)
    x, z = Tensor(data).realize(), torch.tensor(data)
    params = [getattr(ours, name) for name, _ in theirs.named_parameters()]

    def step() -> None:
        for p in params:
            p.grad = None
        y, _ = ours(x)
        loss = (y * y).mean()
        loss.backward()
        Tensor.realize(loss, *[p.grad for p in params])

    def torch_step() -> None:
        theirs.zero_grad()
        y, _ = theirs(z)
        (y * y).mean().backward()

    for _ in range(3):
        step()
        torch_step()
    for p, q in zip(params, theirs.parameters()):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-3, atol=1e-6)
    return best(step, seconds), best(torch_step, seconds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--cold", action="store_true", help="only the first gradients")
    parser.add_argument("--warm", action="store_true", help="only the runs beside PyTorch")
    a = parser.parse_args()
    if not a.warm:
        for steps in (8, 512):
            print(f"first gradient, nothing cached, {steps:4d} steps: {cold(steps, a.hidden, a.batch):.2f} s", flush=True)
    for threads in () if a.cold else (1, 2):
        ours, theirs = warm(threads, a.steps, a.hidden, a.batch, a.seconds)
        print(
            f"LSTM {a.steps} x {a.hidden}, batch {a.batch}, forward and backward, {threads} threads: {ours:.1f} ms, PyTorch {theirs:.1f} ms, {theirs / ours:.2f}x",
            flush=True,
        )


if __name__ == "__main__":
    main()
