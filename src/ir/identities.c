/* identities.c: the simplifications that are always right: algebra, constants, and moves that undo or continue each
 * other.
 *
 * What may stand here. Dtype and shape are kept. The new form is bit for bit the old one for every value, NaN,
 * infinities and signed zeros included, so for floats: x + 0.0 stays (it turns -0.0 into 0.0), x * 0.0 stays (NaN,
 * infinity), x - x stays, and x == x stays. The new form has fewer nodes, or the same number in an order that no other
 * line turns back. */
#include "ir/identities.h"
#include "ir/eval.h"

enum {
  BOOL = FOR_BOOL,
  INTS = FOR_INT | FOR_UINT,
  BITS = FOR_BOOL | FOR_INT | FOR_UINT,
  FLOATS = FOR_FLOAT,
  NUMS = FOR_INT | FOR_UINT | FOR_FLOAT,
  ALL = FOR_BOOL | FOR_INT | FOR_UINT | FOR_FLOAT
};

#define END PAT_END
#define X_ PAT_X
#define Y_ PAT_Y
#define C_ PAT_C
#define ZERO PAT_ZERO
#define NEGZERO PAT_NEGZERO
#define ONE PAT_ONE
#define TWO PAT_TWO
#define ONES PAT_ONES
#define TRUE_ PAT_TRUE
#define FALSE_ PAT_FALSE
#define P(...)                                                                                                         \
  { __VA_ARGS__, END }

