/* test_texts.c: what programs become, as texts: the schedule (what is stored, why, and which item reads what) and the
 * linear form of each kernel, for a fixed target with 32-byte vectors, so that the text is the same on every machine. A
 * change of fusion, of the placing of loops or of lanes shows as a difference of a file under test/golden, which is
 * read, and if it is wanted, written by `make golden-update`. */
#include "engine_fixture.h"

#include "engine/engine.h"
#include "ir/linear.h"

enum { MOST = 16 };

/* A program: its results, to be computed by one plan. */
typedef struct Results {
  int n;
  PolyTensor *at[MOST];
} Results;

/* ---- programs ---- */

static PolyTensor *input(PolyContext *ctx, int ndim, const int64_t *shape) {
  PolyTensor *t = poly_zeros(ctx, POLY_FLOAT32, ndim, shape);
  assert_int_equal(poly_realize(t), POLY_OK);
  return t;
}

static void add(Results *r, PolyTensor *t) {
  assert_non_null(t);
  r->at[r->n++] = t;
}

/* The gradients of sum(out * seed) in what it was computed from. */
static void add_gradients(PolyContext *ctx, Results *r, PolyTensor *out, PolyTensor *seed, int n,
                          PolyTensor *const *of) {
  if (poly_grad(out, seed, of, n, r->at + r->n) != POLY_OK) fail_msg("%s", poly_error_text(ctx));
  r->n += n;
}

static void softmax(PolyContext *ctx, Results *r) {
  PolyTensor *x = input(ctx, SHAPE(100, 64)), *seed = input(ctx, SHAPE(100, 64)), *out = poly_softmax(x, -1);
  add(r, out);
  add_gradients(ctx, r, out, seed, 1, &x);
}

static void layer_norm(PolyContext *ctx, Results *r) {
  PolyTensor *x = input(ctx, SHAPE(100, 64)), *scale = input(ctx, SHAPE(64)), *shift = input(ctx, SHAPE(64));
  PolyTensor *out = poly_add(poly_mul(poly_layernorm(x, 1, 1e-5), scale), shift);
  add(r, out);
  add_gradients(ctx, r, out, input(ctx, SHAPE(100, 64)), 3, (PolyTensor *[]){x, scale, shift});
}

enum { NODES = 50, EDGES = 300, HEADS = 4, FEATURES = 8 };

static PolyGraph *ring(PolyContext *ctx) {
  int64_t src[EDGES], dst[EDGES];
  for (int e = 0; e < EDGES; e++) src[e] = e % NODES, dst[e] = (e * 7 + 3) % NODES;
  PolyGraph *g = poly_graph_from_coo(ctx, src, dst, POLY_INT64, EDGES, NODES, NODES);
  assert_non_null(g);
  return g;
}

/* Scores of both ends, softmax over the edges of each row, weighted sum of the neighbours. */
static PolyTensor *attend(PolyGraph *g, PolyTensor *h, PolyTensor *left, PolyTensor *right) {
  int last = -1;
  PolyTensor *a = poly_sum(poly_mul(h, left), 1, &last, false), *b = poly_sum(poly_mul(h, right), 1, &last, false);
  PolyTensor *score = poly_leaky_relu(poly_add(poly_graph_src(g, a), poly_graph_dst(g, b)), 0.2);
  PolyTensor *weight = poly_unsqueeze(poly_graph_softmax(g, score, 'i'), -1);
  return poly_graph_reduce(g, poly_mul(weight, poly_graph_src(g, h)), "sum", 'i');
}

static PolyTensor *gat_layer(PolyContext *ctx, PolyTensor **leaf) {
  leaf[0] = input(ctx, SHAPE(NODES, 16));
  leaf[1] = input(ctx, SHAPE(16, HEADS * FEATURES));
  leaf[2] = input(ctx, SHAPE(HEADS, FEATURES));
  leaf[3] = input(ctx, SHAPE(HEADS, FEATURES));
  PolyTensor *h = poly_reshape(poly_matmul(leaf[0], leaf[1]), SHAPE(NODES, HEADS, FEATURES));
  return attend(ring(ctx), h, leaf[2], leaf[3]);
}

static void gat_forward(PolyContext *ctx, Results *r) {
  PolyTensor *leaf[4];
  add(r, gat_layer(ctx, leaf));
}

static void gat_backward(PolyContext *ctx, Results *r) {
  PolyTensor *leaf[4], *out = gat_layer(ctx, leaf);
  add(r, out);
  add_gradients(ctx, r, out, input(ctx, SHAPE(NODES, HEADS, FEATURES)), 4, leaf);
}

/* Principal neighbourhood aggregation: four aggregators, each as it is and scaled up and down by the degree. */
static PolyTensor *pna_layer(PolyContext *ctx, PolyTensor *x) {
  static const char *const ops[] = {"mean", "min", "max", "std"};
  PolyGraph *g = ring(ctx);
  PolyTensor *one = poly_full(ctx, POLY_FLOAT32, 0, NULL, 1), *mean_log = poly_full(ctx, POLY_FLOAT32, 0, NULL, 1.9);
  PolyTensor *degree = poly_cast(poly_graph_degree(g, 'i'), POLY_FLOAT32), *all[4], *scaled[3];
  PolyTensor *amplify = poly_unsqueeze(poly_div(poly_log(poly_add(degree, one)), mean_log), -1);
  for (int k = 0; k < 4; k++) all[k] = poly_graph_reduce(g, poly_graph_src(g, x), ops[k], 'i');
  scaled[0] = poly_cat(all, 4, -1);
  scaled[1] = poly_mul(scaled[0], amplify);
  scaled[2] = poly_div(scaled[0], amplify);
  return poly_cat(scaled, 3, -1);
}

