/* test_vertex.c: vertex programs in C: against the moves that they stand for, their gradients against finite
 * differences, what is stored, and what happens when places are mixed up. On the interpreter. */
#include "graph_fixture.h"

enum { F = 2 };

/* What programs are about: node values x [V, 2] and p [V], edge values m [E, 2], a linear map w [3, 6] for joined
 * values. */
typedef struct Scene {
  PolyContext *ctx;
  PolyGraph *g;
  PolyTensor *x, *p, *m, *w;
} Scene;

static PolyTensor *values(PolyContext *ctx, PolyDType dtype, int salt, int ndim, const int64_t *shape, double *out) {
  int n = 1;
  for (int d = 0; d < ndim; d++) n *= (int)shape[d];
  PolyTensor *t = NULL;
  float *single = malloc((size_t)n * sizeof *single + 1);
  for (int i = 0; i < n; i++) single[i] = (float)(out[i] = sample_value(i + salt));
  t = poly_from_data(ctx, dtype == POLY_FLOAT64 ? (void *)out : single, dtype, ndim, shape);
  free(single);
  ok(ctx, t);
  return t;
}

enum { MOST = MAX_EDGES * MAX_ROW };

static Scene scene_of(PolyContext *ctx, const Sample *s, PolyGraph *g) {
  double v[MOST];
  return (Scene){ctx,
                 g,
                 values(ctx, POLY_FLOAT64, 3, SHAPE(s->src, F), v),
                 values(ctx, POLY_FLOAT64, 90, SHAPE(s->src), v),
                 values(ctx, POLY_FLOAT64, 200, SHAPE(s->edges, F), v),
                 values(ctx, POLY_FLOAT64, 400, SHAPE(3, 3 * F), v)};
}

static PolyTensor *src(const Scene *s, PolyTensor *x) { return poly_graph_src(s->g, x); }
static PolyTensor *dst(const Scene *s, PolyTensor *x) { return poly_graph_dst(s->g, x); }
static PolyTensor *over_in(const Scene *s, const char *op, PolyTensor *m) {
  return poly_graph_reduce(s->g, m, op, 'i');
}
static PolyTensor *over_out(const Scene *s, const char *op, PolyTensor *m) {
  return poly_graph_reduce(s->g, m, op, 'o');
}
static PolyTensor *column(PolyTensor *x) { return poly_unsqueeze(x, -1); }

/* ---- programs, each as a rule of one vertex and as moves ---- */

static PolyTensor *gcn(const Scene *s) {
  PolyVertex *v = poly_zoom_in(s->g);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *sum = poly_nb_sum(n, poly_mul(poly_nb(n, s->p), poly_nb(n, s->x))); /* one number and a row of two */
  return poly_zoom_out(v, poly_mul(sum, poly_self(v, s->p)));
}

static PolyTensor *gcn_moves(const Scene *s) {
  return poly_mul(over_in(s, "sum", poly_mul(column(src(s, s->p)), src(s, s->x))), column(s->p));
}

static PolyTensor *gat(const Scene *s) {
  PolyVertex *v = poly_zoom_in(s->g);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *score = poly_leaky_relu(poly_add(poly_nb(n, s->p), poly_self(v, s->p)), 0.2);
  PolyTensor *alpha = poly_nb_softmax(n, score);
  return poly_zoom_out(v, poly_nb_sum(n, poly_mul(alpha, poly_nb(n, s->x))));
}

static PolyTensor *gat_moves(const Scene *s) {
  PolyTensor *score = poly_leaky_relu(poly_add(src(s, s->p), dst(s, s->p)), 0.2);
  return over_in(s, "sum", poly_mul(column(poly_graph_softmax(s->g, score, 'i')), src(s, s->x)));
}

/* The seed's form: exponentials, their sum, quotients. */
static PolyTensor *quotients(const Scene *s) {
  PolyVertex *v = poly_zoom_in(s->g);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *coeff = poly_exp(poly_leaky_relu(poly_add(poly_nb(n, s->p), poly_self(v, s->p)), 0.2));
  PolyTensor *alpha = poly_div(coeff, poly_nb_sum(n, coeff)); /* a value of the vertex below one of each neighbour */
  return poly_zoom_out(v, poly_nb_sum(n, poly_mul(alpha, poly_nb(n, s->x))));
}

