/* step.c: compiled steps. In: handles between which a program was traced. Out: an object that replays its plan on other
 * inputs.
 *
 * A step is a plan and where each of its inputs comes from: an argument of the run, or a node captured when it was made
 * (parameters, constants). A captured node follows its handle: whoever assigns to a parameter between two runs is heard
 * (steps_moved). State is written in place. Running builds no nodes, unless somebody else still needs the contents that
 * are about to be overwritten.
 *
 * Sizes. A symbolic size of an input is matched with the actual one, which gives its variable for this run. Random
 * counters go on from where the context is. */
#include "base/handles.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <string.h>

/* A node that a step reads: captured, or what an input was when the step was made. */
typedef struct Capture {
  UOp *node;
  PolyTensor *handle; /* whose node it is; it may have been freed since: compared only, */
  uint64_t id;        /* with its id, because addresses are used again */
  bool written;
} Capture;

typedef struct StepInput {
  Capture traced;
  PolyDType dtype;
  int ndim;
  bool written;       /* the step assigns to it */
  UOp *dim[MAX_DIMS]; /* canonical sizes, NULL: as in traced (an input that is not read) */
} StepInput;

/* A symbolic size that gives a variable its value: size = coef * var + add. */
typedef struct SizeRule {
  int input, axis, var;
  int64_t coef, add;
} SizeRule;

/* Sizes that the traced program took for one (uop_under). */
typedef struct SameSize {
  UOp *a, *b;
} SameSize;

struct PolyStep {
  PolyContext *ctx;
  PolyStep *prev, *next;
  Arena arena;
  VEC(UOp *) held;
  Plan *plan;
  int ninput, ncapture, noutput, nrule;
  StepInput *input;
  Capture *capture;
  Capture *known; /* memory whose contents were read while the step was traced: they are a part of the program */
  int nknown;
  bool outdated; /* one of these was changed */
  int *from;     /* for each input of the plan: argument k, or -1 - k for capture k */
  int *out_slot;
  SizeRule *rule;
  SameSize *same;
  int nsame;
  PolyBuffer **in, **out; /* of a run; by slot */
  PolyBuffer *memory;     /* for temporary slots */
  int64_t *value, *traced;
  bool *bound, *rng;
  UOp **name;        /* the caller's variables, */
  UOp **bind;        /* with their values when the step was traced, */
  bool *given;       /* and whether poly_step_bind gave the value for the next run */
  int *seed;         /* 1, 2: the variable is the low, the high half of the context's seed */
  uint64_t draws;    /* of a run */
  PolyBuffer **copy; /* of a run: inputs of the plan that lie in memory which the step writes under another name */
};

/* ---- freeing, following ---- */

static void set_capture(Capture *c, UOp *u) {
  UOp *old = c->node;
  c->node = uop_retain(u);
  uop_release(old);
}

void poly_step_free(PolyStep *s) {
  if (!s) return;
  PolyContext *ctx = s->ctx;
  if (s->prev)
    s->prev->next = s->next;
  else if (ctx->engine->steps == s)
    ctx->engine->steps = s->next;
  if (s->next) s->next->prev = s->prev;
  for (int k = 0; s->input && k < s->ninput; k++) uop_release(s->input[k].traced.node);
  for (int k = 0; s->capture && k < s->ncapture; k++) uop_release(s->capture[k].node);
  for (int k = 0; s->known && k < s->nknown; k++) uop_release(s->known[k].node);
  for (int i = 0; s->out && i < s->plan->nslot; i++) buffer_release(s->out[i]);
  for (int i = 0; i < s->held.n; i++) uop_release(s->held.at[i]);
  vec_free(&ctx->base, &s->held);
  buffer_release(s->memory);
  plan_release(s->plan);
  arena_free(&s->arena);
  handle_free(&ctx->base, s, sizeof *s);
}

void steps_free(PolyContext *ctx) {
  while (ctx->engine->steps) poly_step_free(ctx->engine->steps);
}

static void follow(Capture *c, const PolyTensor *t, const UOp *from, UOp *to) {
  if (c->handle == t && c->id == t->id && c->node == from) set_capture(c, to);
}

void steps_moved(PolyTensor *t, UOp *from, UOp *to) {
  for (PolyStep *s = t->ctx->engine->steps; s; s = s->next) {
    for (int k = 0; k < s->ninput; k++) follow(&s->input[k].traced, t, from, to);
    for (int k = 0; k < s->ncapture; k++) follow(&s->capture[k], t, from, to);
    for (int k = 0; k < s->nknown; k++) {
      if (s->known[k].node == from && s->known[k].id == t->id && to->buffer != from->buffer) s->outdated = true;
      follow(&s->known[k], t, from, to);
    }
  }
}

static bool follows(const Capture *c, const PolyTensor *t) {
  return c->handle == t && c->id == t->id && c->node == t->uop;
}

int steps_following(const PolyTensor *t) {
  int n = 0;
  for (const PolyStep *s = t->ctx->engine->steps; s; s = s->next) {
    for (int k = 0; k < s->ninput; k++) n += follows(&s->input[k].traced, t);
    for (int k = 0; k < s->ncapture; k++) n += follows(&s->capture[k], t);
    for (int k = 0; k < s->nknown; k++) n += follows(&s->known[k], t);
  }
  return n;
}

/* ---- making one ---- */

