/* reduce_order.c: a reduction over several axes takes them in the order in which they lie in memory, as a graph
 * rewrite:
 *
 *   sum over both axes of f(permute(x))  ->  sum over both axes of permute back(f(permute(x)))
 *
 * Moving axes costs nothing: the index of each load is what changes. Loops that walk memory in its order become one. */
#include "schedule/reduce_order.h"

#include "ir/context.h"
#include "ir/rewrite.h"

enum { DEEP = 8, UNKNOWN = -1 };

/* The one permutation below x through elementwise work, as PERMUTE's argument; UNKNOWN: none, or not the same
 * everywhere. NULL sources of the search, which are numbers, agree with any. */
static int64_t order_of(const UOp *x, int depth, bool *number) {
  *number = x->op == OP_CONST || x->ndim == 0;
  if (*number || depth == 0 || x->buffer) return UNKNOWN;
  if (x->op == OP_PERMUTE) {
    bool below;
    int64_t inner = order_of(x->src[0], depth, &below), both = 0; /* as deep as before this one was put there */
    if (inner == UNKNOWN) return x->arg.i;
    for (int k = 0; k < x->ndim; k++) both |= (inner >> (4 * ((x->arg.i >> (4 * k)) & 15)) & 15) << (4 * k);
    return both;
  }
  if (!op_elementwise((Op)x->op)) return UNKNOWN;
  int64_t order = UNKNOWN;
  for (int i = 0; i < uop_nvalue(x); i++) {
    bool any;
    int64_t one = order_of(x->src[i], depth - 1, &any);
    if (any) continue;
    if (one == UNKNOWN || (order != UNKNOWN && one != order)) return UNKNOWN;
    order = one;
  }
  return order;
}

static UOp *by_memory(UOp *u, void *user) {
  (void)user;
  bool number;
  UOp *x = u->src[0];
  int64_t order = u->arg.j & (u->arg.j - 1) ? order_of(x, DEEP, &number) : UNKNOWN;
  if (order == UNKNOWN) return u;
  int perm[MAX_DIMS], back[MAX_DIMS], last = -1;
  uint32_t axes = 0;
  bool sorted = true;
  for (int k = 0; k < x->ndim; k++) {
    perm[k] = (int)(order >> (4 * k)) & 15;
    back[perm[k]] = k;
    if (!(u->arg.j & (1 << k))) continue;
    sorted = sorted && perm[k] > last;
    last = perm[k];
    axes |= 1u << perm[k];
  }
  if (sorted) return u;
  return uop_permute(uop_reduce((Op)u->arg.i, uop_permute(x, back), axes), perm);
}

bool reduce_by_memory(PolyContext *ctx, int nroot, UOp **root) {
  static const RewriteRule rules[] = {{OP_REDUCE, by_memory}};
  static const RewritePass pass = {.name = "reduce order", .rules = rules, .nrule = LEN(rules)};
  return rewrite_graphs(ctx, &pass, NULL, nroot, root);
}
