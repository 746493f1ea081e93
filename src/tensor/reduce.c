/* reduce.c: reductions and running reductions. In: a tensor and the axes, as bits. Out: the reduced tensor, whose axes
 * stay with size 1 (keepdim) or go.
 *
 * Accumulation: sums of small integers and bool in 32 bits, of the half types in float32 (rounded back at the end).
 * What is composed of several steps (mean, variance, softmax ...) rounds once. */
#include "tensor/tensor.h"

#include <math.h>

static PolyDType type_of(const UOp *x) { return (PolyDType)x->dtype; }
static bool is_half(PolyDType d) { return dtype_is_small(d); }

/* A float tensor wide enough to compute in. */
static UOp *widen(UOp *x) { return t_cast(x, t_wide_dtype(t_float_dtype(x->ctx, type_of(x)))); }

UOp *t_reduce(Op op, UOp *x, uint32_t mask, bool keepdim) {
  UOp *y = uop_reduce(op, x, mask);
  return keepdim ? y : t_drop_axes(y, mask);
}

UOp *t_sum_dtype(UOp *x, uint32_t mask, bool keepdim, PolyDType dtype) {
  return t_reduce(dtype == POLY_BOOL ? OP_MAX : OP_ADD, t_cast(x, dtype), mask, keepdim);
}

UOp *t_sum(UOp *x, uint32_t mask, bool keepdim) {
  if (!x) return NULL;
  UOp *y = t_sum_dtype(x, mask, keepdim, dtype_sum(type_of(x)));
  return is_half(type_of(x)) ? uop_cast(y, type_of(x)) : y;
}

UOp *t_prod(UOp *x, uint32_t mask, bool keepdim) {
  if (!x) return NULL;
  if (x->dtype == POLY_BOOL) return t_reduce(OP_MIN, x, mask, keepdim);
  return uop_cast(t_reduce(OP_MUL, uop_cast(x, t_wide_dtype(type_of(x))), mask, keepdim), type_of(x));
}

/* There is no largest element of nothing; an empty result needs none. */
static bool has_elements(const char *what, UOp *x, uint32_t mask) {
  bool empty = false;
  for (int d = 0; d < x->ndim; d++) {
    if (x->shape[d]->vmax > 0) continue;
    if (!(mask >> d & 1)) return true;
    empty = true;
  }
  char text[256];
  return !empty || base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "%s over an empty axis of shape %s", what,
                             shape_text(x, text, sizeof text));
}

UOp *t_max(UOp *x, uint32_t mask, bool keepdim) {
  return x && has_elements("max", x, mask) ? t_reduce(OP_MAX, x, mask, keepdim) : NULL;
}

UOp *t_min(UOp *x, uint32_t mask, bool keepdim) {
  return x && has_elements("min", x, mask) ? t_reduce(OP_MIN, x, mask, keepdim) : NULL;
}

UOp *t_first_extremum(Op op, UOp *x, uint32_t mask) {
  UOp *y = uop_reduce(op, x, mask);
  if (!y || !dtype_is_float(type_of(x))) return y;
  return uop_function(op == OP_MAX ? FUNCTION_FIRST_MAX : FUNCTION_FIRST_MIN, mask, y, 1, &x);
}

static UOp *first_extremum(UOp *x, uint32_t mask, bool keepdim, bool smallest) {
  if (!x || !has_elements(smallest ? "min" : "max", x, mask)) return NULL;
  UOp *y = t_first_extremum(smallest ? OP_MIN : OP_MAX, x, mask);
  return keepdim ? y : t_drop_axes(y, mask);
}

UOp *t_any(UOp *x, uint32_t mask, bool keepdim) { return t_reduce(OP_MAX, t_bool(x), mask, keepdim); }

UOp *t_all(UOp *x, uint32_t mask, bool keepdim) { return t_reduce(OP_MIN, t_bool(x), mask, keepdim); }

/* ---- mean and variance ---- */

/* Integers are summed exactly in 64 bits and divided in float64. */
static UOp *wide_mean(UOp *x, uint32_t mask, bool keepdim) {
  PolyDType d = type_of(x), acc = t_wide_dtype(d), out = acc;
  if (!dtype_is_float(d)) {
    acc = dtype_is_unsigned(d) ? POLY_UINT64 : POLY_INT64;
    out = POLY_FLOAT64;
  }
  UOp *sum = uop_cast(t_sum_dtype(x, mask, keepdim, acc), out);
  return t_div(sum, t_size_value(t_count(x, mask), out));
}

