/* sum.c: polynomials over integer atoms: taking expressions apart, adding and multiplying, bounds, and building the one
 * node that stands for all expressions with the same polynomial. int.c says what the normal form is and uses it. */
#include "ir/sum.h"
#include "ir/intmath.h"

#include <string.h>

UOp *int_node(Op op, UOp *a, UOp *b) {
  if (!a || !b) return NULL;
  PolyDType dtype = op == OP_CMPLT ? POLY_BOOL : (PolyDType)a->dtype;
  return uop_make(a->ctx, op, dtype, (UArg){0}, 2, (UOp *[]){a, b}, 0, NULL);
}

/* ---- order ---- */

static int order(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* Interned nodes that differ differ in themselves or in the first sources that are not one pointer: one path, no stack.
 */
int uop_compare(const UOp *a, const UOp *b) {
  while (a != b) {
    int c = order(a->op, b->op);
    if (!c) c = order(a->dtype, b->dtype);
    if (!c) c = order(a->arg.i, b->arg.i);
    if (!c) c = order(a->arg.j, b->arg.j);
    if (!c && a->arg.name != b->arg.name)
      c = a->arg.name && b->arg.name ? strcmp(a->arg.name, b->arg.name) : (a->arg.name ? 1 : -1);
    if (!c) c = order(a->nsrc, b->nsrc);
    if (!c) c = order(a->ndim, b->ndim);
    if (c) return c;
    const UOp *x = NULL, *y = NULL;
    for (int i = 0; i < a->nsrc && !x; i++)
      if (a->src[i] != b->src[i]) x = a->src[i], y = b->src[i];
    for (int i = 0; i < a->ndim && !x; i++)
      if (a->shape[i] != b->shape[i]) x = a->shape[i], y = b->shape[i];
    if (!x) return 0;
    a = x;
    b = y;
  }
  return 0;
}

/* ---- monomials ---- */

/* Atoms of a monomial, sorted as it was built; a product of too many atoms counts as one. */
int mono_factors(UOp *m, UOp **out) {
  if (!m) return 0;
  int n = 0;
  UOp *u = m;
  for (; u->op == OP_MUL && n < FACTORS - 1; u = u->src[0]) out[n++] = u->src[1];
  if (u->op == OP_MUL) return out[0] = m, 1;
  out[n++] = u;
  for (int i = 0; i < n / 2; i++) {
    UOp *t = out[i];
    out[i] = out[n - 1 - i];
    out[n - 1 - i] = t;
  }
  return n;
}

static UOp *mono_from(int n, UOp *const *f) {
  UOp *m = n ? f[0] : NULL;
  for (int i = 1; i < n; i++) m = int_node(OP_MUL, m, f[i]);
  return m;
}

/* The product of two monomials; *ok is cleared if it does not fit. */
UOp *mono_mul(UOp *a, UOp *b, bool *ok) {
  if (!a || !b) return a ? a : b;
  UOp *f[2 * FACTORS], *g[FACTORS];
  int n = mono_factors(a, f), m = mono_factors(b, g);
  for (int i = 0; i < m; i++) {
    int k = n++;
    for (; k > 0 && uop_compare(f[k - 1], g[i]) > 0; k--) f[k] = f[k - 1];
    f[k] = g[i];
  }
  UOp *r = n <= FACTORS ? mono_from(n, f) : NULL;
  if (!r) *ok = false;
  return r;
}

/* a / b into *q if b's atoms are among a's. */
bool mono_div(UOp *a, UOp *b, UOp **q) {
  UOp *f[FACTORS], *g[FACTORS], *rest[FACTORS];
  int n = mono_factors(a, f), m = mono_factors(b, g), r = 0, k = 0;
  if (m > n) return false;
  for (int i = 0; i < n; i++)
    if (k < m && f[i] == g[k])
      k++;
    else
      rest[r++] = f[i];
  if (k < m) return false;
  *q = mono_from(r, rest);
  return *q || !r;
}

UOp *mono_gcd(UOp *a, UOp *b) {
  UOp *f[FACTORS], *g[FACTORS], *both[FACTORS];
  int n = mono_factors(a, f), m = mono_factors(b, g), r = 0;
  for (int i = 0, k = 0; i < n && k < m;) {
    int c = uop_compare(f[i], g[k]);
    if (c == 0) both[r++] = f[i];
    if (c <= 0) i++;
    if (c >= 0) k++;
  }
  return mono_from(r, both);
}

/* ---- polynomials ---- */

void sum_term(Sum *p, int64_t coef, UOp *term) {
  if (p->bad || coef == 0) return;
  if (!term) {
    p->bad = __builtin_add_overflow(p->constant, coef, &p->constant);
    return;
  }
  for (int i = 0; i < p->n; i++)
    if (p->term[i] == term) {
      p->bad = __builtin_add_overflow(p->coef[i], coef, &p->coef[i]);
      if (p->coef[i] == 0) {
        p->n--;
        p->term[i] = p->term[p->n];
        p->coef[i] = p->coef[p->n];
      }
      return;
    }
  if (p->n == TERMS) {
    p->bad = true;
    return;
  }
  p->coef[p->n] = coef;
  p->term[p->n++] = term;
}

/* p += k * u, taking sums, differences and products by constants apart. */
void sum_node(Sum *p, int64_t k, UOp *u) {
  UOp *stack[2 * TERMS];
  int64_t scale[2 * TERMS];
  int n = 0;
  stack[n] = u;
  scale[n++] = k;
  while (n > 0 && !p->bad) {
    UOp *x = stack[--n];
    int64_t c = scale[n];
    bool is_sum = x->op == OP_ADD || x->op == OP_SUB;
    if (x->op == OP_CONST) {
      int64_t v;
      if (__builtin_mul_overflow(c, x->arg.i, &v))
        p->bad = true;
      else
        sum_term(p, v, NULL);
    } else if (is_sum && n + 2 <= 2 * TERMS && c != INT64_MIN) {
      stack[n] = x->src[0], scale[n++] = c;
      stack[n] = x->src[1], scale[n++] = x->op == OP_SUB ? -c : c;
    } else if (x->op == OP_NEG && c != INT64_MIN) {
      stack[n] = x->src[0], scale[n++] = -c;
    } else if (x->op == OP_MUL && x->src[1]->op == OP_CONST) {
      stack[n] = x->src[0];
      if (__builtin_mul_overflow(c, x->src[1]->arg.i, &scale[n++])) p->bad = true;
    } else if (is_sum) {
      p->bad = true;
    } else {
      sum_term(p, c, x);
    }
  }
}

Sum sum_of(UOp *u) {
  Sum p = {.ctx = u->ctx};
  sum_node(&p, 1, u);
  return p;
}

/* p += k * q * m */
void sum_addmul(Sum *p, const Sum *q, int64_t k, UOp *m) {
  if (q->bad) p->bad = true;
  int64_t c;
  for (int i = 0; i < q->n && !p->bad; i++) {
    bool ok = !__builtin_mul_overflow(k, q->coef[i], &c);
    UOp *t = mono_mul(q->term[i], m, &ok);
    if (ok)
      sum_term(p, c, t);
    else
      p->bad = true;
  }
  if (p->bad || __builtin_mul_overflow(k, q->constant, &c))
    p->bad = true;
  else
    sum_term(p, c, m);
}

Sum sum_mul(const Sum *a, const Sum *b) {
  Sum r = {.ctx = a->ctx};
  r.bad = a->bad || b->bad || ((a->n + 1) * (b->n + 1) > EXPAND_LIMIT && a->n && b->n);
  for (int i = 0; i < b->n && !r.bad; i++) sum_addmul(&r, a, b->coef[i], b->term[i]);
  if (!r.bad) sum_addmul(&r, a, b->constant, NULL);
  return r;
}

/* ---- bounds of polynomials ---- */

/* From the bounds of each term alone. */
static int64_t interval(const Sum *p, bool upper) {
  int64_t sum = p->constant;
  for (int i = 0; i < p->n; i++) {
    bool high = (p->coef[i] > 0) == upper;
    int64_t part = sat_mul(p->coef[i], high ? p->term[i]->vmax : p->term[i]->vmin);
    sum = upper ? add_high(sum, part) : add_low(sum, part);
  }
  return sum;
}

/* atom <= (node + offset) / scale, or >= for a lower limit. */
typedef struct Limit {
  UOp *node;
  int64_t offset, scale;
} Limit;

/* The limits of an atom as expressions in other atoms; at most two. */
static int atom_limits(UOp *a, bool upper, Limit *out) {
  UOp *x = a->nsrc > 0 ? a->src[0] : NULL, *y = a->nsrc > 1 ? a->src[1] : NULL;
  if (a->op == OP_RANGE) {
    out[0] = upper ? (Limit){y, -1, 1} : (Limit){x, 0, 1};
    return 1;
  }
  if (a->op == OP_CHECK || (a->op == OP_MOD && y->vmin >= 1)) {
    out[0] = upper ? (Limit){y, -1, 1} : (Limit){uop_index(a->ctx, 0), 0, 1};
    return 1;
  }
  if (a->op == OP_IDIV && y->op == OP_CONST && y->arg.i > 1) { /* x - d + 1 <= d*(x // d) <= x */
    out[0] = (Limit){x, upper ? 0 : 1 - y->arg.i, y->arg.i};
    return 1;
  }
  if ((a->op == OP_MIN && upper) || (a->op == OP_MAX && !upper)) {
    out[0] = (Limit){x, 0, 1};
    out[1] = (Limit){y, 0, 1};
    return 2;
  }
  int64_t v = upper ? a->vmax : a->vmin;
  if (v == INT64_MIN || v == INT64_MAX) return 0;
  out[0] = (Limit){uop_index(a->ctx, v), 0, 1};
  return 1;
}

static bool limit_is_symbolic(const UOp *a) {
  if (a->op == OP_RANGE || a->op == OP_MIN || a->op == OP_MAX)
    return a->src[0]->op != OP_CONST || a->src[1]->op != OP_CONST;
  return a->op == OP_IDIV || ((a->op == OP_MOD || a->op == OP_CHECK) && a->src[1]->op != OP_CONST);
}

/* p = c*a + rest; false if a occurs squared. */
static bool sum_extract(const Sum *p, UOp *a, Sum *c, Sum *rest) {
  *c = *rest = (Sum){.ctx = p->ctx};
  rest->constant = p->constant;
  for (int i = 0; i < p->n; i++) {
    UOp *q, *again;
    if (!mono_div(p->term[i], a, &q)) {
      sum_term(rest, p->coef[i], p->term[i]);
      continue;
    }
    if (q && mono_div(q, a, &again)) return false;
    sum_term(c, p->coef[i], q);
  }
  return !c->bad && !rest->bad;
}

static int64_t sum_bound(const Sum *p, bool upper, int depth);

/* rest + c*limit; bad if it cannot be said in whole numbers. */
static Sum with_limit(const Sum *rest, const Sum *c, Limit limit) {
  Sum r = *rest, scaled = *c;
  if (!limit.node) return (Sum){.bad = true};
  if (scaled.constant % limit.scale) r.bad = true;
  scaled.constant /= limit.scale;
  for (int i = 0; i < c->n; i++) {
    if (scaled.coef[i] % limit.scale) r.bad = true;
    scaled.coef[i] /= limit.scale;
  }
  Sum l = sum_of(limit.node);
  sum_term(&l, limit.offset, NULL);
  Sum product = sum_mul(&scaled, &l);
  if (!r.bad) sum_addmul(&r, &product, 1, NULL);
  return r;
}

/* Replaces atom a by the better of its limits, where the sign of what it is multiplied with is known. */
static bool eliminate_atom(Sum *p, UOp *a, bool upper, int depth, int fewest) {
  Sum c, rest;
  Limit limit[2];
  if (!sum_extract(p, a, &c, &rest) || c.n + (c.constant != 0) < fewest) return false;
  bool positive = sum_bound(&c, false, depth - 1) >= 0;
  if (!positive && sum_bound(&c, true, depth - 1) > 0) return false;
  int n = atom_limits(a, upper == positive, limit);
  Sum r = n > 0 ? with_limit(&rest, &c, limit[0]) : (Sum){.bad = true};
  if (n > 1) {
    Sum other = with_limit(&rest, &c, limit[1]);
    int64_t v = sum_bound(&r, upper, depth - 1), w = sum_bound(&other, upper, depth - 1);
    if (r.bad || (!other.bad && (upper ? w < v : w > v))) r = other;
  }
  if (!r.bad) *p = r;
  return !r.bad;
}

/* Atoms with symbolic limits are the point of this (i - n < 0 for i in 0..n); those that occur in several terms gain
 * too (n*m - n >= 0). */
static bool eliminate(Sum *p, bool upper, int depth) {
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < p->n; i++) {
      UOp *f[FACTORS];
      int n = mono_factors(p->term[i], f);
      for (int k = 0; k < n; k++)
        if ((pass == 1 || limit_is_symbolic(f[k])) && eliminate_atom(p, f[k], upper, depth, 1 + pass)) return true;
    }
  return false;
}

