/* shape.c: shapes of the front end: broadcasting, axis numbers, sizes of the API, and the small movements that other
 * files compose. In: nodes and axis numbers as the user gave them. Out: nodes, or an error that names the shapes. */
#include "tensor/tensor.h"

enum { TEXT_MAX = 256 };

bool t_same_size(UOp *a, UOp *b) {
  if (size_same(a, b)) return true;
  if (!a || !b || a->op == OP_CONST || b->op == OP_CONST) return false;
  UOp *d = int_sub(a, b);
  return d && uop_is_int(d, 0);
}

/* ---- broadcasting ---- */

static bool fail_broadcast(const UOp *a, const UOp *b) {
  char ta[TEXT_MAX], tb[TEXT_MAX];
  return base_fail(ctx_base(a->ctx), POLY_ERROR_VALUE, "shapes %s and %s cannot be broadcast",
                   shape_text(a, ta, sizeof ta), shape_text(b, tb, sizeof tb));
}

bool t_broadcast_shapes(int n, UOp *const *x, int *ndim, UOp **shape) {
  int rank = 0;
  for (int k = 0; k < n; k++) {
    if (!x[k]) return false;
    if (x[k]->ctx != x[0]->ctx)
      return base_fail(ctx_base(x[0]->ctx), POLY_ERROR_VALUE, "tensors of two contexts cannot be combined");
    rank = MAX(rank, x[k]->ndim);
  }
  const UOp *owner[MAX_DIMS] = {0};
  for (int d = 0; d < rank; d++) shape[d] = NULL;
  for (int k = 0; k < n; k++) {
    int lead = rank - x[k]->ndim;
    for (int d = lead; d < rank; d++) {
      UOp *size = x[k]->shape[d - lead];
      if (!shape[d] || (uop_is_int(shape[d], 1) && !uop_is_int(size, 1))) {
        shape[d] = size;
        owner[d] = x[k];
      } else if (!uop_is_int(size, 1) && !t_same_size(shape[d], size)) {
        return fail_broadcast(owner[d], x[k]);
      } else if (shape[d]->op == OP_CONST && !uop_is_int(size, 1)) {
        shape[d] = size; /* a symbolic one, whose plan serves other sizes too */
      }
    }
  }
  *ndim = rank;
  return true;
}

static UOp *fail_expand(const UOp *x, int ndim, UOp *const *shape) {
  char tx[TEXT_MAX], size[64];
  Str s = {.b = ctx_base(x->ctx)};
  for (int d = 0; d < ndim; d++) str_fmt(&s, "%s%s", d ? ", " : "", dim_text(shape[d], size, sizeof size));
  base_fail(s.b, POLY_ERROR_VALUE, "shape %s cannot be broadcast to (%s%s)", shape_text(x, tx, sizeof tx),
            s.at ? s.at : "", ndim == 1 ? "," : "");
  str_free(&s);
  return NULL;
}

UOp *t_broadcast(UOp *x, int ndim, UOp *const *shape) {
  if (!x) return NULL;
  int lead = ndim - x->ndim;
  UOp *mid[MAX_DIMS];
  bool fits = lead >= 0;
  for (int d = 0; fits && d < ndim; d++) {
    mid[d] = d < lead ? uop_index(x->ctx, 1) : x->shape[d - lead];
    if (!mid[d] || !shape[d]) return NULL;
    if (uop_is_int(mid[d], 1) || mid[d] == shape[d]) continue;
    fits = t_same_size(mid[d], shape[d]);
    mid[d] = shape[d];
  }
  if (!fits) return fail_expand(x, ndim, shape);
  UOp *y = uop_reshape(x, ndim, mid);
  return y ? uop_expand(y, shape) : NULL;
}

UOp *t_broadcast_like(UOp *x, const UOp *like) { return like ? t_broadcast(x, like->ndim, like->shape) : NULL; }

/* ---- axes and sizes ---- */

bool t_axes_mask(PolyContext *ctx, int naxis, const int *axes, int ndim, uint32_t *mask) {
  *mask = (uint32_t)((1ull << ndim) - 1);
  if (!axes) return true;
  uint32_t bits = 0;
  for (int k = 0; k < naxis; k++) {
    int a;
    if (!shape_axis(ctx, axes[k], ndim, &a)) return false;
    if (bits >> a & 1) return base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "axis %d is given twice", axes[k]);
    bits |= 1u << a;
  }
  *mask &= bits;
  return true;
}

UOp *t_count(UOp *x, uint32_t mask) {
  if (!x) return NULL;
  UOp *n = uop_index(x->ctx, 1);
  for (int d = 0; n && d < x->ndim; d++)
    if (mask >> d & 1) n = int_mul(n, x->shape[d]);
  return n;
}

UOp *t_size_value(UOp *size, PolyDType dtype) { return t_cast(size, dtype); }

bool t_shape_from_api(PolyContext *ctx, int ndim, const int64_t *dims, UOp **shape) {
  if (ndim < 0 || ndim > MAX_DIMS)
    return base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "%d dimensions: at most %d are possible", ndim, MAX_DIMS);
  for (int d = 0; d < ndim; d++) {
    if (dims[d] < 0 && !poly_dim_is_symbolic(dims[d]))
      return base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "size %lld of axis %d is negative", (long long)dims[d], d);
    shape[d] = dim_from_api(ctx, dims[d]);
    if (!shape[d]) return false;
  }
  return true;
}

/* ---- small movements ---- */

UOp *t_reshape1(UOp *x, UOp *a) { return x && a ? uop_reshape(x, 1, &a) : NULL; }

UOp *t_flatten(UOp *x) { return x ? t_reshape1(x, uop_numel(x)) : NULL; }

UOp *t_unsqueeze(UOp *x, int axis) {
  if (!x) return NULL;
  if (x->ndim == MAX_DIMS)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "a tensor has at most %d dimensions", MAX_DIMS);
  UOp *shape[MAX_DIMS];
  for (int d = 0, k = 0; d <= x->ndim; d++) {
    shape[d] = d == axis ? uop_index(x->ctx, 1) : x->shape[k++];
    if (!shape[d]) return NULL;
  }
  return uop_reshape(x, x->ndim + 1, shape);
}

UOp *t_drop_axes(UOp *x, uint32_t mask) {
  if (!x) return NULL;
  UOp *shape[MAX_DIMS];
  int n = 0;
  for (int d = 0; d < x->ndim; d++)
    if (!(mask >> d & 1)) shape[n++] = x->shape[d];
  return uop_reshape(x, n, shape);
}

UOp *t_move_axis(UOp *x, int from, int to) {
  if (!x) return NULL;
  int perm[MAX_DIMS], k = 0;
  for (int d = 0; d < x->ndim; d++) {
    if (k == from) k++;
    perm[d] = d == to ? from : k++;
  }
  return uop_permute(x, perm);
}

UOp *t_transpose(UOp *x, int a, int b) {
  if (!x) return NULL;
  int perm[MAX_DIMS];
  for (int d = 0; d < x->ndim; d++) perm[d] = d == a ? b : d == b ? a : d;
  return uop_permute(x, perm);
}