UOp *t_mean(UOp *x, uint32_t mask, bool keepdim) {
  return x ? uop_cast(wide_mean(x, mask, keepdim), t_float_dtype(x->ctx, type_of(x))) : NULL;
}

/* The number of elements less the correction, in dtype d. */
static UOp *freedom(UOp *x, uint32_t mask, double correction, PolyDType d) {
  UOp *n = t_size_value(t_count(x, mask), d);
  if (!n) return NULL;
  if (n->op == OP_CONST) return uop_const(x->ctx, d, fmax(const_float(n) - correction, 0));
  return t_maximum(t_subc(n, correction), t_scalar_like(n, 0));
}

/* In the dtype of x, a float; the reduced axes stay. */
static UOp *variance(UOp *x, uint32_t mask, UOp *n) {
  UOp *away = t_sub(x, t_mean(x, mask, true));
  UOp *value = t_div(t_reduce(OP_ADD, t_mul(away, away), mask, true), n);
  return n ? uop_function(FUNCTION_VARIANCE, mask, value, 2, (UOp *[]){x, n}) : NULL;
}

/* For layers that divide by it: in the dtype that sums of x are formed in. */
UOp *t_var(UOp *x, uint32_t mask, bool keepdim, double correction) {
  if (!x) return NULL;
  PolyDType d = type_of(x), acc = dtype_is_float(d) ? t_wide_dtype(d) : POLY_FLOAT64;
  UOp *y = variance(t_cast(x, acc), mask, freedom(x, mask, correction, acc));
  return uop_cast(keepdim ? y : t_drop_axes(y, mask), t_float_dtype(x->ctx, d));
}

/* var and std are computed in float64: of numbers that a float32 holds, the squares may be none of its range. */
static UOp *var(UOp *x, uint32_t mask, bool keepdim, double correction) {
  if (!x) return NULL;
  UOp *y = variance(t_cast(x, POLY_FLOAT64), mask, freedom(x, mask, correction, POLY_FLOAT64));
  return uop_cast(keepdim ? y : t_drop_axes(y, mask), t_float_dtype(x->ctx, type_of(x)));
}

static UOp *std(UOp *x, uint32_t mask, bool keepdim, double correction) {
  if (!x) return NULL;
  UOp *wide = t_cast(x, POLY_FLOAT64), *n = freedom(x, mask, correction, POLY_FLOAT64);
  UOp *value = t_sqrt(variance(wide, mask, n));
  UOp *y = value ? uop_function(FUNCTION_DEVIATION, mask, value, 2, (UOp *[]){wide, n}) : NULL;
  return uop_cast(keepdim ? y : t_drop_axes(y, mask), t_float_dtype(x->ctx, type_of(x)));
}

/* ---- norms ---- */

static UOp *norm_value(UOp *x, uint32_t mask, double p) {
  UOp *size = p == 2 ? x : t_abs(x);
  if (isinf(p)) return p > 0 ? t_max(size, mask, true) : t_min(size, mask, true);
  UOp *power = p == 2 ? t_mul(x, x) : t_pow(size, t_scalar_like(x, p));
  UOp *sum = t_reduce(OP_ADD, power, mask, true);
  return p == 2 ? t_sqrt(sum) : sum ? t_pow(sum, t_scalar_like(sum, 1 / p)) : NULL;
}

static UOp *norm(UOp *x, uint32_t mask, bool keepdim, double p) {
  if (!x) return NULL;
  PolyDType d = t_float_dtype(x->ctx, type_of(x));
  UOp *wide = widen(x), *y;
  if (!wide) return NULL;
  if (p == 0) {
    y = t_sum_dtype(t_bool(wide), mask, true, type_of(wide));
    y = y ? uop_function(FUNCTION_FLAT, 0, y, 1, &wide) : NULL;
  } else if (p == 1) {
    y = t_reduce(OP_ADD, t_abs(wide), mask, true);
  } else {
    y = uop_function(FUNCTION_NORM, mask, norm_value(wide, mask, p), 2, (UOp *[]){wide, t_scalar_like(wide, p)});
  }
  return uop_cast(keepdim ? y : t_drop_axes(y, mask), d);
}

