/* repeat_loop.c: a loop in place of copies. In: the places of a body. Out: the program over the loop's results.
 *
 * What the program around the copies reads of them is the last carried value, or row t of what the loop stores of every
 * step. What only moves elements, or is larger than what it is made of, is computed again outside. */
#include "ir/repeat_parts.h"

#include "ir/context.h"

#include <string.h>

typedef struct Around {
  Match *m;
  Written *p;
  Map slot;          /* of each node: builders renumber them */
  int *place, *copy; /* for each node: its place in the body from 1 on, 0: outside */
  bool *needed, *wide;
  UOp **made;         /* for each node: what it is now */
  int *carry;         /* for each place: which carried value it is the new one of; -1: none */
  bool *read, *early; /* for each place: it is read outside; of a copy before the last */
  UOp **all;          /* for each place: its value at every step */
  UOp *scan;
} Around;

static bool new_lists(Around *a) {
  size_t n = (size_t)a->p->walk.n + 1, places = (size_t)a->m->places.n + 1;
  Arena *arena = a->p->arena;
  a->place = arena_new(arena, n * sizeof *a->place);
  a->copy = arena_new(arena, n * sizeof *a->copy);
  a->needed = arena_new(arena, n);
  a->wide = arena_new(arena, n);
  a->made = arena_new(arena, n * sizeof *a->made);
  a->carry = arena_new(arena, places * sizeof *a->carry);
  a->read = arena_new(arena, places);
  a->early = arena_new(arena, places);
  a->all = arena_new(arena, places * sizeof *a->all);
  return a->place && a->copy && a->needed && a->wide && a->made && a->carry && a->read && a->early && a->all;
}

static bool find_places(Around *a) {
  const Match *m = a->m;
  double *weight = arena_new(a->p->arena, (size_t)(a->p->walk.n + 1) * sizeof *weight);
  if (!weight) return false;
  for (int i = 0; i < a->p->walk.n; i++) {
    a->wide[i] = scan_is_wide(a->p->walk.at[i], weight);
    if (!map_put(ctx_base(a->p->ctx), &a->slot, (uintptr_t)a->p->walk.at[i], (uint64_t)i)) return false;
  }
  for (int i = 0; i < m->places.n; i++) a->carry[i] = -1;
  for (int i = 0; i < m->places.n; i++) {
    const Place *l = m->places.at[i];
    if (l->kind != PLACE_INSIDE || !(l->on_carry || l->heavy)) continue;
    for (int c = 0; c < m->n; c++) {
      if (!l->at[c] || a->place[l->at[c]->slot]) continue;
      a->place[l->at[c]->slot] = i + 1;
      a->copy[l->at[c]->slot] = c;
    }
  }
  return true;
}

/* What the roots need, and what of it is inside. */
static void find_needed(Around *a) {
  for (int r = 0; r < a->p->nroot; r++) a->needed[a->p->root[r]->slot] = true;
  for (int i = a->p->walk.n; i-- > 0;) {
    const UOp *u = a->p->walk.at[i];
    int l = a->place[i] - 1;
    if (!a->needed[i]) continue;
    if (l >= 0 && !a->wide[i]) {
      a->read[l] = true;
      a->early[l] |= a->copy[i] < a->m->n - 1;
      continue;
    }
    a->place[i] = 0;
    for (int k = 0; k < u->nsrc; k++) a->needed[u->src[k]->slot] = true;
  }
}

/* ---- the loop ---- */

static bool build_scan(Around *a) {
  Match *m = a->m;
  Scan s = {0};
  if (!match_body(m, &s)) return false;
  UOp **out = arena_new(a->p->arena, (size_t)(s.ncarry + m->places.n + 1) * sizeof *out);
  int *from = arena_new(a->p->arena, (size_t)(m->places.n + 1) * sizeof *from);
  if (!out || !from) return false;
  for (int i = 0; i < m->places.n; i++) {
    const Place *l = m->places.at[i];
    if (l->kind != PLACE_CARRIED) continue;
    out[l->number] = m->places.at[l->out]->body;
    a->carry[l->out] = l->number;
  }
  s.nout = s.ncarry;
  for (int i = 0; i < m->places.n; i++) {
    if (!a->read[i]) continue;
    from[i] = a->carry[i] >= 0 ? a->carry[i] : s.nout;
    if (a->carry[i] < 0) out[s.nout++] = m->places.at[i]->body;
  }
  s.out = out;
  if (!(a->scan = scan_build(a->p->ctx, &s))) return false;
  for (int i = 0; i < m->places.n; i++) {
    if (!a->read[i]) continue;
    if (a->carry[i] >= 0)
      a->all[i] = a->early[i] ? uop_states(a->scan, a->carry[i]) : uop_final(a->scan, a->carry[i]);
    else
      a->all[i] = scan_result(a->scan, scan_of(a->scan).out[from[i]]);
    if (!a->all[i]) return false;
  }
  return true;
}

/* ---- the program around it ---- */

static UOp *result_of(const Around *a, int i) {
  int l = a->place[i] - 1;
  UOp *all = a->all[l], *u = a->p->walk.at[i];
  if (a->carry[l] >= 0 && !a->early[l]) return all;
  int t = scan_of(a->scan).reverse ? a->m->n - 1 - a->copy[i] : a->copy[i] + (a->carry[l] >= 0);
  return uop_reshape(scan_rows(all, uop_index(all->ctx, t), uop_index(all->ctx, t + 1)), u->ndim, u->shape);
}

static UOp *rebuilt(const Around *a, UOp *u) {
  UOp *few[16], **src = few;
  bool changed = false;
  if (u->nsrc > LEN(few) && !(src = arena_new(a->p->arena, (size_t)u->nsrc * sizeof *src))) return NULL;
  for (int k = 0; k < u->nsrc; k++) {
    uint64_t at;
    if (!map_get(&a->slot, (uintptr_t)u->src[k], &at)) return NULL;
    src[k] = a->made[at];
    changed |= src[k] != u->src[k];
  }
  if (!changed) return u;
  UOp *v = uop_with_sources(u, src);
  if (v && !v->origin) v->origin = u->origin;
  return v;
}

static bool rebuild(Around *a) {
  for (int i = 0; i < a->p->walk.n; i++) {
    if (!a->needed[i]) continue;
    a->made[i] = a->place[i] ? result_of(a, i) : rebuilt(a, a->p->walk.at[i]);
    if (!a->made[i]) return false;
  }
  for (int r = 0; r < a->p->nroot; r++) {
    uint64_t at;
    if (!map_get(&a->slot, (uintptr_t)a->p->root[r], &at)) return false;
    a->p->root[r] = a->made[at];
  }
  return true;
}

bool repeat_loop(Match *m) {
  Around a = {.m = m, .p = m->p};
  bool ok = new_lists(&a) && find_places(&a);
  if (ok) find_needed(&a);
  ok = ok && build_scan(&a) && rebuild(&a);
  map_free(ctx_base(m->p->ctx), &a.slot);
  return ok;
}
