/* move_ops.c: movement on UOps: reshape with an inferred size, slices, padding, repetition, windows.
 *
 * Everything here is a composition of the six movement ops, so nothing is computed and gradients need no rule of their
 * own. Sizes are integer UOps: where a sign or an order cannot be known (a symbolic size), min and max are built
 * instead of a decision. */
#include "tensor/shape_ops.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- sizes ---- */

UOp *t_dim(PolyContext *ctx, int64_t d) { return poly_dim_is_symbolic(d) ? dim_from_api(ctx, d) : uop_index(ctx, d); }

bool t_known(const UOp *size, int64_t *value) {
  if (!size || size->op != OP_CONST) return false;
  *value = const_int(size);
  return true;
}

bool t_holds(const UOp *condition) {
  int64_t v;
  return t_known(condition, &v) && v != 0;
}

UOp *t_int_ceildiv(UOp *a, UOp *b) { return int_div(int_add(a, int_addc(b, -1)), b); }

PolyDType t_index_dtype(const UOp *size) {
  return size && size->vmin >= INT32_MIN && size->vmax <= INT32_MAX ? POLY_INT32 : POLY_INT64;
}

UOp *t_index_cast(UOp *index, const UOp *size) {
  if (!index) return NULL;
  if (!dtype_is_int((PolyDType)index->dtype)) {
    base_fail(ctx_base(index->ctx), POLY_ERROR_TYPE, "an index must hold integers, not %s",
              dtype_name((PolyDType)index->dtype));
    return NULL;
  }
  /* uint32 and wider must not wrap into the range of valid indices */
  bool wide = dtype_size((PolyDType)index->dtype) == 8 || index->dtype == POLY_UINT32;
  return uop_cast(index, wide ? POLY_INT64 : t_index_dtype(size));
}

static UOp *zero(const UOp *x) { return uop_index(x->ctx, 0); }
static UOp *one(const UOp *x) { return uop_index(x->ctx, 1); }

bool t_real_axis(const UOp *x, int axis, int *out) {
  if (x->ndim) return shape_axis(x->ctx, axis, x->ndim, out);
  return base_fail(ctx_base(x->ctx), POLY_ERROR_INDEX, "axis %d is out of range for a tensor of 0 dimensions", axis);
}

/* ---- reshape ---- */

const char *t_dims_text(int ndim, UOp *const *dims, char *buf, size_t n) {
  char size[64];
  size_t used = (size_t)snprintf(buf, n, "(");
  for (int k = 0; k < ndim && used + 4 < n; k++)
    used += (size_t)snprintf(buf + used, n - used, "%s%s", k ? ", " : "",
                             dims[k] ? dim_text(dims[k], size, sizeof(size)) : "-1");
  if (used + 4 < n) snprintf(buf + used, n - used, ndim == 1 ? ",)" : ")");
  return buf;
}

static void *fail_reshape(UOp *x, int ndim, UOp *const *shape) {
  char from[256], to[256], count[64] = "?";
  UOp *total = uop_numel(x);
  if (total) dim_text(total, count, sizeof(count));
  return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "cannot reshape %s (%s elements) into %s",
                   shape_text(x, from, sizeof(from)), count, t_dims_text(ndim, shape, to, sizeof(to)));
}

UOp *t_reshape(UOp *x, int ndim, UOp *const *shape) {
  if (!x) return NULL;
  if (ndim > MAX_DIMS)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "a tensor has at most %d axes, not %d", MAX_DIMS, ndim);
  UOp *dims[MAX_DIMS], *known = one(x), *total = uop_numel(x);
  int hole = -1;
  int64_t a, b;
  for (int k = 0; k < ndim; k++) {
    dims[k] = shape[k];
    if (shape[k]) {
      known = int_mul(known, shape[k]);
      if (shape[k]->vmin < 0) return fail_reshape(x, ndim, shape);
    } else if (hole >= 0) {
      return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "only one size of a reshape may be -1");
    } else {
      hole = k;
    }
  }
  if (hole >= 0) {
    if (t_known(known, &b) && b == 0) return fail_reshape(x, ndim, shape);
    dims[hole] = int_div(total, known);
    known = int_mul(known, dims[hole]);
  }
  if (!known || !total) return NULL;
  if (known != total && t_known(known, &a) && t_known(total, &b) && a != b) return fail_reshape(x, ndim, shape);
  return uop_reshape(x, ndim, dims);
}

