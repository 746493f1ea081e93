/* test_graph.c: graphs: what is refused, row orders, derived graphs, the moves and their gradients against plain loops,
 * what the moves become (one kernel, nothing as large as edges times features), and who holds what. On the
 * interpreter. */
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
#include "graph_fixture.h"
#include "polygrad.h"

#define SHAPE(...)                                                                                                     \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]) { __VA_ARGS__ }

static Failing heap;

static int open_context(void **state) {
  heap = (Failing){.until = -1};
  *state = failing_context(&heap);
  assert_non_null(*state);
  return 0;
}

static int close_context(void **state) {
  poly_context_free(*state);
  assert_int_equal(heap.bytes, 0);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)

static const char *const ops[] = {"sum", "mean", "max", "min", "prod", "var", "std", "logsumexp"};
enum { OPS = sizeof ops / sizeof *ops };

/* ---- help ---- */

static void ok(PolyContext *ctx, const void *p) {
  if (!p) fail_msg("%s", poly_error_text(ctx));
}

static void read_into(PolyTensor *t, void *out, size_t bytes) {
  assert_non_null(t);
  if (poly_read(t, out, bytes) != POLY_OK) fail_msg("%s", poly_error_text(poly_context_of(t)));
}

static void expect_ints(PolyTensor *t, int n, const int32_t *want) {
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

static void expect_error(PolyContext *ctx, const void *result, PolyStatus want, const char *words) {
  assert_null(result);
  if (poly_error_code(ctx) != want || !strstr(poly_error_text(ctx), words))
    fail_msg("error %d \"%s\", not %d \"%s\"", poly_error_code(ctx), poly_error_text(ctx), want, words);
  poly_clear_error(ctx);
}

static PolyGraph *coo(PolyContext *ctx, int n, const int32_t *src, const int32_t *dst, int64_t nodes) {
  PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT32, n, nodes, nodes);
  ok(ctx, g);
  return g;
}

#define COO(ctx, nodes, n, ...) coo(ctx, n, (int32_t[]){__VA_ARGS__}, (int32_t[]){__VA_ARGS__} + (n), nodes)

/* Values of a [rows, width] tensor, and the tensor. */
static PolyTensor *values(PolyContext *ctx, PolyDType dtype, int rows, int width, int salt, double *out) {
  float single[MAX_EDGES * MAX_ROW];
  for (int i = 0; i < rows * width; i++) single[i] = (float)(out[i] = sample_value(i + salt));
  const void *data = dtype == POLY_FLOAT64 ? (const void *)out : single;
  PolyTensor *t = poly_from_data(ctx, data, dtype, SHAPE(rows, width));
  ok(ctx, t);
  return t;
}

/* ---- rows ---- */

/* rowptr, entries and others of one side by the plain method. */
static void naive_rows(int n, int rows, const int32_t *key, const int32_t *other, int32_t *out) {
  int32_t *edge = out + rows + 1, *beside = edge + n, at = 0;
  for (int e = 0; e < n; e++) out[key[e] + 1] = 0;
  memset(out, 0, (size_t)(rows + 1) * sizeof *out);
  for (int e = 0; e < n; e++) out[key[e] + 1]++;
  for (int v = 0; v < rows; v++) out[v + 1] += out[v];
  int32_t *next = malloc((size_t)(rows + 1) * sizeof *next);
  memcpy(next, out, (size_t)(rows + 1) * sizeof *next);
  for (int e = 0; e < n; e++) {
    at = next[key[e]]++;
    edge[at] = e;
    beside[at] = other[e];
  }
  free(next);
}

static void check_rows_of(PolyGraph *g, char side, int n, int rows, const int32_t *key, const int32_t *other) {
  int32_t *want = malloc((size_t)(rows + 1 + 2 * n) * sizeof *want);
  naive_rows(n, rows, key, other, want);
  expect_ints(poly_graph_rowptr(g, side), rows + 1, want);
  expect_ints(poly_graph_order(g, side), n, want + rows + 1);
  expect_ints(poly_graph_other(g, side), n, want + rows + 1 + n);
  for (int v = 0; v < rows; v++) want[v] = want[v + 1] - want[v];
  expect_ints(poly_graph_degree(g, side), rows, want);
  free(want);
}

static void check_order(PolyGraph *g, int n, int num_src, int num_dst, const int32_t *src, const int32_t *dst) {
  assert_int_equal(poly_graph_num_edges(g), n);
  assert_int_equal(poly_graph_num_src(g), num_src);
  assert_int_equal(poly_graph_num_dst(g), num_dst);
  expect_ints(poly_graph_src_index(g), n, src);
  expect_ints(poly_graph_dst_index(g), n, dst);
  check_rows_of(g, 'i', n, num_dst, dst, src);
  check_rows_of(g, 'o', n, num_src, src, dst);
}

static void rows_of_small_graphs(void **state) {
  PolyContext *ctx = *state;
  for (int k = 0; k < SAMPLES; k++) {
    Sample s = sample_make(k);
    int32_t src[MAX_EDGES], dst[MAX_EDGES];
    for (int e = 0; e < s.edges; e++) src[e] = (int32_t)s.from[e], dst[e] = (int32_t)s.to[e];
    PolyGraph *wide = sample_graph(ctx, &s);
    PolyGraph *narrow = poly_graph_from_coo(ctx, src, dst, POLY_INT32, s.edges, s.src, s.dst);
    ok(ctx, wide);
    ok(ctx, narrow);
    check_order(wide, s.edges, s.src, s.dst, src, dst);
    check_order(narrow, s.edges, s.src, s.dst, src, dst);
    poly_graph_free(wide);
    poly_graph_free(narrow);
  }
}

