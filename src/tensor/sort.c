/* sort.c: order and selection: sort, argsort, topk, nonzero, masked_select.
 *
 * Sorting itself is a library routine that gives the order; values follow by GATHER, so gradients flow through it.
 * Functions whose size depends on values realize the count and then build with that size. */
#include "tensor/shape_ops.h"

#include <inttypes.h>

UOp *t_argsort(UOp *x, int axis, bool descending) {
  if (!x) return NULL;
  if (x->ndim == 0) return uop_int_const(x->ctx, POLY_INT32, 0);
  int last = x->ndim - 1;
  UOp *key = uop_detach(t_move_axis(x, axis, last));
  if (!key) return NULL;
  UOp *order = uop_library(x->ctx, "argsort", descending, POLY_INT32, 1, &key, key->ndim, key->shape);
  return t_move_axis(order, last, axis);
}

/* The order holds valid places, so no check of each axis is needed: row*n + place. */
UOp *t_sort_values(UOp *x, int axis, UOp *order) {
  if (!x || !order || x->ndim == 0) return order ? x : NULL;
  int last = x->ndim - 1;
  UOp *rows = t_move_axis(x, axis, last), *at = t_move_axis(order, axis, last);
  if (!rows || !at) return NULL;
  UOp *n = rows->shape[last], *count = uop_index(x->ctx, 1), *dims[MAX_DIMS];
  for (int k = 0; k < last; k++) {
    dims[k] = rows->shape[k];
    count = int_mul(count, dims[k]);
  }
  if (last > 0) {
    PolyDType d = t_index_dtype(uop_numel(rows));
    dims[last] = uop_index(x->ctx, 1);
    UOp *row = uop_reshape(uop_iota(x->ctx, d, count), last + 1, dims);
    at = t_add(t_mul(row, t_size_value(n, d)), uop_cast(at, d));
  }
  return t_move_axis(uop_gather(t_flatten(rows), at), last, axis);
}

/* ---- handles ---- */

static bool sort_axis(PolyTensor *x, int axis, int *at) {
  return shape_axis(x->ctx, axis, x->uop->ndim ? x->uop->ndim : 1, at);
}

PolyTensor *poly_argsort(PolyTensor *x, int axis, bool descending) {
  int at;
  if (!x || !sort_axis(x, axis, &at)) return NULL;
  TENSOR_RETURN(x->ctx, t_argsort(x->uop, at, descending));
}

/* Both results, or neither. */
static PolyStatus sorted(PolyTensor *x, int axis, bool descending, UOp *k, PolyTensor **values, PolyTensor **indices) {
  UOp *order = t_argsort(x->uop, axis, descending), *zero = uop_index(x->ctx, 0);
  if (k && x->uop->ndim) order = t_slice(order, axis, zero, k);
  if (indices) *indices = tensor_wrap(x->ctx, order);
  if (values) *values = tensor_wrap(x->ctx, t_sort_values(x->uop, axis, order));
  if ((!values || *values) && (!indices || *indices)) return POLY_OK;
  if (values) {
    poly_free(*values);
    *values = NULL;
  }
  if (indices) {
    poly_free(*indices);
    *indices = NULL;
  }
  return poly_error_code(x->ctx);
}

PolyStatus poly_sort(PolyTensor *x, int axis, bool descending, PolyTensor **values, PolyTensor **indices) {
  int at;
  if (values) *values = NULL;
  if (indices) *indices = NULL;
  if (!x) return POLY_ERROR_VALUE;
  if (!sort_axis(x, axis, &at)) return poly_error_code(x->ctx);
  Scope s;
  scope_enter(x->ctx, &s);
  PolyStatus status = sorted(x, at, descending, NULL, values, indices);
  scope_leave(x->ctx, &s);
  return status;
}

