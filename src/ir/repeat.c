/* repeat.c: finds chains of copies. In: a program that may have loops written out. Out: the same program with SCANs.
 *
 * Nodes of one place have one hash, taken over a few nodes below them. From the last of several such nodes the nearest
 * other one below is looked for: the way there leads through one copy of the body. The same way is followed on, from
 * copy to copy, until it leads elsewhere: that is the chain, and where it ends are the values that the loop begins
 * with. Then all copies are matched (repeat_match.c). What lies lowest is taken first: a loop of the backward pass
 * reads rows of what the forward one has stored.
 *
 * The search is bounded: a way by the nodes it may visit, all ways of a program by its size, matches by the size of the
 * copies. */
#include "ir/repeat_parts.h"

#include "ir/context.h"

#include <stdlib.h>

enum {
  DEEP = 8,         /* nodes that a hash is taken over: a matrix product with its weight is 8 nodes deep, */
  SHALLOW = 3,      /* but where a step adds to what it reads, 8 nodes are 8 steps */
  MOST_LOOPS = 32,  /* in a program: see LoopIds */
  MOST_WAY = 96,    /* nodes on the way through a body */
  MOST_BODY = 4000, /* nodes that are looked at to find it */
  FEW = 64,         /* elements that are carried: less is no better */
  MOST_PLACES = 8,  /* on it, where a loop may begin */
  MOST_SUMS = 8,    /* times that sums are looked at: one may be made of others */
  MOST_TRIES = 6    /* copies that are cut off a chain because they differ */
};

/* ---- reading a program ---- */

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

int repeat_values(const UOp *u, int *first) {
  *first = u->op == OP_RANDOM;
  if (u->op == OP_RANDOM) return 4;
  if (op_info[u->op].cls == CLASS_LEAF || u->op == OP_SCAN) return 0;
  return MIN(uop_nvalue(u), u->nsrc);
}

/* Numbers are left out: they may differ from copy to copy. */
static uint64_t own_hash(const UOp *u) {
  uint64_t h = mix(u->op, (uint64_t)u->dtype << 32 | (uint64_t)u->ndim << 24 | (uint64_t)u->nsrc);
  if (u->op != OP_CONST && u->op != OP_VARIABLE)
    h = mix(mix(mix(h, (uint64_t)u->arg.i), (uint64_t)u->arg.j), (uintptr_t)u->arg.name);
  for (int d = 0; d < u->ndim; d++) h = mix(h, (uintptr_t)u->shape[d]);
  return h;
}

static bool hash_all(Written *p) {
  int n = p->walk.n;
  uint64_t *now = arena_new(p->arena, (size_t)(n + 1) * sizeof *now),
           *next = arena_new(p->arena, (size_t)(n + 1) * sizeof *next);
  p->own = arena_new(p->arena, (size_t)(n + 1) * sizeof *p->own);
  if (!now || !next || !p->own) return false;
  for (int i = 0; i < n; i++) now[i] = p->own[i] = own_hash(p->walk.at[i]);
  for (int d = 0; d < p->depth; d++) {
    for (int i = 0; i < n; i++) {
      const UOp *u = p->walk.at[i];
      int first, end = repeat_values(u, &first);
      next[i] = p->own[i];
      for (int k = first; k < end; k++) next[i] = mix(next[i], now[u->src[k]->slot]);
    }
    uint64_t *last = now;
    now = next;
    next = last;
  }
  p->deep = now;
  return true;
}

bool written_read(Written *p) {
  LoopIds ids = {0};
  if (!uop_walk(p->ctx, p->arena, p->nroot, p->root, NULL, NULL, &p->walk)) return false;
  if (!loop_masks(p->ctx, p->arena, &p->walk, &ids, &p->mask)) return false;
  p->nloop = ids.n;
  p->next_id = -1;
  for (int k = 0; k < ids.n; k++) p->next_id = MIN(p->next_id, ids.id[k] - 1);
  return hash_all(p);
}