/* clang-format off */
const Identity identities[] = {
    /* sums */
    {INTS, P(OP_ADD, X_, ZERO), P(X_), EXACT},
    {BOOL, P(OP_ADD, X_, FALSE_), P(X_), EXACT},
    {FLOATS, P(OP_ADD, X_, NEGZERO), P(X_), EXACT},
    {NUMS, P(OP_SUB, X_, ZERO), P(X_), EXACT},
    {INTS, P(OP_SUB, X_, X_), P(ZERO), EXACT},
    {INTS, P(OP_SUB, ZERO, X_), P(OP_NEG, X_), EXACT},
    {FLOATS, P(OP_SUB, NEGZERO, X_), P(OP_NEG, X_), EXACT},
    {NUMS, P(OP_ADD, X_, OP_NEG, Y_), P(OP_SUB, X_, Y_), EXACT},
    {NUMS, P(OP_SUB, X_, OP_NEG, Y_), P(OP_ADD, X_, Y_), EXACT},
    {INTS, P(OP_NEG, OP_SUB, X_, Y_), P(OP_SUB, Y_, X_), EXACT},
    {NUMS, P(OP_NEG, OP_NEG, X_), P(X_), EXACT},
    /* products */
    {NUMS, P(OP_MUL, X_, ONE), P(X_), EXACT},
    {BOOL, P(OP_MUL, X_, TRUE_), P(X_), EXACT},
    {INTS, P(OP_MUL, X_, ZERO), P(ZERO), EXACT},
    {BOOL, P(OP_MUL, X_, FALSE_), P(FALSE_), EXACT},
    {FOR_INT | FLOATS, P(OP_MUL, X_, ONES), P(OP_NEG, X_), EXACT},
    {NUMS, P(OP_MUL, OP_NEG, X_, OP_NEG, Y_), P(OP_MUL, X_, Y_), EXACT},
    {FLOATS, P(OP_DIV, X_, ONE), P(X_), EXACT},
    {FLOATS, P(OP_DIV, X_, ONES), P(OP_NEG, X_), EXACT},
    {FLOATS, P(OP_DIV, OP_NEG, X_, OP_NEG, Y_), P(OP_DIV, X_, Y_), EXACT},
    {INTS, P(OP_IDIV, X_, ONE), P(X_), EXACT},
    {INTS, P(OP_IDIV, ZERO, X_), P(ZERO), EXACT},
    {FOR_INT, P(OP_IDIV, X_, ONES), P(OP_NEG, X_), EXACT},
    {INTS, P(OP_MOD, X_, ONE), P(ZERO), EXACT},
    {INTS, P(OP_MOD, ZERO, X_), P(ZERO), EXACT},
    {INTS, P(OP_MOD, X_, X_), P(ZERO), EXACT},
    {FOR_INT, P(OP_MOD, X_, ONES), P(ZERO), EXACT},
    {FLOATS, P(OP_POW, X_, ZERO), P(ONE), EXACT},
    {FLOATS, P(OP_POW, X_, NEGZERO), P(ONE), EXACT},
    {FLOATS, P(OP_POW, X_, ONE), P(X_), EXACT},
    {FLOATS, P(OP_POW, ONE, X_), P(ONE), EXACT},
    {FLOATS, P(OP_POW, X_, TWO), P(OP_MUL, X_, X_), ROUNDED},
    /* extremes */
    {ALL, P(OP_MAX, X_, X_), P(X_), EXACT},
    {ALL, P(OP_MIN, X_, X_), P(X_), EXACT},
    {BITS, P(OP_MAX, OP_MAX, X_, Y_, X_), P(OP_MAX, X_, Y_), EXACT},
    {BITS, P(OP_MIN, OP_MIN, X_, Y_, X_), P(OP_MIN, X_, Y_), EXACT},
    {BITS, P(OP_MAX, OP_MAX, X_, Y_, Y_), P(OP_MAX, X_, Y_), EXACT},
    {BITS, P(OP_MIN, OP_MIN, X_, Y_, Y_), P(OP_MIN, X_, Y_), EXACT},
    {BITS, P(OP_MAX, OP_MIN, X_, Y_, X_), P(X_), EXACT},
    {BITS, P(OP_MIN, OP_MAX, X_, Y_, X_), P(X_), EXACT},
    {FOR_UINT, P(OP_MAX, X_, ZERO), P(X_), EXACT},
    {FOR_UINT, P(OP_MIN, X_, ZERO), P(ZERO), EXACT},
    /* rounding twice */
    {FLOATS, P(OP_TRUNC, OP_TRUNC, X_), P(OP_TRUNC, X_), EXACT},
    {FLOATS, P(OP_FLOOR, OP_FLOOR, X_), P(OP_FLOOR, X_), EXACT},
    {FLOATS, P(OP_CEIL, OP_CEIL, X_), P(OP_CEIL, X_), EXACT},
    {FLOATS, P(OP_ROUND, OP_ROUND, X_), P(OP_ROUND, X_), EXACT},
    {FLOATS, P(OP_TRUNC, OP_FLOOR, X_), P(OP_FLOOR, X_), EXACT},
    {FLOATS, P(OP_TRUNC, OP_CEIL, X_), P(OP_CEIL, X_), EXACT},
    {FLOATS, P(OP_TRUNC, OP_ROUND, X_), P(OP_ROUND, X_), EXACT},
    /* bits and logic */
    {BITS, P(OP_NOT, OP_NOT, X_), P(X_), EXACT},
    {BITS, P(OP_AND, X_, X_), P(X_), EXACT},
    {BITS, P(OP_OR, X_, X_), P(X_), EXACT},
    {INTS, P(OP_XOR, X_, X_), P(ZERO), EXACT},
    {BOOL, P(OP_XOR, X_, X_), P(FALSE_), EXACT},
    {INTS, P(OP_AND, X_, ZERO), P(ZERO), EXACT},
    {BOOL, P(OP_AND, X_, FALSE_), P(FALSE_), EXACT},
    {BITS, P(OP_AND, X_, ONES), P(X_), EXACT},
    {INTS, P(OP_OR, X_, ZERO), P(X_), EXACT},
    {BOOL, P(OP_OR, X_, FALSE_), P(X_), EXACT},
    {BITS, P(OP_OR, X_, ONES), P(ONES), EXACT},
    {INTS, P(OP_XOR, X_, ZERO), P(X_), EXACT},
    {BOOL, P(OP_XOR, X_, FALSE_), P(X_), EXACT},
    {BITS, P(OP_XOR, X_, ONES), P(OP_NOT, X_), EXACT},
    {BITS, P(OP_AND, OP_AND, X_, Y_, Y_), P(OP_AND, X_, Y_), EXACT},
    {BITS, P(OP_AND, OP_AND, X_, Y_, X_), P(OP_AND, X_, Y_), EXACT},
    {BITS, P(OP_OR, OP_OR, X_, Y_, Y_), P(OP_OR, X_, Y_), EXACT},
    {BITS, P(OP_OR, OP_OR, X_, Y_, X_), P(OP_OR, X_, Y_), EXACT},
    {BITS, P(OP_AND, X_, OP_NOT, X_), P(OP_XOR, X_, X_), EXACT},
    {BITS, P(OP_OR, X_, OP_NOT, X_), P(ONES), EXACT},
    {BITS, P(OP_XOR, OP_XOR, X_, Y_, Y_), P(X_), EXACT},
    {INTS, P(OP_SHL, X_, ZERO), P(X_), EXACT},
    {INTS, P(OP_SHR, X_, ZERO), P(X_), EXACT},
    {INTS, P(OP_SHL, ZERO, X_), P(ZERO), EXACT},
    {INTS, P(OP_SHR, ZERO, X_), P(ZERO), EXACT},
    /* comparisons */
    {ALL, P(OP_CMPLT, X_, X_), P(FALSE_), EXACT},
    {BITS, P(OP_CMPLE, X_, X_), P(TRUE_), EXACT},
    {BITS, P(OP_CMPEQ, X_, X_), P(TRUE_), EXACT},
    {BITS, P(OP_CMPNE, X_, X_), P(FALSE_), EXACT},
    {FOR_UINT, P(OP_CMPLT, X_, ZERO), P(FALSE_), EXACT},
    {FOR_UINT, P(OP_CMPLE, ZERO, X_), P(TRUE_), EXACT},
    {BOOL, P(OP_CMPNE, X_, FALSE_), P(X_), EXACT},
    {BOOL, P(OP_CMPEQ, X_, TRUE_), P(X_), EXACT},
    {BOOL, P(OP_CMPEQ, X_, FALSE_), P(OP_NOT, X_), EXACT},
    {BOOL, P(OP_CMPNE, X_, TRUE_), P(OP_NOT, X_), EXACT},
    {FLOATS, P(OP_CMPLT, OP_NEG, X_, OP_NEG, Y_), P(OP_CMPLT, Y_, X_), EXACT},
    /* choice */
    {ALL, P(OP_WHERE, C_, X_, X_), P(X_), EXACT},
    {ALL, P(OP_WHERE, TRUE_, X_, Y_), P(X_), EXACT},
    {ALL, P(OP_WHERE, FALSE_, X_, Y_), P(Y_), EXACT},
    {ALL, P(OP_WHERE, OP_NOT, C_, X_, Y_), P(OP_WHERE, C_, Y_, X_), EXACT},
    {BOOL, P(OP_WHERE, C_, TRUE_, FALSE_), P(C_), EXACT},
    {BOOL, P(OP_WHERE, C_, FALSE_, TRUE_), P(OP_NOT, C_), EXACT},
    {ALL, P(OP_WHERE, C_, OP_WHERE, C_, X_, Y_, Y_), P(OP_WHERE, C_, X_, Y_), EXACT},
    {ALL, P(OP_WHERE, C_, X_, OP_WHERE, C_, X_, Y_), P(OP_WHERE, C_, X_, Y_), EXACT},
};
/* clang-format on */
const int identity_count = LEN(identities);

