/* test_ir.c: nodes, scopes, text, verifier, rewrite driver. */
#include "ir_fixture.h"
#include "ir/rewrite.h"
#include "ir/text.h"
#include "ir/verify.h"

#include <math.h>

/* ---- nodes ---- */

static UOp *vector(PolyContext *c, int64_t n) {
  UOp *size = uop_index(c, n);
  return uop_buffer(c, POLY_FLOAT32, 1, &size);
}

static void test_equal_nodes_are_one(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  UOp *a = vector(c, 4), *b = vector(c, 4);
  assert_ptr_not_equal(a, b); /* two memories */
  assert_ptr_equal(uop_binary(OP_ADD, a, b), uop_binary(OP_ADD, a, b));
  assert_ptr_not_equal(uop_binary(OP_ADD, a, b), uop_binary(OP_ADD, b, a));
  assert_ptr_equal(uop_const(c, POLY_FLOAT32, NAN), uop_const(c, POLY_FLOAT32, -NAN));
  assert_ptr_not_equal(uop_const(c, POLY_FLOAT32, 0.0), uop_const(c, POLY_FLOAT32, -0.0));
  assert_ptr_not_equal(uop_const(c, POLY_FLOAT32, 1), uop_const(c, POLY_FLOAT64, 1));
  assert_ptr_equal(uop_const(c, POLY_FLOAT32, 0.1), uop_const(c, POLY_FLOAT32, (double)0.1f));
}

static void test_nodes_die_with_their_holders(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  int before = c->nnode;
  Scope s;
  scope_enter(c, &s);
  UOp *kept = uop_retain(uop_unary(OP_NEG, vector(c, 3)));
  uop_unary(OP_EXP, kept);
  scope_leave(c, &s);
  assert_int_equal(c->nnode, before + 3); /* NEG, BUFFER and its size */
  assert_int_equal(kept->src[0]->op, OP_BUFFER);
  uop_release(kept);
  assert_int_equal(c->nnode, before);
}

/* Building, walking and freeing a very long chain must not use the C stack. */
static void test_million_nodes(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  int before = c->nnode;
  UOp *u = NULL;
  for (int i = 0; i < 1000000; i++) {
    Scope s;
    scope_enter(c, &s);
    UOp *next = u ? uop_binary(OP_ADD, u, uop_const(c, POLY_FLOAT32, 1.5)) : vector(c, 2);
    assert_non_null(next);
    uop_retain(next);
    scope_leave(c, &s);
    uop_release(u);
    u = next;
  }
  Arena arena = {&c->base, NULL};
  Walk w;
  assert_true(uop_walk(c, &arena, 1, &u, NULL, NULL, &w));
  assert_int_equal(w.n, 1000002);
  arena_free(&arena);
  assert_ptr_equal(rewrite_graph(c, &simplify_pass, u), u);
  uop_release(u);
  assert_int_equal(c->nnode, before);
}

static void test_walk_order(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  UOp *a = vector(c, 4), *b = uop_unary(OP_EXP, a), *d = uop_binary(OP_MUL, b, a), *r = uop_binary(OP_ADD, d, b);
  Arena arena = {&c->base, NULL};
  Walk w;
  assert_true(uop_walk(c, &arena, 1, &r, NULL, NULL, &w));
  assert_int_equal(w.n, 5);
  for (int i = 0; i < w.n; i++) {
    assert_int_equal(w.at[i]->slot, i);
    for (int k = 0; k < w.at[i]->nsrc; k++) assert_true(w.at[i]->src[k]->slot < i);
  }
  arena_free(&arena);
}

/* ---- random graphs ---- */

enum { POOL = 40 };

static PolyDType any_dtype(Fixture *f) { return (PolyDType)(draw(f) % POLY_DTYPE_COUNT); }

