/* test_turned.c: which loops are lanes where memory lies in two orders. Elementwise kernels read it in runs: what lies
 * along another loop goes through a local array. Others take lines of the cache as a whole, and what follows a product
 * in tiles has long loops. */
#include "ir_fixture.h"

#include "codegen/codegen.h"
#include "runtime/device.h"

enum { LINE = 1000 }; /* of x; what is stored has lines of the kernel's columns */

static UOp *range(Fixture *f, int id, int64_t n) {
  UOp *src[2] = {uop_index(&f->ctx, 0), uop_index(&f->ctx, n)};
  return uop_make(&f->ctx, OP_RANGE, POLY_INT64, (UArg){.i = id}, 2, src, 0, NULL);
}

static UOp *load(Fixture *f, PolyDType d, int param, UOp *index, UOp *gate) {
  UOp *src[3] = {uop_make(&f->ctx, OP_PARAM, d, (UArg){.i = param}, 0, NULL, 0, NULL), index, gate};
  return uop_make(&f->ctx, OP_LOAD, d, (UArg){0}, gate ? 3 : 2, src, 0, NULL);
}

/* The kernel out[i, j] = x at `a` per row and `b` per column, where i is below `below`. */
static void make(Fixture *f, Arena *arena, PolyDType d, int64_t n, int64_t m, int64_t a, int64_t b, int64_t below,
                 Linear *lin) {
  UOp *i = range(f, 0, n), *j = range(f, 1, m);
  UOp *gate = below < n ? int_lt(i, uop_index(&f->ctx, below)) : NULL;
  UOp *x = load(f, d, 1, int_add(int_mulc(i, a), int_mulc(j, b)), gate);
  UOp *out = uop_make(&f->ctx, OP_PARAM, d, (UArg){.i = 0}, 0, NULL, 0, NULL);
  UOp *src[5] = {out, x, int_add(int_mulc(i, m), j), i, j};
  UOp *store = uop_make(&f->ctx, OP_STORE, d, (UArg){0}, 5, src, 0, NULL);
  assert_true(codegen_kernel(&f->ctx, arena, 1, &store, &cpu_target, lin));
  if (!linear_verify(&f->ctx, lin)) fail_msg("%s", f->ctx.base.text);
}

/* Loads by lanes that are apart in memory. */
static int count_apart(const Linear *lin) {
  int n = 0;
  for (int i = 0; i < lin->ninst; i++) {
    const Inst *in = &lin->inst[i];
    n += in->kind == INST_LOAD && in->stride != 0 && in->stride != 1 && in->stride != -1;
  }
  return n;
}

static int count_local(const Linear *lin) {
  int n = 0;
  for (int i = 0; i < lin->nparam; i++) n += lin->param[i].local > 0;
  return n;
}

static void test_what_is_turned(void **state) {
  Fixture *f = *state;
  static const PolyDType dtypes[] = {POLY_FLOAT32, POLY_FLOAT64, POLY_BFLOAT16, POLY_UINT8, POLY_BOOL, POLY_INT64};
  static const struct {
    int64_t n, m, a, b, below;
    int local, apart;
  } row[] = {
      {300, 200, 1, LINE, 300, 1, 0},  /* transposed, */
      {301, 203, -1, LINE, 301, 1, 0}, /* and the other way round; tiles with odd ends */
      {300, 200, 1, LINE, 100, 0, 1},  /* some rows alone: a branch around the loop over a row, in tiles */
      {300, 200, LINE, 1, 300, 0, 0},  /* in order */
      {300, 200, 1, 3, 300, 0, 1},     /* windows that overlap: no run is longer than what lies between */
      {10, 20, 1, LINE, 10, 0, 1},     /* too little */
  };
  for (int d = 0; d < LEN(dtypes); d++)
    for (int k = 0; k < LEN(row); k++) {
      Arena arena = {.b = &f->ctx.base};
      Linear lin;
      make(f, &arena, dtypes[d], row[k].n, row[k].m, row[k].a, row[k].b, row[k].below, &lin);
      assert_int_equal(count_local(&lin), row[k].local);
      assert_int_equal(count_apart(&lin), row[k].apart);
      arena_free(&arena);
    }
}

/* Tiles of the rows that are read under a condition: the loop over them is not the outermost. */
static void test_rows_under_a_condition(void **state) {
  Fixture *f = *state;
  Arena arena = {.b = &f->ctx.base};
  Linear lin;
  int loops = 0;
  make(f, &arena, POLY_FLOAT32, 300, 200, 1, LINE, 100, &lin);
  for (int i = 0; i < lin.ninst; i++) loops += lin.inst[i].kind == INST_LOOP;
  assert_int_equal(loops, 3);
  arena_free(&arena);
}

