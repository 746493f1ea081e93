/* rules_index.c: gradients of what reads or writes through an index (GATHER, SEGMENT) and of scans. A gather's gradient
 * is a segment sum and the other way round, so the set is closed: every gradient is again a loop owned by one row. */
#include "grad/rules.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

/* out[i..., f...] = x[index[i...], f...]: rows that were read several times collect. O(size of index * row). */
GRAD_RULE(GATHER) {
  (void)need;
  UOp *x = u->src[0], *index = u->src[1];
  UOp *dims[MAX_DIMS], *rows = uop_numel(index);
  dims[0] = rows;
  for (int k = 1; k < x->ndim; k++) dims[k] = x->shape[k];
  UOp *flat = uop_reshape(g, x->ndim, dims);
  UOp *sum = uop_segment(OP_ADD, grad_wide(flat), uop_reshape(index, 1, &rows), x->shape[0]);
  out[0] = uop_cast(sum, (PolyDType)x->dtype);
}

static bool is_given(const UOp *u, void *user) {
  (void)user;
  return u->op == OP_GATHER || u->buffer;
}

/* May two kernels come to different last bits? Sums are added up in the order of the loops around them. */
static bool rounds_freely(const UOp *u) {
  switch (u->op) {
  case OP_REDUCE:
  case OP_SEGMENT: return (u->arg.i == OP_ADD || u->arg.i == OP_MUL) && dtype_is_float((PolyDType)u->dtype);
  case OP_POW: return true;
  case OP_NEG:
  case OP_CAST:
  case OP_SQRT:
  case OP_TRUNC: return false;
  default: return op_info[u->op].cls == CLASS_UNARY && dtype_is_float((PolyDType)u->dtype);
  }
}

/* Are there elements that are not found again by comparing? What is gathered is stored, and the same for all kernels.
 */
static bool is_inexact(UOp *x) {
  Arena arena = {.b = ctx_base(x->ctx)};
  Walk w;
  bool found = false;
  if (uop_walk(x->ctx, &arena, 1, &x, is_given, NULL, &w))
    for (int i = 0; i < w.n && !found; i++) found = !is_given(w.at[i], NULL) && rounds_freely(w.at[i]);
  arena_free(&arena);
  return found;
}

/* For each element its number, [n, 1 ...] spread like x. */
static UOp *places(UOp *x) {
  UOp *dims[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) dims[k] = k ? uop_index(x->ctx, 1) : x->shape[0];
  UOp *iota = uop_reshape(uop_iota(x->ctx, POLY_INT64, x->shape[0]), x->ndim, dims);
  return iota ? uop_expand(iota, x->shape) : NULL;
}

/* Which element is its segment's maximum (minimum; the first of equal ones): value and place in one whole number, whose
 * maximum is found by one reduction. A float32's bits, with those of negative ones turned round, are in its order. */
static UOp *hit_by_place(UOp *u) {
  UOp *x = u->src[0], *index = u->src[1], *place = places(x);
  UOp *value = uop_cast(u->arg.i == OP_MIN ? neg(x) : x, POLY_FLOAT32);
  UOp *bits = value ? uop_bitcast(value, POLY_INT32) : NULL;
  if (!bits || !place) return NULL;
  UOp *turned = uop_binary(OP_XOR, bits, uop_int_const(x->ctx, POLY_INT32, INT32_MAX));
  UOp *order = uop_where(uop_binary(OP_CMPLT, bits, uop_int_const(x->ctx, POLY_INT32, 0)), turned, bits);
  UOp *last = uop_int_const(x->ctx, POLY_INT64, UINT32_MAX),
      *base = uop_int_const(x->ctx, POLY_INT64, (int64_t)1 << 32);
  UOp *key = uop_binary(OP_ADD, uop_binary(OP_MUL, uop_cast(order, POLY_INT64), base), uop_binary(OP_SUB, last, place));
  UOp *best = uop_segment(OP_MAX, key, index, u->shape[0]);
  UOp *found = best ? uop_binary(OP_SUB, last, uop_binary(OP_MOD, best, base)) : NULL;
  return found ? equal(place, uop_gather(found, index)) : NULL;
}

/* Elements that are their segment's maximum (minimum) share its gradient equally. Where that is NaN no element equals
 * it: the share is divided by 0, and NaN for all of them once it is multiplied by 0. By place, the NaN itself is found.
 */
static UOp *segment_extremum(UOp *u, UOp *g) {
  UOp *x = u->src[0], *index = u->src[1];
  bool inexact = dtype_is_float((PolyDType)x->dtype) && is_inexact(x);
  if (inexact && x->dtype != POLY_FLOAT64) {
    UOp *place = hit_by_place(u), *known = uop_where(equal(u, u), g, like(g, NAN));
    return place ? mul(uop_cast(place, (PolyDType)g->dtype), uop_gather(known, index)) : NULL;
  }
  if (inexact) { /* no whole number has room for a float64 and a place: it is stored */
    x = uop_contiguous(x, 0);
    u = uop_segment((Op)u->arg.i, x, index, u->shape[0]);
    if (!u) return NULL;
  }
  UOp *hit = equal(x, uop_gather(u, index)), *wide = grad_wide(g);
  UOp *part = hit && wide ? uop_cast(hit, (PolyDType)wide->dtype) : NULL;
  UOp *count = uop_segment(OP_ADD, part, index, u->shape[0]), *known = equal(u, u);
  /* An empty segment has a share of 0: no element reads it, but a product of all rows may. */
  count = uop_binary(OP_MAX, count, known && wide ? uop_cast(known, (PolyDType)wide->dtype) : NULL);
  UOp *share = uop_cast(quo(wide, count), (PolyDType)x->dtype);
  return share ? mul(uop_cast(hit, (PolyDType)share->dtype), uop_gather(share, index)) : NULL;
}

