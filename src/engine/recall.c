/* recall.c: recipes of training steps: recording them, finding them, running them. See recall.h. */
#include "engine/recall_parts.h"

#include <string.h>

enum {
  RECIPES = 8,    /* of a context; the one that was not used for longest goes */
  SEEN = 32,      /* structures that were met and have no recipe */
  MOST_BUILT = 4, /* times that a deferred pass was built after all, one after the other: then it is deferred no more */
  MOST_BARREN = 16 /* passes without a recipe, after which only one in MOST_BARREN is looked at */
};

/* Where a value is found, in the structure of a step or among the tensors that its update names. */
typedef struct Place {
  enum { AT_NODE, AT_NAMED, AT_GRADIENT /* of the handle */ } kind;
  int at;
} Place;

typedef struct Result {
  Place place;
  int slot;           /* of the plan */
  int target;         /* written in place: the input; -1: not */
  int first, nhandle; /* handles of the structure on this node */
} Result;

enum { HANDLE_STAYS, HANDLE_MOVES, HANDLE_GIVEN }; /* what becomes of a handle; see realize.c */

typedef struct Recipe {
  Arena arena; /* everything below */
  uint64_t hash, used;
  int64_t rule;
  int nword, ninput, nvar, nresult, nhandle, nnamed;
  uint64_t *word;
  Plan *plan;
  Place *input;
  int *var; /* nodes that bind the plan's variables */
  Result *result;
  uint8_t *becomes; /* of each handle of the structure */
  int *named_at;    /* nodes of the tensors that the update names; -1: it is not part of the structure */
  int built;        /* see MOST_BUILT */
} Recipe;

struct Recall {
  Structure now;
  PolyTensor *root; /* whose backward was put off, */
  bool (*build)(PolyTensor *root);
  Recipe *found;        /* what follows it; NULL: `now` has no recipe yet, */
  bool fresh;           /* but was met before */
  RecallUpdate watched; /* the step that is built now; n = 0: none */
  uint64_t seen[SEEN], clock;
  Recipe *recipe[RECIPES];
  int barren;
  bool expected; /* the last pass was put off */
};

/* ---- recipes ---- */

static void recipe_free(Recipe *r) {
  if (!r) return;
  Base *b = r->arena.b;
  plan_release(r->plan);
  arena_free(&r->arena);
  mem_free(b, r, sizeof *r);
}

void recall_free(PolyContext *ctx) {
  struct Recall *a = ctx->engine->recall;
  if (!a) return;
  for (int k = 0; k < RECIPES; k++) recipe_free(a->recipe[k]);
  structure_free(&a->now);
  mem_free(ctx_base(ctx), a, sizeof *a);
  ctx->engine->recall = NULL;
  ctx->interrupt = NULL;
}

static Recipe *find(struct Recall *a) {
  const Structure *s = &a->now;
  for (int k = 0; k < RECIPES; k++) {
    Recipe *r = a->recipe[k];
    if (r && r->hash == s->hash && r->nword == s->word.n &&
        memcmp(r->word, s->word.at, (size_t)s->word.n * sizeof *r->word) == 0)
      return r;
  }
  return NULL;
}

static bool met_before(struct Recall *a) {
  uint64_t *at = &a->seen[a->now.hash % SEEN];
  bool met = *at == a->now.hash;
  *at = a->now.hash;
  return met;
}

/* ---- putting a pass off ---- */

/* Another call than the step comes first. */
static bool interrupt(PolyContext *ctx) {
  struct Recall *a = ctx->engine->recall;
  bool deferred = a->found != NULL;
  ctx->interrupt = NULL;
  if (deferred) a->found->built++;
  a->found = NULL;
  a->fresh = false;
  return !deferred || a->build(a->root);
}

static struct Recall *recall_of(PolyContext *ctx) {
  if (!ctx->engine->recall) ctx->engine->recall = mem_new(ctx_base(ctx), sizeof *ctx->engine->recall);
  return ctx->engine->recall;
}

/* Loops whose steps are never the same, or never end in an update, are looked at now and then. */
static bool worth_a_look(struct Recall *a) {
  a->clock++;
  return a->barren < MOST_BARREN || a->clock % MOST_BARREN == 0;
}

