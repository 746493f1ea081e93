/* random.c: counter-based random numbers. Element i of draw number k under a seed is a pure function of the three, so
 * every device gives the same numbers and a plan may compute them where they are used.
 *
 * A draw is a pair of RANDOM nodes, whose function is in ir/random.c. Seed and draw number enter a plan as variables,
 * so another seed or draw runs the same kernels:
 *
 * - "rng" is the draw number. One plan can hold many draws: each BIND of it counts as a variable of its own, and a
 *   compiled step gives it a new number every time it runs.
 * - "seed.lo.<slot>" and "seed.hi.<slot>" are the halves of the seed. One plan can hold several seeds: each has a slot.
 */
#include "tensor/tensor.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { SEED_SLOTS = 1 << 12 };

/* ---- bits ---- */

static UOp *bound_word(PolyContext *ctx, const char *name, uint32_t value) {
  return uop_bind(uop_variable(ctx, name, 0, UINT32_MAX), value);
}

static UOp *seed_word(PolyContext *ctx, const char *half, int shift) {
  char name[32];
  unsigned slot = (unsigned)(hash_bytes(&ctx->seed, sizeof ctx->seed, 1) % SEED_SLOTS);
  snprintf(name, sizeof name, "seed.%s.%u", half, slot);
  return bound_word(ctx, name, (uint32_t)(ctx->seed >> shift));
}

static bool no_value(void *user, const UOp *leaf, int64_t *value) {
  (void)user, (void)leaf, (void)value;
  return false;
}

/* Does a word number n elements? A program that is built anew for each run goes by the value of a symbolic size:
 * indices of 64 bits halve the vectors, and give the same numbers. A compiled step may meet any value. */
static bool fits_word(PolyContext *ctx, const UOp *n) {
  int64_t value;
  return n->vmax <= UINT32_MAX || (!ctx->tracing && int_eval(n, no_value, NULL, &value) && value <= UINT32_MAX);
}

/* One draw of n elements: an uint32 for each, flat; there is a second one, independent of the first. */
static UOp *draw(PolyContext *ctx, UOp *n) {
  if (!n) return NULL;
  UOp *k0 = seed_word(ctx, "lo", 0), *k1 = seed_word(ctx, "hi", 32);
  UOp *number = bound_word(ctx, "rng", (uint32_t)ctx->drawn++);
  bool wide = !fits_word(ctx, n);
  return uop_random(n, k0, k1, number, 0, wide);
}

static UOp *second(UOp *r) { return r ? uop_random(r->src[0], r->src[1], r->src[2], r->src[3], 1, r->arg.j) : NULL; }

static UOp *product(PolyContext *ctx, int ndim, UOp *const *shape) {
  UOp *n = uop_index(ctx, 1);
  for (int d = 0; d < ndim; d++) n = int_mul(n, shape[d]);
  return n;
}

/* ---- distributions, flat ---- */

/* The top `keep` bits of a word as a fraction in [0, 1). */
static UOp *fraction(UOp *word, int keep, PolyDType dtype) {
  UOp *top = uop_binary(OP_SHR, word, t_int_like(word, 32 - keep));
  return t_mulc(uop_cast(top, dtype), ldexp(1, -keep));
}

/* As many bits as the dtype holds exactly: 1 is never reached by rounding. */
static UOp *flat_uniform(PolyContext *ctx, PolyDType dtype, UOp *n) {
  UOp *r = draw(ctx, n);
  switch (dtype) {
  case POLY_FLOAT64: { /* 27 + 26 bits */
    UOp *high = uop_cast(uop_binary(OP_SHR, r, t_int_like(r, 5)), dtype);
    UOp *low = uop_cast(uop_binary(OP_SHR, second(r), t_int_like(r, 6)), dtype);
    return t_mulc(t_add(t_mulc(high, 0x1p26), low), 0x1p-53);
  }
  case POLY_FP8E4M3: return uop_cast(fraction(r, 4, POLY_FLOAT32), dtype);
  case POLY_FP8E5M2: return uop_cast(fraction(r, 3, POLY_FLOAT32), dtype);
  case POLY_FLOAT16: return uop_cast(fraction(r, 11, POLY_FLOAT32), dtype);
  case POLY_BFLOAT16: return uop_cast(fraction(r, 8, POLY_FLOAT32), dtype);
  default: return fraction(r, 24, dtype);
  }
}

