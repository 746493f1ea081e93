/* order.c: what must come before what, and an order that holds to it. Values are made before they are read; old
 * contents are read before an assignment overwrites them. */
#include "schedule/drafts.h"

#include "ir/context.h"

/* Input slots that are overwritten -> the draft that does it. */
static bool find_overwrites(Sched *s, const Drafts *d, Map *overwriter) {
  for (int i = 0; i < d->at.n; i++)
    for (int o = 0; !d->at.at[i]->dead && o < d->at.at[i]->nout; o++) {
      int slot = d->at.at[i]->target[o];
      if (s->slot.at[slot].kind == SLOT_INPUT && !map_put(ctx_base(s->ctx), overwriter, (uint64_t)slot, (uint64_t)i))
        return false;
    }
  return true;
}

static bool add_edges(Sched *s, Drafts *d, const Map *overwriter) {
  Base *b = ctx_base(s->ctx);
  for (int i = 0; i < d->at.n; i++) d->at.at[i]->needs.n = d->at.at[i]->waits.n = 0;
  for (int i = 0; i < d->at.n; i++) {
    Draft *x = d->at.at[i];
    for (int r = 0; !x->dead && r < x->reads.n; r++) {
      uint64_t w;
      if (!map_get(&d->writer, (uint64_t)x->reads.at[r], &w)) continue;
      for (int p = (int)w; p >= 0; p = d->at.at[p]->next_part)
        if (p != i && !vec_push(b, &x->needs, p)) return false;
    }
  }
  for (int i = 0; i < d->at.n; i++)
    for (int r = 0; !d->at.at[i]->dead && r < d->at.at[i]->reads.n; r++) {
      uint64_t w;
      bool over = map_get(overwriter, (uint64_t)d->at.at[i]->reads.at[r], &w) && (int)w != i; /* old contents first */
      if (over && !vec_push(b, &d->at.at[w]->waits, i)) return false;
    }
  return true;
}

bool find_order(Sched *s, Drafts *d) {
  Map overwriter = {0};
  bool ok = find_overwrites(s, d, &overwriter) && add_edges(s, d, &overwriter);
  map_free(ctx_base(s->ctx), &overwriter);
  return ok;
}

/* Those that must come before x, as one list. */
static int nbefore(const Draft *x) { return x->needs.n + x->waits.n; }
static int before(const Draft *x, int k) { return k < x->needs.n ? x->needs.at[k] : x->waits.at[k - x->needs.n]; }

int draft_now(const Drafts *d, int x) {
  int now = x;
  while (d->at.at[now]->dead) now = d->at.at[now]->merged;
  while (x != now) { /* the way is shorter next time */
    int next = d->at.at[x]->merged;
    d->at.at[x]->merged = now;
    x = next;
  }
  return now;
}

static bool order_begin(Sched *s, const Drafts *d, Order *o) {
  size_t n = (size_t)d->at.n + 1;
  *o = (Order){.at = arena_new(s->arena, n * sizeof(int)),
               .place = arena_new(s->arena, n * sizeof(int)),
               .stamp = arena_new(s->arena, n * sizeof(int))};
  return o->at && o->place && o->stamp;
}

int sort_drafts(Sched *s, Drafts *d, Order *o) {
  Base *b = ctx_base(s->ctx);
  int n = d->at.n, bad = -1;
  uint8_t *state = arena_new(s->arena, (size_t)MAX(n, 1));
  int *next = arena_new(s->arena, (size_t)MAX(n, 1) * sizeof *next);
  VEC(int) stack = {0};
  if (!state || !next || !order_begin(s, d, o)) return -2;
  for (int i = 0; i < n && bad == -1; i++) {
    if (state[i] || d->at.at[i]->dead) continue;
    state[i] = 1;
    if (!vec_push(b, &stack, i)) bad = -2;
    while (stack.n && bad == -1) {
      int x = stack.at[stack.n - 1];
      if (next[x] == nbefore(d->at.at[x])) {
        state[x] = 2;
        o->place[x] = o->n;
        o->at[o->n++] = x;
        stack.n--;
        continue;
      }
      int y = before(d->at.at[x], next[x]++);
      if (state[y] == 1) bad = y;
      if (state[y]) continue;
      state[y] = 1;
      if (!vec_push(b, &stack, y)) bad = -2;
    }
  }
  if (bad >= 0) { /* of the drafts on the cycle, name one that overwrites */
    for (int i = stack.n; i-- > 0;)
      for (int t = 0; t < d->at.at[stack.at[i]]->nout; t++)
        if (d->at.at[stack.at[i]]->target[t] != d->at.at[stack.at[i]]->out[t]->slot) bad = stack.at[i];
  }
  vec_free(b, &stack);
  return bad;
}

