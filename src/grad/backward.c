/* backward.c: gradients at the API: leaves with a mark, poly_grad and poly_backward. In: handles. Out: new lazy
 * handles. The rules and the pass over the graph are in grad.c. */
#include "engine/engine.h"
#include "engine/recall.h"
#include "grad/grad.h"

static bool float_only(PolyContext *ctx, const UOp *u, const char *what) {
  if (dtype_is_float((PolyDType)u->dtype)) return true;
  return base_fail(ctx_base(ctx), POLY_ERROR_TYPE, "%s needs a floating-point tensor, not %s", what,
                   dtype_name((PolyDType)u->dtype));
}

/* The gradient that a pass starts with: 1 for a root of one element, or the one given. */
static UOp *start(PolyTensor *root, PolyTensor *gradient, const char *what) {
  PolyContext *ctx = root->ctx;
  UOp *u = root->uop;
  if (!float_only(ctx, u, what)) return NULL;
  if (gradient) {
    if (!shape_same(u, gradient->uop)) {
      uop_fail_shapes(what, u, gradient->uop);
      return NULL;
    }
    return uop_cast(uop_under(gradient->uop, u->shape), (PolyDType)u->dtype);
  }
  UOp *numel = uop_numel(u);
  if (!numel) return NULL;
  if (!uop_is_int(numel, 1)) {
    char text[256];
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "%s needs a gradient for a tensor of shape %s", what,
                     shape_text(u, text, sizeof text));
  }
  return uop_spread(uop_const(ctx, (PolyDType)u->dtype, 1), u->ndim, u->shape);
}

/* ---- leaves ---- */

/* A node of its own: interning would make one leaf of two tensors that are computed alike. */
static bool own_node(PolyTensor *t) {
  UOp *u = t->uop;
  if (u->op == OP_BUFFER || (u->op == OP_CONTIGUOUS && u->arg.i != 0)) return true;
  UOp *own = uop_contiguous(u, ctx_unique(t->ctx));
  if (!own) return false;
  handle_move(t, own);
  return true;
}

PolyStatus poly_set_requires_grad(PolyTensor *t, bool on) {
  if (!t) return POLY_ERROR_VALUE;
  PolyContext *ctx = t->ctx;
  bool ok = true;
  if (on) {
    Scope scope;
    scope_enter(ctx, &scope);
    ok = float_only(ctx, t->uop, "a gradient") && own_node(t);
    scope_leave(ctx, &scope);
  }
  if (ok) handle_require_grad(t, on);
  if (ok) t->refused = !on;
  if (ok && on && t->view) handle_renew(t); /* a leaf has memory of its own */
  return status_of(ctx, ok);
}

/* Handles with the mark, and their nodes; in the arena. */
typedef struct Leaves {
  PolyTensor **tensor;
  UOp **uop;
  int n;
} Leaves;

static bool new_leaves(Arena *arena, Leaves *out, int most) {
  out->n = 0;
  out->tensor = arena_new(arena, (size_t)(most + 1) * sizeof *out->tensor);
  out->uop = arena_new(arena, (size_t)(most + 1) * sizeof *out->uop);
  return out->tensor && out->uop;
}

static void add_leaf(Leaves *out, PolyTensor *t) {
  out->tensor[out->n] = t;
  out->uop[out->n++] = t->uop;
}

static bool marked_leaves(PolyContext *ctx, Arena *arena, Leaves *out) {
  int n = 0;
  for (PolyTensor *t = ctx->leaves; t; t = t->links[LIST_LEAF].next) n++;
  if (!new_leaves(arena, out, n)) return false;
  for (PolyTensor *t = ctx->leaves; t; t = t->links[LIST_LEAF].next) add_leaf(out, t);
  return true;
}

/* All floating-point tensors but those that refuse. */
static bool possible_leaves(PolyContext *ctx, Arena *arena, Leaves *out) {
  if (!new_leaves(arena, out, ctx->ntensor)) return false;
  for (PolyTensor *t = ctx->tensors; t; t = t->next)
    if (!t->refused && !t->held && dtype_is_float((PolyDType)t->uop->dtype)) add_leaf(out, t);
  return true;
}

/* ---- implied gradients: those of tensors that did not ask for one ---- */

/* So often an implied gradient is added to without anybody reading it; then it goes, since each addition keeps the
 * program of one more step. */
enum { IMPLIED_MOST = 16 };