/* Box-Muller: sqrt(-2 log u) cos(2 pi v) with u in (0, 1], v in [0, 1). */
static UOp *flat_normal(PolyContext *ctx, PolyDType dtype, UOp *n) {
  PolyDType acc = dtype == POLY_FLOAT64 ? dtype : POLY_FLOAT32;
  int keep = acc == POLY_FLOAT64 ? 32 : 24;
  UOp *r = draw(ctx, n);
  UOp *u = keep == 32 ? t_mulc(uop_cast(r, acc), 0x1p-32) : fraction(r, keep, acc);
  UOp *v = keep == 32 ? t_mulc(uop_cast(second(r), acc), 0x1p-32) : fraction(second(r), keep, acc);
  UOp *length = t_sqrt(t_mulc(t_log(t_addc(u, ldexp(1, -keep))), -2));
  return uop_cast(t_mul(length, uop_unary(OP_COS, t_mulc(v, 6.28318530717958647692))), dtype);
}

/* Small ranges: the high word of word * range. Larger ones: 64 bits modulo the range. Either way no value is more
 * likely than another by more than one part in 2^16. */
static UOp *flat_int(PolyContext *ctx, PolyDType dtype, UOp *n, int64_t low, int64_t high) {
  uint64_t range = (uint64_t)high - (uint64_t)low;
  UOp *r = draw(ctx, n);
  UOp *a = uop_cast(r, POLY_UINT64), *k;
  if (range <= 1 << 16) {
    k = uop_binary(OP_SHR, uop_binary(OP_MUL, a, t_int_like(a, (int64_t)range)), t_int_like(a, 32));
  } else {
    UOp *word = uop_binary(OP_OR, uop_binary(OP_SHL, a, t_int_like(a, 32)), uop_cast(second(r), POLY_UINT64));
    k = uop_binary(OP_MOD, word, t_int_like(word, (int64_t)range));
  }
  return uop_cast(uop_binary(OP_ADD, k, t_int_like(k, low)), dtype);
}

UOp *t_rand(PolyContext *ctx, PolyDType dtype, int ndim, UOp *const *shape) {
  return uop_reshape(flat_uniform(ctx, dtype, product(ctx, ndim, shape)), ndim, shape);
}

static UOp *t_randn(PolyContext *ctx, PolyDType dtype, int ndim, UOp *const *shape) {
  return uop_reshape(flat_normal(ctx, dtype, product(ctx, ndim, shape)), ndim, shape);
}

/* low + (high - low) u, kept below high where rounding would reach it. Integers are rounded down. */
static UOp *t_uniform(PolyContext *ctx, PolyDType dtype, int ndim, UOp *const *shape, double low, double high) {
  bool whole = !dtype_is_float(dtype);
  PolyDType acc = whole ? POLY_FLOAT64 : t_wide_dtype(dtype);
  UOp *u = t_addc(t_mulc(t_rand(ctx, acc, ndim, shape), high - low), low);
  double below = acc == POLY_FLOAT64 ? nextafter(high, low) : (double)nextafterf((float)high, (float)low);
  u = t_binary_const(OP_MIN, u, below);
  return t_cast(whole ? uop_unary(OP_FLOOR, u) : u, dtype);
}

/* Zeroes with probability p. The mask is stored, one byte an element, because the gradient reads it again. */
UOp *t_dropout(UOp *x, double p) {
  if (!x) return NULL;
  PolyContext *ctx = x->ctx;
  if (!(p >= 0 && p <= 1)) return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "dropout: %g is not a probability", p);
  if (!ctx->training || p == 0) return x;
  x = t_float(x);
  if (!x || p == 1) return uop_zeros_like(x);
  UOp *u = t_rand(ctx, POLY_FLOAT32, x->ndim, x->shape);
  UOp *keep = uop_contiguous(t_less_equal(t_scalar_like(u, p), u), 0);
  return t_where(keep, t_mulc(x, 1 / (1 - p)), t_scalar_like(x, 0));
}