void written_renumber(const Written *p) {
  for (int i = 0; i < p->walk.n; i++) p->walk.at[i]->slot = i;
}

/* ---- chains ---- */

typedef struct Entry {
  uint64_t hash;
  int at; /* slot */
} Entry;

typedef struct Hop {
  uint64_t own; /* what the node is */
  int src;      /* by which source the way leads on */
} Hop;

/* One turn of the way through the copies, and a node of each. */
typedef struct Chain {
  Hop hop[MOST_WAY];
  int nhop;
  UOp **at; /* first the value that the loop begins with */
  int n;    /* copies: at has one more */
} Chain;

typedef struct Search {
  Written *p;
  Entry *entry;
  int nentry;
  int *from, *seen, *queue, stamp; /* of the breadth-first search */
  uint8_t *by;
  int64_t left; /* nodes that may still be looked at */
} Search;

static int by_hash(const void *a, const void *b) {
  const Entry *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return x->at - y->at;
}

static int by_place(const void *a, const void *b) {
  const Entry *x = a, *y = b;
  return x->at - y->at;
}

static bool may_repeat(const Written *p, int i) {
  const UOp *u = p->walk.at[i];
  int first;
  return !p->mask[i] && repeat_values(u, &first) > first && op_info[u->op].cls != CLASS_KERNEL;
}

/* The last node of each hash that several nodes have, lowest first. */
static bool list_seeds(Search *s) {
  Written *p = s->p;
  size_t n = (size_t)p->walk.n + 1;
  Entry *all = arena_new(p->arena, n * sizeof *all);
  int nall = 0;
  s->entry = arena_new(p->arena, n * sizeof *s->entry);
  s->from = arena_new(p->arena, n * sizeof *s->from);
  s->seen = arena_new(p->arena, n * sizeof *s->seen);
  s->queue = arena_new(p->arena, n * sizeof *s->queue);
  s->by = arena_new(p->arena, n);
  if (!all || !s->entry || !s->from || !s->seen || !s->queue || !s->by) return false;
  for (int i = 0; i < p->walk.n; i++)
    if (may_repeat(p, i)) all[nall++] = (Entry){p->deep[i], i};
  qsort(all, (size_t)nall, sizeof *all, by_hash);
  for (int i = 0; i < nall; i++) {
    bool last = i + 1 == nall || all[i + 1].hash != all[i].hash;
    if (last && i && all[i - 1].hash == all[i].hash) s->entry[s->nentry++] = all[i];
  }
  qsort(s->entry, (size_t)s->nentry, sizeof *s->entry, by_place);
  return true;
}

/* The nearest node below `top` with the same hash, and the way there. */
static bool find_way(Search *s, int top, Chain *c) {
  const Written *p = s->p;
  int n = 0, begin = 0, end = -1;
  s->stamp++;
  s->queue[n++] = top;
  s->seen[top] = s->stamp;
  while (begin < n && end < 0 && n < MOST_BODY && s->left-- > 0) {
    int at = s->queue[begin++], first;
    const UOp *u = p->walk.at[at];
    int last = repeat_values(u, &first);
    for (int k = first; k < last && end < 0; k++) {
      int below = u->src[k]->slot;
      if (s->seen[below] == s->stamp || p->mask[below] || k > UINT8_MAX) continue;
      s->seen[below] = s->stamp;
      s->from[below] = at;
      s->by[below] = (uint8_t)k;
      s->queue[n++] = below;
      if (p->deep[below] == p->deep[top]) end = below;
    }
  }
  if (end < 0) return false;
  c->nhop = 0;
  for (int at = end; at != top; at = s->from[at], c->nhop++)
    if (c->nhop == MOST_WAY) return false;
  int k = c->nhop;
  for (int at = end; at != top; at = s->from[at]) c->hop[--k] = (Hop){p->own[s->from[at]], s->by[at]};
  return true;
}

