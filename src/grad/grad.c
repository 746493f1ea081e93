/* grad.c: reverse mode. In: a root, its gradient, targets. Out: the gradients of the targets, as UOps.
 *
 * One walk lists the nodes, sources first. Forward over the list, a node is marked if it is a target or if a gradient
 * can flow from it into a marked source. Backward over the list, each marked node that has gradients sums them and its
 * rule hands the sum on to the marked sources. Nothing recurses; the cost is linear in nodes and edges.
 *
 *   root = MUL(EXP(x), y), target x:   list x y EXP MUL, marked x EXP MUL
 *                                      MUL: g*y -> EXP;  EXP: (g*y)*EXP(x) -> x
 *
 * Numbers of sources are noted before any rule runs, since builders may walk the graph themselves and renumber it. */
#include "grad/grad.h"
#include "grad/rules.h"
#include "ir/context.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "ir/verify.h"

/* One gradient that a node got from one of its users, in the order of arrival. */
typedef struct Part {
  UOp *g;
  UOp *of; /* at a SCAN: which of its results the gradient is of */
  struct Part *next;
} Part;

typedef struct Node {
  UOp *u;
  Part *head, *tail;
  int nparts;
  int *edge;     /* place of each source in the tape */
  uint32_t need; /* sources to hand a gradient on to, as bits */
  bool marked, target, stop;
} Node;

typedef struct Tape {
  Arena arena;
  Node *node;
  int n;
  int *target;   /* place of each target, -1: not reached */
  VEC(int) twin; /* places of nodes in whose place a target is */
  int *root;     /* place of each root */
  VEC(UOp *) terms;
} Tape;

/* Does a gradient flow into source k of a loop over steps? Not into its body, which is differentiated by itself. */
static bool enters_scan(const UOp *u, int k) {
  Scan s = scan_of(u);
  bool body = k >= s.ncarry + s.nx && k < s.ncarry + s.nx + s.nout;
  return !body && k < u->nsrc - 1 && dtype_is_float((PolyDType)u->src[k]->dtype);
}

uint32_t grad_mask(const UOp *u) {
  if (u->op == OP_SCAN || (scan_behind(u) && dtype_is_float((PolyDType)u->dtype))) return 1;
  if (!dtype_is_float((PolyDType)u->dtype) || !grad_rules[u->op]) return 0;
  if (u->op == OP_ASSIGN) return 2;
  if (u->op == OP_FUNCTION) return grad_function_mask(u);
  if (u->op == OP_LIBRARY) return grad_library_mask(u);
  uint32_t mask = 0;
  int n = MIN(uop_nvalue(u), GRAD_MAX_SRC);
  for (int k = 0; k < n; k++)
    if (dtype_is_float((PolyDType)u->src[k]->dtype)) mask |= 1u << k;
  return mask;
}

static bool no_way_on(const UOp *u, void *user) {
  (void)user;
  return grad_mask(u) == 0;
}

static uint64_t former(const UOp *u) { return u->op == OP_BUFFER ? (uint64_t)u->arg.j : 0; }

/* A tensor whose value was stored is a BUFFER; what was built of it before names the node that it was then. Calls back
 * for each such node of the walk with the number of a target. */
static bool each_twin(PolyContext *ctx, const Walk *walk, int n, UOp *const *targets,
                      bool (*found)(PolyContext *ctx, int target, UOp *twin, void *user), void *user) {
  Map of = {0};
  bool ok = true;
  uint64_t k;
  for (int i = 0; i < n && ok; i++)
    if (former(targets[i])) ok = map_put(ctx_base(ctx), &of, former(targets[i]), (uint64_t)i);
  for (int i = 0; of.n && i < walk->n && ok; i++)
    if (map_get(&of, walk->at[i]->serial, &k)) ok = found(ctx, (int)k, walk->at[i], user);
  map_free(ctx_base(ctx), &of);
  return ok;
}

