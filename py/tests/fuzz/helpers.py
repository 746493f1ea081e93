"""What the text of a program calls besides polygrad's own functions: assignments, which are statements, and vertex programs, which are blocks."""

from polygrad import Tensor, scan
from polygrad.geometric.nn import MessagePassing
from polygrad.vertex import zoomIn, zoomOut


def fuzz_assign(x, y):
    """A reader of the old contents, an assignment, and a reader of the new ones."""
    held = x.clone()
    before = held * 2
    held.assign(y)
    return before + held


def fuzz_setitem(x, y, lo, hi):
    held = x.clone()
    held[lo:hi] = y
    return held


def fuzz_in_place(x):
    held = x.clone()
    held *= 2
    held += 1
    return held


def fuzz_attention(g, h, el, er):
    """The vertex program of graph attention."""
    with zoomIn(graph=g, node_feat=[h, el, er]) as v:
        coeff = [(n.el + v.er).leaky_relu(0.25).exp() for n in v.innbs]
        s = sum(coeff)
        out = sum([c / s * n.h for c, n in zip(coeff, v.innbs)])
    return zoomOut(out)


def fuzz_mean_difference(g, h):
    """The mean of the differences to the neighbours."""
    with zoomIn(graph=g, node_feat=[h]) as v:
        out = sum([(n.h - v.h).tanh() for n in v.innbs])
    return zoomOut(out)


def fuzz_edge_mlp(g, x, e, w, u, side, reduce):
    """Both ends and the edge side by side, through two linear maps."""
    joined = g.src(x).cat(g.dst(x), e, dim=1)
    return g.reduce((joined @ w).relu() @ u, reduce, side)


def fuzz_edge_sum(g, x, e, w, u, side, reduce):
    return g.reduce((e @ w + g.src(x)).relu() @ u, reduce, side)


class fuzz_Message(MessagePassing):
    """The same as a layer: message and propagate."""

    def forward(self, x, edge_index, edge_attr, w, u):
        return self.propagate(edge_index, x=x, edge_attr=edge_attr, weights=(w, u))

    def message(self, x_i, x_j, edge_attr, weights):
        return (Tensor.cat(x_j, x_i, edge_attr, dim=1) @ weights[0]).relu() @ weights[1]


def fuzz_layer(edge_index, x, e, w, u, aggr):
    return fuzz_Message(aggr=aggr)(x, edge_index, e, w, u)


def fuzz_vertex_mlp(g, h, w, u):
    with zoomIn(graph=g, node_feat=[h]) as v:
        out = sum([(((n.h * v.h) @ w).tanh()) @ u for n in v.innbs])
    return zoomOut(out)


def fuzz_scored(g, e, score, value):
    """Attention whose scores and values are linear maps of each edge."""
    a = g.softmax(e @ score)
    return g.sum((a.unsqueeze(-1) * (e @ value).reshape(-1, 3, 4)).reshape(-1, 12))


def fuzz_scan_rnn(h, xs, w, reverse, checkpoint):
    def step(h, x):
        h = (x + h @ w).tanh()
        return h, h * 2

    return scan(step, h, xs, reverse=reverse, checkpoint=checkpoint)


def fuzz_scan_function(h, xs, w, name, carried, reverse, checkpoint):
    """A function of rows alone, which the loop may do for all steps at once, or of what is carried."""
    functions = {
        "var": lambda x: x.var(0, True, 0) + x,
        "softmax": lambda x: x.softmax(0),
        "log_softmax": lambda x: x.log_softmax(1),
        "cumsum": lambda x: x.cumsum(1),
        "cumprod": lambda x: x.cumprod(1),
        "layernorm": lambda x: x.layernorm(),
        "silu": lambda x: x.silu(),
    }
    f = functions[name]

    def step(h, x):
        h = f(x + h @ w) * 0.5 if carried else (h + f(x @ w)).tanh()
        return h, h * 2

    return scan(step, h, xs, reverse=reverse, checkpoint=checkpoint)


def fuzz_scan_average(h, xs, reverse, checkpoint):
    return scan(lambda h, x: (h * 0.5 + x.sin(), h * x), h, xs, reverse=reverse, checkpoint=checkpoint)


def fuzz_scan_lookup(h, i, table, reverse, checkpoint):
    def step(h, i):
        h = h * 0.5 + table[i].sum(0)
        return h, h.sigmoid()

    return scan(step, h, i, reverse=reverse, checkpoint=checkpoint)


