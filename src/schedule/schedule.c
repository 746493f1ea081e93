/* schedule.c: the driver. Roots are stored; lowering each stored node finds what else must be; when nothing new turns
 * up, kernels of equal loops that share inputs are joined, every kernel is lowered once more against the final set, and
 * the items are ordered so that values are made before they are read and old contents are read before an assignment
 * overwrites them. */
#include "schedule/drafts.h"

#include "ir/context.h"
#include "ir/index.h"
#include "ir/scan.h"
#include "ir/verify.h"
#include "schedule/edge_order.h"
#include "schedule/edge_sums.h"
#include "schedule/joins.h"
#include "schedule/columns.h"
#include "schedule/maps.h"
#include "schedule/narrow.h"
#include "schedule/reduce_order.h"
#include "schedule/row_reads.h"
#include "schedule/rows.h"
#include "schedule/direct.h"
#include "schedule/split.h"
#include "schedule/tile_sums.h"
#include "schedule/tiles.h"

#include <string.h>

/* Operands that a routine reads from memory as they are. tile: of which it needs the rows of its tile alone; what
 * another routine reads as a whole must be in memory. */
static bool store_operand(Sched *s, UOp *u, const char *why, bool tile) {
  int slot = sched_slot_of(s, u);
  if (slot >= 0) {
    NodeInfo *n = tile ? NULL : sched_info(s, s->slot.at[slot].node);
    if (n) n->tile_operand = false;
    return true;
  }
  for (UOp *v = u; v->op == OP_RESHAPE || v->op == OP_CONTIGUOUS || v->op == OP_ASSIGN; v = v->src[v->op == OP_ASSIGN])
    if (v->op == OP_ASSIGN) u = v->src[1];
  if (ctx_base(s->ctx)->code != POLY_OK || !sched_store(s, u, STORE_KERNEL, why)) return false;
  NodeInfo *n = sched_info(s, u);
  n->tile_operand = tile && n->kind == STORE_KERNEL && op_elementwise((Op)u->op) && !n->over_tiles;
  return true;
}

/* Reductions of a kernel. */
static int count_loops(UOp *u, Map *seen, Base *b) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL) || !map_put(b, seen, (uint64_t)(uintptr_t)u, 1)) return 0;
  int n = u->op == OP_LOOP;
  for (int i = 0; i < u->nsrc; i++) n += count_loops(u->src[i], seen, b);
  return n;
}

/* Does an index vary with a range, other than through what is loaded? */
static bool walks(const UOp *index, const UOp *range) {
  if (index == range) return true;
  for (int i = 0; index->op != OP_LOAD && i < index->nsrc; i++)
    if (walks(index->src[i], range)) return true;
  return false;
}

/* Does a sum over edges read values of the edges, or compute functions of them? Such values are computed and stored by
 * the first loop that reads them (join.c), which a kernel of a product is not. */
static bool reads_edges(const UOp *u, const UOp *range, Map *seen, Base *b) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return false;
  if (!map_put(b, seen, (uint64_t)(uintptr_t)u, 1)) return true;
  if (u->op == OP_LOAD && dtype_is_float((PolyDType)u->dtype) && walks(u->src[1], range)) return true;
  if (op_elementwise((Op)u->op) && op_info[u->op].cost == COST_FUNCTION) return true;
  for (int i = 0; i < u->nsrc; i++)
    if (reads_edges(u->src[i], range, seen, b)) return true;
  return false;
}

/* Does a kernel add up a product and sums over the edges of a row, each by itself? Where it is computed in tiles, such
 * a sum is taken where the sums of products of its row are at hand. */
static bool adds_edges(UOp *u, const UOp **product, const UOp **edges, Map *seen, Base *b) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return true;
  if (!map_put(b, seen, (uint64_t)(uintptr_t)u, 1)) return false;
  if (u->op == OP_LOOP) {
    const UOp **kind = u->nsrc == 2 && range_is_row(u->src[1]) ? edges : product;
    if (*kind) return false;
    *kind = u;
  }
  for (int i = 0; i < u->nsrc; i++)
    if (!adds_edges(u->src[i], product, edges, seen, b)) return false;
  return true;
}

static bool is_sum_beside_edges(UOp *u, Base *b) {
  const UOp *product = NULL, *edges = NULL;
  Map seen = {0}, below = {0};
  bool fits = adds_edges(u, &product, &edges, &seen, b) && product && edges;
  fits = fits && !reads_edges(edges->src[0], edges->src[1], &below, b);
  map_free(b, &seen);
  map_free(b, &below);
  return fits;
}

