/* bounds.c: the smallest and largest value of an integer or bool scalar, and its value when all leaves are known.
 *
 * In: a node whose op, dtype, arg and sources are set. Out: its vmin and vmax, never too tight. Arithmetic saturates,
 * and INT64_MIN / INT64_MAX mean "unknown"; they stay unknown when something is added. Index arithmetic is int64 and is
 * taken not to overflow; narrower dtypes wrap, so there a result that does not fit makes the bounds those of the dtype.
 */
#include "ir/uop.h"
#include "ir/intmath.h"

typedef struct Bound {
  int64_t lo, hi;
} Bound;

static const Bound UNKNOWN = {INT64_MIN, INT64_MAX};

static Bound dtype_bound(int d) {
  static const Bound table[POLY_DTYPE_COUNT] = {
      [POLY_BOOL] = {0, 1},
      [POLY_INT8] = {INT8_MIN, INT8_MAX},
      [POLY_UINT8] = {0, UINT8_MAX},
      [POLY_INT16] = {INT16_MIN, INT16_MAX},
      [POLY_UINT16] = {0, UINT16_MAX},
      [POLY_INT32] = {INT32_MIN, INT32_MAX},
      [POLY_UINT32] = {0, UINT32_MAX},
  };
  return d <= POLY_UINT32 ? table[d] : UNKNOWN;
}

/* Bounds of a source; those of other things than integers up to int64 are unknown. */
static Bound of(const UOp *u) {
  if (u->ndim || u->dtype > POLY_INT64) return dtype_bound(u->dtype);
  return (Bound){u->vmin, u->vmax};
}

static Bound mul_bound(Bound a, Bound b) {
  int64_t p[4] = {sat_mul(a.lo, b.lo), sat_mul(a.lo, b.hi), sat_mul(a.hi, b.lo), sat_mul(a.hi, b.hi)};
  Bound r = {p[0], p[0]};
  for (int i = 1; i < 4; i++) r = (Bound){MIN(r.lo, p[i]), MAX(r.hi, p[i])};
  return r;
}

static Bound idiv_bound(Bound a, Bound b) {
  if (b.lo > 0)
    return (Bound){MIN(floor_div(a.lo, b.lo), floor_div(a.lo, b.hi)),
                   MAX(floor_div(a.hi, b.lo), floor_div(a.hi, b.hi))};
  int64_t m = MAX(neg_low(a.lo), a.hi); /* |a // b| <= |a| */
  m = MAX(m, 1);
  if (a.lo >= 0 && b.lo >= 0) return (Bound){0, a.hi};
  return (Bound){neg_high(m), m};
}

static Bound mod_bound(Bound a, Bound b) {
  if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo) return a;
  Bound r = {MIN(add_low(b.lo, 1), 0), MAX(add_high(b.hi, -1), 0)};
  if (b.lo >= 0) r.lo = 0;
  if (b.lo >= 0 && a.lo >= 0) r.hi = MIN(r.hi, a.hi);
  return r;
}

static Bound less_bound(Bound a, Bound b, bool or_equal) {
  if (or_equal) {
    if (a.hi <= b.lo) return (Bound){1, 1};
    return (Bound){0, a.lo <= b.hi};
  }
  if (a.hi < b.lo) return (Bound){1, 1};
  return (Bound){0, a.lo < b.hi};
}

static Bound equal_bound(const UOp *a, const UOp *b) {
  Bound x = of(a), y = of(b);
  bool is_int = a->dtype <= POLY_INT64 && a->ndim == 0 && b->ndim == 0;
  if (is_int && (a == b || (x.lo == x.hi && y.lo == y.hi && x.lo == y.lo))) return (Bound){1, 1};
  return (Bound){0, !(is_int && (x.hi < y.lo || y.hi < x.lo))};
}

static Bound bits_bound(Op op, Bound a, Bound b, int dtype) {
  if (op == OP_AND && dtype == POLY_BOOL) return (Bound){a.lo & b.lo, a.hi & b.hi};
  if (op == OP_OR && dtype == POLY_BOOL) return (Bound){a.lo | b.lo, a.hi | b.hi};
  if (op == OP_AND && b.lo >= 0) return (Bound){0, a.lo >= 0 ? MIN(a.hi, b.hi) : b.hi};
  if (op == OP_AND && a.lo >= 0) return (Bound){0, a.hi};
  return dtype_bound(dtype);
}

