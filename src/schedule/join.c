/* join.c: drafts that become one kernel.
 *
 * Absorbing. A value for each outer iteration of a kernel, such as the largest score of each row for the softmax that
 * is made of it, may be stored only because others read it as well. Then the kernel that reads it at its own place
 * computes it, beside its inner loops, and stores it there:
 *
 *   for v: m = max ..; store m[v]                   for v: m = max ..; store m[v]
 *   for v: for f: store out[v, f] = .. m[v] ..  ->         for f: store out[v, f] = .. m ..
 *
 * The same for a value of each edge, such as the score that several loops read: the first loop over the edges of each
 * row that reads it computes it and stores it, and later loops and kernels load it.
 *
 * Joining. Kernels of equal loops that share inputs, and of which neither needs the other, run in one. */
#include "schedule/drafts.h"

#include "ir/context.h"
#include "ir/index.h"

#include <string.h>

enum { JOIN_WINDOW = 64 };

static bool is_split(const NodeInfo *n) {
  for (int i = 0; i < n->node->ndim; i++)
    if (n->split[i]) return true;
  return false;
}

/* May its kernel store something else as well? Not if it computes a product in tiles. */
static bool may_join(const Draft *x) {
  bool any = x->kind == STORE_KERNEL && x->part < 0;
  for (int o = 0; o < x->nout; o++) any &= x->out[o]->hold == HOLD_ANYTHING && !x->out[o]->product && !x->out[o]->tiled;
  return any;
}

/* Could all outputs walk their axes as b's do, or do they? Those of another shape, which are stored at some of the
 * loops, do not follow. */
static bool can_split_as(const Draft *a, const NodeInfo *b) {
  bool same = !is_split(b) || shape_equal(a->out[0]->node, b->node); /* what split says depends on the shape */
  if (same && memcmp(a->out[0]->split, b->split, sizeof b->split) == 0) return true;
  bool all = !is_split(a->out[0]) && is_split(b);
  for (int o = 0; o < a->nout; o++) all &= shape_equal(a->out[o]->node, b->node) && !a->by_edge[o];
  return all;
}

static bool same_loops(const Draft *a, const Draft *b) {
  const NodeInfo *x = a->out[0], *y = b->out[0];
  return may_join(a) && may_join(b) && shape_equal(x->node, y->node) && (can_split_as(a, y) || can_split_as(b, x));
}

/* Outputs of equal loops walk their axes in the same way. */
static void share_split(NodeInfo *a, NodeInfo *b) {
  if (!shape_equal(a->node, b->node)) return;
  if (is_split(a))
    memcpy(b->split, a->split, sizeof b->split);
  else
    memcpy(a->split, b->split, sizeof a->split);
}

static bool share_input(const Draft *a, const Draft *b) {
  for (int i = 0; i < a->reads.n; i++)
    if (reads_slot(b, a->reads.at[i])) return true;
  return false;
}

/* Outputs of y behind those of x. */
static void add_outputs(Draft *x, const Draft *y) {
  for (int o = 0; o < y->nout; o++) {
    x->out[x->nout] = y->out[o];
    x->by_edge[x->nout] = y->by_edge[o];
    x->target[x->nout++] = y->target[o];
  }
  x->absorbed |= y->absorbed;
}

/* Can the kernel of x be written, and does it read what it overwrites only at the place that it writes? `reads` gets
 * the slots that it reads. */
static bool kernel_is_sound(Sched *s, const Draft *x, IntVec *reads) {
  Base *b = ctx_base(s->ctx);
  Lower l;
  UOp *store[MAX_OUTPUTS];
  bool sound = lower_kernel(s, &l, x, store);
  for (int o = 0; o < x->nout && sound; o++)
    sound = s->slot.at[x->target[o]].kind != SLOT_INPUT || !overwrites_early(b, x->nout, store, o);
  for (int i = x->nout; i < l.param.n && sound; i++) sound = vec_push(b, reads, l.param.at[i]);
  lower_end(&l);
  if (b->code == POLY_ERROR_RUNTIME) base_clear(b); /* it was only tried */
  return sound;
}

/* ---- who reads what ---- */

/* Which drafts read each slot: a list of them for each slot that there was when joining began. */
typedef struct User {
  int draft, next; /* the next one of the slot, -1: none */
} User;

typedef struct Users {
  int *first, nslot;
  VEC(User) at;
} Users;

