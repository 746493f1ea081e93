/* groups.c: loops for devices with groups of threads. In: the tree of loops. Out: marks: which loops are the grid, and
 * which are shared by the threads of a group; how many threads a group has, and how many groups are started together.
 *
 *   for v: for f: acc; for e: acc += ..; store     v, f: grid, one thread each; neighbours have neighbouring features
 *   for i: m = max over j; for j: store            i: grid; both loops over j: group
 *   for v: for h: m = max over e;                  v, h: grid; the loops over e and f: group, so that threads of
 *            for f: for e: ..                      neighbouring heads of a row lie side by side
 *
 * The grid is the output loops from the outermost down to the first one that has something other than the next loop in
 * it. If that is the innermost, each iteration is one thread, unless it reduces along contiguous memory that neighbours
 * would read with a stride, or there are too few of them.
 *
 * A thread takes several neighbouring features (a strip), where memory is contiguous along them: one load for four, and
 * what is the same for all of them, such as the index of an edge, is loaded and computed once.
 *
 * Rows of very many edges would keep one thread busy long after the others have ended. Where all loops over edges have
 * the bounds of the outermost output loop's row, rows of more than Target.hub_edges edges are left to a second kernel,
 * in which a group of threads shares the edges of a row, and neighbouring threads belong to groups of neighbouring
 * features. */
#include "codegen/block.h"

#include "ir/context.h"

#include <math.h>

enum {
  SHORT_LOOP = 8,     /* trips that are not worth several threads */
  FEW_THREADS = 4096, /* of a grid: a group for each iteration keeps more of the device busy */
  LONG_SUM = 64,      /* trips of a reduction that several threads share where results are few */
  SECTOR = 8,         /* neighbouring elements, of four bytes, that a GPU reads at once at least, */
  LINE = 32,          /* and how many lie side by side in its cache */
  WARP_TRIPS = 8,     /* of a thread, up to which a warp has the whole loop */
  GROUP_TRIPS = 4,    /* of a thread of a group where there are enough groups to keep all threads busy */
  SHORT_ROWS = 4,     /* mean number of edges of a row, as a power of two, where few rows are very long */
  NARROW = 2,         /* threads for the results of a row that are few */
  MOST_WASTE = 5      /* a fifth of the threads may have nothing to do for the sake of neighbours side by side */
};

/* ---- the grid ---- */

static Block *next_output(const Codegen *g, const Block *b) {
  Block *c = g->inner;
  while (c != g->top && c->parent != b) c = c->parent;
  return c != g->top ? c : NULL;
}

/* Has b nothing but the next output loop in it, and values? */
static bool is_pure(const Codegen *g, const Block *b, const Block *next) {
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child ? l.child != next : g->inst.at[l.inst].kind == INST_STORE) return false;
  }
  return true;
}

/* Marks the loops of the grid; returns the block of one iteration. */
static Block *mark_grid(Codegen *g) {
  Block *b = g->top;
  g->grid = uop_index(g->ctx, 1);
  for (Block *next; (next = next_output(g, b)) && (b == g->top || is_pure(g, b, next)); b = next) {
    g->inst.at[next->loop].flags |= LOOP_PARALLEL;
    g->grid = int_mul(g->grid, int_sub(next->range->src[1], next->range->src[0]));
  }
  return b;
}

/* ---- strips ---- */

enum { STRIP_ACCS = 8, WIDE_ACCS = 2, STRIP_INSTS = 256, STRIP_TERMS = 64 };

static UOp *index_of(const UOp *u) { return u->op == OP_STORE ? u->src[2] : u->src[1]; }

/* Does the last strip of a loop end with it? */
static bool whole_strips(const UOp *r, int n) { return (r->src[1]->arg.i - r->src[0]->arg.i) % n == 0; }

/* Are strips of n along r vectors of memory? Their first elements are at multiples of n then, and the last strip ends
 * with the loop, or, if it is loaded, before the next row. */
static bool is_together(UOp *index, const UOp *r, int n, bool loaded) {
  UOp *term[STRIP_TERMS];
  int64_t coef[STRIP_TERMS], constant, room = INT64_MAX;
  int k = int_terms(index, STRIP_TERMS, term, coef, &constant);
  if (k < 0 || constant % n) return false;
  for (int i = 0; i < k; i++) {
    if (term[i] != r && coef[i] % n) return false;
    if (term[i] != r) room = MIN(room, coef[i] < 0 ? 0 : coef[i]);
  }
  if (whole_strips(r, n)) return true;
  int64_t end = (r->src[1]->arg.i + n - 1) / n * n;
  return loaded && room < INT64_MAX && constant >= 0 && constant % room + end <= room;
}