static UOp *random_leaf(Fixture *f) {
  PolyContext *c = &f->ctx;
  UOp *n = uop_variable(c, "n", 1, 64);
  UOp *dims[3] = {uop_index(c, draw_in(f, 1, 3)), draw(f) % 2 ? n : uop_bind(n, draw_in(f, 1, 64)),
                  int_addc(n, draw_in(f, 0, 2))};
  static const double values[] = {0.0, -0.0, 1, -1, 0.1, 1e300, 5e-324, INFINITY, -INFINITY, NAN, 3.14159};
  switch (draw(f) % 5) {
  case 0: return uop_const(c, any_dtype(f), values[draw(f) % (uint32_t)LEN(values)]);
  case 1: return uop_int_const(c, any_dtype(f), (int64_t)((uint64_t)draw(f) << 33 | draw(f)));
  case 2: return uop_iota(c, POLY_INT32, dims[draw(f) % 3]);
  default: return uop_buffer(c, any_dtype(f), (int)(draw(f) % 4), dims);
  }
}

static UOp *random_move(Fixture *f, UOp *x) {
  PolyContext *c = &f->ctx;
  UOp *before[MAX_DIMS], *after[MAX_DIMS], *flat = uop_numel(x);
  int perm[MAX_DIMS];
  for (int i = 0; i < x->ndim; i++) {
    perm[i] = (i + 1) % x->ndim;
    before[i] = uop_index(c, draw_in(f, 0, 2));
    after[i] = draw(f) % 2 ? uop_variable(c, "n", 1, 64) : uop_index(c, 1);
  }
  switch (draw(f) % 7) {
  case 0: return uop_reshape(x, 1, &flat);
  case 1: return uop_permute(x, perm);
  case 2: return uop_pad(x, before, after);
  case 3: return uop_flip(x, (uint32_t)(draw(f) % (1u << x->ndim)));
  case 4: return uop_reduce(draw(f) % 2 ? OP_MAX : OP_ADD, x, (uint32_t)(draw(f) % (1u << x->ndim)));
  case 5: return uop_contiguous(x, (int64_t)(draw(f) % 5));
  default: return x->ndim ? uop_library(c, "sort \"it\"\n", 3, POLY_INT32, 1, &x, x->ndim, x->shape) : uop_detach(x);
  }
}

/* A node over what is there, if the pieces drawn fit each other; NULL otherwise. */
static UOp *random_node(Fixture *f, UOp **pool, int n) {
  UOp *a = pool[draw(f) % (uint32_t)n], *b = pool[draw(f) % (uint32_t)n];
  UOp *index = uop_cast(b, POLY_INT32);
  switch (draw(f) % 9) {
  case 0: return uop_unary((Op)draw_in(f, OP_NEG, OP_ROUND), a);
  case 1: return uop_cast(a, any_dtype(f));
  case 2: return uop_bitcast(a, any_dtype(f));
  case 3:
  case 4:
    return uop_binary((Op)draw_in(f, OP_ADD, OP_CMPNE), a,
                      draw(f) % 2 ? a : uop_int_const(&f->ctx, (PolyDType)a->dtype, 3));
  case 5: return uop_where(uop_binary(OP_CMPLT, a, a), a, a);
  case 6: return a->ndim ? uop_gather(a, index) : NULL;
  case 7: return a->ndim && index->ndim == 1 ? uop_segment(OP_ADD, a, index, uop_index(&f->ctx, 5)) : NULL;
  default: return random_move(f, a);
  }
}

static UOp *random_graph(Fixture *f) {
  UOp *pool[POOL];
  int n = 0;
  while (n < 6) {
    UOp *u = random_leaf(f);
    assert_non_null(u);
    pool[n++] = u;
  }
  while (n < POOL) {
    UOp *u = random_node(f, pool, n);
    base_clear(&f->ctx.base);
    if (u) pool[n++] = u;
  }
  return pool[n - 1];
}

/* ---- text ---- */

static void test_text_round_trip(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  for (int round = 0; round < 300; round++) {
    Scope s;
    scope_enter(c, &s);
    UOp *roots[2] = {random_graph(f), random_graph(f)};
    Str text = {.b = &c->base};
    UOpList back = {0};
    uop_print(&text, 2, roots);
    assert_false(text.failed);
    if (!uop_parse(c, text.at, &back)) print_error("%s\n%s\n", c->base.text, text.at);
    assert_int_equal(back.n, 2);
    assert_ptr_equal(back.at[0], roots[0]);
    assert_ptr_equal(back.at[1], roots[1]);
    assert_true(uop_verify(c, 2, roots, VERIFY_TENSOR));
    vec_free(&c->base, &back);
    str_free(&text);
    scope_leave(c, &s);
  }
}