static bool add_user(Sched *s, Users *u, int slot, int draft) {
  if (slot >= u->nslot) return true; /* an input, which no draft writes */
  User one = {draft, u->first[slot]};
  u->first[slot] = u->at.n;
  return vec_push(ctx_base(s->ctx), &u->at, one);
}

static bool list_users(Sched *s, const Drafts *d, Users *u) {
  *u = (Users){.nslot = s->slot.n, .first = arena_new(s->arena, ((size_t)s->slot.n + 1) * sizeof(int))};
  if (!u->first) return false;
  for (int k = 0; k < u->nslot; k++) u->first[k] = -1;
  for (int i = 0; i < d->at.n; i++)
    for (int r = 0; !d->at.at[i]->dead && r < d->at.at[i]->reads.n; r++)
      if (!add_user(s, u, d->at.at[i]->reads.at[r], i)) return false;
  return true;
}

/* Joining in progress. */
typedef struct Joining {
  Sched *s;
  Drafts *d;
  Order *o;
  Users users;
} Joining;

/* Does any draft write the slot? */
static bool is_written(const Joining *j, int slot) {
  for (int i = 0; i < j->d->at.n; i++)
    for (int o = 0; !j->d->at.at[i]->dead && o < j->d->at.at[i]->nout; o++)
      if (j->d->at.at[i]->target[o] == slot) return true;
  return map_get(&j->d->writer, (uint64_t)slot, NULL); /* another result of a loop */
}

/* Is there an order in which a and b, with what they read now, can be one? Then that is the order. direct: a may not
 * read what b makes. */
static bool order_again(Joining *j, int a, int b, bool direct) {
  Order now;
  int bad = find_order(j->s, j->d) ? sort_drafts(j->s, j->d, &now) : -2;
  if (bad != -1 || depends(j->s, j->d, &now, a, b, direct) || depends(j->s, j->d, &now, b, a, true)) return false;
  *j->o = now;
  return true;
}

/* A kernel of a and b may read what neither reads alone: a value at an edge whose number is loaded is computed with
 * other indices than in a loop of its own, and of a CAT it may be in any part. Those slots become reads of a. False:
 * it would have to run before what makes one of them, or after what overwrites it. */
static bool read_more(Joining *j, int a, int b, const IntVec *reads, bool direct) {
  Draft *x = j->d->at.at[a];
  int had = x->reads.n;
  bool written = false, ok = true;
  for (int i = 0; i < reads->n && ok; i++) {
    if (reads_slot(x, reads->at[i]) || reads_slot(j->d->at.at[b], reads->at[i])) continue;
    written |= is_written(j, reads->at[i]);
    ok = add_read(j->s, x, reads->at[i]);
  }
  if (ok && written && !order_again(j, a, b, direct)) {
    x->reads.n = had;
    find_order(j->s, j->d); /* as before */
    return false;
  }
  for (int i = had; i < x->reads.n && ok; i++) ok = add_user(j->s, &j->users, x->reads.at[i], a);
  return ok;
}

/* Can `both`, which is a and b as one, be written, and be ordered? */
static bool fits_as_one(Joining *j, int a, int b, const Draft *both, bool direct) {
  IntVec reads = {0};
  bool fits = kernel_is_sound(j->s, both, &reads) && read_more(j, a, b, &reads, direct);
  vec_free(ctx_base(j->s->ctx), &reads);
  return fits;
}

/* Reads and outputs of b move into a. In-place writes are safe: joined kernels load before they store, at one index. */
static bool join(Joining *j, int a, int b) {
  Sched *s = j->s;
  Drafts *d = j->d;
  Draft *x = d->at.at[a], *y = d->at.at[b];
  for (int i = 0; i < y->reads.n; i++)
    if (!add_read(s, x, y->reads.at[i])) return false;
  for (int k = 0; k < y->nout; k++) share_split(x->out[0], y->out[k]);
  for (int k = 0; k < x->nout; k++) share_split(x->out[0], x->out[k]);
  add_outputs(x, y);
  for (int k = 0; k < y->nout; k++)
    if (y->target[k] == y->out[k]->slot && !map_put(ctx_base(s->ctx), &d->writer, (uint64_t)y->target[k], (uint64_t)a))
      return false;
  y->dead = true;
  y->merged = a;
  return order_merge(s, d, j->o, a, b);
}