UOp *t_merge_axes(UOp *x, int first, int last) {
  if (!x) return NULL;
  UOp *dims[MAX_DIMS], *size = one(x);
  int n = 0;
  for (int k = 0; k < x->ndim; k++) {
    if (k < first || k > last) {
      dims[n++] = x->shape[k];
      continue;
    }
    size = int_mul(size, x->shape[k]);
    if (k == last) dims[n++] = size;
  }
  return uop_reshape(x, n, dims);
}

UOp *t_split_axis(UOp *x, int axis, UOp *outer, UOp *inner) {
  if (!x || !outer || !inner) return NULL;
  if (x->ndim + 1 > MAX_DIMS)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "this needs more than %d axes", MAX_DIMS);
  UOp *dims[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) dims[k + (k > axis)] = x->shape[k];
  dims[axis] = outer;
  dims[axis + 1] = inner;
  return uop_reshape(x, x->ndim + 1, dims);
}

/* ---- slices ---- */

UOp *t_extend(UOp *x, int axis, UOp *before, UOp *after) {
  if (!x || !before || !after) return NULL;
  UOp *b[MAX_DIMS], *a[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) {
    b[k] = k == axis ? before : zero(x);
    a[k] = k == axis ? after : zero(x);
  }
  return uop_pad(x, b, a);
}

/* x with `more` zeros after it, unless `end` is known to lie inside it. */
static UOp *pad_tail(UOp *x, int axis, UOp *end, int64_t more) {
  int64_t e, n;
  if (t_known(end, &e) && t_known(x->shape[axis], &n) && e <= n) return x;
  return t_extend(x, axis, zero(x), uop_index(x->ctx, more));
}

UOp *t_slice(UOp *x, int axis, UOp *begin, UOp *end) {
  if (!x || !begin || !end) return NULL;
  UOp *b[MAX_DIMS], *e[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) {
    b[k] = k == axis ? begin : zero(x);
    e[k] = k == axis ? end : x->shape[k];
  }
  return uop_shrink(x, b, e);
}

/* [.. n ..] -> [.. count*step ..] -> [.. count, step ..] -> the first of each step. The last step may reach past the
 * end of x, by less than step; a constant size says whether it does. */
UOp *t_every(UOp *x, int axis, UOp *begin, UOp *count, int64_t step) {
  if (!x || !begin || !count) return NULL;
  PolyContext *ctx = x->ctx;
  UOp *end = int_add(begin, int_mulc(count, step));
  if (step == 1) return t_slice(x, axis, begin, end);
  x = t_slice(pad_tail(x, axis, end, step - 1), axis, begin, end);
  x = t_split_axis(x, axis, count, uop_index(ctx, step));
  x = t_slice(x, axis + 1, uop_index(ctx, 0), uop_index(ctx, 1));
  return t_drop_axes(x, 1u << (axis + 1));
}

/* ---- repetition ---- */

UOp *t_expand_axis(UOp *x, int axis, UOp *size) {
  if (!x || !size) return NULL;
  UOp *dims[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) dims[k] = k == axis ? size : x->shape[k];
  return uop_expand(x, dims);
}

UOp *t_repeat_axis(UOp *x, int axis, UOp *times) {
  if (!x || !times || uop_is_int(times, 1)) return times ? x : NULL;
  x = t_expand_axis(t_unsqueeze(x, axis), axis, times);
  return t_merge_axes(x, axis, axis + 1);
}

UOp *t_repeat_each(UOp *x, int axis, UOp *times) {
  if (!x || !times || uop_is_int(times, 1)) return times ? x : NULL;
  x = t_expand_axis(t_unsqueeze(x, axis + 1), axis + 1, times);
  return t_merge_axes(x, axis, axis + 1);
}

/* out[i] = x[(i - shift) mod n]: the end of x and the rest before it. */
UOp *t_roll(UOp *x, int axis, UOp *shift) {
  if (!x || !shift) return NULL;
  UOp *n = x->shape[axis];
  if (n->vmax == 0) return x;
  UOp *begin = int_sub(n, int_mod(shift, n));
  if (begin == n) return x;
  return t_cat(x->ctx, 2, (UOp *[]){t_slice(x, axis, begin, n), t_slice(x, axis, zero(x), begin)}, axis);
}

/* ---- padding ---- */

UOp *t_lowest(PolyContext *ctx, PolyDType dtype) {
  if (dtype_is_float(dtype)) return uop_const(ctx, dtype, dtype == POLY_FP8E4M3 ? -448 : -(double)INFINITY);
  if (dtype == POLY_BOOL || dtype_is_unsigned(dtype)) return uop_int_const(ctx, dtype, 0);
  return uop_int_const(ctx, dtype, -((int64_t)1 << (8 * dtype_size(dtype) - 2)) * 2);
}

