/* tiles.c: dense maps of each edge, tile by tile. In: the stored nodes and their drafts. Out: composite drafts, and
 * their items (TilesItem).
 *
 *   h = relu(e @ w + x[src])   out[v] = sum of h over the edges into v        e [E, D], w [D, F]
 *
 * Stored, h would be the largest thing in memory; computed where it is read, the product would be a loop of scalars. So
 * the product is "by tiles": what is computed from it edge by edge is "over tiles" and lives, where it must be stored
 * at all, in scratch memory for a tile of edges. It ends in a sink, whose value is stored in memory: a reduction over
 * the edges of each row, a sum over all edges (the gradient of a weight), or a few values of each edge. A sink with all
 * that it needs of the tile is a composite draft; sinks that need the same values and do not wait for each other share
 * one. What two composites need is computed by both.
 *
 *   for each piece, for each tile of it:                      (edges in the order of their destinations)
 *     a = e at the tile's edges          kernel               scratch [T, D]
 *     b = a @ w                          matrix product       scratch [T, F]
 *     out[v] += sum of relu(b + x[src])  kernel over the rows of the tile
 *
 * Whatever does not fit this scheme (a value over tiles that is read anywhere but at its edge, say) makes the product
 * one that is stored as a whole, and the schedule is built again. */
#include "schedule/composite.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "schedule/contract.h"

#include <string.h>

enum {
  FEW_SUMS = 4, /* up to this many sums of each edge are stored in memory */
  LONG_MAPS = 8 /* products in a row that each composite computes again, before one is stored in memory */
};

/* ---- which nodes ---- */

/* Elements of one row. */
int64_t tiles_row_width(const UOp *u) {
  int64_t n = 1;
  for (int i = 1; i < u->ndim; i++)
    if (__builtin_mul_overflow(n, u->shape[i]->vmax, &n)) return INT64_MAX;
  return n;
}

/* Is a sum at each edge stored in memory, because it is few values? Scores (a dot product for each head) are; of the
 * results of a linear map only very few. */
static bool few_values(const Sched *s, const UOp *u) {
  const UOp *x = u->src[0];
  bool linear = false;
  for (int i = 0; x->op == OP_MUL && i < 2; i++)
    linear |= sched_is_repeated(is_row_read(x->src[i]) ? x->src[i]->src[0] : x->src[i], u);
  return tiles_row_width(u) <= (linear ? FEW_SUMS : s->target->cost.few_scores);
}

/* Is it in memory without being computed? */
static bool is_given(const UOp *u) {
  while (u->op == OP_RESHAPE || u->op == OP_CONTIGUOUS) u = u->src[0];
  return u->op == OP_BUFFER;
}

/* Is u a product that is computed by tiles of its rows, which are edges? Groups of threads do it by a kernel, which
 * reads factors wherever they lie and computes them where they are not stored; else it is a library's. */
static bool is_by_tiles(Sched *s, NodeInfo *n) {
  UOp *u = n->node;
  if (u->op != OP_REDUCE || u->arg.i != OP_ADD || u->src[0]->op != OP_MUL || !s->target->tile_bytes) return false;
  bool library = s->target->matmul & (1u << u->dtype), copied;
  if (!(library || s->target->product_warps) || !sched_edge_sized(s, u->src[0])) return false;
  if (map_get(&s->limits->whole, (uint64_t)(uintptr_t)u, NULL)) return false;
  if (!contract_match(u, true, &n->matmul, n->operand, n->factor, &copied)) return false;
  const MatmulItem *m = &n->matmul;
  bool fits = m->axis == ROWS_OUTER ? m->k->vmax > s->target->cost.inline_sum
                                    : m->axis == ROWS_SUMMED && !(is_given(n->operand[0]) && is_given(n->operand[1]));
  n->tiled = fits && contract_edges_by_groups(s->target, u, m, library);
  return fits && (library || n->tiled);
}

/* Of a value that is computed element by element, or whose axes are moved, at each edge. */
static bool follows_edges(const UOp *u) {
  OpClass cls = op_info[u->op].cls;
  if (op_elementwise((Op)u->op) || cls == CLASS_MOVE || u->op == OP_CAT) return true;
  if (u->op == OP_REDUCE) return !(u->arg.j & 1);
  return u->op == OP_CONTIGUOUS || u->op == OP_DETACH || u->op == OP_FUNCTION || u->op == OP_COPY;
}