Recalled recall_defer(PolyTensor *root, bool (*build)(PolyTensor *root)) {
  PolyContext *ctx = root->ctx;
  if (ctx->tracing || ctx->no_grad || ctx->engine->profile.on || !ctx->engine->recalls) return RECALL_NOT;
  struct Recall *a = recall_of(ctx);
  bool fits;
  if (!a) return RECALL_FAILED;
  if (!worth_a_look(a)) return RECALL_NOT;
  a->barren++;
  if (!structure_read(ctx, root, a->expected, &a->now, &fits)) return RECALL_FAILED;
  Recipe *r = fits ? find(a) : NULL;
  a->expected = r != NULL;
  if (!fits) return RECALL_NOT;
  if (r && (r->built >= MOST_BUILT || r->plan->device != ctx->runtime->current)) return RECALL_NOT;
  a->root = root;
  a->build = build;
  a->found = r;
  a->fresh = !r && met_before(a);
  if (r || a->fresh) ctx->interrupt = interrupt;
  if (!r) return RECALL_NOT;
  root->consumed = true;
  return RECALLED;
}

/* ---- recording ---- */

void recall_watch(PolyContext *ctx, const RecallUpdate *update) {
  struct Recall *a = ctx->engine->recall;
  if (!a || !ctx->interrupt || a->found || !a->fresh) return;
  ctx->interrupt = NULL;
  a->watched = *update;
}

void recall_unwatch(PolyContext *ctx) {
  if (ctx->engine->recall) ctx->engine->recall->watched.n = 0;
}

typedef struct Recording {
  struct Recall *a;
  const Realized *done;
  Map node; /* of the structure: its place */
  Recipe *r;
} Recording;

static int node_at(const Recording *w, const UOp *u) {
  uint64_t at;
  return map_get(&w->node, (uintptr_t)u, &at) ? (int)at : -1;
}

/* The memory of the named tensors before the update: they are on its assignment now. */
static const UOp *memory_before(const PolyTensor *t) { return t->uop->op == OP_ASSIGN ? t->uop->src[0] : t->uop; }

static bool place_input(const Recording *w, const UOp *u, Place *out) {
  int at = node_at(w, u);
  *out = (Place){AT_NODE, at};
  for (int k = 0; at < 0 && k < w->a->watched.n; k++)
    if (memory_before(w->a->watched.named[k]) == u) return *out = (Place){AT_NAMED, k}, true;
  return at >= 0;
}

static bool place_result(const Recording *w, const UOp *u, Place *out) {
  const Structure *s = &w->a->now;
  int at = node_at(w, u);
  if (at >= 0) return *out = (Place){AT_NODE, at}, true;
  for (int k = 0; k < w->a->watched.n; k++)
    if (w->a->watched.named[k]->uop == u) return *out = (Place){AT_NAMED, k}, true;
  for (int h = 0; h < s->handle.n; h++)
    if (s->handle.at[h]->grad && s->handle.at[h]->grad->uop == u) return *out = (Place){AT_GRADIENT, h}, true;
  return false;
}

static void note_node(const Recording *w, const UOp *u, Result *out) {
  const Structure *s = &w->a->now;
  for (int h = s->handle.n; h-- > 0;) {
    if (out->place.kind != AT_NODE || s->handle.at[h]->uop != u) continue;
    out->first = h;
    out->nhandle++;
  }
}

/* Memory that another tensor shows, or shares, is not simply written. */
static bool note_result(Recording *w, int r, Result *out) {
  const Realized *d = w->done;
  const UOp *u = d->root[r];
  out->slot = d->plan->root_slot[r];
  out->target = -1;
  if (d->canon->root[r] == u) return false; /* a program of constants */
  if (!place_result(w, u, &out->place) || (out->place.kind == AT_NAMED && !d->inplace[r])) return false;
  note_node(w, u, out);
  if (!d->inplace[r]) return true;
  for (int k = 0; k < d->canon->ninput; k++)
    if (d->canon->input[k] == u->src[0]) out->target = k;
  return out->target >= 0 && !u->src[0]->handle;
}

