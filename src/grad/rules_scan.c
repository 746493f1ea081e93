/* rules_scan.c: the gradient of a loop over steps: a loop in the other direction. In: a SCAN and the gradients of its
 * results. Out: those of its first values, stacked inputs and values from outside.
 *
 *   for t: h = f(h, x[t], w)      ->      for t, backwards: gh, gx[t], gw_t = gradients of f at h[t], x[t]
 *
 * The body is differentiated by the same rules as any graph. What the gradient needs of the forward body it gets as
 * stacked inputs: the forward loop stores such values at every step. What is cheap to make of those, or in a loop that
 * recomputes everything but the carried values, is computed again. The gradient of a value from outside is a sum over
 * all steps: where that is a sum by itself, as for the weight of a product, it is taken over the rows of all steps at
 * once, behind the loop; any other is carried along. */
#include "grad/rules.h"

#include "ir/context.h"
#include "ir/scan.h"

typedef struct Seed {
  UOp *root; /* node of the forward body */
  UOp *seed; /* its gradient in the backward body */
  UOp *rows; /* and at every step */
} Seed;

typedef VEC(Seed) SeedList;

typedef struct Back {
  PolyContext *ctx;
  Arena arena;
  UOp *scan;
  Scan s;
  const bool *need; /* by source of the SCAN */
  /* gradients that arrive from outside, for each carried value: at the end, and at the very first value */
  UOp **last, **direct;
  bool *active;  /* carried values that a gradient flows along */
  UOp **seed;    /* their gradients in the backward body */
  SeedList rows; /* gradients of stacked results */
  int64_t id;    /* of the provisional arguments of the backward body */
  int nargument;
  /* what the body hands on, by argument of the forward body and then by free value; NULL: zero */
  UOp **target, **grad;
  int ntarget;
  /* the backward loop in the making */
  NodeList carry, first, x, from, to, out; /* carried, first values, rows; what is replaced by what; what it gives */
} Back;

static UOp *argument(Back *b, const UOp *like) {
  return uop_argument(b->ctx, b->id, b->nargument++, (PolyDType)like->dtype, like->ndim, like->shape);
}

static bool push(Back *b, NodeList *list, UOp *u) { return u && vec_push(ctx_base(b->ctx), list, u); }

static bool add_to(UOp **sum, UOp *g) {
  *sum = *sum ? add(*sum, g) : g;
  return *sum != NULL;
}

/* ---- gradients of the results ---- */

static bool seed_rows(Back *b, UOp *root, UOp *g) {
  Seed s = {root, argument(b, root), g};
  return s.seed && g && vec_push(ctx_base(b->ctx), &b->rows, s);
}

static bool take_result(Back *b, UOp *u, UOp *g) {
  int k = (int)u->arg.i;
  switch (u->op) {
  case OP_FINAL: return add_to(&b->last[k], g);
  case OP_STACKED: return seed_rows(b, u->src[1], g);
  default:
    return seed_rows(b, b->s.out[k], scan_states_part(g, true, b->s.reverse)) &&
           add_to(&b->direct[k], scan_states_end(g, false, b->s.reverse));
  }
}

/* ---- the body ---- */

static bool is_float(const UOp *u) { return dtype_is_float((PolyDType)u->dtype); }

/* Arguments and free values of the forward body that a gradient may flow to. Others are NULL. */
static bool list_targets(Back *b) {
  const Scan *s = &b->s;
  int nargument = s->ncarry + s->nx;
  b->ntarget = nargument + s->nfree;
  size_t n = (size_t)b->ntarget + 1;
  b->target = arena_new(&b->arena, n * sizeof *b->target);
  b->grad = arena_new(&b->arena, n * sizeof *b->grad);
  if (!b->target || !b->grad) return false;
  for (int k = 0; k < nargument; k++) {
    bool row = k >= s->ncarry;
    const UOp *like = b->scan->src[k];
    if (!is_float(like) || (row && !b->need[k])) continue;
    b->target[k] = uop_argument(b->ctx, s->id, k, (PolyDType)like->dtype, like->ndim - row, like->shape + row);
    if (!b->target[k]) return false;
  }
  for (int k = 0; k < s->nfree; k++)
    if (b->need[nargument + s->nout + k]) b->target[nargument + k] = s->free[k];
  return true;
}

