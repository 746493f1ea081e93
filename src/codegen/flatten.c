/* flatten.c: the tree of loops to a list of instructions, with long float32 sums in blocks and products fused with
 * sums.
 *
 * Adding n values one after another in float32 loses about n/2 units of the last place when they have one sign: ten
 * million times 0.1 comes out 0.15 % short. So a loop that may add more than PLAIN values to one accumulator becomes
 *
 *   first = begin + (n <= PLAIN ? n : n mod BLOCK)
 *   for j = begin .. first: acc += x(j)                    the only loop that a short row runs
 *   if first < end:                                        a loop that runs once or not at all
 *     hi = lo = 0
 *     for b = 0 .. n / BLOCK:
 *       part = 0
 *       for k = 0 .. BLOCK: part += x(first + b*BLOCK + k)
 *       hi, lo += part                                     with the rounding error of hi kept in lo
 *     acc += hi + lo
 *
 * or, where the length is known or lanes go along the loop, blocks first and then the rest; memory is read in order,
 * and the relative error for values of one sign is that of the longest plain sum, whatever n is. Which loops are cut,
 * and where, follows from sizes alone, so results do not depend on threads. Of nested loops that add to one
 * accumulator, the one at which the number of additions passes BLOCK is cut, and those around it add up what it gives
 * in the same way.
 *
 * Constants, as measured on random and on equal values (relative error of the worst of 300 values, added n times):
 * n = 32: 5e-7, n = 64: 9.4e-7, n = 128: 1.9e-6. A block costs seven operations for each accumulator, and a row of at
 * most PLAIN values three integer operations and one branch. Along a vector loop every lane has a sum of its own, so
 * blocks are as many times as long as the Target says there are such sums. */
#include "codegen/block.h"

#include "ir/context.h"

#include <math.h>

enum { PLAIN = 64, LOG_BLOCK = 5, BLOCK = 1 << LOG_BLOCK, MAX_SUMS = 64 };

typedef struct Flat {
  Codegen *g;
  VEC(Inst) out;
  int *place;         /* of each instruction as made */
  const Block **home; /* the block that it is a line of */
  int *uses;          /* how many instructions read it */
  bool *into_sum;     /* a product that is part of a fused multiply-add */
  bool *loaded;       /* parameters that the kernel loads */
  int live;           /* whether this group stores; -1: always */
  int padded;         /* how many iterations the innermost loop of the grid has, where these are more than its own */
  bool failed;
} Flat;

/* The accumulators that a loop adds to. */
typedef struct Sums {
  int n;
  int acc[MAX_SUMS]; /* as made */
  int into[MAX_SUMS], hi[MAX_SUMS], lo[MAX_SUMS];
} Sums;

/* ---- instructions ---- */

static int add(Flat *f, Inst in) {
  if (!vec_push(ctx_base(f->g->ctx), &f->out, in)) f->failed = true;
  return f->out.n - 1;
}

static int add_alu(Flat *f, Op op, PolyDType d, int a, int b, int c) {
  return add(f,
             (Inst){.kind = INST_ALU, .dtype = (uint8_t)d, .op = (uint16_t)op, .src = {a, b, c}, .flags = INST_EXTRA});
}

static int add_index(Flat *f, Op op, int a, int b) {
  Inst in = {.kind = INST_ALU, .dtype = POLY_INT64, .op = (uint16_t)op, .src = {a, b, -1}};
  return add(f, in);
}

static int add_const(Flat *f, int64_t v) {
  return add(f, (Inst){.kind = INST_CONST, .dtype = POLY_INT64, .src = {-1, -1, -1}, .arg = {.i = v}});
}

static int add_loop(Flat *f, const Inst *like, int begin, int end, uint32_t flags) {
  Inst in = *like;
  in.src[0] = begin;
  in.src[1] = end;
  in.src[2] = -1;
  in.flags = flags;
  if (!(flags & (LOOP_GROUP | LOOP_PARALLEL))) in.strip = 0; /* a thread takes blocks one by one */
  return add(f, in);
}

static void add_end(Flat *f, int loop) { add(f, (Inst){.kind = INST_END, .src = {loop, -1, -1}}); }

static int add_sum(Flat *f) {
  Inst in = {.kind = INST_ACC, .dtype = POLY_FLOAT32, .op = OP_ADD, .src = {-1, -1, -1}, .flags = INST_EXTRA};
  return add(f, in);
}

static void add_update(Flat *f, int acc, int value) {
  add(f,
      (Inst){.kind = INST_UPDATE, .dtype = POLY_FLOAT32, .op = OP_ADD, .src = {acc, value, -1}, .flags = INST_EXTRA});
}

/* ---- fused multiply-adds ----
 *
 * Which products are rounded is decided here, and compilers are told to fuse nothing by themselves: so a kernel gives
 * the same bits with every compiler, in a vector or not, and in the interpreter. A product in float32 or float64 that
 * is added to an accumulator, and is read by nothing else, is fused with that addition. In elementwise work every
 * operation is rounded: a*b - m must be 0 where m is the rounded a*b, as the largest score of a softmax is.
 */