PolyStatus poly_topk(PolyTensor *x, int64_t k, int axis, bool largest, bool sorted_order, PolyTensor **values,
                     PolyTensor **indices) {
  int at;
  (void)sorted_order; /* sorted satisfies "in any order" as well */
  if (values) *values = NULL;
  if (indices) *indices = NULL;
  if (!x) return POLY_ERROR_VALUE;
  if (!sort_axis(x, axis, &at)) return poly_error_code(x->ctx);
  Scope s;
  scope_enter(x->ctx, &s);
  UOp *count = t_dim(x->ctx, k);
  int64_t most = x->uop->ndim ? x->uop->shape[at]->vmax : 1;
  PolyStatus status;
  char text[256];
  if (!count || count->vmin < 0 || count->vmin > most) {
    base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "topk: %" PRId64 " elements out of axis %d of %s", k, at,
              shape_text(x->uop, text, sizeof(text)));
    status = poly_error_code(x->ctx);
  } else {
    status = sorted(x, at, largest, count, values, indices);
  }
  scope_leave(x->ctx, &s);
  return status;
}

/* ---- what is not zero ---- */

/* Stores the mask and counts it. -1: an error was set. */
static int64_t count_true(PolyTensor *mask) {
  PolyContext *ctx = mask->ctx;
  PolyTensor *total = tensor_wrap(ctx, t_sum_dtype(mask->uop, 1, false, POLY_INT64));
  PolyTensor *both[] = {mask, total};
  int64_t n = -1;
  if (total && poly_realize_many(both, 2) == POLY_OK) n = poly_item_int(total);
  poly_free(total);
  return n;
}

UOp *t_nonzero_flat(UOp *mask) {
  if (!mask) return NULL;
  PolyContext *ctx = mask->ctx;
  UOp *flat = uop_detach(t_flatten(t_bool(mask)));
  if (!flat) return NULL;
  PolyDType d = t_index_dtype(flat->shape[0]);
  UOp *none = uop_index(ctx, 0);
  if (flat->shape[0]->vmax == 0) return uop_spread(uop_int_const(ctx, d, 0), 1, &none);
  PolyTensor *t = tensor_wrap(ctx, uop_contiguous(flat, 0));
  if (!t) return NULL;
  int64_t n = count_true(t);
  UOp *size = n >= 0 ? uop_index(ctx, n) : NULL, *stored = t->uop, *out = NULL;
  if (n == 0 && size) out = uop_spread(uop_int_const(ctx, d, 0), 1, &size);
  if (n > 0 && size) out = uop_library(ctx, "nonzero", 0, d, 1, &stored, 1, &size);
  poly_free(t);
  return out;
}

/* Places of the axes out of flat ones, [count, ndim]. */
static UOp *nonzero(UOp *x) {
  UOp *flat = t_nonzero_flat(x), *column[MAX_DIMS], *shape[2];
  if (!flat) return NULL;
  if (x->ndim == 0) {
    shape[0] = flat->shape[0];
    shape[1] = uop_index(x->ctx, 0);
    return uop_spread(uop_int_const(x->ctx, POLY_INT32, 0), 2, shape);
  }
  PolyDType d = (PolyDType)flat->dtype;
  for (int k = x->ndim - 1; k >= 0; k--) {
    UOp *size = t_broadcast_like(t_size_value(x->shape[k], d), flat);
    column[k] = uop_cast(k ? uop_binary(OP_MOD, flat, size) : flat, POLY_INT32);
    flat = uop_binary(OP_IDIV, flat, size);
  }
  return t_stack(x->ctx, x->ndim, column, 1);
}

TENSOR_UNARY(poly_nonzero, nonzero(x->uop))

static UOp *masked_select(UOp *x, UOp *mask) {
  UOp *both[] = {x, mask}, *shape[MAX_DIMS];
  int ndim;
  if (mask->dtype != POLY_BOOL)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_TYPE, "masked_select takes a bool mask, not %s",
                     dtype_name((PolyDType)mask->dtype));
  if (!t_broadcast_shapes(2, both, &ndim, shape)) return NULL;
  return uop_gather(t_flatten(t_broadcast(x, ndim, shape)), t_nonzero_flat(t_broadcast(mask, ndim, shape)));
}

PolyTensor *poly_masked_select(PolyTensor *x, PolyTensor *mask) {
  if (!x || !mask) return NULL;
  TENSOR_RETURN(x->ctx, masked_select(x->uop, mask->uop));
}