static bool is_plain_zero(const UOp *fill) {
  if (!fill) return true;
  double v = const_float(fill);
  return v == 0 && !signbit(v);
}

UOp *t_pad(UOp *x, UOp *const *before, UOp *const *after, UOp *fill) {
  if (!x) return NULL;
  UOp *b[MAX_DIMS], *a[MAX_DIMS], *begin[MAX_DIMS], *end[MAX_DIMS], *none = zero(x);
  for (int k = 0; k < x->ndim; k++) {
    b[k] = int_max(before[k], none);
    a[k] = int_max(after[k], none);
    begin[k] = int_max(int_sub(none, before[k]), none);
    end[k] = int_sub(x->shape[k], int_max(int_sub(none, after[k]), none));
    if (!b[k] || !a[k] || !begin[k] || !end[k]) return NULL;
    if (begin[k]->vmin > end[k]->vmax) {
      char text[256];
      return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE,
                       "padding (%" PRId64 ", %" PRId64 ") of axis %d crops more than there is in %s", before[k]->vmin,
                       after[k]->vmin, k, shape_text(x, text, sizeof(text)));
    }
  }
  UOp *cropped = uop_shrink(x, begin, end), *padded = uop_pad(cropped, b, a);
  if (!padded || padded == cropped || is_plain_zero(fill)) return padded;
  UOp *inside = uop_spread(uop_int_const(x->ctx, POLY_BOOL, 1), cropped->ndim, cropped->shape);
  return uop_where(uop_pad(inside, b, a), padded, fill);
}

UOp *t_pad_axis(UOp *x, int axis, UOp *before, UOp *after, UOp *fill) {
  if (!x || !before || !after) return NULL;
  UOp *b[MAX_DIMS], *a[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) {
    b[k] = k == axis ? before : zero(x);
    a[k] = k == axis ? after : zero(x);
  }
  return t_pad(x, b, a, fill);
}

/* ---- windows and diagonals ---- */

/* Windows that do not overlap: [count*step] -> [count, step] -> [count, size]. */
static UOp *windows_apart(UOp *x, int axis, UOp *count, int64_t size, int64_t step) {
  PolyContext *ctx = x->ctx;
  UOp *none = zero(x), *end = int_mulc(count, step);
  x = t_slice(pad_tail(x, axis, end, step - size), axis, none, end);
  x = t_split_axis(x, axis, count, uop_index(ctx, step));
  return t_slice(x, axis + 1, none, uop_index(ctx, size));
}

/* Windows that overlap. x repeated and cut into rows of n + dilation elements: row j starts dilation elements later
 * than row j-1, so that element t of row j is x[t + j*dilation]; then every step-th t. */
static UOp *windows_overlapping(UOp *x, int axis, UOp *count, int64_t size, int64_t step, int64_t dilation) {
  PolyContext *ctx = x->ctx;
  UOp *n = x->shape[axis], *none = zero(x), *row = int_addc(n, dilation), *total = int_mulc(row, size);
  int64_t least = MAX(n->vmin, 1), times = size + (size * dilation + least - 1) / least;
  x = t_repeat_axis(x, axis, uop_index(ctx, times));
  x = t_slice(x, axis, none, total);
  x = t_split_axis(x, axis, uop_index(ctx, size), row);
  return t_transpose(t_every(x, axis + 1, none, count, step), axis, axis + 1);
}

UOp *t_windows(UOp *x, int axis, int64_t size, int64_t step, int64_t dilation) {
  if (!x) return NULL;
  UOp *n = x->shape[axis];
  bool whole = size >= 1 && step >= 1 && dilation >= 1 && size - 1 <= n->vmax && dilation <= n->vmax + 1;
  int64_t span = whole && !__builtin_mul_overflow(dilation, size - 1, &span) ? span + 1 : INT64_MAX;
  if (!whole || n->vmax < span) {
    char text[256];
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE,
                     "windows of %" PRId64 " elements (step %" PRId64 ", dilation %" PRId64
                     ") do not fit axis %d of %s",
                     size, step, dilation, axis, shape_text(x, text, sizeof(text)));
  }
  UOp *count = int_addc(int_div(int_addc(n, -span), uop_index(x->ctx, step)), 1);
  if (count && count->vmin < 0) count = int_max(count, zero(x)); /* a symbolic size that may be too small: no windows */
  if (!count) return NULL;
  if (dilation == 1 && size <= step) return windows_apart(x, axis, count, size, step);
  UOp *of[] = {x, uop_index(x->ctx, step), uop_index(x->ctx, dilation)};
  UOp *value = windows_overlapping(x, axis, count, size, step, dilation);
  return value ? uop_function(FUNCTION_WINDOWS, axis, value, 3, of) : NULL;
}