static bool overwrites_read(const Sched *s, const Draft *a, const Draft *b) {
  for (int o = 0; o < a->nout; o++)
    if (s->slot.at[a->target[o]].kind == SLOT_INPUT && reads_slot(b, a->target[o])) return true;
  return false;
}

/* Would a and b, in one kernel, be in each other's way? In-place writes of one and reads of the other are safe at one
 * index only, and what is stored from inside a loop over edges needs its loops to stay as they are. */
static bool in_conflict(Joining *j, int a, int b) {
  const Draft *x = j->d->at.at[a], *y = j->d->at.at[b];
  bool ask = overwrites_read(j->s, x, y) || overwrites_read(j->s, y, x);
  for (int o = 0; o < x->nout; o++) ask |= x->by_edge[o];
  for (int o = 0; o < y->nout; o++) ask |= y->by_edge[o];
  Draft both = *x;
  add_outputs(&both, y);
  return ask && !fits_as_one(j, a, b, &both, true);
}

/* ---- absorbing ---- */

bool draft_makes(const Draft *x, const NodeInfo *n) {
  for (int o = 0; o < x->nout; o++)
    if (x->out[o] == n && !x->by_edge[o]) return true;
  return false;
}

/* The index of node at the outer loops of a kernel: one of its outermost ranges for each axis longer than 1. */
static UOp *outer_index(const UOp *store, UOp *node) {
  UOp *idx[MAX_DIMS], *zero = uop_index(node->ctx, 0);
  int k = 3;
  for (int d = 0; d < node->ndim; d++) {
    idx[d] = zero;
    if (uop_is_int(node->shape[d], 1)) continue;
    if (k == store->nsrc || store->src[k]->src[1] != node->shape[d]) return NULL;
    idx[d] = store->src[k++];
  }
  return k > 3 ? index_flat(node, idx) : NULL;
}

/* Does the kernel of n read what is in `slot` nowhere but at its own outer loops? */
static bool reads_in_place(Sched *s, NodeInfo *n, UOp *node, int slot) {
  Base *b = ctx_base(s->ctx);
  Lower l;
  UOp *store;
  bool fits = lower_part(s, &l, n, -1, &store);
  UOp *at = fits ? outer_index(store, node) : NULL;
  fits = at != NULL;
  for (int i = 1; fits && i < l.param.n; i++) {
    Map seen = {0};
    if (l.param.at[i] == slot) fits = !reads_elsewhere(store->src[1], i, at, &seen, b);
    map_free(b, &seen);
  }
  lower_end(&l);
  return fits;
}

static bool plain_kernel(const Draft *x) {
  return !x->dead && may_join(x) && !x->copy && x->out[0]->node->op != OP_ASSIGN;
}

/* The end of the edges whose rows the kernel of x reduces, or NULL. Looked for among the nearest sources. */
static const UOp *rows_of(Sched *s, const Draft *x) {
  enum { NEAR = 64 };
  UOp *near[NEAR] = {x->out[0]->node};
  for (int i = 0, n = 1; i < n; i++) {
    if (near[i]->op == OP_SEGMENT) return near[i]->src[1];
    for (int k = 0; k < uop_nvalue(near[i]) && k < near[i]->nsrc && n < NEAR; k++)
      if (sched_info(s, near[i]->src[k])->kind == STORE_NOT) near[n++] = near[i]->src[k];
  }
  return NULL;
}

/* Has x loops inside those of p, which walks rows? Or does it walk rows, and p reduces values of a row that lie side by
 * side: the threads of x are not side by side there. */
static bool keeps_rows_apart(Sched *s, const Draft *x, const Draft *p) {
  if (!s->target->rows_apart) return false;
  if (uop_numel_max(x->out[0]->node) > uop_numel_max(p->out[0]->node) && rows_of(s, p)) return true;
  return p->out[0]->node->op == OP_REDUCE && rows_of(s, x) && !rows_of(s, p);
}

/* Do both walk rows, of two ends? They would have no loop in common, and what both read and store would be in memory at
 * the same time. On GPUs, threads side by side would have rows of like length at one of them only. */
static bool walk_two_ends(Sched *s, const Draft *a, const Draft *b) {
  const UOp *x = rows_of(s, a), *y = x ? rows_of(s, b) : NULL;
  return y && x != y;
}