/* Large enough for groups and threads; the order must not depend on how many there are. */
static void rows_of_large_graphs(void **state) {
  PolyContext *ctx = *state;
  static const struct {
    int nodes, edges, hub; /* every hub-th edge goes to node 5 */
  } kind[] = {{100000, 70000, 0}, {3, 90000, 0}, {1, 70000, 0}, {1500, 120000, 2}, {200000, 3000, 7}};
  for (int k = 0; k < (int)(sizeof kind / sizeof *kind); k++) {
    int n = kind[k].edges, nodes = kind[k].nodes;
    int32_t *src = malloc((size_t)n * sizeof *src), *dst = malloc((size_t)n * sizeof *dst);
    uint64_t seed = 99;
    for (int e = 0; e < n; e++) {
      src[e] = (int32_t)(sample_random(&seed) % (uint64_t)nodes);
      dst[e] = kind[k].hub && e % kind[k].hub == 0 ? 5 : (int32_t)(sample_random(&seed) % (uint64_t)nodes);
    }
    for (int threads = 1; threads <= 5; threads += 2) {
      poly_set_threads(ctx, threads);
      PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT32, n, nodes, nodes);
      ok(ctx, g);
      check_order(g, n, nodes, nodes, src, dst);
      poly_graph_free(g);
    }
    free(src);
    free(dst);
  }
}

static void rows_given_as_rows(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = poly_graph_from_csr(ctx, (int64_t[]){0, 2, 2, 5}, (int64_t[]){4, 0, 1, 1, 3}, POLY_INT64, 3, 6);
  ok(ctx, g);
  check_order(g, 5, 6, 3, (int32_t[]){4, 0, 1, 1, 3}, (int32_t[]){0, 0, 2, 2, 2});
  poly_graph_free(g);
  g = poly_graph_from_csr(ctx, (int32_t[]){0}, NULL, POLY_INT32, 0, 4);
  ok(ctx, g);
  check_order(g, 0, 4, 0, NULL, NULL);
  poly_graph_free(g);
  g = poly_graph_from_csr(ctx, (int32_t[]){0, 1, 2}, (int32_t[]){1, 0}, POLY_INT32, 2, -1);
  ok(ctx, g);
  check_order(g, 2, 2, 2, (int32_t[]){1, 0}, (int32_t[]){0, 1});
  poly_graph_free(g);
}

static void counts_nodes_itself(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, -1, 3, 1, 7, 2, 0, 3, 3);
  assert_int_equal(poly_graph_num_src(g), 8);
  assert_int_equal(poly_graph_num_dst(g), 8);
  poly_graph_free(g);
  g = coo(ctx, 0, NULL, NULL, -1);
  assert_int_equal(poly_graph_num_src(g), 0);
  poly_graph_free(g);
}

/* ---- what is refused ---- */

static PolyGraph *wide(PolyContext *ctx, int64_t n, const int64_t *src, const int64_t *dst, int64_t a, int64_t b) {
  return poly_graph_from_coo(ctx, src, dst, POLY_INT64, n, a, b);
}

static void bad_graphs_are_named(void **state) {
  PolyContext *ctx = *state;
  int64_t good[] = {0, 1, 2}, high[] = {0, 12, 13}, low[] = {1, 0, -4}, huge[] = {0, INT64_C(1) << 32, 1};
  expect_error(ctx, wide(ctx, 3, high, good, 10, 10), POLY_ERROR_INDEX,
               "edge 1: source 12 is out of range for 10 nodes");
  expect_error(ctx, wide(ctx, 3, good, high, 3, 13), POLY_ERROR_INDEX, "edge 2: destination 13 is out of range");
  expect_error(ctx, wide(ctx, 3, good, low, 3, 3), POLY_ERROR_INDEX, "edge 2: destination -4 is negative");
  expect_error(ctx, wide(ctx, 3, low, good, -1, -1), POLY_ERROR_INDEX, "edge 2: source -4 is negative");
  expect_error(ctx, wide(ctx, 3, huge, good, 5, 5), POLY_ERROR_INDEX, "edge 1: source 4294967296");
  expect_error(ctx, wide(ctx, 3, huge, good, -1, -1), POLY_ERROR_VALUE, "4294967297 nodes");
  expect_error(ctx, wide(ctx, 3, good, good, INT64_C(1) << 31, 3), POLY_ERROR_VALUE, "2147483648 source nodes");
  expect_error(ctx, wide(ctx, INT64_C(1) << 31, good, good, 3, 3), POLY_ERROR_VALUE, "2147483648 edges");
  expect_error(ctx, wide(ctx, 3, good, good, -2, 3), POLY_ERROR_VALUE, "-2 source nodes");
  expect_error(ctx, wide(ctx, -1, good, good, 3, 3), POLY_ERROR_VALUE, "-1 edges");
  expect_error(ctx, wide(ctx, 3, NULL, good, 3, 3), POLY_ERROR_VALUE, "without their indices");
  expect_error(ctx, poly_graph_from_coo(ctx, good, good, POLY_FLOAT32, 3, 3, 3), POLY_ERROR_TYPE, "float32");
  int32_t col[] = {0, 1, 9};
  expect_error(ctx, poly_graph_from_csr(ctx, (int32_t[]){0, 2, 1, 3}, col, POLY_INT32, 3, 10), POLY_ERROR_VALUE,
               "row 1: the row pointers go down from 2 to 1");
  expect_error(ctx, poly_graph_from_csr(ctx, (int32_t[]){1, 2, 3}, col, POLY_INT32, 2, 10), POLY_ERROR_VALUE, "begin");
  expect_error(ctx, poly_graph_from_csr(ctx, (int32_t[]){0, 2, 3}, col, POLY_INT32, 2, 9), POLY_ERROR_INDEX,
               "edge 2: source 9 is out of range for 9 nodes");
  expect_error(ctx, poly_graph_from_csr(ctx, NULL, col, POLY_INT32, 2, 9), POLY_ERROR_VALUE, "without row pointers");
  PolyTensor *flat = poly_from_data(ctx, good, POLY_INT64, SHAPE(3)), *real = poly_ones(ctx, POLY_FLOAT32, SHAPE(2, 3));
  expect_error(ctx, poly_graph_of(flat, -1, -1), POLY_ERROR_VALUE, "(3,)");
  expect_error(ctx, poly_graph_of(real, -1, -1), POLY_ERROR_TYPE, "float32");
  assert_null(poly_graph_of(NULL, -1, -1));
}

