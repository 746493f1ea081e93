/* uop_eval.h: the plain meaning of tensor UOps, element by element and without any planning, for tests that need values
 * before (and independent of) schedule, codegen and devices. Slow and simple on purpose. */
#ifndef UOP_EVAL_H
#define UOP_EVAL_H

#include "ir/rewrite.h"
#include "ir_fixture.h"
#include "ir/eval.h"

#include <math.h>

enum { EVAL_MAX_LEAF = 8 };

/* Values of the BUFFER nodes that a graph reads, as doubles. */
typedef struct EvalLeaves {
  int n;
  UOp *u[EVAL_MAX_LEAF];
  const double *data[EVAL_MAX_LEAF];
} EvalLeaves;

static bool eval_unbound(void *user, const UOp *leaf, int64_t *value) {
  (void)user, (void)leaf, (void)value;
  return false;
}

static int64_t eval_int(const UOp *u) {
  int64_t v = 0;
  assert_true(int_eval(u, eval_unbound, NULL, &v));
  return v;
}

static int64_t eval_numel(const UOp *u) {
  int64_t n = 1;
  for (int d = 0; d < u->ndim; d++) n *= eval_int(u->shape[d]);
  return n;
}

static void eval_unravel(const UOp *u, int64_t at, int64_t *index) {
  for (int d = u->ndim; d-- > 0;) {
    int64_t size = eval_int(u->shape[d]);
    index[d] = at % size;
    at /= size;
  }
}

static int64_t eval_ravel(const UOp *u, const int64_t *index) {
  int64_t at = 0;
  for (int d = 0; d < u->ndim; d++) at = at * eval_int(u->shape[d]) + index[d];
  return at;
}

/* Place in the source that place `at` of a movement reads; -1: padding. */
static int64_t eval_move(const UOp *u, int64_t at) {
  const UOp *x = u->src[0];
  int64_t out[MAX_DIMS], in[MAX_DIMS];
  if (u->op == OP_RESHAPE) return at;
  eval_unravel(u, at, out);
  for (int d = 0; d < x->ndim; d++) {
    int64_t size = eval_int(x->shape[d]);
    in[d] = out[d];
    if (u->op == OP_EXPAND && size == 1) in[d] = 0;
    if (u->op == OP_FLIP && (u->arg.i >> d & 1)) in[d] = size - 1 - out[d];
    if (u->op == OP_SHRINK) in[d] += eval_int(u->src[1 + 2 * d]);
    if (u->op == OP_PAD) in[d] -= eval_int(u->src[1 + 2 * d]);
    if (in[d] < 0 || in[d] >= size) in[d] = -1;
  }
  if (u->op == OP_PERMUTE)
    for (int d = 0; d < u->ndim; d++) in[perm_at(u, d)] = out[d];
  for (int d = 0; d < x->ndim; d++)
    if (in[d] < 0) return -1;
  return eval_ravel(x, in);
}

static void eval_combine(Op op, PolyDType dtype, Value *into, Value v) {
  assert_true(eval_scalar(op, dtype, dtype, (Value[]){*into, v}, into));
}

static void eval_reduce(const UOp *u, const Value *x, Value *out) {
  const UOp *s = u->src[0];
  for (int64_t at = 0; at < eval_numel(u); at++) out[at] = value_identity((Op)u->arg.i, (PolyDType)u->dtype);
  for (int64_t at = 0; at < eval_numel(s); at++) {
    int64_t index[MAX_DIMS];
    eval_unravel(s, at, index);
    for (int d = 0; d < s->ndim; d++)
      if (u->arg.j >> d & 1) index[d] = 0;
    eval_combine((Op)u->arg.i, (PolyDType)u->dtype, &out[eval_ravel(u, index)], x[at]);
  }
}

static void eval_gather(const UOp *u, const Value *x, const Value *index, Value *out) {
  int64_t rows = eval_numel(u->src[1]), row = 1;
  for (int d = 1; d < u->src[0]->ndim; d++) row *= eval_int(u->src[0]->shape[d]);
  for (int64_t r = 0; r < rows; r++) {
    assert_in_range(index[r].i, 0, eval_int(u->src[0]->shape[0]) - 1);
    for (int64_t f = 0; f < row; f++) out[r * row + f] = x[index[r].i * row + f];
  }
}

static void eval_segment(const UOp *u, const Value *x, const Value *index, Value *out) {
  int64_t rows = eval_numel(u->src[1]), row = rows ? eval_numel(u->src[0]) / rows : 0;
  for (int64_t at = 0; at < eval_numel(u); at++) out[at] = value_identity((Op)u->arg.i, (PolyDType)u->dtype);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t f = 0; f < row; f++)
      eval_combine((Op)u->arg.i, (PolyDType)u->dtype, &out[index[r].i * row + f], x[r * row + f]);
}