static bool mark_twin(PolyContext *ctx, int target, UOp *twin, void *user) {
  (void)target;
  Tape *t = user;
  t->node[twin->slot].target = t->node[twin->slot].marked = true;
  return vec_push(ctx_base(ctx), &t->twin, twin->slot);
}

/* Where the gradients of a loop go on to. */
static bool open_scan(Tape *t, Node *node) {
  UOp *u = node->u;
  node->edge = arena_new(&t->arena, (size_t)u->nsrc * sizeof(int));
  if (!node->edge) return false;
  for (int k = 0; k < u->nsrc; k++) {
    node->edge[k] = enters_scan(u, k) ? u->src[k]->slot : -1;
    if (node->edge[k] >= 0 && t->node[node->edge[k]].marked) node->need = 1;
  }
  node->marked |= node->need;
  return true;
}

/* Is a target, or a node where gradients end, on the way from u through products, joins and moves? */
static bool leads_to_target(const Tape *t, const UOp *u, int *budget) {
  bool inside =
      op_info[u->op].cls == CLASS_MOVE || u->op == OP_CAT || u->op == OP_MUL || u->op == OP_REDUCE || u->op == OP_CAST;
  if (!inside || !dtype_is_float((PolyDType)u->dtype)) return false;
  if (t->node[u->slot].target || t->node[u->slot].stop || (*budget)-- <= 0) return true;
  for (int k = 0; k < uop_nvalue(u); k++)
    if (leads_to_target(t, u->src[k], budget)) return true;
  return false;
}

/* A value that is computed in another way than it was written: gradients go through what computes it, unless one is
 * asked for in between. */
static uint32_t mask_of_same(const Tape *t, const UOp *u) {
  enum { NEAR = 256 };
  int budget = NEAR;
  return leads_to_target(t, u->src[1], &budget) ? 2 : 1;
}

static bool tape_open(PolyContext *ctx, Tape *t, int nroot, UOp *const *root, int n, UOp *const *targets, int nstop,
                      UOp *const *stops) {
  *t = (Tape){.arena = {.b = ctx_base(ctx)}};
  Walk walk;
  if (!uop_walk(ctx, &t->arena, nroot, root, no_way_on, NULL, &walk)) return false;
  t->n = walk.n;
  t->root = arena_new(&t->arena, (size_t)(nroot + 1) * sizeof(int));
  if (!t->root) return false;
  for (int r = 0; r < nroot; r++) t->root[r] = root[r]->slot;
  t->node = arena_new(&t->arena, (size_t)walk.n * sizeof(Node));
  t->target = arena_new(&t->arena, (size_t)n * sizeof(int) + 1);
  if (!t->node || !t->target) return false;
  for (int k = 0; k < n; k++) {
    bool met = targets[k]->epoch == walk.epoch;
    t->target[k] = met ? targets[k]->slot : -1;
    if (met) t->node[targets[k]->slot].target = t->node[targets[k]->slot].marked = true;
  }
  if (!each_twin(ctx, &walk, n, targets, mark_twin, t)) return false;
  for (int k = 0; k < nstop; k++)
    if (stops[k]->epoch == walk.epoch) t->node[stops[k]->slot].stop = true;
  for (int i = 0; i < walk.n; i++) {
    Node *node = &t->node[i];
    UOp *u = node->u = walk.at[i];
    if (u->op == OP_SCAN) {
      if (!open_scan(t, node)) return false;
      continue;
    }
    bool same = u->op == OP_FUNCTION && function_rule(u) == FUNCTION_SAME;
    uint32_t mask = node->stop ? 0 : same ? mask_of_same(t, u) : grad_mask(u);
    int nsrc = MIN(uop_nvalue(u), GRAD_MAX_SRC);
    if (mask && !(node->edge = arena_new(&t->arena, (size_t)nsrc * sizeof(int)))) return false;
    for (int k = 0; k < nsrc; k++) {
      if (!(mask >> k & 1)) continue;
      node->edge[k] = u->src[k]->slot;
      if (t->node[node->edge[k]].marked) node->need |= 1u << k;
    }
    if (node->need) node->marked = true;
  }
  return true;
}

