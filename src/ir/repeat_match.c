/* repeat_match.c: copies of a body side by side. In: the nodes that a chain of copies carries, or values of copies that
 * are asked for. Out: the places of the body (see repeat.h).
 *
 * From the new carried value of each copy it goes down the sources of all copies at once. The last copy that a node
 * depends on says whether it belongs to this copy, to the one before (then it is carried, and its new value is looked
 * at as well) or to none (then it is a row, or is made of rows). This only says where to cut: whether the copies are
 * equal is compared, node by node. */
#include "ir/repeat_parts.h"

#include "ir/context.h"

#include <string.h>

#define ABS(a) ((a) < 0 ? -(a) : (a))

enum {
  MOST_LISTED = 256, /* values that are joined to be the rows of a loop; */
  SMALL = 64         /* elements of one that may always be */
};

static bool differs(Match *m, int copy) {
  m->bad = copy;
  return false;
}

/* ---- places ---- */

static uint64_t key_of(const Match *m, UOp *const *at) {
  const UOp *pair[2] = {at[m->n / 2], at[m->n / 2 - 1]};
  return hash_bytes(pair, sizeof pair, 5);
}

/* The place of these nodes, new or known; -1: an error, or nodes that are known in another place. */
static int place_at(Match *m, UOp *const *at) {
  Base *b = ctx_base(m->p->ctx);
  uint64_t key = key_of(m, at), k;
  if (map_get(&m->index, key, &k)) {
    Place *l = m->places.at[k];
    bool more = false;
    for (int i = 0; i < m->n; i++) {
      if (l->at[i] && at[i] && l->at[i] != at[i]) return differs(m, i), -1;
      more |= !l->at[i] && at[i];
      if (!l->at[i]) l->at[i] = at[i];
    }
    if (more && !vec_push(b, &m->queue, (int)k)) return -1; /* its sources have another copy, too */
    return (int)k;
  }
  if ((m->left -= m->n) < 0) return -1;
  Place *l = arena_new(m->p->arena, sizeof *l);
  UOp **own = arena_new(m->p->arena, (size_t)m->n * sizeof *own);
  if (!l || !own || !vec_push(b, &m->places, l) || !vec_push(b, &m->queue, m->places.n - 1)) return -1;
  memcpy(own, at, (size_t)m->n * sizeof *own);
  *l = (Place){.at = own, .out = -1, .number = -1, .order = at[m->n / 2]->slot};
  return map_put(b, &m->index, key, (uint64_t)(m->places.n - 1)) ? m->places.n - 1 : -1;
}

/* The last copy whose carried value u is or is made of, and the last one that it is made of. */
static int level_of(const Match *m, const UOp *u) { return m->level ? m->level[u->slot] : 0; }

static int level_below(const Match *m, const UOp *u) {
  int level = 0;
  for (int k = 0; k < u->nsrc; k++) level = MAX(level, level_of(m, u->src[k]));
  return level;
}

/* All nodes are known before the loop. */
static bool all_before(Match *m, const Place *l) {
  for (int i = 0; i < m->n; i++)
    if (l->at[i] && level_of(m, l->at[i])) return differs(m, i);
  return true;
}

/* ---- kinds ---- */

static bool is_same(const Match *m, const Place *l) {
  for (int i = 1; i < m->n; i++)
    if (l->at[i] && l->at[i] != l->at[0]) return false;
  return true;
}

static bool shapes_equal(Match *m, const Place *l) {
  const UOp *ref = l->at[m->n / 2];
  for (int i = 0; i < m->n; i++)
    if (l->at[i] && (l->at[i]->dtype != ref->dtype || !shape_equal(l->at[i], ref))) return differs(m, i);
  return true;
}

