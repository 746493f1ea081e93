/* terms.c: sums of matrix products that are computed in tiles. Which of them one kernel adds up, and what becomes of
 * the others. On a device with groups of threads (Target.product_warps) a kernel forms up to MOST_TERMS products of
 * equal rows and columns one after the other in the same registers (codegen/tile_terms.c):
 *
 *   a @ v + bias + b @ w      one kernel, which stores the sum alone
 *
 * Elsewhere a kernel computes one product, and adds to it what the kernels of the others have stored. */
#include "schedule/plan_nodes.h"

#include "ir/context.h"

/* Adds the products that u, read by `top` alone, adds up with other values to n others of equal rows and columns.
 * Returns how many there are; more than MOST_TERMS: too many, or some that one kernel cannot add up. */
static int find_terms(Sched *s, UOp *u, const UOp *top, NodeInfo **term, int n) {
  NodeInfo *i = sched_info(s, u);
  if (!i || i->kind != STORE_NOT || u->buffer || (u != top && i->users > 1)) return n;
  if (u->op == OP_RESHAPE) return find_terms(s, u->src[0], top, term, n);
  if (u->op == OP_ADD) {
    n = find_terms(s, u->src[0], top, term, n);
    return n > MOST_TERMS ? n : find_terms(s, u->src[1], top, term, n);
  }
  if (!i->contraction) return n;
  const MatmulItem *a = &i->matmul, *b = n ? &term[0]->matmul : a;
  bool same = (a->m == b->m && a->n == b->n) || (a->m == b->n && a->n == b->m);
  bool one_axis = !(u->arg.j & (u->arg.j - 1));
  if (!i->tiled || !same || !one_axis || a->nbatch || n == MOST_TERMS) return MOST_TERMS + 1;
  term[n] = i;
  return n + 1;
}

/* Does u add up products that one kernel can form one after the other, in the same sums? */
static int sum_of_products(Sched *s, UOp *u, NodeInfo **term) {
  int n = s->target->product_warps ? find_terms(s, u, u, term, 0) : 0;
  return n > MOST_TERMS ? 0 : n;
}

int sched_terms(Sched *s, const NodeInfo *kernel) {
  NodeInfo *term[MOST_TERMS];
  return kernel->terms ? sum_of_products(s, kernel->terms, term) : 1;
}

bool sched_is_term(Sched *s, const NodeInfo *kernel, const NodeInfo *n) {
  NodeInfo *term[MOST_TERMS];
  int count = kernel->terms ? sum_of_products(s, kernel->terms, term) : 0;
  bool first = false, own = false;
  for (int i = 0; i < count; i++) {
    first |= term[i] == kernel->product;
    own |= term[i] == n;
  }
  return first && own;
}

/* Products of the tiled kind that what computes u would have to hold: u is made of them element by element. *factors:
 * elements of what they are products of. */
static int products_below(Sched *s, UOp *u, double *factors) {
  enum { NEAR = 32 };
  UOp *near[NEAR] = {u};
  int products = 0;
  *factors = 0;
  for (int i = 0, count = 1; i < count; i++) {
    const NodeInfo *n = sched_info(s, near[i]);
    if (!n || n->kind != STORE_NOT || n->users > 1 || near[i]->buffer) continue;
    if (n->contraction) products += n->tiled;
    for (int k = 0; n->contraction && k < 2; k++) *factors += (double)uop_numel_max(sched_memory(n->factor[k]));
    if (!op_elementwise((Op)near[i]->op) && near[i]->op != OP_RESHAPE) continue;
    for (int k = 0; k < uop_nvalue(near[i]) && k < near[i]->nsrc && count < NEAR; k++)
      if (uop_numel(near[i]->src[k]) == uop_numel(u)) near[count++] = near[i]->src[k];
  }
  return products;
}

/* Is the sum in one that the current kernel forms of products, or may it be that? */
static bool keeps_terms(Sched *s, UOp *sum) {
  NodeInfo *kernel = s->info.at[s->work.at[s->current]], *all[MOST_TERMS], *own[MOST_TERMS];
  int count = sum_of_products(s, sum, own), have = 0;
  if (count < 2) return false;
  if (!kernel->terms && !kernel->product) kernel->terms = sum;
  int n = kernel->terms ? sum_of_products(s, kernel->terms, all) : 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < count; k++) have += all[i] == own[k];
  return have == count;
}

/* A kernel computes one product, or adds up a few. What the other terms of a sum of several come to is stored as one
 * value, which the kernel of each term writes over that of the last, rather than product by product. Of two products
 * the one of larger factors is stored: they are given back before the other one is there. */
bool sched_store_other_terms(Sched *s, UOp *sum) {
  if (keeps_terms(s, sum)) return true;
  double factors[2];
  int below[2] = {products_below(s, sum->src[0], &factors[0]), products_below(s, sum->src[1], &factors[1])};
  bool larger = below[0] == 1 && below[1] == 1 && factors[1] > factors[0], more = below[1] > below[0] || larger;
  if (!below[!more] || (below[more] < 2 && factors[more] < 2 * factors[!more])) return true;
  return sched_store(s, sched_memory(sum->src[more]), STORE_KERNEL, "sum of matrix products");
}
