/* trace.c: the trace of a step, from poly_trace_begin to poly_trace_end. In: the tensors that live when it begins, and
 * what the traced function does with them. Out: for step.c, which tensors are state of the step.
 *
 * A step must depend on the tensors that it reads, not on what happened to be computed when it was traced. Nodes are
 * interned, so `w * 2`, computed and kept before the trace, and `w * 2` in the traced function are one node, and if w
 * changes the first keeps its value while the second follows. So while a trace is open
 *
 * - every tensor has a node of its own: one that is an expression is called CONTIGUOUS(expression) and is a leaf of the
 *   step; an expression that the function builds is computed in each run (canon_build_step);
 * - each input is called by a BUFFER of its own on the same memory: other tensors on that memory are other tensors;
 * - tensors that the function made are no state of the step, also if it changes them in place;
 * - values that differ from run to run cannot be read.
 *
 * When the trace ends all tensors get their own nodes back, and what was computed from an input can no longer be read:
 * there is no run that it would be the value of. */
#include "engine/engine.h"

static bool is_value(const UOp *u, void *user) {
  (void)user;
  return u->buffer || u->op == OP_BUFFER || u->op == OP_BIND;
}

/* ---- beginning ---- */

/* The first name counts: a tensor that is renamed twice goes back to it. */
static bool rename_handle(PolyTensor *t, UOp *during) {
  Tracing *tr = t->ctx->tracing;
  if (!during) return false;
  if (t->uop->buffer && !during->buffer) node_set_buffer(during, buffer_retain(t->uop->buffer));
  if (!t->renamed) {
    if (!vec_push(&t->ctx->base, &tr->renamed, (Renamed){0})) return false;
    t->renamed = tr->renamed.n;
    tr->renamed.at[t->renamed - 1].before = uop_retain(t->uop);
    tr->renamed.at[t->renamed - 1].moves = t->moves;
  }
  Renamed *r = &tr->renamed.at[t->renamed - 1];
  UOp *old = r->during;
  r->during = uop_retain(during);
  uop_release(old);
  handle_set(t, during);
  return true;
}

/* An own node that another handle has as well. The leaf that gradients are collected at keeps its node. */
static bool rename_shared(PolyContext *ctx, Map *seen) {
  Base *b = &ctx->base;
  for (int leaves = 1; leaves >= 0; leaves--)
    for (PolyTensor *t = ctx->tensors; t; t = t->next) {
      UOp *u = t->uop;
      if (t->requires_grad != (leaves == 1) || !node_is_own(u)) continue;
      bool shared = map_get(seen, (uintptr_t)u, NULL);
      if (!shared && !map_put(b, seen, (uintptr_t)u, 1)) return false;
      if (!shared || t->requires_grad) continue;
      bool plain = u->op == OP_BUFFER && u->buffer;
      UOp *n = plain ? node_for_memory(ctx, u->buffer, u) : uop_contiguous(u, ctx_unique(ctx));
      if (!rename_handle(t, n)) return false;
    }
  return true;
}

/* Expressions. Those of constants alone need memory only if they are assigned to. */
static bool rename_expressions(PolyContext *ctx, Arena *arena) {
  UOp **root = arena_new(arena, (size_t)(ctx->ntensor + 1) * sizeof *root);
  int n = 0;
  for (PolyTensor *t = ctx->tensors; root && t; t = t->next) root[n++] = t->uop;
  Walk w;
  if (!root || !uop_walk(ctx, arena, n, root, is_value, NULL, &w)) return false;
  bool *memory = arena_new(arena, (size_t)(w.n + 1) * sizeof *memory);
  bool *constant = arena_new(arena, (size_t)(n + 1) * sizeof *constant);
  if (!memory || !constant) return false;
  for (int i = 0; i < w.n; i++) {
    const UOp *u = w.at[i];
    memory[i] = u->buffer || node_is_own(u);
    for (int k = 0; !is_value(u, NULL) && !memory[i] && k < u->nsrc; k++) memory[i] = memory[u->src[k]->slot];
  }
  for (int k = 0; k < n; k++) constant[k] = !memory[root[k]->slot];
  int k = 0;
  for (PolyTensor *t = ctx->tensors; t; t = t->next, k++) {
    if (node_is_own(t->uop)) continue;
    if (!rename_handle(t, uop_contiguous(t->uop, ctx_unique(ctx)))) return false;
    ctx->tracing->renamed.at[t->renamed - 1].constant = constant[k];
  }
  return true;
}

