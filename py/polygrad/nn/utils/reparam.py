"""A weight that is computed from others before each call: weight_norm and spectral_norm, as forward pre-hooks."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..module import Module, Parameter


def _norm_except(v: Tensor, dim: int | None) -> Tensor:
    """Norms over all axes but one."""
    if dim is None:
        return v._norm(2, None, False)
    axes = tuple(k for k in range(v.ndim) if k != dim % v.ndim)
    return v._norm(2, axes, True)


class _Reparam:
    """Replaces parameter `name` of a module by others, and computes it from them before each call."""

    def __init__(self, module: Module, name: str):
        self.name = name
        hooks = module.__dict__.get("_forward_pre_hooks", {})
        if any(isinstance(h, type(self)) and h.name == name for h, _, _ in hooks.values()):
            raise RuntimeError(f"Cannot register two {type(self).__name__.strip('_').lower()} hooks on the same parameter {name}")

    def compute(self, module: Any) -> Tensor:
        raise NotImplementedError

    def __call__(self, module: Any, args: Any) -> None:
        module.__dict__[self.name] = self.compute(module)

    def put(self, module: Any, parameters: dict[str, Tensor]) -> None:
        """Takes the weight out of the state and puts the parameters in."""
        del module.__dict__[self.name]
        for name, value in parameters.items():
            module.register_parameter(name, value)
        module.__dict__.setdefault("_hidden", set()).add(self.name)
        module.__dict__[self.name] = self.compute(module)
        module.register_forward_pre_hook(self)

    def take(self, module: Any, names: tuple[str, ...]) -> None:
        """Makes the weight a parameter again."""
        value = self.compute(module).detach()
        module.__dict__["_hidden"].discard(self.name)
        for n in names:
            del module.__dict__[n]
            module.__dict__.get("_buffer_names", set()).discard(n)
        module.__dict__[self.name] = Parameter(value)
        hooks = module.__dict__["_forward_pre_hooks"]
        for key in [k for k, (h, _, _) in hooks.items() if h is self]:
            del hooks[key]


class _WeightNorm(_Reparam):
    def __init__(self, module: Module, name: str, dim: int | None):
        super().__init__(module, name)
        self.dim = -1 if dim is None else dim
        self._axis = dim

    def compute(self, module: Any) -> Tensor:
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / _norm_except(v, self._axis))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """The weight as a length, weight_g, times a direction, weight_v.

    >>> from polygrad import nn
    >>> sorted(nn.utils.weight_norm(nn.Linear(2, 3)).state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    hook = _WeightNorm(module, name, dim)
    w = getattr(module, name)
    hook.put(module, {name + "_g": Parameter(_norm_except(w.detach(), dim)), name + "_v": Parameter(w.detach())})
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """The weight as a parameter again."""
    _find(module, name, _WeightNorm).take(module, (name + "_g", name + "_v"))
    return module


class _SpectralNorm(_Reparam):
    def __init__(self, module: Module, name: str, iterations: int, dim: int, eps: float):
        super().__init__(module, name)
        self.iterations, self.dim, self.eps = iterations, dim, eps

    def matrix(self, w: Tensor) -> Tensor:
        if self.dim:
            w = w.permute(self.dim, *[k for k in range(w.ndim) if k != self.dim])
        return w.reshape(int(w.shape[0]), -1)

    def compute(self, module: Any) -> Tensor:
        w, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        m = self.matrix(w)
        if Tensor.training:
            fixed, a, b = m.detach(), u.detach(), v.detach()
            for _ in range(self.iterations):
                b = (fixed.transpose(0, 1) @ a).normalize(2.0, 0, self.eps)
                a = (fixed @ b).normalize(2.0, 0, self.eps)
            u.assign(a)
            v.assign(b)
            u, v = a, b
        return w / (u.detach() @ (m @ v.detach()))


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """The weight divided by its largest singular value, which is followed by power iteration while training.

    >>> from polygrad import nn
    >>> sorted(nn.utils.spectral_norm(nn.Linear(2, 3)).state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook = _SpectralNorm(module, name, n_power_iterations, dim, eps)
    w = getattr(module, name)
    rows, columns = (int(n) for n in hook.matrix(w).shape)
    for end, n in (("_u", rows), ("_v", columns)):
        module.register_buffer(name + end, Tensor.randn(n).normalize(2.0, 0, eps).realize())
    hook.put(module, {name + "_orig": Parameter(w.detach())})
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """The weight as a parameter again."""
    _find(module, name, _SpectralNorm).take(module, (name + "_orig", name + "_u", name + "_v"))
    return module


def _find(module: Any, name: str, kind: type) -> Any:
    for hook, _, _ in module.__dict__.get("_forward_pre_hooks", {}).values():
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]
            return hook
    raise ValueError(f"{kind.__name__.strip('_')} of '{name}' not found in {module}")


__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]
