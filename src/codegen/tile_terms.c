/* tile_terms.c: a sum of several products is one sum, over one inner axis after the other. In: the STORE nodes of a
 * kernel whose reductions are all terms of one sum. Out: the same with the first of them in the place of the sum, and
 * the others as terms of the Tiles.
 *
 *   c[i, j] = f(sum over k of x(i, k) y(k, j) + b[j] + sum over l of z(i, l) w(l, j))
 *     ->   f((sum over k of x y, then over l of z w) + b[j])
 *
 * So the sum is formed in registers, and each product is neither stored nor read again. */
#include "codegen/tiles.h"

#include "ir/context.h"

enum { MOST_LEAVES = 16 };

/* What a tree of additions adds up. */
typedef struct Sum {
  int nloop, nrest;
  UOp *loop[MOST_TERMS], *rest[MOST_LEAVES];
} Sum;

static bool add_leaves(Sum *s, UOp *u) {
  if (u->op == OP_ADD) return add_leaves(s, u->src[0]) && add_leaves(s, u->src[1]);
  bool loop = u->op == OP_LOOP;
  if (loop ? s->nloop == MOST_TERMS : s->nrest == MOST_LEAVES) return false;
  *(loop ? &s->loop[s->nloop++] : &s->rest[s->nrest++]) = u;
  return true;
}

/* The addition at or below u that adds up n loops; NULL: there is none. */
static UOp *find_sum(Tiles *t, UOp *u, int n, Sum *sum, Map *seen) {
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return NULL;
  if (!map_put(ctx_base(t->g->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return NULL;
  *sum = (Sum){0};
  if (u->op == OP_ADD && add_leaves(sum, u) && sum->nloop == n) return u;
  UOp *found = NULL;
  for (int i = 0; i < u->nsrc && !found; i++) found = find_sum(t, u->src[i], n, sum, seen);
  return found;
}

/* u with `to` in the place of `from`. */
static UOp *replaced(Tiles *t, UOp *u, const UOp *from, UOp *to, Map *done) {
  uint64_t at;
  if (u == from) return to;
  if (map_get(done, (uint64_t)(uintptr_t)u, &at)) return (UOp *)(uintptr_t)at;
  UOp **src = arena_new(t->g->arena, ((size_t)u->nsrc + 1) * sizeof *src), *r = u;
  bool same = true;
  for (int i = 0; src && i < u->nsrc; i++) {
    if (!(src[i] = replaced(t, u->src[i], from, to, done))) return NULL;
    same &= src[i] == u->src[i];
  }
  if (!src) return NULL;
  if (!same)
    r = op_info[u->op].cls == CLASS_KERNEL
            ? uop_make(t->g->ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, u->nsrc, src, 0, NULL)
            : uop_with_sources(u, src);
  return r && map_put(ctx_base(t->g->ctx), done, (uint64_t)(uintptr_t)u, (uint64_t)(uintptr_t)r) ? r : NULL;
}

static bool has_loop(Tiles *t, const UOp *u, Map *seen) {
  if (u->op == OP_LOOP) return true;
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return false;
  if (!map_put(ctx_base(t->g->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return true;
  for (int i = 0; i < u->nsrc; i++)
    if (has_loop(t, u->src[i], seen)) return true;
  return false;
}

/* The STORE nodes with `to` in the place of `from`; NULL also where loops are left and are not to be. */
static UOp **stores_with(Tiles *t, const UOp *from, UOp *to, bool loops) {
  UOp **store = arena_new(t->g->arena, (size_t)t->nstore * sizeof *store);
  Map done = {0}, seen = {0};
  bool ok = store && to;
  for (int i = 0; ok && i < t->nstore; i++) {
    store[i] = replaced(t, t->store[i], from, to, &done);
    ok = store[i] && (loops || !has_loop(t, store[i]->src[1], &seen));
  }
  map_free(ctx_base(t->g->ctx), &done);
  map_free(ctx_base(t->g->ctx), &seen);
  return ok ? store : NULL;
}

/* The factors of a product that vary as the rows and the columns of the first one do, and its own loop. */
static bool note_term(Tiles *t, UOp *loop, Term *term) {
  if (loop->nsrc != 2 || !tiles_is_product(loop)) return false;
  *term = (Term){.x = loop->src[0]->src[0], .y = loop->src[0]->src[1], .k = {.n = 1, .range = {loop->src[1]}}};
  for (int turn = 0; turn < 2; turn++) {
    if (tiles_vary_as(t, term)) return true;
    UOp *x = term->x;
    term->x = term->y;
    term->y = x;
  }
  return false;
}

bool tiles_add_terms(Tiles *t) {
  Codegen *g = t->g;
  Sum sum;
  Map seen = {0};
  UOp *top = find_sum(t, t->store[0]->src[1], g->loops.n, &sum, &seen), *value = top ? sum.loop[0] : NULL;
  map_free(ctx_base(g->ctx), &seen);
  if (!top || !stores_with(t, top, uop_const(g->ctx, (PolyDType)top->dtype, 0), false)) return false;
  for (int i = 1; i < sum.nloop; i++)
    for (int k = 0; k < i; k++)
      if (sum.loop[i] == sum.loop[k]) return false;
  for (int i = 0; value && i < sum.nrest; i++) value = uop_binary(OP_ADD, value, sum.rest[i]);
  t->store = stores_with(t, top, value, true);
  t->loop = sum.loop[0];
  t->nmore = sum.nloop - 1;
  for (int i = 0; i < t->nmore; i++) t->more[i].loop = sum.loop[1 + i];
  return t->store != NULL;
}

bool tiles_sort_terms(Tiles *t) {
  if (t->nmore && t->k.n != 1) return false;
  for (int i = 0; i < t->nmore; i++) {
    UOp *loop = t->more[i].loop;
    if (!note_term(t, loop, &t->more[i])) return false;
    t->more[i].loop = loop;
  }
  return true;
}
