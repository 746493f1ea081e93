"""Molecules: energies and forces by SchNet, learned together.

    PYTHONPATH=py python examples/geometric/molecules.py [--molecules 64] [--epochs 30]

Molecules are made of a few atoms whose energy is a sum of pair potentials. The forces of the network are the derivatives of its energy, so a loss
of forces has second derivatives of the network.
"""

import argparse

import numpy as np
from polygrad import Tensor, nn
from polygrad.geometric.data import Data
from polygrad.geometric.loader import DataLoader
from polygrad.geometric.nn import SchNet


def molecule(rng):
    """Atoms on a shaken grid, their energy sum_ij z_i z_j exp(-d_ij) over pairs, and the forces."""
    n = int(rng.integers(5, 8))
    grid = np.stack(np.meshgrid(*[np.arange(2.0)] * 3), -1).reshape(-1, 3)
    pos, z = grid[rng.permutation(8)[:n]] * 1.3 + rng.uniform(-0.2, 0.2, (n, 3)), rng.integers(1, 4, n)
    between = pos[:, None] - pos[None]
    d = np.sqrt((between**2).sum(-1)) + np.eye(n)
    pair = np.outer(z, z) * np.exp(-d) * (1 - np.eye(n))
    force = (pair[..., None] * between / d[..., None]).sum(1)
    floats = {"pos": pos, "y": [pair.sum() / 2], "force": force}
    return Data(z=Tensor(z), **{k: Tensor(np.asarray(v, np.float32)) for k, v in floats.items()})


def main(molecules=64, epochs=30):
    Tensor.manual_seed(0)
    rng = np.random.default_rng(0)
    train = [molecule(rng) for _ in range(molecules)]
    loader = DataLoader(train, batch_size=16, shuffle=True, seed=0)
    model = SchNet(hidden_channels=32, num_filters=32, num_interactions=2, num_gaussians=16, cutoff=5.0)
    optimizer = nn.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        errors = []
        for batch in loader:
            pos = batch.pos.detach()
            pos.requires_grad = True
            energy = model(batch.z, pos, batch.batch).reshape(-1)
            force = -energy.sum().gradient(pos)[0]
            optimizer.zero_grad()
            loss = (energy - batch.y).square().mean() + (force - batch.force).square().mean()
            loss.backward()
            off = (force - batch.force).abs().mean()
            loss.realize(off)
            optimizer.step()
            errors.append((loss.item(), off.item()))
        loss, off = np.mean(errors, axis=0)
        if epoch % 5 == 4 or epoch == 0:
            print(f"epoch {epoch + 1}: loss {loss:.4f}, forces are off by {off:.4f}")
    return float(loss)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=30)
    args = parser.parse_args()
    main(args.molecules, args.epochs)
