/* loop.c: loops over steps. In: an item that has schedules of its own. Out: plans inside the plan, which the run binds
 * to other rows of the same memory at each step.
 *
 * Row t of a stacked operand and of a stacked result lie at t times the bytes of a row. A carried value is read from
 * where the step before has written it: the row before of its states, or the other of two places. Where it starts, the
 * first value is read from the operand itself; only kept states need a copy of it. */
#include "engine/engine.h"

#include <string.h>

/* ---- planning ---- */

/* The plan of one of the loop's schedules. Variables are those of the plan around it, so sizes are evaluated alike. */
static Plan *inner_plan(Plan *p, int nroot, const Lowered *l) {
  Plan *q = arena_new(&p->arena, sizeof *q);
  if (!q) return NULL;
  *q = (Plan){.ctx = p->ctx, .device = p->device, .refs = 1, .arena = {.b = ctx_base(p->ctx)}};
  q->nroot = nroot;
  q->nvar = p->nvar;
  q->var = p->var;
  q->is_size = arena_new(&p->arena, (size_t)p->nvar + 1);
  q->root_slot = arena_new(&p->arena, (size_t)(nroot + 1) * sizeof *q->root_slot);
  if (!q->is_size || !q->root_slot || !plan_take(q, l)) {
    plan_free_inner(q);
    return NULL;
  }
  memset(q->is_size, true, (size_t)p->nvar);
  memcpy(q->root_slot, l->schedule.root_slot, (size_t)nroot * sizeof(int));
  for (int i = 0; i < q->sizes.n; i++)
    if (!vec_push(ctx_base(p->ctx), &p->sizes, q->sizes.at[i])) {
      plan_free_inner(q);
      return NULL;
    }
  return q;
}

/* A slot for the memory that the steps use, of as many bytes as the plans inside need. */
static bool add_scratch(Plan *p, PlanLoop *l) {
  UOp *one = uop_index(p->ctx, 1);
  UOp *node = one ? uop_make(p->ctx, OP_BUFFER, POLY_UINT8, (UArg){0}, 1, &one, 1, &one) : NULL;
  if (!node || !plan_hold_size(p, node) || !plan_hold_size(p, one)) return false;
  p->sizes.n -= 2; /* they depend on nothing */
  l->scratch = p->nslot;
  p->slot[p->nslot++] = (PlanSlot){
      .kind = SLOT_TEMP, .input = -1, .node = node, .numel = one, .why = "memory of a loop", .writer = -1, .over = -1};
  return true;
}

bool plan_take_loop(Plan *p, PlanItem *it, const Loop *from, const Lowered *first, const Lowered *body) {
  Arena *a = &p->arena;
  PlanLoop *l = it->loop = arena_new(a, sizeof *l);
  if (!l) return false;
  *l = (PlanLoop){.count = from->count,
                  .reverse = from->reverse,
                  .ncarry = from->ncarry,
                  .nrow = from->nrow,
                  .nwhole = from->nwhole,
                  .nstack = from->nstack};
  int nroot = from->ncarry + from->nstack, noperand = from->ncarry + from->nrow + from->nwhole;
  l->result = arena_new(a, (size_t)(nroot + 1) * sizeof *l->result);
  l->states = arena_new(a, (size_t)from->ncarry + 1);
  l->carry_at = arena_new(a, (size_t)(from->ncarry + 1) * sizeof *l->carry_at);
  l->now = arena_new(a, (size_t)(from->ncarry + 1) * sizeof *l->now);
  l->in = arena_new(a, (size_t)(noperand + 1) * sizeof *l->in);
  if (!l->result || !l->states || !l->carry_at || !l->now || !l->in) return false;
  for (int k = 0; k < from->nresult; k++) {
    const LoopResult *r = &from->result[k];
    l->result[r->kind == LOOP_STACK ? from->ncarry + r->at : r->at] = k;
    if (r->kind == LOOP_STATES) l->states[r->at] = true;
  }
  if (!plan_hold_size(p, l->count) || !add_scratch(p, l)) return false;
  l->first = inner_plan(p, from->ncarry, first);
  l->body = l->first ? inner_plan(p, nroot, body) : NULL;
  if (!l->body) return false;
  l->out = l->body->root_slot;
  for (int k = 0; k < noperand; k++) l->in[k] = -1;
  for (int i = 0; i < l->body->nslot; i++)
    if (l->body->slot[i].kind == SLOT_INPUT) l->in[l->body->slot[i].input] = i;
  return true;
}

