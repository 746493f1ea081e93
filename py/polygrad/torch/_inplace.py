"""Methods that change a tensor: add_, relu_, fill_, copy_, index_fill_ and so on, made of the methods without the underscore.

A change of a view of x (_views.py) is a change of x. A leaf that requires a gradient can be changed under no_grad alone.
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from typing import Any

from .._core import C
from ..custom import Function
from ..tensor import Tensor as Plain
from ._views import LEAF_IN_PLACE, carry, follow, is_of_leaf

# Methods with a form that changes the tensor.
NAMES = """
    abs acos add addcdiv addcmul asin atan bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min clip cos cosh
    cumsum cumprod div divide elu eq erf exp exp2 expm1 float_power floor floor_divide fmod ge gt hardtanh index_add index_copy index_fill
    index_put le leaky_relu lerp log log10 log1p log2 logical_and logical_not logical_or logical_xor lt masked_fill masked_scatter mul
    multiply nan_to_num ne neg pow reciprocal relu relu6 remainder renorm round rsqrt scatter scatter_add scatter_reduce selu sigmoid sign
    sin sinh softmax sqrt square sub subtract tan tanh tril triu true_divide trunc where addmm addbmm baddbmm addmv xlogy
    absolute acosh addr arccos arccosh arcsin arcsinh arctan arctan2 arctanh asinh atan2 atanh bitwise_left_shift bitwise_right_shift celu
    copysign deg2rad erfc fix frac greater greater_equal heaviside hypot index_reduce ldexp less less_equal logit negative not_equal
    rad2deg sgn sinc digamma erfinv gcd lcm lgamma mvlgamma nextafter polygamma
