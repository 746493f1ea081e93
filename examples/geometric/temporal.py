"""Events in time: a temporal graph network predicts which item a user comes back to.

    PYTHONPATH=py python examples/geometric/temporal.py [--events 4000] [--epochs 5]

Users like a few items each and mostly come back to them. The network (TGN) has a memory of every user and item, which an event between two of them
changes, and one layer of attention to the last neighbours. A prediction is made before its event is seen.
"""

import argparse

import numpy as np
from polygrad import Tensor, nn
from polygrad.geometric.data import TemporalData
from polygrad.geometric.loader import TemporalDataLoader
from polygrad.geometric.nn import TGNMemory, TransformerConv
from polygrad.geometric.nn.models.tgn import IdentityMessage, LastAggregator, LastNeighborLoader

USERS, ITEMS, FEATURES, DIM = 100, 40, 8, 16


def stream(events, rng):
    """Events (user, item, time, message) in which users come back to what they like."""
    liked = rng.integers(0, ITEMS, (USERS, 3))
    user = rng.integers(0, USERS, events)
    item = np.where(rng.random(events) < 0.85, liked[user, rng.integers(0, 3, events)], rng.integers(0, ITEMS, events)) + USERS
    time = np.cumsum(rng.integers(1, 50, events))
    return TemporalData(Tensor(user), Tensor(item), Tensor(time), Tensor(rng.standard_normal((events, FEATURES)).astype(np.float32)))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = TGNMemory(USERS + ITEMS, FEATURES, DIM, DIM, IdentityMessage(FEATURES, DIM, DIM), LastAggregator())
        self.conv = TransformerConv(DIM, DIM // 2, heads=2, edge_dim=FEATURES + DIM)
        self.lin1, self.lin2 = nn.Linear(2 * DIM, DIM), nn.Linear(DIM, 1)

    def embed(self, n_id, edge_index, t, msg):
        z, last = self.memory(n_id)
        since = self.memory.time_enc(last.cast("float32")[edge_index[0]] - t.cast("float32"))
        return self.conv(z, edge_index, since.cat(msg, dim=-1))

    def score(self, a, b):
        return self.lin2(self.lin1(a.cat(b, dim=-1)).relu()).reshape(-1)


def epoch(model, optimizer, neighbors, data, batch_size):
    """One pass over the stream; the share of pairs in which the true item is preferred to a random one."""
    model.memory.reset_state()
    neighbors.reset_state()
    place, right = np.zeros(USERS + ITEMS, np.int64), []
    for batch in TemporalDataLoader(data, batch_size=batch_size, neg_sampling_ratio=1.0):
        n_id, edge_index, e_id = neighbors(batch.n_id)
        place[n_id.numpy()] = np.arange(n_id.shape[0])
        z = model.embed(n_id, edge_index, data.t[e_id], data.msg[e_id])
        src, dst, neg = (z[Tensor(place[v.numpy()])] for v in (batch.src, batch.dst, batch.neg_dst))
        pos, no = model.score(src, dst), model.score(src, neg)
        optimizer.zero_grad()
        loss = pos.binary_crossentropy_logits(pos.ones_like()) + no.binary_crossentropy_logits(no.zeros_like())
        loss.backward()
        model.memory.update_state(batch.src, batch.dst, batch.t, batch.msg)
        neighbors.insert(batch.src, batch.dst)
        optimizer.step()
        model.memory.detach()
        right.append(float((pos.numpy() > no.numpy()).mean()))
    return float(np.mean(right))


def main(events=4000, epochs=5, batch_size=100):
    Tensor.manual_seed(0)
    data = stream(events, np.random.default_rng(0))
    model, neighbors = Network(), LastNeighborLoader(USERS + ITEMS, size=10)
    optimizer = nn.Adam(model.parameters(), lr=1e-2)
    model.train()
    for k in range(epochs):
        share = epoch(model, optimizer, neighbors, data, batch_size)
        print(f"epoch {k + 1}: the true item is preferred in {share:.3f} of the pairs")
    model.eval()
    return share


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    main(args.events, args.epochs)
