/* scatter.c: reading and writing through integer tensors: gather, index_select, scatter and its reductions, index_add.
 *
 * All of it becomes GATHER (out = x[index]) and SEGMENT (out[v] = reduce of the e with index[e] == v), whose run-time
 * checks turn a bad index into an error. When the index is the same all over the other axes the work is done on whole
 * rows; else the tensors are flattened and every element has its own index. Cost O(x + index) either way.
 *
 * A plain write is a reduction too: the last writer of v is the MAX of the places e that write to v. */
#include "ir/select_rows.h"
#include "tensor/shape_ops.h"

#include <math.h>
#include <string.h>

/* ---- indices ---- */

UOp *t_wrap_index(UOp *index, UOp *size) {
  if (!index || !size || dtype_is_unsigned((PolyDType)index->dtype)) return t_index_cast(index, size);
  index = t_index_cast(index, size);
  if (!index) return NULL;
  UOp *from_end = t_add(index, t_size_value(size, (PolyDType)index->dtype)), *zero = t_int_like(index, 0);
  /* what lies before the beginning stays as it is, so that the error names it */
  return t_where(t_and(t_less(index, zero), t_less_equal(zero, from_end)), from_end, index);
}

/* index itself, read from 0, 1, 2 ... : an error names it and size if it lies outside. */
static UOp *checked(UOp *index, UOp *size) {
  return index && size ? uop_gather(uop_iota(index->ctx, (PolyDType)index->dtype, size), index) : NULL;
}

UOp *t_linear_index(int n, UOp *const *index, UOp *const *size) {
  if (n == 1) return index[0];
  UOp *sum = NULL, *stride = NULL;
  for (int k = n - 1; k >= 0; k--) {
    UOp *part = checked(index[k], size[k]);
    if (!part) return NULL;
    bool last = k == n - 1;
    UOp *step = last ? part : t_mul(part, t_size_value(stride, (PolyDType)part->dtype));
    sum = last ? step : t_add(sum, step);
    stride = last ? size[k] : int_mul(stride, size[k]);
    if (!sum || !stride) return NULL;
  }
  return sum;
}

/* The [E] index behind one that does not change along the axes other than `axis`, or NULL. */
static UOp *row_index(UOp *index, int axis) {
  UOp *u = index;
  if (u->op == OP_CAST) u = u->src[0];
  if (u->op == OP_EXPAND) u = u->src[0];
  for (int k = 0; k < u->ndim; k++)
    if (k == axis ? u->shape[k] != index->shape[k] : !uop_is_int(u->shape[k], 1)) return NULL;
  return uop_cast(t_reshape1(u, index->shape[axis]), (PolyDType)index->dtype);
}

/* For each element of index, the place of the element of x that it names: other axes count for themselves. */
static UOp *element_index(UOp *x, int axis, UOp *index) {
  index = t_index_cast(index, uop_numel(x));
  if (!index) return NULL;
  bool alone = true; /* is index the whole address? Then it is checked where it is used */
  for (int k = 0; k < x->ndim; k++)
    alone = alone && (k == axis || (uop_is_int(index->shape[k], 1) && uop_is_int(x->shape[k], 1)));
  if (alone) return index;
  PolyDType d = (PolyDType)index->dtype;
  UOp *inside = checked(index, x->shape[axis]), *stride = uop_index(x->ctx, 1), *sum = NULL;
  for (int k = x->ndim - 1; k >= 0 && stride && inside; k--) {
    if (k == axis || !uop_is_int(index->shape[k], 1)) { /* else it is always 0 */
      UOp *at = k == axis ? inside : t_iota_axis(x->ctx, d, index->shape[k], x->ndim, k);
      UOp *part = uop_is_int(stride, 1) ? at : t_mul(at, t_size_value(stride, d));
      sum = sum ? t_add(sum, part) : part;
      if (!sum) return NULL;
    }
    stride = int_mul(stride, x->shape[k]);
  }
  return stride ? sum : NULL;
}

