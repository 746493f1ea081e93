/* loops.c: closes the loops over steps of a program. In: roots with SCANs in them. Out: the same roots over CLOSED and
 * RESULT nodes, which the schedule treats as routines that read and write memory, and for each loop its body as a
 * program of its own over numbered inputs.
 *
 *   STACKED(SCAN(h0, xs, h', w), h')   ->   rows of RESULT(CLOSED(h0, xs, w)),   body: h' over BUFFER -1, -2, -3
 *
 * Of a loop only what is read is left: carried values and inputs that no result depends on are gone. */
#include "schedule/loops.h"

#include "ir/context.h"
#include "ir/scan.h"

#include <string.h>

typedef struct Closing {
  PolyContext *ctx;
  Arena *arena;
  LoopVec *loops;
  Walk walk;
  Map place; /* of each node in the walk: builders walk graphs themselves and renumber nodes */
  uint64_t *mask;
  bool *needed;
  UOp **made;
  struct LoopWork **work; /* for each SCAN that is at hand */
} Closing;

/* A loop in the making. */
typedef struct LoopWork {
  UOp *scan;
  Scan parts;
  NodeList result; /* what is read of it */
  NodeList stack;  /* values of the body whose rows are results of their own */
  NodeList free;
  bool *used;   /* for each argument: something depends on it */
  bool *states; /* for each carried value: all states are kept */
  int *number;  /* of a used argument among the operands */
  Loop *loop;
} LoopWork;

static int place_of(const Closing *c, const UOp *u) {
  uint64_t at = 0;
  map_get(&c->place, (uintptr_t)u, &at);
  return (int)at;
}

/* ---- what is read of each loop ---- */

static void need_sources(Closing *c, const UOp *u) {
  int n = u->op == OP_SCAN ? scan_of(u).ncarry * 2 + scan_of(u).nx : u->nsrc;
  for (int k = 0; k < n; k++) {
    Scan s = u->op == OP_SCAN ? scan_of(u) : (Scan){0};
    const UOp *src = u->op == OP_SCAN && k >= s.ncarry + s.nx ? s.out[k - s.ncarry - s.nx] : u->src[k];
    c->needed[place_of(c, src)] = true;
  }
}

static LoopWork *work_of(Closing *c, UOp *scan) {
  int at = place_of(c, scan);
  if (c->work[at]) return c->work[at];
  LoopWork *d = c->work[at] = arena_new(c->arena, sizeof *d);
  if (!d) return NULL;
  *d = (LoopWork){.scan = scan, .parts = scan_of(scan)};
  size_t n = (size_t)(d->parts.ncarry + d->parts.nx) + 1;
  d->used = arena_new(c->arena, n);
  d->states = arena_new(c->arena, n);
  d->number = arena_new(c->arena, n * sizeof *d->number);
  return d->used && d->states && d->number ? d : NULL;
}

static bool find_results(Closing *c, int nroot, UOp *const *root) {
  for (int r = 0; r < nroot; r++) c->needed[place_of(c, root[r])] = true;
  for (int i = c->walk.n; i-- > 0;) {
    UOp *u = c->walk.at[i], *scan = scan_behind(u);
    if (!c->needed[i]) continue;
    need_sources(c, u);
    if (!scan || c->mask[i]) continue; /* that of a loop inside a body is closed with the body */
    LoopWork *d = work_of(c, scan);
    if (!d || !vec_push(ctx_base(c->ctx), &d->result, u)) return false;
  }
  return true;
}

/* ---- one loop ---- */

/* The carried value that v is before each step, or else after it; -1: none. */
static int carry_of(const LoopWork *d, const UOp *v, bool *after) {
  *after = v->op != OP_ARGUMENT || v->arg.i != d->parts.id;
  if (!*after) return v->arg.j < d->parts.ncarry ? (int)v->arg.j : -1;
  for (int k = 0; k < d->parts.ncarry; k++)
    if (d->parts.out[k] == v) return k;
  return -1;
}

/* The stacked input that v is a row of; -1: none. */
static int row_of(const LoopWork *d, const UOp *v) {
  bool row = v->op == OP_ARGUMENT && v->arg.i == d->parts.id && v->arg.j >= d->parts.ncarry;
  return row ? (int)v->arg.j - d->parts.ncarry : -1;
}

