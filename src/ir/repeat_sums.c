/* repeat_sums.c: sums and joins of copies. In: a program in which loops were found. Out: the same, where a sum of many
 * equal terms over rows is one sum over all of them, and what is joined of many equal parts is computed as a whole:
 *
 *   g[0]^T @ h[0] + g[1]^T @ h[1] + ...     ->     g^T @ h over the rows of all steps
 *   CAT(h[0] * 2, h[1] * 2, ...)            ->     h * 2
 *   PAD(g[0]) + PAD(g[1]) + ...             ->     g, where the parts lie side by side
 *
 * Gradients of weights that copies share, of the rows that they read, and results of every step are such. Terms are
 * added in another order, which rounds differently. */
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

/* ---- parts side by side ---- */

static UOp *known_row(void *user, UOp *u) {
  const Scan *s = user;
  return u->op == OP_ARGUMENT && u->arg.i == s->id ? s->xs[u->arg.j] : NULL;
}

/* [n, ...]: the matched values of all copies, in their order. NULL without an error: some op has no stacked form. */
static UOp *stack_of(Match *m) {
  Scan s = {0};
  if (!match_body(m, &s)) return NULL;
  Stacking how = {.ctx = m->p->ctx, .id = s.id, .length = s.length, .known = known_row, .user = &s};
  UOp *all = stack_value(&how, m->places.at[0]->body);
  return all && s.reverse ? uop_flip(all, 1) : all;
}

/* n equal parts along an axis; NULL without an error: they are not copies. */
static UOp *join_copies(const Sums *s, int n, UOp *const *part, int axis) {
  Match m = {.p = s->p, .n = n};
  bool fits = match_values(&m, part) && m.places.at[0]->kind != PLACE_SAME && part[0]->ndim < MAX_DIMS;
  UOp *all = fits ? stack_of(&m) : NULL, *shape[MAX_DIMS];
  int perm[MAX_DIMS];
  match_free(&m);
  if (all) {
    for (int d = 0; d < all->ndim; d++) perm[d] = d < axis ? d + 1 : d == axis ? 0 : d;
    for (int d = 0; d + 1 < all->ndim; d++) shape[d] = d == axis ? int_mulc(part[0]->shape[d], n) : part[0]->shape[d];
    all = uop_permute(all, perm);
    all = all ? uop_reshape(all, all->ndim - 1, shape) : NULL;
  }
  written_renumber(s->p);
  return all;
}

/* The axis along which the terms, which are PADs of equal parts, have these side by side, in this order or backwards;
 * -1: there is none. */
static int find_side(int n, UOp *const *term) {
  int axis = -1;
  const UOp *a = term[0], *b = term[1];
  for (int k = 0; k < n; k++)
    if (term[k]->op != OP_PAD || !shape_equal(term[k]->src[0], a->src[0]) || !shape_equal(term[k], a)) return -1;
  for (int d = 0; d < a->ndim; d++)
    if (a->src[1 + 2 * d] != b->src[1 + 2 * d]) axis = axis < 0 ? d : a->ndim;
  if (axis < 0 || axis == a->ndim || a->src[0]->shape[axis]->op != OP_CONST || a->shape[axis]->op != OP_CONST)
    return -1;
  int64_t from = a->src[1 + 2 * axis]->arg.i, size = a->src[0]->shape[axis]->arg.i;
  int64_t step = b->src[1 + 2 * axis]->arg.i - from;
  for (int k = 0; k < n; k++)
    for (int d = 0; d < a->ndim; d++) {
      const UOp *before = term[k]->src[1 + 2 * d];
      if (before->op != OP_CONST || before->arg.i != a->src[1 + 2 * d]->arg.i + (d == axis ? step * k : 0)) return -1;
    }
  return step == size || step == -size ? axis : -1;
}

/* The sum of PADs whose parts lie side by side: one PAD of the parts joined. */
static UOp *join_pads(const Sums *s, int n, UOp **term) {
  int axis = n >= REPEAT_LEAST_TERMS ? find_side(n, term) : -1;
  if (axis < 0) return NULL;
  if (term[0]->src[1 + 2 * axis]->arg.i > term[1]->src[1 + 2 * axis]->arg.i)
    for (int k = 0; k < n / 2; k++) {
      UOp *other = term[k];
      term[k] = term[n - 1 - k];
      term[n - 1 - k] = other;
    }
  UOp **part = arena_new(s->p->arena, (size_t)n * sizeof *part), *before[MAX_DIMS], *after[MAX_DIMS];
  for (int k = 0; part && k < n; k++) part[k] = term[k]->src[0];
  UOp *all = part ? join_copies(s, n, part, axis) : NULL;
  for (int d = 0; d < term[0]->ndim; d++) {
    before[d] = term[0]->src[1 + 2 * d];
    after[d] = term[d == axis ? n - 1 : 0]->src[2 + 2 * d];
  }
  return all ? uop_pad(all, before, after) : NULL;
}

/* The parts of a join, and of joins along the same axis inside it. */
static bool list_parts(const Sums *s, UOp *join, NodeList *parts) {
  Base *b = ctx_base(s->p->ctx);
  NodeList stack = {0};
  bool ok = vec_push(b, &stack, join);
  while (ok && stack.n) {
    UOp *u = stack.at[--stack.n];
    bool inner = u == join || (u->op == OP_CAT && u->arg.i == join->arg.i && s->users[u->slot] == 1);
    if (!inner) ok = vec_push(b, parts, u);
    for (int k = u->nsrc; inner && ok && k-- > 0;) ok = vec_push(b, &stack, u->src[k]);
  }
  vec_free(b, &stack);
  return ok;
}

/* A join of equal parts; NULL without an error: it is none. */
static UOp *fold_join(const Sums *s, UOp *join) {
  NodeList parts = {0};
  bool same = list_parts(s, join, &parts) && parts.n >= REPEAT_LEAST_TERMS;
  for (int k = 1; same && k < parts.n; k++) same = shape_equal(parts.at[k], parts.at[0]);
  UOp *all = same ? join_copies(s, parts.n, parts.at, (int)join->arg.i) : NULL;
  vec_free(ctx_base(s->p->ctx), &parts);
  return all;
}

/* ---- sums ---- */

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
  for (int t = 0; t <= MOST_DROPPED && n >= REPEAT_LEAST_TERMS; t++) {
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
  UOp *sum = ok ? join_pads(s, same.n, same.at) : NULL;
  if (ok && !sum && b->code == POLY_OK) sum = sum_of_copies(s, same.n, same.at, &rest);
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
    UOp *u = p->walk.at[i], *join = u->op == OP_CAT && !p->mask[i] ? fold_join(s, u) : NULL;
    if (join) ok = vec_push(b, &s->from, u) && vec_push(b, &s->to, join);
    ok = ok && b->code == POLY_OK;
    if (!ok || !is_sum(p, u)) continue;
    for (int k = 0; k < 2; k++) inner[u->src[k]->slot] |= s->users[u->src[k]->slot] == 1;
    if (inner[i]) continue;
    NodeList terms = {0};
    ok = list_terms(s, u, &terms);
    UOp *sum = ok && terms.n >= REPEAT_LEAST_TERMS ? fold_sum(s, &terms) : NULL;
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
