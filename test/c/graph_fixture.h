/* graph_fixture.h: what the tests of graphs share: a context that counts its memory, small graphs of every awkward
 * kind, and what a plain program makes of them, in doubles. */
#ifndef GRAPH_FIXTURE_H
#define GRAPH_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing.h"
#include "polygrad.h"

#define SHAPE(...)                                                                                                     \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]) { __VA_ARGS__ }

enum { MAX_EDGES = 64, MAX_NODES = 24, MAX_ROW = 8 };

typedef struct Sample {
  const char *name;
  int src, dst, edges; /* numbers of nodes and edges */
  int64_t from[MAX_EDGES], to[MAX_EDGES];
} Sample;

static inline uint64_t sample_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Numbers in (-1, 1) that are well apart, so that maxima have no ties. */
static inline double sample_value(int k) { return sin(1.0 + 12.9898 * k) * 0.9; }

enum { SAMPLES = 9 };

/* Sample k: random with isolated nodes, self loops and repeated edges, a hub at either end, sorted, no edges, one node
 * with and without a loop, no nodes, two sets of nodes. */
static inline Sample sample_make(int k) {
  static const struct {
    const char *name;
    int src, dst, edges;
  } kind[SAMPLES] = {{"random", 12, 12, 40},  {"loops and repeats", 5, 5, 30}, {"in-hub", 20, 20, 40},
                     {"out-hub", 20, 20, 40}, {"sorted", 10, 10, 32},          {"no edges", 6, 6, 0},
                     {"one node", 1, 1, 3},   {"no nodes", 0, 0, 0},           {"two sets of nodes", 9, 4, 24}};
  Sample s = {kind[k].name, kind[k].src, kind[k].dst, kind[k].edges, {0}, {0}};
  uint64_t state = (uint64_t)k + 1;
  for (int e = 0; e < s.edges; e++) {
    s.from[e] = (int64_t)(sample_random(&state) % (uint64_t)s.src);
    s.to[e] = (int64_t)(sample_random(&state) % (uint64_t)s.dst);
    if (k == 0) s.from[e] -= s.from[e] % 2, s.to[e] -= s.to[e] % 3 == 1; /* some nodes stay alone */
    if (k == 1 && e % 4 == 0) s.to[e] = s.from[e];
    if (k == 1 && e % 4 == 1) s.from[e] = s.from[e - 1], s.to[e] = s.to[e - 1];
    if (k == 2 && e % 2) s.to[e] = 7;
    if (k == 3 && e % 2) s.from[e] = 3;
    if (k == 4) s.to[e] = e * s.dst / s.edges;
  }
  return s;
}

static inline PolyGraph *sample_graph(PolyContext *ctx, const Sample *s) {
  return poly_graph_from_coo(ctx, s->from, s->to, POLY_INT64, s->edges, s->src, s->dst);
}

static inline int sample_nodes(const Sample *s, char side) { return side == 'i' ? s->dst : s->src; }
static inline const int64_t *sample_key(const Sample *s, char side) { return side == 'i' ? s->to : s->from; }

/* One column of a reduction over row v. */
static inline double naive_reduce(const Sample *s, const char *op, char side, int v, const double *m, int width,
                                  int f) {
  const int64_t *key = sample_key(s, side);
  double sum = 0, prod = 1, max = -INFINITY, min = INFINITY, square = 0, exps = 0;
  int n = 0;
  for (int e = 0; e < s->edges; e++) {
    double x = m[e * width + f];
    if (key[e] != v) continue;
    n++, sum += x, prod *= x, square += x * x, exps += exp(x), max = fmax(max, x), min = fmin(min, x);
  }
  if (strcmp(op, "prod") == 0) return prod;
  if (n == 0) return 0;
  double mean = sum / n, var = square / n - mean * mean;
  if (strcmp(op, "sum") == 0) return sum;
  if (strcmp(op, "mean") == 0) return mean;
  if (strcmp(op, "max") == 0) return max;
  if (strcmp(op, "min") == 0) return min;
  if (strcmp(op, "var") == 0) return var;
  if (strcmp(op, "std") == 0) return var > 1e-5 ? sqrt(var) : 0;
  return log(exps); /* logsumexp */
}

/* The weight of edge e among the edges of its row. */
static inline double naive_softmax(const Sample *s, char side, int e, const double *m, int width, int f) {
  const int64_t *key = sample_key(s, side);
  double total = 0;
  for (int k = 0; k < s->edges; k++)
    if (key[k] == key[e]) total += exp(m[k * width + f]);
  return exp(m[e * width + f]) / total;
}

/* ---- contexts, expectations ---- */

static Failing heap;

static inline int open_context(void **state) {
  heap = (Failing){.until = -1};
  *state = failing_context(&heap);
  assert_non_null(*state);
  return 0;
}

static inline int close_context(void **state) {
  poly_context_free(*state);
  assert_int_equal(heap.bytes, 0);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)

static inline void ok(PolyContext *ctx, const void *p) {
  if (!p) fail_msg("%s", poly_error_text(ctx));
}

static inline void read_into(PolyTensor *t, void *out, size_t bytes) {
  assert_non_null(t);
  if (poly_read(t, out, bytes) != POLY_OK) fail_msg("%s", poly_error_text(poly_context_of(t)));
}

static inline void expect_ints(PolyTensor *t, int n, const int32_t *want) {
  int32_t *got = malloc((size_t)n * sizeof *got + 1);
  assert_int_equal(poly_numel(t), n);
  assert_int_equal(poly_dtype(t), POLY_INT32);
  read_into(t, got, (size_t)n * sizeof *got);
  for (int i = 0; i < n; i++)
    if (got[i] != want[i]) fail_msg("element %d is %d, not %d", i, got[i], want[i]);
  free(got);
  poly_free(t);
}

#define EXPECT_INTS(t, ...)                                                                                            \
  expect_ints(t, (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (int32_t[]){__VA_ARGS__})

static inline void expect_error(PolyContext *ctx, const void *result, PolyStatus want, const char *words) {
  assert_null(result);
  if (poly_error_code(ctx) != want || !strstr(poly_error_text(ctx), words))
    fail_msg("error %d \"%s\", not %d \"%s\"", poly_error_code(ctx), poly_error_text(ctx), want, words);
  poly_clear_error(ctx);
}

static inline PolyGraph *coo(PolyContext *ctx, int n, const int32_t *src, const int32_t *dst, int64_t nodes) {
  PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT32, n, nodes, nodes);
  ok(ctx, g);
  return g;
}

#define COO(ctx, nodes, n, ...) coo(ctx, n, (int32_t[]){__VA_ARGS__}, (int32_t[]){__VA_ARGS__} + (n), nodes)

#endif