typedef struct Trace {
  Tracing *tracing; /* NULL: the tensors were used without poly_trace_begin */
  PolyTensor *const *input, *const *output;
  PolyTensor **state;
  int ninput, noutput, nstate;
  Arena arena;
  UOp **root; /* outputs, then assignments */
  bool *inplace;
  PolyTensor **assigned; /* the handle of each assignment */
  int nassign;
  Map leaf, constant; /* what tensors from before the trace are called in it, and their places in the list of them */
  Canon canon;
} Trace;

static bool keep(PolyStep *s, UOp *u) {
  if (!vec_push(&s->ctx->base, &s->held, u)) return false;
  uop_retain(u);
  return true;
}

/* The node of a tensor before a pending assignment. */
static UOp *memory_of(const PolyTensor *t) {
  UOp *u = t->uop;
  return u->op == OP_ASSIGN && !u->buffer ? u->src[0] : u;
}

static bool check_trace(PolyContext *ctx, const Trace *t) {
  Base *b = &ctx->base;
  char shape[256];
  for (int k = 0; k < t->ninput; k++) {
    const UOp *u = memory_of(t->input[k]);
    if (!u->buffer)
      return base_fail(b, POLY_ERROR_VALUE, "input %d of a step (shape %s) is not realized", k,
                       shape_text(u, shape, sizeof shape));
    for (int i = 0; i < k; i++)
      if (memory_of(t->input[i]) == u)
        return base_fail(b, POLY_ERROR_VALUE, "inputs %d and %d of a step are the same tensor", i, k);
  }
  for (int k = 0; k < t->nstate; k++) {
    const UOp *u = t->state[k]->uop;
    if (!u->buffer && u->op != OP_ASSIGN && !(u->op == OP_CONTIGUOUS && u->arg.i))
      return base_fail(b, POLY_ERROR_VALUE,
                       "state %d of a step (shape %s) has no memory of its own: realize it before the step is traced",
                       k, shape_text(u, shape, sizeof shape));
  }
  return true;
}

/* What an output shows is copied to memory of the step's own, also if it is a parameter or an input. */
static UOp *output_root(const Trace *t, UOp *u) {
  const UOp *value = u;
  while (value->op == OP_DETACH || value->op == OP_FUNCTION) value = value->src[0];
  bool memory = value->buffer || value->op == OP_BUFFER || value->op == OP_ASSIGN;
  memory |= map_get(&t->leaf, (uintptr_t)value, NULL);
  return memory ? uop_contiguous(u, 0) : u;
}

static bool list_leaves(PolyContext *ctx, Trace *t) {
  for (int k = 0; t->tracing && k < t->tracing->renamed.n; k++) {
    const Renamed *r = &t->tracing->renamed.at[k];
    if (!map_put(&ctx->base, r->constant ? &t->constant : &t->leaf, (uintptr_t)r->during, (uint64_t)k)) return false;
  }
  return true;
}

static bool collect_roots(Trace *t) {
  size_t n = (size_t)(t->noutput + t->nstate) + 1;
  t->root = arena_new(&t->arena, n * sizeof *t->root);
  t->inplace = arena_new(&t->arena, n * sizeof *t->inplace);
  t->assigned = arena_new(&t->arena, n * sizeof *t->assigned);
  if (!t->root || !t->inplace || !t->assigned) return false;
  for (int k = 0; k < t->noutput; k++)
    if (!(t->root[k] = output_root(t, t->output[k]->uop))) return false;
  for (int k = 0; k < t->nstate; k++) {
    UOp *u = t->state[k]->uop;
    if (u->op != OP_ASSIGN || u->buffer) continue;
    bool twice = false;
    for (int i = 0; i < t->nassign && !twice; i++) {
      const UOp *other = t->root[t->noutput + i];
      twice = other->src[0] == u->src[0];
      if (twice && other != u)
        return base_fail(&u->ctx->base, POLY_ERROR_VALUE, "two tensors on the same memory are assigned by one step");
    }
    if (twice) continue;
    t->assigned[t->nassign] = t->state[k];
    t->inplace[t->noutput + t->nassign] = true;
    t->root[t->noutput + t->nassign++] = u;
    uop_retain(u); /* held until trace_end */
  }
  return true;
}

/* The handles go back to what they were before the traced assignments, and get their memory if they had none yet. */
static bool rewind_state(PolyContext *ctx, Trace *t) {
  UOp *const *root = t->root + t->noutput;
  for (int k = 0; k < t->nassign; k++) handle_set(t->assigned[k], root[k]->src[0]);
  bool ok = realize_handles(ctx, t->nassign, t->assigned);
  for (int k = 0; k < t->nassign; k++) handle_set(t->assigned[k], root[k]->src[0]);
  return ok;
}

/* Gradients that were built and never computed go: they read the state that each run overwrites. */
static void trace_end(Trace *t, bool ok) {
  for (int k = 0; k < t->nassign; k++) {
    PolyTensor *h = t->assigned[k];
    if (!ok) {
      handle_set(h, t->root[t->noutput + k]);
    } else if (h->grad && !h->grad->uop->buffer) {
      poly_free(h->grad);
      h->grad = NULL;
    }
    uop_release(t->root[t->noutput + k]);
  }
}

static PolyTensor *owner_of(const PolyContext *ctx, const Trace *t, const UOp *u) {
  for (int k = 0; k < t->nassign; k++)
    if (t->assigned[k]->uop == u) return t->assigned[k];
  for (PolyTensor *h = ctx->tensors; h; h = h->next)
    if (h->uop == u) return h;
  return NULL;
}