/* ---- exponentials ---- */

/* The largest value, without history: it only scales, and cancels in the result. */
static UOp *peak(UOp *x, uint32_t mask) { return uop_detach(uop_reduce(OP_MAX, x, mask)); }

/* An infinite peak would make inf - inf: then nothing is subtracted, and exp gives the right limit by itself. */
UOp *t_logsumexp(UOp *x, uint32_t mask, bool keepdim) {
  if (!x) return NULL;
  PolyDType d = t_float_dtype(x->ctx, type_of(x));
  x = widen(x);
  UOp *m = peak(x, mask);
  m = t_where(t_unary(POLY_ISFINITE, m), m, t_scalar_like(x, 0));
  UOp *y = t_add(t_log(t_reduce(OP_ADD, t_exp(t_sub(x, m)), mask, true)), m);
  return uop_cast(keepdim ? y : t_drop_axes(y, mask), d);
}

static UOp *softmax(UOp *x, int axis, bool masked) {
  if (!x) return NULL;
  PolyDType d = t_float_dtype(x->ctx, type_of(x));
  uint32_t mask = t_axis_bit(x, axis);
  UOp *given = t_cast(x, d);
  x = widen(x);
  UOp *m = peak(x, mask);
  if (masked) m = t_where(t_equal(m, t_scalar_like(x, -INFINITY)), t_scalar_like(x, 0), m);
  UOp *e = t_exp(t_sub(x, m)), *sum = uop_reduce(OP_ADD, e, mask), *share = t_recip(sum);
  if (masked) share = t_where(t_equal(sum, t_scalar_like(x, 0)), t_scalar_like(x, 0), share);
  return uop_function(FUNCTION_SOFTMAX, axis, uop_cast(t_mul(e, share), d), 1, &given);
}

UOp *t_softmax(UOp *x, int axis) { return softmax(x, axis, false); }

UOp *t_masked_softmax(UOp *x, int axis) { return softmax(x, axis, true); }

UOp *t_log_softmax(UOp *x, int axis) {
  if (!x) return NULL;
  PolyDType d = t_float_dtype(x->ctx, type_of(x));
  uint32_t mask = t_axis_bit(x, axis);
  UOp *given = t_cast(x, d);
  x = widen(x);
  UOp *away = t_sub(x, peak(x, mask));
  UOp *y = t_sub(away, t_log(uop_reduce(OP_ADD, t_exp(away), mask)));
  return uop_function(FUNCTION_LOG_SOFTMAX, axis, uop_cast(y, d), 1, &given);
}

/* ---- place of the extreme ---- */

/* The smallest place where x equals its extreme; a NaN is the extreme wherever there is one. */
static UOp *arg_extreme(Op op, UOp *x, int axis, bool keepdim) {
  if (!x) return NULL;
  if (x->ndim == 0) return uop_const(x->ctx, POLY_INT32, 0);
  uint32_t mask = 1u << axis;
  if (!has_elements(op == OP_MAX ? "argmax" : "argmin", x, mask)) return NULL;
  UOp *hit = t_equal(x, uop_reduce(op, x, mask));
  if (dtype_is_float(type_of(x))) hit = t_or(hit, t_isnan(x));
  UOp *place = t_iota_axis(x->ctx, POLY_INT32, x->shape[axis], x->ndim, axis);
  UOp *none = uop_const(x->ctx, POLY_INT32, INT32_MAX);
  return t_reduce(OP_MIN, t_where(hit, place, none), mask, keepdim);
}

UOp *t_argmax(UOp *x, int axis, bool keepdim) { return arg_extreme(OP_MAX, x, axis, keepdim); }

UOp *t_argmin(UOp *x, int axis, bool keepdim) { return arg_extreme(OP_MIN, x, axis, keepdim); }

static UOp *arg_public(Op op, UOp *x, int axis, bool keepdim) {
  if (axis != POLY_ALL_AXES) return shape_axis(x->ctx, axis, x->ndim, &axis) ? arg_extreme(op, x, axis, keepdim) : NULL;
  UOp *y = arg_extreme(op, t_flatten(x), 0, false);
  UOp *ones[MAX_DIMS];
  for (int d = 0; d < x->ndim; d++) ones[d] = uop_index(x->ctx, 1);
  return keepdim ? uop_reshape(y, x->ndim, ones) : y;
}

