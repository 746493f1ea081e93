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
 * Rows of very many edges would keep one thread busy long after the others have ended. Where all loops over edges have
 * the bounds of the outermost output loop's row, rows of more than Target.hub_edges edges are left to a second kernel,
 * in which a group of threads shares the edges of a row, and neighbouring threads belong to groups of neighbouring
 * features. */
#include "codegen/block.h"

#include "ir/context.h"

enum {
  SHORT_LOOP = 8,    /* trips that are not worth several threads */
  FEW_THREADS = 4096 /* of a grid: a group for each iteration keeps more of the device busy */
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

/* ---- group loops ---- */

static int threads_for(const Codegen *g, double trips) {
  int n = 1;
  while (n < trips && n < g->target->group) n *= 2;
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
    g->inst.at[b->loop].flags |= LOOP_GROUP;
    g->group = MAX(g->group, threads_for(g, range_trips(g, b->range)));
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

/* The loops at or below b that have loaded bounds: their number; *first is one of them, and *same whether all have its
 * bounds. */
static int count_ragged(Codegen *g, const Block *b, const Block **first, bool *same) {
  int n = 0;
  if (b->range && is_ragged(g, b)) {
    if (!*first) *first = b;
    *same &= b->range->src[0] == (*first)->range->src[0] && b->range->src[1] == (*first)->range->src[1];
    n++;
  }
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child) n += count_ragged(g, b->line.at[i].child, first, same);
  return n;
}

/* Is u the element of an integer tensor at that index? The tensor's parameter, or -1. */
static int element_at(const UOp *u, const UOp *index) {
  while (u->op == OP_CAST) u = u->src[0];
  return u->op == OP_LOAD && u->nsrc == 2 && u->src[1] == index ? (int)u->src[0]->arg.i : -1;
}

/* Notes the loop over a row's edges, if rows are those of the outermost output loop. */
static void find_rows(Codegen *g) {
  const Block *rows = next_output(g, g->top), *first = NULL;
  bool same = true;
  g->ragged = -1;
  if (!g->target->hub_edges || !rows || !(g->inst.at[rows->loop].flags & LOOP_PARALLEL)) return;
  if (!count_ragged(g, g->top, &first, &same) || !same || !uop_is_int(rows->range->src[0], 0)) return;
  int begin = element_at(first->range->src[0], rows->range);
  if (begin < 0 || begin != element_at(first->range->src[1], int_addc(rows->range, 1))) return;
  g->ragged = first->loop;
  g->rowptr = begin;
}

/* The outermost loops over edges, and loops that have none inside. */
static void mark_shared(Codegen *g, Block *b) {
  const Block *first = NULL;
  bool same = true;
  if (is_ragged(g, b) || !count_ragged(g, b, &first, &same)) {
    g->inst.at[b->loop].flags |= LOOP_GROUP;
    return;
  }
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child) mark_shared(g, b->line.at[i].child);
}

/* Groups of a block, which work on one row: as many as there are neighbouring results. */
static int same_row(Codegen *g) {
  int n = 1;
  if (g->body == next_output(g, g->top) || !uop_is_int(g->body->range->src[0], 0)) return 1;
  while (n < 32 && 8 * n <= g->target->hub_threads && n < range_trips(g, g->body->range)) n *= 2;
  return n;
}

static UOp *whole_blocks(UOp *n, int pack) {
  return int_mulc(int_div(int_addc(n, pack - 1), uop_index(n->ctx, pack)), pack);
}

bool shape_hubs(Codegen *g) {
  for (int i = 0; i < g->inst.n; i++)
    g->inst.at[i].flags &= ~(uint32_t)(g->inst.at[i].kind == INST_LOOP ? LOOP_GROUP : 0);
  for (int i = 0; i < g->body->line.n; i++)
    if (g->body->line.at[i].child) mark_shared(g, g->body->line.at[i].child);
  const Block *rows = next_output(g, g->top);
  g->for_hubs = true;
  g->pack = same_row(g);
  g->group = g->target->hub_threads / g->pack;
  g->spread = g->pack > 1;
  g->grid = uop_index(g->ctx, g->target->hub_workers);
  for (const Block *b = g->body; b != rows; b = b->parent) {
    UOp *n = int_sub(b->range->src[1], b->range->src[0]);
    g->grid = int_mul(g->grid, b == g->body ? whole_blocks(n, g->pack) : n);
  }
  return g->grid != NULL;
}

bool shape_groups(Codegen *g) {
  g->group = 1;
  for (int i = 0; i < g->top->line.n; i++) {
    Line l = g->top->line.at[i];
    if (!l.child && next_output(g, g->top) && g->inst.at[l.inst].kind == INST_STORE)
      return base_fail(ctx_base(g->ctx), POLY_ERROR_RUNTIME, "a kernel stores outside its grid");
  }
  Block *b = g->body = mark_grid(g);
  find_rows(g);
  bool group = wants_group(g, b);
  for (int i = 0; i < b->line.n && group; i++)
    if (b->line.at[i].child) choose_group(g, b->line.at[i].child, true);
  /* without a grid there is one group: others beside it would store the same places */
  bool packs = b != g->top && (g->group == 1 || g->group <= g->target->warp);
  g->pack = packs ? MAX(g->target->group / g->group, 1) : 1;
  return ctx_base(g->ctx)->code == POLY_OK && g->grid;
}