static PolyTensor *edges(const Scene *s) {
  PolyVertex *v = poly_zoom_in(s->g);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *message = poly_mul(poly_edge(n, s->m), poly_sub(poly_nb(n, s->x), poly_self(v, s->x)));
  PolyTensor *near = poly_lt(poly_nb(n, s->p), poly_self(v, s->p));
  return poly_zoom_out(v, poly_nb_mean(n, poly_where(near, message, poly_self(v, s->x))));
}

static PolyTensor *edges_moves(const Scene *s) {
  PolyTensor *message = poly_mul(s->m, poly_sub(src(s, s->x), dst(s, s->x)));
  PolyTensor *near = column(poly_lt(src(s, s->p), dst(s, s->p)));
  return over_in(s, "mean", poly_where(near, message, dst(s, s->x)));
}

static PolyTensor *both_sides(const Scene *s) {
  PolyVertex *v = poly_zoom_in(s->g);
  PolyNbs *n = poly_innbs(v), *o = poly_outnbs(v);
  PolyTensor *x = poly_self(v, s->x);
  PolyTensor *in = poly_nb_sum(n, poly_sub(poly_tanh(poly_nb(n, s->x)), x));
  PolyTensor *out = poly_nb_max(o, poly_sub(poly_tanh(poly_nb(o, s->x)), poly_mul(poly_edge(o, s->m), x)));
  PolyTensor *many = poly_cast(poly_add(poly_nb_count(n), poly_nb_count(o)), POLY_FLOAT64);
  return poly_zoom_out(v, poly_add(poly_mul(in, out), many));
}

static PolyTensor *both_sides_moves(const Scene *s) {
  PolyTensor *in = over_in(s, "sum", poly_sub(poly_tanh(src(s, s->x)), dst(s, s->x)));
  PolyTensor *out = over_out(s, "max", poly_sub(poly_tanh(dst(s, s->x)), poly_mul(s->m, src(s, s->x))));
  PolyTensor *many = poly_add(poly_graph_degree(s->g, 'i'), poly_graph_degree(s->g, 'o'));
  return poly_add(poly_mul(in, out), column(poly_cast(many, POLY_FLOAT64)));
}

/* Source, edge and destination joined on each edge. */
static PolyTensor *joined(const Scene *s) {
  PolyVertex *v = poly_zoom_in(s->g);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *all = poly_cat((PolyTensor *[]){poly_nb(n, s->x), poly_edge(n, s->m), poly_self(v, s->x)}, 3, -1);
  return poly_zoom_out(v, poly_nb_reduce(n, poly_relu(poly_linear(all, s->w, NULL)), "max"));
}

static PolyTensor *joined_moves(const Scene *s) {
  PolyTensor *all = poly_cat((PolyTensor *[]){src(s, s->x), s->m, dst(s, s->x)}, 3, -1);
  return over_in(s, "max", poly_relu(poly_linear(all, s->w, NULL)));
}

/* A value of the vertex is one of each neighbour's too. */
static PolyTensor *two_steps(const Scene *s) {
  PolyVertex *v = poly_zoom_in(s->g);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *once = poly_add(poly_self(v, s->x), poly_nb_sum(n, poly_nb(n, s->x)));
  return poly_zoom_out(v, poly_nb_sum(n, poly_mul(poly_nb(n, once), once)));
}

static PolyTensor *two_steps_moves(const Scene *s) {
  PolyTensor *once = poly_add(s->x, over_in(s, "sum", src(s, s->x)));
  return over_in(s, "sum", poly_mul(src(s, once), dst(s, once)));
}

static const struct {
  const char *name;
  PolyTensor *(*vertex)(const Scene *s), *(*moves)(const Scene *s);
} programs[] = {{"gcn", gcn, gcn_moves},
                {"gat", gat, gat_moves},
                {"quotients", quotients, gat_moves},
                {"edges", edges, edges_moves},
                {"both sides", both_sides, both_sides_moves},
                {"joined", joined, joined_moves},
                {"two steps", two_steps, two_steps_moves}};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static void near(const char *sample, const char *what, double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want))))
    fail_msg("%s on %s: %.12g, not %.12g", what, sample, got, want);
}