/* In another context the text must say everything: printed again, it is the same text. */
static void test_text_moves_to_another_context(void **state) {
  Fixture *f = *state;
  for (int round = 0; round < 100; round++) {
    Scope s;
    scope_enter(&f->ctx, &s);
    UOp *root = random_graph(f);
    Str text = {.b = &f->ctx.base}, again = text;
    uop_print(&text, 1, &root);
    void *other;
    fixture_open(&other);
    Fixture *g = other;
    UOpList back = {0};
    assert_true(uop_parse(&g->ctx, text.at, &back));
    uop_print(&again, back.n, back.at);
    assert_string_equal(text.at, again.at);
    UOp *fresh = vector(&g->ctx, 1); /* ids that were read are taken */
    for (int i = 0; i < back.n; i++) assert_ptr_not_equal(fresh, back.at[i]);
    vec_free(&g->ctx.base, &back);
    fixture_close(&other);
    str_free(&text);
    str_free(&again);
    scope_leave(&f->ctx, &s);
  }
}

static void test_text_form(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  UOp *dims[2] = {uop_variable(c, "n", 1, 64), uop_index(c, 3)};
  UOp *x = uop_buffer(c, POLY_FLOAT32, 2, dims);
  UOp *r = uop_reduce(OP_ADD, uop_binary(OP_MUL, x, uop_const(c, POLY_FLOAT32, 0.5)), 2);
  Str text = {.b = &c->base};
  uop_print(&text, 1, &r);
  assert_string_equal(text.at, "%0 = VARIABLE int64 {min=1, max=64, name=\"n\"}\n"
                               "%1 = BUFFER float32 [%0, 3] %0 3 {id=1}\n"
                               "%2 = CONST float32 {0.5}\n"
                               "%3 = MUL float32 [%0, 3] %1 %2\n"
                               "%4 = REDUCE float32 [%0, 1] %3 {op=ADD, axes=2}\n"
                               "return %4\n");
  str_free(&text);
}

static void try_text(PolyContext *c, const char *text) {
  Scope s;
  UOpList out = {0};
  scope_enter(c, &s);
  bool ok = uop_parse(c, text, &out);
  assert_true(ok == (c->base.code == POLY_OK));
  if (ok && out.n) assert_true(uop_verify(c, out.n, out.at, VERIFY_ANY));
  base_clear(&c->base);
  vec_free(&c->base, &out);
  scope_leave(c, &s);
}

static const char kernel_text[] = "%0 = VARIABLE int64 {min=0, max=9, name=\"n\"}\n"
                                  "%1 = RANGE int64 0 %0 {id=1}\n"
                                  "%2 = PARAM float32 {at=1}\n"
                                  "%3 = LOAD float32 %2 %1\n"
                                  "%4 = LOOP float32 %3 %1 {op=MAX}\n"
                                  "%5 = CHECK int64 %1 %0\n"
                                  "%6 = STORE float32 %2 %4 %5 %1\n"
                                  "return %6\n";

