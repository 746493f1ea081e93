"""GPSE: encodings of positions and structure that are learned once for all graphs (Canturk et al., "Graph positional and structural encoder",
2023)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .... import nn
from ....tensor import Tensor
from ..._length import normalize
from ..._rows import rows_of
from ...utils import _host
from ..aggr.dense import dense_rows
from ..conv.res_gated_graph_conv import ResGatedGraphConv
from ..pool.glob import global_add_pool, global_max_pool, global_mean_pool
from ..resolver import activation_resolver

_POOLS = {"add": global_add_pool, "max": global_max_pool, "mean": global_mean_pool}


class _Wrapped(nn.Module):
    """A layer under the name `model`, which published parameters have it by."""

    def __init__(self, model: Any):
        self.model = model

    def forward(self, *args: Any) -> Tensor:
        return self.model(*args)


class GeneralLayer(nn.Module):
    """A linear map or a convolution, then normalisation over the batch, dropout, activation, and rows of length 1."""

    def __init__(
        self, name: str, in_channels: int, out_channels: int, has_batch_norm: bool, has_l2_norm: bool, dropout: float, act: str | None
    ):  # fmt: skip
        if name not in ("linear", "resgatedgcnconv"):
            raise ValueError(f"a layer must be 'linear' or 'resgatedgcnconv', not {name!r}")
        self.has_l2_norm, self._on_edges = has_l2_norm, name != "linear"
        bias = not has_batch_norm
        self.layer = _Wrapped(
            ResGatedGraphConv(in_channels, out_channels, bias=bias) if self._on_edges else nn.Linear(in_channels, out_channels, bias)
        )
        after: list[Any] = [nn.BatchNorm1d(out_channels)] if has_batch_norm else []
        after += [nn.Dropout(dropout)] if dropout > 0 else []
        after += [activation_resolver(act)] if act is not None else []
        self.post_layer = nn.Sequential(*after)

    def forward(self, x: Tensor, edge_index: Any = None) -> Tensor:
        x = self.post_layer(self.layer(x, edge_index) if self._on_edges else self.layer(x))
        return normalize(x, 2.0, 1) if self.has_l2_norm else x


class GeneralMultiLayer(nn.Module):
    """Layers of one kind after each other, as attributes Layer_0, Layer_1, ..."""

    def __init__(self, name: str, sizes: list[int], has_batch_norm: bool, has_l2_norm: bool, dropout: float, act: str, final_act: bool):
        self._layers = []
        for k, (a, b) in enumerate(zip(sizes, sizes[1:])):
            last = k == len(sizes) - 2
            layer = GeneralLayer(name, a, b, has_batch_norm, has_l2_norm, dropout, None if last and not final_act else act)
            setattr(self, f"Layer_{k}", layer)
            self._layers.append(layer)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self._layers:
            x = layer(x)
        return x


class MLP(nn.Module):
    """num_layers - 1 general layers and a linear one."""

    def __init__(
        self, in_channels: int, out_channels: int, hidden_channels: int, num_layers: int, has_batch_norm: bool, has_l2_norm: bool, dropout: float,
        act: str,
    ):  # fmt: skip
        layers: list[Any] = []
        if num_layers > 1:
            sizes = [in_channels, *[hidden_channels] * (num_layers - 1)]
            layers.append(GeneralMultiLayer("linear", sizes, has_batch_norm, has_l2_norm, dropout, act, final_act=True))
        self.model = nn.Sequential(*layers, _Wrapped(nn.Linear(hidden_channels, out_channels)))

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x)


class GNNStackStage(nn.Module):
    """Convolutions with skip connections, as attributes layer0, layer1, ..."""

    def __init__(
        self, in_channels: int, out_channels: int, num_layers: int, layer_type: str, stage_type: str, final_l2_norm: bool, has_batch_norm: bool,
        has_l2_norm: bool, dropout: float, act: str | None,
    ):  # fmt: skip
        self.num_layers, self.stage_type, self.final_l2_norm = num_layers, stage_type, final_l2_norm
        self._layers = []
        for k in range(num_layers):
            wide = in_channels + k * out_channels if stage_type == "skipconcat" else out_channels
            layer = GeneralLayer(layer_type, wide if k else in_channels, out_channels, has_batch_norm, has_l2_norm, dropout, act)
            setattr(self, f"layer{k}", layer)
            self._layers.append(layer)

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        for k, layer in enumerate(self._layers):
            new = layer(x, edge_index)
            if self.stage_type == "skipsum":
                x = x + new
            else:
                x = Tensor.cat(x, new, dim=1) if self.stage_type == "skipconcat" and k < self.num_layers - 1 else new
        return normalize(x, 2.0, -1) if self.final_l2_norm else x


def _without_virtual(batch: Tensor) -> Tensor:
    """All nodes but the last of each graph."""
    of = _host.vector(batch, "batch")
    order = _host.stable_order(of, int(of.max()) + 1 if of.size else 1)
    sorted_of = of[order]
    return Tensor(order[np.flatnonzero(np.append(sorted_of[1:] == sorted_of[:-1], False))])


class GNNInductiveHybridMultiHead(nn.Module):
    """Predictions: an MLP for each target of a node, and one for all targets of a graph. Rows of nodes come first, then those of graphs; each is
    filled up with zeros where the others have their targets."""

    def __init__(
        self, dim_in: int, dim_out: int, num_node_targets: int, num_graph_targets: int, layers_post_mp: int, virtual_node: bool = True,
        multi_head_dim_inner: int = 32, graph_pooling: str = "add", has_bn: bool = True, has_l2norm: bool = True, dropout: float = 0.2,
        act: str = "relu",
    ):  # fmt: skip
        if graph_pooling not in _POOLS:
            raise ValueError(f"graph_pooling must be one of {', '.join(_POOLS)}, not {graph_pooling!r}")
        self.node_target_dim, self.graph_target_dim, self.virtual_node, self.graph_pooling = (
            num_node_targets,
            num_graph_targets,
            virtual_node,
            graph_pooling,
        )
        self.node_post_mps = nn.ModuleList(
            [MLP(dim_in, 1, multi_head_dim_inner, layers_post_mp, has_bn, has_l2norm, dropout, act) for _ in range(num_node_targets)]
        )
        self.graph_post_mp = MLP(dim_in, num_graph_targets, dim_in, layers_post_mp, has_bn, has_l2norm, dropout, act)

    def _joined(self, node: Tensor, graph: Tensor) -> Tensor:
        return Tensor.cat(node.pad(((0, 0), (0, self.graph_target_dim))), graph.pad(((0, 0), (self.node_target_dim, 0))))

    def forward(self, x: Tensor, data: Any) -> tuple[Tensor, Tensor]:
        node, true = Tensor.cat(*[head(x) for head in self.node_post_mps], dim=1), data.y
        graph = self.graph_post_mp(_POOLS[self.graph_pooling](x, data.batch))
        if self.virtual_node:
            kept = _without_virtual(data.batch)
            node, true = node[kept], true[kept]
        return self._joined(node, graph), self._joined(true, data.y_graph)


class IdentityHead(nn.Module):
    """The representation itself, and the labels."""

    def forward(self, x: Tensor, data: Any) -> tuple[Tensor, Any]:
        return x, getattr(data, "y", None)


class GPSE(nn.Module):
    """An encoder of random node features into encodings of position and structure, and the heads that it was trained with.

    dim_in, dim_inner, dim_out: features in, hidden ones and out. layer_type: 'resgatedgcnconv'. layers_pre_mp, layers_mp, layers_post_mp: linear
    layers, convolutions, and layers of the heads. num_node_targets, num_graph_targets: numbers of targets. stage_type: 'skipsum', 'skipconcat' or
    another for no skip connections. has_bn, head_bn, has_l2norm, final_l2norm: normalisations. dropout, has_act, final_act, act: of the layers.
    virtual_node: the last node of each graph is no node of it. multi_head_dim_inner: hidden features of a node's heads. graph_pooling: 'add', 'max'
    or 'mean'. use_repr, repr_type: what from_pretrained leaves of the heads. bernoulli_threshold: kept for those who draw features.

    forward(batch) with x, edge_index, batch, y and y_graph gives predictions and labels; with the heads taken off, encodings and y.

    Shapes: batch with x [V, dim_in], edge_index [2, E], y [V, T_n], y_graph [G, T_g]; out predictions and labels [V + G, T_n + T_g].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.nn import GPSE
    >>> model = GPSE(dim_in=4, dim_inner=8, layers_mp=2, num_node_targets=3, num_graph_targets=2)
    >>> data = Data(x=Tensor.rand(3, 4), edge_index=Tensor([[0, 1], [1, 2]]), y=Tensor.rand(3, 3), y_graph=Tensor.rand(1, 2), batch=Tensor([0, 0, 0]))
    >>> [t.shape for t in model(data)]
    [(3, 5), (3, 5)]
    """

    url_dict = {
        name: f"https://zenodo.org/record/8145095/files/gpse_model_{name}_1.0.pt" for name in ("molpcba", "zinc", "pcqm4mv2", "geom", "chembl")
    }

    def __init__(
        self, dim_in: int = 20, dim_out: int = 51, dim_inner: int = 512, layer_type: str = "resgatedgcnconv", layers_pre_mp: int = 1,
        layers_mp: int = 20, layers_post_mp: int = 2, num_node_targets: int = 51, num_graph_targets: int = 11, stage_type: str = "skipsum",
        has_bn: bool = True, head_bn: bool = False, final_l2norm: bool = True, has_l2norm: bool = True, dropout: float = 0.2, has_act: bool = True,
        final_act: bool = True, act: str = "relu", virtual_node: bool = True, multi_head_dim_inner: int = 32, graph_pooling: str = "add",
        use_repr: bool = True, repr_type: str = "no_post_mp", bernoulli_threshold: float = 0.5,
    ):  # fmt: skip
        self.use_repr, self.repr_type, self.bernoulli_threshold = use_repr, repr_type, bernoulli_threshold
        self.pre_mp = self.mp = None
        if layers_pre_mp > 0:
            self.pre_mp = GeneralMultiLayer("linear", [dim_in, *[dim_inner] * layers_pre_mp], has_bn, has_l2norm, dropout, act, final_act)
            dim_in = dim_inner
        if layers_mp > 0:
            self.mp = GNNStackStage(
                dim_in, dim_inner, layers_mp, layer_type, stage_type, final_l2norm, has_bn, has_l2norm, dropout, act if has_act else None
            )  # fmt: skip
        self.post_mp: Any = GNNInductiveHybridMultiHead(
            dim_inner, dim_out, num_node_targets, num_graph_targets, layers_post_mp, virtual_node, multi_head_dim_inner, graph_pooling, head_bn,
            has_l2norm, dropout, act,
        )  # fmt: skip

    def reset_parameters(self) -> None:
        """Nothing: parameters are loaded."""

    @classmethod
    def from_pretrained(cls, name: str, root: str = "GPSE_pretrained") -> GPSE:
        """A published encoder (one of url_dict) without its heads; needs a network unless the file is in root."""
        if name not in cls.url_dict:
            raise ValueError(f"there is no published encoder {name!r}: choose one of {', '.join(cls.url_dict)}")
        from ...data import download_url

        root = os.path.expanduser(root)
        os.makedirs(root, exist_ok=True)
        state = nn.torch_load(download_url(cls.url_dict[name], root))["model_state"]
        model = cls()
        model.load_state_dict({k.split(".", 1)[1]: v for k, v in state.items()})
        if model.use_repr:
            if model.repr_type != "no_post_mp":
                raise ValueError(f"repr_type must be 'no_post_mp', not {model.repr_type!r}")
            model.post_mp = IdentityHead()
        model.eval()
        return model

    def forward(self, batch: Any) -> Any:
        x = batch.x if self.pre_mp is None else self.pre_mp(batch.x)
        x = x if self.mp is None else self.mp(x, batch.edge_index)
        return self.post_mp(x, batch)


class GPSENodeEncoder(nn.Module):
    """[x or W x + b, what an MLP or a linear map makes of encodings].

    dim_emb: features of the result, dim_pe_in, dim_pe_out: of the encodings before and after. dim_in, expand_x: x is mapped from dim_in features to
    what is left of dim_emb. norm_type: 'batchnorm' normalises the encodings. model_type: 'mlp' (n_layers layers with relu) or 'linear'. dropout_be,
    dropout_ae: before and after it. Shapes: x [V, dim_in], pos_enc [V, dim_pe_in]; out [V, dim_emb].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GPSENodeEncoder
    >>> GPSENodeEncoder(16, 8, 4, dim_in=5, expand_x=True)(Tensor.rand(3, 5), Tensor.rand(3, 8)).shape
    (3, 16)
    """

    def __init__(
        self, dim_emb: int, dim_pe_in: int, dim_pe_out: int, dim_in: int | None = None, expand_x: bool = False, norm_type: str = "batchnorm",
        model_type: str = "mlp", n_layers: int = 2, dropout_be: float = 0.5, dropout_ae: float = 0.2,
    ):  # fmt: skip
        if dim_emb <= dim_pe_out:
            raise ValueError(f"dim_pe_out={dim_pe_out} must be smaller than dim_emb={dim_emb}")
        if expand_x and dim_in is None:
            raise ValueError("expand_x=True needs dim_in")
        self.expand_x = expand_x
        self.linear_x = nn.Linear(int(dim_in or 0), dim_emb - dim_pe_out) if expand_x else None
        self.raw_norm = nn.BatchNorm1d(dim_pe_in) if norm_type == "batchnorm" else None
        self.dropout_be, self.dropout_ae = nn.Dropout(dropout_be), nn.Dropout(dropout_ae)
        if model_type not in ("mlp", "linear"):
            raise ValueError(f"model_type must be 'mlp' or 'linear', not {model_type!r}")
        sizes = [dim_pe_in, *[2 * dim_pe_out] * (n_layers - 1), dim_pe_out]
        layers = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
        self.pe_encoder = nn.Sequential(*layers) if model_type == "mlp" else nn.Linear(dim_pe_in, dim_pe_out)

    def forward(self, x: Tensor, pos_enc: Tensor) -> Tensor:
        pos_enc = self.dropout_be(pos_enc)
        pos_enc = self.dropout_ae(self.pe_encoder(pos_enc if self.raw_norm is None else self.raw_norm(pos_enc)))
        return Tensor.cat(x if self.linear_x is None else self.linear_x(x), pos_enc, dim=1)


def _random_features(model: GPSE, nodes: int, rand_type: str, threshold: float) -> Tensor:
    """Random inputs [nodes, F] of one of the three kinds."""
    shape = (nodes, int(next(iter(model.state_dict().values())).shape[1]))
    if rand_type == "NormalSE":
        return Tensor.randn(*shape)
    if rand_type not in ("UniformSE", "BernoulliSE"):
        raise ValueError(f"rand_type must be 'NormalSE', 'UniformSE' or 'BernoulliSE', not {rand_type!r}")
    x = Tensor.rand(*shape)
    return (x < threshold).float() if rand_type == "BernoulliSE" else x


def _encoded(
    model: GPSE, data: Any, neighbors: list[int] | None, fillval: int, layers_mp: int | None, sampled: bool, kwargs: dict[str, Any]
) -> Tensor:
    """The model's values of all nodes: of the graph as it is, or of samples around its nodes, one batch after the other."""
    if not sampled:
        return model(data)[0].detach()
    if layers_mp is None:
        raise ValueError('Please provide the number of message-passing layers as "layers_mp".')
    from ...loader import NeighborLoader

    counts = list(neighbors or [30, 20, 10])
    counts += [fillval] * (layers_mp - len(counts)) if fillval > 0 else []
    parts = [model(batch)[0][: int(batch.batch_size)].detach().realize() for batch in NeighborLoader(data, num_neighbors=counts, **kwargs)]
    return parts[0] if len(parts) == 1 else Tensor.cat(*parts, dim=0)


