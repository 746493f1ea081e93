"""Sets of graphs: batches of a loader, pooling that changes the graph, dense pooling. Plain loops over all batches; an epoch trains on all graphs."""

from __future__ import annotations


def _classify(lib, loader, model, forward, lr=0.01, extra=False):
    torch, F = lib.torch, lib.F
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch():
        model.train()
        total = right = count = 0.0
        for batch in loader:
            optimizer.zero_grad()
            out = forward(model, batch)
            out, more = out if extra else (out, 0.0)
            y = batch.y.view(-1)
            loss = F.cross_entropy(out, y) + more
            loss.backward()
            optimizer.step()
            total += float(loss)
            right += int((out.argmax(dim=-1) == y).sum())
            count += y.numel()
        return total, right / count

    return epoch


def mutag_gin(lib):
    torch = lib.torch
    loader = lib.loader(lib.graphs(188, 18, 40, 7), 128)
    model = lib.g.GIN(7, 32, 5, dropout=0.5, norm="batch_norm")
    head = torch.nn.Linear(32, 2)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gnn, self.head = model, head

        def forward(self, b):
            return self.head(lib.g.global_add_pool(self.gnn(b.x, b.edge_index), b.batch))

    return _classify(lib, loader, Net(), lambda m, b: m(b))


def proteins_gin(lib):
    """GIN with batch norm on graphs of PROTEINS' number and size."""
    torch = lib.torch
    loader = lib.loader(lib.graphs(1113, 39, 146, 3), 128)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gnn, self.head = lib.g.GIN(3, 64, 5, dropout=0.5, norm="batch_norm"), torch.nn.Linear(64, 2)

        def forward(self, b):
            return self.head(lib.g.global_add_pool(self.gnn(b.x, b.edge_index), b.batch))

    return _classify(lib, loader, Net(), lambda m, b: m(b))


def proteins_topk_pool(lib):
    torch, F, g = lib.torch, lib.F, lib.g
    loader = lib.loader(lib.graphs(1113, 39, 146, 3), 60)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.ModuleList([g.GraphConv(3, 128), g.GraphConv(128, 128), g.GraphConv(128, 128)])
            self.pool = torch.nn.ModuleList([g.TopKPooling(128, ratio=0.8) for _ in range(3)])
            self.lin1, self.lin2, self.lin3 = torch.nn.Linear(256, 128), torch.nn.Linear(128, 64), torch.nn.Linear(64, 2)

        def forward(self, b):
            x, edge_index, batch, parts = b.x, b.edge_index, b.batch, []
            for conv, pool in zip(self.conv, self.pool):
                x = F.relu(conv(x, edge_index))
                x, edge_index, _, batch, _, _ = pool(x, edge_index, None, batch)
                parts.append(torch.cat([g.global_max_pool(x, batch), g.global_mean_pool(x, batch)], dim=1))
            x = F.relu(self.lin1(parts[0] + parts[1] + parts[2]))
            x = F.dropout(x, p=0.5, training=self.training)
            return self.lin3(F.relu(self.lin2(x)))

    return _classify(lib, loader, Net(), lambda m, b: m(b), lr=0.0005)


def graph_unet(lib):
    """A U-Net of pooled graphs on the citation network; edges are dropped in each step."""
    torch, F, utils = lib.torch, lib.F, lib.utils
    d = lib.citation()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.unet = lib.g.GraphUNet(1433, 32, 7, depth=3, pool_ratios=[2000 / 2708, 0.5])

        def forward(self, x, edge_index):
            edge_index, _ = utils.dropout_edge(edge_index, p=0.2, force_undirected=True, training=self.training)
            x = F.dropout(x, p=0.92, training=self.training)
            return F.log_softmax(self.unet(x, edge_index), dim=1)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.001)

    def epoch():
        model.train()
        optimizer.zero_grad()
        loss = F.nll_loss(model(d.x, d.edge_index)[d.train_mask], d.y[d.train_mask])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            pred = model(d.x, d.edge_index).argmax(dim=-1)
        return float(loss), float((pred == d.y).float().mean())

    return epoch


