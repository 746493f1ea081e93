/* plan.c: plans and their cache. In: a canonical program. Out: a plan that can run it on the current device: slots,
 * items in order, compiled kernels. A plan is built once and found again by its roots, which are interned: the key is a
 * list of pointers. The cache keeps the plans used last; steps hold plans of their own beyond that. */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "codegen/codegen.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "ir/verify.h"
#include "render/render.h"

/* ---- lowering: schedule and kernels, no compiler yet ---- */

/* Equal instructions make one kernel, whatever it is called and whichever variables it is given. */
static bool same_kernel(const Linear *a, const Linear *b) {
  if (a->ninst != b->ninst || a->nparam != b->nparam || a->nvar != b->nvar) return false;
  if (a->group != b->group || a->pack != b->pack || a->spread != b->spread || a->turns != b->turns) return false;
  for (int k = 0; k < a->nparam; k++) {
    const LinearParam *p = &a->param[k], *q = &b->param[k];
    if (p->dtype != q->dtype || p->written != q->written || p->read != q->read || p->local != q->local) return false;
  }
  return memcmp(a->inst, b->inst, (size_t)a->ninst * sizeof *a->inst) == 0;
}

static bool add_kernel(PolyContext *ctx, Map *seen, Lowered *l, const Linear *lin, int *place) {
  uint64_t key = hash_bytes(lin->inst, (size_t)lin->ninst * sizeof *lin->inst, 11), at;
  for (; map_get(seen, key, &at); key++)
    if (same_kernel(&l->kernel[at], lin)) {
      *place = (int)at;
      return true;
    }
  if (!map_put(ctx_base(ctx), seen, key, (uint64_t)l->nkernel)) return false;
  l->kernel[l->nkernel] = *lin;
  l->which[l->nkernel] = &l->kernel[l->nkernel];
  *place = l->nkernel++;
  return true;
}

/* Lowers the items of a schedule and those of the loops in it; all kernels go to one list. */
typedef struct Lowering {
  PolyContext *ctx;
  Arena *arena;
  ScheduleLimits *limits;
  Map seen;
  Lowered *all; /* whose list of kernels it is */
} Lowering;

static bool lower_items(Lowering *w, Lowered *l);

static Lowered *lower_inner(Lowering *w, const Schedule *s) {
  Lowered *l = arena_new(w->arena, sizeof *l);
  if (!l) return NULL;
  l->schedule = *s;
  return lower_items(w, l) ? l : NULL;
}

/* A kernel that cannot be written: of a composite item, its products are to be stored as a whole. */
static void blame(PolyContext *ctx, ScheduleLimits *limits, const Schedule *s, int i) {
  if (i < s->nitem) schedule_blame(ctx, limits, s->item[i].nout, s->item[i].made);
  for (int k = 0; i >= s->nitem && k < s->nitem; k++) {
    const TilesItem *t = s->item[k].tiles;
    bool part = t && i - s->nitem >= t->first && i - s->nitem < t->first + t->nitem + t->nfinish;
    if (part) schedule_keep_whole(ctx, limits, t->nproduct, t->product);
  }
}

/* Indices of an item's kernels in 32 bits, where its slots allow it. */
static bool narrow_kernels(const Lowering *w, const Schedule *s, const Item *it, Linear *lin) {
  const Target *target = &w->ctx->runtime->current->target;
  if (it->kind != ITEM_KERNEL || !target->narrow_index) return true;
  int64_t *most = arena_new(w->arena, (size_t)(it->narg + 1) * sizeof *most);
  for (int k = 0; most && k < it->narg; k++) {
    const Slot *slot = &s->slot[it->arg[k]];
    int64_t copies = MAX(slot->copies, 1);
    most[k] = slot->numel->vmax > INT64_MAX / copies ? INT64_MAX : slot->numel->vmax * copies;
  }
  bool ok = most != NULL;
  for (; ok && lin; lin = lin->also) ok = codegen_index32(w->arena, target, most, lin);
  return ok;
}

/* The linear kernels of the items; where several differ in numbers alone, these are arguments. Kernels that have a
 * second form, those of tiles, and kernels of loops, whose items are bound once for all turns, keep theirs. */
