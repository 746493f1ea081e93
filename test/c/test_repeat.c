/* test_repeat.c: loops that were written out, as texts: what goes in, and what must come out; and what happens when
 * memory runs out while they are looked for. */
#include "ir_fixture.h"

#include "failing.h"
#include "ir/repeat.h"
#include "ir/text.h"

/* h' = x[t] + sum(h), `steps` times; `last` is the row of the last step, and the roots are the last h, or also the one
 * before it. */
static void write_steps(Str *s, int steps, int stride, int last, bool both) {
  str_add(s, "%0 = BUFFER float32 [3] 3 {id=-1}\n%1 = BUFFER float32 [9, 3] 9 3 {id=-2}\n");
  int h = 0;
  for (int t = 0; t < steps; t++) {
    int n = 2 + 5 * t, row = t + 1 < steps ? stride * t : last;
    str_fmt(s, "%%%d = REDUCE float32 [1] %%%d {op=ADD, axes=1}\n%%%d = EXPAND float32 [3] %%%d 3\n", n, h, n + 1, n);
    str_fmt(s, "%%%d = SHRINK float32 [1, 3] %%1 %d %d 0 3\n", n + 2, row, row + 1);
    str_fmt(s, "%%%d = RESHAPE float32 [3] %%%d 3\n%%%d = ADD float32 [3] %%%d %%%d\n", n + 3, n + 2, n + 4, n + 3,
            n + 1);
    h = n + 4;
  }
  str_fmt(s, both ? "return %%%d %%%d\n" : "return %%%d\n", h, h - 5);
}

static void expect_fold(PolyContext *c, const char *from, const char *want, int loops) {
  UOpList in = {0}, out = {0};
  Arena arena = {.b = &c->base};
  int found = -1;
  if (!uop_parse(c, from, &in)) fail_msg("%s\n%s", c->base.text, from);
  if (!repeats_fold(c, &arena, in.n, in.at, 4, &found)) fail_msg("%s\n%s", c->base.text, from);
  arena_free(&arena);
  if (!uop_parse(c, want, &out)) fail_msg("%s\n%s", c->base.text, want);
  Str s = {.b = &c->base};
  uop_print(&s, in.n, in.at);
  bool same = in.n == out.n && found == loops;
  for (int k = 0; same && k < in.n; k++) same = in.at[k] == out.at[k]; /* nodes are interned */
  if (!same) fail_msg("%d loops:\n%s\nbecame\n%s", found, from, s.at);
  str_free(&s);
  vec_free(&c->base, &in);
  vec_free(&c->base, &out);
}

#define BODY                                                                                                           \
  "%3 = ARGUMENT float32 [1, 3] 1 3 {loop=-1, at=1}\n%4 = RESHAPE float32 [3] %3 3\n"                                  \
  "%5 = ARGUMENT float32 [3] 3 {loop=-1}\n%6 = REDUCE float32 [1] %5 {op=ADD, axes=1}\n"                               \
  "%7 = EXPAND float32 [3] %6 3\n%8 = ADD float32 [3] %4 %7\n"

