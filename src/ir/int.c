/* int.c: the algebra of sizes and indices. In: int64 scalars. Out: int64 scalars in a normal form, so that two
 * expressions which this file can prove equal are one node.
 *
 * Normal form. An expression is a polynomial: a sum of coef * monomial, monomials in the order of uop_compare, the
 * constant last. A monomial is a product of atoms in the same order. Atoms are everything else: VARIABLE, BIND, RANGE,
 * CHECK, LOAD and such, MIN, MAX, WHERE, and those IDIV and MOD that no rule below could take apart. Products are
 * multiplied out.
 *
 * Division and remainder, for a divisor d that is certainly positive, with floor semantics for any sign:
 *     (a*d + r) // d        ->  a + r // d
 *     r // d                ->  k                       if k*d <= r < (k+1)*d
 *     (a*g + r) // (b*g)    ->  (a + k) // b            if k*g <= r < (k+1)*g
 *     (a*g + r) %  (b*g)    ->  ((a + k) % b)*g + r-k*g    the same
 *     (x // a) // b         ->  x // (a*b)
 *     (x % (a*b)) // a      ->  (x // a) % b
 *     (k*(x % (a*b)) + y) % b  ->  (k*x + y) % b
 * and in every sum, for any common factor k:
 *     k*d*(x // d) + k*(x % d)            ->  k*x
 *     k*a*((x // a) % b) + k*(x % a)      ->  k*(x % (a*b))
 *
 * Every rule removes an atom, shrinks a divisor or moves a term out of a division, which is why they end. What does not
 * fit the fixed sizes below, or would overflow, stays as the plain node: correct, only less simple. */
#include "ir/sum.h"
#include "ir/intmath.h"

#include <string.h>

UOp *uop_true(PolyContext *ctx) { return uop_int_const(ctx, POLY_BOOL, 1); }

static UOp *bool_const(PolyContext *ctx, bool v) { return uop_int_const(ctx, POLY_BOOL, v); }

/* Other integer dtypes may come in (a loaded index); the algebra is int64. */
static UOp *as_index(UOp *u) { return !u || u->dtype == POLY_INT64 ? u : uop_cast(u, POLY_INT64); }

/* Most sizes are numbers. */
static bool two_numbers(const UOp *a, const UOp *b) { return a->op == OP_CONST && b->op == OP_CONST; }

UOp *int_add(UOp *a, UOp *b) {
  int64_t n;
  if (!(a = as_index(a)) || !(b = as_index(b))) return NULL;
  if (uop_is_int(a, 0)) return b;
  if (uop_is_int(b, 0)) return a;
  if (two_numbers(a, b) && !__builtin_add_overflow(a->arg.i, b->arg.i, &n)) return uop_index(a->ctx, n);
  Sum p = sum_of(a);
  sum_node(&p, 1, b);
  return p.bad ? int_node(OP_ADD, a, b) : sum_build(&p);
}

UOp *int_sub(UOp *a, UOp *b) {
  int64_t n;
  if (!(a = as_index(a)) || !(b = as_index(b))) return NULL;
  if (uop_is_int(b, 0)) return a;
  if (two_numbers(a, b) && !__builtin_sub_overflow(a->arg.i, b->arg.i, &n)) return uop_index(a->ctx, n);
  Sum p = sum_of(a);
  sum_node(&p, -1, b);
  return p.bad ? int_node(OP_SUB, a, b) : sum_build(&p);
}

UOp *int_mul(UOp *a, UOp *b) {
  int64_t n;
  if (!(a = as_index(a)) || !(b = as_index(b))) return NULL;
  if (uop_is_int(a, 1)) return b;
  if (uop_is_int(b, 1)) return a;
  if (two_numbers(a, b) && !__builtin_mul_overflow(a->arg.i, b->arg.i, &n)) return uop_index(a->ctx, n);
  Sum p = sum_of(a), q = sum_of(b);
  Sum r = p.bad || q.bad ? (Sum){.bad = true} : sum_mul(&p, &q);
  if (!r.bad) return sum_build(&r);
  return a->op == OP_CONST || (b->op != OP_CONST && uop_compare(a, b) > 0) ? int_node(OP_MUL, b, a)
                                                                           : int_node(OP_MUL, a, b);
}

UOp *int_addc(UOp *a, int64_t c) { return a ? int_add(a, uop_index(a->ctx, c)) : NULL; }
UOp *int_mulc(UOp *a, int64_t c) { return a ? int_mul(a, uop_index(a->ctx, c)) : NULL; }

