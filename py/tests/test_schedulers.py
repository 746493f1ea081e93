"""Learning-rate schedules against closed forms."""

import math

import pytest

from polygrad import Tensor
from polygrad.nn import SGD, Adam
from polygrad.nn.optim import lr_scheduler as S


def make(lr=0.1, kind=SGD, **kwargs):
    return kind([Tensor([1.0], requires_grad=True)], lr=lr, **kwargs)


def rates(scheduler, n=9, *args):
    out = []
    for _ in range(n):
        out.append(scheduler.optimizer.param_groups[0]["lr"])
        scheduler.step(*args)
    return out


def cosine(a, b, t):
    return b + (a - b) * (1 + math.cos(math.pi * t)) / 2


FORMS = {
    "StepLR": (lambda o: S.StepLR(o, 3, 0.5), lambda t: 0.1 * 0.5 ** (t // 3)),
    "MultiStepLR": (lambda o: S.MultiStepLR(o, [2, 5, 5]), lambda t: 0.1 * 0.1 ** ((t >= 2) + 2 * (t >= 5))),
    "ExponentialLR": (lambda o: S.ExponentialLR(o, 0.9), lambda t: 0.1 * 0.9**t),
    "LambdaLR": (lambda o: S.LambdaLR(o, lambda t: 1 / (t + 1)), lambda t: 0.1 / (t + 1)),
    "MultiplicativeLR": (lambda o: S.MultiplicativeLR(o, lambda t: 0.95), lambda t: 0.1 * 0.95**t),
    "ConstantLR": (lambda o: S.ConstantLR(o, 0.5, 4), lambda t: 0.05 if t < 4 else 0.1),
    "LinearLR": (lambda o: S.LinearLR(o, 0.2, 0.8, 4), lambda t: 0.1 * (0.2 + 0.6 * min(t, 4) / 4)),
    "PolynomialLR": (lambda o: S.PolynomialLR(o, 6, 2.0), lambda t: 0.1 * (1 - min(t, 6) / 6) ** 2),
    "CosineAnnealingLR": (lambda o: S.CosineAnnealingLR(o, 6, 0.01), lambda t: cosine(0.1, 0.01, t / 6)),
    "CosineAnnealingWarmRestarts": (
        lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2, 0.01), lambda t: cosine(0.1, 0.01, t / 3) if t < 3 else cosine(0.1, 0.01, (t - 3) / 6)
    ),
    "CyclicLR": (lambda o: S.CyclicLR(o, 0.01, 0.05, 2, cycle_momentum=False), lambda t: 0.01 + 0.04 * (1 - abs((t % 4) / 2 - 1))),
    "OneCycleLR": (
        lambda o: S.OneCycleLR(o, 1.0, 11, pct_start=0.5454545454545454, cycle_momentum=False),
        lambda t: cosine(0.04, 1.0, t / 5) if t <= 5 else cosine(1.0, 4e-6, (t - 5) / 5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_closed_form(name):
    build, form = FORMS[name]
    got = rates(build(make()))
    assert got == pytest.approx([form(t) for t in range(9)], rel=1e-9, abs=1e-12)


def test_step_to_an_epoch():
    s = S.ExponentialLR(make(), 0.5)
    s.step(3)
    assert s.get_last_lr() == [0.1 * 0.125] and s.last_epoch == 3


def test_momentum_goes_the_other_way():
    for kind, read in ((SGD, lambda g: g["momentum"]), (Adam, lambda g: g["betas"][0])):
        opt = make(kind=kind)
        s = S.OneCycleLR(opt, 1.0, 11, pct_start=0.5454545454545454)
        seen = []
        for _ in range(11):
            seen.append(read(opt.param_groups[0]))
            s.step()
        assert seen[0] == pytest.approx(0.95) and seen[5] == pytest.approx(0.85) and seen[10] == pytest.approx(0.95)
    with pytest.raises(ValueError, match="12 times"):
        s.step()


def test_changed_momentum_is_used():
    w = Tensor([0.0], requires_grad=True)
    opt = SGD([w], lr=1.0, momentum=0.5)
    for k, expected in enumerate([-1.0, -2.25, -2.25 - 1.625]):
        opt.zero_grad()
        w.sum().backward()
        if k == 1:
            opt.param_groups[0]["momentum"] = 0.25
        if k == 2:
            opt.param_groups[0]["momentum"] = 0.5
        opt.step()
        assert w.item() == pytest.approx(expected)


def test_plateau():
    opt = make()
    s = S.ReduceLROnPlateau(opt, factor=0.5, patience=1, cooldown=1)
    seen = []
    for value in (1.0, 0.9, 0.95, 0.96, 0.97, 0.98, 0.99, 0.5):
        s.step(value)
        seen.append(opt.lr)
    assert seen == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025])
    with pytest.raises(ValueError, match="Factor"):
        S.ReduceLROnPlateau(opt, factor=1.5)


def test_one_after_the_other_and_at_once():
    opt = make()
    s = S.SequentialLR(opt, [S.ConstantLR(opt, 0.1, 2), S.ExponentialLR(opt, 0.9)], [3])
    assert rates(s, 6) == pytest.approx([0.01, 0.01, 0.1, 0.1, 0.09, 0.081])
    opt = make()
    both = S.ChainedScheduler([S.ConstantLR(opt, 0.1, 2), S.ExponentialLR(opt, 0.9)])
    assert rates(both, 4) == pytest.approx([0.01, 0.009, 0.081, 0.0729])


def test_state_goes_on():
    a, b = S.CosineAnnealingWarmRestarts(make(), 3), S.CosineAnnealingWarmRestarts(make(), 3)
    for _ in range(4):
        a.step()
    b.load_state_dict(a.state_dict())
    a.step()
    b.step()
    assert a.get_last_lr() == b.get_last_lr()
    with pytest.raises(TypeError, match="not an Optimizer"):
        S.StepLR(3, 1)
