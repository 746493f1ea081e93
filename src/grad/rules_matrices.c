/* rules_matrices.c: gradients of the routines of matrices (src/tensor/matrices.c), made of the same routines, so that
 * they can be differentiated again. With g the gradient of a result and X' for X transposed:
 *
 *   X = solve(A, B)      dB = solve(A', g), dA = -dB X'; of a triangle: that triangle of it
 *   L = cholesky(A)      with S = the lower triangle of L' g, its diagonal halved: dA = L'^-1 (S + S') L^-1 / 2
 *   det(A)               dA = (g det) A'^-1; of its logarithm: g A'^-1
 *   w, V = eigh(A)       dA = V (diag(gw) + (V' gV) / E) V', E[i,j] = w[j] - w[i] and infinite on the diagonal
 *   Q, R = qr(A)         for m >= n, with M = R gR' - gQ' Q and its lower triangle mirrored: dA = (gQ + Q M) R'^-1
 *   U, s, V' = svd(A)    dA = U (W + diag(gs)) V' + the parts outside of the columns of U and V, see below
 *
 * Of Q and U only the first min(m, n) columns have gradients: the others are any orthogonal ones. */
#include "grad/rules.h"
#include "tensor/shape_ops.h"

#include <string.h>

static UOp *T(UOp *x) { return x ? t_transpose(x, x->ndim - 1, x->ndim - 2) : NULL; }
static UOp *product(UOp *a, UOp *b) { return t_matmul(a, b); }
static int64_t rows_of(const UOp *x) { return x->shape[x->ndim - 2]->vmin; }
static int64_t columns_of(const UOp *x) { return x->shape[x->ndim - 1]->vmin; }

/* Row number minus column number of the entries of x. */
static UOp *below(const UOp *x) {
  UOp *row = t_iota_axis(x->ctx, POLY_INT32, x->shape[x->ndim - 2], x->ndim, x->ndim - 2);
  UOp *column = t_iota_axis(x->ctx, POLY_INT32, x->shape[x->ndim - 1], x->ndim, x->ndim - 1);
  return t_sub(row, column);
}

/* The entries of x where below() is at least `least`; or at most, if upper. */
static UOp *triangle(UOp *x, bool upper, int least) {
  if (!x) return NULL;
  UOp *place = below(x), *limit = t_int_like(place, least);
  UOp *kept = upper ? t_less_equal(place, limit) : t_less_equal(limit, place);
  return t_where(kept, x, t_scalar_like(x, 0));
}

/* x with another value on the diagonal. */
static UOp *with_diagonal(UOp *x, UOp *value) {
  return x && value ? t_where(t_equal(below(x), t_int_like(below(x), 0)), value, x) : NULL;
}

static UOp *as_diagonal(UOp *v) { /* [..., n] to [..., n, n] */
  if (!v) return NULL;
  UOp *row = t_unsqueeze(v, v->ndim), *shape[MAX_DIMS];
  for (int i = 0; i < v->ndim; i++) shape[i] = v->shape[i];
  shape[v->ndim] = v->shape[v->ndim - 1];
  UOp *full = t_broadcast(row, v->ndim + 1, shape);
  return full ? t_where(t_equal(below(full), t_int_like(below(full), 0)), full, t_scalar_like(full, 0)) : NULL;
}

/* ---- equations ---- */

static void solve(UOp *u, UOp *g, uint32_t need, UOp **out) {
  bool triangular = strcmp(u->arg.name, "triangular") == 0, upper = u->arg.i & 1, unit = u->arg.i & 2;
  UOp *a = u->src[0], *db = triangular ? t_solve_triangular(T(a), g, !upper, unit) : t_solve(T(a), g);
  if (need & 2) out[1] = db;
  if (need & 1) {
    UOp *da = t_neg(product(db, T(u)));
    out[0] = triangular ? triangle(da, upper, upper ? -(int)unit : (int)unit) : da;
  }
}

static UOp *inverse_transposed(UOp *a, UOp *b) { return t_solve(T(a), b); }

static UOp *identity(UOp *like_this) {
  UOp *zeros = t_full(like_this->ctx, (PolyDType)like_this->dtype, 0, like_this->ndim, like_this->shape);
  return with_diagonal(zeros, t_scalar_like(zeros, 1));
}

static UOp *det(UOp *u, UOp *g) {
  UOp *a = u->src[0];
  UOp *of_det = t_mul(t_unpacked(g, 0, 0, 1), t_unpacked(u, 0, 0, 1)), *of_log = t_unpacked(g, 2, 0, 1);
  UOp *factor = t_add(of_det, of_log);
  return factor ? t_mul(t_unsqueeze(factor, factor->ndim), inverse_transposed(a, identity(a))) : NULL;
}

static UOp *cholesky(UOp *l, UOp *g) {
  UOp *s = triangle(product(T(l), g), false, 0);
  s = with_diagonal(s, t_mulc(s, 0.5));
  s = t_mulc(t_add(s, T(s)), 0.5);
  UOp *left = t_solve_triangular(T(l), s, true, false); /* L'^-1 S */
  return T(t_solve_triangular(T(l), T(left), true, false));
}

/* ---- factors ---- */