/* ---- sampling ---- */

/* Which rows [rows, 1] are weights that can be drawn from: none negative, infinite or NaN, and not all 0. */
static UOp *can_draw(UOp *w, UOp *total) {
  UOp *zero = t_scalar_like(w, 0);
  UOp *known = t_less_equal(zero, t_reduce(OP_MIN, w, 2, true)), *some = t_less(zero, total);
  return t_and(t_and(known, some), t_less(total, t_scalar_like(w, INFINITY)));
}

/* What cannot be drawn is the class one past the last, which the read of 0, 1 ... classes - 1 refuses when it runs. */
static UOp *checked_classes(UOp *pick, UOp *w, UOp *valid) {
  if (!valid || !pick) return NULL;
  UOp *past = t_size_value(w->shape[1], (PolyDType)pick->dtype);
  UOp *drawn = t_and(valid, t_less_equal(t_int_like(pick, 0), pick));
  return uop_gather(uop_iota(w->ctx, (PolyDType)pick->dtype, w->shape[1]), t_where(drawn, pick, past));
}

/* The largest log(u)/weight (Efraimidis and Spirakis), O(classes log classes) a row. Classes of weight 0 come last, and
 * those draws for which no other class is left are -1. */
static UOp *draw_apart(UOp *w, int64_t n) {
  PolyContext *ctx = w->ctx;
  PolyDType d = (PolyDType)w->dtype;
  UOp *key = t_div(t_log(t_rand(ctx, d, 2, w->shape)), w), *zero = uop_index(ctx, 0),
      *positive = t_less(t_scalar_like(w, 0), w);
  double lowest = d == POLY_FLOAT64 ? -DBL_MAX : -(double)FLT_MAX;
  key = t_where(positive, t_maximum(key, t_scalar_like(w, lowest)), t_scalar_like(w, -INFINITY));
  UOp *order = t_argsort(key, 1, true);
  UOp *pick = uop_shrink(order, (UOp *[2]){zero, zero}, (UOp *[2]){w->shape[0], uop_index(ctx, n)});
  UOp *left = t_reduce(OP_ADD, uop_cast(positive, POLY_INT32), 2, true);
  UOp *place = t_iota_axis(ctx, POLY_INT32, uop_index(ctx, n), 2, 1);
  return t_where(t_less(place, left), pick, t_int_like(pick, -1));
}

/* How many running sums lie at or below u * total, and at most the place of the last class whose weight is not 0. */
static UOp *draw_again(UOp *w, int64_t n, UOp *total) {
  PolyContext *ctx = w->ctx;
  UOp *sums = t_unsqueeze(t_scan(OP_ADD, w, 1), 1), *all = t_unsqueeze(total, 1);
  UOp *shape[3] = {w->shape[0], uop_index(ctx, n), uop_index(ctx, 1)};
  UOp *u = t_mul(t_rand(ctx, (PolyDType)w->dtype, 3, shape), all);
  UOp *pick = t_reduce(OP_ADD, uop_cast(t_less_equal(sums, u), POLY_INT32), 4, false);
  return t_minimum(pick, t_reduce(OP_ADD, uop_cast(t_less(sums, all), POLY_INT32), 4, false));
}

static UOp *multinomial(UOp *w, int64_t n, bool replacement) {
  bool vector = w->ndim == 1;
  if (vector) w = t_unsqueeze(w, 0);
  w = t_cast(w, w && w->dtype == POLY_FLOAT64 ? POLY_FLOAT64 : POLY_FLOAT32);
  if (!w) return NULL;
  UOp *total = t_reduce(OP_MAX, t_scan(OP_ADD, w, 1), 2, true);
  UOp *pick = checked_classes(replacement ? draw_again(w, n, total) : draw_apart(w, n), w, can_draw(w, total));
  return vector ? t_drop_axes(pick, 1) : pick;
}