static void tape_close(PolyContext *ctx, Tape *t) {
  vec_free(ctx_base(ctx), &t->terms);
  vec_free(ctx_base(ctx), &t->twin);
  arena_free(&t->arena);
}

static bool give_of(Tape *t, int place, UOp *g, UOp *of) {
  Part *part = arena_new(&t->arena, sizeof *part);
  if (!part) return false;
  Node *node = &t->node[place];
  part->g = g;
  part->of = of;
  if (node->tail)
    node->tail->next = part;
  else
    node->head = part;
  node->tail = part;
  node->nparts++;
  return true;
}

static bool give(Tape *t, int place, UOp *g) { return give_of(t, place, g, NULL); }

/* Pairwise: a tree of depth log n keeps both the rounding error and the expression shallow. */
static UOp *collect(Base *b, Tape *t, const Node *node) {
  if (node->nparts == 1) return node->head->g;
  t->terms.n = 0;
  for (const Part *p = node->head; p; p = p->next)
    if (!vec_push(b, &t->terms, p->g)) return NULL;
  UOp **at = t->terms.at;
  for (int n = t->terms.n; n > 1; n = (n + 1) / 2)
    for (int k = 0; 2 * k < n; k++) at[k] = 2 * k + 1 < n ? add(at[2 * k], at[2 * k + 1]) : at[2 * k];
  return at[0];
}

/* A CONST takes part in elementwise ops of any shape: as a target it gets the sum. */
static UOp *fit(UOp *g, UOp *x) {
  if (!g || x->op != OP_CONST || g->ndim == 0) return g;
  UOp *sum = uop_reduce(OP_ADD, grad_wide(g), (uint32_t)((1ull << g->ndim) - 1));
  return sum ? uop_cast(uop_reshape(sum, 0, NULL), (PolyDType)x->dtype) : NULL;
}

/* A gradient that is zero everywhere is not handed on: 0 times an infinite slope would be NaN. */
static bool is_flat(const UOp *g) {
  const UOp *c = const_under(g);
  return c && const_float(c) == 0;
}

static bool pass_on(Base *b, Tape *t, const Node *node, UOp *g) {
  UOp *u = node->u, *out[GRAD_MAX_SRC] = {0};
  grad_rules[u->op](u, g, node->need, out);
  for (int k = 0; k < GRAD_MAX_SRC; k++) {
    if (!(node->need >> k & 1)) continue;
    UOp *x = u->src[k], *gx = fit(out[k], x);
    if (!gx && b->code != POLY_OK) return false; /* a rule that said why */
    if (!gx) return base_fail(b, POLY_ERROR_RUNTIME, "the gradient of %s could not be built", op_info[u->op].name);
    if (!shape_equal(gx, x) || gx->dtype != x->dtype) {
      char got[256], want[256];
      return base_fail(b, POLY_ERROR_RUNTIME, "the gradient of %s has shape %s and dtype %s, not %s and %s",
                       op_info[u->op].name, shape_text(gx, got, sizeof got), dtype_name((PolyDType)gx->dtype),
                       shape_text(x, want, sizeof want), dtype_name((PolyDType)x->dtype));
    }
    if (!is_flat(gx) && !give(t, node->edge[k], gx)) return false;
  }
  return true;
}

/* A factor that is broadcast into several products, as a weight used twice is: each product is summed by itself, which
 * is a matrix product, and the sums are added. Of their sum, REDUCE(ADD(MUL, MUL)), only a plain loop could be made. */
static bool is_shared_factor(const Node *node) {
  int products = 0;
  for (const Part *p = node->head; p; p = p->next) products += p->g->op == OP_MUL;
  return node->u->op == OP_EXPAND && products && node->nparts > 1 && !node->target;
}

