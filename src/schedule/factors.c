/* factors.c: what is stored for a matrix product that a kernel computes in tiles. In: a product and what it multiplies.
 * Out: its factors stored, where computing them in the kernel would take more than to load them. */
#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "schedule/tiles.h"

bool sched_store_for(Sched *s, NodeInfo *n, bool tile, const char *why) {
  bool first = n->kind == STORE_NOT;
  if (!sched_store(s, n->node, STORE_KERNEL, why)) return false;
  if (first && tile) n->tile_operand = n->kind == STORE_KERNEL && op_elementwise((Op)n->node->op) && !n->over_tiles;
  return true;
}

/* Do tiles side by side compute a factor again and again that takes more than to store it?
 *
 *   in place   tiles * (ops + loads)            stored   ops + loads + one store + tiles * one load */
static bool repeats_factor(Sched *s, const NodeInfo *n, int k, NodeInfo *f) {
  enum { TILE = 64 }; /* columns of a warp */
  const Target *t = s->target;
  int64_t across = (k ? n->matmul.m : n->matmul.n)->vmax, wide = TILE * (t->product_split ? 1 : t->product_warps);
  int64_t tiles = (across + wide - 1) / wide, stored = t->cost.store + tiles * t->cost.load;
  if (tiles < 2) return false;
  Below b = sched_inlined_work(s, f, COST_LIMIT);
  return (tiles - 1) * (b.ops + t->cost.load * b.loads) > stored;
}

/* Is there a reduction at each edge in x, a factor of a product by tiles? What is read from the ends of edges is stored
 * by itself. Looked for among the nearest sources; yes, too, if they are many. */
static bool reduces_in_tile(Sched *s, UOp *x) {
  enum { NEAR = 64 };
  UOp *near[NEAR] = {x};
  for (int i = 0, n = 1; i < n; i++) {
    const UOp *u = near[i];
    const NodeInfo *info = sched_info(s, near[i]);
    if (u->buffer || is_row_read(u) || !info || info->slot >= 0 || info->contraction) continue;
    if (u->op == OP_REDUCE || u->op == OP_SEGMENT) return true;
    for (int k = 0; k < uop_nvalue(u) && k < u->nsrc; k++) {
      if (n == NEAR) return true;
      near[n++] = u->src[k];
    }
  }
  return false;
}

bool sched_store_factors(Sched *s, const NodeInfo *n) {
  for (int i = 0; i < 2; i++) {
    UOp *u = sched_memory(n->factor[i]);
    NodeInfo *f = sched_info(s, u);
    if (!f) return false;
    bool moved = op_info[u->op].cls == CLASS_MOVE || op_info[u->op].cls == CLASS_LEAF;
    bool tile = tiles_operand(s, n, i);
    bool apart = tile ? reduces_in_tile(s, u) || repeats_factor(s, n, i, f) : f->cost >= COST_LIMIT;
    if (apart && !moved && f->slot < 0 && !sched_store_for(s, f, tile, "operand of a matrix product")) return false;
  }
  return true;
}
