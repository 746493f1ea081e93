/* special.c: the gamma function's logarithm and derivatives, the inverse of the error function, and greatest common
 * divisors, composed of elementwise ops. In: floating-point tensors, or integers. Out: the same shape and dtype.
 *
 * The functions of floats are computed in float64 and rounded once, so the series below need no care for cancellation:
 * lgamma near its zeros at 1 and 2 keeps the digits of float32. Each is a FUNCTION with a derivative of the same
 * family (grad/rules_function.c); the branch of a WHERE that is not taken is kept finite where that is cheap. */
#include "tensor/tensor.h"

#include <math.h>

enum { SHIFT = 10, TERMS = 8 }; /* steps up to where the series at infinity holds, and how much of it is used */

/* Bernoulli numbers B_2, B_4, ... */
static const double bernoulli[TERMS] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                        5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};

static UOp *number(UOp *like, double value) { return t_scalar_like(like, value); }
static UOp *below(UOp *x, double limit) { return uop_binary(OP_CMPLT, x, number(x, limit)); }
static UOp *whole(UOp *x) { return uop_binary(OP_CMPEQ, uop_unary(OP_FLOOR, x), x); }
static UOp *over(double a, UOp *x) { return uop_binary(OP_DIV, number(x, a), x); }

/* sum of c[k] y^k, k from 0, for y = 1/w^2 */
static UOp *series(UOp *y, const double *c, int n) {
  UOp *sum = number(y, c[n - 1]);
  for (int k = n - 2; k >= 0; k--) sum = t_addc(t_mul(sum, y), c[k]);
  return sum;
}

/* Stirling's series at w: (w - 1/2) log w - w + log(2 pi)/2 + sum of B_2k / (2k (2k-1) w^(2k-1)). Small arguments are
 * moved up, by lgamma(x) = lgamma(x + n) - log(x (x+1) ... (x+n-1)). */
static UOp *lgamma_above(UOp *x) {
  UOp *small = below(x, SHIFT), *w = uop_where(small, t_addc(x, SHIFT), x), *product = x;
  for (int k = 1; k < SHIFT; k++) product = t_mul(product, t_addc(x, k));
  double c[TERMS];
  for (int k = 0; k < TERMS; k++) c[k] = bernoulli[k] / ((2 * k + 2) * (2 * k + 1.0));
  UOp *inverse = over(1, w), *rest = t_mul(inverse, series(t_mul(inverse, inverse), c, TERMS));
  UOp *main = t_sub(t_mul(t_addc(w, -0.5), uop_unary(OP_LOG, w)), w);
  UOp *sum = t_add(t_addc(main, 0.91893853320467274178), rest);
  return t_sub(sum, uop_where(small, uop_unary(OP_LOG, product), number(x, 0)));
}

/* sin(pi x) without the rounding of pi x: x is taken modulo 2 first. */
static UOp *sin_pi(UOp *x) {
  UOp *half = t_mulc(x, 0.5), *part = t_sub(x, t_mulc(uop_unary(OP_ROUND, half), 2));
  return uop_unary(OP_SIN, t_mulc(part, 3.14159265358979323846));
}

/* Below 1/2: log(pi / |sin(pi x)|) - lgamma(1 - x); infinite at 0, -1, -2 ... */
static UOp *lgamma_any(UOp *x) {
  UOp *low = below(x, 0.5), *away = uop_where(low, t_rsubc(1, x), x);
  UOp *up = lgamma_above(away), *sine = t_abs(sin_pi(uop_where(low, x, number(x, 0.5))));
  UOp *reflected = t_sub(uop_unary(OP_LOG, over(3.14159265358979323846, sine)), up);
  UOp *pole = uop_binary(OP_AND, whole(x), uop_binary(OP_CMPLE, x, number(x, 0)));
  UOp *infinite = uop_binary(OP_OR, pole, t_unary(POLY_ISINF, x));
  return uop_where(infinite, number(x, INFINITY), uop_where(low, reflected, up));
}

