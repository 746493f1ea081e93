/* test_graph_moves.c: the moves of graphs and their gradients against plain loops, and what the moves become: one
 * kernel, nothing as large as edges times features. On the interpreter. */
#include "graph_fixture.h"

static const char *const ops[] = {"sum", "mean", "max", "min", "prod", "var", "std", "logsumexp"};
enum { OPS = sizeof ops / sizeof *ops };

/* Values of a [rows, width] tensor, and the tensor. */
static PolyTensor *values(PolyContext *ctx, PolyDType dtype, int rows, int width, int salt, double *out) {
  float single[MAX_EDGES * MAX_ROW];
  for (int i = 0; i < rows * width; i++) single[i] = (float)(out[i] = sample_value(i + salt));
  const void *data = dtype == POLY_FLOAT64 ? (const void *)out : single;
  PolyTensor *t = poly_from_data(ctx, data, dtype, SHAPE(rows, width));
  ok(ctx, t);
  return t;
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

/* Degrees with and without one loop at each node; a node without edges gets 0, and a second call builds nothing. */
static void scaling_is_kept(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 3, 5, 0, 1, 2, 2, 0, 0, 0, 0, 2, 1), *pair;
  poly_scope_begin(ctx);
  float plain[3], looped[3], own[3];
  PolyTensor *first = poly_graph_norm(g, 'i', false, POLY_FLOAT32);
  read_into(first, plain, sizeof plain);
  read_into(poly_graph_norm(g, 'i', true, POLY_FLOAT32), looped, sizeof looped);
  read_into(poly_graph_own(g, POLY_FLOAT32), own, sizeof own);
  const double degree[3] = {3, 1, 1}, loops[3] = {1, 0, 1};
  for (int v = 0; v < 3; v++) {
    assert_float_equal(plain[v], 1 / sqrt(degree[v]), 1e-6);
    assert_float_equal(looped[v], 1 / sqrt(degree[v] - loops[v] + 1), 1e-6);
    assert_float_equal(own[v], 1 - loops[v], 0);
  }
  int64_t nodes = poly_live_nodes(ctx);
  for (int k = 0; k < 3; k++) poly_free(poly_graph_norm(g, 'o', true, POLY_FLOAT32));
  int64_t once = poly_live_nodes(ctx);
  for (int k = 0; k < 3; k++) poly_free(poly_graph_norm(g, 'o', true, POLY_FLOAT32));
  assert_true(once > nodes);
  assert_int_equal(poly_live_nodes(ctx), once);
  assert_int_equal(poly_dtype(poly_graph_norm(g, 'o', true, POLY_FLOAT64)), POLY_FLOAT64);
  PolyGraph *lonely = COO(ctx, 2, 1, 0, 1);
  read_into(poly_graph_norm(lonely, 'i', false, POLY_FLOAT32), plain, 2 * sizeof *plain);
  assert_float_equal(plain[0], 0, 0);
  assert_null(poly_graph_norm(g, 'i', false, POLY_INT32));
  poly_clear_error(ctx);
  pair = poly_graph_from_coo(ctx, (int32_t[]){0}, (int32_t[]){1}, POLY_INT32, 1, 1, 2);
  assert_null(poly_graph_norm(pair, 'i', true, POLY_FLOAT32));
  poly_clear_error(ctx);
  poly_scope_end(ctx);
  poly_graph_free(pair);
  poly_graph_free(lonely);
  poly_graph_free(g);
}

/* One call gives the bits that its parts give. */
static void smoothing_is_its_parts(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 3, 5, 0, 1, 2, 2, 0, 0, 0, 0, 2, 1);
  poly_scope_begin(ctx);
  PolyTensor *x = poly_from_data(ctx, (float[]){1, 2, 3, 4, 5, 6}, POLY_FLOAT32, SHAPE(3, 2));
  for (int own = 0; own < 2; own++)
    for (int out = 0; out < 2; out++) {
      char side = out ? 'o' : 'i';
      PolyTensor *scale = poly_graph_norm(g, side, own, POLY_FLOAT32), *y = poly_binary(POLY_MUL, x, scale);
      PolyTensor *sum = poly_graph_reduce(g, out ? poly_graph_dst(g, y) : poly_graph_src(g, y), "sum", side);
      if (own) sum = poly_binary(POLY_ADD, sum, poly_binary(POLY_MUL, y, poly_graph_own(g, POLY_FLOAT32)));
      float whole[6], parts[6];
      read_into(poly_graph_smooth(g, x, side, own), whole, sizeof whole);
      read_into(poly_binary(POLY_MUL, sum, scale), parts, sizeof parts);
      assert_memory_equal(whole, parts, sizeof whole);
    }
  assert_null(poly_graph_smooth(g, poly_from_data(ctx, (float[]){1, 2}, POLY_FLOAT32, SHAPE(2, 1)), 'i', true));
  poly_clear_error(ctx);
  assert_null(poly_graph_smooth(g, poly_from_data(ctx, (float[]){1, 2, 3}, POLY_FLOAT32, SHAPE(3)), 'i', true));
  poly_clear_error(ctx);
  poly_scope_end(ctx);
  poly_graph_free(g);
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
  for (int k = 0; k < OPS; k++) expect_narrow(ctx, &s, ops[k], poly_graph_reduce(s.g, from, ops[k], 'i'), 1, &s.x);
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

int main(void) {
  const struct CMUnitTest tests[] = {
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
      TEST(scaling_is_kept),
      TEST(smoothing_is_its_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
