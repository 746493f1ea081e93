/* test_points.c: neighbours among points, pairs, contractions and products of graphs: against plain loops over all
 * pairs, for any number of threads; what is refused; and what happens when memory runs out. */
#include "graph_fixture.h"

enum { POINTS = 700, FEATURES = 12, PAIRS = 4096 };

static double cloud[POINTS * FEATURES];
static int64_t got[2 * POINTS * 64], before[2 * POINTS * 64];

/* Points on a grid of 5 values a side, so that many distances are equal. */
static PolyTensor *points(PolyContext *ctx, int n, int features, uint64_t seed) {
  for (int i = 0; i < n * features; i++) cloud[i] = (double)(sample_random(&seed) % 5);
  return poly_from_data(ctx, cloud, POLY_FLOAT64, SHAPE(n, features));
}

static double distance(int i, int j, int features) {
  double sum = 0;
  for (int f = 0; f < features; f++) sum += pow(cloud[i * features + f] - cloud[j * features + f], 2);
  return sum;
}

static int64_t read_pairs(PolyTensor *t, int64_t *out) {
  assert_non_null(t);
  int64_t n = poly_dim(t, 1);
  assert_true(2 * n <= (int64_t)(sizeof got / sizeof *got));
  if (n) assert_int_equal(poly_read(t, out, 2 * (size_t)n * sizeof *out), POLY_OK);
  poly_free(t);
  return n;
}

/* How many points of i's group come before j: nearer, or as near with a smaller number. */
static int place_of(int i, int j, int features, int begin, int end) {
  int count = 0;
  for (int p = begin; p < end; p++) {
    double a = distance(i, p, features), b = distance(i, j, features);
    count += p != i && (a < b || (a == b && p < j));
  }
  return count;
}

static void nearest_points(void **state) {
  PolyContext *ctx = *state;
  const int features[] = {1, 3, 8, 12};
  for (int k = 0; k < 4; k++) {
    int f = features[k], n = POINTS, near = 5, half = 300;
    int64_t ptr[] = {0, half, half, n}; /* the second group has no points */
    PolyTensor *x = points(ctx, n, f, (uint64_t)k);
    int64_t count = read_pairs(poly_knn(x, x, ptr, ptr, 3, near, false, true), got);
    assert_int_equal(count, n * near);
    for (int64_t e = 0; e < count; e++) {
      int i = (int)got[e], j = (int)got[count + e];
      assert_int_equal(i, e / near);
      assert_int_equal(place_of(i, j, f, i < half ? 0 : half, i < half ? half : n), e % near);
    }
    poly_free(x);
  }
}

static void points_within_a_radius(void **state) {
  PolyContext *ctx = *state;
  int n = 200, f = 3;
  PolyTensor *x = points(ctx, n, f, 9);
  int64_t count = read_pairs(poly_radius(x, x, NULL, NULL, 1, 1.5, -1, false), got), at = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      if (!(distance(i, j, f) < 2.25)) continue;
      assert_true(at < count && got[at] == i && got[count + at] == j);
      at++;
    }
  assert_int_equal(at, count);
  count = read_pairs(poly_radius(x, x, NULL, NULL, 1, 100.0, 4, true), got);
  assert_int_equal(count, 4 * n);
  for (int64_t e = 0; e < count; e++) assert_true(place_of((int)got[e], (int)got[count + e], f, 0, n) < 4);
  poly_free(x);
}

static void results_do_not_depend_on_threads(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = points(ctx, POINTS, 3, 2);
  int64_t count[2];
  for (int k = 0; k < 2; k++) {
    poly_set_threads(ctx, k ? 3 : 1);
    count[k] = read_pairs(poly_knn(x, x, NULL, NULL, 1, 20, false, false), k ? got : before);
  }
  assert_int_equal(count[0], count[1]);
  assert_memory_equal(got, before, 2 * (size_t)count[0] * sizeof *got);
  poly_free(x);
}

static void far_points(void **state) {
  PolyContext *ctx = *state;
  int n = 90, f = 3;
  int64_t ptr[] = {0, 40, 90}, start[] = {7, 0}, out[45];
  PolyTensor *x = points(ctx, n, f, 4), *t = poly_fps(x, ptr, 2, 0.5, start);
  assert_non_null(t);
  assert_int_equal(poly_dim(t, 0), 45);
  assert_int_equal(poly_read(t, out, sizeof out), POLY_OK);
  assert_int_equal(out[0], 7);
  assert_int_equal(out[20], 40);
  for (int k = 1; k < 45; k++) {
    int first = k < 20 ? 0 : 20, begin = k < 20 ? 0 : 40, end = k < 20 ? 40 : 90;
    if (k == 20) continue;
    double best = -1, own = INFINITY;
    for (int i = begin; i < end; i++) {
      double d = INFINITY;
      for (int p = first; p < k; p++) d = fmin(d, distance(i, (int)out[p], f));
      if (d > best) best = d;
      if (i == out[k]) own = d;
    }
    assert_true(own == best);
  }
  poly_free(t);
  poly_free(x);
}

