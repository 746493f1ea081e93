/* tile_items.c: the items of composites. In: a composite draft (tiles.c). Out: its item, a sub-item for each kernel and
 * matrix product of a tile, the scratch memory between them, and what adds up the partial results at the end. */
#include "schedule/composite.h"

#include "ir/context.h"

#include <string.h>

enum {
  PARTIAL_BYTES =
      4 << 20, /* of all partial results of a sum over all edges, unless that leaves less than LEAST_PIECES */
  PART_BYTES = 512 << 10, /* of those of one tile */
  LEAST_PIECES = 16,
  /* Of a sum of products, which threads form in tiles: parts that keep the device busy, of at least this many edges,
   * and results of all of them together. */
  PRODUCT_TILE = 128,
  PRODUCT_TILES = 384,
  PRODUCT_EDGES = 128,
  PRODUCT_RESULTS = 1 << 19
};

typedef struct Fill {
  Sched *s;
  const Tiles *t;
  LowerTile tile;
  ItemVec *sub;
  TilesItem *item;
  int64_t parts; /* of a tile, for sums over all edges that are no products */
  IntVec args;   /* of the composite item, */
  IntVec local;  /* and its own slots: pairs of a slot of the schedule and what stands for it here */
  IntVec copy;   /* pairs of a slot in memory and its rows in the order of the tile, which products alone read */
} Fill;

static bool add_arg(Fill *f, int slot) {
  for (int i = 0; i < f->args.n; i++)
    if (f->args.at[i] == slot) return true;
  return vec_push(ctx_base(f->s->ctx), &f->args, slot);
}

/* A slot of this composite alone. rows: it holds a tile of the node's rows; copies: how many for each piece. */
static int own_slot(Fill *f, SlotKind kind, UOp *node, bool rows, int64_t copies, const char *why) {
  int at = sched_add_slot(f->s, kind, -1, node, why);
  if (at < 0) return -1;
  Slot *slot = &f->s->slot.at[at];
  UOp *n = uop_index(f->s->ctx, rows ? f->item->tile : copies ? f->item->pieces * copies : 1);
  slot->rows = rows ? f->item->tile : 0;
  slot->copies = f->item->pieces * copies;
  for (int i = rows ? 1 : 0; i < node->ndim; i++) n = int_mul(n, node->shape[i]);
  slot->numel = n;
  return n && add_arg(f, at) ? at : -1;
}

static int find_pair(const IntVec *pairs, int slot) {
  for (int i = 0; i < pairs->n; i += 2)
    if (pairs->at[i] == slot) return pairs->at[i + 1];
  return slot;
}

/* What stands for a slot of the schedule here. */
static int here(const Fill *f, int slot) { return find_pair(&f->local, slot); }

static bool add_pair(Fill *f, IntVec *pairs, int slot, int own) {
  Base *b = ctx_base(f->s->ctx);
  return own >= 0 && vec_push(b, pairs, slot) && vec_push(b, pairs, own);
}

static Item *new_item(Fill *f, ItemKind kind, int narg) {
  Item it = {.kind = kind, .nout = 1, .narg = narg};
  it.arg = arena_new(f->s->arena, (size_t)narg * sizeof(int));
  if (!it.arg || !vec_push(ctx_base(f->s->ctx), f->sub, it)) return NULL;
  return &f->sub->at[f->sub->n - 1];
}

/* The kernel that was lowered to `store`. */
static bool add_kernel(Fill *f, const Lower *l, int nout, UOp *const *store, UOp *const *made) {
  Arena *arena = f->s->arena;
  Item *it = new_item(f, ITEM_KERNEL, l->param.n);
  if (!it) return false;
  it->nout = nout;
  it->store = arena_new(arena, (size_t)nout * sizeof *it->store);
  it->made = arena_new(arena, (size_t)nout * sizeof *it->made);
  it->over = arena_new(arena, (size_t)nout * sizeof *it->over);
  if (!it->store || !it->made || !it->over) return false;
  for (int o = 0; o < nout; o++) {
    it->store[o] = store[o];
    it->made[o] = made[o];
    it->over[o] = -1;
  }
  for (int i = 0; i < l->param.n; i++)
    if (!add_arg(f, it->arg[i] = here(f, l->param.at[i]))) return false;
  return true;
}

