/* cat.c: joining tensors (cat, stack), taking them apart (split, chunk), and grids. */
#include "tensor/shape_ops.h"

/* Parts checked, cast to one dtype and without those of size 0. Returns how many are left, -1 on error. */
static int cat_prepare(int n, UOp *const *x, int axis, UOp **out) {
  int kept = 0;
  int64_t size;
  PolyDType dtype = (PolyDType)x[0]->dtype;
  for (int k = 0; k < n; k++) {
    bool fits = x[k]->ndim == x[0]->ndim;
    for (int d = 0; fits && d < x[0]->ndim; d++) fits = d == axis || size_same(x[k]->shape[d], x[0]->shape[d]);
    if (!fits) {
      uop_fail_shapes("cat", x[0], x[k]);
      return -1;
    }
    dtype = dtype_promote(dtype, (PolyDType)x[k]->dtype);
  }
  for (int k = 0; k < n; k++) {
    bool empty = t_known(x[k]->shape[axis], &size) && size == 0;
    if (empty && !(k == n - 1 && kept == 0)) continue;
    if (!(out[kept++] = uop_cast(x[k], dtype))) return -1;
  }
  return kept;
}

/* y, with the parts of size 0 that were left out of it: what they were computed from has a gradient, which is zero. */
static UOp *with_empty(UOp *y, int n, UOp *const *x, int axis) {
  int64_t size;
  for (int k = 0; y && k < n; k++) {
    bool empty = t_known(x[k]->shape[axis], &size) && size == 0, leaf = op_info[x[k]->op].cls == CLASS_LEAF;
    if (empty && !leaf && !x[k]->buffer && dtype_is_float((PolyDType)x[k]->dtype))
      y = uop_function(FUNCTION_APART, 0, y, 1, &x[k]);
  }
  return y;
}

UOp *t_cat(PolyContext *ctx, int n, UOp *const *x, int axis) {
  Base *b = ctx_base(ctx);
  if (n < 1) return fail_null(b, POLY_ERROR_VALUE, "cat needs at least one tensor");
  for (int k = 0; k < n; k++)
    if (!x[k]) return NULL;
  UOp **part = mem_new(b, (size_t)n * sizeof(*part)), *out = NULL;
  if (!part) return NULL;
  int left = cat_prepare(n, x, axis, part);
  while (left > 1) { /* long lists are joined in a tree */
    int groups = (left + UOP_MAX_PARTS - 1) / UOP_MAX_PARTS;
    for (int g = 0; g < groups; g++) {
      int first = g * UOP_MAX_PARTS;
      part[g] = uop_cat(MIN(UOP_MAX_PARTS, left - first), part + first, axis);
    }
    left = groups;
  }
  if (left == 1) out = with_empty(part[0], n, x, axis);
  mem_free(b, part, (size_t)n * sizeof(*part));
  return out;
}

UOp *t_stack(PolyContext *ctx, int n, UOp *const *x, int axis) {
  Base *b = ctx_base(ctx);
  if (n < 1) return fail_null(b, POLY_ERROR_VALUE, "stack needs at least one tensor");
  UOp **part = mem_new(b, (size_t)n * sizeof(*part)), *out = NULL;
  if (!part) return NULL;
  bool ok = true;
  for (int k = 0; ok && k < n; k++) {
    ok = x[k] != NULL && x[0] != NULL;
    if (ok && !shape_same(x[0], x[k])) {
      uop_fail_shapes("stack", x[0], x[k]);
      ok = false;
    }
    if (ok) part[k] = t_unsqueeze(x[k], axis);
  }
  if (ok) out = t_cat(ctx, n, part, axis);
  mem_free(b, part, (size_t)n * sizeof(*part));
  return out;
}

/* ---- handles ---- */

/* cat or stack of handles: their nodes as an array, the axis normalised. */
static UOp *join(PolyContext *ctx, PolyTensor *const *t, int n, int axis, bool stack) {
  Base *b = ctx_base(ctx);
  int at;
  if (stack ? !shape_axis(ctx, axis, t[0]->uop->ndim + 1, &at) : !t_real_axis(t[0]->uop, axis, &at)) return NULL;
  UOp **x = mem_new(b, (size_t)n * sizeof(*x));
  if (!x) return NULL;
  for (int k = 0; k < n; k++) x[k] = t[k]->uop;
  UOp *out = !t_meet(ctx, n, x, false) ? NULL : stack ? t_stack(ctx, n, x, at) : t_cat(ctx, n, x, at);
  mem_free(b, x, (size_t)n * sizeof(*x));
  return out;
}

static bool all_there(PolyTensor *const *t, int n) {
  if (!t || n < 1) return false;
  for (int k = 0; k < n; k++)
    if (!t[k]) return false;
  return true;
}

PolyTensor *poly_cat(PolyTensor *const *t, int n, int axis) {
  if (!all_there(t, n)) return NULL;
  TENSOR_RETURN(t[0]->ctx, join(t[0]->ctx, t, n, axis, false));
}

PolyTensor *poly_stack(PolyTensor *const *t, int n, int axis) {
  if (!all_there(t, n)) return NULL;
  TENSOR_RETURN(t[0]->ctx, join(t[0]->ctx, t, n, axis, true));
}

