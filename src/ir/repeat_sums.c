/* repeat_sums.c: sums of copies. In: a program in which loops were found. Out: the same, where a sum of many equal
 * terms over rows is one sum over all of them:
 *
 *   g[0]^T @ h[0] + g[1]^T @ h[1] + ...     ->     g^T @ h over the rows of all steps
 *
 * Gradients of weights that copies share are such sums. Terms are added in another order, which rounds differently. */
#include "ir/repeat_parts.h"

#include "ir/context.h"

enum { MOST_DROPPED = 4 /* terms of a sum that differ from the others, and are added by themselves */ };

typedef struct Sums {
  Written *p;
  int *users;
  NodeList from, to; /* sums, and what they become */
} Sums;

static bool is_sum(const Written *p, const UOp *u) {
  return u->op == OP_ADD && u->ndim && dtype_is_float((PolyDType)u->dtype) && !p->mask[u->slot];
}

static bool count_users(Sums *s) {
  const Written *p = s->p;
  s->users = arena_new(p->arena, (size_t)(p->walk.n + 1) * sizeof *s->users);
  if (!s->users) return false;
  for (int i = 0; i < p->walk.n; i++)
    for (int k = 0; k < p->walk.at[i]->nsrc; k++) s->users[p->walk.at[i]->src[k]->slot]++;
  for (int r = 0; r < p->nroot; r++) s->users[p->root[r]->slot] += 2;
  return true;
}

/* The terms of a sum, from left to right. */
static bool list_terms(const Sums *s, UOp *sum, NodeList *terms) {
  Base *b = ctx_base(s->p->ctx);
  NodeList stack = {0};
  bool ok = vec_push(b, &stack, sum);
  while (ok && stack.n) {
    UOp *u = stack.at[--stack.n];
    bool inner = u == sum || (is_sum(s->p, u) && s->users[u->slot] == 1);
    ok = inner ? vec_push(b, &stack, u->src[1]) && vec_push(b, &stack, u->src[0]) : vec_push(b, terms, u);
  }
  vec_free(b, &stack);
  return ok;
}

static UOp *total_of(Match *m) {
  Scan s = {0};
  if (!match_body(m, &s)) return NULL;
  UOp *out = m->places.at[0]->body;
  s.out = &out;
  s.nout = 1;
  return scan_total(uop_scan(m->p->ctx, &s), out);
}

/* The sum of n terms of one kind; those that turn out to differ go to `rest`. NULL without an error: they do not fit.
 */
static UOp *sum_of_copies(const Sums *s, int n, UOp **term, NodeList *rest) {
  Base *b = ctx_base(s->p->ctx);
  for (int t = 0; t <= MOST_DROPPED && n >= REPEAT_LEAST_STEPS; t++) {
    Match m = {.p = s->p, .n = n};
    bool fits = match_values(&m, term) && m.places.at[0]->kind != PLACE_SAME;
    int bad = m.bad;
    UOp *sum = fits ? total_of(&m) : NULL;
    match_free(&m);
    if (fits) written_renumber(s->p);
    if (fits || bad < 0 || b->code != POLY_OK) return sum;
    if (!vec_push(b, rest, term[bad])) return NULL;
    for (int k = bad; k + 1 < n; k++) term[k] = term[k + 1];
    n--;
  }
  return NULL;
}

/* What a sum is once terms of the kind that is in the middle are one; NULL without an error: nothing better. */
static UOp *fold_sum(const Sums *s, NodeList *terms) {
  Base *b = ctx_base(s->p->ctx);
  NodeList same = {0}, rest = {0};
  uint64_t hash = s->p->own[terms->at[terms->n / 2]->slot];
  bool ok = true;
  for (int k = 0; ok && k < terms->n; k++)
    ok = vec_push(b, s->p->own[terms->at[k]->slot] == hash ? &same : &rest, terms->at[k]);
  UOp *sum = ok ? sum_of_copies(s, same.n, same.at, &rest) : NULL;
  for (int k = 0; sum && k < rest.n; k++) sum = uop_binary(OP_ADD, sum, rest.at[k]);
  vec_free(b, &same);
  vec_free(b, &rest);
  written_renumber(s->p);
  return sum;
}

static bool fold_all(Sums *s) {
  const Written *p = s->p;
  Base *b = ctx_base(p->ctx);
  bool *inner = arena_new(p->arena, (size_t)p->walk.n + 1), ok = inner != NULL;
  for (int i = p->walk.n; ok && i-- > 0;) {
    UOp *u = p->walk.at[i];
    if (!is_sum(p, u)) continue;
    for (int k = 0; k < 2; k++) inner[u->src[k]->slot] |= s->users[u->src[k]->slot] == 1;
    if (inner[i]) continue;
    NodeList terms = {0};
    ok = list_terms(s, u, &terms);
    UOp *sum = ok && terms.n >= REPEAT_LEAST_STEPS ? fold_sum(s, &terms) : NULL;
    vec_free(b, &terms);
    ok = ok && b->code == POLY_OK;
    if (ok && sum) ok = vec_push(b, &s->from, u) && vec_push(b, &s->to, sum);
  }
  return ok;
}

bool repeat_sums(Written *p, bool *changed) {
  Sums s = {.p = p};
  Base *b = ctx_base(p->ctx);
  bool ok = written_read(p) && count_users(&s) && fold_all(&s);
  *changed = s.from.n > 0;
  if (ok && *changed) ok = uop_replace(p->ctx, p->arena, p->nroot, p->root, s.from.n, s.from.at, s.to.at, p->root);
  vec_free(b, &s.from);
  vec_free(b, &s.to);
  return ok;
}
