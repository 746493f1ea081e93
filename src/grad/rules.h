/* rules.h: the gradient rules, one for each op, and the small words that they are written in.
 *
 * A rule gets u, the gradient g of u (same shape and dtype) and the sources that need one (bits of `need`, a subset of
 * grad_mask(u)); it sets out[k] to the gradient of source k. NULL in out means that a builder failed.
 *
 * Every row of ops.def has a rule here or stands in the list of ops without a gradient in rules.c; an op that has
 * neither does not compile. */
#ifndef POLY_GRAD_RULES_H
#define POLY_GRAD_RULES_H

#include "grad/grad.h"

#include <math.h>

enum { GRAD_MAX_SRC = 32 };

typedef void (*GradRule)(UOp *u, UOp *g, uint32_t need, UOp **out);
#define GRAD_RULE(name) void grad_##name(UOp *u, UOp *g, uint32_t need, UOp **out)

/* NULL: no gradient passes the op. */
extern const GradRule grad_rules[OP_COUNT];

/* rules.c */
GRAD_RULE(NEG);
GRAD_RULE(SQRT);
GRAD_RULE(EXP);
GRAD_RULE(EXP2);
GRAD_RULE(EXPM1);
GRAD_RULE(LOG);
GRAD_RULE(LOG2);
GRAD_RULE(LOG1P);
GRAD_RULE(SIN);
GRAD_RULE(COS);
GRAD_RULE(TAN);
GRAD_RULE(ASIN);
GRAD_RULE(ACOS);
GRAD_RULE(ATAN);
GRAD_RULE(SINH);
GRAD_RULE(COSH);
GRAD_RULE(TANH);
GRAD_RULE(ASINH);
GRAD_RULE(ACOSH);
GRAD_RULE(ATANH);
GRAD_RULE(ERF);
GRAD_RULE(TRUNC);
GRAD_RULE(FLOOR);
GRAD_RULE(CEIL);
GRAD_RULE(ROUND);
GRAD_RULE(CAST);
GRAD_RULE(ADD);
GRAD_RULE(SUB);
GRAD_RULE(MUL);
GRAD_RULE(DIV);
GRAD_RULE(MAX);
GRAD_RULE(MIN);
GRAD_RULE(POW);
GRAD_RULE(FMOD);
GRAD_RULE(WHERE);
GRAD_RULE(CONTIGUOUS);
GRAD_RULE(ASSIGN);
GRAD_RULE(COPY);
UOp *one_less_square(UOp *x); /* 1 - x^2, and its derivative, without cancelling */
/* rules_move.c */
GRAD_RULE(RESHAPE);
GRAD_RULE(EXPAND);
GRAD_RULE(PERMUTE);
GRAD_RULE(PAD);
GRAD_RULE(CAT);
GRAD_RULE(SHRINK);
GRAD_RULE(FLIP);
GRAD_RULE(REDUCE);
/* rules_index.c */
GRAD_RULE(GATHER);
GRAD_RULE(SEGMENT);
GRAD_RULE(LIBRARY);
/* rules_scan.c. Of a loop over steps: the gradients of its sources for which need is set, out of those of its results;
 * NULL in out: zero everywhere. False: an error, or a builder failed. */
bool grad_scan(UOp *scan, int nresult, UOp *const *result, UOp *const *g, const bool *need, UOp **out);
/* rules_function.c */
GRAD_RULE(FUNCTION);
uint32_t grad_function_mask(const UOp *u);      /* which of its sources a gradient flows into */
void grad_scattered(UOp *u, UOp *g, UOp **out); /* FUNCTION_SCATTERED */
uint32_t grad_library_mask(const UOp *u);       /* which sources of a routine have a rule; 0: none */
/* rules_matrices.c */
uint32_t grad_matrix_mask(
    const char *name); /* which sources of a routine of matrices have a rule; 0: it is none, or none have */
void grad_matrix(UOp *u, UOp *g, uint32_t need, UOp **out);
/* rules_product.c */
UOp *grad_product(UOp *u, UOp *g, uint32_t axes);
UOp *grad_segment_product(UOp *u, UOp *g);
UOp *grad_others(UOp *u, UOp *w); /* FUNCTION_OTHERS */
UOp *grad_running_product(UOp *u, UOp *g);
void grad_recurrence(UOp *u, UOp *g, uint32_t need, UOp **out);

/* Is it 1 everywhere, whatever its shape? A pass starts with ones, and 1 * x is x, to the bit. */
static inline bool all_ones(const UOp *u) {
  while (u->op == OP_RESHAPE || u->op == OP_EXPAND) u = u->src[0];
  return u->op == OP_CONST && const_float(u) == 1;
}

/* Words for rules. A constant takes the dtype of the tensor beside it. */
static inline UOp *like(const UOp *x, double c) { return x ? uop_const(x->ctx, (PolyDType)x->dtype, c) : NULL; }
static inline UOp *add(UOp *a, UOp *b) { return uop_binary(OP_ADD, a, b); }
static inline UOp *sub(UOp *a, UOp *b) { return uop_binary(OP_SUB, a, b); }
static inline UOp *mul(UOp *a, UOp *b) {
  if (a && b && a->dtype == b->dtype) {
    if (all_ones(a) && shape_equal(a, b)) return b;
    if (all_ones(b) && shape_equal(a, b)) return a;
  }
  return uop_binary(OP_MUL, a, b);
}
static inline UOp *quo(UOp *a, UOp *b) { return uop_binary(OP_DIV, a, b); }
static inline UOp *neg(UOp *a) { return uop_unary(OP_NEG, a); }
static inline UOp *root(UOp *a) { return uop_unary(OP_SQRT, a); }
static inline UOp *addc(UOp *a, double c) { return add(a, like(a, c)); }
static inline UOp *mulc(UOp *a, double c) { return mul(a, like(a, c)); }
static inline UOp *rsubc(double c, UOp *a) { return sub(like(a, c), a); }
static inline UOp *square(UOp *a) { return mul(a, a); }
static inline UOp *equal(UOp *a, UOp *b) { return uop_binary(OP_CMPEQ, a, b); }
static inline UOp *is_zero(UOp *a) { return equal(a, like(a, 0)); }
/* g where cond, 0 elsewhere; and the other way round. */
static inline UOp *keep_if(UOp *cond, UOp *g) { return uop_where(cond, g, like(g, 0)); }
static inline UOp *keep_unless(UOp *cond, UOp *g) { return uop_where(cond, like(g, 0), g); }
/* The gradient of elements that are not u, their maximum or minimum: 0, or NaN where u is NaN, which equals no element.
 */
static inline UOp *beside(UOp *u) { return u ? uop_where(equal(u, u), like(u, 0), like(u, NAN)) : NULL; }

/* Sums are taken in a wider dtype where that of x is narrow: grad_wide(x), and back with uop_cast. */
static inline UOp *grad_wide(UOp *x) { return x ? uop_cast(x, dtype_sum((PolyDType)x->dtype)) : NULL; }

#endif