void tiles_measure(Sched *s, NodeInfo *n) {
  const UOp *u = n->node;
  bool over = false;
  if (!s->edges.n) return;
  n->maps = 0;
  n->over_tiles = n->sums_tiles = n->tiled = false;
  for (int i = 0; i < uop_nvalue(u) && i < u->nsrc; i++) {
    uint64_t at;
    if (!map_get(&s->index, (uint64_t)(uintptr_t)u->src[i], &at)) continue;
    const NodeInfo *below = s->info.at[at];
    over |= below->over_tiles;
    if (below->over_tiles) n->maps = MAX(n->maps, below->maps);
  }
  n->by_tiles = is_by_tiles(s, n);
  n->contraction = n->by_tiles;
  if (n->by_tiles && n->matmul.axis == ROWS_OUTER) {
    n->maps++;
    n->over_tiles = tiles_row_width(u) > FEW_SUMS && n->maps <= LONG_MAPS && !n->kept;
  } else if (over && !n->by_tiles) {
    n->sums_tiles = u->op == OP_SEGMENT || u->op == OP_REDUCE;
    n->over_tiles = follows_edges(u) && sched_edge_sized(s, u) && !(u->op == OP_REDUCE && few_values(s, u));
  }
  if (!n->over_tiles) n->maps = 0;
}

static void reach(NodeInfo *n, UOp *end, bool both) {
  n->reaches_both |= both || (end && n->reached && n->reached != end);
  if (end) n->reached = end;
}

/* Rows of both ends of an edge need what is computed from n, a product of each edge. Each would have a composite of its
 * own, and the product in it, with all that it needs. Loading it takes less, where memory is ample. */
static bool worth_keeping(const Sched *s, const NodeInfo *n) {
  const UOp *u = n->node;
  if (!n->over_tiles || !n->by_tiles || !n->reaches_both) return false;
  double bytes = (double)u->shape[0]->vmax * (double)tiles_row_width(u) * (double)dtype_size((PolyDType)u->dtype);
  return bytes <= (double)s->target->kept_bytes;
}

void tiles_keep_products(Sched *s, const Walk *walk) {
  if (!s->edges.n || !s->target->kept_bytes) return;
  for (int i = 0; i < walk->n; i++) tiles_measure(s, sched_info(s, walk->at[i]));
  for (int i = walk->n; i-- > 0;) {
    const UOp *u = walk->at[i];
    NodeInfo *n = sched_info(s, walk->at[i]);
    n->kept = worth_keeping(s, n);
    bool rows = u->op == OP_SEGMENT && n->sums_tiles;
    if (!rows && (!n->over_tiles || n->kept)) continue;
    for (int k = 0; k < uop_nvalue(u) && k < u->nsrc; k++) {
      NodeInfo *below = sched_info(s, u->src[k]);
      if (below->over_tiles) reach(below, rows ? u->src[1] : n->reached, !rows && n->reaches_both);
    }
  }
}

static UOp *behind_reshapes(UOp *u) {
  while (u->op == OP_RESHAPE) u = u->src[0];
  return u;
}

/* The gradient of a bias is the sum of what the gradient of a weight is a product of: the tile has it, if the product
 * is a library's. */
static bool is_summed_operand(Sched *s, const Walk *walk, const UOp *x) {
  for (int i = 0; i < walk->n; i++) {
    const NodeInfo *n = sched_info(s, walk->at[i]);
    if (!n->by_tiles || n->tiled || n->matmul.axis != ROWS_SUMMED) continue;
    for (int k = 0; k < 2; k++)
      if (behind_reshapes(n->operand[k]) == x) return true;
  }
  return false;
}

/* Where threads walk rows of unequal length, a sum over the rows of one end joins the tiles that have what it sums up
 * anyway: they compute it with an edge and a few features to each thread. */
static bool joins_tiles(Sched *s, const Walk *walk, UOp *u, UOp *x) {
  NodeInfo *n = sched_info(s, x);
  bool sum = u->arg.i == OP_ADD && u->src[1]->op == OP_ENDPOINT && is_given(u->src[1]->src[END_ROWPTR]);
  if (!s->target->rows_apart || !s->target->tile_bytes || !sum || n->over_tiles) return false;
  if (map_get(&s->limits->whole, (uint64_t)(uintptr_t)u, NULL)) return false;
  if (!is_summed_operand(s, walk, x) || (n->reached && n->reached != u->src[1])) return false;
  n->reached = u->src[1];
  return true;
}