/* Whatever comes in, an error or legal nodes come out. */
static void test_text_survives_garbage(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  static const char *const odd[] = {"",
                                    "\n",
                                    "return",
                                    "return %0",
                                    "%0 = ",
                                    "%0 = ADD",
                                    "%0 = ADD float32 %0 %0",
                                    "%-1 = CONST bool {1}",
                                    "%0 = CONST float32 {1",
                                    "%0 = CONST int8 {300}\nreturn %0",
                                    "%0 = WHERE int64 1",
                                    "%0 = CMPEQ bool",
                                    "%0 = REDUCE int64 1 {op=EXP, axes=1}",
                                    "%0 = RESHAPE int64 [2] 1 2\nreturn %0",
                                    "%0 = LIBRARY int64 {values=9223372036854775807}",
                                    "%0 = PERMUTE int64 [2, 2] 1 {order=0xff}",
                                    "%0 = VARIABLE int64 {name=\"\\x00\"}",
                                    "%0 = VARIABLE int64 {name=\"a",
                                    "%0 = BUFFER bool [-3] -3",
                                    "%0 = SHRINK int64 1\nreturn %0 %0",
                                    "%99999999999999999999 = CONST bool {1}",
                                    "return 1 2 3"};
  for (int i = 0; i < LEN(odd); i++) try_text(c, odd[i]);
  for (int round = 0; round < 2000; round++) {
    Scope s;
    scope_enter(c, &s);
    Str text = {.b = &c->base};
    if (round % 4 == 0) {
      str_add(&text, kernel_text);
    } else {
      UOp *root = random_graph(f);
      uop_print(&text, 1, &root);
    }
    assert_false(text.failed);
    int edits = (int)(draw(f) % 4);
    for (int k = 0; k < edits; k++) {
      static const char letters[] = "0123456789%{}[]=, \"\\\n-xADMINRU#";
      text.at[draw(f) % text.n] = draw(f) % 5 ? letters[draw(f) % (sizeof letters - 1)] : (char)(1 + draw(f) % 255);
    }
    if (draw(f) % 2) text.at[draw(f) % text.n] = 0;
    try_text(c, text.at);
    str_free(&text);
    scope_leave(c, &s);
  }
}

/* ---- verifier ---- */

static void expect_wrong(PolyContext *c, const char *text, const char *why) {
  Scope s;
  UOpList out = {0};
  scope_enter(c, &s);
  if (uop_parse(c, text, &out)) fail_msg("this was taken as legal:\n%s", text);
  if (!strstr(c->base.text, why)) fail_msg("the error is '%s', not '%s'", c->base.text, why);
  base_clear(&c->base);
  vec_free(&c->base, &out);
  scope_leave(c, &s);
}

#define A4 "%0 = BUFFER float32 [4] 4 {id=1}\n"
static void test_verifier_rejects(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  static const struct {
    const char *text, *why;
  } bad[] = {
      {"%0 = CONST uint8 {256}\nreturn %0", "not one of the dtype"},
      {A4 "%1 = ADD float32 [4] %0\nreturn %1", "number of sources"},
      {A4 "%1 = ADD float64 [4] %0 %0\nreturn %1", "dtype"},
      {A4 "%1 = ADD float32 [5] %0 %0\nreturn %1", "another shape"},
      {A4 "%1 = CMPLT float32 [4] %0 %0\nreturn %1", "not a bool"},
      {A4 "%1 = NOT float32 [4] %0\nreturn %1", "does not take"},
      {A4 "%1 = IDIV float32 [4] %0 %0\nreturn %1", "does not take"},
      {A4 "%1 = BUFFER float32 [5] 5 {id=2}\n%2 = ADD float32 [4] %0 %1\nreturn %2", "do not agree"},
      {A4 "%1 = RESHAPE float32 [5] %0 5\nreturn %1", "cannot reshape"},
      {A4 "%1 = EXPAND float32 [8] %0 8\nreturn %1", "cannot expand"},
      {A4 "%1 = SHRINK float32 [6] %0 0 6\nreturn %1", "cannot shrink"},
      {A4 "%1 = PAD float32 [6] %0 1 2\nreturn %1", "another shape"},
      {A4 "%1 = REDUCE float32 [1] %0 {op=SUB, axes=1}\nreturn %1", "no such axes or op"},
      {A4 "%1 = REDUCE float32 [1] %0 {op=ADD, axes=2}\nreturn %1", "no such axes or op"},
      {A4 "%1 = FLIP float32 [4] %0 {axes=2}\nreturn %1", "no such axes"},
      {A4 "%1 = PERMUTE float32 [4] %0 {order=0x1}\nreturn %1", "permutation"},
      {A4 "%1 = GATHER float32 [4] %0 %0\nreturn %1", "does not take"},
      {A4 "%1 = RANGE float32 %0 %0\nreturn %1", "not an int64"},
      {"%0 = VARIABLE int64 {min=3, max=2, name=\"n\"}\nreturn %0", "bounds"},
      {"%0 = VARIABLE int64 {min=1, max=2, name=\"n\"}\n%1 = BIND int64 %0 3\nreturn %1", "within its bounds"},
      {"%0 = PARAM float32\n%1 = LOAD float32 %0 %0\nreturn %1", "index is not"},
      {"%0 = PARAM float32\n%1 = STORE float32 %0 %0 0 7\nreturn %1", "RANGE was expected"},
  };
  for (int i = 0; i < LEN(bad); i++) expect_wrong(c, bad[i].text, bad[i].why);
  UOp *wide = uop_const(c, POLY_FLOAT64, 0.1);
  UOp *narrow = uop_make(c, OP_CONST, POLY_FLOAT32, wide->arg, 0, NULL, 0, NULL);
  assert_false(uop_verify(c, 1, &narrow, VERIFY_ANY));
  base_clear(&c->base);
}