int int_terms(UOp *u, int max, UOp **term, int64_t *coef, int64_t *constant) {
  Sum p = sum_of(u);
  if (p.bad || p.n > max) return -1;
  for (int i = 0; i < p.n; i++) term[i] = p.term[i], coef[i] = p.coef[i];
  *constant = p.constant;
  return p.n;
}

/* ---- division and remainder ---- */

static bool mono_is_one(Mono m) { return m.coef == 1 && !m.mono; }

/* p = a*g + r. Constants and, with `partly`, coefficients are split too. */
static void split(const Sum *p, Mono g, bool partly, Sum *a, Sum *r) {
  *a = *r = (Sum){.ctx = p->ctx};
  for (int i = 0; i < p->n; i++) {
    UOp *q;
    int64_t k = p->coef[i] / g.coef, left = p->coef[i] % g.coef;
    if (!partly && left) k = 0, left = p->coef[i];
    if (k && mono_div(p->term[i], g.mono, &q))
      sum_term(a, k, q);
    else
      left = p->coef[i];
    sum_term(r, left, p->term[i]);
  }
  int64_t k = g.mono ? 0 : floor_div(p->constant, g.coef);
  sum_term(a, k, NULL);
  sum_term(r, g.mono ? p->constant : floor_mod(p->constant, g.coef), NULL);
}

/* Is there one k with k*d <= r < (k+1)*d, for d >= 1? */
static bool one_multiple(const Sum *r, Mono d, int64_t *k) {
  int64_t lo = sum_min(r), hi = sum_max(r);
  if (!d.mono) {
    *k = floor_div(lo, d.coef);
    return lo != INT64_MIN && hi != INT64_MAX && *k == floor_div(hi, d.coef);
  }
  Sum shifted = *r;
  *k = lo >= 0 ? 0 : -1;
  if (lo < 0 && hi >= 0) return false;
  sum_term(&shifted, lo >= 0 ? -d.coef : d.coef, d.mono);
  return !shifted.bad && (lo >= 0 ? sum_max(&shifted) < 0 : sum_min(&shifted) >= 0);
}

/* A common divisor g of d and some terms of p such that what is left over stays within one multiple of g. */
static bool find_scale(const Sum *p, Mono d, Mono *g, Sum *a, Sum *r, int64_t *k) {
  for (int i = 0; i < p->n; i++) {
    *g = (Mono){gcd64(p->coef[i], d.coef), mono_gcd(p->term[i], d.mono)};
    if (mono_is_one(*g) || (g->mono && g->mono->vmin < 1)) continue;
    split(p, *g, false, a, r);
    if (!a->bad && !r->bad && a->n && one_multiple(r, *g, k)) return true;
  }
  return false;
}

static UOp *mono_node(PolyContext *ctx, Mono m) {
  if (!m.mono) return uop_index(ctx, m.coef);
  return m.coef == 1 ? m.mono : int_node(OP_MUL, m.mono, uop_index(ctx, m.coef));
}

/* x // a // b and x % (a*b) // a, when p is such a node alone. */
static UOp *div_special(const Sum *p, Mono d) {
  UOp *x = p->n == 1 && p->coef[0] == 1 ? p->term[0] : NULL;
  if (!x || (x->op != OP_IDIV && x->op != OP_MOD)) return NULL;
  int64_t product;
  bool fits = d.mono || x->src[1]->op != OP_CONST || !__builtin_mul_overflow(x->src[1]->arg.i, d.coef, &product);
  if (x->op == OP_IDIV && x->src[1]->vmin >= 1 && fits) {
    UOp *shifted = p->constant ? int_add(x->src[0], int_mulc(x->src[1], p->constant)) : x->src[0];
    return int_div(shifted, int_mul(x->src[1], mono_node(p->ctx, d)));
  }
  if (x->op == OP_MOD && !p->constant && x->src[1]->vmin >= 1) {
    UOp *q = mono_node(p->ctx, d), *b = int_div(x->src[1], q);
    if (b && q && int_mul(b, q) == x->src[1] && b->vmin >= 1) return int_mod(int_div(x->src[0], q), b);
  }
  return NULL;
}

