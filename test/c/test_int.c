/* test_int.c: the integer algebra. Each known form is checked by pointer, and random expressions are built twice: once
 * through the simplifier, once as a plain tree that is evaluated directly. */
#include "ir_fixture.h"
#include "ir/intmath.h"

/* ---- leaves with values ---- */

enum { LEAVES = 8, VALUES = 40 };

typedef struct Leaves {
  UOp *at[LEAVES];
  int64_t value[LEAVES];
} Leaves;

static UOp *range(PolyContext *c, UOp *begin, UOp *end, int64_t id) {
  return uop_make(c, OP_RANGE, POLY_INT64, (UArg){.i = id}, 2, (UOp *[]){begin, end}, 0, NULL);
}

/* n, m, k of any sign, and ranges with constant and symbolic ends. */
static void make_leaves(Fixture *f, Leaves *l) {
  PolyContext *c = &f->ctx;
  UOp *zero = uop_index(c, 0);
  l->at[0] = uop_variable(c, "n", 1, 9);
  l->at[1] = uop_variable(c, "m", 1, 6);
  l->at[2] = uop_variable(c, "k", -11, 13);
  l->at[3] = uop_variable(c, "z", 0, 4);
  l->at[4] = range(c, zero, uop_index(c, 12), 0);
  l->at[5] = range(c, zero, l->at[0], 1);
  l->at[6] = range(c, zero, l->at[1], 2);
  l->at[7] = range(c, l->at[3], int_add(l->at[3], l->at[0]), 3);
}

static void assign(Fixture *f, Leaves *l) {
  l->value[0] = draw_in(f, 1, 9);
  l->value[1] = draw_in(f, 1, 6);
  l->value[2] = draw_in(f, -11, 13);
  l->value[3] = draw_in(f, 0, 4);
  l->value[4] = draw_in(f, 0, 11);
  l->value[5] = draw_in(f, 0, l->value[0] - 1);
  l->value[6] = draw_in(f, 0, l->value[1] - 1);
  l->value[7] = draw_in(f, l->value[3], l->value[3] + l->value[0] - 1);
}

static bool look(void *user, const UOp *leaf, int64_t *value) {
  Leaves *l = user;
  for (int i = 0; i < LEAVES; i++)
    if (l->at[i] == leaf) {
      *value = l->value[i];
      return true;
    }
  return false;
}

/* ---- random trees ---- */

typedef struct Tree {
  char op; /* 'l' leaf, 'c' constant, or + - * / % < m M w & */
  int64_t v;
  int kid[3];
} Tree;

enum { NODES = 64 };

static int grow(Fixture *f, Tree *t, int *n, int depth, bool want_bool) {
  int at = (*n)++;
  Tree *x = &t[at];
  if (want_bool) {
    bool leafy = depth <= 0 || *n > NODES - 12 || draw(f) % 3;
    x->op = leafy ? '<' : '&';
    for (int i = 0; i < 2; i++) t[at].kid[i] = grow(f, t, n, depth - 1, !leafy);
    return at;
  }
  if (depth <= 0 || *n > NODES - 12) {
    static const int64_t consts[] = {0, 1, 2, 3, 4, 6, 8, 12, -1, -2, -3, -5, 24};
    bool leaf = draw(f) % 3;
    *x = leaf ? (Tree){.op = 'l', .v = draw_in(f, 0, LEAVES - 1)}
              : (Tree){.op = 'c', .v = consts[draw(f) % (uint32_t)LEN(consts)]};
    return at;
  }
  x->op = "++++--***//////%%%%%%mMw"[draw(f) % 24];
  int kids = x->op == 'w' ? 3 : 2;
  for (int i = 0; i < kids; i++) t[at].kid[i] = grow(f, t, n, depth - 1 - (int)(draw(f) % 2), x->op == 'w' && i == 0);
  return at;
}

static int64_t value_of(const Tree *t, int at, const Leaves *l) {
  const Tree *x = &t[at];
  if (x->op == 'l') return l->value[x->v];
  if (x->op == 'c') return x->v;
  int64_t a = value_of(t, x->kid[0], l), b = value_of(t, x->kid[1], l);
  switch (x->op) {
  case '+': return a + b;
  case '-': return a - b;
  case '*': return a * b;
  case '/': return floor_div(a, b);
  case '%': return floor_mod(a, b);
  case '<': return a < b;
  case 'm': return MIN(a, b);
  case 'M': return MAX(a, b);
  case '&': return a && b;
  default: return a ? b : value_of(t, x->kid[2], l);
  }
}