bool depends(Sched *s, const Drafts *d, Order *o, int from, int to, bool direct) {
  VEC(int) stack = {0};
  Base *b = ctx_base(s->ctx);
  int stamp = ++o->last;
  bool found = false, ok = vec_push(b, &stack, from);
  while (ok && stack.n && !found) {
    int at = stack.at[--stack.n];
    const Draft *x = d->at.at[at];
    for (int k = 0; ok && k < nbefore(x); k++) {
      int y = draft_now(d, before(x, k));
      if (y == at) continue;
      if (y == to) found |= at != from || (direct && k < x->needs.n);
      if (o->place[y] <= o->place[to] || o->stamp[y] == stamp) continue;
      o->stamp[y] = stamp;
      ok = vec_push(b, &stack, y);
    }
  }
  vec_free(b, &stack);
  return found || !ok;
}

static bool follows(const Drafts *d, const Order *o, int x, int kept, int stamp) {
  for (int k = 0; k < nbefore(d->at.at[x]); k++) {
    int y = draft_now(d, before(d->at.at[x], k));
    if (y != x && (y == kept || o->stamp[y] == stamp)) return true;
  }
  return false;
}

bool order_merge(Sched *s, Drafts *d, Order *o, int kept, int gone) {
  Base *b = ctx_base(s->ctx);
  Draft *x = d->at.at[kept], *y = d->at.at[gone];
  for (int k = 0; k < y->needs.n; k++)
    if (!vec_push(b, &x->needs, y->needs.at[k])) return false;
  for (int k = 0; k < y->waits.n; k++)
    if (!vec_push(b, &x->waits, y->waits.at[k])) return false;
  int first = MIN(o->place[kept], o->place[gone]), last = MAX(o->place[kept], o->place[gone]), stamp = ++o->last;
  VEC(int) behind = {0};
  int at = first;
  bool ok = true;
  for (int k = first + 1; ok && k < last; k++) {
    int z = o->at[k];
    if (z < 0) continue;
    if (follows(d, o, z, kept, stamp)) {
      o->stamp[z] = stamp;
      ok = vec_push(b, &behind, z);
    } else {
      o->place[z] = at;
      o->at[at++] = z;
    }
  }
  if (ok) {
    o->place[kept] = at;
    o->at[at++] = kept;
    for (int k = 0; k < behind.n; k++) {
      o->place[behind.at[k]] = at;
      o->at[at++] = behind.at[k];
    }
    while (at <= last) o->at[at++] = -1;
  }
  vec_free(b, &behind);
  return ok;
}

/* ---- memory ---- */

/* A draft that may run, how bad that would be, and how bad what may run behind it, at best; entries are out of date
 * once a draft has another burden. */
typedef struct Ready {
  double burden, then;
  int draft;
} Ready;

typedef struct Pressure {
  Sched *s;
  Drafts *d;
  const Order *o;
  int *waits;            /* for each draft: how many that must come first have not run, -1: it has run */
  double *burden;        /* for each draft that may run */
  int *readers;          /* for each slot: drafts that still need it */
  int *user, *user_at;   /* for each slot: the drafts that read it, from user_at[slot] to user_at[slot + 1] */
  int *after, *after_at; /* for each draft: those that must come behind it */
  VEC(Ready) heap;
} Pressure;

static double slot_bytes(const Sched *s, int slot) {
  const Slot *t = &s->slot.at[slot];
  return t->kind == SLOT_TEMP ? (double)uop_numel_max(t->node) * dtype_size((PolyDType)t->node->dtype) : 0;
}

/* How bad it is to run x next: what gives back more than it takes comes first, then what takes least, so that what it
 * reads may be given back before anything large is taken. */
static double burden(const Pressure *p, const Draft *x) {
  double takes = 0, gives = 0;
  for (int o = 0; o < x->nout; o++) takes += slot_bytes(p->s, x->target[o]);
  for (int r = 0; r < x->reads.n; r++)
    if (p->readers[x->reads.at[r]] == 1) gives += slot_bytes(p->s, x->reads.at[r]);
  return takes < gives ? takes - gives : takes;
}

/* The least burden of those that wait for x alone: of two products that are to be added to others, the one whose sum
 * may be formed at once comes first, since that gives its memory back before the other one takes any. */
static double burden_behind(const Pressure *p, int x) {
  double least = 0;
  for (int k = p->after_at[x]; k < p->after_at[x + 1]; k++)
    if (p->waits[p->after[k]] == 1) least = MIN(least, burden(p, p->d->at.at[p->after[k]]));
  return least;
}

static bool sooner(const Pressure *p, Ready a, Ready b) {
  if (a.burden != b.burden) return a.burden < b.burden;
  return a.then != b.then ? a.then < b.then : p->o->place[a.draft] < p->o->place[b.draft];
}

static bool heap_push(Pressure *p, int draft) {
  p->burden[draft] = burden(p, p->d->at.at[draft]);
  Ready r = {p->burden[draft], burden_behind(p, draft), draft};
  if (!vec_push(ctx_base(p->s->ctx), &p->heap, r)) return false;
  int i = p->heap.n - 1;
  for (; i > 0 && sooner(p, r, p->heap.at[(i - 1) / 2]); i = (i - 1) / 2) p->heap.at[i] = p->heap.at[(i - 1) / 2];
  p->heap.at[i] = r;
  return true;
}

