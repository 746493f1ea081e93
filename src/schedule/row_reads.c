/* row_reads.c: what a sum over edges adds up of values that are read at one end of each edge is added up at the nodes.
 * In: the program. Out: the same, with
 *
 *   SEGMENT(dst(u) * (x - dst(v)) + .. + dst(w))    ->    SEGMENT(dst(u) * x + .. + dst(w - u * v))
 *
 * The gradient of several reductions of the same messages is such a sum: of a variance (u is its gradient, v the mean)
 * and of a mean (w). An array less is read for each edge. The difference from the mean is no more exact than its terms:
 * the mean is rounded as well, and so is u * v, to a part of the same size. */
#include "schedule/row_reads.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "ir/rewrite.h"

enum { MOST_ADDED = 16 };

typedef struct Term {
  UOp *value;
  bool minus;
} Term;

typedef struct Terms {
  const Map *users;
  Term at[MOST_ADDED];
  int n;
} Terms;

static bool is_shared(const Terms *t, const UOp *u) {
  uint64_t users = 0;
  return map_get(t->users, (uint64_t)(uintptr_t)u, &users) && users > 1;
}

/* Lists what u adds up. False: there are too many terms. */
static bool list_terms(Terms *t, UOp *u, bool minus, bool top) {
  bool open = !u->buffer && (top || !is_shared(t, u));
  if (open && u->op == OP_NEG) return list_terms(t, u->src[0], !minus, false);
  if (open && (u->op == OP_ADD || u->op == OP_SUB))
    return list_terms(t, u->src[0], minus, false) && list_terms(t, u->src[1], minus ^ (u->op == OP_SUB), false);
  if (t->n == MOST_ADDED) return false;
  t->at[t->n++] = (Term){u, minus};
  return true;
}

static bool reads_end(const UOp *u, const UOp *end) { return is_row_read(u) && u->src[1] == end; }

/* end(u) * (x - end(v)), with x no value of that end. */
typedef struct Distance {
  UOp *x, *u, *v, *end;
} Distance;

static bool is_distance(const UOp *t, Distance *d) {
  if (t->op != OP_MUL || t->buffer) return false;
  for (int k = 0; k < 2; k++) {
    const UOp *read = t->src[k], *away = t->src[!k];
    if (!is_row_read(read) || away->op != OP_SUB || away->buffer) continue;
    *d = (Distance){away->src[0], read->src[0], away->src[1]->src[0], read->src[1]};
    if (reads_end(away->src[1], d->end) && !reads_end(d->x, d->end)) return true;
  }
  return false;
}

static UOp *add_term(UOp *sum, UOp *x, bool minus) {
  if (sum) return uop_binary(minus ? OP_SUB : OP_ADD, sum, x);
  return minus ? uop_unary(OP_NEG, x) : x;
}

/* How many values of the end are read that would be one. */
static int count_reads(const Terms *t, const UOp *end) {
  Distance d;
  int n = 0;
  for (int i = 0; i < t->n; i++)
    n += reads_end(t->at[i].value, end) || (is_distance(t->at[i].value, &d) && d.end == end);
  return n;
}

/* The sum of the terms with one value of the end for all that are read of it. */
static UOp *merged(const Terms *t, UOp *end) {
  UOp *rows = NULL, *edges = NULL;
  Distance d;
  for (int i = 0; i < t->n; i++) {
    const Term *one = &t->at[i];
    if (reads_end(one->value, end)) {
      rows = add_term(rows, one->value->src[0], one->minus);
    } else if (is_distance(one->value, &d) && d.end == end) {
      rows = add_term(rows, uop_binary(OP_MUL, d.u, d.v), !one->minus);
      edges = add_term(edges, uop_binary(OP_MUL, uop_gather(d.u, end), d.x), one->minus);
    } else {
      edges = add_term(edges, one->value, one->minus);
    }
    if (ctx_base(end->ctx)->code != POLY_OK) return NULL;
  }
  UOp *read = uop_gather(rows, end);
  return edges ? uop_binary(OP_ADD, edges, read) : read;
}

static UOp *merge_reads(UOp *u, void *user) {
  Terms t = {.users = user};
  Distance d;
  bool sum = u->arg.i == OP_ADD && u->src[1]->op == OP_ENDPOINT && dtype_is_float((PolyDType)u->dtype);
  if (!sum || !list_terms(&t, u->src[0], false, true)) return u;
  for (int i = 0; i < t.n; i++)
    if (is_distance(t.at[i].value, &d) && d.end != u->src[1] && count_reads(&t, d.end) > 1)
      return uop_segment(OP_ADD, merged(&t, d.end), u->src[1], u->shape[0]);
  return u;
}

/* A node over new sources has the users that it had. */
static bool carry_users(const UOp *from, const UOp *to, void *user) {
  Map *users = user;
  uint64_t n;
  if (!map_get(users, (uint64_t)(uintptr_t)from, &n)) return true;
  return map_put(ctx_base(to->ctx), users, (uint64_t)(uintptr_t)to, n);
}

bool row_reads_merge(PolyContext *ctx, Arena *arena, int nroot, UOp **root) {
  static const RewriteRule rules[] = {{OP_SEGMENT, merge_reads}};
  static const RewritePass pass = {
      .name = "values read at one end", .rules = rules, .nrule = LEN(rules), .rebuilt = carry_users};
  Map users = {0};
  Walk walk;
  bool ok = uop_walk(ctx, arena, nroot, root, NULL, NULL, &walk), any = false;
  for (int i = 0; ok && i < walk.n; i++) {
    const UOp *u = walk.at[i];
    any |= u->op == OP_SEGMENT;
    for (int k = 0; ok && k < u->nsrc; k++) {
      uint64_t n = 0, key = (uint64_t)(uintptr_t)u->src[k];
      if (!op_elementwise((Op)u->src[k]->op)) continue;
      map_get(&users, key, &n);
      ok = map_put(ctx_base(ctx), &users, key, n + 1);
    }
  }
  ok = ok && (!any || rewrite_graphs(ctx, &pass, &users, nroot, root));
  map_free(ctx_base(ctx), &users);
  return ok;
}