/* All or nothing: on failure the handles made so far are freed. */
static PolyStatus finish_handles(PolyContext *ctx, PolyTensor **out, int n) {
  bool ok = true;
  for (int k = 0; k < n; k++) ok = ok && out[k];
  if (ok) return POLY_OK;
  for (int k = 0; k < n; k++) {
    poly_free(out[k]);
    out[k] = NULL;
  }
  return poly_error_code(ctx);
}

/* Do the sizes add up to the axis? (Symbolic ones are taken at their word unless that is impossible.) */
static bool split_fits(UOp *x, int axis, int n, const int64_t *sizes) {
  UOp *total = uop_index(x->ctx, 0), *size = x->shape[axis];
  bool fits = true;
  for (int k = 0; k < n; k++) {
    fits = fits && (sizes[k] >= 0 || poly_dim_is_symbolic(sizes[k]));
    total = int_add(total, t_dim(x->ctx, sizes[k]));
  }
  if (!total) return false;
  if (fits && total->vmin <= size->vmax && size->vmin <= total->vmax) return true;
  char text[256];
  return base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "the sizes of a split do not add up to axis %d of %s", axis,
                   shape_text(x, text, sizeof(text)));
}

PolyStatus poly_split(PolyTensor *x, int n, const int64_t *sizes, int axis, PolyTensor **out) {
  for (int k = 0; k < n; k++) out[k] = NULL;
  if (!x) return POLY_ERROR_VALUE;
  PolyContext *ctx = x->ctx;
  Scope s;
  scope_enter(ctx, &s);
  int at;
  bool ok = t_real_axis(x->uop, axis, &at) && split_fits(x->uop, at, n, sizes);
  UOp *end = uop_index(ctx, 0);
  for (int k = 0; ok && k < n; k++) {
    UOp *begin = end;
    end = int_add(end, t_dim(ctx, sizes[k]));
    out[k] = handle_view(tensor_wrap(ctx, t_slice(x->uop, at, begin, end)), x);
  }
  scope_leave(ctx, &s);
  return ok ? finish_handles(ctx, out, n) : poly_error_code(ctx);
}

/* Sizes of the parts of a chunk; how many, -1 on error. Parts after the end do not exist. */
static int chunk_sizes(PolyContext *ctx, UOp *size, int n, int64_t *sizes) {
  int64_t v;
  UOp *part = t_int_ceildiv(size, uop_index(ctx, n));
  bool multiple = part && int_mulc(part, n) == size;
  if (!t_known(size, &v) && (v = poly_dim_value(ctx, dim_to_api(size))) >= 0 && ctx->tracing && !multiple) {
    base_fail(ctx_base(ctx), POLY_ERROR_VALUE,
              "chunk: in a compiled step a symbolic size must be a multiple of the %d parts, whose number it decides",
              n);
    return -1;
  }
  int64_t each = (v + n - 1) / n;
  int count = v && !multiple ? (int)((v + each - 1) / each) : n;
  UOp *last = part ? int_sub(size, int_mulc(part, count - 1)) : NULL;
  if (!last) return -1;
  for (int k = 0; k < count; k++) sizes[k] = dim_to_api(k + 1 < count ? part : last);
  return count;
}

int poly_chunk(PolyTensor *x, int n, int axis, PolyTensor **out) {
  if (!x) return -1;
  PolyContext *ctx = x->ctx;
  Base *b = ctx_base(ctx);
  int at, count = -1;
  if (!t_real_axis(x->uop, axis, &at)) return -1;
  if (n < 1) {
    base_fail(b, POLY_ERROR_VALUE, "chunk needs at least one part, not %d", n);
    return -1;
  }
  int64_t *sizes = mem_new(b, (size_t)n * sizeof(*sizes));
  if (!sizes) return -1;
  Scope s;
  scope_enter(ctx, &s);
  count = chunk_sizes(ctx, x->uop->shape[at], n, sizes);
  scope_leave(ctx, &s);
  if (count >= 0 && poly_split(x, count, sizes, at, out) != POLY_OK) count = -1;
  mem_free(b, sizes, (size_t)n * sizeof(*sizes));
  return count;
}

/* Vector k becomes axis place[k] of every grid; 'x' swaps the first two. */
PolyStatus poly_meshgrid(PolyTensor *const *t, int n, char indexing, PolyTensor **out) {
  for (int k = 0; k < n; k++) out[k] = NULL;
  if (!all_there(t, n)) return POLY_ERROR_VALUE;
  PolyContext *ctx = t[0]->ctx;
  Scope s;
  scope_enter(ctx, &s);
  UOp *grid[MAX_DIMS], *shape[MAX_DIMS];
  int ndim;
  bool ok = n <= MAX_DIMS && (indexing == 'i' || indexing == 'x');
  if (!ok)
    base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "meshgrid: indexing is 'i' or 'x', for at most %d vectors", MAX_DIMS);
  for (int k = 0; ok && k < n; k++) {
    UOp *x = t_flatten(t[k]->uop), *dims[MAX_DIMS];
    int place = indexing == 'x' && n > 1 && k < 2 ? 1 - k : k;
    for (int d = 0; d < n; d++) dims[d] = d == place && x ? x->shape[0] : uop_index(ctx, 1);
    grid[k] = uop_reshape(x, n, dims);
    ok = grid[k] != NULL;
  }
  if (ok && t_broadcast_shapes(n, grid, &ndim, shape))
    for (int k = 0; k < n; k++) out[k] = tensor_wrap(ctx, t_broadcast(grid[k], ndim, shape));
  scope_leave(ctx, &s);
  return finish_handles(ctx, out, n);
}