/* log w - 1/(2w) - sum of B_2k / (2k w^2k) */
static UOp *digamma_above(UOp *x) {
  UOp *small = below(x, SHIFT), *w = uop_where(small, t_addc(x, SHIFT), x), *less = over(1, x);
  for (int k = 1; k < SHIFT; k++) less = t_add(less, over(1, t_addc(x, k)));
  double c[TERMS];
  for (int k = 0; k < TERMS; k++) c[k] = bernoulli[k] / (2 * k + 2);
  UOp *inverse = over(1, w), *y = t_mul(inverse, inverse);
  UOp *sum = t_sub(uop_unary(OP_LOG, w), t_add(t_mulc(inverse, 0.5), t_mul(y, series(y, c, TERMS))));
  return t_sub(sum, uop_where(small, less, number(x, 0)));
}

/* Below 0: digamma(1 - x) - pi / tan(pi x). Minus infinity at 0 with x's sign turned, NaN at -1, -2 ... */
static UOp *digamma_any(UOp *x) {
  UOp *low = below(x, 0), *away = uop_where(low, t_rsubc(1, x), x), *up = digamma_above(away);
  UOp *part = t_sub(x, uop_unary(OP_ROUND, x)); /* tan has the period 1 in x */
  UOp *angle = t_mulc(uop_where(low, part, number(x, 0.25)), 3.14159265358979323846);
  UOp *y = uop_where(low, t_sub(up, over(3.14159265358979323846, uop_unary(OP_TAN, angle))), up);
  y = uop_where(uop_binary(OP_AND, low, whole(x)), number(x, NAN), y);
  return uop_where(uop_binary(OP_CMPEQ, x, number(x, 0)), over(-1, x), y);
}

/* (-1)^(n+1) n! times the sum of (x + k)^-s over k, s = n + 1: SHIFT terms, and Euler and Maclaurin's for the rest,
 * w^(1-s)/(s-1) + w^-s/2 + sum of B_2k/(2k)! s (s+1) ... (s+2k-2) w^(1-s-2k). */
static UOp *polygamma_above(UOp *x, int n) {
  UOp *w = t_addc(x, SHIFT), *inverse = over(1, w), *sum = NULL;
  for (int k = 0; k < SHIFT; k++) {
    UOp *r = over(1, t_addc(x, k)), *power = r;
    for (int j = 0; j < n; j++) power = t_mul(power, r);
    sum = sum ? t_add(sum, power) : power;
  }
  double c[TERMS], rising = n + 1, factorial = 2;
  for (int k = 0; k < TERMS; k++) {
    c[k] = bernoulli[k] * rising / factorial;
    rising *= (n + 2.0 + 2 * k) * (n + 3.0 + 2 * k);
    factorial *= (2 * k + 3.0) * (2 * k + 4.0);
  }
  UOp *y = t_mul(inverse, inverse), *power = inverse;
  for (int j = 1; j < n; j++) power = t_mul(power, inverse); /* w^-n */
  UOp *tail = t_addc(t_mul(inverse, t_addc(t_mul(inverse, series(y, c, TERMS)), 0.5)), 1.0 / n);
  double scale = n % 2 ? 1 : -1;
  for (int k = 2; k <= n; k++) scale *= k;
  return t_mulc(t_add(sum, t_mul(power, tail)), scale);
}

/* The first derivative below 0: pi^2 / sin^2(pi x) - itself at 1 - x. */
static UOp *polygamma_any(UOp *x, int n) {
  if (n != 1) return polygamma_above(x, n);
  UOp *low = below(x, 0), *up = polygamma_above(uop_where(low, t_rsubc(1, x), x), 1);
  UOp *s = over(3.14159265358979323846, sin_pi(uop_where(low, x, number(x, 0.5))));
  return uop_where(low, t_sub(t_mul(s, s), up), up);
}

