/* verify.c: states what is legal. In: nodes. Out: true, or an error that names the node.
 *
 * Shapes and dtypes are not checked by a second set of rules: a node is inferred again by its builder, and what comes
 * out must have the shape and dtype that the node has. What builders take for granted is checked here first. */
#include "ir/verify.h"
#include "ir/context.h"
#include "ir/eval.h"
#include "ir/scan.h"

#include <stdio.h>
#include <string.h>

static bool wrong(const UOp *u, const char *why) {
  char shape[256];
  return base_fail(ctx_base(u->ctx), POLY_ERROR_VALUE, "%s %s %s: %s", op_info[u->op].name,
                   dtype_name((PolyDType)u->dtype), shape_text(u, shape, sizeof shape), why);
}

bool uop_arity_ok(Op op, const UArg *arg, int nsrc, int ndim) {
  switch (op) {
  case OP_ARGUMENT:
  case OP_BUFFER: return nsrc == ndim;
  case OP_SCAN: return nsrc >= 1;
  case OP_CLOSED: return true;
  case OP_IOTA: return nsrc == 1 && ndim == 1;
  case OP_RANDOM: return nsrc == 4 && ndim == 1;
  case OP_RESHAPE:
  case OP_EXPAND: return nsrc == 1 + ndim;
  case OP_PAD:
  case OP_SHRINK: return nsrc == 1 + 2 * ndim;
  case OP_SEGMENT: return nsrc == 5;
  case OP_CAT:
  case OP_FUNCTION: return nsrc >= 2;
  case OP_LIBRARY: return arg->j >= 0 && arg->j <= 4 && nsrc == arg->j + ndim;
  case OP_CHECK:
  case OP_LOAD: return nsrc == 2 || nsrc == 3;
  case OP_STORE: return nsrc >= 3;
  case OP_LOOP: return nsrc >= 2;
  default: return nsrc == op_info[op].nsrc;
  }
}

static bool is_index(const UOp *u) { return u->dtype == POLY_INT64 && u->ndim == 0; }

static bool is_reduction(int64_t op) { return op == OP_ADD || op == OP_MUL || op == OP_MAX || op == OP_MIN; }

/* ---- arguments ---- */

static bool check_const(const UOp *u) {
  PolyDType d = (PolyDType)u->dtype;
  if (u->ndim) return wrong(u, "a constant has no shape");
  Value v = value_of_const(u), r = value_cast(v, dtype_is_float(d) ? POLY_FLOAT64 : POLY_INT64, d);
  return value_same(v, r, d) || wrong(u, "the value is not one of the dtype");
}

static bool check_leaf(const UOp *u) {
  switch (u->op) {
  case OP_CONST: return check_const(u);
  case OP_VARIABLE:
    return (is_index(u) && u->arg.name && u->arg.i <= u->arg.j) ||
           wrong(u, "a variable is int64 with a name and bounds");
  case OP_BIND: {
    const UOp *var = u->src[0], *value = u->src[1];
    bool ok = var->op == OP_VARIABLE && value->op == OP_CONST && is_index(value);
    return (ok && value->arg.i >= var->arg.i && value->arg.i <= var->arg.j) ||
           wrong(u, "a variable and a value within its bounds were expected");
  }
  case OP_IOTA: return is_index(u->src[0]) || wrong(u, "the size is not int64");
  case OP_RANDOM:
    for (int k = 0; k < 4; k++)
      if (!is_index(u->src[k])) return wrong(u, "a size, two halves of a seed and the number of a draw were expected");
    return u->dtype == POLY_UINT32 || wrong(u, "random words are uint32");
  default: return true;
  }
}

/* Parts of the right number, carried values that stay what they are, rows of stacked inputs. */
static bool check_scan(const UOp *u) {
  Scan s = scan_of(u);
  if (s.nfree < 0 || s.nout < s.ncarry) return wrong(u, "a wrong number of sources");
  for (int k = 0; k < s.ncarry; k++)
    if (s.out[k]->dtype != s.init[k]->dtype || !shape_equal(s.out[k], s.init[k]))
      return wrong(u, "a carried value changes its dtype or shape");
  for (int k = 0; k < s.nx; k++)
    if (!s.xs[k]->ndim || s.xs[k]->shape[0] != s.length) return wrong(u, "a stacked input has another length");
  return true;
}

