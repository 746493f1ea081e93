/* create.c: tensors that need no memory to begin with: constants, sequences, and copies that only mark a node
 * (contiguous, clone, detach). In: sizes as the API gives them, plain or symbolic. Out: lazy nodes. */
#include "tensor/tensor.h"

#include <math.h>

/* ---- constants ---- */

UOp *t_full(PolyContext *ctx, PolyDType dtype, double value, int ndim, UOp *const *shape) {
  return uop_spread(uop_const(ctx, dtype, value), ndim, shape);
}

/* A constant of any dtype, spread to sizes of the API. */
static UOp *spread_api(UOp *value, int ndim, const int64_t *dims) {
  UOp *shape[MAX_DIMS];
  return value && t_shape_from_api(value->ctx, ndim, dims, shape) ? uop_spread(value, ndim, shape) : NULL;
}

static bool is_dtype(PolyContext *ctx, PolyDType d) {
  return (unsigned)d < POLY_DTYPE_COUNT || base_fail(ctx_base(ctx), POLY_ERROR_TYPE, "%d is not a dtype", (int)d);
}

PolyTensor *poly_full(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double value) {
  if (!ctx || !is_dtype(ctx, dtype)) return NULL;
  TENSOR_RETURN(ctx, spread_api(uop_const(ctx, dtype, value), ndim, shape));
}

PolyTensor *poly_full_int(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, int64_t value) {
  if (!ctx || !is_dtype(ctx, dtype)) return NULL;
  TENSOR_RETURN(ctx, spread_api(uop_int_const(ctx, dtype, value), ndim, shape));
}

PolyTensor *poly_zeros(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  return poly_full(ctx, dtype, ndim, shape, 0);
}

PolyTensor *poly_ones(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  return poly_full(ctx, dtype, ndim, shape, 1);
}

PolyTensor *poly_scalar(PolyContext *ctx, PolyDType dtype, double value) {
  return poly_full(ctx, dtype, 0, NULL, value);
}

PolyTensor *poly_full_like(PolyTensor *t, double value) {
  if (!t) return NULL;
  TENSOR_RETURN(t->ctx, t_broadcast_like(t_scalar_like(t->uop, value), t->uop));
}

PolyTensor *poly_zeros_like(PolyTensor *t) { return poly_full_like(t, 0); }
PolyTensor *poly_ones_like(PolyTensor *t) { return poly_full_like(t, 1); }

PolyTensor *poly_empty_like(PolyTensor *t) {
  if (!t) return NULL;
  int64_t shape[MAX_DIMS];
  poly_shape(t, shape);
  return poly_empty(t->ctx, poly_dtype(t), poly_ndim(t), shape);
}

/* ---- sequences ---- */

/* IOTA in the narrowest index dtype that holds it, then converted: counting is integer work on every device. */
static UOp *count_up(PolyContext *ctx, PolyDType dtype, UOp *size) {
  if (!size) return NULL;
  PolyDType index = size->vmax <= INT32_MAX ? POLY_INT32 : POLY_INT64;
  return t_cast(uop_iota(ctx, index, size), dtype);
}

UOp *t_iota_axis(PolyContext *ctx, PolyDType dtype, UOp *size, int ndim, int axis) {
  UOp *shape[MAX_DIMS];
  for (int d = 0; d < ndim; d++) shape[d] = d == axis ? size : uop_index(ctx, 1);
  return uop_reshape(count_up(ctx, dtype, size), ndim, shape);
}

static bool is_whole(double v) { return fabs(v) < 0x1p53 && v == floor(v); }

/* Smallest and largest value of an integer dtype. */
static bool holds(PolyDType d, double v) {
  if (dtype_is_float(d)) return true;
  int bits = 8 * dtype_size(d);
  if (d == POLY_BOOL) return v >= 0 && v <= 1;
  if (dtype_is_unsigned(d)) return v >= 0 && v < ldexp(1, bits);
  return v >= -ldexp(1, bits - 1) && v < ldexp(1, bits - 1);
}