/* A conversion keeps what it can hold. uint64 above INT64_MAX reads as negative, so it gives no bound. */
static Bound cast_bound(const UOp *u) {
  const UOp *x = u->src[0];
  Bound d = dtype_bound(u->dtype), s = of(x);
  if (x->dtype > POLY_INT64) return d;
  if (u->dtype == POLY_BOOL) return (Bound){s.lo > 0 || s.hi < 0, !(s.lo == 0 && s.hi == 0)};
  return s.lo >= d.lo && s.hi <= d.hi ? s : d;
}

static Bound range_bound(Bound begin, Bound end) { return (Bound){begin.lo, MAX(begin.lo, add_high(end.hi, -1))}; }

static Bound check_bound(Bound x, Bound size) {
  int64_t lo = MAX(x.lo, 0);
  return (Bound){lo, MAX(lo, MIN(x.hi, add_high(size.hi, -1)))};
}

static Bound binary_bound(const UOp *u, Bound a, Bound b) {
  switch (u->op) {
  case OP_ADD: return (Bound){add_low(a.lo, b.lo), add_high(a.hi, b.hi)};
  case OP_SUB: return (Bound){add_low(a.lo, neg_high(b.hi)), add_high(a.hi, neg_low(b.lo))};
  case OP_MUL: return mul_bound(a, b);
  case OP_IDIV: return idiv_bound(a, b);
  case OP_MOD: return mod_bound(a, b);
  case OP_MIN: return (Bound){MIN(a.lo, b.lo), MIN(a.hi, b.hi)};
  case OP_MAX: return (Bound){MAX(a.lo, b.lo), MAX(a.hi, b.hi)};
  case OP_CMPLT: return less_bound(a, b, false);
  case OP_CMPLE: return less_bound(a, b, true);
  case OP_RANGE: return range_bound(a, b);
  case OP_CHECK: return check_bound(a, b);
  case OP_BIND: return a;
  case OP_AND:
  case OP_OR: return bits_bound(u->op, a, b, u->dtype);
  default: return dtype_bound(u->dtype);
  }
}

static Bound find_bound(const UOp *u) {
  Bound s = u->nsrc > 0 ? of(u->src[0]) : UNKNOWN;
  switch (u->op) {
  case OP_CONST: return u->dtype == POLY_UINT64 && u->arg.i < 0 ? UNKNOWN : (Bound){u->arg.i, u->arg.i};
  case OP_VARIABLE: return (Bound){u->arg.i, u->arg.j};
  case OP_NEG: return (Bound){neg_high(s.hi), neg_low(s.lo)};
  case OP_NOT: return u->dtype == POLY_BOOL ? (Bound){1 - s.hi, 1 - s.lo} : dtype_bound(u->dtype);
  case OP_CAST: return cast_bound(u);
  case OP_CMPEQ: return equal_bound(u->src[0], u->src[1]);
  case OP_CMPNE: {
    Bound e = equal_bound(u->src[0], u->src[1]);
    return (Bound){1 - e.hi, 1 - e.lo};
  }
  case OP_WHERE: {
    Bound a = of(u->src[1]), b = of(u->src[2]);
    return s.lo == 1 ? a : s.hi == 0 ? b : (Bound){MIN(a.lo, b.lo), MAX(a.hi, b.hi)};
  }
  default: return u->nsrc == 2 ? binary_bound(u, s, of(u->src[1])) : dtype_bound(u->dtype);
  }
}

void int_bounds(UOp *u) {
  Bound r = find_bound(u), d = dtype_bound(u->dtype);
  if (r.lo < d.lo || r.hi > d.hi || u->dtype > POLY_INT64) r = d;
  u->vmin = r.lo;
  u->vmax = r.hi;
}

/* ---- values ---- */

/* Wraps like the machine does. */
static int64_t wrap(uint64_t v) { return (int64_t)v; }

