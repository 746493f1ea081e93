"""Values of vertex programs: the methods of Tensor, layers, types of nodes and edges, gradients, and what is stored."""

from __future__ import annotations

import numpy as np
import pytest
from graph_helpers import assert_narrow, big_graph, edges, stored_by
from helpers import gradcheck
from vertex_helpers import INDEX, NODES, RNG, X, check, graph, rows

import polygrad.nn.functional as F
from polygrad import Graph, HeteroGraph, Tensor, TinyJit, nn
from polygrad.vertex import mean, softmax, var, zoomIn, zoomOut
from polygrad.vertex.methods import METHODS, REFUSED, RULES

# ---- methods of Tensor ----


def test_every_method_of_tensor_is_known():
    """Each works or says why it does not. A new method of Tensor needs a row in RULES or REFUSED."""
    making = set(
        "arange const empty eye from_uop from_blob from_dlpack from_url full glorot_normal glorot_uniform kaiming_normal kaiming_uniform linspace manual_seed normal ones rand "
        "randint randn randperm scaled_uniform uniform zeros train test".split()
    )
    names = {n for n in dir(Tensor) if not n.startswith("_")} - making
    properties = {
        "shape",
        "max_shape",
        "ndim",
        "dtype",
        "device",
        "requires_grad",
        "T",
        "grad",
        "is_realized",
        "graph",
        "is_param",
        "uop",
        "lazydata",
    }
    known = set(RULES) | set(REFUSED)
    assert names <= known | properties, sorted(names - known)
    assert known <= set(METHODS) | properties, "a rule for a method that Tensor does not have"