static void test_verifier_levels(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  UOpList out = {0};
  assert_true(uop_parse(c, kernel_text, &out));
  assert_true(uop_verify(c, out.n, out.at, VERIFY_KERNEL));
  assert_false(uop_verify(c, out.n, out.at, VERIFY_TENSOR));
  assert_non_null(strstr(c->base.text, "kernel op among tensors"));
  base_clear(&c->base);
  UOp *x = uop_unary(OP_EXP, vector(c, 4));
  assert_true(uop_verify(c, 1, &x, VERIFY_TENSOR));
  assert_false(uop_verify(c, 1, &x, VERIFY_KERNEL));
  base_clear(&c->base);
  vec_free(&c->base, &out);
}

/* ---- rewriting ---- */

static UOp *parse_one(PolyContext *c, const char *text) {
  UOpList out = {0};
  if (!uop_parse(c, text, &out)) fail_msg("%s", c->base.text);
  UOp *u = out.at[0];
  vec_free(&c->base, &out);
  return u;
}

/* A test of a rule is two texts. */
static void test_simplify(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  static const struct {
    const char *from, *to;
  } cases[] = {
      {A4 "%1 = CONST float32 {-0}\n%2 = ADD float32 [4] %0 %1\n%3 = NEG float32 [4] %2\n%4 = NEG float32 [4] "
          "%3\nreturn %4",
       A4 "return %0"},
      {A4 "%1 = CONST float32 {0}\n%2 = ADD float32 [4] %0 %1\nreturn %2",
       A4 "%1 = CONST float32 {0}\n%2 = ADD float32 [4] %0 %1\nreturn %2"},
      {A4 "%1 = CONST float32 {0}\n%2 = MUL float32 [4] %0 %1\nreturn %2",
       A4 "%1 = CONST float32 {0}\n%2 = MUL float32 [4] %0 %1\nreturn %2"},
      /* a constant that was spread counts as one */
      {A4 "%1 = CONST float32 {1}\n%2 = RESHAPE float32 [1] %1 1\n%3 = EXPAND float32 [4] %2 4\n%4 = MUL float32 [4] "
          "%3 %0\nreturn %4",
       A4 "return %0"},
      /* constants fold, and keep the shape */
      {"%0 = CONST int8 {100}\n%1 = RESHAPE int8 [1] %0 1\n%2 = EXPAND int8 [3] %1 3\n%3 = ADD int8 [3] %2 %0\nreturn "
       "%3",
       "%0 = CONST int8 {-56}\n%1 = RESHAPE int8 [1] %0 1\n%2 = EXPAND int8 [3] %1 3\nreturn %2"},
      {"%0 = CONST float32 {2}\n%1 = SQRT float32 %0\nreturn %1", "%0 = CONST float32 {1.41421354}\nreturn %0"},
      {A4 "%1 = CONST bool {1}\n%2 = CONST float32 {3}\n%3 = WHERE float32 [4] %1 %2 %0\nreturn %3",
       "%2 = CONST float32 {3}\n%3 = RESHAPE float32 [1] %2 1\n%4 = EXPAND float32 [4] %3 4\nreturn %4"},
      /* conversions */
      {A4 "%1 = CAST float64 [4] %0\n%2 = CAST float32 [4] %1\nreturn %2", A4 "return %0"},
      {A4 "%1 = CAST float16 [4] %0\n%2 = CAST float32 [4] %1\nreturn %2",
       A4 "%1 = CAST float16 [4] %0\n%2 = CAST float32 [4] %1\nreturn %2"},
      /* moves */
      {A4 "%1 = SHRINK float32 [3] %0 1 4\n%2 = SHRINK float32 [2] %1 0 2\nreturn %2",
       A4 "%1 = SHRINK float32 [2] %0 1 3\nreturn %1"},
      {A4 "%1 = PAD float32 [7] %0 1 2\n%2 = SHRINK float32 [4] %1 1 5\nreturn %2", A4 "return %0"},
      {A4 "%1 = PAD float32 [7] %0 1 2\n%2 = PAD float32 [8] %1 0 1\nreturn %2",
       A4 "%1 = PAD float32 [8] %0 1 3\nreturn %1"},
      {A4 "%1 = RESHAPE float32 [2, 2] %0 2 2\n%2 = NEG float32 [2, 2] %1\n%3 = NEG float32 [2, 2] %2\n%4 = RESHAPE "
          "float32 [4] %3 4\nreturn %4",
       A4 "return %0"},
      {"%0 = BUFFER float32 [4, 1] 4 1 {id=1}\n%1 = REDUCE float32 [1, 1] %0 {op=MAX, axes=3}\nreturn %1",
       "%0 = BUFFER float32 [4, 1] 4 1 {id=1}\n%1 = REDUCE float32 [1, 1] %0 {op=MAX, axes=1}\nreturn %1"},
  };
  for (int i = 0; i < LEN(cases); i++) {
    UOp *from = parse_one(c, cases[i].from), *to = parse_one(c, cases[i].to);
    UOp *got = rewrite_graph(c, &simplify_pass, from);
    assert_non_null(got);
    if (got != to) {
      Str s = {.b = &c->base};
      uop_print(&s, 1, &got);
      fail_msg("case %d:\n%s\nbecame\n%s", i, cases[i].from, s.at);
    }
  }
}