static bool generate(Lowering *w, Lowered *l) {
  const Target *target = &w->ctx->runtime->current->target;
  Linear **plain = arena_new(w->arena, (size_t)(l->schedule.nitem + 1) * sizeof *plain);
  int n = 0;
  if (!plain) return false;
  const Schedule *s = &l->schedule;
  for (int i = 0; i < s->nitem + s->nsub; i++) {
    const Item *it = i < s->nitem ? &s->item[i] : &s->sub[i - s->nitem];
    if (it->kind != ITEM_KERNEL) continue;
    if (!codegen_kernel(w->ctx, w->arena, it->nout, it->store, target, &l->item[i])) {
      blame(w->ctx, w->limits, s, i);
      return false;
    }
    if (i < s->nitem && !l->item[i].also) plain[n++] = &l->item[i];
  }
  if (!codegen_lift(w->ctx, w->arena, target, n, plain)) return false;
  for (int i = 0; i < s->nitem + s->nsub; i++)
    if (!narrow_kernels(w, s, i < s->nitem ? &s->item[i] : &s->sub[i - s->nitem], &l->item[i])) return false;
  return true;
}

static bool lower_items(Lowering *w, Lowered *l) {
  const Schedule *s = &l->schedule;
  size_t n = (size_t)(s->nitem + s->nsub) + 1;
  l->item = arena_new(w->arena, n * sizeof *l->item);
  l->item_kernel = arena_new(w->arena, n * sizeof *l->item_kernel);
  l->item_also = arena_new(w->arena, n * sizeof *l->item_also);
  l->first = arena_new(w->arena, n * sizeof *l->first);
  l->body = arena_new(w->arena, n * sizeof *l->body);
  if (!l->item || !l->item_kernel || !l->item_also || !l->first || !l->body || !generate(w, l)) return false;
  for (int i = 0; i < s->nitem + s->nsub; i++) {
    const Item *it = i < s->nitem ? &s->item[i] : &s->sub[i - s->nitem];
    Linear *lin = &l->item[i];
    l->item_kernel[i] = -1;
    for (int k = 0; k < MAX_ALSO; k++) l->item_also[i][k] = -1;
    if (it->kind == ITEM_KERNEL && !add_kernel(w->ctx, &w->seen, w->all, lin, &l->item_kernel[i])) return false;
    const Linear *also = it->kind == ITEM_KERNEL ? lin->also : NULL;
    for (int k = 0; also; also = also->also, k++)
      if (!add_kernel(w->ctx, &w->seen, w->all, also, &l->item_also[i][k])) return false;
    if (it->kind != ITEM_LOOP) continue;
    if (!(l->first[i] = lower_inner(w, &it->loop->first)) || !(l->body[i] = lower_inner(w, &it->loop->body)))
      return false;
  }
  return true;
}

static int count_items(const Schedule *s) {
  int n = s->nitem + s->nsub;
  for (int i = 0; i < s->nitem; i++)
    if (s->item[i].kind == ITEM_LOOP) n += count_items(&s->item[i].loop->first) + count_items(&s->item[i].loop->body);
  return n;
}

static bool lower_all(PolyContext *ctx, Arena *arena, ScheduleLimits *limits, Lowered *l) {
  size_t n = (1 + MAX_ALSO) * (size_t)count_items(&l->schedule) + 1;
  l->kernel = arena_new(arena, n * sizeof *l->kernel);
  l->which = arena_new(arena, n * sizeof *l->which);
  Lowering w = {.ctx = ctx, .arena = arena, .limits = limits, .all = l};
  bool ok = l->kernel && l->which && lower_items(&w, l);
  map_free(ctx_base(ctx), &w.seen);
  return ok;
}

/* Is it an input, or what is written to one, in another shape? */
static bool is_input(const UOp *u) {
  while (u->op == OP_RESHAPE) u = u->src[0];
  return u->op == OP_BUFFER || u->op == OP_ASSIGN;
}

/* Simplified roots. One that turns out to be the memory of an input is copied: other results do not share it. */
static UOp **plan_roots(PolyContext *ctx, Arena *arena, const Canon *c) {
  UOp **root = arena_new(arena, (size_t)(c->nroot + 1) * sizeof *root);
  if (!root) return NULL;
  memcpy(root, c->root, (size_t)c->nroot * sizeof *root);
  if (!uop_verify_pass(ctx, "canon", c->nroot, root, VERIFY_TENSOR)) return NULL;
  if (!rewrite_graphs(ctx, &random_pass, NULL, c->nroot, root)) return NULL;
  if (!rewrite_graphs(ctx, &simplify_pass, NULL, c->nroot, root)) return NULL;
  for (int r = 0; r < c->nroot; r++) {
    if (c->root[r]->op == OP_ASSIGN || !is_input(root[r])) continue;
    if (!(root[r] = uop_contiguous(root[r], 0))) return NULL;
  }
  return root;
}