static void pairs_of_neighbours(void **state) {
  PolyContext *ctx = *state;
  for (int k = 0; k < SAMPLES - 1; k++) { /* the last has two sets of nodes */
    Sample s = sample_make(k);
    PolyGraph *g = sample_graph(ctx, &s), *both = poly_graph_undirected(g);
    int64_t cluster[MAX_NODES];
    PolyTensor *t = poly_graph_match(both, NULL, 5);
    assert_non_null(t);
    if (s.src) assert_int_equal(poly_read(t, cluster, (size_t)s.src * sizeof *cluster), POLY_OK);
    for (int v = 0; v < s.src; v++) {
      int members = 0;
      for (int u = 0; u < s.src; u++) members += cluster[u] == cluster[v];
      assert_in_range(members, 1, 2);
      assert_true(cluster[v] <= v && cluster[cluster[v]] == cluster[v]);
    }
    for (int e = 0; e < s.edges; e++) { /* no two neighbours are left alone */
      int alone = 0;
      for (int end = 0; end < 2; end++) {
        int64_t v = end ? s.to[e] : s.from[e], members = 0;
        for (int u = 0; u < s.src; u++) members += cluster[u] == cluster[v];
        alone += members == 1;
      }
      assert_true(alone < 2 || s.from[e] == s.to[e]);
    }
    poly_free(t);
    poly_graph_free(both);
    poly_graph_free(g);
  }
}

static void contracted_edges(void **state) {
  PolyContext *ctx = *state;
  int64_t src[] = {0, 1, 2, 3, 0, 5}, dst[] = {1, 2, 3, 4, 4, 5}, edge[4];
  float score[] = {1, 3, 2, 3, NAN, 0};
  PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT64, 6, 7, 7);
  PolyTensor *s = poly_from_data(ctx, score, POLY_FLOAT32, SHAPE(6)), *chosen, *t = poly_graph_contract(g, s, &chosen);
  assert_non_null(t);
  assert_int_equal(poly_dim(chosen, 0), 3);
  assert_int_equal(poly_read(chosen, edge, 3 * sizeof *edge), POLY_OK);
  int64_t all[7], want[] = {3, 0, 0, 1, 1, 2, 4};
  assert_int_equal(poly_read(t, all, sizeof all), POLY_OK);
  assert_memory_equal(all, want, sizeof want);
  assert_true(edge[0] == 1 && edge[1] == 3 && edge[2] == 5); /* equal scores in their order, NaN last */
  poly_free(t), poly_free(chosen), poly_free(s);
  poly_graph_free(g);
}

static void paths_of_two_edges(void **state) {
  PolyContext *ctx = *state;
  static int32_t path[3 * PAIRS];
  for (int k = 0; k < SAMPLES; k++) {
    Sample s = sample_make(k);
    PolyGraph *g = sample_graph(ctx, &s), *back = poly_graph_reversed(g);
    PolyTensor *paths;
    PolyGraph *p = poly_graph_product(g, back, &paths);
    assert_non_null(p);
    int64_t total = poly_dim(paths, 1), edges = poly_graph_num_edges(p), count = 0;
    assert_true(total <= PAIRS);
    if (total) assert_int_equal(poly_read(paths, path, 3 * (size_t)total * sizeof *path), POLY_OK);
    for (int a = 0; a < s.edges; a++)
      for (int b = 0; b < s.edges; b++) count += s.to[a] == s.to[b];
    assert_int_equal(total, count);
    int32_t src[PAIRS], dst[PAIRS];
    PolyTensor *ends[] = {poly_graph_src_index(p), poly_graph_dst_index(p)};
    if (edges) {
      assert_int_equal(poly_read(ends[0], src, (size_t)edges * sizeof *src), POLY_OK);
      assert_int_equal(poly_read(ends[1], dst, (size_t)edges * sizeof *dst), POLY_OK);
    }
    for (int64_t i = 0; i < total; i++) {
      int32_t a = path[i], b = path[total + i], e = path[2 * total + i];
      assert_true(s.to[a] == s.to[b] && src[e] == s.from[a] && dst[e] == s.from[b]);
      assert_true(i == 0 || path[2 * total + i - 1] <= e);
    }
    for (int64_t e = 0; e < edges; e++)
      for (int64_t d = 0; d < e; d++) assert_true(src[d] < src[e] || (src[d] == src[e] && dst[d] != dst[e]));
    poly_free(ends[0]), poly_free(ends[1]), poly_free(paths);
    poly_graph_free(p), poly_graph_free(back), poly_graph_free(g);
  }
}