static bool mark_gradients(PolyContext *ctx) {
  for (PolyTensor *t = ctx->tensors; t; t = t->next) {
    if (!t->grad) continue;
    if (!t->grad->renamed && !rename_handle(t->grad, t->grad->uop)) return false;
    ctx->tracing->renamed.at[t->grad->renamed - 1].leaf = t->id;
  }
  return true;
}

static bool begin(PolyContext *ctx) {
  Arena arena = {.b = &ctx->base};
  Map seen = {0};
  Scope scope;
  scope_enter(ctx, &scope);
  bool ok = rename_expressions(ctx, &arena) && rename_shared(ctx, &seen) && mark_gradients(ctx);
  scope_leave(ctx, &scope);
  map_free(&ctx->base, &seen);
  arena_free(&arena);
  return ok;
}

PolyStatus poly_trace_begin(PolyContext *ctx) {
  if (!ctx) return POLY_ERROR_VALUE;
  if (ctx->tracing)
    return status_of(ctx, base_fail(&ctx->base, POLY_ERROR_RUNTIME,
                                    "a step cannot be traced while another one is: call the function itself there"));
  if (poly_settle(ctx) != POLY_OK) return status_of(ctx, false);
  ctx->tracing = mem_new(&ctx->base, sizeof *ctx->tracing);
  bool ok = ctx->tracing && begin(ctx);
  if (ctx->tracing) {
    ctx->tracing->first = ctx->last_id + 1;
    ctx->tracing->drawn = ctx->drawn;
  }
  if (!ok) poly_trace_end(ctx);
  return status_of(ctx, ok);
}

PolyTensor *poly_trace_input(PolyTensor *t) {
  if (!t) return NULL;
  PolyContext *ctx = t->ctx;
  const UOp *u = t->uop;
  char shape[256];
  if (!ctx->tracing) return fail_null(&ctx->base, POLY_ERROR_RUNTIME, "an input of a trace, and no trace has begun");
  if (!u->buffer || u->buffer->stale)
    return fail_null(&ctx->base, POLY_ERROR_VALUE, "an input of a step (shape %s) is not realized",
                     shape_text(u, shape, sizeof shape));
  Scope scope;
  scope_enter(ctx, &scope);
  PolyBuffer *same = buffer_alias(u->buffer);
  UOp *n = same ? node_for_memory(ctx, same, u) : NULL;
  buffer_release(same);
  bool listed = n && vec_push(&ctx->base, &ctx->tracing->input, n);
  if (listed) uop_retain(n);
  PolyTensor *in = listed ? tensor_wrap(ctx, n) : NULL;
  if (in) handle_require_grad(in, t->requires_grad);
  scope_leave(ctx, &scope);
  return in;
}

/* ---- while it is open ---- */

static bool is_input(const Tracing *tr, const UOp *u) {
  for (int k = 0; k < tr->input.n; k++)
    if (tr->input.at[k] == u) return true;
  return false;
}

bool trace_assigns(PolyTensor *t) {
  const Tracing *tr = t->ctx->tracing;
  if (!tr || t->assigned) return true;
  if (t->id >= tr->first && !is_input(tr, t->uop)) return true;
  if (!rename_handle(t, t->uop)) return false;
  tr->renamed.at[t->renamed - 1].constant = false;
  return t->assigned = true;
}

static bool fail_reading(PolyContext *ctx, const char *what) {
  return base_fail(&ctx->base, POLY_ERROR_RUNTIME,
                   "a value is needed inside a compiled step, but it is not known while the step is traced: it %s, and "
                   "each run has another one",
                   what);
}

bool trace_may_read(PolyContext *ctx, int n, PolyTensor *const *t) {
  Tracing *tr = ctx->tracing;
  if (!tr) return true;
  Arena arena = {.b = &ctx->base};
  UOp **root = arena_new(&arena, (size_t)(n + 1) * sizeof *root);
  Walk w;
  for (int k = 0; root && k < n; k++) root[k] = t[k]->uop;
  bool ok = root && uop_walk(ctx, &arena, n, root, is_value, NULL, &w);
  for (int i = 0; ok && i < w.n; i++) {
    UOp *u = w.at[i];
    if (u->op == OP_ASSIGN && !u->buffer)
      ok = fail_reading(ctx, "depends on a tensor that the step assigns");
    else if (u->op == OP_BIND && canon_is_rng(u->src[0]))
      ok = fail_reading(ctx, "is drawn at random");
    else if (is_input(tr, u))
      ok = fail_reading(ctx, "depends on an input");
    else if (u->buffer && vec_push(&ctx->base, &tr->read, u))
      uop_retain(u);
  }
  arena_free(&arena);
  return ok;
}