/* Shapes of a gather or scatter: the same number of axes; apart from `axis`, index no larger than x. */
static bool check_index(const char *what, UOp *x, int axis, UOp *index) {
  bool ok = x->ndim == index->ndim;
  for (int k = 0; ok && k < x->ndim; k++) ok = k == axis || index->shape[k]->vmin <= x->shape[k]->vmax;
  if (!ok) uop_fail_shapes(what, x, index);
  return ok;
}

static bool same_but(const UOp *a, const UOp *b, int axis) {
  for (int k = 0; k < a->ndim; k++)
    if (k != axis && !size_same(a->shape[k], b->shape[k])) return false;
  return true;
}

/* ---- reading ---- */

UOp *t_take(UOp *x, int axis, UOp *index) {
  if (!x || !index) return NULL;
  index = t_index_cast(index, x->shape[axis]);
  UOp *rows = uop_select_rows(t_move_axis(x, axis, 0), index);
  if (!rows || axis == 0) return rows;
  int perm[MAX_DIMS], n = index->ndim;
  for (int k = 0; k < rows->ndim; k++) perm[k] = k < axis ? n + k : k < axis + n ? k - axis : k;
  return uop_permute(rows, perm);
}

UOp *t_gather_axis(UOp *x, int axis, UOp *index) {
  if (!x || !index || !check_index("gather", x, axis, index)) return NULL;
  if (x->ndim == 0) return t_drop_axes(t_gather_axis(t_flatten(x), 0, t_flatten(index)), 1);
  UOp *rows = same_but(x, index, axis) ? row_index(index, axis) : NULL;
  if (rows) return t_take(x, axis, rows);
  return uop_gather(t_flatten(x), element_index(x, axis, index));
}

/* ---- writing ---- */

/* x, index and src brought to [V, f...], [E], [E, f...], and how to get back. */
typedef struct Rows {
  UOp *x, *index, *src;
  UOp *whole; /* the original x */
  int axis;   /* of whole, moved to the front; -1: whole was flattened */
} Rows;

/* src cut down to index's shape; a single number is written everywhere. */
static UOp *fit_source(UOp *x, UOp *index, UOp *src) {
  src = t_cast(src, (PolyDType)x->dtype);
  if (!src) return NULL;
  if (src->ndim == 0) return uop_spread(src, index->ndim, index->shape);
  bool ok = src->ndim == index->ndim;
  for (int k = 0; ok && k < index->ndim; k++) ok = index->shape[k]->vmin <= src->shape[k]->vmax;
  if (!ok) {
    uop_fail_shapes("scatter: index and source", index, src);
    return NULL;
  }
  UOp *none[MAX_DIMS];
  for (int k = 0; k < index->ndim; k++) none[k] = uop_index(x->ctx, 0);
  return uop_shrink(src, none, index->shape);
}

static bool rows_of(UOp *x, int axis, UOp *index, UOp *src, Rows *r) {
  if (!x || !index || !src || !check_index("scatter: tensor and index", x, axis, index)) return false;
  src = fit_source(x, index, src);
  if (!src) return false;
  *r = (Rows){.whole = x, .axis = axis};
  UOp *rows = x->ndim && same_but(x, index, axis) ? row_index(index, axis) : NULL;
  if (rows) {
    r->x = t_move_axis(x, axis, 0);
    r->src = t_move_axis(src, axis, 0);
    r->index = t_index_cast(rows, x->shape[axis]);
  } else {
    r->axis = -1;
    r->x = t_flatten(x);
    r->src = t_flatten(src);
    r->index = x->ndim ? t_flatten(element_index(x, axis, index)) : t_flatten(t_index_cast(index, uop_numel(x)));
  }
  return r->x && r->src && r->index;
}

static UOp *rows_back(const Rows *r, UOp *out) {
  if (!out) return NULL;
  return r->axis < 0 ? uop_reshape(out, r->whole->ndim, r->whole->shape) : t_move_axis(out, 0, r->axis);
}

