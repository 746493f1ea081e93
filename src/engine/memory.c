/* memory.c: sizes and places. In: a plan and the values of its variables. Out: bytes of every slot, offsets of the
 * temporary ones in one arena, the numbers of every matrix product. All of it is known before anything runs, and kept
 * until a value changes. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

enum {
  ALIGN = 64,
  MANY_SLOTS = 1024,      /* temporaries from which on one way of placing them is tried: its time is quadratic */
  SMALL_ARENA = 16 << 20, /* bytes; see place_apart. For a larger one it is worth more time to waste less: */
  ROUNDS = 8,             /* times that what lies topmost is placed again, */
  STEPS = 1 << 23         /* and comparisons of slots in looking for a better order, where sizes stay as they are */
};

typedef struct Vars {
  int n;
  UOp *const *var;
  const int64_t *value;
} Vars;

static bool lookup(void *user, const UOp *leaf, int64_t *value) {
  const Vars *v = user;
  for (int k = 0; k < v->n; k++)
    if (v->var[k] == leaf) {
      *value = v->value[k];
      return true;
    }
  return false;
}

bool int_eval_vars(const UOp *u, int nvar, UOp *const *var, const int64_t *value, int64_t *out) {
  if (u->op == OP_CONST) {
    *out = const_int(u);
    return true;
  }
  Vars v = {nvar, var, value};
  if (int_eval(u, lookup, &v, out)) return true;
  char text[256];
  return base_fail(ctx_base(u->ctx), POLY_ERROR_VALUE, "the size %s has no value in this computation",
                   dim_text(u, text, sizeof text));
}

static bool plan_eval(const Plan *p, const UOp *u, int64_t *out) {
  return int_eval_vars(u, p->nvar, p->var, p->value, out);
}

static bool bytes_fit(const UOp *u, int64_t numel, size_t *bytes) {
  char text[256];
  int64_t n;
  if (numel < 0 || __builtin_mul_overflow(numel, (int64_t)dtype_size((PolyDType)u->dtype), &n) || n > INT64_MAX / 4)
    return base_fail(ctx_base(u->ctx), POLY_ERROR_MEMORY, "out of memory: a tensor of shape %s %s",
                     shape_text(u, text, sizeof text), dtype_name((PolyDType)u->dtype));
  *bytes = (size_t)n;
  return true;
}

/* The product of the sizes, with an eye on overflow, which the simplified product of the schedule has not. */
static bool shape_bytes(const UOp *u, int nvar, UOp *const *var, const int64_t *value, size_t *bytes) {
  int64_t numel = 1, size;
  bool over = false, empty = false;
  for (int d = 0; d < u->ndim; d++) {
    if (!int_eval_vars(u->shape[d], nvar, var, value, &size)) return false;
    empty |= size == 0;
    over |= __builtin_mul_overflow(numel, size, &numel);
  }
  return bytes_fit(u, empty ? 0 : over ? -1 : numel, bytes);
}

bool uop_bytes(const UOp *u, size_t *bytes) { return shape_bytes(u, 0, NULL, NULL, bytes); }

/* ---- the arena ---- */

