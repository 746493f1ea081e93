"""One run of training: the compiled step, the evaluation, and the state that a checkpoint holds.

A run goes epoch by epoch: `epoch()` gives a Row, and keeps the parameters of the best one. Best is the lowest validation loss; where there is
no validation, the last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import nn
from ..graphs import Graph
from ..jit import TinyJit
from ..nn import compile_step
from ..tensor import Tensor
from .models import GraphNet, NodeNet, Settings
from .sources import GraphTask, NodeTask


class Row(NamedTuple):
    """What an epoch gave; nan where there is nothing to measure."""

    loss: float
    val_loss: float
    train: float
    val: float
    test: float


class Run:
    """What runs on nodes and on graphs share."""

    net: Any

    def __init__(self, seed: int, settings: Settings, patience: int):
        self.seed, self.settings, self.patience = seed, settings, patience
        self.rows: list[Row] = []
        self.best = -1  # number of the best epoch
        self.kept: dict[str, np.ndarray] = {}  # its parameters
        self.seconds = 0.0
        self.optimizer: nn.Optimizer

    def compile(self) -> None:
        """Traces and compiles the step; afterwards epochs only run."""
        raise NotImplementedError

    def _epoch(self) -> Row:
        raise NotImplementedError

    def _optimize(self) -> None:
        self.optimizer = nn.Adam(self.net.parameters(), lr=self.settings.lr, weight_decay=self.settings.weight_decay)

    @property
    def parameters(self) -> int:
        """Count of the trained numbers."""
        return sum(int(np.prod(p.shape)) for p in self.net.parameters())

    @property
    def done(self) -> bool:
        return len(self.rows) >= self.settings.epochs or self.stopped

    @property
    def stopped(self) -> bool:
        """Has it not got better for too long?"""
        return 0 < self.patience <= len(self.rows) - 1 - self.best

    @property
    def result(self) -> Row:
        """The best epoch's."""
        return self.rows[self.best]

    def epoch(self) -> Row:
        row = self._epoch()
        self.rows.append(row)
        before = self.rows[self.best].val_loss if self.best >= 0 else np.inf
        if np.isnan(row.val_loss) or row.val_loss < before or self.best < 0:
            self.best = len(self.rows) - 1
            self.kept = {name: t.numpy().copy() for name, t in self.net.state_dict().items()}
        return row

    def use_best(self) -> None:
        """Puts the parameters of the best epoch back."""
        if self.kept:
            self.net.load_state_dict({name: Tensor(a) for name, a in self.kept.items()})

    # ---- checkpoints ----

    def state(self) -> dict[str, Tensor]:
        """Everything that is needed to go on, by name."""
        out = {f"model.{n}": t for n, t in self.net.state_dict().items()}
        out.update({f"best.{n}": Tensor(a) for n, a in self.kept.items()})
        out.update({f"optimizer.{n}": t for n, t in self.optimizer.state_dict().items()})
        out["rows"] = Tensor(np.array(self.rows, np.float64).reshape(-1, len(Row._fields)))
        return out

    def restore(self, state: dict[str, Tensor], best: int, seconds: float) -> None:
        """Before compile(): goes on where state() was taken. Random numbers go on with others than those that were not drawn."""
        self.net.load_state_dict(_under("model.", state))
        self.optimizer.load_state_dict(_under("optimizer.", state))
        self.kept = {n: t.numpy().copy() for n, t in _under("best.", state).items()}
        self.rows = [Row(*r) for r in state["rows"].tolist()]
        self.best, self.seconds = best, seconds
        Tensor.manual_seed(self.seed + 7919 * len(self.rows))


def _under(prefix: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n[len(prefix) :]: t for n, t in state.items() if n.startswith(prefix)}