/* Handles on nodes of the structure do what they did; those of named tensors and gradients always move. */
static bool note_handles(Recording *w) {
  const Structure *s = &w->a->now;
  const Realized *d = w->done;
  for (int h = 0; h < d->nhandle; h++) {
    const PolyTensor *t = d->handle[h];
    int at = 0;
    while (at < s->handle.n && s->handle.at[at] != t) at++;
    bool computed = false;
    for (int r = 0; r < d->nroot; r++) computed |= d->root[r] == t->uop;
    bool named = false;
    for (int k = 0; k < w->a->watched.n; k++) named |= w->a->watched.named[k] == t;
    if (at == s->handle.n || named || !computed) continue;
    if (t->requires_grad) return false; /* whether it moves depends on who else holds its node */
    w->r->becomes[at] = d->moves[h] ? HANDLE_MOVES : d->asked[h] ? HANDLE_STAYS : HANDLE_GIVEN;
  }
  return true;
}

static bool new_recipe(Recording *w) {
  const Structure *s = &w->a->now;
  const Canon *c = w->done->canon;
  Recipe *r = w->r;
  r->hash = s->hash;
  r->rule = w->a->watched.rule;
  r->nword = s->word.n;
  r->ninput = c->ninput;
  r->nvar = c->nvar;
  r->nresult = w->done->nroot;
  r->nhandle = s->handle.n;
  r->nnamed = w->a->watched.n;
  r->word = arena_new(&r->arena, (size_t)r->nword * sizeof *r->word);
  r->input = arena_new(&r->arena, (size_t)(r->ninput + 1) * sizeof *r->input);
  r->var = arena_new(&r->arena, (size_t)(r->nvar + 1) * sizeof *r->var);
  r->result = arena_new(&r->arena, (size_t)(r->nresult + 1) * sizeof *r->result);
  r->becomes = arena_new(&r->arena, (size_t)(r->nhandle + 1) * sizeof *r->becomes);
  r->named_at = arena_new(&r->arena, (size_t)(r->nnamed + 1) * sizeof *r->named_at);
  return r->word && r->input && r->var && r->result && r->becomes && r->named_at;
}

/* Has every gradient a result of its own? One that is a tensor of the program itself, or that of another leaf as well,
 * has none, and neither has one that nobody computed yet. */
static bool gradients_are_results(const Recording *w) {
  const Structure *s = &w->a->now;
  int left = 0;
  for (int h = 0; h < s->handle.n; h++) left += s->handle.at[h]->grad != NULL;
  for (int k = 0; k < w->r->nresult; k++) left -= w->r->result[k].place.kind == AT_GRADIENT;
  return left == 0;
}

static bool note(Recording *w) {
  const Structure *s = &w->a->now;
  const Canon *c = w->done->canon;
  Recipe *r = w->r;
  memcpy(r->word, s->word.at, (size_t)r->nword * sizeof *r->word);
  for (int k = 0; k < r->ninput; k++)
    if (!place_input(w, c->input[k], &r->input[k])) return false;
  for (int k = 0; k < r->nvar; k++)
    if ((r->var[k] = node_at(w, c->bound[k])) < 0) return false;
  for (int k = 0; k < r->nresult; k++)
    if (!note_result(w, k, &r->result[k])) return false;
  for (int k = 0; k < r->nnamed; k++) r->named_at[k] = node_at(w, memory_before(w->a->watched.named[k]));
  return gradients_are_results(w) && note_handles(w);
}

static void put_recipe(struct Recall *a, Recipe *r) {
  int oldest = 0;
  for (int k = 0; k < RECIPES; k++) {
    if (!a->recipe[k]) {
      oldest = k;
      break;
    }
    if (a->recipe[k]->used < a->recipe[oldest]->used) oldest = k;
  }
  recipe_free(a->recipe[oldest]);
  a->recipe[oldest] = r;
  r->used = a->clock;
}