/* One pass over the body: the gradients of all targets. A gradient ends at values from outside. */
static bool differentiate(Back *b) {
  const Scan *s = &b->s;
  size_t n = (size_t)(s->ncarry + b->rows.n + b->ntarget) + 1;
  UOp **root = arena_new(&b->arena, n * sizeof *root), **seed = arena_new(&b->arena, n * sizeof *seed);
  UOp **target = arena_new(&b->arena, n * sizeof *target), **out = arena_new(&b->arena, n * sizeof *out);
  if (!root || !seed || !target || !out) return false;
  int nroot = 0, m = 0;
  for (int k = 0; k < s->ncarry; k++)
    if (b->active[k]) root[nroot] = s->out[k], seed[nroot++] = b->seed[k];
  for (int k = 0; k < b->rows.n; k++) root[nroot] = b->rows.at[k].root, seed[nroot++] = b->rows.at[k].seed;
  for (int k = 0; k < b->ntarget; k++)
    if (b->target[k]) target[m++] = b->target[k];
  if (!grad_build_many(b->ctx, nroot, root, seed, m, target, s->nfree, s->free, out)) return false;
  m = 0;
  for (int k = 0; k < b->ntarget; k++) b->grad[k] = b->target[k] ? out[m++] : NULL;
  return true;
}

/* A gradient that reaches a carried value goes on to the step before: until no other is reached. */
static bool build_body(Back *b) {
  const Scan *s = &b->s;
  for (int k = 0; k < s->ncarry; k++) b->active[k] = b->last[k] != NULL;
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < s->ncarry; k++)
      if (b->active[k] && !b->seed[k] && !(b->seed[k] = argument(b, s->init[k]))) return false;
    if (!differentiate(b)) return false;
    for (int k = 0; k < s->ncarry; k++) {
      if (!b->grad[k] || b->active[k]) continue;
      b->active[k] = changed = true;
    }
  }
  return true;
}

/* ---- values of the forward body ---- */

typedef struct Forward {
  Walk walk;
  bool *inside; /* of the backward body: depends on a gradient, or is inside an inner loop */
  bool *open;   /* of the forward body: depends on its arguments */
  bool *wanted; /* read by the backward body */
  bool *wide;   /* better computed again than stored: see scan_is_wide */
} Forward;

/* Is it cheaper to compute than to store and load? */
static bool is_cheap(const UOp *u) {
  if (op_info[u->op].cls == CLASS_MOVE) return true;
  if (op_elementwise((Op)u->op)) return op_info[u->op].cost == COST_SIMPLE || op_info[u->op].cost == COST_ROUNDING;
  return u->op == OP_DETACH || u->op == OP_CONTIGUOUS || u->op == OP_FUNCTION;
}

static bool look_forward(Back *b, int nroot, UOp *const *root, Forward *f) {
  LoopIds ids = {0};
  uint64_t *mask, inner = 0;
  if (!uop_walk(b->ctx, &b->arena, nroot, root, NULL, NULL, &f->walk) ||
      !loop_masks(b->ctx, &b->arena, &f->walk, &ids, &mask))
    return false;
  size_t n = (size_t)f->walk.n + 1;
  f->inside = arena_new(&b->arena, n);
  f->open = arena_new(&b->arena, n);
  f->wanted = arena_new(&b->arena, n);
  f->wide = arena_new(&b->arena, n);
  double *weight = arena_new(&b->arena, n * sizeof *weight);
  if (!f->inside || !f->open || !f->wanted || !f->wide || !weight) return false;
  for (int i = 0; i < f->walk.n; i++)
    if (f->walk.at[i]->op == OP_SCAN) inner |= loop_bit(&ids, f->walk.at[i]->arg.i);
  uint64_t back = loop_bit(&ids, b->id) | (inner & ~loop_bit(&ids, b->s.id)), forward = loop_bit(&ids, b->s.id);
  for (int i = 0; i < f->walk.n; i++) {
    f->inside[i] = mask[i] & back;
    f->open[i] = mask[i] & forward;
    f->wide[i] = scan_is_wide(f->walk.at[i], weight);
  }
  return true;
}

