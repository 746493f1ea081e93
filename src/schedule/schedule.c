/* schedule.c: the driver. Roots are stored; lowering each stored node finds what else must be; when nothing new turns
 * up, kernels of equal loops that share inputs are joined, every kernel is lowered once more against the final set, and
 * the items are ordered so that values are made before they are read and old contents are read before an assignment
 * overwrites them. */
#include "schedule/plan_nodes.h"

#include "ir/context.h"
#include "schedule/split.h"

#include <string.h>

enum { MAX_OUTPUTS = 8, JOIN_WINDOW = 64 };

/* An item in the making. */
typedef struct Draft {
  StoreKind kind;
  int nout;
  NodeInfo *out[MAX_OUTPUTS];
  int target[MAX_OUTPUTS]; /* slot that it writes */
  VEC(int) reads;          /* slots */
  VEC(int) after;          /* drafts that must come first: the first `ndata` make what it reads, */
  int ndata;               /* the others still read what it overwrites */
  int part;                /* of a CAT, each of which is a kernel; -1: all of it */
  int next_part;           /* draft of the next part, -1: none */
  bool copy;               /* copies the value of a root ASSIGN out of a temporary */
  bool dead;
} Draft;

typedef struct Drafts {
  VEC(Draft *) at;
  Map writer; /* slot of a temporary -> draft */
} Drafts;

/* Operands that a routine reads from memory as they are. */
static bool store_operand(Sched *s, UOp *u, const char *why) {
  if (sched_slot_of(s, u) >= 0) return true;
  return ctx_base(s->ctx)->code == POLY_OK && sched_store(s, u, STORE_KERNEL, why);
}

static bool lower_part(Sched *s, Lower *l, NodeInfo *n, int part, UOp **store) {
  lower_begin(l, s->ctx, s->arena, sched_policy, s, s->settled);
  s->domain = part < 0 ? n->node : n->node->src[part];
  s->kernel++;
  *store = part < 0 ? lower_store(l, n->node, n->slot) : lower_store_part(l, n->node, part, n->slot);
  return *store != NULL;
}

static bool lower_one(Sched *s, Lower *l, NodeInfo *n, UOp **store) { return lower_part(s, l, n, -1, store); }

/* Everything that storing n needs in memory gets stored too. */
static bool settle(Sched *s, NodeInfo *n) {
  UOp *u = n->node, *store;
  if (n->kind == STORE_MATMUL)
    return store_operand(s, n->operand[0], "operand of a matrix product") &&
           store_operand(s, n->operand[1], "operand of a matrix product");
  if (n->kind == STORE_LIBRARY) {
    for (int i = 0; i < uop_nvalue(u); i++)
      if (!store_operand(s, u->src[i], "operand of a library routine")) return false;
    return true;
  }
  bool ok = true;
  int nkernel = u->op == OP_CAT ? u->nsrc : 1;
  for (int k = 0; ok && k < nkernel; k++) {
    Lower l;
    ok = lower_part(s, &l, n, u->op == OP_CAT ? k : -1, &store);
    lower_end(&l);
  }
  return ok;
}

static bool settle_all(Sched *s) {
  int done = 0;
  for (bool changed = true; changed;) {
    for (; done < s->work.n; done++)
      if (!settle(s, s->info.at[s->work.at[done]])) return false;
    if (!sched_store_repeated(s, &changed)) return false;
  }
  return true;
}

/* ---- drafts: who reads and writes what ---- */

static Draft *new_draft(Sched *s, Drafts *d, NodeInfo *n) {
  Draft *x = arena_new(s->arena, sizeof *x);
  if (!x || !vec_push(ctx_base(s->ctx), &d->at, x)) return NULL;
  *x = (Draft){.kind = n->kind, .nout = 1, .part = -1, .next_part = -1};
  x->out[0] = n;
  x->target[0] = n->slot;
  return x;
}

static bool reads_slot(const Draft *x, int slot) {
  for (int i = 0; i < x->reads.n; i++)
    if (x->reads.at[i] == slot) return true;
  return false;
}

