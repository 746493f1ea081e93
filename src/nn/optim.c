/* optim.c: the machinery of optimizers; their formulas are in optim_rules.c. In: parameter handles and the gradients
 * that poly_backward left in them. Out: lazy assignments to the parameters and to the optimizer's own state, so that a
 * compiled step replays them.
 *
 * Everything that changes from step to step is a tensor: the learning rate, the powers beta^t and the number of the
 * step (float64 scalars), momenta (the parameter's dtype, but at least float32). */
#include "nn/optim.h"

#include "base/handles.h"
#include "engine/recall.h"

#include <string.h>

struct PolyOptim {
  PolyContext *ctx;
  const OptimKind *kind;
  PolyOptimOptions set;
  double lr;
  int64_t rule;                             /* another number whenever the settings or the state are others */
  int n, given;                             /* parameters, and how many were given: duplicates are dropped */
  PolyTensor **param;                       /* the caller's, */
  uint64_t *id;                             /* whose numbers tell a parameter from what was made where it was freed */
  PolyTensor **slot[OPTIM_SLOTS];           /* state of each parameter; entries are NULL where the kind has none */
  PolyTensor *scalar[OPTIM_SCALARS], *rate; /* NULL where the kind has none */
  PolyTensor *momentum;                     /* NULL until it is changed: it is a constant of the program */
};

/* ---- making one ---- */

static PolyDType state_dtype(const PolyTensor *p) {
  return p->uop->dtype == POLY_FLOAT64 ? POLY_FLOAT64 : POLY_FLOAT32;
}

/* A tensor of its own, filled with value, that outlives the caller's poly_scope. */
static PolyTensor *state_new(PolyContext *ctx, PolyDType dtype, double value, int ndim, UOp *const *shape) {
  Scope scope;
  scope_enter(ctx, &scope);
  UOp *full = uop_spread(uop_const(ctx, dtype, value), ndim, shape);
  PolyTensor *t = tensor_wrap(ctx, uop_contiguous(full, ctx_unique(ctx)));
  scope_leave(ctx, &scope);
  return t ? poly_keep(t) : NULL;
}

/* Copies the list, each parameter once. */
static bool take_params(PolyOptim *o, PolyTensor *const *params, int n) {
  Base *b = ctx_base(o->ctx);
  Map seen = {0};
  bool ok = true;
  for (int k = 0; ok && k < n; k++) {
    PolyDType dtype = (PolyDType)params[k]->uop->dtype;
    if (!dtype_is_float(dtype)) {
      ok = base_fail(b, POLY_ERROR_TYPE, "parameter %d of an optimizer is %s; it must be floating point", k,
                     dtype_name(dtype));
    } else if (params[k]->ctx != o->ctx) {
      ok = base_fail(b, POLY_ERROR_VALUE, "parameter %d of an optimizer belongs to another context", k);
    } else if (!map_get(&seen, (uintptr_t)params[k], &(uint64_t){0})) {
      o->id[o->n] = params[k]->id;
      o->param[o->n++] = params[k];
      ok = map_put(b, &seen, (uintptr_t)params[k], 1);
    }
  }
  map_free(b, &seen);
  return ok;
}

/* Makes the scalars that the settings need and that are not there yet. */
static bool make_scalars(PolyOptim *o) {
  int mask = o->kind->scalars;
  if ((mask & OPTIM_COUNT_IF) && (o->set.dampening != 0 || o->set.lr_decay != 0)) mask |= 1 << COUNT;
  for (int k = 0; k < OPTIM_SCALARS; k++) {
    if (!(mask & 1 << k) || o->scalar[k]) continue;
    double value = k == COUNT ? 0 : k == EXTRA && o->kind->extra ? o->kind->extra(&o->set, o->lr) : 1;
    if (!(o->scalar[k] = state_new(o->ctx, POLY_FLOAT64, value, 0, NULL))) return false;
  }
  if (o->rate) return true;
  o->rate = poly_from_data(o->ctx, &o->lr, POLY_FLOAT64, 0, NULL);
  if (o->rate) poly_keep(o->rate);
  return o->rate != NULL;
}

/* Was the parameter given another shape or dtype since its state was made? A layer that learns the width of its input
 * from the first one replaces its weight after the optimizer has seen it. */
static bool outdated(const PolyOptim *o, int k, int j) {
  const PolyTensor *slot = o->slot[j][k];
  const UOp *u = o->param[k]->uop;
  return slot && (slot->uop->dtype != state_dtype(o->param[k]) || !shape_equal(slot->uop, u));
}

