/* check.c: what holds of every plan before it may run: each item reads what was written before it, each output of an
 * item is written, all of it, and so is each result. In: a schedule and its kernels. Out: true, or an error that names
 * the kernel, which is then taken down among the schedule's limits. Always on: it costs a pass over the instructions of
 * a plan that is built once, and without it a mistake of the compiler would be uninitialised memory in a result. */
#include "engine/engine.h"

typedef struct Check {
  PolyContext *ctx;
  Arena *arena;
  ScheduleLimits *limits;
  const Lowered *l;
  UOp **count;       /* for each slot: how many of its elements were written so far; NULL: none */
  bool *overwritten; /* for each input: its old contents are gone */
} Check;

static bool wrong(Check *c, const Item *it, const char *name, const char *what, int slot) {
  char shape[256];
  const Slot *s = &c->l->schedule.slot[slot];
  if (it && it->kind == ITEM_KERNEL) schedule_blame(c->ctx, c->limits, it->nout, it->made);
  return base_fail(ctx_base(c->ctx), POLY_ERROR_RUNTIME, "internal: %s %s %s %s (%s)", name, what,
                   dtype_name((PolyDType)s->node->dtype), shape_text(s->node, shape, sizeof shape), s->why);
}

/* Equal sizes have equal forms; of those whose forms may differ, the bounds are compared. */
static bool same_size(const UOp *a, const UOp *b) {
  return a == b || (a->op != OP_CONST && b->op != OP_CONST && a->vmin == b->vmin && a->vmax == b->vmax);
}

/* Of a slot: how many are to be written. */
static UOp *whole(const Slot *s) { return s->pitch ? uop_numel(s->node) : s->numel; }

static bool complete(const Check *c, int slot) {
  const Slot *s = &c->l->schedule.slot[slot];
  if (s->kind == SLOT_INPUT || s->kind == SLOT_TILE || s->copies || uop_numel_max(s->node) == 0) return true;
  return c->count[slot] && same_size(c->count[slot], whole(s));
}

/* ---- kernels ---- */

/* How often a STORE runs. From inside a loop over the edges of each row, it runs once for each edge. */
static UOp *store_count(PolyContext *ctx, const UOp *store, UOp *numel) {
  UOp *n = uop_index(ctx, 1);
  for (int i = 3; i < store->nsrc; i++) {
    const UOp *r = store->src[i];
    if (r->src[0]->op != OP_CONST) return numel; /* bounds that are loaded */
    n = int_mul(n, int_sub(r->src[1], r->src[0]));
  }
  return n;
}

/* How often the instructions of a kernel store into a parameter; -1: that depends on what is known when it runs. Gated:
 * that is the most, since iterations that fill up a group store nothing. */
static int64_t stores_into(const Linear *lin, int param, bool *gated) {
  int64_t trips[64], all = 0; /* of the loops so far, -1: unknown */
  int depth = 0;
  trips[0] = 1;
  for (int i = 0; i < lin->ninst; i++) {
    const Inst *in = &lin->inst[i];
    if (in->kind == INST_END) depth--;
    if (in->kind == INST_STORE && in->param == param) {
      if (trips[depth] < 0) return -1;
      *gated |= in->src[2] >= 0;
      all += trips[depth];
    }
    if (in->kind != INST_LOOP) continue;
    if (depth + 1 == LEN(trips)) return -1;
    const Inst *begin = &lin->inst[in->src[0]], *end = &lin->inst[in->src[1]];
    bool known = trips[depth] >= 0 && begin->kind == INST_CONST && end->kind == INST_CONST;
    trips[depth + 1] = known ? trips[depth] * (end->arg.i - begin->arg.i) : -1;
    depth++;
  }
  return all;
}

/* Does a load of what a kernel itself stores stand before the store? */
static bool loads_before_store(const Linear *lin, int param) {
  for (int i = 0; i < lin->ninst; i++) {
    const Inst *in = &lin->inst[i];
    if (in->kind == INST_STORE && in->param == param) return false;
    if (in->kind == INST_LOAD && in->param == param) return true;
  }
  return false;
}

static bool verify_all(Check *c, const Linear *lin) {
  for (; lin; lin = lin->also)
    if (!linear_verify(c->ctx, lin)) return false;
  return true;
}

