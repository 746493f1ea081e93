"""`polygrad explain`: trains a network on the nodes of a graph, explains what it says of one of them, and draws it."""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np

from . import UserError
from .models import MODELS, model_of, settings_of
from .progress import Progress
from .sources import NodeTask, load, source_of

METHODS = ("gnnexplainer", "attention", "saliency", "inputxgradient", "integratedgradients", "guidedbackprop", "deconvolution")
_CAPTUM = {
    "saliency": "Saliency", "inputxgradient": "InputXGradient", "integratedgradients": "IntegratedGradients",
    "guidedbackprop": "GuidedBackprop", "deconvolution": "Deconvolution",
}  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--dataset", default="KarateClub", help="see `polygrad datasets`, one with classes of nodes (KarateClub)")
    add("--model", default="gcn", help=f"{', '.join(MODELS)} (gcn)")
    add("--method", default="gnnexplainer", choices=METHODS, help="(gnnexplainer)")
    add("--node", type=int, help="the node to explain (the first one of the test that is classified rightly)")
    add("--epochs", type=int, help="of the training (the model's own)")
    add("--steps", type=int, default=200, help="of GNNExplainer (200)")
    add("--edges", type=int, default=40, help="edges that are kept (40)")
    add("--seed", type=int, default=0)
    add("--root", help="folder of the data; else POLYGRAD_DATA, ~/.cache/polygrad/data, or a download")
    add("--output", metavar="FILE", help="the page (polygrad-output/explain-DATASET-MODEL-NODE.html)")


def run(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from .learn import NodeRun

    model_of(args.model)
    args.model = args.model.lower()
    try:
        task = load(source_of(args.dataset), args.root)
    except (OSError, ValueError) as e:
        raise UserError(str(e)) from None
    if not isinstance(task, NodeTask):
        raise UserError(f"{args.dataset} has classes of graphs: explain takes data with classes of nodes")
    settings = settings_of(args.model, "nodes")
    settings = replace(settings, epochs=args.epochs) if args.epochs else settings
    show, train = Progress(), NodeRun(task, args.model, settings, args.seed, 100)
    train.compile()
    while not train.done:
        row = train.epoch()
        show.show(f"training, epoch {len(train.rows)} of {settings.epochs}, validation loss {row.val_loss:.3f}")
    show.clear()
    seen = train.look()
    node = _node(args, task, train, seen)
    found = _explain(args, train.net, task, node)
    path = args.output or os.path.join("polygrad-output", f"explain-{task.source.name}-{args.model}-{node}.html".lower())
    _write(args, path, found, task, seen, node)
    return 0


def _node(args: argparse.Namespace, task: NodeTask, train: Any, seen: dict[str, Any]) -> int:
    count = task.x.shape[0]
    if args.node is not None:
        if not 0 <= args.node < count:
            raise UserError(f"--node must lie between 0 and {count - 1}, not at {args.node}")
        return int(args.node)
    right = [v for v in train.parts[2] if seen["found"][v] == task.y[v]]
    return int(right[0] if right else train.parts[2][0])


def _explain(args: argparse.Namespace, net: Any, task: NodeTask, node: int) -> Any:
    from ..geometric.explain import AttentionExplainer, CaptumExplainer, Explainer, GNNExplainer

    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    if args.method == "attention":
        algorithm: Any = AttentionExplainer()
    elif args.method == "gnnexplainer":
        algorithm = GNNExplainer(epochs=args.steps)
    else:
        algorithm = CaptumExplainer(_CAPTUM[args.method])
    features = None if args.method == "attention" else "attributes"
    try:
        return Explainer(net, algorithm, "model", config, features, "object", ("topk", max(1, args.edges)))(task.x, task.edge_index, index=node)
    except ValueError as e:
        raise UserError(str(e)) from None


def _write(args: argparse.Namespace, path: str, found: Any, task: NodeTask, seen: dict[str, Any], node: int) -> None:
    from ..geometric.explain import write_page

    names = list(task.source.labels) if len(task.source.labels) == task.classes else [f"class {k}" for k in range(task.classes)]
    said, true = names[int(seen["found"][node])], names[int(task.y[node])]
    text = (
        f"{args.model} on {task.source.name} takes node {node} for {said}; it is {true}. The arrows are messages, the darker the more the answer "
        f"depends on them ({args.method})."
    )
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    write_page(found, path, f"Why node {node} is {said}", text)
    count = int((np.asarray(found.edge_mask.numpy()) > 0).sum())
    print(f"{text}\n{count} edges drawn in {os.path.abspath(path)}")


__all__ = ["arguments", "run"]