/* A vector [V] broadcast over the rows of x [V, f...]. */
static UOp *over_rows(UOp *v, UOp *x) {
  if (!v || !x) return NULL;
  UOp *dims[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) dims[k] = k ? uop_index(x->ctx, 1) : x->shape[0];
  return uop_expand(uop_reshape(v, x->ndim, dims), x->shape);
}

UOp *t_put_rows(UOp *x, UOp *index, UOp *src) {
  if (!x || !index || !src) return NULL;
  UOp *count = index->shape[0], *zero = uop_index(x->ctx, 0);
  if (count->vmax == 0) return x;
  PolyDType d = t_index_dtype(count);
  UOp *last = uop_segment(OP_MAX, uop_iota(x->ctx, d, count), index, x->shape[0]);
  if (!last) return NULL;
  /* with no rows at all there must still be one to read, though it is never chosen */
  if (count->vmin == 0) src = t_extend(src, 0, zero, uop_index(x->ctx, 1));
  UOp *rows = uop_gather(src, uop_binary(OP_MAX, last, t_int_like(last, 0)));
  return uop_where(over_rows(uop_binary(OP_CMPLE, t_int_like(last, 0), last), x), rows, x);
}

UOp *t_scatter(UOp *x, int axis, UOp *index, UOp *src) {
  Rows r;
  return rows_of(x, axis, index, src, &r) ? rows_back(&r, t_put_rows(r.x, r.index, r.src)) : NULL;
}

/* How many e write to each v, int32 or int64 [V]. */
static UOp *writers(UOp *index, UOp *size) {
  UOp *count = index->shape[0];
  UOp *ones = uop_spread(uop_int_const(index->ctx, t_index_dtype(count), 1), 1, &count);
  return uop_segment(OP_ADD, ones, index, size);
}

/* The dtype that a segment accumulates in. */
static PolyDType segment_dtype(PolyDType d) {
  if (dtype_is_small(d)) return POLY_FLOAT32;
  return d == POLY_BOOL ? POLY_INT32 : d;
}

static UOp *combine(Op op, UOp *x, UOp *index, UOp *src, bool include_self, bool mean) {
  PolyDType acc = segment_dtype((PolyDType)x->dtype);
  UOp *self = uop_cast(x, acc), *seg = uop_segment(op, uop_cast(src, acc), index, x->shape[0]);
  UOp *count = mean || !include_self ? writers(index, x->shape[0]) : NULL;
  UOp *out = include_self ? uop_binary(op, self, seg) : seg;
  if (include_self && (op == OP_MAX || op == OP_MIN) && dtype_is_float(acc))
    out = uop_function(FUNCTION_SCATTERED, op, out, 3, (UOp *[]){self, uop_cast(src, acc), index});
  if (mean) {
    UOp *n = include_self ? uop_binary(OP_ADD, count, t_int_like(count, 1))
                          : uop_binary(OP_MAX, count, t_int_like(count, 1));
    out = t_float(out);
    out = out ? uop_binary(OP_DIV, out, uop_cast(over_rows(n, x), (PolyDType)out->dtype)) : NULL;
    self = t_float(self);
  }
  if (!include_self) out = uop_where(over_rows(uop_binary(OP_CMPLT, t_int_like(count, 0), count), x), out, self);
  if (!out) return NULL;
  return mean && !dtype_is_float((PolyDType)x->dtype) ? out : t_cast(out, (PolyDType)x->dtype);
}

