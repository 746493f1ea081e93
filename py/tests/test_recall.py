"""Training steps that are recalled: a step that came before runs its plan without being built. Whatever a loop does between, before and after, it sees
what it would see if every step were built: a call between backward and step makes a loop build them, and both must agree bit for bit."""

import numpy as np
import pytest

from polygrad import Tensor, nn, with_autograd_graph
from polygrad.nn import SGD, Adam, AdamW, RMSprop, get_parameters

STEPS = 9


def both(loop, recalled=True, **kwargs):
    """What the loop returns, equal whether steps are recalled or built."""
    results = []
    for built in (False, True):
        with with_autograd_graph() as graph:
            Tensor.manual_seed(3)
            # Any call of the library in between: asking for a gradient builds it.
            between = (lambda params: [p.grad for p in params]) if built else (lambda params: None)
            results.append([np.asarray(r) for r in loop(between, **kwargs)])
            if not built:
                assert (graph.steps_recalled > 0) == recalled, graph.steps_recalled
            else:
                assert graph.steps_recalled == 0
    assert len(results[0]) == len(results[1])
    for k, (a, b) in enumerate(zip(*results)):
        assert a.shape == b.shape and a.tobytes() == b.tobytes(), (k, a, b)
    return results[0]


class Net:
    def __init__(self, width=4):
        self.a, self.norm, self.b = nn.Linear(width, 8), nn.BatchNorm(8), nn.Linear(8, 2)

    def __call__(self, x):
        return self.b(self.norm(self.a(x)).relu().dropout(0.5))


def batch(rng, n=16, width=4):
    return Tensor(rng.standard_normal((n, width)).astype(np.float32)), Tensor(rng.standard_normal((n, 2)).astype(np.float32))


def state_of(opt):
    return [t.numpy() for t in opt.state_dict().values()]


@pytest.mark.parametrize(
    "make",
    [
        lambda p: Adam(p, lr=0.01),
        lambda p: SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
        lambda p: AdamW(p, lr=0.01),
        lambda p: RMSprop(p, lr=0.01),
    ],
    ids=["adam", "sgd", "adamw", "rmsprop"],
)
def test_values_of_a_whole_step(make):
    """Loss, outputs, gradients, parameters, running statistics and the optimizer's state, with random numbers in it."""

    def loop(between):
        rng, net = np.random.default_rng(0), Net()
        params = get_parameters(net)
        opt, out = make(params), []
        with Tensor.train():
            for _ in range(STEPS):
                x, y = batch(rng)
                opt.zero_grad()
                o = net(x)
                loss = (o - y).square().mean()
                loss.backward()
                between(params)
                opt.step()
                out += [loss.numpy(), o.numpy(), net.norm.running_mean.numpy(), net.norm.running_var.numpy()]
                out += [p.numpy() for p in params] + [p.grad.numpy() for p in params if p.grad is not None]
        return out + state_of(opt)

    assert np.isfinite(both(loop)[0])


def test_sizes_that_change():
    """Plain sizes make another program, symbolic ones the same: both are right."""

    def loop(between, symbolic):
        from polygrad import Variable

        rng, net = np.random.default_rng(0), Net()
        params = get_parameters(net)
        opt, out = Adam(params, lr=0.01), []
        for k in range(14):
            n = [16, 5, 16, 9, 16, 16, 5][k % 7]
            x, y = batch(rng, n)
            if symbolic:
                size = Variable("rows", 2, 64).bind(n)
                x, y = (Tensor(np.concatenate([t.numpy(), np.zeros((64 - n, t.shape[1]), np.float32)])).realize()[:size] for t in (x, y))
            opt.zero_grad()
            loss = (net(x) - y).square().mean()
            loss.backward()
            between(params)
            opt.step()
            out.append(loss.numpy())
        return out + [p.numpy() for p in params]

    a = both(loop, symbolic=False)
    b = both(loop, symbolic=True)
    for x, y in zip(a, b):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_a_size_that_is_a_number():
    """A size that changes and stands beside a tensor is a value of the program, which is the same for all sizes."""

    def loop(between):
        from polygrad import Variable

        rng, net = np.random.default_rng(0), Net()
        params = get_parameters(net)
        opt, out = Adam(params, lr=0.01), []
        for n in (16, 5, 9, 12, 3, 16, 7, 8):
            x, y = (t.realize().sized(Variable("rows", 2, 64).bind(n), t.shape[1]) for t in batch(rng, n))
            opt.zero_grad()
            loss = (net(x) - y).square().sum() / y.numel() + x.sum() / x.shape[0]
            loss.backward()
            between(params)
            opt.step()
            out.append(loss.numpy())
        return out + [p.numpy() for p in params]

    both(loop)