static void bad_moves_are_named(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = wide(ctx, 3, (int64_t[]){0, 1, 2}, (int64_t[]){0, 1, 1}, 4, 2);
  PolyTensor *x = poly_ones(ctx, POLY_FLOAT32, SHAPE(4, 5)), *m = poly_ones(ctx, POLY_FLOAT32, SHAPE(3));
  PolyTensor *scalar = poly_scalar(ctx, POLY_FLOAT32, 1);
  expect_error(ctx, poly_graph_dst(g, x), POLY_ERROR_VALUE,
               "(4, 5) does not have a row for each of 2 destination nodes");
  expect_error(ctx, poly_graph_src(g, scalar), POLY_ERROR_VALUE, "4 source nodes");
  expect_error(ctx, poly_graph_reduce(g, x, "sum", 'i'), POLY_ERROR_VALUE, "3 edges");
  expect_error(ctx, poly_graph_reduce(g, m, "median", 'i'), POLY_ERROR_VALUE, "median");
  expect_error(ctx, poly_graph_reduce(g, m, NULL, 'i'), POLY_ERROR_VALUE, "sum, mean");
  expect_error(ctx, poly_graph_softmax(g, m, 'x'), POLY_ERROR_VALUE, "'x'");
  expect_error(ctx, poly_graph_degree(g, 'd'), POLY_ERROR_VALUE, "'d'");
  expect_error(ctx, poly_graph_with_self_loops(g, true), POLY_ERROR_VALUE, "4 source and 2 destination");
  expect_error(ctx, poly_graph_undirected(g), POLY_ERROR_VALUE, "one set of nodes");
  PolyContext *other = poly_context_new();
  PolyTensor *far = poly_ones(other, POLY_FLOAT32, SHAPE(4));
  expect_error(ctx, poly_graph_src(g, far), POLY_ERROR_VALUE, "two contexts");
  poly_context_free(other);
  assert_null(poly_graph_src(NULL, x));
  assert_null(poly_graph_src(g, NULL));
  assert_null(poly_graph_origin(g)); /* not derived: no error */
  assert_int_equal(poly_error_code(ctx), POLY_OK);
}

/* ---- derived graphs ---- */

static void derived_graphs(void **state) {
  PolyContext *ctx = *state;
  /*                            sources           destinations */
  PolyGraph *g = COO(ctx, 4, 6, 0, 1, 2, 0, 2, 1, 1, 0, 2, 1, 2, 2), *h;
  h = poly_graph_with_self_loops(g, false);
  check_order(h, 10, 4, 4, (int32_t[]){0, 1, 2, 0, 2, 1, 0, 1, 2, 3}, (int32_t[]){1, 0, 2, 1, 2, 2, 0, 1, 2, 3});
  EXPECT_INTS(poly_graph_origin(h), 0, 1, 2, 3, 4, 5, -1, -1, -1, -1);
  poly_graph_free(h);
  h = poly_graph_with_self_loops(g, true);
  check_order(h, 9, 4, 4, (int32_t[]){0, 1, 2, 0, 2, 1, 0, 1, 3}, (int32_t[]){1, 0, 2, 1, 2, 2, 0, 1, 3});
  EXPECT_INTS(poly_graph_origin(h), 0, 1, 2, 3, 4, 5, -1, -1, -1);
  poly_graph_free(h);
  h = poly_graph_without_self_loops(g);
  check_order(h, 4, 4, 4, (int32_t[]){0, 1, 0, 1}, (int32_t[]){1, 0, 1, 2});
  EXPECT_INTS(poly_graph_origin(h), 0, 1, 3, 5);
  poly_graph_free(h);
  h = poly_graph_undirected(g); /* only the way back of 1 -> 2 is missing */
  check_order(h, 7, 4, 4, (int32_t[]){0, 1, 2, 0, 2, 1, 2}, (int32_t[]){1, 0, 2, 1, 2, 2, 1});
  EXPECT_INTS(poly_graph_origin(h), 0, 1, 2, 3, 4, 5, 5);
  poly_graph_free(h);
  h = poly_graph_coalesced(g);
  check_order(h, 4, 4, 4, (int32_t[]){0, 1, 2, 1}, (int32_t[]){1, 0, 2, 2});
  EXPECT_INTS(poly_graph_origin(h), 0, 1, 2, 5);
  poly_graph_free(h);
  h = poly_graph_reversed(g);
  check_order(h, 6, 4, 4, (int32_t[]){1, 0, 2, 1, 2, 2}, (int32_t[]){0, 1, 2, 0, 2, 1});
  EXPECT_INTS(poly_graph_origin(h), 0, 1, 2, 3, 4, 5);
  poly_graph_free(h);
  poly_graph_free(g);
}

/* Ways back are added once, however often an edge is repeated; both kinds of derivation work on every sample. */
static void derived_from_samples(void **state) {
  PolyContext *ctx = *state;
  for (int k = 0; k < SAMPLES; k++) {
    Sample s = sample_make(k);
    PolyGraph *g = sample_graph(ctx, &s), *once = poly_graph_coalesced(g);
    ok(ctx, once);
    int distinct = 0, one_way = 0;
    for (int e = 0; e < s.edges; e++) {
      bool before = false, back = s.from[e] == s.to[e];
      for (int f = 0; f < e; f++) before |= s.from[f] == s.from[e] && s.to[f] == s.to[e];
      for (int f = 0; f < s.edges; f++) back |= s.from[f] == s.to[e] && s.to[f] == s.from[e];
      distinct += !before;
      one_way += !before && !back;
    }
    assert_int_equal(poly_graph_num_edges(once), distinct);
    if (s.src == s.dst) {
      PolyGraph *both = poly_graph_undirected(g), *again = poly_graph_undirected(both);
      ok(ctx, again);
      assert_int_equal(poly_graph_num_edges(both), s.edges + one_way);
      assert_int_equal(poly_graph_num_edges(again), s.edges + one_way);
      poly_graph_free(both);
      poly_graph_free(again);
    }
    poly_graph_free(once);
    poly_graph_free(g);
  }
}

