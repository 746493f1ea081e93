/* gat.c: a GAT layer's aggregation (8 heads of 8 features), forward and backward, written by hand beside what the
 * compiler makes of it. One thread, CPU time, the best of several runs, on a power-law graph of the size of ogbn-arxiv.
 *
 *   cc -O3 -march=native -Iinclude bench/hand/gat.c build/libpolygrad.a -fopenmp -lm -ldl -o gat && ./gat
 *
 * By hand: forward is one kernel of three loops over a node's in-edges (max, sum, weighted sum); backward is a kernel
 * by destination (a dot product an edge, its weighted sum t, the gradient of er) and one by source (those of x and el).
 */
#define _GNU_SOURCE
#include <polygrad.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { V = 169343, E = 2315598, H = 8, D = 8, F = H * D, RUNS = 9 };

typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef f8 f8u __attribute__((aligned(4), may_alias));
typedef f16 f16u __attribute__((aligned(4), may_alias));

static double cpu_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- the graph ---- */

static uint64_t seed = 88172645463325252ull;
static double uniform(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return (double)(seed >> 11) * 0x1p-53;
}

static void power_law(int32_t *src, int32_t *dst) {
  int levels = 0;
  while ((1 << levels) < V) levels++;
  int32_t *name = malloc(sizeof *name * V);
  for (int i = 0; i < V; i++) name[i] = i;
  for (int i = V - 1; i > 0; i--) {
    int j = (int)(uniform() * (i + 1)), t = name[i];
    name[i] = name[j], name[j] = t;
  }
  for (int e = 0; e < E;) {
    int a = 0, b = 0;
    for (int l = 0; l < levels; l++) {
      double r = uniform();
      a = 2 * a + (r >= .76), b = 2 * b + ((r >= .57 && r < .76) || r >= .95);
    }
    if (a < V && b < V) src[e] = name[a], dst[e] = name[b], e++;
  }
  free(name);
}

/* Rows of `by`: begin of each, the other end and the number of each entry. */
typedef struct Rows {
  int32_t *begin, *other, *edge;
} Rows;

static Rows sort_by(const int32_t *by, const int32_t *other) {
  Rows r = {calloc(V + 2, 4), malloc(4 * E), malloc(4 * E)};
  for (int e = 0; e < E; e++) r.begin[by[e] + 2]++;
  for (int v = 0; v < V; v++) r.begin[v + 2] += r.begin[v + 1];
  for (int e = 0; e < E; e++) {
    int at = r.begin[by[e] + 1]++;
    r.other[at] = other[e], r.edge[at] = e;
  }
  return r;
}

/* ---- by hand ---- */

static inline f8 load8(const float *p) { return *(const f8u *)p; }
static inline f16 load16(const float *p) { return *(const f16u *)p; }
static inline f8 pick(i8 m, f8 a, f8 b) { return (f8)((m & (i8)a) | (~m & (i8)b)); }

static inline f8 exp8(f8 x) {
  x = pick(x < -87.0f, (f8){0} - 87.0f, x);
  f8 n = x * 1.44269504f + 12582912.0f;
  i8 k = (i8)n << 23;
  n -= 12582912.0f;
  f8 r = x - n * 0.693359375f + n * 2.12194440e-4f;
  f8 p = r * 1.9875691e-4f + 1.3981999e-3f;
  p = p * r + 8.3334519e-3f, p = p * r + 4.1665796e-2f, p = p * r + 1.6666665e-1f, p = p * r + 5.0000001e-1f;
  p = p * r * r + r + 1.0f;
  return (f8)((i8)p + k);
}

static inline f8 leaky(f8 x) { return pick(x < 0.0f, x * 0.2f, x); }
#define HEADS(v, k)                                                                                                    \
  __builtin_shufflevector(v, v, k, k, k, k, k, k, k, k, k + 1, k + 1, k + 1, k + 1, k + 1, k + 1, k + 1, k + 1)

