"""How each method of Tensor works on values of a vertex program, whose tensors have one axis more in front.

RULES has a function for each name, which takes the arguments of Tensor's method, at least one of them a Value. Most are made by one
of four: `elementwise` (broadcasting without the front axis), `along` (axis arguments are moved by one), `reshaping` (a new shape keeps the
front axis), `as_is` (the front axis is a batch axis to the method). REFUSED says why the rest cannot work.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, Callable

import numpy as np

from ..tensor import Tensor
from .originals import all, len, max, sum, zip
from .value import OPERATORS, REFUSED, RULES, Value, bring_together, result

Rule = Callable[..., Any]
METHODS: dict[str, Any] = {}  # Tensor's own, as they are when nothing is traced
for _class in reversed(Tensor.__mro__[:-1]):
    for _key, _f in vars(_class).items():
        if callable(_f) or isinstance(_f, staticmethod):
            METHODS[_key] = _f.__func__ if isinstance(_f, staticmethod) else _f
_SIGNATURES: dict[str, inspect.Signature] = {}


# ---- arguments ----


def shift(axis: int, ndim: int, shape: Any = None) -> int:
    """An axis of a vertex's value as an axis of the tensor."""
    axis = axis.__index__()
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of range for a vertex value of shape {shape if shape is not None else f'with {ndim} axes'}")
    return axis + 1 if axis >= 0 else axis


