/* maps.c: short linear maps of each edge on devices with groups of threads. In: the program. Out: the same, with the
 * weights of such maps stored feature by feature.
 *
 *   m[e, f] = sum over k of a[e, k] * w[f, k]    ->    the same with w' = contiguous(w transposed), w'[k, f]
 *
 * The sum is computed where it is read, by a thread for each feature or for a strip of them. Neighbouring threads then
 * load neighbouring weights, and a strip is one load; along k, as a Linear has them, each load of a warp would touch as
 * many lines of the cache as there are threads. The copy is as small as the weights. */
#include "schedule/maps.h"

#include "ir/edge_to_node.h"
#include "ir/rewrite.h"

/* Is u a short sum of products at each edge that is computed where it is read? Its last axis is then the one that is
 * summed. */
static bool is_short_map(const Sched *s, const UOp *u) {
  int last = u->ndim - 1;
  if (u->arg.i != OP_ADD || u->src[0]->op != OP_MUL || last < 2 || u->arg.j != (int64_t)1 << last) return false;
  return sched_edge_sized(s, u) && u->src[0]->shape[last]->vmax <= s->target->cost.inline_sum;
}

/* Are they the last axis but one in memory already? */
static bool is_ordered(const UOp *w) { return w->op == OP_PERMUTE && w->src[0]->op == OP_CONTIGUOUS; }

/* The weights, seen as before, but stored with the axis before the last as the innermost. NULL: an error. */
static UOp *reorder(UOp *w) {
  int n = w->ndim, swap[MAX_DIMS];
  UOp *x = w->src[0];
  for (int i = 0; i < n; i++) swap[i] = i < n - 2 ? i : 2 * n - 3 - i;
  return uop_expand(uop_permute(uop_contiguous(uop_permute(x, swap), 0), swap), w->shape);
}

static UOp *order_weights(UOp *u, void *user) {
  const Sched *s = user;
  UOp *src[2] = {u->src[0]->src[0], u->src[0]->nsrc > 1 ? u->src[0]->src[1] : NULL};
  if (!is_short_map(s, u)) return u;
  bool any = false;
  for (int i = 0; i < 2; i++) {
    const UOp *w = src[i], *x = repeats_row(w) && !w->buffer ? w->src[0] : NULL;
    int n = w->ndim;
    if (!x || is_ordered(x) || uop_is_int(w->shape[n - 2], 1) || !sched_is_repeated(src[!i], u)) continue;
    if (x->shape[n - 2] != w->shape[n - 2] || x->shape[n - 1] != w->shape[n - 1]) continue;
    if (!(src[i] = reorder(src[i]))) return NULL;
    any = true;
  }
  return any ? uop_reduce(OP_ADD, uop_binary(OP_MUL, src[0], src[1]), (uint32_t)u->arg.j) : u;
}

bool maps_order_weights(Sched *s, int nroot, UOp **root) {
  static const RewriteRule rules[] = {{OP_REDUCE, order_weights}};
  static const RewritePass pass = {.name = "weights of short maps", .rules = rules, .nrule = LEN(rules)};
  return !s->edges.n || rewrite_graphs(s->ctx, &pass, s, nroot, root);
}
