"""A heterogeneous graph: R-GCN on AIFB, which says to which research group a person belongs.

    PYTHONPATH=py python examples/geometric/heterogeneous.py [--epochs 50] [--bases 30] [--runs 3]

The graph is a set of triples (subject, relation, object): 8,285 things, 90 types of edges. The things have no features, so the first layer has
a row of weights for each of them (x is None). The weights of the relations are mixtures of a few bases.
"""

import argparse
import time

import numpy as np
from polygrad import Graph, Tensor, nn
from polygrad.geometric.datasets import Entities
from polygrad.geometric.nn import RGCNConv
from polygrad.nn import compile_step


class Net(nn.Module):
    def __init__(self, nodes, classes, relations, bases, hidden=16):
        self.conv1 = RGCNConv(nodes, hidden, relations, num_bases=bases)
        self.conv2 = RGCNConv(hidden, classes, relations, num_bases=bases)

    def forward(self, graph, edge_type):
        return self.conv2(self.conv1(None, graph, edge_type).relu(), graph, edge_type)


def run(data, relations, args, seed):
    """Test accuracy after a fixed number of epochs."""
    Tensor.manual_seed(seed)
    graph = Graph(data.edge_index, data.num_nodes)
    model = Net(data.num_nodes, int(data.train_y.max().item()) + 1, relations, args.bases)
    optimizer = nn.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)

    def train_step(model, optimizer):
        loss = model(graph, data.edge_type)[data.train_idx].cross_entropy(data.train_y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    step = compile_step(train_step, model, optimizer)  # forward, backward and update are one plan
    for _ in range(args.epochs):
        step.run()
    found = model(graph, data.edge_type)[data.test_idx].argmax(-1)
    return float((found == data.test_y).float().mean().item()), step.loss_value()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--bases", type=int, default=30)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    dataset = Entities(name="AIFB")
    data = dataset[0]
    print(f"AIFB: {data.num_nodes} nodes, {data.num_edges} edges of {dataset.num_relations} types, {len(data.train_y)} people to learn from")
    found = []
    for seed in range(args.runs):
        start = time.perf_counter()
        accuracy, loss = run(data, dataset.num_relations, args, seed)
        found.append(accuracy)
        print(f"run {seed}: loss {loss:.4f}, test accuracy {accuracy:.3f}, {time.perf_counter() - start:.1f} s")
    print(f"test accuracy {np.mean(found):.3f} ± {np.std(found):.3f} over {args.runs} runs")


if __name__ == "__main__":
    main()