/* Is this the addition of such a product to an accumulator? */
static bool adds_product(const Flat *f, int inst) {
  const Inst *in = &f->g->inst.at[inst];
  if (in->kind != INST_UPDATE || in->op != OP_ADD || (in->dtype != POLY_FLOAT32 && in->dtype != POLY_FLOAT64))
    return false;
  int s = in->src[1];
  const Inst *mul = &f->g->inst.at[s];
  return mul->kind == INST_ALU && mul->op == OP_MUL && f->uses[s] == 1 && f->home[s] == f->home[inst];
}

static bool find_fused(Flat *f) {
  const Codegen *g = f->g;
  f->home = arena_new(g->arena, (size_t)(g->inst.n + 1) * sizeof *f->home);
  f->uses = arena_new(g->arena, (size_t)(g->inst.n + 1) * sizeof *f->uses);
  f->into_sum = arena_new(g->arena, (size_t)(g->inst.n + 1) * sizeof *f->into_sum);
  if (!f->home || !f->uses || !f->into_sum) return false;
  for (int b = 0; b < g->block.n; b++)
    for (int i = 0; i < g->block.at[b]->line.n; i++)
      if (g->block.at[b]->line.at[i].inst >= 0) f->home[g->block.at[b]->line.at[i].inst] = g->block.at[b];
  for (int i = 0; i < g->inst.n; i++)
    for (int k = 0; k < 3; k++)
      if (g->inst.at[i].src[k] >= 0) f->uses[g->inst.at[i].src[k]]++;
  for (int i = 0; i < g->inst.n; i++)
    if (adds_product(f, i)) f->into_sum[g->inst.at[i].src[1]] = true;
  return true;
}

static void put(Flat *f, int inst) {
  Inst in = f->g->inst.at[inst];
  if (f->into_sum[inst]) return;
  if (adds_product(f, inst)) {
    const Inst *mul = &f->g->inst.at[in.src[1]];
    in.src[1] = mul->src[0];
    in.src[2] = mul->src[1];
  }
  for (int i = 0; i < 3; i++)
    if (in.src[i] >= 0) in.src[i] = f->place[in.src[i]];
  if (in.kind == INST_STORE && f->live >= 0)
    in.src[2] = in.src[2] < 0 ? f->live : add_alu(f, OP_AND, POLY_BOOL, in.src[2], f->live, -1);
  f->place[inst] = add(f, in);
}

/* ---- which sums a loop adds to, and how often ---- */

static bool declares(const Flat *f, const Block *b, int acc) {
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child ? declares(f, l.child, acc) : l.inst == acc) return true;
  }
  return false;
}

static void find_sums(const Flat *f, const Block *b, const Block *loop, Sums *s) {
  for (int i = 0; i < b->line.n; i++) {
    Line l = b->line.at[i];
    if (l.child) {
      find_sums(f, l.child, loop, s);
      continue;
    }
    const Inst *in = &f->g->inst.at[l.inst];
    if (in->kind != INST_UPDATE || in->op != OP_ADD || in->dtype != POLY_FLOAT32) continue;
    bool known = declares(f, loop, in->src[0]);
    for (int k = 0; k < s->n; k++) known |= s->acc[k] == in->src[0];
    if (!known && s->n < MAX_SUMS) s->acc[s->n++] = in->src[0];
  }
}

/* Most trips of a loop; INFINITY if they are not known before it runs. */
static double most_trips(const Flat *f, const Block *c) {
  UOp *n = int_sub(c->range->src[1], c->range->src[0]);
  if (!n || block_ranges(f->g, n) & RANGES_LOAD) return INFINITY;
  return n->vmax < 0 ? 0 : (double)n->vmax;
}

/* Has each lane, or each thread of a group, a sum of its own? */
static bool in_lanes(const Flat *f, const Block *c) {
  return f->g->inst.at[c->loop].flags & (LOOP_VECTOR | LOOP_GROUP);
}

/* How many sums of its own such a loop has, as a power of two. */
static int log_lanes(const Flat *f, const Block *c) {
  int log = 0;
  if (!(f->g->inst.at[c->loop].flags & LOOP_GROUP)) return f->g->target->log_sum_lanes;
  while (1 << log < f->g->group) log++;
  return log;
}

/* Additions to one accumulator that follow each other in all trips of a loop. */
static double most_steps(const Flat *f, const Block *c) {
  double n = most_trips(f, c);
  return in_lanes(f, c) ? ceil(n / (1 << log_lanes(f, c))) : n;
}

/* The same in one trip. */
static double steps_within(const Flat *f, const Block *c, int acc) {
  double sum = 0;
  for (int i = 0; i < c->line.n; i++) {
    Line l = c->line.at[i];
    if (l.child) {
      double within = steps_within(f, l.child, acc);
      sum += within > 0 ? within * most_steps(f, l.child) : 0;
    } else {
      const Inst *in = &f->g->inst.at[l.inst];
      sum += in->kind == INST_UPDATE && in->src[0] == acc;
    }
  }
  return sum;
}

