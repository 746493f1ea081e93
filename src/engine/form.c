/* form.c: plans for programs that differ in numbers alone. In: a canonical program. Out: a plan for it, and the values
 * of the plan's variables.
 *
 * A program that has not been met before is planned as it is, with its numbers as constants: kernels over constant
 * sizes are the fastest. Its form is remembered. When a program of the same form comes with other numbers, those that
 * differ become variables of one general plan (form_program.c), which then serves every program that differs from the
 * first in these places only. If another number differs later, the form grows by one sample.
 *
 * Two programs of one form may share differently: where two sizes happen to be equal, two nodes may be one. So forms
 * are found by a hash over the program read as a tree, in which sharing does not show; a program matches a form if each
 * node of the form is one node of the program; and a form that grows has a node for each pair of nodes that stand in
 * one place.
 *
 * A match compares every number of the program with what the general program has there. So the general plan computes
 * just what the program says, whatever was concluded about equal sizes when the form was made. */
#include "engine/form.h"

#include <string.h>

/* ---- structure ---- */

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

static bool is_number(const UOp *u) { return u->op == OP_CONST; }

/* Axes of size 0, of size 1, and symbolic ones: 16 bits each. */
static uint64_t axis_masks(const UOp *u) {
  uint64_t m = 0;
  for (int d = 0; d < u->ndim; d++) {
    const UOp *n = u->shape[d];
    if (n->op != OP_CONST)
      m |= 1ull << (d + 32);
    else if (n->arg.i == 0 || n->arg.i == 1)
      m |= 1ull << (d + 16 * n->arg.i);
  }
  return m;
}

/* Of programs that differ in the sizes of last axes, which are features as a rule, a device whose threads take several
 * features at once has a form for each, until it has met so many. */
enum { WIDTHS = 8 };

static uint64_t width_of(const UOp *u) {
  bool matrix = u->op == OP_BUFFER && u->ndim >= 2 && u->shape[u->ndim - 1]->op == OP_CONST;
  return matrix ? (uint64_t)u->shape[u->ndim - 1]->arg.i : 0;
}

/* widths: a number that is another one where last axes are. */
static bool form_hash(PolyContext *ctx, Arena *arena, const Canon *c, uint64_t *hash, uint64_t *widths) {
  *widths = 0;
  Walk w;
  if (!uop_walk(ctx, arena, c->nroot, c->root, NULL, NULL, &w)) return false;
  uint64_t *at = arena_new(arena, (size_t)(w.n + 1) * sizeof *at);
  if (!at) return false;
  for (int i = 0; i < w.n; i++) {
    const UOp *u = w.at[i];
    uint64_t h = mix(u->op, (uint64_t)u->dtype << 32 | (uint64_t)u->ndim << 24 | (uint64_t)u->nsrc);
    if (!is_number(u))
      h = mix(mix(mix(mix(h, (uint64_t)u->arg.i), (uint64_t)u->arg.j), (uintptr_t)u->arg.name), axis_masks(u));
    for (int k = 0; k < u->nsrc; k++) h = mix(h, at[u->src[k]->slot]);
    *widths = mix(*widths, width_of(u));
    at[i] = h;
  }
  uint64_t h = mix((uintptr_t)ctx->runtime->current, (uint64_t)c->ninput << 32 | (uint64_t)c->nvar);
  for (int r = 0; r < c->nroot; r++) h = mix(h, at[c->root[r]->slot]);
  *hash = h;
  return true;
}

/* ---- making ---- */

typedef struct Pair {
  int old; /* node of the old form */
  UOp *u;
  int next; /* source to look at */
} Pair;

typedef struct Making {
  PolyContext *ctx;
  const Canon *c;
  const Form *old; /* NULL: none */
  Map seen;
  VEC(Pair) list;
  VEC(Pair) stack;
} Making;

static uint64_t pair_key(int old, const UOp *u) { return (uint64_t)(old + 1) << 32 | (uint32_t)u->slot; }

static int old_source(const Making *m, int old, int k) {
  return m->old ? form_src(m->old, &m->old->node[old], k)->node : -1;
}

static bool same_node(const FormNode *n, const UOp *u) {
  uint64_t masks = (uint64_t)n->symbolic << 32 | (uint64_t)n->ones << 16 | n->zeros;
  return n->op == u->op && n->dtype == u->dtype && n->ndim == u->ndim && n->nsrc == u->nsrc && n->arg.i == u->arg.i &&
         n->arg.j == u->arg.j && n->arg.name == u->arg.name && axis_masks(u) == masks;
}

static bool push_pair(Making *m, int old, UOp *u) {
  if (is_number(u) || map_get(&m->seen, pair_key(old, u), NULL)) return true;
  if (m->old && (old < 0 || !same_node(&m->old->node[old], u))) return false; /* two structures with one hash */
  return vec_push(ctx_base(m->ctx), &m->stack, ((Pair){old, u, 0}));
}