static void programs_match_moves(void **state) {
  PolyContext *ctx = *state;
  for (int k = 0; k < SAMPLES; k++) {
    Sample s = sample_make(k);
    if (s.src != s.dst) continue;
    PolyGraph *g = sample_graph(ctx, &s);
    for (int p = 0; p < PROGRAMS; p++) {
      double got[MOST], want[MOST];
      poly_scope_begin(ctx);
      Scene scene = scene_of(ctx, &s, g);
      PolyTensor *y = programs[p].vertex(&scene), *z = programs[p].moves(&scene);
      ok(ctx, y);
      assert_int_equal(poly_dim(y, 0), s.dst);
      assert_int_equal(poly_dim(y, 1), poly_dim(z, 1));
      size_t n = (size_t)poly_numel(z);
      read_into(y, got, n * sizeof *got);
      read_into(z, want, n * sizeof *want);
      for (size_t i = 0; i < n; i++) near(s.name, programs[p].name, got[i], want[i], 1e-12);
      poly_scope_end(ctx);
    }
    poly_graph_free(g);
  }
}

/* With true sizes put in, nothing is left of the program: it is the very one that moves make. */
static void programs_become_moves(void **state) {
  PolyContext *ctx = *state;
  Sample s = sample_make(0);
  PolyGraph *g = sample_graph(ctx, &s);
  for (int p = 0; p < PROGRAMS; p++) {
    if (programs[p].vertex == quotients) continue;
    poly_scope_begin(ctx);
    Scene scene = scene_of(ctx, &s, g);
    char *a = poly_dump(programs[p].vertex(&scene)), *b = poly_dump(programs[p].moves(&scene));
    if (strcmp(a, b) != 0) fail_msg("%s: %s\n%s", programs[p].name, a, b);
    poly_text_free(ctx, a);
    poly_text_free(ctx, b);
    poly_scope_end(ctx);
  }
}

/* ---- gradients ---- */

static PolyTensor *loss_of(const Scene *s, int program) {
  double w[MOST];
  PolyTensor *y = programs[program].vertex(s);
  ok(s->ctx, y);
  return poly_sum(poly_mul(y, values(s->ctx, POLY_FLOAT64, 50, SHAPE(poly_dim(y, 0), poly_dim(y, 1)), w)), 0, NULL,
                  false);
}

static void check_gradient(PolyContext *ctx, const Sample *sample, PolyGraph *g, int program) {
  poly_scope_begin(ctx);
  Scene s = scene_of(ctx, sample, g);
  PolyTensor **leaf[] = {&s.x, &s.p, &s.m}, *of[] = {s.x, s.p, s.m}, *grad[3];
  if (poly_grad(loss_of(&s, program), NULL, of, 3, grad) != POLY_OK) fail_msg("%s", poly_error_text(ctx));
  for (int k = 0; k < 3; k++) {
    double v[MOST], got[MOST];
    size_t n = (size_t)poly_numel(of[k]);
    int64_t shape[2] = {poly_dim(of[k], 0), F};
    read_into(of[k], v, n * sizeof *v);
    read_into(grad[k], got, n * sizeof *got);
    for (size_t i = 0; i < n; i += 3) {
      double at[2], keep = v[i], h = 1e-6;
      for (int d = 0; d < 2; d++) {
        v[i] = keep + (d ? h : -h);
        *leaf[k] = poly_from_data(ctx, v, POLY_FLOAT64, poly_ndim(of[k]), shape);
        at[d] = poly_item(loss_of(&s, program));
      }
      v[i] = keep;
      near(sample->name, programs[program].name, got[i], (at[1] - at[0]) / (2 * h), 2e-7);
    }
    *leaf[k] = of[k];
  }
  poly_scope_end(ctx);
}

static void gradients_match_differences(void **state) {
  static const int kinds[] = {0, 1, 2, 5};
  for (int k = 0; k < 4; k++) {
    Sample s = sample_make(kinds[k]);
    PolyGraph *g = sample_graph(*state, &s);
    for (int p = 0; p < PROGRAMS; p++) check_gradient(*state, &s, g, p);
    poly_graph_free(g);
  }
}

/* ---- what is stored ---- */

enum { NODES = 40, EDGES = 1200, HEADS = 2, DEEP = 8, WIDE = HEADS * DEEP };

