/* drafts.c: a draft for each stored node: which slots its kernel, product or routine reads and writes. */
#include "schedule/drafts.h"

#include "ir/context.h"

bool lower_part(Sched *s, Lower *l, NodeInfo *n, int part, UOp **store) {
  lower_begin(l, s->ctx, sched_policy, s, s->decided);
  s->domain = part < 0 ? n->node : n->node->src[part];
  s->hold = n->hold;
  s->kernel++;
  *store = part < 0 ? lower_store(l, n->node, n->slot, n->split) : lower_store_part(l, n->node, part, n->slot);
  if (!*store) schedule_blame(s->ctx, s->limits, 1, &n->node);
  return *store != NULL;
}

Draft *new_draft(Sched *s, Drafts *d, NodeInfo *n) {
  Draft *x = arena_new(s->arena, sizeof *x);
  if (!x || !vec_push(ctx_base(s->ctx), &d->at, x)) return NULL;
  *x = (Draft){.kind = n->kind, .nout = 1, .part = -1, .next_part = -1};
  x->out[0] = n;
  x->target[0] = n->slot;
  return x;
}

bool reads_slot(const Draft *x, int slot) {
  for (int i = 0; i < x->reads.n; i++)
    if (x->reads.at[i] == slot) return true;
  return false;
}

bool add_read(Sched *s, Draft *x, int slot) {
  return reads_slot(x, slot) || vec_push(ctx_base(s->ctx), &x->reads, slot);
}

bool reads_elsewhere(UOp *u, int64_t param, const UOp *at, Map *seen, Base *b) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return false;
  if (!map_put(b, seen, (uint64_t)(uintptr_t)u, 1)) return true;
  if (u->op == OP_LOAD && u->src[0]->arg.i == param && u->src[1] != at) return true;
  for (int i = 0; i < u->nsrc; i++)
    if (reads_elsewhere(u->src[i], param, at, seen, b)) return true;
  return false;
}

bool overwrites_early(Base *b, int nstore, UOp *const *store, int64_t param) {
  const UOp *at = NULL;
  for (int i = 0; i < nstore; i++)
    if (store[i]->src[0]->arg.i == param) at = store[i]->src[2];
  Map seen = {0};
  bool early = false;
  for (int i = 0; at && i < nstore && !early; i++) early = reads_elsewhere(store[i], param, at, &seen, b);
  map_free(b, &seen);
  return early;
}

/* Lowers the draft's kernel only to see its parameters; an ASSIGN that reads its buffer out of place gets a temporary.
 */
static bool find_reads(Sched *s, Draft *x) {
  NodeInfo *n = x->out[0];
  if (x->kind == STORE_MATMUL)
    return add_read(s, x, sched_slot_of(s, n->operand[0])) && add_read(s, x, sched_slot_of(s, n->operand[1]));
  if (x->kind == STORE_LIBRARY) {
    UOp *offset;
    for (int i = 0; i < uop_nvalue(n->node); i++)
      if (!add_read(s, x, sched_run_of(s, n->node->src[i], &offset))) return false;
    return true;
  }
  if (x->kind == STORE_LOOP) {
    const UOp *closed = n->node->src[0];
    for (int i = 0; i < closed->nsrc; i++)
      if (!add_read(s, x, sched_slot_of(s, closed->src[i]))) return false;
    return true;
  }
  Lower l;
  UOp *store;
  bool ok = lower_part(s, &l, n, x->part, &store);
  for (int i = 1; ok && i < l.param.n; i++) ok = add_read(s, x, l.param.at[i]);
  lower_end(&l);
  return ok;
}

bool reads_out_of_place(Sched *s, NodeInfo *n, int slot) {
  Base *b = ctx_base(s->ctx);
  Lower l;
  UOp *store;
  bool elsewhere = !lower_part(s, &l, n, -1, &store);
  for (int i = 0; !elsewhere && i < l.param.n; i++)
    if (l.param.at[i] == slot) {
      Map seen = {0};
      elsewhere = reads_elsewhere(store->src[1], i, store->src[2], &seen, b);
      map_free(b, &seen);
    }
  lower_end(&l);
  return elsewhere;
}

