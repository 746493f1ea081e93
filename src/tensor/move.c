/* move.c: the public movement functions: they read sizes and axes as the API gives them (negative axes, -1, codes of
 * symbolic sizes), check them, and build out of shape_ops.h. No values are computed but for one_hot's class count. */
#include "tensor/shape_ops.h"

#include <inttypes.h>
#include <math.h>

/* ---- reshape and its kin ---- */

/* Sizes with -1 as NULL. */
static bool dims_with_hole(PolyContext *ctx, int ndim, const int64_t *shape, UOp **dims) {
  if (ndim < 0 || ndim > MAX_DIMS)
    return base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "a tensor has at most %d axes, not %d", MAX_DIMS, ndim);
  for (int k = 0; k < ndim; k++) {
    dims[k] = shape[k] == -1 ? NULL : t_dim(ctx, shape[k]);
    if (!dims[k] && shape[k] != -1) return false;
  }
  return true;
}

static UOp *reshape(UOp *x, int ndim, const int64_t *shape) {
  UOp *dims[MAX_DIMS];
  return dims_with_hole(x->ctx, ndim, shape, dims) ? t_reshape(x, ndim, dims) : NULL;
}

PolyTensor *poly_reshape(PolyTensor *x, int ndim, const int64_t *shape) {
  if (!x) return NULL;
  TENSOR_VIEW(x, reshape(x->uop, ndim, shape));
}

static UOp *permute(UOp *x, int ndim, const int *order) {
  int perm[MAX_DIMS];
  uint32_t seen = 0;
  char text[256];
  bool ok = ndim == x->ndim;
  for (int k = 0; ok && k < ndim; k++) {
    if (!shape_axis(x->ctx, order[k], x->ndim, &perm[k])) return NULL;
    ok = !(seen >> perm[k] & 1);
    seen |= 1u << perm[k];
  }
  if (!ok)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "the %d axes given are no permutation of those of %s", ndim,
                     shape_text(x, text, sizeof(text)));
  return uop_permute(x, perm);
}

PolyTensor *poly_permute(PolyTensor *x, int ndim, const int *order) {
  if (!x) return NULL;
  TENSOR_VIEW(x, permute(x->uop, ndim, order));
}

static UOp *transpose(UOp *x, int a, int b) {
  int i, j;
  return shape_axis(x->ctx, a, x->ndim, &i) && shape_axis(x->ctx, b, x->ndim, &j) ? t_transpose(x, i, j) : NULL;
}

PolyTensor *poly_transpose(PolyTensor *x, int a, int b) {
  if (!x) return NULL;
  TENSOR_VIEW(x, transpose(x->uop, a, b));
}

static UOp *expand(UOp *x, int ndim, const int64_t *shape) {
  UOp *dims[MAX_DIMS], *given[MAX_DIMS];
  if (!dims_with_hole(x->ctx, ndim, shape, given)) return NULL;
  int lead = ndim - x->ndim;
  bool fits = lead >= 0;
  for (int k = 0; fits && k < ndim; k++) {
    UOp *own = k >= lead ? x->shape[k - lead] : NULL;
    dims[k] = given[k] ? given[k] : own;
    fits = dims[k] && dims[k]->vmin >= 0 && (!own || t_same_size(dims[k], own) || uop_is_int(own, 1));
  }
  if (fits) return t_broadcast(x, ndim, dims);
  char from[256], to[256];
  return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "cannot expand %s to %s", shape_text(x, from, sizeof(from)),
                   t_dims_text(ndim, given, to, sizeof(to)));
}

PolyTensor *poly_expand(PolyTensor *x, int ndim, const int64_t *shape) {
  if (!x) return NULL;
  TENSOR_VIEW(x, expand(x->uop, ndim, shape));
}

static UOp *squeeze(UOp *x, int axis) {
  uint32_t mask = 0;
  int at;
  if (axis == POLY_ALL_AXES) {
    for (int k = 0; k < x->ndim; k++) mask |= (uint32_t)uop_is_int(x->shape[k], 1) << k;
  } else {
    if (x->ndim == 0 && (axis == 0 || axis == -1)) return x;
    if (!shape_axis(x->ctx, axis, x->ndim, &at)) return NULL;
    if (uop_is_int(x->shape[at], 1)) mask = 1u << at;
  }
  return t_drop_axes(x, mask);
}

PolyTensor *poly_squeeze(PolyTensor *x, int axis) {
  if (!x) return NULL;
  TENSOR_VIEW(x, squeeze(x->uop, axis));
}

static UOp *unsqueeze(UOp *x, int axis) {
  int at;
  return shape_axis(x->ctx, axis, x->ndim + 1, &at) ? t_unsqueeze(x, at) : NULL;
}