/* Flags of the innermost loop around the store of argument 0, and the stride of that. */
static uint32_t flags_of_store(const Linear *lin, int64_t *stride) {
  int open[MAX_DIMS * 4], n = 0;
  for (int i = 0; i < lin->ninst; i++) {
    const Inst *in = &lin->inst[i];
    if (in->kind == INST_LOOP) open[n++] = i;
    if (in->kind == INST_END) n--;
    if (in->kind == INST_STORE && in->param == 0) *stride = in->stride;
    if (in->kind == INST_STORE && in->param == 0) return n ? lin->inst[open[n - 1]].flags : 0;
  }
  return 0;
}

static void generate(Fixture *f, Arena *arena, UOp *index, UOp *value, int n, UOp *const *ranges, Linear *lin) {
  UOp *src[3 + MAX_DIMS] = {uop_make(&f->ctx, OP_PARAM, POLY_FLOAT32, (UArg){.i = 0}, 0, NULL, 0, NULL), value, index};
  for (int i = 0; i < n; i++) src[3 + i] = ranges[i];
  UOp *store = uop_make(&f->ctx, OP_STORE, POLY_FLOAT32, (UArg){0}, 3 + n, src, 0, NULL);
  assert_true(codegen_kernel(&f->ctx, arena, 1, &store, &cpu_target, lin));
  if (!linear_verify(&f->ctx, lin)) fail_msg("%s", f->ctx.base.text);
}

/* out[c] = sum over w of exp(x[w, c] + y[c, w]) * z[c, w]: of three values two lie along w. If rows of x are many,
 * lanes along w would read each line of x once for each of its channels. */
static void test_lines_are_read_once(void **state) {
  Fixture *f = *state;
  enum { CHANNELS = 64 };
  static const int64_t widths[] = {16, 4000};
  for (int k = 0; k < LEN(widths); k++) {
    Arena arena = {.b = &f->ctx.base};
    Linear lin;
    int64_t stride;
    UOp *c = range(f, 0, CHANNELS), *w = range(f, 1, widths[k]);
    UOp *along = int_add(int_mulc(c, widths[k]), w);
    UOp *x = load(f, POLY_FLOAT32, 1, int_add(int_mulc(w, CHANNELS), c), NULL);
    UOp *e = uop_unary(OP_EXP, uop_binary(OP_ADD, x, load(f, POLY_FLOAT32, 2, along, NULL)));
    UOp *body[2] = {uop_binary(OP_MAX, e, load(f, POLY_FLOAT32, 3, along, NULL)), w};
    UOp *sum = uop_make(&f->ctx, OP_LOOP, POLY_FLOAT32, (UArg){.i = OP_ADD}, 2, body, 0, NULL);
    generate(f, &arena, c, sum, 1, &c, &lin);
    assert_int_equal((flags_of_store(&lin, &stride) & LOOP_VECTOR) != 0, widths[k] > 16);
    arena_free(&arena);
  }
}

/* out[i, a, b] = sum over k of x[i, k] * y[k, b, a]: the columns are two loops to the product, but one to the store. */
static void test_columns_are_stored_as_one_run(void **state) {
  Fixture *f = *state;
  enum { ROWS = 40, A = 50, B = 3, SUM = 600 };
  Arena arena = {.b = &f->ctx.base};
  Linear lin;
  UOp *i = range(f, 0, ROWS), *a = range(f, 1, A), *b = range(f, 2, B), *k = range(f, 3, SUM);
  UOp *x = load(f, POLY_FLOAT32, 1, int_add(int_mulc(i, SUM), k), NULL);
  UOp *y = load(f, POLY_FLOAT32, 2, int_add(int_add(int_mulc(k, A * B), int_mulc(b, A)), a), NULL);
  UOp *body[2] = {uop_binary(OP_MUL, x, y), k}, *ranges[3] = {i, a, b};
  UOp *sum = uop_make(&f->ctx, OP_LOOP, POLY_FLOAT32, (UArg){.i = OP_ADD}, 2, body, 0, NULL);
  generate(f, &arena, int_add(int_add(int_mulc(i, A * B), int_mulc(a, B)), b), sum, 3, ranges, &lin);
  assert_true(count_local(&lin) >= 2); /* it is computed in tiles */
  int64_t stride = 0;
  assert_true(flags_of_store(&lin, &stride) & LOOP_VECTOR);
  assert_int_equal(stride, 1);
  arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IR_TEST(test_what_is_turned),
      IR_TEST(test_rows_under_a_condition),
      IR_TEST(test_lines_are_read_once),
      IR_TEST(test_columns_are_stored_as_one_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