A, B = RNG.standard_normal((NODES, 4)), RNG.standard_normal((NODES, 2, 3))
M, M3 = RNG.standard_normal((4, 5)), RNG.standard_normal((7, 3, 2))
PER_VERTEX = {
    # name: (of the value x (rank 1, 4) and y (rank 2, 2 x 3), by numpy on one vertex)
    "sum": (lambda x, y: y.sum(0), lambda x, y: y.sum(0)),
    "sum of all": (lambda x, y: y.sum(), lambda x, y: y.sum()),
    "sum, torch's names": (lambda x, y: y.sum(dim=-1, keepdim=True), lambda x, y: y.sum(-1, keepdims=True)),
    "sum of two axes": (lambda x, y: y.sum((0, 1)), lambda x, y: y.sum()),
    "max": (lambda x, y: y.max(1, keepdim=True), lambda x, y: y.max(1, keepdims=True)),
    "mean of a number": (lambda x, y: x.sum().mean(), lambda x, y: x.sum()),
    "argmax": (lambda x, y: y.argmax(), lambda x, y: np.int32(y.argmax())),
    "argmax of an axis": (lambda x, y: y.argmax(0), lambda x, y: y.argmax(0).astype(np.int32)),
    "softmax": (lambda x, y: y.softmax(0), lambda x, y: np.exp(y) / np.exp(y).sum(0)),
    "cumsum": (lambda x, y: y.cumsum(0), lambda x, y: y.cumsum(0)),
    "layernorm": (lambda x, y: x.layernorm(), lambda x, y: (x - x.mean()) / np.sqrt(x.var() + 1e-5)),
    "normalize": (lambda x, y: x.normalize(), lambda x, y: x / max(np.sqrt((x * x).sum()), 1e-12)),
    "view": (lambda x, y: x.view(2, 2), lambda x, y: x.reshape(2, 2)),
    "reshape with -1": (lambda x, y: y.reshape(-1), lambda x, y: y.reshape(-1)),
    "reshape to more": (lambda x, y: y.reshape((3, 1, -1)), lambda x, y: y.reshape(3, 1, -1)),
    "permute": (lambda x, y: y.permute(1, 0), lambda x, y: y.T),
    "permute from the end": (lambda x, y: y.permute(-1, -2), lambda x, y: y.T),
    "transpose": (lambda x, y: y.transpose(0, 1), lambda x, y: y.T),
    "T": (lambda x, y: y.T, lambda x, y: y.T),
    "expand": (lambda x, y: x.expand(3, 4), lambda x, y: np.broadcast_to(x, (3, 4))),
    "repeat": (lambda x, y: x.repeat(2, 3), lambda x, y: np.tile(x, (2, 3))),
    "repeat_interleave": (lambda x, y: y.repeat_interleave(2, 0), lambda x, y: y.repeat(2, 0)),
    "repeat_interleave flat": (lambda x, y: y.repeat_interleave(2), lambda x, y: y.repeat(2)),
    "roll": (lambda x, y: y.roll(1, 1), lambda x, y: np.roll(y, 1, 1)),
    "roll flat": (lambda x, y: y.roll(1), lambda x, y: np.roll(y, 1)),
    "shrink": (lambda x, y: y.shrink(((0, 1), None)), lambda x, y: y[:1]),
    "pad": (lambda x, y: x.pad(((1, 2),)), lambda x, y: np.pad(x, (1, 2))),
    "pad flat": (lambda x, y: y.pad((1, 2)), lambda x, y: np.pad(y, ((0, 0), (1, 2)))),
    "pad_to": (lambda x, y: x.pad_to(6), lambda x, y: np.pad(x, (0, 2))),
    "flip": (lambda x, y: y.flip(0), lambda x, y: y[::-1]),
    "squeeze": (lambda x, y: x.unsqueeze(0).squeeze(), lambda x, y: x),
    "squeeze an axis": (lambda x, y: x.unsqueeze(1).squeeze(1), lambda x, y: x),
    "unsqueeze": (lambda x, y: y.unsqueeze(0), lambda x, y: y[None]),
    "unsqueeze at the end": (lambda x, y: y.unsqueeze(-1), lambda x, y: y[..., None]),
    "flatten": (lambda x, y: y.flatten(), lambda x, y: y.reshape(-1)),
    "unflatten": (lambda x, y: x.unflatten(0, (2, 2)), lambda x, y: x.reshape(2, 2)),
    "split": (lambda x, y: x.split(3)[1], lambda x, y: x[3:]),
    "chunk": (lambda x, y: y.chunk(3, dim=1)[2], lambda x, y: y[:, 2:]),
    "cat": (lambda x, y: Tensor.cat(x, x * 2), lambda x, y: np.concatenate([x, 2 * x])),
    "cat as a method, shared part": (lambda x, y: x.cat(Tensor([1.0, 2.0]).double(), dim=-1), lambda x, y: np.concatenate([x, [1, 2]])),
    "stack": (lambda x, y: Tensor.stack(x, x * 2, dim=-1), lambda x, y: np.stack([x, 2 * x], -1)),
    "index": (lambda x, y: y[1], lambda x, y: y[1]),
    "slices": (lambda x, y: y[..., 1:], lambda x, y: y[:, 1:]),
    "new axis": (lambda x, y: x[None, ::2], lambda x, y: x[None, ::2]),
    "index by a tensor": (lambda x, y: x[Tensor([3, 0, 3])], lambda x, y: x[[3, 0, 3]]),
    "gather": (lambda x, y: x.gather(0, x.argmax(0, keepdim=True)), lambda x, y: x[[x.argmax()]]),
    "table by a value": (lambda x, y: Tensor(M)[x.argmax()], lambda x, y: M[x.argmax()]),
    "sort": (lambda x, y: x.sort()[0], lambda x, y: np.sort(x)),
    "topk": (lambda x, y: x.topk(2)[0], lambda x, y: np.sort(x)[::-1][:2]),
    "diag": (lambda x, y: x.diag(), lambda x, y: np.diag(x)),
    "diagonal": (lambda x, y: y.diagonal(), lambda x, y: np.diagonal(y)),
    "tril": (lambda x, y: y.tril(), lambda x, y: np.tril(y)),
    "one_hot": (lambda x, y: x.argmax().one_hot(4), lambda x, y: np.eye(4, dtype=np.int32)[x.argmax()]),
    "rearrange": (lambda x, y: y.rearrange("h d -> (d h)"), lambda x, y: y.T.reshape(-1)),
    "unfold": (lambda x, y: x.unfold(0, 2, 1), lambda x, y: np.array([x[k : k + 2] for k in range(3)])),
    "iteration": (lambda x, y: [r for r in y][1] * len(x), lambda x, y: y[1] * 4),
    "matrix": (lambda x, y: x @ Tensor(M), lambda x, y: x @ M),
    "matrix from the left": (lambda x, y: Tensor(M.T.copy()) @ x, lambda x, y: M.T @ x),
    "matrix of a matrix": (lambda x, y: y @ Tensor(M[:3]), lambda x, y: y @ M[:3]),
    "batch of matrices": (lambda x, y: y @ Tensor(M3), lambda x, y: y @ M3),
    "batch of matrices of a vector": (lambda x, y: y[0] @ Tensor(M3), lambda x, y: y[0] @ M3),
    "batch from the left": (lambda x, y: Tensor(M3) @ y, lambda x, y: M3 @ y),
    "matrix of values": (lambda x, y: y @ y.T, lambda x, y: y @ y.T),
    "matrix of values and a vector": (lambda x, y: y @ y[0], lambda x, y: y @ y[0]),
    "vector and matrix of values": (lambda x, y: y[:, 0] @ y, lambda x, y: y[:, 0] @ y),
    "dot": (lambda x, y: x.dot(x * 2), lambda x, y: x @ x * 2),
    "dot with a shared vector": (lambda x, y: x @ Tensor(M[:, 0].copy()), lambda x, y: x @ M[:, 0]),
    "shared vector from the left": (lambda x, y: Tensor(M[:, 0].copy()) @ x, lambda x, y: x @ M[:, 0]),
    "linear": (lambda x, y: x.linear(Tensor(M), Tensor(np.ones(5))), lambda x, y: x @ M + 1),
    "PyTorch's linear": (lambda x, y: F.linear(x, Tensor(M.T.copy()), Tensor(np.ones(5))), lambda x, y: x @ M + 1),
    "sum over dim": (lambda x, y: y.sum(dim=0), lambda x, y: y.sum(0)),
    "max over dim": (lambda x, y: y.max(dim=0)[0], lambda x, y: y.max(0)),
    "einsum": (lambda x, y: Tensor.einsum("hd,hd->h", y, y), lambda x, y: (y * y).sum(1)),
    "einsum with a shared operand": (lambda x, y: Tensor.einsum("f,fo", x, Tensor(M)), lambda x, y: x @ M),
    "broadcast against a larger shared tensor": (lambda x, y: x * Tensor(M.T.copy()), lambda x, y: x * M.T),
    "broadcast of two ranks": (lambda x, y: y[0] + y, lambda x, y: y[0] + y),
    "shared on the left": (lambda x, y: Tensor(M[:, 0].copy()) - x, lambda x, y: M[:, 0] - x),
    "numpy on the left": (lambda x, y: M[:, 0] * x, lambda x, y: M[:, 0] * x),
    "maximum": (lambda x, y: Tensor(M[:, 0].copy()).maximum(x), lambda x, y: np.maximum(M[:, 0], x)),
    "clamp": (lambda x, y: x.clamp(-0.5, 0.5), lambda x, y: np.clip(x, -0.5, 0.5)),
    "power": (lambda x, y: 2.0**x, lambda x, y: 2.0**x),
    "whole division": (lambda x, y: x // 1, lambda x, y: x // 1),
    "lerp": (lambda x, y: x.lerp(x * 2, 0.25), lambda x, y: x * 1.25),
    "masked_fill": (lambda x, y: x.masked_fill(x > 0, 9.0), lambda x, y: np.where(x > 0, 9, x)),
    "logic": (lambda x, y: ((x > 0) & ~(x > 1)).where(x, 0.0), lambda x, y: np.where((x > 0) & (x <= 1), x, 0)),
    "abs and minus": (lambda x, y: abs(-x), lambda x, y: np.abs(x)),
    "cast": (lambda x, y: x.float().double(), lambda x, y: x.astype(np.float32).astype(np.float64)),
    "attention": (
        lambda x, y: y.scaled_dot_product_attention(y, y),
        lambda x, y: (lambda s: (np.exp(s) / np.exp(s).sum(1, keepdims=True)) @ y)(y @ y.T / np.sqrt(3)),
    ),
    "shape": (lambda x, y: x * y.shape[1] * y.ndim * y.size(0) * x.numel(), lambda x, y: x * 3 * 2 * 2 * 4),
    "sequential": (lambda x, y: x.sequential([Tensor.relu, lambda t: t + 1]), lambda x, y: np.maximum(x, 0) + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", PER_VERTEX)
def test_methods_see_one_vertex(name):
    """On the vertex, on neighbours, and on what was joined on the edge."""
    ours, theirs = PER_VERTEX[name]
    with zoomIn(graph(), x=Tensor(A), y=Tensor(B)) as v:
        own = ours(v.x, v.y)
        near = [ours(n.x, n.y) for n in v.innbs]
        mixed = [ours(n.x - v.x, n.y - v.y) for n in v.innbs]
    check(zoomOut(own), np.array([theirs(A[v], B[v]) for v in range(NODES)]))
    check(zoomOut(near), np.array([theirs(A[s], B[s]) for s in INDEX[0]]))
    with np.errstate(all="ignore"):
        want = np.array([theirs(A[s] - A[d], B[s] - B[d]) for s, d in INDEX.T])
    check(zoomOut(mixed), want)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.sum(1), lambda x: x.sum(-2), lambda x: x.reshape(3), lambda x: x.permute(1, 0), lambda x: x.unsqueeze(2), lambda x: x.softmax(1),
        lambda x: x[0, 0], lambda x: x.T, lambda x: x @ Tensor(np.ones((3, 3))), lambda x: x.view(-1, 3), lambda x: x.flatten(1),
    ],
)  # fmt: skip
def test_axes_of_one_vertex_are_checked(wrong):
    with zoomIn(graph(), h=Tensor(X)) as v:
        with pytest.raises((IndexError, ValueError)):
            wrong(v.h)


# ---- layers ----


def in_double(layer):
    for name, t in layer.state_dict().items():
        owner = layer
        *path, last = name.split(".")
        for part in path:
            owner = owner[int(part)] if part.isdigit() else getattr(owner, part)
        if t.is_floating_point():
            setattr(owner, last, t.double().realize())
    return layer


LAYERS = {
    "Linear": lambda: nn.Linear(4, 3),
    "LayerNorm": lambda: nn.LayerNorm(4),
    "RMSNorm": lambda: nn.RMSNorm(4),
    "BatchNorm": lambda: nn.BatchNorm(4),
    "Sequential": lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)),
    "GELU": lambda: nn.GELU(),
    "Softmax": lambda: nn.Softmax(-1),
    "Dropout": lambda: nn.Dropout(0.5),
    "GroupNorm": lambda: nn.GroupNorm(2, 4),
    "GRUCell": lambda: nn.GRUCell(4, 3),
    "Identity": lambda: nn.Identity(),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    """A layer on v.h is the layer on h; on n.h it is computed for the nodes, not for the edges."""
    layer, h = in_double(LAYERS[name]()), Tensor(X)
    with zoomIn(graph(), h=h) as v:
        own = layer(v.h)
        near = [layer(n.h) for n in v.innbs]
    want = layer(h).numpy()
    check(zoomOut(own), want)
    check(zoomOut(near), want[INDEX[0]])