def mincut(lib):
    torch, F, g, utils = lib.torch, lib.F, lib.g, lib.utils
    loader = lib.loader(lib.graphs(556, 39, 146, 3), 20)

    class Net(torch.nn.Module):
        def __init__(self, hidden=32):
            super().__init__()
            self.conv1, self.pool1 = g.GCNConv(3, hidden), torch.nn.Linear(hidden, 20)
            self.conv2, self.pool2 = g.DenseGraphConv(hidden, hidden), torch.nn.Linear(hidden, 10)
            self.conv3 = g.DenseGraphConv(hidden, hidden)
            self.lin1, self.lin2 = torch.nn.Linear(hidden, hidden), torch.nn.Linear(hidden, 2)

        def forward(self, b):
            x = F.relu(self.conv1(b.x, b.edge_index))
            x, mask = utils.to_dense_batch(x, b.batch)
            adj = utils.to_dense_adj(b.edge_index, b.batch)
            x, adj, mc1, o1 = g.dense_mincut_pool(x, adj, self.pool1(x), mask)
            x = F.relu(self.conv2(x, adj))
            x, adj, mc2, o2 = g.dense_mincut_pool(x, adj, self.pool2(x))
            x = self.conv3(x, adj).mean(dim=1)
            x = self.lin2(F.relu(self.lin1(x)))
            return x, mc1 + mc2 + o1 + o2

    return _classify(lib, loader, Net(), lambda m, b: m(b), lr=0.0005, extra=True)


def diff_pool(lib):
    torch, F, g, utils = lib.torch, lib.F, lib.g, lib.utils
    loader = lib.loader(lib.graphs(556, 39, 146, 3), 20)

    class GNN(torch.nn.Module):
        def __init__(self, i, h, o):
            super().__init__()
            self.convs = torch.nn.ModuleList([g.DenseSAGEConv(i, h), g.DenseSAGEConv(h, h), g.DenseSAGEConv(h, o)])
            self.bns = torch.nn.ModuleList([torch.nn.BatchNorm1d(h), torch.nn.BatchNorm1d(h), torch.nn.BatchNorm1d(o)])

        def forward(self, x, adj, mask=None):
            for conv, bn in zip(self.convs, self.bns):
                x = F.relu(conv(x, adj, mask))
                b, n, c = x.size()
                x = bn(x.view(-1, c)).view(b, n, c)
            return x

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.pool1, self.embed1 = GNN(3, 64, 38), GNN(3, 64, 64)
            self.pool2, self.embed2 = GNN(64, 64, 10), GNN(64, 64, 64)
            self.embed3, self.lin1, self.lin2 = GNN(64, 64, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, 2)

        def forward(self, b):
            x, mask = utils.to_dense_batch(b.x, b.batch)
            adj = utils.to_dense_adj(b.edge_index, b.batch)
            x, adj, l1, e1 = g.dense_diff_pool(self.embed1(x, adj, mask), adj, self.pool1(x, adj, mask), mask)
            x, adj, l2, e2 = g.dense_diff_pool(self.embed2(x, adj), adj, self.pool2(x, adj))
            x = self.embed3(x, adj).mean(dim=1)
            return self.lin2(F.relu(self.lin1(x))), l1 + l2 + e1 + e2

    return _classify(lib, loader, Net(), lambda m, b: m(b), lr=0.001, extra=True)


def ppi(lib):
    """Large graphs, many labels: attention 4 x 64."""
    torch, F = lib.torch, lib.F
    loader = lib.loader(lib.graphs(6, 2200, 61000, 50, labels=121), 1)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.lin1 = lib.g.GATConv(50, 64, heads=4), torch.nn.Linear(50, 256)
            self.conv2, self.lin2 = lib.g.GATConv(256, 64, heads=4), torch.nn.Linear(256, 256)
            self.conv3, self.lin3 = lib.g.GATConv(256, 121, heads=6, concat=False), torch.nn.Linear(256, 121)

        def forward(self, x, edge_index):
            x = F.elu(self.conv1(x, edge_index) + self.lin1(x))
            x = F.elu(self.conv2(x, edge_index) + self.lin2(x))
            return self.conv3(x, edge_index) + self.lin3(x)

    model, criterion = Net(), torch.nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

    def epoch():
        model.train()
        total = 0.0
        for b in loader:
            optimizer.zero_grad()
            loss = criterion(model(b.x, b.edge_index), b.y)
            total += loss.item()
            loss.backward()
            optimizer.step()
        return total, 0.0

    return epoch


__all__ = ["diff_pool", "graph_unet", "mincut", "mutag_gin", "ppi", "proteins_gin", "proteins_topk_pool"]
