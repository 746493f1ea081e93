/* pitch.c: rows that are read through an index begin where a thread can load several neighbours at once. In: the items
 * of a schedule, lowered. Out: the same, with the rows of some temporaries further apart:
 *
 *   x[src[e] * 41 + f]    ->    x[src[e] * 44 + f]        four neighbours by one load
 *
 * Nothing is stored between the end of a row and the next one, and nobody looks at what is loaded from there. Only
 * kernels of the compiler's know of it: what a library, a loop or a composite item reads or writes stays as it is. */
#include "schedule/drafts.h"

#include "ir/context.h"
#include "ir/index.h"

enum {
  MOST_MORE = 5, /* by a fifth may rows be longer */
  MAX_TERMS = 64
};

typedef struct Rows {
  int64_t width, pitch;
  bool gathered, fixed;
} Rows;

typedef struct Pitch {
  Sched *s;
  Rows *rows; /* of each slot */
  Map ranges; /* memo of index_ranges */
} Pitch;

/* The last axis of a node that is longer than 1. */
static int row_axis(const UOp *u) {
  int axis = u->ndim - 1;
  while (axis > 0 && uop_is_int(u->shape[axis], 1)) axis--;
  return axis;
}

/* How long the rows of a slot are, and how far apart they are to be. */
static Rows rows_of(const Sched *s, const Slot *slot) {
  const UOp *u = slot->node;
  int axis = row_axis(u);
  int64_t n = s->target->strip;
  Rows r = {.fixed = true};
  if (slot->kind != SLOT_TEMP || slot->rows || slot->copies || axis <= 0 || u->shape[axis]->op != OP_CONST) return r;
  r.width = u->shape[axis]->arg.i;
  r.pitch = (r.width + n - 1) / n * n;
  r.fixed = dtype_size((PolyDType)u->dtype) > 4 || r.pitch == r.width || r.width < MOST_MORE * (n - 1);
  return r;
}

/* The index of an element where rows are that far apart. NULL without an error: it is not known to which row it
 * belongs. *gathered: the row is found through an index. */
static UOp *pitched(Pitch *p, const Rows *r, UOp *index, bool *gathered) {
  UOp *term[MAX_TERMS];
  int64_t coef[MAX_TERMS], constant;
  int n = int_terms(index, MAX_TERMS, term, coef, &constant);
  if (n < 0 || constant < 0) return NULL;
  UOp *row = uop_index(index->ctx, constant / r->width), *column = uop_index(index->ctx, constant % r->width);
  for (int i = 0; i < n; i++) {
    bool whole = coef[i] % r->width == 0;
    if (whole) row = int_add(row, int_mulc(term[i], coef[i] / r->width));
    if (!whole) column = int_add(column, int_mulc(term[i], coef[i]));
    *gathered |= whole && index_ranges(index->ctx, &p->ranges, term[i]) & RANGES_LOAD;
  }
  if (!row || !column || column->vmin < 0 || column->vmax >= r->width) return NULL;
  return int_add(int_mulc(row, r->pitch), column);
}

static Rows *accessed(const Pitch *p, const Item *item, const UOp *u) {
  return u->op == OP_LOAD || u->op == OP_STORE ? &p->rows[item->arg[u->src[0]->arg.i]] : NULL;
}

/* Notes what the accesses of an item tell of the rows of its slots. */
static bool note_item(Pitch *p, const Item *item) {
  Walk walk;
  if (item->kind != ITEM_KERNEL) {
    for (int k = 0; k < item->narg; k++) p->rows[item->arg[k]].fixed = true;
    return true;
  }
  if (!uop_walk(p->s->ctx, p->s->arena, item->nout, item->store, NULL, NULL, &walk)) return false;
  for (int i = 0; i < walk.n; i++) {
    const UOp *u = walk.at[i];
    Rows *r = accessed(p, item, u);
    if (r && !r->fixed && !pitched(p, r, u->src[u->op == OP_STORE ? 2 : 1], &r->gathered)) r->fixed = true;
  }
  return ctx_base(p->s->ctx)->code == POLY_OK;
}

/* u with sources that were moved, and moved itself. */
static UOp *moved(Pitch *p, const Item *item, UOp *u, UOp *const *now) {
  UOp **src = arena_new(p->s->arena, (size_t)(u->nsrc + 1) * sizeof *src);
  const Rows *r = accessed(p, item, u);
  bool gathered, changed = false;
  if (!src) return NULL;
  for (int k = 0; k < u->nsrc; k++) src[k] = now[u->src[k]->slot];
  int at = u->op == OP_STORE ? 2 : 1;
  if (r && !r->fixed && !(src[at] = pitched(p, r, src[at], &gathered))) return NULL;
  for (int k = 0; k < u->nsrc; k++) changed |= src[k] != u->src[k];
  return changed ? uop_with_sources(u, src) : u;
}

static bool move_item(Pitch *p, Item *item) {
  bool any = false;
  for (int k = 0; k < item->narg; k++) any |= !p->rows[item->arg[k]].fixed;
  if (!any) return true;
  Walk walk;
  if (!uop_walk(p->s->ctx, p->s->arena, item->nout, item->store, NULL, NULL, &walk)) return false;
  UOp **now = arena_new(p->s->arena, (size_t)(walk.n + 1) * sizeof *now);
  for (int i = 0; now && i < walk.n; i++)
    if (!(now[i] = moved(p, item, walk.at[i], now))) return false;
  for (int o = 0; now && o < item->nout; o++) item->store[o] = now[item->store[o]->slot];
  return now != NULL;
}

bool pitch_rows(Sched *s, Schedule *out) {
  Pitch p = {.s = s};
  if (s->target->strip <= 1) return true;
  p.rows = arena_new(s->arena, (size_t)(s->slot.n + 1) * sizeof *p.rows);
  if (!p.rows) return false;
  for (int i = 0; i < s->slot.n; i++) p.rows[i] = rows_of(s, &s->slot.at[i]);
  bool ok = true;
  for (int i = 0; i < out->nsub; i++)
    for (int k = 0; k < out->sub[i].narg; k++) p.rows[out->sub[i].arg[k]].fixed = true;
  for (int i = 0; ok && i < out->nitem; i++) ok = note_item(&p, &out->item[i]);
  for (int i = 0; ok && i < s->slot.n; i++) {
    Slot *slot = &s->slot.at[i];
    p.rows[i].fixed |= !p.rows[i].gathered;
    if (p.rows[i].fixed) continue;
    slot->width = p.rows[i].width;
    slot->pitch = p.rows[i].pitch;
    slot->numel = uop_index(s->ctx, slot->pitch);
    for (int d = row_axis(slot->node); d-- > 0;) slot->numel = int_mul(slot->numel, slot->node->shape[d]);
    ok = slot->numel != NULL;
  }
  for (int i = 0; ok && i < out->nitem; i++)
    if (out->item[i].kind == ITEM_KERNEL) ok = move_item(&p, &out->item[i]);
  map_free(ctx_base(s->ctx), &p.ranges);
  return ok;
}