/* Where the context verifies, a plan that does not pass is an error and no reason to try another schedule: the second
 * one would hide a mistake of the first. */
static bool check_plan(PolyContext *ctx, Arena *arena, ScheduleLimits *limits, int nroot, const Lowered *l) {
  bool ok = plan_check(ctx, arena, limits, nroot, l);
  return ctx->verify ? verify_result(ctx, "the compiler", ok) : ok;
}

static bool verify_schedule(PolyContext *ctx, int nroot, const Schedule *s) {
  return !ctx->verify || verify_result(ctx, "the schedule", schedule_verify(ctx, nroot, s));
}

bool plan_lower(PolyContext *ctx, Arena *arena, const Canon *c, Lowered *out) {
  ScheduleLimits limits = {0};
  ctx->illegal = false;
  UOp **root = plan_roots(ctx, arena, c);
  bool ok = false, again = root != NULL;
  while (again) {
    *out = (Lowered){0};
    ok = schedule_build(ctx, arena, c->nroot, root, &ctx->runtime->current->target, &limits, &out->schedule) &&
         verify_schedule(ctx, c->nroot, &out->schedule) && lower_all(ctx, arena, &limits, out) &&
         check_plan(ctx, arena, &limits, c->nroot, out);
    again = !ok && schedule_limit(ctx, &limits);
  }
  schedule_limits_free(ctx, &limits);
  return ok;
}

bool plan_render(PolyContext *ctx, const Lowered *l, Str *out) {
  return render_program(ctx, &ctx->runtime->current->target, l->nkernel, l->which, out) && !out->failed;
}

/* ---- building ---- */

static bool hold(Plan *p, UOp *u) {
  if (!u || !vec_push(ctx_base(p->ctx), &p->held, u)) return false;
  uop_retain(u);
  return true;
}

bool plan_hold_size(Plan *p, UOp *u) { return hold(p, u) && vec_push(ctx_base(p->ctx), &p->sizes, u); }

/* The plans of a loop: they live in the arena of the plan around them, whose program they use. */
static void free_loops(Plan *p) {
  for (int i = 0; p->item && i < p->nitem; i++) {
    if (!p->item[i].loop) continue;
    if (p->item[i].loop->first) plan_free_inner(p->item[i].loop->first);
    if (p->item[i].loop->body) plan_free_inner(p->item[i].loop->body);
  }
}

void plan_free_inner(Plan *p) {
  Base *b = ctx_base(p->ctx);
  free_loops(p);
  for (int i = 0; i < p->held.n; i++) uop_release(p->held.at[i]);
  vec_free(b, &p->held);
  vec_free(b, &p->sizes);
  arena_free(&p->arena);
}

static void plan_free(Plan *p) {
  Base *b = ctx_base(p->ctx);
  if (p->program) p->device->program_free(p->program);
  plan_free_inner(p);
  mem_free(b, p, sizeof *p);
}

void plan_release(Plan *p) {
  if (p && --p->refs == 0) plan_free(p);
}

static const char *keep_text(Plan *p, const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = arena_new(&p->arena, n);
  return copy ? memcpy(copy, text, n) : NULL;
}

/* Temporaries that begin where another one ends, in its memory. */
static void find_over(Plan *p, const Schedule *s) {
  for (int i = 0; i < s->nitem; i++) {
    const Item *it = &s->item[i];
    for (int o = 0; it->over && o < it->nout; o++) {
      PlanSlot *out = &p->slot[it->arg[o]];
      int from = it->over[o] < 0 ? -1 : it->arg[it->over[o]];
      if (from < 0 || out->kind != SLOT_TEMP || p->slot[from].kind != SLOT_TEMP) continue;
      if (out->first == i && p->slot[from].last == i) out->over = from;
    }
  }
}