@pytest.mark.parametrize("score", ["ratio", "min_score"])
def test_pools_of_batches(score):
    """A pool keeps other numbers of nodes and edges of each batch: sizes that change, so that steps are one program."""
    import polygrad.geometric.nn as gnn
    from polygrad.geometric.data import Data
    from polygrad.geometric.loader import DataLoader

    rng, graphs = np.random.default_rng(0), []
    for _ in range(40):
        n = int(rng.integers(4, 12))
        e = rng.integers(0, n, (2, 3 * n))
        graphs.append(Data(x=Tensor(rng.standard_normal((n, 3)).astype(np.float32)), edge_index=Tensor(e), y=Tensor(rng.integers(0, 2, 1))))

    def loop(between):
        first, second, pool = gnn.GraphConv(3, 8), gnn.GraphConv(8, 2), gnn.TopKPooling(8, **{score: 0.6 if score == "ratio" else 0.1})
        params = [*get_parameters(first), *get_parameters(second), *get_parameters(pool)]
        opt, out = Adam(params, lr=0.01), []
        for batch in [b for _ in range(2) for b in DataLoader(graphs, batch_size=8)]:
            opt.zero_grad()
            x, edge_index, _, index, perm, weight = pool(first(batch.x, batch.edge_index).relu(), batch.edge_index, None, batch.batch)
            loss = gnn.global_mean_pool(second(x, edge_index), index).cross_entropy(batch.y)
            loss.backward()
            between(params)
            opt.step()
            assert x.shape[0] == perm.shape[0] == index.shape[0] == weight.shape[0] < batch.num_nodes
            assert edge_index.numpy().max() < x.shape[0]
            out += [loss.numpy(), x.numpy(), edge_index.numpy(), index.numpy(), perm.numpy()]
        return out + [p.numpy() for p in params]

    both(loop)


def quiet(rng, net, opt, n=16):
    x, y = batch(rng, n)
    opt.zero_grad()
    return (net(x) - y).square().mean()


def test_what_reads_the_old_parameters():
    """Tensors that were built of a parameter before the step, and not computed, have its old value afterwards."""

    def loop(between):
        rng, net = np.random.default_rng(0), Net()
        params, out = get_parameters(net), []
        opt = Adam(params, lr=0.1)
        for _ in range(STEPS):
            before, view = net.a.weight * 2, net.a.weight[1]
            loss = quiet(rng, net, opt)
            loss.backward()
            between(params)
            opt.step()
            out += [before.numpy(), view.numpy(), net.a.weight.numpy(), loss.numpy()]
        return out

    out = both(loop)
    assert not np.array_equal(out[0], out[2] * 2)


def test_other_names_of_a_parameter():
    """A detached parameter is the same memory; a copy of it is not."""

    def loop(between, kept):
        rng, net = np.random.default_rng(0), Net()
        params, out = get_parameters(net), []
        opt = Adam(params, lr=0.1)
        for _ in range(STEPS):
            other = net.a.weight.detach() if kept == "detached" else net.a.weight.clone().realize()
            loss = quiet(rng, net, opt)
            loss.backward()
            between(params)
            opt.step()
            out += [other.numpy(), net.a.weight.numpy(), loss.numpy()]
        return out

    both(loop, kept="clone")
    results = []
    for built in (False, True):
        with with_autograd_graph():
            Tensor.manual_seed(3)
            results.append(loop((lambda params: [p.grad for p in params]) if built else (lambda params: None), kept="detached"))
    for a, b in zip(*results):
        np.testing.assert_array_equal(a, b)


def test_settings_that_change():
    """Learning rates, settings of a group and frozen parameters in the middle of a loop."""

    def loop(between):
        rng, net = np.random.default_rng(0), Net()
        params, out = get_parameters(net), []
        opt = SGD(params, lr=0.1, momentum=0.9)
        for k in range(24):
            opt.lr = 0.1 / (1 + k)
            if k == 8:
                opt.param_groups[0]["weight_decay"] = 0.1
            if k == 12:
                net.a.bias.requires_grad = False
            if k == 16:
                net.a.bias.requires_grad = True
            loss = quiet(rng, net, opt)
            loss.backward()
            between(params)
            opt.step()
            out += [loss.numpy(), *(p.numpy() for p in params)]
        return out

    both(loop)