void tiles_find_sums(Sched *s, const Walk *walk) {
  for (int i = 0; s->edges.n && i < walk->n; i++) {
    UOp *u = walk->at[i];
    bool all = u->op == OP_REDUCE && u->arg.j & 1, rows = u->op == OP_SEGMENT;
    UOp *x = all || rows ? behind_reshapes(u->src[0]) : NULL;
    if (!x || !op_elementwise((Op)x->op) || !sched_edge_sized(s, u->src[0]) || !sched_edge_sized(s, x)) continue;
    NodeInfo *n = sched_info(s, u);
    if (n->by_tiles || n->sums_tiles) continue;
    n->sums_operand = rows ? joins_tiles(s, walk, u, x) : is_summed_operand(s, walk, x);
    n->sums_tiles = n->sums_operand;
  }
}

/* Does the product, for a tile of edges, read the rows of its k-th operand that belong to these edges? An operand that
 * does not move along the edges is read as a whole, however many rows it has: of a @ h, with a [E, E] and h [E, F], a
 * tile needs all of h. */
static bool moves_with_tile(const NodeInfo *product, int k) {
  return product->by_tiles && !uop_is_int(k ? product->matmul.b_step : product->matmul.a_step, 0);
}

bool tiles_operand(const Sched *s, const NodeInfo *product, int k) {
  return moves_with_tile(product, k) && sched_edge_sized(s, product->operand[k]);
}

/* ---- composites in the making ---- */

static NodeInfo *info_of_slot(Sched *s, int slot) { return sched_info(s, s->slot.at[slot].node); }

bool tiles_holds(void *user, int slot) { return ((Sched *)user)->slot.at[slot].kind == SLOT_TILE; }

/* Does the node's value live for a tile? */
static bool lives_for_tile(const Sched *s, const NodeInfo *n) {
  if (n->root || n->slot < 0 || !sched_edge_sized(s, n->node)) return false;
  return (n->kind == STORE_KERNEL || n->kind == STORE_MATMUL) && n->node->op != OP_ASSIGN &&
         (n->over_tiles || n->tile_operand);
}

void tiles_begin_lower(Sched *s, Lower *l, const LowerTile *tile) {
  lower_begin(l, s->ctx, sched_policy, s, true);
  l->tile = tile;
  s->in_tile = true;
}

void tiles_end_lower(Sched *s, Lower *l) {
  lower_end(l);
  s->in_tile = false;
}

bool tiles_make_vars(Sched *s, LowerTile *tile, UOp *edges, UOp *end) {
  static const char *const names[] = {"tile_edge",  "tile_edges", "tile_row",   "tile_rows",
                                      "tile_piece", "tile_begun", "tile_pieces"};
  int64_t rows = end ? end->src[END_ROWPTR]->shape[0]->vmax : 1, pieces = s->target->split_pieces;
  int64_t each = s->target->tile_edges;
  if (s->target->product_warps) each = MIN(each, edges->vmax); /* how a product is cut depends on it */
  const int64_t most[] = {edges->vmax, each, rows, rows, pieces, 1, pieces};
  *tile = (LowerTile){.end = end, .holds = tiles_holds};
  for (int k = 0; k < TILE_VARS; k++)
    if (!(tile->var[k] = uop_variable(s->ctx, names[k], 0, MAX(most[k], 1)))) return false;
  return true;
}

bool tiles_sums_edges(const NodeInfo *n) {
  return (n->by_tiles && n->matmul.axis == ROWS_SUMMED) || (n->node->op == OP_REDUCE && n->node->arg.j & 1);
}

/* Has a sum over all edges results for each part of a tile? A matrix product has one. */
bool tiles_keeps_parts(const NodeInfo *n) { return tiles_sums_edges(n) && n->kind != STORE_MATMUL; }