static bool eval_node(const UOp *u, const int64_t *v, int64_t *out) {
  uint64_t a = (uint64_t)v[0], b = (uint64_t)v[1];
  switch (u->op) {
  case OP_ADD: *out = wrap(a + b); return true;
  case OP_SUB: *out = wrap(a - b); return true;
  case OP_MUL: *out = wrap(a * b); return true;
  case OP_NEG: *out = wrap(0 - a); return true;
  case OP_IDIV: *out = floor_div(v[0], v[1]); return true;
  case OP_MOD: *out = floor_mod(v[0], v[1]); return true;
  case OP_MIN: *out = MIN(v[0], v[1]); return true;
  case OP_MAX: *out = MAX(v[0], v[1]); return true;
  case OP_CMPLT: *out = v[0] < v[1]; return true;
  case OP_CMPLE: *out = v[0] <= v[1]; return true;
  case OP_CMPEQ: *out = v[0] == v[1]; return true;
  case OP_CMPNE: *out = v[0] != v[1]; return true;
  case OP_AND: *out = v[0] & v[1]; return true;
  case OP_OR: *out = v[0] | v[1]; return true;
  case OP_XOR: *out = v[0] ^ v[1]; return true;
  case OP_NOT: *out = u->dtype == POLY_BOOL ? !v[0] : ~v[0]; return true;
  case OP_WHERE: *out = v[0] ? v[1] : v[2]; return true;
  case OP_CHECK: *out = v[0]; return true;
  case OP_CAST: *out = u->dtype == POLY_BOOL ? v[0] != 0 : v[0]; return true;
  default: return false;
  }
}

/* Leaves, or a node whose sources are not to be entered. */
static bool eval_leaf(const UOp *u, IntLookup lookup, void *user, int64_t *out, bool *known) {
  *known = true;
  if (u->op == OP_CONST)
    *out = u->arg.i;
  else if (u->op == OP_BIND)
    *out = u->src[1]->arg.i;
  else
    *known = lookup && (u->op == OP_VARIABLE || u->op == OP_RANGE) && lookup(user, u, out);
  return *known || u->op == OP_VARIABLE || u->op == OP_RANGE || u->nsrc == 0 || u->nsrc > 3 || u->ndim;
}

/* Most size expressions are tiny, so they are evaluated in place; steps runs out where sharing makes them not so. */
static bool eval_small(const UOp *u, IntLookup lookup, void *user, int64_t *out, int depth, int *steps) {
  bool known;
  if (eval_leaf(u, lookup, user, out, &known)) return known;
  if (depth == 0 || --*steps < 0) {
    *steps = -1;
    return false;
  }
  int64_t v[3] = {0};
  for (int i = 0; i < u->nsrc; i++)
    if (!eval_small(u->src[i], lookup, user, &v[i], depth - 1, steps)) return false;
  return eval_node(u, v, out);
}

static bool stop_at_leaf(const UOp *u, void *user) {
  (void)user;
  return u->op == OP_BIND || u->op == OP_RANGE || u->nsrc > 3 || u->ndim;
}

static bool eval_large(const UOp *u, IntLookup lookup, void *user, int64_t *out) {
  Arena arena = {ctx_base(u->ctx), NULL};
  Walk w;
  UOp *root = (UOp *)(uintptr_t)u; /* the walk only stamps it */
  bool ok = uop_walk(u->ctx, &arena, 1, &root, stop_at_leaf, NULL, &w);
  int64_t *value = ok ? arena_new(&arena, (size_t)w.n * sizeof *value) : NULL;
  ok = ok && value;
  for (int k = 0; ok && k < w.n; k++) {
    const UOp *x = w.at[k];
    bool known;
    int64_t v[3] = {0};
    if (eval_leaf(x, lookup, user, &value[k], &known)) {
      ok = known;
      continue;
    }
    for (int i = 0; i < x->nsrc; i++) v[i] = value[x->src[i]->slot];
    ok = eval_node(x, v, &value[k]);
  }
  if (ok) *out = value[w.n - 1];
  arena_free(&arena);
  return ok;
}

bool int_eval(const UOp *u, IntLookup lookup, void *user, int64_t *value) {
  if (!u) return false;
  int steps = 1000;
  if (eval_small(u, lookup, user, value, 40, &steps)) return true;
  return steps < 0 && eval_large(u, lookup, user, value);
}