/* A product is computed in tiles where its kernel has no other reduction, or a sum over edges. Another kernel that has
 * some reads the product from memory; that of the product itself reads the others. *again: it is to be lowered once
 * more. */
static bool store_product(Sched *s, NodeInfo *n, UOp *store, bool *again) {
  *again = false;
  if (!n->product && !n->tiled) return true;
  Map seen = {0};
  int loops = count_loops(store->src[1], &seen, ctx_base(s->ctx));
  map_free(ctx_base(s->ctx), &seen);
  if (loops < 2 || (n->product && loops == sched_terms(s, n))) return true;
  if (n->product && s->target->group == 1 && loops == 2 && is_sum_beside_edges(store->src[1], ctx_base(s->ctx)))
    return true;
  if (n->product) return sched_store(s, sched_store_at(n->product), STORE_KERNEL, "matrix product");
  *again = n->hold < HOLD_ONE_REDUCTION;
  n->hold = MAX(n->hold, HOLD_ONE_REDUCTION);
  return true;
}

/* Everything that storing n needs in memory gets stored too. */
static bool lower_stored(Sched *s, NodeInfo *n) {
  UOp *u = n->node, *store;
  if (n->kind == STORE_MATMUL) {
    for (int k = 0; k < 2; k++)
      if (!store_operand(s, n->operand[k], "operand of a matrix product", tiles_operand(s, n, k))) return false;
    return true;
  }
  if (n->kind == STORE_LIBRARY) {
    UOp *offset;
    for (int i = 0; i < uop_nvalue(u); i++)
      if (sched_run_of(s, u->src[i], &offset) < 0 &&
          !store_operand(s, u->src[i], "operand of a library routine", false))
        return false;
    return true;
  }
  if (n->kind == STORE_LOOP) {
    for (int i = 0; i < u->src[0]->nsrc; i++)
      if (!store_operand(s, u->src[0]->src[i], "operand of a loop", false)) return false;
    return true;
  }
  bool ok = !n->tiled || sched_store_factors(s, n);
  int nkernel = u->op == OP_CAT ? u->nsrc : 1;
  for (int k = 0; ok && k < nkernel; k++) {
    bool again = false;
    do {
      Lower l;
      ok = lower_part(s, &l, n, u->op == OP_CAT ? k : -1, &store);
      lower_end(&l);
      ok = ok && store_product(s, n, store, &again);
    } while (ok && again);
  }
  return ok;
}

/* Lowers every stored node until nothing more turns out to be worth storing. A kernel is lowered again when something
 * that it computed in place became stored. */
static bool decide_all(Sched *s) {
  for (bool changed = true; changed;) {
    for (int k; (k = sched_next_kernel(s)) >= 0;)
      if (!lower_stored(s, s->info.at[s->work.at[k]])) return false;
    if (!sched_store_repeated(s, &changed)) return false;
  }
  return true;
}

/* ---- assignments ---- */

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
/* ---- output ---- */

/* A kernel whose index was simplified may have no use for something that it was lowered with (the number of an edge,
 * where only its other end is read): that is no parameter of it. */
static bool drop_params(Sched *s, Item *item) {
  Walk walk;
  int *now = arena_new(s->arena, (size_t)(item->narg + 1) * sizeof(int)), n = item->nout, moved = 0;
  if (!now || !uop_walk(s->ctx, s->arena, item->nout, item->store, NULL, NULL, &walk)) return false;
  UOp **from = arena_new(s->arena, (size_t)(walk.n + 1) * sizeof(UOp *));
  UOp **to = arena_new(s->arena, (size_t)(walk.n + 1) * sizeof(UOp *));
  if (!from || !to) return false;
  for (int i = 0; i < walk.n; i++)
    if (walk.at[i]->op == OP_PARAM) now[walk.at[i]->arg.i] = 1;
  for (int k = item->nout; k < item->narg; k++) {
    if (!now[k]) continue;
    item->arg[n] = item->arg[k];
    now[k] = n++;
  }
  item->narg = n;
  for (int i = 0; i < walk.n; i++) {
    UOp *u = walk.at[i];
    if (u->op != OP_PARAM || u->arg.i < item->nout || now[u->arg.i] == u->arg.i) continue;
    from[moved] = u;
    to[moved] = uop_make(s->ctx, OP_PARAM, (PolyDType)u->dtype, (UArg){.i = now[u->arg.i]}, 0, NULL, 0, NULL);
    if (!to[moved++]) return false;
  }
  return !moved || uop_replace(s->ctx, s->arena, item->nout, item->store, moved, from, to, item->store);
}

