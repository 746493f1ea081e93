"""Node classification on a graph that is sampled, not taken whole: GraphSAGE with NeighborLoader on an R-MAT graph.

Each batch is 1024 nodes with up to 10 neighbours of each, and 10 of each of those. Batches are drawn in C by threads while the network trains
on the last one; their sizes differ, and one compiled program serves them all. A node's class follows from its own features and
those of its neighbours, so a network that does not look at neighbours cannot get far.

    python examples/geometric/large_graph.py [--nodes 100000] [--edges 1500000] [--epochs 3]
"""

import argparse
import time

import numpy as np
from polygrad import Graph, Tensor, nn
from polygrad.geometric.data import Data
from polygrad.geometric.datasets.rmat import rmat_graph
from polygrad.geometric.loader import NeighborLoader
from polygrad.geometric.nn import SAGEConv

FEATURES, CLASSES = 32, 8


def make_data(nodes, edges, seed=0):
    """An R-MAT graph with random features; the class of a node is the largest of 8 sums over its features and its neighbours' mean."""
    rng = np.random.default_rng(seed)
    x = Tensor(rng.standard_normal((nodes, FEATURES), np.float32))
    edge_index = Tensor(rmat_graph(nodes, edges, seed=seed))
    graph = Graph(edge_index, nodes)
    seen = x + 3 * graph.mean(graph.src(x))
    y = (seen @ Tensor(rng.standard_normal((FEATURES, CLASSES), np.float32))).argmax(1)
    train = Tensor(rng.random(nodes) < 0.8)
    return Data(x=x.realize(), edge_index=edge_index, y=Tensor(y.numpy().astype(np.int64)), train_mask=train)


class SAGE(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.conv1, self.conv2 = SAGEConv(FEATURES, hidden), SAGEConv(hidden, CLASSES)

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)


def train(model, loader, optimizer):
    """Mean loss of an epoch."""
    model.train()
    total = 0.0
    for batch in loader:
        optimizer.zero_grad()
        out = model(batch.x, batch.edge_index)[: batch.batch_size]  # the first nodes are those of the batch
        loss = out.cross_entropy(batch.y[: batch.batch_size])
        loss.backward()
        optimizer.step()
        total += loss.item() * int(batch.batch_size)
    return total / len(loader.dataset)


def test(model, loader):
    """Share of the loader's nodes whose class is found."""
    model.eval()
    right = 0
    for batch in loader:
        out = model(batch.x, batch.edge_index)[: batch.batch_size]
        right += int((out.argmax(1) == batch.y[: batch.batch_size]).sum().item())
    return right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_500_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=64)
    args = parser.parse_args()

    Tensor.manual_seed(0)
    data = make_data(args.nodes, args.edges)
    print(data)
    rest = data.train_mask.logical_not()
    loader = NeighborLoader(data, [10, 10], input_nodes=data.train_mask, batch_size=args.batch_size, shuffle=True)
    test_loader = NeighborLoader(data, [20, 20], input_nodes=rest, batch_size=args.batch_size)
    model = SAGE(args.hidden)
    optimizer = nn.Adam(nn.get_parameters(model), lr=0.01)
    print(f"classes by chance: {np.bincount(data.y.numpy()).max() / args.nodes:.3f}")
    for epoch in range(1, args.epochs + 1):
        start = time.perf_counter()
        loss = train(model, loader, optimizer)
        took = time.perf_counter() - start
        print(f"epoch {epoch}: loss {loss:.3f}, {len(loader)} batches in {took:.1f} s, test accuracy {test(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
