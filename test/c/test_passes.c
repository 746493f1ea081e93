/* test_passes.c: passes as texts: what goes in, and what must come out. Simplification has its own in test_ir.c; whole
 * programs are in test_texts.c. */
#include "ir_fixture.h"

#include "codegen/block.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "schedule/split.h"

static UOp *parse(PolyContext *c, const char *text) {
  UOpList out = {0};
  if (!uop_parse(c, text, &out)) fail_msg("%s\n%s", c->base.text, text);
  UOp *u = out.at[0];
  vec_free(&c->base, &out);
  return u;
}

/* Nodes are interned: equal programs are equal pointers. */
static void expect_uop(PolyContext *c, UOp *got, const char *from, const char *want) {
  if (!got) fail_msg("%s\n%s", c->base.text, from);
  if (got == parse(c, want)) return;
  Str s = {.b = &c->base};
  uop_print(&s, 1, &got);
  fail_msg("%s\nbecame\n%s", from, s.at);
}

/* ---- split: large reductions to few results ---- */

static void large_reductions_are_cut(void **state) {
  PolyContext *c = &((Fixture *)*state)->ctx;
  static const Target target = {.split_pieces = 4, .split_elements = 16, .split_results = 2};
  static const struct {
    const char *from, *to; /* "": nothing changes */
  } cases[] = {
      /* all of it in four equal pieces, which are stored */
      {"%0 = BUFFER float32 [32] 32 {id=1}\n%1 = REDUCE float32 [1] %0 {op=ADD, axes=1}\nreturn %1",
       "%0 = BUFFER float32 [32] 32 {id=1}\n%1 = RESHAPE float32 [4, 8] %0 4 8\n"
       "%2 = REDUCE float32 [4, 1] %1 {op=ADD, axes=2}\n%3 = CONTIGUOUS float32 [4, 1] %2\n"
       "%4 = REDUCE float32 [1, 1] %3 {op=ADD, axes=1}\n%5 = RESHAPE float32 [1] %4 1\nreturn %5"},
      /* two elements are left over */
      {"%0 = BUFFER float32 [34] 34 {id=1}\n%1 = REDUCE float32 [1] %0 {op=MAX, axes=1}\nreturn %1",
       "%0 = BUFFER float32 [34] 34 {id=1}\n%1 = SHRINK float32 [32] %0 0 32\n%2 = RESHAPE float32 [4, 8] %1 4 8\n"
       "%3 = REDUCE float32 [4, 1] %2 {op=MAX, axes=2}\n%4 = CONTIGUOUS float32 [4, 1] %3\n"
       "%5 = REDUCE float32 [1, 1] %4 {op=MAX, axes=1}\n%6 = RESHAPE float32 [1] %5 1\n"
       "%7 = SHRINK float32 [2] %0 32 34\n%8 = REDUCE float32 [1] %7 {op=MAX, axes=1}\n"
       "%9 = MAX float32 [1] %6 %8\nreturn %9"},
      /* too small, and too many results */
      {"%0 = BUFFER float32 [15] 15 {id=1}\n%1 = REDUCE float32 [1] %0 {op=ADD, axes=1}\nreturn %1", ""},
      {"%0 = BUFFER float32 [3, 32] 3 32 {id=1}\n%1 = REDUCE float32 [3, 1] %0 {op=ADD, axes=2}\nreturn %1", ""},
  };
  for (int i = 0; i < LEN(cases); i++) {
    UOp *root = parse(c, cases[i].from), *out = NULL;
    assert_true(split_reductions(c, &target, &(Map){0}, 1, &root, &out));
    expect_uop(c, out, cases[i].from, *cases[i].to ? cases[i].to : cases[i].from);
  }
}

/* ---- merge: loops that every index walks as one ---- */

static void neighbouring_loops_are_merged(void **state) {
  PolyContext *c = &((Fixture *)*state)->ctx;
#define LOOPS                                                                                                          \
  "%0 = PARAM float32 {at=0}\n%1 = PARAM float32 {at=1}\n%2 = RANGE int64 0 6 {id=0}\n%3 = RANGE int64 0 8 {id=1}\n"
  static const struct {
    const char *from, *to; /* "": nothing changes */
  } cases[] = {
      /* rows and columns of contiguous memory on both sides: one loop */
      {LOOPS "%4 = MUL int64 %2 8\n%5 = ADD int64 %4 %3\n%6 = LOAD float32 %1 %5\n%7 = EXP float32 %6\n"
             "%8 = STORE float32 %0 %7 %5 %2 %3\nreturn %8",
       "%0 = PARAM float32 {at=0}\n%1 = PARAM float32 {at=1}\n%2 = RANGE int64 0 48 {id=0}\n%3 = LOAD float32 %1 %2\n"
       "%4 = EXP float32 %3\n%5 = STORE float32 %0 %4 %2 %2\nreturn %5"},
      /* a row is broadcast along columns: its index does not walk both as one */
      {LOOPS "%4 = MUL int64 %2 8\n%5 = ADD int64 %4 %3\n%6 = LOAD float32 %1 %2\n"
             "%7 = STORE float32 %0 %6 %5 %2 %3\nreturn %7",
       ""},
      /* read transposed: two loops */
      {LOOPS "%4 = MUL int64 %2 8\n%5 = ADD int64 %4 %3\n%6 = MUL int64 %3 6\n%7 = ADD int64 %6 %2\n"
             "%8 = LOAD float32 %1 %7\n%9 = STORE float32 %0 %8 %5 %2 %3\nreturn %9",
       ""},
  };
  for (int i = 0; i < LEN(cases); i++) {
    Arena arena = {.b = &c->base};
    UOp *store = parse(c, cases[i].from);
    assert_true(merge_ranges(c, &arena, 1, &store));
    assert_true(uop_verify(c, 1, &store, VERIFY_KERNEL));
    expect_uop(c, store, cases[i].from, *cases[i].to ? cases[i].to : cases[i].from);
    arena_free(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IR_TEST(large_reductions_are_cut),
      IR_TEST(neighbouring_loops_are_merged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
