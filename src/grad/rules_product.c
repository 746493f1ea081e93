/* rules_product.c: gradients of products: over axes, over segments, and running ones; and of the recurrence that these
 * lead to.
 *
 * The derivative of a product by one factor is the product of the others. Divided out of the whole product it is wrong
 * where that factor is zero or infinite, and its own derivative subtracts the large term of a small factor from a sum
 * that holds it. So products over axes and running products are made of running products of what stands before and
 * behind each factor, which divide by nothing, in every order of derivatives. The entries of a segment are in no order
 * in memory: there the product is divided, and the second derivative has a rule of its own (grad_others). In float64,
 * since the product may be too large or too small for a float32 where that of the others is not. */
#include "grad/rules.h"
#include "tensor/tensor.h"

/* x moved by one place along the last axis, towards its end or its beginning; 0 comes in. */
static UOp *moved(UOp *x, bool to_end) {
  if (!x) return NULL;
  int last = x->ndim - 1;
  UOp *zero = uop_index(x->ctx, 0), *begin[MAX_DIMS], *end[MAX_DIMS], *before[MAX_DIMS], *after[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) {
    begin[k] = before[k] = after[k] = zero;
    end[k] = x->shape[k];
  }
  UOp *step = int_min(uop_index(x->ctx, 1), x->shape[last]);
  if (to_end) {
    end[last] = int_sub(x->shape[last], step);
    before[last] = step;
  } else {
    begin[last] = step;
    after[last] = step;
  }
  return uop_pad(uop_shrink(x, begin, end), before, after);
}

/* The product of what stands before each place. The last element is left out before, not after, or an infinite product
 * would be multiplied by its gradient, which is 0. */
static UOp *product_before(UOp *x) {
  if (!x) return NULL;
  int last = x->ndim - 1;
  PolyDType index = x->shape[last]->vmax > INT32_MAX ? POLY_INT64 : POLY_INT32;
  UOp *place = t_iota_axis(x->ctx, index, x->shape[last], x->ndim, last);
  return t_scan(OP_MUL, t_where(t_equal(place, t_int_like(place, 0)), like(x, 1), moved(x, true)), last);
}

static UOp *turned(UOp *x) { return x ? uop_flip(x, 1u << (x->ndim - 1)) : NULL; }

/* y[i] = a[i] y[i-1] + b[i] along the last axis, from the beginning or, with i+1 for i-1, from the end. */
static UOp *recurrence(UOp *a, UOp *b, bool from_end) {
  return from_end ? turned(t_recurrence(turned(a), turned(b))) : t_recurrence(a, b);
}

/* ---- products over axes ---- */

/* x with the reduced axes last, as one: [others ..., n]. perm: what became of the axes. */
static UOp *reduced_last(UOp *x, uint32_t axes, int *perm) {
  UOp *dims[MAX_DIMS], *n = uop_index(x->ctx, 1);
  int kept = 0, at = 0;
  for (int k = 0; k < x->ndim; k++)
    if (!(axes >> k & 1)) {
      dims[kept] = x->shape[k];
      perm[kept++] = k;
    }
  at = kept;
  for (int k = 0; k < x->ndim; k++)
    if (axes >> k & 1) {
      n = int_mul(n, x->shape[k]);
      perm[at++] = k;
    }
  dims[kept] = n;
  return uop_reshape(uop_permute(x, perm), kept + 1, dims);
}

/* The way back. */
static UOp *reduced_back(UOp *y, const UOp *x, const int *perm) {
  UOp *dims[MAX_DIMS];
  int back[MAX_DIMS];
  for (int k = 0; k < x->ndim; k++) {
    dims[k] = x->shape[perm[k]];
    back[perm[k]] = k;
  }
  return uop_permute(uop_reshape(y, x->ndim, dims), back);
}

UOp *grad_product(UOp *u, UOp *g, uint32_t axes) {
  UOp *x = u->src[0];
  int perm[MAX_DIMS];
  UOp *row = reduced_last(x, axes, perm);
  UOp *others = row ? mul(product_before(row), turned(product_before(turned(row)))) : NULL;
  return others ? mul(uop_expand(g, x->shape), reduced_back(others, x, perm)) : NULL;
}

/* ---- running products ---- */

