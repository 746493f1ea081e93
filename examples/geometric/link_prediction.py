"""Link prediction: a graph autoencoder with two GCN layers tells the citations of Cora from pairs of papers without one.

    PYTHONPATH=py python examples/geometric/link_prediction.py [--dataset Cora] [--epochs 100] [--seed 0]

Some of the edges are held back for validation and test. A pair is scored by the product of its nodes' embeddings. The pairs without an edge are
drawn anew in every epoch and given to the compiled step as an input. Where there is neither Cora nor a network, a random graph with communities
takes its place.
"""

import argparse
import time

import numpy as np
from polygrad import Graph, Tensor, nn
from polygrad.geometric.datasets import Planetoid, StochasticBlockModelDataset
from polygrad.geometric.nn import GCNConv
from polygrad.geometric.transforms import NormalizeFeatures, RandomLinkSplit
from polygrad.geometric.utils import negative_sampling
from polygrad.nn import compile_step


class Autoencoder(nn.Module):
    def __init__(self, features, hidden=128, out=64):
        self.conv1, self.conv2 = GCNConv(features, hidden, cached=True), GCNConv(hidden, out, cached=True)

    def encode(self, x, graph):
        return self.conv2(self.conv1(x, graph).relu(), graph)

    def decode(self, z, pairs):
        return (z[pairs[0]] * z[pairs[1]]).sum(-1)


def load(name):
    try:
        return Planetoid(None, name, transform=NormalizeFeatures())[0]
    except OSError as error:
        print(f"{name} cannot be had ({str(error).splitlines()[0]}): a random graph takes its place")
    edge_probs = 0.01 + 0.09 * np.eye(4)
    return StochasticBlockModelDataset(None, [100] * 4, edge_probs.tolist(), num_channels=32)[0]


def auc(score, label):
    """The chance that a real edge is scored above a pair without one."""
    rank = np.empty(score.size)
    rank[np.argsort(score)] = np.arange(1, score.size + 1)
    real = label > 0
    return (rank[real].sum() - real.sum() * (real.sum() + 1) / 2) / (real.sum() * (~real).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="Cora")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    Tensor.manual_seed(args.seed)
    np.random.seed(args.seed)
    data = load(args.dataset)
    split = RandomLinkSplit(num_val=0.05, num_test=0.1, is_undirected=True, add_negative_train_samples=False)
    train, val, test = split(data)
    print(f"{train.num_edges} edges to learn from, {test.edge_label.shape[0]} pairs to tell apart")

    graph = Graph(train.edge_index, data.num_nodes)
    model = Autoencoder(data.num_features)
    optimizer = nn.Adam(model.parameters(), lr=0.01)
    real = train.edge_label_index

    def draw():
        return negative_sampling(train.edge_index, data.num_nodes, num_neg_samples=real.shape[1])

    def train_step(model, optimizer, false):
        z = model.encode(data.x, graph)
        scores = Tensor.cat(model.decode(z, real), model.decode(z, false))
        labels = Tensor.cat(Tensor.ones(real.shape[1]), Tensor.zeros(false.shape[1]))
        loss = scores.binary_crossentropy_logits(labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    def evaluate(part):
        scores = model.decode(model.encode(data.x, graph), part.edge_label_index)
        return auc(scores.numpy(), part.edge_label.numpy())

    model.train()
    step = compile_step(train_step, model, optimizer, draw())
    best, start = (0.0, 0.0), time.perf_counter()
    for epoch in range(1, args.epochs + 1):
        step.run(draw())
        if epoch % 10 == 0:
            model.eval()
            found = evaluate(val), evaluate(test)
            model.train()
            best = max(best, found)
            print(f"epoch {epoch:3d}: loss {step.loss_value():.4f}, area under the curve {found[0]:.3f} (validation), {found[1]:.3f} (test)")
    print(f"test {best[1]:.3f} at the best validation, {1e3 * (time.perf_counter() - start) / args.epochs:.1f} ms an epoch")


if __name__ == "__main__":
    main()