/* Is there a tensor on this node, and do all of them refuse a gradient? */
static bool is_refused(const UOp *u) {
  const PolyTensor *t = u->handle;
  while (t && (t->refused || t->held)) t = t->links[LIST_NODE].next;
  return u->handle && !t;
}

/* Is the value made of something that may have a gradient, rather than of constants that any other program may contain
 * too, or of tensors that refuse one? */
static bool *made_values(Arena *arena, const Walk *walk) {
  bool *made = arena_new(arena, (size_t)(walk->n + 1) * sizeof *made);
  for (int i = 0; made && i < walk->n; i++) {
    const UOp *u = walk->at[i];
    made[i] = (u->buffer || node_is_own(u) || u->op == OP_RANDOM) && !is_refused(u);
    for (int k = 0; k < u->nsrc && !made[i] && u->op != OP_DETACH; k++) made[i] = made[u->src[k]->slot];
  }
  return made;
}

static bool takes_implied(const PolyTensor *t) {
  return !t->requires_grad && !t->refused && !t->held && t->implied >= 0 && dtype_is_float((PolyDType)t->uop->dtype);
}

/* Leaves with the mark first, `marked` of them, then all other floating-point tensors that root is computed from. */
static bool leaves_of(PolyContext *ctx, Arena *arena, UOp *root, Leaves *out, int *marked) {
  Walk walk;
  bool *made = uop_walk(ctx, arena, 1, &root, grad_is_detached, NULL, &walk) ? made_values(arena, &walk) : NULL;
  if (!made) return false;
  int n = 0;
  for (PolyTensor *t = ctx->leaves; t; t = t->links[LIST_LEAF].next) n++;
  for (int i = 0; i < walk.n; i++)
    for (PolyTensor *t = walk.at[i]->handle; t; t = t->links[LIST_NODE].next) n++;
  if (!new_leaves(arena, out, n)) return false;
  for (PolyTensor *t = ctx->leaves; t; t = t->links[LIST_LEAF].next) add_leaf(out, t);
  *marked = out->n;
  for (int i = 0; i < walk.n; i++)
    for (PolyTensor *t = walk.at[i]->handle; made[i] && t; t = t->links[LIST_NODE].next)
      if (takes_implied(t)) add_leaf(out, t);
  return true;
}

bool poly_requires_grad(PolyTensor *t) {
  if (!t) return false;
  if (t->requires_grad) return true;
  Arena arena = {.b = ctx_base(t->ctx)};
  Leaves leaves;
  bool any = marked_leaves(t->ctx, &arena, &leaves) && leaves.n && grad_reaches(t->ctx, t->uop, leaves.n, leaves.uop);
  arena_free(&arena);
  return any;
}

/* ---- gradients ---- */

/* A gradient that did not arrive is zero, unless what it would have gone through is not known any more. */
static bool check_missing(PolyContext *ctx, Arena *arena, UOp *root, int n, UOp *const *node, UOp *const *result) {
  bool all = true, *met = arena_new(arena, (size_t)(n + 1) * sizeof *met);
  for (int k = 0; k < n; k++) all &= result[k] != NULL;
  if (!met || all || !grad_is_cut(ctx, root)) return met;
  if (!grad_depends(ctx, root, n, node, met)) return false;
  for (int k = 0; k < n; k++) {
    char shape[256];
    if (!result[k] && !met[k])
      return base_fail(ctx_base(ctx), POLY_ERROR_RUNTIME,
                       "whether target %d (shape %s) has an influence is not known any more: a tensor on the way was "
                       "assigned so often, without anybody reading it, that its history was dropped",
                       k, shape_text(node[k], shape, sizeof shape));
  }
  return true;
}

static bool grad_handles(PolyTensor *root, PolyTensor *gradient, PolyTensor *const *targets, int n, PolyTensor **out) {
  PolyContext *ctx = root->ctx;
  Arena arena = {.b = ctx_base(ctx)};
  UOp **node = arena_new(&arena, (size_t)(n + 1) * sizeof *node);
  UOp **result = arena_new(&arena, (size_t)(n + 1) * sizeof *result);
  bool ok = node && result;
  for (int k = 0; ok && k < n; k++) {
    node[k] = targets[k]->uop;
    ok = float_only(ctx, node[k], "a gradient");
  }
  ok = ok && grad_build(ctx, root->uop, start(root, gradient, "grad"), n, node, result);
  ok = ok && check_missing(ctx, &arena, root->uop, n, node, result);
  for (int k = 0; ok && k < n; k++) {
    out[k] = tensor_wrap(ctx, result[k] ? result[k] : uop_zeros_like(node[k]));
    ok = out[k] != NULL;
  }
  arena_free(&arena);
  return ok;
}