static bool add_read(Sched *s, Draft *x, int slot) {
  return reads_slot(x, slot) || vec_push(ctx_base(s->ctx), &x->reads, slot);
}

/* Does the kernel read the buffer that it is to overwrite anywhere but at the place it writes? */
static bool reads_elsewhere(UOp *store, int64_t param, UOp *u, Map *seen, Base *b) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return false;
  if (!map_put(b, seen, (uint64_t)(uintptr_t)u, 1)) return true;
  if (u->op == OP_LOAD && u->src[0]->arg.i == param && u->src[1] != store->src[2]) return true;
  for (int i = 0; i < u->nsrc; i++)
    if (reads_elsewhere(store, param, u->src[i], seen, b)) return true;
  return false;
}

/* Lowers the draft's kernel only to see its parameters; an ASSIGN that reads its buffer out of place gets a temporary.
 */
static bool find_reads(Sched *s, Draft *x) {
  NodeInfo *n = x->out[0];
  if (x->kind == STORE_MATMUL)
    return add_read(s, x, sched_slot_of(s, n->operand[0])) && add_read(s, x, sched_slot_of(s, n->operand[1]));
  if (x->kind == STORE_LIBRARY) {
    for (int i = 0; i < uop_nvalue(n->node); i++)
      if (!add_read(s, x, sched_slot_of(s, n->node->src[i]))) return false;
    return true;
  }
  Lower l;
  UOp *store;
  bool ok = lower_part(s, &l, n, x->part, &store);
  for (int i = 1; ok && i < l.param.n; i++) ok = add_read(s, x, l.param.at[i]);
  lower_end(&l);
  return ok;
}

/* Would n's kernel, if the buffer in `slot` were written as n is, read it anywhere but at the place it writes? Yes,
 * too, if that cannot be found out. */