/* Lists pairs, sources before users. The nodes' slots are those of the walk that made the hash. */
static bool list_pairs(Making *m) {
  Base *b = ctx_base(m->ctx);
  for (int r = 0; r < m->c->nroot; r++) {
    if (!push_pair(m, m->old ? old_source(m, m->old->nnode - 1, r) : -1, m->c->root[r])) return false;
    while (m->stack.n) {
      Pair *p = &m->stack.at[m->stack.n - 1];
      if (p->next < p->u->nsrc) {
        int k = p->next++;
        if (!push_pair(m, old_source(m, p->old, k), p->u->src[k])) return false;
        continue;
      }
      Pair done = m->stack.at[--m->stack.n];
      if (map_get(&m->seen, pair_key(done.old, done.u), NULL)) continue;
      if (!map_put(b, &m->seen, pair_key(done.old, done.u), (uint64_t)m->list.n) || !vec_push(b, &m->list, done))
        return false;
    }
  }
  return true;
}

static int place_of(const Making *m, int old, const UOp *u) {
  uint64_t at = 0;
  return map_get(&m->seen, pair_key(old, u), &at) ? (int)at : -1;
}

static void set_edge(const Making *m, Form *f, int e, int old, const UOp *src) {
  bool number = is_number(src);
  f->edge[e] = (FormEdge){.node = number ? -1 : place_of(m, old, src), .dtype = src->dtype, .hole = -1};
  f->sample[f->nsample - 1][f->naxis + e] = number ? src->arg.i : 0;
}

static void copy_samples(const Form *old, Form *f, const FormNode *from, const FormNode *to) {
  for (int s = 0; old && s < old->nsample; s++) {
    for (int d = 0; d < to->ndim; d++) f->sample[s][to->axis + d] = form_axis_value(old, s, from, d);
    for (int k = 0; k < to->nsrc; k++) f->sample[s][f->naxis + to->edge + k] = form_src_value(old, s, from, k);
  }
}

static bool take_node(const Making *m, Form *f, int i, int edge, int axis) {
  const UOp *u = m->list.at[i].u;
  uint64_t masks = axis_masks(u);
  int old = m->list.at[i].old, last = f->nsample - 1;
  FormNode *n = &f->node[i];
  *n = (FormNode){.op = u->op,
                  .dtype = u->dtype,
                  .ndim = u->ndim,
                  .nsrc = u->nsrc,
                  .edge = edge,
                  .axis = axis,
                  .arg = u->arg,
                  .origin = u->origin,
                  .zeros = (uint16_t)masks,
                  .ones = (uint16_t)(masks >> 16),
                  .symbolic = (uint16_t)(masks >> 32)};
  for (int d = 0; d < u->ndim; d++)
    if (!int_eval_vars(u->shape[d], m->c->nvar, m->c->var, m->c->value, &f->sample[last][axis + d])) return false;
  for (int k = 0; k < u->nsrc; k++) set_edge(m, f, edge + k, old_source(m, old, k), u->src[k]);
  copy_samples(m->old, f, m->old ? &m->old->node[old] : NULL, n);
  return true;
}

static bool take_nodes(const Making *m, Form *f) {
  int edge = 0, axis = 0;
  for (int i = 0; i < m->list.n; i++) {
    if (!take_node(m, f, i, edge, axis)) return false;
    edge += m->list.at[i].u->nsrc;
    axis += m->list.at[i].u->ndim;
  }
  FormNode *roots = &f->node[f->nnode - 1];
  *roots = (FormNode){.op = OP_COUNT, .nsrc = f->nroot, .edge = edge, .axis = axis};
  int old = m->old ? m->old->nnode - 1 : -1;
  for (int r = 0; r < f->nroot; r++) set_edge(m, f, edge + r, old_source(m, old, r), m->c->root[r]);
  copy_samples(m->old, f, m->old ? &m->old->node[old] : NULL, roots);
  return true;
}

static void form_free(Form *f) {
  if (!f) return;
  Base *b = ctx_base(f->ctx);
  for (int i = 0; i < f->held.n; i++) uop_release(f->held.at[i]);
  vec_free(b, &f->held);
  arena_free(&f->arena);
  mem_free(b, f, sizeof *f);
}