PolyStatus poly_grad(PolyTensor *root, PolyTensor *gradient, PolyTensor *const *targets, int n, PolyTensor **out) {
  for (int k = 0; k < n; k++) out[k] = NULL;
  if (!root) return POLY_ERROR_VALUE;
  for (int k = 0; k < n; k++)
    if (!targets[k]) return POLY_ERROR_VALUE;
  Scope scope;
  scope_enter(root->ctx, &scope);
  bool ok = grad_handles(root, gradient, targets, n, out);
  scope_leave(root->ctx, &scope);
  for (int k = 0; !ok && k < n; k++) {
    poly_free(out[k]);
    out[k] = NULL;
  }
  return status_of(root->ctx, ok);
}

/* Leaves that no gradient flows to, though root is computed from them: their derivative is zero. */
static bool fill_flat(PolyContext *ctx, Arena *arena, UOp *root, const Leaves *leaves, UOp **part) {
  bool all = true, *met = arena_new(arena, (size_t)(leaves->n + 1) * sizeof *met);
  for (int k = 0; k < leaves->n; k++) all &= part[k] != NULL;
  if (all) return met != NULL;
  if (!met || !grad_depends(ctx, root, leaves->n, leaves->uop, met)) return false;
  for (int k = 0; k < leaves->n; k++)
    if (!part[k] && met[k] && !(part[k] = uop_zeros_like(leaves->uop[k]))) return false;
  return true;
}

/* Adds part[k] to the gradient of each leaf: all of them or, when memory runs out, none. From `marked` on they are
 * implied. */
static bool accumulate(PolyContext *ctx, Arena *arena, const Leaves *leaves, int marked, UOp *const *part) {
  PolyTensor **sum = arena_new(arena, (size_t)(leaves->n + 1) * sizeof *sum);
  bool ok = sum != NULL;
  for (int k = 0; ok && k < leaves->n; k++) {
    if (!part[k]) continue;
    PolyTensor *old = leaves->tensor[k]->grad;
    sum[k] = held_grad(ctx, old ? uop_binary(OP_ADD, old->uop, part[k]) : part[k]);
    ok = sum[k] != NULL;
  }
  for (int k = 0; sum && k < leaves->n; k++) {
    if (!sum[k]) continue;
    PolyTensor *t = leaves->tensor[k];
    int times = k < marked ? 0 : t->implied + 1;
    if (!ok || times > IMPLIED_MOST) {
      poly_free(sum[k]);
      sum[k] = NULL;
    }
    if (!ok) continue;
    hold_grad(t, sum[k]);
    imply_grad(t, sum[k] ? times : -1);
  }
  return ok;
}

/* The gradients of leaves and stops, NULL where none flows. */
static UOp **parts_of(PolyTensor *root, UOp *seed, Arena *arena, const Leaves *leaves, int n,
                      PolyTensor *const *stops) {
  size_t size = (size_t)(leaves->n + n) + 1;
  UOp **target = arena_new(arena, size * sizeof *target), **part = arena_new(arena, size * sizeof *part);
  if (!target || !part) return NULL;
  for (int k = 0; k < leaves->n; k++) target[k] = leaves->uop[k];
  for (int k = 0; k < n; k++) target[leaves->n + k] = stops[k]->uop;
  bool ok = grad_build_until(root->ctx, root->uop, seed, leaves->n + n, target, n, target + leaves->n, part);
  return ok ? part : NULL;
}

/* The gradients of the stops go into `out`, in new handles or NULL; they are leaves to this pass. */
static bool backward(PolyTensor *root, UOp *seed, Arena *arena, bool all, int n, PolyTensor *const *stops,
                     PolyTensor **out) {
  PolyContext *ctx = root->ctx;
  Leaves leaves;
  int marked = 0;
  if (!seed || !(all ? leaves_of(ctx, arena, root->uop, &leaves, &marked) : marked_leaves(ctx, arena, &leaves)))
    return false;
  if (!all) marked = leaves.n;
  UOp **part = parts_of(root, seed, arena, &leaves, n, stops);
  bool none = !n && part;
  for (int k = 0; none && k < marked; k++) none = !part[k];
  if (none && !grad_reaches(ctx, root->uop, marked, leaves.uop)) {
    part = possible_leaves(ctx, arena, &leaves) ? parts_of(root, seed, arena, &leaves, n, stops) : NULL;
    marked = leaves.n;
  }
  if (!part) return false;
  UOp **reached = part + leaves.n;
  for (int k = 0; k < n; k++) {
    if (!reached[k] || stops[k]->uop == root->uop) continue;
    for (int i = 0; i < leaves.n; i++) /* a stop that is a leaf gets its gradient from the caller */
      if (leaves.uop[i] == stops[k]->uop) part[i] = NULL;
    if (!(out[k] = tensor_wrap(ctx, reached[k]))) return false;
  }
  if (!fill_flat(ctx, arena, root->uop, &leaves, part) || !accumulate(ctx, arena, &leaves, marked, part)) return false;
  root->consumed = true;
  return true;
}