/* Counts instructions and accumulators at or below b. */
static void count_insts(const Codegen *g, const Block *b, int *insts, int *accs) {
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child) {
      count_insts(g, l.child, insts, accs);
      continue;
    }
    ++*insts;
    *accs += g->inst.at[l.inst].kind == INST_ACC;
  }
}

/* What strips along r save in b, in loads and stores; the rest is done as often as without them. */
static double strip_gain(Codegen *g, const Block *b, const UOp *r, int n) {
  double sum = 0;
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child) {
      sum += strip_gain(g, l.child, r, n);
      continue;
    }
    const Inst *inst = &g->inst.at[l.inst];
    if (inst->kind != INST_LOAD && inst->kind != INST_STORE) continue;
    const UOp *u = g->origin.at[l.inst];
    int64_t stride = block_stride(g, index_of(u), r);
    bool small = dtype_size((PolyDType)inst->dtype) <= 4;
    bool gated = u->op == OP_LOAD && u->nsrc > 2 && block_ranges(g, u->src[2]) & (1ull << r->arg.i);
    bool together = stride == 1 && small && is_together(index_of(u), r, n, u->op == OP_LOAD);
    /* neighbours that are loaded one by one are in the same places of the cache */
    sum += b->trips * (gated ? -2 : stride == 0 ? 1 : together ? 2 : stride == 1 && small ? -0.5 : -2);
  }
  return sum;
}

static bool has_loop(const Block *b) {
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child) return true;
  return false;
}

/* Is b a sum that can leave out what its last strip has beyond the end, since all that it loads is there? */
static bool ends_early(Codegen *g, const Block *b, int n) {
  if (!(g->inst.at[b->loop].flags & LOOP_REDUCE)) return false;
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child) return false;
    const Inst *inst = &g->inst.at[l.inst];
    if (inst->kind == INST_STORE || inst->kind == INST_CHECK) return false;
    if (inst->kind != INST_LOAD) continue;
    UOp *index = index_of(g->origin.at[l.inst]);
    int64_t stride = block_stride(g, index, b->range);
    if (stride && !(stride == 1 && is_together(index, b->range, n, true))) return false;
  }
  return true;
}

/* Loads in the loops inside b. */
static int loads_below(const Codegen *g, const Block *b) {
  int n = 0;
  for (int i = 0; i < b->line.n; i++) {
    const Block *c = b->line.at[i].child;
    n += c ? loads_below(g, c) : b != g->body && g->inst.at[b->line.at[i].inst].kind == INST_LOAD;
  }
  return n;
}

/* Do the results of a row of edges take several warps, if each thread has n of them? With twice as many a warp loads
 * the numbers of an edge, its weights and the like once and not twice. A plain sum has but the number of the other end.
 */
static bool is_wide(Codegen *g, Block *b, int n) {
  enum { WARPS = 2, PLAIN_LOADS = 2 };
  if (!g->nragged || b != g->body || b == next_output(g, g->top) || loads_below(g, b) <= PLAIN_LOADS) return false;
  double all = 1;
  for (const Block *at = b; at != next_output(g, g->top); at = at->parent) all *= range_trips(g, at->range);
  return all >= WARPS * n * g->target->warp;
}

/* How many iterations of the loop of b a thread takes at once. */
static int strip_of(Codegen *g, Block *b) {
  int n = g->target->strip, insts = 0, accs = 0;
  if (n <= 1 || g->tiled || g->local.n || !b->range) return 1;
  if (g->inst.at[b->loop].flags & LOOP_REDUCE && has_loop(b)) return 1;
  const UOp *begin = b->range->src[0], *end = b->range->src[1];
  if (begin->op != OP_CONST || end->op != OP_CONST || begin->arg.i % n) return 1;
  /* a few more iterations than there are make whole strips */
  int64_t trips = end->arg.i - begin->arg.i;
  if (trips % n && (begin->arg.i || trips < MOST_WASTE * (n - 1) || (b != g->body && !ends_early(g, b, n)))) return 1;
  count_insts(g, b, &insts, &accs);
  bool fits = insts <= STRIP_INSTS && accs <= STRIP_ACCS;
  double gain = strip_gain(g, b, b->range, n);
  if (!fits || !lanes_allowed(g, b, b->range) || gain <= 0) return 1;
  bool wide = trips % (2 * n) == 0 && accs <= WIDE_ACCS && is_wide(g, b, n);
  return wide && strip_gain(g, b, b->range, 2 * n) >= gain ? 2 * n : n;
}