/* ---- compensated sums ---- */

static void open_pairs(Flat *f, Sums *s) {
  for (int i = 0; i < s->n; i++) {
    s->hi[i] = add_sum(f);
    s->lo[i] = add_sum(f);
  }
}

/* hi + part = t + e without error; e goes to lo. */
static void add_to_pair(Flat *f, int hi, int lo, int part) {
  PolyDType d = POLY_FLOAT32;
  int t = add_alu(f, OP_ADD, d, hi, part, -1), b = add_alu(f, OP_SUB, d, t, hi, -1);
  int a = add_alu(f, OP_SUB, d, t, b, -1);
  int e = add_alu(f, OP_ADD, d, add_alu(f, OP_SUB, d, hi, a, -1), add_alu(f, OP_SUB, d, part, b, -1), -1);
  add_update(f, lo, e);
  add_update(f, hi, part);
}

/* Where hi is infinite, lo is NaN and hi alone is the sum. */
static void close_pairs(Flat *f, const Sums *s) {
  for (int i = 0; i < s->n; i++) {
    int known = add_alu(f, OP_CMPEQ, POLY_BOOL, s->lo[i], s->lo[i], -1);
    int both = add_alu(f, OP_ADD, POLY_FLOAT32, s->hi[i], s->lo[i], -1);
    add_update(f, s->into[i], add_alu(f, OP_WHERE, POLY_FLOAT32, known, both, s->hi[i]));
  }
}

/* ---- loops ---- */

static void flatten(Flat *f, const Block *b);
static const Block *rows_block(const Codegen *g);
static int add_row(Flat *f, int i);
static int put_padded(Flat *f, const Block *b, int padded);

/* The body of c, adding to sums of its own; they are read out by the caller. */
static void put_body_apart(Flat *f, const Block *c, const Sums *s, int *part) {
  for (int i = 0; i < s->n; i++) f->place[s->acc[i]] = part[i] = add_sum(f);
  flatten(f, c);
  for (int i = 0; i < s->n; i++) f->place[s->acc[i]] = s->into[i];
}

/* The body of c. `apart`: a trip adds up a sum of its own, which is then added as one value. */
static void put_body(Flat *f, const Block *c, const Sums *s, bool apart) {
  int part[MAX_SUMS];
  if (!apart) {
    flatten(f, c);
    return;
  }
  put_body_apart(f, c, s, part);
  for (int i = 0; i < s->n; i++) add_update(f, s->into[i], part[i]);
}

static void put_plain(Flat *f, const Block *c, const Sums *s, bool apart) {
  int loop;
  if (c == f->g->body && f->g->padded) {
    loop = put_padded(f, c, f->padded);
  } else {
    put(f, c->loop);
    loop = f->place[c->loop];
  }
  if (f->g->nragged && c == rows_block(f->g)) f->place[c->loop] = add_row(f, loop);
  put_body(f, c, s, apart);
  add_end(f, loop);
}

/* Each trip of c makes a long sum: these are added up with compensation. */
static void put_long_trips(Flat *f, const Block *c, Sums *s) {
  int part[MAX_SUMS];
  open_pairs(f, s);
  put(f, c->loop);
  int loop = f->place[c->loop];
  put_body_apart(f, c, s, part);
  for (int i = 0; i < s->n; i++) add_to_pair(f, s->hi[i], s->lo[i], part[i]);
  add_end(f, loop);
  close_pairs(f, s);
}

static int add_trips(Flat *f, const Block *c, int begin, int end) {
  return uop_is_int(c->range->src[0], 0) ? end : add_index(f, OP_SUB, end, begin);
}

/* q whole blocks from begin, into pairs. */
static void put_blocks(Flat *f, const Block *c, Sums *s, bool apart, int begin, int q, int shift) {
  const Inst *like = &f->g->inst.at[c->loop];
  int part[MAX_SUMS], log = add_const(f, shift), zero = add_const(f, 0), size = add_const(f, (int64_t)1 << shift);
  open_pairs(f, s);
  int blocks = add_loop(f, like, zero, q, LOOP_REDUCE), first = add_index(f, OP_SHL, blocks, log);
  first = add_index(f, OP_ADD, begin, first);
  Sums inner = *s;
  for (int i = 0; i < s->n; i++) f->place[s->acc[i]] = inner.into[i] = part[i] = add_sum(f);
  int limit = like->src[2] < 0 ? -1 : add_index(f, OP_SUB, f->place[like->src[2]], first);
  int loop = add_loop(f, like, zero, size, like->flags);
  f->out.at[loop].src[2] = limit;
  f->place[c->loop] = add_index(f, OP_ADD, first, loop);
  put_body(f, c, &inner, apart);
  add_end(f, loop);
  for (int i = 0; i < s->n; i++) {
    add_to_pair(f, s->hi[i], s->lo[i], part[i]);
    f->place[s->acc[i]] = s->into[i];
  }
  add_end(f, blocks);
}

