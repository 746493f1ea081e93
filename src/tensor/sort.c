/* sort.c: order and selection: sort, argsort, topk, kthvalue, searchsorted, bincount, nonzero, masked_select.
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

/* A routine that gives the places of `count` elements of each row along axis. */
static UOp *selected_places(UOp *x, int axis, const char *routine, int64_t n, UOp *count) {
  if (!x || !count) return NULL;
  if (x->ndim == 0) return uop_int_const(x->ctx, POLY_INT32, 0);
  int last = x->ndim - 1;
  UOp *key = uop_detach(t_move_axis(x, axis, last)), *dims[MAX_DIMS];
  if (!key) return NULL;
  for (int k = 0; k < last; k++) dims[k] = key->shape[k];
  dims[last] = count;
  return t_move_axis(uop_library(x->ctx, routine, n, POLY_INT32, 1, &key, key->ndim, dims), last, axis);
}

/* The places of the first k along axis, in order. A long part of an axis is as cheap to sort as to select. */
static UOp *topk_places(UOp *x, int axis, bool largest, UOp *k) {
  bool few = k->vmax <= 4096 || (x->ndim && k->vmax <= x->shape[axis]->vmin / 16);
  if (few || x->ndim == 0) return selected_places(x, axis, "topk", largest, k);
  return t_slice(t_argsort(x, axis, largest), axis, uop_index(x->ctx, 0), k);
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

/* No results yet, and the axis. */
static bool begin_picking(PolyTensor *x, int axis, PolyTensor **values, PolyTensor **indices, int *at) {
  if (values) *values = NULL;
  if (indices) *indices = NULL;
  return x && sort_axis(x, axis, at);
}

/* The places and the values there: both results, or neither. */
static PolyStatus picked(PolyTensor *x, int axis, UOp *order, PolyTensor **values, PolyTensor **indices) {
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
  if (!begin_picking(x, axis, values, indices, &at)) return x ? poly_error_code(x->ctx) : POLY_ERROR_VALUE;
  Scope s;
  scope_enter(x->ctx, &s);
  PolyStatus status = picked(x, at, t_argsort(x->uop, at, descending), values, indices);
  scope_leave(x->ctx, &s);
  return status;
}

PolyStatus poly_topk(PolyTensor *x, int64_t k, int axis, bool largest, bool sorted_order, PolyTensor **values,
                     PolyTensor **indices) {
  int at;
  (void)sorted_order; /* sorted satisfies "in any order" as well */
  if (!begin_picking(x, axis, values, indices, &at)) return x ? poly_error_code(x->ctx) : POLY_ERROR_VALUE;
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
    status = picked(x, at, topk_places(x->uop, at, largest, count), values, indices);
  }
  scope_leave(x->ctx, &s);
  return status;
}

PolyStatus poly_kthvalue(PolyTensor *x, int64_t k, int axis, PolyTensor **values, PolyTensor **indices) {
  int at;
  if (!begin_picking(x, axis, values, indices, &at)) return x ? poly_error_code(x->ctx) : POLY_ERROR_VALUE;
  Scope s;
  scope_enter(x->ctx, &s);
  int64_t most = x->uop->ndim ? x->uop->shape[at]->vmax : 1;
  char text[256];
  PolyStatus status;
  if (k < 1 || k > most) {
    base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "kthvalue: there is no element %" PRId64 " along axis %d of %s", k,
              at, shape_text(x->uop, text, sizeof(text)));
    status = poly_error_code(x->ctx);
  } else {
    status = picked(x, at, selected_places(x->uop, at, "kth", k, uop_index(x->ctx, 1)), values, indices);
  }
  scope_leave(x->ctx, &s);
  return status;
}

PolyStatus poly_median(PolyTensor *x, int axis, bool numbers, PolyTensor **values, PolyTensor **indices) {
  int at;
  if (!begin_picking(x, axis, values, indices, &at)) return x ? poly_error_code(x->ctx) : POLY_ERROR_VALUE;
  Scope s;
  scope_enter(x->ctx, &s);
  UOp *place = selected_places(x->uop, at, "median", numbers, uop_index(x->ctx, 1));
  PolyStatus status = picked(x, at, place, values, indices);
  scope_leave(x->ctx, &s);
  return status;
}

/* ---- where values belong, how often they occur ---- */

static UOp *searchsorted(UOp *sorted, UOp *values, bool right) {
  bool ok = sorted->ndim >= 1 && (sorted->ndim == 1 || sorted->ndim == values->ndim);
  for (int k = 0; ok && sorted->ndim > 1 && k < sorted->ndim - 1; k++) ok = sorted->shape[k] == values->shape[k];
  if (!ok) {
    uop_fail_shapes("searchsorted: sorted rows and values", sorted, values);
    return NULL;
  }
  PolyDType d = poly_promote((PolyDType)sorted->dtype, (PolyDType)values->dtype);
  UOp *both[] = {uop_detach(uop_cast(sorted, d)), uop_detach(uop_cast(values, d))};
  PolyDType place = t_index_dtype(sorted->shape[sorted->ndim - 1]);
  return uop_library(sorted->ctx, "searchsorted", right, place, 2, both, values->ndim, values->shape);
}

PolyTensor *poly_searchsorted(PolyTensor *sorted, PolyTensor *values, bool right) {
  if (!sorted || !values) return NULL;
  TENSOR_RETURN(sorted->ctx, searchsorted(sorted->uop, values->uop, right));
}

static UOp *bincount(UOp *x, int64_t size) {
  UOp *n = t_dim(x->ctx, size), *flat = t_flatten(x);
  if (!n || !flat) return NULL;
  if (!dtype_is_int((PolyDType)x->dtype))
    return fail_null(ctx_base(x->ctx), POLY_ERROR_TYPE, "bincount: %s are no whole numbers",
                     dtype_name((PolyDType)x->dtype));
  return uop_library(x->ctx, "bincount", 0, POLY_INT64, 1, &flat, 1, &n);
}

PolyTensor *poly_bincount(PolyTensor *x, int64_t size) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, bincount(x->uop, size));
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