static void set_strip(Codegen *g, Block *b, const UOp *r, int n) {
  bool across = b->range && g->inst.at[b->loop].flags & LOOP_ACROSS; /* each thread has its own iterations of it */
  if (across) r = b->range;
  if (b->range == r && !across) g->inst.at[b->loop].strip = (uint16_t)n;
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child) {
      set_strip(g, l.child, r, n);
      continue;
    }
    Inst *inst = &g->inst.at[l.inst];
    if (inst->kind != INST_LOAD && inst->kind != INST_STORE) continue;
    const UOp *u = g->origin.at[l.inst];
    int64_t stride = block_stride(g, index_of(u), r);
    inst->stride = stride != 1 || is_together(index_of(u), r, n, u->op == OP_LOAD) ? stride : STRIDE_NONE;
  }
}

int block_strip_of(Codegen *g, Block *b) { return strip_of(g, b); }

void block_strip(Codegen *g, Block *b, int n) { set_strip(g, b, b->range, n); }

static UOp *whole_blocks(UOp *n, int pack) {
  return int_mulc(int_div(int_addc(n, pack - 1), uop_index(n->ctx, pack)), pack);
}

/* Threads of the grid whose innermost loop has iterations for a multiple of n. */
static void pad_grid(Codegen *g, int n) {
  const Block *rows = next_output(g, g->top);
  UOp *trips = int_sub(g->body->range->src[1], g->body->range->src[0]);
  g->padded = n;
  g->grid = int_div(whole_blocks(trips, n), uop_index(g->ctx, MAX(g->strip, 1)));
  for (const Block *b = g->body; b != rows; b = b->parent)
    g->grid = int_mul(g->grid, int_sub(b->parent->range->src[1], b->parent->range->src[0]));
}

/* Strips along the innermost loop of the grid, if enough threads are left. */
static void strip_grid(Codegen *g) {
  if (g->body == g->top || !g->grid) return;
  int n = strip_of(g, g->body);
  double threads = (double)g->grid->vmax * g->group;
  while (n > g->target->strip && threads / n < g->target->strip_threads && !g->neighbours) n /= 2;
  if (n == 1) return;
  if (!g->neighbours && threads / n < g->target->strip_threads) return;
  set_strip(g, g->body, g->body->range, n);
  g->strip = n;
  if (whole_strips(g->body->range, n))
    g->grid = int_div(g->grid, uop_index(g->ctx, n));
  else
    pad_grid(g, n);
}

/* ---- group loops ---- */

/* Does b read along its loop from rows that are found through an index, and so lie anywhere? */
static bool gathers(Codegen *g, const Block *b) {
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child || g->inst.at[l.inst].kind != INST_LOAD) continue;
    UOp *index = index_of(g->origin.at[l.inst]);
    if (block_stride(g, index, b->range) == 1 && block_ranges(g, index) & RANGES_LOAD) return true;
  }
  return false;
}

/* Threads for the loop of b, which has this many trips: of many groups each is best a warp, which needs no fences,
 * while that leaves a thread a few trips only. Neighbours read at least what comes from memory at once, and of rows
 * that lie anywhere, or are whole lines of the cache, a line, which takes as long for a part of it: dot products of
 * both ends of 2.5M edges, 8 heads of 32, took 385 rather than 655 us on an H200. */
static int threads_for(Codegen *g, const Block *b, double trips, int strip) {
  int n = 1, most = g->target->group;
  bool many = g->grid && g->grid->vmax >= FEW_THREADS;
  if (many && g->target->warp > 1 && trips <= WARP_TRIPS * g->target->warp) most = g->target->warp;
  while (n < trips && n < most) n *= 2;
  if (!g->grid) return n;
  bool lines = gathers(g, b) || fmod(trips * strip, LINE) == 0;
  int least = MAX((lines ? LINE : SECTOR) / strip, 1);
  double busy = (double)g->target->busy_threads / (double)MAX(g->grid->vmax, 1);
  while (busy > 0 && n / 2 >= least && n / 2 >= busy && n / 2 * GROUP_TRIPS >= trips) n /= 2;
  return n;
}

