/* verify.c: what is legal in a schedule, as schedule.h promises it to codegen and the engine. In: a schedule. Out:
 * true, or an error that names the slot or the item.
 *
 * Slots hold what their node says; items name slots that exist, outputs first; the STOREs of a kernel write its outputs
 * and nothing else, with parameters of the slots' dtypes; and each RANGE that a STORE depends on is one of its own
 * loops or belongs to a LOOP around it: one that is left over would be a loop variable that no loop defines. */
#include "schedule/schedule.h"

#include "ir/context.h"
#include "ir/verify.h"

typedef struct Verify {
  PolyContext *ctx;
  const Schedule *s;
  int nroot;
} Verify;

static bool wrong(const Verify *v, const char *what, int at, const char *why) {
  return base_fail(ctx_base(v->ctx), POLY_ERROR_RUNTIME, "%s %d: %s", what, at, why);
}

/* ---- slots ---- */

static bool check_slot(const Verify *v, int i) {
  const Slot *slot = &v->s->slot[i];
  if (!slot->node || !slot->numel || !slot->why) return wrong(v, "slot", i, "a field is missing");
  if (slot->kind != SLOT_TILE && !slot->copies && !slot->pitch && slot->numel != uop_numel(slot->node))
    return wrong(v, "slot", i, "the number of elements is not the node's");
  if (slot->kind != SLOT_INPUT) return true;
  if (slot->node->op != OP_BUFFER || slot->node->arg.i != -(int64_t)slot->input - 1)
    return wrong(v, "slot", i, "the node is not the placeholder of the input");
  for (int k = 0; k < i; k++)
    if (v->s->slot[k].kind == SLOT_INPUT && v->s->slot[k].input == slot->input)
      return wrong(v, "slot", i, "another slot is the same input");
  return true;
}

static bool check_roots(const Verify *v) {
  for (int r = 0; r < v->nroot; r++) {
    int at = v->s->root_slot[r];
    if (at < 0 || at >= v->s->nslot) return wrong(v, "root", r, "there is no such slot");
    if (v->s->slot[at].kind == SLOT_TEMP) return wrong(v, "root", r, "a result is in a temporary");
  }
  return true;
}

/* ---- kernels ---- */

enum { MAX_LOOPS = 64 };

/* The loops that are not closed by a LOOP below u, as bits; bounds may depend on other loops. */
static uint64_t free_ranges(const UOp *u, const uint64_t *of) {
  uint64_t open = 0;
  for (int k = 0; k < u->nsrc; k++) open |= of[u->src[k]->slot];
  int first = u->op == OP_LOOP ? 1 : u->op == OP_STORE ? 3 : u->nsrc;
  for (int k = first; k < u->nsrc; k++) open &= ~(1ull << u->src[k]->arg.i);
  return u->op == OP_RANGE ? open | 1ull << u->arg.i : open;
}

static bool check_node(const Verify *v, int i, const Item *it, const UOp *u, const UOp **range) {
  if (u->op == OP_PARAM) {
    if (u->arg.i < 0 || u->arg.i >= it->narg) return wrong(v, "item", i, "a parameter is not among its slots");
    bool same = v->s->slot[it->arg[u->arg.i]].node->dtype == u->dtype;
    return same || wrong(v, "item", i, "a parameter has another dtype than its slot");
  }
  if (u->op != OP_RANGE) return true;
  if (u->arg.i < 0 || u->arg.i >= MAX_LOOPS) return wrong(v, "item", i, "a RANGE has no such number");
  if (range[u->arg.i]) return wrong(v, "item", i, "two RANGEs have one number");
  range[u->arg.i] = u;
  return true;
}

static bool check_kernel_nodes(const Verify *v, int i, const Item *it, Arena *arena) {
  const UOp *range[MAX_LOOPS] = {0};
  Walk w;
  if (!uop_walk(v->ctx, arena, it->nout, it->store, NULL, NULL, &w)) return false;
  uint64_t *of = arena_new(arena, (size_t)(w.n + 1) * sizeof *of);
  if (!of) return false;
  for (int k = 0; k < w.n; k++) {
    if (!check_node(v, i, it, w.at[k], range)) return false;
    of[k] = free_ranges(w.at[k], of);
  }
  for (int o = 0; o < it->nout; o++)
    if (of[it->store[o]->slot]) return wrong(v, "item", i, "a RANGE is outside of every loop");
  return uop_verify(v->ctx, it->nout, it->store, VERIFY_KERNEL);
}

static bool check_kernel(const Verify *v, int i, const Item *it) {
  uint64_t written = 0;
  for (int o = 0; o < it->nout; o++) {
    const UOp *store = it->store[o];
    if (!store || store->op != OP_STORE || !it->made[o]) return wrong(v, "item", i, "an output is no STORE");
    int64_t param = store->src[0]->arg.i;
    if (param < 0 || param >= it->nout || param >= 64) return wrong(v, "item", i, "it stores to what is no output");
    if (written & 1ull << param) return wrong(v, "item", i, "it stores an output twice");
    written |= 1ull << param;
    if (it->over[o] >= it->narg || (it->over[o] >= 0 && it->over[o] < it->nout))
      return wrong(v, "item", i, "it is to write over what is no input");
  }
  Arena arena = {.b = ctx_base(v->ctx)};
  bool ok = check_kernel_nodes(v, i, it, &arena);
  arena_free(&arena);
  return ok;
}

/* ---- other items ---- */