static bool new_lists(PolyStep *s, const Trace *t) {
  Arena *a = &s->arena;
  size_t nplace = (size_t)t->canon.ninput + 1, nvar = (size_t)s->plan->nvar + 1, nslot = (size_t)s->plan->nslot + 1;
  size_t nsize = (size_t)t->ninput * MAX_DIMS + 1;
  s->input = arena_new(a, ((size_t)t->ninput + 1) * sizeof *s->input);
  s->capture = arena_new(a, nplace * sizeof *s->capture);
  s->from = arena_new(a, nplace * sizeof *s->from);
  s->in = arena_new(a, nplace * sizeof *s->in);
  s->out_slot = arena_new(a, ((size_t)t->noutput + 1) * sizeof *s->out_slot);
  s->rule = arena_new(a, nsize * sizeof *s->rule);
  s->value = arena_new(a, nvar * sizeof *s->value);
  s->traced = arena_new(a, nvar * sizeof *s->traced);
  s->bound = arena_new(a, nvar * sizeof *s->bound);
  s->rng = arena_new(a, nvar * sizeof *s->rng);
  s->seed = arena_new(a, nvar * sizeof *s->seed);
  s->name = arena_new(a, nvar * sizeof *s->name);
  s->bind = arena_new(a, nvar * sizeof *s->bind);
  s->given = arena_new(a, nvar * sizeof *s->given);
  s->out = arena_new(a, nslot * sizeof *s->out);
  s->copy = arena_new(a, nplace * sizeof *s->copy);
  return s->input && s->capture && s->from && s->in && s->out_slot && s->rule && s->value && s->traced && s->bound &&
         s->rng && s->seed && s->name && s->bind && s->given && s->out && s->copy;
}

static void take_inputs(PolyStep *s, const Trace *t) {
  s->ninput = t->ninput;
  for (int k = 0; k < t->ninput; k++) {
    UOp *u = t->input[k]->uop;
    s->input[k] = (StepInput){
        .traced = {uop_retain(u), t->input[k], t->input[k]->id, false}, .dtype = (PolyDType)u->dtype, .ndim = u->ndim};
  }
}

static bool is_target(const Trace *t, const UOp *u) {
  for (int k = 0; k < t->nassign; k++)
    if (t->root[t->noutput + k]->src[0] == u) return true;
  return false;
}

/* The input that u is, or whose memory it shows, as the tensors of a graph's arrays do; ninput: none. */
static int input_of(const Trace *t, const UOp *u) {
  int k = 0;
  while (k < t->ninput && t->input[k]->uop != u) k++;
  if (k < t->ninput || !u->buffer || is_target(t, u)) return k;
  for (k = 0; k < t->ninput; k++) {
    const UOp *in = t->input[k]->uop;
    bool shape = in->ndim == 1 && u->ndim == 1 && in->shape[0] == u->shape[0];
    if (in->buffer == u->buffer && in->dtype == u->dtype && shape) break;
  }
  return k;
}

/* The step reads u: its tensor keeps that name. */
static bool use_renamed(PolyContext *ctx, const Trace *t, const UOp *u) {
  uint64_t at;
  char shape[256];
  if (!map_get(&t->leaf, (uintptr_t)u, &at)) return true;
  Renamed *r = &t->tracing->renamed.at[at];
  r->used = true;
  return !r->leaf ||
         base_fail(&ctx->base, POLY_ERROR_RUNTIME,
                   "a step uses a gradient (shape %s) that was there before it was traced, and each run would use it "
                   "again: call zero_grad before, or at the beginning of the step",
                   shape_text(u, shape, sizeof shape));
}

/* Where each input of the plan comes from. */
static bool take_places(PolyStep *s, const Trace *t) {
  const Canon *c = &t->canon;
  for (int i = 0; i < c->ninput; i++) {
    UOp *u = c->input[i];
    int k = input_of(t, u);
    if (k < t->ninput) {
      s->from[i] = k;
      s->input[k].written |= is_target(t, u);
      for (int d = 0; d < u->ndim; d++)
        if (!keep(s, s->input[k].dim[d] = c->place[i]->shape[d])) return false;
    } else {
      if (!use_renamed(s->ctx, t, u)) return false;
      PolyTensor *owner = owner_of(s->ctx, t, u);
      s->capture[s->ncapture] = (Capture){uop_retain(u), owner, owner ? owner->id : 0, is_target(t, u)};
      s->from[i] = -1 - s->ncapture++;
    }
  }
  return true;
}

/* An input that is not read still tells its sizes, if others are made of them. */
static bool take_unread_sizes(PolyStep *s, const Canon *c) {
  for (int k = 0; k < s->ninput; k++)
    for (int d = 0; d < s->input[k].ndim; d++)
      for (int v = 0; !s->input[k].dim[d] && v < c->nvar; v++)
        if (c->bound[v] == s->input[k].traced.node->shape[d] && !keep(s, s->input[k].dim[d] = c->var[v])) return false;
  return true;
}

/* Which half of a seed a variable of random.c is. */
static int seed_half(const char *name) {
  return !strncmp(name, "seed.lo.", 8) ? 1 : !strncmp(name, "seed.hi.", 8) ? 2 : 0;
}
static uint32_t seed_part(const PolyContext *ctx, int half) { return (uint32_t)(ctx->seed >> (half == 2 ? 32 : 0)); }