static bool take_slots(Plan *p, const Schedule *s) {
  p->nslot = s->nslot;
  p->slot = arena_new(&p->arena, (size_t)(s->nslot + s->nitem + 1) * sizeof *p->slot);
  if (!p->slot) return false;
  for (int i = 0; i < s->nslot; i++) {
    const Slot *from = &s->slot[i];
    p->slot[i] = (PlanSlot){.kind = from->kind,
                            .input = from->input,
                            .node = from->node,
                            .numel = from->numel,
                            .first = s->nitem,
                            .last = -1,
                            .writer = -1,
                            .rows = from->rows,
                            .copies = from->copies,
                            .width = from->width,
                            .pitch = from->pitch,
                            .over = -1};
    p->slot[i].why = keep_text(p, from->why ? from->why : "");
    if (!p->slot[i].why || !hold(p, from->node) || !plan_hold_size(p, from->numel)) return false;
  }
  for (int i = 0; i < s->nitem; i++)
    for (int a = 0; a < s->item[i].narg; a++) {
      PlanSlot *slot = &p->slot[s->item[i].arg[a]];
      slot->first = MIN(slot->first, i);
      slot->last = MAX(slot->last, i);
      if (a < s->item[i].nout) slot->writer = i;
    }
  find_over(p, s);
  return true;
}

/* Scratch memory for the products of a composite item, behind the slots of the schedule. */
static bool take_work(Plan *p, const Schedule *s) {
  for (int i = 0; i < s->nitem; i++) {
    if (!s->item[i].tiles) continue;
    const PlanSlot *of = &p->slot[s->item[i].arg[0]];
    p->tiled = true;
    p->item[i].tiles->work = p->nslot;
    p->slot[p->nslot++] = (PlanSlot){.kind = SLOT_TILE,
                                     .node = of->node,
                                     .numel = of->numel,
                                     .why = "scratch memory of matrix products",
                                     .first = i,
                                     .last = i,
                                     .writer = -1,
                                     .over = -1};
  }
  return true;
}

static bool take_vars(Plan *p, PlanItem *it, const Linear *lin, const PlanTiles *t) {
  it->nvar = lin->nvar;
  it->var = arena_new(&p->arena, (size_t)(lin->nvar + 1) * sizeof *it->var);
  if (!it->var) return false;
  for (int k = 0; k < lin->nvar; k++) {
    int at = 0, of_tile = 0;
    if (lin->var[k]->op == OP_CONST) { /* a number that codegen_lift made an argument */
      it->var[k] = p->nvar + p->nnumber;
      p->value[p->nvar + p->nnumber++] = lin->var[k]->arg.i;
      continue;
    }
    while (at < p->nvar && p->var[at] != lin->var[k]) at++;
    while (t && of_tile < TILE_VARS && t->var[of_tile] != lin->var[k]) of_tile++;
    if (at == p->nvar && t && of_tile < TILE_VARS) at = -1 - of_tile;
    if (at == p->nvar)
      return base_fail(ctx_base(p->ctx), POLY_ERROR_RUNTIME, "internal: kernel %s needs the unknown variable %s",
                       lin->name, lin->var[k]->arg.name);
    it->var[k] = at;
  }
  return true;
}

static bool take_matmul(Plan *p, PlanItem *it, const MatmulItem *m) {
  UOp *all[] = {m->m,     m->n,        m->k,     m->a_row, m->a_col,  m->a_offset, m->b_row,
                m->b_col, m->b_offset, m->c_row, m->each,  m->a_step, m->b_step};
  for (int i = 0; i < LEN(all); i++)
    if (!plan_hold_size(p, all[i])) return false;
  for (int i = 0; i < m->nbatch; i++)
    if (!plan_hold_size(p, m->batch[i]) || !plan_hold_size(p, m->a_batch[i]) || !plan_hold_size(p, m->b_batch[i]) ||
        !plan_hold_size(p, m->c_batch[i]))
      return false;
  it->matmul = *m;
  return true;
}

static bool take_item(Plan *p, const Lowered *l, const Item *from, int i, PlanItem *it, const PlanTiles *of);

static bool kernel_checks(const Linear *lin) {
  for (; lin; lin = lin->also)
    for (int i = 0; i < lin->ninst; i++)
      if (lin->inst[i].kind == INST_CHECK) return true;
  return false;
}

static bool any_checks(const PlanItem *it, int n) {
  for (int i = 0; i < n; i++)
    if (it[i].checks) return true;
  return false;
}

