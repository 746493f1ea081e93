/* tiles.c: a sum of products as loops over tiles. In: the STORE nodes of a kernel that has one reduction, a sum of
 * x(i, k) * y(k, j), where i and j are output loops that one factor alone varies with. Out: the tree of loops
 *
 *   for each tile of rows i and columns j (and each of the loops that both vary with)        the parallel loop
 *     for each block of k
 *       b = y(k, j)                                    packed into a local array, with whatever it is computed from
 *       for MR rows of the tile
 *         a = x(i, k)                                  the same
 *         for NR columns
 *           sums of MR x NR products over the block in registers: lanes along j, the rows written out side by side
 *           c += sums                                  a local array
 *     for each row and column of the tile: store       what follows the sum reads c
 *
 * So a is in the first cache, where its rows take a line each, and b comes from the second in the order of memory. An x
 * that does not lie along k, or whose rows are several loops, is packed for all rows of the tile, and the loop over
 * columns is around that over rows: 5000 x 64 by 64 x 64 takes 1.07 of the time so.
 *
 * Where a sum is one block, its columns are whole register tiles and little follows, the last two steps are done in
 * registers and there is no c: of sums over 64 products, going through c took a tenth of the time. Rows beyond the tile
 * are not stored.
 *
 * So every element of x and y is computed and loaded once for a tile, and each load of the inner loop serves MR or NR
 * products. What x and y are makes no difference: strided, transposed, gathered or computed. Several loops may make up
 * the rows, the columns or k, as in a convolution: a tile has whole runs of the inner ones and some iterations of the
 * outer one.
 *
 * An element is the sum over k in order, in blocks of a fixed length that are added in order: tiles, threads and the
 * width of vectors change nothing. Where there are many blocks, they are added to pairs of floats as other long sums
 * are (flatten.c). Sizes may be known only when the kernel runs: the local arrays have the size of a whole tile. */
#include "codegen/tiles.h"

#include "ir/context.h"

enum {
  LEAST_WORK = 4096, /* products: below, plain loops are as good */
  LEAST_ROWS = 2,    /* of the output: gradients of an image have three; */
  LEAST_COLUMNS = 8,
  LEAST_SUM = 4,
  LEAST_OVERLAP = 3 /* windows that an element is in, where one row reads it: every second of 3 x 3 are better plain */
};

UOp *tiles_index(const Tiles *t, int64_t v) { return uop_index(t->g->ctx, v); }

static bool varies(const Tiles *t, UOp *u, const UOp *range) { return block_varies(t->g, u, range); }

/* ---- recognising ---- */

bool tiles_put(Group *group, UOp *range) {
  if (group->n == MAX_DIMS) return false;
  group->range[group->n++] = range;
  return true;
}

/* Begins at 0 and ends at a size that no loop or memory decides. */
static bool is_plain(const Tiles *t, const UOp *range) {
  return uop_is_int(range->src[0], 0) && !block_ranges(t->g, range->src[1]) && range->src[1]->vmax > 0;
}

/* The output loops by which factor varies with them, and the loops of the sum. */
static bool sort_loops(Tiles *t) {
  const UOp *s = t->store[0];
  for (int i = 3; i < s->nsrc; i++) {
    UOp *r = s->src[i];
    if (!is_plain(t, r)) return false;
    bool x = varies(t, t->x, r), y = varies(t, t->y, r);
    if ((!x && !y) || !tiles_put(x && y ? &t->batch : x ? &t->row : &t->col, r)) return false;
  }
  for (int i = 1; i < t->loop->nsrc; i++) {
    UOp *r = t->loop->src[i];
    if (!is_plain(t, r) || !varies(t, t->x, r) || !varies(t, t->y, r) || !tiles_put(&t->k, r)) return false;
  }
  return (t->row.n || t->col.n) && t->k.n;
}

/* A factor without loops of its own, as the weights of one channel, has a row of one iteration. */
static bool put_lone(Tiles *t) {
  Group *empty = t->row.n ? &t->col : &t->row;
  int id = 0;
  if (empty->n) return true;
  while (id < 63 && t->g->used & (1ull << id)) id++;
  if (t->g->target->group > 1 || id == 63) return false;
  t->g->used |= 1ull << id;
  UOp *src[2] = {tiles_index(t, 0), tiles_index(t, 1)};
  UOp *range = src[1] ? uop_make(t->g->ctx, OP_RANGE, POLY_INT64, (UArg){.i = id}, 2, src, 0, NULL) : NULL;
  return range && tiles_put(empty, range);
}

double tiles_extent(const Group *group) {
  double n = 1;
  for (int i = 0; i < group->n; i++) n *= (double)group->range[i]->src[1]->vmax;
  return n;
}

/* Does u vary with the sum as well as with the rows or columns? Other loads of a factor are few, and each is the same
 * for a whole run along one of the two. */
static bool varies_both(const Tiles *t, UOp *u) {
  uint64_t ranges = block_ranges(t->g, u), sum = tiles_ranges(&t->k) | tiles_ranges(&t->k_outer);
  return ranges & sum && ranges & (tiles_ranges(&t->row) | tiles_ranges(&t->col));
}