/* With y the running product: dx[i] = y[i-1] h[i], where h[i] = g[i] + x[i+1] h[i+1]. */
UOp *grad_running_product(UOp *u, UOp *g) {
  return mul(product_before(u->src[0]), recurrence(moved(u->src[0], false), g, true));
}

/* Of y[i] = a[i] y[i-1] + b[i]: db = h as above, da[i] = y[i-1] h[i], and nothing for a[0], which nothing reads. */
void grad_recurrence(UOp *u, UOp *g, uint32_t need, UOp **out) {
  UOp *h = recurrence(moved(u->src[0], false), g, true);
  if (need & 1) out[0] = h ? moved(mul(moved(h, false), u), true) : NULL;
  if (need & 2) out[1] = h;
}

/* ---- products over segments ---- */

/* The entries of a SEGMENT, by what is reduced over each segment and read back by its entries. */
typedef struct Entries {
  UOp *index, *rows;
} Entries;

static UOp *over(const Entries *s, Op op, UOp *v) {
  return uop_gather(uop_segment(op, v, s->index, s->rows), s->index);
}
static UOp *count(const Entries *s, UOp *cond) { return cond ? over(s, OP_ADD, uop_cast(cond, POLY_INT32)) : NULL; }

/* How many of the other entries of its segment are zero. */
static UOp *other_zeros(const Entries *s, UOp *zero) {
  return zero ? sub(count(s, zero), uop_cast(zero, POLY_INT32)) : NULL;
}

/* The sum of the other entries of a segment: of all, less the entry itself. That cancels where the entry is larger than
 * the rest together, so for the largest one (if there is one) the others are added up by themselves. v is stored, or
 * two kernels might disagree about which that is. */
static UOp *sum_of_others(const Entries *s, UOp *v) {
  v = uop_contiguous(v, 0);
  UOp *size = v ? t_abs(v) : NULL;
  UOp *largest = size ? equal(size, over(s, OP_MAX, size)) : NULL, *many = count(s, largest);
  UOp *alone = uop_binary(OP_AND, largest, many ? equal(many, like(many, 1)) : NULL);
  return uop_where(alone, over(s, OP_ADD, keep_unless(largest, v)), sub(over(s, OP_ADD, v), v));
}

/* The nonzero factors, 1 for the others. */
static UOp *nonzero(UOp *x, UOp *zero) { return uop_where(zero, like(x, 1), x); }

static UOp *in_float64(UOp *x) { return x ? uop_cast(x, POLY_FLOAT64) : NULL; }

/* Zeros are left out of the product and counted: where another entry is zero the product of the others is zero. */
UOp *grad_segment_product(UOp *u, UOp *g) {
  UOp *x = u->src[0], *index = u->src[1], *zero = is_zero(x);
  Entries s = {index, u->shape[0]};
  UOp *safe = in_float64(nonzero(x, zero)), *others = other_zeros(&s, zero);
  UOp *value = others ? keep_if(is_zero(others), quo(over(&s, OP_MUL, safe), safe)) : NULL;
  if (!value) return NULL;
  UOp *product = uop_function(FUNCTION_OTHERS, 0, uop_cast(value, (PolyDType)x->dtype), 3, (UOp *[]){x, index, u});
  return mul(uop_gather(g, index), product);
}

/* FUNCTION_OTHERS(value, x, index, product): dx[i] is the sum over j of w[j] times the product of all but i and j. With
 * q the product of the nonzero factors that is q w[j] / (x[i] x[j]) if there is no zero beside i and j. */
UOp *grad_others(UOp *u, UOp *w) {
  UOp *x = u->src[1], *zero = is_zero(x);
  Entries s = {u->src[2], u->src[3]->shape[0]};
  UOp *safe = in_float64(nonzero(x, zero)), *others = other_zeros(&s, zero), *q = over(&s, OP_MUL, safe);
  w = in_float64(w);
  UOp *no_zero = sum_of_others(&s, keep_unless(zero, mul(w, quo(q, safe))));
  UOp *one_zero = mul(q, sum_of_others(&s, keep_if(zero, w)));
  if (!others) return NULL;
  UOp *sum = quo(uop_where(is_zero(others), no_zero, keep_if(equal(others, like(others, 1)), one_zero)), safe);
  return sum ? uop_cast(sum, (PolyDType)x->dtype) : NULL;
}