/* Is u a part of what it is made of? */
static bool is_part(const UOp *u) {
  return u->op == OP_SHRINK && uop_numel_max((UOp *)(uintptr_t)u) < uop_numel_max(u->src[0]);
}

/* Reads from the backward body: through what is broadcast or read at edges, which is computed again. */
static void mark_wanted(Forward *f, int nroot, UOp *const *root) {
  bool *reached = f->wanted;
  for (int r = 0; r < nroot; r++) reached[root[r]->slot] = true;
  for (int i = f->walk.n; i-- > 0;) {
    const UOp *u = f->walk.at[i];
    bool wide = f->wide[i] && op_info[u->op].cls != CLASS_LEAF && !is_part(u);
    bool through = f->inside[i] || wide || u->op == OP_DETACH;
    if (!reached[i] || !through) continue;
    for (int k = 0; k < uop_nvalue(u) && k < u->nsrc; k++) reached[u->src[k]->slot] = true;
    reached[i] = false;
  }
}

/* Is u there at every step, or cheap to make of what is? */
static bool is_made_cheaply(const Forward *f, const UOp *u, const bool *there) {
  bool made = u->op == OP_ARGUMENT || is_cheap(u) || f->wide[u->slot];
  for (int k = 0; made && k < uop_nvalue(u) && k < u->nsrc; k++) made = there[u->src[k]->slot];
  return made || !f->open[u->slot];
}

/* What is there or cheap at every step where `kept` is stored. decide: what is read and is not becomes part of that. */
static void find_there(const Forward *f, bool *kept, bool *there, bool decide) {
  for (int i = 0; i < f->walk.n; i++) {
    there[i] = is_made_cheaply(f, f->walk.at[i], there);
    if (decide) kept[i] = !there[i] && f->wanted[i] && !f->inside[i];
    there[i] |= kept[i];
  }
}

/* Elements of stored values that are cheap to make of what is there; drop: they are stored no longer. */
static double spared(const Forward *f, bool *kept, const bool *there, bool drop) {
  double n = 0;
  for (int i = 0; i < f->walk.n; i++) {
    if (!kept[i] || !is_made_cheaply(f, f->walk.at[i], there)) continue;
    n += (double)uop_numel_max(f->walk.at[i]);
    kept[i] = !drop;
  }
  return n;
}

/* Where several stored values are cheap to make of another one, that is stored instead if it is no larger than they are
 * together: of the candidate n of a GRU, h - n and 1 - n * n are read. */
static bool keep_common(Back *b, const Forward *f, bool *kept, bool *there) {
  enum { LOOK = 1 << 22 }; /* nodes that are looked at, all in all */
  int turns = LOOK / (f->walk.n + 1);
  bool *below = arena_new(&b->arena, (size_t)f->walk.n + 1);
  if (!below) return false;
  for (int i = f->walk.n; i-- > 0;) {
    const UOp *u = f->walk.at[i];
    bool through = (kept[i] || below[i]) && is_cheap(u);
    for (int k = 0; through && k < uop_nvalue(u) && k < u->nsrc; k++) below[u->src[k]->slot] = true;
  }
  for (int i = 0; i < f->walk.n && turns > 0; i++) {
    if (!below[i] || there[i] || f->inside[i]) continue;
    turns--;
    kept[i] = there[i] = true;
    find_there(f, kept, there, false);
    kept[i] = false;
    if (spared(f, kept, there, false) >= (double)uop_numel_max(f->walk.at[i])) {
      spared(f, kept, there, true);
      kept[i] = true;
    }
    find_there(f, kept, there, false);
  }
  return true;
}

/* Which values are stored at every step: those that are read and cannot be made cheaply of others that are there.
 * Arguments are there. */
static bool list_stored(Back *b, const Forward *f, NodeList *out) {
  size_t n = (size_t)f->walk.n + 1;
  bool *there = arena_new(&b->arena, n), *kept = arena_new(&b->arena, n);
  if (!there || !kept) return false;
  find_there(f, kept, there, true);
  if (!keep_common(b, f, kept, there)) return false;
  for (int i = 0; i < f->walk.n; i++)
    if (kept[i] && !push(b, out, f->walk.at[i])) return false;
  return true;
}

