/* row_terms.c: what edges take from the row that they are reduced to is taken once for each row.
 *
 *   max over e of leaky_relu(src(x) + dst(y))   ->   leaky_relu(max over e of src(x) + y)
 *   mean over e of src(x) + dst(y)              ->   mean over e of src(x) + y, where there are edges
 *   variance over e of src(x) - dst(y)          ->   variance over e of src(x)
 *
 * Rounding keeps the order of numbers, so that the maximum of rounded values is the rounded value of the maximum: the
 * result is the same to the last bit (but where infinities of both signs meet: inf - inf of one edge hides behind the
 * infinity of another). Its gradient finds the largest x, which one edge reads for another row, rather than
 * the largest sum, and the gradient of y is that of the row. As in edge_to_node.c, nodes are built so from the
 * beginning, so that gradients are built from them. */
#include "ir/row_terms.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"

#include <math.h>

/* A monotone step: which source it leads through, and whether it turns the order round; -1: u is no such step. reads:
 * does it read a value of the row? */
typedef struct Step {
  int through;
  bool falls, reads;
} Step;

static bool is_of_row(const UOp *u, const UOp *end, bool *reads) {
  bool row = is_row_read(u) && u->src[1] == end;
  *reads |= row;
  return row || u->op == OP_CONST || (!u->buffer && repeats_row(u));
}

/* A floating-point constant; NAN: u is none, or not finite. */
static double number(const UOp *u) {
  double v = u->op == OP_CONST && dtype_is_float((PolyDType)u->dtype) ? const_float(u) : NAN;
  return isfinite(v) ? v : NAN;
}

/* relu: x <= 0 ? 0 : x; leaky: 0 < x ? x : x * slope. */
static int through_where(const UOp *u) {
  const UOp *c = u->src[0], *a = u->src[1], *b = u->src[2];
  if (c->buffer) return -1;
  if (c->op == OP_CMPLE && number(c->src[1]) == 0 && number(a) == 0 && c->src[0] == b) return 2;
  bool leaky = c->op == OP_CMPLT && number(c->src[0]) == 0 && c->src[1] == a && b->op == OP_MUL && !b->buffer;
  return leaky && b->src[0] == a && number(b->src[1]) > 0 ? 1 : -1;
}

static Step step_of(const UOp *u, const UOp *end) {
  Step s = {.through = -1};
  if (u->buffer || !dtype_is_float((PolyDType)u->dtype)) return s;
  switch (u->op) {
  case OP_ADD:
  case OP_MAX:
  case OP_MIN:
    for (int i = 0; i < 2 && s.through < 0; i++)
      if (is_of_row(u->src[1 - i], end, &s.reads)) s.through = i;
    break;
  case OP_SUB:
    if (is_of_row(u->src[1], end, &s.reads))
      s.through = 0;
    else if (is_of_row(u->src[0], end, &s.reads))
      s = (Step){1, true, s.reads};
    break;
  case OP_NEG: return (Step){0, true, false};
  case OP_MUL:
  case OP_DIV:
    if (number(u->src[1]) > 0 || number(u->src[1]) < 0) s = (Step){0, number(u->src[1]) < 0, false};
    break;
  case OP_WHERE: s.through = through_where(u); break;
  case OP_RESHAPE:
    if (u->ndim && u->src[0]->ndim && u->shape[0] == u->src[0]->shape[0]) s.through = 0;
    break;
  default: break;
  }
  return s;
}

UOp *below_row_terms(UOp *x, UOp *end, bool *falls) {
  UOp *below = x;
  bool turned = false;
  *falls = false;
  for (Step s; x && (s = step_of(x, end)).through >= 0;) {
    x = x->src[s.through];
    turned ^= s.falls;
    if (!s.reads) continue;
    below = x;
    *falls = turned;
  }
  return below;
}

UOp *with_row_terms(UOp *x, UOp *below, UOp *rows, UOp *end) {
  if (x == below || !rows) return rows;
  Step s = step_of(x, end);
  UOp *from = x->src[s.through], *inner = with_row_terms(from, below, rows, end), *zero;
  if (!inner) return NULL;
  UOp *nodes = inner->shape[0], *shape[MAX_DIMS] = {nodes};
  switch (x->op) {
  case OP_NEG: return uop_unary(OP_NEG, inner);
  case OP_RESHAPE:
    for (int i = 1; i < x->ndim; i++) shape[i] = x->shape[i];
    return uop_reshape(inner, x->ndim, shape);
  case OP_WHERE:
    zero = uop_const(x->ctx, (PolyDType)x->dtype, 0);
    if (s.through == 2) return uop_where(uop_binary(OP_CMPLE, inner, zero), zero, inner);
    return uop_where(uop_binary(OP_CMPLT, zero, inner), inner, uop_binary(OP_MUL, inner, x->src[2]->src[1]));
  default:; /* of two sources, the other one of which is of the row */
    UOp *row = node_part(x->src[1 - s.through], end, nodes);
    return row ? uop_binary((Op)x->op, s.through ? row : inner, s.through ? inner : row) : NULL;
  }
}

UOp *below_row_shifts(UOp *x, UOp *end) {
  UOp *below = x;
  bool shifts = true;
  for (Step s; x && shifts && (s = step_of(x, end)).through >= 0;) {
    shifts = x->op == OP_ADD || x->op == OP_SUB || x->op == OP_NEG || x->op == OP_RESHAPE;
    x = x->src[s.through];
    if (shifts && s.reads) below = x;
  }
  return below;
}

UOp *without_row_shifts(UOp *x, UOp *end) {
  UOp *below = below_row_shifts(x, end);
  return below == x ? x : uop_reshape(below, x->ndim, x->shape);
}
