/* turned.c: elementwise work on memory that lies in two orders. In: the STORE nodes of a kernel without reductions,
 * some of whose loads are contiguous along another output loop than the innermost one. Out: loops over tiles
 *
 *   for i: for j: y[i, j] = f(x[i, j], z[j, i])         for each tile of i and j                    the parallel loop
 *                                                         for j: for i: t[i, j] = z[j, i]           a local array
 *                                                         for i: for j: y[i, j] = f(x[i, j], t[i, j])
 *
 * so that all memory is read and written in runs. z is read four rows at a time, whose squares of four the renderer
 * turns in registers (store_turned). What is loaded under a condition of its row is loaded one by one where it is used,
 * but from lines that a tile keeps in the cache. No number changes. */
#include "codegen/tiles.h"

#include "ir/context.h"

enum {
  MOST_TURNED = 6,    /* loads */
  LEAST_TRIPS = 8,    /* of both loops, */
  LEAST_PLACES = 512, /* and of the kernel: below, plain loops are as good */
  MOST_TILE = 128,    /* iterations of a loop in a tile: of 64, 2048 x 2048 take 1.2 times as long */
  FOUR = 4
};

typedef struct Turned {
  Tiles t; /* rows: the loop along which memory is contiguous; columns: the innermost loop */
  UOp *i, *j;
  int n;
  UOp *load[MOST_TURNED], *array[MOST_TURNED];
  int64_t line; /* of an array, from row to row */
  Map in_array; /* load -> what it is in the nest that stores */
} Turned;

static bool contiguous(int64_t stride) { return stride == 1 || stride == -1; }

/* Does u lie along range, and its runs apart along the innermost loop? */
static bool lies_along(Turned *w, const UOp *u, const UOp *range) {
  Codegen *g = w->t.g;
  if (u->op != OP_LOAD || !contiguous(block_stride(g, u->src[1], range))) return false;
  if (!block_varies(g, u->src[1], w->j)) return false;
  int64_t step = block_stride(g, u->src[1], w->j);
  return step == STRIDE_NONE || 2 * (step < 0 ? -step : step) >= range->src[1]->vmax;
}

static bool is_long(const UOp *range) { return uop_is_int(range->src[0], 0) && range->src[1]->vmax >= LEAST_TRIPS; }

/* The stores are over the same loops, and contiguous along the innermost one. */
static bool stores_fit(Turned *w) {
  UOp *const *store = w->t.store;
  const UOp *first = store[0];
  double places = 1;
  for (int k = 3; k < first->nsrc; k++) {
    if (!uop_is_int(first->src[k]->src[0], 0) || block_ranges(w->t.g, first->src[k]->src[1])) return false;
    places *= (double)first->src[k]->src[1]->vmax;
  }
  for (int s = 0; s < w->t.nstore; s++) {
    if (store[s]->nsrc != first->nsrc || block_stride(w->t.g, store[s]->src[2], w->j) != 1) return false;
    for (int k = 3; k < first->nsrc; k++)
      if (store[s]->src[k] != first->src[k]) return false;
  }
  return places >= LEAST_PLACES && is_long(w->j);
}

/* The loop that most loads lie along. */
static bool find_rows(Turned *w, const Walk *walk) {
  const UOp *first = w->t.store[0];
  int most = 0;
  for (int k = 3; k < first->nsrc - 1; k++) {
    int n = 0;
    for (int i = 0; i < walk->n; i++) n += is_long(first->src[k]) && lies_along(w, walk->at[i], first->src[k]);
    if (n <= most) continue;
    most = n;
    w->i = first->src[k];
  }
  for (int i = 0; i < walk->n && w->i; i++)
    if (w->n < MOST_TURNED && lies_along(w, walk->at[i], w->i)) w->load[w->n++] = walk->at[i];
  return w->n > 0;
}

static bool match(Turned *w) {
  Codegen *g = w->t.g;
  const UOp *first = w->t.store[0];
  Walk walk;
  if (g->loops.n || first->nsrc < 5 || __builtin_popcountll(g->used) > 32) return false;
  w->j = first->src[first->nsrc - 1];
  return stores_fit(w) && uop_walk(g->ctx, g->arena, w->t.nstore, w->t.store, NULL, NULL, &walk) && find_rows(w, &walk);
}

/* ---- sizes ---- */

/* At most so many iterations in a tile: as many as divide the loop, if there are enough of them. */
static int64_t tile_of(const UOp *range, int64_t most) {
  int64_t n = range->src[1]->vmax;
  if (n <= most) return n;
  if (range->src[1]->op == OP_CONST)
    for (int64_t each = most; each > most / 2; each -= FOUR)
      if (n % each == 0) return each;
  return most;
}

static void cut(const Turned *w, Group *group, UOp *range, int64_t most) {
  tiles_put(group, range);
  group->tile = tile_of(range, most);
  group->inner = 1;
  group->tiles = int_div(int_addc(range->src[1], group->tile - 1), tiles_index(&w->t, group->tile));
}

/* What is loaded for some rows alone is not packed: outside of the loop over a row the condition is a branch. */
static bool is_packed(const Turned *w, const UOp *load) {
  return load->nsrc == 2 || !block_varies(w->t.g, load->src[2], w->i);
}