/* The arguments of the forward body that are read, other than through stored values. */
static bool list_arguments(Back *b, const Forward *f, int nroot, UOp *const *root, NodeList *stored) {
  bool *reached = arena_new(&b->arena, (size_t)f->walk.n + 1), *ends = arena_new(&b->arena, (size_t)f->walk.n + 1);
  if (!reached || !ends) return false;
  for (int r = 0; r < nroot; r++) reached[root[r]->slot] = true;
  for (int k = 0; k < stored->n; k++) ends[stored->at[k]->slot] = true;
  for (int i = f->walk.n; i-- > 0;) {
    UOp *u = f->walk.at[i];
    if (!reached[i] || ends[i]) continue;
    for (int k = 0; k < u->nsrc; k++) reached[u->src[k]->slot] = true;
    if (u->op == OP_ARGUMENT && u->arg.i == b->s.id && !push(b, stored, u)) return false;
  }
  return true;
}

/* All rows of a value of the forward body. */
static UOp *rows_of(const Back *b, UOp *u) {
  const Scan *s = &b->s;
  if (u->op == OP_ARGUMENT && u->arg.i == s->id) {
    int k = (int)u->arg.j;
    return k >= s->ncarry ? s->xs[k - s->ncarry] : scan_states_part(uop_states(b->scan, k), false, s->reverse);
  }
  for (int k = 0; k < s->ncarry; k++)
    if (s->out[k] == u) return scan_states_part(uop_states(b->scan, k), true, s->reverse);
  return uop_stacked(b->scan, u);
}

/* Arguments of the forward body that the backward body still depends on, and stored values, become rows of it. */
static bool take_rows(Back *b, int nroot, UOp *const *root) {
  Forward f;
  NodeList read = {0};
  Base *base = ctx_base(b->ctx);
  bool ok = look_forward(b, nroot, root, &f);
  if (ok) mark_wanted(&f, nroot, root);
  if (ok && !b->s.recompute) ok = list_stored(b, &f, &read);
  ok = ok && list_arguments(b, &f, nroot, root, &read);
  for (int k = 0; ok && k < read.n; k++)
    ok = push(b, &b->x, rows_of(b, read.at[k])) && push(b, &b->from, read.at[k]) && push(b, &b->to, read.at[k]);
  vec_free(base, &read);
  return ok;
}

/* ---- the loop ---- */

/* Gives arguments their final numbers: carried values first, then rows. `to` has the nodes that they stand for. */
static bool number_arguments(Back *b, int64_t id) {
  int nrow = 0;
  for (int k = 0; k < b->to.n; k++) {
    const UOp *like = b->to.at[k];
    int at = k < b->carry.n ? k : b->carry.n + nrow++;
    b->to.at[k] = uop_argument(b->ctx, id, at, (PolyDType)like->dtype, like->ndim, like->shape);
    if (!b->to.at[k]) return false;
  }
  return true;
}

/* Carried: the gradients of carried values, then sums for values from outside that have no better form. */
static bool list_carried(Back *b) {
  const Scan *s = &b->s;
  for (int k = 0; k < s->ncarry; k++) {
    if (!b->active[k]) continue;
    UOp *g = b->grad[k] ? b->grad[k] : uop_zeros_like(s->init[k]);
    UOp *first = b->last[k] ? b->last[k] : uop_zeros_like(s->init[k]);
    if (!push(b, &b->carry, g) || !push(b, &b->first, first)) return false;
    if (!push(b, &b->from, b->seed[k]) || !push(b, &b->to, b->seed[k])) return false;
  }
  for (int k = s->ncarry + s->nx; k < b->ntarget; k++) {
    if (!b->grad[k] || scan_has_total(b->grad[k])) continue;
    UOp *sum = argument(b, b->target[k]);
    if (!push(b, &b->carry, add(sum, b->grad[k])) || !push(b, &b->first, uop_zeros_like(b->target[k]))) return false;
    if (!push(b, &b->from, sum) || !push(b, &b->to, sum)) return false;
  }
  return true;
}