/* ---- constants ---- */

const UOp *const_under(const UOp *u) {
  for (;;) {
    if (u->buffer) return NULL;
    switch (u->op) {
    case OP_CONST: return u;
    case OP_RESHAPE:
    case OP_EXPAND:
    case OP_PERMUTE:
    case OP_SHRINK:
    case OP_FLIP: u = u->src[0]; break;
    default: return NULL;
    }
  }
}

static UOp *fold_constants(UOp *u, void *user) {
  (void)user;
  if (!op_elementwise((Op)u->op)) return NULL;
  Value v[3], r;
  for (int i = 0; i < u->nsrc; i++) {
    const UOp *c = const_under(u->src[i]);
    if (!c) return NULL;
    v[i] = value_of_const(c);
  }
  PolyDType dtype = (PolyDType)u->src[u->op == OP_WHERE ? 1 : 0]->dtype;
  if (!eval_scalar((Op)u->op, dtype, (PolyDType)u->dtype, v, &r)) return NULL;
  UOp *c = value_to_const(u->ctx, (PolyDType)u->dtype, r);
  return u->ndim ? uop_spread(c, u->ndim, u->shape) : c;
}

/* A constant looks the same from everywhere: one RESHAPE to ones and one EXPAND. */
static UOp *spread_constant(UOp *u, void *user) {
  (void)user;
  const UOp *c = const_under(u);
  return c ? uop_spread((UOp *)(uintptr_t)c, u->ndim, u->shape) : NULL;
}

