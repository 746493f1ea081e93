"""Edges and embeddings: link prediction, autoencoder, deep graph infomax, Node2Vec. Plain loops; edges are drawn anew in each epoch."""

from __future__ import annotations


def link_pred(lib):
    torch, utils = lib.torch, lib.utils
    d = lib.citation()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = lib.g.GCNConv(1433, 128), lib.g.GCNConv(128, 64)

        def encode(self, x, edge_index):
            return self.conv2(self.conv1(x, edge_index).relu(), edge_index)

        def decode(self, z, pairs):
            return (z[pairs[0]] * z[pairs[1]]).sum(dim=-1)

    model, criterion = Net(), torch.nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    count = d.edge_index.size(1)
    true = torch.ones(count)

    def epoch():
        model.train()
        optimizer.zero_grad()
        z = model.encode(d.x, d.edge_index)
        negative = utils.negative_sampling(d.edge_index, num_nodes=d.num_nodes, num_neg_samples=count)
        pairs = torch.cat([d.edge_index, negative], dim=-1)
        label = torch.cat([true, torch.zeros(negative.size(1))], dim=0)
        loss = criterion(model.decode(z, pairs).view(-1), label)
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model.decode(model.encode(d.x, d.edge_index), pairs).sigmoid()
        return float(loss), float(((out > 0.5).float() == label).float().mean())

    return epoch


def autoencoder(lib):
    torch = lib.torch
    d = lib.citation()

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = lib.g.GCNConv(1433, 32), lib.g.GCNConv(32, 16)

        def forward(self, x, edge_index):
            return self.conv2(self.conv1(x, edge_index).relu(), edge_index)

    model = lib.g.GAE(Encoder())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def epoch():
        model.train()
        optimizer.zero_grad()
        loss = model.recon_loss(model.encode(d.x, d.edge_index), d.edge_index)
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            z = model.encode(d.x, d.edge_index)
            good = model.decoder(z, d.edge_index).mean()
        return float(loss), float(good)

    return epoch


def infomax(lib):
    torch = lib.torch
    d = lib.citation()

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.prelu = lib.g.GCNConv(1433, 512), torch.nn.PReLU(512)

        def forward(self, x, edge_index):
            return self.prelu(self.conv(x, edge_index))

    model = lib.g.DeepGraphInfomax(
        hidden_channels=512, encoder=Encoder(), summary=lambda z, *args, **kwargs: z.mean(dim=0).sigmoid(),
        corruption=lambda x, edge_index: (x[torch.randperm(x.size(0))], edge_index),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

    def epoch():
        model.train()
        optimizer.zero_grad()
        pos, neg, summary = model(d.x, d.edge_index)
        loss = model.loss(pos, neg, summary)
        loss.backward()
        optimizer.step()
        return float(loss), 0.0

    return epoch


def node2vec(lib):
    torch = lib.torch
    d = lib.citation()
    options = dict(embedding_dim=128, walk_length=20, context_size=10, walks_per_node=10, num_negative_samples=1, p=1.0, q=1.0, sparse=True)
    model = lib.g.Node2Vec(d.edge_index, **options)
    loader = model.loader(batch_size=128, shuffle=True)
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)

    def epoch():
        model.train()
        total = 0.0
        for pos, neg in loader:
            optimizer.zero_grad()
            loss = model.loss(pos, neg)
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total, 0.0

    return epoch


__all__ = ["autoencoder", "infomax", "link_pred", "node2vec"]