static bool check_scan_result(const UOp *u) {
  if (u->src[0]->op != OP_SCAN) return wrong(u, "the first source is not a SCAN");
  int n = u->op == OP_STACKED ? 1 : scan_of(u->src[0]).ncarry;
  return (u->arg.i >= 0 && u->arg.i < n) || wrong(u, "no such carried value");
}

static bool check_arg(const UOp *u) {
  int64_t axes = u->ndim < 16 ? (1 << u->ndim) - 1 : 0xffff;
  switch (u->op) {
  case OP_FLIP: return (u->arg.i > 0 && !(u->arg.i & ~axes)) || wrong(u, "no such axes");
  case OP_REDUCE:
    if (u->ndim != u->src[0]->ndim) return wrong(u, "the rank changes");
    return (u->arg.j > 0 && !(u->arg.j & ~axes) && is_reduction(u->arg.i)) || wrong(u, "no such axes or op");
  case OP_PERMUTE:
  case OP_EXPAND:
  case OP_PAD:
  case OP_SHRINK: return u->ndim == u->src[0]->ndim || wrong(u, "the rank changes");
  case OP_SEGMENT:
  case OP_LOOP: return is_reduction(u->arg.i) || wrong(u, "not a reduction");
  case OP_CAT: return (u->arg.i >= 0 && u->arg.i < u->ndim) || wrong(u, "no such axis");
  case OP_COPY: return shape_equal(u, u->src[0]) || wrong(u, "the shape changes");
  case OP_LIBRARY: return u->arg.name || wrong(u, "no name");
  case OP_SCAN: return check_scan(u);
  case OP_FINAL:
  case OP_STATES:
  case OP_STACKED: return check_scan_result(u);
  default: return true;
  }
}

/* Sizes and integer operands. */
static bool check_integers(const UOp *u) {
  for (int i = 0; i < u->ndim; i++)
    if (!is_index(u->shape[i]) || u->shape[i]->vmax < 0) return wrong(u, "a size is not an int64 of 0 or more");
  bool buffer = u->op == OP_BUFFER || u->op == OP_ARGUMENT;
  if (op_info[u->op].cls == CLASS_KERNEL) return true;
  for (int i = buffer ? 0 : uop_nvalue(u); i < u->nsrc; i++)
    if (!is_index(u->src[i])) return wrong(u, "an operand that should be an int64 is not");
  return true;
}

/* ---- kernels ---- */

static bool check_memory(const UOp *u) {
  const UOp *param = u->src[0], *index = u->src[u->op == OP_STORE ? 2 : 1];
  if (param->op != OP_PARAM) return wrong(u, "the first source is not a PARAM");
  if (!is_index(index)) return wrong(u, "the index is not an int64");
  if (u->op == OP_STORE)
    return param->dtype == u->src[1]->dtype || wrong(u, "the value has another dtype than the memory");
  return u->nsrc == 2 || u->src[2]->dtype == POLY_BOOL || wrong(u, "the gate is not a bool");
}

static bool check_kernel(const UOp *u) {
  int first_range = u->op == OP_STORE ? 3 : u->op == OP_LOOP ? 1 : u->nsrc;
  for (int i = first_range; i < u->nsrc; i++)
    if (u->src[i]->op != OP_RANGE) return wrong(u, "a RANGE was expected");
  if (u->ndim) return wrong(u, "a kernel op has no shape");
  switch (u->op) {
  case OP_RANGE:
  case OP_CHECK:
    if (!is_index(u->src[0]) || !is_index(u->src[1])) return wrong(u, "a bound is not an int64");
    return u->nsrc == 2 || u->src[2]->dtype == POLY_BOOL || wrong(u, "the gate is not a bool");
  case OP_LOAD:
  case OP_STORE: return check_memory(u);
  default: return true;
  }
}