static UOp *div_mono(Sum *s, Mono d) {
  Sum a, r, whole = {.ctx = s->ctx};
  Mono g;
  int64_t k;
  split(s, d, true, &whole, &r);
  if (r.bad || whole.bad) return NULL;
  if (one_multiple(&r, d, &k)) {
    sum_term(&whole, k, NULL);
    return whole.bad ? NULL : sum_build(&whole);
  }
  Sum p = r;
  UOp *q = NULL;
  if (find_scale(&p, d, &g, &a, &r, &k)) {
    Mono e = {d.coef / g.coef, NULL};
    if (!mono_div(d.mono, g.mono, &e.mono)) return NULL;
    sum_term(&a, k, NULL);
    if (!a.bad) q = int_div(sum_build(&a), mono_node(s->ctx, e));
  } else {
    q = div_special(&p, d);
  }
  if (!q) q = int_node(OP_IDIV, sum_build(&p), mono_node(s->ctx, d));
  return int_add(sum_build(&whole), q);
}

/* Remainders that a multiple of d cannot change: (k*(x % (d*e)) + y) % d looks at x itself. */
static bool open_mods(Sum *p, Mono d) {
  for (int i = 0; i < p->n; i++) {
    UOp *f[FACTORS], *rest, *e;
    int n = mono_factors(p->term[i], f);
    for (int k = 0; k < n; k++) {
      if (f[k]->op != OP_MOD || !mono_div(p->term[i], f[k], &rest)) continue;
      UOp *m = f[k]->src[1];
      bool multiple = m->op == OP_CONST ? !d.mono && m->arg.i % d.coef == 0 : d.coef == 1 && mono_div(m, d.mono, &e);
      if (!multiple || m->op == OP_ADD || m->vmin < 1) continue;
      Sum q = *p, x = sum_of(f[k]->src[0]);
      sum_term(&q, -p->coef[i], p->term[i]);
      sum_addmul(&q, &x, p->coef[i], rest);
      if (q.bad) continue;
      *p = q;
      return true;
    }
  }
  return false;
}

static UOp *mod_mono(Sum *s, Mono d) {
  Sum a, r, p = *s;
  Mono g;
  int64_t k;
  for (int round = 0; round < ROUNDS; round++) {
    split(&p, d, true, &a, &r);
    if (r.bad || a.bad) return NULL;
    p = r;
    if (!open_mods(&p, d)) break;
  }
  if (one_multiple(&p, d, &k)) {
    int64_t back;
    if (__builtin_mul_overflow(-k, d.coef, &back)) return NULL;
    sum_term(&p, back, d.mono);
    return p.bad ? NULL : sum_build(&p);
  }
  if (find_scale(&p, d, &g, &a, &r, &k)) {
    Mono e = {d.coef / g.coef, NULL};
    if (!mono_div(d.mono, g.mono, &e.mono)) return NULL;
    sum_term(&a, k, NULL);
    if (!a.bad && !r.bad) {
      UOp *high = int_mul(int_mod(sum_build(&a), mono_node(s->ctx, e)), mono_node(s->ctx, g));
      sum_term(&r, -k * g.coef, g.mono);
      return r.bad ? NULL : int_add(high, sum_build(&r));
    }
  }
  return int_node(OP_MOD, sum_build(&p), mono_node(s->ctx, d));
}

/* Divisors that are sums: s = q*d + r by long division, worth it if r is within [0, d) or simpler than s. */
static bool long_division(const Sum *s, const Sum *d, Sum *q, Sum *r) {
  int lead = 0, most = 0;
  for (int i = 0; i < d->n; i++) {
    UOp *f[FACTORS];
    int n = mono_factors(d->term[i], f);
    if (n > most || (n == most && uop_compare(d->term[i], d->term[lead]) < 0)) lead = i, most = n;
  }
  *q = (Sum){.ctx = s->ctx};
  *r = *s;
  for (int round = 0, i = 0; round < ROUNDS && i < r->n; i++) {
    UOp *m;
    if (r->coef[i] % d->coef[lead] || !mono_div(r->term[i], d->term[lead], &m)) continue;
    int64_t k = r->coef[i] / d->coef[lead];
    if (k == INT64_MIN) return false;
    sum_term(q, k, m);
    sum_addmul(r, d, -k, m);
    if (q->bad || r->bad) return false;
    i = -1;
    round++;
  }
  return q->n || q->constant;
}