class NodeRun(Run):
    """Classes of nodes, the whole graph in each step."""

    def __init__(self, task: NodeTask, model: str, settings: Settings, seed: int, patience: int):
        super().__init__(seed, settings, patience)
        Tensor.manual_seed(seed)
        self.task = task
        self.parts = task.split(seed)
        self.graph = Graph(task.edge_index, task.x.shape[0])
        self.net = NodeNet(model, task.features, task.classes, settings)
        self._optimize()

    def compile(self) -> None:
        x, graph, net = self.task.x, self.graph, self.net
        where = [Tensor(p.astype(np.int32)) for p in self.parts]
        what = [Tensor(self.task.y[p].astype(np.int32)) for p in self.parts]

        def train(net: Any, optimizer: Any) -> Tensor:
            loss = net(x, graph)[where[0]].cross_entropy(what[0])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        def evaluate() -> Tensor:
            out = net(x, graph)
            right = [(out[w].argmax(-1) == y).float().mean() for w, y in zip(where, what)]
            return Tensor.stack(out[where[1]].cross_entropy(what[1]), *right).realize()

        Tensor.training = True
        self._step = compile_step(train, net, self.optimizer)
        Tensor.training = False
        self._evaluate = TinyJit(evaluate)

    def _epoch(self) -> Row:
        self._step.run()
        return Row(self._step.loss_value(), *self._evaluate().tolist())

    def look(self) -> dict[str, Any]:
        """What the pictures need, of the best epoch."""
        self.use_best()
        Tensor.training = False
        x, graph = self.task.x, self.graph
        out = self.net(x, graph)
        seen = self.net.embed(x, graph) if len(self.net.convs) > 1 else out
        return {"found": out.argmax(-1).numpy(), "embedding": seen.numpy(), "y": self.task.y, "test": self.parts[2], "train": self.parts[0]}


class GraphRun(Run):
    """Classes of graphs, in batches of any size that share one compiled step. The learning rate falls to zero."""

    batch_size = 128

    def __init__(self, task: GraphTask, model: str, settings: Settings, seed: int, patience: int, fold: int):
        from ..geometric.loader import DataLoader

        super().__init__(seed, settings, patience)
        Tensor.manual_seed(seed)
        self.task = task
        folds = task.folds()
        held = [fold % 10] + [(fold + 1) % 10] * (patience > 0)  # a part for validation only where it is used
        train = np.concatenate([f for k, f in enumerate(folds) if k not in held])
        self.parts = [train, folds[held[1]] if patience > 0 else np.empty(0, np.int64), folds[held[0]]]
        self.net = GraphNet(model, task.features, task.classes, settings, "sum" if task.source.name == "MUTAG" else "mean")
        self._loader = DataLoader(task.pick(train), self.batch_size, shuffle=True, seed=seed)
        self._tests = [list(DataLoader(task.pick(p), 1024)) if p.size else [] for p in self.parts[1:]]
        self._optimize()

    def compile(self) -> None:
        first = next(iter(self._loader))

        def train(net: Any, optimizer: Any, x: Tensor, edge_index: Tensor, batch: Tensor, y: Tensor) -> Tensor:
            out = net(x, edge_index, batch)
            loss = out.cross_entropy(y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return Tensor.stack(loss.detach(), (out.argmax(-1) == y).float().mean())

        Tensor.training = True
        self._step = compile_step(train, self.net, self.optimizer, *_inputs(first))
        Tensor.training = False

    def _epoch(self) -> Row:
        self.optimizer.lr = self.settings.lr * (1 + np.cos(np.pi * len(self.rows) / self.settings.epochs)) / 2
        total = np.zeros(2)
        for batch in self._loader:
            self._step.run(*_inputs(batch))
            total += np.array(self._step.loss.tolist()) * float(batch.num_graphs)
        loss, train = total / self.parts[0].size
        (val_loss, val), (_, test) = (self._measure(batches) for batches in self._tests)
        return Row(float(loss), val_loss, float(train), val, test)

    def _measure(self, batches: list[Any]) -> tuple[float, float]:
        """Loss and accuracy."""
        if not batches:
            return np.nan, np.nan
        total, count = np.zeros(2), 0.0
        for b in batches:
            out = self.net(b.x, b.edge_index, b.batch)
            total += np.array(Tensor.stack(out.cross_entropy(b.y), (out.argmax(-1) == b.y).float().mean()).tolist()) * float(b.num_graphs)
            count += float(b.num_graphs)
        return float(total[0] / count), float(total[1] / count)

    def look(self) -> dict[str, Any]:
        """What the pictures need, of the best epoch."""
        from ..geometric.loader import DataLoader

        self.use_best()
        Tensor.training = False
        found, seen = [], []
        for b in DataLoader(self.task.pick(np.arange(self.task.y.size)), 1024):
            found.append(self.net(b.x, b.edge_index, b.batch).argmax(-1).numpy())
            seen.append(self.net.embed(b.x, b.edge_index, b.batch).numpy())
        return {
            "found": np.concatenate(found), "embedding": np.concatenate(seen), "y": self.task.y, "test": self.parts[2], "train": self.parts[0],
        }  # fmt: skip


def _inputs(batch: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return batch.x, batch.edge_index, batch.batch, batch.y


__all__ = ["GraphRun", "NodeRun", "Row", "Run"]