static UOp *node_of(Fixture *f, const Tree *t, int at, const Leaves *l) {
  const Tree *x = &t[at];
  if (x->op == 'l') return l->at[x->v];
  if (x->op == 'c') return uop_index(&f->ctx, x->v);
  UOp *a = node_of(f, t, x->kid[0], l), *b = node_of(f, t, x->kid[1], l);
  switch (x->op) {
  case '+': return int_add(a, b);
  case '-': return int_sub(a, b);
  case '*': return int_mul(a, b);
  case '/': return int_div(a, b);
  case '%': return int_mod(a, b);
  case '<': return int_lt(a, b);
  case 'm': return int_min(a, b);
  case 'M': return int_max(a, b);
  case '&': return int_and(a, b);
  default: return int_where(a, b, node_of(f, t, x->kid[2], l));
  }
}

static void print_tree(const Tree *t, int at) {
  const Tree *x = &t[at];
  if (x->op == 'l') {
    print_error("L%d", (int)x->v);
    return;
  }
  if (x->op == 'c') {
    print_error("%d", (int)x->v);
    return;
  }
  print_error("(");
  print_tree(t, x->kid[0]);
  print_error(" %c ", x->op);
  print_tree(t, x->kid[1]);
  if (x->op == 'w') print_error(" : "), print_tree(t, x->kid[2]);
  print_error(")");
}

/* A wrong rule shows as a value, or a bound, that the plain tree does not have. */
static void test_random_expressions(void **state) {
  Fixture *f = *state;
  Leaves l;
  make_leaves(f, &l);
  int rounds = getenv("IR_ROUNDS") ? atoi(getenv("IR_ROUNDS")) : 4000;
  if (getenv("IR_SEED")) f->random = (uint64_t)atoll(getenv("IR_SEED"));
  for (int round = 0; round < rounds; round++) {
    Tree t[NODES] = {0};
    int n = 0;
    Scope s;
    scope_enter(&f->ctx, &s);
    int root = grow(f, t, &n, 1 + (int)(draw(f) % 5), draw(f) % 8 == 0);
    UOp *u = node_of(f, t, root, &l);
    assert_non_null(u);
    for (int k = 0; k < VALUES; k++) {
      int64_t got = 0;
      assign(f, &l);
      int64_t want = value_of(t, root, &l);
      if (!int_eval(u, look, &l, &got) || got != want || got < u->vmin || got > u->vmax) {
        print_tree(t, root);
        print_error(" = %lld, got %lld, bounds %lld..%lld\n", (long long)want, (long long)got, (long long)u->vmin,
                    (long long)u->vmax);
        fail();
      }
    }
    scope_leave(&f->ctx, &s);
  }
}

/* ---- known forms ---- */

static void test_sums_are_canonical(void **state) {
  Fixture *f = *state;
  Leaves l;
  make_leaves(f, &l);
  UOp *n = l.at[0], *m = l.at[1], *k = l.at[2];
  assert_ptr_equal(int_add(n, m), int_add(m, n));
  assert_ptr_equal(int_sub(int_add(n, m), m), n);
  assert_ptr_equal(int_mul(int_addc(n, 1), m), int_add(int_mul(m, n), m));
  assert_ptr_equal(int_mulc(int_add(int_mulc(n, 2), k), 3), int_add(int_mulc(k, 3), int_mulc(n, 6)));
  assert_true(uop_is_int(int_sub(int_mul(n, m), int_mul(m, n)), 0));
  assert_ptr_equal(int_add(int_add(n, m), k), int_add(n, int_add(k, m)));
}