def test_layers_with_several_inputs():
    cell, h, m = in_double(nn.GRUCell(4, 4)), Tensor(X), Tensor(X[::-1].copy())
    lstm = in_double(nn.LSTMCell(4, 3))
    with zoomIn(graph(), h=h, m=m) as v:
        a = cell(v.m, v.h)
        b, c = lstm(v.m)
    check(zoomOut(a), cell(m, h).numpy())
    check(zoomOut(b), lstm(m)[0].numpy())
    table = in_double(nn.Embedding(5, 3))
    kinds = np.arange(NODES, dtype=np.int32) % 5
    with zoomIn(graph(), kind=Tensor(kinds)) as v:
        e = sum([table(n.kind) for n in v.innbs])
    check(zoomOut(e), rows(lambda n, v, k: table.weight.numpy()[kinds[n]], shape=(3,)))


def test_batch_norm_sees_the_nodes_as_its_batch():
    layer, h = in_double(nn.BatchNorm(4, track_running_stats=False)), Tensor(X)
    with Tensor.train(), zoomIn(graph(), h=h) as v:
        out = sum([layer(n.h) for n in v.innbs])
        norm = (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5)
    check(zoomOut(out), rows(lambda n, v, k: norm[n]))


def test_dropout_of_a_neighbour_is_the_same_on_all_its_edges():
    with Tensor.train(), zoomIn(graph(), h=Tensor(X)) as v:
        near = [n.h.dropout(0.5) for n in v.innbs]
    out = zoomOut(near).numpy()
    for s in range(NODES):
        mine = out[INDEX[0] == s]
        assert (mine == mine[:1]).all()


