/* rewrite.c: the rewrite driver: bottom-up, memoised, with an explicit stack. In: a pass and roots. Out: the roots in
 * the form that none of the pass's rules changes. Knows nothing of what the rules are about. */
#include "ir/rewrite.h"
#include "ir/context.h"
#include "ir/text.h"
#include "ir/verify.h"

#include <stdio.h>

enum { STEPS_A_NODE = 64, STEPS_AT_LEAST = 10000, MAX_SOURCES = 64 };

/* A node on its way: first its sources, then itself over the new sources, then what the rules made of it. */
typedef struct Frame {
  UOp *node;
  UOp *becomes; /* the node whose result is this one's too; NULL: not known yet */
} Frame;

typedef struct Driver {
  PolyContext *ctx;
  const RewritePass *pass;
  void *user;
  Map memo; /* node -> its final form; final forms map to themselves */
  VEC(Frame) stack;
  int64_t steps;
} Driver;

static UOp *memo_get(const Driver *d, const UOp *u) {
  uint64_t v;
  return map_get(&d->memo, (uint64_t)(uintptr_t)u, &v) ? (UOp *)(uintptr_t)v : NULL;
}

static bool memo_put(Driver *d, const UOp *u, const UOp *v) {
  return map_put(&d->ctx->base, &d->memo, (uint64_t)(uintptr_t)u, (uint64_t)(uintptr_t)v);
}

static bool push(Driver *d, UOp *u) { return vec_push(&d->ctx->base, &d->stack, ((Frame){u, NULL})); }

/* u over the final forms of its sources. */
static UOp *rebuild(Driver *d, UOp *u) {
  UOp *few[MAX_SOURCES], **src = few;
  Base *b = &d->ctx->base;
  bool changed = false;
  if (u->nsrc > MAX_SOURCES) src = mem_new(b, (size_t)u->nsrc * sizeof *src);
  if (!src) return NULL;
  for (int i = 0; i < u->nsrc; i++) {
    src[i] = memo_get(d, u->src[i]);
    changed |= src[i] != u->src[i];
  }
  UOp *r = u;
  if (changed) r = d->pass->index && u->ndim == 0 ? int_rebuild(u, src) : uop_with_sources(u, src);
  if (src != few) mem_free(b, src, (size_t)u->nsrc * sizeof *src);
  return r;
}

static UOp *apply_rules(Driver *d, UOp *u) {
  const RewritePass *p = d->pass;
  UOp *r = identity_apply(p->identities, p->nidentity, u);
  for (int i = 0; i < p->nrule && (!r || r == u); i++)
    if (p->rules[i].op == u->op || p->rules[i].op == OP_COUNT) r = p->rules[i].apply(u, d->user);
  return r ? r : u;
}

/* Does one thing for the top of the stack. */
static bool step(Driver *d) {
  Frame *f = &d->stack.at[d->stack.n - 1];
  UOp *u = f->node;
  if (f->becomes) {
    UOp *v = memo_get(d, f->becomes);
    if (!v) return push(d, f->becomes);
    d->stack.n--;
    return memo_put(d, u, v) && memo_put(d, v, v);
  }
  if (u->buffer || memo_get(d, u)) {
    d->stack.n--;
    return memo_get(d, u) || memo_put(d, u, u);
  }
  for (int i = 0; i < u->nsrc; i++)
    if (!memo_get(d, u->src[i])) return push(d, u->src[i]);
  UOp *v = rebuild(d, u);
  if (v == u)
    v = apply_rules(d, u);
  else if (v && d->pass->rebuilt && !d->pass->rebuilt(u, v, d->user))
    return false;
  if (!v || d->ctx->base.code != POLY_OK) return false;
  if (v == u) {
    d->stack.n--;
    return memo_put(d, u, u);
  }
  if (--d->steps < 0)
    return base_fail(&d->ctx->base, POLY_ERROR_RUNTIME, "pass %s does not end: %s keeps changing", d->pass->name,
                     op_info[u->op].name);
  f->becomes = v;
  return true;
}

static void show(const Driver *d, const char *when, int nroot, UOp *const *roots) {
  Str s = {.b = &d->ctx->base};
  uop_print(&s, nroot, roots);
  if (!s.failed) fprintf(stderr, "-- %s %s\n%s", d->pass->name, when, s.at ? s.at : "");
  str_free(&s);
}

bool rewrite_graphs(PolyContext *ctx, const RewritePass *pass, void *user, int nroot, UOp **roots) {
  for (int i = 0; i < nroot; i++)
    if (!roots[i]) return false;
  if (ctx->base.code != POLY_OK) return false;
  Driver d = {.ctx = ctx, .pass = pass, .user = user};
  d.steps = STEPS_AT_LEAST + (int64_t)ctx->nnode * STEPS_A_NODE;
  if (ctx->debug >= 5) show(&d, "before", nroot, roots);
  bool ok = true;
  for (int i = 0; i < nroot && ok; i++) {
    ok = push(&d, roots[i]);
    while (ok && d.stack.n) ok = step(&d);
  }
  for (int i = 0; i < nroot && ok; i++) roots[i] = memo_get(&d, roots[i]);
  if (ok && ctx->debug >= 5) show(&d, "after", nroot, roots);
  ok = ok && uop_verify_pass(ctx, pass->name, nroot, roots, VERIFY_ANY);
  vec_free(&ctx->base, &d.stack);
  map_free(&ctx->base, &d.memo);
  return ok;
}