typedef struct Runs {
  const UOp *range;
  int along, main_along; /* loads that are contiguous along the loop; of those that vary with both, */
  int main;              /* and how many these are in all */
  Map seen;
} Runs;

static void count_runs(Tiles *t, UOp *u, Runs *n) {
  if (map_get(&n->seen, (uint64_t)(uintptr_t)u, NULL)) return;
  map_put(ctx_base(t->g->ctx), &n->seen, (uint64_t)(uintptr_t)u, 1);
  if (u->op == OP_LOAD) {
    bool both = varies_both(t, u), along = block_stride(t->g, u->src[1], n->range) == 1;
    n->main += both;
    n->main_along += both && along;
    n->along += along;
  }
  for (int i = 0; i < u->nsrc; i++) count_runs(t, u->src[i], n);
}

/* Loads of a factor that are contiguous along a loop. */
int tiles_runs(Tiles *t, UOp *factor, const UOp *range) {
  Runs n = {.range = range};
  count_runs(t, factor, &n);
  map_free(ctx_base(t->g->ctx), &n.seen);
  return n.main ? n.main_along : n.along;
}

/* The innermost loop of the sum is one along which a factor lies in memory, if there is one and no output loop is: of a
 * convolution over channels that lie side by side, the channels rather than the places of the kernel. */
static void order_sum(Tiles *t) {
  UOp *factor[2] = {t->x, t->y};
  const Group *other[2] = {&t->row, &t->col};
  for (int f = 0; f < 2; f++) {
    UOp **r = t->k.range;
    int last = t->k.n - 1;
    if (tiles_runs(t, factor[f], other[f]->range[other[f]->n - 1]) || tiles_runs(t, factor[f], r[last])) continue;
    for (int i = 0; i < last; i++) {
      UOp *along = r[i];
      if (!tiles_runs(t, factor[f], along)) continue;
      for (int k = i; k < last; k++) r[k] = r[k + 1];
      r[last] = along;
      return;
    }
  }
}

/* Are more loads of a factor contiguous along its rows or columns than along k? If both, the longer run counts. */
bool tiles_along(Tiles *t, UOp *factor, const Group *other) {
  const UOp *last = other->range[other->n - 1], *last_k = t->k.range[t->k.n - 1];
  int n = tiles_runs(t, factor, last), k = tiles_runs(t, factor, last_k);
  return n > k || (n && n == k && last->src[1]->vmax >= last_k->src[1]->vmax);
}

/* How often an element of y stands in windows along the columns. */
static double overlap(Tiles *t) {
  double n = 1;
  windows_find(t);
  const Windows *w = &t->windows;
  for (int p = 0; p < w->n; p++) {
    double cols = (double)w->col[p]->src[1]->vmax, k = (double)w->k[p]->src[1]->vmax;
    if (cols >= k) n *= cols * k / (cols * (double)w->step[p] + k * (double)w->turn[p]);
  }
  return n;
}

/* Rough operations of moving data if lanes go along the columns: what does not lie along them is moved one by one. */
static double moving(Tiles *t) {
  enum { LANES = 16, ROWS = 150 };
  double rows = tiles_extent(&t->row), cols = tiles_extent(&t->col), k = tiles_extent(&t->k);
  const UOp *s = t->store[0];
  bool packed = tiles_along(t, t->y, &t->col);
  bool stored = block_stride(t->g, s->src[2], t->col.range[t->col.n - 1]) == 1;
  return cols * k / overlap(t) * (1 + rows / ROWS) / (packed ? LANES : 1) + rows * cols / (stored ? LANES : 1);
}

void tiles_turn(Tiles *t) {
  UOp *x = t->x;
  Group row = t->row;
  t->x = t->y;
  t->y = x;
  t->row = t->col;
  t->col = row;
}

/* Lanes go along the columns: there must be some, and what is read and written along them should lie there side by
 * side. */
static void choose_columns(Tiles *t) {
  Tiles other = *t;
  tiles_turn(&other);
  bool few = tiles_extent(&t->col) < LEAST_COLUMNS, few_rows = tiles_extent(&t->row) < LEAST_COLUMNS;
  if (few == few_rows ? moving(t) > moving(&other) : few) *t = other;
}

/* Is there enough to do, and is what a tile packs read often enough: by several rows, or by windows? */
static bool worthwhile(Tiles *t) {
  double rows = tiles_extent(&t->row), cols = tiles_extent(&t->col), k = tiles_extent(&t->k);
  bool often = rows >= LEAST_ROWS || overlap(t) >= LEAST_OVERLAP;
  return often && cols >= LEAST_COLUMNS && k >= LEAST_SUM && rows * cols * k >= LEAST_WORK;
}

bool tiles_is_product(const UOp *loop) {
  const UOp *body = loop->src[0];
  return loop->arg.i == OP_ADD && body->op == OP_MUL && body->dtype != POLY_BOOL;
}

