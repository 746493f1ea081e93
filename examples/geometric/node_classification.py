"""Node classification: GCN, GAT, SAGE, SGC and APPNP on Cora or CiteSeer, with the fixed split.

    PYTHONPATH=py python examples/geometric/node_classification.py [--dataset Cora] [--model gcn gat] [--runs 3] [--epochs 200]

Forward pass, backward pass and update are compiled into one plan, and so is the evaluation. Reported is the test accuracy at the epoch with the
lowest validation loss. Where there is neither Cora nor a network, Zachary's karate club takes its place.
"""

import argparse
import time

import numpy as np
from polygrad import Graph, Tensor, TinyJit, nn
from polygrad.geometric.datasets import KarateClub, Planetoid
from polygrad.geometric.nn import APPNP, GATConv, GCNConv, SAGEConv, SGConv
from polygrad.geometric.transforms import NormalizeFeatures
from polygrad.nn import compile_step


class GCN(nn.Module):
    lr, epochs = 0.01, 200

    def __init__(self, features, classes, hidden=16):
        self.conv1, self.conv2 = GCNConv(features, hidden, cached=True), GCNConv(hidden, classes, cached=True)

    def forward(self, x, graph):
        x = self.conv1(x.dropout(0.5), graph).relu()
        return self.conv2(x.dropout(0.5), graph)


class GAT(nn.Module):
    lr, epochs = 0.005, 400

    def __init__(self, features, classes, hidden=8, heads=8):
        self.conv1 = GATConv(features, hidden, heads=heads, dropout=0.6)
        self.conv2 = GATConv(heads * hidden, classes, concat=False, dropout=0.6)

    def forward(self, x, graph):
        x = self.conv1(x.dropout(0.6), graph).elu()
        return self.conv2(x.dropout(0.6), graph)


class SAGE(nn.Module):
    lr, epochs = 0.01, 200

    def __init__(self, features, classes, hidden=64):
        self.conv1, self.conv2 = SAGEConv(features, hidden), SAGEConv(hidden, classes)

    def forward(self, x, graph):
        x = self.conv1(x.dropout(0.5), graph).relu()
        return self.conv2(x.dropout(0.5), graph)


class SGC(nn.Module):
    lr, epochs = 0.1, 200

    def __init__(self, features, classes):
        self.conv = SGConv(features, classes, K=2, cached=True)

    def forward(self, x, graph):
        return self.conv(x, graph)


class PPNP(nn.Module):
    lr, epochs = 0.01, 300

    def __init__(self, features, classes, hidden=64):
        self.lin1, self.lin2 = nn.Linear(features, hidden), nn.Linear(hidden, classes)
        self.propagate = APPNP(K=10, alpha=0.1, cached=True)

    def forward(self, x, graph):
        x = self.lin1(x.dropout(0.5)).relu()
        return self.propagate(self.lin2(x.dropout(0.5)), graph)


MODELS = {"gcn": GCN, "gat": GAT, "sage": SAGE, "sgc": SGC, "appnp": PPNP}


def load(name):
    """The graph, and the nodes for training, validation and test."""
    try:
        dataset = Planetoid(None, name, transform=NormalizeFeatures())
    except OSError as error:
        print(f"{name} cannot be had ({str(error).splitlines()[0]}): the karate club takes its place")
        dataset = KarateClub()
    data = dataset[0]
    train = np.flatnonzero(data.train_mask.numpy())
    rest = np.setdiff1d(np.arange(data.num_nodes), train)
    val = np.flatnonzero(data.val_mask.numpy()) if "val_mask" in data else rest[::2]
    test = np.flatnonzero(data.test_mask.numpy()) if "test_mask" in data else rest[1::2]
    return dataset, data, [Tensor(part) for part in (train, val, test)]


def run(dataset, data, parts, kind, epochs, seed):
    """Validation loss and test accuracy of the best epoch, and seconds an epoch."""
    Tensor.manual_seed(seed)
    train, val, test = parts
    graph = Graph(data.edge_index, data.num_nodes)
    model = kind(dataset.num_features, dataset.num_classes)
    optimizer = nn.Adam(model.parameters(), lr=kind.lr, weight_decay=5e-4)

    def train_step(model, optimizer):
        loss = model(data.x, graph)[train].cross_entropy(data.y[train])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    def evaluate():
        out = model(data.x, graph)
        right = (out[test].argmax(-1) == data.y[test]).float().mean()
        return Tensor.stack(out[val].cross_entropy(data.y[val]), right).realize()

    model.train()
    step = compile_step(train_step, model, optimizer)
    model.eval()
    evaluate = TinyJit(evaluate)
    best, start = (np.inf, 0.0), time.perf_counter()
    for _ in range(epochs or kind.epochs):
        step.run()
        loss, right = evaluate().tolist()
        best = min(best, (loss, right), key=lambda b: b[0])
    return *best, (time.perf_counter() - start) / (epochs or kind.epochs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="Cora")
    parser.add_argument("--model", nargs="+", default=["gcn", "gat"], choices=list(MODELS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=None, help="by default as many as the model's authors took")
    args = parser.parse_args()
    dataset, data, parts = load(args.dataset)
    print(f"{dataset}: {data.num_nodes} nodes, {data.num_edges} edges, {dataset.num_features} features, {dataset.num_classes} classes")
    for name in args.model:
        found = [run(dataset, data, parts, MODELS[name], args.epochs, seed) for seed in range(args.runs)]
        right, epoch = [100 * f[1] for f in found], 1e3 * np.mean([f[2] for f in found])
        print(f"{name:6s} test accuracy {np.mean(right):.1f} ± {np.std(right):.1f} % over {args.runs} runs, {epoch:.1f} ms an epoch")


if __name__ == "__main__":
    main()