static void gat_is_one_kernel(void **state) {
  PolyContext *ctx = *state;
  int32_t from[EDGES], to[EDGES];
  uint64_t seed = 3;
  for (int e = 0; e < EDGES; e++)
    from[e] = (int32_t)(sample_random(&seed) % NODES), to[e] = (int32_t)(sample_random(&seed) % NODES);
  PolyGraph *g = coo(ctx, EDGES, from, to, NODES);
  PolyTensor *leaf[] = {poly_rand(ctx, POLY_FLOAT32, SHAPE(NODES, HEADS, DEEP)),
                        poly_rand(ctx, POLY_FLOAT32, SHAPE(NODES, HEADS)),
                        poly_rand(ctx, POLY_FLOAT32, SHAPE(NODES, HEADS))};
  assert_int_equal(poly_realize_many(leaf, 3), POLY_OK);
  for (int backward = 0; backward < 2; backward++) {
    PolyVertex *v = poly_zoom_in(g);
    PolyNbs *n = poly_innbs(v);
    PolyTensor *score = poly_leaky_relu(poly_add(poly_nb(n, leaf[1]), poly_self(v, leaf[2])), 0.2);
    PolyTensor *alpha = poly_unsqueeze(poly_nb_softmax(n, score), -1);
    PolyTensor *y = poly_zoom_out(v, poly_nb_sum(n, poly_mul(alpha, poly_nb(n, leaf[0]))));
    PolyTensor *all[4] = {y};
    if (backward) poly_grad(poly_sum(poly_square(y), 0, NULL, false), NULL, leaf, 3, all + 1);
    poly_profile_begin(ctx);
    if (poly_realize_many(all, backward ? 4 : 1) != POLY_OK) fail_msg("%s", poly_error_text(ctx));
    poly_profile_end(ctx);
    if (!backward) assert_int_equal(poly_profile_kernels(ctx), 1);
    for (int k = 0; k < poly_profile_stored(ctx); k++) {
      PolyStoredStat stat;
      int64_t numel = 1;
      poly_profile_stored_at(ctx, k, &stat);
      for (int d = 0; d < stat.ndim; d++) numel *= stat.shape[d];
      if (numel >= EDGES * WIDE) fail_msg("%lld elements are stored: %s", (long long)numel, stat.why);
    }
  }
}

/* ---- the parts of a program ---- */

static void several_results(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 3, 3, 0, 1, 2, 2, 2, 0);
  PolyTensor *x = poly_from_data(ctx, (int32_t[]){1, 10, 100}, POLY_INT32, SHAPE(3));
  PolyVertex *v = poly_zoom_in(g);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *nb = poly_nb(n, x), *out[4];
  PolyTensor *in[] = {poly_nb_sum(n, nb), poly_nb_max(n, nb), poly_nb_edges(n, poly_sub(nb, poly_self(v, x))), x};
  assert_int_equal(poly_zoom_out_many(v, in, 4, out), POLY_OK);
  EXPECT_INTS(out[0], 100, 0, 11);
  EXPECT_INTS(out[1], 100, 0, 10);
  EXPECT_INTS(out[2], -99, -90, 99);
  EXPECT_INTS(out[3], 1, 10, 100);
}

/* Papers with authors, citations and a field of their own: each edge type is a graph, and v is a paper. */
static void edge_types(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *writes = poly_graph_from_coo(ctx, (int32_t[]){0, 1, 1}, (int32_t[]){0, 0, 2}, POLY_INT32, 3, 2, 3);
  PolyGraph *cites = COO(ctx, 3, 2, 2, 0, 1, 2);
  PolyTensor *author = poly_from_data(ctx, (int32_t[]){1, 10}, POLY_INT32, SHAPE(2));
  PolyTensor *paper = poly_from_data(ctx, (int32_t[]){100, 200, 300}, POLY_INT32, SHAPE(3));
  PolyVertex *v = poly_zoom_in(writes);
  PolyNbs *a = poly_innbs(v), *cited = poly_nbs(v, cites, 'i'), *citing = poly_nbs(v, cites, 'o');
  assert_ptr_equal(poly_nbs(v, writes, 'i'), a);
  PolyTensor *sum = poly_add(poly_self(v, paper), poly_nb_sum(a, poly_nb(a, author)));
  sum = poly_add(sum, poly_nb_sum(cited, poly_add(poly_nb(cited, paper), poly_nb(cited, paper))));
  EXPECT_INTS(poly_zoom_out(v, poly_sub(sum, poly_nb_sum(citing, poly_nb(citing, paper)))), -189, 800, 310);
  v = poly_zoom_in(writes);
  expect_error(ctx, poly_outnbs(v), POLY_ERROR_VALUE, "3 vertices, but the graph has 2 source nodes");
  expect_error(ctx, poly_nb(poly_innbs(v), paper), POLY_ERROR_VALUE, "each of 2 source nodes");
  assert_null(poly_zoom_out(v, NULL));
}

