"""The networks that `polygrad train` knows, with the settings of the papers that they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from .. import nn
from ..tensor import Tensor
from . import UserError
from .sources import no_such


@dataclass(frozen=True)
class Settings:
    """What a network is built and trained with."""

    hidden: int = 16
    layers: int = 2
    heads: int = 1
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 200


@dataclass(frozen=True)
class Model:
    """A kind of network: `conv(a, b, settings, last)` is a layer from width a to b; act is between layers."""

    text: str
    conv: Callable[[int, int, Settings, bool], Any]
    settings: Settings
    act: str = "relu"
    attention: bool = False  # layers can say their weights
    wide: bool = False  # the heads of a layer are side by side


def _gnn() -> Any:
    from ..geometric import nn as gnn

    return gnn


def _attention(name: str, **options: Any) -> Callable[[int, int, Settings, bool], Any]:
    def conv(a: int, b: int, s: Settings, last: bool) -> Any:
        return getattr(_gnn(), name)(a, b, heads=1 if last else s.heads, concat=not last, dropout=s.dropout, **options)

    return conv


def _gin(a: int, b: int, s: Settings, last: bool) -> Any:
    gnn = _gnn()
    return gnn.GINConv(gnn.MLP([a, s.hidden, b], norm="batch_norm"), train_eps=True)


_GAT = Settings(hidden=8, heads=8, dropout=0.6, lr=0.005, epochs=400)

MODELS = {
    "gcn": Model("graph convolution (Kipf and Welling)", lambda a, b, s, last: _gnn().GCNConv(a, b, cached=True), Settings()),
    "gat": Model("graph attention (Velickovic et al.)", _attention("GATConv"), _GAT, "elu", True, True),
    "gatv2": Model("dynamic graph attention (Brody et al.)", _attention("GATv2Conv", share_weights=True), _GAT, "elu", True, True),
    "transformer": Model("attention by queries and keys (Shi et al.)", _attention("TransformerConv"), _GAT, "elu", True, True),
    "sage": Model("mean of the neighbours (Hamilton et al.)", lambda a, b, s, last: _gnn().SAGEConv(a, b), Settings(hidden=64)),
    "gin": Model("sum of the neighbours and an MLP (Xu et al.)", _gin, Settings(hidden=64)),
    "sgc": Model("linear map of smoothed features (Wu et al.)", lambda a, b, s, last: _gnn().SGConv(a, b, K=2, cached=True),
                 Settings(layers=1, dropout=0.0, lr=0.1)),
    "appnp": Model("an MLP whose output is spread (Klicpera et al.)", lambda a, b, s, last: nn.Linear(a, b), Settings(hidden=64, epochs=300)),
    "cheb": Model("Chebyshev polynomials (Defferrard et al.)", lambda a, b, s, last: _gnn().ChebConv(a, b, K=2), Settings()),
    "tag": Model("powers of the adjacency (Du et al.)", lambda a, b, s, last: _gnn().TAGConv(a, b, K=3), Settings()),
    "arma": Model("ARMA filters (Bianchi et al.)", lambda a, b, s, last: _gnn().ARMAConv(a, b, num_stacks=2, dropout=0.25), Settings()),
    "graph": Model("sum of the neighbours (Morris et al.)", lambda a, b, s, last: _gnn().GraphConv(a, b, aggr="mean"), Settings()),
    "mlp": Model("no graph at all, to compare with", lambda a, b, s, last: nn.Linear(a, b), Settings(hidden=64)),
}  # fmt: skip

_WHOLE = Settings(hidden=32, layers=4, dropout=0.5, lr=0.01, weight_decay=0.0, epochs=60)


def model_of(name: str) -> Model:
    """By name; an error lists what there is."""
    if name.lower() not in MODELS:
        raise UserError(no_such("model", name, list(MODELS)))
    return MODELS[name.lower()]


def settings_of(name: str, task: str) -> Settings:
    """What a network takes by itself: for graphs, the same for all kinds but the heads."""
    own = model_of(name).settings
    if task == "nodes":
        return own
    return Settings(**{**_WHOLE.__dict__, "heads": 4 if model_of(name).wide else 1})


class NodeNet(nn.Module):
    """Layers with dropout before and an activation after each but the last."""

    def __init__(self, name: str, features: int, classes: int, s: Settings):
        model = model_of(name)
        wide = s.hidden * (s.heads if model.wide else 1)
        widths = [features, *[wide] * (s.layers - 1)]
        ends = [*[s.hidden] * (s.layers - 1), classes]
        self.convs = nn.ModuleList([model.conv(a, b, s, k == s.layers - 1) for k, (a, b) in enumerate(zip(widths, ends))])
        self._act, self._dropout = model.act, s.dropout
        self._plain = name in ("appnp", "mlp")
        self._spread = _gnn().APPNP(K=10, alpha=0.1, cached=True) if name == "appnp" else None

    def _layer(self, k: int, x: Tensor, graph: Any) -> Tensor:
        return self.convs[k](x) if self._plain else self.convs[k](x, graph)

    def embed(self, x: Tensor, graph: Any) -> Tensor:
        """What the last layer sees of each node."""
        for k in range(len(self.convs) - 1):
            x = getattr(self._layer(k, x.dropout(self._dropout), graph), self._act)()
        return x

    def forward(self, x: Tensor, graph: Any) -> Tensor:
        x = self._layer(len(self.convs) - 1, self.embed(x, graph).dropout(self._dropout), graph)
        return x if self._spread is None else self._spread(x, graph)

    def attention(self, x: Tensor, edge_index: Tensor) -> list[tuple[Tensor, Tensor]]:
        """For each layer (edge_index, the weight of each edge), the mean over the heads."""
        found = []
        for k, conv in enumerate(self.convs):
            x, (edges, alpha) = conv(x, edge_index, return_attention_weights=True)
            found.append((edges, alpha.mean(-1)))
            x = getattr(x, self._act)() if k < len(self.convs) - 1 else x
        return found


class GraphNet(nn.Module):
    """Layers with batch norm, the sum or the mean over each graph, and two linear maps."""

    def __init__(self, name: str, features: int, classes: int, s: Settings, pool: str):
        model, gnn = model_of(name), _gnn()
        if name in ("appnp", "sgc"):
            raise UserError(f"{name} is for nodes; for graphs there are {', '.join(m for m in MODELS if m not in ('appnp', 'sgc'))}")
        wide = s.hidden * (s.heads if model.wide else 1)
        # A batch is another graph each time: nothing of a graph may be kept in the layers.
        self.convs = nn.ModuleList([model.conv(a, s.hidden, s, False) for a in [features, *[wide] * (s.layers - 1)]])
        for conv in self.convs:
            if hasattr(conv, "cached"):
                conv.cached = False
        self.norms = nn.ModuleList([nn.BatchNorm(wide) for _ in range(s.layers)])
        self.hidden, self.out = nn.Linear(wide, s.hidden), nn.Linear(s.hidden, classes)
        self._dropout, self._plain, self._act = s.dropout, name == "mlp", model.act
        self._pool = {"sum": gnn.global_add_pool, "mean": gnn.global_mean_pool}[pool]

    def embed(self, x: Tensor, edge_index: Any, batch: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.norms):
            x = getattr(norm(conv(x) if self._plain else conv(x, edge_index)), self._act)()
        return self.hidden(self._pool(x, batch)).relu()

    def forward(self, x: Tensor, edge_index: Any, batch: Tensor) -> Tensor:
        return self.out(self.embed(x, edge_index, batch).dropout(self._dropout))


__all__ = ["MODELS", "GraphNet", "Model", "NodeNet", "Settings", "model_of", "settings_of"]