def test_a_layer_on_neighbours_is_computed_once_a_node():
    _, g = big_graph()
    fc, h = nn.Linear(11, 7), Tensor.randn(17, 11).realize()
    with zoomIn(g, h=h) as v:
        out = sum([fc(n.h).relu().layernorm() for n in v.innbs])
    p = stored_by(lambda: zoomOut(out))
    assert not any(307 in s.shape for s in p.stored), p
    assert sum(k.flops for k in p.kernels) < 307 * 11 * 7, p


def test_the_seeds_program():
    """As it was first written down, with modules and attributes of self, before names were tidied up."""

    class Conv(nn.Module):
        def __init__(self):
            self.num_heads, self.out_feats = 2, 3
            self.fc = in_double(nn.Linear(4, 6, bias=False))
            self.attn_l, self.attn_r = Tensor(RNG.standard_normal((2, 3))), Tensor(RNG.standard_normal((2, 3)))
            self.feat_drop, self.leaky_relu = nn.Dropout(0.1), nn.LeakyReLU(0.2)

        def forward(self, graph, nfeat):
            with zoomIn(graph=graph, node_feat=[nfeat]) as v:
                feat_src = [self.fc(self.feat_drop(n.nfeat)).view(self.num_heads, self.out_feats) for n in v.innbs]
                el = [(f * self.attn_l).sum(dim=-1, keepdim=True) for f in feat_src]
                er = (self.fc(self.feat_drop(v.nfeat)).view(self.num_heads, self.out_feats) * self.attn_r).sum(dim=-1, keepdim=True)
                coeff = [Tensor.exp(self.leaky_relu(l + er)) for l in el]
                s = sum(coeff)
                alpha = [c / s for c in coeff]
                rst = sum([ef[0] * ef[1] for ef in zip(alpha, feat_src)])
            return zoomOut(rst)

    layer = Conv()
    f = (X @ layer.fc.weight.numpy().T).reshape(-1, 2, 3)
    el, er = (f * layer.attn_l.numpy()).sum(-1, keepdims=True), (f * layer.attn_r.numpy()).sum(-1, keepdims=True)
    raw = lambda n, v: np.exp(np.where(el[n] + er[v] > 0, el[n] + er[v], 0.2 * (el[n] + er[v])))  # noqa: E731
    total = rows(lambda n, v, k: raw(n, v), shape=(2, 1))
    check(layer(graph(), Tensor(X)), rows(lambda n, v, k: raw(n, v) / total[v] * f[n], shape=(2, 3)))


