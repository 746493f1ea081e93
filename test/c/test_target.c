/* test_target.c: what a Target says is what passes do, and what the op table says is what an op does. */
#include "ir_fixture.h"

#include "codegen/codegen.h"
#include "ir/eval.h"
#include "render/render.h"
#include "runtime/device.h"
#include "schedule/schedule.h"

/* ---- the op table ---- */

/* A dtype that the table allows and evaluation refuses, or the other way round, would be a program that builds and does
 * not fold, or one that is refused without reason. */
static void test_table_and_evaluation_agree(void **state) {
  (void)state;
  for (int op = 0; op < OP_COUNT; op++) {
    OpClass cls = op_info[op].cls;
    bool own_rules = op == OP_CAST || op == OP_BITCAST || op == OP_WHERE;
    if (!op_elementwise((Op)op) || own_rules) continue;
    for (int d = 0; d < POLY_DTYPE_COUNT; d++) {
      Value src[3], out;
      for (int k = 0; k < 3; k++) src[k] = value_cast((Value){.i = 1}, POLY_INT64, (PolyDType)d);
      bool runs = eval_scalar((Op)op, (PolyDType)d, cls == CLASS_COMPARE ? POLY_BOOL : (PolyDType)d, src, &out);
      if (runs != op_takes((Op)op, (PolyDType)d))
        fail_msg("%s of %s: evaluation %s it", op_info[op].name, dtype_name((PolyDType)d), runs ? "takes" : "refuses");
    }
  }
}

static void test_every_elementwise_op_has_a_cost(void **state) {
  (void)state;
  for (int op = 0; op < OP_COUNT; op++) {
    if (!op_elementwise((Op)op)) continue;
    if (!cpu_target.cost.op[op_info[op].cost] || !test_target.cost.op[op_info[op].cost])
      fail_msg("%s costs nothing", op_info[op].name);
  }
}

/* ---- codegen ---- */

/* STORE out[i] = exp(x[i]) over n elements. */
static UOp *elementwise(Fixture *f, PolyDType d, int64_t n) {
  UOp *zero = uop_index(&f->ctx, 0), *size = uop_index(&f->ctx, n);
  UOp *i = uop_make(&f->ctx, OP_RANGE, POLY_INT64, (UArg){.i = 0}, 2, (UOp *[]){zero, size}, 0, NULL);
  UOp *x = uop_make(&f->ctx, OP_PARAM, d, (UArg){.i = 1}, 0, NULL, 0, NULL);
  UOp *out = uop_make(&f->ctx, OP_PARAM, d, (UArg){.i = 0}, 0, NULL, 0, NULL);
  UOp *value = uop_unary(OP_EXP, uop_make(&f->ctx, OP_LOAD, d, (UArg){0}, 2, (UOp *[]){x, i}, 0, NULL));
  return uop_make(&f->ctx, OP_STORE, d, (UArg){0}, 4, (UOp *[]){out, value, i, i}, 0, NULL);
}

static const Inst *only_loop(const Linear *lin) {
  const Inst *loop = NULL;
  for (int i = 0; i < lin->ninst; i++) {
    if (lin->inst[i].kind != INST_LOOP) continue;
    assert_null(loop);
    loop = &lin->inst[i];
  }
  assert_non_null(loop);
  return loop;
}

/* Widths stand on the linear form and follow from the register and the element. */
static void test_widths_follow_the_target(void **state) {
  Fixture *f = *state;
  static const struct {
    int bytes;
    PolyDType dtype;
    int lanes;
  } at[] = {{16, POLY_FLOAT32, 4}, {32, POLY_FLOAT32, 8}, {64, POLY_FLOAT32, 16}, {64, POLY_FLOAT64, 8},
            {32, POLY_FLOAT16, 8}, {8, POLY_FLOAT64, 0},  {0, POLY_FLOAT32, 0}};
  for (int k = 0; k < LEN(at); k++) {
    Arena arena = {.b = &f->ctx.base};
    Target target = cpu_target;
    target.vector_bytes = at[k].bytes;
    UOp *store = elementwise(f, at[k].dtype, 1003);
    Linear lin;
    assert_true(codegen_kernel(&f->ctx, &arena, 1, &store, &target, &lin));
    if (!linear_verify(&f->ctx, &lin)) fail_msg("%s", f->ctx.base.text);
    const Inst *loop = only_loop(&lin);
    assert_int_equal(loop->lanes, at[k].lanes);
    assert_int_equal((loop->flags & LOOP_VECTOR) != 0, at[k].lanes > 0);
    assert_int_equal(loop->tail, at[k].lanes ? target.least_lanes : 0);
    assert_int_equal(loop->copies > 0, at[k].lanes > 0);
    arena_free(&arena);
  }
}

static void test_verifier_reads_widths(void **state) {
  Fixture *f = *state;
  Arena arena = {.b = &f->ctx.base};
  UOp *store = elementwise(f, POLY_FLOAT32, 64);
  Linear lin;
  assert_true(codegen_kernel(&f->ctx, &arena, 1, &store, &cpu_target, &lin));
  Inst *loop = (Inst *)(uintptr_t)only_loop(&lin), good = *loop;
  loop->lanes = 12;
  assert_false(linear_verify(&f->ctx, &lin));
  base_clear(&f->ctx.base);
  *loop = good;
  loop->lanes = 0;
  assert_false(linear_verify(&f->ctx, &lin));
  base_clear(&f->ctx.base);
  *loop = good;
  loop->flags &= ~(uint32_t)LOOP_PARALLEL;
  loop->chunk = 64;
  assert_false(linear_verify(&f->ctx, &lin));
  base_clear(&f->ctx.base);
  *loop = good;
  assert_true(linear_verify(&f->ctx, &lin));
  arena_free(&arena);
}

