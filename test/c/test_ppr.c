/* test_ppr.c: personalised PageRank by pushing: near the exact one, nothing lost, the same for any number of threads,
 * errors that name what is wrong, and what happens when memory runs out. */
#include "graph_fixture.h"

typedef struct Ranks {
  int64_t targets, entries;
  int64_t ptr[MAX_NODES + 1], node[MAX_NODES * MAX_NODES];
  float share[MAX_NODES * MAX_NODES];
} Ranks;

static bool ranks(PolyGraph *g, const int64_t *targets, int64_t n, double alpha, double eps, Ranks *r) {
  PolyTensor *out[3];
  *r = (Ranks){.targets = n};
  if (poly_graph_ppr(g, targets, n, alpha, eps, out) != POLY_OK) return false;
  r->entries = poly_dim(out[1], 0);
  bool ok = poly_read(out[0], r->ptr, (size_t)(n + 1) * sizeof r->ptr[0]) == POLY_OK &&
            poly_read(out[1], r->node, (size_t)r->entries * sizeof r->node[0]) == POLY_OK &&
            poly_read(out[2], r->share, (size_t)r->entries * sizeof r->share[0]) == POLY_OK;
  for (int k = 0; k < 3; k++) poly_free(out[k]);
  return ok;
}

/* The share of each node in the rank of `from`, by following the walk until nothing is left. */
static void exact(const Sample *s, int from, double alpha, double *share) {
  double at[MAX_NODES] = {0}, degree[MAX_NODES] = {0};
  at[from] = 1.0;
  for (int e = 0; e < s->edges; e++) degree[s->from[e]] += 1.0;
  for (int v = 0; v < s->src; v++) share[v] = 0.0;
  for (int step = 0; step < 400; step++) {
    double next[MAX_NODES] = {0};
    for (int v = 0; v < s->src; v++) share[v] += alpha * at[v];
    for (int e = 0; e < s->edges; e++) next[s->to[e]] += (1 - alpha) * at[s->from[e]] / degree[s->from[e]];
    memcpy(at, next, sizeof at);
  }
}

static void near_the_exact_rank(void **state) {
  PolyContext *ctx = *state;
  for (int k = 0; k < SAMPLES; k++) {
    Sample s = sample_make(k);
    if (s.src != s.dst) continue;
    PolyGraph *g = sample_graph(ctx, &s);
    Ranks r;
    assert_true(ranks(g, NULL, s.src, 0.2, 1e-7, &r));
    for (int v = 0; v < s.src; v++) {
      double want[MAX_NODES], got[MAX_NODES] = {0};
      exact(&s, v, 0.2, want);
      assert_int_equal(r.node[r.ptr[v]], v); /* itself first */
      for (int64_t i = r.ptr[v]; i < r.ptr[v + 1]; i++) got[r.node[i]] += r.share[i];
      for (int u = 0; u < s.src; u++)
        if (fabs(got[u] - want[u]) > 1e-4) fail_msg("%s: %d from %d: %g, not %g", s.name, u, v, got[u], want[u]);
    }
    poly_graph_free(g);
  }
}

static void does_not_depend_on_threads_or_other_targets(void **state) {
  PolyContext *ctx = *state;
  Sample s = sample_make(0);
  PolyGraph *g = sample_graph(ctx, &s);
  Ranks one, many, some;
  int64_t targets[] = {7, 2, 7};
  poly_set_threads(ctx, 1);
  assert_true(ranks(g, NULL, s.src, 0.1, 1e-4, &one));
  poly_set_threads(ctx, 4);
  assert_true(ranks(g, NULL, s.src, 0.1, 1e-4, &many));
  assert_memory_equal(&one, &many, sizeof one);
  assert_true(ranks(g, targets, 3, 0.1, 1e-4, &some));
  for (int k = 0; k < 3; k++) {
    int64_t n = some.ptr[k + 1] - some.ptr[k], at = one.ptr[targets[k]];
    assert_int_equal(n, one.ptr[targets[k] + 1] - at);
    assert_memory_equal(some.node + some.ptr[k], one.node + at, (size_t)n * sizeof one.node[0]);
    assert_memory_equal(some.share + some.ptr[k], one.share + at, (size_t)n * sizeof one.share[0]);
  }
  poly_graph_free(g);
}

static void bad_requests_are_named(void **state) {
  PolyContext *ctx = *state;
  Sample s = sample_make(0), two = sample_make(8);
  PolyGraph *g = sample_graph(ctx, &s), *h = sample_graph(ctx, &two);
  Ranks r;
  assert_false(ranks(g, (int64_t[]){3, 12}, 2, 0.1, 1e-3, &r));
  assert_int_equal(poly_error_code(ctx), POLY_ERROR_INDEX);
  assert_non_null(strstr(poly_error_text(ctx), "target 12"));
  poly_clear_error(ctx);
  assert_false(ranks(h, NULL, two.src, 0.1, 1e-3, &r));
  assert_non_null(strstr(poly_error_text(ctx), "one set of nodes"));
  poly_clear_error(ctx);
  double bad[][2] = {{0.0, 1e-3}, {1.5, 1e-3}, {NAN, 1e-3}, {0.1, 0.0}};
  for (int k = 0; k < 4; k++) {
    assert_false(ranks(g, NULL, s.src, bad[k][0], bad[k][1], &r));
    assert_non_null(strstr(poly_error_text(ctx), "alpha"));
    poly_clear_error(ctx);
  }
  poly_graph_free(g);
  poly_graph_free(h);
}

static bool scenario(PolyContext *ctx) {
  Sample s = sample_make(0);
  Ranks r;
  PolyGraph *g = sample_graph(ctx, &s);
  bool fine = g && ranks(g, NULL, s.src, 0.1, 1e-3, &r);
  poly_graph_free(g);
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
  assert_true(count > 10);
  for (int64_t n = 0; n < count; n++) {
    f = (Failing){.until = -1};
    ctx = failing_context(&f);
    f.until = n;
    if (!scenario(ctx)) assert_int_equal(poly_error_code(ctx), POLY_ERROR_MEMORY);
    f.until = -1;
    poly_clear_error(ctx);
    assert_true(scenario(ctx)); /* the context still works */
    poly_context_free(ctx);
    assert_int_equal(f.bytes, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(near_the_exact_rank),
      TEST(does_not_depend_on_threads_or_other_targets),
      TEST(bad_requests_are_named),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