static UOp *eigh(UOp *u, UOp *g) {
  int64_t n = rows_of(u->src[0]);
  UOp *w = t_unpacked(u, 0, 0, n), *v = t_unpacked(u, n, n, n);
  UOp *gw = t_unpacked(g, 0, 0, n), *gv = t_unpacked(g, n, n, n);
  if (!w || !v) return NULL;
  UOp *e = t_sub(t_unsqueeze(w, w->ndim - 1), t_unsqueeze(w, w->ndim));
  e = with_diagonal(e, e ? t_scalar_like(e, INFINITY) : NULL);
  UOp *inner = t_add(as_diagonal(gw), t_div(product(T(v), gv), e));
  return product(product(v, inner), T(v));
}

/* The gradient for m >= n: q is m x n, r is n x n. */
static UOp *qr_tall(UOp *q, UOp *r, UOp *gq, UOp *gr) {
  UOp *m = t_sub(product(r, T(gr)), product(T(gq), q));
  m = t_add(triangle(m, false, 0), T(triangle(m, false, 1)));
  UOp *right = t_add(gq, product(q, m)); /* right R'^-1 = (R^-1 right')' */
  return T(t_solve_triangular(r, T(right), true, false));
}

static UOp *columns(UOp *x, int64_t from, int64_t to) {
  return x ? t_slice(x, x->ndim - 1, uop_index(x->ctx, from), uop_index(x->ctx, to)) : NULL;
}

static UOp *rows(UOp *x, int64_t to) {
  return x ? t_slice(x, x->ndim - 2, uop_index(x->ctx, 0), uop_index(x->ctx, to)) : NULL;
}

static UOp *qr(UOp *u, UOp *g) {
  UOp *a = u->src[0];
  int64_t m = rows_of(a), n = columns_of(a), k = MIN(m, n);
  UOp *q = columns(t_unpacked(u, 0, m, m), 0, k), *gq = columns(t_unpacked(g, 0, m, m), 0, k);
  UOp *r = rows(t_unpacked(u, m * m, m, n), k), *gr = triangle(rows(t_unpacked(g, m * m, m, n), k), true, 0);
  if (m >= n) return qr_tall(q, r, gq, gr);
  /* A = [X Y], R = [R1 R2] with Q R1 = X and R2 = Q' Y. */
  UOp *g2 = columns(gr, k, n), *y = columns(a, k, n);
  UOp *first = qr_tall(q, columns(r, 0, k), t_add(gq, product(y, T(g2))), columns(gr, 0, k));
  UOp *parts[] = {first, product(q, g2)};
  return parts[0] && parts[1] ? uop_cat(2, parts, a->ndim - 1) : NULL;
}

/* For m >= n. With K = X - X' of X = U' gU, and of V likewise, E[i,j] = s[j]^2 - s[i]^2, 1 on the diagonal:
 * W = (K_U / E) diag(s) + diag(s) (K_V / E); what U has outside of its columns: (1 - U U') gU diag(1/s) V'. */
static UOp *svd(UOp *u, UOp *g) {
  UOp *a = u->src[0];
  int64_t m = rows_of(a), n = columns_of(a);
  UOp *left = columns(t_unpacked(u, 0, m, m), 0, n), *gl = columns(t_unpacked(g, 0, m, m), 0, n);
  UOp *s = t_unpacked(u, m * m, 0, n), *gs = t_unpacked(g, m * m, 0, n);
  UOp *vt = t_unpacked(u, m * m + n, n, n), *gv = T(t_unpacked(g, m * m + n, n, n));
  if (!s || !left || !vt) return NULL;
  UOp *row = t_unsqueeze(s, s->ndim - 1), *column = t_unsqueeze(s, s->ndim);
  UOp *e = t_sub(t_square(row), t_square(column));
  e = with_diagonal(e, e ? t_scalar_like(e, 1) : NULL);
  UOp *x = product(T(left), gl), *y = product(vt, gv);
  UOp *w = t_add(t_mul(t_div(t_sub(x, T(x)), e), row), t_mul(column, t_div(t_sub(y, T(y)), e)));
  UOp *inner = product(left, t_add(w, as_diagonal(gs)));
  if (m > n) inner = t_add(inner, t_div(t_sub(gl, product(left, x)), row));
  return product(inner, vt);
}

/* ---- the table ---- */

uint32_t grad_matrix_mask(const char *name) {
  if (!strcmp(name, "solve") || !strcmp(name, "triangular")) return 3;
  static const char *const others[] = {"det", "cholesky", "eigh", "qr", "svd"};
  for (int k = 0; k < LEN(others); k++)
    if (!strcmp(name, others[k])) return 1;
  return 0;
}

void grad_matrix(UOp *u, UOp *g, uint32_t need, UOp **out) {
  const char *name = u->arg.name;
  if (grad_matrix_mask(name) == 3) {
    solve(u, g, need, out);
    return;
  }
  out[0] = !strcmp(name, "det")        ? det(u, g)
           : !strcmp(name, "cholesky") ? cholesky(u, g)
           : !strcmp(name, "eigh")     ? eigh(u, g)
           : !strcmp(name, "qr")       ? qr(u, g)
                                       : svd(u, g);
}