/* What does not fit, or finds no memory, is not recorded: the step has its values in any case. */
void recall_record(PolyContext *ctx, const Realized *done) {
  struct Recall *a = ctx->engine->recall;
  Base *b = ctx_base(ctx);
  if (!a || !a->watched.n || ctx->engine->keeping || done->value != done->canon->value) return;
  Recording w = {.a = a, .done = done, .r = mem_new(b, sizeof *w.r)};
  bool ok = w.r != NULL;
  if (ok) w.r->arena.b = b;
  for (int i = 0; ok && i < a->now.walk.n; i++) ok = map_put(b, &w.node, (uintptr_t)a->now.walk.at[i], (uint64_t)i);
  bool memory = ok && new_recipe(&w);
  if (memory && note(&w)) {
    w.r->plan = done->plan;
    done->plan->refs++;
    put_recipe(a, w.r);
    a->barren = 0;
  } else {
    recipe_free(w.r);
    if (!memory) base_clear(b);
  }
  map_free(b, &w.node);
  a->watched.n = 0;
}

/* ---- running ---- */

typedef struct Run {
  PolyContext *ctx;
  struct Recall *a;
  const Recipe *r;
  const RecallUpdate *update;
  Arena arena;
  int64_t *value;
  UOp **source;       /* nodes of the inputs, */
  PolyBuffer **input; /* and their memory */
  PolyBuffer **out;
  UOp **fresh;           /* BUFFERs that handles move to, by result */
  PolyTensor **gradient; /* by result */
} Run;

/* Are the named tensors where they were in the structure, each alone on memory of its own? */
static bool named_fit(const Run *w) {
  if (w->r->rule != w->update->rule || w->r->nnamed != w->update->n) return false;
  for (int k = 0; k < w->update->n; k++) {
    const UOp *u = w->update->named[k]->uop;
    int at = u->epoch == w->a->now.walk.epoch ? u->slot : -1;
    if (u->op != OP_BUFFER || !u->buffer || u->buffer->stale || at != w->r->named_at[k]) return false;
  }
  return true;
}

static UOp *node_of(const Run *w, Place p) {
  return p.kind == AT_NAMED ? w->update->named[p.at]->uop : w->a->now.walk.at[p.at];
}

static bool may_write(const Run *w, const Result *r) {
  const UOp *u = w->source[r->target];
  if (w->input[r->target]->refs > 1) return false;
  const PolyTensor *only = r->place.kind == AT_NAMED ? w->update->named[r->place.at] : NULL;
  return u->handle == only && (!only || !only->links[LIST_NODE].next);
}

static bool find_inputs(Run *w) {
  const Recipe *r = w->r;
  for (int k = 0; k < r->ninput; k++) {
    const UOp *u = w->source[k] = node_of(w, r->input[k]);
    if (!u->buffer || u->buffer->stale) return false;
    w->input[k] = u->buffer;
  }
  for (int k = 0; k < r->nvar; k++) w->value[k] = const_int(w->a->now.walk.at[r->var[k]]->src[1]);
  for (int k = 0; k < r->nresult; k++)
    if (r->result[k].target >= 0 && !may_write(w, &r->result[k])) return false;
  return true;
}

static bool new_lists(Run *w) {
  size_t n = (size_t)w->r->nresult + 1, inputs = (size_t)w->r->ninput + 1;
  w->value = arena_new(&w->arena, (size_t)(w->r->nvar + 1) * sizeof *w->value);
  w->source = arena_new(&w->arena, inputs * sizeof *w->source);
  w->input = arena_new(&w->arena, inputs * sizeof *w->input);
  w->out = arena_new(&w->arena, (size_t)(w->r->plan->nslot + 1) * sizeof *w->out);
  w->fresh = arena_new(&w->arena, n * sizeof *w->fresh);
  w->gradient = arena_new(&w->arena, n * sizeof *w->gradient);
  return w->value && w->source && w->input && w->out && w->fresh && w->gradient;
}

static bool any_moves(const Recipe *r, const Result *of) {
  for (int h = of->first; h < of->first + of->nhandle; h++)
    if (r->becomes[h] == HANDLE_MOVES) return true;
  return false;
}

