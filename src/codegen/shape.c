/* shape.c: marks loops. Lanes go to the loop along which most memory is contiguous: the innermost one of a chain, or an
 * outer one around a reduction over rows; or to two loops, where some memory is contiguous along an outer one and the
 * rest along both (heads and features). Threads go to the outermost output loop with enough iterations. */
#include "codegen/block.h"

#include "ir/context.h"
#include "ir/lanes.h"

enum { MAX_TERMS = 64, LOADED_TRIPS = 16, FEW_TRIPS = 8 };

/* Trips of a loop, at most; of one whose bounds are loaded, a guess. */
double range_trips(Codegen *g, const UOp *r) {
  UOp *n = int_sub(r->src[1], r->src[0]);
  if (!n || block_ranges(g, n) & RANGES_LOAD) return LOADED_TRIPS;
  return n->vmax < 1 ? 1 : (double)n->vmax;
}

/* By how much an index grows with r. */
int64_t block_stride(Codegen *g, UOp *index, const UOp *r) {
  UOp *term[MAX_TERMS];
  int64_t coef[MAX_TERMS], constant, stride = 0;
  int n = int_terms(index, MAX_TERMS, term, coef, &constant);
  if (n < 0) return STRIDE_NONE;
  for (int i = 0; i < n; i++) {
    if (term[i] == r)
      stride = coef[i];
    else if (block_ranges(g, term[i]) & (1ull << r->arg.i))
      return STRIDE_NONE;
  }
  return stride;
}

static UOp *access_index(const UOp *u) { return u->op == OP_STORE ? u->src[2] : u->src[1]; }

static int64_t constant_trips(const UOp *r) {
  bool constant = r->src[0]->op == OP_CONST && r->src[1]->op == OP_CONST;
  return constant ? r->src[1]->arg.i - r->src[0]->arg.i : 0;
}

/* How far from lane to lane: along r; if there are outer lanes, along both loops where the index walks them as one. */
static int64_t lane_step(Codegen *g, UOp *index, const UOp *r, const UOp *outer) {
  int64_t s = r ? block_stride(g, index, r) : 0, o = outer ? block_stride(g, index, outer) : 0;
  if (!outer || s == STRIDE_NONE || o == STRIDE_NONE) return outer && s != STRIDE_NONE ? o : s;
  return s == 0 ? o : o == s * constant_trips(r) ? s : STRIDE_NONE;
}

/* What lanes along r, with or without outer ones, would save in one run of an instruction inside, in rough operations.
 * What is the same for all lanes is done once for them; what differs is done for all at once, but for memory that is
 * not contiguous. */
static double inst_gain(Codegen *g, const Inst *inst, UOp *u, const UOp *r, const UOp *outer) {
  const LaneGains *gain = &g->target->gain;
  if (!u) return 0;
  if (inst->kind == INST_LOAD || inst->kind == INST_STORE) {
    int64_t s = lane_step(g, access_index(u), r, outer);
    UOp *gate = u->op == OP_LOAD && u->nsrc > 2 ? u->src[2] : NULL;
    bool each = (r && block_varies(g, gate, r)) || (outer && block_varies(g, gate, outer));
    bool apart = g->target->vector_bytes && s != 0 && s != 1; /* lanes of a vector are loaded one by one as well */
    if (each) return gain->gated + (apart ? gain->strided : 0);
    if (s == STRIDE_NONE && outer) return gain->scattered; /* addresses of all lanes */
    return s == 1 ? gain->contiguous : s == -1 ? gain->reversed : s == 0 ? gain->same : gain->strided;
  }
  if (inst->kind != INST_ALU) return 0;
  bool address = inst->dtype == POLY_INT64 && u->op != OP_CAST;
  bool function = op_info[inst->op].cls == CLASS_UNARY && op_info[inst->op].takes == TAKES_FLOAT;
  return address ? 0 : function ? gain->function : gain->simple;
}

/* Is the line a store at one place for all iterations of r, into a local array or of values that differ? The latter is
 * found where a loop beside it has no iterations, so that steps along r are of no elements. */
static bool stores_over(Codegen *g, Line l, const UOp *r) {
  const Inst *in = l.child ? NULL : &g->inst.at[l.inst];
  if (!in || in->kind != INST_STORE || block_varies(g, access_index(g->origin.at[l.inst]), r)) return false;
  return (g->local.n && in->param >= g->nargs) || block_varies(g, g->origin.at[l.inst]->src[1], r);
}

/* May the loop of block b run as lanes? Loops inside it must not have bounds that depend on it, and lanes have one
 * local array. */