static double group_gain(Codegen *g, Block *b) {
  double trips = range_trips(g, b->range);
  return trips >= SHORT_LOOP && lanes_allowed(g, b, b->range) ? gain_below(g, b, b->range, NULL) : 0;
}

/* The best loops at or below the loop of b, as lanes are chosen. Returns their gain; marks them if told so. */
static double choose_group(Codegen *g, Block *b, bool mark) {
  double own = group_gain(g, b), below = 0;
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child) below += choose_group(g, b->line.at[i].child, false);
  if (mark && own > 0 && own >= below) {
    int n = strip_of(g, b), threads = MAX(threads_for(g, b, range_trips(g, b->range) / n, n), 2);
    double work = b->trips * b->cost / n;
    g->inst.at[b->loop].flags |= LOOP_GROUP;
    if (n > 1) set_strip(g, b, b->range, n);
    if (g->group == 1 || work > g->work) g->group = threads;
    g->work = fmax(g->work, work);
  } else if (mark && below > 0) {
    for (int i = 0; i < b->line.n; i++)
      if (b->line.at[i].child) choose_group(g, b->line.at[i].child, true);
  }
  return MAX(own, below);
}

/* Is a group for each iteration of the grid better than a thread? b has the body of an iteration. */
static bool wants_group(Codegen *g, Block *b) {
  if (next_output(g, b)) return true;
  double inside = 0, across = b->range ? gain_below(g, b, b->range, NULL) : 0;
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child) inside += choose_group(g, b->line.at[i].child, false);
  bool few = !g->grid || g->grid->vmax < FEW_THREADS;
  return inside > 0 && (few || inside > across);
}

/* ---- long rows ---- */

static bool is_ragged(Codegen *g, const Block *b) {
  return block_ranges(g, b->range->src[0]) & RANGES_LOAD || block_ranges(g, b->range->src[1]) & RANGES_LOAD;
}

static bool has_ragged(Codegen *g, const Block *b) {
  if (b->range && is_ragged(g, b)) return true;
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child && has_ragged(g, b->line.at[i].child)) return true;
  return false;
}

/* Is u the element of an integer tensor at that index? The tensor's parameter, or -1. */
static int element_at(const UOp *u, const UOp *index) {
  while (u->op == OP_CAST) u = u->src[0];
  return u->op == OP_LOAD && u->nsrc == 2 && u->src[1] == index ? (int)u->src[0]->arg.i : -1;
}

/* Notes the loop of b over a row's edges. Its bounds are two elements of an array, or follow from the row in some other
 * way. False: they depend on other loops. */
static bool note_row(Codegen *g, const Block *b, UOp *row) {
  UOp *from = b->range->src[0], *to = b->range->src[1];
  const Inst *loop = &g->inst.at[b->loop];
  int array = element_at(from, row), k = 0;
  if (array < 0 || array != element_at(to, int_addc(row, 1))) array = -1;
  uint64_t ranges = (block_ranges(g, from) | block_ranges(g, to)) & ~RANGES_LOAD;
  if (ranges != 1ull << row->arg.i) return false;
  for (; k < g->nragged; k++) {
    const Inst *other = &g->inst.at[g->ragged[k]];
    if (array >= 0 ? g->rowptr[k] == array : other->src[0] == loop->src[0] && other->src[1] == loop->src[1]) break;
  }
  if (k == MAX_ROWPTRS) return false;
  g->by_length &= array >= 0 && b->range->arg.j > 0;
  g->log_edges = MAX(g->log_edges, (int)b->range->arg.j - 1);
  g->ragged[k] = k == g->nragged ? b->loop : g->ragged[k];
  g->rowptr[k] = array;
  g->nragged = MAX(g->nragged, k + 1);
  return true;
}

/* The same for all loops over edges at or below b. */
static bool note_rows(Codegen *g, const Block *b, UOp *row) {
  if (b->range && is_ragged(g, b) && !note_row(g, b, row)) return false;
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child && !note_rows(g, b->line.at[i].child, row)) return false;
  return true;
}

