/* tile_sizes.c: how large the tiles of a sum of products are: by what an element takes to pack, what a product takes in
 * a register tile and how much is computed beyond the edges; the cheapest tiles whose local arrays stay in the caches.
 * In: the Tiles of tiles.c with rows, columns and the loops of the sum. Out: the same, cut, with the register tile. */
#include "codegen/tiles.h"

#include "ir/context.h"

enum {
  BLOCK_K = 256,     /* longest sum without a pause */
  WIDE_TILE = 256,   /* columns, */
  WIDEST_TILE = 512, /* and where that leaves out packing or columns that nothing reads */
  MANY_BLOCKS = 32,  /* added as pairs: fewer lose less than one block of products does */
  MOST_TILES = 512,  /* of rows, that are tried */
  OPEN_TILE = 448    /* rows, where their number is known in the run only: packing a transposed y is 9 % of them */
};

/* Does an index walk the loops of a group as one? The inner ones have constant sizes. */
static bool one_run(Tiles *t, UOp *index, const Group *group) {
  int64_t step = block_stride(t->g, index, group->range[group->n - 1]);
  for (int i = group->n - 1; i > 0 && step != STRIDE_NONE; i--) {
    step *= group->range[i]->src[1]->vmax;
    if (block_stride(t->g, index, group->range[i - 1]) != step) return false;
  }
  return step != STRIDE_NONE;
}