static void hand_forward(const Rows *in, const float *x, const float *el, const float *er, float *m, float *s,
                         float *out) {
  for (int v = 0; v < V; v++) {
    int from = in->begin[v], to = in->begin[v + 1];
    f8 own = load8(er + v * H), top = (f8){0} - INFINITY, sum = {0};
    for (int e = from; e < to; e++) {
      f8 l = leaky(load8(el + in->other[e] * H) + own);
      top = pick(l > top, l, top);
    }
    for (int e = from; e < to; e++) sum += exp8(leaky(load8(el + in->other[e] * H) + own) - top);
    sum += 1e-16f;
    f16 a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
    for (int e = from; e < to; e++) {
      int u = in->other[e];
      f8 w = exp8(leaky(load8(el + u * H) + own) - top) / sum;
      const float *row = x + (size_t)u * F;
      a0 += HEADS(w, 0) * load16(row), a1 += HEADS(w, 2) * load16(row + 16);
      a2 += HEADS(w, 4) * load16(row + 32), a3 += HEADS(w, 6) * load16(row + 48);
    }
    *(f8u *)(m + v * H) = top, *(f8u *)(s + v * H) = sum;
    f16u *to16 = (f16u *)(out + (size_t)v * F);
    to16[0] = a0, to16[1] = a1, to16[2] = a2, to16[3] = a3;
  }
}

static inline f16 pairs(f16 a, f16 b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
         __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

static inline f8 dots(const f16 g[4], const float *row) {
  f16 a = pairs(pairs(g[0] * load16(row), g[1] * load16(row + 16)),
                pairs(g[2] * load16(row + 32), g[3] * load16(row + 48)));
  return __builtin_shufflevector(a, a, 0, 2, 4, 6, 8, 10, 12, 14) +
         __builtin_shufflevector(a, a, 1, 3, 5, 7, 9, 11, 13, 15);
}

static void hand_by_dst(const Rows *in, const float *x, const float *el, const float *er, const float *m,
                        const float *s, const float *g, float *da, float *t, float *der) {
  for (int v = 0; v < V; v++) {
    int from = in->begin[v], to = in->begin[v + 1];
    f8 own = load8(er + v * H), top = load8(m + v * H), one = 1.0f / load8(s + v * H), sum = {0}, d = {0};
    f16 row[4];
    for (int k = 0; k < 4; k++) row[k] = load16(g + (size_t)v * F + 16 * k);
    for (int e = from; e < to; e++) {
      int u = in->other[e];
      f8 w = exp8(leaky(load8(el + u * H) + own) - top) * one, dot = dots(row, x + (size_t)u * F);
      *(f8u *)(da + (size_t)in->edge[e] * H) = dot;
      sum += w * dot;
    }
    *(f8u *)(t + v * H) = sum;
    for (int e = from; e < to; e++) {
      f8 l = load8(el + in->other[e] * H) + own, w = exp8(leaky(l) - top) * one;
      f8 dl = w * (load8(da + (size_t)in->edge[e] * H) - sum);
      d += pick(l < 0.0f, dl * 0.2f, dl);
    }
    *(f8u *)(der + v * H) = d;
  }
}

static void hand_by_src(const Rows *out, const float *el, const float *er, const float *m, const float *s,
                        const float *g, const float *da, const float *t, float *dx, float *del) {
  for (int u = 0; u < V; u++) {
    f8 own = load8(el + u * H), d = {0};
    f16 a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
    for (int e = out->begin[u]; e < out->begin[u + 1]; e++) {
      int v = out->other[e];
      f8 l = own + load8(er + v * H), w = exp8(leaky(l) - load8(m + v * H)) / load8(s + v * H);
      f8 dl = w * (load8(da + (size_t)out->edge[e] * H) - load8(t + v * H));
      d += pick(l < 0.0f, dl * 0.2f, dl);
      const float *row = g + (size_t)v * F;
      a0 += HEADS(w, 0) * load16(row), a1 += HEADS(w, 2) * load16(row + 16);
      a2 += HEADS(w, 4) * load16(row + 32), a3 += HEADS(w, 6) * load16(row + 48);
    }
    *(f8u *)(del + u * H) = d;
    f16u *to16 = (f16u *)(dx + (size_t)u * F);
    to16[0] = a0, to16[1] = a1, to16[2] = a2, to16[3] = a3;
  }
}

/* ---- both ---- */

static double worst(const float *a, const float *b, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - b[i]) / (1 + fabs((double)b[i])));
  return most;
}