static void pna(PolyContext *ctx, Results *r) {
  PolyTensor *x = input(ctx, SHAPE(NODES, 16)), *w = input(ctx, SHAPE(16 * 12, 8));
  PolyTensor *out = poly_matmul(pna_layer(ctx, x), w);
  add(r, out);
  add_gradients(ctx, r, out, input(ctx, SHAPE(NODES, 8)), 2, (PolyTensor *[]){x, w});
}

static const struct Case {
  const char *name;
  void (*build)(PolyContext *ctx, Results *r);
} cases[] = {
    {"softmax", softmax}, {"layer_norm", layer_norm}, {"gat_forward", gat_forward}, {"gat_backward", gat_backward},
    {"pna", pna},
};

/* ---- texts ---- */

/* Numbers of the machine that decide what code looks like. */
static void fix_target(PolyContext *ctx) {
  assert_int_equal(poly_set_device(ctx, "CPU"), POLY_OK);
  Target *t = &ctx->runtime->current->target;
  t->vector_bytes = 32;
  t->vector_registers = 16;
  t->cache_bytes[0] = 32 << 10;
  t->cache_bytes[1] = 1 << 20;
  t->cores = 4;
}

static void print_plan(PolyContext *ctx, const Results *r, Str *out) {
  Arena arena = {.b = ctx_base(ctx)};
  UOp *root[MOST];
  bool inplace[MOST] = {0};
  Canon canon;
  Lowered l;
  Scope s;
  for (int i = 0; i < r->n; i++) root[i] = r->at[i]->uop;
  scope_enter(ctx, &s);
  bool ok = canon_build(ctx, &arena, r->n, root, inplace, &canon) && plan_lower(ctx, &arena, &canon, &l);
  if (!ok) fail_msg("%s", poly_error_text(ctx));
  str_add(out, "results:");
  for (int i = 0; i < r->n; i++) str_fmt(out, " %d", l.schedule.root_slot[i]);
  str_add(out, "\nschedule\n");
  schedule_print(out, &l.schedule);
  str_add(out, "kernels in order:");
  for (int i = 0; i < l.schedule.nitem; i++)
    if (l.item_kernel[i] >= 0) str_fmt(out, " %d", l.item_kernel[i]);
  str_add(out, "\n");
  for (int i = 0; i < l.nkernel; i++) {
    str_fmt(out, "\n%d: ", i);
    linear_print(out, &l.kernel[i]);
  }
  assert_false(out->failed);
  scope_leave(ctx, &s);
  arena_free(&arena);
}

/* Beside this file. */
static void path_of(char *path, size_t n, const char *folder, const char *name) {
  const char *slash = strrchr(__FILE__, '/');
  int length = slash ? (int)(slash - __FILE__) : 1;
  snprintf(path, n, "%.*s/../%s/%s.txt", length, slash ? __FILE__ : ".", folder, name);
}

static char *read_all(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  char *text = calloc(1, 1 << 20);
  size_t n = fread(text, 1, (1 << 20) - 1, f);
  assert_true(n < (1 << 20) - 1);
  fclose(f);
  return text;
}

static void write_all(const char *path, const char *text) {
  FILE *f = fopen(path, "wb");
  if (!f || fputs(text, f) == EOF || fclose(f)) fail_msg("%s cannot be written", path);
}

/* The first line that differs, of both. */
static void expect_text(const char *name, const char *path, const char *want, const char *got) {
  int line = 1;
  while (*want && *want == *got) line += *want == '\n', want++, got++;
  if (!*want && !*got) return;
  fail_msg("%s: %s is not what it became, from line %d on:\n  stored: %.*s\n  now:    %.*s\n(`make golden-update` "
           "writes the new text; look at what git says has changed)",
           name, path, line, (int)strcspn(want, "\n"), want, (int)strcspn(got, "\n"), got);
}

static void programs_become_these_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    PolyContext *ctx = new_context();
    Results r = {0};
    Str text = {.b = ctx_base(ctx)};
    char path[512];
    poly_scope_begin(ctx);
    cases[i].build(ctx, &r);
    fix_target(ctx);
    print_plan(ctx, &r, &text);
    path_of(path, sizeof path, "golden", cases[i].name);
    if (getenv("POLY_GOLDEN_UPDATE")) write_all(path, text.at);
    char *want = read_all(path);
    if (!want) fail_msg("%s cannot be read", path);
    expect_text(cases[i].name, path, want, text.at);
    free(want);
    str_free(&text);
    poly_scope_end(ctx);
    poly_context_free(ctx);
    assert_int_equal(heap.alive, 0);
  }
}

/* The text is of the program alone: the same whatever else the context has computed. */
static void texts_do_not_depend_on_what_ran_before(void **state) {
  PolyContext *ctx = *state;
  Results first = {0}, again = {0};
  Str a = {.b = ctx_base(ctx)}, b = {.b = ctx_base(ctx)};
  poly_scope_begin(ctx);
  gat_backward(ctx, &first);
  print_plan(ctx, &first, &a);
  Results other = {0};
  pna(ctx, &other);
  assert_int_equal(poly_realize_many(other.at, other.n), POLY_OK);
  gat_backward(ctx, &again);
  print_plan(ctx, &again, &b);
  assert_string_equal(a.at, b.at);
  str_free(&a);
  str_free(&b);
  poly_scope_end(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_become_these_texts),
      TEST(texts_do_not_depend_on_what_ran_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