static int64_t sum_bound(const Sum *p, bool upper, int depth) {
  int64_t best = interval(p, upper);
  if (depth <= 0 || p->n < 2 || p->bad) return best;
  Sum q = *p;
  for (int round = 0; round < ROUNDS && eliminate(&q, upper, depth); round++) {
    int64_t v = interval(&q, upper);
    best = upper ? MIN(best, v) : MAX(best, v);
  }
  return best;
}

int64_t sum_min(const Sum *p) { return sum_bound(p, false, 3); }
int64_t sum_max(const Sum *p) { return sum_bound(p, true, 3); }

bool int_positive(UOp *u) {
  if (u->vmin >= 1) return true;
  Sum p = sum_of(u);
  return !p.bad && sum_min(&p) >= 1;
}

/* ---- back to nodes ---- */

static bool contains(const Sum *s, const Sum *p) {
  for (int i = 0; i < p->n; i++) {
    int k = 0;
    while (k < s->n && s->term[k] != p->term[i]) k++;
    if (k == s->n || s->coef[k] != p->coef[i]) return false;
  }
  return p->n > 0;
}

static bool has_divmod(const UOp *term) {
  for (; term->op == OP_MUL; term = term->src[0])
    if (term->src[1]->op == OP_IDIV || term->src[1]->op == OP_MOD) return true;
  return term->op == OP_IDIV || term->op == OP_MOD;
}

