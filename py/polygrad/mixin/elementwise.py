"""Operations on each element: arithmetic, comparison, functions, activations, conversion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._core import C, binary, binary_other, in_place, like, operand, operator, past_double, reflected, sig, to_dtype, unary
from .._meaning import flag
from ..dtypes import dtypes

if TYPE_CHECKING:
    from ..dtypes import DTypeLike
    from ..tensor import Tensor


def _either(op: int, a: Any, b: Any, reverse: bool) -> Tensor:
    if reverse is False:
        return binary(op, a, b)
    flag("a binary operation", "reverse", reverse, "alpha or another operand")
    return binary_other(op, a, b, True)


class Elementwise:
    """Binary operations broadcast and promote dtypes as tinygrad does."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = operator(sig.POLY_ADD), reflected(sig.POLY_ADD), in_place(sig.POLY_ADD)
    __sub__, __rsub__, __isub__ = operator(sig.POLY_SUB), reflected(sig.POLY_SUB), in_place(sig.POLY_SUB)
    __mul__, __rmul__, __imul__ = operator(sig.POLY_MUL), reflected(sig.POLY_MUL), in_place(sig.POLY_MUL)
    __truediv__, __rtruediv__, __itruediv__ = operator(sig.POLY_DIV), reflected(sig.POLY_DIV), in_place(sig.POLY_DIV)
    __floordiv__, __rfloordiv__ = operator(sig.POLY_FLOORDIV), reflected(sig.POLY_FLOORDIV)
    __ifloordiv__ = in_place(sig.POLY_FLOORDIV)
    __mod__, __rmod__, __imod__ = operator(sig.POLY_MOD), reflected(sig.POLY_MOD), in_place(sig.POLY_MOD)
    __pow__, __rpow__, __ipow__ = operator(sig.POLY_POW), reflected(sig.POLY_POW), in_place(sig.POLY_POW)
    __and__, __rand__, __iand__ = operator(sig.POLY_AND), reflected(sig.POLY_AND), in_place(sig.POLY_AND)
    __or__, __ror__, __ior__ = operator(sig.POLY_OR), reflected(sig.POLY_OR), in_place(sig.POLY_OR)
    __xor__, __rxor__, __ixor__ = operator(sig.POLY_XOR), reflected(sig.POLY_XOR), in_place(sig.POLY_XOR)
    __lshift__, __rlshift__, __ilshift__ = operator(sig.POLY_SHL), reflected(sig.POLY_SHL), in_place(sig.POLY_SHL)
    __rshift__, __rrshift__, __irshift__ = operator(sig.POLY_SHR), reflected(sig.POLY_SHR), in_place(sig.POLY_SHR)
    __lt__, __le__, __gt__, __ge__ = (operator(op) for op in (sig.POLY_LT, sig.POLY_LE, sig.POLY_GT, sig.POLY_GE))
    __eq__, __ne__ = operator(sig.POLY_EQ), operator(sig.POLY_NE)

    def __neg__(self) -> Tensor:
        return unary(sig.POLY_NEG, self)

    def __pos__(self: Any) -> Tensor:
        return self

    def __invert__(self) -> Tensor:
        return unary(sig.POLY_BITWISE_NOT, self)

    def __abs__(self) -> Tensor:
        return unary(sig.POLY_ABS, self)

    # ---- arithmetic ----

    def add(self, x: Any, reverse: bool = False) -> Tensor:
        """self + x.

        >>> Tensor([1, 2]).add(10).tolist()
        [11, 12]
        """
        return _either(sig.POLY_ADD, self, x, reverse)

    def sub(self, x: Any, reverse: bool = False) -> Tensor:
        """self - x, or x - self when reversed.

        >>> Tensor([1, 2]).sub(10).tolist()
        [-9, -8]
        """
        return _either(sig.POLY_SUB, self, x, reverse)

    def mul(self, x: Any, reverse: bool = False) -> Tensor:
        """self * x.

        >>> Tensor([1, 2]).mul(10).tolist()
        [10, 20]
        """
        return _either(sig.POLY_MUL, self, x, reverse)

    def div(self, x: Any, reverse: bool = False, rounding_mode: str | None = None) -> Tensor:
        """self / x; integers give float32. rounding_mode 'floor' or 'trunc' rounds.

        >>> Tensor([1, 2]).div(4).tolist()
        [0.25, 0.5]
        >>> Tensor([-7, 7]).div(2, rounding_mode="trunc").tolist()
        [-3, 3]
        """
        modes = {None: sig.POLY_DIV, "floor": sig.POLY_FLOORDIV, "trunc": sig.POLY_TRUNCDIV}
        if rounding_mode not in modes:
            raise RuntimeError(f"rounding_mode must be None, 'floor' or 'trunc', not {rounding_mode!r}")
        return _either(modes[rounding_mode], self, x, reverse)

    def idiv(self, x: Any, reverse: bool = False) -> Tensor:
        """The quotient rounded towards zero; `//` rounds down.

        >>> Tensor([-7, 7]).idiv(2).tolist()
        [-3, 3]
        """
        return _either(sig.POLY_TRUNCDIV, self, x, reverse)

    def mod(self, x: Any, reverse: bool = False) -> Tensor:
        """Remainder with the sign of the divisor.

        >>> Tensor([-4, 7, 5]).mod(3).tolist()
        [2, 1, 2]
        """
        return _either(sig.POLY_MOD, self, x, reverse)

    def fmod(self, x: Any) -> Tensor:
        """Remainder with the sign of self.

        >>> Tensor([-4, 7, 5]).fmod(3).tolist()
        [-1, 1, 2]
        """
        return binary(sig.POLY_FMOD, self, x)

    def pow(self, x: Any, reverse: bool = False) -> Tensor:
        """self to the power of x.

        >>> Tensor([1.0, 2.0, 3.0]).pow(2).tolist()
        [1.0, 4.0, 9.0]
        """
        return _either(sig.POLY_POW, self, x, reverse)

    def maximum(self, x: Any) -> Tensor:
        """The larger of two; NaN if one is NaN.

        >>> Tensor([-1, 2, 3]).maximum(1).tolist()
        [1, 2, 3]
        """
        return binary(sig.POLY_MAXIMUM, self, x)

    def minimum(self, x: Any) -> Tensor:
        """The smaller of two; NaN if one is NaN.

        >>> Tensor([-1, 2, 3]).minimum(1).tolist()
        [-1, 1, 1]
        """
        return binary(sig.POLY_MINIMUM, self, x)

    def bitwise_and(self, x: Any, reverse: bool = False) -> Tensor:
        """self & x.

        >>> Tensor([2, 5]).bitwise_and(6).tolist()
        [2, 4]
        """
        return _either(sig.POLY_AND, self, x, reverse)

    def bitwise_or(self, x: Any, reverse: bool = False) -> Tensor:
        """self | x.

        >>> Tensor([2, 5]).bitwise_or(8).tolist()
        [10, 13]
        """
        return _either(sig.POLY_OR, self, x, reverse)

    def bitwise_xor(self, x: Any, reverse: bool = False) -> Tensor:
        """self ^ x.

        >>> Tensor([2, 5]).bitwise_xor(3).tolist()
        [1, 6]
        """
        return _either(sig.POLY_XOR, self, x, reverse)

    def lshift(self, x: Any, reverse: bool = False) -> Tensor:
        """self << x.

        >>> Tensor([1, 3]).lshift(2).tolist()
        [4, 12]
        """
        return _either(sig.POLY_SHL, self, x, reverse)

    def rshift(self, x: Any, reverse: bool = False) -> Tensor:
        """self >> x.

        >>> Tensor([4, 13]).rshift(2).tolist()
        [1, 3]
        """
        return _either(sig.POLY_SHR, self, x, reverse)

    def lt(self, x: Any) -> Tensor:
        """self < x.

        >>> Tensor([1, 2]).lt(2).tolist()
        [True, False]
        """
        return binary(sig.POLY_LT, self, x)

    def le(self, x: Any) -> Tensor:
        """self <= x.

        >>> Tensor([1, 3]).le(2).tolist()
        [True, False]
        """
        return binary(sig.POLY_LE, self, x)

    def gt(self, x: Any) -> Tensor:
        """self > x.

        >>> Tensor([1, 3]).gt(2).tolist()
        [False, True]
        """
        return binary(sig.POLY_GT, self, x)

    def ge(self, x: Any) -> Tensor:
        """self >= x.

        >>> Tensor([1, 2]).ge(2).tolist()
        [False, True]
        """
        return binary(sig.POLY_GE, self, x)

    def eq(self, x: Any) -> Tensor:
        """self == x.

        >>> Tensor([1, 2]).eq(2).tolist()
        [False, True]
        """
        return binary(sig.POLY_EQ, self, x)

    def ne(self, x: Any) -> Tensor:
        """self != x.

        >>> Tensor([1, 2]).ne(2).tolist()
        [True, False]
        """
        return binary(sig.POLY_NE, self, x)

    def where(self: Any, x: Any, y: Any) -> Tensor:
        """x where self is true, else y; all three broadcast.

        >>> Tensor([True, False]).where(1, 3).tolist()
        [1, 3]
        """
        if getattr(x, "dtype", None) == dtypes.bool and self.dtype != dtypes.bool and getattr(y, "dtype", type(y)) not in (dtypes.bool, bool):
            raise TypeError("where: the condition comes first, as in tinygrad: PyTorch's x.where(condition, y) is condition.where(x, y)")
        xt, yt = _where_operands(self, x, y)
        return like(self, C.poly_where(self._h, xt._h, yt._h), xt, yt)

    def clamp(self: Any, min_: Any = None, max_: Any = None) -> Tensor:
        """Limits to [min_, max_]; either may be open, a number or a tensor.

        >>> Tensor([-3, -1, 2, 5]).clamp(-2, 3).tolist()
        [-2, -1, 2, 3]
        """
        if min_ is None and max_ is None:
            raise RuntimeError("at least one of min_ or max_ must not be None")
        whole = all(v is None or (isinstance(v, int) and not past_double(v, self.dtype)) for v in (min_, max_))
        if not (whole or (self.dtype.kind == "f" and all(v is None or isinstance(v, (int, float)) for v in (min_, max_)))):
            t = self if min_ is None else _limited(self, operand(self, min_), self >= min_)
            return t if max_ is None else _limited(t, operand(t, max_), t <= max_)
        low, high = -math.inf if min_ is None else float(min_), math.inf if max_ is None else float(max_)
        return like(self, C.poly_clamp(self._h, low, high))

    clip = clamp

    def lerp(self: Any, end: Any, weight: Any) -> Tensor:
        """self + (end - self) * weight, exact at both ends.

        >>> Tensor([1.0, 2.0]).lerp(Tensor([3.0, 4.0]), 0.5).tolist()
        [2.0, 3.0]
        """
        weight = operand(self, weight)
        return like(self, C.poly_lerp(self._h, operand(self, end), weight._h), end, weight)

    def isclose(self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
        """|self - other| <= atol + rtol * |other|, elementwise.

        >>> Tensor([1.0, 2.0]).isclose(Tensor([1.0, 2.1])).tolist()
        [True, False]
        """
        return like(self, C.poly_isclose(self._h, operand(self, other), rtol, atol, equal_nan), other)

    def allclose(self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
        """Are all elements close? A bool tensor of one element.

        >>> Tensor([1.0, 2.0]).allclose(Tensor([1.0, 2.0])).item()
        True
        """
        return self.isclose(other, rtol, atol, equal_nan).all()

    def copysign(self: Any, other: Any) -> Tensor:
        """Size of self with the sign of other (also that of -0.0).

        >>> Tensor([1.0, -2.0]).copysign(Tensor([-0.0, 1.0])).tolist()
        [-1.0, 2.0]
        """
        return binary(sig.POLY_COPYSIGN, self, other)

    def atan2(self: Any, other: Any) -> Tensor:
        """The angle of the point (other, self), between -pi and pi.

        >>> [round(v, 4) for v in Tensor([1.0, 1.0, -0.0]).atan2(Tensor([0.0, -1.0, -1.0])).tolist()]
        [1.5708, 2.3562, -3.1416]
        """
        return binary(sig.POLY_ATAN2, self, other)

    def hypot(self: Any, other: Any) -> Tensor:
        """The length of the point (self, other).

        >>> Tensor([3.0, 1e30]).hypot(Tensor([4.0, 0.0])).tolist()[0]
        5.0
        """
        return binary(sig.POLY_HYPOT, self, other)

    def logaddexp(self: Any, other: Any) -> Tensor:
        """log(exp(self) + exp(other)), without overflow.

        >>> round(Tensor([0.0]).logaddexp(Tensor([0.0])).item(), 4)
        0.6931
        """
        return like(self, C.poly_logaddexp(self._h, operand(self, other)))

    # ---- functions ----

    def neg(self) -> Tensor:
        """-self; the opposite of a bool.

        >>> Tensor([1, -2]).neg().tolist()
        [-1, 2]
        """
        return unary(sig.POLY_NEG, self)

    def logical_not(self) -> Tensor:
        """True where self is zero.

        >>> Tensor([True, False]).logical_not().tolist()
        [False, True]
        """
        return unary(sig.POLY_LOGICAL_NOT, self)

    def bitwise_not(self) -> Tensor:
        """Every bit turned over.

        >>> Tensor([0, 5]).bitwise_not().tolist()
        [-1, -6]
        """
        return unary(sig.POLY_BITWISE_NOT, self)

    def abs(self) -> Tensor:
        """Absolute value.

        >>> Tensor([-3.0, 2.0]).abs().tolist()
        [3.0, 2.0]
        """
        return unary(sig.POLY_ABS, self)

    def sign(self) -> Tensor:
        """-1, 0 or 1.

        >>> Tensor([-3, 0, 2]).sign().tolist()
        [-1, 0, 1]
        """
        return unary(sig.POLY_SIGN, self)

    def square(self) -> Tensor:
        """self * self.

        >>> Tensor([-3.0, 2.0]).square().tolist()
        [9.0, 4.0]
        """
        return unary(sig.POLY_SQUARE, self)

    def sqrt(self) -> Tensor:
        """Square root.

        >>> Tensor([4.0, 9.0]).sqrt().tolist()
        [2.0, 3.0]
        """
        return unary(sig.POLY_SQRT, self)

    def rsqrt(self) -> Tensor:
        """1 / sqrt(self).

        >>> Tensor([4.0, 16.0]).rsqrt().tolist()
        [0.5, 0.25]
        """
        return unary(sig.POLY_RSQRT, self)

    def reciprocal(self) -> Tensor:
        """1 / self.

        >>> Tensor([4.0, 0.5]).reciprocal().tolist()
        [0.25, 2.0]
        """
        return unary(sig.POLY_RECIPROCAL, self)

    def exp(self) -> Tensor:
        """e to the power of self.

        >>> Tensor([0.0]).exp().tolist()
        [1.0]
        """
        return unary(sig.POLY_EXP, self)

    def exp2(self) -> Tensor:
        """2 to the power of self.

        >>> Tensor([0.0, 3.0]).exp2().tolist()
        [1.0, 8.0]
        """
        return unary(sig.POLY_EXP2, self)

    def expm1(self) -> Tensor:
        """exp(self) - 1, exact for small values.

        >>> Tensor([0.0]).expm1().tolist()
        [0.0]
        """
        return unary(sig.POLY_EXPM1, self)

    def log(self) -> Tensor:
        """Natural logarithm.

        >>> Tensor([1.0]).log().tolist()
        [0.0]
        """
        return unary(sig.POLY_LOG, self)

    def log2(self) -> Tensor:
        """Logarithm to base 2.

        >>> Tensor([1.0, 8.0]).log2().tolist()
        [0.0, 3.0]
        """
        return unary(sig.POLY_LOG2, self)

    def log10(self) -> Tensor:
        """Logarithm to base 10.

        >>> round(Tensor([1000.0]).log10().item(), 4)
        3.0
        """
        return unary(sig.POLY_LOG10, self)

    def log1p(self) -> Tensor:
        """log(1 + self), exact for small values.

        >>> Tensor([0.0]).log1p().tolist()
        [0.0]
        """
        return unary(sig.POLY_LOG1P, self)

    def sin(self) -> Tensor:
        """Sine.

        >>> Tensor([0.0]).sin().tolist()
        [0.0]
        """
        return unary(sig.POLY_SIN, self)

    def cos(self) -> Tensor:
        """Cosine.

        >>> Tensor([0.0]).cos().tolist()
        [1.0]
        """
        return unary(sig.POLY_COS, self)

    def tan(self) -> Tensor:
        """Tangent.

        >>> Tensor([0.0]).tan().tolist()
        [0.0]
        """
        return unary(sig.POLY_TAN, self)

    def asin(self) -> Tensor:
        """Inverse sine.

        >>> Tensor([0.0]).asin().tolist()
        [0.0]
        """
        return unary(sig.POLY_ASIN, self)

    def acos(self) -> Tensor:
        """Inverse cosine.

        >>> Tensor([1.0]).acos().tolist()
        [0.0]
        """
        return unary(sig.POLY_ACOS, self)

    def atan(self) -> Tensor:
        """Inverse tangent.

        >>> Tensor([0.0]).atan().tolist()
        [0.0]
        """
        return unary(sig.POLY_ATAN, self)

    def sinh(self) -> Tensor:
        """Hyperbolic sine.

        >>> Tensor([0.0]).sinh().tolist()
        [0.0]
        """
        return unary(sig.POLY_SINH, self)

    def cosh(self) -> Tensor:
        """Hyperbolic cosine.

        >>> Tensor([0.0]).cosh().tolist()
        [1.0]
        """
        return unary(sig.POLY_COSH, self)

    def tanh(self) -> Tensor:
        """Hyperbolic tangent.

        >>> Tensor([0.0]).tanh().tolist()
        [0.0]
        """
        return unary(sig.POLY_TANH, self)

    def asinh(self) -> Tensor:
        """Inverse hyperbolic sine.

        >>> Tensor([0.0]).asinh().tolist()
        [0.0]
        """
        return unary(sig.POLY_ASINH, self)

    def acosh(self) -> Tensor:
        """Inverse hyperbolic cosine.

        >>> Tensor([1.0]).acosh().tolist()
        [0.0]
        """
        return unary(sig.POLY_ACOSH, self)

    def atanh(self) -> Tensor:
        """Inverse hyperbolic tangent.

        >>> Tensor([0.0]).atanh().tolist()
        [0.0]
        """
        return unary(sig.POLY_ATANH, self)

    def erf(self) -> Tensor:
        """Error function.

        >>> Tensor([0.0]).erf().tolist()
        [0.0]
        """
        return unary(sig.POLY_ERF, self)

    def ceil(self) -> Tensor:
        """Rounds up.

        >>> Tensor([-1.5, 1.5]).ceil().tolist()
        [-1.0, 2.0]
        """
        return unary(sig.POLY_CEIL, self)

    def floor(self) -> Tensor:
        """Rounds down.

        >>> Tensor([-1.5, 1.5]).floor().tolist()
        [-2.0, 1.0]
        """
        return unary(sig.POLY_FLOOR, self)

    def round(self) -> Tensor:
        """Rounds to the nearest, halves to even.

        >>> Tensor([0.5, 1.5, 2.5]).round().tolist()
        [0.0, 2.0, 2.0]
        """
        return unary(sig.POLY_ROUND, self)

    def trunc(self) -> Tensor:
        """Rounds towards zero.

        >>> Tensor([-1.5, 1.5]).trunc().tolist()
        [-1.0, 1.0]
        """
        return unary(sig.POLY_TRUNC, self)

    def isnan(self) -> Tensor:
        """True where self is not a number.

        >>> Tensor([1.0, float("nan")]).isnan().tolist()
        [False, True]
        """
        return unary(sig.POLY_ISNAN, self)

    def isinf(self: Any, detect_positive: bool = True, detect_negative: bool = True) -> Tensor:
        """True where self is infinite.

        >>> Tensor([1.0, float("-inf")]).isinf().tolist()
        [False, True]
        """
        if detect_positive and detect_negative:
            return unary(sig.POLY_ISINF, self)
        return (self == math.inf) * detect_positive + (self == -math.inf) * detect_negative

    def isfinite(self) -> Tensor:
        """True where self is neither infinite nor NaN.

        >>> Tensor([1.0, float("inf")]).isfinite().tolist()
        [True, False]
        """
        return unary(sig.POLY_ISFINITE, self)

    # ---- activations ----

    def relu(self) -> Tensor:
        """max(0, x).

        >>> Tensor([-1.0, 2.0]).relu().tolist()
        [0.0, 2.0]
        """
        return unary(sig.POLY_RELU, self)

    def relu6(self) -> Tensor:
        """relu, at most 6.

        >>> Tensor([-1.0, 2.0, 9.0]).relu6().tolist()
        [0.0, 2.0, 6.0]
        """
        return unary(sig.POLY_RELU6, self)

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)).

        >>> Tensor([0.0]).sigmoid().tolist()
        [0.5]
        """
        return unary(sig.POLY_SIGMOID, self)

    def logsigmoid(self) -> Tensor:
        """log(sigmoid(x)), without underflow.

        >>> round(Tensor([0.0]).logsigmoid().item(), 4)
        -0.6931
        """
        return unary(sig.POLY_LOGSIGMOID, self)

    def hardsigmoid(self: Any, alpha: float = 1 / 6, beta: float = 0.5) -> Tensor:
        """alpha * x + beta, limited to [0, 1].

        >>> Tensor([-3.0, 0.0, 3.0]).hardsigmoid().tolist()
        [0.0, 0.5, 1.0]
        """
        if alpha == 1 / 6 and beta == 0.5:
            return unary(sig.POLY_HARDSIGMOID, self)
        return (self * alpha + beta).clamp(0.0, 1.0)

    def hardswish(self) -> Tensor:
        """x * relu6(x + 3) / 6.

        >>> Tensor([0.0, 3.0]).hardswish().tolist()
        [0.0, 3.0]
        """
        return unary(sig.POLY_HARDSWISH, self)

    def gelu(self: Any, approximate: str = "tanh") -> Tensor:
        """Gaussian error linear unit, by its tanh approximation or, with approximate="none", by erf.

        >>> Tensor([0.0]).gelu().tolist()
        [0.0]
        """
        if approximate == "tanh":
            return unary(sig.POLY_GELU, self)
        if approximate != "none":
            raise ValueError(f"approximate must be 'tanh' or 'none', not {approximate!r}")
        return unary(sig.POLY_GELU_ERF, self)

    def quick_gelu(self) -> Tensor:
        """x * sigmoid(1.702 x).

        >>> Tensor([0.0]).quick_gelu().tolist()
        [0.0]
        """
        return unary(sig.POLY_QUICK_GELU, self)

    def silu(self) -> Tensor:
        """x * sigmoid(x); also called swish.

        >>> Tensor([0.0]).silu().tolist()
        [0.0]
        """
        return unary(sig.POLY_SILU, self)

    swish = silu

    def mish(self) -> Tensor:
        """x * tanh(softplus(x)).

        >>> Tensor([0.0]).mish().tolist()
        [0.0]
        """
        return unary(sig.POLY_MISH, self)

    def selu(self: Any, alpha: float = 1.67326, gamma: float = 1.0507) -> Tensor:
        """gamma * elu(x, alpha).

        >>> Tensor([0.0]).selu().tolist()
        [0.0]
        """
        if (alpha, gamma) == (1.67326, 1.0507):
            return unary(sig.POLY_SELU, self)
        return self.elu(alpha) * gamma

    def softsign(self) -> Tensor:
        """x / (1 + |x|).

        >>> Tensor([-1.0, 1.0]).softsign().tolist()
        [-0.5, 0.5]
        """
        return unary(sig.POLY_SOFTSIGN, self)

    def lgamma(self) -> Tensor:
        """log |Gamma(x)|.

        >>> round(Tensor([5.0]).lgamma().item(), 4)  # log 4!
        3.1781
        """
        return unary(sig.POLY_LGAMMA, self)

    def digamma(self) -> Tensor:
        """The derivative of lgamma.

        >>> round(Tensor([1.0]).digamma().item(), 4)
        -0.5772
        """
        return unary(sig.POLY_DIGAMMA, self)

    def polygamma(self: Any, n: int) -> Tensor:
        """The nth derivative of digamma, n from 0 to 100.

        >>> round(Tensor([1.0]).polygamma(1).item(), 4)
        1.6449
        """
        return like(self, C.poly_polygamma(int(n), self._h))

    def erfinv(self) -> Tensor:
        """The inverse of erf, infinite at -1 and 1.

        >>> round(Tensor([0.5]).erfinv().item(), 4)
        0.4769
        """
        return unary(sig.POLY_ERFINV, self)

    def gcd(self, x: Any) -> Tensor:
        """Greatest common divisor of integers.

        >>> Tensor([12, 18, 0]).gcd(Tensor([8, 12, 5])).tolist()
        [4, 6, 5]
        """
        return binary(sig.POLY_GCD, self, x)

    def lcm(self, x: Any) -> Tensor:
        """Least common multiple of integers.

        >>> Tensor([4, 6]).lcm(6).tolist()
        [12, 6]
        """
        return binary(sig.POLY_LCM, self, x)

    def leakyrelu(self: Any, neg_slope: float = 0.01) -> Tensor:
        """An older name of leaky_relu.

        >>> Tensor([-1.0, 1.0]).leakyrelu(0.5).tolist()
        [-0.5, 1.0]
        """
        return self.leaky_relu(neg_slope)

    def leaky_relu(self: Any, neg_slope: float = 0.01) -> Tensor:
        """x where positive, else neg_slope * x.

        >>> Tensor([-4.0, 2.0]).leaky_relu(0.25).tolist()
        [-1.0, 2.0]
        """
        return like(self, C.poly_leaky_relu(self._h, neg_slope))

    def elu(self: Any, alpha: float = 1.0) -> Tensor:
        """x where positive, else alpha * (exp(x) - 1).

        >>> Tensor([0.0, 2.0]).elu().tolist()
        [0.0, 2.0]
        """
        return like(self, C.poly_elu(self._h, alpha))

    def celu(self: Any, alpha: float = 1.0) -> Tensor:
        """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

        >>> Tensor([0.0, 2.0]).celu().tolist()
        [0.0, 2.0]
        """
        return like(self, C.poly_celu(self._h, alpha))

    def hardtanh(self: Any, min_val: float = -1, max_val: float = 1) -> Tensor:
        """Limits to [min_val, max_val].

        >>> Tensor([-2.0, 0.5, 2.0]).hardtanh().tolist()
        [-1.0, 0.5, 1.0]
        """
        return like(self, C.poly_hardtanh(self._h, min_val, max_val))

    def softplus(self: Any, beta: float = 1.0, threshold: float | None = None) -> Tensor:
        """log(1 + exp(beta * x)) / beta; x itself where beta * x is above a threshold.

        >>> round(Tensor([0.0]).softplus().item(), 4)
        0.6931
        """
        out = like(self, C.poly_softplus(self._h, beta))
        return out if threshold is None else (self * beta > threshold).where(self, out)

    # ---- conversion ----

    def cast(self: Any, dtype: DTypeLike) -> Tensor:
        """The values in another dtype; floats lose their fraction on the way to integers.

        >>> Tensor([1.5, -2.5]).cast(dtypes.int32).tolist()
        [1, -2]
        """
        return like(self, C.poly_cast(self._h, to_dtype(dtype).code))

    def bitcast(self: Any, dtype: DTypeLike) -> Tensor:
        """The same bits read as another dtype; if that has another size, the last axis has more elements or fewer.

        >>> Tensor([1.0]).bitcast(dtypes.int32).tolist()
        [1065353216]
        >>> Tensor([1.0]).bitcast(dtypes.uint8).tolist()
        [0, 0, 128, 63]
        """
        d = to_dtype(dtype)
        if d.itemsize != self.dtype.itemsize:
            from .storage import rebits

            return rebits(self, d)
        return like(self, C.poly_bitcast(self._h, d.code))

    def float(self) -> Tensor:
        """To float32.

        >>> Tensor([1]).float().dtype
        dtypes.float
        """
        return self.cast(dtypes.float32)

    def half(self) -> Tensor:
        """To float16.

        >>> Tensor([1]).half().dtype
        dtypes.half
        """
        return self.cast(dtypes.float16)

    def bfloat16(self) -> Tensor:
        """To bfloat16.

        >>> Tensor([1]).bfloat16().dtype
        dtypes.bfloat16
        """
        return self.cast(dtypes.bfloat16)

    def double(self) -> Tensor:
        """To float64.

        >>> Tensor([1]).double().dtype
        dtypes.double
        """
        return self.cast(dtypes.float64)

    def int(self) -> Tensor:
        """To int32.

        >>> Tensor([1.5]).int().tolist()
        [1]
        """
        return self.cast(dtypes.int32)

    def long(self) -> Tensor:
        """To int64.

        >>> Tensor([1.5]).long().dtype
        dtypes.long
        """
        return self.cast(dtypes.int64)

    def short(self) -> Tensor:
        """To int16.

        >>> Tensor([1.5]).short().dtype
        dtypes.short
        """
        return self.cast(dtypes.int16)

    def bool(self) -> Tensor:
        """True where self is not zero.

        >>> Tensor([0, 2]).bool().tolist()
        [False, True]
        """
        return self.cast(dtypes.bool)


def _limited(x: Any, limit: Any, inside: Any) -> Tensor:
    """x inside its limit, which gets the gradient elsewhere. A NaN on either side is in no order: it is the result, and gets none."""
    beyond = (x != limit) & (x.isnan() | limit.isnan()).logical_not()
    return inside.where(x, beyond.where(limit, x.detach() + limit.detach()))


def _where_operands(cond: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Numbers take the dtype of the other side; two numbers their own."""
    from .._core import Tensor as T
    from .._core import number_dtype, scalar, scalar_kind

    xn, yn = scalar_kind(x), scalar_kind(y)
    if xn is not None and yn is not None:
        d = max(dtypes.from_py(xn), dtypes.from_py(yn))
        return scalar(cond._g, xn, d), scalar(cond._g, yn, d)
    if xn is not None:
        yt = operand(cond, y)
        return scalar(cond._g, xn, number_dtype(yt.dtype, xn)), yt
    xt = x if isinstance(x, T) else operand(cond, x)
    return xt, operand(xt, y)