/* Whole numbers are computed as integers, others in float64 and rounded once. */
static UOp *arange(PolyContext *ctx, PolyDType dtype, double start, double stop, double step) {
  double n = ceil((stop - start) / step);
  if (!(n > 0)) n = 0;
  if (n > 0x1p53) return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "arange: %g elements are too many", n);
  if (n > 0 && (!holds(dtype, trunc(start)) || !holds(dtype, trunc(start + (n - 1) * step))))
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "arange: %g .. %g does not fit %s", start, stop,
                     dtype_name(dtype));
  UOp *size = uop_index(ctx, (int64_t)n);
  bool whole = is_whole(start) && is_whole(step) && is_whole(start + n * step);
  if (whole && start == 0 && step == 1) return count_up(ctx, dtype, size);
  bool narrow = fabs(start) + n * fabs(step) < 0x1p31;
  PolyDType acc = !whole ? POLY_FLOAT64 : narrow ? POLY_INT32 : POLY_INT64;
  return t_cast(t_addc(t_mulc(count_up(ctx, acc, size), step), start), dtype);
}

PolyTensor *poly_arange(PolyContext *ctx, PolyDType dtype, double start, double stop, double step) {
  if (!ctx || !is_dtype(ctx, dtype)) return NULL;
  if (step == 0 || !isfinite(start) || !isfinite(stop) || !isfinite(step))
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "arange from %g to %g in steps of %g has no end", start, stop,
                     step);
  TENSOR_RETURN(ctx, arange(ctx, dtype, start, stop, step));
}

static UOp *iota_public(PolyContext *ctx, PolyDType dtype, int64_t n) {
  UOp *size;
  return t_shape_from_api(ctx, 1, &n, &size) ? count_up(ctx, dtype, size) : NULL;
}

PolyTensor *poly_iota(PolyContext *ctx, PolyDType dtype, int64_t n) {
  if (!ctx || !is_dtype(ctx, dtype)) return NULL;
  TENSOR_RETURN(ctx, iota_public(ctx, dtype, n));
}

/* The last value is stop itself, whatever the steps add up to. */
static UOp *linspace(PolyContext *ctx, PolyDType dtype, double start, double stop, int64_t steps) {
  UOp *size;
  if (!t_shape_from_api(ctx, 1, &steps, &size)) return NULL;
  if (uop_is_int(size, 0) || uop_is_int(size, 1)) return t_full(ctx, dtype, start, 1, &size);
  UOp *k = count_up(ctx, POLY_FLOAT64, size), *last = t_size_value(int_addc(size, -1), POLY_FLOAT64);
  if (!last) return NULL;
  UOp *step = last->op == OP_CONST ? uop_const(ctx, POLY_FLOAT64, (stop - start) / const_float(last))
                                   : t_div(t_scalar_like(last, stop - start), t_maximum(last, t_scalar_like(last, 1)));
  UOp *line = t_addc(t_mul(k, step), start);
  UOp *at_end = t_and(t_equal(k, last), t_less(t_scalar_like(last, 0), k));
  return t_cast(t_where(at_end, t_scalar_like(line, stop), line), dtype);
}

PolyTensor *poly_linspace(PolyContext *ctx, PolyDType dtype, double start, double stop, int64_t steps) {
  if (!ctx || !is_dtype(ctx, dtype)) return NULL;
  if (dtype == POLY_BOOL) return fail_null(ctx_base(ctx), POLY_ERROR_TYPE, "linspace does not take bool");
  TENSOR_RETURN(ctx, linspace(ctx, dtype, start, stop, steps));
}

static UOp *eye(PolyContext *ctx, PolyDType dtype, int64_t n, int64_t m) {
  UOp *shape[2];
  if (!t_shape_from_api(ctx, 2, (int64_t[2]){n, m}, shape)) return NULL;
  UOp *row = t_iota_axis(ctx, POLY_INT64, shape[0], 2, 0), *col = t_iota_axis(ctx, POLY_INT64, shape[1], 2, 1);
  return t_cast(t_equal(row, col), dtype);
}

PolyTensor *poly_eye(PolyContext *ctx, PolyDType dtype, int64_t n, int64_t m) {
  if (!ctx || !is_dtype(ctx, dtype)) return NULL;
  TENSOR_RETURN(ctx, eye(ctx, dtype, n, m));
}

/* ---- marks ---- */

static UOp *contiguous(UOp *x) { return x->op == OP_BUFFER || x->op == OP_CONTIGUOUS ? x : uop_contiguous(x, 0); }

TENSOR_UNARY(poly_contiguous, contiguous(x->uop))
TENSOR_UNARY(poly_clone, uop_contiguous(x->uop, ctx_unique(x->ctx)))

PolyTensor *poly_detach(PolyTensor *x) {
  if (!x) return NULL;
  TENSOR_VIEW(x, uop_detach(x->uop));
}