/* Where one turn of the way leads to; NULL: elsewhere. */
static UOp *follow(const Written *p, const Chain *c, UOp *u) {
  for (int k = 0; k < c->nhop; k++) {
    if (p->own[u->slot] != c->hop[k].own || c->hop[k].src >= u->nsrc) return NULL;
    u = u->src[c->hop[k].src];
  }
  return p->mask[u->slot] ? NULL : u;
}

/* The way from another node of it on. */
static void turn(Chain *c, int at) {
  Hop turned[MOST_WAY];
  for (int k = 0; k < c->nhop; k++) turned[k] = c->hop[(at + k) % c->nhop];
  for (int k = 0; k < c->nhop; k++) c->hop[k] = turned[k];
}

/* Later copies than the one of `top`: nodes like it from which the way leads to it. */
static bool list_later(const Written *p, const Chain *c, UOp *top, NodeList *later) {
  Base *b = ctx_base(p->ctx);
  Map next = {0};
  bool ok = true;
  for (int i = top->slot + 1; ok && i < p->walk.n; i++) {
    UOp *u = p->walk.at[i], *below = p->own[i] == p->own[top->slot] && !p->mask[i] ? follow(p, c, u) : NULL;
    if (below) ok = map_put(b, &next, (uintptr_t)below, (uintptr_t)u);
  }
  uint64_t up;
  for (UOp *u = top; ok && map_get(&next, (uintptr_t)u, &up); u = (UOp *)(uintptr_t)up)
    ok = vec_push(b, later, (UOp *)(uintptr_t)up);
  map_free(b, &next);
  return ok;
}

static bool like(const UOp *a, const UOp *b) { return a->dtype == b->dtype && shape_equal(a, b); }

/* All copies that the way leads through. */
static bool list_chain(const Written *p, Chain *c, UOp *top) {
  Base *b = ctx_base(p->ctx);
  NodeList later = {0}, down = {0};
  bool ok = list_later(p, c, top, &later);
  for (UOp *u = top; ok && u && like(u, top); u = follow(p, c, u)) ok = vec_push(b, &down, u);
  c->n = later.n + down.n - 1;
  c->at = ok ? arena_new(p->arena, (size_t)(c->n + 2) * sizeof *c->at) : NULL;
  for (int k = 0; c->at && k < down.n; k++) c->at[k] = down.at[down.n - 1 - k];
  for (int k = 0; c->at && k < later.n; k++) c->at[down.n + k] = later.at[k];
  vec_free(b, &later);
  vec_free(b, &down);
  return c->at != NULL;
}

/* ---- from a chain to a loop ---- */

/* The last copy that each node depends on: chain[k] is what copy k reads, from 1 on. */
static int *find_levels(const Written *p, int n, UOp *const *chain) {
  int *level = arena_new(p->arena, (size_t)(p->walk.n + 1) * sizeof *level);
  for (int k = 1; level && k <= n; k++) level[chain[k]->slot] = k;
  for (int i = 0; level && i < p->walk.n; i++) {
    const UOp *u = p->walk.at[i];
    for (int k = 0; k < u->nsrc; k++) level[i] = MAX(level[i], level[u->src[k]->slot]);
  }
  return level;
}

/* Matches the copies of a chain. Those at its ends may differ from the others: they are cut off. */
static bool fit_chain(Written *p, Chain *c, int64_t *left, Match *m) {
  for (int t = 0; t < MOST_TRIES && c->n >= p->least && *left > 0; t++) {
    *m = (Match){.p = p, .n = c->n, .level = find_levels(p, c->n, c->at)};
    bool fits = m->level && match_chain(m, c->at);
    *left -= (int64_t)m->places.n * c->n;
    if (fits) return true;
    match_free(m);
    if (!m->level || m->bad < 0 || ctx_base(p->ctx)->code != POLY_OK) return false;
    int cut = m->bad < c->n / 2 ? m->bad + 1 : 0;
    c->at += cut;
    c->n = cut ? c->n - cut : m->bad;
  }
  return false;
}