def gpse_process(
    model: GPSE, data: Any, rand_type: str = "NormalSE", use_vn: bool = True, bernoulli_thresh: float = 0.5, neighbor_loader: bool = False,
    num_neighbors: list[int] | None = None, fillval: int = 5, layers_mp: int | None = None, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """Encodings of the nodes of a graph: data.x is set to random features of rand_type 'NormalSE', 'UniformSE' or 'BernoulliSE', with zeros for the
    last node where that is a virtual one (use_vn). neighbor_loader: on samples of num_neighbors at each hop (then fillval, up to layers_mp hops)."""
    n = int(data.num_nodes)
    x = _random_features(model, n, rand_type, bernoulli_thresh)
    data.x = (Tensor.arange(n).reshape(-1, 1) < n - 1).where(x, 0.0) if use_vn else x
    return _encoded(model, data, num_neighbors, fillval, layers_mp, neighbor_loader, kwargs)


def gpse_process_batch(
    model: GPSE, batch: Any, rand_type: str, use_vn: bool = True, bernoulli_thresh: float = 0.5, neighbor_loader: bool = False,
    num_neighbors: list[int] | None = None, fillval: int = 5, layers_mp: int | None = None, **kwargs: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """gpse_process of a batch of graphs, whose virtual nodes are the last of each: (encodings of all nodes, where each graph begins)."""
    n, ends = int(batch.num_nodes), batch.ptr.numpy()[1:] - 1
    real = np.ones((n, 1), bool)
    real[ends] = not use_vn
    batch.x = Tensor(real).where(_random_features(model, n, rand_type, bernoulli_thresh), 0.0)
    return _encoded(model, batch, num_neighbors, fillval, layers_mp, neighbor_loader, kwargs), batch.ptr


def precompute_GPSE(model: GPSE, dataset: Any, use_vn: bool = True, rand_type: str = "NormalSE", **kwargs: Any) -> None:
    """Adds `pestat_GPSE` [V, F] to all graphs of a dataset in memory. kwargs: those of DataLoader, such as batch_size."""
    from ...loader import DataLoader
    from ...transforms import VirtualNode

    graphs = [dataset.get(k) for k in dataset.indices()]
    add = VirtualNode()
    done = []
    at = 0
    for batch in DataLoader([add(g.clone()) if use_vn else g.clone() for g in graphs], shuffle=False, **kwargs):
        out, ptr = gpse_process_batch(model, batch, rand_type, use_vn)
        out, starts = out.realize(), ptr.numpy()
        for start, stop in zip(starts[:-1], starts[1:]):
            graphs[at].pestat_GPSE = out[int(start) : int(stop) - int(use_vn)].realize()
            done.append(graphs[at])
            at += 1
    dataset._indices = None
    dataset.data, dataset.slices = dataset.collate(done)


def process_batch_idx(batch_idx: Tensor | None, true: Tensor, use_vn: bool = True) -> Tensor | None:
    """The graph of each row of labels: of nodes without the virtual ones, and -1 for rows of graphs."""
    if batch_idx is None:
        return None
    batch_idx = batch_idx[_without_virtual(batch_idx)] if use_vn else batch_idx
    more = int(true.shape[0]) - int(batch_idx.shape[0])
    return Tensor.cat(batch_idx, Tensor.full((more,), -1, dtype=batch_idx.dtype)) if more > 0 else batch_idx


def cosim_col_sep(pred: Tensor, true: Tensor, batch_idx: Tensor) -> Tensor:
    """1 - the mean cosine between the columns of predictions and labels in each graph, over columns of labels that are not all 0."""
    if batch_idx is None:
        raise ValueError("the index of the graphs is needed to tell them apart")
    of = _host.vector(batch_idx, "batch_idx")
    rows = rows_of(Tensor(of + 1 if of.size and of.min() == -1 else of))
    p, t = dense_rows(pred, rows)[0], dense_rows(true, rows)[0]
    some = (t != 0).any(1)
    length = (p.square().sum(1).sqrt().maximum(1e-8)) * (t.square().sum(1).sqrt().maximum(1e-8))
    cosine = (p * t).sum(1) / length
    return 1 - some.where(cosine, 0.0).sum() / some.cast(cosine.dtype).sum()


def gpse_loss(pred: Tensor, true: Tensor, batch_idx: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Mean absolute error plus cosim_col_sep, and the predictions."""
    if batch_idx is None:
        raise ValueError("the index of the graphs is needed to tell them apart")
    return (pred - true).abs().mean() + cosim_col_sep(pred, true, batch_idx), pred


__all__ = ["GPSE", "GPSENodeEncoder", "cosim_col_sep", "gpse_loss", "gpse_process", "gpse_process_batch", "precompute_GPSE", "process_batch_idx"]