/* Parts of one value along one axis, each as far from the last. */
static bool find_rows(const Match *m, Place *l) {
  const UOp *ref = l->at[m->n / 2];
  int axis = -1;
  if (ref->op != OP_SHRINK || ref->arg.i || !shapes_equal((Match *)(uintptr_t)m, l)) return false;
  for (int i = 0; i < m->n; i++) {
    const UOp *u = l->at[i];
    if (!u) continue;
    if (u->op != OP_SHRINK || u->arg.i || u->src[0] != ref->src[0] || m->p->mask[u->slot]) return false;
    for (int d = 0; d < u->ndim; d++) {
      if (u->src[1 + 2 * d] == ref->src[1 + 2 * d] && u->src[2 + 2 * d] == ref->src[2 + 2 * d]) continue;
      if ((axis >= 0 && axis != d) || u->src[1 + 2 * d]->op != OP_CONST || ref->src[1 + 2 * d]->op != OP_CONST)
        return false;
      axis = d;
    }
  }
  const UOp *size = axis < 0 ? NULL : ref->src[0]->shape[axis];
  if (!size || size->op != OP_CONST || ref->shape[axis]->op != OP_CONST) return false;
  l->axis = axis;
  l->from = l->at[0]->src[1 + 2 * axis]->arg.i;
  l->step = l->at[1]->src[1 + 2 * axis]->arg.i - l->from;
  for (int i = 0; i < m->n; i++)
    if (l->at[i] && l->at[i]->src[1 + 2 * axis]->arg.i != l->from + l->step * i) return false;
  int64_t part = ref->shape[axis]->arg.i, end = l->from + l->step * (m->n - 1);
  return part > 0 && ABS(l->step) >= part && end >= 0 && end + part <= size->arg.i;
}

static const UOp *unshaped(const UOp *u) {
  while (u->op == OP_RESHAPE) u = u->src[0];
  return u;
}

/* STATES of which u is a row, in some shape; NULL: it is none. */
static UOp *states_of(const UOp *u, int64_t *row) {
  const UOp *part = unshaped(u);
  if (part->op != OP_SHRINK || part->src[0]->op != OP_STATES || part->src[1]->op != OP_CONST) return NULL;
  UOp *states = part->src[0];
  if (!uop_is_int(part->shape[0], 1)) return NULL;
  for (int d = 1; d < states->ndim; d++)
    if (part->shape[d] != states->shape[d]) return NULL;
  *row = part->src[1]->arg.i;
  return states;
}

/* Rows of all states of a carried value, also of the one that its loop begins with, which is a node of its own. */
static bool find_states(const Match *m, Place *l) {
  int64_t row;
  UOp *states = states_of(l->at[m->n / 2], &row);
  if (!states || m->p->mask[states->slot]) return false;
  Scan s = scan_of(states->src[0]);
  const UOp *init = unshaped(s.init[states->arg.i]), *ref = l->at[m->n / 2];
  if (s.length->op != OP_CONST) return false;
  for (int i = 0; i < m->n; i++) {
    int64_t at = s.reverse ? s.length->arg.i : 0;
    const UOp *u = l->at[i];
    if (!u || u->dtype != ref->dtype || !shape_equal(u, ref)) return false;
    if (unshaped(u) != init && states_of(u, &at) != states) return false;
    if (i == 0) l->from = at;
    if (i == 1) l->step = at - l->from;
    if (at != l->from + l->step * i) return false;
  }
  if (l->step != 1 && l->step != -1) return false;
  l->states = states;
  return true;
}

static bool may_be_inside(const UOp *u) {
  switch (u->op) {
  case OP_ASSIGN:
  case OP_COPY:
  case OP_SCAN:
  case OP_FINAL:
  case OP_STATES:
  case OP_STACKED:
  case OP_FUNCTION:
  case OP_ENDPOINT: return false;
  case OP_RANDOM: return true;
  default: return op_info[u->op].cls != CLASS_LEAF && op_info[u->op].cls != CLASS_KERNEL;
  }
}