static bool add_copy(Fill *f, NodeInfo *n, UOp *node, int from, int slot, bool into_tile) {
  Lower l;
  tiles_begin_lower(f->s, &l, &f->tile);
  UOp *store = lower_tile_edges(&l, node, -1, from, slot, into_tile);
  bool ok = store && add_kernel(f, &l, 1, &store, &n->node);
  tiles_end_lower(f->s, &l);
  return ok;
}

/* An operand of a product as it is read here: memory that moves along the edges is copied to the tile if the order is
 * not that of memory. *step becomes 0 if it lies in the tile. */
static int operand_slot(Fill *f, NodeInfo *n, int k, UOp **step) {
  UOp *node = n->operand[k];
  int slot = sched_slot_of(f->s, node), own = here(f, slot);
  if (uop_is_int(*step, 0) || (own == slot && !f->t->end)) return own;
  *step = uop_index(f->s->ctx, 0);
  if (own == slot) own = find_pair(&f->copy, slot); /* kernels read the memory itself, at the edges' own places */
  if (own != slot) return own;
  own = own_slot(f, SLOT_TILE, node, true, false, "operand of a matrix product");
  return own >= 0 && add_copy(f, n, node, slot, own, true) && add_pair(f, &f->copy, slot, own) ? own : -1;
}

static bool add_product(Fill *f, NodeInfo *n, int slot) {
  const MatmulItem *m = &n->matmul;
  UOp *step[2] = {m->a_step, m->b_step};
  int operand[2] = {operand_slot(f, n, 0, &step[0]), operand_slot(f, n, 1, &step[1])};
  Item *it = operand[0] < 0 || operand[1] < 0 ? NULL : new_item(f, ITEM_MATMUL, 3);
  if (!it || !(it->matmul = arena_new(f->s->arena, sizeof *m))) return false;
  *it->matmul = *m;
  it->matmul->a_step = step[0];
  it->matmul->b_step = step[1];
  it->matmul->in_place = !tiles_holds(f->s, slot);
  it->node = n->node;
  it->arg[0] = slot;
  it->arg[1] = operand[0];
  it->arg[2] = operand[1];
  return add_arg(f, slot) && add_arg(f, operand[0]) && add_arg(f, operand[1]);
}

/* Parts of a tile that have a result each of a sum over all edges. */
static int64_t parts_of(const Fill *f, const NodeInfo *n) {
  if (!tiles_keeps_parts(n)) return 1;
  if (!n->tiled) return f->parts;
  int64_t rows = n->matmul.m->vmax, cols = n->matmul.n->vmax, results = uop_numel_max(n->node);
  int64_t tiles = ((rows + PRODUCT_TILE - 1) / PRODUCT_TILE) * ((cols + PRODUCT_TILE - 1) / PRODUCT_TILE);
  int64_t parts = MAX(PRODUCT_TILES / tiles, PRODUCT_RESULTS / results);
  return MAX(MIN(parts, f->t->edges->vmax / PRODUCT_EDGES), 1);
}

/* The slots that a node is stored to. */
static bool begin_node(Fill *f, NodeInfo *n, int target, Recipe *r) {
  UOp *u = n->node;
  *r = (Recipe){n, target, target, target};
  if (n->tile) {
    r->slot = own_slot(f, SLOT_TILE, u, true, false, "value of a tile of edges");
    if (!add_pair(f, &f->local, n->slot, r->slot)) return false;
  }
  int64_t parts = parts_of(f, n);
  if (tiles_sums_edges(n)) r->partial = own_slot(f, SLOT_TEMP, u, false, parts, "partial result of each piece");
  if (n->kind == STORE_MATMUL) {
    /* into memory by a kernel, where edges are in another order, or a sum is continued */
    bool apart = !n->tile && (f->t->end || tiles_sums_edges(n));
    r->product = apart ? own_slot(f, SLOT_TILE, u, !tiles_sums_edges(n), false, "product of a tile of edges") : r->slot;
  }
  return r->slot >= 0 && r->partial >= 0 && r->product >= 0;
}

static int written_slot(const Recipe *r) { return tiles_sums_edges(r->n) ? r->partial : r->slot; }

