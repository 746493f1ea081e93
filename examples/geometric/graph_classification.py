"""Graph classification: GIN on MUTAG and PROTEINS, tenfold cross-validation.

    PYTHONPATH=py python examples/geometric/graph_classification.py [--dataset MUTAG PROTEINS] [--epochs 40] [--folds 10] [--seed 0]

Each fold is the test set once; classes are as frequent in every fold as in all. The network is trained on the other nine for a fixed number of
epochs, with a learning rate that falls to zero, and then tested once: nothing is chosen by looking at the test graphs.
"""

import argparse
import time

import numpy as np
from polygrad import Tensor, nn
from polygrad.geometric.datasets import TUDataset
from polygrad.geometric.loader import DataLoader
from polygrad.geometric.nn import MLP, GINConv, global_add_pool, global_mean_pool


class GIN(nn.Module):
    """Rounds of `MLP((1 + eps) x_i + sum of x_j)`, a sum or mean over each graph, and two linear maps."""

    def __init__(self, in_channels, hidden, classes, layers, dropout, pool):
        super().__init__()
        widths = [in_channels] + [hidden] * layers
        self.convs = nn.ModuleList([GINConv(MLP([a, b, b], norm="batch_norm"), train_eps=True) for a, b in zip(widths, widths[1:])])
        self.norms = nn.ModuleList([nn.BatchNorm(hidden) for _ in range(layers)])
        self.hidden, self.out = nn.Linear(hidden, hidden), nn.Linear(hidden, classes)
        self.dropout, self.pool = dropout, pool

    def forward(self, x, edge_index, batch):
        for conv, norm in zip(self.convs, self.norms):
            x = norm(conv(x, edge_index)).relu()
        x = self.pool(x, batch)
        return self.out(self.hidden(x).relu().dropout(self.dropout))


def folds_of(y, count, seed):
    """Divides the graphs so that every class is dealt out evenly."""
    rng = np.random.default_rng(seed)
    place = np.empty(y.size, np.int64)
    start = 0
    for c in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == c))
        place[members] = (np.arange(members.size) + start) % count
        start += members.size
    return [np.flatnonzero(place == k) for k in range(count)]


def train_epoch(model, optimizer, loader):
    model.train()
    total = 0.0
    for data in loader:
        optimizer.zero_grad()
        loss = model(data.x, data.edge_index, data.batch).cross_entropy(data.y)
        loss.backward()
        optimizer.step()
        total += loss.item() * data.num_graphs
    return total / len(loader.dataset)


def accuracy(model, loader):
    model.eval()
    right = 0
    for data in loader:
        right += int((model(data.x, data.edge_index, data.batch).argmax(-1) == data.y).sum().item())
    return right / len(loader.dataset)


def run_fold(dataset, folds, k, epochs, pool, args):
    """Test accuracy of one fold, and the last training loss."""
    Tensor.manual_seed(args.seed * 1000 + k)
    train = np.concatenate([f for j, f in enumerate(folds) if j != k])
    loader = DataLoader(dataset[train], args.batch_size, shuffle=True, seed=args.seed * 1000 + k)
    readout = {"sum": global_add_pool, "mean": global_mean_pool}[pool]
    model = GIN(dataset.num_features, args.hidden, dataset.num_classes, args.layers, args.dropout, readout)
    optimizer = nn.Adam(model.parameters(), lr=args.lr)
    for epoch in range(epochs):
        optimizer.lr = args.lr * (1 + np.cos(np.pi * epoch / epochs)) / 2
        loss = train_epoch(model, optimizer, loader)
    return accuracy(model, DataLoader(dataset[folds[k]], 1024)), loss


def defaults(name):
    """Epochs, and how nodes are put together: MUTAG is small and counts matter there."""
    return (60, "sum") if name == "MUTAG" else (20, "mean")


def settings(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dataset", nargs="+", default=["MUTAG", "PROTEINS"])
    parser.add_argument("--root", default=None, help="folder of the data")
    parser.add_argument("--epochs", type=int, default=None, help="by default 60 for MUTAG, 20 for others")
    parser.add_argument("--pool", choices=["sum", "mean"], default=None, help="by default the sum for MUTAG, the mean for others")
    parser.add_argument("--folds", type=int, default=10, help="how many of the ten folds to run")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(words)


def main():
    args = settings()
    for name in args.dataset:
        dataset = TUDataset(args.root, name)
        folds = folds_of(dataset.data.y.numpy(), 10, args.seed)
        epochs, pool = defaults(name)
        epochs, pool = args.epochs or epochs, args.pool or pool
        found, start = [], time.perf_counter()
        for k in range(args.folds):
            result, loss = run_fold(dataset, folds, k, epochs, pool, args)
            found.append(result)
            print(f"{name} fold {k + 1:2d}: training loss {loss:.3f}, test accuracy {100 * result:5.1f} %", flush=True)
        epoch = (time.perf_counter() - start) / len(found) / epochs
        print(f"{name}: {100 * np.mean(found):.1f} ± {100 * np.std(found):.1f} % over {len(found)} folds, {1e3 * epoch:.0f} ms an epoch")


if __name__ == "__main__":
    main()