static bool sort_results(Closing *c, LoopWork *d) {
  for (int i = 0; i < d->result.n; i++) {
    const UOp *u = d->result.at[i];
    bool after;
    int k = u->op != OP_STACKED ? (int)u->arg.i : carry_of(d, u->src[1], &after);
    if (k >= 0) {
      d->used[k] = true;
      d->states[k] |= u->op != OP_FINAL;
    } else if (row_of(d, u->src[1]) < 0 && !vec_push(ctx_base(c->ctx), &d->stack, u->src[1])) {
      return false;
    }
  }
  return true;
}

/* Roots of the body: the new values of the carried values that are used, then what is stacked. */
static UOp **list_roots(Closing *c, const LoopWork *d, int *n) {
  UOp **root = arena_new(c->arena, (size_t)(d->parts.ncarry + d->stack.n + 1) * sizeof *root);
  *n = 0;
  for (int k = 0; root && k < d->parts.ncarry; k++)
    if (d->used[k]) root[(*n)++] = d->parts.out[k];
  for (int k = 0; root && k < d->stack.n; k++) root[(*n)++] = d->stack.at[k];
  return root;
}

/* Which arguments the results depend on, from step to step. */
static bool find_used(Closing *c, LoopWork *d) {
  for (bool changed = true; changed;) {
    Walk w;
    int n;
    UOp **root = list_roots(c, d, &n);
    changed = false;
    if (!root || !uop_walk(c->ctx, c->arena, n, root, NULL, NULL, &w)) return false;
    for (int i = 0; i < w.n; i++) {
      const UOp *u = w.at[i];
      if (u->op != OP_ARGUMENT || u->arg.i != d->parts.id || d->used[u->arg.j]) continue;
      d->used[u->arg.j] = changed = true;
    }
  }
  return true;
}

static bool begin_loop(Closing *c, LoopWork *d) {
  int n;
  if (d->loop) return true;
  d->loop = arena_new(c->arena, sizeof *d->loop);
  if (!d->loop || !sort_results(c, d) || !find_used(c, d)) return false;
  UOp **root = list_roots(c, d, &n);
  return root && scan_find_free(c->ctx, c->arena, d->parts.id, n, root, &d->free);
}

/* Operands by number, as the program has them. */
static UOp **list_operands(Closing *c, LoopWork *d, int *n) {
  const Scan *s = &d->parts;
  UOp **at = arena_new(c->arena, (size_t)(s->ncarry + s->nx + d->free.n + 1) * sizeof *at);
  *n = 0;
  for (int k = 0; at && k < s->ncarry + s->nx; k++) {
    if (!d->used[k]) continue;
    d->number[k] = *n;
    d->loop->ncarry += k < s->ncarry;
    d->loop->nrow += k >= s->ncarry;
    at[(*n)++] = d->scan->src[k];
  }
  for (int k = 0; at && k < d->free.n; k++) at[(*n)++] = d->free.at[k];
  d->loop->nwhole = d->free.n;
  return at;
}

static UOp *numbered(PolyContext *ctx, int number, const UOp *like) {
  return uop_make(ctx, OP_BUFFER, (PolyDType)like->dtype, (UArg){.i = -(int64_t)number - 1}, like->ndim, like->shape,
                  like->ndim, like->shape);
}

static const UOp *memory_of(const UOp *u) {
  while (u->op == OP_RESHAPE || u->op == OP_CONTIGUOUS) u = u->src[0];
  return u;
}

static UOp *copied(UOp *u) {
  return u ? uop_make(u->ctx, OP_COPY, (PolyDType)u->dtype, (UArg){0}, 1, &u, u->ndim, u->shape) : NULL;
}

/* Each root has memory of its own: what is an input, or another root too, is copied. */
static bool separate_roots(int n, UOp **root) {
  for (int r = 0; r < n; r++) {
    bool shared = op_info[memory_of(root[r])->op].cls == CLASS_LEAF;
    for (int k = 0; k < r && !shared; k++) shared = memory_of(root[k]) == memory_of(root[r]);
    if (shared && !(root[r] = copied(root[r]))) return false;
  }
  return true;
}

