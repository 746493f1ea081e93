/* windows.c: a factor whose elements overlap, as the windows of a convolution, is packed without repeating them.
 *
 *   sum over c, i, j of w(r, c, i, j) * x(c, y + i, x + j)        columns y, x
 *
 * The panel of tiles.c has a row for each c, i, j: every element of x stands in it nine times for windows of 3 x 3.
 * Where a loop of the columns and one of the sum are found only as y + i, or with steps as s y + i or y + d i, the
 * panel has the values of that sum instead, and a register tile reads it at the place of its first column plus the
 * place of c, i, j:
 *
 *   for c, u = y + i, v = x + j:  b[c][u][v] = x(c, u, v)
 *   sum += w(r, c, i, j) * b[c][y + i][x + j]
 *
 * Columns must be side by side for that. With a step s, the panel has the elements of each remainder by s apart. Lines
 * of whole register tiles are read one by one; others are read as one run, and the sums at the places between two
 * lines, which belong to no column, are formed and not used.
 *
 * Packing a 3 x 3 convolution of 64 channels took a sixth of its time, one of three channels more than its products.
 * The order of the sum is the same, hence the bits. */
#include "codegen/tiles.h"

#include "ir/context.h"

enum { LARGEST_STEP = 8 };

/* ---- finding ---- */

/* The steps of the loops of columns and sum in an index that varies with both; false: in none evenly, or apart. */
static bool find_steps(Tiles *t, UOp *u, const UOp *col, const UOp *k, int64_t *step, int64_t *turn, Map *seen) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return false;
  map_put(ctx_base(t->g->ctx), seen, (uint64_t)(uintptr_t)u, 1);
  if (u->op == OP_LOAD && block_varies(t->g, u->src[1], col) && block_varies(t->g, u->src[1], k)) {
    int64_t s = block_stride(t->g, u->src[1], col), d = block_stride(t->g, u->src[1], k);
    if (s == STRIDE_NONE || d == STRIDE_NONE || !s || !d || (s < 0) != (d < 0)) return false;
    *step = s % d ? 1 : s / d;
    *turn = s % d ? d / s : 1;
    return s % d == 0 || d % s == 0;
  }
  for (int i = 0; i < u->nsrc; i++)
    if (find_steps(t, u->src[i], col, k, step, turn, seen)) return true;
  return false;
}

/* Is y the same where one of the two loops stands at its beginning and the other at the sum? */
static bool by_sum_alone(Tiles *t, const UOp *col, const UOp *k, int64_t step, int64_t turn) {
  Change c = {.t = t, .ranges = 1ull << col->arg.i | 1ull << k->arg.i};
  UOp *both = int_add(int_mulc((UOp *)(uintptr_t)col, step), int_mulc((UOp *)(uintptr_t)k, turn));
  c.to[col->arg.i] = turn == 1 ? tiles_index(t, 0) : both;
  c.to[k->arg.i] = turn == 1 ? both : tiles_index(t, 0);
  bool same = both && tiles_changed(&c, t->y) == t->y;
  map_free(ctx_base(t->g->ctx), &c.done);
  return same;
}

static bool is_constant(const UOp *range) { return range->src[1]->op == OP_CONST; }

static bool is_taken(const Windows *w, const UOp *col, const UOp *k) {
  for (int i = 0; i < w->n; i++)
    if (w->col[i] == col || w->k[i] == k) return true;
  return false;
}

/* Windows that overlap by more than they step, with small steps first: an index x + 56 i is one of the columns x and
 * the rows i as well as of y and i. */
void windows_find(Tiles *t) {
  Windows *w = &t->windows;
  *w = (Windows){0};
  if (t->g->target->group > 1) return;
  for (int i = 0; i < t->col.n; i++)
    if (i && !is_constant(t->col.range[i])) return;
  for (int most = 1; most <= LARGEST_STEP; most++)
    for (int i = 0; i < t->col.n; i++)
      for (int j = 0; j < t->k.n; j++) {
        UOp *col = t->col.range[i], *k = t->k.range[j];
        int64_t step = 0, turn = 0;
        Map seen = {0};
        bool even = !is_taken(w, col, k) && is_constant(k) && find_steps(t, t->y, col, k, &step, &turn, &seen);
        map_free(ctx_base(t->g->ctx), &seen);
        bool overlap = step < k->src[1]->vmax && turn < col->src[1]->vmax;
        if (!even || MAX(step, turn) != most || !overlap) continue;
        if (!by_sum_alone(t, col, k, step, turn)) continue;
        w->col[w->n] = col;
        w->k[w->n] = k;
        w->step[w->n] = step;
        w->turn[w->n++] = turn;
      }
}

