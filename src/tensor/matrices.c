/* matrices.c: systems of linear equations, and factors of matrices [..., m, n]. Each is a LIBRARY routine
 * (src/runtime/matrices.c) in float32 or float64; half types are computed in float32. Routines with several results
 * give them one after another in the last axis, taken apart here. Gradients are in src/grad/rules_matrices.c. */
#include "tensor/shape_ops.h"

/* The size of an axis from the end, where it is a number. */
static int64_t size_of(const UOp *x, int back) { return x->shape[x->ndim - back]->vmin; }

/* x as the routine takes it. */
static UOp *matrix(UOp *x, const char *what, bool square) {
  if (!x) return NULL;
  Base *b = ctx_base(x->ctx);
  char text[256];
  if (x->ndim < 2 || (square && !t_same_size(x->shape[x->ndim - 1], x->shape[x->ndim - 2])))
    return fail_null(b, POLY_ERROR_VALUE, "%s takes %s matrices, not the shape %s", what, square ? "square" : "",
                     shape_text(x, text, sizeof text));
  for (int back = 1; back <= 2; back++)
    if (x->shape[x->ndim - back]->vmin != x->shape[x->ndim - back]->vmax)
      return fail_null(b, POLY_ERROR_VALUE, "%s: the sizes of a matrix must be numbers", what);
  x = t_float(x);
  return x ? uop_cast(x, t_wide_dtype((PolyDType)x->dtype)) : NULL;
}

/* A routine of x whose result is `size` numbers for each matrix. */
static UOp *packed(const char *name, UOp *x, int64_t size) {
  if (!x) return NULL;
  UOp *shape[MAX_DIMS];
  for (int i = 0; i < x->ndim - 2; i++) shape[i] = x->shape[i];
  shape[x->ndim - 2] = uop_index(x->ctx, size);
  return uop_library(x->ctx, name, 0, (PolyDType)x->dtype, 1, &x, x->ndim - 1, shape);
}

/* rows x columns out of the last axis from `at` on; rows 0: a vector of columns. */
UOp *t_unpacked(UOp *x, int64_t at, int64_t rows, int64_t columns) {
  if (!x) return NULL;
  int axis = x->ndim - 1;
  int64_t count = (rows ? rows : 1) * columns;
  x = t_slice(x, axis, uop_index(x->ctx, at), uop_index(x->ctx, at + count));
  if (!x || !rows) return x;
  UOp *shape[MAX_DIMS];
  for (int i = 0; i < axis; i++) shape[i] = x->shape[i];
  shape[axis] = uop_index(x->ctx, rows);
  shape[axis + 1] = uop_index(x->ctx, columns);
  return uop_reshape(x, axis + 2, shape);
}

/* ---- equations ---- */

/* Leading axes broadcast against each other, the last two as they are. */
static bool same_batch(UOp **a, UOp **b) {
  UOp *lead[2] = {NULL, NULL}, *x[2] = {*a, *b}, *shape[MAX_DIMS], *full[MAX_DIMS];
  int ndim;
  for (int k = 0; k < 2; k++) {
    UOp *one = uop_index(x[k]->ctx, 1);
    for (int i = 0; i < x[k]->ndim - 2; i++) full[i] = x[k]->shape[i];
    lead[k] = t_full(x[k]->ctx, POLY_BOOL, 0, x[k]->ndim - 2, full);
    if (!one || !lead[k]) return false;
  }
  if (!t_broadcast_shapes(2, lead, &ndim, shape)) return false;
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < ndim; i++) full[i] = shape[i];
    full[ndim] = x[k]->shape[x[k]->ndim - 2];
    full[ndim + 1] = x[k]->shape[x[k]->ndim - 1];
    x[k] = t_broadcast(x[k], ndim + 2, full);
    if (!x[k]) return false;
  }
  *a = x[0];
  *b = x[1];
  return true;
}

static UOp *equations(const char *name, const char *what, int64_t n, UOp *a, UOp *b) {
  a = matrix(a, what, true);
  b = matrix(b, what, false);
  if (!a || !b) return NULL;
  if (size_of(a, 1) != size_of(b, 2)) {
    uop_fail_shapes(what, a, b);
    return NULL;
  }
  PolyDType d = dtype_promote((PolyDType)a->dtype, (PolyDType)b->dtype);
  a = uop_cast(a, d);
  b = uop_cast(b, d);
  if (!same_batch(&a, &b)) return NULL;
  return uop_library(a->ctx, name, n, d, 2, (UOp *[]){a, b}, b->ndim, b->shape);
}

UOp *t_solve(UOp *a, UOp *b) { return equations("solve", "solve", 0, a, b); }

UOp *t_solve_triangular(UOp *a, UOp *b, bool upper, bool unit) {
  return equations("triangular", "solve_triangular", upper + 2 * unit, a, b);
}

PolyTensor *poly_solve(PolyTensor *a, PolyTensor *b) {
  if (!a || !b) return NULL;
  UOp *x[] = {a->uop, b->uop};
  TENSOR_RETURN(a->ctx, t_meet(a->ctx, 2, x, false) ? t_solve(x[0], x[1]) : NULL);
}

PolyTensor *poly_solve_triangular(PolyTensor *a, PolyTensor *b, bool upper, bool unit) {
  if (!a || !b) return NULL;
  UOp *x[] = {a->uop, b->uop};
  TENSOR_RETURN(a->ctx, t_meet(a->ctx, 2, x, false) ? t_solve_triangular(x[0], x[1], upper, unit) : NULL);
}

/* ---- factors ---- */