static bool pass_on_parts(Base *b, Tape *t, Node *node) {
  Part *part = node->head;
  node->head = node->tail = NULL;
  node->nparts = 0;
  for (; part; part = part->next)
    if (part->g->op == OP_MUL ? !pass_on(b, t, node, part->g) : !give(t, (int)(node - t->node), part->g)) return false;
  if (!node->head) return true;
  UOp *rest = collect(b, t, node);
  return rest && pass_on(b, t, node, rest);
}

/* A loop hands on the gradients of all its results together. */
static bool pass_on_scan(Base *b, Tape *t, const Node *node) {
  UOp *u = node->u;
  size_t n = (size_t)u->nsrc + 1;
  UOp **of = arena_new(&t->arena, (size_t)node->nparts * sizeof *of);
  UOp **g = arena_new(&t->arena, (size_t)node->nparts * sizeof *g), **out = arena_new(&t->arena, n * sizeof *out);
  bool *need = arena_new(&t->arena, n);
  if (!of || !g || !out || !need) return false;
  int nresult = 0;
  for (const Part *p = node->head; p; p = p->next) {
    of[nresult] = p->of;
    g[nresult++] = p->g;
  }
  for (int k = 0; k < u->nsrc; k++) need[k] = node->edge[k] >= 0 && t->node[node->edge[k]].marked;
  if (!grad_scan(u, nresult, of, g, need, out))
    return b->code != POLY_OK ? false : base_fail(b, POLY_ERROR_RUNTIME, "the gradient of a loop could not be built");
  for (int k = 0; k < u->nsrc; k++) {
    if (!need[k] || !out[k] || is_flat(out[k])) continue;
    if (!shape_equal(out[k], u->src[k]) || out[k]->dtype != u->src[k]->dtype)
      return base_fail(b, POLY_ERROR_RUNTIME, "the gradient of source %d of a loop has another shape or dtype", k);
    if (!give(t, node->edge[k], out[k])) return false;
  }
  return true;
}

/* Leaves the sum of each target in its node's head. */
static bool tape_run(PolyContext *ctx, Tape *t, int nroot, UOp *const *seed) {
  Base *b = ctx_base(ctx);
  for (int r = 0; r < nroot; r++)
    if (t->node[t->root[r]].marked && !give(t, t->root[r], seed[r])) return false;
  for (int i = t->n - 1; i >= 0; i--) {
    Node *node = &t->node[i];
    if (!node->head) continue;
    if (node->u->op == OP_SCAN) {
      if (node->need && !pass_on_scan(b, t, node)) return false;
      continue;
    }
    if (node->need && is_shared_factor(node)) {
      if (!pass_on_parts(b, t, node)) return false;
      continue;
    }
    UOp *g = collect(b, t, node);
    if (!g) return false;
    node->head->g = g;
    bool result = scan_behind(node->u) != NULL;
    if (node->need && result && !give_of(t, node->edge[0], g, node->u)) return false;
    if (node->need && !result && !pass_on(b, t, node, g)) return false;
  }
  return true;
}

static bool verify_gradients(PolyContext *ctx, int n, UOp *const *out) {
  if (!ctx->verify) return true;
  Arena arena = {.b = ctx_base(ctx)};
  UOp **made = arena_new(&arena, (size_t)(n + 1) * sizeof *made);
  int nmade = 0;
  for (int k = 0; k < n && made; k++)
    if (out[k]) made[nmade++] = out[k];
  bool ok = made && uop_verify_pass(ctx, "reverse mode", nmade, made, VERIFY_TENSOR);
  arena_free(&arena);
  return ok;
}

