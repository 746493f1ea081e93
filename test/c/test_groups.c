/* test_groups.c: grid, group and fence: what the interpreter makes of them, what the verifier refuses, what codegen
 * makes of loops for a target with groups, and that the dialects that have groups print them. */
#include "linear_build.h"
#include "runtime_fixture.h"

enum { ROWS = 3, COLS = 21, GROUP = 8 };

static bool run_interp(World *w, const Linear *lin, void *const *args) {
  Device *d = device(w, "INTERP");
  Program *p = d->compile(d, NULL, 1, &lin);
  assert_non_null(p);
  MemoryRef ref[16] = {0};
  for (int i = 0; i < linear_nargs(lin); i++) ref[i].memory = args[i];
  bool ok = d->launch(p, 0, ref, NULL, 1);
  d->program_free(p);
  return ok;
}

static void kern_fence(Kern *k) { kern_put(k, INST_FENCE, POLY_BOOL, OP_CONST, -1, -1, -1); }
static void kern_combine(Kern *k, int acc) {
  kern_put(k, INST_COMBINE, (PolyDType)k->inst[acc].dtype, (Op)k->inst[acc].op, acc, -1, -1);
}

static void grouped(World *w, Kern *k) {
  k->lin.group = GROUP;
  k->lin.pack = 1;
  k->lin.grid = uop_index(&w->ctx, ROWS);
}

/* out[i] = sum of row i, whose elements the threads of a group share. */
static Kern *row_sums(World *w, bool combine) {
  Kern *k = kern_new("rowsum");
  int out = kern_param(k, POLY_FLOAT32, true), in = kern_param(k, POLY_FLOAT32, false);
  int zero = kern_int(k, POLY_INT64, 0), rows = kern_int(k, POLY_INT64, ROWS), cols = kern_int(k, POLY_INT64, COLS);
  int i = kern_loop(k, zero, rows, LOOP_PARALLEL), acc = kern_acc(k, OP_ADD, POLY_FLOAT32);
  int j = kern_loop(k, zero, cols, LOOP_REDUCE | LOOP_GROUP);
  kern_update(k, acc, kern_load(k, in, kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, i, cols), j), STRIDE_NONE, -1));
  kern_end(k, j);
  if (combine) kern_combine(k, acc);
  kern_store(k, out, i, acc, STRIDE_NONE, -1);
  kern_end(k, i);
  grouped(w, k);
  return k;
}

static void test_combine(void **state) {
  World *w = *state;
  Scope scope;
  scope_enter(&w->ctx, &scope);
  float in[ROWS * COLS], out[ROWS];
  for (int i = 0; i < ROWS * COLS; i++) in[i] = (float)i;
  Kern *k = row_sums(w, true);
  assert_true(linear_verify(&w->ctx, &k->lin));
  assert_true(run_interp(w, &k->lin, (void *[]){out, in}));
  for (int i = 0; i < ROWS; i++) assert_true(out[i] == (float)(COLS * (i * COLS) + COLS * (COLS - 1) / 2));
  free(k);
  k = row_sums(w, false); /* one thread stores the part that it has */
  assert_true(run_interp(w, &k->lin, (void *[]){out, in}));
  assert_true(out[0] == 0 + 8 + 16);
  free(k);
  scope_leave(&w->ctx, &scope);
}

/* out[i, j] = in[i, COLS-1-j], through an array that the threads of a group share. */
static Kern *reverse_rows(World *w, bool fence) {
  Kern *k = kern_new("reverse");
  int out = kern_param(k, POLY_FLOAT32, true), in = kern_param(k, POLY_FLOAT32, false);
  int row = kern_param(k, POLY_FLOAT32, true);
  k->param[row].read = true;
  k->param[row].local = COLS;
  int zero = kern_int(k, POLY_INT64, 0), rows = kern_int(k, POLY_INT64, ROWS), cols = kern_int(k, POLY_INT64, COLS);
  int last = kern_int(k, POLY_INT64, COLS - 1), i = kern_loop(k, zero, rows, LOOP_PARALLEL);
  int base = kern_idx(k, OP_MUL, i, cols), j = kern_loop(k, zero, cols, LOOP_GROUP);
  kern_store(k, row, j, kern_load(k, in, kern_idx(k, OP_ADD, base, j), STRIDE_NONE, -1), STRIDE_NONE, -1);
  kern_end(k, j);
  if (fence) kern_fence(k);
  j = kern_loop(k, zero, cols, LOOP_GROUP);
  int x = kern_load(k, row, kern_idx(k, OP_SUB, last, j), STRIDE_NONE, -1);
  kern_store(k, out, kern_idx(k, OP_ADD, base, j), x, STRIDE_NONE, -1);
  kern_end(k, j);
  kern_end(k, i);
  grouped(w, k);
  return k;
}