UOp *tiles_lower_nth(Lower *l, const Recipe *r, int k) {
  NodeInfo *n = r->n;
  UOp *u = n->node;
  if (n->kind == STORE_MATMUL) {
    if (k || r->product == r->slot) return NULL;
    return tiles_sums_edges(n) ? lower_tile_add(l, u, r->product, r->partial)
                               : lower_tile_edges(l, u, -1, r->product, r->slot, false);
  }
  if (u->op == OP_CAT) return k < u->nsrc ? lower_tile_edges(l, u, k, -1, r->slot, n->tile) : NULL;
  if (k) return NULL;
  if (u->op == OP_SEGMENT) return lower_tile_rows(l, u, r->slot);
  if (n->by_tiles && tiles_sums_edges(n)) return lower_tile_product(l, u, r->partial);
  if (tiles_sums_edges(n)) return lower_tile_sum(l, u, r->partial);
  return lower_tile_edges(l, u, -1, -1, r->slot, n->tile);
}

/* The operands of a product in a tile, like tiles_reads. */
static bool product_reads(Sched *s, const NodeInfo *n, const LowerTile *tile, IntVec *reads) {
  for (int k = 0; k < 2; k++) {
    int slot = sched_slot_of(s, n->operand[k]);
    if (slot >= 0 && tiles_holds(s, slot) && !moves_with_tile(n, k)) {
      if (tile->misread) *tile->misread = slot;
      return false;
    }
    if (!vec_push(ctx_base(s->ctx), reads, slot)) return false;
  }
  return true;
}

/* The slots that n reads in a tile, added to the list. False: it cannot be computed by tiles, or an error was set. */
bool tiles_reads(Sched *s, NodeInfo *n, const LowerTile *tile, IntVec *reads) {
  Base *b = ctx_base(s->ctx);
  if (n->kind == STORE_MATMUL) return product_reads(s, n, tile, reads);
  Recipe r = {n, n->slot, n->slot, n->slot};
  bool ok = true;
  int nkernel = n->node->op == OP_CAT ? n->node->nsrc : 1;
  for (int k = 0; ok && k < nkernel; k++) {
    Lower l;
    tiles_begin_lower(s, &l, tile);
    ok = tiles_lower_nth(&l, &r, k) != NULL;
    for (int i = 0; ok && i < l.param.n; i++)
      if (l.param.at[i] != n->slot) ok = vec_push(b, reads, l.param.at[i]);
    tiles_end_lower(s, &l);
  }
  if (ok && tile->end) /* bounds of tiles */
    ok = vec_push(b, reads, sched_slot_of(s, tile->end->src[END_ROWPTR]));
  return ok;
}

NodeInfo *tiles_product(NodeInfo *n) {
  return n->by_tiles ? n : n->product && n->product->by_tiles ? n->product : NULL;
}

static bool has_node(const NodeVec *v, const NodeInfo *n) {
  for (int i = 0; i < v->n; i++)
    if (v->at[i] == n) return true;
  return false;
}

/* n and all that it needs of the tile, sources first; what it needs of memory goes to `reads`. */
static bool gather_nodes(Sched *s, Tiles *t, NodeInfo *n, const LowerTile *tile, Draft *x) {
  IntVec reads = {0};
  bool ok = tiles_reads(s, n, tile, &reads);
  for (int i = 0; ok && i < reads.n; i++) {
    NodeInfo *below = tiles_holds(s, reads.at[i]) ? info_of_slot(s, reads.at[i]) : NULL;
    if (!below)
      ok = add_read(s, x, reads.at[i]);
    else if (below->node->shape[0] != t->edges) {
      *tile->misread = reads.at[i];
      ok = false;
    } else if (!has_node(&t->node, below))
      ok = gather_nodes(s, t, below, tile, x) && vec_push(ctx_base(s->ctx), &t->node, below);
  }
  vec_free(ctx_base(s->ctx), &reads);
  return ok;
}

/* Is it a sink of a kind that composites have? */
static bool sink_fits(const Sched *s, const Draft *x) {
  const NodeInfo *n = x->out[0];
  const UOp *u = n->node;
  if (x->nout != 1 || x->target[0] != n->slot || u->op == OP_ASSIGN || n->kind == STORE_LIBRARY) return false;
  if (u->op == OP_SEGMENT) {
    const UOp *end = u->src[1];
    return end->op == OP_ENDPOINT && is_given(end->src[END_ROWPTR]) && sched_edge_sized(s, u->src[0]);
  }
  if (tiles_sums_edges(n)) return sched_edge_sized(s, u->src[0]);
  return sched_edge_sized(s, u) && x->part <= 0;
}

static UOp *edges_of(const NodeInfo *n) {
  const UOp *u = n->node;
  return u->op == OP_SEGMENT || u->op == OP_REDUCE ? u->src[0]->shape[0] : u->shape[0];
}