/* The values that make no whole block. */
static void put_rest(Flat *f, const Block *c, const Sums *s, bool apart, int begin, int end, uint32_t extra) {
  const Inst *like = &f->g->inst.at[c->loop];
  int loop = f->place[c->loop] = add_loop(f, like, begin, end, like->flags | extra);
  f->out.at[loop].src[2] = like->src[2] < 0 ? -1 : f->place[like->src[2]];
  put_body(f, c, s, apart);
  add_end(f, loop);
}

/* Blocks, then the rest: memory is read in order and from where it is aligned. */
static void put_blocks_first(Flat *f, const Block *c, Sums *s, bool apart, int begin, int end, int shift) {
  const UOp *from = c->range->src[0], *to = c->range->src[1];
  if (from->op == OP_CONST && to->op == OP_CONST) {
    int64_t q = (to->arg.i - from->arg.i) >> shift, rest = from->arg.i + (q << shift);
    put_blocks(f, c, s, apart, begin, add_const(f, q), shift);
    if (rest < to->arg.i) put_rest(f, c, s, apart, add_const(f, rest), end, INST_EXTRA);
  } else {
    int log = add_const(f, shift), n = add_trips(f, c, begin, end), q = add_index(f, OP_SHR, n, log);
    int rest = add_index(f, OP_ADD, begin, add_index(f, OP_SHL, q, log));
    put_blocks(f, c, s, apart, begin, q, shift);
    put_rest(f, c, s, apart, rest, end, INST_EXTRA);
  }
  close_pairs(f, s);
}

/* Where whole blocks begin in a row of unknown length. A row of at most PLAIN values has none of them; along lanes that
 * choice costs more than it saves (a tenth of a sum of scalars over short rows), since few rows are as long as a block.
 */
static int add_first(Flat *f, int begin, int end, int n, int shift, bool lanes) {
  int64_t size = (int64_t)1 << shift;
  if (lanes) n = add_index(f, OP_MAX, n, add_const(f, 0));
  int rest = add_index(f, OP_ADD, begin, add_index(f, OP_AND, n, add_const(f, size - 1)));
  if (lanes) return rest;
  int plain = add_const(f, size * (PLAIN / BLOCK));
  int few = add(f, (Inst){.kind = INST_ALU, .dtype = POLY_BOOL, .op = OP_CMPLE, .src = {n, plain, -1}});
  return add(f, (Inst){.kind = INST_ALU, .dtype = POLY_INT64, .op = OP_WHERE, .src = {few, end, rest}});
}

/* The rest, then blocks if there are any: a short row runs the one loop that it would run anyway. */
static void put_rest_first(Flat *f, const Block *c, Sums *s, bool apart, int begin, int end, int shift) {
  int n = add_trips(f, c, begin, end), first = add_first(f, begin, end, n, shift, in_lanes(f, c));
  put_rest(f, c, s, apart, begin, first, 0);
  int once = add_loop(f, &f->g->inst.at[c->loop], first, end, LOOP_ONCE | INST_EXTRA);
  put_blocks(f, c, s, apart, first, add_index(f, OP_SHR, n, add_const(f, shift)), shift);
  close_pairs(f, s);
  add_end(f, once);
}

static void put_loop(Flat *f, const Block *c) {
  Sums s = {0};
  if (f->g->inst.at[c->loop].flags & LOOP_REDUCE && !c->whole) find_sums(f, c, c, &s);
  double within = 0, trips = most_steps(f, c);
  for (int i = 0; i < s.n; i++) {
    s.into[i] = f->place[s.acc[i]];
    within = fmax(within, steps_within(f, c, s.acc[i]));
  }
  /* Lanes add up sums of their own: the pair, which every trip reads, belongs outside. */
  bool lanes = in_lanes(f, c), apart = lanes && within > BLOCK / 2;
  if (apart) within = 1;
  if (!s.n || within * trips <= PLAIN) {
    put_plain(f, c, &s, apart);
  } else if (within > BLOCK / 2) {
    put_long_trips(f, c, &s);
  } else {
    int shift = LOG_BLOCK;
    while (shift > 1 && within * (1 << shift) > BLOCK) shift--;
    const Inst *loop = &f->g->inst.at[c->loop];
    bool constant = c->range->src[0]->op == OP_CONST && c->range->src[1]->op == OP_CONST;
    if (lanes) shift += log_lanes(f, c);
    (constant || (lanes && trips < INFINITY) ? put_blocks_first : put_rest_first)(
        f, c, &s, apart, f->place[loop->src[0]], f->place[loop->src[1]], shift);
  }
}

/* ---- groups ---- */

static bool shared_by_group(const Flat *f, const Block *c) { return f->g->inst.at[c->loop].flags & LOOP_GROUP; }

