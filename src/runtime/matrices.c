/* matrices.c: factors of small dense matrices and systems of linear equations: routines of library.c.
 *
 * In: tensors [..., m, n] of float32 or float64, row-major. Out: the call's result for each matrix of the batch,
 * computed in double and rounded once, the same for any number of threads. Several results of one routine lie one after
 * another in the last axis: the front end takes them apart (src/tensor/matrices.c says in which order). O(m n min(m,
 * n)) for each matrix; those that iterate need a few times as much. */
#include "runtime/library.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The matrices of one call: src[0] is m x n, src[1] has k columns. */
typedef struct Sizes {
  int64_t batch, m, n, k, out; /* out: elements of one result */
} Sizes;

static int64_t last(const LibraryTensor *t, int back) { return t->ndim >= back ? t->shape[t->ndim - back] : 1; }

static double at(const LibraryTensor *t, int64_t i) {
  return t->dtype == POLY_FLOAT32 ? (double)((const float *)host_at(t->data))[i]
                                  : ((const double *)host_at(t->data))[i];
}

static void load(const LibraryTensor *t, int64_t from, int64_t n, double *to) {
  for (int64_t i = 0; i < n; i++) to[i] = at(t, from + i);
}

static void store(const LibraryTensor *t, int64_t to, int64_t n, const double *from) {
  if (t->dtype == POLY_FLOAT32)
    for (int64_t i = 0; i < n; i++) ((float *)host_at(t->data))[to + i] = (float)from[i];
  else
    memcpy((double *)host_at(t->data) + to, from, (size_t)n * sizeof(double));
}

/* One matrix; which of the batch it is. False: it has no such factor. */
typedef bool (*MatrixFn)(const LibraryCall *call, const Sizes *s, int64_t which, double *work);

static bool each(Device *d, const LibraryCall *call, Sizes s, int64_t room, double flops, MatrixFn fn,
                 const char *why) {
  Base *b = ctx_base(d->ctx);
  for (int i = 0; i < call->nsrc; i++)
    if (call->src[i].dtype != call->out.dtype || (call->out.dtype != POLY_FLOAT32 && call->out.dtype != POLY_FLOAT64))
      return base_fail(b, POLY_ERROR_RUNTIME, "%s: not for %s", call->name, dtype_name(call->src[i].dtype));
  if (!s.batch || !s.out) return true;
  int threads = library_threads(d, call, s.batch, (int64_t)MIN(1e15, (double)s.batch * flops));
  size_t bytes = (size_t)(room + 1) * sizeof(double);
  char *work = memory_alloc(d->memory, bytes * (size_t)threads);
  if (!work) return false;
  int64_t bad = s.batch;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(min : bad) if (threads > 1)
  for (int thread = 0; thread < threads; thread++)
    for (int64_t k = s.batch * thread / threads; k < s.batch * (thread + 1) / threads; k++)
      if (!fn(call, &s, k, (double *)(void *)(work + bytes * (size_t)thread))) bad = MIN(bad, k);
  memory_free(d->memory, work, bytes * (size_t)threads);
  return bad == s.batch || base_fail(b, POLY_ERROR_RUNTIME, "%s: matrix %lld %s", call->name, (long long)bad, why);
}

static Sizes sizes(const LibraryCall *call) {
  const LibraryTensor *a = &call->src[0];
  Sizes s = {1, last(a, 2), last(a, 1), call->nsrc > 1 ? last(&call->src[1], 1) : 0, 1};
  for (int i = 0; i + 2 < a->ndim; i++) s.batch *= a->shape[i];
  s.out = s.batch ? library_numel(&call->out) / s.batch : 0;
  return s;
}

/* ---- elimination ---- */

/* A = P L U in place, L below the diagonal with ones on it. pivot[i]: the row that row i was exchanged with. Returns
 * the parity of P; *zero: the first column without a pivot, or -1. */
static int eliminate(double *a, int64_t m, int64_t n, double *pivot, int64_t *zero) {
  int sign = 1;
  *zero = -1;
  for (int64_t c = 0; c < MIN(m, n); c++) {
    int64_t best = c;
    for (int64_t r = c + 1; r < m; r++)
      if (fabs(a[r * n + c]) > fabs(a[best * n + c])) best = r;
    pivot[c] = (double)best;
    if (a[best * n + c] == 0 && *zero < 0) *zero = c;
    if (best != c) {
      sign = -sign;
      for (int64_t j = 0; j < n; j++) {
        double t = a[c * n + j];
        a[c * n + j] = a[best * n + j];
        a[best * n + j] = t;
      }
    }
    if (a[c * n + c] == 0) continue;
    for (int64_t r = c + 1; r < m; r++) {
      double f = a[r * n + c] /= a[c * n + c];
      if (f != 0)
        for (int64_t j = c + 1; j < n; j++) a[r * n + j] -= f * a[c * n + j];
    }
  }
  return sign;
}