def test_two_optimizers_and_two_losses():
    """Each of two networks has its own optimizer, and one loss reads both; a third loop adds gradients of two losses."""

    def loop(between):
        rng, a, b = np.random.default_rng(0), Net(), Net(2)
        pa, pb, out = get_parameters(a), get_parameters(b), []
        oa, ob = Adam(pa, lr=0.01), SGD(pb, lr=0.1)
        for _ in range(STEPS):
            x, y = batch(rng)
            for opt, params in ((oa, pa), (ob, pb)):
                oa.zero_grad()
                ob.zero_grad()
                loss = (b(a(x)) - y).square().mean()
                loss.backward()
                between(params)
                opt.step()
                out += [loss.numpy(), *(p.numpy() for p in pa + pb), *(p.grad.numpy() for p in pa + pb if p.grad is not None)]
        for _ in range(STEPS):
            x, y = batch(rng)
            oa.zero_grad()
            ob.zero_grad()
            a(x).square().mean().backward()
            (b(a(x)) - y).square().mean().backward()
            between(pa)
            oa.step()
            ob.step()
            out += [*(p.numpy() for p in pa + pb), *(p.grad.numpy() for p in pa + pb if p.grad is not None)]
        return out

    both(loop)


def test_gradients_that_are_other_tensors():
    """The gradient of w in sum(w * x) is x itself; two parameters may have one gradient; that of an input may wait until it is read."""

    def loop(between, case):
        rng, out = np.random.default_rng(0), []
        w, v = (Tensor(rng.standard_normal(4).astype(np.float32), requires_grad=True) for _ in range(2))
        params = [w, v] if case == "same" else [w]
        opt = SGD(params, lr=0.1)
        for _ in range(STEPS):
            x = Tensor(rng.standard_normal(4).astype(np.float32), requires_grad=case == "input")
            opt.zero_grad()
            loss = {"itself": lambda: (w * x).sum(), "same": lambda: ((w + v) * x).tanh().sum(), "input": lambda: (x * 3).sum() + (w * w).sum()}[
                case
            ]()
            loss.backward()
            between(params)
            opt.step()
            out += [loss.numpy(), *(p.grad.numpy() for p in params), *(p.numpy() for p in params), *([x.grad.numpy()] if case == "input" else [])]
        return out

    for case in ("itself", "same", "input"):
        both(loop, recalled=False, case=case)


def test_any_call_between_sees_the_gradients():
    """What is asked for between backward and step is there, as if nothing had been put off."""
    for ask in (
        lambda net, loss: net.a.weight.grad.numpy(),
        lambda net, loss: loss.numpy(),
        lambda net, loss: (net.b.weight.grad * 2).sum().numpy(),
        lambda net, loss: net.a.weight.numpy(),
        lambda net, loss: np.array(net.a.weight.grad is None),
    ):
        values = []
        for recalls in (True, False):
            with with_autograd_graph() as graph:
                Tensor.manual_seed(3)
                rng, net = np.random.default_rng(0), Net()
                opt = Adam(get_parameters(net), lr=0.01)
                for k in range(8):
                    loss = quiet(rng, net, opt)
                    loss.backward()
                    if k == 6 or not recalls:
                        asked = ask(net, loss)
                    opt.step()
                    if k == 6:
                        values.append([asked, loss.numpy(), net.a.weight.numpy(), net.a.weight.grad.numpy()])
                assert (graph.steps_recalled > 0) == recalls
        for a, b in zip(*values):
            np.testing.assert_array_equal(a, b)


def test_backward_without_a_step():
    """A pass that was put off and never followed by a step is done when its gradient is asked for, or forgotten with its context."""
    with with_autograd_graph() as graph:
        rng, net = np.random.default_rng(0), Net()
        opt = Adam(get_parameters(net), lr=0.01)
        for k in range(8):
            loss = quiet(rng, net, opt)
            loss.backward()
            if k < 6:
                opt.step()
        assert graph.steps_recalled > 0
        first = net.a.weight.grad.numpy()
        loss.backward()  # adds to it
        np.testing.assert_allclose(net.a.weight.grad.numpy(), 2 * first, rtol=1e-6)
        loss = quiet(rng, net, opt)
        loss.backward()
        del loss  # freed while the pass waits
        assert net.a.weight.grad is not None
        quiet(rng, net, opt).backward()


