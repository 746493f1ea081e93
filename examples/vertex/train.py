"""Trains two attention layers, written as vertex programs, to tell the communities of a random graph apart.

python examples/vertex/train.py
"""

import numpy as np
from gat import GAT
from polygrad import Graph, Tensor, nn


def communities(nodes=120, groups=3, seed=0):
    """Edges mostly within a group, noisy features; returns graph, features and labels."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, groups, nodes)
    same = label[:, None] == label[None]
    index = np.stack(np.nonzero(rng.random((nodes, nodes)) < np.where(same, 0.15, 0.02)))
    feature = np.eye(groups)[label] + rng.standard_normal((nodes, groups)) * 0.9
    return Graph(index, nodes).with_self_loops(only_missing=True), feature.astype(np.float32), label.astype(np.int32)


class Net(nn.Module):
    def __init__(self, features, hidden, classes):
        self.l1, self.l2 = GAT(features, hidden, heads=2), GAT(2 * hidden, classes)

    def forward(self, graph, x):
        return self.l2(graph, self.l1(graph, x).flatten(1).elu()).flatten(1)


def train(steps=60, seed=0):
    """Accuracy on the nodes whose label was not used."""
    Tensor.manual_seed(seed)
    graph, feature, label = communities(seed=seed)
    x, y = Tensor(feature), Tensor(label)
    known = Tensor(np.arange(len(label), dtype=np.int32)[::3].copy())
    net = Net(feature.shape[1], 8, int(label.max()) + 1)
    optim = nn.optim.Adam(net.parameters(), lr=0.02, weight_decay=5e-3)
    for step in range(steps):
        optim.zero_grad()
        loss = net(graph, x)[known].cross_entropy(y[known]).backward()
        optim.step()
        if step % 20 == 0:
            print(f"step {step:3}  loss {loss.item():.3f}")
    hidden = np.arange(len(label)) % 3 != 0
    accuracy = (net(graph, x).argmax(1).numpy() == label)[hidden].mean()
    print(f"accuracy {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    train()
