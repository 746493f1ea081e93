/* test_turned.c: elementwise kernels on memory that lies in two orders read it in runs: what lies along another loop
 * than the lanes goes through a local array. */
#include "ir_fixture.h"

#include "codegen/codegen.h"
#include "runtime/device.h"

enum { LINE = 1000 }; /* of x; what is stored has lines of the kernel's columns */

static UOp *range(Fixture *f, int id, int64_t n) {
  UOp *src[2] = {uop_index(&f->ctx, 0), uop_index(&f->ctx, n)};
  return uop_make(&f->ctx, OP_RANGE, POLY_INT64, (UArg){.i = id}, 2, src, 0, NULL);
}

static UOp *load(Fixture *f, PolyDType d, UOp *index, UOp *gate) {
  UOp *src[3] = {uop_make(&f->ctx, OP_PARAM, d, (UArg){.i = 1}, 0, NULL, 0, NULL), index, gate};
  return uop_make(&f->ctx, OP_LOAD, d, (UArg){0}, gate ? 3 : 2, src, 0, NULL);
}

/* The kernel out[i, j] = x at `a` per row and `b` per column, where i is below `below`. */
static void make(Fixture *f, Arena *arena, PolyDType d, int64_t n, int64_t m, int64_t a, int64_t b, int64_t below,
                 Linear *lin) {
  UOp *i = range(f, 0, n), *j = range(f, 1, m);
  UOp *gate = below < n ? int_lt(i, uop_index(&f->ctx, below)) : NULL;
  UOp *x = load(f, d, int_add(int_mulc(i, a), int_mulc(j, b)), gate);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      IR_TEST(test_what_is_turned),
      IR_TEST(test_rows_under_a_condition),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