static bool reads_out_of_place(Sched *s, NodeInfo *n, int slot) {
  Base *b = ctx_base(s->ctx);
  Lower l;
  UOp *store;
  bool elsewhere = !lower_one(s, &l, n, &store);
  for (int i = 0; !elsewhere && i < l.param.n; i++)
    if (l.param.at[i] == slot) {
      Map seen = {0};
      elsewhere = reads_elsewhere(store, i, store->src[1], &seen, b);
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

static bool make_drafts(Sched *s, Drafts *d) {
  for (int i = 0; i < s->work.n; i++) {
    NodeInfo *n = s->info.at[s->work.at[i]];
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

/* ---- order ---- */

/* Input slots that are overwritten -> the draft that does it. */
static bool find_overwrites(Sched *s, const Drafts *d, Map *overwriter) {
  for (int i = 0; i < d->at.n; i++)
    for (int o = 0; !d->at.at[i]->dead && o < d->at.at[i]->nout; o++) {
      int slot = d->at.at[i]->target[o];
      if (s->slot.at[slot].kind == SLOT_INPUT && !map_put(ctx_base(s->ctx), overwriter, (uint64_t)slot, (uint64_t)i))
        return false;
    }
  return true;
}

static bool add_edges(Sched *s, Drafts *d, const Map *overwriter) {
  Base *b = ctx_base(s->ctx);
  for (int i = 0; i < d->at.n; i++) d->at.at[i]->after.n = 0;
  for (int i = 0; i < d->at.n; i++) {
    Draft *x = d->at.at[i];
    if (x->dead) continue;
    for (int r = 0; r < x->reads.n; r++) {
      uint64_t w;
      if (!map_get(&d->writer, (uint64_t)x->reads.at[r], &w)) continue;
      for (int p = (int)w; p >= 0; p = d->at.at[p]->next_part)
        if (p != i && !vec_push(b, &x->after, p)) return false;
    }
    x->ndata = x->after.n;
  }
  for (int i = 0; i < d->at.n; i++)
    for (int r = 0; !d->at.at[i]->dead && r < d->at.at[i]->reads.n; r++) {
      uint64_t w;
      bool over = map_get(overwriter, (uint64_t)d->at.at[i]->reads.at[r], &w) && (int)w != i; /* old contents first */
      if (over && !vec_push(b, &d->at.at[w]->after, i)) return false;
    }
  return true;
}

static bool find_order(Sched *s, Drafts *d) {
  Map overwriter = {0};
  bool ok = find_overwrites(s, d, &overwriter) && add_edges(s, d, &overwriter);
  map_free(ctx_base(s->ctx), &overwriter);
  return ok;
}

/* Depth-first from the first draft on; order gets indices. Returns a draft on a cycle, or -1. -2: out of memory. */
static int sort_drafts(Sched *s, Drafts *d, int *order, int *norder) {
  Base *b = ctx_base(s->ctx);
  int n = d->at.n, bad = -1;
  *norder = 0;
  uint8_t *state = arena_new(s->arena, (size_t)MAX(n, 1));
  int *next = arena_new(s->arena, (size_t)MAX(n, 1) * sizeof *next);
  VEC(int) stack = {0};
  if (!state || !next) return -2;
  for (int i = 0; i < n && bad == -1; i++) {
    if (state[i] || d->at.at[i]->dead) continue;
    state[i] = 1;
    if (!vec_push(b, &stack, i)) bad = -2;
    while (stack.n && bad == -1) {
      int x = stack.at[stack.n - 1];
      if (next[x] == d->at.at[x]->after.n) {
        state[x] = 2;
        order[(*norder)++] = x;
        stack.n--;
        continue;
      }
      int y = d->at.at[x]->after.at[next[x]++];
      if (state[y] == 1) bad = y;
      if (state[y]) continue;
      state[y] = 1;
      if (!vec_push(b, &stack, y)) bad = -2;
    }
  }
  if (bad >= 0) { /* of the drafts on the cycle, name one that overwrites */
    for (int i = stack.n; i-- > 0;)
      for (int o = 0; o < d->at.at[stack.at[i]]->nout; o++)
        if (d->at.at[stack.at[i]]->target[o] != d->at.at[stack.at[i]]->out[o]->slot) bad = stack.at[i];
  }
  vec_free(b, &stack);
  return bad;
}

/* Draft x can no longer write its buffers in place: it writes temporaries. */
static bool to_temporary(Sched *s, Drafts *d, int x) {
  Draft *t = d->at.at[x];
  for (int o = 0; o < t->nout; o++)
    if (t->target[o] != t->out[o]->slot) {
      t->target[o] = t->out[o]->slot;
      if (!map_put(ctx_base(s->ctx), &d->writer, (uint64_t)t->target[o], (uint64_t)x)) return false;
    }
  return true;
}

/* Root ASSIGNs that went to a temporary are copied into their buffers at the very end. */
static bool add_copies(Sched *s, Drafts *d, IntVec *copies) {
  for (int i = 0, n = d->at.n; i < n; i++) {
    Draft *x = d->at.at[i];
    for (int o = 0; !x->dead && o < x->nout; o++) {
      if (x->out[o]->node->op != OP_ASSIGN || x->target[o] != x->out[o]->slot) continue;
      Draft *c = new_draft(s, d, x->out[o]);
      if (!c) return false;
      c->copy = true;
      c->target[0] = sched_input(s, x->out[o]->node->src[0]);
      if (c->target[0] < 0 || !add_read(s, c, x->out[o]->slot) || !vec_push(ctx_base(s->ctx), copies, d->at.n - 1))
        return false;
    }
  }
  return true;
}

/* ---- joining kernels ---- */

static bool same_loops(const Draft *a, const Draft *b) {
  if (a->part >= 0 || b->part >= 0) return false;
  return a->kind == STORE_KERNEL && b->kind == STORE_KERNEL && shape_equal(a->out[0]->node, b->out[0]->node);
}

static bool share_input(const Draft *a, const Draft *b) {
  for (int i = 0; i < a->reads.n; i++)
    if (reads_slot(b, a->reads.at[i])) return true;
  return false;
}

/* Must `to` be over before `from` begins? Positions in the order bound the search. That `from` overwrites what `to`
 * reads is no obstacle by itself: in one kernel, loads come before stores. */
static bool depends(Sched *s, const Drafts *d, const int *place, int from, int to) {
  VEC(int) stack = {0};
  Map seen = {0};
  Base *b = ctx_base(s->ctx);
  bool found = false, ok = vec_push(b, &stack, from);
  while (ok && stack.n && !found) {
    const Draft *x = d->at.at[stack.at[--stack.n]];
    for (int i = 0; ok && i < x->after.n; i++) {
      int y = x->after.at[i];
      if (y == to) found |= x != d->at.at[from] || i < x->ndata;
      if (place[y] <= place[to] || map_get(&seen, (uint64_t)y, NULL)) continue;
      ok = map_put(b, &seen, (uint64_t)y, 1) && vec_push(b, &stack, y);
    }
  }
  vec_free(b, &stack);
  map_free(b, &seen);
  return found || !ok;
}

/* Reads and outputs of b move into a. In-place writes are safe: joined kernels load before they store, at one index. */
static bool join(Sched *s, Drafts *d, int a, int b) {
  Draft *x = d->at.at[a], *y = d->at.at[b];
  for (int i = 0; i < y->reads.n; i++)
    if (!add_read(s, x, y->reads.at[i])) return false;
  for (int o = 0; o < y->nout; o++) {
    x->out[x->nout] = y->out[o];
    x->target[x->nout++] = y->target[o];
    if (y->target[o] == y->out[o]->slot && !map_put(ctx_base(s->ctx), &d->writer, (uint64_t)y->target[o], (uint64_t)a))
      return false;
  }
  y->dead = true;
  return true;
}

/* An in-place write of one and an out-of-place read of the other may not meet in one kernel: only reads at the written
 * index are known to be safe, so a draft that reads what the other overwrites joins only if it overwrites something of
 * that shape too. */
static bool write_conflict(Sched *s, const Draft *a, const Draft *b) {
  for (int o = 0; o < a->nout; o++) {
    if (s->slot.at[a->target[o]].kind != SLOT_INPUT || !reads_slot(b, a->target[o])) continue;
    for (int p = 0; p < b->nout; p++)
      if (reads_out_of_place(s, b->out[p], a->target[o])) return true;
  }
  return false;
}

static bool join_kernels(Sched *s, Drafts *d, int *order, int *norder) {
  int n = d->at.n;
  int *place = arena_new(s->arena, (size_t)MAX(n, 1) * sizeof *place);
  if (!place) return false;
  for (int i = 0; i < *norder; i++) place[order[i]] = i;
  for (int i = 0; i < *norder; i++) {
    int b = order[i];
    for (int j = i - 1, tried = 0; j >= 0 && tried < JOIN_WINDOW; j--, tried++) {
      int a = order[j];
      Draft *x = d->at.at[a], *y = d->at.at[b];
      if (x->dead || y->dead || x->nout + y->nout > MAX_OUTPUTS || !same_loops(x, y) || !share_input(x, y)) continue;
      if (depends(s, d, place, b, a) || write_conflict(s, x, y) || write_conflict(s, y, x)) continue;
      if (!join(s, d, a, b) || !find_order(s, d)) return false;
      int bad = sort_drafts(s, d, order, norder);
      if (bad != -1)
        return bad == -2
                   ? false
                   : base_fail(ctx_base(s->ctx), POLY_ERROR_RUNTIME, "internal: joined kernels wait for each other");
      for (int k = 0; k < *norder; k++) place[order[k]] = k;
      i = MAX(j - 1, -1); /* places changed: look again from here */
      break;
    }
  }
  return true;
}

/* ---- output ---- */

static bool fill_kernel(Sched *s, const Draft *x, Item *item) {
  Lower l;
  lower_begin(&l, s->ctx, s->arena, sched_policy, s, s->settled);
  s->copying = x->copy;
  item->nout = x->nout;
  item->store = arena_new(s->arena, (size_t)x->nout * sizeof(UOp *));
  bool ok = item->store != NULL;
  for (int o = 0; ok && o < x->nout; o++) ok = vec_push(ctx_base(s->ctx), &l.param, x->target[o]);
  for (int o = 0; ok && o < x->nout; o++) {
    UOp *node = x->copy ? uop_contiguous(x->out[o]->node, 0) : x->out[o]->node;
    item->store[o] = !node          ? NULL
                     : x->part >= 0 ? lower_store_part(&l, node, x->part, x->target[o])
                                    : lower_store(&l, node, x->target[o]);
    ok = item->store[o] != NULL;
  }
  item->narg = l.param.n;
  item->arg = ok ? arena_new(s->arena, (size_t)l.param.n * sizeof(int)) : NULL;
  ok = item->arg != NULL;
  if (ok) memcpy(item->arg, l.param.at, (size_t)l.param.n * sizeof(int));
  lower_end(&l);
  return ok;
}

static bool fill_item(Sched *s, const Draft *x, Item *item) {
  NodeInfo *n = x->out[0];
  *item = (Item){.kind = ITEM_KERNEL};
  if (x->kind == STORE_KERNEL || x->copy) return fill_kernel(s, x, item);
  item->kind = x->kind == STORE_MATMUL ? ITEM_MATMUL : ITEM_LIBRARY;
  int nsrc = x->kind == STORE_MATMUL ? 2 : uop_nvalue(n->node);
  item->nout = 1;
  item->narg = 1 + nsrc;
  item->node = n->node;
  item->arg = arena_new(s->arena, (size_t)item->narg * sizeof(int));
  if (!item->arg) return false;
  item->arg[0] = x->target[0];
  for (int i = 0; i < nsrc; i++)
    item->arg[1 + i] = sched_slot_of(s, x->kind == STORE_MATMUL ? n->operand[i] : n->node->src[i]);
  if (x->kind == STORE_MATMUL) {
    item->matmul = arena_new(s->arena, sizeof *item->matmul);
    if (!item->matmul) return false;
    *item->matmul = n->matmul;
  }
  return true;
}

static bool emit(Sched *s, Drafts *d, const int *order, int norder, Schedule *out) {
  out->item = arena_new(s->arena, (size_t)MAX(norder, 1) * sizeof(Item));
  if (!out->item) return false;
  for (int i = 0; i < norder; i++)
    if (!fill_item(s, d->at.at[order[i]], &out->item[out->nitem++])) return false;
  return true;
}

static bool build_items(Sched *s, Drafts *d, Schedule *out) {
  if (!make_drafts(s, d)) return false;
  int *order = arena_new(s->arena, (size_t)MAX(2 * d->at.n, 1) * sizeof(int)), norder = 0, bad;
  IntVec copies = {0};
  if (!order) return false;
  do {
    if (!find_order(s, d)) return false;
    bad = sort_drafts(s, d, order, &norder);
    if (bad == -2 || (bad >= 0 && !to_temporary(s, d, bad))) return false;
  } while (bad >= 0);
  bool ok = join_kernels(s, d, order, &norder) && add_copies(s, d, &copies);
  for (int i = 0; ok && i < copies.n; i++) order[norder++] = copies.at[i];
  vec_free(ctx_base(s->ctx), &copies);
  return ok && emit(s, d, order, norder, out);
}

/* ---- roots ---- */

static bool store_roots(Sched *s, int nroot, UOp *const *root) {
  Walk walk;
  if (!uop_walk(s->ctx, s->arena, nroot, root, NULL, NULL, &walk)) return false;
  for (int i = 0; i < walk.n; i++)
    if (walk.at[i]->op == OP_ENDPOINT && !vec_push(ctx_base(s->ctx), &s->edges, walk.at[i]->shape[0])) return false;
  for (int i = 0; i < walk.n; i++)
    if (!sched_info(s, walk.at[i])) return false;
  for (int i = 0; i < nroot; i++)
    if (root[i]->op != OP_BUFFER && !sched_store(s, sched_memory(root[i]), STORE_KERNEL, "asked for")) return false;
  return true;
}

static bool place_roots(Sched *s, int nroot, UOp *const *root, Schedule *out) {
  out->root_slot = arena_new(s->arena, (size_t)MAX(nroot, 1) * sizeof(int));
  if (!out->root_slot) return false;
  for (int i = 0; i < nroot; i++) {
    UOp *u = root[i]->op == OP_ASSIGN ? root[i]->src[0] : root[i];
    int slot = sched_slot_of(s, u);
    if (slot < 0) return base_fail(ctx_base(s->ctx), POLY_ERROR_RUNTIME, "internal: a root was not stored");
    if (s->slot.at[slot].kind == SLOT_TEMP) s->slot.at[slot].kind = SLOT_OUTPUT;
    out->root_slot[i] = slot;
  }
  return true;
}

/* Hands the slots out, without the temporaries that in-place assignments made needless. */
static bool hand_out_slots(Sched *s, int nroot, Schedule *out) {
  int *now = arena_new(s->arena, (size_t)MAX(s->slot.n, 1) * sizeof(int));
  out->slot = arena_new(s->arena, (size_t)MAX(s->slot.n, 1) * sizeof(Slot));
  if (!now || !out->slot) return false;
  for (int i = 0; i < out->nitem; i++)
    for (int k = 0; k < out->item[i].narg; k++) now[out->item[i].arg[k]] = 1;
  for (int i = 0; i < nroot; i++) now[out->root_slot[i]] = 1;
  for (int i = 0; i < s->slot.n; i++) {
    if (!now[i]) continue;
    now[i] = out->nslot;
    out->slot[out->nslot++] = s->slot.at[i];
  }
  for (int i = 0; i < out->nitem; i++)
    for (int k = 0; k < out->item[i].narg; k++) out->item[i].arg[k] = now[out->item[i].arg[k]];
  for (int i = 0; i < nroot; i++) out->root_slot[i] = now[out->root_slot[i]];
  return true;
}

static void sched_free(Sched *s, Drafts *d) {
  Base *b = ctx_base(s->ctx);
  for (int i = 0; i < d->at.n; i++) {
    vec_free(b, &d->at.at[i]->reads);
    vec_free(b, &d->at.at[i]->after);
  }
  vec_free(b, &d->at);
  map_free(b, &d->writer);
  vec_free(b, &s->info);
  vec_free(b, &s->work);
  vec_free(b, &s->slot);
  vec_free(b, &s->edges);
  map_free(b, &s->index);
  map_free(b, &s->input);
}

bool schedule_build(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, const ScheduleOptions *opt,
                    Schedule *out) {
  Sched s = {.ctx = ctx, .arena = arena, .opt = opt};
  Drafts d = {0};
  *out = (Schedule){0};
  UOp **split = arena_new(arena, (size_t)MAX(nroot, 1) * sizeof(UOp *));
  bool ok =
      split && split_reductions(ctx, arena, nroot, root, split) && store_roots(&s, nroot, split) && settle_all(&s);
  s.settled = true;
  ok = ok && build_items(&s, &d, out) && place_roots(&s, nroot, split, out) && hand_out_slots(&s, nroot, out);
  sched_free(&s, &d);
  return ok;
}

void schedule_print(Str *out, const Schedule *s) {
  static const char *const kinds[] = {"kernel", "matrix product", "library"};
  static const char *const slots[] = {"input", "output", "temporary"};
  char text[256];
  for (int i = 0; i < s->nslot; i++)
    str_fmt(out, "  slot %d: %s %s %s, %s\n", i, slots[s->slot[i].kind], dtype_name((PolyDType)s->slot[i].node->dtype),
            shape_text(s->slot[i].node, text, sizeof text), s->slot[i].why);
  for (int i = 0; i < s->nitem; i++) {
    const Item *item = &s->item[i];
    str_fmt(out, "  %s:", kinds[item->kind]);
    for (int k = 0; k < item->narg; k++) str_fmt(out, "%s%d", k == item->nout ? " <- " : " ", item->arg[k]);
    str_add(out, "\n");
  }
}