/* Notes the loops over a row's edges, if rows are those of the outermost output loop. */
static void find_rows(Codegen *g) {
  const Block *rows = next_output(g, g->top);
  if (!g->target->hub_edges || !rows || !(g->inst.at[rows->loop].flags & LOOP_PARALLEL)) return;
  g->by_length = true;
  if (!uop_is_int(rows->range->src[0], 0) || !note_rows(g, g->top, rows->range)) g->nragged = 0;
}

/* Which rows are long, and who has them. Where a row has few results, few threads work on it: shorter rows are long
 * then, and smaller blocks enough for them. Where all threads of a graph run at once, the kernel takes as long as the
 * longest row of a thread: still shorter ones are long. */
static void choose_hubs(Codegen *g) {
  enum { LESS = 4, SEVERAL = 16 };
  const Target *t = g->target;
  double rows = range_trips(g, next_output(g, g->top)->range), results = 1;
  for (const Block *b = g->body; b->parent != g->top; b = b->parent) results *= range_trips(g, b->range);
  results /= MAX(g->strip, 1);
  bool small = rows * results < t->strip_threads;
  int less = small || (g->group <= LESS && results <= NARROW) ? LESS : 1;
  int shorter = small ? LESS * LESS : less;
  /* few rows of a small graph are long */
  int workers = (int)MAX(1, MIN(rows / SEVERAL, (double)t->hub_workers * less));
  int edges = MAX(t->hub_edges / shorter, 1);
  bool split = g->by_length && g->nragged == 1 && rows * SEVERAL >= t->strip_threads && t->hub_split;
  int log = split ? t->hub_split : 0;
  bool first = false;
  if (g->log_edges <= SHORT_ROWS) { /* few rows are the longest: beyond one length, however short the others are */
    for (int k = 2 * shorter; split && k > 1; k /= 2) log++;
    first = less > 1; /* rows of many results keep the device busy, and beside those of long rows they take longer */
  }
  g->hubs = (Hubs){edges, MAX(t->hub_most / shorter, edges), t->hub_threads / less, workers, log, first};
}

/* The outermost loops over edges, and loops that have none inside. Another one around them runs in strips: what it
 * needs of an edge is computed once for several of its iterations. */
static void mark_shared(Codegen *g, Block *b) {
  if (is_ragged(g, b) || !has_ragged(g, b)) {
    g->inst.at[b->loop].flags |= LOOP_GROUP;
    return;
  }
  int n = g->strip > 1 ? 1 : strip_of(g, b);
  if (n > 1) set_strip(g, b, b->range, n);
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child) mark_shared(g, b->line.at[i].child);
}

/* Threads that the results of a row take, if the innermost loop has them for a multiple of n. */
static int64_t row_threads(const Codegen *g, int n) {
  const Block *rows = next_output(g, g->top);
  int64_t all = 1;
  for (const Block *b = g->body; b != rows; b = b->parent) {
    if (b->range->src[0]->op != OP_CONST || b->range->src[1]->op != OP_CONST) return 0;
    int64_t trips = b->range->src[1]->arg.i - b->range->src[0]->arg.i;
    if (b == g->body) trips = (trips + n * MAX(g->strip, 1) - 1) / (n * MAX(g->strip, 1)) * n;
    all *= trips;
  }
  return all;
}

/* Has each of the threads that add up what neighbours have something to do? */
static bool fills_neighbours(const Codegen *g) {
  return whole_strips(g->body->range, g->neighbours * MAX(g->strip, 1));
}

/* Groups of a block, which work on one row: as many as there are neighbouring results, in so far as these fill what a
 * GPU reads at once. The rest of them are other blocks: more of the device works on the longest rows. Where most rows
 * are long there is enough to do: a warp reads as much of a neighbour as it can. */
static int same_row(Codegen *g, bool *whole) {
  enum { LONG_ROWS = 6 };
  bool enough = g->rows == ROWS_MIDDLE && g->log_edges >= LONG_ROWS;
  int n = 1, most = g->strip > 1 && !enough ? SECTOR : 32;
  int64_t results = row_threads(g, 1);
  *whole = results && results % most == 0 && 8 * most <= g->hubs.threads;
  if (*whole) return most;
  if (g->body == next_output(g, g->top) || !uop_is_int(g->body->range->src[0], 0)) return 1;
  while (n < most && 8 * n <= g->hubs.threads && n * MAX(g->strip, 1) < range_trips(g, g->body->range)) n *= 2;
  return n;
}