/* Both with a divisor that is a sum; NULL: nothing gained. */
static UOp *divmod_sum(const Sum *s, UOp *d, bool mod) {
  Sum dp = sum_of(d), q, r, below;
  if (dp.bad) return NULL;
  below = *s;
  sum_addmul(&below, &dp, -1, NULL);
  if (!below.bad && sum_min(s) >= 0 && sum_max(&below) < 0) {
    r = *s;
    return mod ? sum_build(&r) : uop_index(s->ctx, 0);
  }
  if (!long_division(s, &dp, &q, &r)) return NULL;
  below = r;
  sum_addmul(&below, &dp, -1, NULL);
  bool exact = !below.bad && sum_min(&r) >= 0 && sum_max(&below) < 0;
  if (!exact && r.n + (r.constant != 0) >= s->n + (s->constant != 0)) return NULL;
  UOp *left = sum_build(&r);
  if (exact) return mod ? left : sum_build(&q);
  return mod ? int_mod(left, d) : int_add(sum_build(&q), int_div(left, d));
}

static UOp *divmod(UOp *a, UOp *b, bool mod) {
  PolyContext *ctx = a->ctx;
  UOp *r = NULL;
  if (uop_is_int(b, 0) || uop_is_int(a, 0)) return uop_index(ctx, 0);
  if (b->op == OP_CONST && b->arg.i < 0 && b->arg.i != INT64_MIN) {
    r = divmod(int_mulc(a, -1), uop_index(ctx, -b->arg.i), mod);
    return mod ? int_mulc(r, -1) : r;
  }
  Sum s = sum_of(a), d = sum_of(b);
  if (!s.bad && !d.bad && int_positive(b)) {
    if (d.n + (d.constant != 0) == 1) {
      Mono m = d.n ? (Mono){d.coef[0], d.term[0]} : (Mono){d.constant, NULL};
      r = mod ? mod_mono(&s, m) : div_mono(&s, m);
    } else {
      r = divmod_sum(&s, b, mod);
    }
  }
  return r ? r : int_node(mod ? OP_MOD : OP_IDIV, a, b);
}

UOp *int_div(UOp *a, UOp *b) {
  if (!(a = as_index(a)) || !(b = as_index(b))) return NULL;
  return divmod(a, b, false);
}

UOp *int_mod(UOp *a, UOp *b) {
  if (!(a = as_index(a)) || !(b = as_index(b))) return NULL;
  return divmod(a, b, true);
}

/* ---- comparison, choice, conjunction ---- */

/* a - b; interval bounds of the two sides when that does not fit. */
static Sum difference(UOp *a, UOp *b) {
  Sum p = sum_of(a);
  sum_node(&p, -1, b);
  return p;
}

bool int_less(UOp *a, UOp *b) {
  if (!(a = as_index(a)) || !(b = as_index(b))) return false;
  if (a->vmax < b->vmin) return true;
  Sum p = difference(a, b);
  return !p.bad && sum_max(&p) < 0;
}

static UOp *choose(Op op, UOp *a, UOp *b) {
  if (!(a = as_index(a)) || !(b = as_index(b))) return NULL;
  bool is_min = op == OP_MIN;
  if (a == b || a->vmax <= b->vmin) return is_min ? a : b;
  if (b->vmax <= a->vmin) return is_min ? b : a;
  Sum p = difference(a, b);
  if (!p.bad && sum_max(&p) <= 0) return is_min ? a : b;
  if (!p.bad && sum_min(&p) >= 0) return is_min ? b : a;
  for (UOp *u = a; u->op == op; u = u->src[0])
    if (u->src[1] == b || u->src[0] == b) return a;
  for (UOp *u = b; u->op == op; u = u->src[0])
    if (u->src[1] == a || u->src[0] == a) return b;
  return uop_compare(a, b) > 0 ? int_node(op, b, a) : int_node(op, a, b);
}

UOp *int_min(UOp *a, UOp *b) { return choose(OP_MIN, a, b); }
UOp *int_max(UOp *a, UOp *b) { return choose(OP_MAX, a, b); }

/* p < 0 with the common factor taken out and, where a factor g of most terms leaves a remainder within [0, g), the rest
 * dropped: 4*i + j < 8 is i < 2 for j in 0..4. */
static void shrink_less(Sum *p) {
  for (int i = 0; i < p->n; i++) {
    Sum a, r;
    int64_t c = gcd64(p->coef[i], 0), k;
    if (c < 2) continue;
    split(p, (Mono){c, NULL}, false, &a, &r);
    if (a.bad || r.bad || !a.n || !one_multiple(&r, (Mono){c, NULL}, &k)) continue;
    sum_term(&a, k, NULL); /* g*(a + k) + s < 0 with 0 <= s < g is a + k < 0 */
    if (a.bad) continue;
    *p = a;
    i = -1;
  }
}