/* All products by tiles of this many edges are stored as a whole instead; NULL: of any number. Were there any? */
static bool keep_all(Sched *s, const UOp *edges, bool *any) {
  for (int i = 0; i < s->work.n; i++) {
    NodeInfo *n = tiles_product(s->info.at[s->work.at[i]]);
    if (!n || (edges && n->node->src[0]->shape[0] != edges)) continue;
    *any = true;
    if (!schedule_keep_whole(s->ctx, s->limits, 1, &n->node)) return false;
  }
  return true;
}

/* The products in the composite of x and below are stored as a whole instead. Were there any? */
static bool keep_parts(Sched *s, const Draft *x, const Tiles *t, bool *any) {
  for (int i = -1; i < t->node.n; i++) {
    NodeInfo *n = i < 0 ? x->out[0] : t->node.at[i];
    bool rows = i < 0 && n->sums_operand && n->node->op == OP_SEGMENT;
    if (tiles_product(n)) n = tiles_product(n);
    if (!n->by_tiles && !rows) continue;
    *any = true;
    if (!schedule_keep_whole(s->ctx, s->limits, 1, &n->node)) return false;
  }
  return true;
}

/* What cannot be computed by tiles in the composite of x is stored as a whole. The nodes of one graph are often the
 * edges of another (those that lead from nodes to the graphs of a batch), and edges of the first read values of its
 * nodes: then these are at fault, not the products of its edges. */
static bool keep_whole(Sched *s, const Draft *x, const Tiles *t, int misread) {
  NodeInfo *n = misread < 0 ? NULL : info_of_slot(s, misread);
  bool any = false, ok = true;
  if (n && n->node->shape[0] != t->edges) {
    NodeInfo *product = tiles_product(n);
    any = product != NULL;
    ok = any ? schedule_keep_whole(s->ctx, s->limits, 1, &product->node) : keep_all(s, n->node->shape[0], &any);
  }
  if (ok && !any) ok = keep_parts(s, x, t, &any);
  if (ok && !any) ok = keep_all(s, t->edges, &any);
  if (ok && !any) ok = keep_all(s, NULL, &any);
  if (ok && !any) return base_fail(ctx_base(s->ctx), POLY_ERROR_RUNTIME, "internal: nothing to store for a composite");
  s->retry = true;
  return ok;
}

/* A composite draft of one sink. */
static bool make_composite(Sched *s, Drafts *d, int sink, int *made) {
  Base *b = ctx_base(s->ctx);
  NodeInfo *n = d->at.at[sink]->out[0];
  Draft *x = new_draft(s, d, n);
  Tiles *t = arena_new(s->arena, sizeof *t);
  LowerTile tile;
  if (!x || !t) return false;
  *made = d->at.n - 1;
  *t = (Tiles){.edges = edges_of(n), .end = n->node->op == OP_SEGMENT ? n->node->src[1] : NULL};
  x->kind = STORE_TILES;
  x->tiles = t;
  int misread = -1;
  bool ok = sink_fits(s, d->at.at[sink]) && tiles_make_vars(s, &tile, t->edges, t->end);
  tile.misread = &misread;
  if (ok && gather_nodes(s, t, n, &tile, x)) return true;
  if (b->code != POLY_OK && b->code != POLY_ERROR_RUNTIME) return false;
  base_clear(b); /* it was only tried */
  return keep_whole(s, x, t, misread);
}

/* ---- sharing ---- */

/* Does draft `from` need what `to` makes, however far away? */
static bool needs_draft(Sched *s, const Drafts *d, int from, int to, uint8_t *seen) {
  seen[from] = 1;
  const Draft *x = d->at.at[from];
  for (int r = 0; r < x->reads.n; r++) {
    uint64_t w;
    if (!map_get(&d->writer, (uint64_t)x->reads.at[r], &w)) continue;
    for (int p = (int)w; p >= 0; p = d->at.at[p]->next_part) {
      if (p == to) return true;
      if (!seen[p] && needs_draft(s, d, p, to, seen)) return true;
    }
  }
  return false;
}

static bool independent(Sched *s, const Drafts *d, int a, int b, uint8_t *seen) {
  memset(seen, 0, (size_t)d->at.n);
  if (needs_draft(s, d, a, b, seen)) return false;
  memset(seen, 0, (size_t)d->at.n);
  return !needs_draft(s, d, b, a, seen);
}