/* ---- public ---- */

static bool is_shape(PolyContext *ctx, const char *what, PolyDType dtype, bool floats, int ndim, const int64_t *dims,
                     UOp **shape) {
  bool ok = (unsigned)dtype < POLY_DTYPE_COUNT && (floats ? dtype_is_float(dtype) : dtype_is_int(dtype));
  if (!ok)
    return base_fail(ctx_base(ctx), POLY_ERROR_TYPE, "%s takes %s dtypes, not %s", what,
                     floats ? "floating-point" : "integer", poly_dtype_name(dtype));
  return t_shape_from_api(ctx, ndim, dims, shape);
}

/* What a public function draws: kind 'u' uniform in low..high, 'n' normal with mean low and deviation high, 'r' plain.
 */
typedef struct Draw {
  const char *name;
  char kind;
  double low, high;
} Draw;

/* The result is stored: the bits cost a hundred operations per element, and each reader would pay them again. */
static UOp *drawn(PolyContext *ctx, const Draw *d, PolyDType dtype, int ndim, UOp *const *shape) {
  UOp *x;
  if (d->kind == 'r') {
    x = t_rand(ctx, dtype, ndim, shape);
  } else if (d->kind == 'u') {
    x = t_uniform(ctx, dtype, ndim, shape, d->low, d->high);
  } else {
    PolyDType acc = t_wide_dtype(dtype);
    x = t_randn(ctx, acc, ndim, shape);
    if (d->low != 0 || d->high != 1) x = t_addc(t_mulc(x, d->high), d->low);
    x = uop_cast(x, dtype);
  }
  return uop_contiguous(x, 0);
}

static UOp *draw_api(PolyContext *ctx, Draw d, PolyDType dtype, int ndim, const int64_t *dims) {
  UOp *shape[MAX_DIMS];
  bool floats = d.kind != 'u' || !dtype_is_int(dtype);
  return is_shape(ctx, d.name, dtype, floats, ndim, dims, shape) ? drawn(ctx, &d, dtype, ndim, shape) : NULL;
}

static PolyTensor *draw_public(PolyContext *ctx, Draw d, PolyDType dtype, int ndim, const int64_t *dims) {
  if (!ctx) return NULL;
  TENSOR_RETURN(ctx, draw_api(ctx, d, dtype, ndim, dims));
}

PolyTensor *poly_rand(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  return draw_public(ctx, (Draw){"rand", 'r', 0, 1}, dtype, ndim, shape);
}

PolyTensor *poly_randn(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  return draw_public(ctx, (Draw){"randn", 'n', 0, 1}, dtype, ndim, shape);
}

PolyTensor *poly_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double low, double high) {
  if (ctx && !(low < high))
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "uniform: nothing lies between %g and %g", low, high);
  return draw_public(ctx, (Draw){"uniform", 'u', low, high}, dtype, ndim, shape);
}

PolyTensor *poly_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double mean, double std) {
  if (ctx && !(std >= 0))
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "normal: the deviation %g is negative", std);
  return draw_public(ctx, (Draw){"normal", 'n', mean, std}, dtype, ndim, shape);
}

static UOp *randint(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *dims, int64_t low, int64_t high) {
  UOp *shape[MAX_DIMS];
  if (!is_shape(ctx, "randint", dtype, false, ndim, dims, shape)) return NULL;
  if (low >= high)
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "randint: no integer lies between %lld and %lld", (long long)low,
                     (long long)high);
  if (!t_holds_integer(dtype, low) || !t_holds_integer(dtype, high - 1))
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "randint: %lld .. %lld does not fit %s", (long long)low,
                     (long long)high - 1, dtype_name(dtype));
  UOp *x = flat_int(ctx, dtype, product(ctx, ndim, shape), low, high);
  return uop_contiguous(uop_reshape(x, ndim, shape), 0);
}

PolyTensor *poly_randint(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, int64_t low, int64_t high) {
  if (!ctx) return NULL;
  TENSOR_RETURN(ctx, randint(ctx, dtype, ndim, shape, low, high));
}