/* Rows of x and the entries that were scattered to them share the gradient equally. Where entries are not found again
 * by comparing, the row and the one entry that is found by place have half each. A row that is computed again is
 * compared with the best entry only, and not with u, which may hold another rounding of it. */
void grad_scattered(UOp *u, UOp *g, UOp **out) {
  UOp *x = u->src[1], *entry = u->src[2], *index = u->src[3], *best = u;
  Op op = (Op)function_parameter(u);
  bool again = is_inexact(entry) || is_inexact(x);
  if (again) best = uop_segment(op, entry, index, u->shape[0]);
  UOp *low = op == OP_MAX ? x : best, *high = op == OP_MAX ? best : x;
  if (is_inexact(entry)) {
    UOp *shared = uop_where(equal(x, best), mulc(g, 0.5), g);
    out[1] = keep_unless(uop_binary(OP_CMPLT, low, high), shared);
    out[2] = best ? segment_extremum(best, keep_unless(uop_binary(OP_CMPLT, high, low), shared)) : NULL;
    return;
  }
  UOp *wide = grad_wide(g), *others = beside(u);
  UOp *own = again ? uop_binary(OP_CMPLE, high, low) : equal(x, u);
  UOp *hit = equal(entry, uop_gather(best, index));
  if (again) hit = uop_binary(OP_AND, hit, uop_gather(uop_binary(OP_CMPLE, low, high), index));
  if (!wide || !own || !hit) return;
  UOp *count = uop_segment(OP_ADD, uop_cast(hit, (PolyDType)wide->dtype), index, u->shape[0]);
  UOp *share = uop_cast(quo(wide, add(count, uop_cast(own, (PolyDType)wide->dtype))), (PolyDType)x->dtype);
  out[1] = uop_where(own, share, others);
  out[2] = uop_where(hit, uop_gather(share, index), uop_gather(others, index));
}

GRAD_RULE(SEGMENT) {
  (void)need;
  switch ((Op)u->arg.i) {
  case OP_ADD: out[0] = uop_gather(g, u->src[1]); break;
  case OP_MUL: out[0] = grad_segment_product(u, g); break;
  default: out[0] = segment_extremum(u, g); break;
  }
}

/* ---- scans ---- */

static Op scan_op(const UOp *u) { return (Op)u->arg.i; }
static int scan_axis(const UOp *u) { return u->ndim - 1; }

/* out[k] = sum of x[i] over i >= k. */
static UOp *scan_back(UOp *x, int axis) { return uop_flip(t_scan(OP_ADD, uop_flip(x, 1u << axis), axis), 1u << axis); }

/* Each running maximum (minimum) is the element that set it last: where[k] is the latest i <= k with x[i] == u[i], or
 * the latest NaN. The gradient of k is added there. Places are numbered through the whole tensor, so that one segment
 * sum does it. Elements that are computed again are compared with what is computed of them, as in a reduction's rule.
 */
static UOp *scan_extremum(UOp *u, UOp *g) {
  UOp *x = u->src[0];
  int axis = scan_axis(u);
  UOp *best = x->op == OP_BUFFER ? u : t_scan(scan_op(u), uop_detach(x), axis);
  PolyDType index = uop_numel_max(u) > INT32_MAX ? POLY_INT64 : POLY_INT32;
  UOp *total = uop_numel(u);
  UOp *place = uop_reshape(uop_iota(u->ctx, index, total), u->ndim, u->shape);
  UOp *along = uop_expand(t_iota_axis(u->ctx, index, u->shape[axis], u->ndim, axis), u->shape);
  if (!place || !along || !best) return NULL;
  UOp *sets = uop_binary(OP_OR, equal(x, best), uop_binary(OP_CMPNE, x, x));
  UOp *latest = t_scan(OP_MAX, uop_where(sets, along, like(along, 0)), axis);
  UOp *stride = uop_index(u->ctx, 1);
  for (int k = axis + 1; k < u->ndim; k++) stride = int_mul(stride, u->shape[k]);
  UOp *step =
      stride && uop_is_int(stride, 1) ? sub(latest, along) : t_mul(sub(latest, along), t_size_value(stride, index));
  UOp *target = uop_reshape(add(place, step), 1, &total);
  UOp *sum = uop_segment(OP_ADD, grad_wide(uop_reshape(g, 1, &total)), target, total);
  return sum ? uop_reshape(uop_cast(sum, (PolyDType)x->dtype), x->ndim, x->shape) : NULL;
}

/* Routines that give places (argsort, segment_order) are integers and never get here. */
uint32_t grad_library_mask(const UOp *u) {
  if (!u->arg.name) return 0;
  if (strcmp(u->arg.name, "scan") == 0) return 1;
  return strcmp(u->arg.name, "recurrence") == 0 ? 3 : grad_matrix_mask(u->arg.name);
}

GRAD_RULE(LIBRARY) {
  if (strcmp(u->arg.name, "recurrence") == 0) {
    grad_recurrence(u, g, need, out);
    return;
  }
  if (grad_matrix_mask(u->arg.name)) {
    grad_matrix(u, g, need, out);
    return;
  }
  switch (scan_op(u)) {
  case OP_ADD: out[0] = scan_back(g, scan_axis(u)); break;
  case OP_MUL: out[0] = grad_running_product(u, g); break;
  default: out[0] = scan_extremum(u, g); break;
  }
}