/* T x = b in place, b with k columns, T the lower or upper triangle of a. */
static void substitute(const double *a, int64_t n, double *b, int64_t k, bool upper, bool unit) {
  for (int64_t step = 0; step < n; step++) {
    int64_t i = upper ? n - 1 - step : step, from = upper ? i + 1 : 0, to = upper ? n : i;
    for (int64_t j = from; j < to; j++) {
      double f = a[i * n + j];
      if (f != 0)
        for (int64_t c = 0; c < k; c++) b[i * k + c] -= f * b[j * k + c];
    }
    if (!unit)
      for (int64_t c = 0; c < k; c++) b[i * k + c] /= a[i * n + i];
  }
}

static bool solve_one(const LibraryCall *call, const Sizes *s, int64_t which, double *work) {
  int64_t n = s->n, k = s->k, zero;
  double *a = work, *b = a + n * n, *pivot = b + n * k;
  load(&call->src[0], which * n * n, n * n, a);
  load(&call->src[1], which * n * k, n * k, b);
  eliminate(a, n, n, pivot, &zero);
  if (zero >= 0) return false;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = (int64_t)pivot[i], c = 0; j != i && c < k; c++) {
      double t = b[i * k + c];
      b[i * k + c] = b[j * k + c];
      b[j * k + c] = t;
    }
  substitute(a, n, b, k, false, true);
  substitute(a, n, b, k, true, false);
  store(&call->out, which * n * k, n * k, b);
  return true;
}

bool library_solve(Device *d, const LibraryCall *call) {
  Sizes s = sizes(call);
  double n = (double)s.n;
  return each(d, call, s, s.n * (s.n + s.k + 1), n * n * (n + (double)s.k), solve_one, "is singular");
}

/* n: 1 for an upper triangle, plus 2 for ones on the diagonal. A zero on the diagonal gives infinities, as a division
 * does. */
static bool triangular_one(const LibraryCall *call, const Sizes *s, int64_t which, double *work) {
  int64_t n = s->n, k = s->k;
  double *a = work, *b = a + n * n;
  load(&call->src[0], which * n * n, n * n, a);
  load(&call->src[1], which * n * k, n * k, b);
  substitute(a, n, b, k, call->n & 1, call->n & 2);
  store(&call->out, which * n * k, n * k, b);
  return true;
}

bool library_triangular(Device *d, const LibraryCall *call) {
  Sizes s = sizes(call);
  return each(d, call, s, s.n * (s.n + s.k), (double)s.n * (double)s.n * (double)s.k, triangular_one, "");
}

/* [determinant, its sign, the logarithm of its size]. */
static bool det_one(const LibraryCall *call, const Sizes *s, int64_t which, double *work) {
  int64_t n = s->n, zero;
  load(&call->src[0], which * n * n, n * n, work);
  double out[3] = {1, eliminate(work, n, n, work + n * n, &zero), 0};
  out[0] = out[1];
  for (int64_t i = 0; i < n; i++) {
    double p = work[i * n + i];
    out[0] *= p;
    out[1] *= p > 0 ? 1 : p < 0 ? -1 : p; /* 0 and NaN stay */
    out[2] += log(fabs(p));
  }
  store(&call->out, which * 3, 3, out);
  return true;
}

bool library_det(Device *d, const LibraryCall *call) {
  Sizes s = sizes(call);
  double n = (double)s.n;
  return each(d, call, s, s.n * (s.n + 1), n * n * n, det_one, "");
}

/* The m x n factors, then min(m, n) rows that were exchanged. */
static bool lu_one(const LibraryCall *call, const Sizes *s, int64_t which, double *work) {
  int64_t zero;
  load(&call->src[0], which * s->m * s->n, s->m * s->n, work);
  eliminate(work, s->m, s->n, work + s->m * s->n, &zero);
  store(&call->out, which * s->out, s->out, work);
  return true;
}

bool library_lu(Device *d, const LibraryCall *call) {
  Sizes s = sizes(call);
  return each(d, call, s, s.out, (double)s.m * (double)s.n * (double)MIN(s.m, s.n), lu_one, "");
}