/* A root ASSIGN is stored under a temporary first; here it is pointed at its buffer if that is safe. */
static bool in_place(Sched *s, NodeInfo *n) { return !reads_out_of_place(s, n, sched_input(s, n->node->src[0])); }

/* A kernel for each part of a CAT; the first is the slot's writer, the others hang on it. */
static bool make_parts(Sched *s, Drafts *d, NodeInfo *n) {
  Draft *before = NULL;
  for (int k = 0; k < n->node->nsrc; k++) {
    if (uop_numel_max(n->node->src[k]) == 0) continue;
    Draft *x = new_draft(s, d, n);
    if (!x) return false;
    x->part = k;
    if (before)
      before->next_part = d->at.n - 1;
    else if (!map_put(ctx_base(s->ctx), &d->writer, (uint64_t)n->slot, (uint64_t)d->at.n - 1))
      return false;
    before = x;
    if (!find_reads(s, x)) return false;
  }
  return true;
}

/* One draft for all results of a loop: it has the first, and writes the others as well. */
static bool make_loop(Sched *s, Drafts *d, NodeInfo *n) {
  Loop *l = loop_at(&s->loops, n->node);
  if (l->draft < 0) {
    Draft *x = new_draft(s, d, n);
    if (!x || !find_reads(s, x)) return false;
    l->draft = d->at.n - 1;
  }
  return map_put(ctx_base(s->ctx), &d->writer, (uint64_t)n->slot, (uint64_t)l->draft);
}

bool make_drafts(Sched *s, Drafts *d) {
  for (int i = 0; i < s->work.n; i++) {
    NodeInfo *n = s->info.at[s->work.at[i]];
    if (n->kind == STORE_LOOP) {
      if (!make_loop(s, d, n)) return false;
      continue;
    }
    if (n->node->shape && uop_numel_max(n->node) == 0) continue; /* nothing to compute */
    if (n->node->op == OP_CAT) {
      if (!make_parts(s, d, n)) return false;
      continue;
    }
    Draft *x = new_draft(s, d, n);
    if (!x || !find_reads(s, x)) return false;
    if (n->node->op == OP_ASSIGN && in_place(s, n)) x->target[0] = sched_input(s, n->node->src[0]);
    if (ctx_base(s->ctx)->code != POLY_OK || x->target[0] < 0) return false;
    if (x->target[0] == n->slot && !map_put(ctx_base(s->ctx), &d->writer, (uint64_t)n->slot, (uint64_t)d->at.n - 1))
      return false;
  }
  return true;
}

/* What it stores at its own loops. */
static bool lower_outputs(Sched *s, Lower *l, const Draft *x, UOp **store, int *n) {
  lower_begin(l, s->ctx, sched_policy, s, s->decided);
  s->copying = x->copy;
  s->draft = x->absorbed ? x : NULL;
  *n = 0;
  bool ok = store != NULL;
  for (int o = 0; ok && o < x->nout; o++) ok = vec_push(ctx_base(s->ctx), &l->param, x->target[o]);
  for (int o = 0; ok && o < x->nout; o++) {
    if (x->by_edge[o]) continue;
    UOp *node = x->copy ? uop_contiguous(x->out[o]->node, 0) : x->out[o]->node;
    store[*n] = !node          ? NULL
                : x->part >= 0 ? lower_store_part(l, node, x->part, x->target[o])
                               : lower_store(l, node, x->target[o], x->copy ? NULL : x->out[o]->split);
    ok = store[(*n)++] != NULL;
  }
  return ok;
}

bool lower_kernel(Sched *s, Lower *l, const Draft *x, UOp **store) {
  int n;
  bool ok = lower_outputs(s, l, x, store, &n);
  for (int o = 0; ok && o < x->nout; o++) {
    if (!x->by_edge[o]) continue;
    store[n] = lower_store_by_edge(l, x->out[o]->node, x->target[o], n, store);
    ok = store[n++] || base_fail(ctx_base(s->ctx), POLY_ERROR_RUNTIME, "internal: no edge to store at");
  }
  s->draft = NULL;
  s->copying = false;
  return ok;
}