def test_an_index_error_in_a_step_that_is_known():
    """The error is that of a step that is built, parameters keep their values, and the loop goes on."""
    with with_autograd_graph() as graph:
        table = Tensor.rand(10, 4, requires_grad=True)
        opt = Adam([table], lr=0.1)

        def step(index):
            opt.zero_grad()
            loss = table[Tensor(np.array(index, np.int64))].square().sum()
            loss.backward()
            opt.step()
            return loss.item()

        for k in range(6):
            step([k, 3, 5])
        known = graph.steps_recalled
        assert known > 0
        before = table.numpy().copy()
        with pytest.raises(IndexError, match="index 10"):
            step([1, 10, 2])
        np.testing.assert_array_equal(table.numpy(), before)
        step([1, 9, 2])
        assert not np.array_equal(table.numpy(), before)


def test_memory_stays_flat():
    """Nodes, handles and bytes do not grow from step to step."""
    with with_autograd_graph() as graph:
        rng, net = np.random.default_rng(0), Net()
        opt, sizes = Adam(get_parameters(net), lr=0.01), []
        for _ in range(40):
            loss = quiet(rng, net, opt)
            loss.backward()
            opt.step()
            sizes.append((graph.live_nodes, graph.live_tensors, graph.live_bytes))
        assert graph.steps_recalled > 30
        assert sizes[20] == sizes[39]


def test_loops_that_never_end_in_a_step():
    """Updates that a loop writes itself: nothing is put off for ever, and nothing is recalled."""
    with with_autograd_graph() as graph:
        w = Tensor([1.0, 2.0], requires_grad=True)
        for _ in range(40):
            w.zero_grad()
            (w * w).sum().backward()
            w.assign((w - 0.1 * w.grad).detach()).realize()
        assert graph.steps_recalled == 0
        np.testing.assert_allclose(w.numpy(), np.array([1.0, 2.0]) * 0.8**40, rtol=1e-5)


@pytest.mark.parametrize("seed", range(30))
def test_random_loops(seed, monkeypatch):
    """Networks, losses, frozen layers, tensors kept from step to step, calls in between and other sizes, at random."""
    monkeypatch.setenv("POLY_EXACT", "1")  # which of two plans a size runs would depend on how many programs were planned before

    def loop(between):
        draw = np.random.default_rng(seed)
        rng, width = np.random.default_rng(0), int(draw.integers(2, 6))
        net = [nn.Linear(width, 6), nn.Linear(6, 6), nn.Linear(6, 2)]
        norm = nn.BatchNorm(6) if draw.integers(2) else None
        params = [p for layer in [*net, *([norm] if norm else [])] for p in get_parameters(layer)]
        for p in params:
            p.requires_grad = True
        opt = (Adam if draw.integers(2) else SGD)(params, lr=0.05)
        kept, out = [], []
        for _ in range(16):
            n = int(draw.choice([8, 8, 8, 8, 3, 1]))
            act = draw.integers(12)
            x, y = batch(rng, n, width)
            opt.zero_grad()
            h = net[0](x).tanh()
            h = norm(h) if norm else h
            h = (net[1](h) + h if act != 3 else net[1](h)).relu()
            o = net[2](h)
            loss = (o - y).square().mean() + (net[1].weight.square().sum() * 0.01 if act == 4 else 0)
            if act == 5:
                kept = [o, net[0].weight + 1]
            if act == 6:
                kept = []
            loss.backward()
            if act == 7:
                out.append(loss.numpy())
            if act == 8:
                out.append(params[0].grad.numpy())
            if act == 9:
                net[1].weight.requires_grad = not net[1].weight.requires_grad
            if act != 10:
                between(params)
                opt.step()
            out += [loss.numpy(), o.numpy(), *(p.numpy() for p in params), *(t.numpy() for t in kept)]
            out += [p.grad.numpy() for p in params if p.grad is not None]
        return out

    results = []
    for built in (False, True):
        with with_autograd_graph():
            Tensor.manual_seed(3)
            results.append([np.asarray(r) for r in loop((lambda params: [p.grad for p in params]) if built else (lambda params: None))])
    assert len(results[0]) == len(results[1])
    for k, (a, b) in enumerate(zip(*results)):
        assert a.tobytes() == b.tobytes(), (k, a, b)