bool grad_build_until(PolyContext *ctx, UOp *root, UOp *seed, int n, UOp *const *targets, int nstop, UOp *const *stops,
                      UOp **out) {
  int kept = 0;
  Arena arena = {.b = ctx_base(ctx)};
  UOp **stop = arena_new(&arena, (size_t)(nstop + 1) * sizeof *stop);
  for (int k = 0; stop && k < nstop; k++)
    if (stops[k] != root) stop[kept++] = stops[k];
  bool ok = stop && grad_build_many(ctx, 1, &root, &seed, n, targets, kept, stop, out);
  arena_free(&arena);
  return ok;
}

/* What arrived at target k, under all its names; NULL: nothing. */
static UOp *arrived(const Tape *t, int k, const UOp *target) {
  const Node *node = t->target[k] >= 0 ? &t->node[t->target[k]] : NULL;
  UOp *g = node && node->head ? node->head->g : NULL;
  for (int i = 0; i < t->twin.n; i++) {
    const Node *twin = &t->node[t->twin.at[i]];
    if (twin->u->serial != former(target) || !twin->head) continue;
    g = g ? add(g, twin->head->g) : twin->head->g;
  }
  return g;
}

bool grad_build_many(PolyContext *ctx, int nroot, UOp *const *root, UOp *const *seed, int n, UOp *const *targets,
                     int nstop, UOp *const *stops, UOp **out) {
  for (int r = 0; r < nroot; r++)
    if (!root[r] || !seed[r]) return false;
  Tape t;
  bool ok = tape_open(ctx, &t, nroot, root, n, targets, nstop, stops) && tape_run(ctx, &t, nroot, seed);
  for (int k = 0; k < n; k++) out[k] = ok ? arrived(&t, k, targets[k]) : NULL;
  tape_close(ctx, &t);
  return ok && verify_gradients(ctx, n, out);
}

bool grad_is_detached(const UOp *u, void *user) {
  (void)user;
  return u->op == OP_DETACH;
}

static bool meet_twin(PolyContext *ctx, int target, UOp *twin, void *user) {
  (void)ctx, (void)twin;
  ((bool *)user)[target] = true;
  return true;
}

bool grad_depends(PolyContext *ctx, UOp *root, int n, UOp *const *targets, bool *met) {
  Arena arena = {.b = ctx_base(ctx)};
  Walk walk;
  bool ok = uop_walk(ctx, &arena, 1, &root, grad_is_detached, NULL, &walk);
  for (int k = 0; k < n; k++) met[k] = ok && targets[k]->epoch == walk.epoch;
  ok = ok && each_twin(ctx, &walk, n, targets, meet_twin, met);
  arena_free(&arena);
  return ok;
}

bool grad_is_cut(PolyContext *ctx, UOp *root) {
  Arena arena = {.b = ctx_base(ctx)};
  Walk walk;
  bool cut = false, ok = uop_walk(ctx, &arena, 1, &root, grad_is_detached, NULL, &walk);
  for (int i = 0; ok && i < walk.n && !cut; i++) cut = walk.at[i]->cut;
  arena_free(&arena);
  return cut;
}

bool grad_had_leaf(PolyContext *ctx, UOp *root) {
  Arena arena = {.b = ctx_base(ctx)};
  Walk walk;
  bool had = false, ok = uop_walk(ctx, &arena, 1, &root, grad_is_detached, NULL, &walk);
  for (int i = 0; ok && i < walk.n && !had; i++) had = walk.at[i]->left;
  arena_free(&arena);
  return had;
}

bool grad_build(PolyContext *ctx, UOp *root, UOp *seed, int n, UOp *const *targets, UOp **out) {
  return grad_build_until(ctx, root, seed, n, targets, 0, NULL, out);
}

bool grad_reaches(PolyContext *ctx, UOp *root, int n, UOp *const *targets) {
  Tape t;
  bool reached = tape_open(ctx, &t, 1, &root, n, targets, 0, NULL) && t.node[t.n - 1].marked;
  tape_close(ctx, &t);
  return reached;
}