static bool make_state(PolyOptim *o) {
  int mask = o->kind->slots(&o->set);
  for (int k = 0; k < o->n; k++) {
    const UOp *u = o->param[k]->uop;
    PolyDType dtype = state_dtype(o->param[k]);
    for (int j = 0; j < OPTIM_SLOTS; j++) {
      if (outdated(o, k, j)) poly_free(o->slot[j][k]), o->slot[j][k] = NULL;
      if (!(mask & 1 << j) || o->slot[j][k]) continue;
      double value = o->kind->first ? o->kind->first(&o->set, o->lr, j) : 0;
      if (!(o->slot[j][k] = state_new(o->ctx, dtype, value, u->ndim, u->shape))) return false;
    }
  }
  return make_scalars(o);
}

/* The tensors that a step reads and changes besides those of the loss: parameters, state, settings that are tensors. */
static PolyTensor **tensors_of(PolyOptim *o, Arena *arena, int *n) {
  int nstate = poly_optim_state(o, NULL, 0), count = o->n + nstate;
  PolyTensor **all = arena_new(arena, (size_t)(count + 2) * sizeof *all);
  if (!all) return NULL;
  memcpy(all, o->param, (size_t)o->n * sizeof *all);
  poly_optim_state(o, all + o->n, nstate);
  all[count++] = o->rate;
  if (o->momentum) all[count++] = o->momentum;
  *n = count;
  return all;
}

/* Assignments go into a tensor's own memory, so it must have some: one plan computes all initial values. */
static bool realize_all(PolyOptim *o) {
  Arena arena = {.b = ctx_base(o->ctx)};
  int n;
  PolyTensor **all = tensors_of(o, &arena, &n);
  bool ok = all && poly_realize_many(all, n) == POLY_OK;
  arena_free(&arena);
  return ok;
}

/* State is made of leaves, whatever the caller has switched. */
static bool make_and_realize(PolyOptim *o) {
  bool no_grad = o->ctx->no_grad;
  o->rule = ctx_unique(o->ctx);
  o->ctx->no_grad = false;
  bool ok = make_state(o) && realize_all(o);
  o->ctx->no_grad = no_grad;
  return ok;
}

static bool check(Base *b, const char *name, double value, double below) {
  if (value >= 0 && value < below) return true;
  return base_fail(b, POLY_ERROR_VALUE, "optimizer: %s is %g, out of range", name, value);
}

static bool check_settings(Base *b, const OptimKind *kind, const PolyOptimOptions *s, double lr) {
  const double huge = 1e300;
  bool mixed = kind->scalars & 1 << POWER2; /* beta2 of the kinds that correct it must be below 1 */
  if (s->nesterov && (s->momentum == 0 || s->dampening != 0))
    return base_fail(b, POLY_ERROR_VALUE, "optimizer: Nesterov needs a momentum above 0 and no dampening");
  return check(b, "learning rate", lr, huge) && check(b, "momentum", s->momentum, huge) &&
         check(b, "beta1", s->beta1, 1) && check(b, "beta2", s->beta2, mixed ? 1 : huge) &&
         check(b, "eps", s->eps, huge) && check(b, "weight decay", s->weight_decay, huge) &&
         check(b, "lr_decay", s->lr_decay, huge) && check(b, "initial_accumulator_value", s->initial, huge) &&
         check(b, "momentum_decay", s->momentum_decay, huge);
}

static size_t optim_bytes(int n) {
  return sizeof(PolyOptim) + (size_t)n * ((1 + OPTIM_SLOTS) * sizeof(PolyTensor *) + sizeof(uint64_t));
}

PolyOptim *poly_optim_new(const char *name, PolyTensor *const *params, int n, double lr,
                          const PolyOptimOptions *options) {
  if (n <= 0 || !params || !options) return NULL;
  for (int k = 0; k < n; k++)
    if (!params[k]) return NULL;
  PolyContext *ctx = params[0]->ctx;
  Base *b = ctx_base(ctx);
  const OptimKind *kind = optim_kind(name);
  if (!kind) {
    base_fail(b, POLY_ERROR_VALUE, "there is no optimizer '%s'", name ? name : "");
    return NULL;
  }
  if (!check_settings(b, kind, options, lr)) return NULL;
  PolyOptim *o = handle_new(b, optim_bytes(n), HANDLE_OPTIM, ctx);
  if (!o) return NULL;
  *o = (PolyOptim){.ctx = ctx, .kind = kind, .set = *options, .lr = lr, .given = n, .param = (PolyTensor **)(o + 1)};
  for (int j = 0; j < OPTIM_SLOTS; j++) o->slot[j] = o->param + (size_t)(1 + j) * (size_t)n;
  o->id = (uint64_t *)(o->param + (size_t)(1 + OPTIM_SLOTS) * (size_t)n);
  if (take_params(o, params, n) && make_and_realize(o)) return o;
  poly_optim_free(o);
  return NULL;
}

