"""Node classification on a citation network, one plain loop for each model: training step and evaluation are one epoch."""

from __future__ import annotations

import data


def _loop(lib, model, forward, lr=0.01, weight_decay=5e-4):
    """An epoch: a step of Adam on the training nodes, then the accuracy on all."""
    torch, F = lib.torch, lib.F
    d = lib.citation()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay)

    def epoch():
        model.train()
        optimizer.zero_grad()
        loss = F.nll_loss(forward(model, d)[d.train_mask], d.y[d.train_mask])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            pred = forward(model, d).argmax(dim=-1)
        return float(loss), float((pred == d.y).float().mean())

    return epoch


def _two_layers(lib, first, second, act="relu", p=0.5):
    torch, F = lib.torch, lib.F

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = first(lib.g), second(lib.g)

        def forward(self, x, edge_index):
            x = F.dropout(x, p=p, training=self.training)
            x = getattr(F, act)(self.conv1(x, edge_index))
            x = F.dropout(x, p=p, training=self.training)
            return F.log_softmax(self.conv2(x, edge_index), dim=-1)

    return _loop(lib, Net(), lambda m, d: m(d.x, d.edge_index), lr=0.005 if act == "elu" else 0.01)


def gcn(lib):
    return _two_layers(lib, lambda g: g.GCNConv(1433, 16), lambda g: g.GCNConv(16, 7))


def gat(lib):
    return _two_layers(
        lib, lambda g: g.GATConv(1433, 8, heads=8, dropout=0.6), lambda g: g.GATConv(64, 7, heads=1, concat=False, dropout=0.6), act="elu", p=0.6
    )


def arma(lib):
    return _two_layers(
        lib, lambda g: g.ARMAConv(1433, 16, num_stacks=3, num_layers=2, shared_weights=True, dropout=0.25),
        lambda g: g.ARMAConv(16, 7, num_stacks=3, num_layers=2, shared_weights=True, dropout=0.25, act=lambda x: x),
    )  # fmt: skip


def tagcn(lib):
    return _two_layers(lib, lambda g: g.TAGConv(1433, 16), lambda g: g.TAGConv(16, 7))


def sgc(lib):
    torch, F = lib.torch, lib.F

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = lib.g.SGConv(1433, 7, K=2, cached=True)

        def forward(self, x, edge_index):
            return F.log_softmax(self.conv1(x, edge_index), dim=1)

    return _loop(lib, Net(), lambda m, d: m(d.x, d.edge_index), lr=0.2, weight_decay=0.005)


def agnn(lib):
    torch, F = lib.torch, lib.F

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin1, self.lin2 = torch.nn.Linear(1433, 16), torch.nn.Linear(16, 7)
            self.prop1, self.prop2 = lib.g.AGNNConv(requires_grad=False), lib.g.AGNNConv(requires_grad=True)

        def forward(self, x, edge_index):
            x = F.dropout(x, training=self.training)
            x = F.relu(self.lin1(x))
            x = self.prop2(self.prop1(x, edge_index), edge_index)
            x = F.dropout(x, training=self.training)
            return F.log_softmax(self.lin2(x), dim=1)

    return _loop(lib, Net(), lambda m, d: m(d.x, d.edge_index))


def gcn2(lib):
    torch, F = lib.torch, lib.F

    class Net(torch.nn.Module):
        def __init__(self, hidden=64, layers=64):
            super().__init__()
            self.lins = torch.nn.ModuleList([torch.nn.Linear(1433, hidden), torch.nn.Linear(hidden, 7)])
            self.convs = torch.nn.ModuleList([lib.g.GCN2Conv(hidden, 0.1, 0.5, i + 1, True, normalize=True) for i in range(layers)])

        def forward(self, x, edge_index):
            x = F.dropout(x, 0.6, training=self.training)
            x = x0 = self.lins[0](x).relu()
            for conv in self.convs:
                x = F.dropout(x, 0.6, training=self.training)
                x = conv(x, x0, edge_index).relu()
            x = F.dropout(x, 0.6, training=self.training)
            return self.lins[1](x).log_softmax(dim=-1)

    return _loop(lib, Net(), lambda m, d: m(d.x, d.edge_index))


def dna(lib):
    torch, F = lib.torch, lib.F

    class Net(torch.nn.Module):
        def __init__(self, hidden=128, layers=5):
            super().__init__()
            self.hidden, self.lin1, self.lin2 = hidden, torch.nn.Linear(1433, hidden), torch.nn.Linear(hidden, 7)
            self.convs = torch.nn.ModuleList([lib.g.DNAConv(hidden, heads=8, groups=16, dropout=0.8) for _ in range(layers)])

        def forward(self, x, edge_index):
            x = F.relu(self.lin1(x))
            x = F.dropout(x, p=0.5, training=self.training)
            x_all = x.view(-1, 1, self.hidden)
            for conv in self.convs:
                x = F.relu(conv(x_all, edge_index)).view(-1, 1, self.hidden)
                x_all = torch.cat([x_all, x], dim=1)
            x = F.dropout(x_all[:, -1], p=0.5, training=self.training)
            return torch.log_softmax(self.lin2(x), dim=1)

    return _loop(lib, Net(), lambda m, d: m(d.x, d.edge_index), lr=0.005, weight_decay=0.0005)


def super_gat(lib):
    """Draws other edges in each step: for dropped edges and for the task of telling edges from pairs that are none."""
    torch, F = lib.torch, lib.F
    d = lib.citation()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = lib.g.SuperGATConv(1433, 8, heads=8, dropout=0.6, attention_type="MX", edge_sample_ratio=0.8, is_undirected=True)
            self.conv2 = lib.g.SuperGATConv(64, 7, heads=8, concat=False, dropout=0.6, attention_type="MX", edge_sample_ratio=0.8, is_undirected=True)

        def forward(self, x, edge_index):
            x = F.dropout(x, p=0.6, training=self.training)
            x = F.elu(self.conv1(x, edge_index))
            att = self.conv1.get_attention_loss()
            x = F.dropout(x, p=0.6, training=self.training)
            x = self.conv2(x, edge_index)
            return F.log_softmax(x, dim=-1), att + self.conv2.get_attention_loss()

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)

    def epoch():
        model.train()
        optimizer.zero_grad()
        out, att = model(d.x, d.edge_index)
        loss = F.nll_loss(out[d.train_mask], d.y[d.train_mask]) + 4.0 * att
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            pred = model(d.x, d.edge_index)[0].argmax(dim=-1)
        return float(loss), float((pred == d.y).float().mean())

    return epoch


__all__ = ["agnn", "arma", "data", "dna", "gat", "gcn", "gcn2", "sgc", "super_gat", "tagcn"]