bool tiles_vary_as(Tiles *t, const Term *term) {
  UOp *own = term->k.range[0];
  bool fits = is_plain(t, own) && varies(t, term->x, own) && varies(t, term->y, own);
  for (int i = 0; i < t->row.n; i++)
    fits &= varies(t, term->x, t->row.range[i]) && !varies(t, term->y, t->row.range[i]);
  for (int i = 0; i < t->col.n; i++)
    fits &= varies(t, term->y, t->col.range[i]) && !varies(t, term->x, t->col.range[i]);
  for (int i = 0; i < t->batch.n; i++)
    fits &= varies(t, term->x, t->batch.range[i]) && varies(t, term->y, t->batch.range[i]);
  return fits;
}

/* Is it a sum over the edges of a row? */
static bool is_over_edges(const UOp *loop) { return loop->nsrc == 2 && range_is_row(loop->src[1]); }

/* Of two reductions, one over the edges of a row that is added to the other, which is taken in tiles; NULL: they are
 * not of that kind. */
static UOp *beside_edges(Codegen *g) {
  UOp *a = g->loops.at[0], *b = g->loops.at[1], *product = is_over_edges(a) ? b : a, *edges = product == a ? b : a;
  if (!is_over_edges(edges) || is_over_edges(product) || !tiles_is_product(product)) return NULL;
  Walk walk;
  bool ok = uop_walk(g->ctx, g->arena, 1, &product, NULL, NULL, &walk);
  for (int i = 0; ok && i < walk.n; i++) ok = walk.at[i] != edges;
  ok = ok && uop_walk(g->ctx, g->arena, 1, &edges, NULL, NULL, &walk);
  for (int i = 0; ok && i < walk.n; i++) ok = walk.at[i] != product;
  return ok ? product : NULL;
}

/* The sum that the kernel forms: its one reduction beside sums over edges, or on groups of threads several that it adds
 * up. */
static bool find_sum(Tiles *t) {
  Codegen *g = t->g;
  if (g->loops.n > 1 && g->target->group > 1) return g->loops.n <= MOST_TERMS && tiles_add_terms(t);
  if (g->loops.n > 1) return g->loops.n == 2 && (t->loop = beside_edges(g)) != NULL;
  t->loop = g->loops.n ? g->loops.at[0] : NULL;
  return t->loop != NULL;
}

bool tiles_match(Tiles *t) {
  if (!find_sum(t) || !tiles_is_product(t->loop)) return false;
  UOp *body = t->loop->src[0];
  for (int i = 1; i < t->nstore; i++) {
    if (t->store[i]->nsrc != t->store[0]->nsrc) return false;
    for (int k = 3; k < t->store[0]->nsrc; k++)
      if (t->store[i]->src[k] != t->store[0]->src[k]) return false;
  }
  t->x = body->src[0];
  t->y = body->src[1];
  bool half = dtype_is_small((PolyDType)body->dtype);
  t->dtype = half ? POLY_FLOAT32 : (PolyDType)body->dtype;
  if (!sort_loops(t) || !put_lone(t)) return false;
  order_sum(t);
  choose_columns(t);
  return worthwhile(t) && tiles_sort_terms(t);
}

/* ---- sizes ---- */

uint64_t tiles_ranges(const Group *group) {
  uint64_t ranges = 0;
  for (int i = 0; i < group->n; i++) ranges |= 1ull << group->range[i]->arg.i;
  return ranges;
}

/* ---- local arrays ---- */

UOp *tiles_array(Tiles *t, int64_t elements) {
  Codegen *g = t->g;
  LinearParam p = {.dtype = t->dtype, .written = true, .read = true, .local = elements};
  if (!vec_push(ctx_base(g->ctx), &g->local, p)) return NULL;
  return uop_make(g->ctx, OP_PARAM, t->dtype, (UArg){.i = g->nargs + g->local.n - 1}, 0, NULL, 0, NULL);
}

static bool make_arrays(Tiles *t) {
  int64_t rows = round_up(tiles_each(&t->row), t->mr), cols = round_up(tiles_each(&t->col), t->nr);
  const Windows *w = &t->windows;
  int64_t k = tiles_each(&t->k), size = dtype_size(t->dtype);
  t->a_line = (t->a_by_k ? rows : k) + TILE_PAD;
  t->b_line = cols + TILE_PAD;
  t->c_line = round_up(tiles_columns(t), t->nr) + TILE_PAD;
  int64_t a = t->a_line * (t->a_by_k ? k : t->inside ? t->mr : rows), b = w->on ? w->elements : t->b_line * k;
  int64_t c = t->direct ? 0 : t->c_line * rows;
  if ((a + b + c * (1 + t->pairs)) * size > TILE_PANEL_BYTES) return false;
  t->a = tiles_array(t, a);
  t->b = tiles_array(t, b);
  t->c = t->direct ? NULL : tiles_array(t, c);
  t->low = t->pairs ? tiles_array(t, c) : NULL;
  return t->a && t->b && (t->c || t->direct) && (t->low || !t->pairs);
}

/* ---- loops ---- */