PolyOptim *poly_sgd(PolyTensor *const *params, int n, double lr, double momentum, double weight_decay, bool nesterov) {
  return poly_optim_new("sgd", params, n, lr,
                        &(PolyOptimOptions){.momentum = momentum, .weight_decay = weight_decay, .nesterov = nesterov});
}

PolyOptim *poly_adam(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps,
                     double weight_decay) {
  return poly_optim_new("adam", params, n, lr,
                        &(PolyOptimOptions){.beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = weight_decay});
}

PolyOptim *poly_adamw(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps,
                      double weight_decay) {
  return poly_optim_new(
      "adam", params, n, lr,
      &(PolyOptimOptions){.beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = weight_decay, .decoupled = true});
}

PolyOptim *poly_rmsprop(PolyTensor *const *params, int n, double lr, double alpha, double eps, double weight_decay,
                        double momentum) {
  return poly_optim_new(
      "rmsprop", params, n, lr,
      &(PolyOptimOptions){.beta2 = alpha, .eps = eps, .weight_decay = weight_decay, .momentum = momentum});
}

PolyOptim *poly_lamb(PolyTensor *const *params, int n, double lr, double beta1, double beta2, double eps,
                     double weight_decay) {
  return poly_optim_new("lamb", params, n, lr,
                        &(PolyOptimOptions){.beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = weight_decay});
}

static bool is_live(const PolyTensor *t) {
  HandleInfo h = handle_find(t);
  return h.kind == HANDLE_TENSOR && h.live;
}

/* The caller may have freed what poly_optim_state has handed out. */
static void free_live(PolyTensor *t) {
  if (t && is_live(t)) poly_free(t);
}

void poly_optim_free(PolyOptim *o) {
  if (!o) return;
  for (int j = 0; j < OPTIM_SLOTS; j++)
    for (int k = 0; k < o->n; k++) free_live(o->slot[j][k]);
  for (int k = 0; k < OPTIM_SCALARS; k++) free_live(o->scalar[k]);
  poly_free(o->rate);
  poly_free(o->momentum);
  handle_free(ctx_base(o->ctx), o, optim_bytes(o->given));
}

/* ---- using one ---- */

static PolyStatus failed(PolyContext *ctx) {
  PolyStatus code = poly_error_code(ctx);
  return code == POLY_OK ? POLY_ERROR_RUNTIME : code;
}

/* Parameters are the caller's, and poly_optim_state hands out the state: both may have been freed. */
static bool all_live(const PolyOptim *o) {
  Base *b = ctx_base(o->ctx);
  for (int k = 0; k < o->n; k++) {
    if (!is_live(o->param[k]) || o->param[k]->id != o->id[k])
      return base_fail(b, POLY_ERROR_VALUE, "parameter %d of the optimizer was freed", k);
    for (int j = 0; j < OPTIM_SLOTS; j++)
      if (o->slot[j][k] && !is_live(o->slot[j][k]))
        return base_fail(b, POLY_ERROR_VALUE, "the optimizer's state of parameter %d was freed", k);
  }
  return true;
}

static bool any_outdated(const PolyOptim *o) {
  bool any = false;
  for (int k = 0; k < o->n; k++)
    for (int j = 0; j < OPTIM_SLOTS; j++) any = any || outdated(o, k, j);
  return any;
}

/* Fresh state for parameters that were replaced; nothing where none was. */
static bool renew(PolyOptim *o) { return !any_outdated(o) || make_and_realize(o); }

/* State is renewed here too: a step that is compiled next must find it. */
void poly_optim_zero_grad(PolyOptim *o) {
  if (!o || !all_live(o) || !renew(o)) return;
  for (int k = 0; k < o->n; k++) poly_set_grad(o->param[k], NULL);
}

PolyStatus poly_optim_set_lr(PolyOptim *o, double lr) {
  if (!o) return POLY_ERROR_VALUE;
  if (!check(ctx_base(o->ctx), "learning rate", lr, 1e300)) return POLY_ERROR_VALUE;
  PolyStatus status = poly_write(o->rate, &lr, sizeof lr);
  if (status == POLY_OK) o->lr = lr;
  return status;
}

double poly_optim_lr(const PolyOptim *o) { return o ? o->lr : 0; }

static double momentum_of(const PolyOptim *o, const PolyOptimOptions *s) {
  return o->kind->scalars & 1 << POWER1 ? s->beta1 : s->momentum;
}

