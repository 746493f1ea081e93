/* test_move_build.c: what movement, indexing and products build: result shapes and dtypes, the texts of errors,
 * symbolic sizes, and that a failing allocation anywhere in them is an error and nothing worse. Values are checked
 * elsewhere, on devices. */
#include "ir_fixture.h"

#include "tensor/shape_ops.h"

/* A tensor of the given sizes, which has no memory: nothing here runs. */
static PolyTensor *tensor(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  Scope s;
  scope_enter(ctx, &s);
  UOp *dims[MAX_DIMS];
  for (int k = 0; k < ndim; k++) dims[k] = uop_index(ctx, shape[k]);
  bool ok = true;
  for (int k = 0; k < ndim; k++) ok = ok && dims[k];
  PolyTensor *t = ok ? tensor_wrap(ctx, uop_buffer(ctx, dtype, ndim, dims)) : NULL;
  scope_leave(ctx, &s);
  return t;
}
#define DIMS(...)                                                                                                      \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define FLOATS(...) tensor(ctx, POLY_FLOAT32, DIMS(__VA_ARGS__))
#define PLACES(...) tensor(ctx, POLY_INT64, DIMS(__VA_ARGS__))

static void expect_shape(PolyTensor *t, const char *shape) {
  char text[256];
  if (!t) fail_msg("expected %s, got no tensor", shape);
  assert_string_equal(shape_text(t->uop, text, sizeof text), shape);
  poly_free(t);
}

/* The call must have failed with a text that holds all the given parts (separated by |). */
static void expect_error(PolyContext *ctx, PolyTensor *t, PolyStatus code, const char *parts) {
  assert_null(t);
  assert_int_equal(ctx->base.code, code);
  char copy[256];
  snprintf(copy, sizeof copy, "%s", parts);
  for (char *p = strtok(copy, "|"); p; p = strtok(NULL, "|"))
    if (!strstr(ctx->base.text, p)) fail_msg("\"%s\" is not in \"%s\"", p, ctx->base.text);
  base_clear(&ctx->base);
}

#define OPEN()                                                                                                         \
  Fixture *f = *state;                                                                                                 \
  PolyContext *ctx = &f->ctx

/* ---- movement ---- */

static void reshapes(void **state) {
  OPEN();
  PolyTensor *x = FLOATS(3, 4);
  expect_shape(poly_reshape(x, DIMS(2, -1)), "(2, 6)");
  expect_shape(poly_reshape(x, DIMS(12)), "(12,)");
  expect_error(ctx, poly_reshape(x, DIMS(5, 2)), POLY_ERROR_VALUE, "cannot reshape (3, 4) (12 elements) into (5, 2)");
  expect_error(ctx, poly_reshape(x, DIMS(5, -1)), POLY_ERROR_VALUE, "cannot reshape (3, 4) (12 elements) into (5, -1)");
  expect_error(ctx, poly_reshape(x, DIMS(-1, -1)), POLY_ERROR_VALUE, "one size");
  expect_shape(poly_flatten(x, 0, -1), "(12,)");
  expect_shape(poly_unflatten(x, -1, DIMS(2, -1)), "(3, 2, 2)");
  expect_shape(poly_unsqueeze(x, -1), "(3, 4, 1)");
  expect_shape(poly_permute(x, 2, (int[]){-1, 0}), "(4, 3)");
  expect_error(ctx, poly_permute(x, 2, (int[]){1, 1}), POLY_ERROR_VALUE, "(3, 4)");
  expect_error(ctx, poly_transpose(x, 0, 2), POLY_ERROR_INDEX, "axis 2");
  expect_error(ctx, poly_expand(x, DIMS(3, 5)), POLY_ERROR_VALUE, "(3, 4)|(3, 5)");
  poly_free(x);
}