/* A = L L^T; only the lower triangle is read. */
static bool cholesky_one(const LibraryCall *call, const Sizes *s, int64_t which, double *work) {
  int64_t n = s->n;
  load(&call->src[0], which * n * n, n * n, work);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = j <= i ? work[i * n + j] : 0;
      for (int64_t c = 0; j <= i && c < j; c++) sum -= work[i * n + c] * work[j * n + c];
      if (j == i && !(sum > 0)) return false;
      work[i * n + j] = j > i ? 0 : j == i ? sqrt(sum) : sum / work[j * n + j];
    }
  store(&call->out, which * n * n, n * n, work);
  return true;
}

bool library_cholesky(Device *d, const LibraryCall *call) {
  Sizes s = sizes(call);
  double n = (double)s.n;
  return each(d, call, s, s.n * s.n, n * n * n / 3, cholesky_one, "is not positive definite");
}

/* ---- reflections ---- */

/* The reflection I - v v^T 2/(v^T v) that takes x to a multiple of the first unit vector: v in place of x, the multiple
 * in *to, 2/(v^T v) as the result; 0 where x is zero already. */
static double reflection(double *x, int64_t n, int64_t stride, double *to) {
  double size = 0;
  for (int64_t i = 0; i < n; i++) size = hypot(size, x[i * stride]);
  *to = x[0] > 0 ? -size : size;
  if (size == 0) return 0;
  x[0] -= *to;
  double square = 0;
  for (int64_t i = 0; i < n; i++) square += x[i * stride] * x[i * stride];
  return square > 0 ? 2 / square : 0;
}

/* A = Q R of A, m x n. r: A in, R out with its reflections gone; q: m x m. work: m. */
static void qr_in_place(double *r, double *q, int64_t m, int64_t n, double *work) {
  for (int64_t i = 0; i < m * m; i++) q[i] = i / m == i % m;
  int64_t steps = m > n ? n : m - 1;
  for (int64_t c = 0; c < steps; c++) {
    double to, *v = work;
    for (int64_t i = c; i < m; i++) v[i] = r[i * n + c];
    double f = reflection(v + c, m - c, 1, &to);
    if (f == 0) continue;
    for (int64_t j = c; j < n; j++) {
      double dot = 0;
      for (int64_t i = c; i < m; i++) dot += v[i] * r[i * n + j];
      for (int64_t i = c; i < m; i++) r[i * n + j] -= f * dot * v[i];
    }
    for (int64_t i = 0; i < m; i++) {
      double dot = 0;
      for (int64_t j = c; j < m; j++) dot += q[i * m + j] * v[j];
      for (int64_t j = c; j < m; j++) q[i * m + j] -= f * dot * v[j];
    }
  }
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < MIN(i, n); j++) r[i * n + j] = 0;
}

/* Q, m x m, then R, m x n. */
static bool qr_one(const LibraryCall *call, const Sizes *s, int64_t which, double *work) {
  int64_t m = s->m, n = s->n;
  double *q = work, *r = q + m * m;
  load(&call->src[0], which * m * n, m * n, r);
  qr_in_place(r, q, m, n, r + m * n);
  store(&call->out, which * s->out, s->out, work);
  return true;
}

bool library_qr(Device *d, const LibraryCall *call) {
  Sizes s = sizes(call);
  double m = (double)s.m, n = (double)s.n;
  return each(d, call, s, s.m * s.m + s.m * s.n + s.m, 4 * m * n * (m + n), qr_one, "");
}

/* ---- symmetric eigenvalues ---- */

/* A symmetric a to a tridiagonal one, diagonal d and e below it, by reflections whose product's columns are the rows of
 * q. work: 2 n. */