static Ready heap_pop(Pressure *p) {
  Ready top = p->heap.at[0], r = p->heap.at[--p->heap.n];
  int i = 0, n = p->heap.n;
  for (int c; (c = 2 * i + 1) < n; i = c) {
    if (c + 1 < n && sooner(p, p->heap.at[c + 1], p->heap.at[c])) c++;
    if (!sooner(p, p->heap.at[c], r)) break;
    p->heap.at[i] = p->heap.at[c];
  }
  if (n) p->heap.at[i] = r;
  return top;
}

/* The drafts that may run next: the least burden whose entry is up to date. -1: none. */
static int pick(Pressure *p) {
  while (p->heap.n) {
    Ready r = heap_pop(p);
    if (p->waits[r.draft] == 0 && r.burden == p->burden[r.draft]) return r.draft;
  }
  return -1;
}

/* counts[k] becomes the start of group k among `total` entries. Returns the room for them. */
static int *group(Arena *arena, int *counts, int n) {
  int total = 0;
  for (int k = 0; k <= n; k++) {
    int c = counts[k];
    counts[k] = total;
    total += c;
  }
  return arena_new(arena, (size_t)(total + 1) * sizeof(int));
}

static bool pressure_begin(Pressure *p) {
  Arena *arena = p->s->arena;
  int ndraft = p->d->at.n, nslot = p->s->slot.n;
  size_t n = (size_t)ndraft + 2, slots = (size_t)nslot + 2;
  p->waits = arena_new(arena, n * sizeof(int));
  p->burden = arena_new(arena, n * sizeof(double));
  p->readers = arena_new(arena, slots * sizeof(int));
  p->user_at = arena_new(arena, slots * sizeof(int));
  p->after_at = arena_new(arena, n * sizeof(int));
  int *user_next = arena_new(arena, slots * sizeof(int)), *after_next = arena_new(arena, n * sizeof(int));
  if (!p->waits || !p->burden || !p->readers || !p->user_at || !p->after_at || !user_next || !after_next) return false;
  for (int i = 0; i < p->o->n; i++) {
    const Draft *x = p->d->at.at[p->o->at[i]];
    p->waits[p->o->at[i]] = nbefore(x);
    for (int r = 0; r < x->reads.n; r++) p->readers[x->reads.at[r]]++, p->user_at[x->reads.at[r]]++;
    for (int k = 0; k < nbefore(x); k++) p->after_at[before(x, k)]++;
  }
  p->user = group(arena, p->user_at, nslot);
  p->after = group(arena, p->after_at, ndraft);
  if (!p->user || !p->after) return false;
  for (int i = 0; i < p->o->n; i++) {
    int at = p->o->at[i];
    const Draft *x = p->d->at.at[at];
    for (int r = 0; r < x->reads.n; r++) p->user[p->user_at[x->reads.at[r]] + user_next[x->reads.at[r]]++] = at;
    for (int k = 0; k < nbefore(x); k++) p->after[p->after_at[before(x, k)] + after_next[before(x, k)]++] = at;
  }
  for (int i = 0; i < p->o->n; i++)
    if (!p->waits[p->o->at[i]] && !heap_push(p, p->o->at[i])) return false;
  return true;
}

static bool run_draft(Pressure *p, int x) {
  p->waits[x] = -1;
  for (int r = 0; r < p->d->at.at[x]->reads.n; r++) {
    int slot = p->d->at.at[x]->reads.at[r];
    if (--p->readers[slot] != 1) continue;
    for (int k = p->user_at[slot]; k < p->user_at[slot + 1]; k++) /* its last reader gives it back */
      if (p->waits[p->user[k]] == 0 && !heap_push(p, p->user[k])) return false;
  }
  for (int k = p->after_at[x]; k < p->after_at[x + 1]; k++)
    if (--p->waits[p->after[k]] == 0 && !heap_push(p, p->after[k])) return false;
  return true;
}

bool order_for_memory(Sched *s, Drafts *d, Order *o) {
  Pressure p = {.s = s, .d = d, .o = o};
  int *out = arena_new(s->arena, (size_t)MAX(o->n, 1) * sizeof *out);
  bool ok = out && find_order(s, d) && pressure_begin(&p);
  for (int n = 0; ok && n < o->n; n++) {
    out[n] = pick(&p);
    ok = out[n] >= 0 ? run_draft(&p, out[n])
                     : base_fail(ctx_base(s->ctx), POLY_ERROR_RUNTIME, "internal: kernels wait for each other");
  }
  vec_free(ctx_base(s->ctx), &p.heap);
  for (int n = 0; ok && n < o->n; n++) {
    o->at[n] = out[n];
    o->place[out[n]] = n;
  }
  return ok;
}
