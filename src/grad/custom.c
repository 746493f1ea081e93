/* custom.c: functions with gradients of the caller's own, and a look at the graph. In: handles. Out: new lazy handles;
 * the rule that calls back is in rules_function.c. */
#include "grad/grad.h"

typedef struct Owned {
  PolyFunction function; /* first: the node points at it */
  PolyContext *ctx;
} Owned;

static void owned_free(void *p) {
  Owned *o = p;
  if (o->function.release) o->function.release(o->function.user);
  mem_free(ctx_base(o->ctx), o, sizeof *o);
}

/* The node holds a tensor over the callback's memory: that is freed with the last node. */
PolyTensor *poly_function(PolyTensor *value, PolyTensor *const *inputs, int n, const PolyFunction *function) {
  if (!value || !inputs || !function || !function->backward) return NULL;
  PolyContext *ctx = value->ctx;
  UOp *x[FUNCTION_MAX_INPUTS];
  if (n < 1 || n > FUNCTION_MAX_INPUTS)
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "a function has 1 to %d inputs, not %d", FUNCTION_MAX_INPUTS, n);
  for (int k = 0; k < n; k++) {
    if (!inputs[k]) return NULL;
    x[k] = inputs[k]->uop;
  }
  Owned *o = mem_new(ctx_base(ctx), sizeof *o);
  if (!o) return NULL;
  *o = (Owned){*function, ctx};
  PolyTensor *owner = poly_from_borrowed(ctx, o, POLY_UINT8, 1, &(int64_t){sizeof *o}, owned_free, o);
  if (!owner) {
    mem_free(ctx_base(ctx), o, sizeof *o);
    return NULL;
  }
  Scope scope;
  scope_enter(ctx, &scope);
  PolyTensor *t = tensor_wrap(ctx, uop_function_user(o, owner->uop, value->uop, n, x));
  scope_leave(ctx, &scope);
  poly_free(owner);
  return t;
}

/* In the order of a walk every source comes before its users, unless there is a cycle. */
bool poly_check_cycles(PolyContext *ctx) {
  if (!ctx) return false;
  Arena arena = {.b = ctx_base(ctx)};
  UOp **root = arena_new(&arena, (size_t)(ctx->ntensor + 1) * sizeof *root);
  int n = 0;
  for (PolyTensor *t = ctx->tensors; root && t; t = t->next) root[n++] = t->uop;
  Walk walk = {0};
  bool found = false;
  if (root && uop_walk(ctx, &arena, n, root, NULL, NULL, &walk))
    for (int i = 0; i < walk.n; i++)
      for (int k = 0; k < walk.at[i]->nsrc; k++) found |= walk.at[i]->src[k]->slot >= i;
  arena_free(&arena);
  return found;
}