static bool fill_kernel(Sched *s, const Draft *x, Item *item) {
  Lower l;
  item->nout = x->nout;
  item->store = arena_new(s->arena, (size_t)x->nout * sizeof(UOp *));
  item->made = arena_new(s->arena, (size_t)x->nout * sizeof(UOp *));
  if (!item->store || !item->made) return false;
  for (int o = 0; o < x->nout; o++) item->made[o] = x->out[o]->node;
  bool ok = lower_kernel(s, &l, x, item->store);
  if (!ok) schedule_blame(s->ctx, s->limits, x->nout, item->made);
  item->narg = l.param.n;
  item->arg = ok ? arena_new(s->arena, (size_t)l.param.n * sizeof(int)) : NULL;
  ok = item->arg != NULL;
  if (ok) memcpy(item->arg, l.param.at, (size_t)l.param.n * sizeof(int));
  lower_end(&l);
  return ok && drop_params(s, item);
}

/* A loop: its body is scheduled by itself. */
static bool fill_loop(Sched *s, const NodeInfo *n, Item *item) {
  Loop *l = loop_at(&s->loops, n->node);
  int noperand = l->closed->nsrc;
  *item = (Item){.kind = ITEM_LOOP, .nout = l->nresult, .narg = l->nresult + noperand, .loop = l};
  item->arg = arena_new(s->arena, (size_t)(item->narg + 1) * sizeof(int));
  if (!item->arg) return false;
  for (int k = 0; k < l->nresult; k++) item->arg[k] = sched_info(s, l->node[k])->slot;
  for (int k = 0; k < noperand; k++) item->arg[l->nresult + k] = sched_slot_of(s, n->node->src[0]->src[k]);
  Target whole = *s->target;
  whole.tile_bytes = 0;  /* tiles are cut by row pointers that the host reads, which the plan of a body cannot */
  whole.by_rows = false; /* the arrays for that are no operands of the loop */
  return schedule_build(s->ctx, s->arena, l->ncarry, l->copy, &whole, s->limits, &l->first) &&
         schedule_build(s->ctx, s->arena, l->ncarry + l->nstack, l->root, &whole, s->limits, &l->body);
}

static bool fill_item(Sched *s, const Draft *x, Item *item) {
  NodeInfo *n = x->out[0];
  *item = (Item){.kind = ITEM_KERNEL};
  if (x->kind == STORE_KERNEL || x->copy) return fill_kernel(s, x, item);
  if (x->kind == STORE_LOOP) return fill_loop(s, n, item);
  item->kind = x->kind == STORE_MATMUL ? ITEM_MATMUL : ITEM_LIBRARY;
  int nsrc = x->kind == STORE_MATMUL ? 2 : uop_nvalue(n->node);
  item->nout = 1;
  item->narg = 1 + nsrc;
  item->node = n->node;
  item->arg = arena_new(s->arena, (size_t)item->narg * sizeof(int));
  if (!item->arg) return false;
  item->arg[0] = x->target[0];
  item->offset = arena_new(s->arena, (size_t)(nsrc + 1) * sizeof *item->offset);
  if (!item->offset) return false;
  for (int i = 0; i < nsrc && x->kind == STORE_MATMUL; i++) item->arg[1 + i] = sched_slot_of(s, n->operand[i]);
  for (int i = 0; i < nsrc && x->kind == STORE_LIBRARY; i++)
    item->arg[1 + i] = sched_run_of(s, n->node->src[i], &item->offset[i]);
  if (x->kind == STORE_MATMUL) {
    item->matmul = arena_new(s->arena, sizeof *item->matmul);
    if (!item->matmul) return false;
    *item->matmul = n->matmul;
  }
  return true;
}

/* Which outputs may take over the memory of what their item is the last to read. */
static bool find_all_over(Sched *s, const Schedule *out) {
  int *last = arena_new(s->arena, (size_t)MAX(s->slot.n, 1) * sizeof(int));
  if (!last) return false;
  for (int i = 0; i < out->nitem; i++)
    for (int k = 0; k < out->item[i].narg; k++) last[out->item[i].arg[k]] = i;
  for (int i = 0; i < out->nitem; i++)
    if (out->item[i].kind == ITEM_KERNEL && !sched_find_over(s, &out->item[i], last, i)) return false;
  return true;
}