static void derived_graphs_do_not_depend_on_threads(void **state) {
  PolyContext *ctx = *state;
  enum { N = 70000, NODES = 900 };
  int32_t *pair = malloc(2 * N * sizeof *pair), *first = malloc(4 * N * sizeof *first),
          *other = malloc(4 * N * sizeof *other);
  uint64_t seed = 5;
  for (int i = 0; i < 2 * N; i++) pair[i] = (int32_t)(sample_random(&seed) % NODES);
  int64_t count = 0;
  for (int threads = 1; threads <= 4; threads += 3) {
    poly_set_threads(ctx, threads);
    PolyGraph *g = coo(ctx, N, pair, pair + N, NODES), *h = poly_graph_undirected(g);
    ok(ctx, h);
    if (threads > 1) assert_int_equal(poly_graph_num_edges(h), count);
    count = poly_graph_num_edges(h);
    PolyTensor *t = poly_graph_src_index(h);
    read_into(t, threads == 1 ? first : other, (size_t)count * sizeof *first);
    poly_free(t);
    poly_graph_free(h);
    poly_graph_free(g);
  }
  assert_memory_equal(first, other, (size_t)count * sizeof *first);
  free(pair);
  free(first);
  free(other);
}

static void derived_graphs_are_kept(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 3, 2, 0, 1, 1, 2);
  PolyGraph *a = poly_graph_with_self_loops(g, true), *b = poly_graph_with_self_loops(g, true);
  assert_ptr_equal(a, b);
  PolyGraph *r = poly_graph_reversed(g), *rr = poly_graph_reversed(r);
  assert_ptr_equal(rr, g);
  poly_graph_free(rr);
  poly_graph_free(a);
  poly_graph_free(b);
  poly_graph_free(g); /* r lives on, and can be turned round again */
  check_order(r, 2, 3, 3, (int32_t[]){1, 2}, (int32_t[]){0, 1});
  rr = poly_graph_reversed(r);
  check_order(rr, 2, 3, 3, (int32_t[]){0, 1}, (int32_t[]){1, 2});
  poly_graph_free(r);
  EXPECT_INTS(poly_graph_rowptr(rr, 'i'), 0, 0, 1, 2);
  poly_graph_free(rr);
  assert_int_equal(poly_live_bytes(ctx), 0);
}

/* ---- the moves against plain loops ---- */

static void near(const char *what, const char *op, double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want))))
    fail_msg("%s of %s is %.9g, not %.9g", op, what, got, want);
}

static void ends_of_edges(void **state) {
  PolyContext *ctx = *state;
  enum { F = 3 };
  for (int k = 0; k < SAMPLES; k++) {
    Sample s = sample_make(k);
    PolyGraph *g = sample_graph(ctx, &s);
    double x[MAX_NODES * F];
    float got[MAX_EDGES * F];
    poly_scope_begin(ctx);
    for (int side = 0; side < 2; side++) {
      PolyTensor *node = values(ctx, POLY_FLOAT32, side ? s.dst : s.src, F, 7, x);
      read_into(side ? poly_graph_dst(g, node) : poly_graph_src(g, node), got, (size_t)(s.edges * F) * sizeof *got);
      const int64_t *end = side ? s.to : s.from;
      for (int i = 0; i < s.edges * F; i++) assert_true(got[i] == (float)x[end[i / F] * F + i % F]);
    }
    poly_scope_end(ctx);
    poly_graph_free(g);
  }
}

static void reductions_match(PolyContext *ctx, const Sample *s, PolyGraph *g, PolyDType dtype, char side) {
  enum { F = 6 };
  double m[MAX_EDGES * F], got[MAX_EDGES * F];
  int rows = sample_nodes(s, side);
  poly_scope_begin(ctx);
  PolyTensor *flat = values(ctx, dtype, s->edges, F, 3, m);
  PolyTensor *edge = poly_reshape(flat, SHAPE(s->edges, 2, 3)); /* heads */
  double tolerance = dtype == POLY_FLOAT64 ? 1e-12 : 3e-6;
  for (int k = 0; k < OPS; k++) {
    PolyTensor *y = poly_graph_reduce(g, edge, ops[k], side);
    ok(ctx, y);
    assert_int_equal(poly_ndim(y), 3);
    assert_int_equal(poly_dtype(y), dtype);
    read_into(poly_cast(y, POLY_FLOAT64), got, (size_t)(rows * F) * sizeof *got);
    for (int i = 0; i < rows * F; i++)
      near(s->name, ops[k], got[i], naive_reduce(s, ops[k], side, i / F, m, F, i % F), tolerance);
  }
  read_into(poly_cast(poly_graph_softmax(g, edge, side), POLY_FLOAT64), got, (size_t)(s->edges * F) * sizeof *got);
  for (int i = 0; i < s->edges * F; i++)
    near(s->name, "softmax", got[i], naive_softmax(s, side, i / F, m, F, i % F), tolerance);
  poly_scope_end(ctx);
}

static void reductions_over_rows(void **state) {
  for (int k = 0; k < SAMPLES; k++) {
    Sample s = sample_make(k);
    PolyGraph *g = sample_graph(*state, &s);
    reductions_match(*state, &s, g, POLY_FLOAT32, 'i');
    reductions_match(*state, &s, g, POLY_FLOAT32, 'o');
    reductions_match(*state, &s, g, POLY_FLOAT64, 'i');
    poly_graph_free(g);
  }
}