static bool take_tiles(Plan *p, const Lowered *l, const TilesItem *from, PlanItem *it) {
  PlanTiles *t = it->tiles = arena_new(&p->arena, sizeof *t);
  UOp **var = arena_new(&p->arena, sizeof from->var);
  if (!t || !var) return false;
  memcpy(var, from->var, sizeof from->var);
  *t = (PlanTiles){.nitem = from->nitem,
                   .nfinish = from->nfinish,
                   .rowptr = from->rowptr,
                   .work = -1,
                   .edges = from->edges,
                   .rows = from->rows,
                   .var = var,
                   .tile = from->tile,
                   .pieces = from->pieces};
  it->name = from->rows ? "tiles_by_rows" : "tiles";
  int n = from->nitem + from->nfinish;
  t->item = arena_new(&p->arena, (size_t)(n + 1) * sizeof *t->item);
  bool ok = t->item && plan_hold_size(p, t->edges) && (!t->rows || plan_hold_size(p, t->rows));
  for (int k = 0; ok && k < TILE_VARS; k++) ok = hold(p, var[k]);
  for (int k = 0; ok && k < n; k++)
    ok = take_item(p, l, &l->schedule.sub[from->first + k], l->schedule.nitem + from->first + k, &t->item[k], t);
  it->checks = ok && any_checks(t->item, n);
  return ok;
}

static bool take_offsets(Plan *p, const Item *from, PlanItem *it) {
  int n = from->narg - from->nout;
  it->offset = arena_new(&p->arena, (size_t)(n + 1) * sizeof *it->offset);
  for (int k = 0; it->offset && k < n; k++) {
    it->offset[k] = from->offset[k];
    if (it->offset[k] && !plan_hold_size(p, it->offset[k])) return false;
  }
  return it->offset != NULL;
}

/* What a kernel of tiles does depends on the tile. What it computes for each edge is counted for all tiles together. */
static bool count_tiles(Plan *p, PlanItem *it, const PlanTiles *t) {
  UOp *flops = it->flops, *all[TILE_VARS];
  bool other = it->moved != NULL;
  it->flops = it->moved = NULL;
  for (int k = 0; k < TILE_VARS && flops && !other; k++) {
    UOp *to = k == TILE_EDGES ? t->edges : uop_index(p->ctx, 0);
    if (!to || !uop_replace(p->ctx, &p->arena, 1, &flops, 1, &t->var[k], &to, &all[k])) return false;
    other = k != TILE_EDGES && all[k] != flops;
    flops = all[k];
  }
  if (!other) it->flops = flops;
  return true;
}

/* The i-th of the items and sub-items. of: the composite item that it is a part of. */
static bool take_item(Plan *p, const Lowered *l, const Item *from, int i, PlanItem *it, const PlanTiles *of) {
  *it = (PlanItem){.kind = from->kind, .nout = from->nout, .narg = from->narg, .kernel = l->item_kernel[i]};
  memcpy(it->also, l->item_also[i], sizeof it->also);
  it->also_first = from->kind == ITEM_KERNEL && l->item[i].also_first;
  it->arg = arena_new(&p->arena, (size_t)(from->narg + 1) * sizeof *it->arg);
  if (!it->arg) return false;
  memcpy(it->arg, from->arg, (size_t)from->narg * sizeof *it->arg);
  switch (from->kind) {
  case ITEM_KERNEL:
    it->name = keep_text(p, l->item[i].name);
    it->checks = kernel_checks(&l->item[i]);
    it->flops = l->item[i].flops;
    it->moved = l->item[i].moved;
    if (of && !count_tiles(p, it, of)) return false;
    if (it->moved && !plan_hold_size(p, it->moved)) return false;
    if (of && MAX(it->narg, l->item[i].nvar) > TILE_ARGS)
      return base_fail(ctx_base(p->ctx), POLY_ERROR_RUNTIME, "internal: kernel %s of a tile has too many arguments",
                       it->name);
    return it->name && (!it->flops || plan_hold_size(p, it->flops)) && take_vars(p, it, &l->item[i], of);
  case ITEM_MATMUL: it->name = "matmul"; return take_matmul(p, it, from->matmul);
  case ITEM_LIBRARY:
    it->library = from->node;
    it->name = it->library->arg.name;
    return hold(p, it->library) && take_offsets(p, from, it);
  case ITEM_LOOP:
    it->name = "loop";
    if (!plan_take_loop(p, it, from->loop, l->first[i], l->body[i])) return false;
    it->checks = any_checks(it->loop->first->item, it->loop->first->nitem) ||
                 any_checks(it->loop->body->item, it->loop->body->nitem);
    return true;
  case ITEM_TILES: return take_tiles(p, l, from->tiles, it);
  }
  return false;
}