/* The order was made from what drafts read: an item that reads more may run too early or too late. */
static bool reads_as_drafted(Sched *s, const Drafts *d, const Draft *draft, const Item *item, int at) {
  for (int k = item->nout; k < item->narg; k++) {
    int slot = item->arg[k];
    bool made = s->slot.at[slot].kind == SLOT_INPUT || map_get(&d->writer, (uint64_t)slot, NULL);
    if (made && !reads_slot(draft, slot))
      return base_fail(ctx_base(s->ctx), POLY_ERROR_RUNTIME, "item %d: reads slot %d (%s), which the order leaves out",
                       at, slot, s->slot.at[slot].why);
  }
  return true;
}

/* Composite items keep their sub-items in one list of the schedule. */
static bool emit(Sched *s, Drafts *d, const Order *o, const IntVec *copies, Schedule *out) {
  ItemVec sub = {0};
  out->item = arena_new(s->arena, (size_t)MAX(o->n + copies->n, 1) * sizeof(Item));
  bool ok = out->item != NULL;
  for (int i = 0; ok && i < o->n + copies->n; i++) {
    const Draft *draft = d->at.at[i < o->n ? o->at[i] : copies->at[i - o->n]];
    Item *item = &out->item[out->nitem++];
    ok = draft->tiles ? tiles_fill(s, draft, item, &sub) : fill_item(s, draft, item);
    if (ok && s->ctx->verify) ok = verify_result(s->ctx, "the schedule", reads_as_drafted(s, d, draft, item, i));
  }
  out->nsub = sub.n;
  out->sub = ok ? arena_new(s->arena, (size_t)(sub.n + 1) * sizeof(Item)) : NULL;
  if (out->sub && sub.n) memcpy(out->sub, sub.at, (size_t)sub.n * sizeof(Item));
  vec_free(ctx_base(s->ctx), &sub);
  return out->sub != NULL;
}

static bool build_items(Sched *s, Drafts *d, Schedule *out) {
  Order o;
  int bad;
  if (!make_drafts(s, d) || !tiles_form(s, d)) return false;
  if (s->retry) return true;
  do {
    if (!find_order(s, d)) return false;
    bad = sort_drafts(s, d, &o);
    if (bad == -2 || (bad >= 0 && !to_temporary(s, d, bad))) return false;
  } while (bad >= 0);
  IntVec copies = {0};
  bool ok =
      join_kernels(s, d, &o) && order_for_memory(s, d, &o) && add_copies(s, d, &copies) && emit(s, d, &o, &copies, out);
  vec_free(ctx_base(s->ctx), &copies);
  return ok;
}

/* ---- roots ---- */

static bool add_size(Sched *s, SizeVec *sizes, UOp *size) {
  for (int i = 0; i < sizes->n; i++)
    if (sizes->at[i] == size) return true;
  return vec_push(ctx_base(s->ctx), sizes, size);
}

static bool find_edges(Sched *s, const Walk *walk) {
  for (int i = 0; i < walk->n; i++) {
    const UOp *u = walk->at[i];
    if (u->op == OP_ENDPOINT && !add_size(s, &s->edges, u->shape[0])) return false;
    if (u->op == OP_SEGMENT && !add_size(s, &s->segments, u->src[0]->shape[0])) return false;
  }
  return true;
}

static bool store_roots(Sched *s, int nroot, UOp *const *root) {
  Walk walk;
  if (!uop_walk(s->ctx, s->arena, nroot, root, NULL, NULL, &walk)) return false;
  if (!find_edges(s, &walk) || !sched_measure(s, &walk)) return false;
  for (int i = 0; i < nroot; i++)
    if (root[i]->op != OP_BUFFER) {
      UOp *memory = sched_memory(root[i]);
      if (!sched_store(s, memory, STORE_KERNEL, "asked for")) return false;
      sched_info(s, memory)->root = true;
    }
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
  for (int i = 0; i < out->nsub; i++)
    for (int k = 0; k < out->sub[i].narg; k++) now[out->sub[i].arg[k]] = 1;
  for (int i = 0; i < nroot; i++) now[out->root_slot[i]] = 1;
  for (int i = 0; i < s->slot.n; i++) {
    if (!now[i]) continue;
    now[i] = out->nslot;
    out->slot[out->nslot++] = s->slot.at[i];
  }
  for (int i = 0; i < out->nitem; i++)
    for (int k = 0; k < out->item[i].narg; k++) out->item[i].arg[k] = now[out->item[i].arg[k]];
  for (int i = 0; i < out->nsub; i++)
    for (int k = 0; k < out->sub[i].narg; k++) out->sub[i].arg[k] = now[out->sub[i].arg[k]];
  for (int i = 0; i < out->nitem; i++)
    if (out->item[i].tiles && out->item[i].tiles->rowptr >= 0)
      out->item[i].tiles->rowptr = now[out->item[i].tiles->rowptr];
  for (int i = 0; i < nroot; i++) out->root_slot[i] = now[out->root_slot[i]];
  return true;
}

