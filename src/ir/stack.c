/* stack.c: a value of a loop's body at all steps at once. In: a node of the body, and what is known of the nodes below.
 * Out: the same program with one more axis in front, the steps:
 *
 *   REDUCE(MUL(EXPAND x_t, EXPAND w))  ->  REDUCE(MUL(EXPAND xs, EXPAND w)), one axis later
 *
 * This is what takes work out of a loop: what does not depend on carried values is done before it for all steps, what
 * only results need is done after it. */
#include "ir/scan.h"

#include "ir/context.h"

typedef struct Work {
  const Stacking *s;
  Walk walk;
  Map place; /* of each node in the walk: builders walk graphs themselves and renumber nodes */
  UOp **made;
} Work;

static int place_of(const Work *w, const UOp *u) {
  uint64_t at = 0;
  map_get(&w->place, (uintptr_t)u, &at);
  return (int)at;
}

static UOp *made_of(const Work *w, const UOp *u) { return w->made[place_of(w, u)]; }

/* The stacked form of a source; one from outside the loop is the same at every step. */
static UOp *lifted(const Work *w, UOp *u) {
  UOp *made = made_of(w, u), *shape[MAX_DIMS + 1] = {uop_index(u->ctx, 1)};
  if (made || u->op == OP_CONST) return made ? made : u;
  if (u->ndim == MAX_DIMS) return NULL;
  for (int i = 0; i < u->ndim; i++) shape[1 + i] = u->shape[i];
  UOp *one = uop_reshape(u, u->ndim + 1, shape);
  shape[0] = w->s->length;
  return uop_expand(one, shape);
}

static UOp *moved(const Work *w, UOp *u) {
  UOp *x = lifted(w, u->src[0]), *zero = uop_index(u->ctx, 0), *a[MAX_DIMS + 1] = {zero}, *b[MAX_DIMS + 1];
  int perm[MAX_DIMS + 1] = {0}, n = u->ndim;
  UOp *const *ints = u->src + 1;
  b[0] = u->op == OP_PAD ? zero : w->s->length;
  for (int i = 0; i < n; i++) {
    perm[1 + i] = perm_at(u, i) + 1;
    if (u->op == OP_PAD || u->op == OP_SHRINK) a[1 + i] = ints[2 * i], b[1 + i] = ints[2 * i + 1];
    if (u->op == OP_RESHAPE || u->op == OP_EXPAND) b[1 + i] = ints[i];
  }
  switch (u->op) {
  case OP_RESHAPE: return uop_reshape(x, n + 1, b);
  case OP_EXPAND: return uop_expand(x, b);
  case OP_PERMUTE: return uop_permute(x, perm);
  case OP_PAD: return uop_pad(x, a, b);
  case OP_SHRINK: return u->arg.i ? uop_under(x, b) : uop_shrink(x, a, b);
  default: return uop_flip(x, (uint32_t)u->arg.i << 1);
  }
}

/* Axis `from` becomes axis `to`. */
static UOp *move_axis(UOp *x, int from, int to) {
  int perm[MAX_DIMS], k = 0;
  if (!x) return NULL;
  for (int i = 0; i < x->ndim; i++) {
    if (i == to) perm[i] = from;
    if (i == to) continue;
    if (k == from) k++;
    perm[i] = k++;
  }
  return uop_permute(x, perm);
}

static UOp *gathered(const Work *w, UOp *u) {
  UOp *x = made_of(w, u->src[0]), *index = made_of(w, u->src[1]);
  if (x && index) return NULL;
  if (index) return uop_gather(u->src[0], index);
  return move_axis(uop_gather(move_axis(x, 0, 1), u->src[1]), u->src[1]->ndim, 0);
}

static UOp *segmented(const Work *w, UOp *u) {
  UOp *x = made_of(w, u->src[0]);
  if (!x || made_of(w, u->src[1])) return NULL;
  return move_axis(uop_segment((Op)u->arg.i, move_axis(x, 0, 1), u->src[1], u->src[4]), 1, 0);
}

