"""Mixed precision: products in float16 or bfloat16 with float32 parameters, and losses scaled so that small gradients survive float16."""

from __future__ import annotations

import contextlib
from typing import Any

from ._core import C
from .autograd import current
from .dtypes import dtypes, to_dtype
from .tensor import Tensor


class autocast(contextlib.ContextDecorator):
    """Inside, matrix products and linear maps of float32 tensors take their factors, and give their result, in float16 or bfloat16.

    They are summed in float32. Parameters stay float32, and so do their gradients: an optimizer updates what was not rounded.

    >>> with autocast("cpu", dtypes.bfloat16): print((Tensor.ones(2, 3) @ Tensor.ones(3, 2)).dtype.name)
    bfloat16
    """

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True, cache_enabled: Any = None):
        super().__init__()
        half = dtypes.float16 if str(device_type).startswith("cuda") else dtypes.bfloat16
        self.dtype = (half if dtype is None else to_dtype(dtype)) if enabled else dtypes.float32
        self._before: list[int] = []

    def __enter__(self) -> autocast:
        g = current()
        self._before.append(C.poly_autocast(g.ptr))
        g.check(C.poly_set_autocast(g.ptr, self.dtype.code))
        return self

    def __exit__(self, *exc: Any) -> None:
        current().check(C.poly_set_autocast(current().ptr, self._before.pop()))


def is_autocast_enabled(device_type: Any = None) -> bool:
    """Are products taken in a lower precision here?"""
    return bool(C.poly_autocast(current().ptr) != dtypes.float32.code)


class GradScaler:
    """Scales a loss before its gradients are made and the gradients back before the optimizer's step, which is left out, parameters and state as
    they are, where a gradient is not finite. The scale is halved then, and doubled after growth_interval good steps. A compiled step can hold it.
    """

    def __init__(
        self, device: Any = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ):  # fmt: skip
        if isinstance(device, (int, float)):  # torch.cuda.amp.GradScaler takes no device
            init_scale = float(device)
        self.growth_factor, self.backoff_factor, self.growth_interval, self.enabled = growth_factor, backoff_factor, growth_interval, enabled
        self._scale = Tensor(float(init_scale)).contiguous().realize()
        self._good = Tensor(0.0).contiguous().realize()  # steps since the scale was changed or one was left out
        self._finite: dict[int, Tensor] = {}

    def scale(self, outputs: Any) -> Any:
        """The loss times the scale."""
        return outputs * self._scale if self.enabled else outputs

    def unscale_(self, optimizer: Any) -> None:
        """Gradients as they would be without the scale, to be clipped or looked at. Once for each step."""
        if not self.enabled:
            return
        if id(optimizer) in self._finite:
            raise RuntimeError("unscale_() was called twice since the last update()")
        finite, inverse = None, 1.0 / self._scale
        for p in optimizer.params:
            if p.grad is None:
                continue
            p.grad = (p.grad.cast(p.dtype) * inverse).detach()
            one = p.grad.isfinite().all()
            finite = one if finite is None else finite & one
        if finite is None:
            raise RuntimeError("no parameter of the optimizer has a gradient")
        self._finite[id(optimizer)] = finite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """A step of the optimizer, if all gradients are finite."""
        if not self.enabled:
            return optimizer.step(*args, **kwargs)
        if id(optimizer) not in self._finite:
            self.unscale_(optimizer)
        optimizer.step_if(self._finite[id(optimizer)])
        return None

    def update(self, new_scale: Any = None) -> None:
        """The scale of the next step."""
        if not self.enabled:
            return
        if new_scale is not None:
            scale, good = Tensor(float(new_scale)), Tensor(0.0)
        else:
            if not self._finite:
                raise RuntimeError("update() comes after step()")
            finite, *others = self._finite.values()
            for one in others:
                finite = finite & one
            good = finite.where(self._good + 1, 0.0)
            grown = (good >= self.growth_interval).where(self._scale * self.growth_factor, self._scale)
            scale = finite.where(grown, self._scale * self.backoff_factor)
            good = (good >= self.growth_interval).where(0.0, good)
        self._finite = {}
        self._scale.assign(scale.detach())
        self._good.assign(good.detach())
        if not current().tracing:
            self._scale.realize(self._good)

    def get_scale(self) -> float:
        """The scale."""
        return float(self._scale.item()) if self.enabled else 1.0

    def is_enabled(self) -> bool:
        """Does it scale?"""
        return self.enabled

    def state_dict(self) -> dict[str, Any]:
        """What a later GradScaler goes on from."""
        if not self.enabled:
            return {}
        names = ("growth_factor", "backoff_factor", "growth_interval")
        return {"scale": self.get_scale(), "_growth_tracker": int(self._good.item()), **{name: getattr(self, name) for name in names}}

    def load_state_dict(self, state_dict: Any) -> None:
        """Goes on from what state_dict gave."""
        if not self.enabled or not state_dict:
            return
        for name in ("growth_factor", "backoff_factor", "growth_interval"):
            setattr(self, name, state_dict[name])
        self._scale.assign(Tensor(float(state_dict["scale"]))).realize()
        self._good.assign(Tensor(float(state_dict["_growth_tracker"]))).realize()


__all__ = ["GradScaler", "autocast"]
