"""The page that a training leaves: results, curves, a map of what was learnt, and a node with its neighbours. One file, without scripts."""

from __future__ import annotations

import os
from html import escape
from typing import Any

import numpy as np

from .. import __version__
from .charts import Curve, attention, colour, curves, neighbourhood, points
from .models import model_of
from .plane import place
from .progress import Progress, duration
from .sources import NodeTask

MOST = 3000  # points of a map
FEW = 1000  # edges that can be drawn upon it

_STYLE = """
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: #2b2f38; background: #f4f5f7; margin: 0; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 36px 0 8px; } p { margin: 4px 0 12px; max-width: 75ch; }
.row { display: flex; flex-wrap: wrap; gap: 18px; } .card { background: #fff; border: 1px solid #e1e4e9; border-radius: 8px; padding: 10px; }
.card svg { max-width: 100%; height: auto; display: block; } .big { font-size: 30px; font-weight: 650; } .faint { color: #737a86; }
table { border-collapse: collapse; background: #fff; border: 1px solid #e1e4e9; border-radius: 8px; }
th, td { padding: 5px 14px; text-align: right; border-bottom: 1px solid #eceef1; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; color: #737a86; } .dot { font-size: 20px; line-height: 0; }
""".strip()


def write(path: str, training: Any, run: Any, show: Progress) -> None:
    """Makes the page of a training; `run` is its last run, of which the pictures are."""
    show.show("drawing ...")
    seen = run.look()
    names = _names(training.task)
    parts = [_head(training, run), _results(training), "<h2>Learning</h2>", _learning(training, run), "<h2>What was learnt</h2>"]
    parts.append(_map(training, seen, names, show))
    if isinstance(training.task, NodeTask):
        parts.append(_neighbours(training, run, seen, names))
    parts += ["<h2>Class by class</h2>", _classes(seen, names), _foot(training, run)]
    title = escape(f"{training.args.model} on {training.task.source.name}")
    text = (
        f"<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'/>\n<meta name='viewport' content='width=device-width, initial-scale=1'/>\n"
        f"<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n" + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"
    )
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(part, path)


def _names(task: Any) -> list[str]:
    known = task.source.labels
    return list(known) if len(known) == task.classes else [f"class {k}" for k in range(task.classes)]


def _head(training: Any, run: Any) -> str:
    test = 100 * np.array([f["test"] for f in training.finished])
    spread = f" ± {test.std():.1f}" if test.size > 1 else ""
    over = f"mean of {test.size} runs" if test.size > 1 else "one run"
    model = model_of(training.args.model)
    return (
        f"<h1>{escape(training.args.model.upper())} on {escape(training.task.source.name)}</h1>\n"
        f"<p class='faint'>{escape(training.task.describe())}.</p>\n"
        f"<p><span class='big'>{test.mean():.1f}{spread} %</span> test accuracy, {over}. {escape(model.text[0].upper() + model.text[1:])}; "
        f"{run.parameters:,} parameters.</p>"
    )


def _table(head: list[str], rows: list[list[str]]) -> str:
    """Cells are HTML."""
    lines = ["<tr>" + "".join(f"<{tag}>{c}</{tag}>" for c in row) + "</tr>" for tag, rs in (("th", [head]), ("td", rows)) for row in rs]
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _results(training: Any) -> str:
    rows = []
    for k, f in enumerate(training.finished):
        val = [f"{f['val_loss']:.4f}", f"{100 * f['val']:.1f} %"] if f["val"] == f["val"] else ["", ""]
        rows.append([str(k + 1), str(f["seed"]), f"{f['best_epoch']} of {f['epochs']}", *val, f"{100 * f['test']:.1f} %", duration(f["seconds"])])
    return _table(["run", "seed", "best epoch", "validation loss", "validation", "test", "time"], rows)


def _learning(training: Any, run: Any) -> str:
    # The last run is drawn thick: the other pictures are of it, too.
    histories = [run.rows, *training.histories[:-1][::-1]][:10] if training.histories else [run.rows]

    def column(name: str) -> list[list[float]]:
        return [[getattr(r, name) for r in rows] for rows in histories]

    loss = curves("Loss", [Curve("training", colour(0), column("loss")), Curve("validation", colour(1), column("val_loss"))], run.best)
    lines = [Curve("training", colour(0), column("train")), Curve("validation", colour(1), column("val")), Curve("test", colour(2), column("test"))]
    right = curves("Accuracy", lines, run.best, percent=True)
    return f"<div class='row'><div class='card'>{loss}</div><div class='card'>{right}</div></div>"