/* A random counter is kept as its distance from where the context was: a run draws the next numbers. */
static bool take_variables(PolyStep *s, const Trace *t, const int64_t *value) {
  const PolyContext *ctx = s->ctx;
  const Canon *c = &t->canon;
  for (int k = c->nvar; k < s->plan->nvar; k++) s->value[k] = s->traced[k] = value[k]; /* numbers of a general plan */
  if (t->tracing) s->draws = ctx->drawn - t->tracing->drawn; /* also those whose numbers are not used */
  for (int k = 0; k < c->nvar; k++) {
    UOp *name = c->bound[k]->src[0];
    int half = seed_half(name->arg.name);
    s->value[k] = s->traced[k] = c->value[k];
    s->name[k] = name;
    s->bind[k] = c->bound[k];
    if (half && c->value[k] == (int64_t)seed_part(ctx, half)) s->seed[k] = half;
    if ((s->rng[k] = canon_is_rng(name))) {
      s->traced[k] = (int64_t)((uint32_t)ctx->drawn - (uint32_t)c->value[k]);
      s->draws = MAX(s->draws, (uint64_t)s->traced[k]);
    }
    if (!keep(s, name) || !keep(s, s->bind[k])) return false;
  }
  return true;
}

static int variable_at(const Plan *p, const UOp *u) {
  for (int k = 0; k < p->nvar; k++)
    if (p->var[k] == u) return k;
  return -1;
}

/* Sizes of the form coef * var + add tell the variable; others are only checked. */
static void find_rules(PolyStep *s) {
  for (int k = 0; k < s->ninput; k++)
    for (int d = 0; d < s->input[k].ndim; d++) {
      UOp *term[2], *u = s->input[k].dim[d];
      int64_t coef[2], add;
      if (!u || u->op == OP_CONST || int_terms(u, 2, term, coef, &add) != 1) continue;
      int var = variable_at(s->plan, term[0]);
      if (var >= 0 && coef[0]) s->rule[s->nrule++] = (SizeRule){k, d, var, coef[0], add};
    }
}

/* Sizes that are the same in the trace must be so in each run. */
static bool find_same(PolyStep *s, Trace *t) {
  Walk w;
  int n = 0;
  if (!uop_walk(s->ctx, &t->arena, t->canon.nroot, t->canon.root, NULL, NULL, &w)) return false;
  for (int i = 0; i < w.n; i++) n += w.at[i]->op == OP_SHRINK && w.at[i]->arg.i ? w.at[i]->ndim : 0;
  if (!(s->same = arena_new(&s->arena, (size_t)(n + 1) * sizeof *s->same))) return false;
  for (int i = 0; i < w.n; i++) {
    const UOp *u = w.at[i];
    for (int d = 0; u->op == OP_SHRINK && u->arg.i && d < u->ndim; d++) {
      UOp *a = u->shape[d], *b = u->src[0]->shape[d];
      if (a == b) continue;
      if (!keep(s, a) || !keep(s, b)) return false;
      s->same[s->nsame++] = (SameSize){a, b};
    }
  }
  return true;
}

/* Somebody assigned to a captured tensor and did not realize it. */
static bool realize_capture(PolyContext *ctx, Capture *c) {
  if (c->node->buffer) return c->node->buffer->stale ? node_fail_stale(c->node) : true;
  PolyTensor *owner = NULL;
  for (PolyTensor *t = ctx->tensors; t && !owner; t = t->next)
    if (t->uop == c->node) owner = t;
  Scope scope;
  scope_enter(ctx, &scope);
  PolyTensor *t = owner ? owner : tensor_wrap(ctx, c->node);
  bool ok = t && realize_handles(ctx, 1, &t);
  if (ok && !c->node->buffer) set_capture(c, t->uop);
  if (!owner) poly_free(t);
  scope_leave(ctx, &scope);
  return ok;
}

static bool take_known(PolyStep *s, const Trace *t) {
  int n = t->tracing ? t->tracing->read.n : 0;
  if (!(s->known = arena_new(&s->arena, (size_t)(n + 1) * sizeof *s->known))) return false;
  for (int i = 0; i < n; i++) {
    UOp *u = t->tracing->read.at[i];
    PolyTensor *owner = owner_of(s->ctx, t, u);
    for (int k = 0; owner && k < s->nknown; k++)
      if (s->known[k].node == u) owner = NULL;
    if (owner) s->known[s->nknown++] = (Capture){uop_retain(u), owner, owner->id, false};
  }
  return true;
}

/* Tensors that were pending when the trace began have the value that they had then. What the plan reads and is not in
 * memory is made now, so that it counts as live when the peak of a run is asked for. */
static bool compute_captures(PolyStep *s) {
  const Plan *p = s->plan;
  for (int k = 0; k < s->ncapture; k++)
    if (!s->capture[k].node->buffer && !realize_capture(s->ctx, &s->capture[k])) return false;
  for (int i = 0; i < p->nslot; i++) {
    int from = p->slot[i].kind == SLOT_INPUT ? s->from[p->slot[i].input] : 0;
    PolyBuffer *b = from < 0 ? s->capture[-1 - from].node->buffer : NULL;
    if (b && buffer_is_missing(b) && !buffer_read(b, p->device->memory)) return false;
  }
  return true;
}

