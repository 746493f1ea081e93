"""`polygrad bench`: a few seconds of measuring on this machine. The benchmarks beside other libraries are in the repository's folder bench."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any, Callable

import numpy as np

from .progress import Progress, table

GRAPHS = ((2708, 10556, 1433, 7), (27080, 211120, 128, 16))  # nodes, edges, features, classes; the first as Cora
NETWORKS = ("gcn", "gat", "sage", "gin")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=0.7, help="for each measurement (0.7)")
    parser.add_argument("--json", metavar="FILE", help="writes the figures, too")


def run(args: argparse.Namespace) -> int:
    from .. import C
    from ..autograd import current

    show, found = Progress(), {}
    for name, work in _works().items():
        show.show(f"measuring {name} ...")
        start = time.monotonic()
        once, unit = work()
        first = time.monotonic() - start
        found[name] = (_median(once, max(0.01, args.seconds)), unit, first)
    show.clear()
    rows = [[name, f"{1e3 * t:.2f} ms", unit(t), f"{first:.2f} s"] for name, (t, unit, first) in found.items()]
    print(table(["work", "median", "that is", "first time"], rows))
    print(
        f"\n{C.poly_threads(current().ptr)} threads on {current().device}; the first time is with compiling, unless the kernels were kept from before"
    )
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({name: {"seconds": t, "first": first} for name, (t, _, first) in found.items()}, f, indent=1)
    return 0


def _median(once: Callable[[], Any], seconds: float) -> float:
    times: list[float] = []
    end = time.monotonic() + seconds
    while len(times) < 3 or time.monotonic() < end:
        start = time.perf_counter()
        once()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


Work = tuple[Callable[[], Any], Callable[[float], str]]


def _works() -> dict[str, Callable[[], Work]]:
    works: dict[str, Callable[[], Work]] = {"copy 64 MiB": _copy, "matrix product 1024": _product}
    for graph in GRAPHS:
        for network in NETWORKS:
            works[f"{network} step, {graph[0]:,} nodes, {graph[1]:,} edges"] = lambda network=network, graph=graph: _step(network, *graph)  # type: ignore[misc]
    return works


def _copy() -> Work:
    from ..jit import TinyJit
    from ..tensor import Tensor

    x = Tensor.rand(1 << 24).realize()
    copy: Any = TinyJit(lambda x: (x + 1).realize())
    for _ in range(3):
        copy(x)
    return lambda: copy(x), lambda t: f"{2 * 4 * (1 << 24) / t / 1e9:.1f} GB/s"


def _product() -> Work:
    from ..jit import TinyJit
    from ..tensor import Tensor

    a, b = Tensor.rand(1024, 1024).realize(), Tensor.rand(1024, 1024).realize()
    product: Any = TinyJit(lambda a, b: (a @ b).realize())
    for _ in range(3):
        product(a, b)
    return lambda: product(a, b), lambda t: f"{2 * 1024**3 / t / 1e9:.0f} GFLOP/s"


def _step(network: str, nodes: int, edges: int, features: int, classes: int) -> Work:
    """Forward, backward and Adam on an R-MAT graph."""
    from .. import nn
    from ..geometric.datasets.rmat import rmat_graph
    from ..graphs import Graph
    from ..nn import compile_step
    from ..tensor import Tensor
    from .models import NodeNet, settings_of

    Tensor.manual_seed(0)
    rng = np.random.default_rng(0)
    graph = Graph(rmat_graph(nodes, edges), nodes)
    x = Tensor(rng.standard_normal((nodes, features), np.float32))
    y = Tensor(rng.integers(0, classes, nodes).astype(np.int32))
    net = NodeNet(network, features, classes, settings_of(network, "nodes"))
    optimizer = nn.Adam(net.parameters(), lr=0.01)

    def train(net: Any, optimizer: Any) -> Tensor:
        loss = net(x, graph).cross_entropy(y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    Tensor.training = True
    step = compile_step(train, net, optimizer)
    Tensor.training = False
    step.run()
    return step.run, lambda t: f"{edges / t / 1e6:.1f} M edges/s"


__all__ = ["arguments", "run"]
