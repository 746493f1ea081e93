/* early.c: sums over the edges of rows that are taken while the edges are read anyway. The gradient of a maximum is
 * shared by all edges that have it, and their number is wanted in the backward pass, whose kernel would read all edges
 * again for it alone:
 *
 *   forward: m = max over e of x          forward: m = max over e of x, n = sum over e of (x == m)
 *   backward: n = sum over e of (x == m), g / n        ->        backward: g / n
 *
 * So a sum over edges that a later kernel computes for itself is stored, if it is made of what another sum over the
 * same edges is made of, and of stored sums over these: join.c then makes one kernel of them. Only where rows have so
 * many edges that reading these takes longer than storing the result, and on GPUs: the step of a PNA (17,000 nodes,
 * 230,000 edges) takes as long on a CPU either way, and 17 % more memory. */
#include "schedule/plan_nodes.h"

#include "ir/context.h"

enum { MOST_READ = 8, NEAR = 64, LEAST_EDGES = 4 };

/* What is stored and read below a node, and how many nodes may still be looked at. */
typedef struct Reads {
  const UOp *at[MOST_READ];
  int n, budget;
} Reads;

static bool has_read(const Reads *r, const UOp *u) {
  for (int i = 0; i < r->n; i++)
    if (r->at[i] == u) return true;
  return false;
}

/* False: too much is read, or a sum other than `own` is computed in place. */
static bool add_reads(Sched *s, const UOp *u, const UOp *own, Reads *r) {
  for (int k = 0; k < uop_nvalue(u); k++) {
    UOp *x = u->src[k];
    if (x == own || x->op == OP_ENDPOINT || x->op == OP_CONST || (u->op == OP_SEGMENT && k)) continue;
    const NodeInfo *n = sched_info(s, x);
    if (!n || r->budget-- <= 0) return false;
    if (x->op == OP_BUFFER || n->slot >= 0) {
      if (has_read(r, x)) continue;
      if (r->n == MOST_READ) return false;
      r->at[r->n++] = x;
    } else if (x->op == OP_SEGMENT || x->op == OP_REDUCE || !add_reads(s, x, own, r)) {
      return false;
    }
  }
  return true;
}

static bool same_edges(const UOp *a, const UOp *b) {
  return a->op == OP_SEGMENT && b->op == OP_SEGMENT && a->src[1] == b->src[1] && shape_equal(a, b);
}

/* A stored sum over the edges that n is a sum over, if u is made of n, of such sums and otherwise of what this one is
 * made of; or NULL. */
static const UOp *followed_by(Sched *s, const UOp *u, const UOp *n) {
  Reads own = {.budget = NEAR};
  if (!add_reads(s, u, n, &own)) return NULL;
  for (int i = 0; i < own.n; i++) {
    Reads other = {.budget = NEAR};
    bool fits = same_edges(own.at[i], n) && add_reads(s, own.at[i], NULL, &other);
    for (int k = 0; fits && k < own.n; k++) fits = same_edges(own.at[k], n) || has_read(&other, own.at[k]);
    if (fits) return own.at[i];
  }
  return NULL;
}

static const UOp *followed_sum(Sched *s, const NodeInfo *n) { return followed_by(s, n->node, n->node); }

/* What is made of n alone, element by element, before anything else is needed. */
static NodeInfo *early_end(Sched *s, NodeInfo *n) {
  NodeInfo *end = n;
  for (NodeInfo *next = n->meet; next; next = next->meet) {
    bool plain = op_elementwise((Op)next->node->op) && next->slot < 0 && shape_equal(next->node, n->node);
    if (!plain || !followed_by(s, next->node, n->node)) break;
    end = next;
  }
  return end;
}

static bool has_many_edges(const UOp *u) {
  const UOp *edges = u->src[1]->shape[0], *rows = u->shape[0];
  return edges->vmax >= LEAST_EDGES * rows->vmax && u->src[1]->op == OP_ENDPOINT;
}

/* Does what is computed in place below u read something stored that is made of `sum`, but no sum over the same edges?
 */
static bool waits_for(Sched *s, const UOp *u, const UOp *sum, int *budget) {
  for (int k = 0; k < uop_nvalue(u); k++) {
    UOp *x = u->src[k];
    const NodeInfo *n = x->op == OP_BUFFER || x->op == OP_CONST || (*budget)-- <= 0 ? NULL : sched_info(s, x);
    if (!n || same_edges(x, sum)) continue;
    Walk w;
    bool later = n->slot < 0 ? waits_for(s, x, sum, budget)
                             : uop_walk(s->ctx, s->arena, 1, &x, NULL, NULL, &w) && sum->epoch == w.epoch;
    if (later) return true;
  }
  return false;
}

/* Does the kernel that computes n come later than the sum that n follows, and would it go through no edges any more,
 * without n and which other sums over edges it computes? */
static bool frees_kernel(Sched *s, const NodeInfo *n, const UOp *sum) {
  int k = n->reader->kernel, budget = NEAR;
  const NodeInfo *kernel = s->info.at[s->work.at[k]];
  if (kernel == n || kernel->node->op == OP_SEGMENT) return false;
  for (int i = 0; i < s->trial.at[k].inlined.n; i++) {
    const NodeInfo *other = s->trial.at[k].inlined.at[i].n;
    if (other->node->op == OP_SEGMENT && other->kind == STORE_NOT && !followed_sum(s, other)) return false;
  }
  return waits_for(s, kernel->node, sum, &budget);
}

bool sched_store_early(Sched *s, bool *changed) {
  if (!s->target->rows_apart) return true;
  for (int i = 0, count = s->info.n; i < count; i++) {
    NodeInfo *n = s->info.at[i];
    bool asked = n->node->op == OP_SEGMENT && n->kind == STORE_NOT && n->readers == 1 && n->reader && !n->reader->next;
    const UOp *sum = asked && has_many_edges(n->node) ? followed_sum(s, n) : NULL;
    if (!sum || !frees_kernel(s, n, sum)) continue;
    NodeInfo *end = early_end(s, n);
    if (!sched_store(s, end->node, STORE_KERNEL, "sum over edges that are read before")) return false;
    end->early = true;
    *changed = true;
  }
  return true;
}