static void other_dtypes(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 3, 4, 0, 1, 2, 0, 0, 0, 0, 2);
  PolyTensor *m = poly_from_data(ctx, (int32_t[]){5, -7, 4, -9}, POLY_INT32, SHAPE(4));
  EXPECT_INTS(poly_graph_reduce(g, m, "sum", 'i'), 2, 0, -9);
  EXPECT_INTS(poly_graph_reduce(g, m, "max", 'i'), 5, 0, -9);
  EXPECT_INTS(poly_graph_reduce(g, m, "min", 'i'), -7, 0, -9);
  EXPECT_INTS(poly_graph_reduce(g, m, "prod", 'i'), -140, 1, -9);
  EXPECT_INTS(poly_graph_dst(g, poly_graph_degree(g, 'i')), 3, 3, 3, 1);
  float mean[3];
  read_into(poly_graph_reduce(g, m, "mean", 'i'), mean, sizeof mean);
  assert_float_equal(mean[0], 2.0 / 3, 1e-6);
  PolyTensor *b = poly_from_data(ctx, (uint8_t[]){1, 0, 1, 1}, POLY_BOOL, SHAPE(4));
  uint8_t any[3];
  read_into(poly_graph_reduce(g, b, "max", 'i'), any, sizeof any);
  assert_memory_equal(any, ((uint8_t[]){1, 0, 1}), 3);
  read_into(poly_graph_reduce(g, b, "prod", 'i'), any, sizeof any);
  assert_memory_equal(any, ((uint8_t[]){0, 1, 1}), 3);
  PolyTensor *h = poly_cast(m, POLY_FLOAT16), *sum = poly_graph_reduce(g, h, "sum", 'i');
  assert_int_equal(poly_dtype(sum), POLY_FLOAT16);
  read_into(poly_cast(sum, POLY_FLOAT32), mean, sizeof mean);
  assert_float_equal(mean[0], 2, 0);
  assert_int_equal(poly_dtype(poly_graph_softmax(g, h, 'i')), POLY_FLOAT16);
}

/* Values far apart, infinities, and rows of nothing but -inf. */
static void softmax_is_stable(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 3, 5, 0, 1, 2, 0, 1, 0, 0, 0, 2, 2);
  PolyTensor *m = poly_from_data(ctx, (float[]){1e30f, 1e30f, -1e30f, -INFINITY, -INFINITY}, POLY_FLOAT32, SHAPE(5));
  float w[5], l[3];
  read_into(poly_graph_softmax(g, m, 'i'), w, sizeof w);
  assert_memory_equal(w, ((float[]){0.5f, 0.5f, 0, 0, 0}), sizeof w);
  m = poly_from_data(ctx, (float[]){1000, 1000, -1000, 3, -INFINITY}, POLY_FLOAT32, SHAPE(5));
  read_into(poly_graph_reduce(g, m, "logsumexp", 'i'), l, sizeof l);
  assert_float_equal(l[0], 1000.693147, 1e-3);
  assert_float_equal(l[1], 0, 0);
  assert_float_equal(l[2], 3, 1e-6);
}

/* ---- gradients ---- */

/* loss = sum(f(x, m) * fixed weights): f is a small graph program of nodes x [V, 2] and edges m [E, 2]. */
typedef struct Program {
  const char *name;
  PolyTensor *(*run)(PolyGraph *g, PolyTensor *x, PolyTensor *m, const char *op, char side);
  bool one_set;
} Program;

static PolyTensor *run_reduce(PolyGraph *g, PolyTensor *x, PolyTensor *m, const char *op, char side) {
  return poly_graph_reduce(g, poly_mul(poly_graph_src(g, x), m), op, side);
}

static PolyTensor *run_attention(PolyGraph *g, PolyTensor *x, PolyTensor *m, const char *op, char side) {
  (void)op;
  PolyTensor *score = poly_leaky_relu(poly_add(poly_graph_src(g, x), poly_graph_dst(g, x)), 0.2);
  PolyTensor *weight = poly_graph_softmax(g, poly_add(score, m), side);
  return poly_graph_reduce(g, poly_mul(weight, poly_graph_src(g, x)), "sum", side);
}

/* A gradient of the program above: differentiating it once more must work too. */
static PolyTensor *run_second(PolyGraph *g, PolyTensor *x, PolyTensor *m, const char *op, char side) {
  bool plain = strcmp(op, "attention") != 0;
  PolyTensor *y = plain ? run_reduce(g, x, m, op, side) : run_attention(g, x, m, op, side), *grad = NULL;
  poly_grad(poly_sum(poly_square(y), 0, NULL, false), NULL, &x, 1, &grad);
  return grad;
}

static PolyTensor *loss_of(PolyContext *ctx, PolyGraph *g, const Program *p, const char *op, char side, PolyTensor *x,
                           PolyTensor *m) {
  double w[MAX_NODES * 2];
  PolyTensor *y = p->run(g, x, m, op, side);
  ok(ctx, y);
  return poly_sum(poly_mul(y, values(ctx, POLY_FLOAT64, (int)poly_dim(y, 0), 2, 50, w)), 0, NULL, false);
}

static void check_gradient(PolyContext *ctx, const Sample *s, PolyGraph *g, const Program *p, const char *op,
                           char side) {
  double v[2][MAX_EDGES * 2], got[MAX_EDGES * 2];
  int rows[2] = {s->src, s->edges};
  PolyTensor *t[2], *grad[2];
  poly_scope_begin(ctx);
  for (int k = 0; k < 2; k++) t[k] = values(ctx, POLY_FLOAT64, rows[k], 2, 11 * k, v[k]);
  if (poly_grad(loss_of(ctx, g, p, op, side, t[0], t[1]), NULL, t, 2, grad) != POLY_OK)
    fail_msg("%s", poly_error_text(ctx));
  for (int k = 0; k < 2; k++) {
    read_into(grad[k], got, (size_t)(rows[k] * 2) * sizeof *got);
    for (int i = 0; i < rows[k] * 2; i += 3) {
      double side_value[2], h = 1e-6, keep = v[k][i];
      for (int d = 0; d < 2; d++) {
        v[k][i] = keep + (d ? h : -h);
        PolyTensor *moved = poly_from_data(ctx, v[k], POLY_FLOAT64, SHAPE(rows[k], 2));
        side_value[d] = poly_item(loss_of(ctx, g, p, op, side, k ? t[0] : moved, k ? moved : t[1]));
      }
      v[k][i] = keep;
      char what[96];
      snprintf(what, sizeof what, "%s %s %c, %s %d", s->name, op, side, k ? "edge value" : "node value", i);
      near(what, "gradient", got[i], (side_value[1] - side_value[0]) / (2 * h), 2e-7);
    }
  }
  poly_scope_end(ctx);
}

static void gradients_match_differences(void **state) {
  static const Program reduce = {"reduce", run_reduce, false}, attention = {"attention", run_attention, true};
  for (int k = 0; k < SAMPLES; k++) {
    Sample s = sample_make(k);
    PolyGraph *g = sample_graph(*state, &s);
    for (int o = 0; o < OPS; o++) check_gradient(*state, &s, g, &reduce, ops[o], 'i');
    if (k == 0) check_gradient(*state, &s, g, &reduce, "max", 'o');
    if (s.src == s.dst) check_gradient(*state, &s, g, &attention, "attention", k % 2 ? 'o' : 'i');
    poly_graph_free(g);
  }
}

static void gradients_of_gradients(void **state) {
  static const Program second = {"gradient", run_second, true};
  static const char *const some[] = {"sum", "mean", "max", "prod", "var", "logsumexp", "attention"};
  Sample s = sample_make(0);
  PolyGraph *g = sample_graph(*state, &s);
  for (int k = 0; k < (int)(sizeof some / sizeof *some); k++) check_gradient(*state, &s, g, &second, some[k], 'i');
  poly_graph_free(g);
}

/* Rows without edges must not put NaN into anything: not even where a later gradient is large. */
static void empty_rows_have_clean_gradients(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 4, 2, 0, 1, 1, 1);
  PolyTensor *m = poly_from_data(ctx, (float[]){0.5f, 0.5f}, POLY_FLOAT32, SHAPE(2)), *grad;
  for (int k = 0; k < OPS; k++) {
    PolyTensor *y = poly_graph_reduce(g, m, ops[k], 'i'),
               *loss = poly_sum(poly_log(poly_add_scalar(y, 2)), 0, NULL, false);
    float got[2];
    assert_int_equal(poly_grad(loss, NULL, &m, 1, &grad), POLY_OK);
    read_into(grad, got, sizeof got);
    if (!isfinite(got[0]) || !isfinite(got[1])) fail_msg("gradient of %s: %g %g", ops[k], got[0], got[1]);
    poly_free(grad);
  }
}

/* ---- what the moves become ---- */

typedef struct Made {
  int64_t launches;
  int64_t largest; /* elements of the largest stored tensor that is not asked for */
} Made;

static Made profile_of(PolyContext *ctx, int n, PolyTensor *const *t) {
  Made made = {0};
  assert_int_equal(poly_profile_begin(ctx), POLY_OK);
  if (poly_realize_many(t, n) != POLY_OK) fail_msg("%s", poly_error_text(ctx));
  poly_profile_end(ctx);
  for (int k = 0; k < poly_profile_kernels(ctx); k++) {
    PolyKernelStat stat;
    poly_profile_kernel(ctx, k, &stat);
    made.launches += stat.count;
  }
  for (int k = 0; k < poly_profile_stored(ctx); k++) {
    PolyStoredStat stat;
    poly_profile_stored_at(ctx, k, &stat);
    int64_t numel = 1;
    for (int d = 0; d < stat.ndim; d++) numel *= stat.shape[d];
    if (numel > made.largest && strcmp(stat.why, "asked for") != 0) made.largest = numel;
    if (getenv("SHOW_STORED")) print_message("  stored %lld: %s\n", (long long)numel, stat.why);
  }
  return made;
}

enum { WIDE = 16, HEADS = 2, DEEP = 8 };

/* A graph with many more edges than nodes, and node values of it. */
typedef struct Scene {
  PolyGraph *g;
  int edges;
  PolyTensor *x, *h, *el, *er, *w;
} Scene;

static Scene scene_of(PolyContext *ctx) {
  enum { N = 40, E = 1200 };
  int32_t src[E], dst[E];
  uint64_t seed = 3;
  for (int e = 0; e < E; e++)
    src[e] = (int32_t)(sample_random(&seed) % N), dst[e] = (int32_t)(sample_random(&seed) % N);
  Scene s = {.g = coo(ctx, E, src, dst, N), .edges = E};
  s.x = poly_rand(ctx, POLY_FLOAT32, SHAPE(N, WIDE));
  s.h = poly_rand(ctx, POLY_FLOAT32, SHAPE(N, HEADS, DEEP));
  s.el = poly_rand(ctx, POLY_FLOAT32, SHAPE(N, HEADS));
  s.er = poly_rand(ctx, POLY_FLOAT32, SHAPE(N, HEADS));
  s.w = poly_rand(ctx, POLY_FLOAT32, SHAPE(E));
  PolyTensor *all[] = {s.x, s.h, s.el, s.er, s.w};
  assert_int_equal(poly_realize_many(all, 5), POLY_OK);
  return s;
}

static PolyTensor *gat(const Scene *s) {
  PolyTensor *score = poly_leaky_relu(poly_add(poly_graph_src(s->g, s->el), poly_graph_dst(s->g, s->er)), 0.2);
  PolyTensor *weight = poly_unsqueeze(poly_graph_softmax(s->g, score, 'i'), 2);
  return poly_graph_reduce(s->g, poly_mul(weight, poly_graph_src(s->g, s->h)), "sum", 'i');
}

static void aggregations_are_one_kernel(void **state) {
  PolyContext *ctx = *state;
  Scene s = scene_of(ctx);
  for (int k = 0; k < 4; k++) { /* sum, mean, max, min of the neighbours */
    PolyTensor *y = poly_graph_reduce(s.g, poly_graph_src(s.g, s.x), ops[k], 'i');
    Made made = profile_of(ctx, 1, &y);
    assert_int_equal(made.launches, 1);
    assert_int_equal(made.largest, 0);
  }
  PolyTensor *y = gat(&s);
  Made made = profile_of(ctx, 1, &y);
  assert_int_equal(made.launches, 1);
  assert_int_equal(made.largest, 0);
}

static void expect_narrow(PolyContext *ctx, const Scene *s, const char *what, PolyTensor *y, int n, PolyTensor **wrt) {
  PolyTensor *grad[3], *all[4] = {y};
  if (poly_grad(poly_sum(poly_square(y), 0, NULL, false), NULL, wrt, n, grad) != POLY_OK)
    fail_msg("%s", poly_error_text(ctx));
  for (int k = 0; k < n; k++) all[1 + k] = grad[k];
  Made made = profile_of(ctx, 1 + n, all);
  if (made.largest >= (int64_t)s->edges * WIDE) fail_msg("%s stores %lld elements", what, (long long)made.largest);
}

/* Neither forward nor backward keeps anything of the size of edges times features. */
static void gradients_store_nothing_wide(void **state) {
  PolyContext *ctx = *state;
  Scene s = scene_of(ctx);
  PolyTensor *from = poly_graph_src(s.g, s.x), *to = poly_graph_dst(s.g, s.x);
  for (int k = 0; k < OPS; k++)
    if (strcmp(ops[k], "std") != 0) expect_narrow(ctx, &s, ops[k], poly_graph_reduce(s.g, from, ops[k], 'i'), 1, &s.x);
  PolyTensor *weighted = poly_graph_reduce(s.g, poly_mul(poly_unsqueeze(s.w, 1), from), "sum", 'i');
  expect_narrow(ctx, &s, "weighted sum", weighted, 2, (PolyTensor *[]){s.x, s.w});
  PolyTensor *gated = poly_graph_reduce(s.g, poly_mul(poly_sigmoid(poly_add(from, to)), from), "sum", 'i');
  expect_narrow(ctx, &s, "gated sum", gated, 1, &s.x);
  expect_narrow(ctx, &s, "attention", gat(&s), 3, (PolyTensor *[]){s.h, s.el, s.er});
}

/* The same program again, and on other values, is the same plan. */
static void moves_reuse_plans(void **state) {
  PolyContext *ctx = *state;
  Scene s = scene_of(ctx);
  PolyTensor *y = gat(&s);
  assert_int_equal(poly_realize(y), POLY_OK);
  int64_t built = poly_plans_built(ctx);
  y = gat(&s);
  assert_int_equal(poly_realize(y), POLY_OK);
  assert_int_equal(poly_plans_built(ctx), built);
}

/* ---- who holds what ---- */

static void the_same_edge_index_is_the_same_graph(void **state) {
  PolyContext *ctx = *state;
  int64_t pairs[] = {0, 1, 2, 1, 2, 0};
  PolyTensor *t = poly_from_data(ctx, pairs, POLY_INT64, SHAPE(2, 3));
  PolyGraph *a = poly_graph_of(t, -1, -1), *b = poly_graph_of(t, -1, -1), *c = poly_graph_of(t, 5, 5);
  ok(ctx, a);
  assert_ptr_equal(a, b);
  assert_ptr_not_equal(a, c);
  assert_int_equal(poly_graph_num_src(c), 5);
  PolyTensor *same = poly_retain_copy(t);
  PolyGraph *d = poly_graph_of(same, -1, -1);
  assert_ptr_equal(a, d);
  /* written: another graph, and the old one stays as it was */
  assert_int_equal(poly_write(t, (int64_t[]){0, 1, 2, 0, 0, 0}, sizeof pairs), POLY_OK);
  PolyGraph *e = poly_graph_of(t, -1, -1);
  assert_ptr_not_equal(a, e);
  EXPECT_INTS(poly_graph_dst_index(e), 0, 0, 0);
  EXPECT_INTS(poly_graph_dst_index(a), 1, 2, 0);
  /* assigned */
  PolyTensor *value = poly_from_data(ctx, (int64_t[]){1, 1, 1, 2, 2, 2}, POLY_INT64, SHAPE(2, 3));
  assert_int_equal(poly_assign(t, value), POLY_OK);
  PolyGraph *f = poly_graph_of(t, -1, -1);
  ok(ctx, f);
  EXPECT_INTS(poly_graph_src_index(f), 1, 1, 1);
  /* a lazy tensor is realized first */
  PolyTensor *lazy = poly_binary_scalar(POLY_ADD, value, 'i', 1, 0, false);
  PolyGraph *h = poly_graph_of(lazy, -1, -1), *h2 = poly_graph_of(lazy, -1, -1);
  ok(ctx, h);
  EXPECT_INTS(poly_graph_dst_index(h), 3, 3, 3);
  assert_ptr_equal(h, h2);
  PolyGraph *all[] = {a, b, c, d, e, f, h, h2};
  for (int k = 0; k < 8; k++) poly_graph_free(all[k]);
}

/* Borrowed memory can change behind the library's back. */
static void borrowed_memory_is_compared(void **state) {
  PolyContext *ctx = *state;
  int32_t pairs[] = {0, 1, 2, 1, 2, 0};
  PolyTensor *t = poly_from_borrowed(ctx, pairs, POLY_INT32, SHAPE(2, 3), NULL, NULL);
  PolyGraph *a = poly_graph_of(t, -1, -1), *b = poly_graph_of(t, -1, -1);
  assert_ptr_equal(a, b);
  pairs[5] = 1;
  PolyGraph *c = poly_graph_of(t, -1, -1);
  EXPECT_INTS(poly_graph_dst_index(c), 1, 2, 1);
  EXPECT_INTS(poly_graph_dst_index(a), 1, 2, 0);
  pairs[0] = -1;
  expect_error(ctx, poly_graph_of(t, -1, -1), POLY_ERROR_INDEX, "edge 0: source -1");
  poly_graph_free(a);
  poly_graph_free(b);
  poly_graph_free(c);
}