/* As many edges as nodes as features: nothing but the places tells them apart. */
static void sizes_that_coincide(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 3, 3, 1, 2, 0, 0, 0, 1);
  PolyTensor *x = poly_from_data(ctx, (int32_t[]){1, 10, 100}, POLY_INT32, SHAPE(3));
  PolyTensor *wide = poly_from_data(ctx, (int32_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9}, POLY_INT32, SHAPE(3, 3));
  PolyVertex *v = poly_zoom_in(g);
  PolyNbs *n = poly_innbs(v);
  EXPECT_INTS(poly_zoom_out(v, poly_nb_sum(n, poly_mul(poly_nb(n, x), poly_self(v, x)))), 110, 10, 0);
  v = poly_zoom_in(g), n = poly_innbs(v);
  PolyTensor *y = poly_zoom_out(v, poly_nb_sum(n, poly_mul(poly_nb(n, x), poly_nb(n, wide))));
  EXPECT_INTS(y, 740, 850, 960, 1, 2, 3, 0, 0, 0);
  v = poly_zoom_in(g), n = poly_innbs(v);
  expect_error(ctx, poly_add(poly_nb(n, wide), wide), POLY_ERROR_VALUE, "say whose it is");
  expect_error(ctx, poly_add(x, poly_self(v, x)), POLY_ERROR_VALUE, "say whose it is");
  y = poly_add(poly_self(v, wide), x); /* a row of three: the same for all */
  EXPECT_INTS(poly_zoom_out(v, y), 2, 12, 103, 5, 15, 106, 8, 18, 109);
}

/* Numbers a neighbour against a list that all share: an axis of its own. */
static void shared_tensors(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 3, 2, 0, 1, 2, 2);
  PolyTensor *x = poly_from_data(ctx, (int32_t[]){1, 10, 100}, POLY_INT32, SHAPE(3));
  PolyTensor *steps = poly_from_data(ctx, (int32_t[]){0, 1, 2, 3}, POLY_INT32, SHAPE(4));
  PolyVertex *v = poly_zoom_in(g);
  PolyNbs *n = poly_innbs(v);
  EXPECT_INTS(poly_zoom_out(v, poly_nb_sum(n, poly_add(poly_nb(n, x), steps))), 0, 0, 0, 0, 0, 0, 0, 0, 11, 13, 15, 17);
  v = poly_zoom_in(g), n = poly_innbs(v);
  PolyTensor *all = poly_sum(poly_self(v, x), 0, NULL, false); /* over all vertices */
  EXPECT_INTS(poly_zoom_out(v, poly_nb_sum(n, poly_sub(all, poly_nb(n, x)))), 0, 0, 211);
}

/* A value that is looked at inside is stored there, and goes on as before. */
static void values_can_be_read_inside(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 3, 2, 0, 1, 2, 2);
  PolyTensor *x = poly_from_data(ctx, (float[]){1, 10, 100}, POLY_FLOAT32, SHAPE(3)), *grad;
  for (int k = 0; k < 2; k++) {
    poly_set_requires_grad(x, k == 1);
    PolyVertex *v = poly_zoom_in(g);
    PolyNbs *n = poly_innbs(v);
    PolyTensor *nb = poly_square(poly_nb(n, x)), *sum = poly_nb_sum(n, poly_add(nb, poly_self(v, x)));
    float got[3], slope[3];
    read_into(nb, got, 2 * sizeof *got);
    assert_memory_equal(got, ((float[]){1, 100}), 2 * sizeof *got);
    read_into(sum, got, sizeof got);
    assert_memory_equal(got, ((float[]){0, 0, 301}), sizeof got);
    PolyTensor *y = poly_zoom_out(v, poly_add(sum, poly_nb_max(n, nb)));
    read_into(y, got, sizeof got);
    assert_memory_equal(got, ((float[]){0, 0, 401}), sizeof got);
    if (!k) continue;
    assert_int_equal(poly_grad(poly_sum(y, 0, NULL, false), NULL, &x, 1, &grad), POLY_OK);
    read_into(grad, slope, sizeof slope);
    assert_memory_equal(slope, ((float[]){2, 40, 2}), sizeof slope);
  }
}