static void tridiagonal(double *a, int64_t n, double *d, double *e, double *q, double *work) {
  double *p = work, *v = work + n;
  for (int64_t i = 0; i < n * n; i++) q[i] = i / n == i % n;
  for (int64_t c = 0; c + 1 < n; c++) {
    int64_t left = n - c - 1;
    for (int64_t i = 0; i < left; i++) v[i] = a[(c + 1 + i) * n + c];
    double f = left > 1 ? reflection(v, left, 1, &e[c]) : (e[c] = v[0], 0);
    d[c] = a[c * n + c];
    if (f == 0) continue;
    double dot = 0;
    for (int64_t i = 0; i < left; i++) {
      const double *row = a + (c + 1 + i) * n + c + 1;
      p[i] = 0;
      for (int64_t j = 0; j < left; j++) p[i] += f * row[j] * v[j];
      dot += p[i] * v[i];
    }
    for (int64_t i = 0; i < left; i++) p[i] -= f / 2 * dot * v[i];
    for (int64_t i = 0; i < left; i++)
      for (int64_t j = 0; j < left; j++) a[(c + 1 + i) * n + c + 1 + j] -= v[i] * p[j] + p[i] * v[j];
    for (int64_t j = 0; j < n; j++) { /* q's rows c + 1 .. are reflected */
      dot = 0;
      for (int64_t i = 0; i < left; i++) dot += v[i] * q[(c + 1 + i) * n + j];
      p[j] = f * dot;
    }
    for (int64_t i = 0; i < left; i++)
      for (int64_t j = 0; j < n; j++) q[(c + 1 + i) * n + j] -= v[i] * p[j];
  }
  if (n) d[n - 1] = a[n * n - 1];
}

/* Two neighbouring rows of q turned by an angle. */
static void turn(double *q, int64_t n, int64_t row, double c, double s) {
  double *a = q + row * n, *b = a + n;
  for (int64_t j = 0; j < n; j++) {
    double t = b[j];
    b[j] = s * a[j] + c * t;
    a[j] = c * a[j] - s * t;
  }
}

/* One step with a shift on the rows first .. end of a tridiagonal matrix. */
static void shifted_step(double *d, double *e, double *q, int64_t n, int64_t first, int64_t end) {
  double g = (d[first + 1] - d[first]) / (2 * e[first]);
  g = d[end] - d[first] + e[first] / (g + copysign(hypot(g, 1), g));
  double s = 1, c = 1, p = 0;
  for (int64_t i = end - 1; i >= first; i--) {
    double f = s * e[i], b = c * e[i], r = hypot(f, g);
    e[i + 1] = r;
    if (r == 0) { /* it splits here */
      d[i + 1] -= p;
      e[end] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    turn(q, n, i, c, s);
  }
  d[first] -= p;
  e[first] = g;
  e[end] = 0;
}

/* Eigenvalues in d, in no order, and eigenvectors in the rows of q. e has n entries. False: no convergence (NaN). */
static bool diagonal(double *d, double *e, double *q, int64_t n) {
  if (n) e[n - 1] = 0;
  for (int64_t first = 0; first < n; first++)
    for (int tries = 0;; tries++) {
      int64_t end = first;
      while (end + 1 < n && !(fabs(e[end]) <= DBL_EPSILON * (fabs(d[end]) + fabs(d[end + 1])))) end++;
      if (end == first) break;
      if (tries == 60) return false;
      shifted_step(d, e, q, n, first, end);
    }
  return true;
}

/* Rows of q in the order of ascending d. */
static void ascending(double *d, double *q, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int64_t least = i;
    for (int64_t j = i + 1; j < n; j++)
      if (d[j] < d[least]) least = j;
    if (least == i) continue;
    double t = d[i];
    d[i] = d[least];
    d[least] = t;
    for (int64_t j = 0; j < n; j++) {
      t = q[i * n + j];
      q[i * n + j] = q[least * n + j];
      q[least * n + j] = t;
    }
  }
}

static bool symmetric(double *a, int64_t n, double *d, double *q, double *work) {
  tridiagonal(a, n, d, work, q, work + n);
  if (!diagonal(d, work, q, n)) return false;
  ascending(d, q, n);
  return true;
}

/* The eigenvalues, then the eigenvectors as columns; only the lower triangle is read. */
static bool eigh_one(const LibraryCall *call, const Sizes *s, int64_t which, double *work) {
  int64_t n = s->n;
  double *a = work, *q = a + n * n, *d = q + n * n;
  load(&call->src[0], which * n * n, n * n, a);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++) a[i * n + j] = a[j * n + i];
  if (!symmetric(a, n, d, q, d + n)) return false;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) a[j * n + i] = q[i * n + j];
  store(&call->out, which * s->out, n, d);
  store(&call->out, which * s->out + n, n * n, a);
  return true;
}

bool library_eigh(Device *d, const LibraryCall *call) {
  Sizes s = sizes(call);
  double n = (double)s.n;
  return each(d, call, s, 2 * s.n * s.n + 4 * s.n, 9 * n * n * n, eigh_one,
              "has no eigenvalues: it holds NaN or infinity");
}

/* ---- singular values ---- */

/* Rows of b (columns of the matrix) are turned in pairs until they are orthogonal, the rows of v with them. False: NaN.
 */