static bool lay_out(Turned *w) {
  const UOp *first = w->t.store[0];
  int64_t most = MOST_TILE, size = 0;
  for (int k = 0; k < w->n; k++) size += dtype_size((PolyDType)w->load[k]->dtype);
  while (most > LEAST_TRIPS && most * most * size > 2 * w->t.g->target->cache_bytes[0]) most /= 2;
  cut(w, &w->t.row, w->i, most);
  cut(w, &w->t.col, w->j, most);
  for (int k = 3; k < first->nsrc - 1; k++)
    if (first->src[k] != w->i) tiles_put(&w->t.batch, first->src[k]);
  w->line = round_up(w->t.col.tile, TILE_PAD) + TILE_PAD;
  for (int k = 0; k < w->n; k++) {
    w->t.dtype = (PolyDType)w->load[k]->dtype;
    if (is_packed(w, w->load[k]) && !(w->array[k] = tiles_array(&w->t, w->t.row.tile * w->line))) return false;
  }
  return w->t.row.tiles && w->t.col.tiles;
}

/* ---- the nests of a tile ---- */

/* u at place (i, j) of the tile; in the nest that stores, with what was packed. */
static UOp *at_place(Turned *w, UOp *u, UOp *i, UOp *j, bool packed) {
  Change c = {.t = &w->t};
  w->t.row.to[0] = int_add(w->t.row.first, i);
  w->t.col.to[0] = int_add(w->t.col.first, j);
  tiles_note(&c, &w->t.row);
  tiles_note(&c, &w->t.col);
  tiles_note(&c, &w->t.batch);
  bool ok = true;
  for (int k = 0; ok && packed && k < w->n; k++) {
    UOp *t = w->array[k] ? tiles_load(&w->t, w->array[k], tiles_line(i, w->line, j), 0) : NULL;
    ok = !w->array[k] ||
         (t && map_put(ctx_base(w->t.g->ctx), &c.done, (uint64_t)(uintptr_t)w->load[k], (uint64_t)(uintptr_t)t));
  }
  UOp *r = ok ? tiles_changed(&c, u) : NULL;
  map_free(ctx_base(w->t.g->ctx), &c.done);
  return r;
}

/* Columns q * count .. of the tile, from `from` on, of one array: lanes along the rows. */
static bool pack(Turned *w, Block *b, int k, UOp *from, UOp *to, int count) {
  Block *in = b;
  UOp *at[FOUR], *value[FOUR];
  if (from == to) return true;
  UOp *q = tiles_open(&w->t, &in, from, to, 0);
  UOp *i = q ? tiles_open(&w->t, &in, tiles_index(&w->t, 0), w->t.row.count, LOOP_VECTOR) : NULL;
  bool ok = i != NULL;
  for (int r = 0; ok && r < count; r++) {
    UOp *j = int_addc(int_mulc(q, count), r);
    value[r] = at_place(w, w->load[k], i, j, false);
    at[r] = tiles_line(i, w->line, j);
    ok = value[r] && at[r] && block_value(w->t.g, in, value[r]) >= 0;
  }
  for (int r = 0; ok && r < count; r++) ok = block_value(w->t.g, in, at[r]) >= 0;
  for (int r = 0; ok && r < count; r++) ok = tiles_store(&w->t, in, w->array[k], at[r], value[r]);
  return ok && tiles_close(&w->t, in, b);
}

/* All values before any store: an output may be an input too. */
static bool finish(Turned *w, Block *b) {
  Block *in = b;
  UOp *value[MAX_STORES], *index[MAX_STORES];
  UOp *i = tiles_open(&w->t, &in, tiles_index(&w->t, 0), w->t.row.count, 0);
  UOp *j = i ? tiles_open(&w->t, &in, tiles_index(&w->t, 0), w->t.col.count, 0) : NULL;
  bool ok = j != NULL;
  for (int s = 0; ok && s < w->t.nstore; s++) {
    value[s] = at_place(w, w->t.store[s]->src[1], i, j, true);
    index[s] = at_place(w, w->t.store[s]->src[2], i, j, true);
    ok = value[s] && index[s] && block_value(w->t.g, in, value[s]) >= 0 && block_value(w->t.g, in, index[s]) >= 0;
  }
  for (int s = 0; ok && s < w->t.nstore; s++) ok = tiles_store(&w->t, in, w->t.store[s]->src[0], index[s], value[s]);
  return ok && tiles_close(&w->t, in, b);
}

/* Floating-point operations of a place, times the places. */
static UOp *flops(Turned *w) {
  Walk walk;
  int n = 0;
  if (!uop_walk(w->t.g->ctx, w->t.g->arena, w->t.nstore, w->t.store, NULL, NULL, &walk)) return NULL;
  for (int i = 0; i < walk.n; i++) {
    const UOp *u = walk.at[i];
    n += op_elementwise((Op)u->op) && dtype_is_float((PolyDType)u->dtype) && u->op != OP_CAST && u->op != OP_WHERE;
  }
  UOp *all = uop_index(w->t.g->ctx, n);
  for (int k = 3; k < w->t.store[0]->nsrc; k++) all = int_mul(all, w->t.store[0]->src[k]->src[1]);
  return all;
}

bool build_turned(Codegen *g, int nstore, UOp *const *store, bool *done) {
  Turned w = {.t = {.g = g, .store = store, .nstore = nstore}};
  *done = false;
  if (g->target->group > 1 || !g->target->vector_bytes || nstore > MAX_STORES || !match(&w)) return true;
  *done = true;
  Block *tile = g->top;
  if (!lay_out(&w) || !tiles_grid(&w.t, &tile)) return false;
  g->inner = tile;
  UOp *fours = int_div(w.t.col.count, tiles_index(&w.t, FOUR)), *rest = int_mulc(fours, FOUR);
  bool ok = rest != NULL;
  for (int k = 0; ok && k < w.n; k++)
    ok = !w.array[k] ||
         (pack(&w, tile, k, tiles_index(&w.t, 0), fours, FOUR) && pack(&w, tile, k, rest, w.t.col.count, 1));
  return ok && finish(&w, tile) && tiles_close(&w.t, tile, g->top) && (g->flops = flops(&w)) != NULL;
}