/* The values of a product are the sums over its paths. */
static void values_of_a_product(void **state) {
  PolyContext *ctx = *state;
  static int32_t path[3 * PAIRS];
  for (int k = 0; k < SAMPLES; k++) {
    Sample s = sample_make(k);
    PolyGraph *g = sample_graph(ctx, &s), *back = poly_graph_reversed(g);
    double x[PAIRS], sum[PAIRS] = {0}, got[PAIRS];
    for (int e = 0; e < s.edges; e++) x[e] = 1 + e;
    PolyTensor *paths, *values, *v = poly_from_data(ctx, x, POLY_FLOAT64, SHAPE(s.edges));
    PolyGraph *p = poly_graph_product(g, back, &paths), *q = poly_graph_product_values(g, v, back, NULL, &values);
    assert_true(p && q && poly_dtype(values) == POLY_FLOAT64);
    int64_t total = poly_dim(paths, 1), edges = poly_graph_num_edges(p);
    assert_int_equal(poly_graph_num_edges(q), edges);
    assert_int_equal(poly_dim(values, 0), edges);
    if (total) assert_int_equal(poly_read(paths, path, 3 * (size_t)total * sizeof *path), POLY_OK);
    for (int64_t i = 0; i < total; i++) sum[path[2 * total + i]] += x[path[i]];
    if (edges) assert_int_equal(poly_read(values, got, (size_t)edges * sizeof *got), POLY_OK);
    for (int64_t e = 0; e < edges; e++) assert_true(got[e] == sum[e]);
    poly_free(paths), poly_free(values), poly_free(v);
    poly_graph_free(p), poly_graph_free(q), poly_graph_free(back), poly_graph_free(g);
  }
}

#define REFUSED(ctx, call, text)                                                                                       \
  do {                                                                                                                 \
    assert_null(call);                                                                                                 \
    assert_non_null(strstr(poly_error_text(ctx), text));                                                               \
    poly_clear_error(ctx);                                                                                             \
  } while (0)

static void what_is_refused(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = points(ctx, 10, 3, 1), *y = points(ctx, 10, 2, 1), *i = poly_ones(ctx, POLY_INT32, SHAPE(4, 2)), *out;
  int64_t down[] = {0, 7, 5, 10}, start = 10;
  REFUSED(ctx, poly_knn(x, y, NULL, NULL, 1, 2, false, false), "points of 3 and of 2 features");
  REFUSED(ctx, poly_knn(x, i, NULL, NULL, 1, 2, false, false), "float32 or float64, not int");
  REFUSED(ctx, poly_knn(x, x, down, down, 3, 2, false, false), "do not go up");
  REFUSED(ctx, poly_knn(x, x, NULL, NULL, 2, 2, false, false), "2 groups without");
  REFUSED(ctx, poly_fps(x, NULL, 1, 0.0, NULL), "ratio");
  REFUSED(ctx, poly_fps(x, NULL, 1, 0.5, &start), "start 10");
  Sample s = sample_make(SAMPLES - 1);
  PolyGraph *g = sample_graph(ctx, &s);
  REFUSED(ctx, poly_graph_match(g, NULL, 0), "9 sources and 4 destinations");
  REFUSED(ctx, poly_graph_product(g, g, &out), "leads to 4 nodes, the second comes from 9");
  PolyGraph *square = poly_graph_from_coo(ctx, (int64_t[]){0}, (int64_t[]){1}, POLY_INT64, 1, 2, 2);
  REFUSED(ctx, poly_graph_contract(square, x, &out), "30 values for 1 edges");
  poly_graph_free(square), poly_graph_free(g);
  poly_free(x), poly_free(y), poly_free(i);
}

/* ---- memory that runs out ---- */

static bool scenario(PolyContext *ctx) {
  int64_t src[] = {0, 1, 2, 3, 0}, dst[] = {1, 2, 3, 0, 2};
  float score[] = {1, 3, 2, 3, 1};
  PolyTensor *x = points(ctx, 100, 2, 1), *s = poly_from_data(ctx, score, POLY_FLOAT32, SHAPE(5)), *chosen = NULL,
             *paths = NULL;
  PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT64, 5, 4, 4);
  PolyTensor *made[] = {poly_knn(x, x, NULL, NULL, 1, 3, false, true), poly_radius(x, x, NULL, NULL, 1, 1.5, 8, false),
                        poly_fps(x, NULL, 1, 0.1, NULL), poly_graph_match(g, s, 3), poly_graph_contract(g, s, &chosen)};
  PolyTensor *values = NULL;
  PolyGraph *p = poly_graph_product(g, g, &paths), *q = poly_graph_product_values(g, s, g, s, &values);
  bool fine = chosen && paths && p && values && q;
  for (int k = 0; k < 5; k++) fine = fine && made[k];
  poly_graph_free(p), poly_graph_free(q), poly_graph_free(g);
  return fine;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  Failing f = {.until = -1};
  PolyContext *ctx = failing_context(&f);
  int64_t first = f.count;
  assert_true(scenario(ctx));
  int64_t count = f.count - first;
  poly_context_free(ctx);
  assert_int_equal(f.bytes, 0);
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
      TEST(nearest_points),
      TEST(points_within_a_radius),
      TEST(results_do_not_depend_on_threads),
      TEST(far_points),
      TEST(pairs_of_neighbours),
      TEST(contracted_edges),
      TEST(paths_of_two_edges),
      TEST(values_of_a_product),
      TEST(what_is_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