/* ---- conversions ---- */

/* Is every value of a also one of b? */
static bool holds(PolyDType a, PolyDType b) {
  static const int bits[POLY_DTYPE_COUNT] = {
      [POLY_BOOL] = 1,    [POLY_INT8] = 7,     [POLY_UINT8] = 8,    [POLY_INT16] = 15,   [POLY_UINT16] = 16,
      [POLY_INT32] = 31,  [POLY_UINT32] = 32,  [POLY_INT64] = 63,   [POLY_UINT64] = 64,  [POLY_FP8E4M3] = 4,
      [POLY_FP8E5M2] = 3, [POLY_FLOAT16] = 11, [POLY_BFLOAT16] = 8, [POLY_FLOAT32] = 24, [POLY_FLOAT64] = 53};
  if (a == b || a == POLY_BOOL) return true;
  if (b == POLY_BOOL) return false;
  if (dtype_is_float(a))
    return b == POLY_FLOAT64 || (b == POLY_FLOAT32 && a != POLY_FLOAT64) || (a < POLY_FLOAT16 && b >= POLY_FLOAT16);
  if (dtype_is_unsigned(b) && !dtype_is_unsigned(a)) return false;
  return bits[a] <= bits[b];
}

/* CAST(CAST(x)): the way through a dtype that holds all of x's values changes nothing. From wide integers to small
 * floats it is kept, because there the way decides how often the value is rounded. */
static UOp *cast_of_cast(UOp *u, void *user) {
  (void)user;
  const UOp *inner = u->src[0];
  if (inner->op != OP_CAST || inner->buffer) return NULL;
  UOp *x = inner->src[0];
  PolyDType a = (PolyDType)x->dtype, b = (PolyDType)inner->dtype, c = (PolyDType)u->dtype;
  bool wide = dtype_is_int(a) && dtype_size(a) > 2 && dtype_is_small(c);
  return holds(a, b) && !wide ? uop_cast(x, c) : NULL;
}

/* ---- moves ---- */

/* The builders merge a move with the same move below it; this reaches those that came together by rewriting. */
static UOp *move_again(UOp *u, void *user) {
  (void)user;
  return u->src[0]->op == u->op ? uop_with_sources(u, u->src) : NULL;
}

/* SHRINK(SHRINK): the begins add up. SHRINK(PAD) that cuts off exactly what was added: nothing happened. */
static UOp *shrink_of(UOp *u, void *user) {
  (void)user;
  const UOp *in = u->src[0];
  if (in->buffer || (in->op != OP_SHRINK && in->op != OP_PAD)) return NULL;
  UOp *begin[MAX_DIMS], *end[MAX_DIMS];
  bool undone = true;
  for (int i = 0; i < u->ndim; i++) {
    UOp *offset = in->src[1 + 2 * i];
    begin[i] = int_add(u->src[1 + 2 * i], offset);
    end[i] = int_add(u->src[2 + 2 * i], offset);
    undone &= u->src[1 + 2 * i] == offset && u->shape[i] == in->src[0]->shape[i];
  }
  if (in->op == OP_PAD) return undone ? in->src[0] : NULL;
  return uop_shrink(in->src[0], begin, end);
}