/* A loop over begin .. end inside *b; of one iteration none is opened. */
UOp *tiles_open(Tiles *t, Block **b, UOp *begin, UOp *end, uint32_t flags) {
  Codegen *g = t->g;
  if (!*b || !begin || !end) return NULL;
  if (uop_is_int(begin, 0) && uop_is_int(end, 1) && !flags) return begin;
  int id = 0;
  while (id < 63 && g->used & (1ull << id)) id++;
  if (id == 63) return fail_null(ctx_base(g->ctx), POLY_ERROR_RUNTIME, "a kernel needs too many loops");
  g->used |= 1ull << id;
  UOp *src[2] = {begin, end}, *r = uop_make(g->ctx, OP_RANGE, POLY_INT64, (UArg){.i = id}, 2, src, 0, NULL);
  *b = r ? block_open(g, *b, r, flags) : NULL;
  return *b ? r : NULL;
}

static UOp *open_up_to(Tiles *t, Block **b, UOp *end) { return tiles_open(t, b, tiles_index(t, 0), end, 0); }

bool tiles_close(Tiles *t, Block *b, const Block *outer) {
  for (; b != outer; b = b->parent)
    if (!block_close(t->g, b)) return false;
  return true;
}

/* One loop for those of a group, whose innermost goes on beyond its end, into the next iteration of the others. */
static UOp *open_as_one(Tiles *t, Block **b, Group *group) {
  UOp *v = open_up_to(t, b, int_mulc(group->count, group->inner));
  if (!v) return NULL;
  group->to[0] = group->first;
  for (int i = 1; i < group->n; i++) group->to[i] = i < group->n - 1 ? tiles_index(t, 0) : v;
  return v;
}

/* Loops over what the tile has of a group, the innermost up to `end` (NULL: to its own). Returns the place in the tile.
 */
static UOp *open_group(Tiles *t, Block **b, Group *group, UOp *end) {
  UOp *flat = tiles_index(t, 0);
  for (int i = 0; i < group->n; i++) {
    UOp *size = i ? group->range[i]->src[1] : group->count;
    UOp *v = open_up_to(t, b, end && i == group->n - 1 ? end : size);
    if (!v) return NULL;
    (*b)->ordered = end && i < group->n - 1;
    group->to[i] = i ? v : int_add(group->first, v);
    flat = int_add(int_mul(flat, size), v);
  }
  return flat;
}