static void dropout_inside(void **state) {
  PolyContext *ctx = *state;
  PolyGraph *g = COO(ctx, 2, 4, 0, 0, 0, 0, 1, 1, 1, 1);
  poly_set_training(ctx, true);
  PolyVertex *v = poly_zoom_in(g);
  PolyNbs *n = poly_innbs(v);
  PolyTensor *ones = poly_nb(n, poly_ones(ctx, POLY_FLOAT32, SHAPE(2, 500)));
  PolyTensor *y = poly_zoom_out(v, poly_nb_mean(n, poly_dropout(ones, 0.5)));
  double mean = poly_item(poly_mean(poly_getitem(y, 1, (PolyIndex[]){{.kind = 'i', .start = 1}}), 0, NULL, false));
  assert_float_equal(mean, 1, 0.15);
}

/* A graph whose sizes are variables: another graph is another run of the same plan. */
static void symbolic_sizes(void **state) {
  PolyContext *ctx = *state;
  int64_t built = 0;
  for (int k = 0; k < 2; k++) {
    int64_t nodes = poly_var_bind(ctx, "n", 1, 100, 3 + k), edges = poly_var_bind(ctx, "e", 0, 100, 2 + k);
    PolyGraph *g =
        poly_graph_from_coo(ctx, (int32_t[]){0, 1, 3}, (int32_t[]){2, 2, 0}, POLY_INT32, edges, nodes, nodes);
    ok(ctx, g);
    PolyTensor *x = poly_sized(poly_from_data(ctx, (int32_t[]){1, 10, 100, 1000}, POLY_INT32, SHAPE(3 + k)), 1, &nodes);
    PolyVertex *v = poly_zoom_in(g);
    PolyNbs *n = poly_innbs(v);
    PolyTensor *y = poly_zoom_out(v, poly_nb_sum(n, poly_add(poly_nb(n, x), poly_self(v, x))));
    ok(ctx, y);
    assert_int_equal(poly_dim(y, 0), nodes);
    int32_t got[4];
    read_into(y, got, (size_t)(3 + k) * sizeof *got);
    assert_int_equal(got[0], k ? 1001 : 0);
    assert_int_equal(got[2], 211);
    if (k == 0) built = poly_plans_built(ctx);
    assert_int_equal(poly_plans_built(ctx), built);
  }
}

/* ---- mistakes ---- */

