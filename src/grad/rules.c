/* rules.c: the table of gradient rules and the rules of elementwise and memory ops. In: a node and its gradient. Out:
 * the gradients of its sources, as UOps. A rule may use the node's own value (u) where that is cheaper than computing
 * it again, and must itself be differentiable: no rule detaches anything.
 *
 * Where a formula has a removable singularity, the argument is made harmless *before* the function as well as its
 * result after it: a discarded inf would still turn the next derivative into nan (0 * inf). */
#include "grad/rules.h"
#include "tensor/tensor.h"

#include <math.h>

static const double LN2 = 0.69314718055994530942;
static const double TWO_OVER_ROOT_PI = 1.12837916709551257390;

/* Ops that no gradient passes: leaves, integers, comparisons, and what exists only inside kernels. */
#define grad_BUFFER NULL
#define grad_CONST NULL
#define grad_VARIABLE NULL
#define grad_BIND NULL
#define grad_IOTA NULL
#define grad_RANDOM NULL
#define grad_NOT NULL
#define grad_BITCAST NULL
#define grad_ENDPOINT NULL
#define grad_IDIV NULL
#define grad_MOD NULL
#define grad_AND NULL
#define grad_OR NULL
#define grad_XOR NULL
#define grad_SHL NULL
#define grad_SHR NULL
#define grad_CMPLT NULL
#define grad_CMPLE NULL
#define grad_CMPEQ NULL
#define grad_CMPNE NULL
#define grad_DETACH NULL
#define grad_ARGUMENT NULL
#define grad_SCAN NULL /* loops have a rule of their own: rules_scan.c */
#define grad_FINAL NULL
#define grad_STATES NULL
#define grad_STACKED NULL
#define grad_CLOSED NULL
#define grad_RESULT NULL
#define grad_RANGE NULL
#define grad_PARAM NULL
#define grad_LOAD NULL
#define grad_STORE NULL
#define grad_LOOP NULL
#define grad_MULACC NULL
#define grad_CHECK NULL

const GradRule grad_rules[OP_COUNT] = {
#define X(name, nsrc, cls, dt) [OP_##name] = grad_##name,
#include "ir/ops.def"
};

/* Source 0 of u is x. */
#define UNARY(name, expr)                                                                                              \
  GRAD_RULE(name) {                                                                                                    \
    UOp *x = u->src[0];                                                                                                \
    (void)x, (void)g, (void)need;                                                                                      \
    out[0] = (expr);                                                                                                   \
  }

static UOp *fn(Op op, UOp *x) { return uop_unary(op, x); }

/* 1 - x^2 as (1 - x)(1 + x), which does not cancel near 1; its derivative as -2x, which does not cancel near 0. */
/* The sign is part of it: -(1 - 1) is -0, whose root has the slope of the other side. */
static UOp *square_less_one(UOp *x) {
  return uop_function(FUNCTION_ONE_LESS_SQUARE, 1, mul(addc(x, -1), addc(x, 1)), 1, &x);
}
UOp *one_less_square(UOp *x) { return uop_function(FUNCTION_ONE_LESS_SQUARE, 0, mul(rsubc(1, x), addc(x, 1)), 1, &x); }

UNARY(NEG, neg(g))
UNARY(SQRT, quo(g, mulc(u, 2)))
UNARY(EXP, mul(g, u))
UNARY(EXP2, mul(g, mulc(u, LN2)))
UNARY(EXPM1, mul(g, fn(OP_EXP, x)))
UNARY(LOG, quo(g, x))
UNARY(LOG2, quo(g, mulc(x, LN2)))
UNARY(LOG1P, quo(g, addc(x, 1)))
UNARY(SIN, mul(g, fn(OP_COS, x)))
UNARY(COS, mul(g, neg(fn(OP_SIN, x))))
UNARY(TAN, mul(g, addc(square(u), 1)))
UNARY(ASIN, quo(g, root(one_less_square(x))))
UNARY(ACOS, neg(quo(g, root(one_less_square(x)))))
UNARY(ATAN, quo(g, addc(square(x), 1)))
UNARY(SINH, mul(g, fn(OP_COSH, x)))
UNARY(COSH, mul(g, fn(OP_SINH, x)))
UNARY(TANH, mul(g, one_less_square(u)))
UNARY(ASINH, quo(g, root(addc(square(x), 1))))
UNARY(ACOSH, quo(g, root(square_less_one(x))))
UNARY(ATANH, quo(g, one_less_square(x)))
UNARY(ERF, mul(g, mulc(fn(OP_EXP, neg(square(x))), TWO_OVER_ROOT_PI)))
/* Steps are flat almost everywhere. */
UNARY(TRUNC, uop_zeros_like(x))
UNARY(FLOOR, uop_zeros_like(x))
UNARY(CEIL, uop_zeros_like(x))
UNARY(ROUND, uop_zeros_like(x))
UNARY(CAST, uop_cast(g, (PolyDType)x->dtype))
UNARY(CONTIGUOUS, g)
UNARY(COPY, g)