static size_t align_up(size_t n) { return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

/* Orders in which slots are placed. None is always the best. */
static int by_size(const void *a, const void *b) {
  const PlanSlot *x = *(PlanSlot *const *)a, *y = *(PlanSlot *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x < y ? -1 : x > y;
}

static int by_life(const void *a, const void *b) {
  const PlanSlot *x = *(PlanSlot *const *)a, *y = *(PlanSlot *const *)b;
  int s = x->until - x->first, t = y->until - y->first;
  return s != t ? (s < t ? 1 : -1) : by_size(a, b);
}

static int by_begin(const void *a, const void *b) {
  const PlanSlot *x = *(PlanSlot *const *)a, *y = *(PlanSlot *const *)b;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : by_size(a, b);
}

static int (*const placements[WAYS_TO_PLACE])(const void *, const void *) = {by_size, by_life, by_begin};

/* The slot whose place a temporary has: the first of those that took over from each other. */
static PlanSlot *first_owner(Plan *p, PlanSlot *s) {
  while (s->over >= 0) s = &p->slot[s->over];
  return s;
}

/* A slot that has its place: sizes of a batch change with each step of a training loop, and then all are placed anew,
 * so what the search reads lies together. */
typedef struct Placed {
  size_t offset, end;
  int first, until;
} Placed;

typedef struct Placing {
  int n;
  PlanSlot **temp; /* to be placed */
  PlanSlot **rest; /* room for as many */
  Placed *placed;  /* by offset */
  size_t *best;    /* offsets of the best way so far */
} Placing;

/* The tightest gap between the slots that are already placed and alive at the same time. */
static size_t best_offset(const Placed *placed, int n, const PlanSlot *s, size_t need) {
  size_t end = 0, best = SIZE_MAX, best_waste = SIZE_MAX;
  for (int i = 0; i < n; i++) {
    if (placed[i].first > s->until || s->first > placed[i].until) continue;
    if (placed[i].offset >= end + need && placed[i].offset - end - need < best_waste) {
      best = end;
      best_waste = placed[i].offset - end - need;
      if (!best_waste) break;
    }
    end = MAX(end, placed[i].end);
  }
  return best == SIZE_MAX ? end : best;
}

/* One after the other: each slot goes to the tightest gap among those that live at the same time. Returns the size of
 * the arena. */
static size_t place_in_order(const Placing *w) {
  size_t size = 0;
  for (int i = 0; i < w->n; i++) {
    PlanSlot *s = w->temp[i];
    size_t need = align_up(s->bytes);
    s->offset = best_offset(w->placed, i, s, need);
    size = MAX(size, s->offset + need);
    int at = i;
    while (at > 0 && w->placed[at - 1].offset > s->offset) at--;
    memmove(&w->placed[at + 1], &w->placed[at], (size_t)(i - at) * sizeof *w->placed);
    w->placed[at] = (Placed){s->offset, s->offset + need, s->first, s->until};
  }
  return size;
}

/* They come in the order of the last run, which is nearly that of this one. */
static void sort_temps(PlanSlot **temp, int n, int (*order)(const void *, const void *)) {
  for (int i = 1; i < n; i++) {
    PlanSlot *s = temp[i];
    int at = i;
    for (; at > 0 && order(&temp[at - 1], &s) > 0; at--) temp[at] = temp[at - 1];
    temp[at] = s;
  }
}

/* The most that is alive at one time: no way of placing needs less. change: zeros, two more than items. */
static size_t most_alive(const Plan *p, const Placing *w, size_t *change) {
  size_t most = 0, now = 0;
  for (int i = 0; i < w->n; i++) {
    const PlanSlot *s = w->temp[i];
    if (s->first > s->until) continue; /* nothing touches it */
    change[s->first] += align_up(s->bytes);
    change[s->until + 1] -= align_up(s->bytes);
  }
  for (int i = 0; i < p->nitem; i++) {
    now += change[i];
    most = MAX(most, now);
  }
  return most;
}

/* What reaches to the end of the arena comes first in the order. */
static void topmost_first(const Placing *w, size_t size) {
  int n = 0, rest = 0;
  for (int i = 0; i < w->n; i++) {
    bool top = w->temp[i]->offset + align_up(w->temp[i]->bytes) == size;
    if (top)
      w->temp[n++] = w->temp[i];
    else
      w->rest[rest++] = w->temp[i];
  }
  memcpy(w->temp + n, w->rest, (size_t)rest * sizeof *w->rest);
}

/* Places all in the order of w->temp, and keeps the offsets where that takes less than before. */
static size_t try_order(Plan *p, Placing *w) {
  size_t size = place_in_order(w);
  if (size < p->arena_bytes)
    for (int i = 0; i < w->n; i++) w->best[w->temp[i] - p->slot] = w->temp[i]->offset;
  p->arena_bytes = MIN(p->arena_bytes, size);
  return size;
}

static int next_random(uint64_t *state, int n) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((*state >> 33) % (uint64_t)n);
}

static void move_slot(PlanSlot **temp, int from, int to) {
  PlanSlot *moved = temp[from];
  for (int step = to > from ? 1 : -1; from != to; from += step) temp[from] = temp[from + step];
  temp[to] = moved;
}

/* From the order in w->temp on: a slot, every other time one that reaches to the end of the arena, comes earlier or
 * later, and stays there unless that takes more. Which one follows from a fixed sequence of numbers, so places depend
 * on sizes alone. */
static void improve_order(Plan *p, Placing *w, size_t least) {
  uint64_t random = 1;
  size_t size = try_order(p, w);
  for (int step = STEPS / (w->n * w->n); step > 0 && p->arena_bytes > least; step--) {
    int from = next_random(&random, w->n), to = next_random(&random, w->n);
    if (step & 1)
      for (from = 0; w->temp[from]->offset + align_up(w->temp[from]->bytes) < size;) from++;
    memcpy(w->rest, w->temp, (size_t)w->n * sizeof *w->rest);
    move_slot(w->temp, from, to);
    size_t now = try_order(p, w);
    if (now > size)
      memcpy(w->temp, w->rest, (size_t)w->n * sizeof *w->rest);
    else
      size = now;
  }
}

/* By the best of all orders, each of which is tried several times where memory is large, until one wastes nothing. */
static void place_best(Plan *p, Placing *w, size_t least) {
  int ways = w->n > MANY_SLOTS ? 1 : LEN(placements), rounds = least > SMALL_ARENA && ways > 1 ? ROUNDS : 0;
  p->arena_bytes = SIZE_MAX;
  for (int k = 0; k < ways && p->arena_bytes > least; k++) {
    w->temp = p->temp[k];
    sort_temps(w->temp, w->n, placements[k]);
    for (int round = 0; round <= rounds && p->arena_bytes > least; round++) {
      size_t size = try_order(p, w);
      if (rounds) topmost_first(w, size);
    }
  }
  if (rounds && !p->nvar && p->arena_bytes > least) {
    w->temp = p->temp[0];
    improve_order(p, w, least);
  }
  for (int i = 0; i < w->n; i++) w->temp[i]->offset = w->best[w->temp[i] - p->slot];
}

/* Each at a place of its own. A device that runs items side by side would have one wait for another because the memory
 * of a temporary is used again; where all of them are small, that memory is not worth it. */
static void place_apart(Plan *p, const Placing *w) {
  p->arena_bytes = 0;
  for (int i = 0; i < w->n; i++) {
    w->temp[i]->offset = p->arena_bytes;
    p->arena_bytes += align_up(w->temp[i]->bytes);
  }
}

/* The temporaries that have places of their own, for each order in which they are placed. */
static bool list_temps(Plan *p) {
  int n = 0;
  for (int i = 0; i < p->nslot; i++) n += p->slot[i].kind >= SLOT_TEMP && first_owner(p, &p->slot[i]) == &p->slot[i];
  for (int k = 0; k < LEN(placements); k++) {
    p->temp[k] = arena_new(&p->arena, (size_t)(n + 1) * sizeof *p->temp[k]);
    if (!p->temp[k]) return false;
    n = 0;
    for (int i = 0; i < p->nslot; i++)
      if (p->slot[i].kind >= SLOT_TEMP && first_owner(p, &p->slot[i]) == &p->slot[i]) p->temp[k][n++] = &p->slot[i];
    qsort(p->temp[k], (size_t)n, sizeof *p->temp[k], placements[k]);
  }
  p->ntemp = n;
  return true;
}

static bool place_temps(Plan *p) {
  for (int i = 0; i < p->nslot; i++) {
    PlanSlot *s = &p->slot[i], *owner = first_owner(p, s);
    if (s->kind < SLOT_TEMP) continue;
    s->until = MAX(s->until, s->last);
    owner->until = MAX(owner->until, s->last);
  }
  if (!p->temp[LEN(placements) - 1] && !list_temps(p)) return false;
  Arena scratch = {.b = ctx_base(p->ctx)};
  Placing w = {.n = p->ntemp, .temp = p->temp[0]};
  w.placed = arena_new(&scratch, (size_t)(w.n + 1) * sizeof *w.placed);
  w.rest = arena_new(&scratch, (size_t)(w.n + 1) * sizeof *w.rest);
  w.best = arena_new(&scratch, (size_t)(p->nslot + 1) * sizeof *w.best);
  size_t *change = arena_new(&scratch, (size_t)(p->nitem + 2) * sizeof *change);
  bool ok = w.placed && w.rest && w.best && change;
  size_t all = 0;
  for (int i = 0; i < w.n; i++) all += align_up(w.temp[i]->bytes);
  if (ok && p->device && p->device->touches && all <= SMALL_ARENA)
    place_apart(p, &w);
  else if (ok)
    place_best(p, &w, most_alive(p, &w, change));
  for (int i = 0; ok && i < p->nslot; i++)
    if (p->slot[i].kind >= SLOT_TEMP) p->slot[i].offset = first_owner(p, &p->slot[i])->offset;
  arena_free(&scratch);
  return ok;
}

/* ---- the numbers of this run ---- */

/* Can an index of the device's width name every element? */
static bool index_fits(const Plan *p, const PlanSlot *s) {
  char text[256];
  size_t numel = s->bytes / (size_t)dtype_size((PolyDType)s->node->dtype);
  if (numel <= (size_t)INT32_MAX || p->device->target.index_bits >= 64) return true;
  return base_fail(ctx_base(p->ctx), POLY_ERROR_MEMORY,
                   "a tensor of shape %s has more elements than the %d-bit indices of %s reach",
                   shape_text(s->node, text, sizeof text), p->device->target.index_bits, p->device->name);
}

/* Slots of composite items: a tile of rows for each worker, or a copy for each piece. */
static bool size_tile(Plan *p, PlanSlot *s) {
  int64_t numel, rows = s->rows;
  if (!plan_eval(p, s->numel, &numel) || (rows && !plan_eval(p, s->node->shape[0], &rows))) return false;
  if (rows < s->rows) numel = numel / s->rows * rows; /* all edges are one tile */
  if (!bytes_fit(s->node, numel, &s->bytes)) return false;
  s->each = align_up(s->bytes);
  if (s->kind == SLOT_TILE) s->bytes = s->each * (size_t)p->workers;
  return true;
}

static bool size_slots(Plan *p) {
  p->output_bytes = 0;
  for (int i = 0; i < p->nslot; i++) {
    PlanSlot *s = &p->slot[i];
    if (s->loop) {
      if (!plan_size_loop(p, s->loop, &s->bytes)) return false;
      continue;
    }
    bool part = s->kind == SLOT_TILE || s->copies; /* scratch memory of products gets its size later */
    if (part ? !size_tile(p, s) : !shape_bytes(s->node, p->nvar, p->var, p->value, &s->bytes)) return false;
    if (s->pitch) s->bytes = s->bytes / (size_t)s->width * (size_t)s->pitch;
    if (!index_fits(p, s)) return false;
    if (s->kind == SLOT_OUTPUT) p->output_bytes += s->bytes;
  }
  return true;
}

/* Batch axes that lie next to each other in all three operands become one; the device takes the innermost, the run
 * loops over the rest. Axes of size 1 vanish. */
static void fold_batch(PlanItem *it, int n, int64_t (*axis)[4]) {
  MatmulCall *c = &it->call;
  c->batch = 1;
  c->a_batch = c->b_batch = c->c_batch = 0;
  it->nouter = 0;
  for (int i = n; i-- > 0;) {
    int64_t size = axis[i][0], a = axis[i][1], b = axis[i][2], r = axis[i][3];
    if (size == 1) continue;
    bool next = a == c->a_batch * c->batch && b == c->b_batch * c->batch && r == c->c_batch * c->batch;
    if (c->batch == 1) {
      c->batch = size, c->a_batch = a, c->b_batch = b, c->c_batch = r;
    } else if (next && !it->nouter) {
      c->batch *= size;
    } else {
      int o = it->nouter++;
      it->outer[o] = size, it->a_outer[o] = a, it->b_outer[o] = b, it->c_outer[o] = r;
    }
  }
}

static bool size_matmul(Plan *p, PlanItem *it) {
  const MatmulItem *m = &it->matmul;
  MatmulCall *c = &it->call;
  const struct {
    const UOp *u;
    int64_t *to;
  } number[] = {{m->m, &c->m},           {m->n, &c->n},         {m->k, &c->k},
                {m->a_row, &c->a_row},   {m->a_col, &c->a_col}, {m->a_offset, &it->a_offset},
                {m->b_row, &c->b_row},   {m->b_col, &c->b_col}, {m->b_offset, &it->b_offset},
                {m->c_row, &c->c_row},   {m->each, &it->each},  {m->a_step, &it->a_step},
                {m->b_step, &it->b_step}};
  for (int i = 0; i < LEN(number); i++)
    if (!plan_eval(p, number[i].u, number[i].to)) return false;
  int64_t axis[4][4], all = 1;
  for (int i = 0; i < m->nbatch; i++) {
    if (!plan_eval(p, m->batch[i], &axis[i][0]) || !plan_eval(p, m->a_batch[i], &axis[i][1]) ||
        !plan_eval(p, m->b_batch[i], &axis[i][2]) || !plan_eval(p, m->c_batch[i], &axis[i][3]))
      return false;
    all *= axis[i][0];
  }
  fold_batch(it, m->nbatch, axis);
  c->dtype = (PolyDType)p->slot[it->arg[0]].node->dtype;
  it->nflops = 2 * c->m * c->n * c->k * all;
  return true;
}

static bool size_item(Plan *p, PlanItem *it);

/* What the device needs beside for a product of one tile. */
static size_t tile_room(const Plan *p, const PlanTiles *t, const PlanItem *it) {
  MatmulCall c = it->call;
  *(it->matmul.axis == ROWS_OUTER ? &c.m : &c.k) = t->tile * it->each;
  return p->device->matmul_room ? p->device->matmul_room(p->device, &c) : 0;
}

static bool size_tiles(Plan *p, PlanItem *it) {
  PlanTiles *t = it->tiles;
  size_t room = 0;
  if (!plan_eval(p, t->edges, &t->nedges) || (t->rows && !plan_eval(p, t->rows, &t->nrows))) return false;
  for (int i = 0; i < t->nitem + t->nfinish; i++) {
    PlanItem *sub = &t->item[i];
    if (!size_item(p, sub)) return false;
    it->nflops += sub->nflops;
    if (sub->kind == ITEM_MATMUL) room = MAX(room, tile_room(p, t, sub));
  }
  PlanSlot *work = &p->slot[t->work];
  work->each = align_up(room);
  work->bytes = work->each * (size_t)p->workers;
  return true;
}

static bool size_item(Plan *p, PlanItem *it) {
  it->nbytes = it->nflops = 0;
  for (int a = 0; a < it->narg; a++) it->nbytes += (int64_t)p->slot[it->arg[a]].bytes;
  if (it->kind == ITEM_MATMUL && !size_matmul(p, it)) return false;
  if (it->kind == ITEM_TILES && !size_tiles(p, it)) return false;
  it->nmoved = it->nbytes;
  if (it->moved && !plan_eval(p, it->moved, &it->nmoved)) return false;
  it->nmoved = MIN(it->nmoved, it->nbytes);
  return !it->flops || plan_eval(p, it->flops, &it->nflops);
}

static bool size_items(Plan *p) {
  for (int i = 0; i < p->nitem; i++)
    if (!size_item(p, &p->item[i])) return false;
  return true;
}

bool plan_size(Plan *p, const int64_t *value) {
  for (int k = 0; k < p->nvar; k++) {
    if (p->is_size[k] && p->value[k] != value[k]) p->sized = false;
    p->value[k] = value[k];
  }
  if (p->tiled) {
    /* where launches come from one thread, one scratch will do */
    int workers = p->device->pieces ? p->ctx->runtime->threads : 1;
    if (p->workers != workers) p->sized = false;
    p->workers = workers;
  }
  if (p->sized) return true;
  p->expected = false;
  if (!size_slots(p) || !size_items(p) || !place_temps(p)) return false;
  debug_memory(p);
  return p->sized = true;
}