/* From the first change on it is a tensor, so that a schedule of it compiles nothing. */
static bool set_momentum(PolyOptim *o, double value) {
  if (o->momentum) return poly_write(o->momentum, &value, sizeof value) == POLY_OK;
  o->momentum = poly_from_data(o->ctx, &value, POLY_FLOAT64, 0, NULL);
  if (o->momentum) poly_keep(o->momentum);
  return o->momentum != NULL;
}

PolyStatus poly_optim_set(PolyOptim *o, const PolyOptimOptions *options) {
  if (!o || !options) return POLY_ERROR_VALUE;
  Base *b = ctx_base(o->ctx);
  if (!check_settings(b, o->kind, options, o->lr)) return POLY_ERROR_VALUE;
  if (!all_live(o)) return failed(o->ctx);
  double old = momentum_of(o, &o->set), now = momentum_of(o, options);
  if (now != old && !set_momentum(o, now)) return POLY_ERROR_MEMORY;
  o->set = *options;
  return make_and_realize(o) ? POLY_OK : failed(o->ctx);
}

int poly_optim_state(PolyOptim *o, PolyTensor **out, int max) {
  if (!o) return 0;
  int n = 0;
  for (int k = 0; k < OPTIM_SCALARS + OPTIM_SLOTS * o->n; k++) {
    int at = k - OPTIM_SCALARS;
    PolyTensor *t = at < 0 ? o->scalar[k] : o->slot[at / o->n][at % o->n];
    if (!t) continue;
    if (out && n < max) out[n] = t;
    n++;
  }
  return n;
}

/* Pairs of a tensor and the value that it takes. Values are all built before the first is assigned: an error in between
 * leaves everything as it was. */
typedef struct Assign {
  PolyTensor *t, *value;
} Assign;

typedef struct Plan {
  Assign *at;
  int n;
  UOp *when; /* a truth value: is anything assigned? NULL: yes */
} Plan;

static bool plan_add(PolyContext *ctx, Plan *plan, PolyTensor *t, UOp *value) {
  if (!t) return true;
  value = value ? uop_cast(value, (PolyDType)t->uop->dtype) : NULL;
  if (value && plan->when) value = t_where(plan->when, value, t->uop);
  value = value ? uop_detach(value) : NULL;
  PolyTensor *handle = tensor_wrap(ctx, value);
  if (!handle) return false;
  plan->at[plan->n++] = (Assign){t, poly_keep(handle)};
  return true;
}

static bool plan_param(PolyOptim *o, const Step *step, int k, Plan *plan) {
  PolyTensor *p = o->param[k];
  PolyDType dtype = state_dtype(p);
  Update u = {.param = uop_cast(p->uop, dtype), .grad = uop_cast(p->grad->uop, dtype)};
  for (int j = 0; j < OPTIM_SLOTS; j++) u.slot[j] = t_uop(o->slot[j][k]);
  if (o->set.maximize) u.grad = t_neg(u.grad);
  if (!u.param || !u.grad) return false;
  o->kind->step(&o->set, step, &u);
  if (!plan_add(o->ctx, plan, p, u.param)) return false;
  for (int j = 0; j < OPTIM_SLOTS; j++)
    if (!plan_add(o->ctx, plan, o->slot[j][k], u.slot[j])) return false;
  return true;
}

/* The scalars of this step; those of the next are what EXTRA's rule makes of them. */
static Step step_begin(const PolyOptim *o) {
  Step step = {.rate = o->rate->uop, .momentum = t_uop(o->momentum)};
  UOp *const *old = (UOp *[]){t_uop(o->scalar[POWER1]), t_uop(o->scalar[POWER2]), t_uop(o->scalar[COUNT])};
  if (old[POWER1]) step.scalar[POWER1] = step.momentum ? t_mul(old[0], step.momentum) : t_mulc(old[0], o->set.beta1);
  if (old[POWER2]) step.scalar[POWER2] = t_mulc(old[POWER2], o->set.beta2);
  if (old[COUNT]) step.scalar[COUNT] = t_addc(old[COUNT], 1);
  step.scalar[EXTRA] = t_uop(o->scalar[EXTRA]);
  return step;
}

static bool plan_build(PolyOptim *o, Plan *plan) {
  Step step = step_begin(o);
  UOp *extra = o->kind->next ? o->kind->next(&o->set, &step) : NULL;
  if (o->kind->next && !o->kind->extra) step.scalar[EXTRA] = extra; /* a product that this step is part of */
  bool any = false;
  for (int k = 0; k < o->n; k++) {
    if (!o->param[k]->grad) continue;
    any = true;
    if (!plan_param(o, &step, k, plan)) return false;
  }
  if (o->kind->next) step.scalar[EXTRA] = extra;
  for (int k = 0; any && k < OPTIM_SCALARS; k++)
    if (!plan_add(o->ctx, plan, o->scalar[k], step.scalar[k])) return false;
  return true;
}