""".split()
# Comparisons and the like, whose results are stored in the tensor's own dtype.
_CASTING = frozenset("cumsum cumprod eq ge gt le lt ne greater greater_equal less less_equal not_equal where softmax".split())
# Those that give another shape.
VIEWS = "squeeze unsqueeze transpose t swapaxes swapdims".split()


_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2}


class _Changed(Function):
    """A computed tensor that holds other values from now on, while its gradient goes where it went before: after a change under no_grad, or by way of
    what detach gave."""

    @staticmethod
    def forward(ctx: Any, before: Any, value: Any) -> Any:
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0], None


def _changed(t: Any, value: Any) -> Any:
    off, t._g.no_grad = t._g.no_grad, False
    try:
        return _Changed.apply(t, value.detach())
    finally:
        t._g.no_grad = off


def _is_computed(t: Any) -> bool:
    """Is it computed from a tensor that requires a gradient? What has memory when a step is traced is state of the step."""
    return not t.is_leaf and not is_of_leaf(t) and not (t._g.tracing and C.poly_is_realized(t._h))


def put(t: Any, value: Any, *, cast: bool = True) -> Any:
    """t holds value from now on; so does what t is a part of. cast: a value of a wider kind is cast; else it is an error."""
    if value.dtype != t.dtype:
        if not cast and _KINDS[value.dtype.kind] > _KINDS[t.dtype.kind]:
            raise RuntimeError(f"a result of {value.dtype} cannot be stored in a tensor of {t.dtype} in place: cast it, or use x = x + y")
        value = value.cast(t.dtype)
    if tuple(value.shape) != tuple(t.shape):
        value = value.expand(t.shape)
    view = getattr(t, "_base", None)
    if t.requires_grad and getattr(t, "_wanted", None) and not t._g.no_grad:
        raise RuntimeError(LEAF_IN_PLACE)
    if _is_computed(t):
        value = _changed(t, value) if t._g.no_grad else value
        if view is not None:
            carry(view, value)
        t.replace(value)
    elif view is not None:
        carry(view, value)
        t.replace(value)
    elif t._g.no_grad or t._g.tracing or ("_shared" in t.__dict__ and not value.requires_grad):  # other processes see shared memory
        write(t, value.detach())
        return t
    else:
        t.replace(value)
    follow(t)
    return t


def into(out: Any, value: Any) -> Any:
    """out, which holds value from now on: what an argument out= means. A tuple of results goes into a tuple of tensors."""
    if isinstance(out, (tuple, list)):
        return type(value)(*[into(o, v) for o, v in zip(out, value)]) if hasattr(value, "_fields") else tuple(into(o, v) for o, v in zip(out, value))
    if tuple(out.shape) == tuple(value.shape):
        return put(out, value, cast=False)
    return out.replace(value.cast(out.dtype))


def write(t: Any, value: Any) -> None:
    """The values of a tensor that may be a parameter."""
    if _is_computed(t):
        put(t, _changed(t, value))
    elif getattr(t, "_base", None) is not None and not t.requires_grad:
        put(t, value)
    else:
        Plain.assign(t, value)
        if not t._g.tracing:
            t.realize()
        follow(t)


def _method(name: str) -> Any:
    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        return put(self, getattr(self, name)(*args, **kwargs), cast=name in _CASTING)

    change.__name__ = change.__qualname__ = f"{name}_"
    change.__doc__ = f"{name}, whose result the tensor itself holds."
    return change


def _view(name: str) -> Any:
    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.replace(getattr(self, name)(*args, **kwargs))

    change.__name__ = change.__qualname__ = f"{name}_"
    change.__doc__ = f"{name}, whose result the tensor itself is."
    return change


def _operator(name: str) -> Any:
    def change(self: Any, other: Any) -> Any:
        out = getattr(self, f"__{name}__")(other)
        if out is NotImplemented:
            return out
        put(self, out, cast=False)
        if not (self.requires_grad or self._g.tracing):
            self.realize()  # what is added up in a loop must not become one long program
        return self

    change.__name__ = f"__i{name}__"
    return change


class InPlace:
    """The methods that end in an underscore, and `+=` and its like."""

    __slots__ = ()

    for _name in NAMES:
        locals()[f"{_name}_"] = _method(_name)
    for _name in VIEWS:
        locals()[f"{_name}_"] = _view(_name)
    for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "matmul"):
        locals()[f"__i{_name}__"] = _operator(_name)
    del _name

    def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
        """Takes over the values of another tensor, broadcast and cast."""
        return put(self, src if isinstance(src, Plain) else self.new_tensor(src))

    def fill_(self: Any, value: Any) -> Any:
        """One value everywhere."""
        return put(self, value.expand(self.shape) if isinstance(value, Plain) else self.full_like(value))

    def zero_(self: Any) -> Any:
        """Zeros."""
        return put(self, self.zeros_like())

    def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
        """One value on the diagonal of a matrix."""
        rows, columns = self.arange_of(0), self.arange_of(1)
        return put(self, self.masked_fill(rows.unsqueeze(1) == columns, fill_value))

    def set_(self: Any, source: Any) -> Any:
        """Is another tensor from now on."""
        return self.replace(source)

    # ---- random ----

    def uniform_(self: Any, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Any:
        """Uniform random numbers in [a, b)."""
        return put(self, self.detach().rand_like() * (b - a) + a)

    def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
        """Normal random numbers."""
        return put(self, self.detach().randn_like() * std + mean)

    def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
        """1 with probability p, else 0."""
        return put(self, self.detach().float().rand_like() < p)

    def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
        """Exponentially distributed numbers."""
        return put(self, (1 - self.detach().rand_like()).log() / -lambd)

    def random_(self: Any, low: int = 0, high: int | None = None, *, generator: Any = None) -> Any:
        """Whole numbers in [low, high)."""
        low, high = (0, low) if high is None and low else (low, high)
        top = (2 if self.dtype.kind == "b" else 1 << 24) if high is None else high
        return put(self, Plain.randint(*self.shape, low=int(low), high=int(top), dtype="int64"))


__all__ = ["InPlace", "put", "write"]