/* The k-th kernels of several nodes as one. None: nodes take no more. */
static bool add_kernels(Fill *f, int n, const Recipe *r, int k, bool *none) {
  Base *b = ctx_base(f->s->ctx);
  f->tile.parts = parts_of(f, r[0].n);
  UOp *store[MAX_OUTPUTS], *made[MAX_OUTPUTS];
  bool ok = true;
  Lower l;
  *none = false;
  tiles_begin_lower(f->s, &l, &f->tile);
  for (int o = 0; ok && o < n; o++) {
    made[o] = r[o].n->node;
    ok = vec_push(b, &l.param, written_slot(&r[o]));
  }
  for (int o = 0; ok && !*none && o < n; o++) {
    store[o] = tiles_lower_nth(&l, &r[o], k);
    *none = !store[o] && b->code == POLY_OK;
    ok = store[o] || *none;
  }
  ok = ok && (*none || add_kernel(f, &l, n, store, made));
  tiles_end_lower(f->s, &l);
  return ok;
}

/* The sub-items that compute nodes of one kernel. */
static bool add_nodes(Fill *f, int n, const Recipe *r) {
  if (r[0].n->kind == STORE_MATMUL && !add_product(f, r[0].n, r[0].product)) return false;
  bool none = false;
  for (int k = 0; !none; k++)
    if (!add_kernels(f, n, r, k, &none)) return false;
  return true;
}

/* Could both be stored by one kernel, as far as their loops go? */
static bool same_tile_loops(const NodeInfo *a, const NodeInfo *b) {
  const UOp *u = a->node, *v = b->node;
  if (a->kind != STORE_KERNEL || b->kind != STORE_KERNEL || a->tile != b->tile || !shape_equal(u, v)) return false;
  if (u->op == OP_CAT || v->op == OP_CAT || tiles_sums_edges(a) != tiles_sums_edges(b)) return false;
  if (a->tiled || b->tiled || a->product || b->product) return false;
  bool again = a->tiled_again || b->tiled_again;
  if (again && !(a->tiled_again && b->tiled_again && a->composites && a->composites == b->composites)) return false;
  if (tiles_sums_edges(a) && (u->arg.j != v->arg.j || !shape_equal(u->src[0], v->src[0]))) return false;
  return (u->op == OP_SEGMENT) == (v->op == OP_SEGMENT);
}

/* Is all that n needs of the tile there already? */
static bool is_ready(Fill *f, NodeInfo *n) {
  IntVec reads = {0};
  bool ready = tiles_reads(f->s, n, &f->tile, &reads);
  for (int i = 0; ready && i < reads.n; i++)
    ready = !tiles_holds(f->s, reads.at[i]) || here(f, reads.at[i]) != reads.at[i];
  vec_free(ctx_base(f->s->ctx), &reads);
  return ready;
}

/* Sub-items for nodes, sources first, those that can share a kernel together. targets: NULL for values of the tile;
 * partial: where sums over all edges leave the copies of each piece. */
static bool add_all(Fill *f, int n, NodeInfo *const *node, const int *target, int *partial) {
  uint8_t *done = arena_new(f->s->arena, (size_t)n + 1);
  if (!done) return false;
  for (int i = 0; i < n; i++) {
    int group[MAX_OUTPUTS], m = 0;
    Recipe r[MAX_OUTPUTS];
    for (int k = i; k < n && m < MAX_STORED && !done[i]; k++)
      if (!done[k] && (k == i || (same_tile_loops(node[i], node[k]) && is_ready(f, node[k])))) group[m++] = k;
    for (int k = 0; k < m; k++) {
      done[group[k]] = 1;
      if (!begin_node(f, node[group[k]], target ? target[group[k]] : 0, &r[k])) return false;
      if (partial) partial[group[k]] = r[k].partial;
    }
    if (m && !add_nodes(f, m, r)) return false;
  }
  return true;
}

static bool add_finish(Fill *f, NodeInfo *n, int partial, int target) {
  Lower l;
  Op op = n->kind == STORE_MATMUL ? OP_ADD : (Op)n->node->arg.i;
  f->tile.parts = parts_of(f, n);
  tiles_begin_lower(f->s, &l, &f->tile);
  UOp *store = lower_tile_finish(&l, n->node, op, partial, target);
  bool ok = store && add_kernel(f, &l, 1, &store, &n->node);
  tiles_end_lower(f->s, &l);
  return ok;
}