UOp *t_polygamma(UOp *x, int n) {
  UOp *wide = uop_cast(x, POLY_FLOAT64);
  if (!wide) return NULL;
  UOp *y = n < 0 ? lgamma_any(wide) : n == 0 ? digamma_any(wide) : polygamma_any(wide, n);
  return y ? uop_function(FUNCTION_POLYGAMMA, n, uop_cast(y, (PolyDType)x->dtype), 1, &x) : NULL;
}

UOp *t_lgamma(UOp *x) { return t_polygamma(x, -1); }
UOp *t_digamma(UOp *x) { return t_polygamma(x, 0); }

/* Winitzki's approximation, improved by Halley's steps for erf(y) - x, each of which triples the digits. */
UOp *t_erfinv(UOp *given) {
  UOp *x = uop_cast(given, POLY_FLOAT64), *size = x ? t_abs(x) : NULL;
  if (!size) return NULL;
  UOp *inside = below(size, 1), *safe = uop_where(inside, size, number(x, 0));
  const double a = 0.147, pi = 3.14159265358979323846;
  UOp *log = uop_unary(OP_LOG1P, t_neg(t_mul(safe, safe))), *t = t_addc(t_mulc(log, 0.5), 2 / (pi * a));
  UOp *root = uop_unary(OP_SQRT, t_sub(t_mul(t, t), t_mulc(log, 1 / a)));
  UOp *y = uop_unary(OP_SQRT, uop_binary(OP_MAX, t_sub(root, t), number(x, 0)));
  for (int k = 0; k < 3; k++) {
    UOp *slope = t_mulc(uop_unary(OP_EXP, t_mul(y, y)), 0.88622692545275801365); /* 1 / erf'(y) */
    UOp *u = t_mul(t_sub(uop_unary(OP_ERF, y), safe), slope);
    y = t_sub(y, uop_binary(OP_DIV, u, t_addc(t_mul(y, u), 1)));
  }
  UOp *edge = uop_binary(OP_CMPEQ, size, number(x, 1));
  y = uop_where(inside, y, uop_where(edge, number(x, INFINITY), number(x, NAN)));
  y = uop_where(below(x, 0), t_neg(y), y);
  return uop_function(FUNCTION_ERFINV, 0, uop_cast(y, (PolyDType)given->dtype), 1, &given);
}

/* Euclid's algorithm. Two numbers of b bits need at most 1.44 b steps, and MOD is 0 where the divisor is. */
UOp *t_gcd(UOp *a, UOp *b) {
  if (!a || !b) return NULL;
  PolyDType d = (PolyDType)a->dtype;
  a = t_abs(a), b = t_abs(b);
  if (a && b && a->ndim < b->ndim) a = t_broadcast_like(a, b);
  if (a && b && b->ndim < a->ndim) b = t_broadcast_like(b, a);
  int steps = (8 * dtype_size(d) * 3 + 1) / 2;
  for (int k = 0; k < steps && a && b; k++) {
    UOp *rest = uop_binary(OP_MOD, a, b);
    a = uop_where(uop_binary(OP_CMPEQ, b, number(b, 0)), a, b);
    b = rest;
  }
  return a;
}

UOp *t_lcm(UOp *a, UOp *b) {
  UOp *common = t_gcd(a, b);
  return common ? t_abs(t_mul(uop_binary(OP_IDIV, a, common), b)) : NULL; /* 0 where both are: IDIV by 0 is 0 */
}

PolyTensor *poly_polygamma(int n, PolyTensor *x) {
  if (!x) return NULL;
  if (n < 0 || n > 100) {
    base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "polygamma takes a derivative from 0 to 100, not %d", n);
    return NULL;
  }
  TENSOR_RETURN(x->ctx, t_polygamma(uop_cast(x->uop, t_float_dtype(x->ctx, (PolyDType)x->uop->dtype)), n));
}