/* coef*rest*(x % d) beside coef*rest*d*(x // d): both go, coef*rest*x comes. */
static bool join_whole(Sum *p, int64_t coef, UOp *term, UOp *rest, UOp *mod) {
  if (!int_positive(mod->src[1])) return false; /* x // 0 and x % 0 are both 0 */
  UOp *q = int_div(mod->src[0], mod->src[1]);
  UOp *qd = q ? int_mul(q, mod->src[1]) : NULL;
  if (!qd) return false;
  Sum part = {.ctx = p->ctx}, x = sum_of(mod->src[0]), whole = sum_of(qd);
  sum_addmul(&part, &whole, coef, rest);
  if (part.bad || !contains(p, &part)) return false;
  Sum r = *p;
  sum_addmul(&r, &part, -1, NULL);
  sum_term(&r, -coef, term);
  sum_addmul(&r, &x, coef, rest);
  if (!r.bad) *p = r;
  return !r.bad;
}

/* coef*rest*(x % a) beside coef*rest*a*((x // a) % b): coef*rest*(x % (a*b)). */
static bool join_digit(Sum *p, int64_t coef, UOp *term, UOp *rest, UOp *mod) {
  if (mod->src[1]->op != OP_CONST || mod->src[1]->arg.i < 1) return false;
  int64_t a = mod->src[1]->arg.i, scaled, ab;
  UOp *q = int_div(mod->src[0], mod->src[1]);
  if (!q || __builtin_mul_overflow(coef, a, &scaled)) return false;
  for (int i = 0; i < p->n; i++) {
    UOp *f[FACTORS], *others;
    int n = p->coef[i] == scaled ? mono_factors(p->term[i], f) : 0;
    for (int k = 0; k < n; k++) {
      if (f[k]->op != OP_MOD || f[k]->src[0] != q || f[k]->src[1]->op != OP_CONST) continue;
      if (!mono_div(p->term[i], f[k], &others) || others != rest) continue;
      if (__builtin_mul_overflow(a, f[k]->src[1]->arg.i, &ab)) continue;
      UOp *joined = int_mod(mod->src[0], uop_index(p->ctx, ab));
      if (!joined) return false;
      Sum r = *p, j = sum_of(joined);
      sum_term(&r, -scaled, p->term[i]);
      sum_term(&r, -coef, term);
      sum_addmul(&r, &j, coef, rest);
      if (!r.bad) *p = r;
      return !r.bad;
    }
  }
  return false;
}