static int numbers_of(const Lowered *l) {
  int n = 0;
  for (int i = 0; i < l->schedule.nitem; i++)
    for (int k = 0; l->item_kernel[i] >= 0 && k < l->item[i].nvar; k++) n += l->item[i].var[k]->op == OP_CONST;
  return n;
}

static bool take_items(Plan *p, const Lowered *l) {
  int widest = 1;
  p->nitem = l->schedule.nitem;
  p->nkernel = l->nkernel;
  p->item = arena_new(&p->arena, (size_t)(p->nitem + 1) * sizeof *p->item);
  p->value = arena_new(&p->arena, (size_t)(p->nvar + numbers_of(l) + 1) * sizeof *p->value);
  if (!p->item || !p->value) return false;
  for (int i = 0; i < p->nitem; i++) {
    if (!take_item(p, l, &l->schedule.item[i], i, &p->item[i], NULL)) return false;
    PlanSlot *scratch = p->item[i].loop ? &p->slot[p->item[i].loop->scratch] : NULL;
    if (scratch) {
      scratch->first = scratch->last = i;
      scratch->loop = &p->item[i];
    }
    widest = MAX(widest, MAX(p->item[i].narg, p->item[i].nvar));
    if (p->item[i].tiles) widest = MAX(widest, TILE_ARGS);
  }
  if (!take_work(p, &l->schedule)) return false;
  p->at = arena_new(&p->arena, (size_t)(p->nslot + 1) * sizeof *p->at);
  p->args = arena_new(&p->arena, (size_t)widest * sizeof *p->args);
  p->vars = arena_new(&p->arena, (size_t)widest * sizeof *p->vars);
  p->word = arena_new(&p->arena, (size_t)(p->nslot + p->nvar + p->nitem + 1) * sizeof *p->word);
  p->loose = arena_new(&p->arena, (size_t)(p->nvar + 1) * sizeof *p->loose);
  p->bytes = arena_new(&p->arena, (size_t)widest * sizeof *p->bytes);
  p->use = arena_new(&p->arena, (size_t)widest * sizeof *p->use);
  return p->at && p->args && p->vars && p->bytes && p->use && p->word && p->loose;
}

bool plan_take(Plan *p, const Lowered *l) { return take_slots(p, &l->schedule) && take_items(p, l); }

static bool take_roots(Plan *p, const Canon *c) {
  p->nroot = c->nroot;
  p->ninput = c->ninput;
  p->nvar = c->nvar;
  p->root = arena_new(&p->arena, (size_t)(c->nroot + 1) * sizeof *p->root);
  p->root_slot = arena_new(&p->arena, (size_t)(c->nroot + 1) * sizeof *p->root_slot);
  p->var = arena_new(&p->arena, (size_t)(c->nvar + 1) * sizeof *p->var);
  if (!p->root || !p->root_slot || !p->var) return false;
  for (int r = 0; r < c->nroot; r++)
    if (!hold(p, p->root[r] = c->root[r])) return false;
  for (int k = 0; k < c->nvar; k++)
    if (!hold(p, p->var[k] = c->var[k])) return false;
  return true;
}

/* Which variables sizes depend on: others (random counters) change without moving anything. */
static bool find_size_vars(Plan *p, Arena *arena) {
  Walk w;
  p->is_size = arena_new(&p->arena, (size_t)p->nvar + 1);
  if (!p->is_size || !uop_walk(p->ctx, arena, p->sizes.n, p->sizes.at, NULL, NULL, &w)) return false;
  for (int k = 0; k < p->nvar; k++) p->is_size[k] = p->var[k]->epoch == w.epoch;
  vec_free(ctx_base(p->ctx), &p->sizes);
  return true;
}

static bool compile(Plan *p, const Lowered *l) {
  if (!l->nkernel) return true;
  Str source = {.b = ctx_base(p->ctx)};
  bool ok = !p->device->needs_source || plan_render(p->ctx, l, &source);
  if (ok) p->program = p->device->compile(p->device, source.at, l->nkernel, l->which);
  str_free(&source);
  return ok && p->program;
}