static bool reverses(World *w, bool fence) {
  float in[ROWS * COLS], out[ROWS * COLS];
  for (int i = 0; i < ROWS * COLS; i++) in[i] = (float)i;
  Kern *k = reverse_rows(w, fence);
  assert_true(linear_verify(&w->ctx, &k->lin));
  assert_true(run_interp(w, &k->lin, (void *[]){out, in}));
  free(k);
  bool same = true;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLS; j++) same &= out[i * COLS + j] == in[i * COLS + COLS - 1 - j];
  return same;
}

static void test_missing_fence_shows(void **state) {
  World *w = *state;
  Scope scope;
  scope_enter(&w->ctx, &scope);
  assert_true(reverses(w, true));
  assert_false(reverses(w, false));
  scope_leave(&w->ctx, &scope);
}

static void refuses(World *w, Kern *k, const char *why) {
  assert_false(linear_verify(&w->ctx, &k->lin));
  assert_non_null(strstr(w->ctx.base.text, why));
  base_clear(&w->ctx.base);
  free(k);
}

static void test_verifier_refuses(void **state) {
  World *w = *state;
  Scope scope;
  scope_enter(&w->ctx, &scope);
  Kern *k = row_sums(w, true);
  for (int i = 0; i < k->lin.ninst; i++)
    if (k->inst[i].kind == INST_UPDATE) k->inst[i].kind = INST_COMBINE, k->inst[i].src[1] = -1;
  refuses(w, k, "do not come here together");
  k = row_sums(w, true);
  for (int i = 0; i < k->lin.ninst; i++)
    if (k->inst[i].kind == INST_LOOP) k->inst[i].flags = LOOP_GROUP;
  refuses(w, k, "a group loop is inside another");
  k = row_sums(w, true);
  for (int i = 0, seen = 0; i < k->lin.ninst; i++)
    if (k->inst[i].kind == INST_LOOP) k->inst[i].flags = seen++ ? LOOP_PARALLEL : 0;
  refuses(w, k, "a loop of the grid is inside another loop");
  scope_leave(&w->ctx, &scope);
}

/* Both dialects print the marks; neither text is compiled here. */
static void test_dialects(void **state) {
  World *w = *state;
  Scope scope;
  scope_enter(&w->ctx, &scope);
  static const struct {
    Dialect dialect;
    const char *kernel;
  } row[] = {{DIALECT_CUDA, "__global__ void __launch_bounds__(8) rowsum("}, {DIALECT_OPENCL, "__kernel "}};
  for (int i = 0; i < LEN(row); i++) {
    Kern *k = row_sums(w, true);
    const Linear *lin = &k->lin;
    Target target = {.dialect = row[i].dialect, .group = GROUP};
    Str s = {.b = &w->ctx.base};
    assert_true(render_program(&w->ctx, &target, 1, &lin, &s));
    str_addn(&s, "", 1);
    assert_non_null(strstr(s.at, row[i].kernel));
    assert_non_null(strstr(s.at, "= group_add_f32("));
    assert_non_null(strstr(s.at, "+ thread + 8 * k"));
    assert_non_null(strstr(s.at, "if (thread == 0) p0["));
    str_free(&s);
    free(k);
  }
  scope_leave(&w->ctx, &scope);
}