/* Edges of a tile: as many as scratch memory holds values of. Pieces: few enough for their partial results. */
static void choose_sizes(Fill *f, const Draft *x) {
  const Target *target = f->s->target;
  double bytes = 1, partial = 0, parted = 0;
  for (int i = -1; i < f->t->node.n; i++) {
    const UOp *u = i < 0 ? NULL : f->t->node.at[i]->node;
    if (u) bytes += (double)tiles_row_width(u) * dtype_size((PolyDType)u->dtype);
  }
  for (int o = 0; o < x->nout; o++) {
    UOp *u = x->out[o]->node;
    double size = (double)uop_numel_max(u) * dtype_size((PolyDType)u->dtype);
    if (tiles_sums_edges(x->out[o]))
      partial = MAX(partial, size * (double)(x->out[o]->tiled ? parts_of(f, x->out[o]) : 1));
    if (tiles_keeps_parts(x->out[o]) && !x->out[o]->tiled) parted = MAX(parted, size);
  }
  double fits = (double)target->tile_bytes / bytes;
  int64_t tile = fits > target->tile_edges ? target->tile_edges : (int64_t)fits / 16 * 16;
  f->item->tile = MAX(tile, target->tile_least);
  int64_t parts = parted > 0 ? (int64_t)(PART_BYTES / parted) : 1;
  f->parts = target->group > 1 ? MAX(MIN(parts, target->split_pieces), 1) : 1;
  f->item->pieces = target->split_pieces;
  partial = MAX(partial, parted * (double)f->parts);
  int64_t least = target->group > 1 ? 1 : LEAST_PIECES; /* pieces run side by side where a thread has one */
  while (f->item->pieces > least && partial * (double)f->item->pieces > PARTIAL_BYTES) f->item->pieces /= 2;
  f->item->pieces =
      MAX(MIN(f->item->pieces, (f->t->edges->vmax + f->item->tile - 1) / f->item->tile), 1); /* no more have any */
}

static bool fill_products(Fill *f, const Draft *x) {
  f->item->product = arena_new(f->s->arena, (size_t)(f->t->node.n + x->nout) * sizeof(UOp *));
  if (!f->item->product) return false;
  for (int i = -x->nout; i < f->t->node.n; i++) {
    NodeInfo *n = i < 0 ? x->out[i + x->nout] : f->t->node.at[i];
    NodeInfo *product = tiles_product(n);
    if (product) f->item->product[f->item->nproduct++] = product->node;
  }
  return true;
}

static bool fill_sinks(Fill *f, const Draft *x) {
  int partial[MAX_OUTPUTS];
  if (!add_all(f, x->nout, x->out, x->target, partial)) return false;
  f->item->nitem = f->sub->n - f->item->first;
  for (int o = 0; o < x->nout; o++)
    if (tiles_sums_edges(x->out[o]) && !add_finish(f, x->out[o], partial[o], x->target[o])) return false;
  f->item->nfinish = f->sub->n - f->item->first - f->item->nitem;
  return true;
}

bool tiles_fill(Sched *s, const Draft *x, Item *item, ItemVec *sub) {
  Base *b = ctx_base(s->ctx);
  Fill f = {.s = s, .t = x->tiles, .sub = sub};
  UOp *end = f.t->end;
  TilesItem *t = f.item = arena_new(s->arena, sizeof *t);
  if (!t || !tiles_make_vars(s, &f.tile, f.t->edges, end)) return false;
  *t = (TilesItem){.first = sub->n, .edges = f.t->edges, .rowptr = -1};
  if (end) {
    t->rows = int_addc(end->src[END_ROWPTR]->shape[0], -1);
    t->rowptr = sched_slot_of(s, end->src[END_ROWPTR]);
  }
  memcpy(t->var, f.tile.var, sizeof t->var);
  choose_sizes(&f, x);
  bool ok = fill_products(&f, x);
  for (int o = 0; ok && o < x->nout; o++) ok = add_arg(&f, x->target[o]);
  if (ok && end) ok = add_arg(&f, t->rowptr);
  ok = ok && add_all(&f, f.t->node.n, f.t->node.at, NULL, NULL);
  ok = ok && fill_sinks(&f, x);
  *item = (Item){.kind = ITEM_TILES, .nout = x->nout, .narg = f.args.n, .tiles = t};
  item->arg = ok ? arena_new(s->arena, (size_t)f.args.n * sizeof(int)) : NULL;
  ok = item->arg != NULL;
  if (ok) memcpy(item->arg, f.args.at, (size_t)f.args.n * sizeof(int));
  vec_free(b, &f.args);
  vec_free(b, &f.local);
  vec_free(b, &f.copy);
  return ok;
}