/* Does the kernel of x, which stores values of edges from inside its loops, read what p stores nowhere but at its own
 * outer loops? */
static bool by_edge_in_place(Sched *s, const Draft *x, const Draft *p) {
  Base *b = ctx_base(s->ctx);
  Lower l;
  UOp *store[MAX_OUTPUTS];
  bool fits = lower_kernel(s, &l, x, store);
  for (int o = 0; fits && o < p->nout; o++) {
    const UOp *at = outer_index(store[0], p->out[o]->node);
    fits = at != NULL;
    for (int i = 0; fits && i < l.param.n; i++) {
      Map seen = {0};
      for (int k = 0; k < x->nout && l.param.at[i] == p->target[o]; k++)
        fits &= !reads_elsewhere(store[k]->src[1], i, at, &seen, b);
      map_free(b, &seen);
    }
  }
  lower_end(&l);
  if (b->code == POLY_ERROR_RUNTIME) base_clear(b); /* it was only tried */
  return fits;
}

/* Could it be a value for each entry of a segment loop? */
static bool entry_sized(const Sched *s, const UOp *u) {
  for (int i = 0; u->ndim && i < s->segments.n; i++)
    if (s->segments.at[i] == u->shape[0]) return true;
  return false;
}

/* Does p read values of edges that are computed before? Its own loop may store them: that of x, which stores others,
 * may not. */
static bool reads_entries(const Sched *s, const Draft *p) {
  for (int i = 0; i < p->reads.n; i++) {
    const Slot *t = &s->slot.at[p->reads.at[i]];
    if (t->kind == SLOT_TEMP && entry_sized(s, t->node)) return true;
  }
  return false;
}

/* May x compute what p stores? */
static bool can_absorb(Sched *s, const Draft *x, const Draft *p) {
  bool by_edge = false;
  if (x->nout + p->nout > max_stored(s)) return false;
  for (int k = 0; k < x->nout; k++) by_edge |= x->by_edge[k];
  for (int o = 0; o < p->nout; o++) {
    NodeInfo *n = p->out[o];
    if (p->by_edge[o] || n->node->op == OP_ASSIGN || p->target[o] != n->slot) return false;
    for (int k = 0; k < x->nout && !by_edge; k++)
      if (!reads_in_place(s, x->out[k], n->node, n->slot)) return false;
  }
  return !by_edge || (!reads_entries(s, p) && by_edge_in_place(s, x, p));
}

/* Does the kernel of n, alone, read what is in `slot`? Yes, too, if that cannot be found out. */
static bool kernel_reads(Sched *s, NodeInfo *n, int slot) {
  Lower l;
  UOp *store;
  bool reads = !lower_part(s, &l, n, -1, &store);
  for (int i = 0; !reads && i < l.param.n; i++) reads = l.param.at[i] == slot;
  lower_end(&l);
  return reads;
}

/* May x store what p computes for each edge? */
static bool can_store_by_edge(Sched *s, const Draft *x, const Draft *p) {
  NodeInfo *n = p->out[0];
  if (x->nout == MAX_STORED || p->target[0] != n->slot) return false;
  for (int k = 0; k < x->nout; k++) /* one that is stored so itself must not read it */
    if (x->by_edge[k] && kernel_reads(s, x->out[k], n->slot)) return false;
  return true;
}

/* Can x be written and ordered with what p computes, which it may? */
static bool fits_absorbed(Joining *j, int x, int p, bool by_edge) {
  Draft both = *j->d->at.at[x];
  int at = both.nout;
  add_outputs(&both, j->d->at.at[p]);
  both.absorbed = true;
  both.by_edge[at] = by_edge;
  return fits_as_one(j, x, p, &both, false);
}

/* The draft that reads what p stores and comes next in the order behind `place`; -1: there is none. */
static int next_reader(const Joining *j, const Draft *p, int place) {
  const Users *u = &j->users;
  int next = -1;
  for (int t = 0; t < p->nout; t++)
    for (int k = u->first[p->target[t]]; k >= 0; k = u->at.at[k].next) {
      int x = draft_now(j->d, u->at.at[k].draft), at = j->o->place[x];
      if (at <= place || (next >= 0 && at >= j->o->place[next])) continue;
      if (reads_slot(j->d->at.at[x], p->target[t])) next = x;
    }
  return next;
}