def _map(training: Any, seen: dict[str, Any], names: list[str], show: Progress) -> str:
    y, count = seen["y"], seen["y"].size
    chosen = np.arange(count)
    if count > MOST:  # the test's first, then others
        order = np.random.default_rng(0).permutation(count)
        inside = np.isin(order, seen["test"])
        chosen = np.sort(np.concatenate([order[inside], order[~inside]])[:MOST])
    at = place(seen["embedding"][chosen], lambda done, total: show.show(f"drawing the map: {done} of {total}"))
    what = "node" if isinstance(training.task, NodeTask) else "graph"
    found = seen["found"][chosen]
    title = f"{chosen.size:,} of {count:,} {what}s" if count > MOST else f"All {count:,} {what}s"
    edges = training.task.edge_index.numpy().T if what == "node" and training.task.edge_index.shape[1] <= FEW else None
    svg = points(f"{title}, like beside like", at, y[chosen], found, names, chosen, what, edges)
    wide = seen["embedding"].shape[1]
    return (
        f"<p>Each dot is a {what}. The network describes it by {wide} numbers, before its last layer; {what}s with similar numbers are drawn near "
        f"each other (t-SNE, or principal components where there are few). Colours are the true classes, which the map does not know.</p>\n"
        f"<div class='row'><div class='card'>{svg}</div></div>"
    )


def _neighbours(training: Any, run: Any, seen: dict[str, Any], names: list[str]) -> str:
    task, model = training.task, model_of(training.args.model)
    edges = task.edge_index.numpy()
    weights = None
    if model.attention:
        weights = [(e.numpy(), a.numpy()) for e, a in run.net.attention(task.x, task.edge_index)]
    centre = interesting(edges, seen, weights)
    if centre is None:
        return ""
    n = neighbourhood(edges, centre, weights)
    y, found = seen["y"], seen["found"]
    answer = f"It is {names[y[centre]]}, and " + ("found to be so." if found[centre] == y[centre] else f"taken for {names[found[centre]]}.")
    if weights is None:
        title, text = f"Node {centre} and its neighbours", "Lines are edges."
    else:
        title = f"Who node {centre} listens to"
        text = (
            f"The thicker a line, the more counts what is said along it (the mean over the heads). What node {centre} hears from its neighbours, "
            f"and, in the middle, from itself ({100 * n.own:.0f} %), adds up to 100 %; the outer lines are what the neighbours heard in the layer "
            f"before."
        )
    svg = attention(title, n, y, found, names)
    return (
        f"<h2>{'Attention' if weights is not None else 'A neighbourhood'}</h2>\n<p>{escape(answer + ' ' + text)} A coloured frame is the class for "
        f"which a node is taken where that is wrong.</p>\n<div class='row'><div class='card'>{svg}</div></div>"
    )


def interesting(edges: np.ndarray, seen: dict[str, Any], weights: Any) -> int | None:
    """A node of the test that fits into a picture: few neighbours, of several classes, and unequal weights."""
    src, dst = edges
    n = seen["y"].size
    degree = np.bincount(dst, minlength=n)
    two = np.bincount(dst, weights=degree[src], minlength=n)  # edges into the neighbours
    mixed = np.bincount(dst, weights=(seen["y"][src] != seen["y"][dst]).astype(float), minlength=n)
    uneven = np.zeros(n)
    if weights is not None:
        (_, to), alpha = weights[-1]
        uneven = np.bincount(to, weights=alpha.astype(float) ** 2, minlength=n) * (degree + 1) - 1
    test = seen["test"]
    for low, high, most in ((4, 8, 40), (2, 12, 60), (1, 30, 400), (1, n, np.inf)):
        good = test[(degree[test] >= low) & (degree[test] <= high) & (two[test] <= most)]
        if good.size:
            share = mixed[good] / degree[good]
            score = uneven[good] + 1.5 * np.minimum(share, 1 - share) + 0.5 * (seen["found"][good] == seen["y"][good]) + 0.01 * two[good]
            return int(good[np.argmax(score)])
    return None


def _classes(seen: dict[str, Any], names: list[str]) -> str:
    y, found = seen["y"][seen["test"]], seen["found"][seen["test"]]
    rows = []
    for c, name in enumerate(names):
        true, said = y == c, found == c
        hit = int((true & said).sum())
        share = [f"{100 * hit / k:.1f} %" if k else "" for k in (int(true.sum()), int(said.sum()))]
        wrong = np.bincount(found[true & ~said], minlength=len(names))
        often = f"{escape(names[int(wrong.argmax())])} ({int(wrong.max())})" if wrong.max(initial=0) else ""
        rows.append([f"<span class='dot' style='color:{colour(c)}'>●</span> {escape(name)}", str(int(true.sum())), *share, often])
    head = ["class", "in the test", "of these found", "right when said", "most often taken for"]
    return _table(head, rows)


def _foot(training: Any, run: Any) -> str:
    s = run.settings
    text = (
        f"hidden {s.hidden}, layers {s.layers}, heads {s.heads}, dropout {s.dropout}, learning rate {s.lr}, weight decay {s.weight_decay}, at most "
        f"{s.epochs} epochs" + (f", patience {training.patience}" if training.patience else "") + f". polygrad {__version__}."
    )
    return f"<p class='faint' style='margin-top:28px'>Settings: {escape(text)}</p>"


__all__ = ["interesting", "write"]