/* Everything that the results need, before the run: after the last kernel nothing can fail. */
static bool make_fresh(Run *w) {
  for (int k = 0; k < w->r->nresult; k++) {
    Place p = w->r->result[k].place;
    const UOp *u = p.kind == AT_GRADIENT ? w->a->now.handle.at[p.at]->uop : node_of(w, p);
    bool node = p.kind == AT_NODE;
    if (node && !any_moves(w->r, &w->r->result[k])) continue;
    w->fresh[k] = node ? uop_buffer_for(u) : uop_buffer(w->ctx, (PolyDType)u->dtype, u->ndim, u->shape);
    if (!w->fresh[k]) return false;
    if (p.kind == AT_GRADIENT && !(w->gradient[k] = held_grad(w->ctx, w->fresh[k]))) return false;
  }
  for (int h = 0; h < w->r->nhandle; h++)
    if (w->r->becomes[h] == HANDLE_MOVES && !view_keep_path(w->a->now.handle.at[h])) return false;
  return true;
}

/* A node of the structure holds its value; its handles do what they did when the step was recorded. */
static void give_node(Run *w, const Result *r, UOp *fresh, PolyBuffer *b) {
  if (fresh) node_set_buffer(fresh, buffer_retain(b));
  node_set_buffer(node_of(w, r->place), b);
  for (int h = r->first; h < r->first + r->nhandle; h++) {
    PolyTensor *t = w->a->now.handle.at[h];
    if (w->r->becomes[h] == HANDLE_GIVEN) t->given = true;
    if (w->r->becomes[h] == HANDLE_MOVES) handle_set(t, fresh);
  }
}

static void commit(Run *w) {
  for (int k = 0; k < w->r->nresult; k++) {
    const Result *r = &w->r->result[k];
    const PlanSlot *slot = &w->r->plan->slot[r->slot];
    PolyBuffer *b = r->target >= 0             ? w->input[r->target]
                    : slot->kind == SLOT_INPUT ? w->input[slot->input]
                                               : w->out[r->slot];
    buffer_retain(b);
    if (r->target >= 0) node_set_stale(w->source[r->target]);
    switch (r->place.kind) {
    case AT_NODE: give_node(w, r, w->fresh[k], b); break;
    case AT_NAMED:
      node_set_buffer(w->fresh[k], b);
      handle_set(w->update->named[r->place.at], w->fresh[k]);
      break;
    case AT_GRADIENT:
      node_set_buffer(w->fresh[k], b);
      hold_grad(w->a->now.handle.at[r->place.at], w->gradient[k]);
      w->gradient[k] = NULL;
      break;
    }
  }
}

static Recalled run(Run *w) {
  if (!named_fit(w)) return RECALL_NOT;
  if (!new_lists(w)) return RECALL_FAILED;
  if (!find_inputs(w)) return RECALL_NOT;
  if (!make_fresh(w)) return RECALL_FAILED;
  if (!plan_run(w->r->plan, w->value, w->input, w->out, NULL)) {
    name_index_error(w->ctx, w->a->now.pending.n, w->a->now.pending.at);
    return RECALL_FAILED;
  }
  commit(w);
  return RECALLED;
}

/* Gradients of a step that failed, or is not the one that was expected, are built as if nothing had been put off. */
Recalled recall_run(PolyContext *ctx, const RecallUpdate *update) {
  struct Recall *a = ctx->engine->recall;
  if (!ctx->interrupt || !a->found) return RECALL_NOT;
  Recipe *r = a->found;
  Run w = {.ctx = ctx, .a = a, .r = r, .update = update, .arena = {.b = ctx_base(ctx)}};
  ctx->interrupt = NULL;
  a->found = NULL;
  Scope scope;
  scope_enter(ctx, &scope);
  Recalled done = run(&w);
  for (int k = 0; w.gradient && k < r->nresult; k++) poly_free(w.gradient[k]);
  for (int i = 0; w.out && i < r->plan->nslot; i++) buffer_release(w.out[i]);
  scope_leave(ctx, &scope);
  arena_free(&w.arena);
  if (done == RECALLED) {
    r->used = a->clock;
    r->built = a->barren = 0;
    ctx->engine->plans_reused++;
    ctx->engine->steps_recalled++;
  } else {
    r->built++;
    if (!a->build(a->root)) done = RECALL_FAILED;
  }
  return done;
}