static void mistakes(void **state) {
  PolyContext *ctx = *state;
  Sample s = sample_make(0), two = sample_make(8);
  PolyGraph *g = sample_graph(ctx, &s), *h = sample_graph(ctx, &two);
  Scene c = scene_of(ctx, &s, g);
  PolyVertex *v = poly_zoom_in(g);
  PolyNbs *n = poly_innbs(v), *o = poly_outnbs(v);
  PolyTensor *nb = poly_nb(n, c.x);
  expect_error(ctx, poly_add(nb, poly_nb(o, c.x)), POLY_ERROR_VALUE,
               "values of in-neighbours and of out-neighbours are combined");
  expect_error(ctx, poly_nb_sum(o, nb), POLY_ERROR_VALUE, "a value of in-neighbours is not one of out-neighbours");
  expect_error(ctx, poly_nb(n, nb), POLY_ERROR_VALUE, "a value of in-neighbours is not one of the vertex");
  expect_error(ctx, poly_self(v, nb), POLY_ERROR_VALUE, "reduce it first");
  expect_error(ctx, poly_self(v, c.m), POLY_ERROR_VALUE, "each of 12 vertices");
  expect_error(ctx, poly_edge(n, c.x), POLY_ERROR_VALUE, "each of 40 edges");
  expect_error(ctx, poly_nb_sum(n, c.m), POLY_ERROR_VALUE, "is not a value of this program");
  expect_error(ctx, poly_nb_reduce(n, nb, "median"), POLY_ERROR_VALUE, "\"median\" is not sum");
  expect_error(ctx, poly_nbs(v, g, 'x'), POLY_ERROR_VALUE, "not 'x'");
  expect_error(ctx, poly_nbs(v, h, 'i'), POLY_ERROR_VALUE, "the graph has 4 destination nodes");
  expect_error(ctx, poly_linear(nb, c.w, NULL), POLY_ERROR_VALUE, "(40, 2) and (3, 6)");
  expect_error(ctx, poly_add(nb, poly_self(v, poly_cat((PolyTensor *[]){c.x, c.x}, 2, 1))), POLY_ERROR_VALUE,
               "(in-neighbours=40, 4)");
  expect_error(ctx, poly_sigmoid(poly_nb(NULL, c.x)), POLY_ERROR_VALUE, "poly_nb: argument n is NULL");
  expect_error(ctx, poly_zoom_out(v, nb), POLY_ERROR_VALUE, "was not reduced");
  expect_error(ctx, poly_zoom_in(NULL), POLY_ERROR_VALUE, "poly_zoom_in: argument g is NULL");
  expect_error(ctx, poly_innbs(NULL), POLY_ERROR_VALUE, "poly_innbs: argument v is NULL");
  expect_error(ctx, poly_zoom_out(NULL, c.x), POLY_ERROR_VALUE, "poly_zoom_out: argument v is NULL");

  v = poly_zoom_in(g), n = poly_innbs(v);
  PolyTensor *outer = poly_self(v, c.x);
  PolyVertex *w = poly_zoom_in(g);
  expect_error(ctx, poly_add(poly_self(w, c.x), outer), POLY_ERROR_VALUE, "values of two vertex programs");
  assert_non_null(poly_zoom_out(w, poly_self(w, c.x)));
  assert_non_null(poly_add(outer, poly_nb(n, c.x)));
  poly_scope_begin(ctx);
  assert_non_null(poly_zoom_in(g)); /* left open, like the scope: ended with the outer one */
  assert_non_null(poly_zoom_out(v, outer));
  PolyTensor *after = poly_add(c.x, c.x);
  ok(ctx, after);
  assert_non_null(poly_zoom_in(g)); /* left open: ended with the context */
}

/* All handles of a program go with it, and its nodes with the result. */
static void nothing_stays_behind(void **state) {
  PolyContext *ctx = *state;
  Sample s = sample_make(0);
  PolyGraph *g = sample_graph(ctx, &s);
  Scene c = scene_of(ctx, &s, g);
  int64_t nodes = 0, handles = poly_live_tensors(ctx);
  for (int k = 0; k < 3; k++) {
    for (int p = 0; p < PROGRAMS; p++) poly_free(programs[p].vertex(&c));
    PolyVertex *v = poly_zoom_in(g);
    assert_null(poly_zoom_out(v, poly_nb_sum(poly_innbs(v), NULL)));
    assert_int_equal(poly_live_tensors(ctx), handles);
    if (k == 0) nodes = poly_live_nodes(ctx); /* the graph's ends are among them now */
    assert_int_equal(poly_live_nodes(ctx), nodes);
  }
}

/* Each allocation fails once: an error comes back, nothing leaks, and the context goes on working. */
static void out_of_memory(void **state) {
  (void)state;
  Sample s = sample_make(1);
  bool all_given = false;
  int n = 0;
  for (; !all_given; n++) {
    Failing f = {.until = -1};
    PolyContext *ctx = failing_context(&f);
    PolyGraph *g = sample_graph(ctx, &s);
    Scene c = scene_of(ctx, &s, g);
    f.until = n;
    PolyTensor *y = both_sides(&c);
    all_given = f.until > 0;
    f.until = -1;
    if (all_given) assert_non_null(y);
    if (!y) {
      assert_int_equal(poly_error_code(ctx), POLY_ERROR_MEMORY);
      poly_clear_error(ctx);
      assert_non_null(y = both_sides(&c));
    }
    if (n % 16 == 0) assert_int_equal(poly_realize(y), POLY_OK);
    poly_context_free(ctx);
    assert_int_equal(f.bytes, 0);
  }
  assert_true(n > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(programs_match_moves), TEST(programs_become_moves), TEST(gradients_match_differences),
      TEST(gat_is_one_kernel),    TEST(several_results),       TEST(edge_types),
      TEST(sizes_that_coincide),  TEST(shared_tensors),        TEST(values_can_be_read_inside),
      TEST(dropout_inside),       TEST(symbolic_sizes),        TEST(mistakes),
      TEST(nothing_stays_behind), TEST(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