static void sched_free(Sched *s, Drafts *d) {
  Base *b = ctx_base(s->ctx);
  for (int i = 0; i < d->at.n; i++) {
    vec_free(b, &d->at.at[i]->reads);
    vec_free(b, &d->at.at[i]->needs);
    vec_free(b, &d->at.at[i]->waits);
    tiles_free(b, d->at.at[i]);
  }
  vec_free(b, &d->at);
  map_free(b, &d->writer);
  vec_free(b, &s->info);
  vec_free(b, &s->work);
  for (int i = 0; i < s->trial.n; i++) vec_free(b, &s->trial.at[i].inlined);
  vec_free(b, &s->trial);
  vec_free(b, &s->queue);
  vec_free(b, &s->segments);
  vec_free(b, &s->slot);
  vec_free(b, &s->edges);
  vec_free(b, &s->loops);
  map_free(b, &s->index);
  map_free(b, &s->input);
}

/* Operands of a loop may have been rewritten since it was closed: its results are those of the program. */
static bool number_loops(Sched *s, int nroot, UOp *const *root) {
  Walk walk;
  if (!s->loops.n) return true;
  if (!uop_walk(s->ctx, s->arena, nroot, root, NULL, NULL, &walk)) return false;
  for (int i = 0; i < walk.n; i++)
    if (walk.at[i]->op == OP_CLOSED) s->loops.at[walk.at[i]->arg.i]->closed = walk.at[i];
  for (int k = 0; k < s->loops.n; k++)
    for (int r = 0; r < s->loops.at[k]->nresult; r++) {
      Loop *l = s->loops.at[k];
      if (!(l->node[r] = uop_with_sources(l->node[r], &l->closed))) return false;
    }
  return true;
}

/* Reductions over tiles of edges have pieces of their own. */
static bool find_tile_sums(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, const Target *target,
                           ScheduleLimits *limits, Map *sums) {
  Sched s = {.ctx = ctx, .arena = arena, .target = target, .limits = limits};
  Drafts none = {0};
  Walk walk;
  bool ok = uop_walk(ctx, arena, nroot, root, NULL, NULL, &walk) && find_edges(&s, &walk);
  for (int i = 0; ok && s.edges.n && i < walk.n; i++) ok = sched_info(&s, walk.at[i]) != NULL;
  if (ok) tiles_keep_products(&s, &walk);
  for (int i = 0; ok && s.edges.n && i < walk.n; i++) tiles_measure(&s, sched_info(&s, walk.at[i]));
  if (ok) tiles_find_sums(&s, &walk);
  for (int i = 0; ok && i < s.info.n; i++) {
    const NodeInfo *n = s.info.at[i];
    /* rows that join the tiles of an operand are to sum it as it is */
    bool apart = n->by_tiles || (n->sums_tiles && !(n->sums_operand && n->node->op == OP_SEGMENT));
    ok = !apart || map_put(ctx_base(ctx), sums, (uint64_t)(uintptr_t)n->node, 1);
  }
  sched_free(&s, &none);
  return ok;
}

/* Short linear maps of edges as groups of threads want them: their weights in another order, their gradients by
 * columns.
 */
static bool shape_maps(PolyContext *ctx, Arena *arena, int nroot, UOp **root, const Target *target,
                       ScheduleLimits *limits) {
  Sched s = {.ctx = ctx, .arena = arena, .target = target, .limits = limits};
  Drafts none = {0};
  Walk walk;
  bool ok = uop_walk(ctx, arena, nroot, root, NULL, NULL, &walk) && find_edges(&s, &walk) &&
            maps_order_weights(&s, nroot, root) && uop_walk(ctx, arena, nroot, root, NULL, NULL, &walk);
  for (int i = 0; ok && s.edges.n && i < walk.n; i++) ok = sched_info(&s, walk.at[i]) != NULL;
  for (int i = 0; ok && s.edges.n && i < walk.n; i++) tiles_measure(&s, sched_info(&s, walk.at[i]));
  ok = ok && columns_apart(&s, nroot, root);
  sched_free(&s, &none);
  return ok;
}