static bool step_build(PolyStep *s, Trace *t) {
  PolyContext *ctx = s->ctx;
  if (!canon_build_step(ctx, &t->arena, t->noutput + t->nassign, t->root, t->inplace, &t->leaf, &t->constant,
                        &t->canon))
    return false;
  const int64_t *value;
  if (!(s->plan = form_plan(ctx, &t->arena, &t->canon, &value)) || !new_lists(s, t)) return false;
  take_inputs(s, t);
  if (!take_places(s, t) || !take_unread_sizes(s, &t->canon) || !take_variables(s, t, value)) return false;
  if (!find_same(s, t)) return false;
  if (!compute_captures(s) || !take_known(s, t)) return false;
  find_rules(s);
  s->noutput = t->noutput;
  for (int k = 0; k < t->noutput; k++) s->out_slot[k] = s->plan->root_slot[k];
  return true;
}

static PolyStep *step_new(PolyContext *ctx, Trace *t) {
  PolyStep *s = handle_new(&ctx->base, sizeof *s, HANDLE_STEP, ctx);
  if (!s) return NULL;
  s->ctx = ctx;
  s->arena.b = &ctx->base;
  s->next = ctx->engine->steps;
  if (s->next) s->next->prev = s;
  ctx->engine->steps = s;
  Scope scope;
  scope_enter(ctx, &scope);
  bool ok = list_leaves(ctx, t) && collect_roots(t) && rewind_state(ctx, t) && step_build(s, t);
  trace_end(t, ok);
  scope_leave(ctx, &scope);
  if (ok) return s;
  poly_step_free(s);
  return NULL;
}

static bool same_context(PolyContext **ctx, int n, PolyTensor *const *t) {
  for (int k = 0; k < n; k++) {
    if (!t[k]) return false;
    if (!*ctx) *ctx = t[k]->ctx;
    if (t[k]->ctx != *ctx) return base_fail(&(*ctx)->base, POLY_ERROR_VALUE, "a step takes tensors of one context");
  }
  return true;
}

PolyStep *poly_step_new(PolyTensor *const *inputs, int ninput, PolyTensor *const *outputs, int noutput,
                        PolyTensor *const *state, int nstate) {
  PolyContext *ctx = NULL;
  if (!same_context(&ctx, ninput, inputs) || !same_context(&ctx, noutput, outputs) ||
      !same_context(&ctx, nstate, state) || !ctx)
    return NULL;
  Trace t = {.tracing = ctx->tracing,
             .input = inputs,
             .output = outputs,
             .ninput = ninput,
             .noutput = noutput,
             .arena = {.b = &ctx->base}};
  t.nstate = trace_state(ctx, &t.arena, nstate, state, &t.state);
  ctx->tracing = NULL; /* from here on values may be computed */
  PolyStep *s = t.nstate >= 0 && check_trace(ctx, &t) ? step_new(ctx, &t) : NULL;
  ctx->tracing = t.tracing;
  if (s && t.tracing) t.tracing->done = true;
  map_free(&ctx->base, &t.leaf);
  map_free(&ctx->base, &t.constant);
  arena_free(&t.arena);
  return s;
}

/* ---- running one: sizes ---- */

static bool fail_input(const PolyStep *s, int k, const UOp *u, const char *what) {
  char got[256], want[256];
  return base_fail(&s->ctx->base, POLY_ERROR_VALUE, "input %d of a step: %s, got shape %s %s instead of %s %s", k, what,
                   shape_text(u, got, sizeof got), dtype_name((PolyDType)u->dtype),
                   shape_text(s->input[k].traced.node, want, sizeof want), dtype_name(s->input[k].dtype));
}

static bool actual_size(const UOp *u, int axis, int64_t *size) {
  return int_eval_vars(u->shape[axis], 0, NULL, NULL, size);
}

/* A size outside the bounds of its variable, or unlike another that must be the same. */
static bool set_variable(PolyStep *s, const SizeRule *r, const UOp *u) {
  int64_t size;
  if (!actual_size(u, r->axis, &size)) return false;
  int64_t v = (size - r->add) / r->coef;
  const UOp *name = s->name[r->var];
  char shape[256];
  if (v * r->coef + r->add != size) return fail_input(s, r->input, u, "a size that does not fit");
  if (v < name->arg.i || v > name->arg.j)
    return base_fail(&s->ctx->base, POLY_ERROR_VALUE,
                     "input %d of a step has shape %s: %s = %" PRId64 " is outside its bounds %" PRId64 "..%" PRId64,
                     r->input, shape_text(u, shape, sizeof shape), name->arg.name, v, name->arg.i, name->arg.j);
  if (s->bound[r->var] && s->value[r->var] != v)
    return base_fail(&s->ctx->base, POLY_ERROR_VALUE,
                     "input %d of a step has shape %s: %s = %" PRId64 ", but another size says %" PRId64, r->input,
                     shape_text(u, shape, sizeof shape), name->arg.name, v, s->value[r->var]);
  s->bound[r->var] = true;
  s->value[r->var] = v;
  return true;
}

static UOp *argument(const PolyStep *s, PolyTensor *const *inputs, int k) {
  return inputs ? inputs[k]->uop : s->input[k].traced.node;
}

