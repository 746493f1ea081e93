/* tile_sums.c: sums over tiles of edges, rewritten before the schedule is made. In: the program, and which of its sums
 * run by tiles (schedule/tiles.c). Out: the same with narrower sums, of which several are one. */
#include "schedule/tile_sums.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "ir/rewrite.h"

/* Sums of sums: over other axes first, so that what is summed over edges is narrow.
 *
 *   REDUCE(SEGMENT(x))   ->   SEGMENT(REDUCE(x)) */
static UOp *swap_sums(UOp *u, void *user) {
  UOp *rows = u->src[0];
  const Map *sums = user;
  bool both = u->arg.i == OP_ADD && !(u->arg.j & 1) && rows->op == OP_SEGMENT && rows->arg.i == OP_ADD;
  if (!both || !map_get(sums, (uint64_t)(uintptr_t)rows, NULL)) return u;
  return uop_segment(OP_ADD, uop_reduce(OP_ADD, rows->src[0], (uint32_t)u->arg.j), rows->src[1], rows->shape[0]);
}

/* The factors of a product at each edge: those that are values of the edge's row, which its sum may be multiplied with
 * and divided by instead, and all others. */
typedef struct Factors {
  UOp *end, *edge[MAX_DIMS], *row[MAX_DIMS];
  bool below[MAX_DIMS]; /* the sum is divided by that row's value */
  int nedge, nrow;
  bool negative;
} Factors;

static bool find_factors(Factors *f, UOp *u) {
  if (!u->buffer && u->op == OP_MUL) return find_factors(f, u->src[0]) && find_factors(f, u->src[1]);
  if (!u->buffer && u->op == OP_NEG) {
    f->negative = !f->negative;
    return find_factors(f, u->src[0]);
  }
  bool below = !u->buffer && u->op == OP_DIV && is_row_read(u->src[1]) && u->src[1]->src[1] == f->end;
  UOp *row = below ? u->src[1] : u;
  if (below && !find_factors(f, u->src[0])) return false;
  if (is_row_read(row) && row->src[1] == f->end) {
    if (f->nrow == LEN(f->row)) return false;
    f->below[f->nrow] = below;
    f->row[f->nrow++] = row->src[0];
    return true;
  }
  if (f->nedge == LEN(f->edge)) return false;
  int k = f->nedge++; /* in order: equal products, however they were written, become one node */
  for (; k > 0 && uop_compare(f->edge[k - 1], u) > 0; k--) f->edge[k] = f->edge[k - 1];
  f->edge[k] = u;
  return true;
}

/* A sum over the edges of each row does not wait for values of the row:
 *
 *   SEGMENT(x / dst(s) * dst(g))   ->   SEGMENT(x) / s * g
 *
 * So the sum of a softmax and what is made of its weights are computed from the same tiles, and the backward pass finds
 * its sum, x once more, in the forward pass. Rows without edges stay zero, whatever s and g are there. */
static UOp *take_out_rows(UOp *u, void *user) {
  const Map *sums = user;
  Factors f = {.end = u->src[1]};
  bool fits = u->arg.i == OP_ADD && f.end->op == OP_ENDPOINT && dtype_is_float((PolyDType)u->dtype);
  if (!fits || !map_get(sums, (uint64_t)(uintptr_t)u, NULL)) return u;
  if (!find_factors(&f, u->src[0]) || !f.nrow || !f.nedge) return u;
  UOp *x = f.edge[0];
  for (int i = 1; i < f.nedge; i++) x = uop_binary(OP_MUL, x, f.edge[i]);
  if (!x || x->op == OP_CONST || !shape_equal(x, u->src[0])) return u;
  UOp *sum = uop_segment(OP_ADD, x, f.end, u->shape[0]);
  for (int i = 0; i < f.nrow; i++) sum = uop_binary(f.below[i] ? OP_DIV : OP_MUL, sum, f.row[i]);
  if (f.negative && sum) sum = uop_unary(OP_NEG, sum);
  UOp *any = sum ? rows_with_edges(sum, f.end) : NULL;
  return any ? uop_where(any, sum, uop_const(u->ctx, (PolyDType)u->dtype, 0)) : NULL;
}

/* A sum whose sources were rewritten is a sum over tiles like the one before. */
static bool still_sums(const UOp *from, const UOp *to, void *user) {
  Map *sums = user;
  if (!map_get(sums, (uint64_t)(uintptr_t)from, NULL)) return true;
  return map_put(ctx_base(to->ctx), sums, (uint64_t)(uintptr_t)to, 1);
}

bool tile_sums_rewrite(PolyContext *ctx, Map *sums, int nroot, UOp **root) {
  static const RewriteRule rules[] = {{OP_REDUCE, swap_sums}, {OP_SEGMENT, take_out_rows}};
  static const RewritePass pass = {
      .name = "sums over tiles", .rules = rules, .nrule = LEN(rules), .rebuilt = still_sums};
  return rewrite_graphs(ctx, &pass, sums, nroot, root);
}