PolyTensor *poly_unsqueeze(PolyTensor *x, int axis) {
  if (!x) return NULL;
  TENSOR_VIEW(x, unsqueeze(x->uop, axis));
}

static UOp *flatten(UOp *x, int first, int last) {
  int a, b;
  if (x->ndim == 0) x = t_flatten(x);
  if (!x || !shape_axis(x->ctx, first, x->ndim, &a) || !shape_axis(x->ctx, last, x->ndim, &b)) return NULL;
  if (a > b) return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "flatten: axis %d comes after axis %d", a, b);
  return t_merge_axes(x, a, b);
}

PolyTensor *poly_flatten(PolyTensor *x, int first, int last) {
  if (!x) return NULL;
  TENSOR_VIEW(x, flatten(x->uop, first, last));
}

static UOp *unflatten(UOp *x, int axis, int n, const int64_t *sizes) {
  int at, ndim = x->ndim - 1 + n;
  if (!t_real_axis(x, axis, &at)) return NULL;
  UOp *dims[MAX_DIMS], *part[MAX_DIMS];
  if (ndim > MAX_DIMS || n < 1)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "unflatten: %d sizes do not fit %d axes", n, MAX_DIMS);
  if (!dims_with_hole(x->ctx, n, sizes, part)) return NULL;
  for (int k = 0; k < at; k++) dims[k] = x->shape[k];
  for (int k = 0; k < n; k++) dims[at + k] = part[k];
  for (int k = at + 1; k < x->ndim; k++) dims[k - 1 + n] = x->shape[k];
  return t_reshape(x, ndim, dims);
}

PolyTensor *poly_unflatten(PolyTensor *x, int axis, int n, const int64_t *sizes) {
  if (!x) return NULL;
  TENSOR_VIEW(x, unflatten(x->uop, axis, n, sizes));
}

/* ---- shrink, pad, flip ---- */

static UOp *shrink(UOp *x, const int64_t *ranges) {
  UOp *begin[MAX_DIMS], *end[MAX_DIMS];
  char text[256];
  for (int k = 0; k < x->ndim; k++) {
    begin[k] = t_dim(x->ctx, ranges[2 * k]);
    end[k] = t_dim(x->ctx, ranges[2 * k + 1]);
    if (!begin[k] || !end[k]) return NULL;
    if (begin[k]->vmin < 0 || begin[k]->vmin > end[k]->vmax || end[k]->vmin > x->shape[k]->vmax)
      return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "cannot shrink axis %d of %s to %" PRId64 " .. %" PRId64, k,
                       shape_text(x, text, sizeof(text)), begin[k]->vmin, end[k]->vmax);
  }
  return uop_shrink(x, begin, end);
}

PolyTensor *poly_shrink(PolyTensor *x, const int64_t *ranges) {
  if (!x) return NULL;
  TENSOR_VIEW(x, shrink(x->uop, ranges));
}

static UOp *part(UOp *x, int axis, UOp *begin, UOp *end, bool flip) {
  return t_slice(flip ? uop_flip(x, 1u << axis) : x, axis, begin, end);
}

/* One axis of a reflected or replicated pad; before and after are not negative. A side of size 0 takes no part. */
static UOp *pad_mirrored(UOp *x, int axis, UOp *before, UOp *after, bool reflect) {
  if (!x || !before || !after) return NULL;
  UOp *n = x->shape[axis], *one = uop_index(x->ctx, 1), *piece[3];
  char text[256];
  int count = 0;
  if (MAX(before->vmin, after->vmin) >= (reflect ? n->vmax : n->vmax ? INT64_MAX : 1))
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE,
                     "padding (%" PRId64 ", %" PRId64 ") of axis %d is too much for %s", before->vmin, after->vmin,
                     axis, shape_text(x, text, sizeof(text)));
  UOp *from_end = int_addc(n, -1), *zero = uop_index(x->ctx, 0);
  if (before->vmax != 0)
    piece[count++] = reflect ? part(x, axis, int_sub(from_end, before), from_end, true)
                             : t_expand_axis(part(x, axis, zero, one, false), axis, before);
  piece[count++] = x;
  if (after->vmax != 0)
    piece[count++] = reflect ? part(x, axis, one, int_addc(after, 1), true)
                             : t_expand_axis(part(x, axis, from_end, n, false), axis, after);
  return t_cat(x->ctx, count, piece, axis);
}

/* x wrapped around itself: a slice of x written three times. */
static UOp *pad_circular(UOp *x, int axis, UOp *before, UOp *after) {
  if (!x || !before || !after) return NULL;
  UOp *n = x->shape[axis];
  char text[256];
  if (MAX(before->vmin, after->vmin) > n->vmax)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE,
                     "circular padding (%" PRId64 ", %" PRId64 ") of axis %d goes around %s more than once",
                     before->vmin, after->vmin, axis, shape_text(x, text, sizeof(text)));
  UOp *copies = t_repeat_axis(x, axis, uop_index(x->ctx, 3));
  return t_slice(copies, axis, int_sub(n, before), int_add(int_mulc(n, 2), after));
}

