/* test_memory_plan.c: places of temporary slots in the arena of a plan: slots that live at the same time never overlap,
 * every place is aligned, and slots that never meet share. */
#include "ir_fixture.h"

#include "engine/engine.h"

enum { SLOTS = 60, ITEMS = 25 };

static void slot_init(Fixture *f, PlanSlot *s, int64_t bytes, int first, int last) {
  UOp *size = uop_index(&f->ctx, bytes);
  *s = (PlanSlot){
      .kind = SLOT_TEMP, .node = uop_buffer(&f->ctx, POLY_UINT8, 1, &size), .numel = size, .why = "test", .over = -1};
  s->first = first;
  s->last = last;
  assert_non_null(s->node);
}

static void check_places(const Plan *p) {
  for (int a = 0; a < p->nslot; a++) {
    const PlanSlot *x = &p->slot[a];
    assert_int_equal(x->offset % 64, 0);
    assert_true(x->offset + x->bytes <= p->arena_bytes);
    for (int b = 0; b < a; b++) {
      const PlanSlot *y = &p->slot[b];
      bool together = x->first <= y->last && y->first <= x->last;
      bool apart = x->offset + x->bytes <= y->offset || y->offset + y->bytes <= x->offset;
      if (together && !apart) fail_msg("slots %d and %d overlap", a, b);
    }
  }
}

/* No plan can need less than what is alive at its fullest moment. */
static size_t fullest(const Plan *p) {
  size_t most = 0;
  for (int i = 0; i < ITEMS; i++) {
    size_t now = 0;
    for (int k = 0; k < p->nslot; k++)
      if (p->slot[k].first <= i && i <= p->slot[k].last) now += (p->slot[k].bytes + 63) / 64 * 64;
    most = MAX(most, now);
  }
  return most;
}

static void random_lives(void **state) {
  Fixture *f = *state;
  for (int round = 0; round < 50; round++) {
    PlanSlot slot[SLOTS];
    Plan p = {.ctx = &f->ctx, .arena = {.b = &f->ctx.base}, .slot = slot, .nslot = (int)draw_in(f, 1, SLOTS)};
    for (int k = 0; k < p.nslot; k++) {
      int first = (int)draw_in(f, 0, ITEMS - 1), last = (int)draw_in(f, first, MIN(first + 6, ITEMS - 1));
      slot_init(f, &slot[k], draw_in(f, 0, 5000), first, last);
    }
    assert_true(plan_size(&p, NULL));
    check_places(&p);
    assert_true(p.arena_bytes >= fullest(&p));
    assert_true((double)p.arena_bytes <= 1.6 * (double)fullest(&p));
    arena_free(&p.arena);
  }
}

/* Where memory is large and sizes are known, an order is looked for that wastes little: the three orders alone and what
 * they leave topmost take 1.4 % more than what is alive, on the average. */
static void large_plans_waste_little(void **state) {
  Fixture *f = *state;
  double waste = 0;
  enum { PLANS = 30 };
  for (int round = 0; round < PLANS; round++) {
    PlanSlot slot[SLOTS];
    Plan p = {.ctx = &f->ctx, .arena = {.b = &f->ctx.base}, .slot = slot, .nslot = SLOTS, .nitem = ITEMS};
    PlanItem item[ITEMS] = {{0}};
    p.item = item;
    for (int k = 0; k < SLOTS; k++) {
      int first = (int)draw_in(f, 0, ITEMS - 1), last = (int)draw_in(f, first, MIN(first + 6, ITEMS - 1));
      slot_init(f, &slot[k], draw_in(f, 0, 5000) << 14, first, last);
    }
    assert_true(plan_size(&p, NULL));
    check_places(&p);
    waste += (double)p.arena_bytes / (double)fullest(&p) - 1;
    arena_free(&p.arena);
  }
  assert_true(waste / PLANS < 0.005);
}

/* Places follow from the sizes of a run, not from the runs before it. */
static void earlier_runs_do_not_matter(void **state) {
  Fixture *f = *state;
  PlanSlot slot[SLOTS], fresh[SLOTS];
  Plan p = {.ctx = &f->ctx, .arena = {.b = &f->ctx.base}, .slot = slot, .nslot = SLOTS};
  for (int k = 0; k < SLOTS; k++) {
    int first = (int)draw_in(f, 0, ITEMS - 1);
    slot_init(f, &slot[k], draw_in(f, 0, 5000), first, (int)draw_in(f, first, ITEMS - 1));
  }
  for (int round = 0; round < 20; round++) {
    Plan q = {.ctx = &f->ctx, .arena = {.b = &f->ctx.base}, .slot = fresh, .nslot = SLOTS};
    for (int k = 0; k < SLOTS; k++) {
      UOp *size = uop_index(&f->ctx, draw_in(f, 0, 5000));
      slot[k].node = uop_buffer(&f->ctx, POLY_UINT8, 1, &size);
      fresh[k] = slot[k];
    }
    p.sized = false;
    assert_true(plan_size(&p, NULL) && plan_size(&q, NULL));
    check_places(&p);
    assert_int_equal(p.arena_bytes, q.arena_bytes);
    for (int k = 0; k < SLOTS; k++) assert_int_equal(slot[k].offset, fresh[k].offset);
    arena_free(&q.arena);
  }
  arena_free(&p.arena);
}

/* a -> b -> c -> ...: two places are enough, however long the chain. */
static void a_chain_needs_two_places(void **state) {
  Fixture *f = *state;
  PlanSlot slot[ITEMS - 1];
  Plan p = {.ctx = &f->ctx, .arena = {.b = &f->ctx.base}, .slot = slot, .nslot = ITEMS - 1};
  for (int k = 0; k < p.nslot; k++) slot_init(f, &slot[k], 1000, k, k + 1);
  assert_true(plan_size(&p, NULL));
  check_places(&p);
  assert_int_equal(p.arena_bytes, 2 * 1024);
  arena_free(&p.arena);
}

/* The same chain, each written over the one before: one place is enough, and it is kept to the end. */
static void written_over_needs_one_place(void **state) {
  Fixture *f = *state;
  PlanSlot slot[ITEMS];
  Plan p = {.ctx = &f->ctx, .arena = {.b = &f->ctx.base}, .slot = slot, .nslot = ITEMS};
  for (int k = 0; k < ITEMS - 1; k++) {
    slot_init(f, &slot[k], 1000, k, k + 1);
    slot[k].over = k - 1;
  }
  slot_init(f, &slot[ITEMS - 1], 100, ITEMS - 1, ITEMS - 1); /* lives beside the last of them */
  assert_true(plan_size(&p, NULL));
  for (int k = 1; k < ITEMS - 1; k++) assert_int_equal(slot[k].offset, slot[0].offset);
  assert_int_not_equal(slot[ITEMS - 1].offset, slot[0].offset);
  assert_int_equal(p.arena_bytes, 1024 + 128);
  arena_free(&p.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {IR_TEST(random_lives), IR_TEST(large_plans_waste_little),
                                     IR_TEST(earlier_runs_do_not_matter), IR_TEST(a_chain_needs_two_places),
                                     IR_TEST(written_over_needs_one_place)};
  return cmocka_run_group_tests_name("memory plan", tests, NULL, NULL);
}