static void pads_and_slices(void **state) {
  OPEN();
  PolyTensor *x = FLOATS(3, 4);
  expect_shape(poly_pad(x, (int64_t[]){1, 2, -1, 0}, POLY_PAD_CONSTANT, 5), "(6, 3)");
  expect_shape(poly_pad(x, (int64_t[]){2, 2, 0, 3}, POLY_PAD_REFLECT, 0), "(7, 7)");
  expect_shape(poly_pad(x, (int64_t[]){5, 0, 0, 9}, POLY_PAD_REPLICATE, 0), "(8, 13)");
  expect_error(ctx, poly_pad(x, (int64_t[]){3, 0, 0, 0}, POLY_PAD_REFLECT, 0), POLY_ERROR_VALUE, "(3, 4)");
  expect_error(ctx, poly_pad(x, (int64_t[]){4, 0, 0, 0}, POLY_PAD_CIRCULAR, 0), POLY_ERROR_VALUE, "(3, 4)");
  expect_error(ctx, poly_pad(x, (int64_t[]){-2, -2, 0, 0}, POLY_PAD_CONSTANT, 0), POLY_ERROR_VALUE, "(3, 4)");
  expect_error(ctx, poly_shrink(x, (int64_t[]){0, 4, 0, 4}), POLY_ERROR_VALUE, "(3, 4)");
  PolyIndex back = {.kind = 's', .step = -2}, at = {.kind = 'i', .start = -1}, none = {.kind = 'n'};
  expect_shape(poly_getitem(x, 3, (PolyIndex[]){back, none, at}), "(2, 1)");
  at.start = 3;
  expect_error(ctx, poly_getitem(x, 1, &at), POLY_ERROR_INDEX, "index 3|axis 0|(3, 4)");
  expect_error(ctx, poly_getitem(x, 3, (PolyIndex[]){back, back, back}), POLY_ERROR_INDEX, "too many|(3, 4)");
  poly_free(x);
}

static void joins(void **state) {
  OPEN();
  PolyTensor *t[] = {FLOATS(3, 4), FLOATS(5, 4), FLOATS(3, 5), tensor(ctx, POLY_FLOAT64, DIMS(3, 4))}, *out[3];
  expect_shape(poly_cat(t, 2, 0), "(8, 4)");
  expect_shape(poly_cat((PolyTensor *[]){t[0], t[2]}, 2, -1), "(3, 9)");
  expect_error(ctx, poly_cat(t, 2, 1), POLY_ERROR_VALUE, "(3, 4)|(5, 4)");
  expect_error(ctx, poly_stack(t, 2, 0), POLY_ERROR_VALUE, "(3, 4)|(5, 4)");
  PolyTensor *wide = poly_cat((PolyTensor *[]){t[0], t[3]}, 2, 0);
  assert_int_equal(poly_dtype(wide), POLY_FLOAT64);
  poly_free(wide);
  assert_int_equal(poly_split(t[1], DIMS(2, 0, 3), 0, out), POLY_OK);
  expect_shape(out[0], "(2, 4)");
  expect_shape(out[1], "(0, 4)");
  expect_shape(out[2], "(3, 4)");
  assert_int_equal(poly_split(t[1], DIMS(2, 4), 0, out), POLY_ERROR_VALUE);
  assert_null(out[0]);
  base_clear(&ctx->base);
  assert_int_equal(poly_chunk(t[1], 3, 0, out), 3);
  for (int k = 0; k < 3; k++) expect_shape(out[k], k < 2 ? "(2, 4)" : "(1, 4)");
  for (int k = 0; k < LEN(t); k++) poly_free(t[k]);
}

/* ---- indexing ---- */