static bool check_sizes(PolyStep *s, int k, const UOp *u) {
  const StepInput *in = &s->input[k];
  for (int d = 0; d < in->ndim; d++) {
    int64_t size, want;
    const UOp *dim = in->dim[d] ? in->dim[d] : in->traced.node->shape[d];
    if (u->shape[d] == dim) continue;
    if (!actual_size(u, d, &size)) return false;
    if (!in->dim[d] && dim->op != OP_CONST) continue;
    if (!int_eval_vars(dim, s->plan->nvar, s->plan->var, s->value, &want)) return false;
    if (size != want) return fail_input(s, k, u, "a size that does not fit");
  }
  return true;
}

/* As the caller knows it. */
static const char *size_name(const PolyStep *s, const UOp *u, char *buf, size_t n) {
  int k = u->op == OP_VARIABLE ? variable_at(s->plan, u) : -1;
  return k >= 0 && s->name[k] ? s->name[k]->arg.name : dim_text(u, buf, n);
}

static bool check_same(const PolyStep *s) {
  const Plan *p = s->plan;
  for (int k = 0; k < s->nsame; k++) {
    int64_t a, b;
    char ta[128], tb[128];
    if (!int_eval_vars(s->same[k].a, p->nvar, p->var, s->value, &a) ||
        !int_eval_vars(s->same[k].b, p->nvar, p->var, s->value, &b))
      return false;
    if (a == b) continue;
    return base_fail(&s->ctx->base, POLY_ERROR_VALUE,
                     "sizes %s = %" PRId64 " and %s = %" PRId64 " were equal when a step was traced, and have to be",
                     size_name(s, s->same[k].a, ta, sizeof ta), a, size_name(s, s->same[k].b, tb, sizeof tb), b);
  }
  return true;
}

static bool bind_sizes(PolyStep *s, PolyTensor *const *inputs) {
  int nvar = s->plan->nvar;
  memcpy(s->value, s->traced, (size_t)nvar * sizeof *s->value);
  memcpy(s->bound, s->given, (size_t)nvar * sizeof *s->bound);
  for (int k = 0; k < s->ninput; k++) {
    const UOp *u = argument(s, inputs, k);
    if (u->dtype != s->input[k].dtype || u->ndim != s->input[k].ndim)
      return fail_input(s, k, u, u->ndim != s->input[k].ndim ? "other dimensions" : "another dtype");
  }
  for (int r = 0; r < s->nrule; r++)
    if (!set_variable(s, &s->rule[r], argument(s, inputs, s->rule[r].input))) return false;
  for (int k = 0; k < s->ninput; k++)
    if (!check_sizes(s, k, argument(s, inputs, k))) return false;
  for (int k = 0; k < nvar; k++) {
    if (s->seed[k]) s->value[k] = seed_part(s->ctx, s->seed[k]);
    if (s->rng[k]) s->value[k] = (uint32_t)(s->ctx->drawn + s->draws - (uint64_t)s->traced[k]);
  }
  return check_same(s);
}

/* ---- running one: memory ---- */

/* Only the step and the handle know it. */
static bool is_private(const Capture *c) {
  return c->node->op == OP_BUFFER && c->node->refs <= 2 && c->node->buffer->refs == 1;
}

/* The handle of a captured node, unless its owner has freed it. */
static PolyTensor *living(const PolyContext *ctx, const Capture *c) {
  for (PolyTensor *t = ctx->tensors; t; t = t->next)
    if (t == c->handle && t->id == c->id) return t->uop == c->node ? t : NULL;
  return NULL;
}

/* Gives a captured node that others use as well a name, and memory if need be, of its own. */
static bool make_private(PolyContext *ctx, Memory *m, Capture *c) {
  if (is_private(c)) return true;
  UOp *old = c->node;
  bool shared = old->buffer->refs > 1;
  PolyBuffer *b = shared ? buffer_copy(old->buffer, m) : buffer_retain(old->buffer);
  UOp *n = b ? node_for_memory(ctx, b, old) : NULL;
  buffer_release(b);
  if (!n) return false;
  if (!shared) node_set_stale(old);
  PolyTensor *owner = living(ctx, c);
  if (owner) handle_set(owner, n);
  if (c->node == old) set_capture(c, n);
  return true;
}

/* The tensors that a run writes: captured ones, and inputs, which are other tensors in each run. */
typedef struct Written {
  Capture **at;
  Capture *input;
  int n;
} Written;

/* An input that a run changes is no captured tensor and no other input, nor a view of one: the run would read that as
 * it was before. */
static bool check_written(const PolyStep *s, PolyTensor *const *inputs, int k, const PolyTensor *t, uint64_t id) {
  Base *b = &s->ctx->base;
  for (int i = 0; inputs && i < s->ninput; i++) {
    if (i != k && inputs[i] == t)
      return base_fail(b, POLY_ERROR_VALUE,
                       "inputs %d and %d of a step are the same tensor, and the step changes one of them", i, k);
    if (i != k && view_shows(t, inputs[i]))
      return base_fail(b, POLY_ERROR_VALUE, "input %d of a step is a view of input %d, and the step changes it", k, i);
  }
  for (int i = 0; i < s->ncapture; i++) {
    const PolyTensor *c = living(s->ctx, &s->capture[i]);
    if ((s->capture[i].handle == t && s->capture[i].id == id) || (c && inputs && view_shows(t, c)))
      return base_fail(b, POLY_ERROR_VALUE,
                       "input %d of a step is changed by it, and the step also reads it as a captured tensor", k);
  }
  return true;
}