/* Does every load in u but those of the sum? */
static bool one_walk(Tiles *t, UOp *u, const Group *group, Map *seen) {
  uint64_t ranges = tiles_ranges(group);
  if (u == t->loop || !(block_ranges(t->g, u) & ranges) || map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return true;
  if (!map_put(ctx_base(t->g->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return false;
  if (u->op == OP_LOAD)
    return one_run(t, u->src[1], group) && (u->nsrc < 3 || !(block_ranges(t->g, u->src[2]) & ranges));
  for (int i = 0; i < u->nsrc; i++)
    if (!one_walk(t, u->src[i], group, seen)) return false;
  return op_elementwise((Op)u->op); /* not so a loop itself: a number of its iteration may be anywhere in u */
}

bool tiles_walk_as_one(Tiles *t, UOp *u, const Group *group) {
  Map seen = {0};
  bool one = group->n > 1 && one_walk(t, u, group, &seen);
  map_free(ctx_base(t->g->ctx), &seen);
  return one;
}

bool tiles_end_as_one(Tiles *t, const Group *group) {
  bool one = group->n > 1;
  for (int i = 0; i < t->nstore && one; i++)
    one = one_run(t, t->store[i]->src[2], group) && tiles_walk_as_one(t, t->store[i]->src[1], group);
  return one;
}

static int64_t evenly(int64_t n, int64_t most) { return (n + (n + most - 1) / most - 1) / ((n + most - 1) / most); }

/* Of `group`, loops for tiles of about `most` elements: inner ones whole, one in pieces; those around it go to
 * `outer`. */
bool tiles_cut(Tiles *t, Group *group, int64_t most, bool even, Group *outer) {
  int64_t inner = 1;
  int i = group->n - 1;
  while (i > 0 && group->range[i]->src[1]->op == OP_CONST && inner * group->range[i]->src[1]->vmax * 2 <= most)
    inner *= group->range[i--]->src[1]->vmax;
  for (int k = 0; k < i; k++)
    if (!tiles_put(outer, group->range[k])) return false;
  group->n -= i;
  for (int k = 0; k < group->n; k++) group->range[k] = group->range[k + i];
  UOp *size = group->range[0]->src[1];
  int64_t each = MAX(most / inner, 1);
  bool constant = size->op == OP_CONST && even;
  group->inner = inner;
  group->tile = constant ? evenly(size->vmax, MIN(each, size->vmax)) : MIN(each, size->vmax);
  group->tiles = int_div(int_addc(size, group->tile - 1), tiles_index(t, group->tile));
  return group->tiles != NULL;
}

/* Rows of a register tile of this many vectors of columns: all sums, the vectors of y and some room. */
static void choose_registers(Tiles *t, int64_t most) {
  const Target *target = t->g->target;
  int64_t size = dtype_size(t->dtype), lanes = target->vector_bytes ? target->vector_bytes / size : 8;
  int64_t cols = (int64_t)MIN(tiles_extent(&t->col), 1e9), rows = (int64_t)MIN(tiles_extent(&t->row), 1e9);
  int registers = target->vector_bytes ? target->vector_registers : 16;
  while (lanes > 4 && lanes >= 2 * cols) lanes /= 2;
  int64_t vectors = cols > lanes ? most : 1;
  t->lanes = lanes;
  t->nr = lanes * vectors;
  t->most_rows = MIN((registers - vectors - 2) / vectors, TILE_MOST_ROWS);
  t->mr = evenly(rows, MIN(t->most_rows, rows));
}

int64_t tiles_columns(const Tiles *t) { return t->windows.on ? t->windows.columns : tiles_each(&t->col); }

int64_t tiles_each(const Group *group) { return group->tile * group->inner; }

/* Do the local arrays fit on the stack of a thread? The rows of a, which every register tile of columns goes through
 * again, and the sums are to stay in half of the second cache. */
static bool fits(const Tiles *t, int64_t cache) {
  int64_t rows = round_up(tiles_each(&t->row), t->mr), cols = round_up(tiles_columns(t), t->nr) + TILE_PAD;
  int64_t k = tiles_each(&t->k), size = dtype_size(t->dtype);
  int64_t a = ((t->inside ? t->mr : rows) + TILE_PAD) * (k + TILE_PAD) * size,
          b = (t->windows.on ? t->windows.elements : cols * k) * size;
  int64_t c = t->direct ? 0 : cols * rows * size;
  return MAX(a, c) <= MIN(cache / 2, MAX_LOCAL_BYTES) && b <= MAX_LOCAL_BYTES &&
         a + b + c * (1 + t->pairs) <= TILE_PANEL_BYTES;
}

/* Rows or columns of all tiles together, in whole register tiles of `of`. */
static double covered(const Group *group, int64_t of) {
  int64_t each = tiles_each(group), last = (group->range[0]->src[1]->vmax - 1) % group->tile + 1;
  return (double)round_up(each, of) * (double)(group->tiles->vmax - 1) + (double)round_up(last * group->inner, of);
}

/* Operations of moving an element of a factor into its panel, where one on a vector counts 1. Runs along memory are
 * moved by vectors; each begins anew, and is looked at for what is beyond an edge. */
static double packing(Tiles *t, UOp *factor, const Group *other, bool by_k) {
  const double ANEW = 8, VECTORS = 4, SINGLE = 2.5, TURNED = 0.6;
  bool along = tiles_along(t, factor, other);
  const Group *group = along ? other : &t->k;
  const UOp *last = group->range[group->n - 1];
  if (!tiles_runs(t, factor, last)) return SINGLE;
  if (by_k && !along) return t->dtype == POLY_FLOAT32 ? TURNED : SINGLE;
  double run = tiles_walk_as_one(t, factor, group) ? (double)tiles_each(group) : (double)last->src[1]->vmax;
  double lanes = (double)t->lanes;
  return (ANEW + VECTORS * run / lanes) / run;
}

/* Times of its multiplications that a register tile takes: of few sums each waits for its last product, and each row
 * and each vector of columns is a load, of which there are as many at a time as multiplications. */
static double waiting(const Tiles *t) {
  const double UNDER_WAY = 8; /* two units, four steps each */
  double vectors = (double)(t->nr / t->lanes), sums = (double)t->mr * vectors;
  return MAX(MAX(UNDER_WAY / sums, ((double)t->mr + vectors) / sums), 1);
}

/* Columns of all tiles together, with those between lines. */
static double covered_columns(const Tiles *t) {
  if (!t->windows.on) return covered(&t->col, t->nr);
  return (double)round_up(t->windows.columns, t->nr) * (double)t->col.tiles->vmax;
}

/* Operations of packing y for one tile, all blocks of the sum. */
static double packing_columns(Tiles *t) {
  const double ANEW = 8, VECTORS = 4, APART = 12;
  const Windows *w = &t->windows;
  double k = tiles_extent(&t->k) * tiles_extent(&t->k_outer);
  if (!w->on) return tiles_extent(&t->col) * k * packing(t, t->y, &t->col, true) / (double)t->col.tiles->vmax;
  bool apart = false;
  for (int i = 0; i < w->n; i++) apart |= w->step[i] > 1 && w->col[i] == t->col.range[t->col.n - 1];
  double line = (double)w->line, vectors = line / (double)t->lanes;
  return (double)w->elements * (double)t->blocks->vmax * (ANEW + (apart ? APART : VECTORS) * vectors) / line;
}

/* Operations of the kernel with the tiles that t has, on the cores of the machine. */
static double cost_of(Tiles *t) {
  /* of a vector of sums that what follows reads from the third array; of a product whose row is loaded for it alone */
  const double AFTER = 4, ALONE = 1.03;
  double rows = tiles_extent(&t->row), cols = tiles_extent(&t->col), outer = tiles_extent(&t->batch),
         lanes = (double)t->lanes;
  double k = tiles_extent(&t->k) * tiles_extent(&t->k_outer), row_tiles = (double)t->row.tiles->vmax,
         col_tiles = (double)t->col.tiles->vmax;
  double vectors = covered(&t->row, t->mr) * covered_columns(t) / lanes;
  double work = vectors * (k * waiting(t) * (t->nr > t->lanes ? 1 : ALONE) +
                           (t->direct ? 1 : (double)t->blocks->vmax * (t->pairs ? 10 : 3) + AFTER));
  work += rows * k * col_tiles * packing(t, t->x, &t->row, false) + row_tiles * col_tiles * packing_columns(t);
  bool shared = rows * cols * k * outer >= (double)t->g->target->threads.ops;
  double tiles = row_tiles * col_tiles * outer, cores = shared ? MAX(t->g->target->cores, 1) : 1, each = tiles / cores;
  double turns = (double)(int64_t)each + ((double)(int64_t)each < each);
  return work * outer * turns / each;
}

/* Tiles of about this many columns and rows; where there are windows, y is packed by them if that is asked for. */
static bool cut_tiles(Tiles *t, int64_t columns, int64_t rows, bool windows) {
  if (!tiles_cut(t, &t->col, columns, true, &t->batch) || !tiles_cut(t, &t->row, rows, true, &t->batch)) return false;
  t->mr = evenly(tiles_each(&t->row), MIN(t->mr, tiles_each(&t->row)));
  t->inside = !t->a_by_k && (t->row.n == 1 || tiles_walk_as_one(t, t->x, &t->row));
  t->windows.on = windows && windows_lay_out(t);
  tiles_choose_end(t);
  return true;
}

/* n, or a number of tiles a little larger that divides all rows. */
static int64_t dividing(int64_t rows, int64_t n) {
  for (int64_t k = n; k <= n + n / 4; k++)
    if (rows % k == 0) return k;
  return n;
}

/* Rows whose number is known only in the run are distributed evenly over as many tiles as the cores can share, unless
 * these were too small to be worth packing the columns for. Whole register tiles are distributed. */
static bool spread(Tiles *t) {
  enum { LEAST = 4 }; /* register tiles */
  Group *row = &t->row;
  if (row->n > 1 || t->batch.n) return true;
  UOp *units = int_div(int_addc(row->range[0]->src[1], t->mr - 1), tiles_index(t, t->mr));
  int64_t each = (row->tile + t->mr - 1) / t->mr, cores = MAX(t->g->target->cores, 1);
  UOp *least = int_div(int_addc(units, each - 1), tiles_index(t, each));
  UOp *most = int_mulc(int_div(int_addc(least, cores - 1), tiles_index(t, cores)), cores);
  row->unit = t->mr;
  row->tiles = int_max(least, int_min(most, int_div(units, tiles_index(t, LEAST))));
  return row->tiles != NULL;
}

/* Where the number of rows is known only in the run: tiles that are worth packing the columns for anew, and small
 * enough that threads have some each and the rows stay in the cache. */
static bool choose_open(Tiles *t, int64_t cache) {
  for (int64_t rows = OPEN_TILE / t->mr * t->mr; rows > 4 * t->mr; rows -= t->mr * (1 + rows / t->mr / 8)) {
    Tiles c = *t;
    if (!cut_tiles(&c, WIDE_TILE, rows, false)) return false;
    if (!fits(&c, cache)) continue;
    *t = c;
    return true;
  }
  return cut_tiles(t, WIDE_TILE, 4 * t->mr, false);
}

/* Tiles of about this many columns and rows, if they fit and are cheaper than *best. */
static bool try_cut(const Tiles *t, int64_t cache, int64_t columns, int64_t rows, bool windows, Tiles *best,
                    double *least) {
  Tiles c = *t;
  if (!cut_tiles(&c, columns, rows, windows)) return false;
  if (c.windows.on != windows || !fits(&c, cache)) return true;
  double cost = cost_of(&c);
  if (*least >= 0 && cost >= *least) return true;
  *least = cost;
  *best = c;
  return true;
}

/* The cheapest tiles whose arrays fit, with this many vectors in a register tile, if they are cheaper than *best. */
static bool try_tiles(Tiles *t, int64_t cache, Tiles *best, double *least) {
  int64_t rows = (int64_t)MIN(tiles_extent(&t->row), 1e9);
  for (int64_t wide = WIDE_TILE; wide <= WIDEST_TILE; wide += WIDE_TILE / 2)
    for (int64_t n = 1; n <= MOST_TILES && (n == 1 || rows / n >= t->mr); n += 1 + n / 4) {
      int64_t tiles = dividing(rows, n), each = (rows + tiles - 1) / tiles;
      if (!try_cut(t, cache, wide, each, false, best, least)) return false;
      if (t->windows.n && !try_cut(t, cache, wide, each, true, best, least)) return false;
    }
  return true;
}

/* Register tiles of two vectors of columns, or of one, where columns do not make up whole ones of two, or of four
 * or eight, where rows are few. */
static bool choose_tiles(Tiles *t, int64_t cache) {
  t->plain_end = tiles_end_plainly(t);
  t->a_by_k = tiles_along(t, t->x, &t->row);
  Tiles best = *t, one = *t;
  double least = -1;
  choose_registers(t, 2);
  choose_registers(&one, 1);
  if (t->row.range[0]->src[1]->op != OP_CONST) return choose_open(t, cache) && spread(t);
  bool ok = try_tiles(t, cache, &best, &least) && (t->nr == t->lanes || try_tiles(&one, cache, &best, &least));
  for (int64_t most = 4; ok && most <= 8; most *= 2) {
    Tiles more = *t;
    choose_registers(&more, most);
    if (tiles_extent(&t->row) > (double)more.most_rows || tiles_extent(&t->col) < (double)more.nr) break;
    ok = try_tiles(&more, cache, &best, &least);
  }
  if (!ok) return false;
  if (least < 0) return cut_tiles(t, WIDE_TILE, 4 * t->mr, false);
  *t = best;
  return true;
}

bool tiles_choose_sizes(Tiles *t) {
  int64_t cache = t->g->target->cache_bytes[1];
  if (!tiles_cut(t, &t->k, BLOCK_K, true, &t->k_outer)) return false;
  t->blocks = t->k.tiles;
  for (int i = 0; i < t->k_outer.n; i++) t->blocks = int_mul(t->blocks, t->k_outer.range[i]->src[1]);
  if (!t->blocks) return false;
  t->pairs = t->dtype == POLY_FLOAT32 && t->blocks->vmax > MANY_BLOCKS;
  windows_find(t);
  return choose_tiles(t, cache ? cache : 1 << 20);
}
