"""`polygrad train`: trains one network on one data set, any number of times, and shows what came of it."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from . import UserError
from .models import MODELS, Settings, model_of, settings_of
from .progress import Progress, bar, duration, table
from .sources import GraphTask, NodeTask, load, source_of

SAVE_EVERY = 30.0  # seconds


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not above 0")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not in [0, 1)")
    return value


def _rate(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"{value} is not a number from 0")
    return value


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "models, with their own settings unless others are given:\n" + table(
        ["", "", "hidden", "heads", "dropout", "lr", "epochs"],
        [
            [f"  {n}", m.text, m.settings.hidden, m.settings.heads, m.settings.dropout, m.settings.lr, m.settings.epochs]
            for n, m in MODELS.items()
        ],
        left=2,
    )  # fmt: skip
    add = parser.add_argument
    add("--dataset", default="Cora", help="see `polygrad datasets` (Cora)")
    add("--fallback", metavar="DATASET", help="what to train on where the dataset cannot be had")
    add("--model", default="gcn", help=f"{', '.join(MODELS)} (gcn)")
    add("--hidden", type=_positive, help="width of the hidden layers, of each head where there are heads")
    add("--heads", type=_positive, help="attention heads of the hidden layers")
    add("--layers", type=_positive, help="number of layers")
    add("--dropout", type=_share, help="of the inputs of each layer, and of attention weights")
    add("--lr", type=_rate, help="learning rate of Adam")
    add("--weight-decay", type=_rate)
    add("--epochs", type=_positive)
    add("--patience", type=int, metavar="N", help="ends when the validation loss has not fallen for N epochs; 0: never (nodes 100, graphs 0)")
    add("--seed", type=int, default=0, help="of the first run; the next takes the next (0)")
    add("--runs", type=_positive, default=1, help="trainings with different seeds; of graphs also different parts for the test (1)")
    add("--root", help="folder of the data; else POLYGRAD_DATA, ~/.cache/polygrad/data, or a download")
    add("--output", metavar="DIR", help="where the page and the results go (polygrad-output/DATASET-MODEL)")
    add("--checkpoint", metavar="FILE", help="kept up to date while training; where it is there already, the training goes on from it")
    add("--threads", type=_positive, help="for kernels and matrix products (as many as the machine has)")
    add("--device", help="where to compute, as CPU, CUDA or CUDA:1 (POLY_DEVICE, or the CPU)")
    add("--no-page", action="store_true", help="without pictures")
    add("--quiet", action="store_true", help="only the last line")


def _choose(device: str) -> None:
    from ..device import Device, computing

    try:
        Device.DEFAULT = computing(device)
    except (RuntimeError, ValueError) as e:
        raise UserError(f"--device {device}: {e}") from None


def run(args: argparse.Namespace) -> int:
    from .. import C
    from ..autograd import current

    model_of(args.model)
    args.model = args.model.lower()
    sources = [source_of(n) for n in (args.dataset, args.fallback) if n]
    if args.patience is not None and args.patience < 0:
        raise UserError(f"--patience must be 0 or more, not {args.patience}")
    if args.device:
        _choose(args.device)
    if args.threads:
        C.poly_set_threads(current().ptr, args.threads)
    task = _load(sources, args)
    settings = _settings(args, task)
    training = Training(args, task, settings)
    return training.run()


def _load(sources: list[Any], args: argparse.Namespace) -> NodeTask | GraphTask:
    show = Progress(quiet=args.quiet)
    for k, source in enumerate(sources):
        try:
            show.show(f"reading {source.name} ...")
            task = load(source, args.root)
            show.clear()
            where = "embedded in the package" if source.embedded else source.where(args.root)
            show.say(f"{source.name} ({where}): {task.describe()}")
            return task
        except OSError as e:
            if k + 1 == len(sources):
                raise UserError(str(e)) from None
            why = re.search(r"could not be downloaded \(.*\)", str(e))
            show.say(f"{source.name} is not here, and {why.group(0) if why else e}: {sources[k + 1].name} takes its place")
        except ValueError as e:
            raise UserError(str(e)) from None
    raise AssertionError


def _settings(args: argparse.Namespace, task: NodeTask | GraphTask) -> Settings:
    own = settings_of(args.model, task.kind)
    if task.kind == "nodes" and task.source.name == "KarateClub":
        own = replace(own, dropout=min(own.dropout, 0.2))  # four nodes to learn from
    return replace(own, **{k: getattr(args, k) for k in asdict(own) if getattr(args, k) is not None})


class Training:
    """All runs of one command."""

    def __init__(self, args: argparse.Namespace, task: NodeTask | GraphTask, settings: Settings):
        self.args, self.task, self.settings = args, task, settings
        self.patience = args.patience if args.patience is not None else 100 if task.kind == "nodes" else 0
        self.name = f"{task.source.name}-{args.model}".lower()
        self.output = args.output or os.path.join("polygrad-output", self.name)
        self.finished: list[dict[str, Any]] = []
        self.histories: list[list[Any]] = []
        self.under_way: tuple[int, Any] | None = None  # the run to keep if the training is interrupted: not one that is just being compiled
        self.show = Progress(quiet=args.quiet)
        self.given = {"dataset": task.source.name, "model": args.model, "seed": args.seed, **asdict(settings), "patience": self.patience}

    def make(self, number: int) -> Any:
        from .learn import GraphRun, NodeRun

        seed = self.args.seed + number
        if isinstance(self.task, NodeTask):
            return NodeRun(self.task, self.args.model, self.settings, seed, self.patience)
        return GraphRun(self.task, self.args.model, self.settings, seed, self.patience, number)

    def run(self) -> int:
        try:
            os.makedirs(self.output, exist_ok=True)
        except OSError as e:
            raise UserError(f"--output {self.output}: {e.strerror}") from None
        old = signal.signal(signal.SIGTERM, _interrupt)
        try:
            whole = self._runs()
        finally:
            signal.signal(signal.SIGTERM, old)
        return 0 if whole else 130

    def _runs(self) -> bool:
        """Were all runs done?"""
        from . import checkpoint

        path, first, resumed = self.args.checkpoint, 0, None
        if path and os.path.exists(path):
            notes, resumed = checkpoint.load(path, self.given)
            first, self.finished = int(notes["number"]), list(notes["finished"])[: self.args.runs]
        run, number, start = None, first, time.monotonic()
        try:
            for number in range(first, self.args.runs):
                run = self.make(number)
                if resumed is not None:
                    run.restore(resumed, int(notes["best"]), float(notes["seconds"]))
                    self.show.say(f"going on after epoch {len(run.rows)} of run {number + 1}, from {path}")
                    resumed = None
                self._train(run, number)
                self._finish(run, number)
        except KeyboardInterrupt:
            self.show.clear()
            self._interrupted(path or os.path.join(self.output, "checkpoint.safetensors"))
            return False
        if run is None:
            run = self.make(number)
            assert resumed is not None
            run.restore(resumed, int(notes["best"]), float(notes["seconds"]))
        self._report(run, time.monotonic() - start)
        return True

    def _interrupted(self, path: str) -> None:
        from . import checkpoint

        if self.under_way is None:
            print("interrupted before the first epoch")
            return
        number, run = self.under_way
        checkpoint.save(path, self.given, self.finished[:number], number, run)
        print(f"interrupted after epoch {len(run.rows)} of run {number + 1}; --checkpoint {path} goes on from there")

    def _train(self, run: Any, number: int) -> None:
        from . import checkpoint

        if run.done:
            return
        path, saved = self.args.checkpoint, time.monotonic()
        title = f"run {number + 1}/{self.args.runs} " if self.args.runs > 1 else ""
        self.show.show(f"{title}compiling the training step ...")
        start = time.monotonic()
        run.compile()
        self.under_way = (number, run)
        first, spent, done = time.monotonic(), run.seconds, len(run.rows)
        compiling = first - start
        while not run.done:
            row = run.epoch()
            if len(run.rows) == done + 1:  # compiles the evaluation
                first, compiling = time.monotonic(), time.monotonic() - start
            run.seconds = spent + time.monotonic() - start
            later = len(run.rows) - done - 1
            self.show.show(title + self._line(run, row, (time.monotonic() - first) / later if later else 0.0))
            if path and time.monotonic() - saved > SAVE_EVERY:
                checkpoint.save(path, self.given, self.finished, number, run)
                saved = time.monotonic()
        epochs = len(run.rows) - done
        each = (time.monotonic() - first) / max(1, epochs - 1)
        why = f", stopped: no lower validation loss for {run.patience} epochs" if run.stopped else ""
        self.show.say(
            f"{title}{epochs} epochs in {duration(time.monotonic() - start)}: {compiling:.1f} s to compile, {1e3 * each:.1f} ms an epoch{why}"
        )
        if path:
            checkpoint.save(path, self.given, self.finished, number, run)

    def _line(self, run: Any, row: Any, each: float) -> str:
        total = run.settings.epochs
        parts = [f"epoch {len(run.rows):{len(str(total))}d}/{total}"]
        parts += [bar(len(run.rows), total)] if self.show.live else []
        parts += [f"loss {row.loss:.4f}", f"train {100 * row.train:5.1f} %"]
        parts += [f"val {100 * row.val:5.1f} %"] if not np.isnan(row.val) else []
        parts += [f"test {100 * row.test:5.1f} %"]
        return "  ".join([*parts, f"{1e3 * each:.1f} ms/epoch"] if each else parts)

    def _finish(self, run: Any, number: int) -> None:
        best = run.result
        self.finished.append(
            {
                "seed": run.seed, "epochs": len(run.rows), "best_epoch": run.best + 1, "loss": best.loss, "val_loss": best.val_loss, "val": best.val,
                "train": best.train, "test": best.test, "seconds": run.seconds, "parameters": run.parameters,
            }
        )  # fmt: skip
        self.histories.append(list(run.rows))

    def _report(self, run: Any, seconds: float) -> None:
        rows = [_cells(k, f) for k, f in enumerate(self.finished)]
        test = 100 * np.array([f["test"] for f in self.finished])
        if len(rows) > 1:
            val = 100 * np.array([f["val"] for f in self.finished])
            mean = [f"{test.mean():.1f} ± {test.std():.1f} %", "" if np.isnan(val).any() else f"{val.mean():.1f} ± {val.std():.1f} %"]
            rows.append(["mean", "", "", "", mean[1], mean[0], f"{sum(f['seconds'] for f in self.finished):.1f} s"])
        self.show.say()
        self.show.say(table(HEAD, rows, left=1))
        result = {**self.given, "runs": self.finished, "test_mean": float(test.mean()), "test_std": float(test.std()), "seconds": seconds}
        with open(os.path.join(self.output, "result.json"), "w", encoding="utf-8") as f:
            json.dump(_plain(result), f, indent=1)
        spread = f" ± {test.std():.1f} % over {len(test)} runs" if len(test) > 1 else " %"
        last = f"{self.args.model} on {self.task.source.name}: test accuracy {test.mean():.1f}{spread}"
        if not self.args.no_page:
            from .page import write

            path = os.path.abspath(os.path.join(self.output, "index.html"))
            write(path, self, run, self.show)
            last += f"; pictures in {path}"
        self.show.clear()
        print(last, flush=True)


HEAD = ["run", "seed", "best epoch", "val loss", "val accuracy", "test accuracy", "time"]


def _cells(k: int, f: dict[str, Any]) -> list[str]:
    has = not np.isnan(f["val_loss"])
    val = [f"{f['val_loss']:.4f}", f"{100 * f['val']:.1f} %"] if has else ["", ""]
    return [str(k + 1), str(f["seed"]), f"{f['best_epoch']} of {f['epochs']}", *val, f"{100 * f['test']:.1f} %", f"{f['seconds']:.1f} s"]


def _plain(value: Any) -> Any:
    """Without nan, which JSON does not know."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


__all__ = ["Training", "arguments", "run"]