/* Accumulators of b that threads of a group have updated in its loop c, each once. */
static void put_combines(Flat *f, const Block *b, const Block *c, bool group, Map *done) {
  group |= shared_by_group(f, c);
  if (c->own) return;
  for (int i = 0; i < c->line.n; i++) {
    Line l = c->line.at[i];
    if (l.child) {
      put_combines(f, b, l.child, group, done);
      continue;
    }
    const Inst *in = &f->g->inst.at[l.inst];
    if (!group || in->kind != INST_UPDATE || f->home[in->src[0]] != b) continue;
    if (map_get(done, (uint64_t)in->src[0], NULL)) continue;
    if (!map_put(ctx_base(f->g->ctx), done, (uint64_t)in->src[0], 1)) f->failed = true;
    add(f, (Inst){.kind = INST_COMBINE,
                  .dtype = f->g->inst.at[in->src[0]].dtype,
                  .op = f->g->inst.at[in->src[0]].op,
                  .src = {f->place[in->src[0]], -1, -1}});
  }
}

/* Does a group loop in c store what the kernel loads? */
static bool stores_for_others(const Flat *f, const Block *c, bool group) {
  if (c->range) group |= shared_by_group(f, c);
  for (int i = 0; i < c->line.n; i++) {
    Line l = c->line.at[i];
    if (l.child ? stores_for_others(f, l.child, group)
                : group && f->g->inst.at[l.inst].kind == INST_STORE && f->loaded[f->g->inst.at[l.inst].param])
      return true;
  }
  return false;
}

/* What follows a loop for the threads that have shared it. */
static void close_group(Flat *f, const Block *b, const Block *c) {
  Map done = {0};
  put_combines(f, b, c, false, &done);
  map_free(ctx_base(f->g->ctx), &done);
  bool inside = false; /* of a group loop: its threads are not together here */
  for (const Block *p = b; p && p->range; p = p->parent) inside |= shared_by_group(f, p);
  bool grid = f->g->inst.at[c->loop].flags & LOOP_PARALLEL; /* each block has its own */
  if (!inside && !grid && !c->fenced && stores_for_others(f, c, false))
    add(f, (Inst){.kind = INST_FENCE, .src = {-1, -1, -1}});
}

/* A thread that stores for its group waits until the others have read what may be the same memory. */
static void open_store(Flat *f, int inst, const Block *b) {
  if (f->g->inst.at[inst].kind != INST_STORE) return;
  for (; b && b->range; b = b->parent)
    if (shared_by_group(f, b)) return;
  for (int i = f->out.n; i-- > 0;) {
    int kind = f->out.at[i].kind;
    if (kind == INST_COMBINE && f->loaded[f->g->inst.at[inst].param]) break; /* shuffles order no memory */
    if (kind == INST_COMBINE || kind == INST_FENCE || kind == INST_STORE) return;
    if (kind == INST_LOAD || kind == INST_LOOP || kind == INST_END) break;
  }
  add(f, (Inst){.kind = INST_FENCE, .src = {-1, -1, -1}});
}

/* ---- rows of edges ----
 *
 * Rows of a graph are taken in the order of their lengths, which lies behind the row pointers (see ENDPOINT):
 *
 *   for i .. : v = order[i]; begin, end = rowptr[v], rowptr[v+1]   if end - begin <= hub: the row; where a kernel walks
 *                                                                  edges in and out, if both are so few
 *
 * and, in the kernel of long rows, whose grid is `workers`:
 *
 *   n = longer[hub]
 *   for i = worker, worker + workers ..  n: v = order[i]; the row
 *
 * Where a kernel walks rows of several arrays, the long rows of each follow one another, and those that were long in an
 * array before are left out. `hub` grows with the mean length of the rows, up to a limit.
 *
 * Rows of other arrays are taken in their own order, and the long ones are looked for: the worker has the rows w,
 * w + workers, w + 2 workers ..:
 *
 *   n = how many of them are long                           counted by all threads of the group
 *   for k in n: v = the first long one behind the last v    found by all threads
 *     the row
 */

static int add_once(Flat *f, int begin, int end) {
  Inst like = {.kind = INST_LOOP, .dtype = POLY_INT64, .src = {-1, -1, -1}};
  return add_loop(f, &like, begin, end, LOOP_ONCE);
}

static const Block *rows_block(const Codegen *g) {
  const Block *rows = g->body;
  while (rows->parent != g->top) rows = rows->parent;
  return rows;
}

static int add_row_load(Flat *f, int index, int param) {
  const Codegen *g = f->g;
  PolyDType d = POLY_INT32;
  for (int i = 0; i < g->inst.n; i++)
    if (g->inst.at[i].kind == INST_LOAD && g->inst.at[i].param == param) d = (PolyDType)g->inst.at[i].dtype;
  Inst in = {.kind = INST_LOAD, .dtype = (uint8_t)d, .src = {index, -1, -1}, .param = param, .stride = STRIDE_NONE};
  int v = add(f, in);
  return d == POLY_INT64 ? v : add_alu(f, OP_CAST, POLY_INT64, v, -1, -1);
}

/* Where the number of rows is. */
static int rows_count(const Flat *f) { return f->place[f->g->inst.at[rows_block(f->g)->loop].src[1]]; }