static bool join(Sum *p) {
  for (int i = 0; i < p->n; i++) {
    UOp *f[FACTORS], *rest;
    int others = 0;
    for (int k = 0; k < p->n; k++) others += k != i && has_divmod(p->term[k]);
    int n = others && p->coef[i] != INT64_MIN ? mono_factors(p->term[i], f) : 0;
    for (int k = 0; k < n; k++)
      if (f[k]->op == OP_MOD && mono_div(p->term[i], f[k], &rest) &&
          (join_whole(p, p->coef[i], p->term[i], rest, f[k]) || join_digit(p, p->coef[i], p->term[i], rest, f[k])))
        return true;
  }
  return false;
}

/* The node of a polynomial that is not bad. */
UOp *sum_build(Sum *p) {
  for (int round = 0; round < ROUNDS && p->n > 1 && join(p); round++) {
  }
  for (int i = 1; i < p->n; i++) {
    UOp *t = p->term[i];
    int64_t c = p->coef[i];
    int k = i;
    for (; k > 0 && uop_compare(p->term[k - 1], t) > 0; k--) p->term[k] = p->term[k - 1], p->coef[k] = p->coef[k - 1];
    p->term[k] = t;
    p->coef[k] = c;
  }
  UOp *sum = NULL;
  for (int i = 0; i < p->n; i++) {
    UOp *t = p->coef[i] == 1 ? p->term[i] : int_node(OP_MUL, p->term[i], uop_index(p->ctx, p->coef[i]));
    sum = i ? int_node(OP_ADD, sum, t) : t;
    if (!sum) return NULL;
  }
  if (!p->n) return uop_index(p->ctx, p->constant);
  return p->constant ? int_node(OP_ADD, sum, uop_index(p->ctx, p->constant)) : sum;
}