static bool list_written(PolyStep *s, Arena *arena, PolyTensor *const *inputs, Written *w) {
  size_t n = (size_t)(s->ncapture + s->ninput) + 1;
  w->at = arena_new(arena, n * sizeof *w->at);
  w->input = arena_new(arena, n * sizeof *w->input);
  if (!w->at || !w->input) return false;
  for (int k = 0; k < s->ncapture; k++)
    if (s->capture[k].written) w->at[w->n++] = &s->capture[k];
  for (int k = 0; k < s->ninput; k++) {
    if (!s->input[k].written) continue;
    PolyTensor *t = inputs ? inputs[k] : s->input[k].traced.handle;
    uint64_t id = inputs ? t->id : s->input[k].traced.id;
    if (!check_written(s, inputs, k, t, id)) return false;
    w->input[k] = (Capture){uop_retain(argument(s, inputs, k)), t, id, true};
    w->at[w->n++] = &w->input[k];
  }
  return true;
}

static bool save_readers(PolyContext *ctx, Arena *arena, const Written *w) {
  UOp **node = arena_new(arena, (size_t)(w->n + 1) * sizeof *node);
  PolyTensor **skip = arena_new(arena, (size_t)(w->n + 1) * sizeof *skip);
  if (!node || !skip) return false;
  for (int k = 0; k < w->n; k++) {
    node[k] = w->at[k]->node;
    skip[k] = w->at[k]->handle;
  }
  return realize_readers(ctx, w->n, node, w->n, skip);
}

/* State that others still read: what they need is computed first. */
static bool prepare_state(PolyStep *s, PolyTensor *const *inputs) {
  PolyContext *ctx = s->ctx;
  for (int k = 0; k < s->ncapture; k++)
    if (!s->capture[k].node->buffer || s->capture[k].node->buffer->stale)
      if (!realize_capture(ctx, &s->capture[k])) return false;
  bool private = true;
  for (int k = 0; k < s->ncapture; k++) private &= !s->capture[k].written || is_private(&s->capture[k]);
  for (int k = 0; k < s->ninput; k++) private &= !s->input[k].written;
  if (private) return true;
  Arena arena = {.b = &ctx->base};
  Written w = {0};
  Scope scope;
  scope_enter(ctx, &scope);
  bool ok = list_written(s, &arena, inputs, &w) && save_readers(ctx, &arena, &w);
  for (int k = 0; ok && k < w.n; k++) ok = make_private(ctx, s->plan->device->memory, w.at[k]);
  for (int k = 0; w.input && k < s->ninput; k++) uop_release(w.input[k].node);
  scope_leave(ctx, &scope);
  arena_free(&arena);
  return ok;
}

/* A plan takes its inputs for different memory. Where a run gives it one memory twice and it writes one of the two,
 * the other is read from a copy. */
static bool part_inputs(PolyStep *s) {
  const Plan *p = s->plan;
  for (int i = 0; i < p->ninput; i++) {
    int k = s->from[i];
    if (!(k >= 0 ? s->input[k].written : s->capture[-1 - k].written)) continue;
    for (int j = 0; j < p->ninput; j++) {
      if (j == i || s->in[j] != s->in[i]) continue;
      if (!(s->copy[j] = buffer_copy(s->in[j], p->device->memory))) return false;
      s->in[j] = s->copy[j];
    }
  }
  return true;
}

static bool find_memory(PolyStep *s, PolyTensor *const *inputs) {
  Plan *p = s->plan;
  for (int i = 0; i < p->ninput; i++) {
    int k = s->from[i];
    UOp *u = k >= 0 ? argument(s, inputs, k) : s->capture[-1 - k].node;
    if (!(s->in[i] = node_memory(u))) return false;
  }
  if (!part_inputs(s)) return false;
  for (int i = 0; i < p->nslot; i++) {
    const PlanSlot *slot = &p->slot[i];
    if (slot->kind == SLOT_INPUT) {
      if (s->in[slot->input]->bytes < slot->bytes)
        return base_fail(&s->ctx->base, POLY_ERROR_VALUE, "a tensor that a step captured has %zu bytes now and had %zu",
                         s->in[slot->input]->bytes, slot->bytes);
      continue;
    }
    /* the result of an earlier run that somebody still has keeps its memory */
    if (s->out[i] && s->out[i]->bytes >= slot->bytes && s->out[i]->refs == 1) continue;
    buffer_release(s->out[i]);
    s->out[i] = NULL;
  }
  return true;
}

/* Memory that has become too small grows by half at least, so that growing sizes do not allocate in each run. The first
 * memory of a large step is most of what the process needs from then on: freed blocks from before are given back. */
static bool find_arena(PolyStep *s) {
  enum { LARGE = 16 << 20 };
  Memory *m = s->plan->device->memory;
  size_t need = s->plan->arena_bytes, had = s->memory ? s->memory->bytes : 0;
  if (need <= had) return true;
  size_t more = MAX(need, had + had / 2);
  if (!had && need >= LARGE && m->trim) m->trim(m);
  buffer_release(s->memory);
  s->memory = buffer_new(m, memory_fits(m, more) ? more : need);
  return s->memory != NULL;
}

/* An input that is a view has memory of its own, which the run has changed: so does the tensor that it shows a part of.
 */
static bool write_views_back(const PolyStep *s, PolyTensor *const *inputs) {
  Scope scope;
  bool ok = true, done;
  scope_enter(s->ctx, &scope);
  for (int k = 0; inputs && ok && k < s->ninput; k++)
    if (s->input[k].written && inputs[k]->view) ok = view_assign(inputs[k], inputs[k]->uop, &done);
  scope_leave(s->ctx, &scope);
  return ok;
}