static bool check_kernel(Check *c, const Item *it, const Linear *lin) {
  const Schedule *s = &c->l->schedule;
  if (!verify_all(c, lin)) {
    schedule_blame(c->ctx, c->limits, it->nout, it->made);
    return false;
  }
  for (int i = 0; i < it->nout; i++) {
    int param = (int)it->store[i]->src[0]->arg.i, slot = it->arg[param];
    UOp *count = store_count(c->ctx, it->store[i], whole(&s->slot[slot]));
    if (!count) return false;
    bool gated = false;
    int64_t runs = param < lin->nparam && lin->param[param].written ? stores_into(lin, param, &gated) : 0;
    bool fits = runs < 0 || count->op != OP_CONST || runs == count->arg.i || (gated && runs > count->arg.i);
    if (runs == 0 && count->vmax > 0) return wrong(c, it, lin->name, "does not write", slot);
    if (!fits) return wrong(c, it, lin->name, "writes another number of elements than it has to", slot);
    bool first = s->slot[slot].kind == SLOT_INPUT || !c->count[slot];
    if (s->slot[slot].kind != SLOT_INPUT && first && loads_before_store(lin, param))
      return wrong(c, it, lin->name, "reads before it has written", slot);
    if (s->slot[slot].kind == SLOT_INPUT && overwrites_early(ctx_base(c->ctx), it->nout, it->store, param))
      return wrong(c, it, lin->name, "overwrites before it has read", slot);
    c->count[slot] = first ? count : int_add(c->count[slot], count); /* a kernel for each part of a CAT */
  }
  return true;
}

/* ---- items ---- */

static bool reads(const Item *it, const Linear *lin, int k) {
  return it->kind != ITEM_KERNEL ? k >= it->nout : k < lin->nparam && lin->param[k].read;
}

static bool check_reads(Check *c, const Item *it, const Linear *lin, const char *name) {
  for (int k = it->nout; k < it->narg; k++) {
    if (!reads(it, lin, k)) continue;
    if (c->overwritten[it->arg[k]]) return wrong(c, it, name, "reads what has been overwritten:", it->arg[k]);
    if (!complete(c, it->arg[k])) return wrong(c, it, name, "reads what has not been written:", it->arg[k]);
  }
  return true;
}

/* Its schedules write all that they have to at each step. */
static bool check_loop(Check *c, const Loop *l, const Lowered *first, const Lowered *body) {
  return plan_check(c->ctx, c->arena, c->limits, l->ncarry, first) &&
         plan_check(c->ctx, c->arena, c->limits, l->ncarry + l->nstack, body);
}

/* Of a composite item, that its kernels are legal and write what they have to: that tiles cover all edges and rows is
 * the business of tiles.c. */
static bool check_tiles(Check *c, const Item *it) {
  const TilesItem *t = it->tiles;
  for (int k = t->first; k < t->first + t->nitem + t->nfinish; k++) {
    const Item *sub = &c->l->schedule.sub[k];
    const Linear *lin = &c->l->item[c->l->schedule.nitem + k];
    bool legal = sub->kind != ITEM_KERNEL || verify_all(c, lin);
    bool writes = true;
    for (int o = 0; sub->kind == ITEM_KERNEL && o < sub->nout; o++) writes &= o < lin->nparam && lin->param[o].written;
    if (legal && writes) continue;
    schedule_keep_whole(c->ctx, c->limits, t->nproduct, t->product);
    return legal ? wrong(c, NULL, lin->name, "does not write", sub->arg[0]) : false;
  }
  return true;
}

static bool check_item(Check *c, int i) {
  const Item *it = &c->l->schedule.item[i];
  const Linear *lin = &c->l->item[i];
  const char *name = it->kind == ITEM_KERNEL   ? lin->name
                     : it->kind == ITEM_MATMUL ? "matmul"
                     : it->kind == ITEM_LOOP   ? "loop"
                     : it->kind == ITEM_TILES  ? "tiles"
                                               : it->node->arg.name;
  if (!check_reads(c, it, lin, name)) return false;
  for (int o = 0; it->kind != ITEM_KERNEL && o < it->nout; o++)
    c->count[it->arg[o]] = c->l->schedule.slot[it->arg[o]].numel;
  if (it->kind == ITEM_LOOP && !check_loop(c, it->loop, c->l->first[i], c->l->body[i])) return false;
  if (it->kind == ITEM_TILES && !check_tiles(c, it)) return false;
  if (it->kind == ITEM_KERNEL && !check_kernel(c, it, lin)) return false;
  for (int o = 0; o < it->nout; o++) {
    const Slot *out = &c->l->schedule.slot[it->arg[o]];
    if (out->kind != SLOT_INPUT) continue;
    c->overwritten[it->arg[o]] = true;
    if (!same_size(c->count[it->arg[o]], out->numel)) return wrong(c, it, name, "writes a part of", it->arg[o]);
  }
  return true;
}

bool plan_check(PolyContext *ctx, Arena *arena, ScheduleLimits *limits, int nroot, const Lowered *l) {
  size_t n = (size_t)l->schedule.nslot + 1;
  Check c = {.ctx = ctx, .arena = arena, .limits = limits, .l = l};
  c.count = arena_new(arena, n * sizeof *c.count);
  c.overwritten = arena_new(arena, n * sizeof *c.overwritten);
  if (!c.count || !c.overwritten) return false;
  for (int i = 0; i < l->schedule.nitem; i++)
    if (!check_item(&c, i)) return false;
  for (int r = 0; r < nroot; r++)
    if (!complete(&c, l->schedule.root_slot[r]))
      return wrong(&c, NULL, "a plan", "does not write", l->schedule.root_slot[r]);
  return true;
}