/* What the body gives: new carried values, gradients of rows, sums that are taken behind the loop. */
static bool list_outputs(Back *b) {
  for (int k = 0; k < b->carry.n; k++)
    if (!push(b, &b->out, b->carry.at[k])) return false;
  for (int k = b->s.ncarry; k < b->ntarget; k++) {
    bool row = k < b->s.ncarry + b->s.nx;
    if (b->grad[k] && (row || scan_has_total(b->grad[k])) && !push(b, &b->out, b->grad[k])) return false;
  }
  return true;
}

static UOp *build_loop(Back *b) {
  for (int k = 0; k < b->rows.n; k++) {
    const Seed *s = &b->rows.at[k];
    if (!push(b, &b->x, s->rows) || !push(b, &b->from, s->seed) || !push(b, &b->to, s->seed)) return NULL;
  }
  if (!list_outputs(b) || !take_rows(b, b->out.n, b->out.at)) return NULL;
  int64_t id = ctx_unique(b->ctx);
  UOp **out = arena_new(&b->arena, (size_t)(b->out.n + 1) * sizeof *out);
  if (!out || !number_arguments(b, id)) return NULL;
  if (!uop_replace(b->ctx, &b->arena, b->out.n, b->out.at, b->from.n, b->from.at, b->to.at, out)) return NULL;
  Scan back = {.id = id,
               .reverse = !b->s.reverse,
               .recompute = b->s.recompute,
               .ncarry = b->carry.n,
               .nx = b->x.n,
               .nout = b->out.n,
               .init = b->first.at,
               .xs = b->x.at,
               .out = out,
               .length = b->s.length};
  return scan_build(b->ctx, &back);
}

/* ---- results ---- */

static bool give_results(Back *b, UOp *loop, UOp **out) {
  const Scan *s = &b->s;
  const Scan made = scan_of(loop);
  int carried = 0, given = b->carry.n;
  for (int k = 0; k < s->ncarry; k++) {
    UOp *g = b->direct[k];
    if (b->active[k] && !add_to(&g, uop_final(loop, carried++))) return false;
    if (b->need[k]) out[k] = g;
  }
  for (int k = s->ncarry; k < b->ntarget; k++) {
    bool row = k < s->ncarry + s->nx;
    if (!b->grad[k]) continue;
    UOp **to = &out[row ? k : k + s->nout];
    if (row)
      *to = scan_result(loop, made.out[given++]);
    else
      *to = scan_has_total(b->grad[k]) ? scan_total(loop, made.out[given++]) : uop_final(loop, carried++);
    if (!*to) return false;
  }
  return true;
}

static bool back_open(Back *b) {
  size_t n = (size_t)b->s.ncarry + 1;
  b->last = arena_new(&b->arena, n * sizeof *b->last);
  b->direct = arena_new(&b->arena, n * sizeof *b->direct);
  b->seed = arena_new(&b->arena, n * sizeof *b->seed);
  b->active = arena_new(&b->arena, n);
  return b->last && b->direct && b->seed && b->active && list_targets(b);
}

static void back_close(Back *b) {
  Base *base = ctx_base(b->ctx);
  vec_free(base, &b->rows);
  vec_free(base, &b->carry);
  vec_free(base, &b->first);
  vec_free(base, &b->x);
  vec_free(base, &b->from);
  vec_free(base, &b->to);
  vec_free(base, &b->out);
  arena_free(&b->arena);
}

bool grad_scan(UOp *scan, int nresult, UOp *const *result, UOp *const *g, const bool *need, UOp **out) {
  PolyContext *ctx = scan->ctx;
  Back b = {.ctx = ctx, .arena = {.b = ctx_base(ctx)}, .scan = scan, .s = scan_of(scan), .need = need};
  b.id = ctx_unique(ctx);
  bool ok = back_open(&b);
  for (int k = 0; ok && k < nresult; k++) ok = take_result(&b, result[k], g[k]);
  ok = ok && build_body(&b) && list_carried(&b);
  UOp *loop = ok ? build_loop(&b) : NULL;
  ok = loop && give_results(&b, loop, out);
  back_close(&b);
  return ok;
}
