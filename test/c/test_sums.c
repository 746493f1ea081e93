/* test_sums.c: what codegen makes of sums: short ones stay one loop, long ones become blocks, rows of unknown length
 * keep the loop of a short row, and products are fused with the sums that they go into. */
#include "ir_fixture.h"

#include "codegen/codegen.h"
#include "runtime/device.h"

enum { ROWS = 100 };

static UOp *range(Fixture *f, int id, UOp *begin, UOp *end) {
  return uop_make(&f->ctx, OP_RANGE, POLY_INT64, (UArg){.i = id}, 2, (UOp *[]){begin, end}, 0, NULL);
}

static UOp *load(Fixture *f, PolyDType d, int param, UOp *index) {
  UOp *p = uop_make(&f->ctx, OP_PARAM, d, (UArg){.i = param}, 0, NULL, 0, NULL);
  return uop_make(&f->ctx, OP_LOAD, d, (UArg){0}, 2, (UOp *[]){p, index}, 0, NULL);
}

/* out[i] = sum over j of value, with the row i open. */
static UOp *store_sum(Fixture *f, PolyDType d, Op op, UOp *i, UOp *j, UOp *value) {
  UOp *sum = uop_make(&f->ctx, OP_LOOP, d, (UArg){.i = op}, 2, (UOp *[]){value, j}, 0, NULL);
  UOp *out = uop_make(&f->ctx, OP_PARAM, d, (UArg){.i = 0}, 0, NULL, 0, NULL);
  return uop_make(&f->ctx, OP_STORE, d, (UArg){0}, 4, (UOp *[]){out, sum, i, i}, 0, NULL);
}

/* How many instructions of the kernel are of a kind; of loops, those that have one of the marks (0: all). */
static int count(const Linear *lin, InstKind kind, uint32_t marks) {
  int n = 0;
  for (int i = 0; i < lin->ninst; i++) n += lin->inst[i].kind == kind && (!marks || lin->inst[i].flags & marks);
  return n;
}

static void generate(Fixture *f, Arena *arena, UOp *store, bool vector, Linear *out) {
  Target target = cpu_target;
  if (!vector) target.vector_bytes = target.log_sum_lanes = 0;
  assert_non_null(store);
  assert_true(codegen_kernel(&f->ctx, arena, 1, &store, &target, out));
  if (!linear_verify(&f->ctx, out)) fail_msg("%s", f->ctx.base.text);
}

/* The kernel of a sum of x[i*n + j] over a constant number of values. */
static void sum_of(Fixture *f, Arena *arena, PolyDType d, Op op, int64_t n, bool vector, Linear *out) {
  UOp *zero = uop_index(&f->ctx, 0), *i = range(f, 0, zero, uop_index(&f->ctx, ROWS));
  UOp *j = range(f, 1, zero, uop_index(&f->ctx, n));
  UOp *x = load(f, d, 1, int_add(int_mul(i, uop_index(&f->ctx, n)), j));
  generate(f, arena, store_sum(f, d, op, i, j, x), vector, out);
}

static void test_constant_lengths(void **state) {
  Fixture *f = *state;
  static const struct {
    int64_t n;
    bool vector;
    int loops, accumulators;
  } row[] = {{64, false, 2, 1},  {96, false, 3, 4},  {100, false, 4, 4},
             {2048, true, 2, 1}, {4096, true, 3, 4}, {5000, true, 4, 4}};
  for (int k = 0; k < LEN(row); k++) {
    Arena arena = {.b = &f->ctx.base};
    Linear lin;
    sum_of(f, &arena, POLY_FLOAT32, OP_ADD, row[k].n, row[k].vector, &lin);
    assert_int_equal(count(&lin, INST_LOOP, 0), row[k].loops);
    assert_int_equal(count(&lin, INST_ACC, 0), row[k].accumulators);
    assert_int_equal(count(&lin, INST_LOOP, LOOP_ONCE), 0);
    arena_free(&arena);
  }
}

/* What loses nothing, or has no wider pair to keep it in, is one loop at any length. */
static void test_other_reductions_stay(void **state) {
  Fixture *f = *state;
  static const struct {
    PolyDType dtype;
    Op op;
  } row[] = {{POLY_INT32, OP_ADD}, {POLY_FLOAT64, OP_ADD}, {POLY_FLOAT32, OP_MAX}, {POLY_FLOAT32, OP_MUL}};
  for (int k = 0; k < LEN(row); k++) {
    Arena arena = {.b = &f->ctx.base};
    Linear lin;
    sum_of(f, &arena, row[k].dtype, row[k].op, 100000, true, &lin);
    assert_int_equal(count(&lin, INST_LOOP, 0), 2);
    arena_free(&arena);
  }
}

/* A row of edges: what comes before the blocks is one loop, and the blocks stand in a loop that seldom runs. */
static void test_loaded_bounds(void **state) {
  Fixture *f = *state;
  Arena arena = {.b = &f->ctx.base};
  Linear lin;
  UOp *zero = uop_index(&f->ctx, 0), *i = range(f, 0, zero, uop_index(&f->ctx, ROWS));
  UOp *begin = uop_cast(load(f, POLY_INT32, 1, i), POLY_INT64);
  UOp *end = uop_cast(load(f, POLY_INT32, 1, int_addc(i, 1)), POLY_INT64);
  UOp *j = range(f, 1, begin, end);
  generate(f, &arena, store_sum(f, POLY_FLOAT32, OP_ADD, i, j, load(f, POLY_FLOAT32, 2, j)), false, &lin);
  assert_int_equal(count(&lin, INST_LOOP, 0), 5);
  assert_int_equal(count(&lin, INST_LOOP, LOOP_ONCE), 1);
  int outside = 0; /* sums that a short row has to clear */
  for (int k = 0; k < lin.ninst && !(lin.inst[k].flags & LOOP_ONCE && lin.inst[k].kind == INST_LOOP); k++)
    outside += lin.inst[k].kind == INST_ACC;
  assert_int_equal(outside, 1);
  arena_free(&arena);
}

static void test_products_are_fused(void **state) {
  Fixture *f = *state;
  Arena arena = {.b = &f->ctx.base};
  Linear lin;
  UOp *zero = uop_index(&f->ctx, 0), *i = range(f, 0, zero, uop_index(&f->ctx, ROWS));
  UOp *j = range(f, 1, zero, uop_index(&f->ctx, 8)), *at = int_add(int_mul(i, uop_index(&f->ctx, 8)), j);
  UOp *x = load(f, POLY_FLOAT32, 1, at), *y = load(f, POLY_FLOAT32, 2, at), *z = load(f, POLY_FLOAT32, 2, j);
  UOp *inner = uop_binary(OP_SUB, uop_binary(OP_MUL, x, z), y);
  generate(f, &arena, store_sum(f, POLY_FLOAT32, OP_ADD, i, j, uop_binary(OP_MUL, inner, x)), false, &lin);
  int fused = 0, left = 0;
  for (int k = 0; k < lin.ninst; k++) {
    const Inst *in = &lin.inst[k];
    fused += in->kind == INST_UPDATE && in->src[2] >= 0;
    left += in->kind == INST_ALU && in->op == OP_MUL && in->dtype == POLY_FLOAT32;
  }
  assert_int_equal(fused, 1);
  assert_int_equal(left, 1); /* x*z - y: elementwise work is rounded op by op */
  arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IR_TEST(test_constant_lengths),
      IR_TEST(test_other_reductions_stay),
      IR_TEST(test_loaded_bounds),
      IR_TEST(test_products_are_fused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