GRAD_RULE(ADD) {
  (void)u, (void)need;
  out[0] = out[1] = g;
}

GRAD_RULE(SUB) {
  (void)u;
  out[0] = g;
  if (need & 2) out[1] = neg(g);
}

GRAD_RULE(MUL) {
  if (need & 1) out[0] = mul(g, u->src[1]);
  if (need & 2) out[1] = mul(g, u->src[0]);
}

GRAD_RULE(DIV) {
  UOp *by = quo(g, u->src[1]);
  if (need & 1) out[0] = by;
  if (need & 2) out[1] = neg(mul(by, u));
}

/* The larger (smaller) side takes it all; equal sides take half each. NaN passes on both sides. */
static void extremum(UOp *u, UOp *g, uint32_t need, UOp **out) {
  UOp *a = u->src[0], *b = u->src[1];
  UOp *shared = uop_where(equal(a, b), mulc(g, 0.5), g);
  bool is_max = u->op == OP_MAX;
  if (need & 1) out[0] = keep_unless(uop_binary(OP_CMPLT, is_max ? a : b, is_max ? b : a), shared);
  if (need & 2) out[1] = keep_unless(uop_binary(OP_CMPLT, is_max ? b : a, is_max ? a : b), shared);
}
GRAD_RULE(MAX) { extremum(u, g, need, out); }
GRAD_RULE(MIN) { extremum(u, g, need, out); }

/* d/da a^b = b a^(b-1), 0 for b = 0 whatever a is. */
static UOp *pow_base(UOp *a, UOp *b, UOp *g) {
  if (b->op == OP_CONST) {
    double c = const_float(b);
    if (c == 0) return uop_zeros_like(g);
    if (c == 1) return g;
    if (c == 2) return mul(g, mulc(a, 2));
    return mul(g, mulc(t_pow(a, like(a, c - 1)), c));
  }
  UOp *flat = is_zero(b);
  UOp *exponent = uop_where(flat, like(b, 1), b);
  return keep_unless(flat, mul(g, mul(exponent, uop_binary(OP_POW, a, addc(exponent, -1)))));
}

/* d/db a^b = a^b log a, 0 for a = 0 and b >= 0. */
static UOp *pow_exponent(UOp *u, UOp *a, UOp *b, UOp *g) {
  if (a->op == OP_CONST && const_float(a) != 0) return mul(g, mulc(u, log(const_float(a))));
  UOp *flat = uop_binary(OP_CMPLE, like(b, 0), b);
  if (a->op == OP_CONST) return keep_unless(flat, mul(g, mulc(u, -INFINITY)));
  flat = uop_binary(OP_AND, is_zero(a), flat);
  UOp *safe = uop_where(flat, like(a, 1), a);
  return keep_unless(flat, mul(g, mul(u, fn(OP_LOG, safe))));
}

GRAD_RULE(POW) {
  if (need & 1) out[0] = pow_base(u->src[0], u->src[1], g);
  if (need & 2) out[1] = pow_exponent(u, u->src[0], u->src[1], g);
}

/* a less a whole number of times b. That number is rounded from what was taken off: a / b itself may round up to it.
 * Without a remainder (b is 0, a infinite) it is a / b. */
GRAD_RULE(FMOD) {
  UOp *a = u->src[0], *b = u->src[1];
  if (need & 1) out[0] = g;
  if (need & 2)
    out[1] = neg(mul(g, uop_where(equal(u, u), uop_unary(OP_ROUND, quo(sub(a, u), b)), uop_detach(quo(a, b)))));
}

static bool const_zero(const UOp *u) {
  return u->op == OP_CONST && dtype_is_float((PolyDType)u->dtype) && const_float(u) == 0;
}

/* 0 where x <= 0, else x (relu): its own value says where that is, so that x need not be kept for the gradient. */
static UOp *where_condition(UOp *u) {
  UOp *c = u->src[0];
  bool relu = c->op == OP_CMPLE && c->src[0] == u->src[2] && const_zero(c->src[1]) && const_zero(u->src[1]);
  return relu ? uop_binary(OP_CMPLE, u, c->src[1]) : c;
}

GRAD_RULE(WHERE) {
  UOp *c = where_condition(u);
  if (need & 2) out[1] = keep_if(c, g);
  if (need & 4) out[2] = keep_unless(c, g);
}

/* What the memory held before is gone: only the value counts. */
GRAD_RULE(ASSIGN) {
  (void)u, (void)need;
  out[1] = g;
}