static void tensor_indices(void **state) {
  OPEN();
  PolyTensor *x = FLOATS(4, 5, 6), *i = PLACES(2, 1), *j = PLACES(7), *bad = PLACES(3);
  PolyIndex ti = {.kind = 't', .tensor = i}, tj = {.kind = 't', .tensor = j}, all = {.kind = 's', .step = 1};
  expect_shape(poly_getitem(x, 2, (PolyIndex[]){ti, tj}), "(2, 7, 6)");
  expect_shape(poly_getitem(x, 3, (PolyIndex[]){all, ti, tj}), "(4, 2, 7)");
  expect_shape(poly_getitem(x, 3, (PolyIndex[]){ti, all, tj}), "(2, 7, 5)");
  expect_shape(poly_getitem(x, 2, (PolyIndex[]){{.kind = '.'}, tj}), "(4, 5, 7)");
  ti.tensor = bad;
  expect_error(ctx, poly_getitem(x, 2, (PolyIndex[]){ti, tj}), POLY_ERROR_VALUE, "(3,)|(7,)");
  expect_shape(poly_index_select(x, 1, j), "(4, 7, 6)");
  expect_error(ctx, poly_gather(x, 0, j), POLY_ERROR_VALUE, "(4, 5, 6)|(7,)");
  expect_error(ctx, poly_index_add(x, 0, j, x), POLY_ERROR_VALUE, "(4, 5, 6)");
  expect_error(ctx, poly_gather(x, 0, x), POLY_ERROR_TYPE, "float");
  PolyTensor *all_places = PLACES(2, 5, 6), *src = FLOATS(2, 5, 6);
  expect_shape(poly_scatter(x, 0, all_places, src), "(4, 5, 6)");
  expect_shape(poly_scatter_reduce(x, 0, all_places, src, "mean", false), "(4, 5, 6)");
  expect_error(ctx, poly_scatter_reduce(x, 0, all_places, src, "median", false), POLY_ERROR_VALUE, "median");
  PolyTensor *t[] = {x, i, j, bad, all_places, src};
  for (int k = 0; k < LEN(t); k++) poly_free(t[k]);
}

/* Rows stay rows: an index that is the same along the other axes must not be flattened to single elements. */
static void scatter_keeps_rows(void **state) {
  OPEN();
  PolyTensor *x = FLOATS(10, 64), *src = FLOATS(1000, 64), *index = PLACES(1000, 1);
  PolyTensor *wide = poly_expand(index, DIMS(1000, 64)), *y = poly_scatter_reduce(x, 0, wide, src, "sum", true);
  assert_non_null(y);
  UOp *seg = y->uop;
  while (seg->op != OP_SEGMENT) seg = seg->src[seg->op == OP_ADD];
  assert_int_equal(seg->src[0]->ndim, 2);
  PolyTensor *t[] = {x, src, index, wide, y};
  for (int k = 0; k < LEN(t); k++) poly_free(t[k]);
}

/* ---- products ---- */

static void products(void **state) {
  OPEN();
  PolyTensor *a = FLOATS(5, 2, 3), *b = FLOATS(3, 4), *v = FLOATS(3), *small = tensor(ctx, POLY_INT8, DIMS(2, 3));
  expect_shape(poly_matmul(a, b), "(5, 2, 4)");
  expect_shape(poly_matmul(a, v), "(5, 2)");
  expect_shape(poly_matmul(v, b), "(4,)");
  expect_shape(poly_matmul(v, v), "()");
  expect_error(ctx, poly_matmul(b, b), POLY_ERROR_VALUE, "matmul|(3, 4)");
  expect_error(ctx, poly_linear(a, b, NULL), POLY_ERROR_VALUE, "(5, 2, 3)|(3, 4)");
  PolyTensor *mixed = poly_matmul(small, b);
  assert_int_equal(poly_dtype(mixed), POLY_FLOAT32);
  poly_free(mixed);
  expect_shape(poly_einsum(ctx, "...ij,jk->k...", (PolyTensor *[]){a, b}, 2), "(4, 5)");
  expect_error(ctx, poly_einsum(ctx, "ij,jk->ik", (PolyTensor *[]){a, b}, 2), POLY_ERROR_VALUE, "ij,jk->ik|(5, 2, 3)");
  poly_free(a), poly_free(b), poly_free(v), poly_free(small);
}

/* The scheduler looks for exactly this form. */
static void matmul_is_a_contraction(void **state) {
  OPEN();
  PolyTensor *a = FLOATS(7, 3), *b = FLOATS(3, 4), *c = poly_matmul(a, b);
  UOp *u = c->uop;
  while (u->op == OP_RESHAPE) u = u->src[0];
  assert_int_equal(u->op, OP_REDUCE);
  assert_int_equal(u->arg.i, OP_ADD);
  assert_int_equal(u->src[0]->op, OP_MUL);
  for (int k = 0; k < 2; k++) assert_int_equal(u->src[0]->src[k]->op, OP_EXPAND);
  poly_free(a), poly_free(b), poly_free(c);
}