/* Element `index` of the table behind the row pointers that array k of the kernel's has. */
static int add_table_load(Flat *f, int index, int k) {
  int past = add_index(f, OP_ADD, rows_count(f), add_const(f, 1));
  return add_row_load(f, add_index(f, OP_ADD, past, index), f->g->rowptr[k]);
}

/* Row i in the order of lengths, if there is one. */
static int add_row(Flat *f, int i) { return f->g->by_length ? add_table_load(f, i, 0) : i; }

/* As a power of two, the most edges of a row that is not long. */
static int add_hub_log(Flat *f) {
  const Hubs *hubs = &f->g->hubs;
  int log = 0;
  while (1 << log < hubs->edges) log++;
  int result = add_const(f, log);
  if (!f->g->by_length) return result;
  int rows = rows_count(f), zero = add_const(f, 0), one = add_const(f, 1);
  int twice = add_index(f, OP_SHL, add_row_load(f, rows, f->g->rowptr[0]), one);
  for (; 1 << log < hubs->most; log++) {
    int more = add_alu(f, OP_CMPLT, POLY_BOOL, add_index(f, OP_SHL, rows, add_const(f, log)), twice, -1);
    result = add_index(f, OP_ADD, result, add_alu(f, OP_WHERE, POLY_INT64, more, one, zero));
  }
  return result;
}

static int add_hub_edges(Flat *f) { return add_index(f, OP_SHL, add_const(f, 1), add_hub_log(f)); }

/* Leaves out rows that are the other kernel's. */
static int open_row(Flat *f) {
  int most = -1;
  for (int k = 0; k < f->g->nragged; k++) {
    const Inst *edges = &f->g->inst.at[f->g->ragged[k]];
    int degree = add_index(f, OP_SUB, f->place[edges->src[1]], f->place[edges->src[0]]);
    most = k ? add_index(f, OP_MAX, most, degree) : degree;
  }
  return add_once(f, most, add_index(f, OP_ADD, add_hub_edges(f), add_const(f, 1)));
}

/* Are the bounds of the row known before line i of b? */
static bool row_known(const Flat *f, const Block *b, int i) {
  for (; i < b->line.n; i++) {
    for (int k = 0; k < f->g->nragged && b->line.at[i].inst >= 0; k++) {
      const Inst *edges = &f->g->inst.at[f->g->ragged[k]];
      if (b->line.at[i].inst == edges->src[0] || b->line.at[i].inst == edges->src[1]) return false;
    }
  }
  return true;
}

static int add_acc(Flat *f, Op op) {
  return add(f, (Inst){.kind = INST_ACC, .dtype = POLY_INT64, .op = (uint16_t)op, .src = {-1, -1, -1}});
}

static void add_to_acc(Flat *f, int acc, int value) {
  Inst in = {.kind = INST_UPDATE, .dtype = POLY_INT64, .op = f->out.at[acc].op, .src = {acc, value, -1}};
  add(f, in);
}

/* What an instruction of the rows' loop gives for another row. */
static int add_for_row(Flat *f, int inst, int row) {
  const Block *rows = rows_block(f->g);
  if (inst == rows->loop) return row;
  if (f->home[inst] != rows) return f->place[inst];
  Inst in = f->g->inst.at[inst];
  for (int i = 0; i < 3; i++)
    if (in.src[i] >= 0) in.src[i] = add_for_row(f, in.src[i], row);
  return add(f, in);
}

/* The edges of a row in loop k of the kernel's. */
static int add_degree(Flat *f, int row, int k) {
  const Inst *loop = &f->g->inst.at[f->g->ragged[k]];
  if (f->g->rowptr[k] < 0) {
    int begin = add_for_row(f, loop->src[0], row);
    return add_index(f, OP_SUB, add_for_row(f, loop->src[1], row), begin);
  }
  int next = add_index(f, OP_ADD, row, add_const(f, 1)), begin = add_row_load(f, row, f->g->rowptr[k]);
  return add_index(f, OP_SUB, add_row_load(f, next, f->g->rowptr[k]), begin);
}

/* How many numbers from the worker's own on, in steps of the number of workers, lie below n. */
static int add_share(Flat *f, int worker, int n) {
  int workers = f->g->hubs.workers, left = add_index(f, OP_SUB, n, worker);
  Inst divide = {.kind = INST_ALU, .dtype = POLY_INT64, .op = OP_IDIV, .src = {-1, -1, -1}, .flags = 1};
  divide.src[0] = add_index(f, OP_ADD, left, add_const(f, workers - 1));
  divide.src[1] = add_const(f, workers);
  return add(f, divide);
}

static int open_plain(Flat *f, int end) {
  Inst plain = {.kind = INST_LOOP, .dtype = POLY_INT64, .src = {-1, -1, -1}};
  return add_loop(f, &plain, add_const(f, 0), end, 0);
}

/* Entry `at` of the long rows of all arrays, which follow one another: those of array k begin at behind[k]. *again: the
 * row was among those of an array before. Entries are clamped: what they give is taken where they are an array's own.
 */