/* ---- sizes ---- */

enum { ALIGN = 64 };

static size_t align_up(size_t n) { return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

bool plan_size_loop(Plan *p, PlanItem *it, size_t *scratch) {
  PlanLoop *l = it->loop;
  if (!int_eval_vars(l->count, p->nvar, p->var, p->value, &l->n)) return false;
  if (!plan_size(l->first, p->value) || !plan_size(l->body, p->value)) return false;
  size_t at = align_up(MAX(l->body->arena_bytes, l->first->arena_bytes));
  for (int k = 0; k < l->ncarry; k++) {
    l->carry_at[k] = at;
    if (!l->states[k]) at += align_up(l->body->slot[l->out[k]].bytes);
  }
  *scratch = at;
  return true;
}

/* ---- running ---- */

static MemoryRef ref_at(MemoryRef m, size_t bytes) {
  m.offset += bytes;
  return m;
}

/* The memory of temporaries, which is the same at each step. */
static void bind_temps(const Plan *p, const PlanLoop *l, Plan *q) {
  q->program = p->program;
  for (int i = 0; i < q->nslot; i++)
    if (q->slot[i].kind == SLOT_TEMP) q->at[i] = ref_at(p->at[l->scratch], q->slot[i].offset);
}

static MemoryRef result_row(const Plan *p, const PlanItem *it, int root, int64_t row) {
  const PlanLoop *l = it->loop;
  return ref_at(p->at[it->arg[l->result[root]]], (size_t)row * l->body->slot[l->out[root]].bytes);
}

/* Where carried value k is after step s of n, and before the first if s is -1. Of two places, the last step writes to
 * the result. */
static MemoryRef carry_place(const Plan *p, const PlanItem *it, int k, int64_t s) {
  const PlanLoop *l = it->loop;
  if (l->states[k]) return result_row(p, it, k, l->reverse ? l->n - 1 - s : s + 1);
  bool result = (l->n - 1 - s) % 2 == 0;
  return result ? p->at[it->arg[l->result[k]]] : ref_at(p->at[l->scratch], l->carry_at[k]);
}

/* Without steps, the first values are the results. */
static bool copy_first(Plan *p, const PlanItem *it) {
  PlanLoop *l = it->loop;
  bool any = l->n == 0;
  for (int k = 0; k < l->ncarry; k++) any |= l->states[k];
  if (!any) return true;
  bind_temps(p, l, l->first);
  for (int i = 0; i < l->first->nslot; i++) {
    const PlanSlot *s = &l->first->slot[i];
    if (s->kind == SLOT_INPUT) l->first->at[i] = p->at[it->arg[it->nout + s->input]];
  }
  for (int k = 0; k < l->ncarry; k++) l->first->at[l->first->root_slot[k]] = carry_place(p, it, k, -1);
  return plan_run_items(l->first);
}

static bool run_step(Plan *p, const PlanItem *it, int64_t s) {
  PlanLoop *l = it->loop;
  Plan *q = l->body;
  int64_t t = l->reverse ? l->n - 1 - s : s;
  for (int k = 0; k < l->ncarry; k++)
    if (l->in[k] >= 0) q->at[l->in[k]] = l->now[k];
  for (int k = l->ncarry; k < l->ncarry + l->nrow; k++)
    if (l->in[k] >= 0) q->at[l->in[k]] = ref_at(p->at[it->arg[it->nout + k]], (size_t)t * q->slot[l->in[k]].bytes);
  for (int k = 0; k < l->ncarry; k++) l->now[k] = q->at[l->out[k]] = carry_place(p, it, k, s);
  for (int k = 0; k < l->nstack; k++) q->at[l->out[l->ncarry + k]] = result_row(p, it, l->ncarry + k, t);
  return plan_run_items(q);
}

bool plan_run_loop(Plan *p, const PlanItem *it) {
  PlanLoop *l = it->loop;
  if (!copy_first(p, it)) return false;
  bind_temps(p, l, l->body);
  int before = l->ncarry + l->nrow;
  for (int k = 0; k < l->nwhole; k++)
    if (l->in[before + k] >= 0) l->body->at[l->in[before + k]] = p->at[it->arg[it->nout + before + k]];
  for (int k = 0; k < l->ncarry; k++)
    l->now[k] = l->states[k] ? carry_place(p, it, k, -1) : p->at[it->arg[it->nout + k]];
  for (int64_t s = 0; s < l->n; s++)
    if (!run_step(p, it, s)) return false;
  return true;
}