static PolyStatus run_backward(PolyTensor *root, PolyTensor *gradient, bool all, PolyTensor *const *stops, int n,
                               PolyTensor **out) {
  for (int k = 0; k < n; k++) out[k] = NULL;
  if (!root) return POLY_ERROR_VALUE;
  for (int k = 0; k < n; k++)
    if (!stops[k]) return POLY_ERROR_VALUE;
  PolyContext *ctx = root->ctx;
  Arena arena = {.b = ctx_base(ctx)};
  Scope scope;
  scope_enter(ctx, &scope);
  bool ok = backward(root, start(root, gradient, "backward"), &arena, all, n, stops, out);
  scope_leave(ctx, &scope);
  arena_free(&arena);
  for (int k = 0; !ok && k < n; k++) {
    poly_free(out[k]);
    out[k] = NULL;
  }
  return status_of(ctx, ok);
}

PolyStatus poly_backward_until(PolyTensor *root, PolyTensor *gradient, PolyTensor *const *stops, int n,
                               PolyTensor **out) {
  return run_backward(root, gradient, false, stops, n, out);
}

static bool backward_now(PolyTensor *root) { return run_backward(root, NULL, false, NULL, 0, NULL) == POLY_OK; }
static bool backward_all_now(PolyTensor *root) { return run_backward(root, NULL, true, NULL, 0, NULL) == POLY_OK; }

/* A step that came before leaves the pass to what follows it; gradients that are implied would go there in any case. */
static PolyStatus backward_or_later(PolyTensor *root, PolyTensor *gradient, bool all) {
  Recalled put_off = root && !gradient ? recall_defer(root, all ? backward_all_now : backward_now) : RECALL_NOT;
  if (put_off != RECALL_NOT) return status_of(root->ctx, put_off == RECALLED);
  return run_backward(root, gradient, all, NULL, 0, NULL);
}

PolyStatus poly_backward(PolyTensor *root, PolyTensor *gradient) { return backward_or_later(root, gradient, false); }

PolyStatus poly_backward_all(PolyTensor *root, PolyTensor *gradient) { return backward_or_later(root, gradient, true); }

/* Everything is a function of the elements of an empty tensor. */
bool poly_depends_on(PolyTensor *root, PolyTensor *target) {
  if (!root || !target || root->ctx != target->ctx) return false;
  bool met = false;
  return uop_numel_max(target->uop) == 0 || (grad_depends(root->ctx, root->uop, 1, &target->uop, &met) && met);
}

enum { NEAR = 128 };

/* Is a leaf among the nodes nearest to the root? The last layer of a network has some, so that nothing need be walked.
 */
static bool leaf_is_near(const UOp *root) {
  const UOp *node[NEAR] = {root};
  for (int i = 0, n = 1; i < n; i++) {
    for (const PolyTensor *t = node[i]->handle; t; t = t->links[LIST_NODE].next)
      if (t->requires_grad) return true;
    if (grad_is_detached(node[i], NULL)) continue;
    for (int k = 0; k < node[i]->nsrc && n < NEAR; k++) node[n++] = node[i]->src[k];
  }
  return false;
}

bool poly_depends_on_leaves(PolyTensor *root) {
  if (!root) return false;
  if (leaf_is_near(root->uop)) return true;
  Arena arena = {.b = ctx_base(root->ctx)};
  Leaves leaves;
  bool any = false, ok = marked_leaves(root->ctx, &arena, &leaves);
  bool *met = ok ? arena_new(&arena, (size_t)(leaves.n + 1) * sizeof *met) : NULL;
  ok = met && grad_depends(root->ctx, root->uop, leaves.n, leaves.uop, met);
  for (int k = 0; ok && k < leaves.n && !any; k++) any = met[k];
  arena_free(&arena);
  return any || (ok && grad_had_leaf(root->ctx, root->uop));
}