static UOp *pad_of_pad(UOp *u, void *user) {
  (void)user;
  const UOp *in = u->src[0];
  if (in->buffer || in->op != OP_PAD) return NULL;
  UOp *before[MAX_DIMS], *after[MAX_DIMS];
  for (int i = 0; i < u->ndim; i++) {
    before[i] = int_add(u->src[1 + 2 * i], in->src[1 + 2 * i]);
    after[i] = int_add(u->src[2 + 2 * i], in->src[2 + 2 * i]);
  }
  return uop_pad(in->src[0], before, after);
}

/* ---- sums of pads ---- */

/* The terms of a sum, all of them PADs. Returns how many there are; -1: some are not, or there are too many. */
static int pads_of(UOp *sum, UOp **pad) {
  UOp *pending[UOP_MAX_PARTS] = {sum};
  int n = 0, left = 1;
  while (left) {
    UOp *u = pending[--left];
    if (u->buffer) return -1;
    if (u->op == OP_PAD) {
      pad[n++] = u;
    } else {
      if (u->op != OP_ADD || n + left + 2 > UOP_MAX_PARTS) return -1;
      pending[left++] = u->src[0];
      pending[left++] = u->src[1];
    }
  }
  return n;
}

/* The one axis that is padded, -1: there is another number of them. */
static int padded_axis(const UOp *pad) {
  int axis = -1;
  for (int i = 0; i < pad->ndim; i++) {
    if (uop_is_int(pad->src[1 + 2 * i], 0) && uop_is_int(pad->src[2 + 2 * i], 0)) continue;
    if (axis >= 0) return -1;
    axis = i;
  }
  return axis;
}

/* Pads whose contents lie side by side along an axis and fill it, as the gradients of its slices do: they are joined.
 * Adding zeros changes nothing but the sign of a zero. */
static UOp *sum_of_pads(UOp *u, void *user) {
  (void)user;
  UOp *pad[UOP_MAX_PARTS], *part[UOP_MAX_PARTS];
  int n = pads_of(u, pad), axis = n > 1 ? padded_axis(pad[0]) : -1;
  if (axis < 0) return NULL;
  UOp *at = uop_index(u->ctx, 0);
  for (int k = 0; k < n; k++) {
    int next = 0;
    while (next < n && (padded_axis(pad[next]) != axis || pad[next]->src[1 + 2 * axis] != at ||
                        uop_is_int(pad[next]->src[0]->shape[axis], 0)))
      next++;
    if (next == n) return NULL;
    part[k] = pad[next]->src[0];
    at = int_add(at, part[k]->shape[axis]);
  }
  return at == u->shape[axis] ? uop_cat(n, part, axis) : NULL;
}

/* Reducing an axis of one element does nothing. */
static UOp *reduce_ones(UOp *u, void *user) {
  (void)user;
  uint32_t axes = (uint32_t)u->arg.j, kept = axes;
  for (int i = 0; i < u->ndim; i++)
    if (uop_is_int(u->src[0]->shape[i], 1)) kept &= ~(1u << i);
  return kept == axes ? NULL : uop_reduce((Op)u->arg.i, u->src[0], kept);
}

static const RewriteRule rules[] = {
    {OP_RESHAPE, spread_constant}, {OP_EXPAND, spread_constant}, {OP_PERMUTE, spread_constant},
    {OP_SHRINK, spread_constant},  {OP_FLIP, spread_constant},   {OP_CAST, cast_of_cast},
    {OP_RESHAPE, move_again},      {OP_EXPAND, move_again},      {OP_PERMUTE, move_again},
    {OP_FLIP, move_again},         {OP_SHRINK, shrink_of},       {OP_PAD, pad_of_pad},
    {OP_REDUCE, reduce_ones},      {OP_ADD, sum_of_pads},        {OP_COUNT, fold_constants},
};

const RewritePass simplify_pass = {
    .name = "simplify",
    .identities = identities,
    .nidentity = LEN(identities),
    .rules = rules,
    .nrule = LEN(rules),
};