static PolyTensor *draw_like(PolyTensor *t, Draw d) {
  if (!t) return NULL;
  int64_t shape[MAX_DIMS];
  poly_shape(t, shape);
  return draw_public(t->ctx, d, poly_dtype(t), poly_ndim(t), shape);
}

PolyTensor *poly_rand_like(PolyTensor *t) { return draw_like(t, (Draw){"rand_like", 'r', 0, 1}); }
PolyTensor *poly_randn_like(PolyTensor *t) { return draw_like(t, (Draw){"randn_like", 'n', 0, 1}); }

/* Sorts one random word an element; equal words (1 in 2^32 a pair) keep their order. */
static UOp *randperm(PolyContext *ctx, int64_t n) {
  UOp *size;
  return t_shape_from_api(ctx, 1, &n, &size) ? t_argsort(draw(ctx, size), 0, false) : NULL;
}

PolyTensor *poly_randperm(PolyContext *ctx, int64_t n) {
  if (!ctx) return NULL;
  TENSOR_RETURN(ctx, randperm(ctx, n));
}

PolyTensor *poly_multinomial(PolyTensor *weights, int64_t n, bool replacement) {
  if (!weights) return NULL;
  UOp *w = weights->uop;
  Base *b = ctx_base(w->ctx);
  if (w->ndim < 1 || w->ndim > 2)
    return fail_null(b, POLY_ERROR_VALUE, "multinomial takes 1 or 2 axes, not %d", w->ndim);
  int64_t classes = w->shape[w->ndim - 1]->vmax;
  if (n < 1 || classes < 1 || (!replacement && n > classes))
    return fail_null(b, POLY_ERROR_VALUE, "multinomial: %lld draws out of %lld classes %s replacement", (long long)n,
                     (long long)classes, replacement ? "with" : "without");
  TENSOR_RETURN(w->ctx, multinomial(w, n, replacement));
}

/* ---- initialisers: the sizes of this run are the fans ---- */

static double fan(PolyContext *ctx, int ndim, const int64_t *shape, int first) {
  double n = 1;
  for (int d = first; d < ndim; d++) n *= (double)poly_dim_value(ctx, shape[d]);
  return n > 0 ? n : 1;
}

static double glorot(PolyContext *ctx, int ndim, const int64_t *shape) {
  return fan(ctx, MIN(ndim, 1), shape, 0) + fan(ctx, ndim, shape, 1);
}

PolyTensor *poly_scaled_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  if (!ctx) return NULL;
  double bound = 1 / sqrt(fan(ctx, ndim, shape, 0));
  return draw_public(ctx, (Draw){"scaled_uniform", 'u', -bound, bound}, dtype, ndim, shape);
}

PolyTensor *poly_glorot_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  if (!ctx) return NULL;
  double bound = sqrt(6 / glorot(ctx, ndim, shape));
  return draw_public(ctx, (Draw){"glorot_uniform", 'u', -bound, bound}, dtype, ndim, shape);
}

PolyTensor *poly_glorot_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape) {
  if (!ctx) return NULL;
  double std = sqrt(2 / glorot(ctx, ndim, shape));
  return draw_public(ctx, (Draw){"glorot_normal", 'n', 0, std}, dtype, ndim, shape);
}

PolyTensor *poly_kaiming_uniform(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double a) {
  if (!ctx) return NULL;
  double bound = sqrt(6 / (1 + a * a) / fan(ctx, ndim, shape, 1));
  return draw_public(ctx, (Draw){"kaiming_uniform", 'u', -bound, bound}, dtype, ndim, shape);
}

PolyTensor *poly_kaiming_normal(PolyContext *ctx, PolyDType dtype, int ndim, const int64_t *shape, double a) {
  if (!ctx) return NULL;
  double std = sqrt(2 / (1 + a * a) / fan(ctx, ndim, shape, 1));
  return draw_public(ctx, (Draw){"kaiming_normal", 'n', 0, std}, dtype, ndim, shape);
}