static bool same_op(const Match *m, const UOp *u, const UOp *ref) {
  int first, n = repeat_values(ref, &first);
  bool same = u->op == ref->op && u->dtype == ref->dtype && u->nsrc == ref->nsrc && u->arg.i == ref->arg.i &&
              u->arg.j == ref->arg.j && u->arg.name == ref->arg.name && shape_equal(u, ref) && !m->p->mask[u->slot];
  for (int k = 0; same && k < u->nsrc; k++)
    if (k < first || k >= n) same = u->src[k] == ref->src[k];
  return same;
}

/* The nodes are one op each; false: the copy `bad` has another. */
static bool find_inside(Match *m, const Place *l) {
  const UOp *ref = l->at[m->n / 2];
  if (!may_be_inside(ref) || m->p->mask[ref->slot]) return differs(m, 0);
  for (int i = 0; i < m->n; i++)
    if (l->at[i] && !same_op(m, l->at[i], ref)) return differs(m, i);
  return true;
}

static bool enter_sources(Match *m, Place *l) {
  const UOp *ref = l->at[m->n / 2];
  int first, n = repeat_values(ref, &first);
  UOp **at = arena_new(m->p->arena, (size_t)m->n * sizeof *at);
  if (!l->src) l->src = arena_new(m->p->arena, (size_t)(n + 1) * sizeof *l->src);
  if (!at || !l->src) return false;
  for (int k = first; k < n; k++) {
    for (int i = 0; i < m->n; i++) at[i] = l->at[i] ? l->at[i]->src[k] : NULL;
    if ((l->src[k] = place_at(m, at)) < 0) return false;
  }
  return true;
}

/* A value that a copy takes from the one before: what that is in each copy is the value of the next. */
static bool enter_carried(Match *m, Place *l) {
  UOp **at = arena_new(m->p->arena, (size_t)m->n * sizeof *at);
  if (!at || !shapes_equal(m, l)) return false;
  if (level_of(m, l->at[0])) return differs(m, 0);
  for (int i = 0; i + 1 < m->n; i++) at[i] = l->at[i + 1];
  if (!at[m->n / 2]) return false;
  l->kind = PLACE_CARRIED;
  return (l->out = place_at(m, at)) >= 0;
}

/* May values of the copies' own be joined, which is a copy of them? Numbers, and inputs of each step that are no larger
 * than what is carried, with as many rows. Layers with weights of their own stay layers. */
static bool may_be_listed(const Match *m, const UOp *u) {
  if (m->n > MOST_LISTED || !m->carried || u->op == OP_SCAN) return false;
  int64_t numel = uop_numel_max((UOp *)(uintptr_t)u);
  if (u->ndim < 2) return numel <= MAX(uop_numel_max(m->carried), SMALL);
  return numel <= uop_numel_max(m->carried) && m->carried->ndim && u->shape[0] == m->carried->shape[0];
}

static bool enter_listed(Match *m, Place *l) {
  if (!shapes_equal(m, l) || !all_before(m, l) || !may_be_listed(m, l->at[m->n / 2])) return false;
  for (int i = 0; i < m->n; i++)
    if (l->at[i] && m->p->mask[l->at[i]->slot]) return false;
  l->kind = PLACE_LISTED;
  return true;
}

static bool enter(Match *m, Place *l) {
  if (l->kind == PLACE_CARRIED) return enter_carried(m, l);
  const UOp *ref = l->at[m->n / 2];
  int level = level_below(m, ref);
  if (is_same(m, l)) return all_before(m, l);
  if (level && level < m->n / 2) return enter_carried(m, l);
  if (level > m->n / 2) return differs(m, -1);
  if (!level && (find_rows(m, l) || find_states(m, l))) {
    l->kind = l->states ? PLACE_STATES : PLACE_ROWS;
    return true;
  }
  if (!find_inside(m, l)) return !level && enter_listed(m, l);
  l->kind = PLACE_INSIDE;
  l->on_carry = level > 0;
  return enter_sources(m, l);
}