static UOp *cholesky(UOp *x) {
  x = matrix(x, "cholesky", true);
  return x ? uop_library(x->ctx, "cholesky", 0, (PolyDType)x->dtype, 1, &x, x->ndim, x->shape) : NULL;
}
TENSOR_UNARY(poly_cholesky, cholesky(x->uop))

/* Several results of one routine as handles; all are NULL if one cannot be made. */
static PolyStatus handed(PolyContext *ctx, int n, UOp *const *value, PolyTensor **const *out) {
  PolyStatus before = poly_error_code(ctx);
  bool ok = true;
  for (int k = 0; k < n; k++) {
    PolyTensor *made = ok ? t_result(ctx, before, value[k]) : NULL;
    ok = ok && made;
    if (out[k])
      *out[k] = made;
    else
      poly_free(made);
  }
  for (int k = 0; !ok && k < n; k++)
    if (out[k]) {
      poly_free(*out[k]);
      *out[k] = NULL;
    }
  return ok ? POLY_OK : poly_error_code(ctx);
}

PolyStatus poly_slogdet(PolyTensor *a, PolyTensor **det, PolyTensor **sign, PolyTensor **size) {
  PolyTensor **out[] = {det, sign, size};
  for (int k = 0; k < 3; k++)
    if (out[k]) *out[k] = NULL;
  if (!a) return POLY_ERROR_VALUE;
  Scope s;
  scope_enter(a->ctx, &s);
  UOp *all = packed("det", matrix(a->uop, "det", true), 3), *v[3];
  for (int k = 0; k < 3; k++) v[k] = all ? t_drop_axes(t_unpacked(all, k, 0, 1), 1u << (all->ndim - 1)) : NULL;
  PolyStatus status = handed(a->ctx, 3, v, out);
  scope_leave(a->ctx, &s);
  return status;
}

PolyStatus poly_lu(PolyTensor *a, PolyTensor **factors, PolyTensor **exchanged) {
  PolyTensor **out[] = {factors, exchanged};
  for (int k = 0; k < 2; k++)
    if (out[k]) *out[k] = NULL;
  if (!a) return POLY_ERROR_VALUE;
  Scope s;
  scope_enter(a->ctx, &s);
  UOp *x = matrix(a->uop, "lu", false), *v[2] = {NULL, NULL};
  if (x) {
    int64_t m = size_of(x, 2), n = size_of(x, 1);
    UOp *all = packed("lu", x, m * n + MIN(m, n));
    v[0] = t_unpacked(all, 0, m, n);
    v[1] = t_cast(t_unpacked(all, m * n, 0, MIN(m, n)), POLY_INT32);
  }
  PolyStatus status = handed(a->ctx, 2, v, out);
  scope_leave(a->ctx, &s);
  return status;
}

PolyStatus poly_eigh(PolyTensor *a, PolyTensor **values, PolyTensor **vectors) {
  PolyTensor **out[] = {values, vectors};
  for (int k = 0; k < 2; k++)
    if (out[k]) *out[k] = NULL;
  if (!a) return POLY_ERROR_VALUE;
  Scope s;
  scope_enter(a->ctx, &s);
  UOp *x = matrix(a->uop, "eigh", true), *v[2] = {NULL, NULL};
  if (x) {
    int64_t n = size_of(x, 1);
    UOp *all = packed("eigh", x, n + n * n);
    v[0] = t_unpacked(all, 0, 0, n);
    v[1] = t_unpacked(all, n, n, n);
  }
  PolyStatus status = handed(a->ctx, 2, v, out);
  scope_leave(a->ctx, &s);
  return status;
}

PolyStatus poly_qr(PolyTensor *a, PolyTensor **q, PolyTensor **r) {
  PolyTensor **out[] = {q, r};
  for (int k = 0; k < 2; k++)
    if (out[k]) *out[k] = NULL;
  if (!a) return POLY_ERROR_VALUE;
  Scope s;
  scope_enter(a->ctx, &s);
  UOp *x = matrix(a->uop, "qr", false), *v[2] = {NULL, NULL};
  if (x) {
    int64_t m = size_of(x, 2), n = size_of(x, 1);
    UOp *all = packed("qr", x, m * m + m * n);
    v[0] = t_unpacked(all, 0, m, m);
    v[1] = t_unpacked(all, m * m, m, n);
  }
  PolyStatus status = handed(a->ctx, 2, v, out);
  scope_leave(a->ctx, &s);
  return status;
}

PolyStatus poly_svd(PolyTensor *a, PolyTensor **u, PolyTensor **values, PolyTensor **vt) {
  PolyTensor **out[] = {u, values, vt};
  for (int k = 0; k < 3; k++)
    if (out[k]) *out[k] = NULL;
  if (!a) return POLY_ERROR_VALUE;
  Scope s;
  scope_enter(a->ctx, &s);
  UOp *x = matrix(a->uop, "svd", false), *v[3] = {NULL, NULL, NULL};
  if (x) {
    int row = x->ndim - 2, column = x->ndim - 1;
    bool wide = size_of(x, 2) < size_of(x, 1); /* the factors of the transposed matrix, transposed */
    if (wide) x = t_transpose(x, row, column);
    int64_t m = size_of(x, 2), n = size_of(x, 1);
    UOp *all = packed("svd", x, m * m + n + n * n);
    UOp *left = t_unpacked(all, 0, m, m), *right = t_unpacked(all, m * m + n, n, n);
    v[0] = wide ? t_transpose(right, row, column) : left;
    v[1] = t_unpacked(all, m * m, 0, n);
    v[2] = wide ? t_transpose(left, row, column) : right;
  }
  PolyStatus status = handed(a->ctx, 3, v, out);
  scope_leave(a->ctx, &s);
  return status;
}