/* ---- running reductions ----
 *
 * LIBRARY "scan": n is the op (OP_ADD, OP_MUL, OP_MAX, OP_MIN), one value source, the same shape and dtype, along the
 * last axis: y[i] = x[0] op ... op x[i]; MAX and MIN keep a NaN from where it appears.
 *
 * LIBRARY "recurrence": two float sources a and b of one shape and dtype, along the last axis: y[0] = b[0], y[i] =
 * a[i] y[i-1] + b[i]. Gradients of running products are made of it. */

UOp *t_scan(Op op, UOp *x, int axis) {
  if (!x || x->ndim == 0 || uop_is_int(x->shape[axis], 1)) return x;
  int last = x->ndim - 1;
  PolyDType d = type_of(x), acc = d == POLY_BOOL ? POLY_UINT8 : t_wide_dtype(d);
  UOp *v = t_move_axis(uop_cast(x, acc), axis, last);
  UOp *y = v ? uop_library(v->ctx, "scan", op, acc, 1, &v, v->ndim, v->shape) : NULL;
  return t_cast(t_move_axis(y, last, axis), d);
}

UOp *t_recurrence(UOp *a, UOp *b) {
  if (!a || !b) return NULL;
  PolyDType d = type_of(b), acc = t_wide_dtype(d);
  UOp *v[] = {uop_cast(a, acc), uop_cast(b, acc)};
  UOp *y = v[0] && v[1] ? uop_library(b->ctx, "recurrence", 0, acc, 2, v, b->ndim, b->shape) : NULL;
  return uop_cast(y, d);
}

static UOp *cumsum(UOp *x, int axis) {
  PolyDType d = type_of(x);
  UOp *y = t_scan(OP_ADD, uop_cast(x, dtype_sum(d)), axis);
  return is_half(d) ? uop_cast(y, d) : y;
}

static UOp *cumprod(UOp *x, int axis) { return t_scan(x->dtype == POLY_BOOL ? OP_MIN : OP_MUL, x, axis); }
static UOp *cummax(UOp *x, int axis) { return t_scan(OP_MAX, x, axis); }
static UOp *cummin(UOp *x, int axis) { return t_scan(OP_MIN, x, axis); }

/* log(exp(a) + exp(b)): the larger one plus softplus(smaller - larger). An infinite one is not subtracted. Where
 * either is NaN, so are the derivatives by both. */
static UOp *log_add_exp(UOp *a, UOp *b) {
  UOp *less = t_less(a, b);
  UOp *high = t_where(less, b, a), *low = t_where(less, a, b);
  UOp *infinite = t_unary(POLY_ISINF, high), *zero = t_scalar_like(a, 0);
  UOp *never = t_where(t_isnan(low), uop_detach(low), t_scalar_like(a, -INFINITY));
  UOp *away = t_sub(t_where(infinite, zero, low), t_where(infinite, zero, high));
  UOp *y = t_add(high, t_softplus(t_where(infinite, never, away), 1)), *lost = t_or(t_isnan(a), t_isnan(b));
  UOp *product = t_mul(t_where(lost, a, zero), t_where(lost, b, zero));
  return t_where(lost, t_mulc(product, NAN), y);
}

static UOp *logaddexp(UOp *a, UOp *b) {
  if (!a || !b) return NULL;
  PolyDType d = t_float_dtype(a->ctx, dtype_promote(type_of(a), type_of(b)));
  a = t_cast(a, t_wide_dtype(d));
  b = t_cast(b, t_wide_dtype(d));
  return t_match(&a, &b) ? uop_cast(log_add_exp(a, b), d) : NULL;
}

PolyTensor *poly_logaddexp(PolyTensor *a, PolyTensor *b) {
  if (!a || !b) return NULL;
  UOp *x[] = {a->uop, b->uop};
  TENSOR_RETURN(a->ctx, t_meet(a->ctx, 2, x, true) ? logaddexp(x[0], x[1]) : NULL);
}

