/* rules_move.c: gradients of movement and of reductions. A movement's gradient is the movement back; where one element
 * was read several times (EXPAND) its gradients are summed, where it was dropped (SHRINK) there is a zero. */
#include "grad/rules.h"

GRAD_RULE(RESHAPE) {
  (void)need;
  out[0] = uop_reshape(g, u->src[0]->ndim, u->src[0]->shape);
}

GRAD_RULE(EXPAND) {
  (void)need;
  UOp *x = u->src[0];
  uint32_t expanded = 0;
  for (int k = 0; k < x->ndim; k++)
    if (x->shape[k] != u->shape[k]) expanded |= 1u << k;
  out[0] = expanded ? uop_cast(uop_reduce(OP_ADD, grad_wide(g), expanded), (PolyDType)x->dtype) : g;
}

GRAD_RULE(PERMUTE) {
  (void)need;
  int back[MAX_DIMS];
  for (int k = 0; k < u->ndim; k++) back[perm_at(u, k)] = k;
  out[0] = uop_permute(g, back);
}

GRAD_RULE(FLIP) {
  (void)need;
  out[0] = uop_flip(g, (uint32_t)u->arg.i);
}

/* Further sources of PAD: before, after of axis 0, of axis 1 ...; of SHRINK: begin, end. */
GRAD_RULE(PAD) {
  (void)need;
  UOp *x = u->src[0], *begin[MAX_DIMS], *end[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) {
    begin[k] = u->src[1 + 2 * k];
    end[k] = int_add(begin[k], x->shape[k]);
  }
  out[0] = uop_shrink(g, begin, end);
}

GRAD_RULE(SHRINK) {
  (void)need;
  UOp *x = u->src[0], *before[MAX_DIMS], *after[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) {
    before[k] = u->src[1 + 2 * k];
    after[k] = int_sub(x->shape[k], u->src[2 + 2 * k]);
  }
  out[0] = uop_pad(g, before, after);
}

/* Each part gets its own part of the gradient. */
GRAD_RULE(CAT) {
  int axis = (int)u->arg.i;
  UOp *begin[MAX_DIMS], *end[MAX_DIMS], *at = uop_index(u->ctx, 0);
  for (int k = 0; k < u->ndim; k++) {
    begin[k] = uop_index(u->ctx, 0);
    end[k] = u->shape[k];
  }
  for (int i = 0; i < u->nsrc; i++) {
    begin[axis] = at;
    end[axis] = at = int_add(at, u->src[i]->shape[axis]);
    if (need & (1u << i)) out[i] = uop_shrink(g, begin, end);
  }
}

/* The gradient goes to the elements that are the maximum (minimum), in equal shares. They are found by comparing.
 * Elements that are computed again may come out with another rounding than those that an earlier plan took u from: the
 * node that they are compared with is another one than u, and like u without DETACH, so that a plan computes u once. */
static UOp *extremum(UOp *u, UOp *g, uint32_t axes) {
  UOp *x = u->src[0], *best = x->op == OP_BUFFER ? u : uop_reduce((Op)u->arg.i, uop_detach(x), axes);
  UOp *hit = best ? equal(x, uop_expand(best, x->shape)) : NULL;
  UOp *wide = grad_wide(g);
  UOp *count = uop_reduce(OP_ADD, hit && wide ? uop_cast(hit, (PolyDType)wide->dtype) : NULL, axes);
  UOp *share = uop_cast(quo(wide, count), (PolyDType)x->dtype);
  UOp *others = beside(u);
  return share && others ? uop_where(hit, uop_expand(share, x->shape), uop_expand(others, x->shape)) : NULL;
}

GRAD_RULE(REDUCE) {
  (void)need;
  uint32_t axes = (uint32_t)u->arg.j;
  switch ((Op)u->arg.i) {
  case OP_ADD: out[0] = uop_expand(g, u->src[0]->shape); break;
  case OP_MUL: out[0] = grad_product(u, g, axes); break;
  default: out[0] = extremum(u, g, axes); break;
  }
}