static int64_t carried_by(const Match *m) {
  int64_t sum = 0;
  for (int i = 0; i < m->places.n; i++)
    if (m->places.at[i]->kind == PLACE_CARRIED) sum += uop_numel_max(m->places.at[i]->at[0]);
  return MAX(sum, FEW);
}

/* A loop may begin anywhere on the way. The best place is where least is carried, which is one value if all that a step
 * reads of the one before goes through it. False without an error: nowhere. */
static bool find_best(Search *s, const Chain *way, UOp *top, Chain *best) {
  int64_t least = INT64_MAX;
  UOp *u = top;
  best->n = 0;
  for (int k = 0, tried = 0; k < way->nhop && tried < MOST_PLACES; k++) {
    Chain c = *way;
    Match m;
    u = u->src[c.hop[k].src];
    if (op_info[u->op].cls == CLASS_MOVE || uop_numel_max(u) > least) continue;
    turn(&c, k + 1);
    if (!list_chain(s->p, &c, u)) return false;
    s->left -= (int64_t)c.n * c.nhop;
    tried++;
    if (!fit_chain(s->p, &c, &s->left, &m)) continue;
    int64_t sum = carried_by(&m);
    if (match_is_worth(&m) && (sum < least || (sum == least && c.n > best->n))) {
      least = sum;
      *best = c;
    }
    match_free(&m);
  }
  return best->n > 0;
}

/* Looks at one way; done: it led through copies, which are a loop now. */
static bool fold_seed(Search *s, const Entry *seed, bool *done) {
  Written *p = s->p;
  Base *b = ctx_base(p->ctx);
  Chain way, best;
  Match m;
  if (!find_way(s, seed->at, &way)) return true;
  if (!find_best(s, &way, p->walk.at[seed->at], &best)) return b->code == POLY_OK;
  int64_t enough = INT64_MAX;
  if (!fit_chain(p, &best, &enough, &m)) return b->code == POLY_OK;
  *done = repeat_loop(&m);
  match_free(&m);
  written_renumber(p);
  return b->code == POLY_OK;
}

static bool fold_one(Written *p, bool *done) {
  Search s = {.p = p};
  *done = false;
  if (!written_read(p) || !list_seeds(&s)) return false;
  s.left = 16 * (int64_t)p->walk.n + MOST_BODY;
  bool ok = true;
  for (int i = 0; ok && !*done && i < s.nentry && s.left > 0 && p->nloop < MOST_LOOPS; i++)
    ok = fold_seed(&s, &s.entry[i], done);
  return ok;
}

bool repeats_possible(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, int least, bool *possible) {
  Walk w;
  Map count = {0};
  bool ok = uop_walk(ctx, arena, nroot, root, NULL, NULL, &w);
  *possible = false;
  for (int i = 0; ok && i < w.n && !*possible; i++) {
    uint64_t hash = repeat_stores(w.at[i]) || w.at[i]->op == OP_PAD ? own_hash(w.at[i]) : 0, n = 0;
    if (!hash) continue;
    map_get(&count, hash, &n);
    *possible = ++n >= (uint64_t)least;
    ok = map_put(ctx_base(ctx), &count, hash, n);
  }
  map_free(ctx_base(ctx), &count);
  return ok;
}

/* A program that no loop was found in is left as it is, sums and all. */
bool repeats_fold(PolyContext *ctx, Arena *arena, int nroot, UOp **root, int least, int *loops) {
  Written p = {.ctx = ctx, .arena = arena, .nroot = nroot, .root = root, .least = least};
  bool ok = true, done = true;
  *loops = 0;
  for (p.depth = DEEP; ok && p.depth; p.depth = p.depth == DEEP ? SHALLOW : 0)
    for (done = true; ok && done && *loops < MOST_LOOPS; *loops += done) ok = fold_one(&p, &done);
  done = *loops > 0;
  for (int k = 0; ok && done && k < MOST_SUMS; k++) ok = repeat_sums(&p, &done);
  return ok;
}
