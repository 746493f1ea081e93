/* edge_sums.c: sums over all edges of what rows sum up as well. In: the program. Out: the same, with
 *
 *   REDUCE(x) over edges    ->    REDUCE(SEGMENT(x)) over rows        where the program has SEGMENT(x)
 *
 * The gradient of a bias that is added at each edge is such a sum, beside the gradient of what it is added to: it needs
 * no second pass over the edges, nor x at each of them once more. Every edge belongs to one row, so that nothing is
 * left out or counted twice. */
#include "schedule/edge_sums.h"

#include "ir/context.h"
#include "ir/rewrite.h"

static UOp *behind_reshapes(UOp *u) {
  while (u->op == OP_RESHAPE && !u->buffer) u = u->src[0];
  return u;
}

/* The sum of x over the edges of each row, as wide as u's rows. NULL without an error: there is none. */
static UOp *rows_of(const Map *sums, UOp *u) {
  UOp *x = behind_reshapes(u), *shape[MAX_DIMS];
  uint64_t found;
  if (!x->ndim || !u->ndim || x->shape[0] != u->shape[0]) return NULL;
  if (!map_get(sums, (uint64_t)(uintptr_t)x, &found)) return NULL;
  UOp *rows = (UOp *)(uintptr_t)found;
  shape[0] = rows->shape[0];
  for (int i = 1; i < u->ndim; i++) shape[i] = u->shape[i];
  return uop_reshape(rows, u->ndim, shape);
}

static UOp *sum_rows(UOp *u, void *user) {
  if (u->arg.i != OP_ADD || !(u->arg.j & 1)) return u;
  UOp *rows = rows_of(user, u->src[0]);
  if (!rows) return ctx_base(u->ctx)->code == POLY_OK ? u : NULL;
  return uop_reduce(OP_ADD, rows, (uint32_t)u->arg.j);
}

bool edge_sums_by_rows(PolyContext *ctx, Arena *arena, int nroot, UOp **root) {
  static const RewriteRule rules[] = {{OP_REDUCE, sum_rows}};
  static const RewritePass pass = {.name = "sums over edges by rows", .rules = rules, .nrule = LEN(rules)};
  Map sums = {0};
  Walk walk;
  bool ok = uop_walk(ctx, arena, nroot, root, NULL, NULL, &walk);
  for (int i = 0; ok && i < walk.n; i++) {
    UOp *u = walk.at[i], *x = u->op == OP_SEGMENT ? behind_reshapes(u->src[0]) : NULL;
    if (!x || u->arg.i != OP_ADD || u->src[1]->op != OP_ENDPOINT || !op_elementwise((Op)x->op)) continue;
    if (x->ndim && x->shape[0] == u->src[0]->shape[0])
      ok = map_put(ctx_base(ctx), &sums, (uint64_t)(uintptr_t)x, (uint64_t)(uintptr_t)u);
  }
  ok = ok && (!sums.n || rewrite_graphs(ctx, &pass, &sums, nroot, root));
  map_free(ctx_base(ctx), &sums);
  return ok;
}