static int add_listed_row(Flat *f, int at, int hub, const int *behind, int *again) {
  int last = add_index(f, OP_SUB, rows_count(f), add_const(f, 1)), n = f->g->nragged;
  int row = add_table_load(f, add_index(f, OP_MIN, at, last), 0), own[MAX_ROWPTRS];
  for (int k = 1; k < n; k++) {
    int from = add_index(f, OP_MIN, add_index(f, OP_SUB, at, behind[k]), last);
    from = add_index(f, OP_MAX, from, add_const(f, 0));
    own[k] = add_alu(f, OP_CMPLE, POLY_BOOL, behind[k], at, -1);
    row = add_alu(f, OP_WHERE, POLY_INT64, own[k], add_table_load(f, from, k), row);
  }
  for (int k = 1; k < n; k++) {
    int met = add_alu(f, OP_CMPLT, POLY_BOOL, hub, add_degree(f, row, k - 1), -1);
    met = add_alu(f, OP_AND, POLY_BOOL, own[k], met, -1);
    *again = k > 1 ? add_alu(f, OP_OR, POLY_BOOL, *again, met, -1) : met;
  }
  return row;
}

/* Opens the loops over the worker's long rows: from the table .. Returns how many. */
static int open_listed_rows(Flat *f, int worker, int *loop, int *row) {
  int n = f->g->nragged, log = add_hub_log(f), behind[MAX_ROWPTRS], all = -1, again = -1;
  for (int k = 0; k < n; k++) {
    int count = add_table_load(f, add_index(f, OP_ADD, rows_count(f), log), k);
    behind[k] = all;
    all = k ? add_index(f, OP_ADD, all, count) : count;
  }
  int longest = -1;
  if (f->g->rows != ROWS_LONG) { /* of one array */
    int bin = add_index(f, OP_ADD, rows_count(f), add_index(f, OP_ADD, log, add_const(f, f->g->hubs.split)));
    longest = add_table_load(f, bin, 0);
    all = f->g->rows == ROWS_MIDDLE ? add_index(f, OP_SUB, all, longest) : longest;
  }
  loop[0] = open_plain(f, add_share(f, worker, all));
  int at = add_index(f, OP_MUL, loop[0], add_const(f, f->g->hubs.workers)), one = add_const(f, 1);
  at = add_index(f, OP_ADD, at, worker);
  if (f->g->rows == ROWS_MIDDLE) at = add_index(f, OP_ADD, at, longest);
  if (n == 1) {
    *row = add_table_load(f, at, 0);
    return 1;
  }
  *row = add_listed_row(f, at, add_index(f, OP_SHL, one, log), behind, &again);
  loop[1] = add_once(f, add_alu(f, OP_WHERE, POLY_INT64, again, one, add_const(f, 0)), one);
  return 2;
}

/* Over the worker's long rows, those behind `behind` (-1: all): how many there are (ADD), or the first (MIN). */
static int add_long_rows(Flat *f, int worker, int rows, Op op, int behind) {
  Inst like = {.kind = INST_LOOP, .dtype = POLY_INT64, .src = {-1, -1, -1}};
  int acc = add_acc(f, op), one = add_const(f, 1), none = add_const(f, op == OP_MIN ? INT64_MAX : 0);
  int loop = add_loop(f, &like, add_const(f, 0), rows, LOOP_REDUCE | LOOP_GROUP);
  int row = add_index(f, OP_MUL, loop, add_const(f, f->g->hubs.workers)), most = -1;
  row = add_index(f, OP_ADD, row, worker);
  for (int k = 0; k < f->g->nragged; k++) {
    int degree = add_degree(f, row, k);
    most = k ? add_index(f, OP_MAX, most, degree) : degree;
  }
  int found = add_alu(f, OP_CMPLT, POLY_BOOL, add_const(f, f->g->hubs.edges), most, -1);
  if (behind >= 0) found = add_alu(f, OP_AND, POLY_BOOL, found, add_alu(f, OP_CMPLT, POLY_BOOL, behind, row, -1), -1);
  add_to_acc(f, acc, add_alu(f, OP_WHERE, POLY_INT64, found, op == OP_MIN ? row : one, none));
  add_end(f, loop);
  add(f, (Inst){.kind = INST_COMBINE, .dtype = POLY_INT64, .op = (uint16_t)op, .src = {acc, -1, -1}});
  return add_index(f, OP_ADD, acc, add_const(f, 0));
}

/* .. or looked for. */
static int open_found_rows(Flat *f, int worker, int *loop, int *row) {
  int mine = add_share(f, worker, rows_count(f)), count = add_long_rows(f, worker, mine, OP_ADD, -1);
  int last = add_acc(f, OP_MAX);
  loop[0] = open_plain(f, count);
  *row = add_long_rows(f, worker, mine, OP_MIN, last);
  add_to_acc(f, last, *row);
  return 1;
}

