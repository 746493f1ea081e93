"""Vertex programs: what a program may say, what it means, and what it refuses."""

from __future__ import annotations

import builtins
import contextlib
import io
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from vertex_helpers import INDEX, NODES, E, W, X, Y, check, graph, rows

from polygrad import Tensor, nn
from polygrad.vertex import logsumexp, mean, prod, softmax, std, var, vertex_program, where, zoomIn, zoomOut

# ---- names ----


def test_names_of_the_callers_variables():
    h, other = Tensor(X), Tensor(Y)
    with zoomIn(graph=graph(), node_feat=[h, other]) as v:
        s = sum([n.h for n in v.innbs])
        t = sum([n.other for n in v.innbs])
    check(zoomOut(s), rows(lambda n, v, k: X[n]))
    check(zoomOut(t), rows(lambda n, v, k: Y[n], shape=(2, 3)))


def test_names_inside_a_method():
    class Layer:
        def forward(self, graph, nfeat):
            with zoomIn(graph=graph, node_feat=[nfeat]) as v:
                rst = sum([n.nfeat for n in v.innbs]) + v.nfeat
            return zoomOut(rst)

    check(Layer().forward(graph(), Tensor(X)), X + rows(lambda n, v, k: X[n]))


def test_two_names_of_one_tensor_both_work():
    h = Tensor(X)
    feat = h
    with zoomIn(graph(), node_feat=[feat]) as v:
        s = sum([n.h + n.feat for n in v.innbs])
    check(zoomOut(s), rows(lambda n, v, k: 2 * X[n]))


def test_names_of_edge_values():
    w, h = Tensor(W), Tensor(X)
    with zoomIn(graph(), node_feat=[h], edge_feat=[w]) as v:
        s = sum([e.w * e.src.h for e in v.inedges])
    check(zoomOut(s), rows(lambda n, v, k: W[k] * X[n]))


def test_a_value_without_a_name():
    with pytest.raises(ValueError, match=r"node_feat\[0\] has no name.*keyword"):
        zoomIn(graph(), node_feat=[Tensor(X)])


def test_global_names():
    with zoomIn(graph(), node_feat=[GLOBAL]) as v:
        s = sum([n.GLOBAL for n in v.innbs])
    check(zoomOut(s), rows(lambda n, v, k: X[n]))