static Form *form_alloc(const Making *m, uint64_t hash) {
  PolyContext *ctx = m->ctx;
  Form *f = mem_new(ctx_base(ctx), sizeof *f);
  if (!f) return NULL;
  *f = (Form){.ctx = ctx,
              .hash = hash,
              .arena = {.b = ctx_base(ctx)},
              .nnode = m->list.n + 1,
              .nroot = m->c->nroot,
              .ninput = m->c->ninput,
              .nvar = m->c->nvar,
              .nedge = m->c->nroot,
              .nsample = (m->old ? m->old->nsample : 0) + 1};
  for (int i = 0; i < m->list.n; i++) {
    f->nedge += m->list.at[i].u->nsrc;
    f->naxis += m->list.at[i].u->ndim;
  }
  f->node = arena_new(&f->arena, (size_t)f->nnode * sizeof *f->node);
  f->edge = arena_new(&f->arena, (size_t)(f->nedge + 1) * sizeof *f->edge);
  bool ok = f->node && f->edge;
  for (int s = 0; ok && s < f->nsample; s++)
    ok = (f->sample[s] = arena_new(&f->arena, (size_t)(f->naxis + f->nedge + 1) * sizeof **f->sample)) != NULL;
  if (ok) return f;
  form_free(f);
  return NULL;
}

/* The form of a program that has the structure of `old` (NULL: of a new one). NULL without an error: it has not. */
static Form *form_new(PolyContext *ctx, const Canon *c, const Form *old, uint64_t hash) {
  Base *b = ctx_base(ctx);
  Making m = {.ctx = ctx, .c = c, .old = old};
  Form *f = list_pairs(&m) ? form_alloc(&m, hash) : NULL;
  if (f && !take_nodes(&m, f)) {
    form_free(f);
    f = NULL;
  }
  map_free(b, &m.seen);
  vec_free(b, &m.list);
  vec_free(b, &m.stack);
  return f;
}

/* ---- matching ---- */

/* Each node of the form is one node of the program: at[i]. */
static bool match_nodes(const Form *f, const Canon *c, UOp **at) {
  for (int i = f->nnode; i-- > 0;) {
    const FormNode *n = &f->node[i];
    bool top = i == f->nnode - 1;
    if (!top && (!at[i] || !same_node(n, at[i]))) return false;
    UOp *const *src = top ? c->root : at[i]->src;
    for (int k = 0; k < n->nsrc; k++) {
      const FormEdge *e = form_src(f, n, k);
      if (e->node < 0 ? !is_number(src[k]) || src[k]->dtype != e->dtype : at[e->node] && at[e->node] != src[k])
        return false;
      if (e->node >= 0) at[e->node] = src[k];
    }
  }
  return true;
}

static int64_t number_at(const Form *f, const Canon *c, UOp *const *at, int node, int k) {
  return node == f->nnode - 1 ? c->root[k]->arg.i : at[node]->src[k]->arg.i;
}

static bool read_holes(const Form *f, const Canon *c, UOp *const *at, int64_t *value) {
  for (int k = 0; k < c->nvar; k++) value[k] = c->value[k];
  for (int h = 0; h < f->nhole; h++) {
    const FormHole *o = &f->hole[h];
    int64_t v;
    if (o->kind != HOLE_SIZE)
      v = number_at(f, c, at, o->node, o->at);
    else if (!int_eval_vars(at[o->node]->shape[o->at], c->nvar, c->var, c->value, &v))
      return false;
    if (v < o->var->vmin || v > o->var->vmax) return false;
    value[c->nvar + h] = v;
  }
  return true;
}

static bool is_value(const Form *f, const int64_t *value, const UOp *size, int64_t v) {
  int64_t have;
  return int_eval_vars(size, f->nvar + f->nhole, f->var, value, &have) && have == v;
}

/* Every number of the program is what the general program has in its place. */
static bool match_numbers(const Form *f, const Canon *c, UOp *const *at, const int64_t *value) {
  for (int i = 0; i < f->nnode; i++) {
    const FormNode *n = &f->node[i];
    for (int k = 0; k < n->nsrc; k++) {
      const FormEdge *e = form_src(f, n, k);
      if (e->node >= 0) continue;
      int64_t v = number_at(f, c, at, i, k);
      bool same = e->hole >= 0 ? v == value[f->nvar + e->hole]
                  : e->size    ? is_value(f, value, e->size, v)
                               : v == form_src_value(f, 0, n, k);
      if (!same) return false;
    }
  }
  for (int k = 0; k < f->ncast; k++) {
    int64_t v;
    const UOp *size = at[f->cast[k].node]->shape[f->cast[k].axis];
    if (!int_eval_vars(size, c->nvar, c->var, c->value, &v) || !is_value(f, value, f->cast[k].size, v)) return false;
  }
  return true;
}

/* The values of the variables of f's program with which it is this one; NULL: it is not. */
static int64_t *form_match(const Form *f, Arena *arena, const Canon *c) {
  UOp **at = arena_new(arena, (size_t)f->nnode * sizeof *at);
  int64_t *value = arena_new(arena, (size_t)(f->nvar + f->nhole + 1) * sizeof *value);
  if (!at || !value || f->nroot != c->nroot || f->nvar != c->nvar || !match_nodes(f, c, at)) return NULL;
  return read_holes(f, c, at, value) && match_numbers(f, c, at, value) ? value : NULL;
}