/* How many values of the tile two composites have in common. */
static int shared_nodes(const Tiles *a, const Tiles *b) {
  int n = 0;
  for (int i = 0; i < a->node.n; i++) n += has_node(&b->node, a->node.at[i]);
  return n;
}

/* Do they read the same memory, but for little? Then a kernel for both loads it once, and computes once what their
 * values have in common. */
static bool same_reads(const Draft *a, const Draft *b) {
  enum { LEAST = 4 };
  int n = 0, fewer = MIN(a->reads.n, b->reads.n);
  for (int i = 0; i < a->reads.n; i++)
    for (int k = 0; k < b->reads.n; k++) n += a->reads.at[i] == b->reads.at[k];
  return n >= LEAST && 4 * n >= 3 * fewer && fewer >= MAX(a->reads.n, b->reads.n) / 2;
}

/* The composite that x shares most with and may join, one by rows or not; -1: none. */
static int find_host(Sched *s, const Drafts *d, const IntVec *made, int x, bool by_rows, uint8_t *seen) {
  const Draft *a = d->at.at[x];
  int best = -1, most = 0;
  for (int i = 0; i < made->n; i++) {
    const Draft *b = d->at.at[made->at[i]];
    if (made->at[i] == x || b->dead || b->nout + a->nout > MAX_OUTPUTS || a->tiles->edges != b->tiles->edges) continue;
    if ((b->tiles->end != NULL) != by_rows || (a->tiles->end && a->tiles->end != b->tiles->end)) continue;
    int shared = shared_nodes(a->tiles, b->tiles);
    if (!shared) shared = same_reads(a, b);
    if (shared <= most || !independent(s, d, x, made->at[i], seen)) continue;
    best = made->at[i];
    most = shared;
  }
  return best;
}

/* x, which took edges in any order, in that of the rows of `end`: what it reads then of each edge may lie elsewhere.
 * False: it cannot be computed so, or an error was set. */
static bool read_by_rows(Sched *s, Draft *x, UOp *end) {
  Base *b = ctx_base(s->ctx);
  Tiles t = {.edges = x->tiles->edges, .end = end};
  int misread;
  LowerTile tile;
  bool ok = tiles_make_vars(s, &tile, t.edges, end);
  tile.misread = &misread;
  for (int o = 0; ok && o < x->nout; o++) ok = gather_nodes(s, &t, x->out[o], &tile, x);
  vec_free(b, &t.node);
  if (b->code == POLY_ERROR_RUNTIME) base_clear(b); /* it was only tried */
  return ok;
}

/* Can the edges of both be taken in one order? */
static bool have_one_order(Sched *s, const Drafts *d, int a, int b, uint8_t *seen) {
  Draft *x = d->at.at[a], *y = d->at.at[b];
  if (x->tiles->end == y->tiles->end) return true;
  Draft *any = x->tiles->end ? y : x;
  int had = any->reads.n;
  if (read_by_rows(s, any, x->tiles->end ? x->tiles->end : y->tiles->end) && independent(s, d, a, b, seen)) return true;
  any->reads.n = had;
  return false;
}

static bool join_composite(Sched *s, Drafts *d, int into, int x) {
  Base *b = ctx_base(s->ctx);
  Draft *h = d->at.at[into], *y = d->at.at[x];
  bool ok = true;
  for (int i = 0; ok && i < y->reads.n; i++) ok = add_read(s, h, y->reads.at[i]);
  for (int i = 0; ok && i < y->tiles->node.n; i++)
    if (!has_node(&h->tiles->node, y->tiles->node.at[i])) ok = vec_push(b, &h->tiles->node, y->tiles->node.at[i]);
  for (int o = 0; ok && o < y->nout; o++) {
    h->out[h->nout] = y->out[o];
    h->target[h->nout++] = y->target[o];
    ok = map_put(b, &d->writer, (uint64_t)y->target[o], (uint64_t)into);
  }
  if (!h->tiles->end) h->tiles->end = y->tiles->end;
  y->dead = true;
  y->merged = into;
  return ok;
}

/* Composites by rows join those by the same rows, then those that take any order join the former, and the rest each
 * other. A composite of any order that took the rows of the first that comes would keep it from those that share more
 * with it and have the rows of another end. */
