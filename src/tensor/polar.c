/* polar.c: the angle and the length of a point (x, y), and a size with another's sign. In: two floating-point tensors
 * of one dtype. Out: the same dtype and shape.
 *
 * Angle and length are computed from the ratio of the smaller coordinate to the larger, so that no square overflows or
 * vanishes, and are FUNCTIONs: their derivatives (grad/rules_function.c) are formed from that ratio too. */
#include <math.h>

#include "tensor/tensor.h"

static UOp *less(UOp *a, UOp *b) { return uop_binary(OP_CMPLT, a, b); }
static UOp *is(UOp *a, double v) { return uop_binary(OP_CMPEQ, a, t_scalar_like(a, v)); }
static UOp *times(UOp *a, UOp *b) { return uop_binary(OP_MUL, a, b); }
static UOp *plus(UOp *a, UOp *b) { return uop_binary(OP_ADD, a, b); }
static UOp *both(UOp *a, UOp *b) { return uop_binary(OP_AND, a, b); }
static UOp *either(UOp *a, UOp *b) { return uop_binary(OP_OR, a, b); }

/* x < 0, or -0 */
static UOp *is_negative(UOp *x) {
  UOp *zero = t_scalar_like(x, 0), *inverse = uop_binary(OP_DIV, t_scalar_like(x, 1), x);
  return either(less(x, zero), both(is(x, 0), less(inverse, zero)));
}

static UOp *signed_like(UOp *y, double v) {
  return uop_where(is_negative(y), t_scalar_like(y, -v), t_scalar_like(y, v));
}

/* The smaller coordinate over the larger, with the signs of both; 0 at the origin. */
static UOp *ratio(UOp *steep, UOp *y, UOp *x) {
  UOp *over = uop_where(steep, x, y), *under = uop_where(steep, y, x);
  UOp *infinite = both(t_unary(POLY_ISINF, over), t_unary(POLY_ISINF, under)), *one = t_scalar_like(x, 1);
  UOp *same = uop_where(less(over, t_scalar_like(x, 0)), t_scalar_like(x, -1), one);
  over = uop_where(infinite, same, over);
  under = uop_where(infinite, uop_where(less(under, t_scalar_like(x, 0)), t_scalar_like(x, -1), one), under);
  return uop_binary(OP_DIV, over, uop_where(is(under, 0), one, under));
}

/* Between -pi and pi, with the signs of zeros and the values at infinities that C's atan2 has. */
static UOp *angle(UOp *y, UOp *x) {
  UOp *steep = less(t_abs(x), t_abs(y)), *part = uop_unary(OP_ATAN, ratio(steep, y, x));
  UOp *turned = uop_where(is_negative(x), plus(part, signed_like(y, 3.14159265358979323846)), part);
  UOp *value = uop_where(steep, uop_binary(OP_SUB, signed_like(y, 1.57079632679489661923), part), turned);
  return uop_function(FUNCTION_ANGLE, 0, value, 2, (UOp *[]){y, x});
}

/* An infinite coordinate makes an infinite length, whatever the other is. */
static UOp *length(UOp *x, UOp *y) {
  UOp *a = t_abs(x), *b = t_abs(y), *high = uop_binary(OP_MAX, a, b), *low = uop_binary(OP_MIN, a, b);
  UOp *part = uop_binary(OP_DIV, low, uop_where(is(high, 0), t_scalar_like(x, 1), high));
  UOp *value = times(high, uop_unary(OP_SQRT, t_addc(times(part, part), 1)));
  value = uop_where(either(is(a, INFINITY), is(b, INFINITY)), t_scalar_like(x, INFINITY), value);
  return uop_function(FUNCTION_LENGTH, 0, value, 2, (UOp *[]){x, y});
}

static UOp *with_sign(UOp *x, UOp *y) {
  UOp *size = t_abs(x), *value = size ? uop_where(is_negative(y), t_neg(size), size) : NULL;
  return uop_function(FUNCTION_COPYSIGN, 0, value, 2, (UOp *[]){x, y});
}

/* Operands of one shape and dtype, in float32 for integers and the half types. */
static UOp *of_floats(UOp *(*f)(UOp *, UOp *), UOp *a, UOp *b) {
  if (!t_match(&a, &b)) return NULL;
  PolyDType d = t_float_dtype(a->ctx, (PolyDType)a->dtype), wide = t_wide_dtype(d);
  a = t_cast(a, wide);
  b = t_cast(b, wide);
  if (a && b && a->op == OP_CONST) a = t_broadcast_like(a, b);
  if (a && b && b->op == OP_CONST) b = t_broadcast_like(b, a);
  return a && b ? t_cast(f(a, b), d) : NULL;
}

UOp *t_atan2(UOp *y, UOp *x) { return of_floats(angle, y, x); }
UOp *t_hypot(UOp *x, UOp *y) { return of_floats(length, x, y); }
UOp *t_copysign(UOp *x, UOp *y) { return of_floats(with_sign, x, y); }
