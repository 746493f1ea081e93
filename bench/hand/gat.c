/* gat.c: a GAT layer's aggregation (8 heads of 8 features), forward and backward, by hand. Forward is one kernel of
 * three loops over a node's in-edges (largest score, sum of exponentials, weighted sum). Backward is a kernel by
 * destination (a dot product an edge, its weighted sum t, the gradient of er) and one by source (those of x and el). */
#include "kernels.h"

enum { H = 8, D = 8, F = H * D };

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

/* Heads k and k + 1 of v, each over the features of its head. */
#define HEADS(v, k)                                                                                                    \
  __builtin_shufflevector(v, v, k, k, k, k, k, k, k, k, k + 1, k + 1, k + 1, k + 1, k + 1, k + 1, k + 1, k + 1)

void gat_forward(const Rows *in, const float *x, const float *el, const float *er, float *m, float *s, float *out) {
#pragma omp parallel for schedule(dynamic, ROWS_AT_ONCE)
  for (int32_t v = 0; v < in->rows; v++) {
    int32_t from = in->begin[v], to = in->begin[v + 1];
    f8 own = load8(er + v * H), top = (f8){0} - INFINITY, sum = {0};
    for (int32_t e = from; e < to; e++) {
      f8 l = leaky(load8(el + in->other[e] * H) + own);
      top = pick(l > top, l, top);
    }
    for (int32_t e = from; e < to; e++) sum += exp8(leaky(load8(el + in->other[e] * H) + own) - top);
    sum += 1e-16f;
    f16 a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
    for (int32_t e = from; e < to; e++) {
      int32_t u = in->other[e];
      f8 w = exp8(leaky(load8(el + u * H) + own) - top) / sum;
      const float *row = x + (size_t)u * F;
      a0 += HEADS(w, 0) * load16(row), a1 += HEADS(w, 2) * load16(row + 16);
      a2 += HEADS(w, 4) * load16(row + 32), a3 += HEADS(w, 6) * load16(row + 48);
    }
    store8(m + v * H, top), store8(s + v * H, sum);
    float *to16 = out + (size_t)v * F;
    store16(to16, a0), store16(to16 + 16, a1), store16(to16 + 32, a2), store16(to16 + 48, a3);
  }
}

/* Sums of neighbouring lanes of a and b, one after the other. */
static inline f16 pairs(f16 a, f16 b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
         __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

/* A dot product a head. */
static inline f8 dots(const f16 g[4], const float *row) {
  f16 a = pairs(pairs(g[0] * load16(row), g[1] * load16(row + 16)),
                pairs(g[2] * load16(row + 32), g[3] * load16(row + 48)));
  return __builtin_shufflevector(a, a, 0, 2, 4, 6, 8, 10, 12, 14) +
         __builtin_shufflevector(a, a, 1, 3, 5, 7, 9, 11, 13, 15);
}

void gat_by_dst(const Rows *in, const float *x, const float *el, const float *er, const float *m, const float *s,
                const float *g, float *da, float *t, float *der) {
#pragma omp parallel for schedule(dynamic, ROWS_AT_ONCE)
  for (int32_t v = 0; v < in->rows; v++) {
    int32_t from = in->begin[v], to = in->begin[v + 1];
    f8 own = load8(er + v * H), top = load8(m + v * H), one = 1.0f / load8(s + v * H), sum = {0}, d = {0};
    f16 row[4];
    for (int k = 0; k < 4; k++) row[k] = load16(g + (size_t)v * F + 16 * k);
    for (int32_t e = from; e < to; e++) {
      int32_t u = in->other[e];
      f8 w = exp8(leaky(load8(el + u * H) + own) - top) * one, dot = dots(row, x + (size_t)u * F);
      store8(da + (size_t)in->edge[e] * H, dot);
      sum += w * dot;
    }
    store8(t + v * H, sum);
    for (int32_t e = from; e < to; e++) {
      f8 l = load8(el + in->other[e] * H) + own, w = exp8(leaky(l) - top) * one;
      f8 dl = w * (load8(da + (size_t)in->edge[e] * H) - sum);
      d += pick(l < 0.0f, dl * 0.2f, dl);
    }
    store8(der + v * H, d);
  }
}

void gat_by_src(const Rows *out, const float *el, const float *er, const float *m, const float *s, const float *g,
                const float *da, const float *t, float *dx, float *del) {
#pragma omp parallel for schedule(dynamic, ROWS_AT_ONCE)
  for (int32_t u = 0; u < out->rows; u++) {
    f8 own = load8(el + u * H), d = {0};
    f16 a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0};
    for (int32_t e = out->begin[u]; e < out->begin[u + 1]; e++) {
      int32_t v = out->other[e];
      f8 l = own + load8(er + v * H), w = exp8(leaky(l) - load8(m + v * H)) / load8(s + v * H);
      f8 dl = w * (load8(da + (size_t)out->edge[e] * H) - load8(t + v * H));
      d += pick(l < 0.0f, dl * 0.2f, dl);
      const float *row = g + (size_t)v * F;
      a0 += HEADS(w, 0) * load16(row), a1 += HEADS(w, 2) * load16(row + 16);
      a2 += HEADS(w, 4) * load16(row + 32), a3 += HEADS(w, 6) * load16(row + 48);
    }
    store8(del + u * H, d);
    float *to16 = dx + (size_t)u * F;
    store16(to16, a0), store16(to16 + 16, a1), store16(to16 + 32, a2), store16(to16 + 48, a3);
  }
}