static void steps_become_a_loop(void **state) {
  PolyContext *c = &((Fixture *)*state)->ctx;
  static const struct {
    int steps, stride, last;
    bool both;
    int loops;
    const char *to; /* "": nothing changes */
  } cases[] = {
      /* only the last value is read */
      {4, 1, 3, false, 1,
       "%0 = BUFFER float32 [3] 3 {id=-1}\n%1 = BUFFER float32 [9, 3] 9 3 {id=-2}\n"
       "%9 = SHRINK float32 [4, 3] %1 0 4 0 3\n%2 = RESHAPE float32 [4, 1, 3] %9 4 1 3\n" BODY
       "%10 = SCAN float32 %0 %2 %8 4 {loop=-1, parts=67112961}\n%11 = FINAL float32 [3] %10\nreturn %11"},
      /* two values: rows of all states */
      {4, 1, 3, true, 1,
       "%0 = BUFFER float32 [3] 3 {id=-1}\n%1 = BUFFER float32 [9, 3] 9 3 {id=-2}\n"
       "%9 = SHRINK float32 [4, 3] %1 0 4 0 3\n%2 = RESHAPE float32 [4, 1, 3] %9 4 1 3\n" BODY
       "%10 = SCAN float32 %0 %2 %8 4 {loop=-1, parts=67112961}\n%11 = STATES float32 [5, 3] %10\n"
       "%12 = SHRINK float32 [1, 3] %11 4 5 0 3\n%13 = RESHAPE float32 [3] %12 3\n"
       "%14 = SHRINK float32 [1, 3] %11 3 4 0 3\n%15 = RESHAPE float32 [3] %14 3\nreturn %13 %15"},
      /* every second row: the last block is padded */
      {5, 2, 8, false, 1,
       "%0 = BUFFER float32 [3] 3 {id=-1}\n%1 = BUFFER float32 [9, 3] 9 3 {id=-2}\n"
       "%9 = PAD float32 [10, 3] %1 0 1 0 0\n%16 = RESHAPE float32 [5, 2, 3] %9 5 2 3\n"
       "%2 = SHRINK float32 [5, 1, 3] %16 0 5 0 1 0 3\n" BODY
       "%10 = SCAN float32 %0 %2 %8 5 {loop=-1, parts=67112961}\n%11 = FINAL float32 [3] %10\nreturn %11"},
      /* too few */
      {3, 1, 2, false, 0, ""},
      {2, 1, 1, false, 0, ""},
  };
  for (int i = 0; i < LEN(cases); i++) {
    Str from = {.b = &c->base};
    write_steps(&from, cases[i].steps, cases[i].stride, cases[i].last, cases[i].both);
    expect_fold(c, from.at, *cases[i].to ? cases[i].to : from.at, cases[i].loops);
    str_free(&from);
  }
}

/* ---- the whole way, with memory that runs out ---- */

enum { STEPS = 5, WIDTH = 3 };

static PolyTensor *next(PolyTensor *h, PolyTensor *w) {
  PolyTensor *product = poly_matmul(h, w), *out = poly_tanh(product);
  poly_free(product);
  poly_free(h);
  return out;
}

static bool run(PolyContext *ctx, double *sum, double *grad) {
  double h0[WIDTH] = {1, -0.5, 0.25}, w0[WIDTH * WIDTH] = {0.5, 0.1, -0.3, 0.2, -0.4, 0.6, 0.7, 0.3, -0.2};
  PolyTensor *h = poly_from_data(ctx, h0, POLY_FLOAT64, 2, (int64_t[]){1, WIDTH});
  PolyTensor *w = poly_from_data(ctx, w0, POLY_FLOAT64, 2, (int64_t[]){WIDTH, WIDTH}), *dw = NULL;
  for (int t = 0; t < STEPS; t++) h = next(h, w);
  PolyTensor *total = h ? poly_sum(h, 0, NULL, false) : NULL;
  bool ok = total && poly_grad(total, NULL, &w, 1, &dw) == POLY_OK && poly_read(total, sum, sizeof *sum) == POLY_OK &&
            poly_read(dw, grad, WIDTH * WIDTH * sizeof *grad) == POLY_OK;
  PolyTensor *all[] = {h, w, total, dw};
  for (int k = 0; k < LEN(all); k++) poly_free(all[k]);
  return ok;
}

static void allocations_may_fail(void **state) {
  (void)state;
  Failing f = {.until = -1};
  PolyContext *ctx = failing_context(&f);
  double sum = 0, grad[WIDTH * WIDTH], want, same[WIDTH * WIDTH];
  assert_true(run(ctx, &want, same));
  poly_context_free(ctx);
  ctx = failing_context(&f);
  bool done = false;
  for (int64_t n = 1; !done; n += 1 + n / 16) {
    f.until = n;
    done = run(ctx, &sum, grad);
    f.until = -1;
    if (!done) assert_int_equal(poly_error_code(ctx), POLY_ERROR_MEMORY);
    poly_clear_error(ctx);
    assert_int_equal(poly_live_tensors(ctx), 0);
  }
  assert_true(sum == want && !memcmp(grad, same, sizeof same));
  poly_context_free(ctx);
  assert_int_equal(f.bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {IR_TEST(steps_become_a_loop), cmocka_unit_test(allocations_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