def test_inside_a_compiled_step(cpu):
    """A program inside a step that is traced once and replayed."""
    g = graph()
    h = Tensor(X.astype(np.float32)).realize()

    @TinyJit
    def step(h):
        with zoomIn(g, h=h) as v:
            alpha = softmax([(n.h * v.h).sum(-1, keepdim=True) for n in v.innbs])
            out = sum([a * n.h for a, n in zip(alpha, v.innbs)])
        return zoomOut(out).realize()

    results = [step(h).numpy() for _ in range(4)]
    for r in results[1:]:
        np.testing.assert_array_equal(r, results[0])
    other = step(Tensor(2 * X.astype(np.float32)).realize()).numpy()
    assert not np.allclose(other, results[0])


def test_a_graph_of_another_context():
    from polygrad import with_autograd_graph

    g = graph()
    with with_autograd_graph():
        with pytest.raises(RuntimeError, match="two graphs"):
            g.src(Tensor(X))


# ---- several types of nodes and edges ----

WRITES, CITES = np.array([[0, 1, 1, 2], [0, 0, 2, 1]]), np.array([[0, 1, 2, 2], [1, 2, 0, 1]])
AUTHORS, PAPERS = RNG.standard_normal((4, 3)), RNG.standard_normal((3, 3))
EDGES = RNG.standard_normal((4, 3))


def library():
    return HeteroGraph({("author", "writes", "paper"): WRITES, ("paper", "cites", "paper"): CITES}, {"author": 4, "paper": 3})