UOp *t_insert_zeros(UOp *x, int axis, int64_t step) {
  if (!x || step == 1) return x;
  UOp *n = x->shape[axis];
  x = t_extend(t_unsqueeze(x, axis + 1), axis + 1, zero(x), uop_index(x->ctx, step - 1));
  return x ? t_slice(t_merge_axes(x, axis, axis + 1), axis, zero(x), int_addc(int_mulc(n, step), 1 - step)) : NULL;
}

/* [.. rows + (count-1)*dilation, count ..] -> [.. rows, count ..]: element (i, j) is x[i + j*dilation, j]. The
 * transpose as one axis, with some more behind it, is cut into rows that are longer by dilation: row j starts
 * j*dilation later. */
static UOp *diagonals(UOp *x, int axis, UOp *rows, int64_t count, int64_t dilation) {
  if (!x) return NULL;
  UOp *size = uop_index(x->ctx, count), *width = int_addc(x->shape[axis], dilation);
  x = t_merge_axes(t_transpose(x, axis, axis + 1), axis, axis + 1);
  x = x ? t_extend(x, axis, zero(x), uop_index(x->ctx, count * dilation)) : NULL;
  x = t_split_axis(x, axis, size, width);
  return x ? t_transpose(t_slice(x, axis + 1, zero(x), rows), axis, axis + 1) : NULL;
}

/* Element (o, k) came from i = o*step + k*dilation. With dilation 1, i = q*step + r got those of k = a*step + r from
 * o = q - a; without a step, those of all k from o = i - k*dilation. Each is a sum along diagonals. Windows that have
 * both get zeros between them. */
UOp *t_windows_gradient(UOp *g, int axis, UOp *n, int64_t step, int64_t dilation) {
  int64_t size;
  if (!g || !n || !t_known(g->shape[axis + 1], &size)) return NULL;
  if (step > 1 && dilation > 1) return t_windows_gradient(t_insert_zeros(g, axis, step), axis, n, 1, dilation);
  int64_t count = (size + step - 1) / step, reach = (count - 1) * dilation;
  UOp *parts = uop_index(g->ctx, count), *every = uop_index(g->ctx, step), *rows = t_int_ceildiv(n, every);
  UOp *behind = rows ? int_sub(rows, g->shape[axis]) : NULL;
  g = t_extend(g, axis + 1, zero(g), uop_index(g->ctx, count * step - size));
  g = t_split_axis(g, axis + 1, parts, every); /* [.. windows, parts, step ..] */
  g = g ? t_extend(uop_flip(g, 1u << (axis + 1)), axis, uop_index(g->ctx, reach), behind) : NULL;
  g = diagonals(g, axis, rows, count, dilation);
  g = g ? uop_reduce(OP_ADD, g, 1u << (axis + 1)) : NULL;
  g = t_merge_axes(t_drop_axes(g, 1u << (axis + 1)), axis, axis + 1);
  return g ? t_slice(g, axis, zero(g), n) : NULL;
}

/* [n, n] -> n*n -> pad to rows of n+1 -> the first column */
UOp *t_diagonal(UOp *x) {
  if (!x) return NULL;
  char text[256];
  if (x->ndim < 2 || x->shape[x->ndim - 1] != x->shape[x->ndim - 2])
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "a diagonal needs two equal last axes, not %s",
                     shape_text(x, text, sizeof(text)));
  PolyContext *ctx = x->ctx;
  int axis = x->ndim - 2;
  UOp *n = x->shape[axis], *none = zero(x);
  x = t_extend(t_merge_axes(x, axis, axis + 1), axis, none, n);
  x = t_split_axis(x, axis, n, int_addc(n, 1));
  return t_drop_axes(t_slice(x, axis + 1, none, uop_index(ctx, 1)), 1u << (axis + 1));
}

UOp *t_lower_mask(PolyContext *ctx, UOp *rows, UOp *cols, int64_t diagonal) {
  if (!rows || !cols) return NULL;
  bool small = t_index_dtype(rows) == POLY_INT32 && t_index_dtype(cols) == POLY_INT32 && diagonal >= INT32_MIN / 2 &&
               diagonal <= INT32_MAX / 2 && rows->vmax <= INT32_MAX / 2;
  PolyDType d = small ? POLY_INT32 : POLY_INT64;
  UOp *row = t_iota_axis(ctx, d, rows, 2, 0), *col = t_iota_axis(ctx, d, cols, 2, 1);
  return t_less_equal(col, uop_binary(OP_ADD, row, uop_int_const(ctx, d, diagonal)));
}
