"""Matrix products, convolutions, pooling, attention and normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import C, argfix, handles, like, make_tuple, operand, same_graph
from .._ffi import int64_array
from .images import pairs_of

if TYPE_CHECKING:
    from ..dtypes import DTypeLike
    from ..tensor import Tensor


def _padding(padding: Any, n: int) -> Any:
    """What pairs_of makes of it, as C takes it."""
    return int64_array([v for pair in pairs_of(padding, n) for v in pair])


def _spatial(value: Any, n: int) -> Any:
    return int64_array(make_tuple(value, n))


def _optional(like: Any, t: Any) -> Any:
    if t is None:
        return None
    same_graph(like, t)
    return t._h


class Linalg:
    """Shapes are PyTorch's: [batch, channels, spatial...]."""

    __slots__ = ()

    def matmul(self: Any, x: Any, reverse: bool = False, dtype: DTypeLike | None = None) -> Tensor:
        """Matrix product, with vectors and broadcast batches as in numpy.

        >>> (Tensor([[1, 2], [3, 4]]) @ Tensor([1, 1])).tolist()
        [3, 7]
        """
        a, b = self, x if hasattr(x, "_h") else _weight_of(x, self)
        same_graph(a, b)
        if dtype is not None:
            a, b = a.cast(dtype), b.cast(dtype)
        return like(self, C.poly_matmul(b._h, a._h) if reverse else C.poly_matmul(a._h, b._h), b)

    def dot(self: Any, w: Any, dtype: DTypeLike | None = None) -> Tensor:
        """Matrix product, as matmul.

        >>> Tensor([1, 2]).dot(Tensor([3, 4])).item()
        11
        """
        return self.matmul(w, False, dtype)

    def __matmul__(self: Any, x: Any) -> Tensor:
        return self.matmul(x)

    def __rmatmul__(self: Any, x: Any) -> Tensor:
        return self.matmul(x, True)

    def __imatmul__(self: Any, x: Any) -> Tensor:
        return self.assign(self.matmul(x))

    def cdist(self: Any, x2: Any, p: float = 2.0, compute_mode: str = "") -> Tensor:
        """The p-norm distances of the rows of self [..., m, d] and x2 [..., n, d]. Equal rows get a gradient of 0.

        >>> Tensor([[0.0, 0.0], [3.0, 4.0]]).cdist(Tensor([[0.0, 0.0]])).tolist()
        [[0.0], [5.0]]
        """
        x2 = operand(self, x2)
        if self.ndim < 2 or x2.ndim < 2 or self.shape[-1] != x2.shape[-1]:
            raise ValueError(f"cdist takes rows of the same size, not the shapes {self.shape} and {x2.shape}")
        difference = self.unsqueeze(-2) - x2.unsqueeze(-3)
        return difference._norm(p, -1, False)

    @staticmethod
    def einsum(formula: str, *operands: Any, dtype: DTypeLike | None = None) -> Tensor:
        """Sum of products by Einstein's notation.

        >>> Tensor.einsum("ij,ij->i", Tensor([[1, 2]]), Tensor([[3, 4]])).tolist()
        [11]
        """
        ts = [t if dtype is None else t.cast(dtype) for t in argfix(operands)]
        if not ts:
            raise ValueError("einsum needs at least one tensor")
        for t in ts[1:]:
            same_graph(ts[0], t)
        return like(ts[0], C.poly_einsum(ts[0]._g.ptr, formula.encode(), handles(ts), len(ts)), *ts)

    def linear(self: Any, weight: Tensor, bias: Tensor | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """x @ weight + bias, weight [in, out]; a weight with one axis is multiplied element by element. A weight that only fits the other way
        around, [out, in] as nn.Linear has it, is taken so; PyTorch's linear, which always does, is nn.functional.linear.

        >>> Tensor([[1.0, 2.0]]).linear(Tensor([[1.0], [1.0]]), Tensor([5.0])).tolist()
        [[8.0]]
        """
        if dtype is not None:
            return self.cast(dtype).linear(weight.cast(dtype), None if bias is None else bias.cast(dtype))
        if weight.ndim == 2 and self.ndim and weight.shape[0] != self.shape[-1] and weight.shape[1] == self.shape[-1]:
            weight = weight.transpose()
        y = self * weight if weight.ndim == 1 else self.matmul(weight)
        return y if bias is None else y + bias

    def sequential(self: Any, ll: list[Any]) -> Tensor:
        """Applies functions one after the other.

        >>> Tensor([1, 2]).sequential([lambda x: x * 2, lambda x: x + 1]).tolist()
        [3, 5]
        """
        x = self
        for f in ll:
            x = f(x)
        return x

    def conv2d(
        self: Any, weight: Tensor, bias: Tensor | None = None, groups: int = 1, stride: Any = 1, dilation: Any = 1, padding: Any = 0,
        dtype: DTypeLike | None = None,
    ) -> Tensor:  # fmt: skip
        """Convolution over as many spatial axes as weight [out, in/groups, kernel...] has.

        >>> Tensor.ones(1, 1, 3, 3).conv2d(Tensor.ones(1, 1, 2, 2)).tolist()
        [[[[4.0, 4.0], [4.0, 4.0]]]]
        """
        same_graph(self, weight)
        x, n = self if dtype is None else self.cast(dtype), max(self.ndim, weight.ndim) - 2
        pads = _padding(padding, max(0, n))
        h = C.poly_conv(x._h, weight._h, _optional(self, bias), groups, _spatial(stride, n), _spatial(dilation, n), pads)
        return like(self, h, weight, bias)

    conv1d = conv2d

    def conv_transpose2d(
        self: Any, weight: Tensor, bias: Tensor | None = None, groups: int = 1, stride: Any = 1, dilation: Any = 1, padding: Any = 0,
        output_padding: Any = 0,
    ) -> Tensor:  # fmt: skip
        """Transposed convolution, weight [in, out/groups, kernel...].

        >>> Tensor.ones(1, 1, 1, 1).conv_transpose2d(Tensor.ones(1, 1, 2, 2)).tolist()
        [[[[1.0, 1.0], [1.0, 1.0]]]]
        """
        same_graph(self, weight)
        n = max(self.ndim, weight.ndim) - 2
        h = C.poly_conv_transpose(
            self._h, weight._h, _optional(self, bias), groups, _spatial(stride, n), _spatial(dilation, n),
            _padding(padding, n), _spatial(output_padding, n),
        )  # fmt: skip
        return like(self, h, weight, bias)

    conv_transpose1d = conv_transpose2d

    def max_pool2d(
        self: Any, kernel_size: Any = (2, 2), stride: Any = None, dilation: Any = 1, padding: Any = 0, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        """Largest in each window; with return_indices, and its place in the flattened spatial axes.

        >>> Tensor.arange(16).reshape(1, 1, 4, 4).max_pool2d().tolist()
        [[[[5, 7], [13, 15]]]]
        """
        k = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
        n = len(k)
        if return_indices:
            return self._max_pool_places(tuple(k), k if stride is None else stride, dilation, padding, ceil_mode)
        s = _spatial(k if stride is None else stride, n)
        return like(self, C.poly_max_pool(self._h, n, int64_array(k), s, _spatial(dilation, n), _padding(padding, n), ceil_mode))

    def avg_pool2d(
        self: Any, kernel_size: Any = (2, 2), stride: Any = None, dilation: Any = 1, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:  # fmt: skip
        """Mean of each window.

        >>> Tensor.arange(16.0).reshape(1, 1, 4, 4).avg_pool2d().tolist()
        [[[[2.5, 4.5], [10.5, 12.5]]]]
        """
        k = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
        n = len(k)
        s, d, p = _spatial(k if stride is None else stride, n), _spatial(dilation, n), _padding(padding, n)
        return like(self, C.poly_avg_pool(self._h, n, int64_array(k), s, d, p, ceil_mode, count_include_pad))

    def scaled_dot_product_attention(
        self: Any, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
        enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        """softmax(q k^T / sqrt(d) + mask) v. A query whose keys are all masked gets zeros.

        >>> q = Tensor.ones(1, 2, 4)
        >>> q.scaled_dot_product_attention(q, q).shape
        (1, 2, 4)
        """
        if enable_gqa:
            key = key.repeat_interleave(self.shape[-3] // key.shape[-3], dim=-3)
            value = value.repeat_interleave(self.shape[-3] // value.shape[-3], dim=-3)
        same_graph(self, key)
        same_graph(self, value)
        return like(self, C.poly_attention(self._h, key._h, value._h, _optional(self, attn_mask), is_causal, dropout_p), key, value, attn_mask)

    # ---- normalisation ----

    def layernorm(self: Any, axis: Any = -1, eps: float = 1e-5) -> Tensor:
        """(x - mean) / sqrt(var + eps) over the given axes.

        >>> [round(v, 3) for v in Tensor([1.0, 2.0, 3.0]).layernorm().tolist()]
        [-1.225, 0.0, 1.225]
        """
        n = self.ndim
        axes = sorted((a + n if a < 0 else a) for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
        if axes == list(range(n - len(axes), n)):
            return like(self, C.poly_layernorm(self._h, len(axes), eps))
        y = self - self.mean(tuple(axes), keepdim=True)
        return y * ((y * y).mean(tuple(axes), keepdim=True) + eps).rsqrt()

    def rmsnorm(self: Any, eps: float = 1e-6) -> Tensor:
        """x / sqrt(mean(x^2) + eps) over the last axis.

        >>> Tensor([2.0, 2.0]).rmsnorm(0.0).tolist()
        [1.0, 1.0]
        """
        return like(self, C.poly_rmsnorm(self._h, eps))

    def groupnorm(self: Any, groups: int, eps: float = 1e-5) -> Tensor:
        """Normalises groups of channels of [batch, channels, ...].

        >>> Tensor.ones(1, 4, 2).groupnorm(2).shape
        (1, 4, 2)
        """
        return like(self, C.poly_groupnorm(self._h, groups, eps))

    def batchnorm(self: Any, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, axis: int | tuple[int, ...] = 1) -> Tensor:
        """(x - mean) * invstd * weight + bias, each along axis, or over several axes together.

        >>> Tensor([[3.0]]).batchnorm(None, None, Tensor([1.0]), Tensor([0.5])).tolist()
        [[1.0]]
        """
        for t in (mean, invstd):
            same_graph(self, t)
        if isinstance(axis, (tuple, list)):
            return _over_axes(self, weight, bias, mean, invstd, axis)
        return like(
            self, C.poly_batchnorm(self._h, _optional(self, weight), _optional(self, bias), mean._h, invstd._h, axis), weight, bias, mean, invstd
        )

    def dropout(self: Any, p: float = 0.5) -> Tensor:
        """Zeroes with probability p while training, and scales the rest by 1 / (1 - p).

        >>> Tensor.ones(4).dropout(0.5).tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        if not 0 <= p <= 1:
            raise ValueError(f"p must be between 0 and 1, not {p}")
        return like(self, C.poly_dropout(self._h, p))


def _over_axes(x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, axes: Any) -> Tensor:
    """batchnorm with parameters that have the sizes of several axes: these as one."""
    inside = sorted({a % x.ndim for a in axes})
    order = inside + [k for k in range(x.ndim) if k not in inside]
    y = x.permute(order)
    flat = y.reshape(-1, *y.shape[len(inside) :])
    weight, bias, mean, invstd = (None if t is None else t.reshape(-1) for t in (weight, bias, mean, invstd))
    return flat.batchnorm(weight, bias, mean, invstd, 0).reshape(y.shape).permute([order.index(k) for k in range(x.ndim)])


def _weight_of(x: Any, like: Any) -> Any:
    """x.dot(layer) multiplies with the layer's matrix, as x.dot(layer.weight.T)."""
    w: Any = getattr(x, "weight", None)
    return w.transpose(-1, -2) if hasattr(w, "_h") else operand(like, x)