static bool share(Sched *s, Drafts *d, const IntVec *made) {
  enum { ROWS_TO_ROWS, ANY_TO_ROWS, ANY_TO_ANY, ROUNDS };
  uint8_t *seen = arena_new(s->arena, (size_t)d->at.n + 1);
  if (!seen) return false;
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < made->n; i++) {
      Draft *x = d->at.at[made->at[i]];
      if (x->dead || (x->tiles->end != NULL) != (round == ROWS_TO_ROWS)) continue;
      int host = find_host(s, d, made, made->at[i], round != ANY_TO_ANY, seen);
      bool fits = host >= 0 && have_one_order(s, d, host, made->at[i], seen);
      if (ctx_base(s->ctx)->code != POLY_OK || (fits && !join_composite(s, d, host, made->at[i]))) return false;
    }
  return true;
}

/* Does the kernel of u add up anything? Looked for among the nearest sources; yes, too, if they are many. */
static bool holds_sum(Sched *s, UOp *u) {
  enum { NEAR = 128 };
  UOp *near[NEAR] = {u};
  for (int i = 0, n = 1; i < n; i++) {
    if (near[i]->op == OP_REDUCE || near[i]->op == OP_SEGMENT) return true;
    for (int k = 0; k < uop_nvalue(near[i]) && k < near[i]->nsrc; k++) {
      if (sched_info(s, near[i]->src[k])->kind != STORE_NOT) continue;
      if (n == NEAR) return true;
      near[n++] = near[i]->src[k];
    }
  }
  return false;
}

/* What two composites compute must have the same bits in both, since the gradient of a maximum compares one with the
 * other. The order of a sum depends on what else its kernel makes, so such values share a kernel with those alone that
 * they share it with in all composites. */
static void note_again(Sched *s, const Drafts *d, const IntVec *made) {
  enum { BITS = 64 };
  for (int i = 0; i < made->n; i++) {
    const Draft *x = d->at.at[made->at[i]];
    for (int k = 0; !x->dead && k < x->tiles->node.n; k++) {
      NodeInfo *n = x->tiles->node.at[k];
      bool again = false;
      n->composites = made->n <= BITS ? n->composites | (uint64_t)1 << i : 0;
      for (int j = 0; j < i && !again; j++) {
        const Draft *y = d->at.at[made->at[j]];
        again = !y->dead && has_node(&y->tiles->node, n);
      }
      n->tiled_again |= again && holds_sum(s, n->node);
    }
  }
}

static bool reads_tile(Sched *s, const Draft *x) {
  for (int i = 0; i < x->reads.n; i++)
    if (tiles_holds(s, x->reads.at[i])) return true;
  return false;
}

/* Drafts of values that live for a tile are gone: composites make them. */
static bool find_tiles(Sched *s, Drafts *d) {
  bool any = false;
  for (int i = 0; i < d->at.n; i++) {
    Draft *x = d->at.at[i];
    NodeInfo *n = x->out[0];
    if (!(n->tile = lives_for_tile(s, n))) continue;
    s->slot.at[n->slot].kind = SLOT_TILE;
    x->dead = true;
    x->merged = i;
    any = true;
  }
  return any;
}

bool tiles_form(Sched *s, Drafts *d) {
  Base *b = ctx_base(s->ctx);
  IntVec made = {0};
  if (!s->edges.n) return true;
  bool ok = true;
  find_tiles(s, d);
  for (int i = 0, n = d->at.n; ok && i < n && !s->retry; i++) {
    Draft *x = d->at.at[i];
    bool product = x->out[0]->by_tiles && (x->kind == STORE_MATMUL || tiles_sums_edges(x->out[0]));
    if (x->dead || x->tiles || (!product && !x->out[0]->sums_operand && !reads_tile(s, x))) continue;
    int c = -1;
    ok = make_composite(s, d, i, &c) && vec_push(b, &made, c);
    if (!ok || s->retry) break;
    for (int p = i; p >= 0; p = d->at.at[p]->next_part) {
      d->at.at[p]->dead = true;
      d->at.at[p]->merged = c;
    }
    ok = map_put(b, &d->writer, (uint64_t)x->target[0], (uint64_t)c);
  }
  ok = ok && (s->retry || share(s, d, &made));
  if (ok && !s->retry) note_again(s, d, &made);
  vec_free(b, &made);
  return ok;
}

void tiles_free(Base *b, Draft *x) {
  if (x->tiles) vec_free(b, &x->tiles->node);
}