/* Places in the order of their nodes: sources first. */
static int *ordered(const Match *m) {
  int n = m->places.n, *order = arena_new(m->p->arena, (size_t)(n + 1) * sizeof *order);
  int *at = arena_new(m->p->arena, (size_t)(m->p->walk.n + 1) * sizeof *at), k = 0;
  int *next = arena_new(m->p->arena, (size_t)(n + 1) * sizeof *next);
  if (!order || !at || !next) return NULL;
  for (int i = 0; i < n; i++) {
    next[i] = at[m->places.at[i]->order];
    at[m->places.at[i]->order] = i + 1;
  }
  for (int s = 0; s < m->p->walk.n; s++)
    for (int i = at[s]; i; i = next[i - 1]) order[k++] = i - 1;
  return order;
}

static void measure(const Match *m, Place *l) {
  const UOp *ref = l->at[m->n / 2];
  int first, n = repeat_values(ref, &first);
  l->heavy = ref->op == OP_REDUCE || ref->op == OP_SEGMENT || ref->op == OP_LIBRARY;
  l->per_edge = ref->op == OP_GATHER && ref->src[1]->op == OP_ENDPOINT;
  for (int k = first; k < n; k++) {
    l->heavy |= m->places.at[l->src[k]]->heavy;
    l->per_edge |= m->places.at[l->src[k]]->per_edge && ref->op != OP_SEGMENT;
  }
}

static bool run(Match *m) {
  bool ok = true;
  while (ok && m->queue.n) ok = enter(m, m->places.at[m->queue.at[--m->queue.n]]);
  if (!ok || !(m->order = ordered(m))) return false;
  for (int turn = 0; turn < 2; turn++) /* what is carried may have a value of each edge, too */
    for (int i = 0; i < m->places.n; i++) {
      Place *l = m->places.at[m->order[i]];
      if (l->kind == PLACE_INSIDE) measure(m, l);
      if (l->kind == PLACE_CARRIED) l->per_edge = m->places.at[l->out]->per_edge;
    }
  return true;
}

/* What a kernel over edges does besides sums of weighted values of nodes is fused, or done by tiles, which a loop does
 * not do. */
static bool is_of_edges(const Match *m, const Place *l) {
  const UOp *u = l->at[m->n / 2];
  if (u->op == OP_SEGMENT) return u->arg.i != OP_ADD && m->places.at[l->src[0]]->per_edge;
  if (!l->per_edge || u->op == OP_GATHER || op_info[u->op].cls == CLASS_MOVE) return false;
  return u->op != OP_MUL && u->op != OP_ADD && u->op != OP_SUB && u->op != OP_CAST;
}

bool match_is_worth(const Match *m) {
  bool stores = false;
  int moves = 0;
  for (int i = 0; i < m->places.n; i++) {
    const Place *l = m->places.at[i];
    if (l->kind != PLACE_INSIDE || !l->on_carry) continue;
    const UOp *u = l->at[m->n / 2];
    if (is_of_edges(m, l)) return false;
    stores |= repeat_stores(u);
    moves += u->op == OP_SHRINK || u->op == OP_PAD;
  }
  return stores || moves > 1; /* elementwise steps fuse, unless they read what lies around an element, as stencils do */
}

bool match_chain(Match *m, UOp *const *chain) {
  m->bad = -1;
  m->left = 4 * (int64_t)m->p->walk.n + 4096;
  m->carried = chain[0];
  if (place_at(m, chain) < 0) return false;
  m->places.at[0]->kind = PLACE_CARRIED;
  if (place_at(m, chain + 1) < 0) return false;
  m->places.at[0]->out = 1;
  return run(m);
}

bool match_values(Match *m, UOp *const *value) {
  m->bad = -1;
  m->left = 4 * (int64_t)m->p->walk.n + 4096;
  return place_at(m, value) >= 0 && run(m);
}