static void test_div_mod_forms(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  Leaves l;
  make_leaves(f, &l);
  UOp *k = l.at[2], *i = l.at[4], *j = range(c, uop_index(c, 0), uop_index(c, 4), 9), *four = uop_index(c, 4);
  UOp *flat = int_add(int_mulc(i, 4), j);
  assert_ptr_equal(int_div(flat, four), i);
  assert_ptr_equal(int_mod(flat, four), j);
  assert_ptr_equal(int_add(int_mulc(int_div(k, four), 4), int_mod(k, four)), k);
  assert_ptr_equal(int_add(int_mulc(int_div(k, four), 20), int_mulc(int_mod(k, four), 5)), int_mulc(k, 5));
  assert_ptr_equal(int_div(int_div(k, four), uop_index(c, 3)), int_div(k, uop_index(c, 12)));
  assert_ptr_equal(int_mod(int_mod(k, uop_index(c, 12)), four), int_mod(k, four));
  assert_ptr_equal(int_div(flat, uop_index(c, 8)), int_div(i, uop_index(c, 2)));
  assert_ptr_equal(int_mod(flat, uop_index(c, 8)), int_add(int_mulc(int_mod(i, uop_index(c, 2)), 4), j));
  /* three digits of k put together again */
  UOp *d0 = int_mod(k, four), *d1 = int_mod(int_div(k, four), uop_index(c, 3)), *d2 = int_div(k, uop_index(c, 12));
  assert_ptr_equal(int_add(d0, int_mulc(d1, 4)), int_mod(k, uop_index(c, 12)));
  assert_ptr_equal(int_add(int_add(d0, int_mulc(d1, 4)), int_mulc(d2, 12)), k);
  assert_ptr_equal(int_add(int_add(int_mulc(d2, 12), int_mulc(d1, 4)), d0), k);
  assert_ptr_equal(int_add(int_mulc(d2, 3), d1), int_div(k, four));
}

static void test_symbolic_div_mod(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  Leaves l;
  make_leaves(f, &l);
  UOp *n = l.at[0], *m = l.at[1], *k = l.at[2], *i = l.at[5], *j = l.at[6];
  assert_ptr_equal(int_div(int_mul(n, k), n), k);
  assert_true(uop_is_int(int_mod(int_mul(n, k), n), 0));
  UOp *flat = int_add(int_mul(i, m), j); /* i in 0..n, j in 0..m */
  assert_ptr_equal(int_div(flat, m), i);
  assert_ptr_equal(int_mod(flat, m), j);
  assert_true(uop_is_int(int_div(flat, int_mul(n, m)), 0));
  assert_ptr_equal(int_mod(flat, int_mul(m, n)), flat);
  UOp *wide = int_add(int_mul(k, int_mul(n, m)), flat);
  assert_ptr_equal(int_div(wide, int_mul(n, m)), k);
  assert_ptr_equal(int_mod(int_div(wide, m), n), i);
  assert_ptr_equal(int_add(int_mul(int_div(k, n), n), int_mod(k, n)), k);
  /* a divisor that is a sum, as after concatenation */
  UOp *n1 = int_addc(n, 1), *r = range(c, uop_index(c, 0), n1, 7);
  UOp *rows = int_add(int_mul(j, n1), r);
  assert_ptr_equal(int_div(rows, n1), j);
  assert_ptr_equal(int_mod(rows, n1), r);
}