/* The body over numbered inputs. */
static bool close_body(Closing *c, LoopWork *d) {
  const Scan *s = &d->parts;
  Loop *l = d->loop;
  int n, nfrom = 0, all = l->ncarry + l->nrow + l->nwhole;
  UOp **root = list_roots(c, d, &n);
  UOp **from = arena_new(c->arena, (size_t)(all + 1) * sizeof *from);
  UOp **to = arena_new(c->arena, (size_t)(all + 1) * sizeof *to);
  l->root = arena_new(c->arena, (size_t)(n + 1) * sizeof *l->root);
  l->copy = arena_new(c->arena, (size_t)(l->ncarry + 1) * sizeof *l->copy);
  if (!root || !from || !to || !l->root || !l->copy) return false;
  for (int k = 0; k < s->ncarry + s->nx; k++) {
    if (!d->used[k]) continue;
    const UOp *like = d->scan->src[k];
    bool row = k >= s->ncarry;
    from[nfrom] = uop_argument(c->ctx, s->id, k, (PolyDType)like->dtype, like->ndim - row, like->shape + row);
    nfrom++;
  }
  for (int k = 0; k < d->free.n; k++) from[nfrom++] = d->free.at[k];
  for (int k = 0; k < nfrom; k++)
    if (!from[k] || !(to[k] = numbered(c->ctx, k, from[k]))) return false;
  for (int k = 0; k < l->ncarry; k++)
    if (!(l->copy[k] = copied(to[k]))) return false;
  return uop_replace(c->ctx, c->arena, n, root, nfrom, from, to, l->root) && separate_roots(n, l->root);
}

static bool add_result(Closing *c, Loop *l, int kind, int at, const UOp *like, UOp *rows) {
  UOp *shape[MAX_DIMS] = {rows};
  int ndim = like->ndim + (rows != NULL);
  for (int i = 0; i < like->ndim; i++) shape[i + (rows != NULL)] = like->shape[i];
  l->result[l->nresult] = (LoopResult){.kind = kind, .at = at};
  l->node[l->nresult] =
      uop_make(c->ctx, OP_RESULT, (PolyDType)like->dtype, (UArg){.i = l->nresult}, 1, &l->closed, ndim, shape);
  return l->node[l->nresult++] != NULL;
}

static bool add_results(Closing *c, LoopWork *d) {
  Loop *l = d->loop;
  size_t n = (size_t)(l->ncarry + d->stack.n) + 1;
  l->result = arena_new(c->arena, n * sizeof *l->result);
  l->node = arena_new(c->arena, n * sizeof *l->node);
  l->nstack = d->stack.n;
  UOp *rows = int_addc(l->count, 1);
  bool ok = l->result && l->node && rows;
  for (int k = 0; ok && k < d->parts.ncarry; k++)
    if (d->used[k])
      ok = add_result(c, l, d->states[k] ? LOOP_STATES : LOOP_FINAL, d->number[k], d->scan->src[k],
                      d->states[k] ? rows : NULL);
  for (int k = 0; ok && k < d->stack.n; k++) ok = add_result(c, l, LOOP_STACK, k, d->stack.at[k], l->count);
  return ok;
}

static bool finish_loop(Closing *c, LoopWork *d) {
  Loop *l = d->loop;
  int n;
  l->count = d->parts.length;
  l->reverse = d->parts.reverse;
  l->draft = -1;
  l->operand = list_operands(c, d, &n);
  if (!l->operand || !close_body(c, d)) return false;
  for (int k = 0; k < n; k++) l->operand[k] = c->made[place_of(c, l->operand[k])];
  l->closed = uop_make(c->ctx, OP_CLOSED, POLY_FLOAT32, (UArg){.i = c->loops->n}, n, l->operand, 0, NULL);
  return l->closed && vec_push(ctx_base(c->ctx), c->loops, l) && add_results(c, d);
}

static UOp *close_result(Closing *c, const UOp *u) {
  LoopWork *d = work_of(c, u->src[0]);
  const Loop *l = d ? d->loop : NULL;
  if (!l) return NULL;
  bool after = true;
  int k = u->op != OP_STACKED ? (int)u->arg.i : carry_of(d, u->src[1], &after);
  if (k < 0) {
    int row = row_of(d, u->src[1]), at = 0;
    if (row >= 0) return c->made[place_of(c, d->parts.xs[row])];
    while (d->stack.at[at] != u->src[1]) at++;
    return l->node[l->ncarry + at];
  }
  UOp *node = l->node[d->number[k]];
  if (u->op == OP_STATES || !d->states[k]) return node;
  return u->op == OP_FINAL ? scan_states_end(node, true, l->reverse) : scan_states_part(node, after, l->reverse);
}

/* ---- the program around them ---- */