/* ---- layout ---- */

static int place_of(const Group *group, const UOp *range) {
  for (int i = 0; i < group->n; i++)
    if (group->range[i] == range) return i;
  return -1;
}

static int64_t extent_at(const Group *group, int i) { return i ? group->range[i]->src[1]->vmax : group->tile; }

/* The windows along column loop i that the tile has: their number, -1: there are none. */
static int window_of(const Tiles *t, int i) {
  const Windows *w = &t->windows;
  for (int p = 0; p < w->n; p++)
    if (w->col[p] == t->col.range[i] && place_of(&t->k, w->k[p]) >= 0) return p;
  return -1;
}

static int window_at(const Tiles *t, int j) {
  const Windows *w = &t->windows;
  for (int p = 0; p < w->n; p++)
    if (w->k[p] == t->k.range[j] && place_of(&t->col, w->col[p]) >= 0) return p;
  return -1;
}

bool windows_lay_out(Tiles *t) {
  Windows *w = &t->windows;
  int64_t size[MAX_DIMS], all = 1;
  int last = t->col.n - 1;
  bool any = false;
  for (int i = last; i >= 0; i--) {
    int p = window_of(t, i);
    int64_t n = extent_at(&t->col, i);
    any |= p >= 0;
    if (p >= 0) {
      int64_t k = extent_at(&t->k, place_of(&t->k, w->k[p]));
      n = ((n - 1) * w->step[p] + (k - 1) * w->turn[p] + w->step[p]) / w->step[p];
    }
    w->col_step[i] = all;
    size[i] = n;
    all *= n;
  }
  if (!any) return false;
  w->whole = !last || t->col.range[last]->src[1]->vmax % t->nr == 0;
  w->line = size[last];
  w->columns = 1;
  for (int i = 0; i <= last; i++) {
    w->size[i] = w->whole && i ? t->col.range[i]->src[1]->vmax : size[i];
    w->columns += (extent_at(&t->col, i) - 1) * w->col_step[i];
  }
  if (w->whole) w->columns = tiles_each(&t->col);
  for (int i = last; i >= 0; i--) {
    int p = window_of(t, i);
    if (p < 0 || w->step[p] == 1) continue;
    w->part[p] = all;
    all *= w->step[p];
  }
  for (int j = t->k.n - 1; j >= 0; j--) {
    if (window_at(t, j) >= 0) continue;
    w->k_step[j] = all;
    all *= extent_at(&t->k, j);
  }
  w->elements = all + t->nr + TILE_PAD;
  return true;
}

/* ---- places ---- */

UOp *windows_columns(Tiles *t) {
  const Windows *w = &t->windows;
  if (!w->on || w->whole) return tiles_elements(&t->col);
  int64_t others = w->columns - 1 - (t->col.tile - 1) * w->col_step[0];
  return int_addc(int_mulc(int_addc(t->col.count, -1), w->col_step[0]), others + 1);
}

UOp *windows_column(Tiles *t, UOp *flat) {
  const Windows *w = &t->windows;
  if (!w->whole) return flat;
  UOp *at = tiles_index(t, 0);
  for (int i = t->col.n - 1; flat && i >= 0; i--) {
    UOp *size = i ? t->col.range[i]->src[1] : NULL;
    at = int_add(at, int_mulc(i ? int_mod(flat, size) : flat, w->col_step[i]));
    flat = i ? int_div(flat, size) : flat;
  }
  return at;
}

UOp *windows_product(Tiles *t, UOp *const *k) {
  const Windows *w = &t->windows;
  UOp *at = tiles_index(t, 0);
  for (int j = 0; at && j < t->k.n; j++) {
    int p = window_at(t, j);
    if (p < 0) {
      at = int_add(at, int_mulc(k[j], w->k_step[j]));
      continue;
    }
    UOp *step = tiles_index(t, w->step[p]), *v = int_mulc(k[j], w->turn[p]);
    int64_t line = w->col_step[place_of(&t->col, w->col[p])];
    at = int_add(at, int_mulc(int_div(v, step), line));
    if (w->step[p] > 1) at = int_add(at, int_mulc(int_mod(v, step), w->part[p]));
  }
  return at;
}