bool lanes_allowed(Codegen *g, const Block *b, const UOp *r) {
  if (b->ordered && b->range == r) return false;
  for (int i = 0; i < b->line.n; i++) {
    const Block *c = b->line.at[i].child;
    if (stores_over(g, b->line.at[i], r)) return false;
    if (!c) continue;
    if (block_varies(g, c->range->src[0], r) || block_varies(g, c->range->src[1], r) || !lanes_allowed(g, c, r))
      return false;
  }
  return true;
}

/* What it costs that lanes along r, in block b, read or write a line of the cache each, if a loop around r comes to the
 * rest of these lines only when they are gone. A loop inside comes to it at once. */
static double wasted_lines(Codegen *g, const Block *b, UOp *index, const UOp *r) {
  enum { LINE = 64, APART = 8 };
  double lines = 1;
  int64_t step = block_stride(g, index, r);
  if (!g->target->vector_bytes || step == STRIDE_NONE || (step < APART && step > -APART)) return 0;
  for (bool inside = true; b && b->range; b = b->parent) {
    int64_t s = block_stride(g, index, b->range);
    if (s == 1 || s == -1)
      return inside || lines * LINE <= (double)g->target->cache_bytes[0] ? 0 : g->target->gain.wasted;
    if (s != 0) lines *= range_trips(g, b->range);
    inside = inside && b->range != r;
  }
  return 0;
}

double gain_below(Codegen *g, const Block *b, const UOp *r, const UOp *outer) {
  double sum = 0;
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child) {
      sum += gain_below(g, l.child, r, outer);
      continue;
    }
    const Inst *inst = &g->inst.at[l.inst];
    UOp *u = g->origin.at[l.inst];
    bool memory = u && (inst->kind == INST_LOAD || inst->kind == INST_STORE);
    sum += b->trips * inst_gain(g, inst, u, r, outer);
    if (memory && r && !outer) sum += b->trips * wasted_lines(g, b, access_index(u), r);
  }
  return sum;
}

/* ---- lanes of two loops ---- */

/* May the loop of b be the outer one? It must leave a loop around it to the threads. */
static bool outer_allowed(Codegen *g, const Block *b) {
  int64_t n = b->range ? constant_trips(b->range) : 0;
  if (n < 2 || n > MOST_OUTER_LANES || !is_power_of_two(n) || g->inst.at[b->loop].flags & LOOP_REDUCE) return false;
  bool threads = false;
  for (const Block *p = b->parent; p && p->range; p = p->parent) threads |= range_trips(g, p->range) >= FEW_TRIPS;
  return threads && lanes_allowed(g, b, b->range);
}

static bool inner_allowed(Codegen *g, const Block *b, const UOp *outer) {
  int64_t n = constant_trips(b->range), all = n * constant_trips(outer);
  bool folds = !(g->inst.at[b->loop].flags & LOOP_REDUCE) || is_power_of_two(n);
  return n > 1 && n <= MOST_WIDE_LANES && all <= MOST_WIDE_LANES && all % g->target->lanes == 0 && folds &&
         lanes_allowed(g, b, b->range);
}

/* Gain in b, the loop of f or inside it, of lanes along both; sums of as many values inside it have lanes of their own,
 * which are marked. */
static double wide_gain(Codegen *g, Block *b, const UOp *f, const UOp *outer, bool mark) {
  double sum = 0;
  for (int i = 0; i < b->line.n; i++) {
    Block *c = b->line.at[i].child;
    if (!c) {
      const int inst = b->line.at[i].inst;
      sum += b->trips * inst_gain(g, &g->inst.at[inst], g->origin.at[inst], f, outer);
    } else if (sums_along(g, c, f) && inner_allowed(g, c, outer)) {
      sum += gain_below(g, c, c->range, outer);
      if (mark) g->inst.at[c->loop].flags |= LOOP_VECTOR;
    } else {
      sum += wide_gain(g, c, f, outer, mark);
    }
  }
  return sum;
}

/* Gain in b of lanes along `outer`, alone or with the loops inside that are the better for it; those are marked. */
static double outer_gain(Codegen *g, Block *b, const UOp *outer, bool mark, bool *paired) {
  double sum = 0;
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (!l.child) {
      sum += b->trips * inst_gain(g, &g->inst.at[l.inst], g->origin.at[l.inst], NULL, outer);
      continue;
    }
    bool inner = false;
    double apart = outer_gain(g, l.child, outer, false, &inner);
    const UOp *f = l.child->range;
    double both = inner_allowed(g, l.child, outer) ? wide_gain(g, l.child, f, outer, false) : apart;
    if (both > apart) {
      inner = true;
      if (mark) {
        wide_gain(g, l.child, f, outer, true);
        g->inst.at[l.child->loop].flags |= LOOP_VECTOR;
      }
    } else if (mark) {
      outer_gain(g, l.child, outer, true, &inner);
    }
    *paired |= inner;
    sum += MAX(both, apart);
  }
  return sum;
}