UOp *int_lt(UOp *a, UOp *b) {
  if (!(a = as_index(a)) || !(b = as_index(b))) return NULL;
  if (a->vmax < b->vmin) return bool_const(a->ctx, true);
  if (a->vmin >= b->vmax) return bool_const(a->ctx, false);
  Sum p = difference(a, b);
  if (p.bad) return int_node(OP_CMPLT, a, b);
  if (sum_max(&p) < 0) return bool_const(a->ctx, true);
  if (sum_min(&p) >= 0) return bool_const(a->ctx, false);
  shrink_less(&p);
  UOp *x = p.n == 1 ? p.term[0] : NULL;
  bool divides = x && x->op == OP_IDIV && x->src[1]->op == OP_CONST && x->src[1]->arg.i > 0;
  if (divides && p.coef[0] == 1 && p.constant != INT64_MIN)
    return int_lt(x->src[0], int_mulc(x->src[1], -p.constant)); /* x//c < k is x < k*c */
  if (divides && p.coef[0] == -1 && p.constant != INT64_MAX)
    return int_lt(int_addc(int_mulc(x->src[1], p.constant + 1), -1), x->src[0]); /* k < x//c is (k+1)*c - 1 < x */
  Sum left = {.ctx = p.ctx}, right = {.ctx = p.ctx};
  for (int i = 0; i < p.n; i++)
    if (p.coef[i] > 0)
      sum_term(&left, p.coef[i], p.term[i]);
    else
      sum_term(&right, -p.coef[i], p.term[i]);
  if (left.n)
    right.constant = -p.constant;
  else
    left.constant = p.constant;
  return int_node(OP_CMPLT, sum_build(&left), sum_build(&right));
}

/* Conjunctions are chains, sorted, without repetition. */
UOp *int_and(UOp *a, UOp *b) {
  if (!a || !b) return NULL;
  UOp *part[TERMS];
  int n = 0;
  for (int side = 0; side < 2; side++) {
    for (UOp *u = side ? b : a; u;) {
      UOp *x = u->op == OP_AND ? u->src[1] : u;
      u = u->op == OP_AND ? u->src[0] : NULL;
      if (x->vmax == 0) return bool_const(a->ctx, false);
      if (x->vmin == 1) continue;
      int k = 0;
      while (k < n && uop_compare(part[k], x) < 0) k++;
      if (k < n && part[k] == x) continue;
      if (n == TERMS) return int_node(OP_AND, a, b);
      memmove(&part[k + 1], &part[k], (size_t)(n - k) * sizeof *part);
      part[k] = x;
      n++;
    }
  }
  UOp *r = n ? part[0] : bool_const(a->ctx, true);
  for (int i = 1; i < n; i++) r = int_node(OP_AND, r, part[i]);
  return r;
}

UOp *int_where(UOp *cond, UOp *a, UOp *b) {
  if (!cond || !(a = as_index(a)) || !(b = as_index(b))) return NULL;
  if (a == b || cond->vmin == 1) return a;
  if (cond->vmax == 0) return b;
  return uop_make(a->ctx, OP_WHERE, POLY_INT64, (UArg){0}, 3, (UOp *[]){cond, a, b}, 0, NULL);
}

UOp *int_rebuild(UOp *u, UOp *const *src) {
  static UOp *(*const table[OP_COUNT])(UOp *, UOp *) = {
      [OP_ADD] = int_add, [OP_SUB] = int_sub, [OP_MUL] = int_mul, [OP_IDIV] = int_div,
      [OP_MOD] = int_mod, [OP_MIN] = int_min, [OP_MAX] = int_max,
  };
  if (u->dtype == POLY_INT64 && table[u->op]) return table[u->op](src[0], src[1]);
  if (u->dtype == POLY_INT64 && u->op == OP_WHERE) return int_where(src[0], src[1], src[2]);
  if (u->dtype == POLY_INT64 && u->op == OP_NEG) return int_mulc(src[0], -1);
  if (u->op == OP_CMPLT && src[0] && src[0]->dtype == POLY_INT64) return int_lt(src[0], src[1]);
  if (u->op == OP_AND && u->dtype == POLY_BOOL) return int_and(src[0], src[1]);
  return uop_with_sources(u, src);
}