static Plan *plan_new(PolyContext *ctx, const Canon *c) {
  Base *b = ctx_base(ctx);
  Plan *p = mem_new(b, sizeof *p);
  if (!p) return NULL;
  *p = (Plan){.ctx = ctx, .device = ctx->runtime->current, .refs = 1, .arena = {.b = b}};
  Arena arena = {.b = b};
  Lowered l;
  bool ok = take_roots(p, c) && plan_lower(ctx, &arena, c, &l);
  if (ok) {
    ok = plan_take(p, &l) && find_size_vars(p, &arena) && compile(p, &l);
    memcpy(p->root_slot, l.schedule.root_slot, (size_t)c->nroot * sizeof(int));
    if (ok) debug_plan(p, &l);
  }
  arena_free(&arena);
  if (ok) return p;
  plan_free(p);
  return NULL;
}

/* ---- the cache ---- */

static uint64_t plan_hash(const Device *d, const Canon *c) {
  uint64_t seed = (uint64_t)(uintptr_t)d ^ ((uint64_t)c->ninput << 32) ^ (uint64_t)c->nvar;
  return hash_bytes(c->root, (size_t)c->nroot * sizeof *c->root, seed);
}

static bool plan_matches(const Plan *p, const Device *d, const Canon *c) {
  return p->device == d && p->nroot == c->nroot && p->ninput == c->ninput && p->nvar == c->nvar &&
         memcmp(p->root, c->root, (size_t)c->nroot * sizeof *c->root) == 0;
}

static void list_add(Engine *e, Plan *p) {
  p->newer = NULL;
  p->older = e->newest;
  if (p->older)
    p->older->newer = p;
  else
    e->oldest = p;
  e->newest = p;
}

static void list_remove(Engine *e, Plan *p) {
  if (p->newer)
    p->newer->older = p->older;
  else
    e->newest = p->older;
  if (p->older)
    p->older->newer = p->newer;
  else
    e->oldest = p->newer;
}

static void evict(Engine *e, Plan *p) {
  Plan **at = &e->bucket[p->hash % PLAN_BUCKETS];
  while (*at != p) at = &(*at)->chain;
  *at = p->chain;
  list_remove(e, p);
  e->nplan--;
  plan_release(p);
}

static void insert(Engine *e, Plan *p) {
  if (e->nplan >= PLAN_LIMIT) evict(e, e->oldest);
  Plan **at = &e->bucket[p->hash % PLAN_BUCKETS];
  p->chain = *at;
  *at = p;
  list_add(e, p);
  e->nplan++;
  p->refs++;
}

Plan *plan_find(PolyContext *ctx, const Canon *c) {
  Engine *e = ctx->engine;
  Device *d = ctx->runtime->current;
  uint64_t hash = plan_hash(d, c);
  for (Plan *p = e->bucket[hash % PLAN_BUCKETS]; p; p = p->chain) {
    if (p->hash != hash || !plan_matches(p, d, c)) continue;
    list_remove(e, p);
    list_add(e, p);
    e->plans_reused++;
    p->refs++;
    return p;
  }
  return NULL;
}

Plan *plan_get(PolyContext *ctx, const Canon *c) {
  Plan *p = plan_find(ctx, c);
  if (p || !(p = plan_new(ctx, c))) return p;
  p->hash = plan_hash(p->device, c);
  ctx->engine->plans_built++;
  insert(ctx->engine, p);
  return p;
}

/* ---- the engine of a context ---- */

bool engine_new(PolyContext *ctx) {
  Engine *e = mem_new(ctx_base(ctx), sizeof *e);
  if (!e) return false;
  e->ctx = ctx;
  ctx->runtime->render = render_program;
  e->stale = (PolyBuffer){.refs = 1, .stale = true, .borrowed = true, .runtime = ctx->runtime};
  e->ended = e->stale;
  ctx->engine = e;
  return true;
}

void engine_drop_plans(PolyContext *ctx) {
  recall_free(ctx);
  keep_free(ctx);
  forms_free(ctx);
  folded_free(ctx);
  while (ctx->engine->oldest) evict(ctx->engine, ctx->engine->oldest);
}

void engine_free(PolyContext *ctx) {
  if (!ctx->engine) return;
  profile_free(ctx);
  mem_free(ctx_base(ctx), ctx->engine, sizeof *ctx->engine);
  ctx->engine = NULL;
}