GLOBAL = Tensor(X)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: zoomIn(graph(), h=Tensor(X[:3])), ValueError, r"h has the shape \(3, 4\).*6 nodes"),
        (lambda: zoomIn(graph(), edge=dict(w=Tensor(X))), ValueError, r"w has the shape \(6, 4\).*12 edges"),
        (lambda: zoomIn(graph(), innbs=Tensor(X)), ValueError, "innbs"),
        (lambda: zoomIn(graph(), h="text"), TypeError, "h must be a Tensor, not str"),
        (lambda: zoomIn(graph(), h=Tensor(X), edge=dict(h=Tensor(W))), ValueError, "node value and an edge value"),
        (lambda: zoomIn(graph(), node_feat=dict(h=Tensor(X)), h=Tensor(X)), ValueError, "twice"),
        (lambda: zoomIn(graph(), h=Tensor(X), vertex="paper"), KeyError, "paper"),
    ],
)
def test_bad_arguments(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_numpy_arrays_and_edge_index_will_do():
    with zoomIn(INDEX, h=X) as v:
        s = sum([n.h for n in v.innbs])
    check(zoomOut(s), rows(lambda n, v, k: X[n]))


# ---- neighbourhoods ----


def test_in_and_out():
    with zoomIn(graph(), h=Tensor(X), edge=dict(w=Tensor(W))) as v:
        a = sum([n.h for n in v.innbs])
        b = sum([n.h for n in v.outnbs])
        c = sum([e.src.h * e.w - e.dst.h for e in v.inedges])
        d = sum([e.src.h * e.w - e.dst.h for e in v.outedges])
    a, b, c, d = zoomOut(a, b, c, d)
    check(a, rows(lambda n, v, k: X[n]))
    check(b, rows(lambda n, v, k: X[n], side="out"))
    check(c, rows(lambda n, v, k: X[n] * W[k] - X[v]))
    check(d, rows(lambda n, v, k: X[v] * W[k] - X[n], side="out"))


def test_a_neighbour_has_its_edge():
    with zoomIn(graph(), h=Tensor(X), edge=dict(w=Tensor(W))) as v:
        a = sum([n.h * n.edge.w for n in v.innbs])
        b = sum([n.h * n.w for n in v.innbs])
    for t in zoomOut(a, b):
        check(t, rows(lambda n, v, k: X[n] * W[k]))


@pytest.mark.parametrize(
    ("name", "ours", "theirs", "empty"),
    [
        ("sum", lambda m: sum(m), lambda m: m.sum(0), 0.0),
        ("sum with a start", lambda m: sum(m, 1.0), lambda m: m.sum(0) + 1, 1.0),
        ("max", lambda m: max(m), lambda m: m.max(0), 0.0),
        ("min", lambda m: min(m), lambda m: m.min(0), 0.0),
        ("max with a default", lambda m: max(m, default=-5.0), lambda m: m.max(0), -5.0),
        ("mean", lambda m: mean(m), lambda m: m.mean(0), 0.0),
        ("sum / len", lambda m: sum(m) / len(m), lambda m: m.mean(0), np.nan),
        ("prod", lambda m: prod(m), lambda m: m.prod(0), 1.0),
        ("var", lambda m: var(m), lambda m: m.var(0), 0.0),
        ("std", lambda m: std(m), lambda m: m.std(0), 0.0),
        ("logsumexp", lambda m: logsumexp(m), lambda m: np.log(np.exp(m).sum(0)), 0.0),
        ("any", lambda m: any([x > 1 for x in m]).where(1.0, 0.0), lambda m: (m > 1).any(0), 0.0),
        ("all", lambda m: all([x > -1 for x in m]).where(1.0, 0.0), lambda m: (m > -1).all(0), 1.0),
    ],
)  # fmt: skip
def test_reductions(name, ours, theirs, empty):
    with zoomIn(graph(), h=Tensor(X)) as v:
        out = ours([n.h * v.h for n in v.innbs])
    check(zoomOut(out), rows(lambda n, v, k: X[n] * X[v], theirs, empty=empty))


def test_softmax_gives_a_list_to_zip():
    with zoomIn(graph(), h=Tensor(X)) as v:
        alpha = softmax([n.h for n in v.innbs])
        out = sum([a * n.h for a, n in zip(alpha, v.innbs)])
        total = alpha.sum()
    want = rows(lambda n, v, k: X[n], lambda m: (np.exp(m) / np.exp(m).sum(0) * m).sum(0))
    check(zoomOut(out), want)
    check(zoomOut(total), (rows(lambda n, v, k: X[n] * 0 + 1) > 0).astype(float))


def test_methods_of_lists():
    with zoomIn(graph(), h=Tensor(X)) as v:
        out = v.innbs.h.mean() + v.innbs.h.softmax().max() + v.outnbs.h.sum()
    want = rows(lambda n, v, k: X[n], lambda m: m.mean(0) + (np.exp(m) / np.exp(m).sum(0)).max(0)) + rows(lambda n, v, k: X[n], side="out")
    check(zoomOut(out), want)


def test_generators_as_well_as_lists():
    with zoomIn(graph(), h=Tensor(X)) as v:
        a = sum(n.h for n in v.innbs)
        b = max(n.h - v.h for n in v.innbs)
        c = sum(a * n.h for a, n in zip((m.h.exp() for m in v.innbs), v.innbs))
        d = sum(map(lambda a, n: a * n.h, [n.h.exp() for n in v.innbs], v.innbs))
    a, b, c, d = zoomOut(a, b, c, d)
    check(a, rows(lambda n, v, k: X[n]))
    check(b, rows(lambda n, v, k: X[n] - X[v], lambda m: m.max(0)))
    for t in (c, d):
        check(t, rows(lambda n, v, k: np.exp(X[n]) * X[n]))


def test_counting():
    degree = np.bincount(INDEX[1], minlength=NODES)
    with zoomIn(graph(), h=Tensor(X)) as v:
        counts = [
            len(v.innbs), len([n for n in v.innbs]), len([n.h for n in v.innbs]), sum([1 for n in v.innbs]), sum(1 for n in v.innbs),
            sum([1 for _ in v.inedges]),
        ]  # fmt: skip
        out = len(v.outnbs)
        scaled = sum([2.5 for n in v.innbs])
        ones = [1 for n in v.innbs]
        twice = [2 for _ in v.innbs]
        counts += [sum(ones), sum(twice) // 2, len(ones), max(sum([1 for n in v.innbs]), 0)]
        plain = sum([7]), max([3]), len([5])
    assert plain == (7, 3, 1)
    for t in zoomOut(*counts):
        assert t.tolist() == degree.tolist()
    assert zoomOut(out).tolist() == np.bincount(INDEX[0], minlength=NODES).tolist()
    check(zoomOut(scaled), degree * 2.5)


def test_a_list_of_numbers_chosen_inside_a_call():
    """Python keeps the positions that tell whose list it is since 3.11; before, it is an error, never another number."""
    with zoomIn(graph(), h=Tensor(X)) as v:
        if sys.version_info >= (3, 11):
            assert zoomOut(sum([1 for n in v.innbs] if NODES else [2])).tolist() == np.bincount(INDEX[1], minlength=NODES).tolist()
        else:
            with pytest.raises(RuntimeError, match="len"):
                sum([1 for n in v.innbs] if NODES else [2])


def test_the_vertex_in_a_loop_counts_once_for_each_neighbour():
    degree = np.bincount(INDEX[1], minlength=NODES)[:, None]
    with zoomIn(graph(), h=Tensor(X)) as v:
        own = v.h * 2
        a = sum([v.h for n in v.innbs])
        b = sum([v.h.relu() for n in v.innbs])
        c = sum([own for n in v.innbs])
        d = sum([e.dst.h for e in v.inedges])
        e = sum(own for n in v.innbs)
    for got, want in zip(zoomOut(a, b, c, d, e), (X, np.maximum(X, 0), 2 * X, X, 2 * X)):
        check(got, want * degree)


def test_one_value_that_could_be_meant_either_way():
    with zoomIn(graph(), h=Tensor(X)) as v:
        own = v.h * 2
        entries = [own for n in v.innbs]  # only ever this list: it is clear
        total = sum(entries)
        either = [own for n in v.innbs]
        kept = {"all": either}
        either = [own]
        for unclear in (either, kept["all"]):
            with pytest.raises(RuntimeError, match=r"len\(v.innbs\) \* x"):
                sum(unclear)
    check(zoomOut(total), np.bincount(INDEX[1], minlength=NODES)[:, None] * 2 * X)


def test_plain_lists_of_vertex_values():
    with zoomIn(graph(), h=Tensor(X)) as v:
        total = sum([v.h, v.h * 2, 1.0])
        one = sum([v.h * 3])
        top = max(v.h, 0.0)
        low = min(v.h, v.h * 2, 1.0)
    a, b, c, d = zoomOut(total, one, top, low)
    check(a, 3 * X + 1)
    check(b, 3 * X)
    check(c, np.maximum(X, 0))
    check(d, np.minimum(np.minimum(X, 2 * X), 1))


def test_lists_inside_a_loop_are_of_this_neighbour():
    with zoomIn(graph(), h=Tensor(X)) as v:
        a = sum([sum([n.h, v.h, 1.0]) for n in v.innbs])
        b = sum([max(n.h, v.h) for n in v.innbs])
    check(zoomOut(a), rows(lambda n, v, k: X[n] + X[v] + 1))
    check(zoomOut(b), rows(lambda n, v, k: np.maximum(X[n], X[v])))


def test_lists_can_be_joined():
    """A neighbourhood with the vertex in it, or two neighbourhoods."""
    inner, outer = rows(lambda n, v, k: X[n]), rows(lambda n, v, k: X[n], side="out")
    degree = np.bincount(INDEX[1], minlength=NODES)[:, None]

    def with_self(reduce):
        return np.array([reduce(np.array([X[v]] + [X[a] for a, b in INDEX.T if b == v])) for v in range(NODES)])

    with zoomIn(graph(), h=Tensor(X)) as v:
        near = [n.h for n in v.innbs] + [v.h]
        results = [sum(near), max(near), min(near), mean(near), len(near), var(near), logsumexp(near)]
        both = sum([n.h for n in v.innbs] + [n.h for n in v.outnbs])
        alpha = softmax(near)
        weighted = sum([a * x for a, x in zip(alpha, near)])
    got = zoomOut(*results)
    check(got[0], inner + X)
    check(got[1], with_self(lambda m: m.max(0)))
    check(got[2], with_self(lambda m: m.min(0)))
    check(got[3], (inner + X) / (degree + 1))
    assert got[4].tolist() == (degree[:, 0] + 1).tolist()
    check(got[5], with_self(lambda m: m.var(0)))
    check(got[6], with_self(lambda m: np.log(np.exp(m).sum(0))))
    check(zoomOut(both), inner + outer)
    check(zoomOut(weighted), with_self(lambda m: (np.exp(m) / np.exp(m).sum(0) * m).sum(0)))


def test_neighbours_of_neighbours():
    two = rows(lambda n, v, k: rows(lambda a, b, k: X[a])[n] * X[n])
    with zoomIn(graph(), h=Tensor(X)) as v:
        out = sum([sum([m.h for m in n.innbs]) * n.h for n in v.innbs])
    check(zoomOut(out), two)


def test_new_values_of_the_vertex_are_seen_by_neighbours():
    with zoomIn(graph(), h=Tensor(X)) as v:
        v.z = v.h
        for _ in range(3):
            v.z = 0.5 * sum([n.z for n in v.innbs]) + v.h
        out = v.z
    z = X
    for _ in range(3):
        z = 0.5 * rows(lambda n, v, k: z[n]) + X  # noqa: B023
    check(zoomOut(out), z)


def test_zip_goes_through_neighbours_and_edges():
    with zoomIn(graph(), h=Tensor(X), edge=dict(w=Tensor(W))) as v:
        a = sum([n.h * e.w for n, e in zip(v.innbs, v.inedges)])
        scores = [n.h for n in v.innbs]
        weights = [e.w for e in v.inedges]
        b = sum([s * w for s, w in zip(scores, weights)])
    for t in zoomOut(a, b):
        check(t, rows(lambda n, v, k: X[n] * W[k]))


# ---- what is refused ----


@pytest.mark.parametrize(
    "branch",
    [
        lambda x: 1 if x.sum() > 0 else 2,
        lambda x: [k for k in range(3) if x.sum() > k],
        lambda x: not (x.sum() > 0),
        lambda x: x.sum() > 0 and 1,
        lambda x: 0 < x.sum() < 1,
        lambda x: bool(x),
        lambda x: x in [x * 1],
    ],
)
def test_branches_name_where(branch):
    with zoomIn(graph(), h=Tensor(X)) as v:
        with pytest.raises(TypeError, match="where"):
            branch(v.h)
        with pytest.raises(TypeError, match="where"):
            [branch(n.h) for n in v.innbs]


def test_while_names_where():
    with zoomIn(graph(), h=Tensor(X)) as v:
        with pytest.raises(TypeError, match="where"):
            while v.h.sum() > 0:
                pass
        with pytest.raises(TypeError, match="where"):
            if v.innbs:
                pass


def test_where_is_the_if():
    with zoomIn(graph(), h=Tensor(X)) as v:
        a = sum([(n.h > v.h).where(n.h, 0.0) for n in v.innbs])
        b = sum([where(n.h > v.h, n.h, v.h * 2) for n in v.innbs])
        c = where(len(v.innbs) > 2, 1.0, 0.0)
        d = Tensor.where(v.h > 0, v.h, -v.h)
    a, b, c, d = zoomOut(a, b, c, d)
    check(a, rows(lambda n, v, k: np.where(X[n] > X[v], X[n], 0)))
    check(b, rows(lambda n, v, k: np.where(X[n] > X[v], X[n], 2 * X[v])))
    check(c, (np.bincount(INDEX[1], minlength=NODES) > 2).astype(float))
    check(d, np.abs(X))


def test_numbers_do_not_exist_yet():
    with zoomIn(graph(), h=Tensor(X)) as v:
        for use in (float, int, np.asarray, lambda x: range(x), lambda x: x.numpy(), lambda x: x.item(), lambda x: x.tolist(), lambda x: x.realize()):
            with pytest.raises(TypeError, match="zoomOut|no number"):
                use(v.h)
        with pytest.raises(TypeError, match="comprehension"):
            range(len(v.innbs))
        with pytest.raises(TypeError, match="in place"):
            v.h[0] = 1.0
        with pytest.raises(TypeError, match="loss"):
            v.h.mse_loss(v.h)
        with pytest.raises(AttributeError, match="nonsense"):
            v.h.nonsense()


def test_pairs_of_neighbours_are_refused():
    with zoomIn(graph(), h=Tensor(X)) as v:
        with pytest.raises(RuntimeError, match="pairs"):
            sum([n.h * m.h for n in v.innbs for m in v.innbs])
        scores = [n.h for n in v.innbs]
        others = [n.h * 2 for n in v.innbs]
        with pytest.raises(RuntimeError, match="zip"):
            sum([a * b for a in scores for b in others])
        with pytest.raises(RuntimeError, match="zip"):
            sum([a * n.h for a in scores for n in v.innbs])
        with pytest.raises(RuntimeError, match="different neighbourhoods"):
            sum([n.h * m.h for n in v.innbs for m in v.outnbs])
        with pytest.raises(RuntimeError, match="inside a loop over"):
            sum([n.h * 1 for n in v.innbs for m in v.outnbs])


def test_neighbours_have_no_order():
    with zoomIn(graph(), h=Tensor(X)) as v:
        near = [n.h for n in v.innbs]
        for use in (sorted, enumerate, reversed):
            with pytest.raises(TypeError, match="no order"):
                use(near)
            with pytest.raises(TypeError, match="no order"):
                use(v.innbs)
        assert sorted([2, 1]) == [1, 2] and list(enumerate("a", 1)) == [(1, "a")] and list(reversed([1, 2])) == [2, 1]
        assert isinstance(enumerate([]), enumerate) and [k for k, x in enumerate([v.h, v.h * 2])] == [0, 1]


def test_mean_needs_no_import():
    program = "with zoomIn(g, h=h) as v:\n    out = mean([n.h for n in v.innbs])\nout = zoomOut(out)"
    space = {"zoomIn": zoomIn, "zoomOut": zoomOut, "g": graph(), "h": Tensor(X)}
    exec(program, space)
    check(space["out"], rows(lambda n, v, k: X[n], lambda m: m.mean(0)))
    assert not hasattr(builtins, "mean")


def test_what_was_not_reduced_does_not_leave():
    with zoomIn(graph(), h=Tensor(X)) as v:
        for n in v.innbs:
            last = n.h
        total = 0
        for n in v.innbs:
            total = total + n.h
    for x in (last, total):
        with pytest.raises(ValueError, match="not reduced"):
            zoomOut(x)
    with pytest.raises(TypeError, match="zoomOut"):
        zoomOut()
    with pytest.raises(TypeError):
        zoomOut("text")


def test_unknown_names_say_what_there_is():
    with zoomIn(graph(), h=Tensor(X), edge=dict(w=Tensor(W))) as v:
        with pytest.raises(AttributeError, match="no value 'g'; values: h"):
            v.g  # noqa: B018
        with pytest.raises(AttributeError, match="edge value"):
            v.w  # noqa: B018
        with pytest.raises(AttributeError, match="e.src.h"):
            [e.h for e in v.inedges]
        with pytest.raises(TypeError, match="sum"):
            sum(v.innbs)
        with pytest.raises(TypeError, match="neighbours"):
            for n in v.innbs:
                n.z = 1
        with pytest.raises(TypeError, match="inside a loop"):
            for _ in v.innbs:
                v.z = v.h
        with pytest.raises(TypeError, match="reduce"):
            v.z = [n.h for n in v.innbs][0]
    with pytest.raises(RuntimeError, match="ended"):
        [n for n in v.innbs]


def test_values_of_two_programs_do_not_mix():
    with zoomIn(graph(), h=Tensor(X)) as v:
        a = v.h
    with zoomIn(graph(), h=Tensor(X)) as u:
        with pytest.raises(RuntimeError, match="two vertex programs"):
            a + u.h  # noqa: B018


# ---- out ----


def test_zoom_out_of_several_kinds():
    with zoomIn(graph(), h=Tensor(X)) as v:
        s, alpha = sum([n.h for n in v.innbs]), softmax([n.h for n in v.innbs])
        raw = [n.h for n in v.innbs]
    a, (b, c), d = zoomOut(s, (v.h, 2.0), {"alpha": alpha, "raw": raw})
    check(a, rows(lambda n, v, k: X[n]))
    check(b, X)
    assert c.shape == (NODES,) and set(c.tolist()) == {2.0}
    assert d["alpha"].shape == (E, 4)
    check(d["raw"], X[INDEX[0]])


def test_decorator():
    @vertex_program
    def program(v, scale, shift=1.0):
        """Its text."""
        return sum([n.h * scale for n in v.innbs]) + shift, v.h

    a, b = program(graph(), h=Tensor(X), scale=3.0)
    check(a, rows(lambda n, v, k: 3 * X[n]) + 1)
    check(b, X)
    assert program.__doc__ == "Its text." and program.__name__ == "program"
    h = Tensor(X)
    check(program(graph(), [h], scale=1.0, shift=0.0)[0], rows(lambda n, v, k: X[n]))


def test_decorator_on_a_method():
    class Layer(nn.Module):
        def __init__(self):
            self.scale = 5.0

        @vertex_program
        def message(self, v):
            return sum([n.h * n.w for n in v.innbs]) * self.scale

    check(Layer().message(graph(), h=Tensor(X), edge=dict(w=Tensor(W))), rows(lambda n, v, k: 5 * X[n] * W[k]))


# ---- builtins ----


PYTHON = dict(vars(builtins))


def untouched():
    return {k: v for k, v in vars(builtins).items() if k != "_"} == {k: v for k, v in PYTHON.items() if k != "_"}


def test_nothing_stays_patched():
    before = builtins.sum
    with zoomIn(graph(), h=Tensor(X)) as v:
        assert builtins.sum is not before and not untouched()
        with zoomIn(graph(), h=Tensor(X)) as u:
            inner = sum([n.h for n in u.innbs])
        outer = sum([n.h for n in v.innbs])
    assert builtins.sum is before and untouched()
    for t in (zoomOut(inner), zoomOut(outer)):
        check(t, rows(lambda n, v, k: X[n]))


def test_nothing_stays_patched_after_an_exception():
    with pytest.raises(ZeroDivisionError):
        with zoomIn(graph(), h=Tensor(X)) as v:
            for _ in v.innbs:
                1 / 0  # noqa: B018
    assert untouched()

    @vertex_program
    def bad(v):
        return sum([n.missing for n in v.innbs])

    with pytest.raises(AttributeError):
        bad(graph(), h=Tensor(X))
    assert untouched()
    with pytest.raises(ValueError):
        zoomIn(graph(), h=Tensor(X[:2]))
    assert untouched()


def test_builtins_still_do_their_own_work_inside():
    with zoomIn(graph(), h=Tensor(X)):
        assert sum([1, 2, 3]) == 6 and sum([[1], [2]], []) == [1, 2] and sum(x for x in (1, 2)) == 3 and sum([7]) == 7
        assert max(1, 5, 2) == 5 and max([1, 9], key=lambda x: -x) == 1 and max([], default=4) == 4 and min("b", "a") == "a"
        assert len([1, 2]) == 2 and len("abc") == 3 and len({}) == 0 and len(Tensor.ones(3, 2)) == 3
        assert any([0, 1]) and not all([0, 1]) and not any([]) and all(x for x in (1, 2))
        assert list(zip([1, 2], "ab")) == [(1, "a"), (2, "b")] and list(map(pow, [2, 3], [3, 2])) == [8, 9]
        assert isinstance(zip([1]), zip) and isinstance(map(str, [1]), map) and dict(zip("ab", [1, 2])) == {"a": 1, "b": 2}
        with pytest.raises(TypeError):
            sum(5)
        with pytest.raises(TypeError):
            len(5)
        with pytest.raises(ValueError):
            max([])
        import itertools

        assert any(x > 3 for x in itertools.count())  # stops early


def test_the_guide(cpu):
    """Every piece of docs/graphs.md runs, one after the other, and says what it says it prints."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "graphs.md").read_text()
    pieces = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(pieces) > 5
    space: dict = {"__name__": "guide"}
    for piece in pieces:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(piece, "docs/graphs.md", "exec"), space)
        said = re.findall(r"print\(.*?\)\s+# (.*)", piece)
        assert printed.getvalue().splitlines()[: len(said)] == said, piece
    assert untouched()


def test_other_threads_see_the_originals():
    results, start, done = [], threading.Event(), threading.Event()

    def work():
        start.wait()
        results.append((sum([1, 2]), len([1]), max(3, 4), list(zip([1], [2])), (Tensor([1.0, 2.0]) @ Tensor([1.0, 1.0])).item()))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with zoomIn(graph(), h=Tensor(X)) as v:
        s = [n.h for n in v.innbs]
        start.set()
        done.wait()
        out = sum(s)
    thread.join()
    assert results == [(3, 1, 4, [(1, 2)], 3.0)] and untouched()
    check(zoomOut(out), rows(lambda n, v, k: X[n]))


def test_traces_of_several_threads():
    failures = []

    def work(seed):
        try:
            x = np.random.default_rng(seed).standard_normal((NODES, 4))
            for _ in range(10):
                with zoomIn(graph(), h=Tensor(x)) as v:
                    out = sum([n.h * v.h for n in v.innbs])
                check(zoomOut(out), rows(lambda n, v, k: x[n] * x[v]))
        except Exception as e:  # reported by the test's own thread
            failures.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures and untouched()