/* Are all loads of u that vary with a loop at an index that grows with it? */
static bool steps_along(Tiles *t, UOp *u, const UOp *range, Map *seen) {
  if (!varies(t, u, range) || map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return true;
  if (!map_put(ctx_base(t->g->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return false;
  if (u->op == OP_LOAD) return block_stride(t->g, u->src[1], range) != STRIDE_NONE;
  for (int i = 0; i < u->nsrc; i++)
    if (!steps_along(t, u->src[i], range, seen)) return false;
  return op_elementwise((Op)u->op);
}

/* Vectors, ever narrower ones and single elements that a run is moved in. */
static int64_t moves(int64_t size, int64_t lanes, int64_t least) {
  int64_t n = 0;
  for (; lanes >= least; size %= lanes, lanes /= 2) n += size / lanes;
  return n + size;
}

/* Where runs of a factor are no whole vectors, each may be packed in whole ones: what is beyond its end is not loaded,
 * and what is stored for it is written over by the next run, or lies behind the line. The end of such a loop; NULL:
 * there is none. */
static UOp *padded_end(Tiles *t, UOp *factor, const Group *group) {
  const UOp *last = group->range[group->n - 1];
  int64_t size = last->src[1]->vmax, lanes = t->g->target->vector_bytes / dtype_size(t->dtype);
  if (group->n < 2 || lanes < 2 || lanes > TILE_PAD || last->src[1]->op != OP_CONST) return NULL;
  while (lanes > t->g->target->least_lanes && lanes >= 2 * size) lanes /= 2;
  Map seen = {0};
  bool whole = moves(size, lanes, t->g->target->least_lanes) > round_up(size, lanes) / lanes &&
               tiles_runs(t, factor, last) && steps_along(t, factor, last, &seen);
  map_free(ctx_base(t->g->ctx), &seen);
  return whole ? tiles_index(t, round_up(size, lanes)) : NULL;
}

/* Loops over a group in which a factor is read. `gate`: that it is to be loaded, where it is packed along the group. */
static UOp *open_factor(Tiles *t, Block **b, UOp *factor, Group *group, UOp **gate) {
  if (tiles_walk_as_one(t, factor, group)) return open_as_one(t, b, group);
  UOp *end = gate ? padded_end(t, factor, group) : NULL, *flat = open_group(t, b, group, end);
  if (flat && end) *gate = int_lt(group->to[group->n - 1], group->range[group->n - 1]->src[1]);
  return flat && end && !*gate ? NULL : flat;
}

/* ---- memory ---- */

UOp *tiles_load(Tiles *t, UOp *array, UOp *index, int64_t name) {
  UOp *src[2] = {array, index};
  if (!array || !index) return NULL;
  return uop_make(t->g->ctx, OP_LOAD, (PolyDType)array->dtype, (UArg){.i = name}, 2, src, 0, NULL);
}

/* array[index] = value, in b. */
bool tiles_store_if(Tiles *t, Block *b, UOp *array, UOp *index, UOp *value, UOp *gate) {
  UOp *src[3] = {array, value, index};
  if (!index || !value) return false;
  UOp *store = uop_make(t->g->ctx, OP_STORE, (PolyDType)array->dtype, (UArg){0}, 3, src, 0, NULL);
  return store && block_store(t->g, b, store, gate);
}

bool tiles_store(Tiles *t, Block *b, UOp *array, UOp *index, UOp *value) {
  return tiles_store_if(t, b, array, index, value, NULL);
}

UOp *tiles_line(UOp *line, int64_t length, UOp *at) { return int_add(int_mulc(line, length), at); }

/* ---- panels ---- */

/* Zeros where a register tile goes beyond the rows or columns of the tile. */
static bool fill(Tiles *t, Block *b, UOp *array, int64_t line, bool lines, UOp *from, UOp *to, UOp *others) {
  if (!from || !to) return false;
  if (from == to) return true;
  Block *in = b;
  UOp *i = tiles_open(t, &in, lines ? from : tiles_index(t, 0), lines ? to : others, 0);
  UOp *j = tiles_open(t, &in, lines ? tiles_index(t, 0) : from, lines ? others : to, 0);
  if (!i || !j || !tiles_store(t, in, array, tiles_line(i, line, j), uop_const(t->g->ctx, t->dtype, 0))) return false;
  return tiles_close(t, in, b);
}

UOp *tiles_elements(const Group *group) { return int_mulc(group->count, group->inner); }

static UOp *whole_tiles(const Tiles *t, const Group *group, int64_t of) {
  return int_mulc(int_div(int_addc(tiles_elements(group), of - 1), tiles_index(t, of)), of);
}

/* The factor at the place that the groups have open, for loads behind `gate` along the last loop of `run`. */
UOp *tiles_factor_here(Tiles *t, UOp *factor, const Group *other, const Group *run, UOp *gate) {
  Change c = {.t = t, .gate = gate, .along = run ? run->range[run->n - 1] : NULL};
  tiles_note(&c, &t->k);
  tiles_note(&c, &t->k_outer);
  tiles_note(&c, other);
  tiles_note(&c, &t->batch);
  UOp *value = tiles_changed(&c, factor);
  map_free(ctx_base(t->g->ctx), &c.done);
  return value ? uop_cast(value, t->dtype) : NULL;
}

/* A group that is walked by one loop, at place v of the tile. */
static void place_one(Group *group, UOp *v) {
  group->to[0] = group->n == 1 ? int_add(group->first, v) : group->first;
  for (int i = 1; i < group->n; i++) group->to[i] = i < group->n - 1 ? uop_index(v->ctx, 0) : v;
}

/* The columns of a panel whose factor runs along k, in fours: what is loaded of these is stored side by side, by four
 * stores that the renderer makes one of. Returns the first column that is left over; NULL: an error. */
static UOp *pack_fours(Tiles *t, Block *b, UOp *factor, UOp *array, Group *other, int64_t line) {
  enum { FOUR = 4 };
  Block *in = b;
  UOp *at[FOUR], *value[FOUR], *fours = int_div(tiles_elements(other), tiles_index(t, FOUR));
  bool one = other->n == 1 || tiles_walk_as_one(t, factor, other);
  if (!one || uop_is_int(fours, 0)) return tiles_index(t, 0);
  UOp *q = open_up_to(t, &in, fours), *k = q ? open_factor(t, &in, factor, &t->k, NULL) : NULL;
  bool ok = k != NULL;
  for (int r = 0; ok && r < FOUR; r++) {
    UOp *column = int_addc(int_mulc(q, FOUR), r);
    place_one(other, column);
    value[r] = tiles_factor_here(t, factor, other, &t->k, NULL);
    at[r] = tiles_line(k, line, column);
    ok = value[r] && at[r] && block_value(t->g, in, value[r]) >= 0;
  }
  for (int r = 0; ok && r < FOUR; r++) ok = block_value(t->g, in, at[r]) >= 0;
  for (int r = 0; ok && r < FOUR; r++) ok = tiles_store(t, in, array, at[r], value[r]);
  return ok && tiles_close(t, in, b) ? int_mulc(fours, FOUR) : NULL;
}

/* One panel: a factor at all k of the block and all rows or columns of the tile, read in the order of memory. */
static bool pack(Tiles *t, Block *b, UOp *factor, UOp *array, Group *other, int64_t line, bool by_k) {
  Block *in = b;
  UOp *i, *k, *gate = NULL, *from = tiles_index(t, 0);
  bool along = tiles_along(t, factor, other);
  Group *outer = along ? &t->k : other, *run = along ? other : &t->k;
  int64_t of = other == &t->row ? t->mr : t->nr;
  UOp *padded = whole_tiles(t, other, of);
  if (by_k && !along && tiles_runs(t, factor, t->k.range[t->k.n - 1]))
    from = pack_fours(t, b, factor, array, other, line);
  if (!from || !padded) return false;
  if (from != tiles_elements(other)) {
    UOp *at = uop_is_int(from, 0) ? open_factor(t, &in, factor, outer, NULL)
                                  : tiles_open(t, &in, from, tiles_elements(other), 0);
    if (at && !uop_is_int(from, 0)) place_one(other, at);
    UOp *to = at ? open_factor(t, &in, factor, run, along == by_k ? &gate : NULL) : NULL;
    i = along ? to : at;
    k = along ? at : to;
    UOp *value = i && k ? tiles_factor_here(t, factor, other, run, gate) : NULL;
    if (!value || !tiles_store(t, in, array, by_k ? tiles_line(k, line, i) : tiles_line(i, line, k), value))
      return false;
    if (!tiles_close(t, in, b)) return false;
  }
  return fill(t, b, array, line, !by_k, tiles_elements(other), padded, tiles_elements(&t->k));
}

/* Rows of x from row `row` of the tile on, for one register tile. */
static bool pack_rows(Tiles *t, Block *b, UOp *row) {
  Block *in = b;
  UOp *gate = NULL, *count = int_min(tiles_index(t, t->mr), int_sub(tiles_elements(&t->row), row));
  UOp *r = count ? open_up_to(t, &in, count) : NULL;
  if (!r) return false;
  place_one(&t->row, int_add(row, r));
  UOp *k = open_factor(t, &in, t->x, &t->k, &gate),
      *value = k ? tiles_factor_here(t, t->x, &t->row, &t->k, gate) : NULL;
  if (!value || !tiles_store(t, in, t->a, tiles_line(r, t->a_line, k), value)) return false;
  if (!tiles_read_ahead(t, in, value, t->k.to[t->k.n - 1]) || !tiles_close(t, in, b)) return false;
  return fill(t, b, t->a, t->a_line, true, count, tiles_index(t, t->mr), tiles_elements(&t->k));
}

/* ---- the register tile ---- */

/* What the sums of a block are added to. */
static bool add_block(Tiles *t, Block *b, UOp *at, UOp *part, UOp *block) {
  if (uop_is_int(t->blocks, 1)) return tiles_store(t, b, t->c, at, part);
  UOp *gate = int_lt(tiles_index(t, 0), block), *src[3] = {t->c, at, gate};
  UOp *hi = uop_make(t->g->ctx, OP_LOAD, t->dtype, (UArg){0}, 3, src, 0, NULL);
  UOp *sum = hi ? uop_binary(OP_ADD, hi, part) : NULL;
  if (!t->pairs) return tiles_store(t, b, t->c, at, sum);
  src[0] = t->low;
  UOp *lo = uop_make(t->g->ctx, OP_LOAD, t->dtype, (UArg){0}, 3, src, 0, NULL);
  UOp *y = uop_binary(OP_SUB, sum, hi), *x = uop_binary(OP_SUB, sum, y);
  UOp *error = uop_binary(OP_ADD, uop_binary(OP_SUB, hi, x), uop_binary(OP_SUB, part, y));
  /* both are loaded before either is stored */
  return tiles_store(t, b, t->low, at, uop_binary(OP_ADD, lo, error)) && tiles_store(t, b, t->c, at, sum);
}

static UOp *a_at(Tiles *t, UOp *row, UOp *k) {
  return tiles_load(t, t->a, t->a_by_k ? tiles_line(k, t->a_line, row) : tiles_line(row, t->a_line, k), 0);
}

/* The loops of the sum over a block. Returns the product's number; *at: where y is in its panel, for column j of the
 * tile, which is column v from `col` on. */
static UOp *open_sum(Tiles *t, Block **b, UOp *j, UOp *col, UOp *v, UOp **at) {
  UOp *k[MAX_DIMS], *flat = tiles_index(t, 0);
  int n = t->windows.on ? t->k.n : 1;
  for (int i = 0; i < n; i++) {
    UOp *size = n == 1 ? tiles_elements(&t->k) : i ? t->k.range[i]->src[1] : t->k.count;
    if (!(k[i] = tiles_open(t, b, tiles_index(t, 0), size, LOOP_REDUCE))) return NULL;
    (*b)->whole = true;
    flat = int_add(int_mul(flat, size), k[i]);
  }
  *at = t->windows.on ? int_add(windows_product(t, k), int_add(windows_column(t, col), v))
                      : tiles_line(flat, t->b_line, j);
  return *at ? flat : NULL;
}

/* Sums of mr x nr products over the block, from row `row` and column `col` of the tile on. */
static bool register_tile(Tiles *t, Block *b, UOp *row, UOp *col, UOp *block) {
  Codegen *g = t->g;
  Block *lanes = b;
  uint32_t flags = g->target->vector_bytes ? LOOP_VECTOR : 0;
  UOp *v = tiles_open(t, &lanes, tiles_index(t, 0), tiles_index(t, t->nr), flags | LOOP_JAMMED);
  if (!v) return false;
  UOp *j = int_add(col, v);
  int acc[TILE_MOST_ROWS];
  Inst inst = {.kind = INST_ACC, .dtype = (uint8_t)t->dtype, .op = OP_ADD, .src = {-1, -1, -1}};
  for (int r = 0; r < t->mr; r++)
    if ((acc[r] = block_inst(g, lanes, inst, NULL)) < 0) return false;
  Block *sum = lanes;
  UOp *at, *k = open_sum(t, &sum, j, col, v, &at);
  if (!k) return false;
  UOp *y = tiles_load(t, t->b, at, 0);
  for (int r = 0; r < t->mr; r++) {
    UOp *x = a_at(t, t->inside ? tiles_index(t, r) : int_addc(row, r), k);
    int product = x && y ? block_value(g, sum, uop_binary(OP_MUL, x, y)) : -1;
    Inst update = {.kind = INST_UPDATE, .dtype = (uint8_t)t->dtype, .op = OP_ADD, .src = {acc[r], product, -1}};
    if (product < 0 || block_inst(g, sum, update, NULL) < 0) return false;
  }
  if (!tiles_close(t, sum, lanes)) return false;
  for (int r = 0; r < t->mr; r++) {
    at = tiles_line(int_addc(row, r), t->c_line, j);
    UOp *part = tiles_load(t, t->b, at, 1 + r);
    if (!part || !block_name(g, lanes, part, acc[r])) return false;
    if (t->direct ? !tiles_finish_row(t, lanes, int_addc(row, r), col, v, part) : !add_block(t, lanes, at, part, block))
      return false;
  }
  return block_close(g, lanes);
}

static bool multiply(Tiles *t, Block *b, UOp *block) {
  Block *in = b;
  UOp *nr = tiles_index(t, t->nr), *mr = tiles_index(t, t->mr);
  UOp *cols = int_div(int_addc(windows_columns(t), t->nr - 1), nr);
  UOp *rows = int_div(int_addc(tiles_elements(&t->row), t->mr - 1), mr);
  UOp *col = t->inside ? NULL : open_up_to(t, &in, cols), *row = t->inside || col ? open_up_to(t, &in, rows) : NULL;
  t->step = t->inside && row && row->op == OP_RANGE ? row : NULL;
  if (!row || (t->inside && (!pack_rows(t, in, int_mul(row, mr)) || !(col = open_up_to(t, &in, cols))))) return false;
  bool ok = register_tile(t, in, int_mul(row, mr), int_mul(col, nr), block) && tiles_close(t, in, b);
  t->step = NULL;
  return ok;
}

/* ---- what follows ---- */

static bool in_group(const Group *group, const UOp *range, int *at) {
  for (*at = 0; *at < group->n; ++*at)
    if (group->range[*at] == range) return true;
  return false;
}

/* Loops over the tile, in the order of the output's. Those of a group are one loop where what is left to do walks them
 * as one: gradients of 3 x 3 weights would have loops of three. */
static bool open_outputs(Tiles *t, Block **b, UOp **row, UOp **col) {
  bool one_row = tiles_end_as_one(t, &t->row), one_col = !t->windows.on && tiles_end_as_one(t, &t->col);
  *row = *col = tiles_index(t, 0);
  for (int i = 3; i < t->store[0]->nsrc; i++) {
    UOp *r = t->store[0]->src[i];
    int at;
    Group *group = in_group(&t->row, r, &at) ? &t->row : in_group(&t->col, r, &at) ? &t->col : NULL;
    if (!group) continue;
    if (group == &t->row ? one_row : one_col) {
      UOp **flat = group == &t->row ? row : col;
      if (at == group->n - 1 && !(*flat = open_as_one(t, b, group))) return false;
      continue;
    }
    UOp **flat = group == &t->row ? row : col, *size = at ? r->src[1] : group->count, *v = open_up_to(t, b, size);
    if (!v) return false;
    group->to[at] = at ? v : int_add(group->first, v);
    if (at && group == &t->col && t->windows.on) size = tiles_index(t, t->windows.size[at]);
    *flat = int_add(int_mul(*flat, size), v);
  }
  return true;
}

/* What the blocks have left; where there was none, since the sum is over nothing, that is zero. */
static UOp *left_at(Tiles *t, UOp *array, UOp *at) {
  if (t->blocks->vmin > 0) return tiles_load(t, array, at, 0);
  UOp *src[3] = {array, at, int_lt(tiles_index(t, 0), t->blocks)};
  return uop_make(t->g->ctx, OP_LOAD, t->dtype, (UArg){0}, 3, src, 0, NULL);
}

static UOp *sum_at(Tiles *t, UOp *at) {
  UOp *hi = left_at(t, t->c, at), *lo = t->pairs ? left_at(t, t->low, at) : NULL;
  if (!t->pairs) return hi ? uop_cast(hi, (PolyDType)t->loop->dtype) : NULL;
  return uop_where(uop_binary(OP_CMPEQ, lo, lo), uop_binary(OP_ADD, hi, lo), hi);
}

static bool finish(Tiles *t, Block *b) {
  Block *in = b;
  UOp *row, *col;
  if (!open_outputs(t, &in, &row, &col)) return false;
  return tiles_finish(t, in, sum_at(t, tiles_line(row, t->c_line, col)), NULL, NULL, NULL) && tiles_close(t, in, b);
}

/* ---- the kernel ---- */

/* The tile at hand of a group, number n. */
bool tiles_place(Group *group, UOp *n) {
  UOp *size = group->range[0]->src[1];
  if (group->unit) {
    UOp *units = int_div(int_addc(size, group->unit - 1), uop_index(size->ctx, group->unit));
    UOp *from = int_div(int_mul(n, units), group->tiles), *to = int_div(int_mul(int_addc(n, 1), units), group->tiles);
    group->first = int_mulc(from, group->unit);
    group->count =
        int_min(uop_index(size->ctx, group->tile), int_sub(int_min(int_mulc(to, group->unit), size), group->first));
    return group->first && group->count;
  }
  group->first = n ? int_mulc(n, group->tile) : NULL;
  bool exact = size->op == OP_CONST && size->vmax % group->tile == 0;
  group->count = exact ? uop_index(size->ctx, group->tile)
                       : int_min(uop_index(size->ctx, group->tile), int_sub(size, group->first));
  return group->first && group->count;
}

/* Loops that are one loop, at its iteration n. */
bool tiles_place_outer(Group *group, UOp *n) {
  for (int i = group->n; n && i-- > 0;) {
    UOp *size = group->range[i]->src[1];
    group->to[i] = i ? int_mod(n, size) : n;
    n = group->to[i] ? int_div(n, size) : NULL;
  }
  return n != NULL;
}

/* The parallel loop: over tiles, and over what both factors vary with. */
bool tiles_grid(Tiles *t, Block **b) {
  UOp *all = int_mul(t->row.tiles, t->col.tiles);
  for (int i = 0; i < t->batch.n; i++) all = int_mul(all, t->batch.range[i]->src[1]);
  UOp *rest = all ? open_up_to(t, b, all) : NULL;
  if (!rest || !tiles_place(&t->col, int_mod(rest, t->col.tiles))) return false;
  rest = int_div(rest, t->col.tiles);
  if (!rest || !tiles_place(&t->row, int_mod(rest, t->row.tiles))) return false;
  return tiles_place_outer(&t->batch, int_div(rest, t->row.tiles));
}

UOp *tiles_flops(const Tiles *t) {
  UOp *n = uop_index(t->g->ctx, 2), *k = uop_index(t->g->ctx, 1);
  for (int i = 3; i < t->store[0]->nsrc; i++) n = int_mul(n, t->store[0]->src[i]->src[1]);
  for (int i = 1; i < t->loop->nsrc; i++) k = int_mul(k, t->loop->src[i]->src[1]);
  for (int i = 0; i < t->nmore; i++) k = int_add(k, t->more[i].k.range[0]->src[1]);
  return int_mul(n, k);
}

/* Tiles of which each has other iterations of the output's inner loops run one after the other: what they read is often
 * the same, as for the even and the odd places of a gradient. */
static void order_batch(Tiles *t) {
  const UOp *s = t->store[0];
  Group sorted = {0};
  for (int i = 3; i < s->nsrc; i++)
    for (int k = 0; k < t->batch.n; k++)
      if (t->batch.range[k] == s->src[i]) tiles_put(&sorted, s->src[i]);
  if (sorted.n == t->batch.n) t->batch = sorted;
}

static bool build(Tiles *t) {
  Codegen *g = t->g;
  Block *tile = g->top;
  order_batch(t);
  if (!tiles_grid(t, &tile)) return false;
  g->inner = tile;
  Block *in = tile;
  UOp *block = open_up_to(t, &in, t->blocks);
  if (!block || !tiles_place(&t->k, int_mod(block, t->k.tiles)) ||
      !tiles_place_outer(&t->k_outer, int_div(block, t->k.tiles)))
    return false;
  if (!t->inside && !pack(t, in, t->x, t->a, &t->row, t->a_line, t->a_by_k)) return false;
  bool packed = t->windows.on ? windows_pack(t, in) : pack(t, in, t->y, t->b, &t->col, t->b_line, true);
  return packed && multiply(t, in, block) && tiles_close(t, in, tile) && (t->direct || finish(t, tile)) &&
         tiles_close(t, tile, g->top) && (g->flops = tiles_flops(t)) != NULL;
}

bool build_tiles(Codegen *g, int nstore, UOp *const *store, bool *done) {
  Tiles t = {.g = g, .store = store, .nstore = nstore};
  *done = false;
  if ((g->target->group > 1 && !g->target->product_warps) || nstore > MAX_STORES || !tiles_match(&t)) return true;
  if (__builtin_popcountll(g->used) + 3 * (t.row.n + t.col.n + t.k.n) + 16 > 60) return true;
  if (g->target->group > 1) return build_group_tiles(&t, done);
  if (!tiles_choose_sizes(&t) || !make_arrays(&t)) {
    g->local.n = 0;
    return ctx_base(g->ctx)->code == POLY_OK;
  }
  *done = true;
  return build(&t);
}
