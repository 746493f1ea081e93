/* eval.h: one elementwise op on one element. Constant folding and the interpreter device both use it, so that a folded
 * program and a run one agree; other devices are tested against it. */
#ifndef POLY_EVAL_H
#define POLY_EVAL_H

#include "ir/uop.h"

/* One element. bool: i is 0 or 1; integers: i, extended to 64 bits by their own sign rule (uint64: its bits); floats:
 * f, already rounded to the dtype. */
typedef union Value {
  int64_t i;
  double f;
} Value;

/* out = op(src...). dtype: that of the sources (of a and b for WHERE); to: that of the result, looked at by CAST and
 * BITCAST alone. False: not an elementwise op, or one that does not take the dtype. */
bool eval_scalar(Op op, PolyDType dtype, PolyDType to, const Value *src, Value *out);

Value value_load(const void *p, PolyDType dtype);        /* from memory in the dtype's own layout */
void value_store(void *p, PolyDType dtype, Value v);     /* and back */
Value value_cast(Value v, PolyDType from, PolyDType to); /* what CAST does */
Value value_of_const(const UOp *u);                      /* of a CONST */
UOp *value_to_const(PolyContext *ctx, PolyDType dtype, Value v);
Value value_identity(Op op, PolyDType dtype);       /* of the reductions ADD MUL MAX MIN */
bool value_same(Value a, Value b, PolyDType dtype); /* bit for bit, any NaN equal to any NaN */

#endif