/* What was legal stays legal, keeps dtype and shape, and is not changed a second time. */
static void test_simplify_random_graphs(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  for (int round = 0; round < 500; round++) {
    Scope s;
    scope_enter(c, &s);
    UOp *from = random_graph(f), *to = rewrite_graph(c, &simplify_pass, from);
    if (!to) fail_msg("%s", c->base.text);
    assert_int_equal(from->dtype, to->dtype);
    assert_true(shape_equal(from, to));
    assert_true(uop_verify(c, 1, &to, VERIFY_TENSOR));
    assert_ptr_equal(rewrite_graph(c, &simplify_pass, to), to);
    scope_leave(c, &s);
  }
}

static UOp *swap_forever(UOp *u, void *user) {
  ++*(int *)user;
  return uop_binary(OP_ADD, u->src[1], u->src[0]);
}

static UOp *grow_forever(UOp *u, void *user) {
  (void)user;
  return uop_unary(OP_EXP, u);
}

static UOp *narrow_constant(UOp *u, void *user) {
  (void)user;
  UOp *wide = uop_const(u->ctx, POLY_FLOAT64, 0.1); /* no value of float32 */
  return u->arg.i == wide->arg.i ? NULL : uop_make(u->ctx, OP_CONST, POLY_FLOAT32, wide->arg, 0, NULL, 0, NULL);
}

/* What a pass makes is verified by the driver, if the context says so: a mistake of a rule is an error that names the
 * pass. */
static void test_passes_are_verified(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  static const RewriteRule rule = {OP_CONST, narrow_constant};
  const RewritePass pass = {.name = "narrow", .rules = &rule, .nrule = 1};
  UOp *root = uop_const(c, POLY_FLOAT32, 3);
  assert_true(c->verify);
  assert_null(rewrite_graph(c, &pass, root));
  assert_non_null(strstr(c->base.text, "what narrow made is not legal"));
  assert_true(c->illegal);
  base_clear(&c->base);
  c->verify = false;
  assert_non_null(rewrite_graph(c, &pass, root));
}