def bound(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
    """Arguments by name, defaults filled in; `dim` and `keepdims` are taken for `axis` and `keepdim`, as PyTorch and numpy call them."""
    if name not in _SIGNATURES:
        _SIGNATURES[name] = inspect.signature(METHODS[name])
    s = _SIGNATURES[name]
    for old, new in (("dim", "axis"), ("axis", "dim"), ("keepdims", "keepdim")):
        if old in kwargs and old not in s.parameters and new in s.parameters:
            kwargs = {(new if k == old else k): v for k, v in kwargs.items()}
    b = s.bind(*args, **kwargs)
    b.apply_defaults()
    return b


def ranked(t: Tensor, ndim: int) -> Tensor:
    """t, [front, ...], with axes of size 1 after the front one so that it has ndim axes besides."""
    have = t.ndim - 1
    return t if have >= ndim else METHODS["reshape"](t, (t.shape[0], *[1] * (ndim - have), *t.shape[1:]))


def shared(x: Any) -> Any:
    """Arrays and lists as tensors; what is the same for all vertices."""
    if isinstance(x, np.ndarray) or (isinstance(x, (list, tuple)) and x and isinstance(x[0], (int, float, list, tuple))):
        return Tensor(x)
    return x


def spread(t: Any, front: Any, like: Tensor) -> Tensor:
    """A shared tensor or number, given to every vertex: [front, ...]."""
    t = t if isinstance(t, Tensor) else Tensor(t, dtype=like.dtype if isinstance(t, (int, float)) else None)
    shape = t.shape
    return METHODS["expand"](METHODS["reshape"](t, (1, *shape)), (front, *shape))


# ---- the four kinds of rules ----


def elementwise(name: str) -> Rule:
    method = METHODS[name]

    def rule(*args: Any, **kwargs: Any) -> Any:
        items = [shared(a) for a in args] + [shared(a) for a in kwargs.values()]
        values = [a for a in items if a.__class__ is Value]
        if len(items) == 1:
            v = values[0]
            return result(method(v._t), v._at, v._pass)
        at, pass_, tensors = bring_together(values)
        ndim = max([t.ndim - 1 for t in tensors] + [a.ndim for a in items if isinstance(a, Tensor)])
        ready = iter([ranked(t, ndim) for t in tensors])
        items = [next(ready) if a.__class__ is Value else a for a in items]
        n = len(args)
        return result(method(*items[:n], **dict(zip(kwargs, items[n:]))), at, pass_)

    return rule


def as_is(name: str) -> Rule:
    """The method treats the front axis as a batch axis."""
    method = METHODS[name]

    def rule(*args: Any, **kwargs: Any) -> Any:
        values = [a for a in (*args, *kwargs.values()) if a.__class__ is Value]
        at, pass_, tensors = bring_together(values)
        ready = iter(tensors)
        new = [next(ready) if a.__class__ is Value else a for a in args]
        return result(method(*new, **{k: next(ready) if a.__class__ is Value else a for k, a in kwargs.items()}), at, pass_)

    return rule


def along(name: str, *axes: str, tensors: tuple[str, ...] = ()) -> Rule:
    """Arguments named in axes are axes of the vertex's value; None stands for all of them. Those in tensors have its rank too."""
    method = inspect.unwrap(METHODS[name])  # without what looks at how arguments were given: here all are given by position

    def rule(*args: Any, **kwargs: Any) -> Any:
        b = bound(name, args, kwargs)
        a = b.arguments
        names = ["self", *[n for n in tensors if isinstance(a[n], (Tensor, Value, np.ndarray, list))]]
        for n in names:
            a[n] = shared(a[n])
        values = [a[n] for n in names if a[n].__class__ is Value]
        at, pass_, lifted = bring_together(values)
        front, ready = lifted[0].shape[0], iter(lifted)
        for n in names:
            a[n] = next(ready) if a[n].__class__ is Value else spread(a[n], front, lifted[0])
        shape = a["self"].shape[1:]
        for n in ("dim",) if a.get("dim") is not None and axes == ("axis",) else axes:  # PyTorch's name for axis
            a[n] = shifted(a[n], shape)
        return result(method(*b.args, **b.kwargs), at, pass_)

    return rule


def shifted(axis: Any, shape: tuple[Any, ...]) -> Any:
    if axis is None:
        return tuple(range(1, len(shape) + 1))
    if isinstance(axis, (tuple, list)):
        return tuple(shift(k, len(shape), shape) for k in axis)
    return shift(axis, len(shape), shape)


def flat_if_none(name: str, axis: str) -> Rule:
    """As along, but without an axis the method works on the flattened value."""
    rule = along(name, axis)

    def either(*args: Any, **kwargs: Any) -> Any:
        b = bound(name, args, kwargs)
        if b.arguments[axis] is not None:
            return rule(*args, **kwargs)
        x = b.arguments["self"]
        b.arguments["self"], b.arguments[axis] = reshape(x, (-1,)), 0
        y = rule(*b.args, **b.kwargs)
        if name == "roll":
            return reshape(y, x.shape)
        return reshape(y, (1,) * x.ndim) if b.arguments.get("keepdim") else y

    return either


def own(f: Callable[..., Any]) -> Rule:
    """A rule written out: f(tensor, shape of a vertex's value, other arguments) gives the new tensor."""

    def rule(x: Value, *args: Any, **kwargs: Any) -> Any:
        return result(f(x._t, x.shape, *args, **kwargs), x._at, x._pass)

    return rule


# ---- shapes ----


def _sizes(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


def _reshape(t: Tensor, shape: tuple[Any, ...], *args: Any) -> Tensor:
    new = list(_sizes(args))
    new = [shape[k] if s is None and k < len(shape) else s for k, s in enumerate(new)]
    if new.count(-1) == 1:  # found here, because without vertices any size would do
        rest = math.prod(s for s in new if s != -1)
        total = math.prod(shape)
        if rest == 0 or total % rest:
            raise ValueError(f"a vertex value of shape {shape} cannot be reshaped to {tuple(new)}")
        new[new.index(-1)] = total // rest
    if math.prod(new) != math.prod(shape):
        raise ValueError(f"a vertex value of shape {shape} cannot be reshaped to {tuple(new)}")
    return METHODS["reshape"](t, (t.shape[0], *new))


reshape = own(_reshape)


@own
def permute(t: Tensor, shape: Any, *args: Any) -> Tensor:
    order = _sizes(args)
    if len(order) != len(shape):
        raise ValueError(f"permute needs an order of {len(shape)} axes for a vertex value of shape {shape}, got {order}")
    return METHODS["permute"](t, (0, *[shift(k, len(shape), shape) for k in order]))


@own
def expand(t: Tensor, shape: Any, *args: Any) -> Tensor:
    new = _sizes(args)
    return METHODS["expand"](ranked(t, len(new)), (t.shape[0], *new))


@own
def repeat(t: Tensor, shape: Any, *args: Any) -> Tensor:
    new = _sizes(args)
    return METHODS["repeat"](ranked(t, len(new)), (1, *new))


def _with_none(name: str) -> Rule:
    """shrink, pad_to and the like: one entry an axis, None leaves the front one alone."""

    @own
    def rule(t: Tensor, shape: Any, *args: Any, **kwargs: Any) -> Tensor:
        entries = tuple(args[0]) if name == "shrink" else _sizes(args)
        if len(entries) != len(shape):
            raise ValueError(f"{name} needs an entry for each of the {len(shape)} axes of a vertex value of shape {shape}, got {entries}")
        return METHODS[name](t, (None, *entries), **kwargs)

    return rule


@own
def pad(t: Tensor, shape: Any, padding: Any, *args: Any, **kwargs: Any) -> Tensor:
    padding = tuple(padding)
    if padding and all(p is None or isinstance(p, (tuple, list)) for p in padding):
        padding = (None, *padding)
    elif len(padding) > 2 * len(shape):
        raise ValueError(f"padding {padding} has more than two numbers an axis for a vertex value of shape {shape}")
    return METHODS["pad"](t, padding, *args, **kwargs)


@own
def squeeze(t: Tensor, shape: Any, dim: int | None = None) -> Tensor:
    drop = [k for k, s in enumerate(shape) if s == 1] if dim is None else [shift(dim, len(shape), shape) % (len(shape) + 1) - 1]
    return METHODS["reshape"](t, (t.shape[0], *[s for k, s in enumerate(shape) if k not in drop or s != 1]))


@own
def unsqueeze(t: Tensor, shape: Any, dim: int) -> Tensor:
    return METHODS["unsqueeze"](t, shift(dim, len(shape) + 1, shape))


@own
def flatten(t: Tensor, shape: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    if not shape:
        return METHODS["reshape"](t, (t.shape[0], 1))
    return METHODS["flatten"](t, shift(start_dim, len(shape), shape), shift(end_dim, len(shape), shape))


@own
def flip(t: Tensor, shape: Any, *args: Any) -> Tensor:
    return METHODS["flip"](t, tuple(shift(k, len(shape), shape) for k in _sizes(args)))


@own
def diag(t: Tensor, shape: Any) -> Tensor:
    if len(shape) != 1:
        raise ValueError(f"diag needs a vertex value with one axis, not {shape}")
    return METHODS["unsqueeze"](t, -1) * Tensor.eye(shape[0], dtype=t.dtype)


@own
def rearrange(t: Tensor, shape: Any, formula: str, **lengths: Any) -> Tensor:
    left, arrow, right = formula.partition("->")
    return METHODS["rearrange"](t, f"all__vertices {left}{arrow} all__vertices {right}", **lengths)


@own
def normalize(t: Tensor, shape: Any, p: float = 2.0, dim: int = -1, eps: float = 1e-12) -> Tensor:
    return METHODS["normalize"](t, p, shift(dim, len(shape), shape), eps)


def _needs_matrix(name: str) -> Rule:
    @own
    def rule(t: Tensor, shape: Any, *args: Any, **kwargs: Any) -> Tensor:
        if len(shape) < 2:
            raise ValueError(f"{name} needs a vertex value with two axes, not {shape}")
        return METHODS[name](t, *args, **kwargs)

    return rule


# ---- several values ----


def _join(name: str) -> Rule:
    def rule(*args: Any, dim: int = 0, axis: int | None = None) -> Any:
        items = [shared(x) for x in _sizes(args)]
        at, pass_, lifted = bring_together([x for x in items if x.__class__ is Value])
        front, ready = lifted[0].shape[0], iter(lifted)
        tensors = [next(ready) if x.__class__ is Value else spread(x, front, lifted[0]) for x in items]
        ndim = lifted[0].ndim - 1 + (name == "stack")
        return result(METHODS[name](*tensors, dim=shift(dim if axis is None else axis, ndim, lifted[0].shape[1:])), at, pass_)

    return rule


def matmul(self: Any, x: Any, reverse: bool = False, dtype: Any = None) -> Any:
    """numpy's matmul of the vertices' values."""
    a, b = (x, self) if reverse else (self, x)
    a, b = shared(a), shared(b)
    if not isinstance(b, (Tensor, Value)) and hasattr(b, "weight"):
        b = b.weight.transpose(-1, -2)
    if dtype is not None:
        a, b = a.cast(dtype), b.cast(dtype)
    at, pass_, lifted = bring_together([v for v in (a, b) if v.__class__ is Value])
    ranks = a.ndim, b.ndim
    if 0 in ranks:
        raise ValueError(f"matmul needs at least one axis on each side, got vertex values of shape {a.shape} and {b.shape}")
    va, vb = a.__class__ is Value, b.__class__ is Value
    if va and not vb and ranks[1] <= 2:
        return result(METHODS["matmul"](lifted[0], b), at, pass_)
    if vb and not va and ranks == (2, 1):
        return result(METHODS["matmul"](lifted[0], a.transpose(-1, -2)), at, pass_)
    if ranks == (1, 1):
        ta, tb = lifted if va and vb else (a, lifted[0])
        if ta.shape[-1] != tb.shape[-1]:
            raise ValueError(f"matmul: vertex values of shape {a.shape} and {b.shape} do not fit")
        return result((ta * tb).sum(-1), at, pass_)
    tensors = iter(lifted)
    ndim = max(2, *ranks)
    ta = _matrix(next(tensors), ranks[0], ndim, -2) if va else (a.unsqueeze(-2) if ranks[0] == 1 else a)
    tb = _matrix(next(tensors), ranks[1], ndim, -1) if vb else (b.unsqueeze(-1) if ranks[1] == 1 else b)
    out = METHODS["matmul"](ta, tb)
    if ranks[1] == 1:
        out = out.reshape(out.shape[:-1])
    if ranks[0] == 1:
        shape = out.shape
        out = out.reshape(*shape[:-1]) if ranks[1] == 1 else out.reshape(*shape[:-2], shape[-1])
    return result(out, at, pass_)


def _matrix(t: Tensor, rank: int, ndim: int, missing: int) -> Tensor:
    """t as [front, batches..., rows, columns]; a vector becomes a row (missing axis -2) or a column (-1)."""
    return ranked(METHODS["unsqueeze"](t, missing) if rank == 1 else t, ndim)


def linear(self: Any, weight: Any, bias: Any = None, dtype: Any = None) -> Any:
    if dtype is not None:
        self, weight, bias = self.cast(dtype), weight.cast(dtype), None if bias is None else bias.cast(dtype)
    y = self * weight if weight.ndim == 1 else matmul(self, weight)
    return y if bias is None else y + bias


def einsum(formula: str, *operands: Any, dtype: Any = None) -> Any:
    """The vertices' axis is one more letter, on the values and on the result."""
    items = list(_sizes(operands))
    at, pass_, lifted = bring_together([x for x in items if x.__class__ is Value])
    left, arrow, right = formula.replace(" ", "").partition("->")
    letter = next(c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in formula)
    terms = left.split(",")
    if len(terms) != len(items):
        raise ValueError(f"einsum {formula!r} has {len(terms)} inputs, got {len(items)}")
    if not arrow:  # the letters that occur once, in order
        right = ("..." if "..." in left else "") + "".join(sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1))
    ready = iter(lifted)
    terms = [letter + s if x.__class__ is Value else s for s, x in zip(terms, items)]
    tensors = [next(ready) if x.__class__ is Value else x for x in items]
    return result(METHODS["einsum"](f"{','.join(terms)}->{letter}{right}", *tensors, dtype=dtype), at, pass_)


def getitem(self: Any, key: Any) -> Any:
    keys = key if isinstance(key, tuple) else (key,)
    values = [k for k in keys if k.__class__ is Value]
    if self.__class__ is Value:
        if values:
            raise TypeError("a vertex value cannot be indexed by another: use gather(axis, index)")
        dims = sum(1 for k in keys if k is not None and k is not Ellipsis)
        if dims > self.ndim:
            raise IndexError(f"{dims} indices for a vertex value of shape {self.shape}")
        return result(METHODS["__getitem__"](self._t, (slice(None), *keys)), self._at, self._pass)
    if len(values) != 1 or keys[0].__class__ is not Value:
        raise TypeError("a tensor can be indexed by one vertex value, in the first place: table[v.kind]")
    v = values[0]
    return result(METHODS["__getitem__"](self, (v._t, *keys[1:])), v._at, v._pass)


def sequential(self: Value, ll: Any) -> Any:
    x = self
    for f in ll:
        x = f(x)
    return x


def size(self: Value, dim: int | None = None) -> Any:
    return self.shape if dim is None else self.shape[dim]


# ---- the table ----

_UNARY = """neg logical_not bitwise_not abs sign square sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan
sinh cosh tanh asinh acosh atanh erf ceil floor round trunc isnan isinf isfinite relu relu6 sigmoid logsigmoid hardsigmoid hardswish gelu
quick_gelu silu swish mish selu softsign lgamma digamma polygamma erfinv leaky_relu leakyrelu elu
celu hardtanh softplus cast bitcast float half bfloat16 double int long short bool
contiguous contiguous_backward fuse const_like clone detach dropout to one_hot zeros_like ones_like full_like empty_like rand_like randn_like
rmsnorm __neg__ __pos__ __invert__ __abs__""".split()
_NARY = """add sub mul div idiv mod fmod pow maximum minimum bitwise_and bitwise_or bitwise_xor lshift rshift lt le gt ge eq ne where clamp clip lerp
isclose copysign logaddexp atan2 hypot gcd lcm masked_fill __lt__ __le__ __gt__ __ge__ __eq__ __ne__""".split()
_NARY += [f"__{n}__" for n in OPERATORS] + [f"__r{n}__" for n in OPERATORS]
_BATCHED = "groupnorm batchnorm conv1d conv2d conv_transpose1d conv_transpose2d max_pool2d avg_pool2d".split()

RULES.update({name: as_is(name) for name in (*_UNARY, *_BATCHED) if name in METHODS})
RULES.update({name: elementwise(name) for name in _NARY if name in METHODS})
for _name in """sum prod max min amax amin mean var std any all logsumexp var_mean std_mean softmax log_softmax softmin cumsum cumprod cummax cummin
logcumsumexp layernorm""".split():
    RULES[_name] = along(_name, "axis")
for _name in "split chunk sort argsort topk unfold unflatten".split():
    RULES[_name] = along(_name, "dim")
for _name in "argmax argmin".split():
    RULES[_name] = flat_if_none(_name, "axis")
RULES.update(
    repeat_interleave=flat_if_none("repeat_interleave", "dim"), roll=flat_if_none("roll", "dims"),
    transpose=along("transpose", "dim0", "dim1"), diagonal=along("diagonal", "dim1", "dim2"),
    gather=along("gather", "dim", tensors=("index",)), scatter=along("scatter", "dim", tensors=("index", "src")),
    scatter_reduce=along("scatter_reduce", "dim", tensors=("index", "src")),
    scatter_add=along("scatter_add", "dim", tensors=("index", "src")), index_select=along("index_select", "dim"),
    index_add=along("index_add", "dim", tensors=("src",)),
    scaled_dot_product_attention=along("scaled_dot_product_attention", tensors=("key", "value", "attn_mask")),
    reshape=reshape, view=reshape, permute=permute, expand=expand, repeat=repeat, shrink=_with_none("shrink"),
    pad_to=_with_none("pad_to"), shrink_to=_with_none("shrink_to"), pad=pad, squeeze=squeeze, unsqueeze=unsqueeze, flatten=flatten,
    flip=flip, diag=diag, rearrange=rearrange, normalize=normalize, tril=_needs_matrix("tril"), triu=_needs_matrix("triu"),
    cat=_join("cat"), stack=_join("stack"), matmul=matmul, dot=lambda self, w, dtype=None: matmul(self, w, False, dtype),
    __matmul__=matmul,
    __rmatmul__=lambda self, x: matmul(self, x, True), linear=linear, einsum=einsum, __getitem__=getitem, sequential=sequential,
    size=size, dim=lambda self: self.ndim, numel=lambda self: math.prod(self.shape),
    max_numel=lambda self: math.prod(self.max_shape), element_size=lambda self: self._t.element_size(),
    nbytes=lambda self: self.numel() * self.element_size(), is_floating_point=lambda self: self._t.is_floating_point(),
)  # fmt: skip

_LATER = "its values are computed for all vertices at once, after zoomOut"
_LOSS = "a loss is taken over all vertices: use it on what zoomOut gives"
_PLACE = "values of a vertex program are never changed in place: make a new one"
_COUNT = "the size of its result depends on values and would differ from vertex to vertex"
_NAMES = """realize numpy item tolist data source uops explain backward gradient register_hook grad zero_grad is_realized graph requires_grad_
is_param_ is_param allclose sized uop lazydata schedule schedule_with_vars"""
REFUSED.update({name: _LATER for name in _NAMES.split()})
_NAMES = """cross_entropy sparse_categorical_crossentropy nll_loss binary_crossentropy binary_crossentropy_logits mse_loss l1_loss
huber_loss smooth_l1_loss kl_div"""
REFUSED.update({name: _LOSS for name in _NAMES.split()})
REFUSED.update({name: _PLACE for name in "assign replace to_ scatter_add_ shard_ __setitem__ __delitem__".split()})
REFUSED.update({name: _COUNT for name in "masked_select nonzero multinomial".split()})
_WHOLE = "it works on whole matrices, images or files: use it outside, or on what zoomOut gives"
REFUSED.update({name: _WHOLE for name in "cdist qr svd newton_schulz interpolate max_unpool2d hash keccak shard shard_like custom_kernel".split()})
REFUSED.update(meshgrid="make the grid outside, it is the same for all vertices")