static bool orthogonal_rows(double *b, double *v, int64_t m, int64_t n) {
  for (int sweep = 0; sweep < 40; sweep++) {
    bool turned = false;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++) {
        double alpha = 0, beta = 0, gamma = 0, *x = b + p * m, *y = b + q * m;
        for (int64_t j = 0; j < m; j++) {
          alpha += x[j] * x[j];
          beta += y[j] * y[j];
          gamma += x[j] * y[j];
        }
        if (gamma == 0 || fabs(gamma) <= 1e-15 * sqrt(alpha * beta)) continue;
        turned = true;
        double zeta = (beta - alpha) / (2 * gamma), t = copysign(1 / (fabs(zeta) + hypot(zeta, 1)), zeta);
        double c = 1 / hypot(t, 1), s = c * t;
        for (int64_t j = 0; j < m; j++) {
          double old = x[j];
          x[j] = c * old - s * y[j];
          y[j] = s * old + c * y[j];
        }
        for (int64_t j = 0; j < n; j++) {
          double old = v[p * n + j];
          v[p * n + j] = c * old - s * v[q * n + j];
          v[q * n + j] = s * old + c * v[q * n + j];
        }
      }
    if (!turned) return true;
  }
  return false;
}

/* U, m x m, the singular values from the largest down, and V transposed, n x n; m >= n. The eigenvectors of A^T A are
 * nearly V: what is left to do after them is little, and as exact as without them. */
static bool svd_one(const LibraryCall *call, const Sizes *s, int64_t which, double *work) {
  int64_t m = s->m, n = s->n;
  double *u = work, *d = u + m * m, *v = d + n, *a = v + n * n, *b = a + m * n, *square = b + m * n,
         *rest = square + n * n;
  load(&call->src[0], which * m * n, m * n, a);
  for (int64_t i = 0; i < n * n; i++) square[i] = 0;
  for (int64_t r = 0; r < m; r++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) square[i * n + j] += a[r * n + i] * a[r * n + j];
  if (!symmetric(square, n, d, v, rest)) return false;
  for (int64_t i = 0; i < n / 2; i++) /* the largest first */
    for (int64_t j = 0; j < n; j++) {
      double t = v[i * n + j];
      v[i * n + j] = v[(n - 1 - i) * n + j];
      v[(n - 1 - i) * n + j] = t;
    }
  for (int64_t i = 0; i < n; i++)
    for (int64_t r = 0; r < m; r++) {
      b[i * m + r] = 0;
      for (int64_t j = 0; j < n; j++) b[i * m + r] += a[r * n + j] * v[i * n + j];
    }
  if (!orthogonal_rows(b, v, m, n)) return false;
  for (int64_t i = 0; i < n; i++) {
    d[i] = 0;
    for (int64_t r = 0; r < m; r++) d[i] = hypot(d[i], b[i * m + r]);
    d[i] = -d[i];
  }
  /* In order, with the rows of b: those of v have another length. */
  for (int64_t i = 0; i < n; i++) {
    int64_t most = i;
    for (int64_t j = i + 1; j < n; j++)
      if (d[j] < d[most]) most = j;
    double t = d[i];
    d[i] = d[most];
    d[most] = t;
    for (int64_t j = 0; most != i && j < MAX(m, n); j++) {
      if (j < m) t = b[i * m + j], b[i * m + j] = b[most * m + j], b[most * m + j] = t;
      if (j < n) t = v[i * n + j], v[i * n + j] = v[most * n + j], v[most * n + j] = t;
    }
    d[i] = -d[i];
  }
  /* The columns are orthogonal already: Q of their factors is they, up to signs, and what they lack. */
  for (int64_t i = 0; i < n; i++)
    for (int64_t r = 0; r < m; r++) a[r * n + i] = b[i * m + r];
  qr_in_place(a, u, m, n, rest);
  for (int64_t i = 0; i < n; i++)
    if (a[i * n + i] < 0)
      for (int64_t r = 0; r < m; r++) u[r * m + i] = -u[r * m + i];
  store(&call->out, which * s->out, s->out, work);
  return true;
}

bool library_svd(Device *d, const LibraryCall *call) {
  Sizes s = sizes(call);
  double m = (double)s.m, n = (double)s.n;
  int64_t room = s.m * s.m + s.n + 2 * s.n * s.n + 2 * s.m * s.n + 4 * (s.m + s.n);
  return each(d, call, s, room, 20 * m * n * (m + n), svd_one, "has no singular values: it holds NaN or infinity");
}