static void test_passes_that_do_not_end_are_errors(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  static const RewriteRule swap = {OP_ADD, swap_forever}, grow = {OP_EXP, grow_forever};
  const RewritePass swaps = {.name = "swaps", .rules = &swap, .nrule = 1};
  const RewritePass grows = {.name = "grows", .rules = &grow, .nrule = 1};
  int calls = 0;
  UOp *root = uop_binary(OP_ADD, vector(c, 2), vector(c, 2));
  assert_false(rewrite_graphs(c, &swaps, &calls, 1, &root));
  assert_non_null(strstr(c->base.text, "pass swaps does not end"));
  assert_true(calls > 1);
  base_clear(&c->base);
  assert_null(rewrite_graph(c, &grows, uop_unary(OP_EXP, vector(c, 2))));
  assert_non_null(strstr(c->base.text, "pass grows does not end"));
  base_clear(&c->base);
}

/* Replaces variable n by 6: sizes and indices come out simplified. */
static UOp *set_n(UOp *u, void *user) { return u == user ? uop_index(u->ctx, 6) : NULL; }

static void test_index_pass_simplifies(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  UOp *n = uop_variable(c, "n", 1, 9), *k = uop_variable(c, "k", 0, 5);
  UOp *root = int_add(int_mod(k, n), int_mul(int_div(k, n), uop_index(c, 4)));
  static const RewriteRule rule = {OP_VARIABLE, set_n};
  const RewritePass pass = {.name = "set n", .rules = &rule, .nrule = 1, .index = true};
  assert_true(rewrite_graphs(c, &pass, n, 1, &root));
  assert_ptr_equal(root, k);
}

/* ---- memory ---- */

typedef struct Failing {
  int64_t left; /* allocations that still succeed */
} Failing;

static void *failing_realloc(void *user, void *p, size_t old_size, size_t new_size) {
  Failing *f = user;
  (void)old_size;
  if (new_size == 0) return free(p), NULL;
  if (f->left-- <= 0) return NULL;
  return realloc(p, new_size);
}

/* The n-th allocation fails, for every n: an error comes back and nothing is lost. */
static void test_every_allocation_may_fail(void **state) {
  (void)state;
  static const char text[] = "%0 = VARIABLE int64 {min=1, max=64, name=\"n\"}\n"
                             "%1 = BUFFER float32 [%0, 3] %0 3 {id=7}\n%2 = CONST float32 {1}\n"
                             "%3 = MUL float32 [%0, 3] %1 %2\n%4 = EXP float32 [%0, 3] %3\n"
                             "%5 = REDUCE float32 [1, 1] %4 {op=ADD, axes=3}\nreturn %5\n";
  bool finished = false;
  for (int64_t n = 0; !finished; n++) {
    Failing failing = {n};
    PolyContext ctx = {.base = {.alloc = {failing_realloc, &failing}}};
    if (ctx_init(&ctx)) {
      Scope s;
      UOpList out = {0};
      Str str = {.b = &ctx.base};
      scope_enter(&ctx, &s);
      bool ok = uop_parse(&ctx, text, &out) && rewrite_graphs(&ctx, &simplify_pass, NULL, out.n, out.at);
      if (ok) uop_print(&str, out.n, out.at);
      finished = ok && !str.failed;
      if (!finished) assert_int_equal(ctx.base.code, POLY_ERROR_MEMORY);
      failing.left = INT64_MAX;
      base_clear(&ctx.base);
      assert_non_null(vector(&ctx, 3)); /* still of use */
      str_free(&str);
      vec_free(&ctx.base, &out);
      scope_leave(&ctx, &s);
      assert_int_equal(ctx.nnode, 0);
    }
    ctx_drop(&ctx);
    assert_int_equal(ctx.base.bytes, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IR_TEST(test_equal_nodes_are_one),
      IR_TEST(test_nodes_die_with_their_holders),
      IR_TEST(test_million_nodes),
      IR_TEST(test_walk_order),
      IR_TEST(test_text_form),
      IR_TEST(test_text_round_trip),
      IR_TEST(test_text_moves_to_another_context),
      IR_TEST(test_text_survives_garbage),
      IR_TEST(test_verifier_rejects),
      IR_TEST(test_verifier_levels),
      IR_TEST(test_simplify),
      IR_TEST(test_simplify_random_graphs),
      IR_TEST(test_passes_are_verified),
      IR_TEST(test_passes_that_do_not_end_are_errors),
      IR_TEST(test_index_pass_simplifies),
      cmocka_unit_test(test_every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