static PolyTensor *layer(PolyGraph *g, PolyTensor *x, PolyTensor *el, PolyTensor *er) {
  PolyTensor *a = poly_graph_src(g, el), *b = poly_graph_dst(g, er), *sum = poly_add(a, b);
  PolyTensor *l = poly_leaky_relu(sum, 0.2), *w = poly_graph_softmax(g, l, 'i'), *w3 = poly_unsqueeze(w, -1);
  PolyTensor *h = poly_graph_src(g, x), *m = poly_mul(w3, h), *out = poly_graph_reduce(g, m, "sum", 'i');
  PolyTensor *all[] = {a, b, sum, l, w, w3, h, m};
  for (int i = 0; i < 8; i++) poly_free(all[i]);
  return out;
}

static float *floats(size_t n) { return calloc(n, sizeof(float)); }

int main(int argc, char **argv) {
  int32_t *src = malloc(4 * E), *dst = malloc(4 * E);
  power_law(src, dst);
  Rows in = sort_by(dst, src), out = sort_by(src, dst);
  PolyContext *c = poly_context_new();
  poly_set_threads(c, 1);
  PolyGraph *g = poly_graph_from_coo(c, src, dst, POLY_INT32, E, V, V);
  PolyTensor *x = poly_contiguous(poly_randn(c, POLY_FLOAT32, 3, (int64_t[]){V, H, D}));
  PolyTensor *el = poly_contiguous(poly_randn(c, POLY_FLOAT32, 2, (int64_t[]){V, H}));
  PolyTensor *er = poly_contiguous(poly_randn(c, POLY_FLOAT32, 2, (int64_t[]){V, H}));
  PolyTensor *dy = poly_contiguous(poly_randn(c, POLY_FLOAT32, 3, (int64_t[]){V, H, D}));
  PolyTensor *leaf[] = {x, el, er, dy};
  if (poly_realize_many(leaf, 4)) return puts(poly_error_text(c)), 1;
  const float *X = poly_data(x), *L = poly_data(el), *R = poly_data(er), *G = poly_data(dy);
  float *m = floats(V * H), *s = floats(V * H), *y = floats(V * F), *da = floats((size_t)E * H), *t = floats(V * H);
  float *der = floats(V * H), *dx = floats(V * F), *del = floats(V * H);
  double best[5] = {1e9, 1e9, 1e9, 1e9, 1e9};
  for (int r = 0; r < RUNS; r++) {
    double at[6];
    at[0] = cpu_ms();
    hand_forward(&in, X, L, R, m, s, y);
    at[1] = cpu_ms();
    hand_by_dst(&in, X, L, R, m, s, G, da, t, der);
    at[2] = cpu_ms();
    hand_by_src(&out, L, R, m, s, G, da, t, dx, del);
    at[3] = cpu_ms();
    PolyTensor *o = layer(g, x, el, er), *grad[3];
    if (poly_grad(o, dy, leaf, 3, grad)) return puts(poly_error_text(c)), 1;
    if (poly_realize(o)) return puts(poly_error_text(c)), 1;
    at[4] = cpu_ms();
    if (r == RUNS - 1 && argc > 1) poly_set_debug(c, atoi(argv[1]));
    at[5] = cpu_ms();
    if (poly_realize_many(grad, 3)) return puts(poly_error_text(c)), 1;
    double end = cpu_ms();
    best[0] = fmin(best[0], at[1] - at[0]), best[1] = fmin(best[1], at[2] - at[1]),
    best[2] = fmin(best[2], at[3] - at[2]);
    best[3] = fmin(best[3], at[4] - at[3]), best[4] = fmin(best[4], end - at[5]);
    if (r == 0)
      printf("differences: out %.1e, x %.1e, el %.1e, er %.1e\n", worst(poly_data(o), y, V * F),
             worst(poly_data(grad[0]), dx, V * F), worst(poly_data(grad[1]), del, V * H),
             worst(poly_data(grad[2]), der, V * H));
    poly_free(o);
    for (int i = 0; i < 3; i++) poly_free(grad[i]);
  }
  printf("CPU ms           by hand   compiled\n");
  printf("forward         %8.1f   %8.1f\n", best[0], best[3]);
  printf("backward        %8.1f   %8.1f   (by hand: by destination %.1f, by source %.1f)\n", best[1] + best[2], best[4],
         best[1], best[2]);
  return 0;
}