/* Takes the marks of the kernel of short rows away, but those of the grid. */
static void unmark(Codegen *g) {
  for (int i = 0; i < g->inst.n; i++) {
    Inst *in = &g->inst.at[i];
    if (in->kind != INST_LOOP) continue;
    in->flags &= ~(uint32_t)LOOP_GROUP;
    if (!(in->flags & LOOP_PARALLEL)) in->strip = 0;
  }
}

bool shape_hubs(Codegen *g, RowClass class) {
  enum { SMALLER = 4 };
  unmark(g);
  g->rows = class;
  g->warp_row = false;
  if (class == ROWS_MIDDLE) g->hubs.threads /= SMALLER;
  if (class == ROWS_LONGEST) g->hubs.threads = g->target->hub_threads;
  for (int i = 0; i < g->body->line.n; i++)
    if (g->body->line.at[i].child) mark_shared(g, g->body->line.at[i].child);
  const Block *rows = next_output(g, g->top);
  bool whole;
  g->pack = same_row(g, &whole);
  if (g->neighbours) {
    bool all = fills_neighbours(g);
    g->pack = all ? MAX(g->pack, g->neighbours) : g->neighbours;
    whole &= all;
    g->hubs.threads = MAX(g->hubs.threads, g->pack);
  }
  g->padded = whole || g->pack == 1 ? 0 : g->pack * MAX(g->strip, 1);
  if (g->strip > 1 && !whole_strips(g->body->range, g->strip)) g->padded = g->pack * g->strip;
  /* the blocks of a row together: as many as there are of one where a row has one; where each looks for long rows by
   * itself, most of them would look in vain */
  int64_t blocks = MAX(row_threads(g, 1) / g->pack, 1);
  if (class == ROWS_LONGEST && g->log_edges <= SHORT_ROWS) g->hubs.workers = g->target->hub_longest;
  if (class == ROWS_LONGEST || !g->by_length) g->hubs.workers = (int)MAX(1, g->hubs.workers / blocks);
  g->group = g->hubs.threads / g->pack;
  g->spread = g->pack > 1 ? g->pack : 0;
  g->grid = uop_index(g->ctx, g->hubs.workers);
  for (const Block *b = g->body; b != rows; b = b->parent) {
    UOp *n = int_sub(b->range->src[1], b->range->src[0]);
    if (b == g->body && g->strip > 1) n = int_div(int_addc(n, g->strip - 1), uop_index(g->ctx, g->strip));
    g->grid = int_mul(g->grid, b == g->body && g->padded ? whole_blocks(n, g->pack) : n);
  }
  return g->grid != NULL;
}

/* Neighbouring threads belong to neighbouring results, at most `most` of them, which one block has. */
static void spread_groups(Codegen *g, int64_t results, int most, int threads) {
  for (g->pack = 1; g->pack < most && results % (2 * g->pack) == 0;) g->pack *= 2;
  g->group = MIN(threads / g->pack, g->target->group);
  g->spread = g->pack > 1 ? g->pack : 0;
}

/* Are all loops over edges the innermost, but for sums of neighbouring threads, and all others short? */
static bool plain_rows(Codegen *g, const Block *b) {
  for (int i = 0; i < b->line.n; i++) {
    const Block *c = b->line.at[i].child;
    if (c && ((has_loop(c) && !g->neighbours) || (!is_ragged(g, c) && range_trips(g, c->range) > LONG_SUM)))
      return false;
  }
  return true;
}

/* How many of them lie side by side, if they are n: a power of two that divides their number. */
static int side_by_side(const Codegen *g, int64_t n) {
  int side = 1;
  while (n % (2 * side) == 0 && 2 * side <= g->target->warp) side *= 2;
  return side;
}

/* The threads of a group share the loops in b. */
static void share_loops(Codegen *g, const Block *b) {
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child) g->inst.at[b->line.at[i].child->loop].flags |= LOOP_GROUP;
}

/* Rows of edges, all of whose results are in the grid: neighbouring threads have neighbouring results, and where rows
 * are long on the average and their results few, the threads of a warp share the edges too. False: the body is not so
 * simple. */