/* out[i] = x[row[i] * 1000 + i] where row[i] * 1000 is below `limit`, so far as `limit` is asked for; 0 elsewhere. */
static Kern *gathered(int64_t rows, int64_t limit) {
  Kern *k = kern_new("gathered");
  int out = kern_param(k, POLY_FLOAT32, true), x = kern_param(k, POLY_FLOAT32, false);
  int row = kern_param(k, POLY_INT32, false), zero = kern_int(k, POLY_INT64, 0), n = kern_int(k, POLY_INT64, rows);
  int wide = kern_int(k, POLY_INT64, 1000), most = kern_int(k, POLY_INT64, limit);
  int i = kern_loop(k, zero, n, LOOP_PARALLEL);
  int at = kern_alu(k, OP_CAST, POLY_INT64, kern_load(k, row, i, STRIDE_NONE, -1), -1, -1);
  int first = kern_idx(k, OP_MUL, at, wide), gate = -1;
  if (limit) gate = kern_alu(k, OP_CMPLT, POLY_BOOL, first, most, -1);
  kern_store(k, out, i, kern_load(k, x, kern_idx(k, OP_ADD, first, i), STRIDE_NONE, gate), STRIDE_NONE, -1);
  kern_end(k, i);
  return k;
}

static int count_wide(const Linear *lin) {
  int n = 0;
  for (int i = 0; i < lin->ninst; i++)
    n += lin->inst[i].dtype == POLY_INT64 && (lin->inst[i].kind == INST_ALU || lin->inst[i].kind == INST_LOOP);
  return n;
}

/* Places in memory are computed in 32 bits where these reach; what is compared must fit. */
static void test_index32(void **state) {
  enum { N = 4 };
  World *w = *state;
  Scope scope;
  scope_enter(&w->ctx, &scope);
  static float x[5000];
  float out[N];
  int32_t row[N] = {2, 0, 3, 1};
  for (int i = 0; i < LEN(x); i++) x[i] = (float)i;
  static const struct {
    int64_t most, limit;
    int wide; /* instructions left in 64 bits */
  } of[] = {{5000, 0, 0}, {INT64_C(1) << 31, 0, 4}, {5000, 2500, 2}};
  for (int t = 0; t < LEN(of); t++) {
    Arena arena = {.b = &w->ctx.base};
    Kern *k = gathered(N, of[t].limit);
    Target target = {.narrow_index = true};
    const int64_t most[] = {N, of[t].most, N};
    assert_true(codegen_index32(&arena, &target, most, &k->lin));
    assert_true(linear_verify(&w->ctx, &k->lin));
    assert_int_equal(count_wide(&k->lin), of[t].wide);
    assert_true(run_interp(w, &k->lin, (void *[]){out, x, row}));
    for (int i = 0; i < N; i++) {
      bool kept = !of[t].limit || row[i] * 1000 < of[t].limit;
      assert_true(out[i] == (kept ? (float)(row[i] * 1000 + i) : 0));
    }
    arena_free(&arena);
    free(k);
  }
  scope_leave(&w->ctx, &scope);
}

/* out[i] = i * 2^30 * 2^30: a product whose bounds int64 does not hold is not narrow. */
static void test_index32_products(void **state) {
  enum { N = 17 };
  World *w = *state;
  Scope scope;
  scope_enter(&w->ctx, &scope);
  Arena arena = {.b = &w->ctx.base};
  Kern *k = kern_new("products");
  int out = kern_param(k, POLY_INT64, true), zero = kern_int(k, POLY_INT64, 0), n = kern_int(k, POLY_INT64, N);
  int large = kern_int(k, POLY_INT64, 1 << 30), i = kern_loop(k, zero, n, LOOP_PARALLEL);
  kern_store(k, out, i, kern_idx(k, OP_MUL, kern_idx(k, OP_MUL, i, large), large), STRIDE_NONE, -1);
  kern_end(k, i);
  Target target = {.narrow_index = true};
  int64_t got[N];
  assert_true(codegen_index32(&arena, &target, (const int64_t[]){N}, &k->lin));
  assert_true(linear_verify(&w->ctx, &k->lin));
  assert_true(run_interp(w, &k->lin, (void *[]){got}));
  for (int j = 0; j < N; j++) assert_true((uint64_t)got[j] == (uint64_t)j << 60);
  arena_free(&arena);
  free(k);
  scope_leave(&w->ctx, &scope);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_combine),          TEST(test_missing_fence_shows),
                                     TEST(test_verifier_refuses), TEST(test_dialects),
                                     TEST(test_index32),          TEST(test_index32_products)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