/* ---- the forms of a context ---- */

static Form **form_slot(Engine *e, uint64_t hash) {
  Form **set = e->form[hash % FORM_SETS], **oldest = &set[0];
  for (int k = 0; k < FORM_WAYS; k++) {
    if (set[k] && set[k]->hash == hash) return &set[k];
    if (!set[k] || (*oldest && set[k]->used < (*oldest)->used)) oldest = &set[k];
  }
  return oldest;
}

void forms_free(PolyContext *ctx) {
  for (int i = 0; i < FORM_SETS; i++)
    for (int k = 0; k < FORM_WAYS; k++) {
      form_free(ctx->engine->form[i][k]);
      ctx->engine->form[i][k] = NULL;
    }
}

static Plan *general_plan(const Form *f) {
  Canon c = {.nroot = f->nroot, .ninput = f->ninput, .nvar = f->nvar + f->nhole, .root = f->root, .var = f->var};
  return plan_get(f->ctx, &c);
}

/* A program that cannot be planned in general is planned as it is. What ends the whole call stays an error, and, where
 * the context verifies, what the verifier refused: the exact plan would hide a mistake of the compiler. */
static void forget_failure(PolyContext *ctx) {
  Base *b = ctx_base(ctx);
  if (b->code != POLY_ERROR_MEMORY && !b->passing && !(ctx->verify && ctx->illegal)) base_clear(b);
}

/* The plan of a form that has seen this program, growing it if need be; NULL without an error: there is none. */
static Plan *plan_of_form(PolyContext *ctx, Arena *arena, const Canon *c, Form **slot, int64_t **value) {
  Base *b = ctx_base(ctx);
  Form *f = *slot;
  f->used = ++ctx->engine->form_clock;
  if (f->general && !f->failed && (*value = form_match(f, arena, c))) return general_plan(f);
  if (b->code != POLY_OK || f->failed || f->nsample == FORM_SAMPLES) return NULL;
  Form *grown = form_new(ctx, c, f, f->hash);
  if (!grown) return NULL;
  grown->used = f->used;
  form_free(f);
  *slot = grown;
  ctx->illegal = false;
  Plan *p = form_generalise(grown) && (*value = form_match(grown, arena, c)) ? general_plan(grown) : NULL;
  grown->failed = !p;
  debug_form(ctx, grown->nhole, grown->nsample, p != NULL);
  if (!p) forget_failure(ctx);
  return p;
}

/* The place of the program's form among those of the context; met: counts forms with last axes of their own. */
static bool find_slot(PolyContext *ctx, Arena *arena, const Canon *c, uint64_t *hash, Form ***slot, uint8_t **met) {
  uint64_t widths;
  if (!form_hash(ctx, arena, c, hash, &widths)) return false;
  uint8_t *count = &ctx->engine->widths[*hash % LEN(ctx->engine->widths)];
  bool apart = ctx->runtime->current->target.strip > 1 && *count < WIDTHS;
  if (apart) *hash = mix(*hash, widths);
  *met = apart ? count : NULL;
  *slot = form_slot(ctx->engine, *hash);
  return true;
}

static bool is_known(Form *const *slot, uint64_t hash) { return *slot && (*slot)->hash == hash; }

Plan *form_plan(PolyContext *ctx, Arena *arena, const Canon *given, const int64_t **value) {
  Canon folded = *given, *c = &folded;
  uint64_t hash;
  uint8_t *met;
  Form **slot;
  *value = given->value;
  Plan *p = plan_find(ctx, given);
  if (p) return p;
  if (ctx->engine->exact) return folded_program(ctx, arena, given, c) ? plan_get(ctx, c) : NULL;
  if (!find_slot(ctx, arena, given, &hash, &slot, &met)) return NULL;
  /* A known form was searched for loops when it came with other numbers. The search numbers nodes anew. */
  if (!is_known(slot, hash)) {
    if (!folded_program(ctx, arena, given, c)) return NULL;
    if (c->root != given->root && (p = plan_find(ctx, c))) return p;
    if (!find_slot(ctx, arena, c, &hash, &slot, &met)) return NULL;
  }
  if (is_known(slot, hash)) {
    int64_t *general = NULL;
    p = plan_of_form(ctx, arena, c, slot, &general);
    if (p) *value = general;
    if (p || ctx_base(ctx)->code != POLY_OK) return p;
    return plan_get(ctx, c);
  }
  Form *f = form_new(ctx, c, NULL, hash);
  if (!f) return NULL;
  if (met) ++*met;
  form_free(*slot);
  *slot = f;
  f->used = ++ctx->engine->form_clock;
  return plan_get(ctx, c);
}