static void convolutions(void **state) {
  OPEN();
  PolyTensor *x = FLOATS(2, 4, 9, 8), *w = FLOATS(6, 2, 3, 3), *b = FLOATS(6);
  expect_shape(poly_conv(x, w, b, 2, (int64_t[]){2, 1}, NULL, (int64_t[]){1, 1, 0, 2}), "(2, 6, 5, 8)");
  expect_error(ctx, poly_conv(x, w, b, 1, NULL, NULL, NULL), POLY_ERROR_VALUE, "(2, 4, 9, 8)|(6, 2, 3, 3)");
  expect_shape(poly_max_pool(x, 2, (int64_t[]){2, 3}, NULL, NULL, NULL, false), "(2, 4, 4, 2)");
  expect_shape(poly_max_pool(x, 2, (int64_t[]){2, 3}, NULL, NULL, NULL, true), "(2, 4, 5, 3)");
  expect_shape(poly_groupnorm(x, 2, 1e-5), "(2, 4, 9, 8)");
  expect_error(ctx, poly_groupnorm(x, 3, 1e-5), POLY_ERROR_VALUE, "(2, 4, 9, 8)");
  poly_free(x), poly_free(w), poly_free(b);
}

/* ---- symbolic sizes ---- */

static void expect_node(UOp *u, const char *shape) {
  char text[256];
  assert_non_null(u);
  assert_string_equal(shape_text(u, text, sizeof text), shape);
}

static void symbolic_sizes(void **state) {
  OPEN();
  UOp *n = uop_variable(ctx, "n", 1, 100), *four = uop_index(ctx, 4), *two = uop_index(ctx, 2);
  UOp *x = uop_buffer(ctx, POLY_FLOAT32, 2, (UOp *[]){n, four}),
      *y = uop_buffer(ctx, POLY_FLOAT32, 2, (UOp *[]){two, four});
  expect_node(t_reshape(x, 2, (UOp *[]){NULL, two}), "(n*2, 2)");
  expect_node(t_reshape(x, 3, (UOp *[]){n, two, NULL}), "(n, 2, 2)");
  expect_node(t_flatten(x), "(n*4,)");
  expect_node(t_cat(ctx, 3, (UOp *[]){x, y, x}, 0), "(n*2+2, 4)");
  expect_node(t_pad_axis(x, 0, two, uop_index(ctx, -1), NULL), "(n+1, 4)");
  expect_node(t_matmul(x, t_transpose(x, 0, 1)), "(n, n)");
  expect_node(t_diagonal(t_matmul(x, t_transpose(x, 0, 1))), "(n,)");
  expect_node(t_matmul(t_transpose(x, 0, 1), x), "(4, 4)");
  expect_node(t_windows(x, 0, 1, 1, 1), "(n, 1, 4)");
  expect_node(t_argsort(x, 0, false), "(n, 4)");
  UOp *places = uop_buffer(ctx, POLY_INT32, 2, (UOp *[]){n, four});
  expect_node(t_gather_axis(x, 1, places), "(n, 4)");
  expect_node(t_scatter(x, 1, places, x), "(n, 4)");
  assert_null(t_matmul(x, x));
  assert_non_null(strstr(ctx->base.text, "(n, 4)"));
  base_clear(&ctx->base);
}

/* ---- failing allocations ---- */

typedef struct Failing {
  int left; /* allocations until one fails; negative: none will */
  size_t bytes;
} Failing;

static void *failing_realloc(void *user, void *p, size_t old, size_t new) {
  Failing *f = user;
  if (new > old && f->left >= 0 && f->left-- == 0) return NULL;
  f->bytes += new - old;
  if (new) return realloc(p, new);
  free(p);
  return NULL;
}

static void drop_all(PolyContext *ctx) {
  while (ctx->tensors) poly_free(ctx->tensors);
}

