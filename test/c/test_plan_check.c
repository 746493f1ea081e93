/* test_plan_check.c: no plan runs that would give uninitialised memory. A sound plan is damaged in one place, as a
 * mistake of the compiler would; if the check passes it, such a mistake would be a wrong result instead of an error. */
#include "engine_fixture.h"

#include "engine/engine.h"

typedef struct Built {
  Arena arena;
  Scope scope;
  Canon canon;
  Lowered lowered;
} Built;

/* Two results, a matrix product of the library, a CAT of which each part is a kernel, and a reduction that is stored
 * between. */
static void build(PolyContext *ctx, Built *w) {
  PolyTensor *x = poly_zeros(ctx, POLY_FLOAT32, SHAPE(264, 264));
  assert_int_equal(poly_realize(x), POLY_OK);
  PolyTensor *y = poly_matmul(poly_add(x, poly_full(ctx, POLY_FLOAT32, SHAPE(264, 264), 1)), x);
  PolyTensor *columns = poly_sum(y, 1, (int[]){0}, true);
  PolyTensor *t[2] = {poly_cat((PolyTensor *[]){poly_div(y, columns), y}, 2, 1), poly_exp(columns)};
  UOp *root[2] = {t[0]->uop, t[1]->uop};
  w->arena = (Arena){.b = ctx_base(ctx)};
  scope_enter(ctx, &w->scope);
  assert_true(canon_build(ctx, &w->arena, 2, root, (bool[]){false, false}, &w->canon));
  assert_true(plan_lower(ctx, &w->arena, &w->canon, &w->lowered));
}

static void drop(PolyContext *ctx, Built *w) {
  scope_leave(ctx, &w->scope);
  arena_free(&w->arena);
  base_clear(ctx_base(ctx));
}

static bool passes(PolyContext *ctx, Built *w) {
  ScheduleLimits limits = {0};
  bool ok = plan_check(ctx, &w->arena, &limits, 2, &w->lowered);
  schedule_limits_free(ctx, &limits);
  assert_true(ok || poly_error_code(ctx) == POLY_ERROR_RUNTIME);
  return ok;
}

static void a_sound_plan_passes(void **state) {
  PolyContext *ctx = *state;
  Built w;
  build(ctx, &w);
  assert_true(w.lowered.schedule.nitem >= 4);
  assert_true(passes(ctx, &w));
  drop(ctx, &w);
}

/* Each item is left out in turn: something is then read, or given as a result, that nothing wrote. */
static void an_item_that_is_missing(void **state) {
  PolyContext *ctx = *state;
  int n = 1;
  for (int gone = 0; gone < n; gone++) {
    Built w;
    build(ctx, &w);
    Schedule *s = &w.lowered.schedule;
    n = s->nitem--;
    for (int i = gone; i < s->nitem; i++) {
      s->item[i] = s->item[i + 1];
      w.lowered.item[i] = w.lowered.item[i + 1];
    }
    assert_false(passes(ctx, &w));
    drop(ctx, &w);
  }
}

static void items_in_the_wrong_order(void **state) {
  PolyContext *ctx = *state;
  Built w;
  build(ctx, &w);
  int last = w.lowered.schedule.nitem - 1;
  Item item = w.lowered.schedule.item[0];
  Linear lin = w.lowered.item[0];
  w.lowered.schedule.item[0] = w.lowered.schedule.item[last];
  w.lowered.item[0] = w.lowered.item[last];
  w.lowered.schedule.item[last] = item;
  w.lowered.item[last] = lin;
  assert_false(passes(ctx, &w));
  drop(ctx, &w);
}

/* In each kernel in turn, the loop around a STORE runs once less, and then the STORE is no longer there. */
static void a_kernel_that_writes_too_little(void **state) {
  PolyContext *ctx = *state;
  int n = 1;
  for (int i = 0; i < n; i++) {
    Built w;
    build(ctx, &w);
    n = w.lowered.schedule.nitem;
    Linear *lin = &w.lowered.item[i];
    for (int k = 0; k < lin->ninst; k++) {
      Inst *in = &lin->inst[k];
      if (in->kind == INST_LOOP && !(in->flags & LOOP_REDUCE)) lin->inst[in->src[1]].arg.i--;
    }
    assert_true(w.lowered.schedule.item[i].kind != ITEM_KERNEL || !passes(ctx, &w));
    base_clear(ctx_base(ctx));
    for (int k = 0; k < lin->ninst; k++)
      if (lin->inst[k].kind == INST_STORE) lin->inst[k] = (Inst){.kind = INST_CONST, .src = {-1, -1, -1}};
    assert_true(w.lowered.schedule.item[i].kind != ITEM_KERNEL || !passes(ctx, &w));
    drop(ctx, &w);
  }
}

/* ---- the verifier of schedules ---- */

static bool legal(PolyContext *ctx, Built *w) {
  bool ok = schedule_verify(ctx, 2, &w->lowered.schedule);
  base_clear(ctx_base(ctx));
  return ok;
}

static Item *first_of(Built *w, ItemKind kind) {
  for (int i = 0; i < w->lowered.schedule.nitem; i++)
    if (w->lowered.schedule.item[i].kind == kind) return &w->lowered.schedule.item[i];
  fail_msg("no such item");
  return NULL;
}

/* Each kind of damage, in a fresh schedule. */
static void damage(PolyContext *ctx, Built *w, int kind) {
  Schedule *s = &w->lowered.schedule;
  Item *kernel = first_of(w, ITEM_KERNEL), *product = first_of(w, ITEM_MATMUL);
  switch (kind) {
  case 0: s->slot[0].numel = uop_index(ctx, 7); break;
  case 1: s->slot[s->root_slot[1]].kind = SLOT_TEMP; break;
  case 2: s->root_slot[0] = s->nslot; break;
  case 3: kernel->arg[0] = s->nslot; break;
  case 4: kernel->arg[kernel->narg - 1] = kernel->arg[0]; break;
  case 5: kernel->narg = kernel->nout; break; /* it reads what is no longer among its slots */
  case 6: kernel->store[0] = kernel->store[0]->src[1]; break;
  case 7: { /* without its outermost loop: the loop variable is left over */
    const UOp *st = kernel->store[0];
    UOp *src[8];
    for (int k = 0; k + 1 < st->nsrc; k++) src[k] = st->src[k < 3 ? k : k + 1];
    kernel->store[0] = uop_make(ctx, OP_STORE, (PolyDType)st->dtype, st->arg, st->nsrc - 1, src, 0, NULL);
    break;
  }
  case 8: kernel->over[0] = 0; break;
  case 9: product->matmul->k = NULL; break;
  case 10: product->narg = 2; break;
  case 11: s->slot[product->arg[0]].kind = SLOT_INPUT; break;
  default: fail();
  }
}

static void a_damaged_schedule(void **state) {
  PolyContext *ctx = *state;
  for (int kind = -1; kind < 12; kind++) {
    Built w;
    build(ctx, &w);
    if (kind >= 0) damage(ctx, &w, kind);
    if (legal(ctx, &w) != (kind < 0)) fail_msg("damage %d", kind);
    drop(ctx, &w);
  }
}

int main(void) {

  const struct CMUnitTest tests[] = {
      TEST(a_sound_plan_passes),      TEST(an_item_that_is_missing),
      TEST(items_in_the_wrong_order), TEST(a_kernel_that_writes_too_little),
      TEST(a_damaged_schedule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