void match_free(Match *m) {
  Base *b = ctx_base(m->p->ctx);
  vec_free(b, &m->places);
  vec_free(b, &m->queue);
  map_free(b, &m->index);
}

/* ---- what the places are in a loop ---- */

/* Row t of a loop is copy t, or the other way round in a reversed one. */
static UOp *row_of(const Match *m, const Place *l, int t, bool reverse) {
  int i = reverse ? m->n - 1 - t : t;
  while (!l->at[i]) i--; /* nobody needs what is made of it */
  return l->at[i];
}

static UOp *as_row(UOp *u) {
  if (!u || u->ndim == MAX_DIMS) return NULL;
  UOp *shape[MAX_DIMS] = {uop_index(u->ctx, 1)};
  for (int d = 0; d < u->ndim; d++) shape[1 + d] = u->shape[d];
  return uop_reshape(u, u->ndim + 1, shape);
}

static UOp *join_rows(const Match *m, const Place *l, bool reverse) {
  UOp *all[MOST_LISTED];
  int n = m->n;
  for (int t = 0; t < n; t++)
    if (!(all[t] = as_row(row_of(m, l, t, reverse)))) return NULL;
  while (n > 1) {
    int made = 0;
    for (int t = 0; t < n; t += UOP_MAX_PARTS, made++)
      if (!(all[made] = uop_cat(MIN(UOP_MAX_PARTS, n - t), all + t, 0))) return NULL;
    n = made;
  }
  return all[0];
}

static UOp *stack_states(const Match *m, const Place *l, bool reverse) {
  const UOp *ref = l->at[m->n / 2];
  int64_t low = MIN(l->from, l->from + l->step * (m->n - 1));
  UOp *rows = scan_rows(l->states, uop_index(ref->ctx, low), uop_index(ref->ctx, low + m->n)), *shape[MAX_DIMS];
  if (!rows || ref->ndim == MAX_DIMS) return NULL;
  shape[0] = rows->shape[0];
  for (int d = 0; d < ref->ndim; d++) shape[1 + d] = ref->shape[d];
  rows = uop_reshape(rows, ref->ndim + 1, shape);
  return reverse == (l->step < 0) ? rows : uop_flip(rows, 1);
}

/* [n, ...] of parts that lie `step` apart: the axis is cut into blocks of that many, of which the beginning is taken.
 */
static UOp *stack_parts(const Match *m, const Place *l, bool reverse) {
  const UOp *ref = l->at[m->n / 2];
  UOp *x = ref->src[0], *zero = uop_index(x->ctx, 0), *a[MAX_DIMS], *b[MAX_DIMS];
  int64_t block = ABS(l->step), from = MIN(l->from, l->from + l->step * (m->n - 1)), end = from + block * m->n;
  int64_t size = x->shape[l->axis]->arg.i, missing = MAX(end - size, 0);
  int perm[MAX_DIMS], n = ref->ndim;
  if (n == MAX_DIMS) return NULL;
  for (int d = 0; d < n; d++) {
    a[d] = d == l->axis ? uop_index(x->ctx, from) : ref->src[1 + 2 * d];
    b[d] = d == l->axis ? uop_index(x->ctx, end - missing) : ref->src[2 + 2 * d];
  }
  x = uop_shrink(x, a, b);
  for (int d = 0; d < n; d++) {
    a[d] = zero;
    b[d] = d == l->axis ? uop_index(zero->ctx, missing) : zero;
  }
  if (missing) x = uop_pad(x, a, b);
  for (int d = 0; d <= n; d++) {
    b[d] = d < l->axis        ? ref->shape[d]
           : d == l->axis     ? uop_index(zero->ctx, m->n)
           : d == l->axis + 1 ? uop_index(zero->ctx, block)
                              : ref->shape[d - 1];
    perm[d] = d == 0 ? l->axis : d <= l->axis ? d - 1 : d;
  }
  x = uop_permute(uop_reshape(x, n + 1, b), perm);
  for (int d = 0; d <= n; d++) {
    a[d] = zero;
    b[d] = d ? ref->shape[d - 1] : uop_index(zero->ctx, m->n);
  }
  x = uop_shrink(x, a, b);
  return reverse == (l->step < 0) ? x : uop_flip(x, 1);
}