static bool shape_rows(Codegen *g) {
  Block *b = g->body;
  if (!g->nragged || g->target->warp <= 1 || b == g->top || next_output(g, b) || !row_threads(g, 1)) return false;
  bool across = b != next_output(g, g->top) && find_across(g);
  if (!plain_rows(g, b)) {
    if (across) drop_across(g);
    return false;
  }
  strip_grid(g);
  int best = MAX(g->neighbours, 1), side = side_by_side(g, row_threads(g, best));
  bool inner = !across && b != next_output(g, g->top) && uop_is_int(b->range->src[0], 0);
  for (int n = 2; n <= SECTOR && inner; n *= 2) {
    bool fits = (row_threads(g, n) - row_threads(g, 1)) * MOST_WASTE <= row_threads(g, n);
    if (!fits || side_by_side(g, row_threads(g, n)) <= side) continue;
    best = n;
    side = side_by_side(g, row_threads(g, n));
  }
  /* few threads for each row leave most of a device idle while the longest of them end */
  int lanes = 1, each = row_threads(g, 1) <= NARROW ? MAX(g->target->row_edges / 4, 1) : g->target->row_edges;
  while (2 * lanes * side <= g->target->warp && 2 * lanes * each <= 1 << g->log_edges) lanes *= 2;
  if (g->neighbours > 1) lanes = g->target->warp / side; /* a warp has one row: all its threads take as many turns */
  if (across && !fills_neighbours(g)) pad_grid(g, best * MAX(g->strip, 1));
  if (lanes == 1) {
    g->warp_row = !g->padded && row_threads(g, 1) % g->target->warp == 0;
    return true;
  }
  if (best > 1 && !across) pad_grid(g, best * MAX(g->strip, 1));
  g->group = lanes;
  g->spread = side > 1 ? side : 0;
  share_loops(g, b);
  return true;
}

/* Rows whose bounds are no rows of a graph, so that long ones cannot be told apart: threads share the edges of all of
 * them. A block has results of one row. */
static bool share_rows(Codegen *g) {
  Block *b = g->body;
  if (b == g->top || g->nragged || next_output(g, b) || !has_ragged(g, b)) return false;
  const UOp *begin = b->range->src[0], *end = b->range->src[1];
  if (begin->op != OP_CONST || end->op != OP_CONST || b == next_output(g, g->top)) return false;
  for (int i = 0; i < b->line.n; i++) {
    const Block *c = b->line.at[i].child;
    if (c && !(is_ragged(g, c) && g->inst.at[c->loop].flags & LOOP_REDUCE)) return false;
  }
  strip_grid(g);
  share_loops(g, b);
  spread_groups(g, (end->arg.i - begin->arg.i) / MAX(g->strip, 1), 32, g->target->group);
  g->group = MIN(g->group, 32);
  return true;
}

/* Trips of the shortest loop in b, all of which are long sums; 0: they are not, or there is none. */
static double shortest_sum(Codegen *g, const Block *b) {
  double shortest = INFINITY;
  for (int i = 0; i < b->line.n; i++) {
    Block *c = b->line.at[i].child;
    if (!c) continue;
    bool reduces = g->inst.at[c->loop].flags & LOOP_REDUCE;
    if (!reduces || range_trips(g, c->range) < LONG_SUM || has_ragged(g, c)) return 0;
    shortest = fmin(shortest, range_trips(g, c->range));
  }
  return shortest < INFINITY ? shortest : 0;
}

enum { MORE_THREADS = 4, SUM_TRIPS = 8 }; /* trips of a long sum that each of its threads is to have */
enum { FEW_RESULTS = 512, PAIR = 2 }; /* fewer results than keep all multiprocessors busy, and how many a block has */

/* Few results, each a long sum along memory that neighbouring results share: threads share the sum. Where they are very
 * few, more blocks are worth more than whole sectors: a step with 25 sums of 64 columns took 0.431 rather than 0.445 ms
 * on an H200. */
static bool share_long_sums(Codegen *g) {
  Block *b = g->body;
  if (b == g->top || g->nragged || g->grid->op != OP_CONST || g->grid->vmax >= MORE_THREADS * FEW_THREADS) return false;
  bool few = g->grid->vmax < FEW_THREADS;
  double shortest = shortest_sum(g, b);
  int threads = g->target->hub_threads;
  while (!few && threads > SECTOR && threads / SECTOR * SUM_TRIPS > shortest) threads /= 2;
  if (!shortest || threads <= SECTOR) return false;
  share_loops(g, b);
  spread_groups(g, g->grid->arg.i, g->grid->vmax < FEW_RESULTS ? PAIR : SECTOR, threads);
  return true;
}