UOp *t_scatter_reduce(UOp *x, int axis, UOp *index, UOp *src, const char *reduce, bool include_self) {
  static const struct {
    const char *name;
    Op op;
  } table[] = {{"sum", OP_ADD}, {"prod", OP_MUL}, {"mean", OP_ADD}, {"amax", OP_MAX}, {"amin", OP_MIN}};
  Rows r;
  if (!x) return NULL;
  for (int k = 0; k < LEN(table); k++) {
    if (!reduce || strcmp(reduce, table[k].name) != 0) continue;
    if (!rows_of(x, axis, index, src, &r)) return NULL;
    return rows_back(&r, combine(table[k].op, r.x, r.index, r.src, include_self, strcmp(reduce, "mean") == 0));
  }
  return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "scatter_reduce: \"%s\" is not sum, prod, mean, amax or amin",
                   reduce ? reduce : "");
}

UOp *t_index_add(UOp *x, int axis, UOp *index, UOp *src) {
  if (!x || !index || !src) return NULL;
  bool ok = index->ndim == 1 && src->ndim == x->ndim && same_but(x, src, axis) &&
            size_same(src->shape[axis], index->shape[0]);
  if (!ok) {
    uop_fail_shapes("index_add: tensor and source", x, src);
    return NULL;
  }
  UOp *rows = t_move_axis(x, axis, 0), *at = t_index_cast(index, x->shape[axis]);
  src = t_move_axis(t_cast(src, (PolyDType)x->dtype), axis, 0);
  return rows && at && src ? t_move_axis(combine(OP_ADD, rows, at, src, true, false), 0, axis) : NULL;
}

/* ---- handles ---- */

/* Axis of a function where a 0-dim tensor counts as one of size 1. */
static bool axis_of(const UOp *x, int axis, int *at) { return shape_axis(x->ctx, axis, x->ndim ? x->ndim : 1, at); }

PolyTensor *poly_gather(PolyTensor *x, int axis, PolyTensor *index) {
  int at;
  if (!x || !index || !axis_of(x->uop, axis, &at)) return NULL;
  TENSOR_RETURN(x->ctx, t_gather_axis(x->uop, at, index->uop));
}

static UOp *index_select(UOp *x, int axis, UOp *index) {
  if (index->ndim > 1) {
    uop_fail_shapes("index_select: the index is not a vector; tensor and index", x, index);
    return NULL;
  }
  return t_take(x, axis, index->ndim ? index : t_flatten(index));
}

PolyTensor *poly_index_select(PolyTensor *x, int axis, PolyTensor *index) {
  int at;
  if (!x || !index || !t_real_axis(x->uop, axis, &at)) return NULL;
  TENSOR_RETURN(x->ctx, index_select(x->uop, at, index->uop));
}

PolyTensor *poly_scatter(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src) {
  int at;
  if (!x || !index || !src || !axis_of(x->uop, axis, &at)) return NULL;
  TENSOR_RETURN(x->ctx, t_scatter(x->uop, at, index->uop, src->uop));
}

PolyTensor *poly_scatter_reduce(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src, const char *reduce,
                                bool include_self) {
  int at;
  if (!x || !index || !src || !axis_of(x->uop, axis, &at)) return NULL;
  if (!reduce) return poly_scatter(x, axis, index, src);
  TENSOR_RETURN(x->ctx, t_scatter_reduce(x->uop, at, index->uop, src->uop, reduce, include_self));
}

PolyTensor *poly_index_add(PolyTensor *x, int axis, PolyTensor *index, PolyTensor *src) {
  int at;
  if (!x || !index || !src || !t_real_axis(x->uop, axis, &at)) return NULL;
  TENSOR_RETURN(x->ctx, t_index_add(x->uop, at, index->uop, src->uop));
}

static UOp *masked_fill(UOp *x, UOp *mask, double value) {
  bool whole = fabs(value) < 9e18 && value == floor(value);
  if (!dtype_is_float((PolyDType)x->dtype) && !whole) x = t_float(x); /* the number decides */
  return x ? t_where(t_bool(mask), t_scalar_like(x, value), x) : NULL;
}

PolyTensor *poly_masked_fill(PolyTensor *x, PolyTensor *mask, double value) {
  if (!x || !mask) return NULL;
  TENSOR_RETURN(x->ctx, masked_fill(x->uop, mask->uop, value));
}