PolyStatus poly_trace_reads(PolyTensor *t) {
  if (!t) return POLY_ERROR_VALUE;
  return status_of(t->ctx, trace_may_read(t->ctx, 1, &t));
}

/* ---- ending ---- */

static bool fail_kept(const PolyTensor *t) {
  char shape[256];
  return base_fail(&t->ctx->base, POLY_ERROR_RUNTIME,
                   "a tensor of shape %s that the compiled step assigns was read while the step was traced: each run "
                   "changes it",
                   shape_text(t->uop, shape, sizeof shape));
}

/* What the function has read must not be what the step changes. */
static bool check_read(const Tracing *tr, const PolyTensor *t) {
  const UOp *target = t->uop->op == OP_ASSIGN ? t->uop->src[0] : t->uop;
  for (int k = 0; k < tr->read.n; k++)
    if (tr->read.at[k] == target) return fail_kept(t);
  return true;
}

int trace_state(PolyContext *ctx, Arena *arena, int n, PolyTensor *const *given, PolyTensor ***out) {
  const Tracing *tr = ctx->tracing;
  int total = n;
  *out = arena_new(arena, (size_t)(n + ctx->ntensor + 1) * sizeof **out);
  if (!*out) return -1;
  for (int k = 0; k < n; k++) (*out)[k] = given[k];
  for (PolyTensor *t = ctx->tensors; tr && t; t = t->next) {
    bool listed = !t->assigned;
    for (int k = 0; k < n && !listed; k++) listed = given[k] == t;
    if (!listed) (*out)[total++] = t;
  }
  for (int k = 0; tr && k < total; k++)
    if (!check_read(tr, (*out)[k])) return -1;
  return total;
}

/* A tensor that the step has captured keeps the name that the step knows. */
static void restore(PolyContext *ctx) {
  const Tracing *tr = ctx->tracing;
  for (PolyTensor *t = ctx->tensors; t; t = t->next) {
    const Renamed *r = t->renamed ? &tr->renamed.at[t->renamed - 1] : NULL;
    bool back = r && !(r->used && tr->done);
    if (back) handle_set(t, r->before);
    if (back) t->moves = r->moves;
    t->renamed = 0;
    t->assigned = false;
  }
}

static bool has_traced_grad(const Tracing *tr, const PolyTensor *t) { return t->grad && t->grad->id >= tr->first; }

/* Gradients that were traced go: they are those of no run. If no step came of it, those from before come back. */
static void restore_gradients(PolyContext *ctx) {
  const Tracing *tr = ctx->tracing;
  for (bool again = true; again;) { /* setting a gradient changes the list */
    again = false;
    for (PolyTensor *t = ctx->tensors; t && !again; t = t->next)
      if ((again = has_traced_grad(tr, t))) poly_set_grad(t, NULL);
  }
  for (int k = 0; !tr->done && k < tr->renamed.n; k++) {
    const Renamed *r = &tr->renamed.at[k];
    PolyTensor *t = r->leaf ? ctx->tensors : NULL;
    while (t && t->id != r->leaf) t = t->next;
    if (!t || t->grad) continue;
    PolyTensor *old = tensor_wrap(ctx, r->before);
    if (old) poly_set_grad(t, old);
    poly_free(old);
  }
}

void poly_trace_end(PolyContext *ctx) {
  if (!ctx || !ctx->tracing) return;
  Tracing *tr = ctx->tracing;
  Base *b = &ctx->base;
  restore(ctx);
  restore_gradients(ctx);
  ctx->drawn = tr->drawn; /* the runs draw, the trace did not */
  for (int k = 0; k < tr->input.n; k++) {
    node_set_buffer(tr->input.at[k], buffer_retain(&ctx->engine->ended));
    uop_release(tr->input.at[k]);
  }
  for (int k = 0; k < tr->read.n; k++) uop_release(tr->read.at[k]);
  for (int k = 0; k < tr->renamed.n; k++) {
    uop_release(tr->renamed.at[k].before);
    uop_release(tr->renamed.at[k].during);
  }
  vec_free(b, &tr->renamed);
  vec_free(b, &tr->input);
  vec_free(b, &tr->read);
  mem_free(b, tr, sizeof *tr);
  ctx->tracing = NULL;
}