def test_edge_types():
    with zoomIn(library(), vertex="paper", h={"author": Tensor(AUTHORS), "paper": Tensor(PAPERS)}, edge=dict(w={"cites": Tensor(EDGES)})) as v:
        a = sum([n.h * v.h for n in v.innbs("writes")])
        b = sum([e.src.h * e.w for e in v.inedges("cites")])
        c = sum([n.h for n in v.outnbs("cites")])
        d = sum([n.h for n in v.innbs("writes")] + [n.h for n in v.innbs(("paper", "cites", "paper"))])
        count = len(v.innbs("writes"))
    writes = dict(index=WRITES, nodes=3, shape=(3,))
    cites = dict(index=CITES, nodes=3, shape=(3,))
    check(zoomOut(a), rows(lambda n, v, k: AUTHORS[n] * PAPERS[v], **writes))
    check(zoomOut(b), rows(lambda n, v, k: PAPERS[n] * EDGES[k], **cites))
    check(zoomOut(c), rows(lambda n, v, k: PAPERS[n], side="out", **cites))
    check(zoomOut(d), rows(lambda n, v, k: AUTHORS[n], **writes) + rows(lambda n, v, k: PAPERS[n], **cites))
    assert zoomOut(count).tolist() == [2, 1, 1]


def test_edge_types_from_the_other_side():
    with zoomIn(library(), vertex="author", h={"author": Tensor(AUTHORS), "paper": Tensor(PAPERS)}) as v:
        a = mean([n.h for n in v.outnbs("writes")])
        b = mean([n.h for n in v.outnbs])  # there is only one
    for t in zoomOut(a, b):
        check(t, rows(lambda n, v, k: PAPERS[n], lambda m: m.mean(0), index=WRITES, nodes=4, shape=(3,), side="out"))


def test_edge_types_are_checked():
    values = {"author": Tensor(AUTHORS), "paper": Tensor(PAPERS)}
    with zoomIn(library(), vertex="paper", h=values, p={"paper": Tensor(PAPERS)}) as v:
        with pytest.raises(ValueError, match="'writes', 'cites'"):
            [n.h for n in v.innbs]
        with pytest.raises(KeyError, match="likes"):
            v.innbs("likes")
        with pytest.raises(KeyError, match="no edges from"):
            v.outnbs("writes")
        with pytest.raises(AttributeError, match="type 'author'"):
            [n.p for n in v.innbs("writes")]
    with pytest.raises(KeyError, match="reader"):
        zoomIn(library(), h={"reader": Tensor(PAPERS)})
    with pytest.raises(ValueError, match="dict by relation"):
        zoomIn(library(), h=values, edge=dict(w=Tensor(EDGES)))
    two = HeteroGraph({("a", "r", "b"): [[0], [0]], ("b", "s", "a"): [[0], [0]]}, {"a": 2, "b": 2})
    with pytest.raises(ValueError, match="vertex="):
        zoomIn(two, h={"a": Tensor.ones(2), "b": Tensor.ones(2)})
    with pytest.raises(ValueError, match="several types"):
        zoomIn(two, vertex="a", h=Tensor.ones(2))


def test_bipartite():
    g = Graph.bipartite(WRITES, 4, 3)
    with zoomIn(g, h=(Tensor(AUTHORS), Tensor(PAPERS)), s=Tensor(AUTHORS)) as v:
        out = sum([n.h * v.h + n.s for n in v.innbs])
        with pytest.raises(ValueError, match="no out-edges"):
            [n.h for n in v.outnbs]
    check(zoomOut(out), rows(lambda n, v, k: AUTHORS[n] * PAPERS[v] + AUTHORS[n], index=WRITES, nodes=3, shape=(3,)))
    square = Graph.bipartite(CITES, 3, 3)
    with pytest.raises(ValueError, match="pair"):
        zoomIn(square, h=Tensor(PAPERS))


# ---- gradients and storage of programs that no layer is made of ----


