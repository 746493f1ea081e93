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
  for (int i = 0; i < d->at.n; i++) d->at.at[i]->after.n = 0;
  for (int i = 0; i < d->at.n; i++) {
    Draft *x = d->at.at[i];
    if (x->dead) continue;
    for (int r = 0; r < x->reads.n; r++) {
      uint64_t w;
      if (!map_get(&d->writer, (uint64_t)x->reads.at[r], &w)) continue;
      for (int p = (int)w; p >= 0; p = d->at.at[p]->next_part)
        if (p != i && !vec_push(b, &x->after, p)) return false;
    }
    x->ndata = x->after.n;
  }
  for (int i = 0; i < d->at.n; i++)
    for (int r = 0; !d->at.at[i]->dead && r < d->at.at[i]->reads.n; r++) {
      uint64_t w;
      bool over = map_get(overwriter, (uint64_t)d->at.at[i]->reads.at[r], &w) && (int)w != i; /* old contents first */
      if (over && !vec_push(b, &d->at.at[w]->after, i)) return false;
    }
  return true;
}

bool find_order(Sched *s, Drafts *d) {
  Map overwriter = {0};
  bool ok = find_overwrites(s, d, &overwriter) && add_edges(s, d, &overwriter);
  map_free(ctx_base(s->ctx), &overwriter);
  return ok;
}

int sort_drafts(Sched *s, Drafts *d, int *order, int *norder) {
  Base *b = ctx_base(s->ctx);
  int n = d->at.n, bad = -1;
  *norder = 0;
  uint8_t *state = arena_new(s->arena, (size_t)MAX(n, 1));
  int *next = arena_new(s->arena, (size_t)MAX(n, 1) * sizeof *next);
  VEC(int) stack = {0};
  if (!state || !next) return -2;
  for (int i = 0; i < n && bad == -1; i++) {
    if (state[i] || d->at.at[i]->dead) continue;
    state[i] = 1;
    if (!vec_push(b, &stack, i)) bad = -2;
    while (stack.n && bad == -1) {
      int x = stack.at[stack.n - 1];
      if (next[x] == d->at.at[x]->after.n) {
        state[x] = 2;
        order[(*norder)++] = x;
        stack.n--;
        continue;
      }
      int y = d->at.at[x]->after.at[next[x]++];
      if (state[y] == 1) bad = y;
      if (state[y]) continue;
      state[y] = 1;
      if (!vec_push(b, &stack, y)) bad = -2;
    }
  }
  if (bad >= 0) { /* of the drafts on the cycle, name one that overwrites */
    for (int i = stack.n; i-- > 0;)
      for (int o = 0; o < d->at.at[stack.at[i]]->nout; o++)
        if (d->at.at[stack.at[i]]->target[o] != d->at.at[stack.at[i]]->out[o]->slot) bad = stack.at[i];
  }
  vec_free(b, &stack);
  return bad;
}

bool depends(Sched *s, const Drafts *d, const int *place, int from, int to, bool direct) {
  VEC(int) stack = {0};
  Map seen = {0};
  Base *b = ctx_base(s->ctx);
  bool found = false, ok = vec_push(b, &stack, from);
  while (ok && stack.n && !found) {
    const Draft *x = d->at.at[stack.at[--stack.n]];
    for (int i = 0; ok && i < x->after.n; i++) {
      int y = x->after.at[i];
      if (y == to) found |= x != d->at.at[from] || (direct && i < x->ndata);
      if (place[y] <= place[to] || map_get(&seen, (uint64_t)y, NULL)) continue;
      ok = map_put(b, &seen, (uint64_t)y, 1) && vec_push(b, &stack, y);
    }
  }
  vec_free(b, &stack);
  map_free(b, &seen);
  return found || !ok;
}

/* ---- memory ---- */

typedef struct Pressure {
  Sched *s;
  Drafts *d;
  int *waits;   /* for each draft: how many that must come first have not run, -1: it has */
  int *readers; /* for each slot: drafts that still need it */
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

static bool pressure_begin(Pressure *p, const int *order, int norder) {
  size_t n = (size_t)p->d->at.n + 1, slots = (size_t)p->s->slot.n + 1;
  p->waits = arena_new(p->s->arena, n * sizeof(int));
  p->readers = arena_new(p->s->arena, slots * sizeof(int));
  if (!p->waits || !p->readers) return false;
  for (int i = 0; i < norder; i++) {
    const Draft *x = p->d->at.at[order[i]];
    p->waits[order[i]] = x->after.n;
    for (int r = 0; r < x->reads.n; r++) p->readers[x->reads.at[r]]++;
  }
  return true;
}

static void run_draft(Pressure *p, int x, const int *order, int norder) {
  p->waits[x] = -1;
  for (int r = 0; r < p->d->at.at[x]->reads.n; r++) p->readers[p->d->at.at[x]->reads.at[r]]--;
  for (int i = 0; i < norder; i++) {
    const Draft *y = p->d->at.at[order[i]];
    for (int k = 0; p->waits[order[i]] > 0 && k < y->after.n; k++) p->waits[order[i]] -= y->after.at[k] == x;
  }
}

bool order_for_memory(Sched *s, Drafts *d, int *order, int norder) {
  Pressure p = {.s = s, .d = d};
  int *out = arena_new(s->arena, (size_t)MAX(norder, 1) * sizeof *out);
  if (!out || !pressure_begin(&p, order, norder)) return false;
  for (int n = 0; n < norder; n++) {
    int best = -1;
    double least = 0;
    for (int i = 0; i < norder; i++) {
      if (p.waits[order[i]]) continue;
      double g = burden(&p, d->at.at[order[i]]);
      if (best >= 0 && g >= least) continue;
      best = order[i];
      least = g;
    }
    if (best < 0) return base_fail(ctx_base(s->ctx), POLY_ERROR_RUNTIME, "internal: kernels wait for each other");
    out[n] = best;
    run_draft(&p, best, order, norder);
  }
  for (int n = 0; n < norder; n++) order[n] = out[n];
  return true;
}