/* retry: what the limits say has changed. */
static bool build_once(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, const Target *target,
                       ScheduleLimits *limits, Schedule *out, bool *retry) {
  Sched s = {.ctx = ctx, .arena = arena, .target = target, .limits = limits};
  Drafts d = {0};
  Map sums = {0};
  *out = (Schedule){0};
  UOp **split = arena_new(arena, (size_t)MAX(nroot, 1) * sizeof(UOp *));
  UOp **closed = arena_new(arena, (size_t)MAX(nroot, 1) * sizeof(UOp *));
  bool ok = split && closed && loops_close(ctx, arena, nroot, root, &s.loops, closed) &&
            scatter_directly(ctx, target, nroot, closed) && reduce_by_memory(ctx, nroot, closed) &&
            (target->group <= 1 || shape_maps(ctx, arena, nroot, closed, target, limits)) &&
            find_tile_sums(ctx, arena, nroot, closed, target, limits, &sums) &&
            (!sums.n || (tile_sums_rewrite(ctx, &sums, nroot, closed) &&
                         find_tile_sums(ctx, arena, nroot, closed, target, limits, &sums))) &&
            split_reductions(ctx, target, &sums, nroot, closed, split) && number_loops(&s, nroot, split) &&
            store_roots(&s, nroot, split) && decide_all(&s);
  s.decided = true;
  ok = ok && build_items(&s, &d, out);
  *retry = ok && s.retry;
  ok = ok && (s.retry || (place_roots(&s, nroot, split, out) && pitch_rows(&s, out) && find_all_over(&s, out) &&
                          hand_out_slots(&s, nroot, out)));
  map_free(ctx_base(ctx), &sums);
  sched_free(&s, &d);
  return ok;
}

bool schedule_build(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, const Target *target,
                    ScheduleLimits *limits, Schedule *out) {
  UOp **tiled = arena_new(arena, (size_t)MAX(nroot, 1) * sizeof(UOp *));
  if (!tiled) return false;
  for (int i = 0; i < nroot; i++) tiled[i] = root[i];
  bool ok = joins_flatten(ctx, arena, target, nroot, tiled) &&
            (!target->by_rows || edges_by_rows(ctx, arena, nroot, tiled)) && narrow_sums(ctx, arena, nroot, tiled) &&
            edge_sums_by_rows(ctx, arena, target, nroot, tiled) && row_reads_merge(ctx, arena, nroot, tiled) &&
            rows_in_tiles(ctx, arena, target, nroot, tiled),
       retry = ok;
  while (ok && retry) ok = build_once(ctx, arena, nroot, tiled, target, limits, out, &retry);
  return ok;
}

static void print_item(Str *out, const Item *item, const char *before) {
  static const char *const kinds[] = {"kernel", "matrix product", "library", "loop", "tiles"};
  str_fmt(out, "  %s%s", before, kinds[item->kind]);
  if (item->tiles)
    str_fmt(out, " of %lld edges %s", (long long)item->tiles->tile,
            item->tiles->rows ? "by rows" : "in their own order");
  str_add(out, ":");
  for (int k = 0; k < item->narg; k++) str_fmt(out, "%s%d", k == item->nout ? " <- " : " ", item->arg[k]);
  str_add(out, "\n");
}

void schedule_print(Str *out, const Schedule *s) {
  static const char *const slots[] = {"input", "output", "temporary", "scratch"};
  char text[256];
  for (int i = 0; i < s->nslot; i++) {
    const Slot *slot = &s->slot[i];
    str_fmt(out, "  slot %d: %s %s %s", i, slots[slot->kind], dtype_name((PolyDType)slot->node->dtype),
            shape_text(slot->node, text, sizeof text));
    if (slot->pitch) str_fmt(out, " in rows of %lld", (long long)slot->pitch);
    str_fmt(out, ", %s\n", slot->why);
  }
  for (int i = 0; i < s->nitem; i++) {
    const Item *item = &s->item[i];
    const TilesItem *t = item->tiles;
    print_item(out, item, "");
    for (int k = 0; t && k < t->nitem + t->nfinish; k++)
      print_item(out, &s->sub[t->first + k], k < t->nitem ? "  " : "  at the end, ");
    if (item->kind != ITEM_LOOP) continue;
    str_fmt(out, "  each step of %s:\n", dim_text(item->loop->count, text, sizeof text));
    schedule_print(out, &item->loop->body);
    str_add(out, "  end of the loop\n");
  }
}