/* Are the sizes of what p computes those of the outermost loops of x? Asked before anything is lowered. */
static bool fits_outer_loops(const Draft *x, const Draft *p) {
  const UOp *loops = x->out[0]->node;
  for (int o = 0; o < p->nout; o++) {
    const UOp *u = p->out[o]->node;
    if (p->out[o]->cost < COST_LIMIT) return false;
    for (int i = 0, k = 0; i < u->ndim && !is_split(x->out[0]); i++) {
      if (uop_is_int(u->shape[i], 1)) continue;
      while (k < loops->ndim && uop_is_int(loops->shape[k], 1)) k++;
      if (k == loops->ndim || loops->shape[k++] != u->shape[i]) return false;
    }
  }
  return true;
}

/* The first reader of p that may take it in; -1: there is none. */
static int find_absorber(Joining *j, int p, bool *by_edge) {
  Sched *s = j->s;
  const Draft *y = j->d->at.at[p];
  if (!plain_kernel(y) || y->out[0]->forms_dots) return -1;
  for (int r = next_reader(j, y, j->o->place[p]); r >= 0; r = next_reader(j, y, j->o->place[r])) {
    const Draft *x = j->d->at.at[r];
    bool rows = fits_outer_loops(x, y) && !keeps_rows_apart(s, x, y);
    bool entries = !s->target->rows_apart && y->nout == 1 && entry_sized(s, y->out[0]->node);
    if (!plain_kernel(x) || (!rows && !entries) || walk_two_ends(s, x, y) || depends(s, j->d, j->o, r, p, false))
      continue;
    *by_edge = false;
    if (rows && can_absorb(s, x, y) && fits_absorbed(j, r, p, false)) return r;
    *by_edge = true;
    if (ctx_base(s->ctx)->code != POLY_OK) return -1;
    if (entries && can_store_by_edge(s, x, y) && fits_absorbed(j, r, p, true)) return r;
  }
  return -1;
}

/* Without the slots that the draft itself writes. */
static void drop_own_reads(Draft *x) {
  int n = 0;
  for (int i = 0; i < x->reads.n; i++) {
    bool own = false;
    for (int o = 0; o < x->nout; o++) own |= x->reads.at[i] == x->target[o];
    if (!own) x->reads.at[n++] = x->reads.at[i];
  }
  x->reads.n = n;
}

/* What x takes in is stored at outer loops of x, each of which is a whole axis of it, or inside its loop over edges. It
 * walks two loops for an axis only if all of x can. */
static void walk_as_reader(const Draft *x, Draft *p, bool by_edge) {
  for (int o = 0; o < p->nout; o++)
    if (by_edge || !can_split_as(x, p->out[o])) memset(p->out[o]->split, 0, sizeof p->out[o]->split);
}

/* Latest first, so that what a value is made of can follow it. */
static bool absorb_kernels(Joining *j) {
  Drafts *d = j->d;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = j->o->n; i-- > 0;) {
      bool by_edge;
      int p = j->o->at[i], x = p < 0 ? -1 : find_absorber(j, p, &by_edge);
      if (ctx_base(j->s->ctx)->code != POLY_OK) return false;
      if (x < 0) continue;
      int last = j->o->place[x];
      walk_as_reader(d->at.at[x], d->at.at[p], by_edge);
      if (!join(j, x, p)) return false;
      d->at.at[x]->absorbed = true;
      d->at.at[x]->by_edge[d->at.at[x]->nout - 1] = by_edge;
      drop_own_reads(d->at.at[x]);
      changed = true;
      i = last + 1; /* what stands between them may have changed places */
    }
  }
  return true;
}

/* ---- both ---- */

/* The draft of equal loops, among those not far before b, that b joins; -1: none. */
static int find_partner(Joining *j, int b) {
  Sched *s = j->s;
  Order *o = j->o;
  const Draft *y = j->d->at.at[b];
  for (int k = o->place[b] - 1, tried = 0; k >= 0 && tried < JOIN_WINDOW; k--) {
    int a = o->at[k];
    if (a < 0) continue;
    tried++;
    const Draft *x = j->d->at.at[a];
    if (x->nout + y->nout > max_stored(s) || !same_loops(x, y) || !share_input(x, y) || walk_two_ends(s, x, y))
      continue;
    if (!depends(s, j->d, o, b, a, true) && !in_conflict(j, a, b)) return a;
  }
  return -1;
}