static bool plan_apply(const Plan *plan) {
  for (int k = 0; k < plan->n; k++)
    if (poly_assign(plan->at[k].t, plan->at[k].value) != POLY_OK) return false;
  return true;
}

static PolyStatus schedule(PolyOptim *o, UOp *when) {
  if (!o) return POLY_ERROR_VALUE;
  if (!all_live(o) || !renew(o)) return failed(o->ctx);
  drop_implied_grads(o->ctx);
  Arena arena = {.b = ctx_base(o->ctx)};
  Plan plan = {.at = arena_new(&arena, (size_t)((1 + OPTIM_SLOTS) * o->n + OPTIM_SCALARS) * sizeof(Assign)),
               .when = when};
  Scope scope;
  scope_enter(o->ctx, &scope);
  bool ok = plan.at && plan_build(o, &plan) && plan_apply(&plan);
  for (int k = 0; k < plan.n; k++) poly_free(plan.at[k].value);
  scope_leave(o->ctx, &scope);
  arena_free(&arena);
  return ok ? POLY_OK : failed(o->ctx);
}

PolyStatus poly_optim_schedule(PolyOptim *o) { return schedule(o, NULL); }

PolyStatus poly_optim_schedule_if(PolyOptim *o, PolyTensor *condition) {
  if (!o || !condition) return POLY_ERROR_VALUE;
  if (condition->uop->dtype == POLY_BOOL && condition->uop->ndim == 0) return schedule(o, condition->uop);
  base_fail(ctx_base(o->ctx), POLY_ERROR_VALUE, "a conditional step needs one truth value, not %d axes of %s",
            condition->uop->ndim, dtype_name((PolyDType)condition->uop->dtype));
  return POLY_ERROR_VALUE;
}

/* Parameters with gradients, the state, and those gradients: computed together. A gradient that stayed lazy would be
 * computed again, from the new parameters, when it is read. */
static PolyStatus realize_step(PolyOptim *o) {
  Arena arena = {.b = ctx_base(o->ctx)};
  int nstate = poly_optim_state(o, NULL, 0), n = 0;
  PolyTensor **all = arena_new(&arena, (size_t)(2 * o->n + nstate + 1) * sizeof *all);
  PolyStatus status = all ? POLY_OK : POLY_ERROR_MEMORY;
  for (int k = 0; all && k < o->n; k++) {
    if (!o->param[k]->grad) continue;
    all[n++] = o->param[k];
    all[n++] = o->param[k]->grad;
  }
  if (n) n += poly_optim_state(o, all + n, nstate);
  if (n) status = poly_realize_many(all, n);
  arena_free(&arena);
  return status;
}

static PolyStatus build_step(PolyOptim *o) {
  PolyStatus status = poly_optim_schedule(o);
  return status == POLY_OK ? realize_step(o) : status;
}

/* A step that came before is recalled: neither gradients nor updates are built. Otherwise it may be recorded. */
static PolyStatus recall_or_build(PolyOptim *o, const RecallUpdate *update) {
  switch (recall_run(o->ctx, update)) {
  case RECALLED: return POLY_OK;
  case RECALL_FAILED: return failed(o->ctx);
  case RECALL_NOT: break;
  }
  recall_watch(o->ctx, update);
  PolyStatus status = build_step(o);
  recall_unwatch(o->ctx);
  return status;
}

PolyStatus poly_optim_step(PolyOptim *o) {
  if (!o) return POLY_ERROR_VALUE;
  PolyContext *ctx = o->ctx;
  if (!ctx->interrupt) return build_step(o);
  if (!all_live(o)) return failed(ctx);
  if (any_outdated(o)) return ctx->interrupt(ctx) ? build_step(o) : failed(ctx);
  Arena arena = {.b = ctx_base(ctx)};
  RecallUpdate update = {.rule = o->rule};
  update.named = tensors_of(o, &arena, &update.n);
  PolyStatus status = update.named ? recall_or_build(o, &update) : failed(ctx);
  arena_free(&arena);
  return status;
}

PolyStatus poly_optim_step_if(PolyOptim *o, PolyTensor *condition) {
  PolyStatus status = poly_optim_schedule_if(o, condition);
  return status == POLY_OK ? realize_step(o) : status;
}