static bool check_matmul(const Verify *v, int i, const Item *it) {
  const MatmulItem *m = it->matmul;
  if (it->narg != 3 || it->nout != 1 || !m) return wrong(v, "item", i, "a matrix product has two operands");
  const UOp *sizes[] = {m->m, m->n, m->k, m->a_row, m->a_col, m->b_row, m->a_offset, m->b_col, m->b_offset, m->c_row};
  for (int k = 0; k < LEN(sizes); k++)
    if (!sizes[k] || sizes[k]->dtype != POLY_INT64) return wrong(v, "item", i, "a size or stride is not an int64");
  for (int k = 1; k < 3; k++)
    if (v->s->slot[it->arg[k]].node->dtype != v->s->slot[it->arg[0]].node->dtype)
      return wrong(v, "item", i, "an operand has another dtype than the product");
  return (m->nbatch >= 0 && m->nbatch <= LEN(m->batch)) || wrong(v, "item", i, "it has too many batch axes");
}

static bool check_library(const Verify *v, int i, const Item *it) {
  const UOp *u = it->node;
  if (!u || u->op != OP_LIBRARY || it->nout != 1) return wrong(v, "item", i, "it is no library routine");
  if (it->narg != 1 + uop_nvalue(u)) return wrong(v, "item", i, "it has another number of operands than its node");
  for (int k = 1; k < it->narg; k++)
    if (v->s->slot[it->arg[k]].node->dtype != u->src[k - 1]->dtype)
      return wrong(v, "item", i, "an operand has another dtype than its node");
  return true;
}

/* Its schedules are checked by themselves; what is bound to their inputs and roots is of the same dtype. */
static bool check_loop(const Verify *v, int i, const Item *it) {
  const Loop *l = it->loop;
  if (!l || it->nout != l->nresult || it->narg != it->nout + l->ncarry + l->nrow + l->nwhole)
    return wrong(v, "item", i, "a loop has another number of operands");
  for (int k = 0; k < l->nresult; k++) {
    const LoopResult *r = &l->result[k];
    int root = r->kind == LOOP_STACK ? l->ncarry + r->at : r->at;
    if (v->s->slot[it->arg[k]].node->dtype != l->root[root]->dtype)
      return wrong(v, "item", i, "a result of a loop has another dtype than the body gives");
  }
  for (int k = 0; k < l->body.nslot; k++) {
    const Slot *slot = &l->body.slot[k];
    if (slot->kind == SLOT_INPUT && v->s->slot[it->arg[it->nout + slot->input]].node->dtype != slot->node->dtype)
      return wrong(v, "item", i, "an operand of a loop has another dtype than the body reads");
  }
  return schedule_verify(v->ctx, l->ncarry, &l->first) && schedule_verify(v->ctx, l->ncarry + l->nstack, &l->body);
}

static bool check_item(const Verify *v, int i, const Item *it);

/* A composite item touches what its sub-items touch. */
static bool check_tiles(const Verify *v, int i, const Item *it) {
  const TilesItem *t = it->tiles;
  if (!t || t->first < 0 || t->nitem < 1 || t->first + t->nitem + t->nfinish > v->s->nsub)
    return wrong(v, "item", i, "it has no sub-items");
  if (t->tile < 1 || t->pieces < 1 || (t->rows != NULL) != (t->rowptr >= 0))
    return wrong(v, "item", i, "a field of its tiles is missing");
  for (int k = 0; k < t->nitem + t->nfinish; k++) {
    const Item *sub = &v->s->sub[t->first + k];
    if (sub->kind != ITEM_KERNEL && sub->kind != ITEM_MATMUL)
      return wrong(v, "item", i, "a sub-item is neither a kernel nor a matrix product");
    if (!check_item(v, i, sub)) return false;
    for (int a = 0; a < sub->narg; a++) {
      int at = 0;
      while (at < it->narg && it->arg[at] != sub->arg[a]) at++;
      if (at == it->narg) return wrong(v, "item", i, "a sub-item touches a slot that the item does not");
    }
  }
  return true;
}

static bool check_item(const Verify *v, int i, const Item *it) {
  if (it->nout < 1 || it->nout > it->narg) return wrong(v, "item", i, "it has no output");
  for (int k = 0; k < it->narg; k++) {
    if (it->arg[k] < 0 || it->arg[k] >= v->s->nslot) return wrong(v, "item", i, "there is no such slot");
    for (int o = 0; o < k; o++)
      if (it->arg[o] == it->arg[k] && (it->kind == ITEM_KERNEL || o < it->nout))
        return wrong(v, "item", i, "two parameters are one slot");
  }
  switch (it->kind) {
  case ITEM_KERNEL: return check_kernel(v, i, it);
  case ITEM_MATMUL: return check_matmul(v, i, it);
  case ITEM_LIBRARY: return check_library(v, i, it);
  case ITEM_LOOP: return check_loop(v, i, it);
  case ITEM_TILES: return check_tiles(v, i, it);
  }
  return wrong(v, "item", i, "there is no such kind");
}

bool schedule_verify(PolyContext *ctx, int nroot, const Schedule *s) {
  Verify v = {.ctx = ctx, .s = s, .nroot = nroot};
  for (int i = 0; i < s->nslot; i++)
    if (!check_slot(&v, i)) return false;
  for (int i = 0; i < s->nitem; i++)
    if (!check_item(&v, i, &s->item[i])) return false;
  return check_roots(&v);
}