/* Is output o of a kernel read by another, or asked for? */
static bool is_read(const Joining *j, int at, int o) {
  const Draft *x = j->d->at.at[at];
  const Users *u = &j->users;
  bool read = j->s->slot.at[x->target[o]].kind != SLOT_TEMP || x->out[o]->root || x->by_edge[o] || !x->absorbed;
  for (int k = u->first[x->target[o]]; k >= 0 && !read; k = u->at.at[k].next) {
    int reader = draft_now(j->d, u->at.at[k].draft);
    read = reader != at && reads_slot(j->d->at.at[reader], x->target[o]);
  }
  return read;
}

/* What a kernel has taken in and nobody else reads is no longer stored. One of which nothing is read stays as it is. */
static void drop_unread(const Joining *j, int at) {
  Draft *x = j->d->at.at[at];
  bool read[MAX_OUTPUTS], any = false;
  int n = 0;
  for (int o = 0; o < x->nout; o++) any |= read[o] = is_read(j, at, o);
  for (int o = 0; o < x->nout && any; o++) {
    if (!read[o]) {
      x->out[o]->slot = -1;
      continue;
    }
    x->out[n] = x->out[o];
    x->by_edge[n] = x->by_edge[o];
    x->target[n++] = x->target[o];
  }
  if (any) x->nout = n;
}

static bool join_partners(Joining *j) {
  for (int i = 0; i < j->o->n; i++) {
    const int *order = j->o->at;
    int b = order[i], a = b < 0 ? -1 : find_partner(j, b);
    if (a < 0) continue;
    int from = j->o->at == order ? j->o->place[a] : 0;
    if (!join(j, a, b)) return false;
    i = from - 1; /* places changed: look again from here */
  }
  return true;
}

/* ---- dot products of edges ---- */

/* The kernel that computes a node, which may be what another one is made of; -1: none, or it makes several. */
static int maker_of(const Joining *j, const NodeInfo *n) {
  for (int i = 0; i < j->d->at.n; i++) {
    Draft *x = j->d->at.at[i];
    bool makes = false;
    for (int o = 0; o < x->nout && !x->dead; o++) makes |= x->out[o] == n;
    if (!makes) continue;
    drop_unread(j, i);
    return plain_kernel(x) && x->nout == 1 ? i : -1;
  }
  return -1;
}

/* The same for one that is stored or that one kernel alone computes in place. */
static int holder_of(const Joining *j, const NodeInfo *n) {
  bool inlined = n->kind == STORE_NOT && n->reader && !n->reader->next;
  return maker_of(j, inlined ? j->s->info.at[j->s->work.at[n->reader->kernel]] : n);
}

/* What is made of a dot product of both ends of each edge is stored from inside the loop over edges that has both
 * factors at hand. */
static bool join_dots(Joining *j) {
  for (int i = 0; i < j->s->info.n; i++) {
    const NodeInfo *n = j->s->info.at[i];
    int p = n->beside ? holder_of(j, n) : -1, x = p >= 0 ? maker_of(j, n->beside) : -1;
    if (x < 0 || x == p || !entry_sized(j->s, j->d->at.at[p]->out[0]->node)) continue;
    if (depends(j->s, j->d, j->o, x, p, true) || depends(j->s, j->d, j->o, p, x, true)) continue;
    if (!fits_absorbed(j, x, p, true)) {
      if (ctx_base(j->s->ctx)->code != POLY_OK) return false;
      continue;
    }
    walk_as_reader(j->d->at.at[x], j->d->at.at[p], true);
    if (!join(j, x, p)) return false;
    j->d->at.at[x]->by_edge[1] = true;
  }
  return true;
}

bool join_kernels(Sched *s, Drafts *d, Order *o) {
  Joining j = {.s = s, .d = d, .o = o};
  bool ok = list_users(s, d, &j.users) && absorb_kernels(&j) && join_dots(&j) && join_partners(&j);
  int n = 0;
  for (int i = 0; i < o->n && ok; i++)
    if (o->at[i] >= 0) {
      drop_unread(&j, o->at[i]);
      o->place[o->at[i]] = n;
      o->at[n++] = o->at[i];
    }
  o->n = n;
  vec_free(ctx_base(s->ctx), &j.users.at);
  return ok && ctx_base(s->ctx)->code == POLY_OK;
}