static void test_less_than(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  Leaves l;
  make_leaves(f, &l);
  UOp *n = l.at[0], *m = l.at[1], *k = l.at[2], *i = l.at[5], *j = l.at[6], *yes = uop_true(c);
  UOp *no = uop_int_const(c, POLY_BOOL, 0);
  assert_ptr_equal(int_lt(i, n), yes);
  assert_ptr_equal(int_lt(n, i), no);
  assert_ptr_equal(int_lt(int_add(int_mul(i, m), j), int_mul(n, m)), yes);
  assert_ptr_equal(int_lt(int_addc(i, -1), int_addc(n, -1)), yes);
  assert_ptr_equal(int_lt(int_addc(k, 3), uop_index(c, 5)), int_lt(k, uop_index(c, 2)));
  assert_ptr_equal(int_lt(int_mulc(k, 4), uop_index(c, 7)), int_lt(k, uop_index(c, 2)));
  assert_ptr_equal(int_lt(int_div(k, uop_index(c, 4)), uop_index(c, 2)), int_lt(k, uop_index(c, 8)));
  assert_ptr_equal(int_and(int_lt(k, n), yes), int_lt(k, n));
  assert_ptr_equal(int_and(int_lt(k, n), no), no);
  assert_ptr_equal(int_and(int_lt(k, n), int_lt(k, m)), int_and(int_and(int_lt(k, m), int_lt(k, n)), int_lt(k, m)));
  assert_ptr_equal(int_min(i, n), i);
  assert_ptr_equal(int_max(int_sub(n, i), uop_index(c, 1)), int_sub(n, i));
  assert_ptr_equal(int_max(k, n), int_max(n, int_max(k, n)));
  /* a clipped slice, and a loop split in tiles of 4 */
  UOp *clipped = range(c, uop_index(c, 0), int_min(n, uop_index(c, 5)), 20);
  assert_true(int_less(clipped, n) && int_less(clipped, uop_index(c, 5)));
  UOp *tile = range(c, uop_index(c, 0), int_div(n, uop_index(c, 4)), 21);
  UOp *lane = range(c, uop_index(c, 0), uop_index(c, 4), 22);
  assert_true(int_less(int_add(int_mulc(tile, 4), lane), n));
  assert_false(int_less(int_addc(int_add(int_mulc(tile, 4), lane), 1), n));
}

static void test_bounds(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  UOp *n = uop_variable(c, "n", 2, 10), *b = uop_bind(n, 4);
  assert_int_equal(b->vmin, 2); /* the value of this run is not a bound */
  assert_int_equal(b->vmax, 10);
  UOp *far = uop_variable(c, "far", 1, INT64_MAX);
  assert_int_equal(int_addc(far, 5)->vmin, 6);
  assert_int_equal(int_mul(far, far)->vmax, INT64_MAX);
  assert_int_equal(int_mul(far, int_mulc(far, -1))->vmin, INT64_MIN);
  UOp *check = uop_make(c, OP_CHECK, POLY_INT64, (UArg){0}, 2, (UOp *[]){int_addc(n, -5), n}, 0, NULL);
  assert_int_equal(check->vmin, 0);
  assert_int_equal(check->vmax, 5);
  UOp *low = uop_index(c, INT64_MIN), *high = uop_index(c, INT64_MAX), *five = uop_index(c, 5);
  assert_int_equal(uop_binary(OP_ADD, low, five)->vmax, INT64_MIN + 5); /* numbers, not infinities */
  assert_int_equal(uop_binary(OP_SUB, high, five)->vmin, INT64_MAX - 5);
  assert_int_equal(uop_unary(OP_NEG, high)->vmax, -INT64_MAX);
  UOp *i8 = uop_make(c, OP_VARIABLE, POLY_INT8, (UArg){100, 120, NULL}, 0, NULL, 0, NULL);
  UOp *sum = uop_binary(OP_ADD, i8, i8); /* wraps: nothing is known but the dtype */
  assert_int_equal(sum->vmin, INT8_MIN);
  assert_int_equal(sum->vmax, INT8_MAX);
}

/* What does not fit the fixed sizes stays correct. */
static void test_large_sums(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  UOp *sum = uop_index(c, 0);
  int64_t want = 0, got;
  for (int i = 0; i < 200; i++) {
    char name[16];
    snprintf(name, sizeof name, "v%d", i);
    sum = int_add(sum, int_mulc(uop_bind(uop_variable(c, name, 0, 1000), i), i));
    want += (int64_t)i * i;
  }
  assert_true(int_eval(sum, NULL, NULL, &got));
  assert_int_equal(got, want);
  UOp *big = int_mulc(uop_variable(c, "big", -3, 3), INT64_MAX);
  assert_non_null(int_mulc(big, 5));
  assert_non_null(int_div(int_mulc(big, 5), uop_index(c, 7)));
  assert_non_null(int_lt(big, uop_index(c, INT64_MIN)));
  assert_non_null(int_mod(uop_index(c, INT64_MIN), uop_index(c, -1)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IR_TEST(test_sums_are_canonical), IR_TEST(test_div_mod_forms), IR_TEST(test_symbolic_div_mod),
      IR_TEST(test_less_than),          IR_TEST(test_bounds),        IR_TEST(test_large_sums),
      IR_TEST(test_random_expressions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