static UOp *pad(UOp *x, const int64_t *padding, PolyPadMode mode, double value) {
  UOp *before[MAX_DIMS], *after[MAX_DIMS], *none = uop_index(x->ctx, 0);
  for (int k = 0; k < x->ndim; k++) {
    before[k] = t_dim(x->ctx, padding[2 * k]);
    after[k] = t_dim(x->ctx, padding[2 * k + 1]);
    if (!before[k] || !after[k]) return NULL;
  }
  if (mode == POLY_PAD_CONSTANT) {
    UOp *fill = t_scalar_like(x, value);
    return fill ? t_pad(x, before, after, fill) : NULL;
  }
  UOp *crop_b[MAX_DIMS], *crop_a[MAX_DIMS];
  int ndim = x->ndim;
  for (int k = 0; k < ndim; k++) {
    crop_b[k] = int_min(before[k], none);
    crop_a[k] = int_min(after[k], none);
    before[k] = int_max(before[k], none);
    after[k] = int_max(after[k], none);
    if (!crop_b[k] || !crop_a[k]) return NULL;
  }
  /* wrapping sees what is left after cropping; mirrors see all */
  if (mode == POLY_PAD_CIRCULAR) x = t_pad(x, crop_b, crop_a, NULL);
  for (int k = 0; k < ndim && x; k++) {
    if (before[k] == none && after[k] == none) continue;
    x = mode == POLY_PAD_CIRCULAR ? pad_circular(x, k, before[k], after[k])
                                  : pad_mirrored(x, k, before[k], after[k], mode == POLY_PAD_REFLECT);
  }
  return mode == POLY_PAD_CIRCULAR ? x : t_pad(x, crop_b, crop_a, NULL);
}

PolyTensor *poly_pad(PolyTensor *x, const int64_t *padding, PolyPadMode mode, double value) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, pad(x->uop, padding, mode, value));
}

static UOp *flip(UOp *x, int naxis, const int *axes) {
  uint32_t mask = 0;
  if (naxis == 0 && axes) return x;
  return t_axes_mask(x->ctx, naxis, axes, x->ndim, &mask) ? uop_flip(x, mask) : NULL;
}

PolyTensor *poly_flip(PolyTensor *x, int naxis, const int *axes) {
  if (!x) return NULL;
  TENSOR_VIEW(x, flip(x->uop, naxis, axes));
}

/* ---- repetition ---- */

static UOp *repeat(UOp *x, int n, const int64_t *repeats) {
  char text[256];
  if (n < x->ndim || n > MAX_DIMS)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "repeat: %d counts do not fit %s", n,
                     shape_text(x, text, sizeof(text)));
  while (x && x->ndim < n) x = t_unsqueeze(x, 0);
  for (int k = 0; k < n && x; k++) {
    UOp *times = t_dim(x->ctx, repeats[k]);
    if (times && times->vmin < 0)
      return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "repeat: %" PRId64 " times", repeats[k]);
    x = t_repeat_axis(x, k, times);
  }
  return x;
}

PolyTensor *poly_repeat(PolyTensor *x, int n, const int64_t *repeats) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, repeat(x->uop, n, repeats));
}

static UOp *repeat_interleave(UOp *x, int64_t repeats, int axis) {
  int at = 0;
  if (axis == POLY_ALL_AXES || x->ndim == 0) x = t_flatten(x);
  if (!x || (axis != POLY_ALL_AXES && !shape_axis(x->ctx, axis, x->ndim, &at))) return NULL;
  UOp *times = t_dim(x->ctx, repeats);
  if (times && times->vmin < 0)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "repeat_interleave: %" PRId64 " times", repeats);
  return t_repeat_each(x, at, times);
}

PolyTensor *poly_repeat_interleave(PolyTensor *x, int64_t repeats, int axis) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, repeat_interleave(x->uop, repeats, axis));
}

static UOp *roll(UOp *x, int naxis, const int64_t *shifts, const int *axes) {
  if (!shifts) return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "poly_roll: argument shifts is NULL");
  if (!axes || naxis == 0) { /* over the flattened tensor */
    UOp *flat = t_roll(t_flatten(x), 0, t_dim(x->ctx, shifts[0]));
    return uop_reshape(flat, x->ndim, x->shape);
  }
  for (int k = 0; k < naxis && x; k++) {
    int at;
    if (!t_real_axis(x, axes[k], &at)) return NULL;
    x = t_roll(x, at, t_dim(x->ctx, shifts[k]));
  }
  return x;
}