/* What must be made before u. Of a loop: its operands, and stacked inputs that are read as results. */
static bool list_before(Closing *c, UOp *u, NodeList *out) {
  Base *b = ctx_base(c->ctx);
  out->n = 0;
  if (scan_behind(u)) return vec_push(b, out, u->src[0]);
  if (u->op != OP_SCAN) {
    for (int k = 0; k < u->nsrc; k++)
      if (!vec_push(b, out, u->src[k])) return false;
    return true;
  }
  LoopWork *d = work_of(c, u);
  if (!d || !begin_loop(c, d)) return false;
  for (int k = 0; k < d->parts.ncarry + d->parts.nx; k++)
    if ((d->used[k] || k >= d->parts.ncarry) && !vec_push(b, out, u->src[k])) return false;
  for (int k = 0; k < d->free.n; k++)
    if (!vec_push(b, out, d->free.at[k])) return false;
  return true;
}

static UOp *close_node(Closing *c, UOp *u) {
  if (u->op == OP_SCAN) return finish_loop(c, work_of(c, u)) ? u : NULL;
  if (scan_behind(u)) return close_result(c, u);
  UOp *few[16], **src = few;
  bool changed = false;
  if (u->nsrc > LEN(few) && !(src = arena_new(c->arena, (size_t)u->nsrc * sizeof *src))) return NULL;
  for (int k = 0; k < u->nsrc; k++) {
    src[k] = c->made[place_of(c, u->src[k])];
    changed |= src[k] != u->src[k];
  }
  return changed ? uop_with_sources(u, src) : u;
}

/* Depth first, with an explicit stack: what a loop needs is known only when it is reached. */
static bool close_from(Closing *c, UOp *root) {
  Base *b = ctx_base(c->ctx);
  NodeList stack = {0}, before = {0};
  bool ok = vec_push(b, &stack, root);
  while (ok && stack.n) {
    UOp *u = stack.at[stack.n - 1];
    int at = place_of(c, u), n = stack.n;
    if (!c->made[at]) {
      ok = list_before(c, u, &before);
      for (int k = 0; ok && k < before.n; k++)
        if (!c->made[place_of(c, before.at[k])]) ok = vec_push(b, &stack, before.at[k]);
      if (!ok || stack.n > n) continue;
      ok = (c->made[at] = close_node(c, u)) != NULL;
    }
    stack.n--;
  }
  vec_free(b, &stack);
  vec_free(b, &before);
  return ok;
}

static bool has_loops(const Walk *w) {
  for (int i = 0; i < w->n; i++)
    if (w->at[i]->op == OP_SCAN || w->at[i]->op == OP_ARGUMENT) return true;
  return false;
}

static bool close_all(Closing *c, int nroot, UOp *const *root, UOp **out) {
  Base *b = ctx_base(c->ctx);
  LoopIds ids = {0};
  size_t n = (size_t)c->walk.n + 1;
  c->needed = arena_new(c->arena, n);
  c->made = arena_new(c->arena, n * sizeof *c->made);
  c->work = arena_new(c->arena, n * sizeof *c->work);
  if (!c->needed || !c->made || !c->work || !loop_masks(c->ctx, c->arena, &c->walk, &ids, &c->mask)) return false;
  for (int i = 0; i < c->walk.n; i++)
    if (!map_put(b, &c->place, (uintptr_t)c->walk.at[i], (uint64_t)i)) return false;
  for (int r = 0; r < nroot; r++)
    if (c->mask[place_of(c, root[r])])
      return base_fail(
          b, POLY_ERROR_RUNTIME,
          "a value inside the body of a loop over steps is needed outside of it: let the body give it as a "
          "result");
  bool ok = find_results(c, nroot, root);
  for (int r = 0; ok && r < nroot; r++) ok = close_from(c, root[r]);
  for (int r = 0; ok && r < nroot; r++) out[r] = c->made[place_of(c, root[r])];
  for (int i = 0; i < c->walk.n; i++) {
    LoopWork *d = c->work[i];
    if (!d) continue;
    vec_free(b, &d->result);
    vec_free(b, &d->stack);
    vec_free(b, &d->free);
  }
  return ok;
}

bool loops_close(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, LoopVec *loops, UOp **out) {
  Closing c = {.ctx = ctx, .arena = arena, .loops = loops};
  memcpy(out, root, (size_t)nroot * sizeof *out);
  if (!uop_walk(ctx, arena, nroot, root, NULL, NULL, &c.walk)) return false;
  bool ok = !has_loops(&c.walk) || close_all(&c, nroot, root, out);
  map_free(ctx_base(ctx), &c.place);
  return ok;
}
