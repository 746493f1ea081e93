/* sum.h: integer expressions as polynomials, the normal form behind int.c. Private to int.c and sum.c. */
#ifndef POLY_SUM_H
#define POLY_SUM_H

#include "ir/uop.h"

/* More terms or factors than this, or products of more terms than the limit, are left alone. */
enum { TERMS = 40, FACTORS = 12, ROUNDS = 12, EXPAND_LIMIT = 32 };

/* sum coef[k]*term[k] + constant; bad: did not fit, the caller falls back to the plain node. */
typedef struct Sum {
  PolyContext *ctx;
  int n;
  bool bad;
  int64_t constant;
  int64_t coef[TERMS];
  UOp *term[TERMS];
} Sum;

/* coef * mono; mono NULL stands for 1. */
typedef struct Mono {
  int64_t coef;
  UOp *mono;
} Mono;

UOp *int_node(Op op, UOp *a, UOp *b); /* plain, not simplified */

/* Monomials: NULL is 1. */
int mono_factors(UOp *m, UOp **out);     /* atoms, sorted; at most FACTORS */
UOp *mono_mul(UOp *a, UOp *b, bool *ok); /* *ok is cleared if it does not fit */
bool mono_div(UOp *a, UOp *b, UOp **q);  /* false: b's atoms are not among a's */
UOp *mono_gcd(UOp *a, UOp *b);           /* the atoms that both have */

Sum sum_of(UOp *u);
void sum_term(Sum *p, int64_t coef, UOp *term);           /* p += coef*term; term NULL: p += coef */
void sum_node(Sum *p, int64_t k, UOp *u);                 /* p += k*u */
void sum_addmul(Sum *p, const Sum *q, int64_t k, UOp *m); /* p += k*q*m */
Sum sum_mul(const Sum *a, const Sum *b);
int64_t sum_min(const Sum *p); /* bounds that know that i < n for i in 0..n */
int64_t sum_max(const Sum *p);
bool int_positive(UOp *u); /* is u >= 1 certain? */
UOp *sum_build(Sum *p);    /* the node; p must not be bad */

#endif