/* ---- packing ---- */

static UOp *count_at(const Group *group, int i) { return i ? group->range[i]->src[1] : group->count; }

static UOp *begin_at(Tiles *t, const Group *group, int i) { return i ? tiles_index(t, 0) : group->first; }

/* In whole vectors; what is stored beyond the end of a line is written over by the next one, or lies behind them all.
 */
static UOp *whole_vectors(const Tiles *t, UOp *end) {
  const Target *target = t->g->target;
  int64_t lanes = target->vector_bytes / dtype_size(t->dtype);
  if (lanes < 2 || lanes > TILE_PAD || end->op != OP_CONST) return NULL;
  while (lanes > target->least_lanes && lanes >= 2 * end->arg.i) lanes /= 2;
  return end->arg.i % lanes ? tiles_index(t, round_up(end->arg.i, lanes)) : NULL;
}

/* The loop over what windows p along column loop i are made of, and what stands for the two loops there; *gate: that it
 * is to be loaded, NULL: all of it is. */
static UOp *open_windows(Tiles *t, Block **b, const Block *outer, int i, int p, UOp *rest, UOp **gate) {
  const Windows *w = &t->windows;
  int j = place_of(&t->k, w->k[p]);
  UOp *step = tiles_index(t, w->step[p]), *cols = int_addc(count_at(&t->col, i), -1);
  UOp *all = int_add(int_mul(cols, step), int_addc(int_mulc(int_addc(count_at(&t->k, j), -1), w->turn[p]), 1));
  UOp *most = int_div(int_addc(all, w->step[p] - 1), step), *end = NULL;
  if (most && i == t->col.n - 1 && i && (end = whole_vectors(t, most)) != NULL) {
    for (Block *o = *b; o != outer; o = o->parent) o->ordered = true;
  } else {
    end = int_div(int_addc(int_sub(all, rest), w->step[p] - 1), step);
    gate = NULL;
  }
  UOp *v = tiles_open(t, b, tiles_index(t, 0), end, 0), *at = v ? int_add(int_mul(v, step), rest) : NULL;
  UOp *col = begin_at(t, &t->col, i), *k = begin_at(t, &t->k, j);
  if (!at || (gate && !(*gate = int_lt(at, all)))) return NULL;
  t->col.to[i] = w->turn[p] == 1 ? col : int_add(col, at);
  t->k.to[j] = w->turn[p] == 1 ? int_add(k, at) : k;
  return int_mulc(v, w->col_step[i]);
}

bool windows_pack(Tiles *t, Block *b) {
  const Windows *w = &t->windows;
  Block *in = b;
  UOp *at = tiles_index(t, 0), *rest[MAX_DIMS], *gate = NULL;
  for (int j = 0; at && j < t->k.n; j++) {
    if (window_at(t, j) >= 0) continue;
    UOp *v = tiles_open(t, &in, tiles_index(t, 0), count_at(&t->k, j), 0);
    if (!v) return false;
    t->k.to[j] = int_add(begin_at(t, &t->k, j), v);
    at = int_add(at, int_mulc(v, w->k_step[j]));
  }
  for (int i = 0; at && i < t->col.n; i++) {
    int p = window_of(t, i);
    rest[i] = p >= 0 ? tiles_open(t, &in, tiles_index(t, 0), tiles_index(t, w->step[p]), 0) : tiles_index(t, 0);
    if (!rest[i]) return false;
    if (p >= 0 && w->step[p] > 1) at = int_add(at, int_mulc(rest[i], w->part[p]));
  }
  for (int i = 0; at && i < t->col.n; i++) {
    int p = window_of(t, i);
    if (p >= 0) {
      at = int_add(at, open_windows(t, &in, b, i, p, rest[i], &gate));
      continue;
    }
    UOp *v = tiles_open(t, &in, tiles_index(t, 0), count_at(&t->col, i), 0);
    if (!v) return false;
    t->col.to[i] = int_add(begin_at(t, &t->col, i), v);
    at = int_add(at, int_mulc(v, w->col_step[i]));
  }
  UOp *value = at ? tiles_factor_here(t, t->y, &t->col, NULL, gate) : NULL;
  return value && tiles_store(t, in, t->b, at, value) && tiles_close(t, in, b);
}