static bool step_run(PolyStep *s, PolyTensor *const *inputs) {
  bool ok = bind_sizes(s, inputs) && prepare_state(s, inputs) && plan_size(s->plan, s->value) &&
            find_memory(s, inputs) && find_arena(s) && plan_run(s->plan, s->value, s->in, s->out, s->memory);
  for (int i = 0; i < s->plan->ninput; i++) {
    buffer_release(s->copy[i]);
    s->copy[i] = NULL;
  }
  if (!ok) return name_index_error(s->ctx, s->plan->nroot, s->plan->root), false;
  s->ctx->drawn += s->draws;
  return write_views_back(s, inputs);
}

PolyStatus poly_step_bind(PolyStep *s, int64_t traced, int64_t now) {
  if (!s) return POLY_ERROR_VALUE;
  PolyContext *ctx = s->ctx;
  const UOp *old = dim_from_api(ctx, traced), *u = dim_from_api(ctx, now);
  if (!old || !u) return status_of(ctx, false);
  char a[64], b[64];
  if (old->op != OP_BIND || u->op != OP_BIND || old->src[0] != u->src[0])
    return status_of(ctx, base_fail(&ctx->base, POLY_ERROR_VALUE,
                                    "size %s of a step cannot be %s: only the value of a variable can change",
                                    dim_text(old, a, sizeof a), dim_text(u, b, sizeof b)));
  for (int k = 0; k < s->plan->nvar; k++) {
    if (s->bind[k] != old) continue;
    s->traced[k] = const_int(u->src[1]);
    s->given[k] = true;
  }
  return POLY_OK;
}

PolyStatus poly_step_run(PolyStep *s, PolyTensor *const *inputs, int ninput) {
  if (!s) return POLY_ERROR_VALUE;
  PolyContext *ctx = s->ctx;
  if (ctx->tracing)
    return status_of(ctx, base_fail(&ctx->base, POLY_ERROR_RUNTIME,
                                    "a step cannot run while another one is traced: call the function itself there"));
  if (s->outdated)
    return status_of(ctx, base_fail(&ctx->base, POLY_ERROR_RUNTIME,
                                    "a tensor whose values were read while a step was traced was changed since: "
                                    "trace the step again, or give the tensor to it as an input"));
  if (inputs && ninput != s->ninput)
    return status_of(ctx,
                     base_fail(&ctx->base, POLY_ERROR_VALUE, "a step of %d inputs was given %d", s->ninput, ninput));
  for (int k = 0; inputs && k < ninput; k++) {
    if (!inputs[k]) return POLY_ERROR_VALUE;
    if (!realize_handles(ctx, 1, &inputs[k])) return status_of(ctx, false);
  }
  return status_of(ctx, step_run(s, inputs));
}

/* ---- looking at one ---- */

PolyTensor *poly_step_output(PolyStep *s, int k) {
  if (!s) return NULL;
  PolyContext *ctx = s->ctx;
  if (k < 0 || k >= s->noutput)
    return fail_null(&ctx->base, POLY_ERROR_INDEX, "output %d of a step that has %d", k, s->noutput);
  PolyBuffer *b = s->out[s->out_slot[k]];
  if (!b) return fail_null(&ctx->base, POLY_ERROR_RUNTIME, "output %d of a step that has not run", k);
  const UOp *like = s->plan->root[k];
  UOp *shape[MAX_DIMS];
  Scope scope;
  scope_enter(ctx, &scope);
  bool ok = true;
  for (int d = 0; ok && d < like->ndim; d++) {
    int64_t size;
    ok = int_eval_vars(like->shape[d], s->plan->nvar, s->plan->var, s->value, &size) &&
         (shape[d] = uop_index(ctx, size));
  }
  UOp *u = ok ? uop_buffer(ctx, (PolyDType)like->dtype, like->ndim, shape) : NULL;
  if (u) node_set_buffer(u, buffer_retain(b));
  PolyTensor *t = tensor_wrap(ctx, u);
  scope_leave(ctx, &scope);
  return t;
}

int poly_step_kernels(const PolyStep *s) { return s ? s->plan->nitem : 0; }

void poly_step_trim(PolyStep *s) {
  buffer_release(s->memory);
  s->memory = NULL;
}

int poly_step_intermediates(const PolyStep *s) {
  int n = 0;
  for (int i = 0; s && i < s->plan->nslot; i++) n += s->plan->slot[i].kind == SLOT_TEMP;
  return n;
}

int64_t poly_step_peak_bytes(PolyStep *s) {
  if (!s) return -1;
  if (!bind_sizes(s, NULL) || !plan_size(s->plan, s->value)) return -1;
  const Plan *p = s->plan;
  int64_t live = poly_live_bytes(s->ctx), need = (int64_t)p->arena_bytes;
  if (s->memory) need = MAX(need - (int64_t)s->memory->bytes, 0);
  for (int i = 0; i < p->nslot; i++) {
    const PolyBuffer *own = s->out[i]; /* of an earlier run: used again, unless somebody still has it */
    if (p->slot[i].kind == SLOT_OUTPUT && !(own && own->refs == 1 && own->bytes >= p->slot[i].bytes))
      need += (int64_t)p->slot[i].bytes;
  }
  return live + need;
}