static bool has_rows(const Place *l) { return l->kind == PLACE_ROWS || l->kind == PLACE_STATES; }

static bool is_reversed(const Match *m) {
  double up = 0, down = 0;
  for (int i = 0; i < m->places.n; i++) {
    const Place *l = m->places.at[i];
    if (!has_rows(l)) continue;
    double numel = (double)uop_numel_max(l->at[0]);
    *(l->step < 0 ? &down : &up) += numel;
  }
  return down > up;
}

/* Numbers the arguments: carried values, then rows. */
static bool number_places(Match *m, Scan *s) {
  size_t room = (size_t)(m->places.n + 1) * sizeof(UOp *);
  UOp **init = arena_new(m->p->arena, room), **xs = arena_new(m->p->arena, room);
  if (!init || !xs) return false;
  for (int i = 0; i < m->places.n; i++)
    if (m->places.at[i]->kind == PLACE_CARRIED) init[m->places.at[i]->number = s->ncarry++] = m->places.at[i]->at[0];
  s->init = init;
  s->xs = xs;
  for (int i = 0; i < m->places.n; i++) {
    Place *l = m->places.at[i];
    if (!has_rows(l) && l->kind != PLACE_LISTED) continue;
    UOp *all = l->kind == PLACE_ROWS     ? stack_parts(m, l, s->reverse)
               : l->kind == PLACE_STATES ? stack_states(m, l, s->reverse)
                                         : join_rows(m, l, s->reverse);
    if (!all) return false;
    l->number = s->ncarry + s->nx;
    xs[s->nx++] = all;
  }
  return true;
}

/* A number that every copy has another of is a scalar in the loop, which ops do not broadcast by themselves. */
static UOp *source_in_body(const UOp *user, const UOp *was, UOp *u) {
  bool spread = u && was != u && u->ndim == 0 && user->ndim && op_elementwise((Op)user->op);
  return spread ? uop_spread(u, user->ndim, user->shape) : u;
}

static UOp *inside_body(const Match *m, const Place *l) {
  UOp *ref = l->at[m->n / 2];
  UOp **src = arena_new(m->p->arena, (size_t)(ref->nsrc + 1) * sizeof *src);
  int first, n = repeat_values(ref, &first);
  if (!src) return NULL;
  for (int k = 0; k < ref->nsrc; k++) {
    bool value = k >= first && k < n;
    src[k] = value ? source_in_body(ref, ref->src[k], m->places.at[l->src[k]]->body) : ref->src[k];
    if (!src[k]) return NULL;
  }
  UOp *u = uop_with_sources(ref, src);
  if (u && !u->origin) u->origin = ref->origin;
  return u;
}

bool match_body(Match *m, Scan *s) {
  s->id = m->p->next_id;
  s->reverse = is_reversed(m);
  s->length = uop_index(m->p->ctx, m->n);
  if (!s->length || !number_places(m, s)) return false;
  for (int i = 0; i < m->places.n; i++) {
    Place *l = m->places.at[i];
    UOp *ref = l->at[m->n / 2];
    if (l->kind == PLACE_SAME)
      l->body = ref;
    else if (l->kind != PLACE_INSIDE)
      l->body = uop_argument(m->p->ctx, s->id, l->number, (PolyDType)ref->dtype, ref->ndim, ref->shape);
    if (l->kind != PLACE_INSIDE && !l->body) return false;
  }
  for (int i = 0; i < m->places.n; i++) {
    Place *l = m->places.at[m->order[i]];
    if (l->kind == PLACE_INSIDE && !(l->body = inside_body(m, l))) return false;
  }
  return true;
}