static UOp *function(const Work *w, UOp *u) {
  UOp *x[3];
  FunctionRule rule = function_rule(u);
  /* their arguments have places that one more axis moves; without a rule of its own, the value's own ops have theirs */
  bool placed = rule == FUNCTION_WINDOWS || rule == FUNCTION_CONV || rule == FUNCTION_SHARES ||
                rule == FUNCTION_OTHERS || rule == FUNCTION_ROW_VARIANCE;
  if (placed) return lifted(w, u->src[0]);
  if (rule == FUNCTION_USER || rule == FUNCTION_SCATTERED || u->nsrc > 4) return NULL;
  double p = function_parameter(u);
  if (rule == FUNCTION_SOFTMAX || rule == FUNCTION_LOG_SOFTMAX) p += 1;
  bool axes = rule == FUNCTION_VARIANCE || rule == FUNCTION_DEVIATION || rule == FUNCTION_NORM ||
              rule == FUNCTION_FIRST_MAX || rule == FUNCTION_FIRST_MIN;
  if (axes) p *= 2;                                                                              /* they are bits */
  for (int k = 1; k < u->nsrc; k++) x[k - 1] = axes && k > 1 ? u->src[k] : lifted(w, u->src[k]); /* y is a number */
  return uop_function(rule, p, lifted(w, u->src[0]), u->nsrc - 1, x);
}

static UOp *joined(const Work *w, UOp *u) {
  UOp *part[UOP_MAX_PARTS];
  for (int k = 0; k < u->nsrc; k++) part[k] = lifted(w, u->src[k]);
  return uop_cat(u->nsrc, part, (int)u->arg.i + 1);
}

static UOp *stacked(const Work *w, UOp *u) {
  UOp *src[3];
  if (u->ndim == MAX_DIMS) return NULL;
  if (op_elementwise((Op)u->op)) {
    for (int k = 0; k < u->nsrc; k++) src[k] = lifted(w, u->src[k]);
    return uop_with_sources(u, src);
  }
  switch (op_info[u->op].cls) {
  case CLASS_MOVE: return moved(w, u);
  case CLASS_REDUCE: return uop_reduce((Op)u->arg.i, lifted(w, u->src[0]), (uint32_t)u->arg.j << 1);
  default: break;
  }
  switch (u->op) {
  case OP_CAT: return joined(w, u);
  case OP_GATHER: return gathered(w, u);
  case OP_SEGMENT: return segmented(w, u);
  case OP_CONTIGUOUS: return uop_contiguous(lifted(w, u->src[0]), 0);
  case OP_DETACH: return uop_detach(lifted(w, u->src[0]));
  case OP_FUNCTION: return function(w, u);
  default: return NULL;
  }
}

static bool is_stored(const UOp *u, void *user) {
  (void)user;
  return u->buffer != NULL;
}

/* Only what the root needs is stacked: what is known needs nothing. */
static UOp *stack_all(Work *w, Arena *arena, UOp *root) {
  PolyContext *ctx = w->s->ctx;
  LoopIds ids = {0};
  uint64_t *mask;
  if (!uop_walk(ctx, arena, 1, &root, is_stored, NULL, &w->walk) || !loop_masks(ctx, arena, &w->walk, &ids, &mask))
    return NULL;
  int n = w->walk.n, top = root->slot;
  bool *needed = arena_new(arena, (size_t)n + 1);
  w->made = arena_new(arena, (size_t)(n + 1) * sizeof *w->made);
  if (!needed || !w->made) return NULL;
  for (int i = 0; i < n; i++)
    if (!map_put(ctx_base(ctx), &w->place, (uintptr_t)w->walk.at[i], (uint64_t)i)) return NULL;
  uint64_t open = loop_bit(&ids, w->s->id);
  needed[top] = true;
  for (int i = n; i-- > 0;) {
    UOp *u = w->walk.at[i];
    if (!needed[i] || !(mask[i] & open)) continue;
    if (mask[i] & ~open && u->op == OP_SCAN) return NULL;
    if ((w->made[i] = w->s->known(w->s->user, u))) continue;
    for (int k = 0; k < uop_nvalue(u) && k < u->nsrc; k++) needed[place_of(w, u->src[k])] = true;
  }
  for (int i = 0; i < n; i++) {
    if (!needed[i] || !(mask[i] & open) || w->made[i]) continue;
    if (!(w->made[i] = stacked(w, w->walk.at[i]))) return NULL;
  }
  return lifted(w, root);
}

UOp *stack_value(const Stacking *s, UOp *u) {
  Arena arena = {.b = ctx_base(s->ctx)};
  Work w = {.s = s};
  UOp *v = stack_all(&w, &arena, u);
  map_free(ctx_base(s->ctx), &w.place);
  arena_free(&arena);
  return v;
}
