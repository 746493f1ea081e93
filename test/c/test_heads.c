/* test_heads.c: multi-head attention over edges, forward and backward, for many numbers of heads and features: lanes of
 * two loops where they fit, of one where not. The compiled kernels against the interpreter, and the same bits on any
 * number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "polygrad.h"

enum { NODES = 40, EDGES = 200, SCORES = 3, RESULTS = 4 };

static int64_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static PolyTensor *values(PolyContext *ctx, int first, int ndim, const int64_t *shape) {
  int64_t n = 1;
  for (int i = 0; i < ndim; i++) n *= shape[i];
  float *x = malloc((size_t)n * sizeof *x);
  for (int i = 0; i < n; i++) x[i] = (float)(sin(1.0 + 12.9898 * (first + i)) * 0.9);
  PolyTensor *t = poly_from_data(ctx, x, POLY_FLOAT32, ndim, shape);
  free(x);
  return t;
}

/* The score of an edge a head: a sum of two ends, a dot product, or a dot product behind a leaky sum. */
static PolyTensor *score(PolyGraph *g, int kind, PolyTensor *x, PolyTensor *y, PolyTensor *a) {
  int last = -1;
  PolyTensor *from = poly_graph_src(g, x), *to = poly_graph_dst(g, y), *m;
  if (kind == 0)
    m = poly_leaky_relu(poly_add(poly_sum(from, 1, &last, false), poly_sum(to, 1, &last, false)), 0.2);
  else if (kind == 1)
    m = poly_sum(poly_mul(from, to), 1, &last, false);
  else
    m = poly_sum(poly_mul(poly_leaky_relu(poly_add(from, to), 0.2), a), 1, &last, false);
  return m;
}

/* out, and the gradients of x, y, z into result; all as one array. Returns how many floats. */
static size_t attention(const char *device, int threads, int kind, int heads, int features, float *result) {
  PolyContext *ctx = poly_context_new();
  assert_int_equal(poly_set_device(ctx, device), POLY_OK);
  poly_set_threads(ctx, threads);
  int64_t src[EDGES], dst[EDGES], shape[] = {NODES, heads, features};
  uint32_t state = 7;
  for (int e = 0; e < EDGES; e++) {
    src[e] = next(&state) % NODES;
    dst[e] = next(&state) % (NODES - 4); /* the last have no in-edges */
  }
  PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT64, EDGES, NODES, NODES);
  PolyTensor *x = values(ctx, 0, 3, shape), *y = values(ctx, 90000, 3, shape), *z = values(ctx, 180000, 3, shape);
  PolyTensor *weight = poly_graph_softmax(g, score(g, kind, x, y, values(ctx, 7, 2, shape + 1)), 'i');
  PolyTensor *out = poly_graph_reduce(g, poly_mul(poly_unsqueeze(weight, -1), poly_graph_src(g, z)), "sum", 'i');
  PolyTensor *leaf[] = {x, y, z}, *all[RESULTS] = {out};
  if (poly_grad(poly_sum(poly_square(out), 0, NULL, false), NULL, leaf, 3, all + 1) || poly_realize_many(all, RESULTS))
    fail_msg("%s", poly_error_text(ctx));
  size_t n = (size_t)NODES * (size_t)heads * (size_t)features;
  for (int i = 0; i < RESULTS; i++) memcpy(result + (size_t)i * n, poly_data(all[i]), n * sizeof *result);
  poly_context_free(ctx);
  return RESULTS * n;
}

static void heads_match_the_interpreter(void **state) {
  (void)state;
  static const int sizes[][2] = {{8, 8}, {2, 16}, {8, 32}, {3, 8}, {8, 12}};
  enum { MOST = RESULTS * NODES * 8 * 32 };
  static float want[MOST], one[MOST], three[MOST];
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (int kind = 0; kind < SCORES; kind++) {
      int h = sizes[s][0], d = sizes[s][1];
      size_t n = attention("INTERP", 1, kind, h, d, want);
      attention("CPU", 1, kind, h, d, one);
      attention("CPU", 3, kind, h, d, three);
      assert_memory_equal(one, three, n * sizeof *one);
      for (size_t i = 0; i < n; i++) {
        double off = fabs((double)one[i] - (double)want[i]);
        if (!(off <= 1e-4 * (1 + fabs((double)want[i]))))
          fail_msg("%d heads of %d, score %d: %g, not %g", h, d, kind, (double)one[i], (double)want[i]);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(heads_match_the_interpreter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