static bool check_level(const UOp *u, VerifyLevel level) {
  OpClass cls = op_info[u->op].cls;
  if (level == VERIFY_TENSOR) return cls != CLASS_KERNEL || wrong(u, "a kernel op among tensors");
  if (level != VERIFY_KERNEL) return true;
  bool tensor = (cls >= CLASS_MOVE && cls <= CLASS_LIBRARY) || u->op == OP_BUFFER || u->op == OP_IOTA ||
                u->op == OP_RANDOM || u->op == OP_ARGUMENT;
  return (!tensor && u->ndim == 0) || wrong(u, "a tensor op inside a kernel");
}

/* ---- dtype and shape ---- */

static bool check_dtype(const UOp *u) {
  static const int source[] = {[RULE_SAME] = 0, [RULE_VALUE] = 1};
  DTypeRule rule = op_info[u->op].dtype;
  if (rule == RULE_BOOL) return u->dtype == POLY_BOOL || wrong(u, "the result is not a bool");
  if (rule == RULE_GIVEN) return true;
  return u->dtype == u->src[source[rule]]->dtype || wrong(u, "the dtype is not that of the source");
}

/* The builder's verdict. Its error text becomes part of ours. */
static bool check_inferred(UOp *u) {
  Base *b = ctx_base(u->ctx);
  Scope s;
  scope_enter(u->ctx, &s);
  UOp *r = uop_with_sources(u, u->src);
  bool same = r && r->dtype == u->dtype && shape_equal(r, u);
  bool failed = !r;
  scope_leave(u->ctx, &s);
  if (same) return true;
  if (failed && b->code == POLY_ERROR_MEMORY) return false;
  char why[256];
  snprintf(why, sizeof why, "%.250s", failed ? b->text : "its sources give another shape or dtype");
  base_clear(b);
  return wrong(u, why);
}

bool uop_verify_node(UOp *u, VerifyLevel level) {
  if (ctx_base(u->ctx)->code != POLY_OK) return false;
  if (!uop_arity_ok((Op)u->op, &u->arg, u->nsrc, u->ndim)) return wrong(u, "a wrong number of sources");
  if (!check_level(u, level) || !check_leaf(u) || !check_arg(u) || !check_integers(u) || !check_dtype(u)) return false;
  if (op_info[u->op].cls == CLASS_KERNEL) return check_kernel(u);
  if (u->vmin > u->vmax) return wrong(u, "the bounds are empty");
  return check_inferred(u);
}

bool uop_verify(PolyContext *ctx, int nroot, UOp *const *roots, VerifyLevel level) {
  Arena arena = {ctx_base(ctx), NULL};
  Walk w;
  bool ok = uop_walk(ctx, &arena, nroot, roots, NULL, NULL, &w);
  for (int i = 0; ok && i < w.n; i++) ok = uop_verify_node(w.at[i], level);
  arena_free(&arena);
  return ok;
}

/* ---- after a pass ---- */

static bool is_stored(const UOp *u, void *user) {
  (void)user;
  return u->buffer != NULL;
}

bool verify_result(PolyContext *ctx, const char *pass, bool ok) {
  Base *b = ctx_base(ctx);
  if (ok || b->code == POLY_ERROR_MEMORY) return ok;
  char why[512];
  snprintf(why, sizeof why, "%.500s", b->text);
  base_clear(b);
  ctx->illegal = true;
  return base_fail(b, POLY_ERROR_RUNTIME, "internal: what %s made is not legal: %s", pass, why);
}

bool uop_verify_pass(PolyContext *ctx, const char *pass, int nroot, UOp *const *roots, VerifyLevel level) {
  if (!ctx->verify || ctx_base(ctx)->code != POLY_OK) return ctx_base(ctx)->code == POLY_OK;
  Arena arena = {ctx_base(ctx), NULL};
  Walk w;
  bool ok = uop_walk(ctx, &arena, nroot, roots, is_stored, NULL, &w);
  for (int i = 0; ok && i < w.n; i++) ok = w.at[i]->buffer || uop_verify_node(w.at[i], level);
  arena_free(&arena);
  return verify_result(ctx, pass, ok);
}