/* The lines of the output loops from b down to the body of the grid, without those loops. */
static void put_outer_lines(Flat *f, const Block *b) {
  for (const Block *next; b != f->g->body; b = next) {
    next = f->g->body;
    while (next->parent != b) next = next->parent;
    for (int i = 0; i < b->line.n; i++)
      if (b->line.at[i].inst >= 0) put(f, b->line.at[i].inst);
  }
}

/* The innermost loop of the grid has whole blocks of groups, which all work on one row: what is too much repeats the
 * first iterations and stores nothing. Bounds of the grid are known before its first loop. */
static int add_padded_end(Flat *f, const Block *b) {
  int log = 0, block = f->g->padded;
  while (1 << log < block) log++;
  int up = add_index(f, OP_ADD, f->place[f->g->inst.at[b->loop].src[1]], add_const(f, block - 1));
  int shift = add_const(f, log);
  return add_index(f, OP_SHL, add_index(f, OP_SHR, up, shift), shift);
}

static int put_padded(Flat *f, const Block *b, int padded) {
  const Inst *like = &f->g->inst.at[b->loop];
  int end = f->place[like->src[1]], loop = add_loop(f, like, f->place[like->src[0]], padded, like->flags);
  f->live = add_alu(f, OP_CMPLT, POLY_BOOL, loop, end, -1);
  int first = add_index(f, OP_AND, loop, add_const(f, MAX(f->g->strip, 1) - 1));
  f->place[b->loop] = add_alu(f, OP_WHERE, POLY_INT64, f->live, loop, first);
  return loop;
}

static int put_grid_loops(Flat *f, const Block *rows, const Block *b, int padded, int *loop) {
  if (b == rows) return 0;
  int n = put_grid_loops(f, rows, b->parent, padded, loop);
  if (b == f->g->body && padded >= 0) {
    loop[n] = put_padded(f, b, padded);
  } else {
    put(f, b->loop);
    loop[n] = f->place[b->loop];
  }
  return n + 1;
}

static void put_hubs(Flat *f) {
  const Codegen *g = f->g;
  int loop[MAX_DIMS + 4], n = 1, row;
  const Block *rows = rows_block(g);
  for (int i = 0; i < g->top->line.n; i++) {
    Line l = g->top->line.at[i];
    if (l.inst >= 0)
      put(f, l.inst);
    else if (l.child != rows)
      put_loop(f, l.child);
  }
  const Inst *like = &g->inst.at[rows->loop];
  int workers = add_const(f, g->hubs.workers), padded = g->padded ? add_padded_end(f, g->body) : -1;
  int worker = loop[0] = add_loop(f, like, add_const(f, 0), workers, LOOP_PARALLEL);
  n += put_grid_loops(f, rows, g->body, padded, loop + 1);
  n += (g->by_length ? open_listed_rows : open_found_rows)(f, worker, loop + n, &row);
  f->place[rows->loop] = row;
  put_outer_lines(f, rows);
  flatten(f, g->body);
  while (n-- > 0) add_end(f, loop[n]);
}

static void flatten(Flat *f, const Block *b) {
  bool group = f->g->group > 1, row = b == f->g->body && f->g->nragged && !f->g->rows;
  int open = -1;
  for (int i = 0; i < b->line.n && !f->failed; i++) {
    Line l = b->line.at[i];
    if (row && open < 0 && row_known(f, b, i)) open = open_row(f);
    if (l.child) {
      put_loop(f, l.child);
      if (group) close_group(f, b, l.child);
    } else {
      if (group) open_store(f, l.inst, b);
      put(f, l.inst);
    }
  }
  if (open >= 0) add_end(f, open);
}

static bool find_loaded(Flat *f) {
  const Codegen *g = f->g;
  int n = 1;
  for (int i = 0; i < g->inst.n; i++) n = MAX(n, g->inst.at[i].param + 1);
  f->loaded = arena_new(g->arena, (size_t)n * sizeof *f->loaded);
  for (int i = 0; f->loaded && i < g->inst.n; i++)
    if (g->inst.at[i].kind == INST_LOAD) f->loaded[g->inst.at[i].param] = true;
  return f->loaded != NULL;
}

bool flatten_blocks(Codegen *g, Linear *out) {
  Base *base = ctx_base(g->ctx);
  Flat f = {.g = g, .live = -1};
  f.place = arena_new(g->arena, (size_t)(g->inst.n + 1) * sizeof *f.place);
  f.failed = !f.place || !find_fused(&f) || !find_loaded(&f);
  if (g->padded && !g->rows && !f.failed) {
    int64_t n = g->body->range->src[1]->arg.i; /* constant, as in strip_of */
    f.padded = add_const(&f, (n + g->padded - 1) / g->padded * g->padded);
  }
  if (!f.failed) (g->rows ? put_hubs(&f) : flatten(&f, g->top));
  out->inst = !f.failed ? arena_new(g->arena, (size_t)(f.out.n + 1) * sizeof *out->inst) : NULL;
  out->ninst = f.out.n;
  for (int i = 0; out->inst && i < f.out.n; i++) out->inst[i] = f.out.at[i];
  vec_free(base, &f.out);
  return out->inst != NULL;
}
