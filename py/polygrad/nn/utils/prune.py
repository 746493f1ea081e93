"""torch.nn.utils.prune: masks that set entries of a parameter to zero.

A pruned parameter `weight` becomes two tensors of its module: `weight_orig`, the parameter that learns, and `weight_mask`. The product is computed
at each call. remove() makes the product the parameter again.

>>> from polygrad import Tensor, nn
>>> from polygrad.nn.utils import prune
>>> layer = nn.Linear(2, 2, bias=False)
>>> _ = layer.weight.assign(Tensor([[1.0, -2.0], [3.0, -4.0]])).realize()
>>> prune.l1_unstructured(layer, "weight", amount=0.5).weight.tolist()
[[0.0, -0.0], [3.0, -4.0]]
>>> prune.is_pruned(layer), sorted(layer.state_dict())
(True, ['weight_mask', 'weight_orig'])
>>> sorted(prune.remove(layer, "weight").state_dict())
['weight']
"""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor


class _Masked:
    """A hook that computes the product before each call."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, module: Any, inputs: Any) -> None:
        _set(module, self.name)


def _set(module: Any, name: str) -> None:
    original, mask = getattr(module, f"{name}_orig"), getattr(module, f"{name}_mask")
    module.__dict__[name] = original * mask.cast(original.dtype)
    module.__dict__.setdefault("_hidden", set()).add(name)


def _hooks(module: Any) -> list[tuple[int, _Masked]]:
    held = module.__dict__.get("_forward_pre_hooks", {})
    return [(k, h if isinstance(h, _Masked) else h[0]) for k, h in held.items() if isinstance(h[0] if isinstance(h, tuple) else h, _Masked)]


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Keeps the entries where mask is not 0; entries that are pruned already stay so."""
    if any(h.name == name for _, h in _hooks(module)):
        old = getattr(module, f"{name}_mask")
        setattr(module, f"{name}_mask", (old * mask.cast(old.dtype)).detach().realize())
    else:
        parameter = getattr(module, name)
        del module.__dict__[name]
        setattr(module, f"{name}_orig", parameter)
        module.register_buffer(f"{name}_mask", mask.cast(parameter.dtype).detach().contiguous().realize())
        module.register_forward_pre_hook(_Masked(name))
    _set(module, name)
    return module


def _kept(module: Any, name: str) -> tuple[Tensor, Tensor]:
    """The parameter as it is used, and the mask so far."""
    value = getattr(module, name).detach()
    mask = getattr(module, f"{name}_mask", None)
    return value, value.ones_like() if mask is None else mask


def _count(amount: Any, size: int) -> int:
    if isinstance(amount, bool) or not isinstance(amount, (int, float)) or amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"amount={amount} should be a share between 0 and 1, or a number of entries")
    if isinstance(amount, int) and amount > size:
        raise ValueError(f"amount={amount} should not be more than the number of entries, {size}")
    return amount if isinstance(amount, int) else round(amount * size)


def _least(scores: Tensor, mask: Tensor, amount: Any) -> Tensor:
    """The mask without the entries of the lowest scores, of those that it still has."""
    flat, count = mask.flatten(), _count(amount, int(mask.sum().item()))
    if count == 0:
        return mask
    scores = (flat > 0).where(scores.flatten(), float("inf"))
    order = scores.argsort()[:count]
    return flat.scatter(0, order, 0.0).reshape(mask.shape)


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Tensor | None = None) -> Any:
    """Prunes the entries that are nearest to zero. amount: how many, or which share."""
    value, mask = _kept(module, name)
    scores = value if importance_scores is None else importance_scores
    return custom_from_mask(module, name, _least(scores.abs(), mask, amount))


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prunes entries drawn at random."""
    value, mask = _kept(module, name)
    return custom_from_mask(module, name, _least(value.rand_like(), mask, amount))


def identity(module: Any, name: str) -> Any:
    """Prunes nothing, but makes the mask."""
    return custom_from_mask(module, name, _kept(module, name)[1])


def _structured(module: Any, name: str, amount: Any, dim: int, scores: Tensor, mask: Tensor) -> Any:
    """Prunes whole slices along dim."""
    others = tuple(k for k in range(mask.ndim) if k != dim % mask.ndim)
    rows = _least(scores, (mask.amax(others) > 0).cast(mask.dtype), amount)
    shape = [1] * mask.ndim
    shape[dim] = int(rows.shape[0])
    return custom_from_mask(module, name, mask * rows.reshape(*shape))


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None) -> Any:
    """Prunes the slices along dim with the smallest n-norm."""
    value, mask = _kept(module, name)
    value = (value if importance_scores is None else importance_scores).abs()
    others = tuple(k for k in range(value.ndim) if k != dim % value.ndim)
    norm = value.amax(others) if n == float("inf") else (value**n).sum(others) ** (1 / n)
    return _structured(module, name, amount, dim, norm, mask)


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prunes slices along dim drawn at random."""
    _, mask = _kept(module, name)
    return _structured(module, name, amount, dim, Tensor.rand(int(mask.shape[dim])), mask)


class BasePruningMethod:
    """A way to choose what is pruned: compute_mask(t, default_mask) gives the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of a parameter."""
        raise NotImplementedError

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prunes a parameter by this method."""
        value, mask = _kept(module, name)
        return custom_from_mask(module, name, cls(*args, **kwargs).compute_mask(value if importance_scores is None else importance_scores, mask))


class L1Unstructured(BasePruningMethod):
    """Entries that are nearest to zero."""

    def __init__(self, amount: Any):
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _least(t.abs(), default_mask, self.amount)


class RandomUnstructured(BasePruningMethod):
    """Entries drawn at random."""

    def __init__(self, amount: Any):
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _least(t.rand_like(), default_mask, self.amount)


def global_unstructured(parameters: Any, pruning_method: type[BasePruningMethod], importance_scores: Any = None, **kwargs: Any) -> None:
    """Prunes several parameters, pairs of a module and a name, as if they were one."""
    held = [_kept(module, name) for module, name in parameters]
    scores = [(importance_scores or {}).get(key, value) for key, (value, _) in zip(parameters, held)]
    mask = pruning_method(**kwargs).compute_mask(Tensor.cat(*[t.flatten() for t in scores]), Tensor.cat(*[m.flatten() for _, m in held]))
    at = 0
    for (module, name), (value, _) in zip(parameters, held):
        custom_from_mask(module, name, mask[at : at + value.numel()].reshape(value.shape))
        at += value.numel()


def remove(module: Any, name: str) -> Any:
    """Makes the pruned values the parameter; the mask is gone."""
    found = [k for k, h in _hooks(module) if h.name == name]
    if not found:
        raise ValueError(f"Parameter '{name}' of module {type(module).__name__} has to be pruned before pruning can be removed")
    del module.__dict__["_forward_pre_hooks"][found[0]]
    parameter, mask = getattr(module, f"{name}_orig"), getattr(module, f"{name}_mask")
    parameter.assign((parameter * mask.cast(parameter.dtype)).detach()).realize()
    for key in (name, f"{name}_orig", f"{name}_mask"):
        module.__dict__.pop(key, None)
        for names in ("_hidden", "_buffer_names", "_registered", "_unsaved"):
            module.__dict__.get(names, set()).discard(key)
    setattr(module, name, parameter)
    return module


def is_pruned(module: Any) -> bool:
    """Is a parameter of it, or of a module in it, pruned?"""
    return any(_hooks(m) for m in module.modules())


__all__ = [
    "BasePruningMethod", "L1Unstructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip
