/* test_graph.c: graphs as objects: what is refused, row orders, derived graphs, who holds what, and what happens when
 * memory runs out. On the interpreter. */
#include "graph_fixture.h"

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
  expect_error(ctx, wide(ctx, 3, NULL, good, 3, 3), POLY_ERROR_VALUE, "argument src is NULL");
  expect_error(ctx, poly_graph_from_coo(ctx, good, good, POLY_FLOAT32, 3, 3, 3), POLY_ERROR_TYPE, "float32");
  int32_t col[] = {0, 1, 9};
  expect_error(ctx, poly_graph_from_csr(ctx, (int32_t[]){0, 2, 1, 3}, col, POLY_INT32, 3, 10), POLY_ERROR_VALUE,
               "row 1: the row pointers go down from 2 to 1");
  expect_error(ctx, poly_graph_from_csr(ctx, (int32_t[]){1, 2, 3}, col, POLY_INT32, 2, 10), POLY_ERROR_VALUE, "begin");
  expect_error(ctx, poly_graph_from_csr(ctx, (int32_t[]){0, 2, 3}, col, POLY_INT32, 2, 9), POLY_ERROR_INDEX,
               "edge 2: source 9 is out of range for 9 nodes");
  expect_error(ctx, poly_graph_from_csr(ctx, NULL, col, POLY_INT32, 2, 9), POLY_ERROR_VALUE, "argument rowptr is NULL");
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
  expect_error(ctx, poly_graph_undirected(g), POLY_ERROR_VALUE,
               "one set of nodes; this graph has 4 source and 2 destination");
  PolyContext *other = poly_context_new();
  PolyTensor *far = poly_ones(other, POLY_FLOAT32, SHAPE(4));
  expect_error(ctx, poly_graph_src(g, far), POLY_ERROR_VALUE, "two contexts");
  poly_context_free(other);
  expect_error(ctx, poly_graph_src(NULL, x), POLY_ERROR_VALUE, "argument g is NULL");
  expect_error(ctx, poly_graph_src(g, NULL), POLY_ERROR_VALUE, "argument x is NULL");
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

/* Between two sets of nodes a loop joins nodes of the same number. */
static void loops_between_two_sets(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = wide(ctx, 4, (int64_t[]){0, 1, 2, 3}, (int64_t[]){0, 0, 1, 1}, 4, 2), *h;
  h = poly_graph_with_self_loops(g, false);
  check_order(h, 6, 4, 2, (int32_t[]){0, 1, 2, 3, 0, 1}, (int32_t[]){0, 0, 1, 1, 0, 1});
  poly_graph_free(h);
  h = poly_graph_with_self_loops(g, true);
  check_order(h, 5, 4, 2, (int32_t[]){0, 1, 2, 3, 1}, (int32_t[]){0, 0, 1, 1, 1});
  EXPECT_INTS(poly_graph_origin(h), 0, 1, 2, 3, -1);
  poly_graph_free(h);
  h = poly_graph_without_self_loops(g);
  check_order(h, 3, 4, 2, (int32_t[]){1, 2, 3}, (int32_t[]){0, 1, 1});
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
      TEST(loops_between_two_sets),
      TEST(derived_from_samples),
      TEST(derived_graphs_do_not_depend_on_threads),
      TEST(derived_graphs_are_kept),
      TEST(the_same_edge_index_is_the_same_graph),
      TEST(borrowed_memory_is_compared),
      TEST(forgotten_tensors_free_their_graphs),
      TEST(tensors_outlive_their_graph),
      TEST(arrays_cannot_be_overwritten),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