def fuzz_scan_swap(a, b, xs, reverse, checkpoint):
    def step(c, x):
        a, b = c[1], c[0] * 0.5 + x
        return (a, b), a + b

    (a, b), ys = scan(step, (a, b), xs, reverse=reverse, checkpoint=checkpoint)
    return a, ys


def fuzz_scan_nested(h, xs, reverse, checkpoint):
    def outer(h, row):
        h = scan(lambda h, x: ((h * 0.5 + x).tanh(), h), h, row)[0]
        return h, h * 2

    return scan(outer, h, xs, reverse=reverse, checkpoint=checkpoint)


def fuzz_scan_propagate(g, x, length, checkpoint):
    def step(h, _):
        h = g.mean(g.src(h)) * 0.5 + x * 0.5
        return h, h.sum(1)

    return scan(step, x, length=length, checkpoint=checkpoint)


def fuzz_scan_edges(g, x, w, length, checkpoint):
    def step(h, _):
        h = (g.sum(((g.src(h) - g.dst(h)) @ w).relu()) + h).tanh()
        return h, h * 0.5

    return scan(step, x, length=length, checkpoint=checkpoint)


def fuzz_soft_gram(g, x, a, side):
    s = g.softmax(x, side)
    return (s @ s.transpose(0, 1)) * a


def fuzz_views(x, script, which):
    """Views of a tensor and of views, changed in place and computed in between."""
    handles = [x.clone()]
    for what, k, detail in script:
        t = handles[k]
        if what == "part":
            handles.append(t[(slice(None),) * detail[0] + (slice(detail[1], None),)])
        elif what == "flip":
            handles.append(t.flip(detail))
        elif what == "permute":
            handles.append(t.permute(*detail))
        elif what == "flat":
            handles.append(t.reshape(-1))
        elif what == "scale":
            t.assign(t * 0.5 + 1.0)
        elif what == "first":
            t[0] = 0.25
        elif what == "use":
            (t * 3).sum()
        elif what == "read" and not fuzz_tracing(t):
            t.realize()
    return handles[which] * 1


def fuzz_tracing(t):
    """In a function that is compiled nothing can be read."""
    from polygrad.autograd import current

    return current().tracing


def fuzz_vertex_layers(g, h, w):
    for _ in range(2):
        with zoomIn(g, h=h, m=h @ w) as v:
            out = (sum([n.m for n in v.innbs]) + v.h).tanh()
        h = zoomOut(out)
    return h


def fuzz_vertex_edges(g, h, e):
    with zoomIn(g, h=h, edge={"e": e}) as v:
        top = max([n.h * n.edge.e for n in v.innbs])
        back = sum([n.edge.e.sigmoid() * (n.h - v.h) for n in v.outnbs])
        out = top + back
    return zoomOut(out)


def fuzz_scan_attention(g, x, w, length, checkpoint):
    def step(h, _):
        score = (g.src(h) + g.dst(h)).tanh() @ w
        h = g.sum(g.softmax(score) * g.src(h)) * 0.5 + x * 0.5
        return h, h.tanh()

    return scan(step, x, length=length, checkpoint=checkpoint)


def fuzz_scan_products(x, a, length, checkpoint):
    def step(h, _):
        h = (a @ h + a.transpose(0, 1) @ h).softmax(0) + x * 0.25
        return h, (h * h).sum(1)

    return scan(step, x, length=length, checkpoint=checkpoint)


def fuzz_written_rnn(h, xs, w, u, reverse):
    """A loop that is written out: the compiler is to find it, from four steps on."""
    rows = [None] * xs.shape[0]
    for t in range(len(rows))[::-1] if reverse else range(len(rows)):
        h = (xs[t] @ w + h @ u).tanh()
        rows[t] = h * 2
    return h, Tensor.stack(*rows)


def fuzz_written_normal(h, w, length):
    kept = []
    for t in range(length):
        h = h @ w
        h = h / (1 + h.square().sum()).sqrt() * (t + 1)
        kept.append(h.sum())
    return h, sum(kept)


def fuzz_written_propagate(g, x, length):
    h = x
    for _ in range(length):
        h = g.mean(g.src(h)) * 0.5 + x * 0.5
    return h