/* ---- the choice ---- */

/* The part of the work that lanes along r save: a loop of few iterations fills a part of a register. */
static double filled(Codegen *g, const UOp *r) { return 1 - 1 / MIN(range_trips(g, r), (double)g->target->lanes); }

/* Best gain at or below b, and marks that reach it. */
static double choose_lanes(Codegen *g, Block *b, bool mark) {
  double below = 0, own = 0, pair = 0;
  bool paired = false;
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child) below += choose_lanes(g, b->line.at[i].child, false);
  if (b->range && range_trips(g, b->range) >= g->target->least_lanes && lanes_allowed(g, b, b->range))
    own = filled(g, b->range) * gain_below(g, b, b->range, NULL);
  if (outer_allowed(g, b)) pair = outer_gain(g, b, b->range, false, &paired);
  if (!paired) pair = 0;
  if (!mark) return MAX(pair, MAX(own, below));
  if (pair > own && pair > below) {
    g->inst.at[b->loop].flags |= LOOP_OUTER;
    outer_gain(g, b, b->range, true, &paired);
  } else if (own > below && own > 0) {
    g->inst.at[b->loop].flags |= LOOP_VECTOR;
  } else {
    for (int i = 0; i < b->line.n; i++)
      if (b->line.at[i].child) choose_lanes(g, b->line.at[i].child, true);
  }
  return 0;
}

static void set_strides(Codegen *g, Block *b, const UOp *lanes, const UOp *outer) {
  if (b->range && g->inst.at[b->loop].flags & LOOP_VECTOR) lanes = b->range;
  if (b->range && g->inst.at[b->loop].flags & LOOP_OUTER) outer = b->range;
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child) {
      set_strides(g, l.child, lanes, outer);
      continue;
    }
    Inst *inst = &g->inst.at[l.inst];
    if (inst->kind != INST_LOAD && inst->kind != INST_STORE) continue;
    if (lanes) inst->stride = block_stride(g, access_index(g->origin.at[l.inst]), lanes);
    if (outer) inst->outer = block_stride(g, access_index(g->origin.at[l.inst]), outer);
  }
}

/* Trips from the top down, then costs from the bottom up; lanes share the cost of an iteration. */
static void estimate(Codegen *g, Block *b) {
  const CostTable *cost = &g->target->cost;
  b->cost = 0;
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (!l.child) {
      const Inst *inst = &g->inst.at[l.inst];
      b->cost += inst->kind == INST_ALU ? cost->op[op_info[inst->op].cost] : cost->cached;
      continue;
    }
    l.child->trips = b->trips * range_trips(g, l.child->range);
    estimate(g, l.child);
    b->cost += range_trips(g, l.child->range) * l.child->cost;
  }
  if (!b->range) return;
  if (g->inst.at[b->loop].flags & (LOOP_VECTOR | LOOP_OUTER)) b->cost /= g->target->lanes;
  g->inst.at[b->loop].cost = b->cost < 1e15 ? (int64_t)b->cost + 1 : (int64_t)1e15;
}

/* Threads: the first output loop with enough iterations; if none has, the longest. */
static void choose_threads(Codegen *g) {
  Block *best = NULL;
  for (Block *b = g->inner; b && b->range; b = b->parent) {
    double t = range_trips(g, b->range);
    if (!best || t >= FEW_TRIPS || t > range_trips(g, best->range)) best = b;
  }
  if (best) g->inst.at[best->loop].flags |= LOOP_PARALLEL;
}

static bool has_lanes(const Codegen *g, const Block *b) {
  if (b->range && g->inst.at[b->loop].flags & (LOOP_JAMMED | LOOP_VECTOR)) return true;
  for (int i = 0; i < b->line.n; i++)
    if (b->line.at[i].child && has_lanes(g, b->line.at[i].child)) return true;
  return false;
}

/* Of a tree of tiles: lanes for each nest but those that have theirs. */
static void choose_nests(Codegen *g, Block *b) {
  if (b->range && g->inst.at[b->loop].flags & (LOOP_JAMMED | LOOP_VECTOR)) return;
  for (int i = 0; i < b->line.n; i++) {
    Block *c = b->line.at[i].child;
    if (c && has_lanes(g, c))
      choose_nests(g, c);
    else if (c)
      choose_lanes(g, c, true);
  }
}

bool shape_loops(Codegen *g) {
  estimate(g, g->top);
  if (g->target->vector_bytes && g->tiled)
    choose_nests(g, g->top);
  else if (g->target->vector_bytes)
    choose_lanes(g, g->top, true);
  estimate(g, g->top);
  set_strides(g, g->top, NULL, NULL);
  if (g->target->group > 1) return shape_groups(g);
  choose_threads(g);
  return ctx_base(g->ctx)->code == POLY_OK;
}