PolyTensor *poly_roll(PolyTensor *x, int naxis, const int64_t *shifts, const int *axes) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, roll(x->uop, naxis, shifts, axes));
}

/* ---- triangles, diagonals, windows ---- */

static UOp *triangle(UOp *x, int64_t diagonal, bool lower) {
  char text[256];
  if (x->ndim < 2)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "a triangle needs at least two axes, not %s",
                     shape_text(x, text, sizeof(text)));
  UOp *zero = uop_int_const(x->ctx, (PolyDType)x->dtype, 0);
  UOp *mask = t_lower_mask(x->ctx, x->shape[x->ndim - 2], x->shape[x->ndim - 1], lower ? diagonal : diagonal - 1);
  mask = t_broadcast_like(mask, x);
  return lower ? uop_where(mask, x, zero) : uop_where(mask, zero, x);
}

PolyTensor *poly_tril(PolyTensor *x, int diagonal) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, triangle(x->uop, diagonal, true));
}

PolyTensor *poly_triu(PolyTensor *x, int diagonal) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, triangle(x->uop, diagonal, false));
}

/* [n] -> [n, 1] -> rows of n+1 -> cut to n*n -> [n, n] */
static UOp *diag(UOp *x) {
  char text[256];
  if (x->ndim != 1)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "diag takes a vector, not %s",
                     shape_text(x, text, sizeof(text)));
  UOp *n = x->shape[0], *none = uop_index(x->ctx, 0);
  x = t_extend(t_unsqueeze(x, 1), 1, none, n);
  x = t_slice(t_flatten(x), 0, none, int_mul(n, n));
  return t_split_axis(x, 0, n, n);
}

TENSOR_UNARY(poly_diag, diag(x->uop))

PolyTensor *poly_diagonal(PolyTensor *x) {
  if (!x) return NULL;
  TENSOR_VIEW(x, t_diagonal(x->uop));
}

/* Windows without elements start at each step-th place, the end of the axis among them. */
static UOp *windows_empty(UOp *x, int axis, int64_t step) {
  UOp *shape[MAX_DIMS + 1], *none = uop_index(x->ctx, 0);
  for (int k = 0; k < x->ndim; k++) shape[k] = x->shape[k];
  shape[axis] = int_addc(int_div(x->shape[axis], uop_index(x->ctx, step)), 1);
  shape[x->ndim] = none;
  return t_reshape(t_slice(x, axis, none, none), x->ndim + 1, shape);
}

static UOp *unfold(UOp *x, int axis, int64_t size, int64_t step) {
  int at, ndim = x->ndim;
  if (!t_real_axis(x, axis, &at)) return NULL;
  if (size == 0 && step >= 1) return windows_empty(x, at, step);
  return t_move_axis(t_windows(x, at, size, step, 1), at + 1, ndim);
}

PolyTensor *poly_unfold(PolyTensor *x, int axis, int64_t size, int64_t step) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, unfold(x->uop, axis, size, step));
}

/* ---- one_hot ---- */

/* The largest value plus one; realizes. -1: an error was set. */
static int64_t count_classes(PolyTensor *x) {
  if (x->uop->ndim > 0 && uop_numel_max(x->uop) == 0) {
    base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "one_hot of an empty tensor needs the number of classes");
    return -1;
  }
  PolyTensor *most = poly_max(x, 0, NULL, false);
  int64_t n = -1;
  if (most && poly_realize(most) == POLY_OK) n = poly_item_int(most) + 1;
  poly_free(most);
  return n < 0 ? -1 : n;
}

static UOp *one_hot(UOp *x, UOp *classes) {
  if (!classes) return NULL;
  UOp *wide = t_unsqueeze(x, x->ndim);
  UOp *label = t_iota_axis(x->ctx, t_index_dtype(classes), classes, x->ndim + 1, x->ndim);
  return uop_cast(t_equal(t_index_cast(wide, classes), label), POLY_INT32);
}

PolyTensor *poly_one_hot(PolyTensor *x, int64_t classes) {
  if (!x) return NULL;
  if (!dtype_is_int((PolyDType)x->uop->dtype))
    return fail_null(ctx_base(x->ctx), POLY_ERROR_TYPE, "one_hot takes integers, not %s",
                     dtype_name((PolyDType)x->uop->dtype));
  if (classes == -1 && (classes = count_classes(x)) < 0) return NULL;
  if (classes < 0 && !poly_dim_is_symbolic(classes))
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "one_hot: %" PRId64 " classes", classes);
  TENSOR_RETURN(x->ctx, one_hot(x->uop, t_dim(x->ctx, classes)));
}