/* A device without a dtype says so, with the name of the dtype, instead of compiling something else. */
static void test_missing_dtype(void **state) {
  Fixture *f = *state;
  Arena arena = {.b = &f->ctx.base};
  Target target = cpu_target;
  target.dtypes &= ~(1u << POLY_FLOAT64);
  UOp *store = elementwise(f, POLY_FLOAT64, 10);
  Linear lin;
  assert_false(codegen_kernel(&f->ctx, &arena, 1, &store, &target, &lin));
  assert_int_equal(f->ctx.base.code, POLY_ERROR_TYPE);
  assert_non_null(strstr(f->ctx.base.text, "float64"));
  base_clear(&f->ctx.base);
  arena_free(&arena);
}

static void test_missing_dialect(void **state) {
  Fixture *f = *state;
  Target target = cpu_target;
  target.dialect = (Dialect)(DIALECT_OPENCL + 1);
  Str s = {.b = &f->ctx.base};
  assert_false(render_program(&f->ctx, &target, 0, NULL, &s));
  assert_int_equal(f->ctx.base.code, POLY_ERROR_RUNTIME);
  base_clear(&f->ctx.base);
  str_free(&s);
}

/* ---- schedule ---- */

static int count_items(Fixture *f, const Target *target, UOp *root, ItemKind kind) {
  Arena arena = {.b = &f->ctx.base};
  ScheduleLimits limits = {0};
  Schedule s;
  int n = 0;
  if (!schedule_build(&f->ctx, &arena, 1, &root, target, &limits, &s)) fail_msg("%s", f->ctx.base.text);
  for (int i = 0; i < s.nitem; i++) n += s.item[i].kind == kind;
  schedule_limits_free(&f->ctx, &limits);
  arena_free(&arena);
  return n;
}

static UOp *input(Fixture *f, int k, int64_t rows, int64_t columns) {
  UOp *shape[] = {uop_index(&f->ctx, rows), uop_index(&f->ctx, columns)};
  return uop_make(&f->ctx, OP_BUFFER, POLY_FLOAT32, (UArg){.i = -(k + 1)}, 2, shape, 2, shape);
}

/* A sum is cut once: pieces that are themselves long enough to be cut are not. */
static void test_pieces_of_a_sum(void **state) {
  Fixture *f = *state;
  UOp *sum = uop_reduce(OP_ADD, input(f, 0, 1, 1 << 24), 3);
  Target target = cpu_target;
  assert_int_equal(count_items(f, &target, sum, ITEM_KERNEL), 2);
  target.split_elements = INT64_MAX;
  assert_int_equal(count_items(f, &target, sum, ITEM_KERNEL), 1);
}

static void test_matrix_products(void **state) {
  Fixture *f = *state;
  UOp *one = uop_index(&f->ctx, 1), *n = uop_index(&f->ctx, 64);
  UOp *a = uop_reshape(input(f, 0, 64, 64), 3, (UOp *[]){n, n, one});
  UOp *b = uop_reshape(input(f, 1, 64, 64), 3, (UOp *[]){one, n, n});
  UOp *all[] = {n, n, n};
  UOp *product = uop_reduce(OP_ADD, uop_binary(OP_MUL, uop_expand(a, all), uop_expand(b, all)), 2);
  Target target = cpu_target;
  assert_int_equal(count_items(f, &target, product, ITEM_MATMUL), 0); /* short enough for tiles */
  target.cost.fused_sum = 63;
  assert_int_equal(count_items(f, &target, product, ITEM_MATMUL), 1);
  target.matmul &= ~(1u << POLY_FLOAT32);
  assert_int_equal(count_items(f, &target, product, ITEM_MATMUL), 0);
}

/* ---- engine ---- */

/* An index of 32 bits does not reach the end of such a tensor: refused before memory is asked for. */
static void test_index_width(void **state) {
  (void)state;
  PolyContext *ctx = poly_context_new();
  assert_non_null(ctx);
  assert_int_equal(poly_set_device(ctx, "TEST"), POLY_OK);
  PolyTensor *t = poly_full_int(ctx, POLY_INT8, 2, (int64_t[]){3, 1 << 30}, 1), *c = poly_contiguous(t);
  assert_non_null(c);
  assert_int_not_equal(poly_realize(c), POLY_OK);
  assert_non_null(strstr(poly_error_text(ctx), "32-bit"));
  poly_free(c);
  poly_free(t);
  poly_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IR_TEST(test_table_and_evaluation_agree),
      IR_TEST(test_every_elementwise_op_has_a_cost),
      IR_TEST(test_widths_follow_the_target),
      IR_TEST(test_verifier_reads_widths),
      IR_TEST(test_missing_dtype),
      IR_TEST(test_missing_dialect),
      IR_TEST(test_pieces_of_a_sum),
      IR_TEST(test_matrix_products),
      cmocka_unit_test(test_index_width),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