/* Graphs of tensors that are gone do not pile up; the table is bounded. */
static void forgotten_tensors_free_their_graphs(void **state) {
  PolyContext *ctx = *state;
  int64_t most = 0;
  PolyTensor *kept[40];
  for (int k = 0; k < 40; k++) {
    int64_t pairs[] = {0, 1, 2, 1, 2, k};
    PolyTensor *t = poly_from_data(ctx, pairs, POLY_INT64, SHAPE(2, 3));
    PolyGraph *g = poly_graph_of(t, -1, -1);
    ok(ctx, g);
    poly_free(t);
    poly_graph_free(g);
    if (k == 1) most = poly_live_bytes(ctx);
    if (k > 1) assert_true(poly_live_bytes(ctx) <= most);
  }
  assert_int_equal(poly_live_bytes(ctx), 0);
  for (int k = 0; k < 40; k++) {
    kept[k] = poly_from_data(ctx, (int64_t[]){0, 1}, POLY_INT64, SHAPE(2, 1));
    poly_graph_free(poly_graph_of(kept[k], -1, -1));
  }
  assert_true(poly_live_bytes(ctx) <= 40 * 16 + 16 * 8);
  PolyGraph *last = poly_graph_of(kept[39], -1, -1), *again = poly_graph_of(kept[39], -1, -1);
  assert_ptr_equal(last, again);
  poly_graph_free(last);
  poly_graph_free(again);
}

static void tensors_outlive_their_graph(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 2, 2, 0, 1, 1, 1), *more = poly_graph_retain(g);
  PolyTensor *x = poly_from_data(ctx, (float[]){3, 4}, POLY_FLOAT32, SHAPE(2));
  PolyTensor *y = poly_graph_reduce(g, poly_graph_src(g, x), "sum", 'i'), *src = poly_graph_src_index(g);
  poly_graph_free(g);
  poly_graph_free(more);
  float got[2];
  read_into(y, got, sizeof got);
  assert_memory_equal(got, ((float[]){0, 7}), sizeof got);
  EXPECT_INTS(src, 0, 1);
}

/* A handle on an array of the graph is a copy to whoever writes to it. */
static void arrays_cannot_be_overwritten(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 2, 2, 0, 1, 1, 1);
  PolyTensor *a = poly_graph_src_index(g), *b = poly_graph_src_index(g), *zero = poly_zeros_like(a);
  assert_int_equal(poly_write(a, (int32_t[]){7, 7}, 8), POLY_OK);
  assert_int_equal(poly_assign(b, zero), POLY_OK);
  EXPECT_INTS(b, 0, 0);
  EXPECT_INTS(a, 7, 7);
  EXPECT_INTS(poly_graph_src_index(g), 0, 1);
}

/* ---- memory that runs out ---- */

static bool scenario(PolyContext *ctx) {
  bool fine = false;
  int64_t pairs[] = {0, 1, 2, 0, 1, 2, 0, 0};
  PolyTensor *t = poly_from_data(ctx, pairs, POLY_INT64, SHAPE(2, 4));
  PolyTensor *x = poly_ones(ctx, POLY_FLOAT32, SHAPE(3, 2));
  PolyGraph *g = poly_graph_of(t, -1, -1), *h = poly_graph_with_self_loops(g, true), *u = poly_graph_undirected(h);
  PolyGraph *r = poly_graph_reversed(u), *c = poly_graph_coalesced(r);
  PolyTensor *y = c ? poly_graph_reduce(c, poly_graph_src(c, x), "mean", 'i') : NULL;
  float got[6];
  fine = y && poly_read(y, got, sizeof got) == POLY_OK;
  PolyGraph *all[] = {g, h, u, r, c};
  for (int k = 0; k < 5; k++) poly_graph_free(all[k]);
  return fine;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  Failing f = {.until = -1};
  PolyContext *ctx = failing_context(&f);
  int64_t before = f.count;
  assert_true(scenario(ctx));
  int64_t count = f.count - before;
  poly_context_free(ctx);
  assert_int_equal(f.bytes, 0);
  assert_true(count > 20);
  for (int64_t n = 0; n < count; n++) {
    f = (Failing){.until = -1};
    ctx = failing_context(&f);
    f.until = n;
    poly_scope_begin(ctx);
    bool fine = scenario(ctx);
    if (!fine) assert_int_equal(poly_error_code(ctx), POLY_ERROR_MEMORY);
    poly_scope_end(ctx);
    f.until = -1;
    poly_clear_error(ctx);
    poly_scope_begin(ctx);
    assert_true(scenario(ctx)); /* the context still works */
    poly_scope_end(ctx);
    poly_context_free(ctx);
    assert_int_equal(f.bytes, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(rows_of_small_graphs),
      TEST(rows_of_large_graphs),
      TEST(rows_given_as_rows),
      TEST(counts_nodes_itself),
      TEST(bad_graphs_are_named),
      TEST(bad_moves_are_named),
      TEST(derived_graphs),
      TEST(derived_from_samples),
      TEST(derived_graphs_do_not_depend_on_threads),
      TEST(derived_graphs_are_kept),
      TEST(ends_of_edges),
      TEST(reductions_over_rows),
      TEST(other_dtypes),
      TEST(softmax_is_stable),
      TEST(gradients_match_differences),
      TEST(gradients_of_gradients),
      TEST(empty_rows_have_clean_gradients),
      TEST(aggregations_are_one_kernel),
      TEST(gradients_store_nothing_wide),
      TEST(moves_reuse_plans),
      TEST(the_same_edge_index_is_the_same_graph),
      TEST(borrowed_memory_is_compared),
      TEST(forgotten_tensors_free_their_graphs),
      TEST(tensors_outlive_their_graph),
      TEST(arrays_cannot_be_overwritten),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