/* A little of everything; results and errors are looked at by nobody. */
static void build_everything(PolyContext *ctx) {
  PolyTensor *x = FLOATS(4, 6, 6), *i = PLACES(3), *w = FLOATS(2, 6, 3), *out[4], *v, *places = PLACES(2, 6, 6);
  poly_reshape(x, DIMS(-1, 9));
  poly_reshape(x, DIMS(7, 9));
  for (int mode = POLY_PAD_CONSTANT; mode <= POLY_PAD_CIRCULAR; mode++)
    poly_pad(x, (int64_t[]){1, 2, -1, 2, 0, 0}, (PolyPadMode)mode, 3);
  if (x) poly_cat((PolyTensor *[]){x, x, x, x, x, x, x, x, x, x}, 10, 1);
  if (x) poly_stack((PolyTensor *[]){x, x}, 2, 1);
  poly_split(x, DIMS(1, 3), 0, out);
  poly_chunk(x, 2, 0, out);
  poly_roll(x, 2, (int64_t[]){1, 2}, (int[]){0, 1});
  poly_tril(x, 0);
  poly_diagonal(x);
  poly_unfold(x, 1, 3, 2);
  poly_one_hot(i, 5);
  PolyIndex step = {.kind = 's', .step = -2}, t = {.kind = 't', .tensor = i}, all = {.kind = 's', .step = 1};
  if (i) poly_getitem(x, 3, (PolyIndex[]){step, t, {.kind = 'n'}});
  if (i) poly_getitem(x, 3, (PolyIndex[]){t, all, t});
  poly_gather(x, 0, places);
  poly_scatter(x, 0, places, x);
  poly_scatter_reduce(x, 0, places, x, "mean", false);
  poly_index_add(x, 0, i, x);
  poly_sort(x, 1, true, &out[0], &out[1]);
  poly_topk(x, 2, 0, true, true, &out[0], &out[1]);
  poly_matmul(x, x);
  if (x) poly_einsum(ctx, "bij,bjj,kij->ki", (PolyTensor *[]){x, x, x}, 3);
  poly_conv(x, w, NULL, 1, (int64_t[]){2}, NULL, (int64_t[]){1, 1});
  v = FLOATS(6, 2, 3);
  poly_conv_transpose(x, v, NULL, 2, (int64_t[]){2}, NULL, (int64_t[]){1, 1}, NULL);
  poly_max_pool(x, 2, (int64_t[]){2, 2}, NULL, NULL, NULL, true);
  poly_avg_pool(x, 2, (int64_t[]){3, 2}, (int64_t[]){1, 1}, NULL, (int64_t[]){1, 1, 0, 0}, true, false);
  poly_attention(x, x, x, NULL, true, 0);
  poly_layernorm(x, 2, 1e-5);
  poly_groupnorm(x, 3, 1e-5);
  drop_all(ctx);
}

/* The n-th allocation fails, for one n after the other (all of the first, then strides, to stay quick). */
static void allocations_may_fail(void **state) {
  (void)state;
  for (int n = 0, done = 0; !done; n += n < 300 ? 1 : n / 50) {
    PolyContext *ctx = calloc(1, sizeof *ctx);
    Failing failing = {.left = -1};
    assert_non_null(ctx);
    ctx->base.alloc = (Allocator){failing_realloc, &failing};
    assert_true(ctx_init(ctx));
    failing.left = n;
    build_everything(ctx);
    done = failing.left >= 0;
    assert_int_equal(ctx->base.code == POLY_OK, 0);
    base_clear(&ctx->base);
    failing.left = -1;
    expect_shape(FLOATS(2, 3), "(2, 3)"); /* still usable */
    assert_int_equal(ctx->nnode, 0);
    ctx_drop(ctx);
    assert_int_equal(failing.bytes, 0);
    free(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {IR_TEST(reshapes),
                                     IR_TEST(pads_and_slices),
                                     IR_TEST(joins),
                                     IR_TEST(tensor_indices),
                                     IR_TEST(scatter_keeps_rows),
                                     IR_TEST(products),
                                     IR_TEST(matmul_is_a_contraction),
                                     IR_TEST(convolutions),
                                     IR_TEST(symbolic_sizes),
                                     cmocka_unit_test(allocations_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
