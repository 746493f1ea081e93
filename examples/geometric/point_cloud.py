"""Point clouds: which of five shapes do points lie on?

    PYTHONPATH=py python examples/geometric/point_cloud.py [--model pointnet|dynamic] [--epochs 9] [--points 96]

Points are drawn from the surfaces of spheres, cubes, tori, cylinders and cones, turned at random and shaken. Each point is joined with its
nearest neighbours: once, by their positions (PointNet), or before every layer, by what the layers before have made of them
(dynamic graph CNN). Then every point sends messages to its neighbours, and the largest of each feature over all points says what it is.
"""

import argparse
import time

import numpy as np
from polygrad import Tensor, nn
from polygrad.geometric.data import Data
from polygrad.geometric.loader import DataLoader
from polygrad.geometric.nn import MLP, DynamicEdgeConv, PointNetConv, global_max_pool, knn_graph

SHAPES = ("sphere", "cube", "torus", "cylinder", "cone")


def points_of(shape, n, rng):
    """n points of a surface, turned by a random rotation, with a little noise."""
    u, v = rng.uniform(0, 2 * np.pi, n), rng.uniform(-1, 1, n)
    if shape == "sphere":
        p = rng.standard_normal((n, 3))
        p /= np.linalg.norm(p, axis=1, keepdims=True)
    elif shape == "cube":
        p = rng.uniform(-1, 1, (n, 3))
        p[np.arange(n), rng.integers(0, 3, n)] = rng.choice([-1, 1], n)
        p *= 0.8
    elif shape == "torus":
        r = 0.75 + 0.3 * np.cos(np.pi * v)
        p = np.stack([r * np.cos(u), r * np.sin(u), 0.3 * np.sin(np.pi * v)], 1)
    else:
        r = np.full(n, 0.6) if shape == "cylinder" else 0.9 * (1 - v) / 2
        p = np.stack([r * np.cos(u), r * np.sin(u), v], 1)
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    return (p @ turn + 0.02 * rng.standard_normal((n, 3))).astype(np.float32)


def clouds(count, n, seed):
    rng = np.random.default_rng(seed)
    return [Data(pos=Tensor(points_of(SHAPES[k % 5], n, rng)), y=Tensor([k % 5])) for k in range(count)]


class PointNet(nn.Module):
    """max over neighbours j of MLP([x_j, p_j - p_i]), twice."""

    def __init__(self, k=12):
        self.k = k
        self.conv1 = PointNetConv(MLP([3 + 3, 32, 32], norm=None))
        self.conv2 = PointNetConv(MLP([32 + 3, 64, 64], norm=None))
        self.norm1, self.norm2 = nn.BatchNorm(32), nn.BatchNorm(64)
        self.out = MLP([64, 32, len(SHAPES)], norm=None)

    def forward(self, pos, batch):
        edges = knn_graph(pos, self.k, batch)
        x = self.norm1(self.conv1(pos, pos, edges)).relu()
        x = self.norm2(self.conv2(x, pos, edges)).relu()
        return self.out(global_max_pool(x, batch))


class DynamicNet(nn.Module):
    """max over neighbours j of MLP([x_i, x_j - x_i]), with new neighbours for every layer."""

    def __init__(self, k=12):
        self.conv1 = DynamicEdgeConv(MLP([2 * 3, 32, 32], norm=None), k)
        self.conv2 = DynamicEdgeConv(MLP([2 * 32, 64], norm=None), k)
        self.norm1, self.norm2 = nn.BatchNorm(32), nn.BatchNorm(64)
        self.out = MLP([96, 32, len(SHAPES)], norm=None)

    def forward(self, pos, batch):
        x = self.norm1(self.conv1(pos, batch)).relu()
        y = self.norm2(self.conv2(x, batch)).relu()
        return self.out(global_max_pool(Tensor.cat(x, y, dim=1), batch))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["pointnet", "dynamic"], default="pointnet")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--points", type=int, default=96)
    args = parser.parse_args()
    Tensor.manual_seed(0)
    train = DataLoader(clouds(320, args.points, seed=1), batch_size=32, shuffle=True)
    test = DataLoader(clouds(160, args.points, seed=2), batch_size=32)
    model = PointNet() if args.model == "pointnet" else DynamicNet()
    optimizer = nn.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, args.epochs + 1):
        start, total = time.perf_counter(), 0.0
        with Tensor.train():
            for data in train:
                optimizer.zero_grad()
                loss = model(data.pos, data.batch).cross_entropy(data.y)
                loss.backward()
                optimizer.step()
                total += loss.item() / len(train)
        if epoch == 1 or epoch % 3 == 0:
            right = sum(int((model(d.pos, d.batch).argmax(-1) == d.y).sum().item()) for d in test)
            print(f"epoch {epoch:2d}: loss {total:.3f}, test accuracy {right / 160:.3f}, {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