/* More results, such as the columns of each piece of a long sum, whose threads are still too few to keep the device
 * waiting for enough loads: threads share each sum until there are busy_threads of them. Neighbouring threads have
 * neighbouring results, of which each takes a strip; those that share a sum lie in one warp if they are few. */
static bool share_columns(Codegen *g) {
  Block *b = g->body;
  int64_t busy = g->target->busy_threads;
  if (!busy || b == g->top || g->nragged || g->grid->op != OP_CONST || next_output(g, b)) return false;
  if (g->grid->arg.i < MORE_THREADS * FEW_THREADS || gain_below(g, b, b->range, NULL) <= 0) return false;
  double shortest = shortest_sum(g, b);
  int64_t threads = g->grid->arg.i / strip_of(g, b);
  int lanes = 1, most = MAX(g->target->group / SECTOR, 2), warp = g->target->warp;
  while (lanes < most && threads * lanes < busy && 2 * lanes * SUM_TRIPS <= shortest) lanes *= 2;
  if (lanes == 1) return false;
  g->group = lanes;
  strip_grid(g);
  share_loops(g, b);
  int side = 1, wide = g->strip > 1 ? SECTOR : LINE;
  while (side < wide && 2 * side * lanes <= g->target->group && g->grid->arg.i % (2 * side) == 0) side *= 2;
  g->spread = side > 1 ? side : 0;
  g->pack = side * lanes <= warp ? g->target->group / lanes : side;
  return true;
}

/* Are all loops at or below b short? */
static bool all_short(Codegen *g, const Block *b) {
  for (int i = 0; i < b->line.n; i++) {
    const Block *c = b->line.at[i].child;
    if (c && (is_ragged(g, c) || range_trips(g, c->range) > SHORT_LOOP * g->group || !all_short(g, c))) return false;
  }
  return true;
}

/* A thread of a short body is over before what it loads has come, and a block costs time to start: each takes several
 * iterations, if enough blocks are left. */
static int turns_for(Codegen *g) {
  enum { LEAST_BLOCKS = 4096, MOST_INSTS = 96 };
  int n = g->target->turns, insts = 0, accs = 0;
  if (n <= 1 || g->nragged || g->local.n || g->padded || g->pack <= 1 || g->grid->op != OP_CONST) return 1;
  if (g->grid->arg.i / g->pack / n < LEAST_BLOCKS || !all_short(g, g->body)) return 1;
  count_insts(g, g->body, &insts, &accs);
  return insts * MAX(g->strip, 1) <= MOST_INSTS ? n : 1;
}

bool shape_groups(Codegen *g) {
  if (g->tiled) return (g->body = mark_grid(g)) && g->grid; /* groups are those of its tiles */
  g->group = 1;
  for (int i = 0; i < g->top->line.n; i++) {
    Line l = g->top->line.at[i];
    if (!l.child && next_output(g, g->top) && g->inst.at[l.inst].kind == INST_STORE)
      return base_fail(ctx_base(g->ctx), POLY_ERROR_RUNTIME, "a kernel stores outside its grid");
  }
  Block *b = g->body = mark_grid(g);
  find_rows(g);
  bool rows = shape_rows(g);
  if (!rows && share_columns(g)) return ctx_base(g->ctx)->code == POLY_OK && g->grid;
  bool group = !rows && wants_group(g, b);
  for (int i = 0; i < b->line.n && group; i++)
    if (b->line.at[i].child) choose_group(g, b->line.at[i].child, true);
  if (g->group == 1 && !rows && (share_rows(g) || share_long_sums(g)))
    return ctx_base(g->ctx)->code == POLY_OK && g->grid;
  if (g->group == 1 && !rows) strip_grid(g);
  if (g->nragged) choose_hubs(g);
  /* without a grid there is one group: others beside it would store the same places */
  bool packs = b != g->top && (g->group == 1 || g->group <= g->target->warp);
  g->pack = packs ? MAX(g->target->group / g->group, 1) : 1;
  if (g->grid) g->turns = turns_for(g);
  return ctx_base(g->ctx)->code == POLY_OK && g->grid;
}