static void eval_scan(const UOp *u, const Value *x, Value *out) {
  int64_t n = eval_int(u->shape[u->ndim - 1]);
  for (int64_t at = 0; at < eval_numel(u); at++) {
    out[at] = x[at];
    if (at % n) {
      out[at] = out[at - 1];
      eval_combine((Op)u->arg.i, (PolyDType)u->dtype, &out[at], x[at]);
    }
  }
}

static void eval_recurrence(const UOp *u, const Value *a, const Value *b, Value *out) {
  int64_t n = eval_int(u->shape[u->ndim - 1]);
  for (int64_t at = 0; at < eval_numel(u); at++) out[at].f = (at % n ? a[at].f * out[at - 1].f : 0) + b[at].f;
}

static void eval_elementwise(const UOp *u, Value *const *src, Value *out) {
  int n = uop_nvalue(u);
  for (int64_t at = 0; at < eval_numel(u); at++) {
    Value v[3] = {{0}};
    for (int k = 0; k < n; k++) v[k] = src[k][u->src[k]->op == OP_CONST ? 0 : at];
    PolyDType from = (PolyDType)u->src[u->op == OP_WHERE ? 1 : 0]->dtype;
    assert_true(eval_scalar((Op)u->op, from, (PolyDType)u->dtype, v, &out[at]));
  }
}

/* A BUFFER without values (the place of an ASSIGN) must not be read: it is NaN. */
static void eval_leaf(const UOp *u, const EvalLeaves *leaves, Value *out) {
  for (int64_t at = 0; at < eval_numel(u); at++) out[at].f = NAN;
  for (int k = 0; k < leaves->n; k++)
    if (leaves->u[k] == u) {
      for (int64_t at = 0; at < eval_numel(u); at++) out[at].f = leaves->data[k][at];
    }
}

static void eval_node(const UOp *u, const EvalLeaves *leaves, Value *const *src, Value *out) {
  int64_t n = eval_numel(u);
  switch (u->op) {
  case OP_BUFFER: eval_leaf(u, leaves, out); return;
  case OP_CONST: out[0] = value_of_const(u); return;
  case OP_IOTA:
    for (int64_t at = 0; at < n; at++) out[at] = value_cast((Value){.i = at}, POLY_INT64, (PolyDType)u->dtype);
    return;
  case OP_REDUCE: eval_reduce(u, src[0], out); return;
  case OP_GATHER: eval_gather(u, src[0], src[1], out); return;
  case OP_SEGMENT: eval_segment(u, src[0], src[1], out); return;
  case OP_LIBRARY:
    if (strcmp(u->arg.name, "scan") == 0) eval_scan(u, src[0], out);
    if (strcmp(u->arg.name, "recurrence") == 0) eval_recurrence(u, src[0], src[1], out);
    return; /* segment_order: what SEGMENT does with it is done from the index */
  case OP_CONTIGUOUS:
  case OP_FUNCTION:
  case OP_DETACH: memcpy(out, src[0], (size_t)n * sizeof *out); return;
  case OP_ASSIGN: memcpy(out, src[1], (size_t)n * sizeof *out); return;
  default: break;
  }
  if (op_info[u->op].cls == CLASS_MOVE) {
    for (int64_t at = 0; at < n; at++) {
      int64_t from = eval_move(u, at);
      out[at] = from < 0 ? (Value){0} : src[0][from];
    }
    return;
  }
  eval_elementwise(u, src, out);
}

static bool eval_stop(const UOp *u, void *user) {
  (void)user;
  return u->dtype == POLY_INT64 && u->ndim == 0;
}

/* The float64 values of root, to be freed by the caller. */
static double *uop_eval(PolyContext *ctx, UOp *root, const EvalLeaves *leaves) {
  Arena arena = {.b = ctx_base(ctx)};
  Walk walk;
  assert_true(rewrite_graphs(ctx, &random_pass, NULL, 1, &root)); /* draws as the operations that they stand for */
  assert_true(uop_walk(ctx, &arena, 1, &root, eval_stop, NULL, &walk));
  Value **value = calloc((size_t)walk.n, sizeof *value);
  for (int i = 0; i < walk.n; i++) {
    UOp *u = walk.at[i];
    if (eval_stop(u, NULL)) {
      value[i] = calloc(1, sizeof(Value));
      value[i]->i = eval_int(u);
      continue;
    }
    Value *src[4] = {0};
    for (int k = 0; k < MIN(uop_nvalue(u), 4); k++) src[k] = value[u->src[k]->slot];
    value[i] = calloc((size_t)eval_numel(u) + 1, sizeof(Value));
    eval_node(u, leaves, src, value[i]);
  }
  assert_int_equal(root->dtype, POLY_FLOAT64);
  int64_t n = eval_numel(root);
  double *out = malloc((size_t)(n + 1) * sizeof *out);
  for (int64_t at = 0; at < n; at++) out[at] = value[walk.n - 1][at].f;
  for (int i = 0; i < walk.n; i++) free(value[i]);
  free(value);
  arena_free(&arena);
  return out;
}

#endif