def gated(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        gate = [(n.q * v.h).sigmoid() for n in v.innbs]
        r = sum([a * n.h for a, n in zip(gate, v.innbs)]) / (sum(gate) + 1e-6)
    return zoomOut(r)


def moments(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        m = [(n.h + v.q).tanh() for n in v.innbs]
        r = Tensor.cat(mean(m), max(m), min(m), var(m), dim=-1)
    return zoomOut(r)


def both_ways(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        r = sum([n.h * v.q for n in v.innbs]) + max([(n.h - v.h).relu() for n in v.outnbs])
    return zoomOut(r)


def by_channel(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        m = [(n.h - v.q).relu() + 1e-7 for n in v.innbs]
        r = sum([a * b for a, b in zip(softmax(m), m)])
    return zoomOut(r)


def normalised(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        r = sum([(n.h + v.q).layernorm().relu() for n in v.innbs])
    return zoomOut(r)


def distances(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        d = [((n.q - v.q) ** 2).sum(-1, keepdim=True) for n in v.innbs]
        r = sum([(-x).exp() * n.h for x, n in zip(d, v.innbs)])
        p = v.q + mean([(v.q - n.q) / (1 + x) for x, n in zip(d, v.innbs)])
    return Tensor.cat(*zoomOut(r, p), dim=-1)


def with_itself(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        near = [n.h for n in v.innbs] + [v.h]
        alpha = softmax([(n.q * v.q).sum(-1, keepdim=True) for n in v.innbs] + [(v.q * v.q).sum(-1, keepdim=True)])
        r = sum([a * x for a, x in zip(alpha, near)])
    return zoomOut(r)


def two_hops(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        r = sum([sum([m.h * n.q for m in n.innbs]) * n.h for n in v.innbs])
    return zoomOut(r)


def skewness(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        m = mean([n.h for n in v.innbs])
        s = mean([(n.h - m) ** 2 for n in v.innbs])
        r = v.q * mean([((n.h - m) / (s + 0.1).sqrt()) ** 3 for n in v.innbs])
    return zoomOut(r)


def attention_both_ways(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        a = softmax([(n.q * v.h).sum(-1, keepdim=True) for n in v.innbs])
        b = softmax([(n.q * v.h).sum(-1, keepdim=True) for n in v.outnbs])
        r = sum([p * n.h for p, n in zip(a, v.innbs)]) + sum([p * (n.h - v.h) for p, n in zip(b, v.outnbs)])
    return zoomOut(r)


def two_layers(g, h, q):
    for _ in range(2):
        with zoomIn(g, h=h, q=q) as v:
            a = softmax([(n.h * v.q).sum(-1, keepdim=True).tanh() for n in v.innbs])
            r = sum([p * n.h for p, n in zip(a, v.innbs)])
        h = zoomOut(r).tanh()
    return h


def outer_product(g, h, q):
    with zoomIn(g, h=h, q=q) as v:
        r = sum([(n.h.unsqueeze(-1) * v.q.unsqueeze(-2)).tanh().sum(0) for n in v.innbs])
    return zoomOut(r)


PROGRAMS = [
    skewness,
    attention_both_ways,
    two_layers,
    outer_product,
    gated,
    moments,
    both_ways,
    by_channel,
    normalised,
    distances,
    with_itself,
    two_hops,
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", ["random", "hub", "empty", "one node", "no nodes"])
def test_gradients(program, kind):
    index, nodes = edges(kind)
    g, rng = Graph(index, nodes), np.random.default_rng(4)
    gradcheck(lambda h, q: program(g, h, q), rng.standard_normal((nodes, 3)), rng.standard_normal((nodes, 3)), tol=1e-5)


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_wide_is_stored(program):
    _, g = big_graph()
    h, q = Tensor.randn(17, 7).realize(), Tensor.randn(17, 7).realize()
    assert_narrow(stored_by(lambda: program(g, h, q)), 307, 7)
    assert_narrow(stored_by(lambda: [(y := program(g, h, q)), *y.square().sum().gradient(h, q)]), 307, 7)


def test_compiled(cpu):
    """The kernels that a compiler makes of all these programs agree with the interpreter's."""
    from polygrad import Device

    index, nodes = edges("hub")
    rng = np.random.default_rng(4)
    h, q = rng.standard_normal((nodes, 3)), rng.standard_normal((nodes, 3))
    results = []
    for name in ("INTERP", "CPU"):
        Device.DEFAULT = name
        g, xs = Graph(index, nodes), (Tensor(h), Tensor(q))
        outs = [t for f in PROGRAMS for y in [f(g, *xs)] for t in (y, *y.square().sum().gradient(*xs))]
        outs[0].realize(*outs[1:])
        results.append([t.numpy() for t in outs])
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