UOp *rewrite_graph(PolyContext *ctx, const RewritePass *pass, UOp *root) {
  return rewrite_graphs(ctx, pass, NULL, 1, &root) ? root : NULL;
}

/* ---- matching identities ---- */

typedef struct Match {
  UOp *var[3]; /* X Y C */
} Match;

static bool is_constant(const UOp *u, int token) {
  const UOp *c = const_under(u);
  if (!c) return false;
  bool is_float = dtype_is_float((PolyDType)c->dtype), is_bool = c->dtype == POLY_BOOL;
  double v = const_float(c);
  switch (token) {
  case PAT_ZERO: return is_float ? c->arg.i == 0 : c->arg.i == 0 && !is_bool;
  case PAT_NEGZERO: return is_float && c->arg.i == INT64_MIN; /* the sign bit alone */
  case PAT_ONE: return !is_bool && v == 1;
  case PAT_TWO: return !is_bool && v == 2;
  case PAT_ONES:
    if (is_bool) return c->arg.i == 1;
    if (!dtype_is_unsigned((PolyDType)c->dtype)) return v == -1;
    return c->arg.i == (int64_t)(UINT64_MAX >> (64 - 8 * dtype_size((PolyDType)c->dtype)));
  case PAT_TRUE: return is_bool && c->arg.i == 1;
  default: return is_bool && c->arg.i == 0;
  }
}

/* Matches the pattern at *p against u and moves p past it. swap: the operands of the outermost op the other way round.
 */
static bool match(const int16_t **p, UOp *u, Match *m, bool swap) {
  int token = *(*p)++;
  if (token >= 0) {
    if (u->op != token || u->buffer) return false;
    int n = op_info[token].nsrc;
    for (int i = 0; i < n; i++)
      if (!match(p, u->src[swap ? n - 1 - i : i], m, false)) return false;
    return true;
  }
  if (token < PAT_C) return is_constant(u, token);
  UOp **var = &m->var[PAT_X - token];
  if (!*var) *var = u;
  return *var == u && (token != PAT_C || u->dtype == POLY_BOOL);
}

static UOp *constant(PolyContext *ctx, int token, PolyDType dtype) {
  switch (token) {
  case PAT_ZERO: return uop_int_const(ctx, dtype, 0);
  case PAT_NEGZERO: return uop_const(ctx, dtype, -0.0);
  case PAT_ONE: return uop_int_const(ctx, dtype, 1);
  case PAT_TWO: return uop_int_const(ctx, dtype, 2);
  case PAT_ONES: return uop_int_const(ctx, dtype, -1);
  default: return uop_int_const(ctx, POLY_BOOL, token == PAT_TRUE);
  }
}

/* Builds the replacement; dtype is that of x and y. */
static UOp *build(const int16_t **p, PolyContext *ctx, const Match *m, PolyDType dtype) {
  int token = *(*p)++;
  if (token < PAT_C) return constant(ctx, token, dtype);
  if (token < 0) return m->var[PAT_X - token];
  UOp *src[3] = {0};
  for (int i = 0; i < op_info[token].nsrc; i++) src[i] = build(p, ctx, m, dtype);
  switch (op_info[token].cls) {
  case CLASS_UNARY: return uop_unary((Op)token, src[0]);
  case CLASS_TERNARY: return uop_where(src[0], src[1], src[2]);
  default: return uop_binary((Op)token, src[0], src[1]);
  }
}

static unsigned dtype_group(PolyDType d) {
  if (d == POLY_BOOL) return FOR_BOOL;
  if (dtype_is_float(d)) return FOR_FLOAT;
  return dtype_is_unsigned(d) ? FOR_UINT : FOR_INT;
}

UOp *identity_apply(const Identity *list, int n, UOp *u) {
  if (!op_elementwise((Op)u->op)) return NULL;
  PolyDType dtype = (PolyDType)u->src[u->op == OP_WHERE ? 1 : 0]->dtype;
  unsigned group = dtype_group(dtype);
  for (int i = 0; i < n; i++) {
    if (list[i].from[0] != u->op || !(list[i].dtypes & group)) continue;
    for (int swap = 0; swap <= op_info[u->op].commutes; swap++) {
      Match m = {{0}};
      const int16_t *from = list[i].from, *to = list[i].to;
      if (!match(&from, u, &m, swap)) continue;
      UOp *r = build(&to, u->ctx, &m, dtype);
      return r && !shape_equal(r, u) ? uop_spread(r, u->ndim, u->shape) : r;
    }
  }
  return NULL;
}