/* x moved `by` places to the right along the last axis, -inf coming in. */
static UOp *shifted(UOp *x, int64_t by) {
  UOp *zero = uop_index(x->ctx, 0), *begin[MAX_DIMS], *end[MAX_DIMS], *pad[MAX_DIMS];
  for (int d = 0; d < x->ndim; d++) {
    begin[d] = pad[d] = zero;
    end[d] = x->shape[d];
  }
  int last = x->ndim - 1;
  UOp *step = int_min(uop_index(x->ctx, by), x->shape[last]);
  end[last] = int_sub(x->shape[last], step);
  UOp *cut = uop_shrink(x, begin, end);
  pad[last] = step;
  UOp *place = t_iota_axis(x->ctx, POLY_INT64, x->shape[last], x->ndim, last);
  UOp *before = t_less(place, t_size_value(step, POLY_INT64));
  return t_where(before, t_scalar_like(x, -INFINITY), uop_pad(cut, pad, begin));
}

/* Doubling: after step k each place holds the sum of the 2^k places up to it. O(n log n), exact at any range of values,
 * and every step is differentiable. Each step is stored, or the work would double with it as well. */
static UOp *logcumsumexp(UOp *x, int axis) {
  PolyDType d = t_float_dtype(x->ctx, type_of(x));
  x = widen(x);
  if (!x || x->ndim == 0) return uop_cast(x, d);
  int last = x->ndim - 1;
  UOp *y = t_move_axis(x, axis, last);
  for (int64_t by = 1; y && by < y->shape[last]->vmax; by *= 2) y = uop_contiguous(log_add_exp(y, shifted(y, by)), 0);
  return uop_cast(t_move_axis(y, last, axis), d);
}

/* ---- public ---- */

/* The axes as bits, then f(u, mask, keepdim, more). */
#define REDUCTION(name, params, call)                                                                                  \
  PolyTensor *name params {                                                                                            \
    uint32_t mask;                                                                                                     \
    if (!x || !t_axes_mask(x->ctx, naxis, axes, x->uop->ndim, &mask)) return NULL;                                     \
    TENSOR_RETURN(x->ctx, call);                                                                                       \
  }
#define AXES PolyTensor *x, int naxis, const int *axes, bool keepdim
REDUCTION(poly_sum, (AXES), t_sum(x->uop, mask, keepdim))
REDUCTION(poly_sum_dtype, (AXES, PolyDType dtype), t_sum_dtype(x->uop, mask, keepdim, dtype))
REDUCTION(poly_prod, (AXES), t_prod(x->uop, mask, keepdim))
REDUCTION(poly_max, (AXES), t_max(x->uop, mask, keepdim))
REDUCTION(poly_min, (AXES), t_min(x->uop, mask, keepdim))
REDUCTION(poly_extremum_first, (AXES, bool smallest), first_extremum(x->uop, mask, keepdim, smallest))
REDUCTION(poly_mean, (AXES), t_mean(x->uop, mask, keepdim))
REDUCTION(poly_var, (AXES, double correction), var(x->uop, mask, keepdim, correction))
REDUCTION(poly_std, (AXES, double correction), std(x->uop, mask, keepdim, correction))
REDUCTION(poly_norm, (AXES, double p), norm(x->uop, mask, keepdim, p))
REDUCTION(poly_any, (AXES), t_any(x->uop, mask, keepdim))
REDUCTION(poly_all, (AXES), t_all(x->uop, mask, keepdim))
REDUCTION(poly_logsumexp, (AXES), t_logsumexp(x->uop, mask, keepdim))

/* One axis, normalised, then f(u, axis). */
#define ALONG(name, f)                                                                                                 \
  PolyTensor *name(PolyTensor *x, int axis) {                                                                          \
    if (!x || !shape_axis(x->ctx, axis, x->uop->ndim, &axis)) return NULL;                                             \
    TENSOR_RETURN(x->ctx, f(x->uop, axis));                                                                            \
  }
ALONG(poly_softmax, t_softmax)
ALONG(poly_log_softmax, t_log_softmax)
ALONG(poly_cumsum, cumsum)
ALONG(poly_cumprod, cumprod)
ALONG(poly_cummax, cummax)
ALONG(poly_cummin, cummin)
ALONG(poly_logcumsumexp, logcumsumexp)

PolyTensor *poly_argmax(PolyTensor *x, int axis, bool keepdim) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, arg_public(OP_MAX, x->uop, axis, keepdim));
}

PolyTensor *poly_argmin(PolyTensor *x, int axis, bool keepdim) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, arg_public(OP_MIN, x->uop, axis, keepdim));
}
