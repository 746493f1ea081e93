/* quotient.c: quotients whose operands are known to be of moderate size. In: a division of float32. Out: may it be
 * written without a look at the ranges of its operands?
 *
 *   e = exp(x < 0 ? x : -x)      (x < 0 ? e : 1) / (e + 1)      a sigmoid: 0 <= a <= 2, 1 <= b <= 3
 *
 * A card divides by an approximate reciprocal and a few multiply-adds, which give the rounded quotient where nothing
 * overflows on the way. For all other operands it has a branch, and loads or functions of other elements cannot pass
 * it. Bounds are of numbers: what is NaN gives NaN in any case. Quotients below 2^-100 may be off by their last bit. */
#include "render/emit.h"

#include <math.h>
#include <string.h>

enum { DEEP = 8 };

typedef struct Bounds {
  double lo, hi;
} Bounds;

static bool is_zero(const Inst *in) { return in->kind == INST_CONST && in->arg.i == 0; }

/* Is it the smaller of x and -x, as abs and sigmoid write it: x < 0 ? x : -x? */
static bool is_minus_abs(const Emit *e, const Inst *in) {
  const Inst *inst = e->lin->inst, *less = &inst[in->src[0]], *minus = &inst[in->src[2]];
  return less->kind == INST_ALU && less->op == OP_CMPLT && less->src[0] == in->src[1] && is_zero(&inst[less->src[1]]) &&
         minus->kind == INST_ALU && minus->op == OP_NEG && minus->src[0] == in->src[1];
}

static Bounds bounds_of(const Emit *e, int i, int depth) {
  const Inst *in = &e->lin->inst[i];
  Bounds a = {-INFINITY, INFINITY}, b;
  if (depth == 0 || in->dtype != POLY_FLOAT32) return a;
  if (in->kind == INST_CONST) {
    memcpy(&a.lo, &in->arg.i, sizeof a.lo);
    a.hi = a.lo;
    return a;
  }
  if (in->kind != INST_ALU) return a;
  switch (in->op) {
  case OP_EXP: a = bounds_of(e, in->src[0], depth - 1); return (Bounds){0, a.hi > 80 ? INFINITY : 2 * exp(a.hi)};
  case OP_NEG: a = bounds_of(e, in->src[0], depth - 1); return (Bounds){-a.hi, -a.lo};
  case OP_ADD:
    a = bounds_of(e, in->src[0], depth - 1);
    b = bounds_of(e, in->src[1], depth - 1);
    return (Bounds){a.lo + b.lo, a.hi + b.hi};
  case OP_WHERE:
    if (is_minus_abs(e, in)) return (Bounds){-INFINITY, 0};
    a = bounds_of(e, in->src[1], depth - 1);
    b = bounds_of(e, in->src[2], depth - 1);
    return (Bounds){fmin(a.lo, b.lo), fmax(a.hi, b.hi)};
  default: return a;
  }
}

bool is_near_quotient(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  const double most = 0x1p60;
  if (!e->style->tensor || in->kind != INST_ALU || in->op != OP_DIV || in->dtype != POLY_FLOAT32) return false;
  Bounds a = bounds_of(e, in->src[0], DEEP), b = bounds_of(e, in->src[1], DEEP);
  return a.lo >= 0 && a.hi <= most && b.lo >= 1 && b.hi <= most;
}
