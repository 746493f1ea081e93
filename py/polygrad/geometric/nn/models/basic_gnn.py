"""Models that are one kind of layer several times."""

from __future__ import annotations

import copy
from typing import Any

from .... import nn
from ....tensor import Tensor
from ..inits import reset
from ..kge.base import progress
from ..resolver import activation_resolver, normalization_resolver
from .jumping_knowledge import JumpingKnowledge
from .mlp import MLP, takes_batch


class BasicGNN(nn.Module):
    """num_layers layers with normalisation, activation and dropout between them; subclasses say which layers, by init_conv.

    out_channels: size of the last layer, or hidden_channels if it is None. act, norm: names or modules, or None. act_first: activation before
    normalisation. jk: 'last', 'cat', 'max' or 'lstm' put a linear layer after all of them, see JumpingKnowledge. Further keywords go to the
    layers.

    Shapes: x [V, F_in], edge_index [2, E], edge_weight [E], edge_attr [E, D], batch [V]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import BasicGNN, GraphConv
    >>> class Net(BasicGNN):
    ...     supports_edge_weight, supports_edge_attr = True, False
    ...
    ...     def init_conv(self, in_channels, out_channels, **kwargs):
    ...         return GraphConv(in_channels, out_channels, **kwargs)
    >>> Net(4, 8, num_layers=2, out_channels=3)(Tensor.ones(3, 4), Tensor([[0, 1, 2], [1, 2, 0]])).shape
    (3, 3)
    """

    supports_edge_weight = False
    supports_edge_attr = False

    def __init__(
        self, in_channels: Any, hidden_channels: int, num_layers: int, out_channels: int | None = None, dropout: float = 0.0, act: Any = "relu",
        act_first: bool = False, act_kwargs: dict[str, Any] | None = None, norm: Any = None, norm_kwargs: dict[str, Any] | None = None,
        jk: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        self.in_channels, self.hidden_channels, self.num_layers = in_channels, hidden_channels, num_layers
        self.out_channels = hidden_channels if out_channels is None else out_channels
        self.dropout = nn.Dropout(dropout)
        self.act = activation_resolver(act, **(act_kwargs or {}))
        self.jk_mode, self.act_first = jk, act_first
        self.norm, self.norm_kwargs = norm if isinstance(norm, str) else None, norm_kwargs

        to_out = out_channels is not None and jk is None
        self.convs = nn.ModuleList()
        for k in range(num_layers):
            self._is_conv_to_out = to_out and k == num_layers - 1
            self.convs.append(self.init_conv(in_channels, self.out_channels if self._is_conv_to_out else hidden_channels, **kwargs))
            in_channels = (hidden_channels, hidden_channels) if isinstance(in_channels, (tuple, list)) else hidden_channels

        layer = normalization_resolver(norm, hidden_channels, **(norm_kwargs or {}))
        layer = nn.Identity() if layer is None else layer
        self.supports_norm_batch = takes_batch(layer)
        self.norms = nn.ModuleList([copy.deepcopy(layer) for _ in range(num_layers - 1)])
        self.norms.append(nn.Identity() if jk is None else copy.deepcopy(layer))
        if jk is not None and jk != "last":
            self.jk = JumpingKnowledge(jk, hidden_channels, num_layers)
        if jk is not None:
            self.lin = nn.Linear(num_layers * hidden_channels if jk == "cat" else hidden_channels, self.out_channels)

    def init_conv(self, in_channels: Any, out_channels: int, **kwargs: Any) -> Any:
        """One layer; subclasses override it."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (*self.convs, *self.norms, getattr(self, "jk", None), getattr(self, "lin", None)):
            reset(part)

    def forward(
        self, x: Any, edge_index: Any, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None, batch: Tensor | None = None,
        batch_size: int | None = None, num_sampled_nodes_per_hop: list[int] | None = None, num_sampled_edges_per_hop: list[int] | None = None,
    ) -> Tensor:  # fmt: skip
        """edge_weight, edge_attr: for layers that take them. batch, batch_size: for normalisations. num_sampled_...: each layer computes only
        what later ones need of a sampled graph, see trim_to_layer."""
        trim = num_sampled_nodes_per_hop is not None
        if trim and edge_weight is not None and edge_attr is not None:
            raise NotImplementedError("'trim_to_layer' functionality does not yet support trimming of both 'edge_weight' and 'edge_attr'")
        xs: list[Tensor] = []
        for k, conv in enumerate(self.convs):
            if trim:
                x, edge_index, edge_weight, edge_attr = _trim(
                    k, num_sampled_nodes_per_hop, num_sampled_edges_per_hop, x, edge_index, edge_weight, edge_attr
                )
            given = {}
            if self.supports_edge_weight:
                given["edge_weight"] = edge_weight
            if self.supports_edge_attr:
                given["edge_attr"] = edge_attr
            x = conv(x, edge_index, **given)
            if k < self.num_layers - 1 or self.jk_mode is not None:
                x = self.dropout(self._between(k, x, batch, batch_size))
                xs.append(x)
        x = self.jk(xs) if hasattr(self, "jk") else x
        return self.lin(x) if hasattr(self, "lin") else x

    def _between(self, k: int, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        """Normalisation and activation after layer k."""
        if self.act is not None and self.act_first:
            x = self.act(x)
        norm = self.norms[k]
        x = norm(x, batch, batch_size) if self.supports_norm_batch else norm(x)
        return self.act(x) if self.act is not None and not self.act_first else x

    def inference_per_layer(self, layer: int, x: Tensor, edge_index: Any, batch_size: int) -> Tensor:
        """One layer of `inference`, for the first batch_size nodes."""
        with Tensor.no_grad():
            x = self.convs[layer](x, edge_index)[:batch_size]
            if layer == self.num_layers - 1 and self.jk_mode is None:
                return x
            x = self._between(layer, x)
            return self.lin(x) if layer == self.num_layers - 1 and hasattr(self, "lin") else x

    def inference(self, loader: Any, device: Any = None, embedding_device: Any = "cpu", progress_bar: bool = False, cache: bool = False) -> Tensor:
        """The output for all nodes, layer after layer: every layer is computed once per node, from the batches of a loader that samples one hop
        (num_neighbors=[-1]) and goes over all nodes in their order."""
        if self.jk_mode not in (None, "last"):
            raise ValueError(f"inference layer by layer does not work with jk={self.jk_mode!r}")
        if Tensor.training:
            raise ValueError("inference is for evaluation: call eval() first")
        x_all = loader.data.x
        batches: Any = list(loader) if cache else loader
        for k in range(self.num_layers):
            xs = []
            for batch in progress(batches, progress_bar):
                edge_index = batch.adj_t if hasattr(batch, "adj_t") else batch.edge_index
                xs.append(self.inference_per_layer(k, x_all[batch.n_id], edge_index, batch.batch_size).realize())
            x_all = Tensor.cat(*xs).realize()
        return x_all

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, num_layers={self.num_layers}"


def _trim(k: int, nodes: Any, edges: Any, x: Any, edge_index: Any, weight: Any, attr: Any) -> tuple[Any, Any, Any, Any]:
    from ...utils import trim_to_layer

    x, edge_index, value = trim_to_layer(k, nodes, edges, x, edge_index, weight if weight is not None else attr)
    return (x, edge_index, value, attr) if weight is not None else (x, edge_index, weight, value)


class GCN(BasicGNN):
    """GCNConv layers (Kipf and Welling, 2016).

    Shapes: x [V, F_in], edge_index [2, E], edge_weight [E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GCN
    >>> GCN(4, 16, num_layers=2, out_channels=3)(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 3)
    """

    supports_edge_weight = True

    def init_conv(self, in_channels: Any, out_channels: int, **kwargs: Any) -> Any:
        from ..conv.gcn_conv import GCNConv

        return GCNConv(in_channels, out_channels, **kwargs)


class GraphSAGE(BasicGNN):
    """SAGEConv layers (Hamilton et al., 2017); in_channels may be a pair.

    Shapes: x [V, F_in], edge_index [2, E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GraphSAGE
    >>> GraphSAGE(4, 16, num_layers=2, out_channels=3, jk="cat")(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 3)
    """

    def init_conv(self, in_channels: Any, out_channels: int, **kwargs: Any) -> Any:
        from ..conv.sage_conv import SAGEConv

        return SAGEConv(in_channels, out_channels, **kwargs)


class GIN(BasicGNN):
    """GINConv layers with MLPs of two layers (Xu et al., 2018).

    Shapes: x [V, F_in], edge_index [2, E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GIN
    >>> GIN(4, 16, num_layers=2)(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 16)
    """

    def init_conv(self, in_channels: Any, out_channels: int, **kwargs: Any) -> Any:
        from ..conv.gin_conv import GINConv

        sizes = [in_channels, out_channels, out_channels]
        return GINConv(MLP(sizes, act=self.act, act_first=self.act_first, norm=self.norm, norm_kwargs=self.norm_kwargs), **kwargs)


class GAT(BasicGNN):
    """GATConv layers, or GATv2Conv with v2=True (Velickovic et al., 2017; Brody et al., 2021). heads share hidden_channels; the last layer
    takes their mean if out_channels is given.

    Shapes: x [V, F_in], edge_index [2, E], edge_attr [E, D]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GAT
    >>> GAT(4, 16, num_layers=2, out_channels=3, heads=4)(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 3)
    """

    supports_edge_attr = True

    def init_conv(self, in_channels: Any, out_channels: int, **kwargs: Any) -> Any:
        v2, heads, concat = kwargs.pop("v2", False), kwargs.pop("heads", 1), kwargs.pop("concat", True)
        concat = concat and not self._is_conv_to_out
        if concat and out_channels % heads:
            raise ValueError(
                f"Ensure that the number of output channels of 'GATConv' (got '{out_channels}') is divisible by the number of heads (got '{heads}')"
            )
        if v2:
            from ..conv.gatv2_conv import GATv2Conv as Conv
        else:
            from ..conv.gat_conv import GATConv as Conv  # type: ignore[assignment]
        return Conv(in_channels, out_channels // heads if concat else out_channels, heads=heads, concat=concat, dropout=self.dropout.p, **kwargs)


class PNA(BasicGNN):
    """PNAConv layers (Corso et al., 2020); aggregators, scalers and deg are needed.

    Shapes: x [V, F_in], edge_index [2, E], edge_attr [E, D]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PNA
    >>> model = PNA(4, 16, num_layers=2, aggregators=["mean", "max"], scalers=["identity"], deg=Tensor([1, 2]))
    >>> model(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 16)
    """

    supports_edge_attr = True

    def init_conv(self, in_channels: Any, out_channels: int, **kwargs: Any) -> Any:
        from ..conv.pna_conv import PNAConv

        return PNAConv(in_channels, out_channels, **kwargs)


class EdgeCNN(BasicGNN):
    """EdgeConv layers with MLPs of two layers (Wang et al., 2018).

    Shapes: x [V, F_in], edge_index [2, E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import EdgeCNN
    >>> EdgeCNN(4, 16, num_layers=2)(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 16)
    """

    def init_conv(self, in_channels: Any, out_channels: int, **kwargs: Any) -> Any:
        from ..conv.edge_conv import EdgeConv

        sizes = [2 * in_channels, out_channels, out_channels]
        return EdgeConv(MLP(sizes, act=self.act, act_first=self.act_first, norm=self.norm, norm_kwargs=self.norm_kwargs), **kwargs)


__all__ = ["GAT", "GCN", "GIN", "PNA", "BasicGNN", "EdgeCNN", "GraphSAGE"]
